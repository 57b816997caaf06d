"""Exact odds of a single turn: a question, and its answer.

What is answered depends on what is given. For the dice alone, at any time of a turn: the best chance to reach each
total. For a situation in a game: the chance and worth of every result of the turn. With dice already rolled: the
value of each option. A bot (a `Valuation`) says what a result is worth, and the turn is played best
for it.

No rule of the game is implemented here: `pickosim.games.positions` puts a situation onto a table of the engine, which
knows what a total claims; `pickosim.solver.solve` and `pickosim.solver.law` do the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any, Literal, NamedTuple, get_args, get_type_hints

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pickosim.amounts import ranges_text, split_list
from pickosim.bots.loading import built_in_bots, load_bot
from pickosim.bots.view import Turn
from pickosim.engine.claim import fail_reason
from pickosim.engine.dice import ALL_FACES, FACES, POINTS, WORM_BIT, rolls
from pickosim.engine.log import FAIL_REASONS
from pickosim.engine.rulebook import WEASEL
from pickosim.engine.table import Table
from pickosim.engine.turn import CAN_POINTS, Hands, begin, take_golden_die
from pickosim.errors import PickosimError
from pickosim.games.ask import ask, ask_values
from pickosim.games.batch import Batch
from pickosim.games.match import Match
from pickosim.games.positions import Dice, Positions, check_specialist, parse_tiles, read_tables
from pickosim.rule_files import load_rules, rules_text
from pickosim.rules import MOST_PLAYERS, RuleSet, Specialist, face_name
from pickosim.solver.graph import (
    WORTH,
    Graph,
    Int,
    Problem,
    Rolled,
    Standing,
    graph,
    slots_after,
    slots_at,
)
from pickosim.solver.law import expected, law
from pickosim.solver.solve import TOLERANCE, Optimal, payoff_rows, solve
from pickosim.solver.valuation import Valuation, Values, payoffs_of, problem_of

SEAT = 0
"""Seat of the player on turn; the rivals follow in order of play."""

LOWEST_TOTAL = 15
"""Chances of totals are listed from this total on, or from the lowest tile if that is lower."""

DICE_CHANGERS: tuple[Specialist, ...] = ("golden-die", "weasel", "canned-worm")
"""Specialists that change which totals the dice can reach."""


def odds(
    rules: str | RuleSet = "classic",
    *,
    holds: str | None = None,
    grill: str | Iterable[int] | None = None,
    own: int | None = None,
    rivals: str | Iterable[int | None] | None = None,
    scores: str | Iterable[int] | None = None,
    on: str | Mapping[str, int] | None = None,
    bot: str | Valuation | None = None,
    aside: str | Iterable[int | str] | None = None,
    roll: str | Iterable[int | str] | None = None,
    golden: int | str | None = None,
    weasel_used: bool = False,
    totals: bool = False,
) -> pl.DataFrame:
    """Exact chances of a turn, as a frame; what it lists depends on what is given.

    **The dice alone** (`rules`, `holds`): one row per `total`, with the best chance to stop with a worm
    and `at_least` or `exactly` that total. With `totals` also in mid-turn: from the dice set `aside`, or, with a `roll`,
    after each `option` that it leaves: `set-aside` (a `face`), `roll-again` (with the weasel) or `fail`.

    **A situation** (`grill`, `own`, `rivals`, `on` or `bot`): one row per result of the turn, with its
    `chance`, and its `worth` to the bot, which plays the turn best. `result` is `take` or `steal` (a
    `tile`, from a `rival`: 1 plays next), `fail` (for a `reason`), or `bratworm` (for enough 1s),
    which may come with any of the others. Chance times worth, summed over all rows, is the value of the
    turn.

    **Dice** (`aside`, `roll`): one row per option, with its `value`, the chance that the turn then ends
    in a `claim`, and whether it is the `best`. `option` is `set-aside`, `stop`, `roll-on`, `roll-again`
    (with the weasel) or `fail`; `then` says what is best after setting aside, `tile` what a stop claims.
    Values are those of the whole turn, with a bratworm that is already earned.

    `grill`: tiles, e.g. `"21-24,30"` or a list; by default all that are on no stack. `own` and `rivals`:
    top tiles, e.g. `24` and `"27,-"` or `[27, None]`; by default you have none, and neither has your one
    rival. Tiles below a top are not visible to bots. `scores`: worms on tiles, yours first, e.g. `"7,4"` or a list; by
    default those of the top tiles. A bot that plays to win needs them, and the grill; with `champion`, values are
    chances to win. `holds`: your specialist; `on`: those on the grill,
    e.g. `"weasel=25"` or a dictionary; the others are out of the game. `bot`: a valuation, by default
    `expected`. `aside` and `roll`: faces of white dice, e.g. `"ww4"`, `"2w,1x4"` or a list. The golden die is
    `"+4"` in `aside`, and `golden` if it is in the roll; with `golden="unused"` it is not used this turn.
    """
    options = locals() | {"rules": load_rules(rules)}  # all parameters, by name
    rows = answer(Question(**options)).rows
    return pl.DataFrame(rows, schema=_schema(type(rows[0])), orient="row")


def answer(question: Question) -> Answer:
    """Answer a question, or raise an error that says what is wrong with it."""
    if question.totals or question.is_about_dice_alone:
        return _totals(question)
    situation, table = _read(question)
    match = _seated(question.bot or "expected", table)
    (dice,) = table.dice
    if dice is None:
        return _outlook(match, situation, table)
    return _advice(match, situation, table, dice)


# ---------------------------------------------------------------------------------- the question


@dataclass(frozen=True)
class Question:
    """What is asked, as plain values or as text of a command line; see `odds`."""

    rules: RuleSet
    holds: str | None = None
    grill: str | Iterable[int] | None = None
    own: int | None = None
    rivals: str | Iterable[int | None] | None = None
    scores: str | Iterable[int] | None = None
    on: str | Mapping[str, int] | None = None
    bot: str | Valuation | None = None
    aside: str | Iterable[int | str] | None = None
    roll: str | Iterable[int | str] | None = None
    golden: int | str | None = None
    weasel_used: bool = False
    totals: bool = False

    @property
    def is_about_dice_alone(self) -> bool:
        """Whether nothing is given of the table, the dice of the turn, or the bot."""
        return not (self.has_dice or self.table_fields)

    @property
    def has_dice(self) -> bool:
        """Whether the turn is under way."""
        dice = (self.aside, self.roll, self.golden)
        return self.weasel_used or any(value is not None for value in dice)

    @property
    def table_fields(self) -> list[str]:
        """What is given of the table and the bot, by name."""
        names = ("grill", "own", "rivals", "scores", "on", "bot")
        return [name for name in names if getattr(self, name) is not None]


@dataclass(frozen=True)
class Situation:
    """A table as the current player sees it; tiles and specialists not listed are out of the game."""

    rules: str
    grill: tuple[int, ...]
    own: int | None
    """The player's own top tile."""
    rivals: tuple[int | None, ...]
    """The rivals' top tiles, in order of play."""
    holds: str | None
    on: Mapping[str, int]
    """The grill tiles on which specialists stand."""
    scores: tuple[int, ...]
    """Worms on each player's tiles; empty if they are not given."""
    assumed: tuple[str, ...]
    """What is not given and was assumed, with the option that changes it."""

    def as_json(self) -> dict[str, Any]:
        """The situation as plain values."""
        plain = asdict(self)
        del plain["assumed"]
        return {name: value for name, value in plain.items() if name != "scores" or value}


