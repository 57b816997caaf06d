"""Rows of tables: a rate with its interval as columns, and p values corrected for their number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pickosim.stats.multiple_testing import adjusted

Row = dict[str, Any]


def rates(name: str, found: Sequence[float | None]) -> Row:
    """A rate and the ends of its interval as columns."""
    return dict(zip((name, f"{name}_low", f"{name}_high"), found, strict=True))


def corrected(rows: Sequence[Row]) -> list[Row]:
    """The rows with `p_adjusted`: their p values, corrected for all of them; None where there is none."""
    values = iter(adjusted([row["p_value"] for row in rows if row["p_value"] is not None]))
    return [row | {"p_adjusted": None if row["p_value"] is None else next(values)} for row in rows]
