"""Luck taken out of results: where that is done, and that what is left has the same mean."""

from __future__ import annotations

import inspect
import shlex
import sys
from math import log, log10, sqrt
from typing import Any

import numpy as np
import polars as pl
import pytest
from blocks import first_game
from polars.testing import assert_frame_equal
from scipy.stats import binom
from scipy.stats import t as student

import pickosim
from pickosim.bench import PROGRAM, PlainPython
from pickosim.bots.loading import load_bot, make_entrants
from pickosim.engine.tally import LUCK_ONE, PARTS, win_parts
from pickosim.games.batch import play_games
from pickosim.games.match import make_match
from pickosim.games.pickups import Branched, branch_pickups
from pickosim.rule_files import load_rules
from pickosim.rules import SPECIALISTS
from pickosim.runs.tasks import add
from pickosim.stats.intervals import FITTED_FROM
from pickosim.studies.arms import Arm, is_judged, play_arm, the_judge
from pickosim.studies.matchup_sums import block_sums, luck_sums
from pickosim.studies.pickup_worths import Case, PickupJob, worth, worths
from pickosim.studies.schedule import bots_by_seat, rotations
from pickosim.studies.shares import Shares, is_adjusted

SIMPLE = ("from typing import Any\nfrom pickosim import SimpleStrategy\n", "\n")
"""What a file with a simple bot has before and after it."""
PAIR = ("champion", "expected")


def tournament(*bots: str, games: int | None = 400, **options: Any) -> pickosim.Results:
    return pickosim.tournament(
        bots, games=games, **{"seed": 3, "workers": 1, "chunk": 90} | options
    )


# ------------------------------------------------------------------------------------------ where it is done


@pytest.mark.parametrize(
    ("bots", "judged"),
    [
        (["champion", "expected"], True),
        (["expected", "winner"], True),
        (["eager", "champion"], True),
        (["eager", "SIMPLE"], True),
        (["eager", "PROGRAM"], True),
        (["eager", "thief"], False),
        (["expected", "eager"], False),
        (["champion", "expected", "winner"], True),
        (["champion", "expected", "eager"], False),
        (["SIMPLE", "eager", "thief"], False),
        (["champion", "expected", "winner", "expected"], False),
        (["champion"] * 4, True),
    ],
    ids=str,
)
def test_auto_depends_on_bots_and_players_alone(bots, judged, tmp_path):
    (tmp_path / "simple.py").write_text(inspect.getsource(PlainPython).join(SIMPLE))
    program = shlex.join([sys.executable, "-c", PROGRAM])
    known = {"SIMPLE": str(tmp_path / "simple.py"), "PROGRAM": f"cmd:{program}"}
    specs = [known.get(bot, bot) for bot in bots]
    assert is_judged("auto", specs) == judged
    assert is_judged("on", specs)
    assert not is_judged("off", specs)


def test_with_one_bot_of_interest_its_rivals_decide():
    bots = ["eager", "expected", "winner", "expected"]
    assert not is_judged("auto", bots)
    assert is_judged("auto", bots, rivals=bots[1:])
    assert not is_judged("auto", bots, rivals=bots[:3])


# -------------------------------------------------------------------------------------------- sums and tables


@pytest.fixture(scope="module")
def pair() -> pickosim.Results:
    return tournament(*PAIR)


@pytest.fixture(scope="module")
def judged() -> pickosim.Results:
    return tournament(*PAIR, "eager", "thief")


def test_results_without_luck_are_those_of_a_run_that_nobody_judged(judged):
    plain = tournament(*PAIR, "eager", "thief", luck="off")
    for name, table in plain.frames.items():
        own = [column for column in judged.frames[name].columns if column not in table.columns]
        assert len(own) == (6 if name in ("standings", "matchups") else 0)
        own += [column for column in table.columns if column.startswith("rating")]
        without, other = judged.frames[name].drop(own), table.drop(own, strict=False)
        by = without.columns[: 2 if name == "scores" else 3]
        assert_frame_equal(without.sort(by), other.sort(by), check_exact=True)
    assert "luck" not in plain.headline


def test_sums_do_not_depend_on_chunks_workers_and_order(judged, only_workers):
    again = tournament("thief", "eager", *PAIR, chunk=41, workers=2)
    for name, table in judged.frames.items():
        assert_frame_equal(again.frames[name], table, check_exact=True)
    assert again.headline == judged.headline


