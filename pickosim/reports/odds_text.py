"""Odds as text: the answers of `pickosim.turn_odds` as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.text import Text

from pickosim.amounts import ranges_text
from pickosim.columns import percent
from pickosim.reports.layout import BAD, GOOD, QUIET, Grid, grid
from pickosim.rules import face_name
from pickosim.turn_odds import Advice, Answer, Option, Outlook, Result, Situation, Totals

_EIGHTHS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")


def answer_lines(answer: Answer) -> Iterator[Grid | Text]:
    """The lines and tables of an answer, at most 80 characters wide unless names are long."""
    match answer:
        case Totals():
            yield _totals_table(answer)
        case Outlook():
            yield from _situation_lines(answer.situation, answer.win_chances)
            yield _results_table(answer)
            yield _verdict(answer)
        case Advice():
            yield from _situation_lines(answer.situation, answer.win_chances)
            yield _dice_line(answer)
            yield _options_table(answer)


def bar(share: float, width: int) -> str:
    """A share of 1 as a bar, to an eighth of a character; any share above 0 is visible."""
    full, rest = divmod(round(8 * width * share) or int(share > 0), 8)
    return "█" * full + _EIGHTHS[rest]


def _totals_table(answer: Totals) -> Grid:
    specialist = f" and the {_words(answer.holds)}" if answer.holds else ""
    title = f"Best chance to stop with a worm at each total: {answer.rules.dice} dice{specialist}"
    columns = [("total", "right"), ("at least", "right"), ("", "left")]
    columns += [("exactly", "right"), ("", "left")]
    rows = [
        (
            row.total,
            percent(row.at_least),
            bar(row.at_least, 24),
            percent(row.exactly),
            bar(row.exactly, 24),
        )
        for row in answer.rows
    ]
    return grid(title, columns, rows)


def _results_table(answer: Outlook) -> Grid:
    worth = "win chance" if answer.win_chances else "worth"
    columns = [("result", "left"), ("chance", "right"), ("", "left"), (worth, "right")]
    standing = {tile: name for name, tile in answer.situation.on.items()}
    most = max(row.chance for row in answer.rows)
    rows = [
        (
            _result(row, standing),
            percent(row.chance),
            bar(row.chance / most, 24),
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


def _verdict(answer: Outlook) -> Text:
    claim = sum(row.chance for row in answer.rows if row.result in ("take", "steal"))
    golden = {None: "", True: ", played with the golden die", False: ", without the golden die"}
    worth = f"Worth {_value(answer.value)} in all"
    if answer.win_chances:
        worth = f"Win chance {percent(answer.value)}"
    line = Text(f"{worth}{golden[answer.golden_die]}; ")
    line.append(f"a claim {percent(claim)}", style=GOOD)
    line.append(", ")
    line.append(f"a fail {percent(1 - claim)}", style=BAD)
    return line.append(".")


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
        for row in sorted(answer.rows, key=lambda row: (not row.best, -row.value))
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


def _situation_lines(situation: Situation, win_chances: bool) -> Iterator[Text]:
    yield Text(f"rules {situation.rules}; grill {ranges_text(situation.grill)}", style=QUIET)
    rivals = ", ".join(str(tile or "none") for tile in situation.rivals)
    held = f"; you hold the {_words(situation.holds)}" if situation.holds else ""
    own = situation.own or "none"
    yield Text(f"your top tile: {own}; your rivals': {rivals}{held}", style=QUIET)
    if situation.scores:
        mine, *theirs = situation.scores
        listed = ", ".join(map(str, theirs))
        yield Text(f"your worms: {mine}; your rivals': {listed}", style=QUIET)
    elif win_chances:
        yield Text("worms: only those on the top tiles, as --scores is not given", style=QUIET)


def _dice_line(answer: Advice) -> Text:
    def faces(white: tuple[int, ...], golden: int) -> str:
        shown = [face_name(face) for face in sorted(white)]
        return " ".join([*shown, f"golden {face_name(golden)}"] if golden else shown)

    dice = answer.dice
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
