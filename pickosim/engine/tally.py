"""The tally: how each game ended, as columns; written when a game is over."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pickosim.engine.kernels import inlined, kernel, whole
from pickosim.engine.log import STACKED, Log, note
from pickosim.engine.rulebook import APPLE, NOTHING, SEATS, Books, Rulebook
from pickosim.engine.table import Game, Table, is_seat
from pickosim.rules import MOST_TILES, SPECIALISTS


class Tally(NamedTuple):
    """Results of G games at P seats with S specialists (S = 0 where the rules have none)."""

    turns: NDArray[np.uint16]
    """(G,)"""
    rolls: NDArray[np.uint32]
    """(G,)"""
    fails: NDArray[np.uint16]
    """(G, 3): by reason."""
    steals: NDArray[np.uint16]
    """(G,): tiles stolen."""
    hen_steals: NDArray[np.uint16]
    """(G,): hens stolen."""
    flips: NDArray[np.uint8]
    """(G,)"""
    finished: NDArray[np.bool_]
    """(G,): the grill is empty; False if the turn limit ended the game."""
    lead_changes: NDArray[np.uint16]
    """(G,): how often another player than before led alone after a turn; 0 unless it was followed."""
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


def new_tally(books: Books, games: int) -> Tally:
    """Room for the results of so many games."""
    seats, kinds = int(books["players"][0]), len(SPECIALISTS) if books["specialists"][0] else 0
    return Tally(
        turns=np.zeros(games, np.uint16),
        rolls=np.zeros(games, np.uint32),
        fails=np.zeros((games, 3), np.uint16),
        steals=np.zeros(games, np.uint16),
        hen_steals=np.zeros(games, np.uint16),
        flips=np.zeros(games, np.uint8),
        finished=np.zeros(games, np.bool_),
        lead_changes=np.zeros(games, np.uint16),
        score=np.zeros((games, seats), np.uint16),
        worms=np.zeros((games, seats), np.uint16),
        tiles=np.zeros((games, seats), np.uint8),
        bratworms=np.zeros((games, seats), np.uint8),
        rank=np.zeros((games, seats), np.uint8),
        gained=np.zeros((games, kinds, seats), np.uint16),
        turns_held=np.zeros((games, kinds, seats), np.uint16),
        used=np.zeros((games, kinds, seats), np.uint16),
        held_at_end=np.zeros((games, kinds, seats), np.bool_),
    )


@inlined
def score_of(book: Rulebook, game: Game, seat: int) -> int:
    """Worms on the own tiles + bratworms + apple."""
    score = whole(game.worms[seat]) + whole(game.bratworms[seat])
    return score + (book.apple_worms if game.holds[seat] == APPLE else 0)


@inlined
def _highest_tile(game: Game, seat: int) -> int:
    """The highest tile on a stack, or -1; tiles are numbered by ascending value."""
    best, tile = -1, whole(game.top[seat])
    while tile != NOTHING:
        best = max(best, tile)
        tile = whole(game.under[tile])
    return best


@inlined
def _standing(book: Rulebook, game: Game, seat: int) -> int:
    """Larger is better: the score, and among the tied the highest single tile if the rules say so."""
    tiebreak = 1 + _highest_tile(game, seat) if book.highest_tile_breaks_ties else 0
    return score_of(book, game, seat) * (MOST_TILES + 1) + tiebreak


@kernel
def record(
    books: Books, table: Table, rows: NDArray[np.int32], first_game: int, tally: Tally, log: Log
) -> None:
    """Write the results of the games in `rows`; game `first_game` to the tally's first entry."""
    book = books[0]
    standings = np.zeros(book.players, np.int64)
    for row in rows:
        game = table[row]
        to = game.game - first_game
        tally.turns[to] = game.turn
        tally.rolls[to] = game.rolls
        for reason in range(len(game.fails)):
            tally.fails[to, reason] = game.fails[reason]
        tally.steals[to] = game.steals
        tally.hen_steals[to] = game.hen_steals
        tally.flips[to] = _size(game.flipped)
        tally.finished[to] = game.grill == 0
        tally.lead_changes[to] = game.lead_changes
        for seat in range(book.players):
            standings[seat] = _standing(book, game, seat)
        for seat in range(book.players):
            tally.score[to, seat] = score_of(book, game, seat)
            tally.worms[to, seat] = game.worms[seat]
            tally.tiles[to, seat] = game.tiles[seat]
            tally.bratworms[to, seat] = game.bratworms[seat]
            tally.rank[to, seat] = _rank(standings, seat)
        if book.specialists:
            _close_careers(game)
            for specialist in range(len(game.place)):
                for seat in range(book.players):
                    tally.gained[to, specialist, seat] = game.gained[specialist, seat]
                    tally.turns_held[to, specialist, seat] = game.turns_held[specialist, seat]
                    tally.used[to, specialist, seat] = game.used[specialist, seat]
                    tally.held_at_end[to, specialist, seat] = game.holds[seat] == specialist
        _note_stacks(book, game, log)


@inlined
def _size(tiles: int) -> int:
    """How many tiles are in a set."""
    left, size = whole(tiles), 0
    while left:
        left &= left - 1
        size += 1
    return size


@inlined
def _rank(standings: NDArray[np.int64], seat: int) -> int:
    """1 + the number of players who are strictly better."""
    rank = 1
    for standing in standings:
        rank += standing > standings[seat]
    return rank


@inlined
def _close_careers(game: Game) -> None:
    """The game is over: count the turns of those who still hold their specialist."""
    for specialist in range(len(game.place)):
        place = whole(game.place[specialist])
        if is_seat(place):
            game.turns_held[specialist, place - SEATS] += game.turn - game.since[specialist]


@inlined
def _note_stacks(book: Rulebook, game: Game, log: Log) -> None:
    for seat in range(book.players):
        tile = whole(game.top[seat])
        while tile != NOTHING:
            note(log, game, STACKED, seat, tile)
            tile = whole(game.under[tile])


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
    """After a turn: count where another player than the last sole leader leads now.

    A tie at the top changes nothing by itself, and the first to lead alone is no change.
    """
    for row in rows:
        game = table[row]
        leader = _sole_leader(books[0], game)
        if leader != NOTHING:
            game.lead_changes += game.leader != NOTHING and game.leader != leader
            game.leader = leader


@kernel
def end_turns(books: Books, table: Table, rows: NDArray[np.int32], over: NDArray[np.int32]) -> int:
    """The game ends as soon as the grill is empty, or at the turn limit; else the next turn comes.

    Rows of games that go on move to the front of `rows`, those of games that are over to `over`.
    Returns the number of the former.
    """
    turn_limit = books[0].turn_limit
    kept, ended = 0, 0
    for row in rows:
        game = table[row]
        if game.grill == 0 or game.turn >= turn_limit:
            over[ended] = row
            ended += 1
        else:
            game.turn += 1
            rows[kept] = row
            kept += 1
    return kept
