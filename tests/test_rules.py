"""The rules: presets against the rules page, every way to write options, every error."""

import json
import os
import pickle
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import reference
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from package_copy import edited_copy
from pydantic import ValidationError
from rule_pages import KEY_PATTERNS, rules_schema

from pickosim.errors import PickosimError, RulesError, suggest
from pickosim.rule_files import (
    PRESETS,
    as_arguments,
    differences,
    load_rules,
    presets,
    rules_text,
)
from pickosim.rules import MAPPINGS, SPECIALISTS, WORM, RuleSet, Seat

TILES = {
    **dict.fromkeys(range(21, 25), 1),
    **dict.fromkeys(range(25, 29), 2),
    **dict.fromkeys(range(29, 33), 3),
    **dict.fromkeys(range(33, 37), 4),
}

CLASSIC: dict[str, Any] = {
    "name": "classic",
    "title": "Heckmeck am Bratwurmeck, the 2005 rules",
    "dice": 8,
    "tiles": {str(value): worms for value, worms in TILES.items()},
    "exact_only": [],
    "claim": "next-lower",
    "steal": "may",
    "lost_tile": "returned",
    "flip_without_return": False,
    "flip_returned": False,
    "exact_only_returns": True,
    "hen_saves_flip": True,
    "tiebreak": "highest-tile",
    "bratworms": 0,
    "bratworm_ones": 2,
    "specialists": {},
    "second_specialist": "choose",
    "weasel_rescues_bust": True,
    "golden_die_faces": [1, 2, 3, 4, 5, "worm"],
    "apple_worms": 3,
    "turn_limit": 2000,
}
FIVE = {"canned-worm": 11, "sitting-hen": 21, "raven": 23, "weasel": 25, "golden-die": 27}
EXTRAWURM = CLASSIC | {
    "tiles": {"11": 1, "13": 1, **CLASSIC["tiles"]},
    "exact_only": [11, 13],
    "steal": "must",
    "bratworms": 7,
    "specialists": FIVE | {"apple": 29},
}
MANUAL = CLASSIC | {"claim": "any-lower", "flip_without_return": True}

RULES_PAGE: dict[str, dict[str, Any]] = {
    "classic": CLASSIC,
    "short": CLASSIC | {"flip_returned": True},
    "extrawurm": EXTRAWURM,
    "extrawurm-box": EXTRAWURM
    | {"specialists": FIVE, "golden_die_faces": [1, 1, 1, "worm", "worm", "worm"]},
    "manual": MANUAL,
    "manual-extrawurm": MANUAL
    | {
        "tiles": EXTRAWURM["tiles"],
        "exact_only": [11, 13],
        "exact_only_returns": False,
        "bratworms": 7,
        "hen_saves_flip": False,
        "specialists": FIVE,
        "second_specialist": "keep-new",
        "weasel_rescues_bust": False,
    },
    "french": CLASSIC | {"lost_tile": "removed", "flip_without_return": True, "tiebreak": "shared"},
}


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def mistake(spec: str | Path, *sets: str) -> str:
    """The error message of loading these rules."""
    with pytest.raises(RulesError) as caught:
        load_rules(spec, sets)
    return str(caught.value)


# ------------------------------------------------------------------------------------------ presets


@pytest.mark.parametrize("name", RULES_PAGE)
def test_preset_is_as_the_rules_page_says(name: str) -> None:
    options = load_rules(name).as_dict()
    del options["title"]
    assert options == {k: v for k, v in RULES_PAGE[name].items() if k != "title"} | {"name": name}


def test_presets_come_in_the_order_of_the_rules_page() -> None:
    assert [rules.name for rules in presets()] == list(RULES_PAGE) == list(PRESETS)


def test_every_preset_has_a_title_of_its_own() -> None:
    assert len({rules.title for rules in presets()}) == len(PRESETS)
    assert load_rules("classic").title == CLASSIC["title"]


def test_options_come_in_the_order_of_the_rules_page() -> None:
    assert list(load_rules("extrawurm").as_dict()) == list(CLASSIC)


def test_a_copy_of_the_classic_file_is_classic(tmp_path: Path) -> None:
    source = Path(__file__).parents[1] / "pickosim" / "presets" / "classic.toml"
    copy = write(tmp_path / "mine.toml", source.read_text(encoding="utf-8"))
    assert load_rules(copy) == load_rules("classic")


# -------------------------------------------------------------------------------------- the object


def test_stored_options_read_as_mappings_and_numbers() -> None:
    rules = load_rules("extrawurm-box", ["specialists.apple={seat=0}"])
    assert rules.tiles == {11: 1, 13: 1, **TILES}
    assert list(rules.tiles) == sorted(rules.tiles)
    assert rules.specialists["weasel"] == 25
    assert rules.specialists["apple"] == Seat(seat=0)
    assert tuple(rules.specialists) == SPECIALISTS
    assert rules.exact_only == (11, 13)
    assert rules.golden_die_faces == (1, 1, 1, WORM, WORM, WORM)


