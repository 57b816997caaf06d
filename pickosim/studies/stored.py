"""Stored runs: a run folder read back, its plan and tables checked against its kind of study.

A folder may come from anybody: it is read as data, and nothing that it names is loaded or run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pickosim.errors import PickosimError
from pickosim.runs.folder import RunFolder
from pickosim.runs.manifest import Manifest
from pickosim.runs.results import Results
from pickosim.studies.kinds import study_kind


def load_results(folder: str | Path) -> Results:
    """The results of a finished run; the checksums of its manifest and tables are compared."""
    run_folder = RunFolder(Path(folder))
    manifest = run_folder.manifest()
    check_finished(run_folder.path, manifest)
    study = planned_study(manifest)
    if manifest["tables"] != list(study.tables):
        raise PickosimError(f"{folder} does not have the tables of its plan.")
    frames = {name: run_folder.frame(name, manifest) for name in study.tables}
    for name, frame in frames.items():
        if dict(frame.schema) != study.tables[name].schema:
            raise PickosimError(f"{folder}: the table {name} does not have its columns.")
    return Results(frames, manifest, run_folder.path)


def check_finished(folder: Path, manifest: Manifest) -> None:
    """Refuse a run that is not finished."""
    if manifest["status"] != "finished":
        command = RunFolder(folder).resume_command
        raise PickosimError(f"{folder} is not finished. To resume it: {command}")


def planned_study(manifest: Manifest) -> Any:
    """The study that a manifest's plan describes; no bot is loaded."""
    return study_kind(manifest["kind"]).from_plan(manifest["plan"])
