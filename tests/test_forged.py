"""Runs, positions, rule files and weights that somebody has made up: reading them runs nothing and writes nothing.

Whatever they hold, each command ends with results or with a sentence.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_LZMA, ZipFile

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

import pickosim
from pickosim import cli
from pickosim.errors import PickosimError
from pickosim.files import digest
from pickosim.learning.features import FEATURES_VERSION, groups_of, has_expansion
from pickosim.learning.layers import FIRST, SECOND, outputs_of
from pickosim.rule_files import load_rules
from pickosim.rules import RULES_VERSION, SPECIALISTS
from pickosim.runs.folder import MOST_CELLS, parquet, sealed
from pickosim.runs.run import plan_digest
from pickosim.runs.tasks import packed, unpacked
from pickosim.studies.study import planned_study

TRIES = int(os.environ.get("PICKOSIM_TRIES", "40"))
SEED = int(os.environ.get("PICKOSIM_SEED", str(time.time_ns() % 2**32)))
"""Printed with every failure: with it, the same files are made again."""

PROCESSES = (
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "os.forkpty",
    "os.spawn",
    "pty.spawn",
    "socket.connect",
)
CHANGES = (
    *("os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink", "os.link", "os.chmod"),
    *("os.chown", "os.truncate", "os.utime", "os.setxattr"),
)

_seen: list[tuple[str, tuple[Any, ...]]] | None = None
"""What happens at the moment, if that is watched."""


def _see(event: str, details: tuple[Any, ...]) -> None:
    if (_seen is not None and (event in PROCESSES or event in CHANGES)) or (
        _seen is not None and event == "open" and details[2] & (os.O_WRONLY | os.O_RDWR)
    ):
        _seen.append((event, details))


sys.addaudithook(_see)


@contextmanager
def only_read(*allowed: Path) -> Iterator[None]:
    """Check that no process is started, and that nothing is written but in some folders."""
    global _seen
    _seen = seen = []
    try:
        yield
    finally:
        _seen = None
    for event, details in seen:
        assert event not in PROCESSES, (event, details)
        path = details[0]
        if isinstance(path, str | bytes | os.PathLike):
            place = Path(os.fsdecode(path)).absolute()
            cache = os.environ.get("NUMBA_CACHE_DIR", "/dev/null")
            known = [*allowed, Path("/dev/null"), Path(cache)]
            is_cache = "__pycache__" in place.parts or "matplotlib" in place.parts
            assert is_cache or any(place.is_relative_to(one) for one in known), (event, details)


EVIL = """
import pathlib
pathlib.Path("PWNED").touch()
from pickosim import SimpleStrategy
class Evil(SimpleStrategy):
    def pick(self, turn): return max(turn.legal)
    def stop(self, turn): return turn.can_claim
