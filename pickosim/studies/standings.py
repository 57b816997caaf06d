"""The standings and the other tables of a tournament: from sums to rows, each rate with its interval and view."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import permutations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pickosim.amounts import quoted
from pickosim.columns import Frame, Row, frames_by_name
from pickosim.engine.tally import PARTS
from pickosim.rules import SPECIALISTS
from pickosim.runs.run import Results
from pickosim.runs.tasks import Sums
from pickosim.stats.intervals import (
    Moments,
    RatioMoments,
    count_rate,
    mean_rate,
    ratio_rate,
    share_rate,
    share_superiority,
)
from pickosim.stats.ratings import Counted, Ratings, rate
from pickosim.studies.matchup_sums import COUNTED_OF_HOLDERS, forfeits_in
from pickosim.studies.measures import LUCK_COLUMNS, rate_columns
from pickosim.studies.schedule import Matchup, matchup_lanes
from pickosim.studies.shares import (
    Points,
    adjusted,
    combined,
    dice_share,
    games_to_lead,
    is_adjusted,
    luck_in_wins,
    luck_of,
    moments_of,
    points_text,
)
from pickosim.studies.views import MOST_ROWS, Crossed, Dots, Listed, View

ALL_BOTS = "(all)"
"""Stands for the bot where all of them are counted together."""

WINS = "win_share± win_share_adjusted± luck±"
"""Columns of what was won, and how much of that was luck."""

FRAMES = frames_by_name(
    Frame(
        "standings",
        "One row per bot, the best win share first (without luck, where it is judged); with `points`, the most points "
        "first.",
        f"bot games mean_points± {WINS} mean_score± mean_rank± rating rating_error rating_field forfeits note",
    ),
    Frame(
        "matchups",
        "One row per matchup and bot.",
        f"matchup bots bot games mean_points± {WINS} mean_score± mean_rank±",
    ),
    Frame(
        "places",
        "One row per bot and place. The share of place 1 is the win share.",
        "bot place games place_share±",
    ),
    Frame(
        "pairs",
        "One row per bot and rival, over all matchups in which they met.",
        "bot rival games ahead± superiority score_difference± rating_difference±",
    ),
    Frame(
        "luck",
        "One row per matchup of two that was judged: how much of it is luck. The better bot comes first.",
        "bot rival games win_share_adjusted± dice_share± games_to_lead±",
    ),
    Frame(
        "seats",
        f"One row per seat for all bots together (`bot` is `{ALL_BOTS}`), then one row per bot and seat.",
        "bot seat games win_share± mean_score±",
    ),
    Frame(
        "specialists",
        "One row per bot and specialist; empty where the rules have none. That holders win more does not show "
        "that the specialist helps: `pickosim balance` measures that.",
        "bot specialist games gained± turns_held± used± held_at_end± games_held win_share_held±",
    ),
    Frame(
        "lengths",
        "One row per length of a game.",
        "turns games",
        {"games": "Games of that length."},
    ),
    Frame(
        "scores",
        "One row per bot and score.",
        "bot score games",
        {"games": "Games that the bot ended with that score."},
    ),
)

ANCHOR = "eager"
"""The bot that is rated 1500 wherever it plays, so that ratings of different fields compare."""

Entry = tuple[Sums, int]
"""A bot in a matchup: the matchup's sums, and its number there."""


def tournament_rows(
    bots: Sequence[str],
    matchups: Sequence[Matchup],
    sums: Sequence[Sums],
    specialists: Collection[str],
    points: Points | None = None,
) -> dict[str, Iterable[Row]]:
    """The rows of all tables; `specialists` are those of the rules."""
    found: dict[str, list[Entry]] = {bot: [] for bot in bots}
    for matchup, part in zip(matchups, sums, strict=True):
        for number, bot in enumerate(matchup):
            found[bot].append((part, number))
    entries = {bot: played for bot, played in found.items() if played}
    ratings = ratings_of(bots, matchups, sums)
    return {
        "standings": _standings(entries, ratings, points),
        "matchups": _matchups(matchups, sums, points),
        "places": _places(entries),
        "pairs": _pairs(bots, matchups, sums, ratings),
        "luck": _luck(matchups, sums),
        "seats": _seats(entries, sums),
        "specialists": _specialists(entries, specialists),
        "lengths": _counted("turns", [part["turns"] for part in sums]),
        "scores": (
            {"bot": bot} | row
            for bot, played in entries.items()
            for row in _counted("score", [part["score_counts"][k] for part, k in played])
        ),
    }


