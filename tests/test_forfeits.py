"""Bots that fail in single games of a tournament: they lose those, and all other games are as they were."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import pickosim
from pickosim.cli import run
from pickosim.engine.rulebook import rulebook
from pickosim.engine.tally import new_tally, place_last
from pickosim.errors import PickosimError
from pickosim.games.batch import play_games
from pickosim.games.match import make_match
from pickosim.rule_files import load_rules
from pickosim.runs.run import RunStoppedError

NEVER = 9999
"""A turn that no game reaches, and what stands in the bots below."""

EAGER = """
from pickosim.strategies.eager import Eager

class Late(Eager):
    def pick(self, turn):
        answers = super().pick(turn)
        PICK
        return answers

    def stop(self, turn):
        answers = super().stop(turn)
        STOP
        return answers
"""

FAILING = "if (turn.number >= 9999).any(): "

BOTS = {
    "raises in pick": EAGER.replace("PICK", f"{FAILING}raise ValueError('late')"),
    "raises in stop": EAGER.replace("STOP", f"{FAILING}raise ValueError('late')"),
    "illegal face": EAGER.replace(
        "PICK", "answers = answers.astype(int); answers[turn.number >= 9999] = 7"
    ),
    "too few": EAGER.replace("PICK", f"{FAILING}answers = answers[1:]"),
    "simple": """
from pickosim import SimpleStrategy

class Late(SimpleStrategy):
    def pick(self, turn):
        if turn.number >= 9999:
            raise ValueError("late")
        return max(turn.legal, key=lambda face: (turn.counts[face] * min(face, 5), face))

    def stop(self, turn):
        return turn.can_claim
""",
    "valuation": """
from pickosim.strategies.expected import Expected

class Late(Expected):
    def value(self, after):
        if (after.turn.number >= 9999).any():
            raise ValueError("late")
        return super().value(after)
""",
    "program": """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print(json.dumps({"protocol": 1, "name": "late", "fields": ["number", "legal", "can_claim", "counts"]}))
    elif message["type"] == "ask" and max(message["number"]) >= 9999:
        sys.exit(3)
    elif message.get("method") == "stop":
        print(json.dumps({"answers": message["can_claim"]}))
    elif message["type"] == "ask":
        games = zip(message["legal"], message["counts"])
        print(json.dumps({"answers": [
            max(legal, key=lambda face: (counts[face] * min(face, 5), face)) for legal, counts in games
        ]}))
    sys.stdout.flush()
