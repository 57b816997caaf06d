"""Lessons and tests: the games of a training, played by workers, and what they send back.

A lesson is recorded games as features and targets. They are sent as whole numbers, like all sums: the features four to
a number, the targets in parts of a sure win.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pickosim.bots.strategy import Strategy
from pickosim.engine.tally import Tally, win_parts
from pickosim.games.batch import play_games
from pickosim.games.match import make_match
from pickosim.games.recording import record_games
from pickosim.learning.features import features_of
from pickosim.learning.fit import targets_of
from pickosim.learning.nearest import Learned
from pickosim.learning.net import CHANCE_ONE, chances_of
from pickosim.learning.weights import weights_of
from pickosim.rules import RuleSet
from pickosim.runs.tasks import Sums
from pickosim.studies.arms import Job

LEARNER = "learner"
"""Stands for the net in training at a table of bots."""

TEACHER = "expected"
"""Plays the first round and all tests, unless a best response is trained."""

_PACKED = 4
"""Features in a number of 64 bits."""


@dataclass(frozen=True)
class _TableJob(Job):
    """Games at a table with the net in training, which is sent with the job."""

    table: tuple[str, ...]
    """Bots by seat."""
    rules: RuleSet
    weights: bytes = field(repr=False)
    weights_digest: str

    def bots(self) -> list[str | Strategy]:
        """The bots by seat; the net is loaded once."""
        if LEARNER not in self.table:
            return list(self.table)
        learner = Learned(weights_of(self.weights))
        return [learner if bot == LEARNER else bot for bot in self.table]


@dataclass(frozen=True)
class Lesson(_TableJob):
    """Games to learn from. They are one task: positions cannot be added up."""

    trace: float
    cuts_off: bool
    """Whether targets beyond a certain loss or win count as that: less noise, but no longer right on average."""

    def play(self, seed: int, first: int, blocks: int) -> tuple[Sums, list[Tally]]:
        """Features and targets of the positions after turns of the learner; after all turns in the first round."""
        match = make_match(self.bots(), self.rules, seed)
        recording = record_games(match, first, blocks)
        slots = features_of(match.books, recording.positions, recording.seat)
        learns = np.array([bot == LEARNER for bot in self.table])
        if learns.any():
            chances = chances_of(slots, weights_of(self.weights).net)
        else:
            chances, learns = np.full(len(slots), 1 / len(learns)), ~learns
        expected = np.where(learns[recording.seat], recording.expected, np.nan)
        if LEARNER not in self.table:
            expected[:] = np.nan
        targets = targets_of(chances, expected, recording.first, recording.wins, self.trace)
        ends = np.zeros(len(slots), np.bool_)
        ends[recording.first[1:] - 1] = True
        keep = learns[recording.seat] & ~ends  # who has won at the end is known without a net
        targets = np.clip(targets[keep], 0, 1) if self.cuts_off else targets[keep]
        return {
            "slots": packed(slots[keep]),
            "targets": np.rint(targets * np.float64(CHANCE_ONE)).astype(np.int64),
            "unfinished": np.array((~recording.tally.finished).sum(), np.int64),
        }, []


@dataclass(frozen=True)
class Test(_TableJob):
    """Blocks of games of the net against a bot in all other seats, with the same dice in each seat."""

    @property
    def games(self) -> int:
        """One per seat."""
        return len(self.table)

    def play(self, seed: int, first: int, blocks: int) -> tuple[Sums, list[Tally]]:
        """What the net won by block, as differences between tests are paired; like a lesson, it is one task."""
        won = np.zeros(blocks, np.int64)
        unfinished = 0
        bots, players = self.bots(), len(self.table)
        for seat in range(players):
            seated = [bots[(k - seat) % players] for k in range(players)]
            tally = play_games(make_match(seated, self.rules, seed), first, blocks)
            won += win_parts(tally.rank)[:, seat]
            unfinished += int((~tally.finished).sum())
        return {
            "won": won,
            "unfinished": np.array(unfinished, np.int64),
        }, []


def packed(slots: NDArray[np.int16]) -> NDArray[np.int64]:
    """(n, ⌈slots / 4⌉): features as 64-bit numbers."""
    wide = -(-slots.shape[1] // _PACKED) * _PACKED
    out = np.zeros((len(slots), wide), "<i2")
    out[:, : slots.shape[1]] = slots
    return out.view("<i8").astype(np.int64)


def unpacked(numbers: NDArray[np.int64]) -> NDArray[np.int16]:
    """The inverse of `packed`; padded with empty features."""
    return numbers.astype("<i8").view("<i2").astype(np.int16)
