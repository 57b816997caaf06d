"""Digests of the sources that a bot is written in."""

from __future__ import annotations

import ast
import inspect
import sys
import sysconfig
from functools import cache
from hashlib import sha256
from pathlib import Path

import pickosim
from pickosim.bots.loading import is_file, source_of
from pickosim.bots.strategy import Strategy


def spec_digest(spec: str) -> str:
    """A digest of the file that a spec names, which is not loaded; nothing for a bot without a path."""
    return sha256(source_of(Path(spec.split(":")[0]))).hexdigest()[:16] if is_file(spec) else ""


def source_digest(strategy: Strategy) -> str:
    """A digest of the source files of a strategy: its class, its base classes, and what they import.

    Pickosim's own files do not count, except the bot's (a run has a digest of those). Nor do
    installed packages, except the one that contains the bot.
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
    """The files that a bot's file imports, directly or indirectly, by module name."""
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
    """All modules that the imports of a file may refer to, at any place in it."""
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
    """Whether a file belongs to Python or to an installed package."""
    paths = sysconfig.get_paths()
    homes = {Path(paths[name]).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    return not homes.isdisjoint(path.resolve().parents)


@cache
def _is_own(path: Path) -> bool:
    """Whether a file is part of pickosim but not a bot (an installed pickosim contains its bots)."""
    package = Path(pickosim.__file__).resolve().parent
    return (
        package in path.resolve().parents and package / "strategies" not in path.resolve().parents
    )