def _read(question: Question) -> tuple[Situation, Positions]:
    """The situation of a question, and its table, if the rules allow them."""
    rules, holds, grill = question.rules, question.holds, question.grill
    rivals, on = _parse_rivals(question.rivals), _parse_on(question)
    tops = (question.own, *rivals)
    fields = {
        "rules": rules,
        "tiles": [[] if top is None else [top] for top in tops],
        "specialists": on if holds is None else on | {holds: {"seat": SEAT}},
        **_dice_fields(question),
    }
    if grill is not None:
        tiles = parse_tiles("grill", grill, rules) if isinstance(grill, str) else grill
        # A tile on a stack is not on the grill, so that `21-36` can stand for "all others".
        fields["grill"] = [tile for tile in tiles if tile not in tops]
    names = {f"specialists.{name}": "on" for name in on} | {f"specialists.{holds}": "holds"}
    names |= {"tiles.0": "own", "on tiles.0": "your own top tile"}
    for rival in range(1, len(tops)):
        names[f"tiles.{rival}"] = "rivals"
        names[f"on tiles.{rival}"] = f"the top tile of rival {rival}"
    table = read_tables([fields], names)
    (shown,) = table.objects
    scores = None if question.scores is None else _parse_scores(question.scores, len(tops))
    if scores is not None:
        below = _below(rules, tops, scores, shown["flipped"])
        stacks = [[*tiles, *top] for tiles, top in zip(below, shown["tiles"], strict=True)]
        table = read_tables([fields | {"tiles": stacks}])
    seen = tuple(shown["grill"]), question.own, rivals, holds, on
    return Situation(rules_text(rules), *seen, scores or (), tuple(_assumed(question))), table


