"""Learning: features, the net of whole numbers, targets, recorded games, training, and the champion."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from hashlib import sha256
from io import BytesIO
from itertools import product
from math import exp
from pathlib import Path
from random import Random

import numpy as np
import polars as pl
import pytest
import reference
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_engine import odd_rules
from traces import trace_games

import pickosim
from pickosim import cli
from pickosim.bots.digest import source_digest
from pickosim.bots.loading import load_bot
from pickosim.engine.results import POSITION, Positions
from pickosim.engine.rulebook import NOTHING, SEATS, rulebook
from pickosim.engine.tally import PARTS
from pickosim.errors import BotError, PickosimError
from pickosim.games.batch import play_games
from pickosim.games.match import make_match
from pickosim.games.played import record_games
from pickosim.games.trace import traced_game
from pickosim.learning import layers
from pickosim.learning import net as nets
from pickosim.learning.features import FEATURES_VERSION, features_of, layout_for
from pickosim.learning.fit import new_parameters, targets_of
from pickosim.learning.layers import Net
from pickosim.learning.net import curve, rounded, widened, win_chances
from pickosim.learning.weights import Learned, Weights, adapted, as_bytes, read_weights, weights_of
from pickosim.rule_files import PRESETS, load_rules, presets
from pickosim.rules import SPECIALISTS, RuleSet
from pickosim.runs.tasks import add
from pickosim.strategies import champion
from pickosim.studies.calibrate import calibrate, clustered, position_sums
from pickosim.studies.schedule import lane
from pickosim.studies.train import FINALS, TESTS, Train, table_of

SHIPPED = sorted((Path(__file__).parents[1] / "strategies/weights").glob("*.npz"))


def random_net(rules: str, players: int, seed: int = 0) -> Net:
    facts = layout_for(rulebook(load_rules(rules), players)).facts
    return rounded(new_parameters(facts, players, seed))


def recorded(rules: str, players: int, games: int = 20):
    bots = ["expected", *["random"] * (players - 1)]
    return record_games(make_match(bots, rules, 3), 0, games)


# ------------------------------------------------------------------------------------------ recorded games


@pytest.mark.parametrize(("rules", "players"), [("classic", 2), ("extrawurm", 4)])
def test_a_recording_has_every_turn_with_its_position_and_outcome(rules, players):
    played = recorded(rules, players)
    assert len(played.positions) == played.tally.turns.sum()
    assert np.isfinite(played.expected[played.seat == 0]).all()
    assert np.isnan(played.expected[played.seat != 0]).all()
    last = played.first[1:] - 1
    assert played.positions["over"][last].all()
    assert not np.delete(played.positions["over"], last).any()
    assert (played.positions["worms"][last, :players] == played.tally.worms).all()
    assert (played.outcome == played.wins[played.game, played.seat]).all()
    frame = played.frame()
    assert frame.height == len(played.positions)
    own = frame.filter((pl.col("game") == 7) & (pl.col("seat") == 1))
    assert own["turn"].to_list()[:2] == [2, 2 + players]
    ended = frame.row(int(last[4]), named=True)
    seats = [(ended["seat"] + step) % players for step in range(players)]
    assert list(ended["scores"]) == played.tally.score[4][seats].tolist()


def test_what_a_valuation_expects_of_its_turns_comes_true_on_average():
    """`expected` values the change in worms, which the positions before and after its turns tell."""
    played = pickosim.record(["expected", "random"], games=400, seed=2)
    frame = played.frame()
    worms = frame.select(
        "game", "seat", own=pl.col("worms").arr.get(0), rival=pl.col("worms").arr.get(1)
    )
    # Before a turn of seat 0, seat 1 has moved: what is the rival's there is its own here.
    before = worms.with_columns(pl.col("own", "rival").shift(1, fill_value=0))
    gain = (worms["own"] - worms["rival"]) - (before["rival"] - before["own"])
    turns = ((worms["seat"] == 0) & (frame["turn"] > 1)).to_numpy()
    error = gain.to_numpy()[turns] - played.expected[turns]
    assert abs(error.mean()) < 4 * error.std() / np.sqrt(turns.sum())


# ------------------------------------------------------------------------------------------------ features


@pytest.mark.parametrize("rules", PRESETS)
@pytest.mark.parametrize("players", [2, 5])
def test_facts_of_all_slots_are_different(rules, players):
    match = make_match(["random"] * players, rules, 1)
    played = record_games(match, 0, 10)
    slots, layout = (
        features_of(match.books, played.positions, played.seat),
        layout_for(match.books),
    )
    assert slots.shape == (len(played.positions), layout.slots)
    assert slots.min() >= 0
    assert slots.max() < layout.facts
    seen = [set(np.unique(column)) - {0} for column in slots.T]
    assert sum(map(len, seen)) == len(set.union(*seen))
    assert len(np.unique(slots, axis=0)) > len(slots) / 2  # it tells positions apart


def test_features_do_not_depend_on_who_sits_where():
    players = 4
    match = make_match(["expected", "random", "thief", "random"], "extrawurm", 1)
    played = record_games(match, 0, 10)
    here = features_of(match.books, played.positions, played.seat)
    for step in (1, 3):
        moved = played.positions.copy()
        for field in POSITION.names:
            if moved[field].ndim == 2 and field != "place":
                moved[field][:, :players] = np.roll(moved[field][:, :players], step, axis=1)
        there = features_of(match.books, moved, (played.seat + step) % players)
        assert (here == there).all()


FEATURES = {
    1: {
        ("classic", 2): "392edf99c80ad79647cfdb2a5962b5c3d54fd58ed48f3b1de436020816138ef2",
        ("extrawurm", 4): "88ae2935731a8659884d2838dff28d96d5a9c72655bca9ca1f11e3e096bd5c52",
    }
}
"""SHA-256 of the features of made-up positions, by FEATURES_VERSION."""


def made_up_positions(rules: RuleSet, players: int, number: int = 2_000) -> Positions:
    """Positions in which every field has any of its values, whatever the others have, so that all facts come up."""
    tiles, chance = len(rules.tiles), Random(1)
    tile, holder = [*range(tiles), NOTHING], [SEATS + seat for seat in range(players)]
    few_or_many = [(1 << to) - (1 << first) for to in range(tiles + 1) for first in range(to + 1)]
    values = {
        "grill": [*few_or_many, *range(0, 1 << tiles, 997)],
        "turn": range(rules.turn_limit - 20, rules.turn_limit + 1),
        **dict.fromkeys(("top", "second", "highest"), tile),
        "holds": [*range(len(SPECIALISTS)), NOTHING],
        "place": [*tile, *holder],
        **dict.fromkeys(("bratworms", "supply", "tiles"), range(10)),
        "worms": range(24),
    }
    positions = np.zeros(number, POSITION)
    for field, known in values.items():
        some = [known[int(chance.random() * len(known))] for _ in range(positions[field].size)]
        positions[field] = np.array(some).reshape(positions[field].shape)
    return positions


@pytest.mark.parametrize(("name", "players"), FEATURES[FEATURES_VERSION])
def test_features_change_only_with_their_version(name, players):
    """The shipped nets would read other features as if they were theirs."""
    rules = load_rules(name)
    books, positions = rulebook(rules, players), made_up_positions(rules, players)
    slots = features_of(books, positions, np.arange(len(positions)) % players)
    assert len(np.unique(slots)) > 0.9 * layout_for(books).facts
    found = sha256(slots.astype("<i2").tobytes()).hexdigest()
    assert found == FEATURES[FEATURES_VERSION][name, players], "raise FEATURES_VERSION"


# ------------------------------------------------------------------------------------------------- the net


def reference_chance(net: Net, slots: list[int]) -> int:
    """The net in plain Python, on whole numbers of any size."""
    cap = int(layers.CAP * layers.ONE)
    sums = [sum(int(net.facts[fact, x]) for fact in slots) for x in range(layers.FIRST)]
    active = [min(max(number, 0), cap) for number in sums]
    logit = int(net.output_bias[0])
    for y in range(layers.SECOND):
        hidden = int(net.second_bias[y])
        hidden += sum(a * int(net.second[x, y]) for x, a in enumerate(active))
        assert abs(hidden) < 1 << 31
        logit += min(max(hidden >> layers.WEIGHT_BITS, 0), cap) * int(net.output[y, 0])
    edge = nets.MOST_LOGIT * layers.LOGIT_ONE
    point, rest = divmod(min(max(logit, -edge), edge) + edge, layers.LOGIT_ONE >> nets.CURVE_BITS)
    low, high = curve()[point : point + 2].tolist()
    return low + (high - low) * rest // (layers.LOGIT_ONE >> nets.CURVE_BITS)


@pytest.mark.parametrize(("rules", "players"), [("classic", 2), ("extrawurm", 3)])
def test_the_net_equals_plain_python(rules, players):
    """Only differences between positions are added up; where the game is over, the win share counts."""
    match = make_match(["random"] * players, rules, 1)
    played = record_games(match, 0, 3)
    slots = features_of(match.books, played.positions, played.seat)
    for net in (random_net(rules, players), random_net(rules, players, 1)):
        alone = [reference_chance(net, row) / nets.CHANCE_ONE for row in slots.tolist()]
        expected = np.where(played.positions["over"], played.outcome, alone)
        for seat, vectors in product(range(players), {False, layers.VECTORS}):
            rows = np.flatnonzero(played.seat == seat)
            found = win_chances(match.books, played.positions[rows], seat, net, vectors=vectors)
            assert found[:, 0].tolist() == expected[rows].tolist()


def test_the_curve_is_the_logistic_function():
    points = curve()[:-1] / nets.CHANCE_ONE
    logits = np.arange(len(points)) / (1 << nets.CURVE_BITS) - nets.MOST_LOGIT
    assert points == pytest.approx([1 / (1 + exp(-logit)) for logit in logits], abs=1e-7)


CHANCES = """
import sys
import numpy as np
from pickosim.engine.results import POSITION
from pickosim.engine.rulebook import rulebook
from pickosim.learning.features import layout_for
from pickosim.learning.layers import Net
from pickosim.learning.net import win_chances
from pickosim.rule_files import load_rules

