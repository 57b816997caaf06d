"""Features: a position after a turn as a short list of facts, each the number of a row in a table of weights.

Players are counted from the one who has just moved, so that a position has the same features whatever the seats. A
feature group has one *slot* or several. A slot holds the number of the fact that is true, or 0 where there is none.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pickosim.engine.kernels import as_int, inlined, kernel
from pickosim.engine.results import Position, Positions
from pickosim.engine.rulebook import APPLE, NOTHING, SEATS, Books, Rulebook
from pickosim.engine.table import highest as highest_of
from pickosim.engine.table import lowest as lowest_of
from pickosim.engine.tally import size_of
from pickosim.rules import SPECIALISTS, RuleSet

FEATURES_VERSION = 1
"""Raised when a position gets other features: weights of another version are refused."""

MOST_LEAD = 16
"""Larger leads in worms count as this."""

CLOSE_LEAD = 9
"""The same, where the lead is combined with what is left on the grill."""

MOST_LEFT = 45
"""Worms on the grill; more count as this."""

MOST_COUNT = 7
"""Tiles of a stack, bratworms and tiles with as many worms; more count as this."""

MOST_TURNS = 15
"""Turns left until the turn limit; more count as this."""

WORMS_APART = 40
"""Where there are many more worms than in the box, worms are counted in larger units, of which there are so many."""

_LEFT_ENDS = np.array([0, 1, 2, 3, 4, 6, 9, 13, 18, 24, 32])
"""Worms left, roughly: the highest number of each group but the last."""

_GROUPS = len(_LEFT_ENDS) + 1
_CLASSES = 4


class Layout(NamedTuple):
    """Where the facts of each group begin, by the rules and the number of players."""

    grill: int
    top: int
    second: int
    size: int
    lead: int
    tie: int
    left: int
    tiles_left: int
    lead_left: int
    lead_count: int
    classes: int
    lowest: int
    highest: int
    turns: int
    holds: int
    bratworms: int
    place: int
    supply: int
    facts: int
    """How many there are, with the empty one, number 0."""
    slots: int
    unit: int
    """Worms per step of a lead."""


class Axis(NamedTuple):
    """The slots of a group of features, or the facts of each slot."""

    size: int
    of: str = ""
    """What they are numbered by, if that differs between rules: `tile`, `tiles left` or `specialist`; one more stands
    for none."""


def groups_of(tiles: int, players: int, specialists: int) -> dict[str, tuple[Axis, Axis]]:
    """The slots of each group of features, and the facts of each slot; no specialists: a game without the expansion."""
    leads, close = Axis(2 * MOST_LEAD + 1), Axis(2 * CLOSE_LEAD + 1)
    one, each, rivals, some = Axis(1), Axis(players), Axis(players - 1), Axis(MOST_COUNT + 1)
    tile, count = Axis(tiles + 1, "tile"), Axis(tiles + 1, "tiles left")
    groups = {
        "grill": (Axis(tiles, "tile"), one),
        "top": (each, tile),
        "second": (each, tile),
        "size": (each, some),
        "lead": (rivals, leads),
        "tie": (rivals, Axis(3)),
        "left": (one, Axis(MOST_LEFT + 1)),
        "tiles_left": (one, count),
        "lead_left": (close, Axis(_GROUPS)),
        "lead_count": (close, count),
        "classes": (Axis(_CLASSES), some),
        "lowest": (one, tile),
        "highest": (one, tile),
        "turns": (one, Axis(MOST_TURNS + 1)),
    }
    if specialists:
        groups |= {
            "holds": (each, Axis(specialists + 1, "specialist")),
            "bratworms": (each, some),
            "place": (Axis(specialists, "specialist"), Axis(tiles, "tile")),
            "supply": (one, some),
        }
    return groups


_COMBINED = ("lead_left", "lead_count")
"""Groups of a single slot, whose facts are pairs."""


@cache
def layout_of(tiles: int, players: int, specialists: int, worms: int) -> Layout:
    """The layout for so many tiles with so many worms in all."""
    begin, at, slots = dict.fromkeys(("holds", "bratworms", "place", "supply"), 0), 1, 0
    for name, (number, facts) in groups_of(tiles, players, specialists).items():
        begin[name] = at
        at += number.size * facts.size
        slots += 1 if name in _COMBINED else number.size
    return Layout(**begin, facts=at, slots=slots, unit=max(1, round(worms / WORMS_APART)))


def has_expansion(rules: RuleSet) -> bool:
    """Whether there are specialists or bratworms."""
    return bool(rules.specialists) or rules.bratworms > 0


def layout_for(books: Books, expansion: bool | None = None) -> Layout:
    """The layout for a rulebook, with or without the features of the expansion; by default as its rules are."""
    book = books[0]
    tiles = int(book["tiles"])
    if expansion is None:
        expansion = bool(book["specialists"]) or int(book["bratworms"]) > 0
    specialists = len(SPECIALISTS) if expansion else 0
    return layout_of(tiles, int(book["players"]), specialists, int(book["worms"][:tiles].sum()))


def features_of(books: Books, positions: Positions, seats: NDArray[np.int64]) -> NDArray[np.int16]:
    """(m, slots): the features of positions, each as seen by the player at `seats` (m,), who has just moved."""
    layout = layout_for(books)
    out = np.empty((len(positions), layout.slots), np.int16)
    _features(books, positions, seats, layout, LEFT_GROUP, out)
    return out


LEFT_GROUP = np.searchsorted(_LEFT_ENDS, np.arange(MOST_LEFT + 1))
"""The group of so many worms left."""


@kernel
def _features(
    books: Books,
    positions: Positions,
    seats: NDArray[np.int64],
    layout: Layout,
    left_group: NDArray[np.int64],
    out: NDArray[np.int16],
) -> None:
    by_worms = tiles_by_worms(books[0])
    for k in range(len(positions)):
        encode(books[0], positions[k], seats[k], layout, left_group, by_worms, out[k])


@inlined
def tiles_by_worms(book: Rulebook) -> NDArray[np.int64]:
    """(_CLASSES,): the set of tiles with each number of worms; more are in none."""
    sets = np.zeros(_CLASSES, np.int64)
    for tile in range(book.tiles):
        if book.worms[tile] < _CLASSES:
            sets[book.worms[tile]] |= 1 << tile
    return sets


@inlined
def _in_units(worms: int, layout: Layout) -> int:
    """Worms in steps of a lead. The unit is 1 nearly always, and a division takes longer than all the rest."""
    return worms if layout.unit == 1 else worms // layout.unit


@inlined
def _bounded(number: int, low: int, high: int) -> int:
    return min(max(number, low), high)


@inlined
def _score(book: Rulebook, position: Position, seat: int) -> int:
    score = as_int(position.worms[seat]) + as_int(position.bratworms[seat])
    return score + (book.apple_worms if position.holds[seat] == APPLE else 0)


@inlined
def encode(
    book: Rulebook,
    position: Position,
    seat: int,
    layout: Layout,
    left_group: NDArray[np.int64],
    by_worms: NDArray[np.int64],
    out: NDArray[np.int16],
) -> None:
    """Write the features of one position, as seen from a seat, to `out` (slots,)."""
    tiles, players = book.tiles, book.players
    grill = as_int(position.grill)
    left = 0
    for tile in range(tiles):
        here = (grill >> tile) & 1
        out[tile] = (layout.grill + tile) * here
        left += as_int(book.worms[tile]) * here
    k = tiles
    count = size_of(grill)
    ones, twos = size_of(grill & by_worms[1]), size_of(grill & by_worms[2])
    threes = size_of(grill & by_worms[3])
    lowest = lowest_of(grill) if grill else tiles
    highest = highest_of(grill) if grill else tiles
    mine, mine_best = _score(book, position, seat), as_int(position.highest[seat])
    lead_of_best = MOST_LEAD * layout.unit
    player = as_int(seat)
    for step in range(players):
        top, second = as_int(position.top[player]), as_int(position.second[player])
        out[k] = layout.top + step * (tiles + 1) + min(top, tiles)
        out[k + 1] = layout.second + step * (tiles + 1) + min(second, tiles)
        size = min(as_int(position.tiles[player]), MOST_COUNT)
        out[k + 2] = layout.size + step * (MOST_COUNT + 1) + size
        k += 3
        if step:
            lead = mine - _score(book, position, player)
            lead_of_best = min(lead_of_best, lead)
            steps = _bounded(_in_units(lead, layout), -MOST_LEAD, MOST_LEAD) + MOST_LEAD
            out[k] = layout.lead + (step - 1) * (2 * MOST_LEAD + 1) + steps
            # A stack without tiles has the highest tile NOTHING, which counts below all.
            best = as_int(position.highest[player])
            a, b = (mine_best + 1) % (NOTHING + 1), (best + 1) % (NOTHING + 1)
            out[k + 1] = layout.tie + (step - 1) * 3 + (a > b) * 2 + (a == b)
            k += 2
        player = player + 1 if player + 1 < players else 0
    left = min(_in_units(left, layout), MOST_LEFT)
    lead = _bounded(_in_units(lead_of_best, layout), -CLOSE_LEAD, CLOSE_LEAD) + CLOSE_LEAD
    out[k] = layout.left + left
    out[k + 1] = layout.tiles_left + count
    out[k + 2] = layout.lead_left + lead * _GROUPS + left_group[left]
    out[k + 3] = layout.lead_count + lead * (tiles + 1) + count
    out[k + 4] = layout.classes + min(ones, MOST_COUNT)
    out[k + 5] = layout.classes + (MOST_COUNT + 1) + min(twos, MOST_COUNT)
    out[k + 6] = layout.classes + 2 * (MOST_COUNT + 1) + min(threes, MOST_COUNT)
    more = count - ones - twos - threes
    out[k + 7] = layout.classes + 3 * (MOST_COUNT + 1) + min(more, MOST_COUNT)
    out[k + 8] = layout.lowest + lowest
    out[k + 9] = layout.highest + highest
    out[k + 10] = layout.turns + _bounded(book.turn_limit - as_int(position.turn), 0, MOST_TURNS)
    k += 11
    if layout.holds:
        for step in range(players):
            held = min(as_int(position.holds[player]), len(position.place))
            out[k] = layout.holds + step * (len(position.place) + 1) + held
            bratworms = min(as_int(position.bratworms[player]), MOST_COUNT)
            out[k + 1] = layout.bratworms + step * (MOST_COUNT + 1) + bratworms
            k += 2
            player = player + 1 if player + 1 < players else 0
        for specialist in range(len(position.place)):
            place = as_int(position.place[specialist])
            out[k] = layout.place + specialist * tiles + place if place < SEATS else 0
            k += 1
        out[k] = layout.supply + min(as_int(position.supply), MOST_COUNT)


def comparable(rules: RuleSet) -> RuleSet:
    """The rules without what a net need not be trained for anew: names, the turn limit, where specialists start.

    Where a specialist is, if anywhere, is a feature: one that starts elsewhere, at a seat or not at all leads to
    positions that also come up in the middle of ordinary games.
    """
    same = {"name": "", "title": "", "turn_limit": 1, "specialists": {}}
    return rules.model_copy(update=same)
