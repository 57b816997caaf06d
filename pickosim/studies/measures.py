"""Measures of games as sums over blocks: length, fails, steals, margin, ties, seats, wins by bot.

A block is one game number, hence the same dice, in one or more rotations of a table. Of every block
some whole numbers are noted, its *values*. Their sums and products over blocks are all that a mean,
a ratio, its interval, and a difference paired by dice need to know.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pickosim.engine.tally import Tally
from pickosim.games.frames import win_shares
from pickosim.stats.moments import Estimate, Moments, share_interval, stratified_mean
from pickosim.studies.tournament_sums import PARTS

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

COUNTED = (
    "turns",
    "rolls",
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
    "unfinished",
)
"""Values that every table has; each is added up over the games of a block.

`tiles_left_out`: tiles that nobody ends with. `margin`: the best score minus the second best.
`ties`: games with a shared first place. `lead_changes`: see `Tally`.
"""

FAILS = COUNTED[2:5]
"""By reason; as measures they are shares of turns."""

SHARES = ("ties", "unfinished", "first_seat")
"""Measures that are shares of games, first_seat up to a constant."""


def value_names(table: Sequence[str]) -> list[str]:
    """The names of the V values of a block, at a table with these bots by seat.

    Beside COUNTED: the wins (in PARTS) of every seat, and of every bot of that name, wherever it sits.
    """
    seats = [seat_wins(seat) for seat in range(len(table))]
    return [*COUNTED, *seats, *(bot_wins(bot) for bot in dict.fromkeys(table))]


def seat_wins(seat: int) -> str:
    """The name of the value that counts the wins of a seat."""
    return f"wins of seat {seat}"


def bot_wins(bot: str) -> str:
    """The name of the value that counts the wins of a bot."""
    return f"wins of {bot}"


def block_values(tallies: Sequence[Tally], table: Sequence[str], tiles: int) -> Ints:
    """(V, B): the values of B blocks, each added up over its games; see `value_names`.

    One tally of B games a rotation: in rotation r, seat s is taken by the bot `table[s + r]`. Lead
    changes are those of games played with `follow_lead`, otherwise 0. `tiles` are those of the rules.
    """
    wins = [np.rint(PARTS * win_shares(tally)).astype(np.int64) for tally in tallies]
    by_place = np.sum([np.roll(won, turn, axis=1) for turn, won in enumerate(wins)], axis=0)
    values = [
        *np.sum([_counted(tally, tiles) for tally in tallies], axis=0),
        *np.sum(wins, axis=0).T,
        *(
            by_place[:, [place for place, name in enumerate(table) if name == bot]].sum(axis=1)
            for bot in dict.fromkeys(table)
        ),
    ]
    return np.stack(values).astype(np.int64)


def _counted(tally: Tally, tiles: int) -> Ints:
    """(C, B): the values in COUNTED, game by game."""
    best_two = np.sort(tally.score.astype(np.int64), axis=1)[:, -2:]
    return np.stack(
        [
            tally.turns.astype(np.int64),
            tally.rolls,
            *tally.fails.T,
            tally.steals,
            tally.hen_steals,
            tally.flips,
            tiles - tally.tiles.sum(axis=1, dtype=np.int64),
            best_two[:, 1] - best_two[:, 0],
            (tally.rank == 1).sum(axis=1) > 1,
            tally.lead_changes,
            ~tally.finished,
        ]
    ).astype(np.int64)


def products(values: Ints, others: Ints) -> Ints:
    """(V, V): sums over blocks of each value of the one times each of the other, block by block."""
    return np.asarray(values @ others.T)


@dataclass(frozen=True)
class Measured:
    """What some blocks of a table came to: sums over blocks of the values, and of their products."""

    table: tuple[str, ...]
    """The bots by seat, in the first rotation."""
    rotations: int
    """Games of a block."""
    blocks: int
    totals: Ints
    """(V,)"""
    products: Ints
    """(V, V)"""

    @property
    def players(self) -> int:
        """At the table."""
        return len(self.table)

    @property
    def games(self) -> int:
        """One a block and rotation."""
        return self.blocks * self.rotations


def total(of: Measured, name: str) -> int:
    """The sum of a value over all games."""
    return int(of.totals[value_names(of.table).index(name)])


def measured(values: Ints, table: Sequence[str], rotations: int) -> Measured:
    """The sums of some blocks, from their values (V, B)."""
    return Measured(
        tuple(table), rotations, values.shape[1], values.sum(axis=1), products(values, values)
    )


class Reading(NamedTuple):
    """A measure of some blocks: its value, and how far each block moves it.

    The value of a block moves it by `weights @ values / blocks`, to first order: exactly if it is a
    mean, and by the linear approximation if it is a ratio of two sums, as fails by turns (Cochran,
    Sampling Techniques, 1977, section 6.11).
    """

    value: float
    weights: Floats
    """(V,)"""


def read_mean(of: Measured, name: str, unit: float = 1.0) -> Reading:
    """The mean of a value over all games, in that unit."""
    names = value_names(of.table)
    weights = np.zeros(len(names))
    weights[names.index(name)] = 1 / (unit * of.rotations)
    return Reading(total(of, name) / (unit * of.games), weights)


def read_ratio(of: Measured, above: str, below: str) -> Reading:
    """The sum of a value by the sum of another."""
    names = value_names(of.table)
    ratio = total(of, above) / total(of, below)
    weights = np.zeros(len(names))
    weights[names.index(above)], weights[names.index(below)] = 1.0, -ratio
    return Reading(ratio, weights * of.blocks / total(of, below))


def read_seat(of: Measured, seat: int) -> Reading:
    """The win share of a seat, whoever sits there."""
    return read_mean(of, seat_wins(seat), PARTS)


def read_bot(of: Measured, bot: str) -> Reading:
    """What a bot wins by its fair share: 1 if its seats win as often as any other seats do."""
    seats = of.table.count(bot)
    return read_mean(of, bot_wins(bot), PARTS * seats / of.players)


def read(of: Measured, measure: str) -> Reading:
    """A measure by name: one of COUNTED a game, of FAILS a turn; or `first_seat`.

    `first_seat` is the win share of the seat that begins, minus the share that all seats have.
    """
    if measure == "first_seat":
        value, weights = read_seat(of, 0)
        return Reading(value - 1 / of.players, weights)
    return read_ratio(of, measure, "turns") if measure in FAILS else read_mean(of, measure)


def interval(of: Measured, reading: Reading, *, share: bool = False) -> tuple[float, float]:
    """The 95 % interval of a measure; `share`: it is a share of games, up to a constant.

    If a share is 0 or 1 in all blocks, it has the exact bound of `stats.share_interval`.
    """
    moments = _moments(of, reading)
    estimate = stratified_mean([moments])
    if not share:
        return Estimate(reading.value, estimate.error).interval()
    offset = reading.value - estimate.mean
    low, high = share_interval([moments])
    return low + offset, high + offset


def _moments(of: Measured, reading: Reading) -> Moments:
    """Of what each block moves a measure by."""
    return Moments(
        float(of.blocks),
        _total(reading, of),
        _product(reading, of.products, reading),
    )


def _total(reading: Reading, of: Measured) -> float:
    """Of what each block moves a measure by, the sum over blocks."""
    return sum(float(reading.weights[k] * of.totals[k]) for k in np.flatnonzero(reading.weights))


def _product(a: Reading, of_both: Ints, b: Reading) -> float:
    """Of what each block moves two measures by, the sum over blocks of the product.

    Added up one by one: the same numbers give the same sum, so that what is alike differs by nothing.
    """
    pairs = product(np.flatnonzero(a.weights), np.flatnonzero(b.weights))
    return sum(float(a.weights[i] * of_both[i, j] * b.weights[j]) for i, j in pairs)


def difference(
    of: Measured, reading: Reading, reference: Measured, base: Reading, crossed: Ints
) -> Estimate:
    """How far a measure differs from that of a reference which was played with the same dice.

    The error is of the difference block by block, so what the dice do to both alike cancels.
    `crossed` are the `products` of their values.
    """
    squares = (
        _product(reading, of.products, reading)
        - 2 * _product(reading, crossed, base)
        + _product(base, reference.products, base)
    )
    moments = Moments(float(of.blocks), _total(reading, of) - _total(base, reference), squares)
    return Estimate(reading.value - base.value, stratified_mean([moments]).error)
