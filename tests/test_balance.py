"""What specialists are worth: every figure from the games themselves, placebos and known effects."""

from __future__ import annotations

import json
from functools import partial
from io import StringIO
from itertools import pairwise
from math import sqrt
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from interval_reference import (
    Interval,
    count_interval,
    holm,
    share_interval,
)
from polars.testing import assert_frame_equal
from rich.console import Console
from scipy.stats import norm, t

import pickosim
from pickosim import cli
from pickosim.bots.loading import Entrant, make_entrants
from pickosim.errors import PickosimError
from pickosim.games.match import make_match
from pickosim.games.pickups import branch_pickups
from pickosim.reports.views import as_text
from pickosim.rule_files import load_rules
from pickosim.rules import SPECIALISTS
from pickosim.runs import run as run_module
from pickosim.runs.folder import RunFolder
from pickosim.runs.run import Results
from pickosim.stats.intervals import Estimate
from pickosim.studies.balance import Balance, Part, findings, on_tile
from pickosim.studies.ladder import strongest
from pickosim.studies.options import make_options
from pickosim.studies.pickup_worths import (
    FRAMES,
    GROUPS,
    Case,
    Level,
    PickupJob,
    centre_weights,
    judged,
    pickup_rows,
)
from pickosim.studies.schedule import lane

TILES = "tiles={21=1,22=1,23=1,24=1,25=2,26=2,27=2,28=2}"
QUICK = ["exact_only=[]", TILES, "bratworms=3", "turn_limit=150"]
"""Short games with all specialists."""
SPOTS = "specialists={canned-worm=21,sitting-hen=23,raven=24,weasel=25,golden-die=26,apple=27}"
SEED = 7
BOTS = ["eager", "cautious"]

balance = partial(pickosim.balance, workers=1)
"""In this process, unless a test says otherwise."""


def planned(*args, **options) -> Balance:
    """A balance as it would be played."""
    study: Balance = make_options(Balance, *args, **options)
    return study.checked()


def quick(*sets: str):
    return load_rules("extrawurm", [*QUICK, SPOTS, *sets])


def alone(name: str, *sets: str):
    """Short games with one specialist."""
    return load_rules("extrawurm", [*QUICK, f"specialists={{{name}=25}}", *sets])


@pytest.fixture(scope="module")
def measured() -> Results:
    return balance(quick(), BOTS, "2,3", 300, SEED)


@pytest.fixture(scope="module")
def varied() -> Results:
    return balance(quick(), BOTS, 2, 200, SEED, sensitivity=True)


def row_of(table: pl.DataFrame, **where) -> dict:
    (row,) = table.filter(**where).to_dicts()
    return row


def first_game(study: Balance, **where) -> int:
    """The first game number of a part of the run."""
    return lane(study.lane(study.layout.index(Part(**where))))


def assert_rate(row: dict, name: str, expected: Interval) -> None:
    actual = [row[name], row[f"{name}_low"], row[f"{name}_high"]]
    np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-12)


def entrant(bot: str) -> Entrant:
    return make_entrants([bot])[0]


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


def test_pick_ups_are_what_the_games_say(measured):
    """Number, worth and the verdict, from the ends of the games and of their branches."""
    study = planned(quick(), BOTS, "2,3", 300, SEED)
    first = first_game(study, level=1, players=3)
    cases = [Case(name, quick()) for name in SPECIALISTS]
    totals = pickup_totals(cases, "cautious", 3, first, 300)
    means, covariance = worths(totals)
    middle = sorted(range(6), key=lambda k: means[k])[1:-1]
    apart = np.eye(6) - np.isin(range(6), middle) / 4
    errors = np.sqrt((apart @ covariance @ apart.T).diagonal())
    for k, name in enumerate(SPECIALISTS):
        row = row_of(measured.pickups, bot="cautious", players=3, specialist=name)
        assert row["games"] == 300
        assert_rate(row, "pick_ups", count_interval(totals[0, k], step=1))
        assert row["gain"] == pytest.approx(means[k])
        half = (row["gain_high"] - row["gain_low"]) / 2
        plain = norm.ppf(0.975) * sqrt(covariance[k, k])
        assert plain < half < 1.3 * plain  # Student's t, and two more games that nobody played
        assert row["from_others"] == pytest.approx(means[k] - means[middle].mean())
        corrected = t.ppf(1 - 0.025 / 6, 299) * errors[k]
        assert row["from_others_high"] - row["from_others"] == pytest.approx(corrected)


