"""A valuation: a strategy whose author only says what a position is worth.

The engine says which positions a turn can lead to, and the turn solver does the rest: which face to set
aside, when to stop, what to claim, whether to roll again, which specialist to keep. Five lines of NumPy
make a strong bot, by any rules.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pickosim.bots.strategy import Strategy
from pickosim.bots.table_view import BoolArray, FloatArray, IntArray
from pickosim.bots.view import After, Turn
from pickosim.engine.claim import claims
from pickosim.engine.dice import FACES
from pickosim.engine.kernels import as_int, kernel
from pickosim.engine.results import FAIL
from pickosim.engine.rulebook import WEASEL, Books, Rulebook
from pickosim.engine.table import Game, Table, stealable
from pickosim.engine.turn import CAN_POINTS
from pickosim.errors import AnswerError
from pickosim.rules import WORM, RuleSet
from pickosim.solver.cache import Cache
from pickosim.solver.graph import (
    BUST,
    DOUBLE_ONE,
    WORTH,
    Graph,
    Problem,
    Rolled,
    Standing,
    slots_after,
    slots_at,
)
from pickosim.solver.solve import best_face, should_reroll, should_stop

GAMES_AT_A_TIME = 1024
"""Games whose results are valued together."""

CACHE_MEGABYTES = 256
"""Limit of the cache per process and kind of turn (plain, with the golden die, with the weasel)."""


class Values(NamedTuple):
    """What the results of a turn are worth to a strategy, in n games."""

    claim: FloatArray
    """(n, T): claiming each tile, with the better of two specialists kept; -inf if it is out of reach."""
    fail: FloatArray
    """(n,): a fail."""
    bratworm: FloatArray
    """(n,): what a bratworm for 1s adds, measured at a fail."""


class Valuation(Strategy):
    """Base class of bots that only say what a position is worth; the author writes `value`."""

    @abstractmethod
    def value(self, after: After) -> FloatArray:
        """(m,): what each of m positions is worth after your turn.

        On any scale: only differences between results of the same turn count.
        """

    def pick(self, turn: Turn) -> NDArray[np.uint8]:
        faces = np.zeros(len(turn), np.uint8)
        for plan in _plans(self, turn):
            at = _rolled(turn, plan.games)
            faces[plan.games] = best_face(plan.graph, plan.solutions, plan.which, at)
        return faces

    def stop(self, turn: Turn) -> BoolArray:
        stops = np.zeros(len(turn), np.bool_)
        for plan in _plans(self, turn):
            at = _standing(turn, plan.games)
            stops[plan.games] = should_stop(plan.graph, plan.solutions, plan.which, at)
        return stops

    def reroll(self, turn: Turn) -> BoolArray:
        rerolls = np.zeros(len(turn), np.bool_)
        for plan in _plans(self, turn):
            at = _rolled(turn, plan.games)
            rerolls[plan.games] = should_reroll(plan.graph, plan.solutions, plan.which, at)
        return rerolls

    def use_golden_die(self, turn: Turn) -> BoolArray:
        values = values_of(self, turn)
        return _before_rolling(turn, values, golden=True) >= _before_rolling(
            turn, values, golden=False
        )

    def claim(self, turn: Turn) -> IntArray:
        # Of equally good tiles the highest: it breaks ties, and the lower ones stay to be claimed.
        upwards = self.claim_values(turn)[:, ::-1].argmax(axis=1)
        best: IntArray = turn.tiles[::-1][upwards]
        return best

    def keep_new_specialist(self, turn: Turn) -> BoolArray:
        old, new = self._specialist_values(turn)
        keep: BoolArray = new >= old
        return keep

    def claim_values(self, turn: Turn) -> FloatArray:
        """(n, T): what each legal claim is worth; -inf for the other tiles."""
        return np.where(turn.claims, values_of(self, turn).claim, -np.inf)

    def _specialist_values(self, turn: Turn) -> tuple[FloatArray, FloatArray]:
        """(n,) each: what the claim is worth with the old specialist kept, and with the new one."""
        assert turn._claimed is not None
        after = turn.results()
        value, claimed = checked_values(self, after), turn.tiles[turn._claimed]
        chosen = after.claimed == claimed[after.game]
        return value[chosen & ~after.keeps_new], value[chosen & after.keeps_new]

    def explain(self, turn: Turn) -> list[tuple[str, float]]:
        """The options in a single game, each with its value."""
        match turn.question:
            case "use_golden_die":
                words, values = (
                    {"with the golden die": True, "without it": False},
                    values_of(self, turn),
                )
                return [
                    (word, float(_before_rolling(turn, values, golden)[0]))
                    for word, golden in words.items()
                ]
            case "claim":
                values = self.claim_values(turn)[0]
                tiles = zip(turn.tiles.tolist(), values.tolist(), strict=True)
                return [(f"claim {tile}", value) for tile, value in tiles if np.isfinite(value)]
            case "keep_new_specialist":
                old, new = self._specialist_values(turn)
                return [("keep the new one", float(new[0])), ("the old", float(old[0]))]
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


def values_of(strategy: Valuation, turn: Turn) -> Values:
    """What the results of a turn are worth to a strategy.

    It is asked about a slice of the games at a time, so that the tables after their results stay in the
    processor's cache.
    """
    claim, fail = np.empty((len(turn), len(turn.tiles))), np.empty(len(turn))
    bratworm = np.zeros(len(turn))
    for first in range(0, len(turn), GAMES_AT_A_TIME):
        games = slice(first, first + GAMES_AT_A_TIME)
        part = turn._only(games)
        after = part.results()
        values = checked_values(strategy, after)
        _best_by_tile(after.game, after._results.tile, values, claim[games], fail[games])
        if turn.rules.bratworms:
            earned = checked_values(strategy, part.after_fail(bratworm=True))
            bratworm[games] = earned - fail[games]
    return Values(claim, fail, bratworm)


@kernel
def _best_by_tile(
    game: NDArray[np.int64],
    tile: NDArray[np.int8],
    value: FloatArray,
    claim: FloatArray,
    fail: FloatArray,
) -> None:
    """Write the value of the best result by game and tile to `claim`, and that of fails to `fail`."""
    claim[:] = -np.inf
    for k in range(len(game)):
        if tile[k] == FAIL:
            fail[game[k]] = value[k]
        else:
            claim[game[k], tile[k]] = max(claim[game[k], tile[k]], value[k])


# ------------------------------------------------------------------------------- solving the turns


class Plan(NamedTuple):
    """Games whose turns are played with the same kinds of dice, and their solutions."""

    games: NDArray[np.int64]
    """(m,): which of the n games."""
    graph: Graph
    solutions: NDArray[np.float64]
    """(E, S): all entries of the cache."""
    which: NDArray[np.int64]
    """(m,): the row of each game's solution."""


