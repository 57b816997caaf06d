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
from collections import Counter, defaultdict
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
from pickosim.bots.strategy import Strategy, forwarded, own_methods
from pickosim.bots.view import METHODS, After, Turn
from pickosim.engine.tally import Tally
from pickosim.errors import BotError, StrategyError, TimeLimitError
from pickosim.games.batch import BATCH, play_games, warm_up
from pickosim.games.match import Match, make_match
from pickosim.rule_files import PRESETS, load_rules
from pickosim.rules import RuleSet
from pickosim.solver.valuation import Valuation

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


class Around(Strategy):
    """Answers like another bot; subclasses look at the question and the answer."""

    bot: Strategy

    pick, stop, claim = forwarded("pick"), forwarded("stop"), forwarded("claim")
    reroll, use_golden_die = forwarded("reroll"), forwarded("use_golden_die")
    keep_new_specialist, rob = forwarded("keep_new_specialist"), forwarded("rob")

    def _answers(self, method: str, turn: Turn) -> NDArray[Any]:
        answers: NDArray[Any] = getattr(self.bot, method)(turn)
        return answers


class ChangeDetector(Around):
    """Records what a bot changes, and undoes the changes."""

    changes: list[tuple[str, int]] = field(default_factory=list)
    """What was changed, and the number of a game in which it happened."""

    def _answers(self, method: str, turn: Turn) -> NDArray[Any]:
        # As bytes: records have padding between their fields, which copies of records omit.
        engine = {
            name: getattr(turn, f"_{name}").view(np.uint8) for name in ("books", "table", "hands")
        }
        before = {name: content.copy() for name, content in engine.items()}
        answers = super()._answers(method, turn)
        changed = [f"turn.{name}" for name in _altered_views(turn)]
        for name, content in engine.items():
            if not np.array_equal(content, before[name]):
                content[:] = before[name]
                changed.append(f"the engine's {name}")
        self.changes += [(f"{method}() changes {name}", _first_game(turn)) for name in changed]
        return answers


def _first_game(turn: Turn) -> int:
    return int(turn._table["game"][turn._rows[0]])


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

    def _answers(self, method: str, turn: Turn) -> NDArray[Any]:
        answers = super()._answers(method, turn)
        self.asked[method] += 1
        if self.asked[method] in (1, 3, 10):
            places = np.resize(np.arange(len(turn)), BATCH)
            again = super()._answers(method, turn._apart(places))
            if not np.array_equal(np.asarray(again), np.asarray(answers)[places]):
                self.differences.append((method, _first_game(turn)))
        return answers


# ---------------------------------------------------------------- what a bot uses besides its turn


class Onlooker(Around):
    """Records what a bot uses besides what it is shown, and counts its stops."""

    faults: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """What is wrong, by point of the contract."""
    called: set[CodeType] = field(default_factory=set)
    """The bot's functions that were called."""
    stops: int = 0
    empty_stops: int = 0
    """Those with nothing to claim."""

    def _answers(self, method: str, turn: Turn) -> NDArray[Any]:
        with self.watching(f"{method}()"):
            answers = super()._answers(method, _shown(turn, self))
        if method == "stop":
            stops = np.asarray(answers)
            self.stops += int(stops.sum())
            self.empty_stops += int((stops & ~turn.can_claim).sum())
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
            message = f"{what} prints; a run would print that many times, on standard error"
            self.faults[PRINTS].append(message)

    def _profile(self, frame: FrameType, event: str, called: Any) -> None:
        if event == "c_call" and in_bot(frame):
            self._uses_from_outside(_outside_builtin(called), frame)
        elif event == "call" and in_bot(frame):
            self.called.add(frame.f_code)
        elif event == "call" and (name := _OUTSIDE_CODE.get(frame.f_code)):
            self._uses_from_outside(name, _calling_bot(frame))

    def _uses_from_outside(self, name: str, frame: FrameType | None) -> None:
        if name and frame:
            message = (
                f"the bot uses {name} ({_place(frame)}); an answer may depend only on the turn"
            )
            self.faults[OUTSIDE].append(message)

    def misspelt(self) -> Iterator[tuple[str, str]]:
        """Methods of the bot that were never called, with the one that may be meant."""
        known = {*dir(Strategy), *dir(Valuation)}
        missing = [name for name in METHODS if name not in own_methods(self.bot)]
        for kind in type(self.bot).__mro__:
            if kind is Strategy or kind.__module__.startswith(f"{Valuation.__module__}"):
                break
            for name, member in vars(kind).items():
                if name.startswith("_") or name in known or not isinstance(member, FunctionType):
                    continue
                similar = get_close_matches(name, missing, n=1)
                meant = OTHER_NAMES.get(name, *similar) if similar else OTHER_NAMES.get(name)
                if member.__code__ not in self.called and meant in missing:
                    yield name, str(meant)


