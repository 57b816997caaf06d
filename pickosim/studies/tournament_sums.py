"""Block sums: what some blocks of a table add up to, by bot, seat and pair.

Everything is a sum of whole numbers. Squares and products are sums over blocks of a block's totals:
blocks are independent of each other, the games of a block are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pickosim.engine.kernels import inlined, kernel, whole
from pickosim.engine.tally import Tally
from pickosim.games.batch import play_games
from pickosim.games.match import Match
from pickosim.runs.sums import Sums

Ints = NDArray[np.int64]

PARTS = 420
"""Wins are counted in such parts: any number of players can share one, and sums are exact."""

GROUPS = 64
"""Blocks are dealt to so many groups, by their number; how far groups differ tells how sure a rating is."""


class GameSums(NamedTuple):
    """What the games of a table with P bots add up to. All are sums over games or blocks, of int64.

    Bots are in the order of the table. A square, or a product of two bots, is of a block's totals unless
    it says otherwise.
    """

    wins: Ints
    """(P, P): by bot and seat, in PARTS."""
    wins_squared: Ints
    """(P, P): by bot and seat, of single games."""
    scores: Ints
    """(P, P): by bot and seat."""
    scores_squared: Ints
    """(P, P): by bot and seat, of single games."""
    ranks: Ints
    """(P, P): by bot and seat."""
    win_products: Ints
    """(P, P): of two bots."""
    score_products: Ints
    """(P, P): of two bots."""
    seat_wins_squared: Ints
    """(P,): of all bots in a seat."""
    seat_scores_squared: Ints
    """(P,): of all bots in a seat."""
    ahead: Ints
    """(P, P): games in which a bot finished before another, in PARTS, ties counted half."""
    ahead_squared: Ints
    """(P, P)"""
    score_counts: Ints
    """(P, S): a histogram of each bot's scores."""


class HeldSums(NamedTuple):
    """Games that a bot ended with a specialist, and what it won then: (S, P), by specialist and bot.

    Squares and the product are of a block's totals.
    """

    held: Ints
    held_squared: Ints
    held_wins: Ints
    """In PARTS."""
    held_wins_squared: Ints
    held_product: Ints


def play_block_sums(seatings: Sequence[Match], first: int, blocks: int) -> tuple[Sums, list[Tally]]:
    """Play some blocks of a table, one match a rotation, and add up; the tallies are given as well."""
    tallies = [play_games(match, first, blocks) for match in seatings]
    return block_sums(tallies, first), tallies


def block_sums(tallies: Sequence[Tally], first: int) -> Sums:
    """The sums of blocks with these numbers from `first` on: one tally a rotation, B games each.

    `blocks` and `unfinished` games; all of `GameSums`; `choices` (GROUPS, 2**P, P): see `count_choices`;
    `turns` (T,) is a histogram. With specialists also `gained`, `turns_held` and `used`, (S, P) by
    specialist and bot, and all of `HeldSums`.
    """
    players = len(tallies)
    ranks = np.stack([tally.rank for tally in tallies])
    scores = np.stack([tally.score for tally in tallies])
    games = _empty_game_sums(players, int(scores.max()) + 1)
    add_games(ranks, scores, games)
    choices = np.zeros((GROUPS, 1 << players, players), np.int64)
    for rotation in range(players):
        count_choices(_by_bot(ranks[rotation], rotation), first, choices)
    sums = {
        "blocks": np.array(ranks.shape[1], np.int64),
        "unfinished": np.array(sum(int((~tally.finished).sum()) for tally in tallies), np.int64),
        **games._asdict(),
        "choices": choices,
        "turns": np.bincount(np.concatenate([tally.turns for tally in tallies])),
    }
    specialists = tallies[0].gained.shape[1]
    if specialists:
        held = HeldSums(*(np.zeros((specialists, players), np.int64) for _ in HeldSums._fields))
        add_holders(ranks, np.stack([tally.held_at_end for tally in tallies]), held)
        sums |= held._asdict()
        for name in ("gained", "turns_held", "used"):
            sums[name] = np.sum(
                [
                    _by_bot(getattr(tally, name).sum(axis=0, dtype=np.int64), rotation)
                    for rotation, tally in enumerate(tallies)
                ],
                axis=0,
            )
    return sums


def _by_bot(of_seats: NDArray[Any], rotation: int) -> NDArray[Any]:
    """(…, P) by bot, of (…, P) by seat: in rotation r, bot b sits in seat b - r."""
    return np.roll(of_seats, rotation, axis=-1)