chance, books = np.random.default_rng(1), rulebook(load_rules("classic"), 2)
shapes = (layout_for(books).facts, 64), (64, 32), (32, 1)
facts, second, output = (chance.integers(-most, most, shape, np.int16) for most, shape in zip((900, 900, 300), shapes))
net = Net(facts, second, np.arange(32, dtype=np.int32), output, np.ones(1, np.int32))
positions = np.zeros(500, POSITION)
positions["grill"] = chance.integers(1, 1 << 16, 500)
for field in ("top", "second", "highest", "tiles", "worms"):
    positions[field][:, :2] = chance.integers(0, 8, (500, 2))
sys.stdout.write(repr(win_chances(books, positions, 0, net, vectors=len(sys.argv) == 1).tolist()))
"""


@pytest.mark.skipif(not layers.VECTORS, reason="vector code is for x86")
def test_vector_code_of_all_processors_and_plain_loops_are_equal():
    def chances(processor="", features="", *arguments):
        asked = {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": features} if processor else {}
        script = [sys.executable, "-c", CHANCES, *arguments]
        run = subprocess.run(script, env=os.environ | asked, capture_output=True, check=True)
        return run.stdout

    here = chances()
    assert len(set(here.split(b","))) > 100
    assert here == chances("", "", "plain")
    assert here == chances("x86-64", "+sse2")
    assert here == chances("haswell", "+avx2")


# ------------------------------------------------------------------------------------------------- targets


def test_without_expectations_the_targets_are_the_outcomes():
    played = recorded("extrawurm", 3)
    unknown = np.full((len(played.expected), 3), np.nan)
    chances = np.random.default_rng(0).random(unknown.shape)
    targets = targets_of(chances, unknown, played.first, played.wins, 1.0)
    assert targets == pytest.approx(played.wins[played.game])


# ------------------------------------------------------------------------------------------------ training


TINY = {
    "games": 600,
    "rounds": 2,
    "test_games": 200,
    "final_games": 100,
    "start": "none",
    "seed": 1,
    "workers": 1,
}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A champion for classic with two players that has learned for a second, and the results of its training."""
    path = tmp_path_factory.mktemp("training") / "tiny.npz"
    return path, pickosim.train("classic", 2, **TINY, out=path)