OTHER_NAMES = {
    **dict.fromkeys(("use_weasel", "weasel", "roll_again"), "reroll"),
    **dict.fromkeys(("take", "choose_tile"), "claim"),
    **dict.fromkeys(("steal_bratworm", "take_bratworm"), "rob"),
}
"""Names that authors may give to optional methods."""

_RANDOM = ("choice", "choices", "randrange", "randint", "sample", "shuffle", "uniform")

_OUTSIDE_CODE: dict[CodeType, str] = {
    type(os.environ).__getitem__.__code__: "os.environ",
    platform.uname.__code__: "platform.uname()",
    **{getattr(random.Random, name).__code__: f"random.{name}()" for name in _RANDOM},
}
"""Python functions that ask the environment and the like."""

_OUTSIDE_SYSTEM = "getpid getppid urandom getcwd getlogin times uname listdir"


def _outside_builtin(called: Any) -> str:
    """The call of a built-in function that asks the clock and the like; empty for any other."""
    name, module = getattr(called, "__name__", ""), getattr(called, "__module__", None)
    owner = getattr(called, "__self__", None)
    if module == "time" and name != "sleep":
        return f"time.{name}()"
    if module in ("posix", "nt") and name in _OUTSIDE_SYSTEM.split():
        return f"os.{name}()"
    if isinstance(owner, type) and issubclass(owner, date) and name in ("now", "today", "utcnow"):
        return f"{owner.__name__}.{name}()"
    return f"random.{name}()" if isinstance(owner, random.Random) else ""


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


class _Shown:
    """Records which private attributes a bot uses; Python itself uses names such as __class__."""

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("_") and (name == "__dict__" or not name.endswith("__")):
            caller = sys._getframe(1)
            if in_bot(caller):
                word = "after" if issubclass(type(self), After) else "turn"
                message = (
                    f"the bot uses {word}.{name} ({_place(caller)}), "
                    "which is not part of what a strategy may see"
                )
                _onlooker(self).faults[PRIVATE].append(message)
        return super().__getattribute__(name)


def _onlooker(view: Any) -> Onlooker:
    content = object.__getattribute__(view, "__dict__")
    onlooker: Onlooker = content.get("onlooker") or _onlooker(content["_games"].turn)
    return onlooker


class _ShownTurn(_Shown, Turn):
    def _only(self, games: slice | NDArray[np.int64]) -> Turn:
        return _shown(super()._only(games), _onlooker(self))

    def results(self) -> After:
        return _shown(super().results(), _onlooker(self))

    def after_fail(self) -> After:
        return _shown(super().after_fail(), _onlooker(self))


class _ShownAfter(_Shown, After):
    pass


class _ShownSimpleTurn(_Shown, SimpleTurn):
    pass


View = TypeVar("View", Turn, After)


def _shown(view: View, onlooker: Onlooker) -> View:
    """The same view, as a copy that records the use of private attributes."""
    shown = copy(view)
    vars(shown).update(onlooker=onlooker, simple_turn=_ShownSimpleTurn)
    shown.__class__ = _ShownTurn if isinstance(view, Turn) else _ShownAfter  # type: ignore[assignment]
    return shown


# ---------------------------------------------------------------------------------------- oddities


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


