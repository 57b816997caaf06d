"""The sums of a tournament: what some blocks of a matchup add up to, by bot, seat and pair.

Everything is a sum of whole numbers. Squares and products are sums over blocks of a block's totals:
blocks are independent of each other, the games of a block are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import comb
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pickosim.bots.entrants import Entrant
from pickosim.columns import Row
from pickosim.engine.kernels import as_int, kernel
from pickosim.engine.tally import PARTS, Tally, win
from pickosim.games.frames import saved_games
from pickosim.rules import RuleSet
from pickosim.runs.tasks import Sums
from pickosim.stats.intervals import Moments, RatioMoments, count_rate, ratio_rate, share_rate
from pickosim.studies.arms import Arm, ArmsJob, Chunk, play_arm
from pickosim.studies.measures import rate_columns
from pickosim.studies.schedule import (
    Bots,
    Earlier,
    Matchup,
    bots_by_seat,
    by_bot,
    matchup_chunks,
    matchup_lanes,
    rotations,
)

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


GROUPS = 64
"""Blocks are dealt to this many groups, by their number; how far groups differ says how certain a rating is."""


class GameSums(NamedTuple):
    """What the games of a matchup of P bots add up to. All are sums over games or blocks, of int64.

    Bots are in the order of the matchup. A square, or a product of two bots, is of a block's totals unless
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
    ranks_squared: Ints
    """(P,): by bot."""
    places: Ints
    """(P, P): by bot and place, in PARTS; k tied bots share the k places that they take up."""
    place_products: Ints
    """(P, P, P, P): of a bot's place and another's, by bot, place, other bot and its place."""
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


@dataclass(frozen=True)
class MatchupJob(ArmsJob):
    """The games of a matchup, in all rotations of the seats."""

    matchup: Matchup
    """The bots by name."""
    rules: RuleSet
    forfeits: bool = field(default=False, repr=False)  # what is played without is the same with it
    """Whether a bot that fails in a game loses it."""

    @property
    def arms(self) -> list[Arm]:
        """One, with all rotations."""
        specs = tuple(entrant.spec for entrant in self.entrants)
        return [Arm(specs, self.rules, rotations(self.matchup), self.forfeits)]

    @property
    def in_hand(self) -> int:
        """All rotations."""
        return len(self.matchup)

    def play(self, seed: int, first: int, blocks: int) -> tuple[Sums, list[Tally]]:
        """See `block_sums`."""
        tally = play_arm(self.arms[0], seed, first, blocks)
        tallies = tally.by_rotation(len(self.matchup))
        return block_sums(tallies, bots_by_seat(self.matchup, first, blocks), first), tallies

    def saved(self, tallies: Sequence[Tally], lane: int, seed: int, first: int) -> pl.DataFrame:
        """One row per game and seat."""
        bots = bots_by_seat(self.matchup, first, len(tallies[0].turns))
        return saved_games(self.matchup, bots, tallies, lane, seed, first)


def chunks_of_matchups(
    matchups: Sequence[Matchup],
    entrants: Sequence[Entrant],
    rules: RuleSet,
    seed: int,
    blocks: range,
    size: int,
    earlier: Sequence[Earlier] = (),
    *,
    forfeits: bool = False,
) -> list[Chunk]:
    """Some blocks of all matchups, in chunks of at most that size; a matchup is a part of the run."""
    by_name = {entrant.name: entrant for entrant in entrants}
    return [
        Chunk(
            lane,
            MatchupJob(tuple(by_name[bot] for bot in matchup), matchup, rules, forfeits),
            seed,
            some,
            part,
        )
        for part, (matchup, lane) in enumerate(zip(matchups, matchup_lanes(matchups), strict=True))
        for some in matchup_chunks(matchup, blocks, size, earlier)
    ]


def block_sums(tallies: Sequence[Tally], bots: Bots, first: int) -> Sums:
    """The sums of blocks numbered from `first` on: one tally per rotation, B games each; who sat where.

    `blocks` and `unfinished` games; all of `GameSums`; `choices` (GROUPS, 2**P, P): see `count_choices`;
    `turns` (T,) is a histogram; with specialists also what `holder_sums` says; where bots forfeit, see `forfeits_in`.
    """
    players = len(tallies)
    ranks = np.stack([tally.rank for tally in tallies])
    scores = np.stack([tally.score for tally in tallies])
    games = _empty_game_sums(players, int(scores.max()) + 1)
    add_games(ranks, scores, bots, games)
    choices = np.zeros((GROUPS, 1 << players, players), np.int64)
    for rank, who in zip(ranks, bots, strict=True):
        count_choices(by_bot(rank, who), first, choices)
    return {
        "blocks": np.array(ranks.shape[1], np.int64),
        "unfinished": np.array(sum(int((~tally.finished).sum()) for tally in tallies), np.int64),
        **games._asdict(),
        "choices": choices,
        "turns": np.bincount(np.concatenate([tally.turns for tally in tallies])),
        **holder_sums(tallies, bots),
        **_forfeits(np.stack([tally.forfeits for tally in tallies]), bots, first),
    }


