"""Predicted and actual win chances for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.text import Text

from pickosim.columns import Frame
from pickosim.reports.cells import frame_grid, lead_text
from pickosim.reports.layout import Grid, grid
from pickosim.studies.calibrate import FEW_POSITIONS, FRAMES

if TYPE_CHECKING:
    import polars as pl
    from rich.console import RenderableType

    from pickosim.runs.results import Results


def calibrate_text(results: Results) -> Iterator[RenderableType]:
    """The headline, the tenths of the chances, errors, and what a lead is worth."""
    yield Text(results.headline, style="bold")
    yield Text()
    yield frame_grid(results.manifest["title"], results.deciles.drop("games"), _shown("deciles"))
    yield Text()
    yield frame_grid("Bellman errors by tiles left", results.errors.drop("games"), _shown("errors"))
    yield Text()
    yield by_lead_grid(results.by_lead)
    for remark in results.remarks:
        yield Text()
        yield Text(remark)


def _shown(name: str) -> Frame:
    """A table without the number of games, which is the same in all rows."""
    return FRAMES[name].without("games")


def by_lead_grid(by_lead: pl.DataFrame) -> Grid:
    """The win chance by lead (rows) and worms left (columns)."""
    rows = [row for row in by_lead.to_dicts() if row["positions"] >= FEW_POSITIONS]
    bands = list(dict.fromkeys(row["worms_left"] for row in rows))
    chances = {(row["lead"], row["worms_left"]): row["predicted"] for row in rows}
    leads = sorted({row["lead"] for row in rows}, reverse=True)
    cells = [
        [
            lead_text(lead),
            *(
                f"{100 * chances[lead, band]:.1f}" if (lead, band) in chances else ""
                for band in bands
            ),
        ]
        for lead in leads
    ]
    title = (
        "Predicted win chance in %, by lead over the best rival and worms left on the grill "
        f"({FEW_POSITIONS} positions or more)"
    )
    return grid(title, [("lead", "right"), *((band, "right") for band in bands)], cells)