def test_holders_are_those_of_the_same_games(measured):
    """What they win above an even share, in the games whose pick-ups are measured."""
    study = planned(quick(), BOTS, "2,3", 300, SEED)
    played = pickosim.play(
        ["cautious"] * 3, quick(), 300, SEED, first_game(study, level=1, players=3)
    )
    holders = played.specialists.filter("held_at_end").join(played.seats, on=["game", "seat"])
    for name in SPECIALISTS:
        row = row_of(measured.pickups, bot="cautious", players=3, specialist=name)
        shares = holders.filter(specialist=name)["win_share"].to_numpy()
        if name == "raven":  # nobody ever holds it
            assert len(shares) == 0
            assert row["held_above_even"] is row["held_above_even_low"] is None
        else:
            # A game has one holder at most, so the interval is nearly that of as many single games.
            expected = np.array(share_interval(shares, step=1)) - 1 / 3
            assert row["held_above_even"] == pytest.approx(expected[0])
            ends = [row["held_above_even_low"], row["held_above_even_high"]]
            assert ends == pytest.approx(expected[1:], abs=0.002)


def test_phases_and_standings_add_up_to_all_pick_ups(measured):
    for row in measured.pickups.to_dicts():
        own = {name: row[name] for name in ("bot", "players", "specialist")}
        for by in ("phase", "standing", "former"):
            groups = measured.pickups_by.filter(by=by, **own)
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
    study = planned(quick(), BOTS, 2, 200, SEED, sensitivity=True)
    first = first_game(study, level=0, players=2, specialist=name)
    cases = [Case(name, quick(f"{option}={setting}")), Case(name, quick())]
    totals = pickup_totals(cases, "eager", 2, first, 50)
    means, covariance = worths(totals)
    where = {"bot": "eager", "players": 2, "specialist": name, "option": option}
    row = row_of(varied.sensitivity, **where, setting=setting)
    reference = row_of(varied.sensitivity.filter("as_given"), **where)
    assert row["games"] == 50
    assert not row["as_given"]
    for k, varied_row in enumerate((row, reference)):
        assert varied_row["gain"] == pytest.approx(means[k])
        assert varied_row["pick_ups"] == pytest.approx(totals[0, k].mean())
    assert row["difference"] == pytest.approx(means[0] - means[1])
    error = sqrt(covariance[0, 0] - 2 * covariance[0, 1] + covariance[1, 1])
    half = (row["difference_high"] - row["difference_low"]) / 2
    assert half == pytest.approx(norm.ppf(0.975) * error)
    assert reference["difference"] is None and reference["p_adjusted"] is None


def test_p_values_are_corrected_for_the_whole_table(measured):
    corrected = holm(measured.pickups["p_value"].to_list())
    np.testing.assert_allclose(measured.pickups["p_adjusted"].to_numpy(), corrected)


def test_tables_have_their_schemas_and_one_row_each(measured, varied):
    assert set(varied.frames) == set(FRAMES)
    for name, frame in FRAMES.items():
        assert dict(varied.frames[name].schema) == frame.schema
    assert len(measured.pickups) == 4 * 6
    numbers = {"raven": "bratworms", "golden-die": "golden_die_faces", "apple": "apple_worms"}
    options = [*(f"specialists.{name}" for name in SPECIALISTS), *numbers.values()]
    assert sorted(varied.sensitivity["option"].unique().to_list()) == sorted(options)
    keys = ["bot", "players", "specialist", "option", "setting"]
    assert not varied.sensitivity.select(keys).is_duplicated().any()
    assert len(varied.sensitivity.filter("as_given")) == 2 * len(options)
    tiles = varied.sensitivity.filter(option="specialists.apple", bot="eager")
    assert tiles["setting"].to_list() == [str(tile) for tile in quick().tiles]


