"""The options of a balance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Annotated, ClassVar

from pydantic.dataclasses import dataclass

from pickosim.amounts import parse_count
from pickosim.errors import PickosimError, suggest
from pickosim.rules import SPECIALISTS
from pickosim.studies.options import (
    BOT_HINT,
    CHECKED,
    Bots,
    Option,
    PlayerCounts,
    Rules,
    Seed,
    StudyOptions,
    check_bots,
    check_rules,
    check_share,
)

DEFAULT_GAMES, DEFAULT_CAP = "100k", "10M"


def specialist_list(given: str | Sequence[str]) -> list[str]:
    """Specialists; a text separates them by commas."""
    listed = given.split(",") if isinstance(given, str) else given
    return [name.strip() for name in listed]


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


@dataclass(frozen=True, config=CHECKED)
class BalanceOptions(StudyOptions):
    """Measure what each specialist is worth.

    Worth: one seat starts with the specialist, against nobody having it, with the same dice, all seats in turn. Seen:
    what happens with it in ordinary games, an association. Absence: the game without it.
    Tables: worth, worth_by_seat, seen, absence; if asked for sensitivity, suggestion, suggestion_gains.
    """

    kind: ClassVar[str] = "balance"
    examples: ClassVar[tuple[str, ...]] = (
        "pickosim balance --players 4 --bots eager",
        "pickosim balance --specialists weasel,raven --precision 0.3%",
    )

    rules: Annotated[
        Rules,
        Option(
            "A preset (see `pickosim rules`) or a TOML file.",
            "extrawurm",
            metavar="RULES",
            check=check_rules,
        ),
    ] = "extrawurm"
    bots: Annotated[
        Bots,
        Option(
            "Levels of play: each of these bots takes all seats; `all` are the built-in ones.",
            ["eager", "cautious"],
            metavar="BOT,…",
            default="eager,cautious",
            check=check_bots,
            hint=BOT_HINT,
        ),
    ] = ("eager", "cautious")
    players: PlayerCounts = 4
    games: Annotated[
        int | str | None,
        Option(
            "Games in which a seat starts with the specialist, for each specialist, level and number of "
            "players, e.g. 250k or 1M; with --precision, the cap.",
            "250k",
            metavar="NUMBER",
            default=f"{DEFAULT_GAMES}; as a cap {DEFAULT_CAP}",
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
            default="all of the rules",
            check=check_specialists,
        ),
    ] = None
    precision: Annotated[
        str | float | None,
        Option(
            "Play until every worth is known to within ± this share of wins: half the width of its 95 % "
            "interval.",
            "0.3%",
            metavar="HALF",
            check=check_share,
        ),
    ] = None
    sensitivity: Annotated[
        bool,
        Option("Also by starting tile and number, with a quarter of the blocks each.", True),
    ] = False
    suggest: Annotated[
        bool,
        Option(
            "Search tiles and numbers for the setting that brings the specialists closest together.",
            True,
        ),
    ] = False
