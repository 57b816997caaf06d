"""Secures a worm first, and stops as soon as it can claim a tile."""

import numpy as np
from numpy.typing import NDArray

from pickosim.bots.strategy import Strategy, keep_better, points_to_gain
from pickosim.bots.view import BoolArray, Turn
from pickosim.rules import WORM


class Cautious(Strategy):
    """Sets worms aside as soon as `worms` of them show, otherwise takes the most points; stops on any claim.

    A turn without a worm fails, so it secures one first.

    Origin: the play of cautious casual players.
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
