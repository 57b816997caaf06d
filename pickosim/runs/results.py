"""Results: what a run ended in, as frames and the manifest that says how they came about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from pickosim.errors import PickosimError
from pickosim.runs.folder import RunFolder
from pickosim.runs.run import Outcome


@dataclass(frozen=True)
class Results:
    """What a run ended in: frames by name, and how they came about.

    Every frame is an attribute too, as `results.standings`; `manifest` names seed, rules and versions,
    and its `result` the games played, the unfinished ones, and remarks.
    """

    tables: Mapping[str, pl.DataFrame]
    manifest: Mapping[str, Any]
    folder: Path | None = None

    def __getattr__(self, name: str) -> pl.DataFrame:
        tables = self.__dict__.get("tables", {})
        if name in tables:
            frame: pl.DataFrame = tables[name]
            return frame
        raise AttributeError(f"this run has no table {name!r}; it has {', '.join(tables)}")

    @property
    def games(self) -> int:
        """Games in the results."""
        return int(self.manifest["result"]["games"])

    @property
    def unfinished(self) -> int:
        """Games among them that the turn limit ended."""
        return int(self.manifest["result"]["unfinished"])

    @property
    def remarks(self) -> list[str]:
        """What to keep in mind when reading the tables."""
        return list(self.manifest["result"]["remarks"])


def load_results(folder: str | Path) -> Results:
    """The results of a finished run."""
    path = Path(folder)
    manifest = RunFolder(path).manifest()
    if manifest["status"] != "finished":
        raise PickosimError(f"{path} is not finished; to go on: pickosim resume {path}")
    names = manifest["tables"]
    return Results({name: RunFolder(path).table(name) for name in names}, manifest, path)


def results_of(outcome: Outcome, folder: RunFolder | None) -> Results:
    """What a run ended in, as notebooks get it."""
    return Results(outcome.tables, outcome.manifest, None if folder is None else folder.path)
