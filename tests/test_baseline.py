"""The benchmark's yardsticks: the plain-Python loop and the NumPy bot play the engine's own game."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from pickosim import baseline
from pickosim.bench import PlainEager
from pickosim.games.batch import play_games
from pickosim.games.match import make_match
from pickosim.games.trace import trace_games
from pickosim.rule_files import PRESETS

GAMES = 3_000


@pytest.fixture(scope="module")
def plain() -> np.ndarray:
    """(GAMES, 2): worms at the end of each game of the plain-Python loop."""
    rng = Random(2024)
    return np.array([baseline.play_game(2, rng) for _ in range(GAMES)])


@pytest.fixture(scope="module")
def engine() -> np.ndarray:
    """(10 * GAMES, 2): the same of the engine."""
    return play_games(make_match(["eager", "eager"], "classic", seed=7), 0, 10 * GAMES).worms


def standard_errors(a: np.ndarray, b: np.ndarray) -> float:
    """How many standard errors the means of two samples lie apart."""
    error = np.sqrt(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b))
    return float(abs(a.mean() - b.mean()) / error)


@pytest.mark.parametrize("player", [0, 1])
def test_worms_of_each_seat(plain, engine, player):
    assert standard_errors(plain[:, player], engine[:, player]) < 4


def test_spread_and_lead(plain, engine):
    """Not only the means: how unlike the games are, and by how much they are won."""
    lead_plain, lead_engine = (games[:, 0].astype(float) - games[:, 1] for games in (plain, engine))
    assert standard_errors(lead_plain, lead_engine) < 4
    assert standard_errors(lead_plain**2, lead_engine**2) < 4
    assert standard_errors(plain.sum(axis=1), engine.sum(axis=1)) < 4


@pytest.mark.parametrize("players", [3, 7])
def test_worms_at_larger_tables(players):
    rng = Random(players)
    plain = np.array([baseline.play_game(players, rng) for _ in range(GAMES // 3)])
    engine = play_games(make_match(["eager"] * players, "classic", seed=7), 0, 5 * GAMES).worms
    for player in range(players):
        assert standard_errors(plain[:, player], engine[:, player]) < 4


def test_the_baseline_repeats_itself():
    games = [[baseline.play_game(2, rng) for _ in range(20)] for rng in (Random(1), Random(1))]
    assert games[0] == games[1]


@pytest.mark.parametrize("players", [2, 5])
@pytest.mark.parametrize("preset", PRESETS)
def test_the_numpy_bot_plays_the_games_of_eager(preset, players):
    table, numpy = (
        make_match(["eager"] * players, preset, 3),
        make_match([PlainEager()] * players, preset, 3),
    )
    for ours, theirs in zip(play_games(table, 0, 500), play_games(numpy, 0, 500), strict=True):
        assert np.array_equal(ours, theirs)
    for ours, theirs in zip(trace_games(table, 0, 10), trace_games(numpy, 0, 10), strict=True):
        assert ours[1:] == theirs[1:], "event by event"
