"""The ladder: fixed ratings of the built-in bots, by rules and number of players, with which others compare.

`make ladder` plays the tournaments again that they come from, and writes `pickosim/ladders.json`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from math import inf
from pathlib import Path
from typing import Any

from pickosim.rule_files import load_rules
from pickosim.rules import RULES_VERSION, RuleSet
from pickosim.studies.tournament import tournament

FILE = Path(__file__).parents[1] / "ladders.json"

PLAYED = {
    ("classic", 2): "20k",
    ("classic", 4): "2400",
    ("extrawurm", 2): "20k",
    ("extrawurm", 4): "2400",
}
"""Games per matchup, by rules and number of players."""

SEED = 1


def ladder(rules: RuleSet, players: int) -> dict[str, float] | None:
    """The ratings of the built-in bots with these rules, or None if there are none."""
    for (name, size), _ in PLAYED.items():
        if size == players and load_rules(name) == rules:
            ratings: dict[str, float] = _stored()[f"{name} {players}"]["ratings"]
            return ratings
    return None


def strongest(bots: Sequence[str]) -> str:
    """The strongest of some bots: the kind that wins most in the game of four with specialists, else the last named."""
    wins = _stored()["extrawurm 4"]["win_shares"]
    return max(reversed(bots), key=lambda bot: wins.get(bot.partition(":")[0], -inf))


@cache
def _stored() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return content


def play_ladders() -> dict[str, Any]:
    """All ladders, with what they were played with."""
    found = {}
    for (name, players), games in PLAYED.items():
        results = tournament((), name, players, games, SEED)
        standings = results.standings.sort("rating", descending=True)
        ratings, wins = (standings.select("bot", name).rows() for name in ("rating", "win_share"))
        found[f"{name} {players}"] = {
            "command": f"pickosim tournament --rules {name} --players {players} --games {games} --seed {SEED}",
            "rules_version": RULES_VERSION,
            "games": results.games,
            "ratings": {bot: round(rating, 1) for bot, rating in ratings},
            "win_shares": {bot: round(share, 4) for bot, share in wins},
        }
    return found


if __name__ == "__main__":
    FILE.write_text(json.dumps(play_ladders(), indent=2) + "\n", encoding="utf-8")
