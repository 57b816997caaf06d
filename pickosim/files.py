"""Files: read within a limit, written whole or not at all, sent to other machines by their digests."""

from __future__ import annotations

import errno
import os
import stat
import threading
import zlib
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from pickosim.errors import PickosimError

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_TEXT = 1 << 20
"""Bytes of the largest file that a person may have written."""


def read_regular(path: Path, most: int | None = None) -> bytes:
    """The content of a regular file of at most that many bytes; a device could go on for ever."""
    if "\0" in str(path):
        raise OSError(errno.EINVAL, "Not a name of a file", str(path))
    with open(path, "rb", opener=_without_waiting) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "Not a regular file", str(path))
        content = file.read() if most is None else file.read(most + 1)
    if most is not None and len(content) > most:
        raise OSError(errno.EFBIG, f"More than {most:,} bytes", str(path))
    return content


def _without_waiting(path: str, flags: int) -> int:
    """Open a file; if it is a pipe, without waiting for its other end."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all, whenever the process is stopped or the power fails.

    Only a regular file is replaced: neither a device nor a link.
    """
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(path.lstat().st_mode):
            raise OSError(errno.EINVAL, "Not a regular file", str(path))
    beside = _beside(path)
    beside.unlink(missing_ok=True)  # of an earlier process of that number
    try:
        with beside.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException as error:
        beside.unlink(missing_ok=True)
        if isinstance(error, OSError):  # of a full disk Python does not say which file it is
            error.filename = str(path)
        raise
    sync_folder(path.parent)


def _beside(path: Path) -> Path:
    """A temporary path in the same folder; its name is short, as that of the file may be as long as names can be."""
    return path.with_name(f".{digest(os.fsencode(path.name))[:16]}.{os.getpid()}")


def link_whole(source: Path, path: Path) -> None:
    """Give a file a second path, or copy it where the file system has no hard links; whole or not at all."""
    beside = _beside(path)
    beside.unlink(missing_ok=True)
    path.unlink(missing_ok=True)  # if it is a link to the same file, it would not be replaced
    try:
        os.link(source, beside)
    except OSError:
        write_whole(path, read_regular(source))
        return
    beside.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Have the names of a folder's files on the disk, where the system can do that."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # not on every file system
            raise
    finally:
        os.close(descriptor)


def digest(content: bytes) -> str:
    """The SHA-256 of a file's content."""
    return sha256(content).hexdigest()


def file_digest(path: Path) -> str:
    """The SHA-256 of a file, or nothing if it cannot be read."""
    try:
        return digest(read_regular(path))
    except OSError:
        return ""


@dataclass(frozen=True)
class Parcel:
    """Some files with their folders: what a worker needs to make them there."""

    paths: tuple[str, ...]
    """Where the files are on the machine that sends them; the first is the one that others name."""
    names: tuple[str, ...]
    """Their paths within the parcel, with / between folders."""
    digests: tuple[str, ...]
    """The SHA-256 of each."""

    @property
    def digest(self) -> str:
        """Names the parcel: equal parcels have equal files."""
        listed = zip(self.names, self.digests, strict=True)
        return digest("\n".join(f"{name} {sha}" for name, sha in listed).encode())[:32]

    def contents(self) -> list[bytes]:
        """The files as they are now, which must be as they were when the parcel was made."""
        contents = []
        for path, then in zip(self.paths, self.digests, strict=True):
            try:
                content = read_regular(Path(path))
            except OSError as error:
                raise PickosimError(f"{path} cannot be read: {error.strerror}.") from error
            if digest(content) != then:
                raise PickosimError(
                    f"{path} has changed since the run began. Restore it, or start a new run."
                )
            contents.append(content)
        return contents


def make_parcel(files: Mapping[str, Path]) -> Parcel:
    """A parcel of files by their paths within it; the first is the one that others name."""
    return Parcel(
        tuple(map(str, files.values())), tuple(files), tuple(map(file_digest, files.values()))
    )


_unpacking = threading.Lock()


def unpacked_at(cache: Path, parcel: Parcel, contents: list[bytes] | None) -> Path | None:
    """Where a parcel's first file is in a cache, all its files beside it; None if some are lacking there.

    Files are compared with their digests, and those that differ are written from `contents`, if given.
    """
    folder = cache / parcel.digest
    with _unpacking:  # a worker may have several threads
        for number, (name, wanted) in enumerate(zip(parcel.names, parcel.digests, strict=True)):
            path = folder / name
            if folder.resolve() not in path.resolve().parents:
                raise PickosimError(f"{name} is not a path within a parcel.")
            if file_digest(path) == wanted:
                continue
            if contents is None:
                return None
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, contents[number])
    return folder / parcel.names[0]


# --------------------------------------------------------------------------------------- arrays in files

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
            members = {
                member.filename.removesuffix(_SUFFIX): member for member in archive.infolist()
            }
            if len(members) < len(archive.infolist()) or members.keys() != set(names or members):
                raise ArraysError(f"it has the arrays {', '.join(sorted(members))}")
            if sum(member.file_size for member in members.values()) > most:
                raise ArraysError(f"it unpacks to more than {most:,} bytes")
            return {name: _array_in(archive, member) for name, member in members.items()}
    except _BROKEN as error:
        raise ArraysError(str(error)) from error


def _array_in(archive: ZipFile, member: ZipInfo) -> NDArray[Any]:
    if member.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        raise ArraysError("it is compressed in another way")
    with archive.open(member) as file:
        # Told how much to read, zipfile unpacks no more than that, whatever the file really stands for.
        content = file.read(member.file_size)
    from numpy.lib.format import read_array  # rules are read without NumPy

    array: NDArray[Any] = read_array(BytesIO(content), allow_pickle=False)
    return array
