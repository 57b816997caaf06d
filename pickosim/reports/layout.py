"""Layout: styles, lines and grids that all texts share, as rich text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from textwrap import wrap

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

DICE, WORM, GOLD = "bold", "bold magenta", "not dim bold yellow"
GOOD, BAD, QUIET = "green", "red", "dim"

GAP = 2
"""Between two columns of a table."""

MOST_NEEDED = 44
"""Characters of a number or name that are kept together."""


def breakable(value: str) -> str:
    """An option's value with a space after each comma, so that lines can be broken there."""
    return re.sub(r",(?=\S)", ", ", value)


def wrapped(name: str, width: int) -> str:
    """A name, broken at spaces where it is too long."""
    return "\n".join(wrap(name, width, break_long_words=False, break_on_hyphens=False))


def hanging(line: Text) -> Text | Padding:
    """A line that is indented like its beginning where it has to be broken."""
    indent = len(line.plain) - len(line.plain.lstrip())
    if indent == 0:
        return line
    return Padding(line[indent:], (0, 0, 0, indent), expand=False)


def grid(
    title: str,
    columns: Sequence[tuple[str, str]],
    rows: Iterable[Iterable[object]],
    kept: int = 1,
) -> Grid:
    """A table under its title; each column has a heading and is justified left or right."""
    cells = [[cell if isinstance(cell, Text) else Text(str(cell)) for cell in row] for row in rows]
    return Grid(title, columns, cells, kept)


@dataclass(frozen=True)
class Grid:
    """A table in which no number and no name is broken.

    Texts after the first column are broken at spaces. If the columns are still too wide together, they are split into
    several tables, each with the first `kept` columns, or with the very first if another one does not fit beside these;
    if the table need not be whole, the last columns are left out instead.
    """

    title: str
    columns: Sequence[tuple[str, str]]
    rows: Sequence[Sequence[Text]]
    kept: int = 1
    is_whole: bool = True

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self.title:
            yield Text(self.title, style="bold")
        tables = self._dealt(options.max_width)
        for number, chosen in enumerate(tables if self.is_whole else tables[:1]):
            if number:
                yield Text()
            if number and self.kept > 1:
                yield Text(f"{self.title}, more", style="bold")
            yield self._table(chosen)

    def _table(self, chosen: Iterable[int]) -> Table:
        table = Table(box=None, pad_edge=False)
        chosen = list(chosen)
        for k in chosen:
            heading, side = self.columns[k]
            table.add_column(
                Text(heading),
                justify="right" if side == "right" else "left",
                overflow="fold",
                min_width=self._least(k),
                no_wrap=not self._is_text(k),
            )
        for row in self.rows:
            table.add_row(*(row[k] for k in chosen))
        return table

    def _is_text(self, k: int) -> bool:
        """Whether a column may be broken at spaces."""
        is_drawn = any(row[k].no_wrap for row in self.rows)
        return self.columns[k][1] == "left" and k > 0 and not is_drawn

    def _least(self, k: int) -> int:
        """The width that a column needs: of numbers, names and drawings all of it, of a text its longest word."""
        parts = (
            part
            for text in (Text(self.columns[k][0]), *(row[k] for row in self.rows))
            for part in text.plain.split(None if self._is_text(k) else "\n")
        )
        return min(MOST_NEEDED, max(map(cell_len, parts), default=0))

    def _dealt(self, width: int) -> list[list[int]]:
        """The columns by number, as many at a time as fit, the first ones in each."""
        needed = [GAP + self._least(k) for k in range(len(self.columns))]
        kept = self.kept
        if sum(needed[:kept]) + max(needed[kept:], default=0) > width + GAP:
            kept = 1
        first, free = range(kept), width + GAP - sum(needed[:kept])
        tables, left = [list(first)], free
        for k in range(kept, len(self.columns)):
            if needed[k] > left and len(tables[-1]) > kept:
                tables.append(list(first))
                left = free
            tables[-1].append(k)
            left -= needed[k]
        return tables


# ---------------------------------------------------------------------------------------- intervals

WIDEST, NARROWEST = 41, 13
"""Characters of a drawing."""

Ends = tuple[float, float, float]
"""A value and its interval."""


@dataclass(frozen=True)
class IntervalGrid:
    """A table with a drawing of intervals on a common scale in one of its columns; `│` marks zero."""

    title: str
    columns: Sequence[tuple[str, str]]
    rows: Sequence[Sequence[str]]
    """Cells left and right of the drawing, which comes before column number `at`."""
    at: int
    intervals: Sequence[Ends | None]
    is_whole: bool = True

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        headings = [heading for heading, _ in self.columns]
        taken = sum(
            GAP + max(len(line) for cell in column for line in cell.split("\n"))
            for column in zip(headings, *self.rows, strict=True)
        )
        width = max(NARROWEST, min(WIDEST, options.max_width - taken))
        ends = [0.0, *(end for interval in self.intervals if interval for end in interval[1:])]
        at = self.at
        rows = [
            (
                *row[:at],
                Text(drawn(*each, min(ends), max(ends), width), no_wrap=True) if each else "",
                *row[at:],
            )
            for row, each in zip(self.rows, self.intervals, strict=True)
        ]
        columns = [*self.columns[:at], ("95 % interval", "left"), *self.columns[at:]]
        yield replace(grid(self.title, columns, rows), is_whole=self.is_whole)


def drawn(
    value: float, value_low: float, value_high: float, low: float, high: float, width: int
) -> str:
    """An interval as text on a scale from low to high: ─ from end to end, ● the value, │ zero.

    Nothing is drawn on a scale without end, as a single block gives it.
    """
    span = high - low or 1.0
    if not isfinite(span):
        return ""

    def place(of: float) -> int:
        return min(width - 1, max(0, round((of - low) / span * (width - 1))))

    signs = [" "] * width
    for k in range(place(value_low), place(value_high) + 1):
        signs[k] = "─"
    signs[place(0.0)] = "┼" if signs[place(0.0)] == "─" else "│"
    signs[place(value)] = "●"
    return "".join(signs).rstrip()
