"""Specialists weighed: every figure from the games themselves, placebos, known effects, and suggestions."""

from __future__ import annotations

import json
from functools import partial
from io import StringIO
from itertools import pairwise, product
from math import sqrt
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from interval_reference import (
    Interval,
    count_interval,
    holm,
    mean_interval,
    scaled,
    share_interval,
)
from polars.testing import assert_frame_equal
from rich.console import Console
from scipy.stats import norm, t

import pickosim
from pickosim import cli
from pickosim.bots.entrants import Entrant, make_entrants
from pickosim.engine.tally import PARTS
from pickosim.errors import PickosimError
from pickosim.games.match import make_match
from pickosim.games.pickups import branch_pickups
from pickosim.reports.balance_text import balance_text
from pickosim.rule_files import load_rules
from pickosim.rules import SPECIALISTS
from pickosim.runs import run as run_module
from pickosim.runs.folder import RunFolder
from pickosim.runs.results import Results
from pickosim.stats.moments import Estimate
from pickosim.studies.arms import Arm, play_arm
from pickosim.studies.balance import CASES, HEAD_START, PICKUPS, Balance, default_levels, plan
from pickosim.studies.balance_findings import findings
from pickosim.studies.balance_options import BalanceOptions
from pickosim.studies.balance_results import FRAMES, Weighed, head_start_rows, judged, pickup_rows
from pickosim.studies.balance_search import Knob, finalists, judge, shrunk
from pickosim.studies.balance_sums import (
    Case,
    PickupJob,
    _seat_sums,
    nowhere,
    on_tile,
    starter_arms,
    starter_gains,
    starting_with,
)
from pickosim.studies.ladder import strongest
from pickosim.studies.options import make_options
from pickosim.studies.schedule import lane

TILES = "tiles={21=1,22=1,23=1,24=1,25=2,26=2,27=2,28=2}"
QUICK = ["exact_only=[]", TILES, "bratworms=3", "turn_limit=150"]
"""Short games with all specialists."""
SPOTS = "specialists={canned-worm=21,sitting-hen=23,raven=24,weasel=25,golden-die=26,apple=27}"
SEED = 7
HEADS = 38
"""Blocks of head starts beside 300 games: one for eight of them."""
BOTS = ["eager", "cautious"]

balance = partial(pickosim.balance, workers=1)
"""In this process, unless a test says otherwise."""


def planned(*args, **options) -> Balance:
    """A balance as it would be played."""
    return plan(make_options(BalanceOptions, *args, **options))


def quick(*sets: str):
    return load_rules("extrawurm", [*QUICK, SPOTS, *sets])


def alone(name: str, *sets: str):
    """Short games with one specialist."""
    return load_rules("extrawurm", [*QUICK, f"specialists={{{name}=25}}", *sets])


@pytest.fixture(scope="module")
def weighed() -> Results:
    return balance(quick(), BOTS, "2,3", 300, SEED)


@pytest.fixture(scope="module")
def varied() -> Results:
    return balance(quick(), BOTS, 2, 200, SEED, sensitivity=True, suggest=True)


def row_of(table: pl.DataFrame, **where) -> dict:
    (row,) = table.filter(**where).to_dicts()
    return row


def part_of(study: Balance, **where) -> int:
    (number,) = [
        k
        for k, part in enumerate(study.layout)
        if all(getattr(part, name) == value for name, value in where.items())
    ]
    return number


def assert_rate(row: dict, name: str, expected: Interval) -> None:
    found = [row[name], row[f"{name}_low"], row[f"{name}_high"]]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def entrant(bot: str) -> Entrant:
    (found,) = make_entrants([bot])
    return found


def worth_values(rules, specialist: str, bot: str, players: int, first: int, blocks: int):
    """What starting with a specialist brings, block by block: two (B, P) by seat, of wins and of score."""
    arms = starter_arms(rules, specialist, (bot,) * players)
    return starter_gains([play_arm(arm, SEED, first, blocks) for arm in arms])


def pickup_totals(cases: list[Case], bot: str, players: int, first: int, blocks: int):
    """The number of pick-ups and the wins that they brought, block by block: (2, C, B)."""
    totals = np.zeros((2, len(cases), blocks))
    for k, case in enumerate(cases):
        number = SPECIALISTS.index(case.specialist)
        played = branch_pickups(
            make_match([bot] * players, case.rules, SEED),
            first,
            blocks,
            np.arange(len(SPECIALISTS)) == number,
            "gone",
        )
        for place, pickup in enumerate(played.pickups):
            game, seat = int(pickup["entry"]), int(pickup["seat"])
            with_it, without = (
                (ranks == 1)[seat] / (ranks == 1).sum()
                for ranks in (played.tally.rank[game], played.branches.rank[place])
            )
            totals[:, k, game] += 1, with_it - without
    return totals


def worths(totals):
    """What a pick-up is worth in each case, and the covariance of that."""
    numbers, wins = totals.sum(axis=-1)
    means, blocks = wins / numbers, totals.shape[-1]
    moves = (totals[1] - means[:, None] * totals[0]) / numbers[:, None]
    return means, moves @ moves.T * blocks / (blocks - 1)


def by_seat(column: str, bot: str, players: int, rules, first: int, games: int) -> np.ndarray:
    """(games, players) of a column, as `pickosim.play` tells it."""
    played = pickosim.play([bot] * players, rules, games, SEED, first)
    return played.seats[column].to_numpy().reshape(games, players)


# ----------------------------------------------------------------------- every figure, from single games


