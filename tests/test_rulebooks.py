"""The rulebooks, figure by figure and example by example, played by the engine.

Each test is a situation, the dice and decisions of one turn, and what must come of it. Where a
figure's picture is not in the text, dice and tiles are made up so that they fit its words.
"""

from __future__ import annotations

import pytest
from situations import (
    at,
    bratworm,
    bust,
    fail,
    flip,
    give_back,
    moves,
    play_turn,
    reach,
    steal,
    steal_hen,
    stop,
    take,
)

from pickosim.errors import StrategyError
from pickosim.rules import load_rules

WITH_EXPANSION = ["extrawurm", "extrawurm-box", "manual-extrawurm"]
START = {
    "canned-worm": 11,
    "sitting-hen": 21,
    "raven": 23,
    "weasel": 25,
    "golden-die": 27,
    "apple": 29,
}


def totals(happened):
    """The total after each set-aside."""
    return [event["total"] for event in happened.events if event["event"] == "set-aside"]


def grill_from(lowest, *, without=()):
    return [tile for tile in range(lowest, 37) if tile not in without]


# =================================================================== the 2005 rules, source 001


def test_2005_figure_3_jonathan_may_not_take_what_he_has():
    turn = play_turn(
        "classic",
        0,
        stacks=[[], []],
        rolls=["ww112345", "44www1", "445w"],
        aside=["worm", "4", "5"],
    )
    assert totals(turn) == [10, 18, 23]
    _, second, third = turn.offers["pick"]
    assert second == ["1", "4"]  # not the three worms
    assert third == ["5"]  # he has no choice
    assert turn.outcome == [stop(23), take(23)]


@pytest.mark.parametrize(
    ("roll", "new"), [("145", ["1"]), ("24w", ["2"]), ("355", ["3"]), ("123", ["1", "2", "3"])]
)
def test_2005_figure_3_keeping_on_he_needs_a_1_2_or_3(roll, new):
    turn = play_turn(
        "classic",
        0,
        stacks=[[], []],
        rolls=["ww112345", "44www1", "445w", roll],
        aside=["worm", "4", "5", new[0]],
    )
    assert turn.offers["pick"][-1] == new


def test_2005_figure_3_without_them_his_turn_is_over():
    turn = play_turn(
        "classic",
        0,
        stacks=[[], []],
        rolls=["ww112345", "44www1", "445w", "45w"],
        aside=["worm", "4", "5"],
    )
    assert turn.outcome == [fail("no-new-face")]


def test_2005_all_eight_dice_end_the_turn():
    turn = play_turn("classic", 0, stacks=[[], []], rolls=["wwww1111", "4444"], aside=["worm", "4"])
    assert turn.asked == ["pick", "stop", "pick"]
    assert turn.outcome == [stop(36, forced=True), take(36)]


def test_2005_all_six_symbols_end_the_turn():
    turn = play_turn(
        "classic",
        0,
        stacks=[[], []],
        rolls=["ww123445", "123445", "12334", "1123", "112", "12"],
        aside=["worm", "5", "4", "3", "2", "1"],
    )
    assert totals(turn) == [10, 15, 19, 22, 24, 25]
    assert turn.asked[-2:] == ["stop", "pick"]  # one die is left, but he is not asked
    assert turn.outcome == [stop(25, forced=True), take(25)]


def test_2005_figure_4a_the_tile_on_the_grill():
    turn = play_turn(
        "classic",
        0,
        stacks=[[], []],
        rolls=["ww112345", "44www1", "2224"],
        aside=["worm", "4", "2"],
    )
    assert turn.offers["pick"][-1] == ["2"]
    assert turn.outcome == [stop(24), take(24)]
    assert turn.stacks == [[24], []]
    assert 24 not in turn.grill


def test_2005_figure_4b_the_tile_in_front_of_a_rival():
    steven, heather = 0, 1
    turn = play_turn(
        "classic", steven, stacks=[[25], [24, 21]], rolls=["www12345", "33ww1"], aside=["worm", "3"]
    )
    assert turn.outcome == [stop(21), steal(21, heather)]
    assert turn.stacks == [[25, 21], [24]]


def test_2005_figure_4b_only_with_the_exact_count():
    turn = play_turn("classic", 0, stacks=[[], [24, 21]], **reach(22), grill=grill_from(25))
    assert turn.outcome == [stop(22), fail("nothing-to-claim")]


def test_2005_figure_4c_the_own_top_tile_means_a_lower_one():
    nicole = 0
    turn = play_turn("classic", nicole, stacks=[[23], [22, 30]], **reach(23))
    assert turn.outcome == [stop(23), take(21)]
    assert turn.stacks[nicole] == [23, 21]


def test_2005_figure_4d_tiles_that_are_not_visible_mean_a_lower_one():
    tom = 1
    turn = play_turn(
        "classic",
        tom,
        stacks=[[31, 30, 36], [], []],
        grill=[22, 25, 28, 32, 34],
        **reach(31),
    )
    assert turn.outcome == [stop(31), take(28)]


def test_2005_figure_4e_heather_overlooks_the_tile_of_jonathan():
    heather, jonathan = 0, 1
    situation = {"stacks": [[], [22, 26]], **reach(26)}
    overlooked = play_turn("classic", heather, claim=[25], **situation)
    assert overlooked.offers["claim"] == [[25, 26]]
    assert overlooked.outcome == [stop(26), take(25)]
    seen = play_turn("classic", heather, claim=[26], **situation)
    assert seen.outcome == [stop(26), steal(26, jonathan)]


def test_2005_figure_5_a_new_tile_covers_the_others():
    nicole = 0
    turn = play_turn("classic", nicole, stacks=[[24, 26], [21]], **reach(28))
    assert turn.outcome == [stop(28), take(28)]
    assert turn.stacks[nicole] == [24, 26, 28]


@pytest.mark.parametrize("covered", [24, 26])
def test_2005_figure_5_all_tiles_beneath_are_safe(covered):
    turn = play_turn("classic", 1, stacks=[[24, 26, 28], []], grill=[21, 30], **reach(covered))
    assert turn.outcome == [stop(covered), take(21)]


