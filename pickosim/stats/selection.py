"""The best of many settings, by elimination at fixed looks.

All settings play the same blocks, so that a difference of two is paired by dice. After each look, a setting drops out that
is certainly worse than another one, and the rest play on: Paulson (1964, "A sequential procedure for selecting the
population with the largest mean from k normal populations"); action elimination of Even-Dar, Mannor and Mansour (2006).
The bounds hold for all settings and looks together (Bonferroni): only the differences from the one that is truly best
matter, on both sides, at every look. So with the confidence asked for it never drops out, and the one that is named is no
farther from it than `shortfall` says. Means of blocks are taken as normal, which wants some dozens of blocks per stratum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pickosim.stats.distributions import student_quantile
from pickosim.stats.intervals import CONFIDENCE, WHOLE_GAME, Moments

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Stratum:
    """Blocks against the same rivals: of each setting the sum over blocks, and of each two that of products."""

    blocks: int
    totals: NDArray[np.int64]
    """(S,)"""
    products: NDArray[np.int64]
    """(S, S)"""
    unit: int
    """What a block counts that was won altogether."""
    game: int
    """What a game counts that was won."""

    def of(self, kept: NDArray[np.int64]) -> Stratum:
        """Some of the settings."""
        products = self.products[np.ix_(kept, kept)]
        return Stratum(self.blocks, self.totals[kept], products, self.unit, self.game)

    def with_more(self, other: Stratum) -> Stratum:
        """More blocks of the same settings."""
        totals, products = self.totals + other.totals, self.products + other.products
        return Stratum(self.blocks + other.blocks, totals, products, self.unit, self.game)

    def share(self, setting: int) -> Moments:
        """Moments of a setting's share in a block."""
        square = self.products[setting, setting]
        return Moments.of(self.blocks, self.totals[setting], square, self.unit, self.game)

    def difference(self, one: int, other: int) -> Moments:
        """Moments of the difference of two settings in a block."""
        of = self.products
        square = of[one, one] + of[other, other] - 2 * of[one, other]
        total = self.totals[one] - self.totals[other]
        return Moments.of(self.blocks, total, square, self.unit, self.game)


def bounds(
    strata: Sequence[Stratum], settings: int, looks: int, confidence: float = CONFIDENCE
) -> tuple[Floats, Floats]:
    """(S, S): by how much each setting that is left is ahead of each other, and how far off that may be.

    `settings` and `looks` are those at the beginning. The strata have equally many blocks. As in
    `pickosim.stats.intervals.stratified_mean`, two more blocks guard a spread of which nothing was seen.
    """
    blocks = sum(each.blocks for each in strata)
    ahead = sum(np.subtract.outer(each.totals, each.totals) / each.unit for each in strata)
    variance = np.full(np.shape(ahead), 2.0 * (WHOLE_GAME * strata[0].game / strata[0].unit) ** 2)
    for each in strata:
        own = np.diag(each.products).astype(np.float64)
        squares = np.add.outer(own, own) - 2.0 * each.products
        apart = np.subtract.outer(each.totals, each.totals).astype(np.float64)
        spread = np.maximum(0.0, squares - apart**2 / each.blocks) / each.unit**2
        variance += spread * each.blocks / (each.blocks - 1)
    miss = (1 - confidence) / (2 * looks * max(1, settings - 1))
    errors = student_quantile(1 - miss, strata[0].blocks - 1)
    return np.asarray(ahead) / blocks, errors * np.sqrt(variance) / blocks


def survivors(ahead: Floats, off: Floats) -> NDArray[np.int64]:
    """The settings that are not certainly worse than another one."""
    return np.flatnonzero(~(ahead > off).any(axis=0))


def shortfall(leader: int, ahead: Floats, off: Floats) -> float:
    """How far at most the best is ahead of the leader."""
    others = np.arange(len(ahead)) != leader
    return float(np.max((ahead + off)[others, leader], initial=0.0))
