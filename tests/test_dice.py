"""Dice: the numbering of rolls, the chance of each, and independent random numbers."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import cache
from math import comb, factorial, prod
from typing import Any

import numpy as np
import pytest
from numba import njit
from pickosim.strategies.eager import Eager
from scipy.stats import chi2_contingency, chisquare, kstest
from situations import every_question

from pickosim.bots.strategy import Strategy
from pickosim.bots.view import METHODS, Turn
from pickosim.engine.dice import (
    CHOICE_STREAM,
    DICE_STREAM,
    FACES,
    POINTS,
    derive,
    draw_golden_face,
    draw_roll,
    first_roll,
    rolls,
    stream_key,
)
from pickosim.engine.log import ROLL, events, new_log
from pickosim.engine.rulebook import rulebook
from pickosim.games.batch import Batch, play_games
from pickosim.games.match import make_match
from pickosim.rule_files import load_rules
from pickosim.rules import MOST_DICE

MOST = 9
DICE = range(1, MOST + 1)
SEED = 20_260_101
CERTAIN = 1e-4
"""Seeds are fixed: a p-value below this is a fault, not bad luck."""


def block(dice: int) -> Any:
    """All rolls of this many dice."""
    return rolls(MOST)[first_roll(dice) : first_roll(dice + 1)]


def chance(counts: Any) -> Fraction:
    """Probability of a roll, by the multinomial formula."""
    shown = [int(count) for count in counts]
    orders = factorial(sum(shown)) // prod(factorial(count) for count in shown)
    return Fraction(orders, FACES ** sum(shown))


# ------------------------------------------------------------------------------ numbers of rolls


@pytest.mark.parametrize("dice", range(MOST + 1))
def test_every_roll_has_a_number(dice):
    counts = block(dice)["counts"]
    assert len(counts) == comb(dice + 5, 5)
    assert (counts.sum(axis=1) == dice).all()
    assert (counts[:, 0] == 0).all()
    assert len(np.unique(counts, axis=0)) == len(counts)


def test_numbers_do_not_depend_on_the_most_dice():
    most = rolls(MOST_DICE + 1)
    assert len(most) == first_roll(MOST_DICE + 2)
    for dice in range(MOST_DICE + 1):
        fewer, size = rolls(dice), first_roll(dice + 1)
        assert len(fewer) == size
        for name in ("alias", "counts", "faces"):
            assert (fewer[name] == most[name][:size]).all()
        inner = first_roll(dice)
        assert (fewer["plus"][:inner] == most["plus"][:inner]).all()
        assert (fewer["plus"][inner:] == 0).all()


def test_the_faces_of_a_roll():
    for row in rolls(MOST):
        shown = {face for face in range(1, FACES + 1) if row["counts"][face]}
        assert {face for face in range(1, FACES + 1) if row["faces"] >> (face - 1) & 1} == shown
        assert row["faces"] < 1 << FACES


def test_one_more_die():
    all_rolls = rolls(MOST)
    for row in all_rolls[: first_roll(MOST)]:
        for face in range(1, FACES + 1):
            more = all_rolls["counts"][row["plus"][face]].astype(int) - row["counts"]
            assert more.tolist() == [int(f == face) for f in range(FACES + 1)]


def test_points_of_the_faces():
    assert POINTS.tolist() == [0, 1, 2, 3, 4, 5, 5]


# ------------------------------------------------------------------------------ chances of rolls


def alias_entries(dice: int) -> list[tuple[int, int]]:
    """Threshold (of 2^32) and the other roll, of every bin."""
    return [(int(entry) >> 32, int(entry) & 0xFFFFFFFF) for entry in block(dice)["alias"]]


@pytest.mark.parametrize("dice", range(MOST + 1))
def test_the_alias_table_is_exact_to_2_to_the_minus_30(dice):
    """Every bin equally likely: the mass it keeps for itself, and what it gives to the other."""
    first, entries = first_roll(dice), alias_entries(dice)
    mass = [Fraction(0)] * len(entries)
    for own, (threshold, other) in enumerate(entries):
        kept = Fraction(threshold, 1 << 32)
        mass[own] += kept / len(entries)
        mass[other - first] += (1 - kept) / len(entries)
    expected = [chance(counts) for counts in block(dice)["counts"]]
    assert sum(mass) == sum(expected) == 1
    assert max(abs(a - b) for a, b in zip(mass, expected, strict=True)) < Fraction(1, 1 << 30)


@pytest.mark.parametrize("dice", range(MOST + 1))
def test_the_draw_is_exact_to_2_to_the_minus_30(dice):
    """The same over all 2^64 random numbers: a bin takes them by its share of the upper 32 bits."""
    first, entries = first_roll(dice), alias_entries(dice)
    size = len(entries)
    starts = [-(-(index << 32) // size) for index in range(size + 1)]
    mass = [0] * size
    for own, (threshold, other) in enumerate(entries):
        width = starts[own + 1] - starts[own]
        mass[own] += width * threshold
        mass[other - first] += width * ((1 << 32) - threshold)
    assert sum(mass) == 1 << 64
    for found, counts in zip(mass, block(dice)["counts"], strict=True):
        assert abs(Fraction(found, 1 << 64) - chance(counts)) < Fraction(1, 1 << 30)


@njit
def draws(all_rolls, first, dice, keys, roll):
    """The engine's rolls of this many dice at many addresses."""
    out = np.empty(len(keys), np.int64)
    for k in range(len(keys)):
        out[k] = draw_roll(all_rolls, first, dice, keys[k], roll)
    return out