@pytest.mark.parametrize("name", [name for name in SPECIALISTS if name != "raven"])
def test_worth_is_what_the_games_say(weighed, name):
    study = planned(quick(), BOTS, "2,3", 300, SEED)
    bot, players, level = "cautious", 3, 1
    blocks = HEADS
    first = lane(part_of(study, view=HEAD_START, level=level, players=players, specialist=name))
    base = nowhere(quick(), name)
    gains = {"win_share": [], "score": []}
    for seat in range(players):
        with_it = quick(f"specialists.{name}={{seat={seat}}}")
        for column, found in gains.items():
            arms = [
                by_seat(column, bot, players, rules, first, blocks) for rules in (with_it, base)
            ]
            found.append((arms[0] - arms[1].astype(float))[:, seat])
    where = {"bot": bot, "players": players, "specialist": name}
    row = row_of(weighed.head_start, **where)
    assert row["games"] == blocks * players
    for column, found in (("gain", gains["win_share"]), ("score_gain", gains["score"])):
        assert_rate(row, column, mean_interval(np.mean(found, axis=0), step=1 / players))
    for seat in range(players):
        found = row_of(weighed.head_start_by_seat, **where, seat=seat)
        assert found["games"] == blocks
        assert_rate(found, "gain", mean_interval(gains["win_share"][seat], step=1))


def test_the_mean_gain_over_seats_is_the_starters_share_above_an_even_one(weighed):
    """Whatever nobody-has-it games do, their seats win 1/P on average."""
    study = planned(quick(), BOTS, "2,3", 300, SEED)
    first = lane(part_of(study, view=HEAD_START, level=0, players=2, specialist="apple"))
    shares = [
        by_seat("win_share", "eager", 2, quick(f"specialists.apple={{seat={s}}}"), first, HEADS)[
            :, s
        ]
        for s in range(2)
    ]
    row = row_of(weighed.head_start, bot="eager", players=2, specialist="apple")
    assert row["gain"] == pytest.approx(np.mean(shares) - 1 / 2)


def test_absence_is_what_the_games_say(weighed):
    study = planned(quick(), BOTS, "2,3", 300, SEED)
    first = lane(part_of(study, view=HEAD_START, level=0, players=3, specialist="weasel"))
    played = [
        pickosim.play(["eager"] * 3, rules, HEADS, SEED, first)
        for rules in (quick(), nowhere(quick(), "weasel"))
    ]

    def measures(one):
        score = np.sort(one.seats["score"].to_numpy().reshape(-1, 3), axis=1)
        return {
            "turns": one.games["turns"].to_numpy().astype(float),
            "margin": (score[:, 2] - score[:, 1]).astype(float),
            "first_seat": one.seats.filter(seat=0)["win_share"].to_numpy() - 1 / 3,
        }

    present, absent = (measures(one) for one in played)
    for name, values in present.items():
        row = row_of(weighed.absence, bot="eager", players=3, specialist="weasel", measure=name)
        assert row["games"] == 2 * HEADS
        for column, own in (("value", values), ("without", absent[name])):
            if name == "first_seat":
                expected = scaled(share_interval(own + 1 / 3, step=1), -1 / 3, 2 / 3)
            else:
                expected = count_interval(own, step=1)
            assert_rate(row, column, expected)
        assert_rate(row, "difference", mean_interval(absent[name] - values, step=1))


def test_seen_is_what_the_games_say(weighed):
    """The ordinary games of all parts of a level count."""
    study = planned(quick(), BOTS, "2,3", 300, SEED)
    frames, wins = [], []
    for name in SPECIALISTS:
        part = part_of(study, view=HEAD_START, level=1, players=2, specialist=name)
        played = pickosim.play(["cautious"] * 2, quick(), HEADS, SEED, lane(part))
        frames.append(played.specialists)
        wins.append(played.seats.select("game", "seat", "win_share"))
    seen, won = pl.concat(frames), pl.concat(wins)
    games = HEADS * len(SPECIALISTS)
    for name in SPECIALISTS:
        own = seen.filter(specialist=name)
        row = row_of(weighed.seen, bot="cautious", players=2, specialist=name)
        held = own.filter("held_at_end").join(won, on=["game", "seat"])
        assert row["games"] == games
        assert row["games_held"] == len(held)
        assert row["held_at_end"] == pytest.approx(len(held) / games)
        for column in ("gained", "turns_held", "used"):
            blocks = [
                part.filter(specialist=name).group_by("game").agg(pl.col(column).sum())
                for part in frames
            ]
            groups = [part[column].to_numpy() for part in blocks]
            assert_rate(row, column, count_interval(*groups, step=1))
        if name == "raven":
            assert row["win_share_held"] is None
        else:
            assert row["win_share_held"] == pytest.approx(held["win_share"].mean())
            assert row["win_share_held_low"] < row["win_share_held"] < row["win_share_held_high"]


def test_pick_ups_are_what_the_games_say(weighed):
    """Number, worth, points in all and the verdict, from the ends of the games and of their branches."""
    study = planned(quick(), BOTS, "2,3", 300, SEED)
    part = part_of(study, view=PICKUPS, level=1, players=3)
    cases = [Case(name, quick()) for name in SPECIALISTS]
    totals = pickup_totals(cases, "cautious", 3, lane(part), 300)
    means, covariance = worths(totals)
    centre = np.eye(6) - 1 / 6
    errors = np.sqrt((centre @ covariance @ centre).diagonal())
    for k, name in enumerate(SPECIALISTS):
        row = row_of(weighed.pickups, bot="cautious", players=3, specialist=name)
        assert row["games"] == 300
        assert_rate(row, "pick_ups", count_interval(totals[0, k], step=1))
        assert_rate(row, "handed_out", mean_interval(totals[1, k], step=1))
        assert row["gain"] == pytest.approx(means[k])
        half = (row["gain_high"] - row["gain_low"]) / 2
        plain = norm.ppf(0.975) * sqrt(covariance[k, k])
        assert plain < half < 1.3 * plain  # Student's t, and two more games that nobody played
        assert row["from_mean"] == pytest.approx(means[k] - means.mean())
        corrected = t.ppf(1 - 0.025 / 6, 299) * errors[k]
        assert row["from_mean_high"] - row["from_mean"] == pytest.approx(corrected)


