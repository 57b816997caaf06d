"""What a comparison found, in sentences: what changed, by how much, and whether beyond chance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import ceil, floor, isfinite, log10
from typing import NamedTuple

import polars as pl
from scipy.stats import norm

from pickosim.errors import PickosimError, suggest
from pickosim.stats.moments import CONFIDENCE, Estimate
from pickosim.studies.sentences import is_beyond_chance, listed, plus_minus
from pickosim.studies.table_rows import Row, corrected

MOST_TOLD = 8
"""Variants that are told of one by one; of more, only how many differ and which differ most."""

MOST_NAMED = 3
"""Variants that a headline names, if it cannot name all."""

LONGEST_NAME = 24
"""Of a reference that every sentence repeats."""

Rows = Mapping[tuple[str, str], list[Row]]
"""The compared rows of the table of measures by variant and measure: one a table size."""


class Told(NamedTuple):
    """How a measure is told of."""

    measure: str
    noun: str
    """As in: no difference in …"""
    subject: str
    """As in: … 3.2 turns more."""
    unit: str
    scale: float = 1.0
    more: str = "more"
    less: str = "less"
    level: str = ""
    """As in: … 29.3 turns in classic; the subject if nothing else is said."""
    level_unit: str = ""
    """Of that; the unit if nothing else is said."""

    def direction(self, difference: float) -> str:
        """The word for a difference to that side."""
        return self.more if difference > 0 else self.less


def told_measures(stronger: Sequence[str]) -> list[Told]:
    """What sentences are about, the most important first; all else stands in the table."""
    bot = stronger[0] if len(set(stronger)) == 1 else "the stronger bot"
    skill = Told("skill", f"what {bot} wins", f"{bot} wins", "of a fair share")
    first_seat = Told(
        "first_seat", "what the first seat wins", "the first seat wins", "points", 100
    )
    return [
        Told("turns", "turns a game", "a game takes", "turns"),
        first_seat._replace(level="compared with an even share, the first seat wins"),
        *([skill] if stronger else []),
        Told("margin", "the winner's margin", "the winner leads by", "worms"),
        Told("lead_changes", "lead changes", "the lead changes", "times a game"),
        Told("ties", "ties", "ties are", "points", 100, "more frequent", "rarer")._replace(
            level="games with a shared first place are", level_unit="% of all"
        ),
    ]


def check_about(about: str | None) -> None:
    """Refuse a measure that headlines cannot be about."""
    known = [one.measure for one in told_measures(["a bot"])]
    if about is not None and about not in known:
        raise PickosimError(
            f'A headline is about {", ".join(known[:-1])} or {known[-1]}, not about "{about}"'
            f"{suggest(about, known) or '.'}"
        )


def findings(
    measures: pl.DataFrame,
    reference: str,
    stronger: Mapping[int, str | None],
    about: str | None = None,
) -> tuple[str, list[str]]:
    """A headline and sentences, from the table of measures.

    `stronger`: by number of players, the bot that the measure `skill` is about. `about`: the measure
    that is asked about; then the headline says what it comes to, in every variant.
    """
    told = told_measures([bot for bot in stronger.values() if bot])
    told.sort(key=lambda one: one.measure != about)
    rows: dict[tuple[str, str], list[Row]] = {}
    for row in measures.filter(pl.col("p_value").is_not_null()).iter_rows(named=True):
        rows.setdefault((row["variant"], row["measure"]), []).append(row)
    variants = [name for name in dict.fromkeys(measures["variant"]) if name != reference]
    if len(variants) <= MOST_TOLD:
        sentences = [
            said for name in variants for said in _about(name, short(reference), told, rows)
        ]
    else:
        sentences = [_overview(one, variants, rows) for one in told]
    headline = _headline(variants, reference, told, rows)
    if told[0].measure != about:
        return headline, sentences
    return _levels(told[0], measures), [headline, *sentences]


# ------------------------------------------------------------------------------- variant by variant


def _about(variant: str, reference: str, told: Sequence[Told], rows: Rows) -> Iterator[str]:
    """A variant against the reference: a sentence a measure that differs, one for all others."""
    alike = []
    for one in told:
        found = rows[variant, one.measure]
        if any(map(is_beyond_chance, found)):
            yield _difference(variant, reference, one, found)
        else:
            alike.append(_no_difference(one, found))
    if alike:
        yield f"{variant} against {reference}: no difference beyond chance in {listed(alike)}."


def _difference(variant: str, reference: str, one: Told, found: Sequence[Row]) -> str:
    """By how much a measure differs, table size by table size."""
    beyond = [row for row in found if is_beyond_chance(row)]
    rest = [row for row in found if not is_beyond_chance(row)]
    sizes = [
        f"{_size(row, one)}{f' {one.unit}' if row is beyond[0] else ''} "
        f"{one.direction(_amount(row))} with {row['players']}{' players' if row is beyond[0] else ''}"
        for row in beyond
    ]
    said = f"{variant} against {reference}, beyond chance: {one.subject} {listed(sizes)}"
    if rest:
        others = [f"{_signed(row, one)} with {row['players']}" for row in rest]
        said += f"; not beyond chance: {listed(others)}"
    return f"{said}."


def _no_difference(one: Told, found: Sequence[Row]) -> str:
    """A measure that may be the same, and how far off it could be."""
    bounds = [row[bound] for row in found for bound in ("difference_low", "difference_high")]
    reach = one.scale * max(map(abs, bounds))
    if reach == 0:
        return f"{one.noun} (none at all)"
    if not isfinite(reach):
        return f"{one.noun} (so few games tell nothing)"
    return f"{one.noun} (within ± {_rounded_up(reach)} {one.unit})"


# ---------------------------------------------------------------------------------- all at a glance


def _overview(one: Told, variants: Sequence[str], rows: Rows) -> str:
    """A measure over many variants: how many differ, and which differ most."""
    found = [row for variant in variants for row in rows[variant, one.measure]]
    beyond = [row for row in found if is_beyond_chance(row)]
    if not beyond:
        return f"No variant differs from the reference beyond chance in {one.noun}."
    count = len({row["variant"] for row in beyond})
    ends = [max(beyond, key=_amount), min(beyond, key=_amount)]
    extremes = [row for row, sign in zip(ends, (1, -1), strict=True) if sign * _amount(row) > 0]
    said = [
        f"{one.subject} {_size(row, one)} {one.unit} {one.direction(_amount(row))} in "
        f"{row['variant']} with {row['players']} players"
        for row in extremes
    ]
    return (
        f"{count} of {len(variants)} variants differ from the reference beyond chance in {one.noun}: "
        f"at most, {listed(said)}."
    )


def _headline(variants: Sequence[str], reference: str, told: Sequence[Told], rows: Rows) -> str:
    """One sentence on the first measure that differs at all; mostly that is the length of games."""
    for one in told:
        beyond = {
            variant: [row for row in rows[variant, one.measure] if is_beyond_chance(row)]
            for variant in variants
        }
        differing = sorted((v for v in variants if beyond[v]), key=lambda v: _mean(beyond[v]))
        if not differing:
            continue
        few = len(differing) <= MOST_NAMED
        named = differing if few else [differing[0], differing[-1]]
        among = listed([f"{_range(beyond[variant], one)} in {variant}" for variant in named])
        between = "" if few else f", and in between in {len(differing) - 2} others"
        alike = [variant for variant in variants if not beyond[variant]]
        rest = f"; no difference beyond chance in {_some(alike)}" if alike else ""
        subject = "games are" if one.measure == "turns" else one.subject
        sizes = " (by number of players)" if " to " in among else ""
        return f"Against {reference}, {subject} {among}{sizes}{between}{rest}."
    return (
        f"No difference beyond chance between {reference} and {_some(variants)} in "
        f"{', '.join(one.noun for one in told[:-1])} or {told[-1].noun}."
    )


def _levels(one: Told, measures: pl.DataFrame) -> str:
    """What a measure comes to, variant by variant; of the first seat, whether that is anything at all."""
    found = measures.filter(pl.col("measure") == one.measure).to_dicts()
    sign = "+" if one.measure == "first_seat" else ""
    said = []
    for variant in dict.fromkeys(row["variant"] for row in found):
        sizes = [
            f"{plus_minus(one.scale * row['value'], one.scale * _half(row), sign)} with {row['players']}"
            for row in found
            if row["variant"] == variant
        ]
        said.append(f"{listed(sizes)} players in {variant}")
    text = f"{one.level or one.subject} ({one.level_unit or one.unit}) {'; '.join(said)}"
    if one.measure == "first_seat":
        text += f": {_beyond_even(found)}"
    return f"{text[0].upper()}{text[1:]}."


def _beyond_even(found: Sequence[Row]) -> str:
    """Where the first seat's share is not even, beyond chance, corrected for all of them."""
    width = float(norm.ppf(0.5 + CONFIDENCE / 2))
    tested = [
        row | {"p_value": Estimate(row["value"], _half(row) / width).p_value} for row in found
    ]
    even = [row for row in corrected(tested) if not is_beyond_chance(row)]
    if not even:
        return "all beyond chance" if len(found) > 1 else "beyond chance"
    if len(even) == len(found):
        return "none of it beyond chance"
    places = [f"{row['variant']} with {row['players']}" for row in even]
    return f"beyond chance but for {listed(places)}"


