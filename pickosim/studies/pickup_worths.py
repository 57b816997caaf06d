"""What pick-ups are worth: from games branched at every pick-up to the rows of result tables.

A branch has the same past and the same dice to come as its game. All seats are taken by the same bot, and a block is one
game. Wins are counted in PARTS, so that every sum is of whole numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, inf, isfinite, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pickosim.columns import POINTS, Frame, Row, frames_by_name
from pickosim.engine.rulebook import NOTHING
from pickosim.engine.tally import PARTS, Tally, win_parts
from pickosim.games.pickups import (
    BETWEEN,
    LEADING,
    TRAILING,
    Branched,
    Control,
    Pickups,
    branch_pickups,
)
from pickosim.rule_files import option_texts
from pickosim.rules import MOST_TILES, SPECIALISTS, RuleSet
from pickosim.runs.tasks import Sums
from pickosim.stats.distributions import normal_cdf
from pickosim.stats.intervals import (
    CONFIDENCE,
    NO_RATE,
    Estimate,
    Moments,
    Rate,
    RatioMoments,
    count_rate,
    mean_rate,
    ratio_moments,
    ratio_rate,
    simultaneous,
    stratified_mean,
)
from pickosim.studies.arms import Arm, ArmsJob
from pickosim.studies.measures import rate_columns, with_adjusted

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

# ---------------------------------------------------------------------------------------- from games to sums

PHASES = ((0, 1), (2, 4), (5, 8), (9, 12), (13, MOST_TILES))
"""Tiles left on the grill after a pick-up, from and to."""

STANDINGS = {LEADING: "leading", BETWEEN: "between", TRAILING: "trailing"}
"""How the gainer stood before."""

GROUPS = (
    ("all", "all"),
    *(("phase", f"{low} to {high} tiles left") for low, high in PHASES[:-1]),
    ("phase", f"{PHASES[-1][0]} or more tiles left"),
    *(("standing", name) for name in STANDINGS.values()),
    ("former", "with empty hands"),
    ("former", "with another in hand"),
)
"""What pick-ups are grouped by, and the groups; the first has all of them."""

BRANCHED = 1 << 13
"""Games that are branched at a time: every game has dozens of branches, and all of them are in memory."""

SUMS_SIZE = 8
"""What is added up of a game takes about as much memory as this many results of games."""


class Branches(NamedTuple):
    """B games with all that their pick-ups brought: E pick-ups."""

    pickups: Pickups
    """(E,)"""
    wins: Ints
    """(E,): what the gainer won with the pick-up minus without it, in PARTS."""
    scores: Ints
    """(E,): the same for its score."""
    held: Ints
    """(2, S, B): whether a player holds each specialist at the end of the game itself, and what that player won."""
    games: int
    """How many were played, branches included."""
    unfinished: int


def play_branches(
    arm: Arm, specialists: Sequence[str], control: Control, seed: int, first: int, blocks: int
) -> Branches:
    """Play blocks of an arm, each game branched at every pick-up of these specialists."""
    wanted = np.array([name in specialists for name in SPECIALISTS])
    pieces = []
    for start in range(0, blocks, BRANCHED):
        number = min(BRANCHED, blocks - start)
        played = branch_pickups(arm.match(seed), first + start, number, wanted, control)
        pieces.append(_branches(played, start))
    *arrays, games, unfinished = zip(*pieces, strict=True)
    pickups, wins, scores, held = (np.concatenate(parts, axis=-1) for parts in arrays)
    return Branches(pickups, wins, scores, held, sum(games), sum(unfinished))


def _branches(played: Branched, start: int) -> Branches:
    pickups, tallies = played.pickups, (played.tally, played.branches)
    game, seat, every = pickups["entry"], pickups["seat"], np.arange(len(pickups))
    wins = [win_parts(tally.rank) for tally in tallies]
    scores = [tally.score.astype(np.int64) for tally in tallies]
    moved = pickups.copy()
    moved["entry"] += start
    held = played.tally.held_at_end.astype(np.int64)
    return Branches(
        moved,
        wins[0][game, seat] - wins[1][every, seat],
        scores[0][game, seat] - scores[1][every, seat],
        np.stack([held.sum(axis=-1).T, (held * wins[0][:, None]).sum(axis=-1).T]),
        sum(len(tally.turns) for tally in tallies),
        sum(int((~tally.finished).sum()) for tally in tallies),
    )


def _block_totals(branches: Branches, chosen: NDArray[np.bool_], blocks: int) -> Ints:
    """(3, B): the number of the chosen pick-ups (E,) of each game, and what they brought in wins and score."""
    game = branches.pickups["entry"][chosen]
    values = (np.ones(len(game)), branches.wins[chosen], branches.scores[chosen])
    # Sums of whole numbers far below 2^53: exact as floats.
    return np.stack([np.bincount(game, value, blocks) for value in values]).astype(np.int64)


def _in_groups(pickups: Pickups) -> list[NDArray[np.bool_]]:
    """The pick-ups (E,) that belong to each group."""
    left, standing = pickups["tiles_left"], pickups["standing"]
    return [
        np.ones(len(pickups), np.bool_),
        *((left >= low) & (left <= high) for low, high in PHASES),
        *(standing == number for number in STANDINGS),
        pickups["former"] == NOTHING,
        pickups["former"] != NOTHING,
    ]


def _whole_numbers(**sums: Any) -> Sums:
    return {name: np.asarray(value, np.int64) for name, value in sums.items()}


@dataclass(frozen=True)
class _BranchingJob(ArmsJob):
    """What both jobs have in common: one bot takes all seats."""

    players: int

    @property
    def bots(self) -> tuple[str, ...]:
        """By seat."""
        return (self.entrants[0].spec,) * self.players

    @property
    def in_hand(self) -> int:
        """As if these many results were kept of each game."""
        return SUMS_SIZE


@dataclass(frozen=True)
class PickupJob(_BranchingJob):
    """What every pick-up of ordinary games brings, all specialists at once."""

    rules: RuleSet
    specialists: tuple[str, ...]
    control: Control

    @property
    def arms(self) -> list[Arm]:
        """The ordinary game; its branches are not known before."""
        return [Arm(self.bots, self.rules)]

    def play(self, seed: int, first: int, blocks: int) -> tuple[Sums, list[Tally]]:
        """For S specialists and G groups of pick-ups.

        `picked` (S, G, 3): their number, and what they brought in wins (in PARTS) and score; `picked_products`
        (S, G, 3, 3): one with another, block by block. `across` (2 S, 2 S): the same of all numbers, then all
        wins, of all specialists. `held` (S, 2): the games that end with a holder, and what the holder wins (in
        PARTS); `held_products` (S, 2, 2).
        """
        played = play_branches(self.arms[0], self.specialists, self.control, seed, first, blocks)
        groups = _in_groups(played.pickups)
        numbers = [SPECIALISTS.index(name) for name in self.specialists]
        of_specialist = [played.pickups["specialist"] == k for k in numbers]
        totals = np.array(
            [
                [_block_totals(played, own & group, blocks) for group in groups]
                for own in of_specialist
            ]
        )
        both = np.concatenate([totals[:, 0, 0], totals[:, 0, 1]])
        held = played.held[:, numbers].swapaxes(0, 1)
        return _whole_numbers(
            blocks=blocks,
            games=played.games,
            unfinished=played.unfinished,
            picked=totals.sum(axis=-1),
            picked_products=totals @ totals.swapaxes(-1, -2),
            across=both @ both.T,
            held=held.sum(axis=-1),
            held_products=held @ held.swapaxes(-1, -2),
        ), []


@dataclass(frozen=True)
class Case:
    """A specialist whose pick-ups are measured, and the rules of the game."""

    specialist: str
    rules: RuleSet


@dataclass(frozen=True)
class CaseJob(_BranchingJob):
    """What pick-ups bring, case by case, all with the same dice."""

    cases: tuple[Case, ...]
    control: Control

    @property
    def arms(self) -> list[Arm]:
        """The rules of all cases, each once."""
        return [Arm(self.bots, rules) for rules in dict.fromkeys(case.rules for case in self.cases)]

    def play(self, seed: int, first: int, blocks: int) -> tuple[Sums, list[Tally]]:
        """For C cases: `picked` (2, C), the number of pick-ups and the wins that they brought (in PARTS).

        `across` (2 C, 2 C): all numbers, then all wins, one with another, block by block.
        """
        totals = np.zeros((2, len(self.cases), blocks), np.int64)
        games = unfinished = 0
        for arm in self.arms:
            own = [k for k, case in enumerate(self.cases) if case.rules == arm.rules]
            names = [self.cases[k].specialist for k in own]
            played = play_branches(arm, names, self.control, seed, first, blocks)
            for k, name in zip(own, names, strict=True):
                chosen = played.pickups["specialist"] == SPECIALISTS.index(name)
                totals[:, k] = _block_totals(played, chosen, blocks)[:2]
            games, unfinished = games + played.games, unfinished + played.unfinished
        both = totals.reshape(-1, blocks)
        picked = totals.sum(axis=-1)
        return _whole_numbers(
            blocks=blocks, games=games, unfinished=unfinished, picked=picked, across=both @ both.T
        ), []


# ----------------------------------------------------------------------------------------- from sums to rows

TOO_STRONG, TOO_WEAK, BALANCED, UNDECIDED = "too strong", "too weak", "balanced", "undecided"
"""Verdicts: on which side of a band around the worth of the others the worth of a pick-up lies."""

POWER = 0.8
"""The chance of a verdict that the number of further games aims at, if the difference is as measured."""

MOST_MORE = 10**10
"""More games than these would not be played to come to a verdict."""

LEVEL = "bot players"
"""Columns of a level of play."""

FRAMES = frames_by_name(
    Frame(
        "pickups",
        "One row per bot (it plays all seats), number of players and specialist: what a "
        "pick-up is worth to the player who gains the specialist. Every ordinary game is branched at every "
        "pick-up: it goes on as it is, and without the specialist (or with --control grill with the specialist back "
        "on the grill), the former one kept; the raven: without its bratworm. Same past, same dice.",
        f"{LEVEL} specialist games pick_ups± gain± score_gain± held_above_even± from_others± verdict more_games "
        "p_value p_adjusted note",
        {
            "games": "Ordinary games, without their branches.",
            "gain": "What a pick-up adds to the win share of the player, mean over all pick-ups.",
            "score_gain": "What a pick-up adds to the score of the player.",
        },
    ),
    Frame(
        "pickups_by",
        "The same for some of the pick-ups: by phase of the game (tiles left on the grill afterwards), by how the "
        "player stood before, and by whether it held another specialist.",
        f"{LEVEL} specialist by group games pick_ups gain± score_gain±",
        {"games": "Ordinary games, without their branches."},
    ),
    Frame(
        "sensitivity",
        "One row per bot, number of players, specialist and setting of an option, all else as given: what a "
        "pick-up is worth there; with --sensitivity.",
        f"{LEVEL} specialist option setting games pick_ups gain± as_given difference± p_value p_adjusted",
        {
            "games": "Ordinary games, without their branches.",
            "gain": "What a pick-up adds to the win share of the player.",
            "difference": "From the gain with the setting as given, paired by dice.",
        },
        {"difference": POINTS},
    ),
)

MAIN_FRAME = "pickups"


class Level(NamedTuple):
    """The sums of a level of play with a number of players: of a `PickupJob`, or of a `CaseJob`."""

    bot: str
    players: int
    sums: Sums

    @property
    def columns(self) -> Row:
        """The columns that name it."""
        return {"bot": self.bot, "players": self.players}


class Varied(NamedTuple):
    """One option of the rules moved through its values: the rules of each, and what came of it."""

    level: Level
    specialist: str
    option: str
    variants: Sequence[RuleSet]
    rows: Sequence[int]
    """Which cases of the sums."""
    own_rules: RuleSet


def pickup_rows(
    levels: Sequence[Level], measured: Sequence[str], shown: Sequence[str], band: float
) -> list[Row]:
    """What a pick-up of each specialist is worth, levels together, the greatest worth first.

    Verdicts compare with all specialists that were measured; only some may be shown.
    """
    rows = []
    for level in levels:
        own = []
        apart = _from_others(level.sums)
        for k, specialist in enumerate(measured):
            if specialist not in shown:
                continue
            gain = worth_moments(level.sums, k)
            blocks, squares = int(level.sums["blocks"]), level.sums["picked_products"][k, 0, 0, 0]
            picked = Moments.of(blocks, level.sums["picked"][k, 0, 0], squares)
            row = {
                **level.columns,
                "specialist": specialist,
                "games": blocks,
                **rate_columns("pick_ups", count_rate([picked])),
                **_gains(level.sums, k),
                **rate_columns("held_above_even", _held_above_even(level, k)),
                "p_value": None if gain is None else stratified_mean([gain]).p_value,
            }
            own.append(row | judged(apart.get(k), band, blocks, len(apart)))
        own.sort(key=lambda row: inf if row["gain"] is None else -row["gain"])
        rows += own
    return with_adjusted(rows)


def worth_moments(sums: Sums, specialist: int) -> Moments | None:
    """Moments of what a pick-up brings, in win share; None if there is no pick-up."""
    ratio = _worth(sums, specialist)
    return None if ratio is None else ratio_moments([ratio])


def _worth(sums: Sums, specialist: int, group: int = 0, value: int = 1) -> RatioMoments | None:
    """What a pick-up brings in a group, in win share (1) or score (2)."""
    both = [0, value]
    products = sums["picked_products"][specialist, group][np.ix_(both, both)]
    totals = sums["picked"][specialist, group, both]
    return _ratio(sums["blocks"], totals, products, PARTS if value == 1 else 1)


def _ratio(blocks: Ints, totals: Ints, products: Ints, unit: int = PARTS) -> RatioMoments | None:
    """A sum in parts of a unit by a number; None if that is 0. See `RatioMoments.of`."""
    return RatioMoments.of(blocks, totals, products, unit) if totals[0] else None


def _mean_rate(ratio: RatioMoments | None) -> Rate:
    """What a pick-up brings, with its interval; nothing if there is none."""
    return NO_RATE if ratio is None else mean_rate([ratio_moments([ratio])])


def _gains(sums: Sums, specialist: int, group: int = 0) -> Row:
    """What a pick-up brings, in win share and in score."""
    gain, score = (_worth(sums, specialist, group, value) for value in (1, 2))
    return {
        **rate_columns("gain", _mean_rate(gain)),
        **rate_columns("score_gain", _mean_rate(score)),
    }


def _held_above_even(level: Level, specialist: int) -> Rate:
    """What holders at the end win above an even share; nothing if there is none."""
    sums, even = level.sums, 1 / level.players
    won = _ratio(sums["blocks"], sums["held"][specialist], sums["held_products"][specialist])
    return NO_RATE if won is None else ratio_rate([won]).mapped(-even, 1 - even)


def worths(sums: Sums) -> tuple[Floats, Floats]:
    """What a pick-up is worth in each of C cases: means (C,), 0 where there is none, and their covariance (C, C).

    Means are ratios of sums over blocks, and their errors those of the linear approximation (Cochran,
    Sampling Techniques, 1977, section 6.11). All cases have the same blocks.
    """
    blocks, cases = float(sums["blocks"]), sums["across"].shape[0] // 2
    numbers, wins = (np.asarray(of, np.float64) for of in sums["picked"].reshape(2, cases))
    numbers = np.maximum(numbers, 1)
    means = wins / (PARTS * numbers)
    # By how much a block's numbers and wins move each mean: (C, 2 C).
    weights = np.hstack([np.diag(-means / numbers), np.diag(1 / (PARTS * numbers))])
    covariance = weights @ sums["across"].astype(np.float64) @ weights.T
    return means, covariance * blocks / max(blocks - 1, 1)


def _from_others(sums: Sums) -> dict[int, Estimate]:
    """How far the worth of each specialist's pick-ups is from that of the others; those without any are left out."""
    picked = sums["picked"][:, 0, :2]
    present = np.flatnonzero(picked[:, 0])
    both = np.concatenate([present, present + len(picked)])
    means, covariance = worths(
        {
            "blocks": sums["blocks"],
            "picked": picked[present].T,
            "across": sums["across"][np.ix_(both, both)],
        }
    )
    weights = np.eye(len(means)) - centre_weights(means)
    errors = np.sqrt(np.maximum((weights @ covariance @ weights.T).diagonal(), 0))
    df = max(1.0, float(sums["blocks"]) - 1)
    return {
        int(k): Estimate(float(mean), float(error), df)
        for k, mean, error in zip(present, weights @ means, errors, strict=True)
    }


