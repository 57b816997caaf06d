"""The turn solver: the best way to play a turn, exactly, for many pay-offs at once.

A *pay-off* says what each end of a turn is worth; it is a row of numbers (`payoff_rows`). Its
*solution* is a longer row: the pay-off, followed by the value of rolling on in every situation if the
rest of the turn is played best. It is found by backward induction over the graph of the turn
(`pickosim.solver.graph`). What to do in a situation is decided when it comes up, by comparing the
values of the options in that row.

Every number of a solution is computed in the same order of operations, whatever else is solved at
the same time, so that solutions are identical to the last bit in any batch. Choices whose values differ
by no more than `TOLERANCE` are tied. Ties are broken so: stop rather than roll on, keep a roll
rather than roll it again, set aside the higher face.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pickosim.engine.dice import FACES
from pickosim.engine.kernels import kernel, shared
from pickosim.solver.graph import (
    BUST,
    DOUBLE_ONE,
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

TOLERANCE = 1e-12
"""Differences up to this are treated as rounding errors; pay-offs should be of the order of 1."""

LANES = 64
"""Pay-offs solved side by side, for long loops of vector code; more would gain little."""

_HIGHEST = np.array([faces.bit_length() for faces in range(1 << FACES)], np.uint8)
"""The highest face of each set."""


def payoff_rows(
    worth_plain: NDArray[np.float64],
    worth_worm: NDArray[np.float64],
    bust: NDArray[np.float64],
    double_one: NDArray[np.float64],
) -> NDArray[np.float64]:
    """(B, WORTH + 2P): pay-offs as rows. All numbers must be finite.

    `worth_plain` and `worth_worm` (B, P) say what a stop is worth by points, without and with a
    worm set aside; `bust` (B,) what a roll without a new face is worth; `double_one` (B,) is
    added for enough 1s set aside (`Problem.ones`), however the turn ends.
    """
    return np.column_stack([bust, double_one, worth_plain, worth_worm])


def checked(graph: Graph, payoffs: NDArray[np.float64]) -> NDArray[np.float64]:
    """The pay-offs, contiguous as kernels need them; refuse those of another problem."""
    columns = WORTH + 2 * graph.points
    if payoffs.ndim != 2 or payoffs.shape[1] != columns:
        raise ValueError(f"pay-offs of this problem are rows of {columns}, not {payoffs.shape}")
    return np.ascontiguousarray(payoffs, np.float64)


def solve(graph: Graph, payoffs: NDArray[np.float64]) -> NDArray[np.float64]:
    """(B, S): the solutions of (B, WORTH + 2P) pay-offs; column graph.start is the turn's value."""
    solutions = np.empty((len(payoffs), graph.slots))
    every = np.arange(len(payoffs))
    solve_rows(graph, checked(graph, payoffs), every, every, solutions)
    return solutions


class _Scratch(NamedTuple):
    """Buffers for LANES pay-offs: the numbers of all pay-offs in one slot are adjacent."""

    value: NDArray[np.float64]
    """By slot: the value of the better of stopping and rolling on."""
    best: NDArray[np.float64]
    """By level of the tree, then by the pool's slots: the value of the best choice."""
    sums: NDArray[np.float64]
    """By the pool's slots: sum over rolls of ways times best choice."""
    gain: NDArray[np.float64]
    """First zeros, then the bonus for 1s."""


@kernel
def solve_rows(
    graph: Graph,
    payoffs: NDArray[np.float64],
    rows: NDArray[np.int64],
    targets: NDArray[np.int64],
    solutions: NDArray[np.float64],
) -> None:
    """Write the solution of payoffs[rows[i]] to solutions[targets[i]], for all i."""
    width = LANES * graph.size.max()
    scratch = _Scratch(
        np.empty(LANES * graph.slots),
        np.empty((FACES + 1) * width),
        np.empty(width),
        np.zeros(2 * width),
    )
    for first in range(0, len(rows), LANES):
        lanes = min(LANES, len(rows) - first)
        targets_now = targets[first : first + lanes]
        _load(payoffs, rows[first : first + lanes], targets_now, solutions, scratch)
        for pool in range(len(graph.size)):
            scratch.best[: graph.size[pool] * lanes] = -np.inf
            for layer in range(len(graph.slot)):
                _start_sums(graph, pool, layer, lanes, scratch)
                _add_rolls(graph, pool, layer, lanes, scratch)
                _finish(graph, pool, layer, targets_now, solutions, scratch)


