"""Progress callbacks of a run, a bar that they move, and how long the run will take."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Any

from pickosim.engine.kernels import on_compile


@dataclass
class Progress:
    """Functions that are called while a run is played."""

    begin: Callable[[int, int], object] = lambda games, later: None
    """A stage begins: how many games it adds, and how many later stages will, as far as that is known."""
    found: Callable[[int], object] = lambda games: None
    """Games that had been played before."""
    played: Callable[[int, Callable[[], str]], object] = lambda games, status: None
    """Games just played, and a function that returns the one-line status."""
    say: Callable[[str], object] = lambda sentence: None
    """What a person who waits may want to know, as a sentence."""


BAR: dict[str, Any] = {"unit": " games", "unit_scale": True, "smoothing": 0.1, "leave": False}
"""How bars look, for tqdm."""


LONG_RUN = 30.0
"""Seconds: for a run that takes longer, the time is estimated."""

FIRST_LOOK = 2.0
"""Seconds of play after which a run's speed is known well enough."""

SECOND_STAGE = 2


class Estimate:
    """How long the games to come will take, said once, when the first ones have been played.

    The clock starts with the first answer, as workers are started before it, and again whenever a kernel has been
    compiled. If later stages are known to come, it starts with the second stage and the estimate comes in the third: what a study does between
    stages counts too, such as the fit of a training.
    """

    def __init__(self) -> None:
        self.stages = 0
        self.began: float | None = None
        self.played = self.left = self.later = 0
        self.is_due = True

    def begin(self, games: int, later: int) -> None:
        """A stage begins."""
        self.stages += 1
        self.left += games
        self.later = later
        if later and self.stages == SECOND_STAGE:
            self.restart()

    def restart(self) -> None:
        """What took time so far says nothing about the games to come."""
        self.began, self.played = None, 0

    def after(self, games: int, now: float) -> str:
        """What to say after some more games; mostly nothing."""
        self.left -= games
        if self.began is None:
            self.began = now
            return ""
        self.played += games
        seconds = now - self.began
        too_soon = seconds < FIRST_LOOK or (self.later and self.stages <= SECOND_STAGE)
        if not self.is_due or too_soon:
            return ""
        self.is_due = False
        games_left = self.left + self.later
        left = games_left * seconds / self.played
        if left < LONG_RUN:
            return ""
        return f"The next {games_left:,} games take about {duration(left)}."


def duration(seconds: float) -> str:
    """A time in one unit, as people say it: 40 seconds, 12 minutes, 3.5 hours."""
    if seconds < 90:
        return f"{10 * round(seconds / 10)} seconds"
    if seconds < 90 * 60:
        return f"{round(seconds / 60)} minutes"
    hours = seconds / 3600
    return f"{hours:.1f} hours" if hours < 48 else f"{hours / 24:.0f} days"


@contextmanager
def progress_on(bar: Any, say: Callable[[str], object]) -> Iterator[Progress]:
    """The callbacks that move a bar of tqdm; if a run is long, a sentence says how long."""
    estimate, begun = Estimate(), 0

    def begin(games: int, later: int) -> None:
        nonlocal begun
        begun += games
        bar.total = begun + later
        bar.refresh()
        estimate.begin(games, later)

    def found(games: int) -> None:
        estimate.left -= games
        if not bar.disable:
            bar.initial += games  # what was played before does not count for the speed
        bar.update(games)

    def played(games: int, status: Callable[[], str]) -> None:
        if not bar.disable:
            bar.set_postfix_str(status(), refresh=False)
        bar.update(games)
        if sentence := estimate.after(games, monotonic()):
            say(sentence)

    with on_compile(estimate.restart):
        yield Progress(begin, found, played, say)


@contextmanager
def shown_progress(wanted: bool | Progress | None) -> Iterator[Progress]:
    """The callbacks that were wanted; with True, a bar in the notebook or the terminal."""
    if wanted is not True:
        yield wanted or Progress()
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # without ipywidgets it is a bar of text
        from tqdm.auto import tqdm
    with tqdm(**BAR) as bar, progress_on(bar, bar.write) as progress:
        yield progress
