"""Options of studies, each declared once as an annotated field of the study's class.

Everything else is derived from the field: the Python function's signature and help, the option of the command, the key
of experiment files, the entry in the documents, and the JSON Schema. The type of a field says how the option is written
and what it is read as, e.g. games="250k" as 250000.
"""

from __future__ import annotations

import collections.abc
import inspect
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Generic,
    Literal,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.dataclasses import dataclass as checked_dataclass

from pickosim.amounts import parse_count, parse_share, split_list
from pickosim.bots.guard import ANSWER_SECONDS, check_seconds
from pickosim.bots.loading import as_specs, make_entrants, split_bot_list
from pickosim.bots.strategy import Strategy
from pickosim.errors import PickosimError, suggest
from pickosim.rule_files import complete_rules, load_rules
from pickosim.rules import RuleSet, check_players
from pickosim.runs.folder import EXPORTS
from pickosim.runs.progress import Progress
from pickosim.studies.schedule import player_counts

CORES = os.cpu_count() or 1

PYTHON_ONLY = ("progress", "chunk")
"""Options that only Python can give."""

NONE = inspect.Parameter.empty
"""The default of an option that has to be given."""

CHECKED = ConfigDict(
    extra="forbid", strict=True, validate_default=True, arbitrary_types_allowed=True
)


class OptionError(PickosimError):
    """An option that does not exist, is missing, or has a value that cannot be meant."""

    def __init__(self, option: str, message: str) -> None:
        super().__init__(message)
        self.option = option


@dataclass(frozen=True)
class Option:
    """An option: what is written in the annotation of its field, and what `declared` adds from the field."""

    help: str
    example: Any
    """A value that shows how it is written."""
    metavar: str = ""
    default_text: str = ""
    """The default in words; empty if there is nothing to say."""
    positional: bool = False
    """Whether the command takes it as arguments, without a name."""
    repeat: bool = False
    """Whether the command takes it several times."""
    name: str = ""
    type: Any = None
    """How it is written."""
    default: Any = NONE
    loads: Loads | None = None

    @property
    def is_run_option(self) -> bool:
        """Whether it says how a study is run, and not what is played."""
        return self.name in RUN_OPTIONS

    @property
    def is_required(self) -> bool:
        """Whether it has no default."""
        return self.default is NONE

    @property
    def is_flag(self) -> bool:
        """Whether it is either given or not."""
        return self.type is bool

    @property
    def is_list(self) -> bool:
        """Whether it has several values."""
        types = (self.type, *get_args(self.type))
        return any(get_origin(part) is collections.abc.Sequence for part in types)

    @property
    def flag(self) -> str:
        """Its name on the command line."""
        return f"--{self.name.replace('_', '-')}"


@dataclass(frozen=True)
class Loads:
    """How to find out whether what an option names is there; not asked of a stored plan, which is read as data."""

    check: Callable[[Any], object]
    hint: str = ""
    """What to say of a value of another type, besides the example."""


# ------------------------------------------------------------------------------------------ types of options

Written = TypeVar("Written")
Value = TypeVar("Value")


class Parsed(Generic[Written, Value]):
    """The type of an option that is written as one type and read as another.

    Type checkers see a descriptor, so that a study can be made with games="250k" and its `games` is an int. Pydantic
    sees the first type, and `parsed_by` makes the second of it.
    """

    if TYPE_CHECKING:

        def __get__(self, study: object, kind: type | None = None) -> Value: ...
        def __set__(self, study: object, value: Written) -> None: ...

    else:

        def __class_getitem__(cls, types: tuple[Any, Any]) -> Any:
            return types[0]


def written(default: Any) -> Any:
    """The default of an option whose type is `Parsed`, in written form."""
    return default


def parsed_by(parse: Callable[[Any], Any]) -> AfterValidator:
    """Read an option with a function that raises a PickosimError for a value that cannot be meant; None stays None."""

    def value_of(value: Any) -> Any:
        try:
            return None if value is None else parse(value)
        except PickosimError as error:
            # Pydantic takes no text that cannot be encoded, such as a name that is not UTF-8.
            raise ValueError(str(error).encode(errors="backslashreplace").decode()) from error

    return AfterValidator(value_of)


def _from_plan(rules: Any) -> Any:
    """Rules, or each of a list, that a plan has in full; others as they are."""
    if isinstance(rules, list):
        return [_from_plan(each) for each in rules]
    return complete_rules(rules) if isinstance(rules, dict) else rules


FROM_PLAN = BeforeValidator(_from_plan)

