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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, wraps
from pathlib import Path
from typing import Any, Literal, NamedTuple, ParamSpec, get_args, get_type_hints

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
from pickosim.games.positions import (
    Dice,
    Object,
    Positions,
    check_specialist,
    places_of,
    position_object,
    read_number,
    read_tables,
)
from pickosim.rule_files import load_rules, rules_text
from pickosim.rules import MOST_PLAYERS, RuleSet, Specialist, face_name
from pickosim.solver.graph import (
    WORTH,
    Graph,
    Int,
    bust_of,
    graph,
    slots_after,
    slots_at,
)
from pickosim.solver.law import Decisions
from pickosim.solver.solve import TOLERANCE, Optimal, payoff_rows, solve
from pickosim.solver.valuation import Valuation, Values, payoffs_of, problem_of, values_of

LOWEST_TOTAL = 15
"""Chances of totals are listed from this total on, or from the lowest tile if that is lower."""

P = ParamSpec("P")

DICE_CHANGERS: tuple[Specialist, ...] = ("golden-die", "weasel", "canned-worm")
"""Specialists that change which totals the dice can reach."""


def answer(
    rules: str | Path | RuleSet = "classic",
    *,
    set: Sequence[str] = (),
    position: Object | str | None = None,
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
) -> Answer:
    """Exact chances of a turn, as a frame; what it lists depends on what is given.

    **The dice alone** (`rules`, `holds`): one row per `total`, with the best chance to stop with a worm
    and `at_least` or `exactly` that total. With `totals` also in mid-turn: from the dice set `aside`, or, with a `roll`,
    after each `option` that it leaves: `set-aside` (a `face`), `roll-again` (with the weasel) or `fail`.

    **A situation** (`grill`, `own`, `rivals`, `on`, `bot` or `position`): one row per result of the turn, with its
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
    e.g. `"weasel=25"` or a dictionary; the others are out of the game. `position`: the whole table instead, as a line
    or an object, with the dice if it is in mid-turn. `bot`: a valuation, by default
    `expected`. `aside` and `roll`: faces of white dice, e.g. `"ww4"`, `"2w,1x4"` or a list. The golden die is
    `"+4"` in `aside`, and `golden` if it is in the roll; with `golden="unused"` it is not used this turn.
    """
    table = _given(grill=grill, own=own, rivals=rivals, scores=scores, on=on)
    dice = {
        name: value if isinstance(value, str | int) else list(value)
        for name, value in _given(aside=aside, roll=roll, golden=golden).items()
    } | ({"weasel_used": True} if weasel_used else {})
    if totals and (table or bot):
        others = ", ".join([*table, *(["bot"] if bot else [])])
        raise PickosimError(f"totals: they depend on the dice alone; leave out {others}.")
    if position is not None:
        changed = _given(rules=None if rules == "classic" else rules, set=set or None, holds=holds)
        if others := ", ".join([*changed, *table]):
            raise PickosimError(f"position: it has its own {others}; leave these out.")
        fields = position_object(position) if isinstance(position, str) else position
        place, assumed = read_tables({**fields, **dice}), None
    elif table or dice or bot:
        place = _described(load_rules(rules, set), holds, table, dice)
        assumed = tuple(_assumed(table))
    else:
        _check_dice_changer(holds)
        return _totals_of_turn(load_rules(rules, set), holds)
    situation = _situation(place, scores is not None, assumed)
    if totals:
        return _totals(situation, place)
    match = _seated(bot or "expected", place)
    (rolled,) = place.dice
    if rolled is None:
        return _outlook(match, situation, place)
    return _advice(match, situation, place, rolled)


def _as_frame(answer: Callable[P, Answer]) -> Callable[P, pl.DataFrame]:
    """The function that returns the rows of an answer as a frame."""

    @wraps(answer)
    def odds(*args: P.args, **kwargs: P.kwargs) -> pl.DataFrame:
        rows = answer(*args, **kwargs).rows
        return pl.DataFrame(rows, schema=_schema(type(rows[0])), orient="row")

    odds.__name__ = odds.__qualname__ = "odds"
    odds.__annotations__["return"] = pl.DataFrame
    return odds


odds = _as_frame(answer)

