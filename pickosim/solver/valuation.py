"""A valuation: a strategy whose author only says what each result of a turn is worth.

The turn solver does the rest: which face to set aside, when to stop, what to claim, whether to roll
again, which specialist to keep. Ten lines of NumPy make a strong bot.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pickosim.bots.strategy import Strategy
from pickosim.bots.view import BoolArray, FloatArray, IntArray, Turn
from pickosim.engine.claim import claims, victim_of
from pickosim.engine.dice import FACES
from pickosim.engine.kernels import as_int, kernel
from pickosim.engine.rulebook import RAVEN, SITTING_HEN, WEASEL, Books, Rulebook
from pickosim.engine.table import Game, Table, on_grill, stealable
from pickosim.engine.turn import CAN_POINTS
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

CACHE_MEGABYTES = 256
"""Limit of the cache per process and kind of turn (plain, with the golden die, with the weasel)."""


class Worth(NamedTuple):
    """What the results of a turn are worth in n games; on any scale, since only differences count.

    A tile is valued on its own: the specialists and bratworms that come or go with it are added from the
    last two fields.
    """

    take: FloatArray
    """(n, T): taking each tile from the grill (entries of tiles elsewhere are never read)."""
    steal: FloatArray
    """(n, P): stealing the top tile of each player; players are counted from you."""
    fail: FloatArray
    """(n,): a fail, with the loss of the tile that is at risk."""
    bratworm: FloatArray
    """(n,): a bratworm."""
    specialist: FloatArray
    """(n, 6): holding each specialist, numbered as in `pickosim.SPECIALISTS`."""


class Valuation(Strategy):
    """Base class of bots that only say what results are worth; the author writes `worth`."""

    @abstractmethod
    def worth(self, turn: Turn) -> Worth:
        """What each result of this turn is worth. Called before anything is set aside, and for a claim."""

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
        without, with_it = (_values(self, turn, golden=golden) for golden in (False, True))
        return with_it >= without

    def claim(self, turn: Turn) -> IntArray:
        # Of equally good tiles the highest: it breaks ties, and the lower ones stay to be claimed.
        upwards = self.claim_values(turn)[:, ::-1].argmax(axis=1)
        best: IntArray = turn.tiles[::-1][upwards]
        return best

    def keep_new_specialist(self, turn: Turn) -> BoolArray:
        worth = self.worth(turn).specialist
        games = np.arange(len(turn))
        keep: BoolArray = worth[games, turn.new_specialist] >= worth[games, turn.holds[:, 0]]
        return keep

    def claim_values(self, turn: Turn) -> FloatArray:
        """(n, T): the `full_worth` of each legal claim; -inf for the other tiles."""
        worth = full_worth(turn, self.worth(turn))
        values = np.where(turn.claims & turn.grill, worth.take, -np.inf)
        for player in range(1, turn.players):
            loot = turn.claims & ~turn.grill & (turn.tiles == turn.tops[:, player, None])
            values = np.where(loot, worth.steal[:, player, None], values)
        return values

    def explain(self, turn: Turn) -> list[tuple[str, float]]:
        """The options in a single game, each with its value."""
        match turn.question:
            case "use_golden_die":
                words = {"with the golden die": True, "without it": False}
                return [(word, float(_values(self, turn, g)[0])) for word, g in words.items()]
            case "claim":
                values = self.claim_values(turn)[0]
                tiles = zip(turn.tiles.tolist(), values.tolist(), strict=True)
                return [(f"claim {tile}", value) for tile, value in tiles if np.isfinite(value)]
            case "keep_new_specialist":
                worth = self.worth(turn).specialist[0]
                new, old = int(turn.new_specialist[0]), int(turn.holds[0, 0])
                return [("keep the new one", float(worth[new])), ("the old", float(worth[old]))]
            case "pick" | "reroll" | "stop":
                return _explain_dice(self, turn)
        return []


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
    worth = full_worth(turn, strategy.worth(turn))
    golden = turn._hands["golden"][turn._rows] > 0
    weasel = turn.holds[:, 0] == WEASEL
    plans = []
    for with_golden, with_weasel in ((False, False), (True, False), (False, True)):
        games = np.flatnonzero((golden == with_golden) & (weasel == with_weasel))
        if len(games):
            cache = _cache_for(problem_of(turn.rules, with_golden, with_weasel))
            solutions, which = cache.find(payoffs(turn, worth, games, cache.graph.points))
            plans.append(Plan(games, cache.graph, solutions, which))
    return plans


def _values(strategy: Valuation, turn: Turn, golden: bool) -> FloatArray:
    """(n,): what the turn is worth before the first roll, with or without the golden die."""
    worth = full_worth(turn, strategy.worth(turn))
    cache = _cache_for(problem_of(turn.rules, golden, weasel=False))
    every = np.arange(len(turn))
    solutions, which = cache.find(payoffs(turn, worth, every, cache.graph.points))
    values: FloatArray = solutions[which, cache.graph.start]
    return values


def full_worth(turn: Turn, worth: Worth) -> Worth:
    """The worth of each result, with the specialists and bratworms that come and go with it."""
    own = _worth_of(worth.specialist, turn.holds[:, :1])
    available = (turn.supply > 0) | turn.robbable.any(axis=1)
    bratworm = np.where(available, worth.bratworm, 0.0)

    def gain(specialist: IntArray) -> FloatArray:
        new = _worth_of(worth.specialist, specialist) - own
        if turn.rules.second_specialist == "choose":
            new = np.maximum(new, 0.0)
        elif turn.rules.second_specialist == "keep-old":
            new = np.where(turn.holds[:, :1] >= 0, 0.0, new)
        changes: FloatArray = np.where(specialist >= 0, new, 0.0)
        return changes

    on_tile = turn.specialist_on
    take = worth.take + np.where(on_tile == RAVEN, bratworm[:, None], gain(on_tile))
    guarded = turn.holds == SITTING_HEN
    steal = np.where(guarded, 0.0, worth.steal) + gain(turn.holds)
    hen = guarded[:, 0]
    keeps_hen = hen & (turn.stack_sizes[:, 0] == 0)
    fail = worth.fail - np.where(keeps_hen, 0.0, own[:, 0])
    return Worth(take, steal, fail, bratworm, worth.specialist)


def _worth_of(worth: FloatArray, specialist: IntArray) -> FloatArray:
    """(n, k): the worth of specialists (n, k); 0 for none."""
    found: FloatArray = np.take_along_axis(worth, np.maximum(specialist, 0).astype(np.int64), 1)
    return np.where(specialist >= 0, found, 0.0)


def payoffs(turn: Turn, worth: Worth, games: NDArray[np.int64], points: int) -> NDArray[np.float64]:
    """(m, WORTH + 2 points): the pay-offs of some games for the solver."""
    rows = turn._rows[games]
    return _payoffs(
        turn._books,
        turn._table,
        turn.seat,
        rows,
        turn._hands["can"][rows] > 0,
        points,
        np.ascontiguousarray(worth.take[games]),
        np.ascontiguousarray(worth.steal[games]),
        worth.fail[games],
        worth.bratworm[games],
    )


@kernel
def _payoffs(
    books: Books,
    table: Table,
    seat: int,
    rows: NDArray[np.int32],
    canned: NDArray[np.bool_],
    points: int,
    take: FloatArray,
    steal: FloatArray,
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
                    if on_grill(game, tile):
                        value = take[k, tile]
                    else:
                        victim = victim_of(book, game, seat, tile)
                        value = steal[k, (victim - seat) % book.players]
                    best[total] = max(best[total], value)
                tiles >>= 1
                tile += 1
        out[k, BUST] = fail[k]
        out[k, DOUBLE_ONE] = bratworm[k]
        for p in range(points):
            out[k, WORTH + p] = best[p + CAN_POINTS] if canned[k] else fail[k]
            out[k, WORTH + points + p] = best[p]
    return out


def _rolled(turn: Turn, games: NDArray[np.int64]) -> Rolled:
    hands = turn._hands[turn._rows[games]]
    return Rolled(*(hands[name] for name in Rolled._fields))


def _standing(turn: Turn, games: NDArray[np.int64]) -> Standing:
    hands = turn._hands[turn._rows[games]]
    return Standing(*(hands[name] for name in Standing._fields))


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