def _assumed(question: Question) -> Iterator[str]:
    """What a situation leaves open, and how it was read."""
    if question.grill is None:
        others = "" if question.own is None and question.rivals is None else " other"
        yield f"all{others} tiles on the grill (--grill)"
    if question.own is None:
        yield "no tile of yours at risk (--own)"
    if question.rivals is None:
        yield "one rival without tiles (--rivals)"


def _dice_fields(question: Question) -> dict[str, Any]:
    """The dice of the turn, as a description of a table has them."""
    fields: dict[str, Any] = {}
    for name, faces in (("aside", question.aside), ("roll", question.roll)):
        if faces is not None:
            fields[name] = faces if isinstance(faces, str) else list(faces)
    if question.golden is not None:
        fields["golden"] = question.golden
    return fields | ({"weasel_used": True} if question.weasel_used else {})


def _parse_rivals(rivals: str | Iterable[int | None] | None) -> tuple[int | None, ...]:
    """The rivals' top tiles, None for a rival without tiles; by default one such rival."""
    if isinstance(rivals, str):
        parts = split_list(rivals)
        if wrong := [part for part in parts if part != "-" and not part.isdecimal()]:
            raise PickosimError(
                f'rivals: "{wrong[0]}" is not a tile; write "-" for a rival without tiles.'
            )
        rivals = [None if part == "-" else int(part) for part in parts]
    tops = (None,) if rivals is None else tuple(rivals)
    if not 1 <= len(tops) < MOST_PLAYERS:
        raise PickosimError(f"rivals: {len(tops)} are given; there can be 1 to {MOST_PLAYERS - 1}.")
    return tops


def _parse_on(question: Question) -> dict[str, int]:
    """Specialists and the tiles on which they stand."""
    on = question.on or {}
    if isinstance(on, str):
        parts = [part.partition("=") for part in split_list(on)]
        pairs = [(name.strip(), tile.strip()) for name, _, tile in parts]
        if wrong := [name for name, tile in pairs if not tile.isdecimal()]:
            example = f"{wrong[0]}={min(question.rules.tiles)}"
            raise PickosimError(f"on: {wrong[0]} needs a tile to stand on, e.g. {example}.")
        places = [(name, int(tile)) for name, tile in pairs]
    else:
        places = list(on.items())
    names = [*(name for name, _ in places), question.holds]
    if twice := [name for name in names if names.count(name) > 1]:
        raise PickosimError(f"on: {twice[0]} cannot be in two places at once.")
    return dict(places)


def _check_dice_changer(holds: str | None) -> None:
    """Refuse a specialist that does not change the odds of the dice alone, whatever the rules."""
    if holds is not None and holds not in DICE_CHANGERS:
        check_specialist("holds", holds)
        raise PickosimError(
            f"holds: {holds} does not change the odds of a total; only {', '.join(DICE_CHANGERS)} do. "
            "To see its effect on a turn, describe the table too: grill, own, rivals."
        )


def _parse_scores(scores: str | Iterable[int], players: int) -> tuple[int, ...]:
    """Worms on the tiles of each player."""
    listed = split_list(scores)
    for score in listed:
        if not score.isdecimal():
            raise PickosimError(f'scores: "{score}" is not a number of worms; write e.g. 7,4.')
    if len(listed) != players:
        raise PickosimError(
            f"scores: {len(listed)} are given for {players} players; write yours first, then the rivals'."
        )
    return tuple(map(int, listed))


