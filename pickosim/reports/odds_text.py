"""Odds as text: the answers of `pickosim.turn_odds` as sentences and tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from textwrap import wrap

from rich.text import Text

from pickosim.amounts import ranges_text, sentence
from pickosim.columns import percent
from pickosim.games.positions import Dice
from pickosim.reports.layout import QUIET, Grid, grid
from pickosim.rules import face_name
from pickosim.turn_odds import (
    Advice,
    Answer,
    ChanceAfter,
    Option,
    Outlook,
    Result,
    Situation,
    Totals,
)

WIDTH = 80

IN_WORMS = "expected"
"""The bot whose values are worms."""

TWICE = "a stolen tile counts twice: you gain it, the rival loses it"

DEEDS = {
    "keep": "keeping",
    "roll on": "rolling on",
    "roll these dice again (weasel)": "rolling these dice again (weasel)",
    "take": "taking",
    "steal": "stealing",
    "stop and fail": "stopping and failing",
    "fail": "failing",
}
"""What to do, and doing it."""

_EIGHTHS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")


def answer_lines(answer: Answer) -> Iterator[Grid | Text]:
    """The lines and tables of an answer, at most 80 characters wide unless names are long."""
    if not isinstance(answer, Totals):
        for line in _situation_lines(answer.situation, answer.win_chances):
            yield Text(line, style=QUIET)
    if not isinstance(answer, Outlook) and answer.dice:
        yield _dice_line(answer.dice)
    match answer:
        case Totals():
            yield from _prose(_best_chance(answer))
            yield from _totals_tables(answer)
            return
        case Outlook():
            yield from _prose(_verdict(answer))
            yield _results_table(answer)
        case Advice():
            yield from _prose(_advice(answer))
            yield _options_table(answer)
    yield from _prose(" ".join(answer.notes))
    # To be copied: `--position` takes it.
    yield Text(f"position: {answer.situation.position}", style=QUIET)


def _prose(text: str) -> Iterator[Text]:
    """Sentences in lines no wider than the tables."""
    return map(Text, wrap(text, WIDTH))


def bar(share: float, width: int = 24) -> str:
    """A share of 1 as a bar, to an eighth of a character; any share above 0 is visible."""
    full, rest = divmod(round(8 * width * share) or int(share > 0), 8)
    return "█" * full + _EIGHTHS[rest]


def _best_chance(answer: Totals) -> str:
    """How likely the lowest tile is, and how to reach it."""
    lowest = min(set(answer.rules.tiles) - set(answer.rules.exact_only) or answer.rules.tiles)
    reaching = [row for row in answer.rows if row.total == lowest and row.at_least]
    best = max(reaching, key=lambda row: row.at_least, default=None)
    if best is None:
        return f"A total of {lowest} or more, the lowest tile, cannot be reached."
    first = f"{_after(answer, best)}: " if isinstance(best, ChanceAfter) else ""
    reached = f"{lowest} or more, the lowest tile, in {_cases(best.at_least)}"
    return sentence(f"{first}{reached} if you aim at nothing else")


def _after(answer: Totals, row: ChanceAfter) -> str:
    """The option after which chances hold."""
    if row.option == "set-aside":
        dice = answer.dice.all_rolled if answer.dice else ()
        number = [face_name(face) for face in dice].count(str(row.face))
        return f"keep the {row.face}{'s' if number > 1 else ''}"
    return "roll again" if row.option == "roll-again" else "fail"


def _totals_tables(answer: Totals) -> Iterator[Grid]:
    """At least and exactly each total, side by side; after a roll, a table of each with the options side by side."""
    afters = [row for row in answer.rows if isinstance(row, ChanceAfter)]
    if not afters:
        specialist = f" and the {_words(answer.holds)}" if answer.holds else ""
        start = "from here" if answer.dice else f"{answer.rules.dice} dice{specialist}"
        columns = [("total", "right"), ("at least", "right"), ("", "left")]
        columns += [("exactly", "right"), ("", "left")]
        rows: list[tuple[object, ...]] = []
        for row in answer.rows:
            reached = (row.at_least, row.exactly)
            rows.append(
                (row.total, *(shown(share) for share in reached for shown in (percent, bar)))
            )
        yield grid(f"Best chance to stop with a worm at each total: {start}", columns, rows)
        return
    options = list(dict.fromkeys(_after(answer, row) for row in afters))
    columns = [("total", "right"), *((option, "right") for option in options)]
    for limit, name in (("at least", "at_least"), ("exactly", "exactly")):
        chances: dict[int, list[str]] = {}
        for row in afters:
            chances.setdefault(row.total, []).append(percent(getattr(row, name)))
        rows = [(total, *cells) for total, cells in chances.items()]
        yield grid(f"Best chance to stop with a worm and {limit} each total", columns, rows)


def _results_table(answer: Outlook) -> Grid:
    worth = "win chance" if answer.win_chances else "worth"
    columns = [("result", "left"), ("chance", "right"), ("", "left"), (worth, "right")]
    standing = {tile: name for name, tile in answer.situation.on.items()}
    most = max(row.chance for row in answer.rows)
    rows = [
        (
            _result(row, standing),
            percent(row.chance),
            bar(row.chance / most),
            _worth(row, answer.win_chances),
        )
        for row in answer.rows
    ]
    return grid(f"A turn as `{answer.bot}` plays it", columns, rows)


def _result(row: Result, standing: Mapping[int, str]) -> str:
    match row.result:
        case "take":
            brought = standing.get(row.tile or 0)
            return f"take {row.tile}" + (f" with the {_words(brought)}" if brought else "")
        case "steal":
            return f"steal {row.tile} from rival {row.rival}"
        case "fail":
            return f"fail: {_words(row.reason or '')}"
        case "bratworm":
            return "also, a bratworm for 1s"


def _verdict(answer: Outlook) -> str:
    """What the turn brings on average."""
    claim = sum(row.chance for row in answer.rows if row.result in ("take", "steal"))
    golden = {None: "", True: ", with the golden die", False: ", without the golden die"}
    tile = f"This turn{golden[answer.golden_die]} brings a tile in {_cases(claim)}"
    if answer.win_chances:
        return f"{tile}; {percent(answer.value)} to win."
    if answer.bot != IN_WORMS:
        return f"{tile}; it is worth {_value(answer.value)} to `{answer.bot}`."
    steals = any(row.result == "steal" for row in answer.rows)
    return f"{tile}, and {answer.value:z.1f} worms on average{f' ({TWICE})' if steals else ''}."


def _advice(answer: Advice) -> str:
    """What is best, and what the next best option is worth."""
    best, *others = _by_value(answer)
    if best.option == "fail":
        return "No new face: the turn fails."
    worth = f"{percent(best.value)} to win"
    if not answer.win_chances:
        unit = "worms on average" if answer.bot == IN_WORMS else f"to `{answer.bot}`"
        worth = f"worth {best.value:z.2f} {unit}"
    sentences = [f"{_deed(answer, best)}: {worth}, a tile in {_cases(best.claim)}"]
    for other in others[:1]:
        value = f"is worth {other.value:z.2f}"
        if answer.win_chances:
            value = f"leaves {percent(other.value)} to win"
        sentences.append(f"{_deed(answer, other, doing=True)} {value}")
    uncertain = any(row.tile not in answer.situation.grill for row in [best, *others[:1]])
    if answer.steals and answer.bot == IN_WORMS and uncertain:
        sentences.append(TWICE)
    return " ".join(map(sentence, sentences))


def _deed(answer: Advice, row: Option, doing: bool = False) -> str:
    """What an option is to do, or `doing` it."""
    deeds = []
    if row.option == "set-aside":
        deeds.append(("keep", f" the {row.face}{'s' if row.dice and row.dice > 1 else ''}"))
    if row.tile:
        deeds.append(
            ("take" if row.tile in answer.situation.grill else "steal", f" tile {row.tile}")
        )
    elif "stop" in (row.option, row.then):
        deeds.append(("stop and fail", ""))
    else:
        others = {"fail": "fail", "roll-again": "roll these dice again (weasel)"}
        deeds.append((others.get(row.option, "roll on"), ""))
    return " and ".join((DEEDS[verb] if doing else verb) + rest for verb, rest in deeds)


def _by_value(answer: Advice) -> list[Option]:
    """The options, the best first."""
    return sorted(answer.rows, key=lambda row: (not row.best, -row.value))


def _cases(share: float) -> str:
    """A share of 1 in cases of 100, with a decimal if that would be all or none of them."""
    whole = round(100 * share)
    return f"{whole if share in (0, 1) or 0 < whole < 100 else f'{100 * share:.1f}'} of 100 cases"


def _options_table(answer: Advice) -> Grid:
    columns = [("", "left"), ("option", "left"), ("total", "right"), ("dice left", "right")]
    value = "win chance" if answer.win_chances else "value"
    columns += [("then", "left"), (value, "right"), ("claim", "right")]
    rows = [
        (
            "→" if row.best else "",
            _option(row),
            row.total,
            row.dice_left,
            _then(row),
            percent(row.value) if answer.win_chances else _value(row.value),
            percent(row.claim),
        )
        for row in _by_value(answer)
    ]
    return grid(f"What `{answer.bot}` would do", columns, rows)


def _option(row: Option) -> str:
    if row.option == "set-aside":
        return f"set aside {row.dice} × {row.face}"
    return {"roll-again": "roll again (weasel)", "fail": "fail: no new face"}.get(
        row.option, _words(row.option)
    )


def _then(row: Option) -> str:
    if "stop" in (row.option, row.then):
        return f"stop: {row.tile}" if row.tile else "stop: fail"
    return "roll on" if row.then else ""


def _situation_lines(situation: Situation, win_chances: bool) -> Iterator[str]:
    yield f"rules {situation.rules}; grill {ranges_text(situation.grill)}"
    rivals = ", ".join(str(tile or "none") for tile in situation.rivals)
    held = f"; you hold the {_words(situation.holds)}" if situation.holds else ""
    yield f"your top tile: {situation.own or 'none'}; your rivals': {rivals}{held}"
    if situation.scores:
        mine, *theirs = situation.scores
        yield f"your worms: {mine}; your rivals': {', '.join(map(str, theirs))}"
    elif win_chances:
        yield "worms: only those on the top tiles, as --scores is not given"
    if situation.assumed:
        yield from wrap(f"assumed: {', '.join(situation.assumed)}", WIDTH)


def _dice_line(dice: Dice) -> Text:
    def faces(white: tuple[int, ...], golden: int) -> str:
        shown = [face_name(face) for face in sorted(white)]
        return " ".join([*shown, f"golden {face_name(golden)}"] if golden else shown)

    parts = [f"set aside: {faces(dice.aside, dice.golden_aside)}"] if dice.all_aside else []
    parts += [f"rolled: {faces(dice.roll, dice.golden_roll)}"] if dice.all_rolled else []
    return Text("; ".join(parts))


def _words(name: str) -> str:
    return name.replace("-", " ")


def _worth(row: Result, win_chances: bool) -> str:
    """What a result is worth; of a bratworm, what it adds."""
    if not win_chances:
        return _value(row.worth)
    return f"+{percent(row.worth)}" if row.result == "bratworm" else percent(row.worth)


def _value(number: float) -> str:
    """A number with three decimals, never a negative zero."""
    return f"{number:z.3f}"