class ContractError(Exception):
    """What breaks a point of the contract."""


class OddError(Exception):
    """What is legal, but hardly meant."""


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
        for match in self.matches(onlooker):
            play_games(match, 0, self.effort.games)
        return onlooker

    def new_bot(self) -> Strategy:
        """A new instance of the bot that has not played yet."""
        return load_bot(self.bot) if isinstance(self.bot, str) else replace(self.bot)  # type: ignore[type-var]

    def match(self, seating: Seating, strategy: Strategy) -> Match:
        """A match with one strategy in all seats of the bot, named by the bot's spec."""
        match = make_match([strategy if own else RIVAL for own in seating.own], seating.rules)
        return replace(match, specs=tuple(self.spec if own else RIVAL for own in seating.own))

    def matches(self, strategy: Strategy) -> list[Match]:
        """The matches that are compared, with a strategy in place of the bot."""
        return [self.match(seating, strategy) for seating in self.seatings]


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
        warm_up()
        if not trial.seatings:
            why_not = bot.objection(load_rules("classic"), 2)
            raise BotError(
                f"{trial.spec} plays by none of the presets, so it cannot be checked: {why_not}"
            )
        # Submitted first because the process takes a second or two to start.
        trial = replace(trial, elsewhere=_submitted(process, trial))
        wrong: set[str] = set()
        games_stop = False
        for point, check in CHECKS.items():
            if point in COMPARISONS and wrong & COMPARISONS:
                continue
            try:
                yield Finding(point, True, check(trial))
            except OddError as odd:
                yield Finding(point, True, str(odd), odd=True)
            except TimeLimitError as error:
                yield Finding(point, False, str(error))
                return  # every other point would take as long
            except (ContractError, StrategyError) as error:
                message = str(error)
                if isinstance(error, StrategyError):
                    if games_stop:
                        continue
                    message = f"a game stops: {error}"
                games_stop |= point == LEGAL or isinstance(error, StrategyError)
                wrong.add(point)
                yield Finding(point, False, message)


# ------------------------------------------------------------------------------------- the contract

Check = Callable[[Trial], str]
"""What was tested; raises `ContractError` or `OddError`."""


def check_legal(trial: Trial) -> str:
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
        raise ContractError(f"{broken}. The first error: {mistakes[0][1]}")
    if left_out := len(every) - len(seatings):
        return f"{len(seatings)} matches{_where(seatings, every)}; it declines {left_out} others"
    sizes = f"{min(trial.effort.players)} to {max(trial.effort.players)} players"
    return f"{len(seatings)} matches: {len(PRESETS)} presets, {sizes}, with itself and {RIVAL}"


def check_repeatable(trial: Trial) -> str:
    """Two runs with the same seed give the same games."""
    wrong = (
        "two runs with the same seed differ; use only turn.random() for chance, "
        "and store nothing between calls"
    )
    _compare(trial, results(trial), wrong)
    return f"two runs of {len(trial.seatings)} × {trial.effort.games} games are equal"


