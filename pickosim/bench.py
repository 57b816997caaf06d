"""The benchmark: games per second, stated with machine, versions and warm-up."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from math import comb
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.text import Text

from pickosim.bots.loading import BotLike
from pickosim.bots.simple import SimpleStrategy
from pickosim.bots.strategy import Strategy
from pickosim.bots.view import BoolArray, Turn
from pickosim.columns import percent
from pickosim.engine.dice import POINTS
from pickosim.games.batch import BATCH, Batch, play_games, warm_up
from pickosim.games.match import make_match
from pickosim.reports.layout import Grid, grid
from pickosim.runs.folder import RunFolder
from pickosim.runs.run import machine, run, versions
from pickosim.runs.tasks import Order
from pickosim.runs.workers import Workers
from pickosim.solver.graph import Problem, graph
from pickosim.solver.solve import solve
from pickosim.stats.intervals import FITTED_FROM
from pickosim.studies.arms import ArmsJob
from pickosim.studies.schedule import lane
from pickosim.studies.shares import adjusted, combined
from pickosim.studies.tournament import Tournament

REPEATS = 3
"""Runs of each case; the best is reported."""

BATCHES = 4
"""Batches that a run of the engine has at least. When the last games have been dealt, those that end leave
their places empty, and steps cost nearly as much for few games as for many: with fewer batches that
would count for too much."""

LONGER = 4
"""A tournament is timed this much longer than a case of bare games: a few of its costs come but once."""

CORES = sorted({1, os.cpu_count() or 1})
"""Numbers of workers: one, and as many as there are cores."""

TABLES = [(rules, players) for rules in ("classic", "extrawurm") for players in (2, 4)]

AHEAD = ("expected", "winner", "champion")
"""Bots that solve each turn."""

WITHOUT_LUCK = ("champion", "expected")
"""The bots whose luck is taken out, for what that brings."""

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
        **_gain_without_luck(seconds),
        "warm_up_seconds": round(warm, 2),
        "repeats": REPEATS,
        **machine(),
        **versions(),
    }
    many, few = (BATCH, BATCHES * BATCH), (256, 256)
    eager = [("classic", 2), ("extrawurm", 2), ("extrawurm", 4)]
    plain: list[tuple[str, Any, str]] = [
        ("numpy", PlainEager(), "classic"),
        ("numpy", PlainEager(), "extrawurm"),
        ("python", PlainPython(), "classic"),
    ]
    if os.name == "posix":  # where programs can be bots
        program = f"cmd:{shlex.join([sys.executable, '-c', PROGRAM])}"
        plain.append(("command", program, "classic"))
    rows = [
        *(
            _engine_row("eager", "eager", rules, players, seconds, *many)
            for rules, players in eager
        ),
        *(_engine_row(name, bot, rules, 2, seconds, *many) for name, bot, rules in plain),
        *_tournament_rows(seconds),
        *(_engine_row(bot, bot, *table, seconds, *few) for bot in AHEAD for table in TABLES),
    ]
    return [{**row, **common} for row in rows]


def _engine_row(
    name: str, bot: BotLike, rules: str, players: int, seconds: float, trial: int, least: int
) -> Row:
    """A bot against itself, on one core."""
    match = make_match([bot] * players, rules)
    games = _games_for(lambda games: play_games(match, 0, games), seconds, trial, least)
    best = _best_time(lambda: play_games(match, 0, games))
    memory = Batch(match, 0, BATCH).bytes_per_game
    return _row(f"{rules}-{players}-{name}", 1, games, best) | {"bytes_per_running_game": memory}


def _row(name: str, workers: int, games: int, seconds: float) -> Row:
    return {
        "name": name,
        "games_per_second": round(games / seconds),
        "workers": workers,
        "games": games,
        "seconds": round(seconds, 3),
    }


def _tournament_rows(seconds: float) -> list[Row]:
    """A round robin of simple bots with all that is around the games: on one core, and on all of them.

    `overhead` is what schedule, statistics and checkpoints add to the time of the bare games.
    """
    match = make_match(SIMPLE[:2], "classic")
    pairs = comb(len(SIMPLE), 2)
    every = _games_for(lambda games: play_games(match, 0, games), LONGER * seconds, BATCH, BATCH)
    each = every // pairs
    study = Tournament(SIMPLE, games=max(each, 2000), workers=CORES[-1]).checked()
    games = sum(task.games for task in study.stage(0, []))
    times: dict[int, list[float]] = {workers: [] for workers in CORES}
    bare = []
    for _ in range(REPEATS):  # in turn, so that a busy machine slows all of them
        bare.append(_best_time(lambda: _play_bare(study), 1))
        for workers in CORES:
            times[workers].append(_tournament_time(study, workers))
    rows = [_row("tournament-classic-2-simple", w, games, min(times[w])) for w in CORES]
    rows[0]["overhead"] = round(min(times[CORES[0]]) / min(bare) - 1, 4)
    return rows


def _tournament_time(study: Tournament, workers: int) -> float:
    """Seconds of a whole run in a folder, its workers having been started before."""
    crew = Workers(workers)
    with TemporaryDirectory() as folder:
        with crew.pool() as play:
            small = [replace(task, blocks=range(64)) for task in study.stage(0, [])[:8]]
            sources = study.all_sources()
            list(play(Order(task, sources, sources.digest) for task in small))
        began = perf_counter()
        run(study, RunFolder(Path(folder) / "run"), crew)
        return perf_counter() - began


def _play_bare(study: Tournament) -> None:
    """The games of a tournament and nothing else."""
    for chunk in study.stage(0, []):
        assert isinstance(chunk.job, ArmsJob)
        for arm in chunk.job.arms:
            play_games(
                arm.match(study.seed), lane(chunk.lane) + chunk.blocks.start, len(chunk.blocks)
            )


def _gain_without_luck(seconds: float) -> Row:
    """What it brings to take out the luck of the dice: what divides the variance of a share, and multiplies the time."""
    (chunk, *_) = Tournament(WITHOUT_LUCK, games=2, luck="on", workers=1).checked().stage(0, [])
    match = make_match(WITHOUT_LUCK, "classic")
    games = _games_for(lambda games: play_games(match, 0, games), seconds, 256)
    blocks = max(games // 2, 2 * FITTED_FROM)
    jobs = [chunk.job, replace(chunk.job, luck_by=None)]
    times: list[list[float]] = [[], []]
    for _ in range(REPEATS):  # in turn, so that a busy machine slows both
        for job, spent in zip(jobs, times, strict=True):
            spent.append(_best_time(lambda job=job: job.play(0, 0, blocks), 1))  # type: ignore[misc]
    judged, bare = map(min, times)
    sums, _ = chunk.job.play(0, 0, blocks)
    plain, left = (of(sums, {0: 1.0}, None).variance_of_total for of in (combined, adjusted))
    return {
        "luck_variance_ratio": round(plain / left, 2),
        "luck_time_ratio": round(judged / bare, 2),
    }


def _solver_speed(seconds: float) -> int:
    """Pay-offs a second on one core, in batches of 512 random ones, eight dice, in single precision."""
    plan = graph(Problem())
    worth = np.random.default_rng(0).random((512, plan.columns), np.float32)

    def run(payoffs: int) -> None:
        for _ in range(0, payoffs, len(worth)):
            solve(plan, worth)

    payoffs = _games_for(run, seconds, trial=len(worth))
    return round(payoffs / _best_time(lambda: run(payoffs)))


def _games_for(
    play: Callable[[int], object], seconds: float, trial: int, least: int | None = None
) -> int:
    """About as many games as fit into the time, by a trial; as many as in the trial at least."""
    play(trial)
    began = perf_counter()
    play(trial)
    return max(trial if least is None else least, round(trial * seconds / (perf_counter() - began)))


def bench_tables(rows: list[Row]) -> Iterator[Grid | Text]:
    """A benchmark: the speeds, and under which conditions."""
    columns = [("case", "left"), ("workers", "right"), ("games/s", "right"), ("games", "right")]
    speeds = [
        (row["name"], row["workers"], f"{row['games_per_second']:,}", f"{row['games']:,}")
        for row in rows
    ]
    yield grid(f"Best of {rows[0]['repeats']} runs", columns, speeds)
    alone, *more = (row for row in rows if row["name"].startswith("tournament"))
    # Below that the clock tells nothing: the same games differ by more from one run to the next.
    added = percent(alone["overhead"]) if alone["overhead"] > 0.005 else "less than 0.50 %"
    around = f"Schedule, statistics and checkpoints add {added} to the games' time."
    for row in more:
        ratio = row["games_per_second"] / alone["games_per_second"]
        around += f" {row['workers']} workers play a tournament {ratio:.2f} times as fast as one."
    first = rows[0]
    yield Text()
    yield Text(around)
    variance, time = first["luck_variance_ratio"], first["luck_time_ratio"]
    yield Text(
        f"Without luck, {' and '.join(WITHOUT_LUCK)} (classic, 2 players) take {time:.2f} times as long, and the variance of "
        f"a win share is divided by {variance:.1f}: {variance / time:.1f} times as much is known per second."
    )
    yield Text(
        f"Solver: {first['solver_payoffs_per_second']:,} pay-offs/s on one core. "
        f"{first['bytes_per_running_game']:.0f} bytes per running game. Kernels warmed up before "
        f"({first['warm_up_seconds']} s). {first['machine']}, {first['cores']} cores, {first['system']}; "
        f"pickosim {first['pickosim']}, Python {first['python']}, NumPy {first['numpy']}, "
        f"Numba {first['numba']}."
    )


def _best_time(run: Callable[[], object], repeats: int = REPEATS) -> float:
    times = []
    for _ in range(repeats):
        began = perf_counter()
        run()
        times.append(perf_counter() - began)
    return min(times)