def test_equal_rules_have_equal_hashes_however_they_were_written() -> None:
    one = load_rules("classic", ["tiles={21=1,22=2}", "exact_only=[21,22]"])
    other = load_rules("classic", ["tiles={22=2,21=1}", "exact_only=[22,21]"])
    assert one == other
    assert hash(one) == hash(other)
    assert repr(one) == repr(other)
    assert one != load_rules("classic")
    assert len({*presets(), *presets()}) == len(PRESETS)


def test_rules_are_frozen() -> None:
    rules = load_rules("classic")
    with pytest.raises(ValidationError, match="frozen"):
        rules.dice = 9
    with pytest.raises(TypeError):
        rules.tiles[21] = 5  # type: ignore[index]


@pytest.mark.parametrize("rules", presets(), ids=PRESETS)
def test_pickling_keeps_rules_and_hash(rules: RuleSet) -> None:
    copy = pickle.loads(pickle.dumps(rules))
    assert copy == rules
    assert hash(copy) == hash(rules)


@pytest.mark.parametrize("rules", presets(), ids=PRESETS)
def test_as_dict_survives_json(rules: RuleSet) -> None:
    options = json.loads(json.dumps(rules.as_dict()))
    assert options == rules.as_dict()
    assert load_rules("french").with_options(options) == rules
    assert RuleSet.model_validate(options) == rules


def test_importing_the_rules_does_not_import_the_engine() -> None:
    code = "import pickosim.rule_files, sys; print({'numpy', 'numba'} & set(sys.modules))"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout == "set()\n"


# ---------------------------------------------------------------------------------- ways to write


@pytest.mark.parametrize(
    ("text", "option", "value"),
    [
        ("claim=any-lower", "claim", "any-lower"),
        ('claim="any-lower"', "claim", "any-lower"),
        (" claim = any-lower ", "claim", "any-lower"),
        ("flip_returned=true", "flip_returned", True),
        ("dice=9", "dice", 9),
        ("golden_die_faces=[1,1,1,worm,worm,worm]", "golden_die_faces", (1, 1, 1, 6, 6, 6)),
        ("golden_die_faces=[1, 2, 3, 4, 5, 'worm']", "golden_die_faces", (1, 2, 3, 4, 5, 6)),
        ("tiles={21=1,22=1}", "tiles", {21: 1, 22: 1}),
        ("tiles={21=1,22=none}", "tiles", {21: 1}),
        ("tiles.36=5", "tiles", TILES | {36: 5}),
        ("tiles.36=none", "tiles", {k: v for k, v in TILES.items() if k != 36}),
        ("tiles.99=none", "tiles", TILES),
        ("exact_only=[25,21]", "exact_only", (21, 25)),
        ("specialists={weasel=25,apple={seat=6}}", "specialists", {"weasel": 25, "apple": Seat(6)}),
        ("specialists.canned-worm=36", "specialists", {"canned-worm": 36}),
        ("specialists.apple={seat=0}", "specialists", {"apple": Seat(0)}),
        ("specialists.apple=nowhere", "specialists", {}),
        ("specialists={}", "specialists", {}),
        ("name=mine", "name", "mine"),
        ("name=2nd", "name", "2nd"),
        ("title=My own rules, the 2nd try #2", "title", "My own rules, the 2nd try #2"),
        ("title=one,", "title", "one,"),
        ('title="true"', "title", "true"),
        ("title=a=b", "title", "a=b"),
    ],
)
def test_set(text: str, option: str, value: object) -> None:
    assert getattr(load_rules("classic", [text]), option) == value


def test_sets_apply_in_order_after_the_base() -> None:
    rules = load_rules("classic", ["tiles.36=9", "tiles={21=1,36=1}", "tiles.36=3", "dice=9"])
    assert rules.tiles == {21: 1, 36: 3}


def test_only_the_result_of_all_sets_has_to_be_playable() -> None:
    rules = load_rules("extrawurm", ["specialists.weasel=27", "specialists.golden-die=25"])
    assert (rules.specialists["weasel"], rules.specialists["golden-die"]) == (27, 25)


def test_sets_keep_the_name_of_the_base_and_leave_the_base_alone() -> None:
    base = load_rules("extrawurm")
    changed = load_rules(base, ["apple_worms=5"])
    assert (changed.name, changed.title, changed.apple_worms) == (base.name, base.title, 5)
    assert base.apple_worms == 3
    assert load_rules(base) == base


def test_with_options_changes_whole_options_before_entries() -> None:
    rules = load_rules("classic").with_options({"tiles.36": 5, "tiles": {21: 1}, "dice": 7})
    assert rules.tiles == {21: 1, 36: 5}
    assert rules.dice == 7
    assert load_rules("classic").with_options({}) == load_rules("classic")


def test_with_options_takes_stored_mappings_too() -> None:
    extrawurm = load_rules("extrawurm", ["specialists.apple={seat=0}"])
    changes = {"tiles": extrawurm.tiles, "specialists": extrawurm.specialists}
    assert load_rules("classic").with_options(changes).specialists == extrawurm.specialists


