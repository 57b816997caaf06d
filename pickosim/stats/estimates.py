"""Estimates from sums over blocks: means and ratios with intervals, and differences paired by block.

Of every block some named whole numbers are noted, its *values*. Their sums and products over blocks are all that a mean,
a ratio, its interval, and a difference between two arms (the same blocks, played in two ways) need to know.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import inf, isinf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pickosim.stats.moments import (
    Estimate,
    Moments,
    Rate,
    count_rate,
    share_rate,
    stratified_mean,
)

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def products(values: Ints, others: Ints) -> Ints:
    """(V, W): sums over blocks of each value (V, B) of the one times each (W, B) of the other."""
    return np.asarray(values @ others.T)


@dataclass(frozen=True)
class BlockSums:
    """Sums over blocks of V named values, and of their products."""

    names: tuple[str, ...]
    per_block: int
    """Games per block."""
    blocks: int
    totals: Ints
    """(V,)"""
    products: Ints
    """(V, V)"""

    @property
    def games(self) -> int:
        """Games of all blocks."""
        return self.blocks * self.per_block

    def total(self, name: str) -> int:
        """The sum of a value over all games."""
        return int(self.totals[self.names.index(name)])


class Reading(NamedTuple):
    """A measure of some blocks: its value, how far each block moves it, and the bounds of it.

    The value of a block moves it by `weights @ values / blocks`, to first order: exactly if it is a
    mean, and by the linear approximation if it is a ratio of two sums, e.g. fails by turns (Cochran,
    Sampling Techniques, 1977, section 6.11).
    """

    value: float
    weights: Floats
    """(V,)"""
    step: float
    """What a single game (of a ratio: a single case) moves the value of its block by."""
    least: float = 0.0
    most: float = inf


def mean(
    of: BlockSums, name: str, unit: float = 1.0, step: float = 1.0, most: float = inf
) -> Reading:
    """The mean of a value over all games, in that unit; `step`: what a single game counts in the sums."""
    weights = np.zeros(len(of.names))
    weight = weights[of.names.index(name)] = 1 / (unit * of.per_block)
    return Reading(of.total(name) / (unit * of.games), weights, step * weight, most=most)


def ratio(of: BlockSums, above: str, below: str) -> Reading:
    """The sum of a value divided by the sum of another, of which it is a part."""
    quotient = of.total(above) / of.total(below)
    weights = np.zeros(len(of.names))
    weights[of.names.index(above)], weights[of.names.index(below)] = 1.0, -quotient
    case = of.blocks / of.total(below)
    return Reading(quotient, weights * case, case, most=1.0)


def rate(of: BlockSums, reading: Reading) -> Rate:
    """A reading with its 95 % interval: that of a share if it has two bounds, else that of a count."""
    n, total, squares, step = _moments(of, reading)
    # Each block's value is what it moves the measure by, from the mean on: so their mean is the measure.
    move = reading.value - reading.least - total / n
    squares += 2 * move * total + n * move**2
    span = 1.0 if isinf(reading.most) else reading.most - reading.least
    moments = Moments(n, (total + n * move) / span, squares / span**2, step / span)
    found = count_rate([moments]) if isinf(reading.most) else share_rate([moments])
    return found.mapped(reading.least, reading.least + span)._replace(value=reading.value)


def _moments(of: BlockSums, reading: Reading) -> Moments:
    """Of what each block moves a measure by."""
    return Moments(
        float(of.blocks),
        _total(reading, of),
        _product(reading, of.products, reading),
        reading.step,
    )


def _total(reading: Reading, of: BlockSums) -> float:
    """Of what each block moves a measure by, the sum over blocks."""
    return sum(float(reading.weights[k] * of.totals[k]) for k in np.flatnonzero(reading.weights))


def _product(a: Reading, of_both: Ints, b: Reading) -> float:
    """Of what each block moves two measures by, the sum over blocks of the product.

    Added up one by one: the same numbers give the same sum, so that equal arms differ by exactly 0.
    """
    pairs = product(np.flatnonzero(a.weights), np.flatnonzero(b.weights))
    return sum(float(a.weights[i] * of_both[i, j] * b.weights[j]) for i, j in pairs)


def difference(
    of: BlockSums, reading: Reading, reference: BlockSums, base: Reading, crossed: Ints
) -> Estimate:
    """How far a measure differs from that of a reference arm, played with the same dice.

    The error is of the difference block by block, so what the dice do to both alike cancels.
    `crossed` are the `products` of their values.
    """
    squares = (
        _product(reading, of.products, reading)
        - 2 * _product(reading, crossed, base)
        + _product(base, reference.products, base)
    )
    moments = Moments(
        float(of.blocks),
        _total(reading, of) - _total(base, reference),
        squares,
        max(reading.step, base.step),
    )
    return stratified_mean([moments])._replace(mean=reading.value - base.value)
