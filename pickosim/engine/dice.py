"""Dice: numbered rolls, and random numbers that depend only on their address.

**Rolls.** The order of dice does not matter, so a roll of n dice is one of C(n + 5, 5) multisets.
They are numbered from 0 (no dice), those of fewer dice first; `rolls` has one record per roll.
A roll is drawn with one 64-bit number from an alias table (Walker 1977, Vose 1991).

**Random numbers.** SplitMix64 (Steele, Lea and Flood 2014) started from a hashed key; each level of
the address (seed, game, turn, roll) is one more hash. So the dice of a game depend neither on the
batch, the worker or the machine it is played on, nor on what the strategies do.
"""

from __future__ import annotations

from bisect import bisect
from functools import cache
from itertools import combinations_with_replacement
from math import comb
from typing import Annotated, Protocol

import numpy as np
from numpy.typing import NDArray

from pickosim.engine.kernels import U8, Key, as_int, dtype_of, inlined, shared
from pickosim.rules import WORM

FACES = 6
"""Faces are numbered 1 to 5 and WORM = 6. Arrays by face have FACES + 1 entries, the first unused."""

POINTS = np.array([0, 1, 2, 3, 4, 5, 5], dtype=np.int16)
"""Points of one die, by face: a worm counts 5."""

WORM_BIT = 1 << (WORM - 1)
ALL_FACES = (1 << FACES) - 1
"""Sets of faces are bit masks: face f is bit f - 1."""

DICE_STREAM, CHOICE_STREAM = np.uint64(1), np.uint64(1 << 40)
"""Dice and random choices of strategies have separate streams, so that no choice changes the dice."""

_GOLDEN_RATIO = np.uint64(0x9E3779B97F4A7C15)
_GOLDEN_DIE = np.uint64(1 << 32)
_LOW_HALF = np.uint64(0xFFFFFFFF)
_U11, _U27, _U30, _U31, _U32 = (np.uint64(bits) for bits in (11, 27, 30, 31, 32))
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


class Roll(Protocol):
    """A numbered roll."""

    alias: Key  # entry of the alias table: a threshold in the high half, the other roll in the low half
    counts: Annotated[NDArray[np.uint8], FACES + 1]  # dice showing face f
    faces: U8  # set of faces shown
    plus: Annotated[NDArray[np.uint16], FACES + 1]  # the roll with one more die showing face f


ROLL = dtype_of(Roll)
"""Fields of a numbered roll; `plus` is 0 for rolls of the most dice."""

Rolls = NDArray[np.void]
"""(R,) of ROLL."""


def first_roll(dice: int) -> int:
    """Number of the first roll of this many dice: C(dice + 5, 6) rolls have fewer."""
    return comb(dice + FACES - 1, FACES)


@cache
def rolls(most_dice: int) -> Rolls:
    """All rolls of 0 to `most_dice` dice. Their numbers do not depend on `most_dice`."""
    members = [
        combination
        for dice in range(most_dice + 1)
        for combination in combinations_with_replacement(range(1, FACES + 1), dice)
    ]
    number = {combination: index for index, combination in enumerate(members)}
    smaller = members[: first_roll(most_dice)]
    records = np.zeros(len(members), ROLL)
    for face in range(1, FACES + 1):
        records["counts"][:, face] = [combination.count(face) for combination in members]
        # In its place among the others, which are in order.
        plus = [(*c[: (at := bisect(c, face))], face, *c[at:]) for c in smaller]
        records["plus"][: len(smaller), face] = [number[combination] for combination in plus]
    records["faces"] = ((records["counts"][:, 1:] > 0) << np.arange(FACES)).sum(axis=1)
    for dice in range(most_dice + 1):
        block = records[first_roll(dice) : first_roll(dice + 1)]
        block["alias"] = _alias_table(arrangements(block["counts"]), first_roll(dice))
    return records


def arrangements(counts: NDArray[np.uint8]) -> list[int]:
    """The number of orders in which the dice of each roll (one row of `counts`) can fall."""
    ways = []
    for row in counts.tolist():
        left, product = sum(row), 1
        for count in row:
            product *= comb(left, count)
            left -= count
        ways.append(product)
    return ways


def _alias_table(weights: list[int], first: int) -> NDArray[np.uint64]:
    """Vose's alias table in integers: bin i yields i below its threshold, otherwise its alias.

    Thresholds are 32-bit fractions of a bin; the rolls are numbered from `first`.
    """
    size, total = len(weights), sum(weights)
    share = [weight * size for weight in weights]
    threshold, alias = [(1 << 32) - 1] * size, list(range(size))
    small = [i for i in range(size) if share[i] < total]
    large = [i for i in range(size) if share[i] >= total]
    while small and large:
        i, j = small.pop(), large[-1]
        threshold[i], alias[i] = (share[i] << 32) // total, j
        share[j] -= total - share[i]
        if share[j] < total:
            small.append(large.pop())
    return np.array(
        [(threshold[i] << 32) | (first + alias[i]) for i in range(size)], dtype=np.uint64
    )


@inlined
def mix(number: np.uint64) -> np.uint64:
    """SplitMix64's finaliser: a bijection in which every input bit affects every output bit."""
    number = (number ^ (number >> _U30)) * _MIX_1
    number = (number ^ (number >> _U27)) * _MIX_2
    return number ^ (number >> _U31)


@shared
def derive(key: np.uint64, index: np.uint64) -> np.uint64:
    """Number `index` of the SplitMix64 sequence from `key`: a random number, or the key of the next level."""
    return mix(key + (index + np.uint64(1)) * _GOLDEN_RATIO)


@shared
def stream_key(seed: np.uint64, stream: np.uint64) -> np.uint64:
    """Key of one stream of a seed; hashed twice, so that adjacent seeds are unrelated."""
    return derive(mix(seed + _GOLDEN_RATIO), stream)


@inlined
def as_unit_float(number: np.uint64) -> float:
    """A 64-bit number as a float in [0, 1)."""
    return np.float64(number >> _U11) * (1.0 / (1 << 53))


@shared
def draw_roll(
    rolls: Rolls, first: NDArray[np.uint32], dice: int, turn_key: np.uint64, roll: int
) -> int:
    """Roll number `roll` of the turn, of `dice` white dice; `first[n]` is the first roll of n dice."""
    number = derive(turn_key, np.uint64(roll))
    start = first[dice]
    size = np.uint64(first[dice + 1] - start)
    drawn: int = start + as_int(((number >> _U32) * size) >> _U32)
    record: Roll = rolls[drawn]
    entry = record.alias
    other = as_int(entry & _LOW_HALF)
    # No branch: the CPU cannot predict it, and a wrong prediction costs more than computing both.
    return other + (drawn - other) * as_int((number & _LOW_HALF) < (entry >> _U32))


@shared
def draw_golden_face(faces: NDArray[np.uint8], turn_key: np.uint64, roll: int) -> int:
    """The golden die's face in roll number `roll` of the turn, from a random number of its own."""
    number = derive(turn_key, np.uint64(roll) + _GOLDEN_DIE)
    return as_int(faces[as_int(((number >> _U32) * np.uint64(FACES)) >> _U32)])