# ---------------------------------------------------------------------------------- the question


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
    position: str
    """The table and the dice in one line."""
    assumed: tuple[str, ...]
    """What is not given and was assumed, with the option that changes it."""

    def as_json(self) -> dict[str, Any]:
        """The situation as plain values."""
        plain = asdict(self)
        del plain["assumed"]
        return {name: value for name, value in plain.items() if name != "scores" or value}


def _situation(table: Positions, scored: bool, assumed: tuple[str, ...] | None) -> Situation:
    """What a table shows; all of it is known if nothing had to be assumed (None)."""
    (shown,), worms = table.objects, table.rules.tiles
    seat, places = shown["seat"], shown["specialists"]
    stacks = shown["tiles"][seat:] + shown["tiles"][:seat]
    own, *rivals = [stack[-1] if stack else None for stack in stacks]
    scores = tuple(sum(worms[tile] for tile in stack) for stack in stacks)
    return Situation(
        rules_text(table.rules),
        tuple(shown["grill"]),
        own,
        tuple(rivals),
        next((name for name, place in places.items() if place == {"seat": seat}), None),
        {name: place for name, place in places.items() if isinstance(place, int)},
        scores if scored or assumed is None else (),
        next(table.lines),
        assumed or (),
    )


def _described(
    rules: RuleSet, holds: str | None, table: Mapping[str, Any], dice: Mapping[str, Any]
) -> Positions:
    """The table that is described as the player sees it, who is at seat 0."""
    stacks = _tops([table.get("own")])[:1] + _tops(table.get("rivals", [None]))
    if not 1 < len(stacks) <= MOST_PLAYERS:
        raise PickosimError(
            f"rivals: {len(stacks) - 1} are given; there can be 1 to {MOST_PLAYERS - 1}."
        )
    places = places_of(table.get("on", {}), [holds])
    fields = {"rules": rules, "tiles": stacks, "specialists": places, **dice}
    if "grill" in table:
        fields["grill"] = ",".join(split_list(table["grill"]))
    names = {f"specialists.{name}": "holds" if name == holds else "on" for name in places}
    names |= {"tiles.0": "own", "on tiles.0": "your own top tile"}
    for rival in range(1, len(stacks)):
        names[f"tiles.{rival}"] = "rivals"
        names[f"on tiles.{rival}"] = f"the top tile of rival {rival}"
    tops = read_tables(fields, names)
    if "scores" not in table:
        return tops
    scores = _parse_scores(table["scores"], len(stacks))
    (shown,) = tops.objects
    below = _below(rules, stacks, scores, shown["flipped"])
    return read_tables(
        fields | {"tiles": [[*b, *top] for b, top in zip(below, stacks, strict=True)]}
    )


def _assumed(table: Mapping[str, Any]) -> Iterator[str]:
    """What a situation leaves open, and how it was read."""
    if "grill" not in table:
        others = " other" if {"own", "rivals"} & table.keys() else ""
        yield f"all{others} tiles on the grill (--grill)"
    if "own" not in table:
        yield "no tile of yours at risk (--own)"
    if "rivals" not in table:
        yield "one rival without tiles (--rivals)"


def _given(**options: Any) -> dict[str, Any]:
    """The options that are given."""
    return {name: value for name, value in options.items() if value is not None}


