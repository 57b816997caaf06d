"""The turn solver: the best way to play a turn, exactly, for many pay-offs at once.

A *pay-off* says what each end of a turn is worth; it is a row of numbers (`payoff_rows`). Its
*solution* is a longer row: the pay-off, followed by the value of rolling on in every situation if the
rest of the turn is played best. It is found by backward induction over the graph of the turn
(`pickosim.solver.graph`). What to do in a situation is decided when it comes up, by comparing the
values of the options in that row.

Pay-offs are solved as they are given, in double or in single precision. Every number of a solution is
computed in the same order of operations, whatever else is solved at the same time, and every operation is
rounded on its own (`pickosim.solver.solve`), so that solutions are identical to the last bit in any batch
and on any machine. Choices whose values differ by no more than a tolerance are tied. Ties are broken so:
stop rather than roll on, keep a roll rather than roll it again, set aside the higher face.

Other pay-offs can be *carried* along the best play (`Solver.carry`): what it is worth to the other players, or what it means
for anything else. There, exact ties are broken in the order of the graph, so that a number is the mean of what follows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.extending import models, register_jitable, register_model
from numpy.typing import NDArray

from pickosim.engine.dice import FACES
from pickosim.engine.kernels import kernel, operation, shared
from pickosim.solver.graph import Dice, Graph, Int, Problem, bust_of, graph, slots_after, slots_at

LANES = 64
"""Numbers per vector: several registers full, so that loops cost little and the next sum need not wait for the last."""

CACHE_LINE = 64
"""Bytes. Loading a register takes longer if its numbers lie in two lines."""


@register_jitable
def aligned(size: int, like: NDArray[Any]) -> NDArray[Any]:
    """(size,): an array of the type of another, not filled, that begins at a cache line."""
    space = np.empty(size + CACHE_LINE // like.itemsize, like.dtype)
    over = np.int64(space.ctypes.data) % CACHE_LINE
    begin = (CACHE_LINE - over) // like.itemsize
    return space[begin : begin + size]


class _Vector(types.Type):
    """LANES numbers of an array's type."""

    def __init__(self, element: Any) -> None:
        self.element = element
        super().__init__(f"Vector({element}, {LANES})")


@register_model(_Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, vector: _Vector) -> None:
        super().__init__(manager, vector, _llvm_type(vector))  # type: ignore[no-untyped-call]


def _llvm_type(vector: _Vector) -> Any:
    element = ir.FloatType() if vector.element == types.float32 else ir.DoubleType()
    return ir.VectorType(element, LANES)


def _address(context: Any, builder: Any, kind: Any, values: Any, vector: Any) -> Any:
    """The address of LANES numbers of an array from a place on."""
    data = context.make_array(kind)(context, builder, values[0]).data
    return builder.bitcast(builder.gep(data, [values[1]]), _llvm_type(vector).as_pointer())


@operation
def load(_: Any, array: Any, place: Any) -> Any:
    """The LANES numbers of a flat array from a place on."""
    vector = _Vector(array.dtype)

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        address = _address(context, builder, signature.args[0], values, vector)
        loaded = builder.load(address)
        loaded.align = vector.element.bitwidth // 8
        return loaded

    return vector(array, place), emit


@operation
def store(_: Any, array: Any, place: Any, vector: Any) -> Any:
    """Write a vector to a flat array from a place on."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        address = _address(context, builder, signature.args[0], values, vector)
        stored = builder.store(values[2], address)
        stored.align = vector.element.bitwidth // 8
        return context.get_dummy_value()

    return types.void(array, place, vector), emit


@operation
def where_larger(_: Any, one: Any, other: Any, its: Any, others: Any) -> Any:
    """In every lane, the third number where the first is larger than the second, else the fourth."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", *values[:2]), *values[2:])

    return its(one, other, its, others), emit


@operation
def plus(_: Any, one: Any, other: Any) -> Any:
    """The sum of two numbers, in every lane."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.fadd(*values)

    return one(one, other), emit


@operation
def times(_: Any, vector: Any, number: Any) -> Any:
    """Every lane times the same number, which must be of the vector's type."""
    assert number == vector.element

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind = _llvm_type(vector)
        undefined = ir.Constant(kind, ir.Undefined)
        first = builder.insert_element(undefined, values[1], ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), None)
        return builder.fmul(values[0], builder.shuffle_vector(first, undefined, zeros))

    return vector(vector, number), emit


