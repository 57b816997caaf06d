"""The tables of a comparison, from its sums: every measure of every variant, and how far it differs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import binom

from pickosim.runs.sums import Sums
from pickosim.stats.moments import CONFIDENCE, Estimate, share_interval
from pickosim.stats.quantiles import histogram_quantile
from pickosim.studies.measures import (
    SHARES,
    Ints,
    Measured,
    Reading,
    difference,
    interval,
    read,
    read_bot,
    read_seat,
)
from pickosim.studies.table_rows import Row, corrected, rates
from pickosim.studies.variants import Variant, what_differs

PERCENTILES = (5, 50, 95)

LENGTH_GROUPS = 32
"""Groups that blocks are dealt to, to tell how sure a difference of percentiles is."""

DRAWS = 2000
"""Of the bootstrap."""

MEASURES = (
    "turns",
    "rolls",
    *(f"turns_p{percent}" for percent in PERCENTILES),
    *(f"rolls_p{percent}" for percent in PERCENTILES),
    "fails_no_new_face",
    "fails_no_worm",
    "fails_nothing_to_claim",
    "steals",
    "hen_steals",
    "flips",
    "tiles_left_out",
    "margin",
    "ties",
    "lead_changes",
    "first_seat",
    "skill",
    "unfinished",
)
"""All measures: means of games; but fails are shares of turns, ties and unfinished shares of games.

`turns_p5`: the smallest number that 5 % of all games do not exceed. `margin`: the best score minus the
second best. `tiles_left_out`: tiles that nobody ends with. `first_seat`: the win share of the seat
that begins, above that of all seats. `skill`: what the stronger bot wins by its fair share, 1 if its
seats win no more often than others; there is none where all bots are the same.
"""

_Difference = {
    "difference": pl.Float64,
    "difference_low": pl.Float64,
    "difference_high": pl.Float64,
}

SCHEMAS: dict[str, dict[str, Any]] = {
    "measures": {
        "players": pl.Int32,
        "variant": pl.String,
        "measure": pl.String,
        "games": pl.Int64,
        "value": pl.Float64,
        "value_low": pl.Float64,
        "value_high": pl.Float64,
        **_Difference,
        "p_value": pl.Float64,
        "p_adjusted": pl.Float64,
    },
    "seats": {
        "players": pl.Int32,
        "variant": pl.String,
        "seat": pl.Int32,
        "games": pl.Int64,
        "win_share": pl.Float64,
        "win_share_low": pl.Float64,
        "win_share_high": pl.Float64,
        **_Difference,
    },
    "lengths": {
        "players": pl.Int32,
        "variant": pl.String,
        "turns": pl.Int32,
        "games": pl.Int64,
    },
    "variants": {"variant": pl.String, "differs": pl.String, "rules": pl.String},
}
"""The columns of every table. What is about a difference is null for the reference.

Differences are to the reference, paired by dice. Percentiles are whole numbers, so that theirs have no
p value. Bounds that so few games cannot tell are null.
"""


class Side(NamedTuple):
    """A variant at a table size: its sums, and the products of its values with the reference's."""

    variant: Variant
    measured: Measured
    crossed: Ints
    """(V, V)"""
    turns: Ints
    """(LENGTH_GROUPS, T): games by number of turns; see `length_counts`."""
    rolls: Ints
    """(LENGTH_GROUPS, R): games by number of rolls."""


class Setting(NamedTuple):
    """All variants at one table size, and which of them is the reference."""

    sides: tuple[Side, ...]
    reference: int

    @property
    def base(self) -> Side:
        """The reference."""
        return self.sides[self.reference]

    @property
    def stronger(self) -> str | None:
        """The bot that wins most by its fair share in the reference; None if all are the same."""
        measured = self.base.measured
        bots = list(dict.fromkeys(measured.table))
        return max(bots, key=lambda bot: read_bot(measured, bot).value) if len(bots) > 1 else None


def setting_of(
    variants: Sequence[Variant], reference: int, table: tuple[str, ...], rotations: int, part: Sums
) -> Setting:
    """The sums of a table size, variant by variant."""
    sides = []
    for number, variant in enumerate(variants):
        measured = Measured(
            table,
            rotations,
            int(part["blocks"]),
            part["totals"][number],
            part["products"][number],
        )
        crossed = part["crossed"][number]
        sides.append(Side(variant, measured, crossed, part["turns"][number], part["rolls"][number]))
    return Setting(tuple(sides), reference)


def compare_tables(settings: Sequence[Setting]) -> dict[str, pl.DataFrame]:
    """All tables, as in SCHEMAS; one setting a table size."""
    rows: dict[str, list[Row]] = {
        "measures": corrected([row for setting in settings for row in _measures(setting)]),
        "seats": [row for setting in settings for row in _seats(setting)],
        "lengths": [row for setting in settings for row in _lengths(setting)],
        "variants": [
            {
                "variant": side.variant.name,
                "differs": what_differs(settings[0].base.variant.rules, side.variant.rules),
                "rules": json.dumps(side.variant.rules.as_dict(), ensure_ascii=False),
            }
            for side in settings[0].sides
        ],
    }
    return {name: pl.DataFrame(rows[name], schema) for name, schema in SCHEMAS.items()}


def _measures(setting: Setting) -> Iterator[Row]:
    stronger = setting.stronger
    for side in setting.sides:
        for measure in MEASURES:
            if measure == "skill" and stronger is None:
                continue
            yield {
                **_common(side),
                "measure": measure,
                "games": side.measured.games,
                **(
                    _percentile(setting, side, measure)
                    if "_p" in measure
                    else _rate(setting, side, measure, stronger)
                ),
            }


