"""The guard around a bot's code: a time limit, no exit from the process, no output among the results.

A thread counts how long each call takes. One that takes too long is interrupted; if it cannot be, the process is ended
with a sentence. What a bot prints goes to standard error. `os._exit` raises an exception instead.
"""

from __future__ import annotations

import ctypes
import dis
import linecache
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import get_ident
from traceback import walk_tb
from types import FrameType
from typing import Any, NoReturn

from pickosim.bots.digest import is_engine, is_installed
from pickosim.errors import PickosimError

ANSWER_SECONDS: float = 300
"""Time for one answer, about up to 16,384 games at once: more than any bot needs that is worth waiting for."""

GAME_SECONDS: float = 120
"""Time for one answer about a single game, or few; compiling kernels on their first use counts."""

MOST_SECONDS = 1_000_000
"""The longest time limit, eleven days."""

_TICKS = 8
"""Steps in which the time limit is counted: a process that was stopped for a while has not used it up."""

_LAST_TICKS = 3
"""Steps that an interrupted call has to end."""

_RAISE = dis.opmap["RAISE_VARARGS"]


class Expired(BaseException):
    """Raised inside a bot that took too long; not an Exception, so that few bots catch it."""


class Guard:
    """A context in which a bot's code runs; `what` says what to print if the process has to be ended."""

    ticks = 0
    """Steps of the time limit that have passed."""
    expired = False
    """Whether the call was interrupted because it took too long."""
    closed_output = False
    """Whether the real standard output was closed."""

    def __init__(
        self, what: Callable[[], str], opens: Callable[[str], object] | None = None
    ) -> None:
        self.what = what
        self.opens = opens
        """Called with the path of every file that is opened for reading."""

    def __enter__(self) -> Guard:
        if not _watchdog.running:
            _watchdog.start()
        out: Any = sys.stdout
        if out is _aside:
            out = _aside.covers
        self.out = _aside.covers = out
        sys.stdout = _aside
        self.thread = thread = get_ident()
        self.outer = _calls.get(thread)
        _calls[thread] = self
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            self._leave()
        except BaseException:  # interrupted in here; that happens only once
            self._leave()
            raise
        if self.expired and error is None:
            _raise_in(get_ident(), None)  # take back an exception that has not been raised yet
            raise Expired

    def _leave(self) -> None:
        if self.outer is None:
            _calls.pop(self.thread, None)
        else:
            _calls[self.thread] = self.outer
        if self.ticks > _TICKS:
            # The watchdog holds the lock while it interrupts this thread; it will not do so from now on.
            with _lock:
                pass
        sys.stdout = out = self.out
        if getattr(out, "closed", False):
            self.closed_output = True


@contextmanager
def guarded(
    what: Callable[[], str],
    explained: Callable[[BaseException, bool], BaseException],
    opens: Callable[[str], object] | None = None,
) -> Iterator[Guard]:
    """Run code of a bot; what it raises becomes the error that explains it, if its time was over or not."""
    guard = Guard(what, opens)
    try:
        with guard:
            yield guard
    except BaseException as error:
        if not (guard.expired or is_from_bot(error)):
            raise
        explanation = explained(error, guard.expired)
        if explanation is error:
            raise
        raise explanation from error


_calls: dict[int, Guard] = {}
"""The innermost call of a bot under way, by thread."""

_lock = threading.Lock()


def _see_opened(event: str, details: tuple[Any, ...]) -> None:
    """Show the call of a bot under way which files are opened in it."""
    if event != "open":
        return
    call = _calls.get(get_ident())
    path, _, flags = details
    if call and call.opens and isinstance(path, str | bytes) and not flags & os.O_WRONLY:
        call.opens(os.fsdecode(path))


# ------------------------------------------------------------------------------------- the time limit


class _Watchdog:
    """The thread that counts how long calls take."""

    def __init__(self) -> None:
        self.seconds = ANSWER_SECONDS
        self.changed = threading.Event()
        self.running = False

    def start(self) -> None:
        """Start the thread."""
        self.running = True
        if os._exit is _real_exit:
            _wrap_exits()
            sys.addaudithook(_see_opened)
        threading.Thread(target=self.watch, name="pickosim time limit", daemon=True).start()

    def watch(self) -> None:
        """Count, until the process ends."""
        while True:
            if self.changed.wait(self.seconds / _TICKS):
                self.changed.clear()
                continue
            for thread, innermost in list(_calls.items()):
                call: Guard | None = innermost
                while call is not None:
                    self.count(thread, innermost, call)
                    call = call.outer

    def count(self, thread: int, innermost: Guard, call: Guard) -> None:
        """One step more of a call; it is interrupted when its time is over."""
        call.ticks += 1
        with _lock:
            if _calls.get(thread) is not innermost:
                return
            if call.ticks == _TICKS + 1:
                call.expired = True
                _interrupt(thread)
            elif call.ticks == _TICKS + 1 + _LAST_TICKS:
                sentence = f"{call.what()}, and does not stop; this process is ended."
                os.write(2, f"pickosim: {sentence}\n".encode())
                _real_exit(2)


