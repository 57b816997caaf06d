"""The tables of a tournament, from its sums: every rate with its interval and its number of games."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import permutations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pickosim.rules import SPECIALISTS
from pickosim.runs.sums import Sums
from pickosim.stats.moments import (
    Moments,
    RatioMoments,
    ratio_interval,
    share_interval,
    share_superiority,
    stratified_mean,
)
from pickosim.stats.ratings import Ratings, rate
from pickosim.studies.schedule import Matchup
from pickosim.studies.table_rows import Row, rates
from pickosim.studies.tournament_sums import PARTS

ALL_BOTS = "(all)"
"""Stands for the strategy where all of them are counted together."""

_Share = {"win_share": pl.Float64, "win_share_low": pl.Float64, "win_share_high": pl.Float64}
_Score = {"mean_score": pl.Float64, "mean_score_low": pl.Float64, "mean_score_high": pl.Float64}

SCHEMAS: dict[str, dict[str, Any]] = {
    "standings": {
        "strategy": pl.String,
        "games": pl.Int64,
        **_Share,
        **_Score,
        "mean_rank": pl.Float64,
        "rating": pl.Float64,
        "rating_error": pl.Float64,
        "rating_field": pl.Int32,
    },
    "matchups": {
        "table": pl.Int32,
        "bots": pl.String,
        "strategy": pl.String,
        "games": pl.Int64,
        **_Share,
        **_Score,
        "mean_rank": pl.Float64,
    },
    "pairs": {
        "strategy": pl.String,
        "rival": pl.String,
        "games": pl.Int64,
        "ahead": pl.Float64,
        "ahead_low": pl.Float64,
        "ahead_high": pl.Float64,
        "superiority": pl.Float64,
        "score_difference": pl.Float64,
        "score_difference_low": pl.Float64,
        "score_difference_high": pl.Float64,
    },
    "seats": {
        "strategy": pl.String,
        "seat": pl.Int32,
        "games": pl.Int64,
        **_Share,
        **_Score,
    },
    "specialists": {
        "strategy": pl.String,
        "specialist": pl.String,
        "games": pl.Int64,
        "gained": pl.Float64,
        "turns_held": pl.Float64,
        "used": pl.Float64,
        "held_at_end": pl.Float64,
        "held_at_end_low": pl.Float64,
        "held_at_end_high": pl.Float64,
        "games_held": pl.Int64,
        "win_share_held": pl.Float64,
        "win_share_held_low": pl.Float64,
        "win_share_held_high": pl.Float64,
    },
    "lengths": {"turns": pl.Int32, "games": pl.Int64},
    "scores": {"strategy": pl.String, "score": pl.Int32, "games": pl.Int64},
}
"""The columns of every table."""

Place = tuple[Sums, int]
"""A bot at a table: the table's sums, and its number there."""


def tournament_tables(
    bots: Sequence[str],
    matchups: Sequence[Matchup],
    sums: Sequence[Sums],
    specialists: Collection[str],
) -> dict[str, pl.DataFrame]:
    """All tables, as in SCHEMAS; `specialists` are those of the rules."""
    places = places_of(bots, matchups, sums)
    rows: dict[str, list[Row]] = {
        "standings": _standings(bots, matchups, sums),
        "matchups": list(_matchups(matchups, sums)),
        "pairs": list(_pairs(bots, matchups, sums)),
        "seats": list(_seats(places, sums)),
        "specialists": list(_specialists(places, specialists)),
        "lengths": [
            {"turns": turns, "games": int(games)}
            for turns, games in enumerate(_padded_sum([part["turns"] for part in sums]))
            if games
        ],
        "scores": [
            {"strategy": bot, "score": score, "games": int(games)}
            for bot in bots
            for score, games in enumerate(
                _padded_sum([part["score_counts"][k] for part, k in places[bot]])
            )
            if games
        ],
    }
    return {name: pl.DataFrame(rows[name], schema) for name, schema in SCHEMAS.items()}


def places_of(
    bots: Sequence[str], matchups: Sequence[Matchup], sums: Sequence[Sums]
) -> dict[str, list[Place]]:
    """Of every bot, the tables it sat at."""
    places: dict[str, list[Place]] = {bot: [] for bot in bots}
    for matchup, part in zip(matchups, sums, strict=True):
        for number, bot in enumerate(matchup):
            places[bot].append((part, number))
    return places


