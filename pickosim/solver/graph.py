"""The turn as a graph: every way a turn can go, with exact chances, compiled into arrays.

The state of a turn is a *pool* (faces set aside, white dice left, golden die left or not) and points.
What can be rolled and where each choice leads depends only on the pool, and the points just add up;
so the graph has one tree of rolls per pool, and one *slot* per pool and points.

**Slots.** The solution of a pay-off is one row of numbers, and a slot is an index into it. The row
starts with the pay-off itself: the value of a bust, the bonus for 1s, what a stop is worth
by points without and with a worm set aside. Then follows one slot per pool and points at which the
player may roll on; with a weasel, first those where it is used up, then those where it is still
available. Where the turn is over by itself, the slot is that of the stop.

**Trees.** The rolls of a pool, with all faces already aside counted as one, are the nodes of a tree: a
node shows what its parent shows and some dice of one more new face. So the best choice of a roll is
its parent's best choice or that face, which is one comparison (`pickosim.solver.solve`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from math import comb
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pickosim.engine.dice import ALL_FACES, FACES, POINTS, WORM_BIT, rolls
from pickosim.engine.kernels import shared

BUST, DOUBLE_ONE, WORTH = 0, 1, 2
"""Columns of a pay-off: a bust, the bonus for 1s, stops by [worm set aside, points]."""

Int = int | np.integer[Any]
"""An integer in a kernel."""

_ALL = range(1, FACES + 1)
_POINTS: list[int] = POINTS.tolist()


@dataclass(frozen=True)
class Problem:
    """What a turn is played with."""

    white: int = 8
    """White dice."""
    golden: tuple[int, ...] = ()
    """The equally likely faces of the golden die; empty if it is not used."""
    weasel: Literal["none", "any roll", "not on a bust"] = "none"
    """Which rolls may be rolled again, once per turn."""
    ones: int = 2
    """How many 1s, set aside together, earn the bonus."""

    @property
    def points(self) -> int:
        """Number of possible totals: 0 to five points per die."""
        return 5 * (self.white + bool(self.golden)) + 1


class Pool(NamedTuple):
    """The state of a turn without its points."""

    aside: int
    """Set of faces set aside."""
    white: int
    """White dice left."""
    golden: int
    """Golden dice left, 0 or 1."""

    @property
    def dice(self) -> int:
        """Dice left."""
        return self.white + self.golden

    @property
    def may_roll(self) -> bool:
        """Whether the turn can go on: dice are left, and faces to set aside."""
        return self.dice > 0 and self.aside != ALL_FACES

    @property
    def new_faces(self) -> list[int]:
        """Faces not yet set aside."""
        return [face for face in _ALL if not self.aside >> (face - 1) & 1]

    @property
    def old_faces(self) -> list[int]:
        """Faces set aside."""
        return [face for face in _ALL if self.aside >> (face - 1) & 1]

    def take(self, face: int, white: int, golden: int) -> Pool:
        """The pool after setting aside dice of a face."""
        return Pool(self.aside | 1 << (face - 1), self.white - white, self.golden - golden)


class Graph(NamedTuple):
    """A compiled graph: L layers (2 with a weasel), K pools to roll from, M steps, S slots."""

    points: int
    """Number of possible totals; a pay-off has WORTH + 2 * points columns."""
    slots: int
    """Length of a solution."""
    start: int
    """Slot of the turn's first roll."""
    rescue: bool
    """Whether the weasel may be used on a bust."""
    ones: int
    """How many 1s earn the bonus."""
    counts: NDArray[np.uint8]
    """(R, 7): dice that show each face of each roll, the golden one included."""
    shown: NDArray[np.uint8]
    """(R,): set of faces each roll shows."""
    base: NDArray[np.int32]
    """(L, 64, white + 2, 2): slot of (weasel left, aside, white left, golden left) at 0 points."""
    slot: NDArray[np.int32]
    """(L, K): slot of each pool's fewest points; pools of fewer dice come first."""
    stop: NDArray[np.int32]
    """(K,): column of the pay-off for a stop at the fewest points."""
    size: NDArray[np.int32]
    """(K,): slots of each pool."""
    ways: NDArray[np.float64]
    """(K,): number of equally likely ways in which its dice can fall."""
    bust: NDArray[np.float64]
    """(K,): number of ways that show no new face."""
    first: NDArray[np.int32]
    """(K + 1,): first step of each pool's tree."""
    level: NDArray[np.uint8]
    """(M,): depth in the tree of a step's parent."""
    inner: NDArray[np.bool_]
    """(M,): a step is either one inner node of the tree, or two leaves of the same parent."""
    bonus: NDArray[np.bool_]
    """(M,): whether an inner node sets aside enough 1s for the bonus; leaves never do."""
    target: NDArray[np.int32]
    """(L, M, 2): slot that each of the two nodes leads to from the pool's fewest points."""
    weight: NDArray[np.float64]
    """(M, 2): number of ways to roll each of the two (0 if there is no second)."""


