"""The options of a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Annotated, ClassVar

from pydantic.dataclasses import dataclass

from pickosim.amounts import parse_count
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
)


def check_variants(rules: Sequence[Rules]) -> None:
    """Refuse rules that cannot be read."""
    from pickosim.studies.variants import make_variants

    make_variants(rules)


def check_sweeps(sweeps: Sequence[str]) -> None:
    """Refuse sweeps that cannot be read."""
    from pickosim.studies.variants import sweep_texts

    for sweep in sweeps:
        sweep_texts(sweep)


def check_about(about: str) -> None:
    """Refuse a measure that headlines cannot be about."""
    from pickosim.studies.measures import check_worded

    check_worded(about)


@dataclass(frozen=True, config=CHECKED)
class CompareOptions(StudyOptions):
    """Compare variants of the rules.

    All are played with the same dice, and differences from the reference are paired by dice.
    Tables: measures, seats, lengths, variants.
    """

    kind: ClassVar[str] = "compare"
    examples: ClassVar[tuple[str, ...]] = (
        "pickosim compare classic short french --players 2-5",
        "pickosim compare classic --sweep dice=7,8,9 --bots expected,eager",
    )

    rules: Annotated[
        Sequence[Rules],
        Option(
            'Presets or TOML files, each followed by options of its own if any: "classic dice=7"; one is enough for a sweep.',
            ["classic", "short"],
            metavar="RULES",
            positional=True,
            check=check_variants,
        ),
    ]
    bots: Annotated[
        Bots,
        Option(
            "The seats are filled with these, over and over; `all` are the built-in ones.",
            ["expected", "eager"],
            metavar="BOT,…",
            default="expected,eager",
            check=check_bots,
            hint=BOT_HINT,
        ),
    ] = ("expected", "eager")
    players: PlayerCounts = 2
    games: Annotated[
        int | str,
        Option(
            "Games per variant and number of players, e.g. 250k or 1M, rounded up to whole blocks.",
            "250k",
            metavar="NUMBER",
            check=parse_count,
        ),
    ] = "20k"
    seed: Seed = 0
    _: KW_ONLY
    sweep: Annotated[
        Sequence[str],
        Option(
            "Play every variant with each of these values, e.g. dice=7,8,9 or dice=7..9; repeat for all "
            "combinations.",
            ["dice=7,8,9"],
            metavar="OPTION=VALUE,…",
            repeat=True,
            check=check_sweeps,
        ),
    ] = ()
    reference: Annotated[
        str | None,
        Option(
            'The variant that all others are compared with, e.g. short or "classic dice=8".',
            "short",
            metavar="NAME",
            default="the first",
        ),
    ] = None
    about: Annotated[
        str | None,
        Option(
            "The measure you ask about, e.g. first_seat, skill or margin: the headline says what it comes to.",
            "first_seat",
            metavar="MEASURE",
            default="the first that differs, mostly the length of games",
            check=check_about,
        ),
    ] = None
