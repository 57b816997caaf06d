"""The results of a comparison: every measure of every variant, and how far it differs from the reference."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from pickosim.columns import POINTS, Frame, Row, frames_by_name
from pickosim.engine.tally import Tally
from pickosim.rules import RuleSet
from pickosim.runs.tasks import Sums
from pickosim.stats.intervals import (
    NO_RATE,
    Estimate,
    Rate,
    Reading,
    difference,
    grouped_counts,
    histogram_quantile,
    quantile_difference_interval,
    quantile_interval,
    rate,
)
from pickosim.studies.arms import Arm, ArmsJob, play_arm
from pickosim.studies.measures import (
    MEASURES,
    ArmSums,
    Ints,
    Measure,
    about_bot,
    arm_of,
    arms_summed,
    block_values,
    rate_columns,
    with_adjusted,
)
from pickosim.studies.schedule import Matchup, bots_by_seat, rotations
from pickosim.studies.variants import Variant, what_differs

HISTOGRAMS = ("turns", "rolls")
"""Measures whose values are all counted, for percentiles."""


@dataclass(frozen=True)
class CompareJob(ArmsJob):
    """Games of one matchup under all variants; an arm per variant."""

    matchup: Matchup
    variants: tuple[RuleSet, ...]
    reference: int

    @property
    def arms(self) -> list[Arm]:
        """One per variant."""
        return [self._arm(rules) for rules in self.variants]

    def _arm(self, rules: RuleSet) -> Arm:
        return Arm(self.matchup, rules, rotations=rotations(self.matchup))

    @property
    def in_hand(self) -> int:
        """The rotations of the reference, and of the variant that is compared with it."""
        return 2 * len(rotations(self.matchup))

    def play(self, seed: int, first: int, blocks: int) -> tuple[Sums, list[Tally]]:
        """`blocks`; all of `arms_summed` by variant; histograms (A, GROUPS, T) of HISTOGRAMS."""
        base_tallies = self._play(self.variants[self.reference], seed, first, blocks)
        base = self._values(base_tallies, first)
        values, histograms = [], []
        for number, rules in enumerate(self.variants):
            is_base = number == self.reference
            tallies = base_tallies if is_base else self._play(rules, seed, first, blocks)
            values.append(base if is_base else self._values(tallies, first))
            counted = [[MEASURES[name].counted(t) for t in tallies] for name in HISTOGRAMS]
            histograms.append([grouped_counts(of_games, first) for of_games in counted])
        sums = {"blocks": np.array(blocks, np.int64), **arms_summed(values, base)}
        for name, of_arms in zip(HISTOGRAMS, zip(*histograms, strict=True), strict=True):
            sums[name] = _stacked(of_arms)
        return sums, []

    def _play(self, rules: RuleSet, seed: int, first: int, blocks: int) -> list[Tally]:
        """One tally per rotation."""
        tally = play_arm(self._arm(rules), seed, first, blocks, follow_lead=True)
        return tally.by_rotation(len(rotations(self.matchup)))

    def _values(self, tallies: Sequence[Tally], first: int) -> Ints:
        bots = bots_by_seat(self.matchup, first, len(tallies[0].turns))
        return block_values(tallies, self.matchup, bots)


def _stacked(arrays: Sequence[Ints]) -> Ints:
    """Stacked; a histogram that ends earlier is padded with 0."""
    longest = max(array.shape[-1] for array in arrays)
    return np.stack([np.pad(array, [(0, 0), (0, longest - array.shape[-1])]) for array in arrays])


FRAMES = frames_by_name(
    Frame(
        "measures",
        "One row per number of players, variant and measure.",
        "players variant measure games value± difference± p_value p_adjusted",
    ),
    Frame(
        "seats",
        "One row per number of players, variant and seat.",
        "players variant seat games win_share± difference±",
        formats={"difference": POINTS},
    ),
    Frame(
        "lengths",
        "One row per number of players, variant and length of a game.",
        "players variant turns games",
        {"games": "Games of that length."},
    ),
    Frame("variants", "One row per variant.", "variant differs rules"),
)

MAIN_FRAME = "measures"


class Side(NamedTuple):
    """A variant with one number of players: its sums, and the products of its values with the reference's."""

    variant: Variant
    sums: ArmSums
    crossed: Ints
    """(V, V)"""
    histograms: dict[str, Ints]
    """Histograms of turns and rolls, (GROUPS, T) each."""


class Setting(NamedTuple):
    """All variants with one number of players, and which of them is the reference."""

    sides: tuple[Side, ...]
    reference: int

    @property
    def base(self) -> Side:
        """The reference."""
        return self.sides[self.reference]

    @property
    def stronger(self) -> str | None:
        """The bot that wins most by its fair share in the reference; None if all are the same."""
        return self.base.sums.stronger


