"""Tables for a page: the frames of a run as sortable HTML, numbers as on the terminal."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import escape
from math import isfinite, isnan
from typing import Any, NamedTuple

import polars as pl

from pickosim.reports.layout import percent
from pickosim.studies.measures import FAILS, SHARES

MOST_ROWS = 1000
"""Rows that a page shows of a table; a browser gets slow with more."""

Row = dict[str, Any]

_PERCENT = {
    "win_share",
    "ahead",
    "superiority",
    "held_at_end",
    "win_share_held",
    "take_up",
    "chance_best",
}
_POINTS = {"gain", "mean_gain", "spread", "guess"}
_WIDTHS = {"spread", "guess"}
"""Points that are never below 0."""
_SIGNED = {"score_difference", "worms"}
_HEADINGS = {
    "mean_score": "worms",
    "mean_rank": "rank",
    "p_value": "p",
    "p_adjusted": "p, corrected",
    "rating_field": "field",
    "strategy": "bot",
    "ahead": "finishes ahead",
    "score_difference": "worms more",
    "superiority": "better: likelihood",
}


LONG = 24
"""Letters from which on a text is broken into lines."""


class Column(NamedTuple):
    """A column of a shown table: its cells with their words and what they are sorted by."""

    heading: str
    is_text: bool
    cells: list[tuple[str, str]]

    @property
    def html_class(self) -> str:
        """Texts stand left; long ones in lines."""
        if not self.is_text:
            return ""
        is_long = any(len(words) > LONG for words, _ in self.cells)
        return ' class="text long"' if is_long else ' class="text"'


def is_share(measure: str) -> bool:
    """Whether a measure of games is a share, so that its differences are points."""
    return measure in SHARES or measure in FAILS


def html_table(frame: pl.DataFrame, label: str) -> str:
    """A frame as a table with headings to sort by; of a long one, its beginning."""
    columns = list(shown_columns(frame.head(MOST_ROWS)))
    head = "".join(_heading(column) for column in columns)
    body = "\n".join(
        "<tr>" + "".join(_cell(column, row) for column in columns) + "</tr>"
        for row in range(min(len(frame), MOST_ROWS))
    )
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(label)}">'
        f'<table class="sortable"><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>'
        "</div>"
    )


def breakable(text: str) -> str:
    """Text as HTML; the long spec of a bot may be broken at its joints, an arrow may not."""
    text = text.replace(" -> ", " → ")
    return re.sub(r"(?<=\w[:,/=])(?=[\w[])(?!\d{3}\b)", "<wbr>", escape(text))


def _heading(column: Column) -> str:
    return f'<th scope="col"{column.html_class}><button type="button">{escape(column.heading)}</button></th>'


def _cell(column: Column, row: int) -> str:
    words, value = column.cells[row]
    raw = "" if words == value else f' data-value="{escape(value)}"'
    return f"<td{column.html_class}{raw}>{breakable(words)}</td>"


def shown_columns(frame: pl.DataFrame) -> Iterator[Column]:
    """The columns to show: an interval is one, and a rating comes with its error."""
    rows = frame.to_dicts()
    names = set(frame.columns)
    # How many games there were is asked last.
    in_order = sorted(frame.schema.items(), key=lambda column: column[0] == "games")
    for name, kind in in_order:
        if name.endswith(("_low", "_high")) and name.rpartition("_")[0] in names:
            continue
        if name == "p_value" and "p_adjusted" in names:
            continue  # the corrected one counts; the file of the table has both
        if name == "rating_error" or (name == "rating_field" and frame[name].n_unique() < 2):
            continue
        heading = _HEADINGS.get(name, name.replace("_", " "))
        if name in _POINTS:
            heading += ", points"
        if kind == pl.String:
            yield Column(heading, True, [(row[name] or "", row[name] or "") for row in rows])
            continue
        words = _rating if name == "rating" else _shown(name)
        yield Column(heading, False, [(words(row), _sort_value(row[name])) for row in rows])
        if {f"{name}_low", f"{name}_high"} <= names:
            cells = [(_interval(row, name), _sort_value(row[f"{name}_low"])) for row in rows]
            yield Column("95 % interval", False, cells)


def number_words(name: str, row: Row) -> Callable[[float], str]:
    """How a number of a column is written; of measures that depends on the measure."""
    measured = name in ("value", "without", "difference") and "measure" in row
    if name == "difference":
        return _points if not measured or is_share(row["measure"]) else _signed
    if name in _PERCENT or (measured and is_share(row["measure"])):
        return percent
    if name in _POINTS:
        return _bare_width if name in _WIDTHS else _bare_points
    if name in _SIGNED:
        return _signed
    if name.startswith("p_"):
        return p_words
    return _rank if name == "mean_rank" else _amount


def p_words(value: float) -> str:
    """A p value, as far as it matters."""
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def _shown(name: str) -> Callable[[Row], str]:
    def words(row: Row) -> str:
        value = row[name]
        if isinstance(value, bool):
            return "yes" if value else "no"
        if value is None or (isinstance(value, float) and isnan(value)):
            return "–"
        return f"{value:,}" if isinstance(value, int) else number_words(name, row)(value)

    return words


def _interval(row: Row, name: str) -> str:
    """An interval without the unit, which stands beside it."""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    if low is None or high is None:
        return "–"
    words = number_words(name, row)
    ends = (words(end).removesuffix(" %").removesuffix(" points") for end in (low, high))
    return " to ".join(ends)


def _rating(row: Row) -> str:
    """A rating with its 95 % half-width, or what there is instead."""
    rating, error = row["rating"], row["rating_error"]
    if rating is None or isnan(rating):
        return "?"
    if not isfinite(rating):
        return "more than any" if rating > 0 else "less than any"
    return f"{rating:.0f}" if error is None else f"{rating:.0f} ± {error:.0f}"


def _sort_value(value: Any) -> str:
    """A number as JavaScript reads it; nothing for none."""
    match value:
        case None:
            return ""
        case bool():
            return str(int(value))
        case float() if isnan(value):
            return ""
        case float() if not isfinite(value):
            return "Infinity" if value > 0 else "-Infinity"
        case _:
            return repr(value)


def _points(value: float) -> str:
    return f"{100 * value:+.2f} points"


def _bare_points(value: float) -> str:
    return f"{100 * value:+.2f}"


def _bare_width(value: float) -> str:
    return f"{100 * value:.2f}"


def _signed(value: float) -> str:
    return f"{value:+,.2f}"


def _amount(value: float) -> str:
    return f"{value:,.2f}"


def _rank(value: float) -> str:
    return f"{value:.3f}"
