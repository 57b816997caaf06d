"""The table: who has what in every game of a batch, and the few functions that change it.

One row a game, one narrow column a thing. A row is a record of a few cache lines, so that whatever a
kernel wants to know of a game is at hand. Each elementary change of the game (a tile taken, a
specialist moved, …) is one function here, and writes its own event to the log.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pickosim.engine.dice import DICE_STREAM, below, stream_key
from pickosim.engine.kernels import called, inlined, kernel, shared, whole
from pickosim.engine.log import BRATWORM, FLIP, RETURN, SPECIALIST, STEAL, TAKE, Log, note
from pickosim.engine.rulebook import MOST_PLAYERS, NOTHING, SEATS, SITTING_HEN, Books, Rulebook
from pickosim.rules import MOST_TILES, SPECIALISTS

TABLE = np.dtype(
    [
        # What every turn reads, within one cache line
        ("game", np.int64),  # number of the game
        ("dice_key", np.uint64),  # address of its dice
        ("grill", np.uint32),  # tiles face up on the grill
        ("flipped", np.uint32),  # tiles face down, out of the game
        ("turn", np.uint16),  # number of the turn under way, from 1
        ("top", np.uint8, (MOST_PLAYERS,)),  # top tile of each stack, or NOTHING
        ("holds", np.uint8, (MOST_PLAYERS,)),  # specialist of each player, or NOTHING
        ("place", np.uint8, (len(SPECIALISTS),)),  # of each: a tile, SEATS + seat, or NOTHING
        ("bratworms", np.uint8, (MOST_PLAYERS,)),  # of each player
        ("supply", np.uint8),  # of bratworms
        # The stacks
        ("tiles", np.uint8, (MOST_PLAYERS,)),  # how many on each stack
        ("worms", np.uint16, (MOST_PLAYERS,)),  # on the tiles of each stack
        ("under", np.uint8, (MOST_TILES,)),  # the tile that one on a stack lies upon, or NOTHING
        # What is counted for the results
        ("rolls", np.uint32),
        ("fails", np.uint16, (3,)),  # by reason
        ("steals", np.uint16),  # of tiles
        ("hen_steals", np.uint16),
        ("leader", np.uint8),  # the last player who led alone, or NOTHING
        ("lead_changes", np.uint16),
        ("since", np.uint16, (len(SPECIALISTS),)),  # turn in which it came to its holder, or 0
        ("gained", np.uint16, (len(SPECIALISTS), MOST_PLAYERS)),
        ("turns_held", np.uint16, (len(SPECIALISTS), MOST_PLAYERS)),  # up to when it was lost
        ("used", np.uint16, (len(SPECIALISTS), MOST_PLAYERS)),
    ],
    align=True,
)
"""The columns of a table. Columns by player are as wide as the largest table, so that kernels are
compiled once for all."""

Table = NDArray[np.void]
"""(N,) of TABLE: N games."""

Game = Any
"""A record of TABLE: one game. (Kernels read its fields as attributes, which no static type describes.)"""


@kernel
def deal(
    books: Books, table: Table, rows: NDArray[np.int32], first_game: int, seed: np.uint64
) -> None:
    """Set up new games, numbered from `first_game`, in the given rows."""
    book, dice = books[0], stream_key(seed, DICE_STREAM)
    for i in range(len(rows)):
        game = table[rows[i]]
        game.game = first_game + i
        game.dice_key = below(dice, np.uint64(first_game + i))
        game.grill = book.grill
        game.flipped = 0
        game.turn = 1
        game.worms[:] = 0
        game.top[:] = NOTHING
        game.tiles[:] = 0
        game.bratworms[:] = 0
        game.supply = book.bratworms
        game.holds[:] = NOTHING
        game.under[:] = NOTHING
        game.place[:] = NOTHING
        game.rolls = 0
        game.fails[:] = 0
        game.steals = 0
        game.hen_steals = 0
        game.leader = NOTHING
        game.lead_changes = 0
        if book.specialists:
            game.since[:] = 0
            game.gained[:] = 0
            game.turns_held[:] = 0
            game.used[:] = 0
            for specialist in range(len(book.start)):
                place = whole(book.start[specialist])
                game.place[specialist] = place
                if is_seat(place):
                    game.holds[place - SEATS] = specialist


@shared
def is_seat(place: int) -> bool:
    """Whether a specialist's place is with a player."""
    return SEATS <= place < NOTHING


