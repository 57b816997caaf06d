"""The results of a turn: what every claim and a fail would make of the table, by the engine's own rules.

A result is settled on a copy of the game, so that nobody has to state a second time what it does.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pickosim.engine.claim import NO_NEW_FACE, brings_second, settle_claim, settle_fail
from pickosim.engine.kernels import as_int, inlined, kernel
from pickosim.engine.log import DOUBLE_ONE, Log, new_log
from pickosim.engine.records import U8, U16, U32, Bool, dtype_of
from pickosim.engine.rulebook import NOTHING, Books, Rulebook
from pickosim.engine.table import Game, Table, earn_bratworm, stealable
from pickosim.engine.tally import highest_tile, is_over, rank_players, win
from pickosim.rules import MOST_PLAYERS, SPECIALISTS

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
    over: Bool
    won: Annotated[
        NDArray[np.uint16], MOST_PLAYERS
    ]  # by each player, in PARTS; 0 unless it is over


POSITION = dtype_of(Position)

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
    after: Positions
    """(m,): the game after it."""


def results_of(
    books: Books, table: Table, seat: int, rows: NDArray[np.int32], bratworm: bool
) -> TurnResults:
    """Every result that the turn of `seat` can have: claiming each tile within anybody's reach, and a fail.

    Where the rules let the player choose between two specialists, a claim that brings a second one is
    two results. With `bratworm`, one is earned by 1s first; it comes from the richest rival if the supply
    is empty.
    """
    results = int(_count(books, table, seat, rows))
    found = TurnResults(
        np.empty(results, np.int64),
        np.empty(results, np.int8),
        np.empty(results, np.bool_),
        np.empty(results, POSITION),
    )
    _settle_all(books, table, seat, rows, bratworm, found, new_log())
    return found


def fails_of(
    books: Books, table: Table, seat: int, rows: NDArray[np.int32], bratworm: bool
) -> Positions:
    """(n,): the games after a fail; with `bratworm`, one is earned by 1s first."""
    after = np.empty(len(rows), POSITION)
    _settle_fails(books, table, seat, rows, bratworm, after, new_log())
    return after


@inlined
def _within_reach(book: Rulebook, game: Game, seat: int) -> int:
    """The set of tiles that some total could claim."""
    return as_int(game.grill) | stealable(book, game, seat)


@inlined
def _may_choose(book: Rulebook, game: Game, seat: int, tile: int) -> bool:
    """Whether a claim lets the player choose between two specialists."""
    decided = book.keep_new or book.keep_old
    return not decided and brings_second(book, game, seat, tile)


@kernel
def _count(books: Books, table: Table, seat: int, rows: NDArray[np.int32]) -> int:
    """How many results there are in all."""
    book: Rulebook = books[0]
    found = 0
    for row in rows:
        game: Game = table[row]
        tiles, tile = _within_reach(book, game, seat), 0
        while tiles:
            if tiles & 1:
                found += 1 + _may_choose(book, game, seat, tile)
            tiles >>= 1
            tile += 1
        found += 1
    return found


@kernel
def _settle_all(
    books: Books,
    table: Table,
    seat: int,
    rows: NDArray[np.int32],
    bratworm: bool,
    found: TurnResults,
    log: Log,
) -> None:
    book: Rulebook = books[0]
    scratch = table[:1].copy()
    always = as_int(not book.keep_old)
    to = 0
    for k in range(len(rows)):
        game: Game = table[rows[k]]
        tiles, tile = _within_reach(book, game, seat), 0
        while tiles:
            if tiles & 1:
                choices = 1 + _may_choose(book, game, seat, tile)
                for choice in range(choices):
                    keep_new = always if choices == 1 else choice
                    scratch[0] = table[rows[k]]
                    if bratworm:
                        _earn_by_ones(book, scratch[0], seat, log)
                    settle_claim(book, scratch[0], seat, tile, keep_new, as_int(NOTHING), log)
                    found.game[to] = k
                    found.tile[to] = tile
                    found.keeps_new[to] = keep_new != 0
                    _write(book, scratch[0], found.after[to])
                    to += 1
            tiles >>= 1
            tile += 1
        scratch[0] = table[rows[k]]
        if bratworm:
            _earn_by_ones(book, scratch[0], seat, log)
        settle_fail(book, scratch[0], seat, as_int(NO_NEW_FACE), log)
        found.game[to] = k
        found.tile[to] = FAIL
        found.keeps_new[to] = False
        _write(book, scratch[0], found.after[to])
        to += 1


@kernel
def _settle_fails(
    books: Books,
    table: Table,
    seat: int,
    rows: NDArray[np.int32],
    bratworm: bool,
    after: Positions,
    log: Log,
) -> None:
    book: Rulebook = books[0]
    scratch = table[:1].copy()
    for k in range(len(rows)):
        scratch[0] = table[rows[k]]
        if bratworm:
            _earn_by_ones(book, scratch[0], seat, log)
        settle_fail(book, scratch[0], seat, as_int(NO_NEW_FACE), log)
        _write(book, scratch[0], after[k])


@inlined
def _earn_by_ones(book: Rulebook, game: Game, seat: int, log: Log) -> None:
    earn_bratworm(book, game, seat, as_int(NOTHING), as_int(DOUBLE_ONE), log)


@inlined
def _write(book: Rulebook, game: Game, after: Position) -> None:
    """Write what a game is like after the turn."""
    after.grill = game.grill
    after.flipped = game.flipped
    after.turn = game.turn
    after.supply = game.supply
    after.over = is_over(book, game)
    for specialist in range(len(game.place)):
        after.place[specialist] = game.place[specialist]
    for player in range(book.players):
        after.top[player] = game.top[player]
        after.holds[player] = game.holds[player]
        after.bratworms[player] = game.bratworms[player]
        after.tiles[player] = game.tiles[player]
        after.worms[player] = game.worms[player]
        best = highest_tile(game, player)
        after.highest[player] = best if best >= 0 else NOTHING
        after.won[player] = 0
    if after.over:
        standings = np.empty(book.players, np.int64)
        ranks = np.empty(book.players, np.uint8)
        rank_players(book, game, standings, ranks)
        for player in range(book.players):
            after.won[player] = win(ranks) * (ranks[player] == 1)