""",
}


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def late_bot(kind: str, limit: int) -> str:
    """The spec of a bot that fails from that turn on; it does not name the turn, as the dice depend on it."""
    text = BOTS[kind].replace("PICK", "").replace("STOP", "").replace(str(NEVER), str(limit))
    Path("late.py").write_text(text, encoding="utf-8")
    return f"cmd:{shlex.quote(sys.executable)} late.py" if kind == "program" else "late.py"


def play(late: str, out: str, games: int = 120, **options) -> pickosim.Results:
    options = {"workers": 1, "chunk": 40, "save_games": True, "seed": 5} | options
    return pickosim.tournament([late, "eager", "random"], games=games, out=out, **options)


def games_in(out: str) -> pl.DataFrame:
    order = ["matchup", "game", "rotation", "seat"]
    return pl.read_parquet(Path(out) / "games" / "*.parquet").sort(order)


def last_move() -> pl.Expr:
    """The last turn of a player in its game of two."""
    return pl.col("turns") - (pl.col("turns") - 1 - pl.col("seat")) % 2


@pytest.mark.parametrize("kind", BOTS)
def test_a_bot_that_fails_loses_that_game_and_nothing_else_changes(kind):
    late = late_bot(kind, NEVER)
    sound = play(late, "sound")
    limit = games_in("sound").filter(bot=late).select(last_move().max()).item()
    late_bot(kind, limit)
    found = play(late, "found")

    fails = (pl.col("bot") == late) & (last_move() >= limit)
    games = games_in("sound").with_columns(
        fails.any().over("matchup", "game", "rotation").alias("failed")
    )
    failed = games.filter(fails).height
    assert 1 <= failed <= 3
    assert dict(found.standings["bot", "forfeits"].iter_rows()) == {
        late: failed,
        "eager": 0,
        "random": 0,
    }

    after = games_in("found")
    as_before = pl.Series(~games["failed"])
    assert_frame_equal(after.filter(as_before), games.drop("failed").filter(as_before))
    lost = after.filter(~as_before)
    assert lost.filter(bot=late)["rank"].to_list() == [2] * failed
    assert lost.filter(pl.col("bot") != late)["win_share"].to_list() == [1] * failed
    if kind != "valuation":  # the others play like eager, which plays on for them
        same = pl.exclude("rank", "win_share", "failed")
        assert_frame_equal(lost.select(same), games.filter("failed").select(same))

    (warning,) = found.warnings
    assert warning.startswith(
        f"`{late}` failed in {failed} of 240 games, which it loses. The first: "
    )
    assert re.search(r"To see that game: pickosim watch .*late\.py.* --game \d+", warning)
    if kind != "program":
        assert "late.py, line" in warning or "returned" in warning
    assert not sound.warnings


@pytest.mark.parametrize("kind", ["raises in pick", "illegal face", "simple", "valuation"])
def test_neither_workers_nor_chunks_nor_interruptions_change_forfeits(kind, only_workers):
    play(late_bot(kind, NEVER), "sound")
    last = games_in("sound").filter(bot="late.py").select(last_move()).to_series()
    late = late_bot(kind, last.sort()[-8])
    whole = play(late, "whole")
    assert whole.standings["forfeits"].sum() >= 8
    for out, options in {"two": {"workers": 2}, "large": {"chunk": 1000}}.items():
        other = play(late, out, **options)
        assert other.manifest["result"] == whole.manifest["result"]
        for name, table in whole.frames.items():
            assert_frame_equal(other.frames[name], table)
    shutil.copy("two/plan.json", "two/manifest.json")
    for shard in sorted(Path("two/sums").iterdir())[::2]:
        shard.unlink()
    again = pickosim.resume("two", workers=1)
    assert again.manifest["result"] == whole.manifest["result"]
    for name, table in whole.frames.items():
        assert_frame_equal(again.frames[name], table)


@pytest.mark.parametrize("kind", ["raises in pick", "illegal face", "valuation"])
@pytest.mark.parametrize(("rules", "limit"), [("classic", 48), ("extrawurm", 72)])
def test_forfeits_do_not_depend_on_the_batch(kind, rules, limit):
    match = make_match([late_bot(kind, limit), "eager", "random"], rules)
    match = replace(match, forfeits=True, audited=True)
    tallies = [play_games(match, 0, 60, batch=batch) for batch in (1, 7, 60)]
    assert tallies[0].forfeits.any()
    for tally in tallies[1:]:
        for one, other in zip(tally, tallies[0], strict=True):
            np.testing.assert_array_equal(one, other)


def test_those_who_forfeit_share_the_last_place():
    tally = new_tally(rulebook(load_rules("classic"), 4), 4)
    tally.rank[:] = [[1, 2, 3, 4], [1, 1, 3, 4], [2, 1, 3, 4], [1, 2, 2, 4]]
    tally.forfeits[:] = [[1, 0, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0], [1, 1, 1, 1]]
    place_last(tally)
    assert tally.rank.tolist() == [[4, 1, 2, 3], [3, 1, 3, 2], [2, 1, 3, 4], [1, 1, 1, 1]]


def test_a_bot_that_fails_too_often_ends_the_run_and_the_others_play_on(capsys):
    late = late_bot("raises in pick", 31)
    bots = [late, "eager", "random", "cautious"]
    options = ["--games", "120", "--workers", "1", "--seed", "5"]
    assert run(["tournament", *bots, *options, "--out", "run"]) == 2
    said = capsys.readouterr().err
    assert re.search(r"`late.py` failed in \d+ of 120 games against `\w+`; more than 10%", said)
    assert "raised ValueError: late (late.py, line 7" in said
    assert "To play on without it: pickosim extend run --without late.py" in said

    Path("late.py").write_text("now it is another one", encoding="utf-8")
    shards = {path.name for path in Path("run/sums").iterdir()}
    assert run(["extend", "run", "--without", "late.py", "--out", "left", "--workers", "1"]) == 0
    assert {path.name for path in Path("left/sums").iterdir()} < shards
    assert pickosim.load_results("left").manifest["games_played"] == 0
    left, right = pickosim.load_results("left"), play_others(bots[1:])
    assert left.manifest["result"] == right.manifest["result"]
    for name, table in right.frames.items():
        assert_frame_equal(left.frames[name], table)


def play_others(bots: list[str]) -> pickosim.Results:
    return pickosim.tournament(bots, games=120, seed=5, workers=1)


@pytest.mark.parametrize("how", [{"on_error": "stop"}, {"bots": ["late.py", "eager"]}])
def test_where_bots_do_not_forfeit_the_first_failure_ends_the_run(how):
    """By default with two bots."""
    late = late_bot("raises in pick", 20)
    options = {"bots": [late, "eager", "random"], "games": 120, "workers": 1, "seed": 5} | how
    with pytest.raises(RunStoppedError, match="raised ValueError: late"):
        pickosim.tournament(**options)


@pytest.mark.parametrize(
    ("failing", "said"),
    [
        ("if len(turn) > 10: raise ValueError('many')", "only when asked about .* games at once"),
        ("import time; time.sleep(60 * (turn.number > 30).any())", "has not answered within 2 sec"),
        ("raise ValueError('always')", "raised ValueError: always"),
    ],
)
def test_what_is_not_the_fault_of_single_games_ends_the_run(failing, said):
    """Nor does a bot that always fails play to the end."""
    Path("late.py").write_text(EAGER.replace("PICK", failing).replace("STOP", ""), encoding="utf-8")
    with pytest.raises(RunStoppedError, match=f"(?s){said}.*extend run --without late.py"):
        play("late.py", "run", answer_seconds=2)


def test_a_run_goes_on_without_a_bot_by_any_stopping_rule():
    bots = ["eager", "random", "cautious"]
    options = {"precision": "3%", "games": 2000, "seed": 5, "workers": 1, "chunk": 50}
    pickosim.tournament(bots, out="run", **options)
    left = pickosim.extend("run", without="cautious", workers=1)
    whole = pickosim.tournament(bots[:2], **options)
    assert left.manifest["result"] == whole.manifest["result"]
    assert_frame_equal(left.standings, whole.standings)


@pytest.mark.parametrize(
    ("without", "said"),
    [
        ("egaer", 'did you mean "eager"'),
        ("eager,random", "No bot is left"),
        ("eager", "needs 2 bots, and only 1"),
    ],
)
def test_bots_that_cannot_be_left_out(without, said):
    pickosim.tournament(["eager", "random"], games=20, out="run", workers=1)
    with pytest.raises(PickosimError, match=said):
        pickosim.extend("run", without=without)


@pytest.mark.parametrize(
    "line",
    [
        ["tune", "late.py:x=1..2", "--against", "eager,random", "--games", "80"],
        ["analyse", "late.py", "--games", "40"],
        ["rank", "late.py", "--games", "40"],
        ["compare", "classic", "french", "--bots", "late.py", "--games", "40"],
        ["train", "--against", "late.py", "--games", "40", "--rounds", "1", "--test-games", "40"],
    ],
    ids=lambda line: line[0],
)
def test_other_studies_end_with_the_place_and_a_command_that_shows_the_game(line, capsys):
    """Nets of a training are in no file: they are kept."""
    text = EAGER.replace("PICK", f"{FAILING}raise ValueError('late')").replace("STOP", "")
    text = text.replace("Eager):\n", "Eager):\n    x: int = 1\n").replace(str(NEVER), "30")
    Path("late.py").write_text(text, encoding="utf-8")
    out = "late.npz" if line[0] == "train" else "late.run"
    assert run([*line, "--workers", "1", "--out", out]) == 2
    said = capsys.readouterr().err
    where = "raised ValueError: late (late.py, line 8: if (turn.number >= 30).any()"
    assert where in said
    if nets := re.search(r"The nets of that game: cp (\S+) \.", said):
        for net in Path().glob(nets[1]):
            shutil.copy(net, net.name)
    assert bool(nets) == (line[0] == "train")
    command = re.search(r"To see that game: pickosim (.*)", said)
    assert command
    game = re.search(r"game \d+, turn \d+, seat \d", said)
    assert run(shlex.split(command[1])) == 2
    again = capsys.readouterr().err
    assert where in again
    assert game
    assert game[0] in again
