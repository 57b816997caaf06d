"""Policies of a turn for `pickosim.solver.law`, simple enough to be followed by hand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pickosim.engine.dice import WORM_BIT
from pickosim.solver.graph import Rolled, Standing


@dataclass(frozen=True)
class LookupPolicy:
    """Picks by roll and faces aside, stops by points; rerolls only what shows no new face."""

    pick: NDArray[np.uint8]
    """(R, 64): face to set aside, by roll and faces aside; 0 where none is new."""
    stop_at: NDArray[np.bool_]
    """(2, P): whether to stop, by worm set aside and points."""

    def stop(self, at: Standing) -> NDArray[np.bool_]:
        worm = (at.aside & WORM_BIT > 0).astype(np.intp)
        stops: NDArray[np.bool_] = self.stop_at[worm, at.points]
        return stops

    def face(self, at: Rolled) -> NDArray[np.uint8]:
        return self.pick[at.roll, at.aside]

    def reroll(self, at: Rolled) -> NDArray[np.bool_]:
        return np.equal(self.pick[at.roll, at.aside], 0)
