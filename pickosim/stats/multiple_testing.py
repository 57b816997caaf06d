"""Multiple testing: p values corrected for the number of comparisons."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import false_discovery_control


def adjusted(p_values: Sequence[float]) -> list[float]:
    """P values corrected for many comparisons, by Benjamini and Yekutieli (2001).

    It bounds the share of false alarms however the comparisons depend on each other, as they do
    where dice are shared.
    """
    if not p_values:
        return []
    corrected: NDArray[np.float64] = false_discovery_control(np.asarray(p_values), method="by")
    return [float(value) for value in corrected]
