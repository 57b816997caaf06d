"""Results: what a run ended in, as frames and the manifest that says how they came about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl


@dataclass(frozen=True)
class Results:
    """What a run ended in: frames by name, and how they came about.

    Every frame is an attribute too, e.g. `results.standings`; `manifest` names seed, rules and versions,
    and its `result` the games played, the unfinished ones, the headline and remarks.
    """

    frames: Mapping[str, pl.DataFrame]
    manifest: Mapping[str, Any]
    folder: Path | None = None

    def __getattr__(self, name: str) -> pl.DataFrame:
        frames = self.__dict__.get("frames", {})
        if name in frames:
            frame: pl.DataFrame = frames[name]
            return frame
        raise AttributeError(f"this run has no table {name!r}; it has {', '.join(frames)}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.frames]

    def chart(self, name: str) -> Any:
        """A chart of the results, e.g. `standings`, as an Altair chart; `charts` lists the names."""
        return _notebook().chart(self, name)

    @property
    def charts(self) -> list[str]:
        """The names of the charts that there are."""
        names: list[str] = _notebook().chart_names(self)
        return names

    def _repr_html_(self) -> str:
        """What notebooks show: the headline and the main tables."""
        html: str = _notebook().results_html(self)
        return html

    def __repr__(self) -> str:
        kind = self.manifest["kind"]
        return f"<{kind}: {self.games:,} games; tables {', '.join(self.frames)}>"

    @property
    def games(self) -> int:
        """Games in the results."""
        return int(self.manifest["result"]["games"])

    @property
    def unfinished(self) -> int:
        """Games among them that the turn limit ended."""
        return int(self.manifest["result"]["unfinished"])

    @property
    def headline(self) -> str:
        """The answer in short."""
        return str(self.manifest["result"]["headline"])

    @property
    def remarks(self) -> list[str]:
        """What to keep in mind when reading the tables."""
        return list(self.manifest["result"]["remarks"])


def _notebook() -> Any:
    """How notebooks show results: reports know of results, so they are imported when they are asked for."""
    return import_module("pickosim.reports.notebook")
