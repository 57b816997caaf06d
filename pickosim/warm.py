"""Warming up: every kernel compiled, or loaded from the disk cache, before the clock or workers start."""

from __future__ import annotations

from pickosim.game import play_games
from pickosim.match import seat


def warm_up() -> None:
    """Play a few games that use every kernel of the engine."""
    for rules in ("manual", "extrawurm"):
        play_games(seat(["eager", "thief", "random", "gambler"], rules), 0, 32, follow_lead=True)
