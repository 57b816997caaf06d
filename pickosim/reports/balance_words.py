"""A balance in words: worth with its intervals drawn, what was seen, what is missed, and what to change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from pickosim.reports.intervals import Drawn, Ends
from pickosim.reports.layout import airy, grid
from pickosim.studies.balance_findings import level_words, points
from pickosim.studies.balance_tables import FIRST_TAKER
from pickosim.studies.sentences import is_beyond_chance, plus_minus
from pickosim.studies.table_rows import Row

if TYPE_CHECKING:
    import polars as pl
    from rich.console import RenderableType

    from pickosim.runs.results import Results


def balance_words(results: Results) -> Iterator[RenderableType]:
    """The answer, the tables of all views, and how they are meant."""
    plan, result = results.manifest["plan"], results.manifest["result"]
    yield Text(result["headline"], style="bold")
    yield Text()
    yield Text(f"Rules {plan['rules']['name']}, seed {plan['seed']}")
    for level, rows in _levels(results.worth):
        yield Text()
        yield _worth(level, rows)
    for level, rows in _levels(results.absence):
        yield Text()
        yield _absence(level, rows)
    for level, rows in _levels(results.seen):
        yield Text()
        yield _seen(level, rows)
    if "sensitivity" in results.tables:
        yield from _sensitivity(results.sensitivity)
    if "suggestion" in results.tables:
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


def _levels(table: pl.DataFrame) -> Iterator[tuple[str, list[Row]]]:
    """A table's rows, level by level."""
    found: dict[str, list[Row]] = {}
    for row in table.iter_rows(named=True):
        found.setdefault(level_words(row), []).append(row)
    yield from found.items()


def _ends(row: Row, name: str) -> Ends | None:
    value = row[name]
    return None if value is None else (value, row[f"{name}_low"], row[f"{name}_high"])


def _mark(row: Row) -> str:
    return "*" if is_beyond_chance(row) else " "


def _number(row: Row, name: str, scale: float = 1.0, sign: str = "") -> str:
    """A value with its half-width; - if there is none."""
    ends = _ends(row, name)
    if ends is None:
        return "-"
    value, low, high = (scale * end for end in ends)
    if low < high and value in (low, high):
        return f"{low:.1f} to {high:.1f}"  # a share of 0 or 1: its interval has one side only
    return plus_minus(value, (high - low) / 2, sign=sign)


def _worth(level: str, rows: Sequence[Row]) -> RenderableType:
    cells = [
        (
            row["specialist"],
            f"{points(row)}{_mark(row)}",
            _number(row, "worms", sign="+"),
            f"{row['games']:,}",
        )
        for row in rows
    ]
    columns = [
        ("specialist", "left"),
        ("points ", "right"),
        ("worms", "right"),
        ("games", "right"),
    ]
    title = f"Worth to a seat that starts with it, in points of win share ({level})"
    return Drawn(title, columns, cells, 2, [_ends(row, "gain") for row in rows])


MISSED_WORDS = {
    "turns": ("turns a game", 1.0),
    "margin": ("winner's margin", 1.0),
    "first_seat": ("first seat, points", 100.0),
}


def _absence(level: str, rows: Sequence[Row]) -> RenderableType:
    """One line a specialist: what changes without it."""
    by_name: dict[str, dict[str, Row]] = {}
    for row in rows:
        by_name.setdefault(row["specialist"], {})[row["measure"]] = row
    cells = [
        (
            name,
            *(
                f"{_number(found[measure], 'difference', scale, '+')}{_mark(found[measure])}"
                for measure, (_, scale) in MISSED_WORDS.items()
            ),
            f"{found['turns']['games']:,}",
        )
        for name, found in by_name.items()
    ]
    columns = [
        ("without", "left"),
        *((f"{words} ", "right") for words, _ in MISSED_WORDS.values()),
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
            _number(row, "held_at_end", 100) if row["win_share_held"] is not None else "-",
            _number(row, "win_share_held", 100),
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
        tiles = [row for row in rows if row["gain_of"] == FIRST_TAKER]
        if tiles:
            yield Text()
            title = f"First taker's gain by starting tile, points of win share ({level})"
            yield _by_tile(title, tiles, "gain", "+")
            yield Text()
            title = f"Take-up by starting tile: taken at all, % of games ({level})"
            yield _by_tile(title, tiles, "take_up", "")
        numbers: dict[tuple[str, str], list[Row]] = {}
        for row in rows:
            if row["gain_of"] != FIRST_TAKER:
                numbers.setdefault((row["specialist"], row["option"]), []).append(row)
        for (specialist, option), found in numbers.items():
            yield Text()
            yield _by_number(level, specialist, option, found)


def _by_tile(title: str, rows: Sequence[Row], name: str, sign: str) -> RenderableType:
    """A line a tile; of all intervals only the widest is told, so that it fits a terminal."""
    found: dict[str, dict[str, str]] = {}
    for row in rows:
        given = "°" if row["as_given"] else " "
        shown = "-" if row[name] is None else f"{100 * row[name]:{sign}.1f}"
        found.setdefault(row["setting"], {})[row["specialist"]] = f"{shown}{given}"
    specialists = list(dict.fromkeys(row["specialist"] for row in rows))
    cells = [
        (tile, *(of.get(one, "") for one in specialists))
        for tile, of in sorted(found.items(), key=lambda one: int(one[0]))
    ]
    columns = [("tile", "right"), *((f"{one} ", "right") for one in specialists)]
    widest = max(row[f"{name}_high"] - row[f"{name}_low"] for row in rows if row[name] is not None)
    games = min(row["games"] for row in rows)
    note = f"95 %: ± {50 * widest:.2g} at most; {games:,} games each; ° as given"
    return grid(f"{title}\n{note}", columns, cells)


def _by_number(level: str, specialist: str, option: str, rows: Sequence[Row]) -> RenderableType:
    cells = [
        (
            f"{row['setting']}{'°' if row['as_given'] else ' '}",
            f"{points(row)}{_mark(row)}",
            _number(row, "take_up", 100),
            f"{row['games']:,}",
        )
        for row in rows
    ]
    name = specialist.replace("-", " ").capitalize()
    title = f"{name} by {option}: worth to a starter ({level})"
    columns = [
        ("° as given", "left"),
        ("points", "right"),
        ("take-up, %", "right"),
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
            f"{100 * row['take_up']:.0f} %",
            "\n".join(airy(part) for part in row["setting"].split(", ")),
        )
        for row in rows
    ]
    columns = [
        ("rank", "right"),
        ("changes", "right"),
        ("spread", "right"),
        ("95 % interval", "right"),
        ("best", "right"),
        ("taken", "right"),
        ("setting", "left"),
    ]
    title = (
        "Suggestion: how far apart specialists are, in what they bring their first taker\n"
        f"spread in points of win share; {rows[0]['games']:,} games each"
    )
    return grid(title, columns, cells)


def _gains(table: pl.DataFrame) -> RenderableType:
    """What each specialist brings as given, and in the best setting."""
    rows = list(table.iter_rows(named=True))
    given = {_where(row): row for row in rows if row["setting"] == "as given"}
    best = {_where(row): row for row in rows if row["rank"] == 1}
    cells: Iterable[tuple[str, ...]] = [
        (specialist, level, points(row), points(best[level, specialist]))
        for (level, specialist), row in given.items()
    ]
    columns = [
        ("specialist", "left"),
        ("level", "left"),
        ("as given", "right"),
        ("rank 1", "right"),
    ]
    return grid("What they bring their first taker, points of win share a game", columns, cells)


def _where(row: Row) -> tuple[str, str]:
    return level_words(row), row["specialist"]
