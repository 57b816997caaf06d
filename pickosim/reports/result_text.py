"""Results of any run: for a terminal, as JSON, as CSV."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rich.text import Text

from pickosim.reports.cells import frame_grid
from pickosim.runs.folder import records, written
from pickosim.studies.kinds import study_kind

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pickosim.runs.results import Results

_OWN_TEXTS = ("tournament", "compare", "balance", "calibrate")
"""Kinds of studies with a module for their text; all others are shown table by table."""


def as_text(results: Results) -> Iterator[RenderableType]:
    """Tables and sentences for a terminal; of an experiment, its question first."""
    if question := results.manifest.get("question"):
        yield Text(question, style="bold")
        yield Text()
    kind = results.manifest["kind"]
    if kind in _OWN_TEXTS:
        text = import_module(f"pickosim.reports.{kind}_text")
        yield from getattr(text, f"{kind}_text")(results)
    else:
        yield from _any_study(results)


def _any_study(results: Results) -> Iterator[RenderableType]:
    """All tables of a study, with what it says of itself."""
    yield Text(results.headline, style="bold")
    for name, table in study_kind(results.manifest["kind"]).frame_types.items():
        if name in results.frames:
            yield Text()
            yield frame_grid(name, results.frames[name], table)
    for remark in results.remarks:
        yield Text()
        yield Text(remark)


def as_json(results: Results) -> dict[str, Any]:
    """All tables, each a list of its rows, and the manifest without the checksums of files."""
    tables = {name: records(frame) for name, frame in results.frames.items()}
    manifest = {key: value for key, value in results.manifest.items() if key != "files"}
    return {**tables, "manifest": manifest}


def as_csv(results: Results) -> str:
    """The main table of a run."""
    main = study_kind(results.manifest["kind"]).main_frame
    return written(results.frames[main], "csv")
