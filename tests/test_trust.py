"""Run folders that are damaged, or somebody else's, and processes that are told to end.

Whatever the folder holds, results are the true ones or a sentence says what is wrong; nothing of it is run.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
from blocks import first_game
from polars.testing import assert_frame_equal

import pickosim
from pickosim import cli
from pickosim.commands.terminal import show
from pickosim.errors import PickosimError
from pickosim.files import digest
from pickosim.reports.page import report_page
from pickosim.reports.views import as_json, as_text
from pickosim.runs.folder import RunFolder, new_folder, sealed
from pickosim.studies.tournament import game_of_run

PROGRAM = Path(sys.executable).with_name("pickosim")
HANGS = 600
"""Seconds after which a process is not slow but hangs."""
ORPHANED = 90
"""Seconds by which workers without a parent have ended on the slowest machine; they notice within one."""


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> Path:
    """A finished run with all kinds of files."""
    folder = tmp_path_factory.mktemp("sound") / "run"
    pickosim.tournament(
        ["eager", "random"], games=40, seed=3, out=folder, chunk=10, save_games=True, export="csv"
    )
    return folder


@pytest.fixture
def folder(tmp_path, sound) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(sound, tmp_path / "run"))


def files_of(folder: Path) -> dict[str, bytes]:
    """The contents of all files of a folder, by path."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def results_of(folder: Path) -> dict[str, Any]:
    """All that a loaded run shows."""
    return as_json(pickosim.load_results(folder))


# ------------------------------------------------------------------------------------------- damage


def flip_bits(sound: Path, base: Path, tries: int, seed: int) -> None:
    """Flip one bit after another, each in a copy of a run, in one file after the other.

    Whatever is loaded is what was true before, and never a changed table; afterwards `resume` makes the
    folder sound again.
    """
    chance = Random(seed)
    before, shown = files_of(sound), results_of(sound)
    game = first_game(["eager", "random"]) + 7
    match = game_of_run(sound, game).match
    names = [name for name, content in before.items() if content]
    tables = {f"{name}.parquet" for name in RunFolder(sound).manifest()["tables"]}
    assert tables < set(names)
    for number in range(tries):
        folder = base / f"flipped-{number}"
        shutil.copytree(sound, folder)
        name = names[number % len(names)]
        content = bytearray(before[name])
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        (folder / name).write_bytes(content)
        try:
            assert results_of(folder) == shown, name
            assert name not in tables
        except PickosimError:
            assert name in tables | {"manifest.json"}
        with suppress(PickosimError):
            assert game_of_run(folder, game).match == match, name
        resumed = pickosim.resume(folder, workers=1)
        for table, frame in resumed.frames.items():
            assert_frame_equal(frame, pl.read_parquet(sound / f"{table}.parquet"), check_exact=True)
        assert not RunFolder(folder).damaged(RunFolder(folder).manifest())
        after = files_of(folder)
        assert set(after) == set(before)
        for path in before:
            if path not in ("manifest.json", "plan.json"):  # which have the time in them
                assert after[path] == before[path], f"{path} after a flip in {name}"
        RunFolder(folder)._manifest_in("plan.json")
        shutil.rmtree(folder)


def test_a_flipped_bit_is_noticed_or_harmless(sound, tmp_path):
    flip_bits(sound, tmp_path, 60, seed=1)


@pytest.mark.long
def test_two_thousand_flipped_bits_are_noticed_or_harmless(sound, tmp_path):
    flip_bits(sound, tmp_path, 2000, seed=2)


@pytest.mark.parametrize("name", ["manifest.json", "plan.json"])
@pytest.mark.parametrize("content", [None, b"", b"{}", b"[1]", b"\xff\xfe", b'{"plan": ' * 9999])
def test_a_lost_manifest_is_restored_from_the_other_copy(folder, sound, name, content):
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    if name == "manifest.json":
        with pytest.raises(PickosimError, match=r"To restore it: pickosim resume "):
            pickosim.load_results(folder)
    assert_same_tables(pickosim.resume(folder), sound)
    assert_same_tables(pickosim.load_results(folder), sound)
    assert json.loads((folder / name).read_bytes())["plan"]["seed"] == 3


