"""Options of studies, each declared once as a field of a dataclass.

Everything else is derived from the field: the Python function's signature and help, the option of the command, the key
of experiment files, the entry in the documents, and the JSON Schema. Values stay as they were given, e.g. games="250k";
an option's `check` refuses what cannot be meant, and the study reads the value when it is planned.
"""

from __future__ import annotations

import collections.abc
import inspect
import os
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from types import NoneType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import AfterValidator, ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked_dataclass

from pickosim.amounts import parse_share, split_list
from pickosim.bots.guard import ANSWER_SECONDS, check_seconds
from pickosim.errors import PickosimError, suggest
from pickosim.rule_files import load_rules
from pickosim.rules import RuleSet
from pickosim.runs.manifest import EXPORTS
from pickosim.runs.progress import Progress
from pickosim.studies.schedule import player_counts

CORES = os.cpu_count() or 1

PYTHON_ONLY = ("progress", "chunk")
"""Options that only Python can give."""

CHECKED = ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True)


def _given_bot(given: object) -> object:
    """A bot as a class or instance; imported here, as help needs no bots."""
    from pickosim.bots.strategy import Strategy

    if isinstance(given, Strategy) or (isinstance(given, type) and issubclass(given, Strategy)):
        return given
    raise ValueError(BOT_HINT)


if TYPE_CHECKING:
    from pickosim.bots.strategy import Strategy

    Bot = str | Strategy | type[Strategy]
else:
    Bot = Union[str, Annotated[object, AfterValidator(_given_bot)]]  # noqa: UP007
Bots = str | Sequence[Bot]

BOT_HINT = "A bot is a name or path, or a class or instance of pickosim.Strategy."

Rules = str | Path | RuleSet


class OptionError(PickosimError):
    """An option that does not exist, is missing, or has a value that cannot be meant."""

    def __init__(self, option: str, said: str) -> None:
        super().__init__(said)
        self.option = option


@dataclass(frozen=True)
class Option:
    """What is known of an option besides its name, type and default."""

    help: str
    example: Any
    """A value that shows how it is written."""
    metavar: str = ""
    default: str = ""
    """The default in words, where the value does not say it."""
    positional: bool = False
    """Whether the command takes it as arguments, without a name."""
    repeat: bool = False
    """Whether the command takes it several times."""
    check: Callable[[Any], object] | None = None
    """Raises a PickosimError for a value that cannot be meant."""
    hint: str = ""
    """What to say of a value of another type, besides the example."""


# --------------------------------------------------------------------------------------------------- checks


def check_bots(bots: Bots) -> None:
    """Refuse bots that cannot be found or made."""
    from pickosim.bots.entrants import make_entrants, split_bot_list

    make_entrants(split_bot_list(bots) if isinstance(bots, str) else bots)


def check_bot(bot: Bot) -> None:
    """Refuse a bot that cannot be found or made, and several at once."""
    from pickosim.bots.entrants import make_entrants

    if len(make_entrants([bot])) > 1:
        raise PickosimError(f"Name one bot, e.g. winner; {bot} stands for several.")


def check_rules(rules: Rules | Sequence[Rules]) -> None:
    """Refuse rules that cannot be read."""
    for given in [rules] if isinstance(rules, str | Path | RuleSet) else rules:
        load_rules(given)


def check_share(given: str | float) -> float:
    """A precision as a share."""
    return parse_share(given, "A precision")


def check_workers(number: int) -> None:
    """Refuse a number of workers below 1."""
    if number < 1:
        raise PickosimError(f"Workers are a whole number from 1 on, not {number}.")


def check_chunk(blocks: int) -> None:
    """Refuse chunks without a block."""
    if blocks < 1:
        raise PickosimError(f"Blocks per chunk are a whole number from 1 on, not {blocks}.")


def export_formats(given: str | Sequence[str]) -> list[str]:
    """The formats of a list, e.g. csv,json,md."""
    formats = split_list(given)
    for word in formats:
        if word not in EXPORTS:
            known = ", ".join(EXPORTS)
            near = suggest(word, EXPORTS) or "."
            raise PickosimError(f'Tables are exported to {known}, not to "{word}"{near}')
    return formats