def test_a_file_extends_classic_unless_it_says_otherwise(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.toml", "dice = 7\n")
    rules = load_rules(str(path))
    named = {"name": "mine", "title": "classic, as changed in mine.toml"}
    assert rules == load_rules(path)
    assert rules.as_dict() == CLASSIC | named | {"dice": 7}
    assert load_rules(path, ["dice=6"]).dice == 6


def test_a_file_may_lack_the_suffix_and_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "mine"
    path.write_text('name = "x"\n', encoding="utf-8-sig")
    assert load_rules(str(path)).name == "x"


def test_a_mapping_in_a_file_replaces_all_entries_and_a_quoted_key_one(tmp_path: Path) -> None:
    path = write(
        tmp_path / "mine.toml",
        """
        extends = "extrawurm"
        exact_only = []
        "tiles.21" = "none"
        "tiles.30" = 3
        "specialists.weasel" = 30
        "specialists.raven" = "nowhere"
        [tiles]
        21 = 1
        22 = 1
        [specialists]
        raven = 22
        [specialists.apple]
        seat = 1
        """,
    )
    rules = load_rules(path)
    assert rules.tiles == {22: 1, 30: 3}
    assert rules.specialists == {"weasel": 30, "apple": Seat(1)}


def test_files_extend_files_relative_to_themselves(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    write(tmp_path / "base" / "one.toml", 'extends = "manual"\ndice = 7\nturn_limit = 9\n')
    write(tmp_path / "two.toml", 'extends = "base/one.toml"\nname = "two"\nturn_limit = 8\n')
    rules = load_rules(write(tmp_path / "three.toml", 'extends = "two.toml"\nsteal = "must"\n'))
    assert rules.as_dict() == MANUAL | {
        "name": "three",
        "title": "two, as changed in three.toml",
        "dice": 7,
        "turn_limit": 8,
        "steal": "must",
    }


def test_a_preset_wins_over_a_file_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "classic", "dice = 7\n")
    monkeypatch.chdir(tmp_path)
    assert load_rules("classic").dice == 8
    assert load_rules("./classic").dice == 7
    assert load_rules(Path("classic")).dice == 7


# ---------------------------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "claim=nextlower",
            'claim must be "next-lower", "any-lower" or "exact", not "nextlower"; '
            'did you mean "next-lower"?',
        ),
        ("claim=3", 'claim must be "next-lower", "any-lower" or "exact", not 3.'),
        ("tiebreak=dice", 'tiebreak must be "highest-tile" or "shared", not "dice".'),
        ("flip_retruned=true", 'unknown option "flip_retruned"; did you mean "flip_returned"?'),
        ("claim.x=1", 'unknown option "claim.x"; did you mean "claim"?'),
        ("=1", f'unknown option ""; the options are {", ".join(CLASSIC)}.'),
        ("extends=short", f'unknown option "extends"; the options are {", ".join(CLASSIC)}.'),
        ("claim", "write option=value, such as claim=any-lower."),
        (
            "flip_returned=True",
            'flip_returned must be true or false, not "True"; did you mean "true"?',
        ),
        ("flip_returned=1", "flip_returned must be true or false, not 1."),
        ("dice=0", "dice must be a whole number from 1 to 12, not 0."),
        ("dice=13", "dice must be a whole number from 1 to 12, not 13."),
        ("dice=8.0", "dice must be a whole number from 1 to 12, not 8.0."),
        ("dice=true", "dice must be a whole number from 1 to 12, not true."),
        ("dice=eight", 'dice must be a whole number from 1 to 12, not "eight".'),
        ("dice=", 'dice must be a whole number from 1 to 12, not "".'),
        ("steal=always", 'steal must be "may", "must" or "never", not "always".'),
        (
            "lost_tile=remove",
            'lost_tile must be "returned", "removed" or "kept", not "remove"; '
            'did you mean "removed"?',
        ),
        ("hen_saves_flip=1", "hen_saves_flip must be true or false, not 1."),
        (
            "second_specialist=keepold",
            'second_specialist must be "choose", "keep-new" or "keep-old", not "keepold"; '
            'did you mean "keep-old"?',
        ),
        ("bratworm_ones=0", "bratworm_ones must be a whole number from 1 to 13, not 0."),
        ("bratworm_ones=14", "bratworm_ones must be a whole number from 1 to 13, not 14."),
        ("bratworms=100", "bratworms must be a whole number from 0 to 99, not 100."),
        ("apple_worms=-1", "apple_worms must be a whole number from 0 to 99, not -1."),
        ("turn_limit=60001", "turn_limit must be a whole number from 1 to 60000, not 60001."),
        ("name=", 'name must be one line of 1 to 60 printable characters, not "".'),
        ("name=7", "name must be one line of 1 to 60 printable characters, not 7."),
        (
            'title="two\\nlines"',
            'title must be one line of 1 to 200 printable characters, not "two\\nlines".',
        ),
        (
            "tiles=5",
            "tiles must map tile values to worms, such as {21 = 1, 22 = 1}, not 5.",
        ),
        ("tiles={}", "there are no tiles; at least one is needed."),
        ("tiles.100=1", 'unknown tile "100"; tiles have values from 1 to 99.'),
        ("tiles.036=1", 'unknown tile "036"; tiles have values from 1 to 99.'),
        ("tiles.=1", 'unknown tile ""; tiles have values from 1 to 99.'),
        (
            "tiles.36=101",
            'tiles.36 must be a whole number of worms from 0 to 100, or "none", not 101.',
        ),
        (
            "tiles={21=1,22=nowhere}",
            'tiles.22 must be a whole number of worms from 0 to 100, or "none", not "nowhere".',
        ),
        (
            f"tiles={{{','.join(f'{value}=1' for value in range(1, 34))}}}",
            "33 tiles are too many; at most 32 can be in play.",
        ),
        ("exact_only=[11]", "exact_only names tile 11, which is not in play."),
        (
            "exact_only=21",
            "exact_only must be a list of tile values, each once, such as [11, 13], not 21.",
        ),
        (
            "exact_only=[21,21]",
            "exact_only must be a list of tile values, each once, such as [11, 13], not [21, 21].",
        ),
        (
            "specialists=none",
            "specialists must map specialists to their places, such as "
            '{weasel = 25, apple = {seat = 0}}, not "none".',
        ),
        ("specialists.wesel=25", 'unknown specialist "wesel"; did you mean "weasel"?'),
        (
            "specialists.fox=25",
            'unknown specialist "fox"; the specialists are canned-worm, sitting-hen, raven, '
            "weasel, golden-die, apple.",
        ),
        (
            "specialists.apple={seat=7}",
            'specialists.apple must be a tile value, {seat = 0} to {seat = 6}, or "nowhere", '
            'not {"seat": 7}.',
        ),
        (
            "specialists.apple={seat=1,tile=21}",
            'specialists.apple must be a tile value, {seat = 0} to {seat = 6}, or "nowhere", '
            'not {"seat": 1, "tile": 21}.',
        ),
        (
            "specialists.apple=true",
            'specialists.apple must be a tile value, {seat = 0} to {seat = 6}, or "nowhere", '
            "not true.",
        ),
        ("specialists.apple=11", "specialists.apple starts on tile 11, which is not in play."),
        (
            "specialists.raven={seat=0}",
            "specialists.raven starts with seat 0, but no player can hold the raven; "
            "start it on a tile.",
        ),
        (
            "specialists={raven=21,apple=21}",
            "specialists.raven and specialists.apple both start on tile 21, where there is room "
            "for one.",
        ),
        (
            "specialists={weasel={seat=1},apple={seat=1}}",
            "specialists.weasel and specialists.apple both start with seat 1, where there is room "
            "for one.",
        ),
        (
            "golden_die_faces=[1,2,3,4,5,6]",
            'golden_die_faces must be a list of six faces, each 1 to 5 or "worm", '
            "not [1, 2, 3, 4, 5, 6].",
        ),
        (
            "golden_die_faces=[1,2,3,4,worm]",
            'golden_die_faces must be a list of six faces, each 1 to 5 or "worm", '
            'not [1, 2, 3, 4, "worm"].',
        ),
        (
            "golden_die_faces=[1,2,3,4,5,worm",
            'golden_die_faces must be a list of six faces, each 1 to 5 or "worm", '
            'not "[1,2,3,4,5,worm".',
        ),
        (
            "dice=4",
            "no tile can ever be claimed: with a worm among them, 4 dice make totals from 5 to 20.",
        ),
    ],
)
def test_mistake_in_a_set(text: str, message: str) -> None:
    assert mistake("classic", text) == f"--set {text}: {message}"


