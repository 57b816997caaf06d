"""Commands about runs: play one, of any kind of study; resume, extend, print and list them; make a page.

Those that play are made from the options that are declared for each kind of study (see `pickosim.studies.options`), each
when it is called, as that imports its study.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from pickosim.amounts import listed as in_words
from pickosim.commands.parameters import (
    COMPLETED_BY_METAVAR,
    Csv,
    Full,
    Json,
    Run,
    command_line,
    examples,
    form_of,
    new_app,
    option,
)
from pickosim.commands.terminal import (
    Form,
    compiling,
    json_of,
    note,
    print_csv,
    progress_bar,
    show,
    show_results,
    show_table,
)
from pickosim.errors import PickosimError
from pickosim.reports.layout import QUIET, hanging
from pickosim.studies.kinds import KINDS

if TYPE_CHECKING:
    from pickosim.studies.options import Option

app = new_app()

LATER: dict[str, Callable[[], Any]] = {}
"""Commands that are built when they are called, by name."""

RESUMED = ("workers", "backend", "scheduler", "answer_seconds")
"""Options that a resumed run takes anew."""


def _takes_options(
    *wanted: str, name: str, lines: Sequence[str]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a function a command that also takes options that say how a study is run."""

    def add(call: Callable[..., None]) -> Callable[..., None]:
        def build() -> Any:
            from pickosim.studies.options import RunOptions, declared

            text = (call.__doc__ or "").format(kinds=in_words([*KINDS], "or"))
            options = [each for each in declared(RunOptions) if each.name in wanted]
            return _command(name, text, options, call, lines)

        LATER[name] = build
        return call

    return add


def _command(
    name: str,
    text: str | None,
    options: Sequence[Option],
    call: Callable[..., None],
    lines: Sequence[str],
) -> Any:
    """A command with the parameters of `call`, but declared options for `options`, and those of `form_of` for `form`."""
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
    derived = [_parameter(each) for each in options if each.name not in names]
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
    alone = new_app(add_completion=False)
    alone.command(name, help=inspect.cleandoc(text or ""), epilog=examples(*lines))(command)
    return typer.main.get_command(alone)


def _parameter(option: Option) -> inspect.Parameter:
    """A declared option as a parameter that Typer understands; None or nothing if it is not given."""
    default: Any = option.default if isinstance(option.default, int | str) else None
    facts: dict[str, Any] = {"help": option.help}
    if not option.is_flag:
        facts["metavar"] = option.metavar or None
        facts["autocompletion"] = COMPLETED_BY_METAVAR.get(option.metavar)
    if option.positional:
        value: Any = list[str] if option.is_list else str
        declared = typer.Argument(show_default=False, **facts)
        default = inspect.Parameter.empty if option.is_required else default
    else:
        plain = {int: int, int | None: int, float: float, bool: bool}
        value = list[str] if option.repeat else plain.get(option.type, str)
        text = option.default_text  # put in parentheses, unless it is the default itself
        shown = text == str(option.default) or option.is_flag or text or False
        declared = typer.Option(option.flag, show_default=shown, **facts)
    kind: Any = value if default is inspect.Parameter.empty or option.is_flag else value | None
    keyword = inspect.Parameter.KEYWORD_ONLY
    annotation = Annotated[kind, declared]
    return inspect.Parameter(option.name, keyword, default=default, annotation=annotation)


def _study_command(kind: str) -> Any:
    """The command of a kind of study."""
    from pickosim.studies.kinds import study_kind
    from pickosim.studies.options import PYTHON_ONLY, declared

    study = study_kind(kind)
    options = [option for option in declared(study) if option.name not in PYTHON_ONLY]
    return _command(kind, study.__doc__, options, partial(_play, kind), study.examples)


def _play(kind: str, *, options: dict[str, Any], form: Form) -> None:
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


LATER |= {kind: partial(_study_command, kind) for kind in KINDS}


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
        option("NUMBER", "Another number of games, e.g. 10k.", default="what the file says"),
    ] = None,
) -> None:
    """Run the experiment of a file.

    An experiment file holds a question and the study that answers it: a {kinds}.
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
        option("NUMBER", "Games per matchup in the end, e.g. 100k.", default="as many as before"),
    ] = None,
    without: Annotated[
        list[str] | None,
        option(
            "BOT",
            "A bot to leave out, e.g. one that failed; the run need not be finished. Repeat for more.",
        ),
    ] = None,
    out: Annotated[
        Path | None, option("RUN", "Folder of the new run.", default="a new one beside the old")
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
def resume(folder: Run, *, options: dict[str, Any], form: Form) -> None:
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
    table: Annotated[str | None, option("NAME", "Only this table, e.g. standings.")] = None,
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
    from pickosim.api import list_runs

    listed = list_runs(folder)
    if form == "json":
        print(json_of(listed.to_dicts()))
    elif form == "csv":
        print_csv(listed)
    elif listed.is_empty():
        note(f"There are no runs in the folder {folder}. To begin one: pickosim tournament all")
    else:
        show(*_runs_text(listed.to_dicts()))


def _runs_text(runs: Sequence[dict[str, Any]]) -> Iterator[Any]:
    """Lines per run: its folder, kind, date, games and status; what was played by whom; its headline."""
    for number, row in enumerate(runs):
        if number:
            yield Text()
        began = row["started"] and datetime.fromisoformat(row["started"]).astimezone()
        facts = [row["kind"], began and f"{began:%Y-%m-%d %H:%M}", row["status"]]
        if row["games"] is not None:
            facts.append(f"{row['games']:,} games")
        yield Text.assemble((row["run"], "bold"), "  ", (", ".join(filter(None, facts)), QUIET))
        if row["played"]:
            bots = "" if "bots " in row["played"] else f"; bots {row['bots']}"
            yield hanging(Text(f"  {row['played']}{bots}", style=QUIET))
        if row["headline"] != row["played"]:
            yield hanging(Text(f"  {row['headline']}"))


@app.command(epilog=examples("pickosim report runs/mine", "pickosim report runs/mine --png charts"))
def report(
    folder: Run,
    out: Annotated[
        Path | None, option("FILE", "The page.", default="report.html in the run")
    ] = None,
    png: Annotated[
        Path | None, option("FOLDER", "Write the charts there as PNG, instead of the page.")
    ] = None,
    svg: Annotated[
        Path | None, option("FOLDER", "Write the charts there as SVG, instead of the page.")
    ] = None,
    chart: Annotated[
        list[str] | None, option("NAME", "Only this chart, e.g. standings; repeat for more.")
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
