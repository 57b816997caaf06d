"""Commands in documents, and the output shown with them. `make shown` plays them again and writes what they print.

A command is an indented line that begins with `pickosim`. In a block marked `console` it follows `$`, and the lines
below it are what it prints. `<!-- not run: … -->` before a block leaves its commands out; `<!-- played smaller -->` says
that the output takes too long for a test, which then only runs the command.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from pickosim import cli

CHECKOUT = Path(__file__).parents[1]
SPEED = re.compile(r"[\d,]+ games/s.*|\(eager: [\d,]+\)")
"""Figures that depend on the machine."""


@dataclass(frozen=True)
class Command:
    """A command of a document; `shown` is the output below it, if there is any."""

    line: int
    text: str
    shown: tuple[str, ...] | None = None
    smaller: bool = False

    @property
    def words(self) -> list[str]:
        """What the program gets."""
        return shlex.split(self.text, comments=True)[1:]


def commands(text: str) -> Iterator[Command]:
    """The commands of a document that can be run."""
    lines = text.split("\n")
    note, fence = "", ""
    for number, line in enumerate(lines):
        if line.startswith("<!--"):
            note = line
        elif line.startswith("```"):
            fence = "" if fence else line.removeprefix("```")
            note = note if fence else ""
        elif line.startswith("#") and not fence:
            note = ""
        if "not run" in note:
            continue
        if fence == "console" and line.startswith("$ pickosim "):
            shown: list[str] = []
            for below in lines[number + 1 :]:
                if below.startswith(("```", "$ ")):
                    break
                shown.append(below)
            yield Command(number, line[2:], tuple(shown), "played smaller" in note)
        elif not fence and line.startswith("    pickosim "):
            yield Command(number, line.strip())


def printed(command: Command, more: list[str] | None = None) -> tuple[int, list[str], str]:
    """Run a command in this process: its exit code, the lines it prints, and its notes."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = cli.run([*command.words, *(more or [])])
    return code, out.getvalue().rstrip("\n").split("\n"), err.getvalue()


def comparable(lines: list[str] | tuple[str, ...]) -> list[str]:
    """Lines without figures that depend on the machine."""
    return [SPEED.sub("…", line).rstrip() for line in "\n".join(lines).rstrip("\n").split("\n")]


def write_files(text: str) -> None:
    """Write the bots that a document says are saved as a file."""
    for name, content in re.findall(
        r"Saved as `(\w+\.py)`:\n\n```python\n(.*?)```", text, re.DOTALL
    ):
        Path(name).write_text(content, encoding="utf-8")


def write_shown(page: Path) -> None:
    """Play the commands of a document whose output it shows, and write what they print."""
    text = page.read_text(encoding="utf-8")
    write_files(text)
    lines = text.split("\n")
    found = [command for command in commands(text) if command.shown is not None]
    outputs = [printed(command)[1] for command in found]
    for command, output in reversed(list(zip(found, outputs, strict=True))):
        assert command.shown is not None
        gap = [""] if command.shown and not command.shown[-1] else []
        lines[command.line + 1 : command.line + 1 + len(command.shown)] = [*output, *gap]
    page.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    pages = [Path(name).resolve() for name in sys.argv[1:]]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for one in pages:
            write_shown(one)
