"""The training: rounds of games, each followed by a fit of the net and a test of its strength.

Round 0 is of games of `expected`, whose results are the targets. From then on the net plays: with two players mostly
against itself, with more at mixed tables, so that it is no best response to a single bot; unless that is what is asked
for, to estimate what can be gained against a bot. Each round is fitted to the positions of the last ones. After mixed
tables, one more round calibrates the net: it takes all seats, and only the scale and the shift of its logits are fitted.

A round's games need the net of the round before, so each is a stage of the run; the fit takes place between stages, and
is repeated when a run is resumed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY
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
from pickosim.bots.entrants import Entrant, make_entrants
from pickosim.columns import Frame, frames_by_name, percent
from pickosim.engine.rulebook import rulebook
from pickosim.engine.tally import PARTS
from pickosim.errors import PickosimError
from pickosim.files import file_digest, read_regular, write_whole
from pickosim.games.match import make_match
from pickosim.learning.features import layout_for
from pickosim.learning.fit import Fit, calibrated, new_parameters
from pickosim.learning.layers import LOGIT_ONE, Net
from pickosim.learning.nearest import adapted, is_related
from pickosim.learning.net import CHANCE_ONE, logits_of, rounded, widened
from pickosim.learning.weights import Weights, as_bytes, read_weights
from pickosim.rule_files import as_arguments, rules_text
from pickosim.runs.run import plan_digest
from pickosim.runs.tasks import Sums
from pickosim.stats.intervals import Moments, Rate, share_rate
from pickosim.studies.arms import Chunk
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
from pickosim.studies.study import (
    Frames,
    OneRuleSetStudy,
    about_unfinished,
    stored,
    study_function,
)
from pickosim.studies.train_lessons import LEARNER, TEACHER, Lesson, Test, unpacked

FRAMES = frames_by_name(
    Frame(
        "rounds",
        "One row per round: the games learned from, and the strength of the net after it.",
        "round games positions fit_error test_games win_share±",
    ),
)

SPARRING = "winner"
"""Takes part in mixed tables, besides `expected`."""

TRACE = 0.95
"""λ of the targets; 1 as long as the net knows little."""

KEPT = 3
"""Rounds whose positions a fit takes in."""

FIRST_EPOCHS, EPOCHS = 3, 2
FIRST_RATE, RATE, RATE_DECAY = 2e-3, 1e-3, 0.75
"""Rates of learning: of the first fit, of the second, and how they go on."""

MOST_ROUNDS = 100

WEIGHTS = ".npz"
"""How the file of a champion's weights ends."""

RUN = ".run"
"""How the folder of a training ends whose weights are copied to a file beside it."""

WEIGHTS_FILE = f"weights{WEIGHTS}"