@inlined
def highest(tiles: int) -> int:
    """Number of the highest tile of a set that is not empty."""
    tile = 0
    for step in (16, 8, 4, 2, 1):
        if tiles >> (tile + step):
            tile += step
    return tile


@inlined
def lowest(tiles: int) -> int:
    """Number of the lowest tile of a set that is not empty."""
    return highest(tiles & -tiles)


@inlined
def on_grill(game: Game, tile: int) -> bool:
    """Whether a tile lies face up on the grill."""
    return (whole(game.grill) >> tile) & 1 != 0


@inlined
def stealable(book: Rulebook, game: Game, seat: int) -> int:
    """The set of tiles on top of rivals' stacks that can be stolen."""
    tops = 0
    for rival in range(book.players):
        # An empty stack, NOTHING, comes to a bit above those of all tiles.
        tops |= (rival != seat) << (whole(game.top[rival]) & (SEATS - 1))
    return tops & (book.grill & ~book.exact_only)


@inlined
def specialist_on(game: Game, tile: int) -> int:
    """The specialist that stands on a tile, or NOTHING."""
    for specialist in range(len(game.place)):
        if game.place[specialist] == tile:
            return specialist
    return NOTHING


@inlined
def _put_on_stack(book: Rulebook, game: Game, seat: int, tile: int) -> None:
    game.under[tile] = game.top[seat]
    game.top[seat] = tile
    game.tiles[seat] += 1
    game.worms[seat] += book.worms[tile]


@inlined
def _take_off_stack(book: Rulebook, game: Game, seat: int) -> int:
    tile = whole(game.top[seat])
    game.top[seat] = game.under[tile]
    game.under[tile] = NOTHING
    game.tiles[seat] -= 1
    game.worms[seat] -= book.worms[tile]
    return tile


@inlined
def take_tile(book: Rulebook, game: Game, seat: int, tile: int, log: Log) -> None:
    """A tile goes from the grill onto the player's stack."""
    note(log, game, TAKE, tile)
    game.grill = whole(game.grill) & ~(1 << tile)
    _put_on_stack(book, game, seat, tile)


@inlined
def steal_tile(book: Rulebook, game: Game, seat: int, victim: int, log: Log) -> None:
    """The top tile of a rival's stack goes onto the player's."""
    tile = _take_off_stack(book, game, victim)
    note(log, game, STEAL, tile, victim)
    _put_on_stack(book, game, seat, tile)
    game.steals += 1


@inlined
def return_tile(book: Rulebook, game: Game, seat: int, log: Log) -> int:
    """The player's top tile goes back to the grill, face up."""
    tile = _take_off_stack(book, game, seat)
    note(log, game, RETURN, tile)
    game.grill = whole(game.grill) | (1 << tile)
    return tile


@inlined
def flip_tile(game: Game, tile: int, log: Log) -> None:
    """A tile of the grill is turned face down."""
    note(log, game, FLIP, tile)
    game.grill = whole(game.grill) & ~(1 << tile)
    game.flipped = whole(game.flipped) | (1 << tile)


@called
def move_specialist(game: Game, specialist: int, place: int, log: Log) -> None:
    """A specialist changes its place. (A player who gets a second holds the newer from here on.)"""
    old = whole(game.place[specialist])
    note(log, game, SPECIALIST, specialist, old, place)
    game.place[specialist] = place
    if is_seat(old):
        seat = old - SEATS
        game.turns_held[specialist, seat] += game.turn - game.since[specialist]
        if game.holds[seat] == specialist:
            game.holds[seat] = NOTHING
    if is_seat(place):
        seat = place - SEATS
        game.holds[seat] = specialist
        game.gained[specialist, seat] += 1
        game.since[specialist] = game.turn


