"""A valuation: a strategy whose author only says what a position is worth.

The engine says which positions a turn can lead to, and the turn solver does the rest: which face to set
aside, when to stop, what to claim, whether to roll again, which specialist to keep. Five lines of NumPy
make a strong bot, by any rules.

It is asked once per turn, before the dice are rolled. Turns are then solved in single precision, with
pay-offs shifted and scaled so that a fail is worth 0 and no result more than 1 or less than -1: any scale
will do, and choices that differ by less than a hundred-thousandth of that are tied.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import frexp, ldexp
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pickosim.bots.strategy import Strategy
from pickosim.bots.view import METHODS, After, Array, BoolArray, FloatArray, IntArray, Turn
from pickosim.engine.claim import best_by_total
from pickosim.engine.dice import FACES
from pickosim.engine.kernels import as_int, kernel
from pickosim.engine.results import FAIL, TurnResults
from pickosim.engine.rulebook import CANNED_WORM, GOLDEN_DIE, WEASEL, Books, Rulebook
from pickosim.engine.table import Game, Table, stealable
from pickosim.engine.turn import CAN_POINTS
from pickosim.errors import AnswerError
from pickosim.rules import WORM, RuleSet
from pickosim.solver.graph import BUST, WORTH, Graph, Problem, graph, slots_after, slots_at
from pickosim.solver.solve import (
    SINGLE_TOLERANCE,
    Numbers,
    Solutions,
    Solver,
    best_face,
    should_reroll,
    should_stop,
    solve,
)


class Values(NamedTuple):
    """What the results of a turn are worth to a strategy, in n games, in B blocks.

    B is 2 if 1s can earn a bratworm: without it and with it; else 1.
    """

    claim: FloatArray
    """(n, B, T): claiming each tile, with the better of two specialists kept; -inf if it is out of reach."""
    fail: FloatArray
    """(n, B): a fail."""
    keeps_new: BoolArray
    """(n, B, T): whether the newer of two specialists is kept, where there are two."""

    def only(self, games: NDArray[np.int64]) -> Values:
        """The values of some of the games."""
        return Values._make(np.ascontiguousarray(part[games]) for part in self)


class Valuation(Strategy):
    """Base class of bots that only say what a position is worth; the author writes `value`."""

    values_are_win_chances: ClassVar[bool] = False
    """Whether values are chances to win; then they are shown in percent."""

    @abstractmethod
    def value(self, after: After) -> FloatArray:
        """(m,): what each of m positions is worth after your turn.

        On any scale: only differences between results of the same turn count.
        """

    def chances(self, after: After) -> FloatArray | None:
        """(m, P): every player's chance to win, from yours on in the order of turns; None if the bot cannot say.

        Where values are win chances, yours is what `value` says.
        """
        return None

    def pick(self, turn: Turn) -> NDArray[np.uint8]:
        return _decided(self, turn, np.zeros(len(turn), np.uint8), best_face)

    def stop(self, turn: Turn) -> BoolArray:
        return _decided(self, turn, np.zeros(len(turn), np.bool_), should_stop)

    def reroll(self, turn: Turn) -> BoolArray:
        return _decided(self, turn, np.zeros(len(turn), np.bool_), should_reroll)

    def use_golden_die(self, turn: Turn) -> BoolArray:
        values, every = known_values(self, turn), np.arange(len(turn))
        scale = scales_of(values)
        golden, plain = (
            solve_all(turn, values, every, with_golden, scale=scale, memory=KEPT).start_values()
            for with_golden in (True, False)
        )
        return _prefers_golden(golden, plain)

    def claim(self, turn: Turn) -> IntArray:
        values = np.where(turn.claims, known_values(self, turn).claim[_now(turn)], -np.inf)
        best: IntArray = turn.tiles[::-1][values[:, ::-1].argmax(axis=1)]  # the highest of equals
        return best

    def keep_new_specialist(self, turn: Turn) -> BoolArray:
        assert turn._claimed is not None
        every, block = _now(turn)
        keeps: BoolArray = known_values(self, turn).keeps_new[every, block, turn._claimed]
        return keeps

    def _plan_turn(self, turn: Turn, carry: Carry | None = None) -> TurnPlan:
        """Plan the whole turn; games are then played without further questions."""
        return plan_turn(self, turn, carry)

    def explain(self, turn: Turn) -> list[tuple[str, float]]:
        """The options in a single game, each with its value."""
        match turn.question:
            case "use_golden_die":
                words = {"with the golden die": True, "without it": False}
                return [(word, _start_value(self, turn, golden)) for word, golden in words.items()]
            case "claim":
                values = known_values(self, turn).claim[_now(turn)][0]
                tiles = zip(turn.tiles.tolist(), turn.claims[0], values.tolist(), strict=True)
                return [(f"claim {tile}", value) for tile, legal, value in tiles if legal]
            case "keep_new_specialist":
                return _explain_specialists(self, turn)
            case "pick" | "reroll" | "stop":
                return _explain_dice(self, turn)
        return []


# ------------------------------------------------------------------------- what results are worth


def checked_values(strategy: Valuation, after: After) -> FloatArray:
    """(m,): the values of a strategy, one finite number per result."""
    raw = strategy.value(after)
    try:
        answers = np.asarray(raw)
    except Exception as error:
        raise AnswerError(f"returned a value that is not an array: {error}") from error
    if answers.shape != (len(after),):
        shape = f"shape {answers.shape}" if answers.shape else repr(raw)
        raise AnswerError(
            f"returned {shape} for {len(after)} results; return an array of shape ({len(after)},)"
        )
    if answers.dtype.kind not in "biuf":
        raise AnswerError(f"returned {answers.dtype}; return numbers")
    values = answers.astype(np.float64, copy=False)
    wrong = ~np.isfinite(values)
    if wrong.any():
        raise AnswerError(f"returned {answers[wrong][0]}; return finite numbers")
    return values


def worths_of(strategy: Valuation, turn: Turn) -> tuple[TurnResults, FloatArray]:
    """All results of a turn, m, and what they are worth to the first K players from the one on turn on (m, K)."""
    after = turn._asked_for("value").results()
    return after._results, known_worths(strategy, after)


def known_worths(strategy: Valuation, after: After) -> FloatArray:
    """(m, K): what results are worth to the first players; to the last one, or to all rivals, what is left (`complete`)."""
    chances = strategy.chances(after) if strategy.values_are_win_chances else None
    return checked_values(strategy, after)[:, None] if chances is None else chances[:, :-1]


def complete(known: FloatArray, total: float, players: int) -> FloatArray:
    """(n, P): numbers of all players, who share a total; those who are not among the known (n, K) share it evenly."""
    left = (total - known.sum(axis=1, keepdims=True)) / (players - known.shape[1])
    return np.hstack([known, np.repeat(left, players - known.shape[1], axis=1)])


def values_of(strategy: Valuation, turn: Turn) -> Values:
    """What the results of a turn are worth to a strategy."""
    after = turn._asked_for("value").results()
    return sorted_values(turn, after._results, checked_values(strategy, after))


def sorted_values(turn: Turn, results: TurnResults, values: FloatArray) -> Values:
    """The values (m,) of all results of a turn, by what they are results of."""
    blocks, tiles = 1 + (turn.rules.bratworms > 0), len(turn.tiles)
    found = Values(
        np.empty((len(turn), blocks, tiles)),
        np.empty((len(turn), blocks)),
        np.zeros((len(turn), blocks, tiles), np.bool_),
    )
    # Late in a turn the table has the bratworm already; then there is no other to be earned.
    now = turn._hands["earned"][turn._rows] > 0
    _sort_values(results, values, now, found)
    return found


@kernel
def _sort_values(
    results: TurnResults, value: FloatArray, earned_now: NDArray[np.bool_], found: Values
) -> None:
    """Write the value of the best result by game, block and tile."""
    claim, fail, keeps_new = found
    blocks = fail.shape[1]
    claim[:] = -np.inf
    started = -1
    for k in range(len(value)):
        game, tile = results.game[k], results.tile[k]
        first, last = 0, blocks
        if results.earned[k]:
            if earned_now[game]:
                continue
            first = 1
            if started < game:
                claim[game, 1] = -np.inf
                started = game
        # Where no bratworm can be earned, both blocks are the same.
        for block in range(first, last):
            if tile == FAIL:
                fail[game, block] = value[k]
            elif value[k] >= claim[game, block, tile]:
                claim[game, block, tile] = value[k]
                keeps_new[game, block, tile] = results.keeps_new[k]


def known_values(strategy: Valuation, turn: Turn) -> Values:
    """The values of a turn's results, for a question of that turn.

    A strategy is asked once per turn; what it said is kept for the questions that follow.
    """
    parts: list[tuple[NDArray[np.int32], Values]] = turn._notes.get("values", [])
    unknown = _unknown(turn, parts)
    if len(unknown):
        values = values_of(strategy, turn._in_rows(unknown))
        parts = [*parts, (unknown, values)]
        turn._notes["values"] = parts
    rows = np.concatenate([rows for rows, _ in parts])
    together = Values._make(
        np.concatenate(part) for part in zip(*(values for _, values in parts), strict=True)
    )
    order = np.argsort(rows)
    return together.only(order[np.searchsorted(rows[order], turn._rows)])


def _unknown(turn: Turn, kept: Sequence[tuple[NDArray[np.int32], object]]) -> NDArray[np.int32]:
    """The rows of a turn about which nothing is kept."""
    known = [rows for rows, _ in kept]
    return np.setdiff1d(turn._rows, np.concatenate(known) if known else [])


def _now(turn: Turn) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Number and block of each game; the block says whether 1s have earned a bratworm."""
    earned = turn._hands["earned"][turn._rows]
    return np.arange(len(turn)), earned


