"""Runs that are stopped in the middle: killed, interrupted, out of disk, their files damaged.

Whatever happens, `pickosim resume` must end with exactly the tables of an uninterrupted run.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from random import Random

import polars as pl
import pytest
from package_copy import edited_copy
from polars.testing import assert_frame_equal

import pickosim
from pickosim import cli
from pickosim.amounts import LANE
from pickosim.errors import PickosimError
from pickosim.runs.folder import RunFolder
from pickosim.studies.tournament import game_of_run

PROGRAM = Path(sys.executable).with_name("pickosim")
BOTS = ["eager", "random", "threshold:target=23"]
GAMES, CHUNK = 2_000, 200
HANGS = 600
"""Seconds after which a process is not slow but hangs."""


def begin(folder: Path, bots: list[str] = BOTS, **options: object) -> pickosim.Results:
    return pickosim.tournament(
        bots, "extrawurm", 2, GAMES, seed=3, out=folder, chunk=CHUNK, **options
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> pickosim.Results:
    """The run that nobody interrupted."""
    return begin(tmp_path_factory.mktemp("whole") / "run", save_games=True)


def assert_whole(results: pickosim.Results, whole: pickosim.Results) -> None:
    assert list(results.frames) == list(whole.frames)
    for name, table in whole.frames.items():
        assert_frame_equal(results.frames[name], table, check_exact=True)
    assert results.manifest["result"] == whole.manifest["result"]


SCRIPT = """
import sys, pickosim, pickosim.runs.run
pickosim.runs.run.SMALL_CHUNK = 0  # so that workers play even this little
pickosim.tournament({bots!r}, "extrawurm", 2, {games}, seed=3, out={folder!r}, chunk={chunk},
                    workers={workers}, save_games=True)
"""


def start_process(
    folder: Path, workers: int = 1, bots: list[str] = BOTS, games: int = GAMES
) -> subprocess.Popen[str]:
    """A run in a process of its own."""
    code = SCRIPT.format(bots=bots, games=games, folder=str(folder), chunk=CHUNK, workers=workers)
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for_shards(folder: Path, number: int, process: subprocess.Popen[str]) -> None:
    """Until so many chunks are finished (or the run is)."""
    while process.poll() is None and len(list((folder / "sums").glob("[0-9]*"))) < number:
        time.sleep(0.002)


def kill(process: subprocess.Popen[str]) -> None:
    """End a process and its workers at once, unless they have ended."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


# ------------------------------------------------------------------------------------ interruptions


def test_killed_at_random_points_a_run_ends_the_same(tmp_path, whole):
    chance = Random(11)
    folder = tmp_path / "run"
    kills, kept = 0, 0
    process = start_process(folder, workers=2)
    while kills < 3:
        wait_for_shards(folder, kept + chance.randint(1, 4), process)
        time.sleep(chance.random() * 0.01)
        kill(process)
        kills += 1
        found = len(list((folder / "sums").glob("[0-9]*")))
        assert found >= kept, "nothing that was finished is lost"
        kept = found
        if RunFolder(folder).manifest()["status"] == "finished":
            break
        code = f"import pickosim; pickosim.resume({str(folder)!r}, workers=2)"
        process = subprocess.Popen(
            [sys.executable, "-c", code], start_new_session=True, stderr=subprocess.PIPE, text=True
        )
    kill(process)
    assert kept > 0
    assert_whole(pickosim.resume(folder), whole)
    assert_frame_equal(saved(folder), saved(whole.folder), check_exact=True)


def saved(folder: Path | None) -> pl.DataFrame:
    assert folder is not None
    return pl.read_parquet(folder / "games" / "*.parquet").sort("game", "rotation", "seat")