def win_moments(
    bots: Sequence[str], matchups: Sequence[Matchup], sums: Sequence[Sums]
) -> dict[str, list[Moments]]:
    """Of every bot, the moments of its win share in a block, table by table."""
    places = places_of(bots, matchups, sums)
    return {bot: [_wins(*place) for place in places[bot]] for bot in bots if places[bot]}


def ratings_of(bots: Sequence[str], matchups: Sequence[Matchup], sums: Sequence[Sums]) -> Ratings:
    """Ratings from all finishing orders."""
    number = {bot: k for k, bot in enumerate(bots)}
    tables = [
        (tuple(number[bot] for bot in matchup), part["choices"])
        for matchup, part in zip(matchups, sums, strict=True)
    ]
    return rate(bots, tables)


def _wins(part: Sums, bot: int) -> Moments:
    """Moments of a bot's win share in a block."""
    unit = PARTS * len(part["wins"])
    return _moments(part, part["wins"][bot].sum(), part["win_products"][bot, bot], unit)


def _scores(part: Sums, bot: int) -> Moments:
    """Moments of a bot's mean score in a block."""
    unit = len(part["scores"])
    return _moments(part, part["scores"][bot].sum(), part["score_products"][bot, bot], unit)


def _moments(part: Sums, total: Any, squares: Any, unit: float) -> Moments:
    return Moments(float(part["blocks"]), float(total) / unit, float(squares) / unit**2)


def _games(place: Place) -> int:
    part, _ = place
    return int(part["blocks"]) * len(part["wins"])


def _share(groups: Sequence[Moments]) -> tuple[float, float, float]:
    return (stratified_mean(groups).mean, *share_interval(groups))


def _mean(groups: Sequence[Moments]) -> tuple[float, float, float]:
    estimate = stratified_mean(groups)
    return (estimate.mean, *estimate.interval())


def _bot_rates(places: Sequence[Place]) -> Row:
    """What a bot came to at some tables."""
    games = sum(map(_games, places))
    return {
        "games": games,
        **rates("win_share", _share([_wins(*place) for place in places])),
        **rates("mean_score", _mean([_scores(*place) for place in places])),
        "mean_rank": sum(int(part["ranks"][bot].sum()) for part, bot in places) / games,
    }


def _standings(bots: Sequence[str], matchups: Sequence[Matchup], sums: Sequence[Sums]) -> list[Row]:
    """One row a bot that played, the best win share first."""
    places = places_of(bots, matchups, sums)
    ratings = {row["strategy"]: row for row in ratings_of(bots, matchups, sums).ratings.to_dicts()}
    rows = [
        {
            "strategy": bot,
            **_bot_rates(places[bot]),
            "rating": ratings[bot]["rating"],
            "rating_error": ratings[bot]["rating_error"],
            "rating_field": ratings[bot]["field"],
        }
        for bot in bots
        if places[bot]
    ]
    return sorted(rows, key=lambda row: -row["win_share"])


def _matchups(matchups: Sequence[Matchup], sums: Sequence[Sums]) -> Iterator[Row]:
    for table, (matchup, part) in enumerate(zip(matchups, sums, strict=True)):
        for number, bot in enumerate(matchup):
            common = {"table": table, "bots": " - ".join(matchup), "strategy": bot}
            yield common | _bot_rates([(part, number)])


def _pairs(bots: Sequence[str], matchups: Sequence[Matchup], sums: Sequence[Sums]) -> Iterator[Row]:
    """Of two bots, over all tables at which they met: who finishes ahead, by how many worms."""
    met: dict[tuple[str, str], list[tuple[Sums, int, int]]] = {
        pair: [] for pair in permutations(bots, 2)
    }
    for matchup, part in zip(matchups, sums, strict=True):
        for a, b in permutations(range(len(matchup)), 2):
            met[matchup[a], matchup[b]].append((part, a, b))
    for (bot, rival), tables in met.items():
        if not tables:
            continue
        ahead = [_ahead(*table) for table in tables]
        yield {
            "strategy": bot,
            "rival": rival,
            "games": sum(_games((part, a)) for part, a, _ in tables),
            **rates("ahead", _share(ahead)),
            "superiority": share_superiority(ahead),
            **rates("score_difference", _mean([_difference(*table) for table in tables])),
        }


