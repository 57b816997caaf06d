"""A copy of the package with edits, for tests that run it in a process of its own."""

from __future__ import annotations

import os
import shutil
from hashlib import sha1
from pathlib import Path

import pickosim

PACKAGE = Path(pickosim.__file__).parent


def edited_copy(folder: Path, **edits: tuple[str, str]) -> dict[str, str]:
    """The environment of a copy of the package in which some words of modules are replaced."""
    copy = folder / "pickosim"
    shutil.copytree(PACKAGE, copy)
    shutil.copytree(PACKAGE.parent / "strategies", folder / "strategies")
    for module, (old, new) in edits.items():
        path = copy / f"{module.replace('__', '/')}.py"
        source = path.read_text(encoding="utf-8")
        assert old in source
        path.write_text(source.replace(old, new), encoding="utf-8")
    # Numba looks for compiled kernels by the folder of their source: without this it would compile them again.
    for kernels in copy.glob("__pycache__/kernels-*/*"):
        name = kernels.name.rpartition("_")[0]
        if kernels.name == _cache_name(PACKAGE / name):
            kernels.rename(kernels.with_name(_cache_name(copy / name)))
    return os.environ | {"PYTHONPATH": str(folder)}


def _cache_name(folder: Path) -> str:
    """As Numba names the cache of the modules in a folder."""
    return f"{folder.name}_{sha1(str(folder).encode()).hexdigest()}"