def test_the_error_names_the_set_with_the_mistake() -> None:
    assert mistake("classic", "dice=7", "steal=always", "dice=6").startswith("--set steal=always: ")


def test_the_error_of_an_unplayable_combination_names_all_sets() -> None:
    message = mistake("extrawurm", "tiles.25=none", "dice=7")
    assert message == (
        "--set tiles.25=none --set dice=7: "
        "specialists.weasel starts on tile 25, which is not in play."
    )


def test_errors_of_with_options_have_no_prefix() -> None:
    with pytest.raises(RulesError, match=r"^dice must be a whole number from 1 to 12, not 8\.5\.$"):
        load_rules("classic").with_options({"dice": 8.5})


@pytest.mark.parametrize(
    "sets",
    [
        ("dice=4", "specialists.golden-die={seat=0}"),
        ("dice=4", "specialists.canned-worm={seat=0}"),
        ("tiles={3=1}",),
        ("tiles={5=1}", "exact_only=[5]", "dice=1"),
        ("tiles={3=1,21=1}", "exact_only=[3]", "flip_without_return=true"),
        ("tiles.99=100",),
        ("tiles={21=1,99=1}", "lost_tile=removed"),
        ("tiles={3=1,21=1,22=1}", "exact_only=[3]", "lost_tile=removed"),
        ("tiles={3=1,4=1,21=1}", "claim=exact", "lost_tile=removed", "flip_without_return=true"),
        ("tiles={21=1,99=1}", "claim=exact"),
        ("tiles={21=1,99=1}", "lost_tile=kept", "flip_without_return=true"),
        ("tiles={5=1,40=1}", "claim=exact", "lost_tile=kept"),
        ("tiles={45=1,21=1}", "claim=exact", "lost_tile=kept", "specialists={canned-worm=21}"),
        ("tiles={6=1,5=1}", "dice=1", "claim=exact", "lost_tile=kept", "specialists.golden-die=5"),
        ("exact_only=[21]", "exact_only_returns=false", "lost_tile=kept", "steal=never"),
        ("bratworm_ones=13",),
    ],
)
def test_odd_rules_that_can_be_played(sets: tuple[str, ...]) -> None:
    load_rules("classic", sets)


