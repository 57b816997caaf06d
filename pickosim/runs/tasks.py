"""Tasks: what a worker gets, with the sources that its result depends on, and the sums that it sends back.

Whole numbers add up to the same in any order. So a result does not depend on how a run was cut into
chunks, who played them, or which came back first.
"""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pickosim.errors import PickosimError
from pickosim.files import ArraysError, Parcel, digest, unpacked_arrays

Sums = dict[str, NDArray[np.int64]]


def add(total: Sums, more: Mapping[str, NDArray[np.int64]]) -> Sums:
    """Both added; an array that is shorter (a histogram that ends earlier) is padded with 0."""
    return {
        name: _added([sums[name] for sums in (total, more) if name in sums])
        for name in dict.fromkeys([*total, *more])
    }


def _added(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    lengths = zip(*(part.shape for part in parts), strict=True)
    total = np.zeros([max(each) for each in lengths], np.int64)
    for part in parts:
        total[tuple(map(slice, part.shape))] += part
    return total


def most_bytes(games: int) -> int:
    """What the sums of that many games take at most: histograms are as long for any number, records of games are not."""
    return (1 << 28) + (games << 16)


def packed(sums: Sums, header: Mapping[str, Any]) -> bytes:
    """A shard: its checksum in a line, its header as a line of JSON, then the arrays."""
    buffer = BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **sums)  # histograms are mostly zeros
    rest = json.dumps(header, sort_keys=True).encode() + b"\n" + buffer.getvalue()
    return digest(rest).encode() + b"\n" + rest


def unpacked(
    shard: bytes, header: Mapping[str, Any], most: int
) -> tuple[Sums, dict[str, Any]] | None:
    """The sums of a shard, of at most `most` bytes, and its header; None if it is damaged, or of another run."""
    checksum, _, rest = shard.partition(b"\n")
    if checksum != digest(rest).encode():
        return None
    line, _, body = rest.partition(b"\n")
    try:
        named = json.loads(line)
        if any(named.get(key) != value for key, value in header.items()):
            return None
        sums = unpacked_arrays(body, most)
    except (ArraysError, ValueError, AttributeError, RecursionError):
        return None
    are_whole = all(array.dtype == np.int64 for array in sums.values())
    return (sums, named) if are_whole else None


_PACKAGE = Path(__file__).parents[1]

_IMPORT = re.compile(r"^\s*from pickosim\.([\w.]+) import ([\w, ]*)", re.MULTILINE)
"""How one module of this package imports another, or things in it."""

DECLARATIONS = ("columns", "studies.measures")
"""Modules that declare labels and sentences beside formulas."""


@dataclass(frozen=True)
class Sources:
    """Modules of this package, with all that they import: the same sources play the same games.

    In modules that declare labels and sentences, texts do not count: another word gives no other game. `names`
    are those of their texts that do.
    """

    modules: tuple[str, ...]
    names: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """One digest of them all, in this process."""
        listed = "".join(f"{name}\0{sha}\0" for name, sha in self.digests.items())
        return digest(f"{listed}{self.names}".encode())[:16]

    @property
    def digests(self) -> dict[str, str]:
        """The digest of each module, by name."""
        return _digests(self.modules)


@cache
def _digests(modules: tuple[str, ...]) -> dict[str, str]:
    sources = _package_sources()
    names: set[str] = set()
    wanted = list(modules)
    while wanted:
        name = wanted.pop()
        if name not in names and name in sources:
            names.add(name)
            for other, imported in _IMPORT.findall(sources[name]):
                wanted += [other, *(f"{other}.{part.strip()}" for part in imported.split(","))]
    return {name: _digest(name, sources[name]) for name in sorted(names)}


@cache
def _package_sources() -> dict[str, str]:
    """All modules of this package, read once: a process goes on with what it has imported, whatever is edited."""
    return {
        ".".join(path.relative_to(_PACKAGE).with_suffix("").parts): path.read_text(encoding="utf-8")
        for path in _PACKAGE.rglob("*.py")
    }


def _digest(name: str, source: str) -> str:
    counted = _without_texts(source) if name in DECLARATIONS else source
    return digest(counted.encode())[:16]


def _without_texts(source: str) -> str:
    """Code without its texts and comments."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return ast.dump(tree)


class Task(Protocol):
    """Part of a study: sent to a worker, which sends back its sums."""

    @property
    def name(self) -> str:
        """Its name within the run, usable as a file name."""

    @property
    def part(self) -> int:
        """The part of the study that its sums belong to."""

    @property
    def games(self) -> int:
        """How many games it plays."""

    @property
    def parcels(self) -> Mapping[str, Parcel]:
        """Files that it needs besides pickosim, by the paths by which it names them."""

    def warm_up(self) -> None:
        """Play a little of it, so that whatever has to be compiled is ready before workers start."""

    def check(self, places: Mapping[str, Path]) -> None:
        """Raise an error if what it depends on, besides pickosim, is not here as it was when the run began.

        `places` says where the files of its parcels are; others are where their paths say.
        """

    def play(self, places: Mapping[str, Path], *, save_games: bool) -> tuple[Sums, bytes]:
        """Play it: its sums and, if asked for, the content of the file of its games."""


class Answer(NamedTuple):
    """What a worker sends back."""

    name: str
    """Name of the task."""
    sums: Sums
    games: bytes
    """The file of its games; empty if they are not saved."""


@dataclass(frozen=True)
class Order:
    """A task to play, and what its result depends on besides."""

    task: Task
    sources: Sources
    source: str
    """Their digest where the run was begun."""
    save_games: bool = False
    prepare: Callable[[], None] | None = None
    """Called before the task is played."""
    directory: Path | None = None
    """The directory to play in, if the worker is on the same machine."""

    def prepare_worker(self, places: Mapping[str, Path]) -> None:
        """Make this process ready, and raise an error if it would play anything else than the sender."""
        if self.directory is not None:
            os.chdir(self.directory)
        if self.prepare is not None:
            self.prepare()
        if self.sources.digest != self.source:
            raise PickosimError(
                "The files of pickosim have changed since the run began. Restore them, or start a new run."
            )
        self.task.check(places)

    def play(self, places: Mapping[str, Path]) -> Answer:
        """Play the task."""
        sums, games = self.task.play(places, save_games=self.save_games)
        return Answer(self.task.name, sums, games)


def play_here(order: Order) -> Answer:
    """Compare and play in this process, where all files are where their paths say."""
    order.prepare_worker({})
    return order.play({})