def test_phases_and_standings_add_up_to_all_pick_ups(weighed):
    for row in weighed.pickups.to_dicts():
        own = {name: row[name] for name in ("bot", "players", "specialist")}
        for by in ("phase", "standing", "former"):
            groups = weighed.pickups_by.filter(by=by, **own)
            assert groups["pick_ups"].sum() == pytest.approx(row["pick_ups"])
            for name in ("gain", "score_gain"):
                mean = (groups[name] * groups["pick_ups"]).sum() / row["pick_ups"]
                assert mean == pytest.approx(row[name])


@pytest.mark.parametrize(
    ("name", "option", "setting"),
    [("weasel", "specialists.weasel", "28"), ("apple", "apple_worms", "5")],
)
def test_sensitivity_is_what_the_games_say(varied, name, option, setting):
    """The same blocks under changed rules, and what differs from the rules as given."""
    study = planned(quick(), BOTS, 2, 200, SEED, sensitivity=True, suggest=True)
    part = part_of(study, view=CASES, level=0, players=2, specialist=name)
    cases = [Case(name, quick(f"{option}={setting}")), Case(name, quick())]
    totals = pickup_totals(cases, "eager", 2, lane(part), 50)
    means, covariance = worths(totals)
    where = {"bot": "eager", "players": 2, "specialist": name, "option": option}
    row = row_of(varied.sensitivity, **where, setting=setting)
    given = row_of(varied.sensitivity.filter("as_given"), **where)
    assert row["games"] == 50
    assert not row["as_given"]
    for k, found in enumerate((row, given)):
        assert found["gain"] == pytest.approx(means[k])
        assert found["pick_ups"] == pytest.approx(totals[0, k].mean())
    assert row["difference"] == pytest.approx(means[0] - means[1])
    error = sqrt(covariance[0, 0] - 2 * covariance[0, 1] + covariance[1, 1])
    half = (row["difference_high"] - row["difference_low"]) / 2
    assert half == pytest.approx(norm.ppf(0.975) * error)
    assert given["difference"] is None and given["p_adjusted"] is None


def test_p_values_are_corrected_for_the_whole_table(weighed):
    for table in (weighed.pickups, weighed.head_start, weighed.absence):
        corrected = holm(table["p_value"].to_list())
        np.testing.assert_allclose(table["p_adjusted"].to_numpy(), corrected)


def test_tables_have_their_schemas_and_one_row_each(weighed, varied):
    assert set(varied.frames) == set(FRAMES)
    for name, frame in FRAMES.items():
        assert dict(varied.frames[name].schema) == frame.schema
    assert len(weighed.pickups) == len(weighed.head_start) == len(weighed.seen) == 4 * 6
    assert len(weighed.head_start_by_seat) == 2 * 6 * (2 + 3)
    assert len(weighed.absence) == 4 * 6 * 3
    numbers = {"raven": "bratworms", "golden-die": "golden_die_faces", "apple": "apple_worms"}
    options = [*(f"specialists.{name}" for name in SPECIALISTS), *numbers.values()]
    assert sorted(varied.sensitivity["option"].unique().to_list()) == sorted(options)
    one = ["bot", "players", "specialist", "option", "setting"]
    assert not varied.sensitivity.select(one).is_duplicated().any()
    assert len(varied.sensitivity.filter("as_given")) == 2 * len(options)
    tiles = varied.sensitivity.filter(option="specialists.apple", bot="eager")
    assert tiles["setting"].to_list() == [str(tile) for tile in quick().tiles]


def test_all_games_are_counted(weighed, varied):
    heads = sum(6 * 2 * HEADS * (players + 2) for players in (2, 3))
    branches = sum(row["pick_ups"] * row["games"] for row in weighed.pickups.to_dicts())
    assert weighed.games == pytest.approx(heads + 4 * 300 + branches)
    extra = {"sensitivity", "suggestion", "suggestion_gains"}
    assert set(weighed.frames) == set(FRAMES) - extra
    plain = balance(quick(), BOTS, 2, 200, SEED)
    assert varied.games > plain.games
    for name in plain.frames:
        assert_frame_equal(plain.frames[name], varied.frames[name])


# ------------------------------------------------------------------------------------------ the raven


def test_to_start_with_the_raven_is_to_have_had_its_visit():
    """With a supply that never ends, and a bot that minds neither: one worm more, and nothing else."""
    rules, bots = quick("bratworms=99"), ("eager", "eager")
    for seat in range(2):
        arm = starting_with(rules, "raven", seat, bots)
        assert arm.bots == bots
        assert arm.rules.specialists["raven"] == 22
        assert arm.bratworm_to == seat
        with_visit = play_arm(arm, SEED, 0, 300)
        standing = play_arm(Arm(bots, arm.rules), SEED, 0, 300)
        extra = with_visit.bratworms.astype(int) - standing.bratworms
        assert (extra[:, seat] == 1).all()
        assert (extra[:, 1 - seat] == 0).all()
        np.testing.assert_array_equal(with_visit.turns, standing.turns)


def test_the_raven_brings_nothing_where_there_is_nothing_to_bring():
    rules = alone("raven", "bratworms=0")
    assert starting_with(rules, "raven", 0, ("eager",) * 2).bratworm_to is None
    found = balance(rules, ["eager"], 2, 100)
    row = row_of(found.head_start)
    assert row["score_gain"] == row["gain"] == 0
    assert row_of(found.pickups)["pick_ups"] == 0
    assert row_of(found.pickups)["gain"] is None


