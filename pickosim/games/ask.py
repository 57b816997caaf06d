"""Ask a strategy and check every answer; an error names the game in which it happened."""

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
    """The strategy's answers to one question: (n,) int64 or bool, depending on the method, and legal.

    Faces of `pick` are not checked here but where the dice are set aside, which is cheaper.
    """
    answers = _raw_answers(match, turn, method)
    if method in _OPTIONS:
        numbers = answers.astype(np.int64)
        place = _first_illegal(turn, method, numbers)
        if place >= 0:
            raise illegal_answer(match, turn, method, answers, place)
        return numbers
    return answers


def _raw_answers(match: Match, turn: Turn, method: str) -> NDArray[Any]:
    """The strategy's answers to one question, not yet checked for legality: (n,) integers or bool."""
    strategy = match.strategies[turn._bot]
    try:
        raw = getattr(strategy, method)(turn)
    except (Exception, SystemExit) as error:
        raise _exception_error(match, turn, method, error) from error
    try:
        answers = np.asarray(raw)
    except Exception as error:
        raise _strategy_error(
            match, turn, method, 0, f"returned a value that is not an array: {error}"
        ) from error
    if answers.shape != (len(turn),):
        shape = f"shape {answers.shape}" if answers.shape else repr(raw)
        problem = f"returned {shape} for {len(turn)} games; return an array of shape ({len(turn)},)"
        raise _strategy_error(match, turn, method, 0, problem)
    kind, wanted = ("iu", "integers") if method in _NUMBERS else ("b", "bool")
    if answers.dtype.kind not in kind:
        raise _wrong_kind(match, turn, method, answers, wanted)
    return answers


def faces_of(answers: NDArray[Any]) -> NDArray[np.uint8]:
    """(n,): the answers to `pick` in the engine's type; anything that is not a face becomes 0, never legal.

    Kernels are compiled for a few kinds of arrays; others (another width, byte order or layout, or
    read-only) are converted.
    """
    plain = answers.flags.carray
    if plain and answers.dtype == np.uint8:
        return answers
    common = plain and answers.dtype in (np.int16, np.int64)
    return as_faces(answers if common else answers.astype(np.int64))


def illegal_answer(
    match: Match, turn: Turn, method: str, answers: NDArray[Any], place: int
) -> StrategyError:
    """The error for an answer that is not among the options."""
    problem = f"returned {answers[place]}; legal: {_legal(turn, method, place)}"
    return _strategy_error(match, turn, method, place, problem)


def _first_illegal(turn: Turn, method: str, answers: NDArray[np.int64]) -> int:
    """Index of the first answer that is not among the options, or -1.

    The options are computed anew, in case the strategy changed the arrays it was shown.
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
    """The legal answers in one game, in words."""
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
    problem = f"returned {answers.dtype}; return {wanted}"
    place = 0
    if answers.dtype.kind == "f" and np.isnan(answers).any():
        place = int(np.isnan(answers).argmax())
        problem = f"returned NaN; return {wanted}"
    return _strategy_error(
        match, turn, method, place, f"{problem}; legal: {_legal(turn, method, place)}"
    )


def _exception_error(match: Match, turn: Turn, method: str, error: BaseException) -> StrategyError:
    """The error for an exception, with the first game that raises it on its own, if there is one."""
    for place in range(len(turn)):
        try:
            getattr(match.strategies[turn._bot], method)(turn._only(slice(place, place + 1)))
        except (Exception, SystemExit) as alone:
            error = alone
            break
    else:
        place = 0
    problem = f"raised {type(error).__name__}: {error}"
    return _strategy_error(
        match, turn, method, place, f"{problem}; legal: {_legal(turn, method, place)}"
    )


def _strategy_error(
    match: Match, turn: Turn, method: str, place: int, problem: str
) -> StrategyError:
    assert method in METHODS
    row = turn._rows[place]
    game, number, rotation = (
        int(turn._table[field][row]) for field in ("game", "turn", "rotation")
    )
    return StrategyError(
        f"{match.specs[turn._bot]}: {method}() {problem} "
        f"(game {game}, turn {number}, seat {turn.seat}). "
        f"To see that game: {match.replay_command(game, rotation)}"
    )
