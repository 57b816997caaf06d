"""The turn: roll, set aside, stop or roll on; how a turn's result comes about, not what it does.

All games of a batch are on the same seat's turn, and `rolling` lists the rows of those whose player
still rolls: each step strikes out the games whose rolling has ended. What `pickosim.engine.claim` then needs
to know of a turn is its total, whether a worm is in it, and how the rolling ended.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pickosim.engine.dice import (
    ALL_FACES,
    FACES,
    POINTS,
    WORM_BIT,
    Rolls,
    below,
    draw_golden_face,
    draw_roll,
)
from pickosim.engine.kernels import called, inlined, kernel, whole
from pickosim.engine.log import DOUBLE_ONE, REROLL, ROLL, SET_ASIDE, STOP, Log, note
from pickosim.engine.rulebook import CANNED_WORM, GOLDEN_DIE, NOTHING, WEASEL, Books, Rulebook
from pickosim.engine.table import Game, Table, bratworm_sources, earn_bratworm, stealable

CAN_POINTS = 5
"""The canned worm counts like a die's worm, while no die's worm is set aside."""

HAND = np.dtype(
    [
        ("key", np.uint64),  # address of this turn's dice
        ("grill", np.uint32),  # tiles face up on the grill, all through the turn
        ("loot", np.uint32),  # tiles that can be stolen
        ("roll", np.uint16),  # number of the last roll, the golden die included
        ("golden_face", np.uint8),  # of the golden die in that roll, 0 if it was not rolled
        ("new", np.uint8),  # set of faces in that roll that were not yet set aside
        ("aside", np.uint8),  # set of faces set aside
        ("points", np.uint8),  # of the dice set aside
        ("white", np.uint8),  # dice left
        ("golden", np.uint8),  # dice left, 0 or 1
        ("can", np.uint8),  # points of the canned worm, if held
        ("weasel", np.uint8),  # rerolls left, 0 or 1
        ("rolls", np.uint8),  # made this turn
    ],
    align=True,
)
"""The columns of hands: the dice of the player on turn, by row of the table."""

Hands = NDArray[np.void]
"""(N,) of HAND."""

Hand = Any
"""A record of HAND."""


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
    book = books[0]
    found = 0
    for row in rows:
        game, hand = table[row], hands[row]
        held = game.holds[seat]
        hand.key = below(game.dice_key, np.uint64(game.turn))
        hand.grill = game.grill
        hand.loot = stealable(book, game, seat)
        hand.aside = 0
        hand.points = 0
        hand.white = book.dice
        hand.golden = 0
        hand.can = CAN_POINTS if held == CANNED_WORM else 0
        hand.weasel = held == WEASEL
        hand.rolls = 0
        asked[found] = row
        found += held == GOLDEN_DIE
    return found


@kernel
def take_golden_die(
    table: Table, hands: Hands, seat: int, asked: NDArray[np.int32], answers: NDArray[np.bool_]
) -> None:
    """The holder of the golden die uses it this turn where it says so."""
    for k in range(len(asked)):
        if answers[k]:
            hands[asked[k]].golden = 1
            table[asked[k]].used[GOLDEN_DIE, seat] += 1


@inlined
def _roll_dice(book: Rulebook, rolls: Rolls, game: Game, hand: Hand, log: Log) -> None:
    """Roll the dice that are left."""
    roll = draw_roll(rolls, book.first_roll, hand.white, hand.key, hand.rolls)
    face = 0
    if hand.golden:
        face = draw_golden_face(book.golden_die_faces, hand.key, hand.rolls)
        roll = whole(rolls[roll].plus[face])
    hand.roll = roll
    hand.golden_face = face
    hand.new = rolls[roll].faces & ~hand.aside
    hand.rolls += 1
    note(log, game, ROLL, roll, face)


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
    """Every player still rolling rolls; a roll without a new face ends the turn.

    A player who is not asked uses the weasel on such a roll, if the rules allow. Of one who is, the
    games whose weasel can be used on this roll stay, and are written to `weasels`. Returns how many
    still roll, and how many of them are asked.
    """
    book = books[0]
    kept, found = 0, 0
    for row in rolling:
        hand = hands[row]
        _roll_dice(book, rolls, table[row], hand, log)
        asked = False
        if hand.weasel and (book.weasel_rescues_bust or not is_bust(hand)):
            asked = asking
            if asking:
                weasels[found] = row
                found += 1
            elif is_bust(hand):
                _use_weasel(book, rolls, table[row], hand, seat, log)
        rolling[kept] = row
        kept += asked or not is_bust(hand)
    return kept, found


@called
def _use_weasel(book: Rulebook, rolls: Rolls, game: Game, hand: Hand, seat: int, log: Log) -> None:
    """The weasel: roll those same dice again; the new roll counts."""
    note(log, game, REROLL)
    hand.weasel = 0
    game.used[WEASEL, seat] += 1
    _roll_dice(book, rolls, game, hand, log)


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
    """The player uses the weasel where it says so."""
    for k in range(len(asked)):
        if answers[k]:
            _use_weasel(books[0], rolls, table[asked[k]], hands[asked[k]], seat, log)


@kernel
def drop_busts(hands: Hands, rolling: NDArray[np.int32]) -> int:
    """A roll without a new face ends the turn; how many still roll."""
    kept = 0
    for row in rolling:
        rolling[kept] = row
        kept += not is_bust(hands[row])
    return kept


@kernel
def as_faces(numbers: NDArray[Any]) -> NDArray[np.uint8]:
    """(len(numbers),): whole numbers of any width as faces; what is none becomes 0."""
    faces = np.empty(len(numbers), np.uint8)
    for k in range(len(numbers)):
        faces[k] = numbers[k] if 1 <= numbers[k] <= FACES else 0
    return faces


@inlined
def _is_legal(hand: Hand, face: int) -> bool:
    """Whether a number is a new face of the roll."""
    return face <= FACES and (whole(hand.new) << 1 >> face) & 1 != 0


@inlined
def is_forced(hand: Hand) -> bool:
    """Whether the turn stops by itself: no dice left, or all six faces set aside."""
    return (hand.white + hand.golden == 0) | (hand.aside == ALL_FACES)


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
    """Put all dice of the chosen face aside; two or more 1s earn a bratworm at once.

    Whether a stop could claim anything is written to `claimable`, an entry for each game that still
    rolls (in the others the turn stops by itself). Games in which the player has to say whom it takes
    that bratworm from are written to `asked`; one who is not asked takes it from the richest.

    Returns how many still roll, how many are asked, and -1: or, if a face is not legal, the place in
    `rolling` of the first such game, where everything is then left as it is.
    """
    book = books[0]
    kept, found = 0, 0
    for k in range(len(rolling)):
        row, face = rolling[k], whole(faces[k])
        hand = hands[row]
        if not _is_legal(hand, face):
            return kept, found, k
        dice = whole(rolls[hand.roll].counts[face])
        golden = hand.golden_face == face
        hand.golden -= golden
        hand.white -= dice - golden
        hand.aside |= 1 << (face - 1)
        hand.points += dice * POINTS[face]
        claims, rolls_on = can_claim(book, hand), not is_forced(hand)
        note(log, table[row], SET_ASIDE, face, dice, hand.points)
        if book.bratworms and face == 1 and dice >= 2:
            sources, _ = bratworm_sources(book, table[row], seat)
            if asking and sources > 1:
                asked[found] = row
                found += 1
            else:
                earn_bratworm(book, table[row], seat, whole(NOTHING), whole(DOUBLE_ONE), log)
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
    """The bratworm for two or more 1s, from the rival the player chose."""
    book = books[0]
    for k in range(len(asked)):
        earn_bratworm(book, table[asked[k]], seat, victims[k], whole(DOUBLE_ONE), log)


@inlined
def is_canned(hand: Hand) -> bool:
    """Whether the canned worm counts: it is held, and no worm is set aside."""
    return (hand.can > 0) & (hand.aside & WORM_BIT == 0)


@inlined
def has_worm(hand: Hand) -> bool:
    """Whether the worm that every claim needs is there, the canned one included."""
    return (hand.can > 0) | (hand.aside & WORM_BIT != 0)


@inlined
def total(hand: Hand) -> int:
    """Points set aside, the canned worm included if it counts."""
    return whole(hand.points) + whole(hand.can) * is_canned(hand)


@inlined
def reaches(book: Rulebook, grill: int, loot: int, total: int) -> bool:
    """Whether a total, with its worm, may claim any tile of the grill, or steal one."""
    return (grill & book.reach[total]) | (loot & book.exact[total]) != 0


@inlined
def can_claim(book: Rulebook, hand: Hand) -> bool:
    """Whether a stop could claim anything now; `pickosim.engine.claim` says what."""
    return has_worm(hand) & reaches(book, whole(hand.grill), whole(hand.loot), total(hand))


@kernel
def drop_stopped(rolling: NDArray[np.int32], stops: NDArray[np.bool_]) -> int:
    """The player stops where it says so; how many still roll."""
    kept = 0
    for k in range(len(rolling)):
        rolling[kept] = rolling[k]
        kept += not stops[k]
    return kept


@inlined
def note_stop(game: Game, hand: Hand, log: Log) -> None:
    """Tell that the rolling has ended with something set aside."""
    note(log, game, STOP, total(hand), is_canned(hand), is_forced(hand))