def test_a_run_that_is_extended_has_the_luck_of_the_whole(tmp_path):
    began = tournament(*PAIR, games=200, out=tmp_path / "began")
    more = pickosim.extend(began, ["winner"], 300, out=tmp_path / "more", workers=1)
    whole = tournament(*PAIR, "winner", games=300)
    for name, table in whole.frames.items():
        assert_frame_equal(more.frames[name], table, check_exact=True)
    assert more.manifest["games_played"] == whole.games_played - began.games_played


def blocks_of(bots: tuple[str, str], blocks: int) -> tuple[np.ndarray, np.ndarray]:
    """(B,) each: what the first of two bots has won in each block, and its luck."""
    won, luck = np.zeros((2, blocks))
    for seat, seating in enumerate((bots, bots[::-1])):
        match = make_match(seating, "classic", 3)
        tally = play_games(match, first_game(bots), blocks, judge=load_bot("champion"))
        won += win_parts(tally.rank)[:, seat] / (2 * PARTS)
        luck += tally.luck[:, seat] / (2 * LUCK_ONE)
    return won, luck


@pytest.mark.parametrize("bots", [PAIR, ("champion", "eager")])
def test_a_share_without_luck_is_the_intercept_of_a_regression(judged, bots):
    won, luck = blocks_of(bots, 200)
    design = np.column_stack([np.ones(200), luck])
    (mean, slope), (left,), *_ = np.linalg.lstsq(design, won, rcond=None)
    error = sqrt(left / 198 * np.linalg.inv(design.T @ design)[0, 0])
    of_bots = judged.matchups.filter(bots=" - ".join(sorted(bots)))
    row = of_bots.filter(bot=bots[0]).row(0, named=True)
    assert row["win_share_adjusted"] == pytest.approx(mean, abs=1e-6)
    assert row["luck"] == pytest.approx(luck.mean(), abs=1e-5)
    assert 0.8 < slope < 1.2
    half = (row["win_share_adjusted_high"] - row["win_share_adjusted_low"]) / 2
    assert half == pytest.approx(student.ppf(0.975, 198) * error, rel=0.05)
    assert half < 0.6 * (row["win_share_high"] - row["win_share_low"]) / 2


def test_a_bots_share_is_the_mean_over_its_matchups(judged):
    for row in judged.standings.to_dicts():
        of_bot = judged.matchups.filter(bot=row["bot"])
        assert row["win_share_adjusted"] == pytest.approx(of_bot["win_share_adjusted"].mean())
        lucky = of_bot["luck"].drop_nulls()
        assert row["luck"] == pytest.approx(lucky.mean())
    unjudged = judged.matchups.filter(bots="eager - thief")
    assert unjudged["win_share_adjusted"].equals(unjudged["win_share"].rename("win_share_adjusted"))
    assert unjudged["luck"].is_null().all()


def test_ratings_of_two_are_those_of_shares_without_luck(pair):
    """400 points are odds of 10 to 1, with the error that belongs to that of the share."""
    first, second = pair.standings.to_dicts()
    share = first["win_share_adjusted"]
    apart = 400 * log10(share / (1 - share))
    assert first["rating"] - second["rating"] == pytest.approx(apart, abs=0.01)
    half = (first["win_share_adjusted_high"] - first["win_share_adjusted_low"]) / 2
    moved = 400 / log(10) * half / (share * (1 - share))
    pairs = pair.pairs.row(0, named=True)
    error = (pairs["rating_difference_high"] - pairs["rating_difference_low"]) / 2
    assert error == pytest.approx(moved, rel=0.3)
    assert error < 0.6 * moved * (first["win_share_high"] - first["win_share_low"]) / (2 * half)


