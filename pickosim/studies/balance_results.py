"""The results of a balance: worths of pick-ups, head starts, what is seen, the game without a specialist."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, inf, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pickosim.columns import POINTS, Frame, Row, frames_by_name
from pickosim.engine.tally import PARTS
from pickosim.rule_files import option_texts
from pickosim.rules import SPECIALISTS, RuleSet
from pickosim.runs.sums import Sums
from pickosim.stats.estimates import difference, rate
from pickosim.stats.moments import (
    CONFIDENCE,
    NO_RATE,
    Estimate,
    Moments,
    Rate,
    RatioMoments,
    count_rate,
    mean_rate,
    ratio_moments,
    stratified_mean,
)
from pickosim.stats.multiple_testing import simultaneous
from pickosim.studies.balance_search import Guess, Knob, changed, in_order, judge, pickup_worths
from pickosim.studies.balance_sums import ABSENT, GROUPS, PRESENT
from pickosim.studies.holders import COLUMNS as HOLDER_COLUMNS
from pickosim.studies.holders import holder_row
from pickosim.studies.measures import ABSENCE, arm_of, rate_columns, with_adjusted

TOO_STRONG, TOO_WEAK, BALANCED, UNDECIDED = "too strong", "too weak", "balanced", "undecided"
"""Verdicts: on which side of a band around the mean of all specialists the worth of a pick-up lies."""

MOST_MORE = 10**10
"""More games than these would not be played to come to a verdict."""

LEVEL = "bot players"
"""Columns of a level of play."""

FRAMES = frames_by_name(
    Frame(
        "pickups",
        "One row per level of play (the bot that takes all seats), number of players and specialist: what a "
        "pick-up is worth to the player who gains the specialist. Every ordinary game is branched at every "
        "pick-up: it goes on as it is, and without the specialist (or with --control grill with the specialist back "
        "on the grill), the former one kept; the raven: without its bratworm. Same past, same dice.",
        f"{LEVEL} specialist games pick_ups± gain± score_gain± handed_out± from_mean± verdict more_games "
        "p_value p_adjusted",
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
        "head_start",
        "One row per level, number of players and specialist: what it gains to start the game with the "
        "specialist, against nobody having it, with the same dice. Most starters soon lose it again.",
        f"{LEVEL} specialist games gain± score_gain± p_value p_adjusted",
        {
            "games": "Games with a starter; each is paired with the game of the same dice without the specialist."
        },
    ),
    Frame(
        "head_start_by_seat",
        "The same by seat of the starter.",
        f"{LEVEL} specialist seat games gain±",
        {"games": "Games that this seat starts with the specialist."},
    ),
    Frame(
        "absence",
        "One row per level, number of players, specialist and measure: the game without the specialist "
        "against the game as given, with the same dice.",
        f"{LEVEL} specialist measure games value± without± difference± p_value p_adjusted",
        {
            "value": "The measure in the game as given.",
            "difference": "Without the specialist minus as given, paired by dice.",
        },
    ),
    Frame(
        "seen",
        "One row per level, number of players and specialist: ordinary games. An association, not an effect.",
        f"{LEVEL} specialist games {HOLDER_COLUMNS}",
    ),
    Frame(
        "sensitivity",
        "One row per level, number of players, specialist and setting of an option, all else as given: what a "
        "pick-up is worth there; with --sensitivity.",
        f"{LEVEL} specialist option setting games pick_ups gain± as_given difference± p_value p_adjusted",
        {
            "games": "Ordinary games, without their branches.",
            "gain": "What a pick-up adds to the win share of the player.",
            "difference": "From the gain with the setting as given, paired by dice.",
        },
        {"difference": POINTS},
    ),
    Frame(
        "suggestion",
        "One row per setting that was played in full, the smallest spread first; with --suggest. Ranks come "
        "from other games than the figures, so that luck in being ranked first does not count.",
        "rank setting changes spread± difference± chance_best mean_gain pick_ups guess games",
        {
            "rank": "1 is the smallest spread.",
            "difference": "Of the spread from that of the rules as given, paired by dice.",
            "pick_ups": "Pick-ups per game and specialist.",
        },
        {"difference": POINTS},
    ),
    Frame(
        "suggestion_gains",
        "One row per setting, level, number of players and specialist: what a pick-up is worth; with --suggest.",
        f"rank setting {LEVEL} specialist games pick_ups gain±",
        {"rank": "Rank of the setting."},
    ),
)

MAIN_FRAME = "pickups"


class Weighed(NamedTuple):
    """What some blocks of a level of play came to, for one specialist."""

    bot: str
    players: int
    specialist: str
    sums: Sums

    @property
    def level(self) -> Row:
        """The columns that say where."""
        return {"bot": self.bot, "players": self.players}


class Varied(NamedTuple):
    """One option of the rules moved through its values: the rules of each, and what came of it."""

    weighed: Weighed
    option: str
    variants: Sequence[RuleSet]
    rows: Sequence[int]
    """Which entries of the sums."""
    given: RuleSet


# ---------------------------------------------------------------------------------------- pick-ups


def pickup_rows(levels: Sequence[Weighed], specialists: Sequence[str], band: float) -> list[Row]:
    """What a pick-up of each specialist is worth, levels together, the greatest worth first."""
    rows = []
    for weighed in levels:
        found = []
        apart = _from_mean(weighed.sums)
        for k, specialist in enumerate(specialists):
            gain = worth_moments(weighed.sums, k)
            blocks = int(weighed.sums["blocks"])
            row = {
                **weighed.level,
                "specialist": specialist,
                "games": blocks,
                **rate_columns("pick_ups", count_rate([_per_game(weighed.sums, k, 0, 1)])),
                **rate_columns("gain", NO_RATE if gain is None else mean_rate([gain])),
                **rate_columns("score_gain", _score_rate(weighed.sums, k)),
                **rate_columns("handed_out", mean_rate([_per_game(weighed.sums, k, 1, PARTS)])),
                "p_value": None if gain is None else stratified_mean([gain]).p_value,
            }
            found.append(row | judged(apart.get(k), band, blocks, len(apart)))
        found.sort(key=lambda row: inf if row["gain"] is None else -row["gain"])
        rows += found
    return with_adjusted(rows)


def worth_moments(sums: Sums, specialist: int, group: int = 0, value: int = 1) -> Moments | None:
    """Moments of what a pick-up brings, in win share (1) or score (2); None if there is no pick-up."""
    unit = PARTS if value == 1 else 1
    number, total = (float(sums["picked"][specialist, group, of]) for of in (0, value))
    if not number:
        return None
    products = sums["picked_products"][specialist, group].astype(np.float64)
    return ratio_moments(
        [
            RatioMoments(
                float(sums["blocks"]),
                total / unit,
                number,
                products[value, value] / unit**2,
                products[0, 0],
                products[0, value] / unit,
            )
        ]
    )


def _score_rate(sums: Sums, specialist: int, group: int = 0) -> Rate:
    moments = worth_moments(sums, specialist, group, 2)
    return NO_RATE if moments is None else mean_rate([moments])


def _per_game(sums: Sums, specialist: int, value: int, unit: int) -> Moments:
    """Moments of the pick-ups of a game (0), or of all that they bring (1)."""
    squares = sums["picked_products"][specialist, 0, value, value]
    return Moments.of(sums["blocks"], sums["picked"][specialist, 0, value], squares, unit, unit)


def _from_mean(sums: Sums) -> dict[int, Estimate]:
    """How far the worth of each specialist's pick-ups is from the mean of all that have any."""
    picked = sums["picked"][:, 0, :2]
    present = np.flatnonzero(picked[:, 0])
    both = np.concatenate([present, present + len(picked)])
    part = {
        "blocks": sums["blocks"],
        "picked": picked[present].T,
        "across": sums["across"][np.ix_(both, both)],
    }
    means, covariance = pickup_worths(part)
    centre = np.eye(len(means)) - 1 / max(1, len(means))
    errors = np.sqrt(np.maximum((centre @ covariance @ centre).diagonal(), 0))
    df = max(1.0, float(sums["blocks"]) - 1)
    return {
        int(k): Estimate(float(mean), float(error), df)
        for k, mean, error in zip(present, centre @ means, errors, strict=True)
    }


