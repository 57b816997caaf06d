"""Calibration: how the chances to win that a net says compare with games, and with its own next turns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pickosim.games.match import Match, make_match
from pickosim.games.recording import record_games
from pickosim.learning.learned import Learned
from pickosim.learning.net import win_chances
from pickosim.learning.targets import errors_of
from pickosim.learning.weights import Weights

GAMES_AT_A_TIME = 10_000


class Calibration(NamedTuple):
    """Positions after turns, and how right the net was about them."""

    deciles: pl.DataFrame
    """One row per tenth of the chances, 0 to 10 %, 10 to 20 % and so on: `positions`, the mean chance that was `predicted`,
    and the share of wins that was `actual`."""
    errors: pl.DataFrame
    """One row per number of tiles on the grill: `positions`, and the mean of the Bellman error (`bias`) and of its size."""
    by_lead: pl.DataFrame
    """One row per lead over the best rival and worms left on the grill: `positions`, `predicted`, `actual`."""


def calibrate(weights: Weights, games: int = 10_000, seed: int = 0) -> Calibration:
    """Let a net play against itself, and compare the chances that it says with what comes of them.

    The Bellman error of a position is how far its chance is from what its player (with two players: the next one) then
    expects of the turn, by the solver.
    """
    bot = Learned(weights.net)
    match = make_match([bot] * weights.players, weights.rules, seed)
    parts = [
        _compared(match, weights, first, min(GAMES_AT_A_TIME, games - first))
        for first in range(0, games, GAMES_AT_A_TIME)
    ]
    every = pl.concat(parts)
    compared = (
        pl.len().alias("positions"),
        pl.mean("chance").alias("predicted"),
        pl.mean("outcome").alias("actual"),
    )
    decile = (pl.col("chance") * 10).floor().clip(0, 9).cast(pl.Int64)
    deciles = every.group_by(decile=decile).agg(*compared).sort("decile")
    by_lead = every.group_by("lead", "worms_left").agg(*compared).sort("lead", "worms_left")
    errors = (
        every.filter(pl.col("error").is_not_nan())
        .group_by("tiles_left")
        .agg(pl.len().alias("positions"), bias=pl.mean("error"), size=pl.col("error").abs().mean())
        .sort("tiles_left")
    )
    return Calibration(deciles, errors, by_lead)


def _compared(match: Match, weights: Weights, first: int, games: int) -> pl.DataFrame:
    """One row per position of games that go on."""
    played = record_games(match, first, games)
    chance: NDArray[np.float64] = np.empty(len(played.positions))
    lead, worms_left = np.empty((2, len(played.positions)), np.int64)
    for seat in range(weights.players):
        rows, view = played.view(seat)
        chance[rows] = win_chances(match.books, played.positions[rows], seat, weights.net)
        lead[rows] = view.scores[:, 0] - view.scores[:, 1:].max(axis=1)
        worms_left[rows] = (view.grill * view.tile_worms).sum(axis=1)
    tiles_left = np.bitwise_count(played.positions["grill"]).astype(np.int64)
    frame = pl.DataFrame(
        {
            "chance": chance,
            "outcome": played.outcome,
            "tiles_left": tiles_left,
            "lead": lead,
            "worms_left": worms_left,
            "error": errors_of(chance, played.expected, played.first, weights.players),
        }
    )
    return frame.filter(~pl.Series(played.positions["over"]))
