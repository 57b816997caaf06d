"""Results in a notebook: the headline and the main tables as HTML, and charts by name."""

from __future__ import annotations

import re
from html import escape
from typing import Any

import polars as pl

from pickosim.columns import Frame
from pickosim.errors import PickosimError, suggest
from pickosim.games.frames import PLAY_FRAMES, Played
from pickosim.reports.cells import shown_columns
from pickosim.reports.page import drawn_charts
from pickosim.reports.views import shown_views
from pickosim.rule_files import rules_text
from pickosim.runs.run import Results

MOST_ROWS = 20
"""Rows that a notebook shows of a table."""


def results_html(results: Results) -> str:
    """The headline, the main tables, and which others there are."""
    leading = [(view, data) for view, data in shown_views(results) if view.leads]
    parts = [f"<p><strong>{_prose(results.headline)}</strong></p>"]
    parts += [table_html(data, view.table, view.frame.name) for view, data in leading]
    parts += [f"<p>{_prose(remark)}</p>" for remark in results.remarks]
    names = [view.frame.name for view, _ in leading]
    others = ", ".join(f"<code>{name}</code>" for name in results.frames if name not in names)
    parts.append(f"<p>{results.games:,} games. More tables: {others}.</p>")
    return f"<div>{chr(10).join(parts)}</div>"


def _prose(text: str) -> str:
    """A sentence: names in backticks are set as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def played_html(played: Played) -> str:
    """What each seat won, and which tables there are."""
    table = table_html(played.standings, PLAY_FRAMES["standings"], "standings")
    others = ", ".join(f"<code>{name}</code>" for name in PLAY_FRAMES if name != "standings")
    unfinished = f", {played.unfinished:,} of them unfinished" if played.unfinished else ""
    games = f"{len(played.tally.turns):,} games{unfinished}, rules {escape(rules_text(played.match.rules))}"
    return f"<div>{table}<p>{games}. More tables: {others}.</p></div>"


def table_html(frame: pl.DataFrame, table: Frame, name: str) -> str:
    """The first rows of a table, with the labels and formats of its columns."""
    columns = list(shown_columns(frame.head(MOST_ROWS), table))
    sides = ["left" if column.is_text else "right" for column in columns]
    head = "".join(
        f'<th style="text-align: {side}">{escape(column.heading)}</th>'
        for column, side in zip(columns, sides, strict=True)
    )
    rows = "".join(
        f"<tr>{''.join(_cell(cell, side) for (cell, _), side in zip(row, sides, strict=True))}</tr>"
        for row in zip(*(column.cells for column in columns), strict=True)
    )
    left = len(frame) - MOST_ROWS
    more = f"<p>{left:,} more rows in <code>{name}</code>.</p>" if left > 0 else ""
    return f"<table><caption>{name}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}"


def _cell(text: str, side: str) -> str:
    return f'<td style="text-align: {side}">{escape(text)}</td>'


# ------------------------------------------------------------------------------------------------- charts


def chart(results: Results, name: str) -> Any:
    """A chart by name, as an Altair chart."""
    charts = drawn_charts(results)
    if name not in charts:
        hint = suggest(name, charts) or "."
        raise PickosimError(f'There is no chart "{name}"{hint} The charts are {", ".join(charts)}.')
    from pickosim.reports.charts import COLOURS, theme

    drawn = charts[name].copy()
    drawn.config = theme("light") | {"background": COLOURS["light"]["paper"]}
    return drawn


def chart_names(results: Results) -> list[str]:
    """The names of all charts that the results have data for."""
    return list(drawn_charts(results))
