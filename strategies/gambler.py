"""Goes for tiles with many worms."""

import numpy as np
from numpy.typing import NDArray

from pickosim.bots.strategy import Strategy, keep_better, points_to_gain
from pickosim.bots.view import BoolArray, Turn


class Gambler(Strategy):
    """Takes the most points each roll and rolls on until it can claim a tile with at least `worms` worms.

    When no such tile is left on the grill, or only one die is left, it stops on any claim.

    Origin: pickosim.
    """

    worms: int = 3

    def pick(self, turn: Turn) -> NDArray[np.int16]:
        return turn.best(points_to_gain(turn))

    def stop(self, turn: Turn) -> BoolArray:
        wanted = turn.tile_worms >= self.worms
        worth_it = turn.claims[:, wanted].any(axis=1)
        on_grill = turn.grill[:, wanted].any(axis=1)
        return turn.can_claim & (worth_it | ~on_grill | (turn.dice_left <= 1))

    def keep_new_specialist(self, turn: Turn) -> BoolArray:
        return keep_better(turn)
