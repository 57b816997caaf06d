"""The ranking: one bot against all of the ladder, and its rating on the ladder's scale."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from math import ceil, hypot, inf, isfinite
from typing import Annotated, Any, ClassVar, NamedTuple

from pydantic.dataclasses import dataclass

from pickosim.amounts import quoted
from pickosim.bots.loading import Entrant, built_in_bots, make_entrants
from pickosim.columns import Frame, Row, frames_by_name
from pickosim.engine.tally import PARTS
from pickosim.runs.tasks import Sums
from pickosim.stats.ratings import rating_among
from pickosim.studies.arms import Chunk, blocks_per_chunk
from pickosim.studies.ladder import ladder
from pickosim.studies.matchup_sums import chunks_of_matchups, judged_matchups
from pickosim.studies.measures import about_judged
from pickosim.studies.options import (
    CHECKED,
    Count,
    Luck,
    OneBot,
    OneRuleSet,
    Option,
    Players,
    Seed,
    written,
)
from pickosim.studies.schedule import Matchup, blocks_for, round_robin
from pickosim.studies.standings import (
    ANCHOR,
    counted,
    ratings_of,
    tournament_rows,
    with_ends,
    without_luck,
)
from pickosim.studies.study import Frames, OneRuleSetStudy, stored, study_function
from pickosim.studies.views import Dots, Listed, View

FRAMES = frames_by_name(
    Frame(
        "ladder",
        "One row per bot, the highest rating first; the ratings of the built-in bots are fixed.",
        "ladder_place bot rating rating_error",
    ),
    Frame(
        "rivals",
        "One row per built-in bot: how the ranked bot does against it.",
        "rival games ahead± win_share_adjusted± luck±",
        {
            "win_share_adjusted": "Win share of the ranked bot in these games, less what luck explains of it; where they "
            "were not judged, as it is. Only with a judge.",
            "luck": "Win share that the luck of the dice brought it; null where games were not judged. Only with a judge.",
        },
    ),
)


VIEWS = (
    View(
        FRAMES["ladder"],
        "Ladder",
        "On the scale of Elo: 400 points are odds of 10 to 1. Bars: 95 % intervals.",
        chart=Dots("rating", "bot", "rating (Elo scale)", rows=lambda run: with_ends(run.ladder)),
        text=(Listed("Ladder"),),
        is_open=True,
        leads=True,
    ),
    View(
        FRAMES["rivals"],
        "Rivals",
        "How often the ranked bot finishes ahead of each; dashed: as often as behind it. Bars: 95 % intervals.",
        chart=Dots("ahead", "rival", "finishes ahead, % of games", at=50),
        text=(Listed("Rivals"),),
        is_open=True,
        leads=True,
    ),
)


@dataclass(frozen=True, config=CHECKED)
class Rank(OneRuleSetStudy):
    """Rank a bot among the built-in ones.

    It plays against all of them, and gets a rating on the scale on which theirs are fixed (`eager` is 1500).
    Tables: ladder, rivals.
    """

    kind: ClassVar[str] = "rank"
    sources: ClassVar[tuple[str, ...]] = ("studies.matchup_sums",)
    frame_types: ClassVar = FRAMES
    views: ClassVar = VIEWS
    examples: ClassVar[tuple[str, ...]] = (
        "pickosim rank my_bot.py",
        "pickosim rank threshold:target=24 --rules extrawurm --players 4",
    )

    bot: Annotated[
        OneBot,
        Option(
            "The bot, e.g. my_bot.py or threshold:target=24.",
            "my_bot.py",
            metavar="BOT",
            positional=True,
        ),
    ]
    rules: OneRuleSet = written("classic")
    players: Players = 2
    games: Annotated[
        Count,
        Option(
            "Games in all, e.g. 20k; more make the rating more certain.", "50k", metavar="NUMBER"
        ),
    ] = written("20k")
    seed: Seed = 0
    luck: Luck = "auto"

    @stored
    def entrants(self) -> tuple[Entrant, ...]:
        """The ranked bot first."""
        known = ladder(self.rule_set, self.players)
        field = known.ratings if known else built_in_bots()
        rivals = sorted(name for name in field if name != self.bot)
        return tuple(make_entrants([self.bot, *rivals]))

    @property
    def names(self) -> list[str]:
        """The names of all entrants, the ranked bot first."""
        return [entrant.name for entrant in self.entrants]

    @cached_property
    def matchups(self) -> list[Matchup]:
        """Each is a part of the run."""
        return round_robin(self.names, self.players, focus=self.names[0], seed=self.seed)[0]

    @stored
    def judged(self) -> tuple[Matchup, ...]:
        """The matchups whose luck is taken out."""
        return judged_matchups(self.luck, self.matchups, self.entrants, self.names[0])

    @property
    def blocks(self) -> int:
        """Blocks per matchup."""
        return blocks_for(ceil(self.games / len(self.matchups)), self.players)

    @stored
    def chunk_size(self) -> int:
        """Blocks per chunk."""
        blocks = self.blocks * len(self.matchups)
        return self.chunk or blocks_per_chunk(
            self.entrants, self.rule_set, self.players, blocks, self.workers, self.seed
        )

    @property
    def parts(self) -> int:
        """One per matchup."""
        return len(self.matchups)

    @property
    def title(self) -> str:
        """What is played, in a line."""
        return self.titled(f"Rank of {self.names[0]}")

    def stage(self, number: int, sums: Sequence[Sums]) -> list[Chunk]:
        """All matchups at once."""
        return chunks_of_matchups(
            self.matchups,
            self.entrants,
            self.rule_set,
            self.seed,
            range(0 if number else self.blocks),
            self.chunk_size,
            judged=self.judged,
        )

    # ------------------------------------------------------------------------------------------ results

    def rows(self, sums: Sequence[Sums]) -> dict[str, Iterable[Row]]:
        """The ladder with the bot on it, and its rivals."""
        own, others = self._rated(sums)
        in_order = sorted([(self.names[0], own), *others.items()], key=lambda row: -row[1].rating)
        pairs = tournament_rows(self.names, self.matchups, sums, ())["pairs"]
        played = [
            (matchup, (part, matchup.index(self.names[0])))
            for matchup, part in zip(self.matchups, sums, strict=True)
        ]
        rivals = [
            row | without_luck([entry for matchup, entry in played if row["rival"] in matchup])
            for row in pairs
            if row["bot"] == self.names[0]
        ]
        return {
            "ladder": [
                {
                    "ladder_place": place,
                    "bot": bot,
                    "rating": rated.rating if isfinite(rated.rating) else None,
                    "rating_error": rated.error or None,
                }
                for place, (bot, rated) in enumerate(in_order, start=1)
            ],
            "rivals": sorted(rivals, key=lambda row: row["ahead"]),
        }

    def _rated(self, sums: Sequence[Sums]) -> tuple[Rated, dict[str, Rated]]:
        """The rating of the bot, and those of the others: of the ladder, or of these games."""
        known = ladder(self.rule_set, self.players)
        won = sum(int(part["wins"][0].sum()) for part in sums)
        if known is None:
            rows = ratings_of(self.names, self.matchups, sums, wins=True).ratings.iter_rows()
            own, *others = (
                Rated((inf if won else -inf) if rating is None else rating, error)
                for _, rating, error, _ in rows
            )
            return own, dict(zip(self.names[1:], others, strict=True))
        rivals = {bot: Rated(known.ratings[bot], known.errors[bot]) for bot in self.names[1:]}
        choices = counted(self.names, self.matchups, sums, known.by_wins)
        ratings, errors = ([0.0, *ends] for ends in zip(*rivals.values(), strict=True))
        return Rated(*rating_among(ratings, choices, PARTS, errors)), rivals

    def status(self, sums: Sequence[Sums]) -> str:
        """How often the bot finishes ahead, so far."""
        played = [k for k, part in enumerate(sums) if part]
        ahead = sum(int(sums[k]["ahead"][0, 1:].sum()) for k in played)
        games = sum(int(sums[k]["blocks"]) for k in played) * self.players * (self.players - 1)
        return f"{self.names[0]} ahead {100 * ahead / (PARTS * games):.1f} %"

    def findings(self, sums: Sequence[Sums], frames: Frames) -> dict[str, Any]:
        """The place, the rating, and how far the best is."""
        return {"headline": headline(self.names[0], *self._rated(sums))}

    def remarks(self, sums: Sequence[Sums], frames: Frames) -> Iterator[str]:
        """What ratings are relative to, and how the bots play."""
        yield from self._about_scale()
        yield from about_judged(matchup[1:] for matchup in self.judged)
        yield from self.about_bots([(self.rule_set, self.players)])

    def _about_scale(self) -> Iterator[str]:
        known = ladder(self.rule_set, self.players)
        if known is None:
            yield (
                f"There is no ladder for these rules with {self.players} players: the ratings of all bots come from "
                f"these games, with {quoted(ANCHOR)} at 1500."
            )
        else:
            errors = "includes" if any(known.errors.values()) else "ignores"
            yield (
                f"The ratings of the built-in bots are fixed, with {quoted(ANCHOR)} at 1500; ± {errors} the uncertainty "
                "of these."
            )
        if self.players > 2:
            orders = known is not None and not known.by_wins
            yield f"A rating counts {'all finishing orders' if orders else 'wins, not the places behind'}."


class Rated(NamedTuple):
    """A rating, infinite for a bot that never lost or never won, and half its 95 % interval."""

    rating: float
    error: float | None


def headline(bot: str, own: Rated, others: dict[str, Rated]) -> str:
    """The place of a bot among others as far as it is known, its rating, and how far it is from the best."""
    apart = [(other.rating - own.rating, _half(own, other)) for other in others.values()]
    first, last = (1 + sum(gap > sign * half for gap, half in apart) for sign in (1, -1))
    place = ordinal(first) if first == last else f"{ordinal(first)} to {ordinal(last)}"
    sentence = f"{quoted(bot)} ranks {place} of {len(others) + 1}"
    if not isfinite(own.rating):
        never = "lost" if own.rating == inf else "won"
        return f"{sentence}: it never {never}, so it has no rating."
    half = "" if own.error is None else f" ± {own.error:.0f}"
    best = max(others, key=lambda other: others[other].rating)
    lead = own.rating - others[best].rating
    where = "above the best of the others" if lead > 0 else "behind the best"
    return (
        f"{sentence}, rated {own.rating:.0f}{half}: {abs(lead):.0f} points {where}, {quoted(best)}."
    )


def _half(own: Rated, other: Rated) -> float:
    """Half the interval of the difference of two ratings."""
    return hypot(own.error or 0.0, other.error or 0.0) if isfinite(own.rating) else 0.0


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th …"""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if 10 < number % 100 < 14 else ending}"


rank = study_function(Rank)
