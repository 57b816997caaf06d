"""Maximises the expected change in worms of its turn."""

import numpy as np

from pickosim.bots.view import Turn
from pickosim.rules import SPECIALISTS
from pickosim.solver.valuation import Valuation, Worth


class Expected(Valuation):
    """Maximises the expected change in worms of this turn, with perfect dice play.

    A tile is worth its worms, a steal also `rival` times the worms that the victim loses; a fail costs
    the worms of its own top tile if that is lost. Specialists and bratworms have fixed values. A new
    tile covers its old top tile: that protects a share `cover` of the old tile's worms and exposes the
    same share of the new tile's.

    Origin: the one-turn expectation of several public projects, e.g. Thomas ten Cate's (2015,
    frozenfractal.com/blog/2015/5/3/how-to-win-at-pickomino); here with the exact solver.
    """

    rival: float = 1.0
    cover: float = 0.0
    bratworm: float = 1.0
    canned_worm: float = 1.0
    sitting_hen: float = 1.5
    weasel: float = 0.5
    golden_die: float = 0.5
    apple: float = 1.0

    def worth(self, turn: Turn) -> Worth:
        n, worms = len(turn), turn.tile_worms.astype(np.float64)
        tops = turn.worms_on(turn.tops).astype(np.float64)
        # Where nothing is lost to a fail or a thief, there is nothing to protect.
        safe = turn.rules.lost_tile == "kept" and turn.rules.steal == "never"
        cover = 0.0 if safe else self.cover
        covered = cover * tops[:, :1]
        return Worth(
            take=np.broadcast_to(worms, (n, len(worms))) * (1 - cover) + covered,
            steal=tops * (1 - cover + self.rival) + covered,
            fail=-turn.worms_on(turn.at_risk).astype(np.float64),
            bratworm=np.full(n, self.bratworm),
            specialist=np.broadcast_to(self._specialists(), (n, len(SPECIALISTS))),
        )

    def _specialists(self) -> list[float]:
        worth = {"canned-worm": self.canned_worm, "sitting-hen": self.sitting_hen}
        worth |= {"weasel": self.weasel, "golden-die": self.golden_die, "apple": self.apple}
        return [worth.get(name, 0.0) for name in SPECIALISTS]
