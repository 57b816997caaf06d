"""The tables of a balance, from its sums: what each specialist is seen to do, worth, and missed for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from pickosim.engine.rulebook import RAVEN
from pickosim.rules import SPECIALISTS, RuleSet, option_texts
from pickosim.runs.sums import Sums
from pickosim.stats.moments import (
    Estimate,
    Moments,
    RatioMoments,
    ratio_interval,
    share_interval,
    stratified_mean,
)
from pickosim.studies.measures import SHARES, Measured, difference, interval, read
from pickosim.studies.suggest_balance import Guess, Knob, changed, in_order, judge, taker_gains
from pickosim.studies.table_rows import Row, corrected, rates
from pickosim.studies.tournament_sums import PARTS

MISSED = ("turns", "margin", "first_seat")
"""What the game without a specialist is measured by: turns a game, the winner's margin in worms, and the
win share of the seat that begins, above that of all seats. See `game_measures`."""

STARTER, FIRST_TAKER = "starter", "first taker"
"""Whose gain it is: a seat that starts with the specialist, or whoever takes it first."""

_Level = {"bot": pl.String, "players": pl.Int32}
_Gain = {"gain": pl.Float64, "gain_low": pl.Float64, "gain_high": pl.Float64}
_Tested = {"p_value": pl.Float64, "p_adjusted": pl.Float64}

SCHEMAS: dict[str, dict[str, Any]] = {
    "worth": {
        **_Level,
        "specialist": pl.String,
        "games": pl.Int64,
        **_Gain,
        "worms": pl.Float64,
        "worms_low": pl.Float64,
        "worms_high": pl.Float64,
        **_Tested,
    },
    "worth_by_seat": {
        **_Level,
        "specialist": pl.String,
        "seat": pl.Int32,
        "games": pl.Int64,
        **_Gain,
    },
    "seen": {
        **_Level,
        "specialist": pl.String,
        "games": pl.Int64,
        "gained": pl.Float64,
        "turns_held": pl.Float64,
        "used": pl.Float64,
        "held_at_end": pl.Float64,
        "held_at_end_low": pl.Float64,
        "held_at_end_high": pl.Float64,
        "games_held": pl.Int64,
        "win_share_held": pl.Float64,
        "win_share_held_low": pl.Float64,
        "win_share_held_high": pl.Float64,
    },
    "absence": {
        **_Level,
        "specialist": pl.String,
        "measure": pl.String,
        "games": pl.Int64,
        "value": pl.Float64,
        "value_low": pl.Float64,
        "value_high": pl.Float64,
        "without": pl.Float64,
        "without_low": pl.Float64,
        "without_high": pl.Float64,
        "difference": pl.Float64,
        "difference_low": pl.Float64,
        "difference_high": pl.Float64,
        **_Tested,
    },
    "sensitivity": {
        **_Level,
        "specialist": pl.String,
        "option": pl.String,
        "setting": pl.String,
        "games": pl.Int64,
        **_Gain,
        "take_up": pl.Float64,
        "take_up_low": pl.Float64,
        "take_up_high": pl.Float64,
        "gain_of": pl.String,
        "as_given": pl.Boolean,
        "difference": pl.Float64,
        "difference_low": pl.Float64,
        "difference_high": pl.Float64,
        **_Tested,
    },
    "suggestion": {
        "rank": pl.Int32,
        "setting": pl.String,
        "changes": pl.Int32,
        "spread": pl.Float64,
        "spread_low": pl.Float64,
        "spread_high": pl.Float64,
        "difference": pl.Float64,
        "difference_low": pl.Float64,
        "difference_high": pl.Float64,
        "chance_best": pl.Float64,
        "mean_gain": pl.Float64,
        "take_up": pl.Float64,
        "guess": pl.Float64,
        "games": pl.Int64,
    },
    "suggestion_gains": {
        "rank": pl.Int32,
        "setting": pl.String,
        **_Level,
        "specialist": pl.String,
        "games": pl.Int64,
        **_Gain,
        "take_up": pl.Float64,
    },
}
"""The columns of every table; `sensitivity` and the suggestions are there if they were asked for.

