"""The manifest of a run: what is played, with which versions, how it went, and the checksums of its files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from pickosim.errors import PickosimError
from pickosim.files import digest

FORMAT = 4
"""Version of the layout of run folders: a folder of another version is refused."""

EXPORTS = ("csv", "json", "md")
"""Formats that tables can be exported to, besides Parquet."""

Manifest = dict[str, Any]

SEAL = "sha256"
"""The key of the manifest's own checksum, which is of all other keys."""

Name = Annotated[str, Field(pattern=r"^[a-z][a-z_]*$")]
"""The name of a table."""

FilePath = Annotated[str, Field(pattern=r"^((sums|games)/)?\w[\w.-]*$")]
"""The path of a file within the folder."""

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class ManifestError(PickosimError):
    """A manifest that is damaged, or not one."""


class _Result(BaseModel):
    """What the tables do not say; kinds of studies add to it."""

    model_config = ConfigDict(extra="allow", strict=True)

    games: int
    unfinished: int
    headline: str
    sentences: list[str]
    remarks: list[str]
    reference: str = ""
    """Of a comparison: the variant that others are compared with."""
    stronger: dict[str, str] = {}
    """Of a comparison: the stronger bot, by number of players."""


class _Extended(BaseModel):
    """The finished run that this one extends: chunks that it has played are taken over."""

    model_config = ConfigDict(extra="forbid", strict=True)

    folder: str
    run: str


class _Manifest(BaseModel):
    """What a manifest has to be. The plan is checked by the study that it is of."""

    model_config = ConfigDict(extra="forbid", strict=True)

    format: Literal[FORMAT]  # type: ignore[valid-type]
    status: Literal["running", "stopped", "finished"]
    kind: str
    title: str
    command: str
    run: str
    plan: dict[str, Any]
    versions: dict[str, str]
    machine: str
    cores: int | None
    system: str
    directory: str
    started: str
    seconds: float
    games_played: int
    export: list[Literal[EXPORTS]]  # type: ignore[valid-type]
    given_bots: list[str] = []
    """Classes of bots that were given as Python objects: only where they are defined can the run be resumed."""
    experiment: str = ""
    question: str = ""
    report: list[Name] = []
    extends: _Extended | None = None
    workers: int | str = 1
    games_per_second: int = 0
    peak_megabytes: int | None = None
    finished: str = ""
    tables: list[Name] = []
    result: _Result | None = None
    files: dict[FilePath, Digest] = {}

    @model_validator(mode="after")
    def _has_results(self) -> Self:
        if self.status == "finished":
            lacking = {"workers", "games_per_second", "tables", "files"} - self.model_fields_set
            if self.result is None or lacking:
                raise ValueError("a finished run has a result and tables")
            for name in self.tables:
                if f"{name}.parquet" not in self.files:
                    raise ValueError(f"the table {name} has no checksum")
        return self


def sealed(manifest: Mapping[str, Any]) -> bytes:
    """A manifest as its file has it, with its checksum."""
    text = json.dumps({**manifest, SEAL: _seal(manifest)}, indent=2, ensure_ascii=False)
    # What is not Unicode in the name of a file is written as JSON writes it.
    return f"{text}\n".encode(errors="backslashreplace")


def unsealed(content: bytes) -> Manifest:
    """The manifest of a file; an error says in a few words what is wrong with it."""
    try:
        manifest = json.loads(content)
    except (ValueError, RecursionError):
        raise ManifestError("it is damaged") from None
    if not isinstance(manifest, dict) or not {"plan", "kind", "status"} <= set(manifest):
        raise ManifestError("it is not the manifest of a run")
    seal = manifest.pop(SEAL, None)
    if seal is None and manifest.get("format") != FORMAT:
        raise _another_version(manifest)
    if seal != _seal(manifest):
        raise ManifestError("it is damaged, or was edited: its checksum does not match")
    if manifest.get("format") != FORMAT:
        raise _another_version(manifest)
    try:
        _Manifest.model_validate(manifest)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        said = f"{where}: {first['msg']}" if where else first["msg"]
        raise ManifestError(f"it is not the manifest of a run ({said})") from None
    return manifest


class AnotherVersionError(PickosimError):
    """A run folder with another layout, by the version that it names."""


def _another_version(manifest: Manifest) -> AnotherVersionError:
    versions = manifest.get("versions")
    version = versions.get("pickosim") if isinstance(versions, dict) else None
    return AnotherVersionError(str(version or "unknown"))


def _seal(manifest: Mapping[str, Any]) -> str:
    """The checksum of what a manifest says, however it is laid out."""
    as_read = json.loads(json.dumps(manifest))  # where all keys are texts
    return digest(json.dumps(as_read, sort_keys=True).encode())
