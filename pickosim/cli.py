"""The command line: parse, call, print. Results go to standard output, notes to standard error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pickosim import __version__
from pickosim.errors import PickosimError

if TYPE_CHECKING:
    from rich.console import Console

    from pickosim.rules import RuleSet

app = typer.Typer(
    name="pickosim",
    help="Monte Carlo tournaments of Pickomino (Heckmeck am Bratwurmeck) and Extrawurm.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
rules_app = typer.Typer(help="List the rule sets, show one, or show what differs between two.")
app.add_typer(rules_app, name="rules")

Bots = Annotated[
    list[str],
    typer.Argument(help="Bots by name, as eager, threshold:target=25 or my_bot.py:MyBot."),
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


def main() -> None:
    """Run the command line; a person's mistake ends in one sentence and exit code 2."""
    try:
        app()
    except PickosimError as error:
        print(f"pickosim: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # Whoever read our output has gone (as `head` does): no more to say, and nothing to flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


@app.callback(invoke_without_command=True)
def options(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Monte Carlo tournaments of Pickomino (Heckmeck am Bratwurmeck) and Extrawurm."""
    if version:
        print(__version__)
        raise typer.Exit


@rules_app.callback(invoke_without_command=True)
def list_rules(context: typer.Context) -> None:
    """List the rule sets, show one, or show what differs between two."""
    if context.invoked_subcommand is not None:
        return
    from pickosim.rules import presets
    from pickosim.words import grid

    rows = [(rules.name, rules.title) for rules in presets()]
    _console().print(grid("Rule sets", [("name", "left"), ("what it is", "left")], rows))


@rules_app.command("show")
def show_rules(
    name: Annotated[str, typer.Argument(help="A preset or a TOML file.")],
    sets: Sets = None,
    as_json: Json = False,
) -> None:
    """Show every option of a rule set."""
    from pickosim.rules import option_texts
    from pickosim.words import grid

    rules = _load(name, sets)
    if as_json:
        print(json.dumps(rules.as_dict(), indent=2, ensure_ascii=False))
        return
    columns = [("option", "left"), ("value", "left")]
    _console().print(grid(f"Rules {rules.name}", columns, option_texts(rules)))


@rules_app.command("diff")
def diff_rules(
    a: Annotated[str, typer.Argument(help="A preset or a TOML file.")],
    b: Annotated[str, typer.Argument(help="Another one.")],
    as_json: Json = False,
) -> None:
    """Show only what differs between two rule sets."""
    from pickosim.rules import differences
    from pickosim.words import grid

    first, second = _load(a), _load(b)
    rows = differences(first, second)
    if as_json:
        print(json.dumps([{"option": o, "a": x, "b": y} for o, x, y in rows], indent=2))
        return
    columns = [("option", "left"), (first.name, "left"), (second.name, "left")]
    _console().print(grid("What differs", columns, rows) if rows else "Nothing differs.")


@app.command()
def watch(
    bots: Bots,
    rules: Rules = "classic",
    sets: Sets = None,
    seed: Seed = 0,
    game: Annotated[int, typer.Option(min=0, help="Number of the game.")] = 0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the trace, one JSON object a line.")
    ] = False,
) -> None:
    """Tell one game turn by turn: the very game that a batch with this seed plays as that number."""
    rule_set = _load(rules, sets)
    with _compiling():
        from pickosim.match import seat
        from pickosim.trace import tell_game

        match = seat(bots, rule_set, seed)
        events, mistake = tell_game(match, game)
    if as_json:
        for event in events:
            print(json.dumps(event, ensure_ascii=False))
    else:
        from pickosim.words import story

        console = _console()
        for line in story(events):
            console.print(line, soft_wrap=not console.is_terminal)
    if mistake is not None:
        raise mistake


@app.command()
def tournament(
    bots: Annotated[
        list[str] | None, typer.Argument(help="Bots by name; all built-in ones if none is given.")
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
    """Play a round robin: every choice of bots for a table, every bot in every seat equally often."""
    rule_set = _load(rules, sets)
    with _compiling():
        from pickosim.bots import built_in_bots
        from pickosim.run import run_tournament
        from pickosim.warm import warm_up

        warm_up()
    from pickosim.words import grid, percent

    entrants = bots or built_in_bots()
    result = run_tournament(entrants, rule_set, players, games, seed, workers)
    rows = [
        (
            row["strategy"],
            percent(row["win_share"]),
            f"{percent(row['win_share_low'])} to {percent(row['win_share_high'])}",
            f"{row['mean_score']:.2f}",
            f"{row['mean_rank']:.3f}",
            f"{row['games']:,}",
        )
        for row in result.standings.iter_rows(named=True)
    ]
    columns = [
        ("bot", "left"),
        ("win share", "right"),
        ("95 % interval", "right"),
        ("worms", "right"),
        ("rank", "right"),
        ("games", "right"),
    ]
    title = f"Round robin, {players} players, rules {rule_set.name}, seed {seed}"
    _console().print(grid(title, columns, rows))
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
    console = _console()
    console.print(grid(f"Best of {rows[0]['repeats']} runs", columns, cells))
    console.print(_conditions(rows[0]), soft_wrap=not console.is_terminal)


def _conditions(row: dict[str, Any]) -> str:
    return (
        f"{row['machine']}, {row['cores']} cores, {row['system']}; pickosim {row['pickosim']}, "
        f"Python {row['python']}, NumPy {row['numpy']}, Numba {row['numba']}; kernels warmed up "
        f"before ({row['warm_up_seconds']} s); {row['bytes_per_running_game']:.0f} bytes a running game."
    )


def _load(rules: str, sets: list[str] | None = None) -> RuleSet:
    from pickosim.rules import load_rules

    return load_rules(rules, sets or [])


def _console() -> Console:
    """Standard output: as wide as the terminal, unlimited in a pipe."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else 1000)


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
