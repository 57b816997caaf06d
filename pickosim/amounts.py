"""Amounts as people write them: 250k games, a precision of 0.2%, players 2-5, targets 21..30."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from math import isfinite

from pickosim.errors import PickosimError

_SUFFIXES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "b": 10**9}

MOST_STEPS = 1000
"""Values that a range may have: a slip of the keyboard should not enter a million bots."""


def count(text: str | int, what: str = "games") -> int:
    """A whole number above 0, as 20000, 20_000, 20,000, 250k, 1.5M or 2G."""
    # A comma only between thousands: in 1,5k it would be a decimal point, and the number ten times as large.
    whole_part = r"(?:\d{1,3}(?:,\d{3})+|\d[\d_]*)"
    found = re.fullmatch(rf"({whole_part}(?:\.\d+)?)\s*([kmgb]?)", str(text).strip().lower())
    try:
        number = Decimal(found[1].replace("_", "").replace(",", "")) if found else Decimal(0)
    except InvalidOperation:
        number = Decimal(0)
    whole = number * (_SUFFIXES[found[2]] if found else 1)
    if whole < 1 or whole != int(whole):
        raise PickosimError(
            f'{what.capitalize()} are given as a number like 20000, 250k or 1M, not "{text}".'
        )
    return int(whole)


def share(text: str | float, what: str) -> float:
    """A share between 0 and 1, as 0.2% or 0.002."""
    written = str(text).strip()
    try:
        value = float(written.removesuffix("%")) / (100 if written.endswith("%") else 1)
    except ValueError:
        value = 0.0
    if not (isfinite(value) and 0 < value < 1):
        raise PickosimError(f'{what} is a share like 0.2% or 0.002, not "{text}".')
    return value


def numbers(text: str, what: str) -> list[int]:
    """Whole numbers, as 4 or 2-5 or 2,4,7; each once, in ascending order."""
    found: set[int] = set()
    for part in str(text).split(","):
        ends = re.fullmatch(r"\s*(\d{1,6})(?:\s*-\s*(\d{1,6}))?\s*", part)
        if ends is None:
            raise PickosimError(f'{what} are given like 4, 2-5 or 2,4,7, not "{text}".')
        low, high = int(ends[1]), int(ends[2] or ends[1])
        if not low <= high < low + MOST_STEPS:
            raise PickosimError(f'{what}: "{part.strip()}" does not ascend.')
        found.update(range(low, high + 1))
    return sorted(found)


def range_values(text: str) -> list[str]:
    """The values of a range, as 21..30 or 0..1..0.25 (from, to, step); of anything else itself.

    Steps are decimal, so that 0..1..0.1 ends at 1.
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
            f'The range "{text}" does not ascend; write it like 21..30 or 0..1..0.25.'
        )
    steps = int((high - low) / step) + 1
    if steps > MOST_STEPS:
        raise PickosimError(
            f'The range "{text}" has {steps:,} values; {MOST_STEPS:,} are the most.'
        )
    return [_plain(low + k * step) for k in range(steps)]


def _plain(value: Decimal) -> str:
    """A decimal without an exponent or closing zeros."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