def _tops(tiles: str | Iterable[int | None]) -> list[list[Any]]:
    """The stacks of players of whom only the top tiles are known; `-` or None is a player without tiles."""
    if isinstance(tiles, str):
        return [[] if part == "-" else [read_number(part)] for part in split_list(tiles)]
    return [[] if tile is None else [tile] for tile in tiles]


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
    rules: RuleSet, stacks: list[list[int]], scores: Sequence[int], free: Sequence[int]
) -> list[list[int]]:
    """Tiles below the tops that make up the players' scores, of those that are free."""
    lacking, worms = [], rules.tiles
    for number, (score, top) in enumerate(zip(scores, stacks, strict=True)):
        if score and not top:
            whose = f"rival {number}" if number else "you"
            raise PickosimError(f"scores: {whose} cannot have {score} worms without a top tile.")
        lacking.append(score - sum(worms[tile] for tile in top))
        if lacking[-1] < 0:
            raise PickosimError(
                f"scores: the top tile {top[0]} alone has {score - lacking[-1]} worms, more than {score}."
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
    return [[tile for tile, owner in owned if owner == player] for player in range(len(stacks))]


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


Deed = Literal["set-aside", "stop", "roll-on", "roll-again", "fail"]


class ChanceAfter(NamedTuple):
    """The same after an option that a roll leaves."""

    option: Deed
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

    option: Deed
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


@dataclass(frozen=True, kw_only=True)
class TurnAnswer:
    """What a turn is worth to a bot in a situation."""

    situation: Situation
    bot: str
    value: float
    win_chances: bool
    """Whether values are chances to win."""
    notes: tuple[str, ...]
    """What to keep in mind of these, in sentences."""

    def as_json(self) -> dict[str, Any]:
        """The situation and the bot."""
        notes = {"notes": list(self.notes)} if self.notes else {}
        return {**self.situation.as_json(), "bot": self.bot, **notes}


@dataclass(frozen=True, kw_only=True)
class Outlook(TurnAnswer):
    """The possible results of a turn with the best play."""

    golden_die: bool | None
    """Whether the golden die is used; None without one."""
    rows: list[Result]

    def as_json(self) -> dict[str, Any]:
        """The situation, the value of the turn, and one object per result."""
        results = [row._asdict() for row in self.rows]
        turn = {"golden_die": self.golden_die, "value": self.value, "results": results}
        return super().as_json() | turn


@dataclass(frozen=True, kw_only=True)
class Advice(TurnAnswer):
    """The options that the dice leave."""

    dice: Dice
    rows: list[Option]
    steals: bool
    """Whether any total steals a tile."""

    def as_json(self) -> dict[str, Any]:
        """The situation, the value of the best option, and one object per option."""
        return super().as_json() | {
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
    """The bot in every seat."""
    match = table.match([bot] * len(table.players[0]))
    if not isinstance(match.strategies[0], Valuation):
        able = [name for name in built_in_bots() if isinstance(load_bot(name), Valuation)]
        raise PickosimError(
            f"bot: {match.specs[0]} does not say what results are worth to it; "
            f"valuations do, such as {', '.join(able)}."
        )
    return match


def _about(match: Match, situation: Situation, table: Positions) -> dict[str, Any]:
    """What every answer about a turn begins with."""
    bot = match.strategies[0]
    win_chances = isinstance(bot, Valuation) and bot.values_are_win_chances
    notes = (*match.notes, *table.notes) if win_chances else ()
    shown = {"situation": situation, "bot": match.specs[0]}
    return {**shown, "win_chances": win_chances, "notes": notes}


# ------------------------------------------------------------------------- on the engine's table


def _first_turn(match: Match, positions: Positions, golden: bool | None = False) -> Turn:
    """The turn of a single game before its first roll, with the white dice, and perhaps the golden one."""
    batch, rows = Batch(match, 0, 1), np.zeros(1, np.int32)
    seat = (int(positions.table["turn"][0]) - 1) % len(match.specs)
    batch.table[:] = positions.table
    begin(batch.books, batch.table, batch.hands, seat, rows, batch.asked)
    if golden:
        take_golden_die(batch.table, batch.hands, seat, rows, np.ones(1, np.bool_))
    return Turn(match.rules, batch.books, batch.table, batch.hands, seat, rows, "pick", {})


def _changed(turn: Turn, table: Table, hands: Hands, question: str = "pick") -> Turn:
    """The same turn in all games of a table, with these hands."""
    rows = np.arange(len(table), dtype=np.int32)
    return Turn(turn.rules, turn._books, table, hands, turn.seat, rows, question, {})


class _Ends(NamedTuple):
    """What each end of a turn leads to, by column of a pay-off."""

    outcome: NDArray[np.int64]
    """(C,): number of the tile that the bot claims, or -1 minus the reason for the fail."""
    total: NDArray[np.int16]
    """(C,): the total, where the end is a stop."""
    claimable: NDArray[np.bool_]
    """(T,): tiles that any of the ends may claim."""


def _ends(turn: Turn, plan: Graph, values: Values) -> _Ends:
    """What every end of a turn leads to, by the engine and the bot: one game per end."""
    blocks, points = values.fail.shape[1], plan.points
    hands = np.repeat(turn._hands, plan.columns)
    by_block = hands.reshape(blocks, -1)
    by_block["new"][:, WORTH:] = ALL_FACES  # no bust, but a stop
    by_block["points"][:, WORTH:] = np.tile(np.arange(points), 2)
    by_block["aside"][:, WORTH + points :] = WORM_BIT
    ended = _changed(turn, np.repeat(turn._table, plan.columns), hands, "claim")
    outcome = np.array([-1 - fail_reason(hands[end]) for end in range(len(hands))], np.int64)
    worth = np.repeat(values.claim[0], plan.columns // blocks, axis=0)
    # Of equally good tiles the highest, as bots claim.
    best = len(turn.tiles) - 1 - np.where(ended.claims, worth, -np.inf)[:, ::-1].argmax(axis=1)
    claims = ended.claims.any(axis=1)
    outcome[claims] = best[claims]
    return _Ends(outcome, ended.total, np.asarray(ended.claims.any(axis=0)))


class _Play(NamedTuple):
    """A turn of a single game, solved before its first roll."""

    turn: Turn
    graph: Graph
    values: Values
    """What the bot says each result is worth."""
    solution: NDArray[np.float64]
    """(S,): the pay-off, then the value of rolling on by slot."""
    decisions: Decisions
    ends: _Ends


def _solve(match: Match, turn: Turn) -> _Play:
    """Solve a turn by the bot's valuation."""
    values = ask_values(match, turn, values_of)
    golden, weasel = bool(turn.golden_left[0]), bool(turn.holds[0, 0] == WEASEL)
    problem = problem_of(turn.rules, golden, weasel)
    plan = graph(problem)
    solution = solve(plan, payoffs_of(turn, values, plan))[0]
    decisions = Decisions(problem, Optimal(plan, solution))
    return _Play(turn, plan, values, solution, decisions, _ends(turn, plan, values))


# ------------------------------------------------------------------------- the results of a turn


def _outlook(match: Match, situation: Situation, table: Positions) -> Outlook:
    """The chance and worth of every result."""
    golden = None
    if situation.holds == "golden-die":
        turn = _first_turn(match, table)._asked_for("use_golden_die")
        golden = bool(ask(match, turn, "use_golden_die")[0])
    play = _solve(match, _first_turn(match, table, golden))
    value = float(play.solution[play.graph.start])
    about = _about(match, situation, table)
    return Outlook(**about, value=value, golden_die=golden, rows=_results(play))


def _results(play: _Play) -> list[Result]:
    """Takes and steals by ascending tile, fails by reason, then the bratworm."""
    turn, values, shape = play.turn, play.values, (play.values.fail.shape[1], -1)
    chances = play.decisions.ends(play.graph.start).reshape(shape)
    outcomes = play.ends.outcome.reshape(shape)

    def chance(outcome: int) -> float:
        return float(chances[outcomes == outcome].sum())

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
        possible = chances[1] > 0
        place = np.where(outcomes[1] < 0, len(without) - 1, outcomes[1])[possible]
        added = with_it[place] - without[place]
        earned = float(chances[1].sum())
        value = float(chances[1][possible] @ added) / earned if earned else 0.0
        results.append(Result("bratworm", None, None, None, earned, value))
    return results


# ------------------------------------------------------------------------ the options with dice


def _advice(match: Match, situation: Situation, table: Positions, dice: Dice) -> Advice:
    """The value of every option, with results valued as before the first roll."""
    play = _solve(match, _first_turn(match, table, dice.golden))
    now = _with_dice(play.turn, dice)
    options = [_option(play, now, way) for way in _ways(play.graph, now, dice)]
    # Of equally good ones as bots choose: the higher face, the roll as it is, to stop.
    best, *others = sorted(options, key=lambda option: option.face or "", reverse=True)
    for other in others:
        best = other if other.value > best.value + TOLERANCE else best
    options[options.index(best)] = best._replace(best=True)
    steals = bool((play.ends.claimable & ~now.grill[0]).any())
    about = _about(match, situation, table)
    return Advice(**about, value=best.value, dice=dice, rows=options, steals=steals)


def _with_dice(turn: Turn, dice: Dice) -> Turn:
    """The same game later in the turn: with dice set aside, and perhaps rolled."""
    hands, rolled, rules = turn._hands.copy(), Counter(dice.all_rolled), turn.rules
    hand, aside = hands[0], _set_of(dice.all_aside)
    hand["aside"] = aside
    hand["points"] = sum(int(POINTS[face]) for face in dice.all_aside)
    hand["white"] -= len(dice.aside)
    hand["golden"] -= dice.golden_aside > 0
    hand["weasel"] &= not dice.weasel_used
    hand["earned"] = rules.bratworms > 0 and dice.all_aside.count(1) >= rules.bratworm_ones
    counts = rolls(rules.dice + 1)["counts"]
    wanted = [rolled[face] for face in range(FACES + 1)]
    hand["roll"] = np.flatnonzero((counts == wanted).all(axis=1))[0]
    hand["golden_face"] = dice.golden_roll
    hand["new"] = _set_of(rolled) & ~aside
    return _changed(turn, turn._table, hands)


def _set_of(faces: Iterable[int]) -> int:
    return sum(1 << (face - 1) for face in set(faces))


class _Way(NamedTuple):
    """Something the player can do, and the slots of stopping and of rolling on that it leads to."""

    option: Deed
    face: int
    """The face that is set aside, otherwise 0."""
    stop: Int
    roll_on: Int
    """The same slot if there is no choice."""


def _ways(plan: Graph, now: Turn, dice: Dice) -> list[_Way]:
    """What the dice leave to do; without a new face, to fail too."""
    at: Any = now._hands.view(np.recarray)[0]
    weasel = int(at.weasel)
    if not dice.all_rolled:
        stop, roll_on = slots_at(plan, at, weasel)
        ways = [_Way("stop", 0, stop, stop), _Way("roll-on", 0, roll_on, roll_on)]
        return ways if roll_on != stop else ways[:1]
    faces = np.flatnonzero(now.legal[0]).tolist()
    ways = [_Way("set-aside", face, *slots_after(plan, at, weasel, face)) for face in faces]
    if not faces:
        bust = bust_of(plan, np.int64(at.earned))
        ways.append(_Way("fail", 0, bust, bust))
    if weasel and (faces or plan.rescue):
        _, again = slots_at(plan, at, 0)
        ways.append(_Way("roll-again", 0, again, again))
    return ways


def _option(play: _Play, now: Turn, way: _Way) -> Option:
    """An option with its value, and what is best after it."""
    values, face = play.solution, way.face
    stops = values[way.roll_on] <= values[way.stop] + TOLERANCE
    slot = way.stop if stops else way.roll_on
    dice, ends = int(now.counts[0, face]), stops and (face or way.option == "stop")
    tile = int(play.ends.outcome[slot]) if ends else -1
    return Option(
        way.option,
        face_name(face) if face else None,
        dice if face else None,
        total=int(play.ends.total[way.stop] if face else now.total[0]),
        dice_left=int(now.dice_left[0]) - dice,
        then=("stop" if stops else "roll-on") if face else None,
        tile=int(now.tiles[tile]) if tile >= 0 else None,
        value=float(values[slot]),
        claim=float(play.decisions.ends(slot)[play.ends.outcome >= 0].sum()),
        best=False,
    )


# ------------------------------------------------------------------------------------- the totals


def _totals_of_turn(rules: RuleSet, holds: str | None) -> Totals:
    """The best chances of all totals before the first roll."""
    # The golden die is used for totals where that is better.
    used = [False, True] if holds == "golden-die" else [False]
    reached = [_reach(rules, holds, golden) for golden in used]
    return Totals(rules, holds, None, _chances([each.at(each.graph.start) for each in reached]))


def _totals(situation: Situation, table: Positions) -> Totals:
    """The best chances of all totals, from the dice of a turn if it is under way."""
    rules, holds, (dice,) = table.rules, situation.holds, table.dice
    if dice is None:
        return _totals_of_turn(rules, holds if holds in DICE_CHANGERS else None)
    now = _with_dice(_first_turn(_seated("expected", table), table, dice.golden), dice)
    now._hands["earned"] = 0  # nothing but the total counts
    reached = _reach(rules, holds, bool(dice.golden))
    ways = _ways(reached.graph, now, dice)
    if not dice.all_rolled:
        return Totals(rules, holds, dice, _chances([reached.at(way.roll_on) for way in ways]))
    rows = [
        ChanceAfter(way.option, face_name(way.face) if way.face else None, *row)
        for way in ways
        if way.option != "fail" or len(ways) == 1
        for row in _chances([reached.at(way.stop), reached.at(way.roll_on)])
    ]
    return Totals(rules, holds, dice, rows)


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
