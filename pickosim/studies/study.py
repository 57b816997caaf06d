"""What all studies have in common: the plan as JSON and back, and how it is played.

A study is one object: its fields are its options, what follows from them are cached properties, and both together are
the plan that a run folder keeps.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, ParamSpec, Self, TypeVar, get_type_hints

from pydantic import TypeAdapter, ValidationError, create_model
from pydantic.dataclasses import dataclass

from pickosim.bots.guard import set_answer_seconds
from pickosim.bots.loading import (
    Entrant,
    check_bot_sources,
    given_classes,
    load_bot,
    packed,
    unpack,
)
from pickosim.columns import Frame, Row
from pickosim.errors import PickosimError, RulesError
from pickosim.rule_files import differences, load_rules, rules_text
from pickosim.rules import RULES_VERSION, RuleSet
from pickosim.runs.folder import Manifest, RunFolder
from pickosim.runs.progress import Progress, shown_progress
from pickosim.runs.run import Frames as Frames
from pickosim.runs.run import Results, kept_sums, plan_digest, run
from pickosim.runs.run import Study as Played
from pickosim.runs.tasks import Sources, Sums
from pickosim.runs.workers import Workers
from pickosim.studies.kinds import study_kind
from pickosim.studies.measures import COUNTED, LUCK_COLUMNS
from pickosim.studies.options import (
    CHECKED,
    RUN_OPTIONS,
    Option,
    RunOptions,
    StoredRules,
    Texts,
    declared,
    described,
    make_options,
    written,
)
from pickosim.studies.schedule import Earlier
from pickosim.studies.views import View

MOST_NOTES = 3
"""Tables on which remarks say how a bot plays."""

P = ParamSpec("P")
T = TypeVar("T")

FEW_BLOCKS = 100
"""With fewer blocks there is little to be seen: half an interval of a win share is up to 10 points."""

ALWAYS = (
    "studies.schedule",
    "stats.intervals",
    "bots.strategy",
    "learning.weights",
    "turn_odds",
    "runs.tasks",
)
"""What every study depends on: which blocks are played and when to stop, what bots use, how workers play."""


class _Stored(cached_property[T]):
    """See `stored`."""


def stored(compute: Callable[[Any], T]) -> cached_property[T]:
    """A cached property that the plan keeps: a study that is read from a plan takes it from there.

    Such are values for which bots and files of rules are loaded, or this machine is timed, when the run begins.
    """
    return _Stored(compute)


def stored_values(kind: type) -> dict[str, Any]:
    """The types of the values that the plan of a kind keeps besides the options, by name."""
    return {
        name: get_type_hints(value.func, include_extras=True)["return"]
        for base in reversed(kind.__mro__)
        for name, value in vars(base).items()
        if isinstance(value, _Stored)
    }


@dataclass(frozen=True, kw_only=True, config=CHECKED)
class Study(RunOptions, Played):
    """A study: its fields are its options, and what follows from them is computed when it is first needed."""

    examples: ClassVar[tuple[str, ...]]
    """Command lines that end the help of its command."""
    sources: ClassVar[tuple[str, ...]]
    """Modules whose games and sums the result depends on, besides all that they import."""
    frame_types: ClassVar[Mapping[str, Frame]]
    """The result tables that it can have; CSV prints the first."""
    views: ClassVar[tuple[View, ...]] = ()
    """How they are shown; if none is declared, table by table."""

    set: Annotated[
        Texts,
        Option(
            "Change an option of the rules; repeat for more.",
            ["dice=7"],
            metavar="OPTION=VALUE",
            repeat=True,
        ),
    ] = written(())

    @stored
    def entrants(self) -> tuple[Entrant, ...]:
        """The bots that play, with the digests of their sources."""
        raise NotImplementedError

    @property
    def all_rules(self) -> dict[str, RuleSet]:
        """All rules that are played, by the names by which they were asked for."""
        raise NotImplementedError

    def check(self) -> None:
        """Refuse what cannot be played."""

    def checked(self) -> Self:
        """The study itself, if it can be played, with all that its plan keeps."""
        set_answer_seconds(self.answer_seconds)  # bots may be timed for the plan
        self.check()
        for name in stored_values(type(self)):
            getattr(self, name)
        return self

    @property
    def plan(self) -> dict[str, Any]:
        """The options that say what is played, and what they came to when the run began, as JSON."""
        names = [field.name for field in fields(self) if field.name not in RUN_OPTIONS]
        names += stored_values(type(self))
        versions = {"rules_version": RULES_VERSION, "source": self.all_sources().digest}
        return {name: _as_json(getattr(self, name)) for name in names} | versions

    @classmethod
    def all_sources(cls) -> Sources:
        """The sources that the result depends on."""
        counted = tuple(measure.name for measure in COUNTED)
        return Sources((*cls.sources, *ALWAYS), counted)

    @classmethod
    def from_plan(cls, plan: Mapping[str, Any]) -> Self:
        """The study of a plan, which is read as data; a plan that is not one of this kind is refused."""
        options, kept = dict(plan), stored_values(cls)
        facts = create_model("Facts", rules_version=int, source=str, **kept)
        try:
            values = facts.model_validate_json(
                json.dumps({name: options.pop(name, None) for name in facts.model_fields}),
                strict=True,
            )
            study: Self = TypeAdapter(cls).validate_json(json.dumps(options))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise PickosimError(
                f"The plan in manifest.json is not one of a {cls.kind} ({where}: {first['msg']})."
            ) from error
        study.__dict__.update({name: getattr(values, name) for name in kept})
        return study

    @property
    def tables(self) -> Mapping[str, Frame]:
        """The result tables that it has with this plan; if it could judge games and does not, without columns for luck."""
        left_out = () if getattr(self, "judged", True) else LUCK_COLUMNS
        return {name: frame.without(*left_out) for name, frame in self.frame_types.items()}

    def rows(self, sums: Sequence[Sums]) -> Mapping[str, Iterable[Row]]:
        """The rows of the result tables."""
        raise NotImplementedError

    def frames(self, sums: Sequence[Sums]) -> Frames:
        """The result tables."""
        rows = self.rows(sums)
        return {name: frame.build(rows[name]) for name, frame in self.tables.items()}

    def findings(self, sums: Sequence[Sums], frames: Frames) -> dict[str, Any]:
        """The headline, sentences, and numbers that are in no table."""
        raise NotImplementedError

    def remarks(self, sums: Sequence[Sums], frames: Frames) -> Iterable[str]:
        """What to keep in mind, besides games that were not finished."""
        return ()

    def summary(self, sums: Sequence[Sums], frames: Frames) -> dict[str, Any]:
        """What the tables do not say: what was played, what was found, and what to keep in mind."""
        games, unfinished = (
            sum(int(part[name]) for part in sums if part) for name in ("games", "unfinished")
        )
        return {
            "games": games,
            "unfinished": unfinished,
            "sentences": [],
            **self.findings(sums, frames),
            "remarks": [*self.remarks(sums, frames), *about_unfinished(unfinished)],
        }

    def so_far(self, sums: Sequence[Sums]) -> tuple[Self, Sequence[Sums]] | None:
        """The study and its sums before it is finished; None if there is nothing to show yet."""
        return (self, sums) if all(sums) else None

    def notes(self, rules: RuleSet, players: int) -> dict[str, str]:
        """What there is to keep in mind of how bots play by these rules, by name."""
        notes = {each.name: load_bot(each.spec).note(rules, players) for each in self.entrants}
        return {name: note for name, note in notes.items() if note}

    def about_bots(self, tables: Sequence[tuple[RuleSet, int]]) -> Iterator[str]:
        """Remarks on these, for rules with numbers of players; only on the first, if there are many."""
        noted = [
            (bot, f"{rules_text(rules)}, {players} players, {note}")
            for rules, players in tables
            for bot, note in self.notes(rules, players).items()
        ]
        for bot in dict.fromkeys(bot for bot, _ in noted):
            notes = [note for other, note in noted if other == bot]
            if len(notes) <= MOST_NOTES:
                yield from (f"`{bot}` plays {note}." for note in notes)
            else:
                some = f"{len(notes)} of {len(tables)} combinations of rules and players"
                yield f"There is a note on `{bot}` for {some}; e.g. it plays {notes[0]}."


@dataclass(frozen=True, kw_only=True, config=CHECKED)
class OneRuleSetStudy(Study):
    """A study of one rule set; it has an option `rules`."""

    @stored
    def rule_set(self) -> StoredRules:
        """The rules that are played."""
        rules: str | RuleSet = getattr(self, "rules")  # noqa: B009
        return load_rules(rules, self.set)

    def titled(self, subject: str) -> str:
        """The title of a study with one number of players."""
        players, seed = getattr(self, "players"), getattr(self, "seed")  # noqa: B009
        return f"{subject}, {players} players, rules {rules_text(self.rule_set)}, seed {seed}"

    def noted(self, rows: Iterable[Row], players: int | None = None) -> Iterator[Row]:
        """Rows with the notes on their bots; without `players`, of the number in each row."""
        for row in rows:
            notes = self.notes(self.rule_set, players or row["players"])
            yield row | {"note": notes.get(row["bot"])}

    @property
    def all_rules(self) -> dict[str, RuleSet]:
        """The rules by their own name, or that of their file."""
        return {str(getattr(self, "rules")): self.rule_set}  # noqa: B009


def _as_json(value: Any) -> Any:
    """A value of a plan; rules are written in full."""
    if isinstance(value, RuleSet):
        return value.as_dict()
    if isinstance(value, list | tuple):
        return [_as_json(part) for part in value]
    if is_dataclass(value):
        return {field.name: _as_json(getattr(value, field.name)) for field in fields(value)}
    return value


# -------------------------------------------------------------------------------------------- a stored study


def study_of(kind: type[Study], manifest: Manifest, without: Collection[str] = ()) -> Study:
    """The study that a run folder was made for, exactly as it was planned.

    Refused where the same plan would give other games; the error says what has changed. Bots `without` which it is
    to go on may have.
    """
    plan = manifest["plan"]
    _check_versions(kind, plan, manifest["versions"].get("pickosim", "unknown"))
    study = kind.from_plan(plan)
    if plan_digest(study) != manifest["run"]:
        raise PickosimError("The plan in manifest.json is not the one that the run began with.")
    _check_rules(study)
    check_bot_sources(entrant for entrant in study.entrants if entrant.spec not in without)
    return study


def planned_study(manifest: Manifest) -> Any:
    """The study that a manifest's plan describes; no bot is loaded."""
    return study_kind(manifest["kind"]).from_plan(manifest["plan"])