_caches: dict[Problem, Cache] = {}


def cache_statistics() -> list[dict[str, Any]]:
    """Sizes and hits of the caches of this process: one entry per kind of turn that was solved."""
    return [
        {
            "white": problem.white,
            "golden": bool(problem.golden),
            "weasel": problem.weasel,
            "ones": problem.ones,
            "solved": cache.solved,
            "hits": cache.hits,
            "megabytes": cache.bytes / 1e6,
        }
        for problem, cache in _caches.items()
    ]


def clear_caches() -> None:
    """Empty the caches of this process."""
    _caches.clear()


def _cache_for(problem: Problem) -> Cache:
    if problem not in _caches:
        _caches[problem] = Cache(problem, CACHE_MEGABYTES)
    return _caches[problem]


def problem_of(rules: RuleSet, golden: bool, weasel: bool) -> Problem:
    """The problem of the solver for a turn, with or without the golden die and the weasel."""
    uses: Literal["none", "any roll", "not on a bust"] = "none"
    if weasel:
        uses = "any roll" if rules.weasel_rescues_bust else "not on a bust"
    faces = rules.golden_die_faces if golden else ()
    return Problem(rules.dice, faces, uses, rules.bratworm_ones)


def _plans(strategy: Valuation, turn: Turn) -> list[Plan]:
    """The solutions for a question about dice.

    They are found once per turn, when the first face is picked, and kept by row of the table for the
    questions that follow. (A reroll may be asked before that; its solutions are found separately.)
    """
    fresh = turn.question == "pick" and not turn._hands["aside"][turn._rows[0]]
    if fresh or "kind" not in turn._notes:
        plans = _solve(strategy, turn)
        if fresh:
            _keep(turn, plans)
        return plans
    kinds = turn._notes["kind"][turn._rows]
    plans = []
    for kind, (graph, solutions) in enumerate(turn._notes["caches"]):
        games = np.flatnonzero(kinds == kind)
        if len(games):
            which = turn._notes["which"][turn._rows[games]]
            plans.append(Plan(games, graph, solutions, which))
    return plans


