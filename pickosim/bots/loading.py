"""Bots by name: `eager`, `threshold:target=25`, `my_bot.py`, `my_bot.py:MyBot:target=25`, `cmd:./my_bot`.

A name is looked up in `strategies/` and among the entry points `pickosim.strategies` of installed
packages; a path is a Python file with strategy classes. It can import modules that are beside it. What follows `cmd:`
is a program that answers over its standard input and output. From Python, a bot can be a class or an instance too:
those are kept by name, so that runs name them like any other, and sent to workers.

The bots of a run are entrants: each has a unique name and the digest of its source, and its files can be sent as parcels.
"""

from __future__ import annotations

import builtins
import importlib
import inspect
import linecache
import os
import pkgutil
import posixpath
import re
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import MISSING, Field, dataclass, fields, replace
from functools import lru_cache, partial
from hashlib import sha256
from importlib.metadata import entry_points
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from threading import RLock
from traceback import walk_tb
from types import ModuleType, NoneType
from typing import Any, Literal, NamedTuple, TypeAlias, get_args, get_origin, get_type_hints

import pickosim.strategies
from pickosim.amounts import expand_range, split_list
from pickosim.bots.command import Command, command_class
from pickosim.bots.digest import (
    OPENED,
    beside,
    command_files,
    counts,
    data_files,
    digest_of,
    imported_files,
    parameter_files,
    source_digest,
    source_files,
)
from pickosim.bots.guard import Guard, guarded, place_in_bot, time_limit
from pickosim.bots.strategy import Strategy, bot_name, with_parameters
from pickosim.errors import AnswerError, BotError, PickosimError, suggest
from pickosim.files import Parcel, make_parcel, read_regular


class Given(NamedTuple):
    """A bot that was given, and the digest of its source, which only the process that defines it can read."""

    bot: Strategy
    digest: str


_given_bots: dict[str, Given] = {}
_received: dict[str, bytes] = {}
"""What bots were unpacked from, or packed to."""


def give(bot: Strategy, spec: str | None = None) -> str:
    """Keep a bot; the spec to load it by."""
    spec = spec or with_parameters(type(bot).__name__, bot)
    _keep(spec, Given(bot, source_digest(bot)))
    return spec


def _keep(spec: str, given: Given) -> None:
    """Keep a bot; a class that is defined anew takes the place of the old one."""
    name = name_in(spec)
    if given_class(name) is not type(given.bot):
        for other in [other for other in _given_bots if name_in(other) == name]:
            del _given_bots[other]
    _given_bots[spec] = given


def given_class(name: str) -> type[Strategy] | None:
    """The class of that name, if a bot of it was given."""
    kinds = (type(given.bot) for spec, given in _given_bots.items() if name_in(spec) == name)
    return next(kinds, None)


def bot_digest(spec: str, bot: Strategy) -> str:
    """The digest of a bot's source, known or read now."""
    known = _given_bots.get(spec)
    return source_digest(bot) if known is None else known.digest


def given_classes(specs: Iterable[str]) -> list[str]:
    """The names of the classes, of some bots, that were given."""
    return sorted({name_in(spec) for spec in specs if spec in _given_bots})


def packed(specs: Iterable[str]) -> dict[str, bytes]:
    """Those of some bots that were given, for other processes."""
    import cloudpickle

    contents = {}
    for spec in specs:
        if spec in _given_bots:
            try:
                contents[spec] = _received[spec] = cloudpickle.dumps(_given_bots[spec])
            except Exception as error:  # pickling runs code of the bot, which may raise anything
                raise BotError(
                    f"{spec} cannot be sent to workers ({type(error).__name__}: {error}). Play with workers=1, or "
                    "put the class into a file and name that."
                ) from error
    return contents


def unpack(bots: dict[str, bytes]) -> None:
    """Keep bots that another process packed."""
    import cloudpickle

    for spec, content in bots.items():
        if _received.get(spec) != content:
            _keep(spec, cloudpickle.loads(content))
            _received[spec] = content


# ------------------------------------------------------------------------------------ bots by spec


COMMAND = "cmd:"
"""Begins the spec of a bot that is a program of its own."""

_QUOTED = r"\"[^\"]*\"|'[^']*'|\\."

_WITH_PARAMETERS = re.compile(rf"(cmd:(?:{_QUOTED}|[^\"'\\])*):(\s*\w+\s*=[^:\"']*)", re.DOTALL)


