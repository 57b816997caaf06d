"""The Python functions besides studies: play, watch and check; rules, bots and run folders as polars frames.

What `play` does not need is imported where it is used: a few games are played at once.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from pickosim.amounts import first_few, parse_count
from pickosim.bots.guard import ANSWER_SECONDS, GAME_SECONDS, check_seconds, set_answer_seconds
from pickosim.bots.guard import answer_seconds as time_limit_of
from pickosim.bots.loading import BotLike, as_specs, expanded, given_class
from pickosim.errors import BotError, PickosimError
from pickosim.games.batch import play_games, play_on
from pickosim.games.match import check_numbers, make_match
from pickosim.games.played import Played, play_with_turns
from pickosim.rule_files import differences, load_rules, options_in_use
from pickosim.rules import RuleSet
from pickosim.runs.folder import Manifest, RunFolder, new_folder
from pickosim.runs.progress import Progress, shown_progress
from pickosim.runs.run import Results, resume_in_python
from pickosim.runs.run import resume as resume_run
from pickosim.studies.kinds import study_kind
from pickosim.studies.options import CORES, BotList, RunOptions, bot_specs, make_options
from pickosim.studies.study import (
    check_finished,
    load_results,
    planned_study,
    play_study,
    study_of,
    workers_for,
)
from pickosim.studies.tournament import Tournament, game_of_run

if TYPE_CHECKING:
    from pickosim.bots.catalogue import Description
    from pickosim.games.positions import Source
    from pickosim.games.trace import Event


def play(
    bots: Sequence[BotLike],
    rules: str | Path | RuleSet = "classic",
    games: int | str = 10_000,
    seed: int = 0,
    first: int = 0,
    *,
    set: Sequence[str] = (),
    start: Source | None = None,
    turns: bool = False,
    answer_seconds: float = ANSWER_SECONDS,
    progress: bool | Progress | None = None,
) -> Played:
    """Play games between bots, seated in this order (seat 0 begins), numbered from `first`.

    Bots are names, paths, classes or instances, e.g. `["eager", "my_bot.py", MyBot(target=25)]`; rules a preset, a
    TOML file or a RuleSet, with options changed by `set`, e.g. `["dice=7"]`; games a number or text, e.g. "10k". A
    call of a bot, which covers thousands of games, may take `answer_seconds`. `progress=True` shows a bar.

    With `start`, games are played on from positions (see `positions`), each once, and the results are in their
    order; rules, seed and numbers are those of the positions. With `turns`, every turn is kept too, as a frame that
    takes about 3 kB of memory per game.
    """
    number = games if isinstance(games, int) else parse_count(games)
    with time_limit_of(check_seconds(answer_seconds)), shown_progress(progress) as shown:
        if start is not None:
            _check_left_out(
                rules=(rules, "classic"),
                set=(tuple(set), ()),
                games=(games, 10_000),
                seed=(seed, 0),
                first=(first, 0),
                turns=(turns, False),
            )
            from pickosim.games.positions import read_positions

            taken = read_positions(start)
            match = taken.match(bots)
            return Played(match, taken.table["game"], play_on(match, taken.table))
        match = make_match(bots, load_rules(rules, set), seed)
        check_numbers(first, number)
        numbers = np.arange(first, first + number, dtype=np.int64)
        shown.begin(number, 0)

        def on_over(over: int) -> None:
            shown.played(over, str)

        if turns:
            return play_with_turns(match, first, number, on_over)
        return Played(match, numbers, play_games(match, first, number, on_over=on_over))


def _check_left_out(**options: tuple[object, object]) -> None:
    """Refuse options that differ from their defaults: positions have their own."""
    for name, (value, default) in options.items():
        if value != default:
            raise PickosimError(f"{name} cannot be given with start: the positions have their own.")


def positions(
    bots: Sequence[BotLike],
    rules: str | Path | RuleSet = "classic",
    games: int | str = 1000,
    seed: int = 0,
    first: int = 0,
    *,
    turn: int | None = None,
    set: Sequence[str] = (),
    answer_seconds: float = ANSWER_SECONDS,
) -> pl.DataFrame:
    """Positions of games: before that turn, or before every turn; one row each.

    `play(bots, start=…)` plays them on, to the same end as the whole games; rows can be changed before.
    """
    from pickosim.games.positions import check_turn, take_positions

    number = games if isinstance(games, int) else parse_count(games)
    with time_limit_of(check_seconds(answer_seconds)):
        match = make_match(bots, load_rules(rules, set), seed)
        check_numbers(first, number)
        check_turn(turn)
        return take_positions(match, first, number, turn).frame


def position(
    bots: Sequence[BotLike],
    rules: str | Path | RuleSet = "classic",
    seed: int = 0,
    game: int = 0,
    *,
    turn: int,
    set: Sequence[str] = (),
    answer_seconds: float = GAME_SECONDS,
) -> dict[str, Any]:
    """The position of one game before a turn, as a JSON object."""
    from pickosim.games.positions import position_at

    with time_limit_of(check_seconds(answer_seconds)):
        match = make_match(bots, load_rules(rules, set), seed)
        check_numbers(game)
        return next(position_at(match, game, turn).objects)


def watch(
    bots: Sequence[BotLike] = (),
    rules: str | Path | RuleSet = "classic",
    seed: int = 0,
    game: int = 0,
    *,
    set: Sequence[str] = (),
    run: str | Path | None = None,
    rotation: int = 0,
    matchup: str | None = None,
    lost_by: str | None = None,
    to: str | None = None,
    nth: int = 1,
    start: Source | None = None,
    answer_seconds: float = GAME_SECONDS,
) -> list[Event]:
    """Every event of one game, the same game that a batch with that seed plays as that number.

    With `run`, a tournament's folder, it is a game of that run, with the seats rotated so far; of a `matchup`, e.g.
    "eager,thief", games are numbered from 0. Or it is the nth game that the bot `lost_by` lost, with `to`: to that
    bot. With `start`, the game is played on from that position.
    """
    from pickosim.games.positions import read_positions
    from pickosim.games.trace import traced_game, traced_position

    with time_limit_of(check_seconds(answer_seconds)):
        if start is not None:
            _check_left_out(
                rules=(rules, "classic"),
                set=(tuple(set), ()),
                seed=(seed, 0),
                game=(game, 0),
                run=(run, None),
            )
            events, mistake = traced_position(read_positions(start), bots)
        else:
            if run is None:
                match = make_match(bots, load_rules(rules, set), seed)
            else:
                match, game, _ = game_of_run(
                    run, game, rotation, matchup=matchup, lost_by=lost_by, to=to, nth=nth
                )
            events, mistake = traced_game(match, game)
        if mistake is not None:
            raise mistake
        return events


def show_rules(rules: str | Path | RuleSet, sets: Sequence[str] = ()) -> pl.DataFrame:
    """Every option of a rule set: its value, what that means, and what is allowed."""
    return pl.DataFrame([asdict(each) for each in options_in_use(load_rules(rules, sets))])


def diff_rules(a: str | Path | RuleSet, b: str | Path | RuleSet) -> pl.DataFrame:
    """What differs between two rule sets: option or entry, its value in `a`, its value in `b`."""
    rows = differences(load_rules(a), load_rules(b))
    return pl.DataFrame(rows, dict.fromkeys(("option", "a", "b"), pl.String), orient="row")


def list_strategies() -> pl.DataFrame:
    """All bots that can be named: what each one does, its parameters with their defaults, whose idea it is."""
    from pickosim.bots.catalogue import catalogue, parameters_text

    return pl.DataFrame(
        [
            {
                "bot": bot.name,
                "summary": bot.summary,
                "parameters": parameters_text(bot.parameters),
                "origin": bot.origin,
                "source": bot.source,
            }
            for bot in catalogue()
        ]
    )


def show_strategy(bot: BotLike) -> Description:
    """All about one bot: its description, its parameters, what it decides."""
    from pickosim.bots.catalogue import describe

    (spec,) = as_specs([bot])
    return describe(spec)


def new(
    path: str | Path, *, simple: bool = False, valuation: bool = False, force: bool = False
) -> Path:
    """Create a bot file from a template; it runs as it is.

    With `simple` it decides one game at a time; with `valuation` it only says what positions are worth.
    """
    from pickosim.bots.catalogue import write_bot

    write_bot(Path(path), simple=simple, valuation=valuation, force=force)
    return Path(path)


def check(bot: BotLike, *, answer_seconds: float = GAME_SECONDS) -> pl.DataFrame:
    """Check a bot against the strategy contract: one row per point, with `ok`, `odd` and what was tested or is wrong.

    A point that cannot be tested because of another one has no row.
    """
    from pickosim.games.check import Effort, check_bot

    (spec,) = as_specs([bot])
    effort = Effort(answer_seconds=check_seconds(answer_seconds))
    return pl.DataFrame([asdict(finding) for finding in check_bot(spec, effort)])


def benchmark(seconds: float = 2.0) -> pl.DataFrame:
    """Games per second on this machine, one row per case."""
    from pickosim.bench import run_bench

    return pl.DataFrame(run_bench(seconds))


def list_runs(folder: str | Path = "runs") -> pl.DataFrame:
    """The runs in a folder, one row per run, the latest last: what was played, how far it came, and its headline.

    If a run is not finished, `games` are those played so far, and `headline` says what is played. One whose manifest
    cannot be read has the status `unreadable`, and the reason for a headline.
    """
    columns = "run kind started status played players bots games headline"
    types = dict.fromkeys(columns.split(), pl.String) | {"games": pl.Int64}
    rows = [_run_row(path.parent, types) for path in sorted(Path(folder).glob("*/manifest.json"))]
    return pl.DataFrame(rows, types).sort("started", "run")


def _run_row(path: Path, types: Mapping[str, Any]) -> dict[str, Any]:
    """A run as a row; one that cannot be read, or that no frame takes, would hide all others."""
    row = {"run": os.fsencode(path).decode(errors="backslashreplace"), "kind": "", "started": ""}
    try:
        manifest = RunFolder(path).manifest()
        plan = manifest["plan"]
        matchups = plan.get("matchups") or [()]
        sizes = dict.fromkeys(map(len, matchups)) if matchups[0] else plan.get("players", [])
        so_far = {"games": manifest["games_played"], "headline": manifest["title"]}
        result = manifest["result"] if manifest["status"] == "finished" else so_far
        filled = row | {
            **{key: manifest[key] for key in ("kind", "started", "status")},
            "played": _utf8(manifest["title"]),
            "players": ",".join(map(str, sizes if isinstance(sizes, dict | list) else [sizes])),
            "bots": ", ".join(_utf8(str(bot["name"])) for bot in plan.get("entrants", ())),
            "games": result["games"],
            "headline": _utf8(result["headline"]),
        }
        pl.DataFrame([filled], types)
    except PickosimError as error:
        why = _utf8(str(error))
    except Exception:  # whatever a plan that nobody has checked leads to
        why = f"{row['run']}/manifest.json is not the manifest of a run."
    else:
        return filled
    return row | {"status": "unreadable", "headline": why}


def _utf8(text: str) -> str:
    """A text that a frame takes: parts of names that are not UTF-8 are written out."""
    return text.encode(errors="backslashreplace").decode()


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
    run_folder = RunFolder(Path(folder))
    with shown_progress(progress) as shown, run_folder.reopen() as manifest:
        if run_folder.was_restored:
            shown.say("manifest.json was damaged; it is restored from plan.json.")
        if manifest["status"] == "finished":
            damaged = run_folder.damaged(manifest)
            if not damaged:
                shown.say("The run is finished; nothing is left to play.")
                results = load_results(folder)
                planned_study(manifest).deliver(run_folder.path, manifest["run"])
                return results
            shown.say(f"Damaged or missing files are made again: {first_few(damaged)}.")
        study = _study_in(run_folder.path, manifest, "resume")
        return resume_run(study, run_folder, manifest, workers_for(study, how), shown)


def _study_in(folder: Path, manifest: Manifest, verb: str, without: Sequence[str] = ()) -> Any:
    """The study of a run, if it would still play the same games; bots `without` which it goes on may have changed."""
    try:
        return study_of(study_kind(manifest["kind"]), manifest, without)
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


def extend(
    run: str | Path | Results,
    bots: BotList = (),
    games: int | str | None = None,
    *,
    without: BotList = (),
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
    """Add bots to a finished tournament, or play on until every matchup has that many games; or go on without some.

    Only what is missing is played; the tables are identical to those of one tournament with these bots and
    games. `without` names bots to leave out, e.g. one that failed; then the tournament need not be finished. The result is a run of its own, in a new folder beside the old one unless `out` names another.

    More games should be decided on before the results are seen: to play on until a difference is significant finds
    differences that are not there. A remark of such a run says so; `sprt` is the test that may stop early.
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
    left_out = expanded(bot_specs(without))
    if not left_out:
        check_finished(folder, manifest)
    set_answer_seconds(answer_seconds)
    began = _study_in(folder, manifest, "extend", left_out)
    more_games = None if games is None else parse_count(games)
    study = began.extended(expanded(bot_specs(bots)), more_games, left_out, **how).checked()
    with shown_progress(progress) as shown:
        if manifest["status"] == "finished":
            shown.say(_about_reuse(folder, began, study))
        return play_study(
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
    return f"Reusing {games:,} games from {folder}; {left:,} to play."


def report(run: str | Path | Results, path: str | Path | None = None) -> Path:
    """Write the HTML page of a finished run, by default into its folder; returns its path."""
    from pickosim.reports.page import write_report

    folder = run.folder if isinstance(run, Results) else Path(run)
    if folder is None:
        raise PickosimError("A page is made from a run folder: play with out=…, then report it.")
    return write_report(folder, None if path is None else Path(path))
