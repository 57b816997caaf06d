"""Digests: of the source of a bot, and of all that a result of this package depends on."""

from __future__ import annotations

import ast
import inspect
import re
import sys
import sysconfig
from functools import cache
from hashlib import sha256
from pathlib import Path

import pickosim
from pickosim.bots.strategy import Strategy

_IMPORT = re.compile(r"^\s*from pickosim\.([\w.]+) import ([\w, ]*)", re.MULTILINE)
"""How one module of this package names another, or things in it."""


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