TWO_GAMES = ["--test-games", "16", "--final-games", "16", "--workers", "1"]


def test_training_twice_with_one_seed_gives_the_same_weights(tiny, tmp_path):
    path, results = tiny
    again = pickosim.train("classic", 2, **TINY | {"workers": 2}, out=tmp_path / "again.npz")
    one, other = read_weights(path), read_weights(tmp_path / "again.npz")
    for a, b in zip(one.net, other.net, strict=True):
        assert (a == b).all()
    assert results.rounds.equals(again.rounds)
    changed = pickosim.train("classic", 2, **TINY | {"seed": 2}, out=tmp_path / "other.npz")
    assert not changed.rounds.equals(results.rounds)
    assert one.training["seed"] == 1
    assert one.training["command"].startswith("pickosim train --rules classic --players 2")


def test_a_resumed_training_gives_the_same_weights(tiny):
    path, results = tiny
    folder, weights = results.folder, path.read_bytes()
    assert (folder / "weights.npz").read_bytes() == weights
    shards = sorted((folder / "sums").iterdir())
    for lost in (*shards[1::3], path, folder / "weights.npz"):
        lost.unlink()
    assert pickosim.resume(folder, workers=1).rounds.equals(results.rounds)
    assert path.read_bytes() == weights


def test_weights_are_delivered_by_every_resume(tiny, capsys):
    path, results = tiny
    weights = path.read_bytes()
    path.unlink()  # as if the process had been killed before it was written
    assert cli.run(["resume", str(results.folder)]) == 0
    assert path.read_bytes() == weights
    capsys.readouterr()


