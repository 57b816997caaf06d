"""The run folder: manifest, shards of finished chunks, tables; locked while a run writes to it.

- RUN/manifest.json: what is played, by which rules and sources, and how it went
- RUN/sums/: one file a finished chunk, all that is needed to go on after an interruption
- RUN/games/: with --save-games, one Parquet file a chunk, one row a game and seat
- RUN/*.parquet: the tables, once the run is finished
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl
from filelock import FileLock, Timeout

from pickosim.errors import PickosimError, suggest
from pickosim.runs.sums import Sums, packed, unpacked

FORMATS = ("csv", "json", "md")
"""What tables can be exported to, beside Parquet."""

Manifest = dict[str, Any]


class RunFolder:
    """A folder that holds one run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.games = path / "games"
        self._sums = path / "sums"

    # ------------------------------------------------------------------------- beginning and locking

    @contextmanager
    def begin(self, manifest: Manifest) -> Iterator[None]:
        """Make the folder for a new run and hold it."""
        if self.path.is_file():
            raise PickosimError(f"{self.path} is a file; choose a folder with --out.")
        if self._is_foreign():
            raise PickosimError(f"{self.path} holds other files; choose a new folder with --out.")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise PickosimError(
                f"The run folder {self.path} cannot be made: {error.strerror}. "
                "Choose another with --out."
            ) from error
        with self._locked():
            if (self.path / "manifest.json").exists():
                raise PickosimError(self._occupied())
            self._sums.mkdir(exist_ok=True)
            self.write_manifest(manifest)
            yield

    @contextmanager
    def reopen(self) -> Iterator[Manifest]:
        """Hold the folder of a run that was begun before, and read its manifest."""
        manifest = self.manifest()
        with self._locked():
            self._sums.mkdir(exist_ok=True)
            yield manifest

    @contextmanager
    def _locked(self) -> Iterator[None]:
        lock = FileLock(self.path / "lock")
        try:
            lock.acquire(timeout=0)
        except Timeout as error:
            raise PickosimError(
                f"Another run is writing to {self.path}; wait for it, or choose another folder with --out."
            ) from error
        except OSError as error:
            raise PickosimError(f"{self.path} cannot be written: {error.strerror}.") from error
        try:
            yield
        finally:
            lock.release()

    def _is_foreign(self) -> bool:
        """Whether there is something here that no run has left: then not even a lock is put there."""
        try:
            names = {entry.name for entry in self.path.iterdir()}
        except FileNotFoundError:
            return False
        except NotADirectoryError:
            return True
        return bool(names - {"lock", "sums"}) and "manifest.json" not in names

    def _occupied(self) -> str:
        if self.manifest()["status"] == "finished":
            return f"{self.path} holds a finished run; choose a new folder with --out."
        return (
            f"{self.path} holds a run that is not finished. To go on with it: "
            f"pickosim resume {shlex.quote(str(self.path))}. For a new one, choose another folder with --out."
        )

    # -------------------------------------------------------------------------------- the manifest

    def manifest(self) -> Manifest:
        """What is played here, and how it went."""
        try:
            manifest: Manifest = json.loads((self.path / "manifest.json").read_text("utf-8"))
            if not isinstance(manifest, dict) or not {"plan", "kind", "status"} <= set(manifest):
                raise ValueError("it is not that of a run")
        except FileNotFoundError as error:
            raise PickosimError(
                f"{self.path} is no run folder: there is no {self.path / 'manifest.json'}"
                f"{_nearby(self.path)}"
            ) from error
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise PickosimError(f"{self.path / 'manifest.json'} cannot be read: {why}.") from error
        return manifest

    def write_manifest(self, manifest: Manifest) -> None:
        """Write it whole or not at all."""
        text = json.dumps(manifest, indent=2, ensure_ascii=False)
        write_whole(self.path / "manifest.json", (text + "\n").encode())

    # ----------------------------------------------------------------------------------- the shards

    def keep(self, run: str, chunk: str, sums: Sums, games_digest: str) -> None:
        """Keep the sums of a finished chunk, and the digest of its file of games, if it has one."""
        header = {"run": run, "chunk": chunk, "games": games_digest}
        write_whole(self._sums / chunk, packed(sums, header))

    def kept(self, run: str, chunk: str) -> Sums | None:
        """The sums of a chunk that was finished before; None if it has to be played (again)."""
        found = unpacked(self._sums / chunk, {"run": run, "chunk": chunk})
        if found is None:
            return None
        sums, header = found
        if header["games"] and file_digest(self.games / f"{chunk}.parquet") != header["games"]:
            return None
        return sums

    # ----------------------------------------------------------------------------------- the tables

    def write_tables(
        self, tables: Mapping[str, pl.DataFrame], export: Sequence[str], exported: Collection[str]
    ) -> None:
        """Write every table as Parquet, and those to be exported in the other formats asked for."""
        for name, table in tables.items():
            table.write_parquet(self.path / f"{name}.parquet")
            for kind in export if name in exported else ():
                (self.path / f"{name}.{kind}").write_text(written(table, kind), encoding="utf-8")

    def table(self, name: str) -> pl.DataFrame:
        """A table of a finished run."""
        path = self.path / f"{name}.parquet"
        again = (
            f"To make it anew from what was played: pickosim resume {shlex.quote(str(self.path))}"
        )
        if not path.exists():
            raise PickosimError(f"The run {self.path} has no table {name}. {again}")
        try:
            return pl.read_parquet(path)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise PickosimError(f"{path} is damaged. {again}") from error

    def has_all_games(self) -> bool:
        """Whether there is a file of games for every finished chunk."""
        chunks = {path.name for path in self._sums.glob("[0-9]*")}
        return chunks <= {path.stem for path in self.games.glob("*.parquet")}


