"""The turn solver against brute force, published figures, and itself."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise, product
from math import comb
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from policies import Law, LookupPolicy, chances, law

from pickosim.engine.dice import POINTS, rolls
from pickosim.rules import WORM
from pickosim.solver.graph import BUST, DICE, WORTH, Problem, dice_kinds, graph, states
from pickosim.solver.law import situations
from pickosim.solver.solve import (
    AT_ONCE,
    Optimal,
    Solutions,
    Solver,
    best_face,
    payoff_rows,
    should_reroll,
    should_stop,
    solve,
)

STANDARD, SPECIAL = (1, 2, 3, 4, 5, 6), (1, 1, 1, 6, 6, 6)
SMALL = [
    Problem(3),
    Problem(4, ones=2),
    Problem(3, STANDARD),
    Problem(3, SPECIAL, ones=2),
    Problem(2, (1, 2, 2, 3, 3, 3)),
    Problem(3, (), "any roll", ones=2),
    Problem(3, (), "not on a bust"),
    Problem(2, STANDARD, "any roll"),
    Problem(3, SPECIAL, "any roll"),
    Problem(3, SPECIAL, "not on a bust"),
    Problem(4, ones=1),
    Problem(3, SPECIAL, ones=1),
    Problem(2, STANDARD, "any roll", ones=3),
    Problem(3, SPECIAL, "any roll", ones=4),
]
LARGE = [
    Problem(),
    Problem(8, STANDARD),
    Problem(8, SPECIAL, ones=2),
    Problem(8, (), "any roll", ones=2),
    Problem(8, (), "not on a bust"),
]


class State(NamedTuple):
    """A turn between rolls, in plain Python."""

    aside: frozenset[int]
    white: int
    golden: bool
    points: int
    weasel: bool
    earned: bool


class Throw(NamedTuple):
    """Faces of the white dice in ascending order, and of the golden one (0: not rolled)."""

    white: tuple[int, ...]
    golden: int


@cache
def throws(white: int, golden: tuple[int, ...]) -> list[tuple[Throw, float]]:
    """What dice can show, with chances, by going through all dice one by one."""
    seen = Counter(
        Throw(tuple(sorted(dice)), gold)
        for *dice, gold in product(*[range(1, 7)] * white, golden or (0,))
    )
    return [(throw, count / seen.total()) for throw, count in seen.items()]


class Reference:
    """The rules of a turn and the best way to play it, by recursion over all throws."""

    def __init__(self, problem: Problem, payoff: np.ndarray) -> None:
        self.problem = problem
        blocks = payoff.reshape(problem.blocks, -1)
        self.bust = blocks[:, 0].tolist()
        self.worth = blocks[:, 1:].reshape(problem.blocks, 2, -1).tolist()
        self.start = State(
            frozenset(), problem.white, bool(problem.golden), 0, problem.weasel != "none", False
        )
        self.roll_on = cache(self._roll_on)

    def stop(self, state: State) -> float:
        return self.worth[state.earned][WORM in state.aside][state.points]

    def may_roll(self, state: State) -> bool:
        return state.white + state.golden > 0 and len(state.aside) < 6

    def throws(self, state: State) -> list[tuple[Throw, float]]:
        return throws(state.white, self.problem.golden if state.golden else ())

    def take(self, state: State, throw: Throw, face: int) -> State:
        """The state after setting aside a face; enough 1s earn the bonus."""
        white, golden, ones = throw.white.count(face), throw.golden == face, self.problem.ones
        return state._replace(
            aside=state.aside | {face},
            white=state.white - white,
            golden=state.golden and not golden,
            points=state.points + (white + golden) * min(face, 5),
            earned=state.earned or (face == 1 and ones > 0 and white + golden >= ones),
        )

    def choices(self, state: State, throw: Throw) -> dict[int, float]:
        """The value of setting aside each new face, the highest first."""
        values = {}
        for face in sorted({*throw.white, throw.golden} - state.aside - {0}, reverse=True):
            after = self.take(state, throw, face)
            values[face] = self.stop(after)
            if self.may_roll(after):
                values[face] = max(values[face], self.roll_on(after))
        return values

    def may_reroll(self, state: State, throw: Throw) -> bool:
        new = {*throw.white, throw.golden} - state.aside - {0}
        return state.weasel and (bool(new) or self.problem.weasel == "any roll")

    def _roll_on(self, state: State) -> float:
        value = 0.0
        for throw, chance in self.throws(state):
            best = max(self.choices(state, throw).values(), default=self.bust[state.earned])
            if self.may_reroll(state, throw):
                best = max(best, self.roll_on(state._replace(weasel=False)))
            value += chance * best
        return value

    def states(self) -> Iterator[State]:
        """All states at which the dice can be rolled, the first roll included."""
        found, todo = {self.start}, [self.start]
        while todo:
            state = todo.pop()
            yield state
            after = {
                self.take(state, throw, face)
                for throw, _ in self.throws(state)
                for face in {*throw.white, throw.golden} - state.aside - {0}
            }
            fresh = {s for s in after | {state._replace(weasel=False)} if self.may_roll(s)} - found
            found |= fresh
            todo.extend(fresh)


def random_payoffs(problem: Problem, seed: int, rows: int = 1) -> np.ndarray:
    """Pay-offs with a canned worm, any bonus, and ties among their integers."""
    random = np.random.default_rng(seed)
    integers = random.integers(-2, 5, (rows, problem.columns)).astype(np.float64)
    return np.where(random.random((rows, 1)) < 0.5, integers, random.normal(size=integers.shape))


def mask(faces: frozenset[int]) -> int:
    return sum(1 << (face - 1) for face in faces)


@cache
def roll_numbers(dice: int) -> dict[tuple[int, ...], int]:
    counts = rolls(dice)["counts"]
    return {
        tuple(np.repeat(np.arange(7), row).tolist()): number for number, row in enumerate(counts)
    }


def standing(all_states: list[State]) -> np.ndarray:
    rows = [
        (mask(s.aside), s.points, s.white, s.golden, s.weasel, s.earned, 0, 0) for s in all_states
    ]
    return np.array(rows, DICE)


def rolled(situations: list[tuple[State, Throw]]) -> np.ndarray:
    number = roll_numbers(5)
    dice = standing([state for state, _ in situations])
    dice["golden_face"] = [throw.golden for _, throw in situations]
    dice["roll"] = [
        number[tuple(sorted(face for face in (*throw.white, throw.golden) if face))]
        for _, throw in situations
    ]
    return dice


@pytest.mark.parametrize(
    ("problem", "seed"), [(problem, (1, 5)[k % 2]) for k, problem in enumerate(SMALL)], ids=str
)
def test_every_value_and_choice_is_that_of_brute_force(problem: Problem, seed: int) -> None:
    payoff = random_payoffs(problem, seed)
    reference, plan = Reference(problem, payoff[0]), graph(problem)
    solutions = solve(plan, payoff)
    all_states = list(reference.states())
    assert solutions[0, plan.start] == pytest.approx(reference.roll_on(reference.start), abs=1e-13)

    at = standing(all_states)
    pool = tuple(at[name] for name in ("weasel", "earned", "aside", "white", "golden"))
    slots = plan.slot[plan.base[pool] + at["points"]]
    roll_on = np.array([reference.roll_on(state) for state in all_states])
    np.testing.assert_allclose(solutions[0, slots], roll_on, atol=1e-13)
    stop = np.array([reference.stop(state) for state in all_states])
    everywhere = Solutions.of_rows(solutions, np.zeros(len(stop), np.int64))
    np.testing.assert_array_equal(should_stop(plan, everywhere, at), roll_on <= stop + 1e-11)

    situations = [(state, throw) for state in all_states for throw, _ in reference.throws(state)]
    at_roll = rolled(situations)
    everywhere = Solutions.of_rows(solutions, np.zeros(len(situations), np.int64))
    faces = best_face(plan, everywhere, at_roll).tolist()
    rerolls = should_reroll(plan, everywhere, at_roll).tolist()
    for (state, throw), face, reroll in zip(situations, faces, rerolls, strict=True):
        values = reference.choices(state, throw)
        best = max(values.values(), default=reference.bust[state.earned])
        assert face == next((f for f, v in values.items() if v > best - 1e-11), 0)
        again = reference.roll_on(state._replace(weasel=False))
        assert reroll == (reference.may_reroll(state, throw) and again > best + 1e-11)


def test_a_graph_from_its_file_is_the_graph_that_was_compiled(tmp_path, monkeypatch) -> None:
    problem = Problem(5, (1, 1, 6, 6), "any roll", 2)
    monkeypatch.setattr("pickosim.solver.graph.cache_folder", lambda: tmp_path / "kernels")
    compiled = graph.__wrapped__(problem)
    (path,) = (tmp_path / "kernels").glob("graph-*.npz")
    content = path.read_bytes()
    with monkeypatch.context() as only_read:
        only_read.setattr("pickosim.solver.graph._compiled", None)
        kept = graph.__wrapped__(problem)
    for name, one, other in zip(compiled._fields, compiled, kept, strict=True):
        assert type(one) is type(other), name
        if isinstance(one, np.ndarray):
            assert one.dtype == other.dtype, name
            assert other.flags.c_contiguous and np.array_equal(one, other), name
        else:
            assert one == other, name
    path.write_bytes(content[:-100])
    again = graph.__wrapped__(problem)
    assert np.array_equal(again.leaf_chance, compiled.leaf_chance)
    assert path.read_bytes() == content, "what cannot be read is written again"


def test_sizes_of_the_graph() -> None:
    assert sum(map(len, states(Problem()).values())) == 1939
    assert sum(map(len, states(Problem(9)).values())) == 2727
    plan = graph(Problem())
    reached = [points for pool, points in reversed(states(Problem()).items()) if pool.may_roll]
    assert plan.slots == plan.columns + sum(map(len, reached)), "none for points that cannot occur"
    leaves, root = np.diff(plan.first_leaf), plan.first_node[:-1]
    rolls_of = np.add.reduceat(leaves + (plan.chance > 0), root)
    pairs = sum(
        len(p) * (n + (b > 0)) for p, n, b in zip(reached, rolls_of, plan.bust_chance, strict=True)
    )
    assert pairs == 34_389
    first = np.append(plan.first_leaf[root], len(plan.leaf_chance))
    by_leaf = [plan.leaf_chance[a:b].sum() for a, b in pairwise(first)]
    by_node = np.add.reduceat(plan.chance, root)
    np.testing.assert_allclose(plan.bust_chance + by_node + by_leaf, 1, rtol=1e-14)


@pytest.mark.parametrize(
    ("points", "at_least"),
    [(21, 0.893026737151), (24, 0.748373333870), (30, 0.263789519465), (36, 0.015678145194)],
)
def test_best_chance_of_at_least(points: int, at_least: float) -> None:
    assert chances(Problem()).at_least[points] == pytest.approx(at_least, abs=1e-11)


@pytest.mark.parametrize(
    ("points", "exactly"), [(21, 0.439596789623), (24, 0.375060188352), (33, 0.050814146831)]
)
def test_best_chance_of_exactly(points: int, exactly: float) -> None:
    assert chances(Problem()).exactly[points] == pytest.approx(exactly, abs=1e-11)


@pytest.mark.parametrize(("risk", "expected"), [(0, 1.64472967404), (2, 1.263222198)])
def test_worms_of_a_turn_on_the_full_grill(risk: int, expected: float) -> None:
    plan = graph(Problem())
    points = np.arange(plan.points)
    worms = np.where(points >= 21, (np.minimum(points, 36) - 17) // 4, -risk)[None]
    payoff = payoff_rows(np.full(1, -risk), np.full_like(worms, -risk), worms)
    assert solve(plan, payoff)[0, plan.start] == pytest.approx(expected, abs=1e-9)


def test_a_golden_die_with_the_usual_faces_is_a_ninth_die() -> None:
    golden, ninth = graph(Problem(8, STANDARD)), graph(Problem(9))
    payoff = random_payoffs(Problem(9), 3, 4)
    np.testing.assert_array_equal(solve(golden, payoff), solve(ninth, payoff))


def test_where_nothing_matters_all_values_are_the_same_and_the_turn_stops() -> None:
    problem = Problem(8, (), "any roll")
    plan = graph(problem)
    solution = solve(plan, np.full((1, plan.columns), 0.1))[0]
    np.testing.assert_allclose(solution, 0.1, rtol=1e-13)
    result = law(problem, Optimal(plan, solution))
    assert result.bust.sum() == 0


def value_of(result: Law, payoff: np.ndarray) -> float:
    """The expected pay-off of a turn with this law."""
    blocks = payoff.reshape(len(result.bust), -1)
    stopped = result.stopped.reshape(len(blocks), -1) * blocks[:, WORTH:]
    return float(stopped.sum() + result.bust @ blocks[:, BUST])


@pytest.mark.parametrize("problem", SMALL + LARGE, ids=str)
def test_the_best_policy_earns_the_value_of_the_turn(problem: Problem) -> None:
    plan, payoff = graph(problem), random_payoffs(problem, 7, 2)
    for row, solution in zip(payoff, solve(plan, payoff), strict=True):
        result = law(problem, Optimal(plan, solution))
        assert result.bust.sum() + result.stopped.sum() == pytest.approx(1, abs=1e-12)
        assert value_of(result, row) == pytest.approx(solution[plan.start], abs=1e-10)


def random_lookup_policy(problem: Problem, seed: int) -> LookupPolicy:
    random = np.random.default_rng(seed)
    shown = rolls(problem.white + bool(problem.golden))["faces"]
    new = shown[:, None] & ~np.arange(64, dtype=np.uint8)
    legal = (new[..., None] >> np.arange(6) & 1) > 0
    pick = np.where(legal, random.random(legal.shape), -1).argmax(axis=-1) + 1
    stop_at = random.random((2, problem.points)) < 0.3
    return LookupPolicy(np.where(new > 0, pick, 0).astype(np.uint8), stop_at)


def reference_law(
    problem: Problem, policy: LookupPolicy
) -> dict[tuple[str, bool, bool, int], float]:
    """Chances of (end, two 1s, worm, points): what is left to play is played throw by throw."""
    reference = Reference(problem, np.zeros(problem.columns))
    number = roll_numbers(5)
    found: dict[tuple[str, bool, bool, int], float] = defaultdict(float)
    to_play = defaultdict(float, {(reference.start, True): 1.0})
    while to_play:
        state, must_roll = max(
            to_play, key=lambda key: (key[0].white + key[0].golden, key[0].weasel)
        )
        chance = to_play.pop((state, must_roll))
        worm = WORM in state.aside
        wants = not must_roll and policy.stop_at[int(worm), state.points]
        if wants or not reference.may_roll(state):
            found["stopped", state.earned, worm, state.points] += chance
            continue
        for throw, share in reference.throws(state):
            dice = tuple(sorted(face for face in (*throw.white, throw.golden) if face))
            face = int(policy.pick[number[dice], mask(state.aside)])
            if face:
                to_play[reference.take(state, throw, face), False] += chance * share
            elif reference.may_reroll(state, throw):
                to_play[state._replace(weasel=False), True] += chance * share
            else:
                found["bust", state.earned, False, 0] += chance * share
    return found


@pytest.mark.parametrize("problem", SMALL, ids=str)
def test_law_of_a_lookup_policy_is_that_of_brute_force(problem: Problem) -> None:
    policy = random_lookup_policy(problem, 11)
    result, expected = law(problem, policy), reference_law(problem, policy)
    for double in range(problem.blocks):
        bust = expected["bust", bool(double), False, 0]
        assert result.bust[double] == pytest.approx(bust, abs=1e-13)
        for worm in (False, True):
            stopped = [expected["stopped", bool(double), worm, p] for p in range(problem.points)]
            np.testing.assert_allclose(result.stopped[double, int(worm)], stopped, atol=1e-13)


class Functions(NamedTuple):
    """A policy of three functions."""

    stop: Callable[[np.ndarray], np.ndarray]
    face: Callable[[np.ndarray], np.ndarray]
    reroll: Callable[[np.ndarray], np.ndarray]


def test_law_of_functions() -> None:
    """Set aside the highest face of the first roll and stop: the worms are binomial."""
    shown = rolls(8)["faces"]

    def highest_new(dice: np.ndarray) -> np.ndarray:
        new = shown[dice["roll"]] & ~dice["aside"]
        return np.array([faces.bit_length() for faces in range(64)], np.uint8)[new]

    policy = Functions(
        stop=lambda dice: np.ones(len(dice), np.bool_),
        face=highest_new,
        reroll=lambda dice: np.zeros(len(dice), np.bool_),
    )
    result = law(Problem(ones=2), policy)
    worms = [comb(8, dice) * 5 ** (8 - dice) / 6**8 for dice in range(1, 9)]
    np.testing.assert_allclose(result.stopped[0, 1, 5:41:5], worms)
    assert result.stopped[1].sum() == result.stopped[1, 0, 8] == pytest.approx(6.0**-8)
    assert result.stopped.sum() == pytest.approx(1)


def test_law_refuses_an_illegal_face() -> None:
    policy = random_lookup_policy(Problem(3), 1)
    with pytest.raises(ValueError, match="not a new face"):
        law(Problem(3), LookupPolicy(np.full_like(policy.pick, 6), policy.stop_at))


@given(st.integers(0, 2**32), st.lists(st.integers(0, 199), min_size=1, max_size=200))
@settings(max_examples=15, deadline=None)
def test_a_solution_does_not_depend_on_the_others_of_its_batch(seed: int, rows: list[int]) -> None:
    problem = Problem(3, SPECIAL, "any roll")
    plan, payoff = graph(problem), random_payoffs(problem, seed, 200)
    alone = [solve(plan, payoff[row : row + 1])[0] for row in rows[:5]]
    together = solve(plan, payoff[rows])
    np.testing.assert_array_equal(together[:5], alone)
    np.testing.assert_array_equal(together, solve(plan, payoff)[rows])


def test_nor_with_all_dice() -> None:
    plan, payoff = graph(Problem()), random_payoffs(Problem(), 1, 67)
    together = solve(plan, payoff)
    for row in (0, 31, 63, 64, 66):
        np.testing.assert_array_equal(together[row], solve(plan, payoff[row : row + 1])[0])


@pytest.mark.parametrize("problem", [Problem(3), Problem(3, SPECIAL, "any roll", ones=2)])
def test_turns_solved_side_by_side_have_the_same_solutions(problem: Problem) -> None:
    solver, payoff = Solver(problem), random_payoffs(problem, 1, AT_ONCE).astype(np.float32)
    for some in (payoff, payoff[:1], payoff[70:135], payoff[:0]):
        solutions, expected = solver.carry(some, some[None][:0]), solve(solver.graph, some)
        found = [solutions.at(slot) for slot in range(solver.graph.slots)]
        np.testing.assert_array_equal(np.column_stack(found), expected)


def test_more_turns_than_there_is_room_for_are_refused() -> None:
    payoff = random_payoffs(Problem(3), 2, AT_ONCE + 1).astype(np.float32)
    with pytest.raises(ValueError, match=r"1,025 pay-offs at once; at most 1,024"):
        Solver(Problem(3)).carry(payoff, payoff[None][:0])


def slots_by(problem: Problem, layer: int, *place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Slots of stopping and rolling on, by earned, faces aside, points, white and golden dice left."""
    plan, (earned, aside, points, white, golden) = graph(problem), place
    stop = earned * (WORTH + 2 * plan.points) + WORTH + (aside >> (WORM - 1)) * plan.points
    roll_on = plan.slot[plan.base[layer, earned, aside, white, golden] + points]
    return stop + points, roll_on.astype(np.int64)


