"""Charts: the tables of a run as Altair charts, in colours that a theme adds.

A chart names no colour: its marks have styles, and `theme` gives each style its colour, for a light
page and for a dark one. Nearly every chart is one of five drawings: dots with intervals, bars, stacks
of shares, spans of quantiles, lines. Each is drawn from *points*, rows with the same few columns:

    label    the row of the chart it stands in; lines of a long name are broken
    value    where the dot is, with low and high of its interval
    said     the same in words, shown under the pointer
    panel    the small chart it belongs to, if there are several
    group    what shares a row is told apart by colour
    at       where the dashed line of that panel is
    beyond   whether it is beyond chance: a full dot, otherwise a hollow one
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl

from pickosim.columns import NUMBER, PLACE_POINTS, percent
from pickosim.errors import lacking
from pickosim.reports.cells import difference_label, lead_text
from pickosim.runs.folder import records
from pickosim.stats.quantiles import histogram_quantile
from pickosim.studies.calibrate import FEW_POSITIONS
from pickosim.studies.measures import MEASURES
from pickosim.studies.sentences import is_beyond_chance

try:
    import altair as alt
except ImportError as error:
    raise lacking("Charts and reports need", "report") from error

Point = dict[str, Any]
Chart = alt.TopLevelMixin
Drawing = Chart | None
"""A chart, or None if there is nothing to draw."""

MOST_ROWS = 24
"""Bots, or panels, that a chart shows at most; the tables show more."""

MOST_BARS = 60
"""Bars of a histogram of game lengths."""

PANEL = 230
"""Width of a small chart at the least."""

WIDE = 560
"""Width of a chart that stands alone, where no page sets it."""

ROW, LINE, GROUP = 24, 13, 11
"""Heights: of a row with one line, of a further line in its label, of a dot among several."""

_DOT: dict[str, Any] = {"size": 64, "opacity": 1}

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif"

COLOURS = {
    "light": {
        "paper": "#ffffff",
        "ink": "#1d2126",
        "quiet": "#59626d",
        "line": "#dde1e6",
        "soft": "#f3f5f7",
        "accent": "#0b62a8",
    },
    "dark": {
        "paper": "#15191e",
        "ink": "#e8eaed",
        "quiet": "#a3adb8",
        "line": "#343b44",
        "soft": "#1f252c",
        "accent": "#6cb2f0",
    },
}
"""What the page is coloured with; charts too."""

_CATEGORIES = {
    "light": ["#0b62a8", "#c65102", "#1b7f5c", "#9b3f8f", "#7d6300", "#b3261e", "#4d5560"],
    "dark": ["#6cb2f0", "#f0954e", "#58c79a", "#d890cf", "#d9bd4a", "#f08a80", "#aab3bd"],
}
_DIVERGING = {
    "light": ["#e8a05c", "#f4f3f0", "#7db2e0"],
    "dark": ["#8f4a14", "#262c33", "#1d5f99"],
}


def theme(scheme: str) -> dict[str, Any]:
    """The Vega-Lite configuration for a light or a dark page."""
    colour = COLOURS[scheme]
    text = {"labelColor": colour["quiet"], "titleColor": colour["quiet"]}
    sizes = {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"}
    return {
        "background": "transparent",
        "font": FONT,
        "lineBreak": "\n",
        "view": {"stroke": None},
        "axis": {
            **text,
            **sizes,
            "grid": True,
            "gridColor": colour["line"],
            "domain": False,
            "ticks": False,
            "labelPadding": 6,
            "labelLimit": 260,
        },
        "axisY": {"labelColor": colour["ink"]},
        "legend": {
            **text,
            **sizes,
            "labelColor": colour["ink"],
            "orient": "top",
            "labelLimit": 260,
        },
        "header": {
            "labelColor": colour["ink"],
            "labelFontSize": 13,
            "labelFontWeight": "bold",
            "labelAnchor": "start",
            "labelLimit": 320,
            "title": None,
        },
        "range": {"category": _CATEGORIES[scheme], "diverging": _DIVERGING[scheme]},
        "text": {"color": colour["ink"], "fontSize": 12},
        "style": {
            "interval": {"color": colour["accent"], "strokeWidth": 2, "strokeCap": "round"},
            "dot": {"color": colour["accent"]},
            "hole": {"color": colour["paper"]},
            "reference": {"color": colour["quiet"], "strokeDash": [4, 3]},
            "bars": {"color": colour["accent"]},
            "span": {"color": colour["accent"], "strokeWidth": 1.5},
            "middle": {"color": colour["accent"], "strokeWidth": 7, "opacity": 0.45},
        },
    }


# --------------------------------------------------------------------------------- words in a chart


def broken(name: str, longest: int = 18) -> str:
    """A long name in lines, broken where a bot's spec has a joint."""
    if len(name) <= longest:
        return name
    lines = [""]
    for piece in re.findall(r"[^:,/ ]+[:,/ ]*|[:,/ ]+", name):
        if len(lines[-1] + piece.rstrip()) > longest and lines[-1]:
            lines.append("")
        lines[-1] += piece
    return "\n".join(line.strip() for line in lines)


