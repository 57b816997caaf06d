"""The claim: what a total may claim, and what a turn's result does to the table."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pickosim.engine.kernels import as_int, inlined, kernel, shared
from pickosim.engine.log import FAIL, RAVEN_PAYS, STEAL_HEN, Log, log_event
from pickosim.engine.rulebook import (
    CANNED_WORM,
    NOTHING,
    RAVEN,
    SEATS,
    SITTING_HEN,
    TOTALS,
    Books,
    Rulebook,
)
from pickosim.engine.table import (
    COUNTERS,
    Game,
    Table,
    bratworm_sources,
    earn_bratworm,
    flip_tile,
    highest,
    is_guarded,
    move_specialist,
    on_grill,
    remove_tile,
    return_tile,
    send_back,
    specialist_on,
    steal_tile,
    take_tile,
)
from pickosim.engine.turn import Hand, Hands, has_worm, is_bust, is_canned, log_stop, total

NO_NEW_FACE, NO_WORM, NOTHING_TO_CLAIM = range(3)
"""Why a turn fails."""


@inlined
def victim_of(book: Rulebook, game: Game, seat: int, tile: int) -> int:
    """The rival whose stack has a tile on top, or -1."""
    for rival in range(book.players):
        if game.top[rival] == tile and rival != seat:
            return rival
    return -1


@inlined
def claims(book: Rulebook, grill: int, loot: int, total: int) -> int:
    """The set of tiles that a total, with its worm, may claim from the grill and the stealable tiles.

    How a tile is claimed follows from where it lies, so that a set of tiles is a full answer.
    """
    exact: int = book.exact[total]
    lower: int = grill & book.lower[total]
    if lower and not book.any_lower:
        lower = 1 << highest(lower)
    if grill & exact:
        return exact | (lower if book.any_lower else 0)
    if loot & exact:
        return exact | (lower if book.may_steal else 0)
    return lower


@inlined
def best_by_total(
    book: Rulebook, grill: int, loot: int, worth: NDArray[np.float64], best: NDArray[np.int64]
) -> None:
    """Write to `best` which of the `claims` of each total is worth most, by ascending total; -1 if there are none.

    `worth` is by tile; of equals it is the highest, as in `best_claim`.
    """
    lower, tile = -1, 0
    for points in range(len(best)):
        best[points] = lower
        if tile < book.tiles and book.values[tile] == points:
            here = 1 << tile
            beats_lower = lower < 0 or worth[tile] >= worth[lower]
            keeps_lower = book.any_lower if grill & here else book.may_steal
            if (grill | loot) & here and (beats_lower or not keeps_lower):
                best[points] = tile
            if grill & here & book.lower[TOTALS - 1] and (beats_lower or not book.any_lower):
                lower = tile
            tile += 1


@inlined
def best_claim(tiles: int, worth: NDArray[np.float64]) -> int:
    """The tile of a non-empty set that is worth most; the highest among equals.

    It breaks ties at the end of the game, and the lower ones stay to be claimed.
    """
    best = highest(tiles)
    for tile in range(best - 1, -1, -1):
        if (tiles >> tile) & 1 and worth[tile] > worth[best]:
            best = tile
    return best


@inlined
def legal_claims(book: Rulebook, hand: Hand) -> int:
    """The set of tiles that the turn may claim if it ends now; empty for a fail."""
    if is_bust(hand) or not has_worm(hand):
        return 0
    return claims(book, as_int(hand.grill), as_int(hand.loot), total(hand))


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
    """The specialist that comes with claiming a tile (the raven pays and goes back), or NOTHING."""
    if on_grill(game, tile):
        return specialist_on(game, tile)
    return as_int(game.holds[victim_of(book, game, seat, tile)])


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
    book: Rulebook,
    game: Game,
    seat: int,
    tiles: int,
    chooses_tile: bool,
    chooses_specialist: bool,
    chooses_victim: bool,
) -> bool:
    """Whether the player has anything to choose in a turn that may claim these tiles."""
    if chooses_tile and tiles & (tiles - 1):
        return True
    tile = highest(tiles)
    decided = book.keep_new or book.keep_old
    second = chooses_specialist and not decided and brings_second(book, game, seat, tile)
    return second or (chooses_victim and raven_robs(book, game, seat, tile))


@inlined
def _gain_specialist(game: Game, seat: int, specialist: int, keep_new: int, log: Log) -> None:
    """A player holds at most one specialist: of two, the one not kept goes back to the grill."""
    old = as_int(game.holds[seat])
    if old != NOTHING and not keep_new:
        send_back(game, specialist, log)
        return
    move_specialist(game, specialist, SEATS + seat, log)
    if old != NOTHING:
        send_back(game, old, log)


@inlined
def settle_claim(
    book: Rulebook, game: Game, seat: int, tile: int, keep_new: int, robbed: int, log: Log
) -> None:
    """Take a tile from the grill, or steal it (or the hen that guards it), with the specialist on it."""
    brought = brought_by(book, game, seat, tile) if book.specialists else NOTHING
    if on_grill(game, tile):
        take_tile(book, game, seat, tile, log)
    else:
        victim = victim_of(book, game, seat, tile)
        if is_guarded(game, victim):
            log_event(log, game, STEAL_HEN, victim)
            game.counts[COUNTERS.hen_steals] += 1
            game.used[SITTING_HEN, victim] += 1
        else:
            steal_tile(book, game, seat, victim, log)
    if brought == RAVEN:
        if earn_bratworm(book, game, seat, robbed, as_int(RAVEN_PAYS), log):
            game.used[RAVEN, seat] += 1
        send_back(game, brought, log)
    elif brought != NOTHING:
        _gain_specialist(game, seat, brought, keep_new, log)


@inlined
def settle_fail(book: Rulebook, game: Game, seat: int, reason: int, log: Log) -> None:
    """The top tile is lost, the highest tile is flipped, specialists go back: in that order."""
    log_event(log, game, FAIL, reason)
    game.counts[COUNTERS.fails_no_new_face + reason] += 1
    top, held = as_int(game.top[seat]), as_int(game.holds[seat])
    hen_helps = held == SITTING_HEN and top != NOTHING
    if hen_helps:
        game.used[SITTING_HEN, seat] += 1
        if book.hen_saves_flip:
            send_back(game, held, log)
            return
    loses = top != NOTHING and not hen_helps and not book.keep_lost
    if loses and not book.exact_only_returns:
        loses = (book.exact_only >> top) & 1 == 0
    returned = NOTHING
    if loses:
        if book.remove_lost:
            remove_tile(book, game, seat, log)
        else:
            returned = return_tile(book, game, seat, log)
    off_flipped = NOTHING
    if game.grill and (loses or book.flip_without_return):
        tile = highest(as_int(game.grill))
        if tile != returned or book.flip_returned:
            if book.specialists:
                off_flipped = specialist_on(game, tile)
            flip_tile(game, tile, log)
    if held != NOTHING and (held != SITTING_HEN or hen_helps):
        send_back(game, held, log)
    if off_flipped != NOTHING:
        send_back(game, off_flipped, log)


@inlined
def settle(
    book: Rulebook,
    game: Game,
    hand: Hand,
    seat: int,
    tile: int,
    keep_new: int,
    robbed: int,
    log: Log,
) -> None:
    """Apply a turn's result: claim the tile, or fail if there is none (-1)."""
    game.counts[COUNTERS.rolls] += hand.rolls
    if not is_bust(hand):
        log_stop(game, hand, log)
    if tile < 0:
        settle_fail(book, game, seat, fail_reason(hand), log)
        return
    if is_canned(hand):
        game.used[CANNED_WORM, seat] += 1
    settle_claim(book, game, seat, tile, keep_new, robbed, log)


