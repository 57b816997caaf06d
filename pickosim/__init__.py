"""pickosim: Monte Carlo tournaments of Pickomino (Heckmeck am Bratwurmeck) and Extrawurm.

    import pickosim

    played = pickosim.play(["eager", "random"], rules="classic", games="10k", seed=1)
    played.standings, played.games, played.seats  # polars frames

Names are loaded when they are first used: importing pickosim is quick.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if (
    TYPE_CHECKING
):  # the public names: type checkers follow these lines, and `__getattr__` reads them
    from pickosim.api import benchmark as benchmark
    from pickosim.api import check as check
    from pickosim.api import diff_rules as diff_rules
    from pickosim.api import extend as extend
    from pickosim.api import list_runs as list_runs
    from pickosim.api import list_strategies as list_strategies
    from pickosim.api import new as new
    from pickosim.api import play as play
    from pickosim.api import position as position
    from pickosim.api import positions as positions
    from pickosim.api import report as report
    from pickosim.api import resume as resume
    from pickosim.api import show_rules as show_rules
    from pickosim.api import show_strategy as show_strategy
    from pickosim.api import watch as watch
    from pickosim.bots.simple import SimpleStrategy as SimpleStrategy
    from pickosim.bots.simple import SimpleTurn as SimpleTurn
    from pickosim.bots.strategy import Strategy as Strategy
    from pickosim.bots.view import After as After
    from pickosim.bots.view import BoolArray as BoolArray
    from pickosim.bots.view import FloatArray as FloatArray
    from pickosim.bots.view import IntArray as IntArray
    from pickosim.bots.view import Turn as Turn
    from pickosim.engine.dice import POINTS as POINTS
    from pickosim.errors import PickosimError as PickosimError
    from pickosim.games.played import Played as Played
    from pickosim.games.played import Recording as Recording
    from pickosim.games.played import record as record
    from pickosim.games.positions import position_line as position_line
    from pickosim.rule_files import Explanation as Explanation
    from pickosim.rule_files import explain_rule as explain_rule
    from pickosim.rule_files import explain_rules as explain_rules
    from pickosim.rule_files import load_rules as load_rules
    from pickosim.rule_files import presets as presets
    from pickosim.rules import RULES_VERSION as RULES_VERSION
    from pickosim.rules import SPECIALISTS as SPECIALISTS
    from pickosim.rules import WORM as WORM
    from pickosim.rules import RuleSet as RuleSet
    from pickosim.runs.progress import Progress as Progress
    from pickosim.runs.run import Results as Results
    from pickosim.solver.valuation import Valuation as Valuation
    from pickosim.studies.analyse import analyse as analyse
    from pickosim.studies.balance import balance as balance
    from pickosim.studies.calibrate import calibrate as calibrate
    from pickosim.studies.compare import compare as compare
    from pickosim.studies.experiments import experiment as experiment
    from pickosim.studies.rank import rank as rank
    from pickosim.studies.study import load_results as load_results
    from pickosim.studies.tournament import tournament as tournament
    from pickosim.studies.train import train as train
    from pickosim.studies.tune import tune as tune
    from pickosim.turn_odds import odds as odds

__version__ = "0.3.0"

_IMPORT = re.compile(r"^    from pickosim\.(\S+) import (\w+) as ", re.MULTILINE)

_HOMES = {name: home for home, name in _IMPORT.findall(Path(__file__).read_text(encoding="utf-8"))}
"""The modules that public names are in, as they are imported above."""

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"pickosim.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'pickosim' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
