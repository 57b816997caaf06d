"""Sequential tests, which play on until enough is known: of two claims about a bot, and of many settings.

**Two claims** (`Sprt`). Wald (1945) adds up how much likelier the results are under one claim than under the other, and
stops at a bound that depends only on how often the test may err. What is not claimed, the spread of the results, is put
in as it was found: the generalised sequential probability ratio test of Li, Liu and Ying (2014, "Generalized sequential
probability ratio test for separate families of hypotheses"). Michel Van den Bergh brought it into the testing of chess
engines, with the normal approximation that is used here ("A practical introduction to the GSPRT", formula 2.1).

**Many settings** (`bounds`), at fixed looks. All settings play the same blocks, so that a difference of two is paired by
dice. After each look, a setting drops out that is certainly worse than another one, and the rest play on: Paulson (1964,
"A sequential procedure for selecting the population with the largest mean from k normal populations"); action elimination
of Even-Dar, Mannor and Mansour (2006). The bounds hold for all settings and looks together (Bonferroni): only the
differences from the one that is truly best matter, on both sides, at every look. So with the confidence asked for it never
drops out, and the one that is named is no farther from it than `shortfall` says. Means of blocks are taken as normal,
which wants some dozens of blocks per stratum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import log
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pickosim.amounts import split_list
from pickosim.errors import PickosimError
from pickosim.stats.distributions import student_quantile
from pickosim.stats.intervals import (
    CONFIDENCE,
    WHOLE_GAME,
    Moments,
    fitted_slope,
    squares_fitted,
)

Floats = NDArray[np.float64]

PRIOR_SQUARES = 0.5
"""What two blocks add to the squares, one half a win above the mean and one half below."""


@dataclass(frozen=True)
class Sprt:
    """H0: the bot's win share is the even share plus `low`; H1: it is the even share plus `high`.

    With P bots per game the even share is 1/P. If H0 is true, H1 is the verdict with a chance of about
    `alpha` at most, and if H1 is true, H0 with `beta` at most.
    """

    low: float
    high: float
    alpha: float = 0.05
    beta: float = 0.05

    def __post_init__(self) -> None:
        if not -1 < self.low < 1 or not -1 < self.high < 1:
            raise PickosimError(
                f"Win shares {self.low:+.4g} and {self.high:+.4g} off the even share: they lie "
                "between -1 and 1 (-100% and 100%)."
            )
        if not self.low < self.high:
            raise PickosimError(
                f"A sequential test needs two different win shares, the lower one first, not "
                f"{self.low:.4g} and {self.high:.4g}."
            )
        for name, chance in (("alpha", self.alpha), ("beta", self.beta)):
            if not 0 < chance < 0.5:
                raise PickosimError(
                    f"{name}, how often the test may err, lies between 0 and 0.5: not {chance:.4g}."
                )

    @property
    def bounds(self) -> tuple[float, float]:
        """At or below the first the verdict is H0, at or above the second H1 (Wald 1945)."""
        return log(self.beta / (1 - self.alpha)), log((1 - self.beta) / self.alpha)

    def shares(self, players: int) -> tuple[float, float]:
        """The win shares under H0 and H1, with so many bots per game."""
        shares = 1 / players + self.low, 1 / players + self.high
        for share in shares:
            if not 0 <= share <= 1:
                raise PickosimError(
                    f"With {players} players the even share is {1 / players:.1%}, and no bot can win "
                    f"{share:.1%} of the games: choose win shares nearer to it."
                )
        return shares

    def llr(self, n: float, total: float, squares: float, players: int) -> float:
        """The log-likelihood ratio of H1 to H0, from the number, sum and sum of squares of block means.

        Each mean is the bot's win share over the games of a block, which are not independent of each
        other; blocks are.

        The spread is estimated as if two more blocks had been played, one won and one lost more often
        than the mean by half the games. So blocks that all ended alike (two names of the same bot share
        every block) do not prove that there is no spread: a verdict on 1 % takes 172 of them, about as
        many as the rule of three wants. Over a thousand blocks that differ, it is next to nothing.
        fishtest guards itself likewise, by a part of a game of each result that never occurred.
        """
        if n == 0:
            return 0.0
        low, high = self.shares(players)
        mean = total / n
        variance = (max(0.0, squares - total * mean) + PRIOR_SQUARES) / n
        return n * (high - low) * (2 * mean - low - high) / (2 * variance)

    def verdict(
        self, n: float, total: float, squares: float, players: int
    ) -> Literal["H0", "H1"] | None:
        """What the blocks have shown, or None while it takes more of them."""
        llr = self.llr(n, total, squares, players)
        accept, reject = self.bounds
        if llr <= accept:
            return "H0"
        return "H1" if llr >= reject else None


def parse(text: str) -> Sprt:
    """Read ``0,1%`` or ``-0.005,0.005``; a percent sign at one of the numbers holds for both."""
    words = split_list(text)
    scale = 0.01 if any(word.endswith("%") for word in words) else 1.0
    try:
        low, high = (float(word.removesuffix("%")) * scale for word in words)
        return Sprt(low, high)
    except ValueError:
        reason = "Two win shares off the even share are wanted, with a comma between them."
    except PickosimError as error:
        reason = str(error)
    raise PickosimError(
        f'No sequential test: "{text}". {reason} Example: 0,1% asks whether a bot wins 1 % of the games '
        "more than its even share, or no more than that share."
    )


# ------------------------------------------------------------------------------ the best of many settings


@dataclass(frozen=True)
class Stratum:
    """Blocks against the same rivals: the values of each setting and, with K = 2, their controls, whose means are 0.

    From FITTED_FROM blocks on, values count less what their controls explain of the differences of settings. One
    coefficient for all settings makes it a difference of two numbers a block, paired by dice like the values, so that
    bounds and intervals are the same as without controls. It is fitted to the same blocks; that takes two degrees of
    freedom at most, one of which each residual had pulled to itself, and squares are larger by as much (as in
    `pickosim.stats.intervals.less_control`). What guards a spread of which nothing was seen stays as large.
    """

    blocks: int
    grouped: NDArray[np.int64]
    """(K, S, G): sums by group of blocks."""
    products: NDArray[np.int64]
    """(K, S, K, S): sums over blocks of products."""
    unit: int
    """What a block counts that was won altogether."""
    game: int
    """What a game counts that was won."""

    def of(self, kept: NDArray[np.int64]) -> Stratum:
        """Some of the settings."""
        products = self.products[:, kept][..., kept]
        return replace(self, grouped=self.grouped[:, kept], products=products)

    def with_more(self, other: Stratum) -> Stratum:
        """More blocks of the same settings."""
        grouped, products = self.grouped + other.grouped, self.products + other.products
        return replace(self, blocks=self.blocks + other.blocks, grouped=grouped, products=products)

    @cached_property
    def _about_means(self) -> Floats:
        """(K, S, K, S): sums of products of what is off the means."""
        totals = self.grouped.sum(axis=-1)
        return np.asarray(self.products - np.multiply.outer(totals, totals) / self.blocks)

    @cached_property
    def slope(self) -> float:
        """By how much the difference of two settings changes with that of their controls, over all pairs."""
        if len(self.grouped) == 1:
            return 0.0
        common, spread = (len(of) * of.trace() - of.sum() for of in self._about_means[:, :, 1])
        return fitted_slope(self.blocks, common, spread)

    @cached_property
    def values(self) -> NDArray[Any]:
        """(S, G): the sum of each setting less its control, by group of blocks."""
        won = self.grouped[0]
        return won - self.slope * self.grouped[1] if self.slope else np.asarray(won)

    @cached_property
    def totals(self) -> NDArray[Any]:
        """(S,): the same in all."""
        return np.asarray(self.values.sum(axis=-1))

    @cached_property
    def squares(self) -> NDArray[Any]:
        """(S, S): the sum over blocks of the products of two settings, less their controls."""
        if not self.slope:
            return np.asarray(self.products[0, :, 0])
        (own, common), (_, control) = self._about_means.swapaxes(1, 2)
        left = own - self.slope * (common + common.T) + self.slope**2 * control
        of_means = np.multiply.outer(self.totals, self.totals) / self.blocks
        return np.asarray(left * squares_fitted(self.blocks) + of_means)

    def share(self, setting: int) -> Moments:
        """Moments of a setting's share in a block."""
        square = self.squares[setting, setting]
        return Moments.of(self.blocks, self.totals[setting], square, self.unit, self.game)

    def difference(self, one: int, other: int) -> Moments:
        """Moments of the difference of two settings in a block."""
        of = self.squares
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
        own = np.diag(each.squares).astype(np.float64)
        squares = np.add.outer(own, own) - 2.0 * each.squares
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
