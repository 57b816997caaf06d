"""Entrants: the bots that enter a run, each under a name of its own and with the digest of its source."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from pickosim.amounts import range_values
from pickosim.bots.digest import source_digest
from pickosim.bots.loading import load_bot
from pickosim.errors import BotError, PickosimError

MOST_ENTRANTS = 1000


@dataclass(frozen=True)
class Entrant:
    """A bot in a run: its name there, how it is loaded, and a digest of the source it was loaded from."""

    name: str
    spec: str
    source: str


def enter(specs: Sequence[str]) -> list[Entrant]:
    """The entrants of a command line: ranges of parameters expanded, copies of a bot numbered.

    `threshold:target=21..30` enters ten bots; `eager eager` enters `eager` and `eager#2`.
    """
    if isinstance(specs, str):
        raise PickosimError(f'Bots are given as a list, as in ["{specs}", "random"].')
    for spec in specs:
        if not isinstance(spec, str):
            raise PickosimError(
                f'A bot enters a run by name or path, as "eager" or "my_bot.py:MyBot", not as {spec!r}: '
                "workers load it there."
            )
    expanded = [one for spec in specs for one in expand(spec)]
    if len(expanded) > MOST_ENTRANTS:
        raise PickosimError(f"{len(expanded):,} bots are entered; {MOST_ENTRANTS:,} are the most.")
    copies: Counter[str] = Counter()
    entrants = []
    for spec in expanded:
        copies[spec] += 1
        name = spec if copies[spec] == 1 else f"{spec}#{copies[spec]}"
        entrants.append(Entrant(name, spec, source_digest(load_bot(spec))))
    return entrants


def listed_bots(text: str) -> list[str]:
    """The specs of a list like eager,threshold:target=25; a comma may also stand between parameters."""
    specs: list[str] = []
    for part in text.split(","):
        if specs and ":" in specs[-1] and re.match(r"\s*\w+\s*=", part):
            specs[-1] += f",{part}"
        else:
            specs.append(part.strip())
    return specs


def expand(spec: str) -> Iterator[str]:
    """The specs that a spec with ranges stands for, the last range running fastest."""
    *front, last = spec.split(":")
    if not front or "=" not in last:
        yield spec
        return
    parameters = [part.partition("=") for part in last.split(",")]
    values = [range_values(value.strip()) for _, _, value in parameters]
    for choice in product(*values):
        written = (
            f"{name}{equals}{value}"
            for (name, equals, _), value in zip(parameters, choice, strict=True)
        )
        yield ":".join([*front, ",".join(written)])


def check_sources(entrants: Iterable[Entrant]) -> None:
    """Refuse to go on with bots whose source is not what it was when they were entered."""
    for entrant in entrants:
        now = source_digest(load_bot(entrant.spec))
        if now != entrant.source:
            raise BotError(
                f"The source of {entrant.spec} has changed since the run began "
                f"(digest {entrant.source} then, {now} now)."
            )
