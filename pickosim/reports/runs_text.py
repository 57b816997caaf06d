"""A list of runs for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from rich.text import Text

from pickosim.reports.layout import QUIET, hanging

if TYPE_CHECKING:
    import polars as pl
    from rich.console import RenderableType


def runs_text(runs: pl.DataFrame) -> Iterator[RenderableType]:
    """Two lines or more per run: its folder, kind, date, games and status, then its headline."""
    for number, row in enumerate(runs.iter_rows(named=True)):
        if number:
            yield Text()
        facts = [row["kind"], _local(row["started"]), row["status"]]
        if row["games"] is not None:
            facts.append(f"{row['games']:,} games")
        yield Text.assemble((row["run"], "bold"), "  ", (", ".join(filter(None, facts)), QUIET))
        yield hanging(Text(f"  {row['headline']}"))


def _local(started: str) -> str:
    """A time as the clock here shows it, to the minute."""
    if not started:
        return ""
    return datetime.fromisoformat(started).astimezone().strftime("%Y-%m-%d %H:%M")
