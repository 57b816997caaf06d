"""What bots have answered, remembered by what they had read.

An answer depends on nothing but what was read of the turn: that is the strategy contract. So a bot that decides one game at a
time first reads the same thing in every game, what it reads next depends on what it has seen, and so on: its questions
are the nodes of a tree, the values that it has seen are the edges, and its answers are the leaves. To recall an answer is
to walk down from the root. Values are compared exactly.

A bot of a file or program is remembered across its instances, any other one by itself: its class may be changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pickosim.bots.strategy import Strategy
from pickosim.bots.view import Turn
from pickosim.engine.claim import claims_now
from pickosim.engine.dice import mix
from pickosim.engine.kernels import as_int, inlined, kernel

FEWEST_SLOTS, MOST_SLOTS = 1 << 10, 1 << 19
"""Room of a tree; half of it is used. One that needs more starts anew."""

MOST_IN_ALL = 1 << 22
"""Slots of all trees of a process, 12 bytes each; the one that was not used for the longest time is forgotten first."""

LEAST_USE = 4
"""A tree that is full is given up if it answered fewer than this many questions per question that it had to ask."""

_MOST_ANSWER = 1 << 10
_U32 = np.uint64(32)

Read = str | tuple[str, int]
"""What a bot has read: an attribute of a turn, or the total that it passed to `can_claim_with`."""

Columns = NDArray[np.uint32]
"""(c, n): what was read as numbers, exactly: a row for every 32 bits of a game."""


class Tree(NamedTuple):
    """Edges in a hash table, by the number of a node and a value; the key of the root is 0."""

    keys: NDArray[np.uint64]
    children: NDArray[np.int32]
    """A node, or -1 - answer; 0 is no edge."""
    column: NDArray[np.int16]
    """What each node asks for."""
    sizes: NDArray[np.int64]
    """(2,): the number of nodes, the root's edge counting as one, and of edges."""