def check_batch_size(trial: Trial) -> str:
    """A game is the same in small batches, in large batches and alone."""
    wrong = (
        "a game depends on other games of the batch; "
        "an answer may depend only on its own game's row of the turn"
    )
    _compare(trial, results(trial, batch=SMALL_BATCH), wrong)
    games, step = trial.effort.games, max(1, trial.effort.games // trial.effort.single_games)
    for seating, together in zip(trial.seatings, trial.reference, strict=True):
        match = trial.match(seating, trial.new_bot())
        for game in range(0, games, step):
            alone = Tally._make(column[game : game + 1] for column in together)
            if first_difference(alone, play_games(match, game, 1)) is not None:
                raise _differs(wrong, match, game)
        repeater = Repeater(trial.new_bot())
        play_games(trial.match(seating, repeater), 0, games)
        for method, game in repeater.differences:
            what = f"{method}() answers otherwise when asked about {BATCH:,} games at once"
            raise _differs(f"{what}; {wrong}", match, game)
    return f"the same answers about 1, {SMALL_BATCH} and {BATCH:,} games at once"


def check_memory(trial: Trial) -> str:
    """A game is the same before and after games with other rules and players."""
    wrong = (
        "a game depends on the games before it; "
        "a bot may store nothing between calls that changes an answer"
    )
    _compare(trial, results(trial, backwards=True), wrong)
    if issubclass(trial.kind, SimpleStrategy | Command):
        with remembering(True):
            again = results(trial)
        wrong = "a game depends on more than what the bot reads of it, so its answers cannot be remembered"
        _compare(trial, again, wrong)
    return "the same games before and after games with other rules"


def check_inputs(trial: Trial) -> str:
    """The bot changes nothing that it is shown."""
    for seating in trial.seatings:
        detector = ChangeDetector(trial.new_bot())
        match = trial.match(seating, detector)
        play_games(match, 0, trial.effort.games)
        for what, game in detector.changes:
            raise _differs(f"{what}, which is read-only", match, game)
    return "the bot changes nothing that it is shown"


def _seen(point: str, right: str, of_program: str) -> Check:
    """The check of a point whose faults are seen while the bot plays, unless it is a program."""

    def check(trial: Trial) -> str:
        if issubclass(trial.kind, Command):
            return of_program
        for fault in trial.seen.faults[point]:
            raise ContractError(fault)
        return right

    return check


def check_names(trial: Trial) -> str:
    """No method is misspelt: the engine would use the default instead."""
    if not issubclass(trial.kind, Command):  # which is refused when it is loaded
        for name, meant in trial.seen.misspelt():
            raise ContractError(f'{name}() is never called; did you mean "{meant}"?')
    return f"the bot decides {', '.join(own_methods(trial.new_bot()))}"


def check_process(trial: Trial) -> str:
    """Games are the same in another process, since worker processes play the tournaments."""
    future = trial.elsewhere
    assert future is not None
    if isinstance(future, Exception):
        reason = f"{type(future).__name__}: {future}"
        raise ContractError(f"the bot cannot be pickled for a worker: {reason}")
    try:
        there = future.result()
    except BrokenProcessPool:
        raise ContractError(
            "a worker process cannot load the bot; put its class into a module that can be imported"
        ) from None
    wrong = (
        "another process plays different games; an answer may not depend on the process, "
        "e.g. on the order of a set or on results cached for other rules"
    )
    _compare(trial, there, wrong)
    return "the same games in another process"


def check_play(trial: Trial) -> str:
    """The bot stops to claim something, and gets tiles more often than `random`."""
    stops, empty = trial.seen.stops, trial.seen.empty_stops
    share = empty / max(stops, 1)
    if share > MOST_EMPTY_STOPS:
        expression = missing_parentheses(trial.kind)
        hint = f"; comparisons need parentheses beside & and | ({expression})" if expression else ""
        raise OddError(
            f"{share * 100:.0f} % of its stops come with nothing to claim, so these turns fail{hint}"
        )
    rival = [play_games(each, 0, trial.effort.games) for each in trial.matches(load_bot(RIVAL))]
    without, usual = (_share_without_tile(trial, played) for played in (trial.reference, rival))
    message = f"without a tile at the end of {without * 100:.0f} % of its games ({RIVAL}: {usual * 100:.0f} %)"
    if without > usual:
        raise OddError(message if stops else f"it never stops; {message}")
    return message


def _share_without_tile(trial: Trial, tallies: Sequence[Tally]) -> float:
    """The share of games that end without a tile, in the seats of the bot."""
    tiles = [
        tally.tiles[:, list(seating.own)].ravel()
        for seating, tally in zip(trial.seatings, tallies, strict=True)
    ]
    return float(np.mean(np.concatenate(tiles) == 0))


def check_parameters(trial: Trial) -> str:
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
        if not any(_matters(trial, bot, name, value) for value in values)
    ]
    if odd:
        raise OddError("; ".join(odd))
    return (
        f"other values of {', '.join(parameters)} change games" if parameters else "none to change"
    )


