"""The command line: parse, call, print."""

from __future__ import annotations

import inspect
import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pickosim import __version__, completion
from pickosim.errors import PickosimError
from pickosim.terminal import (
    compiling,
    json_of,
    keep_for_results,
    note,
    progress_bar,
    show,
    show_results,
    silence,
    visible,
)

if TYPE_CHECKING:
    from pickosim.rules import RuleSet
    from pickosim.studies.options import Declared, StudyOptions

IS_PLAIN = sys.stdout is None or not sys.stdout.isatty()
"""A pipe gets plain lines; there may be no standard output at all."""

HELP_NAMES: dict[str, Any] = {"help_option_names": ["-h", "--help"]}

app = typer.Typer(
    name="pickosim",
    help="Monte Carlo tournaments of Pickomino (Heckmeck am Bratwurmeck) and Extrawurm.",
    context_settings=HELP_NAMES,
    pretty_exceptions_enable=False,
    rich_markup_mode=None if IS_PLAIN else "rich",
)
rules_app = typer.Typer(help="List the rule sets, show one, compare two, or explain one.")
app.add_typer(rules_app, name="rules")
strategies_app = typer.Typer(help="List the bots, or show one.")
app.add_typer(strategies_app, name="strategies")

Bots = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="BOT",
        help="Bots in the order of their seats, e.g. eager, threshold:target=25 or my_bot.py:MyBot.",
        show_default=False,
        autocompletion=completion.bots,
    ),
]
Bot = Annotated[
    str,
    typer.Argument(
        metavar="BOT",
        help="A bot by name or path, e.g. threshold:target=25 or my_bot.py.",
        autocompletion=completion.bots,
    ),
]
Rules = Annotated[
    str,
    typer.Option(
        "--rules",
        metavar="RULES",
        help="A preset (see `pickosim rules`) or a TOML file.",
        autocompletion=completion.rules,
    ),
]
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="OPTION=VALUE", help="Change an option of the rules; repeat for more."
    ),
]
Seed = Annotated[int, typer.Option(metavar="NUMBER", help="Seed of all dice and choices.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Csv = Annotated[bool, typer.Option("--csv", help="Print the main table as CSV.")]
AnswerSeconds = Annotated[
    float | None,
    typer.Option(
        "--answer-seconds",
        metavar="SECONDS",
        help="Time that a bot may take for an answer.",
        show_default="120",
    ),
]
Run = Annotated[
    Path,
    typer.Argument(metavar="RUN", help="The folder of a run.", autocompletion=completion.runs),
]
RulesName = Annotated[
    str,
    typer.Argument(
        metavar="RULES", help="A preset or a TOML file.", autocompletion=completion.rules
    ),
]


RESUMED = ("workers", "backend", "scheduler", "answer_seconds")
"""Options that a resumed run takes anew."""

UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""What Typer raises for a command line it does not understand; versions differ in where it lives."""

_given: list[str] = []
"""The current command line: a run's manifest records it."""


def main() -> None:
    """Run the command line of this process, or complete it for the shell that asks."""
    if "_PICKOSIM_COMPLETE" in os.environ:
        whole_command().main(prog_name="pickosim")
    keep_for_results()
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit code: 2, after one sentence, for a user's mistake."""
    _given[:] = arguments
    try:
        try:
            command = whole_command()
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
        silence()  # the reader of our output has gone, e.g. `head`
        return 0
    except OSError as error:
        note(f"pickosim: the output cannot be written: {error.strerror}.")
        silence()
        return 1
    return 0


def whole_command() -> Any:
    """The command with all that are part of it; its help names values by what they are, not by Python's types."""
    _add_study_commands()
    whole = typer.main.get_command(app)
    for command in _with_parts(whole):
        helps = command.get_help_option(typer.Context(command, **HELP_NAMES))
        for parameter in [*command.params, helps]:
            shown = None if parameter.param_type_name == "argument" else parameter.metavar
            parameter.display_type_rich = lambda ctx, shown=shown: shown
    return whole


def _with_parts(command: Any) -> Iterator[Any]:
    yield command
    for part in getattr(command, "commands", {}).values():
        yield from _with_parts(part)


def _examples(*lines: str) -> str:
    """The end of a command's help: command lines to start from."""
    if IS_PLAIN:
        return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])
    return "\n\n".join(["Examples:", *lines])


