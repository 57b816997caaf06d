"""Views for a terminal: the tables of any run as its study declares them, with headline, findings and remarks."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import isnan
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl
from rich.table import Table
from rich.text import Text

from pickosim.amounts import listed, plus_minus
from pickosim.columns import (
    BY_MEASURE,
    NO_VALUE,
    POINTS,
    SIGNED,
    WIDTH,
    Column,
    Format,
    Frame,
    Row,
    percentage,
    rating_text,
)
from pickosim.errors import PickosimError, suggest
from pickosim.reports.layout import BAD, Grid, IntervalGrid, grid, wrapped
from pickosim.runs.folder import records
from pickosim.runs.run import Results
from pickosim.studies.kinds import study_kind
from pickosim.studies.measures import (
    SIGNIFICANCE,
    is_significant,
    measure_format,
    measure_label,
)
from pickosim.studies.variants import short
from pickosim.studies.views import Crossed, Drawn, Listed, TextTable, Title, View, distinct

if TYPE_CHECKING:
    from rich.console import RenderableType


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
    # The number of games comes last.
    for column, has_interval in sorted(table.columns(), key=lambda pair: pair[0].name == "games"):
        name = column.name
        if _is_hidden(name, frame):
            continue
        with_ends = has_interval and f"{name}_low" in frame.columns
        in_one = with_ends and column.format in WITH_ERROR
        text = error_text if in_one else cell_text
        shown = [(text(column, row), row[name]) for row in rows]
        yield Cells(column.heading, column.dtype == pl.String, shown)
        if with_ends and not in_one:
            ends = [(interval_text(column, row), row[f"{name}_low"]) for row in rows]
            yield Cells(INTERVAL, False, ends)


def _is_hidden(name: str, frame: pl.DataFrame) -> bool:
    """Columns that are left out: another one shows them, or they say nothing."""
    if name not in frame.columns:
        return True
    if name == "p_value":
        return "p_adjusted" in frame.columns  # the corrected one counts; the file has both
    if name == "forfeits":
        return not frame[name].sum()
    if name == "note":
        return bool(frame[name].is_null().all())
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
    if column.name == "rating":
        return rating_text(value, row["rating_error"])
    return for_row(column, row).text(value, bare=bool(column.format and column.format.heading))


def interval_text(column: Column, row: Row) -> str:
    """The interval of a value, without its unit."""
    low, high = row[f"{column.name}_low"], row[f"{column.name}_high"]
    of = for_row(column, row).format
    if low is None or high is None or of is None:
        return NO_VALUE
    return f"{of.bare(low)} to {of.bare(high)}"


def error_text(column: Column, row: Row) -> str:
    """A value with half its interval, in the unit of its column's heading."""
    value, low, high = (row[f"{column.name}{end}"] for end in ("", "_low", "_high"))
    if value is None or isnan(value) or low is None or high is None:
        return cell_text(column, row)
    of = for_row(column, row).format or BY_MEASURE
    unit = f" {of.unit}" if column.format is BY_MEASURE and of.unit else ""
    return f"{with_error(row, column.name, of)}{unit}"


def difference_label(name: str) -> str:
    """The label of a measure's differences: those of a share are points, not per cent of anything."""
    label, unit, _ = measure_label(name).partition(", %")
    return f"{label}, points" if unit else label


def with_error(row: Row, name: str, of: Format) -> str:
    """A value with half its interval, if that is known, without its unit."""
    if row[f"{name}_low"] is None or row[f"{name}_high"] is None:
        return of.bare(row[name])
    value, low, high = (of.scale * row[end] for end in (name, f"{name}_low", f"{name}_high"))
    if value == low == 0 < high:
        return f"0 (≤ {high:.1g})"
    if low < high == value == 100:
        return f"{low:.1f} to 100"
    return plus_minus(value, (high - low) / 2, sign="+" if of.is_signed else "")


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

    def faces(match: re.Match[str]) -> str:
        return re.sub("[, ]", "", match[1].replace("worm", "W"))

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
    headings = [(column.heading, "left" if column.is_text else "right") for column in columns]
    return grid(
        title,
        headings,
        zip(*([text for text, _ in column.cells] for column in columns), strict=True),
    )


MOST_COLUMNS = 12
"""Columns that a cross table has room for; of more it shows the first."""

MOST_FINDINGS = 5
"""Sentences below the tables, without `--full`."""

LONGEST_NAME = 34
"""Letters of a row beside a drawing; longer names are broken."""


def shown_views(results: Results) -> list[tuple[View, pl.DataFrame]]:
    """The views of a run that have data, with it."""
    study = study_kind(results.manifest["kind"])
    views = study.views or [View.plain(frame) for frame in study.frame_types.values()]
    with_data = [(view, view.data(results)) for view in views]
    return [(view, data) for view, data in with_data if len(data)]


