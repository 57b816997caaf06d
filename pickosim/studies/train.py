"""The training: rounds of games, each followed by a fit of the net and a test of its strength.

The net plays against itself, unless a best response is asked for, to estimate what can be gained against a bot. Each round
is fitted to the positions of the last ones. Targets are every player's chances, by what the solver carries along the turns
(see `pickosim.learning.fit`).

Training starts from the nearest net of `champion`, if it is for as many players; else round 0 is of games of `expected`,
whose results are the targets. Every net is tested against that bar, the start itself first, with the same dice; rounds end
when none is better any more, and the best net is delivered. Its strength is measured with dice that no round was tested on.

A round's games need the net of the round before, so games and tests are stages of the run; the fit takes place between
them, and is repeated when a run is resumed. A lesson is recorded games as features and targets. They are sent as whole
numbers, like all sums: the features four to a number, the targets in parts of a sure win.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, field, replace
from dataclasses import dataclass as plain_dataclass
from functools import cached_property
from hashlib import sha256
from math import ceil, sqrt
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic.dataclasses import dataclass

from pickosim import __version__
from pickosim.amounts import listed
from pickosim.bots.loading import Entrant, load_bot, make_entrants
from pickosim.bots.strategy import Strategy
from pickosim.bots.view import After, FloatArray
from pickosim.columns import POINTS, Frame, Row, frames_by_name, percent
from pickosim.engine.results import Positions
from pickosim.engine.rulebook import rulebook
from pickosim.engine.tally import PARTS, Tally
from pickosim.errors import PickosimError
from pickosim.files import read_regular, write_whole
from pickosim.games.match import Match, make_match
from pickosim.games.played import Recording, record_games
from pickosim.learning.features import features_of, layout_for
from pickosim.learning.fit import Fit, in_turn, new_parameters, targets_of, with_rivals
from pickosim.learning.layers import Net, outputs_of
from pickosim.learning.net import CHANCE_ONE, rounded, widened
from pickosim.learning.weights import (
    Adapted,
    Learned,
    Weights,
    adapted,
    as_bytes,
    is_related,
    read_weights,
    weights_of,
)
from pickosim.rule_files import as_arguments
from pickosim.rules import RuleSet
from pickosim.runs.run import plan_digest
from pickosim.runs.tasks import Sums
from pickosim.stats.intervals import NO_RATE, Moments, Rate, mean_rate
from pickosim.studies.arms import Chunk, Job
from pickosim.studies.measures import rate_columns
from pickosim.studies.options import (
    CHECKED,
    Count,
    Loads,
    OneRuleSet,
    Option,
    Parsed,
    Players,
    Seed,
    check_bot,
    parsed_by,
    written,
)
from pickosim.studies.study import Frames, OneRuleSetStudy, stored, study_function

FRAMES = frames_by_name(
    Frame(
        "rounds",
        "One row per round: the games learned from, and the strength of the net after it.",
        "round games positions fit_error test_games win_share± difference± best",
        {"difference": "From the best net before, with the same dice; null for the first."},
        {"difference": POINTS},
    )
)

CHAMPION = "champion"
"""Its nets are what a training starts from."""

SPARRING = "winner"
"""The bar in final tests, besides `expected`."""

TRACE = 0.97
"""λ of the targets; 1 in the first two rounds of a net that began with nothing."""

KEPT = 3
"""Rounds whose positions a fit takes in."""

EPOCHS = 2
FIRST_RATE, RATE, RATE_DECAY, LAST = 2e-3, 1e-3, 0.8, 0.05
"""Rates of learning: of a first fit from nothing, of the next one, how they go on, and how far one falls during a fit."""

MOST_ROUNDS = 100

PATIENCE = 4
"""Rounds in a row that are not significantly better than the best before them, after which the training ends."""

TESTS, FINALS = 10**5, 2 * 10**5
"""Lanes of all tests of rounds, and of the final ones."""

AS_IT_IS = -1
"""The number of the round that only tests the net that the training starts from."""

NEAREST, NONE = "nearest", "none"
"""What to start from, if not a file."""

WEIGHTS = ".npz"
"""How the file of a champion's weights ends."""

RUN = ".run"
"""How the folder of a training ends whose weights are copied to a file beside it."""

WEIGHTS_FILE = f"weights{WEIGHTS}"


def table_of(
    players: int, number: int, against: str = "", started: bool = False
) -> tuple[str, ...]:
    """The table of a round."""
    if number == 0 and not started:
        return (against or TEACHER,) * players
    return (LEARNER, *(against or LEARNER,) * (players - 1))


