"""Warming up: every kernel compiled, or loaded from the disk cache, before the clock or workers start."""

from __future__ import annotations

import numpy as np

from pickosim.games.batch import play_games
from pickosim.games.match import make_match
from pickosim.games.pickups import branch_pickups
from pickosim.rules import SPECIALISTS
from pickosim.studies.matchup_sums import block_sums
from pickosim.studies.schedule import bots_by_seat


def warm_up() -> None:
    """Play a few games that use every kernel of the engine, and add them up."""
    for rules in ("manual", "extrawurm"):
        match = make_match(["eager", "thief", "random", "gambler"], rules)
        tally = play_games(match, 0, 32, follow_lead=True)
        branch_pickups(match, 0, 4, np.ones(len(SPECIALISTS), np.bool_), "grill")
        block_sums([tally] * len(match.specs), bots_by_seat(match.specs, 0, 32), 0)