def after_rolls(problem: Problem, layer: int, leads: np.ndarray, carried: np.ndarray) -> np.ndarray:
    """What is carried after every roll of every situation: that of the option that is best for `leads`."""
    plan, rolled = graph(problem), situations(problem).rolled
    new = situations(problem).new.astype(np.int64)
    roll, gold, white, aside, points, earned = (
        rolled[name].astype(np.int64)
        for name in ("roll", "golden_face", "white", "aside", "points", "earned")
    )
    bust = earned * (WORTH + 2 * plan.points) + BUST
    best, found = np.where(new > 0, -np.inf, leads[bust]), carried[bust]

    def option(allowed: np.ndarray, value: np.ndarray, its: np.ndarray) -> None:
        better = allowed & (value > best)
        best[better], found[better] = value[better], its[better]

    if layer:
        _, again = slots_by(problem, 0, earned, aside, points, white, (gold > 0).astype(int))
        option((new > 0) | plan.rescue, leads[again], carried[again])
    every = np.arange(len(roll))
    faces = [np.full(len(roll), face) for face in range(1, 7)]
    for face in [gold, *faces] if dice_kinds(problem)[1] else faces:
        dice, golden = plan.counts[roll, face].astype(int), (gold == face) & (face > 0)
        allowed = (face > 0) & ((new >> np.maximum(face - 1, 0)) & 1 > 0)
        one, gone = (
            (face == 1) & (plan.ones > 0) & (dice >= plan.ones),
            1 << np.maximum(face - 1, 0),
        )
        place = (earned | one, aside | gone, points + dice * POINTS[face], white - dice + golden)
        place = tuple(np.where(allowed, part, 0) for part in place)
        left = np.where(allowed, (gold > 0) & ~golden, 0)
        stop, roll_on = slots_by(problem, layer, *place, left)
        chosen = np.where(leads[roll_on] > leads[stop], roll_on, stop)
        option(allowed, leads[chosen][every], carried[chosen])
    return found


