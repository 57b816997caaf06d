"""Bots that decide one game at a time: the same games as their NumPy versions, and the same checks."""

from __future__ import annotations

import copy
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest
from situations import every_question
from test_conformance import executor, findings, wrong  # noqa: F401
from test_strategies import ONLY_IN

import pickosim
from pickosim import SimpleStrategy, Strategy
from pickosim.bench import PlainPython
from pickosim.bots import memory
from pickosim.bots.simple import ATTRIBUTES
from pickosim.bots.strategy import own_methods
from pickosim.bots.view import METHODS
from pickosim.engine.tally import Tally
from pickosim.errors import StrategyError
from pickosim.games.batch import play_games
from pickosim.games.check import MEMORY, PRIVATE, first_difference
from pickosim.games.match import make_match
from pickosim.rule_files import PRESETS, load_rules
from pickosim.runs.run import RunStoppedError

SEED = 5


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


class SimpleRandom(SimpleStrategy):
    """The built-in `random`, in plain Python."""

    def pick(self, turn):
        return turn.choose(turn.legal)

    def stop(self, turn):
        # The built-in bot draws a number whether or not it can claim.
        coin = turn.random() < 0.5
        return turn.can_claim and coin

    def claim(self, turn):
        return turn.choose(turn.claims)

    def reroll(self, turn):
        return turn.no_new_face or turn.random() < 0.5

    def keep_new_specialist(self, turn):
        return turn.random() < 0.5

    def rob(self, turn):
        return turn.choose(turn.robbable)


def differ(bot: Strategy, other: str, rules: object, players: int, games: int) -> int | None:
    """The first game in which two bots, each in all seats, differ."""
    own, known = (
        play_games(make_match([each] * players, rules, SEED), 0, games) for each in (bot, other)
    )
    return first_difference(own, known)


TABLES = list(zip(PRESETS, [2, 3, 4, 5, 6, 7, 3], strict=True))
"""Every preset, and every number of players."""


@pytest.mark.parametrize(("preset", "players"), TABLES)
def test_eager_one_game_at_a_time_plays_the_same_games(preset, players):
    assert differ(PlainPython(), "eager", preset, players, 6) is None


def test_random_one_game_at_a_time_plays_the_same_games():
    assert set(own_methods(SimpleRandom())) == set(METHODS) - {"use_golden_die"}
    assert differ(SimpleRandom(), "random", every_question(), 4, 60) is None


class Threshold(SimpleStrategy):
    """Stops from `target` on."""

    target: int = 25

    def pick(self, turn):
        return turn.best(turn.counts)

    def stop(self, turn):
        return turn.can_claim and turn.total >= self.target


class Reader(SimpleStrategy):
    """Reads everything, changes what it read, and plays like `random`."""

    def pick(self, turn):
        self.read(turn, "pick")
        return turn.choose(turn.legal)

    def stop(self, turn):
        self.read(turn, "stop")
        coin = turn.random() < 0.5
        return turn.can_claim and coin

    def claim(self, turn):
        self.read(turn, "claim")
        return turn.choose(turn.claims)

    def reroll(self, turn):
        self.read(turn, "reroll")
        return turn.no_new_face or turn.random() < 0.5

    def use_golden_die(self, turn):
        self.read(turn, "use_golden_die")
        return True

    def keep_new_specialist(self, turn):
        self.read(turn, "keep_new_specialist")
        return turn.random() < 0.5

    def rob(self, turn):
        self.read(turn, "rob")
        return turn.choose(turn.robbable)

    def read(self, turn, method):
        one = turn._games.turn._only(np.array([turn._place]))
        assert turn.question == method
        for name, attribute in ATTRIBUTES.items():
            if method not in ONLY_IN.get(name, METHODS):
                assert not hasattr(turn, name)
                continue
            value, array = getattr(turn, name), getattr(one, name)
            if attribute.rows == "n":
                array = array[0]
            if attribute.form.startswith("set"):
                labels = one.tiles if attribute.columns == "T" else np.arange(len(array))
                assert value == set(labels[array].tolist()), name
                assert {type(member) for member in value} <= {int}
                value.add(-9)
            elif attribute.form.startswith("list"):
                assert value == array.tolist(), name
                assert {type(member) for member in value} == {int}
                value.reverse()
            else:
                assert value == array, name
                assert type(value).__name__ == attribute.form
            # The next look would show the change: begin again.
            vars(turn).pop(name)
        assert turn.worms_on(0) == 0
        assert turn.worms_on(turn.tiles[-1]) == turn.tile_worms[-1]
        assert turn.can_claim_with(turn.total) == one.can_claim_with(one.total)[0]


