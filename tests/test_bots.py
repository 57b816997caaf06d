"""Loading bots by name, file and package; errors while loading; every built-in bot."""

from __future__ import annotations

import ast
import inspect
import json
import os
import pickle
import shlex
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from traces import trace_game

import pickosim.strategies
from pickosim.bots.loading import built_in_bots, load_bot, spec_of
from pickosim.bots.strategy import Strategy, bot_name
from pickosim.cli import run
from pickosim.errors import BotError
from pickosim.games.batch import play_games
from pickosim.games.match import Match, make_match
from pickosim.rule_files import PRESETS
from pickosim.solver.valuation import Valuation

PLAIN = """
    def pick(self, turn): return turn.best(turn.counts * POINTS)
    def stop(self, turn): return turn.can_claim
"""
HEAD = "from typing import Literal\nfrom pickosim import POINTS, Strategy\n"


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A working folder for bots' files."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: Path, body: str) -> Path:
    path.write_text(HEAD + body, encoding="utf-8")
    return path


# ------------------------------------------------------------------------------------------ by name


def test_a_name_is_a_built_in_bot():
    assert type(load_bot("late-worms")).__name__ == "LateWorms"
    assert {"eager", "random", "late-worms", "threshold"} <= set(built_in_bots())


def test_files_that_begin_with_an_underscore_are_not_bots(folder, monkeypatch):
    (folder / "_shared.py").touch()
    (folder / "my_idea.py").touch()
    monkeypatch.setattr(pickosim.strategies, "__path__", [str(folder)])
    assert built_in_bots() == ["my-idea"]


def test_a_built_in_bot_that_does_not_load_is_named_with_its_line(folder, monkeypatch):
    write(folder / "half_written.py", "class HalfWritten(Strategy)\n")
    monkeypatch.setattr(pickosim.strategies, "__path__", [str(folder)])
    with pytest.raises(BotError, match=r"half_written\.py, line 3 does not load: SyntaxError"):
        load_bot("half-written")


# ------------------------------------------------------------------------------------------ by file


def test_a_file_with_one_class(folder):
    write(folder / "mine.py", f"class Mine(Strategy):{PLAIN}")
    assert type(load_bot("mine.py")).__name__ == "Mine"
    assert type(load_bot(str(folder / "mine.py"))).__name__ == "Mine"
    assert type(load_bot("mine.py:Mine")).__name__ == "Mine"


def test_a_file_with_several_classes(folder):
    write(folder / "two.py", f"class A(Strategy):{PLAIN}\nclass B(A):\n    target: int = 3\n")
    assert load_bot("two.py:B:target=5").target == 5
    with pytest.raises(
        BotError, match=r"several strategy classes \(A, B\); choose one, e.g. two.py:A"
    ):
        load_bot("two.py")


def test_private_imported_and_unfinished_classes_do_not_count(folder):
    write(
        folder / "one.py",
        "from pickosim.strategies.eager import Eager\n"
        "class Base(Strategy):\n    def stop(self, turn): return turn.can_claim\n"
        f"class _Hidden(Strategy):{PLAIN}\n"
        "class Mine(Base):\n    def pick(self, turn): return turn.best(turn.counts)\n",
    )
    assert type(load_bot("one.py")).__name__ == "Mine"


def test_a_file_does_not_inherit_future_imports(folder):
    """Annotations are evaluated unless the file imports annotations from __future__."""
    write(folder / "mine.py", f"class Mine(Strategy):\n    target: int = 3{PLAIN}")
    assert fields(load_bot("mine.py"))[0].type is int
    later = "from __future__ import annotations\n"
    source = f"class Mine(Strategy):\n    target: int = 3{PLAIN}"
    (folder / "later.py").write_text(later + HEAD + source, encoding="utf-8")
    assert load_bot("later.py:target=4").target == 4


def test_an_edited_file_is_reloaded_within_the_same_second(folder):
    path, turns = folder / "mine.py", []
    for limit in (21, 30, 21):
        write(path, f"class Mine(Strategy):\n    limit = {limit}{PLAIN}")
        os.utime(path, (1_000_000_000, 1_000_000_000))
        bot = load_bot("mine.py")
        turns.append(bot.limit)
    assert turns == [21, 30, 21]


