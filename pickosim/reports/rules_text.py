"""Rules as text: every option of a rule set, and the explanation of one option or specialist."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, Group
from rich.text import Text

from pickosim.explanations import Explanation, OptionInUse
from pickosim.reports.layout import QUIET, Grid, breakable, grid

WIDE = 110
"""Columns from which a table of options has a column each for meanings and allowed values."""

UNLIMITED = 1000
"""Columns from which no line is broken, so that a long value need not widen its column."""

LONG = 30
"""Characters of a value that is too long for its column."""


@dataclass(frozen=True)
class OptionsTable:
    """Every option of a rule set, laid out for the width there is."""

    title: str
    options: list[OptionInUse]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Grid | Group]:
        rows = [
            (each.option, breakable(each.value), each.meaning, _unquoted(each.allowed))
            for each in self.options
        ]
        if options.max_width < WIDE:
            yield grid(
                self.title, [("option", "left"), ("value and meaning", "left")], _stacked(rows)
            )
        elif options.max_width < UNLIMITED:
            headings = ("option", "value", "meaning", "allowed")
            yield grid(self.title, [(heading, "left") for heading in headings], rows)
        else:
            lines = _ragged([("option", "value", "meaning", "allowed"), *rows])
            yield Group(Text(self.title, style="bold"), *map(Text, lines))


def _stacked(rows: Iterable[tuple[str, str, str, str]]) -> Iterator[tuple[str, Text]]:
    """For narrow terminals: the meaning and what is allowed below each value."""
    for option, value, meaning, allowed in rows:
        yield option, Text(value, style="bold")
        yield "", Text(meaning)
        yield "", Text(f"allowed: {allowed}", style=QUIET)


def _ragged(rows: list[tuple[str, str, str, str]]) -> Iterator[str]:
    """One line per row, in columns that are as wide as their cells except for very long ones."""
    widths = [
        max(len(cell) for cell in cells if column != 1 or len(cell) <= LONG)
        for column, cells in enumerate(zip(*rows, strict=True))
    ]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))


def explanations_tables(explanations: Sequence[Explanation]) -> Iterator[Grid | Text]:
    """One line per option, and one per specialist."""

    def table(title: str, kind: str, heading: str) -> Grid:
        rows = [(each.name, each.meaning) for each in explanations if each.kind == kind]
        return grid(title, [(kind, "left"), (heading, "left")], rows)

    yield table("Options", "option", "what it is about")
    yield Text()
    yield table("Specialists", "specialist", "what it does")


def explanation_page(about: Explanation) -> Iterator[Grid | Text]:
    """Everything about one option, entry or specialist."""
    yield Text(about.name, style="bold")
    yield Text(about.meaning)
    if about.details:
        yield Text(about.details)
    yield Text()
    if about.values:
        yield grid("Values", [("value", "left"), ("meaning", "left")], about.values.items())
    else:
        yield Text(f"{about.option} can be {about.allowed}.")
    yield Text()
    if about.presets:
        rows = [("classic (default)", about.default), *about.presets.items()]
        cells = [(preset, breakable(value)) for preset, value in rows]
        yield grid(
            "In the presets (all others as classic)",
            [("preset", "left"), (about.option, "left")],
            cells,
        )
    else:
        yield Text(f"In all presets: {breakable(about.default)}")
    if about.related:
        yield Text()
        yield Text(f"See also: {', '.join(about.related)}")


def _unquoted(allowed: str) -> str:
    """As for `--set`, where words need no quotes."""
    return allowed.replace('"', "")
