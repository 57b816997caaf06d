"""pickosim: Monte Carlo tournaments of Pickomino (Heckmeck am Bratwurmeck) and Extrawurm.

    import pickosim

    played = pickosim.play(["eager", "random"], rules="extrawurm", games=100_000, seed=1)
    played.games, played.seats, played.specialists  # polars frames

Names are loaded when they are first used: importing pickosim is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pickosim.api import (
        balance,
        benchmark,
        compare,
        experiment,
        play,
        report,
        resume,
        tournament,
        watch,
    )
    from pickosim.bots.strategy import Strategy
    from pickosim.bots.view import BoolArray, IntArray, Turn
    from pickosim.engine.dice import POINTS
    from pickosim.errors import PickosimError
    from pickosim.games.frames import Played
    from pickosim.rules import RULES_VERSION, SPECIALISTS, WORM, RuleSet, load_rules, presets
    from pickosim.runs.results import Results, load_results
    from pickosim.solver.valuation import Valuation, Worth
    from pickosim.turn_odds.answer import odds

__version__ = "0.1.0"

_HOMES = {
    "BoolArray": "bots.view",
    "IntArray": "bots.view",
    "POINTS": "engine.dice",
    "PickosimError": "errors",
    "Played": "games.frames",
    "RULES_VERSION": "rules",
    "Results": "runs.results",
    "RuleSet": "rules",
    "SPECIALISTS": "rules",
    "Strategy": "bots.strategy",
    "Turn": "bots.view",
    "WORM": "rules",
    "Valuation": "solver.valuation",
    "Worth": "solver.valuation",
    "balance": "api",
    "benchmark": "api",
    "compare": "api",
    "experiment": "api",
    "load_results": "runs.results",
    "load_rules": "rules",
    "odds": "turn_odds.answer",
    "play": "api",
    "presets": "rules",
    "report": "api",
    "resume": "api",
    "tournament": "api",
    "watch": "api",
}

__all__ = [
    "POINTS",
    "RULES_VERSION",
    "SPECIALISTS",
    "WORM",
    "BoolArray",
    "IntArray",
    "PickosimError",
    "Played",
    "Results",
    "RuleSet",
    "Strategy",
    "Turn",
    "Valuation",
    "Worth",
    "balance",
    "benchmark",
    "compare",
    "experiment",
    "load_results",
    "load_rules",
    "odds",
    "play",
    "presets",
    "report",
    "resume",
    "tournament",
    "watch",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"pickosim.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'pickosim' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
