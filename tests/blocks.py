"""Blocks of a matchup, played seating by seating with `pickosim.play`: what runs are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import NamedTuple

import polars as pl

import pickosim
from pickosim.rules import RuleSet
from pickosim.studies.schedule import lane, matchup_lanes


class Rotation(NamedTuple):
    """The games of all blocks in one rotation, by game and seat."""

    games: pl.DataFrame
    seats: pl.DataFrame
    specialists: pl.DataFrame


def first_game(matchup: Sequence[str]) -> int:
    """The number of the first game of a matchup in a tournament."""
    return lane(matchup_lanes([tuple(matchup)])[0])


def cyclic_orders(matchup: Sequence[str]) -> list[tuple[str, ...]]:
    """All orders in which bots can sit around a table, the first bot named first."""
    first, *others = matchup
    return list(dict.fromkeys((first, *rest) for rest in permutations(others)))


def rotated(order: Sequence[str]) -> list[tuple[str, ...]]:
    """The rotations of an order; of equal bots, one is enough."""
    turns = range(len(order) if len(set(order)) > 1 else 1)
    return [(*order[k:], *order[:k]) for k in turns]


def seatings(matchup: Sequence[str], block: int) -> list[tuple[str, ...]]:
    """Who sits where in a block, rotation by rotation."""
    orders = cyclic_orders(matchup)
    return rotated(orders[block % len(orders)])


def play_blocks(
    matchup: Sequence[str], rules: str | RuleSet, blocks: int, seed: int, first: int = 0
) -> list[Rotation]:
    """The games of blocks 0 to `blocks` - 1, the first of which is game number `first`."""
    orders = cyclic_orders(matchup)
    found = []
    for rotation in range(len(rotated(matchup))):
        frames = []
        for k, order in enumerate(orders):
            played = pickosim.play(rotated(order)[rotation], rules, blocks, seed, first)
            mine = (pl.col("game") - first) % len(orders) == k
            kinds = (played.games, played.seats, played.specialists)
            frames.append([frame.filter(mine) for frame in kinds])
        found.append(Rotation(*(in_order(pl.concat(kind)) for kind in zip(*frames, strict=True))))
    return found


def in_order(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.sort(
        [name for name in ("game", "seat", "specialist") if name in frame.columns],
        maintain_order=True,
    )
