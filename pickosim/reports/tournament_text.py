"""A tournament for a terminal: standings, places, who beats whom, what the seats do, and remarks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import polars as pl
from rich.text import Text

from pickosim.reports.cells import frame_grid
from pickosim.reports.layout import grid
from pickosim.studies.tournament_results import ALL_BOTS, FRAMES, deciding_column

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pickosim.runs.results import Results

MOST_COLUMNS = 12
"""Bots that a cross table has room for on a terminal; of more it shows the best."""


def tournament_text(results: Results) -> Iterator[RenderableType]:
    """The answer, the tables of a tournament, and its remarks."""
    yield Text(results.headline, style="bold")
    yield Text()
    yield frame_grid(results.manifest["title"], _compact(results.standings), FRAMES["standings"])
    yield Text()
    if "places" in results.frames and len(results.manifest["plan"]["matchups"][0]) > 2:
        yield _places(results.standings["bot"].to_list(), results.places)
        yield Text()
    if len(results.standings) > 1:
        yield _cross_table(results.standings["bot"].to_list(), results.pairs)
        yield Text()
    seats = results.seats.filter(pl.col("bot") == ALL_BOTS)
    yield frame_grid(
        "By seat, all bots together; seat 0 begins",
        seats.drop("bot", "mean_score_low", "mean_score_high"),
        FRAMES["seats"],
    )
    for remark in results.remarks:
        yield Text()
        yield Text(remark)


def _compact(standings: pl.DataFrame) -> pl.DataFrame:
    """Standings without intervals that lines have no room for: of all rates but the one that decides."""
    rates = ("mean_points", "win_share", "mean_score", "mean_rank")
    decides = deciding_column(standings.columns)
    ends = [f"{rate}_{end}" for rate in rates for end in ("low", "high") if rate != decides]
    return standings.drop(ends, strict=False)


def _places(order: Sequence[str], places: pl.DataFrame) -> RenderableType:
    """How often each bot comes first, second, …; bots in the order of the standings."""
    shares = {(row["bot"], row["place"]): row["place_share"] for row in places.to_dicts()}
    numbers = places["place"].unique().sort().to_list()
    rows = [(bot, *(f"{100 * shares[bot, place]:.1f}" for place in numbers)) for bot in order]
    title = (
        f"Places, in % of a bot's games, ties shared ({_accuracy(places, 'place_share', 'bot')})"
    )
    columns = [("bot", "left"), *((str(place), "right") for place in numbers)]
    return grid(title, columns, rows)


def _accuracy(frame: pl.DataFrame, share: str, per: str) -> str:
    """How far the shares of a table may be off, and how many games they rest on."""
    width = max(row[f"{share}_high"] - row[f"{share}_low"] for row in frame.iter_rows(named=True))
    few, most = min(frame["games"].to_list()), max(frame["games"].to_list())
    games = f"{few:,}" if few == most else f"{few:,} to {most:,}"
    return f"95 %: ± {50 * width:.2f} at most; {games} games per {per}"


def _cross_table(order: Sequence[str], pairs: pl.DataFrame) -> RenderableType:
    """Who finishes ahead of whom, bots in the order of the standings; columns by number."""
    shown = order[:MOST_COLUMNS]
    ahead = {(row["bot"], row["rival"]): row["ahead"] for row in pairs.iter_rows(named=True)}

    def cell(bot: str, rival: str) -> str:
        return f"{100 * ahead[bot, rival]:.1f}" if (bot, rival) in ahead else "-"

    rows = [
        (f"{number} {bot}", *(cell(bot, rival) for rival in shown))
        for number, bot in enumerate(order, start=1)
    ]
    title = (
        "Finishes ahead of …, in % of their games, ties counted half "
        f"({_accuracy(pairs, 'ahead', 'pair')})"
    )
    columns = [("bot", "left"), *((str(n), "right") for n in range(1, len(shown) + 1))]
    return grid(title, columns, rows)