def test_all_games_are_counted(measured, varied):
    branches = sum(row["pick_ups"] * row["games"] for row in measured.pickups.to_dicts())
    assert measured.games_played == pytest.approx(4 * 300 + branches)
    assert set(measured.frames) == set(FRAMES) - {"sensitivity"}
    plain = balance(quick(), BOTS, 2, 200, SEED)
    assert varied.games_played > plain.games_played
    for name in plain.frames:
        assert_frame_equal(plain.frames[name], varied.frames[name])


# ---------------------------------------------------------------------------- placebos, known effects


@pytest.mark.parametrize("bot", ["eager", "cautious"])
def test_an_apple_worth_nothing_and_alone_changes_nothing(bot):
    results = balance(alone("apple", "apple_worms=0"), [bot], "2,3", 200, sensitivity=True)
    tiles = results.sensitivity.filter(option="specialists.apple")
    assert (tiles["gain"] == 0).all()
    assert (tiles["pick_ups"] > 0.3).all()
    for row in results.pickups.to_dicts():
        assert (row["gain"], row["score_gain"], row["p_adjusted"]) == (0, 0, 1)
        assert row["gain_low"] < 0 < row["gain_high"] < 0.1
    assert (results.pickups_by["gain"] == 0).all()


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
    job = PickupJob((entrant(fickle),), 2, (Case("weasel", rules),), "gone")
    covered = {"gain": 0, "score_gain": 0}
    for number in range(repetitions):  # every repetition has dice of its own
        sums, _ = job.play(SEED, (repetitions + number) * blocks, blocks)
        (row,) = pickup_rows([Level(fickle, 2, sums)], ["weasel"], ["weasel"], 0.01)
        for name in covered:
            assert row[f"{name}_low"] < row[f"{name}_high"]
            covered[name] += row[f"{name}_low"] <= 0 <= row[f"{name}_high"]
    for count in covered.values():
        assert 0.90 * repetitions <= count <= 0.99 * repetitions


def test_the_apples_worth_grows_with_its_worms():
    results = balance(alone("apple"), ["eager"], 2, 4000, SEED, sensitivity=True)
    rows = results.sensitivity.filter(option="apple_worms")
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
    monkeypatch.setattr(run_module, "SMALL_CHUNK", 0)  # two workers play, and not this process
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
    again = Balance.from_plan(json.loads(json.dumps(study.plan)))
    assert again == study
    assert (again.plan, again.rule_set) == (study.plan, study.rule_set)
    assert study.plan["set"][0] == "apple_worms=5"


def test_precision_is_half_the_width_of_the_widest_interval():
    results = balance(quick(), ["eager"], 2, "200k", precision="1%", specialists=["apple", "raven"])
    halves = ((results.pickups["gain_high"] - results.pickups["gain_low"]) / 2).to_list()
    assert max(halves) <= 0.01
    assert results.manifest["result"]["widest_half"] == pytest.approx(max(halves))
    assert max(results.pickups["games"]) < 200_000
    capped = balance(quick(), ["eager"], 2, 500, precision="0.1%", specialists=["apple"])
    assert capped.pickups["games"].to_list() == [500]
    assert any("not reached within 500 games" in remark for remark in capped.remarks)


def test_published_figures_are_played_with_the_same_dice():
    study = planned(quick(), BOTS, "2,3", 300, SEED, sensitivity=True)
    assert [study.lane(k) for k in range(study.parts)] == [*range(4), *range(28, 52)]


