"""Intervals: their formulas, and how often they cover the truth where that can be reckoned exactly."""

from __future__ import annotations

from math import inf, sqrt

import numpy as np
import pytest
from scipy.stats import binom, linregress, norm
from scipy.stats import t as student

from pickosim.stats.distributions import (
    binomial_cdf,
    binomial_quantile,
    normal_cdf,
    normal_quantile,
    student_cdf,
    student_quantile,
)
from pickosim.stats.intervals import (
    FITTED_FROM,
    Control,
    Estimate,
    Moments,
    RatioMoments,
    count_rate,
    less_control,
    mean_rate,
    ratio_rate,
    share_interval,
    share_rate,
    share_superiority,
    stratified_mean,
)


def moments(values: np.ndarray, step: float = 1.0) -> Moments:
    return Moments(len(values), float(values.sum()), float((values**2).sum()), step)


# ------------------------------------------------------------------------------------------ formulas


def test_a_mean_of_differences_has_students_interval():
    values = np.random.default_rng(0).normal(2, 30, 12)
    low, high = student.interval(0.95, 11, values.mean(), values.std(ddof=1) / sqrt(12))
    assert mean_rate([moments(values, step=1e-6)]) == pytest.approx((values.mean(), low, high))


def test_groups_of_unequal_spread_have_the_degrees_of_freedom_of_welch():
    rng = np.random.default_rng(1)
    groups = [rng.normal(0, 1, 40), rng.normal(5, 20, 10)]
    variances = [len(g) * g.var(ddof=1) for g in groups]
    df = sum(variances) ** 2 / sum(
        v**2 / (len(g) - 1) for v, g in zip(variances, groups, strict=True)
    )
    found = stratified_mean([moments(g, step=1e-6) for g in groups])
    assert found == pytest.approx((np.concatenate(groups).mean(), sqrt(sum(variances)) / 50, df))
    assert 9 < df < 10


def test_of_many_blocks_won_or_lost_the_interval_is_that_of_agresti_and_coull():
    n, won, z = 20_000, 300, norm.ppf(0.975)
    middle = (won + z**2 / 2) / (n + z**2)
    half = z * sqrt(middle * (1 - middle) / (n + z**2))
    assert share_interval([Moments(n, won, won)]) == pytest.approx(
        (middle - half, middle + half), rel=1e-3
    )


def test_a_count_is_a_share_of_very_many_games():
    counts = np.random.default_rng(2).poisson(1.5, 30)
    many = 1e7
    low, high = share_interval([moments(counts / many, step=1 / many)])
    assert count_rate([moments(counts)])[1:] == pytest.approx((many * low, many * high), rel=1e-5)


def test_shares_and_their_complements_have_the_same_interval():
    values = np.random.default_rng(3).integers(0, 3, 25) / 4
    low, high = share_interval([moments(values, 0.25)])
    assert share_interval([moments(1 - values, 0.25)]) == pytest.approx((1 - high, 1 - low))


def test_a_single_block_tells_nothing():
    one = Moments(1, 0.5, 0.25)
    assert stratified_mean([one]).error == inf
    assert share_rate([one]) == (0.5, 0, 1)
    assert count_rate([one]) == (0.5, 0, inf)
    assert ratio_rate([RatioMoments(1, 1, 2, 1, 4, 2)]) == (0.5, 0, 1)


def test_with_next_to_no_degrees_of_freedom_an_interval_says_nothing():
    """As where nearly all of what is counted is in one of few games."""
    for df in (1e-300, 1e-9, 1e-3, 0.009):
        assert 1e100 < student_quantile(0.975, df) < inf


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("blocks", [2, 10, 50, 1_000])
def test_blocks_that_all_end_alike_do_not_prove_that_they_always_do(value, blocks):
    """A block that ends otherwise may have a chance of 1 / blocks, and still not come up: in 37 % of runs."""
    low, high = share_interval([Moments(blocks, value * blocks, value**2 * blocks, 0.5)])
    assert low <= value <= high
    assert high - low > 0.5 / blocks
    assert high - low < 6 / blocks or blocks == 2


