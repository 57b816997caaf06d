"""Moments and intervals: means over blocks, shares, ratios, with their standard errors."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nan, sqrt
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import norm

CONFIDENCE = 0.95


class Moments(NamedTuple):
    """What an interval needs to know of independent values: how many, their sum, the sum of squares."""

    n: float
    total: float
    squares: float

    @classmethod
    def of(cls, n: Any, total: Any, squares: Any, unit: float = 1.0) -> Moments:
        """Moments of whole numbers that are counted in parts of a `unit`."""
        return cls(float(n), float(total) / unit, float(squares) / unit**2)


class Rate(NamedTuple):
    """A value and its 95 % interval; None where there is none."""

    value: float | None
    low: float | None
    high: float | None


NO_RATE = Rate(None, None, None)


class Estimate(NamedTuple):
    """A mean and its standard error (infinite if it is unknown)."""

    mean: float
    error: float

    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """The normal interval."""
        half = float(norm.ppf(0.5 + confidence / 2)) * self.error
        return self.mean - half, self.mean + half

    @property
    def superiority(self) -> float:
        """The likelihood that the truth is above 0, by the normal distribution and a flat prior."""
        return float(norm.cdf(self.z))

    @property
    def p_value(self) -> float:
        """The chance of a mean at least that far from 0 if the truth is 0."""
        return float(2 * norm.sf(abs(self.z)))

    @property
    def z(self) -> float:
        """The mean in standard errors; 0 if both are nothing: then nothing speaks for a difference."""
        if self.error > 0:
            return self.mean / self.error
        return float(np.sign(self.mean)) * inf if self.mean else 0.0


def stratified_mean(groups: Sequence[Sequence[float]]) -> Estimate:
    """The mean over groups of values, from the `Moments` of each.

    The values are blocks (games with the same dice, in all rotations), not games: games of a block
    are not independent. How many values a group has is settled before the first of them, so what
    differs between groups is not chance, and only the variances within them count (a stratified
    sample). A group with a single value has an unknown variance.
    """
    counts, totals, variance = 0.0, 0.0, 0.0
    for count, total, squares in groups:
        counts, totals = counts + count, totals + total
        spread = max(0.0, squares - total * total / count)
        variance += count * spread / (count - 1) if count > 1 else inf
    return Estimate(totals / counts, sqrt(variance) / counts)


def mean_rate(groups: Sequence[Sequence[float]]) -> Rate:
    """The mean over groups with its interval; see `stratified_mean`."""
    estimate = stratified_mean(groups)
    return Rate(estimate.mean, *estimate.interval())


def share_rate(groups: Sequence[Sequence[float]]) -> Rate:
    """The mean of shares with its interval; see `share_interval`."""
    return Rate(stratified_mean(groups).mean, *share_interval(groups))


def mean_interval(
    groups: Sequence[Sequence[float]], confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """Normal interval for the mean over groups; see `stratified_mean`."""
    return stratified_mean(groups).interval(confidence)


def share_interval(
    groups: Sequence[Sequence[float]], confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """Interval for a mean of shares between 0 and 1: `mean_interval`, cut off there.

    If all values of a group are 1, or all are 0, they show no variance, though they do not prove that
    there is none: then the exact bound of Clopper and Pearson (1934) for the chance of such a value.
    """
    low, high = mean_interval(groups, confidence)
    count = sum(group[0] for group in groups)
    always, never = (
        sum(group[0] for group in groups if group[1] == end * group[0]) for end in (1.0, 0.0)
    )
    if always:
        low -= always / count * (1 - _unbroken(always, confidence))
    if never:
        high += never / count * (1 - _unbroken(never, confidence))
    return max(0.0, low), min(1.0, high)


def _unbroken(count: float, confidence: float) -> float:
    """The smallest chance of a value that may well have come up so many times without exception."""
    return float(((1 - confidence) / 2) ** (1 / count))


class RatioMoments(NamedTuple):
    """What the ratio of two sums over blocks needs to know: the sums, and those of squares and products."""

    n: float
    above: float
    below: float
    above2: float
    below2: float
    product: float


def ratio_rate(groups: Sequence[RatioMoments], confidence: float = CONFIDENCE) -> Rate:
    """A share of some games, e.g. of those that ended with a holder, and its interval.

    How many such games there are is chance as well. So it is a ratio of sums over blocks, with the
    error of the linear approximation (Cochran, Sampling Techniques, 1977, section 6.11).
    """
    below = sum(group.below for group in groups)
    if below == 0:
        return Rate(nan, 0.0, 1.0)
    quotient = sum(group.above for group in groups) / below
    residuals = [
        Moments(
            group.n,
            group.above - quotient * group.below,
            group.above2 - 2 * quotient * group.product + quotient**2 * group.below2,
        )
        for group in groups
    ]
    count = sum(group.n for group in groups)
    error = stratified_mean(residuals).error * count / below
    if error == 0 and quotient in (0.0, 1.0):
        # Games of a block are not independent: count the blocks that have any such game. They are at
        # least this many, by the inequality of Cauchy and Schwarz.
        blocks = below**2 / sum(group.below2 for group in groups)
        low, high = share_interval([(blocks, quotient * blocks, quotient * blocks)], confidence)
    else:
        low, high = Estimate(quotient, error).interval(confidence)
    return Rate(quotient, max(0.0, low), min(1.0, high))


def share_superiority(groups: Sequence[Sequence[float]]) -> float:
    """The likelihood that a share is above a half.

    By the normal distribution; if all values are 1, or all are 0, by the posterior of a flat prior.
    """
    estimate = stratified_mean(groups)
    count = sum(group[0] for group in groups)
    if estimate.error == 0 and estimate.mean in (0.0, 1.0):
        doubt = 0.5 ** (count + 1)
        return float(1 - doubt if estimate.mean else doubt)
    return Estimate(estimate.mean - 0.5, estimate.error).superiority