# ---------------------------------------------------------------------------------------- pay-offs


def payoffs_of(turn: Turn, values: Values, plan: Graph) -> NDArray[np.float64]:
    """(n, C): the pay-offs of a problem in double precision, neither shifted nor scaled."""
    out = np.empty((len(turn), plan.columns))
    every, one = np.arange(len(turn)), np.ones(len(turn))
    shift = np.zeros(len(turn))
    where = turn._books, turn._table, turn.seat, turn._rows, every
    _write_payoffs(*where, values, shift, one, out, _carried(values, None), out[None][:0])
    return out


class Scale(NamedTuple):
    """How values are shifted and scaled: (value - shift) * factor, so that none is beyond -1 or 1."""

    shift: FloatArray
    """(n,): the value of a fail."""
    factor: FloatArray
    """(n,): a power of 2, so that scaling loses nothing."""


@kernel
def scales_of(values: Values) -> Scale:
    """How the values of each game are shifted and scaled."""
    claim, fail, _ = values
    shift, factor = np.empty(len(fail)), np.empty(len(fail))
    for k in range(len(fail)):
        shift[k], most = fail[k, 0], 0.0
        for block in range(fail.shape[1]):
            most = max(most, abs(fail[k, block] - shift[k]))
            for tile in range(claim.shape[2]):
                if claim[k, block, tile] > -np.inf:
                    most = max(most, abs(claim[k, block, tile] - shift[k]))
        _, exponent = frexp(most)
        factor[k] = ldexp(1.0, min(max(-exponent, -1000), 1000)) if most > 0 else 1.0
    return Scale(shift, factor)


