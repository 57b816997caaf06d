"""The command line: runs the command that was given, and answers mistakes with a sentence."""

from __future__ import annotations

import gc
import os
import re
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from itertools import pairwise
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from pickosim import __version__
from pickosim.commands.parameters import GIVEN, Json, examples, new_app, option, with_plain_types
from pickosim.commands.terminal import (
    compiling,
    keep_for_results,
    note,
    open_descriptors,
    show_or_json,
    silence,
    write_any_character,
)
from pickosim.errors import PickosimError, suggest
from pickosim.studies.kinds import KINDS

COMMANDS = {
    **{kind: ("runs", text) for kind, text in KINDS.items()},
    "run": ("runs", "Run the experiment of a file."),
    "extend": ("runs", "Add bots or games to a tournament, or leave bots out."),
    "resume": ("runs", "Resume an interrupted run; the results are identical."),
    "show": ("runs", "Print the results of a run again."),
    "runs": ("runs", "List the runs in a folder with their headlines."),
    "report": ("runs", "Write the HTML page of a finished run, or its charts."),
    "new": ("bots", "Create a bot file from a template; it runs as it is."),
    "check": ("bots", "Check a bot against the strategy contract."),
    "strategies": ("bots", "List the bots, or show one."),
    "watch": ("bots", "Show one game turn by turn."),
    "odds": ("bots", "Compute the exact odds of a turn."),
    "rules": ("rules", "List the rule sets, show one, compare two, or explain one."),
}
"""Commands by name: the module that has it, and what it does, which begins its help."""

MEANT = {
    **dict.fromkeys(
        ("play", "simulate", "game"),
        "One game: `pickosim watch eager thief`; many: `pickosim tournament eager thief`",
    ),
    **dict.fromkeys(
        ("optimise", "optimize", "sweep"),
        "The best value of a parameter: `pickosim tune threshold:target=21..30`",
    ),
}
"""What commands that do not exist are probably meant to do, and how."""

UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""What Typer raises for a command line it does not understand; versions differ in where it lives."""


def main() -> None:
    """Run the command line of this process, or complete it for the shell that asks."""
    # What is imported at the start stays: to look through it for garbage again and again took a sixth of the time.
    gc.set_threshold(500_000)
    open_descriptors()
    write_any_character()
    if "_PICKOSIM_COMPLETE" in os.environ:
        whole_command().main(prog_name="pickosim")
    keep_for_results()
    code = run(sys.argv[1:])
    # The command is over: Ctrl-C while Python waits for the last workers ends the process, without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit code: 2, after one sentence, for a user's mistake."""
    GIVEN[:] = arguments
    try:
        try:
            whole = whole_command()
            with whole.make_context("pickosim", list(arguments)) as context:
                whole.invoke(context)
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
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # so says Rich
            return 0
        raise
    except OSError as error:
        if error.filename is not None:  # the output has no name
            note(f"pickosim: {os.fsdecode(error.filename)} cannot be used: {error.strerror}.")
            return 2
        note(f"pickosim: the output cannot be written: {error.strerror}.")
        silence()
        return 1
    return 0


class Commands(TyperGroup):
    """All commands: the one that is called is imported and built, the others are only listed."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        listed = {name: TyperCommand(name, help=text) for name, (_, text) in COMMANDS.items()}
        self.commands = {**listed, **self.commands}

    def resolve_command(self, *args: Any) -> Any:
        """Find the command that is called."""
        name, command, rest = super().resolve_command(*args)
        return name, command_named(name) if name in COMMANDS else command, rest


app = new_app(name="pickosim", cls=Commands)


def whole_command() -> Any:
    """The command that has all others."""
    return with_plain_types(typer.main.get_command(app))


def command_named(name: str) -> Any:
    """A command with its options."""
    module = import_module(f"pickosim.commands.{COMMANDS[name][0]}")
    later = getattr(module, "LATER", {})
    command = later[name]() if name in later else typer.main.get_group(module.app).commands[name]
    return with_plain_types(command)


def _explained(error: Any) -> str:
    """What is wrong with a command line, and where to read how it should be."""
    where = error.ctx.command_path if error.ctx else "pickosim"
    option = getattr(error, "option_name", None)
    if option and hasattr(error, "possibilities"):
        parameters = error.ctx.command.params if error.ctx else []
        known = [flag for parameter in parameters for flag in parameter.opts]
        message = f'There is no option "{option}"{suggest(option, known) or "."}'
    else:
        message = error.format_message()
        if missing := re.match("No such command '([^']+)'", message):
            unlike_any = error.ctx.parent and "Did you mean" not in message
            show = f"To show one: `{where} show {missing[1]}`." if unlike_any else ""
            message = f"{message} {MEANT.get(missing[1], show)}".rstrip()
        elif "unexpected extra argument" in message and (command := _without_quotes(GIVEN)):
            message = f"{message.rstrip('.')}. Put a bot's command in quotes: '{command}'"
    return f"{message}{'' if message.endswith(('.', '?')) else '.'} See `{where} --help`."


def _without_quotes(arguments: Sequence[str]) -> str:
    """A bot's command whose words are arguments of their own, e.g. `cmd:python3 my_bot.py`; or nothing."""
    for word, following in pairwise(arguments):
        if word.startswith("cmd:") and not following.startswith("-"):
            return f"{word} {following}"
    return ""


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


@app.command(epilog=examples("pickosim bench --seconds 0.5"))
def bench(
    as_json: Json = False,
    seconds: Annotated[
        float, option("SECONDS", "Seconds per run; three runs per case.", min=0.01, max=600)
    ] = 2,
) -> None:
    """Measure games per second on this machine."""
    from pickosim.bench import bench_tables, run_bench

    with compiling():
        rows = run_bench(seconds)
    show_or_json(as_json, rows, bench_tables)


@app.command("help", epilog=examples("pickosim help tournament", "pickosim help rules show"))
def show_help(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="COMMAND", help="A command.", show_default="all")
    ] = None,
) -> None:
    """Explain a command and its options."""
    raise typer.Exit(run([*(names or []), "--help"]))
