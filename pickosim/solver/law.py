"""The law of a turn: the exact distribution of its result under any policy.

A policy decides for many turns at once. It is called with all situations that a turn can reach, and
the chances are then propagated through the graph of the turn from the first roll to the last.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from pickosim.engine.dice import FACES, Rolls, arrangements, first_roll, rolls
from pickosim.engine.kernels import kernel
from pickosim.solver.graph import (
    BUST,
    WORTH,
    Graph,
    Int,
    Pool,
    Problem,
    Rolled,
    Standing,
    bust_of,
    dice_kinds,
    graph,
    slots_after,
    slots_at,
    states,
)

At = TypeVar("At", Standing, Rolled)


class Policy(Protocol):
    """How a turn is played: decisions for many turns at once."""

    def stop(self, at: Standing) -> NDArray[np.bool_]:
        """(n,): whether to stop; ignored before the first roll."""

    def face(self, at: Rolled) -> NDArray[np.uint8]:
        """(n,): which face to set aside; ignored where none is new."""

    def reroll(self, at: Rolled) -> NDArray[np.bool_]:
        """(n,): whether to use the weasel; ignored where that is not allowed."""


class Law(NamedTuple):
    """Chances of a turn's results; the first index, of B, is 1 if enough 1s for the bonus were set aside.

    B is 2, or 1 if the problem has no bonus.
    """

    bust: NDArray[np.float64]
    """(B,): a roll without a new face."""
    stopped: NDArray[np.float64]
    """(B, 2, P): a stop, by worm set aside and points."""


class Situations(NamedTuple):
    """All situations of a turn, without the weasel: N between rolls, in playing order, X after a roll."""

    standing: Standing
    rolled: Rolled
    first: NDArray[np.int64]
    """(N + 1,): first roll of each situation between rolls."""
    chance: NDArray[np.float64]
    """(X,): of each roll."""
    new: NDArray[np.uint8]
    """(X,): set of new faces in it."""


def _rolls_of(
    pool: Pool, golden: tuple[int, ...], all_rolls: Rolls
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """The rolls of a pool, the golden die's face in each, and their chances."""
    white = np.arange(first_roll(pool.white), first_roll(pool.white + 1))
    chance = np.array(arrangements(all_rolls["counts"][white])) / FACES**pool.white
    if not pool.golden:
        return white, np.zeros_like(white), chance
    faces, counts = np.unique(golden, return_counts=True)
    roll = all_rolls["plus"][white, faces[:, None]].astype(np.intp)
    golden_chance = counts[:, None] / len(golden)
    return roll.ravel(), faces.repeat(len(white)), (golden_chance * chance).ravel()


@cache
def situations(problem: Problem) -> Situations:
    """All situations of a problem."""
    white, golden = dice_kinds(problem)
    all_rolls = rolls(white + bool(golden))
    standing, rolled = [], []
    for pool, all_points in states(problem).items():
        if pool.may_roll:
            standing += [
                (pool.aside, points, pool.white, pool.golden, 0, pool.earned)
                for points in all_points
            ]
            rolled += [_rolls_of(pool, golden, all_rolls)] * len(all_points)
    lengths = [len(roll) for roll, _, _ in rolled]
    columns = np.ascontiguousarray(np.array(standing, np.uint8).T)
    aside, points, white_left, _, weasel, earned = columns.repeat(lengths, axis=1)
    roll, golden_face, chance = (np.concatenate(parts) for parts in zip(*rolled, strict=True))
    return Situations(
        Standing(*columns),
        Rolled(
            aside,
            points,
            white_left,
            weasel,
            earned,
            roll.astype(np.uint16),
            golden_face.astype(np.uint8),
        ),
        np.cumsum([0, *lengths]),
        chance,
        all_rolls["faces"][roll] & ~aside,
    )


def law(problem: Problem, policy: Policy) -> Law:
    """Compute the exact distribution of a turn's result; refuse a policy that picks an illegal face.

    The policy sees a golden die with the usual faces as one more white die.
    """
    plan = graph(problem)
    blocks = Decisions(problem, policy).ends(plan.start).reshape(problem.blocks, -1)
    return Law(blocks[:, BUST], blocks[:, WORTH:].reshape(-1, 2, plan.points))


class Decisions:
    """What a policy does in every situation of a turn."""

    def __init__(self, problem: Problem, policy: Policy) -> None:
        self._problem = problem
        self._decided = _decisions(problem, policy)

    def ends(self, slot: Int) -> NDArray[np.float64]:
        """(C,): the chances of the results in the columns of a pay-off, from the roll on that a slot stands for.

        The slot of an end is certain to end there.
        """
        return _propagate(graph(self._problem), situations(self._problem), slot, *self._decided)


def _decisions(
    problem: Problem, policy: Policy
) -> tuple[NDArray[np.bool_], NDArray[np.uint8], NDArray[np.bool_]]:
    """What a policy does in every situation: stop (L, N), face (L, X) and reroll (X,)."""
    at = situations(problem)
    layers = [np.uint8(weasel) for weasel in range(len(graph(problem).base))]
    stop = [policy.stop(_with_weasel(at.standing, weasel)) for weasel in layers]
    face = [policy.face(_with_weasel(at.rolled, weasel)) for weasel in layers]
    for faces in face:
        if (at.new >> (faces - 1) & 1 == 0)[at.new > 0].any():
            raise ValueError("the policy sets aside a face that is not a new face of its roll")
    return np.stack(stop), np.stack(face), policy.reroll(_with_weasel(at.rolled, layers[-1]))


def _with_weasel(at: At, weasel: np.uint8) -> At:
    return at._replace(weasel=np.full_like(at.weasel, weasel))


@kernel
def _propagate(
    graph: Graph,
    at: Situations,
    start: Int,
    stop: NDArray[np.bool_],
    face: NDArray[np.uint8],
    reroll: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """(C,): chances of the results, in the columns of a pay-off, from a slot on with these `_decisions`."""
    mass = np.zeros(graph.slots)
    mass[start] = 1.0
    for i in range(stop.shape[1]):
        rerolled = 0.0
        for weasel in range(len(stop) - 1, -1, -1):
            stopped, slot = slots_at(graph, at.standing, i, weasel)
            rolling = mass[slot]
            if slot != start and stop[weasel, i]:
                mass[stopped] += rolling
                rolling = 0.0
            if weasel == 0:
                rolling += rerolled
            if rolling > 0.0:
                rerolled = _roll(graph, at, i, weasel, rolling, face, reroll, mass)
    return mass[: graph.columns]


@kernel
def _roll(
    graph: Graph,
    at: Situations,
    i: int,
    weasel: int,
    rolling: float,
    face: NDArray[np.uint8],
    reroll: NDArray[np.bool_],
    mass: NDArray[np.float64],
) -> float:
    """Move the chance `rolling` of a roll in situation i on in `mass`; return how much is rerolled."""
    rerolled = 0.0
    for k in range(at.first[i], at.first[i + 1]):
        chance = rolling * at.chance[k]
        if weasel and reroll[k] and (at.new[k] or graph.rescue):
            rerolled += chance
        elif at.new[k]:
            _, slot = slots_after(graph, at.rolled, k, weasel, np.int64(face[weasel, k]))
            mass[slot] += chance
        else:
            mass[bust_of(graph, np.int64(at.rolled.earned[k]))] += chance
    return rerolled
