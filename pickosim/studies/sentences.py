"""Sentences: parts that findings share, and when a difference may be called significant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import floor, isfinite, log10
from typing import TYPE_CHECKING

from pickosim.columns import Row

if TYPE_CHECKING:
    from pickosim.studies.schedule import Earlier

SIGNIFICANCE = 0.05
"""A difference is called significant if its corrected p value is below."""

FEW_BLOCKS = 100
"""With fewer blocks there is little to be seen: half an interval of a win share is up to 10 points."""


def is_significant(row: Row) -> bool:
    """Whether a difference is, after correction for all of its table."""
    return row["p_adjusted"] is not None and bool(row["p_adjusted"] < SIGNIFICANCE)


def quoted(bot: str) -> str:
    """A bot's name, marked as such, so that `expected` is not read as a word of the sentence."""
    return f"`{bot}`"


def sentence(text: str) -> str:
    """A text with a capital letter and a full stop."""
    return f"{text[0].upper()}{text[1:]}."


def the(specialist: str) -> str:
    """A specialist in a sentence."""
    return f"the {specialist.replace('-', ' ')}"


def half_width(row: Row, name: str) -> float:
    """Half the interval of a rate."""
    return float(row[f"{name}_high"] - row[f"{name}_low"]) / 2


def about_few_blocks(fewest: int) -> Iterator[str]:
    """A warning if blocks are few."""
    if fewest < FEW_BLOCKS:
        yield (
            f"With only {fewest:,} {'block' if fewest == 1 else 'blocks'} (games with the same dice), "
            "intervals are wide, and small differences do not show."
        )


def about_optional_stopping(earlier: Sequence[Earlier], blocks: int) -> Iterator[str]:
    """A warning if games were added to those of earlier runs."""
    if any(run.blocks < blocks for run in earlier):
        yield (
            "Games were added after earlier results were known. To play on until a difference is significant is optional "
            "stopping, which finds differences that are not there: decide on the number of games first, or test with "
            "--sprt."
        )


def plus_minus(value: float, half: float, sign: str = "") -> str:
    """A number and its error to as many places as make sense: two digits of an error that begins with 1."""
    if not (isfinite(half) and half > 0):
        return f"{value:{sign},.4g}" if half == 0 else f"{value:{sign},.4g} ± ?"
    exponent = floor(log10(half))
    places = min(6, max(0, -exponent + (half < 1.95 * 10**exponent)))
    if value and not round(value, places):
        places = min(6, places + 1)  # so that its sign shows
    return f"{round(value, places) + 0.0:{sign},.{places}f} ± {half:,.{places}f}"


def listed(words: Sequence[str]) -> str:
    """Words with commas, and the last with an and."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
