"""Every built-in bot fulfils the strategy contract, and every violation is found."""

from __future__ import annotations

import os
import random
import sys
import time
from concurrent.futures import Executor
from dataclasses import field, replace
from datetime import UTC, datetime
from fnmatch import fnmatch
from types import ModuleType
from typing import Any, ClassVar, Literal

import numpy as np
import pytest

from pickosim.bots.loading import built_in_bots
from pickosim.bots.strategy import Strategy
from pickosim.bots.view import METHODS, After, Turn
from pickosim.engine.dice import POINTS
from pickosim.errors import BotError
from pickosim.games.batch import Batch
from pickosim.games.check import (
    BATCH_SIZE,
    INPUTS,
    LEGAL,
    MEMORY,
    NAMES,
    OUTSIDE,
    PARAMETERS,
    PLAY,
    PRINTS,
    PRIVATE,
    PROCESS,
    REPEATABLE,
    Effort,
    Finding,
    Trial,
    another_process,
    check_bot,
    legal_seatings,
)
from pickosim.rule_files import PRESETS
from pickosim.rules import WORM
from pickosim.solver.valuation import Valuation

QUICK = Effort(players=(2, 7), legal_games=2, games=25, single_games=2, turn_limit=60, seconds=0.01)
QUICKER = replace(QUICK, players=(3,), legal_games=1)
"""For bots that take long to decide."""


@pytest.fixture(scope="module")
def executor():
    """One other process for all tests of a module, since it is slow to start."""
    with another_process() as pool:
        yield pool


def findings(bot: str | Strategy, executor: Executor) -> dict[str, Finding]:
    return {finding.point: finding for finding in check_bot(bot, QUICK, executor)}


def wrong(found: dict[str, Finding]) -> list[str]:
    return [point for point, finding in found.items() if not finding.ok]


@pytest.mark.parametrize("name", built_in_bots())
def test_built_in_bots_fulfil_the_contract(name, executor):
    assert [str(f) for f in check_bot(name, QUICKER, executor) if f.odd or not f.ok] == []


def test_a_bot_is_checked_with_its_parameters(executor):
    found = findings("threshold:target=30", executor)
    assert wrong(found) == []
    assert Trial("threshold:target=30", QUICK).new_bot().target == 30


# ----------------------------------------------------------------------------------- what is played


def test_legal_moves_are_checked_with_every_preset_and_2_to_7_players():
    matches = [(seating.rules.name, seating.own) for seating in legal_seatings(Effort())]
    assert len(matches) == len(set(matches)) == len(PRESETS) * 6 * 2
    assert {name for name, _ in matches} == set(PRESETS)
    assert {len(own) for _, own in matches} == {2, 3, 4, 5, 6, 7}
    assert sum(all(own) for _, own in matches) == len(matches) / 2
    assert all(any(own) for _, own in matches)


def test_the_matches_that_are_compared_ask_every_question():
    asked = set()
    trial = Trial("random", Effort())
    for seating in trial.seatings:
        match = trial.match(seating, trial.new_bot())
        Batch(match, 0, QUICK.games, on_answer=lambda turn: asked.add(turn.question)).play()
    assert asked == set(METHODS)


# ------------------------------------------------------------------------------------- broken bots


class Sound(Strategy):
    """A correct bot; each broken bot differs from it in one thing."""

    def pick(self, turn: Turn) -> Any:
        return turn.best(turn.counts * POINTS)

    def stop(self, turn: Turn) -> Any:
        return turn.can_claim


def stop_sooner(turn: Turn, sooner: Any) -> Any:
    """Two ways to play that differ in most games."""
    return turn.can_claim & (sooner | (turn.dice_left < 3))


class AlwaysWorms(Sound):
    def pick(self, turn: Turn) -> Any:
        return np.full(len(turn), WORM)


class SixAtMost(Sound):
    def stop(self, turn: Turn) -> Any:
        if turn.players == 7:
            raise IndexError("no room")
        return turn.can_claim


class OwnDice(Sound):
    def stop(self, turn: Turn) -> Any:
        return stop_sooner(turn, np.random.default_rng().random(len(turn)) < 0.5)


