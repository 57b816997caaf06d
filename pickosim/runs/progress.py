"""Progress callbacks of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


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
