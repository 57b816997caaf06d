"""Tables: the results of games as polars frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from pickosim.engine.tally import Tally
from pickosim.games.match import Match
from pickosim.rules import SPECIALISTS


@dataclass(frozen=True)
class Played:
    """Games of a match as three frames; each is built when it is first read."""

    match: Match
    first: int
    tally: Tally

    @cached_property
    def games(self) -> pl.DataFrame:
        """One row a game."""
        tally = self.tally
        return _frame(
            {
                "game": self._numbers,
                "turns": tally.turns,
                "rolls": tally.rolls,
                "fails_no_new_face": tally.fails[:, 0],
                "fails_no_worm": tally.fails[:, 1],
                "fails_nothing_to_claim": tally.fails[:, 2],
                "steals": tally.steals,
                "hen_steals": tally.hen_steals,
                "flips": tally.flips,
                "finished": tally.finished,
            }
        )

    @cached_property
    def seats(self) -> pl.DataFrame:
        """One row a game and seat; ties split the win."""
        tally, seats = self.tally, len(self.match.specs)
        strategies = pl.Series(self.match.specs)
        return _frame(
            {
                "game": np.repeat(self._numbers, seats),
                "seat": np.tile(np.arange(seats, dtype=np.uint8), len(self._numbers)),
                "strategy": strategies[np.tile(np.arange(seats), len(self._numbers))],
                **_of_seats(tally),
            }
        )

    @cached_property
    def specialists(self) -> pl.DataFrame:
        """One row a game, specialist in the rules, and seat.

        `gained`: how often the seat got it. `turns_held`: turns of the game (anybody's) that began with
        it there. `used`: canned worm: claims made with it; sitting hen: fails and steals absorbed;
        weasel: rerolls; golden die: turns with it; raven: bratworms given; apple: 0.
        """
        tally, seats = self.tally, len(self.match.specs)
        playing = [k for k, name in enumerate(SPECIALISTS) if name in self.match.rules.specialists]
        names = pl.Series([SPECIALISTS[k] for k in playing], dtype=pl.String)
        games, each = len(self._numbers), len(playing) * seats
        return _frame(
            {
                "game": np.repeat(self._numbers, each),
                "specialist": names[np.tile(np.repeat(np.arange(len(playing)), seats), games)],
                "seat": np.tile(np.arange(seats, dtype=np.uint8), games * len(playing)),
                "gained": tally.gained[:, playing].ravel(),
                "turns_held": tally.turns_held[:, playing].ravel(),
                "used": tally.used[:, playing].ravel(),
                "held_at_end": tally.held_at_end[:, playing].ravel(),
            }
        )

    @cached_property
    def unfinished(self) -> int:
        """Games that the turn limit ended."""
        return int((~self.tally.finished).sum())

    @cached_property
    def _numbers(self) -> NDArray[np.int64]:
        return np.arange(self.first, self.first + len(self.tally.turns), dtype=np.int64)


def _frame(columns: dict[str, Any]) -> pl.DataFrame:
    """A frame with signed numbers, so that differences of columns do not wrap."""
    narrow = cs.unsigned_integer()
    return pl.DataFrame(columns).with_columns(narrow.cast(pl.Int32))


def win_shares(tally: Tally) -> NDArray[np.float64]:
    """(G, P): 1 for the winner, 1/k for each of k who share the first place."""
    winners = tally.rank == 1
    shares: NDArray[np.float64] = winners / winners.sum(axis=1, keepdims=True)
    return shares


def saved_games(
    seatings: Sequence[Sequence[str]], tallies: Sequence[Tally], table: int, seed: int, first: int
) -> pl.DataFrame:
    """Games of a tournament's table as rows to keep: one a game and seat, one tally a rotation.

    `game` is the number of its dice, which all rotations share: game and rotation name one game.
    """
    frames = []
    for rotation, (strategies, tally) in enumerate(zip(seatings, tallies, strict=True)):
        games, seats = tally.score.shape
        frames.append(
            _frame(
                {
                    "table": np.full(games * seats, table, np.int32),
                    "game": np.repeat(np.arange(first, first + games, dtype=np.int64), seats),
                    "rotation": np.full(games * seats, rotation, np.int32),
                    "seat": np.tile(np.arange(seats, dtype=np.int32), games),
                    "strategy": pl.Series(strategies)[np.tile(np.arange(seats), games)],
                    **_of_seats(tally),
                    "turns": np.repeat(tally.turns, seats),
                    "rolls": np.repeat(tally.rolls, seats),
                    "finished": np.repeat(tally.finished, seats),
                }
            ).insert_column(
                2, pl.Series("seed", [seed], pl.UInt64).new_from_index(0, games * seats)
            )
        )
    return pl.concat(frames)


def _of_seats(tally: Tally) -> dict[str, NDArray[Any]]:
    """How each seat ended, game by game."""
    return {
        "score": tally.score.ravel(),
        "worms": tally.worms.ravel(),
        "tiles": tally.tiles.ravel(),
        "bratworms": tally.bratworms.ravel(),
        "rank": tally.rank.ravel(),
        "win_share": win_shares(tally).ravel(),
    }