def parts_of(spec: str) -> list[str]:
    """The parts that colons separate; a command is one part, whatever colons are in it.

    The parameters of a command come after its last colon outside of quotes, if that looks like parameters.
    """
    if not is_command(spec):
        return spec.split(":")
    parts = _WITH_PARAMETERS.fullmatch(spec)
    return [parts[1], parts[2]] if parts else [spec]


def name_in(spec: str) -> str:
    """What a spec names, without parameters: a bot, a class, a file or a command."""
    return parts_of(spec)[0]


def is_command(spec: str) -> bool:
    """Whether a spec names a program."""
    return spec.startswith(COMMAND)


def is_file(spec: str) -> bool:
    """Whether a spec names a Python file, not a bot that is built in or installed, nor a program."""
    return not is_command(spec) and name_in(spec).endswith(".py")


def command_of(spec: str) -> tuple[str, ...]:
    """The words of a command: the program and its arguments."""
    try:
        words = tuple(shlex.split(name_in(spec).removeprefix(COMMAND)))
    except ValueError as error:
        raise BotError(
            f"{spec}: the command has an open quote or a backslash at its end."
        ) from error
    if not words:
        raise BotError(f"{spec}: name the program after {COMMAND}, e.g. {COMMAND}./my_bot.")
    return words


ENTRY_POINTS = "pickosim.strategies"

BotLike: TypeAlias = str | Strategy | type[Strategy]
"""A bot by name or path, as a class, or as an instance."""

_FILE_MODULE = "pickosim_bot_"
"""Begins the names of modules that are made of bots' files."""


def built_in_bots() -> list[str]:
    """Names of the bots in `strategies/`; files whose names begin with `_` are skipped."""
    modules = pkgutil.iter_modules(pickosim.strategies.__path__)
    names = [module.name for module in modules if not module.name.startswith("_")]
    return sorted(name.replace("_", "-") for name in names)


def names_built_in(spec: str) -> bool:
    """Whether a spec names a built-in bot: to load it runs no code but pickosim's own."""
    return name_in(spec) in built_in_bots()


def installed_bots() -> list[str]:
    """Names of the bots that other installed packages offer."""
    return sorted(entry_points(group=ENTRY_POINTS).names)


def spec_digest(spec: str) -> str:
    """A digest of the files that a spec names, which are not run; nothing for a bot without a path."""
    if is_command(spec):
        return digest_of(command_files(command_of(spec)))
    return sha256(source_of(_place_of(name_in(spec)))).hexdigest()[:16] if is_file(spec) else ""


_places: ContextVar[Mapping[str, Path] | None] = ContextVar("_places", default=None)
"""Where files are that specs name by their paths on another machine."""


@contextmanager
def files_at(places: Mapping[str, Path]) -> Iterator[None]:
    """In this block, load the files of bots from other places than their specs say, by the paths in the specs."""
    token = _places.set(places)
    try:
        yield
    finally:
        _places.reset(token)


def _place_of(path: str) -> Path:
    """Where a file is that a spec names by this path."""
    return (_places.get() or {}).get(path, Path(path))


def load_bot(spec: str) -> Strategy:
    """The bot that a spec names, with its parameters."""
    if spec in _given_bots:
        return replace(_given_bots[spec].bot)  # type: ignore[type-var]
    source, *rest = parts_of(spec)
    parameters = _parameters(spec, rest.pop()) if rest and "=" in rest[-1] else {}
    kind: type[Strategy]
    if is_command(spec):
        with _loading(source):
            kind = command_class(command_of(source))
    elif is_file(spec):
        kind = _class_in_file(spec, _place_of(source), rest.pop(0) if rest else None)
    else:
        kind = _class_by_name(source)
    if rest:
        raise BotError(
            f'{spec}: "{":".join(rest)}" is not valid; write NAME:parameter=value,… '
            "or FILE.py:Class:parameter=value,…"
        )
    return _made(spec, kind, parameters)


def bot_of(bot: BotLike) -> Strategy:
    """A bot from a spec, from a class, or as it is."""
    if isinstance(bot, str):
        return load_bot(bot)
    if isinstance(bot, type) and issubclass(bot, Strategy):
        return _made(bot.__name__, bot, {})
    if isinstance(bot, Strategy):
        return bot
    raise BotError(
        f'A bot is a name or path, e.g. "eager" or "my_bot.py", or a class of pickosim.Strategy, or an instance of '
        f"one; not {bot!r}."
    )


