"""The sequential test: play blocks until it is clear which of two claims about a bot is wrong.

Wald (1945) adds up how much likelier the results are under one claim than under the other, and stops
at a bound that depends only on how often the test may err. What is not claimed, the spread of the
results, is put in as it was found: the generalised sequential probability ratio test of Li, Liu and
Ying (2014, "Generalized sequential probability ratio test for separate families of hypotheses").
Michel Van den Bergh brought it into the testing of chess engines, with the normal approximation that
is used here ("A practical introduction to the GSPRT", formula 2.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Literal

from pickosim.amounts import split_list
from pickosim.errors import PickosimError

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
