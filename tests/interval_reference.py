"""Intervals from the values of single blocks, written down from docs/statistics.md: a second implementation."""

from __future__ import annotations

import numpy as np
from scipy.stats import t as student

Interval = tuple[float, float, float]


def _error(groups: tuple[np.ndarray, ...], off: float) -> tuple[float, float, float]:
    """The mean over all blocks, its standard error and the degrees of freedom; two more blocks are so far off."""
    blocks = np.array([len(group) for group in groups])
    prior = 2 * off**2 * blocks / blocks.sum()
    variances = prior + [len(group) * np.var(group, ddof=1) for group in groups]
    df = variances.sum() ** 2 / (variances**2 / (blocks - 1)).sum()
    return np.concatenate(groups).mean(), np.sqrt(variances.sum()) / blocks.sum(), df


def mean_interval(*groups: np.ndarray, step: float) -> Interval:
    """Interval of a mean of differences."""
    mean, error, df = _error(groups, step)
    return (mean, *student.interval(0.95, df, mean, error))


def mean_p_value(*groups: np.ndarray, step: float) -> float:
    """p value of a difference from 0."""
    mean, error, df = _error(groups, step)
    return float(2 * student.sf(abs(mean) / error, df))


def share_interval(*groups: np.ndarray, step: float) -> Interval:
    """Interval of a share: Agresti and Coull, with as many independent games as the blocks are worth."""
    mean, error, df = _error(groups, step / 2)
    blocks = sum(map(len, groups))
    t = student.ppf(0.975, df)
    worth = (mean * (1 - mean) + step / 2 / blocks) / error**2
    middle = (mean * worth + t**2 / 2) / (worth + t**2)
    half = t * np.sqrt(middle * (1 - middle) / (worth + t**2))
    return mean, max(0.0, middle - half), min(1.0, middle + half)


def count_interval(*groups: np.ndarray, step: float) -> Interval:
    """Interval of a mean count, which has no upper bound: the same, as Poisson's law has it."""
    mean, error, df = _error(groups, step / 2)
    blocks = sum(map(len, groups))
    t = student.ppf(0.975, df)
    unit = error**2 / (mean + step / 2 / blocks)
    middle = mean + t**2 / 2 * unit
    half = t * np.sqrt(middle * unit)
    return mean, max(0.0, middle - half), middle + half


def scaled(interval: Interval, low: float, high: float) -> Interval:
    """An interval of a share, on a scale from low to high."""
    return tuple(low + (high - low) * end for end in interval)


def holm(p_values: list[float]) -> list[float]:
    """P values corrected as Holm (1979) writes it: reject in order, until one is not small enough."""
    found = []
    for value in p_values:
        smaller = [p for p in p_values if p <= value]
        found.append(max(p * sum(q >= p for q in p_values) for p in smaller))
    return [min(1.0, value) for value in found]
