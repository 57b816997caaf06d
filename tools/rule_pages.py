"""Generated texts on the rules: sections of `docs/rules.md`, and the commented `presets/classic.toml`."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from pickosim.reports.layout import breakable
from pickosim.rule_files import differences, explain_rule, explain_rules, load_rules, presets
from pickosim.rules import MAPPINGS, SPECIALISTS, MappingOption, Options, in_a_file, values_of

SECTION = re.compile(r"(?<=<!-- generated: )(\w+)( -->\n).*?(?=<!-- end -->)", re.DOTALL)

ENTRIES = {"tiles": ("36", 5), "specialists": ("weasel", 30)}
"""An example entry for each option that is a mapping."""

KEY_PATTERNS = {"tiles": "[1-9][0-9]?", "specialists": "|".join(SPECIALISTS)}
"""Regular expressions that match exactly the keys of these options."""

CLASSIC_INTRODUCTION = (
    "The 2005 rules of the boxed game (source 001). To write your own rules, copy this file, change `name` "
    "and `title`, and delete every option that you do not change. The comments are generated from "
    "`pickosim/rules.py` (`make docs`)."
)


def rules_page(page: str) -> str:
    """The page on the rules with its generated sections renewed."""
    sections = {
        "specialists": _specialists,
        "presets": _presets,
        "options": _options,
        "differences": _differences,
    }
    return SECTION.sub(
        lambda found: (
            f"{found[1]}{found[2]}" + "".join(f"{line}\n" for line in sections[found[1]]())
        ),
        page,
    )


def classic_file() -> str:
    """The text of `presets/classic.toml`: its values, and what each option means."""
    written = load_rules("classic").as_dict()
    blocks = [_comment(CLASSIC_INTRODUCTION)]
    # Tables come last in a TOML file.
    for option in sorted(written, key=lambda option: option in MAPPINGS):
        blocks.append("\n".join(_block(option, written[option])))
    return "\n\n".join(blocks) + "\n"


def _block(option: str, value: Any) -> Iterator[str]:
    about = explain_rule(option)
    yield _comment(about.meaning)
    if mapping := MAPPINGS.get(option):
        yield _comment(_on_entries(option, mapping))
        yield f"[{option}]"
        yield from (f"{key} = {_toml(entry)}" for key, entry in value.items())
        return
    for choice, meaning in about.values.items():
        yield _comment(f"{in_a_file(choice)}: {meaning}", hanging="    ")
    if not about.values:
        yield _comment(f"Allowed: {about.allowed}.")
    yield f"{option} = {_toml(value)}"


def _on_entries(option: str, mapping: MappingOption) -> str:
    """How to change entries in a file."""
    key, entry = ENTRIES[option]
    path = f'"{option}.{key}"'
    return (
        f"Each entry is {mapping.allowed_entry}; {mapping.allowed_keys}. This replaces the whole table; to "
        f"change a single entry write, above the first table and with the quotes, {path} = {entry} or "
        f'{path} = "{mapping.absent}".'
    )


def _comment(text: str, hanging: str = "") -> str:
    return textwrap.fill(
        text,
        98,
        initial_indent="# ",
        subsequent_indent=f"# {hanging}",
        break_on_hyphens=False,
        break_long_words=False,
    )


def _toml(value: object) -> str:
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key} = {_toml(entry)}' for key, entry in value.items())}}}"
    return json.dumps(value, ensure_ascii=False)


# ------------------------------------------------------------------------------- sections of the page


def _specialists() -> Iterator[str]:
    yield "| specialist | power | options |\n|---|---|---|"
    for about in explain_rules():
        if about.kind == "specialist":
            options = ", ".join(f"`{option}`" for option in about.related)
            name = about.name.replace("-", " ")
            yield f"| {name} | **{about.meaning}** {_with_code(about.details)} | {options} |"


def _presets() -> Iterator[str]:
    yield "| preset | what it is |\n|---|---|"
    yield from (f"| `{rules.name}` | {rules.title} |" for rules in presets())


def _options() -> Iterator[str]:
    yield "| option | meaning | allowed | in `classic` |\n|---|---|---|---|"
    for about in explain_rules():
        if about.kind == "option":
            allowed = "<br>".join(
                f"`{value}`: {_with_code(meaning)}" for value, meaning in about.values.items()
            )
            yield (
                f"| `{about.name}` | {about.meaning} | {allowed or about.allowed} | "
                f"`{breakable(about.default)}` |"
            )


def _differences() -> Iterator[str]:
    classic, *others = presets()
    found = [
        {path: new for path, _, new in differences(classic, other) if path not in ("name", "title")}
        for other in others
    ]
    names = [f"`{rules.name}`" for rules in (classic, *others)]
    yield f"| option | {' | '.join(names)} |\n|---|{'---|' * len(names)}"
    paths = {path for changes in found for path in changes}
    for path in sorted(paths, key=_declared_place):
        cells = [explain_rule(path).default, *(changes.get(path, "") for changes in found)]
        texts = [f"`{breakable(cell)}`" if cell else "" for cell in cells]
        yield f"| `{path}` | {' | '.join(texts)} |"


def _declared_place(path: str) -> tuple[int, int]:
    """Where an option or an entry of one is declared, for sorting."""
    option, dot, key = path.partition(".")
    return list(Options.model_fields).index(option), MAPPINGS[option].keys.index(key) if dot else 0


def _with_code(text: str) -> str:
    """A sentence with the names of options as code."""
    return re.sub(r"\b[a-z]+(?:_[a-z]+)+\b", r"`\g<0>`", text)


def rules_schema() -> dict[str, Any]:
    """The JSON Schema of a rule file: every option may be left out, and `extends` names the base."""
    schema = Options.model_json_schema()
    properties = {
        "extends": {
            "type": "string",
            "minLength": 1,
            "default": "classic",
            "description": "The rules that this file changes: a preset, or the path of a rule file "
            "relative to this one.",
        },
        **schema["properties"],
    }
    for option in Options.model_fields:
        values = values_of(option).items()
        sentences = [f"{in_a_file(value)}: {meaning}" for value, meaning in values]
        about = properties[option]
        about["description"] = " ".join([about["description"], *sentences])
    single_entries = {}
    for option, mapping in MAPPINGS.items():
        whole = properties[option]
        present = whole["additionalProperties"]
        entry = {"anyOf": [*present.get("anyOf", [present]), {"const": mapping.absent}]}
        properties[option] = {
            "type": "object",
            "title": f"a mapping of {mapping.shape}",
            "description": whole["description"],
            "patternProperties": {f"^({KEY_PATTERNS[option]})$": entry},
            "additionalProperties": False,
        }
        single_entries[rf"^{option}\.({KEY_PATTERNS[option]})$"] = {
            **entry,
            "title": mapping.allowed_entry,
            "description": f"A single entry of `{option}`; the others stay as they are.",
        }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Rules of Pickomino",
        "description": "A rule file of pickosim; an option that is left out is as in `extends`.",
        "type": "object",
        "properties": properties,
        "patternProperties": single_entries,
        "additionalProperties": False,
        "$defs": schema["$defs"],
    }