"""
EVIL_COMMAND = "cmd:sh -c 'touch PWNED'"

KINDS = {
    "tournament": lambda out: pickosim.tournament(
        ["eager", "random", "cautious"], "extrawurm", games=24, out=out, workers=1, save_games=True
    ),
    "compare": lambda out: pickosim.compare(
        ["classic", "french"], ["eager"], players="2,3", games=16, out=out, workers=1
    ),
    "balance": lambda out: pickosim.balance(
        "extrawurm", bots=["eager"], players="2", games=8, out=out, workers=1
    ),
    "rank": lambda out: pickosim.rank("cautious", games=8, out=out, workers=1),
    "tune": lambda out: pickosim.tune(
        "threshold:target=21..22", against=["eager"], games=40, out=out, workers=1
    ),
    "analyse": lambda out: pickosim.analyse("eager", games=8, out=out, workers=1),
    "calibrate": lambda out: pickosim.calibrate("champion", games=8, out=out, workers=1),
    "train": lambda out: pickosim.train(
        games=8, rounds=1, test_games=8, final_games=8, out=out, workers=1
    ),
}


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> Path:
    base = tmp_path_factory.mktemp("sound")
    for kind, play in KINDS.items():
        play(base / kind)
    return base


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("evil.py").write_text(EVIL, encoding="utf-8")


WORDS = [
    "",
    "no such",
    "\x1b[31mred",
    "n" * 300,
    "evil.py",
    EVIL_COMMAND,
    "../../x",
    "nan",
    "</script><b>",
    "\u202e",
]
JSON = [None, True, 0, -1, 10**30, 1e308, [], {}, [[]], {"": None}, *WORDS]
FLOATS = [float("nan"), float("inf"), float("-inf"), None, 1e308, -1e308, 0.0, -1.0, 5e-324]


def other_table(frame: pl.DataFrame, chance: Random) -> pl.DataFrame:
    """A table with some other values, or other rows."""
    how = chance.randrange(6)
    if how == 0:
        return frame.clear()
    if how == 1:
        return pl.concat([frame, frame])
    name = chance.choice(frame.columns)
    kind = frame.schema[name]
    if kind.is_float():
        pool: list[Any] = FLOATS
    elif kind.is_integer():
        pool = [0, 1, -1, 127, None]
    elif kind == pl.String:
        pool = [*WORDS, None]
    else:
        pool = [None]
    every = chance.random() < 0.3
    column = [
        chance.choice(pool) if every or chance.random() < 0.3 else value
        for value in frame[name].to_list()
    ]
    return frame.with_columns(pl.Series(name, column, kind, strict=False))


def paths_in(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all values in JSON."""
    if path:
        yield path
    items = (
        content.items()
        if isinstance(content, dict)
        else enumerate(content)
        if isinstance(content, list)
        else ()
    )
    for key, value in items:
        yield from paths_in(value, (*path, key))


def change(content: Any, chance: Random) -> None:
    """Change one value in JSON, or leave it out."""
    *front, last = chance.choice(list(paths_in(content)))
    for key in front:
        content = content[key]
    if chance.random() < 0.15 and isinstance(content, dict):
        del content[last]
    else:
        content[last] = chance.choice(JSON)


