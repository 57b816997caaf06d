"""Guesses: bots that state what specialists are worth to them, played with other worths, or with measured ones.

Such a bot has a parameter for each specialist, in worms. What it does with specialists follows from these, and so does
what specialists are worth to it: a balance with multiplied worths shows how much. At the *fixed point*, a bot states
what is measured when it plays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pickosim.bots.entrants import Entrant, make_entrants
from pickosim.bots.loading import load_bot, spec_of
from pickosim.errors import PickosimError
from pickosim.rules import SPECIALISTS
from pickosim.studies.balance_findings import GUESSED


def stated_worths(spec: str) -> dict[str, float]:
    """What a bot states that specialists are worth, in worms, by specialist; empty if it does not."""
    bot = load_bot(spec)
    return {
        name: float(getattr(bot, _parameter(name)))
        for name in SPECIALISTS
        if isinstance(getattr(bot, _parameter(name), None), float | int)
    }


def with_worths(spec: str, worths: Mapping[str, float]) -> str:
    """The same bot with other stated worths."""
    bot: Any = load_bot(spec)
    changes = {_parameter(name): float(worth) for name, worth in worths.items()}
    return spec_of(replace(bot, **changes))


def with_guesses(entrants: Sequence[Entrant], factors: Sequence[float]) -> Iterator[Entrant]:
    """The entrants, each followed by those with its stated worths multiplied."""
    if not any(stated_worths(entrant.spec) for entrant in entrants):
        raise PickosimError(
            "Guesses are about bots that state what specialists are worth, such as expected or winner; none of these "
            "does."
        )
    for entrant in entrants:
        yield entrant
        stated = stated_worths(entrant.spec)
        for factor in factors if stated else ():
            changed = {name: factor * worth for name, worth in stated.items()}
            (made,) = make_entrants([with_worths(entrant.spec, changed)])
            yield replace(made, name=f"{entrant.name}{GUESSED}{factor:g}")


def _parameter(specialist: str) -> str:
    return specialist.replace("-", "_")
