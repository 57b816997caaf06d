"""Parcels: files that travel to a worker on another machine by their digests, and are kept there in a cache."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pickosim.errors import PickosimError
from pickosim.files import digest, file_digest, read_regular, write_whole


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
        return digest("\n".join(f"{name} {one}" for name, one in listed).encode())[:32]

    def contents(self) -> list[bytes]:
        """The files as they are now, which must be as they were when the parcel was made."""
        found = []
        for path, then in zip(self.paths, self.digests, strict=True):
            try:
                content = read_regular(Path(path))
            except OSError as error:
                raise PickosimError(f"{path} cannot be read: {error.strerror}.") from error
            if digest(content) != then:
                raise PickosimError(
                    f"{path} has changed since the run began. Restore it, or start a new run."
                )
            found.append(content)
        return found


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
