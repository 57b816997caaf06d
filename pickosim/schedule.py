"""The schedule: which bots meet, in which seats, with which dice.

A matchup is played in blocks: the same game number, hence the same dice, for every rotation of the
seats. So every bot sits everywhere equally often, and what the dice favour, they favour for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import ceil

from pickosim.errors import PickosimError

Matchup = tuple[str, ...]
"""The bots of one table, by name."""


def round_robin(bots: Sequence[str], players: int) -> list[Matchup]:
    """Every choice of so many different bots, each once."""
    if len(set(bots)) < len(bots):
        twice = next(bot for bot in bots if list(bots).count(bot) > 1)
        raise PickosimError(f"{twice} is entered twice.")
    if len(bots) < players:
        raise PickosimError(
            f"A table of {players} needs {players} different bots, and only {len(bots)} "
            f"{'is' if len(bots) == 1 else 'are'} entered."
        )
    return list(combinations(bots, players))


def rotations(matchup: Matchup) -> list[Matchup]:
    """The seatings of a block: every bot begins once, and the order round the table stays."""
    return [matchup[k:] + matchup[:k] for k in range(len(matchup))]


def blocks_for(games: int, players: int) -> int:
    """Blocks of one game a rotation that make at least so many games."""
    if games < 1:
        raise PickosimError(f"{games} games cannot be played.")
    return ceil(games / players)