worth: `gain` in win share and `worms`, of a seat that starts with the specialist against nobody having
it; `games` are those with a starter, each paired with the game of the same dice without. absence:
`value` is of the game as given, `difference` is that without the specialist minus that. sensitivity:
by starting tile the gain is that of the first taker, in games in which somebody takes it; by number it
is that of a starter, as in worth: `gain_of` says which. By number, `difference` is to the gain with the
number as given, paired by dice. `take_up`: the share of games in which somebody takes the specialist
(the raven: in which it pays). suggestion: see `suggest_balance`.
"""


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


def frame(name: str, rows: Iterable[Row]) -> pl.DataFrame:
    """A table of SCHEMAS."""
    return pl.DataFrame(list(rows), SCHEMAS[name], orient="row")


def _mean(moments: Moments) -> tuple[float, float, float]:
    estimate = stratified_mean([moments])
    return (estimate.mean, *estimate.interval())


# ------------------------------------------------------------------------------------------- worth


def gain_moments(weighed: Weighed) -> Moments:
    """Moments of the mean gain in win share over seats, block by block."""
    return _total_moments(weighed, "gain", PARTS)


def _total_moments(weighed: Weighed, name: str, parts: int) -> Moments:
    sums, unit = weighed.sums, parts * weighed.players
    return Moments(
        float(sums["blocks"]),
        float(sums[name].sum()) / unit,
        float(sums[f"{name}_total_squared"]) / unit**2,
    )


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
                **rates("gain", _mean(gain)),
                **rates("worms", _mean(_total_moments(weighed, "worms", 1))),
                "p_value": stratified_mean([gain]).p_value,
            }
        )
    order = {level: k for k, level in enumerate(dict.fromkeys(w[:2] for w in all_weighed))}
    rows.sort(key=lambda row: (order[row["bot"], row["players"]], -row["gain"]))
    return corrected(rows)


def worth_by_seat_rows(all_weighed: Sequence[Weighed]) -> Iterator[Row]:
    """The same for each seat."""
    for weighed in all_weighed:
        blocks = int(weighed.sums["blocks"])
        for seat in range(weighed.players):
            total = float(weighed.sums["gain"][seat]) / PARTS
            squares = float(weighed.sums["gain_squared"][seat]) / PARTS**2
            yield {
                **weighed.level,
                "specialist": weighed.specialist,
                "seat": seat,
                "games": blocks,
                **rates("gain", _mean(Moments(blocks, total, squares))),
            }


# -------------------------------------------------------------------------------- seen and absence


def seen_rows(all_weighed: Sequence[Weighed], rules: RuleSet) -> Iterator[Row]:
    """What happened with the specialists in ordinary games; who wins with one is no proof that it helps."""
    levels = dict.fromkeys(weighed[:2] for weighed in all_weighed)
    for bot, players in levels:
        # Every specialist was weighed beside ordinary games of its own: all of them count here.
        parts = [
            weighed.sums
            for weighed in all_weighed
            if weighed[:2] == (bot, players) and "seen" in weighed.sums
        ]
        for number, specialist in enumerate(SPECIALISTS):
            if specialist in rules.specialists and parts:
                yield {
                    "bot": bot,
                    "players": players,
                    "specialist": specialist,
                    **_seen(parts, number),
                }


def _seen(parts: Sequence[Sums], number: int) -> Row:
    games = sum(int(part["seen"]) for part in parts)

    def total(name: str) -> int:
        return sum(int(part[name][number]) for part in parts)

    # A game has one holder at most: held or not is its own square.
    held = [
        Moments(float(part["seen"]), float(part["held"][number]), float(part["held"][number]))
        for part in parts
    ]
    won = [
        RatioMoments(
            n=float(part["seen"]),
            above=float(part["held_wins"][number]) / PARTS,
            below=float(part["held"][number]),
            above2=float(part["held_wins_squared"][number]) / PARTS**2,
            below2=float(part["held"][number]),
            product=float(part["held_wins"][number]) / PARTS,
        )
        for part in parts
    ]
    never = number == RAVEN or total("held") == 0
    return {
        "games": games,
        **{name: total(name) / games for name in ("gained", "turns_held", "used")},
        **rates("held_at_end", (total("held") / games, *share_interval(held))),
        "games_held": total("held"),
        **rates("win_share_held", (None, None, None) if never else ratio_interval(won)),
    }


def absence_rows(all_weighed: Sequence[Weighed]) -> list[Row]:
    """The game without a specialist against the game as given, paired by dice."""
    rows = []
    for weighed in all_weighed:
        sums = weighed.sums
        if "with" not in sums:
            continue
        blocks, table = int(sums["blocks"]), (weighed.bot,) * weighed.players
        present = Measured(table, 1, blocks, sums["with"], sums["with_products"])
        absent = Measured(table, 1, blocks, sums["without"], sums["without_products"])
        for measure in MISSED:
            own, other = read(present, measure), read(absent, measure)
            apart = difference(absent, other, present, own, sums["crossed"])
            share = measure in SHARES
            rows.append(
                {
                    **weighed.level,
                    "specialist": weighed.specialist,
                    "measure": measure,
                    "games": 2 * blocks,
                    **rates("value", (own.value, *interval(present, own, share=share))),
                    **rates("without", (other.value, *interval(absent, other, share=share))),
                    **rates("difference", (apart.mean, *apart.interval())),
                    "p_value": apart.p_value,
                }
            )
    return corrected(rows)


# ------------------------------------------------------------------------------------- sensitivity


def sensitivity_rows(all_varied: Sequence[Varied]) -> list[Row]:
    """Gain and take-up, one option moved at a time."""
    return corrected([row for varied in all_varied for row in _varied_rows(varied)])


def _varied_rows(varied: Varied) -> Iterator[Row]:
    weighed, sums, taker = varied.weighed, varied.weighed.sums, varied.gain_of == FIRST_TAKER
    blocks = int(sums["blocks"])
    given = setting_text(varied.given, varied.option)
    settings = [setting_text(rules, varied.option) for rules in varied.variants]
    for number, rules, setting in zip(varied.rows, varied.variants, settings, strict=True):
        taken = float(sums["taken"][number])
        gain = _taker_gain(weighed, number) if taker else _starter_gain(weighed, number)
        in_play = weighed.specialist in rules.specialists
        take_up = (taken / blocks, *share_interval([Moments(blocks, taken, taken)]))
        apart = None if taker else _from_given(weighed, number, varied.rows[settings.index(given)])
        yield {
            **weighed.level,
            "specialist": weighed.specialist,
            "option": varied.option,
            "setting": setting,
            "games": blocks if taker else blocks * weighed.players,
            **rates("gain", gain),
            **rates("take_up", take_up if in_play else (None, None, None)),
            "gain_of": varied.gain_of,
            "as_given": setting == given,
            **rates("difference", (apart.mean, *apart.interval()) if apart else (None, None, None)),
            "p_value": apart.p_value if apart else None,
        }


def _from_given(weighed: Weighed, number: int, given: int) -> Estimate | None:
    """How far a starter's gain differs from that with the number as given, paired by dice."""
    if number == given:
        return None
    sums, unit = weighed.sums, PARTS * weighed.players
    gain, products = sums["gain"], sums["gain_products"]
    squares = products[number, number] - 2 * products[number, given] + products[given, given]
    total = float(gain[number] - gain[given]) / unit
    return stratified_mean([Moments(float(sums["blocks"]), total, float(squares) / unit**2)])