def points_of(share: float) -> str:
    """A difference of shares as `+1.23 points`."""
    return f"{100 * share:+.2f} points"


def signed(value: float) -> str:
    """A difference of means as `+3.14`."""
    return f"{value:+,.2f}"


def value_text(row: Point, name: str, words: Callable[[float], str]) -> str:
    """A value with its interval and its number of games, as far as they are known."""
    if row[name] is None:
        return "no value"
    said = words(row[name])
    low, high = row.get(f"{name}_low"), row.get(f"{name}_high")
    if low is not None and high is not None:
        said += f" (95 %: {words(low)} to {words(high)})"
    games = row.get("games")
    return said if games is None else f"{said}, {games:,} games"


def _point(
    row: Point, name: str, words: Callable[[float], str], label: str, scale: float = 1.0
) -> Point:
    """A value of a table's row, with its interval, as a point."""

    def scaled(column: str) -> float | None:
        value = row.get(column)
        return None if value is None else value * scale

    return {
        "label": broken(label),
        "value": scaled(name),
        "low": scaled(f"{name}_low"),
        "high": scaled(f"{name}_high"),
        "said": f"{label}: {value_text(row, name, words)}",
    }


def _above(point: Point, level: float) -> Point:
    """A point as the difference to a level; it still says its value."""
    moved = {place: point[place] - level for place in ("value", "low", "high")}
    return point | moved | {"at": 0}


def table_size(players: int, bot: str = "") -> str:
    """What a panel is about, as `eager, 4 players`."""
    return f"{bot}, {players} players" if bot else f"{players} players"


def seat_name(seat: int) -> str:
    """A seat in words; 0 begins."""
    return f"seat {seat} (begins)" if seat == 0 else f"seat {seat}"


# -------------------------------------------------------------------------------- the five drawings


def _data(points: Iterable[Point]) -> alt.InlineData:
    return alt.InlineData(values=list(points))


def _order(points: Iterable[Point], column: str) -> list[Any]:
    """The values of a column in the order in which they first appear."""
    return list(dict.fromkeys(point[column] for point in points))


def _row_height(points: Sequence[Point]) -> int:
    lines: int = max(point["label"].count("\n") for point in points)
    groups = len(_order(points, "group")) if "group" in points[0] else 1
    return max(ROW + LINE * lines, GROUP * groups + 8)


def _rows(points: Sequence[Point]) -> alt.Y:
    # Vega puts the first line of a label beside its row, and not the middle of all lines.
    up = alt.ExprRef(f"-{LINE / 2} * (length(split(datum.label, '\\n')) - 1)")
    axis = alt.Axis(title=None, grid=False, labelLineHeight=LINE, labelOffset=up)
    return alt.Y("label:N", sort=None, axis=axis)


