"""Tournaments that are extended: whatever is added, and in whichever order, the tables are those of one big run."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import pickosim
from pickosim import cli
from pickosim.amounts import LANES
from pickosim.errors import PickosimError
from pickosim.runs.folder import RunFolder
from pickosim.studies import schedule
from pickosim.studies.schedule import Earlier, matchup_chunks, matchup_lanes, round_robin
from pickosim.studies.tournament import game_of_run

BOTS = ["eager", "random", "threshold:target=23"]
MORE = "cautious"
"""Before all others by name."""

HANGS = 600


def begin(folder: Path | None, bots: list[str], games: int = 120, **options) -> pickosim.Results:
    options = {"chunk": 40, "workers": 1, "players": 2, "rules": "classic"} | options
    return pickosim.tournament(bots, games=games, seed=3, out=folder, **options)


def assert_same(results: pickosim.Results, whole: pickosim.Results) -> None:
    """All tables to the bit, and all that is said about them."""
    assert list(results.frames) == list(whole.frames)
    for name, table in whole.frames.items():
        assert_frame_equal(results.frames[name], table, check_exact=True)
    result = results.manifest["result"]
    remarks = [remark for remark in result["remarks"] if "optional stopping" not in remark]
    assert result | {"remarks": remarks} == whole.manifest["result"]
    assert results.manifest["title"] == whole.manifest["title"]


def games_in(folder: Path | None) -> pl.DataFrame:
    assert folder is not None
    return pl.read_parquet(folder / "games" / "*.parquet").sort("game", "rotation", "seat")


# -------------------------------------------------------------------------------------- equal to one big run


@pytest.mark.parametrize("players", [2, 3])
@pytest.mark.parametrize("focus", [None, "eager"])
def test_bots_and_games_can_be_added_in_any_order(tmp_path, players, focus):
    """And only what is missing is played."""
    options = {"players": players, "focus": focus}
    bots, extra = BOTS[:players], {"workers": 1, "chunk": 70}
    whole = begin(None, [*bots, MORE], 200, **options)
    began = begin(tmp_path / "began", bots, **options)

    both = pickosim.extend(began, [MORE], 200, out=tmp_path / "both", **extra)
    assert_same(both, whole)
    assert both.manifest["games_played"] == whole.games_played - began.games_played
    bot = pickosim.extend(began, [MORE], out=tmp_path / "bot", **extra)
    games = pickosim.extend(bot, games="200", out=tmp_path / "bot_games", **extra)
    assert_same(games, whole)
    assert games.manifest["games_played"] == whole.games_played - bot.games_played
    games = pickosim.extend(began.folder, games=200, out=tmp_path / "games", **extra)
    bot = pickosim.extend(games, MORE, out=tmp_path / "games_bot", **extra)
    assert_same(bot, whole)
    assert bot.manifest["games_played"] == whole.games_played - games.games_played


def test_copies_that_fill_seats_are_those_of_one_big_run(tmp_path):
    options = {"players": 4, "rules": "extrawurm"}
    began = begin(tmp_path / "began", ["eager", "thief"], 40, **options)
    names = [entrant["name"] for entrant in began.manifest["plan"]["entrants"]]
    assert names == ["eager", "eager#2", "thief", "thief#2"]
    assert "copies take the remaining seats (`eager#2`, `thief#2`)" in began.remarks[0]
    found = pickosim.extend(began, ["cautious"], out=tmp_path / "found", workers=1)
    assert_same(found, begin(None, ["eager", "thief", "cautious"], 40, **options))


def test_of_a_sample_of_matchups_the_sample_of_the_larger_field_is_played(tmp_path):
    few = {"players": 3, "max_matchups": 3}
    began = begin(tmp_path / "began", [*BOTS, "cautious"], 60, **few)
    found = pickosim.extend(began, ["late-worms"], 120, out=tmp_path / "found", workers=1)
    assert_same(found, begin(None, [*BOTS, "cautious", "late-worms"], 120, **few))


def test_saved_games_and_points_are_extended_too(tmp_path):
    options = {"save_games": True, "points": "3,1"}
    began = begin(tmp_path / "began", BOTS, **options)
    before = {path: path.read_bytes() for path in began.folder.rglob("*") if path.is_file()}
    found = pickosim.extend(began, [MORE], 200, out=tmp_path / "found", workers=1)
    whole = begin(tmp_path / "whole", [*BOTS, MORE], 200, **options)
    assert_same(found, whole)
    assert_frame_equal(games_in(found.folder), games_in(whole.folder), check_exact=True)
    assert {path: path.read_bytes() for path in before} == before, "the old run is left as it is"
    shutil.rmtree(began.folder)
    assert RunFolder(found.folder).damaged(found.manifest) == [], "and can be deleted"
    game = games_in(found.folder).filter(pl.col("bot") == MORE).row(8, named=True)
    match = game_of_run(found.folder, game["game"], game["rotation"]).match
    trace = pickosim.watch(list(match.specs), match.rules, match.seed, game["game"])
    assert trace[-1]["scores"][game["seat"]] == game["score"]


def test_the_manifest_says_what_was_extended(tmp_path):
    began = begin(tmp_path / "began", BOTS, 60)
    found = pickosim.extend(began, games=120, workers=1)
    assert found.folder.parent == began.folder.parent
    assert found.manifest["extends"] == {
        "folder": str(began.folder.resolve()),
        "run": began.manifest["run"],
    }
    assert found.manifest["plan"]["earlier"] == [{"bots": BOTS, "blocks": 30, "chunk": 40}]
    stored = pickosim.load_results(found.folder)
    assert stored.manifest["result"] == found.manifest["result"]
    assert list(stored.frames) == list(found.frames)
    assert any("optional stopping" in remark for remark in stored.remarks)


# ----------------------------------------------------------------------------------------------- the lanes


def test_a_matchup_has_the_same_lane_in_every_field():
    small, large = (round_robin(sorted(bots), 3)[0] for bots in (BOTS, [*BOTS, MORE, "late-worms"]))
    lanes = dict(zip(large, matchup_lanes(large), strict=True))
    assert matchup_lanes(small) == [lanes[matchup] for matchup in small]
    focused = round_robin(sorted([*BOTS, MORE]), 3, focus="random")[0]
    assert matchup_lanes(focused) == [lanes[tuple(sorted(matchup))] for matchup in focused]
    assert matchup_lanes([("eager", "random")]) == [106146], "published games would change"


def test_matchups_never_share_a_lane(monkeypatch):
    matchups = round_robin([f"bot{k}" for k in range(100)], 2, most=10_000)[0]
    assert len(set(matchup_lanes(matchups))) == len(matchups) == 4950
    monkeypatch.setattr(schedule, "LANES", 7)
    lanes = matchup_lanes(matchups[:7])
    assert sorted(lanes) == list(range(7))
    with pytest.raises(PickosimError, match="more matchups than game numbers"):
        matchup_lanes(matchups[:8])


def test_a_matchup_whose_lane_changes_is_played_again(tmp_path, monkeypatch):
    """Names may lead to the same lane: then the result is still that of one big run."""
    monkeypatch.setattr(schedule, "LANES", 7)
    began = begin(tmp_path / "began", BOTS, 60)
    found = pickosim.extend(began, [MORE], out=tmp_path / "found", workers=1)
    assert_same(found, begin(None, [*BOTS, MORE], 60))
    assert found.manifest["games_played"] == 4 * 60, "three matchups are new, one has another lane"


def test_lanes_end_before_the_last_game():
    assert schedule.lane(LANES - 1) + 10**12 <= pickosim.amounts.LAST_GAME
    with pytest.raises(PickosimError, match="more matchups than game numbers"):
        schedule.lane(LANES)


def test_chunks_of_earlier_runs_stay_as_they_were_cut():
    first = Earlier(("a", "b"), 10, 4)
    second = Earlier(("a", "b", "c"), 20, 5)
    cut = list(matchup_chunks(("a", "b"), range(30), 9, [first, second]))
    assert cut == [
        *[range(3), range(3, 6), range(6, 10)],
        *[range(10, 15), range(15, 20)],
        *[range(20, 25), range(25, 30)],
    ]
    assert next(matchup_chunks(("a", "c"), range(30), 9, [first, second])) == range(5)
    assert next(matchup_chunks(("a", "d"), range(30), 9, [first, second])) == range(7)


# ------------------------------------------------------------------------------------------- interruptions

SCRIPT = """
import os, signal, sys, pickosim, pickosim.runs.folder as folder
keep, left = folder.RunFolder._keep_sums, [{after}]
def keep_some(self, *args):
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    left[0] -= 1
    keep(self, *args)