def test_how_much_is_luck(pair):
    """The squared correlation of result and luck over single games, and a binomial law that is nearly normal."""
    row = pair.luck.row(0, named=True)
    assert (row["bot"], row["rival"]) == PAIR
    won, luck = [], []
    for seat, seating in enumerate((PAIR, PAIR[::-1])):
        match = make_match(seating, "classic", 3)
        tally = play_games(match, first_game(PAIR), 200, judge=load_bot("champion"))
        won += (win_parts(tally.rank)[:, seat] / PARTS).tolist()
        luck += (tally.luck[:, seat] / LUCK_ONE).tolist()
    assert row["dice_share"] == pytest.approx(np.corrcoef(won, luck)[0, 1] ** 2, abs=1e-4)
    assert 0.9 < row["dice_share_low"] < row["dice_share"] < row["dice_share_high"] < 1
    drawn = np.random.default_rng(1).choice(200, (300, 200))
    again = [
        np.corrcoef(*np.array([won, luck]).reshape(2, 2, 200)[:, :, each].reshape(2, -1))[0, 1] ** 2
        for each in drawn
    ]
    half = (row["dice_share_high"] - row["dice_share_low"]) / 2
    assert half == pytest.approx(2 * np.std(again), rel=0.3)
    games, share = row["games_to_lead"], row["win_share_adjusted"]
    lost = binom.cdf(games // 2, games, share)
    assert lost == pytest.approx(0.05, abs=0.015)
    assert row["games_to_lead_low"] < games


def test_a_ranked_bot_meets_its_rivals_without_luck():
    """As with --focus; what its rating says then is in `test_ratings_of_two_are_those_of_shares_without_luck`."""
    ranked, plain = (
        pickosim.rank("threshold:target=24", "classic", games=1_200, workers=1, luck=luck)
        for luck in ("auto", "off")
    )
    lucky = ranked.rivals.filter(pl.col("luck").is_not_null())
    assert sorted(lucky["rival"]) == ["champion", "expected", "winner"]
    for row in lucky.to_dicts():
        assert row["win_share_adjusted"] == pytest.approx(row["ahead"] - row["luck"], abs=0.03)
        widths = [row[f"{of}_high"] - row[f"{of}_low"] for of in ("win_share_adjusted", "ahead")]
        assert widths[0] < 0.7 * widths[1]
    without = ranked.rivals.select(plain.rivals.columns)
    assert_frame_equal(without.sort("rival"), plain.rivals.sort("rival"), check_exact=True)
    assert (
        "Without the luck of the dice: the games against `champion`, `expected` and `winner`."
        in (ranked.remarks)
    )


def test_few_blocks_are_left_as_they_are():
    few, enough = (tournament(*PAIR, games=2 * blocks) for blocks in (FITTED_FROM - 1, FITTED_FROM))
    assert few.standings["win_share_adjusted"].to_list() == few.standings["win_share"].to_list()
    assert "Without luck" not in few.headline
    differs = enough.standings["win_share_adjusted"] != enough.standings["win_share"]
    assert differs.all()
    assert "Without luck" in enough.headline


def test_forfeited_games_have_no_luck_so_their_matchup_is_left_as_it_is():
    part = {"blocks": np.array(60), "luck": np.zeros(2, np.int64)}
    assert is_adjusted(part)
    assert not is_adjusted(part | {"forfeits_from_0": np.zeros((1, 3), np.int64)})


# ------------------------------------------------------------------------------------------------ the truth


@pytest.mark.parametrize(
    ("bots", "rules", "blocks"),
    [
        (("winner", "expected"), "classic", 600),
        (("champion", "random"), "classic", 400),
        (("champion", "eager"), "extrawurm", 300),
        (("expected", "winner", "champion"), "classic", 150),
        (("eager", "expected", "thief", "winner"), "extrawurm", 100),
    ],
)
def test_luck_has_no_mean_and_is_the_same_in_any_pieces(bots, rules, blocks):
    """So that shares with it and without it agree within their error: by the same sums as in tables."""
    arm = Arm(bots, load_rules(rules), rotations(bots), luck_by=the_judge())
    pieces = [(0, blocks // 3), (blocks // 3, blocks - blocks // 3)]
    sums: Any = {}
    for first, count in pieces:
        tallies = play_arm(arm, 5, first, count).by_rotation(len(bots))
        who = bots_by_seat(bots, first, count)
        sums = add(sums, block_sums(tallies, who, first) | luck_sums(tallies, who, first))
    luck, squares = sums["luck"], sums["luck_products"].diagonal()
    z = luck / np.sqrt(squares)
    assert np.abs(z).max() < 3.5
    assert abs(luck.sum()) <= len(bots) * blocks
    won, of_games, *_ = sums["luck_grouped"].sum(axis=0).T.tolist()
    assert (won, of_games) == (sums["wins"].sum(axis=1).tolist(), luck.tolist())
    shares = Shares([bots], [sums])
    for bot in bots:
        own, won = shares.measured(bot), shares.as_won.measured(bot)
        if 0 < won.value < 1:  # who wins all or nothing has no luck to take out
            assert own.half < won.half
            assert abs(own.value - won.value) < 4 * sqrt(won.half**2 - own.half**2) / 1.96
    whole = play_arm(arm, 5, 0, blocks).by_rotation(len(bots))
    again = luck_sums(whole, bots_by_seat(bots, 0, blocks), 0)
    assert all(np.array_equal(again[name], sums[name]) for name in again)


def test_a_precision_is_reached_with_fewer_games():
    games = [
        tournament(*PAIR, games=None, precision="2%", luck=luck).standings["games"][0]
        for luck in ("auto", "off")
    ]
    assert 4 * games[0] < games[1]


def test_a_sequential_test_needs_fewer_blocks():
    found = [tournament(*PAIR, games=None, sprt="0,2%", luck=luck) for luck in ("auto", "off")]
    assert [results.manifest["result"]["sprt"]["verdict"] for results in found] == ["H1", "H1"]
    games = [results.standings["games"][0] for results in found]
    assert 2 * games[0] < games[1]
    assert "Measured without luck: 5" in found[0].headline
    assert "Measured: 5" in found[1].headline


# ---------------------------------------------------------------------------------------------- variants of rules


def compare(luck: str = "auto", **options: Any) -> pickosim.Results:
    return pickosim.compare(
        ["short", "classic"], PAIR, games=400, luck=luck, **{"seed": 3, "workers": 1} | options
    )


@pytest.fixture(scope="module")
def compared() -> pickosim.Results:
    return compare()


def test_what_is_no_win_share_is_compared_as_ever(compared):
    plain, of_wins = compare("off"), ["first_seat", "skill"]
    own = compared.measures.drop("as_won", "as_won_low", "as_won_high", "p_adjusted")
    others = ~pl.col("measure").is_in(of_wins)
    assert_frame_equal(own.filter(others), plain.measures.drop("p_adjusted").filter(others))
    for row in compared.measures.filter(~others).to_dicts():
        won = plain.measures.row(
            by_predicate=(pl.col("variant") == row["variant"])
            & (pl.col("measure") == row["measure"]),
            named=True,
        )
        for end in ("", "_low", "_high"):
            assert row[f"as_won{end}"] == won[f"value{end}"]
        halves = [(each["value_high"] - each["value_low"]) / 2 for each in (row, won)]
        assert 3 * halves[0] < halves[1]
        assert abs(row["value"] - won["value"]) < 2 * halves[1]
    assert (
        compared.measures.filter(others)["as_won"].null_count()
        == compared.measures.filter(others).height
    )
    assert_frame_equal(compared.lengths, plain.lengths)


@pytest.mark.parametrize(("measure", "place", "unit"), [("first_seat", 0, 1), ("skill", 1, 0.5)])
def test_a_measure_without_luck_is_the_intercept_of_a_regression(compared, measure, place, unit):
    blocks, found = 200, {}
    for rules in ("short", "classic"):
        won, luck = np.zeros((2, 2, blocks))
        for turned, seating in enumerate((PAIR, PAIR[::-1])):
            tally = play_games(make_match(seating, rules, 3), 0, blocks, judge=load_bot("champion"))
            for k, seat in enumerate((0, turned)):  # the first seat, and that of champion
                won[k] += win_parts(tally.rank)[:, seat] / (2 * PARTS)
                luck[k] += tally.luck[:, seat] / (2 * LUCK_ONE)
        design = np.column_stack([np.ones(blocks), luck[place]])
        (mean, slope), *_ = np.linalg.lstsq(design, won[place], rcond=None)
        found[rules] = mean / unit, (won[place] - design @ [mean, slope]) / unit
    rows = {row["variant"]: row for row in compared.measures.filter(measure=measure).to_dicts()}
    for rules, (mean, left) in found.items():
        value = mean - 0.5 if measure == "first_seat" else mean
        assert rows[rules]["value"] == pytest.approx(value, abs=1e-5)
        half = (rows[rules]["value_high"] - rows[rules]["value_low"]) / 2
        assert half == pytest.approx(1.97 * sqrt(left @ left / blocks / (blocks - 2)), rel=0.1)
    apart = found["classic"][1] - found["short"][1]
    row = rows["classic"]
    assert row["difference"] == pytest.approx(row["value"] - rows["short"]["value"])
    half = (row["difference_high"] - row["difference_low"]) / 2
    assert half == pytest.approx(1.97 * sqrt(apart @ apart / blocks / (blocks - 3)), rel=0.1)


def test_chunks_and_workers_do_not_change_a_comparison_without_luck(compared):
    again = compare(chunk=41, workers=2)
    for name, table in compared.frames.items():
        assert_frame_equal(again.frames[name], table, check_exact=True)


def test_the_headline_of_a_comparison_says_what_was_won():
    results = compare(about="first_seat")
    assert "wins (points, without luck): " in results.headline
    for row in results.measures.filter(measure="first_seat").to_dicts():
        assert f" (won: {100 * row['as_won']:+.2f}) with 2 players" in results.headline
    assert any("times as many games" in remark for remark in results.manifest["result"]["remarks"])


def test_few_blocks_are_compared_as_they_were_played():
    few, off = (
        pickosim.compare(["classic"], PAIR, games=90, luck=luck, workers=1)
        for luck in ("on", "off")
    )
    assert few.measures["as_won"].is_null().all()
    assert_frame_equal(few.measures.drop("as_won", "as_won_low", "as_won_high"), off.measures)


# -------------------------------------------------------------------------------------------------- pick-ups


def balance(luck: str = "auto", **options: Any) -> pickosim.Results:
    return pickosim.balance(
        bots=["champion"], players=2, games=150, luck=luck, **{"seed": 3, "workers": 1} | options
    )


@pytest.fixture(scope="module")
def balanced() -> pickosim.Results:
    return balance()


def branched(control: Any, games: int) -> Branched:
    match = make_match(["champion"] * 2, "extrawurm", 3)
    everything = np.ones(len(SPECIALISTS), np.bool_)
    return branch_pickups(match, 0, games, everything, control, load_bot("champion"))


def test_branches_that_are_the_games_have_their_luck():
    same = branched("same", 20)
    assert len(same.luck) > 20
    assert np.abs(same.luck).max() <= 2
    assert np.abs(same.tally.luck).min() > LUCK_ONE / 1000


def test_a_worth_without_luck_is_that_of_a_regression(balanced):
    games = 150
    played, adjusted = branched("gone", games), 0
    game, seat = played.pickups["entry"], played.pickups["seat"]
    won = win_parts(played.tally.rank)[game, seat].astype(float)
    won -= win_parts(played.branches.rank)[np.arange(len(game)), seat]
    rows = {row["specialist"]: row for row in balanced.pickups.to_dicts()}
    for number, specialist in enumerate(SPECIALISTS):
        chosen = played.pickups["specialist"] == number
        numbers, wins, luck = (
            np.bincount(game[chosen], of, games)
            for of in (None, won[chosen] / PARTS, played.luck[chosen] / LUCK_ONE)
        )
        row = rows[specialist]
        assert row["pick_ups"] == numbers.mean()
        if row["as_won"] is None:  # fewer than FITTED_FROM games with a pick-up
            assert numbers.sum() ** 2 < FITTED_FROM * (numbers @ numbers)
            continue
        adjusted += 1
        plain = wins.sum() / numbers.sum()
        design = np.column_stack([np.ones(games), luck])
        (_, slope), *_ = np.linalg.lstsq(design, wins - plain * numbers, rcond=None)
        worth = plain - slope * luck.sum() / numbers.sum()
        assert row["gain"] == pytest.approx(worth, abs=1e-5)
        left = wins - slope * luck - worth * numbers
        half = (row["gain_high"] - row["gain_low"]) / 2
        error = sqrt(left @ left) / numbers.sum()
        assert 1.96 * error < half < 2.5 * error  # wider by what a fit and two more blocks add
        assert half < (row["as_won_high"] - row["as_won_low"]) / 2
    assert adjusted > 2


def test_a_balance_without_luck_has_the_same_games(balanced):
    plain = balance("off")
    assert plain.pickups["as_won"].is_null().all()
    same = ["specialist", "pick_ups", "score_gain", "held_above_even"]
    by = "specialist"
    assert_frame_equal(
        balanced.pickups.select(same).sort(by),
        plain.pickups.select(same).sort(by),
        check_exact=True,
    )
    both = plain.pickups.join(balanced.pickups, on=by, suffix="_judged")
    for end in ("", "_low", "_high"):
        known = both.filter(pl.col("as_won_judged").is_not_null())
        assert len(known) > 4
        assert known[f"gain{end}"].to_list() == known[f"as_won{end}_judged"].to_list()
    assert any("times as many games" in remark for remark in balanced.manifest["result"]["remarks"])


def test_chunks_and_workers_do_not_change_a_balance_without_luck(balanced):
    again = balance(chunk=41, workers=2)
    for name, table in balanced.frames.items():
        assert_frame_equal(again.frames[name], table, check_exact=True)


def test_errors_of_worths_without_luck_are_those_of_their_covariance():
    entrants = tuple(make_entrants(["champion"]))
    cases = tuple(Case(name, load_rules("extrawurm")) for name in ("apple", "weasel", "raven"))
    job = PickupJob(entrants, 2, cases, "gone", luck_by=the_judge())
    sums, _ = job.play(3, 0, 150)
    means, covariance = worths(sums, np.arange(3))
    for k in range(3):
        own = worth(sums, k)
        assert own is not None
        assert means[k] == pytest.approx(own.total / own.n)
        assert covariance[k, k] == pytest.approx(own.variance_of_total / own.n**2)
    assert np.linalg.eigvalsh(covariance).min() > 0
