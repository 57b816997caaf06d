"""Plays to win, not for worms."""

from functools import cache

import numpy as np

from pickosim.bots.strategy import specialist_worths
from pickosim.bots.view import After, FloatArray
from pickosim.engine.rulebook import TOTALS
from pickosim.solver.graph import Problem
from pickosim.solver.solve import exact_chances
from pickosim.solver.valuation import Valuation


class Winner(Valuation):
    """Maximises an estimate of its chance to win the game, with perfect dice play.

    The chance to finish before a rival is a logistic curve of the lead in worms, the steeper the fewer
    worms are left on the grill (`spread` and `luck`). Specialists and bratworms count as so many worms: what a
    pick-up adds to its score when all four seats play so (docs/built_in_bots.md says how that was measured). Of
    each top tile that can be stolen it counts the exact chance of its total as lost: `threat` times for its
    own, once per rival, and `greed` times for the rivals'. If a result ends the game, it knows who wins.

    Origin: pickosim.
    """

    spread: float = 2.0
    luck: float = 0.6
    threat: float = 0.2
    greed: float = 0.2
    bratworm: float = 1.0
    canned_worm: float = 0.287
    sitting_hen: float = 0.947
    weasel: float = 0.194
    golden_die: float = 0.353
    apple: float = 0.593

    def value(self, after: After) -> FloatArray:
        worms = after.worms + self.bratworm * after.bratworms
        strength = worms + specialist_worths(self)[after.holds]
        lead = strength[:, :1] - strength[:, 1:] + self._thefts(after)
        left = (after.grill * after.tile_worms).sum(axis=1)
        scale = self.spread + self.luck * np.sqrt(left)
        chance = (1 / (1 + np.exp(-lead / scale[:, None]))).prod(axis=1)
        return np.where(after.over, after.win_share[:, 0], chance)

    def _thefts(self, after: After) -> FloatArray:
        """(m, P - 1): by how many worms thefts to come change the lead; each moves a tile's worms twice."""
        chance = _exactly(after.rules.dice)[after.tops] * after.exposed
        chance[:, 0] = 1 - (1 - self.threat * chance[:, 0]) ** (after.players - 1)
        chance[:, 1:] *= self.greed
        moved = 2 * chance * after.worms_on(after.tops)
        thefts: FloatArray = moved[:, 1:] - moved[:, :1]
        return thefts


@cache
def _exactly(dice: int) -> FloatArray:
    """(TOTALS,): the best chance to reach exactly each total in one turn."""
    exactly = exact_chances(Problem(dice))
    by_total = np.zeros(TOTALS)
    by_total[: len(exactly)] = exactly
    return by_total
