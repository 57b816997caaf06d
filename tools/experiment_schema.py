"""The JSON Schema of experiment files, for editors: what is asked, and the options of each kind of study."""

from __future__ import annotations

import collections.abc
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import TypeAdapter

from pickosim.bots.strategy import Strategy
from pickosim.rules import RuleSet
from pickosim.stats.sequential import Sprt
from pickosim.studies.experiments import OWN_KEYS
from pickosim.studies.kinds import KINDS, study_kind
from pickosim.studies.options import Option, declared

_OWN: dict[str, dict[str, Any]] = {
    "question": {
        "description": "What is asked, as a sentence.",
        "type": "string",
        "examples": ["Which bot is best?"],
    },
    "study": {"description": "The kind of study that answers it."},
    "report": {
        "description": "Result tables to export as Markdown.",
        "type": "array",
        "items": {"type": "string"},
        "examples": [["standings"]],
    },
}

_NOT_IN_FILES = (RuleSet, Path, NoneType, Sprt, Strategy, type[Strategy])
"""Types that only Python can give."""


def experiment_schema() -> dict[str, Any]:
    """The schema of a file, which is that of one kind of study."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "A pickosim experiment",
        "type": "object",
        "oneOf": [_kind_schema(kind) for kind in KINDS],
    }


def _kind_schema(kind: str) -> dict[str, Any]:
    options = [option for option in declared(study_kind(kind)) if not option.is_run_option]
    own = {key: _OWN[key] | ({"enum": [kind]} if key == "study" else {}) for key in OWN_KEYS}
    required = [option.name for option in options if option.is_required]
    return {
        "title": kind,
        "properties": own | {option.name: _option_schema(option) for option in options},
        "required": ["question", "study", *required],
        "additionalProperties": False,
    }


def _option_schema(option: Option) -> dict[str, Any]:
    return {
        "description": option.help,
        **TypeAdapter(_type_in_files(option.type)).json_schema(),
        "examples": [option.example],
    }


def _type_in_files(written_type: Any) -> Any:
    """A type without what a file cannot hold."""
    members = get_args(written_type)
    if get_origin(written_type) is collections.abc.Sequence:
        return list[_type_in_files(members[0])]  # type: ignore[misc]
    if not members or get_origin(written_type) is Literal:
        return written_type
    if get_origin(written_type) is Annotated:
        return _type_in_files(members[0])
    kept = [_type_in_files(member) for member in members if member not in _NOT_IN_FILES]
    return Union[tuple(kept)]  # noqa: UP007
