"""Lists, ranges and amounts as people write them: 7,5,3,1, 2-5, 21..30, 250k games, 0.2%, 3.21 ± 0.10."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from math import floor, isfinite, log10, nan

from pickosim.errors import PickosimError

_SUFFIXES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "b": 10**9}

LAST_GAME = (1 << 62) - 1
"""Games are numbered from 0 up to this."""

LANE = 10**12
"""Game numbers that a matchup of a run has to itself: no two share dice, so their results are independent."""

LANES = (LAST_GAME + 1) // LANE
"""Lanes that there are, about 4.6 million."""

MAX_RANGE_VALUES = 1000
"""The most values in a range, so that a typo does not enter a million bots."""

MOST_POINTS = 1e9
"""For a place, or as many below 0: more cannot be meant."""

_CLOSING = {"[": "]", "{": "}", '"': '"', "'": "'"}


def split_list(entries: str | Iterable[object]) -> list[str]:
    """The entries of a list; a text is split at commas outside brackets, braces and quotes."""
    if not isinstance(entries, str):
        return [str(entry).strip() for entry in entries]
    parts, open_ones = [""], ""
    for number, character in enumerate(entries):
        if open_ones and character == _CLOSING[open_ones[-1]]:
            open_ones = open_ones[:-1]
        elif character in _CLOSING and (not open_ones or open_ones[-1] not in "\"'"):
            # What is never closed opens nothing: an apostrophe can be part of a file name.
            open_ones += character if _CLOSING[character] in entries[number + 1 :] else ""
        elif character == "," and not open_ones:
            parts.append("")
            continue
        parts[-1] += character
    return [part.strip() for part in parts]


def parse_count(text: str | int, what: str = "games") -> int:
    """A positive whole number, e.g. 20000, 20_000, 20,000, 250k, 1.5M or 2G."""
    # Commas only between thousands: 1,5k probably means 1.5k, so it is refused rather than read as 15k.
    whole_part = r"(?:\d{1,3}(?:,\d{3})+|\d[\d_]*)"
    match = re.fullmatch(rf"({whole_part}(?:\.\d+)?)\s*([kmgb]?)", str(text).strip().lower())
    try:
        number = Decimal(match[1].replace("_", "").replace(",", "")) if match else Decimal(0)
    except InvalidOperation:
        number = Decimal(0)
    whole = number * (_SUFFIXES[match[2]] if match else 1)
    if whole > LAST_GAME:
        raise PickosimError(f"{what.capitalize()} are at most {LAST_GAME:,}.")
    if whole < 1 or whole != int(whole):
        raise PickosimError(
            f'Write {what} as a whole number above 0, e.g. 20000, 250k or 1M, not "{text}".'
        )
    return int(whole)


def amount_text(number: int) -> str:
    """A whole number as `parse_count` takes it; short if it is round, e.g. 340k or 1.4M."""
    for suffix, unit in (("M", 10**6), ("k", 10**3)):
        if number >= unit and number % (unit // 10) == 0:
            return f"{number / unit:g}{suffix}"
    return f"{number}"


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


def parse_ranges(text: str, what: str, example: str = "4, 2-5 or 2,4,7") -> list[range]:
    """Whole numbers and ranges of them, e.g. 2-5,7, as they are listed; a number is a range of one."""
    ranges = []
    for part in split_list(text):
        ends = re.fullmatch(r"(\d{1,6})(?:\s*-\s*(\d{1,6}))?", part)
        if ends is None:
            raise PickosimError(f'{what}: write e.g. {example}, not "{text}".')
        low, high = int(ends[1]), int(ends[2] or ends[1])
        if low > high:
            raise PickosimError(f"{what}: the range {part} is empty; write {high}-{low}.")
        if high - low >= MAX_RANGE_VALUES:
            raise PickosimError(f"{what}: {part} is more than {MAX_RANGE_VALUES:,} numbers.")
        ranges.append(range(low, high + 1))
    return ranges


def parse_numbers(text: str, what: str) -> list[int]:
    """Whole numbers, e.g. 4, 2-5 or 2,4,7, in ascending order without repetitions."""
    return sorted({number for numbers in parse_ranges(text, what) for number in numbers})


def ranges_text(numbers: Iterable[int]) -> str:
    """Ascending numbers as text, e.g. 21-24, 30."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][-1] + 1:
            ranges[-1].append(number)
        else:
            ranges.append([number])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in ranges)


def parse_points(entries: str | Sequence[float]) -> tuple[float, ...]:
    """What each place gets, the first place first, e.g. 7,5,3,1; never more for a worse place."""
    try:
        points = tuple(map(float, split_list(entries)))
    except ValueError:
        points = (nan,)
    if not all(abs(point) <= MOST_POINTS for point in points):
        shown = ",".join(split_list(entries))
        raise PickosimError(
            f'Write points as numbers, the first place first, e.g. 7,5,3,1, not "{shown}".'
        )
    for place, (better, worse) in enumerate(pairwise(points), start=1):
        if worse > better:
            raise PickosimError(
                f"No place gets more points than a better one, but place {place + 1} would get {worse:g} "
                f"and place {place} {better:g}."
            )
    return points


def points_by_place(entries: str | Sequence[float], places: int) -> tuple[float, ...]:
    """Points by place; places that are not named get 0."""
    named = parse_points(entries)
    if len(named) > places:
        raise PickosimError(
            f"{len(named)} numbers of points are too many for games of {places}: one per place at most."
        )
    points = parse_points((*named, *[0.0] * (places - len(named))))
    if points[0] == points[-1]:
        raise PickosimError(
            f"The first place must get more points than the last, not {points[0]:g} and {points[-1]:g}."
        )
    return points


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
    return [f"{(low + k * step).normalize():f}" for k in range(steps)]


# ---------------------------------------------------------------------------------------- in sentences


def plus_minus(value: float, half: float, sign: str = "") -> str:
    """A number and its error to as many places as make sense: two digits of an error that begins with 1."""
    if not (isfinite(half) and half > 0):
        return f"{value:{sign},.4g}" if half == 0 else f"{value:{sign},.4g} ± ?"
    exponent = floor(log10(half))
    places = min(6, max(0, -exponent + (half < 1.95 * 10**exponent)))
    if value and not round(value, places):
        places = min(6, places + 1)  # so that its sign shows
    return f"{round(value, places) + 0.0:{sign},.{places}f} ± {half:,.{places}f}"


def listed(words: Sequence[str], last: str = "and") -> str:
    """Words with commas, and the last with an and."""
    return f" {last} ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def first_few(words: Sequence[str], most: int = 3) -> str:
    """Words with commas; of many the first, and how many more there are."""
    more = len(words) - most
    return f"{', '.join(words[:most])} and {more:,} more" if more > 1 else listed(words)


def quoted(bot: str) -> str:
    """A bot's name, marked as such, so that `expected` is not read as a word of the sentence."""
    return f"`{bot}`"


def sentence(text: str) -> str:
    """A text with a capital letter and a full stop."""
    return f"{text[0].upper()}{text[1:]}."
