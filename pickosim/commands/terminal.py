"""The terminal: how commands print results and notes, and the bar while a run is played.

Results go to standard output, notes to standard error; a pipe gets plain lines. Control characters in names and texts,
which may come from anybody's files, are shown and not obeyed. Characters that the encoding of the output lacks are
written in ASCII.
"""

from __future__ import annotations

import codecs
import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import is_dataclass, replace
from functools import cache
from shutil import get_terminal_size
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal, TypeVar

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    from pickosim.runs.progress import Progress
    from pickosim.runs.run import Results

T = TypeVar("T")

Form = Literal["text", "full", "json", "csv"]
"""How results are printed."""

UNBROKEN = 10_000
"""Width of a pipe: no line is broken in it."""


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""What a terminal obeys, except the ends of lines and tabs."""


def visible(text: str) -> str:
    """Text with its control characters written out, as in Python."""
    return _CONTROL.sub(lambda sign: f"\\x{ord(sign[0]):02x}", text)


class _Visible:
    """Something shown, without the control characters in its texts."""

    def __init__(self, shown: RenderableType) -> None:
        self.shown = shown

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        from rich.segment import Segment

        for text, style, control in console.render(self.shown, options):
            yield Segment(text if control else visible(text), style, control)


def show(*shown: RenderableType) -> None:
    """Print on standard output: laid out for the width of a terminal, as plain lines in a pipe."""
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False)
    if console.is_terminal:
        for part in shown:
            console.print(_Visible(part))
        return
    console.width = UNBROKEN
    for part in shown:
        with console.capture() as captured:
            console.print(_Visible(part))
        for line in captured.get().removesuffix("\n").split("\n"):
            print(line.rstrip())


IN_ASCII = {
    "·": "-",
    "±": "+-",
    "×": "x",
    "≤": "<=",
    "≥": ">=",
    "…": "...",
    "→": "->",
    "–": "-",
    "─": "-",
    "│": "|",
    "┼": "+",
    "●": "*",
    "°": "*",
    **dict.fromkeys("▏▎▍", "."),
    **dict.fromkeys("▌▋▊▉█", "#"),
}
"""Our signs that encodings such as Latin-1 and code page 1252 lack."""


def write_any_character() -> None:
    """Let no character stop the output, whatever the encoding of the streams."""
    codecs.register_error("pickosim", _instead)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="pickosim")


def _instead(error: UnicodeError) -> tuple[str, int]:
    """What is written for characters that an encoding lacks: ASCII signs, or the character's code."""
    assert isinstance(error, UnicodeEncodeError)
    return "".join(map(_ascii, error.object[error.start : error.end])), error.end


def _ascii(sign: str) -> str:
    if "\udc80" <= sign <= "\udcff":  # a byte of a file name that is not UTF-8
        return f"\\x{ord(sign) - 0xDC00:02x}"
    return IN_ASCII.get(sign) or sign.encode("ascii", "backslashreplace").decode()


def note(text: str) -> None:
    """Print on standard error; a terminal gets lines that are broken between words."""
    width = get_terminal_size((UNBROKEN, 0)).columns if sys.stderr.isatty() else UNBROKEN
    for line in visible(text).split("\n"):
        print(fill(line, width, break_long_words=False, break_on_hyphens=False), file=sys.stderr)


def open_descriptors() -> None:
    """Open input, output and errors if they are closed: other files would take their numbers, and get what is printed."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", closefd=False)


def keep_for_results() -> None:
    """Keep standard output for results: a process that a bot starts, and the like, write to standard error."""
    out = sys.stdout
    if out is None or sys.stderr is None:
        return
    try:
        kept = os.dup(out.fileno())
        os.dup2(sys.stderr.fileno(), out.fileno())
    except (OSError, ValueError):  # not files of this process
        return
    buffering = 1 if os.isatty(kept) else -1
    sys.stdout = os.fdopen(kept, "w", buffering, out.encoding, out.errors)


def silence() -> None:
    """Leave nothing to flush at the end of the process."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def json_of(content: object, indent: int | None = 2) -> str:
    """Anything as indented JSON; what JSON has no type for as text."""
    text = json.dumps(content, indent=indent, ensure_ascii=False, default=_plain)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(content, indent=indent, default=_plain)
    # The only control characters that JSON does not escape.
    return re.sub(r"[\x7f-\x9f]", lambda sign: f"\\u{ord(sign[0]):04x}", text)


def _plain(value: Any) -> object:
    return vars(value) if is_dataclass(value) else str(value)


def show_or_json(as_json: bool, content: T, text: Callable[[T], Iterable[RenderableType]]) -> None:
    """Print something as JSON, or as text."""
    if as_json:
        print(json_of(content))
    else:
        show(*text(content))


@contextmanager
def compiling() -> Iterator[None]:
    """Say on standard error what takes so long if kernels must be compiled first."""
    from pickosim.engine.kernels import on_compile

    with on_compile(_say_compiling):
        yield


@cache
def _say_compiling() -> None:
    """Said before the first kernel of a process only."""
    note("Compiling kernels on their first use; this takes up to 20 seconds …")


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """A bar on standard error while a run is played; nothing where there is no terminal to draw it on."""
    from tqdm import tqdm

    from pickosim.runs.progress import BAR, progress_on

    # What is done at once needs no bar.
    with tqdm(disable=None, delay=0.5, **BAR) as bar:

        def say(sentence: str) -> None:
            bar.clear()
            note(sentence)

        with progress_on(bar, say) as callbacks:
            yield replace(
                callbacks,
                played=lambda games, status: callbacks.played(games, lambda: visible(status())),
            )


def show_results(results: Results, form: Form) -> None:
    """The results on standard output, and where they are kept on standard error."""
    from pickosim.reports.views import about_the_rest, as_json, as_text, main_table

    if form == "json":
        print(json_of(as_json(results)))
    elif form == "csv":
        print_csv(main_table(results))
    else:
        show(*as_text(results, full=form == "full"))
    speed = results.manifest["games_per_second"]
    ended = (
        f", {results.unfinished:,} of them ended by the turn limit" if results.unfinished else ""
    )
    per_second = f"; {speed:,} games/s" if speed else ""
    note(f"{results.games_played:,} games{ended}{per_second}. Tables in {results.folder}.")
    if form == "text" and (more := about_the_rest(results)):
        note(more)


def show_table(results: Results, name: str, form: Form) -> None:
    """One table of a run on standard output."""
    from pickosim.reports.views import table_of, table_text
    from pickosim.runs.folder import records

    if form == "json":
        print(json_of(records(table_of(results, name))))
    elif form == "csv":
        print_csv(table_of(results, name))
    else:
        show(table_text(results, name))


def print_csv(table: pl.DataFrame) -> None:
    """Print a table as CSV, in a file without control characters as well: someone will look at it."""
    print(visible(table.write_csv()), end="")
