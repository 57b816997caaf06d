"""Ask a strategy and check every answer; an error names the game in which it happened."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache, partial
from time import monotonic, perf_counter
from traceback import walk_tb
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

import pickosim.strategies
from pickosim.bots.digest import undeclared
from pickosim.bots.guard import Guard, guarded, place_in_bot, time_limit
from pickosim.bots.memory import remembering
from pickosim.bots.simple import SimpleTurn
from pickosim.bots.strategy import Strategy
from pickosim.bots.view import METHODS, NUMBERS, TableView, Turn
from pickosim.engine.dice import FACES
from pickosim.engine.turn import as_faces
from pickosim.errors import AnswerError, StrategyError, TimeLimitError, suggest
from pickosim.games.match import Match
from pickosim.rules import WORM
from pickosim.solver.valuation import Carry, TurnPlan, Valuation, checked_values

Answer = TypeVar("Answer")

_OPTIONS = ("claim", "rob")

AUDIT_EVERY, AUDIT_FIRST = 101, 7
"""One in this many questions to a bot is audited, the first ones more often; odd, so that all methods get their turn."""

FIRST_QUESTIONS = 2000

AUDITED_GAMES = 16
"""Games that an audit asks about at most: few, so that it costs less than the question itself."""

MANY_GAMES, MANY_SECONDS = 20_000, 5.0
"""The 1st, 2nd, 4th, 8th … audit of a method also asks about this many games, more than a batch has, if that is quick."""

STEPWISE_EVERY = 7
"""One in this many turns of an audited valuation is played question by question."""

_questions: Counter[type[Strategy]] = Counter()
"""Questions to each bot in this process."""

_audits: Counter[tuple[type[Strategy], str]] = Counter()
"""Audits of each bot's methods in this process."""

_turns: Counter[type[Strategy]] = Counter()
"""Turns of each audited valuation in this process."""


def ask(match: Match, turn: Turn, method: str) -> NDArray[Any]:
    """The strategy's answers to one question: (n,) int64 or bool, depending on the method, and legal.

    Faces of `pick` are not checked here but where the dice are set aside, which is cheaper.
    """
    answers = _raw_answers(match, turn, method)
    if match.audited and not is_built_in(type(bot_of(match, turn))):
        _audit(match, turn, method, answers)
    if method in _OPTIONS:
        numbers = answers.astype(np.int64)
        place = _first_illegal(turn, method, numbers)
        if place >= 0:
            raise illegal_answer(match, turn, method, answers, place)
        return numbers
    return answers


def is_stepwise(match: Match, turn: Turn) -> bool:
    """Whether a valuation is asked question by question this turn: so it is now and then if its questions are audited."""
    kind = type(bot_of(match, turn))
    if not match.audited or is_built_in(kind):
        return False
    _turns[kind] += 1
    return _turns[kind] % STEPWISE_EVERY == 0


def ask_for_plan(match: Match, turn: Turn, carry: Carry | None = None) -> TurnPlan:
    """The plan of a valuation for its whole turn."""
    plan: TurnPlan = call(match, turn, "_plan_turn", carry)
    return plan


def call(match: Match, turn: Turn, method: str, *more: object) -> Any:
    """What a method of the strategy returns, unchecked; an exception in it becomes a StrategyError."""
    bot = bot_of(match, turn)
    if is_built_in(type(bot)):
        return getattr(bot, method)(turn, *more)
    explained = partial(_exception_error, match, turn, method)
    with _guarded(match, turn, method, explained) as guard:
        returned = getattr(bot, method)(turn, *more)
    if guard.closed_output:
        raise _strategy_error(match, turn, method, 0, "closed standard output")
    return returned


def _guarded(
    match: Match, turn: Turn, method: str, explained: Callable[[BaseException, bool], BaseException]
) -> AbstractContextManager[Guard]:
    """Run a method of the strategy."""
    opens = partial(_check_opened, bot_of(match, turn))
    return guarded(lambda: _too_slow(match, turn, method), explained, opens)


def _check_opened(bot: Strategy, path: str) -> None:
    """Refuse what a bot opens while it answers, unless a run would notice that the file has changed."""
    if problem := undeclared(bot, path):
        raise AnswerError(problem)


def explanation(match: Match, turn: Turn) -> list[tuple[str, float]]:
    """How the strategy explains its answer in a single game: options with their values, the best first."""
    returned = call(match, turn, "explain")
    try:
        options = [(str(option), float(value)) for option, value in returned]
    except (TypeError, ValueError) as error:
        problem = f"returned {returned!r}; return a list of (text, number)"
        raise _strategy_error(match, turn, "explain", 0, problem) from error
    return sorted(options, key=lambda option: -option[1])


