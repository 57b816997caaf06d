"""Clumsy and hostile bots, in files, in real runs: each is reported with its name, its method, its game and its line."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from blocks import first_game

import pickosim
from pickosim.bots.digest import source_digest
from pickosim.bots.guard import Expired, Guard, answer_seconds, set_answer_seconds, time_limit
from pickosim.bots.loading import load_bot
from pickosim.cli import run
from pickosim.errors import BotError, PickosimError, StrategyError
from pickosim.runs import run as run_module

PROGRAM = [sys.executable, "-c", "from pickosim.cli import main; main()"]

BOT = """\
import os, sys, threading, time
from pickosim import POINTS, Strategy

class Bot(Strategy):
    def pick(self, turn):
        return turn.best(turn.counts * POINTS)

    def stop(self, turn):
        {}
        return turn.can_claim
"""

VALUATION = """\
import numpy as np
from pickosim import Valuation

class Bot(Valuation):
    def value(self, after):
        worms = after.worms[:, 0].astype(float)
        {}
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    """An empty folder for bots' files, and the usual time limit afterwards."""
    monkeypatch.chdir(tmp_path)
    before = time_limit()
    yield
    set_answer_seconds(before)


def write(name: str, template: str, *lines: str) -> None:
    Path(name).write_text(template.format("\n        ".join(lines)), encoding="utf-8")


def error_of(bot: str, **options: object) -> str:
    """What a small run with the bot says."""
    with pytest.raises(PickosimError) as caught:
        pickosim.tournament([bot, "eager"], games=400, **{"workers": 1, **options})
    return str(caught.value)


def process(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *command], capture_output=True, text=True, check=False, timeout=120
    )


# ---------------------------------------------------------------------------------- mistakes and where


def test_and_between_arrays_is_explained_and_the_command_shows_it(capsys):
    write("mine.py", BOT, "if turn.can_claim and turn.total >= 25: return turn.can_claim")
    said = error_of("mine.py")
    assert "mine.py: stop() raised ValueError: The truth value of an array" in said
    assert "on arrays use & | ~ with parentheses around comparisons" in said
    assert (
        "(mine.py, line 9: if turn.can_claim and turn.total >= 25: return turn.can_claim)" in said
    )
    replay = shlex.split(said.partition("To see that game: ")[2].splitlines()[0])
    assert run(replay[1:]) == 2
    assert "mine.py, line 9: if turn.can_claim and" in capsys.readouterr().err


def test_the_innermost_line_of_the_bot_is_shown_and_not_one_of_numpy():
    write("mine.py", BOT, "return broken(turn)")
    with Path("mine.py").open("a", encoding="utf-8") as file:
        file.write("\ndef broken(turn):\n    return turn.total.reshape(3, -7)\n")
    assert "(mine.py, line 13: return turn.total.reshape(3, -7))" in error_of("mine.py")


def test_a_mistake_only_with_many_games_is_said():
    write("mine.py", BOT, "assert len(turn) < 100, 'too many'")
    said = error_of("mine.py")
    assert re.search(r"raised AssertionError: too many .*only when asked about \d+ games", said)


def test_a_misspelt_attribute_gets_a_suggestion():
    write("mine.py", BOT, "turn.can_clam")
    assert 'did you mean "can_claim"? (mine.py, line 9: turn.can_clam)' in error_of("mine.py")


def test_a_mistake_in_explain_is_reported(capsys):
    write("mine.py", BOT + "    def explain(self, turn): return [1 / 0]\n", "pass")
    assert run(["watch", "mine.py", "eager", "--why"]) == 2
    said = capsys.readouterr().err
    assert "explain() raised ZeroDivisionError: division by zero (mine.py, line 11: " in said
    write("mine.py", BOT + "    def explain(self, turn): return [('a', 'b')]\n", "pass")
    assert run(["watch", "mine.py", "eager", "--why"]) == 2
    assert "return a list of (text, number)" in capsys.readouterr().err


# ------------------------------------------------------------------------------------------ valuations


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("return np.where(after.fails, np.nan, worms)", "returned nan; return finite numbers"),
        ("return np.where(after.fails, -np.inf, worms)", "returned -inf; return finite numbers"),
        ("return worms[1:]", r"returned shape \(\d+,\) for \d+ results; return an array of shape"),
        ("return None", r"returned None for \d+ results; return an array of shape"),
        ("return worms.astype(str)", r"returned <U\d+; return numbers"),
        ("return worms * 1j", "returned complex128; return numbers"),
        ("return [[1], [1, 2]] * len(after)", "returned a value that is not an array: "),
        ("return worms / after.seats", r"raised AttributeError: .*no attribute 'seats'.*line 7: "),
        ("raise SystemExit(3)", r"raised SystemExit: 3 \(mine.py, line 7: raise SystemExit"),
    ],
)
def test_a_wrong_value_names_the_method_of_the_author(line, said):
    write("mine.py", VALUATION, line)
    with pytest.raises(StrategyError, match=rf"^mine\.py: value\(\) {said}.*\(game 0, turn 1, "):
        pickosim.play(["mine.py", "eager"], games=5)


