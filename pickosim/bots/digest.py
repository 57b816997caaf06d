"""Digests of the files that a bot depends on: its sources and its data."""

from __future__ import annotations

import ast
import inspect
import os
import re
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache, lru_cache
from hashlib import file_digest, sha256
from pathlib import Path
from shutil import which
from types import CodeType, FunctionType, MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any

import pickosim

if TYPE_CHECKING:
    from pickosim.bots.strategy import Strategy


_NO_CODE: Mapping[str, str] = MappingProxyType({})

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def code_of(kind: type) -> dict[str, str]:
    """The code of a class, and of what it uses of the module that defines it, by name."""
    code: dict[str, str] = {}
    _add(kind.__name__, kind, kind.__module__, code)
    return code


def _add(name: str, value: Any, module: str, code: dict[str, str]) -> None:
    """A class, function or value, and what it uses; what other modules define counts by their versions."""
    function = _function(value)
    name = value.__qualname__ if isinstance(value, type) else name
    of_module = getattr(function or value, "__module__", module) == module
    if name in code or not of_module or isinstance(value, ModuleType):
        return
    if function is not None:
        code[name] = _text(function)
        names = {key for part in _codes(function.__code__) for key in part.co_names}
        used = {key: function.__globals__[key] for key in names & function.__globals__.keys()}
        for key, each in {**used, **inspect.getclosurevars(function).nonlocals}.items():
            _add(key, each, function.__module__, code)
    elif isinstance(value, type):
        code[name] = ", ".join(base.__qualname__ for base in value.__bases__)
        for base in value.__bases__:
            _add(base.__name__, base, module, code)
        for key, member in vars(value).items():
            method = _function(member)
            if method is None and not key.startswith("_"):
                code[f"{name}.{key}"] = _value_text(member)
            elif method is not None and not _is_generated(key, method):
                _add(f"{name}.{key}", member, method.__module__, code)
    else:
        code[name] = _value_text(value)


def _is_generated(name: str, function: FunctionType) -> bool:
    """Whether a method was written by `dataclass`."""
    return name.startswith("__") and function.__code__.co_filename == "<string>"


def _function(value: Any) -> FunctionType | None:
    """The function in a value: itself, a static or class method's, a property's, or a compiled one's."""
    for name in ("__func__", "fget", "py_func"):
        value = getattr(value, name, value)
    return value if isinstance(value, FunctionType) else None


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _text(function: FunctionType) -> str:
    """The source of a function, or what was compiled of it where Python does not know the source."""
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        parts = list(_codes(function.__code__))
        constants = [c for part in parts for c in part.co_consts if not isinstance(c, CodeType)]
        return repr([*((part.co_code, part.co_names) for part in parts), constants])


def _value_text(value: Any) -> str:
    if type(value).__module__ == "numpy" and hasattr(value, "tobytes"):
        return f"{value.dtype} {value.shape} {sha256(value.tobytes()).hexdigest()}"
    return _ADDRESS.sub("", repr(value))


def source_digest(strategy: Strategy) -> str:
    """A digest of all that a strategy is written in: its files (see `source_files`).

    If its class is in no file, e.g. in a cell of a notebook, its code counts, and what that uses of its module.
    """
    code: dict[str, str] = {}
    for kind in _classes(strategy):
        if _file_of(kind) is None:
            code |= code_of(kind)
    return digest_of(source_files(strategy), code)


def source_files(strategy: Strategy) -> dict[str, Path]:
    """All files that a strategy depends on: its sources, what they import, and its data files.

    Pickosim's own files do not count, except the bot's (a run has a digest of those). Nor do
    installed packages, except the one that contains the bot.
    """
    files: dict[str, Path] = {}
    for kind in _classes(strategy):
        path = _file_of(kind)
        if path is not None and not is_engine(path):
            files[kind.__qualname__] = path
            files |= imported_files(path, kind.__module__.rpartition(".")[0])
    files |= data_files(type(strategy))
    files |= command_files(getattr(strategy, "words", ()))
    named = {file.resolve() for file in files.values()}
    files |= {name: file for name, file in opened_files(strategy).items() if file not in named}
    return files | parameter_files(strategy)


OPENED = "_opened"
"""The attribute of a bot, and of the module of its file, with the files that were opened while it was loaded or made."""

_CODE = (".py", ".pyc", ".so", ".nbi", ".nbc")
"""Files that are opened to import or compile something: what a bot imports counts anyhow."""


def counts(path: str, home: Path) -> bool:
    """Whether what a file says may be part of a bot: it is below the bot's folder or the current one, and no code."""
    file = Path(path).absolute()
    if file.suffix in _CODE or not file.is_file() or is_installed(file) or is_engine(file):
        return False
    for folder in {home.absolute(), Path.cwd()}:
        if folder != Path("/") and folder in file.parents:
            return not any(part.startswith(".") for part in file.relative_to(folder).parts)
    return False


def opened_files(strategy: Strategy) -> dict[str, Path]:
    """The files that were opened while a strategy was loaded or made, by their paths from its folder."""
    kind = type(strategy)
    path = _file_of(kind)
    if path is None:
        return {}
    modules = [sys.modules[each.__module__] for each in _classes(strategy)]
    opened = {file for holder in (strategy, *modules) for file in vars(holder).get(OPENED, ())}
    return {f"{kind.__qualname__} {os.path.relpath(file, path.parent)}": file for file in opened}


