"""The run: tasks of a study played by workers, added up, and kept in a run folder as they finish.

A study says in stages what is played next, given the sums so far; so it can stop when it knows enough. A stage begins
only when the one before is complete: what is decided between them depends neither on the number of workers nor on
their timing.
"""

from __future__ import annotations

import os
import platform
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from importlib import import_module
from json import dumps
from math import inf
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numba
import numpy as np
import polars as pl

from pickosim import __version__
from pickosim.errors import PickosimError
from pickosim.runs.folder import FORMAT, Manifest, RunFolder
from pickosim.runs.progress import Progress
from pickosim.runs.tasks import Answer, Order, Sources, Sums, Task, add, play_here
from pickosim.runs.workers import Play, Terminated, Workers, sigterm_interrupts

Frames = dict[str, pl.DataFrame]

SMALL_CHUNK = 20_000
"""A stage begins in this process if its first chunk has up to this many games: then it shows how fast they are."""

WORKER_START = 1.5
"""Seconds until workers have started, and loaded what they need."""


MOST_WARMED = 50
"""Parts of a study of which a little is played before workers start; bots differ from part to part."""


@dataclass(frozen=True)
class Results:
    """What a run ended in: frames by name, and how they came about.

    Every frame is an attribute too, e.g. `results.standings`; `manifest` names seed, rules and versions,
    and its `result` the games played, the unfinished ones, the headline and remarks.
    """

    frames: Mapping[str, pl.DataFrame]
    manifest: Mapping[str, Any]
    folder: Path | None = None

    def __getattr__(self, name: str) -> pl.DataFrame:
        frames = self.__dict__.get("frames", {})
        if name in frames:
            frame: pl.DataFrame = frames[name]
            return frame
        raise AttributeError(f"this run has no table {name!r}; it has {', '.join(frames)}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.frames]

    def chart(self, name: str) -> Any:
        """A chart of the results, e.g. `standings`, as an Altair chart; `charts` lists the names."""
        return _notebook().chart(self, name)

    @property
    def charts(self) -> list[str]:
        """The names of the charts that there are."""
        names: list[str] = _notebook().chart_names(self)
        return names

    def _repr_html_(self) -> str:
        """What notebooks show: the headline and the main tables."""
        html: str = _notebook().results_html(self)
        return html

    def __repr__(self) -> str:
        kind = self.manifest["kind"]
        return f"<{kind}: {self.games_played:,} games; tables {', '.join(self.frames)}>"

    @cached_property
    def games(self) -> pl.DataFrame | None:
        """One row per game and seat, if games were saved."""
        saved = [name for name in self.manifest.get("files", ()) if name.startswith("games/")]
        if self.folder is None or not saved:
            return None
        order = ("matchup", "game", "rotation", "seat")
        return pl.concat(pl.read_parquet(self.folder / name) for name in saved).sort(order)

    @property
    def games_played(self) -> int:
        """How many games the results rest on."""
        return int(self.manifest["result"]["games"])

    @property
    def unfinished(self) -> int:
        """Games among them that the turn limit ended."""
        return int(self.manifest["result"]["unfinished"])

    @property
    def headline(self) -> str:
        """The answer in short."""
        return str(self.manifest["result"]["headline"])

    @property
    def warnings(self) -> list[str]:
        """What has to be known before anything else, e.g. that a bot failed."""
        return list(self.manifest["result"].get("warnings", ()))

    @property
    def remarks(self) -> list[str]:
        """What to keep in mind when reading the tables."""
        return list(self.manifest["result"]["remarks"])


def _notebook() -> Any:
    """How notebooks show results: reports know of results, so they are imported when they are asked for."""
    return import_module("pickosim.reports.page")


SUMS_ERRORS = ValueError, LookupError, TypeError, ArithmeticError
"""What sums that do not fit together lead to."""


class Study(Protocol):
    """What a run plays: all that its result depends on, and what becomes of the sums."""

    kind: ClassVar[str]
    """The kind of study, e.g. tournament."""

    @property
    def title(self) -> str:
        """What is played, in a line."""

    @property
    def plan(self) -> dict[str, Any]:
        """All that the result depends on, as JSON: `resume` makes the study again from it."""

    @classmethod
    def all_sources(cls) -> Sources:
        """The modules of pickosim that the result depends on."""

    @property
    def parts(self) -> int:
        """How many parts are added up separately; by default, all games are added up together."""
        return 1

    @property
    def saves_games(self) -> bool:
        """Whether every game is kept as a row."""
        return False

    @property
    def all_games(self) -> int:
        """Games of all stages, as far as that is known before the first; by default it is not."""
        return 0

    def stage(self, number: int, sums: Sequence[Sums]) -> Sequence[Task]:
        """The tasks of that stage; none if the study is complete."""

    def frames(self, sums: Sequence[Sums]) -> Frames:
        """The result tables."""

    @property
    def leaves_files(self) -> bool:
        """Whether `files` has any, so that the run needs a folder."""
        return False

    def files(self, sums: Sequence[Sums]) -> dict[str, bytes]:
        """Files that the run leaves in its folder besides its tables, by name; by default none."""
        return {}

    def check_target(self, folder: Path, run: str) -> None:
        """Refuse a run folder if what `deliver` writes beside it would replace something else; by default, none."""
        return

    def deliver(self, folder: Path, run: str) -> None:
        """Copy files of a complete run to where they were asked for; by default, they stay in its folder."""
        return

    def way_on(self, bot: str, folder: Path) -> str:
        """How to go on without a bot that failed; empty if there is no way."""
        return ""

    def status(self, sums: Sequence[Sums]) -> str:
        """One-line status while it is played."""

    def summary(self, sums: Sequence[Sums], frames: Frames) -> dict[str, Any]:
        """What the tables do not say, as JSON: at least `games`, `unfinished`, `headline` and `remarks`."""


@dataclass
class RunStoppedError(PickosimError):
    """A run that stopped early: finished tasks are kept in its folder, if it has one, and a command resumes it."""

    why: str
    folder: Path | None = None
    exit_code: int = 1
    given_bots: Sequence[str] = ()
    """Bots that were given as Python objects."""
    way_on: str = ""
    """Another way to go on than to resume the run."""

    def __str__(self) -> str:
        return f"{self._ending}\n{self.way_on}".rstrip()

    @property
    def _ending(self) -> str:
        if self.folder is None:
            return self.why
        command = RunFolder(self.folder).resume_command
        if self.given_bots:
            command = resume_in_python(self.folder, self.given_bots)
        return f"{self.why}\nAll finished chunks are kept. To resume: {command}"


def resume_in_python(folder: Path, bots: Sequence[str]) -> str:
    """How to resume a run with bots that are in no file."""
    return f'pickosim.resume("{folder}", bots=[{", ".join(bots)}]) where these bots are defined'


def plan_digest(study: Study) -> str:
    """Marks a shard as one of this run."""
    return sha256(dumps([study.kind, study.plan], sort_keys=True).encode()).hexdigest()[:32]


def run(
    study: Study,
    folder: RunFolder | None = None,
    workers: Workers | None = None,
    progress: Progress | None = None,
    *,
    command: str = "",
    export: Sequence[str] = (),
    notes: Mapping[str, Any] | None = None,
) -> Results:
    """Play a study from its beginning; in a folder, if there is one.

    `notes` are added to the manifest; their `report` names the tables to export, if not all.
    """
    manifest: Manifest = {
        "format": FORMAT,
        "status": "running",
        "kind": study.kind,
        "title": study.title,
        "command": command,
        "run": plan_digest(study),
        "plan": study.plan,
        "versions": versions(),
        **machine(),
        "directory": str(Path.cwd()),
        "started": _now(),
        "seconds": 0.0,
        "games_played": 0,
        "export": list(export),
        **(notes or {}),
    }
    if folder is None:
        if study.saves_games:
            raise PickosimError("Games are saved in a run folder: name one with out.")
        if study.leaves_files:
            raise PickosimError("This run leaves a file: name it with out.")
        return _execute(study, None, manifest, workers, progress)
    study.check_target(folder.path, manifest["run"])
    with folder.begin(manifest):
        return _execute(study, folder, manifest, workers, progress)


def resume(
    study: Study,
    folder: RunFolder,
    manifest: Manifest,
    workers: Workers | None = None,
    progress: Progress | None = None,
) -> Results:
    """Resume a study whose folder is locked; the results are identical to those of an uninterrupted run."""
    study.check_target(folder.path, manifest["run"])
    return _execute(study, folder, manifest, workers, progress)


def kept_sums(study: Study, folder: RunFolder, manifest: Manifest) -> list[Sums]:
    """The sums, by part, of the tasks that an unfinished run has finished."""
    sums: list[Sums] = [{} for _ in range(study.parts)]
    number, is_complete = 0, True
    while is_complete and (tasks := study.stage(number, sums)):
        for task in tasks:
            kept = folder.kept(manifest["run"], task.name, _task_digest(task), task.games)
            is_complete &= kept is not None
            sums[task.part] = add(sums[task.part], kept or {})
        number += 1
    return sums


@sigterm_interrupts()
def _execute(
    study: Study,
    folder: RunFolder | None,
    manifest: Manifest,
    workers: Workers | None,
    progress: Progress | None,
) -> Results:
    player = _Player(study, folder, manifest, workers or Workers(), progress or Progress())
    try:
        sums = player.play_stages()
        frames = study.frames(sums)
        manifest["tables"] = list(frames)
        manifest["result"] = study.summary(sums, frames)
        if folder is not None:
            folder.write_frames(frames, manifest["export"], manifest.get("report") or frames)
            for name, content in study.files(sums).items():
                folder.write(name, content)
            # Before the run counts as finished, as the process may be killed in between.
            study.deliver(folder.path, manifest["run"])
        player.note("finished")
        return Results(frames, manifest, None if folder is None else folder.path)
    except BaseException as error:
        with suppress(OSError):  # which may be what stopped the run
            player.note("stopped")
        stopped = _explained(error, folder)
        if stopped is None and player.has_kept and isinstance(error, SUMS_ERRORS):
            stopped = RunStoppedError(
                f"What sums/ holds does not fit together ({type(error).__name__}: {error}). Delete it to play "
                "everything again.",
                None if folder is None else folder.path,
                2,
            )
        if stopped is None:
            raise
        stopped.given_bots = manifest.get("given_bots", ())
        if isinstance(error, PickosimError) and folder is not None:
            stopped.way_on = study.way_on(error.bot, folder.path)
        raise stopped from error


@dataclass
class _Player:
    """One run under way: what is played, by whom, and since when."""

    study: Study
    folder: RunFolder | None
    manifest: Manifest
    workers: Workers
    progress: Progress
    has_kept: bool = False
    """Whether sums were taken from a folder."""

    def __post_init__(self) -> None:
        self.began = time.monotonic() - self.manifest["seconds"]
        self.sums: list[Sums] = [{} for _ in range(self.study.parts)]
        self.saves_games = self.folder is not None and self.study.saves_games
        extends = self.manifest.get("extends")
        self.earlier = RunFolder(Path(extends["folder"])) if extends else None
        """The run that this one extends, if it does."""

    def note(self, status: str) -> None:
        """Write to the manifest how far the run has come."""
        manifest, seconds = self.manifest, time.monotonic() - self.began
        manifest["status"] = status
        manifest["workers"] = self.workers.scheduler or self.workers.number
        manifest["seconds"] = round(seconds, 3)
        manifest["games_per_second"] = round(manifest["games_played"] / max(seconds, 1e-9))
        manifest["peak_megabytes"] = peak_megabytes()
        if status == "finished":
            manifest["finished"] = _now()
        if self.folder is not None:
            manifest["files"] = dict(sorted(self.folder.files.items()))
            self.folder.write_manifest(manifest)

    def play_stages(self) -> list[Sums]:
        """Play stage after stage; the sums by part."""
        if self.folder is not None and self.saves_games:
            self.folder.make_games()
        number, later = 0, self.study.all_games
        if self.workers.prepare is not None:
            self.workers.prepare()
        with ExitStack() as stack:
            play: Play | None = None
            while tasks := self.study.stage(number, self.sums):
                games = sum(task.games for task in tasks)
                later = max(0, later - games)
                self.progress.begin(games, later)
                left: Sequence[Task] = [task for task in tasks if not self._was_kept(task)]
                if play is None:
                    left = self._play_here(left)
                if left:
                    play = play or stack.enter_context(self._warm_pool(left))
                    by_name = {task.name: task for task in left}
                    for answer in play(map(self._order, left)):
                        self._add(by_name[answer.name], answer)
                number += 1
        return self.sums

    def _order(self, task: Task) -> Order:
        """What a worker gets."""
        sources = self.study.all_sources()
        return Order(
            task,
            sources,
            sources.digest,
            self.saves_games,
            self.workers.prepare,
            Path.cwd() if self.workers.are_local else None,
        )

    @contextmanager
    def _warm_pool(self, tasks: Sequence[Task]) -> Iterator[Play]:
        """A pool of workers, started when all kernels are compiled: otherwise each of them would compile."""
        if self.workers.are_local:
            for task in list({task.part: task for task in tasks}.values())[:MOST_WARMED]:
                task.warm_up()
        with self.workers.pool(self.progress.say) as play:
            yield play

    def _play_here(self, tasks: Sequence[Task]) -> Sequence[Task]:
        """Play in this process for as long as workers would not be done sooner; returns what is left."""
        number, worthwhile = self.workers.number, inf
        if not self.workers.are_local or not tasks:
            return tasks
        if number > 1:
            if tasks[0].games > SMALL_CHUNK:
                return tasks
            if len(tasks) > 1:  # what is compiled must not count as the time that games take
                tasks[0].warm_up()
            # Workers make up for the time that they take to start if there is more to play than this, in seconds.
            worthwhile = WORKER_START * number / (number - 1)
        whole = left = sum(task.games for task in tasks)
        began = time.monotonic()
        for place, task in enumerate(tasks):
            if place and left * (time.monotonic() - began) / (whole - left) > worthwhile:
                return tasks[place:]
            self._add(task, play_here(self._order(task)))
            left -= task.games
        return []

    def _was_kept(self, task: Task) -> bool:
        """Whether a task was finished before, here or in the run that this one extends; then its sums are added."""
        if self.folder is None:
            return False
        own = (self.manifest["run"], task.name, _task_digest(task), task.games)
        kept = self.folder.kept(*own)
        if kept is None and self.earlier is not None:
            kept = self.folder.take(self.earlier, self.manifest["extends"]["run"], *own)
        if kept is None:
            return False
        self.sums[task.part] = add(self.sums[task.part], kept)
        self.has_kept = True
        self.progress.found(task.games)
        return True

    def _add(self, task: Task, answer: Answer) -> None:
        if self.folder is not None:
            run, content = self.manifest["run"], _task_digest(task)
            self.folder.keep(run, task.name, content, answer.sums, answer.games)
        self.sums[task.part] = add(self.sums[task.part], answer.sums)
        # Some games lead to more of them, e.g. those that are branched: then the sums say how many.
        self.manifest["games_played"] += int(answer.sums.get("games", task.games))
        self.progress.played(task.games, lambda: self.study.status(self.sums))


def _task_digest(task: Task) -> str:
    """What a task plays, down to its rules: a shard counts only for exactly that."""
    return sha256(repr(task).encode()).hexdigest()[:16]


def _explained(error: BaseException, folder: RunFolder | None) -> RunStoppedError | None:
    """What stopped a run, in a sentence; None for a defect of this program, which keeps its traceback."""
    path = folder.path if folder is not None else None
    match error:
        case Terminated():
            return RunStoppedError("Terminated.", path, 128 + signal.SIGTERM)
        case KeyboardInterrupt():
            return RunStoppedError("Interrupted.", path, 128 + signal.SIGINT)
        case PickosimError(advice=str(advice)) if advice and path is not None:
            return RunStoppedError(f"{error}\n{advice}", exit_code=2)
        case PickosimError():
            return RunStoppedError(str(error), path, 2)
        case BrokenExecutor():
            return RunStoppedError("A worker process died (killed, or out of memory).", path)
        case OSError(strerror=str(strerror)):
            where = f" ({error.filename})" if error.filename else ""
            return RunStoppedError(f"The run cannot be written: {strerror}{where}.", path)
    if type(error).__module__.startswith("distributed"):
        return RunStoppedError(f"The Dask cluster gave up: {type(error).__name__}: {error}", path)
    return None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


# ------------------------------------------------------------------------------------ where it is played


def machine() -> dict[str, Any]:
    """The machine, as it describes itself."""
    return {"machine": _processor(), "cores": os.cpu_count(), "system": platform.platform()}


def versions() -> dict[str, Any]:
    """The versions that a result depends on."""
    return {
        "pickosim": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "polars": pl.__version__,
    }


def peak_megabytes() -> int | None:
    """Peak memory of this process so far; None where the system does not report it."""
    try:
        import resource
    except ImportError:
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(most / (1 << 20 if sys.platform == "darwin" else 1 << 10))


def _processor() -> str:
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8") as lines:
            return next(line.split(":")[1].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
