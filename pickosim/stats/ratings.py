"""Ratings: how strong bots are, on the scale of Elo, from counted finishing orders.

The model is that of Plackett (1975, "The analysis of permutations") and Luce (1959, "Individual choice
behavior"): a finishing order comes about place by place, and among the bots not placed yet, each is
placed next with a chance in proportion to its strength. So all that a million games tell of the
strengths is how often each bot was placed next among each set of bots, and fitting costs the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import hypot, inf, isnan, log, nan, sqrt
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pickosim.stats.intervals import CONFIDENCE, HALF_GAME, NO_RATE, Estimate, Rate

MEAN = 1500.0
"""The rating of the anchor, or the mean rating of a field without it."""

SCALE = 400 / log(10)
"""Points a natural logarithm of strength: 400 points are odds of 10 to 1 (Elo 1978)."""

TOLERANCE = 1e-10
"""Logarithms of strengths are found to about this much, unless rounding forbids it."""

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]

Counted = tuple[Sequence[int], NDArray[Any]]
"""A matchup: which bots sat there, by their numbers in the field, and `choices[group, set, bot]`.

`choices` counts how often, among the bots of the set (bit i: the matchup's bot i), that bot was placed
next; a tie counts as all orders of the tied, in equal parts. The parts may be of any size: counts in
other units give the same ratings and errors. Blocks of games go into groups by turns, the same number
of groups for all matchups.
"""


@dataclass(frozen=True)
class Ratings:
    """The ratings of a tournament, and what has to be said about them.

    One row per bot: `name`, `rating` (null if there is no finite one), `rating_error` (half the width of its
    interval, against the anchor, or the mean of its field; null if it is unknown) and `field`, from 1: bots of
    different fields never met, not even by way of others, and their ratings do not compare.
    """

    ratings: pl.DataFrame
    remarks: tuple[str, ...]
    unrated: dict[str, str]
    """Why bots have no rating: what they never did."""
    squares: Floats
    """(bots, bots) covariances of ratings, times the square of the quantile that makes intervals of them;
    nan where they are unknown."""

    def difference(self, bot: int, rival: int) -> Rate:
        """How far the rating of a bot is above that of another, by their numbers, with its interval."""
        squares = self.squares
        square = squares[bot, bot] + squares[rival, rival] - 2 * squares[bot, rival]
        if isnan(square):
            return NO_RATE
        rated = self.ratings["rating"]
        apart, half = float(rated[bot] - rated[rival]), sqrt(max(0.0, square))
        return Rate(apart, apart - half, apart + half)


def rate(
    bots: Sequence[str],
    matchups: Sequence[Counted],
    confidence: float = CONFIDENCE,
    game: float = 1.0,
    anchor: str | None = None,
) -> Ratings:
    """Rate bots by the finishing orders in their matchups.

    The `anchor` is rated 1500; in fields without it, the mean is 1500.

    A finite best rating exists only for bots each of which is placed ahead of each other, if only by
    way of others (Ford 1957; Hunter 2004, "MM algorithms for generalized Bradley-Terry models"). In a
    field for which that is not so, only the part with the anchor is rated, or without it the largest
    part. `game`: what a choice counts in `matchups`.
    """
    ahead = _ahead(len(bots), matchups)
    fields = _fields(ahead)
    ratings = np.full(len(bots), nan)
    squares = np.full((len(bots), len(bots)), nan)
    remarks = []
    unrated: dict[str, str] = {}
    fixed = bots.index(anchor) if anchor is not None and anchor in bots else -1
    if len(fields) > 1:
        remarks.append(
            f"The bots fall into {len(fields)} fields that never met: only ratings of the same field "
            "compare."
        )
    for field in fields:
        parts = _parts(ahead, field, fixed)
        core, among = parts.core, [_among(matchup, parts.core) for matchup in matchups]
        log_strengths, core_squares = _rate_core(len(core), among, confidence, game)
        if fixed in core:
            at = int(np.searchsorted(core, fixed))
            log_strengths, core_squares = _relative_to(at, log_strengths, core_squares)
        if len(core) > 1 or fixed in core:
            ratings[core] = MEAN + SCALE * log_strengths
        if core_squares is not None:
            squares[np.ix_(core, core)] = SCALE**2 * core_squares
        elif len(core) > 1:
            names = ", ".join(bots[bot] for bot in core)
            remarks.append(f"{names}: too few games to know the errors of their ratings.")
        unrated |= _unrated(bots, parts, fixed)
    errors = [
        None if isnan(square) or (bot == anchor and square == 0) else sqrt(square)
        for bot, square in zip(bots, squares.diagonal(), strict=True)
    ]
    numbers = {int(bot): number for number, field in enumerate(fields, 1) for bot in field}
    return Ratings(
        pl.DataFrame(
            {
                "name": pl.Series("name", bots, dtype=pl.String),
                "rating": pl.Series(ratings).fill_nan(None),
                "rating_error": pl.Series(errors, dtype=pl.Float64),
                "field": pl.Series([numbers[bot] for bot in range(len(bots))], dtype=pl.Int32),
            }
        ),
        tuple(remarks),
        unrated,
        squares,
    )


def _relative_to(
    fixed: int, log_strengths: Floats, squares: Floats | None
) -> tuple[Floats, Floats | None]:
    """Log strengths and their squares as differences from those of one bot."""
    if squares is not None:
        squares = squares - squares[:, [fixed]] - squares[[fixed]] + squares[fixed, fixed]
    return log_strengths - log_strengths[fixed], squares


def rating_among(
    ratings: Sequence[float],
    matchups: Sequence[Counted],
    game: float = 1.0,
    errors: Sequence[float] = (),
) -> tuple[float, float | None]:
    """The rating of the first bot of a field in which the ratings of all others are known, and its error.

    `ratings` are by number; the first one is not read. The likelihood and the errors are those of `rate`, with one
    rating to be found. Infinite if the bot was never placed behind another, or never ahead of one.

    `errors` are those of the known ratings, by number. How they depend on each other is not known: they count as if
    all of them erred in the same direction, which is the worst case.
    """
    ahead = _ahead(len(ratings), matchups)
    if not (ahead[0].any() and ahead[:, 0].any()):
        return (inf if ahead[0].any() else -inf), None
    logs = (np.asarray(ratings, dtype=np.float64) - MEAN) / SCALE
    logs[0], stacks = logs[1:].mean(), _stacked(matchups)
    while True:
        flow, weight = _pair_sums(logs, stacks)
        curvature = float(weight[0].sum())
        step = float((flow[0] - flow[:, 0]).sum()) / curvature
        if abs(step) <= TOLERANCE:
            break
        logs[0] += step * (np.log1p(abs(step)) / abs(step))
    scores, groups = _group_scores(logs, matchups)
    if groups < 2:
        return MEAN + SCALE * float(logs[0]), None
    # The gradients of groups need not sum to zero over one bot, unlike over a field that is fitted as a whole.
    spread = scores[0] - scores[0].mean()
    square = groups / (groups - 1) * float(spread @ spread) + 2 * (game * HALF_GAME) ** 2
    half = Estimate(0.0, 1.0, groups - 1).quantile(CONFIDENCE) * sqrt(square) / curvature
    moved = float(weight[0] @ np.asarray(errors)) / curvature if len(errors) else 0.0
    return MEAN + SCALE * float(logs[0]), hypot(SCALE * half, moved)


# ------------------------------------------------------------------------------------ who compares


def _ahead(bots: int, matchups: Sequence[Counted]) -> NDArray[np.bool_]:
    """(bots, bots) whether one was ever placed ahead of the other, a tie being both."""
    ahead = np.zeros((bots, bots), dtype=bool)
    for seats, choices in matchups:
        placed = choices.any(axis=0)
        ahead[np.ix_(seats, seats)] |= placed.T @ _sets(len(seats))
    np.fill_diagonal(ahead, False)
    return ahead


def _fields(ahead: NDArray[np.bool_]) -> list[Numbers]:
    """The bots that met, if only by way of others; fields and bots in the order of entry."""
    if not len(ahead):
        return []
    met = ahead | ahead.T
    return [np.flatnonzero(field) for field in _disjoint(lambda bot: _reached(met, bot), len(met))]


def _reached(graph: NDArray[np.bool_], first: int) -> NDArray[np.bool_]:
    """(bots,) whether a path leads from the first bot to each; it reaches itself."""
    reached = np.zeros(len(graph), dtype=bool)
    reached[first] = True
    new = reached
    while new.any():
        new = graph[new].any(axis=0) & ~reached
        reached = reached | new
    return reached


def _disjoint(set_of: Callable[[int], NDArray[np.bool_]], bots: int) -> Iterator[NDArray[np.bool_]]:
    """The disjoint sets that bots belong to, each (bots,), in the order of their first members."""
    left = np.ones(bots, dtype=bool)
    while left.any():
        members = set_of(int(left.argmax()))
        left &= ~members
        yield members


class _Parts(NamedTuple):
    """A field, by what can be said of its bots."""

    core: Numbers
    """The bots to rate."""
    above: Numbers
    """Those ahead of them only, if by way of others."""
    below: Numbers
    """Those behind them only."""
    apart: Numbers
    """Those neither ahead of them nor behind, hence never in a matchup with any of them."""


def _parts(ahead: NDArray[np.bool_], field: Numbers, fixed: int = -1) -> _Parts:
    """Part a field by a set of bots each of which is ahead of each other: that of the fixed bot, or the largest."""
    graph = ahead[np.ix_(field, field)]
    sets = _disjoint(lambda bot: _reached(graph, bot) & _reached(graph.T, bot), len(graph))
    # The first of the largest: `max` keeps the first.
    core = max(sets, key=lambda members: (fixed in field[members], np.count_nonzero(members)))
    first = int(core.argmax())
    behind, before = _reached(graph, first), _reached(graph.T, first)
    return _Parts(
        core=field[core],
        above=field[before & ~core],
        below=field[behind & ~core],
        apart=field[~before & ~behind],
    )


def _unrated(bots: Sequence[str], parts: _Parts, fixed: int) -> dict[str, str]:
    """Why bots of a field have no rating."""
    reasons = dict.fromkeys(parts.above, "never finished behind a rated bot")
    reasons |= dict.fromkeys(parts.below, "never finished ahead of a rated bot")
    reasons |= dict.fromkeys(parts.apart, "has no results that compare it with a rated bot")
    if len(parts.core) == 1 and fixed not in parts.core:
        # A single bot is rated only as the anchor, so there is none to be compared with.
        reasons = dict.fromkeys(
            [*parts.core, *reasons], "has no results that contradict each other"
        )
    return {bots[bot]: reason for bot, reason in reasons.items()}


def _among(matchup: Counted, core: Numbers) -> Counted:
    """A matchup as if only the bots of `core` had sat there, by their numbers in it.

    That is what is left of the likelihood when those above are infinitely strong and those below have
    no strength: whenever a bot of `core` is placed, those above have been, and those below are no
    rivals. Under the model itself, leaving out bots changes nothing for the others.
    """
    seats, choices = matchup
    kept = np.flatnonzero(np.isin(seats, core))
    numbers = np.searchsorted(core, np.asarray(seats, dtype=np.intp)[kept]).tolist()
    if len(kept) == len(seats):
        return numbers, choices
    smaller = _sets(len(seats))[:, kept] @ (1 << np.arange(len(kept)))
    left = np.zeros((len(choices), 1 << len(kept), len(kept)), dtype=choices.dtype)
    for whole, part in enumerate(smaller):
        left[:, part] += choices[:, whole, kept]
    return numbers, left


# ----------------------------------------------------------------------------------------- the fit


@dataclass(frozen=True)
class _Stack:
    """Tables of the same size, to be reckoned with at once."""

    seats: Numbers
    """(matchups, players) who sat there."""
    choices: Floats
    """(matchups, sets, players) who was placed next, all groups together."""


def _rate_core(
    bots: int, matchups: Sequence[Counted], confidence: float, game: float
) -> tuple[Floats, Floats | None]:
    """Logarithms of strengths with mean zero, and their squares (see `_squares`) unless these are unknown."""
    if bots == 1:
        return np.zeros(1), None
    matchups = [matchup for matchup in matchups if len(matchup[0]) > 1]
    log_strengths = _fit(bots, _stacked(matchups))
    return log_strengths, _squares(log_strengths, matchups, confidence, game)


def _stacked(matchups: Sequence[Counted]) -> list[_Stack]:
    by_size = groupby(sorted(matchups, key=lambda each: len(each[0])), lambda each: len(each[0]))
    return [
        _Stack(
            np.array([seats for seats, _ in same], dtype=np.intp),
            np.array([choices.sum(axis=0) for _, choices in same], dtype=np.float64),
        )
        for same in (list(group) for _, group in by_size)
    ]


def _fit(bots: int, stacks: Sequence[_Stack]) -> Floats:
    """The maximum of the likelihood, by Newton's method with steps that cannot overshoot.

    If no two bots of a matchup move apart by more than d in a full step, the curvature along it changes
    by no more than a factor exp(d t) in the part t of it: the third derivatives of a logarithm of a sum
    of exponentials are at most d times the second. Under that bound the likelihood is sure to rise, and
    most of all at t = log(1 + d) / d (Sun and Tran-Dinh 2019, "Generalized self-concordant functions",
    for their case nu = 2). So no search for a step length is needed, and near the maximum t is 1.
    """
    log_strengths = np.zeros(bots)
    last = inf
    while True:
        flow, weight = _pair_sums(log_strengths, stacks)
        step = _newton_step((flow - flow.T).sum(axis=1), weight)
        apart = max(float(np.ptp(step[stack.seats], axis=1).max()) for stack in stacks)
        # Near the maximum every step is far less than half the last, until rounding is all that is left.
        if apart <= TOLERANCE or (last < 0.1 and apart > last / 2):
            return log_strengths
        log_strengths += step * (np.log1p(apart) / apart)
        last = apart


def _pair_sums(log_strengths: Floats, stacks: Sequence[_Stack]) -> tuple[Floats, Floats]:
    """(bots, bots) the gradient and the curvature of the likelihood, as sums over pairs of bots.

    Bot i gains w_i - N p_i from N choices among a set, w_i of them its own at a chance p_i. That is the
    sum of w_i p_j - w_j p_i over its rivals j, in which no large numbers cancel out if the counts are
    lopsided; `flow` has the first term. The curvature between i and j is N p_i p_j.
    """
    bots = len(log_strengths)
    flow, weight = np.zeros((bots, bots)), np.zeros((bots, bots))
    for stack in stacks:
        chances = _chances(log_strengths, stack.seats)
        made = stack.choices.sum(axis=2, keepdims=True)
        pairs = stack.seats[:, :, None], stack.seats[:, None, :]
        np.add.at(flow, pairs, stack.choices.transpose(0, 2, 1) @ chances)
        np.add.at(weight, pairs, (made * chances).transpose(0, 2, 1) @ chances)
    np.fill_diagonal(weight, 0)
    return flow, weight


def _chances(log_strengths: Floats, seats: Numbers) -> Floats:
    """(matchups, sets, players) each bot's chance to be placed next; the empty set counts as chance 0."""
    sets = _sets(seats.shape[1])
    there = np.where(sets, log_strengths[seats][:, None, :], -inf)
    strengths = np.exp(there - np.maximum(there.max(axis=2, keepdims=True), -1e300))
    sums = strengths.sum(axis=2, keepdims=True)
    return np.asarray(strengths / np.where(sums > 0, sums, 1))


def _newton_step(gradient: Floats, weight: Floats) -> Floats:
    """Gradients (bots, ...) divided by the curvature, with mean zero over the bots.

    Only differences of log strengths have a meaning: the curvature, diag(row sums) - weight, is 0 for
    all together. So the last bot is held, and the mean is taken off.
    """
    curvature = np.diag(weight.sum(axis=1)) - weight
    step = np.zeros_like(gradient)
    step[:-1] = np.linalg.solve(curvature[:-1, :-1], gradient[:-1])
    return np.asarray(step - step.mean(axis=0))


# -------------------------------------------------------------------------------------- the errors


def _squares(
    log_strengths: Floats, matchups: Sequence[Counted], confidence: float, game: float
) -> Floats | None:
    """(bots, bots): squared half-widths of intervals of log strengths against their mean, and the products.

    They come from the spread between groups.

    Games of a block have the same dice, and strengths that fit every order do not exist: the curvature
    alone would not do. Blocks are independent, hence groups of them are, and the sandwich of Huber
    (1967) holds: H^-1 (sum of s s' over the groups) H^-1, where s is the gradient of a group. Each is
    worth the step H^-1 s, so that an error is a root of summed squares of steps; being steps with mean
    zero, they are relative to the field's mean.

    At the maximum the gradients sum to zero, and that is their centre; it costs a degree of freedom,
    hence G / (G - 1) and Student's t with G - 1. Groups may differ by a block per matchup. The variance of a
    gradient grows with its group, and the sum over the groups is the same however they are cut: only
    the correction notices, by less than one part in the blocks of a matchup. And where the gradient of a
    matchup by itself is not zero, a group with a block too many of it makes errors larger, if anything.

    As with shares (see `share_estimate`), groups that are all the same do not prove that there is no
    spread: every bot has two more blocks, each half a game off, against all others together.
    """
    scores, groups = _group_scores(log_strengths, matchups)
    if groups < 2:
        return None
    _, weight = _pair_sums(log_strengths, _stacked(matchups))
    bots = len(log_strengths)
    more = game * HALF_GAME * sqrt(2 * bots / (bots - 1)) * (np.eye(bots) - 1 / bots)
    seen = sqrt(groups / (groups - 1)) * scores
    steps = _newton_step(np.concatenate([seen, more], axis=1), weight)
    return np.asarray(Estimate(0.0, 1.0, groups - 1).quantile(confidence) ** 2 * (steps @ steps.T))


def _group_scores(log_strengths: Floats, matchups: Sequence[Counted]) -> tuple[Floats, int]:
    """(bots, G): the gradient of each group of blocks; and how many groups have played."""
    scores = np.zeros((len(log_strengths), len(matchups[0][1])))
    played = np.zeros(len(matchups[0][1]), dtype=bool)
    for seats, choices in matchups:
        numbers = np.asarray(seats, dtype=np.intp)
        (chances,) = _chances(log_strengths, numbers[None])
        flow = choices.transpose(0, 2, 1).astype(np.float64) @ chances
        scores[numbers] += (flow - flow.transpose(0, 2, 1)).sum(axis=2).T
        played |= choices.any(axis=(1, 2))
    return scores, int(played.sum())


def _sets(players: int) -> NDArray[np.bool_]:
    """(sets, players) which bots of a matchup are in each set."""
    return (np.arange(1 << players)[:, None] >> np.arange(players) & 1).astype(bool)