@kernel
def _write_payoffs(
    books: Books,
    table: Table,
    seat: int,
    rows: NDArray[np.int32],
    games: NDArray[np.int64],
    values: Values,
    shift: FloatArray,
    factor: FloatArray,
    out: Numbers,
    carried: Values,
    along: Numbers,
) -> None:
    """Write the pay-offs of some games, shifted and scaled, and `along` (K, …) what is carried of the same results."""
    book: Rulebook = books[0]
    blocks = values.fail.shape[1]
    columns = out.shape[1] // blocks
    points = (columns - WORTH) // 2
    best = np.empty(points + CAN_POINTS, np.int64)
    for i in range(len(games)):
        k = games[i]
        game: Game = table[rows[k]]
        grill, loot = as_int(game.grill), stealable(book, game, seat)
        canned = game.holds[seat] == CANNED_WORM
        for block in range(blocks):
            first, worth = block * columns, values.claim[k, block]
            best_by_total(book, grill, loot, worth, best)
            nothing = (values.fail[k, block] - shift[k]) * factor[k]
            out[i, first + BUST] = nothing
            for q in range(len(along)):
                along[q, i, first + BUST] = carried.fail[q, k, block]
            for p in range(2 * points):
                # The first half is without a worm, which only the canned worm makes up for.
                tile = best[p - points] if p >= points else best[p + CAN_POINTS] if canned else -1
                column = first + WORTH + p
                out[i, column] = nothing if tile < 0 else (worth[tile] - shift[k]) * factor[k]
                for q in range(len(along)):
                    some = (
                        carried.fail[q, k, block] if tile < 0 else carried.claim[q, k, block, tile]
                    )
                    along[q, i, column] = some


