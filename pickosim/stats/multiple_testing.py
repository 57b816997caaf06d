"""Multiple testing: p values and intervals corrected for the number of comparisons."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def adjusted(p_values: Sequence[float]) -> list[float]:
    """P values corrected for many comparisons, by Holm (1979).

    If differences are called beyond chance below 0.05, the chance of even one false alarm among all
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
