"""The results of a balance: what each specialist is worth to a starter, seen to do, and changes by its absence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from pickosim.columns import POINTS, Frame, Row, frames_by_name
from pickosim.engine.tally import PARTS
from pickosim.rule_files import option_texts
from pickosim.rules import SPECIALISTS, RuleSet
from pickosim.runs.sums import Sums
from pickosim.stats.estimates import difference, rate
from pickosim.stats.moments import (
    NO_RATE,
    Estimate,
    Moments,
    Rate,
    RatioMoments,
    mean_rate,
    ratio_moments,
    share_rate,
    stratified_mean,
)
from pickosim.studies.balance_search import Guess, Knob, changed, in_order, judge, taker_gains
from pickosim.studies.balance_sums import ABSENT, PRESENT
from pickosim.studies.holders import COLUMNS as HOLDER_COLUMNS
from pickosim.studies.holders import holder_row
from pickosim.studies.measures import ABSENCE, arm_of, rate_columns, with_adjusted

STARTER, FIRST_TAKER = "starter", "first taker"
"""Whose gain it is: a seat that starts with the specialist, or whoever takes it first."""

LEVEL = "bot players"
"""Columns of a level of play."""

FRAMES = frames_by_name(
    Frame(
        "worth",
        "One row per level of play (the bot that takes all seats), number of players and specialist: what "
        "starting with the specialist gains, against nobody having it, with the same dice.",
        f"{LEVEL} specialist games gain± score_gain± p_value p_adjusted",
        {
            "games": "Games with a starter; each is paired with the game of the same dice without the specialist."
        },
    ),
    Frame(
        "worth_by_seat",
        "The same by seat of the starter.",
        f"{LEVEL} specialist seat games gain±",
        {"games": "Games that this seat starts with the specialist."},
    ),
    Frame(
        "seen",
        "One row per level, number of players and specialist: ordinary games. An association, not an effect.",
        f"{LEVEL} specialist games {HOLDER_COLUMNS}",
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
        "sensitivity",
        "One row per level, number of players, specialist and setting of an option, all else as given; with "
        "--sensitivity.",
        f"{LEVEL} specialist option setting games gain± take_up± gain_of as_given difference± p_value "
        "p_adjusted",
        {
            "gain": "By starting tile what the first taker gains, in games that have one; by number what a "
            "starter gains, as in worth.",
            "difference": "By number: from the gain with the number as given, paired by dice.",
        },
        {"difference": POINTS},
    ),
    Frame(
        "suggestion",
        "One row per setting that was played in full, the smallest spread first; with --suggest. Ranks come "
        "from other games than the figures, so that luck in being ranked first does not count.",
        "rank setting changes spread± difference± chance_best mean_gain take_up guess games",
        {
            "rank": "1 is the smallest spread.",
            "difference": "Of the spread from that of the rules as given, paired by dice.",
            "take_up": "Share of games in which somebody takes a specialist, mean over specialists.",
        },
        {"difference": POINTS},
    ),
    Frame(
        "suggestion_gains",
        "One row per setting, level, number of players and specialist: what the specialist adds to the win "
        "share of its first taker, per game; with --suggest.",
        f"rank setting {LEVEL} specialist games gain± take_up",
        {"rank": "Rank of the setting."},
    ),
)

MAIN_FRAME = "worth"


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
    gain_of: str
    given: RuleSet


# ------------------------------------------------------------------------------------------- worth


def gain_moments(weighed: Weighed) -> Moments:
    """Moments of the mean gain in win share over seats, block by block."""
    return _total_moments(weighed, "gain", PARTS)


def _total_moments(weighed: Weighed, name: str, parts: int) -> Moments:
    sums, unit = weighed.sums, parts * weighed.players
    return Moments.of(sums["blocks"], sums[name].sum(), sums[f"{name}_total_squared"], unit, parts)


def worth_rows(all_weighed: Sequence[Weighed]) -> list[Row]:
    """What it is worth to start with each specialist, levels together, the greatest worth first."""
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


def worth_by_seat_rows(all_weighed: Sequence[Weighed]) -> Iterator[Row]:
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
    """Gain and take-up, one option moved at a time."""
    return with_adjusted([row for varied in all_varied for row in _varied_rows(varied)])


def _varied_rows(varied: Varied) -> Iterator[Row]:
    weighed, sums, taker = varied.weighed, varied.weighed.sums, varied.gain_of == FIRST_TAKER
    blocks = int(sums["blocks"])
    given = setting_text(varied.given, varied.option)
    settings = [setting_text(rules, varied.option) for rules in varied.variants]
    for number, rules, setting in zip(varied.rows, varied.variants, settings, strict=True):
        taken = float(sums["taken"][number])
        gain = _taker_gain(weighed, number) if taker else _starter_gain(weighed, number)
        in_play = weighed.specialist in rules.specialists
        take_up = share_rate([Moments(blocks, taken, taken)])
        apart = None if taker else _from_given(weighed, number, varied.rows[settings.index(given)])
        yield {
            **weighed.level,
            "specialist": weighed.specialist,
            "option": varied.option,
            "setting": setting,
            "games": blocks if taker else blocks * weighed.players,
            **rate_columns("gain", gain),
            **rate_columns("take_up", take_up if in_play else NO_RATE),
            "gain_of": varied.gain_of,
            "as_given": setting == given,
            **rate_columns("difference", (apart.mean, *apart.interval()) if apart else NO_RATE),
            "p_value": apart.p_value if apart else None,
        }


def _from_given(weighed: Weighed, number: int, given: int) -> Estimate | None:
    """How far a starter's gain differs from that with the number as given, paired by dice."""
    if number == given:
        return None
    sums, unit = weighed.sums, PARTS * weighed.players
    gain, products = sums["gain"], sums["gain_products"]
    squares = products[number, number] - 2 * products[number, given] + products[given, given]
    total = gain[number] - gain[given]
    return stratified_mean([Moments.of(sums["blocks"], total, squares, unit, PARTS)])