class SeededDice(Sound):
    """Its own random generator, equal in every run; the numbers depend on the order of calls."""

    def __post_init__(self) -> None:
        self.generator = np.random.default_rng(1)

    def stop(self, turn: Turn) -> Any:
        return stop_sooner(turn, self.generator.random(len(turn)) < 0.5)


class Crowd(Sound):
    def stop(self, turn: Turn) -> Any:
        return stop_sooner(turn, len(turn) > 10)


class BestOfAll(Sound):
    def stop(self, turn: Turn) -> Any:
        return stop_sooner(turn, turn.total == turn.total.max())


class Nostalgic(Sound):
    """Keeps the style of play of its first game forever."""

    def __post_init__(self) -> None:
        self.first = ""

    def stop(self, turn: Turn) -> Any:
        self.first = self.first or turn.rules.name
        return stop_sooner(turn, self.first == "classic")


class Tired(Sound):
    calls: int = field(default=0, init=False)

    def stop(self, turn: Turn) -> Any:
        self.calls += 1
        return stop_sooner(turn, self.calls < 50)


class Lambda(Sound):
    def __post_init__(self) -> None:
        self.rule = lambda turn: turn.can_claim

    def stop(self, turn: Turn) -> Any:
        return self.rule(turn)


class Scribbler(Sound):
    def pick(self, turn: Turn) -> Any:
        turn.counts[:, WORM] += 1
        return turn.best(turn.counts * POINTS)


class Forger(Sound):
    def pick(self, turn: Turn) -> Any:
        faces = turn.best(turn.counts * POINTS)
        turn.counts.flags.writeable = True
        turn.counts[:, WORM] += 1
        return faces


class Vandal(Sound):
    def stop(self, turn: Turn) -> Any:
        turn._table["bratworms"][turn._rows] += 1
        return turn.can_claim


def test_a_correct_bot_fulfils_the_contract(executor):
    assert wrong(findings(Sound(), executor)) == []


def test_an_illegal_face_is_found(executor):
    found = findings(AlwaysWorms(), executor)
    assert wrong(found) == [LEGAL]
    assert list(found) == [LEGAL, PARAMETERS]
    assert "games stop with an error in 28 of 28 matches. The first error:" in found[LEGAL].message
    assert "AlwaysWorms: pick() returned 6; legal: " in found[LEGAL].message
    assert "pickosim watch" in found[LEGAL].message


def test_a_number_of_players_that_a_bot_cannot_play_is_named(executor):
    found = findings(SixAtMost(), executor)
    assert wrong(found) == [LEGAL]
    assert "in 14 of 28 matches (7 players)" in found[LEGAL].message
    assert "raised IndexError: no room" in found[LEGAL].message


def test_randomness_of_its_own_is_found(executor):
    found = findings(OwnDice(), executor)
    assert wrong(found) == [REPEATABLE]
    assert "turn.random()" in found[REPEATABLE].message
    assert not {BATCH_SIZE, MEMORY, PROCESS} & set(found)


@pytest.mark.parametrize("bot", [Crowd, BestOfAll])
def test_dependence_on_other_games_of_the_batch_is_found(bot, executor):
    found = findings(bot(), executor)
    assert wrong(found) == [BATCH_SIZE]
    assert "pickosim watch" in found[BATCH_SIZE].message


@pytest.mark.parametrize("bot", [SeededDice, Nostalgic, Tired])
def test_dependence_on_earlier_games_is_found(bot, executor):
    found = findings(bot(), executor)
    assert wrong(found) == [MEMORY]
    assert "pickosim watch" in found[MEMORY].message


def test_a_bot_that_cannot_be_pickled_is_found(executor):
    found = findings(Lambda(), executor)
    assert wrong(found) == [PROCESS]
    assert "cannot be pickled" in found[PROCESS].message


def test_a_bot_that_no_other_process_can_load_is_found(monkeypatch):
    here = ModuleType("only_here")
    monkeypatch.setitem(sys.modules, "only_here", here)
    here.Hidden = type("Hidden", (Sound,), {"__module__": "only_here"})
    with another_process() as pool:
        found = findings(here.Hidden(), pool)
    assert wrong(found) == [PROCESS]
    assert "cannot load the bot" in found[PROCESS].message