@pytest.mark.parametrize("problem", SMALL + LARGE, ids=str)
@pytest.mark.parametrize("values", [2, 1000])
def test_what_is_carried_changes_by_nothing_on_average_over_all_rolls(
    problem: Problem, values: int
) -> None:
    """Of two values only, many options are worth the same: then the order of the options decides."""
    chance = np.random.default_rng(3)
    payoffs, *others = chance.integers(0, values, (3, 2, problem.columns)) / np.float32(values)
    solver = Solver(problem)
    alone = solver.carry(payoffs, payoffs[None][:0])
    rows = alone.numbers[alone.first[:, None] + np.arange(graph(problem).slots) * alone.step]
    both = solver.carry(payoffs, np.array([payoffs, *others]))
    leads, same, *carried = both.every[
        :, both.first[:, None] + np.arange(graph(problem).slots) * both.step
    ]
    assert (leads == rows).all()
    assert (same == rows).all()
    at = situations(problem)
    for layer in range(len(graph(problem).base)):
        place = ("earned", "aside", "points", "white", "golden")
        standing = (at.standing[name].astype(np.int64) for name in place)
        _, before = slots_by(problem, layer, *standing)
        for numbers in carried:
            for lead, own in zip(leads, numbers, strict=True):
                after = after_rolls(problem, layer, lead, own)
                mean = np.add.reduceat(at.chance * after, at.first[:-1])
                assert np.abs(mean - own[before]).max() < 1e-5