def centre_weights(means: Floats) -> Floats:
    """(C, C): the weights of all worths in the mean that each is compared with.

    It is the mean without the highest and the lowest, so that an outlier does not make another specialist one; with
    fewer than four, the mean of the others.
    """
    cases = len(means)
    if cases < 4:
        return (1 - np.eye(cases)) / max(1, cases - 1)
    middle = np.zeros(cases)
    middle[np.argsort(means, kind="stable")[1:-1]] = 1 / (cases - 2)
    return np.tile(middle, (cases, 1))


def judged(apart: Estimate | None, band: float, games: int, number: int) -> Row:
    """The verdict on one of `number` specialists, from how far its worth is from that of the others.

    The interval is corrected for their number, so that all verdicts of a level hold together.
    """
    if apart is None or number < 2:
        return {**rate_columns("from_others", NO_RATE), "verdict": None, "more_games": None}
    confidence = simultaneous(CONFIDENCE, number)
    low, high = apart.interval(confidence)
    more: int | None = None
    if low > band or high < -band:
        verdict = TOO_STRONG if low > band else TOO_WEAK
    elif -band <= low and high <= band:
        verdict = BALANCED
    else:
        verdict = UNDECIDED
        wanted = games * (_more_blocks(apart, band, apart.quantile(confidence)) - 1)
        more = rounded_up(wanted) if wanted < MOST_MORE else None
    return {
        **rate_columns("from_others", (apart.mean, low, high)),
        "verdict": verdict,
        "more_games": more,
    }