def test_writing_into_a_view_is_found(executor):
    found = findings(Scribbler(), executor)
    assert wrong(found) == [LEGAL]
    assert "the arrays of a turn are read-only: make a copy()" in found[LEGAL].message
    assert "pickosim watch" in found[LEGAL].message


@pytest.mark.parametrize(
    ("bot", "message"),
    [(Forger, "pick() changes turn.counts"), (Vandal, "stop() changes the engine's table")],
)
def test_a_change_to_its_input_is_found(bot, message, executor):
    found = findings(bot(), executor)
    assert INPUTS in wrong(found)
    assert message in found[INPUTS].message
    assert "pickosim watch" in found[INPUTS].message


# ------------------------------------------------------------------------- what a bot may not use


class Peeking(Sound):
    """Looks at what decides the coming dice."""

    def stop(self, turn: Turn) -> Any:
        return stop_sooner(turn, turn._table["dice_key"][turn._rows] % 2 == 0)


class Sly(Sound):
    def stop(self, turn: Turn) -> Any:
        return stop_sooner(turn, vars(turn)["_hands"]["roll"][turn.__dict__["_rows"]] % 2 == 0)


class PeekingValuation(Valuation):
    def value(self, after: After) -> Any:
        return after._table["worms"][:, 0].astype(float)


class Clocked(Sound):
    def pick(self, turn: Turn) -> Any:
        time.perf_counter()
        return super().pick(turn)


class Dated(Sound):
    def pick(self, turn: Turn) -> Any:
        datetime.now(UTC)
        return super().pick(turn)


class AtHome(Sound):
    def stop(self, turn: Turn) -> Any:
        return stop_sooner(turn, os.environ.get("PICKOSIM_NO_SUCH_NAME") is None)


class Gambling(Sound):
    def stop(self, turn: Turn) -> Any:
        random.random()
        return turn.can_claim


class Chatty(Sound):
    def stop(self, turn: Turn) -> Any:
        sys.stdout.write("I stop.")
        return turn.can_claim


class Misspelt(Sound):
    def use_weasel(self, turn: Turn) -> Any:
        return turn.no_new_face

    def train(self) -> None:
        """Is never called either, but resembles no method of a strategy."""


class LargeCrowd(Sound):
    """Depends on a number of games that no match of the check has."""

    def stop(self, turn: Turn) -> Any:
        return stop_sooner(turn, len(turn) > 5000)


@pytest.mark.parametrize(
    ("bot", "point", "message"),
    [
        (Peeking, PRIVATE, "the bot uses turn._table (*test_conformance.py, line *)"),
        (Sly, PRIVATE, "the bot uses turn.__dict__ (*test_conformance.py, line *)"),
        (PeekingValuation, PRIVATE, "the bot uses after._table (*test_conformance.py, line *)"),
        (Clocked, OUTSIDE, "the bot uses time.perf_counter() (*test_conformance.py, line *)"),
        (Dated, OUTSIDE, "the bot uses datetime.now() (*test_conformance.py, line *)"),
        (AtHome, OUTSIDE, "the bot uses os.environ (*test_conformance.py, line *)"),
        (Gambling, OUTSIDE, "the bot uses random.random() (*test_conformance.py, line *)"),
        (Chatty, PRINTS, "stop() prints*"),
        (Misspelt, NAMES, 'use_weasel() is never called; did you mean "reroll"?'),
        (LargeCrowd, BATCH_SIZE, "stop() answers otherwise when asked about 16,384 games*"),
    ],
)
def test_what_a_bot_may_not_use_is_found(bot, point, message, executor):
    found = findings(bot(), executor)
    assert wrong(found) == [point]
    assert fnmatch(found[point].message, f"{message}*")


def test_what_a_check_finds_out_about_one_bot_is_not_said_of_the_next(executor):
    findings(Chatty(), executor)
    assert wrong(findings(Sound(), executor)) == []


class Endless(Sound):
    def stop(self, turn: Turn) -> Any:
        while True:
            pass


