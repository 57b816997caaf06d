"""All kinds of studies: a new kind is one line here.

A kind has its options in a class, and its study in a module of that name with a function `plan` and a class `STUDY`.
The options are light to import; the studies are imported when one is planned.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from pickosim.bots.guard import set_answer_seconds
from pickosim.errors import PickosimError
from pickosim.studies.balance_options import BalanceOptions
from pickosim.studies.calibrate_options import CalibrateOptions
from pickosim.studies.compare_options import CompareOptions
from pickosim.studies.options import StudyOptions
from pickosim.studies.rank_options import RankOptions
from pickosim.studies.tournament_options import TournamentOptions
from pickosim.studies.train_options import TrainOptions

_KINDS: tuple[type[StudyOptions], ...] = (
    TournamentOptions,
    RankOptions,
    CompareOptions,
    BalanceOptions,
    TrainOptions,
    CalibrateOptions,
)

OPTIONS = {options.kind: options for options in _KINDS}


def plan(options: StudyOptions) -> Any:
    """The study that options ask for; whatever cannot be played is refused."""
    set_answer_seconds(options.answer_seconds)  # bots may be timed for the plan
    return _module(options.kind).plan(options)


def study_kind(kind: str) -> Any:
    """The class of a kind of study, e.g. of a manifest's."""
    if kind not in OPTIONS:
        raise PickosimError(f'This version has no study of kind "{kind}".')
    return _module(kind).STUDY


def _module(kind: str) -> Any:
    return import_module(f"pickosim.studies.{kind}")