folder.RunFolder._keep_sums = keep_some
pickosim.extend({began!r}, [{more!r}], 200, out={out!r}, workers=1, chunk=70)
"""


@pytest.mark.parametrize("after", [4, 8])
def test_a_killed_extension_can_be_resumed(tmp_path, after):
    """While chunks are taken over, and while the rest is played."""
    began = begin(tmp_path / "began", BOTS, save_games=True)
    out = tmp_path / "out"
    code = SCRIPT.format(after=after, began=str(began.folder), more=MORE, out=str(out))
    killed = subprocess.run([sys.executable, "-c", code], timeout=HANGS, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert len(list((out / "sums").glob("[0-9]*"))) == after
    assert RunFolder(out).manifest()["status"] == "running"
    found = pickosim.resume(out, workers=1)
    whole = begin(tmp_path / "whole", [*BOTS, MORE], 200, save_games=True)
    assert_same(found, whole)
    assert_frame_equal(games_in(out), games_in(whole.folder), check_exact=True)
    assert found.manifest["games_played"] <= whole.games_played - began.games_played


def test_what_is_missing_or_damaged_in_the_old_run_is_played_again(tmp_path):
    began = begin(tmp_path / "began", BOTS)
    shards = sorted((began.folder / "sums").glob("[0-9]*"))
    shards[0].write_bytes(b"damaged")
    shards[1].unlink()
    found = pickosim.extend(began, [MORE], out=tmp_path / "found", workers=1)
    assert_same(found, begin(None, [*BOTS, MORE]))


# ------------------------------------------------------------------------------------------- what is refused


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> pickosim.Results:
    return begin(tmp_path_factory.mktemp("small") / "run", BOTS, 60)


@pytest.mark.parametrize(
    ("bots", "games", "said"),
    [
        ([], None, "Name bots to add, or a larger number of games per matchup."),
        (["eager"], None, "`eager` is in the run already."),
        ([MORE, MORE], None, "`cautious` is named twice."),
        ([], 60, "The run has 60 games per matchup already; ask for more, not for 60."),
        ([MORE], 40, "The run has 60 games per matchup already; ask for more, not for 40."),
        (["eagre"], None, "eager"),
        ([], "many", "whole number above 0"),
    ],
)
def test_what_cannot_be_added_is_refused(small, bots, games, said):
    beside = set(small.folder.parent.iterdir())
    with pytest.raises(PickosimError, match=said):
        pickosim.extend(small, bots, games)
    assert set(small.folder.parent.iterdir()) == beside


def test_only_finished_tournaments_of_a_fixed_size_are_extended(tmp_path, small):
    with pytest.raises(PickosimError, match="is not a run folder"):
        pickosim.extend(tmp_path, [MORE])
    other = pickosim.compare(["classic", "extrawurm"], ["eager"], games=20, out=tmp_path / "other")
    with pytest.raises(PickosimError, match="other is a compare; only a tournament"):
        pickosim.extend(other, [MORE])
    for rule in ({"precision": "20%"}, {"sprt": "0,20%"}):
        stops = begin(tmp_path / "-".join(rule), ["eager", "random"], 600, **rule)
        with pytest.raises(PickosimError, match="--precision or --sprt cannot be extended"):
            pickosim.extend(stops, [MORE])
    with pytest.raises(PickosimError, match="play it with out="):
        pickosim.extend(begin(None, BOTS, 20), [MORE])
    unfinished = tmp_path / "unfinished"
    shutil.copytree(small.folder, unfinished)
    shutil.copy(unfinished / "plan.json", unfinished / "manifest.json")
    with pytest.raises(PickosimError, match=r"is not finished\. To resume it: pickosim resume"):
        pickosim.extend(unfinished, [MORE])


def test_a_changed_bot_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = "from pickosim.strategies.eager import Eager\nclass Mine(Eager):\n    pass\n"
    Path("mine.py").write_text(source, encoding="utf-8")
    began = begin(Path("began"), ["mine.py", "random"], 20)
    Path("mine.py").write_text(source + "# changed\n", encoding="utf-8")
    with pytest.raises(PickosimError, match=r"mine.py has changed since the run began"):
        pickosim.extend(began, [MORE])


def test_the_command_line_extends(tmp_path, monkeypatch, capsys, small):
    monkeypatch.chdir(tmp_path)
    given = ["extend", str(small.folder), MORE, "--games", "120", "--out", "more", "--workers", "1"]
    assert cli.run([*given, "--json"]) == 0
    printed = capsys.readouterr()
    shown = json.loads(printed.out)
    assert len(shown["standings"]) == 4
    assert "optional stopping" in shown["manifest"]["result"]["remarks"][-1]
    assert shown["manifest"]["command"] == f"pickosim {' '.join(given)} --json"
    assert f"Reusing 180 games from {small.folder}; 540 to play." in printed.err
    assert cli.run(["extend", str(small.folder)]) == 2
    assert "Name bots to add" in capsys.readouterr().err
