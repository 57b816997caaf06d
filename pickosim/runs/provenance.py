"""Provenance: the machine, the versions and the sources that a result came from."""

from __future__ import annotations

import ast
import os
import platform
import re
import sys
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numba
import numpy as np
import polars as pl

from pickosim import __version__

_PACKAGE = Path(__file__).parents[1]

_IMPORT = re.compile(r"^\s*from pickosim\.([\w.]+) import ([\w, ]*)", re.MULTILINE)
"""How one module of this package imports another, or things in it."""

DECLARATIONS = ("columns", "studies.measures")
"""Modules that declare labels and sentences beside formulas."""


def machine() -> dict[str, Any]:
    """The machine, as it describes itself."""
    return {"machine": _processor(), "cores": os.cpu_count(), "system": platform.platform()}


def versions() -> dict[str, Any]:
    """The versions that a result depends on."""
    return {
        "pickosim": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "polars": pl.__version__,
    }


@dataclass(frozen=True)
class Sources:
    """Modules of this package, with all that they import: the same sources play the same games.

    In modules that declare labels and sentences, texts do not count: another word gives no other game. `names`
    are those of their texts that do.
    """

    modules: tuple[str, ...]
    names: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """One digest of them all, in this process."""
        listed = "".join(f"{name}\0{sha}\0" for name, sha in self.digests.items())
        return sha256(f"{listed}{self.names}".encode()).hexdigest()[:16]

    @property
    def digests(self) -> dict[str, str]:
        """The digest of each module, by name."""
        return _digests(self.modules)


@cache
def _digests(modules: tuple[str, ...]) -> dict[str, str]:
    sources = _package_sources()
    names: set[str] = set()
    wanted = list(modules)
    while wanted:
        name = wanted.pop()
        if name not in names and name in sources:
            names.add(name)
            for other, imported in _IMPORT.findall(sources[name]):
                wanted += [other, *(f"{other}.{part.strip()}" for part in imported.split(","))]
    return {name: _digest(name, sources[name]) for name in sorted(names)}


@cache
def _package_sources() -> dict[str, str]:
    """All modules of this package, read once: a process goes on with what it has imported, whatever is edited."""
    return {
        ".".join(path.relative_to(_PACKAGE).with_suffix("").parts): path.read_text(encoding="utf-8")
        for path in _PACKAGE.rglob("*.py")
    }


def _digest(name: str, source: str) -> str:
    counted = _without_texts(source) if name in DECLARATIONS else source
    return sha256(counted.encode()).hexdigest()[:16]


def _without_texts(source: str) -> str:
    """Code without its texts and comments."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return ast.dump(tree)


def peak_megabytes() -> int | None:
    """Peak memory of this process so far; None where the system does not report it."""
    try:
        import resource
    except ImportError:
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(most / (1 << 20 if sys.platform == "darwin" else 1 << 10))


def _processor() -> str:
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8") as lines:
            return next(line.split(":")[1].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
