"""Sums: what workers send back, as named arrays of whole numbers, and the files that keep them.

Whole numbers add up to the same in any order. So a result does not depend on how a run was cut into
chunks, who played them, or which came back first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from io import BytesIO
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from pickosim.files import digest

Sums = dict[str, NDArray[np.int64]]


def add(total: Sums, more: Mapping[str, NDArray[np.int64]]) -> Sums:
    """Both added; an array that is shorter (a histogram that ends earlier) is padded with 0."""
    return {
        name: _added(total.get(name), more.get(name)) for name in dict.fromkeys([*total, *more])
    }


def _added(a: NDArray[np.int64] | None, b: NDArray[np.int64] | None) -> NDArray[np.int64]:
    if a is None or b is None:
        only = a if b is None else b
        assert only is not None
        return np.asarray(only, np.int64)
    if a.shape == b.shape:
        return np.asarray(a + b)
    shape = tuple(np.maximum(a.shape, b.shape))
    total = np.zeros(shape, np.int64)
    for part in (a, b):
        total[tuple(slice(0, length) for length in part.shape)] += part
    return total


def packed(sums: Sums, header: Mapping[str, Any]) -> bytes:
    """A shard: its checksum in a line, its header as a line of JSON, then the arrays."""
    buffer = BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **sums)  # histograms are mostly zeros
    rest = json.dumps(header, sort_keys=True).encode() + b"\n" + buffer.getvalue()
    return digest(rest).encode() + b"\n" + rest


def unpacked(shard: bytes, header: Mapping[str, Any]) -> tuple[Sums, dict[str, Any]] | None:
    """The sums of a shard and its header, or None if it is damaged, or of another run."""
    checksum, _, rest = shard.partition(b"\n")
    if checksum != digest(rest).encode():
        return None
    line, _, body = rest.partition(b"\n")
    try:
        said = json.loads(line)
        if any(said.get(key) != value for key, value in header.items()):
            return None
        with np.load(BytesIO(body), allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}, said
    except (OSError, ValueError, KeyError, AttributeError, EOFError, BadZipFile):
        return None
