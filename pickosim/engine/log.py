"""The log: what happened, one row of whole numbers an event, written by the kernels themselves.

Batches are played with a log of no capacity, which costs a branch an event; a game to watch is the
same batch with room in its log. `pickosim.games.trace` says what the rows mean to a reader.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pickosim.engine.kernels import called, inlined, whole

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

MOST_A_TURN = 80
"""No turn has more events: 7 rolls with what follows each, a claim or fail with its moves, the stacks at the end."""


EVENT = np.dtype(
    [
        ("game", np.int64),
        ("turn", np.int32),
        ("kind", np.int32),
        ("a", np.int32),
        ("b", np.int32),
        ("c", np.int32),
    ]
)
"""An event: whose game, which turn, what kind, and three details."""

Log = NDArray[np.void]
"""(capacity,) of EVENT. Entry 0 is no event: its `game` says how many follow it."""


def new_log(room: bool = False) -> Log:
    """An empty log, with room for events (as `with_room` makes it) or for none."""
    return np.zeros(1 if room else 0, EVENT)


def length(log: Log) -> int:
    """How many events have been written."""
    return int(log["game"][0])


def with_room(log: Log, games: int) -> Log:
    """The same log with room for one more turn of so many games; a log without room as it is."""
    if len(log) == 0:
        return log
    missing = 1 + length(log) + games * MOST_A_TURN - len(log)
    return np.concatenate([log, np.zeros(len(log) + missing, EVENT)]) if missing > 0 else log


def events(log: Log) -> NDArray[np.void]:
    """(n,) of EVENT: what has been written, game by game, in the order in which it happened."""
    written = log[1 : 1 + length(log)]
    return written[np.argsort(written["game"], kind="stable")]


@inlined
def note(log: Log, game: Any, kind: int, a: int = 0, b: int = 0, c: int = 0) -> None:
    """Write one event of a game (a record of the table), if the log has room at all."""
    if len(log):
        _write(log, game, whole(kind), whole(a), whole(b), whole(c))


@called
def _write(log: Log, game: Any, kind: int, a: int, b: int, c: int) -> None:
    log[0].game += 1
    event = log[log[0].game]
    event.game = game.game
    event.turn = game.turn
    event.kind = kind
    event.a = a
    event.b = b
    event.c = c
