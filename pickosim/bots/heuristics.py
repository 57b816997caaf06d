"""Heuristics that several bots share."""

from __future__ import annotations

import numpy as np

from pickosim.bots.view import BoolArray, FloatArray, IntArray, Turn
from pickosim.engine.dice import POINTS
from pickosim.rules import SPECIALISTS, WORM

RANKING = ("sitting-hen", "canned-worm", "apple", "golden-die", "weasel", "raven")
"""Specialists, the most valuable first."""

_RANK = np.array([RANKING.index(name) for name in SPECIALISTS])
_CLAIM_BONUS = 100


def points_to_gain(turn: Turn) -> IntArray:
    """(n, 7): a score per face for `Turn.best`: its points.

    When only exact-only tiles are left on the grill, a large total is useless: then fewer points score
    higher, and a face that makes a claim possible at once scores highest.
    """
    points = turn.counts * POINTS
    if not turn.rules.exact_only:
        return points
    exact_only = np.isin(turn.tiles, turn.rules.exact_only)
    small_wanted = np.logical_not((turn.grill & ~exact_only).any(axis=1))
    if not small_wanted.any():
        return points
    scores = np.where(small_wanted[:, None], _CLAIM_BONUS * claims_at_once(turn) - points, points)
    return scores.astype(np.int16)


def claims_at_once(turn: Turn) -> BoolArray:
    """(n, 7): whether setting a face aside gives a total that can claim a tile."""
    claimable = np.zeros(turn.counts.shape, np.bool_)
    for face in range(1, WORM + 1):
        worm = turn.has_worm | (face == WORM)
        total = turn.total + turn.counts[:, face] * POINTS[face]
        claimable[:, face] = turn.legal[:, face] & worm & turn.can_claim_with(total)
    return claimable


def keep_better(turn: Turn) -> BoolArray:
    """(n,): whether the new specialist ranks higher than the one held."""
    new, held = _RANK[turn.new_specialist], _RANK[turn.holds[:, 0]]
    better: BoolArray = new < held
    return better


def specialist_worths(bot: object) -> FloatArray:
    """(S + 1,): what each specialist is worth by the bot's parameter of that name, 0 without one.

    The last entry is 0: index -1 means that no specialist is held.
    """
    worths = [getattr(bot, name.replace("-", "_"), 0.0) for name in SPECIALISTS]
    return np.array([*worths, 0.0])
