"""For authors of bots: which bots there are, what one is made of, and a file to begin a new one with."""

from __future__ import annotations

import inspect
import keyword
import re
import shlex
from collections.abc import Iterator
from dataclasses import MISSING, Field, dataclass, fields
from importlib.metadata import entry_points
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any, get_type_hints

from pickosim.bots.loading import ENTRY_POINTS, built_in_bots, installed_bots, load_bot
from pickosim.bots.strategy import Strategy
from pickosim.bots.view import METHODS
from pickosim.errors import BotError, PickosimError

REQUIRED = ("pick", "stop")
OPTIONAL = tuple(method for method in METHODS if method not in REQUIRED)
"""The questions that every strategy has a default answer to."""

BUILT_IN = "built-in"
ITSELF, BY_DEFAULT = "itself", "default"


@dataclass(frozen=True)
class Parameter:
    """A parameter of a bot."""

    name: str
    type: str
    default: object
    required: bool = False
    """It has no default."""


@dataclass(frozen=True)
class Description:
    """A bot, told for its users."""

    name: str
    summary: str
    """First line of the docstring."""
    text: str
    """All of the docstring."""
    origin: str
    """Whose idea it is: what the docstring says after `Origin:`."""
    parameters: tuple[Parameter, ...]
    decisions: dict[str, str]
    """Who answers each optional question: `itself`, `default`, or a class that it derives from."""
    source: str
    """`built-in`, or the package or path it comes from."""
    file: str


# ------------------------------------------------------------------------------------ what there is


def catalogue() -> Iterator[Description]:
    """All bots that can be named: the built-in ones, then those of installed packages.

    One that does not load says why in its summary, and does not keep the others from being told.
    """
    for name in (*built_in_bots(), *installed_bots()):
        try:
            yield describe(name)
        except BotError as error:
            yield Description(name, str(error), "", "", (), {}, _source(name), "")


def describe(spec: str) -> Description:
    """One bot, by name or path."""
    kind = type(load_bot(spec))
    text = _docstring(kind)
    return Description(
        name=spec,
        summary=text.partition("\n")[0],
        text=text,
        origin=_origin(text),
        parameters=tuple(_parameter(kind, each) for each in fields(kind) if each.init),  # type: ignore[arg-type]
        decisions={method: _decided_by(kind, method) for method in OPTIONAL},
        source=_source(spec),
        file=inspect.getsourcefile(kind) or "",
    )


def _docstring(kind: type[Strategy]) -> str:
    """What a class says about itself, or else its module."""
    own = inspect.cleandoc(kind.__doc__ or "")
    # A dataclass without a docstring is given its signature for one.
    if own and not own.startswith(f"{kind.__name__}("):
        return own
    module = inspect.getmodule(kind)
    return inspect.cleandoc(module.__doc__ or "") if module else ""


def _origin(text: str) -> str:
    """What a docstring says after `Origin:`, to the end of the paragraph."""
    found = re.search(r"^Origin:(.+?)(?:\n\s*\n|\Z)", text, re.MULTILINE | re.DOTALL)
    return " ".join(found[1].split()) if found else ""


def _parameter(kind: type[Strategy], each: Field[Any]) -> Parameter:
    shown = inspect.formatannotation(get_type_hints(kind)[each.name])
    if each.default is not MISSING:
        return Parameter(each.name, shown, each.default)
    if each.default_factory is not MISSING:
        return Parameter(each.name, shown, each.default_factory())
    return Parameter(each.name, shown, None, required=True)


def _decided_by(kind: type[Strategy], method: str) -> str:
    """Who answers a question: the class `itself`, by `default`, or another that it derives from."""
    home = next(each for each in kind.__mro__ if method in vars(each))
    names = {kind: ITSELF, Strategy: BY_DEFAULT}
    return names.get(home, home.__name__)


def _source(spec: str) -> str:
    name = spec.partition(":")[0]
    if name in built_in_bots():
        return BUILT_IN
    if name not in installed_bots():
        return name
    package = entry_points(group=ENTRY_POINTS)[name].dist
    return f"{package.name} {package.version}" if package else "an installed package"


# ---------------------------------------------------------------------------------------- a new bot


def write_bot(path: Path, *, valuation: bool = False, force: bool = False) -> None:
    """Write the file of a new bot, which runs as it is."""
    source = bot_source(path, valuation=valuation)
    if path.exists() and not force:
        raise PickosimError(f"{path} is there already; --force overwrites it.")
    try:
        path.write_text(source, encoding="utf-8")
    except OSError as error:
        raise PickosimError(f"{path} cannot be written: {error.strerror}.") from error


def bot_source(path: Path, *, valuation: bool = False) -> str:
    """What the file of a new bot says: a strategy of two methods, or a valuation."""
    template = "valuation.py.txt" if valuation else "bot.py.txt"
    text = files("pickosim.bots").joinpath("templates", template).read_text(encoding="utf-8")
    return Template(text).substitute(name=class_name(path), file=shlex.quote(path.as_posix()))


def class_name(path: Path) -> str:
    """The class of a bot in such a file: `MyBot` in `my_bot.py`."""
    stem = path.name.removesuffix(".py")
    if path.name == stem or not stem.isidentifier() or keyword.iskeyword(stem):
        raise PickosimError(
            f"{path} is no name for a bot's file: it is letters, digits and _, not a digit first and "
            f"no word of Python's, and ends in .py. {path.with_name(_possible(stem))} would do."
        )
    name = _camel_case(stem)
    if not name.isidentifier():
        return f"Bot{name}"
    # A class may be named as its base is, but who would read that? Python's own names are out anyway.
    taken = name in ("Strategy", "Turn", "Valuation", "Worth") or keyword.iskeyword(name)
    return f"{name}Bot" if taken else name


def _camel_case(stem: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in stem.split("_"))


def _possible(stem: str) -> str:
    """The nearest name that a bot's file can have."""
    word = re.sub(r"\W+", "_", stem.partition(".")[0]).strip("_")
    if not word:
        return "my_bot.py"
    return f"{word}.py" if word.isidentifier() and not keyword.iskeyword(word) else f"bot_{word}.py"
