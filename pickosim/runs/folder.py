"""The run folder: manifest, shards of finished chunks, result tables; locked while a run writes to it.

- RUN/manifest.json: what is played, with which versions, and how it went
- RUN/sums/: one file per finished chunk, all that is needed to resume after an interruption
- RUN/games/: with --save-games, one Parquet file per chunk, one row per game and seat
- RUN/*.parquet: the result tables, once the run is finished
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

FORMAT = 2
"""Version of the layout of run folders: a folder of another version is refused."""

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
        """Make the folder for a new run and lock it."""
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
        """Lock the folder of a run that was begun before, and read its manifest."""
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
        """Whether the folder holds files that are not of a run: then not even a lock is put there."""
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
            f"{self.path} holds a run that is not finished. To resume it: "
            f"pickosim resume {shlex.quote(str(self.path))}. For a new one, choose another folder with --out."
        )

    # -------------------------------------------------------------------------------- the manifest

    def manifest(self) -> Manifest:
        """What is played here, and how it went."""
        try:
            manifest: Manifest = json.loads((self.path / "manifest.json").read_text("utf-8"))
            if not isinstance(manifest, dict) or not {"plan", "kind", "status"} <= set(manifest):
                raise ValueError("it is not the manifest of a run")
        except FileNotFoundError as error:
            raise PickosimError(
                f"{self.path} is not a run folder: there is no {self.path / 'manifest.json'}"
                f"{_nearby(self.path)}"
            ) from error
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise PickosimError(f"{self.path / 'manifest.json'} cannot be read: {why}.") from error
        if manifest.get("format") != FORMAT:
            raise PickosimError(
                f"{self.path} was written by another version of pickosim "
                f"({manifest.get('versions', {}).get('pickosim', 'unknown')}), whose run folders have "
                "another layout. Read it with that version, or begin a new run."
            )
        return manifest

    def write_manifest(self, manifest: Manifest) -> None:
        """Write it whole or not at all."""
        text = json.dumps(manifest, indent=2, ensure_ascii=False)
        write_whole(self.path / "manifest.json", (text + "\n").encode())

    # ----------------------------------------------------------------------------------- the shards

    def keep(self, run: str, chunk: str, content: str, sums: Sums, games_digest: str) -> None:
        """Keep the sums of a finished chunk, with digests of what it played and of its file of games."""
        header = {"run": run, "chunk": chunk, "content": content, "games": games_digest}
        write_whole(self._sums / chunk, packed(sums, header))

    def kept(self, run: str, chunk: str, content: str) -> Sums | None:
        """The sums of a chunk that was finished before; None if it has to be played (again)."""
        found = unpacked(self._sums / chunk, {"run": run, "chunk": chunk, "content": content})
        if found is None:
            return None
        sums, header = found
        if header["games"] and file_digest(self.games / f"{chunk}.parquet") != header["games"]:
            return None
        return sums

    # ----------------------------------------------------------------------------------- the tables

    def write_frames(
        self, frames: Mapping[str, pl.DataFrame], export: Sequence[str], exported: Collection[str]
    ) -> None:
        """Write every frame as Parquet, and those in `exported` in the other formats asked for."""
        for name, frame in frames.items():
            frame.write_parquet(self.path / f"{name}.parquet")
            for kind in export if name in exported else ():
                (self.path / f"{name}.{kind}").write_text(written(frame, kind), encoding="utf-8")

    def frame(self, name: str) -> pl.DataFrame:
        """A result table of a finished run."""
        path = self.path / f"{name}.parquet"
        again = f"To rebuild it from what was played: pickosim resume {shlex.quote(str(self.path))}"
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
    """A new folder name for a run, from its kind and the time."""
    stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    path, number = base / f"{kind}-{stamp}", 1
    while path.exists():
        number += 1
        path = base / f"{kind}-{stamp}-{number}"
    return path


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


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all, whenever the process is stopped."""
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
    """Run folders beside one that is not."""
    try:
        names = sorted(entry.parent.name for entry in path.parent.glob("*/manifest.json"))
    except OSError:
        names = []
    return suggest(path.name, names) or "."