@kernel
def _load(
    payoffs: NDArray[np.float64],
    rows: NDArray[np.int64],
    targets: NDArray[np.int64],
    solutions: NDArray[np.float64],
    scratch: _Scratch,
) -> None:
    """Copy pay-offs to the start of their solutions and, side by side, to the buffers."""
    lanes, width = len(rows), len(scratch.sums)
    for lane in range(lanes):
        for column in range(payoffs.shape[1]):
            number = payoffs[rows[lane], column]
            solutions[targets[lane], column] = number
            scratch.value[column * lanes + lane] = number
    for x in range(width):
        scratch.gain[width + x] = scratch.value[DOUBLE_ONE * lanes + x % lanes]


@kernel
def _start_sums(graph: Graph, pool: int, layer: int, lanes: int, scratch: _Scratch) -> None:
    """Start the sums of a pool with its busts, which the weasel may allow to roll again.

    In the layer with the weasel, `best` holds the value of rolling on without it.
    """
    value, best, sums, _ = scratch
    ways, rescue = graph.bust[pool], layer == 1 and graph.rescue
    for slot in range(graph.size[pool]):
        for lane in range(lanes):
            x = slot * lanes + lane
            bust = value[BUST * lanes + lane]
            sums[x] = ways * (max(bust, best[x]) if rescue else bust)


@kernel
def _add_rolls(graph: Graph, pool: int, layer: int, lanes: int, scratch: _Scratch) -> None:
    """Walk the tree of a pool's rolls; add each roll's best choice times its ways to the sums."""
    value, best, sums, gains = scratch
    levels, inner, bonus, weights = graph.level, graph.inner, graph.bonus, graph.weight
    targets = graph.target[layer]
    width = len(sums)
    # Unsigned indices cannot be negative, which lets the loops below become vector code.
    count = np.uint64(graph.size[pool] * lanes)
    for step in range(graph.first[pool], graph.first[pool + 1]):
        above = np.uint64(levels[step] * width)
        first, first_weight = np.uint64(targets[step, 0] * lanes), weights[step, 0]
        if inner[step]:
            below, gain = np.uint64(above + width), np.uint64(bonus[step] * width)
            for x in range(count):
                choice, other = value[first + x] + gains[gain + x], best[above + x]
                choice = choice if choice > other else other
                best[below + x] = choice
                sums[x] += first_weight * choice
        else:
            second, second_weight = np.uint64(targets[step, 1] * lanes), weights[step, 1]
            for x in range(count):
                other, choice, choice_2 = best[above + x], value[first + x], value[second + x]
                choice = choice if choice > other else other
                choice_2 = choice_2 if choice_2 > other else other
                sums[x] += first_weight * choice + second_weight * choice_2


@kernel
def _finish(
    graph: Graph,
    pool: int,
    layer: int,
    targets: NDArray[np.int64],
    solutions: NDArray[np.float64],
    scratch: _Scratch,
) -> None:
    """From the sums, write the values of rolling on (also to `best`) and of the better of both options."""
    lanes = len(targets)
    slot, stop = graph.slot[layer, pool], graph.stop[pool]
    for x in range(graph.size[pool] * lanes):
        roll_on = scratch.sums[x] / graph.ways[pool]
        scratch.best[x] = roll_on
        scratch.value[slot * lanes + x] = max(scratch.value[stop * lanes + x], roll_on)
    for lane in range(lanes):
        for point in range(graph.size[pool]):
            solutions[targets[lane], slot + point] = scratch.best[point * lanes + lane]