def test_2005_figure_6a_only_symbols_already_collected():
    nicole = 0
    turn = play_turn(
        "classic",
        nicole,
        stacks=[[26], []],
        rolls=["ww344512", "553412", "4412", "5w"],
        aside=["worm", "5", "4"],
    )
    assert [event["event"] for event in turn.events].count("roll") == 4
    assert turn.outcome == [fail("no-new-face"), give_back(26), flip(36)]


def test_2005_figure_6b_no_worm_no_tile():
    heather = 1
    turn = play_turn(
        "classic",
        heather,
        stacks=[[], []],
        rolls=["44411235", "33311", "55"],
        aside=["4", "3", "5"],
    )
    assert totals(turn)[-1] == 31
    assert 31 in turn.grill
    assert turn.outcome == [stop(31, forced=True), fail("no-worm")]


def test_2005_figure_6c_no_tile_with_a_lower_value_left():
    tom = 0
    turn = play_turn(
        "classic",
        tom,
        stacks=[[22, 25], [21]],
        grill=[26, 30, 33],
        rolls=["ww344512", "333451", "411", "11"],
        aside=["worm", "3", "4", "1"],
    )
    assert turn.outcome == [
        stop(25, forced=True),
        fail("nothing-to-claim"),
        give_back(25),
        flip(33),
    ]


def test_2005_figure_7a_the_highest_tile_on_the_grill_is_flipped():
    tom = 1
    turn = play_turn("classic", tom, stacks=[[35], [24, 22]], grill=[21, 23, 30, 34], **bust())
    assert turn.outcome == [fail("no-new-face"), give_back(22), flip(34)]
    assert turn.grill == [21, 22, 23, 30]
    assert turn.stacks == [[35], [24]]


def test_2005_figure_7b_the_returned_tile_is_the_highest():
    heather = 0
    turn = play_turn("classic", heather, stacks=[[30], []], grill=[21, 24, 29], **bust())
    assert turn.outcome == [fail("no-new-face"), give_back(30)]
    assert turn.grill == [21, 24, 29, 30]


def test_2005_no_tile_to_return_none_flipped():
    turn = play_turn("classic", 0, stacks=[[], [24]], **bust())
    assert turn.outcome == [fail("no-new-face")]


def test_2005_alternative_the_returned_tile_is_placed_face_down_even_if_it_is_the_highest():
    turn = play_turn("short", 0, stacks=[[30], []], grill=[21, 24, 29], **bust())
    assert turn.outcome == [fail("no-new-face"), give_back(30), flip(30)]
    assert turn.grill == [21, 24, 29]
    assert 30 in turn.flipped


def test_2005_alternative_flips_one_tile_only():
    turn = play_turn("short", 0, stacks=[[22], []], grill=[21, 34], **bust())
    assert turn.outcome == [fail("no-new-face"), give_back(22), flip(34)]


def test_2005_the_end_comes_with_the_last_open_tile():
    turn = play_turn("classic", 1, stacks=[[36], [22]], grill=[21], **reach(21))
    assert turn.outcome == [stop(21), take(21)]
    assert turn.end["finished"] is True
    assert turn.end["scores"] == [4, 2]
    assert turn.end["winners"] == [0]


def test_2005_a_tie_goes_to_the_highest_single_tile():
    turn = play_turn("classic", 0, stacks=[[21, 22, 23], [36]], grill=[24], **reach(24))
    assert turn.end["scores"] == [4, 4]
    assert turn.end["winners"] == [1]
    assert turn.end["ranks"] == [2, 1]


# =================================================================== the 2018 rules, source 002


def test_2018_example_a():
    thomas = 0
    turn = play_turn(
        "extrawurm",
        thomas,
        stacks=[[], []],
        rolls=["44412355", "4423w", "55ww"],
        aside=["4", "worm", "5"],
    )
    assert totals(turn) == [12, 17, 27]
    assert turn.offers["pick"][1] == ["2", "3", "worm"]  # not the 4s
    assert turn.offers["pick"][2] == ["5"]
    assert turn.outcome == [stop(27), take(27)]


def test_2018_example_b():
    bridget = 0
    turn = play_turn(
        "extrawurm",
        bridget,
        stacks=[[24, 29], []],
        grill=[30, 31, 33],
        rolls=["33124455", "555124", "w22", "3w"],
        aside=["3", "5", "worm"],
    )
    assert totals(turn) == [6, 21, 26]
    assert turn.outcome == [fail("no-new-face"), give_back(29), flip(33)]
    assert turn.stacks[bridget] == [24]
    assert turn.grill == [29, 30, 31]


def test_2018_finishing_without_a_worm_is_a_failed_attempt():
    turn = play_turn("extrawurm", 0, stacks=[[], []], rolls=["55551122", "4431"], aside=["5", "4"])
    assert turn.outcome == [stop(28), fail("no-worm")]


def test_2018_failed_attempt_with_too_low_a_sum():
    turn = play_turn("extrawurm", 0, stacks=[[24], []], **reach(17))
    assert turn.outcome == [stop(17), fail("nothing-to-claim"), give_back(24), flip(36)]


def test_2018_failed_attempt_the_returned_tile_is_the_highest():
    turn = play_turn("extrawurm", 0, stacks=[[36], []], **bust())
    assert turn.outcome == [fail("no-new-face"), give_back(36)]


def test_2018_failed_attempt_without_a_tile_turns_nothing_over():
    turn = play_turn("extrawurm", 0, stacks=[[], [22]], **bust())
    assert turn.outcome == [fail("no-new-face")]


def test_2018_stealing():
    turn = play_turn("extrawurm", 0, stacks=[[22], [31, 26]], **reach(26))
    assert turn.outcome == [stop(26), steal(26, 1)]
    assert turn.stacks == [[22, 26], [31]]


@pytest.mark.parametrize("tile", [11, 13])
def test_2018_stealing_11_and_13_can_never_be_stolen(tile):
    turn = play_turn("extrawurm", 0, stacks=[[], [24, tile]], **reach(tile))
    assert turn.outcome == [stop(tile), fail("nothing-to-claim")]


@pytest.mark.parametrize("tile", [11, 13])
def test_2018_11_and_13_are_taken_with_exactly_their_value(tile):
    turn = play_turn("extrawurm", 0, stacks=[[], []], **reach(tile))
    assert turn.outcome == [stop(tile), take(tile)]