@kernel
def settle_without_choice(
    books: Books,
    table: Table,
    hands: Hands,
    seat: int,
    rows: NDArray[np.int32],
    chooses_tile: bool,
    chooses_specialist: bool,
    chooses_victim: bool,
    open_rows: NDArray[np.int32],
    log: Log,
) -> int:
    """Settle the turn wherever the player has nothing to choose, which is nearly always.

    Without `chooses_tile` the player takes the highest claim, without `chooses_specialist` it keeps the
    newer of two specialists (unless the rules say the older), without `chooses_victim` it takes a
    bratworm from the richest rival. The other games are written to `open_rows`; returns their number.
    """
    book: Rulebook = books[0]
    keep_new = as_int(not book.keep_old)
    found = 0
    for row in rows:
        game: Game = table[row]
        hand: Hand = hands[row]
        tiles = legal_claims(book, hand)
        if tiles and _has_choice(
            book, game, seat, tiles, chooses_tile, chooses_specialist, chooses_victim
        ):
            open_rows[found] = row
            found += 1
        else:
            tile = highest(tiles) if tiles else -1
            settle(book, game, hand, seat, tile, keep_new, as_int(NOTHING), log)
    return found


@kernel
def highest_of(sets: NDArray[np.uint32]) -> NDArray[np.int64]:
    """(len(sets),): the highest tile of each set; no set may be empty."""
    tiles = np.zeros(len(sets), np.int64)
    for k in range(len(sets)):
        tiles[k] = highest(as_int(sets[k]))
    return tiles


@kernel
def choices_after(
    books: Books, table: Table, seat: int, rows: NDArray[np.int32], tiles: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """(2, n): whether claiming a tile brings a second specialist, and a bratworm from one of several rivals."""
    found = np.zeros((2, len(rows)), np.bool_)
    for k in range(len(rows)):
        found[0, k] = brings_second(books[0], table[rows[k]], seat, tiles[k])
        found[1, k] = raven_robs(books[0], table[rows[k]], seat, tiles[k])
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
    """Settle the turn by the player's choices: the tile, which specialist to keep, whom to rob."""
    for k in range(len(rows)):
        game: Game = table[rows[k]]
        hand: Hand = hands[rows[k]]
        settle(books[0], game, hand, seat, tiles[k], as_int(keep_new[k]), robbed[k], log)