def tables_with(points: Points | None, judged: Collection[Matchup]) -> dict[str, Frame]:
    """The tables of a tournament; they have no columns for points or luck that there are not."""
    left_out = [*(() if points else ("mean_points",)), *(() if judged else LUCK_COLUMNS)]
    has_pairs = any(len(matchup) == 2 for matchup in judged)
    return {
        name: frame.without(*left_out)
        for name, frame in FRAMES.items()
        if has_pairs or name != "luck"
    }


def ratings_of(
    bots: Sequence[str], matchups: Sequence[Matchup], sums: Sequence[Sums], wins: bool = False
) -> Ratings:
    """Ratings from all finishing orders, or from wins alone."""
    return rate(bots, counted(bots, matchups, sums, wins), game=PARTS, anchor=ANCHOR)


def counted(
    bots: Sequence[str], matchups: Sequence[Matchup], sums: Sequence[Sums], wins: bool
) -> list[Counted]:
    """Who was placed next among which bots, in all matchups; of wins alone, who was placed first.

    Luck is taken out of the wins of matchups that were judged; of two bots, wins are all there is.
    """
    number = {bot: k for k, bot in enumerate(bots)}
    choices = [
        _first_only(part) if wins or len(matchup) == 2 else part["choices"]
        for matchup, part in zip(matchups, sums, strict=True)
    ]
    numbers = [tuple(number[bot] for bot in matchup) for matchup in matchups]
    return list(zip(numbers, choices, strict=True))


def _first_only(part: Sums) -> NDArray[Any]:
    """Choices among all bots of the matchup: the set with all of them is the last."""
    first = np.zeros(part["choices"].shape)
    won = part["choices"][:, -1]
    without_luck = won - luck_in_wins(part) if is_adjusted(part) else won
    first[:, -1] = without_luck if (without_luck.sum(axis=0) > 0).all() else won
    return first


def _place(part: Sums, bot: int, place: int) -> Moments:
    """Moments of the share of a block's games in which a bot took a place, counted from 0."""
    unit = PARTS * len(part["places"])
    squares = part["place_products"][bot, place, bot, place]
    return moments_of(part, part["places"][bot, place], squares, unit, PARTS)


def _scores(part: Sums, bot: int) -> Moments:
    """Moments of a bot's mean score in a block."""
    unit = len(part["scores"])
    return moments_of(part, part["scores"][bot].sum(), part["score_products"][bot, bot], unit)


def _games(entry: Entry) -> int:
    part, _ = entry
    return int(part["blocks"]) * len(part["wins"])


def _bot_rates(entries: Sequence[Entry], points: Points | None) -> Row:
    """What a bot came to in some matchups."""
    players = len(entries[0][0]["wins"])
    ranks = [_ranks(*entry) for entry in entries]
    row: Row = {"games": sum(map(_games, entries))}
    if points is not None:
        share = share_rate([combined(part, {bot: 1.0}, points) for part, bot in entries])
        row |= rate_columns("mean_points", share.mapped(points[-1], points[0]))
    return row | {
        **rate_columns("win_share", share_rate([_place(*entry, 0) for entry in entries])),
        **without_luck(entries),
        **rate_columns("mean_score", count_rate([_scores(*entry) for entry in entries])),
        **rate_columns("mean_rank", share_rate(ranks).mapped(1, players)),
    }


def _ranks(part: Sums, bot: int) -> Moments:
    """Moments of a bot's mean rank in a block, as a share of the way from the first rank to the last."""
    players, blocks = len(part["wins"]), int(part["blocks"])
    total, squares = int(part["ranks"][bot].sum()), int(part["ranks_squared"][bot])
    # A block's ranks add up to `players` if the bot is always first.
    squares += blocks * players**2 - 2 * players * total
    unit, last = players * (players - 1), players - 1
    return moments_of(part, total - blocks * players, squares, unit, last)