def test_2018_special_case_the_next_lower_tile():
    turn = play_turn("extrawurm", 0, stacks=[[], [29, 22]], grill=[21, 25, 33], **reach(29))
    assert turn.outcome == [stop(29), take(25)]


@pytest.mark.parametrize("total", [12, 14, 20])
def test_2018_special_case_never_11_or_13(total):
    turn = play_turn("extrawurm", 0, stacks=[[], []], **reach(total))
    assert {11, 13} <= set(turn.grill)
    assert turn.outcome == [stop(total), fail("nothing-to-claim")]


def test_2018_special_case_no_lower_tile():
    turn = play_turn("extrawurm", 0, stacks=[[], [24, 26]], grill=[11, 13, 25], **reach(24))
    assert turn.outcome == [stop(24), fail("nothing-to-claim")]


# ---------------------------------------------------------------------------------- double 1


@pytest.mark.parametrize("preset", WITH_EXPANSION)
def test_2018_double_1_earns_a_bratworm_however_the_turn_ends(preset):
    turn = play_turn(preset, 0, stacks=[[], []], rolls=["11123344", "11111"], aside=["1"])
    assert [event["event"] for event in turn.events][:3] == ["roll", "set-aside", "bratworm"]
    assert turn.told[2] == bratworm("supply")
    assert turn.outcome[0] == fail("no-new-face")
    assert turn.bratworms == [1, 0]
    assert turn.supply == 6


def test_2018_double_1_a_single_1_earns_nothing():
    turn = play_turn("extrawurm", 0, stacks=[[], []], rolls=["12233445"], aside=["1"])
    assert turn.bratworms == [0, 0]


def test_2018_double_1_from_a_player_of_choice_when_the_supply_is_used_up():
    situation = {
        "stacks": [[], [], []],
        "bratworms": [0, 3, 4],
        "rolls": ["11223344"],
        "aside": ["1"],
    }
    for victim, left in ((1, [1, 2, 4]), (2, [1, 3, 3])):
        turn = play_turn("extrawurm", 0, rob=[victim], **situation)
        assert turn.offers["rob"] == [[1, 2]]
        assert turn.told[2] == bratworm(victim)
        assert turn.bratworms == left


def test_2018_double_1_never_from_the_player_with_the_sitting_hen():
    turn = play_turn(
        "extrawurm",
        0,
        stacks=[[], [24], []],
        specialists={"sitting-hen": at(1)},
        bratworms=[0, 6, 1],
        rolls=["11223344"],
        aside=["1"],
    )
    assert "rob" not in turn.asked
    assert turn.told[2] == bratworm(2)
    assert turn.bratworms == [1, 6, 0]


def test_2018_double_1_with_nobody_to_take_from_earns_nothing():
    turn = play_turn(
        "extrawurm",
        0,
        stacks=[[], [24], []],
        specialists={"sitting-hen": at(1)},
        bratworms=[2, 5, 0],
        rolls=["11223344"],
        aside=["1"],
    )
    assert "bratworm" not in [event["event"] for event in turn.events]
    assert turn.bratworms == [2, 5, 0]


# ---------------------------------------------------------------------------- getting specialists


@pytest.mark.parametrize(("name", "tile"), [(n, t) for n, t in START.items() if n != "raven"])
def test_2018_a_tile_from_the_grill_brings_its_specialist(name, tile):
    turn = play_turn("extrawurm", 1, stacks=[[], []], specialists=START, **reach(tile))
    assert turn.outcome == [stop(tile), take(tile), moves(name, tile, at(1))]
    assert turn.specialists == START | {name: at(1)}


@pytest.mark.parametrize("name", ["canned-worm", "weasel", "golden-die", "apple"])
def test_2018_a_tile_of_another_player_brings_that_players_specialist(name):
    turn = play_turn("extrawurm", 0, stacks=[[], [29, 22]], specialists={name: at(1)}, **reach(22))
    assert turn.outcome == [stop(22), steal(22, 1), moves(name, at(1), at(0))]


def test_2018_a_failed_attempt_puts_first_the_tile_back_then_the_specialist():
    turn = play_turn(
        "extrawurm",
        0,
        stacks=[[21, 22], []],
        grill=[23, 30],
        specialists={"weasel": at(0)},
        **bust(),
    )
    assert turn.outcome == [
        fail("no-new-face"),
        give_back(22),
        flip(30),
        moves("weasel", at(0), 22),  # the tile just returned is the lowest unoccupied
    ]


def test_2018_a_specialist_goes_back_to_the_lowest_unoccupied_tile():
    turn = play_turn(
        "extrawurm",
        0,
        stacks=[[], []],
        specialists=START | {"apple": at(0)},
        **bust(),
    )
    assert turn.outcome == [fail("no-new-face"), moves("apple", at(0), 13)]


def test_2018_the_specialist_of_a_flipped_tile_is_relocated_after_that():
    turn = play_turn(
        "extrawurm",
        0,
        stacks=[[22], []],
        grill=[23, 29],
        specialists={"weasel": at(0), "apple": 29},
        **bust(),
    )
    assert turn.outcome == [
        fail("no-new-face"),
        give_back(22),
        flip(29),
        moves("weasel", at(0), 22),
        moves("apple", 29, 23),
    ]
    assert turn.specialists == {"weasel": 22, "apple": 23}


def test_2018_second_specialist_the_player_chooses():
    situation = {
        "stacks": [[26], []],
        "specialists": {"weasel": at(0), "apple": 29, "sitting-hen": 21},
        "grill": [21, 22, 29],
        **reach(29),
    }
    new = play_turn("extrawurm", 0, keep_new_specialist=[True], **situation)
    assert new.offers["keep_new_specialist"] == [{"old": "weasel", "new": "apple"}]
    assert new.outcome[1:] == [take(29), moves("apple", 29, at(0)), moves("weasel", at(0), 22)]
    old = play_turn("extrawurm", 0, keep_new_specialist=[False], **situation)
    assert old.outcome[1:] == [take(29), moves("apple", 29, 22)]
    assert old.specialists == {"weasel": at(0), "apple": 22, "sitting-hen": 21}