def test_every_attribute_is_the_row_of_its_array_and_may_be_changed():
    assert differ(Reader(), "random", every_question(), 4, 8) is None


class Wanderer(SimpleStrategy):
    """What it reads depends on what it has read before, and so does its answer."""

    salt: int = 0

    def pick(self, turn):
        return self.one_of(turn.legal, turn, "pick")

    def stop(self, turn):
        return turn.can_claim and self.one_of({False, True}, turn, "stop")

    def claim(self, turn):
        return self.one_of(turn.claims, turn, "claim")

    def keep_new_specialist(self, turn):
        return self.one_of({False, True}, turn, "keep_new_specialist")

    def one_of(self, options, turn, method):
        known = [name for name in ATTRIBUTES if method in ONLY_IN.get(name, METHODS)]
        code = self.salt
        for step in range(3):
            read = getattr(turn, known[code % len(known)])
            if step == 2 and code % 5 == 0:
                read = turn.can_claim_with(20 + code % 10)
            seen = sorted(read) if isinstance(read, set) else read
            code = crc32(repr((code, seen)).encode())
        return sorted(options)[code % len(options)]


class Spendthrift(Wanderer):
    """Reads so much that hardly any question comes twice."""

    def one_of(self, options, turn, method):
        code = crc32(repr([turn.number, sorted(turn.grill), turn.scores, turn.total]).encode())
        return sorted(options)[code % len(options)]


def remembered_and_not(bot: Strategy, rules: object, players: int, games: int) -> list[Tally]:
    match = make_match([bot, *["eager"] * (players - 1)], rules, SEED)
    played = []
    for is_on in (True, False):
        with memory.remembering(is_on):
            played.append(play_games(match, 0, games))
    return played


@pytest.mark.parametrize(("preset", "players"), TABLES)
def test_remembered_answers_are_the_same_answers(preset, players):
    rules = load_rules(preset, ["turn_limit=60"])
    for bot in (PlainPython(), Wanderer(players), Spendthrift()):
        assert first_difference(*remembered_and_not(bot, rules, players, 20)) is None


def test_memories_that_are_full_start_anew(monkeypatch):
    memory._memories.clear()
    for name, slots in {"FEWEST_SLOTS": 64, "MOST_SLOTS": 256, "MOST_IN_ALL": 512}.items():
        monkeypatch.setattr(memory, name, slots)
    rules = load_rules("classic", ["turn_limit=60"])
    for bot in (PlainPython(), Wanderer(), Spendthrift()):
        assert first_difference(*remembered_and_not(bot, rules, 2, 200)) is None
    kept = list(memory._memories.values())
    assert sum(len(each.tree.keys) for each in kept) <= 512
    assert any(each.is_off for each in kept)  # nothing comes twice


class Counter(SimpleStrategy):
    """Counts how often it is asked."""

    def __post_init__(self):
        self.asked = dict.fromkeys(METHODS, 0)

    def pick(self, turn):
        self.asked["pick"] += 1
        return turn.best(turn.counts)

    def stop(self, turn):
        self.asked["stop"] += 1
        return turn.can_claim and turn.total >= 25


def test_each_question_is_asked_once():
    """`stop` reads whether a tile can be claimed and, if so, the total: 1 + 20 answers at most, at each of two seats."""
    bot = Counter()
    play_games(make_match([bot, bot]), 0, 2000)
    assert bot.asked["stop"] <= 2 * 21
    asked = dict(bot.asked)
    play_games(make_match([bot, bot]), 0, 2000)
    assert bot.asked == asked
    with memory.remembering(False):
        play_games(make_match([bot, bot]), 0, 2000)
    assert bot.asked["stop"] > 2 * 2000


