"""The options of a balance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Annotated, ClassVar, Literal

from pydantic.dataclasses import dataclass

from pickosim.amounts import parse_count, parse_share, split_list
from pickosim.errors import PickosimError, suggest
from pickosim.rules import SPECIALISTS
from pickosim.studies.options import (
    CHECKED,
    OneRuleSet,
    Option,
    OptionalBots,
    PlayerCounts,
    Seed,
    StudyOptions,
    check_share,
    written,
)

DEFAULT_GAMES, DEFAULT_CAP = "10k", "1M"

STRONGEST = ("champion", "winner")
"""The strongest bots there are, the best first: the verdict on the specialists is that of the one that can play."""

LEVELS = ("eager", "cautious")
"""Levels of play that are weighed by default, besides the strongest."""


def specialist_list(given: str | Sequence[str]) -> list[str]:
    """Specialists; a text separates them by commas."""
    return split_list(given)


def check_specialists(given: str | Sequence[str]) -> None:
    """Refuse a specialist that does not exist."""
    names = specialist_list(given)
    if not names:
        raise PickosimError("Name one specialist at least.")
    for name in names:
        if name not in SPECIALISTS:
            raise PickosimError(
                f'No specialist is named "{name}"'
                + (suggest(name, SPECIALISTS) or f"; there are {', '.join(SPECIALISTS)}.")
            )


def check_band(given: str | float) -> float:
    """A band as a share."""
    return parse_share(given, "A band")


@dataclass(frozen=True, config=CHECKED)
class BalanceOptions(StudyOptions):
    """Measure what each specialist is worth.

    Ordinary games are branched whenever a specialist is gained, and played on with it and without it, with the same dice.
    Tables: pickups, pickups_by; if asked for sensitivity.
    """

    kind: ClassVar[str] = "balance"
    examples: ClassVar[tuple[str, ...]] = (
        "pickosim balance --players 4 --bots eager",
        "pickosim balance --specialists weasel,raven --precision 0.3%",
    )

    rules: OneRuleSet = written("extrawurm")
    bots: Annotated[
        OptionalBots,
        Option(
            "Levels of play: each of these bots takes all seats; `all` are the built-in ones.",
            ["eager", "cautious"],
            metavar="BOT,…",
            default_text=f"{','.join(LEVELS)} and {STRONGEST[0]}; {STRONGEST[1]} where that cannot play",
        ),
    ] = written(None)
    players: PlayerCounts = written(4)
    games: Annotated[
        int | str | None,
        Option(
            "Ordinary games for each level and number of players, every pick-up of which is weighed, e.g. 50k; "
            "with --precision, the cap.",
            "50k",
            metavar="NUMBER",
            default_text=f"{DEFAULT_GAMES}; as a cap {DEFAULT_CAP}",
            check=parse_count,
        ),
    ] = None
    seed: Seed = 0
    _: KW_ONLY
    specialists: Annotated[
        str | Sequence[str] | None,
        Option(
            "Those to weigh, e.g. raven,apple.",
            ["raven", "apple"],
            metavar="NAME,…",
            default_text="all of the rules",
            check=check_specialists,
        ),
    ] = None
    precision: Annotated[
        str | float | None,
        Option(
            "Play until what a pick-up is worth is known to within ± this share of wins for every specialist: half "
            "the width of its 95 % interval.",
            "0.3%",
            metavar="HALF",
            check=check_share,
        ),
    ] = None
    band: Annotated[
        str | float,
        Option(
            "A specialist is balanced if a pick-up is worth as much as the mean of all, ± this share of wins.",
            "1%",
            metavar="HALF",
            check=check_band,
        ),
    ] = "1%"
    control: Annotated[
        Literal["gone", "grill"],
        Option(
            "What a pick-up is weighed against: the specialist is gone, or goes back to the grill; the player keeps "
            "the former one.",
            "grill",
            metavar="gone|grill",
        ),
    ] = "gone"
    sensitivity: Annotated[
        bool,
        Option("Also by starting tile and number, with a quarter of the games each.", True),
    ] = False
