"""HTML of results: one page that opens anywhere, offline, or the main tables in a notebook."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from math import isnan
from pathlib import Path
from typing import Any

import polars as pl

from pickosim import __version__
from pickosim.amounts import first_few
from pickosim.columns import Frame
from pickosim.errors import PickosimError, lacking, suggest
from pickosim.files import write_whole
from pickosim.games.played import PLAY_FRAMES, Played
from pickosim.reports.layout import breakable
from pickosim.reports.views import Cells, findings_of, shown_columns, shown_views
from pickosim.rule_files import as_arguments, complete_rules, option_texts, rules_text
from pickosim.rules import RuleSet
from pickosim.runs.folder import written
from pickosim.runs.run import Results
from pickosim.studies.study import load_results, shown
from pickosim.studies.views import View

MOST_ROWS = 1000
"""Rows that the page shows of a table; a browser gets slow with more."""

MOST_OPEN = 24
"""Rows of a table without a chart that is open at once."""

MOST_CSV_ROWS = 10_000
"""Rows that the page offers as CSV; a table with more is read from its file."""

NOTEBOOK_ROWS = 20
"""Rows that a notebook shows of a table."""

LONG = 24
"""Letters from which on a text is broken into lines."""

PIXELS = 2.0
"""Pixels per unit of a chart in a picture, for screens with small ones."""

Spec = dict[str, Any]


def write_report(folder: Path, path: Path | None = None) -> Path:
    """Write the page of a finished run, by default into its folder; returns its path."""
    target = path or folder / "report.html"
    with shown(folder):
        page = report_page(load_results(folder)).encode()
    _write(target, page)
    return target


def save_charts(
    folder: Path, pictures: Path, suffix: str, names: Sequence[str] | None = None
) -> list[Path]:
    """Write all charts, or those of these names, into a folder; the suffix is .png or .svg."""
    with shown(folder):
        results = load_results(folder)
        specs = chart_specs(results)
    for name in names or []:
        if name not in specs:
            hint = suggest(name, specs) or f"; its charts are {', '.join(specs)}."
            raise PickosimError(f'The run {folder} has no chart "{name}"{hint}')
    paths = []
    for name in names or specs:
        paths.append(pictures / f"{name}{suffix}")
        _write(paths[-1], _picture(captioned(specs[name], name, results), suffix))
    return paths


def captioned(spec: Spec, name: str, results: Results) -> Spec:
    """A chart with what it needs to stand alone: the question, how to read it, and how it was played."""
    from pickosim.reports.charts import with_caption

    (view,) = (view for view, _ in shown_views(results) if view.address == name)
    about = [f"{view.title}. {view.key or view.note_on(results)}".replace("`", "")]
    *played, (_, command) = played_facts(results)
    footer = " · ".join(f"{words}:\u00a0{text}" for words, text in played)
    return with_caption(spec, title_of(results), about, [footer, command])


def played_facts(results: Results) -> list[tuple[str, str]]:
    """What was played: rules with all that differs from their preset, players, bots, games, and the command."""
    manifest, plan = results.manifest, results.manifest["plan"]
    sizes = sorted({len(matchup) for matchup in plan.get("matchups", ())}) or plan["players"]
    listed_sizes = sizes if isinstance(sizes, list) else [sizes]
    variants = plan.get("variants") or [{"rules": plan["rule_set"]}]
    rules = dict.fromkeys(rules_text(complete_rules(variant["rules"])) for variant in variants)
    bots = [entrant["name"] for entrant in plan["entrants"]]
    result = manifest["result"]
    unfinished = f", {result['unfinished']:,} of them ended by the turn limit"
    return [
        ("rules", "; ".join(rules)),
        ("players", ", ".join(map(str, listed_sizes))),
        ("bots", first_few(bots, 12)),
        ("games", f"{result['games']:,}{unfinished if result['unfinished'] else ''}"),
        ("seed", str(plan["seed"])),
        ("command", command_again(manifest["command"]) or "started from Python"),
    ]


def chart_specs(results: Results) -> dict[str, Spec]:
    """The Vega-Lite specification of every chart of a run, by name."""
    _vl_convert()  # says which packages are missing
    return {name: chart.to_dict() for name, chart in drawn_charts(results).items()}


def drawn_charts(results: Results) -> dict[str, Any]:
    """Every chart of a run, by name."""
    from pickosim.reports.charts import draw  # which says what packages are missing

    drawn = {view.address: draw(view, results) for view, _ in shown_views(results)}
    return {name: chart for name, chart in drawn.items() if chart is not None}


def report_page(results: Results) -> str:
    """The page of a run."""
    specs, views = chart_specs(results), shown_views(results)
    from pickosim.reports import charts

    data = {
        "specs": specs,
        "themes": {scheme: charts.theme(scheme) for scheme in charts.COLOURS},
        "tables": {
            view.address: written(data, "csv") for view, data in views if len(data) <= MOST_CSV_ROWS
        },
    }
    plan = results.manifest["plan"]
    rules = _rules(results.manifest)
    page: str = _template().render(
        version=__version__,
        title=title_of(results),
        manifest=results.manifest,
        again=command_again(results.manifest["command"]),
        facts=played_facts(results),
        result=results.manifest["result"],
        warnings=results.warnings,
        plan=plan,
        findings=findings_of(results),
        figures=[_figure(view, data, results, view.address in specs) for view, data in views],
        rules_arguments=" ".join(as_arguments(rules)),
        rules_options=[(option, breakable(value)) for option, value in option_texts(rules)],
        schemes=charts.COLOURS,
        style=_page_file("style.css"),
        script=_page_file("script.js"),
        bundle=_bundle(),
        # No text can end the element that holds it.
        data=json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c"),
    )
    return page


def title_of(results: Results) -> str:
    """What a run is about: its question, or what was played."""
    manifest, plan = results.manifest, results.manifest["plan"]
    if question := manifest.get("question"):
        return str(question)
    if manifest["kind"] == "tournament":
        return f"Tournament: {first_few([bot['name'] for bot in plan['entrants']], 4)}"
    if manifest["kind"] == "compare":
        return f"Rules compared: {first_few([each['name'] for each in plan['variants']], 4)}"
    if manifest["kind"] == "balance":
        return f"Balance of the specialists, rules {rules_text(_rules(manifest))}"
    return str(manifest["title"])


def _rules(manifest: Mapping[str, Any]) -> RuleSet:
    """The rules that were played; of several variants, the one that others are compared with."""
    plan = manifest["plan"]
    if "variants" not in plan:
        return complete_rules(plan["rule_set"])
    rules = {variant["name"]: variant["rules"] for variant in plan["variants"]}
    first = next(iter(rules.values()))  # a manifest may say anything
    return complete_rules(rules.get(manifest["result"]["reference"], first))


def _figure(view: View, data: pl.DataFrame, results: Results, is_drawn: bool) -> dict[str, Any]:
    """A view as the template wants it."""
    rows = len(data)
    return {
        "name": view.address,
        "title": view.title,
        "note": view.note_on(results),
        "is_drawn": is_drawn,
        "is_open": view.is_open or (not is_drawn and rows <= MOST_OPEN),
        "rows": rows,
        "shown_rows": min(rows, MOST_ROWS),
        "has_csv": rows <= MOST_CSV_ROWS,
        "columns": [
            _html_column(column) for column in shown_columns(data.head(MOST_ROWS), view.table)
        ],
    }


def _html_column(column: Cells) -> dict[str, Any]:
    """A column of a table: texts are left-aligned, long ones broken into lines."""
    from markupsafe import Markup

    html_class = Markup()
    if column.is_text:
        is_long = any(len(words) > LONG for words, _ in column.cells)
        html_class = Markup(' class="text long"' if is_long else ' class="text"')
    return {
        "heading": column.heading,
        "html_class": html_class,
        "cells": [(words, _sort_value(value)) for words, value in column.cells],
    }


def _sort_value(value: Any) -> str:
    """A value as JavaScript reads it; nothing for none."""
    if value is None or isinstance(value, str):
        return value or ""
    return "" if isnan(value) else json.dumps(+value)  # of a truth the number


# ------------------------------------------------------------------------------------------- text as HTML


def joints(text: str) -> Any:
    """Text whose long words, e.g. the spec of a bot, may be broken at their joints; an arrow may not."""
    from markupsafe import Markup, escape

    escaped = str(escape(text.replace(" -> ", " → ")))
    return Markup(re.sub(r"(?<=\w[:,/])(?=[\w[])(?!\d{3}\b)", "<wbr>", escaped))


def prose(text: str) -> Any:
    """A sentence: names in backticks are set as code, and no line begins with % or ±, or ends with ±."""
    from markupsafe import Markup

    text = str(joints(text)).replace(" %", "&nbsp;%").replace(" ± ", "&nbsp;±&nbsp;")
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", text))


# ----------------------------------------------------------------------------------------- files, libraries


def _page_file(name: str) -> str:
    return files("pickosim.reports").joinpath("assets", name).read_text(encoding="utf-8")


@cache
def _template() -> Any:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined)
    environment.filters |= {"joints": joints, "prose": prose}
    return environment.from_string(_page_file("template.html"))


@cache
def _bundle() -> str:
    """Vega and Vega-Lite, in the versions that Altair writes for, as one script."""
    source: str = _vl_convert().javascript_bundle(vl_version=_vegalite())
    return source.replace("</script", "<\\/script")


def _picture(spec: Spec, suffix: str) -> bytes:
    """A chart on white."""
    from pickosim.reports import charts

    config, convert = charts.picture_theme(spec), _vl_convert()
    if suffix == ".svg":
        svg: str = convert.vegalite_to_svg(spec, vl_version=_vegalite(), config=config)
        return svg.encode()
    png: bytes = convert.vegalite_to_png(spec, vl_version=_vegalite(), config=config, scale=PIXELS)
    return png


def _vl_convert() -> Any:
    try:
        import vl_convert
    except ImportError as error:
        raise lacking("Charts and reports need", "report") from error
    return vl_convert


def _vegalite() -> str:
    """The version of Vega-Lite that Altair writes, as vl-convert names it."""
    from altair import SCHEMA_VERSION

    major, minor, *_ = SCHEMA_VERSION.removeprefix("v").split(".")
    return f"{major}.{minor}"


def _write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)
    except OSError as error:
        raise PickosimError(f"{path} cannot be written: {error.strerror}.") from error


def command_again(command: str) -> str:
    """The command line of a run without its folder, which holds this run, and without workers, which change nothing."""
    words = iter(shlex.split(command))
    kept = []
    for word in words:
        if word in ("--out", "--workers"):
            next(words, None)
        elif not word.startswith(("--out=", "--workers=")):
            kept.append(word)
    return shlex.join(kept)


# ------------------------------------------------------------------------------------------ in a notebook


def results_html(results: Results) -> str:
    """The headline, the main tables, and which others there are."""
    leading = [(view, data) for view, data in shown_views(results) if view.leads]
    parts = [f"<p>{_prose(warning)}</p>" for warning in results.warnings]
    parts.append(f"<p><strong>{_prose(results.headline)}</strong></p>")
    parts += [table_html(data, view.table, view.frame.name) for view, data in leading]
    parts += [f"<p>{_prose(remark)}</p>" for remark in results.remarks]
    names = [view.frame.name for view, _ in leading]
    others = ", ".join(f"<code>{name}</code>" for name in results.frames if name not in names)
    parts.append(f"<p>{results.games_played:,} games. More tables: {others}.</p>")
    return f"<div>{chr(10).join(parts)}</div>"


def _prose(text: str) -> str:
    """A sentence: names in backticks are set as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def played_html(played: Played) -> str:
    """What each seat won, and which tables there are."""
    table = table_html(played.standings, PLAY_FRAMES["standings"], "standings")
    others = ", ".join(f"<code>{name}</code>" for name in PLAY_FRAMES if name != "standings")
    unfinished = f", {played.unfinished:,} of them unfinished" if played.unfinished else ""
    games = (
        f"{played.games_played:,} games{unfinished}, rules {escape(rules_text(played.match.rules))}"
    )
    return f"<div>{table}<p>{games}. More tables: {others}.</p></div>"


def table_html(frame: pl.DataFrame, table: Frame, name: str) -> str:
    """The first rows of a table, with the labels and formats of its columns."""
    columns = list(shown_columns(frame.head(NOTEBOOK_ROWS), table))
    sides = ["left" if column.is_text else "right" for column in columns]
    head = "".join(
        f'<th style="text-align: {side}">{escape(column.heading)}</th>'
        for column, side in zip(columns, sides, strict=True)
    )
    rows = "".join(
        f"<tr>{''.join(_cell(cell, side) for (cell, _), side in zip(row, sides, strict=True))}</tr>"
        for row in zip(*(column.cells for column in columns), strict=True)
    )
    left = len(frame) - NOTEBOOK_ROWS
    more = f"<p>{left:,} more rows in <code>{name}</code>.</p>" if left > 0 else ""
    return f"<table><caption>{name}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}"


def _cell(text: str, side: str) -> str:
    return f'<td style="text-align: {side}">{escape(text)}</td>'


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
