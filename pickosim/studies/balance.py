"""The balance: what a specialist is worth where it is gained, at the start, and to the game.

Four views that are never mixed up. *Pick-ups*: ordinary games, branched whenever a specialist is gained; this is what
the verdict is about. *Head start*: a seat starts with the specialist, against nobody having it. *Absence*: the game
without it, against the game as given. *Seen*: what happens in ordinary games, an association. Whatever is compared has
the same dice. A level of play is a bot that takes all seats.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from math import ceil
from typing import Any, ClassVar, NamedTuple

import numpy as np
from pydantic.dataclasses import dataclass

from pickosim.amounts import parse_count, parse_share
from pickosim.bots.entrants import Entrant, make_entrants
from pickosim.bots.loading import load_bot
from pickosim.columns import Frame
from pickosim.errors import PickosimError, RulesError
from pickosim.games.match import make_match
from pickosim.games.pickups import Control
from pickosim.rules import SPECIALISTS, RuleSet
from pickosim.runs.sums import Sums
from pickosim.stats.moments import stratified_mean
from pickosim.studies.arms import (
    LARGEST_CHUNK,
    NO_PILOT,
    SMALLEST_CHUNK,
    Chunk,
    Job,
    chunks_of,
    seconds_per_game,
)
from pickosim.studies.balance_findings import findings, remarks_of
from pickosim.studies.balance_options import (
    DEFAULT_CAP,
    DEFAULT_GAMES,
    LEVELS,
    STRONGEST,
    BalanceOptions,
    specialist_list,
)
from pickosim.studies.balance_results import (
    FRAMES,
    MAIN_FRAME,
    Varied,
    Weighed,
    absence_rows,
    gain_moments,
    head_start_by_seat_rows,
    head_start_rows,
    pickup_group_rows,
    pickup_rows,
    seen_rows,
    sensitivity_rows,
    suggestion_rows,
    worth_moments,
)
from pickosim.studies.balance_search import Guess, Knob, changed, finalists, pickup_worths, shrunk
from pickosim.studies.balance_sums import (
    Case,
    CaseJob,
    PickupJob,
    ViewJob,
    on_tile,
    starter_arms,
)
from pickosim.studies.ladder import strongest
from pickosim.studies.schedule import blocks_for, looks, player_counts
from pickosim.studies.sentences import about_few_blocks
from pickosim.studies.study import (
    Frames,
    StudyBase,
    about_unfinished,
    bot_list,
    study_function,
)
from pickosim.studies.variants import GivenRules, StoredRules, read_rules

PICKUPS, HEAD_START, CASES = "pickups", "head start", "cases"
"""What a part of the run is for: pick-ups of ordinary games; head start, absence and seen; pick-ups by starting tile
and number."""

RANKED, FINALS = "ranked", "finals"
"""Settings that are played in full: to rank them, and again to report them."""

LONG_CHUNK = 20.0
"""Seconds that a worker needs for a chunk: longer than a tournament's, for the larger batch."""

BRANCHES = 16
"""A game with all its branches takes about as long as so many games."""

FIRST_LOOK = 4000
"""Blocks before the first check whether to stop; a further one is worth taking half as many blocks later."""

OTHER_VIEWS = ("head_start", "head_start_by_seat", "absence", "seen")
"""Tables of everything but pick-ups."""

HEAD_SHARE = 8
"""For so many games with pick-ups one block of head starts is played, for each specialist."""

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


def plan(options: BalanceOptions) -> Balance:
    """The balance that these options ask for; whatever cannot be played is refused."""
    given, rules = read_rules(options.rules, options.set)
    players = player_counts(options.players)
    levels = options.bots
    if levels is None:
        levels = default_levels(rules, players, other_rules=options.sensitivity or options.suggest)
    entrants = tuple(make_entrants(bot_list(levels)))
    if not entrants:
        raise PickosimError("A level of play is a bot; name one at least.")
    if len({entrant.spec for entrant in entrants}) < len(entrants):
        raise PickosimError("A level of play is named twice; each bot takes all seats anyway.")
    games = options.games or (DEFAULT_GAMES if options.precision is None else DEFAULT_CAP)
    study = Balance(
        rules=rules,
        given_rules=given,
        entrants=entrants,
        players=tuple(players),
        specialists=_chosen(rules, options.specialists),
        games=parse_count(games),
        seed=options.seed,
        precision=None
        if options.precision is None
        else parse_share(options.precision, "A precision"),
        band=parse_share(options.band, "A band"),
        control=options.control,
        pickups_only=options.pickups_only,
        sensitivity=options.sensitivity,
        suggest=options.suggest,
        chunk=(),
    )
    study.check()
    return study.cut(options.workers, options.chunk)


