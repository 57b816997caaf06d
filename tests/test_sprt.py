"""The sequential test: its formula, and how often it errs on real games."""

from __future__ import annotations

from collections.abc import Iterator
from math import log

import numpy as np
import pytest
from blocks import first_game

import pickosim
from pickosim.errors import PickosimError
from pickosim.stats.sequential import Sprt, parse
from pickosim.studies.schedule import FIRST_TEST, TEST_GROWTH, looks

TWINS = ("threshold:target=21", "threshold:target=21,last_dice=2")
"""Two names of the same bot: `last_dice` is 2 by default."""


def sums(values: np.ndarray) -> tuple[int, float, float]:
    return len(values), float(values.sum()), float((values**2).sum())


def block_shares(bots: tuple[str, str], blocks: int) -> np.ndarray:
    """(blocks,) win share of the first bot over both seatings with the same dice."""
    shares = np.zeros(blocks)
    for seating in (bots, bots[::-1]):
        seats = pickosim.play(
            seating, "classic", games=blocks, seed=17, first=first_game(bots)
        ).seats
        mine = seats.filter(bot=bots[0]).sort("game")
        shares += mine["win_share"].to_numpy() / 2
    return shares


# -------------------------------------------------------------------------------------- the formula


def test_bounds_are_those_of_wald():
    assert Sprt(0, 0.01).bounds == pytest.approx((-log(19), log(19)))
    low, high = Sprt(0, 0.01, alpha=0.01, beta=0.1).bounds
    assert (low, high) == pytest.approx((log(0.1 / 0.99), log(0.9 / 0.01)))


def test_the_ratio_is_that_of_two_normal_laws():
    values = np.random.default_rng(0).normal(0.27, 0.2, size=5_000)
    variance = values.var()
    at_low = ((values - 0.25) ** 2).sum() / (2 * variance)
    at_high = ((values - 0.28) ** 2).sum() / (2 * variance)
    llr = Sprt(0, 0.03).llr(*sums(values), players=4)
    assert llr == pytest.approx(at_low - at_high, rel=0.01)


def test_half_way_between_the_claims_nothing_is_shown():
    test = Sprt(-0.01, 0.01)
    values = np.array([0.0, 1.0] * 5_000)
    assert test.llr(*sums(values), players=2) == pytest.approx(0)
    assert test.verdict(*sums(values), players=2) is None
    assert test.llr(*sums(values + 0.002), 2) == pytest.approx(-test.llr(*sums(values - 0.002), 2))


def test_without_blocks_nothing_is_shown():
    assert Sprt(0, 0.01).llr(0, 0.0, 0.0, players=2) == 0
    assert Sprt(0, 0.01).verdict(0, 0.0, 0.0, players=2) is None


def test_blocks_that_all_end_alike_take_some_time_to_show_it():
    test = Sprt(0, 0.01)
    assert test.verdict(171, 171 / 2, 171 / 4, players=2) is None
    assert test.verdict(172, 172 / 2, 172 / 4, players=2) == "H0"
    assert test.verdict(2, 2.0, 2.0, players=2) is None
    assert test.verdict(50, 50.0, 50.0, players=2) == "H1"


# ------------------------------------------------------------------------------------- what is asked


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("0,1%", 0, 0.01),
        ("0%,1%", 0, 0.01),
        ("1%,2", 0.01, 0.02),
        ("-0.5%,0.5%", -0.005, 0.005),
        (" -0.5% , +0.5 % ", -0.005, 0.005),
        ("0,0.01", 0, 0.01),
        ("-.02,1e-2", -0.02, 0.01),
    ],
)
def test_win_shares_are_read(text, low, high):
    test = parse(text)
    assert (test.low, test.high) == pytest.approx((low, high))
    assert (test.alpha, test.beta) == (0.05, 0.05)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "with a comma between"),
        ("1%", "with a comma between"),
        ("0,1%,2%", "with a comma between"),
        ("0;1%", "with a comma between"),
        ("0,one", "with a comma between"),
        ("0,%1", "with a comma between"),
        ("0,1", r"between -1 and 1 \(-100% and 100%\)"),
        ("0,nan", "between -1 and 1"),
        ("-inf,0", "between -1 and 1"),
        ("1%,0", "the lower one first, not 0.01 and 0"),
        ("1%,1%", "two different win shares"),
    ],
)
def test_what_cannot_be_read_is_named_with_an_example(text, message):
    with pytest.raises(PickosimError, match=message) as caught:
        parse(text)
    assert f'"{text}"' in str(caught.value)
    assert "Example: 0,1%" in str(caught.value)


@pytest.mark.parametrize("chances", [{"alpha": 0}, {"alpha": 0.5}, {"beta": -0.1}, {"beta": 1}])
def test_how_often_the_test_may_err_has_limits(chances):
    with pytest.raises(PickosimError, match=f"{next(iter(chances))}, how often the test may err"):
        Sprt(0, 0.01, **chances)


