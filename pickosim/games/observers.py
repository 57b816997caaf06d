"""Observers: bots that answer like another bot, and record what it changes or uses besides its question."""

from __future__ import annotations

import os
import platform
import random
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import field
from datetime import date
from difflib import get_close_matches
from functools import cached_property
from types import CodeType, FrameType, FunctionType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pickosim.bots.guard import in_bot, times_printed
from pickosim.bots.simple import SimpleTurn
from pickosim.bots.strategy import Strategy, own_methods
from pickosim.bots.view import METHODS, After, BoolArray, Turn
from pickosim.games.batch import BATCH
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
