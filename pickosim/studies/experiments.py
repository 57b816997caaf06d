"""Experiments: a question, and the study that answers it, as a TOML file that anybody can run again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pickosim.errors import PickosimError, suggest
from pickosim.files import MOST_TEXT, read_regular
from pickosim.rule_files import read_toml
from pickosim.runs.progress import Progress
from pickosim.runs.run import Results
from pickosim.studies.kinds import KINDS, study_kind
from pickosim.studies.options import CORES, OptionError, check_names, declared, make_options
from pickosim.studies.study import Study, play_study

OWN_KEYS = ("question", "study", "report")
"""Keys of every experiment, besides the options of its study: what is asked, the kind of study, tables to export."""


@dataclass(frozen=True)
class Experiment:
    """A file's question, the study that answers it, and the tables to report."""

    path: Path
    question: str
    study: Study
    report: tuple[str, ...]

    @property
    def notes(self) -> dict[str, Any]:
        """What a run's manifest says of it."""
        return {
            "experiment": self.path.name,
            "question": self.question,
            "report": list(self.report),
        }


def load_experiment(path: str | Path, **changes: Any) -> Experiment:
    """Read an experiment, with options changed, e.g. games; mistakes are named by line and key."""
    path = Path(path)
    text = _text_of(path)
    try:
        keys = read_toml(text)
    except ValueError as error:
        message = re.sub(r" \(at line (\d+), column \d+\)$", "", str(error))
        line = re.search(r"at line (\d+)", str(error))
        number = line[1] if line else str(text.count("\n") + 1)
        raise PickosimError(f"{path}, line {number}: not valid TOML: {message}.") from error
    try:
        return _read(path, keys, {k: v for k, v in changes.items() if v is not None})
    except OptionError as error:
        raise PickosimError(f"{path}, {_line(text, error.option)}{error}") from error


def _read(path: Path, keys: Mapping[str, Any], changes: Mapping[str, Any]) -> Experiment:
    values = dict(keys)
    own = {key: values.pop(key) for key in OWN_KEYS if key in values}
    kind = own.get("study")
    if not isinstance(kind, str) or kind not in KINDS:
        raise OptionError("study", f"study is one of {', '.join(KINDS)}, not {kind!r}.")
    playable = [option.name for option in declared(study_kind(kind)) if not option.is_run_option]
    check_names(values, [*OWN_KEYS, *playable])
    if not isinstance(own.get("question"), str):
        raise OptionError(
            "question", 'The question is missing; e.g. question = "Which bot is best?".'
        )
    report = own.get("report", [])
    if not isinstance(report, list):
        raise OptionError("report", f'report cannot be {report!r}; e.g. report = ["standings"].')
    tables = study_kind(kind).frame_types
    for name in report:
        if name not in tables:
            raise OptionError(
                "report",
                f'A {kind} has no table "{name}"{suggest(str(name), tables)} (it has {", ".join(tables)}).',
            )
    study: Study = make_options(study_kind(kind), **{**values, **changes, "export": ["md"]})
    return Experiment(path, own["question"], study, tuple(report))


def experiment(
    path: str | Path,
    games: int | str | None = None,
    *,
    workers: int = CORES,
    backend: Literal["joblib", "dask"] | None = None,
    scheduler: str | None = None,
    out: str | Path | None = None,
    progress: bool | Progress | None = None,
) -> Results:
    """Run the experiment of a file, with another number of games if given."""
    how = {"backend": backend, "scheduler": scheduler, "out": out, "progress": progress}
    return play_experiment(load_experiment(path, games=games, workers=workers, **how))


def play_experiment(
    loaded: Experiment,
    *,
    folder: Path | None = None,
    progress: Progress | None = None,
    command: str = "",
) -> Results:
    """Play an experiment; its tables are exported as Markdown."""
    try:
        study = loaded.study.checked()
    except PickosimError as error:
        raise PickosimError(f"{loaded.path}: {error}") from error
    return play_study(study, folder=folder, progress=progress, command=command, notes=loaded.notes)


def _text_of(path: Path) -> str:
    try:
        return read_regular(path, MOST_TEXT).decode()
    except (OSError, UnicodeDecodeError) as error:
        beside = sorted(file.name for file in path.parent.glob("*.toml"))
        why = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise PickosimError(
            f"{path} cannot be read: {why}{suggest(path.name, beside) or '.'}"
        ) from error


def _line(text: str, key: str) -> str:
    """Where a key stands, e.g. `line 7: `; the first line if it is missing."""
    for number, line in enumerate(text.splitlines(), start=1):
        if re.match(rf'\s*\[*"?{re.escape(key)}"?\s*[=\].]', line):
            return f"line {number}: "
    return "line 1: "
