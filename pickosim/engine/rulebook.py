"""The rulebook: a rule set for a number of players, as the numbers that kernels read.

Tiles are numbered 0, 1, 2, … by ascending value, and a set of tiles is a bit mask.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Protocol

import numpy as np
from numpy.typing import NDArray

from pickosim.engine.dice import first_roll
from pickosim.engine.kernels import I64, Bool, dtype_of
from pickosim.errors import RulesError
from pickosim.rules import MOST_DICE, MOST_TILES, SPECIALISTS, RuleSet, Seat, check_players

TOTALS = 128
"""Length of lookups by total: 13 dice and a canned worm make 70 at most."""

NOTHING = 255
"""No tile on the stack, no specialist in hand, a specialist out of the game."""

SEATS = 64
"""Places of specialists: below SEATS a tile's number, SEATS + s with seat s, NOTHING out of the game."""

COMPILED = ("tiles", "exact_only", "specialists")
"""Options whose field in the rulebook holds something derived from them."""

CANNED_WORM, SITTING_HEN, RAVEN, WEASEL, GOLDEN_DIE, APPLE = range(len(SPECIALISTS))


class Rulebook(Protocol):
    """A record of BOOK, as kernels read it."""

    players: I64
    dice: I64
    # number of the first roll of n white dice
    first_roll: Annotated[NDArray[np.uint32], MOST_DICE + 2]
    tiles: I64  # how many there are
    values: Annotated[NDArray[np.uint8], MOST_TILES]  # value of each tile
    worms: Annotated[NDArray[np.uint8], MOST_TILES]  # worms on each tile
    grill: I64  # all tiles: the grill at the start
    exact_only: I64  # tiles that only their exact total takes, and nobody steals
    stealable: I64  # tiles that can be stolen from the top of a stack
    # By total:
    # the tile of exactly that value, an empty set without it
    exact: Annotated[NDArray[np.int64], TOTALS]
    # tiles of a lower value that it can take, the exact-only ones left out
    lower: Annotated[NDArray[np.int64], TOTALS]
    reach: Annotated[NDArray[np.int64], TOTALS]  # both: what it can take from the grill
    any_lower: Bool
    may_steal: Bool  # or leave it; where nothing can be stolen, it makes no difference
    keep_lost: Bool
    remove_lost: Bool
    flip_without_return: Bool
    flip_returned: Bool
    exact_only_returns: Bool
    hen_saves_flip: Bool
    highest_tile_breaks_ties: Bool
    bratworms: I64
    bratworm_ones: I64
    specialists: Bool  # whether any is in the game
    start: Annotated[NDArray[np.uint8], len(SPECIALISTS)]  # place of each at the start
    keep_new: Bool  # of two specialists; the player chooses if neither of these is true
    keep_old: Bool
    weasel_rescues_bust: Bool
    golden_die_faces: Annotated[NDArray[np.uint8], 6]
    apple_worms: I64
    turn_limit: I64


BOOK = dtype_of(Rulebook)
"""Fields of a rulebook; options have the same names as in a rule set where possible."""

SAME_IN_RULES = [
    name for name in BOOK.names or () if name in RuleSet.model_fields and name not in COMPILED
]
"""Options that kernels read as they are."""

Books = NDArray[np.void]
"""(1,) of BOOK: how a rulebook is passed to kernels. (Passing a single record is slow.)"""


@cache
def rulebook(rules: RuleSet, players: int) -> Books:
    """The rulebook of `rules` for a number of players, which the rules must allow."""
    check_players(players)
    books = np.zeros(1, BOOK)
    book = books[0]
    values = sorted(rules.tiles)
    for option in SAME_IN_RULES:
        book[option] = getattr(rules, option)
    book["players"] = players
    book["first_roll"] = [first_roll(dice) for dice in range(MOST_DICE + 2)]
    book["tiles"] = len(values)
    book["values"][: len(values)] = values
    book["worms"][: len(values)] = [rules.tiles[value] for value in values]
    book["grill"] = (1 << len(values)) - 1
    for tile, value in enumerate(values):
        book["exact"][value] = 1 << tile
        if value in rules.exact_only:
            book["exact_only"] |= 1 << tile
        elif rules.claim != "exact":
            book["lower"][value + 1 :] |= 1 << tile
    book["reach"] = book["exact"] | book["lower"]
    if rules.steal != "never":
        book["stealable"] = book["grill"] & ~book["exact_only"]
    book["any_lower"] = rules.claim == "any-lower"
    book["may_steal"] = rules.steal == "may"
    book["keep_lost"] = rules.lost_tile == "kept"
    book["remove_lost"] = rules.lost_tile == "removed"
    book["highest_tile_breaks_ties"] = rules.tiebreak == "highest-tile"
    book["specialists"] = len(rules.specialists) > 0
    book["start"] = _places(rules, values, players)
    book["keep_new"] = rules.second_specialist == "keep-new"
    book["keep_old"] = rules.second_specialist == "keep-old"
    return books


def _places(rules: RuleSet, values: list[int], players: int) -> NDArray[np.uint8]:
    """Where each specialist starts."""
    places = np.full(len(SPECIALISTS), NOTHING, np.uint8)
    for name, start in rules.specialists.items():
        if not isinstance(start, Seat):
            places[SPECIALISTS.index(name)] = values.index(start)
        elif start.seat < players:
            places[SPECIALISTS.index(name)] = SEATS + start.seat
        else:
            raise RulesError(
                f'specialists.{name} starts with seat {start.seat} in the rules "{rules.name}", '
                f"but with {players} players the seats are 0 to {players - 1}."
            )
    return places
