"""What each option, entry and specialist of the rules means, and how the presets differ in it."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pickosim.errors import RulesError, suggest
from pickosim.rule_files import differences, load_rules, option_texts, presets
from pickosim.rules import (
    MAPPINGS,
    POWERS,
    SPECIALISTS,
    Options,
    RuleSet,
    allowed,
    check_key,
    values_of,
)


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
    option, dot, key = name.partition(".")
    if name in Options.model_fields:
        return _option(name)
    if name in SPECIALISTS:
        return _specialist(name)
    if dot and option in MAPPINGS:
        check_key(MAPPINGS[option], key)
        return _specialist(key) if option == "specialists" else _tile(key)
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


def _tile(key: str) -> Explanation:
    return _entry("tiles", key, f"Worms on tile {key}, if it is in play.")


def _specialist(name: str) -> Explanation:
    power = POWERS[name]
    place = _entry("specialists", name, power.summary)
    return replace(
        place, name=name, kind="specialist", details=power.details, related=power.options
    )


def _entry(option: str, key: str, meaning: str) -> Explanation:
    path, mapping = f"{option}.{key}", MAPPINGS[option]
    entries = load_rules("classic").as_dict()[option]
    return Explanation(
        name=path,
        kind="entry",
        option=path,
        meaning=meaning,
        details="",
        allowed=mapping.allowed_entry,
        values={},
        default=str(entries.get(key, mapping.absent)),
        presets=_departures(path),
        related=(option,),
    )


def _departures(path: str) -> dict[str, str]:
    """The presets in which an option or entry is not as in classic, and what it is there."""
    classic, *others = presets()
    found = {}
    for preset in others:
        changes = [
            new if entry == path else f"{entry}={new}"
            for entry, _, new in differences(classic, preset)
            if entry == path or entry.startswith(f"{path}.")
        ]
        if changes:
            found[preset.name] = ", ".join(changes)
    return found