def _empty_game_sums(players: int, scores: int) -> GameSums:
    by_seat = ("seat_wins_squared", "seat_scores_squared")
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(by_seat, (players,))
    shapes["score_counts"] = (players, scores)
    return GameSums(
        *(np.zeros(shapes.get(name, (players, players)), np.int64) for name in GameSums._fields)
    )


@inlined
def _win(ranks: NDArray[np.uint8]) -> int:
    """What each who shares the first place of a game has won, in PARTS."""
    winners = 0
    for rank in ranks:
        winners += rank == 1
    return PARTS // winners


@kernel
def add_games(ranks: NDArray[np.uint8], scores: NDArray[np.uint16], sums: GameSums) -> None:
    """Add up games; ranks and scores are (R, B, P) by rotation, block and seat."""
    rotations, blocks, players = ranks.shape
    wins, points = np.zeros(players, np.int64), np.zeros(players, np.int64)
    seat_wins, seat_points = np.zeros(players, np.int64), np.zeros(players, np.int64)
    ahead = np.zeros((players, players), np.int64)
    for block in range(blocks):
        wins[:], points[:], seat_wins[:], seat_points[:], ahead[:] = 0, 0, 0, 0, 0
        for rotation in range(rotations):
            rank, score = ranks[rotation, block], scores[rotation, block]
            win = _win(rank)
            for seat in range(players):
                bot = (seat + rotation) % players
                won, scored = win * (rank[seat] == 1), whole(score[seat])
                sums.wins[bot, seat] += won
                sums.wins_squared[bot, seat] += won * won
                sums.scores[bot, seat] += scored
                sums.scores_squared[bot, seat] += scored * scored
                sums.ranks[bot, seat] += rank[seat]
                sums.score_counts[bot, scored] += 1
                wins[bot] += won
                points[bot] += scored
                seat_wins[seat] += won
                seat_points[seat] += scored
                for other in range(players):
                    rival = (other + rotation) % players
                    before = whole(rank[seat] < rank[other]) - whole(rank[seat] > rank[other])
                    ahead[bot, rival] += PARTS // 2 * (1 + before)
        for bot in range(players):
            sums.seat_wins_squared[bot] += seat_wins[bot] * seat_wins[bot]
            sums.seat_scores_squared[bot] += seat_points[bot] * seat_points[bot]
            for rival in range(players):
                sums.win_products[bot, rival] += wins[bot] * wins[rival]
                sums.score_products[bot, rival] += points[bot] * points[rival]
                sums.ahead[bot, rival] += ahead[bot, rival]
                sums.ahead_squared[bot, rival] += ahead[bot, rival] * ahead[bot, rival]


@kernel
def add_holders(ranks: NDArray[np.uint8], held: NDArray[np.bool_], sums: HeldSums) -> None:
    """Add up who ended with what; ranks (R, B, P) and held (R, B, S, P) by seat."""
    rotations, blocks, specialists, players = held.shape
    games, wins = np.zeros(sums.held.shape, np.int64), np.zeros(sums.held.shape, np.int64)
    for block in range(blocks):
        games[:], wins[:] = 0, 0
        for rotation in range(rotations):
            rank = ranks[rotation, block]
            win = _win(rank)
            for specialist in range(specialists):
                for seat in range(players):
                    if held[rotation, block, specialist, seat]:
                        bot = (seat + rotation) % players
                        games[specialist, bot] += 1
                        wins[specialist, bot] += win * (rank[seat] == 1)
        for specialist in range(specialists):
            for bot in range(players):
                count, won = games[specialist, bot], wins[specialist, bot]
                sums.held[specialist, bot] += count
                sums.held_squared[specialist, bot] += count * count
                sums.held_wins[specialist, bot] += won
                sums.held_wins_squared[specialist, bot] += won * won
                sums.held_product[specialist, bot] += count * won


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
    ranks: NDArray[np.uint8],
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
        unplaced = (1 << players) - 1
        for rank in range(1, players + 1):
            tied, count = 0, 0
            for bot in range(players):
                tied |= (ranks[block, bot] == rank) << bot
                count += ranks[block, bot] == rank
            # Of the tied, any may have been placed already, but not all of them.
            placed = tied
            while placed:
                placed = (placed - 1) & tied
                left = unplaced & ~placed
                if left & (left - 1):  # of one bot there is no choice
                    before = 0
                    for bot in range(players):
                        before += placed >> bot & 1
                    for bot in range(players):
                        if (tied & ~placed) >> bot & 1:
                            choices[group, left, bot] += weights[count, before]
            unplaced &= ~tied
