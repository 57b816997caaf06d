"""How kernels are compiled: `kernel` for what Python calls with arrays, `inlined` for its parts.

Compiled code is cached on disk. Numba does not notice an edit in another file than the kernel's own,
so kernels call nothing outside this package, and no function is ever passed to one.
"""

from typing import Any

from numba import njit

_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}

kernel = njit(**_OPTIONS)
"""A loop over games, called from Python."""

inlined = njit(**_OPTIONS, forceinline=True)
"""A rule for one game, called from kernels: always inlined, for the loop's sake."""
