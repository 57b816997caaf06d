"""Secures a worm first, and never rolls on once there is something to claim."""

import numpy as np
from numpy.typing import NDArray

from pickosim.bots.heuristics import keep_better, points_to_gain
from pickosim.bots.strategy import Strategy
from pickosim.bots.view import BoolArray, Turn
from pickosim.rules import WORM


class Cautious(Strategy):
    """Sets worms aside as soon as `worms` of them show, then takes the most points, and stops at once.

    Without a worm every turn fails, so it gets that done first.

    Origin: an everyday player's caution.
    """

    worms: int = 1

    def pick(self, turn: Turn) -> NDArray[np.int16]:
        scores = points_to_gain(turn)
        scores[:, WORM] += np.int16(100) * (turn.counts[:, WORM] >= self.worms)
        return turn.best(scores)

    def stop(self, turn: Turn) -> BoolArray:
        return turn.can_claim

    def keep_new_specialist(self, turn: Turn) -> BoolArray:
        return keep_better(turn)
