"""The comparison: variants of the rules, played by the same bots with the same dice."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, replace
from functools import cached_property
from itertools import cycle, islice, product
from math import ceil, floor, isfinite, log10
from operator import itemgetter
from typing import Annotated, Any, ClassVar

import polars as pl
from pydantic import AfterValidator
from pydantic.dataclasses import dataclass

from pickosim.amounts import listed, quoted, sentence
from pickosim.bots.loading import Entrant, expanded, make_entrants
from pickosim.columns import Row, percent
from pickosim.errors import PickosimError, RulesError
from pickosim.games.match import make_match
from pickosim.rules import RuleSet
from pickosim.runs.tasks import Sums
from pickosim.stats.intervals import NORMAL, Estimate
from pickosim.studies.arms import Chunk, blocks_per_chunk, chunks_of, is_judged, the_judge
from pickosim.studies.measures import (
    MEASURES,
    WORDED,
    Measure,
    about_luck,
    check_worded,
    half_width,
    has_luck,
    is_significant,
    value_text,
    with_adjusted,
)
from pickosim.studies.options import (
    CHECKED,
    FROM_PLAN,
    Bots,
    Count,
    Loads,
    Luck,
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
from pickosim.studies.study import Frames, Study, about_few_blocks, stored, study_function
from pickosim.studies.variants import (
    FRAMES,
    VIEWS,
    CompareJob,
    Pair,
    Variant,
    compared,
    length_rows,
    make_variants,
    measure_rows,
    named_variant,
    seat_rows,
    sweep_texts,
    what_differs,
)

SMALLEST_CHUNK = 1 << 10
"""Blocks; with fewer, the fixed cost of a batch outweighs that of its games."""


@dataclass(frozen=True, config=CHECKED)
class Compare(Study):
    """Compare variants of the rules.

    All are played with the same dice, and differences from the reference are paired by dice. With a single variant,
    its measures are shown.
    Tables: measures, seats, lengths, variants.
    """

    kind: ClassVar[str] = "compare"
    sources: ClassVar[tuple[str, ...]] = ("studies.variants",)
    frame_types: ClassVar = FRAMES
    views: ClassVar = VIEWS
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
            default_text="champion,eager",
        ),
    ] = written(("champion", "eager"))
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
        parsed_by(lambda sweeps: sweeps if list(map(sweep_texts, sweeps)) else ()),
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

    luck: Luck = "auto"

    @stored
    def variants(self) -> tuple[Variant, ...]:
        """The rules that are compared."""
        return tuple(make_variants(self.rules, self.set, self.sweep))

    @property
    def all_rules(self) -> dict[str, RuleSet]:
        """The rules of all variants."""
        return {variant.name: variant.rules for variant in self.variants}

    @stored
    def judged(self) -> tuple[int, ...]:
        """The numbers of players with which games are judged."""
        return tuple(len(bots) for bots in self.matchups if is_judged(self.luck, bots))

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
        for matchup, variant in product(self.matchups, self.variants):
            try:
                make_match(matchup, variant.rules, self.seed)
            except RulesError as error:
                raise RulesError(f"{variant.name}: {error}") from None

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
        return [
            chunk
            for part, matchup in enumerate(self.matchups)
            for chunk in chunks_of(
                part, self._job(matchup), self.seed, range(self.blocks(part)), self.chunk_size
            )
        ]

    def _job(self, matchup: Matchup) -> CompareJob:
        rules = tuple(variant.rules for variant in self.variants)
        judge = the_judge() if len(matchup) in self.judged else None
        reference = self.variants.index(self.base)
        return CompareJob(self.entrants, matchup, rules, reference, luck_by=judge)

    def _pairs(self, sums: Sequence[Sums]) -> list[Pair]:
        """All variants with each number of players that has been played, each with the reference."""
        reference = self.variants.index(self.base)
        return [
            pair
            for matchup, part in zip(self.matchups, sums, strict=True)
            if part
            for pair in compared(
                self.variants, reference, matchup, part, len(matchup) in self.judged
            )
        ]

    def rows(self, sums: Sequence[Sums]) -> dict[str, Iterable[Row]]:
        """The rows of all tables."""
        pairs = self._pairs(sums)
        return {
            "measures": measure_rows(pairs),
            "seats": seat_rows(pairs),
            "lengths": length_rows(pairs),
            "variants": [
                {
                    "variant": variant.name,
                    "differs": what_differs(self.base.rules, variant.rules),
                    "rules": json.dumps(variant.rules.as_dict(), ensure_ascii=False),
                    "note": "; ".join(self._about(variant)) or None,
                }
                for variant in self.variants
            ],
        }

    def _about(self, variant: Variant) -> Iterator[str]:
        for size in self.players:
            for bot, note in self.notes(variant.rules, size).items():
                yield f"{size} players: {quoted(bot)} plays {note}"

    def status(self, sums: Sequence[Sums]) -> str:
        """How long the games of the first variants are, with the fewest players so far."""
        sides = [side for side, _ in self._pairs(sums)[: len(self.variants)]][:3]
        means = [f"{s.variant.name} {MEASURES['turns'].read(s.sums).value:.1f}" for s in sides]
        return f"turns per game: {', '.join(means)}"

    def findings(self, sums: Sequence[Sums], frames: Frames) -> dict[str, Any]:
        """How variants differ from the reference."""
        stronger = self._stronger(sums)
        found = findings(frames["measures"], self.base.name, stronger, self.about)
        return {
            "reference": self.base.name,
            "stronger": {str(players): bot for players, bot in stronger.items() if bot},
            **dict(zip(("headline", "sentences", "by_variant"), found, strict=True)),
        }

    def _stronger(self, sums: Sequence[Sums]) -> dict[int, str | None]:
        """By number of players, the bot that skill is about."""
        return {side.sums.players: side.sums.stronger for side, _ in self._pairs(sums)}

    def remarks(self, sums: Sequence[Sums], frames: Frames) -> Iterator[str]:
        """What was played, and what skill is."""
        yield from self._about_games()
        tables = product(self.all_rules.values(), self.players)
        yield from self.about_bots(list(tables))
        yield from _about_skill(self._stronger(sums), self.base.name)
        if self.judged:
            yield from about_luck(frames["measures"], "value", "", "`first_seat` and `skill`")
        ended = [
            f"{percent(row['value'])} in {row['variant']} with {row['players']} players"
            for row in frames["measures"].filter(measure="unfinished").iter_rows(named=True)
            if row["value"]
        ]
        if ended:
            yield f"Games that the turn limit ended are counted as they stood: {listed(ended)}."

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
                bots = listed(list(map(quoted, dict.fromkeys(matchup))))
                yield f"In games of {len(matchup)}, only {bots} play."
        yield from about_few_blocks(min(self.blocks(part) for part in range(self.parts)))


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
        quoted(bot) if len(sizes) == 1 else f"{quoted(bot)} with {listed(players)} players"
        for bot, players in sizes.items()
    )
    yield (
        "Skill is the win share of the bot whose seats win more in "
        f"{reference} ({who}), divided by its fair share."
    )


MOST_DETAILED = 8
"""Variants with sentences of their own; of more, only how many differ and which differ most."""

MOST_NAMED = 3
"""Variants that a headline names, if it cannot name all."""

Rows = Mapping[tuple[str, str], list[Row]]
"""The compared rows of the table of measures by variant and measure: one per number of players."""


def findings(
    measures: pl.DataFrame,
    reference: str,
    stronger: Mapping[int, str | None],
    about: str | None = None,
) -> tuple[str, list[str], dict[str, list[str]]]:
    """A headline, sentences on all variants, and short lines on each, from the table of measures.

    `stronger`: by number of players, the bot that the measure `skill` is about. `about`: the measure
    that is asked about; then the headline says what it comes to, in every variant.
    """
    bots = {bot for bot in stronger.values() if bot}
    bot = quoted(*bots) if len(bots) == 1 else "the stronger bot"
    worded = [
        replace(measure, wording=measure.wording.about(bot))
        for measure in sorted(WORDED, key=lambda measure: measure.name != about)
        if bots or measure.name != "skill"
    ]
    rows: dict[tuple[str, str], list[Row]] = {}
    for row in measures.filter(pl.col("p_value").is_not_null()).iter_rows(named=True):
        rows.setdefault((row["variant"], row["measure"]), []).append(row)
    variants = [name for name in dict.fromkeys(measures["variant"]) if name != reference]
    if not variants:
        return _levels(worded[0], measures), [], {}
    many = len(variants) > MOST_DETAILED
    sentences = [_overview(words, variants, rows) for words in worded] if many else []
    by_variant = {} if many else {name: list(_about(name, worded, rows)) for name in variants}
    headline = _headline(variants, reference, worded, rows)
    if worded[0].name != about:
        return headline, sentences, by_variant
    return _levels(worded[0], measures), [headline, *sentences], by_variant


# -------------------------------------------------------------------------------------- variant by variant


def _about(variant: str, worded: Sequence[Measure], rows: Rows) -> Iterator[str]:
    """How a variant differs from the reference: a line per measure that does, one for all others."""
    alike = []
    for measure in worded:
        compared = rows[variant, measure.name]
        if any(map(is_significant, compared)):
            yield _difference(measure, compared)
        else:
            alike.append(_no_difference(measure, compared))
    if alike:
        yield f"no significant difference in {listed(alike)}"


def _difference(measure: Measure, compared: Sequence[Row]) -> str:
    """By how much a measure differs, by number of players."""
    parts = []
    for sign in (1, -1):
        sizes = [
            (_size(row, measure), f"({row['players']} players)")
            for row in compared
            if is_significant(row) and sign * row["difference"] > 0
        ]
        if sizes:
            (size, players), *others = sizes
            changed = f"{measure.wording.changed(sign, size)} {players}"
            parts.append(", ".join([changed, *(" ".join(other) for other in others)]))
    rest = [
        f"{value_text(row, 'difference', measure.scale)} ({row['players']} players)"
        for row in compared
        if not is_significant(row)
    ]
    if rest:
        parts.append(f"could be chance: {listed(rest)}")
    return "; ".join(parts)


def _no_difference(measure: Measure, compared: Sequence[Row]) -> str:
    """A measure that may be the same, and how far off it could be."""
    bounds = [row[bound] for row in compared for bound in ("difference_low", "difference_high")]
    reach, noun = measure.scale * max(map(abs, bounds)), measure.wording.noun
    if reach == 0:
        return f"{noun} (none at all)"
    if not isfinite(reach):
        return f"{noun} (unknown with so few games)"
    unit = 10 ** (floor(log10(reach)) - 1)
    reach = ceil(reach / unit - 1e-9) * unit  # to two digits, and not below the value
    return f"{noun} ({f'± {reach:.2g} {measure.unit}'.rstrip()})"


# ---------------------------------------------------------------------------------------------- all together


def _overview(measure: Measure, variants: Sequence[str], rows: Rows) -> str:
    """A measure over many variants: how many differ, and which differ most."""
    compared = [row for variant in variants for row in rows[variant, measure.name]]
    significant = [row for row in compared if is_significant(row)]
    if not significant:
        return f"No variant differs significantly from the reference in {measure.wording.noun}."
    count = len({row["variant"] for row in significant})
    apart = itemgetter("difference")
    extremes = [
        f"{measure.wording.changed(sign, _size(row, measure))} in {row['variant']} with {row['players']} players"
        for row, sign in ((max(significant, key=apart), 1), (min(significant, key=apart), -1))
        if sign * row["difference"] > 0
    ]
    return (
        f"{count} of {len(variants)} variants differ significantly from the reference in "
        f"{measure.wording.noun}: at most, {listed(extremes)}."
    )


def _headline(
    variants: Sequence[str], reference: str, worded: Sequence[Measure], rows: Rows
) -> str:
    """One sentence on the first measure that differs at all; mostly that is the length of games."""
    for measure in worded:
        significant = {
            variant: [row for row in rows[variant, measure.name] if is_significant(row)]
            for variant in variants
        }
        means = {
            variant: sum(row["difference"] for row in changed) / len(changed)
            for variant, changed in significant.items()
            if changed
        }
        differing = sorted(means, key=means.__getitem__)
        if not differing:
            continue
        few = len(differing) <= MOST_NAMED
        named = differing if few else [differing[0], differing[-1]]
        changes = [_range(measure, significant[variant]) for variant in named]
        among = listed([f"{change} in {v}" for change, v in zip(changes, named, strict=True)])
        subject = "games are " if measure.name == "turns" else ""
        varies = any(" to " in change or " or " in change for change in changes)
        sizes = " (depending on the number of players)" if varies else ""
        between = "" if few else f", and in between in {len(differing) - 2} others"
        alike = [variant for variant in variants if not significant[variant]]
        rest = f"; no significant difference in {_some(alike)}" if alike else ""
        return f"Compared with {reference}, {subject}{among}{sizes}{between}{rest}."
    nouns = listed([measure.wording.noun for measure in worded], "or")
    return f"No significant difference between {reference} and {_some(variants)} in {nouns}."


def _range(measure: Measure, rows: Sequence[Row]) -> str:
    """A change, from the least to the most over numbers of players; of turns in per cent."""
    is_length = measure.name == "turns"
    changes = [measure.scale * row["difference"] for row in rows]
    if is_length:
        changes = [100 * row["difference"] / (row["value"] - row["difference"]) for row in rows]
    ways = []
    for sign in (1, -1):
        sizes = sorted(abs(change) for change in changes if sign * change > 0)
        ends = dict.fromkeys(
            f"{size:{'.1f' if is_length else '.2g'}}" for size in sizes[:1] + sizes[-1:]
        )
        if is_length and sizes:
            ways.append(f"{' to '.join(ends)} % {'longer' if sign > 0 else 'shorter'}")
        elif sizes:
            ways.append(measure.wording.changed(sign, " to ".join(ends)))
    return " or ".join(ways)


def _levels(measure: Measure, measures: pl.DataFrame) -> str:
    """What a measure comes to, variant by variant; of the first seat, whether that is anything at all."""
    rows = measures.filter(measure=measure.name).to_dicts()
    by_variant: dict[str, list[str]] = {}
    for row in rows:
        value = value_text(row, "value", measure.scale, "+" if measure.signed else "")
        if has_luck(row):
            won = measure.difference_format if measure.signed else measure.format
            value += f" (won: {won.bare(row['as_won'])})"
        by_variant.setdefault(row["variant"], []).append(f"{value} with {row['players']}")
    levels = [f"{listed(sizes)} players in {variant}" for variant, sizes in by_variant.items()]
    before, _, after = measure.wording.level.partition(" {n}")
    luck = ", without luck" if any(map(has_luck, rows)) else ""
    text = f"{before} ({after.strip() or measure.unit}{luck}): {'; '.join(levels)}"
    if measure.name == "first_seat":
        text += f"; {_uneven(rows)}"
    return sentence(text)


def _uneven(rows: Sequence[Row]) -> str:
    """Where the first seat's share is significantly uneven, corrected for all of them."""
    errors = [half_width(row, "value") / NORMAL.quantile() for row in rows]
    tested = [
        row | {"p_value": Estimate(row["value"], error).p_value}
        for row, error in zip(rows, errors, strict=True)
    ]
    even = [row for row in with_adjusted(tested) if not is_significant(row)]
    if even and len(even) < len(rows):
        places = [f"{row['variant']} with {row['players']}" for row in even]
        return f"significant except for {listed(places)}"
    if even:
        return "all of which could be chance" if len(rows) > 1 else "which could be chance"
    return "all significant" if len(rows) > 1 else "significant"


def _some(variants: Sequence[str]) -> str:
    """Variants by name if they are few."""
    return listed(variants) if len(variants) <= MOST_NAMED else f"{len(variants)} variants"


def _size(row: Row, measure: Measure) -> str:
    """How large a difference is, with half its interval, e.g. 3.21 ± 0.10."""
    return value_text(row, "difference", measure.scale).lstrip("+-")


compare = study_function(Compare)
