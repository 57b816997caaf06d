"""Positions: taken from games, written by hand, played on, and branched."""

from __future__ import annotations

import json
import shlex

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import pickosim
from pickosim import cli
from pickosim.engine.table import first_fault
from pickosim.errors import PickosimError
from pickosim.games.batch import Batch
from pickosim.games.match import make_match
from pickosim.games.positions import (
    POSITIONS,
    position_line,
    read_positions,
    read_tables,
    take_positions,
)
from pickosim.rule_files import PRESETS, complete_rules, load_rules
from pickosim.rules import face_name

BOTS = ["eager", "random", "expected"]
RULES = ["classic", "extrawurm", "manual-extrawurm", "french"]
SEED = 11


def whole(rules, games=40, first=0):
    return pickosim.play(BOTS, rules, games, SEED, first)


def of_games(frame: pl.DataFrame, numbers: list[int]) -> pl.DataFrame:
    """The rows of some games, in the order of these."""
    wanted = pl.DataFrame({"game": numbers})
    return wanted.join(frame, on="game", how="left", maintain_order="left_right")


@pytest.mark.parametrize("rules", RULES)
def test_games_played_on_end_like_the_whole_games(rules):
    """Before every turn of every game, all in one batch: the same results to the bit, counts included."""
    played = whole(rules, games=12)
    start = pickosim.positions(BOTS, rules, 12, SEED)
    assert start.schema == POSITIONS.schema
    assert start["turn"].to_list() == [
        turn for turns in played.games["turns"] for turn in range(1, turns + 1)
    ]
    numbers = start["game"].to_list()
    on = pickosim.play(BOTS, start=start)
    assert_frame_equal(on.games, of_games(played.games, numbers))
    for name in ("seats", "specialists"):
        again, rows = getattr(on, name), getattr(played, name)
        per_game = rows.height // 12
        index = np.concatenate([np.arange(n * per_game, (n + 1) * per_game) for n in numbers])
        assert_frame_equal(again, rows[index])