def new_folder(kind: str, base: Path = Path("runs")) -> Path:
    """A folder for a run that was given none, named after the time."""
    stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    path, number = base / f"{kind}-{stamp}", 1
    while path.exists():
        number += 1
        path = base / f"{kind}-{stamp}-{number}"
    return path


def export_formats(text: str | None) -> list[str]:
    """The formats of a list like csv,json,md."""
    formats = [word.strip() for word in text.split(",")] if text else []
    for word in formats:
        if word not in FORMATS:
            raise PickosimError(
                f'Tables are exported to {", ".join(FORMATS)}, not to "{word}"{suggest(word, FORMATS) or "."}'
            )
    return formats


def written(table: pl.DataFrame, kind: str) -> str:
    """A table as text."""
    if kind == "csv":
        return table.write_csv()
    if kind == "json":
        return json.dumps(records(table), indent=2, ensure_ascii=False) + "\n"
    with pl.Config(
        tbl_formatting="MARKDOWN",
        tbl_hide_column_data_types=True,
        tbl_hide_dataframe_shape=True,
        tbl_rows=-1,
        tbl_cols=-1,
        fmt_str_lengths=10_000,
        tbl_width_chars=-1,
    ):
        return f"{table}\n"


def records(table: pl.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table as JSON can say them: what is infinite or no number is null there."""
    floats = [name for name, kind in table.schema.items() if kind.is_float()]
    return table.with_columns(
        pl.when(pl.col(name).is_finite()).then(pl.col(name)) for name in floats
    ).to_dicts()


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that it is there whole or not at all, whenever the process is stopped."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(content)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def file_digest(path: Path) -> str:
    """The digest of a file's content, or nothing if it cannot be read."""
    try:
        return sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def _nearby(path: Path) -> str:
    """Run folders beside the one that is none."""
    try:
        names = sorted(entry.parent.name for entry in path.parent.glob("*/manifest.json"))
    except OSError:
        names = []
    return suggest(path.name, names) or "."
