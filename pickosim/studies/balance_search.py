"""The search for a setting in which no specialist's pick-ups are worth much more than another's.

The *spread* of a setting is the standard deviation between the specialists of what a pick-up is worth, as the
root of its mean square over the levels of play and numbers of players.

First every option is moved alone. From these worths the best combinations are guessed, as if moves did not
depend on each other. Then the best guesses, the finalists, are played in full, twice with fresh dice: the
first games say in which order they are listed, the second ones are reported. So luck that helped a setting
to be chosen, or to be listed first, does not count for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from pickosim.engine.tally import PARTS
from pickosim.rules import RuleSet
from pickosim.runs.sums import Sums
from pickosim.stats.moments import CONFIDENCE, Estimate

Floats = NDArray[np.float64]

MOST_CHANGES = 4
"""Options that a suggestion changes at most: more would be another game."""

FINALISTS = 2
"""Settings that are played in full, of each number of changes."""

BEAM = 200
"""Settings of each number of changes that the search goes on from."""

DRAWS = 20_000


@dataclass(frozen=True)
class Knob:
    """An option that may be changed, the specialist that it moves, and what it may be.

    Values are as they are written; the first is that of the rules as given.
    """

    option: str
    specialist: str
    values: tuple[object, ...]


Setting = tuple[int, ...]
"""Of every knob, which of its values; 0 is as given."""


@dataclass(frozen=True)
class Guess:
    """A setting, and the spread that moving options one at a time lets one expect."""

    setting: Setting
    spread: float

    @property
    def changes(self) -> int:
        """Options that are not as given."""
        return sum(value > 0 for value in self.setting)


def changed(rules: RuleSet, knobs: Sequence[Knob], setting: Setting) -> RuleSet:
    """The rules of a setting."""
    return rules.with_options(changes_of(knobs, setting))


def changes_of(knobs: Sequence[Knob], setting: Setting) -> dict[str, object]:
    """What a setting changes: options and their values, as they are written."""
    return {
        knob.option: knob.values[value] for knob, value in zip(knobs, setting, strict=True) if value
    }


def shrunk(values: Floats, covariance: Floats) -> Floats:
    """(N,): estimates drawn towards their mean by as much of their variance as chance explains.

    The best of many noisy figures is too good to be true; this is the remedy of James and Stein (1961),
    in its empirical Bayes form (Efron and Morris, 1973). What estimates have in common, because they
    share dice, does not set them apart: `covariance` (N, N) of the estimates says how much that is.
    """
    number = len(values)
    if number < 3:
        return values
    mean = values.mean()
    seen = ((values - mean) ** 2).sum() / (number - 1)
    noise = (np.trace(covariance) - covariance.sum() / number) / (number - 1)
    kept = max(0.0, 1 - noise / seen) if seen > 0 else 0.0
    return np.asarray(mean + kept * (values - mean))


def finalists(
    knobs: Sequence[Knob], specialists: Sequence[str], given: Floats, moved: Mapping[str, Floats]
) -> list[Guess]:
    """The settings to be played in full: as given, then the most promising of each number of changes.

    given (L, S): gains as the rules are, by level and specialist; moved[option] (L, N): that of the
    knob's specialist at each of its values.
    """
    number = {name: k for k, name in enumerate(specialists)}
    start: Setting = (0,) * len(knobs)
    frontier: dict[Setting, Floats] = {start: given}
    found = [Guess(start, float(np.sqrt(given.var(axis=1, ddof=1).mean())))]
    for _ in range(MOST_CHANGES):
        states: dict[Setting, Floats] = {}
        for setting, gains in frontier.items():
            for k, knob in enumerate(knobs):
                if setting[k]:
                    continue
                own = number[knob.specialist]
                steps = moved[knob.option] - moved[knob.option][:, :1]
                for value in range(1, len(knob.values)):
                    state = (*setting[:k], value, *setting[k + 1 :])
                    if state not in states:
                        states[state] = gains.copy()
                        states[state][:, own] += steps[:, value]
        if not states:
            break
        spreads = np.sqrt(np.stack(list(states.values())).var(axis=2, ddof=1).mean(axis=1))
        order = np.argsort(spreads, kind="stable")
        settings = list(states)
        ranked = [(settings[i], float(spreads[i])) for i in order[:BEAM]]
        frontier = {setting: states[setting] for setting, _ in ranked}
        possible = [Guess(*one) for one in ranked if not _crowded(knobs, one[0])]
        found += possible[:FINALISTS]
    return found


def _crowded(knobs: Sequence[Knob], setting: Setting) -> bool:
    """Whether two specialists would stand on the same tile."""
    tiles = [
        knob.values[value]
        for knob, value in zip(knobs, setting, strict=True)
        if knob.option.startswith("specialists.")
    ]
    return len(set(tiles)) < len(tiles)


# -------------------------------------------------------------------------------- what the finals say


@dataclass(frozen=True)
class Finals:
    """What the finalists came to, the rules as given first.

    square (F,): the variance between specialists, what chance adds to it taken off, so that it can be
    below 0; spread, low, high (F,); difference, difference_low, difference_high (F,): from the rules as
    given, paired by dice; best (F,): the chance that a finalist has the smallest spread of all.
    """

    square: Floats
    spread: Floats
    low: Floats
    high: Floats
    difference: Floats
    difference_low: Floats
    difference_high: Floats
    best: Floats


def pickup_worths(part: Sums) -> tuple[Floats, Floats]:
    """What a pick-up is worth in each of C cases: means (C,), 0 where there is none, and their covariance (C, C).

    Means are ratios of sums over blocks, and their errors those of the linear approximation (Cochran,
    Sampling Techniques, 1977, section 6.11). All cases have the same blocks.
    """
    blocks, cases = float(part["blocks"]), part["across"].shape[0] // 2
    numbers, wins = (np.asarray(of, np.float64) for of in part["picked"].reshape(2, cases))
    numbers = np.maximum(numbers, 1)
    means = wins / (PARTS * numbers)
    # By how much a block's numbers and wins move each mean: (C, 2 C).
    weights = np.hstack([np.diag(-means / numbers), np.diag(1 / (PARTS * numbers))])
    covariance = weights @ part["across"].astype(np.float64) @ weights.T
    return means, covariance * blocks / max(blocks - 1, 1)


def judge(parts: Sequence[Sums], specialists: int) -> Finals:
    """Weigh the finalists, from the sums of each level and number of players."""
    squares, covariance = _variances(parts, specialists)
    spread = np.sqrt(np.maximum(squares, 0))
    intervals = [
        Estimate(square, error).interval()
        for square, error in zip(squares, np.sqrt(covariance.diagonal()), strict=True)
    ]
    low, high = np.sqrt(np.maximum(intervals, 0)).T
    # Spreads near 0 are not normal, their squares are nearly so: draw these, and count.
    draws = np.random.default_rng(0).multivariate_normal(
        squares, covariance, DRAWS, method="eigh", check_valid="ignore"
    )
    drawn = np.sqrt(np.maximum(draws, 0))
    ends = np.array([0.5 - CONFIDENCE / 2, 0.5 + CONFIDENCE / 2])
    differences = np.quantile(drawn - drawn[:, :1], ends, axis=0)
    winners = np.bincount(draws.argmin(axis=1), minlength=len(squares))
    return Finals(
        square=squares,
        spread=spread,
        low=low,
        high=high,
        difference=spread - spread[0],
        difference_low=differences[0],
        difference_high=differences[1],
        best=winners / DRAWS,
    )


def _variances(parts: Sequence[Sums], specialists: int) -> tuple[Floats, Floats]:
    """(F,) and (F, F): the variance of gains between specialists, and its covariance.

    The mean over levels and sizes. Of a variance between estimates, what their own errors add is taken
    off; its error is that of a quadratic form of normal values.
    """
    centre = np.eye(specialists) - 1 / specialists
    total: Floats = np.zeros(0)
    covariance: Floats = np.zeros((0, 0))
    for part in parts:
        gains, errors = pickup_worths(part)
        means = gains.reshape(-1, specialists)
        number = len(means)
        blocks = errors.reshape(number, specialists, number, specialists).transpose(0, 2, 1, 3)
        own = np.array([np.trace(centre @ blocks[f, f]) for f in range(number)])
        found = ((means @ centre * means).sum(axis=1) - own) / (specialists - 1)
        slopes = 2 * means @ centre / (specialists - 1)
        spread = np.zeros((number, number))
        for f, g in product(range(number), repeat=2):
            curved = np.trace(centre @ blocks[f, g] @ centre @ blocks[g, f])
            spread[f, g] = (
                slopes[f] @ blocks[f, g] @ slopes[g] + 2 * curved / (specialists - 1) ** 2
            )
        total = found if not len(total) else total + found
        covariance = spread if not len(covariance) else covariance + spread
    return total / len(parts), covariance / len(parts) ** 2


def in_order(finals: Finals) -> Iterator[int]:
    """The finalists, the smallest spread first."""
    yield from (int(k) for k in np.argsort(finals.square, kind="stable"))
