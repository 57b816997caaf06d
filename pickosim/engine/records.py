"""Records: the fields of a NumPy record declared once, as a class that type checkers read too.

A field is annotated with what kernels see and how it is stored: `U8` is a whole number in a byte, and
`Annotated[NDArray[np.uint8], 7]` seven bytes. Kernels get arrays of `dtype_of(…)`; the class itself is never made.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias, get_args, get_origin, get_type_hints

import numpy as np

Bool: TypeAlias = Annotated[bool, np.bool_]
U8: TypeAlias = Annotated[int, np.uint8]
U16: TypeAlias = Annotated[int, np.uint16]
U32: TypeAlias = Annotated[int, np.uint32]
I32: TypeAlias = Annotated[int, np.int32]
I64: TypeAlias = Annotated[int, np.int64]
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
