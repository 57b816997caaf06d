"""What pick-ups are worth: from games branched at every pick-up to the rows of result tables.

A branch has the same past and the same dice to come as its game. All seats are taken by the same bot, and a block is one
game. Wins are counted in PARTS, so that every sum is of whole numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, inf, isfinite, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pickosim.columns import POINTS, Frame, Row, frames_by_name
from pickosim.engine.rulebook import NOTHING
from pickosim.engine.tally import PARTS, Tally, luck_of_blocks, win_parts
from pickosim.games.pickups import (
    BETWEEN,
    LEADING,
    TRAILING,
    Branched,
    Instead,
    Pickups,
    branch_pickups,
)
from pickosim.rule_files import option_texts
from pickosim.rules import MOST_TILES, SPECIALISTS, RuleSet
from pickosim.runs.tasks import Sums
from pickosim.stats.distributions import normal_cdf
from pickosim.stats.intervals import (
    CONFIDENCE,
    FITTED_FROM,
    NO_RATE,
    Control,
    Estimate,
    Moments,
    Rate,
    RatioMoments,
    count_rate,
    less_control,
    mean_rate,
    ratio_control,
    ratio_moments,
    ratio_rate,
    simultaneous,
    stratified_mean,
)
from pickosim.studies.arms import Arm, ArmsJob, valuation_of
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

WON, SCORE, LUCK = 1, 2, 3
"""Places of what pick-ups bring, after their number; luck is there if games are judged."""

SUMS_SIZE = 8
"""What is added up of a game takes about as much memory as this many results of games."""


@dataclass(frozen=True)
class Case:
    """A specialist whose pick-ups are measured, the rules of the game, and which option of them varies, if any."""

    specialist: str
    rules: RuleSet
    option: str = ""


@dataclass(frozen=True)
class PickupJob(ArmsJob):
    """What pick-ups bring, case by case, all with the same dice; one bot takes all seats."""

    players: int
    cases: tuple[Case, ...]
    control: Instead
    grouped: bool = True
    """Whether pick-ups are also added up group by group."""

    @property
    def arms(self) -> list[Arm]:
        """The rules of all cases, each once; their branches are not known before."""
        bots = (self.entrants[0].spec,) * self.players
        all_rules = dict.fromkeys(case.rules for case in self.cases)
        return [Arm(bots, rules, luck_by=self.luck_by) for rules in all_rules]

    @property
    def in_hand(self) -> int:
        """As if these many results were kept of each game."""
        return SUMS_SIZE

    def play(self, seed: int, first: int, blocks: int) -> tuple[Sums, list[Tally]]:
        """For C cases and G groups of pick-ups.

        `picked` (C, G, V): their number, what they brought in wins (in PARTS) and score, and if games are judged in luck
        (in parts of LUCK_UNIT); `picked_products` (C, G, V, V): one with another, block by block. `across`: the same of
        all numbers, then all wins, then all luck, of all cases. `held` (C, 2): the games that end with a holder, and what the holder wins (in
        PARTS); `held_products` (C, 2, 2).
        """
        groups = len(GROUPS) if self.grouped else 1
        totals = np.zeros((len(self.cases), groups, 4 if self.luck_by else 3, blocks), np.int64)
        held = np.zeros((len(self.cases), 2, blocks), np.int64)
        games = unfinished = 0
        for arm in self.arms:
            measured = {
                k: SPECIALISTS.index(case.specialist)
                for k, case in enumerate(self.cases)
                if case.rules == arm.rules
            }
            wanted = np.isin(np.arange(len(SPECIALISTS)), list(measured.values()))
            for start in range(0, blocks, BRANCHED):
                piece = slice(start, min(start + BRANCHED, blocks))
                size = piece.stop - start
                match = arm.match(seed)
                played = branch_pickups(
                    match, first + start, size, wanted, self.control, valuation_of(arm)
                )
                in_groups = _in_groups(played.pickups)[:groups]
                brought = _brought(played)[: totals.shape[2]]
                holders = _holders(played.tally)
                for k, specialist in measured.items():
                    own = played.pickups["specialist"] == specialist
                    for number, group in enumerate(in_groups):
                        chosen = own & group
                        totals[k, number, :, piece] = _by_game(played, brought, chosen, size)
                    held[k, :, piece] = holders[:, specialist]
                for tally in (played.tally, played.branches):
                    games += len(tally.turns)
                    unfinished += int((~tally.finished).sum())
        linear = np.delete(totals[:, 0], SCORE, axis=1).swapaxes(0, 1).reshape(-1, blocks)
        counts = {"blocks": blocks, "games": games, "unfinished": unfinished}
        return {
            **{name: np.asarray(count, np.int64) for name, count in counts.items()},
            "picked": totals.sum(axis=-1),
            "picked_products": totals @ totals.swapaxes(-1, -2),
            "across": linear @ linear.T,
            "held": held.sum(axis=-1),
            "held_products": held @ held.swapaxes(-1, -2),
        }, []


def _brought(played: Branched) -> tuple[Ints, ...]:
    """Each (E,): 1, what the gainer won with a pick-up minus without it (in PARTS), the same for its score, and for luck."""
    game, seat = played.pickups["entry"], played.pickups["seat"]
    every = np.arange(len(game))
    values = [np.ones(len(game), np.int64)]
    for with_it, without in (
        (win_parts(played.tally.rank), win_parts(played.branches.rank)),
        (played.tally.score, played.branches.score),
    ):
        values.append(with_it[game, seat].astype(np.int64) - without[every, seat])
    return *values, played.luck


def _by_game(
    played: Branched, values: Sequence[Ints], chosen: NDArray[np.bool_], games: int
) -> Ints:
    """(V, B): values of the chosen pick-ups (E,), added up over each game."""
    game = played.pickups["entry"][chosen]
    # Sums of whole numbers far below 2^53: exact as floats.
    sums = np.stack([np.bincount(game, value[chosen], games) for value in values]).astype(np.int64)
    sums[LUCK:] = luck_of_blocks(sums[LUCK:])
    return sums


def _holders(tally: Tally) -> Ints:
    """(2, S, B): whether a player holds each specialist at the end of a game, and what that player won."""
    held = tally.held_at_end.astype(np.int64)
    won = held * win_parts(tally.rank)[:, None]
    return np.stack([held.sum(axis=-1).T, won.sum(axis=-1).T])


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
        f"{LEVEL} specialist games pick_ups± gain± as_won± score_gain± held_above_even± from_others± verdict more_games "
        "p_value p_adjusted note",
        {
            "games": "Ordinary games, without their branches.",
            "gain": "What a pick-up adds to the win share of the player, mean over all pick-ups; without luck where games were "
            "judged. So are `from_others`, the verdict and p.",
            "score_gain": "What a pick-up adds to the score of the player.",
        },
        {"as_won": POINTS},
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


class Level(NamedTuple):
    """A bot that takes all seats, with a number of players: the sums of its `PickupJob`."""

    bot: str
    players: int
    sums: Sums

    def columns(self, specialist: str) -> Row:
        """The columns that name it and a specialist, and its games."""
        games = int(self.sums["blocks"])
        return {"bot": self.bot, "players": self.players, "specialist": specialist, "games": games}


def pickup_rows(
    levels: Sequence[Level], measured: Sequence[str], shown: Sequence[str], band: float
) -> list[Row]:
    """What a pick-up of each specialist is worth, levels together, the greatest worth first.

    Verdicts compare with all specialists that were measured; only some may be shown.
    """
    rows = []
    for level in levels:
        sums, apart = level.sums, _from_others(level.sums)
        blocks, own = int(sums["blocks"]), []
        for k, specialist in enumerate(measured):
            gain, squares = worth(sums, k), sums["picked_products"][k, 0, 0, 0]
            picked = Moments.of(blocks, sums["picked"][k, 0, 0], squares)
            row = {
                **level.columns(specialist),
                **rate_columns("pick_ups", count_rate([picked])),
                **_gains(sums, k),
                **rate_columns("held_above_even", _held_above_even(level, k)),
                **judged(apart.get(k), band, blocks, len(apart)),
                "p_value": None if gain is None else stratified_mean([gain]).p_value,
            }
            if specialist in shown:
                own.append(row)
        rows += sorted(own, key=lambda row: inf if row["gain"] is None else -row["gain"])
    return with_adjusted(rows)


def worth(sums: Sums, case: int, group: int = 0) -> Moments | None:
    """Moments of what a pick-up brings in a group, in win share less luck if it is known; None if there is none."""
    won = _brought_by(sums, case, group, WON)
    totals, products = sums["picked"][case, group], sums["picked_products"][case, group]
    if won is None or len(totals) <= LUCK or int(sums["blocks"]) < FITTED_FROM:
        return won
    by_number, by_wins, _, squares = products[LUCK].tolist()
    luck = Control(float(totals[LUCK]), float(squares), by_wins / PARTS)
    return less_control(won, ratio_control(_ratio(sums, case, group, WON), luck, by_number))


def _brought_by(sums: Sums, case: int, group: int, value: int) -> Moments | None:
    """Moments of what a pick-up brings in a group, in win share or score; None if there is none."""
    of = _ratio(sums, case, group, value)
    return ratio_moments([of]) if of.below else None


def _ratio(sums: Sums, case: int, group: int, value: int) -> RatioMoments:
    both, unit = [0, value], PARTS if value == WON else 1
    totals, products = sums["picked"][case, group, both], sums["picked_products"][case, group]
    return RatioMoments.of(sums["blocks"], totals, products[np.ix_(both, both)], unit)


def _gains(sums: Sums, case: int, group: int = 0) -> Row:
    """What a pick-up brings, in win share and in score."""
    won, score = (_brought_by(sums, case, group, value) for value in (WON, SCORE))
    gain = worth(sums, case, group)
    row: Row = {}
    moments = {"gain": gain, "as_won": None if gain == won else won, "score_gain": score}
    for name, of in moments.items():
        row |= rate_columns(name, mean_rate([of] if of else []))
    return row


def _held_above_even(level: Level, specialist: int) -> Rate:
    """What holders at the end win above an even share; nothing if there is none."""
    totals, products = (level.sums[name][specialist] for name in ("held", "held_products"))
    if not totals[0]:
        return NO_RATE
    won = RatioMoments.of(level.sums["blocks"], totals, products, PARTS)
    return ratio_rate([won]).mapped(-1 / level.players, 1 - 1 / level.players)


def worths(sums: Sums, cases: Ints) -> tuple[Floats, Floats]:
    """What a pick-up is worth in each of C cases: means (C,), 0 where there is none, and their covariance (C, C).

    Means are ratios of sums over blocks, and their errors those of the linear approximation (Cochran,
    Sampling Techniques, 1977, section 6.11). All cases have the same blocks.
    """
    blocks, kinds = float(sums["blocks"]), len(sums["across"]) // len(sums["picked"])
    used = np.concatenate([cases + kind * len(sums["picked"]) for kind in range(kinds)])
    own = [worth(sums, case) or Moments(1.0, 0.0, 0.0) for case in cases]
    means, slopes = np.array([(of.total / of.n, of.slope) for of in own]).reshape(-1, 2).T
    numbers = np.maximum(sums["picked"][cases, 0, 0], 1)
    # By how much a block's numbers, wins and luck move each mean: (C, 2 C) or (C, 3 C).
    moves = [-means / numbers, 1 / (PARTS * numbers), -slopes / numbers][:kinds]
    weights = np.hstack([np.diag(each) for each in moves])
    covariance = weights @ sums["across"][np.ix_(used, used)].astype(np.float64) @ weights.T
    covariance *= blocks / max(blocks - 1, 1)
    for k in np.flatnonzero(slopes):  # fitting a slope makes errors larger; see `less_control`
        if covariance[k, k] > 0:
            larger = sqrt(own[k].variance_of_total / covariance[k, k]) / own[k].n
            covariance[k] *= larger
            covariance[:, k] *= larger
    return means, covariance


def _from_others(sums: Sums) -> dict[int, Estimate]:
    """How far the worth of each specialist's pick-ups is from that of the others; those without any are left out."""
    present = np.flatnonzero(sums["picked"][:, 0, 0])
    means, covariance = worths(sums, present)
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
        for k, specialist in enumerate(measured):
            picked = level.sums["picked"][k, :, 0]
            for number, (by, group) in enumerate(GROUPS):
                if by != "all" and picked[number] and specialist in shown:
                    yield {
                        **level.columns(specialist),
                        "by": by,
                        "group": group,
                        "pick_ups": float(picked[number] / level.sums["blocks"]),
                        **_gains(level.sums, k, number),
                    }


