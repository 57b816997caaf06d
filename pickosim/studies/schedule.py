"""The schedule: which bots meet, in which seats, with which dice, and when to check whether to stop.

A matchup is played in blocks: the same game number, hence the same dice, for every rotation of the
seats. So every bot sits everywhere equally often, and what the dice favour, they favour for all. From
block to block the cyclic order changes, so that every bot sits behind every other one equally often.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from itertools import combinations, pairwise, permutations
from json import dumps
from math import ceil, comb
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pickosim.amounts import LANE, LANES, parse_numbers
from pickosim.errors import PickosimError, suggest
from pickosim.games.match import order_of
from pickosim.rules import check_players

if TYPE_CHECKING:
    from pickosim.games.match import Orders


Matchup = tuple[str, ...]
"""The bots of one game, by name."""

MAX_MATCHUPS = 500
"""Matchups that are played at most by default; of more, a sample."""

FIRST_LOOK = 64
"""Blocks per matchup before the first check whether intervals are narrow enough. With fewer, some would be by
chance, and too narrow."""

LOOK_GROWTH = 1.25

FIRST_TEST, TEST_GROWTH = 8, 1.05
"""The same for a sequential test, which reckons with looking often."""


def round_robin(
    bots: Sequence[str],
    players: int,
    *,
    focus: str | None = None,
    most: int = MAX_MATCHUPS,
    seed: int = 0,
) -> tuple[list[Matchup], int]:
    """Matchups of that many players, and how many are possible: all of them, each once, or a seeded sample.

    With a `focus`, only those with that bot in them (a gauntlet).
    """
    if focus is not None and focus not in bots:
        raise PickosimError(f'The focus "{focus}" is not entered{suggest(focus, bots) or "."}')
    if most < 1:
        raise PickosimError(f"{most} matchups cannot be played.")
    if len(bots) < players:
        raise PickosimError(
            f"A game of {players} needs {players} bots, and only {len(bots)} "
            f"{'is' if len(bots) == 1 else 'are'} entered; a bot may be entered several times."
        )
    others = [bot for bot in bots if bot != focus]
    free = players if focus is None else players - 1
    together: Matchup = () if focus is None else (focus,)
    possible = comb(len(others), free)
    if possible <= most:
        return [together + chosen for chosen in combinations(others, free)], possible
    chosen_few = _sample(others, free, most, Random(seed))
    return [together + chosen for chosen in chosen_few], possible


def _sample(bots: Sequence[str], size: int, wanted: int, chance: Random) -> list[Matchup]:
    """Different choices of `size` bots, dealt from shuffled decks, so that all bots come about equally often."""
    place = {bot: number for number, bot in enumerate(bots)}
    choices: dict[Matchup, None] = {}
    deck: list[str] = []
    while len(choices) < wanted:
        if len(deck) < size:
            rest = [bot for bot in bots if bot not in deck]
            chance.shuffle(rest)
            deck = deck + rest
        dealt, deck = deck[:size], deck[size:]
        choices[tuple(sorted(dealt, key=place.__getitem__))] = None
    return sorted(choices, key=lambda chosen: [place[bot] for bot in chosen])


def player_counts(players: int | str | Sequence[int]) -> list[int]:
    """Numbers of players, e.g. 4, "2-5" or [2, 4]."""
    sizes = (
        parse_numbers(str(players), "Players") if isinstance(players, str | int) else list(players)
    )
    if not sizes:
        raise PickosimError("Name one number of players at least.")
    for size in sizes:
        check_players(size)
    return sizes


@cache
def rotations(matchup: Matchup) -> tuple[Orders, ...]:
    """Who sits where: the numbers of the bots by seat, for each rotation and each cyclic order.

    A block is played in all rotations of one order, so that every bot begins once. Block b has order b mod F:
    of P different bots, F is (P - 1)!. If all bots are the same, one seating is enough.
    """
    numbers = tuple(range(len(matchup)))
    if len(set(matchup)) == 1:
        return ((numbers,),)
    orders: dict[Matchup, tuple[int, ...]] = {}
    for rest in permutations(numbers[1:]):
        order = (0, *rest)
        orders.setdefault(tuple(matchup[number] for number in order), order)
    return tuple(
        tuple(order[k:] + order[:k] for order in orders.values()) for k in range(len(matchup))
    )


def blocks_for(games: int, players: int) -> int:
    """Blocks of one game per rotation that make at least that many games."""
    if games < 1:
        raise PickosimError(f"{games} games cannot be played.")
    blocks = ceil(games / players)
    if blocks > LANE:
        raise PickosimError(
            f"{games:,} games per matchup are too many; {LANE * players:,} are the most."
        )
    return blocks


def lane(number: int) -> int:
    """The first game number of a lane; its block b is played with the dice of that number + b."""
    if number >= LANES:
        raise PickosimError("There are more matchups than game numbers.")
    return number * LANE


def matchup_lanes(matchups: Sequence[Matchup]) -> list[int]:
    """The lane of each matchup, from the names of its bots: its dice do not depend on who else is in the field.

    Of two matchups whose names lead to the same lane, the later one takes the next that is free.
    """
    if len(matchups) > LANES:
        raise PickosimError("There are more matchups than game numbers.")
    taken: dict[int, None] = {}
    for matchup in matchups:
        names = dumps(sorted(matchup)).encode()
        number = int.from_bytes(sha256(names).digest()[:8], "big") % LANES
        while number in taken:
            number = (number + 1) % LANES
        taken[number] = None
    return list(taken)


def looks(blocks: int, first: int = FIRST_LOOK, growth: float = LOOK_GROWTH) -> Iterator[int]:
    """The numbers of blocks after which to check whether to stop: fixed before the first game.

    They grow by a factor: seldom enough to keep workers busy, and never far beyond what was needed. As a
    few blocks take as long as one, they are at least as far apart as the first is from the beginning.
    """
    look = first
    while look < blocks:
        yield look
        look = max(look + first, ceil(look * growth))
    yield blocks


def chunks(first: int, last: int, size: int) -> Iterator[range]:
    """Blocks from `first` up to `last` in equal ranges of at most that size: a small rest would be slow."""
    pieces = ceil((last - first) / size)
    ends = [first + (last - first) * k // pieces for k in range(pieces + 1)] if pieces else []
    yield from (range(a, b) for a, b in pairwise(ends))


@dataclass(frozen=True)
class Earlier:
    """A run that another one extends: who played, how many blocks per matchup, in chunks of which size."""

    bots: tuple[str, ...]
    blocks: int
    chunk: int


def matchup_chunks(
    matchup: Matchup, blocks: range, size: int, earlier: Sequence[Earlier] = ()
) -> Iterator[range]:
    """The blocks of a matchup in chunks of at most that size; those of earlier runs as they were cut then."""
    first = blocks.start
    for run in earlier:
        if run.blocks > first and set(matchup) <= set(run.bots):
            yield from chunks(first, run.blocks, run.chunk)
            first = run.blocks
    yield from chunks(first, blocks.stop, size)


Bots = NDArray[np.uint8]
"""(R, B, P): the number in the matchup of the bot in each seat, by rotation and block."""


def bots_by_seat(matchup: Matchup, first: int, blocks: int) -> Bots:
    """Who sits where in the blocks from game number `first` on."""
    orders = np.array(rotations(matchup), np.uint8)
    return orders[:, order_of(np.arange(first, first + blocks), orders.shape[1])]


def by_bot(of_seats: NDArray[Any], bots: NDArray[np.uint8]) -> NDArray[Any]:
    """(B, …, P): numbers by seat, in the last axis, as numbers by bot; bots (B, P) by seat."""
    of_bots = np.empty_like(of_seats)
    between = (1,) * (of_seats.ndim - 2)
    to = bots.reshape(len(bots), *between, -1).astype(np.int64)
    np.put_along_axis(of_bots, np.broadcast_to(to, of_seats.shape), of_seats, axis=-1)
    return of_bots
