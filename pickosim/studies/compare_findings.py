"""How a comparison is shown: what changed, by how much and whether significantly, in sentences; and its views."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from math import ceil, floor, isfinite, log10

import polars as pl

from pickosim.columns import Row
from pickosim.rule_files import as_arguments, complete_rules
from pickosim.runs.run import Results
from pickosim.stats.distributions import normal_quantile
from pickosim.stats.intervals import CONFIDENCE, Estimate
from pickosim.studies.compare_results import FRAMES
from pickosim.studies.measures import (
    WORDED,
    Measure,
    Wording,
    measure_label,
    with_adjusted,
)
from pickosim.studies.sentences import (
    SIGNIFICANCE,
    half_width,
    is_significant,
    listed,
    plus_minus,
    quoted,
    sentence,
)
from pickosim.studies.views import Dots, Drawn, View

MOST_DETAILED = 8
"""Variants with sentences of their own; of more, only how many differ and which differ most."""

MOST_NAMED = 3
"""Variants that a headline names, if it cannot name all."""

LONGEST_NAME = 24
"""Letters of a reference that every sentence repeats."""

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


def short(reference: str) -> str:
    """The reference by name, unless that is long to repeat."""
    return reference if len(reference) <= LONGEST_NAME else "the reference"


# --------------------------------------------------------------------------------------------------- views

DRAWN = ("turns", "first_seat", "skill")
"""The measures whose differences a terminal draws."""


def _tested(results: Results) -> pl.DataFrame:
    """What is compared, without measures in which nothing differs at all."""
    tested = results.measures.filter(pl.col("p_adjusted").is_not_null())
    return tested.filter((pl.col("difference") != 0).any().over("measure"))


def _unchanged(results: Results) -> str:
    """The measures in which nothing differs at all."""
    largest = results.measures.group_by("measure", maintain_order=True).agg(
        pl.col("difference").abs().max()
    )
    same = largest.filter(pl.col("difference") == 0)["measure"].to_list()
    names = "; ".join(map(measure_label, same))
    return f"No difference at all, and not drawn: {names}." if same else ""


def _main_differences(results: Results) -> pl.DataFrame:
    """The differences that a terminal draws, measure by measure and variant by variant."""
    reference = results.manifest["result"]["reference"]
    rows = results.measures.filter(pl.col("variant") != reference)
    variants = list(dict.fromkeys(rows["variant"]))
    parts = [rows.filter(measure=name, variant=variant) for name in DRAWN for variant in variants]
    return pl.concat(parts) if parts else rows


def _difference_title(results: Results, rows: Sequence[Row]) -> str:
    bots = set(results.manifest["result"].get("stronger", {}).values())
    bot = quoted(*bots) if len(bots) == 1 else "the stronger bot"
    reference = short(results.manifest["result"]["reference"])
    label = measure_label(rows[0]["measure"], bot)
    return sentence(f"{label}: difference from {reference}").rstrip(".")


def _variants(results: Results) -> pl.DataFrame:
    """The variants, with the arguments that give their rules."""
    reference = results.manifest["result"]["reference"]
    return pl.DataFrame(
        {
            "variant": row["variant"],
            "differs": "the reference"
            if row["variant"] == reference
            else row["differs"] or "nothing",
            "rules": shlex.join(as_arguments(complete_rules(json.loads(row["rules"])))),
        }
        for row in results.variants.to_dicts()
    )


VIEWS = (
    View(
        FRAMES["measures"],
        "What a variant changes",
        "Difference from the reference, both with the same dice, with 95 % intervals; every small chart has its own "
        f"scale; points are percentage points. A full dot is significant (p below {SIGNIFICANCE:g}, corrected for "
        "the number of comparisons), a hollow one could be chance.",
        remark=_unchanged,
        name="effects",
        chart=Dots(
            "difference",
            "variant",
            "difference from the reference",
            panel="measure",
            group="players",
            at=0,
            tested=True,
            own_scales=True,
            rows=_tested,
        ),
        text=(
            "measures",
            Drawn(
                _difference_title,
                "variant players difference",
                "difference",
                {"difference": "difference "},
                each="measure",
                rows=_main_differences,
            ),
        ),
        brief=("main_measures",),
        leads=True,
    ),
    View(
        FRAMES["lengths"],
        "Length of a game",
        "The dot is the median; half of all games lie in the bar, nine in ten on the line.",
        chart="variant_lengths",
    ),
    View(
        FRAMES["seats"],
        "Seats",
        "What a seat wins above or below an even share, with 95 % intervals. Seat 0 begins.",
        chart=Dots(
            "win_share",
            "variant",
            "points above an even share",
            panel="players",
            group="seat",
            at=0,
            above="even",
            rows=lambda results: results.seats.with_columns(even=1 / pl.col("players")),
        ),
    ),
    View(
        FRAMES["variants"],
        "The variants",
        "What each differs in from the reference, and how it is asked for.",
        rows=_variants,
        is_open=True,
    ),
)
