"""The claim: what a total may claim, and what a turn's result does to the table."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pickosim.engine.kernels import called, inlined, kernel, shared, whole
from pickosim.engine.log import FAIL, RAVEN_PAYS, STEAL_HEN, Log, note
from pickosim.engine.rulebook import (
    CANNED_WORM,
    NOTHING,
    RAVEN,
    SEATS,
    SITTING_HEN,
    Books,
    Rulebook,
)
from pickosim.engine.table import (
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
from pickosim.engine.turn import Hand, Hands, has_worm, is_bust, is_canned, note_stop, total

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
def claims(book: Rulebook, grill: int, loot: int, total: int) -> int:
    """The set of tiles that a total, with its worm, may claim from the grill and the stealable ones.

    Where a tile lies says how it is claimed, so a set of tiles says everything.
    """
    exact = book.exact[total]
    lower = grill & book.lower[total]
    if lower and not book.any_lower:
        lower = 1 << highest(lower)
    if grill & exact:
        return exact | (lower if book.any_lower else 0)
    if loot & exact:
        return exact | (lower if book.may_steal else 0)
    return lower


@inlined
def legal_claims(book: Rulebook, hand: Hand) -> int:
    """The set of tiles that the turn may claim if it ends as it stands; empty for a fail."""
    if is_bust(hand) or not has_worm(hand):
        return 0
    return claims(book, whole(hand.grill), whole(hand.loot), total(hand))


@shared
def fail_reason(hand: Hand) -> int:
    """Why a turn without a claim fails."""
    if is_bust(hand):
        return NO_NEW_FACE
    return NOTHING_TO_CLAIM if has_worm(hand) else NO_WORM


@kernel
def claims_now(books: Books, hands: Hands, rows: NDArray[np.int32]) -> NDArray[np.uint32]:
    """(len(rows),): for each of these games, the set of tiles that a stop could claim now."""
    tiles = np.zeros(len(rows), np.uint32)
    for k in range(len(rows)):
        tiles[k] = legal_claims(books[0], hands[rows[k]])
    return tiles


@inlined
def brought_by(book: Rulebook, game: Game, seat: int, tile: int) -> int:
    """The specialist that claiming a tile brings (the raven only pays), or NOTHING."""
    if on_grill(game, tile):
        return specialist_on(game, tile)
    return whole(game.holds[victim_of(book, game, seat, tile)])


@inlined
def brings_second(book: Rulebook, game: Game, seat: int, tile: int) -> bool:
    """Whether claiming a tile brings a second specialist."""
    if not book.specialists or game.holds[seat] == NOTHING:
        return False
    brought = brought_by(book, game, seat, tile)
    return brought != NOTHING and brought != RAVEN


@inlined
def raven_robs(book: Rulebook, game: Game, seat: int, tile: int) -> bool:
    """Whether claiming a tile brings a bratworm from one of several rivals."""
    if not book.specialists or game.place[RAVEN] != tile:
        return False
    sources, _ = bratworm_sources(book, game, seat)
    return sources > 1


@inlined
def _has_choice(
    book: Rulebook, game: Game, seat: int, tiles: int, picky: bool, choosy: bool, robbing: bool
) -> bool:
    """Whether a turn that may claim these tiles leaves the player anything to choose."""
    if picky and tiles & (tiles - 1):
        return True
    tile = highest(tiles)
    second = choosy and not book.keep_new and brings_second(book, game, seat, tile)
    return second or (robbing and raven_robs(book, game, seat, tile))


@inlined
def _gain_specialist(game: Game, seat: int, specialist: int, keep_new: int, log: Log) -> None:
    """A player holds one specialist at most: of two, the one not kept goes back to the grill."""
    old = whole(game.holds[seat])
    if old != NOTHING and not keep_new:
        send_back(game, specialist, log)
        return
    move_specialist(game, specialist, SEATS + seat, log)
    if old != NOTHING:
        send_back(game, old, log)


@called
def _settle_claim(
    book: Rulebook, game: Game, seat: int, tile: int, keep_new: int, robbed: int, log: Log
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
        if earn_bratworm(book, game, seat, robbed, whole(RAVEN_PAYS), log):
            game.used[RAVEN, seat] += 1
        send_back(game, brought, log)
    elif brought != NOTHING:
        _gain_specialist(game, seat, brought, keep_new, log)


@called
def _settle_fail(book: Rulebook, game: Game, seat: int, reason: int, log: Log) -> None:
    """The top tile returns, the highest tile is flipped, specialists go back: in that order."""
    note(log, game, FAIL, reason)
    game.fails[reason] += 1
    top, held = whole(game.top[seat]), whole(game.holds[seat])
    if held == SITTING_HEN and top != NOTHING:
        game.used[SITTING_HEN, seat] += 1
        send_back(game, held, log)
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


@inlined
def _settle(
    book: Rulebook,
    game: Game,
    hand: Hand,
    seat: int,
    tile: int,
    keep_new: int,
    robbed: int,
    log: Log,
) -> None:
    """Do what a turn's result does: claim the tile, or fail if there is none (-1)."""
    game.rolls += hand.rolls
    if not is_bust(hand):
        note_stop(game, hand, log)
    if tile < 0:
        _settle_fail(book, game, seat, fail_reason(hand), log)
        return
    if is_canned(hand):
        game.used[CANNED_WORM, seat] += 1
    _settle_claim(book, game, seat, tile, keep_new, robbed, log)


