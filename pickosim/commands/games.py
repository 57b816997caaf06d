"""Commands about single games and turns: watch one, ask for the odds of a turn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from pickosim.commands.parameters import (
    AnswerSeconds,
    Bots,
    Json,
    Rules,
    Seed,
    Sets,
    app,
    complete_runs,
    examples,
    load_rule_set,
)
from pickosim.commands.terminal import compiling, json_of, show
from pickosim.errors import PickosimError


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
    game: Annotated[int, typer.Option(metavar="NUMBER", help="Number of the game.")] = 0,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="RUN",
            help="A tournament's folder: show one of its games.",
            autocompletion=complete_runs,
        ),
    ] = None,
    position: Annotated[
        str | None,
        typer.Option(
            "--from-position",
            metavar="LINE|FILE|-",
            help="A position to play on, by default with the built-in bots that it names.",
        ),
    ] = None,
    position_at: Annotated[
        int | None,
        typer.Option(
            "--position-at",
            metavar="TURN",
            help="Print the position before that turn, as --from-position takes it.",
        ),
    ] = None,
    rotation: Annotated[
        int,
        typer.Option(
            metavar="NUMBER",
            min=0,
            help="With --from: how far the seats are rotated in that game.",
        ),
    ] = 0,
    matchup: Annotated[
        str | None,
        typer.Option(
            metavar="BOTS",
            help="With --from: a matchup, e.g. eager,thief, in which --game counts from 0.",
        ),
    ] = None,
    lost_by: Annotated[
        str | None,
        typer.Option("--lost-by", metavar="BOT", help="With --from: a game that this bot lost."),
    ] = None,
    to: Annotated[
        str | None, typer.Option(metavar="BOT", help="With --lost-by: which this bot won.")
    ] = None,
    nth: Annotated[
        int, typer.Option(metavar="NUMBER", min=1, help="With --lost-by: which of these games.")
    ] = 1,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the trace, one JSON object per line.")
    ] = False,
    in_short: Annotated[bool, typer.Option("--summary", help="Print one line per turn.")] = False,
    why: Annotated[
        bool, typer.Option("--why", help="Show what each option was worth to a bot that can say.")
    ] = False,
    judge: Annotated[
        str | None,
        typer.Option(metavar="BOT", help="Show luck and errors of every turn, e.g. by champion."),
    ] = None,
    seconds: AnswerSeconds = None,
) -> None:
    """Show one game turn by turn.

    It is the same game that a batch with this seed plays as that number.
    """
    for option, is_text in (("why", why), ("judge", judge)):
        if is_text and as_json:
            raise PickosimError(
                f"--{option} is printed as text; the trace of --json has no field for it."
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
    if position is not None:
        from pickosim.games.positions import load_position, read_positions

        start = read_positions(load_position(position))
        with compiling(), answer_seconds(limit):
            seated = bots or start.bots_named_in(position)
            by = judge_of(judge, start.rules, len(seated)) if judge else None
            events, mistake = traced_position(start, seated, why=why, judge=by)
            notes = [*start.match(seated).notes, *start.notes]
    else:
        with (
            compiling(),
            answer_seconds(limit),
        ):  # a program introduces itself within the limit, too
            if folder is not None:
                from pickosim.studies.tournament import game_of_run

                match, game, _ = game_of_run(
                    folder, game, rotation, matchup=matchup, lost_by=lost_by, to=to, nth=nth
                )
            else:
                from pickosim.games.match import make_match

                match = make_match(bots or [], load_rule_set(rules, sets), seed)
            if position_at is not None:
                from pickosim.games.positions import position_at as taken_at
                from pickosim.games.positions import position_text

                print(position_text(next(taken_at(match, game, position_at).objects)))
                return
            by = judge_of(judge, match.rules, len(match.specs)) if judge else None
            events, mistake = traced_game(match, game, why=why, judge=by)
            notes = match.notes
    if as_json:
        for event in events:
            print(json_of(event, indent=None))
    else:
        from rich.text import Text

        from pickosim.reports.layout import hanging
        from pickosim.reports.story import story, summary

        told = (summary if in_short else story)(events)
        show(*(hanging(line) for line in (*told, *map(Text, notes))))
    if mistake is not None:
        raise mistake


def _check_source(
    context: typer.Context, folder: Path | None, position: str | None, lost_by: str | None
) -> None:
    """Refuse options that do not go with where the game to watch comes from."""
    refused: dict[str, str] = {}
    if folder is None:
        for option in ("rotation", "matchup", "lost-by"):
            refused[option] = f"--{option} goes only with --from."
    if lost_by is None:
        for option in ("to", "nth"):
            refused[option] = f"--{option} goes only with --lost-by."
    else:
        for option in ("game", "rotation"):
            refused[option] = (
                f"--{option} cannot be combined with --lost-by; --nth says which game."
            )
    if folder is not None:
        for option in ("rules", "set", "seed"):
            refused[option] = f"--{option} cannot be combined with --from: the run has its own."
    if position is not None:
        for option in ("rules", "set", "seed", "game"):
            refused[option] = (
                f"--{option} cannot be combined with --from-position: the position has its own."
            )
        for option in ("from", "position-at"):
            refused[option] = f"Watch with --{option} or with --from-position, not both."
    names = {"set": "sets", "from": "folder"}
    for option, message in refused.items():
        source = context.get_parameter_source(names.get(option, option.replace("-", "_")))
        if source is not None and source.name == "COMMANDLINE":
            raise PickosimError(message)


@app.command(
    epilog=examples(
        "pickosim odds --rules extrawurm --holds golden-die",
        "pickosim odds --grill 21-36 --own 24 --rivals 27,30",
        "pickosim odds --aside ww44 --roll 1355",
        "pickosim odds --aside ww --totals",
    )
)
def odds(
    rules: Rules = "classic",
    sets: Sets = None,
    position: Annotated[
        str | None,
        typer.Option(
            metavar="LINE|FILE|-",
            help="The whole table, as `watch --why` prints it, instead of the options below.",
        ),
    ] = None,
    holds: Annotated[
        str | None, typer.Option(metavar="NAME", help="The specialist that you hold.")
    ] = None,
    grill: Annotated[
        str | None,
        typer.Option(
            metavar="TILES",
            help="E.g. 21-24,30.",
            show_default="all tiles that are not a player's top",
        ),
    ] = None,
    own: Annotated[int | None, typer.Option(metavar="TILE", help="Your own top tile.")] = None,
    rivals: Annotated[
        str | None,
        typer.Option(
            metavar="TILES",
            help="The rivals' top tiles in order of play, e.g. 27,-,30; - has no tiles.",
            show_default="-",
        ),
    ] = None,
    scores: Annotated[
        str | None,
        typer.Option(
            metavar="WORMS",
            help="Worms on tiles: yours, then the rivals', e.g. 7,4.",
            show_default="those of the top tiles",
        ),
    ] = None,
    on: Annotated[
        str | None,
        typer.Option(
            metavar="NAME=TILE,…",
            help="Specialists on tiles of the grill, e.g. weasel=25,raven=23.",
        ),
    ] = None,
    bot: Annotated[
        str | None,
        typer.Option(metavar="BOT", help="Says what results are worth.", show_default="expected"),
    ] = None,
    aside: Annotated[
        str | None,
        typer.Option(
            metavar="FACES", help="Dice set aside, e.g. ww4 or 2w,1x4; +4 is the golden die."
        ),
    ] = None,
    roll: Annotated[
        str | None, typer.Option(metavar="FACES", help="White dice of the roll just made.")
    ] = None,
    golden: Annotated[
        str | None,
        typer.Option(
            metavar="FACE", help="The golden die in that roll; unused: left out of this turn."
        ),
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
        from pickosim.reports.odds_text import answer_lines
        from pickosim.turn_odds import answer

        answered = answer(
            rules,
            set=sets or (),
            position=None if position is None else load_position(position),
            holds=holds,
            grill=grill,
            own=own,
            rivals=rivals,
            scores=scores,
            on=on,
            bot=bot,
            aside=aside,
            roll=roll,
            golden=golden,
            weasel_used=weasel_used,
            totals=totals,
        )
    if as_json:
        print(json.dumps(answered.as_json(), indent=2))
    else:
        show(*answer_lines(answered))
