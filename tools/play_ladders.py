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
        by_wins = results.manifest["result"]["win_ratings"]
        in_order = sorted(by_wins, key=lambda bot: -by_wins[bot][0])
        wins = dict(results.standings.select("bot", "win_share").iter_rows())
        ladders[f"{name} {players}"] = {
            "command": f"pickosim tournament --rules {name} --players {players} --games {games} --seed {SEED}",
            "rules_version": RULES_VERSION,
            "games": results.games_played,
            "ratings": {bot: round(by_wins[bot][0], 1) for bot in in_order},
            "rating_errors": {bot: round(by_wins[bot][1] or 0.0, 1) for bot in in_order},
            "win_shares": {bot: round(wins[bot], 4) for bot in in_order},
        }
    return ladders


if __name__ == "__main__":
    FILE.write_text(json.dumps(play_ladders(), indent=2) + "\n", encoding="utf-8")
