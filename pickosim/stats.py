"""Statistics: small pure functions, each named after what it computes."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf, sqrt

from scipy.stats import norm

CONFIDENCE = 0.95


def mean_interval(
    groups: Iterable[tuple[float, float, float]], confidence: float = CONFIDENCE
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