@kernel
def settle_clear(
    books: Books,
    table: Table,
    hands: Hands,
    seat: int,
    rows: NDArray[np.int32],
    picky: bool,
    choosy: bool,
    robbing: bool,
    open_rows: NDArray[np.int32],
    log: Log,
) -> int:
    """Settle the turn wherever the player has nothing to choose, which is almost everywhere.

    A player who is not `picky` takes the highest claim, one who is not `choosy` keeps the newer of two
    specialists, one who is not `robbing` takes a bratworm from the richest. The other games are
    written to `open_rows`; returns their number.
    """
    book = books[0]
    found = 0
    for row in rows:
        game, hand = table[row], hands[row]
        tiles = legal_claims(book, hand)
        if tiles and _has_choice(book, game, seat, tiles, picky, choosy, robbing):
            open_rows[found] = row
            found += 1
        else:
            tile = highest(tiles) if tiles else -1
            _settle(book, game, hand, seat, tile, whole(True), whole(NOTHING), log)
    return found


@kernel
def highest_of(sets: NDArray[np.uint32]) -> NDArray[np.int64]:
    """(len(sets),): the highest tile of each set, none of which is empty."""
    tiles = np.zeros(len(sets), np.int64)
    for k in range(len(sets)):
        tiles[k] = highest(whole(sets[k]))
    return tiles


@kernel
def find_second(
    books: Books, table: Table, seat: int, rows: NDArray[np.int32], tiles: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """(len(rows),): whether claiming the tile brings a second specialist."""
    found = np.zeros(len(rows), np.bool_)
    for k in range(len(rows)):
        found[k] = brings_second(books[0], table[rows[k]], seat, tiles[k])
    return found


@kernel
def find_robbing(
    books: Books, table: Table, seat: int, rows: NDArray[np.int32], tiles: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """(len(rows),): whether claiming the tile brings a bratworm from one of several rivals."""
    found = np.zeros(len(rows), np.bool_)
    for k in range(len(rows)):
        found[k] = raven_robs(books[0], table[rows[k]], seat, tiles[k])
    return found


@kernel
def settle_chosen(
    books: Books,
    table: Table,
    hands: Hands,
    seat: int,
    rows: NDArray[np.int32],
    tiles: NDArray[np.int64],
    keep_new: NDArray[np.bool_],
    robbed: NDArray[np.int64],
    log: Log,
) -> None:
    """Settle the turn as the player chose: the tile, which specialist to keep, whom to rob."""
    for k in range(len(rows)):
        game, hand = table[rows[k]], hands[rows[k]]
        _settle(books[0], game, hand, seat, tiles[k], whole(keep_new[k]), robbed[k], log)
