"""Ranking a bot: its rating on the scale of the ladder, its place, and what is said of both."""

from __future__ import annotations

import json
from math import inf

import numpy as np
import polars as pl
import pytest
from play_ladders import PLAYED

import pickosim
from pickosim import load_rules
from pickosim.bots.loading import built_in_players
from pickosim.engine.tally import PARTS
from pickosim.rules import RULES_VERSION
from pickosim.stats.ratings import rate, rating_among
from pickosim.studies.ladder import FILE, ladder
from pickosim.studies.matchup_sums import GROUPS
from pickosim.studies.rank import headline
from pickosim.studies.standings import ANCHOR

# ------------------------------------------------------------------------------------- the ratings


def counted(seed: int, chances: dict[tuple[int, int], float], games: int = 4_000):
    """Two-player matchups in which the first bot is placed ahead with a given chance."""
    rng = np.random.default_rng(seed)
    found = []
    for pair, chance in chances.items():
        choices = np.zeros((GROUPS, 4, 2), np.int64)
        wins = rng.binomial(games // GROUPS, chance, GROUPS)
        choices[:, 3, 0], choices[:, 3, 1] = wins, games // GROUPS - wins
        found.append((pair, choices * PARTS))
    return found


FIELD = {(0, 1): 0.7, (0, 2): 0.4, (1, 2): 0.25, (0, 3): 0.9, (1, 3): 0.8, (2, 3): 0.95}


def test_a_rating_among_fixed_ones_is_that_of_the_whole_field():
    """At the best ratings of a field, each is the best one given all others."""
    matchups = counted(1, FIELD)
    fitted = rate("abcd", matchups, game=PARTS).ratings["rating"].to_list()
    rating, error = rating_among([0.0, *fitted[1:]], matchups, PARTS)
    assert rating == pytest.approx(fitted[0], abs=1e-6)
    assert error is not None and 0 < error < 20


def test_a_rating_among_fixed_ones_covers():
    """The others' ratings being right, the truth is inside in about 95 % of runs."""
    strengths = np.array([0.3, 0.0, 0.8, -1.0])
    ratings = 1500 + 400 / np.log(10) * strengths
    chances = {(0, k): 1 / (1 + np.exp(strengths[k] - strengths[0])) for k in (1, 2, 3)}
    inside = 0
    for seed in range(400):
        rating, error = rating_among(ratings, counted(seed, chances, games=640), PARTS)
        inside += abs(rating - ratings[0]) <= error
    assert 366 <= inside <= 394


@pytest.mark.parametrize(("chance", "rating"), [(1.0, inf), (0.0, -inf)])
def test_who_always_or_never_wins_has_no_rating(chance, rating):
    assert rating_among([0, 1500], counted(1, {(0, 1): chance}), PARTS) == (rating, None)


def test_the_anchor_moves_all_ratings_and_no_difference():
    matchups = counted(2, FIELD)
    free, fixed = (rate("abcd", matchups, game=PARTS, anchor=anchor) for anchor in (None, "c"))
    assert fixed.ratings["rating"][2] == 1500
    assert fixed.ratings["rating_error"][2] is None
    for bot in range(4):
        assert fixed.difference(bot, 2) == pytest.approx(free.difference(bot, 2))
        assert fixed.difference(bot, 0) == pytest.approx(free.difference(bot, 0))
        apart, low, high = free.difference(bot, 2)
        assert fixed.ratings["rating"][bot] == pytest.approx(1500 + apart)
        error = fixed.ratings["rating_error"][bot] or 0.0
        assert error == pytest.approx((high - low) / 2, abs=1e-9)
    elsewhere = rate("abcd", matchups, game=PARTS, anchor="z")
    assert elsewhere.ratings["rating"].mean() == pytest.approx(1500)


def test_eager_is_1500_in_every_field():
    for bots in (["eager", "random"], ["eager", "thief", "cautious"]):
        standings = pickosim.tournament(bots, games=2_000, seed=1).standings
        assert standings.filter(pl.col("bot") == ANCHOR)["rating"].item() == 1500


def test_the_remarks_say_what_ratings_are_relative_to():
    with_it = pickosim.tournament(["eager", "thief", "cautious"], games=200).remarks
    assert "Ratings are relative to `eager`, which is 1500, among this field of 3 bots." in with_it
    without = pickosim.tournament(["random", "thief", "cautious"], games=200).remarks
    assert any("the mean of this field of 3 bots" in remark for remark in without)


# -------------------------------------------------------------------------------------- the ladder


@pytest.mark.parametrize(("name", "players"), PLAYED)
def test_the_ladder_has_all_built_in_bots_that_play_there(name, players):
    ratings = ladder(load_rules(name), players)
    assert sorted(ratings) == sorted(built_in_players(load_rules(name), players)), "make ladder"
    assert ratings[ANCHOR] == 1500
    assert list(ratings.values()) == sorted(ratings.values(), reverse=True)
    stored = json.loads(FILE.read_text(encoding="utf-8"))[f"{name} {players}"]
    assert stored["rules_version"] == RULES_VERSION, "make ladder"
    assert f"--games {PLAYED[name, players]} " in stored["command"]


def test_other_rules_have_no_ladder():
    assert ladder(load_rules("french"), 2) is None
    assert ladder(load_rules("classic", ["dice=7"]), 2) is None
    assert ladder(load_rules("classic"), 3) is None


def test_a_built_in_bot_gets_about_its_own_rating():
    ranked = pickosim.rank("thief", games="20k", seed=3)
    row = ranked.ladder.filter(pl.col("bot") == "thief").row(0, named=True)
    known = ladder(load_rules("classic"), 2)["thief"]
    assert abs(row["rating"] - known) < 1.6 * row["rating_error"]
    assert ranked.ladder["ladder_place"].to_list() == list(
        range(1, len(ladder(load_rules("classic"), 2)) + 1)
    )
    assert ranked.rivals.height == len(ladder(load_rules("classic"), 2)) - 1


def test_a_bot_is_ranked_with_its_place_and_distance():
    ratings = {"best": 1700.0, "eager": 1500.0}
    assert headline("mine.py", 1602.4, 7.6, ratings) == (
        "`mine.py` is number 2 of 3, rated 1602 ± 8: 98 points behind the best, `best`."
    )
    assert headline("mine.py", 1720.0, 5.0, ratings) == (
        "`mine.py` is number 1 of 3, rated 1720 ± 5: 20 points above the best of the others, `best`."
    )
    assert headline("mine.py", -inf, None, ratings) == (
        "`mine.py` is number 3 of 3: it never won, so it has no rating."
    )


def test_without_a_ladder_the_ratings_are_those_of_the_games():
    ranked = pickosim.rank("threshold:target=24", "french", players=3, games=1_000)
    assert any(remark.startswith("There is no ladder for these rules") for remark in ranked.remarks)
    assert ranked.ladder.filter(pl.col("bot") == ANCHOR)["rating"].item() == 1500
    assert len(ranked.ladder) == len(built_in_players(load_rules("french"), 3)) + 1