def test_2018_second_specialist_by_stealing():
    situation = {
        "stacks": [[26], [30, 24]],
        "specialists": {"weasel": at(0), "apple": at(1)},
        **reach(24),
    }
    new = play_turn("extrawurm", 0, keep_new_specialist=[True], **situation)
    assert new.outcome[1:] == [
        steal(24, 1),
        moves("apple", at(1), at(0)),
        moves("weasel", at(0), 11),
    ]
    old = play_turn("extrawurm", 0, keep_new_specialist=[False], **situation)
    assert old.outcome[1:] == [steal(24, 1), moves("apple", at(1), 11)]


def test_2018_all_tiles_occupied_the_specialist_is_out():
    turn = play_turn(
        "extrawurm",
        0,
        stacks=[[], []],
        grill=[21, 23],
        specialists={"weasel": at(0), "sitting-hen": 21, "raven": 23},
        **bust(),
    )
    assert turn.outcome == [fail("no-new-face"), moves("weasel", at(0), "out")]
    assert "weasel" not in turn.specialists


def test_2018_all_tiles_occupied_a_second_specialist_is_out():
    turn = play_turn(
        "extrawurm",
        0,
        stacks=[[], []],
        grill=[21, 29],
        specialists={"weasel": at(0), "sitting-hen": 21, "apple": 29},
        keep_new_specialist=[False],
        **reach(29),
    )
    assert turn.outcome[1:] == [take(29), moves("apple", 29, "out")]


# ------------------------------------------------------------------------------- the specialists


def test_2018_apple_counts_three_worms_at_the_end():
    turn = play_turn(
        "extrawurm",
        0,
        stacks=[[36], [24]],
        grill=[21],
        specialists={"apple": at(1)},
        **reach(21),
    )
    assert turn.end["scores"] == [5, 4]
    assert turn.end["apple"] == 1


def test_2018_golden_die_is_a_ninth_die():
    turn = play_turn(
        "extrawurm",
        0,
        stacks=[[], []],
        specialists={"golden-die": at(0)},
        rolls=["www12345+w", "44123"],
        aside=["worm", "4"],
    )
    assert turn.told[0] == {
        "event": "roll",
        "dice": ["1", "2", "3", "4", "5", "worm", "worm", "worm"],
        "golden": "worm",
    }
    assert turn.told[1] == {"event": "set-aside", "face": "worm", "count": 4, "total": 20}
    assert turn.told[2]["golden"] is None
    assert turn.outcome == [stop(28), take(28)]


def test_2018_golden_die_may_be_left_out():
    turn = play_turn(
        "extrawurm", 0, stacks=[[], []], specialists={"golden-die": at(0)}, **reach(28)
    )
    assert turn.asked[0] == "use_golden_die"
    assert turn.told[0]["golden"] is None
    assert turn.outcome == [stop(28), take(28)]


def test_2018_golden_die_is_rolled_again_until_it_is_set_aside():
    turn = play_turn(
        "extrawurm",
        0,
        stacks=[[], []],
        specialists={"golden-die": at(0)},
        rolls=["wwww1122+3", "5522+5"],
        aside=["worm", "5"],
    )
    assert [event["golden"] for event in turn.told if event["event"] == "roll"] == ["3", "5"]
    assert totals(turn) == [20, 35]


def test_2018_golden_die_showing_1_counts_for_double_1():
    turn = play_turn(
        "extrawurm",
        0,
        stacks=[[], []],
        specialists={"golden-die": at(0)},
        rolls=["12233445+1"],
        aside=["1"],
    )
    assert turn.told[1:3] == [
        {"event": "set-aside", "face": "1", "count": 2, "total": 2},
        bratworm("supply"),
    ]


def test_2018_canned_worm_counts_as_a_worm():
    turn = play_turn(
        "extrawurm",
        0,
        stacks=[[], []],
        specialists={"canned-worm": at(0)},
        rolls=["44441235"],
        aside=["4"],
    )
    assert turn.outcome == [stop(21, canned=True), take(21)]


def test_2018_canned_worm_is_not_used_beside_dice_worms():
    turn = play_turn(
        "extrawurm",
        0,
        stacks=[[], []],
        specialists={"canned-worm": at(0)},
        rolls=["4444123w", "w123"],
        aside=["4", "worm"],
    )
    assert totals(turn) == [16, 21]
    assert turn.outcome == [stop(21), take(21)]


def test_2018_canned_worm_steals_like_a_worm():
    turn = play_turn(
        "extrawurm",
        0,
        stacks=[[], [21]],
        specialists={"canned-worm": at(0)},
        rolls=["44441235"],
        aside=["4"],
    )
    assert turn.outcome == [stop(21, canned=True), steal(21, 1)]


def test_2018_weasel_rerolls_the_dice_just_rolled():
    turn = play_turn(
        "extrawurm",
        0,
        stacks=[[], []],
        specialists={"weasel": at(0)},
        rolls=["www12345", "11223", "weasel 44413"],
        aside=["worm", "4"],
    )
    assert [event["event"] for event in turn.events][:6] == [
        "roll",
        "set-aside",
        "roll",
        "reroll",
        "roll",
        "set-aside",
    ]
    assert turn.outcome == [stop(27), take(27)]


def test_2018_weasel_once_a_turn():
    turn = play_turn(
        "extrawurm",
        0,
        stacks=[[], []],
        specialists={"weasel": at(0)},
        rolls=["11122345", "weasel wwww1234", "wwww"],
        aside=["worm"],
    )
    assert turn.asked == ["reroll", "pick", "stop"]  # it is not asked for the third roll
    assert turn.outcome[0] == fail("no-new-face")


def test_2018_weasel_saves_a_roll_without_a_new_value():
    turn = play_turn(
        "extrawurm",
        0,
        stacks=[[], []],
        specialists={"weasel": at(0)},
        rolls=["wwww1234", "wwww", "weasel 1ww2"],
        aside=["worm", "2"],
    )
    assert turn.outcome == [stop(22), take(22)]


def test_2018_weasel_that_was_used_is_kept():
    turn = play_turn(
        "extrawurm",
        0,
        stacks=[[], []],
        specialists={"weasel": at(0)},
        rolls=["11122345", "weasel wwww1234", "1233"],
        aside=["worm", "1"],
    )
    assert turn.outcome == [stop(21), take(21)]
    assert turn.specialists == {"weasel": at(0)}


# ------------------------------------------------------------------------------- the sitting hen


