"""A match: who sits where, by which rules, with which dice."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from pickosim.bots.loading import load_bot, spec_of
from pickosim.bots.strategy import Strategy
from pickosim.engine.rulebook import Books, rulebook
from pickosim.errors import PickosimError
from pickosim.rules import RuleSet, load_rules


@dataclass(frozen=True)
class Match:
    """Bots in their seats (seat 0 begins), rules and seed: with the number of a game, all of it."""

    rules: RuleSet
    specs: tuple[str, ...]
    strategies: tuple[Strategy, ...]
    seed: int

    @property
    def books(self) -> Books:
        """The rules as numbers, at this table."""
        return rulebook(self.rules, len(self.strategies))

    def replay_command(self, game: int) -> str:
        """The command line that shows one game of this match."""
        rules = self.rules.as_arguments()
        address = ["--seed", str(self.seed), "--game", str(game)]
        return shlex.join(["pickosim", "watch", *self.specs, *rules, *address])


LAST_GAME = (1 << 62) - 1


def check_numbers(first: int, games: int = 1) -> None:
    """Refuse games whose numbers do not exist."""
    if games < 1:
        raise PickosimError(f"{games} games cannot be played.")
    if first < 0 or first + games - 1 > LAST_GAME:
        wrong = first if first < 0 else first + games - 1
        raise PickosimError(f"Games are numbered from 0 to 2^62 - 1; there is no game {wrong}.")


def seat(bots: Sequence[str | Strategy], rules: str | RuleSet = "classic", seed: int = 0) -> Match:
    """The match of these bots, in this order of seats."""
    if isinstance(bots, str):
        raise PickosimError(f'Bots are given as a list, as in ["{bots}", "random"].')
    if not isinstance(seed, int) or not 0 <= seed < 1 << 64:
        raise PickosimError(f"A seed is a whole number from 0 to 2^64 - 1, not {seed!r}.")
    strategies = tuple(load_bot(bot) if isinstance(bot, str) else bot for bot in bots)
    specs = tuple(bot if isinstance(bot, str) else spec_of(bot) for bot in bots)
    match = Match(load_rules(rules), specs, strategies, seed)
    _ = match.books  # refuses a table that the rules do not allow
    return match
