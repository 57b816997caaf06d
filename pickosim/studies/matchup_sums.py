"""The sums of a tournament: what some blocks of a matchup add up to, by bot, seat and pair.

Everything is a sum of whole numbers. Squares and products are sums over blocks of a block's totals:
blocks are independent of each other, the games of a block are not.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from math import comb
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pickosim.bots.loading import Entrant
from pickosim.engine.kernels import as_int, inlined, kernel
from pickosim.engine.tally import PARTS, Tally, luck_of_blocks, win, win_parts
from pickosim.games.played import saved_games
from pickosim.rules import RuleSet
from pickosim.runs.tasks import Sums
from pickosim.studies.arms import Arm, ArmsJob, Chunk, is_judged, play_arm, the_judge
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

COUNTED_OF_HOLDERS = ("gained", "turns_held", "used", "held_at_end", "wins")
"""What is counted of a specialist and a bot, game by game; of wins (in PARTS) those of games that it ended with it."""


def holder_sums(tallies: Sequence[Tally], bots: Bots) -> Sums:
    """What became of the specialists, from one tally per rotation and who sat where; nothing without specialists.

    `holders` (K, S, P): sums of COUNTED_OF_HOLDERS by specialist and bot; `holder_products` (K, K, S, P): one with
    another, of a block's totals.
    """
    specialists, players = tallies[0].gained.shape[1:]
    if not specialists:
        return {}
    counts = np.stack([_counts_of_holders(tally) for tally in tallies])
    sums = np.zeros((len(COUNTED_OF_HOLDERS), specialists, players), np.int64)
    products = np.zeros((len(sums), *sums.shape), np.int64)
    add_holders(counts, bots, sums, products)
    return {"holders": sums, "holder_products": products}


def _counts_of_holders(tally: Tally) -> NDArray[np.uint16]:
    """(K, B, S, P): what is counted of holders, by seat."""
    won = tally.held_at_end * win_parts(tally.rank)[:, None]
    return np.stack(
        [tally.gained, tally.turns_held, tally.used, tally.held_at_end, won.astype(np.uint16)]
    )


@kernel
def add_holders(counts: NDArray[np.uint16], bots: Bots, sums: Ints, products: Ints) -> None:
    """Add counts (R, K, B, S, P) by seat to `sums` by bot, and products of a block's totals to `products`."""
    rotations, kinds, blocks, specialists, players = counts.shape
    totals = np.zeros(sums.shape, np.int64)
    for block in range(blocks):
        totals[:] = 0
        for rotation in range(rotations):
            for kind in range(kinds):
                for specialist in range(specialists):
                    for seat in range(players):
                        bot = bots[rotation, block, seat]
                        totals[kind, specialist, bot] += counts[
                            rotation, kind, block, specialist, seat
                        ]
        sums += totals
        for kind in range(kinds):
            products[kind] += totals[kind] * totals


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


class LuckSums(NamedTuple):
    """The luck of the bots of a judged matchup, sums over blocks of a block's totals, in parts of LUCK_UNIT."""

    luck: Ints
    """(P,): by bot."""
    luck_products: Ints
    """(P, P): of two bots."""
    luck_places: Ints
    """(P, P, P): of a bot's luck and another's places (in PARTS), by bot, other bot and its place."""
    luck_grouped: Ints
    """(GROUPS, P, 5): by group of blocks and bot, over single games: what was won (in PARTS), luck, the square of each, and
    their product."""


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
        return [Arm(specs, self.rules, rotations(self.matchup), self.forfeits, self.luck_by)]

    @property
    def in_hand(self) -> int:
        """All rotations."""
        return len(self.matchup)

    def play(self, seed: int, first: int, blocks: int) -> tuple[Sums, list[Tally]]:
        """See `block_sums`."""
        tally = play_arm(self.arms[0], seed, first, blocks)
        tallies = tally.by_rotation(len(self.matchup))
        bots = bots_by_seat(self.matchup, first, blocks)
        sums = block_sums(tallies, bots, first)
        return sums | (luck_sums(tallies, bots, first) if self.luck_by else {}), tallies

    def saved(self, tallies: Sequence[Tally], lane: int, seed: int, first: int) -> pl.DataFrame:
        """One row per game and seat."""
        bots = bots_by_seat(self.matchup, first, len(tallies[0].turns))
        return saved_games(self.matchup, bots, tallies, lane, seed, first)


