"""Bots that decide one game at a time, in plain Python: an adapter on top of `Strategy`.

    class MyBot(SimpleStrategy):
        def pick(self, turn):
            return max(turn.legal)

        def stop(self, turn):
            return turn.can_claim

The methods are those of `Strategy`; each gets one game and returns one answer.
"""

from __future__ import annotations

import operator
import re
from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from functools import cached_property, wraps
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from pickosim.bots.memory import Memory, Read, memory_of
from pickosim.bots.strategy import Strategy
from pickosim.bots.view import METHODS, NUMBERS, TableView, Turn
from pickosim.errors import AnswerError, PickosimError
from pickosim.rules import RuleSet


class Attribute(NamedTuple):
    """An attribute of `Turn`, as its docstring declares it."""

    name: str
    rows: str
    """`n`: one row per game; `T`: the same in all games."""
    columns: str
    """`7`: one per face; `T`: per tile; `P`: per player; empty: a single value."""
    is_bool: bool
    about: str

    @property
    def form(self) -> str:
        """What it is in one game, in words."""
        if self.rows != "n":
            return "list by tile"
        if not self.columns:
            return "bool" if self.is_bool else "int"
        one, many = _COLUMNS[self.columns]
        return f"set of {many}" if self.is_bool else f"list by {one}"


_COLUMNS = {"7": ("face", "faces"), "T": ("tile", "tile values"), "P": ("player", "players")}

_DECLARED = re.compile(r"\((\w+),? ?(\w*)\) (int|bool)\d*([^:]*): (.+)", re.DOTALL)


def _declared(name: str, text: str) -> Attribute:
    declared = _DECLARED.match(text)
    if declared is None:
        raise PickosimError(
            f"{name} declares no shape and type: pickosim reads its docstrings, which Python drops with -OO or "
            "PYTHONOPTIMIZE=2. Run it without."
        )
    rows, columns, kind, where, about = declared.groups()
    before = f"{where.strip(', ')}: " if where else ""
    return Attribute(name, rows, columns, kind == "bool", f"{before}{about.rstrip('.')}")


ATTRIBUTES = {
    name: _declared(name, member.__doc__ or "")
    for kind in (Turn, TableView)
    for name, member in vars(kind).items()
    if isinstance(member, cached_property)
}
"""The attributes of a turn that are arrays, by name."""


def entries(turn: Turn, name: str) -> list[Any]:
    """An attribute, one entry per game (one per tile if it is the same in all games).

    A set becomes a list of what is in it, ascending: faces, values of tiles or players.
    """
    array: NDArray[Any] = getattr(turn, name)
    attribute = ATTRIBUTES[name]
    if not (attribute.is_bool and attribute.columns):
        return list(array.tolist())
    members = turn.tiles.tolist() if attribute.columns == "T" else list(range(array.shape[1]))
    # Few different sets occur in many games: each is made once.
    codes, which = np.unique(array @ (1 << np.arange(array.shape[1])), return_inverse=True)
    sets = [
        [member for place, member in enumerate(members) if code >> place & 1]
        for code in codes.tolist()
    ]
    return [sets[number] for number in which.tolist()]


Option = TypeVar("Option")

_LARGEST = 1 << 62