@pytest.mark.parametrize("what", ["link", "dangling link", "folder", "text", "other weights"])
def test_a_training_replaces_nothing_but_its_own_weights(what, tiny, tmp_path, capsys):
    trained, _ = tiny
    path, other = tmp_path / "x.npz", tmp_path / "other"
    if what == "folder":
        path.mkdir()
    elif what == "other weights":
        shutil.copy(trained, path)
    elif what == "text":
        path.write_text("mine")
    else:
        if what == "link":
            other.write_text("mine")
        path.symlink_to(other)
    before = sorted(tmp_path.iterdir()), path.is_file() and path.read_bytes()
    arguments = ["--games", "40", "--rounds", "1", *TWO_GAMES]
    assert cli.run(["train", *arguments, "--out", str(path)]) == 2
    assert f"{path} " in capsys.readouterr().err.replace("\n", " ")
    assert (sorted(tmp_path.iterdir()), path.is_file() and path.read_bytes()) == before


def test_weights_in_the_way_of_a_resume_are_kept(tmp_path):
    path = tmp_path / "x.npz"
    pickosim.train(games=40, rounds=1, test_games=16, final_games=16, workers=1, out=path)
    path.write_text("mine")
    with pytest.raises(PickosimError, match="exists and would be overwritten"):
        pickosim.resume(path.with_suffix(".run"), workers=1)
    assert path.read_text() == "mine"


def test_the_name_of_a_file_for_weights_may_be_as_long_as_names_can_be(tmp_path):
    path = tmp_path / f"{'x' * 251}.npz"
    pickosim.train(games=40, rounds=1, test_games=16, final_games=16, workers=1, out=path)
    assert path.read_bytes()


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
def test_make_weights_works_twice(tmp_path):
    (tmp_path / "strategies/weights").mkdir(parents=True)
    for name in ("pyproject.toml", "constraints.txt", "ready"):  # so that nothing is installed
        (tmp_path / name).touch()
    makefile = Path(__file__).parents[1] / "Makefile"
    for seed in (1, 2):
        training = f"TRAINING=--games 40 --rounds 1 {' '.join(TWO_GAMES)} --seed {seed}"
        binaries = f"BIN={Path(sys.executable).parent}"
        subprocess.run(
            ["make", "-f", makefile, binaries, "READY=ready", training, "weights/classic-2"],
            cwd=tmp_path,
            check=True,
        )
        made = read_weights(tmp_path / "strategies/weights/classic-2.npz")
        assert made.training["seed"] == seed


def test_a_tiny_training_beats_random(tiny):
    path, _ = tiny
    match = make_match([f"champion:weights={path}", "random"], "classic", 99)
    assert (play_games(match, 0, 300).rank[:, 0] == 1).mean() > 0.8


def test_a_training_without_a_file_for_its_weights_is_refused():
    with pytest.raises(PickosimError, match="out"):
        pickosim.train("classic", 2, games=10)


def test_any_rules_can_be_trained(tmp_path):
    rules = load_rules(
        "extrawurm",
        [
            "tiles={21=1,25=2,29=3,33=9}",
            "exact_only=[]",
            "specialists={weasel=29}",
            "turn_limit=60",
        ],
    )
    path = tmp_path / "odd.npz"
    pickosim.train(rules, 3, games=12, rounds=2, test_games=9, final_games=9, workers=1, out=path)
    weights = read_weights(path)
    assert (weights.rules, weights.players) == (rules, 3)
    for trace in trace_games(make_match([Learned(weights)] * 3, rules), 0, 3, check=True):
        reference.check(trace)


@pytest.mark.long
@pytest.mark.parametrize("players", [2, 4])
@pytest.mark.parametrize("rules", ["classic", "extrawurm"])
def test_the_champion_s_chances_are_right_within_a_point(rules, players):
    found = calibrate("champion", rules, players, games=100_000, seed=7).deciles
    assert found["difference"].abs().max() < 0.01


# -------------------------------------------------------------------------------------------- the champion


@pytest.mark.parametrize("players", range(2, 8))
def test_the_champion_plays_every_preset(players):
    """Each with two numbers of players."""
    for k, rules in enumerate(PRESETS):
        if (k - players) % 3 == 0:
            check_champion(load_rules(rules), players)


@settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(st.integers(2, 7).flatmap(lambda players: st.tuples(odd_rules(players), st.just(players))))
def test_the_champion_plays_odd_rules(table):
    check_champion(*table)


def check_champion(rules: RuleSet, players: int) -> None:
    """Its games are legal, the same again, and its note names the net unless it is its own."""
    match = make_match(["champion"] * players, rules, 1)
    trace = trace_games(match, 0, 2, check=True)
    for game in trace:
        reference.check(game)
    assert trace == trace_games(match, 0, 2)
    trained = {(weights.rules.name, weights.players) for weights in map(read_weights, SHIPPED)}
    bot = match.strategies[0]
    net = bot.weights_for(rules, players)
    assert net.players == min(players, 5)
    note = bot.note(rules, players)
    if (rules.name, players) in trained and rules in presets():
        assert note == ""
    elif note:
        assert note.startswith(f"by the net for {net.rules.name}")
    else:  # only turn limit or starts of specialists differ
        assert layout_for(match.books) == layout_for(rulebook(net.rules, players))


