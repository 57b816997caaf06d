"""Progress callbacks of a run, and a bar that they move."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass
class Progress:
    """Functions that are called while a run is played."""

    begin: Callable[[int], object] = lambda games: None
    """A stage begins: how many games it adds."""
    found: Callable[[int], object] = lambda games: None
    """Games that had been played before."""
    played: Callable[[int, Callable[[], str]], object] = lambda games, status: None
    """Games just played, and a function that returns the one-line status."""
    say: Callable[[str], object] = lambda sentence: None
    """What a person who waits may want to know, as a sentence."""


BAR: dict[str, Any] = {"unit": " games", "unit_scale": True, "smoothing": 0.1, "leave": False}
"""How bars look, for tqdm."""


def progress_on(bar: Any, say: Callable[[str], object]) -> Progress:
    """The callbacks that move a bar of tqdm."""

    def begin(games: int) -> None:
        bar.total = (bar.total or 0) + games
        bar.refresh()

    def found(games: int) -> None:
        if not bar.disable:
            bar.initial += games  # what was played before does not count for the speed
        bar.update(games)

    def played(games: int, status: Callable[[], str]) -> None:
        if not bar.disable:
            bar.set_postfix_str(status(), refresh=False)
        bar.update(games)

    return Progress(begin, found, played, say)


@contextmanager
def shown_progress(given: bool | Progress | None) -> Iterator[Progress]:
    """The callbacks that were given; with True, a bar in the notebook or the terminal."""
    if given is not True:
        yield given or Progress()
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # without ipywidgets it is a bar of text
        from tqdm.auto import tqdm
    with tqdm(**BAR) as bar:
        yield progress_on(bar, bar.write)
