"""Weights: a net with the rules it was trained for, their file, and how it plays at other tables.

At another table, features are matched by name, tiles by their value. What a net does not know, it does not see: an option,
a specialist, or more rivals than it was trained with, of whom the best count.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pickosim.bots.view import After, FloatArray
from pickosim.engine.results import POSITION, Positions
from pickosim.engine.rulebook import APPLE, Books, rulebook
from pickosim.errors import BotError, PickosimError
from pickosim.files import ArraysError, read_regular, unpacked_arrays
from pickosim.learning.features import (
    FEATURES_VERSION,
    Layout,
    comparable,
    groups_of,
    has_expansion,
    layout_for,
)
from pickosim.learning.layers import FIRST, SECOND, Net, outputs_of
from pickosim.learning.net import knows_all, win_chances
from pickosim.rule_files import complete_rules, differences
from pickosim.rules import MOST_PLAYERS, RULES_VERSION, SPECIALISTS, RuleSet
from pickosim.solver.valuation import Valuation

MOST_BYTES = 10**6
"""Size of the largest file that is read, packed or not: four times what seven players need."""


MOST_CHANGES = 3
"""Options that are named in what a net was trained for."""

SIX = ("canned-worm", "sitting-hen", "raven", "weasel", "golden-die", "apple")
"""The specialists that nets know whose files do not say it."""


class WeightsError(BotError):
    """A file that is not one of weights, or weights for something else."""


@dataclass(frozen=True, eq=False)
class Weights:
    """A net, what it was trained for, and how."""

    net: Net
    rules: RuleSet
    players: int
    training: Mapping[str, Any]
    """The command, seed, run and version that the net came from."""

    specialists: tuple[str, ...] = SPECIALISTS
    """Those that the net has features for, in their order, if it was trained with any."""

    def objection(self, players: int) -> str:
        """Why the net cannot play at a table of so many; empty if it can."""
        if players >= self.players:
            return ""
        return f"its weights are for {self.players} players, and {players} are fewer"

    def described(self, rules: RuleSet, players: int) -> str:
        """What the net was trained for, where that differs from these rules and players; empty if it does not."""
        changed = differences(comparable(self.rules), comparable(rules))
        where = [f"{option} is {then}" for option, then, _ in changed[:MOST_CHANGES]]
        if more := len(changed) - len(where):
            where.append(f"{more} more options differ")
        text = self.rules.name
        if players != self.players:
            text += f" with {self.players} players, so that of the rivals only the best {self.players - 1} count"
        if has_expansion(self.rules) != has_expansion(rules) and not changed:
            where.append("no specialist is in the game")
        if where:
            text += f", where {' and '.join(where)}"
        return "" if text == self.rules.name else f"the net for {text}"


def as_bytes(weights: Weights) -> bytes:
    """The content of the file of weights."""
    about = {
        "rules": weights.rules.as_dict(),
        "players": weights.players,
        "rules_version": RULES_VERSION,
        "features_version": FEATURES_VERSION,
        "specialists": weights.specialists,
        "training": dict(weights.training),
    }
    text = np.frombuffer(json.dumps(about, sort_keys=True).encode(), np.uint8)
    buffer = BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, about=text, **weights.net._asdict())
    return buffer.getvalue()


def read_weights(path: Path) -> Weights:
    """The weights of a file; a file is read again only if it has been written since."""
    try:
        about = path.stat()
        return _read_then(path.resolve(), about.st_size, about.st_mtime_ns)
    except OSError as error:
        raise WeightsError(f"The weights {path} cannot be read: {error.strerror}.") from error


@lru_cache(maxsize=32)
def _read_then(path: Path, *_written: int) -> Weights:
    return weights_of(read_regular(path, MOST_BYTES), str(path))


def weights_of(content: bytes, name: str = "") -> Weights:
    """The weights in the content of a file."""
    try:
        arrays = unpacked_arrays(content, MOST_BYTES, ("about", *Net._fields))
        about = json.loads(arrays["about"].tobytes())
        net = Net(*(np.ascontiguousarray(arrays[field]) for field in Net._fields))
        # Earlier versions had a single output, without a dimension of its own.
        net = net._replace(output=net.output.reshape(len(net.output), -1))
        versions = about["rules_version"], about["features_version"]
        rules, players = complete_rules(about["rules"]), about["players"]
        if not isinstance(players, int) or not 2 <= players <= MOST_PLAYERS:
            raise ValueError(players)
        specialists = tuple(map(str, about.get("specialists", SIX)))
        groups = groups_of(len(rules.tiles), players, len(specialists) * has_expansion(rules))
        facts = 1 + sum(slots.size * each.size for slots, each in groups.values())
        training = dict(about["training"])
    except (ArraysError, ValueError, KeyError, TypeError, RecursionError, PickosimError) as error:
        raise WeightsError(f"{name or 'The file'} does not hold weights of a champion.") from error
    if versions != (RULES_VERSION, FEATURES_VERSION):
        raise WeightsError(
            f"The weights {name} were trained with another version of pickosim "
            f"({training.get('version', 'unknown')}); train them again: {training.get('command', '')}"
        )
    # Earlier versions only knew the chance of the player who has just moved.
    outputs = 1 if net.output_bias.size == 1 else outputs_of(players)
    wanted = {
        "facts": (np.int16, (facts, FIRST)),
        "second": (np.int16, (FIRST, SECOND)),
        "second_bias": (np.int32, (SECOND,)),
        "output": (np.int16, (SECOND, outputs)),
        "output_bias": (np.int32, (outputs,)),
    }
    for field, (kind, shape) in wanted.items():
        array = getattr(net, field)
        if array.dtype != kind or array.shape != shape:
            raise WeightsError(f"{name or 'The file'}: {field} is not {kind.__name__} {shape}.")
    return Weights(net, rules, players, training, specialists)


# ------------------------------------------------------------------------------- at other tables

_BY_PLAYER = tuple(name for name in POSITION.names or () if POSITION[name].shape == (MOST_PLAYERS,))
"""Fields of a position that have an entry per player."""


class Adapted(NamedTuple):
    """A net as it plays by certain rules."""

    net: Net
    books: Books
    """The rules for as many players as the net knows."""
    layout: Layout
    players: int
    """At the table."""

    def win_chances(self, positions: Positions, seat: int) -> NDArray[np.float64]:
        """(m,): the chance to win of the player at `seat`, who has just moved; where the game is over, the win share."""
        known = int(self.books[0]["players"])
        if known < self.players:
            positions, seat = _with_best_rivals(self.books, positions, seat, self.players, known), 0
        return win_chances(self.books, positions, seat, self.net, self.layout)[:, 0]

    def all_chances(self, positions: Positions, seat: int) -> NDArray[np.float64] | None:
        """(m, P): every player's chance to win, from the one at `seat` on, who has just moved; None if the net does not
        know that: it was trained by an earlier version, or for fewer players.
        """
        if int(self.books[0]["players"]) < self.players or not knows_all(self.net, self.players):
            return None
        return win_chances(self.books, positions, seat, self.net, self.layout, players=self.players)


@lru_cache(maxsize=64)
def adapted(weights: Weights, rules: RuleSet, players: int) -> Adapted:
    """The net of some weights as it plays by these rules at a table of so many."""
    books = rulebook(rules, players).copy()
    books["players"] = min(players, weights.players)
    has = has_expansion(weights.rules)
    net = weights.net._replace(facts=_facts(weights, rules, has))
    return Adapted(net, books, layout_for(books, has), players)


def _facts(weights: Weights, rules: RuleSet, expansion: bool) -> NDArray[np.int16]:
    """(F, FIRST): the rows of the net's facts in the order of the layout for other rules."""
    then, now = sorted(weights.rules.tiles), sorted(rules.tiles)
    nearest = [min(range(len(then)), key=lambda k: (abs(then[k] - tile), k)) for tile in now]
    known = weights.specialists
    places = {
        "": np.arange(len(weights.net.facts)),
        "tile": np.array([*nearest, len(then)]),
        "tiles left": np.minimum(np.arange(len(now) + 1), len(then)),
        "specialist": np.array(
            [known.index(name) if name in known else len(known) for name in (*SPECIALISTS, "")]
        ),
    }
    old = groups_of(len(then), weights.players, len(known) if expansion else 0)
    new = groups_of(len(now), weights.players, len(SPECIALISTS) if expansion else 0)
    rows, first = [np.zeros(1, np.int64)], 1
    for name, (slots, facts) in new.items():
        of_slot, of_fact = (places[axis.of][: axis.size] for axis in (slots, facts))
        row = first + of_slot[:, None] * old[name][1].size + of_fact
        # A slot that the net does not have, as that of a specialist it does not know, says nothing.
        rows.append(np.where(of_slot[:, None] < old[name][0].size, row, 0).reshape(-1))
        first += old[name][0].size * old[name][1].size
    return np.ascontiguousarray(weights.net.facts[np.concatenate(rows)])