def _rounds(rounds: int) -> int:
    """A number of rounds that makes sense."""
    if not 1 <= rounds <= MOST_ROUNDS:
        raise PickosimError(f"A training has 1 to {MOST_ROUNDS} rounds, not {rounds}.")
    return rounds


# ------------------------------------------------------------------- lessons and tests, played by workers

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
    chances = np.column_stack([net.win_chances(positions, each) for each in seats])
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


def luck_of(recording: Recording, bots: Sequence[Strategy]) -> NDArray[np.float64]:
    """(N, P): by how much the dice of each turn changed every player's chance, by seat; NaN for bots without a net."""
    nets = [
        adapted(bot.weights, recording.rules, len(bots)) if isinstance(bot, Learned) else None
        for bot in bots
    ]
    before = in_turn(recording.chances, -recording.seat)
    return chances_after_turns(recording, nets) - before


@plain_dataclass(frozen=True)
class _TableJob(Job):
    """Games at a table with the net in training, which is sent with the job."""

    table: tuple[str, ...]
    """Bots by seat."""
    rules: RuleSet
    weights: bytes = field(repr=False)
    weights_digest: str
    start: bytes = field(default=b"", repr=False, kw_only=True)
    """The weights of the net that the training started from, if it takes part."""

    def match(self, seed: int, moved: int = 0) -> Match:
        """The match with all bots so many seats on; what a net is called is where `way_on` keeps it."""
        nets = {LEARNER: self.weights, START: self.start}
        nets = {name: content for name, content in nets.items() if name in self.table}
        bots = {name: _Learner(weights_of(content)) for name, content in nets.items()}
        specs = {name: f"{CHAMPION}:weights={_net_file(content)}" for name, content in nets.items()}
        seats = [self.table[(seat - moved) % len(self.table)] for seat in range(len(self.table))]
        match = make_match([bots.get(bot, bot) for bot in seats], self.rules, seed)
        return replace(match, specs=tuple(specs.get(bot, bot) for bot in seats))


@plain_dataclass(frozen=True)
class Lesson(_TableJob):
    """Games to learn from. They are one task: positions cannot be added up."""

    trace: float

    def play(self, seed: int, first: int, blocks: int) -> tuple[Sums, list[Tally]]:
        """Features and targets of the positions after turns of the learner; after all turns in the first round."""
        match = self.match(seed)
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


@plain_dataclass(frozen=True)
class Test(_TableJob):
    """Blocks of games of the net against a bot in all other seats, with the same dice in each seat."""

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
        for seat in range(len(self.table)):
            match = self.match(seed, seat)
            recording = record_games(match, first, blocks)
            luck = np.nan_to_num(luck_of(recording, match.strategies)[:, seat])
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


# ---------------------------------------------------------------------------------------- the training


