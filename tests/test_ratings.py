"""Ratings: closed forms, known strengths found again, and intervals that cover as often as they say."""

from __future__ import annotations

from itertools import combinations, permutations
from math import comb, isnan, log10, sqrt

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy.optimize import minimize
from scipy.sparse.csgraph import breadth_first_order, connected_components
from scipy.special import logsumexp
from scipy.stats import t as student

from pickosim.stats import ratings
from pickosim.stats.ratings import SCALE, Counted, Ratings, rate, rating_among

PARTS = 420
"""What a game counts: 1 / (comb(tied, k) * k) of it is a whole number, up to seven tied."""

GROUPS = 64


def members(number: int, players: int) -> list[int]:
    return [bot for bot in range(players) if number >> bot & 1]


def choices_of(ranks: np.ndarray, groups: np.ndarray | None = None, count: int = 1) -> np.ndarray:
    """Who was placed next among each set, in games with these ranks (games, players)."""
    games, players = ranks.shape
    groups = np.zeros(games, dtype=int) if groups is None else groups
    found = np.zeros((count, 1 << players, players), dtype=np.int64)
    for number in range(1, 1 << players):
        inside = members(number, players)
        best = ranks[:, inside].min(axis=1, keepdims=True)
        outside = [bot for bot in range(players) if bot not in inside]
        # The set is left over at some time if nobody outside it is behind its best.
        left_over = (ranks[:, outside] <= best).all(axis=1)
        tied = (ranks == best).sum(axis=1)
        among = (ranks[:, inside] == best).sum(axis=1)
        ways = np.array([[comb(t, k) * max(k, 1) for k in range(8)] for t in range(8)])
        parts = np.where(left_over, PARTS // np.maximum(ways[tied, among], 1), 0)
        for bot in inside:
            np.add.at(found[:, number, bot], groups, parts * (ranks[:, [bot]] == best)[:, 0])
    return found


def expected_choices(log_strengths: np.ndarray, games: float) -> np.ndarray:
    """Whole numbers as near as can be to what Plackett-Luce expects, in a single group."""
    players = len(log_strengths)
    full = (1 << players) - 1
    chance = {full: 1.0}
    found = np.zeros((1, 1 << players, players), dtype=np.int64)
    for number in range(full, 0, -1):
        inside = members(number, players)
        logs = log_strengths[inside]
        for bot, share in zip(inside, np.exp(logs - logsumexp(logs)), strict=True):
            found[0, number, bot] = round(games * chance.get(number, 0.0) * share)
            rest = number & ~(1 << bot)
            chance[rest] = chance.get(rest, 0.0) + chance.get(number, 0.0) * share
    return found


def plackett_luce(rng: np.random.Generator, log_strengths: np.ndarray, games: int) -> np.ndarray:
    """(games, players) ranks from 0: the order of log strengths plus Gumbel noise (Yellott 1977)."""
    noise = rng.gumbel(size=(games, len(log_strengths)))
    return (-(log_strengths + noise)).argsort(axis=1).argsort(axis=1)


def elo(log_strengths: np.ndarray) -> np.ndarray:
    return 1500 + SCALE * (log_strengths - log_strengths.mean())


def rating(result: Ratings) -> np.ndarray:
    return result.ratings["rating"].to_numpy()


def beats(*pairs: tuple[int, int]) -> list[Counted]:
    """A table of two for each pair, at which the first finished ahead of the second, in two groups."""
    won = choices_of(np.array([[0, 1], [0, 1]]), np.array([0, 1]), 2)
    return [(pair, won) for pair in pairs]


# ------------------------------------------------------------------------------------- closed forms


@pytest.mark.parametrize(("won", "lost"), [(1, 1), (3, 1), (10, 1), (1, 999), (10**12, 1)])
def test_of_two_bots_the_difference_is_that_of_elo(won, lost):
    choices = np.zeros((1, 4, 2), dtype=np.int64)
    choices[0, 3] = won, lost
    ratings = rating(rate(["a", "b"], [((0, 1), choices)]))
    assert ratings[0] - ratings[1] == pytest.approx(400 * log10(won / lost), abs=1e-7)
    assert ratings.mean() == pytest.approx(1500)


def test_of_two_bots_the_error_is_that_of_their_win_share():
    """The interval of the share over groups, by the delta method; half of it for each of the two.

    In two more groups, half a game more is won, or lost, than in the mean.
    """
    wins = np.array([60, 72, 55, 66, 81, 62, 70, 58])
    choices = np.zeros((8, 4, 2), dtype=np.int64)
    choices[:, 3, 0], choices[:, 3, 1] = wins, 100 - wins
    share = wins.mean() / 100
    half = student.ppf(0.975, 7) * sqrt(wins.var(ddof=1) / 8 + 0.5 / 8**2) / 100
    result = rate(["a", "b"], [((0, 1), choices)])
    expected = SCALE * half / (share * (1 - share)) / 2
    assert result.ratings["rating_error"].to_list() == pytest.approx([expected] * 2)
    assert result.remarks == ()
    narrower = rate(["a", "b"], [((0, 1), choices)], confidence=0.5).ratings["rating_error"][0]
    assert narrower / expected == pytest.approx(student.ppf(0.75, 7) / student.ppf(0.975, 7))


def test_a_difference_of_ratings_is_as_certain_as_the_share_it_stands_for():
    """With two bots it is twice either's own; with more, bots that met in the same games differ more surely."""
    choices = np.zeros((8, 4, 2), dtype=np.int64)
    wins = np.array([60, 72, 55, 66, 81, 62, 70, 58])
    choices[:, 3, 0], choices[:, 3, 1] = wins, 100 - wins
    result = rate(["a", "b"], [((0, 1), choices)])
    apart, low, high = result.difference(0, 1)
    assert apart == pytest.approx(400 * log10(wins.sum() / (800 - wins.sum())))
    assert (high - low) / 2 == pytest.approx(2 * result.ratings["rating_error"][0])
    assert result.difference(1, 0) == pytest.approx((-apart, -high, -low))
    assert rate("ab", beats((1, 0))).difference(0, 1) == (None, None, None)


def test_groups_that_are_all_the_same_do_not_prove_that_ratings_are_exact():
    choices = np.zeros((50, 4, 2), dtype=np.int64)
    choices[:, 3] = 1, 1
    errors = rate("ab", [((0, 1), choices)]).ratings["rating_error"]
    share = student.ppf(0.975, 49) * sqrt(0.5) / 100
    assert errors.to_list() == pytest.approx([SCALE * share / 0.25 / 2] * 2)


def test_the_error_of_a_rating_among_two_fixed_ones_by_hand():
    """All three are even. Each of nine groups has every order once, and one game more.

    A game that the first bot wins moves the gradient of its group by 1 - 1/3 = 2/3, and the curvature by 2/9. A game in
    which it is last moves them by -1/3 - 1/2 = -5/6 and by 2/9 + 1/4. With five of one and four of the other the
    gradients sum to 0, and their squares to 5 · 4/9 + 4 · 25/36 = 5; the curvature is 24, with the 7/3 of all orders. Two
    more blocks are half a game off each.
    """
    first, last = [0, 1, 2], [2, 0, 1]
    ranks = [[*permutations(range(3)), more] for more in [first] * 5 + [last] * 4]
    groups = np.repeat(np.arange(9), 7)
    choices = choices_of(np.concatenate(ranks), groups, 9)
    rated, error = rating_among([0.0, 1500.0, 1500.0], [((0, 1, 2), choices)], PARTS)
    assert rated == pytest.approx(1500, abs=1e-6)
    square = 9 / 8 * 5 + 2 * 0.5**2
    assert error == pytest.approx(SCALE * student.ppf(0.975, 8) * sqrt(square) / 24)


def test_empty_groups_and_other_units_change_nothing():
    rng = np.random.default_rng(3)
    choices = choices_of(plackett_luce(rng, np.array([0.0, 0.3, -0.2]), 60), np.arange(60) % 5, 5)
    plain = rate("abc", [((0, 1, 2), choices)]).ratings
    padded = np.zeros((64, *choices.shape[1:]), dtype=np.int64)
    padded[7:12] = choices
    assert_frame_equal(rate("abc", [((0, 1, 2), padded)]).ratings, plain, rel_tol=1e-12)
    assert_frame_equal(rate("abc", [((0, 1, 2), 7 * choices)], game=7).ratings, plain, rel_tol=1e-9)


@pytest.mark.parametrize("players", [2, 3, 5, 7])
def test_known_strengths_are_found_again(players):
    """Nine bots, at every table that they can make; counts as expected, but for rounding."""
    log_strengths = np.random.default_rng(players).normal(size=9)
    tables = [
        (seats, expected_choices(log_strengths[list(seats)], 1e14))
        for seats in combinations(range(9), players)
    ]
    assert rating(rate("abcdefghi", tables)) == pytest.approx(elo(log_strengths), abs=1e-6)


def test_sixty_bots_with_a_billion_to_one_between_neighbours():
    """From the first to the last there are more odds than a float can hold."""
    bots = [f"bot{number}" for number in range(60)]
    choices = np.zeros((1, 4, 2), dtype=np.int64)
    choices[0, 3] = 10**9, 1
    ladder = [((bot, bot + 1), choices) for bot in range(59)]
    steps = -np.diff(rating(rate(bots, ladder)))
    assert steps == pytest.approx(np.full(59, 3600.0), abs=1e-6)


def test_a_single_upset_in_a_billion_games_ties_two_halves_together():
    """Bots of a half are even; the halves meet at one table only."""
    even, upset = np.zeros((1, 4, 2), dtype=np.int64), np.zeros((1, 4, 2), dtype=np.int64)
    even[0, 3], upset[0, 3] = (10**9, 10**9), (1, 10**9)
    halves = [*combinations(range(30), 2), *combinations(range(30, 60), 2)]
    tables = [*((pair, even) for pair in halves), ((29, 30), upset)]
    ratings = rating(rate([str(bot) for bot in range(60)], tables))
    assert ratings[30:] - ratings[:30] == pytest.approx(np.full(30, 3600.0), abs=1e-3)


# -------------------------------------------------------------------------------- against brute force


def log_likelihood(log_strengths: np.ndarray, tables: list[Counted]) -> float:
    """As the formula has it."""
    found = 0.0
    for seats, choices in tables:
        logs = log_strengths[list(seats)]
        for number, counts in enumerate(choices.sum(axis=0)):
            inside = members(number, len(seats))
            if inside:
                found += float(counts[inside] @ (logs[inside] - np.log(np.exp(logs[inside]).sum())))
    return found


@pytest.mark.parametrize("seed", range(3))
def test_ratings_are_the_maximum_of_the_likelihood(seed):
    """Any counts at tables of any size; none of them follows the model."""
    rng = np.random.default_rng(seed)
    tables = []
    for seats in [(0, 1), (2, 0, 3), (4, 1, 2), (3, 4, 1, 0), (2, 1)]:
        choices = rng.integers(1, 50, size=(2, 1 << len(seats), len(seats)))
        for number in range(1 << len(seats)):
            choices[:, number, [i for i in range(len(seats)) if not number >> i & 1]] = 0
        tables.append((seats, choices))
    best = minimize(lambda x: -log_likelihood(x, tables) / 1000, np.zeros(5), tol=1e-9)
    assert rating(rate("abcde", tables)) == pytest.approx(elo(best.x), abs=0.01)


# ------------------------------------------------------------------------------------ played orders


def test_a_tie_counts_as_all_orders_of_the_tied():
    tied = np.array([[0, 1, 1, 1], [0, 0, 2, 3], [2, 0, 2, 1], [3, 2, 1, 0], [0, 0, 0, 0]])
    orders = []
    for ranks in tied:
        keys = [(rank, place) for place, rank in enumerate(ranks)]
        fitting = [
            order
            for order in permutations(keys)
            if [rank for rank, _ in order] == sorted(ranks.tolist())
        ]
        for order in fitting:
            orders += [[[place for _, place in order].index(bot) for bot in range(4)]] * (
                24 // len(fitting)
            )
    apart = choices_of(np.array(orders))
    assert (24 * choices_of(tied) == apart).all()
    ratings = rating(rate("abcd", [(range(4), choices_of(tied))]))
    assert ratings == pytest.approx(rating(rate("abcd", [(range(4), apart)])))


def test_strengths_are_found_again_from_games_with_ties():
    """Twins next to each other share their places: between the two, either order is as likely."""
    log_strengths = np.array([0.8, 0.8, 0.0, -0.5])
    rng = np.random.default_rng(11)
    ranks = plackett_luce(rng, log_strengths, 40_000)
    neighbours = abs(ranks[:, 0] - ranks[:, 1]) == 1
    ranks[neighbours, :2] = ranks[neighbours, :2].min(axis=1, keepdims=True)
    result = rate("abcd", [(range(4), choices_of(ranks, np.arange(40_000) % GROUPS, GROUPS))])
    off = rating(result) - elo(log_strengths)
    assert (abs(off) < 1.5 * result.ratings["rating_error"].to_numpy()).all()
    assert result.ratings["rating_error"].max() < 5


def test_intervals_cover_the_truth_as_often_as_they_say():
    """Games of a block are alike: half of them repeat its first. Groups differ in size by a block."""
    log_strengths = np.array([0.6, 0.2, -0.1, -0.7])
    tables = [(0, 1, 2), (1, 2, 3), (0, 3, 2)]
    blocks, turns, repetitions = 100, 3, 200
    rng = np.random.default_rng(2024)
    covered, naive = np.zeros(4), np.zeros(4)
    for _ in range(repetitions):
        played, single = [], []
        for seats in tables:
            ranks = plackett_luce(rng, log_strengths[list(seats)], blocks * turns)
            ranks = ranks.reshape(blocks, turns, 3)
            again = rng.random((blocks, turns, 1)) < 0.5
            ranks = np.where(again, ranks[:, :1], ranks).reshape(-1, 3)
            groups = np.repeat(np.arange(blocks), turns) % GROUPS
            played.append((seats, choices_of(ranks, groups, GROUPS)))
            games = np.arange(blocks * turns) * 37 % (blocks * turns) % GROUPS
            single.append((seats, choices_of(ranks, games, GROUPS)))
        for counts, tables_played in ((covered, played), (naive, single)):
            found = rate("abcd", tables_played)
            off = abs(rating(found) - elo(log_strengths))
            counts += off <= found.ratings["rating_error"].to_numpy()
    assert (covered / repetitions >= 0.90).all()
    assert (covered / repetitions <= 0.99).all()
    # Were games of a block dealt out over the groups, as if they were independent, it would not do.
    assert naive.mean() / repetitions < 0.92


def test_chunks_may_be_added_in_any_order():
    rng = np.random.default_rng(5)
    ranks = plackett_luce(rng, np.linspace(-1, 1, 7), 700)
    chunks = [
        choices_of(ranks[start : start + 100], np.arange(start, start + 100) % GROUPS, GROUPS)
        for start in range(0, 700, 100)
    ]
    whole = rate("abcdefg", [(range(7), choices_of(ranks, np.arange(700) % GROUPS, GROUPS))])
    for order in (range(7), [3, 6, 0, 2, 5, 1, 4]):
        merged = rate("abcdefg", [(range(7), sum(chunks[number] for number in order))])
        assert_frame_equal(merged.ratings, whole.ratings, check_exact=True)


# --------------------------------------------------------------------------- what cannot be compared


def test_fields_that_never_met_are_rated_each_for_itself():
    even = choices_of(np.array([[0, 1], [1, 0], [0, 1]]), np.arange(3), 3)
    result = rate(["a", "b", "c", "d", "e"], [((0, 3), even), ((4, 1), even)])
    assert result.ratings["field"].to_list() == [1, 2, 3, 1, 2]
    assert result.ratings.schema == {
        "name": pl.String,
        "rating": pl.Float64,
        "rating_error": pl.Float64,
        "field": pl.Int32,
    }
    half = 200 * log10(2)
    assert rating(result)[[0, 1, 3, 4]] == pytest.approx(
        [1500 + half, 1500 - half, 1500 - half, 1500 + half]
    )
    assert isnan(rating(result)[2])
    assert result.remarks == (
        "The bots fall into 3 fields that never met: only ratings of the same field compare.",
    )
    assert result.unrated == {"c": "has no results that contradict each other"}


def test_a_bot_never_beaten_has_no_rating():
    """Nor has the one always beaten; the others are rated as if neither had been there."""
    rng = np.random.default_rng(1)
    inner = plackett_luce(rng, np.array([0.5, 0.0, -0.5]), 100)
    ranks = np.column_stack([inner[:, 0] + 1, np.zeros(100), inner[:, 1:] + 1, np.full(100, 4)])
    groups = np.arange(100) % 10
    names = ["a", "best", "b", "c", "worst"]
    result = rate(names, [(range(5), choices_of(ranks.astype(int), groups, 10))])
    alone = rate("abc", [(range(3), choices_of(inner, groups, 10))])
    assert result.ratings["rating"].is_null().to_list() == [False, True, False, False, True]
    assert rating(result)[[0, 2, 3]] == pytest.approx(rating(alone))
    assert result.ratings["rating_error"].is_null().to_list() == [False, True, False, False, True]
    rated = result.ratings["rating_error"].drop_nulls().to_list()
    assert rated == pytest.approx(alone.ratings["rating_error"].to_list())
    assert result.unrated == {
        "best": "never finished behind a rated bot",
        "worst": "never finished ahead of a rated bot",
    }


def test_bots_that_only_have_a_better_one_in_common_do_not_compare():
    result = rate("abcxyz", beats((0, 1), (1, 2), (2, 0), (3, 0), (3, 4), (5, 3)))
    assert rating(result)[:3].tolist() == pytest.approx([1500, 1500, 1500])
    assert result.ratings["rating"].is_null().to_list() == [False] * 3 + [True] * 3
    assert result.ratings["field"].to_list() == [1] * 6
    assert result.unrated == {
        "x": "never finished behind a rated bot",
        "z": "never finished behind a rated bot",
        "y": "has no results that compare it with a rated bot",
    }


def test_of_two_parts_of_a_size_the_first_entered_is_rated():
    circles = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)]
    result = rate("abcdef", beats(*circles, (3, 0)))
    assert result.ratings["rating"].to_list() == pytest.approx([1500] * 3 + [None] * 3)
    result = rate("defabc", beats(*circles, (0, 3)))
    assert result.ratings["rating"].to_list() == pytest.approx([1500] * 3 + [None] * 3)


