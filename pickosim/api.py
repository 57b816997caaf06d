"""What notebooks call: everything the command line does, in a line or two, as polars frames."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from pickosim.bench import run_bench
from pickosim.game import play_games
from pickosim.match import check_numbers, seat
from pickosim.rules import RuleSet
from pickosim.run import Standings, run_tournament
from pickosim.strategy import Strategy
from pickosim.tables import Played
from pickosim.trace import Event, trace_game


def play(
    bots: Sequence[str | Strategy],
    rules: str | RuleSet = "classic",
    games: int = 10_000,
    seed: int = 0,
    first: int = 0,
) -> Played:
    """Play games between bots, seated in this order (seat 0 begins), numbered from `first`."""
    match = seat(bots, rules, seed)
    check_numbers(first, games)
    return Played(match, first, play_games(match, first, games))


def watch(
    bots: Sequence[str | Strategy],
    rules: str | RuleSet = "classic",
    seed: int = 0,
    game: int = 0,
) -> list[Event]:
    """Every event of one game, the same game that a batch with that seed plays as that number."""
    return trace_game(seat(bots, rules, seed), game)


def tournament(
    bots: Sequence[str],
    rules: str | RuleSet = "classic",
    players: int = 2,
    games: int = 10_000,
    seed: int = 0,
    workers: int = 1,
) -> Standings:
    """A round robin of bots, at least `games` games a matchup, every bot in every seat equally often."""
    return run_tournament(bots, rules, players, games, seed, workers)


def benchmark(seconds: float = 2.0) -> pl.DataFrame:
    """Games a second on this machine, one row a case."""
    return pl.DataFrame(run_bench(seconds))
