"""Rounds of stated and measured worths for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.text import Text

from pickosim.reports.cells import with_error
from pickosim.reports.layout import grid
from pickosim.studies.sentences import listed, the

if TYPE_CHECKING:
    import polars as pl
    from rich.console import RenderableType


def worths_text(found: pl.DataFrame) -> Iterator[RenderableType]:
    """What was found, then round by round what was stated and what was measured."""
    rows = found.to_dicts()
    last = [row for row in rows if row["round"] == rows[-1]["round"]]
    open_ones = [the(row["specialist"]) for row in last if not row["agrees"]]
    told = (
        f"After {rows[-1]['round']} rounds, stated and measured worths differ beyond chance for {listed(open_ones)}."
        if open_ones
        else f"Stated and measured worths agree in round {rows[-1]['round']}."
    )
    yield Text(told, style="bold")
    yield Text(last[0]["bot"])
    yield Text()
    cells = [
        (
            f"{row['round']}",
            row["specialist"],
            f"{row['stated']:+.2f}",
            with_error(row, "score_gain", sign="+"),
            "yes" if row["agrees"] else "no",
        )
        for row in rows
    ]
    columns = [
        ("round", "right"),
        ("specialist", "left"),
        ("stated", "right"),
        ("measured", "right"),
        ("agrees", "left"),
    ]
    title = f"Worth of a pick-up with empty hands, in worms; {rows[0]['games']:,} games per round"
    yield grid(title, columns, cells)
