"""The comparison: variants of the rules, played by the same bots with the same dice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import polars as pl
from pydantic.dataclasses import dataclass

from pickosim.amounts import parse_count
from pickosim.bots.entrants import Entrant, make_entrants
from pickosim.errors import PickosimError, RulesError
from pickosim.games.match import make_match
from pickosim.runs.sums import Sums
from pickosim.studies.arms import Chunk, chunk_size, chunks_of
from pickosim.studies.compare_findings import findings
from pickosim.studies.compare_options import CompareOptions
from pickosim.studies.compare_results import (
    FRAMES,
    MAIN_FRAME,
    Setting,
    compare_frames,
    setting_of,
)
from pickosim.studies.compare_sums import CompareJob
from pickosim.studies.measures import MEASURES
from pickosim.studies.schedule import Matchup, blocks_for, player_counts, rotations
from pickosim.studies.sentences import BEYOND_CHANCE, about_few_blocks, listed, quoted
from pickosim.studies.study import Frames, StudyBase, bot_list, study_function
from pickosim.studies.variants import Variant, make_variants, named_variant

SMALLEST_CHUNK = 1 << 10
"""Blocks; with fewer, the fixed cost of a batch outweighs that of its games."""


def plan(options: CompareOptions) -> Compare:
    """The comparison that these options ask for; whatever cannot be played is refused."""
    variants = make_variants(options.rules, options.set, options.sweep)
    if len(variants) < 2:
        raise PickosimError(
            "A comparison needs two variants at least; name more rules, or sweep an option."
        )
    bots = tuple(bot_list(options.bots))
    if not bots:
        raise PickosimError("Name at least one bot to play.")
    entrants = tuple(make_entrants(list(dict.fromkeys(bots))))
    players, games = tuple(player_counts(options.players)), parse_count(options.games)
    reference = named_variant(variants, options.reference)
    matchups = tuple(tuple(bots[seat % len(bots)] for seat in range(size)) for size in players)
    for matchup in matchups:
        for variant in variants:
            _check_seats(matchup, variant, options.seed)
    blocks = sum(blocks_for(games, len(rotations(matchup))) for matchup in matchups)
    size = chunk_size(
        entrants, reference.rules, max(players), blocks, options.workers, options.seed
    )
    return Compare(
        variants=tuple(variants),
        reference=reference.name,
        entrants=entrants,
        bots=bots,
        matchups=matchups,
        games=games,
        seed=options.seed,
        about=options.about,
        # As many games as a tournament's chunk has, now that a block has more.
        chunk=options.chunk or max(SMALLEST_CHUNK, size // len(variants)),
    )


compare = study_function(CompareOptions, plan)


@dataclass(frozen=True)
class Compare(StudyBase):
    """Which variants, with how many players, how long, with which dice. A number of players is a part of the run."""

    kind: ClassVar[str] = "compare"
    sources: ClassVar[tuple[str, ...]] = ("studies.compare_sums",)
    frame_types: ClassVar = FRAMES
    main_frame: ClassVar[str] = MAIN_FRAME

    variants: tuple[Variant, ...]
    reference: str
    entrants: tuple[Entrant, ...]
    bots: tuple[str, ...]
    """The seats are filled with these, over and over; a bot may be named several times."""
    matchups: tuple[Matchup, ...]
    """The bots by seat, one matchup per number of players."""
    games: int
    seed: int
    about: str | None
    """The measure that is asked about: the headline says what it comes to."""
    chunk: int

    @property
    def parts(self) -> int:
        """One per number of players."""
        return len(self.matchups)

    @property
    def title(self) -> str:
        """What is played, in a line."""
        return (
            f"Rules compared, the same dice for all, bots {', '.join(self.bots)}, seed {self.seed}"
        )

    @property
    def _base(self) -> Variant:
        return named_variant(self.variants, self.reference)

    def blocks(self, part: int) -> int:
        """Blocks of a part: enough for the games asked for."""
        return blocks_for(self.games, len(rotations(self.matchups[part])))

    def stage(self, number: int, sums: Sequence[Sums]) -> list[Chunk]:
        """Everything at once."""
        if number:
            return []
        rules = tuple(variant.rules for variant in self.variants)
        reference = self.variants.index(self._base)
        return [
            chunk
            for part, matchup in enumerate(self.matchups)
            for chunk in chunks_of(
                part,
                CompareJob(matchup, self.entrants, rules, reference),
                self.seed,
                range(self.blocks(part)),
                self.chunk,
            )
        ]

    def settings(self, sums: Sequence[Sums]) -> list[Setting]:
        """All variants with each number of players that has been played."""
        reference = self.variants.index(self._base)
        return [
            setting_of(self.variants, reference, matchup, part)
            for matchup, part in zip(self.matchups, sums, strict=True)
            if part
        ]

    def frames(self, sums: Sequence[Sums]) -> Frames:
        """All result tables."""
        return compare_frames(self.settings(sums))

    def status(self, sums: Sequence[Sums]) -> str:
        """How long the games of the first variants are, with the fewest players so far."""
        sides = self.settings(sums)[0].sides[:3]
        means = [f"{s.variant.name} {MEASURES['turns'].read(s.sums).value:.1f}" for s in sides]
        return f"turns per game: {', '.join(means)}"

    def summary(self, sums: Sequence[Sums], frames: Frames) -> dict[str, Any]:
        """What the tables do not say: what was found, in sentences, and what to keep in mind."""
        settings = self.settings(sums)
        stronger = {setting.base.sums.players: setting.stronger for setting in settings}
        sides = [side.sums for setting in settings for side in setting.sides]
        headline, sentences = findings(frames["measures"], self.reference, stronger, self.about)
        return {
            "games": sum(side.games for side in sides),
            "unfinished": sum(side.total("unfinished") for side in sides),
            "stronger": {str(players): bot for players, bot in stronger.items() if bot},
            "headline": headline,
            "sentences": sentences,
            "remarks": [
                *self._about_games(),
                *_about_skill(stronger, self.reference),
                *_about_correction(frames["measures"]),
                *_about_unfinished(settings),
            ],
        }

    def _about_games(self) -> Iterator[str]:
        played = {
            len(matchup): self.blocks(part) * len(rotations(matchup))
            for part, matchup in enumerate(self.matchups)
        }
        more = {size: games for size, games in played.items() if games > self.games}
        if more:
            sizes = listed([f"{games:,} with {size} players" for size, games in more.items()])
            yield (
                f"{self.games:,} games per variant are not a whole number of blocks everywhere: rounded up "
                f"to {sizes}."
            )
        for matchup in self.matchups:
            if len(set(matchup)) < len(set(self.bots)):
                bots = listed([quoted(bot) for bot in dict.fromkeys(matchup)])
                yield f"In games of {len(matchup)}, only {bots} play."
        yield from about_few_blocks(min(self.blocks(part) for part in range(self.parts)))


def _check_seats(matchup: Matchup, variant: Variant, seed: int) -> None:
    """Refuse seats that the rules of a variant do not allow."""
    try:
        make_match(matchup, variant.rules, seed)
    except RulesError as error:
        raise RulesError(f"{variant.name}: {error}") from None


def _about_skill(stronger: Mapping[int, str | None], reference: str) -> Iterator[str]:
    """Who the stronger bot is, and what its share means."""
    sizes: dict[str, list[str]] = {}
    for players, bot in stronger.items():
        if bot is not None:
            sizes.setdefault(bot, []).append(str(players))
    if not sizes:
        yield "All seats are taken by the same bot, so nothing is said about skill."
        return
    who = "; ".join(
        quoted(bot) if len(sizes) == 1 else f"{quoted(bot)} with {listed(of)} players"
        for bot, of in sizes.items()
    )
    yield (
        "Skill is the win share of the stronger bot divided by its fair share (1: its seats win as often as "
        f"any). The stronger bot is the one whose seats win more in {reference}: {who}."
    )


def _about_correction(measures: pl.DataFrame) -> Iterator[str]:
    comparisons = measures["p_value"].count()
    yield (
        f"Beyond chance: p below {BEYOND_CHANCE:g} after correction for all {comparisons:,} comparisons "
        "of this run (Holm)."
    )


def _about_unfinished(settings: Sequence[Setting]) -> Iterator[str]:
    found = [
        f"{count:,} of {side.variant.name} with {side.sums.players} players"
        for setting in settings
        for side in setting.sides
        if (count := side.sums.total("unfinished"))
    ]
    if found:
        yield f"Ended by the turn limit, and counted as they stood: {listed(found)}."


STUDY = Compare
