"""The sums of a balance: games with a specialist here, there or nowhere, and what they add up to.

Whatever is compared has the same dice: a block is one game number, played in several arms. All seats are taken by the
same bot. Wins are counted in PARTS, so that every sum is of whole numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pickosim.bots.entrants import Entrant
from pickosim.engine.rulebook import RAVEN
from pickosim.engine.tally import Tally, win_parts
from pickosim.rules import SPECIALISTS, RuleSet
from pickosim.runs.sums import Sums
from pickosim.studies.arms import NOBODY, Arm, play_arm, play_watched
from pickosim.studies.holders import holder_sums
from pickosim.studies.measures import arms_summed, block_values
from pickosim.studies.seating import bots_by_seat

Ints = NDArray[np.int64]

ABSENT, PRESENT = range(2)
"""Arms of the measures of absence: the game without the specialist, and the game as given."""


def nowhere(rules: RuleSet, specialist: str) -> RuleSet:
    """The same rules without a specialist."""
    return rules.with_options({f"specialists.{specialist}": "nowhere"})


def on_tile(rules: RuleSet, specialist: str, tile: int) -> RuleSet:
    """The same rules with a specialist on that tile; one that stood there takes its place."""
    places: dict[str, object] = {str(name): place for name, place in rules.specialists.items()}
    changes: dict[str, object] = {f"specialists.{specialist}": tile}
    for other, place in places.items():
        if other != specialist and place == tile:
            changes[f"specialists.{other}"] = places.get(specialist, "nowhere")
    return rules.with_options(changes)


def starting_with(rules: RuleSet, specialist: str, seat: int, bots: tuple[str, ...]) -> Arm:
    """The same rules, with a specialist that starts with a seat.

    Nobody ever owns the raven. To start with it is to have had its visit: the seat has the bratworm
    that it brings, if the supply has any, and the raven stands where it goes after that, on the lowest
    tile without a specialist.
    """
    if specialist != SPECIALISTS[RAVEN]:
        return Arm(bots, rules.with_options({f"specialists.{specialist}": {"seat": seat}}))
    taken = {place for name, place in rules.specialists.items() if name != specialist}
    free = [tile for tile in rules.tiles if tile not in taken]
    changed = rules.with_options({f"specialists.{specialist}": min(free, default="nowhere")})
    return Arm(bots, changed, seat if rules.bratworms else None)


@dataclass(frozen=True)
class _BalanceJob:
    """What the jobs of a balance have in common: one bot takes all seats."""

    entrant: Entrant
    players: int

    @property
    def entrants(self) -> tuple[Entrant, ...]:
        """The one bot that plays."""
        return (self.entrant,)

    @property
    def bots(self) -> tuple[str, ...]:
        """By seat."""
        return (self.entrant.spec,) * self.players

    @property
    def in_hand(self) -> int:
        """The game that nobody starts with it, one per seat that does, and the game as given."""
        return self.players + 2

    def saved(self, tallies: Sequence[Tally], part: int, seed: int, first: int) -> pl.DataFrame:
        """Balances keep no games."""
        raise NotImplementedError


# ------------------------------------------------------------------------------------ worth, seen, absence


def starter_arms(rules: RuleSet, specialist: str, bots: tuple[str, ...]) -> list[Arm]:
    """The specialist nowhere; then with each seat."""
    seats = range(len(bots))
    return [
        Arm(bots, nowhere(rules, specialist)),
        *(starting_with(rules, specialist, seat, bots) for seat in seats),
    ]


def starter_gains(tallies: Sequence[Tally]) -> tuple[Ints, Ints]:
    """What starting with a specialist brings, block by block: two (B, P) by seat, of wins and of score.

    A seat's wins (in PARTS) and score in the game that it starts with the specialist, minus its own in the
    game with the same dice in which nobody has it; tallies as `starter_arms` are played.
    """
    wins = [win_parts(tally.rank) for tally in tallies]
    scores = [tally.score.astype(np.int64) for tally in tallies]
    return _own_gain(wins), _own_gain(scores)


def _own_gain(values: Sequence[Ints]) -> Ints:
    """(B, P): each seat's value in its own arm minus that in the first."""
    base, *arms = values
    return np.stack([arm[:, s] - base[:, s] for s, arm in enumerate(arms)], axis=1)


@dataclass(frozen=True)
class ViewJob(_BalanceJob):
    """All three views of a specialist: worth to a starter, seen in ordinary games, and its absence."""

    rules: RuleSet
    specialist: str

    @property
    def arms(self) -> list[Arm]:
        """Nobody has it, each seat starts with it; and the game as given, if it is in that."""
        given = [Arm(self.bots, self.rules)] if self.specialist in self.rules.specialists else []
        return [*starter_arms(self.rules, self.specialist, self.bots), *given]

    def play(self, seed: int, first: int, blocks: int) -> tuple[Sums, list[Tally]]:
        """The sums of all three views.

        Worth: `gain`, `score_gain` and their squares (P,), by seat; `gain_total_squared` and
        `score_gain_total_squared` of a block's totals. Absence: all of `arms_summed`, for the arms ABSENT and
        PRESENT. Seen: what `holder_sums` says, all seats together.
        """
        tallies = [play_arm(arm, seed, first, blocks) for arm in self.arms]
        starters = tallies[: self.players + 1]
        gain, score_gain = starter_gains(starters)
        sums: Sums = {
            "blocks": np.array(blocks, np.int64),
            **_seat_sums("gain", gain),
            **_seat_sums("score_gain", score_gain),
            **_games(tallies),
        }
        for given in tallies[self.players + 1 :]:
            bots = bots_by_seat(self.bots, first, blocks)
            absent, present = (
                block_values([tally], self.bots, bots) for tally in (tallies[0], given)
            )
            sums |= arms_summed([absent, present], present)
            sums |= holder_sums([given], np.zeros_like(bots))
        return sums, []


