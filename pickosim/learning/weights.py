"""Weights: a net with the rules it was trained for, and their file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from pickosim.errors import BotError, PickosimError
from pickosim.files import ArraysError, read_regular, unpacked_arrays
from pickosim.learning.features import FEATURES_VERSION, comparable, groups_of, has_expansion
from pickosim.learning.layers import FIRST, SECOND, Net, outputs_of
from pickosim.rule_files import complete_rules, differences
from pickosim.rules import MOST_PLAYERS, RULES_VERSION, SPECIALISTS, RuleSet

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
    outputs = (
        min(len(net.output_bias), outputs_of(players))
        if net.output_bias.size == 1
        else outputs_of(players)
    )
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