def test_odds_name_a_mistake_in_a_valuation(capsys):
    write("mine.py", VALUATION, "return worms / after.seats")
    assert run(["odds", "--bot", "mine.py"]) == 2
    said = capsys.readouterr().err
    assert "mine.py: value() raised AttributeError: " in said
    assert "(mine.py, line 7: return worms / after.seats)" in said


def test_whole_numbers_and_truths_are_values():
    write("ints.py", VALUATION, "return after.worms[:, 0]")
    write("floats.py", VALUATION, "return worms")
    scores = [pickosim.play([bot, "eager"], games=50).seats for bot in ("ints.py", "floats.py")]
    assert scores[0].drop("bot").equals(scores[1].drop("bot"))


# --------------------------------------------------------------------------------- exits and interrupts


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("os._exit(0)", r"raised SystemExit: os\._exit\(0\) \(mine\.py, line 9: os\._exit\(0\)\)"),
        ("os.abort()", r"raised SystemExit: os\.abort\(\)"),
        ("sys.exit('bye')", "raised SystemExit: bye"),
        ("raise KeyboardInterrupt", r"raised KeyboardInterrupt \(mine\.py, line 9: raise Keyboard"),
        ("raise GeneratorExit", "raised GeneratorExit"),
        ("sys.stdout.close()", "raised OSError: a bot must not close standard output"),
    ],
)
def test_a_bot_that_would_end_the_process_is_reported(line, said):
    write("mine.py", BOT, line)
    assert re.match(rf"mine\.py: stop\(\) {said}.*To see that game: ", error_of("mine.py"))


@pytest.fixture
def only_workers(only_workers, monkeypatch) -> None:
    """Not even for warming up."""
    monkeypatch.setattr(run_module, "MOST_WARMED", 0)


@pytest.mark.parametrize("line", ["os._exit(0)", "raise KeyboardInterrupt"])
def test_a_bot_that_would_end_a_worker_is_reported(line, only_workers):
    write("mine.py", BOT, line)
    said = error_of("mine.py", workers=2)
    assert re.match(rf"mine\.py: stop\(\) raised .*{re.escape(line)}.*To see that game: ", said)


def test_a_process_is_not_ended_by_a_bot():
    write("mine.py", BOT, "os._exit(0)")
    done = process("tournament", "mine.py", "eager", "--games", "100", "--out", "run")
    assert done.returncode == 2
    assert "mine.py: stop() raised SystemExit: os._exit(0)" in done.stderr
    write("loads.py", "import os\nos._exit(0)\n")
    done = process("watch", "loads.py", "eager")
    assert done.returncode == 2
    assert "loads.py, line 2 does not load: SystemExit: os._exit(0)." in done.stderr


def test_a_process_that_a_bot_forks_may_exit():
    write("mine.py", BOT, "pid = os.fork()", "if pid == 0: os._exit(0)", "os.waitpid(pid, 0)")
    assert len(pickosim.play(["mine.py", "eager"], games=1).games) == 1


def test_closing_the_real_standard_output_is_reported():
    write("mine.py", BOT, "sys.__stdout__.close()")
    script = "import pickosim; pickosim.play(['mine.py', 'eager'], games=5)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert "StrategyError: mine.py: stop() closed standard output" in done.stderr


# ------------------------------------------------------------------------------------------- printing


@pytest.mark.parametrize("workers", ["1", "2"])
def test_what_a_bot_prints_is_not_among_the_results(workers):
    write(
        "mine.py",
        "print('loaded')\n" + BOT,
        "print('printed')",
        "os.write(1, b'written\\n')" if workers == "1" else "pass",
    )
    bots, how = ["mine.py", "eager"], ["--games", "60", "--workers", workers]
    done = process("tournament", *bots, *how, "--json", "--out", "run")
    assert done.returncode == 0
    assert json.loads(done.stdout)
    assert {"loaded", "printed"} <= set(done.stderr.split())
    assert ("written" in done.stderr) == (workers == "1")


