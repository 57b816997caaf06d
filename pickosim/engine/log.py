"""The log: one record of integers per event, written by the kernels.

Games are usually played with a log without capacity, which costs one branch per event; to watch a game,
the same batch is played with room in its log. `pickosim.games.trace` makes readable events of the records.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pickosim.engine.kernels import I32, I64, as_int, called, dtype_of, inlined

(
    ROLL,  # roll, golden face or 0
    REROLL,
    SET_ASIDE,  # face, dice, total
    BRATWORM,  # place it comes from, RAVEN_PAYS or DOUBLE_ONE
    STOP,  # total, canned, forced
    TAKE,  # tile
    STEAL,  # tile, victim
    STEAL_HEN,  # victim
    FAIL,  # reason
    RETURN,  # tile
    FLIP,  # tile
    SPECIALIST,  # specialist, place from, place to
    STACKED,  # seat, tile: at the end of the game, each stack from top to bottom
) = range(13)

DOUBLE_ONE, RAVEN_PAYS = range(2)

FAIL_REASONS = ("no-new-face", "no-worm", "nothing-to-claim")
"""The reasons of a FAIL, in words."""

MOST_EVENTS_PER_TURN = 80
"""No turn has more events: 7 rolls with what follows each, a claim or fail with its moves, the stacks at the end."""


class Event(Protocol):
    """A record of EVENT, as kernels write it."""

    entry: I64
    turn: I32
    kind: I32
    a: I32
    b: I32
    c: I32


EVENT = dtype_of(Event, align=False)
"""Fields of an event: where the results of its game go, its turn and kind, and three details."""


class _EntryAndTurn(Protocol):
    """The fields of a game (`pickosim.engine.table.Game`) that its events repeat."""

    entry: int
    turn: int


Log = NDArray[np.void]
"""(capacity,) of EVENT. Record 0 is not an event: its `entry` is the number of events that follow."""


def new_log(room: bool = False) -> Log:
    """An empty log: one that `with_room` extends, or one without capacity."""
    return np.zeros(1 if room else 0, EVENT)


def length(log: Log) -> int:
    """How many events have been written."""
    return int(log["entry"][0])


def emptied(log: Log) -> Log:
    """The log without its events, which are overwritten by the next."""
    log["entry"][:1] = 0
    return log


def with_room(log: Log, games: int) -> Log:
    """The log with room for one more turn of `games` games; a log without capacity stays as it is."""
    if len(log) == 0:
        return log
    missing = 1 + length(log) + games * MOST_EVENTS_PER_TURN - len(log)
    return np.concatenate([log, np.zeros(len(log) + missing, EVENT)]) if missing > 0 else log


def events(log: Log) -> NDArray[np.void]:
    """(n,) of EVENT: the events written so far, game by game, in the order in which they happened."""
    written = log[1 : 1 + length(log)]
    return written[np.argsort(written["entry"], kind="stable")]


@inlined
def log_event(log: Log, game: _EntryAndTurn, kind: int, a: int = 0, b: int = 0, c: int = 0) -> None:
    """Write one event of a game (a record of the table), if the log has any capacity."""
    if len(log):
        _write(log, game, as_int(kind), as_int(a), as_int(b), as_int(c))


@called
def _write(log: Log, game: _EntryAndTurn, kind: int, a: int, b: int, c: int) -> None:
    log[0].entry += 1
    event: Event = log[log[0].entry]
    event.entry = game.entry
    event.turn = game.turn
    event.kind = kind
    event.a = a
    event.b = b
    event.c = c
