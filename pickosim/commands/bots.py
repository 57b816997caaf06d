"""Commands for those who write bots: list, show, create and check one; watch a game; odds of a turn."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from pickosim.commands.parameters import (
    AnswerSeconds,
    Bot,
    Bots,
    Json,
    Rules,
    Seed,
    Sets,
    complete_runs,
    examples,
    new_app,
    option,
)
from pickosim.commands.terminal import compiling, json_of, note, show, show_or_json, visible
from pickosim.errors import PickosimError
from pickosim.reports.layout import Grid, grid, hanging
from pickosim.reports.story import story, summary

if TYPE_CHECKING:
    from pickosim.bots.catalogue import Description

app = new_app()
strategies_app = new_app(help="List the bots, or show one.")
app.add_typer(strategies_app, name="strategies")


@strategies_app.callback(invoke_without_command=True)
def list_strategies(context: typer.Context, as_json: Json = False) -> None:
    """List the bots, or show one."""
    if context.invoked_subcommand is None:
        from pickosim.bots.catalogue import catalogue

        show_or_json(as_json, list(catalogue()), bots_table)


@strategies_app.command("show", epilog=examples("pickosim strategies show threshold"))
def show_strategy(bot: Bot, as_json: Json = False) -> None:
    """Show one bot: its description, its parameters, what it decides."""
    from pickosim.bots.catalogue import describe

    show_or_json(as_json, describe(bot), bot_page)


def bots_table(bots: Iterable[Description]) -> Iterator[Grid]:
    """All bots: what each one does, its parameters and its origin."""
    from pickosim.bots.catalogue import BUILT_IN, parameters_text

    rows = []
    for bot in bots:
        lines = [
            bot.summary,
            parameters_text(bot.parameters),
            f"from: {bot.origin or 'not stated'}",
            "" if bot.source == BUILT_IN else f"in: {bot.source}",
        ]
        names = [bot.name, "", "", ""]
        rows += [(name, line) for name, line in zip(names, filter(None, lines), strict=False)]
    columns = [("name", "left"), ("what it is", "left")]
    yield grid("Bots (built-in unless stated otherwise)", columns, rows)


def bot_page(bot: Description) -> Iterator[Grid | Text]:
    """Everything about one bot."""
    from pickosim.bots.catalogue import BUILT_IN

    yield Text(bot.name, style="bold")
    for paragraph in re.split(r"\n\s*\n", bot.text):
        is_code = any(line.startswith(" ") for line in paragraph.splitlines())
        yield Text(paragraph if is_code else " ".join(paragraph.split()))
        yield Text()
    if bot.parameters:
        columns = [("name", "left"), ("type", "left"), ("default", "left")]
        rows = [(p.name, p.type, "none" if p.required else p.default) for p in bot.parameters]
        yield grid("Parameters", columns, rows)
    else:
        yield Text("No parameters.")
    yield Text()
    deciders = [("decided by", "left"), ("what", "left")]
    yield grid("Optional decisions", deciders, _by_decider(bot.decisions))
    yield Text()
    yield Text(f"{BUILT_IN}: {bot.file}" if bot.source == BUILT_IN else f"in: {bot.source}")


def _by_decider(decisions: Mapping[str, str]) -> list[tuple[str, str]]:
    """Optional methods by where they are defined: the bot itself, a base class, the default."""
    from pickosim.bots.catalogue import BY_DEFAULT, ITSELF

    order = {ITSELF: -1, BY_DEFAULT: 1}
    deciders = sorted(set(decisions.values()), key=lambda each: (order.get(each, 0), each))
    return [(each, ", ".join(m for m, by in decisions.items() if by == each)) for each in deciders]


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

        limit = check_seconds(GAME_SECONDS if seconds is None else seconds)
        findings = []
        for finding in check_bot(bot, Effort(answer_seconds=limit)):
            findings.append(finding)
            if not as_json:
                word = "odd" if finding.odd else "ok" if finding.ok else "WRONG"
                print(visible(f"{word:5}  {finding.point}: {finding.message}"))
                sys.stdout.flush()
    if as_json:
        print(json_of(findings))
    if untested := [point for point in CHECKS if point not in {each.point for each in findings}]:
        note(f"Not tested because of what is wrong: {'; '.join(untested)}.")
    if not all(finding.ok for finding in findings):
        raise typer.Exit(1)


@app.command(
    epilog=examples(
        "pickosim watch eager random --seed 7 --game 42",
        "pickosim watch expected winner --rules extrawurm --why",
        "pickosim watch eager winner --judge champion --summary",
        "pickosim watch --from runs/mine --lost-by my_bot.py --to champion --summary",
    )
)
def watch(
    context: typer.Context,
    bots: Bots = None,
    rules: Rules = "classic",
    sets: Sets = None,
    seed: Seed = 0,
    game: Annotated[int, option("NUMBER", "Number of the game.")] = 0,
    folder: Annotated[
        Path | None,
        option(
            "RUN",
            "A tournament's folder: show one of its games.",
            "--from",
            autocompletion=complete_runs,
        ),
    ] = None,
    position: Annotated[
        str | None,
        option(
            "LINE|FILE|-",
            "A position to play on, by default with the built-in bots that it names.",
            "--from-position",
        ),
    ] = None,
    position_at: Annotated[
        int | None,
        option(
            "TURN",
            "Print the position before that turn, as --from-position takes it.",
            "--position-at",
        ),
    ] = None,
    rotation: Annotated[
        int, option("NUMBER", "With --from: how far the seats are rotated in that game.", min=0)
    ] = 0,
    matchup: Annotated[
        str | None,
        option("BOTS", "With --from: a matchup, e.g. eager,thief, in which --game counts from 0."),
    ] = None,
    lost_by: Annotated[
        str | None, option("BOT", "With --from: a game that this bot lost.", "--lost-by")
    ] = None,
    to: Annotated[str | None, option("BOT", "With --lost-by: which this bot won.")] = None,
    nth: Annotated[int, option("NUMBER", "With --lost-by: which of these games.", min=1)] = 1,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the trace, one JSON object per line.")
    ] = False,
    in_short: Annotated[bool, typer.Option("--summary", help="Print one line per turn.")] = False,
    why: Annotated[
        bool, typer.Option("--why", help="Show what each option was worth to a bot that can say.")
    ] = False,
    judge: Annotated[
        str | None, option("BOT", "Show luck and errors of every turn, e.g. by champion.")
    ] = None,
    seconds: AnswerSeconds = None,
) -> None:
    """Show one game turn by turn.

    It is the same game that a batch with this seed plays as that number.
    """
    if as_json and (why or judge):
        raise PickosimError(
            f"--{'why' if why else 'judge'} is printed as text; the trace of --json has no field for it."
        )
    if position is None and bool(bots) == bool(folder):
        raise PickosimError(
            "Name the bots to watch, a run with --from, or a position with --from-position: one of them."
        )
    if in_short and (why or as_json):
        raise PickosimError("--summary goes neither with --why nor with --json.")
    _check_source(context, folder, position, lost_by)
    from pickosim.bots.guard import GAME_SECONDS, answer_seconds, check_seconds
    from pickosim.games.judge import judge_of
    from pickosim.games.trace import traced_game, traced_position

    limit = check_seconds(GAME_SECONDS if seconds is None else seconds)
    notes: list[str] = []
    with compiling(), answer_seconds(limit):  # a program introduces itself within the limit, too
        if position is not None:
            from pickosim.games.positions import load_position, read_positions

            start = read_positions(load_position(position))
            seated = bots or start.bots_named_in(position)
            match, notes = start.match(seated), [*start.notes]
        elif folder is not None:
            from pickosim.studies.tournament import game_of_run

            match, game, _ = game_of_run(
                folder, game, rotation, matchup=matchup, lost_by=lost_by, to=to, nth=nth
            )
        else:
            from pickosim.games.match import make_match
            from pickosim.rule_files import load_rules

            match = make_match(bots or [], load_rules(rules, sets or ()), seed)
        if position_at is not None:
            from pickosim.games.positions import position_at as taken_at
            from pickosim.games.positions import position_text

            print(position_text(next(taken_at(match, game, position_at).objects)))
            return
        by = judge_of(judge, match.rules, len(match.specs)) if judge else None
        if position is None:
            events, mistake = traced_game(match, game, why=why, judge=by)
        else:
            events, mistake = traced_position(start, seated, why=why, judge=by)
    if as_json:
        for event in events:
            print(json_of(event, indent=None))
    else:
        lines = (summary if in_short else story)(events)
        show(*(hanging(line) for line in (*lines, *map(Text, (*match.notes, *notes)))))
    if mistake is not None:
        raise mistake


def _check_source(
    context: typer.Context, folder: Path | None, position: str | None, lost_by: str | None
) -> None:
    """Refuse options that do not go with where the game to watch comes from."""
    refused: list[tuple[str, str]] = []
    if folder is None:
        refused.append(("rotation matchup lost-by", "goes only with --from"))
    if lost_by is None:
        refused.append(("to nth", "goes only with --lost-by"))
    else:
        refused.append(
            ("game rotation", "cannot be combined with --lost-by; --nth says which game")
        )
    if folder is not None:
        why = "cannot be combined with --from: the run has its own"
        refused.append(("rules set seed", why))
    if position is not None:
        why = "cannot be combined with --from-position: the position has its own"
        refused.append(("rules set seed game", why))
        refused.append(("from position-at", "or --from-position: watch with one, not both"))
    parameters = {"set": "sets", "from": "folder"}
    for names, why in refused:
        for name in names.split():
            source = context.get_parameter_source(parameters.get(name, name.replace("-", "_")))
            if source is not None and source.name == "COMMANDLINE":
                raise PickosimError(f"--{name} {why}.")


@app.command(
    epilog=examples(
        "pickosim odds --rules extrawurm --holds golden-die",
        "pickosim odds --grill 21-36 --own 24 --rivals 27,30",
        "pickosim odds --aside ww44 --roll 1355",
        "pickosim odds --aside ww --totals",
    )
)
def odds(
    context: typer.Context,
    rules: Rules = "classic",
    set: Sets = None,
    position: Annotated[
        str | None,
        option(
            "LINE|FILE|-",
            "The whole table, as `watch --why` prints it, instead of the options below.",
        ),
    ] = None,
    holds: Annotated[str | None, option("NAME", "The specialist that you hold.")] = None,
    grill: Annotated[
        str | None,
        option("TILES", "E.g. 21-24,30.", default="all tiles that are not a player's top"),
    ] = None,
    own: Annotated[int | None, option("TILE", "Your own top tile.")] = None,
    rivals: Annotated[
        str | None,
        option(
            "TILES",
            "The rivals' top tiles in order of play, e.g. 27,-,30; - has no tiles.",
            default="-",
        ),
    ] = None,
    scores: Annotated[
        str | None,
        option(
            "WORMS",
            "Worms on tiles: yours, then the rivals', e.g. 7,4.",
            default="those of the top tiles",
        ),
    ] = None,
    on: Annotated[
        str | None,
        option("NAME=TILE,…", "Specialists on tiles of the grill, e.g. weasel=25,raven=23."),
    ] = None,
    bot: Annotated[
        str | None, option("BOT", "Says what results are worth.", default="expected")
    ] = None,
    aside: Annotated[
        str | None, option("FACES", "Dice set aside, e.g. ww4 or 2w,1x4; +4 is the golden die.")
    ] = None,
    roll: Annotated[str | None, option("FACES", "White dice of the roll just made.")] = None,
    golden: Annotated[
        str | None, option("FACE", "The golden die in that roll; unused: left out of this turn.")
    ] = None,
    weasel_used: Annotated[
        bool, typer.Option("--weasel-used", help="You have rerolled this turn.")
    ] = False,
    totals: Annotated[
        bool,
        typer.Option(
            "--totals", help="With dice: the best chance of each total, instead of values."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Compute the exact odds of a turn.

    Without a situation: best probability of each total; with --totals also in mid-turn. With a situation (--grill, --own,
    --rivals, --scores, --on or --bot): the chance and worth of each result. With dice (--aside, --roll): the
    value of each option, and the chance that the turn then ends in a claim.

    --json prints a list of {total, at_least, exactly}, with option and face after a roll; or an object with the situation, the value of
    the turn and its results: {result, tile, rival, reason, chance, worth}; or one with the value of
    the best option and all options: {option, face, dice, total, dice_left, then, tile, value, claim,
    best}.
    """
    with compiling():
        from pickosim.games.positions import load_position
        from pickosim.reports.odds_text import answer_lines  # as it needs the solver
        from pickosim.turn_odds import answer

        asked = {name: value for name, value in context.params.items() if name != "as_json"}
        asked |= {"set": set or (), "position": position and load_position(position)}
        answered = answer(**asked)
    if as_json:
        print(json_of(answered.as_json()))
    else:
        show(*answer_lines(answered))