def as_text(results: Results, full: bool = True) -> Iterator[RenderableType]:
    """Tables and sentences for a terminal, all or only the main ones; of an experiment, its question first."""
    if question := results.manifest.get("question"):
        yield Text(question, style="bold")
        yield Text()
    for warning in results.warnings:
        yield Text(warning, style=BAD)
        yield Text()
    yield Text(results.headline, style="bold")
    declared = [(view, text) for view, _ in shown_views(results) for text in view.texts(full)]
    first = declared[0][1] if declared else Listed()
    if not isinstance(first, Listed) or first.title:
        yield Text()
        yield Text(results.manifest["title"])
    for view, text in declared:
        for part in _tables(view, text, results, full):
            yield Text()
            yield part
    groups = findings_of(results)
    for heading, sentences in groups if full else _first(groups, MOST_FINDINGS):
        yield Text()
        if heading:
            yield Text(f"{heading}:")
        lines = Table.grid(padding=(0, 1))
        for sentence in sentences:
            lines.add_row("-", Text(sentence))
        yield lines
    for remark in results.remarks:
        yield Text()
        yield Text(remark)


def findings_of(results: Results) -> list[tuple[str, list[str]]]:
    """The sentences of a run, and those on one variant under a heading."""
    result = results.manifest["result"]
    groups = {"": result["sentences"]}
    for variant, lines in result.get("by_variant", {}).items():
        groups[f"{variant} compared with {short(result['reference'])}"] = lines
    return [(heading, sentences) for heading, sentences in groups.items() if sentences]


def _first(groups: Sequence[tuple[str, list[str]]], most: int) -> Iterator[tuple[str, list[str]]]:
    """The first sentences of all groups, as evenly as there are any."""
    places = [(place, group) for group, (_, of) in enumerate(groups) for place in range(len(of))]
    kept = Counter(group for _, group in sorted(places)[:most])
    for group, (heading, sentences) in enumerate(groups):
        if kept[group]:
            yield heading, sentences[: kept[group]]


def about_the_rest(results: Results) -> str:
    """Where to find what the short text of a run leaves out; empty if that is nothing."""
    views = [view for view, _ in shown_views(results)]
    if sum(len(of) for _, of in findings_of(results)) <= MOST_FINDINGS and all(
        view.texts(True) == view.texts(False) for view in views
    ):
        return ""
    leading = {view.frame.name for view in views if view.leads}
    others = dict.fromkeys(view.frame.name for view in views if view.frame.name not in leading)
    run = shlex.quote(str(results.folder))
    tables = f", or --table {'|'.join(others)}" if others else ""
    return f"More: pickosim show {run} --full{tables}\nPage: pickosim report {run}"


def table_of(results: Results, name: str) -> pl.DataFrame:
    """A table of a run by its name."""
    if name not in results.frames:
        hint = suggest(name, results.frames) or "."
        raise PickosimError(
            f'The run has no table "{name}"{hint} Its tables are {", ".join(results.frames)}.'
        )
    return results.frames[name]


def table_text(results: Results, name: str) -> Grid:
    """A whole table of a run for a terminal."""
    table = table_of(results, name)
    frame = study_kind(results.manifest["kind"]).frame_types[name]
    return frame_grid(frame.rows, table, frame)


def as_json(results: Results) -> dict[str, Any]:
    """All tables, each a list of its rows, and the manifest without the checksums of files."""
    tables = {name: records(frame) for name, frame in results.frames.items()}
    manifest = {key: value for key, value in results.manifest.items() if key != "files"}
    return {**tables, "manifest": manifest}


def main_table(results: Results) -> pl.DataFrame:
    """The main table of a run, which CSV prints: the first."""
    return results.frames[next(iter(study_kind(results.manifest["kind"]).frame_types))]


# ------------------------------------------------------------------------------------ what is declared


def _tables(view: View, text: TextTable, results: Results, full: bool) -> Iterator[RenderableType]:
    """The tables of a declaration."""
    if isinstance(text, str):
        yield _TEXTS[text](results)
        return
    frame = text.rows(results) if text.rows else view.rows_of(results)
    if isinstance(text, Listed):
        table = frame_grid(text.title or results.manifest["title"], frame, view.frame)
        yield replace(table, is_whole=full or not text.is_cut)
        return
    each: dict[tuple[Any, ...], list[Row]] = {}
    for row in frame.iter_rows(named=True):
        each.setdefault(tuple(row[name] for name in text.each.split()), []).append(row)
    for rows in each.values():
        title = _title(text.title, text.value, results, rows)
        if isinstance(text, Drawn):
            yield replace(_drawn(view, text, title, rows), is_whole=full)
        else:
            yield _crossed(view, text, title, *text.order(results, rows), rows)