def test_a_note_says_what_the_net_was_trained_for():
    bot = load_bot("champion")
    notes = {
        ("extrawurm", "apple_worms=4", 2): "the net for extrawurm, where apple_worms is 3",
        ("classic", "dice=7", 3): "the net for classic, where dice is 8",
        (
            "classic",
            "dice=8",
            6,
        ): "the net for classic with 5 players, so that of the rivals only the best 4 count",
    }
    for (rules, option, players), wanted in notes.items():
        assert wanted in bot.note(load_rules(rules, [option]), players)
    assert not bot.note(load_rules("extrawurm", ["specialists.apple=33"]), 4)
    found = pickosim.tournament(
        ["champion", "eager"], load_rules("short"), games=4, seed=1, workers=1
    )
    notes = dict(found.standings.select("bot", "note").iter_rows())
    assert notes["eager"] is None
    assert notes["champion"].startswith("by the net for classic, where flip_returned is false")
    assert any("`champion` plays short" in remark for remark in found.remarks)


def test_notes_say_what_the_page_has_measured():
    page = (Path(__file__).parents[1] / "docs/champion.md").read_text(encoding="utf-8")
    row = r"^\| `([\w-]+)`(?:, `(.+?)`)? \| (\d) \| .* \| ([+−][\d.]+) ± ([\d.]+)( \(no better\))? \|$"
    measured = re.findall(row, page, re.MULTILINE)
    bot = load_bot("champion")
    assert len(measured) == sum(map(len, [*champion.BETTER.values(), *champion.NO_BETTER.values()]))
    for name, option, players, difference, half, no_better in measured:
        assert (float(difference.replace("−", "-")) <= float(half)) == bool(no_better)
        note = bot.note(load_rules(name, [option] if option else []), int(players))
        assert ("no better than `winner`" in note) == bool(no_better)
        assert "not measured" not in note


def test_facts_of_other_tiles_are_those_of_the_nearest():
    """By the numbers of facts: 21 to 36 in steps of 1, against 20, 28 and 40."""
    rules, net = load_rules("classic"), random_net("classic", 3)
    weights = Weights(net, rules, 3, {})
    assert (adapted(weights, rules, 3).net.facts == net.facts).all()
    other = rules.with_options({"tiles": {"20": 1, "28": 2, "40": 3}, "exact_only": []})
    found = adapted(weights, other, 3)
    then, now = layout_for(rulebook(rules, 3)), found.layout
    pairs = {(0, 0), (1, 7), (2, 15)}
    for tile, nearest in pairs:
        assert (found.net.facts[now.grill + tile] == net.facts[then.grill + nearest]).all()
        place, old = now.second + 2 * 4 + tile, then.second + 2 * 17 + nearest
        assert (found.net.facts[place] == net.facts[old]).all()
    nobody = found.net.facts[now.top + 4 + 3], net.facts[then.top + 17 + 16]
    assert (nobody[0] == nobody[1]).all()
    assert (
        found.net.facts[now.lead_count + 4 * 9 + 3] == net.facts[then.lead_count + 17 * 9 + 3]
    ).all()
    assert (found.net.facts[now.turns : now.facts] == net.facts[then.turns : then.facts]).all()


def test_a_net_does_not_see_a_specialist_that_it_does_not_know():
    """One without the raven: holding it is like holding nothing, and where it stands is unknown; all else is as before."""
    rules, players = load_rules("extrawurm"), 3
    whole = random_net("extrawurm", players)
    now, k = layout_for(rulebook(rules, players)), SPECIALISTS.index("raven")
    tiles, six = len(rules.tiles), len(SPECIALISTS)
    gone = {now.holds + step * (six + 1) + k for step in range(players)}
    gone |= set(range(now.place + k * tiles, now.place + (k + 1) * tiles))
    kept = np.array([fact for fact in range(now.facts) if fact not in gone])
    known = tuple(name for name in SPECIALISTS if name != "raven")
    fewer = Weights(whole._replace(facts=whole.facts[kept]), rules, players, {}, known)
    read = weights_of(as_bytes(fewer))
    found = adapted(read, rules, players).net.facts
    assert (found[kept] == whole.facts[kept]).all()
    assert not found[now.place + k * tiles : now.place + (k + 1) * tiles].any()
    for step in range(players):
        held, nothing = now.holds + step * (six + 1) + np.array([k, six])
        assert (found[held] == whole.facts[nothing]).all()


