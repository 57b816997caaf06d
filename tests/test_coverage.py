"""Whether intervals cover the truth: the table of docs/statistics.md, measured again."""

from __future__ import annotations

from math import sqrt
from pathlib import Path

import pytest
from interval_coverage import BEGIN, BLOCKS, END, MATCHUPS, RATED_RUNS, measured

PAGE = Path(__file__).parents[1] / "docs" / "statistics.md"

LEAST, MOST = 0.935, 0.97
LOWER = {"pick-up: raven": 0.91, "win share without luck": 0.93}
"""What intervals of few games or blocks are too narrow for; the page says so."""
NOISE = 2 * sqrt(0.05 * 0.95 / RATED_RUNS)


@pytest.mark.long
def test_intervals_cover_the_truth_in_every_cell():
    rows = list(measured())
    assert {row.pool for row in rows} >= set(MATCHUPS)
    low = [
        (row.pool, row.what, row.shares)
        for row in rows
        if min(row.shares.values()) < LOWER.get(row.what, LEAST) - NOISE
    ]
    assert low == []
    # Where results are many, intervals are not too wide either.
    dense = [row for row in rows if "lopsided" not in row.pool and row.what != "win share, bot 4"]
    wide = [
        (row.pool, row.what, row.shares)
        for row in dense
        if max(row.shares[str(blocks)] for blocks in BLOCKS[2:]) > MOST + NOISE
    ]
    assert wide == []


def test_the_table_of_the_page_has_no_cell_below_the_goal():
    """As it stands there; `make coverage` writes it."""
    table = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    rows = [line.strip("|").split("|") for line in table.splitlines()[2:]]
    cells = [(row[1].strip(), float(cell)) for row in rows for cell in row[3:] if cell.strip()]
    assert len(cells) > 400
    assert [cell for cell in cells if cell[1] < 100 * LOWER.get(cell[0], LEAST)] == []
