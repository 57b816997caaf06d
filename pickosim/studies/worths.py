"""The fixed point of a bot's guesses: it states what specialists are worth, as measured when it plays."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import polars as pl

from pickosim.columns import Frame, Row
from pickosim.errors import PickosimError
from pickosim.runs.progress import Progress
from pickosim.stats.distributions import normal_quantile
from pickosim.stats.moments import CONFIDENCE
from pickosim.stats.multiple_testing import simultaneous
from pickosim.studies.balance import balance
from pickosim.studies.balance_guesses import stated_worths, with_worths
from pickosim.studies.balance_sums import EMPTY_HANDS
from pickosim.studies.measures import rate_columns
from pickosim.studies.options import CORES, Rules
from pickosim.studies.sentences import half_width

ROUNDS = 6
"""Rounds at most: what is measured moves the worths by less and less."""

WORTHS = Frame(
    "worths",
    "One row per round and specialist: what the bot states that it is worth, and what a pick-up with empty hands adds "
    "to its score when all seats play so. The next round states the mean of what was measured so far.",
    "round bot specialist stated score_gain± agrees games",
    {
        "bot": "The bot with what it states in this round.",
        "score_gain": "What a pick-up adds to the score of a player who held no other specialist. The intervals of a round "
        "hold together with 95 %.",
        "games": "Ordinary games, without their branches.",
    },
)


def worths(
    bot: str,
    rules: Rules = "extrawurm",
    players: int = 4,
    games: int | str = "4k",
    seed: int = 0,
    *,
    rounds: int = ROUNDS,
    workers: int = CORES,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """Find the worths at which a bot states what is measured, in a few rounds.

    Ends as soon as every stated worth is within the interval of what is measured. The last round's bot is the result. In
    round k the worths move by a kth of the way to what was measured (Robbins and Monro, 1951), so that the noise of the
    rounds averages out.
    """
    if rounds < 1:
        raise PickosimError(f"{rounds} rounds cannot be played; play at least one.")
    if not stated_worths(bot):
        raise PickosimError(
            f"{bot} does not state what specialists are worth; expected and winner do, by parameters such as apple."
        )
    rows: list[Row] = []
    for number in count(1):
        found = balance(
            rules,
            [bot],
            players,
            games,
            seed + number - 1,
            pickups_only=True,
            workers=workers,
            progress=progress,
        )
        last = list(_round(number, bot, found.pickups_by))
        if not last:
            raise PickosimError(
                "Nobody gained any of the specialists that the bot states a worth of."
            )
        rows += last
        if number == rounds or all(row["agrees"] for row in last):
            return WORTHS.build(rows)
        bot = with_worths(bot, {row["specialist"]: _moved(row, number) for row in last})
    raise AssertionError("rounds end")


def _moved(row: Row, number: int) -> float:
    """What to state in the next round."""
    stated, measured = float(row["stated"]), float(row["score_gain"])
    return round(stated + (measured - stated) / number, 3)


def _round(number: int, bot: str, groups: pl.DataFrame) -> Iterator[Row]:
    stated = stated_worths(bot)
    rows = [
        row
        for row in groups.filter(pl.col("group") == EMPTY_HANDS).iter_rows(named=True)
        if row["specialist"] in stated
    ]
    together = normal_quantile(0.5 + simultaneous(CONFIDENCE, len(rows)) / 2) if rows else 0.0
    wider = together / normal_quantile(0.5 + CONFIDENCE / 2)
    for row in rows:
        worth, gain = stated[row["specialist"]], row["score_gain"]
        half = wider * half_width(row, "score_gain")
        yield {
            "round": number,
            "bot": bot,
            "specialist": row["specialist"],
            "stated": worth,
            **rate_columns("score_gain", (gain, gain - half, gain + half)),
            "agrees": abs(worth - gain) <= half,
            "games": row["games"],
        }