def test_2018_sitting_hen_is_taken_instead_of_the_tile():
    turn = play_turn(
        "extrawurm", 0, stacks=[[], [30, 24]], specialists={"sitting-hen": at(1)}, **reach(24)
    )
    assert turn.outcome == [stop(24), steal_hen(1), moves("sitting-hen", at(1), at(0))]
    assert turn.stacks == [[], [30, 24]]


@pytest.mark.parametrize("tile", [11, 13])
def test_2018_sitting_hen_over_11_or_13_is_not_taken(tile):
    turn = play_turn(
        "extrawurm", 0, stacks=[[], [24, tile]], specialists={"sitting-hen": at(1)}, **reach(tile)
    )
    assert turn.outcome == [stop(tile), fail("nothing-to-claim")]
    assert turn.specialists == {"sitting-hen": at(1)}


@pytest.mark.parametrize("preset", WITH_EXPANSION)
@pytest.mark.parametrize("top", [11, 24, 36])
def test_2018_sitting_hen_is_all_that_a_failed_attempt_costs(preset, top):
    turn = play_turn(
        preset, 0, stacks=[[30, top], []], specialists={"sitting-hen": at(0)}, **bust()
    )
    lowest = 13 if top == 11 else 11
    assert turn.outcome == [fail("no-new-face"), moves("sitting-hen", at(0), lowest)]
    assert turn.stacks == [[30, top], []]
    assert turn.flipped == []


def test_2018_sitting_hen_is_kept_without_tiles():
    turn = play_turn(
        "extrawurm", 0, stacks=[[], [24]], specialists={"sitting-hen": at(0)}, **bust()
    )
    assert turn.outcome == [fail("no-new-face")]
    assert turn.specialists == {"sitting-hen": at(0)}


def test_2018_sitting_hen_saves_the_bratworms_and_stays():
    turn = play_turn(
        "extrawurm",
        0,
        stacks=[[], [24]],
        specialists={"sitting-hen": at(1)},
        bratworms=[0, 7],
        rolls=["11223344"],
        aside=["1"],
    )
    assert turn.bratworms == [0, 7]
    assert turn.specialists == {"sitting-hen": at(1)}


# -------------------------------------------------------------------------- raven and bratworms


def test_2018_raven_pays_a_bratworm_and_moves_on():
    turn = play_turn("extrawurm", 0, stacks=[[], []], specialists=START, **reach(23))
    assert turn.outcome == [
        stop(23),
        take(23),
        bratworm("supply", "raven"),
        moves("raven", 23, 13),
    ]
    assert turn.bratworms == [1, 0]


def test_2018_raven_is_no_second_specialist():
    turn = play_turn(
        "extrawurm",
        0,
        stacks=[[], []],
        specialists={"weasel": at(0), "raven": 23},
        **reach(23),
    )
    assert "keep_new_specialist" not in turn.asked
    assert turn.specialists == {"weasel": at(0), "raven": 11}


def test_2018_raven_pays_from_a_player_of_choice_when_the_supply_is_used_up():
    turn = play_turn(
        "extrawurm",
        0,
        stacks=[[], [], []],
        specialists={"raven": 23},
        bratworms=[0, 3, 4],
        rob=[2],
        **reach(23),
    )
    assert turn.offers["rob"] == [[1, 2]]
    assert turn.outcome[2] == bratworm(2, "raven")
    assert turn.bratworms == [1, 3, 3]


def test_2018_raven_leaves_the_game_when_all_tiles_are_occupied():
    turn = play_turn(
        "extrawurm",
        0,
        stacks=[[], []],
        grill=[21, 23],
        specialists={"sitting-hen": 21, "raven": 23},
        **reach(23),
    )
    assert turn.outcome[2:] == [bratworm("supply", "raven"), moves("raven", 23, "out")]


def test_2018_raven_with_nothing_to_pay_still_moves_on():
    turn = play_turn(
        "extrawurm",
        0,
        stacks=[[], [24]],
        specialists={"raven": 23, "sitting-hen": at(1)},
        bratworms=[2, 5],
        **reach(23),
    )
    assert turn.outcome == [stop(23), take(23), moves("raven", 23, 11)]


# --------------------------------------------------------------------------------------- the end


def test_2018_end_tiles_bratworms_and_apple_count():
    turn = play_turn(
        "extrawurm",
        0,
        stacks=[[33], [13, 29], [25]],
        grill=[11],
        specialists={"apple": at(2)},
        bratworms=[1, 2, 3],
        **reach(11),
    )
    assert turn.end["scores"] == [4 + 1 + 1, 1 + 3 + 2, 2 + 3 + 3]
    assert turn.end["winners"] == [2]


def test_2018_end_a_tie_goes_to_the_higher_single_tile():
    turn = play_turn(
        "extrawurm", 0, stacks=[[22, 23], [25]], grill=[21], bratworms=[0, 1], **reach(21)
    )
    assert turn.end["scores"] == [3, 3]
    assert turn.end["winners"] == [1]


def test_2018_the_original_game_leaves_the_expansion_in_the_box():
    rules = load_rules("classic")
    assert (min(rules.tiles), rules.bratworms, dict(rules.specialists)) == (21, 0, {})
    turn = play_turn("classic", 0, stacks=[[], []], rolls=["11223344"], aside=["1"])
    assert turn.outcome == [stop(2), fail("no-worm")]
    assert "bratworm" not in [event["event"] for event in turn.events]


# =================================================================== the manual, source 000


def test_manual_a_failed_turn_always_turns_the_highest_tile_over():
    turn = play_turn("manual", 0, stacks=[[], []], **bust())
    assert turn.outcome == [fail("no-new-face"), flip(36)]


def test_manual_exception_the_returned_tile_was_the_highest():
    turn = play_turn("manual", 0, stacks=[[35], [36]], **bust())
    assert turn.outcome == [fail("no-new-face"), give_back(35)]


@pytest.mark.parametrize("preset", ["manual", "manual-extrawurm"])
def test_manual_faq_can_i_stop_without_claiming_a_tile(preset):
    only = play_turn(preset, 0, stacks=[[], []], grill=[24], **reach(24))
    assert only.outcome == [stop(24), take(24)]
    with pytest.raises(StrategyError, match=r"claim\(\) answered 0; legal: 23, 24 "):
        play_turn(preset, 0, stacks=[[], []], grill=[23, 24], claim=[0], **reach(24))


