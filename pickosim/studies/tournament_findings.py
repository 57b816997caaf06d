"""How a tournament is shown: what was found, in sentences, the answer first; and the views of its tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isclose, isfinite

import polars as pl

from pickosim.runs.run import Results
from pickosim.stats.ratings import Ratings
from pickosim.stats.sprt import Sprt
from pickosim.studies.sentences import listed, plus_minus, quoted
from pickosim.studies.standings import (
    ALL_BOTS,
    ANCHOR,
    FRAMES,
    Measured,
    Shares,
    deciding_column,
    points_text,
)
from pickosim.studies.views import MOST_ROWS, Crossed, Dots, Listed, View

# ------------------------------------------------------------------------------------------------ headline


def about_first(shares: Shares, bots: Sequence[str], comparable: bool) -> str:
    """Who is first, and whether its lead is significant; the bots are in the order of the standings.

    `comparable`: whether all bots had the same opponents.
    """
    first, *others = bots
    subject, share = quoted(first), _in_words(shares, shares.measured(first))
    if not others:
        return f"{subject} {share}."
    if not comparable:
        return f"{subject} is first: it {share}. The bots had different opponents; ratings allow for that."
    lead = shares.difference(first, others[0])
    if not lead.value:
        return f"{subject} and {quoted(others[0])} are level: each {share}."
    return f"{subject} is first: it {_compared(shares, first, lead)} than {quoted(others[0])}{_chance(lead)}."


def about_focus(shares: Shares, bot: str, rivals: int) -> str:
    """How the bot of a gauntlet does, and whether that differs significantly from an even share."""
    share, even = shares.measured(bot), shares.even
    apart = Measured(*(end - even for end in share))
    return (
        f"Against {rivals} {'bot' if rivals == 1 else 'bots'}, {quoted(bot)} {_compared(shares, bot, apart)} than an "
        f"even share{_chance(apart)}."
    )


def _in_words(shares: Shares, share: Measured) -> str:
    """What a bot wins, with half its interval."""
    return _words(shares).format(plus_minus(shares.shown(share.value), shares.scale * share.half))


def _compared(shares: Shares, bot: str, apart: Measured) -> str:
    """What a bot wins, and how much more or less that is, to as many places."""
    value, half = abs(shares.scale * apart.value), shares.scale * apart.half
    difference = plus_minus(value, half)
    places = max(1, len(difference.split()[0].partition(".")[2]))
    if isfinite(half):
        difference = f"{value:.{places}f} ± {half:.{places}f}"
    share = f"{shares.shown(shares.measured(bot).value):.{places}f}"
    points = " points" if shares.points is None else ""
    return f"{_words(shares).format(share)}, {difference}{points} {'more' if apart.value > 0 else 'less'}"


def _words(shares: Shares) -> str:
    return "wins {} % of its games" if shares.points is None else "averages {} points per game"


def _chance(apart: Measured) -> str:
    return "" if apart.low > 0 or apart.high < 0 else ", which could be chance"


def about_test(
    test: Sprt, verdict: str | None, bot: str, rivals: Sequence[str], games: int, share: Measured
) -> str:
    """What a sequential test decided, and what was measured; which hypothesis is true, no test says."""
    against = f"even against {listed([quoted(rival) for rival in rivals])}"
    if verdict == "H0":
        decided, risk = _below(quoted(bot), test.high, against), test.beta
    elif verdict == "H1":
        decided, risk = _above(quoted(bot), test.low, against), test.alpha
    else:
        decided, risk = "", max(test.alpha, test.beta)
    result = f"Measured: {100 * share.value:.1f} % ± {100 * share.half:.1f}"
    if not decided:
        low, high = (f"{100 * off:+g}" for off in (test.low, test.high))
        return (
            f"Not decided within {games:,} games: {quoted(bot)} may be {low} or {high} points off {against} "
            f"(test at {100 * risk:g} %). {result}."
        )
    return (
        f"Stopped after {games:,} games: {decided} (test at {100 * risk:g} %). {result}; stopping early overstates "
        "differences."
    )


def _below(bot: str, off: float, even: str) -> str:
    """That a bot wins less than so far off an even share."""
    if off > 0:
        return f"{bot} is not {_points(off)} better than {even}"
    return f"{bot} is {f'more than {_points(-off)} ' if off else ''}worse than {even}"


def _above(bot: str, off: float, even: str) -> str:
    """That a bot wins more than so far off an even share."""
    if off < 0:
        return f"{bot} is not {_points(-off)} worse than {even}"
    return f"{bot} is {f'more than {_points(off)} ' if off else ''}better than {even}"


def _points(share: float) -> str:
    return f"{100 * share:g} point{'' if isclose(share, 0.01) else 's'}"


def about_ratings(rated: Ratings, standings: pl.DataFrame) -> Iterator[str]:
    """What the ratings of several bots are relative to, and which bots have none, and why."""
    if len(rated.ratings) > 2:
        yield _scale_of(rated.ratings)
    for row in standings.iter_rows(named=True):
        if reason := rated.unrated.get(row["bot"]):
            games = f"of its {row['games']:,} games"
            known = {0.0: f"won none {games}", 1.0: f"won all {games}"}
            yield f"{quoted(row['bot'])} {known.get(row['win_share'], reason)}, so it has no rating."


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
    """What a rating of 1500 means, and which bots have none."""
    standings = results.standings
    about = _scale_of(standings.rename({"bot": "name", "rating_field": "field"}))
    unrated = standings.filter(pl.col("rating").is_null())["bot"].to_list()
    return f"{about} No rating: {', '.join(unrated)}." if unrated else about


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
        chart=Dots("rating", "bot", "rating (Elo scale)", panel="rating_field", rows=_rated),
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
