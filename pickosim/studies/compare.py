"""The comparison: variants of the rules, played by the same bots with the same dice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY
from functools import cached_property
from itertools import cycle, islice
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator
from pydantic.dataclasses import dataclass

from pickosim.bots.entrants import Entrant, expanded, make_entrants
from pickosim.errors import PickosimError, RulesError
from pickosim.games.match import make_match
from pickosim.rules import RuleSet
from pickosim.runs.tasks import Sums
from pickosim.studies.arms import Chunk, blocks_per_chunk, chunks_of
from pickosim.studies.compare_findings import VIEWS, findings
from pickosim.studies.compare_results import (
    FRAMES,
    MAIN_FRAME,
    CompareJob,
    Setting,
    compare_frames,
    setting_of,
)
from pickosim.studies.measures import MEASURES, check_worded
from pickosim.studies.options import (
    CHECKED,
    Bots,
    Count,
    Loads,
    Option,
    Parsed,
    PlayerCounts,
    RulesLike,
    Seed,
    Texts,
    named_rules,
    parsed_by,
    written,
)
from pickosim.studies.schedule import Matchup, blocks_for, rotations
from pickosim.studies.sentences import about_few_blocks, listed, quoted
from pickosim.studies.study import Frames, Study, stored, study_function
from pickosim.studies.variants import (
    FROM_PLAN,
    Variant,
    make_variants,
    named_variant,
    sweep_texts,
)

SMALLEST_CHUNK = 1 << 10
"""Blocks; with fewer, the fixed cost of a batch outweighs that of its games."""


def _checked_sweeps(sweeps: tuple[str, ...]) -> tuple[str, ...]:
    """Sweeps, if all can be read."""
    for sweep in sweeps:
        sweep_texts(sweep)
    return sweeps


@dataclass(frozen=True, config=CHECKED)
class Compare(Study):
    """Compare variants of the rules.

    All are played with the same dice, and differences from the reference are paired by dice. With a single variant,
    its measures are shown.
    Tables: measures, seats, lengths, variants.
    """

    kind: ClassVar[str] = "compare"
    sources: ClassVar[tuple[str, ...]] = ("studies.compare_results",)
    frame_types: ClassVar = FRAMES
    views: ClassVar = VIEWS
    main_frame: ClassVar[str] = MAIN_FRAME
    examples: ClassVar[tuple[str, ...]] = (
        "pickosim compare classic short french --players 2-5",
        "pickosim compare classic --sweep dice=7,8,9 --bots expected,eager",
        "pickosim compare classic --players 2-7",
    )

    rules: Annotated[
        Parsed[Sequence[RulesLike], tuple[str | RuleSet, ...]],
        FROM_PLAN,
        parsed_by(lambda rules: tuple(map(named_rules, rules))),
        Loads(make_variants),
        Option(
            'Presets or TOML files, each followed by options of its own if any, e.g. "classic dice=7".',
            ["classic", "short"],
            metavar="RULES",
            default_text="classic",
            positional=True,
        ),
    ] = written(("classic",))
    bots: Annotated[
        Bots,
        AfterValidator(lambda bots: tuple(expanded(bots))),
        Option(
            "The seats are filled with these, over and over; `all` are the built-in ones.",
            ["expected", "eager"],
            metavar="BOT,…",
            default_text="expected,eager",
        ),
    ] = written(("expected", "eager"))
    players: PlayerCounts = written(2)
    games: Annotated[
        Count,
        Option(
            "Games per variant and number of players, e.g. 250k or 1M, rounded up to whole blocks.",
            "250k",
            metavar="NUMBER",
        ),
    ] = written("20k")
    seed: Seed = 0
    _: KW_ONLY
    sweep: Annotated[
        Texts,
        parsed_by(_checked_sweeps),
        Option(
            "Play every variant with each of these values, e.g. dice=7,8,9 or dice=7..9; repeat for all "
            "combinations.",
            ["dice=7,8,9"],
            metavar="OPTION=VALUE,…",
            repeat=True,
        ),
    ] = written(())
    reference: Annotated[
        str | None,
        Option(
            'The variant that all others are compared with, e.g. short or "classic dice=8".',
            "short",
            metavar="NAME",
            default_text="the first",
        ),
    ] = None
    about: Annotated[
        str | None,
        parsed_by(check_worded),
        Option(
            "The measure you ask about, e.g. first_seat, skill or margin: the headline says what it comes to.",
            "first_seat",
            metavar="MEASURE",
            default_text="the first that differs, mostly the length of games",
        ),
    ] = None

    @stored
    def variants(self) -> tuple[Variant, ...]:
        """The rules that are compared."""
        return tuple(make_variants(self.rules, self.set, self.sweep))

    @property
    def all_rules(self) -> dict[str, RuleSet]:
        """The rules of all variants."""
        return {variant.name: variant.rules for variant in self.variants}

    @cached_property
    def base(self) -> Variant:
        """The reference."""
        return named_variant(self.variants, self.reference)

    @stored
    def entrants(self) -> tuple[Entrant, ...]:
        """Each bot once."""
        return tuple(make_entrants(list(dict.fromkeys(self.bots))))

    @cached_property
    def matchups(self) -> list[Matchup]:
        """The bots by seat, one matchup per number of players, each a part of the run.

        The seats are filled with the bots over and over; a bot may be named several times.
        """
        return [tuple(islice(cycle(self.bots), size)) for size in self.players]

    @stored
    def chunk_size(self) -> int:
        """Blocks per chunk: as many games as a tournament's chunk has, now that a block has more."""
        blocks = sum(self.blocks(part) for part in range(self.parts))
        size = blocks_per_chunk(
            self.entrants, self.base.rules, max(self.players), blocks, self.workers, self.seed
        )
        return self.chunk or max(SMALLEST_CHUNK, size // len(self.variants))

    def check(self) -> None:
        """Refuse what cannot be compared."""
        if not self.bots:
            raise PickosimError("Name at least one bot to play.")
        for matchup in self.matchups:
            for variant in self.variants:
                _check_seats(matchup, variant, self.seed)

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

    def blocks(self, part: int) -> int:
        """Blocks of a part: enough for the games asked for."""
        return blocks_for(self.games, len(rotations(self.matchups[part])))

    def stage(self, number: int, sums: Sequence[Sums]) -> list[Chunk]:
        """Everything at once."""
        if number:
            return []
        rules = tuple(variant.rules for variant in self.variants)
        reference = self.variants.index(self.base)
        return [
            chunk
            for part, matchup in enumerate(self.matchups)
            for chunk in chunks_of(
                part,
                CompareJob(self.entrants, matchup, rules, reference),
                self.seed,
                range(self.blocks(part)),
                self.chunk_size,
            )
        ]

    def settings(self, sums: Sequence[Sums]) -> list[Setting]:
        """All variants with each number of players that has been played."""
        reference = self.variants.index(self.base)
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
        headline, sentences, by_variant = findings(
            frames["measures"], self.base.name, stronger, self.about
        )
        return {
            "games": sum(side.games for side in sides),
            "unfinished": sum(side.total("unfinished") for side in sides),
            "reference": self.base.name,
            "stronger": {str(players): bot for players, bot in stronger.items() if bot},
            "headline": headline,
            "sentences": sentences,
            "by_variant": by_variant,
            "remarks": [
                *self._about_games(),
                *_about_skill(stronger, self.base.name),
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
        yield "All seats are taken by the same bot, so skill is not measured."
        return
    who = "; ".join(
        quoted(bot) if len(sizes) == 1 else f"{quoted(bot)} with {listed(of)} players"
        for bot, of in sizes.items()
    )
    yield (
        "Skill is the win share of the bot whose seats win more in "
        f"{reference} ({who}), divided by its fair share."
    )


def _about_unfinished(settings: Sequence[Setting]) -> Iterator[str]:
    ended = [
        f"{count:,} of {side.variant.name} with {side.sums.players} players"
        for setting in settings
        for side in setting.sides
        if (count := side.sums.total("unfinished"))
    ]
    if ended:
        yield f"Ended by the turn limit, and counted as they stood: {listed(ended)}."


compare = study_function(Compare)