def test_a_small_batch_and_games_at_different_seats_change_nothing():
    match = make_match(BOTS, "extrawurm", SEED)
    start = take_positions(match, 5, 6, None)
    many = start.match(BOTS)
    together = Batch(many, 0, len(start), start=start.table).play()
    few = Batch(many, 0, len(start), start=start.table, batch=17, check=True).play()
    for one, other in zip(together, few, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("rules", RULES)
def test_a_position_survives_json_and_its_trace_goes_on(rules):
    trace = pickosim.watch(BOTS, rules, SEED, 3)
    for turn in (1, 2, 6):
        place = pickosim.position(BOTS, rules, SEED, 3, turn=turn)
        opening, told, *events = pickosim.watch(BOTS, start=json.loads(json.dumps(place)))
        assert opening == trace[0]
        assert told["event"] == "position"
        later = [event for event in trace[1:] if event.get("turn", turn) >= turn]
        assert events == later


def test_what_was_taken_is_sound():
    start = pickosim.positions(BOTS, "extrawurm", 25, SEED, turn=9)
    found = read_positions(start)
    rows = np.arange(len(found), dtype=np.int32)
    assert first_fault(found.match(BOTS).books, found.table, rows) == -1
    assert found.frame.equals(start)


def test_the_opening_can_be_written_by_hand():
    rules = load_rules("extrawurm")
    written = {
        "rules": "extrawurm",
        "players": 3,
        "specialists": rules.as_dict()["specialists"],
        "seed": SEED,
        "game": 4,
    }
    on = pickosim.play(BOTS, start=written)
    assert_frame_equal(on.seats, whole(rules, 1, 4).seats)
    assert_frame_equal(on.specialists, whole(rules, 1, 4).specialists)


def test_a_position_written_by_hand_is_played_as_it_stands():
    """One tile is left and both players have bratworms and stacks: the next claim ends the game."""
    written = {
        "rules": "extrawurm",
        "tiles": [[21, 30], [25]],
        "grill": [22],
        "specialists": {"apple": {"seat": 0}},
        "bratworms": [2, 1],
        "seat": 1,
    }
    opening, told, *events = pickosim.watch(["eager", "eager"], start=written)
    assert told["turn"] == 2 and told["seat"] == 1
    assert 36 in told["flipped"] and told["supply"] == load_rules("extrawurm").bratworms - 3
    assert events[0]["seat"] == 1
    end = events[-1]
    assert sum(map(len, end["tiles"])) <= 4
    assert sum(end["bratworms"]) <= opening["bratworms"]


def test_a_description_can_have_the_dice_of_a_turn_under_way():
    """They are those of the seat on turn: only the holder of the golden die rolls it."""
    table = {"rules": "extrawurm", "players": 2, "specialists": {"golden-die": {"seat": 1}}}
    turn = {"aside": ["worm", 4, "+4"], "roll": [1, 1, 3, 3, 5, 5]}
    (dice,) = read_tables([{**table, **turn, "seat": 1}]).dice
    assert dice is not None and dice.all_aside == (6, 4, 4)
    assert (dice.golden, dice.golden_aside, dice.golden_roll) == (True, 4, 0)
    with pytest.raises(PickosimError, match="golden die, which is not used in this turn"):
        read_tables([{**table, **turn, "seat": 0}])
    assert read_tables([table]).dice == (None,)


def test_a_branch_has_the_same_dice_and_one_thing_changed():
    place = pickosim.position(["eager"] * 2, "extrawurm", SEED, 0, turn=8)
    gone = next(name for name, where in place["specialists"].items() if isinstance(where, dict))
    others = {name: where for name, where in place["specialists"].items() if name != gone}
    branch = {**place, "specialists": others}
    ours, theirs = (pickosim.watch(["eager"] * 2, start=one) for one in (place, branch))
    assert ours[2]["dice"] == theirs[2]["dice"]
    same = pickosim.play(["eager"] * 2, start=[place, place, branch])
    assert same.games.rows()[0] == same.games.rows()[1]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"grill": [21, 22, 40]},
            'grill: the rules "extrawurm" have no tile 40, only 11, 13, 21-36.',
        ),
        ({"grill": [21, 22], "tiles": [[22], []]}, "tile 22 cannot be both on the stack of seat 0"),
        ({"grill": [21], "flipped": [22]}, "is nowhere"),
        ({"grill": [21, 22, 21]}, "grill: tile 21 is named twice"),
        ({"grill": ["21"]}, "have no tile '21'"),
        ({"grill": [], "flipped": None}, "flipped must be a list"),
        ({"grill": []}, "the grill is empty"),
        ({"tiles": [[21]]}, "tiles must have one entry per seat, 2 and not 1"),
        ({"bratworms": [3, 3], "supply": 9}, 'but the rules "extrawurm" have'),
        ({"bratworms": [-1, 0]}, "bratworms must be a whole number from 0"),
        ({"specialists": {"aple": 21}}, 'did you mean "apple"'),
        ({"specialists": {"apple": 21}, "rules": "classic"}, "have no apple (specialists: none"),
        ({"specialists": {"raven": {"seat": 0}}}, "no player can hold the raven"),
        ({"specialists": {"apple": {"seat": 2}}}, "from 0 to 1, not 2"),
        ({"specialists": {"apple": 21, "weasel": 21}}, "apple and weasel cannot be in the same"),
        ({"specialists": {"apple": {"seat": 1}, "weasel": {"seat": 1}}}, "cannot be in the same"),
        ({"specialists": {"apple": 21}, "tiles": [[21], []]}, "which is not on the grill"),
        ({"specialists": {"apple": "21"}}, "must be a tile or a seat"),
        ({"turn": 3, "seat": 1}, "turn 3 of 2 players is that of seat 0, not of seat 1"),
        ({"turn": 0}, "turn must be a whole number from 1"),
        ({"players": 9}, "players can play"),
        ({"players": "eager"}, "players must be the bots by seat"),
        ({"rules": "extrawurst"}, 'did you mean "extrawurm"'),
        ({"grils": [21]}, 'did you mean "grill"'),
        ({"seed": -1}, "seed must be a whole number from 0"),
        ({"so_far": {"rols": 3}}, 'so_far has no "rols"'),
        ({"so_far": {"used": {"aple": [0, 0]}}}, "so_far.used: there is no specialist named"),
        ({"so_far": {"used": 3}}, "so_far.used must be an object"),
        ({"aside": ["worm"]}, "This position is in mid-turn, and games are played on from the"),
        ({"specialists": {"weasel": {"seat": 0}}, "weasel_used": 1}, "must be true or false"),
        ({"so_far": {"steals": 1 << 31}}, "so_far.steals must be a whole number from 0 to 1000000"),
        (
            {"so_far": {"used": {"weasel": [2, 0]}}},
            "so_far.used must be a whole number from 0 to 1",
        ),
        ({"rules": "{"}, "rules is not JSON"),
        ({"rules": "{" + "[" * 200_000}, "rules is not JSON"),
    ],
)
def test_what_cannot_be_on_a_table_is_refused_in_a_sentence(changes, words):
    written = {"rules": "extrawurm", "players": ["eager", "eager"], **changes}
    with pytest.raises(PickosimError) as error:
        pickosim.play(["eager", "eager"], start=written)
    assert words in str(error.value)
    assert str(error.value).count("\n") == 0


