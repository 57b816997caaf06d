"""Entrants: the bots of a run, each with a unique name and the digest of its source; their files as parcels."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path

from pickosim.amounts import expand_range, split_list
from pickosim.bots.digest import parameter_files, source_files
from pickosim.bots.loading import (
    BotLike,
    as_specs,
    bot_digest,
    built_in_bots,
    class_in,
    give,
    given_class,
    is_file,
    load_bot,
    parts_of,
    spec_digest,
)
from pickosim.errors import BotError, PickosimError
from pickosim.files import Parcel, make_parcel

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
        if given_class(class_in(spec)) is type(bot):
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


# ------------------------------------------------------------------------------------- files of bots as parcels


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
            path = entrant.spec.split(":")[0]
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
