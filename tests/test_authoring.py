"""New bots run without changes; descriptions of bots are complete."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from rich.console import Console
from test_conformance import executor, findings, wrong  # noqa: F401

from pickosim.bots.catalogue import bot_source, catalogue, class_name, describe
from pickosim.bots.loading import built_in_bots, load_bot
from pickosim.bots.view import METHODS
from pickosim.cli import run
from pickosim.commands.bots import bot_page, bots_table
from pickosim.errors import PickosimError

KINDS = pytest.mark.parametrize(
    "kind", [[], ["--simple"], ["--valuation"]], ids=["bot", "simple", "valuation"]
)


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def at_80_columns(*shown) -> str:
    console = Console(file=StringIO(), width=80, color_system=None)
    for one in shown:
        console.print(one)
    return console.file.getvalue()


# ---------------------------------------------------------------------------------------- a new bot


@KINDS
def test_a_new_bot_fulfils_the_contract(kind, tmp_path, executor):  # noqa: F811
    assert run(["new", "my_bot.py", *kind]) == 0
    assert wrong(findings(str(tmp_path / "my_bot.py"), executor)) == []


@KINDS
def test_a_new_bot_plays_a_tournament(kind, capsys):
    run(["new", "my_bot.py", *kind])
    other = "my_bot.py:rival=1" if "--valuation" in kind else "my_bot.py:dice=4"
    bots = ["my_bot.py", other, "eager", "random"]
    assert run(["tournament", *bots, "--games", "200", "--workers", "1"]) == 0
    standings = capsys.readouterr().out.split("\n\n")[1]
    assert all(f"\n{bot} " in standings for bot in bots)
    assert standings.splitlines()[-1].startswith("random")


@KINDS
def test_the_file_of_a_new_bot_lists_commands_that_run(kind, capsys, tmp_path):
    run(["new", "my_bot.py", *kind])
    printed, written = capsys.readouterr().out, (tmp_path / "my_bot.py").read_text()
    for command in ("watch my_bot.py eager", "check my_bot.py", "rank my_bot.py"):
        assert f"pickosim {command}" in printed
        assert f"pickosim {command}" in written


@KINDS
def test_a_file_is_only_overwritten_by_force(kind, capsys, tmp_path):
    path = tmp_path / "my_bot.py"
    path.write_text("mine")
    assert run(["new", "my_bot.py", *kind]) == 2
    assert "my_bot.py already exists; add --force to overwrite it." in capsys.readouterr().err
    assert path.read_text() == "mine"
    assert run(["new", "my_bot.py", *kind, "--force"]) == 0
    assert "class MyBot" in path.read_text()


@pytest.mark.parametrize(
    ("name", "valid"),
    [
        ("my-bot.py", "my_bot.py"),
        ("my_bot", "my_bot.py"),
        ("my_bot.txt", "my_bot.py"),
        ("my bot.py", "my_bot.py"),
        ("3d.py", "bot_3d.py"),
        ("class.py", "bot_class.py"),
        (".py", "my_bot.py"),
        ("bots/my-bot.py", "bots/my_bot.py"),
    ],
)
def test_an_invalid_file_name_is_refused_with_a_valid_one(name, valid, capsys, tmp_path):
    (tmp_path / "bots").mkdir()
    assert run(["new", name]) == 2
    assert f"e.g. {valid}." in capsys.readouterr().err
    assert run(["new", valid]) == 0
    assert load_bot(valid)


def test_a_missing_folder_is_named(capsys):
    assert run(["new", "nowhere/my_bot.py"]) == 2
    assert "nowhere/my_bot.py cannot be written: No such file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("my_bot.py", "MyBot"),
        ("myBot.py", "MyBot"),
        ("_bold__2.py", "Bold2"),
        ("_2.py", "Bot2"),
        ("_.py", "Bot"),
        ("none.py", "NoneBot"),
        ("strategy.py", "StrategyBot"),
        ("größe.py", "Größe"),
    ],
)
def test_the_class_is_named_after_the_file(file, name, tmp_path):
    path = tmp_path / file
    assert class_name(path) == name
    path.write_text(bot_source(path), encoding="utf-8")
    assert type(load_bot(str(path))).__name__ == name


# -------------------------------------------------------------------------------------------- check


def test_check_exits_with_1_for_a_broken_bot_and_2_for_wrong_usage(capsys, tmp_path):
    source = bot_source(tmp_path / "bad.py").replace("return turn.best(scores)", "return scores")
    (tmp_path / "bad.py").write_text(source)
    assert run(["check", "bad.py", "--json"]) == 1
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert [finding["point"] for finding in found if not finding["ok"]] == ["legal moves"]
    assert "Not tested because of what is wrong: nothing from outside; same seed" in printed.err
    assert "pick() returned shape" in found[0]["message"]
    assert "pickosim watch bad.py bad.py" in found[0]["message"]
    assert run(["check", "nobody"]) == 2
    assert 'no bot named "nobody"' in capsys.readouterr().err


def test_check_prints_every_point_says_what_is_odd_and_exits_with_0(capsys, tmp_path):
    source = bot_source(tmp_path / "my_bot.py")
    (tmp_path / "my_bot.py").write_text(source.replace("    dice: int = 3", "    dice = 3"))
    assert run(["check", "my_bot.py"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 13
    assert "games/s" in lines[-1]
    assert "(eager: " in lines[-1]
    odd = [line for line in lines if not line.startswith("ok     ")]
    assert odd == [
        "odd    parameters: dice is not a parameter without an annotation: write dice: int = 3"
    ]


# --------------------------------------------------------------------------------- which bots exist


def test_every_bot_has_a_summary_and_an_origin():
    bots = list(catalogue())
    assert [bot.name for bot in bots] == built_in_bots()
    for bot in bots:
        assert bot.summary.endswith("."), bot.name
        assert bot.origin, bot.name
        assert bot.source == "built-in"


def test_the_list_of_bots(capsys):
    assert run(["strategies"]) == 0
    listed = capsys.readouterr().out
    assert run(["strategies", "--json"]) == 0
    for bot in json.loads(capsys.readouterr().out):
        begin = listed.index(f"\n{bot['name']} ")
        entry = listed[begin : begin + 1000]
        assert bot["summary"] in entry
        assert f"from: {bot['origin']}" in entry
    assert "target=25, last_dice=2" in listed


def test_the_list_of_bots_at_80_columns():
    text = at_80_columns(*bots_table(catalogue()))
    assert max(map(len, text.splitlines())) <= 80
    for bot in catalogue():
        assert bot.summary in " ".join(text.split())


@pytest.mark.parametrize("name", built_in_bots())
def test_the_page_of_a_bot(name):
    bot = describe(name)
    text = " ".join(at_80_columns(*bot_page(bot)).split())
    assert " ".join(bot.text.split()) in text
    for parameter in bot.parameters:
        assert f"{parameter.name} {parameter.type} {parameter.default}" in text
    assert bot.file.endswith(f"strategies/{name.replace('-', '_')}.py")


def test_where_each_decision_is_defined():
    random, eager, expected = describe("random"), describe("eager"), describe("expected")
    assert set(random.decisions) == set(METHODS) - {"pick", "stop"}
    assert random.decisions["claim"] == "itself"
    assert random.decisions["use_golden_die"] == "default"
    assert set(eager.decisions.values()) == {"default"}
    assert expected.decisions["claim"] == "Valuation"
    assert expected.decisions["rob"] == "default"


def test_the_page_of_a_bot_from_a_file(capsys, tmp_path):
    (tmp_path / "odd.py").write_text('''"""A module."""
from typing import Literal
from pickosim import Strategy

class Odd(Strategy):
    """Is odd.

    As this says:

        pick one

    Origin: a friend,
    years ago.

    And more.
    """

    n: int
    mood: Literal["good", "bad"] = "good"

    def pick(self, turn): ...
    def stop(self, turn): ...
    def rob(self, turn): ...

class Bare(Strategy):
    x: float | None = None

    def pick(self, turn): ...
    def stop(self, turn): ...
''')
    assert run(["strategies", "show", "odd.py:Odd:n=1", "--json"]) == 0
    odd = json.loads(capsys.readouterr().out)
    assert (odd["summary"], odd["origin"]) == ("Is odd.", "a friend, years ago.")
    assert odd["parameters"] == [
        {"name": "n", "type": "int", "default": None, "required": True},
        {"name": "mood", "type": "Literal['good', 'bad']", "default": "good", "required": False},
    ]
    assert odd["decisions"]["rob"] == "itself"
    assert odd["source"] == odd["file"] == "odd.py"
    assert run(["strategies", "show", "odd.py:Odd:n=1"]) == 0
    assert "\n    pick one\n" in capsys.readouterr().out
    bare = describe("odd.py:Bare")
    assert (bare.summary, bare.origin) == ("A module.", "")
    assert run(["strategies", "show", "odd.py"]) == 2
    assert "several strategy classes" in capsys.readouterr().err


def test_bots_of_installed_packages_are_listed_also_when_one_does_not_load(
    tmp_path, monkeypatch, capsys
):
    path = tmp_path / "garden.py"
    path.write_text(bot_source(path))
    about = tmp_path / "garden-1.5.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: garden\nVersion: 1.5\n")
    bots = "gnome = garden:Garden\nghost = nowhere:Ghost"
    (about / "entry_points.txt").write_text(f"[pickosim.strategies]\n{bots}\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert run(["strategies"]) == 0
    listed = capsys.readouterr().out
    assert "in: garden 1.5" in listed
    assert "\ngnome " in listed
    assert "No module named 'nowhere'" in listed
    assert describe("gnome").source == "garden 1.5"
    with pytest.raises(PickosimError, match="nowhere"):
        describe("ghost")