def test_bratworms_do_not_multiply():
    played = play_arm(starting_with(quick(), "raven", 1, ("eager",) * 3), SEED, 0, 400)
    assert played.bratworms.sum(axis=1).max() <= quick().bratworms
    assert played.bratworms.sum(axis=1).min() >= 1


def test_a_raven_with_nowhere_to_go_is_out():
    rules = load_rules(
        "extrawurm",
        ["tiles={21=1,22=1}", "exact_only=[]", "specialists={apple=21,weasel=22}"],
    )
    assert "raven" not in starting_with(rules, "raven", 0, ("eager",) * 2).rules.specialists


# ---------------------------------------------------------------------------- placebos, known effects


@pytest.mark.parametrize("bot", ["eager", "cautious"])
def test_an_apple_worth_nothing_and_alone_changes_nothing(bot):
    found = balance(alone("apple", "apple_worms=0"), [bot], "2,3", 200, sensitivity=True)
    for row in found.head_start.to_dicts():
        assert (row["gain"], row["score_gain"], row["p_adjusted"]) == (0, 0, 1)
        assert row["gain_low"] < 0 < row["gain_high"] < 0.1
    assert (found.head_start_by_seat["gain"] == 0).all()
    assert (found.absence["difference"] == 0).all()
    tiles = found.sensitivity.filter(option="specialists.apple")
    assert (tiles["gain"] == 0).all()
    assert (tiles["pick_ups"] > 0.3).all()
    for row in found.pickups.to_dicts():
        assert (row["gain"], row["score_gain"], row["handed_out"], row["p_adjusted"]) == (
            0,
            0,
            0,
            1,
        )
    assert (found.pickups_by["gain"] == 0).all()


FICKLE = '''
import numpy as np

from pickosim.bots.strategy import Strategy


class Fickle(Strategy):
    """Plays at random; where the weasel is shifts its luck, but makes it neither better nor worse."""

    def pick(self, turn):
        legal = turn.legal
        nth = np.floor(self._luck(turn) * legal.sum(axis=1)).astype(int)
        return (legal & (legal.cumsum(axis=1) == nth[:, None] + 1)).argmax(axis=1)

    def stop(self, turn):
        return turn.can_claim & (self._luck(turn) < 0.5)

    def reroll(self, turn):
        return np.zeros(len(turn), bool)

    def _luck(self, turn):
        weasel = turn.holds == 3
        place = np.where(weasel.any(axis=1), 1 + weasel.argmax(axis=1), 0)
        return (turn.random() + 0.37 * place) % 1
'''