@operation
def prefetch(_: Any, array: Any, place: Any) -> Any:
    """Have a number of a flat array fetched from memory, without waiting for it."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, values[0]).data
        number, byte = ir.IntType(32), ir.IntType(8).as_pointer()
        address = builder.bitcast(builder.gep(data, [values[1]]), byte)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", (byte,), kind)
        # To read, into all caches, data.
        builder.call(fetch, [address, *(ir.Constant(number, n) for n in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(array, place), emit


TOLERANCE = 1e-12
"""Differences up to this are rounding errors of double precision; pay-offs should be of the order of 1."""

SINGLE_TOLERANCE = 1e-5
"""The same for single precision."""

AT_ONCE = 1024
"""Pay-offs that a `Solver` solves at once, at most; a multiple of LANES."""

Numbers = NDArray[np.floating[Any]]
"""float32 or float64."""

Payoffs = TypeVar("Payoffs", NDArray[np.float32], NDArray[np.float64])
"""Pay-offs or solutions; each solution has the precision of its pay-off."""

HIGHEST_FACE = np.array([faces.bit_length() for faces in range(1 << FACES)], np.uint8)
"""The highest face of each set."""


def payoff_rows(
    bust: NDArray[np.float64], worth_plain: NDArray[np.float64], worth_worm: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(B, WORTH + 2P): pay-offs without a bonus for 1s as rows. All numbers must be finite.

    `bust` (B,) is what a roll without a new face is worth; `worth_plain` and `worth_worm` (B, P) what a
    stop is worth by points, without and with a worm set aside. Where 1s earn a bonus, a pay-off is two such
    rows, one after the other: without and with it.
    """
    return np.column_stack([bust, worth_plain, worth_worm]).astype(np.float64, copy=False)


def checked(graph: Graph, payoffs: Payoffs) -> Payoffs:
    """The pay-offs, contiguous as kernels need them; refuse those of another problem."""
    if payoffs.ndim != 2 or payoffs.shape[1] != graph.columns:
        raise ValueError(
            f"pay-offs of this problem are rows of {graph.columns}, not {payoffs.shape}"
        )
    return np.ascontiguousarray(payoffs)


class Solutions(NamedTuple):
    """Where the solutions of n pay-offs are: slot s of the i-th is numbers[first[i] + s * step]."""

    numbers: Numbers
    """Numbers of these and possibly others, flat."""
    first: NDArray[np.int64]
    """(n,)"""
    step: int
    """1 if they are rows, LANES if they are as they were solved, side by side."""
    every: Numbers
    """(1 + K, …): first `numbers`, then at the same places what the play is worth by K other pay-offs, see `Solver.carry`."""

    @classmethod
    def of_rows(cls, rows: Numbers, which: NDArray[np.int64]) -> Solutions:
        """Solutions that are rows of (N, S) or (S,): rows[which]."""
        numbers = rows.reshape(1, -1)
        return cls(numbers[0], which * rows.shape[-1], 1, numbers)

    def only(self, which: NDArray[Any]) -> Solutions:
        """Some of them."""
        return self._replace(first=self.first[which])

    def at(self, slot: int) -> Numbers:
        """(n,): their numbers in a slot."""
        found: Numbers = self.numbers[self.first + slot * self.step]
        return found

    def every_at(self, slot: int) -> Numbers:
        """(n, 1 + K): their numbers in a slot, and what is carried along."""
        found: Numbers = self.every[:, self.first + slot * self.step].T
        return found


def solve(graph: Graph, payoffs: Payoffs) -> Payoffs:
    """(B, S): the solutions of (B, C) pay-offs in their precision; column graph.start is the turn's value."""
    payoffs = checked(graph, payoffs)
    solutions = np.empty((len(payoffs), graph.slots), payoffs.dtype)
    _solve_rows(graph, weights_of(graph, payoffs.dtype), payoffs, solutions)
    return solutions


