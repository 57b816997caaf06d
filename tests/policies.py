"""Policies of a turn for `pickosim.solver.law`, simple enough to be followed by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pickosim.engine.dice import WORM_BIT
from pickosim.solver.graph import BUST, WORTH, Problem, graph
from pickosim.solver.law import Decisions, Policy
from pickosim.solver.solve import exact_chances, payoff_rows, solve


@dataclass(frozen=True)
class LookupPolicy:
    """Picks by roll and faces aside, stops by points; rerolls only what shows no new face."""

    pick: NDArray[np.uint8]
    """(R, 64): face to set aside, by roll and faces aside; 0 where none is new."""
    stop_at: NDArray[np.bool_]
    """(2, P): whether to stop, by worm set aside and points."""

    def stop(self, dice: NDArray[np.void]) -> NDArray[np.bool_]:
        worm = (dice["aside"] & WORM_BIT > 0).astype(np.intp)
        stops: NDArray[np.bool_] = self.stop_at[worm, dice["points"]]
        return stops

    def face(self, dice: NDArray[np.void]) -> NDArray[np.uint8]:
        return self.pick[dice["roll"], dice["aside"]]

    def reroll(self, dice: NDArray[np.void]) -> NDArray[np.bool_]:
        return np.equal(self.face(dice), 0)


class Law(NamedTuple):
    """Chances of a turn's results; the first index, of B, is 1 if enough 1s for the bonus were set aside.

    B is 2, or 1 if the problem has no bonus.
    """

    bust: NDArray[np.float64]
    """(B,): a roll without a new face."""
    stopped: NDArray[np.float64]
    """(B, 2, P): a stop, by worm set aside and points."""


def law(problem: Problem, policy: Policy) -> Law:
    """The exact distribution of a turn's result."""
    plan = graph(problem)
    blocks = Decisions(problem, policy).ends(plan.start).reshape(problem.blocks, -1)
    return Law(blocks[:, BUST], blocks[:, WORTH:].reshape(-1, 2, plan.points))


class Chances(NamedTuple):
    """The best chances of a turn to stop with some points and a worm, (P,) by points."""

    at_least: NDArray[np.float64]
    exactly: NDArray[np.float64]


def chances(problem: Problem) -> Chances:
    """The best chance of each total if nothing else matters."""
    plan = graph(problem)
    hit = np.triu(np.ones((plan.points, plan.points)))
    solutions = solve(plan, payoff_rows(np.zeros(len(hit)), np.zeros_like(hit), hit))
    return Chances(solutions[:, plan.start], exact_chances(problem))
