"""The fixed point of a bot's guesses: it states what specialists are worth, as measured when it plays."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import polars as pl

from pickosim.columns import Frame, Row
from pickosim.errors import PickosimError
from pickosim.runs.progress import Progress
from pickosim.studies.balance import balance
from pickosim.studies.balance_guesses import stated_worths, with_worths
from pickosim.studies.balance_sums import EMPTY_HANDS
from pickosim.studies.measures import rate_columns
from pickosim.studies.options import CORES, Rules

ROUNDS = 6
"""Rounds at most: what is measured moves the worths by less and less."""

WORTHS = Frame(
    "worths",
    "One row per round and specialist: what the bot states that it is worth, and what a pick-up with empty hands adds "
    "to its score when all seats play so; the next round states what was measured.",
    "round bot specialist stated score_gain± agrees games",
    {
        "bot": "The bot with what it states in this round.",
        "score_gain": "What a pick-up adds to the score of a player who held no other specialist.",
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

    Ends as soon as every stated worth is within the interval of what is measured. The last round's bot is the result.
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
        bot = with_worths(bot, {row["specialist"]: row["score_gain"] for row in last})
    raise AssertionError("rounds end")


def _round(number: int, bot: str, groups: pl.DataFrame) -> Iterator[Row]:
    stated = stated_worths(bot)
    for row in groups.filter(pl.col("group") == EMPTY_HANDS).iter_rows(named=True):
        name = row["specialist"]
        if name in stated:
            low, high = row["score_gain_low"], row["score_gain_high"]
            yield {
                "round": number,
                "bot": bot,
                "specialist": name,
                "stated": stated[name],
                **rate_columns("score_gain", (round(row["score_gain"], 3), low, high)),
                "agrees": low <= stated[name] <= high,
                "games": row["games"],
            }