def _in_panels(
    marks: Sequence[alt.Chart], points: Sequence[Point], height: int, *, free: str = ""
) -> Chart:
    """Marks over each other as one chart, or as small ones side by side if their points name panels.

    On the axis `free`, x or y, every panel has a scale of its own.
    `usermeta` tells a page how to lay them out: how wide a panel is at the least, how many there are,
    how many letters the longest name in the legend has.
    """
    layers = alt.LayerChart(layer=list(marks))
    panels = _order(points, "panel") if "panel" in points[0] else []
    groups = _order(points, "group") if "group" in points[0] else []
    layout = {"panels": len(panels), "panel": PANEL, "legend": max(map(len, groups), default=0)}
    if len(panels) < 2:
        return layers.properties(width=WIDE, height=height, usermeta=layout | {"panels": 0})
    facet = alt.Facet("panel:N", sort=panels, title=None)
    # Axes between panels take room only where every panel has its own.
    tall = LINE * max(panel.count("\n") for panel in panels)
    spacing = {"row": tall + (56 if free == "x" else 38), "column": 22}
    chart = layers.properties(width=PANEL, height=height).facet(
        facet=facet, columns=3, spacing=spacing, bounds="flush"
    )
    if free:
        scales: dict[str, Any] = {free: "independent"}
        chart = chart.resolve_scale(**scales)
    return chart.properties(usermeta=layout)


def dots(points: Sequence[Point], title: str | None, *, free: bool = False) -> Drawing:
    """Dots with intervals, one row per label; `free`: every panel has a scale of its own."""
    points = [point for point in points if point["value"] is not None]
    if not points:
        return None
    base = alt.Chart(_data(points))
    y, x = _rows(points), alt.X("value:Q", title=title, scale=alt.Scale(zero=False, nice=True))
    x = x.axis(tickCount=5, labelOverlap="parity", labelSeparation=8)
    groups: dict[str, Any] = {}
    if "group" in points[0]:
        order = _order(points, "group")
        groups = {
            "color": alt.Color("group:N", sort=order, title=None),
            "yOffset": alt.YOffset("group:N", sort=order),
        }
    tip = alt.Tooltip("said:N")
    offset = {name: channel for name, channel in groups.items() if name == "yOffset"}
    hole = alt.condition("datum.beyond === false", alt.value(24), alt.value(0))
    layers = [
        base.mark_rule(style="reference").encode(x="at:Q"),
        base.mark_rule(style="interval").encode(
            x=alt.X("low:Q"), x2="high:Q", y=y, tooltip=tip, **groups
        ),
        base.mark_point(style="dot", filled=True, **_DOT).encode(x=x, y=y, tooltip=tip, **groups),
        base.mark_point(style="hole", filled=True, opacity=1).encode(
            x=x, y=y, size=hole, tooltip=tip, **offset
        ),
    ]
    if all(point.get("beyond", True) for point in points):
        del layers[-1]
    if all(point.get("at") is None for point in points):
        del layers[0]
    height = _row_height(points) * len(_order(points, "label"))
    return _in_panels(layers, points, height, free="x" if free else "")


def bars(points: Sequence[Point], title: str, height: int) -> Drawing:
    """A histogram: each bar from `low` to `high`, `value` tall; the dashed line is at `at`.

    Small ones show shapes: each is as tall as its panel, and has no axis to say how tall.
    """
    base = alt.Chart(_data(points))
    small = "panel" in points[0]
    axis = alt.Axis(tickCount=6, tickMinStep=1, labelOverlap=True, grid=False)
    bar = base.mark_bar(style="bars").encode(
        x=alt.X("low:Q", bin="binned", title=title, axis=axis, scale=alt.Scale(nice=False)),
        x2="high:Q",
        y=alt.Y("value:Q", title="% of games", axis=None if small else alt.Axis(tickCount=4)),
        tooltip=alt.Tooltip("said:N"),
    )
    mean = base.mark_rule(style="reference").encode(x="at:Q")
    return _in_panels([bar, mean], points, height, free="y")


def stacks(points: Sequence[Point], title: str) -> Drawing:
    """Shares that add up to 100 %, one bar per label: stacked by group, in the order of their names."""
    labels = [{"label": label} for label in _order(points, "label")]
    axis = alt.Axis(tickCount=5, grid=False)
    bar = (
        alt.Chart(_data(points))
        .mark_bar(style="bars")
        .encode(
            x=alt.X("value:Q", title=title, scale=alt.Scale(domain=[0, 100]), axis=axis),
            y=_rows(points),
            opacity=alt.Opacity("group:O", title=None, scale=alt.Scale(range=[1, 0.15])),
            order=alt.Order("group:O"),
            tooltip=alt.Tooltip("said:N"),
        )
    )
    return _in_panels([bar], points, _row_height(labels) * len(labels))


