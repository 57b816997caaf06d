"""All kinds of studies by name: a new kind is one line here.

A kind is a class in the module of that name, e.g. `Tournament` in `tournament`. Modules of studies take long to import,
so each is imported when its study is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from pickosim.errors import PickosimError

KINDS = {
    "tournament": "Run a tournament between bots.",
    "rank": "Rank a bot among the built-in ones.",
    "tune": "Find the best setting of a bot, or the best of many bots.",
    "compare": "Compare variants of the rules.",
    "balance": "Measure what each specialist is worth.",
    "train": "Train a champion for a rule set and a number of players.",
    "analyse": "Find out what a bot's mistakes cost.",
    "calibrate": "Compare the champion's win chances with its games.",
}
"""What each does, in a line: the first of its class, for the list of commands."""


def study_kind(kind: str) -> Any:
    """The class of a kind of study, e.g. of a manifest's."""
    if kind not in KINDS:
        raise PickosimError(f'This version has no study of kind "{kind}".')
    return getattr(import_module(f"pickosim.studies.{kind}"), kind.capitalize())
