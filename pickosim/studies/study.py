"""What all studies have in common: from options to a plan, the plan as JSON and back, and how it is played."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, ParamSpec, Self

import polars as pl
from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from pickosim.bots.entrants import ALL, check_bot_sources, expand, split_bot_list
from pickosim.bots.given import given_classes, packed, unpack
from pickosim.bots.guard import set_answer_seconds
from pickosim.bots.loading import as_specs, built_in_bots
from pickosim.columns import Frame
from pickosim.errors import PickosimError, RulesError
from pickosim.rule_files import complete_rules, differences, load_rules
from pickosim.rules import RULES_VERSION, RuleSet
from pickosim.runs.folder import RunFolder
from pickosim.runs.manifest import Manifest
from pickosim.runs.progress import Progress, shown_progress
from pickosim.runs.provenance import Sources
from pickosim.runs.results import Results
from pickosim.runs.run import Study, plan_digest, run
from pickosim.runs.sums import Sums
from pickosim.runs.workers import Workers
from pickosim.studies.measures import COUNTED
from pickosim.studies.options import (
    Bots,
    RunOptions,
    StudyOptions,
    declared,
    described,
    export_formats,
    make_options,
)
from pickosim.studies.variants import GivenRules

P = ParamSpec("P")

Frames = dict[str, pl.DataFrame]

ALWAYS = (
    "studies.schedule",
    "stats.moments",
    "bots.heuristics",
    "learning.learned",
    "learning.weights",
    "turn_odds",
    "runs.orders",
)
"""What every study depends on: which blocks are played and when to stop, what bots use, how workers play."""


def bot_list(bots: Bots, everybody: Callable[[], Sequence[str]] = built_in_bots) -> list[str]:
    """Bots as specs, ranges of parameters expanded; a text separates them by commas.

    `everybody` returns what `all` stands for, by default all built-in bots.
    """
    listed = split_bot_list(bots) if isinstance(bots, str) else as_specs(bots)
    return [spec for given in listed for spec in (everybody() if given == ALL else expand(given))]


@dataclass(frozen=True)
class StudyBase:
    """A study as a dataclass: its fields are its plan."""

    kind: ClassVar[str]
    sources: ClassVar[tuple[str, ...]]
    """Modules whose games and sums the result depends on, besides all that they import."""
    frame_types: ClassVar[Mapping[str, Frame]]
    """The result tables that it can have."""
    main_frame: ClassVar[str]
    """The one that CSV prints."""

    @property
    def plan(self) -> dict[str, Any]:
        """All that the result depends on, as JSON."""
        fields: dict[str, Any] = TypeAdapter(type(self)).dump_python(self, mode="json")
        return fields | {"rules_version": RULES_VERSION, "source": self.all_sources().digest}

    @classmethod
    def all_sources(cls) -> Sources:
        """The sources that the result depends on."""
        counted = tuple(measure.name for measure in COUNTED)
        return Sources((*cls.sources, *ALWAYS), counted)

    @classmethod
    def from_plan(cls, plan: Mapping[str, Any]) -> Self:
        """The study of a plan; a plan that is not one of this kind is refused."""
        own = dict(plan)
        try:
            TypeAdapter(int).validate_python(own.pop("rules_version", None), strict=True)
            TypeAdapter(str).validate_python(own.pop("source", None), strict=True)
            study: Self = TypeAdapter(cls).validate_python(own, strict=False)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "a version"
            raise PickosimError(
                f"The plan in manifest.json is not one of a {cls.kind} ({where}: {first['msg']})."
            ) from error
        return study

    @property
    def tables(self) -> Mapping[str, Frame]:
        """The result tables that it has with this plan."""
        return self.frame_types

    @property
    def saves_games(self) -> bool:
        """Whether every game is kept as a row."""
        return False

    @property
    def all_games(self) -> int:
        """Games of all stages, as far as that is known before the first; by default it is not."""
        return 0

    @property
    def leaves_files(self) -> bool:
        """Whether `files` has any, so that the run needs a folder."""
        return False

    def files(self, sums: Sequence[Sums]) -> dict[str, bytes]:
        """Files that the run leaves in its folder besides its tables, by name; by default none."""
        return {}

    def deliver(self, results: Results) -> None:
        """Put what was asked for where it was asked for; by default it is all in the run folder."""


def study_of(kind: type[StudyBase], manifest: Manifest) -> Any:
    """The study that a run folder was made for, exactly as it was planned.

    Refused where the same plan would give other games; the error says what has changed.
    """
    plan = manifest["plan"]
    _check_versions(kind, plan, manifest["versions"].get("pickosim", "unknown"))
    study: Any = kind.from_plan(plan)
    if plan_digest(study) != manifest["run"]:
        raise PickosimError("The plan in manifest.json is not the one that the run began with.")
    for rules in [plan, *plan.get("variants", [])]:
        if "rules" in rules:
            _check_rules(complete_rules(rules["rules"]), rules["given_rules"])
    check_bot_sources(study.entrants)
    return study


def _check_versions(kind: type[StudyBase], plan: Mapping[str, Any], version: str) -> None:
    """Refuse a plan of other rules or sources than these."""
    if plan.get("rules_version") != RULES_VERSION:
        raise PickosimError(
            f"The run was begun with version {plan.get('rules_version')} of the rules; this is "
            f"{RULES_VERSION}."
        )
    if plan.get("source") != (source := kind.all_sources().digest):
        raise PickosimError(
            f"The run was begun with another pickosim ({version}, source {plan.get('source')}); this one "
            f"has source {source}. Resume with that one, or begin a new run."
        )


def _check_rules(then: RuleSet, given: GivenRules) -> None:
    """Whether the file or preset that the rules were read from still says the same."""
    match given:
        case None:
            return
        case {"rules": str(name), "set": [*sets]} if all(isinstance(text, str) for text in sets):
            pass
        case _:
            raise PickosimError("The plan in manifest.json does not say where its rules are from.")
    try:
        now = load_rules(name, sets)
    except RulesError as error:
        raise PickosimError(f"The rules of the run can no longer be read: {error}") from error
    changed = [f"{option} was {a} and is {b}" for option, a, b in differences(then, now)]
    if changed:
        raise PickosimError(
            f"The rules {name} have changed since the run began: {'; '.join(changed)}."
        )


def about_unfinished(unfinished: int) -> Iterator[str]:
    """A remark on games that the turn limit ended."""
    if unfinished:
        yield f"{unfinished:,} games were ended by the turn limit."


# ------------------------------------------------------------------------------------------------- how it is played


def crew_of(options: RunOptions, study: Any) -> Workers:
    """The workers that options name; they get the bots that were given as Python objects."""
    alone = options.workers == 1 and options.scheduler is None
    bots = {} if alone else packed(entrant.spec for entrant in study.entrants)
    prepare = partial(_prepare, options.answer_seconds, bots)
    return Workers(options.workers, options.scheduler, prepare)


def _prepare(seconds: float, bots: dict[str, bytes]) -> None:
    """Prepare a process to play."""
    set_answer_seconds(seconds)
    unpack(bots)


def play_study(
    study: Any,
    options: RunOptions,
    *,
    folder: Path | None = None,
    progress: Progress | None = None,
    command: str = "",
    notes: Mapping[str, Any] | None = None,
) -> Results:
    """Play a planned study: the one route from a plan to results, for the command line and Python."""
    out = folder or options.folder
    given = given_classes(entrant.spec for entrant in study.entrants)
    with shown_progress(progress or options.progress) as told:
        results = run(
            study,
            None if out is None else RunFolder(out),
            crew_of(options, study),
            told,
            command=command,
            export=export_formats(options.export),
            notes={**(notes or {}), **({"given_bots": given} if given else {})},
        )
    study.deliver(results)
    return results


def study_function(
    options: Callable[P, StudyOptions], plan: Callable[..., Study]
) -> Callable[P, Results]:
    """The Python function of a kind of study, with the signature and the help of its options."""
    kind: Any = options

    def play(*args: P.args, **kwargs: P.kwargs) -> Results:
        given: StudyOptions = make_options(options, *args, **kwargs)
        set_answer_seconds(given.answer_seconds)
        return play_study(plan(given), given)

    play.__name__ = play.__qualname__ = kind.kind
    play.__doc__ = described(kind)
    types = {option.name: option.type for option in declared(kind)}
    parameters = [
        parameter.replace(annotation=types[name])
        for name, parameter in inspect.signature(kind).parameters.items()
    ]
    signature = inspect.Signature(parameters, return_annotation=Results)
    play.__signature__ = signature  # type: ignore[attr-defined]
    return play