def test_looks_are_fixed_and_grow():
    study = planned("extrawurm", ["eager"], 4, "1M", precision="0.3%", chunk=9999)
    assert study.looks[0] >= 4000
    assert study.looks[-1] == 1_000_000
    assert all(b >= 1.5 * a for a, b in pairwise(study.looks[:-1]))


# ----------------------------------------------------------------------------------- which specialists


def test_specialists_and_levels_may_be_given_as_one_text():
    listed = balance(quick(), ["eager", "cautious"], 2, 60, specialists=["raven", "apple"])
    written = balance(quick(), "eager,cautious", "2", 60, specialists="apple, raven")
    assert listed.pickups["specialist"].unique().sort().to_list() == ["apple", "raven"]
    assert_same(written, listed)


def test_who_stands_on_a_tile_changes_places():
    swapped = on_tile(quick(), "apple", 21)
    assert dict(swapped.specialists) == dict(quick().specialists) | {"apple": 21, "canned-worm": 27}
    assert on_tile(quick(), "apple", 27) == quick()
    assert dict(on_tile(quick(), "apple", 28).specialists)["apple"] == 28


def test_one_that_starts_with_a_player_can_be_put_on_tiles_that_are_free():
    rules = quick("specialists.apple={seat=0}")
    results = balance(rules, ["eager"], 2, 60, specialists=["apple"], sensitivity=True)
    assert len(results.pickups) == 1
    taken = {21, 23, 24, 25, 26}
    tiles = results.sensitivity.filter(option="specialists.apple")
    assert tiles["setting"].to_list() == [str(t) for t in quick().tiles if t not in taken]
    assert not tiles["as_given"].any()


def test_pick_ups_that_never_happen_have_no_worth():
    results = balance(alone("raven", "bratworms=0"), ["eager"], 2, 100)
    row = row_of(results.pickups)
    assert row["pick_ups"] == 0
    assert row["gain"] is row["score_gain"] is row["held_above_even"] is None
    assert results.headline == "Nobody gained any of these specialists in these games."


def test_what_could_be_chance_is_not_called_significant():
    results = balance(alone("apple", "apple_worms=0"), ["eager"], 2, 60)
    headline, sentences = findings(results.frames, "eager", 0.01)
    assert headline.startswith("A pick-up of the apple is worth +0 ± ")
    assert not any("significant" in sentence for sentence in sentences)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"rules": "classic"}, "The rules classic have no specialists; take --rules extrawurm"),
        ({"specialists": ["ravn"]}, 'No specialist is named "ravn"; did you mean "raven"?'),
        ({"specialists": []}, "Name one specialist at least."),
        ({"bots": []}, "Name at least one bot"),
        ({"bots": ["eager", "eager"]}, "named twice"),
        ({"bots": ["eagr"]}, "eager"),
        ({"players": 8}, "2 to 7 players can play, not 8"),
        ({"games": "lots"}, "Write games as a whole number"),
        ({"precision": "3"}, "A precision must be above 0"),
        ({"set": ["specialists.apple={seat=3}"], "players": 3}, "the seats are 0 to 2"),
        (
            {"rules": "extrawurm-box", "specialists": ["raven", "apple"]},
            "Nobody can gain the apple with the rules extrawurm-box; .*--set specialists.apple=36",
        ),
    ],
)
def test_what_cannot_be_played_is_refused_before_the_first_game(arguments, words):
    arguments = {"rules": "extrawurm", "bots": ["eager"], "players": 2, "games": 100, **arguments}
    with pytest.raises(PickosimError, match=words):
        planned(**arguments)


def test_sensitivity_is_corrected_for_all_that_is_tested(varied):
    tested = varied.sensitivity.filter(pl.col("p_value").is_not_null())
    assert tested["p_adjusted"].to_list() == pytest.approx(holm(tested["p_value"].to_list()))
    assert not tested["as_given"].any()


# ----------------------------------------------------------------------------------------------- words


def terminal_text(results: Results, width: int) -> str:
    console = Console(width=width, file=StringIO(), color_system=None)
    for part in as_text(results):
        console.print(part)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [80, 120])
