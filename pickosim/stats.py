"""Statistics: small pure functions, each named after what it computes."""

from __future__ import annotations

from math import sqrt

from scipy.stats import norm

CONFIDENCE = 0.95


def mean_interval(
    count: float, total: float, squares: float, confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """Normal interval for a mean, from the number, sum and sum of squares of independent values.

    The values are blocks (games with the same dice, in all rotations), not games: games of a block
    are not independent. With a single value there is no telling, and the interval is all there is.
    """
    mean = total / count
    if count < 2:
        return float("-inf"), float("inf")
    variance = max(0.0, squares - total * mean) / (count - 1)
    half = float(norm.ppf(0.5 + confidence / 2)) * sqrt(variance / count)
    return mean - half, mean + half
