"""The tally: how each game ended, as columns; written when a game is over."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pickosim.engine.kernels import as_int, inlined, kernel
from pickosim.engine.log import STACKED, Log, log_event
from pickosim.engine.rulebook import APPLE, NOTHING, SEATS, Books, Rulebook
from pickosim.engine.table import COUNTERS, Game, Table, is_seat
from pickosim.rules import MOST_TILES, SPECIALISTS

PARTS = 420
"""Wins are counted in such parts: any number of players can share one, and sums are exact."""


LUCK_ONE = 1 << 30
"""Luck is rounded to multiples of 1 / LUCK_ONE, so that sums are the same in any order."""

LUCK_UNIT = 1 << 16
"""The luck of a block is rounded to parts of this, so that its squares add up in whole numbers of 64 bits."""


class Tally(NamedTuple):
    """Results of G games at P seats with S specialists (S = 0 where the rules have none).

    Games are in the order of their numbers, rotation by rotation.
    """

    turns: NDArray[np.uint16]
    """(G,)"""
    counts: NDArray[np.uint32]
    """(G, C): by counter, of C; see `Counters`."""
    flips: NDArray[np.uint8]
    """(G,)"""
    finished: NDArray[np.bool_]
    """(G,): the grill is empty; False if the turn limit ended the game."""
    score: NDArray[np.uint16]
    """(G, P): worms + bratworms + apple."""
    worms: NDArray[np.uint16]
    """(G, P): worms on the player's tiles."""
    tiles: NDArray[np.uint8]
    """(G, P)"""
    bratworms: NDArray[np.uint8]
    """(G, P)"""
    rank: NDArray[np.uint8]
    """(G, P): 1 + the number of players strictly better."""
    gained: NDArray[np.uint16]
    """(G, S, P)"""
    turns_held: NDArray[np.uint16]
    """(G, S, P)"""
    used: NDArray[np.uint16]
    """(G, S, P)"""
    held_at_end: NDArray[np.bool_]
    """(G, S, P)"""
    forfeits: NDArray[np.bool_]
    """(G, P): the player's bot failed and another one played on; its rank is the last, all else is as played."""
    luck: NDArray[np.int64]
    """(G, P): chance to win that rolls brought, in parts of LUCK_ONE; 0 unless the games are judged."""

    def counter(self, name: str) -> NDArray[np.uint32]:
        """(G,): a counter by its name in `Counters`."""
        return self.counts[:, COUNTERS._fields.index(name)]

    def by_rotation(self, rotations: int) -> list[Tally]:
        """The results of each of so many rotations."""
        games = len(self.turns) // rotations
        parts = [slice(k * games, (k + 1) * games) for k in range(rotations)]
        return [Tally._make(column[part] for column in self) for part in parts]