def without_luck(entries: Sequence[Entry]) -> Row:
    """The win share of a bot without luck, and its luck; nothing if no matchup was judged."""
    own = [adjusted(part, {bot: 1.0}, None) for part, bot in entries]
    luck = [luck_of(part, bot) for part, bot in entries if "luck" in part]
    return {
        **rate_columns("win_share_adjusted", share_rate(own)),
        **rate_columns("luck", mean_rate(luck)),
    }


def _standings(entries: dict[str, list[Entry]], rated: Ratings, points: Points | None) -> list[Row]:
    """One row per bot that played, the best first."""
    ratings = {row["name"]: row for row in rated.ratings.to_dicts()}
    rows = [
        {
            "bot": bot,
            **_bot_rates(played, points),
            **ratings[bot],
            "rating_field": ratings[bot]["field"],
            "forfeits": sum(int((forfeits_in(part)[:, 2] == k).sum()) for part, k in played),
        }
        for bot, played in entries.items()
    ]
    return sorted(rows, key=lambda row: -row[deciding_column(row)])


DECIDING = ("mean_points", "win_share_adjusted", "win_share")


def deciding_column(columns: Collection[str]) -> str:
    """The one of these columns by which standings are ordered."""
    return next(name for name in DECIDING if name in columns)


def _matchups(
    matchups: Sequence[Matchup], sums: Sequence[Sums], points: Points | None
) -> Iterator[Row]:
    for lane, matchup, part in zip(matchup_lanes(matchups), matchups, sums, strict=True):
        for number, bot in enumerate(matchup):
            common = {"matchup": lane, "bots": " - ".join(matchup), "bot": bot}
            yield common | _bot_rates([(part, number)], points)


def _places(entries: dict[str, list[Entry]]) -> Iterator[Row]:
    """How often each bot came first, second, …"""
    for bot, played_in in entries.items():
        for place in range(len(played_in[0][0]["places"])):
            share = share_rate([_place(part, k, place) for part, k in played_in])
            yield {
                "bot": bot,
                "place": place + 1,
                "games": sum(map(_games, played_in)),
                **rate_columns("place_share", share),
            }


def _pairs(
    bots: Sequence[str], matchups: Sequence[Matchup], sums: Sequence[Sums], ratings: Ratings
) -> Iterator[Row]:
    """Pairs of bots that met: who finishes ahead, and the differences of scores and ratings."""
    number = {bot: k for k, bot in enumerate(bots)}
    met: dict[tuple[str, str], list[tuple[Sums, int, int]]] = {
        pair: [] for pair in permutations(bots, 2)
    }
    for matchup, part in zip(matchups, sums, strict=True):
        for a, b in permutations(range(len(matchup)), 2):
            met[matchup[a], matchup[b]].append((part, a, b))
    for (bot, rival), met_in in met.items():
        if not met_in:
            continue
        ahead, scores = ([of(*entry) for entry in met_in] for of in (_ahead, _difference))
        yield {
            "bot": bot,
            "rival": rival,
            "games": sum(_games((part, a)) for part, a, _ in met_in),
            **rate_columns("ahead", share_rate(ahead)),
            "superiority": share_superiority(ahead),
            **rate_columns("score_difference", mean_rate(scores)),
            **rate_columns("rating_difference", ratings.difference(number[bot], number[rival])),
        }


def _ahead(part: Sums, a: int, b: int) -> Moments:
    """Moments of the share of a block's games in which a finished ahead of b, ties counted half."""
    unit = PARTS * len(part["ahead"])
    return moments_of(part, part["ahead"][a, b], part["ahead_squared"][a, b], unit, PARTS)


def _difference(part: Sums, a: int, b: int) -> Moments:
    """Moments of the mean difference of scores in a block: both played with the same dice."""
    scores, products = part["scores"], part["score_products"]
    squares = products[a, a] - 2 * products[a, b] + products[b, b]
    return moments_of(part, scores[a].sum() - scores[b].sum(), squares, len(scores))


