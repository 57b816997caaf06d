"""The command line: parse, call, print."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pickosim import __version__
from pickosim.errors import PickosimError
from pickosim.terminal import (
    check_format,
    compiling,
    json_of,
    note,
    progress_bar,
    show,
    show_results,
    silence,
)

if TYPE_CHECKING:
    from pickosim.rules import RuleSet
    from pickosim.runs.run import Study

app = typer.Typer(
    name="pickosim",
    help="Monte Carlo tournaments of Pickomino (Heckmeck am Bratwurmeck) and Extrawurm.",
    add_completion=False,
    pretty_exceptions_enable=False,
    # A pipe gets plain lines; there may be no standard output at all.
    rich_markup_mode="rich" if sys.stdout is not None and sys.stdout.isatty() else None,
)
rules_app = typer.Typer(help="List the rule sets, show one, or compare two.")
app.add_typer(rules_app, name="rules")
strategies_app = typer.Typer(help="List the bots, or show one.")
app.add_typer(strategies_app, name="strategies")

Bots = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="BOT",
        help="Bots in the order of their seats, as eager, threshold:target=25 or my_bot.py:MyBot.",
        show_default=False,
    ),
]
Bot = Annotated[
    str,
    typer.Argument(
        metavar="BOT", help="A bot by name or path, as threshold:target=25 or my_bot.py."
    ),
]
Rules = Annotated[
    str, typer.Option("--rules", help="A preset (see `pickosim rules`) or a TOML file.")
]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="OPTION=VALUE", help="Change an option of the rules; repeat."),
]
Seed = Annotated[int, typer.Option(help="Seed of all dice and choices.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


CORES = os.cpu_count() or 1

WorkerNumber = Annotated[
    int, typer.Option("--workers", min=1, help="Processes to play in.", show_default="all cores")
]
Backend = Annotated[
    str | None,
    typer.Option(metavar="joblib|dask", help="Who plays.", show_default="joblib"),
]
Scheduler = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Of a Dask cluster, as tcp://10.0.0.1:8786."),
]
Out = Annotated[
    Path | None,
    typer.Option(metavar="RUN", help="Folder of the run.", show_default="a new one in runs/"),
]
Export = Annotated[
    str | None, typer.Option(metavar="csv,json,md", help="Write the tables in these formats too.")
]
Format = Annotated[
    str, typer.Option("--format", metavar="table|json|csv", help="How to print the results.")
]
Run = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")]


UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""What Typer raises for a command line it does not understand; versions differ in where it lives."""

_given: list[str] = []
"""The command line under way: a run's manifest names it."""


def main() -> None:
    """Run the command line of this process."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit code: 2, after one sentence, for a person's mistake."""
    _given[:] = arguments
    try:
        try:
            command = typer.main.get_command(app)
            with command.make_context("pickosim", list(arguments)) as context:
                command.invoke(context)
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except typer.Exit as end:
        return end.exit_code
    except PickosimError as error:
        note(f"pickosim: {error}")
        return getattr(error, "exit_code", 2)
    except UsageError as error:
        note(f"pickosim: {_explained(error)}")
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        silence()  # whoever read our output has gone, as `head` does: no more to say
        return 0
    except OSError as error:
        note(f"pickosim: the output cannot be written: {error.strerror}.")
        silence()
        return 1
    return 0


def _explained(error: Any) -> str:
    """What is wrong with a command line, and where to read how it should be."""
    said = error.format_message()
    where = error.ctx.command_path if error.ctx else "pickosim"
    return f"{said}{'' if said.endswith(('.', '?')) else '.'} See `{where} --help`."


