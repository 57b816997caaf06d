"""Plays to win, not for worms."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from pickosim.bots.view import FloatArray, Turn
from pickosim.engine.rulebook import TOTALS
from pickosim.rules import SPECIALISTS
from pickosim.solver.graph import Problem
from pickosim.solver.solve import chances
from pickosim.solver.valuation import Valuation, Worth


class Winner(Valuation):
    """Maximises an estimate of its chance to win the game, with perfect dice play.

    The chance to finish before a rival is a logistic curve of the lead in worms, the steeper the fewer
    worms are left on the grill (`spread` and `luck`); a claim that empties the grill wins or loses for
    good. Looking past its own turn it counts `danger` of its top tile as lost to a later fail, and what
    the rivals can steal next by the exact chance of that total times `threat`; of the rivals' tops it
    counts `greed` times that chance as its own.

    Origin: pickosim.
    """

    spread: float = 2.0
    luck: float = 0.6
    danger: float = 0.0
    threat: float = 0.2
    greed: float = 0.2
    bratworm: float = 1.0
    canned_worm: float = 1.0
    sitting_hen: float = 1.5
    weasel: float = 0.5
    golden_die: float = 0.5
    apple: float = 1.0

    def worth(self, turn: Turn) -> Worth:
        worms = turn.tile_worms.astype(np.float64)
        own_top = turn.worms_on(turn.tops[:, 0]).astype(np.float64)
        left = (turn.grill * worms).sum(axis=1)
        standing = self._standing(turn)
        tile_risk = self._risk(turn, turn.tiles) * worms
        now = self._risk(turn, turn.tops[:, 0]) * own_top
        take = self._chance(
            standing + (worms - tile_risk + now[:, None])[:, :, None], left[:, None] - worms
        )
        last = turn.grill.sum(axis=1) == 1
        final = self._final(turn)[:, None, :] + worms[:, None]
        take = np.where(last[:, None], _won(final), take)
        steal = np.stack(
            [self._steal(turn, standing, player, now, left) for player in range(turn.players)], 1
        )
        fail = self._fail(turn, standing, now, left)
        one_more = self._chance(standing + 1.0, left[:, None])
        one_less = self._chance(standing - 1.0, left[:, None])
        worm = (one_more - one_less)[:, 0] / 2
        return Worth(take, steal, fail, worm * self.bratworm, worm[:, None] * self._specialists())

    def _standing(self, turn: Turn) -> FloatArray:
        """(n, 1, P - 1): the lead over each rival, including what its top tile may be worth to us."""
        tops = turn.tops[:, 1:]
        steals = turn.rules.steal != "never"
        greed = steals * self.greed * _exactly(turn.rules.dice)[tops] * turn.worms_on(tops)
        own_risk = self._risk(turn, turn.tops[:, 0]) * turn.worms_on(turn.tops[:, 0])
        lead = turn.scores[:, :1] - turn.scores[:, 1:] + 2 * greed - own_risk[:, None]
        result: FloatArray = lead[:, None, :].astype(np.float64)
        return result

    def _risk(self, turn: Turn, tops: NDArray[np.int16]) -> FloatArray:
        """Share of a top tile's worms that its owner will lose; a theft counts twice."""
        danger = 0.0 if turn.rules.lost_tile == "kept" else self.danger
        threat = 0.0 if turn.rules.steal == "never" else self.threat
        stolen = 1 - (1 - threat * _exactly(turn.rules.dice)[tops]) ** (turn.players - 1)
        risk: FloatArray = np.where(tops > 0, danger + 2 * stolen, 0.0)
        return risk

    def _steal(
        self, turn: Turn, standing: FloatArray, player: int, now: FloatArray, left: FloatArray
    ) -> FloatArray:
        """(n,): stealing a player's top tile: a gain for us, a loss for that rival."""
        tops = turn.tops[:, player]
        worms = turn.worms_on(tops).astype(np.float64)
        gain = worms * (1 - self._risk(turn, tops)) + now
        lead = standing + gain[:, None, None]
        if player:
            lead[:, 0, player - 1] += worms
        return self._chance(lead, left[:, None])[:, 0]

    def _fail(
        self, turn: Turn, standing: FloatArray, now: FloatArray, left: FloatArray
    ) -> FloatArray:
        """(n,): the tile at risk is lost, and a tile is flipped where the rules say so."""
        tile = turn.at_risk
        lost = turn.worms_on(tile).astype(np.float64)
        returned = np.zeros_like(tile) if turn.rules.lost_tile == "removed" else tile
        highest = np.where(turn.grill, turn.tiles, 0).max(axis=1)
        flips = (tile > 0) & (turn.rules.flip_returned | (highest > returned))
        flips |= turn.rules.flip_without_return & (tile == 0)
        flipped = turn.worms_on(np.where(flips, np.maximum(highest, returned), 0))
        lead = standing + np.where(tile > 0, now - lost, 0.0)[:, None, None]
        grill = turn.grill.sum(axis=1) + (returned > 0) - flips
        left = left + turn.worms_on(returned) - flipped
        going_on = self._chance(lead, left[:, None])[:, 0]
        return np.where(grill == 0, _won(self._final(turn) - lost[:, None]), going_on)

    def _final(self, turn: Turn) -> FloatArray:
        """(n, P - 1): the lead over each rival if the game ended now."""
        lead: FloatArray = (turn.scores[:, :1] - turn.scores[:, 1:]).astype(np.float64)
        return lead

    def _chance(self, lead: FloatArray, left: FloatArray) -> FloatArray:
        """(n, k): chance to finish before all rivals, from the leads over each of them (n, k, P - 1)."""
        scale = self.spread + self.luck * np.sqrt(np.maximum(left, 0.0))
        chance: FloatArray = (1 / (1 + np.exp(-lead / scale[:, :, None]))).prod(axis=2)
        return chance

    def _specialists(self) -> FloatArray:
        worth = {"canned-worm": self.canned_worm, "sitting-hen": self.sitting_hen}
        worth |= {"weasel": self.weasel, "golden-die": self.golden_die, "apple": self.apple}
        return np.array([worth.get(name, 0.0) for name in SPECIALISTS])


def _won(lead: FloatArray) -> FloatArray:
    """The game is over: 1 with a lead over all rivals (last axis), halved for each tie."""
    won: FloatArray = (0.5 + 0.5 * np.sign(lead)).prod(axis=-1)
    return won


@cache
def _exactly(dice: int) -> FloatArray:
    """(TOTALS,): the best chance to reach exactly each total in one turn."""
    exactly = chances(Problem(dice)).exactly
    by_total = np.zeros(TOTALS)
    by_total[: len(exactly)] = exactly
    return by_total
