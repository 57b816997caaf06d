"""The turn as a graph: every way a turn can go, with exact chances, compiled into arrays.

The state of a turn is a *pool* (faces set aside, white dice left, golden die left or not, bonus for 1s
earned or not) and points. What can be rolled and where each choice leads depends only on the pool, and
the points just add up; so the graph has one tree of rolls per pool, and one *slot* per pool and points
that can come together.

**Slots.** The solution of a pay-off is one row of numbers, and a slot is an index into it. The row
starts with the pay-off itself: the value of a bust, then what a stop is worth by points without and
with a worm set aside; where 1s earn a bonus, the same once more for turns in which it is earned. Then
follows one slot per pool and points at which the player may roll on; with a weasel, first those where it
is used up, then those where it is still available. Where the turn is over by itself, the slot is that
of the stop. An *address* is that of a pool plus the points; a table says which slot it has. Some addresses are of points
that no turn has: a pool in which only worms are set aside has a multiple of 5.

**Trees.** The rolls of a pool, with all faces already aside counted as one, are the nodes of a tree: a
node shows what its parent shows and some dice of one more new face. So the best choice of a roll is
its parent's best choice or that face, which is one comparison (`pickosim.solver.solve`). Its *inner*
nodes have children; the others are *leaves*.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from io import BytesIO
from math import comb
from typing import Any, Literal, NamedTuple, Protocol
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from pickosim.engine.dice import ALL_FACES, FACES, POINTS, WORM_BIT, rolls
from pickosim.engine.kernels import U8, U16, cache_folder, dtype_of, shared
from pickosim.files import write_whole

BUST, WORTH = 0, 1
"""Columns of a pay-off: a bust, stops by [worm set aside, points]; the same again with the bonus for 1s."""

Int = int | np.integer[Any]
"""An integer in a kernel."""

MOST_KEPT = 50
"""Graphs that are kept in files, of 1 MB at most with nine dice."""

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
    ones: int = 0
    """How many 1s, set aside together, earn the bonus; 0 if there is none."""

    @property
    def points(self) -> int:
        """Number of possible totals: 0 to five points per die."""
        return 5 * (self.white + bool(self.golden)) + 1

    @property
    def blocks(self) -> int:
        """Blocks of a pay-off: one, or two if 1s earn a bonus: without it and with it."""
        return 1 + (self.ones > 0)

    @property
    def columns(self) -> int:
        """Numbers of a pay-off."""
        return self.blocks * (WORTH + 2 * self.points)


class Pool(NamedTuple):
    """The state of a turn without its points."""

    aside: int
    """Set of faces set aside."""
    white: int
    """White dice left."""
    golden: int
    """Golden dice left, 0 or 1."""
    earned: int
    """Whether the bonus for 1s is earned, 0 or 1."""

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

    def take(self, face: int, white: int, golden: int, ones: int) -> Pool:
        """The pool after setting aside dice of a face; so many `ones` earn the bonus."""
        earned = self.earned or int(face == 1 and 0 < ones <= white + golden)
        aside = self.aside | 1 << (face - 1)
        return Pool(aside, self.white - white, self.golden - golden, earned)


class Graph(NamedTuple):
    """A compiled graph: L layers (2 with a weasel), B blocks (2 with a bonus), K pools, M inner nodes, N states, S slots.

    What the solver looks up in its inner loops is unsigned: such an index is never counted from the end.
    """

    points: int
    """Number of possible totals."""
    columns: int
    """Length of a pay-off."""
    slots: int
    """Length of a solution."""
    start: int
    """Slot of the turn's first roll: its number is the value of the turn."""
    rescue: bool
    """Whether the weasel may be used on a bust."""
    ones: int
    """How many 1s earn the bonus; 0 if there is none."""
    counts: NDArray[np.uint8]
    """(R, 7): dice that show each face of each roll, the golden one included."""
    shown: NDArray[np.uint8]
    """(R,): set of faces each roll shows."""
    base: NDArray[np.int32]
    """(L, B, 64, white + 2, 2): address of (weasel left, earned, aside, white left, golden left) at 0 points."""
    slot: NDArray[np.uint32]
    """Slot of each address; 0 where no turn comes."""
    first_state: NDArray[np.uint32]
    """(K + 1,): first state of each pool; pools of fewer dice come first."""
    state_points: NDArray[np.uint32]
    """(N,): points of each state; its slots are those after the columns, in each layer."""
    stop: NDArray[np.uint32]
    """(K,): column of the pay-off for a stop at 0 points."""
    bust: NDArray[np.uint32]
    """(K,): column of the pay-off for a bust."""
    bust_chance: NDArray[np.float64]
    """(K,): chance of a roll that shows no new face."""
    first_node: NDArray[np.uint32]
    """(K + 1,): first inner node of each pool's tree; it is the root, which shows no new face."""
    level: NDArray[np.uint32]
    """(M,): depth of an inner node's parent."""
    target: NDArray[np.uint32]
    """(L, M): address that an inner node leads to from 0 points; 0 for a root."""
    chance: NDArray[np.float64]
    """(M,): chance to roll exactly what an inner node shows; 0 for a root, see `bust_chance`."""
    first_leaf: NDArray[np.uint32]
    """(M + 1,): first leaf below each inner node."""
    leaf_target: NDArray[np.uint32]
    """(L, leaves): address that a leaf leads to from 0 points."""
    leaf_chance: NDArray[np.float64]
    """(leaves,): chance to roll exactly what a leaf shows."""


