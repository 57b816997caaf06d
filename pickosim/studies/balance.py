"""The balance: what each specialist is seen to do, is worth, and is missed for, at several levels of play.

Three views, from the same games but never mixed up. *Seen*: ordinary games. *Worth*: a seat starts with
the specialist, against nobody having it; all seats in turn, same dice. *Absence*: the game without it,
against the game as given, same dice. A level of play is a bot that takes all seats.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from math import ceil
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from pickosim.bots.digest import engine_digest
from pickosim.bots.entrants import Entrant, check_sources, enter
from pickosim.errors import PickosimError, RulesError, suggest
from pickosim.games.match import seat
from pickosim.rules import SPECIALISTS, RuleSet
from pickosim.runs.run import Tables
from pickosim.runs.sums import Sums, add
from pickosim.stats.moments import stratified_mean
from pickosim.studies.balance_findings import findings, remarks_of
from pickosim.studies.balance_sums import (
    Case,
    distinct_rules,
    nowhere,
    number_sums,
    on_tile,
    starting_with,
    taker_sums,
    view_sums,
)
from pickosim.studies.balance_tables import (
    FIRST_TAKER,
    STARTER,
    Varied,
    Weighed,
    absence_rows,
    frame,
    gain_moments,
    seen_rows,
    sensitivity_rows,
    suggestion_rows,
    worth_by_seat_rows,
    worth_rows,
)
from pickosim.studies.chunk_size import (
    LARGEST_CHUNK,
    NO_PILOT,
    SMALLEST_CHUNK,
    pieces,
    seconds_a_game,
)
from pickosim.studies.schedule import blocks_for, chunks, lane, looks
from pickosim.studies.sentences import about_few_blocks
from pickosim.studies.suggest_balance import Guess, Knob, changed, finalists, shrunk, taker_gains

WORTH, TAKERS, NUMBERS = "worth", "takers", "numbers"
"""What a part of the run is for: the three views; first takers by starting tile and number; starters by
number."""

RANKED, FINALS = "ranked", "finals"
"""Settings that are played in full: to rank them, and again to report them."""

LONG_CHUNK = 20.0
"""Seconds that a worker needs for a chunk of the views: longer than a tournament's, for the larger batch."""

FIRST_LOOK = 8000
"""Blocks before it is first asked whether to stop; and a look is worth taking half as many blocks later."""

SIDE_SHARE = 4
"""One block in so many is played again for each starting tile and number."""

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


@dataclass(frozen=True)
class Part:
    """A part of the run: what it is for, which level of play (by number), how many players, who is weighed."""

    view: str
    level: int
    players: int
    specialist: str = ""


@dataclass(frozen=True)
class BalanceChunk:
    """Some blocks of one part, under all rules that are compared in it."""

    part: int
    of: Part
    entrant: Entrant
    rules: RuleSet
    seed: int
    blocks: range
    cases: tuple[Case, ...] = ()
    variants: tuple[RuleSet, ...] = ()

    @property
    def name(self) -> str:
        """Its part and blocks."""
        return f"{self.part:06d}-{self.blocks.start:012d}-{self.blocks.stop:012d}"

    @property
    def games(self) -> int:
        """One a block and way to begin."""
        given = self.of.specialist in self.rules.specialists
        each = {
            WORTH: self.of.players + 1 + given,
            NUMBERS: len(self.variants) * (self.of.players + 2),
        }
        return len(self.blocks) * (each.get(self.of.view) or len(distinct_rules(self.cases)))

    def play(self, games: Path | None) -> tuple[Sums, str]:
        """The sums of its blocks."""
        # A worker may be on another machine, or have started before an edit.
        check_sources([self.entrant])
        sums: Sums = {}
        # Of nobody, of each seat, and as given.
        in_hand = self.of.players + 2
        for piece in pieces(self.blocks, [self.rules], self.of.players, in_hand):
            sums = add(sums, self._piece(lane(self.part) + piece.start, len(piece)))
        return sums, ""

    def _piece(self, first: int, blocks: int) -> Sums:
        who = (self.entrant.spec, self.of.players, self.seed, first, blocks)
        if self.of.view == WORTH:
            return view_sums(self.rules, self.of.specialist, *who)
        if self.of.view == NUMBERS:
            return number_sums(self.variants, self.of.specialist, *who)
        return taker_sums(self.cases, *who)


