"""Commands about bots: list them, show one, write a new one, check one."""

from __future__ import annotations

import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from pickosim.commands.parameters import (
    AnswerSeconds,
    Bot,
    Json,
    app,
    examples,
    strategies_app,
)
from pickosim.commands.terminal import compiling, json_of, note, show, visible


@strategies_app.callback(invoke_without_command=True)
def list_strategies(context: typer.Context, as_json: Json = False) -> None:
    """List the bots, or show one."""
    if context.invoked_subcommand is not None:
        return
    from pickosim.bots.catalogue import catalogue
    from pickosim.reports.listings import bots_table

    if as_json:
        print(json_of([asdict(bot) for bot in catalogue()]))
    else:
        show(bots_table(catalogue()))


@strategies_app.command("show", epilog=examples("pickosim strategies show threshold"))
def show_strategy(bot: Bot, as_json: Json = False) -> None:
    """Show one bot: its description, its parameters, what it decides."""
    from pickosim.bots.catalogue import describe
    from pickosim.reports.listings import bot_page

    description = describe(bot)
    if as_json:
        print(json_of(asdict(description)))
    else:
        show(*bot_page(description))


@app.command(epilog=examples("pickosim new my_bot.py", "pickosim new my_bot.py --valuation"))
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
    """Create a bot file from a template; it runs as it is."""
    from pickosim.bots.catalogue import write_bot

    write_bot(file, simple=simple, valuation=valuation, force=force)
    name = shlex.quote(str(file))
    print(f"{file} is a bot that runs as it is. Now:")
    print(f"  pickosim watch {name} eager")
    print(f"  pickosim check {name}")
    print(f"  pickosim rank {name}")


@app.command(epilog=examples("pickosim check my_bot.py"))
def check(
    bot: Bot,
    seconds: AnswerSeconds = None,
    as_json: Json = False,
) -> None:
    """Check a bot against the strategy contract.

    Exit code 1 if it does not fulfil it. What is `odd` is legal, but can hardly be meant.
    """
    with compiling():
        from pickosim.bots.guard import GAME_SECONDS, check_seconds
        from pickosim.bots.loading import load_bot

        load_bot(bot)  # a mistake in its name is reported before the kernels are loaded
        from pickosim.games.check import CHECKS, Effort, check_bot
        from pickosim.studies.warm import warm_up

        limit = check_seconds(GAME_SECONDS if seconds is None else seconds)

        warm_up()
        findings = []
        for finding in check_bot(bot, Effort(answer_seconds=limit)):
            findings.append(finding)
            if not as_json:
                word = "odd" if finding.odd else "ok" if finding.ok else "WRONG"
                print(visible(f"{word:5}  {finding.point}: {finding.message}"))
                sys.stdout.flush()
    if as_json:
        print(json_of([asdict(finding) for finding in findings]))
    if untested := [point for point in CHECKS if point not in {each.point for each in findings}]:
        note(f"Not tested because of what is wrong: {'; '.join(untested)}.")
    if not all(finding.ok for finding in findings):
        raise typer.Exit(1)