@contextmanager
def shown(folder: Path) -> Iterator[None]:
    """Show a stored run; a folder whose contents do not fit together, as somebody made it up, is answered in a sentence."""
    try:
        yield
    except (PickosimError, OSError):
        raise
    except Exception as error:  # whatever values that nobody has checked lead to
        raise PickosimError(
            f"{folder} cannot be shown: what it holds does not fit together ({type(error).__name__}: {error})."
        ) from error


def load_results(folder: str | Path, *, unfinished: bool = False) -> Results:
    """The results of a finished run; the checksums of its manifest and tables are compared.

    With `unfinished`, a run that is not finished has the results of what was played so far, which its headline says.
    """
    run_folder = RunFolder(Path(folder))
    manifest = run_folder.manifest()
    if unfinished and manifest["status"] != "finished":
        return _results_so_far(run_folder, manifest)
    check_finished(run_folder.path, manifest)
    study = planned_study(manifest)
    if manifest["tables"] != list(study.tables):
        raise PickosimError(f"{folder} does not have the tables of its plan.")
    frames = {name: run_folder.frame(name, manifest) for name in study.tables}
    for name, frame in frames.items():
        if dict(frame.schema) != study.tables[name].schema:
            raise PickosimError(f"{folder}: the table {name} does not have its columns.")
    return Results(frames, manifest, run_folder.path)


