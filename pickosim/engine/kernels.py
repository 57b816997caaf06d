"""How kernels are compiled: `kernel` for what Python calls with arrays, and three kinds of parts of them.

Compiled code is cached on disk. Numba notices an edit in a kernel's own file only, not in a file whose
functions it has inlined, and would go on with what it compiled before. So the cache is a folder named
after the source of all modules with kernels: an edit in any of them is a new folder. What is not part of
this package never enters a kernel: no function is passed to one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import gettempdir
from typing import Any, TypeVar

import numba
import numpy as np
from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])

_PACKAGE = Path(__file__).parents[1]
_config: Any = numba.config
_OPTIONS: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
}


def kernel(function: Function) -> Function:
    """A loop over games, called from Python."""
    with _caching():
        compiled: Function = njit(**_OPTIONS)(function)
    return compiled


def inlined(function: Function) -> Function:
    """A rule for one game, called from kernels: always inlined, for the loop's sake."""
    return _part(function, forceinline=True, no_cpython_wrapper=True)


def called(function: Function) -> Function:
    """A rule for one game that is long, or seldom applies: called from kernels, quicker to compile so.

    For a constant among its arguments Numba would compile it anew; `whole` makes that a plain number.
    """
    return _part(function, no_cpython_wrapper=True)


def shared(function: Function) -> Function:
    """A rule like an `inlined` one that Python asks as well.

    The others have no entrance for Python, which takes a third of the time to compile them: calling one
    from Python would end the process.
    """
    return _part(function, forceinline=True)


def _part(function: Function, **options: Any) -> Function:
    """Part of kernels, and cached with them."""
    compiled: Function = njit(**_OPTIONS | {"cache": False}, **options)(function)
    return compiled


@contextmanager
def _caching() -> Iterator[None]:
    """Have Numba cache in our folder what is decorated meanwhile, and leave other code its own."""
    others = _config.CACHE_DIR
    _config.CACHE_DIR = str(_cache_folder())
    try:
        yield
    finally:
        _config.CACHE_DIR = others


@cache
def _cache_folder() -> Path:
    """Beside the sources if that can be written, as Python does it, else with the user's caches."""
    sources = [path.read_bytes() for path in sorted(_PACKAGE.rglob("*.py"))]
    kernels = b"".join(source for source in sources if b"pickosim.engine.kernels" in source)
    name = f"kernels-{sha256(kernels).hexdigest()[:16]}"
    if _config.CACHE_DIR:
        return Path(_config.CACHE_DIR) / name
    for folder in (_PACKAGE, Path.home()):
        if os.access(folder, os.W_OK):
            inside = "__pycache__" if folder == _PACKAGE else ".cache/pickosim"
            return folder / inside / name
    return Path(gettempdir()) / "pickosim" / name


@inlined
def whole(number: Any) -> int:
    """A narrow or unsigned number as a plain one: sums, differences and bit masks then just work."""
    return np.int64(number)  # type: ignore[return-value]
