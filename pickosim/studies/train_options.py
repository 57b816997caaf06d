"""The options of a training."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic.dataclasses import dataclass

from pickosim.amounts import parse_count
from pickosim.errors import PickosimError
from pickosim.studies.options import (
    CHECKED,
    OneRuleSet,
    Option,
    Players,
    Seed,
    StudyOptions,
    check_bot,
)

WEIGHTS = ".npz"
"""How the file of a champion's weights ends."""

MOST_ROUNDS = 100


def check_rounds(rounds: int) -> None:
    """Refuse numbers of rounds that make no sense."""
    if not 1 <= rounds <= MOST_ROUNDS:
        raise PickosimError(f"A training has 1 to {MOST_ROUNDS} rounds, not {rounds}.")


@dataclass(frozen=True, config=CHECKED)
class TrainOptions(StudyOptions):
    """Train a champion for a rule set and a number of players.

    It learns from games of `expected`, then round by round from its own. `champion:weights=FILE` plays the result.
    Tables: rounds.
    """

    kind: ClassVar[str] = "train"
    examples: ClassVar[tuple[str, ...]] = (
        "pickosim train --rules my_rules.toml --players 3 --out my_champion.npz",
        "pickosim train --rules extrawurm --players 4 --games 40k --rounds 8",
        "pickosim train --against expected --out answer_to_expected.npz",
    )

    rules: OneRuleSet = "classic"
    players: Players = 2
    games: Annotated[
        int | str,
        Option("Games per round.", "40k", metavar="NUMBER", check=parse_count),
    ] = "20k"
    rounds: Annotated[
        int,
        Option(
            "Rounds; the first is of games of `expected`, or of the bot of --against. With three or more players and "
            "without --against, one more calibrates the net.",
            8,
            metavar="NUMBER",
            check=check_rounds,
        ),
    ] = 6
    test_games: Annotated[
        int | str,
        Option(
            "Games per round that test it against `expected`, or the bot of --against.",
            "10k",
            metavar="NUMBER",
            check=parse_count,
        ),
    ] = "4k"
    seed: Seed = 0
    against: Annotated[
        str | None,
        Option(
            "Train a best response to this bot, which takes all other seats; it is also what tests are played against.",
            "champion",
            metavar="BOT",
            default="`expected`, `winner` and itself in lessons, `expected` in tests",
            check=check_bot,
        ),
    ] = field(default=None, kw_only=True)
    start: Annotated[
        str | Path | None,
        Option(
            "Weights to start from, instead of games of `expected`.",
            "my_champion.npz",
            metavar="FILE",
            default="none: the first round is of games of `expected`",
        ),
    ] = field(default=None, kw_only=True)
    out: Annotated[
        str | Path | None,
        Option(
            "File for the weights, e.g. my_champion.npz (its run folder is my_champion.run), or a folder for the run.",
            "my_champion.npz",
            metavar="FILE",
            default="weights.npz in a new run in runs/",
        ),
    ] = field(default=None, kw_only=True)

    @property
    def folder(self) -> Path | None:
        """The folder of the run, beside the file for the weights."""
        if self.out is None or Path(self.out).suffix != WEIGHTS:
            return super().folder
        return Path(self.out).with_suffix(".run")
