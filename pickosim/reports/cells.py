"""Cells: the columns of a result table as text, for the terminal and the page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from math import isnan
from typing import Any, NamedTuple

import polars as pl

from pickosim.columns import (
    BY_MEASURE,
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
from pickosim.studies.measures import measure_format, measure_label
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


def for_row(column: Column, row: Row) -> Column:
    """The column with the format of the row's measure, where that decides."""
    if column.format is not BY_MEASURE or "measure" not in row:
        return column
    return replace(column, format=measure_format(row["measure"], column.name))


def cell_text(column: Column, row: Row) -> str:
    """A value of a row as text; of a column whose heading names the unit, without it."""
    value = row[column.name]
    if column.name == "measure":
        return measure_label(value)
    known = for_row(column, row)
    if known.format is not None and known.format.heading and known.format is column.format:
        return NO_VALUE if _is_missing(value) else known.format.bare(value)
    return known.text(value)


def interval_text(column: Column, row: Row) -> str:
    """The interval of a value, without its unit."""
    low, high = row[f"{column.name}_low"], row[f"{column.name}_high"]
    of = for_row(column, row).format
    if low is None or high is None or of is None:
        return NO_VALUE
    return f"{of.bare(low)} to {of.bare(high)}"


def error_text(column: Column, row: Row) -> str:
    """A value with half its interval, in the unit of its column's heading."""
    if _is_missing(row[column.name]):
        return NO_VALUE
    of = for_row(column, row).format or BY_MEASURE
    if row[f"{column.name}_low"] is None or row[f"{column.name}_high"] is None:
        return cell_text(column, row)
    sign = "+" if of.spec.startswith("+") else ""
    unit = f" {of.unit}" if column.format is BY_MEASURE and of.unit else ""
    return f"{with_error(row, column.name, of.scale, sign)}{unit}"


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and isnan(value))


def difference_label(name: str) -> str:
    """The label of a measure's differences: those of a share are points, not per cent of anything."""
    label, unit, _ = measure_label(name).partition(", %")
    return f"{label}, points" if unit else label


def with_error(row: Row, name: str, scale: float = 1.0, sign: str = "") -> str:
    """A value with half its interval; a dash if there is none."""
    if row[name] is None:
        return "-"
    value, low, high = (scale * row[end] for end in (name, f"{name}_low", f"{name}_high"))
    if low < high and value in (low, high):
        return f"{low:.1f} to {high:.1f}"  # a share of 0 or 1: its interval has one side only
    return plus_minus(value, (high - low) / 2, sign=sign)


# ---------------------------------------------------------------------------- labels, panels and groups


def name_of(columns: str, row: Row) -> str:
    """What one or several columns of a row are called together."""
    words = _NAMES.get(columns)
    return words(row) if words else str(row[columns])


def table_size(row: Row) -> str:
    """The number of players in words."""
    return f"{row['players']} players"


def _setting(row: Row) -> str:
    """A setting as a label has room for it: faces of a die without commas, W for a worm."""

    def faces(found: re.Match[str]) -> str:
        return re.sub("[, ]", "", found[1].replace("worm", "W"))

    return re.sub(r"\[([^]]*)\]", faces, row["setting"])


def _option(row: Row) -> str:
    """The option that is changed; where a specialist starts goes without saying."""
    is_place = row["option"].startswith("specialists.")
    return str(row["specialist"]) if is_place else f"{row['specialist']}: {row['option']}"


_NAMES: dict[str, Callable[[Row], str]] = {
    "players": table_size,
    "bot players": lambda row: f"{row['bot']}, {table_size(row)}",
    "seat": lambda row: f"seat {row['seat']}{'' if row['seat'] else ' (begins)'}",
    "rating_field": lambda row: f"field {row['rating_field']}",
    "measure": lambda row: difference_label(row["measure"]),
    "setting": _setting,
    "specialist option": _option,
    "option setting": lambda row: f"{row['option']} = {row['setting']}",
}


# ------------------------------------------------------------------------------------------ whole tables


def frame_grid(title: str, frame: pl.DataFrame, table: Frame) -> Grid:
    """A result table for a terminal, with all its columns."""
    columns = list(shown_columns(frame, table))
    headings = [(one.heading, "left" if one.is_text else "right") for one in columns]
    return grid(
        title, headings, zip(*([text for text, _ in one.cells] for one in columns), strict=True)
    )
