"""Bots by name: `eager`, `threshold:target=25`, `my_bot.py`, `my_bot.py:MyBot:target=25`.

A name is looked for in `strategies/` and among the entry points `pickosim.strategies` of installed
packages; a path is a Python file with strategy classes.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Mapping
from dataclasses import fields
from hashlib import sha256
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints

import pickosim.strategies
from pickosim.errors import BotError, suggest
from pickosim.strategy import Strategy, bot_name, with_parameters

ENTRY_POINTS = "pickosim.strategies"


def built_in_bots() -> list[str]:
    """Names of the bots in `strategies/`."""
    modules = pkgutil.iter_modules(pickosim.strategies.__path__)
    return sorted(module.name.replace("_", "-") for module in modules)


def installed_bots() -> list[str]:
    """Names of the bots that other installed packages offer."""
    return sorted(entry_points(group=ENTRY_POINTS).names)


def load_bot(spec: str) -> Strategy:
    """The bot of a command line's `spec`, with its parameters."""
    source, *rest = spec.split(":")
    parameters = _parameters(spec, rest.pop()) if rest and "=" in rest[-1] else {}
    if source.endswith(".py"):
        kind = _class_in_file(spec, Path(source), rest.pop(0) if rest else None)
    else:
        kind = _class_by_name(source)
    if rest:
        raise BotError(
            f'{spec}: "{":".join(rest)}" is not understood; write NAME:parameter=value,… '
            "or FILE.py:Class:parameter=value,…"
        )
    return kind(**_values(spec, kind, parameters))


def spec_of(strategy: Strategy) -> str:
    """How a strategy made in Python is named on a command line, where that is possible."""
    kind = type(strategy)
    if kind.__module__.startswith(f"{pickosim.strategies.__name__}."):
        return with_parameters(bot_name(kind), strategy)
    try:
        source = inspect.getsourcefile(kind)
    except TypeError:
        source = None
    where = f"{source}:{kind.__name__}" if source else kind.__name__
    return with_parameters(where, strategy)


def _class_by_name(name: str) -> type[Strategy]:
    built_in, installed = built_in_bots(), installed_bots()
    if name in built_in:
        module = importlib.import_module(f"pickosim.strategies.{name.replace('-', '_')}")
        return _only_class(name, _classes(module))
    if name in installed:
        kind = entry_points(group=ENTRY_POINTS)[name].load()
        if not (isinstance(kind, type) and issubclass(kind, Strategy)):
            raise BotError(f'The entry point "{name}" is no subclass of pickosim.Strategy.')
        return kind
    known = [*built_in, *installed]
    raise BotError(
        f'There is no bot named "{name}"{suggest(name, known)} Known: {", ".join(known)}; '
        "or a path like my_bot.py."
    )


def _class_in_file(spec: str, path: Path, name: str | None) -> type[Strategy]:
    module = _module_from(path)
    classes = _classes(module)
    if name is None:
        return _only_class(str(path), classes)
    if name not in classes:
        known = f"it has {', '.join(classes)}" if classes else "it has none"
        raise BotError(
            f'{path} has no strategy class "{name}"{suggest(name, classes)} ({known}; asked for as {spec}).'
        )
    return classes[name]


def _module_from(path: Path) -> ModuleType:
    """Run a bot's file as a module.

    Always from the source, never from a cached compilation: an edit within the same second must count.
    """
    try:
        source = path.read_text(encoding="utf-8")
    except OSError as error:
        raise BotError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise BotError(f"{path} is not UTF-8 text.") from error
    digest = sha256(f"{path.resolve()}\0{source}".encode()).hexdigest()[:16]
    name = f"pickosim_bot_{path.stem}_{digest}"
    if name in sys.modules:
        return sys.modules[name]
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    try:
        exec(compile(source, str(path), "exec"), module.__dict__)
    except Exception as error:
        del sys.modules[name]
        line = _line_in(error, path)
        raise BotError(f"{path}{line} does not load: {type(error).__name__}: {error}") from error
    return module


def _line_in(error: BaseException, path: Path) -> str:
    """Where in a bot's file an exception came from, as `, line 12`."""
    if isinstance(error, SyntaxError):
        return f", line {error.lineno}"
    line, step = None, error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == str(path):
            line = step.tb_lineno
        step = step.tb_next
    return f", line {line}" if line is not None else ""


def _classes(module: ModuleType) -> dict[str, type[Strategy]]:
    """The strategy classes that a module defines itself, in its order."""
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
        raise BotError(f"{where} has no subclass of pickosim.Strategy.")
    raise BotError(
        f"{where} has several strategy classes ({', '.join(classes)}); "
        f"say which, as in {where}:{next(iter(classes))}."
    )


def _parameters(spec: str, text: str) -> dict[str, str]:
    pairs = [part.partition("=") for part in text.split(",")]
    for name, equals, _ in pairs:
        if not (name and equals):
            raise BotError(f'{spec}: parameters are written name=value,…, not "{text}".')
    return {name.strip(): value.strip() for name, _, value in pairs}


def _values(spec: str, kind: type[Strategy], given: Mapping[str, str]) -> dict[str, object]:
    """Parameters as their fields' types."""
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    values: dict[str, object] = {}
    for name, text in given.items():
        if name not in known:
            has = f"its parameters are {', '.join(sorted(known))}" if known else "it has none"
            raise BotError(f'{spec}: no parameter "{name}"{suggest(name, known)} ({has}).')
        values[name] = _value(spec, name, text, get_type_hints(kind)[name])
    return values


def _value(spec: str, name: str, text: str, kind: Any) -> object:
    from pydantic import TypeAdapter, ValidationError  # imported where used: it takes its time

    try:
        return TypeAdapter(kind).validate_strings(text)
    except ValidationError as error:
        wanted = getattr(kind, "__name__", str(kind))
        why = error.errors()[0]["msg"].lower()
        raise BotError(f'{spec}: {name} is a {wanted}, not "{text}" ({why}).') from error