@pytest.mark.parametrize("preset", ["manual", "manual-extrawurm"])
def test_manual_faq_can_i_steal_my_own_tile(preset):
    turn = play_turn(preset, 0, stacks=[[24], []], grill=[22, 23], claim=[23], **reach(24))
    assert turn.offers["claim"] == [[22, 23]]
    assert turn.outcome == [stop(24), take(23)]


@pytest.mark.parametrize("preset", ["manual", "manual-extrawurm"])
def test_manual_faq_what_if_the_tile_i_want_is_covered(preset):
    turn = play_turn(preset, 0, stacks=[[], [24, 30]], grill=[22, 23], claim=[22], **reach(24))
    assert turn.offers["claim"] == [[22, 23]]


@pytest.mark.parametrize("preset", ["manual", "manual-extrawurm"])
@pytest.mark.parametrize("chosen", [21, 22, 23, 24])
def test_manual_faq_can_i_take_a_lower_tile_if_my_total_matches_a_higher_one(preset, chosen):
    turn = play_turn(preset, 0, stacks=[[], []], claim=[chosen], **reach(24))
    assert turn.offers["claim"] == [[21, 22, 23, 24]]
    assert turn.outcome == [stop(24), take(chosen)]


def test_manual_a_steal_or_any_lower_tile():
    situation = {"stacks": [[], [30, 24]], **reach(24)}
    stolen = play_turn("manual", 0, claim=[24], **situation)
    assert stolen.offers["claim"] == [[21, 22, 23, 24]]
    assert stolen.outcome == [stop(24), steal(24, 1)]
    assert play_turn("manual", 0, claim=[21], **situation).outcome == [stop(24), take(21)]


@pytest.mark.parametrize("preset", ["manual", "manual-extrawurm"])
def test_manual_faq_what_if_the_highest_tile_is_stolen(preset):
    turn = play_turn(preset, 0, stacks=[[22], [36]], **bust())
    assert turn.outcome == [fail("no-new-face"), give_back(22), flip(35)]


def test_manual_faq_can_i_use_weasel_after_failing():
    turn = play_turn(
        "manual-extrawurm",
        0,
        stacks=[[], []],
        specialists={"weasel": at(0)},
        rolls=["wwww1234", "wwww"],
        aside=["worm"],
    )
    assert turn.asked == ["reroll", "pick", "stop"]
    assert turn.outcome == [fail("no-new-face"), flip(36), moves("weasel", at(0), 11)]


def test_manual_weasel_before_failing():
    turn = play_turn(
        "manual-extrawurm",
        0,
        stacks=[[], []],
        grill=[21],
        specialists={"weasel": at(0)},
        rolls=["11122345", "weasel wwww1234", "1233"],
        aside=["worm", "1"],
    )
    assert turn.outcome == [stop(21), take(21)]


@pytest.mark.parametrize("stack", [[], [22]])
def test_manual_faq_what_happens_to_a_specialist_if_you_lose_your_last_tile(stack):
    turn = play_turn(
        "manual-extrawurm", 0, stacks=[stack, []], specialists={"weasel": at(0)}, **bust()
    )
    assert turn.outcome[-1] == moves("weasel", at(0), 11)
    assert turn.stacks == [[], []]


def test_manual_faq_yields_to_the_hen_rule():
    turn = play_turn(
        "manual-extrawurm", 0, stacks=[[], []], specialists={"sitting-hen": at(0)}, **bust()
    )
    assert turn.outcome == [fail("no-new-face"), flip(36)]
    assert turn.specialists == {"sitting-hen": at(0)}


@pytest.mark.parametrize("tile", [11, 13])
def test_manual_11_and_13_are_taken_exactly_and_never_stolen(tile):
    taken = play_turn("manual-extrawurm", 0, stacks=[[], []], **reach(tile))
    assert taken.outcome == [stop(tile), take(tile)]
    above = play_turn("manual-extrawurm", 0, stacks=[[], []], **reach(tile + 1))
    assert above.outcome[1] == fail("nothing-to-claim")
    stolen = play_turn("manual-extrawurm", 0, stacks=[[], [tile]], **reach(tile))
    assert stolen.outcome[1] == fail("nothing-to-claim")


@pytest.mark.parametrize("tile", [11, 13])
def test_manual_11_and_13_are_not_returned(tile):
    turn = play_turn("manual-extrawurm", 0, stacks=[[30, tile], []], **bust())
    assert turn.outcome == [fail("no-new-face"), flip(36)]
    assert turn.stacks == [[30, tile], []]


def test_manual_a_second_specialist_replaces_the_first():
    turn = play_turn(
        "manual-extrawurm",
        0,
        stacks=[[], []],
        grill=[25, 26],
        specialists={"weasel": 25, "golden-die": at(0)},
        **reach(25),
    )
    assert "keep_new_specialist" not in turn.asked
    assert turn.outcome[1:] == [
        take(25),
        moves("weasel", 25, at(0)),
        moves("golden-die", at(0), 26),
    ]


def test_manual_raven_pays_and_is_not_taken():
    turn = play_turn(
        "manual-extrawurm",
        0,
        stacks=[[], []],
        grill=[22, 23],
        specialists={"raven": 23},
        claim=[23],
        **reach(23),
    )
    assert turn.outcome[1:] == [take(23), bratworm("supply", "raven"), moves("raven", 23, 22)]


def test_manual_others_steal_the_hen_not_the_tile():
    turn = play_turn(
        "manual-extrawurm",
        0,
        stacks=[[], [30, 21]],
        specialists={"sitting-hen": at(1)},
        **reach(21),
    )
    assert turn.outcome[1:] == [steal_hen(1), moves("sitting-hen", at(1), at(0))]


def test_manual_knows_no_apple():
    assert "apple" not in load_rules("manual-extrawurm").specialists


def test_manual_final_score():
    turn = play_turn(
        "manual-extrawurm", 0, stacks=[[], [36]], grill=[21], bratworms=[3, 0], **reach(21)
    )
    assert turn.end["scores"] == [4, 4]
    assert turn.end["winners"] == [1]


# ======================================================== what the rules page settles: the turn


