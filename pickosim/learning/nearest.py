"""Nets at other tables than those they were trained for.

Features are matched by name, tiles by their value. What a net does not know, it does not see: an option, a specialist, or
more rivals than it was trained with, of whom the best count.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pickosim.bots.view import After, FloatArray
from pickosim.engine.results import POSITION, Positions
from pickosim.engine.rulebook import APPLE, Books, rulebook
from pickosim.learning.features import Layout, groups_of, has_expansion, layout_for
from pickosim.learning.layers import Net
from pickosim.learning.net import all_chances, knows_all, win_chances
from pickosim.learning.weights import Weights
from pickosim.rules import MOST_PLAYERS, SPECIALISTS, RuleSet
from pickosim.solver.valuation import Valuation

_BY_PLAYER = tuple(name for name in POSITION.names or () if POSITION[name].shape == (MOST_PLAYERS,))
"""Fields of a position that have an entry per player."""


class Adapted(NamedTuple):
    """A net as it plays by certain rules."""

    net: Net
    books: Books
    """The rules for as many players as the net knows."""
    layout: Layout
    players: int
    """At the table."""

    def win_chances(self, positions: Positions, seat: int) -> NDArray[np.float64]:
        """(m,): the chance to win of the player at `seat`, who has just moved; where the game is over, the win share."""
        known = int(self.books[0]["players"])
        if known < self.players:
            positions, seat = _with_best_rivals(self.books, positions, seat, self.players, known), 0
        return win_chances(self.books, positions, seat, self.net, layout=self.layout)

    def all_chances(self, positions: Positions, seat: int) -> NDArray[np.float64] | None:
        """(m, P): every player's chance to win, from the one at `seat` on, who has just moved; None if the net does not
        know that: it was trained by an earlier version, or for fewer players.
        """
        if int(self.books[0]["players"]) < self.players or not knows_all(self.net, self.players):
            return None
        return all_chances(self.books, positions, seat, self.net, self.layout)


@lru_cache(maxsize=64)
def adapted(weights: Weights, rules: RuleSet, players: int) -> Adapted:
    """The net of some weights as it plays by these rules at a table of so many."""
    books = rulebook(rules, players).copy()
    books["players"] = min(players, weights.players)
    has = has_expansion(weights.rules)
    net = weights.net._replace(facts=_facts(weights, rules, has))
    return Adapted(net, books, layout_for(books, has), players)


def _facts(weights: Weights, rules: RuleSet, expansion: bool) -> NDArray[np.int16]:
    """(F, FIRST): the rows of the net's facts in the order of the layout for other rules."""
    then, now = sorted(weights.rules.tiles), sorted(rules.tiles)
    nearest = [min(range(len(then)), key=lambda k: (abs(then[k] - tile), k)) for tile in now]
    known = weights.specialists
    places = {
        "": np.arange(len(weights.net.facts)),
        "tile": np.array([*nearest, len(then)]),
        "tiles left": np.minimum(np.arange(len(now) + 1), len(then)),
        "specialist": np.array(
            [known.index(name) if name in known else len(known) for name in (*SPECIALISTS, "")]
        ),
    }
    old = groups_of(len(then), weights.players, len(known) if expansion else 0)
    new = groups_of(len(now), weights.players, len(SPECIALISTS) if expansion else 0)
    rows, first = [np.zeros(1, np.int64)], 1
    for name, (slots, facts) in new.items():
        of_slot, of_fact = (places[axis.of][: axis.size] for axis in (slots, facts))
        row = first + of_slot[:, None] * old[name][1].size + of_fact
        # A slot that the net does not have, as that of a specialist it does not know, says nothing.
        rows.append(np.where(of_slot[:, None] < old[name][0].size, row, 0).reshape(-1))
        first += old[name][0].size * old[name][1].size
    return np.ascontiguousarray(weights.net.facts[np.concatenate(rows)])


def _with_best_rivals(
    books: Books, positions: Positions, seat: int, players: int, known: int
) -> Positions:
    """The positions with the mover at seat 0, and so many players in all; rivals stay in their order."""
    steps = (seat + np.arange(players)) % players
    apples = int(books[0]["apple_worms"]) * (positions["holds"] == APPLE)
    scores = (positions["worms"] + positions["bratworms"] + apples)[:, steps[1:]]
    best = np.argsort(-scores, axis=1, kind="stable")[:, : known - 1]
    who = np.pad(1 + np.sort(best, axis=1), ((0, 0), (1, 0)))
    fewer = positions.copy()
    for name in _BY_PLAYER:
        fewer[name][:, :known] = np.take_along_axis(positions[name], steps[who], axis=1)
    return fewer


def nearest(known: Iterable[Weights], rules: RuleSet, players: int) -> Weights | None:
    """The weights whose net plays by some rules: with or without the expansion as they are, and of as many players,
    or the most there are; None if all have more players.
    """
    able = [weights for weights in known if not weights.objection(players)]
    return max(able, key=lambda one: (is_related(one, rules), one.players), default=None)


def is_related(weights: Weights, rules: RuleSet) -> bool:
    """Whether the expansion is in the game by both rules or by neither."""
    return has_expansion(weights.rules) == has_expansion(rules)


def chances_after(after: After, weights: Weights) -> FloatArray:
    """(m,): the chance to win after each result, by a net; where the game is over, the win share."""
    return adapted(weights, after.rules, after.players).win_chances(after._table, after.seat)


def all_chances_after(after: After, weights: Weights) -> FloatArray | None:
    """(m, P): every player's chance to win after each result, from the one who has just moved on; None if not known."""
    return adapted(weights, after.rules, after.players).all_chances(after._table, after.seat)


class Learned(Valuation):
    """Maximises the chance to win that a net says, with perfect dice play."""

    weights: Weights

    def value(self, after: After) -> FloatArray:
        return chances_after(after, self.weights)

    def chances(self, after: After) -> FloatArray | None:
        return all_chances_after(after, self.weights)
