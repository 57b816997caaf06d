"""Every command explains itself, in a pipe and in a terminal."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from pickosim import cli

PROGRAM = Path(sys.executable).with_name("pickosim")


def commands(command: Any, *names: str) -> Iterator[tuple[str, ...]]:
    """The names that lead to each command, groups of commands among them."""
    yield names
    for name, part in getattr(command, "commands", {}).items():
        yield from commands(part, *names, name)


cli._add_study_commands()
COMMANDS = list(commands(typer.main.get_command(cli.app)))


def test_all_commands_are_found():
    assert {(), ("tournament",), ("rules", "show"), ("strategies",)} <= set(COMMANDS)


@pytest.mark.parametrize("names", COMMANDS, ids=lambda names: " ".join(names) or "pickosim")
def test_help(names, capsys):
    assert cli.run([*names, "--help"]) == 0
    told = capsys.readouterr()
    assert told.err == ""
    assert told.out.split()[:2] == ["Usage:", "pickosim"]
    assert all(name in told.out for name in names)


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
    for word in ("Usage:", "--games", "--workers", "─"):
        assert word in told