@njit
def golden_draws(faces, keys, roll):
    out = np.empty(len(keys), np.int64)
    for k in range(len(keys)):
        out[k] = draw_golden_face(faces, keys[k], roll)
    return out


@njit
def turn_keys(seed, games, turns):
    """Addresses of the first turns of the first games, as the engine finds them."""
    key = stream_key(seed, DICE_STREAM)
    out = np.empty(games * turns, np.uint64)
    for game in range(games):
        game_key = derive(key, np.uint64(game))
        for turn in range(turns):
            out[game * turns + turn] = derive(game_key, np.uint64(turn + 1))
    return out


@cache
def many_keys() -> Any:
    return turn_keys(np.uint64(SEED), 20_000, 25)


def first_rolls() -> Any:
    return rulebook(load_rules("classic"), 2)["first_roll"][0]


def p_value(counted: Any, chances: Any) -> float:
    """p value of a chi-square test, rare cells merged until at least 5 are expected in each."""
    cells, expected = [0.0], [0.0]
    for share, number in sorted(zip(chances, counted, strict=True)):
        if expected[-1] >= 5:
            cells.append(0)
            expected.append(0)
        cells[-1] += number
        expected[-1] += share * np.sum(counted)
    if expected[-1] < 5:
        cells[-2:], expected[-2:] = [sum(cells[-2:])], [sum(expected[-2:])]
    return float(chisquare(cells, expected).pvalue)


@pytest.mark.parametrize("roll", [0, 1, 6])
@pytest.mark.parametrize("dice", DICE)
def test_drawn_rolls_are_as_frequent_as_they_should_be(dice, roll):
    drawn = draws(rolls(MOST), first_rolls(), dice, many_keys(), roll) - first_roll(dice)
    chances = [float(chance(counts)) for counts in block(dice)["counts"]]
    assert drawn.min() >= 0
    assert p_value(np.bincount(drawn, minlength=len(chances)), chances) > CERTAIN


def test_first_rolls_of_real_games_are_as_frequent_as_they_should_be():
    rules = load_rules("classic").with_options({"turn_limit": 1})
    batch = Batch(make_match(["eager", "eager"], rules, SEED), 0, 200_000, log=new_log(room=True))
    batch.play()
    logged = events(batch.log)
    dice = logged[logged["kind"] == ROLL]
    _, first = np.unique(dice["entry"], return_index=True)
    drawn = dice["a"][first] - first_roll(8)
    chances = [float(chance(counts)) for counts in block(8)["counts"]]
    assert p_value(np.bincount(drawn, minlength=len(chances)), chances) > CERTAIN


# --------------------------------------------------------------------------------- the golden die

SPECIAL = [1, 1, 1, 6, 6, 6]


