"""Every built-in bot keeps to what every bot must, and whoever does not is found out."""

from __future__ import annotations

import sys
from concurrent.futures import Executor
from dataclasses import field
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from pickosim.bots.loading import built_in_bots
from pickosim.bots.strategy import Strategy
from pickosim.bots.view import METHODS, Turn
from pickosim.engine.dice import POINTS
from pickosim.errors import BotError
from pickosim.games.batch import Batch
from pickosim.games.check import (
    BATCH_SIZE,
    INPUTS,
    LEGAL,
    MEMORY,
    PROCESS,
    REPEATABLE,
    SPEED,
    Effort,
    Finding,
    Trial,
    another_process,
    check_bot,
    legal_seatings,
)
from pickosim.rules import PRESETS, WORM

QUICK = Effort(players=(2, 7), table_games=2, games=25, alone=2, turn_limit=60, seconds=0.01)


@pytest.fixture(scope="module")
def elsewhere():
    """Another process, the same for all tests of a module: it takes its time to start."""
    with another_process() as pool:
        yield pool


def findings(bot: str | Strategy, elsewhere: Executor) -> dict[str, Finding]:
    return {finding.point: finding for finding in check_bot(bot, QUICK, elsewhere)}


def wrong(found: dict[str, Finding]) -> list[str]:
    return [point for point, finding in found.items() if not finding.ok]


@pytest.mark.parametrize("name", built_in_bots())
def test_built_in_bots_conform(name, elsewhere):
    assert [str(f) for f in check_bot(name, QUICK, elsewhere) if not f.ok] == []


def test_parameters_are_tried_as_given(elsewhere):
    found = findings("threshold:target=30", elsewhere)
    assert wrong(found) == []
    assert Trial("threshold:target=30", QUICK).made().target == 30


# ----------------------------------------------------------------------------------- what is played


def test_legality_is_tried_on_every_preset_with_2_to_7_players_against_both():
    tables = [(seating.rules.name, seating.own) for seating in legal_seatings(Effort())]
    assert len(tables) == len(set(tables)) == len(PRESETS) * 6 * 2
    assert {name for name, _ in tables} == set(PRESETS)
    assert {len(own) for _, own in tables} == {2, 3, 4, 5, 6, 7}
    assert sum(all(own) for _, own in tables) == len(tables) / 2
    assert all(any(own) for _, own in tables)


def test_the_matches_that_are_compared_ask_every_question():
    asked = set()
    trial = Trial("random", Effort())
    for seating in trial.seatings:
        match = trial.match(seating, trial.made())
        Batch(match, 0, QUICK.games, overhear=lambda turn: asked.add(turn.question)).play()
    assert asked == set(METHODS)


# ------------------------------------------------------------------------------------- broken bots


class Sound(Strategy):
    """Nothing is wrong with it; the broken ones differ in one thing each."""

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
    """A generator of its own, the same in every run: its numbers depend on who is asked when."""

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
    """Plays for ever as in its first game."""

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


def test_a_sound_bot_conforms(elsewhere):
    assert wrong(findings(Sound(), elsewhere)) == []


def test_an_illegal_face_is_found(elsewhere):
    found = findings(AlwaysWorms(), elsewhere)
    assert wrong(found) == list(found)
    assert "games break off at 28 of 28 tables. The first:" in found[LEGAL].message
    assert "AlwaysWorms: pick() answered 6; legal: " in found[LEGAL].message
    assert "pickosim watch" in found[LEGAL].message
    assert found[REPEATABLE].message == found[SPEED].message == f'not tested, see "{LEGAL}"'


def test_a_table_that_a_bot_cannot_play_is_named(elsewhere):
    found = findings(SixAtMost(), elsewhere)
    assert wrong(found) == [LEGAL]
    assert "at 14 of 28 tables (7 players)" in found[LEGAL].message
    assert "raised IndexError: no room" in found[LEGAL].message


def test_chance_of_its_own_is_found(elsewhere):
    found = findings(OwnDice(), elsewhere)
    assert wrong(found) == [REPEATABLE, BATCH_SIZE, MEMORY, PROCESS]
    assert "turn.random()" in found[REPEATABLE].message
    assert found[MEMORY].message == f'not tested, see "{REPEATABLE}"'


@pytest.mark.parametrize("bot", [SeededDice, Crowd, BestOfAll])
def test_dependence_on_the_games_beside_is_found(bot, elsewhere):
    found = findings(bot(), elsewhere)
    assert BATCH_SIZE in wrong(found)
    assert REPEATABLE not in wrong(found)
    assert "pickosim watch" in found[BATCH_SIZE].message


@pytest.mark.parametrize("bot", [SeededDice, Nostalgic, Tired])
def test_dependence_on_the_games_before_is_found(bot, elsewhere):
    found = findings(bot(), elsewhere)
    assert MEMORY in wrong(found)
    assert REPEATABLE not in wrong(found)
    assert "pickosim watch" in found[MEMORY].message


def test_a_bot_that_cannot_be_pickled_is_found(elsewhere):
    found = findings(Lambda(), elsewhere)
    assert wrong(found) == [PROCESS]
    assert "cannot be pickled" in found[PROCESS].message


def test_a_bot_that_no_other_process_can_load_is_found(monkeypatch):
    here = ModuleType("only_here")
    monkeypatch.setitem(sys.modules, "only_here", here)
    here.Hidden = type("Hidden", (Sound,), {"__module__": "only_here"})
    with another_process() as pool:
        found = findings(here.Hidden(), pool)
    assert wrong(found) == [PROCESS]
    assert "could not load the bot" in found[PROCESS].message


def test_writing_into_a_view_is_found(elsewhere):
    found = findings(Scribbler(), elsewhere)
    assert "the arrays of a turn are read-only" in found[INPUTS].message
    assert "pickosim watch" in found[INPUTS].message


@pytest.mark.parametrize(
    ("bot", "told"),
    [(Forger, "pick() changes turn.counts"), (Vandal, "stop() changes the engine's table")],
)
def test_a_change_of_what_it_is_shown_is_found(bot, told, elsewhere):
    found = findings(bot(), elsewhere)
    assert INPUTS in wrong(found)
    assert told in found[INPUTS].message
    assert "pickosim watch" in found[INPUTS].message


# ---------------------------------------------------------------------------------- bots from files

FORGETFUL = '''
from pickosim import POINTS, Strategy

FIRST = []

class Forgetful(Strategy):
    """Keeps in its module what it computed for the first rules it met."""

    def pick(self, turn):
        return turn.best(turn.counts * POINTS)

    def stop(self, turn):
        FIRST.append(turn.rules.name)
        return turn.can_claim & ((FIRST[0] == "classic") | (turn.dice_left < 3))
'''


def test_what_a_module_keeps_shows_in_another_process(tmp_path, elsewhere):
    path = tmp_path / "forgetful.py"
    path.write_text(FORGETFUL)
    found = findings(str(path), elsewhere)
    assert wrong(found) == [PROCESS]
    assert f"pickosim watch {path}" in found[PROCESS].message


def test_a_bot_that_does_not_load_is_refused_before_anything_is_played(elsewhere):
    with pytest.raises(BotError, match="no bot named"):
        findings("eagre", elsewhere)