def tables_of(
    players: int, number: int, against: str = "", started: bool = False
) -> list[tuple[tuple[str, ...], int]]:
    """The tables of a round, each with its share of the games in percent."""
    if number == 0 and not started:
        return [((against or TEACHER,) * players, 100)]
    if against:
        return [((LEARNER, *(against,) * (players - 1)), 100)]
    if players == 2:
        return [
            ((LEARNER, LEARNER), 80),
            ((LEARNER, TEACHER), 10),
            ((LEARNER, SPARRING), 10),
        ]
    rivals = tuple(TEACHER if seat % 2 else SPARRING for seat in range(players - 1))
    opposite = list(rivals)
    opposite[(players - 1) // 2] = LEARNER
    return [
        ((LEARNER,) * players, 30),
        ((LEARNER, *(TEACHER,) * (players - 1)), 30),
        ((LEARNER, *rivals), 20),
        ((LEARNER, *opposite), 20),
    ]


def _rounds(rounds: int) -> int:
    """A number of rounds that makes sense."""
    if not 1 <= rounds <= MOST_ROUNDS:
        raise PickosimError(f"A training has 1 to {MOST_ROUNDS} rounds, not {rounds}.")
    return rounds


@dataclass(frozen=True, config=CHECKED)
class Train(OneRuleSetStudy):
    """Train a champion for a rule set and a number of players.

    It learns from games of `expected`, then round by round from its own. `champion:weights=FILE` plays the result.
    Tables: rounds.
    """

    kind: ClassVar[str] = "train"
    sources: ClassVar[tuple[str, ...]] = ("studies.train",)
    frame_types: ClassVar = FRAMES
    main_frame: ClassVar[str] = "rounds"
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
            "Rounds; the first is of games of `expected`, or of the bot of --against. With three or more players and "
            "without --against, one more calibrates the net.",
            8,
            metavar="NUMBER",
        ),
    ] = 6
    test_games: Annotated[
        Count,
        Option(
            "Games per round that test it against `expected`, or the bot of --against.",
            "10k",
            metavar="NUMBER",
        ),
    ] = written("4k")
    seed: Seed = 0
    _: KW_ONLY
    against: Annotated[
        str | None,
        Loads(check_bot),
        Option(
            "Train a best response to this bot, which takes all other seats; it is also what tests are played against.",
            "champion",
            metavar="BOT",
            default_text="`expected`, `winner` and itself in lessons, `expected` in tests",
        ),
    ] = None
    start: Annotated[
        Parsed[str | Path | None, str | None],
        parsed_by(str),
        Option(
            "Weights to start from, instead of games of `expected`.",
            "my_champion.npz",
            metavar="FILE",
            default_text="none: the first round is of games of `expected`",
        ),
    ] = written(None)
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
        """The digest of the weights to start from when the run began; empty if there are none."""
        return "" if self.start is None else file_digest(Path(self.start))

    def start_weights(self) -> Weights | None:
        """The weights to start from, which must be as they were when the run began."""
        if self.start is None:
            return None
        path = Path(self.start)
        if not path.is_file():
            raise PickosimError(
                f"{path}, which the training started from, is not in {Path.cwd()}. Resume the run where it began."
            )
        if file_digest(path) != self.start_digest:
            raise PickosimError(
                f"{path} has changed since the run began. Restore it, or start a new run."
            )
        return read_weights(path)

    def check(self) -> None:
        """Refuse what cannot be played, and weights to start from that are for something else."""
        rulebook(
            self.rule_set, self.players
        )  # raises an error if the rules do not allow these seats
        for entrant in self.entrants:
            make_match([entrant.spec] * self.players, self.rule_set)  # unless it objects to them
        if self.start is not None:
            weights = read_weights(Path(self.start))
            if not is_related(weights, self.rule_set) or weights.players != self.players:
                raise PickosimError(
                    f"{self.start} is for {weights.rules.name} with {weights.players} players; start from weights for as many "
                    "players, and with or without the expansion as the rules are."
                )

    @property
    def title(self) -> str:
        """What is learned, in a line."""
        return f"Training for {self.players} players, rules {rules_text(self.rule_set)}, seed {self.seed}"

    @property
    def command(self) -> str:
        """The command of this training."""
        rules = " ".join(as_arguments(self.rule_set))
        against = f" --against {quote(self.against)}" if self.against else ""
        start = f" --start {quote(self.start)}" if self.start else ""
        return (
            f"pickosim train {rules} --players {self.players} --games {self.games} --rounds {self.rounds} "
            f"--test-games {self.test_games} --seed {self.seed}{against}{start}"
        )

    @property
    def rival(self) -> str:
        """The bot in all other seats of a test."""
        return self.entrants[0].spec

    @property
    def _all_rounds(self) -> int:
        """Those that are learned from, and where tables are mixed, one that calibrates."""
        return self.rounds + self._calibrates(self.rounds)

    def _calibrates(self, number: int) -> bool:
        """Whether a round calibrates the net, and does no more."""
        return number == self.rounds and self.players > 2 and not self.against

    def _tables(self, number: int) -> list[tuple[tuple[str, ...], int]]:
        if self._calibrates(number):
            return [((LEARNER,) * self.players, 100)]
        against = self.rival if self.against else ""
        return tables_of(self.players, number, against, self.start is not None)

    # ------------------------------------------------------------------------------------------ what is played

    @property
    def parts(self) -> int:
        """The lessons and tests of all rounds."""
        return self._all_rounds * self._parts_per_round

    @property
    def _parts_per_round(self) -> int:
        most = max(len(self._tables(number)) for number in range(2))
        return (most + 1) * self.players

    @property
    def all_games(self) -> int:
        """Lessons and tests of all rounds."""
        rounds = range(self._all_rounds)
        return sum(self._games_of(number) + self._games_per_test for number in rounds)

    @property
    def _blocks_per_test(self) -> int:
        """In each of its parts, of which there are as many as players."""
        return max(2, ceil(self.test_games / self.players**2))

    @property
    def _games_per_test(self) -> int:
        return self._blocks_per_test * self.players**2

    def stage(self, number: int, sums: Sequence[Sums]) -> list[Chunk]:
        """The test of the last round's net, and the lessons of the next round."""
        if number > self._all_rounds:
            return []
        tasks: list[Chunk] = []
        if number > 0:
            self._trainer.learn(number - 1, sums)
            tasks += self._tests(number - 1)
        if number < self._all_rounds:
            tasks += self._lessons(number)
        return tasks

    @cached_property
    def _trainer(self) -> _Trainer:
        return _Trainer(self)

    def _task(self, part: int, job: Lesson | Test, blocks: int) -> Chunk:
        """A part is one task."""
        return Chunk(part, job, self.seed, range(blocks), part)

    def _lessons(self, number: int) -> Iterator[Chunk]:
        """The games of a round: each table in all rotations of its seats."""
        part = number * self._parts_per_round
        weights, calibrates = self._trainer.weights, self._calibrates(number)
        exact = calibrates or (number <= 1 and self.start is None)
        for table, share in self._tables(number):
            games = ceil(self.games * share / (100 * self.players))
            for seat in range(self.players):
                lesson = Lesson(
                    self.entrants,
                    table[-seat:] + table[:-seat] if seat else table,
                    self.rule_set,
                    weights,
                    _digest(weights),
                    trace=1.0 if exact else TRACE,
                    cuts_off=not calibrates,
                )
                yield self._task(part, lesson, games)
                part += 1

    def _tests(self, number: int) -> Iterator[Chunk]:
        """The test of a round's net, in as many parts as there are players."""
        weights, table = self._trainer.weights, (LEARNER, *(self.rival,) * (self.players - 1))
        test = Test(self.entrants, table, self.rule_set, weights, _digest(weights))
        for k in range(self.players):
            part = (number + 1) * self._parts_per_round - self.players + k
            yield self._task(part, test, self._blocks_per_test)

    # ------------------------------------------------------------------------------------------------ results

    def _strength(self, number: int, sums: Sequence[Sums]) -> tuple[int, Rate] | None:
        """The games of a round's test and the share of them that the net won; None before it is played."""
        end = (number + 1) * self._parts_per_round
        tested = [part for part in sums[end - self.players : end] if part]
        if not tested:
            return None
        blocks, won, squares = (
            sum(int(part[name]) for part in tested) for name in ("blocks", "won", "won_squared")
        )
        moments = Moments.of(blocks, won, squares, PARTS * self.players, PARTS)
        return blocks * self.players, share_rate([moments])

    def frames(self, sums: Sequence[Sums]) -> Frames:
        """The rounds."""
        rows = []
        for number, (positions, error) in enumerate(self._trainer.history):
            tested = self._strength(number, sums)
            assert tested is not None
            games, share = tested
            rows.append(
                {
                    "round": number,
                    "games": self._games_of(number),
                    "positions": positions,
                    "fit_error": sqrt(error),
                    "test_games": games,
                    "win_share": share.value,
                    "win_share_low": share.low,
                    "win_share_high": share.high,
                }
            )
        return {"rounds": FRAMES["rounds"].build(rows)}

    def _games_of(self, number: int) -> int:
        each = (
            ceil(self.games * share / (100 * self.players)) for _, share in self._tables(number)
        )
        return self.players * sum(each)

    @property
    def leaves_files(self) -> bool:
        """The weights."""
        return True

    def files(self, sums: Sequence[Sums]) -> dict[str, bytes]:
        """The weights."""
        return {WEIGHTS_FILE: self._trainer.weights}

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

    def status(self, sums: Sequence[Sums]) -> str:
        """The strength after the last round that was tested."""
        for number in range(self._all_rounds - 1, -1, -1):
            if tested := self._strength(number, sums):
                return f"round {number}: {_share(tested[1])} against {self.rival}"
        return "round 0"

    def summary(self, sums: Sequence[Sums], frames: Frames) -> dict[str, Any]:
        """The strength at last."""
        tested = self._strength(self._all_rounds - 1, sums)
        assert tested is not None
        games, share = tested
        unfinished = sum(int(part["unfinished"]) for part in sums if part)
        rivals = f"`{self.rival}`" if self.players == 2 else f"{self.players - 1} × `{self.rival}`"
        learner = f"The best response to `{self.against}`" if self.against else "The trained net"
        return {
            "games": self.all_games,
            "unfinished": unfinished,
            "headline": f"{learner} wins {_share(share)} of {games:,} games against {rivals}; "
            f"{percent(1 / self.players)} would be even.",
            "sentences": [],
            "remarks": [
                *self._about_calibration(),
                f"The weights are in {WEIGHTS_FILE} of the run's folder, and in the file that --out names; "
                "champion:weights=FILE plays them.",
                *about_unfinished(unfinished),
            ],
        }

    def _about_calibration(self) -> list[str]:
        if self._all_rounds == self.rounds:
            return []
        return [
            f"Round {self.rounds} only calibrates the net, so that its win chances are right on average where it takes "
            "all seats. Its error is larger, as its targets are not cut off."
        ]