def _explained(error: Any) -> str:
    """What is wrong with a command line, and where to read how it should be."""
    where = error.ctx.command_path if error.ctx else "pickosim"
    option = getattr(error, "option_name", None)
    if option and hasattr(error, "possibilities"):
        from pickosim.errors import suggest

        known = [flag for one in error.ctx.command.params for flag in one.opts] if error.ctx else []
        said = f'There is no option "{option}"{suggest(option, known) or "."}'
    else:
        said = error.format_message()
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


# ----------------------------------------------------------------------------------------------------- studies


def _add_study_commands() -> None:
    """Add a command per kind of study, and `run`, each with the options that are declared for it."""
    from pickosim.studies.kinds import OPTIONS
    from pickosim.studies.options import RunOptions, declared

    known = {command.name for command in app.registered_commands}
    for kind, options in OPTIONS.items():
        if kind not in known:
            text = inspect.cleandoc(options.__doc__ or "")
            examples = _examples(*options.examples)
            _add_command(kind, text, declared(options), _study_command(options), examples)
    if "run" not in known:
        how = [option for option in declared(RunOptions) if option.name != "export"]
        text = inspect.cleandoc(run_experiment.__doc__ or "")
        examples = _examples("pickosim run experiments/flipping.toml --games 10k")
        _add_command("run", text, how, run_experiment, examples)
        everything = declared(RunOptions)
        examples = _examples(
            "pickosim extend runs/mine my_bot.py", "pickosim extend runs/mine --games 100k"
        )
        _add_command("extend", inspect.cleandoc(extend.__doc__ or ""), everything, extend, examples)
        how = [option for option in how if option.name in RESUMED]
        examples = _examples("pickosim resume runs/mine", "pickosim resume runs/mine --workers 1")
        _add_command("resume", inspect.cleandoc(resume.__doc__ or ""), how, resume, examples)
        # Studies come first in the help.
        app.registered_commands.sort(key=lambda command: command.name in known)


def _add_command(
    name: str, text: str, options: Sequence[Declared], call: Callable[..., None], examples: str
) -> None:
    """Add a command whose parameters are those of `call`, and declared options in place of its `given`."""
    from pickosim.studies.options import PYTHON_ONLY

    own = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in inspect.signature(call, eval_str=True).parameters.values()
        if parameter.name != "given"
    ]
    taken = {parameter.name for parameter in own}
    derived = [
        _parameter(option)
        for option in options
        if option.name not in PYTHON_ONLY and option.name not in taken
    ]
    before = [parameter for parameter in own if parameter.default is inspect.Parameter.empty]
    parameters = [*before, *derived, *(one for one in own if one not in before)]

    def command(**values: Any) -> None:
        mine = {key: value for key, value in values.items() if key in taken}
        # An option that was not given is left to its default, which is declared elsewhere.
        given = {
            key: value
            for key, value in values.items()
            if key not in taken and value is not None and value is not False and value != []
        }
        call(**mine, given=given)

    signature = inspect.Signature(parameters)
    command.__signature__ = signature  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    command.__doc__ = text
    app.command(name, epilog=examples)(command)


