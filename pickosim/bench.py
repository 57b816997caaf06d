"""The benchmark: games per second, stated with machine, versions and warm-up."""

from __future__ import annotations

import os
import pickle
import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from math import comb
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from pickosim.bots.simple import SimpleStrategy
from pickosim.bots.strategy import Strategy
from pickosim.bots.view import BoolArray, Turn
from pickosim.engine.dice import POINTS
from pickosim.games.batch import BATCH, Batch, play_games
from pickosim.games.match import Match, make_match
from pickosim.runs.folder import RunFolder
from pickosim.runs.provenance import machine, versions
from pickosim.runs.run import run
from pickosim.runs.tasks import Order, Sums, add
from pickosim.runs.workers import Workers
from pickosim.solver.graph import Problem, graph
from pickosim.solver.solve import solve
from pickosim.studies.arms import ArmsJob, Chunk
from pickosim.studies.schedule import lane
from pickosim.studies.tournament import Tournament
from pickosim.studies.warm import warm_up

REPEATS = 3
"""Runs of each case; the best is reported."""

BATCHES = 4
"""Batches that a run of the engine has at least. When the last games have been dealt, those that end leave
their places empty, and steps cost nearly as much for few games as for many: with fewer batches that
would count for too much."""

CHUNKS_KEPT = 200
"""Chunks that are kept to tell how long it takes."""

LONGER = 4
"""A tournament is timed this much longer than a case of bare games: a few of its costs come but once."""

SIMPLE = ("eager", "threshold", "cautious", "gambler", "thief")
"""Bots that answer at once."""

Row = dict[str, Any]


class PlainEager(Strategy):
    """The calibration bot `eager`, as an author would write it: a few lines of NumPy."""

    def pick(self, turn: Turn) -> NDArray[np.int16]:
        return turn.best(turn.counts * POINTS)

    def stop(self, turn: Turn) -> BoolArray:
        return turn.can_claim


class PlainPython(SimpleStrategy):
    """The same bot, deciding one game at a time."""

    def pick(self, turn: Any) -> Any:
        return max(turn.legal, key=lambda face: (turn.counts[face] * min(face, 5), face))

    def stop(self, turn: Any) -> Any:
        return turn.can_claim


PROGRAM = """\
import json, sys
def pick(game):
    counts, legal = game
    return max(legal, key=lambda face: (counts[face] * min(face, 5), face))
for line in sys.stdin:
    ask = json.loads(line)
    if ask["type"] == "hello":
        reads = ["counts", "legal", "can_claim"]
        print(json.dumps({"protocol": 1, "name": "eager", "reads": reads}), flush=True)
    elif ask["type"] == "ask":
        is_pick = ask["method"] == "pick"
        answers = [*map(pick, zip(ask["counts"], ask["legal"]))] if is_pick else ask["can_claim"]
        print(json.dumps({"answers": answers}), flush=True)
"""
"""The same bot as a program."""


def run_bench(seconds: float = 2.0) -> list[Row]:
    """All cases, each run for about that many seconds (at least some batches), best of three."""
    began = perf_counter()
    warm_up()
    warm = perf_counter() - began
    common = {
        "solver_payoffs_per_second": _solver_speed(seconds),
        "warm_up_seconds": round(warm, 2),
        "repeats": REPEATS,
        **machine(),
        **versions(),
    }
    return [
        {**row, **common}
        for row in (
            *_engine_rows("classic-2-eager", make_match(["eager"] * 2, "classic"), seconds),
            *_engine_rows("extrawurm-2-eager", make_match(["eager"] * 2, "extrawurm"), seconds),
            *_engine_rows("extrawurm-4-eager", make_match(["eager"] * 4, "extrawurm"), seconds),
            _engine_row("classic-2-numpy", make_match([PlainEager()] * 2, "classic"), seconds, 1),
            _engine_row(
                "extrawurm-2-numpy", make_match([PlainEager()] * 2, "extrawurm"), seconds, 1
            ),
            _engine_row("classic-2-python", make_match([PlainPython()] * 2, "classic"), seconds, 1),
            *_command_rows(seconds),
            *_tournament_rows(seconds),
            *(
                _valuation_row(bot, rules, players, seconds)
                for bot in ("expected", "winner", "champion")
                for rules in ("classic", "extrawurm")
                for players in (2, 4)
            ),
        )
    ]


def _command_rows(seconds: float) -> list[Row]:
    """A program, where programs can be bots."""
    if os.name != "posix":
        return []
    spec = f"cmd:{shlex.join([sys.executable, '-c', PROGRAM])}"
    return [_engine_row("classic-2-command", make_match([spec] * 2, "classic"), seconds, 1)]


def _engine_rows(name: str, match: Match, seconds: float) -> list[Row]:
    """One core, and all of them."""
    cores = os.cpu_count() or 1
    return [_engine_row(name, match, seconds, workers) for workers in sorted({1, cores})]