StoredRules = Annotated[RuleSet, FROM_PLAN]
"""Rules in a plan: all options, whatever the file or preset says later."""

Bot = str | Strategy | type[Strategy]
BotList = str | Sequence[Bot]
RulesLike = str | Path | RuleSet

BOT_HINT = "A bot is a name or path, or a class or instance of pickosim.Strategy."


def bot_specs(bots: BotList) -> tuple[str, ...]:
    """Bots as specs; a text separates them by commas."""
    return tuple(split_bot_list(bots) if isinstance(bots, str) else as_specs(bots))


def check_bot(bot: str) -> None:
    """Refuse a bot that cannot be found or made, and several at once."""
    if len(make_entrants([bot])) > 1:
        raise PickosimError(f"Name one bot, e.g. winner; {bot} stands for several.")


def named_rules(rules: RulesLike) -> str | RuleSet:
    """Rules as they are named, or as they are."""
    return rules if isinstance(rules, RuleSet) else str(rules)


def player_count(number: int) -> int:
    """A number of players, if a game can have that many."""
    check_players(number)
    return number


def _above_zero(what: str) -> AfterValidator:
    def check(number: int) -> int:
        if number < 1:
            raise PickosimError(f"{what} are a whole number from 1 on, not {number}.")
        return number

    return parsed_by(check)


def export_formats(formats: str | Sequence[str]) -> tuple[str, ...]:
    """The formats of a list, e.g. csv,json,md."""
    names = tuple(split_list(formats))
    for name in names:
        if name not in EXPORTS:
            known = ", ".join(EXPORTS)
            near = suggest(name, EXPORTS) or "."
            raise PickosimError(f'Tables are exported to {known}, not to "{name}"{near}')
    return names


Count = Annotated[Parsed[int | str, int], parsed_by(parse_count)]
OptionalCount = Annotated[Parsed[int | str | None, int | None], parsed_by(parse_count)]
"""A number of games, e.g. 250k."""

Precision = Annotated[
    Parsed[str | float | None, float | None],
    parsed_by(lambda share: parse_share(share, "A precision")),
]
"""A share, e.g. 0.2%."""

OneBot = Annotated[
    Parsed[Bot, str], parsed_by(lambda bot: as_specs([bot])[0]), Loads(check_bot, BOT_HINT)
]
Bots = Annotated[
    Parsed[BotList, tuple[str, ...]], parsed_by(bot_specs), Loads(make_entrants, BOT_HINT)
]
OptionalBots = Annotated[
    Parsed[BotList | None, tuple[str, ...] | None],
    parsed_by(bot_specs),
    Loads(make_entrants, BOT_HINT),
]
"""Bots by spec."""

Rules = Annotated[
    Parsed[RulesLike, str | RuleSet], FROM_PLAN, parsed_by(named_rules), Loads(load_rules)
]

OneRuleSet = Annotated[
    Rules, Option("A preset (see `pickosim rules`) or a TOML file.", "extrawurm", metavar="RULES")
]

Texts = Annotated[Parsed[Sequence[str], tuple[str, ...]], parsed_by(tuple)]

Seed = Annotated[int, Option("Random seed.", 1, metavar="NUMBER")]

Players = Annotated[int, parsed_by(player_count), Option("Players per game.", 4, metavar="NUMBER")]

Luck = Annotated[
    Literal["auto", "on", "off"],
    Option(
        "Take the luck of the dice out of results: the champion judges every roll, and win shares are adjusted for what "
        "rolls brought. `auto`: where that pays, by bots and players.",
        "off",
        metavar="auto|on|off",
    ),
]

PlayerCounts = Annotated[
    Parsed[int | str | Sequence[int], tuple[int, ...]],
    parsed_by(lambda players: tuple(player_counts(players))),
    Option("Numbers of players, e.g. 4, 2-5 or 2,4,7.", "2-5", metavar="NUMBERS"),
]


# ------------------------------------------------------------------------------------- options of all studies


