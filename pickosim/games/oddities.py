"""Oddities: what is legal in a bot but can hardly be meant."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from dataclasses import fields
from textwrap import dedent
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from pickosim.bots.strategy import Strategy
from pickosim.bots.view import Turn
from pickosim.games.observers import Around


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
    for field in fields(bot):  # type: ignore[arg-type]
        value, hint, values = getattr(bot, field.name, None), hints[field.name], []
        if get_origin(hint) is Literal:
            values = [choice for choice in get_args(hint) if choice != value]
        elif isinstance(value, bool):
            values = [not value]
        elif isinstance(value, int | float):
            tried = (value + 1, value - 1, 10 * value + 10, -10 * value - 10, 0 * value)
            values = [other for other in tried if other != value]
        if field.init and values:
            yield field.name, values
