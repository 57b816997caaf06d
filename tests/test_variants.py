"""Variants of the rules: their names, what is set and swept, and mistakes in it."""

from __future__ import annotations

import pytest

from pickosim.errors import PickosimError
from pickosim.rule_files import load_rules
from pickosim.studies.variants import (
    MOST_VARIANTS,
    make_variants,
    named_variant,
    sweep_texts,
    what_differs,
)


def names(*entries, **options) -> list[str]:
    return [variant.name for variant in make_variants(*entries, **options)]


def test_sweeps_make_all_combinations_on_each_variant():
    variants = make_variants(
        ["classic", "short"], sweeps=["dice=7,8", "claim=next-lower,any-lower"]
    )
    assert [variant.name for variant in variants] == [
        f"{rules} dice={dice} claim={claim}"
        for rules in ("classic", "short")
        for dice in (7, 8)
        for claim in ("next-lower", "any-lower")
    ]
    for variant in variants:
        rules, dice, claim = variant.name.split()
        sets = [dice, claim]
        assert variant.rules == load_rules(rules, sets)


def test_what_is_set_applies_to_all_and_what_is_swept_comes_after_it():
    variants = make_variants(
        ["classic", "french"], sets=["dice=9", "steal=must"], sweeps=["dice=7,8"]
    )
    assert [variant.rules.dice for variant in variants] == [7, 8, 7, 8]
    assert {variant.rules.steal for variant in variants} == {"must"}
    assert names(["classic"], sets=["dice=9"]) == ["classic"]


@pytest.mark.parametrize(
    ("sweep", "texts"),
    [
        ("dice=7", ["dice=7"]),
        ("dice=7..9", ["dice=7", "dice=8", "dice=9"]),
        ("dice=5,7..8", ["dice=5", "dice=7", "dice=8"]),
        ("dice = 7 , 8", ["dice=7", "dice=8"]),
        ("dice=7,7", ["dice=7"]),
        ("exact_only=[],[21,22]", ["exact_only=[]", "exact_only=[21,22]"]),
        (
            'golden_die_faces=[1,2,3,4,5,"worm"],[1,1,1,worm,worm,worm]',
            [
                'golden_die_faces=[1,2,3,4,5,"worm"]',
                "golden_die_faces=[1,1,1,worm,worm,worm]",
            ],
        ),
        (
            "specialists={},{weasel = 25, apple = {seat = 0}}",
            ["specialists={}", "specialists={weasel = 25, apple = {seat = 0}}"],
        ),
        ("title=\"a, b\",'c]',d", ['title="a, b"', "title='c]'", "title=d"]),
    ],
)
def test_values_of_a_sweep(sweep, texts):
    assert sweep_texts(sweep) == texts
    variants = make_variants(["extrawurm"], sweeps=[sweep.replace("[21,22]", "[11,13]")])
    # A single value is compared with the rules without it.
    assert len(variants) == max(2, len(texts))


def test_rules_named_twice_are_numbered():
    assert names(["classic", "short", "classic"]) == ["classic", "short", "classic#2"]


def test_a_file_and_a_rule_set_are_variants_too(tmp_path):
    path = tmp_path / "nine.toml"
    path.write_text("dice = 9\n")
    entries = load_rules("short", ["dice=7"])
    file, own = make_variants([path, entries], sets=["steal=must"])
    assert (file.name, file.rules.dice, file.rules.steal) == ("nine", 9, "must")
    assert (own.name, own.rules.dice, own.rules.steal) == ("short", 7, "must")


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (
            {"rules": ["clasic"]},
            'no preset is named "clasic"; did you mean "classic"?',
        ),
        (
            {"sweeps": ["dic=7,8"]},
            '--sweep dic=7: unknown option "dic"; did you mean "dice"?',
        ),
        (
            {"sweeps": ["dice=7,13"]},
            "--sweep dice=13: dice must be a whole number from 1 to 12, not 13.",
        ),
        (
            {"sets": ["dice=13"], "sweeps": ["claim=any-lower"]},
            "--set dice=13: dice must be a whole number from 1 to 12, not 13.",
        ),
        (
            {"sweeps": ["claim=any-lower,any"]},
            '--sweep claim=any: claim must be "next-lower", "any-lower" or "exact", not "any"',
        ),
        (
            {"sweeps": ["dice"]},
            "--sweep dice: an option is swept with option=value,value, such as dice=7,8,9.",
        ),
        (
            {"sweeps": ["dice=7,"]},
            "--sweep dice=7,: an option is swept with option=value,value, such as dice=7,8,9.",
        ),
        (
            {"sweeps": ["dice=7", "steal=must", "dice=8,9"]},
            "dice is swept twice; give all its values at once: --sweep dice=7,8,9.",
        ),
        (
            {"sweeps": ["dice=1", "tiles={36 = 4}"]},
            "--sweep dice=1 --sweep tiles={36 = 4}: no tile can ever be claimed",
        ),
        (
            {"sweeps": ["dice=1..12", "turn_limit=1..20"]},
            f"1 × 12 × 20 makes 240 variants; a run can have {MOST_VARIANTS} at most.",
        ),
        ({"sweeps": ["dice=9..7"]}, 'The range "9..7" must go from a smaller to a larger'),
        ({"rules": []}, "There is no variant to play"),
        ({"rules": "classic"}, 'Variants are given as a list, e.g. ["classic", "short"].'),
    ],
)
def test_mistakes(entries, message):
    with pytest.raises(PickosimError) as caught:
        make_variants(**{"rules": ["classic"], **entries})
    assert str(caught.value).startswith(message)


def test_the_reference_is_the_first_or_the_one_named():
    variants = make_variants(["classic"], sweeps=["dice=7,8"])
    assert named_variant(variants, None) is variants[0]
    assert named_variant(variants, "classic dice=8") is variants[1]
    with pytest.raises(PickosimError, match='"classic dice=88"; did you mean "classic dice=8"'):
        named_variant(variants, "classic dice=88")
    with pytest.raises(PickosimError, match="the variants are classic dice=7, classic dice=8"):
        named_variant(variants, "?")


def test_what_differs():
    classic, french = load_rules("classic"), load_rules("french")
    assert what_differs(classic, french) == (
        "lost_tile: returned -> removed; flip_without_return: false -> true; "
        "tiebreak: highest-tile -> shared"
    )
    assert what_differs(classic, load_rules("classic", ["name=other", "title=another"])) == ""


def test_rules_may_be_followed_by_options():
    variants = make_variants(
        ["classic", "french lost_tile=returned flip_returned=true"], ["dice=7"]
    )
    assert [one.name for one in variants] == [
        "classic",
        "french lost_tile=returned flip_returned=true",
    ]
    wanted = ["dice=7", "lost_tile=returned", "flip_returned=true"]
    assert variants[1].rules == load_rules("french", wanted)
    assert named_variant(variants, "french lost_tile=returned flip_returned=true") == variants[1]
    with pytest.raises(PickosimError, match="lost_tile"):
        make_variants(["classic", "french lost_tile=gone"])


def test_a_file_of_rules_may_have_a_space_and_an_equals_sign(tmp_path):
    path = tmp_path / "my rules dice=7.toml"
    path.write_text('extends = "classic"\nname = "mine"\n', encoding="utf-8")
    assert [one.name for one in make_variants(["classic", str(path)])] == ["classic", "mine"]