def test_a_share_that_no_bot_can_have_is_refused():
    assert Sprt(-0.25, 0.25).shares(4) == (0, 0.5)
    with pytest.raises(PickosimError, match=r"With 7 players the even share is 14.3%, .* -10.7%"):
        Sprt(-0.25, 0.25).llr(10, 5.0, 3.0, players=7)


# --------------------------------------------------------------------------------------- real games


def test_a_bot_is_no_better_than_its_twin():
    """Their blocks do not differ at all."""
    shares = block_shares(TWINS, 1_024)
    assert Sprt(0, 0.01).verdict(*sums(shares), players=2) == "H0"
    assert Sprt(-0.01, 0).verdict(*sums(shares), players=2) == "H1"


@pytest.fixture(scope="module")
def shares() -> np.ndarray:
    """Two bots about as good as each other."""
    result = block_shares(("eager", "threshold:target=23"), 1 << 18)
    assert len(np.unique(result)) >= 3
    return result


def verdicts(
    test: Sprt, looks: Iterator[np.ndarray], repetitions: int, cap: int
) -> list[str | None]:
    """Play test after test: more blocks at each look, until there is a verdict or too many looks."""
    result: list[str | None] = []
    for _ in range(repetitions):
        so_far = np.zeros(3)
        for _ in range(cap):
            so_far += sums(next(looks))
            n, total, squares = so_far.tolist()
            verdict = test.verdict(int(n), total, squares, players=2)
            if verdict:
                break
        result.append(verdict)
    return result


def error_limit(chance: float, repetitions: int) -> float:
    """The chance and three standard errors of counting it."""
    return chance + 3 * (chance * (1 - chance) / repetitions) ** 0.5


@pytest.mark.parametrize(("truth", "wrong"), [("H0", "H1"), ("H1", "H0")])
def test_as_games_come_the_test_errs_no_more_often_than_it_may(shares, truth, wrong):
    """400 tests one after the other on games that were played, moved to where the truth is known."""
    test, repetitions = Sprt(0, 0.025), 400
    moved = shares - shares.mean() + 0.5 + (test.low if truth == "H0" else test.high)
    looks = iter(moved.reshape(-1, 128))
    result = verdicts(test, looks, repetitions, cap=32)
    assert result.count(wrong) / repetitions <= error_limit(0.05, repetitions)
    assert result.count(truth) / repetitions >= 0.9


@pytest.mark.parametrize(("truth", "wrong"), [("H0", "H1"), ("H1", "H0")])
@pytest.mark.parametrize("chances", [(0.05, 0.05), (0.01, 0.1)])
def test_drawn_again_the_test_errs_no_more_often_than_it_may(shares, truth, wrong, chances):
    """1,000 tests of 0,1%, on blocks drawn from those played, with a look every 1,024 blocks."""
    test, repetitions = Sprt(0, 0.01, *chances), 1_000
    moved = shares - shares.mean() + 0.5 + (test.low if truth == "H0" else test.high)
    rng = np.random.default_rng(9)
    looks = (rng.choice(moved, 1_024) for _ in iter(int, 1))
    result = verdicts(test, looks, repetitions, cap=24)
    allowed = test.alpha if truth == "H0" else test.beta
    assert result.count(wrong) / repetitions <= error_limit(allowed, repetitions)
    assert result.count(wrong) > 0
    assert result.count(truth) / repetitions >= 0.85


@pytest.mark.parametrize("distance", [0.02, 0.05])
def test_at_the_looks_of_a_run_it_needs_hardly_more_blocks_than_walds_test(shares, distance):
    """500 tests for each claim, on blocks drawn from those played; Wald's number is that of a known spread."""
    test, repetitions = Sprt(0, distance), 500
    rng = np.random.default_rng(3)
    wald = 2 * 0.9 * log(19) * shares.var() / distance**2
    taken = []
    for truth, wrong in ((test.low, "H1"), (test.high, "H0")):
        moved = shares - shares.mean() + 0.5 + truth
        errors = 0
        for _ in range(repetitions):
            drawn = rng.choice(moved, 40 * int(wald))
            totals, squares = np.cumsum(drawn), np.cumsum(drawn**2)
            for look in looks(len(drawn), FIRST_TEST, TEST_GROWTH):
                verdict = test.verdict(look, totals[look - 1], squares[look - 1], players=2)
                if verdict:
                    break
            taken.append(look)
            errors += verdict == wrong
        assert errors / repetitions <= error_limit(0.05, repetitions)
    assert 1 < np.mean(taken) / wald < 1.4


def test_in_between_no_verdict_comes_soon(shares):
    """A truth half way takes longer than either claim."""
    test = Sprt(0, 0.01)
    middle = shares - shares.mean() + 0.505
    clear = middle + 0.005
    rng = np.random.default_rng(4)
    open_ = [
        verdicts(test, (rng.choice(values, 1_024) for _ in iter(int, 1)), 200, cap=4).count(None)
        for values in (middle, clear)
    ]
    assert open_[0] > open_[1] > 0