def as_specs(bots: Sequence[BotLike]) -> list[str]:
    """The specs of bots; those that have no file to be loaded from are kept, to be loaded in this process."""
    specs: list[str] = []
    kept: dict[str, type[Strategy]] = {}
    for bot in bots:
        if isinstance(bot, str):
            specs.append(bot)
            continue
        made = bot_of(bot)
        kind = type(made)
        if kind.__module__.startswith((_FILE_MODULE, f"{pickosim.strategies.__name__}.")):
            specs.append(spec_of(made))
            continue
        name = kind.__name__
        if kept.setdefault(name, kind) is not kind:
            raise BotError(f"Two different classes are called {name}; rename one of them.")
        if name in (*built_in_bots(), *installed_bots()):
            raise BotError(f"There is another bot named {name}; rename the class.")
        specs.append(give(made))
    return specs


def forget_file(kind: type[Strategy]) -> None:
    """Let the file of a bot be run anew when it is loaded next."""
    if kind.__module__.startswith(_FILE_MODULE):
        sys.modules.pop(kind.__module__, None)


def spec_of(strategy: Strategy) -> str:
    """The spec of a strategy that was made in Python, as far as there is one."""
    kind = type(strategy)
    if isinstance(strategy, Command):
        return with_parameters(f"{COMMAND}{shlex.join(strategy.words)}", strategy)
    if kind.__module__.startswith(f"{pickosim.strategies.__name__}."):
        return with_parameters(bot_name(kind), strategy)
    try:
        source = inspect.getsourcefile(kind)
    except (OSError, TypeError):  # it is in no file
        source = None
    where = f"{source}:{kind.__name__}" if source else kind.__name__
    return with_parameters(where, strategy)


def _class_by_name(name: str) -> type[Strategy]:
    built_in = built_in_bots()
    if name in built_in:
        module = f"{pickosim.strategies.__name__}.{name.replace('-', '_')}"
        place = find_spec(module)
        with _loading(str(place.origin if place else name)):
            loaded = importlib.import_module(module)
        return _only_class(name, _classes(loaded))
    installed = installed_bots()
    if name in installed:
        return _class_of_entry_point(name)
    if (kind := given_class(name)) is not None:
        return kind
    known = [*built_in, *installed]
    if os.path.isfile(name):  # noqa: PTH113 (it raises no error, whatever the name)
        here = name if "/" in name else f"./{name}"
        raise BotError(
            f"{name} is neither a bot's name nor a Python file. If it is a program: {COMMAND}{here}"
        )
    raise BotError(
        f'There is no bot named "{name}"{suggest(name, known) or "."} '
        f"The bots are {', '.join(known)}; a file is given by its path, e.g. my_bot.py."
    )


def _class_of_entry_point(name: str) -> type[Strategy]:
    entry = entry_points(group=ENTRY_POINTS)[name]
    where = f"The bot {name} ({entry.value})"
    with _loading(where):
        kind = entry.load()
    if not (isinstance(kind, type) and issubclass(kind, Strategy)):
        raise BotError(f"{where} is not a subclass of pickosim.Strategy.")
    return kind


def _class_in_file(spec: str, path: Path, name: str | None) -> type[Strategy]:
    module = _module_from(path)
    classes = _classes(module)
    if name is None:
        return _only_class(str(path), classes)
    if name not in _defined(module):
        known = f"it has {', '.join(classes)}" if classes else "it has none"
        raise BotError(
            f'{path} has no strategy class "{name}"{suggest(name, classes)} ({known}; in {spec}).'
        )
    return _defined(module)[name]


def _module_from(path: Path) -> ModuleType:
    """Run a bot's file as a module, or take the one that was made of the same files before.

    Always from source, never from cached bytecode: Python would miss an edit within the same second.
    """
    try:
        source = source_of(path).decode()
    except UnicodeDecodeError as error:
        raise BotError(f"{path} is not UTF-8 text.") from error
    with _one_at_a_time:
        files = digest_of({str(path.resolve()): path, **imported_files(path)})
        name = f"{_FILE_MODULE}{path.stem}_{files}"
        known = sys.modules.get(name)
        if known and _data_then.get(name) in (None, _data_digest(known)):
            return known
        module = ModuleType(name)
        module.__file__ = str(path)
        module.__dict__["__builtins__"] = {**vars(builtins), "__import__": _importer(path)}
        sys.modules[name] = module
        # Errors show the code that was loaded, whatever has become of the file.
        linecache.cache[str(path)] = (len(source), None, source.splitlines(True), str(path))
        try:
            opened: set[Path] = set()
            module.__dict__[OPENED] = opened
            with _loading(str(path), _kept(opened, path)):
                exec(compile(source, str(path), "exec", dont_inherit=True), module.__dict__)
        except BaseException:
            del sys.modules[name]
            raise
        _data_then[name] = _data_digest(module)
    return module