def _below(
    rules: RuleSet, tops: Sequence[int | None], scores: Sequence[int], free: Sequence[int]
) -> list[list[int]]:
    """Tiles below the tops that make up the players' scores, of those that are free."""
    lacking, worms = [], rules.tiles
    for number, (score, top) in enumerate(zip(scores, tops, strict=True)):
        if top is None and score:
            whose = f"rival {number}" if number else "you"
            raise PickosimError(f"scores: {whose} cannot have {score} worms without a top tile.")
        lacking.append(score - (0 if top is None else worms[top]))
        if lacking[-1] < 0:
            raise PickosimError(
                f"scores: the top tile {top} alone has {score - lacking[-1]} worms, more than {score}."
            )
    # The tiles with most worms first: what is left is then easier to make up.
    by_worms = sorted(free, key=lambda tile: (-worms[tile], -tile))
    owners = _owners(tuple(worms[tile] for tile in by_worms), tuple(lacking))
    if owners is None:
        raise PickosimError(
            "scores: no tiles make them up; those neither on the grill nor on top of a stack are "
            f"{ranges_text(free) or 'none'}. Name the grill if not all others are on it."
        )
    owned = sorted(zip(by_worms, owners, strict=True))
    return [[tile for tile, owner in owned if owner == player] for player in range(len(tops))]


@lru_cache(maxsize=1 << 16)
def _owners(worms: tuple[int, ...], lacking: tuple[int, ...]) -> tuple[int, ...] | None:
    """Owners of tiles by their worms, so that each player gets the worms it lacks; -1 is nobody; None: impossible."""
    if not any(lacking):
        return (-1,) * len(worms)
    for player in (*range(len(lacking)), -1) if worms else ():
        if player < 0 or lacking[player] >= worms[0]:
            left = [lack - worms[0] * (k == player) for k, lack in enumerate(lacking)]
            others = _owners(worms[1:], tuple(left))
            if others is not None:
                return (player, *others)
    return None


# ------------------------------------------------------------------------------------- the answer


class Chance(NamedTuple):
    """The best chances to stop at a total with a worm, if only that total counts."""

    total: int
    at_least: float
    exactly: float


class ChanceAfter(NamedTuple):
    """The same after an option that a roll leaves."""

    option: Literal["set-aside", "roll-again", "fail"]
    face: str | None
    total: int
    at_least: float
    exactly: float


class Result(NamedTuple):
    """A possible result of a turn."""

    result: Literal["take", "steal", "fail", "bratworm"]
    tile: int | None
    rival: int | None
    reason: str | None
    chance: float
    worth: float


class Option(NamedTuple):
    """Something the player can do now, and what it leads to."""

    option: Literal["set-aside", "stop", "roll-on", "roll-again", "fail"]
    face: str | None
    dice: int | None
    total: int
    dice_left: int
    then: Literal["stop", "roll-on"] | None
    tile: int | None
    value: float
    claim: float
    best: bool


@dataclass(frozen=True)
class Totals:
    """The totals that the dice can reach."""

    rules: RuleSet
    holds: str | None
    dice: Dice | None
    """The dice of the turn, if it is under way."""
    rows: list[Chance] | list[ChanceAfter]

    def as_json(self) -> list[dict[str, Any]]:
        """One object per total; with a roll, per option and total."""
        return [row._asdict() for row in self.rows]


@dataclass(frozen=True)
class Outlook:
    """The possible results of a turn with the best play."""

    situation: Situation
    bot: str
    golden_die: bool | None
    """Whether the golden die is used; None without one."""
    value: float
    rows: list[Result]
    win_chances: bool = False
    """Whether values are chances to win."""

    def as_json(self) -> dict[str, Any]:
        """The situation, the value of the turn, and one object per result."""
        return {
            **self.situation.as_json(),
            "bot": self.bot,
            "golden_die": self.golden_die,
            "value": self.value,
            "results": [row._asdict() for row in self.rows],
        }


@dataclass(frozen=True)
class Advice:
    """The options that the dice leave."""

    situation: Situation
    bot: str
    dice: Dice
    value: float
    rows: list[Option]
    win_chances: bool = False
    """Whether values are chances to win."""

    def as_json(self) -> dict[str, Any]:
        """The situation, the value of the best option, and one object per option."""
        return {
            **self.situation.as_json(),
            "bot": self.bot,
            "value": self.value,
            "options": [row._asdict() for row in self.rows],
        }