def test_watching_a_bot_that_prints(capsys):
    write("mine.py", BOT, "print('printed')")
    assert run(["watch", "mine.py", "eager", "--json"]) == 0
    captured = capsys.readouterr()
    assert all(json.loads(line) for line in captured.out.splitlines())
    assert "printed" in captured.err


# ------------------------------------------------------------------------------------------ time limit


@pytest.mark.parametrize(
    "lines",
    [
        ["while True: pass"],
        ["while True:", "    try: sum(range(1000))", "    except Exception: pass"],
        ["time.sleep(1000)"],
    ],
)
def test_a_bot_that_does_not_answer_is_interrupted(lines):
    write("mine.py", BOT, *lines)
    said = error_of("mine.py", answer_seconds=0.5)
    assert "mine.py: stop() has not answered within 0.5 seconds (mine.py, line " in said
    game = first_game(["mine.py", "eager"])
    assert f"(game {game}, turn 1, seat 0). To see that game: pickosim watch mine.py" in said


def test_the_game_in_which_a_bot_does_not_answer_is_named():
    write("mine.py", BOT, "while (turn.number == 9).any() and (turn.total == 25).any(): pass")
    said = error_of("mine.py", answer_seconds=0.5)
    found = re.search(r"\(game (\d+), turn 9, seat 0\)", said)
    assert found
    with pytest.raises(StrategyError, match=r"has not answered within 0\.5 seconds"):
        pickosim.watch(["mine.py", "eager"], game=int(found[1]), answer_seconds=0.5)


def test_a_worker_interrupts_a_bot(only_workers):
    write("mine.py", BOT, "while True: pass")
    said = error_of("mine.py", answer_seconds=0.5, workers=2)
    assert "mine.py: stop() has not answered within 0.5 seconds (mine.py, line 9" in said


def test_a_bot_that_cannot_be_interrupted_ends_the_process():
    write("mine.py", BOT, "while True:", "    try: time.sleep(1)", "    except: pass")
    limit = ["--answer-seconds", "0.5"]
    done = process("tournament", "mine.py", "eager", "--games", "100", *limit, "--out", "run")
    assert done.returncode == 2
    assert "mine.py: stop() has not answered within 0.5 seconds (asked about " in done.stderr
    assert "and does not stop; this process is ended." in done.stderr


def test_a_file_that_does_not_load_in_time_is_reported():
    write("mine.py", "while True: pass\n")
    with answer_seconds(0.5), pytest.raises(BotError, match=r"has not loaded within 0\.5 seconds"):
        load_bot("mine.py")


def test_any_thread_can_be_interrupted():
    """As in the workers of a Dask cluster."""
    found: list[bool] = []

    def endless() -> None:
        guard = Guard(lambda: "it")
        try:
            with guard:
                while True:
                    pass
        except Expired:
            found.append(guard.expired)

    with answer_seconds(0.5):
        thread = threading.Thread(target=endless)
        thread.start()
        thread.join(60)
    assert found == [True]


def test_a_time_limit_that_cannot_be_meant_is_refused(capsys):
    for command in (
        ["tournament", "eager", "random"],
        ["watch", "eager", "random"],
        ["check", "eager"],
    ):
        for seconds in ("0", "-1", "inf", "nan"):
            assert run([*command, "--answer-seconds", seconds]) == 2
            assert "a number above 0" in capsys.readouterr().err


# ------------------------------------------------------------------------------------------- the audit


@pytest.mark.parametrize(
    "lines",
    [
        ["return turn.can_claim & (len(turn) > 50)"],
        ["import random", "return turn.can_claim & (random.random() < 0.5)"],
        ["return turn.can_claim & (turn.total == turn.total.max())"],
        ["import numpy", "return turn.can_claim & (numpy.arange(len(turn)) % 2 == 0)"],
    ],
)
def test_a_run_finds_answers_that_depend_on_other_games(lines):
    write("mine.py", BOT, *lines)
    said = error_of("mine.py")
    assert re.search(
        r"mine\.py: stop\(\) returned (True|False) when asked about \d+ games, and (True|False) when asked "
        r"about (\d+ of them|20,000) \(game \d+, turn \d+, seat \d\)\..* pickosim check mine\.py",
        said,
    )