def ask_values(match: Match, turn: Turn, question: Callable[[Valuation, Turn], Answer]) -> Answer:
    """What the results of a turn are worth to the valuation that is asked, outside of a game."""
    bot = bot_of(match, turn)
    assert isinstance(bot, Valuation)

    def explained(error: BaseException, expired: bool) -> StrategyError:
        problem = str(error) if isinstance(error, AnswerError) else _raised(error, type(bot))
        if expired:
            problem = f"has not answered within {time_limit():g} seconds"
        return StrategyError(f"{match.specs[turn._bot]}: value() {problem}.")

    with guarded(lambda: _too_slow(match, turn, "value"), explained):
        return question(bot, turn)


def bot_of(match: Match, turn: Turn) -> Strategy:
    """The strategy that is asked."""
    return match.strategies[turn._bot]


@cache
def is_built_in(kind: type[Strategy]) -> bool:
    """Whether a bot comes with pickosim; these fulfil the strategy contract and need no guard."""
    return kind.__module__.startswith(f"{pickosim.strategies.__name__}.")


def _raw_answers(match: Match, turn: Turn, method: str) -> NDArray[Any]:
    """The strategy's answers to one question, not yet checked for legality: (n,) integers or bool.

    A single game is asked about twice over: `turn.can_claim and …`, a mistake with several games, must not
    pass with one, or the game of an error could not be shown.
    """
    if len(turn) == 1:
        return _raw_answers(match, _twice(turn, 0), method)[:1]
    raw = call(match, turn, method)
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
    kind, wanted = ("iu", "integers") if method in NUMBERS else ("b", "bool")
    if answers.dtype.kind not in kind:
        raise _wrong_kind(match, turn, method, answers, wanted)
    return answers


def _twice(turn: Turn, place: int) -> Turn:
    """The same question about one of the games, twice over."""
    return turn._only(np.full(2, place))