def spans(points: Sequence[Point], title: str) -> Drawing:
    """Quantiles, one row per label: p5 to p95 as a line, p25 to p75 as a bar, the median as a dot."""
    base = alt.Chart(_data(points))
    y, tip = _rows(points), alt.Tooltip("said:N")
    x = alt.X("p5:Q", title=title, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=5))
    layers = [
        base.mark_rule(style="span").encode(x=x, x2="p95:Q", y=y, tooltip=tip),
        base.mark_rule(style="middle").encode(x="p25:Q", x2="p75:Q", y=y, tooltip=tip),
        base.mark_point(style="dot", filled=True, **_DOT).encode(x="p50:Q", y=y, tooltip=tip),
    ]
    return _in_panels(layers, points, _row_height(points) * len(_order(points, "label")))


def lines(points: Sequence[Point], title: str) -> Drawing:
    """Values by setting (`label`), one line per group, with intervals; a ring where `given` is true."""
    data = alt.Chart(_data(points))
    axis = alt.Axis(labelAngle=0, labelOverlap=True, labelSeparation=6, grid=False)
    base = data.encode(
        x=alt.X("label:O", title=None, sort=None, axis=axis),
        color=alt.Color("group:N", sort=_order(points, "group"), title=None),
        tooltip=alt.Tooltip("said:N"),
    )
    y = alt.Y("value:Q", title=title, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=5))
    ring = alt.condition("datum.given === true", alt.value(150), alt.value(0))
    layers = [
        data.mark_rule(style="reference").encode(y="at:Q"),
        base.mark_line(strokeWidth=1.5).encode(y=y),
        base.mark_rule(strokeWidth=2).encode(y=alt.Y("low:Q"), y2="high:Q"),
        base.mark_point(filled=True, size=45, opacity=1).encode(y=y),
        base.mark_point(filled=False, opacity=1).encode(y=y, size=ring),
    ]
    if all(point.get("at") is None for point in points):
        del layers[0]
    return _in_panels(layers, points, 170, free="x")


# ------------------------------------------------------------------------------------- a tournament


def mean_points(standings: pl.DataFrame, even: float) -> Drawing:
    """The points of every bot; the dashed line is an even share."""
    return dots(
        [
            _point(row, "mean_points", PLACE_POINTS.text, row["bot"]) | {"at": even}
            for row in records(standings.head(MOST_ROWS))
        ],
        "points per game",
    )


def places(places: pl.DataFrame, standings: pl.DataFrame) -> Drawing:
    """How often every bot comes first, second, …, as bars that add up to all its games."""
    points = []
    for bot in standings["bot"].head(MOST_ROWS):
        for row in records(places.filter(pl.col("bot") == bot)):
            place = f"place {row['place']}"
            point = _point(row, "place_share", percent, bot, 100) | {"group": place}
            points.append(point | {"said": f"{place}, {point['said']}"})
    return stacks(points, "% of games")


def win_shares(standings: pl.DataFrame, players: int) -> Drawing:
    """What every bot wins; the dashed line is an even share."""
    return dots(
        [
            _point(row, "win_share", percent, row["bot"], 100) | {"at": 100 / players}
            for row in records(standings.head(MOST_ROWS))
        ],
        "win share in %",
    )


def cross_table(standings: pl.DataFrame, pairs: pl.DataFrame) -> Drawing:
    """Who finishes ahead of whom, as a heat map; a column has the number of its bot's row."""
    order = standings["bot"].head(MOST_ROWS).to_list()
    number = {bot: k for k, bot in enumerate(order, start=1)}
    cells = [
        {
            "label": broken(f"{number[row['bot']]} {row['bot']}"),
            "column": number[row["rival"]],
            "share": 100 * row["ahead"],
            "said": f"{row['bot']} ahead of {row['rival']}: {value_text(row, 'ahead', percent)}",
        }
        for row in sorted(records(pairs), key=lambda row: number.get(row["bot"], 0))
        if row["bot"] in number and row["rival"] in number
    ]
    return heat_map(cells, "finishes ahead, % of games", 50)