FORFEITS = "forfeits_from_"
"""Begins the names of lists of forfeits, one per piece that is played in one go: so none is added to another."""


def _forfeits(out: NDArray[np.bool_], bots: Bots, first: int) -> Sums:
    """Who forfeited what, from (R, B, P) by rotation, block and seat; nothing if nobody did."""
    rotation, block, seat = np.nonzero(out)
    found = np.stack([first + block, rotation, bots[rotation, block, seat]], axis=1)
    return {f"{FORFEITS}{first}": found} if len(found) else {}


def forfeits_in(sums: Sums) -> Ints:
    """(K, 3): game, rotation and bot, by its number in the matchup, of every forfeit, in order."""
    lists = [found for name, found in sums.items() if name.startswith(FORFEITS)]
    found = np.concatenate([np.zeros((0, 3), np.int64), *lists])
    return found[np.lexsort(found.T[::-1])]


def _empty_game_sums(players: int, scores: int) -> GameSums:
    single = ("ranks_squared", "seat_wins_squared", "seat_scores_squared")
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(single, (players,))
    shapes["score_counts"] = (players, scores)
    shapes["place_products"] = (players,) * 4
    return GameSums(
        *(np.zeros(shapes.get(name, (players, players)), np.int64) for name in GameSums._fields)
    )


@kernel
def add_games(
    ranks: NDArray[np.uint8],
    scores: NDArray[np.uint16],
    bots: Bots,
    sums: GameSums,
) -> None:
    """Add up games; ranks and scores are (R, B, P) by rotation, block and seat, like `bots`."""
    rotations, blocks, players = ranks.shape
    points, finish = np.zeros(players, np.int64), np.zeros(players, np.int64)
    seat_wins, seat_points = np.zeros(players, np.int64), np.zeros(players, np.int64)
    ahead = np.zeros((players, players), np.int64)
    places = np.zeros((players, players), np.int64)
    for block in range(blocks):
        points[:], seat_wins[:], seat_points[:] = 0, 0, 0
        ahead[:], places[:], finish[:] = 0, 0, 0
        for rotation in range(rotations):
            rank, score = ranks[rotation, block], scores[rotation, block]
            who = bots[rotation, block]
            share = win(rank)
            for seat in range(players):
                bot = who[seat]
                won, scored = share * (rank[seat] == 1), as_int(score[seat])
                sums.wins[bot, seat] += won
                sums.wins_squared[bot, seat] += won * won
                sums.scores[bot, seat] += scored
                sums.scores_squared[bot, seat] += scored * scored
                sums.ranks[bot, seat] += rank[seat]
                sums.score_counts[bot, scored] += 1
                points[bot] += scored
                finish[bot] += rank[seat]
                seat_wins[seat] += won
                seat_points[seat] += scored
                tied = 0
                for other in range(players):
                    tied += rank[seat] == rank[other]
                    rival = who[other]
                    before = as_int(rank[seat] < rank[other]) - as_int(rank[seat] > rank[other])
                    ahead[bot, rival] += PARTS // 2 * (1 + before)
                best = as_int(rank[seat]) - 1
                for place in range(best, best + tied):
                    places[bot, place] += PARTS // tied
        for bot in range(players):
            sums.ranks_squared[bot] += finish[bot] * finish[bot]
            sums.seat_wins_squared[bot] += seat_wins[bot] * seat_wins[bot]
            sums.seat_scores_squared[bot] += seat_points[bot] * seat_points[bot]
            for rival in range(players):
                sums.score_products[bot, rival] += points[bot] * points[rival]
                sums.ahead[bot, rival] += ahead[bot, rival]
                sums.ahead_squared[bot, rival] += ahead[bot, rival] * ahead[bot, rival]
            for place in range(players):
                sums.places[bot, place] += places[bot, place]
                sums.place_products[bot, place] += places[bot, place] * places


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
def count_choices(ranks: NDArray[np.uint8], first: int, choices: NDArray[np.int64]) -> None:
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
                            choices[group, left, bot] += _WEIGHTS[count, before]
            unplaced &= ~tied