def _audit(match: Match, turn: Turn, method: str, answers: NDArray[Any]) -> None:
    """Ask some questions again, about a few of the games or about more at once: the answers must be the same."""
    kind, n = type(bot_of(match, turn)), len(turn)
    _questions[kind] += 1
    number = _questions[kind]
    if number % (AUDIT_FIRST if number < FIRST_QUESTIONS else AUDIT_EVERY) or n < 4:
        return
    games = min(1 + number % AUDITED_GAMES, n // 2)
    began = perf_counter()
    _compare(match, turn, method, answers, (number + np.arange(games)[::-1] * (n // games)) % n)
    per_game = (perf_counter() - began) / games
    audits = _audits[kind, method] = _audits[kind, method] + 1
    if audits & (audits - 1) == 0 and per_game * MANY_GAMES < MANY_SECONDS:
        _compare(match, turn, method, answers, np.arange(MANY_GAMES) % n)


def _compare(
    match: Match, turn: Turn, method: str, answers: NDArray[Any], places: NDArray[np.int64]
) -> None:
    """Ask about some of the games, maybe several times each; the answers must be those that are known."""
    part = turn._apart(places)
    with remembering(False):
        again = _raw_answers(match, part, method)
    differs = again != answers[places]
    if differs.any():
        place = int(differs.argmax())
        game, number = _game_and_turn(turn, int(places[place]))
        asked = f"{len(part):,}{' of them' if len(part) < len(turn) else ''}"
        raise StrategyError(
            f"{match.specs[turn._bot]}: {method}() returned {answers[places[place]]} when asked about "
            f"{len(turn):,} games, and {again[place]} when asked about {asked} (game {game}, turn {number}, "
            f"seat {turn.seat}). An answer may depend only on its own game's row of the turn. "
            f"To find out more: {shlex.join(['pickosim', 'check', match.specs[turn._bot]])}"
        )


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


def _exception_error(
    match: Match, turn: Turn, method: str, error: BaseException, expired: bool
) -> StrategyError:
    """The error for an exception, with the first game that raises it on its own, if there is one."""
    is_one = np.all(turn._rows == turn._rows[0])
    place, alone = (0, error) if is_one else _first_failure(match, turn, method, expired=expired)
    error = alone or error
    asked = "value" if _is_in_value(error) else method
    if expired:
        where = place_in_bot(error, type(bot_of(match, turn)))
        problem = (
            f"has not answered within {time_limit():g} seconds{f' ({where})' if where else ''}"
        )
        sentence = _strategy_error(
            match, turn, asked, place, f"{problem}; --answer-seconds allows more"
        )
        late = TimeLimitError(str(sentence))
        late.bot = sentence.bot
        return late
    if isinstance(error, AnswerError):
        return _strategy_error(match, turn, asked, place, str(error))
    problem = _raised(error, type(bot_of(match, turn)))
    if alone is None and len(turn) > 1:
        problem += f"; only when asked about {len(turn):,} games at once"
    if asked in METHODS:
        problem += f"; legal: {_legal(turn, method, place)}"
    return _strategy_error(match, turn, asked, place, problem)


def _first_failure(
    match: Match, turn: Turn, method: str, *, expired: bool
) -> tuple[int, BaseException | None]:
    """The first game about which a strategy cannot be asked on its own, and the exception; 0 and None if none.

    Found by bisection, or game by game if only one question more is allowed to expire. No longer than the time limit
    is spent on the search.
    """
    until = monotonic() + time_limit()
    places = range(len(turn))
    while len(places) > 1 and monotonic() < until:
        half = 1 if expired else len(places) // 2
        if failed := _failure(match, turn, method, places[:half]):
            places = places[:half]
            if half == 1:
                return places[0], failed
        else:
            places = places[half:]
    failed = _failure(match, turn, method, places) if len(places) == 1 else None
    return (places[0], failed) if failed else (0, None)


def _failure(match: Match, turn: Turn, method: str, places: range) -> BaseException | None:
    """What a strategy raises when asked about some of the games, or about one twice over."""
    few = turn._apart(np.array(places if len(places) > 1 else [*places] * 2))
    try:
        with _guarded(match, few, method, lambda error, _: _Failed(error)):
            getattr(bot_of(match, turn), method)(few)
    except _Failed as failed:
        return failed.__cause__
    return None


class _Failed(Exception):  # noqa: N818 (never shown)
    pass


def failing(turn: Turn, question: Callable[[Turn], object]) -> NDArray[np.int64]:
    """The games of a turn about which a question fails even on its own; none if it fails only about several at once.

    Found by bisection, so that the others are asked about few times.
    """
    failed: list[int] = []

    def search(places: NDArray[np.int64]) -> None:
        part = turn._apart(places)
        try:
            question(part)
        except TimeLimitError:
            raise
        except StrategyError:
            if len(places) == 1:
                failed.extend(places)
                return
            for half in np.array_split(places, 2):
                search(half)

    search(np.arange(len(turn)))
    return np.array(failed, np.int64)


def _raised(error: BaseException, kind: type[Strategy]) -> str:
    """An exception in words: what, where in the bot's file, and a hint for common mistakes."""
    text = f"raised {type(error).__name__}: {error}".rstrip(": ")
    if isinstance(error, ValueError) and "truth value of an array" in text:
        text = text.partition(". Use")[0] + (
            "; on arrays use & | ~ with parentheses around comparisons, e.g. "
            "turn.can_claim & (turn.total >= 25), not and, or, not, if"
        )
    if isinstance(error, ValueError) and "read-only" in text:
        text += "; the arrays of a turn are read-only: make a copy() to change one"
    if isinstance(error, AttributeError) and isinstance(error.obj, TableView | SimpleTurn):
        public = [name for name in dir(type(error.obj)) if not name.startswith("_")]
        text += suggest(str(error.name), public)
    where = place_in_bot(error, kind)
    return f"{text} ({where})" if where else text


def _is_in_value(error: BaseException) -> bool:
    """Whether an exception came from what a valuation says of a position, and not from a method that was asked."""
    code = checked_values.__code__
    return any(frame.f_code is code for frame, _ in walk_tb(error.__traceback__))


def _too_slow(match: Match, turn: Turn, method: str) -> str:
    """What is said if a strategy does not even react when it is interrupted."""
    game, number = _game_and_turn(turn, 0)
    return (
        f"{match.specs[turn._bot]}: {method}() has not answered within {time_limit():g} seconds "
        f"(asked about {len(turn):,} games; the first is game {game}, turn {number}, seat {turn.seat})"
    )


def _strategy_error(
    match: Match, turn: Turn, method: str, place: int, problem: str
) -> StrategyError:
    game, number = _game_and_turn(turn, place)
    rotation = int(turn._table["rotation"][turn._rows[place]])
    error = StrategyError(
        f"{match.specs[turn._bot]}: {method}() {problem} "
        f"(game {game}, turn {number}, seat {turn.seat}). "
        f"To see that game: {match.replay_command(game, rotation)}"
    )
    error.bot = match.specs[turn._bot]
    return error


def _game_and_turn(turn: Turn, place: int) -> tuple[int, int]:
    """The numbers of a game and its turn."""
    row = turn._rows[place]
    return int(turn._table["game"][row]), int(turn._table["turn"][row])
