"""Shares: what orders the standings, measured from the sums of a tournament, in numbers for tables, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, isclose, isfinite, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pickosim.amounts import listed, plus_minus, quoted
from pickosim.engine.tally import LUCK_UNIT, PARTS
from pickosim.runs.tasks import Sums
from pickosim.stats.intervals import (
    FITTED_FROM,
    Control,
    Estimate,
    Moments,
    Rate,
    fitted_slope,
    less_control,
    share_interval,
    share_rate,
    stratified_mean,
)
from pickosim.stats.sequential import Sprt
from pickosim.studies.matchup_sums import GROUPS, forfeits_in
from pickosim.studies.measures import times_as_certain
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

    Headline, `--precision` and `--sprt` all take a bot's share and its interval from here. Luck is taken out of those of
    matchups that were judged, unless they are to be `plain`; a bot's share is the mean over its matchups.
    """

    matchups: Sequence[Matchup]
    sums: Sequence[Sums]
    points: Points | None = None
    plain: bool = False

    def bots(self) -> list[str]:
        """Those that have played."""
        return list(dict.fromkeys(bot for matchup in self.matchups for bot in matchup))

    def moments(self, bot: str) -> list[Moments]:
        """The moments of a bot's share in a block, matchup by matchup."""
        return self._moments({bot: 1.0})

    def _moments(self, weights: Mapping[str, float]) -> list[Moments]:
        """The moments of what some bots come to together in a block, matchup by matchup."""
        read = combined if self.plain else adjusted
        return [read(*entry, self.points) for entry in self._weighted(weights)]

    @property
    def has_luck(self) -> bool:
        """Whether luck is taken out anywhere."""
        return not self.plain and any(map(is_adjusted, self.sums))

    @property
    def as_won(self) -> Shares:
        """The same with the luck of the dice."""
        return replace(self, plain=True)

    def measured(self, bot: str) -> Measured:
        """A bot's share and its interval."""
        groups = self.moments(bot)
        share = min(1.0, max(0.0, stratified_mean(groups).mean))
        return Measured(share, *share_interval(groups))

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
        lead = stratified_mean(self._moments(weights))
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


def _worth(part: Sums, points: Points | None) -> NDArray[np.float64]:
    """(P,): what each place counts, from 1 for the first to 0 for the last."""
    by_place = np.array(_values_of_places(points, len(part["places"])))
    return np.asarray((by_place - by_place[-1]) / (by_place[0] - by_place[-1]))


def combined(part: Sums, weights: Mapping[int, float], points: Points | None) -> Moments:
    """Moments of what some bots of a matchup come to together in a block, each with its weight.

    A bot's points count as a share of the way from the last place's to the first's. So they lie between 0 and 1, and
    have the interval of a share: without points, that of the win share.
    """
    players, worth = len(part["places"]), _worth(part, points)
    bots, factors = list(weights), np.array(list(weights.values()))
    totals = part["places"][bots] @ worth
    products = np.einsum("i,aibj,j->ab", worth, part["place_products"][bots][:, :, bots], worth)
    unit, step = PARTS * players, PARTS * float(abs(factors).max())
    return moments_of(part, factors @ totals, factors @ products @ factors, unit, step)


def is_adjusted(part: Sums) -> bool:
    """Whether luck is taken out: of games that were judged, of which enough were played, and nobody forfeited any.

    The luck of games that a bot forfeited is not known.
    """
    return "luck" in part and int(part["blocks"]) >= FITTED_FROM and not len(forfeits_in(part))


def adjusted(part: Sums, weights: Mapping[int, float], points: Points | None) -> Moments:
    """The same less the luck of these bots, where the matchup was judged."""
    plain = combined(part, weights, points)
    if not is_adjusted(part):
        return plain
    bots, factors = list(weights), np.array(list(weights.values()))
    luck = factors @ part["luck"][bots]
    squares = factors @ part["luck_products"][np.ix_(bots, bots)] @ factors
    by_place = part["luck_places"][np.ix_(bots, bots)] @ _worth(part, points)
    product = factors @ by_place @ factors / (PARTS * len(part["places"]))
    return less_control(plain, Control(float(luck), float(squares), float(product)))


def luck_in_wins(part: Sums) -> NDArray[np.float64]:
    """(GROUPS, P): what luck explains of the wins of each bot, by group of blocks, in PARTS.

    One coefficient for all bots, so that a game remains a game that one of them has won.
    """
    luck, won, blocks = part["luck"], part["places"][:, 0], int(part["blocks"])
    spread = np.trace(part["luck_products"]) - luck @ luck / blocks
    common = np.einsum("aa->", part["luck_places"][:, :, 0]) - luck @ won / blocks
    return np.asarray(part["luck_grouped"][..., 1] * fitted_slope(blocks, common, spread))


