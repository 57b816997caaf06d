"""Goes for the rivals' top tiles."""

import numpy as np
from numpy.typing import NDArray

from pickosim.bots.heuristics import keep_better, points_to_gain
from pickosim.bots.strategy import Strategy
from pickosim.bots.view import BoolArray, Turn


class Thief(Strategy):
    """Stops on every steal; rolls on past a small tile of the grill while a rival's top is still ahead.

    `patience` is how many points ahead a rival's tile may lie for that, `dice` how many dice it wants
    to have left for the attempt. Of several claims it takes the stolen tile.

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
        waiting = near & (turn.dice_left >= self.dice)
        stop: BoolArray = turn.can_claim & (steal | ~waiting)
        return stop

    def keep_new_specialist(self, turn: Turn) -> BoolArray:
        return keep_better(turn)