def test_an_audit_changes_nothing():
    """Not even for a valuation, which notes its plan for the later questions of a turn."""
    write("sound.py", BOT, "pass")
    write("worms.py", VALUATION, "return worms")
    results = pickosim.tournament(["sound.py", "worms.py"], "extrawurm", games=300, workers=1)
    played = [
        pickosim.play(bots, "extrawurm", 150, first=first_game(["sound.py", "worms.py"]))
        for bots in (["sound.py", "worms.py"], ["worms.py", "sound.py"])
    ]
    for bot in ("sound.py", "worms.py"):
        (mean,) = results.standings.filter(bot=bot)["mean_score"]
        scores = [games.seats.filter(bot=bot)["score"].to_numpy() for games in played]
        assert mean == pytest.approx(np.concatenate(scores).mean(), abs=1e-12)


# -------------------------------------------------------------------------------------- helpers and data

HELPED = """\
from helpers import LIMIT
from pickosim import POINTS, Strategy

class Helped(Strategy):
    limit: int = LIMIT
    data_files = ("weights/w.txt",)

    def pick(self, turn):
        return turn.best(turn.counts * POINTS)

    def stop(self, turn):
        import later
        return turn.can_claim & (turn.total >= later.limit(self.limit))
"""


def helped(folder: str, limit: int) -> Path:
    """A bot in a folder of its own, with two helpers and a data file."""
    home = Path(folder)
    (home / "weights").mkdir(parents=True)
    (home / "bot.py").write_text(HELPED, encoding="utf-8")
    (home / "helpers.py").write_text("import deeper\nLIMIT = deeper.LIMIT\n", encoding="utf-8")
    (home / "deeper.py").write_text(f"LIMIT = {limit}\n", encoding="utf-8")
    (home / "later.py").write_text("def limit(x): return x\n", encoding="utf-8")
    (home / "weights" / "w.txt").write_text("1", encoding="utf-8")
    return home


def test_bots_in_different_folders_have_their_own_helpers():
    helped("a", 22), helped("b", 28)
    assert [load_bot(f"{home}/bot.py").limit for home in "abab"] == [22, 28, 22, 28]
    assert "helpers" not in sys.modules
    seats = pickosim.play(["a/bot.py", "b/bot.py"], games=50, seed=1).seats
    same = pickosim.play(["a/bot.py", "a/bot.py:limit=28"], games=50, seed=1).seats
    assert seats.drop("bot").equals(same.drop("bot"))


def test_modules_of_python_come_before_a_file_beside_the_bot():
    write("random.py", "raise ValueError\n")
    write("mine.py", "import random\nrandom.random()\n" + BOT, "pass")
    assert load_bot("mine.py")


def test_a_mistake_in_a_helper_names_its_file_and_line():
    home = helped("a", 22)
    (home / "deeper.py").write_text("\nLIMIT = 1 / 0\n", encoding="utf-8")
    with pytest.raises(BotError, match=r"a/bot\.py, line 1 does not load: .*a/deeper\.py, line 2"):
        load_bot("a/bot.py")
    (home / "deeper.py").write_text("LIMIT = 20\n", encoding="utf-8")
    (home / "later.py").write_text("def limit(x):\n    return x.nothing\n", encoding="utf-8")
    with pytest.raises(StrategyError, match=r"stop\(\) raised Attr.*\(a/later\.py, line 2: return"):
        pickosim.play(["a/bot.py", "eager"], games=5)


@pytest.mark.parametrize("name", ["bot.py", "helpers.py", "deeper.py", "later.py", "weights/w.txt"])
def test_every_file_of_a_bot_counts_in_its_digest(name):
    home = helped("a", 22)
    before = source_digest(load_bot("a/bot.py"))
    assert source_digest(load_bot("a/bot.py")) == before
    with (home / name).open("a", encoding="utf-8") as file:
        file.write("\n")
    assert source_digest(load_bot("a/bot.py")) != before
    assert source_digest(load_bot(str(helped("c", 22) / "bot.py"))) == before


def test_a_changed_helper_or_data_file_is_loaded_anew():
    home = helped("a", 22)
    reads = "from pathlib import Path\nW = (Path(__file__).parent / 'weights/w.txt').read_text()\n"
    (home / "bot.py").write_text(f"{reads}{HELPED}\n    weight = W\n", encoding="utf-8")
    bot = load_bot("a/bot.py")
    assert (bot.limit, bot.weight) == (22, "1")
    (home / "deeper.py").write_text("LIMIT = 23\n", encoding="utf-8")
    assert load_bot("a/bot.py").limit == 23
    (home / "weights" / "w.txt").write_text("2", encoding="utf-8")
    assert load_bot("a/bot.py").weight == "2"