def test_settled_a_stop_is_allowed_although_it_fails():
    turn = play_turn("classic", 0, stacks=[[], []], rolls=["w1122334"], aside=["worm"])
    assert turn.outcome == [stop(5), fail("nothing-to-claim")]


def test_settled_no_worm_comes_before_nothing_to_claim():
    turn = play_turn("classic", 0, stacks=[[], []], rolls=["11223344"], aside=["1"])
    assert turn.outcome == [stop(2), fail("no-worm")]


def test_settled_a_total_above_36_takes_the_highest():
    turn = play_turn("classic", 0, stacks=[[], []], rolls=["wwwwwwww"], aside=["worm"])
    assert turn.outcome == [stop(40, forced=True), take(36)]


def test_settled_a_special_golden_die_left_alone_may_stay():
    turn = play_turn(
        "extrawurm-box",
        0,
        stacks=[[], []],
        specialists={"golden-die": at(0)},
        rolls=["wwww1123+1", "1144+w", "44+w"],
        aside=["worm", "1", "4"],
    )
    # Eight white dice and both its faces are set aside: the golden die is still a die left.
    assert turn.asked[-2:] == ["pick", "stop"]
    assert turn.outcome == [stop(30), take(30)]


def test_settled_a_special_golden_die_left_alone_rolls_to_a_fail():
    for face in "1w":
        turn = play_turn(
            "extrawurm-box",
            0,
            stacks=[[], []],
            specialists={"golden-die": at(0)},
            rolls=["wwww1123+1", "1144+w", "44+w", f"+{face}"],
            aside=["worm", "1", "4"],
        )
        assert turn.outcome[0] == fail("no-new-face")


def test_settled_the_canned_worm_is_no_sixth_face():
    numbers = ["1234455w", "12344w", "123w", "12w", "1w"]
    situation = {"stacks": [[], []], "specialists": {"canned-worm": at(0)}}
    stopped = play_turn("extrawurm", 0, rolls=numbers, aside=["5", "4", "3", "2", "1"], **situation)
    assert stopped.asked[-2:] == ["pick", "stop"]
    assert stopped.outcome == [stop(29, canned=True), take(29)]
    worm = play_turn(
        "extrawurm",
        0,
        rolls=[*numbers, "w"],
        aside=["5", "4", "3", "2", "1", "worm"],
        **situation,
    )
    assert worm.outcome == [stop(29, forced=True), take(29)]


def test_settled_worms_set_aside_later_silence_the_can():
    turn = play_turn(
        "extrawurm",
        0,
        stacks=[[], []],
        specialists={"canned-worm": at(0)},
        rolls=["44441235", "www1"],
        aside=["4", "worm"],
    )
    assert turn.outcome == [stop(31), take(31)]


def test_settled_the_weasels_new_roll_counts_though_it_shows_nothing_new():
    turn = play_turn(
        "extrawurm",
        0,
        stacks=[[24], []],
        specialists={"weasel": at(0)},
        rolls=["wwww1234", "1234", "weasel wwww"],
        aside=["worm"],
    )
    assert turn.outcome == [
        fail("no-new-face"),
        give_back(24),
        flip(36),
        moves("weasel", at(0), 11),
    ]


# ====================================================== what the rules page settles: the claim


def test_settled_must_steal_though_the_grill_is_worth_more():
    rules = load_rules("classic").with_options({"steal": "must", "tiles.25": 9})
    turn = play_turn(rules, 0, stacks=[[], [26]], **reach(26))
    assert "claim" not in turn.asked
    assert turn.outcome == [stop(26), steal(26, 1)]


def test_settled_must_steal_the_hen_too():
    turn = play_turn(
        "extrawurm", 0, stacks=[[], [26]], specialists={"sitting-hen": at(1)}, **reach(26)
    )
    assert "claim" not in turn.asked
    assert turn.outcome[1] == steal_hen(1)


def test_settled_may_leave_the_hen_alone():
    rules = load_rules("extrawurm").with_options({"steal": "may"})
    turn = play_turn(
        rules, 0, stacks=[[], [26]], specialists={"sitting-hen": at(1)}, claim=[25], **reach(26)
    )
    assert turn.offers["claim"] == [[25, 26]]
    assert turn.outcome == [stop(26), take(25)]


def test_settled_must_with_any_lower_still_leaves_no_choice():
    rules = load_rules("manual").with_options({"steal": "must"})
    turn = play_turn(rules, 0, stacks=[[], [26]], **reach(26))
    assert turn.outcome == [stop(26), steal(26, 1)]


def test_settled_the_thief_of_a_hen_may_keep_its_own_specialist():
    situation = {
        "stacks": [[], [26]],
        "specialists": {"sitting-hen": at(1), "apple": at(0)},
        **reach(26),
    }
    old = play_turn("extrawurm", 0, keep_new_specialist=[False], **situation)
    assert old.outcome[1:] == [steal_hen(1), moves("sitting-hen", at(1), 11)]
    new = play_turn("extrawurm", 0, keep_new_specialist=[True], **situation)
    assert new.outcome[1:] == [
        steal_hen(1),
        moves("sitting-hen", at(1), at(0)),
        moves("apple", at(0), 11),
    ]


def test_settled_a_flipped_tile_is_in_neither_place():
    turn = play_turn("classic", 0, stacks=[[], []], grill=[21, 30], **reach(29))
    assert turn.flipped[:3] == [22, 23, 24]
    assert turn.outcome == [stop(29), take(21)]


def test_settled_the_tile_just_taken_receives_nobody():
    turn = play_turn(
        "extrawurm",
        0,
        stacks=[[], []],
        grill=[21, 22],
        specialists={"sitting-hen": 21, "weasel": at(0)},
        keep_new_specialist=[False],
        **reach(21),
    )
    assert turn.outcome[1:] == [take(21), moves("sitting-hen", 21, 22)]


# ======================================================= what the rules page settles: the fail


@pytest.mark.parametrize("preset", ["manual-extrawurm"])
def test_settled_a_hen_over_11_stands_in_for_the_tile_and_nothing_flips(preset):
    turn = play_turn(preset, 0, stacks=[[11], []], specialists={"sitting-hen": at(0)}, **bust())
    assert turn.outcome == [fail("no-new-face"), moves("sitting-hen", at(0), 13)]


