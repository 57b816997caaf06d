"""Rules as text: the presets, TOML files, `--set`, what each option means, and how rule sets differ."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from pickosim.amounts import split_list
from pickosim.errors import RulesError, suggest
from pickosim.files import MOST_TEXT, read_regular
from pickosim.rules import (
    MAPPINGS,
    POWERS,
    SPECIALISTS,
    Options,
    RuleSet,
    allowed,
    changed_options,
    check_key,
    quoted,
    validated,
    values_of,
)

PRESETS = ("classic", "short", "extrawurm", "extrawurm-box", "manual", "manual-extrawurm", "french")


def presets() -> list[RuleSet]:
    """The rule sets that come with the package, in the order of the rules page."""
    return [_preset(name) for name in PRESETS]


def load_rules(spec: str | Path | RuleSet, sets: Sequence[str] = ()) -> RuleSet:
    """The rules of a preset or a TOML file, changed by `--set` texts such as `claim=any-lower`.

    Each text is checked on its own; whether the result can be played is checked after the last one.
    """
    rules = spec if isinstance(spec, RuleSet) else _find(spec)
    options = rules.as_dict()
    for text in sets:
        with _error_prefix(f"--set {text}"):
            options = changed_options(options, *_parsed_set(text))
            validated(Options, options)
    with _error_prefix(" ".join(f"--set {text}" for text in sets)):
        return validated(RuleSet, options)


def complete_rules(written: object) -> RuleSet:
    """The inverse of `RuleSet.as_dict`; an option that an earlier version did not know is as in `classic`."""
    if not isinstance(written, Mapping):
        raise RulesError(f"rules must map options to values, not {quoted(written)}.")
    return _preset("classic").with_options(written)


def differences(a: RuleSet, b: RuleSet) -> list[tuple[str, str, str]]:
    """What differs: (option or entry of a mapping, its value in `a`, its value in `b`).

    Values are written for `--set`, an absent entry as `none` or `nowhere`.
    """
    entries = zip(_entries(a), _entries(b), strict=True)
    return [
        (path, _set_text(old), _set_text(new)) for (path, old), (_, new) in entries if old != new
    ]


def option_texts(rules: RuleSet) -> list[tuple[str, str]]:
    """Every option with its value, written for `--set`."""
    return [(option, _set_text(value)) for option, value in rules.as_dict().items()]


def as_arguments(rules: RuleSet) -> list[str]:
    """The shortest command line arguments that give exactly these rules."""
    base = _nearest_preset(rules)
    sets = _sets(base, rules)
    return ["--rules", base.name, *(word for text in sets for word in ("--set", text))]


def rules_text(rules: RuleSet) -> str:
    """The rules by name with everything that differs from their preset, e.g. `classic with dice=9`.

    Rules of a file are described by the preset that is nearest: `my_rules (classic with dice=9)`.
    """
    text = rules_line(rules)
    return text if rules.name == text.partition(" ")[0] else f"{rules.name} ({text})"


def rules_line(rules: RuleSet) -> str:
    """What differs from a preset, e.g. `classic with dice=9`; without a name and title of their own."""
    base = _nearest_preset(rules)
    changes = [
        text for text in _sets(base, rules) if text.partition("=")[0] not in ("name", "title")
    ]
    return f"{base.name} with {', '.join(changes)}" if changes else base.name


def load_rules_line(text: str) -> RuleSet:
    """The rules of a `rules_line`, or by name or file."""
    base, _, changes = text.partition(" with ")
    return load_rules(base.strip(), split_list(changes) if changes else ())


@contextmanager
def _error_prefix(where: str) -> Iterator[None]:
    """Start the message of a rules error with the place of the mistake."""
    try:
        yield
    except RulesError as error:
        raise RulesError(f"{where}: {error}") from None


# ----------------------------------------------------------------------------------- texts of --set


_WORD = re.compile(r""""(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z_][\w-]*""")
_UNQUOTED_ENTRY = re.compile(
    rf"""^[ \t]*(["']?)({"|".join(MAPPINGS)})\1[ \t]*\.[ \t]*["']?([\w-]+)""", re.MULTILINE
)


def _parsed_set(text: str) -> tuple[str, object]:
    """Split `option=value`."""
    path, equals, value = text.partition("=")
    if not equals:
        raise RulesError("write option=value, such as claim=any-lower.")
    return path.strip(), _parsed_value(value.strip())


