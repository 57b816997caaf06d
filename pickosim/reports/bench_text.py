"""The benchmark for a terminal: speeds, what the solver's cache did, and under which conditions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.text import Text

from pickosim.columns import percent
from pickosim.reports.layout import Grid, grid


def bench_tables(rows: list[dict[str, Any]]) -> Iterator[Grid | Text]:
    """A benchmark: the speeds, what the solver's cache did, and under which conditions."""
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
    caches = [
        (
            row["name"],
            f"{row['payoffs_solved']:,}",
            percent(row["cache_hit_rate"]),
            f"{row['cache_megabytes']:.0f} MB",
            f"{row['games']:,}",
        )
        for row in rows
        if "payoffs_solved" in row
    ]
    headings = ["pay-offs solved", "cache hits", "cache size", "games"]
    columns = [("case", "left"), *((heading, "right") for heading in headings)]
    yield Text()
    yield grid("The turn solver's cache, from empty", columns, caches)
    yield Text()
    yield Text(_around(rows))
    yield Text(_conditions(rows[0]))


def _around(rows: list[dict[str, Any]]) -> str:
    """What a tournament adds to its games, and what more workers bring."""
    one, *more = (row for row in rows if row["name"].startswith("tournament"))
    # Below that the clock tells nothing: the same games differ by more from one run to the next.
    added = percent(one["overhead"]) if one["overhead"] > 0.005 else "less than 0.50 %"
    said = (
        f"Schedule, statistics and checkpoints add {added} to the games' time. A "
        f"chunk is sent to a worker as {one['chunk_sent_bytes']:,} bytes, comes back as "
        f"{one['chunk_returned_bytes']:,}, and is kept in {one['chunk_kept_milliseconds']} ms."
    )
    for row in more:
        ratio = row["games_per_second"] / one["games_per_second"]
        said += f" {row['workers']} workers play a tournament {ratio:.2f} times as fast as one."
    return said


def _conditions(row: dict[str, Any]) -> str:
    return (
        f"Solver: {row['solver_payoffs_per_second']:,} pay-offs/s on one core. "
        f"{row['bytes_per_running_game']:.0f} bytes per running game. Kernels warmed up before "
        f"({row['warm_up_seconds']} s). {row['machine']}, {row['cores']} cores, {row['system']}; "
        f"pickosim {row['pickosim']}, Python {row['python']}, NumPy {row['numpy']}, "
        f"Numba {row['numba']}."
    )
