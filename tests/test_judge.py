"""The judge: luck and errors, each computed a second time in another way."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pickosim.strategies.champion import Champion
from pickosim.strategies.expected import Expected
from pickosim.strategies.winner import Winner
from situations import every_question, house_rules

from pickosim.bots.view import After, Turn
from pickosim.engine.kernels import kernel
from pickosim.engine.results import FAIL, TurnResults, positions_of
from pickosim.engine.rulebook import GOLDEN_DIE, WEASEL
from pickosim.engine.tally import LUCK_ONE, PARTS, win_parts
from pickosim.games.batch import Batch, play_games
from pickosim.games.judge import (
    CLAIMS,
    KEEPS,
    READING,
    REROLLS,
    ROLLS_ON,
    STOPS_EARLY,
    USES_GOLDEN_DIE,
    Verdict,
    _best,
)
from pickosim.games.match import Match, make_match
from pickosim.rule_files import PRESETS, load_rules
from pickosim.rules import WORM, RuleSet
from pickosim.solver.graph import DICE, Problem, dice_kinds, graph
from pickosim.solver.law import situations
from pickosim.solver.solve import AT_ONCE, SINGLE_TOLERANCE, Solver, solve
from pickosim.solver.valuation import (
    Valuation,
    known_worths,
    payoffs_of,
    problem_of,
    values_of,
)

ROUNDING = 1e-5
"""Of chances: single precision, on a scale of at most 1."""


def judge_for(rules: str | RuleSet, players: int) -> Valuation:
    """The champion, where it plays."""
    champion = Champion()
    return Winner() if champion.objection(load_rules(rules), players) else champion


def names(value: int | str | RuleSet) -> str:
    return value.name if isinstance(value, RuleSet) else str(value)


def own_view(turn: Turn, notes: dict[str, Any] | None = None) -> Turn:
    """The turn as another bot sees it, with its own notes."""
    copy = turn._only(slice(None))
    copy._notes = {} if notes is None else notes
    return copy


class Ledger:
    """What a judge must say, from solutions in double precision and from the tables after each turn."""

    def __init__(self, bot: Valuation) -> None:
        self.bot = bot
        self.off = {"before": 0.0, "after": 0.0, "errors": 0.0, "sums": 0.0}
        self.turns = 0
        self.least = 0.0
        self.worth: Any = None

    def before(self, turn: Turn) -> None:
        """Solve the turn."""
        values = values_of(self.bot, turn)
        held = turn._table["holds"][turn._rows, turn.seat]
        self.worth = np.full(len(turn), -np.inf)
        for golden, weasel in ((False, False), (True, False), (False, True)):
            plan = graph(problem_of(turn.rules, golden, weasel))
            can = (
                (not golden | weasel)
                | (golden & (held == GOLDEN_DIE))
                | (weasel & (held == WEASEL))
            )
            start = solve(plan, payoffs_of(turn, values, plan))[:, plan.start]
            self.worth = np.maximum(self.worth, np.where(can, start, -np.inf))

    def after(self, turn: Turn, verdict: Verdict) -> None:
        """Compare."""
        table = positions_of(turn._books, turn._table, turn._rows)
        none = np.zeros(len(turn), np.bool_)
        results = TurnResults(
            np.arange(len(turn)), np.full(len(turn), FAIL, np.int8), none, none, table
        )
        actual = known_worths(self.bot, After(own_view(turn), results))
        booked = np.zeros(len(turn))
        np.add.at(booked, verdict.decisions["game"], verdict.decisions["error"])
        self._compare("before", verdict.before[:, 0], self.worth)
        self._compare("after", verdict.after[:, : actual.shape[1]], actual)
        self._compare("errors", verdict.error[:, 0], booked)
        self._compare("sums", verdict.before.sum(axis=1), verdict.after.sum(axis=1))
        self.least = min([self.least, *verdict.decisions["error"].tolist()])
        self.turns += len(turn)

    def _compare(self, name: str, found: Any, wanted: Any) -> None:
        self.off[name] = max(self.off[name], float(np.abs(found - wanted).max()))


class Watched(Batch):
    """A batch whose turns a ledger sees before they are played."""

    def __init__(self, *args: Any, ledger: Ledger, **options: Any) -> None:
        super().__init__(*args, judge=ledger.bot, on_verdict=ledger.after, **options)
        self.ledger = ledger

    def _play_on(self, turn: Turn, plan: Any, golden: int) -> None:
        self.ledger.before(own_view(turn))
        super()._play_on(turn, plan, golden)


RULES = [*PRESETS, *house_rules()]
TABLES = [(3, every_question())]
TABLES += [(players, rules) for k, rules in enumerate(RULES) for players in (2, 3 + k % 3)]


@pytest.mark.parametrize(("players", "rules"), TABLES, ids=names)
def test_luck_and_errors_account_for_every_game(players, rules):
    """Result = start + luck - errors + drift, with the worth of each turn and of each result computed once more."""
    bots = ("eager", "expected") if players % 2 else ("random", "winner")
    match = make_match([*bots, "thief", "champion", "gambler"][:players], rules, 8)
    ledger = Ledger(judge_for(rules, players))
    batch = Watched(match, 0, 8, ledger=ledger)
    tally, judge = batch.play(), batch.judge
    assert judge is not None
    assert ledger.turns == tally.turns.sum()
    assert max(ledger.off.values()) < ROUNDING, ledger.off
    np.testing.assert_array_equal(tally.luck, np.rint(judge.luck * LUCK_ONE))
    added = judge.start + judge.luck - judge.error.sum(axis=1) + judge.drift
    np.testing.assert_allclose(added, win_parts(tally.rank) / PARTS, atol=1e-9)
    if players == 2:  # with more, whom to rob is compared with the richest
        assert ledger.least > -ROUNDING


class Own(Expected):
    """Not built in: its questions are audited."""


@pytest.mark.parametrize(
    ("players", "rules"), [(2, "extrawurm"), (3, "classic"), (3, "extrawurm"), (4, "extrawurm")]
)
def test_a_judge_changes_no_game_and_batches_change_no_luck(players, rules):
    bots = [Own(), "champion", "random", "winner"][:players]
    seats = tuple((tuple(np.roll(range(players), k).tolist()),) for k in range(players))
    match = replace(make_match(bots, rules, 3, seats), audited=True)
    plain = play_games(match, 5, 16)
    judged, narrow = (
        play_games(match, 5, 16, batch=batch, judge=Champion()) for batch in (AT_ONCE, 7)
    )
    whole = Batch(match, 5, 16, judge=Champion(), on_verdict=lambda *_: None).play()
    np.testing.assert_array_equal(whole.rank, plain.rank)
    assert not plain.luck.any() and judged.luck.all(axis=1).any()
    for one, other, column in zip(judged, narrow, judged._fields, strict=True):
        np.testing.assert_array_equal(one, other)
        if column != "luck":
            np.testing.assert_array_equal(one, getattr(plain, column))


@pytest.mark.parametrize("rules", ["classic", "extrawurm", "manual-extrawurm"])
def test_errors_are_those_of_the_options_that_the_judge_explains(rules):
    """Question by question: what the chosen option is worth less than the best, in double precision."""
    bot = judge_for(rules, 2)
    match = make_match(["random", "eager"], rules, 11)
    wanted: list[tuple[str, dict[str, float]]] = []
    found: list[Any] = []
    notes: dict[str, Any] = {}

    def on_answer(turn: Turn) -> None:
        options = dict(bot.explain(own_view(turn, notes)))
        if len(options) > 1:
            wanted.append((turn.question, options))

    def on_verdict(_: Turn, verdict: Verdict) -> None:
        found.extend(verdict.decisions.copy())
        notes.clear()

    for game in range(3):
        Batch(match, game, 1, judge=bot, on_answer=on_answer, on_verdict=on_verdict).play()
    assert len(found) == len(wanted) > 100
    for decision, (question, options) in zip(found, wanted, strict=True):
        kind, chosen = int(decision["kind"]), int(decision["chosen"])
        best, least = max(options.values()), min(options.values())
        again = options.pop("roll these dice again", None)
        if kind == REROLLS:
            assert question == "reroll" and again is not None
            value = again if chosen else max(options.values())
        elif kind == KEEPS:
            assert question == "keep_new_specialist"
            value = best if chosen == decision["best"] else least
        elif kind in (STOPS_EARLY, ROLLS_ON):
            assert question == "stop"
            value = options["roll on" if chosen else "stop"]
        elif kind == USES_GOLDEN_DIE:
            assert question == "use_golden_die"
            value = options["with the golden die" if chosen else "without it"]
        elif kind == CLAIMS:
            assert question == "claim"
            value = options[f"claim {sorted(match.rules.tiles)[chosen]}"]
        else:
            assert question == "pick"
            value = options["keep the worms" if chosen == WORM else f"keep the {chosen}s"]
        assert decision["error"] == pytest.approx(best - value, abs=ROUNDING)


def test_the_champion_makes_no_mistakes_and_the_others_do():
    for rules in ("classic", "extrawurm"):
        match = make_match(["champion", "expected"], rules, 2)
        champion, expected = errors_by_seat(match, 200).mean(axis=0)
        assert 0 <= champion < 20 * SINGLE_TOLERANCE
        assert expected > 0.02


def errors_by_seat(match: Match, games: int) -> Any:
    """(G, P): what each player lost by its own decisions."""
    batch = Batch(match, 0, games, judge=Champion(), on_verdict=lambda *_: None)
    batch.play()
    assert batch.judge is not None
    return batch.judge.error.diagonal(axis1=1, axis2=2)


@pytest.mark.parametrize("rules", ["classic", "extrawurm", "extrawurm-box"])
def test_the_judge_s_own_play_costs_nobody_anything(rules):
    """What results are worth to rivals, carried through the turn, is what the net says of the results that come."""
    changes: list[Any] = []
    match = make_match(["champion", "eager", "champion"], rules, 2)

    def look(turn: Turn, verdict: Verdict) -> None:
        if turn._bot != 1:
            changes.append(verdict.error)

    batch = Batch(match, 0, 60, judge=Champion(), on_verdict=look)
    batch.play()
    assert batch.judge is not None and batch.judge.knows_rivals
    assert np.abs(np.concatenate(changes)).max() < 5 * SINGLE_TOLERANCE
    given = batch.judge.error[:, 1].mean(axis=0)
    assert given[1] > 0.02 > -0.001 > max(given[0], given[2])


@pytest.mark.parametrize("own", [True, False], ids=["bots' own plans", "judge's plan"])
@pytest.mark.parametrize("players", [2, 4])
def test_mean_luck_is_zero(players, own):
    bots = ["thief", "winner", "expected", "champion", "random"][:players]
    for rules in ("classic", "extrawurm"):
        match = make_match(bots, rules, 21)
        on_verdict = None if own else lambda *_: None
        tally = Batch(match, 0, 300, judge=Champion(), on_verdict=on_verdict).play()
        assert abs(tally.luck.sum(axis=1)).max() <= players, "what one gains the others lose"
        z = tally.luck.mean(axis=0) / (tally.luck.std(axis=0) / len(tally.luck) ** 0.5)
        assert np.abs(z).max() < 3.5


def test_luck_along_a_bot_s_own_plan_explains_more():
    """Variance over blocks of the first bot's wins, plain and less luck, by the judge's plan and by each bot's own."""
    match = make_match(["winner", "expected"], "classic", 5, (((0, 1),), ((1, 0),)))
    residues = []
    for on_verdict in (None, lambda *_: None):
        tally = Batch(match, 0, 600, judge=Champion(), on_verdict=on_verdict).play()
        won, luck = win_parts(tally.rank) / PARTS, tally.luck / LUCK_ONE
        won, luck = ((one[:600, 0] + one[600:, 1]) / 2 for one in (won, luck))
        residues.append((won - luck).var())
    assert residues[0] < 0.9 * residues[1] < 0.1 * won.var()


