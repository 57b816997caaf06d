"""A match: bots, the seats they take, rules and a seed."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pickosim.amounts import LANE, LAST_GAME
from pickosim.bots.loading import BotLike, bot_of, spec_of
from pickosim.bots.strategy import Strategy
from pickosim.engine.rulebook import Books, rulebook
from pickosim.errors import BotError, PickosimError
from pickosim.rule_files import as_arguments, load_rules
from pickosim.rules import RuleSet

Orders = tuple[tuple[int, ...], ...]
"""Seatings: of each, the number of the bot in every seat."""


Numbers = TypeVar("Numbers", int, NDArray[np.int64])


def order_of(game: Numbers, orders: int) -> Numbers:
    """By which of several orders the bots are seated in a game: the games of a lane take turns."""
    return game % LANE % orders


@dataclass(frozen=True)
class Match:
    """Bots, rules and seed; with a game number this determines a game. Seat 0 begins.

    Without `rotations`, every game has the bots seated as they are listed. With them, each number is played once
    per rotation, and by which of its orders is up to `order_of`.
    """

    rules: RuleSet
    specs: tuple[str, ...]
    strategies: tuple[Strategy, ...]
    seed: int
    rotations: tuple[Orders, ...] = ()
    is_dealt: bool = True
    """Whether games are dealt, and not played on from positions."""
    audited: bool = False
    """Whether some questions are asked twice, about other games, to find answers that depend on that."""
    forfeits: bool = False
    """Whether a bot that fails in a game loses it; otherwise the error is raised."""

    @property
    def books(self) -> Books:
        """The rules as numbers, for this number of players."""
        return rulebook(self.rules, len(self.strategies))

    def seated_for(self, game: int, rotation: int) -> Match:
        """The match with its bots listed as they are seated in one game."""
        if not self.rotations:
            return self
        orders = self.rotations[rotation]
        order = orders[order_of(game, len(orders))]
        return replace(
            self,
            specs=tuple(self.specs[number] for number in order),
            strategies=tuple(self.strategies[number] for number in order),
            rotations=(),
        )

    @property
    def notes(self) -> list[str]:
        """What there is to keep in mind of how its bots play by these rules, in sentences."""
        players = len(self.strategies)
        notes = {
            spec: bot.note(self.rules, players)
            for spec, bot in zip(self.specs, self.strategies, strict=True)
        }
        return [f"`{spec}` plays {note}." for spec, note in notes.items() if note]

    def replay_command(self, game: int, rotation: int = 0) -> str:
        """The command that shows one game of this match."""
        if not self.is_dealt:
            return shlex.join(["pickosim", "watch", *self.specs, "--from-position", "FILE"])
        bots = self.seated_for(game, rotation).specs
        rules = as_arguments(self.rules)
        address = ["--seed", str(self.seed), "--game", str(game)]
        return shlex.join(["pickosim", "watch", *bots, *rules, *address])


def check_numbers(first: int, games: int = 1) -> None:
    """Refuse game numbers that do not exist."""
    if games < 1:
        raise PickosimError(f"{games} games cannot be played; play at least one.")
    if first < 0 or first + games - 1 > LAST_GAME:
        wrong = first if first < 0 else first + games - 1
        raise PickosimError(f"Games are numbered from 0 to 2^62 - 1; there is no game {wrong}.")


def make_match(
    bots: Sequence[BotLike],
    rules: str | RuleSet = "classic",
    seed: int = 0,
    rotations: tuple[Orders, ...] = (),
    *,
    is_dealt: bool = True,
) -> Match:
    """A match between these bots, seated as they are listed unless there are `rotations`."""
    if isinstance(bots, str):
        raise PickosimError(f'Pass the bots as a list, e.g. ["{bots}", "random"].')
    if not isinstance(seed, int) or not 0 <= seed < 1 << 64:
        raise PickosimError(f"The seed must be a whole number from 0 to 2^64 - 1, not {seed!r}.")
    strategies = tuple(map(bot_of, bots))
    specs = tuple(
        bot if isinstance(bot, str) else spec_of(made)
        for bot, made in zip(bots, strategies, strict=True)
    )
    match = Match(load_rules(rules), specs, strategies, seed, rotations, is_dealt)
    _ = match.books  # raises an error if the rules do not allow these seats
    for spec, strategy in zip(specs, strategies, strict=True):
        if objection := strategy.objection(match.rules, len(strategies)):
            raise BotError(f"{spec}: {objection}")
    return match