def _empty_tree(slots: int) -> Tree:
    sizes = np.array([1, 0], np.int64)
    room = np.zeros(slots, np.uint64), np.zeros(slots, np.int32), np.zeros(slots // 2, np.int16)
    return Tree(*room, sizes)


class Memory:
    """The tree of one method of a bot, at one seat, with one rule set and number of players."""

    def __init__(self) -> None:
        self.reads: dict[Read, range] = {}
        """The columns of what has been read by now."""
        self.is_off = False
        self.forget()

    def forget(self) -> None:
        """Forget all answers."""
        self.tree = _empty_tree(FEWEST_SLOTS)
        self.recalled = self.asked = 0

    def columns(self, turn: Turn) -> Columns:
        """What is known to be read, in the games of a turn."""
        rows = [row for read in self.reads for row in _packed(turn, read)]
        return np.array(rows, np.uint32).reshape(len(rows), len(turn))

    def extended(self, columns: Columns, turn: Turn, reads: Sequence[Read]) -> Columns:
        """The columns with those of new reads."""
        for read in reads:
            if read not in self.reads:
                rows, first = _packed(turn, read), len(columns)
                self.reads[read] = range(first, first + len(rows))
                columns = np.concatenate([columns, rows]).astype(np.uint32)
        return columns

    def recall(self, columns: Columns, games: int) -> NDArray[np.int64]:
        """(games,): the answers that are known, -1 where none is."""
        answers = np.empty(games, np.int64)
        _recall(self.tree, columns, 0, answers, False)
        self.recalled += games
        return answers

    def next_unknown(self, columns: Columns, first: int, answers: NDArray[np.int64]) -> int:
        """Fill in answers from `first` on, up to the next game without one; returns its place."""
        return _recall(self.tree, columns, first, answers, True)

    def remember(
        self, columns: Columns, first: int, reads: Sequence[Read], answers: NDArray[np.int64]
    ) -> None:
        """Remember answers, of the games from `first` on, that depend on these reads."""
        path = np.array([column for read in reads for column in self.reads[read]], np.int16)
        done = 0
        self.asked += len(answers)
        while done < len(answers):
            done = _remember(self.tree, columns, first, done, path, answers)
            if done < len(answers):
                self._make_room()

    def _make_room(self) -> None:
        slots = 2 * len(self.tree.keys)
        if slots > MOST_SLOTS:
            self.is_off = self.recalled < LEAST_USE * self.asked
            self.forget()
            return
        larger = _empty_tree(slots)
        larger.column[: slots // 4] = self.tree.column
        larger.sizes[:] = self.tree.sizes
        _move(self.tree, larger)
        self.tree = larger


# ------------------------------------------------------------------------------------- all memories

_memories: dict[tuple[object, ...], Memory] = {}
"""Those that are not in use, the one that was used last at the end."""

_lock = Lock()
_is_on: ContextVar[bool] = ContextVar("remembers", default=True)

_PLAIN = (bool, int, float, str, type(None))


@contextmanager
def remembering(is_on: bool) -> Iterator[None]:
    """Whether bots answer from memory, for a while; otherwise every game is a question."""
    token = _is_on.set(is_on)
    try:
        yield
    finally:
        _is_on.reset(token)


@contextmanager
def memory_of(bot: Strategy, method: str, turn: Turn) -> Iterator[Memory]:
    """The memory for a question, for nobody else meanwhile; after an error it is forgotten."""
    if not _is_on.get():
        memory = Memory()
        memory.is_off = True
        yield memory
        return
    key = (*_identity(bot), method, turn.rules, turn.players, turn.seat)
    kept = _memories.pop(key, None)
    memory = Memory() if kept is None else kept
    yield memory
    with _lock:
        _memories[key] = memory
        room = MOST_IN_ALL - sum(len(each.tree.keys) for each in _memories.values())
        while room < 0:
            room += len(_memories.pop(next(iter(_memories))).tree.keys)


def _identity(bot: Strategy) -> tuple[object, ...]:
    """What a bot is known by: its class and parameters, or an object of its own."""
    kind = type(bot)
    if kind.__module__.startswith(
        "pickosim_"
    ):  # of a file or a program, see `loading` and `command`
        values = [getattr(bot, field.name, None) for field in fields(bot)]  # type: ignore[arg-type]
        if all(isinstance(value, Path) or type(value) in _PLAIN for value in values):
            return kind, *map(repr, values)
    return (vars(bot).setdefault("_remembered_as", _Identity()),)


class _Identity:
    """What an instance is known by; a copy is known by another one."""

    def __reduce__(self) -> Any:
        return _Identity, ()


# ----------------------------------------------------------------------------------------- columns


def _packed(turn: Turn, read: Read) -> list[NDArray[np.uint32]]:
    """What was read in each game, exactly, in as few numbers (n,) as it fits into."""
    rows: list[NDArray[np.uint32]] = []
    used = 32
    for column in _numbers(turn, read):
        bits = 8 * column.itemsize
        number = column.view(f"u{column.itemsize}").astype(np.uint32)
        if used + bits > 32:
            rows.append(number)
            used = bits
        else:
            rows[-1] |= number << np.uint32(used)
            used += bits
    return rows


_OF_HAND = {"counts": "roll", "legal": "new", "aside": "aside"}


def _numbers(turn: Turn, read: Read) -> list[NDArray[Any]]:
    """What was read, column by column. What the engine has as one number says the same as the array made from it."""
    rows = turn._rows
    if not isinstance(read, str):
        return [turn.can_claim_with(np.full(len(turn), read[1]))]
    if read in _OF_HAND:
        return [turn._hands[_OF_HAND[read]][rows]]
    if read == "grill":
        return [turn._table["grill"][rows]]
    if read == "claims":
        return [claims_now(turn._books, turn._hands, rows)]
    array: NDArray[Any] = getattr(turn, read)
    return [array] if array.ndim == 1 else list(array.T)


# -------------------------------------------------------------------------------------- the kernels


@inlined
def _slot(tree: Tree, key: np.uint64) -> int:
    """Where an edge is, or would be."""
    mask = len(tree.keys) - 1
    slot = as_int(mix(key)) & mask
    while tree.children[slot] != 0 and tree.keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@kernel
def _recall(
    tree: Tree, columns: Columns, first: int, answers: NDArray[np.int64], until_unknown: bool
) -> int:
    """Write the answers of games from `first` on, -1 where none is known; up to there if wanted. Returns where it ends."""
    for game in range(first, len(answers)):
        child, key = 1, np.uint64(0)
        while child > 0:
            child = as_int(tree.children[_slot(tree, key)])
            if child > 0:
                value = columns[tree.column[child], game]
                key = (np.uint64(child) << _U32) | np.uint64(value)
        answers[game] = -1 - child
        if until_unknown and child == 0:
            return game
    return len(answers)


@kernel
def _remember(
    tree: Tree,
    columns: Columns,
    first: int,
    done: int,
    path: NDArray[np.int16],
    answers: NDArray[np.int64],
) -> int:
    """Add answers to the tree from number `done` on; returns how many are in it when there is no more room.

    An answer hangs below what its question has read, and below whatever else the nodes on its way ask for.
    """
    keys, children, column, sizes = tree
    seen = np.empty(len(columns), np.bool_)
    for number in range(done, len(answers)):
        answer = answers[number]
        if not 0 <= answer < _MOST_ANSWER:  # illegal: an error follows
            continue
        if 2 * (sizes[1] + len(path) + 1) > len(keys):
            return number
        seen[:] = False
        key, step = np.uint64(0), 0
        while True:
            slot = _slot(tree, key)
            child = as_int(children[slot])
            if child < 0:
                break
            if child == 0:
                while step < len(path) and seen[path[step]]:
                    step += 1
                if step < len(path):
                    child = sizes[0]
                    column[child] = path[step]
                    sizes[0] += 1
                else:
                    child = -1 - answer
                keys[slot] = key
                children[slot] = child
                sizes[1] += 1
                if child < 0:
                    break
            seen[column[child]] = True
            key = (np.uint64(child) << _U32) | np.uint64(columns[column[child], first + number])
    return len(answers)


@kernel
def _move(tree: Tree, larger: Tree) -> None:
    """Enter the edges of a tree into a larger one."""
    for old in range(len(tree.keys)):
        if tree.children[old] != 0:
            slot = _slot(larger, tree.keys[old])
            larger.keys[slot] = tree.keys[old]
            larger.children[slot] = tree.children[old]
