"""The table: who has what in every game of a batch, and the few functions that change it.

One row per game. A row is a record of narrow fields that takes a few cache lines, so that a kernel has
everything about a game at hand. Each elementary change of the game (a tile taken, a specialist moved, …)
is one function here, and writes its own event to the log.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pickosim.engine.dice import DICE_STREAM, derive, stream_key
from pickosim.engine.kernels import (
    I64,
    U8,
    U16,
    U32,
    Key,
    as_int,
    called,
    dtype_of,
    inlined,
    kernel,
    shared,
)
from pickosim.engine.log import BRATWORM, FLIP, RETURN, SPECIALIST, STEAL, TAKE, Log, log_event
from pickosim.engine.rulebook import NOTHING, SEATS, SITTING_HEN, Books, Rulebook
from pickosim.rules import MOST_PLAYERS, MOST_TILES, SPECIALISTS


class Counters(NamedTuple):
    """What kernels count in a game, for its results; of each counter, where it stands in `counts`.

    A counter is declared by its name here, and counted by e.g. `game.counts[COUNTERS.steals] += 1`: each game
    begins with 0, and the tally has the counters of every game.
    """

    rolls: int
    fails_no_new_face: int
    """Fails in the order of the reasons in `pickosim.engine.claim`."""
    fails_no_worm: int
    fails_nothing_to_claim: int
    steals: int
    """Tiles stolen."""
    hen_steals: int
    """Hens stolen."""
    lead_changes: int
    """How often the sole leader changed; 0 unless the lead is followed."""


COUNTERS = Counters(*range(len(Counters._fields)))


class Game(Protocol):
    """A record of TABLE, as kernels read and write it: one game."""

    # What every turn reads, within one cache line
    game: I64  # number of the game
    dice_key: Key  # address of its dice
    grill: U32  # tiles face up on the grill
    flipped: U32  # tiles face down, out of the game
    entry: U32  # where its results go in the tally
    turn: U16  # number of the turn under way, from 1
    rotation: U8  # which of the games with this number; they differ in who sits where
    top: Annotated[NDArray[np.uint8], MOST_PLAYERS]  # top tile of each stack, or NOTHING
    holds: Annotated[NDArray[np.uint8], MOST_PLAYERS]  # specialist of each player, or NOTHING
    # of each: a tile, SEATS + seat, or NOTHING
    place: Annotated[NDArray[np.uint8], len(SPECIALISTS)]
    bratworms: Annotated[NDArray[np.uint8], MOST_PLAYERS]  # of each player
    supply: U8  # of bratworms
    # The stacks
    tiles: Annotated[NDArray[np.uint8], MOST_PLAYERS]  # how many on each stack
    worms: Annotated[NDArray[np.uint16], MOST_PLAYERS]  # on the tiles of each stack
    # the tile below each tile on a stack, or NOTHING
    under: Annotated[NDArray[np.uint8], MOST_TILES]
    # What is counted for the results
    counts: Annotated[NDArray[np.uint32], len(COUNTERS)]  # by counter
    leader: U8  # the last player who led alone, or NOTHING
    since: Annotated[NDArray[np.uint16], len(SPECIALISTS)]  # turn in which its holder got it, or 0
    gained: Annotated[NDArray[np.uint16], len(SPECIALISTS), MOST_PLAYERS]
    turns_held: Annotated[NDArray[np.uint16], len(SPECIALISTS), MOST_PLAYERS]  # until it was lost
    used: Annotated[NDArray[np.uint16], len(SPECIALISTS), MOST_PLAYERS]


TABLE = dtype_of(Game)
"""Fields of a game. Those by player have MOST_PLAYERS entries, so that kernels are compiled only once."""

Table = NDArray[np.void]
"""(N,) of TABLE: N games."""


@kernel
def deal(
    books: Books,
    table: Table,
    rows: NDArray[np.int32],
    dealt: int,
    first_game: int,
    games: int,
    seed: np.uint64,
) -> None:
    """Set up new games in the given rows, after so many were dealt before.

    So many `games` are numbered from `first_game` on; then those numbers come again, as the next rotation.
    """
    book: Rulebook = books[0]
    dice = stream_key(seed, DICE_STREAM)
    for i in range(len(rows)):
        game: Game = table[rows[i]]
        number = first_game + (dealt + i) % games
        game.game = number
        game.entry = dealt + i
        game.rotation = (dealt + i) // games
        game.dice_key = derive(dice, np.uint64(number))
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
        game.counts[:] = 0
        game.leader = NOTHING
        if book.specialists:
            game.since[:] = 0
            game.gained[:] = 0
            game.turns_held[:] = 0
            game.used[:] = 0
            for specialist in range(len(book.start)):
                place = as_int(book.start[specialist])
                game.place[specialist] = place
                if is_seat(place):
                    game.holds[place - SEATS] = specialist


@shared
def is_seat(place: int) -> bool:
    """Whether a specialist's place is with a player."""
    return SEATS <= place < NOTHING


@inlined
def highest(tiles: int) -> int:
    """Number of the highest tile of a non-empty set."""
    tile = 0
    for step in (16, 8, 4, 2, 1):
        if tiles >> (tile + step):
            tile += step
    return tile