@kernel
def _expected(plan: Any, solutions: Any, readings: Any, first: Any, chance: Any, gold: Any, again: Any, out: Any) -> None:  # fmt: skip
    for i in range(len(first) - 1):
        for x in range(first[i], first[i + 1]):
            place, _face = _best(plan, solutions, readings[x], gold, again[x])
            for q in range(len(out)):
                out[q, i] += chance[x] * solutions.every[q, place]


@pytest.mark.parametrize(
    "problem",
    [
        Problem(5),
        Problem(4, ones=2),
        Problem(4, (1, 1, 1, 6, 6, 6), ones=2),
        Problem(4, (1, 2, 3, 4, 5, 6)),
        Problem(5, weasel="any roll", ones=2),
        Problem(5, weasel="not on a bust"),
    ],
    ids=str,
)
def test_the_mean_over_all_rolls_is_the_worth_of_rolling(problem):
    """In every situation of a turn, also by what is carried: exactly what makes mean luck zero, whatever a bot does."""
    plan, at = graph(problem), situations(problem)
    payoffs = np.random.default_rng(1).integers(0, 9, (3, 1, plan.columns)).astype(np.float32) / 8
    solutions = Solver(problem).carry(payoffs[0], payoffs[1:])
    readings = np.zeros(len(at.chance), READING)
    readings["first"] = solutions.first[0]
    for name in DICE.names:
        readings[name] = at.rolled[name]
    golden_first = bool(dice_kinds(problem)[1])
    slots = np.arange(len(at.first) - 1)
    for layer in range(len(plan.base)):
        readings["weasel"] = layer
        again = (layer > 0) & (plan.rescue | (at.new > 0))
        means = np.zeros((3, len(slots)))
        _expected(plan, solutions, readings, at.first, at.chance, golden_first, again, means)
        worth = []
        for aside, points, white, golden, _, earned, *_ in at.standing.tolist():
            address = plan.base[layer, earned, aside, white, golden] + points
            worth.append(solutions.every_at(plan.slot[address])[0])
        np.testing.assert_allclose(means.T, worth, atol=2e-6)


@pytest.mark.long
def test_errors_are_in_the_order_of_the_ladder():
    """By points per game against the champion, but for pairs that the ladder cannot tell apart."""
    ladder = ["winner", "expected", "thief", "eager", "cautious", "gambler", "late-worms", "random"]
    errors = []
    for bot in ladder:
        match = make_match([bot, "champion"], "classic", 4)
        errors.append(errors_by_seat(match, 4000)[:, 0].mean())
    assert errors == sorted(errors)
