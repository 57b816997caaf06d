"""The ladder: fixed ratings of the built-in bots, by rules and number of players, with which others compare.

They come from the tournaments that `make ladder` plays (`tools/play_ladders.py`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import inf
from pathlib import Path
from typing import Any

from pickosim.rule_files import load_rules
from pickosim.rules import RuleSet

FILE = Path(__file__).parents[1] / "ladders.json"

STRONG = 2 / 3
"""A bot is called strong if it wins at least this share of what the strongest does."""


@dataclass(frozen=True)
class Ladder:
    """The ratings of the built-in bots with some rules."""

    ratings: dict[str, float]
    """The highest first."""
    errors: dict[str, float]
    """Halves of their 95 % intervals; 0 for the bot that all are relative to."""
    by_wins: bool
    """Whether the ratings count wins alone, or all finishing orders."""


def ladder(rules: RuleSet, players: int) -> Ladder | None:
    """The ladder of these rules, or None if there is none."""
    for played, stored in _stored().items():
        name, size = played.split()
        if int(size) == players and load_rules(name) == rules:
            ratings, errors = stored["ratings"], stored.get("rating_errors", {})
            return Ladder(
                ratings,
                {bot: errors.get(bot) or 0.0 for bot in ratings},
                bool(errors) or players == 2,
            )
    return None


def strongest(bots: Sequence[str]) -> str:
    """The strongest of some bots: the kind that wins most in the game of four with specialists, else the last named."""
    wins = _stored()["extrawurm 4"]["win_shares"]
    return max(reversed(bots), key=lambda bot: wins.get(bot.partition(":")[0], -inf))


def strength(bot: str) -> str:
    """How good a bot is, in words: by what it wins in the game of four with specialists; nothing if it is not rated."""
    wins = _stored()["extrawurm 4"]["win_shares"]
    if bot not in wins:
        return ""
    share = wins[bot] / max(wins.values())
    return (
        "the strongest bot" if share == 1 else "a strong bot" if share >= STRONG else "a weak bot"
    )


@cache
def _stored() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return content
