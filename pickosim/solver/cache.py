"""A bounded cache of solutions: a pay-off that occurs in several games is solved once.

Pay-offs are identified by a 128-bit hash of their bytes. When the cache is full, half of the solutions
that the current call does not need are dropped, the least recently used first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pickosim.engine.dice import mix
from pickosim.engine.kernels import kernel, shared
from pickosim.solver.graph import WORTH, Int, Problem, graph
from pickosim.solver.solve import checked, solve_rows

_FIRST_SIZE = 64
"""Entries of a new cache; it doubles when it is full."""

_U32, _LOW_HALF = np.uint64(32), np.uint64(0xFFFFFFFF)


class _Index(NamedTuple):
    """Finds the entry, one of E, that holds the solution of a pay-off of C numbers."""

    secret: NDArray[np.uint64]
    """(2, C + 1): 32-bit random numbers that define the hash."""
    keys: NDArray[np.uint64]
    """(E, 2): hash of each entry's pay-off."""
    last_used: NDArray[np.int64]
    """(E,): number of the last call that needed it."""
    lookup: NDArray[np.int32]
    """(a power of 2,): a hash table of entries, -1 where there is none; at most a quarter full."""


class Cache:
    """Solutions of one problem by pay-off; a solution from the cache is the same as a new one.

    It takes at most `megabytes` (of 10^6 bytes), or up to twice what the pay-offs of a single call
    need, if that is more.
    """

    solved: int
    """Pay-offs solved so far."""
    hits: int
    """Pay-offs found in the cache, or equal to another one of the same call."""

    def __init__(self, problem: Problem, megabytes: float) -> None:
        self.graph = graph(problem)
        self.solved = self.hits = 0
        self._solutions = np.empty((0, self.graph.slots))
        columns = WORTH + 2 * self.graph.points
        self._index = _Index(
            secret=np.random.default_rng(0).integers(
                1 << 32, size=(2, columns + 1), dtype=np.uint64
            ),
            keys=np.empty((0, 2), np.uint64),
            last_used=np.empty(0, np.int64),
            lookup=np.full(1, -1, np.int32),
        )
        self._free = np.empty(0, np.int64)
        self._calls = 0
        # A solution, its key, its last use, and at most eight places of four bytes in the lookup.
        self._most = int(megabytes * 1e6 / (8 * self.graph.slots + 16 + 8 + 32))

    @property
    def bytes(self) -> int:
        """Size of the solutions and their index."""
        return self._solutions.nbytes + sum(array.nbytes for array in self._index)

    def find(self, payoffs: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Find the solutions of (n, C) pay-offs; solve those that are not in the cache.

        Returns all entries (E, S) and which of them are the solutions (n,). Both are valid until the
        next call, which may overwrite entries, or move them to a larger array.
        """
        self._calls += 1
        payoffs = checked(self.graph, payoffs)
        entries, new = np.empty(len(payoffs), np.int64), np.zeros(len(payoffs), np.bool_)
        done = 0
        while True:
            done, taken = _find_entries(
                self._index, self._free, self._calls, payoffs.view(np.uint64), done, entries, new
            )
            self._free = self._free[taken:]
            if done == len(payoffs):
                break
            self._make_room(len(payoffs) - done)
        rows = np.flatnonzero(new)
        solve_rows(self.graph, payoffs, rows, entries[rows], self._solutions)
        self.solved += len(rows)
        self.hits += len(payoffs) - len(rows)
        return self._solutions, entries

    def _make_room(self, wanted: int) -> None:
        """Get free entries: grow up to the limit, then drop old solutions; if none can be dropped, grow on."""
        _, keys, last_used, _ = self._index
        size = len(keys)
        idle = np.flatnonzero(last_used < self._calls)
        if size >= self._most and len(idle):
            oldest_first = idle[np.argsort(last_used[idle], kind="stable")]
            self._free = oldest_first[: (len(idle) + 1) // 2]
        else:
            room = self._most - size if size < self._most else wanted
            more = min(max(size, _FIRST_SIZE), room)
            self._solutions = _extended(self._solutions, more)
            keys, last_used = _extended(keys, more), _extended(last_used, more)
            self._free = np.arange(size, size + more)
        lookup = _new_lookup(keys, self._free)
        self._index = _Index(self._index.secret, keys, last_used, lookup)


def _extended(array: NDArray[Any], more: int) -> NDArray[Any]:
    """A copy of an array with `more` rows to be filled."""
    copy = np.empty((len(array) + more, *array.shape[1:]), array.dtype)
    copy[: len(array)] = array
    return copy


@shared
def _hash(
    secret: NDArray[np.uint64], words: NDArray[np.uint64], row: int
) -> tuple[np.uint64, np.uint64]:
    """Hash a row of words to 128 bits.

    The hash NH of Black, Halevi, Krawczyk, Krovetz and Rogaway (UMAC, 1999), twice, the second time with the
    secret shifted: of all secrets, at most 1 in 2^64 gives two different rows the same hash.
    """
    first = second = np.uint64(0)
    for i in range(words.shape[1]):
        low, high = words[row, i], words[row, i] >> _U32
        first += ((low + secret[0, i]) & _LOW_HALF) * ((high + secret[1, i]) & _LOW_HALF)
        second += ((low + secret[0, i + 1]) & _LOW_HALF) * ((high + secret[1, i + 1]) & _LOW_HALF)
    return first, second


@shared
def _find_place(
    lookup: NDArray[np.int32], keys: NDArray[np.uint64], first: np.uint64, second: np.uint64
) -> Int:
    """The place of a key in the lookup, or the empty place where it belongs."""
    last = len(lookup) - 1
    place = np.int64(mix(first) & np.uint64(last))
    while lookup[place] >= 0:
        entry = lookup[place]
        if keys[entry, 0] == first and keys[entry, 1] == second:
            break
        place = (place + 1) & last
    return place


@kernel
def _new_lookup(keys: NDArray[np.uint64], free: NDArray[np.int64]) -> NDArray[np.int32]:
    """A lookup of all entries but the free ones."""
    size = 1
    while size < 4 * len(keys):
        size *= 2
    lookup = np.full(size, -1, np.int32)
    in_use = np.ones(len(keys), np.bool_)
    in_use[free] = False
    for entry in range(len(keys)):
        if in_use[entry]:
            lookup[_find_place(lookup, keys, keys[entry, 0], keys[entry, 1])] = entry
    return lookup


@kernel
def _find_entries(
    index: _Index,
    free: NDArray[np.int64],
    call: int,
    words: NDArray[np.uint64],
    begin: int,
    entries: NDArray[np.int64],
    new: NDArray[np.bool_],
) -> tuple[int, int]:
    """Write to `entries` (n,) the entry of each row; an unknown row gets a free one and is marked `new`.

    Starts at row `begin` and ends when no entry is free. Returns how many rows are done, and how many
    free entries are taken.
    """
    secret, keys, last_used, lookup = index
    taken = 0
    for row in range(begin, len(words)):
        first, second = _hash(secret, words, row)
        place = _find_place(lookup, keys, first, second)
        entry = np.int64(lookup[place])
        if entry < 0:
            if taken == len(free):
                return row, taken
            entry = free[taken]
            taken += 1
            lookup[place] = entry
            keys[entry, 0], keys[entry, 1] = first, second
            new[row] = True
        entries[row] = entry
        last_used[entry] = call
    return len(words), taken