def setting_text(rules: RuleSet, option: str) -> str:
    """An option's value, or that of an entry of a table, as `--set` takes it."""
    name, _, entry = option.partition(".")
    if not entry:
        return dict(option_texts(rules))[name]
    return str(rules.as_dict()[name].get(entry, "nowhere"))


def _starter_gain(weighed: Weighed, number: int) -> tuple[float, float, float]:
    unit = PARTS * weighed.players
    sums = weighed.sums
    return _mean(
        Moments(
            float(sums["blocks"]),
            float(sums["gain"][number]) / unit,
            float(sums["gain_products"][number, number]) / unit**2,
        )
    )


def _taker_gain(weighed: Weighed, number: int) -> tuple[float | None, float | None, float | None]:
    """What it brings its first taker, in games that have one.

    How many these are is chance as well: a ratio of two sums, with the error of the linear
    approximation (Cochran, Sampling Techniques, 1977, section 6.11).
    """
    sums = weighed.sums
    blocks, taken = float(sums["blocks"]), float(sums["taken"][number])
    if not taken:
        return None, None, None
    total = float(sums["gain"][number]) / PARTS
    squares = float(sums["gain_products"][number, number])
    mean = total / taken
    residuals = squares / PARTS**2 - 2 * mean * total + mean**2 * taken
    error = stratified_mean([Moments(blocks, 0.0, residuals)]).error * blocks / taken
    return (mean, *Estimate(mean, error).interval())


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
        found = [taker_gains(level.sums) for level in levels]
        named = {"rank": rank, "setting": _setting_words(rules, knobs, guess)}
        rows.append(
            {
                **named,
                "changes": guess.changes,
                **rates("spread", (finals.spread[k], finals.low[k], finals.high[k])),
                **rates(
                    "difference",
                    (finals.difference[k], finals.difference_low[k], finals.difference_high[k]),
                ),
                "chance_best": finals.best[k],
                "mean_gain": float(np.mean([means[own] for means, _ in found])),
                "take_up": float(np.mean(taken)),
                "guess": guess.spread,
                # One game with all of them, and one without each.
                "games": sum(int(one.sums["blocks"]) for one in levels) * (1 + len(specialists)),
            }
        )
        for level, (means, covariance), shares in zip(levels, found, taken, strict=True):
            errors = np.sqrt(covariance.diagonal())
            for j, specialist in enumerate(specialists):
                mean, error = float(means[own][j]), float(errors[own][j])
                gains.append(
                    {
                        **named,
                        **level.level,
                        "specialist": specialist,
                        "games": 2 * int(level.sums["blocks"]),
                        **rates("gain", (mean, *Estimate(mean, error).interval())),
                        "take_up": float(shares[j]),
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