@pytest.fixture(scope="module")
def fickle(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("bots") / "fickle.py"
    path.write_text(FICKLE, encoding="utf-8")
    return f"{path}:Fickle"


@pytest.mark.long
def test_a_handicap_that_does_nothing_has_intervals_that_cover_nothing_95_percent_of_the_time(
    fickle,
):
    """Random players who never use the weasel: it changes their games, and no one's chances."""
    rules = load_rules(
        "classic", ["tiles={21=1,22=1,23=1,24=2}", "specialists={weasel=22}", "turn_limit=60"]
    )
    repetitions, blocks = 200, 100
    games = repetitions * blocks
    gain, score_gain = worth_values(rules, "weasel", fickle, 2, 0, games)
    job = PickupJob(entrant(fickle), 2, rules, ("weasel",), "gone")
    covered = {"gain": 0, "score_gain": 0, "pick-up": 0}
    for own in np.split(np.arange(games), repetitions):  # every repetition has dice of its own
        sums = {
            "blocks": np.array(blocks),
            **_seat_sums("gain", gain[own]),
            **_seat_sums("score_gain", score_gain[own]),
        }
        (row,) = head_start_rows([Weighed(fickle, 2, "weasel", sums)])
        for name in ("gain", "score_gain"):
            assert row[f"{name}_low"] < row[f"{name}_high"]
            covered[name] += row[f"{name}_low"] <= 0 <= row[f"{name}_high"]
        pickups, _ = job.play(SEED, games + int(own[0]), blocks)
        (row,) = pickup_rows([Weighed(fickle, 2, "", pickups)], ["weasel"], 0.01)
        covered["pick-up"] += row["gain_low"] <= 0 <= row["gain_high"]
    for count in covered.values():
        assert 0.90 * repetitions <= count <= 0.99 * repetitions


def test_the_apples_worth_grows_with_its_worms():
    found = balance(alone("apple"), ["eager"], 2, 4000, SEED, sensitivity=True)
    rows = found.sensitivity.filter(option="apple_worms")
    assert rows["setting"].to_list() == ["0", "1", "2", "3", "4", "5", "6"]
    gains = rows["gain"].to_list()
    assert gains[0] == 0
    assert gains == sorted(gains)
    assert rows["gain_low"][3] > 0
    assert 0 < gains[1] < gains[3] < gains[6]


def test_the_golden_dies_worth_grows_with_its_faces():
    worths = [
        row_of(
            balance(
                alone("golden-die", f"golden_die_faces={faces}"), ["cautious"], 2, 4000, SEED
            ).pickups
        )
        for faces in ("[1,1,1,1,1,1]", "[1,2,3,4,5,worm]", "[5,5,worm,worm,worm,worm]")
    ]
    worst, middle, best = worths
    assert worst["gain"] < middle["gain"] < best["gain"]
    assert worst["gain_high"] < best["gain_low"]


# ---------------------------------------------------------------------------------------- the same run


def small(**options) -> Results:
    return balance(
        quick(),
        ["eager"],
        2,
        240,
        SEED,
        specialists=["raven", "apple"],
        sensitivity=True,
        suggest=True,
        **options,
    )


@pytest.fixture(scope="module")
def whole() -> Results:
    return small()


def assert_same(a: Results, b: Results) -> None:
    assert list(a.frames) == list(b.frames)
    for name, table in a.frames.items():
        assert_frame_equal(table, b.frames[name], check_exact=True)
    assert a.manifest["result"] == b.manifest["result"]


@pytest.mark.parametrize("options", [{"chunk": 17}, {"chunk": 50, "workers": 2}])
def test_results_are_the_same_for_any_chunks_and_workers(whole, options, monkeypatch):
    monkeypatch.setattr(run_module, "SMALL_STAGE", 0)  # two workers play, and not this process
    assert_same(small(**options), whole)


def test_a_run_that_was_interrupted_ends_the_same(whole, tmp_path):
    begun = small(out=tmp_path / "run")
    assert_same(begun, whole)
    folder = RunFolder(tmp_path / "run")
    shards = sorted((tmp_path / "run" / "sums").iterdir())
    for shard in shards[::2]:
        shard.unlink()
    folder.write_manifest(folder.manifest() | {"status": "stopped"})
    assert_same(pickosim.resume(tmp_path / "run", workers=1), whole)


def test_a_plan_makes_the_same_study():
    study = planned(
        "extrawurm",
        ["eager", "threshold:target=25"],
        "2-4",
        "10k",
        3,
        set=["apple_worms=5", "specialists.weasel={seat=1}"],
        specialists=["weasel"],
        precision="0.5%",
        sensitivity=True,
    )
    assert Balance.from_plan(json.loads(json.dumps(study.plan))) == study
    assert study.plan["given_rules"]["set"][0] == "apple_worms=5"


def test_precision_is_half_the_width_of_the_widest_interval():
    found = balance(quick(), ["eager"], 2, "200k", precision="1%", specialists=["apple", "raven"])
    halves = ((found.pickups["gain_high"] - found.pickups["gain_low"]) / 2).to_list()
    assert max(halves) <= 0.01
    assert found.manifest["result"]["widest_half"] == pytest.approx(max(halves))
    assert max(found.pickups["games"]) < 200_000
    capped = balance(quick(), ["eager"], 2, 500, precision="0.1%", specialists=["apple"])
    assert capped.pickups["games"].to_list() == [500]
    assert any("not reached within 500 games" in remark for remark in capped.remarks)


def test_looks_are_fixed_and_grow():
    study = planned("extrawurm", ["eager"], 4, "1M", precision="0.3%", chunk=9999)
    assert study.looks[0] >= 4000
    assert study.looks[-1] == 1_000_000
    assert all(b >= 1.5 * a for a, b in pairwise(study.looks[:-1]))


# ----------------------------------------------------------------------------------- which specialists


def test_a_specialist_that_is_not_in_the_rules_can_be_weighed():
    rules = load_rules("classic", ["tiles={21=1,22=1,23=1,24=1}"])
    found = balance(rules, ["eager"], 2, 400, SEED, specialists=["apple"], sensitivity=True)
    row = row_of(found.head_start)
    assert row["gain"] > 0
    assert len(found.pickups) == len(found.seen) == len(found.absence) == 0
    first = lane(0)
    shares = [
        by_seat(
            "win_share",
            "eager",
            2,
            rules.with_options({"specialists.apple": {"seat": s}}),
            first,
            200,
        )
        for s in range(2)
    ]
    assert row["gain"] == pytest.approx(
        np.mean([share[:, s] for s, share in enumerate(shares)]) - 0.5
    )
    assert any("Not in the rules classic" in remark for remark in found.remarks)
    tiles = found.sensitivity.filter(option="specialists.apple")
    assert tiles["setting"].to_list() == ["21", "22", "23", "24"]
    assert not tiles["as_given"].any()


def test_specialists_and_levels_may_be_given_as_one_text():
    listed = balance(quick(), ["eager", "cautious"], 2, 60, specialists=["raven", "apple"])
    written = balance(quick(), "eager,cautious", "2", 60, specialists="apple, raven")
    assert listed.head_start["specialist"].unique().sort().to_list() == ["apple", "raven"]
    assert_same(written, listed)


def test_who_stands_on_a_tile_changes_places():
    swapped = on_tile(quick(), "apple", 21)
    assert dict(swapped.specialists) == dict(quick().specialists) | {"apple": 21, "canned-worm": 27}
    assert on_tile(quick(), "apple", 27) == quick()
    assert dict(on_tile(quick(), "apple", 28).specialists)["apple"] == 28


def test_one_that_starts_with_a_player_is_weighed_in_all_seats():
    rules = quick("specialists.apple={seat=0}")
    found = balance(rules, ["eager"], 2, 60, specialists=["apple"], sensitivity=True)
    given = row_of(balance(quick(), ["eager"], 2, 60, specialists=["apple"]).head_start)
    assert row_of(found.head_start)["gain"] == given["gain"]
    taken = {21, 23, 24, 25, 26}
    tiles = found.sensitivity.filter(option="specialists.apple")["setting"].to_list()
    assert tiles == [str(tile) for tile in quick().tiles if tile not in taken]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"rules": "classic"}, "The rules classic have no specialists; take --rules extrawurm"),
        ({"specialists": ["ravn"]}, 'No specialist is named "ravn"; did you mean "raven"?'),
        ({"specialists": []}, "Name one specialist at least."),
        ({"bots": []}, "A level of play is a bot"),
        ({"bots": ["eager", "eager"]}, "named twice"),
        ({"bots": ["eagr"]}, "eager"),
        ({"players": 8}, "2 to 7 players can play, not 8"),
        ({"games": "lots"}, "Write games as a whole number"),
        ({"precision": "3"}, "A precision must be above 0"),
        ({"set": ["specialists.apple={seat=3}"], "players": 3}, "the seats are 0 to 2"),
        (
            {"set": ["specialists.apple={seat=1}"]},
            "The canned-worm cannot be weighed: .*both start with seat 1",
        ),
        (
            {"suggest": True, "specialists": ["apple"]},
            "two at least must stand on tiles, and in the rules extrawurm there is 1",
        ),
    ],
)
def test_what_cannot_be_played_is_refused_before_the_first_game(arguments, words):
    arguments = {"rules": "extrawurm", "bots": ["eager"], "players": 2, "games": 100, **arguments}
    with pytest.raises(PickosimError, match=words):
        planned(**arguments)


