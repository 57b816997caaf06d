"""Entrants: the bots that enter a run, each under a name of its own and with the digest of its source."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import product
from pathlib import Path

import pickosim
from pickosim.bots.loading import load_bot
from pickosim.bots.strategy import Strategy
from pickosim.errors import BotError, PickosimError
from pickosim.runs.amounts import range_values

MOST_ENTRANTS = 1000

_IMPORT = re.compile(r"^\s*from pickosim\.([\w.]+) import ([\w, ]*)", re.MULTILINE)
"""How one module of this package names another, or things in it."""


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


def source_digest(strategy: Strategy) -> str:
    """A digest of the files that a strategy's class and its bases are written in.

    Of pickosim's own files only the bot's counts: the rest stands in `engine_digest`.
    """
    files: dict[str, bytes] = {}
    for kind in type(strategy).__mro__:
        module = inspect.getmodule(kind)
        path = getattr(module, "__file__", None)
        if path is None or kind is object:
            continue
        if not _is_own(Path(path)) and kind.__module__ not in ("abc", "typing"):
            files[kind.__qualname__] = Path(path).read_bytes()
    digest = sha256()
    for name in sorted(files):
        digest.update(files[name])
    return digest.hexdigest()[:16]


def _is_own(path: Path) -> bool:
    """Whether a file is pickosim's own and no bot's (an installed pickosim has its bots inside)."""
    package = Path(pickosim.__file__).resolve().parent
    return (
        package in path.resolve().parents and package / "strategies" not in path.resolve().parents
    )


def engine_digest(module: str) -> str:
    """A digest of a module of pickosim and of all that it imports: the same sources play the same games."""
    package = Path(pickosim.__file__).parent
    found: dict[str, str] = {}
    wanted = [module]
    while wanted:
        name = wanted.pop()
        path = package / f"{name.replace('.', '/')}.py"
        if name not in found and path.exists():
            found[name] = path.read_text(encoding="utf-8")
            for other, names in _IMPORT.findall(found[name]):
                wanted += [other, *(f"{other}.{one.strip()}" for one in names.split(","))]
    digest = sha256()
    for name in sorted(found):
        digest.update(f"{name}\0{found[name]}".encode())
    return digest.hexdigest()[:16]


def check_sources(entrants: Iterable[Entrant]) -> None:
    """Refuse to go on with bots whose source is not what it was when they were entered."""
    for entrant in entrants:
        now = source_digest(load_bot(entrant.spec))
        if now != entrant.source:
            raise BotError(
                f"The source of {entrant.spec} has changed since the run began "
                f"(digest {entrant.source} then, {now} now)."
            )
