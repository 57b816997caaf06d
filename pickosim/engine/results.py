"""The results of a turn: what every claim and a fail would make of the table, by the engine's own rules.

A result is settled on a copy of the game, so that nobody has to state a second time what it does.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pickosim.engine.claim import NO_NEW_FACE, brings_second, settle_claim, settle_fail
from pickosim.engine.dice import POINTS
from pickosim.engine.kernels import U8, U16, U32, Bool, as_int, copying, dtype_of, inlined, kernel
from pickosim.engine.log import DOUBLE_ONE, Log, new_log
from pickosim.engine.rulebook import CANNED_WORM, GOLDEN_DIE, NOTHING, Books, Rulebook
from pickosim.engine.table import TABLE, Game, Table, bratworm_sources, earn_bratworm, stealable
from pickosim.engine.tally import highest_tile, is_over, rank_players, win
from pickosim.engine.turn import CAN_POINTS
from pickosim.rules import MOST_PLAYERS, SPECIALISTS, WORM

FAIL = -1
"""Instead of a tile: nothing is claimed."""


class Position(Protocol):
    """A record of POSITION: a game after a turn, with the fields of `pickosim.engine.table.Game`."""

    grill: U32
    flipped: U32
    turn: U16
    top: Annotated[NDArray[np.uint8], MOST_PLAYERS]
    holds: Annotated[NDArray[np.uint8], MOST_PLAYERS]
    place: Annotated[NDArray[np.uint8], len(SPECIALISTS)]
    bratworms: Annotated[NDArray[np.uint8], MOST_PLAYERS]
    supply: U8
    tiles: Annotated[NDArray[np.uint8], MOST_PLAYERS]
    worms: Annotated[NDArray[np.uint16], MOST_PLAYERS]
    highest: Annotated[NDArray[np.uint8], MOST_PLAYERS]  # tile of each stack, or NOTHING
    second: Annotated[NDArray[np.uint8], MOST_PLAYERS]  # tile under each top, or NOTHING
    over: Bool
    won: Annotated[
        NDArray[np.uint16], MOST_PLAYERS
    ]  # by each player, in PARTS; 0 unless it is over


POSITION = dtype_of(Position)

# What a result depends on, which is less than half of a record: not what is only counted.
_copy = copying(TABLE, TABLE, "grill", "under")
_copy_seats = copying(TABLE, POSITION, "top", "tiles")

Positions = NDArray[np.void]
"""(m,) of POSITION."""


class TurnResults(NamedTuple):
    """All results that the turns of n games can have, m in all, game by game."""

    game: NDArray[np.int64]
    """(m,): which of the n games."""
    tile: NDArray[np.int8]
    """(m,): the tile claimed, or FAIL."""
    keeps_new: NDArray[np.bool_]
    """(m,): whether the newer of two specialists is kept."""
    earned: NDArray[np.bool_]
    """(m,): whether 1s earned a bratworm before."""
    after: Positions
    """(m,): the game after it."""


def results_of(books: Books, table: Table, seat: int, rows: NDArray[np.int32]) -> TurnResults:
    """Every result that the turn of `seat` can have: claiming each tile within reach, and a fail.

    Where the rules let the player choose between two specialists, a claim that brings a second one is
    two results. Where 1s can earn a bratworm, all results without it come first, then those with it; it
    comes from the richest rival if the supply is empty.
    """
    book = books[0]
    # No fewer than there can be: what is never written takes no memory.
    claims = int(book["tiles"]) * (1 + (int(book["specialists"]) > 0))
    room = len(rows) * (1 + claims) * (1 + (int(book["bratworms"]) > 0))
    found = TurnResults(
        np.empty(room, np.int64),
        np.empty(room, np.int8),
        np.empty(room, np.bool_),
        np.empty(room, np.bool_),
        np.empty(room, POSITION),
    )
    results = _settle_all(books, table, seat, rows, found, new_log())
    return TurnResults._make(column[:results] for column in found)


def fails_of(books: Books, table: Table, seat: int, rows: NDArray[np.int32]) -> Positions:
    """(n,): the games after a fail."""
    after = np.empty(len(rows), POSITION)
    _settle_fails(books, table, seat, rows, after, new_log())
    return after


def positions_of(books: Books, table: Table, rows: NDArray[np.int32]) -> Positions:
    """(n,): the games as they stand when a turn has ended."""
    after = np.empty(len(rows), POSITION)
    _write_all(books, table, rows, after)
    return after


@kernel
def _write_all(books: Books, table: Table, rows: NDArray[np.int32], after: Positions) -> None:
    book: Rulebook = books[0]
    highest = np.empty(book.players, np.int64)
    for k in range(len(rows)):
        game: Game = table[rows[k]]
        for player in range(book.players):
            highest[player] = highest_tile(game, player)
        _write(book, game, highest, game, after[k])


@inlined
def _highest_total(book: Rulebook, game: Game, seat: int) -> int:
    """No turn reaches more: five points per die, and the canned worm."""
    held = game.holds[seat]
    dice = as_int(POINTS[WORM]) * (book.dice + (held == GOLDEN_DIE))
    most: int = dice + CAN_POINTS * (held == CANNED_WORM)
    return most


@inlined
def _may_earn(book: Rulebook, game: Game, seat: int) -> bool:
    """Whether 1s can earn a bratworm this turn."""
    dice = book.dice + (game.holds[seat] == GOLDEN_DIE)
    if book.bratworms == 0 or dice < book.bratworm_ones:
        return False
    sources, _ = bratworm_sources(book, game, seat)
    return sources > 0


@inlined
def _may_choose(book: Rulebook, game: Game, seat: int, tile: int) -> bool:
    """Whether a claim lets the player choose between two specialists."""
    decided = book.keep_new or book.keep_old
    return not decided and brings_second(book, game, seat, tile)


@kernel
def _settle_all(
    books: Books, table: Table, seat: int, rows: NDArray[np.int32], found: TurnResults, log: Log
) -> int:
    """Write all results; returns how many there are."""
    book: Rulebook = books[0]
    scratch = np.zeros(1, TABLE)
    highest = np.empty(book.players, np.int64)
    always = as_int(not book.keep_old)
    to = 0
    for k in range(len(rows)):
        game: Game = table[rows[k]]
        for player in range(book.players):
            highest[player] = highest_tile(game, player)
        for earned in range(1 + _may_earn(book, game, seat)):
            most = _highest_total(book, game, seat)
            most -= earned * book.bratworm_ones * (POINTS[WORM] - POINTS[1])
            tiles, tile = as_int(game.grill) | stealable(book, game, seat), 0
            while tiles and book.values[tile] <= most:
                if tiles & 1:
                    choices = 1 + _may_choose(book, game, seat, tile)
                    for choice in range(choices):
                        keep_new = always if choices == 1 else choice
                        _copy(game, scratch[0])
                        if earned:
                            _earn_by_ones(book, scratch[0], seat, log)
                        settle_claim(book, scratch[0], seat, tile, keep_new, as_int(NOTHING), log)
                        found.game[to] = k
                        found.tile[to] = tile
                        found.keeps_new[to] = keep_new != 0
                        found.earned[to] = earned != 0
                        _write(book, game, highest, scratch[0], found.after[to])
                        to += 1
                tiles >>= 1
                tile += 1
            _copy(game, scratch[0])
            if earned:
                _earn_by_ones(book, scratch[0], seat, log)
            settle_fail(book, scratch[0], seat, as_int(NO_NEW_FACE), log)
            found.game[to] = k
            found.tile[to] = FAIL
            found.keeps_new[to] = False
            found.earned[to] = earned != 0
            _write(book, game, highest, scratch[0], found.after[to])
            to += 1
    return to


@kernel
def _settle_fails(
    books: Books, table: Table, seat: int, rows: NDArray[np.int32], after: Positions, log: Log
) -> None:
    book: Rulebook = books[0]
    scratch = np.zeros(1, TABLE)
    highest = np.empty(book.players, np.int64)
    for k in range(len(rows)):
        game: Game = table[rows[k]]
        for player in range(book.players):
            highest[player] = highest_tile(game, player)
        _copy(game, scratch[0])
        settle_fail(book, scratch[0], seat, as_int(NO_NEW_FACE), log)
        _write(book, game, highest, scratch[0], after[k])


@inlined
def _earn_by_ones(book: Rulebook, game: Game, seat: int, log: Log) -> None:
    earn_bratworm(book, game, seat, as_int(NOTHING), as_int(DOUBLE_ONE), log)


@inlined
def _write(
    book: Rulebook, before: Game, highest: NDArray[np.int64], game: Game, after: Position
) -> None:
    """Write what a game is like after the turn; `highest` (P,) are the highest tiles before it."""
    after.grill = game.grill
    after.flipped = game.flipped
    after.turn = game.turn
    after.over = is_over(book, game)
    _copy_seats(game, after)
    if not book.specialists:
        after.place[:] = NOTHING
    for player in range(book.players):
        after.worms[player] = game.worms[player]
        top = as_int(game.top[player])
        after.second[player] = game.under[top] if top != NOTHING else NOTHING
        after.won[player] = 0
        best = highest[player]
        if game.tiles[player] != before.tiles[player]:
            best = highest_tile(game, player)
        after.highest[player] = best if best >= 0 else NOTHING
    if after.over:
        standings = np.empty(book.players, np.int64)
        ranks = np.empty(book.players, np.uint8)
        rank_players(book, game, standings, ranks)
        for player in range(book.players):
            after.won[player] = win(ranks) * (ranks[player] == 1)