def _kept(opened: set[Path], path: Path) -> Callable[[str], None]:
    """Keep the files that are opened by a bot's file, as far as they count."""

    def keep(name: str) -> None:
        if counts(name, path.parent):
            opened.add(Path(name).resolve())

    return keep


def source_of(path: Path) -> bytes:
    """The content of a bot's file."""
    try:
        return read_regular(path)
    except OSError as error:
        raise BotError(f"{path} cannot be read: {error.strerror}.") from error


def _loading(
    where: str,
    opens: Callable[[str], object] | None = None,
    explained: Callable[[BaseException], BotError] | None = None,
) -> AbstractContextManager[Guard]:
    """Run code of a bot while it is loaded or made."""

    def what() -> str:
        return f"{where} has not loaded within {time_limit():g} seconds"

    def error_of(error: BaseException, expired: bool) -> BaseException:
        return BotError(f"{what()}.") if expired else (explained or unloadable)(error)

    unloadable = partial(_unloadable, where)
    return guarded(what, error_of, opens)


_one_at_a_time = RLock()

_data_then: dict[str, str] = {}
"""Digests of the data files of modules when they were loaded: a module may have read them."""


def _importer(path: Path) -> Callable[..., ModuleType]:
    """The import statement of a bot's file: it finds modules in the file's own folder, too.

    They are not entered in `sys.modules` by name, so that bots in other folders do not get them.
    """

    def import_(
        name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> ModuleType:
        helper = beside(path, name) if level == 0 else None
        if helper is not None:
            module = _module_from(helper)
            if globals is not None:
                globals.get(OPENED, set()).update(vars(module)[OPENED])
            return module
        return builtins.__import__(name, globals, locals, fromlist, level)

    return import_


def _data_digest(module: ModuleType) -> str:
    """The digest of the data files of all bots in a module; files that are missing do not count."""
    files = {
        name: path
        for kind in _defined(module).values()
        for name, path in data_files(kind).items()
        if path.is_file()
    }
    opened = {str(path): path for path in vars(module).get(OPENED, ()) if path.is_file()}
    return digest_of(files | opened)


def _unloadable(where: str, error: BaseException) -> BotError:
    """The error of a bot that does not load, with the line if it is in the file `where`."""
    frames, reason = walk_tb(error.__traceback__), str(error)
    lines = [line for frame, line in frames if frame.f_code.co_filename == where]
    if isinstance(error, SyntaxError) and error.filename == where:
        lines, reason = [error.lineno or 0], error.msg
    line = f", line {lines[-1]}" if lines else ""
    if isinstance(error, AnswerError):
        return BotError(f"{where} does not load: it {reason}.")
    if not isinstance(error, BotError):
        reason = f"{type(error).__name__}: {reason}"
    return BotError(f"{where}{line} does not load: {reason.rstrip(': .')}.")


def _classes(module: ModuleType) -> dict[str, type[Strategy]]:
    """The complete strategy classes of a module, in its order; if there are none, the abstract ones."""
    classes = _defined(module)
    complete = {name: kind for name, kind in classes.items() if not inspect.isabstract(kind)}
    return complete or classes


def _defined(module: ModuleType) -> dict[str, type[Strategy]]:
    """The public strategy classes that a module defines itself."""
    return {
        name: kind
        for name, kind in vars(module).items()
        if isinstance(kind, type)
        and issubclass(kind, Strategy)
        and kind.__module__ == module.__name__
        and not name.startswith("_")
    }


def _only_class(where: str, classes: Mapping[str, type[Strategy]]) -> type[Strategy]:
    if len(classes) == 1:
        return next(iter(classes.values()))
    if not classes:
        raise BotError(f"{where} has no subclass of pickosim.Strategy; a bot needs one.")
    raise BotError(
        f"{where} has several strategy classes ({', '.join(classes)}); "
        f"choose one, e.g. {where}:{next(iter(classes))}."
    )


def _parameters(spec: str, text: str) -> dict[str, str]:
    parameters: dict[str, str] = {}
    for part in split_list(text):
        name, equals, value = (word.strip() for word in part.partition("="))
        if not (name and equals):
            raise BotError(f'{spec}: write parameters as name=value,…, not "{text}".')
        if name in parameters:
            raise BotError(f"{spec}: {name} is given twice.")
        parameters[name] = value
    return parameters


def _made(spec: str, kind: type[Strategy], texts: Mapping[str, str]) -> Strategy:
    """An instance of a strategy class, or an error that says why it cannot be made."""
    if lacking := sorted(kind.__abstractmethods__):
        methods = " and ".join(f"{name}()" for name in lacking)
        raise BotError(f"{spec}: {kind.__name__} lacks the method {methods}.")
    for field in _fields(kind):
        if field.name not in texts and field.default is field.default_factory is MISSING:
            raise BotError(f"{spec}: {field.name} has no default; add a value, e.g. {field.name}=…")
    for path in data_files(kind).values():
        if not path.is_file():
            raise BotError(f"{spec}: its data file {path} is missing.")
    opened: set[Path] = set()
    home = getattr(sys.modules.get(kind.__module__), "__file__", None)
    keep = None if home is None else _kept(opened, Path(home))
    with _loading(spec, keep, partial(_unmakeable, spec, kind)):
        made = kind(**_values(spec, kind, texts))
    if opened:
        vars(made)[OPENED] = opened
    return made


def _unmakeable(spec: str, kind: type[Strategy], error: BaseException) -> BotError:
    if isinstance(error, BotError):
        return error
    place = place_in_bot(error, kind)
    reason = f"{type(error).__name__}: {error}".rstrip(": .")
    return BotError(f"{spec} cannot be made: {reason}{f' ({place})' if place else ''}.")


def _fields(kind: type[Strategy]) -> list[Field[Any]]:
    """The parameters of a strategy."""
    return [field for field in fields(kind) if field.init]  # type: ignore[arg-type]


def _values(spec: str, kind: type[Strategy], texts: Mapping[str, str]) -> dict[str, object]:
    """Parameter values, converted to the types of their fields."""
    known = {field.name for field in _fields(kind)}
    values: dict[str, object] = {}
    for name, text in texts.items():
        if name not in known:
            has = f"its parameters are {', '.join(sorted(known))}" if known else "it has none"
            raise BotError(f'{spec}: no parameter "{name}"{suggest(name, known)} ({has}).')
        values[name] = _value(spec, name, text, get_type_hints(kind)[name])
    return values


_WANTED = {int: "a whole number", float: "a number", bool: "true or false"}


def _value(spec: str, name: str, text: str, kind: Any) -> object:
    """A parameter value from its text, as `with_parameters` writes it."""
    from pydantic import TypeAdapter, ValidationError  # imported here because it is slow to import

    if text == "None" and NoneType in get_args(kind):
        return None
    if get_origin(kind) is Literal:
        choices = {str(choice): choice for choice in get_args(kind)}
        if text in choices:
            return choices[text]
    try:
        value: object = TypeAdapter(kind).validate_strings(text)
    except ValidationError as error:
        objection = error.errors()[0]["msg"].lower().removeprefix("input should be ")
        wanted = _WANTED.get(kind, objection)
        raise BotError(f'{spec}: {name} must be {wanted}, not "{text}".') from error
    return _place_of(str(value)) if isinstance(value, Path) else value


# ------------------------------------------------------------------------------- the bots of a run

MAX_ENTRANTS = 1000

ALL = "all"
"""Stands for all built-in bots, wherever bots are listed."""


@dataclass(frozen=True)
class Entrant:
    """A bot in a run: its unique name, the spec to load it by, and the digests of its source and data."""

    name: str
    spec: str
    source: str
    """Digest of all files that it is written in."""
    file: str = ""
    """Digest of the file that a path names; it is compared before the file is loaded."""


def make_entrants(bots: Sequence[BotLike]) -> list[Entrant]:
    """The entrants for a list of bots: ranges of parameters expanded, copies of a bot numbered.

    `threshold:target=21..30` enters ten bots, `all` the built-in ones; `eager eager` enters `eager` and `eager#2`.
    """
    if isinstance(bots, str):
        raise PickosimError(f'Pass the bots as a list, e.g. ["{bots}", "random"].')
    specs = expanded(as_specs(bots))
    if len(specs) > MAX_ENTRANTS:
        raise PickosimError(
            f"{len(specs):,} bots are too many; at most {MAX_ENTRANTS:,} can enter."
        )
    entrants = []
    for spec, name in zip(specs, numbered(specs), strict=True):
        file = spec_digest(spec)
        bot = load_bot(spec)
        if given_class(name_in(spec)) is type(bot):
            give(bot, spec)  # "MyBot:target=25" of a class that was given
        entrants.append(Entrant(name, spec, bot_digest(spec, bot), file))
    return entrants


def numbered(names: Iterable[str]) -> list[str]:
    """Unique names: a second `eager` is `eager#2`."""
    copies: Counter[str] = Counter()
    unique = []
    for name in names:
        copies[name] += 1
        unique.append(name if copies[name] == 1 else f"{name}#{copies[name]}")
    return unique


def split_bot_list(text: str) -> list[str]:
    """The specs of a list such as eager,threshold:target=25; commas also separate parameters."""
    specs: list[str] = []
    for part in split_list(text):
        if specs and ":" in specs[-1] and re.match(r"\w+\s*=", part):
            specs[-1] += f",{part}"
        else:
            specs.append(part)
    return specs


def expanded(specs: Iterable[str]) -> list[str]:
    """All specs that a list stands for; see `expand`."""
    return [single for spec in specs for single in expand(spec)]


def expand(spec: str) -> Iterator[str]:
    """All specs that `all`, or a spec with ranges, stands for; the last range varies fastest."""
    if spec == ALL:
        yield from built_in_bots()
        return
    *front, last = parts_of(spec)
    if not front or "=" not in last:
        yield spec
        return
    parameters = [part.partition("=") for part in split_list(last)]
    values = [expand_range(value.strip()) for _, _, value in parameters]
    for choice in product(*values):
        written = (
            f"{name}{equals}{value}"
            for (name, equals, _), value in zip(parameters, choice, strict=True)
        )
        yield ":".join([*front, ",".join(written)])


def check_bot_sources(entrants: Iterable[Entrant]) -> None:
    """Raise an error if the source or data of a bot has changed since it entered the run.

    A file is compared before it is loaded: of one that has changed, nothing is run.
    """
    for entrant in entrants:
        _compare(entrant.spec, entrant.file, spec_digest(entrant.spec))
        bot = load_bot(entrant.spec)
        _compare(entrant.spec, entrant.source, bot_digest(entrant.spec, bot))


def _compare(spec: str, then: str, now: str) -> None:
    if then != now:
        raise BotError(
            f"The source of {spec} has changed since the run began, or its data "
            f"(digest {then or 'none'} then, {now or 'none'} now). Restore it, or start a new run."
        )


# -------------------------------------------------------------------------- files of bots as parcels


@lru_cache(maxsize=4096)
def bot_parcels(entrants: tuple[Entrant, ...]) -> dict[str, Parcel]:
    """The files of bots that are named by a path, by that path: the source, what it imports, and data.

    Files are laid out so that the source finds them; one that a parameter names is a parcel of its own. Not in a parcel:
    programs, installed packages, packages on Python's path, and data files named by an absolute path. A worker has to
    have those.
    """
    by_path: dict[str, dict[str, Path]] = {}
    for entrant in entrants:
        if is_file(entrant.spec):
            path = name_in(entrant.spec)
            by_path.setdefault(path, {Path(path).name: Path(path)}).update(_files_of(entrant.spec))
        for file in parameter_files(load_bot(entrant.spec)).values():
            by_path[str(file)] = {file.name: file}
    return {path: make_parcel(_within(Path(path), files)) for path, files in by_path.items()}


def _files_of(spec: str) -> Iterator[tuple[str, Path]]:
    """The files of a bot by their paths from its folder, in which all modules are put."""
    bot = load_bot(spec)
    by_parameter = parameter_files(bot)
    for name, path in source_files(bot).items():
        if name in by_parameter:
            continue
        _, is_data, data = name.partition(" ")
        if not is_data and "." not in name and path.name != "__init__.py":
            yield path.name, path
        elif is_data and not Path(data).is_absolute():
            yield posixpath.normpath(Path(data).as_posix()), path


def _within(bot: Path, files: dict[str, Path]) -> dict[str, Path]:
    """The same files by their paths from a folder that contains them all; the bot's own comes first."""
    above = max(name.split("/").count("..") for name in files)
    folders = bot.absolute().parent.parts[1:]
    prefix = "/".join(folders[len(folders) - above :])
    return {posixpath.normpath(posixpath.join(prefix, name)): path for name, path in files.items()}