Answer = Totals | Outlook | Advice


def _schema(row: type[NamedTuple]) -> dict[str, Any]:
    """The types of a frame's columns, from the annotations of its rows."""
    dtypes: dict[object, Any] = {int: pl.Int64, float: pl.Float64, bool: pl.Boolean}
    hints = get_type_hints(row)
    return {k: dtypes.get((*get_args(hint), hint)[0], pl.String) for k, hint in hints.items()}


def _seated(bot: str | Valuation, table: Positions) -> Match:
    """The bot in every seat; only the one at SEAT is ever on turn."""
    match = table.match([bot] * len(table.players[0]))
    if not isinstance(match.strategies[SEAT], Valuation):
        able = [name for name in built_in_bots() if isinstance(load_bot(name), Valuation)]
        raise PickosimError(
            f"bot: {match.specs[SEAT]} does not say what results are worth to it; "
            f"valuations do, such as {', '.join(able)}."
        )
    return match


def _in_win_chances(match: Match) -> bool:
    """Whether the bot's values are chances to win."""
    bot = match.strategies[SEAT]
    return isinstance(bot, Valuation) and bot.values_are_win_chances


# ------------------------------------------------------------------------- on the engine's table


class _Position(NamedTuple):
    """Games of the engine with the player at SEAT on turn; a single one unless stated otherwise."""

    match: Match
    table: Table
    hands: Hands

    def turn(self, question: str, rows: NDArray[np.int32] | None = None) -> Turn:
        """What that player sees, in all or some of the games."""
        rules, books = self.match.rules, self.match.books
        rows = np.arange(len(self.table), dtype=np.int32) if rows is None else rows
        return Turn(rules, books, self.table, self.hands, SEAT, rows, question, {})


def _position(match: Match, table: Positions) -> _Position:
    """The table before the first roll, with the white dice in the player's hand."""
    batch = Batch(match, 0, 1)
    batch.table[:] = table.table
    begin(batch.books, batch.table, batch.hands, SEAT, np.zeros(1, np.int32), batch.asked)
    return _Position(match, batch.table, batch.hands)


def _with_golden_die(position: _Position) -> _Position:
    """The same position with the golden die in the player's hand."""
    match, table, hands = position.match, position.table.copy(), position.hands.copy()
    take_golden_die(table, hands, SEAT, np.zeros(1, np.int32), np.ones(1, np.bool_))
    return _Position(match, table, hands)


class _Ends(NamedTuple):
    """What each end of a turn leads to, by column of a pay-off."""

    outcome: NDArray[np.int64]
    """(C,): number of the tile that the bot claims, or -1 minus the reason for the fail."""
    total: NDArray[np.int16]
    """(C,): the total, where the end is a stop."""
    claimable: NDArray[np.bool_]
    """(T,): tiles that any of the ends may claim."""


