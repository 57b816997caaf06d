"""The ladders' tournaments: `make ladder` plays them and writes `pickosim/ladders.json`."""

from __future__ import annotations

import json
from typing import Any

from pickosim import tournament
from pickosim.rules import RULES_VERSION
from pickosim.studies.ladder import FILE

PLAYED = {
    ("classic", 2): "20k",
    ("classic", 4): "2400",
    ("extrawurm", 2): "20k",
    ("extrawurm", 4): "2400",
}
"""Games per matchup, by rules and number of players."""

SEED = 1


def play_ladders() -> dict[str, Any]:
    """All ladders, with what they were played with."""
    ladders = {}
    for (name, players), games in PLAYED.items():
        results = tournament((), name, players, games, SEED)
        standings = results.standings.sort("rating", descending=True)
        ratings, wins = (standings.select("bot", name).rows() for name in ("rating", "win_share"))
        ladders[f"{name} {players}"] = {
            "command": f"pickosim tournament --rules {name} --players {players} --games {games} --seed {SEED}",
            "rules_version": RULES_VERSION,
            "games": results.games,
            "ratings": {bot: round(rating, 1) for bot, rating in ratings},
            "win_shares": {bot: round(share, 4) for bot, share in wins},
        }
    return ladders


if __name__ == "__main__":
    FILE.write_text(json.dumps(play_ladders(), indent=2) + "\n", encoding="utf-8")