def _keep(turn: Turn, plans: list[Plan]) -> None:
    """Keep the plans of a turn for its later questions."""
    kind = np.zeros(len(turn._table), np.int8)
    which = np.zeros(len(turn._table), np.int64)
    for number, plan in enumerate(plans):
        rows = turn._rows[plan.games]
        kind[rows], which[rows] = number, plan.which
    caches = [(plan.graph, plan.solutions) for plan in plans]
    turn._notes.update(kind=kind, which=which, caches=caches)


def _solve(strategy: Valuation, turn: Turn) -> list[Plan]:
    """The solutions of all games, one plan per kind of turn."""
    values = values_of(strategy, turn)
    golden = turn._hands["golden"][turn._rows] > 0
    weasel = turn.holds[:, 0] == WEASEL
    plans = []
    for with_golden, with_weasel in ((False, False), (True, False), (False, True)):
        games = np.flatnonzero((golden == with_golden) & (weasel == with_weasel))
        if len(games):
            cache = _cache_for(problem_of(turn.rules, with_golden, with_weasel))
            solutions, which = cache.find(payoffs(turn, values, games, cache.graph.points))
            plans.append(Plan(games, cache.graph, solutions, which))
    return plans


def _before_rolling(turn: Turn, values: Values, golden: bool) -> FloatArray:
    """(n,): what the turn is worth before the first roll, with or without the golden die."""
    cache = _cache_for(problem_of(turn.rules, golden, weasel=False))
    every = np.arange(len(turn))
    solutions, which = cache.find(payoffs(turn, values, every, cache.graph.points))
    found: FloatArray = solutions[which, cache.graph.start]
    return found


def payoffs(
    turn: Turn, values: Values, games: NDArray[np.int64], points: int
) -> NDArray[np.float64]:
    """(m, WORTH + 2 points): the pay-offs of some games for the solver."""
    rows = turn._rows[games]
    return _payoffs(
        turn._books,
        turn._table,
        turn.seat,
        rows,
        turn._hands["can"][rows] > 0,
        points,
        *(np.ascontiguousarray(value[games]) for value in values),
    )


@kernel
def _payoffs(
    books: Books,
    table: Table,
    seat: int,
    rows: NDArray[np.int32],
    canned: NDArray[np.bool_],
    points: int,
    claim: FloatArray,
    fail: FloatArray,
    bratworm: FloatArray,
) -> NDArray[np.float64]:
    book: Rulebook = books[0]
    out = np.empty((len(rows), WORTH + 2 * points))
    best = np.empty(points + CAN_POINTS)
    for k in range(len(rows)):
        game: Game = table[rows[k]]
        loot = stealable(book, game, seat)
        for total in range(points + CAN_POINTS):
            tiles = claims(book, as_int(game.grill), loot, total)
            best[total] = -np.inf if tiles else fail[k]
            tile = 0
            while tiles:
                if tiles & 1:
                    best[total] = max(best[total], claim[k, tile])
                tiles >>= 1
                tile += 1
        out[k, BUST] = fail[k]
        out[k, DOUBLE_ONE] = bratworm[k]
        for p in range(points):
            out[k, WORTH + p] = best[p + CAN_POINTS] if canned[k] else fail[k]
            out[k, WORTH + points + p] = best[p]
    return out


def _rolled(turn: Turn, games: NDArray[np.int64]) -> Rolled:
    rows = turn._rows[games]
    return Rolled(*(turn._hands[name][rows] for name in Rolled._fields))


def _standing(turn: Turn, games: NDArray[np.int64]) -> Standing:
    rows = turn._rows[games]
    return Standing(*(turn._hands[name][rows] for name in Standing._fields))


def _explain_dice(strategy: Valuation, turn: Turn) -> list[tuple[str, float]]:
    plan = _plans(strategy, turn)[0]
    solution = plan.solutions[plan.which[0]]
    weasel = int(turn._hands["weasel"][turn._rows[0]]) * (len(plan.graph.base) - 1)
    if turn.question == "stop":
        stop, roll_on = slots_at(plan.graph, _standing(turn, plan.games), 0, weasel)
        return [("stop", float(solution[stop])), ("roll on", float(solution[roll_on]))]
    at = _rolled(turn, plan.games)
    options = []
    for face in range(1, FACES + 1):
        if turn.legal[0, face]:
            stop, roll_on, bonus = slots_after(plan.graph, at, 0, weasel, face)
            value = max(solution[stop], solution[roll_on]) + (
                solution[DOUBLE_ONE] if bonus else 0.0
            )
            name = "worms" if face == WORM else f"{face}s"
            options.append((name, float(value)))
    return options
