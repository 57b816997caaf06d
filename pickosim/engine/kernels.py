"""How kernels are compiled: `kernel` for functions that Python calls, three decorators for their parts.

Compiled code is cached on disk. Numba recompiles a kernel when its own file has changed, but not when
the file of a function that it inlines has. So the cache folder is named after a hash of the source of
all modules with kernels: an edit in any of them means a new folder. Code outside this package never
becomes part of a kernel, because no function is passed to one.

Numba's index files are pickles, which can run anything when they are read. So the folder is one that
nobody else can write to. Without such a folder, every process compiles for itself.

Kernels work on records: a class declares the fields once, for NumPy and for type checkers. A field is annotated with
what kernels see and how it is stored: `U8` is a whole number in a byte, and `Annotated[NDArray[np.uint8], 7]` seven
bytes. Kernels get arrays of `dtype_of(…)`; the class itself is never made.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import gettempdir
from typing import Annotated, Any, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit
from numba.core import cgutils, types
from numba.core.event import Listener, install_listener
from numba.extending import intrinsic

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
    folder = cache_folder()
    with _caching_in(folder):
        compiled: Function = njit(**_OPTIONS | {"cache": folder is not None})(function)
    return compiled


def inlined(function: Function) -> Function:
    """A rule for one game, called from kernels: always inlined, so that loops are optimised as a whole."""
    return _part(function, forceinline=True, no_cpython_wrapper=True)


def called(function: Function) -> Function:
    """A rule for one game that is long or seldom applies: called, not inlined, to compile faster.

    Numba would compile it again for each constant argument; `as_int` makes that a plain number.
    """
    # Without `forceinline`, it would be inlined if and only if what calls it first is: code, and with it speed, would
    # depend on which bot a machine plays first.
    return _part(function, forceinline=False, no_cpython_wrapper=True)


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
def _caching_in(folder: Path | None) -> Iterator[None]:
    """In this block, Numba caches what it compiles in our folder; other code keeps its own folder."""
    others = _config.CACHE_DIR
    _config.CACHE_DIR = str(folder or others)
    try:
        yield
    finally:
        _config.CACHE_DIR = others


@cache
def cache_folder() -> Path | None:
    """Beside the sources if that is writable, like Python's bytecode, otherwise a folder of the user's own, if any."""
    sources = [path.read_bytes() for path in sorted(_PACKAGE.rglob("*.py"))]
    kernels = b"".join(source for source in sources if b"pickosim.engine.kernels" in source)
    name = f"kernels-{sha256(kernels).hexdigest()[:16]}"
    if _config.CACHE_DIR:
        return Path(_config.CACHE_DIR) / name
    if os.access(_PACKAGE, os.W_OK):
        return _PACKAGE / "__pycache__" / name
    own = (_private(base, *inside, name) for base, *inside in _user_folders())
    return next(filter(None, own), None)


def _user_folders() -> Iterator[tuple[Path, *tuple[str, ...]]]:
    """Where a user may have a folder of their own: a folder that exists, and folders within it."""
    with suppress(RuntimeError):  # no home, and no entry in the list of users that names one
        yield Path.home(), ".cache", "pickosim"
    with suppress(OSError):  # no folder for temporary files
        user = f"-{os.getuid()}" if hasattr(os, "getuid") else ""
        yield Path(gettempdir()), f"pickosim{user}"


def _private(base: Path, *inside: str) -> Path | None:
    """A folder that is made if there is none; None if anybody else could write to it."""
    folder = base
    try:
        for name in inside:
            folder /= name
            folder.mkdir(0o700, exist_ok=True)
        if not hasattr(os, "getuid"):
            return folder
        about = folder.lstat()
        is_own = stat.S_ISDIR(about.st_mode) and about.st_uid == os.getuid()
        is_closed = stat.S_IMODE(about.st_mode) == 0o700
        return folder if is_own and is_closed and _is_safe(folder.resolve().parents) else None
    except OSError:
        return None


def _is_safe(folders: Sequence[Path]) -> bool:
    """Whether nobody but the user and the administrator could put something else in the place of what is in them."""
    found = [folder.stat() for folder in folders]
    return all(
        one.st_uid in (0, os.getuid()) and (one.st_mode & stat.S_ISVTX or not one.st_mode & 0o022)
        for one in found
    )


@inlined
def as_int(number: Any) -> int:
    """A narrow or unsigned number as int64, so that sums, differences and bit masks do not wrap."""
    return np.int64(number)  # type: ignore[return-value]


# ----------------------------------------------------------------------------------------- records


Bool: TypeAlias = Annotated[bool, np.bool_]
U8: TypeAlias = Annotated[int, np.uint8]
U16: TypeAlias = Annotated[int, np.uint16]
U32: TypeAlias = Annotated[int, np.uint32]
I32: TypeAlias = Annotated[int, np.int32]
I64: TypeAlias = Annotated[int, np.int64]
F64: TypeAlias = Annotated[float, np.float64]
Key: TypeAlias = Annotated[np.uint64, np.uint64]
"""A number whose arithmetic wraps around, as random numbers want it."""


def dtype_of(record: type, *, align: bool = True) -> np.dtype[np.void]:
    """The NumPy type of a record, fields in the order of their declaration."""
    return np.dtype(
        [
            (name, *_stored(hint))
            for name, hint in get_type_hints(record, include_extras=True).items()
        ],
        align=align,
    )


def _stored(hint: Any) -> tuple[Any, ...]:
    """How a field is stored: its type, and the shape of an array."""
    seen, *metadata = get_args(hint)
    if get_origin(seen) is not np.ndarray:
        return (metadata[0],)
    _, dtype = get_args(seen)
    return get_args(dtype)[0], tuple(metadata)


def operation(function: Callable[..., Any]) -> Any:
    """An instruction of kernels: given the types of its arguments, it returns its type and how it is compiled."""
    return intrinsic(function)


def copying(source: np.dtype[np.void], target: np.dtype[np.void], first: str, last: str) -> Any:
    """An operation for kernels, copy(record, record): the fields from `first` to `last`, which lie alike, as one block."""
    (begin, end), (to, its_end) = (_span(record, first, last) for record in (source, target))
    assert end - begin == its_end - to

    @operation
    def copy(_: Any, one: Any, other: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            byte, number = ir.IntType(8).as_pointer(), ir.IntType(64)
            places = [
                builder.gep(builder.bitcast(value, byte), [number(place)])
                for value, place in zip(values, (begin, to), strict=True)
            ]
            size = number(end - begin)
            cgutils.raw_memcpy(builder, places[1], places[0], size, 1)  # type: ignore[no-untyped-call]
            return context.get_dummy_value()

        return types.void(one, other), emit

    return copy


def _span(record: np.dtype[np.void], first: str, last: str) -> tuple[int, int]:
    assert record.fields is not None
    kind, end = record.fields[last][:2]
    return record.fields[first][1], end + kind.itemsize
