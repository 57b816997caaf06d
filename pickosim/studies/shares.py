"""Shares: what orders the standings, measured from the sums of a tournament, in numbers for tables, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isclose, isfinite
from typing import Any, NamedTuple

import numpy as np

from pickosim.amounts import listed, plus_minus, quoted
from pickosim.engine.tally import PARTS
from pickosim.runs.tasks import Sums
from pickosim.stats.intervals import Moments, share_interval, stratified_mean
from pickosim.stats.sprt import Sprt
from pickosim.studies.schedule import Matchup

Points = tuple[float, ...]
"""What each place is by_place, the first place first."""


class Measured(NamedTuple):
    """A share, or a difference of shares, and the ends of its interval; these are infinite if there is a single block."""

    value: float
    low: float
    high: float

    @property
    def half(self) -> float:
        """Half the interval."""
        return (self.high - self.low) / 2


@dataclass(frozen=True)
class Shares:
    """What orders the standings: win shares, or mean points as shares of the way from last place to first.

    Headline, `--precision` and `--sprt` all take a bot's share and its interval from here.
    """

    matchups: Sequence[Matchup]
    sums: Sequence[Sums]
    points: Points | None = None

    def bots(self) -> list[str]:
        """Those that have played."""
        return list(dict.fromkeys(bot for matchup in self.matchups for bot in matchup))

    def moments(self, bot: str) -> list[Moments]:
        """The moments of a bot's share in a block, matchup by matchup."""
        return [combined(*entry, self.points) for entry in self._weighted({bot: 1.0})]

    def measured(self, bot: str) -> Measured:
        """A bot's share and its interval."""
        groups = self.moments(bot)
        return Measured(stratified_mean(groups).mean, *share_interval(groups))

    def difference(self, bot: str, rival: str) -> Measured:
        """How far a bot's share is above that of a rival.

        Matchups are independent of each other. What two bots of a matchup win is not, so their difference is taken
        block by block.
        """
        played = {
            name: sum(int(part["blocks"]) for part, _ in self._weighted({name: 1.0}))
            for name in (bot, rival)
        }
        both = sum(int(part["blocks"]) for part, _ in self._weighted({bot: 1.0, rival: 1.0}))
        weights = {bot: both / played[bot], rival: -both / played[rival]}
        lead = stratified_mean([combined(*entry, self.points) for entry in self._weighted(weights)])
        return Measured(lead.mean, *lead.interval())

    @property
    def even(self) -> float:
        """The share of a bot that is as good as its rivals."""
        by_place = _values_of_places(self.points, len(self.matchups[0]))
        return (sum(by_place) / len(by_place) - by_place[-1]) / (by_place[0] - by_place[-1])

    @property
    def scale(self) -> float:
        """What a whole share is shown as: 100 %, or the points between first and last place."""
        return 100.0 if self.points is None else self.points[0] - self.points[-1]

    def shown(self, share: float) -> float:
        """A share as it is shown: in %, or as points per game."""
        return self.scale * share + (0.0 if self.points is None else self.points[-1])

    def _weighted(self, weights: Mapping[str, float]) -> Iterator[tuple[Sums, dict[int, float]]]:
        """The sums of the matchups of some bots, with the weights of these bots by their numbers there."""
        for matchup, part in zip(self.matchups, self.sums, strict=True):
            present = {k: weights[bot] for k, bot in enumerate(matchup) if bot in weights}
            if present:
                yield part, present


def _values_of_places(points: Points | None, players: int) -> Points:
    """What each place counts: without points, only the first."""
    return points or (1.0, *[0.0] * (players - 1))


def combined(part: Sums, weights: Mapping[int, float], points: Points | None) -> Moments:
    """Moments of what some bots of a matchup come to together in a block, each with its weight.

    A bot's points count as a share of the way from the last place's to the first's. So they lie between 0 and 1, and
    have the interval of a share: without points, that of the win share.
    """
    players = len(part["places"])
    by_place = _values_of_places(points, players)
    worth = (np.array(by_place) - by_place[-1]) / (by_place[0] - by_place[-1])
    bots, factors = list(weights), np.array(list(weights.values()))
    totals = part["places"][bots] @ worth
    products = np.einsum("i,aibj,j->ab", worth, part["place_products"][bots][:, :, bots], worth)
    unit, step = PARTS * players, PARTS * float(abs(factors).max())
    return moments_of(part, factors @ totals, factors @ products @ factors, unit, step)


