"""The sums of a balance: games branched at pick-ups, games with a specialist here, there or nowhere.

Whatever is compared has the same dice: a block is one game number, played in several arms. All seats are taken by the
same bot. Wins are counted in PARTS, so that every sum is of whole numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pickosim.bots.entrants import Entrant
from pickosim.engine.rulebook import NOTHING, RAVEN
from pickosim.engine.tally import Tally, win_parts
from pickosim.games.pickups import (
    BETWEEN,
    LEADING,
    TRAILING,
    Branched,
    Control,
    Pickups,
    branch_pickups,
)
from pickosim.rules import MOST_TILES, SPECIALISTS, RuleSet
from pickosim.runs.sums import Sums
from pickosim.studies.arms import Arm, play_arm
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


# ------------------------------------------------------------------------------- head start, seen, absence


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
    """Three views of a specialist: the head start of a seat that has it, ordinary games, and its absence."""

    rules: RuleSet
    specialist: str

    @property
    def arms(self) -> list[Arm]:
        """Nobody has it, each seat starts with it; and the game as given, if it is in that."""
        given = [Arm(self.bots, self.rules)] if self.specialist in self.rules.specialists else []
        return [*starter_arms(self.rules, self.specialist, self.bots), *given]

    def play(self, seed: int, first: int, blocks: int) -> tuple[Sums, list[Tally]]:
        """The sums of all three views.

        Head start: `gain`, `score_gain` and their squares (P,), by seat; `gain_total_squared` and
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


# ------------------------------------------------------------------------------------------------- pick-ups


PHASES = ((0, 1), (2, 4), (5, 8), (9, 12), (13, MOST_TILES))
"""Tiles left on the grill after a pick-up, from and to."""

STANDINGS = {LEADING: "leading", BETWEEN: "between", TRAILING: "trailing"}
"""How the gainer stood before."""

EMPTY_HANDS = "with empty hands"
"""Pick-ups by players who held no specialist: what the specialist itself is worth, and not instead of another."""

GROUPS = (
    ("all", "all"),
    *(("phase", f"{low} to {high} tiles left") for low, high in PHASES[:-1]),
    ("phase", f"{PHASES[-1][0]} or more tiles left"),
    *(("standing", name) for name in STANDINGS.values()),
    ("former", EMPTY_HANDS),
    ("former", "with another in hand"),
)
"""What pick-ups are told apart by, and the groups of that; the first are all of them."""

BRANCHED = 1 << 13
"""Games that are branched at a time: every game has dozens of branches, and all of them are in memory."""


class Branches(NamedTuple):
    """Some games with all that their pick-ups brought: E pick-ups in B games."""

    pickups: Pickups
    """(E,)"""
    wins: Ints
    """(E,): what the gainer won with the pick-up minus without it, in PARTS."""
    scores: Ints
    """(E,): the same of its score."""
    games: int
    """How many were played, branches included."""
    unfinished: int


def play_branches(
    arm: Arm, specialists: Sequence[str], control: Control, seed: int, first: int, blocks: int
) -> Branches:
    """Play blocks of an arm, each game branched at every pick-up of these specialists."""
    wanted = np.array([name in specialists for name in SPECIALISTS])
    found = []
    for start in range(0, blocks, BRANCHED):
        some = min(BRANCHED, blocks - start)
        played = branch_pickups(arm.match(seed), first + start, some, wanted, control)
        found.append(_branches_of(played, start))
    return Branches(
        np.concatenate([one.pickups for one in found]),
        np.concatenate([one.wins for one in found]),
        np.concatenate([one.scores for one in found]),
        sum(one.games for one in found),
        sum(one.unfinished for one in found),
    )


def _branches_of(played: Branched, start: int) -> Branches:
    pickups, tallies = played.pickups, (played.tally, played.branches)
    game, seat, every = pickups["entry"], pickups["seat"], np.arange(len(pickups))
    wins = [win_parts(tally.rank) for tally in tallies]
    scores = [tally.score.astype(np.int64) for tally in tallies]
    moved = pickups.copy()
    moved["entry"] += start
    return Branches(
        moved,
        wins[0][game, seat] - wins[1][every, seat],
        scores[0][game, seat] - scores[1][every, seat],
        sum(len(tally.turns) for tally in tallies),
        sum(int((~tally.finished).sum()) for tally in tallies),
    )


def block_totals(found: Branches, chosen: NDArray[np.bool_], blocks: int) -> Ints:
    """(3, B): the number of the chosen pick-ups (E,) of each game, and what they brought in wins and score."""
    game = found.pickups["entry"][chosen]
    values = (np.ones(len(game)), found.wins[chosen], found.scores[chosen])
    # Sums of whole numbers far below 2^53: exact as floats.
    return np.stack([np.bincount(game, of, blocks) for of in values]).astype(np.int64)


def _in_groups(pickups: Pickups) -> list[NDArray[np.bool_]]:
    """Of each group, the pick-ups (E,) that belong to it."""
    left, standing = pickups["tiles_left"], pickups["standing"]
    return [
        np.ones(len(pickups), np.bool_),
        *((left >= low) & (left <= high) for low, high in PHASES),
        *(standing == number for number in STANDINGS),
        pickups["former"] == NOTHING,
        pickups["former"] != NOTHING,
    ]


@dataclass(frozen=True)
class PickupJob(_BalanceJob):
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
        wins, of all specialists.
        """
        found = play_branches(self.arms[0], self.specialists, self.control, seed, first, blocks)
        groups = _in_groups(found.pickups)
        numbers = [SPECIALISTS.index(name) for name in self.specialists]
        totals = np.stack(
            [
                np.stack(
                    [
                        block_totals(found, group & (found.pickups["specialist"] == k), blocks)
                        for group in groups
                    ]
                )
                for k in numbers
            ]
        )
        both = np.concatenate([totals[:, 0, 0], totals[:, 0, 1]])
        return {
            "blocks": np.array(blocks, np.int64),
            "games": np.array(found.games, np.int64),
            "unfinished": np.array(found.unfinished, np.int64),
            "picked": totals.sum(axis=-1),
            "picked_products": totals @ totals.swapaxes(-1, -2),
            "across": both @ both.T,
        }, []


@dataclass(frozen=True)
class Case:
    """A specialist whose pick-ups are weighed, and the rules that it is in."""

    specialist: str
    rules: RuleSet


@dataclass(frozen=True)
class CaseJob(_BalanceJob):
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
            found = play_branches(arm, names, self.control, seed, first, blocks)
            for k, name in zip(own, names, strict=True):
                chosen = found.pickups["specialist"] == SPECIALISTS.index(name)
                totals[:, k] = block_totals(found, chosen, blocks)[:2]
            games, unfinished = games + found.games, unfinished + found.unfinished
        both = totals.reshape(-1, blocks)
        return {
            "blocks": np.array(blocks, np.int64),
            "games": np.array(games, np.int64),
            "unfinished": np.array(unfinished, np.int64),
            "picked": totals.sum(axis=-1),
            "across": both @ both.T,
        }, []
