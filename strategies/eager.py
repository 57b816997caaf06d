"""Takes the most points each roll and stops on the first tile it can claim."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from pickosim.bots.strategy import Strategy
from pickosim.bots.view import BoolArray, Turn
from pickosim.engine.dice import ALL_FACES, FACES, POINTS, rolls


class Eager(Strategy):
    """Takes the most points each roll and stops on the first tile it can claim.

    Of equal points it prefers worms, then the higher number; every other choice is the default of
    `Strategy`. A calibration bot: defined to the letter, because others measure engines with it.

    Origin: pickosim; compare safe_ai of github.com/alexdriedger/PickominoSimulation.
    """

    def pick(self, turn: Turn) -> NDArray[np.uint8]:
        return turn.look_up(_most_points(turn.rules.dice + 1))

    def stop(self, turn: Turn) -> BoolArray:
        return turn.can_claim


@cache
def _most_points(dice: int) -> NDArray[np.uint8]:
    """(R, 64): by roll and set of faces set aside, the new face with most points."""
    counts = rolls(dice)["counts"]
    face = np.arange(FACES + 1)
    # Points first, then the face itself, of which the worm, number 6, is the highest.
    score = (counts.astype(np.int64) * POINTS) * (FACES + 1) + face
    sets = np.arange(ALL_FACES + 1)
    lookup = np.zeros((len(score), len(sets)), np.uint8)
    best = np.zeros(lookup.shape, np.int64)
    for f in range(1, FACES + 1):
        new = ((sets >> (f - 1)) & 1 == 0)[None, :] & (counts[:, f] > 0)[:, None]
        better = new & (score[:, f, None] > best)
        lookup[better] = f
        best = np.where(better, score[:, f, None], best)
    # Stored set by set: few different sets occur at the same time, so that fewer cache lines are read.
    return np.asfortranarray(lookup)