def judged(apart: Estimate | None, band: float, games: int, number: int) -> Row:
    """The verdict on one of so many specialists, whose worth is so far from the mean of all.

    The interval is corrected for their number, so that all verdicts of a level hold together. An undecided one
    needs so many games that the interval ends where the band does.
    """
    if apart is None or number < 2:
        return {**rate_columns("from_mean", NO_RATE), "verdict": None, "more_games": None}
    low, high = apart.interval(simultaneous(CONFIDENCE, number))
    more: int | None = None
    if low > band:
        verdict = TOO_STRONG
    elif high < -band:
        verdict = TOO_WEAK
    elif -band <= low and high <= band:
        verdict = BALANCED
    else:
        verdict = UNDECIDED
        gap, half = abs(abs(apart.mean) - band), (high - low) / 2
        wanted = games * ((half / gap) ** 2 - 1) if gap else inf
        more = _rounded_up(wanted) if wanted < MOST_MORE else None
    return {
        **rate_columns("from_mean", (apart.mean, low, high)),
        "verdict": verdict,
        "more_games": more,
    }


def _rounded_up(number: float) -> int:
    """A number with two digits, at least as large."""
    step: int = 10 ** max(0, len(str(int(number))) - 2)
    return ceil(number / step) * step


def pickup_group_rows(levels: Sequence[Weighed], specialists: Sequence[str]) -> Iterator[Row]:
    """The same by phase, standing and former specialist."""
    for weighed in levels:
        for k, specialist in enumerate(specialists):
            for number, (by, group) in enumerate(GROUPS):
                gain = worth_moments(weighed.sums, k, number)
                if by == "all" or gain is None:
                    continue
                blocks = int(weighed.sums["blocks"])
                yield {
                    **weighed.level,
                    "specialist": specialist,
                    "by": by,
                    "group": group,
                    "games": blocks,
                    "pick_ups": float(weighed.sums["picked"][k, number, 0]) / blocks,
                    **rate_columns("gain", mean_rate([gain])),
                    **rate_columns("score_gain", _score_rate(weighed.sums, k, number)),
                }


