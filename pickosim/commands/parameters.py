"""What commands share: how they are made, parameters with what a shell completes, examples, forms of output."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from pickosim.commands.terminal import Form
from pickosim.errors import PickosimError


def complete_bots(incomplete: str) -> list[str]:
    """Bots by name and the files beside; of a list with commas, the last one."""
    from pickosim.bots.loading import ALL, built_in_bots, installed_bots

    before, comma, begun = incomplete.rpartition(",")
    names = [*built_in_bots(), *installed_bots(), ALL, *_files(begun, ".py")]
    return [f"{before}{comma}{name}" for name in _beginning(begun, names)]


def complete_rules(incomplete: str) -> list[str]:
    """Presets, and rules as files."""
    from pickosim.rule_files import PRESETS

    return _beginning(incomplete, [*PRESETS, *_files(incomplete, ".toml")])


def complete_runs(incomplete: str) -> list[str]:
    """Run folders, first those in runs/."""
    folders = [*Path("runs").glob("*/manifest.json"), *Path().glob("*/manifest.json")]
    return _beginning(incomplete, [str(manifest.parent) for manifest in sorted(folders)])


COMPLETED_BY_METAVAR: dict[str, Callable[[str], list[str]]] = {
    "BOT": complete_bots,
    "BOT,…": complete_bots,
    "RULES": complete_rules,
    "RUN": complete_runs,
}
"""What a value is says how it is completed."""


def _files(begun: str, suffix: str) -> Iterator[str]:
    """Files of a kind in the folder that is being written."""
    folder, slash, _ = begun.rpartition("/")
    for path in sorted(Path(folder + slash or ".").glob(f"*{suffix}")):
        yield f"{folder}{slash}{path.name}"


def _beginning(begun: str, words: Iterable[str]) -> list[str]:
    return [word for word in words if word.startswith(begun)]


IS_PLAIN = sys.stdout is None or not sys.stdout.isatty()
"""A pipe gets plain lines; there may be no standard output at all."""

HELP_NAMES: dict[str, Any] = {"help_option_names": ["-h", "--help"]}


def new_app(**about: Any) -> typer.Typer:
    """An app to add commands to."""
    return typer.Typer(
        context_settings=HELP_NAMES,
        pretty_exceptions_enable=False,
        rich_markup_mode=None if IS_PLAIN else "rich",
        **about,
    )


def option(metavar: str, help: str, *names: str, default: str = "", **more: Any) -> Any:
    """An option that has a value; `default` says in words what it is where it is not given."""
    return typer.Option(*names, metavar=metavar, help=help, show_default=default or True, **more)


Bots = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="BOT",
        help="Bots in the order of their seats, e.g. eager, threshold:target=25 or my_bot.py:MyBot.",
        show_default=False,
        autocompletion=complete_bots,
    ),
]
Bot = Annotated[
    str,
    typer.Argument(
        metavar="BOT",
        help="A bot by name or path, e.g. threshold:target=25 or my_bot.py.",
        autocompletion=complete_bots,
    ),
]
Rules = Annotated[
    str,
    option(
        "RULES",
        "A preset (see `pickosim rules`) or a TOML file.",
        "--rules",
        autocompletion=complete_rules,
    ),
]
Sets = Annotated[
    list[str] | None,
    option("OPTION=VALUE", "Change an option of the rules; repeat for more.", "--set"),
]
Seed = Annotated[int, option("NUMBER", "Random seed.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Csv = Annotated[bool, typer.Option("--csv", help="Print the main table as CSV.")]
Full = Annotated[bool, typer.Option("--full", help="Print all tables and findings.")]
AnswerSeconds = Annotated[
    float | None,
    option("SECONDS", "Time limit per call of a bot.", "--answer-seconds", default="120"),
]
Run = Annotated[
    Path,
    typer.Argument(metavar="RUN", help="The folder of a run.", autocompletion=complete_runs),
]
RulesName = Annotated[
    str,
    typer.Argument(metavar="RULES", help="A preset or a TOML file.", autocompletion=complete_rules),
]

GIVEN: list[str] = []
"""The current command line: a run's manifest records it."""


def command_line() -> str:
    """The current command line, as it can be pasted."""
    return shlex.join(["pickosim", *GIVEN])


def with_plain_types(command: Any) -> Any:
    """A command, or a group of them, whose help names values by what they are, not by Python's types."""
    helps = command.get_help_option(typer.Context(command, **HELP_NAMES))
    for parameter in [*command.params, helps]:
        shown = None if parameter.param_type_name == "argument" else parameter.metavar
        parameter.display_type_rich = lambda ctx, shown=shown: shown
    for part in getattr(command, "commands", {}).values():
        with_plain_types(part)
    return command


def examples(*lines: str) -> str:
    """The end of a command's help: command lines to start from."""
    if IS_PLAIN:
        return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])
    return "\n\n".join(["Examples:", *lines])


def form_of(as_json: Json = False, as_csv: Csv = False, full: Full = False) -> Form:
    """The form that options ask for; commands made from declared options take these three."""
    if as_json + as_csv + full > 1:
        raise PickosimError("Results are printed as JSON, as CSV or in full: choose one of them.")
    return "json" if as_json else "csv" if as_csv else "full" if full else "text"