class _Games:
    """The games of a question, with the attributes that were read so far."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.read: dict[str, list[Any]] = {}
        self.draws: list[list[float]] = []

    def value(self, attribute: Attribute, place: int) -> Any:
        """An attribute of one game; a list or set is a new one, so that a bot may change it."""
        read = self.read.get(attribute.name)
        if read is None:
            read = self.read[attribute.name] = entries(self.turn, attribute.name)
        if attribute.rows != "n":
            return list(read)
        if not attribute.columns:
            return read[place]
        return set(read[place]) if attribute.is_bool else list(read[place])

    def draw(self, number: int, place: int) -> float:
        """A random number of one game, by how many it has drawn before."""
        while len(self.draws) <= number:
            self.draws.append(self.turn.random().tolist())
        return self.draws[number][place]


class SimpleTurn:
    """What the player on turn sees in one game: the attributes of `Turn`, as plain values.

    **Faces** are 1 to 5, and 6 for the worm; a list by face has 7 entries, so that entry f is face f.
    **Players** are counted from the one on turn: 0 is you, 1 plays next. **Tiles** are named by their value;
    a list by tile has them in the order of `tiles`. **Specialists** are numbered as in
    `pickosim.SPECIALISTS`; -1 is none.

    Attributes are computed when they are first read.
    """

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def __init__(self, games: _Games, place: int) -> None:
        self._games = games
        self._place = place
        self._draws = 0
        self._reads: list[Read] = []

    @property
    def rules(self) -> RuleSet:
        """The rule set."""
        return self._games.turn.rules

    @property
    def players(self) -> int:
        """The number of players."""
        return self._games.turn.players

    @property
    def seat(self) -> int:
        """Your seat, from 0; seat 0 played first."""
        return self._games.turn.seat

    @property
    def question(self) -> str:
        """The method that is being called."""
        return self._games.turn.question

    def can_claim_with(self, total: int) -> bool:
        """Whether another total, with a worm, could claim anything."""
        self._reads.append(("can_claim_with", total))
        alone = self._games.turn._only(np.array([self._place]))
        return bool(alone.can_claim_with(np.array([total]))[0])

    def worms_on(self, tile: int) -> int:
        """Worms on a tile given by its value; 0 for 0, which is no tile in `tops`."""
        worms: dict[int, int] = dict(zip(self.tiles, self.tile_worms, strict=True))
        return worms[tile] if tile else 0

    def best(self, scores: Sequence[float] | Mapping[int, float]) -> int:
        """The legal face with the highest score, by face; of equal ones, the higher face."""
        legal: Set[int] = self.legal
        return max(legal, key=lambda face: (scores[face], face))

    def random(self) -> float:
        """A number in [0, 1): a fresh one at each call, the same in every replay."""
        self._draws += 1
        return self._games.draw(self._draws - 1, self._place)

    def choose(self, options: Collection[Option]) -> Option:
        """One of the options at random; those of a set are sorted first."""
        listed: list[Any] = sorted(options) if isinstance(options, Set) else list(options)
        if not listed:
            raise ValueError("there are no options to choose from")
        chosen: Option = listed[int(self.random() * len(listed))]
        return chosen


class _Shown:
    """An attribute of a SimpleTurn, read from the games of the question at first use."""

    def __init__(self, attribute: Attribute) -> None:
        self.attribute = attribute
        self.__doc__ = f"{attribute.form}: {attribute.about}"

    def __get__(self, turn: SimpleTurn | None, kind: type | None = None) -> Any:
        if turn is None:
            return self
        value = turn._games.value(self.attribute, turn._place)
        turn.__dict__[self.attribute.name] = value
        if self.attribute.rows == "n":
            turn._reads.append(self.attribute.name)
        return value


for _attribute in ATTRIBUTES.values():
    setattr(SimpleTurn, _attribute.name, _Shown(_attribute))


class SimpleStrategy(Strategy):
    """Base class of bots that decide one game at a time."""

    def __init_subclass__(cls, **options: Any) -> None:
        for name in METHODS:
            if isinstance(method := vars(cls).get(name), FunctionType):
                setattr(cls, name, _for_many(method, *_CHECKS[name in NUMBERS]))
        if isinstance(explain := vars(cls).get("explain"), FunctionType):
            cls.explain = _for_the_first(explain)  # type: ignore[assignment, method-assign]
        super().__init_subclass__(**options)

    @abstractmethod
    def pick(self, turn: SimpleTurn) -> int:  # type: ignore[override]
        """The face to set aside, one of `turn.legal`."""

    @abstractmethod
    def stop(self, turn: SimpleTurn) -> bool:  # type: ignore[override]
        """Stop now? Called after each set-aside that leaves dice and a new face."""

    if TYPE_CHECKING:  # the defaults are those of `Strategy`, which decide many games at once

        def claim(self, turn: SimpleTurn) -> int: ...  # type: ignore[override]
        def reroll(self, turn: SimpleTurn) -> bool: ...  # type: ignore[override]
        def use_golden_die(self, turn: SimpleTurn) -> bool: ...  # type: ignore[override]
        def keep_new_specialist(self, turn: SimpleTurn) -> bool: ...  # type: ignore[override]
        def rob(self, turn: SimpleTurn) -> int: ...  # type: ignore[override]


def _for_many(
    method: FunctionType, checked: Callable[[Any], object], kind: type
) -> Callable[[SimpleStrategy, Turn | SimpleTurn], Any]:
    """The method that the engine calls for a method that decides one game."""

    @wraps(method)
    def answers(self: SimpleStrategy, turn: Turn | SimpleTurn) -> Any:
        if isinstance(turn, SimpleTurn):  # called by the bot itself
            return method(self, turn)

        def decide(game: SimpleTurn) -> Any:
            return checked(method(self, game))

        with memory_of(self, method.__name__, turn) as memory:
            if not memory.is_off and _shown_as(turn) is SimpleTurn:
                recalled = _recalled(memory, turn, decide)
                if recalled is not None:
                    return recalled.astype(kind)
        games, shown = _Games(turn), _shown_as(turn)
        return np.array([decide(shown(games, place)) for place in range(len(turn))], kind)

    return answers


def _recalled(
    memory: Memory, turn: Turn, decide: Callable[[SimpleTurn], Any]
) -> NDArray[np.int64] | None:
    """(n,): answers from memory, new ones where there are none; None if the bot has asked for random numbers."""
    answers = memory.recall(memory.columns(turn), len(turn))
    unknown = np.flatnonzero(answers < 0)
    few = turn._only(unknown)
    games, columns, place = _Games(few), memory.columns(few), 0
    new = np.full(len(few), -1)
    while (place := memory.next_unknown(columns, place, new)) < len(few):
        game = SimpleTurn(games, place)
        new[place] = decide(game)
        if game._draws:
            memory.is_off = True
            return None
        columns = memory.extended(columns, few, game._reads)
        memory.remember(columns, place, game._reads, new[place : place + 1])
        place += 1
    answers[unknown] = new
    return answers


def _for_the_first(method: FunctionType) -> Callable[[SimpleStrategy, Turn | SimpleTurn], Any]:
    @wraps(method)
    def answer(self: SimpleStrategy, turn: Turn | SimpleTurn) -> Any:
        game = turn if isinstance(turn, SimpleTurn) else _shown_as(turn)(_Games(turn), 0)
        return method(self, game)

    return answer


def _shown_as(turn: Turn) -> type[SimpleTurn]:
    """What shows a bot one game of a turn; a check uses a class of its own."""
    kind: type[SimpleTurn] = vars(turn).get("simple_turn", SimpleTurn)
    return kind


def _number(answer: Any) -> int:
    """An answer as a whole number."""
    if type(answer) is not int:
        try:
            if isinstance(answer, bool | np.bool_):
                raise TypeError
            answer = operator.index(answer)
        except TypeError:
            raise AnswerError(f"returned {answer!r}; return one whole number") from None
    if not -_LARGEST < answer < _LARGEST:
        raise AnswerError(f"returned {answer}; return one whole number of the options")
    return int(answer)


def _truth(answer: Any) -> bool:
    """An answer as a bool."""
    if isinstance(answer, bool | np.bool_):
        return bool(answer)
    raise AnswerError(f"returned {answer!r}; return True or False")


_CHECKS: tuple[tuple[Callable[[Any], object], type[np.generic]], ...] = (
    (_truth, np.bool_),
    (_number, np.int64),
)
