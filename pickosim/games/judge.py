"""The judge: how lucky every roll was, and what every decision gave away, by a valuation that looks on.

For a turn of any bot, the judge says what each result is worth, and the turn solver what the position is worth before
each roll, after it, and after each decision. Only dice lie between the first two: that is the *luck* of a roll, and its
mean is 0, whatever the bot does next. The *error* of a decision is what the best option is worth less the chosen one.
So what the result of a turn is worth is what the turn was worth, plus luck, minus errors.

All of it is read from the events of a turn that has been played: a judge cannot change a game.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pickosim.bots.loading import BotLike, bot_of, spec_of
from pickosim.bots.view import After, FloatArray, Turn
from pickosim.engine.claim import best_claim, legal_claims
from pickosim.engine.dice import FACES, POINTS
from pickosim.engine.kernels import (
    F64,
    U8,
    U16,
    U32,
    Bool,
    as_int,
    called,
    dtype_of,
    inlined,
    kernel,
)
from pickosim.engine.log import (
    BRATWORM,
    FAIL,
    REROLL,
    ROLL,
    SET_ASIDE,
    SPECIALIST,
    STEAL,
    STEAL_HEN,
    STOP,
    TAKE,
    Event,
    Log,
    length,
)
from pickosim.engine.results import FAIL as NO_TILE
from pickosim.engine.results import TurnResults, positions_of
from pickosim.engine.rulebook import GOLDEN_DIE, NOTHING, RAVEN, SEATS, WEASEL, Books, Rulebook
from pickosim.engine.table import Game, Table, bratworm_sources
from pickosim.engine.tally import LUCK_ONE, PARTS, Tally, win_parts
from pickosim.engine.turn import Hand, Hands
from pickosim.errors import BotError
from pickosim.games.ask import ask_values
from pickosim.games.match import Match
from pickosim.rules import SPECIALISTS, WORM, RuleSet
from pickosim.solver.graph import Graph, Int, bust_of, dice_kinds, earns, slots_of
from pickosim.solver.solve import AT_ONCE, Solutions
from pickosim.solver.valuation import (
    JUDGE,
    Scale,
    TurnPlan,
    Valuation,
    Values,
    checked_values,
    problem_of,
    scales_of,
    solve_all,
)

(
    NUMBER_FOR_WORMS,
    WORMS_EARLY,
    WRONG_NUMBER,
    STOPS_EARLY,
    ROLLS_ON,
    REROLLS,
    CLAIMS,
    USES_GOLDEN_DIE,
    KEEPS,
    ROBS,
) = range(10)
"""Kinds of mistakes; every decision is of one of these kinds."""

MISTAKES = (
    "picks a number instead of worms",
    "picks worms too early",
    "picks the wrong number",
    "stops too early",
    "rolls on too long",
    "uses the weasel wrongly",
    "claims the wrong tile",
    "uses the golden die wrongly",
    "keeps the wrong specialist",
    "robs the wrong rival",
)
"""The kinds in words."""

MISTAKE = 0.0025
"""A decision that gives away less is not called a mistake."""

MOST_DECISIONS = 24
"""No turn has more: three for each of seven rolls, and three besides."""


class Decision(Protocol):
    """A record of DECISION: a decision between several options, and what it was about."""

    error: F64
    entry: U32  # of the game, in the tally
    turn: U16
    seat: U8
    kind: U8  # of mistake, if it is one
    chosen: U8  # a face, tile or specialist; of the others whether the player did it
    best: U8
    roll: U16  # the last one
    golden_face: U8
    aside: U8
    points: U8
    dice: U8  # not set aside
    grill: U32  # before the turn
    top: U8  # of the player, before the turn
    rival: U8  # top of the player who comes next


DECISION = dtype_of(Decision)

Decisions = NDArray[np.void]
"""(d,) of DECISION."""


class _Reading(Protocol):
    """A record of READING: a turn, as far as its events have been read; values are shifted and scaled."""

    now: F64  # of the position
    luck: F64
    error: F64
    stop: F64  # of a stop, after dice were set aside
    roll_on: F64
    decision: U32  # number of the one that `strays` is about
    roll: U16
    golden_face: U8
    aside: U8
    points: U8
    white: U8
    golden: U8
    weasel: U8
    earned: U8
    rolled: Bool  # nothing of the last roll is set aside yet
    tile: U8  # claimed, or NOTHING
    strays: Bool  # whether the result is not the one that the claim was valued for


READING = dtype_of(_Reading)


class Dice(NamedTuple):
    """The solutions for turns that are played with the same kinds of dice."""

    games: NDArray[np.int64]
    """(m,): which of the n games."""
    graph: Graph
    solutions: Solutions
    golden: bool


class Outlook(NamedTuple):
    """What a judge says of a turn of n games before it is played."""

    turn: Turn
    table: Table
    """(n,): a copy of the games."""
    values: Values
    scale: Scale
    dice: list[Dice]
    begin: int
    """Events in the log before the turn."""


class Verdict(NamedTuple):
    """What a judge makes of a turn of n games, in the units of its values."""

    before: FloatArray
    """(n,): what the turn was worth before the golden die and the first roll."""
    luck: FloatArray
    """(n,): of all rolls."""
    error: FloatArray
    """(n,): of all decisions."""
    after: FloatArray
    """(n,): what the result is worth."""
    decisions: Decisions
    """All decisions, if somebody wants them; valid until the next verdict."""


def judge_of(bot: BotLike, rules: RuleSet, players: int) -> Valuation:
    """The judge that is named."""
    judge = bot_of(bot)
    if not isinstance(judge, Valuation):
        raise BotError(
            f"{spec_of(judge)} does not say what positions are worth, so it cannot judge; champion can."
        )
    if objection := judge.objection(rules, players):
        raise BotError(f"{spec_of(judge)} cannot judge: {objection}")
    return judge


def option_words(kind: int, option: int, tiles: Sequence[int]) -> str:
    """An option of a decision of some kind: what was chosen, or what would have been best."""
    if kind in (NUMBER_FOR_WORMS, WORMS_EARLY, WRONG_NUMBER):
        return "worms" if option == WORM else f"{option}s"
    if kind == CLAIMS:
        return f"tile {tiles[option]}"
    if kind == KEEPS:
        return f"the {SPECIALISTS[option]}"
    if kind == ROBS:
        return f"seat {option}"
    words = {
        REROLLS: ("keep the roll", "use the weasel"),
        USES_GOLDEN_DIE: ("without the golden die", "with the golden die"),
    }
    return words.get(kind, ("stop", "roll on"))[option]


class Judge:
    """A valuation that judges the turns of any bots, in a number of games of a match."""

    def __init__(self, bot: Valuation, match: Match, games: int, *, decisions: bool) -> None:
        players = len(match.strategies)
        self.bot = bot
        self._spec = spec_of(bot)
        self._is = [
            other is bot or spec == self._spec
            for other, spec in zip(match.strategies, match.specs, strict=True)
        ]
        """By the number of a bot in the match: whether it is the judge itself."""
        self._match = replace(
            match, specs=(self._spec,) * players, strategies=(bot,) * players, rotations=()
        )
        self.luck, self.error = np.zeros((2, games, players))
        """(G, P)"""
        self.start, self.drift = np.zeros((2, games))
        """(G,): with two players the chance of seat 0 at first, and by how much it changes between turns."""
        self._last = np.full(games, np.nan)
        """(G,): the chance of seat 0 after the last turn."""
        self._place = np.full(games, -1, np.int32)
        """(G,): which of the games that are being read."""
        self._readings = np.zeros(AT_ONCE, READING)
        self._decisions = np.zeros(AT_ONCE * MOST_DECISIONS if decisions else 0, DECISION)
        golden = problem_of(match.rules, golden=True, weasel=False)
        self._golden_first = bool(dice_kinds(golden)[1])

    def expect(self, turn: Turn, log: Log, plan: TurnPlan | None) -> Outlook:
        """What the judge says of a turn that has begun; by its `plan` if the bot is the judge."""
        table = turn._table[turn._rows]
        if plan is not None and self._is[turn._bot]:
            values, scale = plan.values, plan.scale
            solved = [(part, bool(plan.golden[part.games].any())) for part in plan.plans]
        else:
            asked = turn._asked_for("value")
            asked._bot = 0
            values = ask_values(self._match, asked)
            scale, held = scales_of(values), table["holds"][:, turn.seat]
            kinds = (
                (held != WEASEL, False, False),
                (held == GOLDEN_DIE, True, False),
                (held == WEASEL, False, True),
            )
            solved = [
                (solve_all(turn, values, games, golden, weasel, scale=scale, memory=JUDGE), golden)
                for some, golden, weasel in kinds
                if len(games := np.flatnonzero(some))
            ]
        dice = [Dice(*part, golden) for part, golden in solved]
        return Outlook(turn, table, values, scale, dice, length(log))

    def judge(self, outlook: Outlook, log: Log) -> Verdict:
        """What the judge makes of the turn, now that it has been played."""
        turn, table, values, scale, dice, begin = outlook
        seat, rows = turn.seat, turn._rows
        readings, found = self._readings[: len(rows)], 0
        used = table["used"][:, GOLDEN_DIE, seat]
        golden = turn._table["used"][rows, GOLDEN_DIE, seat] != used
        start = np.full((2, len(rows)), -np.inf)
        for part in dice:
            start[int(part.golden), part.games] = part.solutions.at(part.graph.start)
        before = start.max(axis=0)
        for part in dice:
            played = golden[part.games] == part.golden
            games = part.games[played]
            self._place[table["entry"][games]] = np.arange(len(games))
            found = _read(
                turn._books,
                turn._table,
                turn._hands,
                seat,
                rows,
                table,
                log,
                begin,
                self._place,
                games,
                part.graph,
                part.solutions.only(played),
                part.golden,
                part.golden and self._golden_first,
                start,
                values,
                scale,
                readings,
                self._decisions,
                found,
            )
            self._place[table["entry"][games]] = -1
        unit = 1 / scale.factor
        error, after = readings["error"] * unit, readings["now"] * unit + scale.shift
        strays = np.flatnonzero(readings["strays"])
        if len(strays):
            actual = self._actual(turn, table, strays)
            wrong, after[strays] = after[strays] - actual, actual
            error[strays] += wrong
            if len(self._decisions):
                self._decisions["error"][readings["decision"][strays]] = wrong
        luck = readings["luck"] * unit
        verdict = Verdict(before * unit + scale.shift, luck, error, after, self._decisions[:found])
        self._add(seat, table["entry"], verdict)
        return verdict

    def _actual(self, turn: Turn, table: Table, games: NDArray[np.int64]) -> FloatArray:
        """(m,): what the results are worth that some of the games had; the others are valued before a turn."""
        seen = Turn(
            turn.rules,
            turn._books,
            table,
            turn._hands,
            turn.seat,
            games.astype(np.int32),
            "value",
            {},
        )
        after = positions_of(turn._books, turn._table, turn._rows[games])
        no, none = np.zeros(len(games), np.bool_), np.full(len(games), NO_TILE, np.int8)
        results = TurnResults(np.arange(len(games)), none, no, no, after)
        return checked_values(self.bot, After(seen, results))

    def _add(self, seat: int, entry: NDArray[np.uint32], verdict: Verdict) -> None:
        """Add a turn to the results of its games."""
        players = self.luck.shape[1]
        shares = np.full(players, -1 / (players - 1))
        shares[seat] = 1.0
        self.luck[entry] += verdict.luck[:, None] * shares
        self.error[entry, seat] += verdict.error
        if players == 2:
            before, after = verdict.before, verdict.after
            if seat:
                before, after = 1 - before, 1 - after
            first = np.isnan(self._last[entry])
            self.start[entry[first]] = before[first]
            self.drift[entry] += np.where(first, 0.0, before - self._last[entry])
            self._last[entry] = after

    def end(self, tally: Tally, entry: NDArray[np.uint32]) -> None:
        """Games have ended: complete their results."""
        tally.luck[entry] = np.rint(self.luck[entry] * LUCK_ONE).astype(np.int64)
        self.drift[entry] += win_parts(tally.rank[entry])[:, 0] / PARTS - self._last[entry]


@inlined
def _number(solutions: Solutions, i: Int, slot: Int) -> float:
    return np.float64(solutions.numbers[solutions.first[i] + slot * solutions.step])


@called
def _best(
    graph: Graph, solutions: Solutions, i: Int, reading: _Reading, golden_first: bool, again: bool
) -> tuple[float, int]:
    """What a roll is worth, and the face to set aside: the first of the best in the order of the solver's tree, or 0.

    `again`: whether the weasel can be used on it.
    """
    best_face, new = 0, as_int(graph.shown[reading.roll]) & ~as_int(reading.aside)
    best = -np.inf if new else _number(solutions, i, bust_of(graph, as_int(reading.earned)))
    if again:
        best = max(best, _again(graph, solutions, i, reading))
    golden = as_int(reading.golden_face)
    for k in range(0 if golden_first and golden else 1, FACES + 1):
        face = k if k else golden
        if (new >> (face - 1)) & 1 and not (k and golden_first and face == golden):
            stop, roll_on = _after(graph, solutions, i, reading, face)
            if max(stop, roll_on) > best:
                best, best_face = max(stop, roll_on), face
    return best, best_face


@called
def _after(
    graph: Graph, solutions: Solutions, i: Int, reading: _Reading, face: int
) -> tuple[float, float]:
    """What stopping and rolling on are worth after a face was set aside."""
    dice = as_int(graph.counts[reading.roll, face])
    golden = as_int(reading.golden_face == face)
    stop, roll_on = slots_of(
        graph,
        as_int(reading.weasel),
        as_int(reading.earned) | earns(graph, face, dice),
        as_int(reading.aside) | 1 << (face - 1),
        as_int(reading.points) + dice * POINTS[face],
        as_int(reading.white) - dice + golden,
        as_int(reading.golden) - golden,
    )
    return _number(solutions, i, stop), _number(solutions, i, roll_on)


@called
def _again(graph: Graph, solutions: Solutions, i: Int, reading: _Reading) -> float:
    """What it is worth to roll the same dice again."""
    _, slot = slots_of(
        graph,
        0,
        as_int(reading.earned),
        as_int(reading.aside),
        as_int(reading.points),
        as_int(reading.white),
        as_int(reading.golden),
    )
    return _number(solutions, i, slot)


@called
def _decide(
    decisions: Decisions,
    found: int,
    book: Rulebook,
    game: Game,
    hand: Hand,
    seat: int,
    reading: _Reading,
    unit: float,
    kind: int,
    worth: float,
    chosen: int,
    best: int,
    several: bool,
) -> int:
    """Something was chosen that is worth so much; it is written to `decisions`, if they have room and it was a choice."""
    error = reading.now - worth
    reading.now = worth
    reading.error += error
    if several and len(decisions):
        decision: Decision = decisions[found]
        decision.error = error * unit
        decision.entry = game.entry
        decision.turn = game.turn
        decision.seat = seat
        decision.kind = kind
        decision.chosen = chosen
        decision.best = best
        decision.roll = reading.roll
        decision.golden_face = reading.golden_face
        decision.aside = reading.aside
        decision.points = reading.points
        decision.dice = reading.white + reading.golden
        decision.grill = hand.grill
        decision.top = game.top[seat]
        decision.rival = game.top[(seat + 1) % book.players]
        found += 1
    return found


@kernel
def _read(
    books: Books,
    table: Table,
    hands: Hands,
    seat: int,
    rows: NDArray[np.int32],
    before: Table,
    log: Log,
    begin: int,
    place: NDArray[np.int32],
    games: NDArray[np.int64],
    graph: Graph,
    solutions: Solutions,
    golden: bool,
    golden_first: bool,
    start: FloatArray,
    values: Values,
    scale: Scale,
    readings: NDArray[np.void],
    decisions: Decisions,
    found: int,
) -> int:
    """Read the events of a turn in some games, to `readings` (n,) and `decisions`; returns how many there are of these.

    `start` (2, n) is what the turn was worth at first, without and with the golden die; -inf if it is not held.
    """
    book: Rulebook = books[0]
    for i in range(len(games)):
        k = games[i]
        reading: _Reading = readings[k]
        game: Game = before[k]
        hand: Hand = hands[rows[k]]
        reading.now = max(start[0, k], start[1, k])
        reading.luck = 0.0
        reading.error = 0.0
        reading.roll = 0
        reading.golden_face = 0
        reading.aside = 0
        reading.points = 0
        reading.white = book.dice
        reading.golden = golden
        reading.weasel = len(graph.base) - 1
        reading.earned = 0
        reading.rolled = False
        reading.tile = NOTHING
        reading.strays = False
        chosen = as_int(golden)
        several = min(start[0, k], start[1, k]) > -np.inf
        best = as_int(start[1, k] >= start[0, k])
        unit = 1 / scale.factor[k]
        found = _decide(
            decisions, found, book, game, hand, seat, reading, unit, as_int(USES_GOLDEN_DIE), start[chosen, k],
            chosen, best, several,
        )  # fmt: skip
    for e in range(begin + 1, 1 + log[0].entry):
        event: Event = log[e]
        i = as_int(place[event.entry])
        if i < 0:
            continue
        k = games[i]
        reading = readings[k]
        game = before[k]
        hand = hands[rows[k]]
        kind, a, unit = event.kind, as_int(event.a), 1 / scale.factor[k]
        if kind == ROLL:
            if reading.aside and not reading.rolled:
                best = as_int(reading.roll_on >= reading.stop)
                found = _decide(
                    decisions, found, book, game, hand, seat, reading, unit, as_int(ROLLS_ON), reading.roll_on, as_int(1), best, True,
                )  # fmt: skip
            reading.roll = a
            reading.golden_face = event.b
            reading.rolled = True
            busts = as_int(graph.shown[a]) & ~as_int(reading.aside) == 0
            again = reading.weasel > 0 and (graph.rescue or not busts)
            value, _ = _best(graph, solutions, i, reading, golden_first, again)
            reading.luck += value - reading.now
            reading.now = value
        elif kind == REROLL:
            worth = _again(graph, solutions, i, reading)
            found = _decide(
                decisions, found, book, game, hand, seat, reading, unit, as_int(REROLLS), worth, as_int(1),
                as_int(worth >= reading.now), True,
            )  # fmt: skip
            reading.weasel = 0
        elif kind == SET_ASIDE or (kind == FAIL and reading.rolled):
            value, best = _best(graph, solutions, i, reading, golden_first, False)
            if reading.weasel and (graph.rescue or kind == SET_ASIDE):
                found = _decide(
                    decisions, found, book, game, hand, seat, reading, unit, as_int(REROLLS), value, as_int(0),
                    as_int(value < reading.now), True,
                )  # fmt: skip
            if kind == FAIL:
                continue
            stop, roll_on = _after(graph, solutions, i, reading, a)
            pick = WRONG_NUMBER
            if a != best and WORM in (a, best):
                pick = WORMS_EARLY if a == WORM else NUMBER_FOR_WORMS
            new = as_int(graph.shown[reading.roll]) & ~as_int(reading.aside)
            found = _decide(
                decisions, found, book, game, hand, seat, reading, unit, as_int(pick), max(stop, roll_on), a, best,
                new & (new - 1) != 0,
            )  # fmt: skip
            set_aside, of_gold = as_int(event.b), as_int(reading.golden_face == a)
            reading.earned |= as_int(earns(graph, a, set_aside))
            reading.aside |= 1 << (a - 1)
            reading.points += set_aside * POINTS[a]
            reading.white -= set_aside - of_gold
            reading.golden -= of_gold
            reading.rolled = False
            reading.stop = stop
            reading.roll_on = roll_on
        elif kind == STOP:
            best = as_int(reading.stop < reading.roll_on)
            found = _decide(
                decisions, found, book, game, hand, seat, reading, unit, as_int(STOPS_EARLY), reading.stop, as_int(0), best,
                event.c == 0,
            )  # fmt: skip
        elif kind in (TAKE, STEAL, STEAL_HEN):
            reading.tile = as_int(table[rows[k]].top[a]) if kind == STEAL_HEN else a
            tiles, claims = legal_claims(book, hand), values.claim[k, reading.earned]
            worth = (claims[reading.tile] - scale.shift[k]) * scale.factor[k]
            found = _decide(
                decisions, found, book, game, hand, seat, reading, unit, as_int(CLAIMS), worth, reading.tile,
                best_claim(tiles, claims), tiles & (tiles - 1) != 0,
            )  # fmt: skip
        elif kind == SPECIALIST and reading.tile != NOTHING and a != RAVEN:
            held = as_int(game.holds[seat])
            if held != NOTHING and a != held and not (book.keep_new or book.keep_old):
                keeps = event.c == SEATS + seat
                keeps_new = values.keeps_new[k, reading.earned, reading.tile]
                chosen, best = (a if keeps else held), (a if keeps_new else held)
                if chosen != best:
                    reading.decision = found
                    reading.strays = True
                found = _decide(
                    decisions, found, book, game, hand, seat, reading, unit, as_int(KEEPS),
                    reading.now, chosen, best, True,
                )  # fmt: skip
                reading.tile = NOTHING
        elif kind == BRATWORM and book.players > 2 and a != NOTHING and not reading.strays:
            sources, richest = bratworm_sources(book, game, seat)
            if sources > 1 or richest == NOTHING:
                reading.decision = found
                reading.strays = True
                found = _decide(
                    decisions, found, book, game, hand, seat, reading, unit, as_int(ROBS),
                    reading.now, a, richest, True,
                )  # fmt: skip
    return found
