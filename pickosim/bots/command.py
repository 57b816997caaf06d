"""Bots that are programs of their own, in any language: JSON lines over standard input and output.

`docs/protocol.md` describes every message.
"""

from __future__ import annotations

import json
import os
import re
import select
import socket
import subprocess
import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from hashlib import sha256
from keyword import iskeyword
from pathlib import Path
from shutil import which
from threading import RLock
from time import monotonic
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pickosim import __version__
from pickosim.bots import keeper
from pickosim.bots.digest import command_files, digest_of
from pickosim.bots.guard import time_limit
from pickosim.bots.memory import Memory, memory_of
from pickosim.bots.simple import ATTRIBUTES, entries
from pickosim.bots.strategy import Strategy, forwarded
from pickosim.bots.view import METHODS, NUMBERS, Turn
from pickosim.errors import AnswerError, BotError, suggest
from pickosim.rules import SPECIALISTS, RuleSet

TICK_MS = 200
"""Between two looks whether this process is to be interrupted; in other threads than the main one, nothing else shows."""

LAST_WORDS_SECONDS = 5
"""How long to wait for word on how a program ended."""

_SHOWN = 60
"""Characters of a program's output that errors quote."""


class Program:
    """A running program.

    It is ended when this object or this process is gone, however that happened: see `pickosim.bots.keeper`.
    """

    def __init__(self, words: Sequence[str]) -> None:
        ours, theirs = socket.socketpair()
        its_input, self._input = os.pipe()
        self._output, its_output = os.pipe()
        try:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", keeper.__file__, str(theirs.fileno()), *words],
                stdin=its_input,
                stdout=its_output,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,  # Ctrl-C is for this process, which then ends the program
            )
        except BaseException:
            os.close(self._input)
            os.close(self._output)
            ours.close()
            raise
        finally:
            theirs.close()
            os.close(its_input)
            os.close(its_output)
        self._lifeline = ours
        self._received = bytearray()
        for pipe in (self._input, self._output):
            os.set_blocking(pipe, False)
        self.end = weakref.finalize(self, _end, process, ours, self._input, self._output)
        """End the program: its input ends, and a second later it is killed."""

    def kill(self) -> None:
        """End the program at once."""
        with suppress(OSError):
            self._lifeline.send(b"!")
        self.end()

    def exchange(
        self,
        line: bytes,
        *,
        answered: bool = True,
        longest: int = 1 << 20,
        until: float | None = None,
    ) -> bytes:
        """Send a line, and return the line that comes back; the clock `monotonic` says until when it may.

        Writes and reads at the same time: neither side waits for the other to make room in a pipe.
        """
        received = self._received
        if received:
            raise AnswerError(f"printed more than one line for an answer: {quoted(received)}")
        unsent = memoryview(line + b"\n")
        searched = 0
        while True:
            if not unsent:
                if not answered:
                    return b""
                end = received.find(b"\n", searched)
                if end >= 0:
                    answer = bytes(received[:end])
                    del received[: end + 1]
                    return answer
                searched = len(received)
            if len(received) > longest:
                raise AnswerError(f"printed more than {longest:,} bytes: {quoted(received)}")
            if until is not None and monotonic() > until:
                raise TimeoutError
            unsent = self._step(unsent)

    def _step(self, unsent: memoryview) -> memoryview:
        """Write or read what can be without waiting, or wait a little; returns what is still unsent."""
        poll = select.poll()
        poll.register(self._output, select.POLLIN)
        if unsent:
            poll.register(self._input, select.POLLOUT)
        for pipe, _ in poll.poll(TICK_MS):
            if pipe == self._input:
                try:
                    unsent = unsent[os.write(pipe, unsent) :]
                except BlockingIOError:
                    pass
                except BrokenPipeError:  # it may have answered before; if not, its output ends soon
                    unsent = memoryview(b"")
            else:
                content = os.read(pipe, 1 << 20)
                if not content:
                    raise AnswerError(f"was not answered: the program {self._last_words()}")
                self._received += content
        return unsent

    def _last_words(self) -> str:
        """How the program ended."""
        self._lifeline.settimeout(LAST_WORDS_SECONDS)
        words = b""
        with suppress(OSError):
            while received := self._lifeline.recv(1024):
                words += received
        # If it could not be started, that comes first.
        return words.decode().strip().partition("\n")[0] or "closed its standard output"


