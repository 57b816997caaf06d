"""Commands about runs: play one, of any kind of study; resume, extend, print and list them; make a page.

Those that play are made from the options that are declared for each kind (see `pickosim.studies.options`), each when it is called:
until then a command is only its name and what it does.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from pickosim.commands.parameters import (
    COMPLETED_BY_METAVAR,
    Csv,
    Full,
    Json,
    Run,
    app,
    command_line,
    examples,
    form_of,
    make_command,
)
from pickosim.commands.terminal import (
    Form,
    compiling,
    json_of,
    note,
    progress_bar,
    show,
    show_results,
    show_table,
    visible,
)
from pickosim.errors import PickosimError
from pickosim.studies.kinds import KINDS

if TYPE_CHECKING:
    from pickosim.studies.options import Option

RESUMED = ("workers", "backend", "scheduler", "answer_seconds")
"""Options that a resumed run takes anew."""


class LaterCommand(TyperCommand):
    """A command that is built when it is called: that takes long, as it imports its study."""

    @cached_property
    def built(self) -> Any:
        """The command with its options."""
        assert self.callback is not None
        return self.callback()

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """The context of the command with its options."""
        return self.built.make_context(*args, **kwargs)


def _add_later(name: str, text: str, build: Callable[[], Any]) -> None:
    """Add a command that is built later; the first sentence of the text is for the list of commands."""

    def command() -> Any:
        return build()

    app.command(name, cls=LaterCommand, help=text)(command)


def _takes_options(
    *wanted: str, name: str, lines: Sequence[str]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a function a command that also takes options that say how a study is run."""

    def add(call: Callable[..., None]) -> Callable[..., None]:
        text = inspect.cleandoc(call.__doc__ or "")

        def build() -> Any:
            from pickosim.studies.options import RunOptions, declared

            options = [option for option in declared(RunOptions) if option.name in wanted]
            return _command(name, text, options, call, examples(*lines))

        _add_later(name, text, build)
        return call

    return add


def _command(
    name: str, text: str, options: Sequence[Option], call: Callable[..., None], epilog: str
) -> Any:
    """A command with the parameters of `call`, but declared options for `options`, and those of `form_of` for `form`."""
    from pickosim.studies.options import PYTHON_ONLY

    own, forms = (
        [
            parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for parameter in inspect.signature(function, eval_str=True).parameters.values()
            if parameter.name not in ("options", "form")
        ]
        for function in (call, form_of)
    )
    names = {parameter.name for parameter in own}
    form_names = [parameter.name for parameter in forms]
    derived = [
        _parameter(option)
        for option in options
        if option.name not in PYTHON_ONLY and option.name not in names
    ]
    before = [parameter for parameter in own if parameter.default is inspect.Parameter.empty]
    after = [parameter for parameter in own if parameter not in before]
    parameters = [*before, *derived, *after, *forms]

    def command(**values: Any) -> None:
        form = form_of(*(values.pop(name) for name in form_names))
        # An option that was not named is left to its default, which is declared elsewhere.
        named = {
            key: value
            for key, value in values.items()
            if key not in names and value is not None and value is not False and value != []
        }
        call(**{key: values[key] for key in names}, options=named, form=form)

    signature = inspect.Signature(parameters)
    command.__signature__ = signature  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    command.__doc__ = text
    return make_command(name, command, epilog)


def _parameter(option: Option) -> inspect.Parameter:
    """A declared option as a parameter that Typer understands; None or nothing if it is not given."""
    metavar = option.metavar or None
    completed = COMPLETED_BY_METAVAR.get(option.metavar)
    text = option.default_text
    shown = True if text == str(option.default) else text or False  # a text is put in parentheses
    kind: Any
    if option.is_flag:
        kind = Annotated[bool, typer.Option(option.flag, help=option.help)]
    elif option.positional:
        words: Any = list[str] if option.is_list else str
        kind = Annotated[
            words if option.is_required else words | None,
            typer.Argument(
                metavar=metavar, help=option.help, show_default=False, autocompletion=completed
            ),
        ]
    else:
        value: Any = str
        if option.repeat:
            value = list[str]
        elif option.type in (int, int | None):
            value = int
        elif option.type is float:
            value = float
        kind = Annotated[
            value | None,
            typer.Option(
                option.flag,
                metavar=metavar,
                help=option.help,
                show_default=shown,
                autocompletion=completed,
            ),
        ]
    default: Any = option.default if isinstance(option.default, int | str) else None
    if option.positional and option.is_required:
        default = inspect.Parameter.empty
    return inspect.Parameter(
        option.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind
    )


def _study_command(kind: str) -> Any:
    """The command of a kind of study."""
    from pickosim.studies.kinds import study_kind
    from pickosim.studies.options import declared

    cls = study_kind(kind)
    text, play = inspect.cleandoc(cls.__doc__), partial(_play, kind)
    return _command(kind, text, declared(cls), play, examples(*cls.examples))


