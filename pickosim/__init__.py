"""pickosim: Monte Carlo tournaments of Pickomino (Heckmeck am Bratwurmeck) and Extrawurm.

    import pickosim

    played = pickosim.play(["eager", "random"], rules="classic", games="10k", seed=1)
    played.standings, played.games, played.seats  # polars frames

Names are loaded when they are first used: importing pickosim is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pickosim.api import (
        benchmark,
        check,
        diff_rules,
        extend,
        list_strategies,
        new,
        play,
        position,
        positions,
        report,
        resume,
        show_rules,
        show_strategy,
        watch,
    )
    from pickosim.bots.simple import SimpleStrategy, SimpleTurn
    from pickosim.bots.strategy import Strategy
    from pickosim.bots.view import After, BoolArray, FloatArray, IntArray, Turn
    from pickosim.engine.dice import POINTS
    from pickosim.errors import PickosimError
    from pickosim.games.frames import Played
    from pickosim.games.positions import position_line
    from pickosim.games.recording import Recording, record
    from pickosim.reports.listings import list_runs
    from pickosim.rule_files import Explanation, explain_rule, explain_rules, load_rules, presets
    from pickosim.rules import RULES_VERSION, SPECIALISTS, WORM, RuleSet
    from pickosim.runs.progress import Progress
    from pickosim.runs.run import Results
    from pickosim.solver.valuation import Valuation
    from pickosim.studies.balance import balance
    from pickosim.studies.calibrate import calibrate
    from pickosim.studies.compare import compare
    from pickosim.studies.experiments import experiment
    from pickosim.studies.rank import rank
    from pickosim.studies.study import load_results
    from pickosim.studies.tournament import tournament
    from pickosim.studies.train import train
    from pickosim.turn_odds import odds

__version__ = "0.3.0"

_HOMES = {
    "After": "bots.view",
    "POINTS": "engine.dice",
    "RULES_VERSION": "rules",
    "SPECIALISTS": "rules",
    "WORM": "rules",
    "BoolArray": "bots.view",
    "Explanation": "rule_files",
    "FloatArray": "bots.view",
    "IntArray": "bots.view",
    "PickosimError": "errors",
    "Played": "games.frames",
    "Progress": "runs.progress",
    "Recording": "games.recording",
    "Results": "runs.run",
    "RuleSet": "rules",
    "SimpleStrategy": "bots.simple",
    "SimpleTurn": "bots.simple",
    "Strategy": "bots.strategy",
    "Turn": "bots.view",
    "Valuation": "solver.valuation",
    "balance": "studies.balance",
    "benchmark": "api",
    "check": "api",
    "compare": "studies.compare",
    "diff_rules": "api",
    "experiment": "studies.experiments",
    "extend": "api",
    "explain_rule": "rule_files",
    "explain_rules": "rule_files",
    "list_runs": "reports.listings",
    "list_strategies": "api",
    "load_results": "studies.study",
    "load_rules": "rule_files",
    "new": "api",
    "odds": "turn_odds",
    "play": "api",
    "position": "api",
    "position_line": "games.positions",
    "positions": "api",
    "presets": "rule_files",
    "calibrate": "studies.calibrate",
    "rank": "studies.rank",
    "record": "games.recording",
    "report": "api",
    "resume": "api",
    "show_rules": "api",
    "show_strategy": "api",
    "tournament": "studies.tournament",
    "train": "studies.train",
    "watch": "api",
}

__all__ = [
    "POINTS",
    "RULES_VERSION",
    "SPECIALISTS",
    "WORM",
    "After",
    "BoolArray",
    "Explanation",
    "FloatArray",
    "IntArray",
    "PickosimError",
    "Played",
    "Progress",
    "Recording",
    "Results",
    "RuleSet",
    "SimpleStrategy",
    "SimpleTurn",
    "Strategy",
    "Turn",
    "Valuation",
    "balance",
    "benchmark",
    "calibrate",
    "check",
    "compare",
    "diff_rules",
    "experiment",
    "explain_rule",
    "explain_rules",
    "extend",
    "list_runs",
    "list_strategies",
    "load_results",
    "load_rules",
    "new",
    "odds",
    "play",
    "position",
    "position_line",
    "positions",
    "presets",
    "rank",
    "record",
    "report",
    "resume",
    "show_rules",
    "show_strategy",
    "tournament",
    "train",
    "watch",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"pickosim.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'pickosim' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