def _results_so_far(folder: RunFolder, manifest: Manifest) -> Results:
    """The results of the tasks that an unfinished run has finished."""
    study = planned_study(manifest)
    if study.leaves_files:
        check_finished(folder.path, manifest)
    if manifest["plan"].get("source") != study.all_sources().digest:
        raise PickosimError(
            f"{folder.path} is not finished, and was begun with another pickosim. Show it with that one."
        )
    so_far = study.so_far(kept_sums(study, folder, manifest))
    if so_far is None:
        raise PickosimError(
            f"{folder.path} is not finished, and too little was played to show. To resume it: {folder.resume_command}"
        )
    played, sums = so_far
    frames = played.frames(sums)
    result = played.summary(sums, frames)
    result["headline"] = f"So far, as the run is not finished: {result['headline']}"
    result["remarks"] = [
        f"Results of {result['games']:,} games; to play the rest: {folder.resume_command}",
        *result["remarks"],
    ]
    files = dict(sorted(folder.files.items()))
    about = {"games_per_second": 0, "tables": list(frames), "result": result, "files": files}
    return Results(frames, {**manifest, **about}, folder.path)


def check_finished(folder: Path, manifest: Manifest) -> None:
    """Refuse a run that is not finished."""
    if manifest["status"] != "finished":
        command = RunFolder(folder).resume_command
        raise PickosimError(f"{folder} is not finished. To resume it: {command}")


