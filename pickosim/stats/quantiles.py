"""Quantiles of histograms, with intervals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def histogram_quantile(counts: NDArray[np.int64], quantile: float) -> int:
    """The smallest value that at least this share of all does not exceed; counts[v] have value v."""
    below = np.cumsum(counts)
    return int(np.searchsorted(below, quantile * below[-1]))