def forge(folder: Path, chance: Random) -> None:
    """Change some of a run, with the checksums that belong to it."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    del manifest["sha256"]
    if chance.random() < 0.5:
        name = chance.choice(manifest["tables"])
        content = parquet(other_table(pl.read_parquet(folder / f"{name}.parquet"), chance))
        (folder / f"{name}.parquet").write_bytes(content)
        manifest["files"][f"{name}.parquet"] = digest(content)
    else:
        part = chance.choice(["plan", "plan", "result", ""])
        change(manifest[part] if part else manifest, chance)
        with suppress(Exception):  # it is no plan any more
            manifest["run"] = plan_digest(planned_study(manifest))
    (folder / "manifest.json").write_bytes(sealed(manifest))


def read_all(folder: Path) -> None:
    """All commands that read a run."""
    for line in (["show", "--full"], ["show"], ["show", "--csv"], ["show", "--json"], ["report"]):
        code = cli.run([line[0], str(folder), *line[1:]])
        assert code in (0, 2), (line, code)
    assert cli.run(["runs", str(folder.parent)]) == 0
    try:
        results = pickosim.load_results(folder)
    except PickosimError:
        return
    assert results.headline


@pytest.mark.long
@pytest.mark.timeout(20_000)
@pytest.mark.parametrize("kind", KINDS)
def test_forged_runs_are_data(sound, tmp_path, kind, capfd):
    chance, failed = Random(SEED), {}
    read_all(sound / kind)  # what is imported and compiled is not of the forger
    for number in range(TRIES):
        folder = tmp_path / "runs" / f"run{number}"
        shutil.copytree(sound / kind, folder)
        forge(folder, chance)
        try:
            with only_read(folder):
                read_all(folder)
        except Exception as error:
            step = error.__traceback__
            while step is not None and step.tb_next is not None:
                step = step.tb_next
            where = "" if step is None else f"{step.tb_frame.f_code.co_filename}:{step.tb_lineno}"
            failed.setdefault(f"{type(error).__name__}: {str(error)[:150]} ({where})", number)
        shutil.rmtree(folder)
        capfd.readouterr()
    assert not Path("PWNED").exists()
    assert not failed, f"seed {SEED}: " + "\n".join(map(str, failed.items()))


@pytest.mark.long
@pytest.mark.timeout(20_000)
def test_forged_positions_are_data(capfd):
    sound = pickosim.position(["eager", "random"], "extrawurm", turn=9)
    short = pickosim.position_line(sound)
    lines = (["watch", "--from-position", "position.json"], ["odds", "--position", "position.json"])
    chance, failed = Random(SEED), {}
    for number in range(20 * TRIES):
        position = json.loads(json.dumps(sound))
        for _ in range(chance.randint(1, 3)):
            if position:
                change(position, chance)
        text, others = json.dumps(position), ["[" * 200_000, "{", "", "\0", "1e999", '"']
        if chance.random() < 0.5:
            text, others = (
                short,
                ["-", "1", "9", "36", "/", " ", ",", "=", "w", "", "hen", "9" * 30],
            )
        for _ in range(chance.choice([0, 0, 1]) if text != short else chance.randint(1, 4)):
            at = chance.randrange(len(text))
            text = text[:at] + chance.choice(others) + text[at + chance.randint(0, 2) :]
        Path("position.json").write_text(text, encoding="utf-8")
        for line in lines:
            try:
                with only_read():
                    assert cli.run(line) in (0, 2)
            except Exception as error:
                failed.setdefault(f"{type(error).__name__}: {str(error)[:150]}", text[:2000])
        if number == 0:
            failed.clear()  # kernels are compiled
        capfd.readouterr()
    assert not Path("PWNED").exists()
    assert not failed, f"seed {SEED}: {failed}"


@pytest.mark.long
@pytest.mark.timeout(20_000)
def test_forged_rule_files_are_data(capfd):
    chance, failed = Random(SEED), {}
    sound = (Path(pickosim.__file__).parent / "presets" / "extrawurm.toml").read_text("utf-8")
    pieces = ["[", "]", "{", "=", '"', "'", "\n", "\0", "nan", "inf", "1e999", "-1", "9" * 400, "[" * 5000, "x = 1", "dice", "n" * 300,
              'extends = "rules.toml"', 'extends = "/dev/zero"', 'extends = "evil.py"', "\udcff", "true", "{seat = 9}"]  # fmt: skip
    for _ in range(20 * TRIES):
        text = sound
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(text))
            text = text[:at] + chance.choice(pieces) + text[at + chance.randrange(12) :]
        Path("rules.toml").write_text(text, encoding="utf-8", errors="surrogateescape")
        for line in (["rules", "show", "rules.toml"], ["rules", "diff", "rules.toml", "classic"]):
            try:
                with only_read():
                    assert cli.run(line) in (0, 2)
            except Exception as error:
                failed.setdefault(f"{type(error).__name__}: {str(error)[:150]}", text[:3000])
        capfd.readouterr()
    assert not Path("PWNED").exists()
    assert not failed, f"seed {SEED}: {failed}"


class Evil:
    """What a pickle of it runs when it is read."""

    def __reduce__(self) -> Any:
        return os.mkdir, ("PWNED",)


def in_file(array: Any) -> bytes:
    """An array as a member of an .npz file."""
    content = BytesIO()
    np.lib.format.write_array(content, np.asarray(array))
    return content.getvalue()


def forged_weights(members: dict[str, bytes], chance: Random) -> bytes:
    """A file of weights of which something has been changed, and the rest may be made to fit."""
    members, name = dict(members), chance.choice(list(members))
    about = json.loads(np.load(BytesIO(members["about"])).tobytes())
    how = chance.randrange(8)
    if how == 0:
        members[name] = in_file(np.array([Evil()], object))
    elif how == 1:
        shape = chance.choice([(10**10,), (2**62, 2**62), (-1,), (True,), (), (0,), (1,) * 70])
        kind = chance.choice(["<i2", ">i4", "|O", "|V0", "|V999999999", "no such"])
        head = (
            f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
        )
        members[name] = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode()
    elif how == 2:
        members.pop(name)
        members[chance.choice(["../x", "other", name])] = bytes(100)
    elif how == 3:
        about["rules"] = load_rules(chance.choice(["french", "classic", "extrawurm"])).as_dict()
        about["players"] = chance.choice([-1, 0, 1, 2, 3, 5, 7, 8, 100, 2.5, "2"])
        names = [*SPECIALISTS, "", "dodo"]
        about["specialists"] = [chance.choice(names) for _ in range(chance.randrange(9))]
        with suppress(ValueError, TypeError):  # what no array can have
            members |= {key: in_file(array) for key, array in fitting(about, chance).items()}
    elif how == 4:
        array = np.load(BytesIO(members[name]))
        low, high = np.iinfo(array.dtype).min, np.iinfo(array.dtype).max
        members[name] = in_file(np.full_like(array, chance.choice([low, high])))
    else:
        for _ in range(chance.randint(1, 3)):
            if about:
                change(about, chance)
    if name != "about" or how > 2:
        members["about"] = in_file(np.frombuffer(json.dumps(about).encode(), np.uint8))
    content = BytesIO()
    with ZipFile(content, "w", chance.choice([ZIP_DEFLATED, ZIP_DEFLATED, ZIP_LZMA])) as archive:
        for member, array in members.items():
            archive.writestr(f"{member}.npy", array)
    forged = bytearray(content.getvalue())
    for _ in range(chance.choice([0, 0, 0, 1, 5])):
        forged[chance.randrange(len(forged))] ^= 1 << chance.randrange(8)
    return bytes(forged)


def fitting(about: dict[str, Any], chance: Random) -> dict[str, NDArray[Any]]:
    """A net of any numbers, as large as a file says that it is."""
    rules, players = load_rules(about["rules"]["name"]), int(about["players"])
    groups = groups_of(len(rules.tiles), players, len(about["specialists"]) * has_expansion(rules))
    facts = 1 + sum(slots.size * each.size for slots, each in groups.values())
    shapes = {"facts": (facts, FIRST), "second": (FIRST, SECOND), "second_bias": (SECOND,)}
    outputs = max(outputs_of(players), 1)
    shapes |= {"output": (SECOND, outputs), "output_bias": (outputs,)}
    numbers = np.random.default_rng(chance.randrange(2**32))
    return {
        name: numbers.integers(-(2**15), 2**15, shape).astype("<i4" if "bias" in name else "<i2")
        for name, shape in shapes.items()
    }


@pytest.mark.long
@pytest.mark.timeout(20_000)
def test_forged_weights_are_data(capfd):
    chance, failed = Random(SEED), {}
    shipped = Path(pickosim.__file__).parents[1] / "strategies" / "weights" / "extrawurm-2.npz"
    with ZipFile(shipped) as archive:
        sound = {name.removesuffix(".npy"): archive.read(name) for name in archive.namelist()}
    bot, played = "champion:weights=forged.npz", 0
    lines = [
        ["watch", bot, *["eager"] * rivals, "--rules", rules, "--set", "turn_limit=9", *why]
        for rivals, why in ((1, ["--why"]), (2, []), (6, []))
        for rules in ("classic", "extrawurm")
    ]
    lines.append(["odds", "--grill", "21-30", "--bot", bot])
    for number in range(5 * TRIES):
        content = shipped.read_bytes() if number == 0 else forged_weights(sound, chance)
        Path("forged.npz").write_bytes(content)
        for line in lines:
            try:
                with only_read():
                    code = cli.run(line)
                assert code in (0, 2)
                played += code == 0
            except Exception as error:
                failed.setdefault(f"{type(error).__name__}: {str(error)[:150]}", (number, line))
        if number == 0:
            failed.clear()  # kernels are compiled
        capfd.readouterr()
    assert not Path("PWNED").exists()
    assert played > TRIES
    assert not failed, f"seed {SEED}: {failed}"


@pytest.mark.parametrize("players", [0, 1, 8, -1, True, 2.0, "2"])
def test_weights_for_no_game_are_refused(players, capsys):
    """A net for nobody, found by made-up weights, was read and led to memory that is not the net's."""
    rules = load_rules("extrawurm").as_dict()
    about = {"rules": rules, "players": players, "training": {}, "specialists": ["", ""]}
    about |= {"rules_version": RULES_VERSION, "features_version": FEATURES_VERSION}
    with Path("forged.npz").open("wb") as file:
        text = np.frombuffer(json.dumps(about).encode(), np.uint8)
        np.savez(file, about=text, **fitting(about, Random(1)))
    assert cli.run(["odds", "--grill", "21-30", "--bot", "champion:weights=forged.npz"]) == 2
    assert "does not hold weights of a champion" in capsys.readouterr().err


