"""Exact chances from outside: the engine plays the best policy for a single turn as often as it should.

With eight dice, a player who wants nothing but a total of at least 24 with a worm gets it with chance
0.748373333870, exactly 24 with chance 0.375060188352.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import factorial, prod, sqrt
from typing import Any

import numpy as np
import pytest

from pickosim.bots.strategy import Strategy
from pickosim.bots.view import Turn
from pickosim.games.batch import play_games
from pickosim.games.match import make_match
from pickosim.rule_files import load_rules

DICE = 8
FACES = range(6)  # 1 to 5 and the worm
POINTS = [1, 2, 3, 4, 5, 5]
WORM = 1 << 5
MOST = 5 * DICE
GAMES = 100_000

AT_LEAST_24 = 0.748373333870
EXACTLY_24 = 0.375060188352


@dataclass(frozen=True)
class Policy:
    """The chance of success, by faces set aside (a bit each), dice left and points."""

    rolling: Any
    """Chance of a player who rolls the dice that are left and then plays as well as possible."""
    stopping: Any
    """Chance of a player who stops: 0 or 1."""

    @property
    def best(self) -> Any:
        return np.maximum(self.rolling, self.stopping)


@cache
def solve(exactly: bool) -> Policy:
    """Backwards from no dice left. Rolling `n` dice needs to know only what fewer dice are worth."""
    aside, _, points = np.meshgrid(
        np.arange(64), np.arange(DICE + 1), np.arange(MOST + 1), indexing="ij"
    )
    reached = points == 24 if exactly else points >= 24
    stopping = (reached & (aside & WORM > 0)).astype(float)
    rolling = np.zeros(stopping.shape)
    best = stopping.copy()
    for left in range(1, DICE + 1):
        rolls, chances = multisets(left)
        for mask in range(64):
            # Of every roll, the value of the best face to set aside, by the points before.
            value = np.zeros((len(rolls), MOST + 1))
            for face in FACES:
                if mask >> face & 1:
                    continue
                after = np.zeros((left + 1, MOST + 1))
                for count in range(1, left + 1):
                    gain = count * POINTS[face]
                    kept = best[mask | 1 << face, left - count]
                    after[count, : MOST + 1 - gain] = kept[gain:]
                value = np.maximum(value, after[rolls[:, face]])
            rolling[mask, left] = chances @ value
        best = np.maximum(rolling, stopping)
    return Policy(rolling, stopping)


@cache
def multisets(dice: int) -> tuple[Any, Any]:
    """How many dice show each face, for every roll, and the chance of it."""
    rolls = [counts for counts in product(range(dice + 1), repeat=6) if sum(counts) == dice]
    ways = [factorial(dice) / prod(factorial(count) for count in counts) for counts in rolls]
    return np.array(rolls), np.array(ways) / 6**dice


class Optimal(Strategy):
    """Wants a total of 24 (at least, or exactly), and nothing else."""

    exactly: bool = False

    def pick(self, turn: Turn) -> Any:
        best, mask = solve(self.exactly).best, self.mask(turn)
        values = np.full((len(turn), 7), -1.0)
        for face in range(1, 7):
            count = turn.counts[:, face]
            left, points = turn.dice_left - count, turn.total + count * POINTS[face - 1]
            value = best[mask | 1 << (face - 1), left, points]
            values[:, face] = np.where(turn.legal[:, face], value, -1)
        return values.argmax(axis=1)

    def stop(self, turn: Turn) -> Any:
        policy, state = solve(self.exactly), (self.mask(turn), turn.dice_left, turn.total)
        return policy.stopping[state] >= policy.rolling[state]

    def mask(self, turn: Turn) -> Any:
        return (turn.aside[:, 1:] << np.arange(6)).sum(axis=1)


def test_the_chances_of_rolls_add_up():
    for dice in range(1, DICE + 1):
        assert multisets(dice)[1].sum() == pytest.approx(1, abs=1e-12)
    thrown = Counter(tuple(sorted(faces)) for faces in product(FACES, repeat=3))
    for counts, chance in zip(*multisets(3), strict=True):
        faces = tuple(face for face in FACES for _ in range(counts[face]))
        assert chance == pytest.approx(thrown[faces] / 216)


@pytest.mark.parametrize(("exactly", "chance"), [(False, AT_LEAST_24), (True, EXACTLY_24)])
def test_the_programme_finds_the_known_chance(exactly, chance):
    assert solve(exactly).rolling[0, DICE, 0] == pytest.approx(chance, abs=1e-12)


@pytest.mark.parametrize(("exactly", "chance"), [(False, AT_LEAST_24), (True, EXACTLY_24)])
def test_the_engine_reaches_it_as_often(exactly, chance):
    """The only tile is a 24, so seat 0 has it after the first turn if and only if it succeeded."""
    rules = load_rules("classic").with_options(
        {"tiles": {"24": 1}, "exact_only": [24] if exactly else [], "turn_limit": 1}
    )
    tally = play_games(make_match([Optimal(exactly=exactly), "eager"], rules, 24), 0, GAMES)
    rate = tally.tiles[:, 0].mean()
    assert abs(rate - chance) < 4 * sqrt(chance * (1 - chance) / GAMES)
    assert (tally.finished == (tally.tiles[:, 0] == 1)).all()


@pytest.mark.parametrize("exactly", [False, True])
def test_nobody_else_reaches_it_more_often(exactly):
    chance = EXACTLY_24 if exactly else AT_LEAST_24
    rules = load_rules("classic").with_options(
        {"tiles": {"24": 1}, "exact_only": [24] if exactly else [], "turn_limit": 1}
    )
    for bot in ("eager", "random"):
        rate = play_games(make_match([bot, bot], rules, 24), 0, 40_000).tiles[:, 0].mean()
        assert rate < chance
