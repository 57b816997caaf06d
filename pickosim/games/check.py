"""Check a bot against the strategy contract by playing games with it.

The tests of this package check every built-in bot, `pickosim check` checks any bot. Comparisons use
complete results of games, column by column, so that a single different decision shows up.
"""

from __future__ import annotations

import ast
import inspect
import os
import pickle
import platform
import random
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext
from copy import copy
from dataclasses import dataclass, field, fields, replace
from datetime import date
from difflib import get_close_matches
from functools import cached_property
from multiprocessing import get_context
from textwrap import dedent
from time import perf_counter
from types import CodeType, FrameType, FunctionType
from typing import Any, Literal, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from pickosim.bots.command import Command
from pickosim.bots.guard import (
    GAME_SECONDS,
    Guard,
    answer_seconds,
    in_bot,
    is_from_bot,
    muted,
    time_limit,
    times_printed,
)
from pickosim.bots.loading import (
    forget_file,
    is_command,
    is_file,
    load_bot,
    packed,
    spec_of,
    unpack,
)
from pickosim.bots.memory import remembering
from pickosim.bots.simple import SimpleStrategy, SimpleTurn
from pickosim.bots.strategy import Strategy, own_methods
from pickosim.bots.view import METHODS, After, BoolArray, Turn
from pickosim.engine.tally import Tally
from pickosim.errors import BotError, StrategyError, TimeLimitError
from pickosim.games.batch import BATCH, play_games
from pickosim.games.match import Match, make_match
from pickosim.rule_files import PRESETS, load_rules
from pickosim.rules import RuleSet
from pickosim.solver.valuation import Valuation


class Around(Strategy):
    """Answers like another bot; subclasses look at the question and the answer."""

    bot: Strategy

    def pick(self, turn: Turn) -> NDArray[Any]:
        return self._answer("pick", turn)

    def stop(self, turn: Turn) -> BoolArray:
        return self._answer("stop", turn)

    def claim(self, turn: Turn) -> NDArray[Any]:
        return self._answer("claim", turn)

    def reroll(self, turn: Turn) -> BoolArray:
        return self._answer("reroll", turn)

    def use_golden_die(self, turn: Turn) -> BoolArray:
        return self._answer("use_golden_die", turn)

    def keep_new_specialist(self, turn: Turn) -> BoolArray:
        return self._answer("keep_new_specialist", turn)

    def rob(self, turn: Turn) -> NDArray[Any]:
        return self._answer("rob", turn)

    def _answer(self, method: str, turn: Turn) -> NDArray[Any]:
        raise NotImplementedError


class ChangeDetector(Around):
    """Records what a bot changes, and undoes the changes."""

    changes: list[tuple[str, int]] = field(default_factory=list)
    """What was changed, and the number of a game in which it happened."""

    def _answer(self, method: str, turn: Turn) -> NDArray[Any]:
        # As bytes: records have padding between their fields, which copies of records omit.
        engine = {
            "books": turn._books.view(np.uint8),
            "table": turn._table.view(np.uint8),
            "hands": turn._hands.view(np.uint8),
        }
        before = {name: content.copy() for name, content in engine.items()}
        answers: NDArray[Any] = getattr(self.bot, method)(turn)
        changed = [f"turn.{name}" for name in _altered_views(turn)]
        for name, content in engine.items():
            if not np.array_equal(content, before[name]):
                content[:] = before[name]
                changed.append(f"the engine's {name}")
        game = int(turn._table["game"][turn._rows[0]])
        self.changes += [(f"{method}() changes {name}", game) for name in changed]
        return answers


def _altered_views(turn: Turn) -> list[str]:
    """The attributes of a turn that no longer match the table."""
    shown = [name for name in vars(turn) if isinstance(vars(Turn).get(name), cached_property)]
    fresh = copy(turn)
    for name in shown:
        del vars(fresh)[name]
    return [name for name in shown if not np.array_equal(getattr(turn, name), getattr(fresh, name))]


class Repeater(Around):
    """Asks some questions of each kind again, with their games repeated to a full batch."""

    differences: list[tuple[str, int]] = field(default_factory=list)
    """The methods that then answer otherwise, and a game."""
    asked: Counter[str] = field(default_factory=Counter)

    def _answer(self, method: str, turn: Turn) -> NDArray[Any]:
        answers: NDArray[Any] = getattr(self.bot, method)(turn)
        self.asked[method] += 1
        if self.asked[method] in (1, 3, 10):
            places = np.resize(np.arange(len(turn)), BATCH)
            many = turn._only(places)
            many._notes = dict(turn._notes)
            again = np.asarray(getattr(self.bot, method)(many))
            if not np.array_equal(again, np.asarray(answers)[places]):
                self.differences.append((method, int(turn._table["game"][turn._rows[0]])))
        return answers


