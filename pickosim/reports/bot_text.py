"""Bots as text: all bots in a table, and everything about one bot."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from rich.text import Text

from pickosim.bots.catalogue import BUILT_IN, BY_DEFAULT, ITSELF, Description, Parameter
from pickosim.reports.layout import Grid, grid


def bots_table(bots: Iterable[Description]) -> Grid:
    """All bots: what each one does, its parameters and its origin."""
    rows = []
    for bot in bots:
        parts = [
            bot.summary,
            parameters_text(bot.parameters),
            f"from: {bot.origin or 'not stated'}",
        ]
        if bot.source != BUILT_IN:
            parts.append(f"in: {bot.source}")
        lines = [line for line in parts if line]
        rows += [(bot.name if line is lines[0] else "", line) for line in lines]
    return grid(
        "Bots (built-in unless stated otherwise)",
        [("name", "left"), ("what it is", "left")],
        rows,
    )


def bot_page(bot: Description) -> Iterator[Grid | Text]:
    """Everything about one bot."""
    yield Text(bot.name, style="bold")
    for paragraph in re.split(r"\n\s*\n", bot.text):
        yield Text(_rewrapped(paragraph))
        yield Text()
    if bot.parameters:
        columns = [("name", "left"), ("type", "left"), ("default", "left")]
        rows = [(p.name, p.type, "none" if p.required else p.default) for p in bot.parameters]
        yield grid("Parameters", columns, rows)
    else:
        yield Text("No parameters.")
    yield Text()
    deciders = [("decided by", "left"), ("what", "left")]
    yield grid("Optional decisions", deciders, _by_decider(bot.decisions))
    yield Text()
    yield Text(f"{BUILT_IN}: {bot.file}" if bot.source == BUILT_IN else f"in: {bot.source}")


def parameters_text(parameters: Iterable[Parameter]) -> str:
    """Parameters as on a command line; a parameter without a default with its type."""
    return ", ".join(
        f"{each.name}={f'<{each.type}>' if each.required else each.default}" for each in parameters
    )


def _by_decider(decisions: Mapping[str, str]) -> list[tuple[str, str]]:
    """Optional methods by where they are defined: the bot itself, a base class, the default."""
    order = {ITSELF: -1, BY_DEFAULT: 1}
    deciders = sorted(set(decisions.values()), key=lambda each: (order.get(each, 0), each))
    return [(each, ", ".join(m for m, by in decisions.items() if by == each)) for each in deciders]


def _rewrapped(paragraph: str) -> str:
    """A paragraph as one line, for new line breaks; an indented one (e.g. code) as it is."""
    indented = any(line.startswith(" ") for line in paragraph.splitlines())
    return paragraph if indented else " ".join(paragraph.split())
