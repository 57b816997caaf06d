"""A plain-Python game loop, the usual way to simulate this game: the benchmark's baseline.

Classic rules, `eager` in every seat. It shares nothing with the engine but the rules of the game.
"""

from __future__ import annotations

from collections import Counter
from random import Random

WORM = 6
TILES = {value: 1 + (value - 21) // 4 for value in range(21, 37)}


def play_game(players: int, rng: Random) -> list[int]:
    """Worms of each player at the end of one game."""
    grill = set(TILES)
    stacks: list[list[int]] = [[] for _ in range(players)]
    on_turn = 0
    while grill:
        _play_turn(grill, stacks, on_turn, rng)
        on_turn = (on_turn + 1) % players
    return [sum(TILES[tile] for tile in stack) for stack in stacks]


def _play_turn(grill: set[int], stacks: list[list[int]], on_turn: int, rng: Random) -> None:
    own = stacks[on_turn]
    tile = _roll_for_tile(grill, stacks, on_turn, rng)
    if tile is None:
        if own:
            returned = own.pop()
            grill.add(returned)
            if max(grill) != returned:
                grill.remove(max(grill))
    elif tile in grill:
        grill.remove(tile)
        own.append(tile)
    else:
        victim = next(stack for stack in stacks if stack is not own and stack[-1:] == [tile])
        own.append(victim.pop())


def _roll_for_tile(
    grill: set[int], stacks: list[list[int]], on_turn: int, rng: Random
) -> int | None:
    """The tile that the turn claims, or None for a fail."""
    aside: set[int] = set()
    dice, total = 8, 0
    while dice and len(aside) < WORM:
        counts = Counter(rng.randint(1, WORM) for _ in range(dice))
        new = [face for face in counts if face not in aside]
        if not new:
            return None
        face = max(new, key=lambda face: (counts[face] * min(face, 5), face))
        aside.add(face)
        dice -= counts[face]
        total += counts[face] * min(face, 5)
        if WORM in aside:
            tile = _claim(grill, stacks, on_turn, total)
            if tile is not None:
                return tile
    return None


def _claim(grill: set[int], stacks: list[list[int]], on_turn: int, total: int) -> int | None:
    if total in grill:
        return total
    for seat, stack in enumerate(stacks):
        if seat != on_turn and stack[-1:] == [total]:
            return total
    return max((tile for tile in grill if tile < total), default=None)