def test_sums_of_other_shapes_do_not_end_in_a_traceback(sound, tmp_path):
    """Nor does an unfinished run that is shown."""
    chance = Random(3)
    for number in range(12):
        folder = tmp_path / f"run{number}"
        shutil.copytree(sound / "tournament", folder)
        shutil.copy(folder / "plan.json", folder / "manifest.json")
        for shard in (folder / "sums").iterdir():
            content = shard.read_bytes()
            header = json.loads(content.split(b"\n", 2)[1])
            sums, _ = unpacked(content, {}, 1 << 30)  # type: ignore[misc]
            name = chance.choice(list(sums))
            match number % 4:
                case 0:
                    del sums[name]
                case 1:
                    sums[name] = np.ones((*sums[name].shape, 2), np.int64)
                case 2:
                    sums[name] = np.full((1,), -(2**62), np.int64)
                case 3:
                    sums = {"no such": np.zeros(3, np.int64)}
            shard.write_bytes(packed(sums, header))
        assert cli.run(["show", str(folder)]) in (0, 2)
        with np.errstate(all="ignore"):
            assert cli.run(["resume", str(folder), "--workers", "1"]) in (0, 2)


def test_a_table_that_unpacks_to_more_than_tables_have_is_not_read(sound, tmp_path, capsys):
    """Some kB of Parquet that stand for ten million numbers; the limit is far above what studies write."""
    folder = Path(shutil.copytree(sound / "tournament", tmp_path / "run"))
    content = parquet(pl.select(bot=pl.repeat(0, MOST_CELLS + 1, dtype=pl.Int8)))
    assert len(content) < 10**5
    (folder / "standings.parquet").write_bytes(content)
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    del manifest["sha256"]
    manifest["files"]["standings.parquet"] = digest(content)
    (folder / "manifest.json").write_bytes(sealed(manifest))
    assert cli.run(["show", str(folder)]) == 2
    assert "it has 10,000,001 values" in capsys.readouterr().err