def _games(tallies: Sequence[Tally]) -> Sums:
    """How many games were played, and how many of them were not finished."""
    return {
        "games": np.array(sum(len(tally.turns) for tally in tallies), np.int64),
        "unfinished": np.array(sum(int((~t.finished).sum()) for t in tallies), np.int64),
    }


def _seat_sums(name: str, values: Ints) -> Sums:
    """The sums of values (B, P) by seat, of their squares, and of the squares of a block's totals."""
    return {
        name: values.sum(axis=0),
        f"{name}_squared": (values**2).sum(axis=0),
        f"{name}_total_squared": np.asarray((values.sum(axis=1) ** 2).sum()),
    }


# --------------------------------------------------------------------------------------------- first takers


@dataclass(frozen=True)
class Case:
    """A specialist weighed by whoever takes it first: the rules it is in, and the same without it."""

    specialist: str
    rules: RuleSet

    @property
    def without(self) -> RuleSet:
        """The same rules without it."""
        return nowhere(self.rules, self.specialist)


@dataclass(frozen=True)
class TakerJob(_BalanceJob):
    """What specialists bring to whoever takes them first, case by case."""

    cases: tuple[Case, ...]

    @property
    def arms(self) -> list[Arm]:
        """All rules of all cases, each once."""
        rules = [rules for case in self.cases for rules in (case.rules, case.without)]
        return [Arm(self.bots, one) for one in dict.fromkeys(rules)]

    def play(self, seed: int, first: int, blocks: int) -> tuple[Sums, list[Tally]]:
        """By case (C,): the sums of `gain` and `taken`; `gain_products` (C, C): one with another, by block."""
        gain, taken, unfinished = self.values(seed, first, blocks)
        return {
            "blocks": np.array(blocks, np.int64),
            "games": np.array(blocks * len(self.arms), np.int64),
            "unfinished": np.array(unfinished, np.int64),
            "gain": gain.sum(axis=1),
            "gain_products": gain @ gain.T,
            "taken": taken.sum(axis=1),
        }, []

    def values(self, seed: int, first: int, blocks: int) -> tuple[Ints, NDArray[np.bool_], int]:
        """What the first taker gains, block by block: two (C, B), and unfinished games.

        The wins (in PARTS) of that seat, minus its own with the same dice in the game without the
        specialist, 0 where nobody takes it; and whether anybody does.
        """
        wins: dict[RuleSet, NDArray[np.int16]] = {}
        takers: dict[tuple[RuleSet, str], NDArray[np.int8]] = {}
        unfinished = 0
        for arm in self.arms:
            watched = [case.specialist for case in self.cases if case.rules == arm.rules]
            numbers = [SPECIALISTS.index(name) for name in watched]
            tally, first_takers = play_watched(arm, seed, first, blocks, numbers)
            wins[arm.rules] = win_parts(tally.rank).astype(np.int16)
            takers |= {
                (arm.rules, name): of for name, of in zip(watched, first_takers, strict=True)
            }
            unfinished += int((~tally.finished).sum())
        gain = np.zeros((len(self.cases), blocks), np.int64)
        taken = np.zeros((len(self.cases), blocks), np.bool_)
        every = np.arange(blocks)
        for k, case in enumerate(self.cases):
            taker = takers[case.rules, case.specialist]
            taken[k] = taker != NOBODY
            seat = np.maximum(taker, 0)
            difference = wins[case.rules][every, seat] - wins[case.without][every, seat]
            gain[k] = np.where(taken[k], difference, 0)
        return gain, taken, unfinished


@dataclass(frozen=True)
class NumberJob(_BalanceJob):
    """What starting with a specialist brings, by the value of a number of the rules."""

    variants: tuple[RuleSet, ...]
    specialist: str

    @property
    def arms(self) -> list[Arm]:
        """Of each variant those of a starter, and the game as given."""
        return [arm for rules in self.variants for arm in self._arms(rules)]

    def _arms(self, rules: RuleSet) -> list[Arm]:
        return [*starter_arms(rules, self.specialist, self.bots), Arm(self.bots, rules)]

    def play(self, seed: int, first: int, blocks: int) -> tuple[Sums, list[Tally]]:
        """By variant (N,): `gain` is of a block's total over seats (in PARTS), `gain_products` (N, N).

        `taken` counts games of the variant in which somebody takes the specialist.
        """
        gains, taken, unfinished = [], [], 0
        for rules in self.variants:
            *starters, given = self._arms(rules)
            tallies = [play_arm(arm, seed, first, blocks) for arm in starters]
            watched = (
                [SPECIALISTS.index(self.specialist)] if self.specialist in rules.specialists else []
            )
            tally, takers = play_watched(given, seed, first, blocks, watched)
            gains.append(starter_gains(tallies)[0].sum(axis=1))
            taken.append((takers != NOBODY).sum())
            unfinished += int(_games([*tallies, tally])["unfinished"])
        by_block = np.stack(gains)
        return {
            "blocks": np.array(blocks, np.int64),
            "games": np.array(blocks * len(self.arms), np.int64),
            "unfinished": np.array(unfinished, np.int64),
            "gain": by_block.sum(axis=1),
            "gain_products": by_block @ by_block.T,
            "taken": np.array(taken, np.int64),
        }, []