def test_ctrl_c_says_how_to_resume(tmp_path, whole):
    folder = tmp_path / "my run"
    process = subprocess.Popen(
        [
            *[PROGRAM, "tournament", *BOTS, "--rules", "extrawurm", "--games", "2M"],
            *["--out", str(folder), "--workers", "2"],
        ],
        # Tests may run in the background of a shell, which ignores Ctrl-C for all below.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_for_shards(folder, 1, process)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=HANGS)
    assert (process.returncode, out) == (130, "")
    assert err.endswith(
        f"pickosim: Interrupted.\nAll finished chunks are kept. To resume: pickosim resume '{folder}'\n"
    )
    assert "Traceback" not in err
    assert RunFolder(folder).manifest()["status"] == "stopped"


FRAGILE = """
import os, signal, time
from pathlib import Path
from pickosim import Strategy
FOLDER = Path(__file__).parent
asked = 0
class Fragile(Strategy):
    def pick(self, turn):
        global asked
        asked += 1
        if asked > 3000 and (FOLDER / "die").exists():
            while len(list((FOLDER / "run" / "sums").glob("[0-9]*"))) < 2:
                time.sleep(0.01)
            try:
                (FOLDER / "die").unlink()
            except FileNotFoundError:  # the other worker was first
                pass
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        return turn.best(turn.counts)
    def stop(self, turn): return turn.can_claim
"""
"""In a worker's second chunk, as soon as two chunks are kept, this bot ends the worker; once only."""


def test_a_worker_that_dies_is_reported_and_nothing_is_lost(tmp_path):
    bot, folder = tmp_path / "fragile.py", tmp_path / "run"
    bot.write_text(FRAGILE, encoding="utf-8")
    bots = [str(bot), "random", "threshold:target=23"]
    whole = begin(tmp_path / "whole", bots, save_games=True)
    (tmp_path / "die").touch()
    process = start_process(folder, workers=2, bots=bots)
    _, err = process.communicate(timeout=HANGS)
    assert process.returncode == 1
    assert "A worker process died (killed, or out of memory)." in err
    assert f"pickosim resume {folder}" in err
    kept = {path.name: path.stat().st_mtime_ns for path in (folder / "sums").glob("[0-9]*")}
    assert len(kept) >= 2
    assert_whole(pickosim.resume(folder), whole)
    for name, written in kept.items():
        assert (folder / "sums" / name).stat().st_mtime_ns == written, "played only once"


def test_a_full_disk_is_reported_and_nothing_is_lost(tmp_path, whole, capfd):
    """No file may grow beyond 4 kB: shards of sums fit, files of games do not."""
    folder = tmp_path / "run"
    code = SCRIPT.format(bots=BOTS, games=GAMES, folder=str(folder), chunk=CHUNK, workers=1)
    limited = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "import pickosim.api, pickosim.games.batch; pickosim.games.batch.warm_up()\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))\n"
    )
    done = subprocess.run([sys.executable, "-c", limited + code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "The run cannot be written: File too large" in done.stderr
    assert f"pickosim resume {folder}" in done.stderr
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
    assert_whole(pickosim.resume(folder), whole)


RAISES = """
from pickosim import Strategy
asked = 0
class Raises(Strategy):
    def pick(self, turn):
        global asked
        asked += 1
        if asked > {most}:
            raise RuntimeError("no more")
        return turn.best(turn.counts)
    def stop(self, turn): return turn.can_claim
"""


def test_a_bot_that_raises_late_loses_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("raises.py").write_text(RAISES.format(most=5000), encoding="utf-8")
    with pytest.raises(PickosimError) as caught:
        begin(Path("run"), ["raises.py", "eager"])
    assert "raises.py: pick() raised RuntimeError: no more" in str(caught.value)
    assert "To see that game: pickosim watch" in str(caught.value)
    assert "A corrected bot counts as another bot" in str(caught.value)
    assert "resume" not in str(caught.value), "it could only fail again"
    kept = len(list(Path("run/sums").glob("[0-9]*")))
    assert 0 < kept < GAMES / 2 / CHUNK
    Path("raises.py").write_text(RAISES.format(most=10**9), encoding="utf-8")
    assert cli.run(["resume", "run"]) == 2
    assert "The source of raises.py has changed since the run began" in capsys.readouterr().err
    assert len(list(Path("run/sums").glob("[0-9]*"))) == kept


SLOW = """
from pickosim import Strategy

class Slow(Strategy):
    def pick(self, turn):
        while True: pass
    def stop(self, turn): return turn.can_claim
"""


def test_a_run_that_a_slow_bot_stopped_can_be_resumed_with_more_time(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("slow.py").write_text(SLOW, encoding="utf-8")
    with pytest.raises(PickosimError) as caught:
        begin(Path("run"), ["slow.py", "eager"], answer_seconds=0.2, workers=1)
    assert "--answer-seconds allows more" in str(caught.value)
    assert str(caught.value).endswith("To resume: pickosim resume run")


# ------------------------------------------------------------------------------------ damaged files


@pytest.fixture
def copied(tmp_path, whole) -> Path:
    """A finished run, as if its last step had not been done."""
    assert whole.folder is not None
    folder = tmp_path / "copy"
    shutil.copytree(whole.folder, folder)
    manifest = RunFolder(folder).manifest()
    RunFolder(folder).write_manifest(manifest | {"status": "stopped"})
    return folder


def test_finished_chunks_are_not_played_again(copied, whole):
    written = {path: path.stat().st_mtime_ns for path in (copied / "sums").iterdir()}
    assert_whole(pickosim.resume(copied), whole)
    assert {path: path.stat().st_mtime_ns for path in (copied / "sums").iterdir()} == written


@pytest.mark.parametrize("place", ["sums", "games"])
@pytest.mark.parametrize("harm", ["truncated", "one byte", "empty", "gone", "another's"])
def test_a_damaged_shard_is_played_again(copied, whole, place, harm):
    first, second = sorted((copied / place).glob("[0-9]*"))[:2]
    sound = first.read_bytes()
    if harm == "truncated":
        first.write_bytes(sound[:-100])
    elif harm == "one byte":
        first.write_bytes(sound[:-100] + bytes([sound[-100] ^ 1]) + sound[-99:])
    elif harm == "empty":
        first.write_bytes(b"")
    elif harm == "gone":
        first.unlink()
    else:
        shutil.copy(second, first)
    untouched = second.stat().st_mtime_ns
    assert_whole(pickosim.resume(copied), whole)
    assert first.read_bytes() == sound
    assert second.stat().st_mtime_ns == untouched


def test_a_run_is_resumed_without_a_terminal(copied, whole):
    first, *_ = sorted((copied / "sums").iterdir())
    first.unlink()
    done = subprocess.run([PROGRAM, "resume", copied], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert_whole(pickosim.load_results(copied), whole)


def test_a_folder_of_sums_that_is_gone_is_made_again(copied, whole):
    shutil.rmtree(copied / "sums")
    assert_whole(pickosim.resume(copied), whole)


@pytest.mark.parametrize("harm", ["truncated", "gone", "game gone"])
def test_the_files_of_a_finished_run_are_made_again(tmp_path, whole, harm, capsys):
    folder = tmp_path / "copy"
    shutil.copytree(whole.folder, folder)
    path = folder / "standings.parquet"
    if harm == "game gone":
        path = sorted((folder / "games").iterdir())[2]
    sound = path.read_bytes()
    path.unlink()
    if harm == "truncated":
        path.write_bytes(sound[:50])
    if harm != "game gone":
        assert cli.run(["report", str(folder)]) == 2
        assert "To rebuild it from what was played: pickosim resume" in capsys.readouterr().err
    assert cli.run(["resume", str(folder)]) == 0
    assert_whole(pickosim.load_results(folder), whole)
    assert path.read_bytes() == sound or harm != "game gone"


def test_a_shard_of_another_run_is_not_taken(copied, whole, tmp_path):
    other = pickosim.tournament(
        BOTS, "extrawurm", 2, GAMES, seed=4, out=tmp_path / "other", chunk=CHUNK, save_games=True
    )
    assert other.folder is not None
    for path in sorted((other.folder / "sums").iterdir())[:5]:
        shutil.copy(path, copied / "sums" / path.name)
    assert_whole(pickosim.resume(copied), whole)


def test_a_run_is_resumed_without_its_tables_and_with_other_workers(copied, whole):
    for path in copied.glob("*.parquet"):
        path.unlink()
    for path in sorted((copied / "sums").iterdir())[3:9]:
        path.unlink()
    assert_whole(pickosim.resume(copied, workers=2), whole)


# ------------------------------------------------------------------------------------ what changed


@pytest.mark.parametrize(
    "play",
    [
        lambda: pickosim.tournament(["eager", "random"], "mine.toml", games=100, out="run"),
        lambda: pickosim.compare(
            [pickosim.load_rules("short"), "mine.toml"], ["eager"], games=100, out="run"
        ),
    ],
    ids=["tournament", "compare"],
)
def test_changed_rules_are_refused(play, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text('extends = "classic"\ndice = 7\n', encoding="utf-8")
    play()
    manifest = RunFolder(Path("run")).manifest()
    RunFolder(Path("run")).write_manifest(manifest | {"status": "stopped"})
    pickosim.resume("run")
    RunFolder(Path("run")).write_manifest(manifest | {"status": "stopped"})
    Path("mine.toml").write_text('extends = "classic"\ndice = 6\n', encoding="utf-8")
    with pytest.raises(
        PickosimError, match=r"mine(\.toml)? have changed .*: dice was 7 and is 6\."
    ):
        pickosim.resume("run")


def test_a_changed_plan_is_refused(copied):
    manifest = RunFolder(copied).manifest()
    manifest["plan"]["seed"] = 4
    RunFolder(copied).write_manifest(manifest)
    with pytest.raises(PickosimError, match="is not the one that the run began with"):
        pickosim.resume(copied)


def test_another_pickosim_is_refused(copied):
    manifest = RunFolder(copied).manifest()
    manifest["plan"]["source"] = "0" * 16
    RunFolder(copied).write_manifest(manifest)
    with pytest.raises(PickosimError, match="begun with another pickosim"):
        pickosim.resume(copied)


RESUME = "import sys; from pickosim.cli import run; sys.exit(run(['resume', sys.argv[1]]))"


def test_another_word_in_a_sentence_or_label_does_not_matter(copied, whole, tmp_path):
    environment = edited_copy(
        tmp_path / "edited",
        studies__shares=("is first: it", "is ahead: it"),
        studies__measures=("winner's margin, worms", "lead of the winner, worms"),
        columns=("Share of games won", "Portion of games won"),
        reports__views=("95 % interval", "95 % range"),
    )
    for path in sorted((copied / "sums").iterdir())[:2]:
        path.unlink()
    command = [sys.executable, "-c", RESUME, copied]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    for name, table in whole.frames.items():
        assert_frame_equal(pickosim.load_results(copied).frames[name], table, check_exact=True)
    assert "is ahead: it" in pickosim.load_results(copied).headline


def test_another_engine_is_refused(copied, tmp_path):
    edit = ("number ^ (number >> _U31)", "number ^ (number >> _U30)")
    environment = edited_copy(tmp_path / "edited", engine__dice=edit)
    command = [sys.executable, "-c", RESUME, copied]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, cwd=tmp_path
    )
    assert done.returncode == 2
    assert "The run was begun with another pickosim" in done.stderr


def test_a_folder_of_another_layout_is_refused(copied):
    path = copied / "manifest.json"
    manifest = json.loads(path.read_text("utf-8"))
    del manifest["format"], manifest["sha256"]
    path.write_text(json.dumps(manifest), encoding="utf-8")
    for load in (pickosim.resume, pickosim.load_results, pickosim.report):
        with pytest.raises(PickosimError, match=r"was written by another version of pickosim \("):
            load(copied)


def test_a_helper_of_a_bot_that_has_changed_is_refused(tmp_path):
    """Imported by name, and by what is imported by name: the file's own text is unchanged."""
    (tmp_path / "limits.py").write_text("from deeper import LIMIT\n", encoding="utf-8")
    (tmp_path / "deeper.py").write_text("LIMIT = 24\n", encoding="utf-8")
    (tmp_path / "helped.py").write_text(
        "from pickosim import Strategy\n"
        "from limits import LIMIT\n"
        "class Helped(Strategy):\n"
        "    def pick(self, turn): return turn.best(turn.counts)\n"
        "    def stop(self, turn): return turn.can_claim & (turn.total >= LIMIT)\n",
        encoding="utf-8",
    )
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}

    def pickosim_says(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [PROGRAM, *command],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env=environment,
        )

    played = "tournament", "helped.py", "eager", "--games", "3000", "--workers", "1", "--out", "run"
    assert pickosim_says(*played).returncode == 0
    RunFolder(tmp_path / "run").write_manifest(
        RunFolder(tmp_path / "run").manifest() | {"status": "stopped"}
    )
    (tmp_path / "deeper.py").write_text("LIMIT = 30\n", encoding="utf-8")
    refused = pickosim_says("resume", "run")
    assert refused.returncode == 2
    assert "The source of helped.py has changed since the run began" in refused.stderr


def test_from_another_place_it_is_said_where_a_run_began(tmp_path, monkeypatch):
    (tmp_path / "began").mkdir()
    monkeypatch.chdir(tmp_path / "began")
    Path("raises.py").write_text(RAISES.format(most=5000), encoding="utf-8")
    with pytest.raises(PickosimError):
        begin(Path("run"), ["raises.py", "eager"])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        PickosimError, match=r"The run was started in .*began: resume it from there"
    ):
        pickosim.resume("began/run")


def test_editing_a_strategy_file_changes_the_next_run(tmp_path):
    source = tmp_path / "bot.py"
    code = (
        "from pickosim import Strategy\n"
        "class Bot(Strategy):\n"
        "    def pick(self, turn): return turn.best(turn.counts)\n"
        "    def stop(self, turn): return turn.can_claim{}\n"
    )
    shares = []
    for more in ("", " & (turn.total >= 26)"):
        source.write_text(code.format(more), encoding="utf-8")
        results = pickosim.tournament([str(source), "eager"], games=2_000, workers=2, chunk=300)
        rows = results.standings.filter(pl.col("bot") == str(source))
        shares.append(rows["win_share"].item())
    assert shares[0] != shares[1]


# ------------------------------------------------------------------------------------- the folder


def test_two_runs_cannot_share_a_folder(tmp_path):
    folder = tmp_path / "run"
    process = start_process(folder, games=1_000_000)  # which nobody waits for
    wait_for_shards(folder, 1, process)
    os.kill(process.pid, signal.SIGSTOP)
    try:
        with pytest.raises(PickosimError, match="Another run is writing to"):
            begin(folder)
        with pytest.raises(PickosimError, match="Another run is writing to"):
            pickosim.resume(folder)
    finally:
        kill(process)
    with pytest.raises(PickosimError, match=r"not finished\. To resume it: pickosim resume"):
        begin(folder)


def test_an_unfinished_run_shows_its_results_so_far(tmp_path, capsys):
    folder = tmp_path / "run"
    process = start_process(folder, games=1_000_000)
    wait_for_shards(folder, 5, process)
    kill(process)
    with pytest.raises(PickosimError, match=r"not finished\. To resume it"):
        pickosim.load_results(folder)
    shown = pickosim.load_results(folder, unfinished=True)
    assert shown.headline.startswith("So far, as the run is not finished: `")
    assert f"to play the rest: pickosim resume {folder}" in shown.remarks[0]
    # What is shown is what the finished chunks say, matchup by matchup.
    games = shown.games
    assert games is not None
    assert 5 * 2 * CHUNK <= shown.games_played == games.n_unique(["game", "rotation"]) < 1_000_000
    for row in shown.standings.iter_rows(named=True):
        own = games.filter(pl.col("bot") == row["bot"])
        assert row["games"] == len(own)
        assert row["mean_score"] == pytest.approx(own["score"].mean())
    assert cli.run(["show", str(folder), "--table", "standings", "--csv"]) == 0
    assert capsys.readouterr().out.splitlines()[0].startswith("bot,games")


def test_results_have_the_games_that_were_saved(whole):
    assert whole.games is not None
    assert whole.games_played == whole.games.n_unique(["game", "rotation"])
    assert pickosim.load_results(whole.folder).games.equals(whole.games)
    assert whole.games.sort("game", "rotation", "seat", "matchup").equals(
        saved(whole.folder).sort("game", "rotation", "seat", "matchup")
    )
    assert pickosim.tournament(["eager", "random"], games=4).games is None


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path, whole):
    (tmp_path / "thesis.tex").write_text("mine", encoding="utf-8")
    with pytest.raises(PickosimError, match="holds other files"):
        begin(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    assert whole.folder is not None
    with pytest.raises(PickosimError, match="holds a finished run"):
        begin(whole.folder)


def test_a_finished_run_is_shown_again(whole, capsys):
    assert cli.run(["resume", str(whole.folder), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    wanted = {"bot", "games", "win_share", "win_share_low", "win_share_high", "mean_score"}
    assert wanted | {"mean_rank", "rating", "rating_error"} <= set(shown["standings"][0])
    assert {"matchups", "seats", "manifest"} <= set(shown)
    assert shown["manifest"]["plan"]["rule_set"]["name"] == "extrawurm"


def test_saved_games_are_the_games(whole):
    games = saved(whole.folder)
    assert len(games) == 3 * GAMES * 2
    assert games["seed"].unique().to_list() == [3]
    means = games.group_by("bot").agg(pl.col("win_share").mean(), pl.col("score").mean())
    for row in means.iter_rows(named=True):
        standing = whole.standings.row(by_predicate=pl.col("bot") == row["bot"], named=True)
        assert row["win_share"] == pytest.approx(standing["win_share"])
        assert row["score"] == pytest.approx(standing["mean_score"])
    row = games.filter(pl.col("rotation") == 1).row(7, named=True)
    match = game_of_run(whole.folder, row["game"], 1).match
    trace = pickosim.watch(match.strategies, match.rules, match.seed, row["game"])
    one = games.filter((pl.col("game") == row["game"]) & (pl.col("rotation") == 1))
    assert list(match.specs) == one["bot"].to_list()
    assert trace[-1]["scores"] == one["score"].to_list()
    assert trace[-1]["turns"] == one["turns"][0]


def test_games_of_a_run_are_found_in_words(whole, capsys):
    """As the rows of the saved games say."""
    loser, winner = BOTS[1], BOTS[0]
    games = whole.games
    number = games.filter(pl.col("bot") == winner)["matchup"].to_list()
    own = games.filter(pl.col("matchup").is_in(number)).filter(
        pl.col("bot").is_in([loser, winner]).sum().over("matchup", "game", "rotation") == 2
    )
    lost = own.filter((pl.col("bot") == loser) & (pl.col("win_share") == 0))
    wanted = lost.sort("game", "rotation").select("game", "rotation").rows()
    for nth in (1, 2, 40):
        found = game_of_run(whole.folder, lost_by=loser, to=winner, nth=nth)
        assert (found.game, found.rotation) == wanted[nth - 1]
    game, rotation = wanted[0]
    block = game % LANE
    by_number = pickosim.watch(run=whole.folder, game=game, rotation=rotation)
    in_matchup = f"{loser},{winner}"
    assert by_number == pickosim.watch(
        run=whole.folder, matchup=in_matchup, game=block, rotation=rotation
    )
    assert by_number == pickosim.watch(run=whole.folder, lost_by=loser, to=winner)
    command = ["watch", "--from", str(whole.folder), "--lost-by", loser, "--to", winner]
    assert cli.run([*command, "--summary"]) == 0
    lines = capsys.readouterr().out.splitlines()
    turns = [line for line in lines if line[:4].strip().isdigit()]
    assert len(turns) == by_number[-1]["turns"] < len(lines) < len(turns) + 12
    for mistake, says in (
        (["--nth", "4001"], "no game number 4001 that"),
        (["--game", "3"], "--game cannot be combined with --lost-by"),
        (["--matchup", "nobody,random"], 'no bot "nobody"'),
    ):
        assert cli.run([*command, *mistake]) == 2
        assert says in capsys.readouterr().err
    assert cli.run(["watch", "--from", str(whole.folder), "--nth", "2"]) == 2
    assert "--nth goes only with --lost-by." in capsys.readouterr().err
