"""Charts from frames: what they show is what the frames say, and every specification is valid."""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from math import inf, nan

import altair as alt
import numpy as np
import polars as pl
import pytest

import pickosim
from pickosim.columns import POINTS, Frame
from pickosim.errors import PickosimError
from pickosim.reports import charts
from pickosim.reports.charts import with_caption
from pickosim.reports.page import captioned, chart_specs, played_facts
from pickosim.reports.views import difference_label
from pickosim.runs.run import Results
from pickosim.stats.intervals import histogram_quantile
from pickosim.studies.calibrate import FEW_POSITIONS
from pickosim.studies.kinds import study_kind
from pickosim.studies.measures import MEASURES
from pickosim.studies.pickup_worths import FRAMES as BALANCE
from pickosim.studies.pickup_worths import GROUPS
from pickosim.studies.schedule import lane
from pickosim.studies.standings import ALL_BOTS
from pickosim.studies.standings import FRAMES as TOURNAMENT
from pickosim.studies.variants import FRAMES as COMPARE
from pickosim.studies.variants import _tested
from pickosim.studies.views import MOST_ROWS

LONG = "threshold:target=25,last_dice=2"


def frame_of(table: Frame, rows) -> pl.DataFrame:
    """Rows with some columns as a frame with all of them."""
    for row in rows:
        assert row.keys() <= table.schema.keys()
    return table.build(dict.fromkeys(table.schema) | row for row in rows)


def interval(name, value, half=0.01):
    return {name: value, f"{name}_low": value - half, f"{name}_high": value + half}


def draw(kind: str, name: str, players: int = 2, points=None, **frames) -> alt.TopLevelMixin | None:
    """A chart of a kind of study, from these tables."""
    plan = {
        "matchups": [["a"] * players],
        "place_points": points,
        "reference": "classic",
        "band": 0.01,
    }
    results = Results(frames, {"kind": kind, "plan": plan, "result": {}})
    (view,) = (view for view in study_kind(kind).views if view.address == name)
    return charts.draw(view, results)


def shown(chart) -> list[dict]:
    """The points of a chart; its specification has been checked by Altair, and is plain JSON."""
    spec = json.loads(json.dumps(chart.to_dict(), allow_nan=False))
    (points,) = spec["datasets"].values()
    return points


def standings(bots, ratings=None) -> pl.DataFrame:
    return frame_of(
        TOURNAMENT["standings"].without("mean_points", "win_share_adjusted"),
        [
            {
                "bot": bot,
                "games": 1000,
                **interval("win_share", 0.5 - 0.1 * k),
                **interval("mean_score", 7.0 - k),
                "mean_rank": 1.5,
                "rating": (ratings or [1500.0 - 50 * k for k in range(len(bots))])[k],
                "rating_error": 12.0,
                "rating_field": 1,
            }
            for k, bot in enumerate(bots)
        ],
    )


# ------------------------------------------------------------------------------------- words


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("eager", ["eager"]),
        ("exactly_eighteen__", ["exactly_eighteen__"]),
        (LONG, ["threshold:", "target=25,", "last_dice=2"]),
        ("bots/mine/late_bird.py:LateBird", ["bots/mine/", "late_bird.py:", "LateBird"]),
        ("a_very_long_name_without_any_joint", ["a_very_long_name_without_any_joint"]),
    ],
)
def test_long_names_are_broken_at_their_joints(name, lines):
    assert charts.broken(name).split("\n") == lines


def test_a_value_is_written_with_interval_and_games():
    row = {"gain": 0.0123, "gain_low": -0.01, "gain_high": 0.03, "games": 12_000}
    words = charts.value_text(row, "gain", POINTS) + charts.games_text(row)
    assert words == "+1.23 points (95 %: -1.00 points to +3.00 points), 12,000 games"


# ------------------------------------------------------------------------------- a tournament


