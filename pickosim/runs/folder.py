"""The run folder: manifest, shards of finished chunks, result tables; locked while a run writes to it.

- RUN/manifest.json: what is played, with which versions, how it went, and the checksum of every file
- RUN/plan.json: the manifest as it was when the run began, in case the other one is damaged
- RUN/sums/: one file per finished chunk, all that is needed to resume after an interruption
- RUN/games/: with --save-games, one Parquet file per chunk, one row per game and seat
- RUN/*.parquet: the result tables, once the run is finished
"""

from __future__ import annotations

import json
import os
import shlex
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import polars as pl
from filelock import FileLock, Timeout
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from pickosim.errors import PickosimError, suggest
from pickosim.files import (
    digest,
    file_digest,
    link_whole,
    read_regular,
    sync_folder,
    write_whole,
)
from pickosim.runs.tasks import Sums, most_bytes, packed, unpacked

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


def _is_moment(text: str) -> str:
    datetime.fromisoformat(text)  # raises ValueError
    return text


Moment = Annotated[str, Field(pattern="^20"), AfterValidator(_is_moment)]
"""A time of these years, as ISO 8601 writes it."""


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
    warnings: list[str] = []
    """What has to be known before anything else, e.g. that a bot failed."""
    reference: str = ""
    """In a comparison, the variant that others are compared with."""
    stronger: dict[str, str] = {}
    """In a comparison, the stronger bot by number of players."""


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
    started: Moment
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
    if manifest.get("format") != FORMAT and seal in (None, _seal(manifest)):
        versions = manifest.get("versions")
        version = versions.get("pickosim") if isinstance(versions, dict) else None
        raise PickosimError(
            f"was written by another version of pickosim ({version or 'unknown'}), whose run folders "
            "have another layout. Read it with that version, or begin a new run."
        )
    if seal != _seal(manifest):
        raise ManifestError("it is damaged, or was edited: its checksum does not match")
    try:
        _Manifest.model_validate(manifest)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        mistake = f"{where}: {first['msg']}" if where else first["msg"]
        raise ManifestError(f"it is not the manifest of a run ({mistake})") from None
    return manifest


def _seal(manifest: Mapping[str, Any]) -> str:
    """The checksum of what a manifest says, however it is laid out."""
    as_read = json.loads(json.dumps(manifest))  # where all keys are texts
    return digest(json.dumps(as_read, sort_keys=True).encode())


MANIFEST, COPY = "manifest.json", "plan.json"

MOST_MANIFEST = 1 << 26
"""Bytes of the largest manifest: the checksums of 20,000 chunks and their games take 4 MB."""


MOST_CELLS = 10**7
"""Values of the largest result table that is read: a few bytes of a Parquet file can stand for millions of equal ones."""