def default_levels(rules: RuleSet, players: Sequence[int], other_rules: bool) -> list[str]:
    """The levels of play if none is named: heuristics, and the strongest bot that can play.

    With `other_rules`, numbers of the rules are changed; bots that play certain rules only are not taken then.
    """
    *_, last = STRONGEST
    able = (
        name
        for name in STRONGEST
        if name == last
        or (
            not other_rules
            and not any(load_bot(name).objection(rules, number) for number in players)
        )
    )
    return [*LEVELS, next(able)]


def _chosen(rules: RuleSet, wanted: str | Sequence[str] | None) -> tuple[str, ...]:
    """The specialists asked for, or all of the rules; in the order of the rules page."""
    if wanted is not None:
        names = specialist_list(wanted)
        return tuple(name for name in SPECIALISTS if name in names)
    if not rules.specialists:
        raise PickosimError(
            f"The rules {rules.name} have no specialists; take --rules extrawurm, or name with "
            "--specialists those to weigh all the same."
        )
    return tuple(rules.specialists)


balance = study_function(BalanceOptions, plan)


class Part(NamedTuple):
    """A part of the run: what it is for, which level of play (by number), how many players, who is weighed."""

    view: str
    level: int
    players: int
    specialist: str = ""


@dataclass(frozen=True)
class Balance(StudyBase):
    """Which specialists, at which levels and with how many players, how long, with which dice."""

    kind: ClassVar[str] = "balance"
    sources: ClassVar[tuple[str, ...]] = ("studies.balance_sums", "studies.balance_search")
    frame_types: ClassVar = FRAMES
    main_frame: ClassVar[str] = MAIN_FRAME

    rules: StoredRules
    given_rules: GivenRules
    entrants: tuple[Entrant, ...]
    players: tuple[int, ...]
    specialists: tuple[str, ...]
    games: int
    seed: int
    precision: float | None
    band: float
    control: Control
    pickups_only: bool
    sensitivity: bool
    suggest: bool
    chunk: tuple[int, ...]
    """Blocks per chunk, level by level: bots differ in speed."""

    def check(self) -> None:
        """Refuse what the rules do not allow, before anything is played."""
        for players in self.players:
            bots = (self.entrants[0].spec,) * players
            make_match(bots, self.rules, self.seed)
            blocks_for(self.games, players)
            for specialist in self.specialists:
                try:
                    starter_arms(self.rules, specialist, bots)
                except RulesError as error:
                    raise RulesError(f"The {specialist} cannot be weighed: {error}") from None
        if self.pickups_only and not self._playing:
            raise PickosimError(
                "None of these specialists is in the rules, so nobody can gain any."
            )
        if self.precision is not None and not self._playing:
            raise PickosimError(
                "A precision is that of pick-ups, and none of these specialists is in the rules."
            )
        placed = len(self._placed)
        if self.suggest and placed < 2:
            raise PickosimError(
                "--suggest brings specialists closer together: two at least must stand on tiles, and in "
                f"the rules {self.rules.name} there {'is' if placed == 1 else 'are'} {placed} of those "
                "asked for."
            )

    def cut(self, workers: int, chunk: int | None) -> Balance:
        """The same study with sizes of chunks."""
        sizes = [chunk or self._chunk_of(entrant, workers) for entrant in self.entrants]
        return replace(self, chunk=tuple(sizes))

    def _chunk_of(self, entrant: Entrant, workers: int) -> int:
        """Blocks per chunk at a level of play: many, as the engine is fast in batches of thousands.

        Results do not depend on it, so it may be found with a stopwatch.
        """
        most = max(self.players)
        shared = self.games * len(self.players) // (2 * workers)
        if self.games * most <= NO_PILOT:
            return max(SMALLEST_CHUNK, min(shared, self.games))
        seconds = seconds_per_game(make_match([entrant.spec] * most, self.rules, self.seed))
        in_time = int(LONG_CHUNK / (seconds * BRANCHES))
        return max(SMALLEST_CHUNK, min(shared, in_time, LARGEST_CHUNK))

    @property
    def title(self) -> str:
        """What is played, in a line."""
        return f"Rules {self.rules.name}, seed {self.seed}"

    # ------------------------------------------------------------------------------------- a run

    @cached_property
    def layout(self) -> list[Part]:
        """The parts of the run, each with dice of its own."""
        tables = [(k, players) for k in range(len(self.entrants)) for players in self.players]
        each = [(*table, name) for table in tables for name in self.specialists]
        found = [Part(PICKUPS, *table) for table in tables if self._playing]
        if not self.pickups_only:
            found += [Part(HEAD_START, *one) for one in each]
        if self.sensitivity or self.suggest:
            found += [Part(CASES, *one) for one in each]
        if self.suggest:
            found += [Part(view, *table) for view in (RANKED, FINALS) for table in tables]
        return found

    @property
    def parts(self) -> int:
        """One per level, number of players and specialist, for each thing that is asked of it."""
        return len(self.layout)

    def stage(self, number: int, sums: Sequence[Sums]) -> list[Chunk]:
        """Pick-ups up to the next look; when all are certain enough, everything else; then finals."""
        pickups = [
            chunk
            for k, part in enumerate(self.layout)
            if part.view == PICKUPS and not self._is_certain(part, sums[k])
            for chunk in self._chunks(
                k,
                PickupJob(*self._players_of(part), self.rules, self._playing, self.control),
                range(_blocks(sums[k]), self._next_look(sums[k])),
            )
        ]
        if pickups:
            return pickups
        others = [
            chunk
            for k, part in enumerate(self.layout)
            if part.view in (HEAD_START, CASES) and not sums[k]
            for chunk in self._chunks(k, self._job(part), range(self._side_blocks(part, sums)))
        ]
        if others:
            return others
        if not self.suggest or all(sums):
            return []
        cases = self._final_cases(sums)
        return [
            chunk
            for k, part in enumerate(self.layout)
            if part.view in (RANKED, FINALS) and not sums[k]
            for chunk in self._chunks(
                k,
                CaseJob(*self._players_of(part), cases, self.control),
                range(ceil(self._played(part, sums) / 2)),
                smaller=4,  # finalists are many: large chunks would keep workers waiting
            )
        ]

    def _players_of(self, part: Part) -> tuple[Entrant, int]:
        return self.entrants[part.level], part.players

    def _job(self, part: Part) -> Job:
        who = self._players_of(part)
        if part.view == CASES:
            return CaseJob(*who, tuple(self._cases(part.specialist)), self.control)
        return ViewJob(*who, self.rules, part.specialist)

    def _side_blocks(self, part: Part, sums: Sequence[Sums]) -> int:
        """Blocks of a part that is played once, after the pick-ups."""
        if not self._playing:
            return blocks_for(self.games, part.players)
        return ceil(self._played(part, sums) / (SIDE_SHARE if part.view == CASES else HEAD_SHARE))

    @property
    def _playing(self) -> tuple[str, ...]:
        """The specialists asked for that are in the rules."""
        return tuple(name for name in self.specialists if name in self.rules.specialists)

    def _chunks(self, part: int, job: Job, blocks: range, smaller: int = 1) -> Iterator[Chunk]:
        """The chunks of some blocks of a part."""
        size = max(1, self.chunk[self.layout[part].level] // smaller)
        return chunks_of(part, job, self.seed, blocks, size)

    @cached_property
    def looks(self) -> list[int]:
        """Games after which to check whether to stop; the last is the end anyway."""
        if self.precision is None:
            return [self.games]
        taken = [0]
        for look in looks(self.games):
            if look == self.games or look >= max(FIRST_LOOK, 1.5 * taken[-1]):
                taken.append(look)
        return taken[1:]

    def _next_look(self, sums: Sums) -> int:
        return next(look for look in self.looks if look > _blocks(sums))

    def _is_certain(self, part: Part, sums: Sums) -> bool:
        """Whether a worth is known as well as was asked for, or the games are used up."""
        if not sums:
            return False
        if _blocks(sums) >= self.looks[-1]:
            return True
        return self.precision is not None and self._half_width(part, sums) <= self.precision

    def _half_width(self, part: Part, sums: Sums) -> float:
        """Half the widest interval of what a part is about."""
        found = (
            [worth_moments(sums, k) for k in range(len(self._playing))]
            if part.view == PICKUPS
            else [gain_moments(self._weighed(part, sums))]
        )
        ends = [stratified_mean([one]).interval() for one in found if one is not None]
        return max(((high - low) / 2 for low, high in ends), default=0.0)

    def _widest(self, sums: Sequence[Sums]) -> float:
        view = PICKUPS if self._playing else HEAD_START
        return max(self._half_width(part, one.sums) for part, one in self._of(view, sums))

    def _played(self, part: Part, sums: Sequence[Sums]) -> int:
        """Games of a level and number of players that were branched."""
        return max(
            (
                _blocks(sums[k])
                for k, other in enumerate(self.layout)
                if (other.view, other.level, other.players) == (PICKUPS, part.level, part.players)
            ),
            default=self.games,
        )

    def _weighed(self, part: Part, sums: Sums) -> Weighed:
        return Weighed(self.entrants[part.level].name, part.players, part.specialist, sums)

    def _of(self, view: str, sums: Sequence[Sums]) -> list[tuple[Part, Weighed]]:
        """The parts for a view that have been played."""
        return [
            (part, self._weighed(part, found))
            for part, found in zip(self.layout, sums, strict=True)
            if part.view == view and found
        ]

    # ------------------------------------------------------------------------- tiles and numbers

    def _tiles(self, specialist: str) -> list[int]:
        """Where a specialist may be put; who stands there changes places with it, if it has one."""
        places = _places(self.rules)
        swaps = isinstance(places.get(specialist), int)
        taken = {place for name, place in places.items() if name != specialist}
        return [tile for tile in self.rules.tiles if swaps or tile not in taken]

    def _numbers(self, specialist: str) -> list[object]:
        """The values of the number that is about a specialist, that of the rules among them."""
        if specialist not in NUMBER_OPTIONS:
            return []
        option, values = NUMBER_OPTIONS[specialist]
        given = self.rules.as_dict()[option]
        if given in values:
            return list(values)
        return sorted([*values, given]) if isinstance(given, int) else [given, *values]  # type: ignore[type-var]

    def _cases(self, specialist: str) -> list[Case]:
        """Every starting tile, then every number; numbers only of a specialist that is in the rules."""
        tiles = [on_tile(self.rules, specialist, tile) for tile in self._tiles(specialist)]
        numbers = self._numbers(specialist) if specialist in self.rules.specialists else []
        option = NUMBER_OPTIONS[specialist][0] if numbers else ""
        rules = [*tiles, *(self.rules.with_options({option: value}) for value in numbers)]
        return [Case(specialist, one) for one in rules]

    def _varied(self, sums: Sequence[Sums]) -> Iterator[Varied]:
        """All that sensitivity is about, specialist by specialist."""
        for part, weighed in self._of(CASES, sums):
            variants = [case.rules for case in self._cases(part.specialist)]
            tiles, every = len(self._tiles(part.specialist)), range(len(variants))
            place = f"specialists.{part.specialist}"
            yield Varied(weighed, place, variants[:tiles], every[:tiles], self.rules)
            if variants[tiles:]:
                option = NUMBER_OPTIONS[part.specialist][0]
                yield Varied(weighed, option, variants[tiles:], every[tiles:], self.rules)

    # ---------------------------------------------------------------------------------- suggestion

    @property
    def _placed(self) -> list[str]:
        """The specialists that a suggestion is about: those asked for that stand on a tile."""
        places = _places(self.rules)
        return [name for name in self.specialists if isinstance(places.get(name), int)]

    @cached_property
    def knobs(self) -> list[Knob]:
        """What a suggestion may change."""
        written = self.rules.as_dict()
        found = []
        # Specialists that were not asked for stay where they are.
        fixed = {place for name, place in _places(self.rules).items() if name not in self._placed}
        for name in self._placed:
            place = written["specialists"][name]
            others = [tile for tile in self._tiles(name) if tile not in (place, *fixed)]
            found.append(Knob(f"specialists.{name}", name, (place, *others)))
            if name in NUMBER_OPTIONS:
                option = NUMBER_OPTIONS[name][0]
                # 0 would not balance the specialist but make it a decoration.
                values = [v for v in self._numbers(name) if v not in (0, written[option])]
                found.append(Knob(option, name, (written[option], *values)))
        return found

    def _guesses(self, sums: Sequence[Sums]) -> list[Guess]:
        """The settings that are played in full."""
        names = self._placed
        levels: dict[tuple[int, int], dict[str, dict[str, list[float]]]] = {}
        for part, weighed in self._of(CASES, sums):
            if part.specialist in names:
                levels.setdefault((part.level, part.players), {})[part.specialist] = self._moved(
                    part.specialist, weighed
                )
        moved = {
            knob.option: np.array(
                [found[knob.specialist][knob.option] for found in levels.values()]
            )
            for knob in self.knobs
        }
        given = np.stack([moved[f"specialists.{name}"][:, 0] for name in names], axis=1)
        return finalists(self.knobs, names, given, moved)

    def _moved(self, specialist: str, weighed: Weighed) -> dict[str, list[float]]:
        """What a pick-up of a specialist is worth at each value of its knobs, as they list them."""
        cases = [case.rules for case in self._cases(specialist)]
        gains, covariance = pickup_worths(weighed.sums)
        tiles = len(self._tiles(specialist))
        found = {}
        for knob in (knob for knob in self.knobs if knob.specialist == specialist):
            own = slice(0, tiles) if "." in knob.option else slice(tiles, len(cases))
            # Tiles and numbers are listed in their own order; the knob begins with the given one.
            listed = self._tiles(specialist) if "." in knob.option else self._numbers(specialist)
            order = [listed.index(value) for value in knob.values]  # type: ignore[arg-type]
            found[knob.option] = [
                float(value) for value in shrunk(gains[own], covariance[own, own])[order]
            ]
        return found

    def _final_cases(self, sums: Sequence[Sums]) -> tuple[Case, ...]:
        settings = [changed(self.rules, self.knobs, one.setting) for one in self._guesses(sums)]
        return tuple(Case(name, rules) for rules in settings for name in self._placed)

    # ------------------------------------------------------------------------------------- results

    @property
    def tables(self) -> dict[str, Frame]:
        """All but those of questions that were not asked."""
        asked = {
            **dict.fromkeys(OTHER_VIEWS, not self.pickups_only),
            "sensitivity": bool(self.sensitivity),
            "suggestion": bool(self.suggest),
            "suggestion_gains": bool(self.suggest),
        }
        return {name: frame for name, frame in FRAMES.items() if asked.get(name, True)}

    def frames(self, sums: Sequence[Sums]) -> Frames:
        """All result tables."""
        levels, weighed = ([one for _, one in self._of(v, sums)] for v in (PICKUPS, HEAD_START))
        rows: dict[str, Any] = {
            "pickups": pickup_rows(levels, self._playing, self.band),
            "pickups_by": pickup_group_rows(levels, self._playing),
            "head_start": head_start_rows(weighed),
            "head_start_by_seat": head_start_by_seat_rows(weighed),
            "absence": absence_rows(weighed),
            "seen": seen_rows(weighed, self.rules),
        }
        if self.sensitivity:
            rows["sensitivity"] = sensitivity_rows(list(self._varied(sums)))
        if self.suggest:
            ranked, finals = ([one for _, one in self._of(view, sums)] for view in (RANKED, FINALS))
            rows["suggestion"], rows["suggestion_gains"] = suggestion_rows(
                self.rules, self.knobs, self._guesses(sums), ranked, finals, self._placed
            )
        return {name: FRAMES[name].build(rows[name]) for name in self.tables}

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
                *about_few_blocks(min(map(_blocks, sums))),
                *remarks_of(
                    self.specialists, self.rules, self.control, self.sensitivity, self.suggest
                ),
                *about_unfinished(unfinished),
            ],
        }

    def _about_games(self, widest: float) -> Iterator[str]:
        if self.precision is not None:
            reached = widest <= self.precision
            yield (
                f"The widest 95 % interval of a pick-up's worth is ± {100 * widest:.3f} points of win share; "
                f"± {100 * self.precision:g} were asked for"
                f"{'.' if reached else f', and not reached within {self.games:,} games.'}"
            )


def _places(rules: RuleSet) -> dict[str, object]:
    """Where the specialists start: a tile, or a seat."""
    return {str(name): place for name, place in rules.specialists.items()}


def _blocks(sums: Sums) -> int:
    return int(sums["blocks"]) if sums else 0


STUDY = Balance