def test_what_is_told_fits_the_terminal(varied, width):
    text = terminal_text(varied, width)
    assert max(map(len, text.splitlines())) <= width
    for words in (
        "What a pick-up is worth",
        "by phase, standing",
        "●",
        "by starting tile",
        "° as given",
    ):
        assert words in " ".join(text.split())


def test_a_balance_prints_one_screen(measured):
    """Headline, the table that it is about, at most five findings, and how the figures are meant."""
    console = Console(width=100, file=StringIO(), color_system=None)
    for part in as_text(measured, full=False):
        console.print(part)
    text = console.file.getvalue()
    assert len(text.splitlines()) <= 38  # and two lines that say where the rest is
    assert text.count("What a pick-up is worth") == 1
    assert "What a pick-up is worth (cautious, 2 players)" in text


def test_a_verdict_is_where_the_corrected_interval_lies():
    def verdict(mean: float, error: float) -> str:
        row = judged(Estimate(mean, error), 0.01, 1000, 6)
        low, high = Estimate(mean, error).interval(1 - 0.05 / 6)
        assert (row["from_others_low"], row["from_others_high"]) == pytest.approx((low, high))
        assert row["verdict"] == "undecided" or row["more_games"] is None
        return row["verdict"]

    assert verdict(0.03, 0.005) == "too strong"
    assert verdict(-0.03, 0.005) == "too weak"
    assert verdict(0.0, 0.001) == verdict(0.0, 0.0) == "balanced"
    # An interval of ± 1.96 errors would be outside of the band; that of six comparisons is not.
    assert verdict(0.021, 0.005) == "undecided"
    assert judged(Estimate(0.02, 0.001), 0.01, 1000, 1)["verdict"] is None


@pytest.mark.parametrize("mean", [0.025, -0.025, 0.004, -0.004, 0.0])
def test_the_games_that_would_decide_do_so_in_80_percent_of_runs(mean):
    """If the difference is as measured: on either side of the band, inside near an end, and in the middle."""
    more = judged(Estimate(mean, 0.01), 0.01, 10_000, 6)["more_games"]
    error = 0.01 / sqrt(1 + more / 10_000)
    drawn = np.random.default_rng(3).normal(mean, error, 4000)
    verdicts = [judged(Estimate(one, error), 0.01, 1, 6)["verdict"] for one in drawn]
    right = "balanced" if abs(mean) < 0.01 else "too strong" if mean > 0 else "too weak"
    assert verdicts.count(right) / 4000 == pytest.approx(0.8, abs=0.03)
    assert set(verdicts) == {right, "undecided"}


def test_no_number_of_games_decides_at_the_edge_of_the_band():
    assert judged(Estimate(0.01, 0.005), 0.01, 1000, 6)["more_games"] is None


def test_a_worth_is_compared_with_the_mean_without_the_highest_and_the_lowest():
    for outlier in (
        0.04,
        0.09,
        0.9,
    ):  # however far off it is, no other specialist is too weak for it
        means = np.array([0.01, outlier, 0.02, -0.05, 0.03, 0.02])
        np.testing.assert_allclose(centre_weights(means) @ means, 0.02)
    few = np.array([0.01, 0.09, 0.02])
    np.testing.assert_allclose(centre_weights(few) @ few, [0.055, 0.015, 0.05])
    np.testing.assert_allclose(centre_weights(few[:2]) @ few[:2], [0.09, 0.01])
    np.testing.assert_allclose(centre_weights(few[:1]) @ few[:1], 0)


def test_a_specialist_that_nobody_gains_has_no_verdict_and_no_part_in_the_mean():
    pickups = balance(quick("bratworms=0"), ["eager"], 2, 80, SEED).pickups
    raven = pickups.filter(specialist="raven")
    others = pickups.filter(pl.col("specialist") != "raven")
    assert row_of(raven)["verdict"] is None
    assert row_of(raven)["from_others"] is None
    expected = others["gain"] - others["gain"].sort()[1:-1].mean()
    assert others["from_others"].to_list() == pytest.approx(expected.to_list())