def test_two_bots_of_the_same_file_are_one_class(folder):
    write(folder / "mine.py", f"class Mine(Strategy):\n    target: int = 3{PLAIN}")
    assert type(load_bot("mine.py")) is type(load_bot("mine.py:target=5"))


def test_a_bot_of_a_file_plays_like_the_built_in_one(folder):
    source = Path(inspect.getfile(type(load_bot("eager")))).read_text(encoding="utf-8")
    (folder / "copy.py").write_text(source, encoding="utf-8")
    ours, theirs = make_match(["eager", "random"]), make_match(["copy.py", "random"])
    assert trace_game(ours, 3)[1:] == trace_game(theirs, 3)[1:]


# --------------------------------------------------------------------------------------- parameters

MANY = f"""class Many(Strategy):
    whole: int = 1
    number: float = 0.5
    flag: bool = False
    word: str = "x"
    choice: Literal["low", "high"] = "low"
    dice: Literal[1, 2] = 1
    perhaps: int | None = 5
    fixed = 3{PLAIN}"""


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("whole=-7", "whole", -7),
        ("whole = 7 ", "whole", 7),
        ("number=2", "number", 2.0),
        ("number=1e-3", "number", 0.001),
        ("flag=true", "flag", True),
        ("flag=True", "flag", True),
        ("flag=no", "flag", False),
        ("word=7", "word", "7"),
        ("word=a=b", "word", "a=b"),
        ("choice=high", "choice", "high"),
        ("dice=2", "dice", 2),
        ("perhaps=8", "perhaps", 8),
        ("perhaps=None", "perhaps", None),
    ],
)
def test_parameters_of_each_type(folder, text, name, value):
    write(folder / "many.py", MANY)
    bot = load_bot(f"many.py:{text}")
    assert getattr(bot, name) == value
    assert type(getattr(bot, name)) is type(value)
    assert load_bot(spec_of(bot)) == bot


def test_several_parameters(folder):
    write(folder / "many.py", MANY)
    bot = load_bot("many.py:Many:whole=3,flag=yes,number=0.25")
    assert (bot.whole, bot.flag, bot.number, bot.word) == (3, True, 0.25, "x")
    assert spec_of(bot).endswith("many.py:Many:whole=3,number=0.25,flag=True")


def test_a_parameter_without_default(folder):
    write(folder / "mine.py", f"class Mine(Strategy):\n    target: int{PLAIN}")
    assert load_bot("mine.py:target=4").target == 4
    with pytest.raises(BotError, match="target has no default; add a value"):
        load_bot("mine.py")


