"""The comparison: variants of the rules, played by the same bots with the same dice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY
from functools import cached_property
from itertools import cycle, islice
from math import ceil, floor, isfinite, log10
from typing import Annotated, Any, ClassVar

import polars as pl
from pydantic import AfterValidator
from pydantic.dataclasses import dataclass

from pickosim.amounts import listed, plus_minus, quoted, sentence
from pickosim.bots.entrants import Entrant, expanded, make_entrants
from pickosim.columns import Row
from pickosim.errors import PickosimError, RulesError
from pickosim.games.match import make_match
from pickosim.rules import RuleSet
from pickosim.runs.tasks import Sums
from pickosim.stats.distributions import normal_quantile
from pickosim.stats.intervals import CONFIDENCE, Estimate
from pickosim.studies.arms import Chunk, blocks_per_chunk, chunks_of
from pickosim.studies.measures import (
    MEASURES,
    WORDED,
    Measure,
    Wording,
    check_worded,
    half_width,
    is_significant,
    with_adjusted,
)
from pickosim.studies.options import (
    CHECKED,
    FROM_PLAN,
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
from pickosim.studies.study import Frames, Study, about_few_blocks, stored, study_function
from pickosim.studies.variants import (
    FRAMES,
    MAIN_FRAME,
    VIEWS,
    CompareJob,
    Setting,
    Variant,
    compare_frames,
    make_variants,
    named_variant,
    setting_of,
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
    sources: ClassVar[tuple[str, ...]] = ("studies.variants",)
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
        frames = compare_frames(self.settings(sums))
        notes = [
            "; ".join(
                f"{len(matchup)} players: {quoted(bot)} plays {note}"
                for matchup in self.matchups
                for bot, note in self.notes(variant.rules, len(matchup)).items()
            )
            for variant in self.variants
        ]
        noted = pl.Series("note", [note or None for note in notes], pl.String)
        return frames | {"variants": frames["variants"].with_columns(noted)}

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
                *self.about_bots(
                    [
                        (variant.rules, len(matchup))
                        for variant in self.variants
                        for matchup in self.matchups
                    ]
                ),
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


MOST_DETAILED = 8
"""Variants with sentences of their own; of more, only how many differ and which differ most."""

MOST_NAMED = 3
"""Variants that a headline names, if it cannot name all."""

Rows = Mapping[tuple[str, str], list[Row]]
"""The compared rows of the table of measures by variant and measure: one per number of players."""


class _Words:
    """How sentences speak of a measure in this run."""

    def __init__(self, measure: Measure, bot: str) -> None:
        assert measure.wording is not None
        self.measure = measure
        self.name = measure.name
        wording = measure.wording
        self.wording = Wording(
            *(
                text.replace("{bot}", bot)
                for text in (wording.noun, wording.more, wording.less, wording.level)
            )
        )

    def changed(self, difference: float, amount: str) -> str:
        """That it is more, or less, by an amount."""
        template = self.wording.more if difference > 0 else self.wording.less
        return template.format(n=amount)


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
        _Words(measure, bot)
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


def _about(variant: str, worded: Sequence[_Words], rows: Rows) -> Iterator[str]:
    """How a variant differs from the reference: a line per measure that does, one for all others."""
    alike = []
    for words in worded:
        compared = rows[variant, words.name]
        if any(map(is_significant, compared)):
            yield _difference(words, compared)
        else:
            alike.append(_no_difference(words, compared))
    if alike:
        yield f"no significant difference in {listed(alike)}"


def _difference(words: _Words, compared: Sequence[Row]) -> str:
    """By how much a measure differs, by number of players."""
    parts = []
    for sign in (1, -1):
        significant = [row for row in compared if is_significant(row) and sign * _amount(row) > 0]
        if significant:
            first, *others = significant
            parts.append(
                ", ".join(
                    [
                        f"{words.changed(sign, _size(first, words))} {_players(first)}",
                        *(f"{_size(row, words)} {_players(row)}" for row in others),
                    ]
                )
            )
    rest = [f"{_signed(row, words)} {_players(row)}" for row in compared if not is_significant(row)]
    if rest:
        parts.append(f"could be chance: {listed(rest)}")
    return "; ".join(parts)


def _players(row: Row) -> str:
    return f"({row['players']} players)"


def _no_difference(words: _Words, compared: Sequence[Row]) -> str:
    """A measure that may be the same, and how far off it could be."""
    bounds = [row[bound] for row in compared for bound in ("difference_low", "difference_high")]
    reach = words.measure.scale * max(map(abs, bounds))
    if reach == 0:
        return f"{words.wording.noun} (none at all)"
    if not isfinite(reach):
        return f"{words.wording.noun} (unknown with so few games)"
    return f"{words.wording.noun} ({f'± {_rounded_up(reach)} {words.measure.unit}'.rstrip()})"


# ---------------------------------------------------------------------------------------------- all together


def _overview(words: _Words, variants: Sequence[str], rows: Rows) -> str:
    """A measure over many variants: how many differ, and which differ most."""
    found = [row for variant in variants for row in rows[variant, words.name]]
    beyond = [row for row in found if is_significant(row)]
    if not beyond:
        return f"No variant differs significantly from the reference in {words.wording.noun}."
    count = len({row["variant"] for row in beyond})
    ends = [max(beyond, key=_amount), min(beyond, key=_amount)]
    extremes = [row for row, sign in zip(ends, (1, -1), strict=True) if sign * _amount(row) > 0]
    said = [
        f"{words.changed(_amount(row), _size(row, words))} in {row['variant']} with {row['players']} "
        "players"
        for row in extremes
    ]
    return (
        f"{count} of {len(variants)} variants differ significantly from the reference in "
        f"{words.wording.noun}: at most, {listed(said)}."
    )


def _headline(variants: Sequence[str], reference: str, worded: Sequence[_Words], rows: Rows) -> str:
    """One sentence on the first measure that differs at all; mostly that is the length of games."""
    for words in worded:
        beyond = {
            variant: [row for row in rows[variant, words.name] if is_significant(row)]
            for variant in variants
        }
        differing = sorted((v for v in variants if beyond[v]), key=lambda v: _mean(beyond[v]))
        if not differing:
            continue
        few = len(differing) <= MOST_NAMED
        named = differing if few else [differing[0], differing[-1]]
        changes = [_range(words, beyond[variant]) for variant in named]
        among = listed([f"{said} in {v}" for said, v in zip(changes, named, strict=True)])
        subject = "games are " if words.name == "turns" else ""
        varies = any(" to " in said or " or " in said for said in changes)
        sizes = " (depending on the number of players)" if varies else ""
        between = "" if few else f", and in between in {len(differing) - 2} others"
        alike = [variant for variant in variants if not beyond[variant]]
        rest = f"; no significant difference in {_some(alike)}" if alike else ""
        return f"Compared with {reference}, {subject}{among}{sizes}{between}{rest}."
    nouns = [words.wording.noun for words in worded]
    return (
        f"No significant difference between {reference} and {_some(variants)} in "
        f"{', '.join(nouns[:-1])} or {nouns[-1]}."
    )


def _range(words: _Words, found: Sequence[Row]) -> str:
    """A change, from the least to the most over numbers of players; of turns in per cent."""
    if words.name == "turns":
        signed = [100 * _amount(row) / (row["value"] - _amount(row)) for row in found]
    else:
        signed = [words.measure.scale * _amount(row) for row in found]

    def one_way(sign: int) -> str:
        sizes = sorted(abs(size) for size in signed if sign * size > 0)
        places = ".1f" if words.name == "turns" else ".2g"
        ends = list(dict.fromkeys(f"{size:{places}}" for size in (sizes[0], sizes[-1])))
        amount = " to ".join(ends)
        if words.name == "turns":
            return f"{amount} % {'longer' if sign > 0 else 'shorter'}"
        return words.changed(sign, amount)

    ways = [one_way(sign) for sign in (1, -1) if any(sign * size > 0 for size in signed)]
    return " or ".join(ways)


def _levels(words: _Words, measures: pl.DataFrame) -> str:
    """What a measure comes to, variant by variant; of the first seat, whether that is anything at all."""
    found = measures.filter(pl.col("measure") == words.name).to_dicts()
    sign, scale = "+" if words.measure.signed else "", words.measure.scale
    said = []
    for variant in dict.fromkeys(row["variant"] for row in found):
        sizes = [
            f"{plus_minus(scale * row['value'], scale * half_width(row, 'value'), sign)} with "
            f"{row['players']}"
            for row in found
            if row["variant"] == variant
        ]
        said.append(f"{listed(sizes)} players in {variant}")
    before, _, after = words.wording.level.partition(" {n}")
    text = f"{before} ({after.strip() or words.measure.unit}): {'; '.join(said)}"
    if words.name == "first_seat":
        text += f"; {_uneven(found)}"
    return sentence(text)


def _uneven(found: Sequence[Row]) -> str:
    """Where the first seat's share is significantly uneven, corrected for all of them."""
    width = normal_quantile(0.5 + CONFIDENCE / 2)
    tested = [
        row | {"p_value": Estimate(row["value"], half_width(row, "value") / width).p_value}
        for row in found
    ]
    even = [row for row in with_adjusted(tested) if not is_significant(row)]
    if not even:
        return "all significant" if len(found) > 1 else "significant"
    if len(even) == len(found):
        return "all of which could be chance" if len(found) > 1 else "which could be chance"
    places = [f"{row['variant']} with {row['players']}" for row in even]
    return f"significant except for {listed(places)}"


def _some(variants: Sequence[str]) -> str:
    """Variants by name if they are few."""
    return listed(variants) if len(variants) <= MOST_NAMED else f"{len(variants)} variants"


def _mean(found: Sequence[Row]) -> float:
    return sum(map(_amount, found)) / len(found)


# -------------------------------------------------------------------------------------------------- numbers


def _amount(row: Row) -> float:
    return float(row["difference"])


def _size(row: Row, words: _Words) -> str:
    """How large a difference is, with half its interval, e.g. 3.21 ± 0.10."""
    return _signed(row, words).lstrip("+-")


def _signed(row: Row, words: _Words) -> str:
    """A difference with half its interval, e.g. -3.21 ± 0.10."""
    scale = words.measure.scale
    return plus_minus(scale * _amount(row), scale * half_width(row, "difference"), sign="+")


def _rounded_up(value: float) -> str:
    """To two digits, and not below the value."""
    unit = 10 ** (floor(log10(value)) - 1)
    return f"{ceil(value / unit - 1e-9) * unit:.2g}"


compare = study_function(Compare)