class _Node(NamedTuple):
    """A roll of a pool: its parent's dice, and some of one more new face."""

    level: int
    """Depth of the parent."""
    inner: bool
    """Whether the node is a step of its own, because it has children or earns a bonus."""
    bonus: bool
    """Whether setting aside the face earns the bonus for 1s."""
    aside: int
    white: int
    golden: int
    """The pool it leads to."""
    gain: int
    """Points gained."""
    weight: int
    """Number of ways to roll exactly this."""


def dice_kinds(problem: Problem) -> tuple[int, tuple[int, ...]]:
    """White dice, and faces of the golden die; one with the usual faces counts as a white die."""
    if sorted(problem.golden) == list(_ALL):
        return problem.white + 1, ()
    return problem.white, problem.golden


def states(problem: Problem) -> dict[Pool, set[int]]:
    """The possible points at every pool of a turn, pools of more dice first.

    A golden die with the usual faces counts as one more white die.
    """
    white, golden = dice_kinds(problem)
    start = Pool(0, white, int(bool(golden)))
    found: list[dict[Pool, set[int]]] = [{} for _ in range(start.dice + 1)]
    found[start.dice][start] = {0}
    for dice in range(start.dice, 0, -1):
        for pool, points in found[dice].items():
            for face in pool.new_faces if pool.may_roll else ():
                for gold in range(1 + (pool.golden and face in golden)):
                    for count in range(1 - gold, pool.white + 1):
                        after = pool.take(face, count, gold)
                        gain = (count + gold) * _POINTS[face]
                        found[after.dice].setdefault(after, set()).update(p + gain for p in points)
    return {pool: points for pools in reversed(found) for pool, points in pools.items()}


def _branches(
    pool: Pool, faces: list[int], left: int, level: int, ways: int, ones: int
) -> Iterator[_Node]:
    """Yield the nodes below one that can be rolled in `ways` ways, with `left` white dice undecided.

    These show `faces` or faces already aside. Leaves come first, then inner nodes with their trees.
    """
    old = len(pool.old_faces)
    inner = []
    for index, face in enumerate(faces):
        for count in range(1, left + 1):
            rest = left - count
            below = faces[index + 1 :] if rest else []
            ways_here = ways * comb(left, count)
            bonus = face == 1 and count >= ones
            target, gain = pool.take(face, count, 0), count * _POINTS[face]
            node = _Node(level, bool(below) or bonus, bonus, *target, gain, ways_here * old**rest)
            if node.inner:
                inner.append((node, below, rest, ways_here))
            elif node.weight:
                yield node
    for node, below, rest, ways_here in inner:
        yield node
        yield from _branches(pool, below, rest, level + 1, ways_here, ones)


def _tree(pool: Pool, golden: tuple[int, ...], ones: int) -> Iterator[_Node]:
    """Yield the nodes of a pool's tree. A golden die with a new face comes first, with its equals."""
    new_faces, old = pool.new_faces, len(pool.old_faces)
    if not pool.golden:
        yield from _branches(pool, new_faces, pool.white, 0, 1, ones)
        return
    if ways := sum(face not in new_faces for face in golden):
        yield from _branches(pool, new_faces, pool.white, 0, ways, ones)
    for face in sorted(set(golden).intersection(new_faces)):
        others = [other for other in new_faces if other != face]
        for count in range(pool.white + 1):
            rest, ways = pool.white - count, golden.count(face) * comb(pool.white, count)
            target, gain = pool.take(face, count, 1), (count + 1) * _POINTS[face]
            bonus = face == 1 and count + 1 >= ones
            yield _Node(0, True, bonus, *target, gain, ways * old**rest)
            yield from _branches(pool, others, rest, 1, ways, ones)


def _steps(nodes: Iterator[_Node]) -> list[tuple[_Node, _Node]]:
    """Group nodes into steps: inner nodes one by one, leaves of the same parent two by two.

    A node without a partner is its own partner, with weight 0.
    """
    steps: list[tuple[_Node, _Node]] = []
    waiting = False
    for node in nodes:
        if waiting and not node.inner:
            steps[-1] = (steps[-1][0], node)
            waiting = False
        else:
            steps.append((node, node._replace(weight=0)))
            waiting = not node.inner
    return steps


def _ways(pool: Pool, golden: tuple[int, ...], faces: Collection[int]) -> int:
    """Number of ways in which all dice of a pool show one of these faces."""
    golden_ways = sum(face in faces for face in golden) if pool.golden else 1
    white_ways: int = len(faces) ** pool.white
    return golden_ways * white_ways