class _Node(NamedTuple):
    """A roll of a pool: its parent's dice, and some of one more new face."""

    level: int
    """Depth of the parent."""
    inner: bool
    """Whether the node has children."""
    after: Pool
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
    start = Pool(0, white, int(bool(golden)), 0)
    found: list[dict[Pool, set[int]]] = [{} for _ in range(start.dice + 1)]
    found[start.dice][start] = {0}
    for dice in range(start.dice, 0, -1):
        for pool, points in found[dice].items():
            for face in pool.new_faces if pool.may_roll else ():
                for gold in range(1 + (pool.golden and face in golden)):
                    for count in range(1 - gold, pool.white + 1):
                        after = pool.take(face, count, gold, problem.ones)
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
            after, gain = pool.take(face, count, 0, ones), count * _POINTS[face]
            node = _Node(level, bool(below), after, gain, ways_here * old**rest)
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
            after, gain = pool.take(face, count, 1, ones), (count + 1) * _POINTS[face]
            yield _Node(0, True, after, gain, ways * old**rest)
            yield from _branches(pool, others, rest, 1, ways, ones)


def _ways(pool: Pool, golden: tuple[int, ...], faces: Collection[int]) -> int:
    """Number of ways in which all dice of a pool show one of these faces."""
    golden_ways = sum(face in faces for face in golden) if pool.golden else 1
    white_ways: int = len(faces) ** pool.white
    return golden_ways * white_ways


@cache
def graph(problem: Problem) -> Graph:
    """The graph of a problem: compiled once, then read from a file beside the compiled kernels."""
    folder = cache_folder()
    path = folder and folder / f"graph-{sha256(repr(problem).encode()).hexdigest()[:16]}.npz"
    if path is not None and path.is_file():
        with suppress(OSError, ValueError, KeyError, BadZipFile), np.load(path) as kept:
            arrays = (kept[name] for name in Graph._fields)
            return Graph(*(array if array.ndim else array.item() for array in arrays))
    compiled = _compiled(problem)
    if path is not None and len(list(path.parent.glob("graph-*"))) < MOST_KEPT:
        content = BytesIO()
        np.savez(content, **compiled._asdict())
        with suppress(OSError):  # e.g. a full disk
            path.parent.mkdir(exist_ok=True)
            write_whole(path, content.getvalue())
    return compiled


