"""A comparison for a terminal: all measures side by side, the main differences drawn, and what they mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from pickosim.columns import Row
from pickosim.reports.cells import measure_label, with_error
from pickosim.reports.intervals import Drawn
from pickosim.reports.layout import grid, wrapped
from pickosim.studies.compare_findings import short
from pickosim.studies.measures import MEASURES, Measure
from pickosim.studies.sentences import is_beyond_chance, plus_minus, quoted, sentence

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pickosim.runs.results import Results

DRAWN = ("turns", "first_seat", "skill")
"""The measures whose differences are drawn."""

LONGEST_NAME = 34
"""Of a variant, beside a drawing: longer names are broken."""

Line = tuple[str, list[Measure]]
"""A line of the table of measures: its label, and its measures; several are percentiles of one."""


def compare_text(results: Results) -> Iterator[RenderableType]:
    """The answer, the tables of a comparison, the main differences as drawings, and sentences."""
    result, measures = results.manifest["result"], results.measures
    reference = results.manifest["result"]["reference"]
    yield Text(result["headline"], style="bold")
    yield Text()
    yield Text(results.manifest["title"])
    yield _legend(results.variants, reference)
    for players in dict.fromkeys(measures["players"]):
        yield Text()
        stronger = result.get("stronger", {}).get(str(players), "")
        yield _side_by_side(measures.filter(pl.col("players") == players), players, stronger)
    yield Text()
    yield Text("± is half the 95 % interval; * differs from the reference beyond chance.", "dim")
    yield from _drawings(measures, reference, sorted(set(result.get("stronger", {}).values())))
    yield Text()
    sentences = Table.grid(padding=(0, 1))
    for said in result["sentences"]:
        sentences.add_row("-", Text(said))
    yield sentences
    for remark in results.remarks:
        yield Text()
        yield Text(remark)


def _lines(bot: str) -> list[Line]:
    """One line per measure; the percentiles of a measure share one."""
    found: dict[str, list[Measure]] = {}
    for measure in MEASURES.values():
        if measure.percentile is None:
            found[measure_label(measure.name, quoted(bot))] = [measure]
        else:
            found.setdefault(f"  {measure.percentile[0]}, percentiles", []).append(measure)
    return [
        (
            f"{label} {', '.join(str(one.percentile[1]) for one in of if one.percentile)}"
            if of[0].percentile
            else label,
            of,
        )
        for label, of in found.items()
    ]


def _legend(variants: pl.DataFrame, reference: str) -> RenderableType:
    """What differs between the rules."""
    rows = [
        (
            row["variant"],
            "the reference" if row["variant"] == reference else row["differs"] or "nothing",
        )
        for row in variants.iter_rows(named=True)
    ]
    return grid("", [("variant", "left"), (f"differs from {reference} in", "left")], rows)


# ------------------------------------------------------------------------------------------ all side by side


@dataclass(frozen=True)
class SideBySide:
    """A table with a column of labels, whose other columns are split into as many tables as they need."""

    title: str
    labels: Sequence[str]
    columns: Sequence[tuple[str, Sequence[str]]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for number, columns in enumerate(self._dealt(options.max_width)):
            if number:
                yield Text()
            headings = [("", "left"), *((_heading(column), "right") for column in columns)]
            rows = zip(self.labels, *(cells for _, cells in columns), strict=True)
            yield grid(self.title if number == 0 else f"{self.title}, more", headings, rows)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(options.max_width, options.max_width)

    def _dealt(self, width: int) -> list[list[tuple[str, Sequence[str]]]]:
        """The columns, as many at a time as fit; the first of them, the reference, in each."""
        first, *others = self.columns
        free = width - max(map(len, self.labels)) - _needs(first)
        tables, left = [[first]], free
        for column in others:
            if _needs(column) > left and len(tables[-1]) > 1:
                tables.append([first])
                left = free
            tables[-1].append(column)
            left -= _needs(column)
        return tables


def _needs(column: tuple[str, Sequence[str]]) -> int:
    """The width of a column with the space before it; a long name is broken at its spaces."""
    name, cells = column
    return 2 + max(*map(len, name.split()), *map(len, cells))


def _heading(column: tuple[str, Sequence[str]]) -> str:
    return wrapped(column[0], _needs(column) - 2)


def _side_by_side(measures: pl.DataFrame, players: int, stronger: str) -> SideBySide:
    """All measures with one number of players, a column per variant, the reference first."""
    by_variant: dict[str, dict[str, Row]] = {}
    for row in measures.iter_rows(named=True):
        by_variant.setdefault(row["variant"], {})[row["measure"]] = row
    shown = [line for line in _lines(stronger) if _is_shown(line, by_variant)]
    order = sorted(by_variant, key=lambda name: by_variant[name]["turns"]["p_value"] is not None)
    games = measures["games"][0]
    return SideBySide(
        f"{players} players, {games:,} games per variant",
        [label for label, _ in shown],
        [(name, [_cell(line, by_variant[name]) for line in shown]) for name in order],
    )


def _is_shown(line: Line, by_variant: dict[str, dict[str, Row]]) -> bool:
    """Whether there is anything to show: no hens where nobody has one."""
    name = line[1][0].name
    rows = [of.get(name) for of in by_variant.values()]
    if name == "hen_steals":
        return any(row["value"] for row in rows if row)
    return all(rows)


def _cell(line: Line, rows: dict[str, Row]) -> str:
    _, measures = line
    if len(measures) > 1:
        return ", ".join(f"{rows[measure.name]['value']:.0f}" for measure in measures) + " "
    (measure,) = measures
    row = rows[measure.name]
    value, low, high = (measure.scale * row[name] for name in ("value", "value_low", "value_high"))
    shown = f"0 (≤ {high:.1g})" if value == low == 0 < high else plus_minus(value, (high - low) / 2)
    return f"{shown}{'*' if is_beyond_chance(row) else ' '}"


# ------------------------------------------------------------------------------------------------ differences


def _drawings(
    measures: pl.DataFrame, reference: str, stronger: Sequence[str]
) -> Iterator[RenderableType]:
    """Differences with their intervals, drawn on a common scale."""
    bot = quoted(stronger[0]) if len(stronger) == 1 else "the stronger bot"
    for name in DRAWN:
        rows = measures.filter(pl.col("measure") == name, pl.col("variant") != reference).to_dicts()
        order = list(dict.fromkeys(row["variant"] for row in rows))
        rows.sort(key=lambda row: order.index(row["variant"]))
        if rows:
            yield Text()
            label = measure_label(name, bot)
            title = sentence(f"{label}: difference from {short(reference)}").rstrip(".")
            yield _forest(title, MEASURES[name].scale, rows)


def _forest(title: str, scale: float, rows: Sequence[Row]) -> Drawn:
    """Differences, one per line, with their intervals drawn where they lie."""
    many = len({row["players"] for row in rows}) > 1
    cells = [
        (
            wrapped(row["variant"], LONGEST_NAME),
            *([f"{row['players']}"] if many else []),
            f"{with_error(row, 'difference', scale, '+')}{'*' if is_beyond_chance(row) else ' '}",
        )
        for row in rows
    ]
    columns = [
        ("variant", "left"),
        *([("players", "right")] if many else []),
        ("difference ", "right"),
    ]
    ends = [(row["difference"], row["difference_low"], row["difference_high"]) for row in rows]
    return Drawn(title, columns, cells, len(columns), ends)
