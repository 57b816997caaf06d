"""The command line: runs the command that was given, and answers mistakes with a sentence."""

from __future__ import annotations

import gc
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import pairwise
from typing import Annotated, Any

import typer

from pickosim import __version__
from pickosim.commands.parameters import GIVEN, Json, app, examples, with_plain_types
from pickosim.commands.terminal import (
    compiling,
    keep_for_results,
    note,
    open_descriptors,
    show,
    silence,
    write_any_character,
)
from pickosim.errors import PickosimError

PARTS: dict[str, tuple[str, ...]] = {
    "runs": ("run", "extend", "resume", "show", "runs", "report"),
    "bots": ("new", "check", "strategies"),
    "games": ("watch", "odds"),
    "rules": ("rules",),
}
"""Modules that add commands to the app, in the order of the help. Those of studies are made by the first."""

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
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit code: 2, after one sentence, for a user's mistake."""
    GIVEN[:] = arguments
    try:
        try:
            command = whole_command(*arguments[:1])
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


def whole_command(first: str = "") -> Any:
    """The command with all that are part of it, or those of one module, if it is known to have the one of that name."""
    homes = [part for part, names in PARTS.items() if first in names]
    for part in homes or PARTS:
        import_module(f"pickosim.commands.{part}")
    order = [f"pickosim.commands.{part}" for part in PARTS]
    order.append(__name__)
    app.registered_commands.sort(key=lambda command: order.index(str(command.callback.__module__)))
    whole = typer.main.get_command(app)
    for command in _with_parts(whole):
        with_plain_types(command)
    return whole


def _with_parts(command: Any) -> Iterator[Any]:
    yield command
    for part in getattr(command, "commands", {}).values():
        yield from _with_parts(part)


def _explained(error: Any) -> str:
    """What is wrong with a command line, and where to read how it should be."""
    where = error.ctx.command_path if error.ctx else "pickosim"
    option = getattr(error, "option_name", None)
    if option and hasattr(error, "possibilities"):
        from pickosim.errors import suggest

        parameters = error.ctx.command.params if error.ctx else []
        known = [flag for parameter in parameters for flag in parameter.opts]
        message = f'There is no option "{option}"{suggest(option, known) or "."}'
    else:
        message = error.format_message()
        if missing := re.match("No such command '([^']+)'", message):
            message = f"{message} {MEANT.get(missing[1], '')}".rstrip()
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
        float,
        typer.Option(
            metavar="SECONDS", min=0.01, max=600, help="Seconds per run; three runs per case."
        ),
    ] = 2,
) -> None:
    """Measure games per second on this machine."""
    from pickosim.bench import run_bench
    from pickosim.reports.listings import bench_tables

    with compiling():
        rows = run_bench(seconds)
    if as_json:
        print(json.dumps(rows, indent=2))
    else:
        show(*bench_tables(rows))


@app.command("help", epilog=examples("pickosim help tournament", "pickosim help rules show"))
def show_help(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="COMMAND", help="A command.", show_default="all")
    ] = None,
) -> None:
    """Explain a command and its options."""
    raise typer.Exit(run([*(names or []), "--help"]))
