"""Commands that play: one per kind of study, experiment files, resumed and extended runs.

They are made from the options that are declared for each kind; see `pickosim.studies.options`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pickosim import completion
from pickosim.commands.parameters import Csv, Json, Run, app, command_line, examples, form_of
from pickosim.terminal import compiling, progress_bar, show_results

if TYPE_CHECKING:
    from pickosim.studies.options import Declared, StudyOptions

RESUMED = ("workers", "backend", "scheduler", "answer_seconds")
"""Options that a resumed run takes anew."""


def add_study_commands() -> None:
    """Add a command per kind of study, and `run`, each with the options that are declared for it."""
    from pickosim.studies.kinds import OPTIONS
    from pickosim.studies.options import RunOptions, declared

    known = {command.name for command in app.registered_commands}
    for kind, options in OPTIONS.items():
        if kind not in known:
            text = inspect.cleandoc(options.__doc__ or "")
            _add_command(
                kind, text, declared(options), _study_command(options), examples(*options.examples)
            )
    if "run" not in known:
        every = declared(RunOptions)
        others: list[tuple[str, Callable[..., None], Sequence[Declared], tuple[str, ...]]] = [
            (
                "run",
                run_experiment,
                [option for option in every if option.name != "export"],
                ("pickosim run experiments/flipping.toml --games 10k",),
            ),
            (
                "extend",
                extend,
                every,
                ("pickosim extend runs/mine my_bot.py", "pickosim extend runs/mine --games 100k"),
            ),
            (
                "resume",
                resume,
                [option for option in every if option.name in RESUMED],
                ("pickosim resume runs/mine", "pickosim resume runs/mine --workers 1"),
            ),
        ]
        for name, call, how, lines in others:
            _add_command(name, inspect.cleandoc(call.__doc__ or ""), how, call, examples(*lines))
        # Studies come first in the help.
        app.registered_commands.sort(key=lambda command: command.name in known)


def _add_command(
    name: str, text: str, options: Sequence[Declared], call: Callable[..., None], epilog: str
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
    app.command(name, epilog=epilog)(command)


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

        form = form_of(as_json, as_csv)
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
                    command=command_line(),
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
    form = form_of(as_json, as_csv)
    with compiling():
        from pickosim.runs.folder import new_folder
        from pickosim.studies.experiments import load_experiment, play_experiment

        experiment = load_experiment(file, games=games, **given)
        with progress_bar() as progress:
            results = play_experiment(
                experiment,
                folder=None if experiment.options.out else new_folder(file.stem),
                progress=progress,
                command=command_line(),
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
    form = form_of(as_json, as_csv)
    with compiling():
        from pickosim import run_api

        with progress_bar() as progress:
            results = run_api.extend(
                folder,
                bots or (),
                games,
                out=out,
                progress=progress,
                command=command_line(),
                **given,
            )
    show_results(results, form)


def resume(
    folder: Run, *, given: dict[str, Any], as_json: Json = False, as_csv: Csv = False
) -> None:
    """Resume an interrupted run; the results are identical.

    Of a finished run the results are shown again.
    """
    form = form_of(as_json, as_csv)
    with compiling():
        from pickosim import run_api

        with progress_bar() as progress:
            results = run_api.resume(folder, **given, progress=progress)
    show_results(results, form)