@st.composite
def described(draw):
    """Any table, between turns or in mid-turn, as an object."""
    preset = draw(st.sampled_from(PRESETS))
    rules = load_rules(
        preset, draw(st.sampled_from([(), ("dice=7", "specialists.apple={seat=1}")]))
    )
    seats = draw(st.integers(2, 4))
    where = {tile: draw(st.integers(-2, seats - 1)) for tile in rules.tiles}
    grill = [tile for tile, seat in where.items() if seat == -2] or [min(where)]
    stacks = [
        [t for t, s in where.items() if s == seat and t not in grill] for seat in range(seats)
    ]
    free = draw(st.permutations([*grill, *({"seat": seat} for seat in range(seats))]))
    names = [name for name in rules.specialists if draw(st.booleans())]
    places = {
        n: place for n, place in zip(names, free, strict=False) if (n, place) != ("raven", place)
    }
    bratworms = [draw(st.integers(0, rules.bratworms // seats)) for _ in range(seats)]
    turn = draw(st.integers(1, 300))
    seat = (turn - 1) % seats
    numbers = {
        "turn": turn,
        "seat": seat,
        "seed": draw(st.integers(0, 2**64 - 1)),
        "game": draw(st.integers(0, 99)),
    }
    table = {"rules": rules.as_dict(), "players": seats, "grill": grill, "tiles": stacks,
             "specialists": places, "bratworms": bratworms, **numbers}  # fmt: skip
    if not draw(st.booleans()):
        return table
    held = [name for name, place in places.items() if place == {"seat": seat}]
    faces = st.sampled_from(["1", "2", "3", "4", "5", "worm"])
    aside = draw(st.lists(faces.filter(lambda face: face != "1"), max_size=rules.dice - 1))
    dice = {"aside": aside, "roll": [draw(faces) for _ in range(rules.dice - len(aside))]}
    if held == ["golden-die"]:
        golden = face_name(rules.golden_die_faces[0])
        in_turn = [{"golden": golden}, {"golden": "unused"}, {"aside": [*aside, f"+{golden}"]}]
        dice |= draw(st.sampled_from(in_turn))
    if held == ["weasel"]:
        dice["weasel_used"] = draw(st.booleans())
    return table | dice


@given(described())
def test_a_position_survives_its_line(table):
    """Only who plays and what was counted are not in it, nor what the rules are called."""
    (place,) = read_tables(table).objects
    line = position_line(table)
    (again,) = read_tables(line).objects
    assert position_line(again) == line and "\n" not in line
    assert position_line(line.replace(" ", "\n      ")) == line  # copied from a terminal
    rules, others = place.pop("rules"), again.pop("rules")
    named = rules if isinstance(rules, dict) else load_rules(rules).as_dict()
    assert load_rules("classic").with_options(named).with_options({"name": "x", "title": "x"}) == (
        load_rules(others) if isinstance(others, str) else complete_rules(others)
    ).with_options({"name": "x", "title": "x"})
    for fields in (place, again):
        fields["players"], fields["so_far"] = len(fields["players"]), {}
    assert place == again


def test_a_line_is_played_on_like_the_position():
    place = pickosim.position(BOTS, "extrawurm", SEED, 3, turn=6)
    line = pickosim.position_line(place)
    assert line.endswith(f"; turn 6; seed {SEED}; game 3")
    ours, theirs = (pickosim.watch(BOTS, start=start) for start in (place, line))
    assert ours[2:-1] == theirs[2:-1]
    assert pickosim.play(BOTS, start=[line, place]).seats["score"].to_list() == [
        score for seat in ours[-1:] for score in seat["scores"] * 2
    ]


def test_watch_why_prints_the_line_of_each_turn(capsys):
    """Any of them can be looked up and played on."""
    game = ["watch", "expected", "eager", "--rules", "extrawurm", "--seed", "5", "--game", "2"]
    assert cli.run([*game, "--why"]) == 0
    told = capsys.readouterr().out.splitlines()
    begins = [number for number, line in enumerate(told) if line.startswith("Turn ")]
    starts = pickosim.positions(["expected", "eager"], "extrawurm", 3, 5)
    lines = read_positions(starts.filter(pl.col("game") == 2)).lines
    assert [told[begin + 1].strip() for begin in begins] == list(lines)
    line = told[begins[7] + 1].strip()
    assert cli.run(["watch", "expected", "eager", "--from-position", line, "--why"]) == 0
    assert capsys.readouterr().out.splitlines()[-20:] == told[-20:]


def test_a_position_in_mid_turn_is_not_played_on(capsys):
    line = "22-28,31 24.30/33 1 aside ww44"
    assert cli.run(["watch", "eager", "eager", "--from-position", line]) == 2
    said = capsys.readouterr().err
    assert "This position is in mid-turn" in said and said.count("\n") == 1


def test_other_mistakes_are_refused():
    place = pickosim.position(["eager"] * 2, "extrawurm", SEED, 0, turn=3)
    for call, words in (
        (lambda: pickosim.play(["eager"] * 3, start=place), "need 2 bots, not 3"),
        (lambda: pickosim.play(["eager"] * 2, games=7, start=place), "games cannot be given"),
        (lambda: pickosim.play(["eager"] * 2, start=[]), "no positions to play on"),
        (lambda: pickosim.play(["eager"] * 2, start=[place, {**place, "turn": -4}]), "Position 1:"),
        (
            lambda: pickosim.play(["eager"] * 2, start=[place, {"rules": "classic", "players": 2}]),
            "the same rules",
        ),
        (lambda: pickosim.position(["eager"] * 2, turn=5000), "The game is over after turn"),
        (lambda: pickosim.positions(["eager"] * 2, turn=0), "there is no turn 0"),
    ):
        with pytest.raises(PickosimError, match=words):
            call()


def test_the_command_line_takes_a_position_and_plays_it_on(tmp_path, capsys):
    game = ["watch", *BOTS, "--rules", "extrawurm", "--seed", "5", "--game", "2"]
    assert cli.run([*game, "--position-at", "10"]) == 0
    file = tmp_path / "position.json"
    file.write_text(capsys.readouterr().out)
    assert cli.run(game) == 0
    told = capsys.readouterr().out
    assert cli.run(["watch", "--from-position", str(file)]) == 0
    again = capsys.readouterr().out
    assert again.startswith("Game 2 of seed 5, rules extrawurm\nPlayed on from turn 10\n")
    assert again.partition("Turn 10:")[2] == told.partition("Turn 10:")[2] != ""
    assert cli.run(["watch", "--from-position", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[1])["event"] == "position"
    for wrong, words in (
        (["--from-position", str(file), "--seed", "3"], "the position has its own"),
        (["--from-position", str(tmp_path / "none.json")], "cannot be read"),
        (["--from-position", str(file), "--position-at", "3"], "not both"),
        ([*game[1:], "--position-at", "999"], "The game is over after turn"),
    ):
        assert cli.run(["watch", *wrong]) == 2
        assert words in capsys.readouterr().err
    file.write_text("[" * 200_000)
    assert cli.run(["watch", "--from-position", str(file)]) == 2
    assert "is not a position in JSON" in capsys.readouterr().err
    file.write_text('{"players": 2}')
    assert cli.run(["watch", "--from-position", str(file)]) == 2
    assert "does not say who plays" in capsys.readouterr().err


STRANGER = """\
from pathlib import Path
Path({trace!r}).touch()
from pickosim import POINTS, Strategy

class Stranger(Strategy):
    def pick(self, turn): return turn.best(turn.counts * POINTS)
    def stop(self, turn): return turn.can_claim
"""


@pytest.mark.parametrize(
    "bot", ["cmd:sh -c 'touch {trace}'", "{file}", "{file}:Stranger:x=1", "cmd:", "nobody", "all"]
)
def test_a_position_runs_nothing_but_built_in_bots(bot, tmp_path, capsys):
    file, trace, place = tmp_path / "bot.py", tmp_path / "was_here", tmp_path / "evil.json"
    file.write_text(STRANGER.format(trace=str(trace)))
    bot = bot.format(trace=trace, file=file)
    place.write_text(json.dumps({"players": ["threshold:target=23", bot]}))
    assert cli.run(["watch", "--from-position", str(place)]) == 2
    said = capsys.readouterr().err
    assert f"names {bot}, which is not a built-in bot." in said
    assert not trace.exists()
    command = shlex.split(said.partition("on the command line: ")[2])
    assert command[0] == "pickosim" and command[3] == bot
    if bot == str(file):
        assert cli.run(command[1:]) == 0
        assert trace.exists()