# ----------------------------------------------------------------------------------------- suggestions


def test_a_suggestion_is_ranked_and_begins_from_the_rules(varied):
    rows = varied.suggestion.to_dicts()
    assert [row["rank"] for row in rows] == list(range(1, len(rows) + 1))
    given = [row for row in rows if row["changes"] == 0]
    assert [row["setting"] for row in given] == ["as given"]
    assert given[0]["difference"] == 0
    assert sum(row["chance_best"] for row in rows) == pytest.approx(1)
    for row in rows:
        assert row["pick_ups"] > 0
        assert row["changes"] == (0 if row["changes"] == 0 else row["setting"].count("="))
        assert row["spread_low"] <= row["spread"] <= row["spread_high"]
        assert row["difference"] == pytest.approx(row["spread"] - given[0]["spread"])
        if row["changes"]:
            quick(*row["setting"].split(", "))  # can be played as it is written


def test_the_finals_figures_are_what_the_games_say(whole):
    """Recomputed from the settings as they are written, block by block."""
    study = planned(
        quick(),
        ["eager"],
        2,
        240,
        SEED,
        specialists=["raven", "apple"],
        sensitivity=True,
        suggest=True,
    )
    part, ranked = part_of(study, view="finals"), part_of(study, view="ranked")
    by_rank = []
    for row in whole.suggestion.to_dicts():
        rules = quick(*(row["setting"].split(", ") if row["changes"] else []))
        cases = [Case(name, rules) for name in ("raven", "apple")]
        totals = pickup_totals(cases, "eager", 2, lane(part), 120)
        means, _ = worths(totals)
        assert row["spread"] == pytest.approx(np.sqrt(max(0, variance_of(totals))))
        found = whole.suggestion_gains.filter(rank=row["rank"])
        assert found["gain"].to_list() == pytest.approx(means.tolist())
        assert found["pick_ups"].to_list() == pytest.approx(totals[0].mean(axis=1).tolist())
        assert row["pick_ups"] == pytest.approx(totals[0].mean())
        assert row["mean_gain"] == pytest.approx(means.mean())
        by_rank.append(variance_of(pickup_totals(cases, "eager", 2, lane(ranked), 120)))
    assert by_rank == sorted(by_rank), "ranked by other games than those reported"


def variance_of(totals):
    """Between two specialists, what chance adds to it taken off."""
    means, noise = worths(totals)
    return means.var(ddof=1) - (noise[0, 0] + noise[1, 1] - 2 * noise[0, 1]) / 2


def test_guesses_find_what_trying_everything_finds():
    rng = np.random.default_rng(5)
    names = ("a", "b", "c")
    knobs = [Knob(f"specialists.{name}", name, (20 + k, 23, 24)) for k, name in enumerate(names)]
    knobs.append(Knob("number", "c", (1, 2, 3)))
    moved = {knob.option: rng.normal(size=(2, 3)) for knob in knobs}
    moved["number"][:, 0] = moved["specialists.c"][:, 0]
    given = np.stack([moved[f"specialists.{name}"][:, 0] for name in names], axis=1)
    found = finalists(knobs, names, given, moved)
    assert found[0].setting == (0, 0, 0, 0)
    assert found[0].spread == pytest.approx(np.sqrt(given.var(axis=1, ddof=1).mean()))

    def spread(setting):
        gains = given.copy()
        for knob, value in zip(knobs, setting, strict=True):
            steps = moved[knob.option]
            gains[:, names.index(knob.specialist)] += steps[:, value] - steps[:, 0]
        return np.sqrt(gains.var(axis=1, ddof=1).mean())

    for changes in (1, 2, 3, 4):
        possible = [
            setting
            for setting in product(range(3), repeat=4)
            if sum(map(bool, setting)) == changes
            and len({knob.values[v] for knob, v in zip(knobs[:3], setting, strict=False)}) == 3
        ]
        best = sorted(map(spread, possible))[:2]
        assert [one.spread for one in found if one.changes == changes] == pytest.approx(best)


def test_a_spread_is_judged_without_bias_and_its_interval_covers_the_truth():
    """Finalists with known gains, and noise that they share."""
    rng = np.random.default_rng(3)
    truth = np.array([[0.0, 0.0, 0.0, 0.0], [0.04, 0.0, -0.02, 0.01], [0.2, 0.1, -0.1, 0.0]])
    blocks, scale = 400, 0.5
    squares, covered, better = [], np.zeros(3), 0
    for _ in range(300):
        common = rng.normal(0, scale, (blocks, 4))
        noise = 0.7 * common[:, None, :] + rng.normal(0, 0.5 * scale, (blocks, 3, 4))
        gain = np.rint(PARTS * (truth + noise).reshape(blocks, 12)).astype(np.int64)
        both = np.hstack([np.ones_like(gain), gain])
        part = {
            "blocks": np.array(blocks),
            "picked": both.sum(axis=0).reshape(2, 12),
            "across": both.T @ both,
        }
        finals = judge([part], 4)
        squares.append(np.where(finals.spread > 0, finals.spread**2, 0))
        true = truth.std(axis=1, ddof=1)
        covered += (finals.low <= true) & (true <= finals.high)
        better += finals.difference_low[2] > 0
        assert finals.best.sum() == pytest.approx(1)
    assert (covered[1:] / 300 > 0.9).all()
    assert covered[0] / 300 > 0.9
    assert better == 300
    assert np.mean(squares, axis=0)[2] == pytest.approx(truth[2].var(ddof=1), rel=0.03)


