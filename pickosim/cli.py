"""The command line: parse, call, print. Results go to standard output, notes to standard error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pickosim import __version__
from pickosim.errors import PickosimError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pickosim.rules import RuleSet

app = typer.Typer(
    name="pickosim",
    help="Monte Carlo tournaments of Pickomino (Heckmeck am Bratwurmeck) and Extrawurm.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich" if sys.stdout.isatty() else None,  # a pipe gets plain lines
)
rules_app = typer.Typer(help="List the rule sets, show one, or compare two.")
app.add_typer(rules_app, name="rules")

Bots = Annotated[
    list[str],
    typer.Argument(
        metavar="BOT",
        help="Bots in the order of their seats, as eager, threshold:target=25 or my_bot.py:MyBot.",
        show_default=False,
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


UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""What Typer raises for a command line it does not understand; versions differ in where it lives."""

UNBROKEN = 10_000
"""Width of a pipe: no line is broken in it."""


def main() -> None:
    """Run the command line of this process."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit code: 2, after one sentence, for a person's mistake."""
    try:
        try:
            command = typer.main.get_command(app)
            with command.make_context("pickosim", list(arguments)) as context:
                command.invoke(context)
        finally:
            sys.stdout.flush()
    except typer.Exit as end:
        return end.exit_code
    except PickosimError as error:
        _note(f"pickosim: {error}")
        return 2
    except UsageError as error:
        _note(f"pickosim: {_explained(error)}")
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read our output has gone (as `head` does): no more to say, and nothing to flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
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
    from pickosim.rules import presets
    from pickosim.words import grid

    rows = [(rules.name, rules.title) for rules in presets()]
    _show(grid("Rule sets", [("name", "left"), ("what it is", "left")], rows))


@rules_app.command("show")
def show_rules(
    name: Annotated[str, typer.Argument(metavar="RULES", help="A preset or a TOML file.")],
    sets: Sets = None,
    as_json: Json = False,
) -> None:
    """Show every option of a rule set."""
    from pickosim.rules import option_texts
    from pickosim.words import airy, grid

    rules = _load(name, sets)
    if as_json:
        print(json.dumps(rules.as_dict(), indent=2, ensure_ascii=False))
        return
    columns = [("option", "left"), ("value", "left")]
    rows = [(option, airy(value)) for option, value in option_texts(rules)]
    _show(grid(f"Rules {rules.name}", columns, rows))


@rules_app.command("diff")
def diff_rules(
    a: Annotated[str, typer.Argument(metavar="RULES", help="A preset or a TOML file.")],
    b: Annotated[str, typer.Argument(metavar="OTHERS", help="Another one.")],
    as_json: Json = False,
) -> None:
    """Show only what differs between two rule sets."""
    from pickosim.rules import differences
    from pickosim.words import airy, grid

    first, second = _load(a), _load(b)
    rows = differences(first, second)
    if as_json:
        print(json.dumps([{"option": o, "a": x, "b": y} for o, x, y in rows], indent=2))
        return
    if not rows:
        print("Nothing differs.")
        return
    columns = [("option", "left"), (first.name, "left"), (second.name, "left")]
    _show(grid("What differs", columns, [(o, airy(x), airy(y)) for o, x, y in rows]))


@app.command()
def watch(
    bots: Bots,
    rules: Rules = "classic",
    sets: Sets = None,
    seed: Seed = 0,
    game: Annotated[int, typer.Option(help="Number of the game.")] = 0,
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
    rule_set = _load(rules, sets)
    with _compiling():
        from pickosim.match import seat
        from pickosim.trace import tell_game

        match = seat(bots, rule_set, seed)
        events, mistake = tell_game(match, game, why=why)
    if as_json:
        for event in events:
            print(json.dumps(event, ensure_ascii=False))
    else:
        from pickosim.words import hanging, story

        _show(*(hanging(line) for line in story(events)))
    if mistake is not None:
        raise mistake


@app.command()
def tournament(
    bots: Annotated[
        list[str] | None,
        typer.Argument(metavar="BOT", help="Bots by name; without any, all built-in ones."),
    ] = None,
    rules: Rules = "classic",
    sets: Sets = None,
    players: Annotated[int, typer.Option(min=2, max=7, help="Players at a table.")] = 2,
    games: Annotated[int, typer.Option(min=1, help="Games a matchup, at the least.")] = 20_000,
    seed: Seed = 0,
    workers: Annotated[
        int, typer.Option(min=1, help="Processes to play in.", show_default="all cores")
    ] = os.cpu_count() or 1,
) -> None:
    """Play a round robin.

    Every choice of bots meets at a table, and every bot sits in every seat equally often.
    """
    rule_set = _load(rules, sets)
    with _compiling():
        from pickosim.bots import built_in_bots
        from pickosim.run import checked_matchups, run_tournament
        from pickosim.warm import warm_up

        entrants = bots or built_in_bots()
        checked_matchups(entrants, rule_set, players, seed)
        warm_up()
    from pickosim.words import cross_table, standings_table

    result = run_tournament(entrants, rule_set, players, games, seed, workers)
    title = f"Round robin, {players} players, rules {rule_set.name}, seed {seed}"
    _show(standings_table(title, result.standings), "", cross_table(result.standings, result.pairs))
    _note(f"{result.games:,} games, {result.unfinished:,} unfinished (ended by the turn limit).")


@app.command()
def bench(
    as_json: Json = False,
    seconds: Annotated[float, typer.Option(min=0.01, help="Seconds a run; three runs a case.")] = 2,
) -> None:
    """Measure games a second on this machine."""
    with _compiling():
        from pickosim.warm import warm_up

        warm_up()
    from pickosim.bench import run_bench
    from pickosim.words import grid

    rows = run_bench(seconds)
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    baseline = rows[-1]["games_per_second"]
    cells = [
        (
            row["name"],
            row["workers"],
            f"{row['games_per_second']:,}",
            f"{row['games_per_second'] / baseline:,.0f}",
            f"{row['games']:,}",
        )
        for row in rows
    ]
    columns = [("case", "left")] + [
        (heading, "right") for heading in ("workers", "games/s", "× plain Python", "games")
    ]
    _show(grid(f"Best of {rows[0]['repeats']} runs", columns, cells), _conditions(rows[0]))


def _conditions(row: dict[str, Any]) -> str:
    return (
        f"{row['machine']}, {row['cores']} cores, {row['system']}; pickosim {row['pickosim']}, "
        f"Python {row['python']}, NumPy {row['numpy']}, Numba {row['numba']}; kernels warmed up "
        f"before ({row['warm_up_seconds']} s); {row['bytes_per_running_game']:.0f} bytes a running game."
    )


def _load(rules: str, sets: list[str] | None = None) -> RuleSet:
    from pickosim.rules import load_rules

    return load_rules(rules, sets or [])


def _show(*shown: RenderableType) -> None:
    """Print on standard output: laid out for the width of a terminal, as plain lines in a pipe."""
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False)
    if console.is_terminal:
        for one in shown:
            console.print(one)
        return
    console.width = UNBROKEN
    for one in shown:
        with console.capture() as captured:
            console.print(one)
        for line in captured.get().removesuffix("\n").split("\n"):
            print(line.rstrip())


def _note(text: str) -> None:
    print(text, file=sys.stderr)


@contextmanager
def _compiling() -> Iterator[None]:
    """Say so on standard error if the first use of the kernels takes long: they are being compiled."""
    said = "Compiling the engine: up to 20 seconds on the first run, cached afterwards …"
    timer = Timer(2.0, _note, [said])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
