"""The balance: what each specialist is worth, is seen to do, and changes by its absence.

Three views, from the same games but never mixed up. *Worth*: a seat starts with the specialist, against nobody having
it; all seats in turn, same dice. *Seen*: ordinary games. *Absence*: the game without it, against the game as given, same
dice. A level of play is a bot that takes all seats.
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
from pickosim.columns import Frame
from pickosim.errors import PickosimError, RulesError
from pickosim.games.match import make_match
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
    BalanceOptions,
    specialist_list,
)
from pickosim.studies.balance_results import (
    FIRST_TAKER,
    FRAMES,
    MAIN_FRAME,
    STARTER,
    Varied,
    Weighed,
    absence_rows,
    gain_moments,
    seen_rows,
    sensitivity_rows,
    suggestion_rows,
    worth_by_seat_rows,
    worth_rows,
)
from pickosim.studies.balance_search import Guess, Knob, changed, finalists, shrunk, taker_gains
from pickosim.studies.balance_sums import (
    Case,
    NumberJob,
    TakerJob,
    ViewJob,
    on_tile,
    starter_arms,
)
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

WORTH, TAKERS, NUMBERS = "worth", "takers", "numbers"
"""What a part of the run is for: the three views; first takers by starting tile and number; starters by
number."""

RANKED, FINALS = "ranked", "finals"
"""Settings that are played in full: to rank them, and again to report them."""

LONG_CHUNK = 20.0
"""Seconds that a worker needs for a chunk of the views: longer than a tournament's, for the larger batch."""

FIRST_LOOK = 8000
"""Blocks before the first check whether to stop; a further one is worth taking half as many blocks later."""