def heat_map(cells: Sequence[Point], title: str, middle: float, across: str = "") -> Drawing:
    """Shares in percent by row (`label`) and `column`, coloured by the side of the `middle` they are on."""
    columns = _order(cells, "column")
    base = alt.Chart(_data(cells)).encode(
        x=alt.X(
            "column:O",
            title=across or None,
            sort=columns,
            axis=alt.Axis(orient="top", labelAngle=0, grid=False),
        ),
        y=_rows(cells),
        tooltip=alt.Tooltip("said:N"),
    )
    cell = base.mark_rect().encode(
        color=alt.Color(
            "share:Q",
            scale=alt.Scale(
                domain=[0, 100], domainMid=middle, range="diverging", interpolate="rgb"
            ),
            legend=alt.Legend(title=title, gradientLength=180),
        )
    )
    room = f"width / {len(columns)}"
    text = base.mark_text(
        text=alt.ExprRef(f"{room} < 22 ? '' : format(datum.share, {room} < 34 ? '.0f' : '.1f')"),
        fontSize=alt.ExprRef(f"{room} < 30 ? 10 : 12"),
    )
    height = _row_height(cells) * len(_order(cells, "label"))
    return alt.layer(cell, text).properties(width=WIDE, height=height)


def ratings(standings: pl.DataFrame) -> Drawing:
    """Ratings with their intervals, the best first; None if no bot has a finite one."""
    rows = [row for row in records(standings) if row["rating"] is not None]
    rows = sorted(rows, key=lambda row: (row["rating_field"], -row["rating"]))[:MOST_ROWS]
    points = []
    for row in rows:
        error = row["rating_error"]
        span = (
            {}
            if error is None
            else {
                "rating_low": row["rating"] - error,
                "rating_high": row["rating"] + error,
            }
        )
        point = _point({**row, **span}, "rating", lambda value: f"{value:,.0f}", row["bot"])
        points.append(point | {"panel": f"field {row['rating_field']}"})
    return dots(points, "rating")


def scores(scores: pl.DataFrame, standings: pl.DataFrame) -> Drawing:
    """How many worms every bot ends with; the dashed line is its mean."""
    points = []
    for row in records(standings.head(MOST_ROWS)):
        bot = row["bot"]
        counts = records(scores.filter(pl.col("bot") == bot))
        games = sum(count["games"] for count in counts)
        points += [
            {
                "panel": broken(bot, 30),
                "low": count["score"] - 0.5,
                "high": count["score"] + 0.5,
                "value": 100 * count["games"] / games,
                "at": row["mean_score"],
                "said": f"{bot}: {count['score']} worms in {percent(count['games'] / games)} "
                f"of {games:,} games",
            }
            for count in counts
        ]
    return bars(points, "worms at the end", 70)


