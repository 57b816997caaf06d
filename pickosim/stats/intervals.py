"""Intervals over blocks of games: of means, shares, counts, ratios, quantiles, and of paired differences.

`docs/statistics.md` has the formulas with their sources, and how often these intervals cover what they should.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import inf, isfinite, isinf, nan, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pickosim.stats.distributions import binomial_quantile, student_cdf, student_quantile

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def adjusted(p_values: Sequence[float]) -> list[float]:
    """P values corrected for many comparisons, by Holm (1979).

    If differences are called significant below 0.05, the chance of even one false alarm among all
    comparisons is at most 5 %, however they depend on each other, as they do where dice are shared.
    """
    values = np.asarray(p_values, np.float64)
    order = np.argsort(values, kind="stable")
    corrected = np.empty_like(values)
    # The smallest is multiplied by the number of all, the next by one less, and none is below the last.
    corrected[order] = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    return [float(value) for value in np.minimum(corrected, 1.0)]


def simultaneous(confidence: float, intervals: int) -> float:
    """The confidence of each of several intervals so that all of them hold with `confidence` (Bonferroni)."""
    return 1 - (1 - confidence) / max(1, intervals)


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
    slope: float = 0.0
    """How much of a control was taken off the values; see `less_control`."""

    @classmethod
    def of(cls, n: Any, total: Any, squares: Any, unit: float = 1.0, game: float = 1.0) -> Moments:
        """Moments of whole numbers that are counted in parts of a `unit`; `game` parts are those of one game."""
        return cls(float(n), float(total) / unit, float(squares) / unit**2, game / unit)

    @property
    def variance_of_total(self) -> float:
        """The estimated variance of the sum; unknown from a single value."""
        spread = max(0.0, self.squares - self.total * self.total / self.n)
        return self.n * spread / (self.n - 1) if self.n > 1 else inf


FITTED_FROM = 50
"""Values from which a coefficient is fitted to them: with fewer, intervals would be too narrow."""


class Control(NamedTuple):
    """A second value of each block, whose mean is known to be 0: its sum, that of squares, that of products with the first."""

    total: float
    squares: float
    product: float


def less_control(values: Moments, control: Control) -> Moments:
    """Moments of the values less what a control explains of them; the values themselves, if they are few.

    A control variate with a fitted coefficient: the mean is the intercept of the regression on the control, with the
    standard error of an intercept (Lavenberg and Welch 1981, "A perspective on the use of control variables to increase
    the efficiency of Monte Carlo simulations"). What a single game moves the values by is less in the same measure.
    """
    n, total, squares, step, _ = values
    common = control.product - control.total * total / n
    spread = control.squares - control.total**2 / n
    if not (slope := fitted_slope(n, common, spread)):
        return values
    before = max(0.0, squares - total**2 / n)
    left = max(0.0, before - common**2 / spread)
    total -= slope * control.total
    # The error is that of an intercept.
    own = left * squares_fitted(n) * (1 + control.total**2 / (n * spread))
    guard = 2 * step**2
    smaller = sqrt((left + guard) / (before + guard))
    return Moments(n, total, total**2 / n + own, step * smaller, slope)


def fitted_slope(n: float, common: float, spread: float) -> float:
    """How much of a control is taken off n values; 0 if they are few.

    `common` is the sum of products of what values and control are off their means, `spread` that of squares of the control.
    """
    return float(common / spread) if n >= FITTED_FROM and spread > 0 else 0.0


def squares_fitted(n: float) -> float:
    """By what factor the squares of n values less a control are larger than they look.

    A value pulls its own residual down (HC3 of MacKinnon and White 1985).
    """
    return n * (n - 1) / (n - 2) ** 2


class Rate(NamedTuple):
    """A value and its 95 % interval; None where there is none."""

    value: float | None
    low: float | None
    high: float | None

    @property
    def half(self) -> float:
        """Half its interval, if it has one."""
        assert self.low is not None and self.high is not None
        return (self.high - self.low) / 2

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
        return student_cdf(self.z, self.df)

    @property
    def p_value(self) -> float:
        """The chance of a mean at least that far from 0 if the truth is 0."""
        return 2 * student_cdf(-abs(self.z), self.df)

    @property
    def z(self) -> float:
        """The mean in standard errors; 0 if both are nothing: then nothing speaks for a difference."""
        if self.error > 0:
            return self.mean / self.error
        return float(np.sign(self.mean)) * inf if self.mean else 0.0


NORMAL = Estimate(0.0, 1.0)
"""A standard normal number."""

# ---------------------------------------------------------------------------------------------- means


def stratified_mean(groups: Sequence[Moments], off: float = WHOLE_GAME) -> Estimate:
    """The mean over groups of values.

    The values are blocks (games with the same dice, in all rotations), not games: games of a block
    are not independent. How many values a group has is settled before the first of them, so what
    differs between groups is not chance, and only the variances within them count (a stratified
    sample). A group with a single value has an unknown variance.

    Values that are all the same show no variance, though they do not prove that there is none: the
    variance is estimated as if two more blocks had been played, each that many games `off` the mean. The
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
    """The mean of differences, which may be on either side of 0, with its interval; nothing without groups."""
    if not groups:
        return NO_RATE
    estimate = stratified_mean(groups)
    return Rate(estimate.mean, *estimate.interval())


# ------------------------------------------------------------------------------------ shares and counts


def share_rate(groups: Sequence[Moments]) -> Rate:
    """The mean of shares with its interval; see `share_estimate`. Less a control it could lie beyond 0 or 1."""
    return Rate(min(1.0, max(0.0, stratified_mean(groups).mean)), *share_interval(groups))


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
    blocks worth some number of independent games, and the interval is that of Agresti and Coull (1998) for
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

    @classmethod
    def of(cls, n: Any, totals: Ints, products: Ints, unit: int) -> RatioMoments:
        """Moments of a sum in parts of a unit by a number, from (number, sum) and their products (2, 2)."""
        (below, above), ((below2, product), (_, above2)) = totals.tolist(), products.tolist()
        return cls(float(n), above / unit, below, above2 / unit**2, below2, product / unit)


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


def ratio_control(of: RatioMoments, control: Control, below: float) -> Control:
    """A control of the blocks of a ratio for what `ratio_moments` makes of it; `below`: the sum of its products with that value."""
    n, total_of_ratio, *_ = ratio_moments([of])
    quotient = total_of_ratio / n
    scale = n * (n - 1) / of.below**2 * of.n / (of.n - 1)
    total = n * control.total / of.below
    spread = scale * (control.squares - control.total**2 / of.n)
    common = scale * (control.product - quotient * below)
    return Control(total, spread + total**2 / n, common + total * quotient)


def ratio_rate(groups: Sequence[RatioMoments]) -> Rate:
    """A share of some games, e.g. of those that ended with a holder, and its interval."""
    if not sum(group.below for group in groups):
        return Rate(nan, 0.0, 1.0)
    return share_rate([ratio_moments(groups)])


@dataclass(frozen=True)
class BlockSums:
    """Sums over blocks of V named values, and of their products."""

    names: tuple[str, ...]
    per_block: int
    """Games per block."""
    blocks: int
    totals: Ints
    """(V,)"""
    products: Ints
    """(V, V)"""

    @property
    def games(self) -> int:
        """Games of all blocks."""
        return self.blocks * self.per_block

    def total(self, name: str) -> int:
        """The sum of a value over all games."""
        return int(self.totals[self.names.index(name)])


class Reading(NamedTuple):
    """A measure of some blocks: its value, how far each block moves it, and the bounds of it.

    The value of a block moves it by `weights @ values / blocks`, to first order: exactly if it is a
    mean, and by the linear approximation if it is a ratio of two sums, e.g. fails by turns (Cochran,
    Sampling Techniques, 1977, section 6.11).
    """

    value: float
    weights: Floats
    """(V,)"""
    step: float
    """What a single game (of a ratio: a single case) moves the value of its block by."""
    least: float = 0.0
    most: float = inf
    inflation: float = 1.0
    """By what factor the variance is larger than the values show, as a coefficient was fitted to them."""

    def above(self, level: float) -> Reading:
        """How far it is above a level."""
        value, least, most = (end - level for end in (self.value, self.least, self.most))
        return self._replace(value=value, least=least, most=most)


def mean(
    of: BlockSums, name: str, unit: float = 1.0, step: float = 1.0, most: float = inf
) -> Reading:
    """The mean of a value over all games, in that unit; `step`: what a single game counts in the sums."""
    weights = np.zeros(len(of.names))
    weight = weights[of.names.index(name)] = 1 / (unit * of.per_block)
    return Reading(of.total(name) / (unit * of.games), weights, step * weight, most=most)


def ratio(of: BlockSums, above: str, below: str) -> Reading:
    """The sum of a value divided by the sum of another, of which it is a part."""
    quotient = of.total(above) / of.total(below)
    weights = np.zeros(len(of.names))
    weights[of.names.index(above)], weights[of.names.index(below)] = 1.0, -quotient
    case = of.blocks / of.total(below)
    return Reading(quotient, weights * case, case, most=1.0)


def without(of: BlockSums, reading: Reading, control: str) -> Reading:
    """A reading less what a value whose mean is known to be 0 explains of it; see `less_control`."""
    at, values = of.names.index(control), _moments(of, reading)
    squares, product = of.products[at, at], float(reading.weights @ of.products[:, at])
    known = Control(of.total(control), float(squares), product)
    less = less_control(values, known)
    weights = reading.weights.copy()
    weights[at] -= less.slope
    value = reading.value - less.slope * known.total / of.blocks
    adjusted = reading._replace(value=value, weights=weights, step=less.step)
    shown = _moments(of, adjusted).variance_of_total
    return adjusted._replace(inflation=less.variance_of_total / shown if shown else 1.0)


def rate(of: BlockSums, reading: Reading) -> Rate:
    """A reading with its 95 % interval: that of a share if it has two bounds, else that of a count."""
    n, total, squares, step, _ = _moments(of, reading)
    # Each block's value is what it moves the measure by, from the mean on: so their mean is the measure.
    move = reading.value - reading.least - total / n
    squares += 2 * move * total + n * move**2
    span = 1.0 if isinf(reading.most) else reading.most - reading.least
    moments = Moments(n, (total + n * move) / span, squares / span**2, step / span)
    interval = count_rate([moments]) if isinf(reading.most) else share_rate([moments])
    value = min(reading.most, max(reading.least, reading.value))
    return interval.mapped(reading.least, reading.least + span)._replace(value=value)


def _moments(of: BlockSums, reading: Reading) -> Moments:
    """Moments of what each block moves a measure by."""
    squares = _product(reading, of.products, reading)
    moments = Moments(float(of.blocks), _total(reading, of), squares, reading.step)
    return _inflated(moments, reading.inflation)


def _inflated(values: Moments, factor: float) -> Moments:
    """The same with a variance that is larger by a factor."""
    if factor == 1.0:
        return values
    square = values.total**2 / values.n
    return values._replace(squares=square + factor * (values.squares - square))


def _total(reading: Reading, of: BlockSums) -> float:
    """The sum over blocks of what each moves a measure by."""
    return sum(float(reading.weights[k] * of.totals[k]) for k in np.flatnonzero(reading.weights))


def _product(a: Reading, of_both: Ints, b: Reading) -> float:
    """The sum over blocks of the product of what each moves two measures by.

    Added up one by one: the same numbers give the same sum, so that equal arms differ by exactly 0.
    """
    pairs = product(np.flatnonzero(a.weights), np.flatnonzero(b.weights))
    return sum(float(a.weights[i] * of_both[i, j] * b.weights[j]) for i, j in pairs)


def difference(
    of: BlockSums, reading: Reading, reference: BlockSums, base: Reading, crossed: Ints
) -> Estimate:
    """How far a measure differs from that of a reference arm, played with the same dice.

    The error is of the difference block by block, so what the dice do to both alike cancels.
    `crossed` (V, V) are sums over blocks of the products of their values.
    """
    squares = (
        _product(reading, of.products, reading)
        - 2 * _product(reading, crossed, base)
        + _product(base, reference.products, base)
    )
    moments = Moments(
        float(of.blocks),
        _total(reading, of) - _total(base, reference),
        squares,
        max(reading.step, base.step),
    )
    moments = _inflated(moments, reading.inflation * base.inflation)
    return stratified_mean([moments])._replace(mean=reading.value - base.value)


# ------------------------------------------------------------------------------------------- quantiles

GROUPS = 32
"""Blocks are dealt to this many groups; how far groups differ says how certain a difference is."""

DRAWS = 2000
"""Bootstrap samples."""


def histogram_quantile(counts: NDArray[Any], quantile: float) -> Ints:
    """(...,): the smallest value that at least this share of all does not exceed.

    counts (..., T): how many have value 0, 1, 2, …; one quantile per histogram.
    """
    below = np.cumsum(counts, axis=-1)
    return np.asarray((below >= quantile * below[..., -1:]).argmax(axis=-1))


def quantile_interval(
    counts: Ints, quantile: float, blocks: int, confidence: float = CONFIDENCE
) -> tuple[int | None, int | None]:
    """Interval for a quantile of a histogram, by the binomial distribution of ranks; None: unbounded.

    As if a block were a single game: a block of several games tells at least as much, since no mean of
    several shares varies more than a single one can (David and Nagaraja, Order Statistics, 2003,
    section 7.1, for independent values).
    """
    miss = (1 - confidence) / 2
    low = binomial_quantile(miss, blocks, quantile)
    high = binomial_quantile(1 - miss, blocks, quantile) + 1
    return (
        int(histogram_quantile(counts, low / blocks)) if low > 0 else None,
        int(histogram_quantile(counts, high / blocks)) if high <= blocks else None,
    )


def grouped_counts(values: Sequence[NDArray[np.integer[Any]]], first: int) -> Ints:
    """(GROUPS, T): histograms of values, from arrays with one entry per block from number `first` on.

    Blocks are dealt to groups by their number, so a group has the same dice in every histogram.
    """
    longest = 1 + int(max(of.max() for of in values))
    group = (first + np.arange(len(values[0]))) % GROUPS
    places = np.concatenate([group * longest + of for of in values])
    counts = np.bincount(places, minlength=GROUPS * longest)
    return counts.reshape(GROUPS, longest)


def quantile_difference_interval(
    own: Ints, base: Ints, quantile: float, blocks: int, confidence: float = CONFIDENCE
) -> tuple[float | None, float | None]:
    """Interval for the difference of two quantiles of `grouped_counts`; None if blocks are too few.

    By the bootstrap (Efron 1979): groups of blocks are resampled, the same ones for both.
    """
    if blocks < 2 * GROUPS:
        return None, None
    equal = np.full(GROUPS, 1 / GROUPS)
    drawn = np.random.default_rng(0).multinomial(GROUPS, equal, DRAWS).astype(np.float64)
    apart = histogram_quantile(drawn @ own, quantile) - histogram_quantile(drawn @ base, quantile)
    miss = (1 - confidence) / 2
    low, high = np.quantile(apart, [miss, 1 - miss], method="inverted_cdf")
    return float(low), float(high)