def test_verdicts_of_equal_specialists_are_seldom_wrong():
    """Six that are all alike, exactly at the edge of no band at all: one false alarm in 20 runs at most."""
    rng = np.random.default_rng(4)
    alarms = 0
    for _ in range(1000):
        means = rng.normal(0, 1, 6)
        weights = np.eye(6) - centre_weights(means)
        errors = np.sqrt((weights @ weights.T).diagonal())
        rows = [
            judged(Estimate(mean, error), 1e-9, 100, 6)
            for mean, error in zip(weights @ means, errors, strict=True)
        ]
        alarms += any(row["verdict"] in ("too strong", "too weak") for row in rows)
    assert alarms / 1000 < 0.065


def test_one_specialist_that_is_asked_for_gets_the_verdict_that_it_has_among_all(measured):
    alone = balance(quick(), BOTS, "2,3", 300, SEED, specialists="weasel")
    rows = measured.pickups.filter(specialist="weasel")
    assert_frame_equal(alone.pickups.drop("p_adjusted"), rows.drop("p_adjusted"))
    assert_frame_equal(alone.pickups_by, measured.pickups_by.filter(specialist="weasel"))
    verdict = row_of(rows, bot="cautious", players=2)["verdict"]
    assert f"{verdict}. Points of win share per pick-up, compared with the others" in alone.headline


def found_of(gains: dict[tuple[str, str], tuple[float, str]], error: float) -> dict:
    """Tables of a balance that found these gains and verdicts, all as sure as each other."""
    half = norm.ppf(0.975) * error
    rows = [
        {
            "bot": bot,
            "players": 4,
            "specialist": specialist,
            "pick_ups": 2.0,
            "games": 10_000,
            "verdict": verdict,
            "more_games": 5000 if verdict == "undecided" else None,
            "p_adjusted": 1.0,
            **{
                name + end: value + side * half
                for name, value in (("gain", gain), ("from_others", gain - 0.02))
                for end, side in (("", 0), ("_low", -1), ("_high", 1))
            },
        }
        for (bot, specialist), (gain, verdict) in gains.items()
    ]
    groups = pl.DataFrame(schema={"specialist": pl.String, "by": pl.String, "bot": pl.String})
    return {"pickups": pl.DataFrame(rows), "pickups_by": groups}


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
        "When all four play like `winner`, a strong bot: the raven (+3.0 ± 0.2) is too strong; the weasel (-3.0 ± 0.2) "
        "is too weak; the apple is undecided. Points of win share per pick-up, compared with the others "
        "(+2.00); within ± 1 is balanced."
    )
    text = " ".join(sentences)
    assert "To decide, play again with `--games 15k` for the apple (a verdict" in text
    assert (
        "With `winner`, 4 players, the raven is too strong, but balanced with `eager`, 4 players."
        in text
    )
    same = dict.fromkeys(gains, (0.02, "balanced"))
    headline, _ = findings(found_of(same, 0.001), "winner", 0.01)
    assert (
        "the raven (+0.0 ± 0.2), the apple (+0.0 ± 0.2) and the weasel (+0.0 ± 0.2) are balanced."
        in headline
    )


def test_the_headline_says_how_good_the_bot_is():
    for bot, words in (
        ("champion", "play like `champion`, the strongest bot:"),
        ("eager", "play like `eager`, a weak bot:"),
        ("mine.py", "play like `mine.py`:"),
    ):
        headline, _ = findings(found_of({(bot, "raven"): (0.02, "balanced")}, 0.001), bot, 0.01)
        assert words in headline