class Onlooker(Around):
    """Records what a bot uses besides what it is shown."""

    def __post_init__(self) -> None:
        self.private: list[tuple[str, str]] = []
        """Private attributes that the bot uses, and where."""
        self.outside: list[tuple[str, str]] = []
        """Functions that ask the clock and the like, and where they are called."""
        self.prints: list[str] = []
        """Methods that print."""
        self.called: set[CodeType] = set()
        """The bot's functions that were called."""

    def _answer(self, method: str, turn: Turn) -> NDArray[Any]:
        with self.watching(f"{method}()"):
            answers: NDArray[Any] = getattr(self.bot, method)(_shown(turn, self))
        return answers

    @contextmanager
    def watching(self, what: str) -> Iterator[None]:
        """Record which functions are called, and whether something is printed."""
        printed, before = times_printed(), sys.getprofile()
        sys.setprofile(self._profile)
        try:
            yield
        finally:
            sys.setprofile(before)
        if times_printed() > printed:
            self.prints.append(what)

    def _profile(self, frame: FrameType, event: str, called: Any) -> None:
        if event == "c_call" and in_bot(frame):
            name = _outside_builtin(called)
            if name:
                self.outside.append((f"{name}()", _place(frame)))
        elif event == "call":
            if in_bot(frame):
                self.called.add(frame.f_code)
            elif frame.f_code in _OUTSIDE_CODE and (caller := _calling_bot(frame)):
                self.outside.append((_OUTSIDE_CODE[frame.f_code], _place(caller)))

    def misspelt(self) -> Iterator[tuple[str, str]]:
        """Methods of the bot that were never called, with the one that may be meant."""
        known = set(dir(Strategy)) | set(dir(Valuation))
        missing = [name for name in METHODS if name not in own_methods(self.bot)]
        for kind in type(self.bot).__mro__:
            if kind is Strategy or kind.__module__.startswith(f"{Valuation.__module__}"):
                break
            for name, member in vars(kind).items():
                if name.startswith("_") or name in known or not isinstance(member, FunctionType):
                    continue
                if member.__code__ not in self.called:
                    meant = OTHER_NAMES.get(name) or next(
                        iter(get_close_matches(name, missing, n=1)), None
                    )
                    if meant in missing:
                        yield name, str(meant)


OTHER_NAMES = {
    "use_weasel": "reroll",
    "weasel": "reroll",
    "roll_again": "reroll",
    "take": "claim",
    "choose_tile": "claim",
    "steal_bratworm": "rob",
    "take_bratworm": "rob",
}
"""Names that authors may give to optional methods."""

_ENVIRON = type(os.environ)

_OUTSIDE_CODE: dict[CodeType, str] = {
    _ENVIRON.__getitem__.__code__: "os.environ",
    platform.uname.__code__: "platform.uname()",
    **{
        getattr(random.Random, name).__code__: f"random.{name}()"
        for name in ("choice", "choices", "randrange", "randint", "sample", "shuffle", "uniform")
    },
}
"""Python functions that ask the environment and the like."""

_OUTSIDE_SYSTEM = {
    "getpid",
    "getppid",
    "urandom",
    "getcwd",
    "getlogin",
    "times",
    "uname",
    "listdir",
}


def _outside_builtin(called: Any) -> str:
    """The name of a built-in function that asks the clock and the like; empty for any other."""
    name, module = getattr(called, "__name__", ""), getattr(called, "__module__", None)
    owner = getattr(called, "__self__", None)
    if module == "time" and name != "sleep":
        return f"time.{name}"
    if module in ("posix", "nt") and name in _OUTSIDE_SYSTEM:
        return f"os.{name}"
    if isinstance(owner, type) and issubclass(owner, date) and name in ("now", "today", "utcnow"):
        return f"{owner.__name__}.{name}"
    return f"random.{name}" if isinstance(owner, random.Random) else ""