def _parameter(option: Declared) -> inspect.Parameter:
    """A declared option as a parameter that Typer understands; None or nothing if it is not given."""
    about = option.option
    metavar = about.metavar or None
    completed = completion.BY_METAVAR.get(about.metavar)
    shown: str | bool = True if isinstance(option.default, int | str) else option.default_text
    if about.default:
        shown = about.default
    kind: Any
    if option.is_flag:
        kind = Annotated[bool, typer.Option(option.flag, help=about.help)]
    elif about.positional:
        words: Any = list[str] if option.is_list else str
        kind = Annotated[
            words if option.is_required else words | None,
            typer.Argument(
                metavar=metavar, help=about.help, show_default=False, autocompletion=completed
            ),
        ]
    else:
        of: Any = str
        if about.repeat:
            of = list[str]
        elif option.type in (int, int | None):
            of = int
        elif option.type is float:
            of = float
        kind = Annotated[
            of | None,
            typer.Option(
                option.flag,
                metavar=metavar,
                help=about.help,
                show_default=shown or False,
                autocompletion=completed,
            ),
        ]
    default: Any = option.default if isinstance(option.default, int | str) else None
    if about.positional and option.is_required:
        default = inspect.Parameter.empty
    return inspect.Parameter(
        option.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind
    )


def _study_command(options: type[StudyOptions]) -> Callable[..., None]:
    def command(*, given: dict[str, Any], as_json: Json = False, as_csv: Csv = False) -> None:
        from pickosim.runs.folder import new_folder
        from pickosim.studies.kinds import plan
        from pickosim.studies.options import make_options

        form = _form(as_json, as_csv)
        made = make_options(options, **given)
        with compiling():
            from pickosim.studies.study import play_study

            study = plan(made)
            with progress_bar() as progress:
                results = play_study(
                    study,
                    made,
                    folder=None if made.out else new_folder(made.kind),
                    progress=progress,
                    command=_command_line(),
                )
        show_results(results, form)

    return command


def run_experiment(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="An experiment, e.g. experiments/ladder.toml.")
    ],
    *,
    given: dict[str, Any],
    games: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER",
            help="Another number of games, e.g. 10k.",
            show_default="what the file says",
        ),
    ] = None,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """Run the experiment of a file.

    A file says what is asked, and which tournament, comparison or balance answers it.
    """
    form = _form(as_json, as_csv)
    with compiling():
        from pickosim.runs.folder import new_folder
        from pickosim.studies.experiments import load_experiment, play_experiment

        experiment = load_experiment(file, games=games, **given)
        with progress_bar() as progress:
            results = play_experiment(
                experiment,
                folder=None if experiment.options.out else new_folder(file.stem),
                progress=progress,
                command=_command_line(),
            )
    show_results(results, form)


def extend(
    folder: Run,
    *,
    given: dict[str, Any],
    bots: Annotated[
        list[str] | None,
        typer.Argument(metavar="BOT", help="Bots to add, e.g. my_bot.py.", show_default=False),
    ] = None,
    games: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER",
            help="Games per matchup in the end, e.g. 100k.",
            show_default="as many as before",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN", help="Folder of the new run.", show_default="a new one beside the old"
        ),
    ] = None,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """Add bots or games to a finished tournament.

    Only what is missing is played. The tables are identical to those of one tournament with all bots and games. The old run is left
    as it is.
    """
    form = _form(as_json, as_csv)
    with compiling():
        from pickosim import run_api

        with progress_bar() as progress:
            results = run_api.extend(
                folder,
                bots or (),
                games,
                out=out,
                progress=progress,
                command=_command_line(),
                **given,
            )
    show_results(results, form)


def resume(
    folder: Run, *, given: dict[str, Any], as_json: Json = False, as_csv: Csv = False
) -> None:
    """Resume an interrupted run; the results are identical.

    Of a finished run the results are shown again.
    """
    form = _form(as_json, as_csv)
    with compiling():
        from pickosim import run_api

        with progress_bar() as progress:
            results = run_api.resume(folder, **given, progress=progress)
    show_results(results, form)


def _form(as_json: bool, as_csv: bool) -> Literal["text", "json", "csv"]:
    """How results are printed."""
    if as_json and as_csv:
        raise PickosimError("Results are printed as JSON or as CSV, not both.")
    return "json" if as_json else "csv" if as_csv else "text"


def _command_line() -> str:
    return shlex.join(["pickosim", *_given])


