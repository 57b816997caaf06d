"""Results in words and data: what a run ended in, for a terminal, as JSON, as CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from rich.text import Text

from pickosim.reports.balance_words import balance_words
from pickosim.reports.compare_words import compare_words
from pickosim.reports.tournament_words import tournament_words
from pickosim.runs.folder import records, written

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pickosim.runs.results import Results

_WORDS: dict[str, Callable[[Results], Iterable[RenderableType]]] = {
    "tournament": tournament_words,
    "compare": compare_words,
    "balance": balance_words,
}

_MAIN_TABLE = {"tournament": "standings", "compare": "measures", "balance": "worth"}
"""What CSV has room for: one table."""


def as_words(results: Results) -> Iterator[RenderableType]:
    """Tables and sentences for a terminal; of an experiment, its question first."""
    if question := results.manifest.get("question"):
        yield Text(question, style="bold")
        yield Text()
    yield from _WORDS[results.manifest["kind"]](results)


def as_json(results: Results) -> dict[str, Any]:
    """All tables, each a list of its rows, and the manifest."""
    tables = {name: records(table) for name, table in results.tables.items()}
    return {**tables, "manifest": dict(results.manifest)}


def as_csv(results: Results) -> str:
    """The main table of a run."""
    return written(results.tables[_MAIN_TABLE[results.manifest["kind"]]], "csv")