def test_parameters_copies_and_classes_have_memories_of_their_own():
    bot = Threshold(21)
    before = play_games(make_match([bot, "eager"]), 0, 200)
    bot.target = 30
    after = play_games(make_match([copy.deepcopy(bot), "eager"]), 0, 200)
    assert first_difference(before, after) is not None
    known = play_games(make_match([Threshold(30), "eager"]), 0, 200)
    assert first_difference(after, known) is None


def test_audits_ask_afresh():
    """Memory would hide that a bot counts: an audit compares with a new answer."""
    Path("mine.py").write_text(
        Path(written("return turn.can_claim and self.odd()")).read_text()
        + "\n    def odd(self):\n        self.n = getattr(self, 'n', 0) + 1\n        return self.n % 2 > 0\n"
    )
    with pytest.raises(RunStoppedError, match=r"stop\(\) returned (True|False) when asked about"):
        pickosim.tournament(["mine.py", "eager"], games=2000, workers=1)


def written(stop: str) -> str:
    Path("mine.py").write_text(
        "from pickosim import SimpleStrategy\n\n"
        "class Mine(SimpleStrategy):\n"
        "    def pick(self, turn):\n"
        "        return turn.best(turn.counts)\n\n"
        "    def stop(self, turn):\n"
        f"        {stop}\n",
        encoding="utf-8",
    )
    return "mine.py"


@pytest.mark.parametrize(
    ("stop", "said"),
    [
        ("return 1 / 0", "raised ZeroDivisionError: division by zero (mine.py, line 8: return"),
        ("return None", "stop() returned None; return True or False (game 0, turn 1, seat 0)"),
        ("return turn.claims", "; return True or False (game "),
        ("return turn.can_clam", 'did you mean "can_claim"? (mine.py, line 8: return turn.can_cl'),
        ("return turn.counts", "turn.counts exists only in pick() and reroll(), not in stop()"),
    ],
)
def test_a_mistake_is_reported_with_line_and_game(stop, said):
    with pytest.raises(StrategyError) as caught:
        pickosim.play([written(stop), "eager"], games=20)
    assert said in str(caught.value)
    assert "To see that game: pickosim watch mine.py eager" in str(caught.value)


@pytest.mark.parametrize("answer", ["None", "True", "2.0", "'6'", "[6]", "10**30"])
def test_a_face_is_one_whole_number(answer):
    text = Path(written("return turn.can_claim")).read_text()
    Path("mine.py").write_text(text.replace("turn.best(turn.counts)", answer))
    with pytest.raises(StrategyError, match="return one whole number"):
        pickosim.play(["mine.py", "eager"], games=20)


def test_an_illegal_face_is_reported_with_the_legal_ones():
    text = Path(written("return turn.can_claim")).read_text()
    Path("mine.py").write_text(text.replace("turn.best(turn.counts)", "9"))
    with pytest.raises(StrategyError, match=r"returned 9; legal: .* \(game 0, turn 1"):
        pickosim.play(["mine.py", "eager"], games=20)


def test_the_check_finds_private_attributes_and_memory(executor):  # noqa: F811
    bot = written("return turn._place >= 0 and turn.can_claim")
    assert wrong(findings(bot, executor)) == [PRIVATE]
    bot = written("self.n = getattr(self, 'n', 0) + 1; return turn.can_claim and self.n % 3 > 0")
    assert MEMORY in wrong(findings(bot, executor))
    bot = written("return turn.can_claim and turn._games.turn.number[turn._place] % 2 > 0")
    assert wrong(findings(bot, executor)) == [MEMORY, PRIVATE]


def test_explain_gets_one_game(capsys):
    from pickosim.cli import run

    written("return turn.can_claim")
    with Path("mine.py").open("a") as file:
        file.write("\n    def explain(self, turn): return [('total', turn.total)]\n")
    assert run(["watch", "mine.py", "eager", "--why"]) == 0
    assert "total" in capsys.readouterr().out
