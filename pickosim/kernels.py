"""How kernels are compiled: `kernel` for what Python calls with arrays, `inlined` for its parts.

Compiled code is cached on disk. Numba does not notice an edit in another file than the kernel's own,
so kernels call nothing outside this package, and no function is ever passed to one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])

_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}


def kernel(function: Function) -> Function:
    """A loop over games, called from Python."""
    compiled: Function = njit(**_OPTIONS)(function)
    return compiled


def inlined(function: Function) -> Function:
    """A rule for one game, called from kernels: always inlined, for the loop's sake."""
    compiled: Function = njit(**_OPTIONS, forceinline=True)(function)
    return compiled


@inlined
def whole(number: Any) -> int:
    """A narrow or unsigned number as a plain one: sums, differences and bit masks then just work."""
    return np.int64(number)  # type: ignore[return-value]
