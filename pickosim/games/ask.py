"""Asking a strategy: every answer is checked, and a mistake is named with the game it happened in."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pickosim.bots.view import METHODS, Turn
from pickosim.engine.dice import FACES
from pickosim.engine.turn import as_faces
from pickosim.errors import StrategyError
from pickosim.games.match import Match
from pickosim.rules import WORM

_OPTIONS = {"claim", "rob"}
_NUMBERS = {"pick", *_OPTIONS}


def ask(match: Match, turn: Turn, method: str) -> NDArray[Any]:
    """The strategy's answers to one question: (n,) int64 or bool, as the method wants, and legal.

    (But for the faces of `pick`: those are checked where their dice are set aside, at less expense.)
    """
    answers = _heard(match, turn, method)
    if method in _OPTIONS:
        numbers = answers.astype(np.int64)
        place = _first_illegal(turn, method, numbers)
        if place >= 0:
            raise illegal(match, turn, method, answers, place)
        return numbers
    return answers


def _heard(match: Match, turn: Turn, method: str) -> NDArray[Any]:
    """The strategy's answers to one question: (n,) integers or bool, as the method wants."""
    strategy = match.strategies[turn.seat]
    try:
        raw = getattr(strategy, method)(turn)
    except (Exception, SystemExit) as error:
        raise _raised(match, turn, method, error) from error
    try:
        answers = np.asarray(raw)
    except Exception as error:
        raise _mistake(match, turn, method, 0, f"answered no array: {error}") from error
    if answers.shape != (len(turn),):
        shape = f"shape {answers.shape}" if answers.shape else repr(raw)
        said = f"answered {shape} for {len(turn)} games; shape ({len(turn)},) is wanted"
        raise _mistake(match, turn, method, 0, said)
    kind, wanted = ("iu", "integers") if method in _NUMBERS else ("b", "bool")
    if answers.dtype.kind not in kind:
        raise _wrong_kind(match, turn, method, answers, wanted)
    return answers


def faces_of(answers: NDArray[Any]) -> NDArray[np.uint8]:
    """(n,): the answers to `pick` as the engine takes them; what is no face becomes 0, never legal.

    Kernels are compiled for few kinds of arrays: others (of another width, order of bytes or layout, or
    read-only) are converted.
    """
    plain = answers.flags.carray
    if plain and answers.dtype == np.uint8:
        return answers
    common = plain and answers.dtype in (np.int16, np.int64)
    return as_faces(answers if common else answers.astype(np.int64))


def illegal(
    match: Match, turn: Turn, method: str, answers: NDArray[Any], place: int
) -> StrategyError:
    """The error of an answer that is not among the options."""
    said = f"answered {answers[place]}; legal: {_legal(turn, method, place)}"
    return _mistake(match, turn, method, place, said)


def _first_illegal(turn: Turn, method: str, answers: NDArray[np.int64]) -> int:
    """Place of the first answer that is not among the options, or -1.

    The options are worked out afresh: what a strategy did to the arrays it was shown does not count.
    """
    turn = turn._only(slice(None))
    if method == "claim":
        columns = np.searchsorted(turn.tiles, answers)
        known = (columns < len(turn.tiles)) & (turn.tiles[columns % len(turn.tiles)] == answers)
        options = turn.claims
    else:
        columns = answers
        known = (answers >= 0) & (answers < turn.players)
        options = turn.robbable
    wrong = ~known | ~options[np.arange(len(turn)), np.where(known, columns, 0)]
    return int(wrong.argmax()) if wrong.any() else -1


def _legal(turn: Turn, method: str, game: int) -> str:
    """What could have been answered in one game, for a person."""
    turn = turn._only(slice(None))
    if method == "pick":
        names = {WORM: f"{WORM} (worm)"}
        legal = [names.get(face, str(face)) for face in range(FACES + 1) if turn.legal[game, face]]
    elif method == "claim":
        legal = [str(tile) for tile in turn.tiles[turn.claims[game]]]
    elif method == "rob":
        legal = [str(player) for player in np.flatnonzero(turn.robbable[game])]
    else:
        legal = ["True", "False"]
    return ", ".join(legal)


def _wrong_kind(
    match: Match, turn: Turn, method: str, answers: NDArray[Any], wanted: str
) -> StrategyError:
    said = f"answered {answers.dtype}; {wanted} are wanted"
    place = 0
    if answers.dtype.kind == "f" and np.isnan(answers).any():
        place = int(np.isnan(answers).argmax())
        said = f"answered NaN; {wanted} are wanted"
    return _mistake(match, turn, method, place, f"{said}; legal: {_legal(turn, method, place)}")


def _raised(match: Match, turn: Turn, method: str, error: BaseException) -> StrategyError:
    """Find the first game that alone makes the strategy raise, if there is one."""
    for place in range(len(turn)):
        try:
            getattr(match.strategies[turn.seat], method)(turn._only(slice(place, place + 1)))
        except (Exception, SystemExit) as alone:
            error = alone
            break
    else:
        place = 0
    said = f"raised {type(error).__name__}: {error}"
    return _mistake(match, turn, method, place, f"{said}; legal: {_legal(turn, method, place)}")


def _mistake(match: Match, turn: Turn, method: str, place: int, said: str) -> StrategyError:
    assert method in METHODS
    row = turn._rows[place]
    game, number = int(turn._table["game"][row]), int(turn._table["turn"][row])
    return StrategyError(
        f"{match.specs[turn.seat]}: {method}() {said} "
        f"(game {game}, turn {number}, seat {turn.seat}). "
        f"To see that game: {match.replay_command(game)}"
    )