def _luck(matchups: Sequence[Matchup], sums: Sequence[Sums]) -> Iterator[Row]:
    """How much of matchups of two is luck."""
    for matchup, part in zip(matchups, sums, strict=True):
        if len(matchup) == 2 and is_adjusted(part):
            own = [share_rate([adjusted(part, {bot: 1.0}, None)]) for bot in (0, 1)]
            better = int((own[1].value or 0.0) > (own[0].value or 0.0))
            yield {
                "bot": matchup[better],
                "rival": matchup[1 - better],
                "games": _games((part, better)),
                **rate_columns("win_share_adjusted", own[better]),
                **rate_columns("dice_share", dice_share(part, better)),
                **rate_columns("games_to_lead", games_to_lead(part, better)),
            }


def _seats(entries: dict[str, list[Entry]], sums: Sequence[Sums]) -> Iterator[Row]:
    """What a seat is worth, to all bots together and to each."""
    seated: dict[str, list[tuple[Sums, Any]]] = {ALL_BOTS: [(part, slice(None)) for part in sums]}
    for bot, played in (seated | entries).items():
        for seat in range(len(sums[0]["wins"])):
            wins = [_seat(*entry, seat, "wins", PARTS) for entry in played]
            scores = [_seat(*entry, seat, "scores", 1) for entry in played]
            games = [int(part["blocks"]) * np.size(part["wins"][k, seat]) for part, k in played]
            yield {
                "bot": bot,
                "seat": seat,
                "games": sum(games),
                **rate_columns("win_share", share_rate(wins)),
                **rate_columns("mean_score", count_rate(scores)),
            }


def _seat(part: Sums, bots: Any, seat: int, name: str, parts: int) -> Moments:
    """Moments of what a bot, or all of them together, came to in a seat per game, counted in parts."""
    totals = part[name][bots, seat]
    alone = np.ndim(totals) == 0
    squares = part[f"{name}_squared"][bots, seat] if alone else part[f"seat_{name}_squared"][seat]
    return moments_of(part, totals.sum(), squares, parts * np.size(totals), parts)


def _specialists(entries: dict[str, list[Entry]], playing: Collection[str]) -> Iterator[Row]:
    """What became of the specialists with each bot."""
    for bot, played in entries.items():
        for number, specialist in enumerate(SPECIALISTS):
            if specialist in playing and "holders" in played[0][0]:
                yield {"bot": bot, "specialist": specialist, **_holder_row(played, number)}


def _holder_row(entries: Sequence[Entry], specialist: int) -> Row:
    """What became of a specialist with a bot."""
    # Of every matchup: sums of what is counted of holders (K,), and of products (K, K) of a block's totals.
    sums = [
        (part, part["holders"][:, specialist, bot], part["holder_products"][..., specialist, bot])
        for part, bot in entries
    ]
    row: Row = {"games": sum(map(_games, entries))}
    for k, name in enumerate(COUNTED_OF_HOLDERS[:4]):
        rate = share_rate if name == "held_at_end" else count_rate
        moments = [
            moments_of(part, of[k], both[k, k], len(part["wins"])) for part, of, both in sums
        ]
        row |= rate_columns(name, rate(moments))
    # The last two: whether it is held at the end, and what is won then.
    won = [RatioMoments.of(part["blocks"], of[3:], both[3:, 3:], PARTS) for part, of, both in sums]
    return row | {
        "games_held": int(sum(each.below for each in won)),
        **rate_columns("win_share_held", ratio_rate(won)),
    }


def _counted(name: str, histograms: Sequence[NDArray[np.int64]]) -> Iterator[Row]:
    """The games of each value in some histograms together."""
    total: Counter[int] = Counter()
    for histogram in histograms:
        total += Counter(dict(enumerate(histogram.tolist())))
    yield from ({name: value, "games": games} for value, games in sorted(total.items()))


# --------------------------------------------------------------------------------------------------- views


def scale_of(ratings: pl.DataFrame) -> str:
    """What a rating of 1500 means."""
    field = f"this field of {len(ratings)} bots"
    anchor = ratings.filter(pl.col("name") == ANCHOR, pl.col("rating").is_finite())
    if len(anchor) and ratings["field"].n_unique() == 1:
        return f"Ratings are relative to {quoted(ANCHOR)}, which is 1500, among {field}."
    return (
        f"Ratings are relative to the mean of {field}, which is 1500; only with {quoted(ANCHOR)} among the bots do "
        "they compare with those of other fields."
    )


def _players(results: Results) -> int:
    return len(results.manifest["plan"]["matchups"][0])