def test_win_shares_are_in_per_cent_with_an_even_share():
    points = shown(draw("tournament", "standings", 4, standings=standings(["eager", LONG])))
    assert [point["value"] for point in points] == pytest.approx([50.0, 40.0])
    assert [point["low"] for point in points] == pytest.approx([49.0, 39.0])
    assert {point["at"] for point in points} == {25.0}
    assert points[1]["label"].count("\n") == 2


def test_points_have_their_own_scale_with_an_even_share():
    ranked = standings(["eager", LONG]).with_columns(
        mean_points=pl.Series([4.25, 3.5]),
        mean_points_low=pl.Series([4.0, 3.0]),
        mean_points_high=pl.Series([4.5, 4.0]),
    )
    points = shown(draw("tournament", "standings", 4, [7, 5, 3, 1], standings=ranked))
    assert [(point["low"], point["value"], point["high"]) for point in points] == [
        (4.0, 4.25, 4.5),
        (3.0, 3.5, 4.0),
    ]
    assert {point["at"] for point in points} == {4.0}
    assert points[0]["words"] == "eager: 4.250 (95 %: 4.000 to 4.500), 1,000 games"


def test_places_are_stacked_in_the_order_of_the_standings():
    rows = [
        {"bot": bot, "place": place, "games": 100, **interval("place_share", share)}
        for bot, shares in (("b", (0.2, 0.3, 0.5)), ("a", (0.5, 0.3, 0.2)))
        for place, share in enumerate(shares, start=1)
    ]
    frames = {"places": frame_of(TOURNAMENT["places"], rows), "standings": standings(["a", "b"])}
    points = shown(draw("tournament", "places", 3, **frames))
    drawn_points = [(point["label"], point["group"], round(point["value"])) for point in points]
    assert drawn_points[:3] == [("a", "place 1", 50), ("a", "place 2", 30), ("a", "place 3", 20)]
    assert [value for _, _, value in drawn_points[3:]] == [20, 30, 50]
    assert points[0]["words"] == "place 1, a: 50.00 % (95 %: 49.00 % to 51.00 %), 100 games"


def test_charts_show_no_more_bots_than_there_is_room_for():
    many = standings([f"bot{k}" for k in range(100)])
    assert len(shown(draw("tournament", "standings", standings=many))) == MOST_ROWS


def test_the_cross_table_has_the_numbers_of_the_standings():
    ranked = standings(["b", "c", "a"])
    pairs = frame_of(
        TOURNAMENT["pairs"],
        [
            {"bot": one, "rival": other, "games": 100, **interval("ahead", share)}
            for one, other, share in (
                *(("a", "b", 0.2), ("b", "a", 0.8), ("c", "a", 0.6)),
                *(("b", "c", 0.7), ("c", "b", 0.3)),
            )
        ],
    )
    cells = shown(draw("tournament", "cross-table", standings=ranked, pairs=pairs))
    drawn_points = {(cell["label"], cell["column"]): cell["share"] for cell in cells}
    known = {("1 b", 3): 80.0, ("2 c", 3): 60.0, ("3 a", 1): 20.0}
    assert drawn_points == pytest.approx(known | {("1 b", 2): 70.0, ("2 c", 1): 30.0})


def test_luck_is_drawn_by_pairs_with_most_of_it_first():
    rows = [
        {"bot": "champion", "rival": "eager", **interval("dice_share", 0.9)},
        {"bot": "champion", "rival": "winner", **interval("dice_share", 0.98)},
    ]
    frame = pl.DataFrame(rows).with_columns(games=pl.lit(1000))
    points = shown(draw("tournament", "luck", luck=frame))
    assert [(point["label"], point["value"]) for point in points] == [
        ("champion against\nwinner", 98.0),
        ("champion against\neager", 90.0),
    ]


def test_ratings_that_are_not_finite_are_not_drawn():
    some = standings(["a", "b", "c"], [inf, 1500.0, nan])
    points = shown(draw("tournament", "ratings", standings=some))
    assert [(point["label"], point["low"], point["high"]) for point in points] == [
        ("b", 1488.0, 1512.0)
    ]
    none = standings(["a", "b"], [inf, -inf])
    assert draw("tournament", "ratings", standings=none) is None


