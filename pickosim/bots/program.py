"""A program that answers lines with lines, over its standard input and output."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
import weakref
from collections.abc import Sequence
from contextlib import suppress
from time import monotonic

from pickosim.bots import keeper
from pickosim.errors import AnswerError

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

    def tell(self, line: bytes) -> None:
        """Send a line that has no answer."""
        self._exchange(line, answered=False, longest=1 << 20, until=None)

    def ask(self, line: bytes, longest: int, until: float | None = None) -> bytes:
        """Send a line, and return the line that comes back; the clock `monotonic` says until when it may."""
        return self._exchange(line, answered=True, longest=longest, until=until)

    def _exchange(self, line: bytes, *, answered: bool, longest: int, until: float | None) -> bytes:
        """Write and read at the same time: neither side waits for the other to make room in a pipe."""
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
                some = os.read(pipe, 1 << 20)
                if not some:
                    raise AnswerError(f"was not answered: the program {self._last_words()}")
                self._received += some
        return unsent

    def _last_words(self) -> str:
        """How the program ended."""
        self._lifeline.settimeout(LAST_WORDS_SECONDS)
        said = b""
        try:
            while some := self._lifeline.recv(1024):
                said += some
        except OSError:
            pass
        # If it could not be started, that was said first.
        return said.decode().strip().partition("\n")[0] or "closed its standard output"


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
