"""Plays at random, but stops only when it can claim."""

import numpy as np
from numpy.typing import NDArray

from pickosim.bots.strategy import Strategy
from pickosim.bots.view import BoolArray, IntArray, Turn


class Random(Strategy):
    """Chooses every face and claim at random, and stops with chance 1/2 once it can claim.

    It always uses the golden die, and always rerolls a roll without a new face if the weasel may do
    that. A calibration bot: specified exactly, so that other implementations can be compared with it.

    Origin: pickosim.
    """

    def pick(self, turn: Turn) -> IntArray:
        return turn.choose(turn.legal)

    def stop(self, turn: Turn) -> BoolArray:
        return turn.can_claim & _coin(turn)

    def claim(self, turn: Turn) -> IntArray:
        return turn.tiles[turn.choose(turn.claims)]

    def reroll(self, turn: Turn) -> BoolArray:
        return turn.no_new_face | _coin(turn)

    def keep_new_specialist(self, turn: Turn) -> BoolArray:
        return _coin(turn)

    def rob(self, turn: Turn) -> IntArray:
        return turn.choose(turn.robbable)


def _coin(turn: Turn) -> NDArray[np.bool_]:
    return turn.random() < 0.5