@dataclass(frozen=True)
class Balance:
    """Which specialists, at which levels and tables, how long, with which dice."""

    kind: ClassVar[str] = "balance"

    rules: RuleSet
    entrants: tuple[Entrant, ...]
    players: tuple[int, ...]
    specialists: tuple[str, ...]
    games: int
    seed: int = 0
    precision: float | None = None
    sensitivity: bool = False
    suggest: bool = False
    chunk: tuple[int, ...] = ()
    """Blocks of a chunk, level by level: bots differ in speed."""
    given_rules: Mapping[str, Any] | None = None

    @classmethod
    def planned(
        cls,
        rules: RuleSet,
        bots: Sequence[str],
        players: Sequence[int],
        games: int,
        seed: int,
        *,
        specialists: Sequence[str] | None = None,
        precision: float | None = None,
        sensitivity: bool = False,
        suggest: bool = False,
        workers: int = 1,
        chunk: int | None = None,
        given_rules: Mapping[str, Any] | None = None,
    ) -> Balance:
        """A balance that can be played; whatever cannot is refused before the first game."""
        entrants = tuple(enter(bots))
        if not entrants:
            raise PickosimError("A level of play is a bot; name one at least.")
        if len({entrant.spec for entrant in entrants}) < len(entrants):
            raise PickosimError("A level of play is named twice; each bot takes all seats anyway.")
        study = cls(
            rules=rules,
            entrants=entrants,
            players=tuple(players),
            specialists=chosen(rules, specialists),
            games=games,
            seed=seed,
            precision=precision,
            sensitivity=sensitivity,
            suggest=suggest,
            given_rules=given_rules,
        )
        study._check()
        sizes = [chunk or study._chunk_of(entrant, workers) for entrant in entrants]
        return replace(study, chunk=tuple(sizes))

    def _check(self) -> None:
        """Refuse what the rules do not allow, before anything is played."""
        for players in self.players:
            seat([self.entrants[0].spec] * players, self.rules, self.seed)
            blocks_for(self.games, players)
            for specialist in self.specialists:
                try:
                    nowhere(self.rules, specialist)
                    for s in range(players):
                        starting_with(self.rules, specialist, s)
                except RulesError as error:
                    raise RulesError(f"The {specialist} cannot be weighed: {error}") from None
        placed = len(self._placed)
        if self.suggest and placed < 2:
            raise PickosimError(
                "--suggest brings specialists closer together: two at least must stand on tiles, and in "
                f"the rules {self.rules.name} there {'is' if placed == 1 else 'are'} {placed} of those "
                "asked for."
            )

    def _chunk_of(self, entrant: Entrant, workers: int) -> int:
        """Blocks of a chunk at a level of play: many, as the engine is fast in batches of thousands.

        Results do not depend on it, and it stands in the plan, so it may be found with a stopwatch.
        """
        most = max(self.players)
        blocks = blocks_for(self.games, most)
        shared = blocks * len(self.specialists) * len(self.players) // (2 * workers)
        if blocks * most <= NO_PILOT:
            return max(SMALLEST_CHUNK, min(shared, blocks))
        seconds = seconds_a_game(seat([entrant.spec] * most, self.rules, self.seed))
        in_time = int(LONG_CHUNK / (seconds * (most + 2)))
        return max(SMALLEST_CHUNK, min(shared, in_time, LARGEST_CHUNK))

    # -------------------------------------------------------------------------- as a file, and back

    @property
    def plan(self) -> dict[str, Any]:
        """All that the result depends on, as JSON."""
        return {
            "rules": self.rules.as_dict(),
            "given_rules": self.given_rules,
            "seed": self.seed,
            "games": self.games,
            "precision": self.precision,
            "players": list(self.players),
            "specialists": list(self.specialists),
            "sensitivity": self.sensitivity,
            "suggest": self.suggest,
            "strategies": [asdict(entrant) for entrant in self.entrants],
            "save_games": False,
            "chunk": list(self.chunk),
            "engine": engine_digest("studies.balance"),
        }

    @classmethod
    def from_plan(cls, plan: Mapping[str, Any]) -> Balance:
        """The balance of a plan."""
        return cls(
            rules=RuleSet.from_dict(plan["rules"]),
            entrants=tuple(Entrant(**entrant) for entrant in plan["strategies"]),
            players=tuple(plan["players"]),
            specialists=tuple(plan["specialists"]),
            games=plan["games"],
            seed=plan["seed"],
            precision=plan["precision"],
            sensitivity=plan["sensitivity"],
            suggest=plan["suggest"],
            chunk=tuple(plan["chunk"]),
            given_rules=plan["given_rules"],
        )

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
        """One a level, table size and specialist, for each thing that is asked of it."""
        return len(self.layout)

    def stage(self, number: int, sums: Sequence[Sums]) -> list[BalanceChunk]:
        """The three views up to the next look; when all are sure enough, tiles and numbers; then finals."""
        views = [
            task
            for k, part in enumerate(self.layout)
            if part.view == WORTH and not self._is_sure(part, sums[k])
            for task in self._tasks(k, _blocks(sums[k]), self._next_look(part, sums[k]))
        ]
        if views:
            return views
        sides = [
            task
            for k, part in enumerate(self.layout)
            if part.view in (TAKERS, NUMBERS) and not sums[k]
            for task in self._tasks(k, 0, ceil(self._played(part, sums) / SIDE_SHARE))
        ]
        if sides:
            return sides
        if not self.suggest or all(sums):
            return []
        final_cases = self._final_cases(sums)
        return [
            task
            for k, part in enumerate(self.layout)
            if part.view in (RANKED, FINALS) and not sums[k]
            for task in self._tasks(k, 0, ceil(self._played(part, sums) / 2), final_cases)
        ]

    def _tasks(
        self, number: int, first: int, last: int, cases: tuple[Case, ...] | None = None
    ) -> Iterator[BalanceChunk]:
        """A part's blocks from `first` up to `last`."""
        part = self.layout[number]
        size = self.chunk[part.level]
        if cases is None:
            cases = tuple(self._taker_cases(part.specialist)) if part.view == TAKERS else ()
        else:
            size = max(1, size // 4)  # finalists are many: large chunks would keep workers waiting
        variants = tuple(self._number_variants(part.specialist)) if part.view == NUMBERS else ()
        for blocks in chunks(first, last, size):
            yield BalanceChunk(
                part=number,
                of=part,
                entrant=self.entrants[part.level],
                rules=self.rules,
                seed=self.seed,
                blocks=blocks,
                cases=cases,
                variants=variants,
            )

    def _looks(self, part: Part) -> list[int]:
        """Blocks after which it is asked whether to stop; the last is the end anyway."""
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

    def _is_sure(self, part: Part, sums: Sums) -> bool:
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
        """Blocks that the views of a level and table size were played for, at the most."""
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

    def tables(self, sums: Sequence[Sums]) -> Tables:
        """All results; see `balance_tables`."""
        weighed = [one for _, one in self._of(WORTH, sums)]
        tables = {
            "worth": frame("worth", worth_rows(weighed)),
            "worth_by_seat": frame("worth_by_seat", worth_by_seat_rows(weighed)),
            "seen": frame("seen", seen_rows(weighed, self.rules)),
            "absence": frame("absence", absence_rows(weighed)),
        }
        if self.sensitivity:
            tables["sensitivity"] = frame("sensitivity", sensitivity_rows(list(self._varied(sums))))
        if self.suggest:
            ranked, levels = ([one for _, one in self._of(view, sums)] for view in (RANKED, FINALS))
            rows, gains = suggestion_rows(
                self.rules, self.knobs, self._guesses(sums), ranked, levels, self._placed
            )
            tables["suggestion"] = frame("suggestion", rows)
            tables["suggestion_gains"] = frame("suggestion_gains", gains)
        return tables

    def news(self, sums: Sequence[Sums]) -> str:
        """How sure the least sure worth is."""
        widest = max(self._half_width(part, one.sums) for part, one in self._of(WORTH, sums))
        return f"worth within ± {100 * widest:.2f} points"

    def summary(self, sums: Sequence[Sums], tables: Tables) -> dict[str, Any]:
        """What the tables do not say: the answer in sentences, and what to keep in mind."""
        headline, sentences = findings(tables)
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
                *([f"{unfinished:,} games were ended by the turn limit."] if unfinished else []),
            ],
        }

    def _about_games(self, widest: float) -> Iterator[str]:
        for players in self.players:
            played = blocks_for(self.games, players) * players
            if played > self.games and self.precision is None:
                yield (
                    f"{self.games:,} games with a starter are no whole number of blocks of {players}: "
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


def chosen(rules: RuleSet, wanted: Sequence[str] | None) -> tuple[str, ...]:
    """The specialists asked for, or all of the rules; in the order of the rules page."""
    if wanted is None:
        if not rules.specialists:
            raise PickosimError(
                f"The rules {rules.name} have no specialists; take --rules extrawurm, or name with "
                "--specialists those to weigh all the same."
            )
        return tuple(rules.specialists)
    if isinstance(wanted, str):
        raise PickosimError(f'Specialists are given as a list, as in ["{wanted}"].')
    for name in wanted:
        if name not in SPECIALISTS:
            raise PickosimError(
                f'No specialist is named "{name}"'
                + (suggest(name, SPECIALISTS) or f"; there are {', '.join(SPECIALISTS)}.")
            )
    if not wanted:
        raise PickosimError("Name one specialist at least.")
    return tuple(name for name in SPECIALISTS if name in wanted)
