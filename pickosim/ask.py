"""Asking a strategy: every answer is checked, and a mistake is named with the game it happened in."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pickosim.dice import FACES
from pickosim.errors import StrategyError
from pickosim.match import Match
from pickosim.rules import WORM
from pickosim.turn import first_illegal_face
from pickosim.view import METHODS, Turn

_NUMBERS = {"pick", "claim", "rob"}


def ask(match: Match, turn: Turn, method: str) -> NDArray[Any]:
    """The strategy's answers to one question: (n,) int64 or bool, as the method wants, and legal."""
    strategy = match.strategies[turn.seat]
    try:
        raw = getattr(strategy, method)(turn)
    except Exception as error:
        raise _raised(match, turn, method, error) from error
    try:
        answers = np.asarray(raw)
    except Exception as error:
        raise _mistake(match, turn, method, 0, f"answered no array: {error}") from error
    if answers.shape != (len(turn),):
        shape = f"shape {answers.shape}" if answers.shape else repr(raw)
        said = f"answered {shape} for {len(turn)} games; shape ({len(turn)},) is wanted"
        raise _mistake(match, turn, method, 0, said)
    if method not in _NUMBERS:
        if answers.dtype != np.bool_:
            raise _wrong_kind(match, turn, method, answers, "bool")
        return answers
    if answers.dtype.kind not in "iu":
        raise _wrong_kind(match, turn, method, answers, "integers")
    numbers = answers.astype(np.int64)
    illegal = _first_illegal(turn, method, numbers)
    if illegal >= 0:
        said = f"answered {answers[illegal]}; legal: {_legal(turn, method, illegal)}"
        raise _mistake(match, turn, method, illegal, said)
    return numbers


def _first_illegal(turn: Turn, method: str, answers: NDArray[np.int64]) -> int:
    """Place of the first answer that is not among the options, or -1.

    The options are worked out afresh: what a strategy did to the arrays it was shown does not count.
    """
    if method == "pick":
        return int(first_illegal_face(turn._hands, turn._rows, answers))
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


def _raised(match: Match, turn: Turn, method: str, error: Exception) -> StrategyError:
    """Find the first game that alone makes the strategy raise, if there is one."""
    for place in range(len(turn)):
        try:
            getattr(match.strategies[turn.seat], method)(turn._only(slice(place, place + 1)))
        except Exception as alone:
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
