"""A balance for a terminal: pick-ups with their intervals drawn, groups of them, and settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from pickosim.columns import Row
from pickosim.reports.intervals import Drawn, Ends
from pickosim.reports.layout import grid
from pickosim.studies.balance_findings import points
from pickosim.studies.pickup_worths import GROUPS
from pickosim.studies.sentences import is_beyond_chance

if TYPE_CHECKING:
    import polars as pl
    from rich.console import RenderableType

    from pickosim.runs.results import Results


def balance_text(results: Results) -> Iterator[RenderableType]:
    """The answer, all tables, and how they are meant."""
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
    if "sensitivity" in results.frames:
        yield from _sensitivity(results.sensitivity)
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
            "-" if row["held_above_even"] is None else f"{100 * row['held_above_even']:+.1f}",
            row["verdict"] or "-",
        )
        for row in rows
    ]
    columns = [
        ("specialist", "left"),
        ("points ", "right"),
        ("worms", "right"),
        ("per game", "right"),
        ("holders", "right"),
        ("verdict", "left"),
    ]
    title = (
        f"Pick-ups: what one is worth to the player who gains it ({level})\n"
        f"points of win share, and worms; pick-ups per game; {rows[0]['games']:,} games\n"
        "holders: points above even of those who hold it at the end, an association"
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
