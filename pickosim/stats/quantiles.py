"""Quantiles of histograms, their intervals, and intervals of differences paired by groups of blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pickosim.stats.distributions import binomial_quantile
from pickosim.stats.moments import CONFIDENCE

Ints = NDArray[np.int64]

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