def luck_of_blocks(luck: NDArray[np.int64]) -> NDArray[np.int64]:
    """The luck of blocks in parts of LUCK_UNIT, from that in parts of LUCK_ONE."""
    part = LUCK_ONE // LUCK_UNIT
    return np.asarray((luck + part // 2) // part)


def new_tally(books: Books, games: int) -> Tally:
    """An empty tally for this many games."""
    seats, kinds = int(books["players"][0]), len(SPECIALISTS) if books["specialists"][0] else 0
    return Tally(
        turns=np.zeros(games, np.uint16),
        counts=np.zeros((games, len(COUNTERS)), np.uint32),
        flips=np.zeros(games, np.uint8),
        finished=np.zeros(games, np.bool_),
        score=np.zeros((games, seats), np.uint16),
        worms=np.zeros((games, seats), np.uint16),
        tiles=np.zeros((games, seats), np.uint8),
        bratworms=np.zeros((games, seats), np.uint8),
        rank=np.zeros((games, seats), np.uint8),
        gained=np.zeros((games, kinds, seats), np.uint16),
        turns_held=np.zeros((games, kinds, seats), np.uint16),
        used=np.zeros((games, kinds, seats), np.uint16),
        held_at_end=np.zeros((games, kinds, seats), np.bool_),
        forfeits=np.zeros((games, seats), np.bool_),
        luck=np.zeros((games, seats), np.int64),
    )


@inlined
def score_of(book: Rulebook, game: Game, seat: int) -> int:
    """A player's worms on tiles + bratworms + apple."""
    score = as_int(game.worms[seat]) + as_int(game.bratworms[seat])
    return score + (book.apple_worms if game.holds[seat] == APPLE else 0)


@inlined
def highest_tile(game: Game, seat: int) -> int:
    """The highest tile on a stack, or -1; tiles are numbered by ascending value."""
    best, tile = -1, as_int(game.top[seat])
    while tile != NOTHING:
        best = max(best, tile)
        tile = as_int(game.under[tile])
    return best


@inlined
def _standing(book: Rulebook, game: Game, seat: int) -> int:
    """Larger is better: the score, and among the tied the highest single tile if the rules say so."""
    tiebreak = 1 + highest_tile(game, seat) if book.highest_tile_breaks_ties else 0
    return score_of(book, game, seat) * (MOST_TILES + 1) + tiebreak


@kernel
def record(books: Books, table: Table, rows: NDArray[np.int32], tally: Tally, log: Log) -> None:
    """Write the results of the games in `rows` to the tally."""
    book: Rulebook = books[0]
    standings = np.zeros(book.players, np.int64)
    for row in rows:
        game: Game = table[row]
        to = as_int(game.entry)
        tally.turns[to] = game.turn
        for counter in range(len(game.counts)):
            tally.counts[to, counter] = game.counts[counter]
        tally.flips[to] = size_of(game.flipped)
        tally.finished[to] = game.grill == 0
        rank_players(book, game, standings, tally.rank[to])
        for seat in range(book.players):
            tally.score[to, seat] = score_of(book, game, seat)
            tally.worms[to, seat] = game.worms[seat]
            tally.tiles[to, seat] = game.tiles[seat]
            tally.bratworms[to, seat] = game.bratworms[seat]
        if book.specialists:
            _count_turns_still_held(game)
            for specialist in range(len(game.place)):
                for seat in range(book.players):
                    tally.gained[to, specialist, seat] = game.gained[specialist, seat]
                    tally.turns_held[to, specialist, seat] = game.turns_held[specialist, seat]
                    tally.used[to, specialist, seat] = game.used[specialist, seat]
                    tally.held_at_end[to, specialist, seat] = game.holds[seat] == specialist
        _log_stacks(book, game, log)


@inlined
def size_of(tiles: int) -> int:
    """How many tiles are in a set."""
    left, size = as_int(tiles), 0
    while left:
        left &= left - 1
        size += 1
    return size


@inlined
def rank_players(
    book: Rulebook, game: Game, standings: NDArray[np.int64], ranks: NDArray[np.uint8]
) -> None:
    """Write each player's rank to `ranks` (P,): 1 + the number of players who are strictly better.

    `standings` (P,) is a buffer.
    """
    for seat in range(book.players):
        standings[seat] = _standing(book, game, seat)
    for seat in range(book.players):
        ranks[seat] = 1
        for standing in standings:
            ranks[seat] += standing > standings[seat]


@inlined
def win(ranks: NDArray[np.uint8]) -> int:
    """What each player on the first place of a game has won, in PARTS; `ranks` is (P,)."""
    winners = 0
    for rank in ranks:
        winners += rank == 1
    return PARTS // winners


@kernel
def win_parts(ranks: NDArray[np.uint8]) -> NDArray[np.int64]:
    """(G, P): what each player has won, in PARTS, from the ranks (G, P) of games."""
    parts = np.zeros(ranks.shape, np.int64)
    for game in range(len(ranks)):
        share = win(ranks[game])
        for seat in range(ranks.shape[1]):
            parts[game, seat] = share * (ranks[game, seat] == 1)
    return parts


def place_last(tally: Tally) -> None:
    """Place players who forfeited behind all others of their games, which count as without luck."""
    games = np.flatnonzero(tally.forfeits.any(axis=1))
    rank, out = tally.rank[games], tally.forfeits[games]
    ahead = (out[:, None, :] & (rank[:, None, :] < rank[:, :, None])).sum(axis=2)
    tally.luck[games] = 0
    tally.rank[games] = np.where(out, 1 + (~out).sum(axis=1, keepdims=True), rank - ahead)


@inlined
def _count_turns_still_held(game: Game) -> None:
    """The game is over: count the turns of players who still hold a specialist."""
    for specialist in range(len(game.place)):
        place = as_int(game.place[specialist])
        if is_seat(place):
            game.turns_held[specialist, place - SEATS] += game.turn - game.since[specialist]


@inlined
def _log_stacks(book: Rulebook, game: Game, log: Log) -> None:
    for seat in range(book.players):
        tile = as_int(game.top[seat])
        while tile != NOTHING:
            log_event(log, game, STACKED, seat, tile)
            tile = as_int(game.under[tile])


@inlined
def _sole_leader(book: Rulebook, game: Game) -> int:
    """The player with the highest score, or NOTHING if several share it."""
    leader, best = NOTHING, -1
    for seat in range(book.players):
        score = score_of(book, game, seat)
        if score > best:
            leader, best = seat, score
        elif score == best:
            leader = NOTHING
    return leader


@kernel
def follow_leads(books: Books, table: Table, rows: NDArray[np.int32]) -> None:
    """After a turn: count a lead change wherever the sole leader is not the last one.

    A tie at the top is no lead change, and neither is the first sole lead of a game.
    """
    for row in rows:
        game: Game = table[row]
        leader = _sole_leader(books[0], game)
        if leader != NOTHING:
            changed = game.leader != NOTHING and game.leader != leader
            game.counts[COUNTERS.lead_changes] += changed
            game.leader = leader


@inlined
def is_over(book: Rulebook, game: Game) -> bool:
    """Whether a turn was the last: the grill is empty, or the turn limit is reached."""
    return game.grill == 0 or game.turn >= book.turn_limit


@kernel
def end_turns(books: Books, table: Table, rows: NDArray[np.int32], over: NDArray[np.int32]) -> int:
    """End the games that are over; in the others the next turn follows.

    Rows of games that go on move to the front of `rows`, those of games that are over to `over`.
    Returns how many games go on.
    """
    book: Rulebook = books[0]
    kept, ended = 0, 0
    for row in rows:
        game: Game = table[row]
        if is_over(book, game):
            over[ended] = row
            ended += 1
        else:
            game.turn += 1
            rows[kept] = row
            kept += 1
    return kept