def _target(folder: Path) -> Path | None:
    """The file for the weights of a run in that folder, if one was named."""
    return folder.with_suffix(WEIGHTS) if folder.suffix == RUN else None


def _share(share: Rate) -> str:
    assert share.value is not None and share.low is not None and share.high is not None
    return f"{100 * share.value:.1f} ± {50 * (share.high - share.low):.1f} %"


def _digest(weights: bytes) -> str:
    return sha256(weights).hexdigest()[:16]


class _Trainer:
    """The net of a training, and what it has learned from."""

    def __init__(self, study: Train) -> None:
        self.study = study
        facts = layout_for(rulebook(study.rule_set, study.players)).facts
        start = study.start_weights()
        net = adapted(start, study.rule_set, study.players).net if start else None
        self.fit = Fit(widened(net) if net else new_parameters(facts, study.seed))
        self.seen = np.zeros(facts, np.int64)
        """How often each fact has been true; what the net that it starts from has learned counts too."""
        if net:
            self.seen += net.facts.any(axis=1)
        self.history: list[tuple[int, float]] = []
        """By round: positions learned from, and the mean squared error of the fit."""
        self.pool: list[tuple[NDArray[np.int16], NDArray[np.float32]]] = []
        self.weights = as_bytes(start) if start else b""
        self.net: Net
        """After the first round."""

    def learn(self, number: int, sums: Sequence[Sums]) -> None:
        """Fit the net to the positions of a round, and of those before."""
        if number < len(self.history):
            return
        study = self.study
        begin = number * study._parts_per_round
        lessons = sums[begin : begin + len(study._tables(number)) * study.players]
        slots = np.concatenate([unpacked(part["slots"]) for part in lessons])
        targets = np.concatenate([part["targets"] for part in lessons])
        new = slots, (targets / CHANCE_ONE).astype(np.float32)
        if study._calibrates(number):
            logits = logits_of(slots, self.net) / LOGIT_ONE
            self.fit.parameters, error = calibrated(self.fit.parameters, logits, new[1])
        else:
            self.seen += np.bincount(slots.reshape(-1), minlength=len(self.seen))
            error = self._fit(number, new)
        self.history.append((len(targets), error))
        self.net = rounded(self.fit.parameters)
        self.net.facts[self.seen == 0] = 0
        about = {
            "command": study.command,
            "seed": study.seed,
            "round": number,
            "run": plan_digest(study),
            "version": __version__,
        }
        self.weights = as_bytes(Weights(self.net, study.rule_set, study.players, about))

    def _fit(self, number: int, new: tuple[NDArray[np.int16], NDArray[np.float32]]) -> float:
        """Fit the net to new positions and those of the rounds before; returns the mean squared error."""
        study = self.study
        first = number == 0 and study.start is None
        # Positions of the first round, without a learner, are not kept.
        kept = [] if first or (number == 1 and study.start is None) else self.pool[1 - KEPT :]
        self.pool = [*kept, new]
        rate = FIRST_RATE if first else RATE * RATE_DECAY ** max(0, number - 1)
        return self.fit.run(
            np.concatenate([slots for slots, _ in self.pool]),
            np.concatenate([targets for _, targets in self.pool]),
            epochs=FIRST_EPOCHS if first else EPOCHS,
            rate=rate,
            last_rate=rate / 10,
            seed=study.seed + number,
        )


train = study_function(Train)
