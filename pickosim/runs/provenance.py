"""Provenance: on which machine, with which versions a result came about."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np

from pickosim import __version__


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
    }


def peak_megabytes() -> int | None:
    """The most memory that this process has had so far; None where the system does not tell."""
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
