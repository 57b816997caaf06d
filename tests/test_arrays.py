"""Arrays in files that were damaged, or made to mislead: refused before they are unpacked."""

from __future__ import annotations

import json
import tracemalloc
import zipfile
from io import BytesIO
from pathlib import Path
from random import Random

import numpy as np
import pytest

import pickosim
from pickosim.bots.loading import load_bot
from pickosim.errors import BotError
from pickosim.files import ArraysError, unpacked_arrays
from pickosim.runs import folder as folder_module
from pickosim.runs.folder import RunFolder
from pickosim.runs.tasks import packed

SHIPPED = Path(__file__).parents[1] / "strategies/weights/classic-2.npz"
BOMB = np.zeros(10**7)
"""80 MB, of which a file has 80 kB."""


def npz(**arrays: np.ndarray) -> bytes:
    buffer = BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


@pytest.fixture
def small():
    """In the test, no more than half of the bomb is ever in memory."""
    tracemalloc.start()
    yield
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < BOMB.nbytes / 2


def with_size(content: bytes, size: int) -> bytes:
    """A file of one array that says that it unpacks to so many bytes."""
    entry = content.index(b"PK\x01\x02")
    return content[: entry + 24] + size.to_bytes(4, "little") + content[entry + 28 :]


def compressed(how: int) -> bytes:
    """80 MB of zeros, as the content of a file."""
    out = BytesIO()
    with zipfile.ZipFile(out, "w", how) as archive, archive.open("a.npy", "w") as file:
        for _ in range(80):
            file.write(bytes(10**6))
    return out.getvalue()


def test_arrays_come_back():
    arrays = {"a": np.arange(6).reshape(2, 3), "b": np.array(4)}
    found = unpacked_arrays(npz(**arrays), 1000, ("a", "b"))
    assert found.keys() == arrays.keys()
    assert all(np.array_equal(found[name], arrays[name]) for name in arrays)


@pytest.mark.parametrize(
    "content",
    [
        npz(a=BOMB),
        with_size(npz(a=BOMB), 2000),
        with_size(compressed(zipfile.ZIP_LZMA), 2000),
        npz(a=np.zeros(1), b=np.zeros(1)),
        npz(b=np.zeros(1)),
        npz(),
        npz(a=np.zeros(1, object)),
        b"",
        b"PK",
    ],
)
def test_what_is_not_expected_is_refused(content, small):
    with pytest.raises(ArraysError):
        unpacked_arrays(content, 10_000, ("a",))


@pytest.mark.parametrize("length", [10**9, 10**18, 10**30])
def test_a_shape_of_more_than_there_is_is_refused(length):
    buffer = BytesIO()
    np.lib.format.write_array_header_1_0(
        buffer, {"descr": "<f8", "fortran_order": False, "shape": (length,)}
    )
    out = BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.npy", buffer.getvalue() + bytes(8))
    with pytest.raises(ArraysError):
        unpacked_arrays(out.getvalue(), 10_000, ("a",))


def test_no_damage_gets_a_traceback():
    chance = Random(1)
    whole = npz(a=np.arange(100), b=np.zeros(3, np.int16))
    for _ in range(2000):
        content = bytearray(whole)
        for _ in range(chance.choice([1, 1, 3])):
            content[chance.randrange(len(content))] = chance.randrange(256)
        if chance.random() < 0.2:
            del content[chance.randrange(len(content)) :]
        try:
            unpacked_arrays(bytes(content), 10_000, ("a", "b"))
        except ArraysError:
            continue


def test_weights_that_unpack_to_much_are_refused(tmp_path, small):
    with np.load(SHIPPED) as file:
        arrays = dict(file)
    for number, change in enumerate(({"facts": BOMB}, {"more": np.zeros(1)})):
        path = tmp_path / f"{number}.npz"
        path.write_bytes(npz(**arrays | change))
        with pytest.raises(BotError, match="does not hold weights"):
            load_bot(f"champion:weights={path}")


def test_a_chunk_that_unpacks_to_much_is_played_again(tmp_path, monkeypatch):
    pickosim.tournament(["eager", "random"], games=40, out=tmp_path / "run", chunk=10, workers=1)
    folder = RunFolder(tmp_path / "run")
    shard = next(iter((folder.path / "sums").iterdir()))
    before, (_, header, _) = shard.read_bytes(), shard.read_bytes().split(b"\n", 2)
    monkeypatch.setattr(folder_module, "most_bytes", lambda games: 1 << 20)
    shard.write_bytes(packed({"blocks": BOMB.astype(np.int64)}, json.loads(header)))
    manifest = folder.manifest()
    folder.write_manifest(manifest | {"status": "stopped"})
    tracemalloc.start()
    pickosim.resume(folder.path, workers=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < BOMB.nbytes
    assert shard.read_bytes() == before