def test_each_undecided_specialist_has_its_number_of_games():
    gains = {("a", name): (0.02, "undecided") for name in ("raven", "apple", "weasel")}
    more = {"raven": 1_200_000, "apple": None, "weasel": 330_000}
    tables = found_of(gains, 0.001)
    tables["pickups"] = tables["pickups"].with_columns(
        more_games=pl.col("specialist").replace_strict(more, return_dtype=pl.Int64)
    )
    _, (decide, edge, *_) = findings(tables, "a", 0.01)
    assert decide == (
        "To decide, play again with `--games 340k` for the weasel; `--games 1.3M` for the raven (a verdict in about "
        "80 % of such runs)."
    )
    assert edge == "The apple is at the edge of the band, where no number of games decides."


def by_phase(gains: np.ndarray, error: float) -> dict:
    """Tables of a balance with these gains by specialist and phase."""
    half = norm.ppf(0.975) * error
    names = [group for by, group in GROUPS if by == "phase"]
    rows = [
        {
            "bot": "a",
            "players": 4,
            "specialist": specialist,
            "by": "phase",
            "group": group,
            "gain": gain,
            "gain_low": gain - half,
            "gain_high": gain + half,
        }
        for specialist, own in zip(SPECIALISTS, gains, strict=True)
        for group, gain in zip(names, own, strict=True)
    ]
    return found_of({("a", "raven"): (0.0, "balanced")}, 0.01) | {"pickups_by": pl.DataFrame(rows)}


def test_phases_of_equal_worth_are_seldom_said_to_differ():
    """Six specialists and five phases, all alike."""

    def differs(gains: np.ndarray) -> bool:
        _, sentences = findings(by_phase(gains, 0.01), "a", 0.01)
        return any("By phase" in text for text in sentences)

    rng = np.random.default_rng(5)
    alarms = sum(differs(rng.normal(0, 0.01, (6, 5))) for _ in range(300))
    assert alarms / 300 <= 0.05
    planted = np.zeros((6, 5))
    planted[2, 4] = 0.1
    assert differs(planted)


def test_levels_that_differ_by_chance_alone_are_seldom_said_to_differ():
    """Three levels and six specialists make 18 comparisons: corrected for, they give few false alarms."""
    rng = np.random.default_rng(2)
    alarms = 0
    every = [(bot, name) for bot in "abc" for name in SPECIALISTS]
    for _ in range(200):
        gains = {key: (rng.normal(0, 0.001), "balanced") for key in every}
        _, sentences = findings(found_of(gains, 0.001), "c", 0.01)
        alarms += any("The worth depends on who plays" in sentence for sentence in sentences)
    assert alarms / 200 < 0.08
    worths = {(bot, name): (0.05 * (bot == "a"), "balanced") for bot, name in every}
    _, sentences = findings(found_of(worths, 0.001), "c", 0.01)
    assert any("significantly in 12 of 18 comparisons" in sentence for sentence in sentences)


def test_the_strongest_level_is_the_one_that_wins_most():
    assert strongest(["winner", "eager", "cautious"]) == "winner"
    assert strongest(["winner", "champion", "expected"]) == "champion"
    assert strongest(["eager", "threshold:target=25", "random"]) != "random"
    assert strongest(["mine.py:A", "mine.py:B"]) == "mine.py:B"


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
    assert shown.out.startswith("When both play like `eager`, a weak bot: ")
    assert pl.read_csv(folder / "pickups.csv").columns == list(FRAMES["pickups"].schema)
    assert cli.run(["resume", str(folder), "--workers", "1", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert {row["specialist"] for row in printed["pickups"]} == {"apple", "raven"}
    assert printed["manifest"]["result"]["headline"]
    assert cli.run(["balance", "--rules", "classic", "--out", str(tmp_path / "no")]) == 2
    assert "have no specialists" in capsys.readouterr().err
    assert not Path(tmp_path / "no").exists()


def test_the_strongest_bot_plays_by_default_with_any_rules():
    for rules, players in (("extrawurm-box", 4), ("extrawurm", 6)):
        study = Balance(rules, players=players, games=2, sensitivity=True).checked()
        assert [entrant.name for entrant in study.entrants] == ["eager", "cautious", "champion"]