def _parsed_value(text: str) -> object:
    """Read a TOML value in which bare words need no quotes; anything else is text."""

    def in_quotes(word: re.Match[str]) -> str:
        bare = word[0][0] not in "\"'" and word[0] not in ("true", "false")
        return f'"{word[0]}"' if bare else word[0]

    try:
        # The closing 0 turns a trailing comment or comma, which TOML would drop, into an error.
        document = read_toml(f"values = [{_WORD.sub(in_quotes, text)}, 0]")
    except ValueError:
        return text
    match document:
        case {"values": [value, 0]} if len(document) == 1:
            return value
        case _:
            return text


def _set_text(value: object) -> str:
    """A written value as text for `--set`."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            return value if _parsed_value(value) == value else quoted(value)
        case list():
            return f"[{','.join(_set_text(item) for item in value)}]"
        case dict():
            return f"{{{','.join(f'{key}={_set_text(entry)}' for key, entry in value.items())}}}"
        case _:
            return str(value)


def _entries(rules: RuleSet) -> Iterator[tuple[str, object]]:
    """Every option in written form; of a mapping every possible entry."""
    for option, value in rules.as_dict().items():
        if mapping := MAPPINGS.get(option):
            yield from ((f"{option}.{key}", value.get(key, mapping.absent)) for key in mapping.keys)
        else:
            yield option, value


def _nearest_preset(rules: RuleSet) -> RuleSet:
    """The preset with the name of these rules, otherwise the one with the fewest differences."""
    if rules.name in PRESETS:
        return _preset(rules.name)
    return min(presets(), key=lambda preset: len(differences(preset, rules)))


def _sets(base: RuleSet, rules: RuleSet) -> list[str]:
    """The `--set` texts that turn `base` into `rules`, entry by entry where that is shorter."""
    changes = [(path, value) for path, _, value in differences(base, rules)]
    sets: list[str] = []
    for option, value in rules.as_dict().items():
        entries = [f"{path}={new}" for path, new in changes if path.partition(".")[0] == option]
        whole = [f"{option}={_set_text(value)}"]
        sets += min(entries, whole, key=lambda texts: sum(len(f"--set {text}") for text in texts))
    return sets


# -------------------------------------------------------------------------------- presets and files


@cache
def _preset(name: str) -> RuleSet:
    """A preset by name; the first one extends nothing and sets every option."""
    text = files("pickosim").joinpath("presets", f"{name}.toml").read_text(encoding="utf-8")
    document = tomllib.loads(text)
    base = document.pop("extends", None)
    return _preset(base).with_options(document) if base else validated(RuleSet, document)


def _find(spec: str | Path, chain: tuple[Path, ...] = ()) -> RuleSet:
    """A preset, or a file; a path is relative to the last file of the `extends` chain."""
    if spec in PRESETS:
        return _preset(str(spec))
    path = chain[-1].parent / spec if chain else Path(spec)
    # Path.exists raises an error for names that are too long for a file.
    if isinstance(spec, Path) or path.suffix == ".toml" or os.path.exists(path):  # noqa: PTH110
        return _from_file(path, chain)
    where = f"{chain[-1]}: extends: " if chain else ""
    hint = suggest(spec, PRESETS)
    raise RulesError(
        f'{where}no preset is named "{spec}"'
        + (hint or f"; the presets are {', '.join(PRESETS)}, and a rule file ends in .toml.")
    )


def _from_file(path: Path, chain: tuple[Path, ...]) -> RuleSet:
    """The rules of a file; `chain` lists the files that lead to it by `extends`, outermost first."""
    where = f"{path} (extended by {chain[-1]})" if chain else str(path)
    with _error_prefix(where):
        if path.resolve() in [file.resolve() for file in chain]:
            cycle = " -> ".join(str(file) for file in (*chain, path))
            raise RulesError(f"files extend each other in a circle: {cycle}; remove one `extends`.")
        document = _parsed_file(_text_of(path))
        extends = document.pop("extends", "classic")
        if not isinstance(extends, str):
            value = quoted(extends)
            raise RulesError(f"extends must be the name of a preset or a path, not {value}.")
    base = _find(extends, (*chain, path))
    names = {"name": path.stem, "title": f"{base.name}, as changed in {path.name}"}
    with _error_prefix(where):
        return base.with_options(names | document)


def _text_of(path: Path) -> str:
    """The text of a rule file, without the byte order mark that some editors write."""
    try:
        return read_regular(path, MOST_TEXT).decode("utf-8-sig")
    except FileNotFoundError:
        raise RulesError("the file does not exist.") from None
    except IsADirectoryError:
        raise RulesError("this is a folder, not a rule file.") from None
    except UnicodeDecodeError as error:
        raise RulesError(f"the file is not UTF-8 text (at byte {error.start}).") from None
    except OSError as error:
        raise RulesError(f"the file cannot be read ({error.strerror}).") from None


def read_toml(text: str) -> dict[str, Any]:
    """A TOML document; a ValueError says what is wrong with it."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("brackets are nested too deeply") from None