# ------------------------------------------------------------------------------------- options of all studies


@checked_dataclass(frozen=True, kw_only=True, config=CHECKED)
class RunOptions:
    """How a study is run; nothing here changes its results."""

    workers: Annotated[
        int,
        Option(
            "Processes to play in.", 2, metavar="NUMBER", default="all cores", check=check_workers
        ),
    ] = CORES
    backend: Annotated[
        Literal["joblib", "dask"] | None,
        Option("Who plays.", "dask", metavar="joblib|dask", default="joblib"),
    ] = None
    scheduler: Annotated[
        str | None,
        Option("Address of a Dask scheduler.", "tcp://10.0.0.1:8786", metavar="ADDRESS"),
    ] = None
    answer_seconds: Annotated[
        float,
        Option(
            "Time that a bot may take for an answer, about thousands of games at once.",
            60,
            metavar="SECONDS",
            check=check_seconds,
        ),
    ] = ANSWER_SECONDS
    out: Annotated[
        str | Path | None,
        Option(
            "Folder of the run; an interrupted run can be resumed from it.",
            "runs/mine",
            metavar="RUN",
            default="a new one in runs/; from Python, none",
        ),
    ] = None
    export: Annotated[
        str | Sequence[str],
        Option(
            "Write the tables in these formats too.",
            "csv,md",
            metavar=",".join(EXPORTS),
            check=export_formats,
        ),
    ] = ()
    progress: Annotated[
        bool | Progress | None, Option("Show a progress bar, or call these functions.", True)
    ] = None
    chunk: Annotated[
        int | None,
        Option("Blocks per chunk.", 1000, default="some seconds of play", check=check_chunk),
    ] = None

    @property
    def folder(self) -> Path | None:
        """The folder of the run, if one is named."""
        return None if self.out is None else Path(self.out)

    def __post_init__(self) -> None:
        if self.backend == "dask" and self.scheduler is None:
            raise OptionError(
                "scheduler", "The dask backend needs the address of a cluster: --scheduler ADDRESS."
            )
        if self.backend == "joblib" and self.scheduler is not None:
            raise OptionError(
                "backend", "A scheduler is the address of a Dask cluster: use --backend dask."
            )


@checked_dataclass(frozen=True, kw_only=True, config=CHECKED)
class StudyOptions(RunOptions):
    """What is played, in all kinds of studies."""

    kind: ClassVar[str]
    examples: ClassVar[tuple[str, ...]]
    """Command lines that end the help of its command."""

    set: Annotated[
        Sequence[str],
        Option(
            "Change an option of the rules; repeat for more.",
            ["dice=7"],
            metavar="OPTION=VALUE",
            repeat=True,
        ),
    ] = ()


Seed = Annotated[int, Option("Seed of all dice and choices.", 1, metavar="NUMBER")]

OneRuleSet = Annotated[
    Rules,
    Option(
        "A preset (see `pickosim rules`) or a TOML file.",
        "extrawurm",
        metavar="RULES",
        check=check_rules,
    ),
]

Players = Annotated[int, Option("Players per game.", 4, metavar="NUMBER", check=player_counts)]

PlayerCounts = Annotated[
    int | str | Sequence[int],
    Option(
        "Numbers of players, e.g. 4, 2-5 or 2,4,7.", "2-5", metavar="NUMBERS", check=player_counts
    ),
]


# ---------------------------------------------------------------------------------------------- declarations


