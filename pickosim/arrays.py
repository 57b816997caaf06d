"""Arrays in files: read only if they are the ones expected, and unpack to no more than can be meant."""

from __future__ import annotations

import zlib
from collections.abc import Collection
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np
from numpy.typing import NDArray

_SUFFIX = ".npy"

_BROKEN = (
    *(OSError, EOFError, MemoryError, RuntimeError, BadZipFile, zlib.error),
    *(ValueError, TypeError, LookupError, ArithmeticError),
)
"""What is raised for a file that is damaged, or was made to mislead."""


class ArraysError(Exception):
    """A file that does not hold the arrays that are expected."""


def unpacked_arrays(
    content: bytes, most: int, names: Collection[str] | None = None
) -> dict[str, NDArray[Any]]:
    """The arrays of an .npz file: exactly those of these names, if any are given, of at most `most` bytes together.

    A few bytes of such a file can stand for gigabytes, so sizes are compared before anything is unpacked.
    """
    try:
        with ZipFile(BytesIO(content)) as archive:
            members = {one.filename.removesuffix(_SUFFIX): one for one in archive.infolist()}
            if len(members) < len(archive.infolist()) or members.keys() != set(names or members):
                raise ArraysError(f"it has the arrays {', '.join(sorted(members))}")
            if sum(one.file_size for one in members.values()) > most:
                raise ArraysError(f"it unpacks to more than {most:,} bytes")
            return {name: _array_in(archive, one) for name, one in members.items()}
    except _BROKEN as error:
        raise ArraysError(str(error)) from error


def _array_in(archive: ZipFile, member: ZipInfo) -> NDArray[Any]:
    if member.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        raise ArraysError("it is compressed in another way")
    with archive.open(member) as file:
        # Told how much to read, zipfile unpacks no more than that, whatever the file really stands for.
        content = file.read(member.file_size)
    array: NDArray[Any] = np.lib.format.read_array(BytesIO(content), allow_pickle=False)
    return array
