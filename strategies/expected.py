"""Maximises the expected change in worms of its turn."""

import numpy as np

from pickosim.bots.strategy import specialist_worths
from pickosim.bots.view import After, FloatArray, TableView
from pickosim.solver.valuation import Valuation


class Expected(Valuation):
    """Maximises the expected change in worms of this turn, with perfect dice play.

    Counts the worms on its own tiles, less `rival` times those on the rivals' tiles, so that a steal counts
    twice. Specialists and bratworms have fixed values; those of specialists are what a pick-up adds to its
    score when all four seats play so (docs/built_in_bots.md says how that was measured). Of its top tile,
    which it may lose again, a share `cover` does not count: a new tile protects the old top tile and is
    exposed itself.

    Origin: the one-turn expectation of several public projects, e.g. Thomas ten Cate's (2015,
    frozenfractal.com/blog/2015/5/3/how-to-win-at-pickomino); here with the exact solver.
    """

    rival: float = 1.0
    cover: float = 0.0
    bratworm: float = 1.0
    canned_worm: float = 0.215
    sitting_hen: float = 1.102
    weasel: float = 0.163
    golden_die: float = 0.32
    apple: float = 0.731

    def value(self, after: After) -> FloatArray:
        change: FloatArray = self._holdings(after) - self._holdings(after.turn)[after.game]
        return change

    def _holdings(self, table: TableView) -> FloatArray:
        """(n,): what the player has and the rivals have not, in worms."""
        rivals = table.worms[:, 1:].sum(axis=1, dtype=np.int16)
        holdings: FloatArray = table.worms[:, 0] - self.rival * rivals
        if self.cover:
            holdings -= self.cover * table.worms_on(table.tops[:, 0])
        if table.rules.bratworms:
            holdings += self.bratworm * table.bratworms[:, 0]
        if table.rules.specialists:
            holdings += specialist_worths(self)[table.holds[:, 0]]
        return holdings