def _calling_bot(frame: FrameType) -> FrameType | None:
    """The bot's frame that called a function, perhaps through others of Python's library."""
    caller = frame.f_back
    for _ in range(4):
        if caller is None or in_bot(caller):
            return caller
        caller = caller.f_back
    return None


def _place(frame: FrameType) -> str:
    return f"{frame.f_code.co_filename}, line {frame.f_lineno}"


class _ShownTurn(Turn):
    """A turn that records which private attributes a bot uses."""

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("_"):
            _record_private(self, "turn", name)
        return super().__getattribute__(name)

    def _only(self, games: slice | NDArray[np.int64]) -> Turn:
        return _shown(super()._only(games), vars(self)["onlooker"])

    def results(self) -> After:
        return _shown(super().results(), vars(self)["onlooker"])

    def after_fail(self) -> After:
        return _shown(super().after_fail(), vars(self)["onlooker"])


class _ShownAfter(After):
    """Results of a turn that record which private attributes a bot uses."""

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("_"):
            _record_private(self, "after", name)
        return super().__getattribute__(name)


class _ShownSimpleTurn(SimpleTurn):
    """One game of a turn that records which private attributes a bot uses."""

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("_"):
            _record_private(object.__getattribute__(self, "_games").turn, "turn", name)
        return super().__getattribute__(name)


Shown = TypeVar("Shown", Turn, After)


def _shown(view: Shown, onlooker: Onlooker) -> Shown:
    """The same view, as a copy that records the use of private attributes."""
    shown = copy(view)
    vars(shown)["onlooker"] = onlooker
    vars(shown)["simple_turn"] = _ShownSimpleTurn
    kind: Any = _ShownTurn if isinstance(view, Turn) else _ShownAfter
    shown.__class__ = kind
    return shown


def _record_private(view: Turn | After, word: str, name: str) -> None:
    """Record the use of a private attribute by the bot; Python itself uses names such as __class__."""
    caller = sys._getframe(2)
    if in_bot(caller) and (name == "__dict__" or not name.endswith("__")):
        onlooker: Onlooker = object.__getattribute__(view, "__dict__")["onlooker"]
        onlooker.private.append((f"{word}.{name}", _place(caller)))


# ---------------------------------------------------------------------------------------- oddities


class StopCounter(Around):
    """Counts how often a bot stops, and how often it does so with nothing to claim."""

    def __post_init__(self) -> None:
        self.stops = self.empty_stops = 0

    def _answer(self, method: str, turn: Turn) -> NDArray[Any]:
        answers: NDArray[Any] = getattr(self.bot, method)(turn)
        if method == "stop":
            stops = np.asarray(answers)
            self.stops += int(stops.sum())
            self.empty_stops += int((stops & ~turn.can_claim).sum())
        return answers


def missing_parentheses(kind: type[Strategy]) -> str:
    """An expression of `stop` such as `turn.can_claim & turn.dice_left < 3`, which compares the result of &; or nothing."""
    try:
        source = dedent(inspect.getsource(inspect.unwrap(kind.stop)))
        tree = ast.parse(source)
    except (OSError, TypeError, SyntaxError):  # it is in no file
        return ""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and any(map(_is_bitwise, [node.left, *node.comparators])):
            return ast.get_source_segment(source, node) or ""
    return ""


def _is_bitwise(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr)


def unannotated(kind: type[Strategy]) -> Iterator[tuple[str, str]]:
    """Class attributes that would be parameters with an annotation, and how to write them: `target: int = 25`."""
    parameters = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    for base in kind.__mro__:
        if base.__module__.partition(".")[0] == "pickosim":
            continue
        for name, value in vars(base).items():
            if name.startswith("_") or name.isupper() or name in inspect.get_annotations(base):
                continue
            # A base class may declare it as no parameter.
            is_declared = any(name in inspect.get_annotations(other) for other in base.__mro__)
            if isinstance(value, int | float | str) and (name in parameters or not is_declared):
                yield name, f"{name}: {type(value).__name__} = {value!r}"


def other_values(bot: Strategy) -> Iterator[tuple[str, list[Any]]]:
    """Every parameter of a bot with other values to try; texts and paths are left out, as nobody knows which are valid."""
    hints = get_type_hints(type(bot))
    for each in fields(bot):  # type: ignore[arg-type]
        value, hint, values = getattr(bot, each.name, None), hints[each.name], []
        if get_origin(hint) is Literal:
            values = [choice for choice in get_args(hint) if choice != value]
        elif isinstance(value, bool):
            values = [not value]
        elif isinstance(value, int | float):
            tried = (value + 1, value - 1, 10 * value + 10, -10 * value - 10, 0 * value)
            values = [other for other in tried if other != value]
        if each.init and values:
            yield each.name, values


