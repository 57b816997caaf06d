"""The available bots with their descriptions, and a file to start a new bot from."""

from __future__ import annotations

import inspect
import keyword
import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, Field, dataclass, fields
from importlib.metadata import entry_points
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any, get_type_hints

from pickosim.bots.command import Command
from pickosim.bots.digest import command_files
from pickosim.bots.loading import ENTRY_POINTS, built_in_bots, installed_bots, load_bot, name_in
from pickosim.bots.strategy import Strategy
from pickosim.bots.view import METHODS
from pickosim.errors import BotError, PickosimError

REQUIRED = ("pick", "stop")
OPTIONAL = tuple(method for method in METHODS if method not in REQUIRED)
"""Methods for which `Strategy` has a default."""

BUILT_IN = "built-in"
ITSELF, BY_DEFAULT = "itself", "default"


@dataclass(frozen=True)
class Parameter:
    """A parameter of a bot."""

    name: str
    type: str
    default: object
    required: bool = False
    """Whether it has no default."""


@dataclass(frozen=True)
class Description:
    """What users need to know about a bot."""

    name: str
    summary: str
    """The first line of the docstring."""
    text: str
    """The whole docstring."""
    origin: str
    """Whose idea it is: the text after `Origin:` in the docstring."""
    parameters: tuple[Parameter, ...]
    decisions: dict[str, str]
    """Where each optional method is defined: `itself`, `default`, or the name of a base class."""
    source: str
    """`built-in`, or the package or path it comes from."""
    file: str


def parameters_text(parameters: Iterable[Parameter]) -> str:
    """Parameters as on a command line; a parameter without a default with its type."""
    return ", ".join(
        f"{each.name}={f'<{each.type}>' if each.required else each.default}" for each in parameters
    )


# ----------------------------------------------------------------------------------- available bots


def catalogue() -> Iterator[Description]:
    """All bots that can be named: the built-in ones, then those of installed packages.

    A bot that does not load is listed too, with the error as its summary.
    """
    for name in (*built_in_bots(), *installed_bots()):
        try:
            yield describe(name)
        except BotError as error:
            yield Description(name, str(error), "", "", (), {}, _source(name), "")


def describe(spec: str) -> Description:
    """The description of one bot, by name or path."""
    kind = type(load_bot(spec))
    text = _docstring(kind)
    # To the end of the paragraph.
    origin = re.search(r"^Origin:(.+?)(?:\n\s*\n|\Z)", text, re.MULTILINE | re.DOTALL)
    return Description(
        name=spec,
        summary=text.partition("\n")[0],
        text=text,
        origin=" ".join(origin[1].split()) if origin else "",
        parameters=tuple(_parameter(kind, each) for each in fields(kind) if each.init),  # type: ignore[arg-type]
        decisions={method: _decided_by(kind, method) for method in OPTIONAL},
        source=_source(spec),
        file=_file(kind),
    )


def _docstring(kind: type[Strategy]) -> str:
    """The docstring of a class, or else of its module."""
    own = inspect.cleandoc(kind.__doc__ or "")
    # A dataclass without a docstring gets its signature as docstring.
    if own and not own.startswith(f"{kind.__name__}("):
        return own
    module = inspect.getmodule(kind)
    return inspect.cleandoc(module.__doc__ or "") if module else ""


def _parameter(kind: type[Strategy], each: Field[Any]) -> Parameter:
    shown = inspect.formatannotation(get_type_hints(kind)[each.name])
    default = each.default if each.default_factory is MISSING else each.default_factory()
    required = default is MISSING
    return Parameter(each.name, shown, None if required else default, required)


def _decided_by(kind: type[Strategy], method: str) -> str:
    """Where a method is defined: in the class `itself`, by `default` in Strategy, or in a base class."""
    home = next(each for each in kind.__mro__ if method in vars(each))
    names = {kind: ITSELF, Strategy: BY_DEFAULT}
    return names.get(home, home.__name__)


def _file(kind: type[Strategy]) -> str:
    if issubclass(kind, Command):
        return ", ".join(str(path) for path in command_files(kind.words).values())
    try:
        return inspect.getsourcefile(kind) or ""
    except (OSError, TypeError):  # it is in no file
        return ""


def _source(spec: str) -> str:
    name = name_in(spec)
    if name in built_in_bots():
        return BUILT_IN
    if name not in installed_bots():
        return name
    package = entry_points(group=ENTRY_POINTS)[name].dist
    return f"{package.name} {package.version}" if package else "an installed package"


# ---------------------------------------------------------------------------------------- a new bot


def write_bot(
    path: Path, *, simple: bool = False, valuation: bool = False, force: bool = False
) -> None:
    """Write the file of a new bot that already runs.

    It decides many games at once, or one at a time (`simple`), or only says what positions are worth (`valuation`).
    """
    if simple and valuation:
        raise PickosimError("A new bot is --simple or a --valuation, not both.")
    source = bot_source(path, "simple" if simple else "valuation" if valuation else "bot")
    if path.exists() and not force:
        raise PickosimError(f"{path} already exists; add --force to overwrite it.")
    try:
        path.write_text(source, encoding="utf-8")
    except OSError as error:
        raise PickosimError(f"{path} cannot be written: {error.strerror}.") from error


def bot_source(path: Path, template: str = "bot") -> str:
    """The source of a new bot, from the template of that name."""
    source = files("pickosim.bots").joinpath("templates", f"{template}.py.txt")
    return Template(source.read_text(encoding="utf-8")).substitute(
        name=class_name(path), file=shlex.quote(path.as_posix())
    )


def class_name(path: Path) -> str:
    """The class name for a bot's file: `MyBot` for `my_bot.py`."""
    stem = path.name.removesuffix(".py")
    if path.name == stem or not stem.isidentifier() or keyword.iskeyword(stem):
        raise PickosimError(
            f"{path} is not a valid file name for a bot. Use letters, digits and _, no digit first, no "
            f"Python keyword, and the ending .py, e.g. {path.parent / _possible(stem)}."
        )
    name = "".join(word[:1].upper() + word[1:] for word in stem.split("_"))
    if not name.isidentifier():
        return f"Bot{name}"
    # The imported classes keep their names; Python keywords are not allowed as names.
    used = ["After", "FloatArray", "Strategy", "Turn", "Valuation", "SimpleStrategy", "SimpleTurn"]
    return f"{name}Bot" if name in used or keyword.iskeyword(name) else name


def _possible(stem: str) -> str:
    """The valid file name that is closest to a stem."""
    word = re.sub(r"\W+", "_", stem.partition(".")[0]).strip("_")
    possible = word.isidentifier() and not keyword.iskeyword(word)
    return f"{word}.py" if possible else f"bot_{word}.py" if word else "my_bot.py"