def _parsed_file(text: str) -> dict[str, Any]:
    """The options of a rule file in written form."""
    try:
        document = read_toml(text)
    except ValueError as error:
        lines = text.split("\n")
        end = f"at the end, line {len(lines)}, column {len(lines[-1]) + 1}"
        message = str(error).replace("at end of document", end)
        raise RulesError(f"the file is not valid TOML: {message}.") from None
    # TOML reads tiles.36 = 5 as a mapping with one entry, which would replace all other tiles.
    if entry := _UNQUOTED_ENTRY.search(text):
        raise RulesError(
            f'to change a single entry of {entry[2]}, write "{entry[2]}.{entry[3]}" with the quotes.'
        )
    return document


@dataclass(frozen=True)
class Explanation:
    """An option of the rules, an entry of a mapping (`tiles.36`), or a specialist, in words.

    Values are written as for `--set`.
    """

    name: str
    kind: Literal["option", "entry", "specialist"]
    option: str
    """What `--set` changes: the option itself, or the entry with a specialist's starting place."""
    meaning: str
    """One sentence."""
    details: str
    """More about a specialist's power; otherwise empty."""
    allowed: str
    values: dict[str, str]
    """What each value means, if there are only a few."""
    default: str
    """The value in classic."""
    presets: dict[str, str]
    """The presets that differ from classic, and their values; of a mapping the entries that differ."""
    related: tuple[str, ...]
    """The options that concern a specialist or an entry; the specialists that an option concerns."""


@dataclass(frozen=True)
class OptionInUse:
    """An option with its value in a rule set."""

    option: str
    value: str
    meaning: str
    """What the value means; what the option is about, if it has many values."""
    allowed: str


def explain_rule(name: str) -> Explanation:
    """What an option (`steal`), an entry of one (`tiles.36`) or a specialist (`weasel`) means."""
    if name in Options.model_fields:
        return _option(name)
    path = f"specialists.{name}" if name in SPECIALISTS else name
    option, dot, key = path.partition(".")
    if dot and option in MAPPINGS:
        check_key(MAPPINGS[option], key)
        return _entry(option, key)
    hint = suggest(name, (*Options.model_fields, *SPECIALISTS))
    raise RulesError(
        f'no option or specialist is named "{name}"'
        + (hint or "; `pickosim rules explain` lists them all.")
    )


def explain_rules() -> list[Explanation]:
    """All options and all specialists, in the order of their declaration."""
    return [explain_rule(name) for name in (*Options.model_fields, *SPECIALISTS)]


def options_in_use(rules: str | Path | RuleSet) -> list[OptionInUse]:
    """Every option of a rule set: its value, what that means, and what is allowed."""
    return [
        OptionInUse(option, value, values_of(option).get(value, _about(option)), allowed(option))
        for option, value in option_texts(load_rules(rules))
    ]


def _about(option: str) -> str:
    return Options.model_fields[option].description or ""


def _option(name: str) -> Explanation:
    concerned = tuple(each for each, power in POWERS.items() if name in power.options)
    return Explanation(
        name=name,
        kind="option",
        option=name,
        meaning=_about(name),
        details="",
        allowed=allowed(name),
        values=values_of(name),
        default=dict(option_texts(load_rules("classic")))[name],
        presets=_departures(name),
        related=SPECIALISTS if name == "specialists" else concerned,
    )


def _entry(option: str, key: str) -> Explanation:
    path, mapping, power = f"{option}.{key}", MAPPINGS[option], POWERS.get(key)
    entries = load_rules("classic").as_dict()[option]
    return Explanation(
        name=key if power else path,
        kind="specialist" if power else "entry",
        option=path,
        meaning=power.summary if power else f"Worms on tile {key}, if it is in play.",
        details=power.details if power else "",
        allowed=mapping.allowed_entry,
        values={},
        default=str(entries.get(key, mapping.absent)),
        presets=_departures(path),
        related=power.options if power else (option,),
    )


def _departures(path: str) -> dict[str, str]:
    """The presets in which an option or entry is not as in classic, and what it is there."""
    classic, *others = presets()
    departures = {}
    for preset in others:
        changes = [
            new if entry == path else f"{entry}={new}"
            for entry, _, new in differences(classic, preset)
            if entry == path or entry.startswith(f"{path}.")
        ]
        if changes:
            departures[preset.name] = ", ".join(changes)
    return departures
