"""Block sums: what some blocks of a table add up to, by bot, seat and pair.

Everything is a sum of whole numbers. Squares and products are sums over blocks of a block's totals:
blocks are independent of each other, the games of a block are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

import numpy as np
from numpy.typing import NDArray

from pickosim.game import play_games
from pickosim.kernels import kernel
from pickosim.match import Match
from pickosim.sums import Sums
from pickosim.tables import win_shares
from pickosim.tally import Tally

PARTS = 420
"""Wins are counted in such parts: any number of players can share one, and sums are exact."""

GROUPS = 64
"""Blocks are dealt to so many groups, by their number; how far groups differ tells how sure a rating is."""


def play_block_sums(seatings: Sequence[Match], first: int, blocks: int) -> tuple[Sums, list[Tally]]:
    """Play some blocks of a table, one match a rotation, and add up; the tallies are given as well."""
    tallies = [play_games(match, first, blocks) for match in seatings]
    return block_sums(tallies, first), tallies


def block_sums(tallies: Sequence[Tally], first: int) -> Sums:
    """The sums of blocks with these numbers from `first` on: one tally a rotation, B games each.

    With P bots, in the order of the table: `wins` (in PARTS), `scores` and `ranks` are (P, P), by bot
    and seat, as are `wins_squared` and `scores_squared` of the single games; `win_products` and
    `score_products` (P, P) are of two bots' totals of a block; `ahead` and its square (P, P): games in
    which a bot finished before another, in PARTS; `seat_wins_squared` and
    `seat_scores_squared` (P,) are of all bots' totals in a seat;
    `choices` (GROUPS, 2**P, P): see `count_choices`; `turns` (T,) and `score_counts` (P, S) are histograms.
    """
    players = len(tallies)
    # By block, rotation and bot: bot b sits in seat b - r in rotation r.
    wins = _by_bot([np.rint(PARTS * win_shares(tally)).astype(np.int64) for tally in tallies])
    scores = _by_bot([tally.score for tally in tallies])
    ranks = _by_bot([tally.rank for tally in tallies])
    seat_wins = np.sum(
        [np.rint(PARTS * win_shares(tally)).astype(np.int64) for tally in tallies], axis=0
    )
    seat_scores = np.sum([tally.score.astype(np.int64) for tally in tallies], axis=0)
    ahead = np.zeros((len(wins), players, players), np.int64)
    for rotation in range(players):
        rank = ranks[:, rotation]
        ahead += PARTS // 2 * (1 + np.sign(rank[:, None, :] - rank[:, :, None]))
    block_wins, block_scores = wins.sum(axis=1), scores.sum(axis=1)
    choices = np.zeros((GROUPS, 1 << players, players), np.int64)
    for rotation in range(players):
        count_choices(np.ascontiguousarray(ranks[:, rotation]), first, choices)
    turns = np.concatenate([tally.turns for tally in tallies])
    sums = {
        "blocks": np.array(len(wins), np.int64),
        "unfinished": np.array(sum(int((~tally.finished).sum()) for tally in tallies), np.int64),
        "wins": _by_seat(wins.sum(axis=0)),
        "wins_squared": _by_seat((wins**2).sum(axis=0)),
        "scores": _by_seat(scores.sum(axis=0)),
        "scores_squared": _by_seat((scores**2).sum(axis=0)),
        "ranks": _by_seat(ranks.sum(axis=0)),
        "win_products": block_wins.T @ block_wins,
        "score_products": block_scores.T @ block_scores,
        "seat_wins_squared": (seat_wins**2).sum(axis=0),
        "seat_scores_squared": (seat_scores**2).sum(axis=0),
        "ahead": ahead.sum(axis=0),
        "ahead_squared": (ahead**2).sum(axis=0),
        "choices": choices,
        "turns": np.bincount(turns),
        "score_counts": np.stack(
            [
                np.bincount(scores[..., bot].ravel(), minlength=scores.max() + 1)
                for bot in range(players)
            ]
        ),
    }
    if tallies[0].gained.shape[1]:
        sums |= _specialist_sums(tallies, wins)
    return sums


def _by_bot(of_seats: Sequence[NDArray[np.generic]]) -> NDArray[np.int64]:
    """(B, R, P) by block, rotation and bot, of R arrays (B, P) by block and seat."""
    turned = [np.roll(values, rotation, axis=1) for rotation, values in enumerate(of_seats)]
    return np.stack(turned, axis=1).astype(np.int64)


def _by_seat(sums: NDArray[np.int64]) -> NDArray[np.int64]:
    """(P, P) by bot and seat, of sums by rotation and bot."""
    players = len(sums)
    bots = np.arange(players)
    return np.stack([sums[(bots - seat) % players, bots] for seat in range(players)], axis=1)


def _specialist_sums(tallies: Sequence[Tally], wins: NDArray[np.int64]) -> Sums:
    """By specialist and bot, (S, P): what happened with it, and what a holder at the end won.

    `held` and `held_wins` (in PARTS) count games that a bot ended with it; their squares and product
    are of a block's totals.
    """

    def by_bot(name: str) -> NDArray[np.int64]:
        """(B, R, S, P)"""
        turned = [np.roll(getattr(t, name), rotation, axis=2) for rotation, t in enumerate(tallies)]
        return np.stack(turned, axis=1).astype(np.int64)

    held = by_bot("held_at_end")
    held_wins = held * wins[:, :, None, :]
    block_held, block_wins = held.sum(axis=1), held_wins.sum(axis=1)
    return {
        **{name: by_bot(name).sum(axis=(0, 1)) for name in ("gained", "turns_held", "used")},
        "held": block_held.sum(axis=0),
        "held_wins": block_wins.sum(axis=0),
        "held_squared": (block_held**2).sum(axis=0),
        "held_wins_squared": (block_wins**2).sum(axis=0),
        "held_product": (block_held * block_wins).sum(axis=0),
    }


def _tie_weights() -> NDArray[np.int64]:
    """(8, 8): of k tied bots, the weight in PARTS of one of them being placed when t others have been.

    All orders of the tied are equally likely: 1 in comb(k, t) has just these t first, and each of the
    k - t that are left comes next in the same share. 420 can be divided by all of them.
    """
    weights = np.zeros((8, 8), np.int64)
    for tied in range(1, 8):
        for placed in range(tied):
            weights[tied, placed] = PARTS // (comb(tied, placed) * (tied - placed))
    return weights


_WEIGHTS = _tie_weights()


@kernel
def count_choices(
    ranks: NDArray[np.int64],
    first: int,
    choices: NDArray[np.int64],
    weights: NDArray[np.int64] = _WEIGHTS,
) -> None:
    """Count who was placed next among those not placed yet, from the finishing order of every game.

    ranks (B, P): a game's ranks by bot. choices (GROUPS, 2**P, P): of each group of blocks and each set
    of bots, how often (in PARTS) each of them was placed next. That is all that Plackett-Luce asks of
    finishing orders. A tie counts as all orders of the tied in equal parts.
    """
    players = ranks.shape[1]
    for block in range(len(ranks)):
        group = (first + block) % len(choices)
        rank = ranks[block]
        for left in range(3, 1 << players):
            if left & (left - 1) == 0:
                continue  # of one bot there is no choice
            best, next_ones = players + 1, 0
            for bot in range(players):
                if left >> bot & 1:
                    if rank[bot] < best:
                        best, next_ones = rank[bot], 1
                    elif rank[bot] == best:
                        next_ones += 1
            placed = 0
            possible = True
            for bot in range(players):
                if not left >> bot & 1:
                    possible &= rank[bot] <= best
                    placed += rank[bot] == best
            if not possible:
                continue
            weight = weights[placed + next_ones, placed]
            for bot in range(players):
                if left >> bot & 1 and rank[bot] == best:
                    choices[group, left, bot] += weight
