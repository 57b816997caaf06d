"""The run: chunks of a study played by workers, added up, and kept in a run folder as they finish.

A study says in stages what is to be played next, given the sums so far; so it can stop when it knows
enough. A stage begins only when the one before is complete: what is decided between them depends
neither on the number of workers nor on their timing.
"""

from __future__ import annotations

import shlex
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from json import dumps
from pathlib import Path
from typing import Any, Protocol

import polars as pl
from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky import process_executor
from joblib.externals.loky.process_executor import BrokenProcessPool

from pickosim.errors import PickosimError, StrategyError
from pickosim.rules import RULES_VERSION
from pickosim.runs.folder import Manifest, RunFolder
from pickosim.runs.provenance import machine, peak_megabytes, versions
from pickosim.runs.sums import Sums, add

Tables = dict[str, pl.DataFrame]

MOST_GROWTH = 4 * 10**9
"""Bytes that a worker may grow by between two chunks."""


class Task(Protocol):
    """A chunk of a study: sent to a worker, and its sums are sent back."""

    @property
    def name(self) -> str:
        """Its name within the run, good as a file name."""

    @property
    def part(self) -> int:
        """The part of the study whose sums these are."""

    @property
    def games(self) -> int:
        """How many games it plays."""

    def play(self, games: Path | None) -> tuple[Sums, str]:
        """Play it; its games are written to that folder, if any: then with their file's digest."""


class Study(Protocol):
    """What a run plays: all that its result depends on, and what becomes of the sums."""

    @property
    def kind(self) -> str:
        """What kind of study it is, as `tournament`."""

    @property
    def plan(self) -> dict[str, Any]:
        """All that the result depends on, as JSON: `resume` makes the study anew from it."""

    @property
    def parts(self) -> int:
        """How many parts are added up, each for itself."""

    def stage(self, number: int, sums: Sequence[Sums]) -> Sequence[Task]:
        """What is played in that stage; nothing if all is known."""

    def tables(self, sums: Sequence[Sums]) -> Tables:
        """The results."""

    def news(self, sums: Sequence[Sums]) -> str:
        """A word on how it stands, while it is played."""

    def summary(self, sums: Sequence[Sums], tables: Tables) -> dict[str, Any]:
        """What the tables do not say: at least `games`, `unfinished` and `remarks`, as JSON."""


@dataclass(frozen=True)
class Workers:
    """Who plays: processes of this machine, or the workers of a Dask cluster."""

    number: int = 1
    scheduler: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.number, int) or self.number < 1:
            raise PickosimError(f"Workers are a whole number from 1 on, not {self.number!r}.")

    @contextmanager
    def hired(self) -> Iterator[Parallel]:
        """Workers that send results back in the order in which they finish them."""
        with (
            self._backend(),
            Parallel(n_jobs=self.number, return_as="generator_unordered", batch_size=1) as pool,
        ):
            if self.scheduler is None and self.number > 1:
                with _deaf_to_ctrl_c():
                    list(pool([delayed(int)()]))  # this starts them
            yield pool

    @contextmanager
    def _backend(self) -> Iterator[None]:
        if self.scheduler is None:
            yield
            return
        try:
            from distributed import Client
        except ImportError as error:
            raise PickosimError(
                "The Dask backend needs more packages: pip install 'pickosim[dask]'."
            ) from error
        try:
            client = Client(self.scheduler, timeout="10s")  # type: ignore[no-untyped-call]
        except (OSError, ValueError) as error:
            raise PickosimError(
                f"No Dask scheduler answers at {self.scheduler}: {error}".rstrip(".") + "."
            ) from error
        with client, parallel_config(backend="dask", client=client):
            yield


@contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    """Processes started meanwhile never hear of Ctrl-C: this one alone does, and ends them in order."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ours = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, ours)


@dataclass
class Progress:
    """Told of everything that a person may want to see while a run goes on."""

    begin: Callable[[int], object] = lambda games: None
    """How many games the stage under way adds."""
    found: Callable[[int], object] = lambda games: None
    """Games that had been played before."""
    played: Callable[[int, Sequence[Sums]], object] = lambda games, sums: None
    """Games just played, and the sums with them."""


@dataclass
class RunStoppedError(PickosimError):
    """A run that could not go on: what is finished is kept, and a command goes on with it."""

    why: str
    folder: Path | None = None
    exit_code: int = 1

    def __str__(self) -> str:
        if self.folder is None:
            return self.why
        return f"{self.why}\n{how_to_resume(self.folder)}"


def how_to_resume(folder: Path) -> str:
    """The command that goes on with a run."""
    return f"All finished chunks are kept. To go on: pickosim resume {shlex.quote(str(folder))}"


@dataclass(frozen=True)
class Outcome:
    """What a run came to."""

    sums: list[Sums]
    tables: Tables
    manifest: Manifest = field(repr=False)


def plan_digest(study: Study) -> str:
    """What marks a shard as one of this very run."""
    return sha256(dumps([study.kind, study.plan], sort_keys=True).encode()).hexdigest()[:32]


def start(
    study: Study,
    folder: RunFolder | None = None,
    workers: Workers | None = None,
    progress: Progress | None = None,
    *,
    command: str = "",
    export: Sequence[str] = (),
    notes: Mapping[str, Any] | None = None,
) -> Outcome:
    """Play a study from its beginning; in a folder, if there is one.

    `notes` are entered in the manifest; their `report` names the tables to export, if not all.
    """
    manifest: Manifest = {
        "status": "running",
        "kind": study.kind,
        "command": command,
        "run": plan_digest(study),
        "plan": study.plan,
        "rules_version": RULES_VERSION,
        "versions": {**versions(), "polars": pl.__version__},
        **machine(),
        "directory": str(Path.cwd()),
        "started": _now(),
        "seconds": 0.0,
        "games_played": 0,
        "export": list(export),
        **(notes or {}),
    }
    if folder is None:
        if study.plan.get("save_games"):
            raise PickosimError("Games are saved in a run folder; name one.")
        return _carry_on(study, None, manifest, workers or Workers(), progress or Progress())
    with folder.begin(manifest):
        return _carry_on(study, folder, manifest, workers or Workers(), progress or Progress())


def go_on(
    study: Study,
    folder: RunFolder,
    manifest: Manifest,
    workers: Workers | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Go on with a study whose folder is held."""
    return _carry_on(study, folder, manifest, workers or Workers(), progress or Progress())