def test_a_position_of_a_stranger_starts_nothing(capfd):
    """And is told from one that plays built-in bots."""
    position = pickosim.position(["eager", "random"], turn=3)
    for bot in (EVIL_COMMAND, "evil.py", "evil.py:Evil"):
        Path("position.json").write_text(
            json.dumps(position | {"players": [bot, "random"]}), "utf-8"
        )
        with only_read():
            assert cli.run(["watch", "--from-position", "position.json"]) == 2
        assert not Path("PWNED").exists()


@pytest.mark.parametrize("name", ["rules.toml", "experiment.toml"])
def test_nested_brackets_are_answered_in_a_sentence(name, capsys):
    """Found by made-up rule files."""
    Path(name).write_text("dice = " + "[" * 5000, encoding="utf-8")
    assert cli.run(["rules", "show", name] if name == "rules.toml" else ["run", name]) == 2
    assert "nested too deeply" in capsys.readouterr().err
    assert cli.run(["odds", "--set", "dice=" + "[" * 5000]) == 2


def test_names_that_are_too_long_are_named(capsys):
    long = "n" * 300
    for line in (
        ["tournament", "eager", "random", "--games", "4", "--out", long],
        ["runs", long],
        ["new", f"{long}.py"],
    ):
        assert cli.run(line) in (0, 2)
        assert "the output cannot be written" not in capsys.readouterr().err


def test_a_run_is_played_with_all_descriptors_closed():
    line = ["tournament", "eager", "random", "--games", "20", "--workers", "1", "--out", "run"]
    command = shlex.join([str(Path(sys.executable).with_name("pickosim")), *line])
    ended = subprocess.run(["sh", "-c", f"{command} <&- >&- 2>&-"], timeout=600, check=False)
    assert ended.returncode == 0
    assert pickosim.load_results("run").manifest["result"]["games"] == 20