def test_settled_a_fail_that_costs_nothing_flips_the_highest_tile():
    turn = play_turn(
        "manual-extrawurm", 0, stacks=[[], []], specialists={"sitting-hen": at(0)}, **bust()
    )
    assert turn.outcome == [fail("no-new-face"), flip(36)]


@pytest.mark.parametrize("flip_without_return", [False, True])
@pytest.mark.parametrize("flip_returned", [False, True])
@pytest.mark.parametrize(
    ("stack", "returned", "flipped"),
    [([], None, 30), ([22], 22, 30), ([36], 36, 36)],
)
def test_settled_what_a_fail_flips(flip_without_return, flip_returned, stack, returned, flipped):
    rules = load_rules("classic").with_options(
        {"flip_without_return": flip_without_return, "flip_returned": flip_returned}
    )
    turn = play_turn(rules, 0, stacks=[stack, []], grill=[21, 30], **bust())
    expected = [] if returned is None else [give_back(returned)]
    if (
        (returned is None and flip_without_return)
        or returned == 22
        or (returned == 36 and flip_returned)
    ):
        expected.append(flip(flipped))
    assert turn.outcome == [fail("no-new-face"), *expected]


def test_settled_11_and_13_are_flipped_like_any_tile():
    turn = play_turn("extrawurm", 0, stacks=[[11], []], grill=[13], **bust())
    assert turn.outcome == [fail("no-new-face"), give_back(11), flip(13)]


@pytest.mark.parametrize("tile", [11, 13])
def test_settled_11_and_13_go_back_in_the_2018_rules(tile):
    turn = play_turn("extrawurm", 0, stacks=[[30, tile], []], **bust())
    assert turn.outcome == [fail("no-new-face"), give_back(tile), flip(36)]


def test_settled_a_specialist_of_the_flipped_tile_without_a_place_is_out():
    turn = play_turn(
        "extrawurm",
        0,
        stacks=[[22], []],
        grill=[29],
        specialists={"weasel": at(0), "apple": 29},
        **bust(),
    )
    assert turn.outcome[2:] == [flip(29), moves("weasel", at(0), 22), moves("apple", 29, "out")]


def test_settled_the_french_rules_flip_whatever_is_highest():
    nothing = play_turn("french", 0, stacks=[[], []], **bust())
    assert nothing.outcome == [fail("no-new-face"), flip(36)]
    returned = play_turn("french", 0, stacks=[[36], []], **bust())
    assert returned.outcome == [fail("no-new-face"), give_back(36), flip(36)]


# ======================================================== what the rules page settles: the end


def test_settled_the_game_ends_in_the_middle_of_a_round():
    turn = play_turn("classic", 0, stacks=[[], [36], []], grill=[21], **reach(21))
    assert turn.end["turns"] == 4  # the first of the second round
    assert turn.end["finished"] is True


def test_settled_a_fail_that_empties_the_grill_is_settled_completely():
    turn = play_turn(
        "manual-extrawurm",
        0,
        stacks=[[], [36]],
        grill=[21],
        specialists={"weasel": at(0), "raven": 21},
        **bust(),
    )
    assert turn.outcome == [
        fail("no-new-face"),
        flip(21),
        moves("weasel", at(0), "out"),
        moves("raven", 21, "out"),
    ]
    assert turn.end["finished"] is True


def test_settled_the_specialist_on_the_last_tile_is_gained():
    turn = play_turn(
        "extrawurm", 0, stacks=[[], [25]], grill=[29], specialists={"apple": 29}, **reach(29)
    )
    assert turn.outcome[1:] == [take(29), moves("apple", 29, at(0))]
    assert turn.end["scores"] == [3 + 3, 2]


def test_settled_the_choice_of_two_is_made_on_the_last_tile():
    situation = {
        "stacks": [[], [25]],
        "grill": [29],
        "specialists": {"apple": 29, "weasel": at(0)},
        **reach(29),
    }
    new = play_turn("extrawurm", 0, keep_new_specialist=[True], **situation)
    assert new.outcome[2:] == [moves("apple", 29, at(0)), moves("weasel", at(0), "out")]
    assert new.end["scores"] == [6, 2]
    old = play_turn("extrawurm", 0, keep_new_specialist=[False], **situation)
    assert old.outcome[2:] == [moves("apple", 29, "out")]
    assert old.end["scores"] == [3, 2]
    assert old.end["apple"] is None


def test_settled_the_raven_on_the_last_tile_pays():
    turn = play_turn(
        "extrawurm", 0, stacks=[[], [25]], grill=[23], specialists={"raven": 23}, **reach(23)
    )
    assert turn.outcome[2:] == [bratworm("supply", "raven"), moves("raven", 23, "out")]
    assert turn.end["scores"] == [2, 2]
    assert turn.end["winners"] == [1]


def test_settled_players_still_tied_share_the_rank():
    turn = play_turn(
        "extrawurm", 2, stacks=[[], [], []], grill=[21], bratworms=[3, 3, 0], **reach(21)
    )
    assert turn.end["scores"] == [3, 3, 1]
    assert turn.end["ranks"] == [1, 1, 3]
    assert turn.end["winners"] == [0, 1]


def test_settled_ties_are_shared_where_the_rules_say_so():
    turn = play_turn("french", 0, stacks=[[22, 23, 24], [36], [25]], grill=[21], **reach(21))
    assert turn.end["scores"] == [4, 4, 2]
    assert turn.end["ranks"] == [1, 1, 3]
    assert turn.end["winners"] == [0, 1]


def test_settled_no_tile_comes_after_any_tile():
    turn = play_turn("extrawurm", 1, stacks=[[], []], grill=[21], bratworms=[1, 0], **reach(21))
    assert turn.end["scores"] == [1, 1]
    assert turn.end["ranks"] == [2, 1]


def test_settled_11_and_13_break_ties_by_their_value():
    turn = play_turn("extrawurm", 0, stacks=[[], [13]], grill=[11], **reach(11))
    assert turn.end["scores"] == [1, 1]
    assert turn.end["ranks"] == [2, 1]


def test_settled_the_tiebreak_orders_every_place():
    turn = play_turn("classic", 0, stacks=[[], [36, 35], [33], [34]], grill=[21], **reach(21))
    assert turn.end["scores"] == [1, 8, 4, 4]
    assert turn.end["ranks"] == [4, 1, 3, 2]
