"""The options of a calibration."""

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
class CalibrateOptions(StudyOptions):
    """Compare the champion's win chances with its games.

    It takes all seats. After every turn, the chance that it gives the player who has just moved is compared with how
    often that player wins, and with what the solver expects of the next turn.
    Tables: deciles, errors, by_lead.
    """

    kind: ClassVar[str] = "calibrate"
    examples: ClassVar[tuple[str, ...]] = (
        "pickosim calibrate --players 2 --games 100k",
        "pickosim calibrate champion:weights=my_champion.npz --rules my_rules.toml --players 3",
    )

    bot: Annotated[
        Bot,
        Option(
            "The champion, with its weights if they are your own.",
            "champion:weights=my_champion.npz",
            metavar="BOT",
            positional=True,
            check=check_bot,
            hint=BOT_HINT,
        ),
    ] = "champion"
    rules: OneRuleSet = "classic"
    players: Players = 2
    games: Annotated[
        int | str, Option("Games, e.g. 100k.", "100k", metavar="NUMBER", check=parse_count)
    ] = "20k"
    seed: Seed = 0