def test_the_part_with_the_anchor_is_rated():
    circles = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 3)]
    result = rate("abcde", beats(*circles, (3, 0)), anchor="e")
    assert result.ratings["rating"].to_list() == pytest.approx([None] * 3 + [1500] * 2)
    for names in ("ab", "ba"):
        result = rate(names, beats((names.index("b"), names.index("a"))), anchor="b")
        assert result.ratings["rating"].to_list() == [{"a": None, "b": 1500}[bot] for bot in names]


def test_where_nothing_is_contradicted_no_bot_is_rated():
    result = rate("ab", beats((1, 0)))
    assert result.ratings["rating"].to_list() == [None, None]
    assert result.ratings["rating_error"].to_list() == [None, None]
    assert set(result.unrated) == {"a", "b"}


def test_a_single_group_tells_no_error():
    even = choices_of(np.array([[0, 1], [1, 0]]), np.array([9, 9]), GROUPS)
    result = rate("ab", [((0, 1), even)])
    assert rating(result).tolist() == [1500, 1500]
    assert result.ratings["rating_error"].to_list() == [None, None]
    assert result.remarks == ("a, b: too few games to know the errors of their ratings.",)


def test_tables_without_games_tell_nothing():
    result = rate("ab", [((0, 1), np.zeros((GROUPS, 4, 2), dtype=np.int64))])
    assert result.ratings["field"].to_list() == [1, 2]
    assert result.ratings["rating"].to_list() == [None, None]
    assert rate([], []).ratings.height == 0


def test_sets_of_bots_are_the_components_of_their_graph():
    """Compared with the algorithms of SciPy, on graphs from none to all of the links."""
    generator = np.random.default_rng(5)
    for links in (0.0, 0.05, 0.1, 0.2, 1.0):
        graph = generator.random((12, 12)) < links
        _, labels = connected_components(graph, directed=False)
        assert [set(labels[field]) for field in ratings._fields(graph)] == [
            {label} for label in dict.fromkeys(labels.tolist())
        ]
        for first in range(12):
            found = breadth_first_order(graph, first, return_predecessors=False)
            assert sorted(found) == np.flatnonzero(ratings._reached(graph, first)).tolist()
        _, labels = connected_components(graph, connection="strong")
        parts = ratings._parts(graph, np.arange(12))
        assert len(set(labels[parts.core])) == 1
        assert len(parts.core) == np.bincount(labels).max()