# --------------------------------------------------------------------------------------- the check


LEGAL = "legal moves"
REPEATABLE = "same seed, same games"
BATCH_SIZE = "any batch size"
MEMORY = "no memory"
INPUTS = "inputs unchanged"
PRIVATE = "nothing private"
OUTSIDE = "nothing from outside"
PRINTS = "nothing printed"
NAMES = "names of methods"
PROCESS = "another process"
PLAY = "sensible play"
PARAMETERS = "parameters"
SPEED = "speed"
COMPARISONS = {OUTSIDE, REPEATABLE, BATCH_SIZE, MEMORY, PROCESS}
"""Points that one mistake breaks together: games that differ. After the first, the others say nothing new."""

MOST_EMPTY_STOPS = 0.2
"""Share of stops with nothing to claim above which a bot is odd: those that look ahead stop so when no roll can help."""

SMALL_BATCH, LARGE_BATCH = 7, 4096
RIVAL, REFERENCE_BOT = "random", "eager"


@dataclass(frozen=True)
class Finding:
    """The result on one point of the contract; the message says what was tested or what is wrong."""

    point: str
    ok: bool
    message: str
    odd: bool = False
    """Legal, but hardly meant."""


@dataclass(frozen=True)
class Effort:
    """How much is played; the defaults find common mistakes within seconds for a simple bot."""

    players: tuple[int, ...] = (2, 3, 4, 5, 6, 7)
    """Numbers of players with which moves must be legal."""
    legal_games: int = 8
    """Games per preset, number of players and seating."""
    games: int = 100
    """Games per match whose results are compared."""
    single_games: int = 4
    """Games per match that are also played one at a time."""
    turn_limit: int = 150
    """Turns per game: a bot that never claims the last tiles would play thousands."""
    seconds: float = 0.3
    """The least time for a measurement of speed."""
    answer_seconds: float = GAME_SECONDS
    """Time for an answer."""


class Seating(NamedTuple):
    """The rules of a match and the seats of the bot; `random` plays the others."""

    rules: RuleSet
    own: tuple[bool, ...]


@dataclass(frozen=True)
class Trial:
    """A bot (by name or path, or made in Python), and how much it has to play."""

    bot: str | Strategy
    effort: Effort
    elsewhere: Future[list[Tally]] | Exception | None = None
    """The results from another process, or why it cannot play."""

    @property
    def spec(self) -> str:
        """The spec of the bot on a command line."""
        return self.bot if isinstance(self.bot, str) else spec_of(self.bot)

    @cached_property
    def kind(self) -> type[Strategy]:
        """The class of the bot."""
        return type(self.new_bot())

    @property
    def seatings(self) -> list[Seating]:
        """The matches whose results are compared; together they ask every question of the contract.

        If the bot does not play some of them, those that it plays; or others.
        """
        wanted = [
            Seating(_rules("classic", self.effort), (True, True)),
            Seating(_rules("manual", self.effort), (True, False, True)),
            Seating(_rules("extrawurm", self.effort), (True, False, True, True)),
        ]
        return self.played(wanted) or self.played(legal_seatings(self.effort))[: len(wanted)]

    def played(self, seatings: Sequence[Seating]) -> list[Seating]:
        """Those of some matches to which the bot has no objection."""
        bot = self.new_bot()
        return [each for each in seatings if not bot.objection(each.rules, len(each.own))]

    @cached_property
    def reference(self) -> list[Tally]:
        """The results of these matches that all others are compared with."""
        return results(self)

    @cached_property
    def seen(self) -> Onlooker:
        """What was seen of the bot in these matches."""
        onlooker = Onlooker(self.new_bot())
        forget_file(type(onlooker.bot))
        with onlooker.watching("the file"):
            onlooker.bot = self.new_bot()
        for seating in self.seatings:
            play_games(self.match(seating, onlooker), 0, self.effort.games)
        return onlooker

    def new_bot(self) -> Strategy:
        """A new instance of the bot that has not played yet."""
        return load_bot(self.bot) if isinstance(self.bot, str) else replace(self.bot)  # type: ignore[type-var]

    def match(self, seating: Seating, strategy: Strategy) -> Match:
        """A match with one strategy in all seats of the bot, named by the bot's spec."""
        match = make_match([strategy if own else RIVAL for own in seating.own], seating.rules)
        return replace(match, specs=tuple(self.spec if own else RIVAL for own in seating.own))

    def for_worker(self) -> Trial:
        """The trial to send to another process: with the path to load the bot from, or the bot itself."""
        by_path = isinstance(self.bot, str) and (
            is_file(self.bot) or is_command(self.bot) or self.packed
        )
        return Trial(self.bot if by_path else self.new_bot(), self.effort)

    @property
    def packed(self) -> dict[str, bytes]:
        """The bot for another process, if it was given as a Python object."""
        return packed([self.spec])


