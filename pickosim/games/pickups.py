"""Pick-ups: the moments at which specialists are gained, and the same games played on without what was gained.

Every game is branched at every pick-up: once it goes on as it is, and once without. Both have the same past and the
same dice to come, so that what differs between their ends is what the pick-up was worth.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pickosim.engine.kernels import U8, U16, U32, as_int, dtype_of, inlined, kernel
from pickosim.engine.log import Log, new_log
from pickosim.engine.rulebook import NOTHING, RAVEN, SEATS, Books, Rulebook
from pickosim.engine.table import TABLE, Game, Table, send_back
from pickosim.engine.tally import LUCK_ONE, Tally, score_of
from pickosim.games.batch import BATCH, Batch, play_on
from pickosim.games.match import Match
from pickosim.solver.valuation import Valuation

Instead = Literal["gone", "grill", "same"]
"""What a branch has instead of the pick-up: the specialist is gone, or goes back to the grill; the player keeps the
one it had before. `same` changes nothing, for tests."""

BETWEEN, LEADING, TRAILING = range(3)
"""How a player stands by score: nobody has more and somebody less, nobody less and somebody more, or neither."""


class Pickup(Protocol):
    """A record of PICKUP: one pick-up."""

    entry: U32  # of the game, in the tally
    turn: U16
    specialist: U8
    seat: U8  # of the player who gained it
    tiles_left: U8  # on the grill after that turn
    standing: U8  # of the player before that turn
    former: U8  # specialist that the player held before, or NOTHING


PICKUP = dtype_of(Pickup)

Pickups = NDArray[np.void]
"""(E,) of PICKUP."""


class Branched(NamedTuple):
    """Games, and what became of each pick-up in them."""

    tally: Tally
    """(G,) as the games are."""
    pickups: Pickups
    """(E,), game by game."""
    branches: Tally
    """(E,): the same games without that pick-up."""
    luck: NDArray[np.int64]
    """(E,): the luck of the gainer after the pick-up, less that in the branch, in parts of LUCK_ONE; 0 unless judged."""


def branch_pickups(
    match: Match,
    first: int,
    games: int,
    specialists: NDArray[np.bool_],
    control: Instead,
    judge: Valuation | None = None,
) -> Branched:
    """Play games `first` to `first + games - 1` of a match, each branched at every pick-up of these specialists (S,).

    A `judge` says how lucky the gainer was from then on, in the game and in the branch.
    """
    batch = _Branching(match, first, games, specialists, control, judge)
    tally = batch.play()
    pickups = np.concatenate(batch.pickups)
    order = np.lexsort((pickups["turn"], pickups["entry"]))
    pickups = pickups[order]
    tables = np.concatenate(batch.tables)[order]
    branches = play_on(match, tables, after_turn=True, judge=judge)
    luck = tally.luck[pickups["entry"], pickups["seat"]] - np.concatenate(batch.luck)[order]
    luck -= branches.luck[np.arange(len(luck)), pickups["seat"]]
    return Branched(tally, pickups, branches, luck)


class _Branching(Batch):
    """Copies games at every pick-up, with the control instead of it."""

    def __init__(
        self,
        match: Match,
        first: int,
        games: int,
        specialists: NDArray[np.bool_],
        control: Instead,
        judge: Valuation | None = None,
    ) -> None:
        super().__init__(match, first, games, batch=BATCH, judge=judge)
        self.specialists = specialists
        self.control = control
        self.pickups: list[Pickups] = [np.zeros(0, PICKUP)]
        self.tables: list[Table] = [np.zeros(0, TABLE)]
        self.luck = [np.zeros(0, np.int64)]
        """The luck of the gainer up to the pick-up, in parts of LUCK_ONE."""

    def play_turn(self, seat: int, rows: NDArray[np.int32]) -> None:
        before = self.table[rows]
        super().play_turn(seat, rows)
        changed, pickups = np.zeros(len(rows), np.int32), np.zeros(len(rows), PICKUP)
        games = self.table[rows]
        number = _find(self.books, games, seat, before, self.specialists, changed, pickups)
        if number:
            places = changed[:number]
            copies = games[places]
            if self.control != "same":
                back = self.control == "grill"
                _take_back(self.books, copies, seat, before[places], pickups, back, new_log())
            self.pickups.append(pickups[:number].copy())
            self.tables.append(copies)
            luck = self.judge.luck[copies["entry"], seat] if self.judge else np.zeros(number)
            self.luck.append(np.rint(luck * LUCK_ONE).astype(np.int64))


@inlined
def _gained(game: Game, specialist: int, seat: int) -> int:
    """How often a player has gained a specialist; nobody ever has the raven, but it pays."""
    if specialist == RAVEN:
        return as_int(game.used[specialist, seat])
    return as_int(game.gained[specialist, seat])


@inlined
def _standing(book: Rulebook, game: Game, seat: int) -> int:
    own, more, less = score_of(book, game, seat), False, False
    for rival in range(book.players):
        score = score_of(book, game, rival)
        more |= score > own
        less |= score < own
    if more == less:
        return BETWEEN
    return LEADING if less else TRAILING


@kernel
def _find(
    books: Books,
    games: Table,
    seat: int,
    before: Table,
    specialists: NDArray[np.bool_],
    changed: NDArray[np.int32],
    pickups: Pickups,
) -> int:
    """Find the games with a pick-up in this turn; a turn has one at most. Returns how many there are."""
    number = 0
    for k in range(len(games)):
        game: Game = games[k]
        former: Game = before[k]
        for specialist in range(len(game.place)):
            if specialists[specialist] and _gained(game, specialist, seat) > _gained(
                former, specialist, seat
            ):
                changed[number] = k
                pickup: Pickup = pickups[number]
                pickup.entry = game.entry
                pickup.turn = game.turn
                pickup.specialist = specialist
                pickup.seat = seat
                pickup.standing = _standing(books[0], former, seat)
                pickup.former = former.holds[seat]
                left = as_int(game.grill)
                pickup.tiles_left = 0
                while left:
                    left &= left - 1
                    pickup.tiles_left += 1
                number += 1
    return number


@kernel
def _take_back(
    books: Books,
    games: Table,
    seat: int,
    before: Table,
    pickups: Pickups,
    back: bool,
    log: Log,
) -> None:
    """Undo the pick-up: the raven's bratworm goes back; any other specialist goes, and the former one is kept."""
    for k in range(len(games)):
        game: Game = games[k]
        specialist = as_int(pickups[k].specialist)
        if specialist == RAVEN:
            payer = _raven_took_from(books[0], game, before[k], seat)
            game.bratworms[seat] -= 1
            if payer == NOTHING:
                game.supply += 1
            else:
                game.bratworms[payer] += 1
            continue
        former = as_int(pickups[k].former)
        game.holds[seat] = former
        if former != NOTHING:
            game.place[former] = SEATS + seat
        game.place[specialist] = NOTHING
        if back:
            send_back(game, specialist, log)


@inlined
def _raven_took_from(book: Rulebook, game: Game, before: Game, seat: int) -> int:
    """Who lost the raven's bratworm in this turn: a rival, or the supply (NOTHING).

    1s may have brought one before. The supply comes first, and of two rivals the richer, or of equals the one who
    plays sooner: the other one lost the second, which is the raven's.
    """
    won = as_int(game.bratworms[seat]) - as_int(before.bratworms[seat])
    if as_int(before.supply) - as_int(game.supply) == won:
        return NOTHING
    last = NOTHING
    for step in range(1, book.players):
        rival = (seat + step) % book.players
        if game.bratworms[rival] < before.bratworms[rival] and (
            last == NOTHING or before.bratworms[rival] <= before.bratworms[last]
        ):
            last = rival
    return last