def _ends(position: _Position, plan: Graph, values: Values) -> _Ends:
    """What every end of a turn leads to, by the engine and the bot: one game per end."""
    blocks, points = values.fail.shape[1], plan.points
    hands = np.repeat(position.hands, plan.columns)
    by_block = hands.reshape(blocks, -1)
    by_block["new"][:, WORTH:] = ALL_FACES  # no bust, but a stop
    by_block["points"][:, WORTH:] = np.tile(np.arange(points), 2)
    by_block["aside"][:, WORTH + points :] = WORM_BIT
    table = np.repeat(position.table, plan.columns)
    turn = _Position(position.match, table, hands).turn("claim")
    outcome = np.array([-1 - fail_reason(hands[end]) for end in range(len(hands))], np.int64)
    worth = np.repeat(values.claim[0], plan.columns // blocks, axis=0)
    # Of equally good tiles the highest, as bots claim.
    best = len(turn.tiles) - 1 - np.where(turn.claims, worth, -np.inf)[:, ::-1].argmax(axis=1)
    claims = turn.claims.any(axis=1)
    outcome[claims] = best[claims]
    return _Ends(outcome, turn.total, np.asarray(turn.claims.any(axis=0)))


@dataclass(frozen=True)
class _Play:
    """A turn in a position, solved before its first roll."""

    position: _Position
    problem: Problem
    graph: Graph
    values: Values
    """What the bot says each result is worth."""
    solution: NDArray[np.float64]
    """(S,): the pay-off, then the value of rolling on by slot."""
    ends: _Ends

    @property
    def best(self) -> Optimal:
        """How the turn is played."""
        return Optimal(self.graph, self.solution)

    def tile(self, stop: Int) -> int | None:
        """The tile that a stop claims."""
        number = int(self.ends.outcome[stop])
        return None if number < 0 else int(self.position.turn("stop").tiles[number])


def _solve(position: _Position) -> _Play:
    """Solve a turn by the bot's valuation."""
    turn = position.turn("pick")
    values = ask_values(position.match, turn)
    golden, weasel = bool(turn.golden_left[0]), bool(turn.holds[0, 0] == WEASEL)
    problem = problem_of(turn.rules, golden, weasel)
    plan = graph(problem)
    solution = solve(plan, payoffs_of(turn, values, plan))[0]
    return _Play(position, problem, plan, values, solution, _ends(position, plan, values))


# ------------------------------------------------------------------------- the results of a turn


def _outlook(match: Match, situation: Situation, table: Positions) -> Outlook:
    """The chance and worth of every result."""
    position, golden = _position(match, table), None
    if situation.holds == "golden-die":
        golden = bool(ask(match, position.turn("use_golden_die"), "use_golden_die")[0])
    play = _solve(_with_golden_die(position) if golden else position)
    value = float(play.solution[play.graph.start])
    return Outlook(
        situation, match.specs[SEAT], golden, value, _results(play), _in_win_chances(match)
    )


def _results(play: _Play) -> list[Result]:
    """Takes and steals by ascending tile, fails by reason, then the bratworm."""
    turn, values, played = play.position.turn("pick"), play.values, law(play.problem, play.best)
    blocks = len(played.bust)
    by_column = np.column_stack([played.bust, played.stopped.reshape(blocks, -1)])
    outcomes = play.ends.outcome.reshape(blocks, -1)

    def chance(outcome: int) -> float:
        return float(by_column[outcomes == outcome].sum())

    results = []
    for k in np.flatnonzero(play.ends.claimable).tolist():
        tile, value = int(turn.tiles[k]), float(values.claim[0, 0, k])
        if turn.grill[0, k]:
            results.append(Result("take", tile, None, None, chance(k), value))
        else:
            rival = turn.tops[0].tolist().index(tile)
            results.append(Result("steal", tile, rival, None, chance(k), value))
    fail = float(values.fail[0, 0])
    for number, reason in enumerate(FAIL_REASONS):
        results.append(Result("fail", None, None, reason, chance(-1 - number), fail))
    if turn.rules.bratworms:
        # What it adds depends on the result it comes with: the mean over these.
        without, with_it = (np.append(values.claim[0, k], values.fail[0, k]) for k in (0, 1))
        possible = by_column[1] > 0
        place = np.where(outcomes[1] < 0, len(without) - 1, outcomes[1])[possible]
        added = with_it[place] - without[place]
        earned = float(by_column[1].sum())
        value = float(by_column[1][possible] @ added) / earned if earned else 0.0
        results.append(Result("bratworm", None, None, None, earned, value))
    return results


# ------------------------------------------------------------------------ the options with dice


def _advice(match: Match, situation: Situation, table: Positions, dice: Dice) -> Advice:
    """The value of every option, with results valued as before the first roll."""
    position = _position(match, table)
    play = _solve(_with_golden_die(position) if dice.golden else position)
    now, claim = _with_dice(play.position, dice), _claim_chances(play)
    options = (
        _roll_options(play, now, claim) if dice.all_rolled else _stop_options(play, now, claim)
    )
    value = next(option.value for option in options if option.best)
    return Advice(situation, match.specs[SEAT], dice, value, options, _in_win_chances(match))


def _with_dice(position: _Position, dice: Dice) -> _Position:
    """The same position later in the turn: with dice set aside, and perhaps rolled."""
    hands, shown = position.hands.copy(), Counter(dice.all_rolled)
    hand, aside = hands[0], _set_of(dice.all_aside)
    hand["aside"] = aside
    hand["points"] = sum(int(POINTS[face]) for face in dice.all_aside)
    hand["white"] -= len(dice.aside)
    hand["golden"] -= dice.golden_aside > 0
    hand["weasel"] &= not dice.weasel_used
    rules = position.match.rules
    hand["earned"] = rules.bratworms > 0 and dice.all_aside.count(1) >= rules.bratworm_ones
    counts = rolls(position.match.rules.dice + 1)["counts"]
    wanted = [shown[face] for face in range(FACES + 1)]
    hand["roll"] = np.flatnonzero((counts == wanted).all(axis=1))[0]
    hand["golden_face"] = dice.golden_roll
    hand["new"] = _set_of(shown) & ~aside
    return position._replace(hands=hands)


def _set_of(faces: Iterable[int]) -> int:
    return sum(1 << (face - 1) for face in set(faces))


def _roll_options(play: _Play, now: _Position, claim: NDArray[np.float64]) -> list[Option]:
    """Set aside a face, fail without a new one, or roll again."""
    turn = now.turn("pick")
    at = Rolled(*(now.hands[name] for name in Rolled._fields))
    again, face = bool(play.best.reroll(at)[0]), int(play.best.face(at)[0])
    options = [
        _set_aside(play, turn, at, new, claim, best=not again and new == face)
        for new in np.flatnonzero(turn.legal[0]).tolist()
    ]
    if not options:
        options.append(_other_option(turn, "fail", None, float(_fail(play, at)), 0.0, not again))
    if turn.weasel_left[0] and (face or play.graph.rescue):
        standing = Standing(*(now.hands[name] for name in Standing._fields))
        _, slot = slots_at(play.graph, standing, 0, 0)
        value, chance = float(play.solution[slot]), float(claim[slot])
        options.append(_other_option(turn, "roll-again", None, value, chance, again))
    return options


def _fail(play: _Play, at: Rolled) -> np.float64:
    """What a roll without a new face is worth."""
    worth: np.float64 = play.values.fail[0, at.earned[0]]
    return worth


def _set_aside(
    play: _Play, turn: Turn, at: Rolled, face: int, claim: NDArray[np.float64], best: bool
) -> Option:
    """The option to set a face aside, and what is best after it."""
    solution, dice = play.solution, int(turn.counts[0, face])
    stop, roll_on = slots_after(play.graph, at, 0, int(turn.weasel_left[0]), face)
    stops = solution[roll_on] <= solution[stop] + TOLERANCE
    slot = stop if stops else roll_on
    return Option(
        "set-aside",
        face_name(face),
        dice,
        total=int(play.ends.total[stop]),
        dice_left=int(turn.dice_left[0]) - dice,
        then="stop" if stops else "roll-on",
        tile=play.tile(stop) if stops else None,
        value=float(solution[slot]),
        claim=float(claim[slot]),
        best=best,
    )


def _stop_options(play: _Play, now: _Position, claim: NDArray[np.float64]) -> list[Option]:
    """Stop or roll on; where the turn is over, only stop."""
    turn, at = now.turn("stop"), Standing(*(now.hands[name] for name in Standing._fields))
    stop, roll_on = slots_at(play.graph, at, 0, int(turn.weasel_left[0]))
    stops = bool(play.best.stop(at)[0])
    value, chance = float(play.solution[stop]), float(claim[stop])
    options = [_other_option(turn, "stop", play.tile(stop), value, chance, stops)]
    if roll_on != stop:
        value, chance = float(play.solution[roll_on]), float(claim[roll_on])
        options.append(_other_option(turn, "roll-on", None, value, chance, not stops))
    return options


def _other_option(
    turn: Turn,
    name: Literal["stop", "roll-on", "roll-again", "fail"],
    tile: int | None,
    value: float,
    claim: float,
    best: bool,
) -> Option:
    """An option that sets nothing aside."""
    total, left = int(turn.total[0]), int(turn.dice_left[0])
    return Option(name, None, None, total, left, None, tile, value, claim, best)


def _claim_chances(play: _Play) -> NDArray[np.float64]:
    """(S,): the chance that the turn ends in a claim, by slot of a solution."""
    return expected(play.problem, play.best, (play.ends.outcome >= 0).astype(np.float64))


# ------------------------------------------------------------------------------------- the totals


def _totals(question: Question) -> Totals:
    """The best chances of all totals, before the first roll or from the dice of a turn."""
    rules, holds = question.rules, question.holds
    if question.table_fields:
        raise PickosimError(
            f"totals: they depend on the dice alone; leave out {', '.join(question.table_fields)}."
        )
    _check_dice_changer(holds)
    if not question.has_dice:
        # The golden die is used for totals where that is better.
        used = [False, True] if holds == "golden-die" else [False]
        reached = [_reach(rules, holds, golden) for golden in used]
        return Totals(rules, holds, None, _chances([each.at(each.graph.start) for each in reached]))
    _, table = _read(question)
    (dice,) = table.dice
    assert dice is not None  # as the question has dice
    position = _position(_seated("expected", table), table)
    now = _with_dice(_with_golden_die(position) if dice.golden else position, dice)
    now.hands["earned"] = 0  # nothing but the total counts
    reached_from = _reach(rules, holds, dice.golden)
    if dice.all_rolled:
        return Totals(rules, holds, dice, list(_after_options(reached_from, now)))
    at, weasel = Standing(*(now.hands[name] for name in Standing._fields)), now.hands["weasel"][0]
    stop, roll_on = slots_at(reached_from.graph, at, 0, int(weasel))
    return Totals(rules, holds, dice, _chances([reached_from.at(stop), reached_from.at(roll_on)]))


class _Reached(NamedTuple):
    """The solutions of a turn in which only one total counts, for every total."""

    graph: Graph
    totals: NDArray[np.int64]
    """(n,): the totals, from the lowest that is listed up to the highest that any dice reach."""
    solutions: NDArray[np.float64]
    """(2n, S): for at least each total, then for exactly each."""

    def at(self, slot: Int) -> NDArray[np.float64]:
        """(3, n): the totals, and the chances of at least and of exactly each from a slot."""
        return np.vstack([self.totals, self.solutions[:, slot].reshape(2, -1)])


def _reach(rules: RuleSet, holds: str | None, golden: bool) -> _Reached:
    """Solve a turn for all totals, with or without the golden die."""
    can = CAN_POINTS if holds == "canned-worm" else 0
    problem = replace(problem_of(rules, golden, weasel=holds == "weasel"), ones=0)
    plan, points = graph(problem), np.arange(problem.points)
    highest = 5 * (rules.dice + (holds == "golden-die")) + can
    totals = np.arange(min(LOWEST_TOTAL, *rules.tiles), highest + 1)
    # Without a worm set aside, only the can makes a total.
    made = np.stack([points + can if can else np.full_like(points, -1), points])
    wanted = totals[:, None, None]
    hit = np.concatenate([made >= wanted, made == wanted]).astype(np.float64)
    solutions = solve(plan, payoff_rows(np.zeros(len(hit)), hit[:, 0], hit[:, 1]))
    return _Reached(plan, totals, solutions)


def _chances(ways: list[NDArray[np.float64]]) -> list[Chance]:
    """The best chance of each total in any of several ways to go on."""
    return [Chance(int(total), *reached) for total, *reached in np.max(ways, axis=0).T.tolist()]


def _after_options(reached: _Reached, now: _Position) -> Iterator[ChanceAfter]:
    """The chances after each option that a roll leaves."""
    turn, plan = now.turn("pick"), reached.graph
    at = Rolled(*(now.hands[name] for name in Rolled._fields))
    weasel = int(turn.weasel_left[0])
    legal = np.flatnonzero(turn.legal[0]).tolist()
    for face in legal:
        slots = slots_after(plan, at, 0, weasel, face)
        for row in _chances([reached.at(slot) for slot in slots]):
            yield ChanceAfter("set-aside", face_name(face), *row)
    if weasel and (legal or plan.rescue):
        standing = Standing(*(now.hands[name] for name in Standing._fields))
        _, again = slots_at(plan, standing, 0, 0)
        for row in _chances([reached.at(again)]):
            yield ChanceAfter("roll-again", None, *row)
    elif not legal:
        for total in reached.totals.tolist():
            yield ChanceAfter("fail", None, total, 0.0, 0.0)
