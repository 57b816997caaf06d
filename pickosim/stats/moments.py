"""Moments and intervals: means over blocks, shares, counts and ratios, with their standard errors.

`docs/statistics.md` has the formulas with their sources, and how often these intervals cover what they should.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite, nan, sqrt
from typing import Any, NamedTuple

import numpy as np

from pickosim.stats.distributions import student_cdf, student_quantile

CONFIDENCE = 0.95

WHOLE_GAME, HALF_GAME = 1.0, 0.5
"""How far off the mean two more blocks are, one above and one below, by which a spread is guarded: of shares and
counts half a game, since their intervals know which way they are skewed; of differences a whole game."""


class Moments(NamedTuple):
    """What an interval needs to know of independent values: how many, their sum, the sum of squares."""

    n: float
    total: float
    squares: float
    step: float = 1.0
    """What a single game moves a value by: with four games per block, a win moves a share by 1/4."""

    @classmethod
    def of(cls, n: Any, total: Any, squares: Any, unit: float = 1.0, game: float = 1.0) -> Moments:
        """Moments of whole numbers that are counted in parts of a `unit`; `game` parts are those of one game."""
        return cls(float(n), float(total) / unit, float(squares) / unit**2, game / unit)

    @property
    def variance_of_total(self) -> float:
        """The estimated variance of the sum; unknown from a single value."""
        spread = max(0.0, self.squares - self.total * self.total / self.n)
        return self.n * spread / (self.n - 1) if self.n > 1 else inf


class Rate(NamedTuple):
    """A value and its 95 % interval; None where there is none."""

    value: float | None
    low: float | None
    high: float | None

    def mapped(self, low: float, high: float) -> Rate:
        """The same on a scale on which 0 is `low` and 1 is `high`."""
        return Rate(*(None if end is None else low + (high - low) * end for end in self))


NO_RATE = Rate(None, None, None)


class Estimate(NamedTuple):
    """A mean, its standard error (infinite if it is unknown), and the degrees of freedom of that error."""

    mean: float
    error: float
    df: float = inf

    def quantile(self, confidence: float = CONFIDENCE) -> float:
        """Standard errors to either side of an interval: Student's t, or the normal law."""
        return student_quantile(0.5 + confidence / 2, self.df)

    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Student's interval."""
        half = self.quantile(confidence) * self.error
        return self.mean - half, self.mean + half

    @property
    def superiority(self) -> float:
        """The likelihood that the truth is above 0, by Student's t and a flat prior."""
        return self._below(self.z)

    @property
    def p_value(self) -> float:
        """The chance of a mean at least that far from 0 if the truth is 0."""
        return 2 * self._below(-abs(self.z))

    def _below(self, z: float) -> float:
        return student_cdf(z, self.df)

    @property
    def z(self) -> float:
        """The mean in standard errors; 0 if both are nothing: then nothing speaks for a difference."""
        if self.error > 0:
            return self.mean / self.error
        return float(np.sign(self.mean)) * inf if self.mean else 0.0


# ---------------------------------------------------------------------------------------------- means


def stratified_mean(groups: Sequence[Moments], off: float = WHOLE_GAME) -> Estimate:
    """The mean over groups of values.

    The values are blocks (games with the same dice, in all rotations), not games: games of a block
    are not independent. How many values a group has is settled before the first of them, so what
    differs between groups is not chance, and only the variances within them count (a stratified
    sample). A group with a single value has an unknown variance.

    Values that are all the same show no variance, though they do not prove that there is none: the
    variance is estimated as if two more blocks had been played, each so many games `off` the mean. The
    degrees of freedom are those of Welch (1947) and Satterthwaite (1946).
    """
    count = sum(group.n for group in groups)
    mean = sum(group.total for group in groups) / count
    variances = [group.variance_of_total + _prior(group, count, off) for group in groups]
    variance = sum(variances)
    if not isfinite(variance):
        return Estimate(mean, inf)
    pairs = zip(variances, groups, strict=True)
    df = variance**2 / sum(own**2 / (group.n - 1) for own, group in pairs)
    return Estimate(mean, sqrt(variance) / count, df)


def _prior(group: Moments, count: float, off: float) -> float:
    """A group's part of the squares of two more blocks, which all groups have together."""
    return 2 * (off * group.step) ** 2 * group.n / count


