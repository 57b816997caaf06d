"""Charts: the views of a run as Altair charts, in colours that a theme adds.

A chart names no colour: its marks have styles, and `theme` gives each style its colour, for a light
page and for a dark one. Every chart is one of six drawings: dots with intervals, bars, stacks of
shares, spans of quantiles, lines, heat maps. Each is drawn from *points*, rows with the same few columns:

    label    the row of the chart it stands in; lines of a long name are broken
    value    where the dot is, with low and high of its interval
    words    the same in words, shown under the pointer
    panel    the small chart it belongs to, if there are several
    group    what shares a row is told apart by colour
    at       where the dashed line of that panel is; with a band around it (band_low, band_high), a line in its row
    beyond   whether it is significant: a full dot, otherwise a hollow one
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from importlib.resources import files
from textwrap import wrap
from typing import Any

import numpy as np
import polars as pl

from pickosim.columns import BY_MEASURE, PERCENT, Format, percent
from pickosim.errors import lacking
from pickosim.reports.views import for_row, name_of, table_size
from pickosim.runs.folder import records
from pickosim.runs.run import Results
from pickosim.stats.intervals import histogram_quantile
from pickosim.studies.measures import is_significant
from pickosim.studies.views import MOST_ROWS, Crossed, Dots, Lines, View, distinct

try:
    import altair as alt
except ImportError as error:
    raise lacking("Charts and reports need", "report") from error

Point = dict[str, Any]
Chart = alt.TopLevelMixin
Drawing = Chart | None
"""A chart, or None if there is nothing to draw."""

MOST_BARS = 60
"""Bars of a histogram of game lengths."""

PANEL = 230
"""Width of a small chart at the least."""

COLUMNS = 2
"""Small charts beside each other, where no page sets it."""

WIDE = 560
"""Width of a chart that stands alone, where no page sets it."""

ROW, LINE, GROUP = 24, 13, 11
"""Heights: of a row with one line, of a further line in its label, of a dot among several."""

MARGIN = 10
"""Pixels between the outermost mark of an axis and the edge of its panel."""

SLANTED = 4
"""Letters of a setting from which on the labels of an axis of settings are slanted."""

_DOT: dict[str, Any] = {"size": 64, "opacity": 1}

PICTURE_FONT = "Arial, Helvetica, 'Liberation Sans', sans-serif"
"""Fonts whose letters are equally wide, so that a picture has room for its labels wherever it is opened."""

_THEME = json.loads(files("pickosim.reports").joinpath("assets", "theme.json").read_bytes())

COLOURS: dict[str, dict[str, str]] = _THEME["colours"]
"""What a light and a dark page are coloured with; charts too."""


def theme(scheme: str) -> dict[str, Any]:
    """The Vega-Lite configuration for a light or a dark page."""
    values = COLOURS[scheme] | _THEME["ranges"][scheme]

    def coloured(part: Any) -> Any:
        if isinstance(part, dict):
            return {name: coloured(value) for name, value in part.items()}
        return values[part[1:]] if isinstance(part, str) and part.startswith("$") else part

    config: dict[str, Any] = coloured(_THEME["config"])
    return config


def picture_theme(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration for a picture on white: as for a light page, with legends that fit its width."""
    light, layout = theme("light"), spec.get("usermeta", {})
    letters = layout.get("legend", 0)
    columns = max(1, picture_width(layout.get("panels", 0)) // (8 * letters + 40)) if letters else 0
    return light | {
        "background": COLOURS["light"]["paper"],
        "padding": {"left": 24, "right": 16, "top": 14, "bottom": 12},
        "font": PICTURE_FONT,
        "legend": light["legend"] | {"columns": columns, "columnPadding": 24},
    }


def picture_width(panels: int) -> int:
    """How wide the panels of a picture are together."""
    return min(panels, COLUMNS) * PANEL if panels > 1 else WIDE


def with_caption(
    spec: Mapping[str, Any], title: str, about: Sequence[str], footer: Sequence[str]
) -> dict[str, Any]:
    """A chart that stands alone: above it what it shows, below it how it was played; long lines are broken."""
    # Legends stand between the title of the whole and the chart; the chart's own title is the line below it.
    drawn = dict(spec)
    around: dict[str, Any] = {
        name: drawn.pop(name) for name in ("$schema", "datasets", "config") if name in drawn
    }
    # Letters of 12 pixels are at most 7 wide on average, and bold ones of 16 pixels 10.
    width = picture_width(drawn.get("usermeta", {}).get("panels", 0)) + 90
    letters = width // 7
    colour, quiet = COLOURS["light"]["ink"], COLOURS["light"]["quiet"]
    left = {"anchor": "start", "frame": "bounds", "align": "left"}
    above = {
        **left,
        "text": wrap(title, width // 10, break_on_hyphens=False),
        "fontSize": 16,
        "color": colour,
        "subtitle": [
            line for text in about for line in wrap(text, letters, break_on_hyphens=False)
        ],
        "subtitleFontSize": 12,
        "subtitleColor": quiet,
        "subtitlePadding": 6,
        "offset": 16,
    }
    drawn["title"] = {
        **left,
        "orient": "bottom",
        "text": [line for text in footer for line in wrap(text, letters, break_on_hyphens=False)],
        "fontSize": 11,
        "fontWeight": "normal",
        "color": quiet,
        "offset": 14,
    }
    return {**around, "usermeta": drawn.pop("usermeta", {}), "title": above, "vconcat": [drawn]}


# ------------------------------------------------------------------------------- what a view declares


def draw(view: View, results: Results) -> Drawing:
    """The chart of a view; None if it has none, or nothing to draw."""
    match chart := view.chart_of(results):
        case None:
            return None
        case str():
            return _DRAWINGS[chart](results)
    rows = records(chart.rows(results) if chart.rows else view.rows_of(results))
    if not rows:
        return None
    match chart:
        case Lines():
            return lines(points_of(view, chart, rows), chart.axis)
        case Dots():
            points = points_of(view, chart, rows)
            return dots(points, chart.axis, chart.down, free=chart.own_scales)
        case Crossed():
            order, across = chart.order(results, rows)
            return heat_map(chart, order[:MOST_ROWS], across[:MOST_ROWS], rows)


def points_of(view: View, chart: Dots, rows: Sequence[Point]) -> list[Point]:
    """The rows of a table as points; of dots, a group that is the only one goes without saying."""
    column, ends = view.frame.column(chart.value), {"value": "", "low": "_low", "high": "_high"}
    groups = {name_of(chart.group, row) for row in rows} if chart.group else set()
    line = chart if isinstance(chart, Lines) else None
    points = []
    for row in rows:
        form = for_row(column, row).format or BY_MEASURE
        name = name_of(line.called if line else chart.label, row)
        level = row[chart.above] if chart.above else 0.0
        point: Point = {
            place: _scaled(form, row.get(f"{chart.value}{end}"), level)
            for place, end in ends.items()
        }
        point["label"] = broken(name_of(chart.label, row))
        point["words"] = f"{name}: {value_text(row, chart.value, form)}{games_text(row)}"
        if chart.at is not None:
            point["at"] = _scaled(form, row[chart.at]) if isinstance(chart.at, str) else chart.at
        if chart.band and point["at"] is not None:
            half = form.scale * row[chart.band]
            point |= {"band_low": point["at"] - half, "band_high": point["at"] + half}
        if chart.panel:
            point["panel"] = broken(name_of(chart.panel, row), 30)
        if len(groups) > 1 or line:
            point["group"] = name_of(chart.group, row)
            point["words"] = f"{point['group']}, {point['words']}"
        if chart.tested:
            point["beyond"] = is_significant(row)
        if line:
            point["ring"] = row[line.ringed]
        if chart.remark and row[chart.remark]:
            point["words"] += f"; {row[chart.remark]}"
        points.append(point)
    return points


def _scaled(form: Format, value: float | None, level: float = 0.0) -> float | None:
    return None if value is None else form.scale * (value - level)


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


def value_text(row: Point, name: str, form: Format) -> str:
    """A value with its interval, as far as they are known."""
    if row[name] is None:
        return "no value"
    low, high = row.get(f"{name}_low"), row.get(f"{name}_high")
    if low is None or high is None:
        return form.text(row[name])
    return f"{form.text(row[name])} (95 %: {form.text(low)} to {form.text(high)})"


def games_text(row: Point) -> str:
    """The number of games that a row rests on, as far as it is known."""
    games = row.get("games")
    return "" if games is None else f", {games:,} games"


# --------------------------------------------------------------------------------- the six drawings


def _data(points: Iterable[Point]) -> alt.InlineData:
    return alt.InlineData(values=list(points))


def _labels(points: Sequence[Point]) -> list[str]:
    """All labels, in an order that every panel has too; one that a panel lacks does not come last."""
    order: list[str] = []
    for panel in dict.fromkeys(point.get("panel") for point in points):
        at = len(order)
        for label in reversed(distinct([p for p in points if p.get("panel") == panel], "label")):
            if label in order:
                at = order.index(label)
            else:
                order.insert(at, label)
    return order


def _height(labels: Sequence[str], groups: int = 1) -> int:
    """The height of a chart with these rows."""
    lines = max(label.count("\n") for label in labels)
    return len(labels) * max(ROW + LINE * lines, GROUP * groups + 8)


def _rows(labels: Sequence[str], title: str | None = None) -> alt.Y:
    """The rows of a chart. Their order is given: Vega's own leaves gaps to the end."""
    # Vega puts the first line of a label beside its row, and not the middle of all lines.
    up = alt.ExprRef(f"-{LINE / 2} * (length(split(datum.label, '\\n')) - 1)")
    axis = alt.Axis(title=title, grid=False, labelLineHeight=LINE, labelOffset=up)
    return alt.Y("label:N", sort=list(labels), axis=axis)


def _scale() -> alt.Scale:
    """A scale of values: from the lowest end of an interval to the highest, with a margin."""
    return alt.Scale(zero=False, nice=False, padding=MARGIN)


def _in_panels(
    marks: Sequence[alt.Chart],
    points: Sequence[Point],
    height: int,
    *,
    free: Collection[str] = (),
    axis_height: int = 38,
) -> Chart:
    """Marks over each other as one chart, or as small ones side by side if their points name panels.

    On the axes `free`, x or y, every panel has a scale of its own.
    `usermeta` tells a page how to lay them out: how wide a panel is at the least, how many there are,
    how many letters the longest name in the legend has.
    """
    layers = alt.LayerChart(layer=list(marks))
    panels = distinct(points, "panel") if "panel" in points[0] else []
    groups = distinct(points, "group") if "group" in points[0] else []
    layout = {"panels": len(panels), "panel": PANEL, "legend": max(map(len, groups), default=0)}
    if len(panels) < 2:
        return layers.properties(width=WIDE, height=height, usermeta=layout | {"panels": 0})
    facet = alt.Facet("panel:N", sort=panels, title=None)
    # Panels are laid out by their frames alone: the axis below each and the next one's title need room.
    title_height = 30 + LINE * max(panel.count("\n") for panel in panels)
    spacing = {"row": title_height + axis_height, "column": 22}
    chart: alt.FacetChart = layers.properties(width=PANEL, height=height).facet(
        facet=facet, columns=COLUMNS, spacing=spacing, bounds="flush"
    )
    chart = chart.resolve_axis(x="independent")
    if free:
        scales: dict[str, Any] = dict.fromkeys(free, "independent")
        chart = chart.resolve_scale(**scales)
    return chart.properties(usermeta=layout)


def dots(
    points: Sequence[Point], title: str | None, down: str | None = None, *, free: bool = False
) -> Drawing:
    """Dots with intervals, one row per label; `free`: every panel has a scale of its own.

    So it has rows of its own, if it shares none with another one.
    """
    points = [point for point in points if point["value"] is not None]
    if not points:
        return None
    labels, base = _labels(points), alt.Chart(_data(points))
    axis = alt.Axis(tickCount=5, labelOverlap="parity", labelSeparation=8)
    y, x = _rows(labels, down), alt.X("value:Q", title=title, scale=_scale(), axis=axis)
    order = distinct(points, "group") if "group" in points[0] else []
    offset: dict[str, Any] = {"yOffset": alt.YOffset("group:N", sort=order)} if order else {}
    groups = offset | ({"color": alt.Color("group:N", sort=order, title=None)} if order else {})
    tip = alt.Tooltip("words:N")
    layers = [
        *_reference(base, points, y),
        base.mark_rule(style="interval").encode(
            x=alt.X("low:Q"), x2="high:Q", y=y, tooltip=tip, **groups
        ),
        base.mark_point(style="dot", filled=True, **_DOT).encode(x=x, y=y, tooltip=tip, **groups),
    ]
    if not all(point.get("beyond", True) for point in points):
        hole = base.mark_point(style="hole", filled=True, opacity=1)
        size = alt.condition("datum.beyond === false", alt.value(24), alt.value(0))
        layers.append(hole.encode(x=x, y=y, size=size, tooltip=tip, **offset))
    rows = {(point.get("panel"), point["label"]) for point in points}
    apart = len(rows) == len(labels) and "panel" in points[0]
    own = [axis for axis, is_own in (("x", free), ("y", apart)) if is_own]
    return _in_panels(layers, points, _height(labels, len(order)), free=own)


def _reference(base: alt.Chart, points: Sequence[Point], y: alt.Y) -> list[alt.Chart]:
    """The dashed line of every panel; with bands, a line and a band in every row, where equal ones meet."""
    if "band_low" in points[0]:
        return [
            base.mark_bar(style="band", size=ROW).encode(x="band_low:Q", x2="band_high:Q", y=y),
            base.mark_tick(style="centre", size=ROW).encode(x="at:Q", y=y),
        ]
    is_drawn = any(point.get("at") is not None for point in points)
    return [base.mark_rule(style="reference").encode(x="at:Q")] if is_drawn else []


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
        tooltip=alt.Tooltip("words:N"),
    )
    mean = base.mark_rule(style="reference").encode(x="at:Q")
    return _in_panels([bar, mean], points, height, free=["y"])


def stacks(points: Sequence[Point], title: str) -> Drawing:
    """Shares that add up to 100 %, one bar per label: stacked by group, in the order of their names."""
    labels, places = distinct(points, "label"), sorted(distinct(points, "group"))
    axis = alt.Axis(tickCount=5, grid=False)
    bar = (
        alt.Chart(_data(points))
        .mark_bar(style="bars")
        .encode(
            x=alt.X("value:Q", title=title, scale=alt.Scale(domain=[0, 100]), axis=axis),
            y=_rows(labels),
            opacity=alt.Opacity(
                "group:O", title=None, sort=places, scale=alt.Scale(range=[1, 0.15])
            ),
            order=alt.Order("group:O"),
            tooltip=alt.Tooltip("words:N"),
        )
    )
    return _in_panels([bar], points, _height(labels))


def spans(points: Sequence[Point], title: str) -> Drawing:
    """Quantiles, one row per label: p5 to p95 as a line, p25 to p75 as a bar, the median as a dot."""
    base, labels = alt.Chart(_data(points)), _labels(points)
    y, tip = _rows(labels), alt.Tooltip("words:N")
    x = alt.X("p5:Q", title=title, scale=_scale(), axis=alt.Axis(tickCount=5))
    layers = [
        base.mark_rule(style="span").encode(x=x, x2="p95:Q", y=y, tooltip=tip),
        base.mark_rule(style="middle").encode(x="p25:Q", x2="p75:Q", y=y, tooltip=tip),
        base.mark_point(style="dot", filled=True, **_DOT).encode(x="p50:Q", y=y, tooltip=tip),
    ]
    return _in_panels(layers, points, _height(labels))


def lines(points: Sequence[Point], title: str | None) -> Drawing:
    """Values by setting (`label`), one line per group, with intervals; a ring where `ring` is true."""
    data = alt.Chart(_data(points))
    slanted = any(len(point["label"]) > SLANTED for point in points)
    axis = alt.Axis(labelAngle=-40 if slanted else 0, labelOverlap=not slanted, grid=False)
    base = data.encode(
        x=alt.X("label:O", title="setting", sort=_labels(points), axis=axis),
        color=alt.Color("group:N", sort=distinct(points, "group"), title=None),
        tooltip=alt.Tooltip("words:N"),
    )
    y = alt.Y("value:Q", title=title, scale=_scale(), axis=alt.Axis(tickCount=5))
    ring = alt.condition("datum.ring === true", alt.value(150), alt.value(0))
    layers = [
        data.mark_rule(style="reference").encode(y="at:Q"),
        base.mark_line(strokeWidth=1.5).encode(y=y),
        base.mark_rule(strokeWidth=2).encode(y=alt.Y("low:Q"), y2="high:Q"),
        base.mark_point(filled=True, size=45, opacity=1).encode(y=y),
        base.mark_point(filled=False, opacity=1).encode(y=y, size=ring),
    ]
    if all(point.get("at") is None for point in points):
        del layers[0]
    return _in_panels(layers, points, 170, free=["x"], axis_height=60 if slanted else 38)


def heat_map(
    chart: Crossed, order: Sequence[Any], across: Sequence[Any], rows: Sequence[Point]
) -> Drawing:
    """Shares in percent by row and column, both in this order; the colour says on which side of the middle."""
    names = [f"{k} {name}" if chart.numbered else name for k, name in enumerate(order, start=1)]
    label = {name: broken(f"{words}") for name, words in zip(order, names, strict=True)}
    columns = {name: k if chart.numbered else name for k, name in enumerate(across, start=1)}
    cells = [
        {
            "label": label[row[chart.row]],
            "column": columns[row[chart.across]],
            "share": 100 * row[chart.value],
            "words": chart.words.format(**_texts(row)) + games_text(row),
        }
        for row in rows
        if row[chart.row] in label and row[chart.across] in columns
    ]
    if not cells:
        return None
    base = alt.Chart(_data(cells)).encode(
        x=alt.X(
            "column:O",
            title=chart.axis,
            sort=list(columns.values()),
            axis=alt.Axis(orient="top", labelAngle=0, grid=False),
        ),
        y=_rows(list(label.values()), chart.down),
        tooltip=alt.Tooltip("words:N"),
    )
    scale = alt.Scale(domain=[0, 100], domainMid=chart.middle, range="diverging", interpolate="rgb")
    cell = base.mark_rect().encode(
        color=alt.Color(
            "share:Q", scale=scale, legend=alt.Legend(title=chart.legend, gradientLength=180)
        )
    )
    room = f"width / {len(columns)}"
    text = base.mark_text(
        text=alt.ExprRef(f"{room} < 22 ? '' : format(datum.share, {room} < 34 ? '.0f' : '.1f')"),
        fontSize=alt.ExprRef(f"{room} < 30 ? 10 : 12"),
    )
    height = _height(list(label.values()))
    no_frame = alt.ViewBackground(stroke=None)
    return alt.layer(cell, text).properties(width=WIDE, height=height, view=no_frame)


def _texts(row: Point) -> dict[str, str]:
    """The columns of a row in words; shares with their intervals."""
    return {
        name: value_text(row, name, PERCENT) if isinstance(value, float) else str(value)
        for name, value in row.items()
    }


# --------------------------------------------------------------------------------- drawings by name


def _places(results: Results) -> Drawing:
    """How often every bot comes first, second, …, as bars that add up to all its games."""
    points = [
        {
            "label": broken(bot),
            "group": f"place {row['place']}",
            "value": 100 * row["place_share"],
            "words": f"place {row['place']}, {bot}: {value_text(row, 'place_share', PERCENT)}{games_text(row)}",
        }
        for bot in results.standings["bot"].head(MOST_ROWS)
        for row in records(results.places.filter(pl.col("bot") == bot))
    ]
    return stacks(points, "% of games")


def _scores(results: Results) -> Drawing:
    """How many worms every bot ends with; the dashed line is its mean."""
    points = []
    for row in records(results.standings.head(MOST_ROWS)):
        counts = records(results.scores.filter(pl.col("bot") == row["bot"]))
        games = sum(count["games"] for count in counts)
        points += [
            {
                "panel": broken(row["bot"], 30),
                "low": count["score"] - 0.5,
                "high": count["score"] + 0.5,
                "value": 100 * count["games"] / games,
                "at": row["mean_score"],
                "words": f"{row['bot']}: {count['score']} worms in {percent(count['games'] / games)} "
                f"of {games:,} games",
            }
            for count in counts
        ]
    return bars(points, "worms at the end", 70)


def _lengths(results: Results) -> Drawing:
    """How many turns games take; the longest half per cent in one bar; the dashed line is the mean."""
    lengths = results.lengths
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
                "words": f"{words} turns: {percent(number / games)} of {games:,} games",
            }
        )
    and_more = f"; last bar: {start:,} and more" if end > last else ""
    return bars(points, f"turns of a game{and_more}", 180)


def quantile(counts: pl.DataFrame, share: float) -> int:
    """The smallest number of turns that at least this share of the games does not exceed."""
    games = np.bincount(counts["turns"].to_numpy(), counts["games"].to_numpy())
    return int(histogram_quantile(games, share))


def _variant_lengths(results: Results) -> Drawing:
    """How many turns games take, variant by variant."""
    points = []
    for (players, variant), counts in results.lengths.group_by(
        "players", "variant", maintain_order=True
    ):
        panel = table_size({"players": players})
        percentiles = {f"p{k}": quantile(counts, k / 100) for k in (5, 25, 50, 75, 95)}
        points.append(
            {
                "label": broken(f"{variant}"),
                "panel": panel,
                **percentiles,
                "words": f"{variant}, {panel}: half of {counts['games'].sum():,} games take {percentiles['p25']} to "
                f"{percentiles['p75']} turns, nine in ten {percentiles['p5']} to {percentiles['p95']}; median {percentiles['p50']}",
            }
        )
    return spans(points, "turns of a game")


_DRAWINGS: dict[str, Callable[[Results], Drawing]] = {
    "places": _places,
    "scores": _scores,
    "lengths": _lengths,
    "variant_lengths": _variant_lengths,
}
"""Drawings that a view may name."""