@pytest.mark.parametrize("faces", [[1, 2, 3, 4, 5, 6], SPECIAL, [2, 2, 2, 2, 2, 6]])
def test_the_golden_die_shows_its_faces_equally_often(faces):
    drawn = golden_draws(np.array(faces, np.uint8), many_keys(), 0)
    shown = Counter(drawn.tolist())
    assert set(shown) == set(faces)
    counted = [shown[face] for face in sorted(set(faces))]
    assert p_value(counted, [faces.count(face) / 6 for face in sorted(set(faces))]) > CERTAIN


@pytest.mark.parametrize("faces", [[1, 2, 3, 4, 5, 6], SPECIAL])
@pytest.mark.parametrize("white", [1, 3, 8])
@pytest.mark.parametrize(("roll", "other_roll"), [(0, 0), (0, 1), (1, 0)])
def test_the_golden_die_is_independent_of_the_white_dice(faces, white, roll, other_roll):
    golden = golden_draws(np.array(faces, np.uint8), many_keys(), roll)
    drawn = draws(rolls(MOST), first_rolls(), white, many_keys(), other_roll)
    counts = rolls(MOST)["counts"][drawn]
    for column in (counts[:, 6], counts[:, 1], counts[:, 1:] @ POINTS[1:]):
        assert independent(golden, column)


def test_the_golden_die_is_independent_of_its_last_roll():
    faces = np.array([1, 2, 3, 4, 5, 6], np.uint8)
    one, other = (golden_draws(faces, many_keys(), roll) for roll in (0, 1))
    assert independent(one, other)


def independent(one: Any, other: Any) -> bool:
    """By a chi-square test of how often each pair of values occurs, without rare values."""
    counted = np.zeros((one.max() + 1, other.max() + 1))
    np.add.at(counted, (one, other), 1)
    counted = counted[counted.sum(axis=1) > 0]
    counted = counted[:, counted.sum(axis=0) > 200]
    return float(chi2_contingency(counted).pvalue) > CERTAIN


def test_the_golden_die_of_real_games_is_fair():
    rules = load_rules("classic").with_options(
        {"turn_limit": 1, "specialists": {"golden-die": {"seat": 0}}}
    )
    batch = Batch(make_match(["eager", "eager"], rules, SEED), 0, 60_000, log=new_log(room=True))
    batch.play()
    logged = events(batch.log)
    rolled = logged[(logged["kind"] == ROLL) & (logged["b"] > 0)]
    # Later rolls are made only while the golden die is not taken, so they are not all equal.
    _, first = np.unique(rolled["entry"], return_index=True)
    assert len(first) == 60_000
    assert p_value(np.bincount(rolled["b"][first])[1:], [1 / 6] * 6) > CERTAIN


# ------------------------------------------------------------------- random numbers and addresses


@njit
def numbers(seed, game, turn, roll, stream):
    """The random numbers of many addresses."""
    out = np.empty(len(seed), np.uint64)
    for k in range(len(seed)):
        key = derive(derive(stream_key(seed[k], stream), game[k]), turn[k])
        out[k] = derive(key, roll[k])
    return out


LEVELS = ["seed", "game", "turn", "roll"]
PAIRS = 200_000


def addresses() -> dict[str, Any]:
    """Many addresses, small numbers as in real games."""
    rng = np.random.default_rng(SEED)
    limits = {"seed": 1000, "game": 10**6, "turn": 200, "roll": 7}
    return {level: rng.integers(0, limits[level], PAIRS).astype(np.uint64) for level in LEVELS}


@pytest.mark.parametrize("step", [1, 2, 256, 1 << 32])
@pytest.mark.parametrize("level", LEVELS)
def test_adjacent_addresses_share_no_bits(level, step):
    here = addresses()
    there = here | {level: here[level] + np.uint64(step)}
    one, other = (numbers(**address, stream=DICE_STREAM) for address in (here, there))
    assert_unrelated(one, other)


def test_dice_and_choices_share_no_bits():
    here = addresses()
    assert_unrelated(*(numbers(**here, stream=stream) for stream in (DICE_STREAM, CHOICE_STREAM)))


def assert_unrelated(one: Any, other: Any) -> None:
    """Each bit of one number equals the bit of the other in half of the pairs, and in all together."""
    equal = ~(one ^ other)
    matches = np.array([int(((equal >> np.uint64(bit)) & np.uint64(1)).sum()) for bit in range(64)])
    scores = (matches - len(one) / 2) / np.sqrt(len(one) / 4)
    assert abs(scores).max() < 5
    assert abs(scores.sum() / 8) < 4