@cache
def graph(problem: Problem) -> Graph:
    """Compile the graph of a problem."""
    white, golden = dice_kinds(problem)
    all_rolls = rolls(white + bool(golden))
    reached = states(problem)
    pools = [pool for pool in reversed(reached) if pool.may_roll]
    lowest = np.array([min(reached[pool]) for pool in pools])
    size = np.array([max(reached[pool]) for pool in pools]) + 1 - lowest

    layers = 1 if problem.weasel == "none" else 2
    columns = WORTH + 2 * problem.points
    slot = columns + size.sum() * np.arange(layers)[:, None] + np.cumsum(size) - size
    base = np.zeros((layers, ALL_FACES + 1, white + 2, 2), np.int32)
    for pool in reached:
        base[:, *pool] = WORTH + (pool.aside & WORM_BIT > 0) * problem.points
    stop = base[0, *np.array(pools).T] + lowest
    base[:, *np.array(pools).T] = slot - lowest
    if not golden:
        base[:, :, :-1, 1] = base[:, :, 1:, 0]

    trees = [_steps(_tree(pool, golden, problem.ones)) for pool in pools]
    lengths = [len(tree) for tree in trees]
    nodes = np.array([step for tree in trees for step in tree])
    level, inner, bonus, *target, gain, weight = np.moveaxis(nodes, -1, 0)
    gain += lowest.repeat(lengths)[:, None]
    return Graph(
        points=problem.points,
        slots=columns + layers * int(size.sum()),
        start=int(slot[-1, -1]),
        rescue=problem.weasel == "any roll",
        ones=problem.ones,
        counts=all_rolls["counts"].copy(),
        shown=all_rolls["faces"].copy(),
        base=base,
        slot=np.ascontiguousarray(slot, np.int32),
        stop=np.ascontiguousarray(stop, np.int32),
        size=np.ascontiguousarray(size, np.int32),
        ways=np.array([_ways(pool, golden, _ALL) for pool in pools], np.float64),
        bust=np.array([_ways(pool, golden, pool.old_faces) for pool in pools], np.float64),
        first=np.cumsum([0, *lengths], dtype=np.int32),
        level=np.ascontiguousarray(level[:, 0], np.uint8),
        inner=inner[:, 0] > 0,
        bonus=bonus[:, 0] > 0,
        target=np.ascontiguousarray(base[:, *target] + gain, np.int32),
        weight=np.ascontiguousarray(weight, np.float64),
    )


class Standing(NamedTuple):
    """Turns between two rolls, one entry per turn; fields as in `pickosim.engine.turn.HAND`."""

    aside: NDArray[np.uint8]
    """(n,): set of faces set aside."""
    points: NDArray[np.uint8]
    """(n,): their points."""
    white: NDArray[np.uint8]
    """(n,): white dice left."""
    golden: NDArray[np.uint8]
    """(n,): golden dice left, 0 or 1."""
    weasel: NDArray[np.uint8]
    """(n,): rerolls left, 0 or 1."""


class Rolled(NamedTuple):
    """Turns after a roll, one entry per turn; fields as in `pickosim.engine.turn.HAND`."""

    aside: NDArray[np.uint8]
    """(n,): set of faces set aside before the roll."""
    points: NDArray[np.uint8]
    """(n,): their points."""
    white: NDArray[np.uint8]
    """(n,): white dice rolled."""
    weasel: NDArray[np.uint8]
    """(n,): rerolls left, 0 or 1."""
    roll: NDArray[np.uint16]
    """(n,): number of the roll, the golden die included."""
    golden_face: NDArray[np.uint8]
    """(n,): face of the golden die, 0 if it was not rolled."""


@shared
def _slots(
    graph: Graph, weasel: Int, aside: Int, points: Int, white: Int, golden: Int
) -> tuple[Int, Int]:
    """The slots of stopping and of rolling on; the same if the turn is over."""
    stop = WORTH + graph.points if aside & WORM_BIT else WORTH
    return stop + points, graph.base[weasel, aside, white, golden] + points


@shared
def slots_at(graph: Graph, at: Standing, i: Int, weasel: Int) -> tuple[Int, Int]:
    """The slots of stopping and of rolling on in turn i."""
    aside, points = np.int64(at.aside[i]), np.int64(at.points[i])
    return _slots(graph, weasel, aside, points, at.white[i], at.golden[i])


@shared
def slots_after(
    graph: Graph, at: Rolled, i: Int, weasel: Int, face: Int
) -> tuple[Int, Int, bool | np.bool_]:
    """The slots of stopping and of rolling on after setting aside a face of turn i's roll.

    The third result is whether that earns the bonus for 1s.
    """
    dice = np.int64(graph.counts[at.roll[i], face])
    golden = np.int64(at.golden_face[i] == face)
    aside = np.int64(at.aside[i]) | 1 << (face - 1)
    points = np.int64(at.points[i]) + dice * POINTS[face]
    white_left = np.int64(at.white[i]) - dice + golden
    golden_left = np.int64(at.golden_face[i] != 0) - golden
    stop, roll_on = _slots(graph, weasel, aside, points, white_left, golden_left)
    # Not `and`: the branch would make best_face four times as slow.
    return stop, roll_on, (face == 1) & (dice >= graph.ones)