# -------------------------------------------------------------------------------------- head start


def gain_moments(weighed: Weighed) -> Moments:
    """Moments of the mean gain in win share over seats, block by block."""
    return _total_moments(weighed, "gain", PARTS)


def _total_moments(weighed: Weighed, name: str, parts: int) -> Moments:
    sums, unit = weighed.sums, parts * weighed.players
    return Moments.of(sums["blocks"], sums[name].sum(), sums[f"{name}_total_squared"], unit, parts)


def head_start_rows(all_weighed: Sequence[Weighed]) -> list[Row]:
    """What it gains to start with each specialist, levels together, the greatest gain first."""
    rows = []
    for weighed in all_weighed:
        gain = gain_moments(weighed)
        rows.append(
            {
                **weighed.level,
                "specialist": weighed.specialist,
                "games": int(weighed.sums["blocks"]) * weighed.players,
                **rate_columns("gain", mean_rate([gain])),
                **rate_columns("score_gain", mean_rate([_total_moments(weighed, "score_gain", 1)])),
                "p_value": stratified_mean([gain]).p_value,
            }
        )
    order = {level: k for k, level in enumerate(dict.fromkeys(w[:2] for w in all_weighed))}
    rows.sort(key=lambda row: (order[row["bot"], row["players"]], -row["gain"]))
    return with_adjusted(rows)


def head_start_by_seat_rows(all_weighed: Sequence[Weighed]) -> Iterator[Row]:
    """The same for each seat."""
    for weighed in all_weighed:
        blocks = int(weighed.sums["blocks"])
        for seat in range(weighed.players):
            gain, squares = (weighed.sums[name][seat] for name in ("gain", "gain_squared"))
            moments = Moments.of(blocks, gain, squares, PARTS, PARTS)
            yield {
                **weighed.level,
                "specialist": weighed.specialist,
                "seat": seat,
                "games": blocks,
                **rate_columns("gain", mean_rate([moments])),
            }


# -------------------------------------------------------------------------------- seen and absence


def seen_rows(all_weighed: Sequence[Weighed], rules: RuleSet) -> Iterator[Row]:
    """What happened with the specialists in ordinary games."""
    for bot, players in dict.fromkeys(weighed[:2] for weighed in all_weighed):
        # Every specialist was weighed beside ordinary games of its own: all of them count here.
        parts = [
            (weighed.sums, 0)
            for weighed in all_weighed
            if weighed[:2] == (bot, players) and "held" in weighed.sums
        ]
        for number, specialist in enumerate(SPECIALISTS):
            if specialist in rules.specialists and parts:
                row = holder_row(parts, number, per_block=1)
                if not row["games_held"]:
                    row |= rate_columns("win_share_held", NO_RATE)
                yield {"bot": bot, "players": players, "specialist": specialist, **row}


def absence_rows(all_weighed: Sequence[Weighed]) -> list[Row]:
    """The game without a specialist against the game as given, paired by dice."""
    rows = []
    for weighed in all_weighed:
        if "totals" not in weighed.sums:
            continue
        bots = (weighed.bot,) * weighed.players
        absent, present = (arm_of(weighed.sums, arm, bots, 1) for arm in (ABSENT, PRESENT))
        for measure in ABSENCE:
            own, other = measure.read(present), measure.read(absent)
            apart = difference(absent, other, present, own, weighed.sums["crossed"][ABSENT])
            rows.append(
                {
                    **weighed.level,
                    "specialist": weighed.specialist,
                    "measure": measure.name,
                    "games": 2 * present.blocks,
                    **rate_columns("value", rate(present, own)),
                    **rate_columns("without", rate(absent, other)),
                    **rate_columns("difference", (apart.mean, *apart.interval())),
                    "p_value": apart.p_value,
                }
            )
    return with_adjusted(rows)


# ------------------------------------------------------------------------------------- sensitivity


def sensitivity_rows(all_varied: Sequence[Varied]) -> list[Row]:
    """What a pick-up is worth, one option moved at a time."""
    return with_adjusted([row for varied in all_varied for row in _varied_rows(varied)])


