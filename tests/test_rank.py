"""Ranking a bot: its rating on the scale of the ladder, its place, and what is said of both."""

from __future__ import annotations

import json
from math import hypot, inf
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from play_ladders import PLAYED

import pickosim
from pickosim import load_rules
from pickosim.bots.loading import built_in_bots
from pickosim.engine.tally import PARTS
from pickosim.rules import RULES_VERSION
from pickosim.stats.ratings import rate, rating_among
from pickosim.studies.ladder import FILE, ladder
from pickosim.studies.matchup_sums import GROUPS
from pickosim.studies.rank import Rated, headline, ordinal
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
    ratings = ladder(load_rules(name), players).ratings
    assert sorted(ratings) == sorted(built_in_bots()), "make ladder"
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
    ratings = ladder(load_rules("classic"), 2).ratings
    assert abs(row["rating"] - ratings["thief"]) < 1.6 * row["rating_error"]
    assert ranked.ladder["ladder_place"].to_list() == list(range(1, len(ratings) + 1))
    assert ranked.rivals.height == len(ratings) - 1


def test_a_bot_is_ranked_with_its_place_and_distance():
    others = {"best": Rated(1700.0, 4.0), "eager": Rated(1500.0, None)}
    assert headline("mine.py", Rated(1602.4, 7.6), others) == (
        "`mine.py` ranks 2nd of 3, rated 1602 ± 8: 98 points behind the best, `best`."
    )
    assert headline("mine.py", Rated(1720.0, 5.0), others) == (
        "`mine.py` ranks 1st of 3, rated 1720 ± 5: 20 points above the best of the others, `best`."
    )
    for rating, place in ((1705.0, "1st to 2nd"), (1707.0, "1st"), (1504.0, "2nd to 3rd")):
        assert f"ranks {place} of 3, rated {rating:.0f} ± 5" in headline(
            "a", Rated(rating, 5.0), others
        )
    assert headline("mine.py", Rated(-inf, None), others) == (
        "`mine.py` ranks 3rd of 3: it never won, so it has no rating."
    )
    assert headline("mine.py", Rated(inf, None), others).startswith("`mine.py` ranks 1st of 3: ")


def test_ordinals():
    words = "1st 2nd 3rd 4th 10th 11th 12th 13th 21st 111th"
    assert " ".join(ordinal(int(word[:-2])) for word in words.split()) == words


def test_the_errors_of_fixed_ratings_count():
    matchups = counted(1, FIELD)
    rating, error = rating_among([0.0, 1500, 1550, 1300], matchups, PARTS)
    assert rating_among([0.0, 1500, 1550, 1300], matchups, PARTS, [0.0] * 4) == (rating, error)
    # All others rated 6 points too high make this rating 6 points too high.
    assert rating_among([0.0, 1506, 1556, 1306], matchups, PARTS)[0] == pytest.approx(rating + 6)
    _, larger = rating_among([0.0, 1500, 1550, 1300], matchups, PARTS, [0.0, 6.0, 6.0, 6.0])
    assert larger == pytest.approx(hypot(error, 6.0))


def test_with_four_players_ratings_count_wins():
    """`champion` wins most games, and comes last more often than `expected`."""
    bots = ["champion", "expected", "eager", "thief"]
    played = pickosim.tournament(bots, players=4, games=8_000, workers=1)
    by_wins = {bot: rating for bot, (rating, _) in played.manifest["result"]["win_ratings"].items()}
    assert sorted(by_wins, key=by_wins.get, reverse=True) == played.standings["bot"].to_list()
    assert by_wins[ANCHOR] == 1500
    # In a single matchup the model has a chance for each bot, and so fits the wins exactly.
    strengths = {bot: 10 ** (rating / 400) for bot, rating in by_wins.items()}
    for bot, share in played.standings.select("bot", "win_share").iter_rows():
        assert strengths[bot] / sum(strengths.values()) == pytest.approx(share)


@pytest.mark.parametrize("name", ["abad.py", "zbad.py"])
def test_a_bot_that_loses_everything_does_not_move_the_anchor(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(
        "from pickosim import Strategy\n\n\nclass Bad(Strategy):\n"
        "    def pick(self, turn):\n        return turn.best(turn.counts)\n\n"
        "    def stop(self, turn):\n        return ~turn.can_claim\n",
        encoding="utf-8",
    )
    for bots in (["eager", name], ["eager", "thief", name]):
        played = pickosim.tournament(bots, games=200, workers=1)
        ratings = dict(played.standings.select("bot", "rating").iter_rows())
        assert (ratings[ANCHOR], ratings[name]) == (1500, None)
        assert (
            f"`{name}` won none of its {200 * (len(bots) - 1)} games, so it has no rating."
            in played.remarks
        )


def test_without_a_ladder_the_ratings_are_those_of_the_games():
    ranked = pickosim.rank("threshold:target=24", "french", players=3, games=1_000)
    assert any(remark.startswith("There is no ladder for these rules") for remark in ranked.remarks)
    assert ranked.ladder.filter(pl.col("bot") == ANCHOR)["rating"].item() == 1500
    assert len(ranked.ladder) == len(built_in_bots()) + 1
