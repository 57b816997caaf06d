"""A balance for a terminal: pick-ups with their intervals drawn, the other views, and what to change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from pickosim.columns import Row
from pickosim.reports.cells import label, with_error
from pickosim.reports.intervals import Drawn, Ends
from pickosim.reports.layout import breakable, grid
from pickosim.studies.balance_findings import points
from pickosim.studies.balance_sums import GROUPS
from pickosim.studies.measures import ABSENCE
from pickosim.studies.sentences import is_beyond_chance

if TYPE_CHECKING:
    import polars as pl
    from rich.console import RenderableType

    from pickosim.runs.results import Results


def balance_text(results: Results) -> Iterator[RenderableType]:
    """The answer, the tables of all views, and how they are meant."""
    result = results.manifest["result"]
    yield Text(result["headline"], style="bold")
    yield Text()
    yield Text(results.manifest["title"])
    for level, rows in _levels(results.pickups):
        yield Text()
        yield _pickups(level, rows)
    for level, rows in _levels(results.pickups_by):
        yield Text()
        yield _groups(level, rows)
    for name, told in (("head_start", _head_start), ("absence", _absence), ("seen", _seen)):
        if name in results.frames:
            for level, rows in _levels(results.frames[name]):
                yield Text()
                yield told(level, rows)
    if "sensitivity" in results.frames:
        yield from _sensitivity(results.sensitivity)
    if "suggestion" in results.frames:
        yield Text()
        yield _suggestion(results.suggestion.to_dicts())
        yield Text()
        yield _gains(results.suggestion_gains)
    yield Text()
    for sentence in result["sentences"]:
        yield Text(sentence)
    yield Text()
    for remark in result["remarks"]:
        yield Text(remark, style="dim")


def _level(row: Row) -> str:
    """A level of play and a number of players, for a title."""
    return f"{row['bot']}, {row['players']} players"


def _levels(table: pl.DataFrame) -> Iterator[tuple[str, list[Row]]]:
    """A table's rows, level by level."""
    found: dict[str, list[Row]] = {}
    for row in table.iter_rows(named=True):
        found.setdefault(_level(row), []).append(row)
    yield from found.items()


def _ends(row: Row, name: str) -> Ends | None:
    value = row[name]
    return None if value is None else (value, row[f"{name}_low"], row[f"{name}_high"])


def _mark(row: Row) -> str:
    return "*" if is_beyond_chance(row) else " "


def _pickups(level: str, rows: Sequence[Row]) -> RenderableType:
    cells = [
        (
            row["specialist"],
            "-" if row["gain"] is None else f"{points(row)}{_mark(row)}",
            "-" if row["gain"] is None else f"{row['score_gain']:+.2f}",
            f"{row['pick_ups']:.2f}",
            f"{100 * row['handed_out']:+.1f}",
            row["verdict"] or "-",
        )
        for row in rows
    ]
    columns = [
        ("specialist", "left"),
        ("points ", "right"),
        ("worms", "right"),
        ("per game", "right"),
        ("in all", "right"),
        ("verdict", "left"),
    ]
    title = (
        f"Pick-ups: what one is worth to the player who gains it ({level})\n"
        f"points of win share, and worms; pick-ups per game; points in all; {rows[0]['games']:,} games"
    )
    return Drawn(title, columns, cells, 2, [_ends(row, "gain") for row in rows])