def test_workers_load_helpers_and_refuse_changed_data(only_workers):
    home = helped("a", 22)
    options = {"games": 200, "workers": 2, "chunk": 25}
    results = pickosim.tournament(["a/bot.py", "eager"], out="run", **options)
    one = pickosim.tournament(["a/bot.py", "eager"], **options | {"workers": 1})
    assert results.standings.equals(one.standings)
    manifest = Path("run/manifest.json")
    stopped = json.loads(manifest.read_text(encoding="utf-8")) | {"status": "stopped"}
    manifest.write_text(json.dumps(stopped), encoding="utf-8")
    (home / "weights" / "w.txt").write_text("2", encoding="utf-8")
    with pytest.raises(BotError, match=r"source of a/bot\.py has changed .* or its data"):
        pickosim.resume("run")


def test_a_missing_data_file_is_named():
    home = helped("a", 22)
    (home / "weights" / "w.txt").unlink()
    with pytest.raises(BotError, match=r"a/bot\.py: its data file a/weights/w\.txt is missing"):
        load_bot("a/bot.py")


# ------------------------------------------------------------------- files that are opened, but not named

READING = """\
from pathlib import Path
from pickosim import POINTS, Strategy

HOME = Path(__file__).parent

def at(place, here):
    return int((HOME / "w.txt").read_text()) if place == here else 25

WHERE = "{place}"
LOADED = at("loaded", WHERE)

class Reading(Strategy):
    {declared}

    def __post_init__(self):
        self._made = at("made", WHERE)

    def pick(self, turn):
        return turn.best(turn.counts * POINTS)

    def stop(self, turn):
        return turn.can_claim & (turn.total >= min(LOADED, self._made, at("asked", WHERE)))
"""


def reading(place: str, declared: str = "pass") -> str:
    Path("bots").mkdir(exist_ok=True)
    Path("bots/w.txt").write_text("24", encoding="utf-8")
    text = READING.format(place=place, declared=declared)
    Path("bots/reads.py").write_text(text, encoding="utf-8")
    return "bots/reads.py"


@pytest.mark.parametrize("place", ["loaded", "made", "asked"])
def test_a_run_is_not_resumed_with_another_file_than_the_bot_has_read(place):
    """What is opened while a bot is loaded counts; what it opens later has to be named."""
    bot = reading(place, 'data_files = ("w.txt",)' if place == "asked" else "pass")
    pickosim.tournament([bot, "eager"], games=40, out="run", workers=1)
    shutil.copy("run/plan.json", "run/manifest.json")
    assert pickosim.resume("run", workers=1)
    shutil.copy("run/plan.json", "run/manifest.json")
    Path("bots/w.txt").write_text("30", encoding="utf-8")
    with pytest.raises(BotError, match=r"source of bots/reads\.py has changed"):
        pickosim.resume("run", workers=1)


def test_a_file_that_is_opened_in_play_has_to_be_named():
    bot = reading("asked")
    problem = r"stop\(\) opened bots/w\.txt, which it has not named: data_files = \('w\.txt',\)"
    for play in (pickosim.play, pickosim.tournament):
        with pytest.raises(PickosimError, match=problem):
            play([bot, "eager"], games=40)
    checked = pickosim.check(bot)
    assert checked.columns == ["point", "ok", "message", "odd"]
    assert not checked.filter(ok=False).is_empty()


def test_workers_find_files_that_were_opened_while_a_bot_was_loaded(only_workers):
    for place in ("loaded", "made"):
        options = {"games": 200, "chunk": 25}
        found = [
            pickosim.tournament([reading(place), "eager"], workers=workers, **options)
            for workers in (1, 2)
        ]
        assert found[0].standings.equals(found[1].standings)


@pytest.mark.parametrize("method", ["pick", "stop"])
def test_answers_that_depend_on_thousands_of_games_are_found_in_a_small_run(method):
    change = {
        "pick": "answers = turn.legal.argmax(axis=1)",
        "stop": "answers = ~answers & turn.can_claim",
    }[method]
    parent = {"pick": "turn.best(turn.counts * POINTS)", "stop": "turn.can_claim"}
    methods = "\n".join(
        f"    def {name}(self, turn):\n        answers = {answer}\n"
        + (f"        if len(turn) > 5000: {change}\n" if name == method else "")
        + "        return answers\n"
        for name, answer in parent.items()
    )
    text = f"from pickosim import POINTS, Strategy\n\nclass Large(Strategy):\n{methods}"
    Path("large.py").write_text(text, encoding="utf-8")
    with pytest.raises(PickosimError, match=rf"{method}\(\) returned .* when asked about 20,000"):
        pickosim.tournament(["large.py", "eager"], games=400, workers=1)
