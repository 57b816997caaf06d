"""Bots for a terminal: the catalogue as a table, and one bot with all that it says of itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from rich.console import Group
from rich.text import Text

from pickosim.bots.catalogue import BUILT_IN, BY_DEFAULT, ITSELF, Description, Parameter
from pickosim.reports.layout import grid


def catalogue_table(bots: Iterable[Description]) -> Group:
    """All bots: what each does, its parameters, where it comes from."""
    rows = []
    for bot in bots:
        told = [bot.summary, written(bot.parameters), f"from: {bot.origin or 'not said'}"]
        if bot.source != BUILT_IN:
            told.append(f"in: {bot.source}")
        lines = [line for line in told if line]
        rows += [(bot.name if line is lines[0] else "", line) for line in lines]
    return grid(
        "Bots (built-in where nothing else is said)",
        [("name", "left"), ("what it is", "left")],
        rows,
    )


def page(bot: Description) -> Iterator[Group | Text]:
    """All about one bot."""
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


def written(parameters: Iterable[Parameter]) -> str:
    """Parameters as a command line has them; one without a default with its type."""
    return ", ".join(
        f"{each.name}={f'<{each.type}>' if each.required else each.default}" for each in parameters
    )


def _by_decider(decisions: Mapping[str, str]) -> list[tuple[str, str]]:
    """Questions by who answers them: the bot, what it derives from, the default."""
    order = {ITSELF: -1, BY_DEFAULT: 1}
    deciders = sorted(set(decisions.values()), key=lambda each: (order.get(each, 0), each))
    return [(each, ", ".join(m for m, by in decisions.items() if by == each)) for each in deciders]


def _rewrapped(paragraph: str) -> str:
    """A paragraph as one line, to be broken anew; an indented one, as of code, as it is."""
    indented = any(line.startswith(" ") for line in paragraph.splitlines())
    return paragraph if indented else " ".join(paragraph.split())
