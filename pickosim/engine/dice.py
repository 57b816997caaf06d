"""Dice: rolls are numbered multisets, and a random number depends on nothing but its address.

**Rolls.** The order of dice does not matter, so a roll of n dice is one of C(n + 5, 5) multisets.
They are numbered from 0 (no dice), those of fewer dice first; `rolls` says what is known of each.
A roll is drawn with one 64-bit number from an alias table (Walker 1977, Vose 1991).

**Random numbers.** SplitMix64 (Steele, Lea and Flood 2014) started from a hashed key, and each level
of the address (seed, game, turn, roll) hashes once more. So the dice of a game do not depend on the
batch, the worker or the machine it is played on, nor on what the strategies do.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations_with_replacement
from math import comb

import numpy as np
from numpy.typing import NDArray

from pickosim.engine.kernels import inlined, shared, whole
from pickosim.rules import WORM

FACES = 6
"""Faces are numbered 1 to 5 and WORM = 6. Columns named by face have FACES + 1 entries, the first unused."""

POINTS = np.array([0, 1, 2, 3, 4, 5, 5], dtype=np.int16)
"""Points of one die, by face: a worm counts 5."""

WORM_BIT = 1 << (WORM - 1)
ALL_FACES = (1 << FACES) - 1
"""Sets of faces are bit masks: face f is bit f - 1."""

DICE_STREAM, CHOICE_STREAM = np.uint64(1), np.uint64(1 << 40)
"""Dice and the random choices of strategies: separate streams, so that no bot can shift the dice."""

_GOLDEN_RATIO = np.uint64(0x9E3779B97F4A7C15)
_GOLDEN_DIE = np.uint64(1 << 32)
_LOW_HALF = np.uint64(0xFFFFFFFF)
_U11, _U27, _U30, _U31, _U32 = (np.uint64(bits) for bits in (11, 27, 30, 31, 32))
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


ROLL = np.dtype(
    [
        ("alias", np.uint64),  # entry of the alias table: a threshold and the other roll
        ("counts", np.uint8, (FACES + 1,)),  # dice that show face f
        ("faces", np.uint8),  # the set of faces shown
        ("plus", np.uint16, (FACES + 1,)),  # the roll with one more die showing face f
    ],
    align=True,
)
"""What is known of a numbered roll. (`plus` is 0 for rolls of the most dice.)"""

Rolls = NDArray[np.void]
"""(R,) of ROLL."""


def first_roll(dice: int) -> int:
    """Number of the first roll of so many dice: C(dice + 5, 6) have fewer."""
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
    table = np.zeros(len(members), ROLL)
    for index, combination in enumerate(members):
        for face in combination:
            table["counts"][index, face] += 1
        if len(combination) < most_dice:
            for face in range(1, FACES + 1):
                table["plus"][index, face] = number[tuple(sorted((*combination, face)))]
    table["faces"] = ((table["counts"][:, 1:] > 0) << np.arange(FACES)).sum(axis=1)
    for dice in range(most_dice + 1):
        block = table[first_roll(dice) : first_roll(dice + 1)]
        block["alias"] = _alias_table(arrangements(block["counts"]), first_roll(dice))
    return table


def arrangements(counts: NDArray[np.uint8]) -> list[int]:
    """In how many orders the dice of each roll (one row of `counts`) can fall: its multinomial."""
    ways = []
    for row in counts.tolist():
        left, product = sum(row), 1
        for count in row:
            product *= comb(left, count)
            left -= count
        ways.append(product)
    return ways


def _alias_table(weights: list[int], first: int) -> NDArray[np.uint64]:
    """Vose's alias table in whole numbers: bin i keeps itself below its threshold, else its alias.

    Thresholds are 32-bit fractions of a bin; numbers of rolls are counted from `first`.
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
    """SplitMix64's finaliser: a bijection of 64-bit numbers in which every bit moves every other."""
    number = (number ^ (number >> _U30)) * _MIX_1
    number = (number ^ (number >> _U27)) * _MIX_2
    return number ^ (number >> _U31)


@shared
def below(key: np.uint64, index: np.uint64) -> np.uint64:
    """Number `index` of the SplitMix64 sequence that starts at `key`: one level down the address."""
    return mix(key + (index + np.uint64(1)) * _GOLDEN_RATIO)


@shared
def stream_key(seed: np.uint64, stream: np.uint64) -> np.uint64:
    """Key of one stream of a seed; hashed twice, so that adjacent seeds share nothing."""
    return below(mix(seed + _GOLDEN_RATIO), stream)


@inlined
def unit(number: np.uint64) -> float:
    """A 64-bit number as a float in [0, 1)."""
    return np.float64(number >> _U11) * (1.0 / (1 << 53))


@shared
def draw_roll(
    rolls: Rolls, first: NDArray[np.uint32], dice: int, turn_key: np.uint64, roll: int
) -> int:
    """The roll of `dice` white dice at address `roll` of the turn; `first` is by number of dice."""
    number = below(turn_key, np.uint64(roll))
    start = first[dice]
    size = np.uint64(first[dice + 1] - start)
    drawn = start + whole(((number >> _U32) * size) >> _U32)
    entry = rolls[drawn].alias
    other = whole(entry & _LOW_HALF)
    # No branch: which of the two it is cannot be predicted, and a wrong guess costs more than both.
    return other + (drawn - other) * ((number & _LOW_HALF) < (entry >> _U32))


@shared
def draw_golden_face(faces: NDArray[np.uint8], turn_key: np.uint64, roll: int) -> int:
    """The face of the golden die at address `roll` of the turn, a number of its own."""
    number = below(turn_key, np.uint64(roll) + _GOLDEN_DIE)
    return whole(faces[whole(((number >> _U32) * np.uint64(FACES)) >> _U32)])
