"""Whole turns in one kernel: rolled, set aside, stopped and settled by the solutions of their pay-offs.

The rules are those of `pickosim.engine`, the choices those of `pickosim.solver.solve`: the games are the same
as with a question to the bot for every choice.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pickosim.engine.claim import best_claim, legal_claims, settle
from pickosim.engine.dice import POINTS, Rolls
from pickosim.engine.kernels import as_int, inlined, kernel
from pickosim.engine.log import DOUBLE_ONE, Log
from pickosim.engine.rulebook import NOTHING, Books, Rulebook
from pickosim.engine.table import Game, Table, earn_bratworm
from pickosim.engine.turn import (
    Hand,
    Hands,
    is_bust,
    is_forced,
    put_aside,
    roll_dice,
    use_weasel,
)
from pickosim.solver.graph import Graph, Int, bust_of, earns, slots_of
from pickosim.solver.solve import HIGHEST_FACE, SINGLE_TOLERANCE


@kernel
def play_out(
    books: Books,
    rolls: Rolls,
    table: Table,
    hands: Hands,
    seat: int,
    rows: NDArray[np.int32],
    graph: Graph,
    solutions: NDArray[np.float32],
    which: NDArray[np.int64],
    claim: NDArray[np.float64],
    keeps_new: NDArray[np.bool_],
    log: Log,
) -> None:
    """Play turns that have begun to the end, by solution which[k] in row rows[k].

    `claim` (n, B, T) says what claiming each tile is worth, without and with a bratworm for 1s, and
    `keeps_new` (n, B, T) whether the newer of two specialists is then kept. Bratworms come from the richest.
    """
    book: Rulebook = books[0]
    for k in range(len(rows)):
        game: Game = table[rows[k]]
        hand: Hand = hands[rows[k]]
        solution = solutions[which[k]]
        while True:
            roll_dice(book, rolls, game, hand, log)
            face, value = _best_face(graph, solution, hand)
            if hand.weasel and (book.weasel_rescues_bust or not is_bust(hand)):
                earned = as_int(hand.earned)
                keep = value if face else np.float64(solution[bust_of(graph, earned)])
                pool = graph.base[0, earned, hand.aside, hand.white, hand.golden]
                if solution[pool + as_int(hand.points)] > keep + SINGLE_TOLERANCE:
                    use_weasel(book, rolls, game, hand, seat, log)
                    face, value = _best_face(graph, solution, hand)
            if is_bust(hand):
                break
            if put_aside(book, rolls, game, hand, face, log):
                earn_bratworm(book, game, seat, as_int(NOTHING), as_int(DOUBLE_ONE), log)
            if is_forced(hand):
                break
            stop, roll_on = slots_of(
                graph,
                _layer(graph, hand),
                as_int(hand.earned),
                as_int(hand.aside),
                as_int(hand.points),
                hand.white,
                hand.golden,
            )
            if solution[roll_on] <= solution[stop] + SINGLE_TOLERANCE:
                break
        tiles, tile, keep_new = legal_claims(book, hand), -1, 1
        if tiles:
            block = as_int(hand.earned)
            tile = best_claim(tiles, claim[k, block])
            keep_new = as_int(keeps_new[k, block, tile])
        settle(book, game, hand, seat, tile, keep_new, as_int(NOTHING), log)


@inlined
def _layer(graph: Graph, hand: Hand) -> Int:
    """The layer of the graph: 1 while the weasel can still be used."""
    return as_int(hand.weasel) * (len(graph.base) - 1)


@inlined
def _best_face(graph: Graph, solution: NDArray[np.float32], hand: Hand) -> tuple[int, float]:
    """The face to set aside of the last roll, and its value; 0 and -inf if none is new."""
    best_face, best = 0, -np.inf
    layer, new = _layer(graph, hand), as_int(hand.new)
    while new:
        face = as_int(HIGHEST_FACE[new])
        new ^= 1 << (face - 1)
        dice = as_int(graph.counts[hand.roll, face])
        golden = as_int(hand.golden_face == face)
        stop, roll_on = slots_of(
            graph,
            layer,
            as_int(hand.earned) | earns(graph, face, dice),
            as_int(hand.aside) | 1 << (face - 1),
            as_int(hand.points) + dice * POINTS[face],
            as_int(hand.white) - dice + golden,
            as_int(hand.golden) - golden,
        )
        value = np.float64(max(solution[stop], solution[roll_on]))
        if value > best + SINGLE_TOLERANCE:
            best_face, best = face, value
    return best_face, best
