"""A comparison in words: all measures side by side, the main differences drawn, and what they mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import polars as pl
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from pickosim.reports.intervals import Drawn, Ends
from pickosim.reports.layout import grid
from pickosim.studies.compare_findings import short
from pickosim.studies.sentences import is_beyond_chance, plus_minus
from pickosim.studies.table_rows import Row

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pickosim.runs.results import Results


class Line(NamedTuple):
    """A line of the table of measures: its label, and how its numbers are shown."""

    label: str
    measures: tuple[str, ...]
    scale: float = 1.0


LINES = (
    Line("turns a game", ("turns",)),
    Line("  percentiles 5, 50, 95", ("turns_p5", "turns_p50", "turns_p95")),
    Line("rolls a game", ("rolls",)),
    Line("  percentiles 5, 50, 95", ("rolls_p5", "rolls_p50", "rolls_p95")),
    Line("turns that fail, %", ()),
    Line("  no new face", ("fails_no_new_face",), 100),
    Line("  no worm", ("fails_no_worm",), 100),
    Line("  nothing to claim", ("fails_nothing_to_claim",), 100),
    Line("steals a game", ("steals",)),
    Line("hens stolen a game", ("hen_steals",)),
    Line("flips a game", ("flips",)),
    Line("tiles left out", ("tiles_left_out",)),
    Line("winner's margin, worms", ("margin",)),
    Line("ties, % of games", ("ties",), 100),
    Line("lead changes a game", ("lead_changes",)),
    Line("first seat, points gained", ("first_seat",), 100),
    Line("fair shares of {stronger}", ("skill",)),
    Line("unfinished, % of games", ("unfinished",), 100),
)

DRAWN = (
    Line("Turns a game", ("turns",)),
    Line("Win share of the first seat, in points", ("first_seat",), 100),
    Line("Fair shares won by {stronger}", ("skill",)),
)
"""The measures whose differences are drawn."""

LONGEST_NAME = 34
"""Of a variant, beside a drawing: longer names are broken."""


def compare_words(results: Results) -> Iterator[RenderableType]:
    """The tables of a comparison, the main differences as drawings, and sentences."""
    plan, result = results.manifest["plan"], results.manifest["result"]
    reference = plan["reference"]
    bots = ", ".join(plan["strategies"][k]["name"] for k in plan["bots"])
    yield Text(f"Rules compared, the same dice for all, bots {bots}, seed {plan['seed']}", "bold")
    yield _legend(results.variants, reference)
    measures = results.measures
    for players in plan["players"]:
        yield Text()
        stronger = result["stronger"].get(str(players), "")
        yield _side_by_side(measures.filter(pl.col("players") == players), players, stronger)
    yield Text()
    yield Text("± is half the 95 % interval; * differs from the reference beyond chance.", "dim")
    yield from _drawings(measures, reference, sorted(set(result["stronger"].values())))
    yield Text()
    yield Text(result["headline"], style="bold")
    sentences = Table.grid(padding=(0, 1))
    for sentence in result["sentences"]:
        sentences.add_row("-", Text(sentence))
    yield sentences
    for remark in results.remarks:
        yield Text()
        yield Text(remark)


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


# --------------------------------------------------------------------------------- all side by side


@dataclass(frozen=True)
class SideBySide:
    """A table with a column of labels, whose other columns are dealt to as many tables as they need."""

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
    return _wrapped(column[0], _needs(column) - 2)


def _side_by_side(measures: pl.DataFrame, players: int, stronger: str) -> SideBySide:
    """All measures of a table size, a column a variant, the reference first."""
    by_variant: dict[str, dict[str, Row]] = {}
    for row in measures.iter_rows(named=True):
        by_variant.setdefault(row["variant"], {})[row["measure"]] = row
    shown = [line for line in LINES if _is_told(line, by_variant)]
    order = sorted(by_variant, key=lambda name: by_variant[name]["turns"]["p_value"] is not None)
    games = measures["games"][0]
    return SideBySide(
        f"{players} players, {games:,} games a variant",
        [line.label.format(stronger=stronger) for line in shown],
        [(name, [_cell(line, by_variant[name]) for line in shown]) for name in order],
    )


def _is_told(line: Line, by_variant: dict[str, dict[str, Row]]) -> bool:
    """Whether there is anything to tell: no hens where nobody has one."""
    if not line.measures:
        return True
    rows = [of.get(line.measures[0]) for of in by_variant.values()]
    if line.measures[0] == "hen_steals":
        return any(row["value"] for row in rows if row)
    return all(rows)


def _cell(line: Line, rows: dict[str, Row]) -> str:
    if len(line.measures) != 1:
        return ", ".join(f"{rows[measure]['value']:.0f}" for measure in line.measures) + " "
    row = rows[line.measures[0]]
    value, low, high = (line.scale * row[name] for name in ("value", "value_low", "value_high"))
    shown = f"0 (≤ {high:.1g})" if value == low == 0 < high else plus_minus(value, (high - low) / 2)
    return f"{shown}{'*' if is_beyond_chance(row) else ' '}"


# -------------------------------------------------------------------------------------- differences


def _drawings(
    measures: pl.DataFrame, reference: str, stronger: Sequence[str]
) -> Iterator[RenderableType]:
    """Differences with their intervals, drawn on a common scale."""
    for line in DRAWN:
        rows = measures.filter(
            pl.col("measure") == line.measures[0], pl.col("variant") != reference
        ).to_dicts()
        order = list(dict.fromkeys(row["variant"] for row in rows))
        rows.sort(key=lambda row: order.index(row["variant"]))
        if rows:
            who = stronger[0] if len(stronger) == 1 else "the stronger bot"
            yield Text()
            title = f"{line.label.format(stronger=who)}, difference from {short(reference)}"
            yield _forest(title, line.scale, rows)


def _forest(title: str, scale: float, rows: Sequence[Row]) -> Drawn:
    """Differences, one a line, with their intervals drawn where they lie."""
    many = len({row["players"] for row in rows}) > 1
    cells = [
        (
            _wrapped(row["variant"], LONGEST_NAME),
            *([f"{row['players']}"] if many else []),
            _number(row, scale),
        )
        for row in rows
    ]
    columns = [
        ("variant", "left"),
        *([("players", "right")] if many else []),
        ("difference ", "right"),
    ]
    return Drawn(title, columns, cells, len(columns), [_interval(row) for row in rows])


def _number(row: Row, scale: float) -> str:
    value, low, high = (scale * end for end in _interval(row))
    beyond = "*" if is_beyond_chance(row) else " "
    return f"{plus_minus(value, (high - low) / 2, sign='+')}{beyond}"


def _interval(row: Row) -> Ends:
    return row["difference"], row["difference_low"], row["difference_high"]


def _wrapped(name: str, width: int) -> str:
    """A name, broken at spaces where it is too long."""
    lines = [""]
    for word in name.split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)