def moments_of(part: Sums, total: Any, squares: Any, unit: float, game: float = 1) -> Moments:
    """Moments of a matchup's blocks; see `Moments.of`."""
    return Moments.of(part["blocks"], total, squares, unit, game)


def points_text(points: Points) -> str:
    """Points by place, as they are written: 7,5,3,1."""
    return ",".join(f"{value:g}" for value in points)


# ------------------------------------------------------------------------------------------------ headline


def about_first(shares: Shares, bots: Sequence[str], comparable: bool) -> str:
    """Who is first, and whether its lead is significant; the bots are in the order of the standings.

    `comparable`: whether all bots had the same opponents.
    """
    first, *others = bots
    subject, share = quoted(first), _in_words(shares, shares.measured(first))
    if not others:
        return f"{subject} {share}."
    if not comparable:
        return f"{subject} is first: it {share}. The bots had different opponents; ratings allow for that."
    lead = shares.difference(first, others[0])
    if not lead.value:
        return f"{subject} and {quoted(others[0])} are level: each {share}."
    return f"{subject} is first: it {_compared(shares, first, lead)} than {quoted(others[0])}{_chance(lead)}."


def about_focus(shares: Shares, bot: str, rivals: int) -> str:
    """How the bot of a gauntlet does, and whether that differs significantly from an even share."""
    share, even = shares.measured(bot), shares.even
    apart = Measured(*(end - even for end in share))
    return (
        f"Against {rivals} {'bot' if rivals == 1 else 'bots'}, {quoted(bot)} {_compared(shares, bot, apart)} than an "
        f"even share{_chance(apart)}."
    )


def _in_words(shares: Shares, share: Measured) -> str:
    """What a bot wins, with half its interval."""
    return _words(shares).format(plus_minus(shares.shown(share.value), shares.scale * share.half))


def _compared(shares: Shares, bot: str, apart: Measured) -> str:
    """What a bot wins, and how much more or less that is, to as many places."""
    value, half = abs(shares.scale * apart.value), shares.scale * apart.half
    difference = plus_minus(value, half)
    places = max(1, len(difference.split()[0].partition(".")[2]))
    if isfinite(half):
        difference = f"{value:.{places}f} ± {half:.{places}f}"
    share = f"{shares.shown(shares.measured(bot).value):.{places}f}"
    points = " points" if shares.points is None else ""
    return f"{_words(shares).format(share)}, {difference}{points} {'more' if apart.value > 0 else 'less'}"


def _words(shares: Shares) -> str:
    return "wins {} % of its games" if shares.points is None else "averages {} points per game"


def _chance(apart: Measured) -> str:
    return "" if apart.low > 0 or apart.high < 0 else ", which could be chance"


def about_test(
    test: Sprt, verdict: str | None, bot: str, rivals: Sequence[str], games: int, share: Measured
) -> str:
    """What a sequential test decided, and what was measured; which hypothesis is true, no test says."""
    against = f"even against {listed([quoted(rival) for rival in rivals])}"
    if verdict == "H0":
        decided, risk = _off_even(quoted(bot), -test.high, "worse", "better", against), test.beta
    elif verdict == "H1":
        decided, risk = _off_even(quoted(bot), test.low, "better", "worse", against), test.alpha
    else:
        decided, risk = "", max(test.alpha, test.beta)
    result = f"Measured: {100 * share.value:.1f} % ± {100 * share.half:.1f}"
    if not decided:
        low, high = (f"{100 * off:+g}" for off in (test.low, test.high))
        return (
            f"Not decided within {games:,} games: {quoted(bot)} may be {low} or {high} points off {against} "
            f"(test at {100 * risk:g} %). {result}."
        )
    return (
        f"Stopped after {games:,} games: {decided} (test at {100 * risk:g} %). {result}; stopping early overstates "
        "differences."
    )


def _off_even(bot: str, off: float, better: str, worse: str, even: str) -> str:
    """That a bot is more than so far better than even, or not so far worse; or the other way round."""
    if off < 0:
        return f"{bot} is not {_points(-off)} {worse} than {even}"
    return f"{bot} is {f'more than {_points(off)} ' if off else ''}{better} than {even}"


def _points(share: float) -> str:
    return f"{100 * share:g} point{'' if isclose(share, 0.01) else 's'}"