def _groups(level: str, rows: Sequence[Row]) -> RenderableType:
    """Kinds of pick-ups, all specialists side by side; of all intervals only the widest is given."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for row in rows:
        shown = f"{100 * row['gain']:+.1f}"
        found.setdefault((row["by"], row["group"]), {})[row["specialist"]] = shown
    specialists = list(dict.fromkeys(row["specialist"] for row in rows))
    order = {group: k for k, group in enumerate(GROUPS)}
    cells = [
        (group, *(of.get(one, "-") for one in specialists))
        for (_, group), of in sorted(found.items(), key=lambda one: order[one[0]])
    ]
    columns = [("gained", "left"), *((one, "right") for one in specialists)]
    widest = max(row["gain_high"] - row["gain_low"] for row in rows)
    title = f"Pick-ups by phase, standing and former specialist, points of win share ({level})"
    note = f"95 %: ± {min(50 * widest, 100):.2g} at most"
    return grid(f"{title}\n{note}", columns, cells)


def _head_start(level: str, rows: Sequence[Row]) -> RenderableType:
    cells = [
        (
            row["specialist"],
            f"{points(row)}{_mark(row)}",
            with_error(row, "score_gain", sign="+"),
            f"{row['games']:,}",
        )
        for row in rows
    ]
    columns = [
        ("specialist", "left"),
        ("points ", "right"),
        (label("score_gain"), "right"),
        ("games", "right"),
    ]
    title = f"Head start: a seat begins the game with it, points of win share ({level})"
    return Drawn(title, columns, cells, 2, [_ends(row, "gain") for row in rows])


def _absence(level: str, rows: Sequence[Row]) -> RenderableType:
    """One line per specialist: what changes without it."""
    by_name: dict[str, dict[str, Row]] = {}
    for row in rows:
        by_name.setdefault(row["specialist"], {})[row["measure"]] = row
    cells = [
        (
            name,
            *(
                f"{with_error(found[one.name], 'difference', one.scale, '+')}{_mark(found[one.name])}"
                for one in ABSENCE
            ),
            f"{found['turns']['games']:,}",
        )
        for name, found in by_name.items()
    ]
    columns = [
        ("without", "left"),
        *((f"{one.label} ", "right") for one in ABSENCE),
        ("games", "right"),
    ]
    return grid(f"Absence: the game without it minus the game as given ({level})", columns, cells)


def _seen(level: str, rows: Sequence[Row]) -> RenderableType:
    even = 100 / rows[0]["players"]
    cells = [
        (
            row["specialist"],
            f"{row['gained']:.2f}" if row["win_share_held"] is not None else "-",
            f"{row['used']:.2f}" if row["specialist"] != "apple" else "-",
            f"{row['turns_held']:.1f}" if row["win_share_held"] is not None else "-",
            with_error(row, "held_at_end", 100) if row["win_share_held"] is not None else "-",
            with_error(row, "win_share_held", 100),
        )
        for row in rows
    ]
    columns = [
        ("specialist", "left"),
        ("gained", "right"),
        ("used", "right"),
        ("turns held", "right"),
        ("held at end, %", "right"),
        ("holder wins, %", "right"),
    ]
    where = f"{rows[0]['games']:,} games ({level})"
    title = f"Seen in {where}: an association; even is {even:.1f} %"
    return grid(title, columns, cells)


def _sensitivity(table: pl.DataFrame) -> Iterator[RenderableType]:
    """By starting tile, all specialists side by side; by number, one table each, drawn."""
    for level, rows in _levels(table):
        tiles = [row for row in rows if "." in row["option"]]
        yield Text()
        yield _by_tile(f"Worth of a pick-up by starting tile, points of win share ({level})", tiles)
        numbers: dict[tuple[str, str], list[Row]] = {}
        for row in rows:
            if row not in tiles:
                numbers.setdefault((row["specialist"], row["option"]), []).append(row)
        for (specialist, option), found in numbers.items():
            yield Text()
            yield _by_number(level, specialist, option, found)


def _by_tile(title: str, rows: Sequence[Row]) -> RenderableType:
    """One line per tile; of all intervals only the widest is given, so that it fits a terminal."""
    found: dict[str, dict[str, str]] = {}
    for row in rows:
        given = "°" if row["as_given"] else " "
        shown = "-" if row["gain"] is None else f"{100 * row['gain']:+.1f}"
        found.setdefault(row["setting"], {})[row["specialist"]] = f"{shown}{given}"
    specialists = list(dict.fromkeys(row["specialist"] for row in rows))
    cells = [
        (tile, *(of.get(one, "") for one in specialists))
        for tile, of in sorted(found.items(), key=lambda one: int(one[0]))
    ]
    columns = [("tile", "right"), *((f"{one} ", "right") for one in specialists)]
    widths = [row["gain_high"] - row["gain_low"] for row in rows if row["gain"] is not None]
    widest = max(widths, default=0.0)
    games = min(row["games"] for row in rows)
    note = f"95 %: ± {50 * widest:.2g} at most; {games:,} games each; ° as given"
    return grid(f"{title}\n{note}", columns, cells)


def _by_number(level: str, specialist: str, option: str, rows: Sequence[Row]) -> RenderableType:
    cells = [
        (
            f"{row['setting']}{'°' if row['as_given'] else ' '}",
            "-" if row["gain"] is None else f"{points(row)}{_mark(row)}",
            f"{row['pick_ups']:.2f}",
            f"{row['games']:,}",
        )
        for row in rows
    ]
    name = specialist.replace("-", " ").capitalize()
    title = f"{name} by {option}: worth of a pick-up ({level})"
    columns = [
        ("° as given", "left"),
        ("points", "right"),
        ("per game", "right"),
        ("games", "right"),
    ]
    return Drawn(title, columns, cells, 2, [_ends(row, "gain") for row in rows])


def _suggestion(rows: Sequence[Row]) -> RenderableType:
    cells = [
        (
            f"{row['rank']}",
            f"{row['changes']}",
            f"{100 * row['spread']:.2f}",
            f"{100 * row['spread_low']:.2f} to {100 * row['spread_high']:.2f}",
            f"{100 * row['chance_best']:.0f} %",
            f"{row['pick_ups']:.2f}",
            "\n".join(breakable(part) for part in row["setting"].split(", ")),
        )
        for row in rows
    ]
    columns = [
        ("rank", "right"),
        ("changes", "right"),
        ("spread", "right"),
        ("95 % interval", "right"),
        ("best", "right"),
        ("pick-ups", "right"),
        ("setting", "left"),
    ]
    title = (
        "Suggestion: how far apart specialists are in what a pick-up is worth\n"
        f"spread in points of win share; {rows[0]['games']:,} games each"
    )
    return grid(title, columns, cells)


def _gains(table: pl.DataFrame) -> RenderableType:
    """What each specialist brings as given, and in the best setting."""
    rows = list(table.iter_rows(named=True))
    given = {_where(row): row for row in rows if row["setting"] == "as given"}
    best = {_where(row): row for row in rows if row["rank"] == 1}
    cells: Iterable[tuple[str, ...]] = [
        (specialist, level, _points(row), _points(best[level, specialist]))
        for (level, specialist), row in given.items()
    ]
    columns = [
        ("specialist", "left"),
        ("level", "left"),
        ("as given", "right"),
        ("rank 1", "right"),
    ]
    return grid("What a pick-up is worth there, points of win share", columns, cells)


def _where(row: Row) -> tuple[str, str]:
    return _level(row), row["specialist"]


def _points(row: Row) -> str:
    return "-" if row["gain"] is None else points(row)
