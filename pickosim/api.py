"""What notebooks call: everything the command line does, in a line or two, as polars frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from pickosim.amounts import count, share
from pickosim.bench import run_bench
from pickosim.bots.entrants import check_sources, enter
from pickosim.bots.strategy import Strategy
from pickosim.errors import BotError, PickosimError
from pickosim.games.batch import play_games
from pickosim.games.frames import Played
from pickosim.games.match import Match, check_numbers, seat
from pickosim.games.trace import Event, trace_game
from pickosim.reports.html_report import write_report
from pickosim.rules import RuleSet, load_rules
from pickosim.runs.folder import RunFolder
from pickosim.runs.results import Results, load_results, results_of
from pickosim.runs.run import Progress, Study, Workers, go_on, start
from pickosim.stats.sprt import Sprt
from pickosim.stats.sprt import parse as parse_sprt
from pickosim.studies.balance import Balance
from pickosim.studies.compare import Compare
from pickosim.studies.experiments import Experiment, load_experiment
from pickosim.studies.kinds import check_unchanged, study_of
from pickosim.studies.schedule import LANE, MOST_TABLES, rotations, table_sizes
from pickosim.studies.tournament import Tournament
from pickosim.studies.variants import make_variants


def play(
    bots: Sequence[str | Strategy],
    rules: str | RuleSet = "classic",
    games: int = 10_000,
    seed: int = 0,
    first: int = 0,
) -> Played:
    """Play games between bots, seated in this order (seat 0 begins), numbered from `first`."""
    match = seat(bots, rules, seed)
    check_numbers(first, games)
    return Played(match, first, play_games(match, first, games))


def watch(
    bots: Sequence[str | Strategy],
    rules: str | RuleSet = "classic",
    seed: int = 0,
    game: int = 0,
) -> list[Event]:
    """Every event of one game, the same game that a batch with that seed plays as that number."""
    return trace_game(seat(bots, rules, seed), game)


def plan_tournament(
    bots: Sequence[str],
    rules: str | RuleSet = "classic",
    players: int | None = None,
    games: int | str = 10_000,
    seed: int = 0,
    *,
    sets: Sequence[str] = (),
    focus: str | None = None,
    table: bool = False,
    tables: int = MOST_TABLES,
    precision: float | str | None = None,
    sprt: str | Sprt | None = None,
    save_games: bool = False,
    workers: int = 1,
    chunk: int | None = None,
) -> Tournament:
    """A tournament as it would be played; see `tournament`."""
    if table:
        if players is not None or focus is not None:
            raise PickosimError(
                "One table of all bots has no focus and no other number of players."
            )
        players = len(enter(bots))
    given = None if isinstance(rules, RuleSet) else {"rules": str(rules), "sets": list(sets)}
    (size,) = table_sizes([2 if players is None else players])
    return Tournament.planned(
        bots,
        load_rules(rules, sets),
        size,
        count(games),
        seed,
        focus=focus,
        most_tables=tables,
        precision=None if precision is None else share(precision, "A precision"),
        sprt=parse_sprt(sprt) if isinstance(sprt, str) else sprt,
        save_games=save_games,
        workers=workers,
        chunk=chunk,
        given_rules=given,
    )


def tournament(
    bots: Sequence[str],
    rules: str | RuleSet = "classic",
    players: int | None = None,
    games: int | str = 10_000,
    seed: int = 0,
    workers: int = 1,
    *,
    folder: str | Path | None = None,
    scheduler: str | None = None,
    export: Sequence[str] = (),
    progress: Progress | None = None,
    **options: Any,
) -> Results:
    """A tournament: at least `games` games a matchup, every bot in every seat equally often.

    Frames: standings, matchups, pairs, seats, specialists, lengths, scores. With a `folder`, finished
    work is kept there, and `resume` goes on after an interruption. With the address of a Dask
    `scheduler`, its workers play. Two players a table if not said otherwise. Options, as on the command
    line: sets, focus, table, tables, precision, sprt, save_games, chunk.
    """
    crew = Workers(workers, scheduler)
    study = plan_tournament(bots, rules, players, games, seed, workers=workers, **options)
    return _played(study, crew, folder, progress, export)


def plan_compare(
    variants: Sequence[str | Path | RuleSet],
    bots: Sequence[str] = ("expected", "eager"),
    players: int | str | Sequence[int] = 2,
    games: int | str = 10_000,
    seed: int = 0,
    *,
    sets: Sequence[str] = (),
    sweeps: Sequence[str] = (),
    reference: str | None = None,
    about: str | None = None,
    workers: int = 1,
    chunk: int | None = None,
) -> Compare:
    """A comparison as it would be played; see `compare`."""
    return Compare.planned(
        make_variants(variants, sets, sweeps),
        bots,
        table_sizes(players),
        count(games),
        seed,
        reference=reference,
        about=about,
        workers=workers,
        chunk=chunk,
    )


def compare(
    variants: Sequence[str | Path | RuleSet],
    bots: Sequence[str] = ("expected", "eager"),
    players: int | str | Sequence[int] = 2,
    games: int | str = 10_000,
    seed: int = 0,
    workers: int = 1,
    *,
    folder: str | Path | None = None,
    scheduler: str | None = None,
    export: Sequence[str] = (),
    progress: Progress | None = None,
    **options: Any,
) -> Results:
    """Variants of the rules, played with the same dice: at least `games` games a variant and table size.

    The seats are filled with `bots`, over and over; `players` are table sizes, as 4 or "2-5". Frames:
    measures, seats, lengths, variants; the manifest's `result` has a `headline` and `sentences`.
    Differences are to the `reference`, the first variant if none is named; `about` is the measure that
    the headline tells. Further options, as on the command line: sets, sweeps, chunk. All else as in
    `tournament`.
    """
    crew = Workers(workers, scheduler)
    study = plan_compare(variants, bots, players, games, seed, workers=workers, **options)
    return _played(study, crew, folder, progress, export)


def plan_balance(
    rules: str | RuleSet = "extrawurm",
    bots: Sequence[str] = ("eager", "cautious"),
    players: int | str | Sequence[int] = 4,
    games: int | str = 100_000,
    seed: int = 0,
    *,
    sets: Sequence[str] = (),
    specialists: Sequence[str] | None = None,
    precision: float | str | None = None,
    sensitivity: bool = False,
    suggest: bool = False,
    workers: int = 1,
    chunk: int | None = None,
) -> Balance:
    """A balance as it would be played; see `balance`."""
    given = None if isinstance(rules, RuleSet) else {"rules": str(rules), "sets": list(sets)}
    return Balance.planned(
        load_rules(rules, sets),
        bots,
        table_sizes(players),
        count(games),
        seed,
        specialists=specialists,
        precision=None if precision is None else share(precision, "A precision"),
        sensitivity=sensitivity,
        suggest=suggest,
        workers=workers,
        chunk=chunk,
        given_rules=given,
    )


def balance(
    rules: str | RuleSet = "extrawurm",
    bots: Sequence[str] = ("eager", "cautious"),
    players: int | str | Sequence[int] = 4,
    games: int | str = 100_000,
    seed: int = 0,
    workers: int = 1,
    *,
    folder: str | Path | None = None,
    scheduler: str | None = None,
    export: Sequence[str] = (),
    progress: Progress | None = None,
    **options: Any,
) -> Results:
    """What each specialist is worth: at least `games` games with a starter, for each level and table size.

    Every bot is a level of play and takes all seats; `players` are table sizes, as 4 or "2-5". Frames:
    worth (what starting with a specialist gains, against nobody having it, with the same dice),
    worth_by_seat, seen (ordinary games: an association), absence (the game without it), and if asked
    for sensitivity, suggestion and suggestion_gains; the manifest's `result` has a `headline` and
    `sentences`. Further options, as on the command line: sets, specialists, precision (half the width
    of every interval of a worth), sensitivity, suggest, chunk. All else as in `tournament`.
    """
    crew = Workers(workers, scheduler)
    study = plan_balance(rules, bots, players, games, seed, workers=workers, **options)
    return _played(study, crew, folder, progress, export)


def plan_experiment(experiment: Experiment, workers: int = 1) -> Study:
    """The study of an experiment as it would be played."""
    arguments = dict(experiment.arguments)
    try:
        if experiment.kind == "compare":
            return plan_compare(arguments.pop("rules"), workers=workers, **arguments)
        if experiment.kind == "balance":
            return plan_balance(workers=workers, **arguments)
        return plan_tournament(workers=workers, **arguments)
    except PickosimError as error:
        raise PickosimError(f"{experiment.path}: {error}") from error


def experiment(
    path: str | Path,
    games: int | str | None = None,
    workers: int = 1,
    *,
    folder: str | Path | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> Results:
    """Run the experiment of a file, at another size if `games` says so."""
    crew = Workers(workers, scheduler)
    loaded = load_experiment(Path(path), games)
    study = plan_experiment(loaded, workers)
    return _played(study, crew, folder, progress, ["md"], loaded.notes)


def _played(
    study: Study,
    crew: Workers,
    folder: str | Path | None,
    progress: Progress | None,
    export: Sequence[str],
    notes: Mapping[str, Any] | None = None,
) -> Results:
    """Play a study from its beginning; in a folder, if there is one."""
    run_folder = None if folder is None else RunFolder(Path(folder))
    outcome = start(study, run_folder, crew, progress, export=export, notes=notes)
    return results_of(outcome, run_folder)


def resume(
    folder: str | Path,
    workers: int = 1,
    *,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> Results:
    """Go on with a run that was interrupted, to exactly the tables of an uninterrupted one."""
    run_folder = RunFolder(Path(folder))
    with run_folder.reopen() as manifest:
        if manifest["status"] == "finished" and _is_intact(run_folder, manifest):
            return load_results(folder)
        try:
            check_unchanged(manifest)
        except BotError as error:
            began = Path(manifest["directory"])
            if began == Path.cwd():
                raise
            raise BotError(f"{error} The run was started in {began}: go on from there.") from error
        study = study_of(manifest)
        outcome = go_on(study, run_folder, manifest, Workers(workers, scheduler), progress)
    return results_of(outcome, run_folder)


def _is_intact(folder: RunFolder, manifest: Mapping[str, Any]) -> bool:
    """Whether a finished run has all of its files, and its tables can be read."""
    try:
        for name in manifest["tables"]:
            folder.table(name)
    except PickosimError:
        return False
    return not manifest["plan"].get("save_games") or folder.has_all_games()


def game_of_run(folder: str | Path, game: int, rotation: int = 0) -> Match:
    """The match that a tournament's folder has under that game number, in that rotation of the seats."""
    manifest = RunFolder(Path(folder)).manifest()
    if manifest["kind"] != Tournament.kind:
        raise PickosimError(f"{folder} is no tournament; its games cannot be watched.")
    study = Tournament.from_plan(manifest["plan"])
    table, block = divmod(game, LANE)
    most = study.looks[-1]
    if not (0 <= table < study.parts and block < most):
        raise PickosimError(
            f"The run {folder} has no game {game}. Its table t (0 to {study.parts - 1}) has the games "
            f"t × {LANE:,} to t × {LANE:,} + {most - 1:,}, see matchups.parquet."
        )
    if not 0 <= rotation < study.players:
        raise PickosimError(
            f"Rotations go from 0 to {study.players - 1} at a table of {study.players}, not {rotation}."
        )
    by_name = {entrant.name: entrant for entrant in study.entrants}
    matchup = rotations(study.matchups[table])[rotation]
    check_sources(by_name[bot] for bot in matchup)
    return seat([by_name[bot].spec for bot in matchup], study.rules, study.seed)


def report(run: str | Path | Results, path: str | Path | None = None) -> Path:
    """Write the HTML page of a finished run, by default into its folder; where it is."""
    folder = run.folder if isinstance(run, Results) else Path(run)
    if folder is None:
        raise PickosimError("A page is made of a run folder: play with folder=…, then report it.")
    return write_report(folder, None if path is None else Path(path))


def benchmark(seconds: float = 2.0) -> pl.DataFrame:
    """Games a second on this machine, one row a case."""
    return pl.DataFrame(run_bench(seconds))
