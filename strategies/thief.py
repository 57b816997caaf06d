"""Goes for the rivals' top tiles."""

import numpy as np
from numpy.typing import NDArray

from pickosim.bots.strategy import Strategy, keep_better, points_to_gain
from pickosim.bots.view import BoolArray, Turn


class Thief(Strategy):
    """Stops on any claim, but rolls on past a grill tile while a rival's top tile is within reach.

    Within reach: at most `patience` points above its total, with at least `dice` dice left. Of several
    claims it chooses the steal.

    Origin: pickosim.
    """

    patience: int = 4
    dice: int = 3

    def pick(self, turn: Turn) -> NDArray[np.int16]:
        return turn.best(points_to_gain(turn))

    def stop(self, turn: Turn) -> BoolArray:
        ahead = turn.tops[:, 1:] - turn.total[:, None]
        steal = (ahead == 0).any(axis=1)
        near = ((ahead > 0) & (ahead <= self.patience)).any(axis=1)
        waiting = near & (turn.dice_left >= self.dice) & (turn.rules.steal != "never")
        stop: BoolArray = turn.can_claim & (steal | ~waiting)
        return stop

    def keep_new_specialist(self, turn: Turn) -> BoolArray:
        return keep_better(turn)
