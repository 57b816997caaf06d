"""Parse amounts as people write them: 250k games, a precision of 0.2%, players 2-5, targets 21..30."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from math import isfinite

from pickosim.errors import PickosimError

_SUFFIXES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "b": 10**9}

LAST_GAME = (1 << 62) - 1
"""Games are numbered from 0 up to this."""

MAX_RANGE_VALUES = 1000
"""The most values in a range, so that a typo does not enter a million bots."""


def parse_count(text: str | int, what: str = "games") -> int:
    """A positive whole number, e.g. 20000, 20_000, 20,000, 250k, 1.5M or 2G."""
    # Commas only between thousands: 1,5k probably means 1.5k, so it is refused rather than read as 15k.
    whole_part = r"(?:\d{1,3}(?:,\d{3})+|\d[\d_]*)"
    found = re.fullmatch(rf"({whole_part}(?:\.\d+)?)\s*([kmgb]?)", str(text).strip().lower())
    try:
        number = Decimal(found[1].replace("_", "").replace(",", "")) if found else Decimal(0)
    except InvalidOperation:
        number = Decimal(0)
    whole = number * (_SUFFIXES[found[2]] if found else 1)
    if whole < 1 or whole != int(whole):
        raise PickosimError(
            f'Write {what} as a whole number above 0, e.g. 20000, 250k or 1M, not "{text}".'
        )
    return int(whole)


def parse_share(text: str | float, what: str) -> float:
    """A share between 0 and 1, e.g. 0.2% or 0.002."""
    written = str(text).strip()
    try:
        value = float(written.removesuffix("%")) / (100 if written.endswith("%") else 1)
    except ValueError:
        value = 0.0
    if not (isfinite(value) and 0 < value < 1):
        raise PickosimError(
            f'{what} must be above 0 and below 1, e.g. 0.2% or 0.002, not "{text}".'
        )
    return value


def parse_numbers(text: str, what: str) -> list[int]:
    """Whole numbers, e.g. 4, 2-5 or 2,4,7, in ascending order without repetitions."""
    found: set[int] = set()
    for part in str(text).split(","):
        ends = re.fullmatch(r"\s*(\d{1,6})(?:\s*-\s*(\d{1,6}))?\s*", part)
        if ends is None:
            raise PickosimError(f'{what}: write e.g. 4, 2-5 or 2,4,7, not "{text}".')
        low, high = int(ends[1]), int(ends[2] or ends[1])
        if not low <= high < low + MAX_RANGE_VALUES:
            raise PickosimError(
                f'{what}: the range "{part.strip()}" must go from a smaller to a larger number.'
            )
        found.update(range(low, high + 1))
    return sorted(found)


def expand_range(text: str) -> list[str]:
    """The values of a range, e.g. 21..30 or 0..1..0.25 (from, to, step); any other text as it is.

    Steps are decimal, so that 0..1..0.1 ends at exactly 1.
    """
    parts = text.split("..")
    try:
        if len(parts) not in (2, 3):
            return [text]
        low, high, step = (Decimal(part) for part in (*parts, "1")[:3])
    except InvalidOperation:
        return [text]
    if not (low.is_finite() and high.is_finite() and step.is_finite() and step > 0 and low <= high):
        raise PickosimError(
            f'The range "{text}" must go from a smaller to a larger number, e.g. 21..30 or 0..1..0.25.'
        )
    steps = int((high - low) / step) + 1
    if steps > MAX_RANGE_VALUES:
        raise PickosimError(
            f'The range "{text}" has {steps:,} values; at most {MAX_RANGE_VALUES:,} are allowed.'
        )
    return [_plain(low + k * step) for k in range(steps)]


def _plain(value: Decimal) -> str:
    """A decimal without an exponent or trailing zeros."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