@inlined
def lowest(tiles: int) -> int:
    """Number of the lowest tile of a non-empty set."""
    return highest(tiles & -tiles)


@inlined
def on_grill(game: Game, tile: int) -> bool:
    """Whether a tile lies face up on the grill."""
    return (as_int(game.grill) >> tile) & 1 != 0


@inlined
def stealable(book: Rulebook, game: Game, seat: int) -> int:
    """The set of tiles on top of rivals' stacks that can be stolen."""
    tops = 0
    for rival in range(book.players):
        # For an empty stack, NOTHING, this is a bit above those of all tiles.
        tops |= (rival != seat) << (as_int(game.top[rival]) & (SEATS - 1))
    return tops & book.stealable


@inlined
def is_guarded(game: Game, player: int) -> bool:
    """Whether a thief gets the player's sitting hen instead of the tile."""
    return as_int(game.holds[player]) == SITTING_HEN


@inlined
def is_exposed(book: Rulebook, game: Game, player: int) -> bool:
    """Whether a thief would get the player's top tile."""
    top: int = 1 << (as_int(game.top[player]) & (SEATS - 1))
    return top & book.stealable != 0 and not is_guarded(game, player)


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
    tile = as_int(game.top[seat])
    game.top[seat] = game.under[tile]
    game.under[tile] = NOTHING
    game.tiles[seat] -= 1
    game.worms[seat] -= book.worms[tile]
    return tile


@inlined
def take_tile(book: Rulebook, game: Game, seat: int, tile: int, log: Log) -> None:
    """A tile goes from the grill onto the player's stack."""
    log_event(log, game, TAKE, tile)
    game.grill = as_int(game.grill) & ~(1 << tile)
    _put_on_stack(book, game, seat, tile)


@inlined
def steal_tile(book: Rulebook, game: Game, seat: int, victim: int, log: Log) -> None:
    """The top tile of a rival's stack goes onto the player's."""
    tile = _take_off_stack(book, game, victim)
    log_event(log, game, STEAL, tile, victim)
    _put_on_stack(book, game, seat, tile)
    game.counts[COUNTERS.steals] += 1


@inlined
def return_tile(book: Rulebook, game: Game, seat: int, log: Log) -> int:
    """The player's top tile goes back to the grill, face up."""
    tile = _take_off_stack(book, game, seat)
    log_event(log, game, RETURN, tile)
    game.grill = as_int(game.grill) | (1 << tile)
    return tile


@inlined
def remove_tile(book: Rulebook, game: Game, seat: int, log: Log) -> None:
    """The player's top tile is turned face down at once, and is never on the grill."""
    tile = _take_off_stack(book, game, seat)
    log_event(log, game, FLIP, tile)
    game.flipped = as_int(game.flipped) | (1 << tile)


@inlined
def flip_tile(game: Game, tile: int, log: Log) -> None:
    """A tile of the grill is turned face down."""
    log_event(log, game, FLIP, tile)
    game.grill = as_int(game.grill) & ~(1 << tile)
    game.flipped = as_int(game.flipped) | (1 << tile)


@called
def move_specialist(game: Game, specialist: int, place: int, log: Log) -> None:
    """A specialist changes its place. (A player who gets a second holds the newer from here on.)"""
    old = as_int(game.place[specialist])
    log_event(log, game, SPECIALIST, specialist, old, place)
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
    free = as_int(game.grill)
    for other in range(len(game.place)):
        if game.place[other] < SEATS:
            free &= ~(1 << as_int(game.place[other]))
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
    from `victim`, or from the richest if that is NOTHING. False if nobody has one to take.
    """
    found, source = bratworm_sources(book, game, seat)
    if found == 0:
        return False
    if found > 1 and victim != NOTHING:
        source = victim
    log_event(log, game, BRATWORM, source, why)
    if source == NOTHING:
        game.supply -= 1
    else:
        game.bratworms[source] -= 1
    game.bratworms[seat] += 1
    return True


@inlined
def is_sound(book: Rulebook, game: Game) -> bool:
    """Conservation: everything is in exactly one place.

    Each tile on the grill, on one stack or flipped; bratworms add up; at most one specialist per
    player and per tile; tiles with a specialist are face up; stacks, counts and holders agree with each other.
    """
    grill, flipped = as_int(game.grill), as_int(game.flipped)
    seen, sound = grill | flipped, grill & flipped == 0
    bratworms = as_int(game.supply)
    for seat in range(book.players):
        bratworms += game.bratworms[seat]
        tiles, worms, tile = 0, 0, as_int(game.top[seat])
        while tile != NOTHING and tiles <= book.tiles:
            sound &= (seen >> tile) & 1 == 0
            seen |= 1 << tile
            tiles += 1
            worms += book.worms[tile]
            tile = as_int(game.under[tile])
        sound &= tiles == game.tiles[seat] and worms == game.worms[seat]
        held = game.holds[seat]
        sound &= held == NOTHING or game.place[held] == SEATS + seat
    if book.specialists:
        occupied = 0
        for specialist in range(len(game.place)):
            place = as_int(game.place[specialist])
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
            return as_int(row)
    return -1