def test_a_bot_that_does_not_answer_is_waited_for_once(executor):
    effort = replace(QUICK, answer_seconds=0.5)
    found = {finding.point: finding for finding in check_bot(Endless(), effort, executor)}
    assert "stop() has not answered within 0.5 seconds" in found[LEGAL].message
    assert list(found) == [LEGAL]


class LateMistake(Sound):
    """Makes its mistake where the few games of the first point do not come."""

    def stop(self, turn: Turn) -> Any:
        if len(turn) > 8:
            raise IndexError("no room")
        return turn.can_claim


def test_a_mistake_is_reported_once(executor):
    found = findings(LateMistake(), executor)
    assert len(wrong(found)) == 1
    assert found[wrong(found)[0]].message.startswith("a game stops: ")


# --------------------------------------------------------------------------------- legal, but broken


class NoParentheses(Sound):
    def stop(self, turn: Turn) -> Any:
        return turn.can_claim & turn.dice_left < 3


class Quitter(Sound):
    def stop(self, turn: Turn) -> Any:
        return turn.total > 12


class NeverStops(Sound):
    def stop(self, turn: Turn) -> Any:
        return np.zeros(len(turn), np.bool_)


class AfraidOfWorms(Sound):
    """Sets worms aside last, so that most of its turns end without one."""

    def pick(self, turn: Turn) -> Any:
        return turn.best(-np.arange(7) * np.ones((len(turn), 1)))


class Unannotated(Sound):
    target = 25
    LIMIT = 30
    data_files = ()
    kept: ClassVar[int] = 3


class Deaf(Sound):
    target: int = 25
    bold: bool = False
    mood: Literal["good", "bad"] = "good"
    name: str = "nobody knows other ones"

    def stop(self, turn: Turn) -> Any:
        return turn.can_claim & (turn.total >= 25)


class Overridden(Deaf):
    """Its target stays 25: a default is changed with the annotation only."""

    target = 30
    bold: bool = False

    def stop(self, turn: Turn) -> Any:
        sooner = (turn.total >= self.target) | self.bold | (self.mood == "bad")
        return stop_sooner(turn, sooner)


@pytest.mark.parametrize(
    ("bot", "point", "message"),
    [
        (NoParentheses, PLAY, "* with nothing to claim*(turn.can_claim & turn.dice_left < 3)"),
        (Quitter, PLAY, "[3-9]? % of its stops come with nothing to claim, so these turns fail"),
        (NeverStops, PLAY, "it never stops; without a tile at the end of *"),
        (AfraidOfWorms, PLAY, "without a tile at the end of * (random: *)"),
        (Unannotated, PARAMETERS, "target is not a parameter without an annotation: *: int = 25"),
        (
            Deaf,
            PARAMETERS,
            "target changes no game (tried 26, 24, 260, -260, 0); bold changes no game (tried True); "
            "mood changes no game (tried bad)",
        ),
        (
            Overridden,
            PARAMETERS,
            "target is not a parameter without an annotation: write target: int = 30",
        ),
    ],
)
def test_what_is_legal_but_broken_is_odd(bot, point, message, executor):
    found = findings(bot(), executor)
    assert wrong(found) == []
    assert [(f.point, fnmatch(f.message, message)) for f in found.values() if f.odd] == [
        (point, True)
    ], found


# ---------------------------------------------------------------------------------- bots from files

FORGETFUL = '''
from pickosim import POINTS, Strategy

FIRST = []

class Forgetful(Strategy):
    """Stores in its module what it computed for the first rules it meets."""

    def pick(self, turn):
        return turn.best(turn.counts * POINTS)

    def stop(self, turn):
        FIRST.append(turn.rules.name)
        return turn.can_claim & ((FIRST[0] == "classic") | (turn.dice_left < 3))
'''


def test_module_state_shows_in_another_process(tmp_path, executor):
    path = tmp_path / "forgetful.py"
    path.write_text(FORGETFUL)
    found = findings(str(path), executor)
    assert wrong(found) == [PROCESS]
    assert f"pickosim watch {path}" in found[PROCESS].message


def test_a_bot_that_does_not_load_is_refused_before_anything_is_played(executor):
    with pytest.raises(BotError, match="no bot named"):
        findings("eagre", executor)
