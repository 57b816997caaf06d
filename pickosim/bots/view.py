"""The view: what a strategy sees of its turn, and of what the turn can lead to, in many games at once.

A strategy never sees future dice, nor the seed or number of a game, and its arrays are read-only: it
cannot change the table.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pickosim.engine.claim import brought_by, claims_now
from pickosim.engine.dice import (
    ALL_FACES,
    CHOICE_STREAM,
    FACES,
    Roll,
    Rolls,
    as_unit_float,
    derive,
    rolls,
)
from pickosim.engine.kernels import as_int, kernel
from pickosim.engine.results import FAIL, TurnResults, fails_of, results_of
from pickosim.engine.rulebook import NOTHING, SEATS, TOTALS, Books, Rulebook
from pickosim.engine.table import Game, Table, can_be_robbed, is_exposed
from pickosim.engine.tally import PARTS, score_of
from pickosim.engine.turn import Hand, Hands, can_claim, has_worm, reaches, total
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
        counts: IntArray = worms[tiles]
        return counts

    def _of_players(self, column: Array) -> Array:
        """(n, P), stored column by column, players counted from the one on turn."""
        return _of_players(column, self._rows, self.players, self.seat).T

    def _values(self, tiles: NDArray[np.uint8]) -> IntArray:
        """Values of tiles by their number, 0 for NOTHING."""
        value = np.zeros(NOTHING + 1, np.int16)
        value[: len(self.tiles)] = self.tiles
        values: IntArray = value[tiles]
        return values


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


_LOWEST_SCORE = np.int32(np.iinfo(np.int16).min)
_FACE_BITS = np.int32(FACES.bit_length())
_FACE_MASK = np.int32((1 << FACES.bit_length()) - 1)

METHODS = ("use_golden_die", "reroll", "pick", "rob", "stop", "claim", "keep_new_specialist")
"""The methods of a strategy that the engine calls, in the order of a turn."""

NUMBERS = ("pick", "claim", "rob")
"""Those that are answered with a number; the others with true or false."""


class Turn(TableView):
    """What the player on turn sees in n games at P seats with T tiles.

    **Arrays** are read-only, have one row per game, and are valid during the call; numbers are int16
    (turn numbers int32), so that differences do not wrap. Arrays with several columns are stored column
    by column: an operation on one column is fast. **Faces** are 1 to 5, and 6 for the worm; arrays by
    face have 7 columns, the first unused, so that column f is face f. **Players** are counted from the
    one on turn: column 0 is you, column 1 plays next. **Tiles** have one column each, by ascending value.
    **Specialists** are numbered as in `pickosim.SPECIALISTS`; -1 is none.

    Attributes are computed when they are first read.
    """

    def __init__(
        self,
        rules: RuleSet,
        books: Books,
        table: Table,
        hands: Hands,
        seat: int,
        rows: NDArray[np.int32],
        method: str,
        notes: dict[str, Any],
        claimed: NDArray[np.int64] | None = None,
        bot: int | None = None,
    ) -> None:
        super().__init__(rules, books, table, seat, rows)
        self._hands = hands
        self._method = method
        self._notes = notes
        self._claimed = claimed
        self._bot = seat if bot is None else bot
        self._draws = 0

    def _with_can_claim(self, can_claim: NDArray[np.bool_]) -> Turn:
        """The same turn with `can_claim` set, where the engine has computed it already."""
        self.__dict__["can_claim"] = read_only(can_claim)
        return self

    def _only(self, games: slice | NDArray[np.int64]) -> Turn:
        """The same question in some of the games, with nothing computed yet."""
        return Turn(
            self.rules,
            self._books,
            self._table,
            self._hands,
            self.seat,
            self._rows[games],
            self._method,
            self._notes,
            None if self._claimed is None else self._claimed[games],
            self._bot,
        )

    def _apart(self, games: NDArray[np.int64]) -> Turn:
        """The same for a repeated question: what a strategy notes then is not for later questions."""
        part = self._only(games)
        part._notes = dict(self._notes)
        return part

    def _in_rows(self, rows: NDArray[np.int32]) -> Turn:
        """The same question in other rows of the table."""
        part = self._only(slice(0))
        part._rows, part._claimed = rows, None
        return part

    def _asked_for(self, method: str) -> Turn:
        """The same turn, asked for something else."""
        part = self._only(slice(None))
        part._method = method
        return part

    @property
    def question(self) -> str:
        """The method that is being called."""
        return self._method

    def _only_in(self, name: str, *methods: str) -> None:
        """Refuse an attribute that has no meaning in the current method."""
        if self._method not in methods:
            where = " and ".join(f"{method}()" for method in methods)
            raise AttributeError(f"turn.{name} exists only in {where}, not in {self._method}()")

    # The roll: in pick() and reroll()

    @cached_property
    def counts(self) -> IntArray:
        """(n, 7) int16: dice of the last roll that show face f, the golden one included."""
        self._only_in("counts", "pick", "reroll")
        return read_only(_counts(rolls(self.rules.dice + 1), self._hands, self._rows).T)

    @cached_property
    def legal(self) -> BoolArray:
        """(n, 7) bool: faces of the roll that are new this turn, so that they can be set aside."""
        self._only_in("legal", "pick", "reroll")
        return self._faces(self._hands["new"])

    @cached_property
    def no_new_face(self) -> BoolArray:
        """(n,) bool, in reroll(): whether the roll shows no new face, which ends the turn unless rerolled."""
        self._only_in("no_new_face", "pick", "reroll")
        return read_only(self._hands["new"][self._rows] == 0)

    @cached_property
    def golden_face(self) -> IntArray:
        """(n,) int16: face of the golden die in the last roll, 0 if it was not rolled."""
        self._only_in("golden_face", "pick", "reroll")
        return self._of_hand(self._hands["golden_face"])

    # What is set aside

    @cached_property
    def aside(self) -> BoolArray:
        """(n, 7) bool: faces set aside this turn."""
        return self._faces(self._hands["aside"])

    @cached_property
    def total(self) -> IntArray:
        """(n,) int16: points set aside this turn, including the canned worm as long as it counts."""
        return read_only(_totals(self._hands, self._rows))

    @cached_property
    def has_worm(self) -> BoolArray:
        """(n,) bool: whether the worm that a claim needs is set aside, or canned."""
        return read_only(_worms(self._hands, self._rows))

    @cached_property
    def dice_left(self) -> IntArray:
        """(n,) int16: dice not set aside, the golden one included."""
        return read_only(self._of_hand(self._hands["white"]) + self._of_hand(self._hands["golden"]))

    @cached_property
    def golden_left(self) -> BoolArray:
        """(n,) bool: whether the golden die is among them."""
        return read_only(self._hands["golden"][self._rows] > 0)

    @cached_property
    def weasel_left(self) -> BoolArray:
        """(n,) bool: whether your weasel can still be used this turn."""
        return read_only(self._hands["weasel"][self._rows] > 0)

    @cached_property
    def rolls(self) -> IntArray:
        """(n,) int16: rolls you have made this turn."""
        return self._of_hand(self._hands["rolls"])

    # What a stop would claim

    @cached_property
    def claims(self) -> BoolArray:
        """(n, T) bool: tiles that you can claim if you stop now (a rival's top tile by stealing)."""
        now = claims_now(self._books, self._hands, self._rows)
        return read_only(tile_columns(now, len(self.tiles)).T)

    @cached_property
    def can_claim(self) -> BoolArray:
        """(n,) bool: whether you can claim anything if you stop now."""
        return read_only(_can_claim(self._books, self._hands, self._rows))

    def can_claim_with(self, total: NDArray[Any]) -> BoolArray:
        """(n,) bool: whether another total (n,), with a worm, could claim anything."""
        totals = np.broadcast_to(np.asarray(total), len(self)).astype(np.int64)
        if len(totals) and not 0 <= totals.min() <= totals.max() < TOTALS:
            raise ValueError(f"totals are 0 to {TOTALS - 1}")
        return _can_claim_with(self._books, self._hands, self._rows, totals)

    # What the turn can lead to

    def results(self) -> After:
        """Every result that the turn can have, as the tables after it.

        There is one result per tile of the grill and per top tile that can be stolen, as far as the dice can
        reach it, and one for a fail. A claim that lets you choose between two specialists has two. Where 1s
        can earn a bratworm, results with it follow those without. What each does to the table is up to
        the engine, so it is right by any rules.
        """
        return After(self, results_of(self._books, self._table, self.seat, self._rows))

    def after_fail(self) -> After:
        """The tables after a fail, one per game."""
        n = len(self)
        after = fails_of(self._books, self._table, self.seat, self._rows)
        no = np.zeros(n, np.bool_)
        return After(self, TurnResults(np.arange(n), np.full(n, FAIL, np.int8), no, no, after))

    @cached_property
    def at_risk(self) -> IntArray:
        """(n,) int16: value of the tile that a fail would cost you, 0 if it would cost none."""
        lost = self.after_fail().stack_sizes[:, 0] < self.stack_sizes[:, 0]
        return read_only(np.where(lost, self.tops[:, 0], np.int16(0)))

    # The questions of the expansion

    @cached_property
    def new_specialist(self) -> IntArray:
        """(n,) int16, in keep_new_specialist(): the second specialist, which comes with your claim."""
        self._only_in("new_specialist", "keep_new_specialist")
        assert self._claimed is not None
        return read_only(_brought(self._books, self._table, self.seat, self._rows, self._claimed))

    @cached_property
    def robbable(self) -> BoolArray:
        """(n, P) bool: rivals whose bratworm you could take if the supply is empty."""
        return read_only(_robbable(self._books, self._table, self.seat, self._rows).T)

    # Tools

    def random(self) -> FloatArray:
        """(n,) float64 in [0, 1): fresh random numbers at each call, the same in every replay."""
        # rob() may be called twice after the same roll: for 1s, and for the raven after a claim.
        in_value = self._method not in METHODS
        question = len(METHODS) if in_value else METHODS.index(self._method)
        question += len(METHODS) * (self._claimed is not None)
        draw = (question << 16) + self._draws
        self._draws += 1
        return _random(self._table, self._hands, self._rows, np.uint64(draw), not in_value)

    def choose(self, options: NDArray[np.bool_]) -> IntArray:
        """(n,) int16: a random true column in each row of `options` (n, k).

        Every row must have at least one.
        """
        options = np.asarray(options, np.bool_)
        if options.ndim != 2 or len(options) != len(self):
            raise ValueError(f"options are ({len(self)}, k), not {options.shape}")
        nth = (self.random() * options.sum(axis=1)).astype(np.int64)
        return _nth_true(np.asfortranarray(options), nth)

    def best(self, scores: NDArray[Any]) -> IntArray:
        """(n,) int16: the legal face with the highest of `scores` (n, 7); of equal ones, the higher face."""
        self._only_in("best", "pick", "reroll")
        scores = np.asarray(scores)
        if scores.shape != (len(self), FACES + 1):
            raise ValueError(f"scores are ({len(self)}, {FACES + 1}), not {scores.shape}")
        if scores.dtype == np.int16:  # like `counts`
            return _best_int16(self._hands, self._rows, np.asfortranarray(scores))
        return _best(self._hands, self._rows, np.asfortranarray(scores, np.float64))

    def look_up(self, lookup: Array) -> Array:
        """(n,): entries of a lookup by roll and set of faces set aside, the fastest way to decide.

        `lookup` is (R, 64), preferably stored column by column. `pickosim.engine.dice.rolls` lists the
        rolls by number; in a set, face f is bit f - 1.
        """
        self._only_in("look_up", "pick", "reroll")
        wanted = (len(rolls(self.rules.dice + 1)), ALL_FACES + 1)
        if lookup.ndim != 2 or lookup.shape[0] < wanted[0] or lookup.shape[1] != wanted[1]:
            raise ValueError(f"the lookup is {wanted} for these rules, not {lookup.shape}")
        return _look_up(lookup, self._hands, self._rows)

    def _faces(self, sets: NDArray[np.uint8]) -> BoolArray:
        """(n, 7): sets of faces by column; in a set, face f is bit f - 1."""
        return read_only(
            tile_columns(sets[self._rows].astype(np.uint32) << np.uint32(1), FACES + 1).T
        )

    def _of_hand(self, column: NDArray[np.uint8]) -> IntArray:
        return read_only(column[self._rows].astype(np.int16))


class After(TableView):
    """The tables after m results of turns in n games; you are the player who has just had the turn.

    It has the attributes of a table that a `Turn` has, with one row per result: `grill`, `tops`, `scores`,
    `holds` and so on. What was before is in `turn`: `after.worms - after.turn.worms[after.game]` is by how many
    worms a result changes each stack.
    """

    turn: Turn
    """The turn whose results these are."""
    game: NDArray[np.int64]
    """(m,): the row in `turn` that each result belongs to, ascending."""

    def __init__(self, turn: Turn, results: TurnResults) -> None:
        rows = np.arange(len(results.after), dtype=np.int32)
        super().__init__(turn.rules, turn._books, results.after, turn.seat, rows)
        self.turn = turn
        self.game = read_only(results.game)
        self._results = results

    @cached_property
    def fails(self) -> BoolArray:
        """(m,) bool: whether nothing is claimed."""
        return read_only(self._results.tile == FAIL)

    @cached_property
    def claimed(self) -> IntArray:
        """(m,) int16: value of the tile that is claimed (its owner may lose the hen instead), 0 for a fail."""
        return read_only(np.where(self.fails, np.int16(0), self.tiles[self._results.tile]))

    @cached_property
    def keeps_new(self) -> BoolArray:
        """(m,) bool: whether the newer of two specialists is kept, where there are two."""
        return read_only(self._results.keeps_new)

    @cached_property
    def earned(self) -> BoolArray:
        """(m,) bool: whether 1s have earned you a bratworm this turn."""
        return read_only(self._results.earned)

    @cached_property
    def highest_tiles(self) -> IntArray:
        """(m, P) int16: value of each player's highest tile, which breaks ties; 0 without tiles."""
        return read_only(self._values(self._of_players(self._table["highest"])))

    @cached_property
    def over(self) -> BoolArray:
        """(m,) bool: whether the game ends with this result."""
        return read_only(self._table["over"].copy())

    @cached_property
    def win_share(self) -> FloatArray:
        """(m, P) float64: each player's share of the win if the game is over; 0 if it is not."""
        return read_only(self._of_players(self._table["won"]) / PARTS)


@kernel
def _counts(rolls: Rolls, hands: Hands, rows: NDArray[np.int32]) -> NDArray[np.int16]:
    out = np.zeros((FACES + 1, len(rows)), np.int16)
    for k in range(len(rows)):
        roll: Roll = rolls[hands[rows[k]].roll]
        for face in range(1, FACES + 1):
            out[face, k] = roll.counts[face]
    return out


@kernel
def _totals(hands: Hands, rows: NDArray[np.int32]) -> NDArray[np.int16]:
    out = np.empty(len(rows), np.int16)
    for k in range(len(rows)):
        out[k] = total(hands[rows[k]])
    return out


@kernel
def _worms(hands: Hands, rows: NDArray[np.int32]) -> NDArray[np.bool_]:
    out = np.empty(len(rows), np.bool_)
    for k in range(len(rows)):
        out[k] = has_worm(hands[rows[k]])
    return out


@kernel
def _can_claim(books: Books, hands: Hands, rows: NDArray[np.int32]) -> NDArray[np.bool_]:
    out = np.empty(len(rows), np.bool_)
    for k in range(len(rows)):
        out[k] = can_claim(books[0], hands[rows[k]])
    return out


@kernel
def _can_claim_with(
    books: Books, hands: Hands, rows: NDArray[np.int32], totals: NDArray[np.int64]
) -> NDArray[np.bool_]:
    out = np.empty(len(rows), np.bool_)
    for k in range(len(rows)):
        hand: Hand = hands[rows[k]]
        out[k] = reaches(books[0], as_int(hand.grill), as_int(hand.loot), totals[k])
    return out


@kernel
def _brought(
    books: Books,
    table: Table,
    seat: int,
    rows: NDArray[np.int32],
    claimed: NDArray[np.int64],
) -> NDArray[np.int16]:
    book: Rulebook = books[0]
    out = np.empty(len(rows), np.int16)
    for k in range(len(rows)):
        out[k] = brought_by(book, table[rows[k]], seat, claimed[k])
    return out


@kernel
def _robbable(books: Books, table: Table, seat: int, rows: NDArray[np.int32]) -> NDArray[np.bool_]:
    book: Rulebook = books[0]
    out = np.zeros((book.players, len(rows)), np.bool_)
    for step in range(1, book.players):
        rival = (seat + step) % book.players
        for k in range(len(rows)):
            out[step, k] = can_be_robbed(table[rows[k]], seat, rival)
    return out


@kernel
def _random(
    table: Table, hands: Hands, rows: NDArray[np.int32], draw: np.uint64, by_roll: bool
) -> NDArray[np.float64]:
    """Random numbers that differ from draw to draw, and with `by_roll` from roll to roll."""
    out = np.empty(len(rows), np.float64)
    for k in range(len(rows)):
        game: Game = table[rows[k]]
        turn_key = derive(game.dice_key, CHOICE_STREAM + np.uint64(game.turn))
        roll = np.uint64(hands[rows[k]].rolls if by_roll else 0)
        out[k] = as_unit_float(derive(turn_key, (draw << np.uint64(8)) + roll))
    return out


@kernel
def _best_int16(
    hands: Hands, rows: NDArray[np.int32], scores: NDArray[np.int16]
) -> NDArray[np.int16]:
    new, highest = np.empty(len(rows), np.int32), np.zeros(len(rows), np.int32)
    for k in range(len(rows)):
        new[k] = hands[rows[k]].new
    # Face by face in narrow numbers and without a branch, so that it becomes vector code.
    for face in range(np.int32(1), np.int32(FACES + 1)):
        column = scores[:, face]
        for k in range(len(rows)):
            legal = (new[k] >> (face - np.int32(1))) & np.int32(1)
            rank = (np.int32(column[k]) - _LOWEST_SCORE) << _FACE_BITS | face
            highest[k] = max(highest[k], np.int32(rank * legal))
    return (highest & _FACE_MASK).astype(np.int16)


@kernel
def _best(hands: Hands, rows: NDArray[np.int32], scores: FloatArray) -> NDArray[np.int16]:
    best = np.zeros(len(rows), np.int16)
    for k in range(len(rows)):
        new = as_int(hands[rows[k]].new)
        for face in range(1, FACES + 1):
            if (new >> (face - 1)) & 1 and (best[k] == 0 or scores[k, face] >= scores[k, best[k]]):
                best[k] = face
    return best


@kernel
def _nth_true(options: NDArray[np.bool_], nth: NDArray[np.int64]) -> NDArray[np.int16]:
    out = np.full(len(nth), np.int16(-1))
    for k in range(len(nth)):
        left = nth[k]
        for column in range(options.shape[1]):
            if options[k, column]:
                if left == 0:
                    out[k] = column
                    break
                left -= 1
    return out


@kernel
def _look_up(lookup: Array, hands: Hands, rows: NDArray[np.int32]) -> Array:
    out = np.empty(len(rows), lookup.dtype)
    for k in range(len(rows)):
        out[k] = lookup[hands[rows[k]].roll, hands[rows[k]].aside]
    return out  # type: ignore[return-value]