def test_a_bot_that_never_won_may_win_less_than_one_that_won_once():
    highs = [share_interval([Moments(50, k / 4, k / 16, 1 / 4)])[1] for k in range(4)]
    assert highs == sorted(highs)
    # Of 200 games: Clopper and Pearson would say 1.8 %.
    assert 0.018 < highs[0] < 0.027


def test_two_more_blocks_are_added_to_all_groups_together():
    """Not to each group: a hundred matchups would have two hundred blocks that nobody played."""
    whole = stratified_mean([Moments(1_000, 500, 250, 0.5)])
    parts = stratified_mean([Moments(10, 5, 2.5, 0.5)] * 100)
    assert (parts.mean, parts.error) == pytest.approx((whole.mean, whole.error))


def test_superiority_agrees_with_the_interval():
    for won in range(21):
        group = [Moments(20, won, won)]
        low, high = share_interval(group)
        assert (share_superiority(group) > 0.975) == (low > 0.5)
        assert (share_superiority(group) < 0.025) == (high < 0.5)


def test_the_p_value_agrees_with_the_interval():
    inside, outside = Estimate(2.2, 1.0, 9), Estimate(2.3, 1.0, 9)
    assert inside.interval()[0] < 0 < outside.interval()[0]
    assert inside.p_value > 0.05 > outside.p_value
    assert Estimate(1.96, 1.0).p_value == pytest.approx(0.05, abs=1e-4)


# ---------------------------------------------------------------------------------- less what a control explains


def control(values: np.ndarray, of: np.ndarray) -> Control:
    return Control(float(of.sum()), float((of**2).sum()), float((of * values).sum()))


def test_what_a_control_leaves_is_the_intercept_of_a_regression():
    rng = np.random.default_rng(4)
    luck = rng.normal(0, 0.4, 80)
    values = 0.55 + 0.7 * luck + rng.normal(0, 0.1, 80)
    fitted = linregress(luck, values)
    found = stratified_mean([less_control(moments(values, step=1e-9), control(values, luck))])
    assert found.mean == pytest.approx(fitted.intercept)
    assert found.error == pytest.approx(fitted.intercept_stderr * sqrt(80 / 78))


def test_few_values_and_a_control_that_says_nothing_are_left_as_they_are():
    values = np.random.default_rng(5).random(FITTED_FROM)
    of = moments(values, 0.5)
    assert less_control(of, control(values, np.zeros(FITTED_FROM))) == of
    assert less_control(of, control(values, values - values.mean())) != of
    few = moments(values[1:], 0.5)
    assert less_control(few, control(values[1:], values[1:] - 0.5)) == few


@pytest.mark.parametrize("blocks", [50, 100, 1_000])
@pytest.mark.parametrize("lost", [0, 1, 3])
def test_a_share_near_1_stays_a_share_whatever_the_control_explains(blocks, lost):
    """Few blocks were not won, and luck explains all of that, or nothing: the guard against too little spread is left."""
    values = np.ones(blocks)
    values[:lost] = 0.5
    for luck in (values - values.mean(), np.random.default_rng(lost).normal(0, 0.2, blocks)):
        mean, low, high = share_rate([less_control(moments(values, 0.5), control(values, luck))])
        assert mean is not None and low is not None and high is not None
        assert 0 <= low <= mean <= 1 and low < high <= 1
        assert 1 - low > 0.5 / blocks


@pytest.mark.parametrize(("blocks", "explained"), [(50, 0.5), (50, 0.98), (200, 0.9)])
def test_what_a_control_leaves_covers_the_truth(blocks, explained):
    rng = np.random.default_rng(blocks)
    covered, runs = 0, 2_000
    luck = rng.choice([-0.5, 0.0, 0.5], (runs, blocks), p=[0.25, 0.5, 0.25]) * sqrt(explained)
    left = rng.exponential(sqrt((1 - explained) / 8), (runs, blocks)) - sqrt((1 - explained) / 8)
    for own, of in zip(0.5 + luck + left, luck, strict=True):
        low, high = share_interval([less_control(moments(own, 0.5), control(own, of))])
        covered += low <= 0.5 <= high
    assert 0.935 <= covered / runs <= 0.985


