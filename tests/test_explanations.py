"""What the rules say about themselves: every option, entry and specialist, against files and declarations."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from rule_pages import rules_page

import pickosim
from pickosim.errors import RulesError
from pickosim.rule_files import (
    PRESETS,
    explain_rule,
    explain_rules,
    load_rules,
    options_in_use,
    presets,
)
from pickosim.rules import MAPPINGS, POWERS, SPECIALISTS, Options, RuleSet, values_of

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/rules.md").read_text(encoding="utf-8")
OPTIONS = list(Options.model_fields)
ENTRIES = [f"tiles.{tile}" for tile in (1, 11, 21, 36, 99)]


def written_in_files(preset: str) -> dict[str, Any]:
    """All entries of a preset as its chain of files writes them, tables entry by entry."""
    document = tomllib.loads((ROOT / f"pickosim/presets/{preset}.toml").read_text(encoding="utf-8"))
    base = document.pop("extends", None)
    entries = written_in_files(base) if base else {}
    for option, value in document.items():
        if option in MAPPINGS:
            entries = {
                path: old for path, old in entries.items() if not path.startswith(f"{option}.")
            }
            entries |= {f"{option}.{key}": entry for key, entry in value.items()}
        else:
            entries[option] = value
    return {path: value for path, value in entries.items() if value not in ("none", "nowhere")}


# ----------------------------------------------------------------------------------------- contents


def test_an_option_with_few_values():
    about = explain_rule("flip_returned")
    assert (about.kind, about.option, about.details, about.related) == (
        "option",
        "flip_returned",
        "",
        (),
    )
    assert about.meaning == (
        "Whether the tile just returned is flipped when it is the highest on the grill."
    )
    assert about.allowed == "true or false"
    assert about.values == {
        "true": "The highest grill tile is flipped, even if it is the tile just returned.",
        "false": "If the tile just returned is the highest on the grill, it stays, and nothing is "
        "flipped.",
    }
    assert about.default == "false"
    assert about.presets["short"] == "true"


def test_an_option_that_is_a_number():
    about = explain_rule("bratworms")
    assert (about.allowed, about.values) == ("a whole number from 0 to 99", {})
    assert about.default == "0"
    assert about.presets == dict.fromkeys(("extrawurm", "extrawurm-box", "manual-extrawurm"), "7")
    assert about.related == ("raven",)


def test_an_option_that_is_a_mapping_names_the_entries_that_differ():
    about = explain_rule("tiles")
    assert about.default.startswith("{21=1,22=1,") and about.default.endswith(",36=4}")
    assert about.presets["extrawurm"] == "tiles.11=1, tiles.13=1"
    assert set(about.presets) == {"extrawurm", "extrawurm-box", "manual-extrawurm"}


def test_an_entry():
    about = explain_rule("tiles.13")
    assert (about.kind, about.meaning) == ("entry", "Worms on tile 13, if it is in play.")
    assert about.allowed == 'a whole number of worms from 0 to 100, or "none"'
    assert (about.default, about.presets["extrawurm"]) == ("none", "1")
    assert about.related == ("tiles",)
    assert (explain_rule("tiles.36").default, explain_rule("tiles.36").presets) == ("4", {})


def test_a_specialist():
    about = explain_rule("weasel")
    assert about == explain_rule("specialists.weasel")
    assert (about.kind, about.option) == ("specialist", "specialists.weasel")
    assert (
        about.meaning == "Once a turn, right after a roll, its holder may roll the same dice again."
    )
    assert about.allowed == 'a tile value, {seat = 0} to {seat = 6}, or "nowhere"'
    assert about.default == "nowhere"
    assert about.presets == dict.fromkeys(("extrawurm", "extrawurm-box", "manual-extrawurm"), "25")
    assert about.related == ("weasel_rescues_bust", "second_specialist")


# --------------------------------------------------------------------------------------- everything


def test_everything_is_explained_in_the_order_of_its_declaration():
    assert [about.name for about in explain_rules()] == [*OPTIONS, *SPECIALISTS]
    for about in explain_rules():
        assert re.fullmatch(r"[A-Z0-9].*\.", about.meaning), about.name
        assert about.allowed and about.default
    assert tuple(POWERS) == SPECIALISTS
    assert {option for power in POWERS.values() for option in power.options} <= set(OPTIONS)


@pytest.mark.parametrize("option", OPTIONS)
def test_each_value_of_an_option_has_a_meaning(option):
    """The values are those that the type takes, and no two mean the same."""
    annotation = Options.model_fields[option].annotation
    choices = get_args(annotation) if get_origin(annotation) is Literal else ()
    meanings = values_of(option)
    assert tuple(meanings) == (("true", "false") if annotation is bool else choices)
    assert len(set(meanings.values())) == len(meanings)


@pytest.mark.parametrize("name", [*OPTIONS, *SPECIALISTS, *ENTRIES])
def test_presets_differ_as_their_files_do(name):
    about = explain_rule(name)
    classic = written_in_files("classic")
    for preset in PRESETS:
        there = written_in_files(preset)
        paths = {about.option} | (
            {path for path in classic | there if path.startswith(f"{about.option}.")}
        )
        changed = any(classic.get(path) != there.get(path) for path in paths)
        assert (preset in about.presets) == changed


@pytest.mark.parametrize("rules", presets(), ids=PRESETS)
def test_what_is_said_of_a_preset_makes_that_preset(rules):
    """The differences from classic that are explained are all there are."""
    sets = []
    for about in explain_rules():
        value = about.presets.get(rules.name)
        if about.kind == "option" and value is not None:
            sets += value.split(", ") if about.name in MAPPINGS else [f"{about.name}={value}"]
    assert load_rules("classic", sets) == rules


@pytest.mark.parametrize("name", ["", "stael", "Weasel", "36", "tiles.0", "steal.x", "apple.tile"])
def test_unknown_names(name):
    with pytest.raises(RulesError) as caught:
        explain_rule(name)
    assert str(caught.value).endswith((".", "?"))
    if name == "stael":
        assert str(caught.value).endswith('did you mean "steal"?')
    if name == "Weasel":
        assert str(caught.value).endswith('did you mean "weasel"?')


# ------------------------------------------------------------------------------------------- frames


@pytest.mark.parametrize("preset", PRESETS)
def test_options_in_use_say_what_the_value_means(preset):
    rules = load_rules(preset)
    shown = {each.option: each for each in options_in_use(rules)}
    assert list(shown) == OPTIONS
    for option, each in shown.items():
        about = explain_rule(option)
        assert each.meaning == about.values.get(each.value, about.meaning)
        assert each.allowed == about.allowed
    assert load_rules("classic", [f"{o}={e.value}" for o, e in shown.items()]) == rules


def test_frames():
    shown = pickosim.show_rules("classic", ["steal=never"])
    assert shown.columns == ["option", "value", "meaning", "allowed"]
    (steal,) = shown.filter(shown["option"] == "steal").rows()
    assert steal[1:3] == ("never", explain_rule("steal").values["never"])
    differ = pickosim.diff_rules("classic", load_rules("classic", ["dice=7"]))
    assert differ.rows() == [("dice", "8", "7")]
    assert pickosim.diff_rules("short", "short").shape == (0, 3)


# ------------------------------------------------------------------------------------------ the page


def test_the_page_names_every_source_option_preset_and_specialist():
    for source in range(5):
        assert f"| source {source:03} |" in PAGE
    for name in (*OPTIONS, *PRESETS):
        assert f"`{name}`" in PAGE, name
    for specialist in SPECIALISTS:
        assert f"| {specialist.replace('-', ' ')} | **{POWERS[specialist].summary}**" in PAGE


def test_every_option_of_the_sources_is_discussed_by_hand():
    """Outside the generated tables, so that a decision and its reason are written down."""
    prose = re.sub(r"<!-- generated.*?<!-- end -->", "", PAGE, flags=re.DOTALL)
    assert [option for option in OPTIONS if f"`{option}`" not in prose] == []


def test_generated_sections_are_replaced_and_the_rest_is_left_alone():
    page = "Before\n<!-- generated: presets -->\nwhat was there\n<!-- end -->\nAfter\n"
    new = rules_page(page)
    assert new.startswith("Before\n<!-- generated: presets -->\n| preset |")
    assert new.endswith("|\n<!-- end -->\nAfter\n") and "what was there" not in new
    assert rules_page(new) == new
    assert PAGE.count("<!-- generated: ") == PAGE.count("<!-- end -->") == 4


def test_the_table_of_differences_is_that_of_the_presets():
    section = PAGE.split("<!-- generated: differences -->\n")[1].split("<!-- end -->")[0]
    heading, _, *rows = [line.strip("| ").split(" | ") for line in section.splitlines()]
    assert [cell.strip("`") for cell in heading] == ["option", *PRESETS]
    table = [line[2:-2].split(" | ") for line in section.splitlines()[2:]]
    for number, preset in enumerate(PRESETS):
        cells = {row[0].strip("`"): (row[number + 1] or row[1]).strip("` ") for row in table}
        same = [f"name={preset}", f"title={load_rules(preset).title}"]
        made: RuleSet = load_rules("classic", [f"{p}={v}" for p, v in cells.items()] + same)
        assert made == load_rules(preset)
    assert len(rows) == len(table)
