"""The code of classes that are in no file, e.g. in a cell of a notebook, as text to compute a digest of."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from hashlib import sha256
from types import CodeType, FunctionType, ModuleType
from typing import Any

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def code_of(kind: type) -> dict[str, str]:
    """The code of a class, and of what it uses of the module that defines it, by name."""
    found: dict[str, str] = {}
    _add_class(kind, found)
    return found


def _add_class(kind: type, found: dict[str, str]) -> None:
    if kind.__qualname__ in found:
        return
    found[kind.__qualname__] = ", ".join(base.__qualname__ for base in kind.__bases__)
    for base in kind.__bases__:
        if base.__module__ == kind.__module__:
            _add_class(base, found)
    for name, value in vars(kind).items():
        function = _function(value)
        if function is not None and not _is_generated(name, function):
            _add_function(f"{kind.__qualname__}.{name}", function, found)
        elif function is None and not name.startswith("_"):
            found[f"{kind.__qualname__}.{name}"] = _value_text(value)


def _is_generated(name: str, function: FunctionType) -> bool:
    """Whether a method was written by `dataclass`."""
    return name.startswith("__") and function.__code__.co_filename == "<string>"


def _add_function(name: str, function: FunctionType, found: dict[str, str]) -> None:
    """A function, and what it uses: values that surround it, and functions and classes of its own module."""
    if name in found:
        return
    found[name] = _text(function)
    surrounding = inspect.getclosurevars(function).nonlocals
    used = {
        key: function.__globals__[key]
        for code in _codes(function.__code__)
        for key in code.co_names
        if key in function.__globals__
    }
    for key, value in {**used, **surrounding}.items():
        _add_value(key, value, function.__module__, found)


def _add_value(name: str, value: Any, module: str, found: dict[str, str]) -> None:
    helper = _function(value)
    if isinstance(value, ModuleType) or getattr(helper or value, "__module__", module) != module:
        return  # which other versions than these are of, not this code
    if helper is not None:
        _add_function(name, helper, found)
    elif isinstance(value, type):
        _add_class(value, found)
    else:
        found.setdefault(name, _value_text(value))


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
        parts = [
            (
                code.co_code,
                code.co_names,
                [c for c in code.co_consts if not isinstance(c, CodeType)],
            )
            for code in _codes(function.__code__)
        ]
        return repr(parts)


def _value_text(value: Any) -> str:
    if type(value).__module__ == "numpy" and hasattr(value, "tobytes"):
        return f"{value.dtype} {value.shape} {sha256(value.tobytes()).hexdigest()}"
    return _ADDRESS.sub("", repr(value))