class RunFolder:
    """A folder that holds one run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.games = path / "games"
        self._sums = path / "sums"
        self.files: dict[str, str] = {}
        """Checksums of the files that were written, or found sound, by their paths within the folder."""
        self.was_restored = False
        """Whether the manifest was damaged, and made again from its copy."""

    # ------------------------------------------------------------------------- beginning and locking

    @contextmanager
    def begin(self, manifest: Manifest) -> Iterator[None]:
        """Make the folder for a new run and lock it."""
        if self.path.is_file():
            raise PickosimError(f"{self.path} is a file; choose a folder with --out.")
        if self._is_foreign():
            raise PickosimError(f"{self.path} holds other files; choose another name with --out.")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise PickosimError(
                f"The run folder {self.path} cannot be made: {error.strerror}. "
                "Choose another with --out."
            ) from error
        self._refuse_links()
        with self._locked():
            if self._has(MANIFEST) or self._has(COPY):
                raise PickosimError(self._occupied())
            with self._writing():
                self._sums.mkdir(exist_ok=True)
                write_whole(self.path / COPY, sealed(manifest))
                self.write_manifest(manifest)
                sync_folder(self.path.parent)
            yield

    @contextmanager
    def reopen(self) -> Iterator[Manifest]:
        """Lock the folder of a run that was begun before, and read its manifest.

        A damaged manifest is replaced by what it was when the run began, a damaged copy by the manifest.
        """
        if not self._has(COPY):
            self.manifest()  # says what is wrong, and leaves no lock in a folder that is not a run's
        self._refuse_links()
        with self._locked():
            try:
                manifest = self.manifest()
            except ManifestError:
                manifest = self._manifest_in(COPY)
                self.was_restored = True
                with self._writing():
                    self.write_manifest(manifest)
            with self._writing():
                self._sums.mkdir(exist_ok=True)
                try:
                    self._manifest_in(COPY)
                except PickosimError:
                    write_whole(self.path / COPY, sealed(manifest | {"status": "running"}))
            yield manifest

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Say in a sentence why the folder cannot be written."""
        try:
            yield
        except OSError as error:
            raise PickosimError(f"{self.path} cannot be written: {error.strerror}.") from error

    @contextmanager
    def _locked(self) -> Iterator[None]:
        lock = FileLock(self.path / "lock")
        with self._writing():
            try:
                lock.acquire(timeout=0)
            except Timeout as error:
                raise PickosimError(
                    f"Another run is writing to {self.path}; wait for it, or choose another name with --out."
                ) from error
        try:
            yield
        finally:
            lock.release()

    def _refuse_links(self) -> None:
        """Refuse a folder in which a link leads elsewhere: what is written must stay in the folder."""
        for name, what in (("lock", "file"), ("sums", "folder"), ("games", "folder")):
            path, is_what = self.path / name, stat.S_ISREG if what == "file" else stat.S_ISDIR
            if self._has(name) and not is_what(path.lstat().st_mode):
                raise PickosimError(f"{path} is not a {what}; nothing is written to it.")

    def _is_foreign(self) -> bool:
        """Whether the folder holds files that are not of a run: then not even a lock is put there."""
        try:
            names = {entry.name for entry in self.path.iterdir()}
        except FileNotFoundError:
            return False
        except NotADirectoryError:
            return True
        return bool(names - {"lock", "sums"}) and not names & {MANIFEST, COPY}

    def _occupied(self) -> str:
        try:
            is_finished = self.manifest()["status"] == "finished"
        except ManifestError:
            is_finished = False
        if is_finished:
            return f"{self.path} holds a finished run; choose another name with --out."
        return (
            f"{self.path} holds a run that is not finished. To resume it: "
            f"{self.resume_command}. For a new one, choose another name with --out."
        )

    def _has(self, name: str) -> bool:
        """Whether there is anything of that name, even a link that leads nowhere."""
        return os.path.lexists(self.path / name)

    @property
    def resume_command(self) -> str:
        """The command that resumes the run, or makes damaged files again."""
        return f"pickosim resume {shlex.quote(str(self.path))}"

    # -------------------------------------------------------------------------------- the manifest

    def manifest(self) -> Manifest:
        """What is played here, and how it went; its checksum is compared."""
        return self._manifest_in(MANIFEST)

    def write_manifest(self, manifest: Manifest) -> None:
        """Write it whole or not at all, with its checksum."""
        write_whole(self.path / MANIFEST, sealed(manifest))

    def _manifest_in(self, name: str) -> Manifest:
        path = self.path / name
        has_copy = name == MANIFEST and self._has(COPY)
        try:
            return unsealed(read_regular(path, MOST_MANIFEST))
        except FileNotFoundError as error:
            if has_copy:
                raise ManifestError(
                    f"There is no {path}. To restore it: {self.resume_command}"
                ) from error
            raise PickosimError(
                f"{self.path} is not a run folder: there is no {path}{_nearby(self.path)}"
            ) from error
        except OSError as error:
            raise PickosimError(f"{path} cannot be read: {error.strerror}.") from error
        except ManifestError as error:
            restore = f" To restore it: {self.resume_command}" if has_copy else ""
            raise ManifestError(f"{path} cannot be read: {error}.{restore}") from error
        except PickosimError as error:
            raise PickosimError(f"{self.path} {error}") from error

    # ----------------------------------------------------------------------------------- the shards

    def make_games(self) -> None:
        """Make the folder for the files of games."""
        self.games.mkdir(exist_ok=True)
        sync_folder(self.path)

    def keep(self, run: str, chunk: str, content: str, sums: Sums, games: bytes) -> None:
        """Keep the sums of a finished chunk, with a digest of what it played, and its file of games, if any."""
        if games:
            write_whole(self.games / f"{chunk}.parquet", games)
        self._keep_sums(run, chunk, content, sums, digest(games) if games else "")

    def _keep_sums(self, run: str, chunk: str, content: str, sums: Sums, games_digest: str) -> None:
        header = {"run": run, "chunk": chunk, "content": content, "games": games_digest}
        shard = packed(sums, header)
        write_whole(self._sums / chunk, shard)
        self._note_chunk(chunk, shard, games_digest)

    def kept(self, run: str, chunk: str, content: str, games: int) -> Sums | None:
        """The sums of a chunk of that many games that was finished before; None if it has to be played (again)."""
        most = most_bytes(games)
        try:
            shard = read_regular(self._sums / chunk, most)
        except OSError:
            return None
        kept = unpacked(shard, {"run": run, "chunk": chunk, "content": content}, most)
        if kept is None:
            return None
        sums, header = kept
        digest = header.get("games")
        if digest and file_digest(self.games / f"{chunk}.parquet") != digest:
            return None
        self._note_chunk(chunk, shard, digest)
        return sums

    def take(
        self, earlier: RunFolder, earlier_run: str, run: str, chunk: str, content: str, games: int
    ) -> Sums | None:
        """The sums of a chunk that an earlier run has played, kept here from now on; its games are linked."""
        sums = earlier.kept(earlier_run, chunk, content, games)
        if sums is None:
            return None
        saved = f"games/{chunk}.parquet"
        if saved in earlier.files:
            link_whole(earlier.path / saved, self.path / saved)
        self._keep_sums(run, chunk, content, sums, earlier.files.get(saved, ""))
        return sums

    def _note_chunk(self, chunk: str, shard: bytes, games_digest: Any) -> None:
        self.files[f"sums/{chunk}"] = digest(shard)
        if games_digest:
            self.files[f"games/{chunk}.parquet"] = games_digest

    # ----------------------------------------------------------------------------------- the tables

    def write_frames(
        self, frames: Mapping[str, pl.DataFrame], export: Sequence[str], exported: Collection[str]
    ) -> None:
        """Write every frame as Parquet, and those in `exported` in the other formats asked for."""
        for name, frame in frames.items():
            self.write(f"{name}.parquet", parquet(frame))
            for kind in export if name in exported else ():
                self.write(f"{name}.{kind}", written(frame, kind).encode())

    def write(self, name: str, content: bytes) -> None:
        """Write a table, or another file that a study leaves, and note its checksum."""
        write_whole(self.path / name, content)
        self.files[name] = digest(content)

    def frame(self, name: str, manifest: Manifest | None = None) -> pl.DataFrame:
        """A result table of a finished run; its checksum is compared."""
        path = self.path / f"{name}.parquet"
        again = f"To rebuild it from what was played: {self.resume_command}"
        files = (manifest or self.manifest()).get("files", {})
        try:
            content = read_regular(path)
        except FileNotFoundError as error:
            raise PickosimError(f"The run {self.path} has no table {name}. {again}") from error
        except OSError as error:
            raise PickosimError(f"{path} cannot be read: {error.strerror}. {again}") from error
        if digest(content) != files.get(path.name):
            raise PickosimError(f"{path} is damaged: its checksum does not match. {again}")
        try:
            table = pl.scan_parquet(BytesIO(content))
            cells = len(table.collect_schema()) * table.select(pl.len()).collect().item()
            if cells > MOST_CELLS:
                raise PickosimError(f"{path} is not a table of a run: it has {cells:,} values.")
            return pl.read_parquet(BytesIO(content))
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise PickosimError(f"{path} is not a table. {again}") from error

    def damaged(self, manifest: Manifest) -> list[str]:
        """The files of a finished run that are missing, or differ from their checksums."""
        return [
            name
            for name, checksum in manifest["files"].items()
            if file_digest(self.path / name) != checksum
        ]


