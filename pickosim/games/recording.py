"""Recorded games: the position after every turn, what the solver expected before it, and who won."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pickosim.bots.strategy import Strategy
from pickosim.bots.view import TableView, Turn
from pickosim.engine.results import POSITION, Positions, positions_of
from pickosim.engine.rulebook import Books
from pickosim.engine.tally import PARTS, Tally, win_parts
from pickosim.games.batch import Batch
from pickosim.games.match import Match, check_numbers, make_match
from pickosim.rules import RuleSet
from pickosim.solver.valuation import Carry, TurnPlan, Valuation, complete, worths_of

BATCH = 4096
"""Games played in parallel while they are recorded."""


SHOWN = (
    "grill",
    "tops",
    "stack_sizes",
    "worms",
    "bratworms",
    "scores",
    "holds",
    "specialist_on",
    "supply",
)
"""What the frame of a recording shows of a position."""


_Turns = tuple[
    NDArray[np.int64], NDArray[np.int64], Positions, NDArray[np.float64], NDArray[np.float64]
]
"""For each turn: game, number of the turn, position after it, what was expected of it, every player's chances."""


class Recording(NamedTuple):
    """All turns of G games at P seats, N in all; the turns of a game are adjacent and in their order."""

    first: NDArray[np.int64]
    """(G + 1,): where the turns of each game begin, and the end of the last."""
    positions: Positions
    """(N,): the table after each turn, as the engine has it."""
    expected: NDArray[np.float64]
    """(N,): what the player expected of the turn before the first roll, on its own scale; NaN if it cannot say."""
    chances: NDArray[np.float64]
    """(N, P): every player's chance to win before the first roll, from the one on turn on, by the bot that had the turn;
    NaN if it cannot say."""
    wins: NDArray[np.float64]
    """(G, P): win shares by seat."""
    tally: Tally
    rules: RuleSet
    books: Books

    @property
    def game(self) -> NDArray[np.int64]:
        """(N,): the game of each turn, from 0."""
        return np.repeat(np.arange(len(self.wins)), np.diff(self.first))

    @property
    def seat(self) -> NDArray[np.int64]:
        """(N,): who had the turn; seat 0 begins."""
        turn = np.arange(self.first[-1]) - self.first[self.game]
        seats: NDArray[np.int64] = turn % self.wins.shape[1]
        return seats

    @property
    def outcome(self) -> NDArray[np.float64]:
        """(N,): what the player who had the turn won in the end, as a win share."""
        won: NDArray[np.float64] = self.wins[self.game, self.seat]
        return won

    def view(self, seat: int) -> tuple[NDArray[np.int64], TableView]:
        """The turns of one seat, and the tables after them as that player sees them (`grill`, `tops`, `scores`, …)."""
        rows = np.flatnonzero(self.seat == seat)
        return rows, TableView(self.rules, self.books, self.positions, seat, rows.astype(np.int32))

    def frame(self) -> pl.DataFrame:
        """One row per turn: the position after it, what the player had expected of it, and who won.

        Columns by player are lists that begin with the player who had the turn.
        """
        columns: dict[str, NDArray[Any]] = {}
        for seat in range(self.wins.shape[1]):
            rows, view = self.view(seat)
            for name in SHOWN:
                shown = getattr(view, name)
                columns.setdefault(
                    name, np.empty((len(self.positions), *shown.shape[1:]), shown.dtype)
                )
                columns[name][rows] = shown
        number = np.arange(len(self.positions)) - self.first[self.game] + 1
        about = {"game": self.game, "turn": number, "seat": self.seat}
        ends = {"expected": self.expected, "outcome": self.outcome}
        return pl.DataFrame({**about, **columns, **ends}).with_columns(
            pl.col("expected").fill_nan(None)
        )


def record(
    bots: Sequence[str | Strategy],
    rules: str | RuleSet = "classic",
    games: int = 1_000,
    seed: int = 0,
    first: int = 0,
) -> Recording:
    """Play games between bots, seated in this order, and record every turn: the data to learn from.

    A turn is recorded as the position after it, what a valuation expected of it (by the solver, exactly), and the outcome
    of the game. `frame()` has them as a polars frame.
    """
    check_numbers(first, games)
    return record_games(make_match(bots, rules, seed), first, games)


def record_games(match: Match, first: int, games: int) -> Recording:
    """Play games `first` to `first + games - 1` of a match and record every turn."""
    recorder = _Recorder(match, first, games)
    tally = recorder.play()
    begin = np.concatenate([[0], np.cumsum(tally.turns, dtype=np.int64)])
    positions, expected = np.empty(begin[-1], POSITION), np.empty(begin[-1])
    chances = np.empty((begin[-1], len(match.specs)))
    for game, turn, after, values, shares in recorder.turns:
        at = begin[game] + turn - 1
        positions[at], expected[at], chances[at] = after, values, shares
    wins = win_parts(tally.rank) / PARTS
    return Recording(begin, positions, expected, chances, wins, tally, match.rules, match.books)


class _Recorder(Batch):
    """Games whose turns are kept."""

    def __init__(self, match: Match, first: int, games: int) -> None:
        super().__init__(match, first, games, batch=BATCH, on_plan=self._keep)
        self.turns: list[_Turns] = []
        self.worth = np.empty(len(self.table))
        """By row of the table: what the player expects of the turn."""
        self.chances = np.empty((len(self.table), self.players))

    def _carry(self, turn: Turn) -> Carry | None:
        bot = self.match.strategies[self.bot]
        assert isinstance(bot, Valuation)
        results, worths = worths_of(bot, turn)
        return Carry(results, worths[:, 1:], worths[:, 0])

    def _keep(self, turn: Turn, plan: TurnPlan) -> None:
        bot, worth = self.match.strategies[self.bot], plan.worth()
        assert isinstance(bot, Valuation)
        self.worth[turn._rows] = worth
        for part in plan.plans:
            carried = part.solutions.every_at(part.graph.start)[:, 1:]
            if bot.values_are_win_chances and carried.shape[1] == self.players - 2:
                known = np.column_stack([worth[part.games], carried])
                self.chances[turn._rows[part.games]] = complete(known, 1.0, self.players)

    def play_turn(self, seat: int, rows: NDArray[np.int32]) -> None:
        self.worth[rows] = np.nan
        self.chances[rows] = np.nan
        super().play_turn(seat, rows)
        rotation = self.table["rotation"][rows].astype(np.int64)
        game = self.table["game"][rows] - self.first + self.games * rotation
        turn = self.table["turn"][rows].astype(np.int64)
        after = positions_of(self.books, self.table, rows)
        self.turns.append((game, turn, after, self.worth[rows], self.chances[rows]))
