"""Listings for a terminal: rules, bots, runs and benchmarks as tables and lines.

What only some of them need is imported there: rules are shown at once.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, Group
from rich.text import Text

from pickosim.errors import PickosimError
from pickosim.reports.layout import QUIET, Grid, breakable, grid, hanging

if TYPE_CHECKING:
    import polars as pl
    from rich.console import RenderableType

    from pickosim.bots.catalogue import Description, Parameter
    from pickosim.rule_files import Explanation, OptionInUse
    from pickosim.runs.folder import Manifest


# ----------------------------------------------------------------------------------------------------- rules


WIDE = 110
"""Columns from which a table of options has a column each for meanings and allowed values."""

UNLIMITED = 1000
"""Columns from which no line is broken, so that a long value need not widen its column."""

LONG = 30
"""Characters of a value that is too long for its column."""


@dataclass(frozen=True)
class OptionsTable:
    """Every option of a rule set, laid out for the width there is."""

    title: str
    options: list[OptionInUse]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Grid | Group]:
        rows = [
            (each.option, breakable(each.value), each.meaning, _unquoted(each.allowed))
            for each in self.options
        ]
        if options.max_width < WIDE:
            yield grid(
                self.title, [("option", "left"), ("value and meaning", "left")], _stacked(rows)
            )
        elif options.max_width < UNLIMITED:
            headings = ("option", "value", "meaning", "allowed")
            yield grid(self.title, [(heading, "left") for heading in headings], rows)
        else:
            lines = _ragged([("option", "value", "meaning", "allowed"), *rows])
            yield Group(Text(self.title, style="bold"), *map(Text, lines))


def _stacked(rows: Iterable[tuple[str, str, str, str]]) -> Iterator[tuple[str, Text]]:
    """For narrow terminals: the meaning and what is allowed below each value."""
    for option, value, meaning, allowed in rows:
        yield option, Text(value, style="bold")
        yield "", Text(meaning)
        yield "", Text(f"allowed: {allowed}", style=QUIET)


def _ragged(rows: list[tuple[str, str, str, str]]) -> Iterator[str]:
    """One line per row, in columns that are as wide as their cells except for very long ones."""
    widths = [
        max(len(cell) for cell in cells if column != 1 or len(cell) <= LONG)
        for column, cells in enumerate(zip(*rows, strict=True))
    ]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))


def explanations_tables(explanations: Sequence[Explanation]) -> Iterator[Grid | Text]:
    """One line per option, and one per specialist."""

    def table(title: str, kind: str, heading: str) -> Grid:
        rows = [(each.name, each.meaning) for each in explanations if each.kind == kind]
        return grid(title, [(kind, "left"), (heading, "left")], rows)

    yield table("Options", "option", "what it is about")
    yield Text()
    yield table("Specialists", "specialist", "what it does")


def explanation_page(about: Explanation) -> Iterator[Grid | Text]:
    """Everything about one option, entry or specialist."""
    yield Text(about.name, style="bold")
    yield Text(about.meaning)
    if about.details:
        yield Text(about.details)
    yield Text()
    if about.values:
        yield grid("Values", [("value", "left"), ("meaning", "left")], about.values.items())
    else:
        yield Text(f"{about.option} can be {about.allowed}.")
    yield Text()
    if about.presets:
        rows = [("classic (default)", about.default), *about.presets.items()]
        cells = [(preset, breakable(value)) for preset, value in rows]
        yield grid(
            "In the presets (all others as classic)",
            [("preset", "left"), (about.option, "left")],
            cells,
        )
    else:
        yield Text(f"In all presets: {breakable(about.default)}")
    if about.related:
        yield Text()
        yield Text(f"See also: {', '.join(about.related)}")


def _unquoted(allowed: str) -> str:
    """As for `--set`, where words need no quotes."""
    return allowed.replace('"', "")


# ------------------------------------------------------------------------------------------------------ bots


def bots_table(bots: Iterable[Description]) -> Grid:
    """All bots: what each one does, its parameters and its origin."""
    from pickosim.bots.catalogue import BUILT_IN

    rows = []
    for bot in bots:
        parts = [
            bot.summary,
            parameters_text(bot.parameters),
            f"from: {bot.origin or 'not stated'}",
        ]
        if bot.source != BUILT_IN:
            parts.append(f"in: {bot.source}")
        lines = [line for line in parts if line]
        rows += [(bot.name if line is lines[0] else "", line) for line in lines]
    return grid(
        "Bots (built-in unless stated otherwise)",
        [("name", "left"), ("what it is", "left")],
        rows,
    )


def bot_page(bot: Description) -> Iterator[Grid | Text]:
    """Everything about one bot."""
    from pickosim.bots.catalogue import BUILT_IN

    yield Text(bot.name, style="bold")
    for paragraph in re.split(r"\n\s*\n", bot.text):
        yield Text(_rewrapped(paragraph))
        yield Text()
    if bot.parameters:
        columns = [("name", "left"), ("type", "left"), ("default", "left")]
        rows = [(p.name, p.type, "none" if p.required else p.default) for p in bot.parameters]
        yield grid("Parameters", columns, rows)
    else:
        yield Text("No parameters.")
    yield Text()
    deciders = [("decided by", "left"), ("what", "left")]
    yield grid("Optional decisions", deciders, _by_decider(bot.decisions))
    yield Text()
    yield Text(f"{BUILT_IN}: {bot.file}" if bot.source == BUILT_IN else f"in: {bot.source}")


def parameters_text(parameters: Iterable[Parameter]) -> str:
    """Parameters as on a command line; a parameter without a default with its type."""
    return ", ".join(
        f"{each.name}={f'<{each.type}>' if each.required else each.default}" for each in parameters
    )


def _by_decider(decisions: Mapping[str, str]) -> list[tuple[str, str]]:
    """Optional methods by where they are defined: the bot itself, a base class, the default."""
    from pickosim.bots.catalogue import BY_DEFAULT, ITSELF

    order = {ITSELF: -1, BY_DEFAULT: 1}
    deciders = sorted(set(decisions.values()), key=lambda each: (order.get(each, 0), each))
    return [(each, ", ".join(m for m, by in decisions.items() if by == each)) for each in deciders]


def _rewrapped(paragraph: str) -> str:
    """A paragraph as one line, for new line breaks; an indented one (e.g. code) as it is."""
    indented = any(line.startswith(" ") for line in paragraph.splitlines())
    return paragraph if indented else " ".join(paragraph.split())


# ------------------------------------------------------------------------------------------------------ runs


def list_runs(folder: str | Path = "runs") -> pl.DataFrame:
    """The runs in a folder, one row per run, the latest last: what was played, how far it came, and its headline.

    If a run is not finished, `games` are those played so far, and `headline` says what is played. One whose manifest
    cannot be read has the status `unreadable`, and the reason for a headline.
    """
    import polars as pl

    columns = "run kind started status played players bots games headline"
    types = dict.fromkeys(columns.split(), pl.String) | {"games": pl.Int64}
    frames = [
        pl.DataFrame([_about(manifest.parent, types)], types)
        for manifest in sorted(Path(folder).glob("*/manifest.json"))
    ]
    return pl.concat([pl.DataFrame(schema=types), *frames]).sort("started", "run")


def _about(path: Path, types: Mapping[str, Any]) -> dict[str, Any]:
    """A run as a row; one that cannot be read, or that no frame takes, would hide all others."""
    import polars as pl

    from pickosim.runs.folder import RunFolder

    name = os.fsencode(path).decode(errors="backslashreplace")
    try:
        row = _row(name, RunFolder(path).manifest())
        pl.DataFrame([row], types)
    except PickosimError as error:
        why = _utf8(str(error))
    except Exception:  # whatever a plan that nobody has checked leads to
        why = f"{name}/manifest.json is not the manifest of a run."
    else:
        return row
    return {"run": name, "kind": "", "started": "", "status": "unreadable", "headline": why}


def _row(name: str, manifest: Manifest) -> dict[str, Any]:
    """A run that can be read."""
    is_finished = manifest["status"] == "finished"
    return {
        "run": name,
        **{key: manifest[key] for key in ("kind", "started", "status")},
        "played": _utf8(manifest["title"]),
        **_who(manifest["plan"]),
        "games": manifest["result"]["games"] if is_finished else manifest["games_played"],
        "headline": _utf8(manifest["result"]["headline"] if is_finished else manifest["title"]),
    }


def _who(plan: Mapping[str, Any]) -> dict[str, str]:
    """The players per game and the bots of a plan."""
    matchups = plan.get("matchups") or [()]
    sizes = dict.fromkeys(map(len, matchups)) if matchups[0] else plan.get("players", [])
    listed = sizes if isinstance(sizes, dict | list | tuple) else [sizes]
    return {
        "players": ",".join(map(str, listed)),
        "bots": ", ".join(_utf8(str(entrant["name"])) for entrant in plan.get("entrants", ())),
    }


def _utf8(text: str) -> str:
    """A text that a frame takes: parts of names that are not UTF-8 are written out."""
    return text.encode(errors="backslashreplace").decode()


def runs_text(runs: pl.DataFrame) -> Iterator[RenderableType]:
    """Lines per run: its folder, kind, date, games and status; what was played by whom; its headline."""
    for number, row in enumerate(runs.iter_rows(named=True)):
        if number:
            yield Text()
        facts = [row["kind"], _local(row["started"]), row["status"]]
        if row["games"] is not None:
            facts.append(f"{row['games']:,} games")
        yield Text.assemble((row["run"], "bold"), "  ", (", ".join(filter(None, facts)), QUIET))
        if row["played"]:
            bots = "" if "bots " in row["played"] else f"; bots {row['bots']}"
            yield hanging(Text(f"  {row['played']}{bots}", style=QUIET))
        if row["headline"] != row["played"]:
            yield hanging(Text(f"  {row['headline']}"))


def _local(started: str) -> str:
    """A time as the clock here shows it, to the minute."""
    if not started:
        return ""
    return datetime.fromisoformat(started).astimezone().strftime("%Y-%m-%d %H:%M")


# --------------------------------------------------------------------------------------------- the benchmark


def bench_tables(rows: list[dict[str, Any]]) -> Iterator[Grid | Text]:
    """A benchmark: the speeds, and under which conditions."""
    speeds = [
        (
            row["name"],
            row["workers"],
            f"{row['games_per_second']:,}",
            f"{row['games']:,}",
        )
        for row in rows
    ]
    headings = ["workers", "games/s", "games"]
    columns = [("case", "left"), *((heading, "right") for heading in headings)]
    yield grid(f"Best of {rows[0]['repeats']} runs", columns, speeds)
    yield Text()
    yield Text(_around(rows))
    yield Text(_conditions(rows[0]))


def _around(rows: list[dict[str, Any]]) -> str:
    """What a tournament adds to its games, and what more workers bring."""
    from pickosim.columns import percent

    alone, *more = (row for row in rows if row["name"].startswith("tournament"))
    # Below that the clock tells nothing: the same games differ by more from one run to the next.
    added = percent(alone["overhead"]) if alone["overhead"] > 0.005 else "less than 0.50 %"
    text = (
        f"Schedule, statistics and checkpoints add {added} to the games' time. A "
        f"chunk is sent to a worker as {alone['chunk_sent_bytes']:,} bytes, comes back as "
        f"{alone['chunk_returned_bytes']:,}, and is kept in {alone['chunk_kept_milliseconds']} ms."
    )
    for row in more:
        ratio = row["games_per_second"] / alone["games_per_second"]
        text += f" {row['workers']} workers play a tournament {ratio:.2f} times as fast as one."
    return text


def _conditions(row: dict[str, Any]) -> str:
    return (
        f"Solver: {row['solver_payoffs_per_second']:,} pay-offs/s on one core. "
        f"{row['bytes_per_running_game']:.0f} bytes per running game. Kernels warmed up before "
        f"({row['warm_up_seconds']} s). {row['machine']}, {row['cores']} cores, {row['system']}; "
        f"pickosim {row['pickosim']}, Python {row['python']}, NumPy {row['numpy']}, "
        f"Numba {row['numba']}."
    )
