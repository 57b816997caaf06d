"""What notebooks call: everything the command line does, in a line or two, as polars frames.

What `play` does not need is imported where it is used: a few games are played at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from pickosim.amounts import LANE
from pickosim.bots.guard import ANSWER_SECONDS, GAME_SECONDS, check_seconds
from pickosim.bots.guard import answer_seconds as time_limit_of
from pickosim.bots.strategy import Strategy
from pickosim.errors import BotError, PickosimError
from pickosim.explanations import options_in_use
from pickosim.games.batch import play_games
from pickosim.games.frames import Played
from pickosim.games.match import Match, check_numbers, make_match
from pickosim.rule_files import differences, load_rules
from pickosim.rules import RuleSet
from pickosim.runs.progress import Progress
from pickosim.runs.results import Results

if TYPE_CHECKING:
    from pickosim.games.trace import Event

MOST_LISTED = 3
"""Damaged files that are named."""


def play(
    bots: Sequence[str | Strategy],
    rules: str | RuleSet = "classic",
    games: int = 10_000,
    seed: int = 0,
    first: int = 0,
    *,
    answer_seconds: float = ANSWER_SECONDS,
) -> Played:
    """Play games between bots, seated in this order (seat 0 begins), numbered from `first`.

    A bot may take so many seconds for an answer, about thousands of games at once.
    """
    with time_limit_of(check_seconds(answer_seconds)):
        match = make_match(bots, rules, seed)
        check_numbers(first, games)
        return Played(match, first, play_games(match, first, games))


def watch(
    bots: Sequence[str | Strategy],
    rules: str | RuleSet = "classic",
    seed: int = 0,
    game: int = 0,
    *,
    answer_seconds: float = GAME_SECONDS,
) -> list[Event]:
    """Every event of one game, the same game that a batch with that seed plays as that number."""
    from pickosim.games.trace import trace_game

    with time_limit_of(check_seconds(answer_seconds)):
        return trace_game(make_match(bots, rules, seed), game)


def resume(
    folder: str | Path,
    workers: int | None = None,
    *,
    backend: str | None = None,
    scheduler: str | None = None,
    answer_seconds: float = ANSWER_SECONDS,
    progress: Progress | None = None,
) -> Results:
    """Resume an interrupted run; the results are identical to those of an uninterrupted one.

    Played by so many workers, or on all cores. Damaged files of a finished run are made again.
    """
    from pickosim.runs.folder import RunFolder
    from pickosim.runs.run import resume as resume_run
    from pickosim.studies.kinds import study_kind
    from pickosim.studies.options import CORES, RunOptions, make_options
    from pickosim.studies.stored import load_results
    from pickosim.studies.study import crew_of, study_of

    options = make_options(
        RunOptions,
        workers=CORES if workers is None else workers,
        backend=backend,
        scheduler=scheduler,
        answer_seconds=answer_seconds,
    )
    progress = progress or Progress()
    run_folder = RunFolder(Path(folder))
    with run_folder.reopen() as manifest:
        if run_folder.was_restored:
            progress.say("manifest.json was damaged; it is restored from plan.json.")
        if manifest["status"] == "finished":
            damaged = run_folder.damaged(manifest)
            if not damaged:
                progress.say("The run is finished; nothing is left to play.")
                return load_results(folder)
            progress.say(f"Damaged or missing files are made again: {_listed(damaged)}.")
        try:
            study = study_of(study_kind(manifest["kind"]), manifest)
        except BotError as error:
            began = Path(manifest["directory"])
            if began == Path.cwd():
                raise
            raise BotError(
                f"{error} The run was started in {began}: resume it from there."
            ) from error
        return resume_run(study, run_folder, manifest, crew_of(options), progress)


def _listed(files: Sequence[str]) -> str:
    """The first of some files, and how many more there are."""
    more = len(files) - MOST_LISTED
    return f"{', '.join(files[:MOST_LISTED])}{f' and {more:,} more' if more > 0 else ''}"


def game_of_run(folder: str | Path, game: int, rotation: int = 0) -> Match:
    """The match that a tournament's folder has under that game number, in that rotation of the seats."""
    from pickosim.bots.entrants import check_bot_sources
    from pickosim.runs.folder import RunFolder
    from pickosim.studies.schedule import rotations
    from pickosim.studies.stored import planned_study
    from pickosim.studies.tournament import Tournament

    manifest = RunFolder(Path(folder)).manifest()
    if manifest["kind"] != Tournament.kind:
        raise PickosimError(f"{folder} is not a tournament; its games cannot be watched.")
    study = planned_study(manifest)
    number, block = divmod(game, LANE)
    most = study.looks[-1]
    if not (0 <= number < study.parts and block < most):
        raise PickosimError(
            f"The run {folder} has no game {game}. Its matchup m (0 to {study.parts - 1}) has the games "
            f"m × {LANE:,} to m × {LANE:,} + {most - 1:,}, see matchups.parquet."
        )
    if not 0 <= rotation < study.players:
        raise PickosimError(
            f"Rotations go from 0 to {study.players - 1} with {study.players} players, not {rotation}."
        )
    by_name = {entrant.name: entrant for entrant in study.entrants}
    matchup = study.matchups[number]
    entrants = [by_name[bot] for bot in matchup]
    check_bot_sources(entrants)
    specs = [entrant.spec for entrant in entrants]
    match = make_match(specs, study.rules, study.seed, rotations(matchup))
    return match.seated_for(game, rotation)


def report(run: str | Path | Results, path: str | Path | None = None) -> Path:
    """Write the HTML page of a finished run, by default into its folder; returns its path."""
    from pickosim.reports.html_report import write_report

    folder = run.folder if isinstance(run, Results) else Path(run)
    if folder is None:
        raise PickosimError("A page is made from a run folder: play with out=…, then report it.")
    return write_report(folder, None if path is None else Path(path))


def show_rules(rules: str | Path | RuleSet, sets: Sequence[str] = ()) -> pl.DataFrame:
    """Every option of a rule set: its value, what that means, and what is allowed."""
    return pl.DataFrame([asdict(each) for each in options_in_use(load_rules(rules, sets))])


def diff_rules(a: str | Path | RuleSet, b: str | Path | RuleSet) -> pl.DataFrame:
    """What differs between two rule sets: option or entry, its value in `a`, its value in `b`."""
    rows = differences(load_rules(a), load_rules(b))
    return pl.DataFrame(rows, dict.fromkeys(("option", "a", "b"), pl.String), orient="row")


def benchmark(seconds: float = 2.0) -> pl.DataFrame:
    """Games per second on this machine, one row per case."""
    from pickosim.bench import run_bench

    return pl.DataFrame(run_bench(seconds))