@dataclass(frozen=True, config=CHECKED)
class Train(OneRuleSetStudy):
    """Train a champion for a rule set and a number of players.

    It learns from games of `expected`, then round by round from its own. `champion:weights=FILE` plays the result.
    Tables: rounds.
    """

    kind: ClassVar[str] = "train"
    sources: ClassVar[tuple[str, ...]] = ("studies.train",)
    frame_types: ClassVar = FRAMES
    examples: ClassVar[tuple[str, ...]] = (
        "pickosim train --rules my_rules.toml --players 3 --out my_champion.npz",
        "pickosim train --rules extrawurm --players 4 --games 40k --rounds 8",
        "pickosim train --against expected --out answer_to_expected.npz",
    )

    rules: OneRuleSet = written("classic")
    players: Players = 2
    games: Annotated[Count, Option("Games per round.", "40k", metavar="NUMBER")] = written("20k")
    rounds: Annotated[
        int,
        parsed_by(_rounds),
        Option(
            "Maximum number of rounds; the training ends when four in a row are not better.",
            8,
            metavar="NUMBER",
        ),
    ] = 6
    test_games: Annotated[
        Count,
        Option(
            "Games per round that test it against the net it started from, else `expected`, or the bot of --against.",
            "40k",
            metavar="NUMBER",
        ),
    ] = written("20k")
    final_games: Annotated[
        Count,
        Option("Games that measure the best net in the end, per bot.", "40k", metavar="NUMBER"),
    ] = written("10k")
    seed: Seed = 0
    _: KW_ONLY
    against: Annotated[
        str | None,
        Loads(check_bot),
        Option(
            "Train a best response to this bot, which takes all other seats; it is also what tests are played against.",
            "champion",
            metavar="BOT",
            default_text="itself in lessons; the net it started from in tests, else `expected`",
        ),
    ] = None
    start: Annotated[
        Parsed[str | Path, str],
        parsed_by(str),
        Option(
            "Weights to start from; `none`: the first round is of games of `expected`, or of the bot of --against.",
            "my_champion.npz",
            metavar="FILE|none",
            default_text="those of the nearest net; none with six or seven players",
        ),
    ] = written(NEAREST)
    out: Annotated[
        str | Path | None,
        Option(
            "File for the weights, e.g. my_champion.npz (its run folder is my_champion.run), or a folder for the run.",
            "my_champion.npz",
            metavar="FILE",
            default_text="weights.npz in a new run in runs/",
        ),
    ] = None

    @property
    def folder(self) -> Path | None:
        """The folder of the run, beside the file for the weights."""
        if self.out is None or Path(self.out).suffix != WEIGHTS:
            return super().folder
        return Path(self.out).with_suffix(RUN)

    @stored
    def entrants(self) -> tuple[Entrant, ...]:
        """The bots that take part, first the one that tests are played against."""
        return tuple(make_entrants([TEACHER, SPARRING] if self.against is None else [self.against]))

    @stored
    def start_digest(self) -> str:
        """The digest of the net to start from when the run began; empty if there is none."""
        return _net_digest(self._start_now())

    def _start_now(self) -> Weights | None:
        """The weights to start from."""
        if self.start == NONE:
            return None
        if self.start != NEAREST:
            return read_weights(Path(self.start))
        weights: Weights = load_bot(CHAMPION).weights_for(self.rule_set, self.players)  # type: ignore[attr-defined]
        return weights if weights.players == self.players else None

    def start_weights(self) -> Weights | None:
        """The weights to start from, which must be as they were when the run began."""
        if self.start not in (NEAREST, NONE) and not Path(self.start).is_file():
            raise PickosimError(
                f"{self.start}, which the training started from, is not in {Path.cwd()}. Resume the run where it began."
            )
        weights = self._start_now()
        if weights and _net_digest(weights) != self.start_digest:
            raise PickosimError(
                f"{self.start} has changed since the run began. Restore it, or start a new run."
            )
        return weights

    def check(self) -> None:
        """Refuse what cannot be played, and weights to start from that are for something else."""
        rulebook(
            self.rule_set, self.players
        )  # raises an error if the rules do not allow these seats
        for entrant in self.entrants:
            make_match([entrant.spec] * self.players, self.rule_set)  # unless it objects to them
        weights = self._start_now()
        if weights and not (is_related(weights, self.rule_set) and weights.players == self.players):
            raise PickosimError(
                f"{self.start} is for {weights.rules.name} with {weights.players} players; start from weights for as many "
                "players, and with or without the expansion as the rules are."
            )

    @property
    def title(self) -> str:
        """What is learned, in a line."""
        return self.titled("Training")

    @property
    def command(self) -> str:
        """The command of this training."""
        rules = " ".join(as_arguments(self.rule_set))
        against = f" --against {quote(self.against)}" if self.against else ""
        start = "" if self.start == NEAREST else f" --start {quote(self.start)}"
        return (
            f"pickosim train {rules} --players {self.players} --games {self.games} --rounds {self.rounds} "
            f"--test-games {self.test_games} --final-games {self.final_games} --seed {self.seed}{against}{start}"
        )

    @property
    def rival(self) -> str:
        """The first bot of the final tests."""
        return self.entrants[0].spec

    @property
    def _bar(self) -> str:
        """Who takes all other seats of the tests of rounds."""
        return START if self.start_digest and not self.against else self.rival

    # ------------------------------------------------------------------------------------------ what is played

    @property
    def parts(self) -> int:
        """The lessons and tests of all rounds, the test of the start, and the final tests."""
        return self._first_final + (len(self.entrants) + 1) * self.players

    @property
    def _parts_per_round(self) -> int:
        return 2 * self.players

    @property
    def _first_final(self) -> int:
        return self.rounds * self._parts_per_round + self.players

    def _first_test(self, number: int) -> int:
        """The first part of the test of a round, or of the start."""
        if number == AS_IT_IS:
            return self._first_final - self.players
        return (number + 1) * self._parts_per_round - self.players

    def stage(self, number: int, sums: Sequence[Sums]) -> list[Chunk]:
        """Games to learn from, and then the test, round by round; then the final tests."""
        which, has_played = divmod(number, 2)
        rounds = self._rounds_of(sums)
        if number > 2 * rounds:
            return []
        if number == 2 * rounds:
            return self._finals(sums)
        if has_played:
            self._trainer.learn(which, sums)
            return self._test(self._bar, self._trainer.weights[which], self._first_test(which))
        lessons = list(self._lessons(which))
        if number == 0 and self._trainer.start:
            lessons += self._test(self._bar, self._trainer.start, self._first_test(AS_IT_IS))
        return lessons

    @cached_property
    def _trainer(self) -> _Trainer:
        return _Trainer(self)

    def _lessons(self, number: int) -> Iterator[Chunk]:
        """The games of a round: its table in all rotations of its seats."""
        trainer, against = self._trainer, self.rival if self.against else ""
        weights = trainer.weights[-1] if trainer.weights else trainer.start
        table = table_of(self.players, number, against, bool(self.start_digest))
        exact = number <= 1 and not self.start_digest
        for seat in range(self.players):
            lesson = Lesson(
                self.entrants,
                table[-seat:] + table[:-seat] if seat else table,
                self.rule_set,
                weights,
                _digest(weights),
                trace=1.0 if exact else TRACE,
            )
            part = number * self._parts_per_round + seat
            yield Chunk(part, lesson, self.seed, range(self._games_per_part), part)

    @property
    def _games_per_part(self) -> int:
        return ceil(self.games / self.players)

    def _test(self, rival: str, weights: bytes, first: int, lane: int = TESTS) -> list[Chunk]:
        """A net against a bot in all other seats, in as many parts as there are players; a lane has the same dice."""
        games = self.test_games if lane == TESTS else self.final_games
        blocks = range(max(2, ceil(games / self.players**2)))
        table = (LEARNER, *(rival,) * (self.players - 1))
        start = self._trainer.start if rival == START else b""
        job = Test(self.entrants, table, self.rule_set, weights, _digest(weights), start=start)
        return [_Again(lane + k, job, self.seed, blocks, first + k) for k in range(self.players)]

    def _finals(self, sums: Sequence[Sums]) -> list[Chunk]:
        """The delivered net against each bar, and the one that it started from against the first."""
        delivered = self._best(sums)
        matches = [(bar.spec, self._weights_of(delivered)) for bar in self.entrants]
        if self._trainer.start and delivered != AS_IT_IS:
            matches.append((self.rival, self._trainer.start))
        return [
            chunk
            for k, match in enumerate(matches)
            for chunk in self._test(*match, self._first_final + k * self.players, FINALS)
        ]

    # ------------------------------------------------------------------------------------------------ results

    def _won(self, sums: Sequence[Sums], first: int) -> NDArray[np.int64] | None:
        """(blocks,): what a net won in a test that begins with that part; None if it was not played."""
        parts = sums[first : first + self.players]
        return np.concatenate([part["won"] for part in parts]) if all(parts) else None

    def _tested(self, sums: Sequence[Sums]) -> dict[int, NDArray[np.int64]]:
        """What the nets won in their tests by round, the start first."""
        rounds = range(AS_IT_IS, self.rounds)
        won = {number: self._won(sums, self._first_test(number)) for number in rounds}
        return {number: test for number, test in won.items() if test is not None}

    def _differences(self, sums: Sequence[Sums]) -> dict[int, Rate]:
        """By how much each round is better than the best one before it, the start among them."""
        best, found = None, {}
        for number, won in self._tested(sums).items():
            found[number] = NO_RATE if best is None else mean_rate([self._moments(won - best)])
            best = won if best is None or won.sum() > best.sum() else best
        return found

    def _rounds_of(self, sums: Sequence[Sums]) -> int:
        """How many rounds there are to learn from, as far as is known."""
        idle = 0
        for number, better in self._differences(sums).items():
            idle = 0 if better.low is None or better.low > 0 else idle + 1
            if idle == PATIENCE and number < self.rounds:
                return number + 1
        return self.rounds

    def _best(self, sums: Sequence[Sums]) -> int:
        """The round whose net won most in its test, or the start."""
        tested = {number: int(won.sum()) for number, won in self._tested(sums).items()}
        return max(tested, key=lambda number: (tested[number], -number))

    def _weights_of(self, number: int) -> bytes:
        trainer = self._trainer
        return trainer.start if number == AS_IT_IS else trainer.weights[number]

    def _moments(self, won: NDArray[np.int64]) -> Moments:
        return Moments.of(len(won), won.sum(), won @ won, PARTS * self.players, PARTS)

    def rows(self, sums: Sequence[Sums]) -> dict[str, list[Row]]:
        """The rounds."""
        differences, delivered = self._differences(sums), self._best(sums)
        rows = []
        for number, won in self._tested(sums).items():
            row: Row = {"round": "as it is", "games": 0}
            if number != AS_IT_IS:
                positions, error = self._trainer.history[number]
                row = {"round": str(number), "games": self.players * self._games_per_part}
                row |= {"positions": positions, "fit_error": sqrt(error)}
            rows.append(
                {
                    **row,
                    "test_games": len(won) * self.players,
                    **rate_columns("win_share", mean_rate([self._moments(won)])),
                    **rate_columns("difference", differences[number]),
                    "best": number == delivered,
                }
            )
        return {"rounds": rows}

    @property
    def leaves_files(self) -> bool:
        """The weights."""
        return True

    def files(self, sums: Sequence[Sums]) -> dict[str, bytes]:
        """The weights."""
        return {WEIGHTS_FILE: self._weights_of(self._best(sums))}

    def check_target(self, folder: Path, run: str) -> None:
        """Refuse to replace what is no file, or not the weights of this very training."""
        target = _target(folder)
        if target is None or not os.path.lexists(target):
            return
        if not stat.S_ISREG(target.lstat().st_mode):
            raise PickosimError(f"{target} is not a file; name another with --out.")
        try:
            is_own = read_weights(target).training.get("run") == run
        except PickosimError:
            is_own = False
        if not is_own:
            raise PickosimError(
                f"{target} exists and would be overwritten by the new weights; move it, or name another file with --out."
            )

    def deliver(self, folder: Path, run: str) -> None:
        """Copy the weights to where they were asked for."""
        self.check_target(folder, run)
        target = _target(folder)
        if target is not None:
            write_whole(target, read_regular(folder / WEIGHTS_FILE))

    def way_on(self, bot: str, folder: Path) -> str:
        """How to see the game in which a bot failed: its nets are kept."""
        if not bot:
            return ""
        for content in filter(None, [self._trainer.start, *self._trainer.weights]):
            write_whole(folder / _net_file(content), content)
        return f"The nets of that game: cp {quote(str(folder))}/net-*.npz ."

    def status(self, sums: Sequence[Sums]) -> str:
        """The strength after the last round that was tested."""
        tested = self._tested(sums)
        if not tested:
            return "round 0"
        number, won = list(tested.items())[-1]
        name = "as it is" if number == AS_IT_IS else f"round {number}"
        bar = "the net it started from" if self._bar == START else self._bar
        return f"{name}: {_share(mean_rate([self._moments(won)]))} against {bar}"

    def findings(self, sums: Sequence[Sums], frames: Frames) -> dict[str, Any]:
        """The strength at last."""
        return {"headline": self._headline(sums)}

    def remarks(self, sums: Sequence[Sums], frames: Frames) -> Iterator[str]:
        """What it started from, and where the weights are."""
        weights = self.start_weights()
        if weights is not None:
            net = weights.described(self.rule_set, self.players)
            yield f"It started from {net or 'the net for these rules'}."
        elif self.start == NEAREST:
            yield f"It started from nothing, as no net is for {self.players} players."
        yield (
            f"The weights are in {WEIGHTS_FILE} of the run's folder, and in the file that --out names; "
            "champion:weights=FILE plays them."
        )

    def _headline(self, sums: Sequence[Sums]) -> str:
        """How strong the net is, and how much of that it has learned, by games with dice that no round was tested on."""
        tests = range(self._first_final, self.parts, self.players)
        *bars, start = (self._won(sums, first) for first in tests)
        shares = [mean_rate([self._moments(test)]) for test in bars if test is not None]
        rivals = "" if self.players == 2 else f"{self.players - 1} × "
        wins = listed(
            [
                f"{_share(share)} against {rivals}`{bar.spec}`"
                for share, bar in zip(shares, self.entrants, strict=True)
            ]
        )
        even = "" if self.players == 2 else f" ({percent(1 / self.players)} would be even)"
        net = f"The best response to `{self.against}`" if self.against else "The trained net"
        text = f"{net} wins {wins}{even}"
        if start is not None and bars[0] is not None:
            more = mean_rate([self._moments(bars[0] - start)])
            assert more.value is not None
            word = "more" if more.value >= 0 else "less"
            text += f"; {100 * abs(more.value):.1f} ± {100 * more.half:.1f} points {word} than the net it started from"
        elif self.start_digest:
            text += "; no round was better than the net it started from, which is delivered"
        low = shares[-1].low
        if not self.against and low is not None and low <= 1 / self.players:
            return f"No better than `{SPARRING}`: nothing was learned. {text}."
        return f"{text}."