@pytest.mark.parametrize("longest", [40, 700, 2000])
def test_all_games_are_in_the_bars_of_lengths(longest):
    random = np.random.default_rng(longest)
    turns = np.append(random.integers(20, 20 + longest // 4, 5000), [longest])
    values, counts = np.unique(turns, return_counts=True)
    frame = pl.DataFrame({"turns": values, "games": counts})
    points = shown(draw("tournament", "lengths", lengths=frame))
    assert sum(point["value"] for point in points) == pytest.approx(100)
    assert len(points) <= charts.MOST_BARS + 2
    assert all(point["at"] == pytest.approx(turns.mean()) for point in points)
    assert all(a["high"] <= b["low"] for a, b in pairwise(points))


@pytest.mark.parametrize("share", [0.05, 0.5, 0.95, 1.0])
def test_quantiles_are_those_of_the_statistics(share):
    counts = np.array([0, 3, 0, 5, 2, 9, 0, 1], np.int64)
    frame = pl.DataFrame({"turns": np.arange(8), "games": counts})
    assert charts.quantile(frame, share) == histogram_quantile(counts, share)


def test_seats_are_shown_against_their_mean():
    rows = [
        {"bot": bot, "seat": seat, "games": 10, **interval("win_share", share)}
        for bot, shares in ((ALL_BOTS, (0.55, 0.45)), ("eager", (0.8, 0.7)))
        for seat, share in enumerate(shares)
    ]
    frames = {"seats": frame_of(TOURNAMENT["seats"], rows), "standings": standings(["eager"])}
    points = shown(draw("tournament", "seats", **frames))
    assert [point["value"] for point in points] == pytest.approx([5, -5, 5, -5])
    assert "80.00 %" in points[2]["words"]


# --------------------------------------------------------------------- a compare, a balance


def test_effects_leave_out_what_was_not_tested_or_did_not_differ():
    rows = [
        {"measure": "turns", "difference": None, "p_adjusted": None, "variant": "classic"},
        {"measure": "turns", **interval("difference", -2.0), "p_adjusted": 0.001},
        {"measure": "turns_p95", **interval("difference", -2.0), "p_adjusted": None},
        {"measure": "ties", **interval("difference", 0.02), "p_adjusted": 0.2},
        {"measure": "hen_steals", **interval("difference", 0.0), "p_adjusted": 1.0},
    ]
    columns = ("difference", "difference_low", "difference_high", "p_adjusted")
    common = {"players": 2, "variant": "short", "games": 100, **dict.fromkeys(columns)}
    measures = pl.DataFrame([common | row for row in rows], infer_schema_length=None)
    points = shown(draw("compare", "effects", measures=measures))
    drawn_points = [(point["panel"], point["value"], point["beyond"]) for point in points]
    assert drawn_points == [
        ("turns per game", -2.0, True),
        ("ties, points", 2.0, False),
    ]
    assert draw("compare", "effects", measures=measures.head(1)) is None


@pytest.mark.parametrize("measure", [m for m in MEASURES.values() if m.percentile is None])
def test_a_panel_of_differences_names_their_unit_in_a_title_that_fits(measure):
    row = {"measure": measure.name, **interval("difference", 0.5), "p_adjusted": 0.001}
    row |= {"players": 2, "variant": "short", "games": 100}
    measures = frame_of(COMPARE["measures"], [row])
    (point,) = shown(draw("compare", "effects", measures=measures))
    assert max(map(len, point["panel"].split("\n"))) <= 30
    assert point["value"] == (50.0 if measure.is_share else 0.5)
    assert ("points" in point["panel"]) == measure.is_share
    assert "%" not in point["panel"]


def test_the_percentiles_of_variants_are_those_of_their_games():
    """As numpy finds them in the lengths of the single games, for every variant and number of players."""
    variants, sizes, games, seed = ["classic", "short"], (2, 3), 200, 11
    results = pickosim.compare(variants, ["eager"], sizes, games, seed, workers=1)
    points = shown(draw("compare", "lengths", lengths=results.lengths))
    drawn_points = {(point["panel"], point["label"]): point for point in points}
    expected = {}
    for part, size in enumerate(sizes):
        for variant in variants:
            played = pickosim.play(["eager"] * size, variant, games, seed, lane(part))
            turns = played.games["turns"].to_numpy()
            shares = np.quantile(turns, [0.05, 0.25, 0.5, 0.75, 0.95], method="inverted_cdf")
            assert len(set(shares)) == 5
            expected[f"{size} players", variant] = shares.tolist()
    percentiles = ("p5", "p25", "p50", "p75", "p95")
    drawn = {key: [point[name] for name in percentiles] for key, point in drawn_points.items()}
    assert drawn == expected
    assert len(points) == 4
    for (panel, variant), point in drawn_points.items():
        p5, p25, p50, p75, p95 = drawn[panel, variant]
        assert point["words"] == (
            f"{variant}, {panel}: half of 200 games take {p25} to {p75} turns, "
            f"nine in ten {p5} to {p95}; median {p50}"
        )


def test_spans_are_drawn_from_percentile_to_percentile():
    names = ("p5", "p25", "p50", "p75", "p95")
    points = [{"label": label, "words": "", **dict.fromkeys(names, 1)} for label in "ab"]
    layers = charts.spans(points, "turns").to_dict()["layer"]
    ends = [
        [layer["encoding"].get(end, {}).get("field") for end in ("x", "x2")] for layer in layers
    ]
    assert ends == [["p5", "p95"], ["p25", "p75"], ["p50", None]]


def pickups(gains) -> pl.DataFrame:
    return frame_of(
        BALANCE["pickups"],
        [
            {
                "bot": "eager",
                "players": players,
                "specialist": specialist,
                "games": 100,
                **interval("gain", gain, 0.005),
                **interval("from_others", gain - 0.02),
                **interval("score_gain", 10 * gain),
                "verdict": "too strong" if gain > 0.02 else "balanced",
                "p_adjusted": 0.01 if gain > 0.02 else 0.5,
            }
            for players in (2, 4)
            for specialist, gain in gains.items()
        ],
    )


def test_worths_are_drawn_with_what_their_verdicts_are_about():
    """Sorted by worth, with the judged intervals, the centre and the band around it."""
    chart = draw("balance", "pickups", pickups=pickups({"raven": 0.01, "apple": 0.05}))
    points = shown(chart)
    assert [(point["panel"], point["label"]) for point in points] == [
        ("eager, 2 players", "apple"),
        ("eager, 4 players", "apple"),
        ("eager, 2 players", "raven"),
        ("eager, 4 players", "raven"),
    ]
    names = ("value", "low", "high", "at", "band_low", "band_high")
    assert [points[0][name] for name in names] == pytest.approx([5, 4, 6, 2, 1, 3])
    assert points[0]["words"].endswith("; too strong: a pick-up is worth +5.00 points")
    styles = [layer["mark"]["style"] for layer in chart.to_dict()["spec"]["layer"]]
    assert styles == ["band", "centre", "interval", "dot"]


def test_worths_without_verdicts_are_marked_by_what_is_significant():
    alone = pickups({"raven": 0.01, "apple": 0.05}).with_columns(
        pl.lit(None, pl.String).alias("verdict")
    )
    points = shown(draw("balance", "pickups", pickups=alone))
    assert [point["beyond"] for point in points] == [True, True, False, False]
    assert [points[0][name] for name in ("value", "low", "high", "at")] == pytest.approx(
        [5, 4.5, 5.5, 0]
    )


def test_a_chart_says_how_it_is_laid_out():
    spec = draw("balance", "pickups", pickups=pickups({"raven": 0.01, "apple": 0.05})).to_dict()
    assert spec["usermeta"] == {"panels": 2, "panel": charts.PANEL, "legend": 0}
    assert spec["spec"]["width"] == charts.PANEL


# -------------------------------------------------------------------------------- the order of axes


@pytest.fixture(scope="module")
def runs() -> dict[str, Results]:
    """A small run of each kind with charts; in the ratings `eager` has no interval, and is not the last."""
    options = {"seed": 1, "workers": 1}
    bots = ["random", "thief", "eager", "cautious"]
    short = ["exact_only=[]", "tiles={21=1,22=1,23=1,24=1,25=2,26=2}", "turn_limit=150"]
    rules = pickosim.load_rules("extrawurm", [*short, "specialists={weasel=22,apple=24}"])
    return {
        "tournament": pickosim.tournament(bots, "extrawurm", 3, games=60, **options),
        "compare": pickosim.compare(["classic", "short", "french"], bots, "2-3", 24, **options),
        "balance": pickosim.balance(
            rules, ["eager", "cautious"], 2, 30, sensitivity=True, **options
        ),
        "calibrate": pickosim.calibrate("champion", players=2, games=300, **options),
        "analyse": pickosim.analyse("random", games=40, **options),
    }


def tournament_orders(results: Results) -> dict[str, dict]:
    bots = results.standings["bot"].to_list()
    rated = results.standings.sort("rating", descending=True)["bot"].to_list()
    seats = ["seat 0 (begins)", "seat 1", "seat 2"]
    specialists = (
        results.specialists.group_by("specialist")
        .agg(pl.col("win_share_held").mean())
        .filter(pl.col("specialist") != "raven")
        .sort("win_share_held", descending=True)["specialist"]
        .to_list()
    )
    assert rated.index("eager") < len(rated) - 1
    assert results.standings.filter(bot="eager")["rating_error"].to_list() == [None]
    return {
        "standings": {"y": bots},
        "places": {"y": bots, "opacity": ["place 1", "place 2", "place 3"]},
        "cross-table": {"y": [f"{k} {bot}" for k, bot in enumerate(bots, 1)], "x": [1, 2, 3, 4]},
        "ratings": {"y": rated},
        "scores": {"facet": bots},
        "lengths": {},
        "seats": {"y": seats, "facet": ["all bots", *bots]},
        "specialists": {"y": specialists, "facet": bots},
    }


def compare_orders(results: Results) -> dict[str, dict]:
    sizes = ["2 players", "3 players"]
    seats = ["seat 0 (begins)", "seat 1", "seat 2"]
    tested = results.measures.filter(
        pl.col("p_adjusted").is_not_null(), (pl.col("difference") != 0).any().over("measure")
    )
    labels = [
        charts.broken(difference_label(name), 30) for name in dict.fromkeys(tested["measure"])
    ]
    return {
        "effects": {
            "y": ["short", "french"],
            "facet": labels,
            **dict.fromkeys(("color", "yOffset"), sizes),
        },
        "lengths": {"y": ["classic", "short", "french"], "facet": sizes},
        "seats": {
            "y": ["classic", "short", "french"],
            "facet": sizes,
            **dict.fromkeys(("color", "yOffset"), seats),
        },
    }


def balance_orders(results: Results) -> dict[str, dict]:
    levels = ["eager, 2 players", "cautious, 2 players"]
    by_worth = (
        results.pickups.group_by("specialist")
        .agg(pl.col("gain").mean())
        .sort("gain", descending=True)["specialist"]
        .to_list()
    )
    groups = {
        f"pickups-by-{by}": {
            "y": [
                charts.broken(group)
                for of, group in GROUPS
                if of == by and group in results.pickups_by["group"]
            ],
            "facet": by_worth,
            **dict.fromkeys(("color", "yOffset"), levels),
        }
        for by in ("phase", "standing", "former")
    }
    settings = {
        "tile": {"x": [str(tile) for tile in range(21, 27)], "facet": by_worth, "color": levels},
        "number": {"x": [str(worms) for worms in range(7)], "color": levels},
    }
    return {
        "pickups": {"y": by_worth, "facet": levels},
        "pickups-score": {"y": by_worth, "facet": levels},
        **groups,
        **{f"worth-by-{name}": orders for name, orders in settings.items()},
    }


def calibrate_orders(results: Results) -> dict[str, dict]:
    leads = results.by_lead.filter(pl.col("positions") >= FEW_POSITIONS)
    bands = [*(f"{low} to {low + 4}" for low in range(0, 40, 5)), "40 or more"]
    return {
        "deciles": {"y": [f"{low} to {low + 10} %" for low in range(0, 100, 10)]},
        "by-lead": {
            "y": [
                f"{'≥ ' if lead == 10 else '≤ ' if lead == -10 else ''}{lead:+d}"
                for lead in sorted(set(leads["lead"]), reverse=True)
            ],
            "x": [band for band in bands if band in leads["worms_left"]],
        },
    }


def analyse_orders(results: Results) -> dict[str, dict]:
    dice = [*(f"{dice} dice" for dice in range(8, 1, -1)), "1 die", "0 dice"]
    groups = [*(f"{tiles} tiles" for tiles in range(16, 1, -1)), "1 tile", *dice]
    seen = set(results.situations["group"])
    return {
        "mistakes": {"y": [charts.broken(name) for name in results.mistakes["mistake"]]},
        "situations": {
            "y": [group for group in groups if group in seen],
            "facet": ["tiles left", "dice left"],
        },
    }


def orders_in(spec: dict) -> dict[str, list]:
    """The order of every axis, panel and legend of names, as a specification gives it; all layers agree."""
    drawn_points: dict[str, list] = {}
    layers = [spec, *spec.get("spec", spec)["layer"]]
    for encoding in (layer.get("encoding", {}) for layer in layers):
        for channel, what in encoding.items():
            if what.get("type") in ("nominal", "ordinal") and channel not in ("tooltip", "order"):
                assert drawn_points.setdefault(channel, what["sort"]) == what["sort"], channel
    return drawn_points | ({"facet": spec["facet"]["sort"]} if "facet" in spec else {})


@pytest.mark.parametrize(
    "intended",
    [tournament_orders, compare_orders, balance_orders, calibrate_orders, analyse_orders],
)
def test_every_axis_is_in_its_order(runs, intended):
    results = runs[intended.__name__.removesuffix("_orders")]
    assert {name: orders_in(spec) for name, spec in chart_specs(results).items()} == intended(
        results
    )


def test_a_label_that_a_panel_lacks_keeps_its_place():
    points = [
        {"panel": panel, "label": label, "value": 1.0, "low": None, "high": None, "words": ""}
        for panel, labels in (("one", "bd"), ("two", "abcd"), ("three", "de"))
        for label in labels
    ]
    assert orders_in(charts.dots(points, "x").to_dict())["y"] == ["a", "b", "c", "d", "e"]


# ------------------------------------------------------------------------------- domains and captions


def values_of(spec: dict) -> dict[str, list[dict]]:
    """The encodings of numbers by the axis they share, over all layers."""
    drawn_points: dict[str, list[dict]] = {"x": [], "y": []}
    for layer in spec.get("spec", spec)["layer"]:
        for channel, what in layer.get("encoding", {}).items():
            if channel in ("x", "x2", "y", "y2") and what.get("type", "quantitative") != "nominal":
                drawn_points[channel[0]].append(what)
    return drawn_points


@pytest.mark.parametrize("kind", ["tournament", "compare", "balance", "calibrate", "analyse"])
def test_domains_contain_every_interval_with_a_margin(runs, kind):
    """Domains are those of the data: of all fields on an axis, whatever layer draws them."""
    ends = {"value", "low", "high", "at", "band_low", "band_high", "p5", "p95"}
    for name, spec in chart_specs(runs[kind]).items():
        (points,) = spec["datasets"].values()
        present = {end for point in points for end in ends & point.keys() if point[end] is not None}
        axes = values_of(spec)
        drawn = {what["field"] for encodings in axes.values() for what in encodings}
        assert present <= drawn, name
        for encodings in axes.values():
            scales = [what["scale"] for what in encodings if "scale" in what]
            if {"low", "p5"} & {what["field"] for what in encodings} and "bin" not in encodings[0]:
                assert {scale["padding"] for scale in scales} == {charts.MARGIN}, name
                assert not any("domain" in scale or scale["zero"] for scale in scales), name


def test_every_row_of_panels_has_its_axis(runs):
    for results in runs.values():
        for spec in chart_specs(results).values():
            assert "facet" not in spec or spec["resolve"]["axis"]["x"] == "independent"


def test_a_picture_says_what_it_shows_and_what_was_played(runs):
    spec = chart_specs(runs["tournament"])["standings"]
    picture = captioned(spec, "standings", runs["tournament"])
    (drawn,) = picture["vconcat"]
    assert picture["title"]["text"] == ["Tournament: cautious, eager, random and thief"]
    assert picture["title"]["subtitle"][0].startswith("Standings. Win shares with 95 % intervals")
    assert drawn["title"]["orient"] == "bottom"
    footer = " ".join(drawn["title"]["text"]).replace("\u00a0", " ")
    assert "rules: extrawurm · players: 3 · bots: cautious, eager, random and thief" in footer
    games = runs["tournament"].manifest["result"]["games"]
    assert f"games: {games:,}" in footer
    assert "seed: 1 started from Python" in footer
    alt.VConcatChart.from_dict(picture)


def test_the_measure_that_was_asked_about_is_drawn_first():
    options = {"bots": ["eager", "random"], "games": 20, "workers": 1}
    for about, first in (("skill", "skill"), (None, "turns")):
        results = pickosim.compare(["classic", "french"], about=about, **options)
        assert _tested(results)["measure"][0] == first


def test_long_captions_are_broken_before_the_edge(runs):
    """Letters are as wide as DejaVu Sans has them on average: 9.9 pixels in the title, 6.9 below it."""
    question = "How far from the champion does each built-in bot play, in the classic game of two? "
    spec = chart_specs(runs["tournament"])["standings"]
    picture = with_caption(spec, question * 2, [question * 2], [question * 2])
    width = charts.picture_width(0) + 90
    (drawn,) = picture["vconcat"]
    for lines, letter in (
        (picture["title"]["text"], 9.9),
        (picture["title"]["subtitle"], 6.9),
        (drawn["title"]["text"], 6.9),
    ):
        assert width / 2 < letter * max(map(len, lines)) <= width
        assert not any(line.endswith("built-") for line in lines)


def test_the_rules_of_a_picture_name_all_that_differs_from_their_preset(runs):
    facts = dict(played_facts(runs["balance"]))
    assert facts["rules"].startswith("extrawurm with ")
    assert "turn_limit=150" in facts["rules"]


# -------------------------------------------------------------------------------- the theme


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2.1."""

    def luminance(colour: str) -> float:
        parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))

    bright, dull = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dull + 0.05)


@pytest.mark.parametrize("scheme", charts.COLOURS)
def test_colours_can_be_read(scheme):
    colours, ranges = charts.COLOURS[scheme], charts.theme(scheme)["range"]
    for text in ("ink", "quiet", "accent"):
        assert contrast(colours[text], colours["paper"]) >= 4.5
        assert contrast(colours[text], colours["soft"]) >= 4.5
    assert all(contrast(colour, colours["paper"]) >= 3 for colour in ranges["category"])
    assert all(contrast(colour, colours["ink"]) >= 4.5 for colour in ranges["diverging"])


def test_without_the_packages_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)
    monkeypatch.delitem(sys.modules, "pickosim.reports.charts")
    with pytest.raises(PickosimError, match=r"pip install -e \"\.\[report\]\""):
        __import__("pickosim.reports.charts")
