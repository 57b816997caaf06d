"""The sums of a comparison: the same blocks under all variants of the rules, each against the reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pickosim.engine.tally import Tally
from pickosim.rules import RuleSet
from pickosim.runs.sums import Sums
from pickosim.stats.quantiles import grouped_counts
from pickosim.studies.arms import Arm, ArmsJob, play_arm
from pickosim.studies.measures import MEASURES, Ints, arms_summed, block_values
from pickosim.studies.schedule import Matchup, rotations
from pickosim.studies.seating import bots_by_seat

HISTOGRAMS = ("turns", "rolls")
"""Of these, all values are counted, for percentiles."""


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