def _why_not(bot: Strategy) -> str:
    """Why a bot does not play the simplest game."""
    return bot.objection(load_rules("classic"), 2)


def check_bot(
    bot: str | Strategy, effort: Effort | None = None, executor: Executor | None = None
) -> Iterator[Finding]:
    """Check a bot against the strategy contract, point by point; yields each finding as soon as known.

    A mistake is reported once: points that cannot be tested because of it are left out. `executor` plays the games
    for another process; without it a process is started.
    """
    trial = Trial(bot, effort or Effort())
    with (
        answer_seconds(trial.effort.answer_seconds),
        muted(),
        remembering(False),
        nullcontext(executor) if executor else another_process() as process,
    ):
        bot = trial.new_bot()  # raises an error if the bot cannot be loaded
        if not trial.seatings:
            raise BotError(
                f"{trial.spec} plays by none of the presets, so it cannot be checked: {_why_not(bot)}"
            )
        # Submitted first because the process takes a second or two to start.
        trial = replace(trial, elsewhere=_submitted(process, trial))
        wrong: set[str] = set()
        games_stop = False
        for point, check in CHECKS.items():
            if point in COMPARISONS and wrong & COMPARISONS:
                continue
            try:
                finding = check(trial)
            except TimeLimitError as error:
                yield Finding(point, False, str(error))
                return  # every other point would take as long
            except StrategyError as error:
                if games_stop:
                    continue
                finding = Finding(point, False, f"a game stops: {error}")
                games_stop = True
            if not finding.ok:
                wrong.add(point)
                games_stop |= point == LEGAL
            yield finding


# ------------------------------------------------------------------------------------- the contract


def check_legal(trial: Trial) -> Finding:
    """Moves are legal with every preset and number of players, with itself and with `random`."""
    every = legal_seatings(trial.effort)
    seatings = trial.played(every)
    mistakes: list[tuple[Seating, StrategyError]] = []
    for seating in seatings:
        try:
            play_games(trial.match(seating, trial.new_bot()), 0, trial.effort.legal_games)
        except TimeLimitError:
            raise
        except StrategyError as error:
            mistakes.append((seating, error))
    if mistakes:
        where = _where([seating for seating, _ in mistakes], seatings)
        broken = f"games stop with an error in {len(mistakes)} of {len(seatings)} matches{where}"
        return Finding(LEGAL, False, f"{broken}. The first error: {mistakes[0][1]}")
    sizes = f"{min(trial.effort.players)} to {max(trial.effort.players)} players"
    played = f"{len(seatings)} matches: {len(PRESETS)} presets, {sizes}, with itself and {RIVAL}"
    if left_out := len(every) - len(seatings):
        played = f"{len(seatings)} matches{_where(seatings, every)}; it declines {left_out} others"
    return Finding(LEGAL, True, played)


def check_repeatable(trial: Trial) -> Finding:
    """Two runs with the same seed give the same games."""
    right = f"two runs of {len(trial.seatings)} × {trial.effort.games} games are equal"
    wrong = (
        "two runs with the same seed differ; use only turn.random() for chance, "
        "and store nothing between calls"
    )
    return _compared(REPEATABLE, trial, results(trial), right, wrong)