def test_without_both_manifests_it_is_not_a_run(folder, capsys):
    (folder / "manifest.json").write_text("{", encoding="utf-8")
    (folder / "plan.json").write_text("{", encoding="utf-8")
    for command in (["resume", str(folder)], ["report", str(folder)]):
        assert cli.run(command) == 2
        assert "cannot be read: it is damaged." in capsys.readouterr().err


def assert_same_tables(results: pickosim.Results, sound: Path) -> None:
    for name, frame in results.frames.items():
        assert_frame_equal(frame, pl.read_parquet(sound / f"{name}.parquet"), check_exact=True)
    assert len(results.frames) > 4


# ------------------------------------------------------------------------------ folders of anybody


def reseal(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change a manifest as somebody would who also writes its checksums."""
    manifest = RunFolder(folder).manifest()
    change(manifest)
    (folder / "manifest.json").write_bytes(sealed(manifest))
    (folder / "plan.json").write_bytes(sealed(manifest))


def change_anything(content: Any, chance: Random) -> None:
    """Put something else in one place of a manifest, or take it out."""
    while True:
        key = chance.choice(list(content)) if isinstance(content, dict) else None
        key = chance.randrange(len(content)) if key is None else key
        inside = content[key]
        if isinstance(inside, dict | list) and inside and chance.random() < 0.8:
            content = inside
            continue
        other = chance.choice(
            [None, -1, 1e300, "x", "../x", "\x1b[2J", [], {}, [[]], {"a": "b"}, True]
        )
        if chance.random() < 0.3:
            del content[key]
        else:
            content[key] = other
        return


@pytest.fixture(scope="module")
def kinds(sound, tmp_path_factory) -> list[Path]:
    """A finished run of each kind."""
    base = tmp_path_factory.mktemp("kinds")
    options: dict[str, Any] = {"games": 20, "workers": 1}
    pickosim.compare(["classic", "short"], ["eager"], "2", out=base / "compare", **options)
    pickosim.balance("extrawurm", ["eager"], "2", out=base / "balance", **options)
    return [sound, base / "compare", base / "balance"]


@pytest.mark.parametrize("kind", range(3))
def test_any_manifest_gives_results_or_a_sentence(kinds, kind, tmp_path, capsys):
    refused = 0
    for seed in range(40):
        folder = Path(shutil.copytree(kinds[kind], tmp_path / str(seed)))
        reseal(folder, lambda manifest, seed=seed: change_anything(manifest, Random(seed)))
        with suppress(PickosimError):
            game_of_run(folder, first_game(["eager", "random"]))
        try:
            results = pickosim.load_results(folder)
        except PickosimError as error:
            assert "\n" not in str(error)
            refused += 1
        else:
            show(*as_text(results))
            report_page(results)
        with suppress(PickosimError):
            pickosim.resume(folder, workers=1)
        assert "\x1b" not in capsys.readouterr().out
    assert 10 < refused < 40


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("export", ["../../../evil"]),
        ("export", ["html"]),
        ("tables", ["../standings"]),
        ("report", ["/etc/passwd"]),
        ("files", {"../../x": "0" * 64}),
        ("kind", "os"),
        ("status", "done"),
    ],
)
def test_what_a_manifest_may_say_is_limited(folder, key, value):
    reseal(folder, lambda manifest: manifest.update({key: value}))
    for load in (pickosim.resume, pickosim.load_results):
        with pytest.raises(PickosimError):
            load(folder)


BOT = """
from pathlib import Path
from pickosim import Strategy
{more}
class Bot(Strategy):
    def pick(self, turn): return turn.best(turn.counts)
    def stop(self, turn): return turn.can_claim
"""


def test_a_bot_that_has_changed_is_not_even_loaded(tmp_path):
    bot, folder, trace = tmp_path / "bot.py", tmp_path / "run", tmp_path / "was_here"
    bot.write_text(BOT.format(more=""), encoding="utf-8")
    pickosim.tournament([str(bot), "eager"], games=40, out=folder, workers=1)
    game = first_game([str(bot), "eager"])
    bot.write_text(BOT.format(more=f"Path({str(trace)!r}).touch()"), encoding="utf-8")
    pickosim.report(folder)  # needs no bot
    reseal(folder, lambda manifest: manifest.update(status="stopped"))
    for use in (pickosim.resume, lambda folder: game_of_run(folder, game)):
        with pytest.raises(PickosimError, match=r"The source of .*bot\.py has changed"):
            use(folder)
    assert not trace.exists()


def test_no_control_character_reaches_the_terminal(folder, capsys):
    evil = "\x1b]0;owned\x07\x9b2J"
    standings = pl.read_parquet(folder / "standings.parquet").with_columns(bot=pl.lit(evil))
    standings.write_parquet(folder / "standings.parquet")
    checksum = digest((folder / "standings.parquet").read_bytes())

    def change(manifest: dict[str, Any]) -> None:
        manifest["title"] = manifest["question"] = manifest["directory"] = evil
        manifest["result"]["remarks"] = [evil]
        manifest["files"]["standings.parquet"] = checksum

    reseal(folder, change)
    for options in ([], ["--json"]):
        assert cli.run(["resume", str(folder), *options]) == 0
        shown = capsys.readouterr()
        assert "owned" in shown.out
        for character in "\x1b\x07\x9b":
            assert character not in shown.out + shown.err
    (folder / "standings.parquet").write_bytes(b"")
    reseal(folder, lambda manifest: manifest.update(kind=evil))
    assert cli.run(["report", str(folder)]) == 2
    assert "\\x1b]0;owned\\x07\\x9b2J" in capsys.readouterr().err


def test_every_field_is_escaped_on_the_page(folder):
    evil = "<script>alert(1)</script>"

    def change(manifest: dict[str, Any]) -> None:
        texts = ("title", "command", "machine", "system", "directory", "question")
        manifest.update(dict.fromkeys(texts, evil), workers=evil)
        manifest["plan"]["source"] = manifest["versions"]["numba"] = evil
        manifest["versions"][evil] = evil
        manifest["plan"]["rule_set"]["title"] = evil
        manifest["plan"]["entrants"][0]["source"] = evil
        manifest["result"].update(headline=evil, sentences=[evil], remarks=[evil])

    reseal(folder, change)
    page = pickosim.report(folder).read_text(encoding="utf-8")
    assert evil not in page
    assert page.count("&lt;script&gt;alert(1)") >= 10


@pytest.mark.parametrize("name", ["sums", "games", "lock"])
def test_nothing_is_written_through_a_link(folder, tmp_path, name):
    elsewhere = tmp_path / "elsewhere"
    if name == "lock":
        (folder / name).unlink()
        elsewhere.write_text("mine", encoding="utf-8")
    else:
        shutil.rmtree(folder / name)
        elsewhere.mkdir()
    (folder / name).symlink_to(elsewhere)
    with pytest.raises(PickosimError, match=f"{name} is not a (file|folder)"):
        pickosim.resume(folder)
    assert elsewhere.read_text() == "mine" if name == "lock" else not list(elsewhere.iterdir())


def test_a_report_replaces_neither_a_device_nor_a_link(folder, tmp_path, capsys):
    page, pipe = tmp_path / "page.html", tmp_path / "pipe.html"
    page.write_text("mine", encoding="utf-8")
    os.mkfifo(pipe)
    (folder / "report.html").symlink_to(page)
    for out in ([], ["--out", str(folder / "report.html")], ["--out", str(pipe)]):
        assert cli.run(["report", str(folder), *out]) == 2
        assert "cannot be written: Not a regular file." in capsys.readouterr().err
    assert pipe.is_fifo()
    assert (folder / "report.html").is_symlink()
    assert page.read_text(encoding="utf-8") == "mine"


def test_a_pipe_in_place_of_a_file_is_not_waited_for(folder):
    for name in ("manifest.json", "plan.json"):
        (folder / name).unlink()
        os.mkfifo(folder / name)
    for use in (pickosim.load_results, pickosim.resume):
        with pytest.raises(PickosimError, match="Not a regular file"):
            use(folder)


# ------------------------------------------------------------------------------------------ processes


def started(*command: str | Path) -> subprocess.Popen[str]:
    """A command in a process group of its own."""
    return subprocess.Popen(
        list(command),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_until(is_so: Callable[[], bool], most: float = HANGS) -> bool:
    """Whether something becomes so."""
    end = time.monotonic() + most
    while not is_so():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def has_ended(group: int) -> bool:
    """Whether no process of a group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


def long_run(folder: Path) -> subprocess.Popen[str]:
    """A run of hours, of which a chunk is finished."""
    process = started(
        *[PROGRAM, "tournament", "eager", "random", "--games", "1G"],
        *["--out", str(folder), "--workers", "2"],
    )
    shards = folder / "sums"
    assert wait_until(lambda: process.poll() is not None or any(shards.glob("[0-9]*")))
    assert process.poll() is None
    return process


@pytest.mark.parametrize("whom", ["parent", "all"])
def test_sigterm_stops_a_run_like_ctrl_c(tmp_path, whom):
    """A container tells the parent alone, systemd and Slurm tell all processes."""
    folder = tmp_path / "run"
    process = long_run(folder)
    if whom == "all":
        os.killpg(process.pid, signal.SIGTERM)
    else:
        os.kill(process.pid, signal.SIGTERM)
    out, err = process.communicate(timeout=HANGS)
    assert (process.returncode, out) == (128 + signal.SIGTERM, "")
    assert err.endswith(
        f"pickosim: Terminated.\nAll finished chunks are kept. To resume: pickosim resume {folder}\n"
    )
    assert "Traceback" not in err
    assert RunFolder(folder).manifest()["status"] == "stopped"
    assert wait_until(lambda: has_ended(process.pid))


def test_workers_end_when_their_parent_is_killed(tmp_path):
    process = long_run(tmp_path / "run")
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    try:
        assert wait_until(lambda: has_ended(process.pid), ORPHANED)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


FULL = """
import resource, signal, sys
import pickosim
from pickosim.errors import PickosimError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
left = 40
def played(games, status):
    global left
    left -= games
    if not left:  # all chunks are kept: the tables do not fit
        resource.setrlimit(resource.RLIMIT_FSIZE, (500, resource.RLIM_INFINITY))
for folder in sys.argv[1:]:
    try:
        pickosim.tournament(["eager", "random"], games=40, seed=3, out=folder, chunk=10, workers=1,
                            save_games=True, export="csv", progress=pickosim.Progress(played=played))
    except PickosimError as error:
        print(error)
"""


def test_a_disk_that_is_full_gets_a_sentence(tmp_path, sound):
    first, second = tmp_path / "first", tmp_path / "second"
    done = subprocess.run(
        [sys.executable, "-c", FULL, first, second], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [
        f"The run cannot be written: File too large ({first / 'standings.parquet'}).",
        f"All finished chunks are kept. To resume: pickosim resume {first}",
        f"{second} cannot be written: File too large.",
    ]
    assert not [path for path in first.rglob("*") if path.name.startswith(".")]
    assert not list(first.glob("*.parquet"))
    assert_same_tables(pickosim.resume(first), sound)


# ------------------------------------------------------------------------------------------ messages


def test_a_finished_run_says_so(folder, capsys):
    assert cli.run(["resume", str(folder)]) == 0
    assert capsys.readouterr().err.startswith("The run is finished; nothing is left to play.\n")


def test_no_speed_is_shown_where_nothing_was_played(folder, capsys):
    """As if it had been killed after its last chunk, before it noted how far it had come."""
    shutil.copy(folder / "plan.json", folder / "manifest.json")
    assert cli.run(["resume", str(folder)]) == 0
    assert "games/s" not in capsys.readouterr().err


def test_damaged_files_are_named(folder, capsys):
    (folder / "standings.parquet").unlink()
    (folder / "seats.csv").write_bytes(b"seat\n")
    assert cli.run(["resume", str(folder)]) == 0
    said = "Damaged or missing files are made again: seats.csv and standings.parquet.\n"
    assert capsys.readouterr().err.startswith(said)


def test_a_rule_file_is_a_regular_file_of_reasonable_size(tmp_path, capsys):
    huge, pipe = tmp_path / "huge.toml", tmp_path / "pipe.toml"
    with huge.open("wb") as file:
        file.truncate(1 << 40)
    os.mkfifo(pipe)
    for path, why in (
        ("/dev/zero", "Not a regular file"),
        (pipe, "Not a regular file"),
        (huge, "More than 1,048,576 bytes"),
    ):
        assert cli.run(["rules", "show", str(path)]) == 2
        assert why in capsys.readouterr().err
        assert cli.run(["run", str(path)]) == 2
        assert why in capsys.readouterr().err


@pytest.mark.parametrize("name", ["", ".", "/"])
def test_a_bot_without_a_name_is_refused(name, capsys):
    assert cli.run(["new", name]) == 2
    assert "is not a valid file name for a bot." in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["tournament", "compare", "balance"])
def test_no_number_of_players_is_refused(tmp_path, kind, capsys):
    path = tmp_path / "ask.toml"
    rules = 'rules = ["classic"]\n' if kind == "compare" else ""
    path.write_text(f'question = "?"\nstudy = "{kind}"\nplayers = []\n{rules}', encoding="utf-8")
    assert cli.run(["run", str(path)]) == 2
    assert f"{path}, line 3: " in capsys.readouterr().err


def test_a_misspelt_bot_is_reported_before_the_kernels_are_loaded():
    code = (
        "import sys; from pickosim import cli; code = cli.run(['check', 'randm']); "
        "sys.exit(100 if 'pickosim.games.check' in sys.modules else code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert 'did you mean "random"?' in done.stderr


# ------------------------------------------------------------------------------ numbers and environments


@pytest.mark.parametrize(
    ("option", "value", "answer"),
    [
        ("--games", "9" * 400, "Games are at most"),
        ("--answer-seconds", "1e19", "at most 1,000,000"),
    ],
)
def test_a_number_that_is_too_large_gets_a_sentence(option, value, answer, capsys):
    assert cli.run(["tournament", "eager", "random", option, value]) == 2
    assert answer in capsys.readouterr().err


def test_without_docstrings_there_is_a_sentence(tmp_path):
    done = subprocess.run(
        [PROGRAM, "tournament", "eager", "random", "--games", "40"],
        env={**os.environ, "PYTHONOPTIMIZE": "2"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=HANGS,
    )
    assert done.returncode == 2
    assert "PYTHONOPTIMIZE=2" in done.stderr
    assert "Traceback" not in done.stderr


def test_runs_that_begin_in_the_same_second_have_their_own_folders(tmp_path):
    """Nobody has written to the first folder when the second is named."""
    folders = [new_folder("tournament", tmp_path / "runs") for _ in range(20)]
    assert len(set(folders)) == 20


def test_a_forged_run_neither_hides_others_nor_reaches_the_terminal(folder, capsys):
    manifest = RunFolder(folder).manifest()
    result = manifest["result"]
    forged = {
        "started": {"started": "\ud800"},
        "no date": {"started": "yesterday"},
        "month": {"started": "2026-13-01"},
        "codes": {"title": "\x1b[2J", "result": result | {"headline": "\x1b[31mred"}},
        "games": {"result": result | {"games": 10**30}},
        "plan": {"plan": {"entrants": [5], "matchups": 3}},
    }
    for name, changes in forged.items():
        (folder.parent / name).mkdir()
        (folder.parent / name / "manifest.json").write_bytes(sealed(manifest | changes))
    for form in ([], ["--csv"], ["--json"]):
        assert cli.run(["runs", str(folder.parent), *form]) == 0
        shown = capsys.readouterr().out
        assert "\x1b" not in shown
    listed = {Path(row["run"]).name: row["status"] for row in json.loads(shown)}
    assert listed == {
        "run": "finished",
        "codes": "finished",
        "started": "unreadable",
        "no date": "unreadable",
        "month": "unreadable",
        "games": "unreadable",
        "plan": "unreadable",
    }
