"""Intervals drawn in text, on the scale that the width of a terminal allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement

from pickosim.reports.layout import GAP, grid

WIDEST, NARROWEST = 41, 15
"""Characters of a drawing."""

Ends = tuple[float, float, float]
"""A value and its interval."""


@dataclass(frozen=True)
class Drawn:
    """A table of which one column is a drawing of intervals on a common scale; `│` marks zero."""

    title: str
    columns: Sequence[tuple[str, str]]
    rows: Sequence[Sequence[str]]
    """Cells left and right of the drawing, which comes before column number `at`."""
    at: int
    intervals: Sequence[Ends | None]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        headings = [heading for heading, _ in self.columns]
        widths = [
            max(len(line) for cell in column for line in cell.split("\n"))
            for column in zip(headings, *self.rows, strict=True)
        ]
        taken = sum(widths) + GAP * len(widths)
        width = max(NARROWEST, min(WIDEST, options.max_width - taken))
        ends = [end for interval in self.intervals if interval for end in interval[1:]]
        low, high = min([0.0, *ends]), max([0.0, *ends])
        at = self.at
        cells = [
            (
                *row[:at],
                "" if interval is None else drawn(*interval, low, high, width),
                *row[at:],
            )
            for row, interval in zip(self.rows, self.intervals, strict=True)
        ]
        columns = [*self.columns[:at], ("95 % interval", "left"), *self.columns[at:]]
        yield grid(self.title, columns, cells)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(options.max_width, options.max_width)


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
