"""Figures: what a report shows of each kind of run, as charts with their data."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf

import polars as pl

from pickosim.columns import Frame
from pickosim.reports import charts
from pickosim.reports.cells import measure_label
from pickosim.rule_files import as_arguments, complete_rules
from pickosim.runs.results import Results
from pickosim.studies import calibrate, compare_results, pickup_worths, tournament_results
from pickosim.studies.kinds import study_kind
from pickosim.studies.sentences import BEYOND_CHANCE, listed

Draw = Callable[[], charts.Drawing]


@dataclass(frozen=True)
class Figure:
    """A table of a run, drawn if it can be: a chart that draws nothing is left out."""

    name: str
    """In addresses, and of files."""
    title: str
    note: str
    """How to read it."""
    data: pl.DataFrame
    table: Frame
    """What the columns are."""
    draw: Draw | None = None
    is_open: bool = False
    """Whether the table is shown at once."""


def figures_of(results: Results) -> list[Figure]:
    """The figures of a run that have data; of a kind without figures of its own, its tables."""
    figures = _FIGURES.get(results.manifest["kind"], _any_study)
    return [figure for figure in figures(results) if len(figure.data)]


def _any_study(results: Results) -> Iterator[Figure]:
    tables = study_kind(results.manifest["kind"]).frame_types
    for name, data in results.frames.items():
        yield Figure(
            name, name.replace("_", " ").capitalize(), tables[name].rows, data, tables[name]
        )


def title_of(results: Results) -> str:
    """What a run is about: its question, or what was played."""
    manifest, plan = results.manifest, results.manifest["plan"]
    if question := manifest.get("question"):
        return str(question)
    if manifest["kind"] == "tournament":
        return f"Tournament: {_named(bot['name'] for bot in plan['entrants'])}"
    if manifest["kind"] == "compare":
        return f"Rules compared: {_named(variant['name'] for variant in plan['variants'])}"
    if manifest["kind"] == "balance":
        return f"Balance of the specialists, rules {plan.get('rule_set', plan['rules'])['name']}"
    return str(manifest["title"])


def _named(names: Iterable[str], most: int = 4) -> str:
    """Names, the first of them if there are many."""
    all_names = list(names)
    more = len(all_names) - most
    return f"{', '.join(all_names[:most])} and {more} more" if more > 1 else listed(all_names)


def table(results: Results, name: str) -> pl.DataFrame:
    """A table of a run; an empty one if the run has none of that name."""
    return results.frames.get(name, pl.DataFrame())


# ------------------------------------------------------------------------------------- a tournament


def _tournament(results: Results) -> Iterator[Figure]:
    standings, pairs = results.standings, results.pairs
    players = len(results.manifest["plan"]["matchups"][0])
    points = results.manifest["plan"].get("place_points")
    yield Figure(
        "standings",
        "Standings",
        f"{_standings_note(points, players)}{_only(standings)}",
        standings,
        tournament_results.FRAMES["standings"],
        lambda: (
            charts.mean_points(standings, sum(points) / players)
            if points
            else charts.win_shares(standings, players)
        ),
        is_open=True,
    )
    if players > 2:  # of two places, the first is the win share
        yield Figure(
            "places",
            "Places",
            "How often a bot comes first, second and so on; players who tie share the places that they take "
            f"up.{_only(standings)}",
            table(results, "places"),
            tournament_results.FRAMES["places"],
            lambda: charts.places(results.places, standings),
        )
    yield Figure(
        "cross-table",
        "Who finishes ahead of whom",
        "Share of their games in which the bot of the row finishes ahead of the bot with the column's "
        f"number, ties counted half.{_only(standings)}",
        pairs,
        tournament_results.FRAMES["pairs"],
        lambda: charts.cross_table(standings, pairs),
    )
    yield Figure(
        "ratings",
        "Ratings",
        "On the scale of Elo, from all finishing orders: 400 points are odds of 10 to 1; the mean is "
        f"1500. Bars: 95 % intervals against the mean of the field.{_unrated(standings)}",
        standings.select("bot", "games", "rating", "rating_error", "rating_field"),
        tournament_results.FRAMES["standings"],
        lambda: charts.ratings(standings),
    )
    yield Figure(
        "scores",
        "Scores",
        "How often a bot ends with each score; each shape is as tall as there is room. Dashed: its "
        f"mean.{_only(standings)}",
        results.scores,
        tournament_results.FRAMES["scores"],
        lambda: charts.scores(results.scores, standings),
    )
    yield Figure(
        "lengths",
        "Length of a game",
        "Turns of all games together. Dashed: the mean.",
        results.lengths,
        tournament_results.FRAMES["lengths"],
        lambda: charts.lengths(results.lengths),
    )
    yield Figure(
        "seats",
        "Seats",
        "What a seat wins above or below the mean of all seats, with all bots and with each; bars are the "
        "95 % intervals of the seat's own win share. Seat 0 begins. Every bot sits in every seat equally "
        "often.",
        results.seats,
        tournament_results.FRAMES["seats"],
        lambda: charts.seats(results.seats, standings),
    )
    yield Figure(
        "specialists",
        "Specialists seen",
        "The win share of a bot in games that it ended with a specialist; dashed: in all its games. "
        "This is an association, not what the specialist is worth: players who are winning anyway get more "
        "of them. The command pickosim balance measures the worth.",
        results.specialists,
        tournament_results.FRAMES["specialists"],
        lambda: charts.specialists(results.specialists, standings),
    )
    yield Figure(
        "matchups",
        "Matchups",
        "What every bot came to in every matchup, against the same rivals.",
        results.matchups,
        tournament_results.FRAMES["matchups"],
    )


def _standings_note(points: Sequence[float] | None, players: int) -> str:
    """What orders the standings."""
    even = f"Dashed: an even share with {players} players."
    if points is None:
        return f"Win shares with 95 % intervals; a shared first place is split. {even}"
    given = tournament_results.points_text(tuple(points))
    return (
        f"Mean points per game with 95 % intervals: {given} by place; players who tie share the points of "
        f"the places that they take up. {even}"
    )


def _only(standings: pl.DataFrame) -> str:
    if len(standings) <= charts.MOST_ROWS:
        return ""
    return f" The chart shows the first {charts.MOST_ROWS} of {len(standings):,} bots."


def _unrated(standings: pl.DataFrame) -> str:
    """Ratings that cannot be drawn, in words."""
    said = ""
    for rating, words in ((inf, "more"), (-inf, "less")):
        bots = standings.filter(pl.col("rating") == rating)["bot"].to_list()
        if bots:
            said += f" No finite rating, but {words} than any: {', '.join(bots)}."
    unknown = standings.filter(pl.col("rating").is_null() | pl.col("rating").is_nan())
    if len(unknown):
        said += f" Not to be rated: {', '.join(unknown['bot'].to_list())}."
    return said


# ---------------------------------------------------------------------------------------- a compare


def _compare(results: Results) -> Iterator[Figure]:
    measures = results.measures
    yield Figure(
        "effects",
        "What a variant changes",
        "Difference from the reference, both with the same dice, with 95 % intervals; every small chart "
        "has its own scale; points are percentage points. A full dot is beyond chance (p below "
        f"{BEYOND_CHANCE:g}, corrected for the number of "
        f"comparisons), a hollow one is not.{_unchanged(measures)}",
        measures,
        compare_results.FRAMES["measures"],
        lambda: charts.effects(measures),
    )
    yield Figure(
        "lengths",
        "Length of a game",
        "The dot is the median; half of all games lie in the bar, nine in ten on the line.",
        table(results, "lengths"),
        compare_results.FRAMES["lengths"],
        lambda: charts.variant_lengths(results.lengths),
    )
    yield Figure(
        "seats",
        "Seats",
        "What a seat wins above or below an even share, with 95 % intervals. Seat 0 begins.",
        table(results, "seats"),
        compare_results.FRAMES["seats"],
        lambda: charts.variant_seats(results.seats),
    )
    yield Figure(
        "variants",
        "The variants",
        "What each differs in from the reference, and how it is asked for.",
        _variants(results),
        replace(compare_results.FRAMES["variants"], notes={}),
        is_open=True,
    )


def _variants(results: Results) -> pl.DataFrame:
    """The variants, with the arguments that give their rules."""
    reference = results.manifest["result"]["reference"]
    rows = [
        {
            "variant": row["variant"],
            "differs": "the reference"
            if row["variant"] == reference
            else row["differs"] or "nothing",
            "rules": shlex.join(as_arguments(complete_rules(json.loads(row["rules"])))),
        }
        for row in results.variants.to_dicts()
    ]
    return pl.DataFrame(rows)


def _unchanged(measures: pl.DataFrame) -> str:
    """Measures in which nothing differs at all."""
    largest = measures.group_by("measure", maintain_order=True).agg(
        pl.col("difference").abs().max().alias("largest")
    )
    same = largest.filter(pl.col("largest") == 0)["measure"].to_list()
    names = "; ".join(map(measure_label, same))
    return f" No difference at all, and not drawn: {names}." if same else ""


# ---------------------------------------------------------------------------------------- a balance


def _balance(results: Results) -> Iterator[Figure]:
    pickups = table(results, "pickups")
    if len(pickups):
        yield from _pickups(pickups, table(results, "pickups_by"))
    sensitivity = table(results, "sensitivity")
    if len(sensitivity):
        yield from _sensitivity(sensitivity)


def _pickups(pickups: pl.DataFrame, groups: pl.DataFrame) -> Iterator[Figure]:
    """What pick-ups are worth, in all and by phase and standing."""
    frame = pickup_worths.FRAMES["pickups"]
    yield Figure(
        "pickups",
        "What a pick-up is worth",
        "Ordinary games, branched whenever a player gains the specialist: played on as they are, and without it, "
        "with the same dice. The difference in that player's win share, with 95 % intervals, is what the pick-up "
        "causes. A full dot is beyond chance (p < 0.05, corrected for the number of comparisons). The verdict "
        "compares each specialist with the mean of all. The table also says what players who hold the specialist at the "
        "end win above an even share. This is an association, not what the specialist is worth: players who are winning "
        "anyway get more of them.",
        pickups,
        frame,
        lambda: charts.pickups(pickups),
        is_open=True,
    )
    named = ["bot", "players", "specialist", "games"]
    yield Figure(
        "pickups-score",
        "A pick-up in worms",
        "The same games: what a pick-up adds to the score of the player.",
        pickups.select(*named, "^score_gain.*$"),
        frame,
        lambda: charts.pickups(pickups, "score_gain"),
    )
    for by, title, text in (
        ("phase", "By phase", "by the tiles left on the grill after the pick-up"),
        ("standing", "By standing", "by how the player stood before, by score"),
        ("former", "By what was held", "by whether the player held another specialist before"),
    ):
        shown = groups.filter(pl.col("by") == by)
        yield Figure(
            f"pickups-by-{by}",
            f"A pick-up {title[0].lower()}{title[1:]}",
            f"What a pick-up is worth in points of win share, {text}; bars are 95 % intervals.",
            shown,
            pickup_worths.FRAMES["pickups_by"],
            lambda shown=shown: charts.pickups_by(shown),  # type: ignore[misc]
        )


def _sensitivity(sensitivity: pl.DataFrame) -> Iterator[Figure]:
    """One thing moved at a time: where a specialist starts, and the numbers in the rules."""
    is_tile = pl.col("option").str.starts_with("specialists.")
    tiles, numbers = sensitivity.filter(is_tile), sensitivity.filter(~is_tile)
    as_before = (
        "All else is as in the rules, whose own setting has a ring; bars are 95 % intervals."
    )
    yield Figure(
        "worth-by-tile",
        "Worth by starting tile",
        f"What a pick-up is worth, in win share. {as_before}",
        tiles,
        pickup_worths.FRAMES["sensitivity"],
        lambda: charts.sensitivity(tiles),
    )
    yield Figure(
        "worth-by-number",
        "Worth by number",
        f"What a pick-up is worth, in win share. {as_before}",
        numbers,
        pickup_worths.FRAMES["sensitivity"],
        lambda: charts.sensitivity(numbers),
    )
    columns = ["bot", "players", "specialist", "option", "setting", "games", "pick_ups"]
    for name, rows in (("tile", tiles), ("number", numbers)):
        yield Figure(
            f"pick-ups-by-{name}",
            f"Pick-ups by {'starting tile' if name == 'tile' else name}",
            "How often per game a player gains the specialist (the raven: is paid by it). All else is as in the "
            "rules, whose own setting has a ring.",
            rows.select(columns),
            pickup_worths.FRAMES["sensitivity"],
            lambda rows=rows: charts.sensitivity(rows, "pick_ups"),  # type: ignore[misc]
        )


# ------------------------------------------------------------------------------------ a calibration


def _calibrate(results: Results) -> Iterator[Figure]:
    frames, players = calibrate.FRAMES, results.manifest["plan"]["players"]
    by_lead, deciles = table(results, "by_lead"), table(results, "deciles")
    yield Figure(
        "by-lead",
        "What a position is worth",
        "The chance to win of the player who has just moved, by its lead in worms over the best rival and by the worms "
        f"left on the grill. Cells with fewer than {calibrate.FEW_POSITIONS} positions are empty.",
        by_lead,
        frames["by_lead"],
        lambda: charts.by_lead(by_lead, players),
    )
    yield Figure(
        "deciles",
        "Predicted and actual win shares",
        frames["deciles"].rows,
        deciles,
        frames["deciles"],
        lambda: charts.deciles(deciles),
        is_open=True,
    )
    yield Figure(
        "errors", "Errors by tiles left", frames["errors"].rows, results.errors, frames["errors"]
    )


_FIGURES = {
    "tournament": _tournament,
    "compare": _compare,
    "balance": _balance,
    "calibrate": _calibrate,
}