def _engine_row(
    name: str,
    match: Match,
    seconds: float,
    workers: int,
    trial: int = BATCH,
    least: int = BATCHES * BATCH,
) -> Row:
    games = _games_for(lambda games: play_games(match, 0, games), seconds, trial, least)
    if workers == 1:
        best = _best_time(lambda: play_games(match, 0, games))
    else:
        with Parallel(n_jobs=workers) as pool:
            jobs = [delayed(_play_share)(match, games * k, games) for k in range(workers)]
            pool(delayed(_play_share)(match, 0, 64) for _ in range(workers * 4))
            best = _best_time(lambda: pool(jobs))
    return {
        "name": name,
        "games_per_second": round(games * workers / best),
        "workers": workers,
        "games": games * workers,
        "seconds": round(best, 3),
        "bytes_per_running_game": Batch(match, 0, BATCH).bytes_per_game,
    }


def _tournament_rows(seconds: float) -> list[Row]:
    """A round robin of simple bots with all that is around the games: on one core, and on all of them.

    `overhead` is what schedule, statistics and checkpoints add to the time of the bare games.
    """
    cores = os.cpu_count() or 1
    match = make_match(SIMPLE[:2], "classic")
    pairs = comb(len(SIMPLE), 2)
    every = _games_for(lambda games: play_games(match, 0, games), LONGER * seconds, BATCH, BATCH)
    each = every // pairs
    study = Tournament(SIMPLE, games=max(each, 2000), workers=cores).checked()
    games = sum(task.games for task in study.stage(0, []))
    rows = []
    for workers in sorted({1, cores}):
        times, bare = [], []
        for repeat in range(REPEATS):
            # In turn, now the one first and now the other, so that a busy machine slows both.
            for with_all_around in (True, False) if repeat % 2 == 0 else (False, True):
                if with_all_around:
                    times.append(_tournament_time(study, workers))
                elif workers == 1:
                    bare.append(_best_time(lambda: _play_bare(study), 1))
        row = {
            "name": "tournament-classic-2-simple",
            "games_per_second": round(games / min(times)),
            "workers": workers,
            "games": games,
            "seconds": round(min(times), 3),
            "bytes_per_running_game": None,
        }
        if bare:
            row["overhead"] = round(min(times) / min(bare) - 1, 4)
            row |= _chunk_costs(study)
        rows.append(row)
    return rows


def _chunk_costs(study: Tournament) -> Row:
    """What a chunk costs beside its games: bytes to a worker and back, and the parent's time to keep it."""
    task = study.stage(0, [])[0]
    sums, _ = task.play({}, save_games=False)
    with TemporaryDirectory() as name:
        folder = RunFolder(Path(name) / "run")
        with folder.begin({}):

            def keep(chunks: int) -> None:
                total: Sums = {}
                for chunk in range(chunks):
                    folder.keep("", str(chunk), "", sums, b"")
                    total = add(total, sums)

            seconds = _best_time(lambda: keep(CHUNKS_KEPT)) / CHUNKS_KEPT
    return {
        "chunk_sent_bytes": len(pickle.dumps(_order(study, task))),
        "chunk_returned_bytes": len(pickle.dumps(sums)),
        "chunk_kept_milliseconds": round(1000 * seconds, 2),
    }


def _tournament_time(study: Tournament, workers: int) -> float:
    """Seconds of a whole run in a folder, its workers having been started before."""
    crew = Workers(workers)
    with TemporaryDirectory() as folder:
        with crew.pool() as pool:
            small = [replace(task, blocks=range(64)) for task in study.stage(0, [])[:8]]
            list(pool.play(_order(study, task) for task in small))
        began = perf_counter()
        run(study, RunFolder(Path(folder) / "run"), crew)
        return perf_counter() - began


def _order(study: Tournament, task: Chunk) -> Order:
    sources = study.all_sources()
    return Order(task, sources, sources.digest)


def _play_bare(study: Tournament) -> None:
    """The games of a tournament and nothing else."""
    for chunk in study.stage(0, []):
        assert isinstance(chunk.job, ArmsJob)
        for arm in chunk.job.arms:
            play_games(
                arm.match(study.seed), lane(chunk.lane) + chunk.blocks.start, len(chunk.blocks)
            )


def _valuation_row(bot: str, rules: str, players: int, seconds: float) -> Row:
    """A valuation against itself."""
    match = make_match([bot] * players, rules)
    return _engine_row(f"{rules}-{players}-{bot}", match, seconds, 1, trial=256, least=256)


def _solver_speed(seconds: float) -> int:
    """Pay-offs a second on one core, in batches of 512 random ones, eight dice, in single precision."""
    plan = graph(Problem())
    worth = np.random.default_rng(0).random((512, plan.columns), np.float32)

    def run(payoffs: int) -> None:
        for _ in range(0, payoffs, len(worth)):
            solve(plan, worth)

    payoffs = _games_for(run, seconds, trial=len(worth))
    return round(payoffs / _best_time(lambda: run(payoffs)))


def _play_share(match: Match, first: int, games: int) -> int:
    return len(play_games(match, first, games).turns)


def _games_for(
    play: Callable[[int], object], seconds: float, trial: int, least: int | None = None
) -> int:
    """About as many games as fit into the time, by a trial; as many as in the trial at least."""
    play(trial)
    began = perf_counter()
    play(trial)
    return max(trial if least is None else least, round(trial * seconds / (perf_counter() - began)))


def _best_time(run: Callable[[], object], repeats: int = REPEATS) -> float:
    times = []
    for _ in range(repeats):
        began = perf_counter()
        run()
        times.append(perf_counter() - began)
    return min(times)