def _more_blocks(apart: Estimate, band: float, quantile: float) -> float:
    """The factor of games that gives a verdict with the chance `POWER`; infinite at the edge of the band."""
    gaps = band - apart.mean, band + apart.mean
    if 0 in gaps or not isfinite(apart.error):
        return inf

    def power(root: float) -> float:
        """The chance that the interval lies on the same side of the band's ends as the mean, with an error / root."""
        clear = [normal_cdf(abs(gap) * root / apart.error - quantile) for gap in gaps]
        return sum(clear) - 1 if min(gaps) > 0 else clear[gaps.index(min(gaps))]

    low, high = 1.0, 2.0
    while power(high) < POWER:
        low, high = high, 2 * high
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if power(middle) >= POWER else (middle, high)
    return high**2


def rounded_up(number: float) -> int:
    """A number with two digits, at least as large."""
    step: int = 10 ** max(0, len(str(int(number))) - 2)
    return ceil(number / step) * step


def pickup_group_rows(
    levels: Sequence[Level], measured: Sequence[str], shown: Sequence[str]
) -> Iterator[Row]:
    """The same by phase, standing and former specialist."""
    for level in levels:
        blocks = int(level.sums["blocks"])
        for k, specialist in enumerate(measured):
            picked = level.sums["picked"][k, :, 0]
            for number, (by, group) in enumerate(GROUPS):
                if by != "all" and picked[number] and specialist in shown:
                    yield {
                        **level.columns,
                        "specialist": specialist,
                        "by": by,
                        "group": group,
                        "games": blocks,
                        "pick_ups": float(picked[number]) / blocks,
                        **_gains(level.sums, k, number),
                    }