@pytest.mark.parametrize(
    ("sets", "reason"),
    [
        (("dice=4", "specialists.golden-die=21"), "no tile can ever be claimed"),
        (("dice=4", "specialists.weasel={seat=0}"), "no tile can ever be claimed"),
        (
            (
                "dice=4",
                "tiles={22=1}",
                "specialists.golden-die={seat=0}",
                "golden_die_faces=[1,1,1,1,1,1]",
            ),
            "no tile can ever be claimed",
        ),
        (("tiles={3=1}", "exact_only=[3]"), "no tile can ever be claimed"),
        (("tiles={3=1,21=1}", "exact_only=[3]"), "tile 3 can never leave the grill"),
        (("tiles={3=1}", "claim=exact"), "no tile can ever be claimed"),
        (("tiles={99=1}", "claim=exact"), "no tile can ever be claimed"),
        (("tiles={3=1,21=1}", "claim=exact"), "tile 3 can never leave the grill"),
        (("tiles={21=1,99=1}", "lost_tile=kept"), "tile 99 can never leave the grill"),
        (("tiles={21=1,41=1}", "claim=exact", "lost_tile=kept"), "tile 41 can never leave"),
        (("tiles={3=1,21=1}", "exact_only=[3]", "lost_tile=kept"), "tile 3 can never leave"),
        (
            ("tiles={21=1,99=1}", "exact_only=[21]", "exact_only_returns=false"),
            "tile 99 can never leave the grill",
        ),
        (
            ("tiles={3=1,4=1,21=1}", "claim=exact", "lost_tile=removed"),
            "no game would end: no total claims tiles 3, 4, a fail flips one of them only if it "
            "costs a tile, and only 1 can be lost.",
        ),
        (
            (
                "tiles={21=1,99=1}",
                "exact_only=[21]",
                "exact_only_returns=false",
                "lost_tile=removed",
            ),
            "no total claims tile 99",
        ),
    ],
)
def test_odd_rules_that_cannot_be_played(sets: tuple[str, ...], reason: str) -> None:
    assert reason in mistake("classic", *sets)


@st.composite
def tiny_rules(draw: st.DrawFn) -> dict[str, Any]:
    """Rules of two dice, whose totals are 5 to 10, and up to four tiles, many of them out of reach."""
    values = draw(st.sets(st.sampled_from([2, 3, 4, 7, 10, 11, 12]), min_size=1, max_size=4))
    return {
        "dice": 2,
        "tiles": {str(value): 1 for value in sorted(values)},
        "exact_only": sorted(draw(st.sets(st.sampled_from(sorted(values))))),
        "claim": draw(st.sampled_from(["next-lower", "any-lower", "exact"])),
        "steal": draw(st.sampled_from(["may", "must", "never"])),
        "lost_tile": draw(st.sampled_from(["returned", "removed", "kept"])),
        "flip_without_return": draw(st.sampled_from([False, False, False, True])),
        "flip_returned": draw(st.booleans()),
        "exact_only_returns": draw(st.booleans()),
    }


def following(rules: reference.Rules, state: Any) -> Iterator[Any]:
    """The grill, the stacks and the player on turn after every turn that there is."""
    grill, stacks, seat = state

    def table() -> reference.Game:
        game = reference.set_up(rules, len(stacks), reference.Source())
        game.grill, game.stacks = list(grill), [list(stack) for stack in stacks]
        return game

    turn = reference.Turn(seat=seat, white=0)
    offers = [reference.claims_of_total(table(), seat, total) for total in range(5, 11)]
    for claim in (None, *{claim for claims in offers for claim in claims}):
        game = table()
        if claim is None:
            reference.fail(game, turn, "no-new-face")
        else:
            reference.settle_claim(game, turn, claim)
        yield tuple(game.grill), tuple(map(tuple, game.stacks)), 1 - seat


