"""The run: a schedule played by workers, and merged in schedule order into small sums."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from joblib import Parallel, delayed

from pickosim.game import play_games
from pickosim.match import seat
from pickosim.rules import RuleSet, load_rules
from pickosim.schedule import Matchup, blocks_for, rotations, round_robin
from pickosim.stats import mean_interval
from pickosim.tables import win_shares

CHUNK = 1 << 15
"""Blocks that a worker plays at a time. Results do not depend on it."""


@dataclass(frozen=True)
class Standings:
    """How a tournament ended: one row a bot in `standings`, one a bot and matchup in `matchups`."""

    rules: RuleSet
    seed: int
    games: int
    unfinished: int
    standings: pl.DataFrame
    matchups: pl.DataFrame


def run_tournament(
    bots: Sequence[str],
    rules: str | RuleSet,
    players: int,
    games: int,
    seed: int,
    workers: int = 1,
) -> Standings:
    """A round robin, at least `games` games a matchup."""
    rule_set = load_rules(rules)
    matchups = round_robin(bots, players)
    for matchup in matchups:
        seat(
            matchup, rule_set, seed
        )  # a bot or table that cannot play is refused before the first game
    blocks = blocks_for(games, players)
    chunks = [
        (matchup, chunk)
        for number, matchup in enumerate(matchups)
        for chunk in _chunks(number * blocks, blocks)
    ]
    played = Parallel(n_jobs=workers)(
        delayed(_play_chunk)(matchup, rule_set, seed, chunk) for matchup, chunk in chunks
    )
    rows = pl.concat(
        [
            sums.insert_column(0, pl.Series("table", [" - ".join(m)] * len(m)))
            for (m, _), sums in zip(chunks, played, strict=True)
        ]
    )
    return Standings(
        rules=rule_set,
        seed=seed,
        games=blocks * players * len(matchups),
        unfinished=int(rows["unfinished"].sum()) // players,
        standings=_rates(rows, ["strategy"]).sort("win_share", descending=True),
        matchups=_rates(rows, ["table", "strategy"]),
    )


def _chunks(first: int, blocks: int) -> Iterator[range]:
    """The game numbers of a matchup's blocks, in pieces. No two matchups share dice: that makes their
    results independent, as the intervals over several matchups need it.
    """
    for start in range(first, first + blocks, CHUNK):
        yield range(start, min(start + CHUNK, first + blocks))


def _play_chunk(matchup: Matchup, rules: RuleSet, seed: int, blocks: range) -> pl.DataFrame:
    """Sums over some blocks of a matchup, one row a bot."""
    players = len(matchup)
    wins = np.zeros((len(blocks), players))
    scores = np.zeros((len(blocks), players))
    ranks = np.zeros((len(blocks), players))
    unfinished = 0
    for turned, seating in enumerate(rotations(matchup)):
        tally = play_games(seat(seating, rules, seed), blocks.start, len(blocks))
        # Bot b sits `turned` places further on in the matchup's own order.
        wins += np.roll(win_shares(tally), turned, axis=1)
        scores += np.roll(tally.score, turned, axis=1)
        ranks += np.roll(tally.rank, turned, axis=1)
        unfinished += int((~tally.finished).sum())
    wins /= players
    return pl.DataFrame(
        {
            "strategy": matchup,
            "blocks": [len(blocks)] * players,
            "games": [len(blocks) * players] * players,
            "wins": wins.sum(axis=0),
            "wins_squared": (wins**2).sum(axis=0),
            "scores": scores.sum(axis=0),
            "ranks": ranks.sum(axis=0),
            "unfinished": [unfinished] * players,
        }
    )


def _rates(rows: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Sums added up, and the rates they give with their intervals."""
    sums = rows.group_by(by, maintain_order=True).agg(pl.all().exclude(*by, "table").sum())
    intervals = [
        mean_interval(row["blocks"], row["wins"], row["wins_squared"])
        for row in sums.iter_rows(named=True)
    ]
    return sums.select(
        *by,
        "games",
        win_share=pl.col("wins") / pl.col("blocks"),
        win_share_low=pl.Series([max(0.0, low) for low, _ in intervals]),
        win_share_high=pl.Series([min(1.0, high) for _, high in intervals]),
        mean_score=pl.col("scores") / pl.col("games"),
        mean_rank=pl.col("ranks") / pl.col("games"),
    )
