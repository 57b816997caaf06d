"""What the champion's net says that a pick-up is worth, and what the same pick-ups are worth in its games.

    python tools/implied_worths.py RULES PLAYERS GAMES SEED

By the net: its chance to win after the turn that brought a specialist, less its chance at the same table without (the
specialist gone, the former one kept). By games: `pickosim balance`. Both for the same pick-ups of a table of champions, in
points of win share; intervals are 95 %, over games.
"""

import sys
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pickosim.bots.loading import load_bot
from pickosim.engine.results import positions_of
from pickosim.engine.table import Table
from pickosim.engine.tally import PARTS, win_parts
from pickosim.games.batch import play_on
from pickosim.games.match import Match, make_match
from pickosim.games.pickups import _Branching
from pickosim.learning.weights import adapted
from pickosim.rules import SPECIALISTS

AT_ONCE = 1000
Numbers = NDArray[np.float64]


class Branching(_Branching):
    """Also keeps the tables with what was gained, and what the net says of both."""

    def __init__(self, match: Match, first: int, games: int) -> None:
        super().__init__(match, first, games, np.ones(len(SPECIALISTS), np.bool_), "gone")
        weights = load_bot("champion").weights_for(match.rules, len(match.specs))  # type: ignore[attr-defined]
        self.net = adapted(weights, match.rules, len(match.specs))
        self.implied: list[Numbers] = []

    def play_turn(self, seat: int, rows: NDArray[np.int32]) -> None:
        known = len(self.tables)
        super().play_turn(seat, rows)
        for without, pickups in zip(self.tables[known:], self.pickups[known:], strict=True):
            gained = self.table[rows]
            gained = gained[np.isin(gained["entry"], pickups["entry"])]
            assert (gained["entry"] == without["entry"]).all()
            self.implied.append(self._chances(gained, seat) - self._chances(without, seat))

    def _chances(self, tables: Table, seat: int) -> Numbers:
        every = np.arange(len(tables), dtype=np.int32)
        return self.net.win_chances(positions_of(self.match.books, tables, every), seat)


def report(rules: str, players: int, number: int, seed: int) -> Iterator[str]:
    """The findings, line by line."""
    match = make_match(["champion"] * players, rules, seed)
    parts = []
    for first in range(0, number, AT_ONCE):
        batch = Branching(match, first, min(AT_ONCE, number - first))
        wins = win_parts(batch.play().rank)
        pickups, tables = np.concatenate(batch.pickups), np.concatenate(batch.tables)
        without = win_parts(play_on(match, tables, after_turn=True).rank)
        seats = pickups["seat"].astype(np.int64)
        more = wins[pickups["entry"], seats] - without[np.arange(len(seats)), seats]
        implied = np.concatenate(batch.implied)
        parts.append((pickups["specialist"], first + pickups["entry"], implied, more / PARTS))
    which, games, implied, played = map(np.concatenate, zip(*parts, strict=True))
    yield f"{number:,} games of {players} champions, {rules}, seed {seed}"
    for specialist in np.unique(which):
        own = which == specialist
        values = {"net": implied[own], "games": played[own], "net - games": (implied - played)[own]}
        words = [f"{name} {mean(value, games[own])}" for name, value in values.items()]
        yield f"{SPECIALISTS[specialist]:12} {own.sum():7,} pick-ups: {', '.join(words)}"


def mean(values: Numbers, games: NDArray[np.int64]) -> str:
    """The mean in points, with its interval."""
    off = np.bincount(games, values - values.mean())
    return f"{100 * values.mean():+5.2f} ± {196 * np.sqrt(off @ off) / len(values):.2f}"


if __name__ == "__main__":
    rules, players, games, seed = sys.argv[1], *map(int, sys.argv[2:])
    sys.stdout.writelines(f"{line}\n" for line in report(rules, players, games, seed))
