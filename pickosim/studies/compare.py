"""The comparison: variants of the rules, played by the same bots with the same dice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from pickosim.bots.digest import engine_digest
from pickosim.bots.entrants import Entrant, check_sources, enter, expand
from pickosim.engine.tally import Tally
from pickosim.errors import PickosimError, RulesError
from pickosim.games.batch import play_games
from pickosim.games.match import seat
from pickosim.runs.run import Tables
from pickosim.runs.sums import Sums, add
from pickosim.studies.chunk_size import chunk_size, pieces
from pickosim.studies.compare_findings import check_about, findings
from pickosim.studies.compare_tables import Setting, compare_tables, length_counts, setting_of
from pickosim.studies.measures import Ints, block_values, products, read, total
from pickosim.studies.schedule import Matchup, blocks_for, chunks, lane, rotations
from pickosim.studies.sentences import BEYOND_CHANCE, about_few_blocks, listed
from pickosim.studies.variants import Variant, named_variant

SMALLEST_CHUNK = 64
"""Blocks."""


@dataclass(frozen=True)
class CompareChunk:
    """Some blocks of one table size, in all variants."""

    part: int
    table: Matchup
    entrants: tuple[Entrant, ...]
    variants: tuple[Variant, ...]
    reference: int
    seed: int
    blocks: range

    @property
    def name(self) -> str:
        """Its table size and blocks."""
        return f"{self.part:06d}-{self.blocks.start:012d}-{self.blocks.stop:012d}"

    @property
    def games(self) -> int:
        """One a block, seating and variant."""
        return len(self.blocks) * len(seatings(self.table)) * len(self.variants)

    def play(self, games: Path | None) -> tuple[Sums, str]:
        """The sums of its blocks."""
        # A worker may be on another machine, or have started before an edit.
        check_sources(self.entrants)
        sums: Sums = {}
        every = [variant.rules for variant in self.variants]
        # Those of the reference, and of the variant that is compared with it.
        in_hand = 2 * len(seatings(self.table))
        for piece in pieces(self.blocks, every, len(self.table), in_hand):
            sums = add(sums, self._piece(lane(self.part) + piece.start, len(piece)))
        return sums, ""

    def _piece(self, first: int, blocks: int) -> Sums:
        reference = self._play(self.variants[self.reference], first, blocks)
        base = self._values(self.variants[self.reference], reference)
        sums: Sums = {"blocks": np.array(blocks, np.int64)}
        found = []
        for number, variant in enumerate(self.variants):
            own = number == self.reference
            tallies = reference if own else self._play(variant, first, blocks)
            values = base if own else self._values(variant, tallies)
            found.append(
                {
                    "totals": values.sum(axis=1),
                    "products": products(values, values),
                    "crossed": products(values, base),
                    "turns": length_counts([tally.turns for tally in tallies], first),
                    "rolls": length_counts([tally.rolls for tally in tallies], first),
                }
            )
        return sums | {name: _stacked([part[name] for part in found]) for name in found[0]}

    def _play(self, variant: Variant, first: int, blocks: int) -> list[Tally]:
        """One tally a seating."""
        return [
            play_games(seat(turned, variant.rules, self.seed), first, blocks, follow_lead=True)
            for turned in seatings(self.table)
        ]

    def _values(self, variant: Variant, tallies: Sequence[Tally]) -> Ints:
        return block_values(tallies, self.table, len(variant.rules.tiles))


def _stacked(arrays: Sequence[Ints]) -> Ints:
    """One below the other; a histogram that ends earlier is filled up with 0."""
    longest = max(array.shape[-1] for array in arrays)
    return np.stack(
        [
            np.pad(array, [*[(0, 0)] * (array.ndim - 1), (0, longest - array.shape[-1])])
            for array in arrays
        ]
    )


def seatings(table: Matchup) -> list[Matchup]:
    """The rotations of a table that differ: one is enough if all bots are the same.

    With the same dice, the same bots in the same seats would only play the same games again.
    """
    return list(dict.fromkeys(rotations(table)))


@dataclass(frozen=True)
class Compare:
    """Which variants, at which tables, how long, with which dice. A table size is a part of the run."""

    kind: ClassVar[str] = "compare"

    variants: tuple[Variant, ...]
    reference: str
    entrants: tuple[Entrant, ...]
    bots: tuple[str, ...]
    """The seats are filled with these, over and over; a bot may be named several times."""
    players: tuple[int, ...]
    games: int
    seed: int = 0
    about: str | None = None
    """The measure that is asked about: the headline says what it comes to."""
    chunk: int = 1

    @classmethod
    def planned(
        cls,
        variants: Sequence[Variant],
        bots: Sequence[str],
        players: Sequence[int],
        games: int,
        seed: int,
        *,
        reference: str | None = None,
        about: str | None = None,
        workers: int = 1,
        chunk: int | None = None,
    ) -> Compare:
        """A comparison that can be played; whatever cannot is refused before the first game."""
        if isinstance(bots, str):
            raise PickosimError(f'Bots are given as a list, as in ["{bots}"].')
        if len(variants) < 2:
            raise PickosimError(
                "A comparison needs two variants at least; name more rules, or sweep an option."
            )
        check_about(about)
        specs = tuple(one for spec in bots for one in expand(spec))
        if not specs:
            raise PickosimError("Somebody must play: name one bot at least.")
        study = cls(
            variants=tuple(variants),
            reference=named_variant(variants, reference).name,
            entrants=tuple(enter(list(dict.fromkeys(specs)))),
            bots=specs,
            players=tuple(players),
            games=games,
            seed=seed,
            about=about,
        )
        for table in study.tables_played:
            for variant in variants:
                _check_seats(table, variant, seed)
        return replace(study, chunk=chunk or study._chunk_size(workers))

    def _chunk_size(self, workers: int) -> int:
        """Blocks of a chunk: as many games as a tournament's has, now that a block has more."""
        blocks = sum(self.blocks(part) for part in range(self.parts))
        size = chunk_size(
            self.entrants, self._base.rules, max(self.players), blocks, workers, self.seed
        )
        return max(SMALLEST_CHUNK, size // len(self.variants))

    # -------------------------------------------------------------------------- as a file, and back

    @property
    def plan(self) -> dict[str, Any]:
        """All that the result depends on, as JSON."""
        number = {entrant.spec: k for k, entrant in enumerate(self.entrants)}
        return {
            "rules": self._base.rules.as_dict(),
            "given_rules": self._base.given,
            "variants": [variant.as_dict() for variant in self.variants],
            "reference": self.reference,
            "seed": self.seed,
            "games": self.games,
            "about": self.about,
            "players": list(self.players),
            "strategies": [asdict(entrant) for entrant in self.entrants],
            "bots": [number[bot] for bot in self.bots],
            "save_games": False,
            "chunk": self.chunk,
            "engine": engine_digest("studies.compare"),
        }

    @classmethod
    def from_plan(cls, plan: Mapping[str, Any]) -> Compare:
        """The comparison of a plan."""
        entrants = tuple(Entrant(**entrant) for entrant in plan["strategies"])
        return cls(
            variants=tuple(Variant.from_dict(variant) for variant in plan["variants"]),
            reference=plan["reference"],
            entrants=entrants,
            bots=tuple(entrants[k].spec for k in plan["bots"]),
            players=tuple(plan["players"]),
            games=plan["games"],
            seed=plan["seed"],
            about=plan["about"],
            chunk=plan["chunk"],
        )

    # ------------------------------------------------------------------------------------- a run

    @property
    def parts(self) -> int:
        """One a table size."""
        return len(self.players)

    @property
    def tables_played(self) -> list[Matchup]:
        """The bots by seat, one table a size."""
        return [
            tuple(self.bots[seat % len(self.bots)] for seat in range(size)) for size in self.players
        ]

    @property
    def _base(self) -> Variant:
        return named_variant(self.variants, self.reference)

    def blocks(self, part: int) -> int:
        """Blocks of a table size: enough for the games asked for."""
        return blocks_for(self.games, len(seatings(self.tables_played[part])))

    def stage(self, number: int, sums: Sequence[Sums]) -> list[CompareChunk]:
        """Everything at once."""
        if number:
            return []
        return [
            CompareChunk(
                part=part,
                table=table,
                entrants=self.entrants,
                variants=self.variants,
                reference=self.variants.index(self._base),
                seed=self.seed,
                blocks=blocks,
            )
            for part, table in enumerate(self.tables_played)
            for blocks in chunks(0, self.blocks(part), self.chunk)
        ]

    def settings(self, sums: Sequence[Sums]) -> list[Setting]:
        """All variants at each table size that has been played."""
        reference = self.variants.index(self._base)
        return [
            setting_of(self.variants, reference, table, len(seatings(table)), part)
            for table, part in zip(self.tables_played, sums, strict=True)
            if part
        ]

    def tables(self, sums: Sequence[Sums]) -> Tables:
        """All results; see `compare_tables`."""
        return compare_tables(self.settings(sums))

    def news(self, sums: Sequence[Sums]) -> str:
        """How long the games of the first variants are, at the smallest table played so far."""
        sides = self.settings(sums)[0].sides[:3]
        means = [f"{side.variant.name} {read(side.measured, 'turns').value:.1f}" for side in sides]
        return f"turns a game: {', '.join(means)}"

    def summary(self, sums: Sequence[Sums], tables: Tables) -> dict[str, Any]:
        """What the tables do not say: what was found, in sentences, and what to keep in mind."""
        settings = self.settings(sums)
        measures = tables["measures"]
        stronger = {setting.base.measured.players: setting.stronger for setting in settings}
        sides = [side.measured for setting in settings for side in setting.sides]
        headline, sentences = findings(measures, self.reference, stronger, self.about)
        return {
            "games": sum(side.games for side in sides),
            "unfinished": sum(total(side, "unfinished") for side in sides),
            "stronger": {str(players): bot for players, bot in stronger.items() if bot},
            "headline": headline,
            "sentences": sentences,
            "remarks": [
                *self._about_tables(),
                *_about_skill(stronger, self.reference),
                *_about_correction(measures),
                *_about_unfinished(settings),
            ],
        }

    def _about_tables(self) -> Iterator[str]:
        played = {
            size: self.blocks(part) * len(seatings(table))
            for part, (size, table) in enumerate(zip(self.players, self.tables_played, strict=True))
        }
        more = {size: games for size, games in played.items() if games > self.games}
        if more:
            sizes = listed([f"{games:,} with {size} players" for size, games in more.items()])
            yield (
                f"{self.games:,} games a variant are no whole number of blocks everywhere: "
                f"rounded up to {sizes}."
            )
        for size, table in zip(self.players, self.tables_played, strict=True):
            if len(set(table)) < len(set(self.bots)):
                yield f"At a table of {size} only {listed(list(dict.fromkeys(table)))} sit."
        yield from about_few_blocks(min(self.blocks(part) for part in range(self.parts)))


def _check_seats(table: Matchup, variant: Variant, seed: int) -> None:
    """Refuse a table that the rules of a variant do not allow."""
    try:
        seat(table, variant.rules, seed)
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
        bot if len(sizes) == 1 else f"{bot} with {listed(of)} players" for bot, of in sizes.items()
    )
    yield (
        "Skill is what the stronger bot wins, in fair shares (1: its seats win as often as any). The "
        f"stronger is the one whose seats win more in {reference}: {who}."
    )


def _about_correction(measures: pl.DataFrame) -> Iterator[str]:
    comparisons = measures["p_value"].count()
    yield (
        f"Beyond chance: p below {BEYOND_CHANCE:g} after correction for all {comparisons:,} comparisons "
        "of this run (Benjamini and Yekutieli)."
    )


def _about_unfinished(settings: Sequence[Setting]) -> Iterator[str]:
    found = [
        f"{count:,} of {side.variant.name} with {side.measured.players} players"
        for setting in settings
        for side in setting.sides
        if (count := total(side.measured, "unfinished"))
    ]
    if found:
        yield f"Ended by the turn limit, and counted as they stood: {listed(found)}."
