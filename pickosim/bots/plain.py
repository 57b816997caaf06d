"""A turn in plain values: what `Turn` shows of many games as arrays, as numbers and lists per game."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pickosim.bots.table_view import TableView
from pickosim.bots.view import Turn


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
    found = _DECLARED.match(text)
    assert found, f"{name} declares no shape and type"
    rows, columns, kind, where, about = found.groups()
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

    Of a set, what is in it, ascending: faces, values of tiles or players.
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
