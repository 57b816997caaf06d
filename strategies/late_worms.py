"""Sets worms aside late in a turn."""

import numpy as np
from numpy.typing import NDArray

from pickosim.bots.strategy import Strategy, keep_better, points_to_gain
from pickosim.bots.view import BoolArray, Turn
from pickosim.rules import WORM


class LateWorms(Strategy):
    """Sets `others` other faces aside before worms, unless `plenty` worms or nothing else new is rolled.

    A turn needs only one worm, and as long as no worm is set aside, every further roll has one more
    face that is new.

    Origin: players who write about the game; compare the bot of github.com/smallgig/Pickomino.
    """

    others: int = 2
    plenty: int = 3

    def pick(self, turn: Turn) -> NDArray[np.int16]:
        scores = points_to_gain(turn)
        early = turn.aside.sum(axis=1) < self.others
        few = turn.counts[:, WORM] < self.plenty
        scores[:, WORM] = np.where(early & few, 0, scores[:, WORM])
        return turn.best(scores)

    def stop(self, turn: Turn) -> BoolArray:
        return turn.can_claim

    def keep_new_specialist(self, turn: Turn) -> BoolArray:
        return keep_better(turn)