class Solver:
    """Solves pay-offs of one problem in single precision, AT_ONCE at most, in memory of its own.

    New memory for every call would cost as much time as solving: the system has to provide it page by page.
    """

    def __init__(self, problem: Problem) -> None:
        self.graph = graph(problem)
        self._weights = weights_of(self.graph, np.float32)
        self._numbers = self._room(1)

    def _room(self, rows: int) -> NDArray[np.float32]:
        size = AT_ONCE * self.graph.slots
        return aligned(rows * size, np.empty(0, np.float32)).reshape(rows, size)

    def carry(self, payoffs: NDArray[np.float32], carried: NDArray[np.float32]) -> Solutions:
        """The solutions of (n, C) pay-offs, and what the same play is worth by other pay-offs, carried (K, n, C).

        For each of these, there are numbers of every situation too: the mean over what can be rolled and is then chosen by
        the first ones. Where options are worth exactly the same, the first in the order of the graph is chosen: rolling
        again with the weasel, then the new face of the golden die, then faces in ascending order; stopping before rolling
        on. All are valid until the next call.
        """
        payoffs = checked(self.graph, payoffs)
        if len(payoffs) > AT_ONCE:
            raise ValueError(f"{len(payoffs):,} pay-offs at once; at most {AT_ONCE:,} are solved")
        if len(self._numbers) < 1 + len(carried):
            self._numbers = self._room(1 + len(carried))
        first = _solve_side_by_side(self.graph, self._weights, payoffs, carried, self._numbers)
        return Solutions(self._numbers[0], first, LANES, self._numbers[: 1 + len(carried)])


class Weights(NamedTuple):
    """The chances of a graph in the precision of the pay-offs."""

    bust: Numbers
    """(K,)"""
    node: Numbers
    """(M,)"""
    leaf: Numbers
    """(leaves,)"""


def weights_of(graph: Graph, kind: Any) -> Weights:
    """The chances of a graph in a precision."""
    chances = (graph.bust_chance, graph.chance, graph.leaf_chance)
    return Weights(*(array.astype(kind) for array in chances))


class _Lanes(NamedTuple):
    """Numbers of LANES turns side by side: those of all of them in one slot are adjacent."""

    roll_on: Numbers
    """(S * LANES,): the solutions."""
    value: Numbers
    """(S * LANES,): begins with the pay-offs too; then follows the better of stopping and rolling on."""
    best: Numbers
    """By depth in the tree of a pool: the value of the best choice of a node's dice."""


@shared
def _lanes(graph: Graph, roll_on: Numbers) -> _Lanes:
    value = aligned(graph.slots * LANES, roll_on)
    return _Lanes(roll_on, value, aligned((FACES + 2) * LANES, value))


@kernel
def _solve_rows(graph: Graph, chances: Weights, payoffs: Numbers, solutions: Numbers) -> None:
    """Write the solutions of all pay-offs (n, C) to `solutions` (n, S)."""
    lanes = _lanes(graph, aligned(graph.slots * LANES, payoffs))
    for first in range(0, len(payoffs), LANES):
        some = payoffs[first : first + LANES]
        _solve_lanes(graph, chances, some, lanes, lanes)
        for lane in range(len(some)):
            for slot in range(graph.slots):
                solutions[first + lane, slot] = lanes.roll_on[slot * LANES + lane]


@kernel
def _solve_side_by_side(
    graph: Graph, chances: Weights, payoffs: Numbers, carried: Numbers, numbers: Numbers
) -> NDArray[np.int64]:
    """Write the solutions of all pay-offs (n, C) to numbers[0], as they are solved; returns where each begins (n,).

    It saves bringing them into rows, for solutions that are needed once. What is `carried` (K, n, C) along goes to the
    next rows of `numbers` (1 + K, …), which have room for n rounded up to LANES.
    """
    begins = np.empty(len(payoffs), np.int64)
    leads = _lanes(graph, numbers[0])
    follows = _lanes(graph, numbers[0])
    for first in range(0, len(payoffs), LANES):
        begin = first * graph.slots
        end = begin + graph.slots * LANES
        leads = _Lanes(numbers[0, begin:end], leads.value, leads.best)
        _solve_lanes(graph, chances, payoffs[first : first + LANES], leads, leads)
        for k in range(len(carried)):
            follows = _Lanes(numbers[k + 1, begin:end], follows.value, follows.best)
            _solve_lanes(graph, chances, carried[k, first : first + LANES], follows, leads)
        for lane in range(min(LANES, len(payoffs) - first)):
            begins[first + lane] = begin + lane
    return begins


