"""Entrants: the bots that enter a run, each under a name of its own and with the digest of its source."""

from __future__ import annotations

import ast
import inspect
import re
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
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


def source_digest(strategy: Strategy) -> str:
    """A digest of the files that a strategy is written in: of its class, its bases, and what they import.

    Of pickosim's own files only the bot's counts: the rest stands in `engine_digest`. Of installed
    packages none counts, unless the bot is in it.
    """
    files: dict[str, bytes] = {}
    for kind in type(strategy).__mro__:
        module = inspect.getmodule(kind)
        path = getattr(module, "__file__", None)
        if path is None or kind is object or kind.__module__ in ("abc", "typing"):
            continue
        if not _is_own(Path(path)):
            files[kind.__qualname__] = Path(path).read_bytes()
            files |= _helpers(Path(path), kind.__module__.rpartition(".")[0])
    digest = sha256()
    for name in sorted(files):
        digest.update(files[name])
    return digest.hexdigest()[:16]


def _helpers(path: Path, package: str, known: frozenset[Path] = frozenset()) -> dict[str, bytes]:
    """The files that a bot's file imports, and those that they import, by name of module."""
    found: dict[str, bytes] = {}
    for name in _imported(path.read_text(encoding="utf-8"), package):
        helper = getattr(sys.modules.get(name), "__file__", None)
        if helper is None or Path(helper) in known or not helper.endswith(".py"):
            continue
        if not (_is_own(Path(helper)) or _is_installed(Path(helper))):
            found[name] = Path(helper).read_bytes()
            inside = name.rpartition(".")[0]
            found |= _helpers(Path(helper), inside, known | {path, Path(helper)})
    return found


@cache
def _imported(source: str, package: str) -> tuple[str, ...]:
    """All modules that a file may mean by its imports, wherever in it."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) + 1 - node.level]
            module = ".".join(filter(None, [*(above if node.level else []), node.module]))
            found += [module, *(f"{module}.{name.name}" for name in node.names)]
    return tuple(found)


@cache
def _is_installed(path: Path) -> bool:
    """Whether a file is part of Python or of an installed package."""
    paths = sysconfig.get_paths()
    homes = {Path(paths[name]).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    return not homes.isdisjoint(path.resolve().parents)


@cache
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