def _bots(results: Results) -> list[str]:
    """All bots, the best first."""
    bots: list[str] = results.standings["bot"].to_list()
    return bots


def _best(results: Results) -> pl.DataFrame:
    """The standings of the bots that a chart has room for."""
    return results.standings.head(MOST_ROWS)


def _only(results: Results) -> str:
    bots = len(results.standings)
    return "" if bots <= MOST_ROWS else f"The chart shows the first {MOST_ROWS} of {bots:,} bots."


def _about_standings(results: Results) -> str:
    """What orders the standings."""
    players, points = _players(results), results.manifest["plan"].get("place_points")
    about = "Win shares with 95 % intervals; a shared first place is split."
    if points:
        about = (
            f"Mean points per game with 95 % intervals: {points_text(tuple(points))} by place; players who tie share "
            "the points of the places that they take up."
        )
    return f"{about} Dashed: an even share with {players} players. {_only(results)}".strip()


def _standings_chart(results: Results) -> Dots:
    players, points = _players(results), results.manifest["plan"].get("place_points")
    if points:
        return Dots("mean_points", "bot", "points per game", at=sum(points) / players, rows=_best)
    share = deciding_column(results.standings.columns)
    label = "win share in %" if share == "win_share" else "win share without luck in %"
    return Dots(share, "bot", label, at=100 / players, rows=_best)


def _compact(results: Results) -> pl.DataFrame:
    """Standings without intervals that lines have no room for: of all rates but the one that decides."""
    standings = results.standings
    rates = {*DECIDING, "mean_score", "mean_rank"}
    others = rates - {deciding_column(standings.columns)}
    ends = [f"{rate}_{end}" for rate in others for end in ("low", "high")]
    # Matchups and remarks say the last two, too.
    return standings.drop(*ends, "luck", "note", strict=False)


def _rated(results: Results) -> pl.DataFrame:
    """The bots with finite ratings, the best of each field first, with the ends of their intervals."""
    rated = results.standings.filter(pl.col("rating").is_finite())
    by_field = rated.sort("rating_field", -pl.col("rating"), maintain_order=True)
    return with_ends(by_field.head(MOST_ROWS))


def with_ends(rated: pl.DataFrame) -> pl.DataFrame:
    """Ratings with the ends of their intervals."""
    rating, error = pl.col("rating"), pl.col("rating_error")
    return rated.with_columns(rating_low=rating - error, rating_high=rating + error)


def _about_scale(results: Results) -> str:
    """What a rating of 1500 means, and which bots have none."""
    standings = results.standings
    about = scale_of(standings.rename({"bot": "name", "rating_field": "field"}))
    unrated = standings.filter(pl.col("rating").is_null())["bot"].to_list()
    return f"{about} No rating: {', '.join(unrated)}." if unrated else about


def _pairings(results: Results) -> pl.DataFrame:
    """How much is luck between two bots, by the names of both, where most of it is first."""
    judged = results.frames["luck"].sort("dice_share", descending=True).head(MOST_ROWS)
    return judged.with_columns(rival=pl.format("{} against {}", "bot", "rival"))


def _seats_of_best(results: Results) -> pl.DataFrame:
    """The seats of all bots together and of the best, with the mean of all seats."""
    bots = [ALL_BOTS, *_bots(results)][:MOST_ROWS]
    seats = pl.DataFrame({"bot": bots}).join(
        results.seats, on="bot", how="left", maintain_order="left_right"
    )
    mean = pl.col("win_share").mean().over("bot")
    return seats.with_columns(mean=mean, bot=pl.col("bot").replace(ALL_BOTS, "all bots"))


def _held_by_best(results: Results) -> pl.DataFrame:
    """What specialists the best bots held, the one that goes with most wins first, with their win shares in all games."""
    most_wins = pl.col("win_share_held").mean().over("specialist")
    held = results.specialists.with_columns(games=pl.col("games_held")).sort(
        most_wins, descending=True, nulls_last=True, maintain_order=True
    )
    return (
        _best(results)
        .select("bot", overall="win_share")
        .join(held, on="bot", how="left", maintain_order="left_right")
    )


