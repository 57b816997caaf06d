"""Bots given as Python objects: kept by name, so that runs name them like any other, and sent to workers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from pickosim.bots.digest import source_digest
from pickosim.bots.strategy import Strategy, with_parameters
from pickosim.errors import BotError


class Given(NamedTuple):
    """A bot that was given, and the digest of its source, which only the process that defines it can read."""

    bot: Strategy
    digest: str


_by_spec: dict[str, Given] = {}
_classes: dict[str, type[Strategy]] = {}
_received: dict[str, bytes] = {}
"""What bots were unpacked from, or packed to."""


def give(bot: Strategy, spec: str | None = None) -> str:
    """Keep a bot; the spec to load it by. A class that is defined anew takes the place of the old one."""
    kind = type(bot)
    if _classes.get(kind.__name__) is not kind:
        for spec in [spec for spec in _by_spec if class_in(spec) == kind.__name__]:
            del _by_spec[spec]
        _classes[kind.__name__] = kind
    spec = spec or with_parameters(kind.__name__, bot)
    _by_spec[spec] = Given(bot, source_digest(bot))
    return spec


def class_in(spec: str) -> str:
    """What a spec names, without parameters."""
    return spec.partition(":")[0]


def given_class(name: str) -> type[Strategy] | None:
    """The class of that name, if a bot of it was given."""
    return _classes.get(name)


def given_bot(spec: str) -> Strategy | None:
    """A new copy of the bot with that spec, if it was given."""
    known = _by_spec.get(spec)
    return None if known is None else replace(known.bot)  # type: ignore[type-var]


def bot_digest(spec: str, bot: Strategy) -> str:
    """The digest of a bot's source, known or read now."""
    known = _by_spec.get(spec)
    return source_digest(bot) if known is None else known.digest


def given_classes(specs: Iterable[str]) -> list[str]:
    """The names of the classes, of some bots, that were given."""
    return sorted({class_in(spec) for spec in specs if spec in _by_spec})


def packed(specs: Iterable[str]) -> dict[str, bytes]:
    """Those of some bots that were given, for other processes."""
    import cloudpickle

    found = {}
    for spec in specs:
        if spec in _by_spec:
            try:
                found[spec] = _received[spec] = cloudpickle.dumps(_by_spec[spec])
            except Exception as error:  # pickling runs code of the bot, which may raise anything
                raise BotError(
                    f"{spec} cannot be sent to workers ({type(error).__name__}: {error}). Play with workers=1, or "
                    "put the class into a file and name that."
                ) from error
    return found


def unpack(bots: dict[str, bytes]) -> None:
    """Keep bots that another process packed."""
    import cloudpickle

    for spec, content in bots.items():
        if _received.get(spec) != content:
            known: Given = cloudpickle.loads(content)
            _classes[class_in(spec)] = type(known.bot)
            _by_spec[spec] = known
            _received[spec] = content
