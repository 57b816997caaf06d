"""Stored runs: a run folder read back, its plan and tables checked against its kind of study.

A folder may come from anybody: it is read as data, and nothing that it names is loaded or run.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from pickosim.errors import PickosimError
from pickosim.runs.folder import Manifest, RunFolder
from pickosim.runs.run import Results
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


def list_runs(folder: str | Path = "runs") -> pl.DataFrame:
    """The runs in a folder, one row per run, the latest last: what was played, how far it came, and its headline.

    If a run is not finished, `games` are those played so far, and `headline` says what is played. One whose manifest
    cannot be read has the status `unreadable`, and the reason for a headline.
    """
    paths = sorted(manifest.parent for manifest in Path(folder).glob("*/manifest.json"))
    rows = sorted((_about(path) for path in paths), key=lambda row: (row["started"], row["run"]))
    return pl.DataFrame(rows, _ABOUT)


_ABOUT = {
    "run": pl.String,
    "kind": pl.String,
    "started": pl.String,
    "status": pl.String,
    "played": pl.String,
    "players": pl.String,
    "bots": pl.String,
    "games": pl.Int64,
    "headline": pl.String,
}


def _about(path: Path) -> dict[str, Any]:
    name = os.fsencode(path).decode(errors="backslashreplace")
    unknown = {"run": name, "kind": "", "started": "", "status": "unreadable"}
    try:
        row = _row(name, RunFolder(path).manifest())
        pl.DataFrame([row], _ABOUT)  # one that no frame takes would hide all others
    except PickosimError as error:
        return {**unknown, "headline": _utf8(str(error))}
    except Exception:  # whatever a plan that nobody has checked leads to
        return {**unknown, "headline": f"{name}/manifest.json is not the manifest of a run."}
    return row


def _row(name: str, manifest: Manifest) -> dict[str, Any]:
    """A run that can be read."""
    is_finished = manifest["status"] == "finished"
    return {
        "run": name,
        **{key: manifest[key] for key in ("kind", "started", "status")},
        "played": _utf8(manifest["title"]),
        **_who(manifest["plan"]),
        "games": manifest["result"]["games"] if is_finished else manifest["games_played"],
        "headline": _utf8(manifest["result"]["headline"] if is_finished else manifest["title"]),
    }


def _who(plan: Mapping[str, Any]) -> dict[str, str]:
    """The players per game and the bots of a plan."""
    matchups = plan.get("matchups") or [()]
    sizes = dict.fromkeys(map(len, matchups)) if matchups[0] else plan.get("players", [])
    listed = sizes if isinstance(sizes, dict | list | tuple) else [sizes]
    return {
        "players": ",".join(map(str, listed)),
        "bots": ", ".join(_utf8(str(entrant["name"])) for entrant in plan.get("entrants", ())),
    }


def _utf8(text: str) -> str:
    """A text that a frame takes: parts of names that are not UTF-8 are written out."""
    return text.encode(errors="backslashreplace").decode()


def planned_study(manifest: Manifest) -> Any:
    """The study that a manifest's plan describes; no bot is loaded."""
    return study_kind(manifest["kind"]).from_plan(manifest["plan"])