def judged_matchups(
    luck: str, matchups: Sequence[Matchup], entrants: Sequence[Entrant], focus: str | None = None
) -> tuple[Matchup, ...]:
    """The matchups whose luck is taken out; with a `focus`, this bot alone is of interest."""
    spec = {entrant.name: entrant.spec for entrant in entrants}
    return tuple(
        matchup
        for matchup in matchups
        if is_judged(
            luck,
            [spec[bot] for bot in matchup],
            [spec[bot] for bot in matchup if bot != focus] if focus else None,
        )
    )


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
    judged: Collection[Matchup] = (),
) -> list[Chunk]:
    """Some blocks of all matchups, in chunks of at most that size; a matchup is a part of the run."""
    by_name = {entrant.name: entrant for entrant in entrants}
    found = []
    for part, (matchup, lane) in enumerate(zip(matchups, matchup_lanes(matchups), strict=True)):
        playing = tuple(by_name[bot] for bot in matchup)
        job = MatchupJob(
            playing, matchup, rules, forfeits, luck_by=the_judge() if matchup in judged else None
        )
        pieces = matchup_chunks(matchup, blocks, size, earlier)
        found += [Chunk(lane, job, seed, piece, part) for piece in pieces]
    return found


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


def luck_sums(tallies: Sequence[Tally], bots: Bots, first: int) -> Sums:
    """All of `LuckSums`, of games that were judged."""
    players = len(tallies)
    seated = list(zip(tallies, bots, strict=True))
    of_games = luck_of_blocks(np.stack([by_bot(tally.luck, who) for tally, who in seated]))
    won = np.stack([by_bot(win_parts(tally.rank).astype(np.int64), who) for tally, who in seated])
    luck = of_games.sum(axis=0)
    places = np.zeros((len(luck), players, players), np.int64)
    count_places(np.stack([tally.rank for tally in tallies]), bots, places)
    of_both = np.stack([won, of_games, won**2, of_games**2, won * of_games], axis=-1)
    grouped = np.zeros((GROUPS, *of_both.shape[2:]), np.int64)
    np.add.at(grouped, (first + np.arange(len(luck))) % GROUPS, of_both.sum(axis=0))
    sums = LuckSums(luck.sum(axis=0), luck.T @ luck, np.tensordot(luck, places, (0, 0)), grouped)
    return dict(sums._asdict())


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


@inlined
def _add_places(rank: NDArray[np.uint8], who: NDArray[np.uint8], places: Ints) -> None:
    """Add the places of a game, in PARTS, to those (P, P) of the bots that sat there."""
    for seat in range(len(rank)):
        tied = 0
        for other in range(len(rank)):
            tied += rank[seat] == rank[other]
        best = as_int(rank[seat]) - 1
        for place in range(best, best + tied):
            places[who[seat], place] += PARTS // tied


@kernel
def count_places(ranks: NDArray[np.uint8], bots: Bots, places: Ints) -> None:
    """Add the places of games (R, B, P) by seat, in PARTS, to those of each block (B, P, P) by bot."""
    for rotation in range(len(ranks)):
        for block in range(len(places)):
            _add_places(ranks[rotation, block], bots[rotation, block], places[block])


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
                for other in range(players):
                    rival = who[other]
                    before = as_int(rank[seat] < rank[other]) - as_int(rank[seat] > rank[other])
                    ahead[bot, rival] += PARTS // 2 * (1 + before)
            _add_places(rank, who, places)
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
