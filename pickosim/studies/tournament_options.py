"""The options of a tournament."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Annotated, ClassVar

from pydantic.dataclasses import dataclass

from pickosim.amounts import parse_count, parse_points
from pickosim.stats.sprt import parse as parse_sprt
from pickosim.studies.options import (
    BOT_HINT,
    CHECKED,
    Bots,
    OneRuleSet,
    Option,
    Seed,
    StudyOptions,
    check_bots,
    check_share,
)
from pickosim.studies.schedule import MAX_MATCHUPS, player_counts

DEFAULT_GAMES, DEFAULT_CAP = "20k", "10M"


@dataclass(frozen=True, config=CHECKED)
class TournamentOptions(StudyOptions):
    """Let bots fight.

    Every choice of bots meets in a matchup, and every bot sits in every seat equally often, with the same dice.
    Tables: standings, matchups, places, pairs, seats, specialists, lengths, scores.
    """

    kind: ClassVar[str] = "tournament"
    examples: ClassVar[tuple[str, ...]] = (
        "pickosim tournament eager expected my_bot.py --games 50k",
        "pickosim tournament all --rules extrawurm --players 4 --games 9600",
        "pickosim tournament all --focus my_bot.py --precision 0.5%",
    )

    bots: Annotated[
        Bots,
        Option(
            "Bots, e.g. eager, threshold:target=21..30 (ten of them) or my_bot.py:MyBot; a bot may be entered "
            "twice. `all`, or none, stands for the built-in ones.",
            ["eager", "random"],
            metavar="BOT",
            positional=True,
            check=check_bots,
            hint=BOT_HINT,
        ),
    ] = ()
    rules: OneRuleSet = "classic"
    players: Annotated[
        int | None,
        Option("Players per game.", 4, metavar="NUMBER", default="2", check=player_counts),
    ] = None
    games: Annotated[
        int | str | None,
        Option(
            "Games per matchup, e.g. 250k or 1M, rounded up to whole blocks; with --precision or --sprt, the "
            "cap.",
            "250k",
            metavar="NUMBER",
            default=f"{DEFAULT_GAMES}; as a cap {DEFAULT_CAP}",
            check=parse_count,
        ),
    ] = None
    seed: Seed = 0
    _: KW_ONLY
    focus: Annotated[
        str | None,
        Option(
            "Only matchups with this bot, which enters if it is not listed: a gauntlet.",
            "eager",
            metavar="BOT",
        ),
    ] = None
    together: Annotated[bool, Option("One matchup of all bots.", True)] = False
    max_matchups: Annotated[
        int,
        Option("Matchups at most; of more, a sample drawn with the seed.", 100, metavar="NUMBER"),
    ] = MAX_MATCHUPS
    points: Annotated[
        str | Sequence[float] | None,
        Option(
            "Points for the first place, the second and so on; places left out get 0. The standings are then "
            "ordered by mean points instead of win shares; players who tie share the points of their places. "
            "Ratings, pairs and --sprt do not depend on it.",
            "7,5,3,1",
            metavar="NUMBERS",
            check=parse_points,
        ),
    ] = None
    precision: Annotated[
        str | float | None,
        Option(
            "Play until every win share in the standings is known to within ± this: half the width of its "
            "95 % interval. With --points, it is every mean of points, to within ± this share of the points "
            "between first and last place.",
            "0.2%",
            metavar="HALF",
            check=check_share,
        ),
    ] = None
    sprt: Annotated[
        str | None,
        Option(
            "Play one matchup until a sequential test decides whether the first bot wins LOW or HIGH points "
            "more than its even share (of two bots 50 %).",
            "0,1%",
            metavar="LOW,HIGH",
            check=parse_sprt,
        ),
    ] = None
    save_games: Annotated[bool, Option("Keep every game, as Parquet files.", True)] = False