def _matters(trial: Trial, bot: Strategy, name: str, value: object) -> bool:
    """Whether another value of a parameter changes a game, or is refused."""
    guard = Guard(lambda: f"{trial.spec} has not been made within {time_limit():g} seconds")
    try:
        with guard:
            other = Trial(replace(bot, **{name: value}), trial.effort)  # type: ignore[type-var]
        return other.seatings != trial.seatings or any(
            first_difference(expected, play_games(match, 0, trial.effort.games)) is not None
            for expected, match in zip(trial.reference, trial.matches(other.new_bot()), strict=True)
        )
    except BaseException as error:
        if guard.expired or is_from_bot(error):
            return True
        raise


def check_speed(trial: Trial) -> str:
    """Games per second on one core, for information, compared with a known bot."""
    rules, own_seats = trial.seatings[0]
    players = len(own_seats)
    match = trial.match(Seating(rules, (True,) * players), trial.new_bot())
    play_games(match, 0, 2)  # a program is started with the first question
    with remembering(True):
        own = games_per_second(match, trial.effort.seconds)
    known = games_per_second(make_match([REFERENCE_BOT] * players, rules), trial.effort.seconds)
    speed = f"{_rounded(own)} games/s with itself, {rules.name}, {players} players, one core"
    return f"{speed} ({REFERENCE_BOT}: {_rounded(known)})"


CHECKS: dict[str, Check] = {
    LEGAL: check_legal,
    OUTSIDE: _seen(
        OUTSIDE,
        "the bot asks no clock, environment or random generator",
        "not visible in a program; comparisons of games find most of it",
    ),
    REPEATABLE: check_repeatable,
    MEMORY: check_memory,
    BATCH_SIZE: check_batch_size,
    INPUTS: check_inputs,
    PRIVATE: _seen(
        PRIVATE,
        "the bot uses only what a strategy may see",
        "a program gets only what a strategy may see",
    ),
    PRINTS: _seen(
        PRINTS,
        "the bot prints nothing",
        "standard output has answers only; standard error is not looked at",
    ),
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
        for own in ((True,) * players, tuple(place % 2 == players % 2 for place in range(players)))
    ]


def results(trial: Trial, *, batch: int = LARGE_BATCH, backwards: bool = False) -> list[Tally]:
    """Results of the matches, played by one instance of the bot, forwards or backwards."""
    step = -1 if backwards else 1
    matches = trial.matches(trial.new_bot())[::step]
    return [play_games(match, 0, trial.effort.games, batch=batch) for match in matches][::step]


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
        bots = packed([trial.spec])
        by_spec = isinstance(trial.bot, str) and (
            is_file(trial.bot) or is_command(trial.bot) or bots
        )
        copied = Trial(trial.bot if by_spec else trial.new_bot(), trial.effort)
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


def _compare(trial: Trial, others: Sequence[Tally], wrong: str) -> None:
    """Raise `ContractError` with the first game in which the results of the matches differ from the reference."""
    for seating, expected, got in zip(trial.seatings, trial.reference, others, strict=True):
        game = first_difference(expected, got)
        if game is not None:
            raise _differs(wrong, trial.match(seating, trial.new_bot()), game)


def _differs(what: str, match: Match, game: int) -> ContractError:
    return ContractError(f"{what} (first in game {game}: {match.replay_command(game)})")


def _where(part: Sequence[Seating], every: Sequence[Seating]) -> str:
    """The presets and numbers of players of part seatings, unless they are all of them."""

    def names(seatings: Sequence[Seating]) -> tuple[list[str], list[int]]:
        presets = dict.fromkeys(seating.rules.name for seating in seatings)
        return list(presets), sorted({len(seating.own) for seating in seatings})

    (presets, sizes), (all_presets, all_sizes) = names(part), names(every)
    parts = [f"rules {', '.join(presets)}"] if presets != all_presets else []
    if sizes != all_sizes:
        parts.append(f"{', '.join(map(str, sizes))} players")
    return f" ({'; '.join(parts)})" if parts else ""


def _rounded(speed: float) -> str:
    """A speed with three significant digits."""
    return f"{float(f'{speed:.3g}'):,.0f}"
