"""The law of a turn: the exact distribution of its result under any policy.

A policy decides for many turns at once. It is called with all situations that a turn can reach, and
the chances are then propagated through the graph of the turn from the first roll to the last.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pickosim.engine.dice import FACES, Rolls, arrangements, first_roll, rolls
from pickosim.engine.kernels import kernel
from pickosim.solver.graph import (
    DICE,
    Graph,
    Int,
    Pool,
    Problem,
    bust_of,
    dice_kinds,
    graph,
    slots_after,
    slots_at,
    states,
)


class Policy(Protocol):
    """How a turn is played: decisions for many turns at once, by where they are, (n,) of `DICE`."""

    def stop(self, dice: NDArray[np.void]) -> NDArray[np.bool_]:
        """(n,): whether to stop; ignored before the first roll."""

    def face(self, dice: NDArray[np.void]) -> NDArray[np.uint8]:
        """(n,): which face to set aside; ignored where none is new."""

    def reroll(self, dice: NDArray[np.void]) -> NDArray[np.bool_]:
        """(n,): whether to use the weasel; ignored where that is not allowed."""


class Situations(NamedTuple):
    """All situations of a turn, without the weasel: N between rolls, in playing order, X after a roll."""

    standing: NDArray[np.void]
    """(N,) of DICE."""
    rolled: NDArray[np.void]
    """(X,) of DICE."""
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
                (pool.aside, points, *pool[1:3], 0, pool.earned, 0, 0) for points in all_points
            ]
            rolled += [_rolls_of(pool, golden, all_rolls)] * len(all_points)
    lengths = [len(roll) for roll, _, _ in rolled]
    between = np.array(standing, DICE)
    after = between.repeat(lengths)
    after["roll"], after["golden_face"], chance = (
        np.concatenate(parts) for parts in zip(*rolled, strict=True)
    )
    new = all_rolls["faces"][after["roll"]] & ~after["aside"]
    return Situations(between, after, np.cumsum([0, *lengths]), chance, new)


class Decisions:
    """What a policy does in every situation of a turn; one that picks an illegal face is refused.

    The policy sees a golden die with the usual faces as one more white die.
    """

    def __init__(self, problem: Problem, policy: Policy) -> None:
        self._graph, self._at = graph(problem), situations(problem)
        standing, rolled, new = self._at.standing, self._at.rolled, self._at.new
        layers = [np.uint8(weasel) for weasel in range(len(self._graph.base))]
        self._stop = np.stack([policy.stop(_with_weasel(standing, weasel)) for weasel in layers])
        self._face = np.stack([policy.face(_with_weasel(rolled, weasel)) for weasel in layers])
        self._reroll = policy.reroll(_with_weasel(rolled, layers[-1]))
        if (new >> (self._face - 1) & 1 == 0)[:, new > 0].any():
            raise ValueError("the policy sets aside a face that is not a new face of its roll")

    def ends(self, slot: Int) -> NDArray[np.float64]:
        """(C,): the chances of the results in the columns of a pay-off, from the roll on that a slot stands for.

        The slot of an end is certain to end there.
        """
        return _propagate(self._graph, self._at, slot, self._stop, self._face, self._reroll)


def _with_weasel(dice: NDArray[np.void], weasel: np.uint8) -> NDArray[np.void]:
    again = dice.copy()
    again["weasel"] = weasel
    return again


@kernel
def _propagate(
    graph: Graph,
    at: Situations,
    start: Int,
    stop: NDArray[np.bool_],
    face: NDArray[np.uint8],
    reroll: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """(C,): chances of the results, in the columns of a pay-off, from a slot on: stop (L, N), face (L, X) and reroll (X,) decide."""
    mass = np.zeros(graph.slots)
    mass[start] = 1.0
    for i in range(stop.shape[1]):
        rerolled = 0.0
        for weasel in range(len(stop) - 1, -1, -1):
            stopped, slot = slots_at(graph, at.standing[i], weasel)
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
            _, slot = slots_after(graph, at.rolled[k], weasel, np.int64(face[weasel, k]))
            mass[slot] += chance
        else:
            mass[bust_of(graph, np.int64(at.rolled[k].earned))] += chance
    return rerolled
