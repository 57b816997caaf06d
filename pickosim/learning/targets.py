"""Targets: what recorded games say about the chance to win at each of their positions.

A position is valued by what was expected before its player's next turn (by the solver, exactly), corrected by the
errors found later in the game, each λ times as much as the one before: λ-returns (Sutton, 1988) of exact Bellman
errors. The luck of the dice in the turns of the learning player does not count, so that few games say much.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pickosim.engine.kernels import kernel


@kernel
def targets_of(
    chance: NDArray[np.float64],
    expected: NDArray[np.float64],
    first: NDArray[np.int64],
    wins: NDArray[np.float64],
    trace: float,
) -> NDArray[np.float32]:
    """(N,): the target for each position after a turn, for the player who has just moved.

    The turns of a game are adjacent, game g from first[g] to first[g + 1]. chance (N,): what the net says after each
    turn; expected (N,): what the solver expected before it, of the player who then moves, NaN if unknown; wins (G, P):
    the win shares by seat. `trace` is λ.

    With two players what one wins the other loses: an error in the rival's turn counts too.
    """
    players = wins.shape[1]
    targets = np.empty(len(chance), np.float32)
    for game in range(len(first) - 1):
        begin, end = first[game], first[game + 1]
        if players == 2:
            carry = 0.0
            targets[end - 1] = wins[game, (end - 1 - begin) % 2]
            for turn in range(end - 2, begin - 1, -1):
                # In turn + 1 the rival moves, for whom this position is worth 1 - chance.
                seat = (turn + 1 - begin) % 2
                after = wins[game, seat] if turn + 1 == end - 1 else chance[turn + 1]
                known = expected[turn + 1]
                better = (after if np.isnan(known) else known) - (1.0 - chance[turn])
                carry = better - trace * carry
                targets[turn] = 1.0 - ((1.0 - chance[turn]) + carry)
            continue
        for turn in range(end - 1, begin - 1, -1):
            seat = (turn - begin) % players
            later = turn + players
            if later >= end:
                targets[turn] = wins[game, seat]
                continue
            after = wins[game, seat] if later == end - 1 else chance[later]
            known = expected[later]
            error = targets[later] - after
            targets[turn] = targets[later] if np.isnan(known) else known + trace * error
    return targets


@kernel
def errors_of(
    chance: NDArray[np.float64],
    expected: NDArray[np.float64],
    first: NDArray[np.int64],
    players: int,
) -> NDArray[np.float64]:
    """(N,): the Bellman error of each position, i.e. how far its chance is from what its player's next turn is expected to
    bring; NaN where that is unknown. With more than two players, rivals move in between, and their luck is in it.
    """
    errors = np.full(len(chance), np.nan)
    for game in range(len(first) - 1):
        for turn in range(first[game], first[game + 1]):
            if players == 2 and turn + 1 < first[game + 1]:
                errors[turn] = 1.0 - expected[turn + 1] - chance[turn]
            elif turn + players < first[game + 1]:
                errors[turn] = expected[turn + players] - chance[turn]
    return errors
