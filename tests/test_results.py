"""The results of a turn: what a strategy is shown is what the engine then plays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pickosim.strategies.random import Random
from policies import chances
from situations import every_question, house_rules

from pickosim.bots.strategy import Strategy
from pickosim.bots.view import After, Turn
from pickosim.engine.results import POSITION, results_of
from pickosim.engine.rulebook import NOTHING
from pickosim.errors import StrategyError
from pickosim.games.batch import Batch, play_games
from pickosim.games.match import make_match
from pickosim.rule_files import PRESETS, load_rules
from pickosim.rules import RuleSet
from pickosim.solver.graph import Problem
from pickosim.solver.valuation import Valuation

SHARED = [name for name in POSITION.names or () if name not in ("highest", "second", "over", "won")]
"""Fields that a position has in common with the table."""


class RobsTheRichest(Random):
    """Random, but whom it robs is left to the default."""

    rob = Strategy.rob


class Foretold(Batch):
    """Compares the table after every turn with the results that were foretold before it."""

    turns = bratworms = ends = 0

    def play_turn(self, seat: int, rows: NDArray[np.int32]) -> None:
        found = results_of(self.books, self.table, seat, rows)
        super().play_turn(seat, rows)
        now = numbers(self.table[rows], self.players)
        same = (numbers(found.after, self.players) == now[found.game]).all(axis=1)
        seen = np.zeros((2, len(rows)), np.bool_)
        seen[found.earned[same].astype(int), found.game[same]] = True
        for k, after in zip(found.game[same], found.after[same], strict=True):
            self.check_end(after, self.table[rows[k]])
        assert seen.any(axis=0).all()
        assert (seen[1] <= (self.hands["earned"][rows] > 0) | seen[0]).all()
        self.turns += len(rows)
        self.bratworms += int((~seen[0]).sum())

    def check_end(self, after: Any, now: Any) -> None:
        """Who wins, and by which tile, by the rules page."""
        rules, values = self.match.rules, sorted(self.match.rules.tiles)
        stacks = [stack_of(now, player) for player in range(self.players)]
        highest = [max(stack, default=NOTHING) for stack in stacks]
        assert after["highest"][: self.players].tolist() == highest
        second = [stack[1] if len(stack) > 1 else NOTHING for stack in stacks]
        assert after["second"][: self.players].tolist() == second
        over = now["grill"] == 0 or now["turn"] == rules.turn_limit
        assert bool(after["over"]) == over
        if not over:
            assert not after["won"][: self.players].any()
            return
        standing = []
        for player, stack in enumerate(stacks):
            score = sum(rules.tiles[values[tile]] for tile in stack) + int(now["bratworms"][player])
            score += rules.apple_worms * (now["holds"][player] == 5)
            by_tile = max(stack, default=-1) if rules.tiebreak == "highest-tile" else 0
            standing.append((score, by_tile))
        first = [one == max(standing) for one in standing]
        assert (after["won"][: self.players] / 420).tolist() == [one / sum(first) for one in first]
        self.ends += 1


def numbers(records: NDArray[Any], players: int) -> NDArray[np.int64]:
    """(m, F): all shared fields; those by player have room for seven."""
    columns = []
    for name in SHARED:
        field = records[name].astype(np.int64).reshape(len(records), -1)
        columns.append(field if name == "place" else field[:, :players])
    return np.hstack(columns)


def stack_of(now: Any, player: int) -> list[int]:
    tiles, tile = [], int(now["top"][player])
    while tile != NOTHING:
        tiles.append(tile)
        tile = int(now["under"][tile])
    return tiles


def ids(rules: str | RuleSet) -> str:
    return rules if isinstance(rules, str) else rules.name


@pytest.mark.parametrize("rules", [*PRESETS, every_question(), *house_rules()], ids=ids)
def test_every_turn_ends_in_one_of_the_results_that_were_foretold(rules):
    bots = [RobsTheRichest(), "expected", "eager", "gambler"]
    batch = Foretold(make_match(bots, rules, 7), 0, 40)
    batch.play()
    assert batch.turns > 700
    assert batch.ends >= 40
    if batch.match.rules.bratworms:
        assert batch.bratworms > 10


class Looks(Random):
    """Looks at the results before it answers."""

    looks = 0

    def pick(self, turn: Turn) -> Any:
        after = turn.results()
        first = [int((after.game < game).sum()) for game in range(len(turn))]
        reach = turn.grill.sum(axis=1) + (turn.exposed[:, 1:] | False).sum(axis=1)
        choices = np.diff([*first, len(after)]) - 1
        assert (choices == reach).all()
        assert (after.fails == (after.claimed == 0)).all()
        assert (after.worms[after.fails, 0] <= turn.worms[:, 0]).all()
        lost = turn.worms[:, 0] - after.worms[after.fails, 0]
        assert (lost == turn.worms_on(turn.at_risk)).all()
        taken = ~after.fails
        gain = (after.worms - turn.worms[after.game])[taken, 0]
        assert (gain == after.worms_on(after.claimed[taken])).all()
        Looks.looks += len(after)
        return super().pick(turn)


def test_a_strategy_sees_one_result_per_claim_and_one_fail():
    Looks.looks = 0
    play_games(make_match([Looks(), "eager", "eager"], "classic", 3), 0, 50)
    assert Looks.looks > 5_000


# ------------------------------------------------------------------------------------- valuations


class LikesTile(Valuation):
    """Wants one tile, whatever it takes."""

    def value(self, after: After) -> Any:
        return (after.claimed == 25).astype(float)


def test_a_valuation_plays_for_what_it_values():
    """With 25 alone on the grill, at least 25 takes it: the best chance of that is known."""
    rules = load_rules("classic").with_options({"tiles": {"25": 1}})
    tally = play_games(make_match([LikesTile(), "eager"], rules, 5), 0, 20_000)
    first = (tally.turns == 1).mean()
    exact = chances(Problem()).at_least[25]
    assert first == pytest.approx(exact, abs=4 * (exact * (1 - exact) / 20_000) ** 0.5)


class Wrong(Valuation):
    """Returns what it is told to."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def value(self, after: After) -> Any:
        return self.answer(len(after))


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda m: np.full(m, np.nan), r"value\(\) returned nan; return finite numbers"),
        (lambda m: np.full(m, np.inf), r"value\(\) returned inf; return finite numbers"),
        (lambda m: np.zeros(m + 1), r"value\(\) returned shape \(\d+,\) for \d+ results"),
        (lambda m: 3.0, r"value\(\) returned 3\.0 for \d+ results"),
        (lambda m: None, r"value\(\) returned"),
    ],
)
def test_values_are_checked_like_every_answer(answer, says):
    with pytest.raises(StrategyError, match=says):
        play_games(make_match([Wrong(answer), "eager"], "classic", 1), 0, 5)