_watchdog = _Watchdog()


def check_seconds(seconds: float) -> float:
    """Refuse a time limit that is not a positive number of seconds, or more than the system can wait."""
    if not 0 < seconds <= MOST_SECONDS:
        raise PickosimError(
            f"The seconds for an answer are a number above 0, at most {MOST_SECONDS:,}, not {seconds:g}."
        )
    return seconds


def set_answer_seconds(seconds: float) -> None:
    """Set the time limit of this process for every answer."""
    if _watchdog.seconds != seconds:
        _watchdog.seconds = seconds
        _watchdog.changed.set()


@contextmanager
def answer_seconds(seconds: float) -> Iterator[None]:
    """Another time limit for a while."""
    before = _watchdog.seconds
    set_answer_seconds(seconds)
    try:
        yield
    finally:
        set_answer_seconds(before)


def time_limit() -> float:
    """Seconds for an answer."""
    return _watchdog.seconds


def _interrupt(thread: int) -> None:
    """Raise an exception in a thread: in the main thread like Ctrl-C, which ends a sleep, too."""
    is_main = thread == threading.main_thread().ident
    if is_main and hasattr(signal, "pthread_kill") and callable(signal.getsignal(signal.SIGINT)):
        signal.pthread_kill(thread, signal.SIGINT)
    else:
        _raise_in(thread, ctypes.py_object(Expired))


def _raise_in(thread: int, kind: Any) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), kind)


# ------------------------------------------------------------------------- exits and standard output

_real_exit, _real_abort = os._exit, os.abort


def _wrap_exits() -> None:
    """Let `os._exit` and `os.abort` raise an exception while a bot runs in this thread."""

    def exit_(status: int) -> NoReturn:
        if get_ident() in _calls:
            raise SystemExit(f"os._exit({status!r})")
        _real_exit(status)

    def abort() -> NoReturn:
        if get_ident() in _calls:
            raise SystemExit("os.abort()")
        _real_abort()

    os._exit, os.abort = exit_, abort
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_forget)


def _forget() -> None:
    """A process that a bot has forked may exit, and has no watchdog yet."""
    _calls.clear()
    _watchdog.running = False


class _Aside:
    """Stands for standard output while a bot runs: what it prints goes to standard error."""

    covers: Any = None
    """The real standard output."""
    printed = 0
    """How often something was written."""
    is_muted = False

    def write(self, text: str) -> int:
        self.printed += 1
        return len(text) if sys.stderr is None or self.is_muted else sys.stderr.write(text)

    def flush(self) -> None:
        if sys.stderr is not None:
            sys.stderr.flush()

    def close(self) -> NoReturn:
        raise OSError("a bot must not close standard output")

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr, name)


_aside: Any = _Aside()


@contextmanager
def muted() -> Iterator[None]:
    """Drop what bots print for a while."""
    before = _aside.is_muted
    _aside.is_muted = True
    try:
        yield
    finally:
        _aside.is_muted = before


def times_printed() -> int:
    """How often bots have printed something in this process."""
    printed: int = _aside.printed
    return printed


# ----------------------------------------------------------------------- where an exception comes from


def is_from_bot(error: BaseException) -> bool:
    """Whether a bot raised an exception itself; if not, it is e.g. Ctrl-C, which happened to come during its call."""
    if isinstance(error, Exception):
        return True
    last = error.__traceback__
    if last is None or isinstance(error, Expired):
        return False
    while last.tb_next is not None:
        last = last.tb_next
    path = last.tb_frame.f_code.co_filename
    if isinstance(error, KeyboardInterrupt):
        raises = last.tb_frame.f_code.co_code[last.tb_lasti] == _RAISE
        return raises and _is_bots(path)
    return path == __file__ or not is_engine(Path(path))


def place_in_bot(error: BaseException, kind: type) -> str:
    """The place in a bot's file where an exception arose, e.g. `my_bot.py, line 12: return 1 / 0`; or nothing."""
    home = getattr(sys.modules.get(kind.__module__), "__file__", None)
    place = ""
    for frame, number in walk_tb(error.__traceback__):
        path = frame.f_code.co_filename
        if path == home or _is_bots(path):
            line = linecache.getline(path, number, frame.f_globals).strip()
            place = f"{path}, line {number}" + (f": {line}" if line else "")
    return place


def in_bot(frame: FrameType | None) -> bool:
    """Whether a frame runs code of a bot."""
    return frame is not None and _is_bots(frame.f_code.co_filename)


@cache
def _is_bots(path: str) -> bool:
    """Whether a file is neither part of the engine nor of Python and its packages."""
    if path.startswith(("<frozen", "<__array_function__")):
        return False
    return not (is_engine(Path(path)) or is_installed(Path(path)))