def test_of_more_rivals_the_best_count():
    """Five players by a net for three: as in the game of three that is left without the two worst."""
    rules = load_rules("extrawurm")
    weights = Weights(random_net("extrawurm", 3), rules, 3, {})
    positions = made_up_positions(rules, 5, 200)
    positions["over"] = False
    fewer = np.zeros(200, POSITION)
    seat = 3
    apple = rules.apple_worms * (positions["holds"] == SPECIALISTS.index("apple"))
    scores = positions["worms"] + positions["bratworms"] + apple
    for row, (position, score) in enumerate(zip(positions, scores.tolist(), strict=True)):
        rivals = [(seat + step) % 5 for step in range(1, 5)]
        best = sorted(rivals, key=lambda rival: -score[rival])[:2]
        fewer[row] = position
        for k, player in enumerate([seat, *sorted(best, key=rivals.index)]):
            for field in POSITION.names:
                if position[field].ndim and field != "place":
                    fewer[field][row, k] = position[field][player]
    found = adapted(weights, rules, 5).win_chances(positions, seat)
    assert (found == adapted(weights, rules, 3).win_chances(fewer, 0)).all()
    assert len(np.unique(found)) > 100


def test_weights_for_something_else_are_refused(tiny, tmp_path):
    path, _ = tiny
    three = tmp_path / "three.npz"
    three.write_bytes(as_bytes(Weights(random_net("classic", 3), load_rules("classic"), 3, {})))
    with pytest.raises(BotError, match="for 3 players, and 2 are fewer"):
        make_match([f"champion:weights={three}"] * 2)
    bot = load_bot(f"champion:weights={path}")
    for rules, players in (("classic", 3), ("extrawurm", 4), ("french", 2)):
        assert "not measured for these rules" in bot.note(load_rules(rules), players)
        play_games(make_match([bot] * players, rules, 1), 0, 2)
    assert not bot.note(load_rules("classic"), 2)
    (tmp_path / "not.npz").write_bytes(b"weights")
    with pytest.raises(BotError, match="does not hold weights"):
        load_bot(f"champion:weights={tmp_path / 'not.npz'}")
    with pytest.raises(BotError, match="No such file"):
        load_bot(f"champion:weights={tmp_path / 'none.npz'}")


def test_weights_count_in_the_digest_of_the_bot(tiny, tmp_path):
    path, _ = tiny
    weights = read_weights(path)
    copy = tmp_path / "copy.npz"
    copy.write_bytes(path.read_bytes())
    bot = load_bot(f"champion:weights={copy}")
    before = source_digest(bot)
    assert before == source_digest(load_bot(f"champion:weights={path}"))
    copy.write_bytes(as_bytes(Weights(weights.net, weights.rules, 2, {"seed": 2})))
    assert source_digest(bot) != before


def test_the_champion_explains_itself_in_win_chances(tiny):
    path, _ = tiny
    match = make_match([f"champion:weights={path}", "expected"], "classic", 1)
    events, _ = traced_game(match, 0, why=True)
    reasons = [event for event in events if event["event"] == "why"]
    own = [event for event in reasons if event["seat"] == 0]
    assert own
    assert all(event["win_chances"] == (event["seat"] == 0) for event in reasons)
    assert all(0 <= value <= 1 for event in own for _, value in event["options"])


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_weights_are_for_what_their_name_says(path):
    weights = read_weights(path)
    name, _, players = path.stem.rpartition("-")
    assert weights.rules == load_rules(name)
    assert weights.players == int(players)
    assert f"--rules {name} --players {players} " in weights.training["command"]
    assert {"seed", "run", "version"} <= set(weights.training)
    assert f"weights/{path.name}" in type(load_bot("champion")).data_files
    assert not load_bot("champion").objection(load_rules(name), int(players))
    assert path.stat().st_size < 200_000


def test_an_option_that_weights_do_not_name_is_as_in_classic():
    """Weights of a version that did not know it still load; an option that nobody knows is refused."""
    with np.load(SHIPPED[-1]) as stored:
        arrays = dict(stored)
    about = json.loads(arrays["about"].tobytes())

    def with_rules(rules):
        buffer, text = BytesIO(), json.dumps(about | {"rules": rules}).encode()
        np.savez(buffer, **arrays | {"about": np.frombuffer(text, np.uint8)})
        return weights_of(buffer.getvalue())

    known = about["rules"]
    assert with_rules(known).rules == load_rules("extrawurm")
    older = {name: value for name, value in known.items() if name not in ("bratworms", "tiebreak")}
    assert with_rules(older).rules == load_rules("extrawurm", ["bratworms=0"])
    for wrong in (known | {"unheard_of": True}, list(known)):
        with pytest.raises(BotError, match="does not hold weights"):
            with_rules(wrong)


def test_all_shipped_weights_are_small_together():
    assert sum(path.stat().st_size for path in SHIPPED) < 1_600_000


