"""Traces of many games at once, for tests that compare them with something else."""

from __future__ import annotations

from itertools import groupby

from pickosim.engine import log
from pickosim.games.batch import Batch
from pickosim.games.match import Match
from pickosim.games.trace import Event, events_of


def trace_games(match: Match, first: int, games: int, *, check: bool = False) -> list[list[Event]]:
    """The traces of games `first` to `first + games - 1` of a match.

    With `check`, a test after every turn makes sure that everything is in exactly one place.
    """
    batch = Batch(match, first, games, log=log.new_log(room=True), check=check)
    tally = batch.play()
    by_game = groupby(log.events(batch.log).tolist(), key=lambda row: row[0])
    return [events_of(match, first + entry, list(rows), tally, entry) for entry, rows in by_game]


def trace_game(match: Match, game: int) -> list[Event]:
    """The trace of one game of a match."""
    return trace_games(match, game, 1)[0]