@shared
def _solve_lanes(
    graph: Graph, chances: Weights, payoffs: Numbers, lanes: _Lanes, leads: _Lanes
) -> None:
    """Solve 1 to LANES pay-offs side by side; lanes without a pay-off repeat the last one.

    What is chosen is what is best for `leads`, which are solved: what the best play for one is worth to another. To solve
    for themselves, `lanes` are passed as both.
    """
    for lane in range(LANES):
        row = min(lane, len(payoffs) - 1)
        for column in range(graph.columns):
            lanes.value[column * LANES + lane] = payoffs[row, column]
            lanes.roll_on[column * LANES + lane] = payoffs[row, column]
    first_slot, states = np.uint64(graph.columns), np.uint64(len(graph.state_points))
    for pool in range(np.uint64(len(graph.stop))):
        root, end = graph.first_node[pool], graph.first_node[pool + _ONE]
        for layer in range(np.uint64(len(graph.target))):
            leads.best[:LANES] = -np.inf
            for state in range(graph.first_state[pool], graph.first_state[pool + _ONE]):
                points = graph.state_points[state]
                busts = load(lanes.value, _at(graph.bust[pool]))
                if layer:
                    place = _at(first_slot + state)
                    again, leading = load(lanes.roll_on, place), load(leads.roll_on, place)
                    if graph.rescue:
                        bust = load(leads.value, _at(graph.bust[pool]))
                        busts = where_larger(leading, bust, again, busts)
                    store(lanes.best, 0, again)
                    store(leads.best, 0, leading)
                above, above_leads = load(lanes.best, 0), load(leads.best, 0)
                total = times(busts, chances.bust[pool])
                for leaf in range(graph.first_leaf[root], graph.first_leaf[root + _ONE]):
                    place = _at(graph.slot[graph.leaf_target[layer, leaf] + points])
                    choice = load(lanes.value, place)
                    here = where_larger(load(leads.value, place), above_leads, choice, above)
                    total = plus(total, times(here, chances.leaf[leaf]))
                for node in range(root + _ONE, end):
                    depth = _at(graph.level[node])
                    place = _at(graph.slot[graph.target[layer, node] + points])
                    choice, leading = load(lanes.value, place), load(leads.value, place)
                    above, above_leads = load(lanes.best, depth), load(leads.best, depth)
                    here = where_larger(leading, above_leads, choice, above)
                    here_leads = where_larger(leading, above_leads, leading, above_leads)
                    store(lanes.best, depth + _at(_ONE), here)
                    store(leads.best, depth + _at(_ONE), here_leads)
                    # A sum of its own per node: it is more exact, and need not wait for the total.
                    part = times(here, chances.node[node])
                    for leaf in range(graph.first_leaf[node], graph.first_leaf[node + _ONE]):
                        place = _at(graph.slot[graph.leaf_target[layer, leaf] + points])
                        choice = load(lanes.value, place)
                        choice = where_larger(load(leads.value, place), here_leads, choice, here)
                        part = plus(part, times(choice, chances.leaf[leaf]))
                    total = plus(total, part)
                slot, stop = (
                    _at(first_slot + layer * states + state),
                    _at(graph.stop[pool] + points),
                )
                store(lanes.roll_on, slot, total)
                leading, leads_stop = load(leads.roll_on, slot), load(leads.value, stop)
                better = where_larger(leading, leads_stop, total, load(lanes.value, stop))
                store(lanes.value, slot, better)


_ONE = np.uint64(1)


@shared
def _at(slot: Int) -> Int:
    """Where the numbers of a slot begin. All numbers here are unsigned: with a signed one it would be a float."""
    return np.uint64(slot) * np.uint64(LANES)


