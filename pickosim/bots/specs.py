"""The parts of a bot's spec: `threshold:target=25`, `my_bot.py:MyBot:target=25`, `cmd:./my_bot:target=25`."""

from __future__ import annotations

import re
import shlex

from pickosim.errors import BotError

COMMAND = "cmd:"
"""Begins the spec of a bot that is a program of its own."""

_QUOTED = r"\"[^\"]*\"|'[^']*'|\\."

_WITH_PARAMETERS = re.compile(rf"(cmd:(?:{_QUOTED}|[^\"'\\])*):(\s*\w+\s*=[^:\"']*)", re.DOTALL)


def parts_of(spec: str) -> list[str]:
    """The parts that colons separate; a command is one part, whatever colons are in it.

    The parameters of a command come after its last colon outside of quotes, if that looks like parameters.
    """
    if not is_command(spec):
        return spec.split(":")
    found = _WITH_PARAMETERS.fullmatch(spec)
    return [found[1], found[2]] if found else [spec]


def is_command(spec: str) -> bool:
    """Whether a spec names a program."""
    return spec.startswith(COMMAND)


def is_file(spec: str) -> bool:
    """Whether a spec names a Python file, not a bot that is built in or installed, nor a program."""
    return not is_command(spec) and parts_of(spec)[0].endswith(".py")


def command_of(spec: str) -> tuple[str, ...]:
    """The words of a command: the program and its arguments."""
    try:
        words = tuple(shlex.split(parts_of(spec)[0].removeprefix(COMMAND)))
    except ValueError as error:
        raise BotError(
            f"{spec}: the command has an open quote or a backslash at its end."
        ) from error
    if not words:
        raise BotError(f"{spec}: name the program after {COMMAND}, e.g. {COMMAND}./my_bot.")
    return words
