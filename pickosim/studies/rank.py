"""The ranking: one bot against all of the ladder, and its rating on the ladder's scale."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, inf, isfinite
from typing import Any, ClassVar

from pydantic.dataclasses import dataclass

from pickosim.amounts import parse_count
from pickosim.bots.entrants import Entrant, make_entrants
from pickosim.bots.loading import as_specs, built_in_players
from pickosim.columns import Frame, frames_by_name
from pickosim.engine.tally import PARTS
from pickosim.runs.sums import Sums
from pickosim.stats.ratings import Counted, rating_among
from pickosim.studies.arms import Chunk, chunk_size
from pickosim.studies.ladder import ladder
from pickosim.studies.rank_options import RankOptions
from pickosim.studies.schedule import MAX_MATCHUPS, Matchup, blocks_for, round_robin
from pickosim.studies.sentences import quoted
from pickosim.studies.study import Frames, StudyBase, about_unfinished, study_function
from pickosim.studies.tournament_results import ANCHOR, ratings_of, tournament_frames
from pickosim.studies.tournament_sums import chunks_of_matchups
from pickosim.studies.variants import GivenRules, StoredRules, read_rules

FRAMES = frames_by_name(
    Frame(
        "ladder",
        "One row per bot, the highest rating first; the ratings of the built-in bots are fixed.",
        "ladder_place bot rating rating_error",
    ),
    Frame(
        "rivals",
        "One row per built-in bot: how the ranked bot does against it.",
        "rival games ahead±",
    ),
)


def plan(options: RankOptions) -> Rank:
    """The ranking that these options ask for; whatever cannot be played is refused."""
    given, rules = read_rules(options.rules, options.set)
    (bot,) = as_specs([options.bot])
    field = ladder(rules, options.players) or built_in_players(rules, options.players)
    rivals = sorted(name for name in field if name != bot)
    entrants = tuple(make_entrants([bot, *rivals]))
    names = [entrant.name for entrant in entrants]
    matchups, _ = round_robin(
        names, options.players, focus=names[0], most=MAX_MATCHUPS, seed=options.seed
    )
    games = parse_count(options.games)
    blocks = blocks_for(ceil(games / len(matchups)), options.players)
    return Rank(
        rules=rules,
        given_rules=given,
        entrants=entrants,
        matchups=tuple(matchups),
        blocks=blocks,
        seed=options.seed,
        chunk=options.chunk
        or chunk_size(
            entrants, rules, options.players, blocks * len(matchups), options.workers, options.seed
        ),
    )


rank = study_function(RankOptions, plan)


@dataclass(frozen=True)
class Rank(StudyBase):
    """Who is ranked, by which games. A matchup is a part of the run."""

    kind: ClassVar[str] = "rank"
    sources: ClassVar[tuple[str, ...]] = ("studies.tournament_sums",)
    frame_types: ClassVar = FRAMES
    main_frame: ClassVar[str] = "ladder"

    rules: StoredRules
    given_rules: GivenRules
    entrants: tuple[Entrant, ...]
    """The ranked bot first."""
    matchups: tuple[Matchup, ...]
    blocks: int
    """Blocks per matchup."""
    seed: int
    chunk: int

    @property
    def parts(self) -> int:
        """One per matchup."""
        return len(self.matchups)

    @property
    def players(self) -> int:
        """Players per game."""
        return len(self.matchups[0])

    @property
    def title(self) -> str:
        """What is played, in a line."""
        return f"Rank of {self.bots[0]}, {self.players} players, rules {self.rules.name}, seed {self.seed}"

    @property
    def bots(self) -> list[str]:
        """The names of all entrants, the ranked bot first."""
        return [entrant.name for entrant in self.entrants]

    def stage(self, number: int, sums: Sequence[Sums]) -> list[Chunk]:
        """All matchups at once."""
        blocks = range(0 if number else self.blocks)
        return chunks_of_matchups(
            self.matchups, self.entrants, self.rules, self.seed, blocks, self.chunk
        )

    # ------------------------------------------------------------------------------------------ results

    def frames(self, sums: Sequence[Sums]) -> Frames:
        """The ladder with the bot on it, and its rivals."""
        rating, error, ratings = self._rated(sums)
        rated = [(bot, value, None) for bot, value in ratings.items()]
        in_order = sorted([(self.bots[0], rating, error), *rated], key=lambda row: -row[1])
        played = tournament_frames(self.bots, self.matchups, sums, ())
        rivals = [row for row in played["pairs"].to_dicts() if row["bot"] == self.bots[0]]
        return {
            "ladder": FRAMES["ladder"].build(
                [
                    {"ladder_place": place, "bot": bot, "rating": value, "rating_error": half}
                    for place, (bot, value, half) in enumerate(in_order, start=1)
                ]
            ),
            "rivals": FRAMES["rivals"].build(
                [
                    {
                        name: row[name]
                        for name in ("rival", "games", "ahead", "ahead_low", "ahead_high")
                    }
                    for row in sorted(rivals, key=lambda row: row["ahead"])
                ]
            ),
        }

    def _rated(self, sums: Sequence[Sums]) -> tuple[float, float | None, dict[str, float]]:
        """The rating of the bot and its error, and the ratings of the others: of the ladder, or of these games."""
        known = ladder(self.rules, self.players)
        if known is None:
            found = ratings_of(self.bots, self.matchups, sums).ratings.rows(named=True)
            own, *others = ((row["rating"], row["rating_error"]) for row in found)
            names = self.bots[1:]
            return *own, {bot: rating for bot, (rating, _) in zip(names, others, strict=True)}
        number = {bot: k for k, bot in enumerate(self.bots)}
        counted: list[Counted] = [
            (tuple(number[bot] for bot in matchup), part["choices"])
            for matchup, part in zip(self.matchups, sums, strict=True)
        ]
        fixed = {bot: known[bot] for bot in self.bots[1:]}
        return *rating_among([0.0, *fixed.values()], counted, PARTS), fixed

    def status(self, sums: Sequence[Sums]) -> str:
        """How often the bot finishes ahead, so far."""
        played = [k for k, part in enumerate(sums) if part]
        ahead = sum(int(sums[k]["ahead"][0, 1:].sum()) for k in played)
        games = sum(int(sums[k]["blocks"]) for k in played) * self.players * (self.players - 1)
        return f"{self.bots[0]} ahead {100 * ahead / (PARTS * games):.1f} %"

    def summary(self, sums: Sequence[Sums], frames: Frames) -> dict[str, Any]:
        """The place, the rating, and how far the best is."""
        rating, error, ratings = self._rated(sums)
        unfinished = sum(int(part["unfinished"]) for part in sums)
        return {
            "games": sum(int(part["blocks"]) for part in sums) * self.players,
            "unfinished": unfinished,
            "headline": headline(self.bots[0], rating, error, ratings),
            "sentences": [],
            "remarks": [*self._about_scale(), *about_unfinished(unfinished)],
        }

    def _about_scale(self) -> Iterator[str]:
        if ladder(self.rules, self.players) is None:
            yield (
                f"There is no ladder for these rules with {self.players} players: the ratings of all bots come from "
                f"these games, with {quoted(ANCHOR)} at 1500."
            )
        else:
            yield (
                f"The ratings of the built-in bots are fixed, with {quoted(ANCHOR)} at 1500; their own errors do not "
                "count in ±."
            )


def headline(bot: str, rating: float, error: float | None, ratings: dict[str, float]) -> str:
    """The place of a bot among others, its rating, and how far it is from the best."""
    place = 1 + sum(other > rating for other in ratings.values())
    said = f"{quoted(bot)} is number {place} of {len(ratings) + 1}"
    if not isfinite(rating):
        return f"{said}: it {'never lost' if rating == inf else 'never won'}, so it has no rating."
    half = "" if error is None else f" ± {error:.0f}"
    said += f", rated {rating:.0f}{half}"
    best = max(ratings, key=ratings.__getitem__)
    apart = rating - ratings[best]
    if place == 1:
        return f"{said}: {apart:.0f} points above the best of the others, {quoted(best)}."
    return f"{said}: {-apart:.0f} points behind the best, {quoted(best)}."


STUDY = Rank