@called
def send_back(game: Game, specialist: int, log: Log) -> None:
    """Back to the grill: onto the lowest face-up tile without a specialist, else out of the game."""
    free = whole(game.grill)
    for other in range(len(game.place)):
        if game.place[other] < SEATS:
            free &= ~(1 << whole(game.place[other]))
    move_specialist(game, specialist, lowest(free) if free else NOTHING, log)


@inlined
def can_be_robbed(game: Game, seat: int, rival: int) -> bool:
    """Whether a rival's bratworm may be taken: it has one and does not hold the sitting hen."""
    return rival != seat and game.bratworms[rival] > 0 and game.holds[rival] != SITTING_HEN


@called
def bratworm_sources(book: Rulebook, game: Game, seat: int) -> tuple[int, int]:
    """Where a bratworm can come from: how many sources there are, and the richest of them.

    The supply (NOTHING) as long as it lasts, then the rivals that can be robbed; of equally rich ones
    the one who plays soonest.
    """
    if game.supply > 0:
        return 1, NOTHING
    found, richest = 0, NOTHING
    for step in range(1, book.players):
        rival = (seat + step) % book.players
        if can_be_robbed(game, seat, rival):
            if found == 0 or game.bratworms[rival] > game.bratworms[richest]:
                richest = rival
            found += 1
    return found, richest


@called
def earn_bratworm(book: Rulebook, game: Game, seat: int, victim: int, why: int, log: Log) -> bool:
    """The player gets a bratworm: from the supply, else from a rival who can be robbed, of several
    from `victim`, or from the richest if that is NOTHING. False if there is none to be had.
    """
    found, source = bratworm_sources(book, game, seat)
    if found == 0:
        return False
    if found > 1 and victim != NOTHING:
        source = victim
    note(log, game, BRATWORM, source, why)
    if source == NOTHING:
        game.supply -= 1
    else:
        game.bratworms[source] -= 1
    game.bratworms[seat] += 1
    return True


@inlined
def is_sound(book: Rulebook, game: Game) -> bool:
    """Conservation: everything is in exactly one place.

    Each tile on the grill, on one stack or flipped; bratworms add up; one specialist at most a player
    and a tile; tiles with a specialist are face up; stacks, counts and holders agree with each other.
    """
    grill, flipped = whole(game.grill), whole(game.flipped)
    seen, sound = grill | flipped, grill & flipped == 0
    bratworms = whole(game.supply)
    for seat in range(book.players):
        bratworms += game.bratworms[seat]
        tiles, worms, tile = 0, 0, whole(game.top[seat])
        while tile != NOTHING and tiles <= book.tiles:
            sound &= (seen >> tile) & 1 == 0
            seen |= 1 << tile
            tiles += 1
            worms += book.worms[tile]
            tile = whole(game.under[tile])
        sound &= tiles == game.tiles[seat] and worms == game.worms[seat]
        held = game.holds[seat]
        sound &= held == NOTHING or game.place[held] == SEATS + seat
    if book.specialists:
        occupied = 0
        for specialist in range(len(game.place)):
            place = whole(game.place[specialist])
            if is_seat(place):
                sound &= game.holds[place - SEATS] == specialist
            elif place != NOTHING:
                sound &= on_grill(game, place) and (occupied >> place) & 1 == 0
                occupied |= 1 << place
    return sound and seen == book.grill and bratworms == book.bratworms


@kernel
def first_fault(books: Books, table: Table, rows: NDArray[np.int32]) -> int:
    """The first row that is not sound, or -1."""
    for row in rows:
        if not is_sound(books[0], table[row]):
            return row
    return -1