def sensitivity_rows(all_varied: Sequence[Varied]) -> list[Row]:
    """What a pick-up is worth, one option moved at a time."""
    return with_adjusted([row for varied in all_varied for row in _varied_rows(varied)])


def _varied_rows(varied: Varied) -> Iterator[Row]:
    sums = varied.level.sums
    blocks = int(sums["blocks"])
    current = setting_text(varied.own_rules, varied.option)
    settings = [setting_text(rules, varied.option) for rules in varied.variants]
    known_worths = worths(sums)
    for number, setting in zip(varied.rows, settings, strict=True):
        base = varied.rows[settings.index(current)] if current in settings else None
        known = base is not None and bool(sums["picked"][0, [number, base]].all())
        apart = _between(known_worths, number, base) if known else None
        yield {
            **varied.level.columns,
            "specialist": varied.specialist,
            "option": varied.option,
            "setting": setting,
            "games": blocks,
            "pick_ups": float(sums["picked"][0, number]) / blocks,
            **rate_columns("gain", _case_rate(sums, number)),
            "as_given": setting == current,
            **rate_columns("difference", (apart.mean, *apart.interval()) if apart else NO_RATE),
            "p_value": apart.p_value if apart else None,
        }


def _between(worths: tuple[Floats, Floats], number: int, base: int | None) -> Estimate | None:
    """How far a worth differs from that of the setting as given, paired by dice."""
    if base is None or number == base:
        return None
    means, covariance = worths
    variance = covariance[number, number] - 2 * covariance[number, base] + covariance[base, base]
    return Estimate(float(means[number] - means[base]), sqrt(max(0.0, float(variance))))


def _case_rate(sums: Sums, case: int) -> Rate:
    """What a pick-up is worth in a case; nothing if there is none."""
    both = [case, sums["picked"].shape[1] + case]
    products = sums["across"][np.ix_(both, both)]
    return _mean_rate(_ratio(sums["blocks"], sums["picked"][:, case], products))


def setting_text(rules: RuleSet, option: str) -> str:
    """The value of an option, or of an entry of one, as `--set` takes it."""
    name, _, entry = option.partition(".")
    if not entry:
        return dict(option_texts(rules))[name]
    return str(rules.as_dict()[name].get(entry, "nowhere"))
