"""The net: from the features of a position to the chance to win, in whole numbers, the same on every machine.

The rows of all true facts are added up (64 sums), then come a layer of 32 and one number per player, as in the efficiently
updatable nets (NNUE) of chess programs. The first is the logit of the chance of the player who has just moved; a softmax
of the others shares the rest among the rivals. With two players there is only the first. Weights are int16 and sums int32; activations are cut off below 0 and above
`CAP`. Results of the same turn share most of their facts, so only the differences are added and subtracted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal, localcontext
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pickosim.engine.kernels import as_int, inlined, kernel
from pickosim.engine.results import Positions
from pickosim.engine.rulebook import Books
from pickosim.engine.tally import PARTS
from pickosim.learning.features import LEFT_GROUP, Layout, encode, layout_for, tiles_by_worms
from pickosim.learning.layers import (
    LOGIT_ONE,
    MASK,
    ONE,
    VECTORS,
    WEIGHT_BITS,
    Net,
    arranged,
    logit,
    moved,
    no_sums,
    second_layer,
)

MOST_LOGIT = 16
"""Logits beyond this count as this."""

CURVE_BITS = 5
"""The curve has a point for each 2^-5 of a logit; between points it is straight."""

CHANCE_ONE = 1 << 24
"""A chance of 1: all chances are whole multiples of 2^-24, which any float holds exactly."""

_STEP_BITS = LOGIT_ONE.bit_length() - 1 - CURVE_BITS


class Parameters(NamedTuple):
    """A net as it is trained: the same arrays in float32."""

    facts: NDArray[np.float32]
    second: NDArray[np.float32]
    second_bias: NDArray[np.float32]
    output: NDArray[np.float32]
    output_bias: NDArray[np.float32]


_FIELDS: tuple[tuple[type[np.integer[Any]], int], ...] = (
    (np.int16, ONE),
    (np.int16, 1 << WEIGHT_BITS),
    (np.int32, LOGIT_ONE),
    (np.int16, 1 << WEIGHT_BITS),
    (np.int32, LOGIT_ONE),
)
"""The type of each array of a net, and what is 1.0 there."""


def rounded(parameters: Parameters) -> Net:
    """The net with the nearest whole numbers; numbers that do not fit are cut off."""
    fields = zip(parameters, _FIELDS, strict=True)
    return Net(*(_rounded(values, one).astype(kind) for values, (kind, one) in fields))


def widened(net: Net) -> Parameters:
    """The net as it can be trained on: the inverse of `rounded`."""
    arrays: Iterable[NDArray[Any]] = net
    fields = zip(arrays, _FIELDS, strict=True)
    return Parameters(*((numbers / one).astype(np.float32) for numbers, (_, one) in fields))


def _rounded(values: NDArray[np.float32], one: int) -> NDArray[np.float64]:
    """Values in parts of `one`; biases have more bits, but need no larger values than weights."""
    most = np.iinfo(np.int16).max * max(1, one // LOGIT_ONE << WEIGHT_BITS)
    return np.clip(np.rint(values.astype(np.float64) * one), -most, most)


@cache
def curve() -> NDArray[np.int64]:
    """(points,): the logistic curve from -MOST_LOGIT to MOST_LOGIT, in parts of CHANCE_ONE."""
    return _points(lambda power: CHANCE_ONE / (1 + 1 / power), MOST_LOGIT)


@cache
def exponential() -> NDArray[np.int64]:
    """(points,): powers of e from -MOST_LOGIT to 0, in parts of CHANCE_ONE; points as in `curve`."""
    return _points(lambda power: CHANCE_ONE * power, 0)


def _points(function: Callable[[Decimal], Decimal], last: int) -> NDArray[np.int64]:
    """A function of the powers of e from -MOST_LOGIT to `last`, with one point more.

    Computed with decimal numbers, whose exponential is rounded correctly everywhere.
    """
    steps = range(-MOST_LOGIT << CURVE_BITS, (last << CURVE_BITS) + 1)
    with localcontext() as context:
        context.prec = 30
        points = [
            int(function((Decimal(step) / (1 << CURVE_BITS)).exp()).to_integral_value())
            for step in steps
        ]
    return np.array([*points, points[-1]], np.int64)


def knows_all(net: Net, players: int) -> bool:
    """Whether a net says every player's chance to win, and not only that of the one who has just moved."""
    return players in (2, len(net.output_bias))