def undeclared(strategy: Strategy, path: str) -> str:
    """What is wrong if a strategy opens a file while it answers; nothing if it may."""
    home = _file_of(type(strategy))
    if home is None or not counts(path, home.parent):
        return ""
    if Path(path).resolve() in [file.resolve() for file in source_files(strategy).values()]:
        return ""
    name = os.path.relpath(path, home.parent)
    return f"opened {path}, which it has not named: data_files = ({name!r},)"


def parameter_files(strategy: Strategy) -> dict[str, Path]:
    """The files that parameters name."""
    values = {field.name: getattr(strategy, field.name) for field in fields(strategy)}  # type: ignore[arg-type]
    return {name: value for name, value in values.items() if isinstance(value, Path)}


def _classes(strategy: Strategy) -> list[type]:
    """The class of a strategy and its bases, without those of Python."""
    bases = type(strategy).__mro__
    return [kind for kind in bases if kind.__module__ not in ("builtins", "abc", "typing")]


def _file_of(kind: type) -> Path | None:
    """The file of the module that defines a class, if there is one."""
    path = getattr(inspect.getmodule(kind), "__file__", None)
    return None if path is None else Path(path)


def digest_of(files: Mapping[str, Path], code: Mapping[str, str] = _NO_CODE) -> str:
    """A digest of files, and of code that is in none, by name; where files are does not matter."""
    digest = sha256()
    for name, text in sorted(code.items()):
        digest.update(f"{name}\0{text}\0".encode())
    for name, path in sorted(files.items()):
        digest.update(f"{name}\0{_file_digest(path)}\0".encode())
    return digest.hexdigest()[:16]


def _file_digest(path: Path) -> str:
    """The digest of a file; a large one is read again only if it has been written since."""
    about = path.stat()
    return _digest_then(path.resolve(), about.st_size, about.st_mtime_ns, about.st_ctime_ns)


@lru_cache(maxsize=4096)
def _digest_then(path: Path, *_written: int) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def command_files(words: Sequence[str]) -> dict[str, Path]:
    """The files of a bot's command, by their place in it: the program, and the arguments that name a file.

    A program without a path that is given a file, e.g. `node my_bot.js`, is installed and does not count.
    """
    named = {
        f"argument {place}": Path(word)
        for place, word in enumerate(words)
        # Path.is_file raises an error for names that are too long for a file.
        if place and os.path.isfile(word)  # noqa: PTH113
    }
    program = which(words[0]) if words else None
    if program is None or (named and os.sep not in words[0]):
        return named
    return {"program": Path(program), **named}


def data_files(kind: type[Strategy]) -> dict[str, Path]:
    """The data files that a class and its bases name; their paths begin in the folders of their own files."""
    files: dict[str, Path] = {}
    for each in kind.__mro__:
        path, named = _file_of(each), vars(each).get("data_files", ())
        names = (named,) if isinstance(named, str) else tuple(map(str, named))
        if path is not None:
            files |= {f"{each.__qualname__} {name}": path.parent / name for name in names}
    return files


def beside(path: Path, name: str) -> Path | None:
    """The file of a module that a bot's file imports from its own folder; Python's modules come first."""
    if name in sys.stdlib_module_names:
        return None
    module = path.with_name(f"{name}.py")
    return module if module != path and module.is_file() else None


def imported_files(
    path: Path, package: str = "", known: set[Path] | None = None
) -> dict[str, Path]:
    """The files that a bot's file imports, directly or indirectly, by module name.

    `known` are files that have been looked at, each of them once.
    """
    files: dict[str, Path] = {}
    known = set() if known is None else known
    known.add(path)
    for name in _imported(path.read_text(encoding="utf-8", errors="replace"), package):
        helper = None if package else beside(path, name.partition(".")[0])
        if helper is None:
            file = getattr(sys.modules.get(name), "__file__", None)
            helper = Path(file) if file is not None and file.endswith(".py") else None
        if helper is None or is_engine(helper) or is_installed(helper):
            continue
        files[name] = helper
        if helper not in known:
            files |= imported_files(helper, name.rpartition(".")[0], known)
    return files


@cache
def _imported(source: str, package: str) -> tuple[str, ...]:
    """All modules that the imports of a file may refer to, at any place in it."""
    names: list[str] = []
    try:
        tree = ast.parse(source)
    except SyntaxError:  # which is reported where the file is loaded
        return ()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) + 1 - node.level]
            module = ".".join(filter(None, [*(above if node.level else []), node.module]))
            names += [module, *(f"{module}.{name.name}" for name in node.names)]
    return tuple(names)


@cache
def is_installed(path: Path) -> bool:
    """Whether a file belongs to Python or to an installed package, be it of a user, a system or another environment."""
    parents = path.resolve().parents
    if not {"site-packages", "dist-packages"}.isdisjoint(folder.name for folder in parents):
        return True
    paths = sysconfig.get_paths()
    return any(Path(paths[name]).resolve() in parents for name in ("stdlib", "platstdlib"))


@cache
def is_engine(path: Path) -> bool:
    """Whether a file is part of pickosim but not a bot (an installed pickosim contains its bots)."""
    package = Path(pickosim.__file__).resolve().parent
    return (
        package in path.resolve().parents and package / "strategies" not in path.resolve().parents
    )