def test_noise_is_shrunk_away_and_signal_is_kept():
    rng = np.random.default_rng(1)
    noise = rng.normal(0, 1, 40)
    assert shrunk(noise, np.eye(40)).std() < 0.4
    signal = np.linspace(-5, 5, 40)
    kept = shrunk(signal, 0.01 * np.eye(40))
    assert np.abs(kept - signal).max() < 0.01
    assert (shrunk(np.ones(5), np.eye(5)) == 1).all()


def test_noise_that_all_values_share_shrinks_nothing():
    """With the same dice, all values are off by nearly the same: what sets them apart is signal."""
    signal = np.linspace(-0.5, 0.5, 7)
    covariance = np.full((7, 7), 1.0) + 0.001 * np.eye(7)
    assert np.abs(shrunk(signal + 1.3, covariance) - (signal + 1.3)).max() < 0.01
    assert shrunk(signal, np.eye(7)).std() < 0.01


def test_sensitivity_is_corrected_for_all_that_is_tested(varied):
    tested = varied.sensitivity.filter(pl.col("p_value").is_not_null())
    assert tested["p_adjusted"].to_list() == pytest.approx(holm(tested["p_value"].to_list()))
    assert not tested["as_given"].any()


def test_a_suggestion_moves_nobody_else(whole):
    """The other specialists keep their tiles, so that nobody is put there."""
    taken = {"21", "23", "25", "26"}
    changes = [
        text for row in whole.suggestion["setting"] for text in row.split(", ") if "=" in text
    ]
    assert changes
    assert "bratworms=0" not in changes  # which would bring the raven down to nothing
    for text in changes:
        option, _, value = text.partition("=")
        assert option in ("specialists.raven", "specialists.apple", "bratworms", "apple_worms")
        assert not (option.startswith("specialists.") and value in taken)


# ----------------------------------------------------------------------------------------------- words


def told(results: Results, width: int) -> str:
    console = Console(width=width, file=StringIO(), color_system=None)
    for one in balance_text(results):
        console.print(one)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [80, 120])
def test_what_is_told_fits_the_terminal(varied, width):
    text = told(varied, width)
    assert max(map(len, text.splitlines())) <= width
    for words in (
        "what one is worth",
        "Head start",
        "Absence",
        "an association",
        "●",
        "Suggestion",
    ):
        assert words in text


def test_a_verdict_is_where_the_corrected_interval_lies():
    def verdict(mean: float, error: float, games: int = 1000) -> tuple[str, int | None]:
        row = judged(Estimate(mean, error), 0.01, games, 6)
        low, high = Estimate(mean, error).interval(1 - 0.05 / 6)
        assert (row["from_mean_low"], row["from_mean_high"]) == pytest.approx((low, high))
        return row["verdict"], row["more_games"]

    assert verdict(0.03, 0.005) == ("too strong", None)
    assert verdict(-0.03, 0.005) == ("too weak", None)
    assert verdict(0.0, 0.001) == ("balanced", None)
    assert verdict(0.0, 0.0) == ("balanced", None)
    # An interval of ± 1.96 errors would be outside of the band; that of six comparisons is not.
    assert verdict(0.021, 0.005)[0] == "undecided"
    assert verdict(0.01, 0.005) == ("undecided", None)
    undecided, more = verdict(0.02, 0.01)
    assert undecided == "undecided" and more is not None
    # With that many more games, an interval that shrinks as the root of their number ends at the band.
    assert verdict(0.02, 0.01 / sqrt((1000 + more) / 1000), 1000 + more)[0] == "too strong"
    assert judged(Estimate(0.02, 0.001), 0.01, 1000, 1)["verdict"] is None


def test_a_specialist_that_nobody_gains_has_no_verdict_and_no_part_in_the_mean():
    found = balance(quick("bratworms=0"), ["eager"], 2, 80, SEED, pickups_only=True).pickups
    raven, others = found.filter(specialist="raven"), found.filter(pl.col("specialist") != "raven")
    assert row_of(raven)["verdict"] is None
    assert row_of(raven)["from_mean"] is None
    assert others["from_mean"].sum() == pytest.approx(0)
    expected = others["gain"] - others["gain"].mean()
    assert others["from_mean"].to_list() == pytest.approx(expected.to_list())


def test_verdicts_of_equal_specialists_are_seldom_wrong():
    """Six that are all alike, exactly at the edge of no band at all: one false alarm in 20 runs at most."""
    rng = np.random.default_rng(4)
    alarms = 0
    for _ in range(1000):
        means = rng.normal(0, 1, 6)
        apart = means - means.mean()
        rows = [judged(Estimate(mean, sqrt(5 / 6)), 1e-9, 100, 6) for mean in apart]
        alarms += any(row["verdict"] in ("too strong", "too weak") for row in rows)
    assert alarms / 1000 < 0.065


def found_of(gains: dict[tuple[str, str], tuple[float, str]], error: float) -> dict:
    """Tables of a balance that found these gains and verdicts, all as sure as each other."""
    half = norm.ppf(0.975) * error
    rows = [
        {
            "bot": bot,
            "players": 4,
            "specialist": specialist,
            "pick_ups": 2.0,
            "verdict": verdict,
            "more_games": 5000 if verdict == "undecided" else None,
            "p_adjusted": 1.0,
            **{
                name + end: value * (2 if name == "handed_out" else 1) + side * half
                for name, value in (("gain", gain), ("from_mean", gain), ("handed_out", gain))
                for end, side in (("", 0), ("_low", -1), ("_high", 1))
            },
        }
        for (bot, specialist), (gain, verdict) in gains.items()
    ]
    nothing = pl.DataFrame(schema={"specialist": pl.String, "by": pl.String, "bot": pl.String})
    views = dict.fromkeys(("pickups_by", "head_start", "seen", "absence"), nothing)
    return {"pickups": pl.DataFrame(rows), **views}


