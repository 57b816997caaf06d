"""The claim: what a total may claim, and what a turn's result does to the table."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pickosim.kernels import inlined, kernel, whole
from pickosim.log import FAIL, RAVEN_PAYS, STEAL_HEN, Log, note
from pickosim.rulebook import CANNED_WORM, NOTHING, RAVEN, SEATS, SITTING_HEN, Books, Rulebook
from pickosim.table import (
    Game,
    Table,
    bratworm_sources,
    earn_bratworm,
    flip_tile,
    highest,
    move_specialist,
    on_grill,
    return_tile,
    send_back,
    specialist_on,
    steal_tile,
    take_tile,
)
from pickosim.turn import Hands, has_worm, is_bust, is_canned, note_stop, total

NO_NEW_FACE, NO_WORM, NOTHING_TO_CLAIM = range(3)
"""Reasons of a fail."""


@inlined
def victim_of(book: Rulebook, game: Game, seat: int, tile: int) -> int:
    """The rival on top of whose stack a tile lies, or -1."""
    for rival in range(book.players):
        if game.top[rival] == tile and rival != seat:
            return rival
    return -1


@inlined
def claims(book: Rulebook, game: Game, seat: int, total: int) -> int:
    """The set of tiles that a total, with its worm, may claim (a rival's top tile by stealing).

    Where a tile lies says how it is claimed, so a set of tiles says everything.
    """
    grill, exact = whole(game.grill), book.exact[total]
    lower = grill & book.lower[total]
    if lower and not book.any_lower:
        lower = 1 << highest(lower)
    if grill & exact:
        return exact | (lower if book.any_lower else 0)
    if victim_of(book, game, seat, book.loot[total]) >= 0:
        return exact | (lower if book.may_steal else 0)
    return lower


@kernel
def claims_now(
    books: Books, table: Table, hands: Hands, seat: int, rows: NDArray[np.int32]
) -> NDArray[np.uint32]:
    """(len(rows),): for each of these games, the set of tiles that a stop could claim now."""
    book = books[0]
    tiles = np.zeros(len(rows), np.uint32)
    for k in range(len(rows)):
        hand = hands[rows[k]]
        if has_worm(hand):
            tiles[k] = claims(book, table[rows[k]], seat, total(hand))
    return tiles


@inlined
def can_claim(book: Rulebook, game: Game, seat: int, total: int) -> bool:
    """Whether there is any tile that a total, with its worm, may claim."""
    reach, loot = book.exact[total] | book.lower[total], book.loot[total]
    found = whole(game.grill) & reach != 0
    for rival in range(book.players):
        found |= (game.top[rival] == loot) & (rival != seat)
    return found


@kernel
def can_claim_now(
    books: Books, table: Table, hands: Hands, seat: int, rows: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """(len(rows),): for each of these games, whether a stop could claim anything now."""
    book = books[0]
    found = np.empty(len(rows), np.bool_)
    for k in range(len(rows)):
        hand = hands[rows[k]]
        found[k] = has_worm(hand) & can_claim(book, table[rows[k]], seat, total(hand))
    return found


@kernel
def find_claims(
    books: Books,
    table: Table,
    hands: Hands,
    seat: int,
    rows: NDArray[np.int32],
    claimed: NDArray[np.int16],
    asked: NDArray[np.int32],
) -> int:
    """Write to `claimed`, by row, the highest legal claim of each game, or -1 - reason for a fail.

    Games with several legal claims are written to `asked`; returns their number.
    """
    book = books[0]
    found = 0
    for row in rows:
        hand = hands[row]
        if is_bust(hand):
            claimed[row] = -1 - NO_NEW_FACE
            continue
        if not has_worm(hand):
            claimed[row] = -1 - NO_WORM
            continue
        tiles = claims(book, table[row], seat, total(hand))
        if tiles == 0:
            claimed[row] = -1 - NOTHING_TO_CLAIM
            continue
        claimed[row] = highest(tiles)
        if tiles & (tiles - 1):
            asked[found] = row
            found += 1
    return found


@inlined
def brought_by(book: Rulebook, game: Game, seat: int, tile: int) -> int:
    """The specialist that claiming a tile brings (the raven only pays), or NOTHING."""
    if on_grill(game, tile):
        return specialist_on(game, tile)
    return whole(game.holds[victim_of(book, game, seat, tile)])


@kernel
def find_second_specialists(
    books: Books,
    table: Table,
    seat: int,
    rows: NDArray[np.int32],
    claimed: NDArray[np.int16],
    asked: NDArray[np.int32],
) -> int:
    """Write to `asked` the games whose claim brings a second specialist; their number."""
    book = books[0]
    found = 0
    for row in rows:
        game = table[row]
        if claimed[row] >= 0 and game.holds[seat] != NOTHING:
            brought = brought_by(book, game, seat, claimed[row])
            if brought != NOTHING and brought != RAVEN:
                asked[found] = row
                found += 1
    return found


@kernel
def find_raven_robberies(
    books: Books,
    table: Table,
    seat: int,
    rows: NDArray[np.int32],
    claimed: NDArray[np.int16],
    asked: NDArray[np.int32],
) -> int:
    """Write to `asked` the games in which the raven pays from a rival of choice; their number."""
    book = books[0]
    found = 0
    for row in rows:
        game = table[row]
        if claimed[row] >= 0 and game.place[RAVEN] == claimed[row]:
            sources, _ = bratworm_sources(book, game, seat)
            if sources > 1:
                asked[found] = row
                found += 1
    return found


@inlined
def _gain_specialist(game: Game, seat: int, specialist: int, keep_new: bool, log: Log) -> None:
    """A player holds one specialist at most: of two, the one not kept goes back to the grill."""
    old = whole(game.holds[seat])
    if old != NOTHING and not keep_new:
        send_back(game, specialist, log)
        return
    move_specialist(game, specialist, SEATS + seat, log)
    if old != NOTHING:
        send_back(game, old, log)


@inlined
def _settle_claim(
    book: Rulebook, game: Game, seat: int, tile: int, keep_new: bool, robbed: int, log: Log
) -> None:
    """Take a tile from the grill, or steal it (or the hen that guards it), with what it brings."""
    brought = brought_by(book, game, seat, tile) if book.specialists else NOTHING
    if on_grill(game, tile):
        take_tile(book, game, seat, tile, log)
    else:
        victim = victim_of(book, game, seat, tile)
        if brought == SITTING_HEN:
            note(log, game, STEAL_HEN, victim)
            game.hen_steals += 1
            game.used[SITTING_HEN, victim] += 1
        else:
            steal_tile(book, game, seat, victim, log)
    if brought == RAVEN:
        if earn_bratworm(book, game, seat, robbed, RAVEN_PAYS, log):
            game.used[RAVEN, seat] += 1
        send_back(game, RAVEN, log)
    elif brought != NOTHING:
        _gain_specialist(game, seat, brought, keep_new, log)


@inlined
def _settle_fail(book: Rulebook, game: Game, seat: int, reason: int, log: Log) -> None:
    """The top tile returns, the highest tile is flipped, specialists go back: in that order."""
    note(log, game, FAIL, reason)
    game.fails[reason] += 1
    top, held = whole(game.top[seat]), whole(game.holds[seat])
    if held == SITTING_HEN and top != NOTHING:
        game.used[SITTING_HEN, seat] += 1
        send_back(game, SITTING_HEN, log)
        return
    returned = NOTHING
    if top != NOTHING and (book.exact_only_returns or not (book.exact_only >> top) & 1):
        returned = return_tile(book, game, seat, log)
    off_flipped = NOTHING
    if game.grill and (returned != NOTHING or book.flip_without_return):
        tile = highest(whole(game.grill))
        if tile != returned or book.flip_returned:
            if book.specialists:
                off_flipped = specialist_on(game, tile)
            flip_tile(game, tile, log)
    if held != NOTHING and held != SITTING_HEN:
        send_back(game, held, log)
    if off_flipped != NOTHING:
        send_back(game, off_flipped, log)


@kernel
def settle(
    books: Books,
    table: Table,
    hands: Hands,
    seat: int,
    rows: NDArray[np.int32],
    claimed: NDArray[np.int16],
    keep_new: NDArray[np.bool_],
    robbed: NDArray[np.int16],
    log: Log,
) -> None:
    """Do what the turn's result does, in every game: claim the tile of `claimed`, or fail.

    `claimed`, `keep_new` (of two specialists) and `robbed` (whom the raven's bratworm is taken from)
    are by row of the table.
    """
    book = books[0]
    for row in rows:
        game, tile = table[row], whole(claimed[row])
        game.rolls += hands[row].rolls
        if not is_bust(hands[row]):
            note_stop(game, hands[row], log)
        if tile < 0:
            _settle_fail(book, game, seat, -1 - tile, log)
            continue
        if is_canned(hands[row]):
            game.used[CANNED_WORM, seat] += 1
        _settle_claim(book, game, seat, tile, keep_new[row], robbed[row], log)
