"""The run: a schedule played by workers, and merged in schedule order into small sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import polars as pl
from joblib import Parallel, delayed

from pickosim.game import play_games
from pickosim.match import seat
from pickosim.rules import RuleSet, load_rules
from pickosim.schedule import Matchup, blocks_for, rotations, round_robin
from pickosim.stats import share_interval
from pickosim.tables import win_shares

CHUNK = 1 << 15
"""Blocks that a worker plays at a time. Results do not depend on it."""

PARTS = 420
"""Wins are counted in such parts: any number of players can share one, and sums are exact."""


@dataclass(frozen=True)
class Standings:
    """How a tournament ended.

    One row a bot in `standings`, one a bot and table in `matchups`, one a bot and rival in `pairs`: the
    share of games in which the bot finished `ahead` of that rival (ties count half), over all tables
    at which they met.
    """

    rules: RuleSet
    seed: int
    games: int
    unfinished: int
    standings: pl.DataFrame
    matchups: pl.DataFrame
    pairs: pl.DataFrame


def run_tournament(
    bots: Sequence[str],
    rules: str | RuleSet,
    players: int,
    games: int,
    seed: int,
    workers: int = 1,
    progress: Callable[[int], object] = lambda games: None,
) -> Standings:
    """A round robin, at least `games` games a matchup; `progress` is told how many have been played."""
    rule_set = load_rules(rules)
    matchups = checked_matchups(bots, rule_set, players, seed)
    blocks = blocks_for(games, players)
    chunks = [
        (matchup, chunk)
        for number, matchup in enumerate(matchups)
        for chunk in _chunks(number * blocks, blocks)
    ]
    results = Parallel(n_jobs=workers, return_as="generator")(
        delayed(_play_chunk)(matchup, rule_set, seed, chunk) for matchup, chunk in chunks
    )
    played = []
    for (_, chunk), result in zip(chunks, results, strict=True):
        played.append(result)
        progress(len(chunk) * players)
    rows, pairs = (pl.concat(frames) for frames in zip(*played, strict=True))
    return Standings(
        rules=rule_set,
        seed=seed,
        games=blocks * players * len(matchups),
        unfinished=int(rows["unfinished"].sum()) // players,
        standings=_rates(rows, ["strategy"]).sort(
            "win_share", descending=True, maintain_order=True
        ),
        matchups=_rates(rows, ["table", "strategy"]),
        pairs=_pair_rates(pairs),
    )


def checked_matchups(bots: Sequence[str], rules: RuleSet, players: int, seed: int) -> list[Matchup]:
    """Who meets whom; a bot or table that cannot play is refused before the first game."""
    matchups = round_robin(bots, players)
    for matchup in matchups:
        seat(matchup, rules, seed)
    return matchups


def _chunks(first: int, blocks: int) -> Iterator[range]:
    """The game numbers of a matchup's blocks, in pieces. No two matchups share dice: that makes their
    results independent, as the intervals over several matchups need it.
    """
    for start in range(first, first + blocks, CHUNK):
        yield range(start, min(start + CHUNK, first + blocks))


def _play_chunk(
    matchup: Matchup, rules: RuleSet, seed: int, blocks: range
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Sums over some blocks of a matchup: one row a bot, and one a bot and rival.

    They are sums of whole numbers (`wins` and `ahead` in PARTS), hence the same in any order.
    """
    players = len(matchup)
    wins, scores, ranks = (np.zeros((len(blocks), players)) for _ in range(3))
    ahead = np.zeros((len(blocks), players, players))
    unfinished = 0
    for turned, seating in enumerate(rotations(matchup)):
        tally = play_games(seat(seating, rules, seed), blocks.start, len(blocks))
        # Bot b sits `turned` places further on in the matchup's own order.
        rank = np.roll(tally.rank, turned, axis=1)
        wins += np.roll(np.rint(PARTS * win_shares(tally)), turned, axis=1)
        scores += np.roll(tally.score, turned, axis=1)
        ranks += rank
        ahead += PARTS / 2 * (1 + np.sign(rank[:, None, :].astype(float) - rank[:, :, None]))
        unfinished += int((~tally.finished).sum())
    table = " - ".join(matchup)
    common = {"table": table, "blocks": len(blocks), "games": len(blocks) * players}
    bots = pl.DataFrame(
        {
            "strategy": matchup,
            "wins": wins.sum(axis=0),
            "wins_squared": (wins**2).sum(axis=0),
            "scores": scores.sum(axis=0),
            "ranks": ranks.sum(axis=0),
        }
    ).with_columns(unfinished=unfinished, **{key: pl.lit(value) for key, value in common.items()})
    pairs = pl.DataFrame(
        [
            {
                "strategy": matchup[a],
                "rival": matchup[b],
                "ahead": ahead[:, a, b].sum(),
                "ahead_squared": (ahead[:, a, b] ** 2).sum(),
                **common,
            }
            for a, b in permutations(range(players), 2)
        ]
    )
    return bots, pairs


def _pair_rates(rows: pl.DataFrame) -> pl.DataFrame:
    """Shares of pairs over all tables, with their intervals."""
    by = ["strategy", "rival"]
    sums = _sums(rows, by)
    low, high = _intervals(rows, by, "ahead")
    return sums.select(*by, "games", ahead=_share("ahead"), ahead_low=low, ahead_high=high)


def _rates(rows: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Shares and means of bots, with the intervals of the shares."""
    sums = _sums(rows, by)
    low, high = _intervals(rows, by, "wins")
    return sums.select(
        *by,
        "games",
        win_share=_share("wins"),
        win_share_low=low,
        win_share_high=high,
        mean_score=pl.col("scores") / pl.col("games"),
        mean_rank=pl.col("ranks") / pl.col("games"),
    )


def _sums(rows: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Chunks or tables added up, in the order of their first."""
    return rows.group_by(by, maintain_order=True).agg(pl.all().exclude(*by, "table").sum())


def _share(name: str) -> pl.Expr:
    return pl.col(name) / (PARTS * pl.col("games"))


def _intervals(rows: pl.DataFrame, by: list[str], name: str) -> tuple[pl.Series, pl.Series]:
    """Intervals of shares over the blocks of each table."""
    most = PARTS * pl.col("games") / pl.col("blocks")
    tables = _sums(rows, list(dict.fromkeys(["table", *by]))).select(
        *by,
        group=pl.concat_list(
            pl.col("blocks").cast(pl.Float64),
            pl.col(name) / most,
            pl.col(f"{name}_squared") / most**2,
        ),
    )
    groups = tables.group_by(by, maintain_order=True).agg("group")["group"]
    found = [share_interval(group) for group in groups.to_list()]
    return pl.Series([low for low, _ in found]), pl.Series([high for _, high in found])
