"""The turn: roll, set aside, stop or roll on. What its result does is up to `pickosim.engine.claim`.

All games of a batch are on the same seat's turn, and `rolling` lists the rows of games whose player
still rolls: each step removes those whose rolling has ended. All that a claim depends on is the total,
whether a worm is in it, and how the rolling ended.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pickosim.engine.dice import (
    ALL_FACES,
    FACES,
    POINTS,
    WORM_BIT,
    Roll,
    Rolls,
    derive,
    draw_golden_face,
    draw_roll,
)
from pickosim.engine.kernels import U8, U16, U32, Key, as_int, called, dtype_of, inlined, kernel
from pickosim.engine.log import DOUBLE_ONE, REROLL, ROLL, SET_ASIDE, STOP, Log, log_event
from pickosim.engine.rulebook import CANNED_WORM, GOLDEN_DIE, NOTHING, WEASEL, Books, Rulebook
from pickosim.engine.table import Game, Table, bratworm_sources, earn_bratworm, stealable

CAN_POINTS = 5
"""The canned worm counts like a die's worm, while no die's worm is set aside."""


class Hand(Protocol):
    """A record of HAND, as kernels read and write it: the dice of one turn."""

    key: Key  # key of this turn's dice
    grill: U32  # tiles face up on the grill, the same throughout the turn
    loot: U32  # tiles that can be stolen
    roll: U16  # number of the last roll, the golden die included
    golden_face: U8  # of the golden die in that roll, 0 if it was not rolled
    new: U8  # set of faces in that roll that were not yet set aside
    aside: U8  # set of faces set aside
    points: U8  # of the dice set aside
    white: U8  # dice left
    golden: U8  # dice left, 0 or 1
    can: U8  # points of the canned worm, if held
    weasel: U8  # rerolls left, 0 or 1
    earned: U8  # 1 if enough 1s for a bratworm are set aside
    rolls: U8  # made this turn


HAND = dtype_of(Hand)
"""Fields of a hand, the dice of the player on turn: one record per row of the table."""

Hands = NDArray[np.void]
"""(N,) of HAND."""


@kernel
def begin(
    books: Books,
    table: Table,
    hands: Hands,
    seat: int,
    rows: NDArray[np.int32],
    asked: NDArray[np.int32],
) -> int:
    """The player takes the white dice.

    Games whose player holds the golden die are written to `asked`; returns their number.
    """
    book: Rulebook = books[0]
    found = 0
    for row in rows:
        game: Game = table[row]
        hand: Hand = hands[row]
        held = game.holds[seat]
        hand.key = derive(game.dice_key, np.uint64(game.turn))
        hand.grill = game.grill
        hand.loot = stealable(book, game, seat)
        hand.aside = 0
        hand.points = 0
        hand.white = book.dice
        hand.golden = 0
        hand.can = CAN_POINTS if held == CANNED_WORM else 0
        hand.weasel = held == WEASEL
        hand.earned = 0
        hand.rolls = 0
        asked[found] = row
        found += held == GOLDEN_DIE
    return found


@kernel
def take_golden_die(
    table: Table, hands: Hands, seat: int, asked: NDArray[np.int32], answers: NDArray[np.bool_]
) -> None:
    """Use the golden die this turn in the games where the player answers so."""
    for k in range(len(asked)):
        if answers[k]:
            hands[asked[k]].golden = 1
            table[asked[k]].used[GOLDEN_DIE, seat] += 1


@inlined
def roll_dice(book: Rulebook, rolls: Rolls, game: Game, hand: Hand, log: Log) -> None:
    """Roll the dice that are left."""
    roll = draw_roll(rolls, book.first_roll, hand.white, hand.key, hand.rolls)
    face = 0
    if hand.golden:
        face = draw_golden_face(book.golden_die_faces, hand.key, hand.rolls)
        roll = as_int(rolls[roll].plus[face])
    hand.roll = roll
    hand.golden_face = face
    rolled: Roll = rolls[roll]
    hand.new = rolled.faces & ~hand.aside
    hand.rolls += 1
    log_event(log, game, ROLL, roll, face)


@inlined
def is_bust(hand: Hand) -> bool:
    """Whether the last roll shows no new face."""
    return hand.new == 0


@kernel
def roll_all(
    books: Books,
    rolls: Rolls,
    table: Table,
    hands: Hands,
    seat: int,
    rolling: NDArray[np.int32],
    asking: bool,
    weasels: NDArray[np.int32],
    log: Log,
) -> tuple[int, int]:
    """Roll in all games of `rolling`; a roll without a new face ends the turn.

    If the player is not asked, the weasel is used on such a roll where the rules allow it. With
    `asking`, games whose weasel can be used on this roll stay, and are written to `weasels`. Returns
    how many still roll, and in how many the player is asked.
    """
    book: Rulebook = books[0]
    kept, found = 0, 0
    for row in rolling:
        hand: Hand = hands[row]
        roll_dice(book, rolls, table[row], hand, log)
        asked = False
        if hand.weasel and (book.weasel_rescues_bust or not is_bust(hand)):
            asked = asking
            if asking:
                weasels[found] = row
                found += 1
            elif is_bust(hand):
                use_weasel(book, rolls, table[row], hand, seat, log)
        rolling[kept] = row
        kept += asked or not is_bust(hand)
    return kept, found


@called
def use_weasel(book: Rulebook, rolls: Rolls, game: Game, hand: Hand, seat: int, log: Log) -> None:
    """The weasel: roll the same dice again; the new roll counts."""
    log_event(log, game, REROLL)
    hand.weasel = 0
    game.used[WEASEL, seat] += 1
    roll_dice(book, rolls, game, hand, log)


@kernel
def reroll(
    books: Books,
    rolls: Rolls,
    table: Table,
    hands: Hands,
    seat: int,
    asked: NDArray[np.int32],
    answers: NDArray[np.bool_],
    log: Log,
) -> None:
    """Use the weasel in the games where the player answers so."""
    for k in range(len(asked)):
        if answers[k]:
            use_weasel(books[0], rolls, table[asked[k]], hands[asked[k]], seat, log)


@kernel
def drop_busts(hands: Hands, rolling: NDArray[np.int32]) -> int:
    """A roll without a new face ends the turn. Returns how many still roll."""
    kept = 0
    for row in rolling:
        rolling[kept] = row
        kept += not is_bust(hands[row])
    return kept


@kernel
def as_faces(numbers: NDArray[Any]) -> NDArray[np.uint8]:
    """(len(numbers),): integers of any width as faces; a number that is not a face becomes 0."""
    faces = np.empty(len(numbers), np.uint8)
    for k in range(len(numbers)):
        faces[k] = numbers[k] if 1 <= numbers[k] <= FACES else 0
    return faces


@inlined
def _is_legal(hand: Hand, face: int) -> bool:
    """Whether a number is a new face of the roll."""
    return face <= FACES and (as_int(hand.new) << 1 >> face) & 1 != 0


@inlined
def is_forced(hand: Hand) -> bool:
    """Whether the turn stops by itself: no dice left, or all six faces set aside."""
    return (hand.white + hand.golden == 0) | (hand.aside == ALL_FACES)


@inlined
def put_aside(book: Rulebook, rolls: Rolls, game: Game, hand: Hand, face: int, log: Log) -> bool:
    """Put all dice of a face aside; whether these are enough 1s for a bratworm."""
    rolled: Roll = rolls[hand.roll]
    dice = as_int(rolled.counts[face])
    golden = hand.golden_face == face
    hand.golden -= golden
    hand.white -= dice - golden
    hand.aside |= 1 << (face - 1)
    hand.points += dice * POINTS[face]
    log_event(log, game, SET_ASIDE, face, dice, hand.points)
    earns = book.bratworms > 0 and face == 1 and dice >= book.bratworm_ones
    if earns:
        hand.earned = 1
    return earns


@kernel
def set_aside(
    books: Books,
    rolls: Rolls,
    table: Table,
    hands: Hands,
    seat: int,
    rolling: NDArray[np.int32],
    faces: NDArray[np.uint8],
    claimable: NDArray[np.bool_],
    asking: bool,
    asked: NDArray[np.int32],
    log: Log,
) -> tuple[int, int, int]:
    """Put all dice of the chosen face aside; enough 1s earn a bratworm at once.

    Whether a stop could claim anything is written to `claimable`, one entry per game that still rolls
    (in the others the turn stops by itself). With `asking`, games in which several rivals could be robbed
    of that bratworm are written to `asked`; otherwise it comes from the richest.

    Returns how many still roll, in how many the player is asked, and -1; or, if a face is not legal, the
    position in `rolling` of the first such game, which is left unchanged like those after it.
    """
    book: Rulebook = books[0]
    kept, found = 0, 0
    for k in range(len(rolling)):
        row, face = rolling[k], as_int(faces[k])
        hand: Hand = hands[row]
        if not _is_legal(hand, face):
            return kept, found, k
        earns = put_aside(book, rolls, table[row], hand, face, log)
        claims, rolls_on = can_claim(book, hand), not is_forced(hand)
        if earns:
            sources, _ = bratworm_sources(book, table[row], seat)
            if asking and sources > 1:
                asked[found] = row
                found += 1
            else:
                earn_bratworm(book, table[row], seat, as_int(NOTHING), as_int(DOUBLE_ONE), log)
        rolling[kept] = row
        claimable[kept] = claims
        kept += rolls_on
    return kept, found, -1


@kernel
def rob(
    books: Books,
    table: Table,
    seat: int,
    asked: NDArray[np.int32],
    victims: NDArray[np.int64],
    log: Log,
) -> None:
    """Take the bratworm for 1s from the rival that the player chose."""
    book: Rulebook = books[0]
    for k in range(len(asked)):
        earn_bratworm(book, table[asked[k]], seat, victims[k], as_int(DOUBLE_ONE), log)


@inlined
def is_canned(hand: Hand) -> bool:
    """Whether the canned worm counts: it is held, and no worm is set aside."""
    return (hand.can > 0) & (hand.aside & WORM_BIT == 0)


@inlined
def has_worm(hand: Hand) -> bool:
    """Whether the worm that every claim needs is set aside, or canned."""
    return (hand.can > 0) | (hand.aside & WORM_BIT != 0)


@inlined
def total(hand: Hand) -> int:
    """Points set aside, the canned worm included if it counts."""
    return as_int(hand.points) + as_int(hand.can) * is_canned(hand)


@inlined
def reaches(book: Rulebook, grill: int, loot: int, total: int) -> bool:
    """Whether a total, with its worm, may claim any tile of the grill, or steal one."""
    found: int = (grill & book.reach[total]) | (loot & book.exact[total])
    return found != 0


@inlined
def can_claim(book: Rulebook, hand: Hand) -> bool:
    """Whether a stop could claim anything now; `legal_claims` in `pickosim.engine.claim` says what."""
    return has_worm(hand) & reaches(book, as_int(hand.grill), as_int(hand.loot), total(hand))


@kernel
def drop_stopped(rolling: NDArray[np.int32], stops: NDArray[np.bool_]) -> int:
    """Stop in the games where the player answers so. Returns how many still roll."""
    kept = 0
    for k in range(len(rolling)):
        rolling[kept] = rolling[k]
        kept += not stops[k]
    return kept


@inlined
def log_stop(game: Game, hand: Hand, log: Log) -> None:
    """Log that the rolling has ended with something set aside."""
    log_event(log, game, STOP, total(hand), is_canned(hand), is_forced(hand))