def _check_versions(kind: type[Study], plan: Mapping[str, Any], version: str) -> None:
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


def _check_rules(study: Study) -> None:
    """Refuse rules whose file or preset no longer says what it said when the run began."""
    try:
        now = replace(study).all_rules
    except RulesError as error:
        raise PickosimError(f"The rules of the run can no longer be read: {error}") from error
    for (name, then), current in zip(study.all_rules.items(), now.values(), strict=True):
        changed = [f"{option} was {a} and is {b}" for option, a, b in differences(then, current)]
        if changed:
            raise PickosimError(
                f"The rules {name} have changed since the run began: {'; '.join(changed)}."
            )


def about_unfinished(unfinished: int) -> Iterator[str]:
    """A remark on games that the turn limit ended."""
    if unfinished:
        yield f"{unfinished:,} games were ended by the turn limit."


def about_few_blocks(fewest: int) -> Iterator[str]:
    """A warning if blocks are few."""
    if fewest < FEW_BLOCKS:
        yield (
            f"With only {fewest:,} {'block' if fewest == 1 else 'blocks'} (games with the same dice), "
            "intervals are wide, and small differences do not show."
        )


def about_precision(what: str, widest: str, wanted: str, cap: str, of: str = "") -> str:
    """Whether the precision that was asked for was reached; `cap` is empty if it was."""
    end = f", and not reached within {cap}" if cap else ""
    return f"The widest 95 % interval of {what} is {widest}; {wanted} were asked for{of}{end}."


def about_optional_stopping(earlier: Sequence[Earlier], blocks: int) -> Iterator[str]:
    """A warning if games were added to those of earlier runs."""
    if any(run.blocks < blocks for run in earlier):
        yield (
            "Games were added after earlier results were known. To play on until a difference is significant is optional "
            "stopping, which finds differences that are not there: decide on the number of games first, or test with "
            "--sprt."
        )


# ------------------------------------------------------------------------------------------------- how it is played


def workers_for(study: Study, how: RunOptions) -> Workers:
    """The workers that options name; they get the bots that were given as Python objects."""
    alone = how.workers == 1 and how.scheduler is None
    bots = {} if alone else packed(entrant.spec for entrant in study.entrants)
    return Workers(how.workers, how.scheduler, partial(_prepare, how.answer_seconds, bots))


def _prepare(seconds: float, bots: dict[str, bytes]) -> None:
    """Prepare a process to play."""
    set_answer_seconds(seconds)
    unpack(bots)


def play_study(
    study: Study,
    *,
    folder: Path | None = None,
    progress: Progress | None = None,
    command: str = "",
    notes: Mapping[str, Any] | None = None,
) -> Results:
    """Play a study that was checked: the one route to results, for the command line and Python."""
    out = folder or study.folder
    bots_in_python = given_classes(entrant.spec for entrant in study.entrants)
    with shown_progress(progress or study.progress) as shown:
        return run(
            study,
            None if out is None else RunFolder(out),
            workers_for(study, study),
            shown,
            command=command,
            export=study.export,
            notes={**(notes or {}), **({"given_bots": bots_in_python} if bots_in_python else {})},
        )


def study_function(kind: Callable[P, Study]) -> Callable[P, Results]:
    """The Python function of a kind of study, with the signature and the help of its options."""
    cls: Any = kind

    def play(*args: P.args, **kwargs: P.kwargs) -> Results:
        study: Study = make_options(kind, *args, **kwargs)
        return play_study(study.checked())

    play.__name__ = play.__qualname__ = cls.kind
    play.__doc__ = described(cls)
    types = {option.name: option.type for option in declared(cls)}
    parameters = [
        parameter.replace(annotation=types[name])
        for name, parameter in inspect.signature(cls).parameters.items()
        if name in types
    ]
    signature = inspect.Signature(parameters, return_annotation=Results)
    play.__signature__ = signature  # type: ignore[attr-defined]
    return play