def test_the_calibration_counts_every_position_once(tiny, tmp_path):
    path, _ = tiny
    spec = f"champion:weights={path}"
    found = calibrate(spec, games=60, seed=4, out=tmp_path / "run")
    played = record_games(make_match([Learned(read_weights(path))] * 2, "classic", 4), 0, 60)
    going = ~played.positions["over"]
    number = int(going.sum())
    deciles, by_lead = found.deciles, found.by_lead
    assert deciles["positions"].sum() == by_lead["positions"].sum() == number
    # Before every one of these positions somebody has expected something of the next turn.
    assert found.errors["positions"].sum() == number
    mean = (deciles["actual"] * deciles["positions"]).sum() / number
    assert mean == pytest.approx(played.outcome[going].mean())
    assert (deciles["actual_low"] <= deciles["actual"]).all()
    # Not rounded by more than the parts in which chances are counted.
    off = deciles["actual"] - deciles["predicted"] - deciles["difference"]
    assert off.abs().max() < 1e-9
    # With two players, the leader is said to be more likely to win.
    ahead = by_lead.filter(pl.col("lead") > 3)["predicted"].mean()
    assert ahead > by_lead.filter(pl.col("lead") < -3)["predicted"].mean() + 0.2
    # The same sums from several chunks, in any order.
    parts = [
        position_sums(
            record_games(played_match(path), k, 30), load_rules("classic"), read_weights(path)
        )
        for k in (30, 0)
    ]
    together = add(parts[0], parts[1])
    whole = position_sums(played, load_rules("classic"), read_weights(path))
    assert all((together[name] == whole[name]).all() for name in whole)