class _Again(Chunk):
    """A test, whose dice are those of others."""

    @property
    def name(self) -> str:
        """Its part, lane and blocks."""
        return f"{self.part:07d}-{super().name}"


def _target(folder: Path) -> Path | None:
    """The file for the weights of a run in that folder, if one was named."""
    return folder.with_suffix(WEIGHTS) if folder.suffix == RUN else None


def _share(share: Rate) -> str:
    assert share.value is not None
    return f"{100 * share.value:.1f} % ± {100 * share.half:.1f}"


def _digest(weights: bytes) -> str:
    return sha256(weights).hexdigest()[:16]


def _net_file(weights: bytes) -> str:
    return f"net-{_digest(weights)[:8]}.npz"


def _net_digest(weights: Weights | None) -> str:
    """The digest of a net; empty if there is none."""
    return _digest(b"".join(array.tobytes() for array in weights.net)) if weights else ""


class _Trainer:
    """The net of a training, and what it has learned from."""

    def __init__(self, study: Train) -> None:
        self.study = study
        facts = layout_for(rulebook(study.rule_set, study.players)).facts
        start = study.start_weights()
        net = adapted(start, study.rule_set, study.players).net if start else None
        if net:
            parameters = with_rivals(widened(net), study.players)
        else:
            parameters = new_parameters(facts, study.players, study.seed)
        self.fit = Fit(parameters)
        self.seen = np.zeros(facts, np.int64)
        """How often each fact has been true; what the net that it starts from has learned counts too."""
        if net:
            self.seen += net.facts.any(axis=1)
        self.history: list[tuple[int, float]] = []
        """By round: positions learned from, and the mean squared error of the fit."""
        self.pool: list[tuple[NDArray[np.int16], NDArray[np.float32]]] = []
        self.start = b"" if net is None else self._packed(net, AS_IT_IS)
        """The weights of the net that it starts from, by these rules; empty if there is none."""
        self.weights: list[bytes] = []
        """After each round."""

    def learn(self, number: int, sums: Sequence[Sums]) -> None:
        """Fit the net to the positions of a round, and of those before."""
        if number < len(self.history):
            return
        study = self.study
        begin = number * study._parts_per_round
        lessons = sums[begin : begin + study.players]
        slots = np.concatenate([unpacked(part["slots"]) for part in lessons])
        targets = np.concatenate([part["targets"] for part in lessons])
        targets = targets.reshape(-1, outputs_of(study.players))
        self.seen += np.bincount(slots.reshape(-1), minlength=len(self.seen))
        error = self._fit(number, (slots, (targets / CHANCE_ONE).astype(np.float32)))
        self.history.append((len(targets), error))
        net = rounded(self.fit.parameters)
        net.facts[self.seen == 0] = 0
        self.weights.append(self._packed(net, number))

    def _packed(self, net: Net, number: int) -> bytes:
        study = self.study
        about = {
            "command": study.command,
            "seed": study.seed,
            "round": number,
            "run": plan_digest(study),
            "version": __version__,
        }
        return as_bytes(Weights(net, study.rule_set, study.players, about))

    def _fit(self, number: int, new: tuple[NDArray[np.int16], NDArray[np.float32]]) -> float:
        """Fit the net to new positions and those of the rounds before; returns the mean squared error."""
        study = self.study
        first = number == 0 and not self.start
        # Positions of the first round, without a learner, are not kept.
        kept = [] if first or (number == 1 and not self.start) else self.pool[1 - KEPT :]
        self.pool = [*kept, new]
        rate = FIRST_RATE if first else RATE * RATE_DECAY ** (number - (not self.start))
        return self.fit.run(
            np.concatenate([slots for slots, _ in self.pool]),
            np.concatenate([targets for _, targets in self.pool]),
            epochs=EPOCHS,
            rate=rate,
            last_rate=rate * LAST,
            seed=study.seed + number,
        )


train = study_function(Train)
