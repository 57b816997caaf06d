"""The options of a ranking."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic.dataclasses import dataclass

from pickosim.amounts import parse_count
from pickosim.studies.options import (
    BOT_HINT,
    CHECKED,
    Bot,
    OneRuleSet,
    Option,
    Players,
    Seed,
    StudyOptions,
    check_bot,
)


@dataclass(frozen=True, config=CHECKED)
class RankOptions(StudyOptions):
    """Rank a bot among the built-in ones.

    It plays against all of them, and gets a rating on the scale on which theirs are fixed (`eager` is 1500).
    Tables: ladder, rivals.
    """

    kind: ClassVar[str] = "rank"
    examples: ClassVar[tuple[str, ...]] = (
        "pickosim rank my_bot.py",
        "pickosim rank threshold:target=24 --rules extrawurm --players 4",
    )

    bot: Annotated[
        Bot,
        Option(
            "The bot, e.g. my_bot.py or threshold:target=24.",
            "my_bot.py",
            metavar="BOT",
            positional=True,
            check=check_bot,
            hint=BOT_HINT,
        ),
    ]
    rules: OneRuleSet = "classic"
    players: Players = 2
    games: Annotated[
        int | str,
        Option(
            "Games in all, e.g. 20k; more make the rating more certain.",
            "50k",
            metavar="NUMBER",
            check=parse_count,
        ),
    ] = "20k"
    seed: Seed = 0