@app.command("show", epilog=_examples("pickosim show runs/mine", "pickosim show runs/mine --csv"))
def show_run(folder: Run, as_json: Json = False, as_csv: Csv = False) -> None:
    """Print the results of a finished run again."""
    form = _form(as_json, as_csv)
    from pickosim.studies.stored import load_results

    show_results(load_results(folder), form)


@app.command("runs", epilog=_examples("pickosim runs", "pickosim runs results/ --csv"))
def list_runs(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the runs are.")] = Path(
        "runs"
    ),
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """List the runs in a folder with their headlines."""
    form = _form(as_json, as_csv)
    from pickosim.reports.runs_text import runs_text
    from pickosim.studies.stored import list_runs

    found = list_runs(folder)
    if form == "json":
        print(json_of(found.to_dicts()))
    elif form == "csv":
        print(found.write_csv(), end="")
    elif found.is_empty():
        note(f"There are no runs in {folder}. To begin one: pickosim tournament all")
    else:
        show(*runs_text(found))


@app.command(
    epilog=_examples("pickosim report runs/mine", "pickosim report runs/mine --png charts")
)
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
        typer.Option(metavar="NAME", help="Only this chart, e.g. standings; repeat for more."),
    ] = None,
) -> None:
    """Write the HTML page of a finished run, or its charts.

    The page opens offline; charts are pictures. Prints the names of the files written.
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


# ------------------------------------------------------------------------------------------------ rules and bots


@rules_app.callback(invoke_without_command=True)
def list_rules(context: typer.Context) -> None:
    """List the rule sets, show one, compare two, or explain one."""
    if context.invoked_subcommand is not None:
        return
    from pickosim.reports.layout import grid
    from pickosim.rule_files import presets

    rows = [(rules.name, rules.title) for rules in presets()]
    show(grid("Rule sets", [("name", "left"), ("what it is", "left")], rows))


@rules_app.command("show", epilog=_examples("pickosim rules show extrawurm"))
def show_rules(
    name: RulesName,
    sets: Sets = None,
    as_json: Json = False,
) -> None:
    """Show every option of a rule set: its value, what that means, and what is allowed.

    --json prints the values only.
    """
    from pickosim.explanations import options_in_use
    from pickosim.reports.rules_text import OptionsTable

    rules = _load(name, sets)
    if as_json:
        print(json_of(rules.as_dict()))
    else:
        show(OptionsTable(f"Rules {rules.name}", options_in_use(rules)))


@rules_app.command(
    "explain", epilog=_examples("pickosim rules explain weasel", "pickosim rules explain tiles.36")
)
def explain_rule(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="An option (steal), an entry of one (tiles.36) or a specialist (weasel).",
            show_default="one line on each",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Explain an option or a specialist: meaning, allowed values, and how presets differ."""
    from pickosim import explanations
    from pickosim.reports.rules_text import explanation_page, explanations_tables

    if name is None:
        found = explanations.explain_rules()
        if as_json:
            print(json_of([asdict(each) for each in found]))
        else:
            show(*explanations_tables(found))
        return
    about = explanations.explain_rule(name)
    if as_json:
        print(json_of(asdict(about)))
    else:
        show(*explanation_page(about))


@rules_app.command("diff", epilog=_examples("pickosim rules diff classic short"))
def diff_rules(
    a: RulesName,
    b: Annotated[
        str,
        typer.Argument(metavar="OTHERS", help="Another one.", autocompletion=completion.rules),
    ],
    as_json: Json = False,
) -> None:
    """Show only what differs between two rule sets."""
    from pickosim.reports.layout import breakable, grid
    from pickosim.rule_files import differences

    first, second = _load(a), _load(b)
    rows = differences(first, second)
    if as_json:
        print(json.dumps([{"option": o, "a": x, "b": y} for o, x, y in rows], indent=2))
        return
    if not rows:
        print("Nothing differs.")
        return
    columns = [("option", "left"), (first.name, "left"), (second.name, "left")]
    show(grid("What differs", columns, [(o, breakable(x), breakable(y)) for o, x, y in rows]))


