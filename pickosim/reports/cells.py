"""Cells: the columns of a result table as text, for the terminal and the page."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan
from typing import Any, NamedTuple

import polars as pl

from pickosim.columns import (
    BY_MEASURE,
    COLUMNS,
    NO_VALUE,
    POINTS,
    SIGNED,
    WIDTH,
    Column,
    Frame,
    Row,
    rating_text,
)
from pickosim.reports.layout import Grid, grid
from pickosim.studies.calibrate import SHOWN_LEAD
from pickosim.studies.measures import MEASURES, measure_format
from pickosim.studies.sentences import plus_minus

INTERVAL = "95 % interval"

WITH_ERROR = (BY_MEASURE, POINTS, SIGNED, WIDTH)
"""Formats of numbers that are written with ±: half their interval. A share has an interval of its own shape."""


class Cells(NamedTuple):
    """A column as it is shown: its heading, whether it is text, and per row the text and what to sort by."""

    heading: str
    is_text: bool
    cells: list[tuple[str, Any]]


def shown_columns(frame: pl.DataFrame, table: Frame) -> Iterator[Cells]:
    """The columns to show: an interval is one column, and a rating and a difference come with their error.

    Numbers that the terminal writes with ±, rounded as their error suggests, are written so on the page too.
    """
    rows = frame.to_dicts()
    names = set(frame.columns)
    # The number of games comes last.
    in_order = sorted(
        (pair for pair in table.columns() if pair[0].name in names),
        key=lambda pair: pair[0].name == "games",
    )
    for column, has_interval in in_order:
        name = column.name
        if _is_hidden(name, frame):
            continue
        if has_interval and column.format in WITH_ERROR and f"{name}_low" in names:
            shown = [(error_text(column, row), row[name]) for row in rows]
            yield Cells(column.heading, False, shown)
            continue
        if name == "rating":
            shown = [(rating_text(row["rating"], row["rating_error"]), row[name]) for row in rows]
        else:
            shown = [(cell_text(column, row), row[name]) for row in rows]
        yield Cells(column.heading, column.dtype == pl.String, shown)
        if has_interval and f"{name}_low" in names:
            ends = [(interval_text(column, row), row[f"{name}_low"]) for row in rows]
            yield Cells(INTERVAL, False, ends)


def _is_hidden(name: str, frame: pl.DataFrame) -> bool:
    """Columns that another one shows, or that say nothing."""
    if name == "p_value":
        return "p_adjusted" in frame.columns  # the corrected one counts; the file has both
    return name == "rating_error" or (name == "rating_field" and frame[name].n_unique() < 2)


def _for_row(column: Column, row: Row) -> Column:
    """The column with the format of the row's measure, where that decides."""
    if column.format is not BY_MEASURE or "measure" not in row:
        return column
    of = measure_format(row["measure"], column.name)
    return Column(column.name, column.dtype, of, column.label, column.description)


def cell_text(column: Column, row: Row) -> str:
    """A value of a row as text; of a column whose heading names the unit, without it."""
    value = row[column.name]
    if column.name == "measure":
        return measure_label(value)
    known = _for_row(column, row)
    if known.format is not None and known.format.heading and known.format is column.format:
        return NO_VALUE if _is_missing(value) else known.format.bare(value)
    return known.text(value)


def interval_text(column: Column, row: Row) -> str:
    """The interval of a value, without its unit."""
    low, high = row[f"{column.name}_low"], row[f"{column.name}_high"]
    of = _for_row(column, row).format
    if low is None or high is None or of is None:
        return NO_VALUE
    return f"{of.bare(low)} to {of.bare(high)}"


def error_text(column: Column, row: Row) -> str:
    """A value with half its interval, in the unit of its column's heading."""
    if _is_missing(row[column.name]):
        return NO_VALUE
    of = _for_row(column, row).format or BY_MEASURE
    if row[f"{column.name}_low"] is None or row[f"{column.name}_high"] is None:
        return cell_text(column, row)
    sign = "+" if of.spec.startswith("+") else ""
    unit = f" {of.unit}" if column.format is BY_MEASURE and of.unit else ""
    return f"{with_error(row, column.name, of.scale, sign)}{unit}"


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and isnan(value))


def measure_label(name: str, bot: str = "the stronger bot") -> str:
    """The label of a measure; `bot` is the one that skill is about."""
    return MEASURES[name].label.format(bot=bot)


def difference_label(name: str) -> str:
    """The label of a measure's differences: those of a share are points, not per cent of anything."""
    label, unit, _ = measure_label(name).partition(", %")
    return f"{label}, points" if unit else label


def label(name: str) -> str:
    """The heading of a column."""
    return COLUMNS[name].heading


def with_error(row: Row, name: str, scale: float = 1.0, sign: str = "") -> str:
    """A value with half its interval; a dash if there is none."""
    if row[name] is None:
        return "-"
    value, low, high = (scale * row[end] for end in (name, f"{name}_low", f"{name}_high"))
    if low < high and value in (low, high):
        return f"{low:.1f} to {high:.1f}"  # a share of 0 or 1: its interval has one side only
    return plus_minus(value, (high - low) / 2, sign=sign)


def lead_text(lead: int) -> str:
    """A lead in worms; the largest stands for all that are larger."""
    if abs(lead) < SHOWN_LEAD:
        return f"{lead:+d}"
    return f"{'≥' if lead > 0 else '≤'} {lead:+d}"


def frame_grid(title: str, frame: pl.DataFrame, table: Frame) -> Grid:
    """A result table for a terminal, with all its columns."""
    columns = list(shown_columns(frame, table))
    headings = [(one.heading, "left" if one.is_text else "right") for one in columns]
    return grid(
        title, headings, zip(*([text for text, _ in one.cells] for one in columns), strict=True)
    )
