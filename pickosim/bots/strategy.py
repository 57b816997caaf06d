"""The base class of bots: two required methods, five more with defaults; and heuristics.

Every method is called once for many games and returns one entry per game. Parameters are dataclass
fields: annotate them in the class body, with a default.

    class Bold(Strategy):
        \"\"\"Takes the most points and stops from `target` on.

        Origin: my grandmother.
        \"\"\"

        target: int = 26

        def pick(self, turn):
            return turn.best(turn.counts * POINTS)

        def stop(self, turn):
            return turn.can_claim & (turn.total >= self.target)

The strategy contract: an answer depends only on the turn (`turn.random()` for chance) and the
parameters, and changes nothing that it is shown. `pickosim check` tests it.

`pickosim strategies` shows the docstring of a bot: the first line says what it does, a paragraph that
begins with `Origin:` whose idea it is.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, dataclass_transform

import numpy as np
from numpy.typing import NDArray

from pickosim.bots.view import METHODS, BoolArray, FloatArray, IntArray, Turn
from pickosim.engine.dice import POINTS
from pickosim.rules import SPECIALISTS, WORM, RuleSet


@dataclass_transform()
class Strategy(ABC):
    """Base class of all bots."""

    data_files: ClassVar[Sequence[str]] = ()
    """Files that the bot reads, e.g. ("weights.npz",), by their paths from the folder of its own file.

    They count in the bot's digest: a run whose bot has other data is not resumed. So do the files that parameters
    name, if they are annotated as a `Path`.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        dataclass(cls)

    @abstractmethod
    def pick(self, turn: Turn) -> NDArray[np.integer[Any]]:
        """(n,) int: the face to set aside, one of `turn.legal`."""

    @abstractmethod
    def stop(self, turn: Turn) -> BoolArray:
        """(n,) bool: stop now? Called after each set-aside that leaves dice and a new face."""

    def claim(self, turn: Turn) -> NDArray[np.integer[Any]]:
        """(n,) int: value of the tile to claim, one of `turn.claims`; called if there are several.

        By default the highest: a tile that can be stolen is always the highest one.
        """
        highest: IntArray = turn.tiles[::-1][turn.claims[:, ::-1].argmax(axis=1)]
        return highest

    def reroll(self, turn: Turn) -> BoolArray:
        """(n,) bool: use the weasel on this roll? By default only if it shows no new face."""
        return turn.no_new_face

    def use_golden_die(self, turn: Turn) -> BoolArray:
        """(n,) bool: use the ninth die this turn? By default always."""
        return np.ones(len(turn), np.bool_)

    def keep_new_specialist(self, turn: Turn) -> BoolArray:
        """(n,) bool: of two specialists, keep `turn.new_specialist`? By default yes."""
        return np.ones(len(turn), np.bool_)

    def rob(self, turn: Turn) -> IntArray:
        """(n,) int: the rival (1 plays next) whose bratworm you take, one of `turn.robbable`.

        By default the one with the most; among equals, the one whose turn comes first.
        """
        richest: IntArray = np.where(turn.robbable, turn.bratworms, 0).argmax(axis=1)
        return richest

    def objection(self, rules: RuleSet, players: int) -> str:
        """Why the bot cannot play by these rules with that many players, as the rest of a sentence; empty if it can.

        By default it plays everything. A bot with an objection is not seated; where all bots are, it is left out.
        """
        return ""

    def note(self, rules: RuleSet, players: int) -> str:
        """What to keep in mind of how the bot plays by these rules at a table of so many; by default nothing.

        The rest of a sentence that begins with the bot and "plays".
        """
        return ""

    def explain(self, turn: Turn) -> list[tuple[str, float]]:
        """For `pickosim watch --why`: the options of `turn.question` in a single game, with values.

        By default none.
        """
        return []


def forwarded(method: str) -> Any:
    """A method for classes that answer all questions in one place, `_answers(method, turn)`."""

    def answer(self: Any, turn: Turn) -> Any:
        return self._answers(method, turn)

    return answer


def own_methods(strategy: Strategy) -> tuple[str, ...]:
    """The methods that a bot defines itself; the others are defaults."""
    kind = type(strategy)
    return tuple(name for name in METHODS if getattr(kind, name) is not getattr(Strategy, name))


def bot_name(kind: type[Strategy]) -> str:
    """The bot name of a class: `late-worm` for `LateWorm`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", kind.__name__).lower()


def with_parameters(name: str, strategy: Strategy) -> str:
    """`name:parameter=value,…` with the parameters that differ from their defaults."""
    changed = [
        f"{field.name}={getattr(strategy, field.name)}"
        for field in fields(strategy)  # type: ignore[arg-type]
        if getattr(strategy, field.name) != field.default
    ]
    return f"{name}:{','.join(changed)}" if changed else name


# ------------------------------------------------------------------- heuristics that several bots share

RANKING = ("sitting-hen", "canned-worm", "apple", "golden-die", "weasel", "raven")
"""Specialists, the most valuable first."""

_RANK = np.array([RANKING.index(name) for name in SPECIALISTS])
_CLAIM_BONUS = 100


def points_to_gain(turn: Turn) -> IntArray:
    """(n, 7): a score per face for `Turn.best`: its points.

    When only exact-only tiles are left on the grill, a large total is useless: then fewer points score
    higher, and a face that makes a claim possible at once scores highest.
    """
    points = turn.counts * POINTS
    if not turn.rules.exact_only:
        return points
    exact_only = np.isin(turn.tiles, turn.rules.exact_only)
    small_wanted = np.logical_not((turn.grill & ~exact_only).any(axis=1))
    if not small_wanted.any():
        return points
    scores = np.where(small_wanted[:, None], _CLAIM_BONUS * claims_at_once(turn) - points, points)
    return scores.astype(np.int16)


def claims_at_once(turn: Turn) -> BoolArray:
    """(n, 7): whether setting a face aside gives a total that can claim a tile."""
    claimable = np.zeros(turn.counts.shape, np.bool_)
    for face in range(1, WORM + 1):
        worm = turn.has_worm | (face == WORM)
        total = turn.total + turn.counts[:, face] * POINTS[face]
        claimable[:, face] = turn.legal[:, face] & worm & turn.can_claim_with(total)
    return claimable


def keep_better(turn: Turn) -> BoolArray:
    """(n,): whether the new specialist ranks higher than the one held."""
    new, held = _RANK[turn.new_specialist], _RANK[turn.holds[:, 0]]
    better: BoolArray = new < held
    return better


def specialist_worths(bot: object) -> FloatArray:
    """(S + 1,): what each specialist is worth by the bot's parameter of that name, 0 without one.

    The last entry is 0: index -1 means that no specialist is held.
    """
    worths = [getattr(bot, name.replace("-", "_"), 0.0) for name in SPECIALISTS]
    return np.array([*worths, 0.0])