def _ahead(part: Sums, a: int, b: int) -> Moments:
    """Moments of the share of a block's games in which a finished ahead of b, ties counted half."""
    unit = PARTS * len(part["ahead"])
    return _moments(part, part["ahead"][a, b], part["ahead_squared"][a, b], unit)


def _difference(part: Sums, a: int, b: int) -> Moments:
    """Moments of the mean difference of scores in a block: both played with the same dice."""
    scores, products = part["scores"], part["score_products"]
    squares = products[a, a] - 2 * products[a, b] + products[b, b]
    return _moments(part, scores[a].sum() - scores[b].sum(), squares, len(scores))


def _seats(places: dict[str, list[Place]], sums: Sequence[Sums]) -> Iterator[Row]:
    """What a seat is worth, to all bots together and to each."""
    for seat in range(len(sums[0]["wins"])):
        wins = [
            _moments(
                part,
                part["wins"][:, seat].sum(),
                part["seat_wins_squared"][seat],
                PARTS * len(part["wins"]),
            )
            for part in sums
        ]
        scores = [
            _moments(
                part,
                part["scores"][:, seat].sum(),
                part["seat_scores_squared"][seat],
                len(part["wins"]),
            )
            for part in sums
        ]
        yield {
            "strategy": ALL_BOTS,
            "seat": seat,
            "games": sum(_games((part, 0)) for part in sums),
            **rates("win_share", _share(wins)),
            **rates("mean_score", _mean(scores)),
        }
    for bot, tables in places.items():
        for seat in range(len(sums[0]["wins"])):
            if not tables:
                continue
            wins = [
                _moments(part, part["wins"][k, seat], part["wins_squared"][k, seat], PARTS)
                for part, k in tables
            ]
            scores = [
                _moments(part, part["scores"][k, seat], part["scores_squared"][k, seat], 1)
                for part, k in tables
            ]
            yield {
                "strategy": bot,
                "seat": seat,
                "games": sum(int(part["blocks"]) for part, _ in tables),
                **rates("win_share", _share(wins)),
                **rates("mean_score", _mean(scores)),
            }


def _specialists(places: dict[str, list[Place]], playing: Collection[str]) -> Iterator[Row]:
    """What became of the specialists with each bot; who wins with one is no proof that it helps."""
    for bot, tables in places.items():
        if not tables or "held" not in tables[0][0]:
            continue
        for number, specialist in enumerate(SPECIALISTS):
            if specialist not in playing:
                continue
            games = sum(map(_games, tables))

            def total(name: str, tables: Sequence[Place] = tables, number: int = number) -> int:
                return sum(int(part[name][number, k]) for part, k in tables)

            held = [
                _moments(
                    part,
                    part["held"][number, k],
                    part["held_squared"][number, k],
                    len(part["wins"]),
                )
                for part, k in tables
            ]
            yield {
                "strategy": bot,
                "specialist": specialist,
                "games": games,
                **{name: total(name) / games for name in ("gained", "turns_held", "used")},
                **rates("held_at_end", _share(held)),
                "games_held": total("held"),
                **rates(
                    "win_share_held",
                    ratio_interval([_held_wins(part, number, k) for part, k in tables]),
                ),
            }


def _held_wins(part: Sums, specialist: int, bot: int) -> RatioMoments:
    """Moments of wins by games that a bot ended with a specialist."""

    def of(name: str, unit: float) -> float:
        return float(part[name][specialist, bot]) / unit

    return RatioMoments(
        n=float(part["blocks"]),
        above=of("held_wins", PARTS),
        below=of("held", 1),
        above2=of("held_wins_squared", PARTS**2),
        below2=of("held_squared", 1),
        product=of("held_product", PARTS),
    )


def _padded_sum(histograms: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    total = np.zeros(max(map(len, histograms), default=0), np.int64)
    for histogram in histograms:
        total[: len(histogram)] += histogram
    return total