@dataclass(frozen=True)
class Declared:
    """An option as its dataclass declares it."""

    name: str
    type: Any
    default: Any
    """MISSING if it has to be given."""
    option: Option
    is_run_option: bool
    """Whether it says how a study is run, and not what is played."""

    @property
    def is_required(self) -> bool:
        """Whether it has no default."""
        return self.default is MISSING

    @property
    def is_flag(self) -> bool:
        """Whether it is either given or not."""
        return self.type is bool

    @property
    def is_list(self) -> bool:
        """Whether it has several values."""
        of = get_args(self.type) or (self.type,)
        return any(get_origin(one) is collections.abc.Sequence for one in (self.type, *of))

    @property
    def flag(self) -> str:
        """Its name on the command line."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def default_text(self) -> str:
        """The default in words; empty if there is nothing to say."""
        if self.option.default:
            return self.option.default
        unsaid = self.is_required or self.is_flag or self.default is None or self.default == ()
        return "" if unsaid else str(self.default)


def declared(kind: type[RunOptions]) -> list[Declared]:
    """The options of a kind of study in the order of its signature, those that say how it is run last."""
    hints = get_type_hints(kind, include_extras=True)
    run_options = {field.name for field in fields(RunOptions)}
    defaults = {field.name: field.default for field in fields(kind)}
    found = []
    for name in inspect.signature(kind).parameters:
        of, *metadata = get_args(hints[name])
        option = next(entry for entry in metadata if isinstance(entry, Option))
        found.append(Declared(name, of, defaults[name], option, name in run_options))
    return sorted(found, key=lambda one: one.is_run_option)


def check_names(given: collections.abc.Iterable[str], known: Sequence[str]) -> None:
    """Refuse an option that does not exist, with a suggestion."""
    for name in given:
        if name not in known:
            near = suggest(name, known) or "."
            raise OptionError(
                name, f'There is no option "{name}"{near} The options are {", ".join(known)}.'
            )


def make_options(kind: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Options from arguments; an `OptionError` names the first that is wrong."""
    cls: Any = kind
    check_names(kwargs, list(inspect.signature(cls).parameters))
    try:
        made = cls(*args, **kwargs)
    except ValidationError as error:
        raise _wrong(cls, error) from None
    for option in declared(cls):
        value, check = getattr(made, option.name), option.option.check
        if check is not None and value is not None and value != option.default:
            try:
                check(value)
            except PickosimError as error:
                raise OptionError(option.name, str(error)) from error
    return made


def _wrong(kind: type[RunOptions], error: ValidationError) -> OptionError:
    """One mistake, in a sentence that says what to write instead."""
    first = error.errors()[0]
    names = list(inspect.signature(kind).parameters)
    place = first["loc"][0]
    if first["type"] == "unexpected_positional_argument" and isinstance(place, int):
        return OptionError("", f"Only {', '.join(names[:place])} can be given without their names.")
    name = names[place] if isinstance(place, int) else str(place)
    (option,) = (one for one in declared(kind) if one.name == name)
    example = f"e.g. {name} = {option.option.example!r}"
    if first["type"].startswith("missing"):
        return OptionError(name, f'The option "{name}" is missing; {example}.')
    hint = f" {option.option.hint}" if option.option.hint else ""
    return OptionError(name, f"{name} cannot be {first['input']!r}; {example}.{hint}")


def described(kind: type[StudyOptions]) -> str:
    """The help of a kind of study: what it does, and its options."""
    lines = [inspect.cleandoc(kind.__doc__ or ""), "", "Parameters", "----------"]
    for option in declared(kind):
        shown = f" Default: {option.default_text}." if option.default_text else ""
        lines += [
            option.name,
            f"    {option.option.help}{shown} Example: {option.option.example!r}",
        ]
    return "\n".join(lines)


def option_schema(kind: type[StudyOptions]) -> dict[str, Any]:
    """The JSON Schema of each option that says what is played, as experiment files have it."""
    return {
        option.name: {
            "description": option.option.help,
            **TypeAdapter(_written_type(option.type)).json_schema(),
            "examples": [option.option.example],
        }
        for option in declared(kind)
        if not option.is_run_option
    }


_NOT_WRITTEN = (RuleSet, Path, NoneType, *get_args(Bot)[1:])
"""Types that only Python can give."""


def _written_type(of: Any) -> Any:
    """A type without what a file cannot hold."""
    members = get_args(of)
    if get_origin(of) is collections.abc.Sequence:
        return list[_written_type(members[0])]  # type: ignore[misc]
    if not members or get_origin(of) is Literal:
        return of
    kept = [_written_type(one) for one in members if one not in _NOT_WRITTEN]
    return Union[tuple(kept)]  # noqa: UP007
