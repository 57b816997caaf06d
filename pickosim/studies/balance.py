"""The balance: what a pick-up of each specialist is worth to whoever gains it.

Ordinary games are branched whenever a specialist is gained, and played on with and without it. Whatever is compared has
the same dice. A level is a bot that plays all seats, with a number of players.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY
from functools import cached_property
from math import ceil
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic.dataclasses import dataclass

from pickosim.amounts import listed, parse_count, parse_share, split_list
from pickosim.bots.entrants import Entrant, make_entrants
from pickosim.columns import Frame
from pickosim.errors import PickosimError, suggest
from pickosim.games.match import make_match
from pickosim.rule_files import rules_text
from pickosim.rules import SPECIALISTS, RuleSet
from pickosim.runs.tasks import Sums
from pickosim.stats.intervals import stratified_mean
from pickosim.studies.arms import (
    LARGEST_CHUNK,
    NO_PILOT,
    SMALLEST_CHUNK,
    Chunk,
    Job,
    chunks_of,
    seconds_per_game,
)
from pickosim.studies.balance_findings import VIEWS, findings, remarks_of, the
from pickosim.studies.ladder import strongest
from pickosim.studies.options import (
    CHECKED,
    OneRuleSet,
    Option,
    OptionalBots,
    OptionalCount,
    Parsed,
    PlayerCounts,
    Precision,
    Seed,
    parsed_by,
    written,
)
from pickosim.studies.pickup_worths import (
    FRAMES,
    MAIN_FRAME,
    Case,
    CaseJob,
    Level,
    PickupJob,
    Varied,
    pickup_group_rows,
    pickup_rows,
    sensitivity_rows,
    worth_moments,
)
from pickosim.studies.schedule import blocks_for, looks
from pickosim.studies.study import (
    Frames,
    OneRuleSetStudy,
    about_few_blocks,
    about_unfinished,
    stored,
    study_function,
)

DEFAULT_GAMES, DEFAULT_CAP = "10k", "1M"

LONG_CHUNK = 20.0
"""Seconds that a worker needs for a chunk: longer than a tournament's, for the larger batch."""

BRANCHES = 16
"""A game with all its branches takes about as long as this many games."""

FIRST_LOOK = 4000
"""Blocks before the first check whether to stop; a further one is worth taking half as many blocks later."""

SIDE_SHARE = 4
"""One game in this many is played again for each starting tile and number."""

NUMBER_OPTIONS: dict[str, tuple[str, tuple[object, ...]]] = {
    "raven": ("bratworms", (0, 3, 5, 7, 9, 12)),
    "golden-die": (
        "golden_die_faces",
        (
            [1, 2, 3, 4, 5, "worm"],
            [1, 1, 1, "worm", "worm", "worm"],
            [3, 3, 4, 4, 5, "worm"],
            [5, 5, 5, "worm", "worm", "worm"],
        ),
    ),
    "apple": ("apple_worms", (0, 1, 2, 3, 4, 5, 6)),
}
"""Numbers of the rules that are about one specialist, and the values that they are tried at."""

HEURISTICS = ("eager", "cautious")
"""Bots that play by default, besides the strongest."""

STRONGEST = "champion"
"""The strongest bot: the verdict on the specialists is its own."""


def specialist_names(specialists: str | Sequence[str]) -> tuple[str, ...]:
    """Specialists, if all exist; a text separates them by commas."""
    names = tuple(split_list(specialists))
    if not names:
        raise PickosimError("Name one specialist at least.")
    for name in names:
        if name not in SPECIALISTS:
            raise PickosimError(
                f'No specialist is named "{name}"'
                + (suggest(name, SPECIALISTS) or f"; there are {', '.join(SPECIALISTS)}.")
            )
    return names


class Part(NamedTuple):
    """A part of the run: a bot that plays all seats (by number), a number of players, and the specialist whose settings vary.

    Without a specialist, it is the ordinary games, branched at all pick-ups.
    """

    level: int
    players: int
    specialist: str = ""


