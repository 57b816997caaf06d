"""How kernels are compiled: `kernel` for functions that Python calls, three decorators for their parts.

Compiled code is cached on disk. Numba recompiles a kernel when its own file has changed, but not when
the file of a function that it inlines has. So the cache folder is named after a hash of the source of
all modules with kernels: an edit in any of them means a new folder. Code outside this package never
becomes part of a kernel, because no function is passed to one.
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
from numba.core.event import Listener, install_listener

Function = TypeVar("Function", bound=Callable[..., Any])

_PACKAGE = Path(__file__).parents[1]
_config: Any = numba.config
_OPTIONS: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
}
_kernels: set[Callable[..., Any]] = set()


def kernel(function: Function) -> Function:
    """A loop over games, called from Python."""
    _kernels.add(function)
    with _caching():
        compiled: Function = njit(**_OPTIONS)(function)
    return compiled


def inlined(function: Function) -> Function:
    """A rule for one game, called from kernels: always inlined, so that loops are optimised as a whole."""
    return _part(function, forceinline=True, no_cpython_wrapper=True)


def called(function: Function) -> Function:
    """A rule for one game that is long or seldom applies: called, not inlined, to compile faster.

    Numba would compile it again for each constant argument; `as_int` makes that a plain number.
    """
    return _part(function, no_cpython_wrapper=True)


def shared(function: Function) -> Function:
    """Like `inlined`, but Python can call it as well.

    The others have no wrapper for Python, which takes a third of the time to compile: calling one from
    Python crashes the process.
    """
    return _part(function, forceinline=True)


def _part(function: Function, **options: Any) -> Function:
    """Compile a part of kernels; it is cached with them."""
    compiled: Function = njit(**_OPTIONS | {"cache": False}, **options)(function)
    return compiled


@contextmanager
def on_compile(callback: Callable[[], None]) -> Iterator[None]:
    """Call back before each kernel that this process compiles because the disk cache lacks it.

    Parts of kernels do not count: they are compiled along with a kernel, and the few that Python calls
    directly take no time worth mentioning.
    """
    with install_listener("numba:compile", _CompileListener(callback)):
        yield


class _CompileListener(Listener):
    """Numba sends this event only after it has looked in the disk cache."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback = callback

    def on_start(self, event: Any) -> None:
        """Numba is about to compile."""
        if event.data["dispatcher"].py_func in _kernels:
            self.callback()

    def on_end(self, event: Any) -> None:
        """Numba has compiled."""


@contextmanager
def _caching() -> Iterator[None]:
    """In this block, Numba caches what it compiles in our folder; other code keeps its own folder."""
    others = _config.CACHE_DIR
    _config.CACHE_DIR = str(_cache_folder())
    try:
        yield
    finally:
        _config.CACHE_DIR = others


@cache
def _cache_folder() -> Path:
    """Beside the sources if that is writable, like Python's bytecode, otherwise in the user's cache."""
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
def as_int(number: Any) -> int:
    """A narrow or unsigned number as int64, so that sums, differences and bit masks do not wrap."""
    return np.int64(number)  # type: ignore[return-value]
