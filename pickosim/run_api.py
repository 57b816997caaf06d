"""What can be done with a run folder: resume it, extend it, replay a game of it, make its page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pickosim.amounts import LANE, parse_count
from pickosim.bots.entrants import check_bot_sources
from pickosim.bots.given import given_class
from pickosim.bots.guard import ANSWER_SECONDS, set_answer_seconds
from pickosim.bots.loading import BotLike, as_specs
from pickosim.errors import BotError, PickosimError
from pickosim.games.match import Match, make_match
from pickosim.runs.folder import RunFolder, new_folder
from pickosim.runs.manifest import Manifest
from pickosim.runs.progress import Progress, shown_progress
from pickosim.runs.results import Results
from pickosim.runs.run import resume as resume_run
from pickosim.runs.run import resume_in_python
from pickosim.studies.kinds import study_kind
from pickosim.studies.options import CORES, BotList, RunOptions, make_options
from pickosim.studies.schedule import matchup_lanes, rotations
from pickosim.studies.stored import check_finished, load_results, planned_study
from pickosim.studies.study import bot_list, play_study, study_of, workers_for
from pickosim.studies.tournament import Tournament

MOST_LISTED = 3
"""Damaged files that are named."""


def resume(
    folder: str | Path,
    workers: int = CORES,
    *,
    backend: str | None = None,
    scheduler: str | None = None,
    answer_seconds: float = ANSWER_SECONDS,
    progress: bool | Progress | None = None,
    bots: Sequence[BotLike] = (),
) -> Results:
    """Resume an interrupted run; the results are identical to those of an uninterrupted one.

    Damaged files of a finished run are made again. `bots` are those of the run that were given as classes or
    instances: they are in no file to be loaded from.
    """
    as_specs(bots)
    how = make_options(
        RunOptions,
        workers=workers,
        backend=backend,
        scheduler=scheduler,
        answer_seconds=answer_seconds,
    )
    with shown_progress(progress) as shown:
        return _resume(Path(folder), how, shown)


def _resume(folder: Path, how: RunOptions, progress: Progress) -> Results:
    run_folder = RunFolder(folder)
    with run_folder.reopen() as manifest:
        if run_folder.was_restored:
            progress.say("manifest.json was damaged; it is restored from plan.json.")
        if manifest["status"] == "finished":
            damaged = run_folder.damaged(manifest)
            if not damaged:
                progress.say("The run is finished; nothing is left to play.")
                return load_results(folder)
            progress.say(f"Damaged or missing files are made again: {_listed(damaged)}.")
        study = _study_in(folder, manifest, "resume")
        results = resume_run(study, run_folder, manifest, workers_for(study, how), progress)
        study.deliver(results)
        return results


def _study_in(folder: Path, manifest: Manifest, verb: str) -> Any:
    """The study of a run, if it would still play the same games."""
    try:
        return study_of(study_kind(manifest["kind"]), manifest)
    except BotError as error:
        absent = [name for name in manifest.get("given_bots", []) if given_class(name) is None]
        if absent:
            then = "" if verb == "resume" else f"; then {verb} it"
            raise BotError(
                f"The run has bots that were defined in Python and not in a file ({', '.join(absent)}). To {verb} "
                f"it: {resume_in_python(folder, manifest['given_bots'])}{then}"
            ) from error
        began = Path(manifest["directory"])
        if began == Path.cwd():
            raise
        raise BotError(f"{error} The run was started in {began}: {verb} it from there.") from error


def _listed(files: Sequence[str]) -> str:
    """The first of some files, and how many more there are."""
    more = len(files) - MOST_LISTED
    return f"{', '.join(files[:MOST_LISTED])}{f' and {more:,} more' if more > 0 else ''}"


def game_of_run(folder: str | Path, game: int, rotation: int = 0) -> Match:
    """The match that a tournament's folder has under that game number, in that rotation of the seats."""
    manifest = RunFolder(Path(folder)).manifest()
    if manifest["kind"] != Tournament.kind:
        raise PickosimError(f"{folder} is not a tournament; its games cannot be watched.")
    study = planned_study(manifest)
    lanes = matchup_lanes(study.matchups)
    number, block = divmod(game, LANE)
    most = study.looks[-1]
    if not (number in lanes and block < most):
        raise PickosimError(
            f"The run {folder} has no game {game}. Its matchup m (e.g. {lanes[0]}) has the games "
            f"m × {LANE:,} to m × {LANE:,} + {most - 1:,}, see matchups.parquet."
        )
    if not 0 <= rotation < study.seats:
        raise PickosimError(
            f"Rotations go from 0 to {study.seats - 1} with {study.seats} players, not {rotation}."
        )
    by_name = {entrant.name: entrant for entrant in study.entrants}
    matchup = study.matchups[lanes.index(number)]
    entrants = [by_name[bot] for bot in matchup]
    check_bot_sources(entrants)
    specs = [entrant.spec for entrant in entrants]
    match = make_match(specs, study.rule_set, study.seed, rotations(matchup))
    return match.seated_for(game, rotation)


def extend(
    run: str | Path | Results,
    bots: BotList = (),
    games: int | str | None = None,
    *,
    workers: int = CORES,
    backend: str | None = None,
    scheduler: str | None = None,
    answer_seconds: float = ANSWER_SECONDS,
    out: str | Path | None = None,
    export: str | Sequence[str] = (),
    progress: bool | Progress | None = None,
    chunk: int | None = None,
    command: str = "",
) -> Results:
    """Add bots to a finished tournament, or play on until every matchup has so many games.

    Only what is missing is played; the tables are identical to those of one tournament with all bots and
    games. The result is a run of its own, in a new folder beside the old one unless `out` names another.
    """
    folder = run.folder if isinstance(run, Results) else Path(run)
    if folder is None:
        raise PickosimError("A tournament is extended from its run folder: play it with out=….")
    how = {
        "workers": workers,
        "backend": backend,
        "scheduler": scheduler,
        "answer_seconds": answer_seconds,
        "out": out,
        "export": export,
        "chunk": chunk,
    }
    make_options(RunOptions, **how)
    manifest = RunFolder(folder).manifest()
    if manifest["kind"] != Tournament.kind:
        raise PickosimError(f"{folder} is a {manifest['kind']}; only a tournament can be extended.")
    check_finished(folder, manifest)
    set_answer_seconds(answer_seconds)
    began = _study_in(folder, manifest, "extend")
    more_games = None if games is None else parse_count(games)
    study = began.extended(bot_list(bots), more_games, **how).checked()
    with shown_progress(progress) as shown:
        shown.say(_about_reuse(folder, began, study))
        return play_study(
            study,
            study,
            folder=None if out is not None else new_folder(study.kind, folder.parent),
            progress=shown,
            command=command,
            notes={"extends": {"folder": str(folder.resolve()), "run": manifest["run"]}},
        )


def _about_reuse(folder: Path, began: Tournament, study: Tournament) -> str:
    """How much of an extended run is there already."""
    again = len(set(began.matchups) & set(study.matchups))
    games = again * began.looks[-1] * study.seats
    left = len(study.matchups) * study.looks[-1] * study.seats - games
    return f"{games:,} games of {again:,} matchups are taken over from {folder}; {left:,} are left to play."


def report(run: str | Path | Results, path: str | Path | None = None) -> Path:
    """Write the HTML page of a finished run, by default into its folder; returns its path."""
    from pickosim.reports.page import write_report

    folder = run.folder if isinstance(run, Results) else Path(run)
    if folder is None:
        raise PickosimError("A page is made from a run folder: play with out=…, then report it.")
    return write_report(folder, None if path is None else Path(path))
