"""A bounded cache of solutions: a pay-off that occurs in several games is solved once.

Pay-offs are identified by a 128-bit hash of their bytes. When the cache is full, half of the solutions
that the current call does not need are dropped, the least recently used first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pickosim.engine.dice import mix
from pickosim.engine.kernels import kernel, shared
from pickosim.solver.graph import Int, Problem, graph
from pickosim.solver.solve import (
    LANES,
    Solutions,
    aligned,
    checked,
    solve_rows,
    solve_side_by_side,
    weights_of,
)

AT_ONCE = 1024
"""Pay-offs of one call, at most; a multiple of LANES."""

_LOW_HALF = np.uint64(0xFFFFFFFF)


class _Index(NamedTuple):
    """Finds the entry, one of E, that holds the solution of a pay-off of C numbers."""

    secret: NDArray[np.uint64]
    """(C + 3,): 32-bit random numbers that define the hash."""
    keys: NDArray[np.uint64]
    """(E, 2): hash of each entry's pay-off."""
    last_used: NDArray[np.int64]
    """(E,): number of the last call that needed it; 0 if it is empty."""
    lookup: NDArray[np.int32]
    """(a power of 2,): a hash table of entries, -1 where there is none; at most a quarter full."""


class Cache:
    """Solutions of one problem by pay-off, in single precision; one from the cache is the same as a new one.

    It takes at most `megabytes` (of 10^6 bytes), but has room for the pay-offs of one call. All of it is
    reserved at once, so that nothing is ever copied; the system provides memory as it fills.
    """

    solved: int
    """Pay-offs solved so far."""
    hits: int
    """Pay-offs found in the cache, or equal to another one of the same call."""

    def __init__(self, problem: Problem, megabytes: float) -> None:
        self.graph = graph(problem)
        self.megabytes = megabytes
        self.solved = self.hits = 0
        self._weights = weights_of(self.graph, np.float32)
        # A solution, its key, its last use, and at most eight places of four bytes in the lookup.
        self._entry_bytes = 4 * self.graph.slots + 16 + 8 + 32
        size = max(int(megabytes * 1e6 / self._entry_bytes), AT_ONCE)
        self._solutions = np.empty((size, self.graph.slots), np.float32)
        self._index = _Index(
            secret=np.random.default_rng(0).integers(
                1 << 32, size=self.graph.columns + 3, dtype=np.uint64
            ),
            keys=np.zeros((size, 2), np.uint64),
            last_used=np.zeros(size, np.int64),
            lookup=np.full(1 << (4 * size - 1).bit_length(), -1, np.int32),
        )
        self._free = np.arange(size)
        self._filled = 0
        self._buffer: NDArray[np.float32] | None = None
        self._calls = 0

    @property
    def bytes(self) -> int:
        """Size of the solutions so far and their index."""
        return self._filled * self._entry_bytes

    def find(self, payoffs: NDArray[np.float32]) -> Solutions:
        """The solutions of (n, C) pay-offs, AT_ONCE at most; those that are not in the cache are solved.

        They are valid until the next call, which may overwrite entries.
        """
        self._calls += 1
        payoffs = checked(self.graph, payoffs)
        entries, new = np.empty(len(payoffs), np.int64), np.zeros(len(payoffs), np.bool_)
        done = 0
        while True:
            done, taken = _find_entries(
                self._index, self._free, self._calls, payoffs.view(np.uint32), done, entries, new
            )
            self._free = self._free[taken:]
            if done == len(payoffs):
                break
            self._make_room()
        rows = np.flatnonzero(new)
        solve_rows(self.graph, self._weights, payoffs, rows, entries[rows], self._solutions)
        self._filled = max(self._filled, int(entries.max(initial=-1)) + 1)
        self.solved += len(rows)
        self.hits += len(payoffs) - len(rows)
        return Solutions.of_rows(self._solutions, entries)

    def solve_anew(self, payoffs: NDArray[np.float32]) -> Solutions:
        """The solutions of (n, C) pay-offs, AT_ONCE at most, without the cache; valid until the next call.

        For pay-offs that will not occur again: a small buffer stays in the processor's cache.
        """
        payoffs = checked(self.graph, payoffs)
        if len(payoffs) > AT_ONCE:
            raise ValueError(f"{len(payoffs):,} pay-offs at once; at most {AT_ONCE:,} are solved")
        if self._buffer is None:
            self._buffer = aligned(AT_ONCE * self.graph.slots, payoffs)
        first = solve_side_by_side(self.graph, self._weights, payoffs, self._buffer)
        self.solved += len(payoffs)
        return Solutions(self._buffer, first, LANES)

    def _make_room(self) -> None:
        """Drop old solutions."""
        _, keys, last_used, lookup = self._index
        idle = np.flatnonzero(last_used < self._calls)
        if not len(idle):
            raise ValueError(f"the cache has room for {len(keys):,} pay-offs at once")
        oldest_first = idle[np.argsort(last_used[idle], kind="stable")]
        self._free = oldest_first[: (len(idle) + 1) // 2]
        _list_entries(keys, self._free, lookup)


@shared
def _hash(
    secret: NDArray[np.uint64], words: NDArray[np.uint32], row: int
) -> tuple[np.uint64, np.uint64]:
    """Hash a row of words to 128 bits.

    The hash NH of Black, Halevi, Krawczyk, Krovetz and Rogaway (UMAC, 1999), twice, the second time with the
    secret shifted: of all secrets, at most 1 in 2^64 gives two different rows the same hash.
    """
    first = second = np.uint64(0)
    last = words.shape[1] - 1
    for i in range(0, last + 1, 2):
        one = np.uint64(words[row, i])
        other = np.uint64(words[row, i + 1]) if i < last else np.uint64(0)
        first += ((one + secret[i]) & _LOW_HALF) * ((other + secret[i + 1]) & _LOW_HALF)
        second += ((one + secret[i + 2]) & _LOW_HALF) * ((other + secret[i + 3]) & _LOW_HALF)
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
def _list_entries(
    keys: NDArray[np.uint64], free: NDArray[np.int64], lookup: NDArray[np.int32]
) -> None:
    """Write all entries but the free ones to the lookup."""
    lookup[:] = -1
    in_use = np.ones(len(keys), np.bool_)
    in_use[free] = False
    for entry in range(len(keys)):
        if in_use[entry]:
            lookup[_find_place(lookup, keys, keys[entry, 0], keys[entry, 1])] = entry


@kernel
def _find_entries(
    index: _Index,
    free: NDArray[np.int64],
    call: int,
    words: NDArray[np.uint32],
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