def _end(process: subprocess.Popen[bytes], lifeline: socket.socket, *pipes: int) -> None:
    lifeline.close()
    for pipe in pipes:
        os.close(pipe)
    try:
        process.wait(keeper.GRACE + LAST_WORDS_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def quoted(text: bytes | bytearray | str) -> str:
    """The beginning of a program's output, for an error."""
    shown = text if isinstance(text, str) else bytes(text[: 4 * _SHOWN]).decode(errors="replace")
    line = shown.split("\n")[0]
    return repr(line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…")


PROTOCOL = 1
"""Version of the protocol; another one is refused."""

START_SECONDS = 30.0
"""Time that a program has to start and introduce itself."""

FIELDS = tuple(name for name, attribute in ATTRIBUTES.items() if attribute.rows == "n")
"""What a question can show of each game."""

MOST_RANDOMS = 64

_BYTES_PER_ANSWER = 64
_INTERPRETER = re.compile(r"(python|pypy|perl|ruby|node|deno|bun|lua|php|julia|bash|sh)[\d.]*")

Default = bool | int | float | str


@dataclass(frozen=True)
class Hello:
    """How a program introduces itself; the fields are those of its message."""

    protocol: int
    name: str
    description: str = ""
    methods: tuple[str, ...] = ("pick", "stop")
    """The methods that it answers; the others are left to the defaults."""
    fields: tuple[str, ...] = FIELDS
    """What it wants to be shown of every game."""
    reads: tuple[str, ...] | None = None
    """What it reads of a game, in place of `fields`: its answers are remembered by that."""
    randoms: int = 0
    """Random numbers per game and question."""
    parameters: Mapping[str, Default] = field(default_factory=dict)
    """Its parameters with their defaults."""

    @property
    def shown(self) -> tuple[str, ...]:
        """What a question shows of each game."""
        return self.fields if self.reads is None else self.reads


class Command(Strategy):
    """A bot that is a program; each has a class of its own, made from how the program introduces itself."""

    words: ClassVar[tuple[str, ...]] = ()
    """The program and its arguments."""
    hello: ClassVar[Hello]

    def __post_init__(self) -> None:
        self._program: Program | None = None
        self._process = 0
        self._begun: tuple[RuleSet, int] | None = None
        self._one_at_a_time = RLock()

    pick, stop = forwarded("pick"), forwarded("stop")

    def __reduce__(self) -> Any:
        return _again, (self.words, asdict(self))

    def _answers(self, method: str, turn: Turn) -> NDArray[Any]:
        """(n,): what the program answers, or has answered where it had read the same."""
        if self.hello.reads is not None and not self.hello.randoms:
            with memory_of(self, method, turn) as memory:
                if not memory.is_off:
                    return self._recalled(memory, method, turn)
        return self._asked(method, turn)

    def _recalled(self, memory: Memory, method: str, turn: Turn) -> NDArray[Any]:
        """(n,): answers from memory; the program is asked once about all games that are alike."""
        answers = memory.recall(memory.columns(turn), len(turn))
        unknown = np.flatnonzero(answers < 0)
        if len(unknown):
            few = turn._only(unknown)
            known = memory.reads
            reads = [name for name in self.hello.shown if name in known or hasattr(few, name)]
            columns = memory.extended(memory.columns(few), few, reads)
            first, which = _distinct(columns)
            new = self._asked(method, few._only(first))
            distinct = np.ascontiguousarray(columns[:, first])
            memory.remember(distinct, 0, reads, new.astype(np.int64))
            answers[unknown] = new[which]
        return answers.astype(_kind(method))

    def _asked(self, method: str, turn: Turn) -> NDArray[Any]:
        """(n,): what the program answers; after any mistake it is ended, and started anew for the next question."""
        with self._one_at_a_time:
            try:
                program = self._ready(turn)
                message = _line(question(self.hello, method, turn))
                longest = (1 << 16) + _BYTES_PER_ANSWER * len(turn)
                return answers_in(program.exchange(message, longest=longest), method, len(turn))
            except BaseException:
                if self._program is not None:
                    self._program.kill()
                self._program = None
                raise

    def _ready(self, turn: Turn) -> Program:
        """The program of this process, which knows the rules of the turn."""
        if self._program is None or self._process != os.getpid():
            self._program, self._process, self._begun = Program(self.words), os.getpid(), None
            if introduced(self._program) != self.hello:
                raise AnswerError("was not answered: the program introduces itself as another bot")
        if self._begun != (turn.rules, turn.players):
            self._begun = turn.rules, turn.players
            self._program.exchange(_line(beginning(turn, asdict(self))), answered=False)
        return self._program


# ---------------------------------------------------------------------------------------- messages


def greeting() -> dict[str, Any]:
    """The first message to a program."""
    return {"type": "hello", "protocol": PROTOCOL, "pickosim": __version__}


def beginning(turn: Turn, parameters: Mapping[str, Default]) -> dict[str, Any]:
    """The message before the first question, and again when rules or players change."""
    return {
        "type": "begin",
        "players": turn.players,
        "parameters": dict(parameters),
        "tiles": turn.tiles.tolist(),
        "tile_worms": turn.tile_worms.tolist(),
        "specialists": list(SPECIALISTS),
        "rules": turn.rules.as_dict(),
    }


def question(hello: Hello, method: str, turn: Turn) -> dict[str, Any]:
    """A question about the games of a turn, with the fields that the program wants and the method has."""
    asked: dict[str, Any] = {"type": "ask", "method": method, "seat": turn.seat, "games": len(turn)}
    for name in hello.shown:
        try:
            asked[name] = entries(turn, name)
        except AttributeError:  # it has no meaning in this method
            continue
    if hello.randoms:
        draws = [turn.random() for _ in range(hello.randoms)]
        asked["random"] = np.stack(draws, axis=1).tolist()
    return asked


def _distinct(columns: NDArray[np.uint32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Places of the different columns of (c, n), and for each of the n columns, which of these it equals."""
    if not len(columns):
        return np.zeros(1, np.int64), np.zeros(columns.shape[1], np.int64)
    _, first, which = np.unique(columns, axis=1, return_index=True, return_inverse=True)
    return first, which.ravel()


def _kind(method: str) -> type[np.generic]:
    """The type of the answers of a method."""
    return np.int64 if method in NUMBERS else np.bool_


def _line(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode()


def answers_in(line: bytes, method: str, games: int) -> NDArray[Any]:
    """(n,): the answers in a program's message, int64 or bool."""
    answers = _object(line).get("answers")
    if not isinstance(answers, list):
        raise AnswerError(f'printed {quoted(line)}, which has no list "answers"')
    if len(answers) != games:
        raise AnswerError(f"returned {len(answers):,} answers for {games:,} games")
    wanted: type = int if method in NUMBERS else bool
    if set(map(type, answers)) != {wanted}:
        wrong = next(answer for answer in answers if type(answer) is not wanted)
        what = "whole numbers" if wanted is int else "true or false"
        raise AnswerError(f"returned {json.dumps(wrong)}; its answers are {what}")
    try:
        return np.array(answers, _kind(method))
    except OverflowError:
        wrong = max(answers, key=abs)
        raise AnswerError(f"returned {quoted(str(wrong))}, which is no option") from None


def _object(line: bytes) -> dict[str, Any]:
    """A program's message; its own error, or one that is not an object in JSON, is raised."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        raise AnswerError(f"printed {quoted(line)}, which is not JSON") from None
    if not isinstance(message, dict):
        raise AnswerError(f"printed {quoted(line)}, which is not a JSON object")
    if "error" in message:
        raise AnswerError(f"answered with an error: {quoted(str(message['error']))}")
    return message


# ----------------------------------------------------------------------------------- introduction


def introduced(program: Program) -> Hello:
    """How a program introduces itself."""
    seconds = min(START_SECONDS, time_limit())
    try:
        line = program.exchange(_line(greeting()), until=monotonic() + seconds)
    except TimeoutError:
        raise AnswerError(f"has not introduced itself within {seconds:g} seconds") from None
    except AnswerError as error:
        raise AnswerError(str(error).removeprefix("was not answered: the program ")) from None
    hello = _object(line)
    for name in hello:
        if name not in Hello.__dataclass_fields__ and name != "type":
            known = Hello.__dataclass_fields__
            raise AnswerError(f'has an unknown field "{name}" in its hello{suggest(name, known)}')
    if "fields" in hello and "reads" in hello:
        raise AnswerError(
            'has both "fields" and "reads" in its hello; name what it reads in "reads"'
        )
    protocol = hello.get("protocol")
    if type(protocol) is not int or protocol != PROTOCOL:  # `true` equals 1
        raise AnswerError(
            f"speaks protocol {json.dumps(protocol)}; this pickosim speaks {PROTOCOL}"
        )
    optional = {"description": "A program of its own.", "randoms": 0, "parameters": {}}
    hello = {"name": None, **optional, **hello}
    return Hello(
        protocol=PROTOCOL,
        name=_part(hello, "name", "a text", _is_text),
        description=_part(hello, "description", "a text", _is_text),
        methods=_names(hello, "methods", METHODS, ("pick", "stop")),
        fields=_names(hello, "fields", FIELDS),
        reads=_names(hello, "reads", FIELDS) if "reads" in hello else None,
        randoms=_part(
            hello,
            "randoms",
            f"a whole number from 0 to {MOST_RANDOMS}",
            lambda value: type(value) is int and 0 <= value <= MOST_RANDOMS,
        ),
        parameters=_parameters(hello),
    )


def _part(hello: Mapping[str, Any], name: str, wanted: str, fits: Callable[[Any], bool]) -> Any:
    """A part of a hello, which must be as it is wanted."""
    value = hello[name]
    if not fits(value):
        raise AnswerError(f'needs {wanted} as "{name}" in its hello, not {json.dumps(value)}')
    return value


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _names(
    hello: Mapping[str, Any], what: str, known: tuple[str, ...], always: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """The names of a list in the hello, in our order; all of them if there is no such list."""
    names = hello.get(what, list(always or known))
    _part({what: names}, what, "a list", lambda value: isinstance(value, list))
    for name in names:
        if name not in known:
            raise AnswerError(
                f"has {json.dumps(name)} in its {what}{suggest(str(name), known) or ','} "
                f"(there are {', '.join(known)})"
            )
    return tuple(name for name in known if name in (*names, *always))


def _parameters(hello: Mapping[str, Any]) -> dict[str, Default]:
    defaults: dict[str, Default] = _part(
        hello, "parameters", "an object", lambda value: isinstance(value, dict)
    )
    for name, default in defaults.items():
        if not name.isidentifier() or iskeyword(name) or name[0] == "_" or hasattr(Command, name):
            raise AnswerError(f"has a parameter {json.dumps(name)}, which is not a possible name")
        if not isinstance(default, Default):
            raise AnswerError(
                f"has {json.dumps(default)} as the default of {name}; "
                "it can be a number, a text, true or false"
            )
    return defaults


# --------------------------------------------------------------------------------------- the class


def command_class(words: tuple[str, ...]) -> type[Command]:
    """The class of bots that run a command, which is started once to introduce itself."""
    if os.name != "posix":
        raise BotError("programs as bots need Linux, macOS or another POSIX system")
    _check_program(words)
    return _class_then(words, str(Path.cwd()), digest_of(command_files(words)))


def _check_program(words: tuple[str, ...]) -> None:
    program = words[0]
    if len(words) == 1 and _INTERPRETER.fullmatch(Path(program).name):
        # It would wait for a program on its standard input.
        raise BotError(
            f"it names no file: put the whole command in quotes, e.g. 'cmd:{program} my_bot'"
        )
    if which(program) is not None:
        return
    if os.sep not in program and not Path(program).is_file():
        raise BotError(f'there is no program "{program}"')
    if not Path(program).exists():
        raise BotError(f"there is no file {program}")
    if Path(program).is_dir():
        raise BotError(f"{program} is a folder")
    here = program if os.sep in program else f"./{program}"
    if os.access(program, os.X_OK):
        raise BotError(f"it is in this folder and not on the PATH; write cmd:{here}")
    raise BotError(f"it is not executable; try `chmod +x {program}`, then cmd:{here}")


@lru_cache(maxsize=1024)
def _class_then(words: tuple[str, ...], _folder: str, _files: str) -> type[Command]:
    program = Program(words)
    try:
        hello = introduced(program)
    finally:
        program.kill()
    optional = [method for method in hello.methods if method not in vars(Command)]
    members: dict[str, Any] = {method: forwarded(method) for method in optional}
    members |= {
        "__doc__": hello.description,
        # No module: its code is not in any that a traceback could show.
        "__module__": "pickosim_command_" + sha256(repr(words).encode()).hexdigest()[:16],
        "__annotations__": {name: type(value) for name, value in hello.parameters.items()},
        "words": words,
        "hello": hello,
        **hello.parameters,
    }
    return type("Program", (Command,), members)


def _again(words: tuple[str, ...], parameters: Mapping[str, Default]) -> Command:
    """A bot from another process."""
    return command_class(words)(**parameters)