def lengths(lengths: pl.DataFrame) -> Drawing:
    """How many turns games take; the longest half per cent in one bar; the dashed line is the mean."""
    played: list[tuple[int, int]] = lengths.sort("turns").select("turns", "games").rows()
    games = sum(number for _, number in played)
    mean = sum(turns * number for turns, number in played) / games
    first, last = played[0][0], quantile(lengths, 0.995)
    width = max(1, -(-(last - first + 1) // MOST_BARS))
    counted: dict[int, int] = {}
    for turns, number in played:
        start = first + (min(turns, last + 1) - first) // width * width
        counted[start] = counted.get(start, 0) + number
    points = []
    for start, number in sorted(counted.items()):
        end = start + width - 1
        words = f"{start:,}" if width == 1 else f"{start:,} to {end:,}"
        if end > last:
            words = f"{start:,} and more"
        points.append(
            {
                "low": start - 0.5,
                "high": end + 0.5,
                "value": 100 * number / games,
                "at": mean,
                "said": f"{words} turns: {percent(number / games)} of {games:,} games",
            }
        )
    and_more = f"; last bar: {start:,} and more" if end > last else ""
    return bars(points, f"turns of a game{and_more}", 180)


def quantile(counts: pl.DataFrame, share: float) -> int:
    """The smallest number of turns that at least this share of the games does not exceed."""
    games = np.bincount(counts["turns"].to_numpy(), counts["games"].to_numpy())
    return int(histogram_quantile(games, share))


def seats(seats: pl.DataFrame, standings: pl.DataFrame) -> Drawing:
    """What a seat wins more than the mean of all seats, with all bots and with each."""
    everybody = seats["bot"][0]
    points = []
    for bot in [everybody, *standings["bot"].head(MOST_ROWS - 1).to_list()]:
        rows = records(seats.filter(pl.col("bot") == bot))
        mean = sum(row["win_share"] for row in rows) / max(1, len(rows))
        for row in rows:
            point = _point(row, "win_share", percent, seat_name(row["seat"]), 100)
            panel = "all bots" if bot == everybody else broken(bot, 30)
            points.append(_above(point, 100 * mean) | {"panel": panel})
    return dots(points, "points above the mean of all seats")


def specialists(specialists: pl.DataFrame, standings: pl.DataFrame) -> Drawing:
    """The win share of a bot in games that it ended with a specialist; dashed: in all its games."""
    points = []
    for row in records(standings.head(MOST_ROWS)):
        held = specialists.filter(pl.col("bot") == row["bot"])
        points += [
            _point(
                found | {"games": found["games_held"]},
                "win_share_held",
                percent,
                found["specialist"],
                100,
            )
            | {"panel": broken(row["bot"], 30), "at": 100 * row["win_share"]}
            for found in records(held)
        ]
    return dots(points, "win share in % if held at the end")


# ---------------------------------------------------------------------------------------- a compare


def effects(measures: pl.DataFrame) -> Drawing:
    """What a variant changes, measure by measure, paired by dice; None if nothing is compared."""
    compared = measures.filter(pl.col("p_adjusted").is_not_null())
    several = compared["players"].n_unique() > 1
    points = []
    for measure in compared["measure"].unique(maintain_order=True):
        rows = records(compared.filter(pl.col("measure") == measure))
        if all(row["difference"] == 0 for row in rows):
            continue
        share = MEASURES[measure].is_share
        for row in rows:
            point = _point(
                row,
                "difference",
                points_of if share else signed,
                row["variant"],
                100 if share else 1,
            )
            point |= {
                "panel": broken(difference_label(measure), 30),
                "at": 0,
                "beyond": is_beyond_chance(row),
            }
            if several:
                point |= {"group": table_size(row["players"])}
                point["said"] = f"{table_size(row['players'])}, {point['said']}"
            points.append(point)
    return dots(points, None, free=True)


def variant_lengths(lengths: pl.DataFrame) -> Drawing:
    """How many turns games take, variant by variant."""
    points = []
    for players in lengths["players"].unique(maintain_order=True):
        at_table = lengths.filter(pl.col("players") == players)
        for variant in at_table["variant"].unique(maintain_order=True):
            counts = at_table.filter(pl.col("variant") == variant)
            found = {f"p{k}": quantile(counts, k / 100) for k in (5, 25, 50, 75, 95)}
            points.append(
                {
                    "label": broken(variant),
                    "panel": table_size(players),
                    **found,
                    "said": f"{variant}, {table_size(players)}: half of {counts['games'].sum():,} "
                    f"games take {found['p25']} to {found['p75']} turns, nine in ten "
                    f"{found['p5']} to {found['p95']}; median {found['p50']}",
                }
            )
    return spans(points, "turns of a game")


def variant_seats(seats: pl.DataFrame) -> Drawing:
    """What a seat wins more than an even share, variant by variant."""
    points = []
    for row in records(seats):
        seat = seat_name(row["seat"])
        point = _above(_point(row, "win_share", percent, row["variant"], 100), 100 / row["players"])
        point["said"] = f"{seat}, {point['said']}"
        points.append(point | {"panel": table_size(row["players"]), "group": seat})
    return dots(points, "points above an even share")


# ---------------------------------------------------------------------------------------- a balance


def pickups(pickups: pl.DataFrame, measure: str = "gain") -> Drawing:
    """What a pick-up of a specialist is worth: `gain` in win share, or `score_gain`."""
    share = measure != "score_gain"
    points = []
    for row in _by_worth(pickups.filter(pl.col(measure).is_not_null()), pickups):
        words = points_of if share else signed
        point = _point(row, measure, words, row["specialist"], 100 if share else 1)
        point |= {"panel": _level(row), "at": 0}
        if measure == "gain":
            point["beyond"] = is_beyond_chance(row)
            point["said"] += f"; {row['verdict']}" if row["verdict"] else ""
        points.append(point)
    return dots(points, "points of win share" if share else "worms")


def pickups_by(groups: pl.DataFrame) -> Drawing:
    """What a pick-up is worth by phase or standing, specialist by specialist."""
    points = []
    several = groups.select("bot", "players").n_unique() > 1
    for row in records(groups):
        point = _point(row, "gain", points_of, row["group"], 100)
        point |= {"panel": row["specialist"], "at": 0}
        if several:
            point |= {"group": _level(row)}
            point["said"] = f"{_level(row)}, {point['said']}"
        points.append(point)
    return dots(points, "points of win share")


def sensitivity(sensitivity: pl.DataFrame, measure: str = "gain") -> Drawing:
    """The worth of a pick-up (`gain`), or how many `pick_ups` there are, by starting tile or number."""
    share = measure == "gain"
    points = []
    for row in records(sensitivity):
        what = "" if row["option"].startswith("specialists.") else f": {row['option']}"
        words, scale = (points_of, 100) if share else (NUMBER.text, 1)
        point = _point(row, measure, words, row["setting"], scale)
        point |= {
            "label": short_setting(row["setting"]),
            "panel": f"{row['specialist']}{what}",
            "group": _level(row),
            "given": row["as_given"],
            "said": f"{row['option']} = {point['said']} ({_level(row)})",
        }
        points.append(point | ({"at": 0} if share else {}))
    return lines(points, "points of win share" if share else "pick-ups per game")


def short_setting(setting: str) -> str:
    """A setting as a label has room for it: faces of a die without commas, W for a worm."""

    def faces(found: re.Match[str]) -> str:
        return re.sub("[, ]", "", found[1].replace("worm", "W"))

    return re.sub(r"\[([^]]*)\]", faces, setting).replace("specialists.", "")


# -------------------------------------------------------------------------------------- a calibration


def deciles(deciles: pl.DataFrame) -> Drawing:
    """How far actual win shares are from the predicted ones, by tenth of the chances."""
    return dots(
        [
            _point(row, "difference", points_of, row["chances"], 100) | {"at": 0}
            for row in records(deciles)
        ],
        "actual minus predicted, in points",
    )


def by_lead(by_lead: pl.DataFrame, players: int) -> Drawing:
    """The win chance by lead and by worms left on the grill, as a heat map; the largest lead on top."""
    rows = sorted(records(by_lead), key=lambda row: -row["lead"])
    cells = [
        {
            "label": lead_text(row["lead"]),
            "column": row["worms_left"],
            "share": 100 * row["predicted"],
            "said": f"lead {lead_text(row['lead'])}, {row['worms_left']} worms left: predicted "
            f"{percent(row['predicted'])}, actual {value_text(row, 'actual', percent)}",
        }
        for row in rows
        if row["positions"] >= FEW_POSITIONS
    ]
    return heat_map(cells, "chance to win, %", 100 / players, "worms left on the grill")


def _level(row: Point) -> str:
    return table_size(row["players"], row["bot"])


def _by_worth(frame: pl.DataFrame, worth: pl.DataFrame) -> list[Point]:
    """Rows of a table in the order of the specialists' worth, the greatest first."""
    means = worth.group_by("specialist").agg(pl.col("gain").mean())
    rank = dict(zip(means["specialist"], means["gain"], strict=True))
    return sorted(records(frame), key=lambda row: -rank.get(row["specialist"], 0.0))