def setting_text(rules: RuleSet, option: str) -> str:
    """The value of an option, or of an entry of one, as `--set` takes it."""
    name, _, entry = option.partition(".")
    if not entry:
        return dict(option_texts(rules))[name]
    return str(rules.as_dict()[name].get(entry, "nowhere"))


def _starter_gain(weighed: Weighed, number: int) -> Rate:
    sums, unit = weighed.sums, PARTS * weighed.players
    squares = sums["gain_products"][number, number]
    return mean_rate([Moments.of(sums["blocks"], sums["gain"][number], squares, unit, PARTS)])


def _taker_gain(weighed: Weighed, number: int) -> Rate:
    """What it brings its first taker, in games that have one: a ratio of two sums, as that is chance as well."""
    sums = weighed.sums
    taken, total = float(sums["taken"][number]), float(sums["gain"][number]) / PARTS
    if not taken:
        return NO_RATE
    squares = float(sums["gain_products"][number, number]) / PARTS**2
    moments = RatioMoments(float(sums["blocks"]), total, taken, squares, taken, total)
    return mean_rate([ratio_moments([moments])])


# -------------------------------------------------------------------------------------- suggestion


def suggestion_rows(
    rules: RuleSet,
    knobs: Sequence[Knob],
    guesses: Sequence[Guess],
    ranked: Sequence[Weighed],
    levels: Sequence[Weighed],
    specialists: Sequence[str],
) -> tuple[list[Row], list[Row]]:
    """The finalists, and what each specialist brings in each of them: as `levels` say.

    The smallest spread first, as `ranked` says, other games than those that are reported.
    """
    finals = judge([level.sums for level in levels], len(specialists))
    order = in_order(judge([level.sums for level in ranked], len(specialists)))
    rows, gains = [], []
    for rank, k in enumerate(order, start=1):
        guess = guesses[k]
        own = slice(k * len(specialists), (k + 1) * len(specialists))
        taken = [level.sums["taken"][own] / level.sums["blocks"] for level in levels]
        found = [taker_gains(level.sums)[0] for level in levels]
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
                "take_up": float(np.mean(taken)),
                "guess": guess.spread,
                # One game with all of them, and one without each.
                "games": sum(int(one.sums["blocks"]) for one in levels) * (1 + len(specialists)),
            }
        )
        for level, shares in zip(levels, taken, strict=True):
            for j, specialist in enumerate(specialists):
                gains.append(
                    {
                        **named,
                        **level.level,
                        "specialist": specialist,
                        "games": 2 * int(level.sums["blocks"]),
                        **rate_columns("gain", _per_game(level.sums, own.start + j)),
                        "take_up": float(shares[j]),
                    }
                )
    return rows, gains


def _per_game(sums: Sums, case: int) -> Rate:
    """What a first taker gains, 0 in games without one."""
    squares = sums["gain_products"][case, case]
    return mean_rate([Moments.of(sums["blocks"], sums["gain"][case], squares, PARTS, PARTS)])


def _setting_words(rules: RuleSet, knobs: Sequence[Knob], guess: Guess) -> str:
    """What a setting changes, as `--set` takes it."""
    varied = changed(rules, knobs, guess.setting)
    texts = [
        f"{knob.option}={setting_text(varied, knob.option)}"
        for knob, value in zip(knobs, guess.setting, strict=True)
        if value
    ]
    return ", ".join(texts) or "as given"