def _title(title: Title, value: str, results: Results, rows: Sequence[Row]) -> str:
    if callable(title):
        return title(results, rows)
    widths = [
        row[f"{value}_high"] - row[f"{value}_low"]
        for row in rows
        if row.get(f"{value}_low") is not None and row[f"{value}_high"] is not None
    ]
    error = min(50 * max(widths, default=0.0), 100)
    sizes = (
        listed([str(size) for size in distinct(rows, "players")]) if "players" in rows[0] else ""
    )
    facts = {"error": error, "games": _games(rows), "players": sizes}
    return title.format(**rows[0] | facts)


def _games(rows: Sequence[Row]) -> str:
    """How many games each row rests on."""
    few, most = (end(row["games"] for row in rows) for end in (min, max))
    return f"{few:,}" if few == most else f"{few:,} to {most:,}"


def _crossed(
    view: View,
    text: Crossed,
    title: str,
    order: Sequence[Any],
    across: Sequence[Any],
    rows: Sequence[Row],
) -> Grid:
    """A cross table; a value has its error if there is room, or else the title gives the largest."""
    column = view.frame.column(text.value)
    cells = {(row[text.row], row[text.across]): row for row in rows}

    def cell(at: tuple[Any, Any]) -> str:
        row = cells.get(at)
        if row is None:
            return text.missing
        of, value = for_row(column, row).format, row[text.value]
        if value is None or of is None:
            shown = "-"
        elif text.errors:
            star = "*" if is_significant(row) else " "
            shown = f"{with_error(row, text.value, of)}{star}"
        else:
            shown = f"{100 * value:+.1f}" if of.is_signed else percentage(value, 1)
        return f"{shown}{_mark(row, text.marked)}"

    shown = across if text.errors else across[:MOST_COLUMNS]
    names = [f"{k} {name}" if text.numbered else name for k, name in enumerate(order, start=1)]
    body = [[cell((row, column)) for column in shown] for row in order]
    gap = " " if text.marked else ""
    headings = [
        wrapped(str(k if text.numbered else name), max(map(len, (*str(name).split(), *column))))
        for k, (name, *column) in enumerate(zip(shown, *body, strict=True), start=1)
    ]
    return grid(
        title,
        [
            (text.heading, "right" if text.is_number else "left"),
            *((f"{heading}{gap}", "right") for heading in headings),
        ],
        [(name, *line) for name, line in zip(names, body, strict=True)],
        kept=2 if text.errors else 1,
    )


def _mark(row: Row, marked: str) -> str:
    """What marks the setting of the rules as given."""
    return "" if not marked else "°" if row[marked] else " "


def _drawn(view: View, text: Drawn, title: str, rows: Sequence[Row]) -> IntervalGrid:
    """A table with the intervals of one column drawn beside it."""
    names, value = text.columns.split(), text.value
    if len({row.get("players") for row in rows}) == 1:
        names = [name for name in names if name != "players"]

    def cell(name: str, row: Row) -> str:
        known, of = row[name], for_row(view.frame.column(name), row).format
        if name == names[0]:
            return f"{wrapped(known, LONGEST_NAME)}{_mark(row, text.marked)}"
        if known is None or of is None:
            return known or "-"
        if name == value:
            return f"{with_error(row, name, of)}{'*' if is_significant(row) else ' '}"
        return of.bare(known)

    columns = [view.frame.column(name) for name in names]
    return IntervalGrid(
        title,
        [
            (text.headings.get(column.name, column.label), "right" if column.format else "left")
            for column in columns
        ],
        [[cell(name, row) for name in names] for row in rows],
        names.index(value) + 1,
        [
            None if row[value] is None else (row[value], row[f"{value}_low"], row[f"{value}_high"])
            for row in rows
        ],
    )


# ------------------------------------------------------------------------------- texts of a comparison


def _variants(results: Results) -> Grid:
    """What the variants of a comparison differ in."""
    columns = [
        ("variant", "left"),
        (f"differs from {results.manifest['result']['reference']} in", "left"),
    ]
    (variants,) = (data for view, data in shown_views(results) if view.frame.name == "variants")
    return grid("", columns, variants.select("variant", "differs").rows())


def _about_marks(results: Results) -> Text:
    """What ± and * mean in the tables of measures."""
    text = "± is half the 95 % interval"
    if comparisons := results.measures["p_value"].count():
        text += (
            f"; * is significant: p below {SIGNIFICANCE:g} after correction for all {comparisons:,} comparisons "
            "(Holm)"
        )
    return Text(f"{text}.", "dim")


_TEXTS: dict[str, Callable[[Results], RenderableType]] = {
    "variants": _variants,
    "marks": _about_marks,
}
"""Texts that a view may name."""
