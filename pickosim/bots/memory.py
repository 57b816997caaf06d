"""What bots have answered, remembered by what they had read.

An answer depends on nothing but what was read of the turn: that is the strategy contract. So a bot that decides one game at a
time first reads the same thing in every game, what it reads next depends on what it has seen, and so on: its questions
are the nodes of a tree, the values that it has seen are the edges, and its answers are the leaves. To recall an answer is
to walk down from the root. Values are compared exactly. The edges of a tree are in a hash table by node and value.

A bot of a file or program is remembered across its instances, any other one by itself: its class may be changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields
from pathlib import Path
from threading import Lock
from typing import Any

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


class Memory:
    """The tree of one method of a bot, at one seat, with one rule set and number of players."""

    def __init__(self) -> None:
        self.reads: dict[Read, range] = {}
        """The columns of what has been read by now."""
        self.is_off = False
        self.empty(FEWEST_SLOTS)

    def empty(self, slots: int) -> None:
        """Forget all answers."""
        self.keys = np.zeros(slots, np.uint64)
        self.children = np.zeros(slots, np.int32)
        self.column = np.zeros(slots // 2, np.int16)
        self.sizes = np.array([1, 0], np.int64)
        self.recalled = self.asked = 0

    def width(self) -> int:
        """The number of columns."""
        return sum(map(len, self.reads.values()))

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
        _recall(self.keys, self.children, self.column, columns, answers)
        self.recalled += games
        return answers

    def next_unknown(self, columns: Columns, first: int, answers: NDArray[np.int64]) -> int:
        """Fill in answers from `first` on, up to the next game without one; returns its place."""
        return _recall_until(self.keys, self.children, self.column, columns, first, answers)

    def remember(
        self, columns: Columns, first: int, reads: Sequence[Read], answers: NDArray[np.int64]
    ) -> None:
        """Remember answers, of the games from `first` on, that depend on these reads."""
        path = np.array([column for read in reads for column in self.reads[read]], np.int16)
        done = 0
        self.asked += len(answers)
        while done < len(answers):
            done = _remember(
                self.keys,
                self.children,
                self.column,
                self.sizes,
                columns,
                first,
                done,
                path,
                answers,
            )
            if done < len(answers):
                self._make_room()

    def _make_room(self) -> None:
        keys, children, column = self.keys, self.children, self.column
        slots = 2 * len(keys)
        if slots > MOST_SLOTS:
            self.is_off = self.recalled < LEAST_USE * self.asked
            self.empty(FEWEST_SLOTS)
            return
        self.keys, self.children = np.zeros(slots, np.uint64), np.zeros(slots, np.int32)
        self.column = np.concatenate([column, np.zeros_like(column)])
        _move(keys, children, self.keys, self.children)


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
        room = MOST_IN_ALL - sum(len(each.keys) for each in _memories.values())
        while room < 0:
            room += len(_memories.pop(next(iter(_memories))).keys)


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


def _numbers(turn: Turn, read: Read) -> list[NDArray[Any]]:
    """What was read, column by column. What the engine has as one number says the same as the array made from it."""
    rows = turn._rows
    if not isinstance(read, str):
        return [turn.can_claim_with(np.full(len(turn), read[1]))]
    if read == "counts":
        return [turn._hands["roll"][rows]]
    if read == "legal":
        return [turn._hands["new"][rows]]
    if read == "aside":
        return [turn._hands["aside"][rows]]
    if read == "grill":
        return [turn._table["grill"][rows]]
    if read == "claims":
        return [claims_now(turn._books, turn._hands, rows)]
    array: NDArray[Any] = getattr(turn, read)
    return [array] if array.ndim == 1 else list(array.T)


# -------------------------------------------------------------------------------------- the kernels


@inlined
def _slot(keys: NDArray[np.uint64], children: NDArray[np.int32], key: np.uint64) -> int:
    """Where an edge is, or would be.

    A key is the number of a node and a value; that of the root is 0. A child is a node, or -1 - answer; 0 is no edge.
    """
    mask = len(keys) - 1
    slot = as_int(mix(key)) & mask
    while children[slot] != 0 and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@inlined
def _answer(
    keys: NDArray[np.uint64],
    children: NDArray[np.int32],
    column: NDArray[np.int16],
    columns: Columns,
    game: int,
) -> int:
    """The answer in a game, or -1."""
    key = np.uint64(0)
    while True:
        child = as_int(children[_slot(keys, children, key)])
        if child <= 0:
            return -1 - child
        key = (np.uint64(child) << _U32) | np.uint64(columns[column[child], game])


@kernel
def _recall(
    keys: NDArray[np.uint64],
    children: NDArray[np.int32],
    column: NDArray[np.int16],
    columns: Columns,
    answers: NDArray[np.int64],
) -> None:
    for game in range(len(answers)):
        answers[game] = _answer(keys, children, column, columns, game)


@kernel
def _recall_until(
    keys: NDArray[np.uint64],
    children: NDArray[np.int32],
    column: NDArray[np.int16],
    columns: Columns,
    first: int,
    answers: NDArray[np.int64],
) -> int:
    for game in range(first, len(answers)):
        found = _answer(keys, children, column, columns, game)
        if found < 0:
            return game
        answers[game] = found
    return len(answers)


@kernel
def _remember(
    keys: NDArray[np.uint64],
    children: NDArray[np.int32],
    column: NDArray[np.int16],
    sizes: NDArray[np.int64],
    columns: Columns,
    first: int,
    done: int,
    path: NDArray[np.int16],
    answers: NDArray[np.int64],
) -> int:
    """Add answers to the tree from number `done` on; returns how many are in it when there is no more room.

    `sizes` are the number of nodes, the root's edge counting as one, and of edges. An answer hangs below what its
    question has read, and below whatever else the nodes on its way ask for.
    """
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
            slot = _slot(keys, children, key)
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
def _move(
    keys: NDArray[np.uint64],
    children: NDArray[np.int32],
    more_keys: NDArray[np.uint64],
    more_children: NDArray[np.int32],
) -> None:
    for old in range(len(keys)):
        if children[old] != 0:
            slot = _slot(more_keys, more_children, keys[old])
            more_keys[slot] = keys[old]
            more_children[slot] = children[old]
