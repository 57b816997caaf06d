"""Holders: what became of the specialists, and what those win who end with one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pickosim.columns import Row
from pickosim.engine.kernels import kernel
from pickosim.engine.tally import PARTS, Tally, win
from pickosim.runs.sums import Sums
from pickosim.stats.moments import Moments, RatioMoments, count_rate, ratio_rate, share_rate
from pickosim.studies.measures import rate_columns
from pickosim.studies.seating import Bots

Ints = NDArray[np.int64]

PER_GAME = ("gained", "turns_held", "used")
"""Columns of the results that are means per game."""

COLUMNS = f"{'± '.join(PER_GAME)}± held_at_end± games_held win_share_held±"
"""What `holder_row` fills in, as tables declare it."""


class HeldSums(NamedTuple):
    """Games that a bot ended with a specialist, and what it won then: (S, N), by specialist and bot.

    Squares and the product are of a block's totals.
    """

    held: Ints
    held_squared: Ints
    held_wins: Ints
    """In PARTS."""
    held_wins_squared: Ints
    held_product: Ints


def holder_sums(tallies: Sequence[Tally], bots: Bots) -> Sums:
    """The sums of blocks, one tally per rotation; `bots` are the N bots, or groups of them, by seat.

    `gained`, `turns_held` and `used`, (S, N) by specialist and bot, with the squares of a block's totals
    (`gained_squared`, …), and all of `HeldSums`; nothing without specialists.
    """
    specialists, groups = tallies[0].gained.shape[1], int(bots.max()) + 1
    if not specialists:
        return {}
    held = HeldSums(*(np.zeros((specialists, groups), np.int64) for _ in HeldSums._fields))
    ranks = np.stack([tally.rank for tally in tallies])
    add_holders(ranks, np.stack([tally.held_at_end for tally in tallies]), bots, held)
    sums: Sums = held._asdict()
    for name in PER_GAME:
        counts = np.stack([getattr(tally, name) for tally in tallies])
        sums[name] = np.zeros((specialists, groups), np.int64)
        sums[f"{name}_squared"] = np.zeros((specialists, groups), np.int64)
        add_counts(counts, bots, sums[name], sums[f"{name}_squared"])
    return sums


@kernel
def add_counts(counts: NDArray[np.uint16], bots: Bots, sums: Ints, squares: Ints) -> None:
    """Add counts (R, B, S, P) by seat to `sums` (S, N) by bot, and the squares of a block's totals to `squares`."""
    rotations, blocks, specialists, players = counts.shape
    totals = np.zeros(sums.shape, np.int64)
    for block in range(blocks):
        totals[:] = 0
        for rotation in range(rotations):
            for specialist in range(specialists):
                for seat in range(players):
                    bot = bots[rotation, block, seat]
                    totals[specialist, bot] += counts[rotation, block, specialist, seat]
        sums += totals
        squares += totals * totals


@kernel
def add_holders(
    ranks: NDArray[np.uint8], held: NDArray[np.bool_], bots: Bots, sums: HeldSums
) -> None:
    """Add up who ended with what; ranks (R, B, P) and held (R, B, S, P) by seat."""
    rotations, blocks, players = ranks.shape
    specialists, groups = sums.held.shape
    games, wins = np.zeros(sums.held.shape, np.int64), np.zeros(sums.held.shape, np.int64)
    for block in range(blocks):
        games[:], wins[:] = 0, 0
        for rotation in range(rotations):
            rank = ranks[rotation, block]
            won = win(rank)
            for specialist in range(specialists):
                for seat in range(players):
                    if held[rotation, block, specialist, seat]:
                        bot = bots[rotation, block, seat]
                        games[specialist, bot] += 1
                        wins[specialist, bot] += won * (rank[seat] == 1)
        for specialist in range(specialists):
            for bot in range(groups):
                count, parts = games[specialist, bot], wins[specialist, bot]
                sums.held[specialist, bot] += count
                sums.held_squared[specialist, bot] += count * count
                sums.held_wins[specialist, bot] += parts
                sums.held_wins_squared[specialist, bot] += parts * parts
                sums.held_product[specialist, bot] += count * parts


def holder_row(parts: Sequence[tuple[Sums, int]], specialist: int, per_block: int) -> Row:
    """What became of a specialist with one bot, over some sums in each of which it has a number."""
    games = sum(int(sums["blocks"]) for sums, _ in parts) * per_block

    def moments(name: str) -> list[Moments]:
        return [
            Moments.of(
                sums["blocks"],
                sums[name][specialist, bot],
                sums[f"{name}_squared"][specialist, bot],
                per_block,
            )
            for sums, bot in parts
        ]

    row: Row = {"games": games}
    for name in PER_GAME:
        row |= rate_columns(name, count_rate(moments(name)))
    won = [_wins_of_holders(sums, specialist, bot) for sums, bot in parts]
    return {
        **row,
        **rate_columns("held_at_end", share_rate(moments("held"))),
        "games_held": sum(int(sums["held"][specialist, bot]) for sums, bot in parts),
        **rate_columns("win_share_held", ratio_rate(won)),
    }


def _wins_of_holders(sums: Sums, specialist: int, bot: int) -> RatioMoments:
    """Moments of wins by games that a bot ended with a specialist."""

    def of(name: str, unit: float) -> float:
        return float(sums[name][specialist, bot]) / unit

    return RatioMoments(
        n=float(sums["blocks"]),
        above=of("held_wins", PARTS),
        below=of("held", 1),
        above2=of("held_wins_squared", PARTS**2),
        below2=of("held_squared", 1),
        product=of("held_product", PARTS),
    )