def check_batch_size(trial: Trial) -> Finding:
    """A game is the same in small batches, in large batches and alone."""
    right = f"the same answers about 1, {SMALL_BATCH} and {BATCH:,} games at once"
    wrong = (
        "a game depends on other games of the batch; "
        "an answer may depend only on its own game's row of the turn"
    )
    finding = _compared(BATCH_SIZE, trial, results(trial, batch=SMALL_BATCH), right, wrong)
    if not finding.ok:
        return finding
    games, single_games = trial.effort.games, trial.effort.single_games
    for seating, together in zip(trial.seatings, trial.reference, strict=True):
        match = trial.match(seating, trial.new_bot())
        for game in range(0, games, max(1, games // single_games)):
            if first_difference(_only(together, game), play_games(match, game, 1)) is not None:
                return Finding(BATCH_SIZE, False, _with_replay(wrong, match, game))
        repeater = Repeater(trial.new_bot())
        play_games(trial.match(seating, repeater), 0, games)
        for method, game in repeater.differences:
            what = f"{method}() answers otherwise when asked about {BATCH:,} games at once"
            return Finding(BATCH_SIZE, False, _with_replay(f"{what}; {wrong}", match, game))
    return finding


def check_memory(trial: Trial) -> Finding:
    """A game is the same before and after games with other rules and players."""
    right = "the same games before and after games with other rules"
    wrong = (
        "a game depends on the games before it; "
        "a bot may store nothing between calls that changes an answer"
    )
    finding = _compared(MEMORY, trial, results(trial, backwards=True), right, wrong)
    if not (finding.ok and issubclass(trial.kind, SimpleStrategy | Command)):
        return finding
    with remembering(True):
        again = results(trial)
    wrong = (
        "a game depends on more than what the bot reads of it, so its answers cannot be remembered"
    )
    return _compared(MEMORY, trial, again, right, wrong)


def check_inputs(trial: Trial) -> Finding:
    """The bot changes nothing that it is shown."""
    for seating in trial.seatings:
        detector = ChangeDetector(trial.new_bot())
        match = trial.match(seating, detector)
        play_games(match, 0, trial.effort.games)
        if detector.changes:
            what, game = detector.changes[0]
            return Finding(INPUTS, False, _with_replay(f"{what}, which is read-only", match, game))
    return Finding(INPUTS, True, "the bot changes nothing that it is shown")


def check_private(trial: Trial) -> Finding:
    """The bot uses nothing of a turn whose name begins with an underscore, such as the coming dice."""
    if issubclass(trial.kind, Command):
        return Finding(PRIVATE, True, "a program gets only what a strategy may see")
    for what, place in trial.seen.private:
        message = f"the bot uses {what} ({place}), which is not part of what a strategy may see"
        return Finding(PRIVATE, False, message)
    return Finding(PRIVATE, True, "the bot uses only what a strategy may see")


def check_outside(trial: Trial) -> Finding:
    """The bot asks neither the clock nor the environment, the process or a random generator."""
    if issubclass(trial.kind, Command):
        return Finding(
            OUTSIDE, True, "not visible in a program; comparisons of games find most of it"
        )
    for what, place in trial.seen.outside:
        message = f"the bot uses {what} ({place}); an answer may depend only on the turn"
        return Finding(OUTSIDE, False, message)
    return Finding(OUTSIDE, True, "the bot asks no clock, environment or random generator")


def check_prints(trial: Trial) -> Finding:
    """The bot prints nothing."""
    if issubclass(trial.kind, Command):
        message = "standard output has answers only; standard error is not looked at"
        return Finding(PRINTS, True, message)
    for what in trial.seen.prints:
        message = f"{what} prints; a run would print that many times, on standard error"
        return Finding(PRINTS, False, message)
    return Finding(PRINTS, True, "the bot prints nothing")


def check_names(trial: Trial) -> Finding:
    """No method is misspelt: the engine would use the default instead."""
    if not issubclass(trial.kind, Command):  # which is refused when it is loaded
        for name, meant in trial.seen.misspelt():
            return Finding(NAMES, False, f'{name}() is never called; did you mean "{meant}"?')
    own = ", ".join(own_methods(trial.new_bot()))
    return Finding(NAMES, True, f"the bot decides {own}")


def check_process(trial: Trial) -> Finding:
    """Games are the same in another process, since worker processes play the tournaments."""
    future = trial.elsewhere
    assert future is not None
    if isinstance(future, Exception):
        reason = f"{type(future).__name__}: {future}"
        return Finding(PROCESS, False, f"the bot cannot be pickled for a worker: {reason}")
    try:
        there = future.result()
    except BrokenProcessPool:
        message = (
            "a worker process cannot load the bot; put its class into a module that can be imported"
        )
        return Finding(PROCESS, False, message)
    right = "the same games in another process"
    wrong = (
        "another process plays different games; an answer may not depend on the process, "
        "e.g. on the order of a set or on results cached for other rules"
    )
    return _compared(PROCESS, trial, there, right, wrong)


def check_play(trial: Trial) -> Finding:
    """The bot stops to claim something, and gets tiles more often than `random`."""
    counter = StopCounter(trial.new_bot())
    own = [(seating, trial.match(seating, counter)) for seating in trial.seatings]
    without = _share_without_tile(own, trial.effort.games)
    share = counter.empty_stops / max(counter.stops, 1)
    if share > MOST_EMPTY_STOPS:
        message = (
            f"{share * 100:.0f} % of its stops come with nothing to claim, so these turns fail"
        )
        if expression := missing_parentheses(trial.kind):
            message += f"; comparisons need parentheses beside & and | ({expression})"
        return Finding(PLAY, True, message, odd=True)
    known = [(seating, trial.match(seating, load_bot(RIVAL))) for seating in trial.seatings]
    usual = _share_without_tile(known, trial.effort.games)
    message = f"without a tile at the end of {without * 100:.0f} % of its games ({RIVAL}: {usual * 100:.0f} %)"
    if without > usual:
        never = "" if counter.stops else "it never stops; "
        return Finding(PLAY, True, f"{never}{message}", odd=True)
    return Finding(PLAY, True, message)


def _share_without_tile(matches: Sequence[tuple[Seating, Match]], games: int) -> float:
    """The share of games that the bot ends without a tile, over its seats in these matches."""
    tiles = [play_games(match, 0, games).tiles[:, list(seats.own)] for seats, match in matches]
    return float(np.mean(np.concatenate([each.ravel() for each in tiles]) == 0))


def check_parameters(trial: Trial) -> Finding:
    """Every parameter changes how the bot plays, and what looks like a parameter is one."""
    bot = trial.new_bot()
    parameters = dict(other_values(bot))
    odd = [
        f"{name} is not a parameter without an annotation: write {written}"
        for name, written in unannotated(trial.kind)
    ]
    odd += [
        f"{name} changes no game (tried {', '.join(map(str, values))})"
        for name, values in parameters.items()
        if not _matters(trial, bot, name, values)
    ]
    if odd:
        return Finding(PARAMETERS, True, "; ".join(odd), odd=True)
    changing = f"other values of {', '.join(parameters)} change games"
    return Finding(PARAMETERS, True, changing if parameters else "none to change")


def _matters(trial: Trial, bot: Strategy, name: str, values: Sequence[object]) -> bool:
    """Whether some other value of a parameter changes a game, or is refused."""
    for value in values:
        guard = Guard(lambda: f"{trial.spec} has not been made within {time_limit():g} seconds")
        try:
            with guard:
                other = Trial(replace(bot, **{name: value}), trial.effort)  # type: ignore[type-var]
            if other.seatings != trial.seatings:
                return True
            for seating, expected in zip(trial.seatings, trial.reference, strict=True):
                played = play_games(trial.match(seating, other.new_bot()), 0, trial.effort.games)
                if first_difference(expected, played) is not None:
                    return True
        except BaseException as error:
            if guard.expired or is_from_bot(error):
                return True
            raise
    return False


def check_speed(trial: Trial) -> Finding:
    """Games per second on one core, for information, compared with a known bot."""
    rules, own_seats = trial.seatings[0]
    seating = Seating(rules, (True,) * len(own_seats))
    players = len(seating.own)
    match = trial.match(seating, trial.new_bot())
    play_games(match, 0, 2)  # a program is started with the first question
    with remembering(True):
        own = games_per_second(match, trial.effort.seconds)
    known = games_per_second(make_match([REFERENCE_BOT] * players, rules), trial.effort.seconds)
    speed = f"{_rounded(own)} games/s with itself, {rules.name}, {players} players, one core"
    return Finding(SPEED, True, f"{speed} ({REFERENCE_BOT}: {_rounded(known)})")


CHECKS: dict[str, Callable[[Trial], Finding]] = {
    LEGAL: check_legal,
    OUTSIDE: check_outside,
    REPEATABLE: check_repeatable,
    MEMORY: check_memory,
    BATCH_SIZE: check_batch_size,
    INPUTS: check_inputs,
    PRIVATE: check_private,
    PRINTS: check_prints,
    NAMES: check_names,
    PROCESS: check_process,
    PLAY: check_play,
    PARAMETERS: check_parameters,
    SPEED: check_speed,
}
"""All points, in the order in which they are checked."""


# ----------------------------------------------------------------------------------- what is played


def legal_seatings(effort: Effort) -> list[Seating]:
    """The matches in which every move must be legal."""
    return [
        Seating(_rules(preset, effort), own)
        for preset in PRESETS
        for players in effort.players
        for own in (
            (True,) * players,
            tuple(place % 2 == players % 2 for place in range(players)),
        )
    ]


def results(trial: Trial, *, batch: int = LARGE_BATCH, backwards: bool = False) -> list[Tally]:
    """Results of the matches, played by one instance of the bot, forwards or backwards."""
    strategy, step = trial.new_bot(), -1 if backwards else 1
    played = [
        play_games(trial.match(seating, strategy), 0, trial.effort.games, batch=batch)
        for seating in trial.seatings[::step]
    ]
    return played[::step]


def games_per_second(match: Match, seconds: float) -> float:
    """Games per second of a match on one core, measured for at least that many seconds."""
    games, took = 16, 0.0
    while took < seconds:
        games *= 4
        began = perf_counter()
        play_games(match, 0, games)
        took = perf_counter() - began
    return games / took


def _rules(preset: str, effort: Effort) -> RuleSet:
    return load_rules(preset, [f"turn_limit={effort.turn_limit}"])


def another_process() -> ProcessPoolExecutor:
    """A new process that shares no modules with this one; Ctrl-C ends it without output."""
    return ProcessPoolExecutor(1, get_context("spawn"), initializer=_begin_elsewhere)


def _begin_elsewhere() -> None:
    """Another process, in another environment: its results may not differ."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.environ.update(dict.fromkeys(("USER", "LOGNAME", "HOSTNAME", "LANG", "TZ"), "elsewhere"))


def _results_elsewhere(trial: Trial, bots: dict[str, bytes]) -> list[Tally]:
    """The results in another process; backwards, to reveal state that a module keeps from the first rules it meets."""
    unpack(bots)
    with answer_seconds(trial.effort.answer_seconds), muted(), remembering(False):
        return results(trial, backwards=True)


def _submitted(process: Executor, trial: Trial) -> Future[list[Tally]] | Exception:
    """The future results from another process, or the exception that pickling the bot raised."""
    try:
        copied, bots = trial.for_worker(), trial.packed
        pickle.dumps(copied)
    except Exception as error:  # pickling runs code of the bot, which may raise anything
        return error
    return process.submit(_results_elsewhere, copied, bots)


# --------------------------------------------------------------------------------------- comparison


def first_difference(a: Tally, b: Tally) -> int | None:
    """The first game in which two tallies differ in any column."""
    differs = np.zeros(len(a.turns), np.bool_)
    for column, other in zip(a, b, strict=True):
        differs |= np.asarray(column != other).reshape(len(differs), -1).any(axis=1)
    return int(differs.argmax()) if differs.any() else None


def _compared(point: str, trial: Trial, others: Sequence[Tally], right: str, wrong: str) -> Finding:
    """Whether the results of all matches equal the reference; if not, where they first differ."""
    for seating, expected, got in zip(trial.seatings, trial.reference, others, strict=True):
        game = first_difference(expected, got)
        if game is not None:
            match = trial.match(seating, trial.new_bot())
            return Finding(point, False, _with_replay(wrong, match, game))
    return Finding(point, True, right)


def _only(tally: Tally, game: int) -> Tally:
    return Tally._make(column[game : game + 1] for column in tally)


def _with_replay(what: str, match: Match, game: int) -> str:
    return f"{what} (first in game {game}: {match.replay_command(game)})"


def _where(some: Sequence[Seating], every: Sequence[Seating]) -> str:
    """The presets and numbers of players of some seatings, unless they are all of them."""

    def names(seatings: Sequence[Seating]) -> tuple[list[str], list[int]]:
        presets = dict.fromkeys(seating.rules.name for seating in seatings)
        return list(presets), sorted({len(seating.own) for seating in seatings})

    (presets, sizes), (all_presets, all_sizes) = names(some), names(every)
    parts = [f"rules {', '.join(presets)}"] if presets != all_presets else []
    if sizes != all_sizes:
        parts.append(f"{', '.join(map(str, sizes))} players")
    return f" ({'; '.join(parts)})" if parts else ""


def _rounded(speed: float) -> str:
    """A speed with three significant digits."""
    return f"{float(f'{speed:.3g}'):,.0f}"