@strategies_app.callback(invoke_without_command=True)
def list_strategies(context: typer.Context, as_json: Json = False) -> None:
    """List the bots, or show one."""
    if context.invoked_subcommand is not None:
        return
    from pickosim.bots.catalogue import catalogue
    from pickosim.reports.bot_text import bots_table

    if as_json:
        print(json_of([asdict(bot) for bot in catalogue()]))
    else:
        show(bots_table(catalogue()))


@strategies_app.command("show", epilog=_examples("pickosim strategies show threshold"))
def show_strategy(bot: Bot, as_json: Json = False) -> None:
    """Show one bot: its description, its parameters, what it decides."""
    from pickosim.bots.catalogue import describe
    from pickosim.reports.bot_text import bot_page

    description = describe(bot)
    if as_json:
        print(json_of(asdict(description)))
    else:
        show(*bot_page(description))


@app.command(epilog=_examples("pickosim new my_bot.py", "pickosim new my_bot.py --valuation"))
def new(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file, e.g. my_bot.py.")],
    valuation: Annotated[
        bool, typer.Option("--valuation", help="A bot that only says what a position is worth.")
    ] = False,
    simple: Annotated[
        bool, typer.Option("--simple", help="A bot that decides one game at a time, without NumPy.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
) -> None:
    """Write a new bot to begin with; it runs as it is."""
    from pickosim.bots.catalogue import write_bot

    write_bot(file, simple=simple, valuation=valuation, force=force)
    name = shlex.quote(str(file))
    print(f"{file} is a bot that runs as it is. Now:")
    print(f"  pickosim watch {name} eager")
    print(f"  pickosim check {name}")
    print(f"  pickosim rank {name}")


@app.command(epilog=_examples("pickosim check my_bot.py"))
def check(
    bot: Bot,
    seconds: AnswerSeconds = None,
    as_json: Json = False,
) -> None:
    """Check a bot against the strategy contract.

    Exit code 1 if it does not fulfil it.
    """
    with compiling():
        from pickosim.bots.guard import GAME_SECONDS, check_seconds
        from pickosim.bots.loading import load_bot

        load_bot(bot)  # a mistake in its name is reported before the kernels are loaded
        from pickosim.games.check import Effort, check_bot
        from pickosim.studies.warm import warm_up

        limit = check_seconds(GAME_SECONDS if seconds is None else seconds)

        warm_up()
        findings = []
        for finding in check_bot(bot, Effort(answer_seconds=limit)):
            findings.append(finding)
            if not as_json:
                said = f"{'ok' if finding.ok else 'WRONG':5}  {finding.point}: {finding.message}"
                print(visible(said))
                sys.stdout.flush()
    if as_json:
        print(json_of([asdict(finding) for finding in findings]))
    if not all(finding.ok for finding in findings):
        raise typer.Exit(1)


@app.command(
    epilog=_examples("pickosim worths expected --games 4k", "pickosim worths winner --players 2")
)
def worths(
    bot: Bot,
    rules: Rules = "extrawurm",
    sets: Sets = None,
    players: Annotated[int, typer.Option(metavar="NUMBER", help="Players per game.")] = 4,
    games: Annotated[str, typer.Option(metavar="NUMBER", help="Games per round, e.g. 20k.")] = "4k",
    seed: Seed = 0,
    rounds: Annotated[int, typer.Option(metavar="NUMBER", min=1, help="Rounds at most.")] = 6,
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER", min=1, help="Processes to play in.", show_default="all cores"
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Find what specialists are worth to a bot that states it.

    Each round measures what a pick-up adds to the score, and states that in the next one, until both agree.
    """
    loaded = _load(rules, sets)
    with compiling():
        from pickosim.studies.options import CORES
        from pickosim.studies.worths import worths as find_worths

        with progress_bar() as progress:
            found = find_worths(
                bot,
                loaded,
                players,
                games,
                seed,
                rounds=rounds,
                workers=workers or CORES,
                progress=progress,
            )
    if as_json:
        print(json_of(found.to_dicts()))
    else:
        from pickosim.reports.worths_text import worths_text

        show(*worths_text(found))


# -------------------------------------------------------------------------------------------------- single games


@app.command(
    epilog=_examples(
        "pickosim watch eager random --seed 7 --game 42",
        "pickosim watch expected winner --rules extrawurm --why",
    )
)
def watch(
    context: typer.Context,
    bots: Bots = None,
    rules: Rules = "classic",
    sets: Sets = None,
    seed: Seed = 0,
    game: Annotated[int, typer.Option(metavar="NUMBER", help="Number of the game.")] = 0,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="RUN",
            help="A tournament's folder: show one of its games.",
            autocompletion=completion.runs,
        ),
    ] = None,
    position: Annotated[
        Path | None,
        typer.Option(
            "--from-position",
            metavar="FILE",
            help="A position in JSON: play it on, by default with the bots that it names.",
        ),
    ] = None,
    position_at: Annotated[
        int | None,
        typer.Option(
            "--position-at",
            metavar="TURN",
            help="Print the position before that turn, as --from-position takes it.",
        ),
    ] = None,
    rotation: Annotated[
        int,
        typer.Option(
            metavar="NUMBER",
            min=0,
            help="With --from: how far the seats are rotated in that game.",
        ),
    ] = 0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the trace, one JSON object per line.")
    ] = False,
    why: Annotated[
        bool, typer.Option("--why", help="Show what each option was worth to a bot that can say.")
    ] = False,
    seconds: AnswerSeconds = None,
) -> None:
    """Show one game turn by turn.

    It is the same game that a batch with this seed plays as that number.
    """
    if why and as_json:
        raise PickosimError("--why is printed as text; the trace of --json has no field for it.")
    if position is None and bool(bots) == bool(folder):
        raise PickosimError(
            "Name the bots to watch, or a run with --from: one of both; or a position with --from-position."
        )
    _check_source(context, folder, position)
    from pickosim.bots.guard import GAME_SECONDS, answer_seconds, check_seconds
    from pickosim.games.positions import load_position, position_text
    from pickosim.games.positions import position_at as taken_at
    from pickosim.games.trace import traced_game, traced_position

    limit = check_seconds(GAME_SECONDS if seconds is None else seconds)
    if position is not None:
        start = load_position(position)
        with compiling(), answer_seconds(limit):
            events, mistake = traced_position(start, bots or start.named_bots, why=why)
    else:
        if folder is not None:
            from pickosim.run_api import game_of_run

            match = game_of_run(folder, game, rotation)
        else:
            from pickosim.games.match import make_match

            match = make_match(bots or [], _load(rules, sets), seed)
        with compiling(), answer_seconds(limit):
            if position_at is not None:
                print(position_text(next(taken_at(match, game, position_at).objects)))
                return
            events, mistake = traced_game(match, game, why=why)
    if as_json:
        for event in events:
            print(json_of(event, indent=None))
    else:
        from pickosim.reports.layout import hanging
        from pickosim.reports.story import story

        show(*(hanging(line) for line in story(events)))
    if mistake is not None:
        raise mistake


def _check_source(context: typer.Context, folder: Path | None, position: Path | None) -> None:
    """Refuse options that do not go with where the game to watch comes from."""
    refused: dict[str, str] = {}
    if folder is None:
        refused["rotation"] = "--rotation goes only with --from."
    if folder is not None:
        for option in ("rules", "set", "seed"):
            refused[option] = f"--{option} goes not with --from: the run has its own."
    if position is not None:
        for option in ("rules", "set", "seed", "game"):
            refused[option] = f"--{option} goes not with --from-position: the position has its own."
        for option in ("from", "position-at"):
            refused[option] = f"Watch with --{option} or with --from-position: one of both."
    names = {"set": "sets", "from": "folder", "position-at": "position_at"}
    for option, said in refused.items():
        source = context.get_parameter_source(names.get(option, option))
        if source is not None and source.name == "COMMANDLINE":
            raise PickosimError(said)


@app.command(
    epilog=_examples(
        "pickosim odds --rules extrawurm --holds golden-die",
        "pickosim odds --grill 21-36 --own 24 --rivals 27,30",
        "pickosim odds --aside worm,worm,4,4 --roll 1,3,5,5",
    )
)
def odds(
    rules: Rules = "classic",
    sets: Sets = None,
    holds: Annotated[
        str | None, typer.Option(metavar="NAME", help="The specialist that you hold.")
    ] = None,
    grill: Annotated[
        str | None,
        typer.Option(
            metavar="TILES",
            help="E.g. 21-24,30.",
            show_default="all tiles that are not a player's top",
        ),
    ] = None,
    own: Annotated[int | None, typer.Option(metavar="TILE", help="Your own top tile.")] = None,
    rivals: Annotated[
        str | None,
        typer.Option(
            metavar="TILES",
            help="The rivals' top tiles in order of play, e.g. 27,-,30; - has no tiles.",
            show_default="-",
        ),
    ] = None,
    scores: Annotated[
        str | None,
        typer.Option(
            metavar="WORMS",
            help="Worms on tiles: yours, then the rivals', e.g. 7,4.",
            show_default="those of the top tiles",
        ),
    ] = None,
    on: Annotated[
        str | None,
        typer.Option(
            metavar="NAME=TILE,…",
            help="Specialists on tiles of the grill, e.g. weasel=25,raven=23.",
        ),
    ] = None,
    bot: Annotated[
        str | None,
        typer.Option(metavar="BOT", help="Says what results are worth.", show_default="expected"),
    ] = None,
    aside: Annotated[
        str | None,
        typer.Option(
            metavar="FACES", help="Dice set aside, e.g. worm,worm,4; +4 is the golden die."
        ),
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
        bool, typer.Option("--weasel-used", help="You have rerolled this turn.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Compute the exact odds of a turn.

    Of the dice alone: the best chance to reach each total. With a situation (--grill, --own,
    --rivals, --scores, --on or --bot): the chance and worth of each result. With dice (--aside, --roll): the
    value of each option, and the chance that the turn then ends in a claim.

    --json prints a list of {total, at_least, exactly}; or an object with the situation, the value of
    the turn and its results: {result, tile, rival, reason, chance, worth}; or one with the value of
    the best option and all options: {option, face, dice, total, dice_left, then, tile, value, claim,
    best}.
    """
    rule_set = _load(rules, sets)
    with compiling():
        from pickosim.reports.odds_text import answer_lines
        from pickosim.turn_odds.answer import answer
        from pickosim.turn_odds.question import Question

        question = Question(
            rule_set,
            holds=holds,
            grill=grill,
            own=own,
            rivals=rivals,
            scores=scores,
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
        show(*answer_lines(found))


@app.command(epilog=_examples("pickosim bench --seconds 0.5"))
def bench(
    as_json: Json = False,
    seconds: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", min=0.01, max=600, help="Seconds per run; three runs per case."
        ),
    ] = 2,
) -> None:
    """Measure games per second on this machine."""
    from pickosim.bench import run_bench
    from pickosim.reports.bench_text import bench_tables

    with compiling():
        rows = run_bench(seconds)
    if as_json:
        print(json.dumps(rows, indent=2))
    else:
        show(*bench_tables(rows))


@app.command("help", epilog=_examples("pickosim help tournament", "pickosim help rules show"))
def show_help(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="COMMAND", help="A command.", show_default="all")
    ] = None,
) -> None:
    """Explain a command and its options."""
    raise typer.Exit(run([*(names or []), "--help"]))


def _load(rules: str, sets: list[str] | None = None) -> RuleSet:
    from pickosim.rule_files import load_rules

    return load_rules(rules, sets or [])
