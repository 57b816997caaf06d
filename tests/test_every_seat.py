"""One output per player: the net's chances of all seats, the targets they learn from, what a turn is worth to rivals."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO
from math import exp

import numpy as np
import polars as pl
import pytest

import pickosim
from pickosim.games.batch import Batch, play_games
from pickosim.games.match import make_match
from pickosim.games.played import record_games
from pickosim.learning import net as nets
from pickosim.learning.features import features_of, layout_for
from pickosim.learning.fit import Fit, errors_of, in_turn, new_parameters, targets_of, with_rivals
from pickosim.learning.layers import LOGIT_ONE, VECTORS, Net
from pickosim.learning.net import CHANCE_ONE, rounded, widened, win_chances
from pickosim.learning.weights import Learned, Weights, adapted, as_bytes, read_weights, weights_of
from pickosim.solver.valuation import Carry, worths_of
from pickosim.studies.calibrate import calibrate
from pickosim.studies.train import asked_chances


def random_weights(rules: str, players: int, seed: int = 0) -> Weights:
    match = make_match(["random"] * players, rules)
    parameters = new_parameters(layout_for(match.books).facts, players, seed)
    parameters.output_bias[1:] = np.arange(1, len(parameters.output_bias)) / 2
    return Weights(rounded(parameters), match.rules, players, {})


def exact_outputs(net: Net, slots: list[int]) -> list[float]:
    """The outputs of the net in plain Python."""
    sums = [sum(int(net.facts[fact, x]) for fact in slots) for x in range(len(net.second))]
    hidden = []
    for y, bias in enumerate(net.second_bias.tolist()):
        active = (
            min(max(number, 0), 4096) * int(net.second[x, y]) for x, number in enumerate(sums)
        )
        hidden.append(min(max((bias + sum(active)) >> 10, 0), 4096))
    return [
        (int(bias) + sum(a * int(net.output[y, place]) for y, a in enumerate(hidden))) / LOGIT_ONE
        for place, bias in enumerate(net.output_bias)
    ]


@pytest.mark.parametrize(("rules", "players"), [("classic", 3), ("extrawurm", 5)])
def test_every_player_s_chance_is_a_logistic_and_a_softmax_in_whole_numbers(rules, players):
    weights = random_weights(rules, players)
    match = make_match(["random"] * players, rules, 1)
    played = record_games(match, 0, 3)
    for seat in range(players):
        positions = played.positions[played.seat == seat]
        slots = features_of(match.books, positions, np.full(len(positions), seat))
        found = win_chances(match.books, positions, seat, weights.net, players=players)
        assert (found * CHANCE_ONE % 1 == 0).all()
        assert (found.sum(axis=1) == 1).all()
        own = win_chances(match.books, positions, seat, weights.net)[:, 0]
        assert (found[:, 0] == own).all()
        plain = win_chances(
            match.books, positions, seat, weights.net, players=players, vectors=not VECTORS
        )
        assert (found == plain).all()
        for position, row, chances in zip(positions, slots.tolist(), found, strict=True):
            if position["over"]:
                won = [position["won"][(seat + step) % players] for step in range(players)]
                assert chances == pytest.approx(np.array(won) / 420)
                continue
            first, *others = exact_outputs(weights.net, row)
            mine, powers = 1 / (1 + exp(-first)), [exp(other) for other in others]
            rest = [(1 - mine) * power / sum(powers) for power in powers]
            assert chances == pytest.approx([mine, *rest], abs=3e-4)


def test_powers_of_e_are_exact_at_the_points():
    points = nets.exponential()[:-1] / CHANCE_ONE
    powers = [exp(-step / (1 << nets.CURVE_BITS)) for step in range(len(points))][::-1]
    assert points == pytest.approx(powers, abs=1 / CHANCE_ONE)


# ----------------------------------------------------------------------------------- targets


@pytest.mark.parametrize("players", [2, 3])
def test_targets_by_hand(players):
    """Three turns; before the last, nobody knows what is to be expected."""
    rest = [0.0] * (players - 2)
    chance = np.array([[0.5, 0.5, *rest], [0.4, 0.6, *rest], [9.0, 9.0, *rest]])
    expected = np.array([[np.nan] * players, [0.3, 0.7, *rest], [np.nan] * players])
    first, wins = np.array([0, 3]), np.array([[1.0, 0.0, *rest]])
    for trace in (0.0, 0.9, 1.0):
        found = targets_of(chance, expected, first, wins, trace)
        one = [1.0 + trace * 0, 0.0]
        assert found[2, :2] == pytest.approx([1, 0])
        assert found[1, :2] == pytest.approx(one)
        assert found[0, :2] == pytest.approx([0.3 + trace * (1 - 0.4), 0.7 + trace * (0 - 0.6)])
    errors = errors_of(chance, expected, first)
    assert errors[0] == pytest.approx(0.3 - 0.5)
    assert np.isnan(errors[1:]).all()


def test_numbers_by_seat_and_in_turn_are_each_other_s_inverse():
    by_seat, seat = np.arange(12.0).reshape(4, 3), np.array([0, 1, 2, 1])
    assert in_turn(by_seat, seat)[2].tolist() == [8, 6, 7]
    assert (in_turn(in_turn(by_seat, seat), -seat) == by_seat).all()


# ------------------------------------------------------------------------- what a turn is worth to others


@pytest.mark.parametrize("rules", ["classic", "extrawurm", "extrawurm-box", "manual-extrawurm"])
def test_a_turn_carries_the_bot_s_own_values_to_what_it_is_worth(rules):
    """Also with the canned worm, golden die, weasel and bratworms, and where there are two specialists to choose from."""
    worst, turns = 0.0, 0

    class Carrying(Batch):
        def _carry(self, turn):
            results, worths = worths_of(bot, turn)
            return Carry(results, worths[:, :1] * np.array([-1.0, 1.0]), None)

    def look(turn, plan):
        nonlocal worst, turns
        for part in plan.plans:
            leads, minus, plus = part.solutions.every_at(part.graph.start).T
            assert (minus == -plus).all()
            assert (leads == part.start_values()).all()
            worst = max(worst, np.abs(plus - plan.worth()[part.games]).max(initial=0.0))
            turns += len(plus)

    bot = Learned(random_weights(rules, 3))
    Carrying(make_match([bot] * 3, rules, 2), 0, 40, on_plan=look).play()
    assert turns > 800
    assert worst < 1e-5


@pytest.mark.parametrize(("rules", "players"), [("classic", 3), ("extrawurm", 4)])
def test_dice_change_no_player_s_chance_on_average(rules, players):
    """From before a turn to after it, by a net that plays all seats; by chances of its own, right or wrong."""
    weights = random_weights(rules, players)
    match = make_match([Learned(weights)] * players, rules, 5)
    played = record_games(match, 0, 400)
    assert played.chances.sum(axis=1) == pytest.approx(np.ones(len(played.seat)))
    assert played.chances[:, 0] == pytest.approx(played.expected, abs=1e-6)
    net, after = adapted(weights, match.rules, players), np.empty_like(played.chances)
    for seat in range(players):
        rows = played.seat == seat
        after[rows] = net.all_chances(played.positions[rows], seat)
    change = after - played.chances
    assert change.std() > 0.01
    assert (np.abs(change.mean(axis=0)) < 4 * change.std(axis=0) / np.sqrt(len(change))).all()


# ------------------------------------------------------------------------------------- fit, files, studies


def test_the_fit_finds_chances_of_all_players():
    """Targets that a net can state exactly, from a start that knows nothing of rivals."""
    players, match = 3, make_match(["random"] * 3, "classic", 1)
    played = record_games(match, 0, 60)
    rows = played.seat == 0
    slots = features_of(match.books, played.positions[rows], played.seat[rows])
    weights = random_weights("classic", players, 3)
    targets = win_chances(match.books, played.positions[rows], 0, weights.net, players=players)
    going = ~played.positions["over"][rows]
    alone = weights.net._replace(
        output=weights.net.output[:, :1].copy(), output_bias=weights.net.output_bias[:1].copy()
    )
    fit = Fit(with_rivals(widened(alone), players))
    goal, slots = targets[going].astype(np.float32), slots[going]
    error = fit.run(slots, goal, epochs=300, rate=3e-3, last_rate=1e-4, seed=1)
    assert error < 1e-4
    found = win_chances(
        match.books,
        played.positions[rows][going],
        0,
        rounded(fit.parameters),
        players=players,
    )
    assert np.abs(found - goal).mean() < 0.01
    assert goal.std(axis=0).min() > 0.002


def test_weights_of_earlier_versions_play_but_do_not_know_the_chances_of_rivals(tmp_path):
    new = random_weights("classic", 3)
    with np.load(BytesIO(as_bytes(new))) as stored:
        arrays = dict(stored)
    arrays |= {"output": arrays["output"][:, 0], "output_bias": arrays["output_bias"][:1]}
    buffer = BytesIO()
    np.savez(buffer, **arrays)
    old = weights_of(buffer.getvalue())
    match = make_match([Learned(old)] * 3, "classic", 1)
    played = record_games(match, 0, 20)
    assert np.isnan(played.chances).all()
    same = play_games(make_match([Learned(new)] * 3, "classic", 1), 0, 20)
    assert (played.tally.score == same.score).all()
    path = tmp_path / "old.npz"
    path.write_bytes(buffer.getvalue())
    found = calibrate(f"champion:weights={path}", players=3, games=200)
    assert set(found.deciles["whose"]) == {"has just moved"}
    assert any("do not say the chances of rivals" in remark for remark in found.remarks)
    assert found.errors.height == 0


def test_a_net_that_does_not_know_rivals_is_asked_for_every_player():
    weights = random_weights("extrawurm", 4)
    net = weights.net
    alone = net._replace(output=net.output[:, :1].copy(), output_bias=net.output_bias[:1].copy())
    played = record_games(make_match(["random"] * 4, weights.rules, 1), 0, 20)
    seat = 2
    positions = played.positions[played.seat == seat]
    asked = adapted(replace(weights, net=alone), weights.rules, 4)
    found = asked_chances(asked, positions, seat)
    assert found.sum(axis=1) == pytest.approx(np.ones(len(found)))
    alike = np.column_stack([asked.win_chances(positions, one) for one in (2, 3, 0, 1)])
    assert (found[:, 0] == alike[:, 0]).all()
    over = positions["over"]
    assert over.any()
    assert found[over] == pytest.approx(alike[over], abs=1e-8)
    first = found[~over, 1:2] * alike[~over, 1:]
    assert first == pytest.approx(found[~over, 1:] * alike[~over, 1:2])
    knowing = adapted(weights, weights.rules, 4)
    known = knowing.all_chances(positions, seat)
    assert (asked_chances(knowing, positions, seat) == known).all()


def test_training_at_three_teaches_every_player_s_chance(tmp_path):
    found = pickosim.train(
        "classic",
        3,
        games=90,
        rounds=2,
        test_games=9,
        final_games=9,
        start="none",
        workers=1,
        out=tmp_path / "three.npz",
    )
    assert found.rounds["round"].to_list() == ["0", "1"]
    weights = read_weights(tmp_path / "three.npz")
    assert weights.net.output.shape == (32, 3)
    spec = f"champion:weights={tmp_path / 'three.npz'}"
    places = calibrate(spec, players=3, games=200)
    assert set(places.deciles["whose"]) == {"has just moved", "moves next", "moves in 2 turns"}
    assert (
        places.deciles.group_by("whose").agg(pl.col("positions").sum())["positions"].n_unique() == 1
    )
    assert places.errors.height > 0
    again = pickosim.train(
        "classic",
        3,
        games=90,
        rounds=1,
        test_games=9,
        final_games=9,
        start=tmp_path / "three.npz",
        workers=1,
        out=tmp_path / "again.npz",
    )
    assert again.rounds["win_share"][0] == pytest.approx(1 / 3, abs=1e-9)