def win_chances(
    books: Books,
    positions: Positions,
    seat: int,
    net: Net,
    layout: Layout | None = None,
    *,
    players: int = 1,
    vectors: bool = VECTORS,
) -> NDArray[np.float64]:
    """(m, players): the chance to win of the player at `seat`, who has just moved; with all `players`, of each in turn.

    Those of all add up to 1; the net must know them (`knows_all`). Where the game is over, they are win shares.
    """
    out = np.empty((len(positions), players))
    layout, ready = layout or layout_for(books), arranged(net, vectors)
    _win_chances(books, positions, seat, layout, LEFT_GROUP, ready, curve(), exponential(), out)
    return out


@kernel
def _win_chances(
    books: Books,
    positions: Positions,
    seat: int,
    layout: Layout,
    left_group: NDArray[np.int64],
    net: Net,
    curve: NDArray[np.int64],
    exponential: NDArray[np.int64],
    out: NDArray[np.float64],
) -> None:
    """Write the chances of the first players from `seat` on to `out` (m, players): of that one, or of all."""
    room = (layout.slots + MASK - 1) // MASK * MASK
    before, now = np.zeros(room, np.int16), np.zeros(room, np.int16)
    sums, by_worms = no_sums(net), tiles_by_worms(books[0])
    players, seats = out.shape[1], as_int(books[0].players)
    logits = np.zeros(players, np.int64)
    for k in range(len(positions)):
        if positions[k].over:
            for place in range(players):
                out[k, place] = positions[k].won[(seat + place) % seats] / PARTS
            continue
        encode(books[0], positions[k], seat, layout, left_group, by_worms, now)
        sums = moved(net, sums, now, before)
        second = second_layer(net, sums)
        own = _on_curve(logit(net, second, 0), curve)
        out[k, 0] = own / CHANCE_ONE
        if players > 2:
            for place in range(1, players):
                logits[place] = logit(net, second, place)
            _share(CHANCE_ONE - own, logits, exponential, out[k])
        elif players == 2:
            out[k, 1] = (CHANCE_ONE - own) / CHANCE_ONE


@inlined
def _share(
    left: int, logits: NDArray[np.int64], exponential: NDArray[np.int64], out: NDArray[np.float64]
) -> None:
    """Share what is left, in parts of CHANCE_ONE, among all but the first by their logits; the last gets the rest."""
    most, total = logits[1], 0
    for place in range(2, len(logits)):
        most = max(most, logits[place])
    for place in range(1, len(logits)):
        logits[place] = _on_curve(logits[place] - most, exponential)
        total += logits[place]
    # One division instead of one per player; floats of 64 bits are the same on every machine.
    per, rest = left / total, left
    for place in range(1, len(logits) - 1):
        share = as_int(logits[place] * per)
        rest -= share
        out[place] = share / CHANCE_ONE
    out[len(logits) - 1] = rest / CHANCE_ONE


@inlined
def _on_curve(logit: int, curve: NDArray[np.int64]) -> int:
    """The chance of a logit, or its power of e if that is the curve, in parts of CHANCE_ONE."""
    edge = MOST_LOGIT * LOGIT_ONE
    along = min(max(logit, -edge), edge) + edge
    point, rest = along >> _STEP_BITS, along & ((1 << _STEP_BITS) - 1)
    low, high = as_int(curve[point]), as_int(curve[point + 1])
    return low + ((high - low) * rest >> _STEP_BITS)