SIDE_SHARE = 4
"""One block in this many is played again for each starting tile and number."""

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
    entrants = tuple(make_entrants(bot_list(options.bots)))
    if not entrants:
        raise PickosimError("A level of play is a bot; name one at least.")
    if len({entrant.spec for entrant in entrants}) < len(entrants):
        raise PickosimError("A level of play is named twice; each bot takes all seats anyway.")
    games = options.games or (DEFAULT_GAMES if options.precision is None else DEFAULT_CAP)
    study = Balance(
        rules=rules,
        given_rules=given,
        entrants=entrants,
        players=tuple(player_counts(options.players)),
        specialists=_chosen(rules, options.specialists),
        games=parse_count(games),
        seed=options.seed,
        precision=None
        if options.precision is None
        else parse_share(options.precision, "A precision"),
        sensitivity=options.sensitivity,
        suggest=options.suggest,
        chunk=(),
    )
    study.check()
    return study.cut(options.workers, options.chunk)


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
        blocks = blocks_for(self.games, most)
        shared = blocks * len(self.specialists) * len(self.players) // (2 * workers)
        if blocks * most <= NO_PILOT:
            return max(SMALLEST_CHUNK, min(shared, blocks))
        seconds = seconds_per_game(make_match([entrant.spec] * most, self.rules, self.seed))
        in_time = int(LONG_CHUNK / (seconds * (most + 2)))
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
        found = [Part(WORTH, *one) for one in each]
        if self.sensitivity or self.suggest:
            found += [Part(TAKERS, *one) for one in each]
        if self.sensitivity:
            found += [Part(NUMBERS, *one) for one in each if one[-1] in NUMBER_OPTIONS]
        if self.suggest:
            found += [Part(view, *table) for view in (RANKED, FINALS) for table in tables]
        return found

    @property
    def parts(self) -> int:
        """One per level, number of players and specialist, for each thing that is asked of it."""
        return len(self.layout)

    def stage(self, number: int, sums: Sequence[Sums]) -> list[Chunk]:
        """The three views up to the next look; when all are certain enough, tiles and numbers; then finals."""
        views = [
            chunk
            for k, part in enumerate(self.layout)
            if part.view == WORTH and not self._is_certain(part, sums[k])
            for chunk in self._chunks(
                k,
                ViewJob(*self._players_of(part), self.rules, part.specialist),
                range(_blocks(sums[k]), self._next_look(part, sums[k])),
            )
        ]
        if views:
            return views
        sides = [
            chunk
            for k, part in enumerate(self.layout)
            if part.view in (TAKERS, NUMBERS) and not sums[k]
            for chunk in self._chunks(
                k, self._side_job(part), range(ceil(self._played(part, sums) / SIDE_SHARE))
            )
        ]
        if sides:
            return sides
        if not self.suggest or all(sums):
            return []
        cases = self._final_cases(sums)
        return [
            chunk
            for k, part in enumerate(self.layout)
            if part.view in (RANKED, FINALS) and not sums[k]
            for chunk in self._chunks(
                k,
                TakerJob(*self._players_of(part), cases),
                range(ceil(self._played(part, sums) / 2)),
                smaller=4,  # finalists are many: large chunks would keep workers waiting
            )
        ]

    def _players_of(self, part: Part) -> tuple[Entrant, int]:
        return self.entrants[part.level], part.players

    def _side_job(self, part: Part) -> Job:
        who = self._players_of(part)
        if part.view == TAKERS:
            return TakerJob(*who, tuple(self._taker_cases(part.specialist)))
        return NumberJob(*who, tuple(self._number_variants(part.specialist)), part.specialist)

    def _chunks(self, part: int, job: Job, blocks: range, smaller: int = 1) -> Iterator[Chunk]:
        """The chunks of some blocks of a part."""
        size = max(1, self.chunk[self.layout[part].level] // smaller)
        return chunks_of(part, job, self.seed, blocks, size)

    def _looks(self, part: Part) -> list[int]:
        """Blocks after which to check whether to stop; the last is the end anyway."""
        most = blocks_for(self.games, part.players)
        if self.precision is None:
            return [most]
        taken = [0]
        for look in looks(most):
            if look == most or look >= max(FIRST_LOOK, 1.5 * taken[-1]):
                taken.append(look)
        return taken[1:]

    def _next_look(self, part: Part, sums: Sums) -> int:
        return next(look for look in self._looks(part) if look > _blocks(sums))

    def _is_certain(self, part: Part, sums: Sums) -> bool:
        """Whether a worth is known as well as was asked for, or the games are used up."""
        if not sums:
            return False
        if _blocks(sums) >= self._looks(part)[-1]:
            return True
        return self.precision is not None and self._half_width(part, sums) <= self.precision

    def _half_width(self, part: Part, sums: Sums) -> float:
        low, high = stratified_mean([gain_moments(self._weighed(part, sums))]).interval()
        return (high - low) / 2

    def _played(self, part: Part, sums: Sequence[Sums]) -> int:
        """Blocks that the views of a level and number of players were played for, at the most."""
        return max(
            _blocks(sums[k])
            for k, other in enumerate(self.layout)
            if (other.view, other.level, other.players) == (WORTH, part.level, part.players)
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

    def _number_variants(self, specialist: str) -> list[RuleSet]:
        option = NUMBER_OPTIONS[specialist][0]
        return [self.rules.with_options({option: value}) for value in self._numbers(specialist)]

    def _taker_cases(self, specialist: str) -> list[Case]:
        """Every starting tile, then every number; numbers only of a specialist that is in the rules."""
        tiles = [on_tile(self.rules, specialist, tile) for tile in self._tiles(specialist)]
        numbers = self._numbers(specialist) if specialist in self.rules.specialists else []
        option = NUMBER_OPTIONS[specialist][0] if numbers else ""
        rules = [*tiles, *(self.rules.with_options({option: value}) for value in numbers)]
        return [Case(specialist, one) for one in rules]

    def _varied(self, sums: Sequence[Sums]) -> Iterator[Varied]:
        """All that sensitivity is about, specialist by specialist."""
        for part, weighed in self._of(TAKERS, sums):
            variants = [case.rules for case in self._taker_cases(part.specialist)]
            tiles = len(self._tiles(part.specialist))
            yield Varied(
                weighed,
                f"specialists.{part.specialist}",
                variants[:tiles],
                range(tiles),
                FIRST_TAKER,
                self.rules,
            )
        for part, weighed in self._of(NUMBERS, sums):
            variants = self._number_variants(part.specialist)
            option = NUMBER_OPTIONS[part.specialist][0]
            yield Varied(weighed, option, variants, range(len(variants)), STARTER, self.rules)

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
        for part, weighed in self._of(TAKERS, sums):
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
        """What a specialist brings its first taker at each value of its knobs, as they list them."""
        cases = [case.rules for case in self._taker_cases(specialist)]
        gains, covariance = taker_gains(weighed.sums)
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
            "sensitivity": bool(self.sensitivity),
            "suggestion": bool(self.suggest),
            "suggestion_gains": bool(self.suggest),
        }
        return {name: frame for name, frame in FRAMES.items() if asked.get(name, True)}

    def frames(self, sums: Sequence[Sums]) -> Frames:
        """All result tables."""
        weighed = [one for _, one in self._of(WORTH, sums)]
        rows: dict[str, Any] = {
            "worth": worth_rows(weighed),
            "worth_by_seat": worth_by_seat_rows(weighed),
            "seen": seen_rows(weighed, self.rules),
            "absence": absence_rows(weighed),
        }
        if self.sensitivity:
            rows["sensitivity"] = sensitivity_rows(list(self._varied(sums)))
        if self.suggest:
            ranked, levels = ([one for _, one in self._of(view, sums)] for view in (RANKED, FINALS))
            rows["suggestion"], rows["suggestion_gains"] = suggestion_rows(
                self.rules, self.knobs, self._guesses(sums), ranked, levels, self._placed
            )
        return {name: FRAMES[name].build(found) for name, found in rows.items()}

    def status(self, sums: Sequence[Sums]) -> str:
        """How certain the least certain worth is."""
        widest = max(self._half_width(part, one.sums) for part, one in self._of(WORTH, sums))
        return f"worth within ± {100 * widest:.2f} points"

    def summary(self, sums: Sequence[Sums], frames: Frames) -> dict[str, Any]:
        """What the tables do not say: the answer in sentences, and what to keep in mind."""
        headline, sentences = findings(frames)
        widest = max(self._half_width(part, one.sums) for part, one in self._of(WORTH, sums))
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
                *remarks_of(self.specialists, self.rules, self.sensitivity, self.suggest),
                *about_unfinished(unfinished),
            ],
        }

    def _about_games(self, widest: float) -> Iterator[str]:
        for players in self.players:
            played = blocks_for(self.games, players) * players
            if played > self.games and self.precision is None:
                yield (
                    f"{self.games:,} games with a starter are not a whole number of blocks of {players}: "
                    f"rounded up to {played:,}."
                )
        if self.precision is not None:
            reached = widest <= self.precision
            yield (
                f"The widest 95 % interval of a worth is ± {100 * widest:.3f} points of win share; "
                f"± {100 * self.precision:g} were asked for"
                f"{'.' if reached else f', and not reached within {self.games:,} games each.'}"
            )


def _places(rules: RuleSet) -> dict[str, object]:
    """Where the specialists start: a tile, or a seat."""
    return {str(name): place for name, place in rules.specialists.items()}


def _blocks(sums: Sums) -> int:
    return int(sums["blocks"]) if sums else 0


STUDY = Balance