def sensitivity_rows(
    played: Sequence[tuple[Level, Sequence[Case]]], given_rules: RuleSet
) -> list[Row]:
    """What a pick-up is worth, one option of the given rules moved at a time."""
    return with_adjusted(
        [row for level, cases in played for row in _case_rows(level, cases, given_rules)]
    )


def _case_rows(level: Level, cases: Sequence[Case], given_rules: RuleSet) -> Iterator[Row]:
    sums = level.sums
    means, covariance = worths(sums, np.arange(len(cases)))
    settings = [setting_text(case.rules, case.option) for case in cases]
    as_given = [setting_text(given_rules, case.option) for case in cases]
    bases = {case.option: k for k, case in enumerate(cases) if settings[k] == as_given[k]}
    for k, case in enumerate(cases):
        base, apart = bases.get(case.option, k), None
        if base != k and sums["picked"][[k, base], 0, 0].all():
            variance = covariance[k, k] - 2 * covariance[k, base] + covariance[base, base]
            error = sqrt(max(0.0, float(variance)))
            apart = Estimate(float(means[k] - means[base]), error)  # paired by dice
        yield {
            **level.columns(case.specialist),
            **_gains(sums, k),
            "option": case.option,
            "setting": settings[k],
            "pick_ups": float(sums["picked"][k, 0, 0] / sums["blocks"]),
            "as_given": settings[k] == as_given[k],
            **rate_columns("difference", (apart.mean, *apart.interval()) if apart else NO_RATE),
            "p_value": apart.p_value if apart else None,
        }


def setting_text(rules: RuleSet, option: str) -> str:
    """The value of an option, or of an entry of one, as `--set` takes it."""
    name, _, entry = option.partition(".")
    if not entry:
        return dict(option_texts(rules))[name]
    return str(rules.as_dict()[name].get(entry, "nowhere"))