def _varied_rows(varied: Varied) -> Iterator[Row]:
    weighed, sums = varied.weighed, varied.weighed.sums
    blocks = int(sums["blocks"])
    given = setting_text(varied.given, varied.option)
    settings = [setting_text(rules, varied.option) for rules in varied.variants]
    worths = pickup_worths(sums)
    for number, setting in zip(varied.rows, settings, strict=True):
        base = varied.rows[settings.index(given)] if given in settings else None
        known = base is not None and bool(sums["picked"][0, [number, base]].all())
        apart = _between(worths, number, base) if known else None
        yield {
            **weighed.level,
            "specialist": weighed.specialist,
            "option": varied.option,
            "setting": setting,
            "games": blocks,
            "pick_ups": float(sums["picked"][0, number]) / blocks,
            **rate_columns("gain", case_rate(sums, number)),
            "as_given": setting == given,
            **rate_columns("difference", (apart.mean, *apart.interval()) if apart else NO_RATE),
            "p_value": apart.p_value if apart else None,
        }


def _between(
    worths: tuple[NDArray[np.float64], NDArray[np.float64]], number: int, given: int | None
) -> Estimate | None:
    """How far a worth differs from that of the setting as given, paired by dice."""
    if given is None or number == given:
        return None
    means, covariance = worths
    variance = covariance[number, number] - 2 * covariance[number, given] + covariance[given, given]
    return Estimate(float(means[number] - means[given]), sqrt(max(0.0, float(variance))))


def case_rate(sums: Sums, case: int) -> Rate:
    """What a pick-up is worth in a case; nothing if there is none."""
    cases = sums["picked"].shape[1]
    number, total = (float(of) for of in sums["picked"][:, case])
    if not number:
        return NO_RATE
    products = sums["across"].astype(np.float64)
    moments = RatioMoments(
        float(sums["blocks"]),
        total / PARTS,
        number,
        products[cases + case, cases + case] / PARTS**2,
        products[case, case],
        products[case, cases + case] / PARTS,
    )
    return mean_rate([ratio_moments([moments])])


def setting_text(rules: RuleSet, option: str) -> str:
    """The value of an option, or of an entry of one, as `--set` takes it."""
    name, _, entry = option.partition(".")
    if not entry:
        return dict(option_texts(rules))[name]
    return str(rules.as_dict()[name].get(entry, "nowhere"))


# -------------------------------------------------------------------------------------- suggestion


def suggestion_rows(
    rules: RuleSet,
    knobs: Sequence[Knob],
    guesses: Sequence[Guess],
    ranked: Sequence[Weighed],
    levels: Sequence[Weighed],
    specialists: Sequence[str],
) -> tuple[list[Row], list[Row]]:
    """The finalists, and what a pick-up of each specialist is worth in each of them: as `levels` say.

    The smallest spread first, as `ranked` says, other games than those that are reported.
    """
    finals = judge([level.sums for level in levels], len(specialists))
    order = in_order(judge([level.sums for level in ranked], len(specialists)))
    rows, gains = [], []
    for rank, k in enumerate(order, start=1):
        guess = guesses[k]
        own = slice(k * len(specialists), (k + 1) * len(specialists))
        picked = [level.sums["picked"][0, own] / level.sums["blocks"] for level in levels]
        found = [pickup_worths(level.sums)[0] for level in levels]
        named = {"rank": rank, "setting": _setting_words(rules, knobs, guess)}
        rows.append(
            {
                **named,
                "changes": guess.changes,
                **rate_columns("spread", (finals.spread[k], finals.low[k], finals.high[k])),
                **rate_columns(
                    "difference",
                    (finals.difference[k], finals.difference_low[k], finals.difference_high[k]),
                ),
                "chance_best": finals.best[k],
                "mean_gain": float(np.mean([means[own] for means in found])),
                "pick_ups": float(np.mean(picked)),
                "guess": guess.spread,
                "games": sum(int(one.sums["blocks"]) for one in levels),
            }
        )
        for level, each in zip(levels, picked, strict=True):
            for j, specialist in enumerate(specialists):
                gains.append(
                    {
                        **named,
                        **level.level,
                        "specialist": specialist,
                        "games": int(level.sums["blocks"]),
                        "pick_ups": float(each[j]),
                        **rate_columns("gain", case_rate(level.sums, own.start + j)),
                    }
                )
    return rows, gains


def _setting_words(rules: RuleSet, knobs: Sequence[Knob], guess: Guess) -> str:
    """What a setting changes, as `--set` takes it."""
    varied = changed(rules, knobs, guess.setting)
    texts = [
        f"{knob.option}={setting_text(varied, knob.option)}"
        for knob, value in zip(knobs, guess.setting, strict=True)
        if value
    ]
    return ", ".join(texts) or "as given"
