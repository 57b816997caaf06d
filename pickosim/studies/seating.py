"""Who sat where: the bots of a matchup by seat, block by block; and results by bot instead of by seat."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pickosim.games.match import order_of
from pickosim.studies.schedule import Matchup, rotations

Bots = NDArray[np.uint8]
"""(R, B, P): the number in the matchup of the bot in each seat, by rotation and block."""


def bots_by_seat(matchup: Matchup, first: int, blocks: int) -> Bots:
    """Who sits where in the blocks from game number `first` on."""
    orders = np.array(rotations(matchup), np.uint8)
    return orders[:, order_of(np.arange(first, first + blocks), orders.shape[1])]


def by_bot(of_seats: NDArray[Any], bots: NDArray[np.uint8]) -> NDArray[Any]:
    """(B, …, P): numbers by seat, in the last axis, as numbers by bot; bots (B, P) by seat."""
    of_bots = np.empty_like(of_seats)
    between = (1,) * (of_seats.ndim - 2)
    to = bots.reshape(len(bots), *between, -1).astype(np.int64)
    np.put_along_axis(of_bots, np.broadcast_to(to, of_seats.shape), of_seats, axis=-1)
    return of_bots