def can_end(rules: reference.Rules) -> bool:
    """Whether any game of two ends, by trying every turn from every table that can be reached."""
    start: Any = tuple(sorted(rules.tiles)), ((), ()), 0
    seen, waiting = {start}, [start]
    while waiting:
        for after in following(rules, waiting.pop()):
            if not after[0]:
                return True
            if after not in seen:
                seen.add(after)
                waiting.append(after)
    return False


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(tiny_rules())
def test_rules_are_refused_if_no_game_could_end(options: dict[str, Any]) -> None:
    try:
        load_rules("classic").with_options(options)
        playable = True
    except RulesError as error:
        assume("no tile can ever be claimed" not in str(error))
        playable = False
    assert can_end(reference.read_rules(reference.CLASSIC | options)) == playable


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("clasic", 'no preset is named "clasic"; did you mean "classic"?'),
        ("Extrawurm", 'no preset is named "Extrawurm"; did you mean "extrawurm"?'),
        (
            "zzz",
            f'no preset is named "zzz"; the presets are {", ".join(PRESETS)}, '
            "and a rule file ends in .toml.",
        ),
        (
            "z" * 300,
            f'no preset is named "{"z" * 300}"; the presets are {", ".join(PRESETS)}, '
            "and a rule file ends in .toml.",
        ),
        ("missing.toml", "missing.toml: the file does not exist."),
        (Path("missing"), "missing: the file does not exist."),
        ("folder", "folder: this is a folder, not a rule file."),
        ("folder.toml", "folder.toml: this is a folder, not a rule file."),
    ],
)
def test_missing_rules(
    spec: str | Path, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("folder.toml").mkdir()
    assert mistake(spec) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("flip_retruned = true", 'unknown option "flip_retruned"; did you mean "flip_returned"?'),
        ('claim = "any"', 'claim must be "next-lower", "any-lower" or "exact", not "any"'),
        ("[specialists]\nwesel = 25", 'unknown specialist "wesel"; did you mean "weasel"?'),
        ("exact_only = [11]", "exact_only names tile 11, which is not in play."),
        ("dice = 1979-05-27", 'dice must be a whole number from 1 to 12, not "1979-05-27".'),
        ("\ndice = = 8", "the file is not valid TOML: Invalid value (at line 2, column 8)."),
        ("dice = ", "the file is not valid TOML: Invalid value (at the end, line 1, column 8)."),
        ('"tiles.36" = 5\n tiles.35 = 4', 'write "tiles.35" with the quotes.'),
        ('"specialists" . "weasel" = 30', 'write "specialists.weasel" with the quotes.'),
        ("extends = 5", "extends must be the name of a preset or a path, not 5."),
        ('extends = "frensh"', 'extends: no preset is named "frensh"; did you mean "french"?'),
    ],
)
def test_mistake_in_a_file(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(Path("my.toml"), text)
    found = mistake("my.toml")
    assert found.startswith("my.toml: ")
    assert message in found


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_bytes(b'name = "\xe9"\n')
    assert mistake(path) == f"{path}: the file is not UTF-8 text (at byte 8)."


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    os.mkfifo(path)
    assert mistake(path) == f"{path}: the file cannot be read (Not a regular file)."


def test_an_error_in_an_extended_file_names_both_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(Path("my.toml"), 'extends = "base.toml"')
    assert mistake("my.toml") == "base.toml (extended by my.toml): the file does not exist."
    write(Path("base.toml"), "dice = 0")
    assert mistake("my.toml").startswith("base.toml (extended by my.toml): dice must be")


def test_files_that_extend_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(Path("a.toml"), 'extends = "b.toml"')
    write(Path("b.toml"), 'extends = "./a.toml"')
    assert mistake("a.toml") == (
        "a.toml (extended by b.toml): "
        "files extend each other in a circle: a.toml -> b.toml -> a.toml; remove one `extends`."
    )
    write(Path("self.toml"), 'extends = "self.toml"')
    assert "in a circle: self.toml -> self.toml; " in mistake("self.toml")


def test_rules_errors_are_mistakes_of_the_user() -> None:
    assert issubclass(RulesError, PickosimError)


@pytest.mark.parametrize(
    ("word", "answer"),
    [("claims", '; did you mean "claim"?'), ("CLAIM", '; did you mean "claim"?'), ("dice", "")],
)
def test_suggest(word: str, answer: str) -> None:
    assert suggest(word, ["claim", "steal"]) == answer


# ------------------------------------------------------------------- differences and arguments


def test_differences_are_single_entries_as_set_takes_them() -> None:
    classic = load_rules("classic")
    other = load_rules(
        "classic",
        ["tiles.11=1", "tiles.36=none", "specialists.apple={seat=0}", "flip_returned=true"],
    )
    assert differences(classic, other) == [
        ("tiles.11", "none", "1"),
        ("tiles.36", "4", "none"),
        ("flip_returned", "false", "true"),
        ("specialists.apple", "nowhere", "{seat=0}"),
    ]
    assert differences(load_rules("extrawurm-box"), load_rules("extrawurm"))[2:] == [
        ("specialists.apple", "nowhere", "29"),
        ("golden_die_faces", "[1,1,1,worm,worm,worm]", "[1,2,3,4,5,worm]"),
    ]
    assert differences(classic, classic) == []


@pytest.mark.parametrize("name", PRESETS)
def test_arguments_of_a_preset_are_its_name(name: str) -> None:
    assert as_arguments(load_rules(name)) == ["--rules", name]


@pytest.mark.parametrize(
    ("base", "sets", "arguments"),
    [
        ("extrawurm", ["apple_worms=5"], ["--rules", "extrawurm", "--set", "apple_worms=5"]),
        ("extrawurm", ["specialists={}"], ["--rules", "extrawurm", "--set", "specialists={}"]),
        (
            "extrawurm",
            ["name=mine", "specialists.apple={seat=0}"],
            ["--rules", "extrawurm", "--set", "name=mine", "--set", "specialists.apple={seat=0}"],
        ),
        (
            "french",
            ["title=true story", 'name="true"'],
            ["--rules", "french", "--set", 'name="true"', "--set", "title=true story"],
        ),
        ("classic", ["tiles={21=1}"], ["--rules", "classic", "--set", "tiles={21=1}"]),
    ],
)
def test_arguments_are_short(base: str, sets: list[str], arguments: list[str]) -> None:
    assert as_arguments(load_rules(base, sets)) == arguments


WRITTEN_LIKE_VALUES = [
    "true",
    "1",
    "[1]",
    "a # b",
    "a,",
    '"',
    "'",
    "\\",
    "{a=1}",
    '"a"',
    "a=b",
    "é",
]


def lines(longest: int) -> st.SearchStrategy[str]:
    """Texts that fit on one line, including some that look like other values."""
    printable = st.text(max_size=longest).filter(str.isprintable)
    return st.sampled_from(WRITTEN_LIKE_VALUES) | printable.map(str.strip).filter(bool)


@st.composite
def rule_sets(draw: st.DrawFn) -> RuleSet:
    """Any rules that can be played."""
    tiles = draw(st.dictionaries(st.integers(1, 99), st.integers(0, 100), min_size=1, max_size=32))
    seats = st.integers(0, 6).map(lambda seat: {"seat": seat})
    places: st.SearchStrategy[object] = st.sampled_from(sorted(tiles)) | seats
    faces = st.sampled_from([1, 2, 3, 4, 5, "worm"])
    changes: Mapping[str, st.SearchStrategy[object]] = {
        "name": st.sampled_from(PRESETS) | lines(60),
        "title": lines(200),
        "dice": st.integers(1, 12),
        "exact_only": st.lists(st.sampled_from(sorted(tiles)), unique=True),
        "claim": st.sampled_from(["next-lower", "any-lower", "exact"]),
        "steal": st.sampled_from(["may", "must", "never"]),
        "lost_tile": st.sampled_from(["returned", "removed", "kept"]),
        "flip_without_return": st.booleans(),
        "flip_returned": st.booleans(),
        "exact_only_returns": st.booleans(),
        "hen_saves_flip": st.booleans(),
        "tiebreak": st.sampled_from(["highest-tile", "shared"]),
        "bratworms": st.integers(0, 99),
        "bratworm_ones": st.integers(1, 13),
        "specialists": st.dictionaries(st.sampled_from(SPECIALISTS), places),
        "second_specialist": st.sampled_from(["choose", "keep-new", "keep-old"]),
        "weasel_rescues_bust": st.booleans(),
        "golden_die_faces": st.lists(faces, min_size=6, max_size=6),
        "apple_worms": st.integers(0, 99),
        "turn_limit": st.integers(1, 60_000),
    }
    base = draw(st.sampled_from(presets()))
    chosen = draw(st.sets(st.sampled_from(sorted(changes))))
    drawn = {option: draw(changes[option]) for option in sorted(chosen)}
    with_tiles = draw(st.booleans())
    try:
        return base.with_options(drawn | ({"tiles": tiles} if with_tiles else {}))
    except RulesError:
        assume(False)
        raise


@given(rule_sets())
def test_arguments_give_the_same_rules_back(rules: RuleSet) -> None:
    flag, base, *rest = as_arguments(rules)
    assert flag == "--rules"
    assert set(rest[::2]) <= {"--set"}
    again = load_rules(base, rest[1::2])
    assert again == rules
    assert hash(again) == hash(rules)


@given(rule_sets(), rule_sets())
def test_differences_lead_from_one_to_the_other(a: RuleSet, b: RuleSet) -> None:
    assert load_rules(a, [f"{path}={value}" for path, _, value in differences(a, b)]) == b


@given(rule_sets())
def test_any_rules_survive_json_and_pickle(rules: RuleSet) -> None:
    assert load_rules("classic").with_options(json.loads(json.dumps(rules.as_dict()))) == rules
    assert pickle.loads(pickle.dumps(rules)) == rules


# ------------------------------------------------------------------------------------- JSON Schema


SCHEMA = rules_schema()


def is_valid(document: object) -> bool:
    valid: bool = Draft202012Validator(SCHEMA).is_valid(document)
    return valid


def test_the_schema_is_a_schema_that_describes_every_option() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA
    assert set(SCHEMA["properties"]) == {"extends", *CLASSIC}
    assert all(option["description"].endswith(".") for option in SCHEMA["properties"].values())


@pytest.mark.parametrize("name", PRESETS)
def test_the_schema_accepts_the_file_of_a_preset(name: str) -> None:
    path = Path(__file__).parents[1] / "pickosim" / "presets" / f"{name}.toml"
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    assert document["name"] == name
    assert is_valid(document)


@pytest.mark.parametrize(
    "text",
    [
        "",
        'extends = "base/one.toml"',
        '"tiles.36" = 5\n"tiles.21" = "none"',
        '"specialists.weasel" = 30\n"specialists.raven" = "nowhere"',
        '"specialists.apple" = {seat = 0}',
        '[tiles]\n21 = 1\n22 = "none"',
        "[specialists]\nweasel = 25\n[specialists.apple]\nseat = 1",
        'golden_die_faces = [1, 1, 1, "worm", "worm", "worm"]',
    ],
)
def test_the_schema_accepts_what_a_file_may_say(text: str, tmp_path: Path) -> None:
    assert is_valid(tomllib.loads(text))
    (tmp_path / "base").mkdir()
    write(tmp_path / "base" / "one.toml", "")
    load_rules(write(tmp_path / "mine.toml", text))


@pytest.mark.parametrize(
    "text",
    [
        "flip_retruned = true",
        "dice = 13",
        "dice = true",
        'dice = "8"',
        'claim = "lowest"',
        'steal = "always"',
        'flip_returned = "true"',
        "extends = 5",
        'name = ""',
        "exact_only = [21, 21]",
        'golden_die_faces = [1, 2, 3, 4, "worm"]',
        "golden_die_faces = [1, 2, 3, 4, 5, 6]",
        "tiles = 5",
        "[tiles]\n100 = 1",
        "[tiles]\n21 = 101",
        "bratworm_ones = 0",
        '"tiles.036" = 1',
        '"tiles.36" = "nowhere"',
        "[specialists]\nwesel = 25",
        '"specialists.weasel" = "none"',
        '"specialists.apple" = {seat = 7}',
        '"specialists.apple" = {seat = 1, tile = 21}',
        '"claim.x" = 1',
    ],
)
def test_the_schema_refuses_what_the_loader_refuses(text: str, tmp_path: Path) -> None:
    assert not is_valid(tomllib.loads(text))
    mistake(write(tmp_path / "mine.toml", text))


@given(rule_sets())
def test_the_schema_accepts_any_rules(rules: RuleSet) -> None:
    assert is_valid(rules.as_dict())


@pytest.mark.parametrize("option", MAPPINGS)
def test_the_pattern_of_keys_matches_the_keys(option: str) -> None:
    mapping = MAPPINGS[option]
    tried = {*mapping.keys, *map(str, range(-1, 1001)), "021", "", "wesel"}
    assert {key for key in tried if re.fullmatch(KEY_PATTERNS[option], key)} == set(mapping.keys)


# ------------------------------------------------------------------------------------------ a new option


def test_a_new_option_breaks_neither_old_weights_nor_games_of_other_bots(tmp_path: Path) -> None:
    """An option as CONTRIBUTING says; the engine does not read it, so that no kernel is compiled for it."""
    option = (
        "    made_up: Annotated[\n"
        '        bool, Means(True, "Something is made up."), Means(False, "Nothing is.")\n'
        '    ] = Field(description="Whether something is made up.")\n'
    )
    field = "    turn_limit: Annotated["
    environment = edited_copy(tmp_path, rules=(field, option + field))
    classic = tmp_path / "pickosim/presets/classic.toml"
    classic.write_text(f"made_up = false\n{classic.read_text(encoding='utf-8')}", encoding="utf-8")
    (tmp_path / "strategies/not_named.py").write_text("raise RuntimeError('not to be loaded')")

    for bots in (["eager", "random"], ["eager", "champion"]):
        program = [sys.executable, "-c", "from pickosim.cli import main; main()", "tournament"]
        done = subprocess.run(
            [*program, *bots, "--games", "2", "--workers", "1"],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr


# ------------------------------------------------------------------------------------- rules in a line


@pytest.mark.parametrize(
    ("rules", "sets", "text"),
    [
        ("classic", [], "classic"),
        ("classic", ["dice=9"], "classic with dice=9"),
        ("extrawurm", ["apple_worms=2", "dice=9"], "extrawurm with dice=9, apple_worms=2"),
    ],
)
def test_rules_are_named_with_every_change(rules, sets, text):
    named = rules_text(load_rules(rules, sets))
    assert sorted(re.split(", | with ", named)) == sorted(re.split(", | with ", text))


def test_rules_of_a_file_are_described_by_the_nearest_preset(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('extends = "classic"\nname = "mine"\ntitle = "Mine"\ndice = 9\n')
    assert rules_text(load_rules(file)) == "mine (classic with dice=9)"