def _carry_on(
    study: Study,
    folder: RunFolder | None,
    manifest: Manifest,
    workers: Workers,
    progress: Progress,
) -> Outcome:
    began, before = time.monotonic(), manifest["seconds"]
    stopwatch = {"games": manifest["games_played"]}

    def note(status: str) -> None:
        seconds = before + time.monotonic() - began
        manifest["status"] = status
        manifest["workers"] = workers.scheduler or workers.number
        manifest["seconds"] = round(seconds, 3)
        manifest["games_played"] = stopwatch["games"]
        manifest["games_per_second"] = round(stopwatch["games"] / max(seconds, 1e-9))
        manifest["peak_megabytes"] = peak_megabytes()
        if status == "finished":
            manifest["finished"] = _now()
        if folder is not None:
            folder.write_manifest(manifest)

    try:
        sums = _play_stages(study, folder, manifest["run"], workers, progress, stopwatch)
        tables = study.tables(sums)
        manifest["tables"] = list(tables)
        manifest["result"] = study.summary(sums, tables)
        if folder is not None:
            folder.write_tables(tables, manifest["export"], manifest.get("report") or tables)
        note("finished")
        return Outcome(sums, tables, manifest)
    except BaseException as error:
        with suppress(OSError):  # which may be the very thing that stopped the run
            note("stopped")
        stopped = _explained(error, folder)
        if stopped is None:
            raise
        raise stopped from error


def _play_stages(
    study: Study,
    folder: RunFolder | None,
    run: str,
    workers: Workers,
    progress: Progress,
    stopwatch: dict[str, int],
) -> list[Sums]:
    sums: list[Sums] = [{} for _ in range(study.parts)]
    number = 0
    games = None
    if folder is not None and study.plan.get("save_games"):
        games = folder.games
        games.mkdir(exist_ok=True)
    with workers.hired() as pool:
        while tasks := study.stage(number, sums):
            progress.begin(sum(task.games for task in tasks))
            left = []
            for task in tasks:
                kept = folder.kept(run, task.name) if folder is not None else None
                if kept is None:
                    left.append(task)
                else:
                    sums[task.part] = add(sums[task.part], kept)
                    progress.found(task.games)
            for task, (found, digest) in _played(pool, left, games):
                if folder is not None:
                    folder.keep(run, task.name, found, digest)
                sums[task.part] = add(sums[task.part], found)
                stopwatch["games"] += task.games
                progress.played(task.games, sums)
            number += 1
    return sums


def _played(
    pool: Parallel, tasks: Sequence[Task], games: Path | None
) -> Iterable[tuple[Task, tuple[Sums, str]]]:
    by_name = {task.name: task for task in tasks}
    for name, result in pool(delayed(_play)(task, games) for task in tasks):
        yield by_name[name], result


def _play(task: Task, games: Path | None) -> tuple[str, tuple[Sums, str]]:
    # A worker grows by the solver's caches, which are bounded. loky takes that for a leak: it would end the
    # worker with a warning, and start another one with empty caches.
    process_executor._MAX_MEMORY_LEAK_SIZE = MOST_GROWTH
    return task.name, task.play(games)


def _explained(error: BaseException, folder: RunFolder | None) -> RunStoppedError | None:
    """What stopped a run, for a person; None for a mistake of ours, which keeps its traceback."""
    path = folder.path if folder is not None else None
    match error:
        case KeyboardInterrupt():
            return RunStoppedError("Interrupted.", path, 130)
        case StrategyError():
            mended = "A mended bot is another bot, and begins a run of its own."
            return RunStoppedError(f"{error}" if path is None else f"{error}\n{mended}", path, 2)
        case PickosimError():
            return RunStoppedError(str(error), path, 2)
        case BrokenProcessPool():
            return RunStoppedError("A worker process died (killed, or out of memory).", path)
        case OSError(strerror=str(strerror)):
            where = f" ({error.filename})" if error.filename else ""
            return RunStoppedError(f"The run cannot be written: {strerror}{where}.", path)
    if type(error).__module__.startswith("distributed"):
        return RunStoppedError(f"The Dask cluster gave up: {type(error).__name__}: {error}", path)
    return None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