# ------------------------------------------------------------------------------- solving the turns


def problem_of(rules: RuleSet, golden: bool, weasel: bool) -> Problem:
    """The problem of the solver for a turn, with or without the golden die and the weasel."""
    uses: Literal["none", "any roll", "not on a bust"] = "none"
    if weasel:
        uses = "any roll" if rules.weasel_rescues_bust else "not on a bust"
    faces = rules.golden_die_faces if golden else ()
    return Problem(rules.dice, faces, uses, rules.bratworm_ones if rules.bratworms else 0)


class Plan(NamedTuple):
    """Games whose turns are played with the same kinds of dice, and their solutions."""

    games: NDArray[np.int64]
    """(m,): which of the n games."""
    graph: Graph
    solutions: Solutions
    """Values of the m games, shifted and scaled; what is carried along is as it was."""
    golden: bool
    """Whether the golden die is one of the dice."""

    def only(self, some: NDArray[np.int64] | BoolArray, games: NDArray[np.int64]) -> Plan:
        """The plan for some of its games; `games` are their new numbers."""
        return self._replace(games=games, solutions=self.solutions.only(some))

    def start_values(self) -> Numbers:
        """(m,): what the turn is worth before the first roll, shifted and scaled."""
        return self.solutions.at(self.graph.start)


class Carry(NamedTuple):
    """What the results of a turn are worth to others: carried along a plan, it decides nothing."""

    results: TurnResults
    """Of n games, m in all."""
    numbers: FloatArray
    """(m, K): of the order of 1, as they are carried in single precision."""
    values: FloatArray | None
    """(m,): the values by which the turn is planned, if they are known."""


KEPT, BOT, JUDGE = range(3)
"""Where solutions are: in memory of their own, or until the next turn in that of the bot on turn, or of a judge."""


@lru_cache(maxsize=9)
def _solver(problem: Problem, memory: int) -> Solver:
    """A turn needs three of each memory at most: plain, golden die, weasel."""
    return Solver(problem)


def solve_all(
    turn: Turn,
    values: Values,
    games: NDArray[np.int64],
    golden: bool = False,
    weasel: bool = False,
    *,
    scale: Scale,
    memory: int,
    carried: Values | None = None,
) -> Plan:
    """The solutions of games that are played with the same kinds of dice, and what is `carried` along, see `_carried`.

    Unless they are KEPT, they are valid until the next such call about the same problem.
    """
    problem = problem_of(turn.rules, golden, weasel)
    carried = _carried(values, None) if carried is None else carried
    payoffs = np.empty((len(games), problem.columns), np.float32)
    along = np.empty((len(carried.fail), *payoffs.shape), np.float32)
    where = turn._books, turn._table, turn.seat, turn._rows, games
    _write_payoffs(*where, values, *scale, payoffs, carried, along)
    if memory == KEPT:
        plan = graph(problem)
        rows = solve(plan, payoffs)
        return Plan(games, plan, Solutions.of_rows(rows, np.arange(len(games))), golden)
    solver = _solver(problem, memory)
    return Plan(games, solver.graph, solver.carry(payoffs, along), golden)


