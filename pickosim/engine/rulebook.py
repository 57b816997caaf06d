"""The rulebook: a rule set at a table of so many players, as the numbers that kernels read.

Tiles are numbered 0, 1, 2, … by ascending value, and a set of tiles is a bit mask.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pickosim.engine.dice import first_roll
from pickosim.errors import RulesError
from pickosim.rules import MOST_DICE, MOST_TILES, SPECIALISTS, RuleSet, Seat

MOST_PLAYERS = 7
TOTALS = 128
"""Look-up tables by total have this many entries: 13 dice and a canned worm make 70 at most."""

NOTHING = 255
"""No tile on the stack, no specialist in hand, a specialist out of the game: nothing there."""

SEATS = 64
"""Places of specialists: below SEATS a tile's number, SEATS + s with seat s, NOTHING out of the game."""

CANNED_WORM, SITTING_HEN, RAVEN, WEASEL, GOLDEN_DIE, APPLE = range(len(SPECIALISTS))


BOOK = np.dtype(
    [
        ("players", np.int64),
        ("dice", np.int64),
        ("first_roll", np.uint32, (MOST_DICE + 2,)),  # of n white dice, as rolls are numbered
        ("tiles", np.int64),  # how many there are
        ("values", np.uint8, (MOST_TILES,)),  # of each tile
        ("worms", np.uint8, (MOST_TILES,)),  # on each tile
        ("grill", np.int64),  # all tiles: the grill at the start
        ("exact_only", np.int64),  # tiles that only their exact total takes, and nobody steals
        # By total:
        ("exact", np.int64, (TOTALS,)),  # the tile of exactly that value, an empty set without it
        ("lower", np.int64, (TOTALS,)),  # tiles of a lower value, the exact-only ones left out
        ("reach", np.int64, (TOTALS,)),  # both: what it can take from the grill
        ("any_lower", np.bool_),
        ("may_steal", np.bool_),
        ("flip_without_return", np.bool_),
        ("flip_returned", np.bool_),
        ("exact_only_returns", np.bool_),
        ("highest_tile_breaks_ties", np.bool_),
        ("bratworms", np.int64),
        ("specialists", np.bool_),  # whether any is in the game
        ("start", np.uint8, (len(SPECIALISTS),)),  # place of each at the start
        ("keep_new", np.bool_),
        ("weasel_rescues_bust", np.bool_),
        ("golden_die_faces", np.uint8, (6,)),
        ("apple_worms", np.int64),
        ("turn_limit", np.int64),
    ],
    align=True,
)
"""The fields of a rulebook; options keep their names from the rules page where they can."""

Books = NDArray[np.void]
"""(1,) of BOOK: the rulebook as kernels are given it. (A record by itself is slow to pass to them.)"""

Rulebook = Any
"""A record of BOOK. (Kernels read its fields as attributes, which no static type describes.)"""


def check_players(players: int) -> None:
    """Refuse a table that no rules are for."""
    if not isinstance(players, int) or not 2 <= players <= MOST_PLAYERS:
        raise RulesError(f"2 to {MOST_PLAYERS} players can play, not {players!r}.")


@cache
def rulebook(rules: RuleSet, players: int) -> Books:
    """The numbers of `rules` at a table of `players`, which the rules must allow."""
    check_players(players)
    books = np.zeros(1, BOOK)
    book = books[0]
    values = sorted(rules.tiles)
    book["players"] = players
    book["dice"] = rules.dice
    book["first_roll"] = [first_roll(dice) for dice in range(MOST_DICE + 2)]
    book["tiles"] = len(values)
    book["values"][: len(values)] = values
    book["worms"][: len(values)] = [rules.tiles[value] for value in values]
    book["grill"] = (1 << len(values)) - 1
    for tile, value in enumerate(values):
        book["exact"][value] = 1 << tile
        if value in rules.exact_only:
            book["exact_only"] |= 1 << tile
        else:
            book["lower"][value + 1 :] |= 1 << tile
    book["reach"] = book["exact"] | book["lower"]
    book["any_lower"] = rules.claim == "any-lower"
    book["may_steal"] = rules.steal == "may"
    book["flip_without_return"] = rules.flip_without_return
    book["flip_returned"] = rules.flip_returned
    book["exact_only_returns"] = rules.exact_only_returns
    book["highest_tile_breaks_ties"] = rules.tiebreak == "highest-tile"
    book["bratworms"] = rules.bratworms
    book["specialists"] = len(rules.specialists) > 0
    book["start"] = _places(rules, values, players)
    book["keep_new"] = rules.second_specialist == "keep-new"
    book["weasel_rescues_bust"] = rules.weasel_rescues_bust
    book["golden_die_faces"] = rules.golden_die_faces
    book["apple_worms"] = rules.apple_worms
    book["turn_limit"] = rules.turn_limit
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
                f"but at a table of {players} the seats are 0 to {players - 1}."
            )
    return places