def new_folder(kind: str, base: Path = Path("runs")) -> Path:
    """A new folder for a run, named after its kind and the time; no other process gets the same."""
    stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    path, number = base / f"{kind}-{stamp}", 1
    with suppress(OSError):  # the run says why the folder cannot be made
        base.mkdir(parents=True, exist_ok=True)
        while True:
            try:
                path.mkdir()
                break
            except FileExistsError:
                number += 1
                path = base / f"{kind}-{stamp}-{number}"
    return path


def parquet(frame: pl.DataFrame) -> bytes:
    """A frame as the content of a Parquet file."""
    buffer = BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def written(frame: pl.DataFrame, kind: str) -> str:
    """A frame as text."""
    if kind == "csv":
        return frame.write_csv()
    if kind == "json":
        return json.dumps(records(frame), indent=2, ensure_ascii=False) + "\n"
    with pl.Config(
        tbl_formatting="MARKDOWN",
        tbl_hide_column_data_types=True,
        tbl_hide_dataframe_shape=True,
        tbl_rows=-1,
        tbl_cols=-1,
        fmt_str_lengths=10_000,
        tbl_width_chars=-1,
    ):
        return f"{frame}\n"


def records(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame for JSON: infinite numbers and NaN become null."""
    floats = [name for name, kind in frame.schema.items() if kind.is_float()]
    return frame.with_columns(
        pl.when(pl.col(name).is_finite()).then(pl.col(name)) for name in floats
    ).to_dicts()


def _nearby(path: Path) -> str:
    """Run folders beside one that is not."""
    try:
        names = sorted(entry.parent.name for entry in path.parent.glob("*/manifest.json"))
    except OSError:
        names = []
    return suggest(path.name, names) or "."
