"""Every command explains itself, in a pipe and in a terminal."""

from __future__ import annotations

import os
import pty
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pickosim import cli
from pickosim.commands.parameters import complete_bots, complete_rules, complete_runs

PROGRAM = Path(sys.executable).with_name("pickosim")


def commands(command: Any, *names: str) -> Iterator[tuple[str, ...]]:
    """The names that lead to each command, groups of commands among them."""
    yield names
    for name, part in getattr(command, "commands", {}).items():
        yield from commands(part, *names, name)


WHOLE = cli.whole_command()
WHOLE.commands |= {name: cli.command_named(name) for name in cli.COMMANDS}
COMMANDS = list(commands(WHOLE))


def test_all_commands_are_found():
    assert {(), ("tournament",), ("rules", "show"), ("strategies",)} <= set(COMMANDS)


@pytest.mark.parametrize("names", COMMANDS, ids=lambda names: " ".join(names) or "pickosim")
def test_help(names, capsys):
    assert cli.run([*names, "--help"]) == 0
    told = capsys.readouterr()
    assert told.err == ""
    assert told.out.split()[:2] == ["Usage:", "pickosim"]
    assert all(name in told.out for name in names)
    assert not re.search(r"<\w", told.out), "a Python type"
    assert not re.search(r"\w\.\.\.$", told.out, re.MULTILINE), "a description that does not fit"


@pytest.mark.parametrize("names", [(), ("rules", "show")], ids=" ".join)
def test_the_other_ways_to_ask_for_help(names, capsys):
    assert cli.run([*names, "--help"]) == 0
    told = capsys.readouterr().out
    assert cli.run([*names, "-h"]) == cli.run(["help", *names]) == 0
    assert capsys.readouterr().out == 2 * told


def test_the_list_of_commands_says_of_each_what_its_help_says():
    for name, (_, line) in cli.COMMANDS.items():
        assert WHOLE.commands[name].help.splitlines()[0].startswith(line.rstrip("."))


def part(names: tuple[str, ...]) -> Any:
    found = WHOLE
    for name in names:
        found = found.commands[name]
    return found


LEAVES = [names for names in COMMANDS if not hasattr(part(names), "commands")]


@pytest.mark.parametrize("names", LEAVES, ids=" ".join)
def test_examples_are_command_lines_that_the_command_takes(names, capsys):
    assert cli.run([*names, "--help"]) == 0
    _, _, shown = capsys.readouterr().out.partition("Examples:\n")
    examples = [line.strip() for line in shown.splitlines() if line.strip()]
    assert examples
    for example in examples:
        words = shlex.split(example)
        assert tuple(words[: 1 + len(names)]) == ("pickosim", *names)
        part(names).make_context(example, words[1 + len(names) :]).close()


def test_a_shell_completes_bots_rules_and_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("my_bot.py", "house.toml", "runs/a/manifest.json", "runs/b/manifest.json"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).touch()
    Path("runs/not-one").mkdir()
    assert complete_bots("ea") == ["eager"]
    assert complete_bots("eager,rand") == ["eager,random"]
    assert complete_bots("my") == ["my_bot.py"]
    assert complete_bots(f"{tmp_path}/m") == [f"{tmp_path}/my_bot.py"]
    assert complete_bots("al") == ["all"]
    assert complete_rules("extra") == ["extrawurm", "extrawurm-box"]
    assert complete_rules("hou") == ["house.toml"]
    assert complete_runs("runs/") == ["runs/a", "runs/b"]
    for begun, expected in (("compare classic --bots eag", "eager"), ("show runs/b", "runs/b")):
        environment = os.environ | {
            "_PICKOSIM_COMPLETE": "complete_bash",
            "COMP_WORDS": f"pickosim {begun}",
            "COMP_CWORD": str(len(begun.split())),
        }
        done = subprocess.run([PROGRAM], env=environment, capture_output=True, text=True)
        assert (done.stdout.split(), done.returncode) == ([expected], 0)


def test_help_in_a_terminal():
    """Laid out by other code than in a pipe, of another package."""
    master, slave = pty.openpty()
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "100"}
    done = subprocess.Popen(
        [PROGRAM, "tournament", "--help"], stdout=slave, stderr=slave, env=environment
    )
    os.close(slave)
    shown = b""
    try:
        while piece := os.read(master, 65536):
            shown += piece
    except OSError:  # the program has closed its side
        pass
    os.close(master)
    assert done.wait() == 0
    told = re.sub(r"\x1b\[[\d;]*m", "", shown.decode())
    for word in ("Usage:", "--games", "--workers", "─", "Examples:"):
        assert word in told
    assert "<" not in told