@dataclass(frozen=True, config=CHECKED)
class Balance(OneRuleSetStudy):
    """Measure what each specialist is worth.

    Ordinary games are branched whenever a specialist is gained, and played on with it and without it, with the same dice.
    Tables: pickups, pickups_by; if asked for sensitivity.
    """

    kind: ClassVar[str] = "balance"
    sources: ClassVar[tuple[str, ...]] = ("studies.pickup_worths",)
    frame_types: ClassVar = FRAMES
    views: ClassVar = VIEWS
    main_frame: ClassVar[str] = MAIN_FRAME
    examples: ClassVar[tuple[str, ...]] = (
        "pickosim balance --players 4 --bots eager",
        "pickosim balance --specialists weasel,raven --precision 0.3%",
    )

    rules: OneRuleSet = written("extrawurm")
    bots: Annotated[
        OptionalBots,
        Option(
            "Bots (each plays all seats); `all` are the built-in ones.",
            ["eager", "cautious"],
            metavar="BOT,…",
            default_text=f"{','.join(HEURISTICS)},{STRONGEST}",
        ),
    ] = written(None)
    players: PlayerCounts = written(4)
    games: Annotated[
        OptionalCount,
        Option(
            "Ordinary games per bot and number of players, e.g. 50k; every pick-up in them is measured. With "
            "--precision, the cap.",
            "50k",
            metavar="NUMBER",
            default_text=f"{DEFAULT_GAMES}; as a cap {DEFAULT_CAP}",
        ),
    ] = written(None)
    seed: Seed = 0
    _: KW_ONLY
    specialists: Annotated[
        Parsed[str | Sequence[str] | None, tuple[str, ...] | None],
        parsed_by(specialist_names),
        Option(
            "Specialists to show, e.g. raven,apple; all are measured, as verdicts compare them.",
            ["raven", "apple"],
            metavar="NAME,…",
            default_text="all of the rules",
        ),
    ] = written(None)
    precision: Annotated[
        Precision,
        Option(
            "Play until what a pick-up is worth is known to within ± this share of wins for every specialist: half "
            "the width of its 95 % interval.",
            "0.3%",
            metavar="HALF",
        ),
    ] = written(None)
    band: Annotated[
        Parsed[str | float, float],
        parsed_by(lambda share: parse_share(share, "A band")),
        Option(
            "A specialist is balanced if a pick-up is worth as much as one of the others, ± this share of wins.",
            "1%",
            metavar="HALF",
        ),
    ] = written("1%")
    control: Annotated[
        Literal["gone", "grill"],
        Option(
            "What a pick-up is measured against: the specialist is gone, or goes back to the grill; the player keeps "
            "the former one.",
            "grill",
            metavar="gone|grill",
        ),
    ] = "gone"
    sensitivity: Annotated[
        bool,
        Option(
            "Also vary starting tiles and rule numbers, with a quarter of the games each.", True
        ),
    ] = False

    # ------------------------------------------------------------------------------------ what is played

    @stored
    def entrants(self) -> tuple[Entrant, ...]:
        """The bots; each plays all seats."""
        bots: Sequence[str] | None = self.bots
        if bots is None:
            bots = (*HEURISTICS, STRONGEST)
        return tuple(make_entrants(bots))

    @property
    def measured(self) -> tuple[str, ...]:
        """All specialists of the rules, as a verdict compares one with the others; only those asked for are shown."""
        return tuple(self.rule_set.specialists)

    @property
    def asked(self) -> tuple[str, ...]:
        """The specialists asked for, or all of the rules; in the order of the rules page."""
        wanted = SPECIALISTS if self.specialists is None else self.specialists
        return tuple(name for name in self.measured if name in wanted)

    @property
    def cap(self) -> int:
        """Ordinary games per bot and number of players at most."""
        return self.games or parse_count(DEFAULT_GAMES if self.precision is None else DEFAULT_CAP)

    @stored
    def chunk_sizes(self) -> tuple[int, ...]:
        """Blocks per chunk, bot by bot: they differ in speed."""
        return tuple(self.chunk or self._chunk_size(entrant) for entrant in self.entrants)

    def _chunk_size(self, entrant: Entrant) -> int:
        """Blocks per chunk of a bot: many, as the engine is fast in batches of thousands.

        Results do not depend on it, so it may be measured with a stopwatch.
        """
        most = max(self.players)
        shared = self.cap * len(self.players) // (2 * self.workers)
        if self.cap * most <= NO_PILOT:
            return max(SMALLEST_CHUNK, min(shared, self.cap))
        seconds = seconds_per_game(make_match([entrant.spec] * most, self.rule_set, self.seed))
        in_time = int(LONG_CHUNK / (seconds * BRANCHES))
        return max(SMALLEST_CHUNK, min(shared, in_time, LARGEST_CHUNK))

    def check(self) -> None:
        """Refuse what cannot be played."""
        rules = self.rule_set
        if not rules.specialists:
            raise PickosimError(
                f"The rules {rules.name} have no specialists; take --rules extrawurm."
            )
        missing = [name for name in self.specialists or () if name not in rules.specialists]
        if missing:
            raise PickosimError(
                f"Nobody can gain {listed([the(name) for name in missing])} with the rules {rules.name}; put a specialist "
                f"on a tile first, e.g. --set specialists.{missing[0]}={max(rules.tiles)}."
            )
        if not self.entrants:
            raise PickosimError("Name at least one bot to play; each plays all seats.")
        if len({entrant.spec for entrant in self.entrants}) < len(self.entrants):
            raise PickosimError("A bot is named twice; each plays all seats anyway.")
        blocks_for(self.cap, 1)
        for players in self.players:
            make_match([self.entrants[0].spec] * players, rules, self.seed)

    @property
    def title(self) -> str:
        """What is played, in a line."""
        return f"Rules {rules_text(self.rule_set)}, seed {self.seed}"

    # ------------------------------------------------------------------------------------- a run

    @cached_property
    def layout(self) -> list[Part]:
        """The parts of the run, each with dice of its own; those of ordinary games come first."""
        tables = [(k, players) for k in range(len(self.entrants)) for players in self.players]
        ordinary = [Part(*table) for table in tables]
        if not self.sensitivity:
            return ordinary
        return [*ordinary, *(Part(*table, name) for table in tables for name in self.asked)]

    @property
    def parts(self) -> int:
        """One per bot and number of players, and one more per specialist if settings vary."""
        return len(self.layout)

    def lane(self, part: int) -> int:
        """The lane of a part's game numbers.

        Settings do not follow right after the ordinary games: published figures were played in these lanes.
        """
        tables = len(self.entrants) * len(self.players)
        return part if part < tables else part + tables * len(self.asked)

    def stage(self, number: int, sums: Sequence[Sums]) -> list[Chunk]:
        """Ordinary games up to the next look; when all worths are certain enough, the settings."""
        pickups = [
            chunk
            for k, part in enumerate(self.layout)
            if not part.specialist and not self._is_certain(sums[k])
            for chunk in self._chunks(
                k,
                PickupJob(*self._who(part), self.rule_set, self.measured, self.control),
                range(_blocks(sums[k]), self._next_look(sums[k])),
            )
        ]
        if pickups:
            return pickups
        return [
            chunk
            for k, part in enumerate(self.layout)
            if part.specialist and not sums[k]
            for chunk in self._chunks(
                k,
                CaseJob(*self._who(part), tuple(self._cases(part.specialist)), self.control),
                range(ceil(self._played(part, sums) / SIDE_SHARE)),
            )
        ]

    def _who(self, part: Part) -> tuple[tuple[Entrant], int]:
        return (self.entrants[part.level],), part.players

    def _chunks(self, part: int, job: Job, blocks: range) -> Iterator[Chunk]:
        size = self.chunk_sizes[self.layout[part].level]
        return chunks_of(part, job, self.seed, blocks, size, self.lane(part))

    @cached_property
    def looks(self) -> list[int]:
        """Games after which to check whether to stop; the last is the end anyway."""
        if self.precision is None:
            return [self.cap]
        taken = [0]
        for look in looks(self.cap):
            if look == self.cap or look >= max(FIRST_LOOK, 1.5 * taken[-1]):
                taken.append(look)
        return taken[1:]

    def _next_look(self, sums: Sums) -> int:
        return next(look for look in self.looks if look > _blocks(sums))

    def _is_certain(self, sums: Sums) -> bool:
        """Whether all worths are known as well as was asked for, or the games are used up."""
        if not sums:
            return False
        if _blocks(sums) >= self.looks[-1]:
            return True
        return self.precision is not None and self._half_width(sums) <= self.precision

    def _half_width(self, sums: Sums) -> float:
        """Half the widest interval of a worth."""
        moments = [worth_moments(sums, self.measured.index(name)) for name in self.asked]
        ends = [stratified_mean([own]).interval() for own in moments if own is not None]
        return max(((high - low) / 2 for low, high in ends), default=0.0)

    def _widest(self, sums: Sequence[Sums]) -> float:
        return max(self._half_width(level.sums) for _, level in self._played_parts(sums, False))

    def _played(self, part: Part, sums: Sequence[Sums]) -> int:
        """Ordinary games of the level and number of players of a part."""
        return _blocks(sums[self.layout.index(Part(part.level, part.players))])

    def _played_parts(self, sums: Sequence[Sums], settings: bool) -> list[tuple[Part, Level]]:
        """The parts that have been played: those of ordinary games, or those of settings."""
        return [
            (part, Level(self.entrants[part.level].name, part.players, own))
            for part, own in zip(self.layout, sums, strict=True)
            if bool(part.specialist) is settings and own
        ]

    # ------------------------------------------------------------------------- tiles and numbers

    def _tiles(self, specialist: str) -> list[int]:
        """Where a specialist may be put; who stands there changes places with it, if it has one."""
        places = _places(self.rule_set)
        swaps = isinstance(places.get(specialist), int)
        taken = {place for name, place in places.items() if name != specialist}
        return [tile for tile in self.rule_set.tiles if swaps or tile not in taken]

    def _numbers(self, specialist: str) -> list[object]:
        """The values of the number that is about a specialist, that of the rules among them."""
        if specialist not in NUMBER_OPTIONS:
            return []
        option, values = NUMBER_OPTIONS[specialist]
        current = self.rule_set.as_dict()[option]
        if current in values:
            return list(values)
        return sorted([*values, current]) if isinstance(current, int) else [current, *values]  # type: ignore[type-var]

    def _cases(self, specialist: str) -> list[Case]:
        """Every starting tile, then every number."""
        tiles = [on_tile(self.rule_set, specialist, tile) for tile in self._tiles(specialist)]
        numbers = self._numbers(specialist)
        option = NUMBER_OPTIONS[specialist][0] if numbers else ""
        rules = [*tiles, *(self.rule_set.with_options({option: value}) for value in numbers)]
        return [Case(specialist, changed) for changed in rules]

    @property
    def _played_rules(self) -> list[RuleSet]:
        """Those as given and, with sensitivity, those of all settings."""
        asked = self.asked if self.sensitivity else ()
        settings = [case.rules for name in asked for case in self._cases(name)]
        return list(dict.fromkeys([self.rule_set, *settings]))

    def _varied(self, sums: Sequence[Sums]) -> Iterator[Varied]:
        """All that sensitivity is about, specialist by specialist."""
        for (_, _, name), level in self._played_parts(sums, True):
            variants = [case.rules for case in self._cases(name)]
            tiles, every = len(self._tiles(name)), range(len(variants))
            place = f"specialists.{name}"
            yield Varied(level, name, place, variants[:tiles], every[:tiles], self.rule_set)
            if variants[tiles:]:
                option = NUMBER_OPTIONS[name][0]
                yield Varied(level, name, option, variants[tiles:], every[tiles:], self.rule_set)

    # ------------------------------------------------------------------------------------- results

    @property
    def tables(self) -> dict[str, Frame]:
        """All but those of questions that were not asked."""
        return {
            name: frame
            for name, frame in FRAMES.items()
            if name != "sensitivity" or self.sensitivity
        }

    def frames(self, sums: Sequence[Sums]) -> Frames:
        """All result tables."""
        levels = [level for _, level in self._played_parts(sums, False)]
        rows: dict[str, Any] = {
            "pickups": pickup_rows(levels, self.measured, self.asked, self.band),
            "pickups_by": pickup_group_rows(levels, self.measured, self.asked),
            "sensitivity": sensitivity_rows(list(self._varied(sums))),
        }
        frames = {name: frame.build(rows[name]) for name, frame in self.tables.items()}
        return frames | {"pickups": self.with_notes(frames["pickups"])}

    def status(self, sums: Sequence[Sums]) -> str:
        """How certain the least certain worth is."""
        return f"worth within ± {100 * self._widest(sums):.2f} points"

    def summary(self, sums: Sequence[Sums], frames: Frames) -> dict[str, Any]:
        """What the tables do not say: the answer in sentences, and what to keep in mind."""
        names = [entrant.name for entrant in self.entrants]
        headline, sentences = findings(frames, strongest(names), self.band)
        widest = self._widest(sums)
        unfinished = sum(int(part["unfinished"]) for part in sums)
        return {
            "games": sum(int(part["games"]) for part in sums),
            "unfinished": unfinished,
            "widest_half": widest,
            "headline": headline,
            "sentences": sentences,
            "remarks": [
                *self._about_games(widest),
                *self.about_bots(
                    [(rules, players) for rules in self._played_rules for players in self.players]
                ),
                *about_few_blocks(min(map(_blocks, sums))),
                *remarks_of(self.asked, self.control, self.sensitivity),
                *about_unfinished(unfinished),
            ],
        }

    def _about_games(self, widest: float) -> Iterator[str]:
        if self.precision is not None:
            reached = widest <= self.precision
            yield (
                f"The widest 95 % interval of a pick-up's worth is ± {100 * widest:.3f} points of win share; "
                f"± {100 * self.precision:g} were asked for"
                f"{'.' if reached else f', and not reached within {self.cap:,} games.'}"
            )


def _places(rules: RuleSet) -> dict[str, object]:
    """Where the specialists start: a tile, or a seat."""
    return {str(name): place for name, place in rules.specialists.items()}


def on_tile(rules: RuleSet, specialist: str, tile: int) -> RuleSet:
    """The same rules with a specialist on that tile; one that stood there takes its place."""
    places = _places(rules)
    changes: dict[str, object] = {f"specialists.{specialist}": tile}
    for other, place in places.items():
        if other != specialist and place == tile:
            changes[f"specialists.{other}"] = places.get(specialist, "nowhere")
    return rules.with_options(changes)


def _blocks(sums: Sums) -> int:
    return int(sums["blocks"]) if sums else 0


balance = study_function(Balance)