def mean_rate(groups: Sequence[Moments]) -> Rate:
    """The mean of differences, which may be on either side of 0, with its interval."""
    estimate = stratified_mean(groups)
    return Rate(estimate.mean, *estimate.interval())


# ------------------------------------------------------------------------------------ shares and counts


def share_rate(groups: Sequence[Moments]) -> Rate:
    """The mean of shares with its interval; see `share_estimate`."""
    return Rate(stratified_mean(groups).mean, *share_interval(groups))


def share_interval(
    groups: Sequence[Moments], confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """Interval for a mean of shares between 0 and 1; see `share_estimate`."""
    low, high = share_estimate(groups, confidence).interval(confidence)
    return max(0.0, low), min(1.0, high)


def count_rate(groups: Sequence[Moments]) -> Rate:
    """The mean of counts, which are never below 0, with its interval; see `share_estimate`."""
    low, high = _moved(groups, CONFIDENCE, bound=0).interval()
    return Rate(stratified_mean(groups).mean, max(0.0, low), high)


def share_estimate(groups: Sequence[Moments], confidence: float = CONFIDENCE) -> Estimate:
    """The middle of the interval of a mean of shares, and its error.

    Near 0 or 1 values are skewed, and their variance is smaller the nearer they are: a symmetric
    interval around the mean fails. So the variance is taken to be a multiple of p (1 - p), which makes
    blocks worth so many independent games, and the interval is that of Agresti and Coull (1998) for
    them, with Student's t: t² more games are added, half of them won. See Korn and Graubard (1998)
    on numbers of independent games. A count has no upper bound, and the variance of Poisson's law: it
    is a share of very many games.
    """
    return _moved(groups, confidence, bound=1)


def _moved(groups: Sequence[Moments], confidence: float, bound: int) -> Estimate:
    """See `share_estimate`; `bound` is 1 for shares, 0 for counts: the reciprocal of their upper bound."""
    plain = stratified_mean(groups, HALF_GAME)
    if not isfinite(plain.error):
        return plain
    mean, count = plain.mean, sum(group.n for group in groups)
    # If all blocks are 0, or all are 1, the prior is all: the games of a block count as independent.
    prior = sum(_prior(group, count, HALF_GAME) / group.step for group in groups)
    scale = max(0.0, count * mean * (1 - bound * mean)) + prior
    dispersion = (plain.error * count) ** 2 / scale
    added = plain.quantile(confidence) ** 2 * dispersion / count
    middle = (mean + added / 2) / (1 + bound * added)
    variance = dispersion / count * middle * (1 - bound * middle) / (1 + bound * added)
    return Estimate(middle, sqrt(max(0.0, variance)), plain.df)


def share_superiority(groups: Sequence[Moments]) -> float:
    """The likelihood that a share is above a half; above 97.5 % if its interval is."""
    middle, error, df = share_estimate(groups)
    return Estimate(middle - 0.5, error, df).superiority


# ---------------------------------------------------------------------------------------------- ratios


class RatioMoments(NamedTuple):
    """What the ratio of two sums over blocks needs to know: the sums, and those of squares and products."""

    n: float
    above: float
    below: float
    above2: float
    below2: float
    product: float


def ratio_moments(groups: Sequence[RatioMoments]) -> Moments:
    """A ratio of two sums, e.g. of wins to games with a holder, as a mean over the blocks that have any.

    How many such games there are is chance as well. So the error is that of the linear approximation
    (Cochran, Sampling Techniques, 1977, section 6.11). The blocks that have any such game are at least
    as many as the inequality of Cauchy and Schwarz says.
    """
    below = sum(group.below for group in groups)
    quotient = sum(group.above for group in groups) / below
    variance = sum(
        Moments(
            group.n,
            group.above - quotient * group.below,
            group.above2 - 2 * quotient * group.product + quotient**2 * group.below2,
        ).variance_of_total
        for group in groups
    )
    blocks = below**2 / sum(group.below2 for group in groups)
    if not isfinite(variance):
        return Moments(1.0, quotient, quotient**2)
    spread = variance / below**2 * blocks * (blocks - 1)
    return Moments(blocks, blocks * quotient, blocks * quotient**2 + spread, blocks / below)


def ratio_rate(groups: Sequence[RatioMoments]) -> Rate:
    """A share of some games, e.g. of those that ended with a holder, and its interval."""
    if not sum(group.below for group in groups):
        return Rate(nan, 0.0, 1.0)
    return share_rate([ratio_moments(groups)])
