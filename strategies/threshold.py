"""Rolls on until its total reaches a target."""

import numpy as np
from numpy.typing import NDArray

from pickosim.bots.strategy import Strategy, keep_better, points_to_gain
from pickosim.bots.view import BoolArray, Turn


class Threshold(Strategy):
    """Takes the most points each roll and stops on a claim once its total reaches `target`.

    It also stops when at most `last_dice` dice are left, since another roll would then fail more often
    than not, and when no tile of at least `target` is left on the grill.

    Origin: the stopping rule of most published beginner bots.
    """

    target: int = 25
    last_dice: int = 2

    def pick(self, turn: Turn) -> NDArray[np.int16]:
        return turn.best(points_to_gain(turn))

    def stop(self, turn: Turn) -> BoolArray:
        enough = (turn.total >= self.target) | (turn.dice_left <= self.last_dice)
        ahead = turn.grill[:, turn.tiles >= self.target].any(axis=1)
        return turn.can_claim & (enough | ~ahead)

    def keep_new_specialist(self, turn: Turn) -> BoolArray:
        return keep_better(turn)