def test_the_headline_answers_at_the_strongest_level_and_says_where_levels_disagree():
    gains = {
        ("eager", "raven"): (0.02, "balanced"),
        ("eager", "apple"): (0.05, "too strong"),
        ("eager", "weasel"): (0.01, "undecided"),
        ("winner", "raven"): (0.05, "too strong"),
        ("winner", "apple"): (0.02, "undecided"),
        ("winner", "weasel"): (-0.01, "too weak"),
    }
    headline, sentences = findings(found_of(gains, 0.001), "winner", 0.01)
    assert headline == (
        "Too strong: the raven (+5.0 ± 0.2). Too weak: the weasel (-1.0 ± 0.2). Undecided: the apple "
        "(+2.0 ± 0.2). Points of win share per pick-up (`winner`, 4 players); the mean of all is +2.00, and "
        "within ± 1 of it is balanced."
    )
    told = " ".join(sentences)
    assert "more games that would tell: the apple about 5,000." in told
    assert (
        "Levels disagree about the raven: too strong with `winner`, 4 players, balanced with"
        in told
    )
    assert "disagree about the apple" not in told  # one of both is undecided
    same = dict.fromkeys(gains, (0.02, "balanced"))
    headline, _ = findings(found_of(same, 0.001), "winner", 0.01)
    assert headline.startswith("No specialist is too strong or too weak: the raven")


def test_levels_that_differ_by_chance_alone_are_seldom_said_to_differ():
    """Three levels and six specialists make 18 comparisons: corrected for, they give few false alarms."""
    rng = np.random.default_rng(2)
    alarms = 0
    every = [(bot, name) for bot in "abc" for name in SPECIALISTS]
    for _ in range(200):
        found = {key: (rng.normal(0, 0.001), "balanced") for key in every}
        _, sentences = findings(found_of(found, 0.001), "c", 0.01)
        alarms += any("The worth depends on who plays" in sentence for sentence in sentences)
    assert alarms / 200 < 0.08
    found = {(bot, name): (0.05 * (bot == "a"), "balanced") for bot, name in every}
    _, sentences = findings(found_of(found, 0.001), "c", 0.01)
    assert any("beyond chance in 12 of 18 comparisons" in sentence for sentence in sentences)


def test_the_strongest_level_is_the_one_that_wins_most():
    assert strongest(["winner", "eager", "cautious"]) == "winner"
    assert strongest(["winner", "champion", "expected"]) == "champion"
    assert strongest(["eager", "threshold:target=25", "random"]) != "random"
    assert strongest(["mine.py:A", "mine.py:B"]) == "mine.py:B"


def test_what_is_not_beyond_chance_is_not_told_as_if_it_were():
    found = balance(alone("apple", "apple_worms=0"), ["eager"], 2, 60)
    headline, sentences = findings(found.frames, "eager", 0.01)
    assert headline.startswith("A pick-up of the apple is worth +0 ± ")
    assert len(sentences) == 1
    assert "not distinguishable from zero: the apple +0 ± " in sentences[0]


def test_the_command_line(tmp_path, capsys):
    sets = [word for text in [*QUICK, SPOTS] for word in ("--set", text)]
    command = [
        "balance",
        *sets,
        "--bots",
        "eager",
        "--players",
        "2",
        "--games",
        "400",
        "--workers",
        "1",
    ]
    folder = tmp_path / "run"
    assert (
        cli.run([*command, "--specialists", "apple,raven", "--out", str(folder), "--export", "csv"])
        == 0
    )
    shown = capsys.readouterr()
    assert "Points of win share per pick-up (`eager`, 2 players)" in shown.out.splitlines()[0]
    assert pl.read_csv(folder / "pickups.csv").columns == list(FRAMES["pickups"].schema)
    assert cli.run(["resume", str(folder), "--workers", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {row["specialist"] for row in found["pickups"]} == {"apple", "raven"}
    assert found["manifest"]["result"]["headline"]
    assert cli.run(["balance", "--rules", "classic", "--out", str(tmp_path / "no")]) == 2
    assert "have no specialists" in capsys.readouterr().err
    assert not Path(tmp_path / "no").exists()


def test_pick_ups_alone_are_the_same_pick_ups(weighed):
    found = balance(quick(), BOTS, "2,3", 300, SEED, pickups_only=True)
    assert set(found.frames) == {"pickups", "pickups_by"}
    for name, table in found.frames.items():
        assert_frame_equal(table, weighed.frames[name])


def test_the_default_levels_include_the_strongest_bot_that_can_play():
    extrawurm = load_rules("extrawurm")
    heuristics = ["eager", "cautious"]
    assert default_levels(extrawurm, [2, 4], other_rules=False) == [*heuristics, "champion"]
    assert default_levels(extrawurm, [4, 6], other_rules=False) == [*heuristics, "winner"]
    assert default_levels(extrawurm, [4], other_rules=True) == [*heuristics, "winner"]
    boxed = load_rules("extrawurm-box")
    assert default_levels(boxed, [4], other_rules=False) == [*heuristics, "winner"]


def test_the_champion_is_weighed_in_every_view():
    found = balance("extrawurm", ["champion"], 2, 24, SEED, specialists="apple")
    assert {"pickups", "head_start", "absence"} <= set(found.frames)
    assert found.head_start["bot"].to_list() == ["champion"]