@pytest.mark.parametrize("level", LEVELS)
def test_bits_are_even_at_every_level(level):
    """Sequences in which one part of the address counts up."""
    here = {name: np.full(PAIRS, 3, np.uint64) for name in LEVELS}
    here[level] = np.arange(PAIRS, dtype=np.uint64)
    found = numbers(**here, stream=DICE_STREAM)
    assert len(np.unique(found)) == PAIRS
    assert_unrelated(found, np.zeros(PAIRS, np.uint64))
    assert_unrelated(found[1:], found[:-1])


# ------------------------------------------------------------------- random choices of strategies


class Recorder(Strategy):
    """Plays at random and writes down its random numbers, two at a time, by method."""

    seen: Any = None

    def draw(self, method: str, turn: Turn) -> Any:
        pair = np.stack([turn.random(), turn.random()], axis=1)
        # A single game is asked about twice over, and has the same numbers in both rows.
        _, rows = np.unique(turn._rows, return_index=True)
        self.seen[method].append(pair[rows])
        return pair[:, 0]

    def one_of(self, method: str, turn: Turn, options: Any) -> Any:
        nth = (self.draw(method, turn) * options.sum(axis=1)).astype(int)
        return (options.cumsum(axis=1) > nth[:, None]).argmax(axis=1)

    def pick(self, turn: Turn) -> Any:
        return self.one_of("pick", turn, turn.legal)

    def stop(self, turn: Turn) -> Any:
        return (self.draw("stop", turn) < 0.5) & turn.can_claim

    def claim(self, turn: Turn) -> Any:
        return turn.tiles[self.one_of("claim", turn, turn.claims)]

    def reroll(self, turn: Turn) -> Any:
        return self.draw("reroll", turn) < 0.5

    def use_golden_die(self, turn: Turn) -> Any:
        return self.draw("use_golden_die", turn) < 0.5

    def keep_new_specialist(self, turn: Turn) -> Any:
        return self.draw("keep_new_specialist", turn) < 0.5

    def rob(self, turn: Turn) -> Any:
        return self.one_of("rob", turn, turn.robbable)


@cache
def recorded() -> dict[str, Any]:
    """(n, 2) random numbers of every method."""
    seen: dict[str, Any] = {method: [] for method in METHODS}
    play_games(make_match([Recorder(seen=seen) for _ in range(4)], every_question(), SEED), 0, 3000)
    return {method: np.concatenate(pairs) for method, pairs in seen.items()}


@pytest.mark.parametrize("method", METHODS)
def test_random_numbers_of_strategies_are_uniform(method):
    pairs = recorded()[method]
    assert len(pairs) > 1000
    assert ((pairs >= 0) & (pairs < 1)).all()
    for column in pairs.T:
        assert kstest(column, "uniform").pvalue > CERTAIN
    assert abs(np.corrcoef(pairs.T)[0, 1]) < 4 / np.sqrt(len(pairs))


def test_no_random_number_is_given_twice():
    everything = np.concatenate([pairs.ravel() for pairs in recorded().values()])
    values, times = np.unique(everything, return_counts=True)
    assert len(values) == len(everything), f"{(times > 1).sum()} numbers came again"


class Noisy(Eager):
    """Decides like eager, and draws random numbers before every decision."""

    draws: int = 5


def _noisily(method: str) -> Any:
    def decide(self: Noisy, turn: Turn) -> Any:
        for _ in range(self.draws):
            turn.random()
        return getattr(super(Noisy, self), method)(turn)

    return decide


for _method in METHODS:
    setattr(Noisy, _method, _noisily(_method))


@pytest.mark.parametrize("preset", ["classic", "extrawurm", "manual-extrawurm"])
@pytest.mark.parametrize("draws", [1, 60])
def test_random_numbers_of_strategies_do_not_change_the_dice(preset, draws):
    quiet, noisy = (
        Batch(make_match([bot] * 3, preset, SEED), 0, 100, log=new_log(room=True))
        for bot in ("eager", Noisy(draws=draws))
    )
    assert all((one == other).all() for one, other in zip(quiet.play(), noisy.play(), strict=True))
    assert events(quiet.log).tolist() == events(noisy.log).tolist()