@shared
def _number(solutions: Solutions, i: int, slot: Int) -> float:
    """What the i-th solution says in a slot."""
    number: float = solutions.numbers[solutions.first[i] + slot * solutions.step]
    return number


@shared
def _best(
    graph: Graph, solutions: Solutions, i: int, at: Dice, weasel: Int, tolerance: float
) -> tuple[Int, float]:
    """The best face of a roll and its value; 0 and -inf if none is new."""
    best_face, best = np.int64(0), -np.inf
    new = graph.shown[at.roll] & ~np.int64(at.aside)
    while new:
        face = np.int64(HIGHEST_FACE[new])
        new ^= 1 << (face - 1)
        stop, roll_on = slots_after(graph, at, weasel, face)
        value = np.float64(max(_number(solutions, i, stop), _number(solutions, i, roll_on)))
        if value > best + tolerance:
            best_face, best = face, value
    return best_face, best


@kernel
def best_face(
    graph: Graph, solutions: Solutions, dice: NDArray[np.void], tolerance: float = TOLERANCE
) -> NDArray[np.uint8]:
    """(n,): the face to set aside of the i-th roll by the i-th solution; 0 if none is new."""
    faces = np.empty(len(solutions.first), np.uint8)
    for i in range(len(solutions.first)):
        weasel = dice[i].weasel * (len(graph.base) - 1)
        faces[i], _ = _best(graph, solutions, i, dice[i], weasel, tolerance)
    return faces


@kernel
def should_stop(
    graph: Graph, solutions: Solutions, dice: NDArray[np.void], tolerance: float = TOLERANCE
) -> NDArray[np.bool_]:
    """(n,): whether to stop in the i-th situation by the i-th solution, rather than to roll on."""
    stops = np.empty(len(solutions.first), np.bool_)
    for i in range(len(solutions.first)):
        stop, roll_on = slots_at(graph, dice[i], dice[i].weasel * (len(graph.base) - 1))
        stops[i] = _number(solutions, i, roll_on) <= _number(solutions, i, stop) + tolerance
    return stops


@kernel
def should_reroll(
    graph: Graph, solutions: Solutions, dice: NDArray[np.void], tolerance: float = TOLERANCE
) -> NDArray[np.bool_]:
    """(n,): whether to use the weasel on the i-th roll by the i-th solution; never without one."""
    rerolls = np.zeros(len(solutions.first), np.bool_)
    for i in range(len(solutions.first)):
        at: Dice = dice[i]
        if at.weasel == 0 or len(graph.base) == 1:
            continue
        face, keep = _best(graph, solutions, i, at, 1, tolerance)
        if face == 0:
            keep = np.float64(_number(solutions, i, bust_of(graph, np.int64(at.earned))))
        if face > 0 or graph.rescue:
            _, again = slots_at(graph, at, 0)
            rerolls[i] = _number(solutions, i, again) > keep + tolerance
    return rerolls


@dataclass(frozen=True)
class Optimal:
    """The policy of one solution, for `pickosim.solver.law`."""

    graph: Graph
    solution: NDArray[np.float64]
    """(S,): the solution."""

    def _solutions(self, dice: NDArray[np.void]) -> Solutions:
        """The solution, n times."""
        return Solutions.of_rows(self.solution, np.zeros(len(dice), np.int64))

    def stop(self, dice: NDArray[np.void]) -> NDArray[np.bool_]:
        """(n,): whether to stop."""
        return should_stop(self.graph, self._solutions(dice), dice)

    def face(self, dice: NDArray[np.void]) -> NDArray[np.uint8]:
        """(n,): the best face."""
        return best_face(self.graph, self._solutions(dice), dice)

    def reroll(self, dice: NDArray[np.void]) -> NDArray[np.bool_]:
        """(n,): whether to use the weasel."""
        return should_reroll(self.graph, self._solutions(dice), dice)


def exact_chances(problem: Problem) -> NDArray[np.float64]:
    """(P,): the best chance to stop with exactly each number of points, and a worm, if nothing else matters."""
    plan = graph(problem)
    hit = np.eye(plan.points)
    return solve(plan, payoff_rows(np.zeros(len(hit)), np.zeros_like(hit), hit))[:, plan.start]
