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
    I64,
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
from pickosim.engine.rulebook import GOLDEN_DIE, NOTHING, RAVEN, SEATS, Books, Rulebook
from pickosim.engine.table import Table, bratworm_sources
from pickosim.engine.tally import LUCK_ONE, PARTS, Tally, win_parts
from pickosim.engine.turn import Hands
from pickosim.errors import BotError
from pickosim.games.ask import ask_values
from pickosim.games.match import Match
from pickosim.rules import SPECIALISTS, WORM, RuleSet
from pickosim.solver.graph import Graph, Int, bust_of, dice_kinds, earns, slots_after, slots_at
from pickosim.solver.solve import AT_ONCE, Numbers, Solutions
from pickosim.solver.valuation import (
    JUDGE,
    Carry,
    Plan,
    Scale,
    TurnPlan,
    Valuation,
    Values,
    complete,
    known_worths,
    problem_of,
    scales_of,
    solve_kinds,
    sorted_values,
    worths_of,
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
    game: U16  # of those whose turn is judged
    kind: U8  # of mistake, if it is one
    chosen: U8  # a face, tile or specialist; of the others whether the player did it
    best: U8
    roll: U16  # the last one
    aside: U8
    points: U8
    dice: U8  # not set aside


DECISION = dtype_of(Decision)

Decisions = NDArray[np.void]
"""(d,) of DECISION."""


class _Reading(Protocol):
    """A record of READING: a turn, as far as its events have been read."""

    game: I64  # of those whose turn is read
    first: I64  # place of its solution in the numbers of all
    now: I64  # of the position: its place in these numbers
    stop: I64  # the same of a stop, after dice were set aside
    roll_on: I64
    claim: F64  # what the claim was valued at, shifted and scaled; NaN without one
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


class Outlook(NamedTuple):
    """What is expected of a turn of n games before it is played."""

    turn: Turn
    values: Values
    scale: Scale
    plans: list[Plan]
    """Solutions of these values by kinds of dice; what the judge says is among them, or carried along."""
    by_judge: bool
    """Whether the values are the judge's."""
    used: NDArray[np.uint16]
    """(n,): how often the golden die was used before."""
    table: Table
    """(n,): a copy of the games, if errors are wanted."""
    begin: int
    """Events in the log before the turn."""


class Verdict(NamedTuple):
    """What a judge makes of a turn of n games, for every player from the one on turn on, in the units of its values."""

    before: FloatArray
    """(n, P): what the turn was worth before the golden die and the first roll."""
    luck: FloatArray
    """(n, P): of all rolls."""
    error: FloatArray
    """(n, P): what each player lost by all decisions."""
    after: FloatArray
    """(n, P): what the result is worth."""
    decisions: Decisions
    """All decisions; valid until the next verdict."""
    table: Table
    """(n,): the games before the turn."""


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

    def __init__(self, bot: Valuation, match: Match, games: int, *, errors: bool) -> None:
        players = len(match.strategies)
        self.bot, self.players, self.errors = bot, players, errors
        spec = spec_of(bot)
        self.knows_rivals = False
        """Whether it knows every player's chance, as far as it has been asked; else rivals share evenly."""
        self._is = [
            other is bot or named == spec
            for other, named in zip(match.strategies, match.specs, strict=True)
        ]
        """By the number of a bot in the match: whether it is the judge itself."""
        self._match = replace(
            match, specs=(spec,) * players, strategies=(bot,) * players, rotations=()
        )
        self.luck = np.zeros((games, players))
        """(G, P)"""
        judged = games if errors else 0
        self.error = np.zeros((judged, players, players))
        """(G, P, P): by who decided, what each player lost by it."""
        self.start, self.drift = np.zeros((2, judged, players))
        """(G, P): the chances at first, and by how much they change between turns."""
        self._last = np.full((judged, players), np.nan)
        """(G, P): the chances after the last turn."""
        self._place = np.full(games, -1, np.int32)
        """(G,): which of the games that are being read."""
        self._readings = np.zeros(AT_ONCE, READING)
        self._decisions = np.zeros(AT_ONCE * MOST_DECISIONS if errors else 0, DECISION)
        golden = problem_of(match.rules, golden=True, weasel=False)
        self._golden_first = bool(dice_kinds(golden)[1])

    def carry(self, turn: Turn) -> Carry | None:
        """What is carried along the plan of the bot on turn: the judge's worths, unless it solves the turn by itself."""
        own = self._is[turn._bot]
        if self.players == 2 if own else self.errors:
            return None
        results, worths = self._ask(turn)
        return Carry(results, worths[:, int(own) :], worths[:, 0] if own else None)

    def _ask(self, turn: Turn) -> tuple[TurnResults, FloatArray]:
        """All results of a turn, and what they are worth."""
        asked = turn._asked_for("value")
        asked._bot = 0
        return ask_values(self._match, asked, worths_of)

    def expect(self, turn: Turn, log: Log, plan: TurnPlan | None) -> Outlook:
        """What is expected of a turn that has begun: by the `plan` of the bot, if errors are not wanted or it is the judge."""
        own = self._is[turn._bot]
        if plan is not None and (own or not self.errors):
            values, scale, plans, by_judge = plan.values, plan.scale, plan.plans, own
        else:
            results, worths = self._ask(turn)
            values, by_judge = sorted_values(turn, results, worths[:, 0]), True
            scale, carry = scales_of(values), Carry(results, worths[:, 1:], None)
            plans = solve_kinds(turn, values, scale, JUDGE, carry)
        table = turn._table[turn._rows] if self.errors else turn._table[:0]
        used = turn._table["used"][turn._rows, GOLDEN_DIE, turn.seat]
        return Outlook(turn, values, scale, plans, by_judge, used, table, length(log))

    def add_luck(self, outlook: Outlook, log: Log) -> None:
        """Add the luck of a turn that has been played to the results of its games."""
        luck, _, _ = self._read(outlook, log, np.zeros((2, 0, 0)))
        self._add_luck(outlook.turn, luck)

    def judge(self, outlook: Outlook, log: Log) -> Verdict:
        """What the judge makes of a turn that has been played; it is added to the results of its games."""
        turn, _, scale, plans, _, _, table, _ = outlook
        start = np.full((2, len(turn), len(plans[0].solutions.every)), -np.inf)
        for part in plans:
            start[int(part.golden), part.games] = part.solutions.every_at(part.graph.start)
        before = np.where(start[1, :, :1] >= start[0, :, :1], start[1], start[0])
        before[:, 0] = before[:, 0] / scale.factor + scale.shift
        luck, error, found = self._read(outlook, log, start)
        after = self._actual(turn, table)
        self.knows_rivals = after.shape[1] == self.players - 1
        error[:, 0] += scale.shift
        error -= after
        readings = self._readings[: len(turn)]
        strays = np.flatnonzero(readings["strays"])
        claim = readings["claim"][strays] / scale.factor[strays] + scale.shift[strays]
        found["error"][readings["decision"][strays]] = claim - after[strays, 0]
        verdict = Verdict(
            complete(before, 1.0, self.players),
            complete(luck, 0.0, self.players),
            complete(error, 0.0, self.players),
            complete(after, 1.0, self.players),
            found,
            table,
        )
        self._add_luck(turn, luck)
        self._add(turn, verdict)
        return verdict

    def _read(
        self, outlook: Outlook, log: Log, start: FloatArray
    ) -> tuple[FloatArray, FloatArray, Decisions]:
        """Read the events of a turn: luck and, if wanted, error (n, K), but for what the result is worth; decisions."""
        turn, values, scale, plans, by_judge, used, table, begin = outlook
        rows, count = turn._rows, np.zeros(1, np.int64)
        entry = turn._table["entry"][rows]
        golden = turn._table["used"][rows, GOLDEN_DIE, turn.seat] != used
        first = 0 if by_judge else 1
        luck, error = np.zeros((2, len(rows), len(plans[0].solutions.every) - first))
        for part in plans:
            played = golden[part.games] == part.golden
            games, worths = part.games[played], part.solutions.every[first:]
            self._place[entry[games]] = games
            turns = _Turns(
                turn._books, turn.seat, rows, turn._table, turn._hands, table, values, scale, part.graph,
                part.solutions.only(played), worths, part.golden, part.golden and self._golden_first, start,
                self._readings, luck, error, self._decisions, count,
            )  # fmt: skip
            _read(turns, games, self._place, log, begin)
            self._place[entry[games]] = -1
        if by_judge:
            luck[:, 0] /= scale.factor
            error[:, 0] /= scale.factor
        return luck, error, self._decisions[: count[0]]

    def _actual(self, turn: Turn, table: Table) -> FloatArray:
        """(n, K): what the results are worth that the games had."""
        games = np.arange(len(turn), dtype=np.int32)
        seen = Turn(turn.rules, turn._books, table, turn._hands, turn.seat, games, "value", {})
        after = positions_of(turn._books, turn._table, turn._rows)
        no, none = np.zeros(len(games), np.bool_), np.full(len(games), NO_TILE, np.int8)
        results = TurnResults(np.arange(len(games)), none, no, no, after)
        return known_worths(self.bot, After(seen, results))

    def _add_luck(self, turn: Turn, luck: FloatArray) -> None:
        """Add luck (n, K) to the results of the games of a turn."""
        by_seat = np.roll(complete(luck, 0.0, self.players), turn.seat, axis=1)
        self.luck[turn._table["entry"][turn._rows]] += by_seat

    def _add(self, turn: Turn, verdict: Verdict) -> None:
        """Add errors and drift of a turn to the results of its games."""
        before, _, error, after = (np.roll(part, turn.seat, axis=1) for part in verdict[:4])
        entry = turn._table["entry"][turn._rows]
        self.error[entry, turn.seat] += error
        first = np.isnan(self._last[entry, 0])
        self.start[entry[first]] = before[first]
        self.drift[entry] += np.where(first[:, None], 0.0, before - self._last[entry])
        self._last[entry] = after

    def end(self, tally: Tally, entry: NDArray[np.uint32]) -> None:
        """Games have ended: complete their results."""
        tally.luck[entry] = np.rint(self.luck[entry] * LUCK_ONE).astype(np.int64)
        if self.errors:
            self.drift[entry] += win_parts(tally.rank[entry]) / PARTS - self._last[entry]


class _Turns(NamedTuple):
    """The turns of n games as they are read: m of them at a time, which are played with the same kinds of dice."""

    books: Books
    seat: int
    rows: NDArray[np.int32]
    """(n,): of the games in `table` and `hands`, where the turn is over."""
    table: Table
    hands: Hands
    before: Table
    """(n,): the games before the turn, if errors are wanted."""
    values: Values
    scale: Scale
    graph: Graph
    solutions: Solutions
    """The m games of a plan, solved."""
    worths: Numbers
    """(K, …): numbers of the players at the places of the solutions."""
    golden: bool
    """Whether the golden die is one of the dice."""
    golden_first: bool
    """Whether its face is the first in the order of the solver's tree."""
    start: FloatArray
    """(2, n, K): what the turn was worth at first, without and with the golden die; -inf if it is not held."""
    readings: NDArray[np.void]
    """(n,) of READING."""
    luck: FloatArray
    """(n, K)"""
    error: FloatArray
    """(n, K)"""
    decisions: Decisions
    """Room for all of them; none if errors are not wanted."""
    noted: NDArray[np.int64]
    """(1,): how many there are."""


@kernel
def _read(
    turns: _Turns, games: NDArray[np.int64], place: NDArray[np.int32], log: Log, begin: int
) -> None:
    """Read the events of the turns of some games (m,); `place` says by the game's entry which of the n it is, if any."""
    full, readings = len(turns.decisions) > 0, turns.readings
    for i in range(len(games)):
        _begin(turns, readings[games[i]], games[i], turns.solutions.first[i])
        if full:
            _take_dice(turns, readings[games[i]])
    for e in range(begin + 1, 1 + log[0].entry):
        event: Event = log[e]
        game, kind, a = as_int(place[event.entry]), event.kind, as_int(event.a)
        if game < 0:
            continue
        reading: _Reading = readings[game]
        if kind == ROLL:
            _roll(turns, reading, a, as_int(event.b), full)
        elif kind == REROLL:
            _reroll(turns, reading, full)
        elif kind == SET_ASIDE:
            _set_aside(turns, reading, a, as_int(event.b), full)
        elif not full:
            continue
        elif kind == FAIL and reading.rolled:
            if reading.weasel and turns.graph.rescue:
                _keep_roll(turns, reading)
        elif kind == STOP:
            numbers = turns.solutions.numbers
            best = as_int(numbers[reading.stop] < numbers[reading.roll_on])
            _choose(turns, reading, reading.stop, STOPS_EARLY, 0, best, event.c == 0)
        elif kind in (TAKE, STEAL, STEAL_HEN):
            from_hen = kind == STEAL_HEN
            _claim(turns, reading, as_int(turns.table[turns.rows[game]].top[a]) if from_hen else a)
        elif kind == SPECIALIST and reading.tile != NOTHING and a != RAVEN:
            _take_specialist(turns, reading, a, event.c == SEATS + turns.seat)
        elif kind == BRATWORM and a != NOTHING and not reading.strays:
            _rob(turns, reading, a)
    if full:
        for k in games:
            reading = readings[k]
            for q in range(len(turns.worths)):
                turns.error[k, q] += turns.worths[q, reading.now]
            if np.isnan(reading.claim):
                reading.claim = np.float64(turns.solutions.numbers[reading.now])


@inlined
def _begin(turns: _Turns, reading: _Reading, game: int, first: int) -> None:
    """The player takes the dice."""
    reading.game = game
    reading.first = first
    reading.now = _place_of(turns.solutions, reading, turns.graph.start)
    reading.claim = np.nan
    reading.roll = 0
    reading.golden_face = 0
    reading.aside = 0
    reading.points = 0
    reading.white = turns.books[0].dice
    reading.golden = turns.golden
    reading.weasel = len(turns.graph.base) - 1
    reading.earned = 0
    reading.rolled = False
    reading.tile = NOTHING
    reading.strays = False


@inlined
def _take_dice(turns: _Turns, reading: _Reading) -> None:
    """The player has decided whether the golden die is one of the dice."""
    k, start = reading.game, turns.start
    chosen, best = as_int(turns.golden), as_int(start[1, k, 0] >= start[0, k, 0])
    turns.error[k] += start[best, k] - start[chosen, k]
    if min(start[0, k, 0], start[1, k, 0]) > -np.inf:
        lost = turns.error[k, 0] / turns.scale.factor[k]
        _note(turns.decisions, turns.noted, reading, lost, as_int(USES_GOLDEN_DIE), chosen, best)


@inlined
def _roll(turns: _Turns, reading: _Reading, roll: int, golden_face: int, full: bool) -> None:
    """The dice were rolled: at first, again with the weasel, or because the player did not stop."""
    graph, solutions = turns.graph, turns.solutions
    if reading.aside and not reading.rolled:
        if full:
            numbers = solutions.numbers
            best = as_int(numbers[reading.roll_on] >= numbers[reading.stop])
            _choose(turns, reading, reading.roll_on, ROLLS_ON, 1, best, True)
        reading.now = reading.roll_on
    reading.roll = roll
    reading.golden_face = golden_face
    reading.rolled = True
    busts = as_int(graph.shown[roll]) & ~as_int(reading.aside) == 0
    again = reading.weasel > 0 and (graph.rescue or not busts)
    to, _ = _best(graph, solutions, reading, turns.golden_first, again)
    _move(turns.worths, reading, to, turns.luck[reading.game], 1.0)


@inlined
def _reroll(turns: _Turns, reading: _Reading, full: bool) -> None:
    """The weasel was used: the same dice are rolled again."""
    numbers, to = turns.solutions.numbers, _again(turns.graph, turns.solutions, reading)
    if full:
        best = as_int(numbers[to] >= numbers[reading.now])
        _choose(turns, reading, to, REROLLS, 1, best, True)
    reading.now = to
    reading.weasel = 0


@inlined
def _set_aside(turns: _Turns, reading: _Reading, face: int, dice: int, full: bool) -> None:
    """So many dice of a face were set aside."""
    graph, numbers = turns.graph, turns.solutions.numbers
    stop, roll_on = _after(graph, turns.solutions, reading, face)
    if full:
        best = _keep_roll(turns, reading)
        kind = WRONG_NUMBER
        if face != best and WORM in (face, best):
            kind = WORMS_EARLY if face == WORM else NUMBER_FOR_WORMS
        new = as_int(graph.shown[reading.roll]) & ~as_int(reading.aside)
        to = roll_on if numbers[roll_on] > numbers[stop] else stop
        _choose(turns, reading, to, kind, face, best, new & (new - 1) != 0)
    golden = as_int(reading.golden_face == face)
    reading.earned |= as_int(earns(graph, face, dice))
    reading.aside |= 1 << (face - 1)
    reading.points += dice * POINTS[face]
    reading.white -= dice - golden
    reading.golden -= golden
    reading.rolled = False
    reading.stop = stop
    reading.roll_on = roll_on


@called
def _keep_roll(turns: _Turns, reading: _Reading) -> int:
    """The last roll was kept, although the weasel may be there; returns the best face to set aside, or 0."""
    numbers = turns.solutions.numbers
    kept, face = _best(turns.graph, turns.solutions, reading, turns.golden_first, False)
    if reading.weasel:
        best = as_int(numbers[kept] < numbers[reading.now])
        _choose(turns, reading, kept, REROLLS, 0, best, True)
    return face


@inlined
def _claim(turns: _Turns, reading: _Reading, tile: int) -> None:
    """A tile was claimed."""
    k, scale = reading.game, turns.scale
    reading.tile = tile
    tiles = legal_claims(turns.books[0], turns.hands[turns.rows[k]])
    claims = turns.values.claim[k, reading.earned]
    reading.claim = (claims[tile] - scale.shift[k]) * scale.factor[k]
    if tiles & (tiles - 1):
        lost = np.float64(turns.solutions.numbers[reading.now]) - reading.claim
        best = best_claim(tiles, claims)
        _note(
            turns.decisions,
            turns.noted,
            reading,
            lost / scale.factor[k],
            as_int(CLAIMS),
            tile,
            best,
        )


@inlined
def _take_specialist(turns: _Turns, reading: _Reading, specialist: int, keeps: bool) -> None:
    """A specialist came with the tile, which the player `keeps` or not."""
    book: Rulebook = turns.books[0]
    held = as_int(turns.before[reading.game].holds[turns.seat])
    if held not in (NOTHING, specialist) and not (book.keep_new or book.keep_old):
        keeps_new = turns.values.keeps_new[reading.game, reading.earned, reading.tile]
        chosen, best = (specialist if keeps else held), (specialist if keeps_new else held)
        _choose_after_claim(turns, reading, KEEPS, chosen, best, chosen != best)
        reading.tile = NOTHING


@inlined
def _rob(turns: _Turns, reading: _Reading, rival: int) -> None:
    """A bratworm was taken from a rival."""
    book: Rulebook = turns.books[0]
    if book.players > 2:
        sources, richest = bratworm_sources(book, turns.before[reading.game], turns.seat)
        if sources > 1 or richest == NOTHING:
            _choose_after_claim(turns, reading, ROBS, rival, richest, True)


@inlined
def _choose_after_claim(
    turns: _Turns, reading: _Reading, kind: int, chosen: int, best: int, strays: bool
) -> None:
    """What is chosen once a tile is claimed: if it `strays` from what was valued, the result shows what it gives away."""
    if strays:
        reading.decision = turns.noted[0]
        reading.strays = True
    _note(turns.decisions, turns.noted, reading, 0.0, as_int(kind), chosen, best)


@inlined
def _choose(
    turns: _Turns, reading: _Reading, to: int, kind: int, chosen: int, best: int, several: bool
) -> None:
    """The player chose the way to a place of the solution, maybe among several."""
    numbers, k = turns.solutions.numbers, reading.game
    if several:
        lost = np.float64(numbers[reading.now]) - numbers[to]
        lost /= turns.scale.factor[k]
        chosen, best = as_int(chosen), as_int(best)
        _note(turns.decisions, turns.noted, reading, lost, as_int(kind), chosen, best)
    _move(turns.worths, reading, to, turns.error[k], -1.0)


@called
def _note(
    decisions: Decisions,
    count: NDArray[np.int64],
    reading: _Reading,
    error: float,
    kind: int,
    chosen: int,
    best: int,
) -> None:
    """Write down a decision, and what it gives away."""
    decision: Decision = decisions[count[0]]
    decision.error = error
    decision.game = reading.game
    decision.kind = kind
    decision.chosen = chosen
    decision.best = best
    decision.roll = reading.roll
    decision.aside = reading.aside
    decision.points = reading.points
    decision.dice = reading.white + reading.golden
    count[0] += 1


@inlined
def _move(worths: Numbers, reading: _Reading, place: int, gain: FloatArray, sign: float) -> None:
    """Move on to a place of the solution; write to `gain` (K,) by how much that changes all worths."""
    for q in range(len(worths)):
        gain[q] += sign * (np.float64(worths[q, place]) - np.float64(worths[q, reading.now]))
    reading.now = place


@called
def _best(
    graph: Graph, solutions: Solutions, reading: _Reading, golden_first: bool, again: bool
) -> tuple[int, int]:
    """Where the best of a roll is: the first in the order of the solver's tree; and the face to set aside for it, or 0.

    `again`: whether the weasel can be used on it.
    """
    numbers = solutions.numbers
    best_face, new = 0, as_int(graph.shown[reading.roll]) & ~as_int(reading.aside)
    best = _place_of(solutions, reading, bust_of(graph, as_int(reading.earned)))
    value = -np.inf if new else np.float64(numbers[best])
    if again:
        place = _again(graph, solutions, reading)
        if numbers[place] > value:
            best, value = place, np.float64(numbers[place])
    golden = as_int(reading.golden_face)
    for k in range(0 if golden_first and golden else 1, FACES + 1):
        face = k if k else golden
        if (new >> (face - 1)) & 1 and not (k and golden_first and face == golden):
            stop, roll_on = _after(graph, solutions, reading, face)
            place = roll_on if numbers[roll_on] > numbers[stop] else stop
            if numbers[place] > value:
                best, value, best_face = place, np.float64(numbers[place]), face
    return best, best_face


@called
def _after(graph: Graph, solutions: Solutions, reading: _Reading, face: int) -> tuple[int, int]:
    """Where stopping and rolling on are after a face was set aside."""
    stop, roll_on = slots_after(graph, reading, reading.weasel, face)
    return _place_of(solutions, reading, stop), _place_of(solutions, reading, roll_on)


@called
def _again(graph: Graph, solutions: Solutions, reading: _Reading) -> int:
    """Where it is to roll the same dice again."""
    _, slot = slots_at(graph, reading, 0)
    return _place_of(solutions, reading, slot)


@inlined
def _place_of(solutions: Solutions, reading: _Reading, slot: Int) -> int:
    return as_int(reading.first + slot * solutions.step)