def setting_of(
    variants: Sequence[Variant], reference: int, matchup: Matchup, part: Sums
) -> Setting:
    """The sums of one number of players, variant by variant."""
    per_block = len(rotations(matchup))
    stronger = _stronger(arm_of(part, reference, matchup, per_block))
    sides = [
        Side(
            variant,
            about_bot(arm_of(part, number, matchup, per_block), stronger),
            part["crossed"][number],
            {name: part[name][number] for name in ("turns", "rolls")},
        )
        for number, variant in enumerate(variants)
    ]
    return Setting(tuple(sides), reference)


def _stronger(base: ArmSums) -> str | None:
    bots = list(dict.fromkeys(base.matchup))
    if len(bots) < 2:
        return None
    return max(bots, key=lambda bot: base.wins_by_fair_share(bot).value)


def compare_frames(settings: Sequence[Setting]) -> dict[str, pl.DataFrame]:
    """All tables; one setting per number of players."""
    rows: dict[str, list[Row]] = {
        "measures": with_adjusted([row for setting in settings for row in _measures(setting)]),
        "seats": [row for setting in settings for row in _seats(setting)],
        "lengths": [row for setting in settings for row in _lengths(setting)],
        "variants": [
            {
                "variant": side.variant.name,
                "differs": what_differs(settings[0].base.variant.rules, side.variant.rules),
                "rules": json.dumps(side.variant.rules.as_dict(), ensure_ascii=False),
            }
            for side in settings[0].sides
        ],
    }
    return {name: frame.build(rows[name]) for name, frame in FRAMES.items()}


def _measures(setting: Setting) -> Iterator[Row]:
    for side in setting.sides:
        for measure in MEASURES.values():
            if measure.name == "skill" and setting.stronger is None:
                continue
            found = _percentile if measure.percentile else _rate
            yield {
                **_common(side),
                "measure": measure.name,
                "games": side.sums.games,
                **found(setting, side, measure),
            }


def _seats(setting: Setting) -> Iterator[Row]:
    for side in setting.sides:
        for seat in range(side.sums.players):
            reading = side.sums.win_share_of_seat(seat)
            base = setting.base.sums.win_share_of_seat(seat)
            yield {
                **_common(side),
                "seat": seat,
                "games": side.sums.games,
                **rate_columns("win_share", rate(side.sums, reading)),
                **rate_columns("difference", _differs(setting, side, reading, base)[0]),
            }


def _lengths(setting: Setting) -> Iterator[Row]:
    for side in setting.sides:
        for turns, games in enumerate(side.histograms["turns"].sum(axis=0)):
            if games:
                yield {**_common(side), "turns": turns, "games": int(games)}


def _common(side: Side) -> Row:
    return {"players": side.sums.players, "variant": side.variant.name}


def _rate(setting: Setting, side: Side, measure: Measure) -> Row:
    """A measure that is a mean, a share or a ratio, with its paired difference."""
    reading, base = measure.read(side.sums), measure.read(setting.base.sums)
    apart, estimate = _differs(setting, side, reading, base)
    return {
        **rate_columns("value", rate(side.sums, reading)),
        **rate_columns("difference", apart),
        "p_value": None if estimate is None else estimate.p_value,
    }


def _differs(
    setting: Setting, side: Side, reading: Reading, base: Reading
) -> tuple[Rate, Estimate | None]:
    """How far a measure differs from the reference's, with its interval and as an estimate."""
    if side is setting.base:
        return NO_RATE, None
    if not what_differs(setting.base.variant.rules, side.variant.rules):
        return Rate(0.0, 0.0, 0.0), Estimate(0.0, 0.0)
    estimate = difference(side.sums, reading, setting.base.sums, base, side.crossed)
    return Rate(estimate.mean, *estimate.interval()), estimate


def _percentile(setting: Setting, side: Side, measure: Measure) -> Row:
    """A percentile of turns or rolls, and how far it differs from the reference's."""
    assert measure.percentile is not None
    name, percent = measure.percentile
    blocks, quantile = side.sums.blocks, percent / 100
    own, base = (of.histograms[name] for of in (side, setting.base))
    value = int(histogram_quantile(own.sum(axis=0), quantile))
    apart = NO_RATE
    if side is not setting.base:
        apart = Rate(
            value - int(histogram_quantile(base.sum(axis=0), quantile)),
            *quantile_difference_interval(own, base, quantile, blocks),
        )
    return {
        **rate_columns("value", (value, *quantile_interval(own.sum(axis=0), quantile, blocks))),
        **rate_columns("difference", apart),
        "p_value": None,
    }
