"""Views: how a result table is shown in a terminal, on a page and in a notebook, declared beside the table.

A view is only data, mostly names of columns; `pickosim.reports` prints and draws it. A name may be several columns,
separated by spaces, that are read together: `bot players` is shown as `eager, 4 players`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from pickosim.columns import Frame, Row
from pickosim.runs.run import Results

MOST_ROWS = 24
"""Bots, or panels, that a chart has room for; the tables show more."""

Rows = Callable[[Results], pl.DataFrame]
"""The rows to show, in their order; columns may be added that only the drawing needs."""

Order = Callable[[Results, Sequence[Row]], tuple[list[Any], list[Any]]]
"""The order of the rows and of the columns of a cross table."""

Title = str | Callable[[Results, Sequence[Row]], str]
"""The title of a text table. Fields in braces are columns of its first row; {games} are its games, {players} all
numbers of players in it, {error} is half its widest interval."""


@dataclass(frozen=True)
class Dots:
    """A chart: dots with their intervals, in rows of the same label."""

    value: str
    label: str
    axis: str | None
    """Title of the axis of values."""
    down: str | None = None
    """Title of the axis of labels, where they do not speak for themselves."""
    panel: str = ""
    """One small chart for each of these."""
    group: str = ""
    """What dots of a row are told apart by, by colour."""
    at: float | str | None = None
    """Where the dashed line is: a number as the axis has it, or a column."""
    band: str = ""
    """The column of half the width of a band around that line."""
    above: str = ""
    """The column of the level that values are drawn relative to."""
    tested: bool = False
    """Whether dots are hollow that could be chance."""
    remark: str = ""
    """A column to add to the words under the pointer."""
    own_scales: bool = False
    """Whether every panel has its own scale."""
    rows: Rows | None = None


@dataclass(frozen=True)
class Lines(Dots):
    """A chart: values by setting, joined by a line for each group."""

    ringed: str = ""
    """A column that says where there is a ring: the setting as given."""
    called: str = ""
    """The column with the name of a setting under the pointer."""


@dataclass(frozen=True)
class Crossed:
    """A cross table: a value by two columns. A terminal shows numbers, a page a heat map."""

    row: str
    across: str
    value: str
    order: Order
    title: Title
    heading: str
    """Heading of the first column."""
    is_number: bool = False
    """Whether rows are named by numbers."""
    numbered: bool = False
    """Whether rows are numbered, and columns have these numbers for headings."""
    each: str = ""
    """One table for each of these."""
    marked: str = ""
    """A column that says which values are marked with °: those of the rules as given."""
    errors: bool = False
    """Whether a terminal shows values with half their intervals, and marks with * what is significant."""
    missing: str = "-"
    legend: str = ""
    middle: float = 50.0
    """The percentage that has no colour."""
    axis: str | None = None
    """Title of the columns of the heat map."""
    down: str | None = None
    """Title of its rows."""
    words: str = ""
    """What is shown under the pointer, with columns in braces."""
    rows: Rows | None = None


@dataclass(frozen=True)
class Listed:
    """A table in a terminal as it is; without a title, it has that of the run."""

    title: str = ""
    rows: Rows | None = None
    is_cut: bool = False
    """Whether the last columns are left out, without `--full`, where they do not fit."""


@dataclass(frozen=True)
class Drawn:
    """A table in a terminal with the intervals of a value drawn beside it; * marks what is significant."""

    title: Title
    columns: str
    value: str
    """The one of the columns that is drawn."""
    headings: Mapping[str, str] = field(default_factory=dict)
    """Short headings, where the labels are too long."""
    each: str = ""
    marked: str = ""
    rows: Rows | None = None


Chart = Dots | Crossed | str
"""A declaration, or the name of a drawing in `pickosim.reports.charts`."""

TextTable = Listed | Drawn | Crossed | str
"""A declaration, or the name of a text in `pickosim.reports.views`."""


@dataclass(frozen=True)
class View:
    """A result table as it is shown; a run shows those that have rows."""

    frame: Frame
    title: str
    note: str = ""
    """How to read it; by default what a row is, unless there is a remark."""
    key: str = ""
    """What the marks of the chart mean, where it stands alone; by default the note."""
    remark: Callable[[Results], str] | None = None
    """What else there is to say in this run."""
    name: str = ""
    """In addresses and of files; by default that of the table."""
    columns: str = ""
    """The columns that a page shows, as a `Frame` names them; by default all."""
    rows: Rows | None = None
    """By default all."""
    chart: Chart | Callable[[Results], Chart] | None = None
    text: tuple[TextTable, ...] = ()
    """What a terminal shows; without `--full`, only if the view leads."""
    brief: tuple[TextTable, ...] = ()
    """What a terminal shows in place of `text` without `--full`, of a view that leads."""
    is_open: bool = False
    """Whether a page shows the table at once."""
    leads: bool = False
    """Whether the table is one of the main ones: a terminal shows it without `--full`, a notebook at all."""

    @classmethod
    def plain(cls, frame: Frame) -> View:
        """The view of a table for which none is declared."""
        title = frame.name.replace("_", " ").capitalize()
        return cls(frame, title, text=(Listed(title),), leads=True)

    @property
    def address(self) -> str:
        """Its name in addresses and of files."""
        return self.name or self.frame.name.replace("_", "-")

    @property
    def table(self) -> Frame:
        """What the columns are that are shown."""
        return replace(self.frame, names=self.columns) if self.columns else self.frame

    def rows_of(self, results: Results) -> pl.DataFrame:
        """The rows of a run with all columns; none if it does not have the table."""
        if self.frame.name not in results.frames:
            return pl.DataFrame()
        return self.rows(results) if self.rows else results.frames[self.frame.name]

    def data(self, results: Results) -> pl.DataFrame:
        """The rows of a run with the columns that are shown."""
        rows = self.rows_of(results)
        return rows.select(*self.table.schema) if self.columns and len(rows) else rows

    def texts(self, full: bool) -> tuple[TextTable, ...]:
        """What a terminal shows."""
        if full:
            return self.text
        return (self.brief or self.text) if self.leads else ()

    def note_on(self, results: Results) -> str:
        """How to read the rows of a run."""
        remark = self.remark(results) if self.remark else ""
        return f"{self.note} {remark}".strip() or self.frame.rows

    def chart_of(self, results: Results) -> Chart | None:
        """What is drawn of a run."""
        return self.chart(results) if callable(self.chart) else self.chart


def distinct(rows: Sequence[Row], name: str) -> list[Any]:
    """The values of a column, each once, in the order in which they appear."""
    return list(dict.fromkeys(row[name] for row in rows))