@shared
def _best(
    graph: Graph, solutions: NDArray[np.float64], row: Int, at: Rolled, i: int, weasel: Int
) -> tuple[Int, float]:
    """The best face of a roll and its value; 0 and -inf if none is new."""
    best_face, best = np.int64(0), -np.inf
    new = graph.shown[at.roll[i]] & ~np.int64(at.aside[i])
    while new:
        face = np.int64(_HIGHEST[new])
        new ^= 1 << (face - 1)
        stop, roll_on, bonus = slots_after(graph, at, i, weasel, face)
        value = max(solutions[row, stop], solutions[row, roll_on])
        if bonus:
            value += solutions[row, DOUBLE_ONE]
        if value > best + TOLERANCE:
            best_face, best = face, value
    return best_face, best


@kernel
def best_face(
    graph: Graph, solutions: NDArray[np.float64], which: NDArray[np.int64], at: Rolled
) -> NDArray[np.uint8]:
    """(n,): the face to set aside of each roll by solution which[i]; 0 if none is new."""
    faces = np.empty(len(which), np.uint8)
    for i in range(len(which)):
        weasel = at.weasel[i] * (len(graph.base) - 1)
        faces[i], _ = _best(graph, solutions, which[i], at, i, weasel)
    return faces


@kernel
def should_stop(
    graph: Graph, solutions: NDArray[np.float64], which: NDArray[np.int64], at: Standing
) -> NDArray[np.bool_]:
    """(n,): whether to stop by solution which[i] rather than to roll on."""
    stops = np.empty(len(which), np.bool_)
    for i in range(len(which)):
        stop, roll_on = slots_at(graph, at, i, at.weasel[i] * (len(graph.base) - 1))
        stops[i] = solutions[which[i], roll_on] <= solutions[which[i], stop] + TOLERANCE
    return stops


@kernel
def should_reroll(
    graph: Graph, solutions: NDArray[np.float64], which: NDArray[np.int64], at: Rolled
) -> NDArray[np.bool_]:
    """(n,): whether to use the weasel on each roll by solution which[i]; never without one."""
    rerolls = np.zeros(len(which), np.bool_)
    for i in range(len(which)):
        if at.weasel[i] == 0 or len(graph.base) == 1:
            continue
        face, keep = _best(graph, solutions, which[i], at, i, 1)
        if face == 0:
            keep = solutions[which[i], BUST]
        if face > 0 or graph.rescue:
            golden = np.int64(at.golden_face[i] != 0)
            again = graph.base[0, at.aside[i], at.white[i], golden] + np.int64(at.points[i])
            rerolls[i] = solutions[which[i], again] > keep + TOLERANCE
    return rerolls


@dataclass(frozen=True)
class Optimal:
    """The policy of one solution, for `pickosim.solver.law`."""

    graph: Graph
    solution: NDArray[np.float64]
    """(S,): the solution."""

    def stop(self, at: Standing) -> NDArray[np.bool_]:
        """(n,): whether to stop."""
        return should_stop(self.graph, self.solution[None], _zeros_like(at), at)

    def face(self, at: Rolled) -> NDArray[np.uint8]:
        """(n,): the best face."""
        return best_face(self.graph, self.solution[None], _zeros_like(at), at)

    def reroll(self, at: Rolled) -> NDArray[np.bool_]:
        """(n,): whether to use the weasel."""
        return should_reroll(self.graph, self.solution[None], _zeros_like(at), at)


def _zeros_like(at: Standing | Rolled) -> NDArray[np.int64]:
    return np.zeros(len(at.aside), np.int64)


class Chances(NamedTuple):
    """The best chances of a turn to stop with some points and a worm."""

    at_least: NDArray[np.float64]
    """(P,): by points, with at least this many."""
    exactly: NDArray[np.float64]
    """(P,): by points, with exactly this many."""


def chances(problem: Problem) -> Chances:
    """The best chance of each total if nothing else matters."""
    plan = graph(problem)
    hit = np.vstack([np.triu(np.ones((plan.points,) * 2)), np.eye(plan.points)])
    nothing = np.zeros(len(hit))
    solutions = solve(plan, payoff_rows(np.zeros_like(hit), hit, nothing, nothing))
    return Chances(*solutions[:, plan.start].reshape(2, plan.points))