# ------------------------------------------------------------------------------------------ coverage


@pytest.mark.parametrize("blocks", [10, 20, 50, 200])
@pytest.mark.parametrize(("value", "step"), [(1, 1), (0.5, 0.5), (0.25, 0.25)])
def test_rare_wins_are_covered_however_rare(blocks, value, step):
    """By the binomial law: of all blocks some are won, by `value`; at any chance of that up to a half."""
    won = np.arange(blocks + 1)
    ends = [share_interval([Moments(blocks, value * k, value**2 * k, step)]) for k in won.tolist()]
    low, high = np.array(ends).T
    for chance in np.geomspace(0.01 / blocks, 0.5, 200):
        inside = (low <= value * chance) & (value * chance <= high)
        assert binom.pmf(won, blocks, chance)[inside].sum() >= 0.935


@pytest.mark.parametrize("blocks", [10, 20, 50])
@pytest.mark.parametrize("uneven", [0.02, 0.1, 0.3])
def test_even_blocks_with_few_exceptions_are_covered(blocks, uneven):
    """Seats of a lopsided field: most blocks are shared evenly, a few are won or lost, more often won."""
    rng = np.random.default_rng(blocks)
    chances, shares = [1 - uneven, 0.6 * uneven, 0.4 * uneven], np.array([0.5, 1, 0])
    truth, covered = float(chances @ shares), 0
    for counts in rng.multinomial(blocks, chances, 2_000):
        low, high = share_interval(
            [Moments(blocks, float(counts @ shares), float(counts @ shares**2), 0.5)]
        )
        covered += low <= truth <= high
    assert covered / 2_000 >= 0.94


@pytest.mark.parametrize("chance", [0.1, 0.5, 0.9, 0.95])
@pytest.mark.parametrize("trials", [1, 2, 10, 97, 1_000, 123_456, 10**7])
def test_binomial_quantiles_are_those_of_scipy_stats(trials, chance):
    for share in (0.005, 0.025, 0.975, 0.995):
        assert binomial_quantile(share, trials, chance) == binom.ppf(share, trials, chance)


@pytest.mark.parametrize("df", [1, 1.3, 2, 3.7, 9, 30, 99.5, 999, 1000, 1e4, 1e6, 1e9, inf])
def test_students_t_is_that_of_scipy_stats(df):
    for t in (-20, -8, -3, -1.96, -0.5, 0, 0.3, 1, 1.7, 2.6, 5, 20):
        assert student_cdf(t, df) == pytest.approx(student(df).cdf(t), rel=1e-9, abs=1e-16)
    for share in (0.5, 0.6, 0.9, 0.975, 0.995, 0.9999):
        assert student_quantile(share, df) == pytest.approx(student(df).ppf(share), rel=1e-9)


def test_the_normal_law_is_that_of_scipy_stats():
    for x in (-8, -1.96, 0, 0.5, 3):
        assert normal_cdf(x) == pytest.approx(norm.cdf(x), rel=1e-13)
    for share in (1e-6, 0.025, 0.5, 0.975):
        assert normal_quantile(share) == pytest.approx(norm.ppf(share), abs=1e-13)


@pytest.mark.parametrize(
    ("trials", "chance"), [(1, 0.5), (10, 0.3), (97, 0.5), (40_000, 0.25), (5_000_000, 0.5)]
)
def test_binomial_chances_are_those_of_scipy_stats(trials, chance):
    for successes in {0, trials // 4, int(trials * chance), trials // 2, trials}:
        found = binomial_cdf(successes, trials, chance)
        assert found == pytest.approx(binom.cdf(successes, trials, chance), rel=1e-7, abs=1e-15)