@app.callback(invoke_without_command=True)
def options(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Monte Carlo tournaments of Pickomino (Heckmeck am Bratwurmeck) and Extrawurm."""
    if version:
        print(__version__)
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit(2)


@rules_app.callback(invoke_without_command=True)
def list_rules(context: typer.Context) -> None:
    """List the rule sets, show one, or compare two."""
    if context.invoked_subcommand is not None:
        return
    from pickosim.reports.layout import grid
    from pickosim.rules import presets

    rows = [(rules.name, rules.title) for rules in presets()]
    show(grid("Rule sets", [("name", "left"), ("what it is", "left")], rows))


@rules_app.command("show")
def show_rules(
    name: Annotated[str, typer.Argument(metavar="RULES", help="A preset or a TOML file.")],
    sets: Sets = None,
    as_json: Json = False,
) -> None:
    """Show every option of a rule set."""
    from pickosim.reports.layout import airy, grid
    from pickosim.rules import option_texts

    rules = _load(name, sets)
    if as_json:
        print(json.dumps(rules.as_dict(), indent=2, ensure_ascii=False))
        return
    columns = [("option", "left"), ("value", "left")]
    rows = [(option, airy(value)) for option, value in option_texts(rules)]
    show(grid(f"Rules {rules.name}", columns, rows))


@rules_app.command("diff")
def diff_rules(
    a: Annotated[str, typer.Argument(metavar="RULES", help="A preset or a TOML file.")],
    b: Annotated[str, typer.Argument(metavar="OTHERS", help="Another one.")],
    as_json: Json = False,
) -> None:
    """Show only what differs between two rule sets."""
    from pickosim.reports.layout import airy, grid
    from pickosim.rules import differences

    first, second = _load(a), _load(b)
    rows = differences(first, second)
    if as_json:
        print(json.dumps([{"option": o, "a": x, "b": y} for o, x, y in rows], indent=2))
        return
    if not rows:
        print("Nothing differs.")
        return
    columns = [("option", "left"), (first.name, "left"), (second.name, "left")]
    show(grid("What differs", columns, [(o, airy(x), airy(y)) for o, x, y in rows]))


@strategies_app.callback(invoke_without_command=True)
def list_strategies(context: typer.Context, as_json: Json = False) -> None:
    """List the bots, or show one."""
    if context.invoked_subcommand is not None:
        return
    from pickosim.bots.catalogue import catalogue
    from pickosim.reports.bot_words import catalogue_table

    if as_json:
        print(json_of([asdict(bot) for bot in catalogue()]))
    else:
        show(catalogue_table(catalogue()))


@strategies_app.command("show")
def show_strategy(bot: Bot, as_json: Json = False) -> None:
    """Show all about one bot: what it says of itself, its parameters, what it decides."""
    from pickosim.bots.catalogue import describe
    from pickosim.reports.bot_words import page

    description = describe(bot)
    if as_json:
        print(json_of(asdict(description)))
    else:
        show(*page(description))


@app.command()
def new(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file, as my_bot.py.")],
    valuation: Annotated[
        bool, typer.Option("--valuation", help="A bot that only says what results are worth.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
) -> None:
    """Write a new bot to begin with; it runs as it is."""
    from pickosim.bots.catalogue import write_bot

    write_bot(file, valuation=valuation, force=force)
    name = shlex.quote(str(file))
    print(f"{file} is a bot that runs as it is. Now:")
    print(f"  pickosim watch {name} eager")
    print(f"  pickosim check {name}")
    print(f"  pickosim tournament {name} eager random")


@app.command()
def check(bot: Bot, as_json: Json = False) -> None:
    """Try whether a bot keeps to what every bot must.

    Exit code 1 if it does not.
    """
    with compiling():
        from pickosim.games.check import check_bot
        from pickosim.studies.warm import warm_up

        warm_up()
    findings = []
    for finding in check_bot(bot):
        findings.append(finding)
        if not as_json:
            print(f"{'ok' if finding.ok else 'WRONG':5}  {finding.point}: {finding.message}")
            sys.stdout.flush()
    if as_json:
        print(json_of([asdict(finding) for finding in findings]))
    if not all(finding.ok for finding in findings):
        raise typer.Exit(1)


@app.command()
def watch(
    context: typer.Context,
    bots: Bots = None,
    rules: Rules = "classic",
    sets: Sets = None,
    seed: Seed = 0,
    game: Annotated[int, typer.Option(help="Number of the game.")] = 0,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="RUN", help="A tournament's folder: show a game of its own."
        ),
    ] = None,
    rotation: Annotated[
        int, typer.Option(min=0, help="With --from: how far the seats are turned in that game.")
    ] = 0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the trace, one JSON object a line.")
    ] = False,
    why: Annotated[
        bool, typer.Option("--why", help="Tell what each option was worth to a bot that can say.")
    ] = False,
) -> None:
    """Tell one game turn by turn.

    It is the very game that a batch with this seed plays as that number.
    """
    if why and as_json:
        raise PickosimError("--why is told in words; the trace of --json has no room for it.")
    if bool(bots) == bool(folder):
        raise PickosimError("Name the bots to watch, or a run with --from: one of both.")
    for option in ("rotation",) if folder is None else ("rules", "sets", "seed"):
        source = context.get_parameter_source(option)
        if source is not None and source.name == "COMMANDLINE":
            name = "set" if option == "sets" else option
            raise PickosimError(
                f"--{name} goes {'only' if folder is None else 'not'} with --from"
                f"{'.' if folder is None else ': the run knows its own.'}"
            )
    if folder is not None:
        from pickosim.api import game_of_run

        match = game_of_run(folder, game, rotation)
    else:
        from pickosim.games.match import seat

        match = seat(bots or [], _load(rules, sets), seed)
    from pickosim.games.trace import tell_game

    with compiling():
        events, mistake = tell_game(match, game, why=why)
    if as_json:
        for event in events:
            print(json.dumps(event, ensure_ascii=False))
    else:
        from pickosim.reports.layout import hanging
        from pickosim.reports.story import story

        show(*(hanging(line) for line in story(events)))
    if mistake is not None:
        raise mistake


@app.command()
def tournament(
    bots: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="BOT",
            help="Bots, as eager, threshold:target=21..30 (ten of them) or my_bot.py:MyBot; "
            "a bot may be entered twice; without any, all built-in ones.",
        ),
    ] = None,
    rules: Rules = "classic",
    sets: Sets = None,
    players: Annotated[
        int | None, typer.Option(min=2, max=7, help="Players at a table.", show_default="2")
    ] = None,
    focus: Annotated[
        str | None, typer.Option(metavar="BOT", help="Only tables with this bot: a gauntlet.")
    ] = None,
    table: Annotated[
        bool, typer.Option("--table", help="One table with all bots, in this order.")
    ] = False,
    tables: Annotated[
        int, typer.Option(min=1, help="Tables at most; of more, a sample drawn with the seed.")
    ] = 500,
    games: Annotated[
        str | None,
        typer.Option(
            help="Games a matchup, as 250k or 1M, rounded up to whole blocks; with --precision or "
            "--sprt, the cap.",
            show_default="20k, as a cap 10M",
        ),
    ] = None,
    precision: Annotated[
        str | None,
        typer.Option(
            metavar="WIDTH",
            help="Play until every 95 % interval of a win share in the standings is that narrow "
            "from end to end, as 0.2%.",
        ),
    ] = None,
    sprt: Annotated[
        str | None,
        typer.Option(
            metavar="LOW,HIGH",
            help="Play two bots until a sequential test tells whether the first wins LOW or HIGH "
            "points more than half, as 0,1%.",
        ),
    ] = None,
    seed: Seed = 0,
    workers: WorkerNumber = CORES,
    backend: Backend = None,
    scheduler: Scheduler = None,
    out: Out = None,
    save_games: Annotated[
        bool, typer.Option("--save-games", help="Keep every game, as Parquet files.")
    ] = False,
    export: Export = None,
    form: Format = "table",
) -> None:
    """Let bots fight.

    Every choice of bots meets at a table, and every bot sits in every seat equally often, with the
    same dice. Results are tables in a run folder; after an interruption `pickosim resume` goes on.
    """
    with compiling():
        from pickosim.api import plan_tournament
        from pickosim.bots.loading import built_in_bots
        from pickosim.runs.folder import export_formats
        from pickosim.studies.warm import warm_up

        formats = export_formats(export)
        cluster = _cluster(backend, scheduler)
        warm_up()
        study = plan_tournament(
            bots or built_in_bots(),
            rules,
            players,
            ("20k" if precision is None and sprt is None else "10M") if games is None else games,
            seed,
            sets=sets or [],
            focus=focus,
            table=table,
            tables=tables,
            precision=precision,
            sprt=sprt,
            save_games=save_games,
            workers=workers,
        )
    _play(study, workers, cluster, out, formats, form)


@app.command()
def compare(
    variants: Annotated[
        list[str],
        typer.Argument(metavar="RULES", help="Presets or TOML files; one is enough for a sweep."),
    ],
    bots: Annotated[
        str, typer.Option(metavar="BOT,…", help="The seats are filled with these, over and over.")
    ] = "expected,eager",
    players: Annotated[
        str, typer.Option(metavar="NUMBERS", help="Table sizes, as 4, 2-5 or 2,4,7.")
    ] = "2",
    games: Annotated[
        str,
        typer.Option(
            help="Games a variant and table size, as 250k or 1M, rounded up to whole blocks."
        ),
    ] = "20k",
    sets: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="OPTION=VALUE", help="Change an option of all variants; repeat."
        ),
    ] = None,
    sweep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OPTION=VALUE,…",
            help="Play every variant with each of these values, as dice=7,8,9 or dice=7..9; "
            "repeat for all combinations.",
        ),
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help='The variant that all others are compared with, as short or "classic dice=8".',
            show_default="the first",
        ),
    ] = None,
    about: Annotated[
        str | None,
        typer.Option(
            metavar="MEASURE",
            help="What you ask about, as first_seat, skill or margin: the headline tells it.",
            show_default="what differs first, mostly the length of games",
        ),
    ] = None,
    seed: Seed = 0,
    workers: WorkerNumber = CORES,
    backend: Backend = None,
    scheduler: Scheduler = None,
    out: Out = None,
    export: Export = None,
    form: Format = "table",
) -> None:
    """Compare variants of the rules.

    All are played with the same dice, and differences to the reference are paired by dice. Results are
    tables in a run folder; after an interruption `pickosim resume` goes on.
    """
    with compiling():
        from pickosim.api import plan_compare
        from pickosim.bots.entrants import listed_bots
        from pickosim.runs.folder import export_formats
        from pickosim.studies.warm import warm_up

        formats = export_formats(export)
        cluster = _cluster(backend, scheduler)
        warm_up()
        study = plan_compare(
            variants,
            listed_bots(bots),
            players,
            games,
            seed,
            sets=sets or [],
            sweeps=sweep or [],
            reference=reference,
            about=about,
            workers=workers,
        )
    _play(study, workers, cluster, out, formats, form)


@app.command()
def balance(
    rules: Rules = "extrawurm",
    sets: Sets = None,
    specialists: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,…",
            help="Those to weigh, as raven,apple.",
            show_default="all of the rules",
        ),
    ] = None,
    bots: Annotated[
        str,
        typer.Option(metavar="BOT,…", help="Levels of play: each of these bots takes all seats."),
    ] = "eager,cautious",
    players: Annotated[
        str, typer.Option(metavar="NUMBERS", help="Table sizes, as 4, 2-5 or 2,4,7.")
    ] = "4",
    games: Annotated[
        str | None,
        typer.Option(
            help="Games in which a seat starts with the specialist, for each specialist, level and "
            "table size, as 250k or 1M; with --precision, the cap.",
            show_default="100k, as a cap 10M",
        ),
    ] = None,
    precision: Annotated[
        str | None,
        typer.Option(
            metavar="HALF",
            help="Play until every worth is known to within ± that, as 0.3% of win share: half the "
            "width of its 95 % interval.",
        ),
    ] = None,
    sensitivity: Annotated[
        bool,
        typer.Option(
            "--sensitivity",
            help="Also by starting tile and number, with a quarter of the blocks each.",
        ),
    ] = False,
    suggest: Annotated[
        bool,
        typer.Option(
            "--suggest",
            help="Search tiles and numbers for the setting that brings the specialists closest "
            "together.",
        ),
    ] = False,
    seed: Seed = 0,
    workers: WorkerNumber = CORES,
    backend: Backend = None,
    scheduler: Scheduler = None,
    out: Out = None,
    export: Export = None,
    form: Format = "table",
) -> None:
    """Tell what each specialist is worth.

    Worth: one seat starts with the specialist, against nobody having it, with the same dice, all seats in
    turn. Seen: what happens with it in ordinary games, an association. Absence: the game without it.
    Results are tables in a run folder; after an interruption `pickosim resume` goes on.
    """
    with compiling():
        from pickosim.api import plan_balance
        from pickosim.bots.entrants import listed_bots
        from pickosim.runs.folder import export_formats
        from pickosim.studies.warm import warm_up

        formats = export_formats(export)
        cluster = _cluster(backend, scheduler)
        warm_up()
        study = plan_balance(
            rules,
            listed_bots(bots),
            players,
            ("100k" if precision is None else "10M") if games is None else games,
            seed,
            sets=sets or [],
            specialists=(
                None if specialists is None else [name.strip() for name in specialists.split(",")]
            ),
            precision=precision,
            sensitivity=sensitivity,
            suggest=suggest,
            workers=workers,
        )
    _play(study, workers, cluster, out, formats, form)


@app.command("run")
def run_experiment(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="An experiment, as experiments/ladder.toml.")
    ],
    games: Annotated[
        str | None,
        typer.Option(help="Another number of games, as 10k.", show_default="what the file says"),
    ] = None,
    workers: WorkerNumber = CORES,
    backend: Backend = None,
    scheduler: Scheduler = None,
    out: Out = None,
    form: Format = "table",
) -> None:
    """Run the experiment of a file.

    A file says what is asked, and which tournament, comparison or balance answers it.
    """
    with compiling():
        from pickosim.api import plan_experiment
        from pickosim.runs.folder import new_folder
        from pickosim.studies.experiments import load_experiment
        from pickosim.studies.warm import warm_up

        experiment = load_experiment(file, games)
        cluster = _cluster(backend, scheduler)
        check_format(form)
        warm_up()
        study = plan_experiment(experiment, workers)
    folder = out or new_folder(file.stem)
    _play(study, workers, cluster, folder, ["md"], form, experiment.notes)


@app.command()
def resume(
    folder: Run,
    workers: WorkerNumber = CORES,
    backend: Backend = None,
    scheduler: Scheduler = None,
    form: Format = "table",
) -> None:
    """Go on with an interrupted run, to the very results of an uninterrupted one.

    Of a finished run the results are shown again.
    """
    with compiling():
        from pickosim import api
        from pickosim.studies.warm import warm_up

        warm_up()
    with progress_bar() as progress:
        results = api.resume(
            folder, workers, scheduler=_cluster(backend, scheduler), progress=progress
        )
    show_results(results, form)


@app.command()
def report(
    folder: Run,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The page.", show_default="report.html in the run"),
    ] = None,
    png: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write the charts there as PNG, instead of the page."),
    ] = None,
    svg: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write the charts there as SVG, instead of the page."),
    ] = None,
    chart: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this chart, as standings; repeat."),
    ] = None,
) -> None:
    """Write a finished run as one HTML page that opens offline, or its charts as pictures.

    Prints the names of the files written.
    """
    from pickosim.reports.html_report import save_charts, write_report

    if chart and not (png or svg):
        raise PickosimError("--chart picks charts for --png or --svg; the page has all of them.")
    if out or not (png or svg):
        print(write_report(folder, out))
    for pictures, suffix in ((png, ".png"), (svg, ".svg")):
        if pictures is not None:
            for path in save_charts(folder, pictures, suffix, chart):
                print(path)


@app.command()
def bench(
    as_json: Json = False,
    seconds: Annotated[
        float, typer.Option(min=0.01, max=600, help="Seconds a run; three runs a case.")
    ] = 2,
) -> None:
    """Measure games a second on this machine."""
    from pickosim.bench import run_bench
    from pickosim.reports.bench_words import bench_tables
    from pickosim.studies.warm import warm_up

    with compiling():
        warm_up()

    rows = run_bench(seconds)
    if as_json:
        print(json.dumps(rows, indent=2))
    else:
        show(*bench_tables(rows))


@app.command()
def odds(
    rules: Rules = "classic",
    sets: Sets = None,
    holds: Annotated[
        str | None, typer.Option(metavar="NAME", help="The specialist that you hold.")
    ] = None,
    grill: Annotated[
        str | None,
        typer.Option(
            metavar="TILES", help="As 21-24,30.", show_default="all tiles that are nobody's top"
        ),
    ] = None,
    own: Annotated[int | None, typer.Option(metavar="TILE", help="Your own top tile.")] = None,
    rivals: Annotated[
        str | None,
        typer.Option(
            metavar="TILES",
            help="The rivals' top tiles in order of play, as 27,-,30; - has no tiles.",
            show_default="-",
        ),
    ] = None,
    on: Annotated[
        str | None,
        typer.Option(
            metavar="NAME=TILE,…", help="Specialists on tiles of the grill, as weasel=25,raven=23."
        ),
    ] = None,
    bot: Annotated[
        str | None,
        typer.Option(metavar="BOT", help="Says what results are worth.", show_default="expected"),
    ] = None,
    aside: Annotated[
        str | None,
        typer.Option(metavar="FACES", help="Dice set aside, as worm,worm,4; +4 is the golden die."),
    ] = None,
    roll: Annotated[
        str | None, typer.Option(metavar="FACES", help="White dice of the roll just made.")
    ] = None,
    golden: Annotated[
        str | None,
        typer.Option(
            metavar="FACE", help="The golden die in that roll; unused: left out of this turn."
        ),
    ] = None,
    weasel_used: Annotated[
        bool, typer.Option("--weasel-used", help="You have rolled again this turn.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Tell the exact chances of a turn.

    Of the dice alone: the best chance to reach each total. With a situation (--grill, --own,
    --rivals, --on or --bot): the chance and worth of each result. With dice (--aside, --roll): the
    value of each option, and the chance that the turn then ends in a claim.

    --json prints a list of {total, at_least, exactly}; or an object with the situation, the value of
    the turn and its results: {result, tile, rival, reason, chance, worth}; or one with the value of
    the best option and all options: {option, face, dice, total, dice_left, then, tile, value, claim,
    best}.
    """
    rule_set = _load(rules, sets)
    with compiling():
        from pickosim.reports.odds_words import tell
        from pickosim.turn_odds.answer import answer
        from pickosim.turn_odds.question import Question

        question = Question(
            rule_set,
            holds=holds,
            grill=grill,
            own=own,
            rivals=rivals,
            on=on,
            bot=bot,
            aside=aside,
            roll=roll,
            golden=golden,
            weasel_used=weasel_used,
        )
        found = answer(question)
    if as_json:
        print(json.dumps(found.as_json(), indent=2))
    else:
        show(*tell(found))


def _cluster(backend: str | None, scheduler: str | None) -> str | None:
    """The address of the Dask scheduler, if a cluster is to play."""
    if backend not in (None, "joblib", "dask"):
        raise PickosimError(f'A backend is joblib or dask, not "{backend}".')
    if backend == "dask" and scheduler is None:
        raise PickosimError("--backend dask needs the address of a cluster: --scheduler ADDRESS.")
    if backend == "joblib" and scheduler is not None:
        raise PickosimError("--scheduler is the address of a Dask cluster: use --backend dask.")
    return scheduler


def _play(
    study: Study,
    workers: int,
    cluster: str | None,
    out: Path | None,
    formats: Sequence[str],
    form: str,
    notes: dict[str, Any] | None = None,
) -> None:
    """Play a study in a run folder and show what came of it."""
    from pickosim.runs.folder import RunFolder, new_folder
    from pickosim.runs.results import results_of
    from pickosim.runs.run import Workers, start

    check_format(form)
    folder = RunFolder(out or new_folder(study.kind))
    with progress_bar(study) as progress:
        outcome = start(
            study,
            folder,
            Workers(workers, cluster),
            progress,
            command=shlex.join(["pickosim", *_given]),
            export=formats,
            notes=notes,
        )
    show_results(results_of(outcome, folder), form)


def _load(rules: str, sets: list[str] | None = None) -> RuleSet:
    from pickosim.rules import load_rules

    return load_rules(rules, sets or [])