def _pairs_of_several(results: Results) -> pl.DataFrame:
    """The pairs; of a gauntlet of two players the standings say as much."""
    pairs = results.pairs
    rivals = pairs.group_by("bot").len()["len"]
    return pairs if _players(results) > 2 or (rivals > 1).sum() > 1 else pairs.clear()


PAIRS = Crossed(
    "bot",
    "rival",
    "ahead",
    lambda results, rows: (_bots(results), _bots(results)),
    "Finishes ahead of …, in % of their games, ties counted half (95 %: ± {error:.2f} at most; {games} games per pair)",
    "bot",
    numbered=True,
    legend="finishes ahead, % of games",
    axis="number of the rival",
    words="{bot} ahead of {rival}: {ahead}",
    rows=_pairs_of_several,
)

VIEWS = (
    View(
        FRAMES["standings"],
        "Standings",
        remark=_about_standings,
        chart=_standings_chart,
        text=(Listed(rows=_compact, is_cut=True),),
        is_open=True,
        leads=True,
    ),
    View(
        FRAMES["places"],
        "Places",
        "How often a bot comes first, second and so on; players who tie share the places that they take up.",
        remark=_only,
        # Of two players, the first place is the win share.
        rows=lambda results: results.places if _players(results) > 2 else results.places.clear(),
        chart="places",
        text=(
            Crossed(
                "bot",
                "place",
                "place_share",
                lambda results, rows: (_bots(results), list(range(1, _players(results) + 1))),
                "Places, in % of a bot's games, ties shared (95 %: ± {error:.2f} at most; {games} games per bot)",
                "bot",
            ),
        ),
    ),
    View(
        FRAMES["pairs"],
        "Who finishes ahead of whom",
        "Share of their games in which the bot of the row finishes ahead of the bot with the column's number, ties "
        "counted half.",
        remark=_only,
        name="cross-table",
        chart=PAIRS,
        text=(PAIRS,),
        leads=True,
    ),
    View(
        FRAMES["standings"],
        "Ratings",
        "On the scale of Elo, from all finishing orders: 400 points are odds of 10 to 1. Bars: 95 % intervals.",
        remark=_about_scale,
        name="ratings",
        columns="bot games rating rating_error rating_field",
        chart=Dots("rating", "bot", "rating (Elo scale)", panel="rating_field", rows=_rated),
    ),
    View(
        FRAMES["luck"],
        "How much of it is luck",
        "How much of the result of one game is dice (dots, with 95 % intervals), and after how many games the better bot "
        "has won more of them, with 95 %.",
        chart=Dots(
            "dice_share", "rival", "share of dice in the result of a game, %", rows=_pairings
        ),
        text=(Listed("How much of it is luck"),),
    ),
    View(
        FRAMES["scores"],
        "Scores",
        "How often a bot ends with each score; each shape is as tall as there is room. Dashed: its mean.",
        remark=_only,
        chart="scores",
    ),
    View(
        FRAMES["lengths"],
        "Length of a game",
        "Turns of all games together. Dashed: the mean.",
        chart="lengths",
    ),
    View(
        FRAMES["seats"],
        "Seats",
        "What a seat wins above or below the mean of all seats, with all bots and with each; bars are the 95 % "
        "intervals of the seat's own win share. Seat 0 begins. Every bot sits in every seat equally often.",
        chart=Dots(
            "win_share",
            "seat",
            "points above the mean of its seats",
            panel="bot",
            at=0,
            above="mean",
            rows=_seats_of_best,
        ),
        text=(
            Listed(
                "By seat, all bots together; seat 0 begins",
                lambda results: results.seats.filter(bot=ALL_BOTS).drop(
                    "bot", "mean_score_low", "mean_score_high"
                ),
            ),
        ),
    ),
    View(
        FRAMES["specialists"],
        "Specialists seen",
        "The win share of a bot in games that it ended with a specialist; dashed: in all its games. This is an "
        "association, not what the specialist is worth: players who are winning anyway get more of them. The command "
        "pickosim balance measures the worth.",
        chart=Dots(
            "win_share_held",
            "specialist",
            "win share in % if held at the end",
            panel="bot",
            at="overall",
            rows=_held_by_best,
        ),
    ),
    View(
        FRAMES["matchups"],
        "Matchups",
        "What every bot came to in every matchup, against the same rivals.",
    ),
)
