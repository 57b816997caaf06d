"""A bot that plays by a net: it maximises the net's chance to win."""

from __future__ import annotations

from pickosim.bots.table_view import FloatArray
from pickosim.bots.view import After
from pickosim.learning.net import Net, win_chances
from pickosim.solver.valuation import Valuation


class Learned(Valuation):
    """Maximises the chance to win that a net says, with perfect dice play."""

    net: Net

    def value(self, after: After) -> FloatArray:
        return chances_after(after, self.net)


def chances_after(after: After, net: Net) -> FloatArray:
    """(m,): the chance to win after each result, by a net; where the game is over, the win share."""
    return win_chances(after._books, after._table, after.seat, net)
