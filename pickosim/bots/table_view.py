"""The view of a table: what a strategy sees of the players, the grill and the tiles, in many games at once."""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pickosim.engine.kernels import as_int, kernel
from pickosim.engine.rulebook import NOTHING, SEATS, TOTALS, Books, Rulebook
from pickosim.engine.table import Game, Table, is_exposed
from pickosim.engine.tally import score_of
from pickosim.rules import RuleSet

IntArray = NDArray[np.int16]
BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]
Array = TypeVar("Array", bound=NDArray[Any])


class TableView:
    """The tables of n games at P seats with T tiles, seen from one seat."""

    rules: RuleSet
    """The rule set."""
    seat: int
    """Your seat, from 0; seat 0 played first."""

    def __init__(
        self, rules: RuleSet, books: Books, table: Table, seat: int, rows: NDArray[np.int32]
    ) -> None:
        self.rules = rules
        self.seat = seat
        self._books = books
        self._table = table
        self._rows = rows

    def __len__(self) -> int:
        """The number of games, n."""
        return len(self._rows)

    @property
    def players(self) -> int:
        """The number of players, P."""
        return int(self._books["players"][0])

    @cached_property
    def tiles(self) -> IntArray:
        """(T,) int16: value of each tile in the game, ascending."""
        return read_only(self._books["values"][0, : self._books["tiles"][0]].astype(np.int16))

    @cached_property
    def tile_worms(self) -> IntArray:
        """(T,) int16: worms on each tile."""
        return read_only(self._books["worms"][0, : len(self.tiles)].astype(np.int16))

    @cached_property
    def number(self) -> NDArray[np.int32]:
        """(n,) int32: number of this turn in its game, from 1 (all players' turns are counted)."""
        return read_only(self._table["turn"][self._rows].astype(np.int32))

    @cached_property
    def grill(self) -> BoolArray:
        """(n, T) bool: tiles face up on the grill."""
        return read_only(tile_columns(self._table["grill"][self._rows], len(self.tiles)).T)

    @cached_property
    def tops(self) -> IntArray:
        """(n, P) int16: value of each player's top tile, 0 without tiles."""
        return read_only(self._values(self._of_players(self._table["top"])))

    @cached_property
    def stack_sizes(self) -> IntArray:
        """(n, P) int16: tiles on each player's stack."""
        return read_only(self._of_players(self._table["tiles"]).astype(np.int16))

    @cached_property
    def worms(self) -> IntArray:
        """(n, P) int16: worms on each player's tiles."""
        return read_only(self._of_players(self._table["worms"]).astype(np.int16))

    @cached_property
    def bratworms(self) -> IntArray:
        """(n, P) int16: bratworms of each player."""
        return read_only(self._of_players(self._table["bratworms"]).astype(np.int16))

    @cached_property
    def supply(self) -> IntArray:
        """(n,) int16: bratworms in the supply."""
        return read_only(self._table["supply"][self._rows].astype(np.int16))

    @cached_property
    def scores(self) -> IntArray:
        """(n, P) int16: what each player's score would be if the game ended now."""
        return read_only(_scores(self._books, self._table, self.seat, self._rows).T)

    @cached_property
    def holds(self) -> IntArray:
        """(n, P) int16: the specialist that each player holds, -1 for none."""
        return read_only(_or_none(self._of_players(self._table["holds"])))

    @cached_property
    def exposed(self) -> BoolArray:
        """(n, P) bool: players whose top tile would be lost to a rival with exactly its value."""
        return read_only(_exposed(self._books, self._table, self.seat, self._rows).T)

    @cached_property
    def specialist_on(self) -> IntArray:
        """(n, T) int16: the specialist that stands on each tile of the grill, -1 for none."""
        return read_only(_standing_on(self._table, self._rows, len(self.tiles)).T)

    def worms_on(self, tiles: NDArray[Any]) -> IntArray:
        """int16, shaped like `tiles`: worms on tiles given by value; 0 for 0, which is no tile in `tops`."""
        worms = np.zeros(TOTALS, np.int16)
        worms[self.tiles] = self.tile_worms
        found: IntArray = worms[tiles]
        return found

    def _of_players(self, column: Array) -> Array:
        """(n, P), stored column by column, players counted from the one on turn."""
        return _of_players(column, self._rows, self.players, self.seat).T

    def _values(self, tiles: NDArray[np.uint8]) -> IntArray:
        """Values of tiles by their number, 0 for NOTHING."""
        value = np.zeros(NOTHING + 1, np.int16)
        value[: len(self.tiles)] = self.tiles
        found: IntArray = value[tiles]
        return found


def read_only(array: Array) -> Array:
    """The same array, protected against changes."""
    array.flags.writeable = False
    return array


def _or_none(specialists: NDArray[np.uint8]) -> IntArray:
    """Specialists with -1 for NOTHING."""
    numbers = specialists.astype(np.int16)
    numbers[specialists == NOTHING] = -1
    return numbers


@kernel
def tile_columns(sets: NDArray[np.uint32], tiles: int) -> NDArray[np.bool_]:
    """(T, n): sets of tiles as columns, one row per tile."""
    out = np.zeros((tiles, len(sets)), np.bool_)
    for tile in range(tiles):
        for k in range(len(sets)):
            out[tile, k] = (as_int(sets[k]) >> tile) & 1
    return out


@kernel
def _of_players(column: Array, rows: NDArray[np.int32], players: int, seat: int) -> Array:
    out = np.empty((players, len(rows)), column.dtype)
    for step in range(players):
        player = (seat + step) % players
        for k in range(len(rows)):
            out[step, k] = column[rows[k], player]
    return out  # type: ignore[return-value]


@kernel
def _standing_on(table: Table, rows: NDArray[np.int32], tiles: int) -> NDArray[np.int16]:
    out = np.full((tiles, len(rows)), np.int16(-1))
    for k in range(len(rows)):
        game: Game = table[rows[k]]
        for specialist in range(len(game.place)):
            place = game.place[specialist]
            if place < SEATS:
                out[place, k] = specialist
    return out


@kernel
def _scores(books: Books, table: Table, seat: int, rows: NDArray[np.int32]) -> NDArray[np.int16]:
    book: Rulebook = books[0]
    out = np.empty((book.players, len(rows)), np.int16)
    for step in range(book.players):
        player = (seat + step) % book.players
        for k in range(len(rows)):
            out[step, k] = score_of(book, table[rows[k]], player)
    return out


@kernel
def _exposed(books: Books, table: Table, seat: int, rows: NDArray[np.int32]) -> NDArray[np.bool_]:
    book: Rulebook = books[0]
    out = np.empty((book.players, len(rows)), np.bool_)
    for step in range(book.players):
        player = (seat + step) % book.players
        for k in range(len(rows)):
            out[step, k] = is_exposed(book, table[rows[k]], player)
    return out
