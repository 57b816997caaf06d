"""A tournament in words: standings, who beats whom, what the seats do, and what to keep in mind."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from typing import TYPE_CHECKING, Any

from rich.text import Text

from pickosim.reports.layout import grid, percent
from pickosim.studies.tournament_tables import ALL_BOTS

if TYPE_CHECKING:
    import polars as pl
    from rich.console import RenderableType

    from pickosim.runs.results import Results

MOST_COLUMNS = 12
"""Bots that a cross table has room for on a terminal; of more it shows the best."""


def tournament_words(results: Results) -> Iterator[RenderableType]:
    """The tables of a tournament, and its remarks."""
    plan = results.manifest["plan"]
    players = len(plan["matchups"][0])
    kind = (
        "Gauntlet"
        if plan["focus"]
        else "One table"
        if len(plan["matchups"]) == 1
        else "Round robin"
    )
    title = f"{kind}, {players} players, rules {plan['rules']['name']}, seed {plan['seed']}"
    yield standings_table(title, results.standings)
    yield Text()
    if len(results.standings) > 1:
        yield cross_table(results.standings, results.pairs)
        yield Text()
    yield seat_table(results.seats)
    for remark in results.remarks:
        yield Text()
        yield Text(remark)


def standings_table(title: str, standings: pl.DataFrame) -> RenderableType:
    """How a tournament ended, the best bot first."""
    rows = [
        (
            row["strategy"],
            percent(row["win_share"]),
            _interval(row["win_share_low"], row["win_share_high"]),
            f"{row['mean_score']:.2f}",
            f"{row['mean_rank']:.3f}",
            _rating(row),
            f"{row['games']:,}",
        )
        for row in standings.iter_rows(named=True)
    ]
    headings = ["win share", "95 % interval", "worms", "rank", "rating", "games"]
    return grid(title, [("bot", "left"), *((heading, "right") for heading in headings)], rows)


def _interval(low: float, high: float) -> str:
    return f"{100 * low:.2f} to {100 * high:.2f}"


def _rating(row: dict[str, Any]) -> str:
    """A rating with its 95 % half-width, or what there is instead."""
    rating, error = row["rating"], row["rating_error"]
    if rating is None or rating != rating:
        return "?"
    if not isfinite(rating):
        return "+∞" if rating > 0 else "-∞"
    return f"{rating:.0f}" if error is None else f"{rating:.0f} ± {error:.0f}"


def cross_table(standings: pl.DataFrame, pairs: pl.DataFrame) -> RenderableType:
    """Who finishes ahead of whom, bots in the order of the standings; columns by number."""
    order = standings["strategy"].to_list()
    shown = order[:MOST_COLUMNS]
    ahead = {(row["strategy"], row["rival"]): row["ahead"] for row in pairs.iter_rows(named=True)}

    def cell(bot: str, rival: str) -> str:
        return f"{100 * ahead[bot, rival]:.1f}" if (bot, rival) in ahead else "-"

    rows = [
        (f"{number} {bot}", *(cell(bot, rival) for rival in shown))
        for number, bot in enumerate(order, start=1)
    ]
    width = max(row["ahead_high"] - row["ahead_low"] for row in pairs.iter_rows(named=True))
    few, most = min(pairs["games"].to_list()), max(pairs["games"].to_list())
    games = f"{few:,}" if few == most else f"{few:,} to {most:,}"
    title = (
        "Finishes ahead of …, in % of their games, ties counted half "
        f"(95 %: ± {50 * width:.2f} at most; {games} games a pair)"
    )
    columns = [("bot", "left"), *((str(n), "right") for n in range(1, len(shown) + 1))]
    return grid(title, columns, rows)


def seat_table(seats: pl.DataFrame) -> RenderableType:
    """What a seat wins, all bots together; seat 0 begins."""
    rows = [
        (
            f"{row['seat']}{' (begins)' if row['seat'] == 0 else ''}",
            percent(row["win_share"]),
            _interval(row["win_share_low"], row["win_share_high"]),
            f"{row['mean_score']:.2f}",
            f"{row['games']:,}",
        )
        for row in seats.iter_rows(named=True)
        if row["strategy"] == ALL_BOTS
    ]
    headings = ["win share", "95 % interval", "worms", "games"]
    columns = [("seat", "left"), *((heading, "right") for heading in headings)]
    return grid("By seat, all bots together", columns, rows)