def _play(
    kind: str,
    *,
    options: dict[str, Any],
    form: Form,
) -> None:
    """Play a study, and print its results."""
    from pickosim.runs.folder import new_folder
    from pickosim.studies.kinds import study_kind
    from pickosim.studies.options import make_options
    from pickosim.studies.study import play_study

    study = make_options(study_kind(kind), **options)
    with compiling():
        study.checked()
        with progress_bar() as progress:
            results = play_study(
                study,
                folder=None if study.out else new_folder(kind),
                progress=progress,
                command=command_line(),
            )
    show_results(results, form)


for _kind, _text in KINDS.items():
    _add_later(_kind, _text, partial(_study_command, _kind))


@_takes_options(
    *RESUMED, "out", name="run", lines=["pickosim run experiments/flipping.toml --games 10k"]
)
def run_experiment(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="An experiment, e.g. experiments/ladder.toml.")
    ],
    *,
    options: dict[str, Any],
    form: Form,
    games: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER",
            help="Another number of games, e.g. 10k.",
            show_default="what the file says",
        ),
    ] = None,
) -> None:
    """Run the experiment of a file.

    An experiment file holds a question and the study that answers it: a tournament, rank, compare, balance, train,
    analyse or calibrate.
    """
    with compiling():
        from pickosim.runs.folder import new_folder
        from pickosim.studies.experiments import load_experiment, play_experiment

        experiment = load_experiment(file, games=games, **options)
        with progress_bar() as progress:
            results = play_experiment(
                experiment,
                folder=None if experiment.study.out else new_folder(file.stem),
                progress=progress,
                command=command_line(),
            )
    show_results(results, form)


@_takes_options(
    *RESUMED,
    "export",
    name="extend",
    lines=["pickosim extend runs/mine my_bot.py", "pickosim extend runs/mine --games 100k"],
)
def extend(
    folder: Run,
    *,
    options: dict[str, Any],
    form: Form,
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
    without: Annotated[
        list[str] | None,
        typer.Option(
            metavar="BOT",
            help="A bot to leave out, e.g. one that failed; the run need not be finished. Repeat for more.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN", help="Folder of the new run.", show_default="a new one beside the old"
        ),
    ] = None,
) -> None:
    """Add bots or games to a tournament, or leave bots out.

    Only what is missing is played. The tables are identical to those of one tournament with these bots and games. The
    old run is left as it is. Decide on the number of games before you see results: to play on until a difference is
    significant finds differences that are not there.
    """
    with compiling():
        from pickosim import api

        with progress_bar() as progress:
            results = api.extend(
                folder,
                bots or (),
                games,
                without=without or (),
                out=out,
                progress=progress,
                command=command_line(),
                **options,
            )
    show_results(results, form)


@_takes_options(
    *RESUMED,
    name="resume",
    lines=["pickosim resume runs/mine", "pickosim resume runs/mine --workers 1"],
)
def resume(
    folder: Run,
    *,
    options: dict[str, Any],
    form: Form,
) -> None:
    """Resume an interrupted run; the results are identical.

    If the run is finished, print its results.
    """
    with compiling():
        from pickosim import api

        with progress_bar() as progress:
            results = api.resume(folder, **options, progress=progress)
    show_results(results, form)


# ---------------------------------------------------------------------------------------- finished runs


@app.command(
    "show",
    epilog=examples(
        "pickosim show runs/mine --full", "pickosim show runs/mine --table standings --csv"
    ),
)
def show_run(
    folder: Run,
    table: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this table, e.g. standings.")
    ] = None,
    as_json: Json = False,
    as_csv: Csv = False,
    full: Full = False,
) -> None:
    """Print the results of a run again; of an unfinished one, those so far."""
    form = form_of(as_json, as_csv, full)
    from pickosim.studies.study import load_results, shown

    with shown(folder):
        results = load_results(folder, unfinished=True)
        if table is None:
            show_results(results, form)
        else:
            show_table(results, table, form)


@app.command("runs", epilog=examples("pickosim runs", "pickosim runs results/ --csv"))
def list_runs(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the runs are.")] = Path(
        "runs"
    ),
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """List the runs in a folder with their headlines."""
    form = form_of(as_json, as_csv)
    from pickosim.reports.listings import list_runs, runs_text

    listed = list_runs(folder)
    if form == "json":
        print(json_of(listed.to_dicts()))
    elif form == "csv":
        print(visible(listed.write_csv()), end="")
    elif listed.is_empty():
        note(f"There are no runs in {folder}. To begin one: pickosim tournament all")
    else:
        show(*runs_text(listed))


@app.command(epilog=examples("pickosim report runs/mine", "pickosim report runs/mine --png charts"))
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
    from pickosim.reports.page import save_charts, write_report

    if chart and not (png or svg):
        raise PickosimError("--chart picks charts for --png or --svg; the page has all of them.")
    if out or not (png or svg):
        print(write_report(folder, out))
    for pictures, suffix in ((png, ".png"), (svg, ".svg")):
        if pictures is not None:
            for path in save_charts(folder, pictures, suffix, chart):
                print(path)
