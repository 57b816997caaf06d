"""The terminal: how commands print results and notes, and the bar while a run goes on.

Results go to standard output, notes to standard error; a pipe gets plain lines.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING, Any

from pickosim.errors import PickosimError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pickosim.runs.results import Results
    from pickosim.runs.run import Progress, Study
    from pickosim.runs.sums import Sums

UNBROKEN = 10_000
"""Width of a pipe: no line is broken in it."""


def show(*shown: RenderableType) -> None:
    """Print on standard output: laid out for the width of a terminal, as plain lines in a pipe."""
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False)
    if console.is_terminal:
        for one in shown:
            console.print(one)
        return
    console.width = UNBROKEN
    for one in shown:
        with console.capture() as captured:
            console.print(one)
        for line in captured.get().removesuffix("\n").split("\n"):
            print(line.rstrip())


def note(text: str) -> None:
    """Print on standard error."""
    print(text, file=sys.stderr)


def silence() -> None:
    """Nothing is left to flush at the end of the process."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def json_of(content: object) -> str:
    """Anything as JSON for a person to read; what JSON has no word for as text."""
    return json.dumps(content, indent=2, ensure_ascii=False, default=str)


@contextmanager
def compiling() -> Iterator[None]:
    """Say on standard error what takes so long if the kernels are not ready at once."""
    said = "Getting the engine ready; the first run compiles it, which takes up to 20 seconds …"
    timer = Timer(2.0, note, [said])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def progress_bar(study: Study | None = None) -> Iterator[Progress]:
    """A bar on standard error while a run goes on; nothing where there is no terminal to draw it on."""
    from tqdm import tqdm

    from pickosim.runs.run import Progress

    # What is done at once needs no bar.
    options: dict[str, Any] = {"unit_scale": True, "smoothing": 0.1, "delay": 0.5}
    with tqdm(unit=" games", leave=False, disable=None, **options) as bar:

        def begin(games: int) -> None:
            bar.total = (bar.total or 0) + games
            bar.refresh()

        def found(games: int) -> None:
            if not bar.disable:
                bar.initial += games  # what was played before does not count for the speed
            bar.update(games)

        def played(games: int, sums: Sequence[Sums]) -> None:
            if study is not None and not bar.disable:
                bar.set_postfix_str(study.news(sums), refresh=False)
            bar.update(games)

        yield Progress(begin, found, played)


def check_format(form: str) -> None:
    """Refuse a format that results are not printed in."""
    if form not in ("table", "json", "csv"):
        raise PickosimError(f'Results are printed as table, json or csv, not as "{form}".')


def show_results(results: Results, form: str) -> None:
    """The results on standard output, and where they are kept on standard error."""
    from pickosim.reports.result_words import as_csv, as_json, as_words

    check_format(form)
    if form == "json":
        print(json_of(as_json(results)))
    elif form == "csv":
        print(as_csv(results), end="")
    else:
        show(*as_words(results))
    result = results.manifest["result"]
    note(
        f"{result['games']:,} games, {result['unfinished']:,} unfinished (ended by the turn limit); "
        f"{results.manifest['games_per_second']:,} games/s. Tables in {results.folder}."
    )
