"""Provenance: the machine, the versions and the sources that a result came from."""

from __future__ import annotations

import ast
import os
import platform
import re
import sys
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


@cache
def source_digest(modules: tuple[str, ...], names: tuple[str, ...] = ()) -> str:
    """A digest of modules of this package and of all that they import: the same sources play the same games.

    In modules that declare labels and sentences, texts do not count: another word gives no other game. `names`
    are those of their texts that do.
    """
    found: dict[str, str] = {}
    wanted = list(modules)
    while wanted:
        name = wanted.pop()
        path = _PACKAGE / f"{name.replace('.', '/')}.py"
        if name not in found and path.exists():
            found[name] = path.read_text(encoding="utf-8")
            for other, imported in _IMPORT.findall(found[name]):
                wanted += [other, *(f"{other}.{one.strip()}" for one in imported.split(","))]
    digest = sha256("\0".join(names).encode())
    for name in sorted(found):
        source = _without_texts(found[name]) if name in DECLARATIONS else found[name]
        digest.update(f"{name}\0{source}".encode())
    return digest.hexdigest()[:16]


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