def _with_best_rivals(
    books: Books, positions: Positions, seat: int, players: int, known: int
) -> Positions:
    """The positions with the mover at seat 0, and so many players in all; rivals stay in their order."""
    steps = (seat + np.arange(players)) % players
    apples = int(books[0]["apple_worms"]) * (positions["holds"] == APPLE)
    scores = (positions["worms"] + positions["bratworms"] + apples)[:, steps[1:]]
    best = np.argsort(-scores, axis=1, kind="stable")[:, : known - 1]
    who = np.pad(1 + np.sort(best, axis=1), ((0, 0), (1, 0)))
    fewer = positions.copy()
    for name in _BY_PLAYER:
        fewer[name][:, :known] = np.take_along_axis(positions[name], steps[who], axis=1)
    return fewer


def nearest(known: Iterable[Weights], rules: RuleSet, players: int) -> Weights | None:
    """The weights whose net plays by some rules: with or without the expansion as they are, and of as many players,
    or the most there are; None if all have more players.
    """
    able = [weights for weights in known if not weights.objection(players)]
    return max(able, key=lambda each: (is_related(each, rules), each.players), default=None)


def is_related(weights: Weights, rules: RuleSet) -> bool:
    """Whether the expansion is in the game by both rules or by neither."""
    return has_expansion(weights.rules) == has_expansion(rules)


class PlaysByNet(Valuation):
    """Maximises the chance to win that a net says, with perfect dice play."""

    values_are_win_chances: ClassVar = True

    @abstractmethod
    def weights_for(self, rules: RuleSet, players: int) -> Weights:
        """The weights for a game."""

    def value(self, after: After) -> FloatArray:
        return self._net(after).win_chances(after._table, after.seat)

    def chances(self, after: After) -> FloatArray | None:
        return self._net(after).all_chances(after._table, after.seat)

    def _net(self, after: After) -> Adapted:
        weights = self.weights_for(after.rules, after.players)
        return adapted(weights, after.rules, after.players)


class Learned(PlaysByNet):
    """Plays by the net of these weights."""

    weights: Weights

    def weights_for(self, rules: RuleSet, players: int) -> Weights:
        return self.weights