def solve_kinds(
    turn: Turn, values: Values, scale: Scale, memory: int, carry: Carry | None
) -> list[Plan]:
    """The solutions by kinds of dice of a turn that has begun; games with the golden die also have one without it."""
    held = turn._table["holds"][turn._rows, turn.seat]
    carried = _carried(values, carry)
    kinds = (
        (held != WEASEL, False, False),
        (held == GOLDEN_DIE, True, False),
        (held == WEASEL, False, True),
    )
    return [
        solve_all(turn, values, games, *kind, scale=scale, memory=memory, carried=carried)
        for some, *kind in kinds
        if len(games := np.flatnonzero(some))
    ]


def _prefers_golden(golden: Numbers, plain: Numbers) -> BoolArray:
    """(n,): whether to use the golden die, by the values of the turn with and without it."""
    return golden >= plain - np.float32(SINGLE_TOLERANCE)


def _carried(values: Values, carry: Carry | None) -> Values:
    """What is carried along, as values of claims (K, n, B, T) and fails (K, n, B): of the results that are best by `values`."""
    count, shape = 0 if carry is None else carry.numbers.shape[1], values.claim.shape
    found = Values(np.zeros((count, *shape)), np.zeros((count, *shape[:2])), values.keeps_new)
    if carry is not None:
        _sort_carried(carry.results, carry.numbers, found)
    return found


@kernel
def _sort_carried(results: TurnResults, numbers: FloatArray, found: Values) -> None:
    """Write the numbers of the results that `_sort_values` has found best."""
    claim, fail, keeps_new = found
    for k in range(len(numbers)):
        game, tile = results.game[k], results.tile[k]
        for block in range(as_int(results.earned[k]), fail.shape[2]):
            for q in range(len(fail)):
                if tile == FAIL:
                    fail[q, game, block] = numbers[k, q]
                elif results.keeps_new[k] == keeps_new[game, block, tile]:
                    claim[q, game, block, tile] = numbers[k, q]


# ------------------------------------------------------------------------------ question by question


def _plans(strategy: Valuation, turn: Turn) -> list[Plan]:
    """The solutions for a question about dice; they are kept for the questions that follow."""
    kept: list[tuple[NDArray[np.int32], Plan]] = turn._notes.get("plans", [])
    unknown = _unknown(turn, kept)
    if len(unknown):
        part = turn._in_rows(unknown)
        values = known_values(strategy, part)
        scale = scales_of(values)
        golden = part._hands["golden"][unknown] > 0
        weasel = part.holds[:, 0] == WEASEL
        for kind in ((False, False), (True, False), (False, True)):
            games = np.flatnonzero((golden == kind[0]) & (weasel == kind[1]))
            if len(games):
                plan = solve_all(part, values, games, *kind, scale=scale, memory=KEPT)
                kept = [*kept, (unknown[games], plan)]
        turn._notes["plans"] = kept
    plans = []
    for rows, plan in kept:
        place = np.minimum(np.searchsorted(rows, turn._rows), len(rows) - 1)
        games = np.flatnonzero(rows[place] == turn._rows)
        if len(games):
            plans.append(plan.only(place[games], games))
    return plans


def _decided(strategy: Valuation, turn: Turn, out: Array, decide: Callable[..., Any]) -> Array:
    """(n,): decisions by the solutions, written to `out`."""
    for plan in _plans(strategy, turn):
        dice = turn._hands[turn._rows[plan.games]]
        out[plan.games] = decide(plan.graph, plan.solutions, dice, SINGLE_TOLERANCE)
    return out


# ------------------------------------------------------------------------------------- whole turns


