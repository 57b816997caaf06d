"""Distributions: the normal law, Student's t and the binomial law; importing SciPy for them takes too long."""

from __future__ import annotations

from functools import cache, lru_cache
from math import copysign, erfc, exp, inf, isfinite, lgamma, log, log1p, pi, sqrt
from statistics import NormalDist

_TINY = 1e-300
"""Stands in for 0 in a denominator of the continued fraction."""

_NEARLY_NORMAL = 1000
"""Degrees of freedom from which Student's t is computed from the normal law, to at least 12 digits."""

_LEAST_DF = 0.01
"""Degrees of freedom that are at least counted; with fewer, quantiles outgrow floats, and nothing is known anyway."""

_ROUNDING = 1e-15
"""Chances are not known more closely than that."""

_EXACT = 4e-16
"""A factor of the continued fraction that differs from 1 by less changes nothing."""


def normal_cdf(x: float) -> float:
    """The chance that a standard normal number is below x."""
    return 0.5 * erfc(-x / sqrt(2))


@cache
def normal_quantile(share: float) -> float:
    """The number below which a standard normal number is with this chance."""
    return NormalDist().inv_cdf(share)


def student_cdf(t: float, df: float) -> float:
    """The chance that a number of Student's t distribution is below t; the normal law if `df` is infinite."""
    if not isfinite(df):
        return normal_cdf(t)
    if df >= _NEARLY_NORMAL:
        return normal_cdf(_as_normal(t, df))
    tail = 0.5 * _incomplete_beta(df / (df + t * t), t * t / (df + t * t), df / 2, 0.5)
    return 1 - tail if t > 0 else tail


def _as_normal(t: float, df: float) -> float:
    """The standard normal number that is exceeded as often as t (Hill 1970, CACM algorithm 395)."""
    a = df - 0.5
    b = 48 * a * a
    z = sqrt(a * log1p(t * t / df))
    off = (((4 * z * z + 33) * z * z + 240) * z * z + 855) * z / (10 * b * (b + 0.8 * z**4 + 100))
    return copysign(z + (z**3 + 3 * z) / b - off, t)


@lru_cache(maxsize=4096)
def student_quantile(share: float, df: float) -> float:
    """The number below which one of Student's t distribution is with this chance, of 1/2 to below 1."""
    if not isfinite(df):
        return normal_quantile(share)
    df = max(df, _LEAST_DF)
    low, high = 0.0, 1.0
    while student_cdf(high, df) < share:
        low, high = high, 2 * high
    t = min(high, max(low, normal_quantile(share)))
    log_density = lgamma((df + 1) / 2) - lgamma(df / 2) - 0.5 * log(df * pi)
    while True:
        # Newton's method, kept within bounds that close in.
        missing = share - student_cdf(t, df)
        low, high = (t, high) if missing > 0 else (low, t)
        density = exp(log_density - (df + 1) / 2 * log1p(t * t / df))
        better = t + missing / density
        if not low <= better <= high:
            better = (low + high) / 2
        if abs(better - t) <= 1e-12 * t or abs(missing) <= _ROUNDING:
            return better
        t = better


def binomial_cdf(successes: int, trials: int, chance: float) -> float:
    """The chance of at most this many successes."""
    if successes >= trials:
        return 1.0
    return _incomplete_beta(1 - chance, chance, trials - successes, successes + 1)


def binomial_quantile(share: float, trials: int, chance: float) -> int:
    """The smallest number of successes that is not exceeded with at least this chance."""
    low, high = 0, trials
    while low < high:
        middle = (low + high) // 2
        if binomial_cdf(middle, trials, chance) >= share:
            high = middle
        else:
            low = middle + 1
    return low


def _incomplete_beta(x: float, rest: float, a: float, b: float) -> float:
    """The regularised incomplete beta function of x = 1 - rest; on the side on which its fraction converges fast.

    DLMF 8.17.2 and 8.17.4. Both x and rest are given: near 1 a difference would lose digits.
    """
    if x <= 0 or rest <= 0:
        return 0.0 if x <= 0 else 1.0
    log_front = lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(rest)
    if x < (a + 1) / (a + b + 2):
        return exp(log_front) * _beta_fraction(x, a, b) / a
    return 1 - exp(log_front) * _beta_fraction(rest, b, a) / b


def _beta_fraction(x: float, a: float, b: float) -> float:
    """The continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method."""
    c, d = 1.0, 1 / _not_zero(1 - (a + b) * x / (a + 1))
    value = d
    m, change = 0, inf
    while abs(change - 1) > _EXACT:
        m += 1
        for factor in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _not_zero(1 + factor * d)
            c = _not_zero(1 + factor / c)
            change = c * d
            value *= change
    return value


def _not_zero(number: float) -> float:
    return number if abs(number) > _TINY else _TINY
