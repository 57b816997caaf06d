"""Orders: a task with all that a worker compares and sets before it plays, and the answer that it sends back."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from pickosim.errors import PickosimError
from pickosim.parcels import Parcel
from pickosim.runs.provenance import Sources
from pickosim.runs.sums import Sums


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
    """Of the task."""
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
