"""Statistics: small pure functions, each named after what it computes."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, sqrt

from scipy.stats import norm

CONFIDENCE = 0.95


def mean_interval(
    groups: Sequence[tuple[float, float, float]], confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """Normal interval for the mean over groups, from the number, sum and sum of squares of each.

    The values are blocks (games with the same dice, in all rotations), not games: games of a block
    are not independent. How many values a group has is settled before the first of them, so what
    differs between groups is no chance, and only the variances within them count (a stratified
    sample). From a group with a single value there is no telling, and the interval is all there is.
    """
    counts, totals, variance = 0.0, 0.0, 0.0
    for count, total, squares in groups:
        counts, totals = counts + count, totals + total
        spread = max(0.0, squares - total * total / count)
        variance += count * spread / (count - 1) if count > 1 else inf
    mean = totals / counts
    half = float(norm.ppf(0.5 + confidence / 2)) * sqrt(variance) / counts
    return mean - half, mean + half


def share_interval(
    groups: Sequence[tuple[float, float, float]], confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """Interval for a mean of shares between 0 and 1: `mean_interval`, cut off there.

    If all values are 1, or all are 0, they show no variance, though they do not prove that there is
    none: then the exact bound of Clopper and Pearson (1934) for the chance of such a value.
    """
    low, high = mean_interval(groups, confidence)
    count, total = sum(group[0] for group in groups), sum(group[1] for group in groups)
    if low == high and total in (0.0, count):
        bound = float(((1 - confidence) / 2) ** (1 / count))
        return (bound, 1.0) if total else (0.0, 1 - bound)
    return max(0.0, low), min(1.0, high)
