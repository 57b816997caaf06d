"""Rolls on until its total reaches a target."""

import numpy as np
from numpy.typing import NDArray

from pickosim.dice import POINTS
from pickosim.strategy import Strategy
from pickosim.view import BoolArray, Turn


class Threshold(Strategy):
    """Takes the most points each roll and stops on a claim once its total reaches `target`.

    It stops short of the target when few dice are left (`last_dice`), where a further roll busts
    more often than not. The stopping rule of most published beginners' bots.
    """

    target: int = 25
    last_dice: int = 2

    def pick(self, turn: Turn) -> NDArray[np.int16]:
        return turn.best(turn.counts * POINTS)

    def stop(self, turn: Turn) -> BoolArray:
        enough = (turn.total >= self.target) | (turn.dice_left <= self.last_dice)
        return turn.can_claim & enough