def _compiled(problem: Problem) -> Graph:
    """Compile the graph of a problem."""
    white, golden = dice_kinds(problem)
    all_rolls = rolls(white + bool(golden))
    reached = states(problem)
    pools = [pool for pool in reversed(reached) if pool.may_roll]
    points = [np.sort([*reached[pool]]) for pool in pools]
    lowest, highest = (np.array([some[end] for some in points]) for end in (0, -1))
    size = highest + 1 - lowest

    layers = 1 if problem.weasel == "none" else 2
    block = WORTH + 2 * problem.points
    # Addresses of each pool at 0 points; those of its fewest to its most points are its own.
    first = np.cumsum(size) - size - lowest
    address = problem.columns + size.sum() * np.arange(layers)[:, None] + first
    slot = np.zeros(problem.columns + layers * size.sum(), np.uint32)
    slot[: problem.columns] = np.arange(problem.columns)
    states_at = [address[:, [number]] + some for number, some in enumerate(points)]
    each = np.concatenate(states_at, axis=1).ravel()
    slot[each] = problem.columns + np.arange(len(each))
    base = np.zeros((layers, problem.blocks, ALL_FACES + 1, white + 2, 2), np.int32)
    for pool in reached:
        worm = pool.aside & WORM_BIT > 0
        base[:, *_place(pool)] = pool.earned * block + WORTH + worm * problem.points
    stop = [base[0, *_place(pool)] for pool in pools]
    for number, pool in enumerate(pools):
        base[:, *_place(pool)] = address[:, number]
    if not golden:
        base[..., :-1, 1] = base[..., 1:, 0]

    ways = [_ways(pool, golden, _ALL) for pool in pools]
    nodes: list[tuple[int, Any, float]] = []
    leaves, first_node, first_leaf = [], [0], [0]
    for pool, all_ways in zip(pools, ways, strict=True):
        nodes.append((0, np.zeros(layers), 0.0))
        first_leaf.append(first_leaf[-1])
        for node in _tree(pool, golden, problem.ones):
            target, chance = base[:, *_place(node.after)] + node.gain, node.weight / all_ways
            if node.inner:
                nodes.append((node.level, target, chance))
                first_leaf.append(first_leaf[-1])
            else:
                leaves.append((target, chance))
                first_leaf[-1] += 1
        first_node.append(len(nodes))
    busts = [_ways(pool, golden, pool.old_faces) for pool in pools]
    return Graph(
        points=problem.points,
        columns=problem.columns,
        slots=problem.columns + len(each),
        start=problem.columns + len(each) - 1,
        rescue=problem.weasel == "any roll",
        ones=problem.ones,
        counts=all_rolls["counts"].copy(),
        shown=all_rolls["faces"].copy(),
        base=base,
        slot=slot,
        first_state=np.cumsum([0, *map(len, points)], dtype=np.uint32),
        state_points=np.concatenate(points).astype(np.uint32),
        stop=np.array(stop, np.uint32),
        bust=np.array([pool.earned * block + BUST for pool in pools], np.uint32),
        bust_chance=np.array(busts) / np.array(ways),
        first_node=np.array(first_node, np.uint32),
        level=np.array([level for level, _, _ in nodes], np.uint32),
        target=np.ascontiguousarray(np.array([target for _, target, _ in nodes], np.uint32).T),
        chance=np.array([chance for _, _, chance in nodes]),
        first_leaf=np.array(first_leaf, np.uint32),
        leaf_target=np.ascontiguousarray(np.array([target for target, _ in leaves], np.uint32).T),
        leaf_chance=np.array([chance for _, chance in leaves]),
    )


def _place(pool: Pool) -> tuple[int, int, int, int]:
    """The place of a pool in `base`, in each layer."""
    return pool.earned, pool.aside, pool.white, pool.golden


class Dice(Protocol):
    """Where a turn is, as kernels read it from any record with these fields, e.g. `pickosim.engine.turn.HAND`."""

    aside: U8  # set of faces set aside
    points: U8  # of these
    white: U8  # dice left, those of the last roll included
    golden: U8  # the same, 0 or 1
    weasel: U8  # rerolls left, 0 or 1
    earned: U8  # 1 if the bonus for 1s is earned
    roll: U16  # number of the last roll, the golden die included
    golden_face: U8  # of the golden die in that roll, 0 if it was not rolled


DICE = dtype_of(Dice)
"""The fields as a record: a situation of a turn."""


@shared
def slots_of(
    graph: Graph, weasel: Int, earned: Int, aside: Int, points: Int, white: Int, golden: Int
) -> tuple[Int, Int]:
    """The slots of stopping and of rolling on; the same if the turn is over."""
    worm = (aside & WORM_BIT) // WORM_BIT
    stop = WORTH + earned * (WORTH + 2 * graph.points) + worm * graph.points
    address = graph.base[weasel, earned, aside, white, golden] + points
    return stop + points, np.int64(graph.slot[address])


@shared
def bust_of(graph: Graph, earned: Int) -> Int:
    """The column of a bust, with or without the bonus for 1s."""
    return BUST + earned * (WORTH + 2 * graph.points)


@shared
def slots_at(graph: Graph, at: Dice, weasel: Int) -> tuple[Int, Int]:
    """The slots of stopping and of rolling on between two rolls."""
    aside, points, earned = np.int64(at.aside), np.int64(at.points), np.int64(at.earned)
    return slots_of(graph, weasel, earned, aside, points, np.int64(at.white), np.int64(at.golden))


@shared
def slots_after(graph: Graph, at: Dice, weasel: Int, face: Int) -> tuple[Int, Int]:
    """The slots of stopping and of rolling on after setting aside a face of the last roll."""
    dice = np.int64(graph.counts[at.roll, face])
    golden = np.int64(at.golden_face == face)
    earned = np.int64(at.earned) | earns(graph, face, dice)
    aside = np.int64(at.aside) | 1 << (face - 1)
    points = np.int64(at.points) + dice * POINTS[face]
    white_left, golden_left = np.int64(at.white) - dice + golden, np.int64(at.golden) - golden
    return slots_of(graph, weasel, earned, aside, points, white_left, golden_left)


@shared
def earns(graph: Graph, face: Int, dice: Int) -> Int:
    """Whether setting aside so many dice of a face earns the bonus for 1s, 0 or 1."""
    # Not `and`: branches would make the choice of a face much slower.
    return np.int64((face == 1) & (graph.ones > 0) & (dice >= graph.ones))