class TurnPlan(NamedTuple):
    """How a strategy plays its turn in n games."""

    values: Values
    golden: BoolArray
    """(n,): whether it uses the golden die, where it holds it."""
    plans: list[Plan]
    """Solutions by kinds of dice, for every game in one of them; valid until the next turn is planned."""
    scale: Scale
    """How the values in the solutions are shifted and scaled."""

    def worth(self) -> FloatArray:
        """(n,): what the turn is worth to the strategy before the first roll, on its own scale."""
        found = np.empty(len(self.golden))
        for plan in self.plans:
            found[plan.games] = plan.start_values()
        worth: FloatArray = found / self.scale.factor + self.scale.shift
        return worth


def plans_whole_turns(strategy: Strategy) -> bool:
    """Whether a strategy leaves all choices to its valuation, so that its turns can be played as a whole."""
    kind = type(strategy)
    return isinstance(strategy, Valuation) and all(
        getattr(kind, method) in (vars(Valuation).get(method), vars(Strategy)[method])
        for method in METHODS
    )


def plan_turn(strategy: Valuation, turn: Turn, carry: Carry | None = None) -> TurnPlan:
    """Plan a turn that has begun, in AT_ONCE games at most; no dice have been rolled."""
    if carry is None or carry.values is None:
        values = values_of(strategy, turn)
    else:
        values = sorted_values(turn, carry.results, carry.values)
    scale = scales_of(values)
    plans = solve_kinds(turn, values, scale, BOT, carry)
    start = np.full((2, len(turn)), -np.inf, np.float32)
    for plan in plans:
        start[int(plan.golden), plan.games] = plan.start_values()
    golden = _prefers_golden(start[1], start[0])
    chosen = [
        plan.only(some, plan.games[some])
        for plan in plans
        if (some := golden[plan.games] == plan.golden).any()
    ]
    return TurnPlan(values, golden, chosen, scale)


# -------------------------------------------------------------------------------------- explanations


def _start_value(strategy: Valuation, turn: Turn, golden: bool) -> float:
    """What the turn of a single game is worth before the first roll, with or without the golden die."""
    plan = graph(problem_of(turn.rules, golden, weasel=False))
    payoffs = payoffs_of(turn, known_values(strategy, turn), plan)
    return float(solve(plan, payoffs)[0, plan.start])


def _explain_specialists(strategy: Valuation, turn: Turn) -> list[tuple[str, float]]:
    """What a claim is worth with the new specialist kept, and with the old one."""
    assert turn._claimed is not None
    after = turn._asked_for("value").results()
    value = checked_values(strategy, after)
    chosen = (after._results.tile == turn._claimed[0]) & ~after.earned & (after.game == 0)
    (old,), (new,) = value[chosen & ~after.keeps_new], value[chosen & after.keeps_new]
    return [("keep the new specialist", float(new)), ("keep the old one", float(old))]


def _explain_dice(strategy: Valuation, turn: Turn) -> list[tuple[str, float]]:
    """The options with the dice in a single game, in double precision and on the strategy's own scale."""
    plan = _plans(strategy, turn)[0]
    solution = solve(plan.graph, payoffs_of(turn, known_values(strategy, turn), plan.graph))[0]
    dice: Any = turn._hands.view(np.recarray)[turn._rows[0]]
    weasel = int(dice.weasel) * (len(plan.graph.base) - 1)
    if turn.question == "stop":
        stop, roll_on = slots_at(plan.graph, dice, weasel)
        return [("stop", float(solution[stop])), ("roll on", float(solution[roll_on]))]
    options = []
    for face in range(1, FACES + 1):
        if turn.legal[0, face]:
            stop, roll_on = slots_after(plan.graph, dice, weasel, face)
            name = "worms" if face == WORM else f"{face}s"
            options.append((f"keep the {name}", float(max(solution[stop], solution[roll_on]))))
    if turn.question == "reroll":
        if not options:
            options.append(("fail", float(known_values(strategy, turn).fail[_now(turn)][0])))
        _, again = slots_at(plan.graph, dice, 0)
        options.append(("roll these dice again", float(solution[again])))
    return options