def dice_share(part: Sums, bot: int) -> Rate:
    """The share of the variance of a bot's result in a single game that its luck explains.

    The interval is that of the jackknife over groups of blocks (Miller 1974, "The jackknife: a review").
    """
    of_groups = part["luck_grouped"][:, bot].astype(np.float64)
    played = np.bincount(np.arange(int(part["blocks"])) % GROUPS, minlength=GROUPS)
    counted = np.column_stack([played * len(part["places"]), of_groups])[played > 0]

    def share(sums: NDArray[np.float64]) -> NDArray[np.float64]:
        games, won, luck, won2, luck2, both = sums.T
        spread = (won2 - won**2 / games) * (luck2 - luck**2 / games)
        common = both - won * luck / games
        found = np.divide(common**2, spread, out=np.zeros_like(spread), where=spread > 0)
        return np.asarray(found)

    total, groups = counted.sum(axis=0), len(counted)
    left_out = share(total - counted)
    error = sqrt((groups - 1) / groups * float(((left_out - left_out.mean()) ** 2).sum()))
    value = float(share(total[None])[0])
    low, high = Estimate(value, error, groups - 1).interval()
    return Rate(value, max(0.0, low), min(1.0, high))


CERTAIN = 1.6448536269514722
"""The quantile of the normal law at 95 %."""


def games_to_lead(part: Sums, bot: int) -> Rate:
    """After how many games a bot that is better than its one rival has won more of them, with 95 %.

    By the normal law, from its share without luck and the variance of a single game. There is no upper end if the interval
    of the share reaches a half, and nothing if the bot is not better.
    """
    games = int(part["blocks"]) * len(part["places"])
    won, _, squares, *_ = part["luck_grouped"][:, bot].sum(axis=0) / PARTS
    variance = squares / PARTS / games - (won / games) ** 2
    shares = share_rate([adjusted(part, {bot: 1.0}, None)])
    leads = [None if share is None else share - 0.5 for share in shares]
    value, high, low = (
        ceil(CERTAIN**2 * variance / lead**2) if lead and lead > 0 else None for lead in leads
    )
    return Rate(value, low, high)


def luck_of(part: Sums, bot: int) -> Moments:
    """Moments of the mean luck of a bot in a block, as win chance."""
    unit = LUCK_UNIT * len(part["places"])
    return moments_of(part, part["luck"][bot], part["luck_products"][bot, bot], unit, LUCK_UNIT)


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
    subject, whole = quoted(first), shares.as_won.measured(first)
    share = _words(shares).format(plus_minus(shares.shown(whole.value), shares.scale * whole.half))
    if not others:
        return f"{subject} {share}."
    if not comparable:
        return f"{subject} is first: it {share}. The bots had different opponents; ratings allow for that."
    lead, won = (of.difference(first, others[0]) for of in (shares, shares.as_won))
    if not lead.value:
        return f"{subject} and {quoted(others[0])} are level: each {share}."
    return f"{subject} is first: it {_compared(shares, first, lead)} than {quoted(others[0])}{_chance(lead, won)}."


def about_focus(shares: Shares, bot: str, rivals: int) -> str:
    """How the bot of a gauntlet does, and whether that differs significantly from an even share."""
    apart, won = (
        Measured(*(end - shares.even for end in of.measured(bot))) for of in (shares, shares.as_won)
    )
    return (
        f"Against {rivals} {'bot' if rivals == 1 else 'bots'}, {quoted(bot)} {_compared(shares, bot, apart)} than an "
        f"even share{_chance(apart, won)}."
    )


def _compared(shares: Shares, bot: str, apart: Measured) -> str:
    """What a bot wins, and how much more or less that is, to as many places."""
    value, half = abs(shares.scale * apart.value), shares.scale * apart.half
    difference = plus_minus(value, half)
    places = max(1, len(difference.split()[0].partition(".")[2]))
    if isfinite(half):
        difference = f"{value:.{places}f} ± {half:.{places}f}"
    share = f"{shares.shown(shares.as_won.measured(bot).value):.{places}f}"
    points = " points" if shares.points is None else ""
    won = _words(shares)
    luck = f". Without luck it {won.split()[0]} " if shares.has_luck else ", "
    return f"{won.format(share)}{luck}{difference}{points} {'more' if apart.value > 0 else 'less'}"


def _words(shares: Shares) -> str:
    return "wins {} % of its games" if shares.points is None else "averages {} points per game"


def _chance(apart: Measured, won: Measured) -> str:
    """Whether a difference could be chance, and how much more is known of it than of what was won."""
    chance = "" if apart.low > 0 or apart.high < 0 else ", which could be chance"
    times = times_as_certain(won.half, apart.half)
    return f"{chance} (as certain as {times:.0f} times as many games)" if times >= 1.5 else chance


def about_test(
    test: Sprt, verdict: str | None, bot: str, rivals: Sequence[str], games: int, shares: Shares
) -> str:
    """What a sequential test decided, and what was measured; which hypothesis is true, no test says."""
    against = f"even against {listed([quoted(rival) for rival in rivals])}"
    if verdict == "H0":
        decided, risk = _off_even(quoted(bot), -test.high, "worse", "better", against), test.beta
    elif verdict == "H1":
        decided, risk = _off_even(quoted(bot), test.low, "better", "worse", against), test.alpha
    else:
        decided, risk = "", max(test.alpha, test.beta)
    share, luck = shares.measured(bot), " without luck" if shares.has_luck else ""
    result = f"Measured{luck}: {100 * share.value:.1f} % ± {100 * share.half:.1f}"
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
