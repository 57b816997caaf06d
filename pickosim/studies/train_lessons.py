"""Lessons and tests: the games of a training, played by workers, and what they send back.

A lesson is recorded games as features and targets. They are sent as whole numbers, like all sums: the features four to
a number, the targets in parts of a sure win.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pickosim.bots.strategy import Strategy
from pickosim.bots.view import After, FloatArray
from pickosim.engine.results import Positions
from pickosim.engine.tally import PARTS, Tally
from pickosim.games.match import make_match
from pickosim.games.recording import Recording, record_games
from pickosim.learning.features import features_of
from pickosim.learning.fit import in_turn, targets_of
from pickosim.learning.layers import outputs_of
from pickosim.learning.net import CHANCE_ONE
from pickosim.learning.weights import Adapted, Learned, adapted, weights_of
from pickosim.rules import RuleSet
from pickosim.runs.tasks import Sums
from pickosim.studies.arms import Job

LEARNER = "learner"
"""Stands for the net in training at a table of bots."""

START = "start"
"""The same for the net that the training started from."""

TEACHER = "expected"
"""Plays the first round if there is no net to start from."""

_PACKED = 4
"""Features in a number of 64 bits."""


_LEAST = 1e-9
"""The least that a rival's chance counts, so that something is shared where nobody has any."""


def asked_chances(net: Adapted, positions: Positions, seat: int) -> NDArray[np.float64]:
    """(m, P): every player's chance to win, from the one at `seat` on, who has just moved, by any net.

    One that does not know it is asked for every player as if that one had just moved; rivals share what the mover leaves.
    """
    if (known := net.all_chances(positions, seat)) is not None:
        return known
    seats = [(seat + place) % net.players for place in range(net.players)]
    chances = np.column_stack([net.win_chances(positions, one) for one in seats])
    rivals = np.maximum(chances[:, 1:], _LEAST)
    chances[:, 1:] = (1 - chances[:, :1]) * rivals / rivals.sum(axis=1, keepdims=True)
    return chances


class _Learner(Learned):
    """A net whose lessons need every player's chance."""

    def chances(self, after: After) -> FloatArray:
        net = adapted(self.weights, after.rules, after.players)
        return asked_chances(net, after._table, after.seat)


def chances_after_turns(
    recording: Recording, nets: Sequence[Adapted | None]
) -> NDArray[np.float64]:
    """(N, P): every player's chance after each turn, by seat, as the net of the player who had the turn says; NaN if it
    has none.
    """
    said, mover = np.full((len(recording.positions), len(nets)), np.nan), recording.seat
    for seat, net in enumerate(nets):
        if net is not None:
            rows = np.flatnonzero(mover == seat)
            said[rows] = asked_chances(net, recording.positions[rows], seat)
    return in_turn(said, -mover)


def luck_of(recording: Recording, bots: Sequence[str | Strategy]) -> NDArray[np.float64]:
    """(N, P): by how much the dice of each turn changed every player's chance, by seat; NaN for bots without a net."""
    nets = [
        adapted(bot.weights, recording.rules, len(bots)) if isinstance(bot, Learned) else None
        for bot in bots
    ]
    before = in_turn(recording.chances, -recording.seat)
    return chances_after_turns(recording, nets) - before


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
        nets = {LEARNER: self.weights, START: self.start_weights}
        bots = {name: _Learner(weights_of(nets[name])) for name in set(self.table) & set(nets)}
        return [bots.get(bot, bot) for bot in self.table]

    @property
    def start_weights(self) -> bytes:
        """The weights of the net that the training started from, if it takes part."""
        return b""


@dataclass(frozen=True)
class Lesson(_TableJob):
    """Games to learn from. They are one task: positions cannot be added up."""

    trace: float

    def play(self, seed: int, first: int, blocks: int) -> tuple[Sums, list[Tally]]:
        """Features and targets of the positions after turns of the learner; after all turns in the first round."""
        match = make_match(self.bots(), self.rules, seed)
        recording = record_games(match, first, blocks)
        slots = features_of(match.books, recording.positions, recording.seat)
        learns = np.array([bot == LEARNER for bot in self.table])
        seat, by_seat = recording.seat, np.full((len(slots), len(learns)), 1 / len(learns))
        expected = np.full_like(by_seat, np.nan)
        if learns.any():
            net = adapted(weights_of(self.weights), self.rules, len(learns))
            by_seat = chances_after_turns(recording, [net] * len(learns))
            expected = in_turn(recording.chances, -seat)
        else:
            learns = ~learns
        targets = targets_of(by_seat, expected, recording.first, recording.wins, self.trace)
        ends = np.zeros(len(slots), np.bool_)
        ends[recording.first[1:] - 1] = True
        keep = learns[seat] & ~ends  # who has won at the end is known without a net
        targets = in_turn(targets, seat)[keep, : outputs_of(len(learns))]
        return {
            "slots": packed(slots[keep]),
            "targets": np.rint(targets * np.float64(CHANCE_ONE)).astype(np.int64),
            "unfinished": np.array((~recording.tally.finished).sum(), np.int64),
        }, []


@dataclass(frozen=True)
class Test(_TableJob):
    """Blocks of games of the net against a bot in all other seats, with the same dice in each seat."""

    start: bytes = field(default=b"", repr=False)

    @property
    def start_weights(self) -> bytes:
        return self.start

    @property
    def games(self) -> int:
        """One per seat."""
        return len(self.table)

    def play(self, seed: int, first: int, blocks: int) -> tuple[Sums, list[Tally]]:
        """What the net won by block, less the luck of the turns of nets; by block, as differences between tests are paired.

        Luck is by how much a turn changed the chances by the net that played it: zero on average, so that the same games
        say more. Like a lesson, it is one task.
        """
        won = np.zeros(blocks)
        unfinished = 0
        bots, players = self.bots(), len(self.table)
        for seat in range(players):
            seated = [bots[(k - seat) % players] for k in range(players)]
            recording = record_games(make_match(seated, self.rules, seed), first, blocks)
            luck = np.nan_to_num(luck_of(recording, seated)[:, seat])
            won += recording.wins[:, seat] - np.bincount(recording.game, luck, blocks)
            unfinished += int((~recording.tally.finished).sum())
        return {
            "won": np.rint(PARTS * won).astype(np.int64),
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