def _half(row: Row) -> float:
    """Half the interval of a value."""
    return float(row["value_high"] - row["value_low"]) / 2


def _some(variants: Sequence[str]) -> str:
    """Variants by name if they are few."""
    return listed(variants) if len(variants) <= MOST_NAMED else f"{len(variants)} variants"


def _range(found: Sequence[Row], one: Told) -> str:
    """A difference, from the least to the most over table sizes; of turns, how much longer games are."""
    if one.measure == "turns":
        signed = [100 * _amount(row) / (row["value"] - _amount(row)) for row in found]
        one = one._replace(unit="%", more="longer", less="shorter")
    else:
        signed = [one.scale * _amount(row) for row in found]
    places = ".1f" if one.measure == "turns" else ".2g"
    ends = [f"{size:{places}}" for size in sorted(map(abs, signed))]
    if min(signed) < 0 < max(signed):
        low, high = f"{-min(signed):{places}}", f"{max(signed):{places}}"
        return f"{low} {one.unit} {one.less} to {high} {one.unit} {one.more}"
    amount = ends[0] if ends[0] == ends[-1] else f"{ends[0]} to {ends[-1]}"
    return f"{amount} {one.unit} {one.direction(signed[0])}"


def _mean(found: Sequence[Row]) -> float:
    return sum(map(_amount, found)) / len(found)


# ------------------------------------------------------------------------------------------ numbers


def _amount(row: Row) -> float:
    return float(row["difference"])


def _size(row: Row, one: Told) -> str:
    """How large a difference is, with its half-width, as 3.21 ± 0.10."""
    return _signed(row, one).lstrip("+-")


def _signed(row: Row, one: Told) -> str:
    """A difference with its half-width, as -3.21 ± 0.10."""
    half = one.scale * (row["difference_high"] - row["difference_low"]) / 2
    return plus_minus(one.scale * _amount(row), half, sign="+")


def _rounded_up(value: float) -> str:
    """To two digits, and not below the value."""
    unit = 10 ** (floor(log10(value)) - 1)
    return f"{ceil(value / unit - 1e-9) * unit:.2g}"


def short(reference: str) -> str:
    """The reference by name, unless that is long to repeat."""
    return reference if len(reference) <= LONGEST_NAME else "the reference"
