"""Layout: styles, lines and grids that all texts share; as rich text, nothing is printed here."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

DICE, WORM, GOLD, GOOD, BAD, QUIET = (
    "bold",
    "bold magenta",
    "not dim bold yellow",
    "green",
    "red",
    "dim",
)


def breakable(value: str) -> str:
    """An option's value with a space after each comma, so that lines can be broken there."""
    return re.sub(r",(?=\S)", ", ", value)


def wrapped(name: str, width: int) -> str:
    """A name, broken at spaces where it is too long."""
    lines = [""]
    for word in name.split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)


def hanging(line: Text) -> Text | Padding:
    """A line that is indented like its beginning where it has to be broken."""
    indent = len(line.plain) - len(line.plain.lstrip())
    if indent == 0:
        return line
    return Padding(line[indent:], (0, 0, 0, indent), expand=False)


def grid(title: str, columns: list[tuple[str, str]], rows: Iterable[Iterable[object]]) -> Group:
    """A table under its title; each column has a heading and is justified left or right."""
    table = Table(box=None, pad_edge=False)
    for heading, side in columns:
        table.add_column(
            Text(heading), justify="right" if side == "right" else "left", overflow="fold"
        )
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(str(cell)) for cell in row))
    return Group(Text(title, style="bold"), table)