def test_a_lead_is_over_the_best_rival():
    """Three players, so that the best rival is not the only one."""
    rules, played = load_rules("extrawurm"), recorded("extrawurm", 3, 60)
    weights = Weights(random_net("extrawurm", 3), rules, 3, {})
    wanted = Counter()
    for after, seat in zip(played.positions, played.seat, strict=True):
        apple = rules.apple_worms * (after["holds"] == SPECIALISTS.index("apple"))
        scores = (after["worms"] + after["bratworms"] + apple)[:3].tolist()
        lead = scores.pop(seat) - max(scores)
        left = sum(w for k, w in enumerate(rules.tiles.values()) if after["grill"] >> k & 1)
        if not after["over"]:
            wanted[min(left // 5, 8), min(max(lead, -10), 10)] += 1
    found = position_sums(played, rules, weights)["lead_won"][:, 0].reshape(9, 21)
    counted = {(band, lead - 10): found[band, lead] for band, lead in np.argwhere(found)}
    assert counted == wanted


def played_match(path):
    return make_match([Learned(read_weights(path))] * 2, "classic", 4)


def test_errors_over_games_are_those_of_a_ratio_of_sums():
    rng = np.random.default_rng(0)
    game, group, values = (
        rng.integers(0, 40, 500),
        rng.integers(0, 3, 500),
        rng.integers(-9, 9, 500),
    )
    found = clustered(game, group, 3, values)
    for k in range(3):
        number = np.array([((game == g) & (group == k)).sum() for g in range(40)])
        total = np.array([values[(game == g) & (group == k)].sum() for g in range(40)])
        wanted = [number, total, number**2, total**2, number * total]
        assert found[k].tolist() == [int(one.sum()) for one in wanted]


def test_a_bot_without_a_net_cannot_be_calibrated():
    with pytest.raises(PickosimError, match="does not say its chance to win by a net"):
        calibrate("expected", games=10)


# ----------------------------------------------------------------------------- best responses, other starts


def test_a_net_can_be_trained_on_from_its_whole_numbers():
    net = random_net("classic", 2, 5)
    again = rounded(widened(net))
    assert all((one == other).all() for one, other in zip(net, again, strict=True))


def test_a_best_response_sits_alone_among_its_bot():
    assert table_of(3, 0, "eager") == ("eager",) * 3
    assert table_of(3, 0, "eager", started=True) == table_of(3, 5, "eager")
    assert table_of(3, 5, "eager") == ("learner", "eager", "eager")
    assert table_of(3, 5) == ("learner",) * 3


def test_a_best_response_starts_from_weights_and_is_tested_against_its_bot(tiny, tmp_path):
    path, _ = tiny
    found = pickosim.train(
        games=200,
        rounds=1,
        test_games=400,
        against="random",
        final_games=40,
        start=path,
        out=tmp_path / "answer.npz",
    )
    assert "best response to `random`" in found.headline
    assert found.rounds["win_share"][0] > 0.9
    answer = read_weights(tmp_path / "answer.npz")
    assert f"--against random --start {path}" in answer.training["command"]
    # One small round from there: the net is near the one it started from.
    then, now = read_weights(path).net.facts.astype(int), answer.net.facts.astype(int)
    assert np.abs(then - now).mean() < 60


def test_weights_for_something_else_are_no_start(tiny, tmp_path):
    path, _ = tiny
    for rules, players in (("classic", 3), ("extrawurm", 2)):
        with pytest.raises(PickosimError, match="is for classic with 2 players; start from"):
            pickosim.train(rules, players, games=40, start=path, out=tmp_path / "other.npz")


def test_what_a_net_has_learned_before_is_not_lost(tiny, tmp_path):
    """Facts that no new game shows keep their weights."""
    path, _ = tiny
    pickosim.train(
        games=40,
        rounds=1,
        test_games=16,
        final_games=16,
        against="random",
        start=path,
        out=tmp_path / "on.npz",
    )
    before, after = (read_weights(one).net.facts for one in (path, tmp_path / "on.npz"))
    learned = before.any(axis=1)
    assert after[learned].any(axis=1).all()


def test_a_training_ends_when_rounds_are_not_better_and_delivers_the_best(tmp_path):
    """From the shipped net, with little to learn from; its figures are those of games played by hand."""
    path = tmp_path / "on.npz"
    options = {"games": 60, "test_games": 400, "final_games": 200, "seed": 5, "workers": 1}
    found = pickosim.train("classic", 2, rounds=9, out=path, **options)
    rounds = found.rounds
    assert rounds["round"].to_list() == ["as it is", "0", "1", "2", "3"]
    assert rounds["difference"].is_null().to_list() == [True, False, False, False, False]
    (best,) = rounds.filter("best")["round"]
    assert rounds.filter("best")["win_share"].item() == rounds["win_share"].max()
    number = read_weights(path).training["round"]
    assert number == (-1 if best == "as it is" else int(best))

    def share(bot, rival, first, games):
        """By the dice of two lanes, less the luck of the turns of nets."""
        won = 0
        for seat in range(2):
            spec = [rival, bot] if seat else [bot, rival]
            nets = [
                champion and champion.weights_for(load_rules("classic"), 2).net
                for champion in map(net_of, spec)
            ]
            for part in range(2):
                match = make_match(spec, "classic", 5)
                played = record_games(match, lane(first + part), games // 4)
                won += played.wins[:, seat].sum()
                for mover, net in enumerate(nets):
                    if net:
                        turns = played.seat == mover
                        after = win_chances(match.books, played.positions[turns], mover, net)
                        luck = (after[:, 0] - played.expected[turns]).sum()
                        won -= luck if mover == seat else -luck
        return won / games

    def net_of(spec):
        return load_bot(spec) if spec.startswith("champion") else None

    # Rounds are tested against the net that they start from, which is even with itself.
    assert rounds["win_share"][0] == 0.5
    won = share(f"champion:weights={path}", "champion", TESTS, 400)
    # Each of 200 blocks is counted in parts.
    assert won == pytest.approx(rounds["win_share"].max(), abs=1 / PARTS / 20)
    for rival in ("expected", "winner"):
        percent = 100 * share(f"champion:weights={path}", rival, FINALS, 200)
        assert re.search(rf"{percent:.1f} % ± [0-9.]+ against `{rival}`", found.headline)
    assert "It started from the net for these rules." in found.remarks


def test_weights_do_not_overwrite_those_they_start_from(tiny):
    path, _ = tiny
    with pytest.raises(PickosimError, match="would be overwritten"):
        pickosim.train(games=40, start=path, out=path)


def test_a_training_is_resumed_only_with_the_weights_it_started_from(tiny, tmp_path):
    path, _ = tiny
    start = tmp_path / "start.npz"
    start.write_bytes(path.read_bytes())
    study = Train(games=40, rounds=1, test_games=16, start=start).checked()
    assert study.start_weights().players == 2
    start.write_bytes(as_bytes(Weights(random_net("classic", 2), load_rules("classic"), 2, {})))
    with pytest.raises(PickosimError, match="has changed since the run began"):
        study.start_weights()
    start.unlink()
    with pytest.raises(PickosimError, match="which the training started from, is not in"):
        study.start_weights()


def test_one_bot_is_trained_against():
    with pytest.raises(PickosimError, match=r"Name one bot, e\.g\. winner; all stands"):
        pickosim.train(against="all", games=40)


def test_a_calibration_says_how_far_off_it_may_be_or_that_games_are_too_few(tiny):
    path, _ = tiny
    spec = f"champion:weights={path}"
    assert calibrate(spec, games=1).headline.startswith("There are too few games to tell")
    found = calibrate(spec, games=400, seed=1)
    said = float(found.headline.split("is more than ")[1].split(" points")[0])
    # Intervals that hold together are wider than each for itself.
    known = found.deciles.filter(pl.col("positions") > 300)
    widest = 100 * known.select(pl.max_horizontal("difference_high", -pl.col("difference_low")))
    assert said > widest.to_series().max() - 0.1