@checked_dataclass(frozen=True, kw_only=True, config=CHECKED)
class RunOptions:
    """How a study is run; nothing here changes its results."""

    workers: Annotated[
        int,
        _above_zero("Workers"),
        Option("Processes to play in.", 2, metavar="NUMBER", default_text="all cores"),
    ] = CORES
    backend: Annotated[
        Literal["joblib", "dask"] | None,
        Option(
            "Where games run: this machine or a Dask cluster.",
            "dask",
            metavar="joblib|dask",
            default_text="joblib",
        ),
    ] = None
    scheduler: Annotated[
        str | None, Option("Address of a Dask scheduler.", "tcp://10.0.0.1:8786", metavar="ADDRESS")
    ] = None
    answer_seconds: Annotated[
        float,
        parsed_by(check_seconds),
        Option(
            "Time limit per call of a bot; one call covers thousands of games.",
            60,
            metavar="SECONDS",
        ),
    ] = ANSWER_SECONDS
    out: Annotated[
        str | Path | None,
        Option(
            "Folder of the run; an interrupted run can be resumed from it.",
            "runs/mine",
            metavar="RUN",
            default_text="a new one in runs/; from Python, none",
        ),
    ] = None
    export: Annotated[
        Parsed[str | Sequence[str], tuple[str, ...]],
        parsed_by(export_formats),
        Field(validate_default=False),  # a plan, which does not have it, is read as JSON
        Option("Write the tables in these formats too.", "csv,md", metavar=",".join(EXPORTS)),
    ] = written(())
    progress: Annotated[
        bool | Progress | None, Option("Show a progress bar, or call these functions.", True)
    ] = None
    chunk: Annotated[
        int | None,
        _above_zero("Blocks per chunk"),
        Option("Blocks per chunk.", 1000, default_text="some seconds of play"),
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


RUN_OPTIONS = frozenset(field.name for field in fields(RunOptions))


# ---------------------------------------------------------------------------------------------- declarations


def declared(kind: type[RunOptions]) -> list[Option]:
    """The options of a kind of study in the order of its signature, those that say how it is run last."""
    hints = get_type_hints(kind, include_extras=True)
    options = []
    for name, parameter in inspect.signature(kind).parameters.items():
        written_type, *metadata = get_args(hints[name])
        by_type = {type(entry): entry for entry in metadata}
        if Option in by_type:
            option, default = by_type[Option], parameter.default
            has_none = default in (NONE, None, ()) or default is False
            text = option.default_text or ("" if has_none else str(default))
            loads = by_type.get(Loads)
            facts = {"name": name, "type": written_type, "default": default, "loads": loads}
            options.append(replace(option, default_text=text, **facts))
    return sorted(options, key=lambda option: option.is_run_option)


def check_names(names: Iterable[str], known: Sequence[str]) -> None:
    """Refuse an option that does not exist, with a suggestion."""
    for name in names:
        if name not in known:
            near = suggest(name, known) or "."
            raise OptionError(
                name, f'There is no option "{name}"{near} The options are {", ".join(known)}.'
            )


def make_options(kind: Any, *args: Any, **kwargs: Any) -> Any:
    """Options, or a study, from arguments; an `OptionError` names the first that is wrong."""
    options = declared(kind)
    check_names(kwargs, [option.name for option in options])
    try:
        made = kind(*args, **kwargs)
    except ValidationError as error:
        raise _mistake(kind, error) from None
    for option in options:
        value = getattr(made, option.name)
        if option.loads is not None and value is not None and value != option.default:
            try:
                option.loads.check(value)
            except PickosimError as error:
                raise OptionError(option.name, str(error)) from error
    return made


def _mistake(kind: type[RunOptions], error: ValidationError) -> OptionError:
    """One mistake, in a sentence that says what to write instead."""
    first = error.errors()[0]
    names = list(inspect.signature(kind).parameters)
    place = first["loc"][0]
    if first["type"] == "unexpected_positional_argument" and isinstance(place, int):
        return OptionError("", f"Only {', '.join(names[:place])} can be given without their names.")
    name = names[place] if isinstance(place, int) else str(place)
    if first["type"] == "value_error":
        return OptionError(name, str(first["ctx"]["error"]))
    (option,) = (option for option in declared(kind) if option.name == name)
    example = f"e.g. {name} = {option.example!r}"
    if first["type"].startswith("missing"):
        return OptionError(name, f'The option "{name}" is missing; {example}.')
    ending = f" {option.loads.hint}" if option.loads and option.loads.hint else ""
    return OptionError(name, f"{name} cannot be {first['input']!r}; {example}.{ending}")


def described(kind: type[RunOptions]) -> str:
    """The help of a kind of study: what it does, and its options."""
    lines = [inspect.cleandoc(kind.__doc__ or ""), "", "Parameters", "----------"]
    for option in declared(kind):
        default = f" Default: {option.default_text}." if option.default_text else ""
        lines += [option.name, f"    {option.help}{default} Example: {option.example!r}"]
    return "\n".join(lines)
