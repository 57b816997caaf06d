"""How a tournament is shown: what was found, in sentences, the answer first; and the views of its tables."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

import polars as pl

from pickosim.columns import PLACE_POINTS, Row, percent
from pickosim.runs.results import Results
from pickosim.stats.ratings import Ratings
from pickosim.studies.sentences import quoted
from pickosim.studies.standings import ALL_BOTS, ANCHOR, FRAMES, deciding_column, points_text
from pickosim.studies.views import MOST_ROWS, Crossed, Dots, Listed, View

# ------------------------------------------------------------------------------------------------ headline


def headline(frames: dict[str, pl.DataFrame], comparable: bool) -> str:
    """Who leads, and whether that is beyond chance; `comparable`: whether all bots had the same opponents."""
    first, *others = frames["standings"].head(2).to_dicts()
    by = deciding_column(first)
    bot, games = quoted(first["bot"]), f"its {first['games']:,} games"
    if by == "win_share":
        said, figures = f"{bot} wins {_share(first, by)} of {games}", "win shares"
    else:
        said, figures = f"{bot} averages {_points_text(first)} in {games}", "points"
    if not others:
        return f"{said}."
    (second,) = others
    its = _share(second, by) if by == "win_share" else _points_text(second)
    said += f", {quoted(second['bot'])} {its}."
    if not comparable:
        said += f" They had different opponents, so their {figures} do not say who is better."
    elif first[f"{by}_low"] > second[f"{by}_high"]:
        said += " The lead is beyond chance: the two intervals do not touch."
    else:
        said += " The lead may be chance: the two intervals overlap."
    met = frames["pairs"].filter(
        (pl.col("bot") == first["bot"]) & (pl.col("rival") == second["bot"])
    )
    if not len(met) or len(frames["standings"]) == 2:
        return said
    (pair,) = met.to_dicts()
    beyond = pair["ahead_low"] > 0.5 or pair["ahead_high"] < 0.5
    return (
        f"{said} In games with both, {quoted(first['bot'])} finishes ahead in {_share(pair, 'ahead')} of "
        f"{pair['games']:,}, {'beyond' if beyond else 'within'} chance."
    )


def _share(row: Row, name: str) -> str:
    """A share with its interval."""
    low, high = 100 * row[f"{name}_low"], 100 * row[f"{name}_high"]
    return f"{percent(row[name])} (95 %: {low:.2f} to {high:.2f})"


def _points_text(row: Row) -> str:
    """Mean points with their interval."""
    value, low, high = (
        PLACE_POINTS.text(row[f"mean_points{end}"]) for end in ("", "_low", "_high")
    )
    return f"{value} points (95 %: {low} to {high})"


def about_ratings(rated: Ratings) -> Iterator[str]:
    """What the ratings are relative to, and by how much the best of several leads; of two bots, shares say it better."""
    if len(rated.ratings) > 2:
        yield _scale_of(rated.ratings)
    known = rated.ratings.with_row_index("number").filter(
        pl.col("rating").is_finite(),
        pl.col("rating_error").is_not_null() | (pl.col("name") == ANCHOR),
    )
    best, *others = known.sort("rating", descending=True).to_dicts() or [{}]
    rivals = [row for row in others if row["field"] == best["field"]]
    if len(rivals) < 2:
        return
    apart, low, high = rated.difference(best["number"], rivals[0]["number"])
    if apart is None or low is None or high is None:
        return
    yield (
        f"The best rating, that of {quoted(best['name'])}, is {apart:.0f} ± {(high - low) / 2:.0f} points above "
        f"the next, that of {quoted(rivals[0]['name'])}: {'beyond' if low > 0 else 'within'} chance."
    )


def _scale_of(ratings: pl.DataFrame) -> str:
    """What a rating of 1500 means."""
    field = f"this field of {len(ratings)} bots"
    anchor = ratings.filter(pl.col("name") == ANCHOR, pl.col("rating").is_finite())
    if len(anchor) and ratings["field"].n_unique() == 1:
        return f"Ratings are relative to {quoted(ANCHOR)}, which is 1500, among {field}."
    return (
        f"Ratings are relative to the mean of {field}, which is 1500; only with {quoted(ANCHOR)} among the bots do "
        "they compare with those of other fields."
    )


# --------------------------------------------------------------------------------------------------- views


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
    return Dots("win_share", "bot", "win share in %", at=100 / players, rows=_best)


def _compact(results: Results) -> pl.DataFrame:
    """Standings without intervals that lines have no room for: of all rates but the one that decides."""
    standings = results.standings
    rates = {"mean_points", "win_share", "mean_score", "mean_rank"}
    ends = [
        f"{rate}_{end}"
        for rate in rates - {deciding_column(standings.columns)}
        for end in ("low", "high")
    ]
    return standings.drop(ends, strict=False)


def _places_of_several(results: Results) -> pl.DataFrame:
    """The places; of two, the first is the win share."""
    return results.places if _players(results) > 2 else results.places.clear()


def _rated(results: Results) -> pl.DataFrame:
    """The bots with finite ratings, the best of each field first, with the ends of their intervals."""
    rating, error = pl.col("rating"), pl.col("rating_error")
    rated = results.standings.filter(rating.is_finite())
    rated = rated.sort("rating_field", -rating, maintain_order=True).head(MOST_ROWS)
    return rated.with_columns(rating_low=rating - error, rating_high=rating + error)


def _about_scale(results: Results) -> str:
    """What a rating of 1500 means, and which ratings cannot be drawn."""
    standings = results.standings
    about = [_scale_of(standings.rename({"bot": "name", "rating_field": "field"}))]
    for rating, words in ((inf, "more"), (-inf, "less")):
        bots = standings.filter(pl.col("rating") == rating)["bot"].to_list()
        if bots:
            about.append(f"No finite rating, but {words} than any: {', '.join(bots)}.")
    unknown = standings.filter(pl.col("rating").is_null() | pl.col("rating").is_nan())
    if len(unknown):
        about.append(f"Not to be rated: {', '.join(unknown['bot'].to_list())}.")
    return " ".join(about)


def _all_seats(results: Results) -> pl.DataFrame:
    seats = results.seats.filter(pl.col("bot") == ALL_BOTS)
    return seats.drop("bot", "mean_score_low", "mean_score_high")


def _seats_of_best(results: Results) -> pl.DataFrame:
    """The seats of all bots together and of the best, with the mean of all seats."""
    bots = [ALL_BOTS, *_bots(results)][:MOST_ROWS]
    seats = pl.DataFrame({"bot": bots}).join(
        results.seats, on="bot", how="left", maintain_order="left_right"
    )
    mean = pl.col("win_share").mean().over("bot")
    return seats.with_columns(mean=mean, bot=pl.col("bot").replace(ALL_BOTS, "all bots"))


def _held_by_best(results: Results) -> pl.DataFrame:
    """What specialists were held by the best bots, with their win shares in all games."""
    held = results.specialists.with_columns(games=pl.col("games_held"))
    return (
        _best(results)
        .select("bot", overall="win_share")
        .join(held, on="bot", how="left", maintain_order="left_right")
    )


PAIRS = Crossed(
    "bot",
    "rival",
    "ahead",
    lambda results, rows: (_bots(results), _bots(results)),
    "Finishes ahead of …, in % of their games, ties counted half (95 %: ± {error:.2f} at most; {games} games per pair)",
    "bot",
    numbered=True,
    legend="finishes ahead, % of games",
    words="{bot} ahead of {rival}: {ahead}",
)

VIEWS = (
    View(
        FRAMES["standings"],
        "Standings",
        remark=_about_standings,
        chart=_standings_chart,
        text=(Listed(rows=_compact),),
        is_open=True,
        leads=True,
    ),
    View(
        FRAMES["places"],
        "Places",
        "How often a bot comes first, second and so on; players who tie share the places that they take up.",
        remark=_only,
        rows=_places_of_several,
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
        chart=Dots("rating", "bot", "rating", panel="rating_field", rows=_rated),
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
            "points above the mean of all seats",
            panel="bot",
            at=0,
            above="mean",
            rows=_seats_of_best,
        ),
        text=(Listed("By seat, all bots together; seat 0 begins", _all_seats),),
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