# ------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (
            "eagr",
            'no bot named "eagr"; did you mean "eager"\\? The bots are cautious, champion, eager, ',
        ),
        ("Late-Worms", 'did you mean "late-worms"\\?'),
        ("late_worms", 'did you mean "late-worms"\\?'),
        ("zzzzzz", 'no bot named "zzzzzz"\\. The bots are '),
        ("", 'no bot named ""\\.'),
        ("eager:x=1", 'no parameter "x" \\(it has none\\)'),
        ("threshold:targt=3", 'no parameter "targt"; did you mean "target"\\?'),
        ("threshold:target=x", 'target must be a whole number, not "x"'),
        ("threshold:target=2.5", 'target must be a whole number, not "2.5"'),
        ("threshold:target=", 'target must be a whole number, not ""'),
        ("threshold:target=1,target=2", "target is given twice"),
        ("threshold:target=1,,", "write parameters as name=value"),
        ("threshold:=1", "write parameters as name=value"),
        ("threshold:target", '"target" is not valid; write NAME:parameter=value'),
        ("threshold:", '"" is not valid'),
        ("threshold:a:target=1", '"a" is not valid'),
        ("many.py:flag=maybe", 'flag must be true or false, not "maybe"'),
        ("many.py:number=x", 'number must be a number, not "x"'),
        ("many.py:choice=middle", "choice must be 'low' or 'high', not \"middle\""),
        ("many.py:fixed=4", 'no parameter "fixed"'),
        ("many.py:many", 'no strategy class "many"; did you mean "Many"\\?'),
        ("many.py:Other", 'no strategy class "Other" \\(it has Many'),
        ("many.py:Many:x:y", '"x:y" is not valid'),
        ("missing.py", "missing.py cannot be read: No such file or directory"),
        ("folder.py", "folder.py cannot be read: Is a directory"),
        ("empty.py", "empty.py has no subclass of pickosim.Strategy"),
        ("bytes.py", "bytes.py is not UTF-8 text"),
        ("syntax.py", "syntax.py, line 4 does not load: SyntaxError: .*[^)]\\.$"),
        ("raises.py", "raises.py, line 4 does not load: ZeroDivisionError: division by zero\\."),
        ("imports.py", "imports.py, line 3 does not load: ModuleNotFoundError: No module named"),
        ("exits.py", "exits.py, line 3 does not load: SystemExit: bye\\."),
        ("lacks.py", "Half lacks the method stop\\(\\)"),
        ("lacks_both.py", "Nothing lacks the method pick\\(\\) and stop\\(\\)"),
        (
            "refuses.py",
            "refuses.py cannot be made: ValueError: no such target \\(refuses.py, line 4: .*\\)\\.$",
        ),
        ("unknown_type.py:target=3", "cannot be made: NameError: "),
    ],
)
def test_mistakes_are_named(folder, spec, said):
    (folder / "folder.py").mkdir()
    (folder / "empty.py").touch()
    (folder / "bytes.py").write_bytes(b"\xff\xfe")
    write(folder / "many.py", MANY)
    write(folder / "syntax.py", "\ndef f(:\n")
    write(folder / "raises.py", "\nx = 1 / 0\n")
    write(folder / "imports.py", "import no_such_module_at_all\n")
    write(folder / "exits.py", "raise SystemExit('bye')\n")
    write(folder / "lacks.py", "class Half(Strategy):\n    def pick(self, turn): return 0\n")
    write(folder / "lacks_both.py", "class Nothing(Strategy):\n    pass\n")
    refusal = "    def __post_init__(self): raise ValueError('no such target')\n"
    write(folder / "refuses.py", f"class Picky(Strategy):\n{refusal}{PLAIN}")
    write(folder / "unknown_type.py", f"class Odd(Strategy):\n    target: 'Nowhere' = 1{PLAIN}")
    with pytest.raises(BotError, match=said) as refused:
        load_bot(spec)
    assert "\n" not in str(refused.value)


def test_an_error_in_an_imported_file_does_not_name_a_line_of_the_bot(folder, monkeypatch):
    write(folder / "pickosim_test_helper.py", "def f(:\n")
    write(folder / "mine.py", f"import pickosim_test_helper\nclass Mine(Strategy):{PLAIN}")
    monkeypatch.syspath_prepend(str(folder))
    with pytest.raises(BotError, match=r"mine.py, line 3 does not load: .*helper.py, line 3"):
        load_bot("mine.py")


# ------------------------------------------------------------------------- by entry point of a package


