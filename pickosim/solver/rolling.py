"""Whole turns in one kernel: rolled, set aside, stopped and settled by the solutions of their pay-offs.

The rules are those of `pickosim.engine`, the choices those of `pickosim.solver.solve`: the games are the same
as with a question to the bot for every choice.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pickosim.engine.claim import best_claim, legal_claims, settle
from pickosim.engine.dice import FACES, Rolls
from pickosim.engine.kernels import as_int, inlined, kernel
from pickosim.engine.log import DOUBLE_ONE, Log
from pickosim.engine.rulebook import NOTHING, Books, Rulebook
from pickosim.engine.table import Game, Table, earn_bratworm
from pickosim.engine.turn import Hand, Hands, is_bust, is_forced, put_aside, roll_dice, use_weasel
from pickosim.solver.graph import Graph, Int, bust_of, slots_after, slots_at
from pickosim.solver.solve import HIGHEST_FACE, SINGLE_TOLERANCE, Numbers, Solutions, prefetch

GROUP = 32
"""Games whose turns are played side by side, roll by roll: what one needs from memory is fetched while the others roll."""


@kernel
def play_out(
    books: Books,
    rolls: Rolls,
    table: Table,
    hands: Hands,
    seat: int,
    rows: NDArray[np.int32],
    graph: Graph,
    solutions: Solutions,
    claim: NDArray[np.float64],
    keeps_new: NDArray[np.bool_],
    log: Log,
) -> None:
    """Play turns that have begun to the end, in row rows[k] by the k-th solution.

    `claim` (n, B, T) says what claiming each tile is worth, without and with a bratworm for 1s, and
    `keeps_new` (n, B, T) whether the newer of two specialists is then kept. Bratworms come from the richest.
    """
    book: Rulebook = books[0]
    numbers, step = solutions.numbers, solutions.step
    rolling = np.empty(GROUP, np.int64)
    places = np.empty((GROUP, FACES + 1, 2), np.int64)
    for first in range(0, len(rows), GROUP):
        left = min(GROUP, len(rows) - first)
        for i in range(left):
            rolling[i] = first + i
        while left:
            for i in range(left):
                k = rolling[i]
                hand: Hand = hands[rows[k]]
                roll_dice(book, rolls, table[rows[k]], hand, log)
                _find_choices(graph, solutions, k, hand, places[i])
            still = 0
            for i in range(left):
                k = rolling[i]
                game: Game = table[rows[k]]
                hand = hands[rows[k]]
                face, value = _best_face(hand, numbers, places[i])
                if hand.weasel and (book.weasel_rescues_bust or not is_bust(hand)):
                    start = solutions.first[k]
                    bust = numbers[start + bust_of(graph, as_int(hand.earned)) * step]
                    keep = value if face else np.float64(bust)
                    _, slot = slots_at(graph, hand, 0)
                    if numbers[start + slot * step] > keep + SINGLE_TOLERANCE:
                        use_weasel(book, rolls, game, hand, seat, log)
                        _find_choices(graph, solutions, k, hand, places[i])
                        face, value = _best_face(hand, numbers, places[i])
                if is_bust(hand):
                    continue
                if put_aside(book, rolls, game, hand, face, log):
                    earn_bratworm(book, game, seat, as_int(NOTHING), as_int(DOUBLE_ONE), log)
                stop, roll_on = places[i, face, 0], places[i, face, 1]
                if not is_forced(hand) and numbers[roll_on] > numbers[stop] + SINGLE_TOLERANCE:
                    rolling[still] = k
                    still += 1
            left = still
    for k in range(len(rows)):
        game = table[rows[k]]
        hand = hands[rows[k]]
        tiles, tile, keep_new = legal_claims(book, hand), -1, 1
        if tiles:
            block = as_int(hand.earned)
            tile = best_claim(tiles, claim[k, block])
            keep_new = as_int(keeps_new[k, block, tile])
        settle(book, game, hand, seat, tile, keep_new, as_int(NOTHING), log)


@inlined
def _find_choices(
    graph: Graph, solutions: Solutions, k: Int, hand: Hand, places: NDArray[np.int64]
) -> None:
    """Write to `places` (faces, 2) where stopping and rolling on are valued, by new face; have both fetched."""
    start, step = solutions.first[k], solutions.step
    layer = as_int(hand.weasel) * (len(graph.base) - 1)
    new = as_int(hand.new)
    while new:
        face = as_int(HIGHEST_FACE[new])
        new ^= 1 << (face - 1)
        stop, roll_on = slots_after(graph, hand, layer, face)
        places[face, 0] = start + stop * step
        places[face, 1] = start + roll_on * step
        prefetch(solutions.numbers, places[face, 0])
        prefetch(solutions.numbers, places[face, 1])


@inlined
def _best_face(hand: Hand, numbers: Numbers, places: NDArray[np.int64]) -> tuple[int, float]:
    """The face to set aside of the last roll, and its value; 0 and -inf if none is new."""
    best_face, best = 0, -np.inf
    new = as_int(hand.new)
    while new:
        face = as_int(HIGHEST_FACE[new])
        new ^= 1 << (face - 1)
        value = np.float64(max(numbers[places[face, 0]], numbers[places[face, 1]]))
        if value > best + SINGLE_TOLERANCE:
            best_face, best = face, value
    return best_face, best