def _seats(setting: Setting) -> Iterator[Row]:
    for side in setting.sides:
        for seat in range(side.measured.players):
            reading = read_seat(side.measured, seat)
            base = read_seat(setting.base.measured, seat)
            low, high = interval(side.measured, reading, share=True)
            yield {
                **_common(side),
                "seat": seat,
                "games": side.measured.games,
                "win_share": reading.value,
                "win_share_low": low,
                "win_share_high": high,
                **_differs(setting, side, reading, base, share=True)[0],
            }


def _lengths(setting: Setting) -> Iterator[Row]:
    for side in setting.sides:
        for turns, games in enumerate(side.turns.sum(axis=0)):
            if games:
                yield {**_common(side), "turns": turns, "games": int(games)}


def _common(side: Side) -> Row:
    return {"players": side.measured.players, "variant": side.variant.name}


# ------------------------------------------------------------------------------ means, shares, ratios


def _rate(setting: Setting, side: Side, measure: str, stronger: str | None) -> Row:
    """A measure that is a mean, a share or a ratio, with its paired difference."""
    reading, base = (
        read_bot(of, stronger) if measure == "skill" and stronger else read(of, measure)
        for of in (side.measured, setting.base.measured)
    )
    share = measure in SHARES
    low, high = interval(side.measured, reading, share=share)
    columns, estimate = _differs(setting, side, reading, base, share=share)
    return {
        **rates("value", (reading.value, low, high)),
        **columns,
        "p_value": None if estimate is None else estimate.p_value,
    }


def _differs(
    setting: Setting, side: Side, reading: Reading, base: Reading, *, share: bool
) -> tuple[Row, Estimate | None]:
    """How far a measure differs from the reference's, as columns and as an estimate."""
    if side is setting.base:
        return rates("difference", (None, None, None)), None
    estimate = difference(side.measured, reading, setting.base.measured, base, side.crossed)
    low, high = estimate.interval()
    if share and low == high == 0 and what_differs(setting.base.variant.rules, side.variant.rules):
        # No block differs; but what differs in a few of all blocks need not show in so many.
        blocks = side.measured.blocks
        _, high = share_interval([(blocks, 0, 0)])
        low = -high
    return rates("difference", (estimate.mean, low, high)), estimate


# ---------------------------------------------------------------------------------------- percentiles


def length_counts(lengths: Sequence[NDArray[np.unsignedinteger[Any]]], first: int) -> Ints:
    """(LENGTH_GROUPS, T): games by length, from one array a seating of the blocks from `first` on.

    Blocks are dealt to groups by their number. So a group has the same dice in all variants, and how
    far groups differ tells how sure the difference of two percentiles is.
    """
    longest = 1 + int(max(of.max() for of in lengths))
    group = (first + np.arange(len(lengths[0]))) % LENGTH_GROUPS
    places = np.concatenate([group * longest + of for of in lengths])
    counts = np.bincount(places, minlength=LENGTH_GROUPS * longest)
    return counts.reshape(LENGTH_GROUPS, longest)


def _percentile(setting: Setting, side: Side, measure: str) -> Row:
    """A percentile of turns or rolls, and how far it differs from the reference's."""
    name, _, percent = measure.partition("_p")
    blocks, quantile = side.measured.blocks, int(percent) / 100
    own, base = (getattr(of, name) for of in (side, setting.base))
    value = histogram_quantile(own.sum(axis=0), quantile)
    apart: tuple[float | None, ...] = (None, None, None)
    if side is not setting.base:
        difference = value - histogram_quantile(base.sum(axis=0), quantile)
        apart = (difference, *_apart_interval(own, base, quantile, blocks))
    return {
        **rates("value", (value, *quantile_interval(own.sum(axis=0), quantile, blocks))),
        **rates("difference", apart),
        "p_value": None,
    }


def _apart_interval(
    own: Ints, base: Ints, quantile: float, blocks: int
) -> tuple[float | None, float | None]:
    """Interval for the difference of two quantiles, paired by dice; None if blocks are too few.

    By the bootstrap (Efron 1979): groups of blocks are drawn again and again, the same for both.
    """
    if blocks < 2 * LENGTH_GROUPS:
        return None, None
    equal = np.full(LENGTH_GROUPS, 1 / LENGTH_GROUPS)
    drawn = np.random.default_rng(0).multinomial(LENGTH_GROUPS, equal, DRAWS).astype(np.float64)
    apart = _quantiles(drawn @ own, quantile) - _quantiles(drawn @ base, quantile)
    miss = (1 - CONFIDENCE) / 2
    low, high = np.quantile(apart, [miss, 1 - miss], method="inverted_cdf")
    return float(low), float(high)


def _quantiles(counts: NDArray[np.float64], quantile: float) -> Ints:
    """(D,): the quantile of each of the histograms (D, T); as `histogram_quantile` has it."""
    below = np.cumsum(counts, axis=1)
    return np.asarray((below >= quantile * below[:, -1:]).argmax(axis=1))


def quantile_interval(
    counts: Ints, quantile: float, blocks: int, confidence: float = CONFIDENCE
) -> tuple[int | None, int | None]:
    """Interval for a quantile of a histogram, by the binomial distribution of ranks; None: unbounded.

    As if a block were a single game: a block of several games tells at least as much, since no mean of
    several shares varies more than a single one can (David and Nagaraja, Order Statistics, 2003,
    section 7.1, for independent values).
    """
    miss = (1 - confidence) / 2
    low = int(binom.ppf(miss, blocks, quantile))
    high = int(binom.ppf(1 - miss, blocks, quantile)) + 1
    return (
        histogram_quantile(counts, low / blocks) if low > 0 else None,
        histogram_quantile(counts, high / blocks) if high <= blocks else None,
    )