def test_bots_of_installed_packages(tmp_path):
    """A tiny distribution on the path of a separate process."""
    package = tmp_path / "tiny"
    package.mkdir()
    write(package / "__init__.py", f"class Tiny(Strategy):\n    target: int = 3{PLAIN}\nx = 1\n")
    info = tmp_path / "tiny_bots-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tiny-bots\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[pickosim.strategies]\ntiny = tiny:Tiny\nnumber = tiny:x\ngone = tiny:Gone\nlost = lost:Lost\n"
    )
    script = """
from pickosim.bots.loading import installed_bots, load_bot
from pickosim.errors import BotError
print(installed_bots())
print(load_bot("tiny"), load_bot("tiny:target=5").target)
for name in ("number", "gone", "lost", "tini"):
    try:
        load_bot(name)
    except BotError as error:
        print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    names, bots, number, gone, lost, near = done.stdout.splitlines()
    assert names == "['gone', 'lost', 'number', 'tiny']"
    assert bots == "Tiny(target=3) 5"
    assert number == "The bot number (tiny:x) is not a subclass of pickosim.Strategy."
    assert gone.startswith("The bot gone (tiny:Gone) does not load: AttributeError: ")
    assert lost == (
        "The bot lost (lost:Lost) does not load: ModuleNotFoundError: No module named 'lost'."
    )
    assert 'did you mean "tiny"?' in near


# --------------------------------------------------------------------------- back to the command line


@pytest.mark.parametrize("name", built_in_bots())
def test_the_spec_of_a_built_in_bot_is_its_name(name):
    assert spec_of(load_bot(name)) == name


def test_the_spec_names_what_differs_from_the_defaults():
    assert spec_of(load_bot("threshold:target=30")) == "threshold:target=30"
    assert spec_of(load_bot("threshold:target=25")) == "threshold"
    spec = "threshold:target=22,last_dice=1"
    assert spec_of(load_bot(spec)) == spec


class Here(Strategy):
    """A bot defined in this test file."""

    target: int = 24

    def pick(self, turn):
        return turn.best(turn.counts)

    def stop(self, turn):
        return turn.can_claim & (turn.total >= self.target)


@pytest.mark.parametrize("rules", ["classic", "extrawurm"])
def test_the_replay_command_shows_the_same_game(rules, capsys):
    rule_set = pickosim.load_rules(rules, ["flip_without_return=true", "tiles.36=5"])
    match = make_match([Here(target=26), "threshold:target=23", "random"], rule_set, seed=9)
    program, *arguments = shlex.split(match.replay_command(17))
    assert program == "pickosim"
    assert run([*arguments, "--json"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line) for line in lines] == trace_game(match, 17)


# ----------------------------------------------------------------------------- every built-in bot

HARD = {name for name in built_in_bots() if isinstance(load_bot(name), Valuation)}
"""Bots that solve their turns exactly, which is slow."""


def every_bot() -> list[object]:
    return [
        pytest.param(name, marks=pytest.mark.long if name in HARD else ())
        for name in built_in_bots()
    ]


@pytest.mark.parametrize("name", built_in_bots())
def test_its_file_has_one_public_class_of_that_name(name):
    kind = type(load_bot(name))
    path = Path(inspect.getfile(kind))
    assert path.stem == name.replace("-", "_")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree)
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    public = [node for node in classes if not node.name.startswith("_")]
    assert [bot_name(kind)] == [name] and [node.name for node in public] == [kind.__name__]
    told = ast.get_docstring(public[0])
    assert told and told.split("\n")[0].endswith((".", ":"))


@pytest.mark.parametrize("name", built_in_bots())
def test_it_has_a_default_for_every_parameter_and_pickles(name):
    bot = load_bot(name)
    again = pickle.loads(pickle.dumps(bot))
    assert again == bot and type(again) is type(bot)
    assert type(bot)() == bot


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("name", every_bot())
def test_it_plays_with_any_number_of_players_and_batch_size(name, preset):
    for players in (2, 4, 7):
        match = make_match([name] + ["random"] * (players - 2) + [name], preset, seed=players)
        assert_same_games(match, 200, 50)


@pytest.mark.parametrize("name", sorted(HARD))
def test_a_slow_bot_plays_with_and_without_the_expansion(name):
    for preset in ("classic", "extrawurm"):
        for players in (2, 3, 4):
            match = make_match([name] + ["random"] * (players - 2) + [name], preset, seed=1)
            assert_same_games(match, 20, 20)


def assert_same_games(match: Match, games: int, last: int) -> None:
    """Play games in one large batch, and the last of them in small batches."""
    many = play_games(match, 0, games, batch=4096)
    few = play_games(match, games - last, last, batch=7)
    for column, ours, theirs in zip(many._fields, many, few, strict=True):
        assert np.array_equal(ours[-last:], theirs), column


def test_a_valuation_takes_the_highest_of_equally_good_tiles():
    """With claim=any-lower it never leaves a better tile, or an equally good but higher one."""
    worms, choices = pickosim.load_rules("manual").tiles, 0
    for game in range(20):
        grill, total = set(worms), 0
        for event in pickosim.watch(["expected", "eager"], "manual", seed=1, game=game):
            match event["event"]:
                case "stop":
                    total = event["total"]
                case "take":
                    tile = event["tile"]
                    if event["seat"] == 0:
                        within = [value for value in grill if value <= total]
                        choices += len(within) > 1
                        assert tile == max(within, key=lambda value: (worms[value], value))
                    grill.remove(tile)
                case "return":
                    grill.add(event["tile"])
                case "flip":
                    grill.remove(event["tile"])
    assert choices > 50
