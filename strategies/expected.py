"""Maximises the expected change in worms of its turn."""

from pickosim.bots.heuristics import specialist_worths
from pickosim.bots.table_view import FloatArray
from pickosim.bots.view import After
from pickosim.solver.valuation import Valuation


class Expected(Valuation):
    """Maximises the expected change in worms of this turn, with perfect dice play.

    Counts the worms on its own tiles, less `rival` times those on the rivals' tiles, so that a steal counts
    twice. Specialists and bratworms have fixed values. Of its top tile, which it may lose again, a share
    `cover` does not count: a new tile protects the old top tile and is exposed itself.

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

    def value(self, after: After) -> FloatArray:
        before, game = after.turn, after.game
        worms = after.worms - before.worms[game]
        bratworms = after.bratworms[:, 0] - before.bratworms[game, 0]
        top = after.worms_on(after.tops[:, 0]) - before.worms_on(before.tops[:, 0])[game]
        specialists = specialist_worths(self)
        value: FloatArray = (
            worms[:, 0]
            - self.rival * worms[:, 1:].sum(axis=1)
            - self.cover * top
            + self.bratworm * bratworms
            + specialists[after.holds[:, 0]]
            - specialists[before.holds[game, 0]]
        )
        return value
