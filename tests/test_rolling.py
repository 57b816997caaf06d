"""Whole turns in one kernel: the same games as with a question for every choice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pickosim.strategies.expected import Expected
from pickosim.strategies.winner import Winner
from situations import every_question, house_rules
from traces import trace_games

from pickosim.bots.view import After, Turn
from pickosim.engine.claim import best_by_total, best_claim, claims
from pickosim.engine.kernels import as_int, kernel
from pickosim.engine.rulebook import rulebook
from pickosim.games.batch import Batch, play_games
from pickosim.games.match import make_match
from pickosim.rule_files import PRESETS, load_rules
from pickosim.rules import RuleSet
from pickosim.solver.graph import Problem, graph
from pickosim.solver.solve import SINGLE_TOLERANCE, solve
from pickosim.solver.valuation import (
    TurnPlan,
    Valuation,
    payoffs_of,
    plans_whole_turns,
    problem_of,
)


class StepByStep(Expected):
    """Like `expected`, but asked about every roll."""

    def stop(self, turn: Turn) -> Any:
        return super().stop(turn)


class WinnerStepByStep(Winner):
    """Like `winner`, but asked about every roll."""

    def pick(self, turn: Turn) -> Any:
        return super().pick(turn)


def ids(rules: str | RuleSet) -> str:
    return rules if isinstance(rules, str) else rules.name


@pytest.mark.parametrize("rules", [*PRESETS, every_question(), *house_rules()], ids=ids)
def test_the_games_are_the_same_as_step_by_step(rules):
    whole = make_match([Expected(), Winner(), "eager"], rules, 5)
    steps = make_match([StepByStep(), WinnerStepByStep(), "eager"], rules, 5)
    assert [plans_whole_turns(bot) for bot in whole.strategies] == [True, True, False]
    assert not any(plans_whole_turns(bot) for bot in steps.strategies)
    for ours, theirs in zip(play_games(whole, 0, 60), play_games(steps, 0, 60), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    for ours, theirs in zip(trace_games(whole, 0, 3), trace_games(steps, 0, 3), strict=True):
        assert ours[1:] == theirs[1:], "event by event"


class LikesBratwormsWithClaims(Valuation):
    """A bratworm is worth 3, but only along with a tile: what it adds depends on the result."""

    def value(self, after: After) -> Any:
        return (~after.fails) * (1.0 + 3 * after.earned)


def test_what_a_bratworm_adds_may_depend_on_the_result():
    """The value of the turn is that of the law of chances, found by the engine from outside."""
    rules = load_rules("extrawurm").with_options(
        {"tiles": {"21": 1}, "specialists": {}, "exact_only": []}
    )
    match = make_match([LikesBratwormsWithClaims(), "eager"], rules, 3)
    worths: list[float] = []
    batch = Batch(match, 0, 20_000, on_plan=lambda _, plan: worths.extend(plan.worth()))
    before, first = batch.play_turn, []

    def play_turn(seat: int, rows: Any) -> None:
        before(seat, rows)
        if not first:
            claimed = batch.table["tiles"][rows, 0] > 0
            first.extend(claimed * (1.0 + 3 * (batch.table["bratworms"][rows, 0] > 0)))

    batch.play_turn = play_turn  # type: ignore[method-assign]
    batch.play()
    assert len(first) >= 10_000
    error = np.std(first) / len(first) ** 0.5
    assert abs(np.mean(first) - worths[0]) < 4 * error
    assert np.ptp(worths[:100]) == 0


@pytest.mark.parametrize("preset", ["classic", "extrawurm"])
def test_single_precision_decides_like_double_but_for_ties(preset):
    """No choice costs more than the stated tolerance, in units of the largest difference of results."""
    seen: list[tuple[float, float]] = []

    def compare(turn: Turn, plan: TurnPlan) -> None:
        for part in plan.plans:
            rows = turn._in_rows(turn._rows[part.games])
            exact = solve(part.graph, payoffs_of(rows, plan.values.only(part.games), part.graph))
            scaled = (exact - plan.scale.shift[part.games, None]) * plan.scale.factor[
                part.games, None
            ]
            # Of a pay-off with the bonus, totals that are out of reach with so many 1s are -inf.
            reached = np.isfinite(scaled)
            assert reached[:, part.graph.columns :].all()
            slots = range(part.graph.slots)
            single = np.column_stack([part.solutions.at(slot) for slot in slots])
            assert np.array_equal(np.isfinite(single), reached)
            assert np.abs(scaled[reached]).max() <= 1 + 1e-9
            error = np.abs(scaled[reached] - single[reached]).max()
            seen.append((float(error), len(part.games)))

    Batch(make_match(["winner", "expected"], preset, 4), 0, 20, on_plan=compare).play()
    assert len(seen) > 20
    assert max(error for error, _ in seen) < SINGLE_TOLERANCE / 2


def test_the_scale_of_values_does_not_matter():
    class Loud(Expected):
        def value(self, after: After) -> Any:
            return 1e9 + 2.0**20 * super().value(after)

    quiet, loud = (make_match([bot, "eager"], "extrawurm", 9) for bot in (Expected(), Loud()))
    for ours, theirs in zip(play_games(quiet, 0, 40), play_games(loud, 0, 40), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_games_do_not_depend_on_what_was_solved_before():
    match = make_match(["expected", "winner"], "classic", 2)
    cold = play_games(match, 0, 40)
    for ours, theirs in zip(cold, play_games(match, 0, 40), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    alone = [play_games(match, game, 1).score[0].tolist() for game in range(5)]
    assert alone == cold.score[:5].tolist()


@kernel
def _by_claims(books: Any, grill: Any, loot: Any, worth: Any, best: Any, found: Any) -> None:
    """The best tile of each total, by the set of tiles that it may claim, and in one pass."""
    for total in range(len(best)):
        tiles = claims(books[0], as_int(grill), as_int(loot), total)
        best[total] = best_claim(tiles, worth) if tiles else -1
    best_by_total(books[0], as_int(grill), as_int(loot), worth, found)


@pytest.mark.parametrize("claim", ["exact", "next-lower", "any-lower"])
@pytest.mark.parametrize("steal", ["never", "may", "must"])
def test_one_ascending_pass_finds_the_best_claim_of_each_total(claim, steal):
    random = np.random.default_rng(1)
    rules = load_rules("classic").with_options(
        {"claim": claim, "steal": steal, "exact_only": [24, 30, 36]}
    )
    books = rulebook(rules, 3)
    for _ in range(200):
        grill = random.integers(0, 1 << 16)
        loot = random.integers(0, 1 << 16) & ~grill & int(books["stealable"][0])
        worth, best, found = random.integers(-3, 4, 16) / 2, *np.empty((2, 46), np.int64)
        _by_claims(books, grill, loot, worth, best, found)
        np.testing.assert_array_equal(found, best)


def test_the_bonus_hardly_makes_the_graph_larger():
    """Exact pay-offs with and without two 1s: pools with 1s split, and their ranges of points with them."""
    plain, bonus = graph(Problem()), graph(Problem(ones=2))
    assert plain.slots == 1370
    assert bonus.slots == 1534
    assert problem_of(load_rules("extrawurm"), golden=False, weasel=False) == Problem(ones=2)
