"""The rulebooks, figure by figure and example by example, played by engine and reference alike.

Each test is a situation, the dice and decisions of one turn, and what must come of it;
`scenarios.py` says how they are written. Where a figure's picture is not in the text, dice and
tiles are made up so that they fit its words.
"""

from __future__ import annotations

from functools import partial

import pytest
from reference_situations import play_on_reference
from scenarios import (
    BUST,
    Illegal,
    at,
    bratworm,
    fail,
    flip,
    give_back,
    moves,
    play_turn,
    reach,
    reroll,
    roll,
    set_aside,
    steal,
    steal_hen,
    stop,
    take,
)
from situations import play_on_engine

WITH_EXPANSION = ["extrawurm", "extrawurm-box", "manual-extrawurm"]
MANUALS = ["manual", "manual-extrawurm"]
START = {
    "canned-worm": 11,
    "sitting-hen": 21,
    "raven": 23,
    "weasel": 25,
    "golden-die": 27,
    "apple": 29,
}


@pytest.fixture(params=[play_on_engine, play_on_reference], ids=["engine", "reference"])
def play(request):
    """Play a turn: `play(preset, dice, ...)`, see `play_turn`."""
    return partial(play_turn, request.param)


# =================================================================== the 2005 rules, source 001

FIGURE_3 = "ww112345:w 44www1:4 445w:5"


def test_2005_figure_3_jonathan_may_not_take_what_he_has(play):
    turn = play("classic", FIGURE_3)
    assert turn.totals == [10, 18, 23]
    _, second, third = turn.offers["pick"]
    assert second == ["1", "4"]  # not the three worms
    assert third == ["5"]  # he has no choice
    assert turn.outcome == [stop(23), take(23)]


@pytest.mark.parametrize(
    ("rolled", "new"), [("145", ["1"]), ("24w", ["2"]), ("355", ["3"]), ("123", ["1", "2", "3"])]
)
def test_2005_figure_3_keeping_on_he_needs_a_1_2_or_3(play, rolled, new):
    turn = play("classic", f"{FIGURE_3} {rolled}:{new[0]}")
    assert turn.offers["pick"][-1] == new


def test_2005_figure_3_without_them_his_turn_is_over(play):
    assert play("classic", f"{FIGURE_3} 45w").outcome == [fail()]


def test_2005_all_eight_dice_end_the_turn(play):
    turn = play("classic", "wwww1111:w 4444:4")
    assert turn.asked == ["pick", "stop", "pick"]
    assert turn.outcome == [stop(36, forced=True), take(36)]


def test_2005_all_six_symbols_end_the_turn(play):
    turn = play("classic", "ww123445:w 123445:5 12334:4 1123:3 112:2 12:1")
    assert turn.totals == [10, 15, 19, 22, 24, 25]
    assert turn.asked[-2:] == ["stop", "pick"]  # one die is left, but he is not asked
    assert turn.outcome == [stop(25, forced=True), take(25)]


def test_2005_figure_4a_the_tile_on_the_grill(play):
    turn = play("classic", "ww112345:w 44www1:4 2224:2")
    assert turn.offers["pick"][-1] == ["2"]
    assert turn.outcome == [stop(24), take(24)]
    assert turn.stacks == [[24], []]
    assert 24 not in turn.grill


def test_2005_figure_4b_the_tile_in_front_of_a_rival(play):
    heather = 1
    turn = play("classic", "www12345:w 33ww1:3", stacks=[[25], [24, 21]])
    assert turn.outcome == [stop(21), steal(21, heather)]
    assert turn.stacks == [[25, 21], [24]]


def test_2005_figure_4b_only_with_the_exact_count(play):
    turn = play("classic", reach(22), stacks=[[], [24, 21]], grill=range(25, 37))
    assert turn.outcome == [stop(22), fail("nothing-to-claim")]


def test_2005_figure_4c_the_own_top_tile_means_a_lower_one(play):
    turn = play("classic", reach(23), stacks=[[23], [22, 30]])
    assert turn.outcome == [stop(23), take(21)]
    assert turn.stacks[0] == [23, 21]


def test_2005_figure_4d_tiles_that_are_not_visible_mean_a_lower_one(play):
    tom = 1
    turn = play(
        "classic", reach(31), seat=tom, stacks=[[31, 30, 36], [], []], grill=[22, 25, 28, 32, 34]
    )
    assert turn.outcome == [stop(31), take(28)]


def test_2005_figure_4e_heather_overlooks_the_tile_of_jonathan(play):
    jonathan = 1
    overlooked = play("classic", reach(26), stacks=[[], [22, 26]], claim=[25])
    assert overlooked.offers["claim"] == [[25, 26]]
    assert overlooked.outcome == [stop(26), take(25)]
    seen = play("classic", reach(26), stacks=[[], [22, 26]], claim=[26])
    assert seen.outcome == [stop(26), steal(26, jonathan)]


def test_2005_figure_5_a_new_tile_covers_the_others(play):
    turn = play("classic", reach(28), stacks=[[24, 26], [21]])
    assert turn.outcome == [stop(28), take(28)]
    assert turn.stacks[0] == [24, 26, 28]


@pytest.mark.parametrize("covered", [24, 26])
def test_2005_figure_5_all_tiles_beneath_are_safe(play, covered):
    turn = play("classic", reach(covered), seat=1, stacks=[[24, 26, 28], []], grill=[21, 30])
    assert turn.outcome == [stop(covered), take(21)]


def test_2005_figure_6a_only_symbols_already_collected(play):
    turn = play("classic", "ww344512:w 553412:5 4412:4 5w", stacks=[[26], []])
    assert turn.kinds.count("roll") == 4
    assert turn.outcome == [fail(), give_back(26), flip(36)]


def test_2005_figure_6b_no_worm_no_tile(play):
    turn = play("classic", "44411235:4 33311:3 55:5", seat=1)
    assert turn.totals[-1] == 31
    assert 31 in turn.grill
    assert turn.outcome == [stop(31, forced=True), fail("no-worm")]


def test_2005_figure_6c_no_tile_with_a_lower_value_left(play):
    dice = "ww344512:w 333451:3 411:4 11:1"
    turn = play("classic", dice, stacks=[[22, 25], [21]], grill=[26, 30, 33])
    failed = [fail("nothing-to-claim"), give_back(25), flip(33)]
    assert turn.outcome == [stop(25, forced=True), *failed]


def test_2005_figure_7a_the_highest_tile_on_the_grill_is_flipped(play):
    tom = 1
    turn = play("classic", BUST, seat=tom, stacks=[[35], [24, 22]], grill=[21, 23, 30, 34])
    assert turn.outcome == [fail(), give_back(22), flip(34)]
    assert turn.grill == [21, 22, 23, 30]
    assert turn.stacks == [[35], [24]]


def test_2005_figure_7b_the_returned_tile_is_the_highest(play):
    turn = play("classic", BUST, stacks=[[30], []], grill=[21, 24, 29])
    assert turn.outcome == [fail(), give_back(30)]
    assert turn.grill == [21, 24, 29, 30]


def test_2005_no_tile_to_return_none_flipped(play):
    assert play("classic", BUST, stacks=[[], [24]]).outcome == [fail()]


def test_2005_alternative_the_returned_tile_is_placed_face_down_even_if_it_is_the_highest(play):
    turn = play("short", BUST, stacks=[[30], []], grill=[21, 24, 29])
    assert turn.outcome == [fail(), give_back(30), flip(30)]
    assert turn.grill == [21, 24, 29]
    assert 30 in turn.flipped


def test_2005_alternative_flips_one_tile_only(play):
    turn = play("short", BUST, stacks=[[22], []], grill=[21, 34])
    assert turn.outcome == [fail(), give_back(22), flip(34)]


def test_2005_the_end_comes_with_the_last_open_tile(play):
    turn = play("classic", reach(21), seat=1, stacks=[[36], [22]], grill=[21])
    assert turn.outcome == [stop(21), take(21)]
    assert turn.end["finished"] is True
    assert turn.ended("scores", "winners") == ([4, 2], [0])


def test_2005_a_tie_goes_to_the_highest_single_tile(play):
    turn = play("classic", reach(24), stacks=[[21, 22, 23], [36]], grill=[24])
    assert turn.ended("scores", "winners", "ranks") == ([4, 4], [1], [2, 1])


# =================================================================== the 2018 rules, source 002


def test_2018_example_a(play):
    turn = play("extrawurm", "44412355:4 4423w:w 55ww:5")
    assert turn.totals == [12, 17, 27]
    assert turn.offers["pick"][1] == ["2", "3", "worm"]  # not the 4s
    assert turn.offers["pick"][2] == ["5"]
    assert turn.outcome == [stop(27), take(27)]


def test_2018_example_b(play):
    dice = "33124455:3 555124:5 w22:w 3w"
    turn = play("extrawurm", dice, stacks=[[24, 29], []], grill=[30, 31, 33])
    assert turn.totals == [6, 21, 26]
    assert turn.outcome == [fail(), give_back(29), flip(33)]
    assert turn.stacks[0] == [24]
    assert turn.grill == [29, 30, 31]


@pytest.mark.parametrize(("dice", "total"), [("55551122:5 4431:4", 28), ("55555551:5", 35)])
def test_2018_finishing_without_a_worm_is_a_failed_attempt(play, dice, total):
    assert play("extrawurm", dice).outcome == [stop(total), fail("no-worm")]


def test_2018_failed_attempt_with_too_low_a_sum(play):
    turn = play("extrawurm", reach(17), stacks=[[24], []])
    assert turn.outcome == [stop(17), fail("nothing-to-claim"), give_back(24), flip(36)]


def test_2018_failed_attempt_the_returned_tile_is_the_highest(play):
    turn = play("extrawurm", BUST, stacks=[[36], []])
    assert turn.outcome == [fail(), give_back(36)]


def test_2018_failed_attempt_without_a_tile_turns_nothing_over(play):
    assert play("extrawurm", BUST, stacks=[[], [22]]).outcome == [fail()]


def test_2018_stealing(play):
    turn = play("extrawurm", reach(26), stacks=[[22], [31, 26]])
    assert turn.outcome == [stop(26), steal(26, 1)]
    assert turn.stacks == [[22, 26], [31]]


@pytest.mark.parametrize("tile", [11, 13])
def test_2018_stealing_11_and_13_can_never_be_stolen(play, tile):
    turn = play("extrawurm", reach(tile), stacks=[[], [24, tile]])
    assert turn.outcome == [stop(tile), fail("nothing-to-claim")]


@pytest.mark.parametrize("tile", [11, 13])
def test_2018_11_and_13_are_taken_with_exactly_their_value(play, tile):
    assert play("extrawurm", reach(tile)).outcome == [stop(tile), take(tile)]


def test_2018_special_case_the_next_lower_tile(play):
    turn = play("extrawurm", reach(29), stacks=[[], [29, 22]], grill=[21, 25, 33])
    assert turn.outcome == [stop(29), take(25)]


@pytest.mark.parametrize("total", [12, 14, 20])
def test_2018_special_case_never_11_or_13(play, total):
    turn = play("extrawurm", reach(total))
    assert {11, 13} <= set(turn.grill)
    assert turn.outcome == [stop(total), fail("nothing-to-claim")]


def test_2018_special_case_no_lower_tile(play):
    turn = play("extrawurm", reach(24), stacks=[[], [24, 26]], grill=[11, 13, 25])
    assert turn.outcome == [stop(24), fail("nothing-to-claim")]


# ---------------------------------------------------------------------------------- double 1


@pytest.mark.parametrize("preset", WITH_EXPANSION)
def test_2018_double_1_earns_a_bratworm_however_the_turn_ends(play, preset):
    stopped = play(preset, "11555www:1")
    assert stopped.told[1:3] == [set_aside("1", 2, 2), bratworm("supply")]
    assert stopped.outcome[:2] == [stop(2), fail("no-worm")]
    failed = play(preset, "11123344:1 11111")
    assert failed.told[1:3] == [set_aside("1", 3, 3), bratworm("supply")]
    assert failed.outcome[0] == fail()
    for turn in (stopped, failed):
        assert turn.bratworms == [1, 0]
        assert turn.supply == 6


@pytest.mark.parametrize("dice", ["12233445:1", "15555www:1"])
def test_2018_double_1_a_single_1_earns_nothing(play, dice):
    turn = play("extrawurm", dice)
    assert turn.told[2] == stop(1)
    assert turn.bratworms == [0, 0]


@pytest.mark.parametrize(("victim", "left"), [(1, [1, 2, 4]), (2, [1, 3, 3])])
def test_2018_double_1_from_a_player_of_choice_when_the_supply_is_used_up(play, victim, left):
    turn = play("extrawurm", "11223344:1", stacks=[[], [], []], bratworms=[0, 3, 4], rob=[victim])
    assert turn.offers["rob"] == [[1, 2]]
    assert turn.told[2] == bratworm(victim)
    assert turn.bratworms == left


def test_2018_double_1_never_from_the_player_with_the_sitting_hen(play):
    turn = play(
        "extrawurm",
        "11223344:1",
        stacks=[[], [24], []],
        specialists={"sitting-hen": at(1)},
        bratworms=[0, 6, 1],
    )
    assert "rob" not in turn.asked
    assert turn.told[2] == bratworm(2)
    assert turn.bratworms == [1, 6, 0]


def test_2018_double_1_with_nobody_to_take_from_earns_nothing(play):
    turn = play(
        "extrawurm",
        "11223344:1",
        stacks=[[], [24], []],
        specialists={"sitting-hen": at(1)},
        bratworms=[2, 5, 0],
    )
    assert "bratworm" not in turn.kinds
    assert turn.bratworms == [2, 5, 0]


# ---------------------------------------------------------------------------- getting specialists


@pytest.mark.parametrize(("name", "tile"), [(n, t) for n, t in START.items() if n != "raven"])
def test_2018_a_tile_from_the_grill_brings_its_specialist(play, name, tile):
    turn = play("extrawurm", reach(tile), seat=1, specialists=START)
    assert turn.outcome == [stop(tile), take(tile), moves(name, tile, at(1))]
    assert turn.specialists == START | {name: at(1)}


@pytest.mark.parametrize("name", ["canned-worm", "weasel", "golden-die", "apple"])
def test_2018_a_tile_of_another_player_brings_that_players_specialist(play, name):
    turn = play("extrawurm", reach(22), stacks=[[], [29, 22]], specialists={name: at(1)})
    assert turn.outcome == [stop(22), steal(22, 1), moves(name, at(1), at(0))]
    assert turn.stacks == [[22], [29]]


def test_2018_a_failed_attempt_puts_first_the_tile_back_then_the_specialist(play):
    turn = play("extrawurm", BUST, stacks=[[21, 22], []], grill=[23, 30], holds="weasel")
    # The tile just returned is the lowest unoccupied.
    assert turn.outcome == [fail(), give_back(22), flip(30), moves("weasel", at(0), 22)]


def test_2018_a_specialist_goes_back_to_the_lowest_unoccupied_tile(play):
    turn = play("extrawurm", BUST, specialists=START | {"apple": at(0)})
    assert turn.outcome == [fail(), moves("apple", at(0), 13)]


def test_2018_the_specialist_of_a_flipped_tile_is_relocated_after_that(play):
    specialists = {"weasel": at(0), "apple": 29}
    turn = play("extrawurm", BUST, stacks=[[22], []], grill=[23, 29], specialists=specialists)
    relocated = [moves("weasel", at(0), 22), moves("apple", 29, 23)]
    assert turn.outcome == [fail(), give_back(22), flip(29), *relocated]
    assert turn.specialists == {"weasel": 22, "apple": 23}


def test_2018_the_specialist_of_a_flipped_tile_passes_over_an_occupied_one(play):
    specialists = {"canned-worm": 11, "raven": 36}
    turn = play("extrawurm", BUST, stacks=[[21], []], holds="apple", specialists=specialists)
    relocated = [moves("apple", at(0), 13), moves("raven", 36, 21)]
    assert turn.outcome == [fail(), give_back(21), flip(36), *relocated]


def test_2018_second_specialist_the_player_chooses(play):
    situation = {
        "stacks": [[26], []],
        "specialists": {"weasel": at(0), "apple": 29, "sitting-hen": 21},
        "grill": [21, 22, 29],
    }
    new = play("extrawurm", reach(29), **situation, keep_new_specialist=[True])
    assert new.offers["keep_new_specialist"] == [{"old": "weasel", "new": "apple"}]
    assert new.outcome[1:] == [take(29), moves("apple", 29, at(0)), moves("weasel", at(0), 22)]
    old = play("extrawurm", reach(29), **situation, keep_new_specialist=[False])
    assert old.outcome[1:] == [take(29), moves("apple", 29, 22)]
    assert old.specialists == {"weasel": at(0), "apple": 22, "sitting-hen": 21}


def test_2018_second_specialist_by_stealing(play):
    situation = {"stacks": [[26], [30, 24]], "specialists": {"weasel": at(0), "apple": at(1)}}
    new = play("extrawurm", reach(24), **situation, keep_new_specialist=[True])
    swap = [moves("apple", at(1), at(0)), moves("weasel", at(0), 11)]
    assert new.outcome[1:] == [steal(24, 1), *swap]
    old = play("extrawurm", reach(24), **situation, keep_new_specialist=[False])
    assert old.outcome[1:] == [steal(24, 1), moves("apple", at(1), 11)]


def test_2018_all_tiles_occupied_the_specialist_is_out(play):
    specialists = {"sitting-hen": 21, "raven": 23}
    turn = play("extrawurm", BUST, grill=[21, 23], holds="weasel", specialists=specialists)
    assert turn.outcome == [fail(), moves("weasel", at(0), "out")]
    assert "weasel" not in turn.specialists


def test_2018_all_tiles_occupied_a_second_specialist_is_out(play):
    turn = play(
        "extrawurm",
        reach(29),
        grill=[21, 29],
        holds="weasel",
        specialists={"sitting-hen": 21, "apple": 29},
        keep_new_specialist=[False],
    )
    assert turn.outcome[1:] == [take(29), moves("apple", 29, "out")]


# ------------------------------------------------------------------------------- the specialists


def test_2018_apple_counts_three_worms_at_the_end(play):
    turn = play(
        "extrawurm", reach(21), stacks=[[36], [24]], grill=[21], specialists={"apple": at(1)}
    )
    assert turn.ended("scores", "apple") == ([5, 4], 1)


def test_2018_golden_die_is_a_ninth_die(play):
    turn = play("extrawurm", "www12345+w:w 44123:4", holds="golden-die")
    assert turn.told == [
        roll("www12345+w"),
        set_aside("worm", 4, 20),
        roll("44123"),
        set_aside("4", 2, 28),
        stop(28),
        take(28),
    ]


def test_2018_golden_die_may_be_left_out(play):
    turn = play("extrawurm", reach(28), holds="golden-die")
    assert turn.asked[0] == "use_golden_die"
    assert turn.told[0]["golden"] is None
    assert turn.outcome == [stop(28), take(28)]


def test_2018_golden_die_is_rolled_again_until_it_is_set_aside(play):
    turn = play("extrawurm", "wwww1122+3:w 5522+5:5", holds="golden-die")
    assert [event["golden"] for event in turn.told if event["event"] == "roll"] == ["3", "5"]
    assert turn.totals == [20, 35]


def test_2018_golden_die_keeps_its_identity_until_it_is_set_aside(play):
    assert play("extrawurm", "5551www2+1:5 1ww34+1:1 234w:w", holds="golden-die").told == [
        roll("12555www+1"),
        set_aside("5", 3, 15),
        roll("134ww+1"),
        set_aside("1", 2, 17),
        bratworm("supply"),
        roll("234w"),
        set_aside("worm", 1, 22),
        stop(22),
        take(22),
    ]


def test_2018_golden_die_showing_1_counts_for_double_1(play):
    turn = play("extrawurm", "12233445+1:1", holds="golden-die")
    assert turn.told[1:3] == [set_aside("1", 2, 2), bratworm("supply")]


@pytest.mark.parametrize(("face", "dice", "total"), [("4", "44441235", 21), ("5", "55551234", 25)])
def test_2018_canned_worm_counts_as_a_worm(play, face, dice, total):
    turn = play("extrawurm", f"{dice}:{face}", holds="canned-worm")
    assert turn.told[1:] == [set_aside(face, 4, total - 5), stop(total, canned=True), take(total)]


def test_2018_canned_worm_is_not_used_beside_dice_worms(play):
    turn = play("extrawurm", "4444123w:4 w123:w", holds="canned-worm")
    assert turn.totals == [16, 21]
    assert turn.outcome == [stop(21), take(21)]


def test_2018_canned_worm_steals_like_a_worm(play):
    turn = play("extrawurm", "44441235:4", stacks=[[], [21]], holds="canned-worm")
    assert turn.outcome == [stop(21, canned=True), steal(21, 1)]


def test_2018_weasel_rerolls_the_dice_just_rolled(play):
    turn = play("extrawurm", "www12345:w 11223:weasel 44413:4", holds="weasel")
    assert turn.kinds[:6] == ["roll", "set-aside", "roll", "reroll", "roll", "set-aside"]
    assert turn.outcome == [stop(27), take(27)]


def test_2018_weasel_once_a_turn(play):
    turn = play("extrawurm", "11122345:weasel wwww1234:w wwww", holds="weasel")
    assert turn.asked == ["reroll", "pick", "stop"]  # it is not asked for the third roll
    assert turn.outcome[0] == fail()


def test_2018_weasel_saves_a_roll_without_a_new_value(play):
    turn = play("extrawurm", "wwww1234:w wwww:weasel 1ww2:2", holds="weasel")
    assert turn.outcome == [stop(22), take(22)]


def test_2018_weasel_saves_one_roll_a_turn(play):
    turn = play("extrawurm", "wwwwww11:w ww:weasel w5:5 5", holds="weasel")
    assert turn.asked == ["reroll", "pick", "stop", "reroll", "pick", "stop"]
    assert turn.told[2:] == [
        roll("ww"),
        reroll(),
        roll("5w"),
        set_aside("5", 1, 35),
        roll("5"),
        fail(),
        moves("weasel", at(0), 11),
    ]


def test_2018_weasel_that_was_used_is_kept(play):
    turn = play("extrawurm", "11122345:weasel wwww1234:w 1233:1", holds="weasel")
    assert turn.outcome == [stop(21), take(21)]
    assert turn.specialists == {"weasel": at(0)}


# ------------------------------------------------------------------------------- the sitting hen


def test_2018_sitting_hen_is_taken_instead_of_the_tile(play):
    specialists = {"sitting-hen": at(1)}
    turn = play("extrawurm", reach(24), stacks=[[], [30, 24]], specialists=specialists)
    assert turn.outcome == [stop(24), steal_hen(1), moves("sitting-hen", at(1), at(0))]
    assert turn.stacks == [[], [30, 24]]


@pytest.mark.parametrize("steal", ["must", "may"])
@pytest.mark.parametrize("tile", [11, 13])
def test_2018_sitting_hen_over_11_or_13_is_not_taken(play, tile, steal):
    turn = play(
        "extrawurm",
        reach(tile),
        options={"steal": steal},
        stacks=[[], [24, tile]],
        specialists={"sitting-hen": at(1)},
    )
    assert turn.outcome == [stop(tile), fail("nothing-to-claim")]
    assert turn.specialists == {"sitting-hen": at(1)}


@pytest.mark.parametrize("preset", ["extrawurm", "extrawurm-box"])
@pytest.mark.parametrize("stack", [[30, 11], [30, 24], [30, 36], [11, 30]])
def test_2018_sitting_hen_is_all_that_a_failed_attempt_costs(play, preset, stack):
    turn = play(preset, BUST, stacks=[stack, []], holds="sitting-hen")
    lowest = 13 if 11 in stack else 11
    assert turn.outcome == [fail(), moves("sitting-hen", at(0), lowest)]
    assert turn.stacks == [stack, []]
    assert turn.flipped == []


def test_2018_sitting_hen_is_kept_without_tiles(play):
    turn = play("extrawurm", BUST, stacks=[[], [24]], holds="sitting-hen")
    assert turn.outcome == [fail()]
    assert turn.specialists == {"sitting-hen": at(0)}


def test_2018_sitting_hen_saves_the_bratworms_and_stays(play):
    turn = play(
        "extrawurm",
        "11223344:1",
        stacks=[[], [24]],
        specialists={"sitting-hen": at(1)},
        bratworms=[0, 7],
    )
    assert turn.bratworms == [0, 7]
    assert turn.specialists == {"sitting-hen": at(1)}


# -------------------------------------------------------------------------- raven and bratworms


def test_2018_raven_pays_a_bratworm_and_moves_on(play):
    turn = play("extrawurm", reach(23), specialists=START)
    paid = [bratworm("supply", "raven"), moves("raven", 23, 13)]
    assert turn.outcome == [stop(23), take(23), *paid]
    assert turn.bratworms == [1, 0]


def test_2018_raven_is_no_second_specialist(play):
    turn = play("extrawurm", reach(23), holds="weasel", specialists={"raven": 23})
    assert "keep_new_specialist" not in turn.asked
    assert turn.outcome[2:] == [bratworm("supply", "raven"), moves("raven", 23, 11)]
    assert turn.specialists == {"weasel": at(0), "raven": 11}


def test_2018_raven_pays_from_a_player_of_choice_when_the_supply_is_used_up(play):
    turn = play(
        "extrawurm",
        reach(23),
        stacks=[[], [], []],
        specialists={"raven": 23},
        bratworms=[0, 3, 4],
        rob=[2],
    )
    assert turn.offers["rob"] == [[1, 2]]
    assert turn.outcome[2] == bratworm(2, "raven")
    assert turn.bratworms == [1, 3, 3]


@pytest.mark.parametrize(("dice", "why"), [(reach(23), "raven"), ("11555www:1", "double-one")])
@pytest.mark.parametrize(
    ("seat", "bratworms", "payer"),
    [
        (0, [1, 2, 2, 2], 1),
        (0, [1, 0, 3, 3], 2),
        (2, [2, 2, 1, 2], 3),
        (2, [3, 3, 0, 1], 0),
        (3, [0, 3, 3, 1], 1),
        (3, [2, 2, 3, 0], 2),
    ],
)
def test_settled_by_default_the_richest_pays_and_of_equals_who_plays_soonest(
    play, dice, why, seat, bratworms, payer
):
    turn = play(
        "extrawurm",
        dice,
        seat=seat,
        stacks=[[]] * 4,
        specialists={"raven": 23},
        bratworms=bratworms,
        robs_by_default=True,
    )
    assert "rob" not in turn.asked
    assert bratworm(payer, why) in turn.told
    assert turn.bratworms[payer] == bratworms[payer] - 1
    assert turn.bratworms[seat] == bratworms[seat] + 1


def test_2018_raven_leaves_the_game_when_all_tiles_are_occupied(play):
    specialists = {"sitting-hen": 21, "raven": 23}
    turn = play("extrawurm", reach(23), grill=[21, 23], specialists=specialists)
    assert turn.outcome[2:] == [bratworm("supply", "raven"), moves("raven", 23, "out")]


@pytest.mark.parametrize(
    ("bratworms", "hen"), [([2, 5], {"sitting-hen": at(1)}), ([0, 0], {})], ids=["hen", "none left"]
)
def test_2018_raven_with_nothing_to_pay_still_moves_on(play, bratworms, hen):
    turn = play(
        "extrawurm",
        reach(23),
        options={"bratworms": sum(bratworms)},
        stacks=[[], [24]],
        specialists={"raven": 23} | hen,
        bratworms=bratworms,
    )
    assert turn.outcome == [stop(23), take(23), moves("raven", 23, 11)]


# --------------------------------------------------------------------------------------- the end


def test_2018_end_tiles_bratworms_and_apple_count(play):
    turn = play(
        "extrawurm",
        reach(11),
        stacks=[[33], [13, 29], [25]],
        grill=[11],
        specialists={"apple": at(2)},
        bratworms=[1, 2, 3],
    )
    assert turn.ended("scores", "winners") == ([4 + 1 + 1, 1 + 3 + 2, 2 + 3 + 3], [2])


def test_2018_end_a_tie_goes_to_the_higher_single_tile(play):
    turn = play("extrawurm", reach(21), stacks=[[22, 23], [25]], grill=[21], bratworms=[0, 1])
    assert turn.ended("scores", "winners") == ([3, 3], [1])


def test_2018_the_original_game_leaves_the_expansion_in_the_box(play):
    turn = play("classic", "11223344:1")
    assert (min(turn.grill), turn.supply, turn.rules["specialists"]) == (21, 0, {})
    assert turn.outcome == [stop(2), fail("no-worm")]
    assert "bratworm" not in turn.kinds


# =================================================================== the manual, source 000


def test_manual_a_failed_turn_always_turns_the_highest_tile_over(play):
    assert play("manual", BUST).outcome == [fail(), flip(36)]


def test_manual_exception_the_returned_tile_was_the_highest(play):
    turn = play("manual", BUST, stacks=[[35], [36]])
    assert turn.outcome == [fail(), give_back(35)]


@pytest.mark.parametrize("preset", MANUALS)
def test_manual_faq_can_i_stop_without_claiming_a_tile(play, preset):
    only = play(preset, reach(24), grill=[24])
    assert only.outcome == [stop(24), take(24)]
    refused = r"claim\(\) returned 0; legal: 23, 24 |one of .*tile=23.*tile=24.* came 0"
    with pytest.raises(Illegal, match=refused):
        play(preset, reach(24), grill=[23, 24], claim=[0])


@pytest.mark.parametrize("preset", MANUALS)
def test_manual_faq_can_i_steal_my_own_tile(play, preset):
    turn = play(preset, reach(24), stacks=[[24], []], grill=[22, 23], claim=[23])
    assert turn.offers["claim"] == [[22, 23]]
    assert turn.outcome == [stop(24), take(23)]


@pytest.mark.parametrize("preset", MANUALS)
def test_manual_faq_what_if_the_tile_i_want_is_covered(play, preset):
    turn = play(preset, reach(24), stacks=[[], [24, 30]], grill=[22, 23], claim=[22])
    assert turn.offers["claim"] == [[22, 23]]


@pytest.mark.parametrize("preset", MANUALS)
@pytest.mark.parametrize("chosen", [21, 22, 23, 24])
def test_manual_faq_can_i_take_a_lower_tile_if_my_total_matches_a_higher_one(play, preset, chosen):
    turn = play(preset, reach(24), claim=[chosen])
    assert turn.offers["claim"] == [[21, 22, 23, 24]]
    assert turn.outcome == [stop(24), take(chosen)]


def test_manual_a_steal_or_any_lower_tile(play):
    stolen = play("manual", reach(24), stacks=[[], [30, 24]], claim=[24])
    assert stolen.offers["claim"] == [[21, 22, 23, 24]]
    assert stolen.outcome == [stop(24), steal(24, 1)]
    lower = play("manual", reach(24), stacks=[[], [30, 24]], claim=[21])
    assert lower.outcome == [stop(24), take(21)]


@pytest.mark.parametrize("preset", MANUALS)
def test_manual_faq_what_if_the_highest_tile_is_stolen(play, preset):
    turn = play(preset, BUST, stacks=[[22], [36]])
    assert turn.outcome == [fail(), give_back(22), flip(35)]


def test_manual_faq_can_i_use_weasel_after_failing(play):
    turn = play("manual-extrawurm", "wwww1234:w wwww", holds="weasel")
    assert turn.asked == ["reroll", "pick", "stop"]
    assert turn.outcome == [fail(), flip(36), moves("weasel", at(0), 11)]


def test_manual_weasel_before_failing(play):
    turn = play("manual-extrawurm", "11122345:weasel wwww1234:w 1233:1", grill=[21], holds="weasel")
    assert turn.kinds[:4] == ["roll", "reroll", "roll", "set-aside"]
    assert turn.outcome == [stop(21), take(21)]


@pytest.mark.parametrize("stack", [[], [22]])
def test_manual_faq_what_happens_to_a_specialist_if_you_lose_your_last_tile(play, stack):
    turn = play("manual-extrawurm", BUST, stacks=[stack, []], holds="weasel")
    assert turn.outcome[-1] == moves("weasel", at(0), 11)
    assert turn.stacks == [[], []]


def test_manual_faq_yields_to_the_hen_rule(play):
    turn = play("manual-extrawurm", BUST, holds="sitting-hen")
    assert turn.outcome == [fail(), flip(36)]
    assert turn.specialists == {"sitting-hen": at(0)}


@pytest.mark.parametrize("tile", [11, 13])
def test_manual_11_and_13_are_taken_exactly_and_never_stolen(play, tile):
    taken = play("manual-extrawurm", reach(tile))
    assert taken.outcome == [stop(tile), take(tile)]
    above = play("manual-extrawurm", reach(tile + 1))
    assert above.outcome[1] == fail("nothing-to-claim")
    stolen = play("manual-extrawurm", reach(tile), stacks=[[], [tile]])
    assert stolen.outcome[1] == fail("nothing-to-claim")


@pytest.mark.parametrize("tile", [11, 13])
def test_manual_11_and_13_are_not_returned(play, tile):
    turn = play("manual-extrawurm", BUST, stacks=[[30, tile], []])
    assert turn.outcome == [fail(), flip(36)]
    assert turn.stacks == [[30, tile], []]


def test_manual_a_second_specialist_replaces_the_first(play):
    specialists = {"golden-die": at(0), "weasel": 25}
    turn = play("manual-extrawurm", reach(25), grill=[25, 26], specialists=specialists)
    assert "keep_new_specialist" not in turn.asked
    swap = [moves("weasel", 25, at(0)), moves("golden-die", at(0), 26)]
    assert turn.outcome[1:] == [take(25), *swap]


def test_manual_raven_pays_and_is_not_taken(play):
    turn = play(
        "manual-extrawurm", reach(23), grill=[22, 23], specialists={"raven": 23}, claim=[23]
    )
    assert turn.outcome[1:] == [take(23), bratworm("supply", "raven"), moves("raven", 23, 22)]


def test_manual_others_steal_the_hen_not_the_tile(play):
    specialists = {"sitting-hen": at(1)}
    turn = play("manual-extrawurm", reach(21), stacks=[[], [30, 21]], specialists=specialists)
    assert turn.outcome[1:] == [steal_hen(1), moves("sitting-hen", at(1), at(0))]


def test_manual_knows_no_apple(play):
    assert "apple" not in play("manual-extrawurm", BUST).rules["specialists"]


def test_manual_final_score(play):
    turn = play("manual-extrawurm", reach(21), stacks=[[], [36]], grill=[21], bratworms=[3, 0])
    assert turn.ended("scores", "winners") == ([4, 4], [1])


# ======================================================== what the rules page settles: the turn


def test_settled_the_events_of_a_plain_turn(play):
    assert play("classic", "w4321www:w 4w55:5").told == [
        roll("1234wwww"),
        set_aside("worm", 4, 20),
        roll("455w"),
        set_aside("5", 2, 30),
        stop(30),
        take(30),
    ]


def test_settled_a_face_cannot_be_set_aside_twice(play):
    with pytest.raises(Illegal, match=r"pick.* returned 6; legal: 1, |one of .* came worm"):
        play("extrawurm", "ww123455:w ww1234:w")


@pytest.mark.parametrize("wrong", ["5", "6", None])
def test_settled_a_face_must_have_been_rolled(play, wrong):
    with pytest.raises(Illegal, match=r"pick.* returned .*; legal: 1, 2, 3, 6|one of .* came"):
        play("extrawurm", "wwwww123", pick=[wrong])


def test_settled_a_stop_is_allowed_although_it_fails(play):
    turn = play("classic", "w1122334:w")
    assert turn.outcome == [stop(5), fail("nothing-to-claim")]


def test_settled_no_worm_comes_before_nothing_to_claim(play):
    assert play("classic", "11223344:1").outcome == [stop(2), fail("no-worm")]


def test_settled_a_total_above_36_takes_the_highest(play):
    assert play("classic", "wwwwwwww:w").outcome == [stop(40, forced=True), take(36)]


def test_settled_all_six_faces_force_a_stop_that_fails(play):
    turn = play("extrawurm", "12345www:1 2345www:2 345www:3 45www:4 5www:5 w55:w")
    assert turn.outcome == [stop(20, forced=True), fail("nothing-to-claim")]


@pytest.mark.parametrize(
    ("dice", "total"), [("wwww1123+1:w 1144+w:1 44+w:4", 30), ("wwww5555+1:w 1111+w:1", 24)]
)
def test_settled_a_special_golden_die_left_alone_is_still_a_die(play, dice, total):
    """Eight white dice and both its faces are set aside."""
    stopped = play("extrawurm-box", dice, holds="golden-die")
    assert stopped.asked[-2:] == ["pick", "stop"]
    assert stopped.outcome == [stop(total), take(total)]
    for face in "1w":
        rolled = play("extrawurm-box", f"{dice} +{face}", holds="golden-die")
        assert rolled.told[-3] == roll(f"+{face}")
        assert rolled.outcome == [fail(), moves("golden-die", at(0), 11)]


def test_settled_the_canned_worm_is_no_sixth_face(play):
    numbers = "1234455w:5 12344w:4 123w:3 12w:2 1w:1"
    stopped = play("extrawurm", numbers, holds="canned-worm")
    assert stopped.asked[-2:] == ["pick", "stop"]
    assert stopped.outcome == [stop(29, canned=True), take(29)]
    worm = play("extrawurm", f"{numbers} w:w", holds="canned-worm")
    assert worm.outcome == [stop(29, forced=True), take(29)]


def test_settled_the_canned_worm_counts_on_a_stop_that_fails(play):
    numbers = "12345www:1 2345www:2 345www:3 45www:4 5www:5"
    turn = play("extrawurm", numbers, holds="canned-worm")
    failed = [fail("nothing-to-claim"), moves("canned-worm", at(0), 11)]
    assert turn.outcome == [stop(20, canned=True), *failed]


@pytest.mark.parametrize(("first", "total"), [("44441235:4", 31), ("55551234:5", 35)])
def test_settled_worms_set_aside_later_silence_the_can(play, first, total):
    turn = play("extrawurm", f"{first} www1:w", holds="canned-worm")
    assert turn.told[2:] == [roll("1www"), set_aside("worm", 3, total), stop(total), take(total)]


def test_settled_the_weasels_new_roll_counts_though_it_shows_nothing_new(play):
    turn = play("extrawurm", "wwww1234:w 1234:weasel wwww", stacks=[[24], []], holds="weasel")
    assert turn.told[3:] == [
        reroll(),
        roll("wwww"),
        fail(),
        give_back(24),
        flip(36),
        moves("weasel", at(0), 11),
    ]


# ====================================================== what the rules page settles: the claim


def check_claims(play, total, expected, **situation):
    """Make each of the expected claims; no others are offered."""
    dice = "wwwwwwww:w" if total == 40 else reach(total)
    tiles = [claim.get("tile", total) for claim in expected]
    for claim, tile in zip(expected, tiles, strict=True):
        choice = {"claim": [tile]} if len(tiles) > 1 else {}
        turn = play("extrawurm", dice, **situation, **choice)
        assert turn.outcome[1] == claim
        assert turn.offers["claim"] == ([sorted(tiles)] if choice else [])
    if not expected:
        turn = play("extrawurm", dice, **situation)
        assert turn.outcome[1] == fail("nothing-to-claim")


@pytest.mark.parametrize(
    ("claim", "steal", "total", "expected"),
    [
        ("next-lower", "must", 25, [steal(25, 1)]),
        ("next-lower", "may", 25, [steal(25, 1), take(23)]),
        ("any-lower", "must", 25, [steal(25, 1)]),
        ("any-lower", "may", 25, [steal(25, 1), take(22), take(23)]),
        ("next-lower", "must", 23, [take(23)]),
        ("any-lower", "may", 23, [take(22), take(23)]),
        ("next-lower", "must", 30, [take(26)]),  # the own top tile
        ("next-lower", "must", 24, [take(23)]),  # covered
        ("next-lower", "must", 27, [take(26)]),  # flipped
        ("next-lower", "must", 40, [take(26)]),
        ("any-lower", "must", 40, [take(22), take(23), take(26)]),
        ("next-lower", "must", 21, []),
        ("any-lower", "may", 21, []),
        ("next-lower", "must", 11, [take(11)]),
        ("any-lower", "may", 11, [take(11)]),
        ("next-lower", "may", 12, []),
        ("any-lower", "may", 12, []),
        ("next-lower", "may", 13, []),  # on a rival's stack
        ("any-lower", "may", 13, []),
        ("next-lower", "never", 25, [take(23)]),
        ("any-lower", "never", 25, [take(22), take(23)]),
        ("exact", "must", 25, [steal(25, 1)]),
        ("exact", "may", 25, [steal(25, 1)]),
        ("exact", "never", 25, []),
        ("exact", "may", 23, [take(23)]),
        ("exact", "may", 24, []),  # covered
        ("exact", "may", 30, []),  # the own top tile
        ("exact", "may", 40, []),
        ("exact", "may", 11, [take(11)]),
        ("exact", "may", 13, []),  # on a rival's stack
    ],
)
def test_settled_what_a_total_may_claim(play, claim, steal, total, expected):
    table = {"stacks": [[30], [24, 25], [13]], "grill": [11, 22, 23, 26]}
    check_claims(play, total, expected, **table, options={"claim": claim, "steal": steal})


@pytest.mark.parametrize(
    ("total", "grill", "tile"), [(23, [22, 23, 24], 23), (25, [22, 23, 24], 24), (25, [22, 23], 22)]
)
def test_settled_exact_only_can_be_any_tile(play, total, grill, tile):
    table = {"stacks": [[], [25]], "grill": grill, "options": {"exact_only": [23, 25]}}
    check_claims(play, total, [take(tile)], **table)


def test_settled_must_steal_though_the_grill_is_worth_more(play):
    tiles = {str(tile): 9 if tile == 25 else 1 for tile in range(21, 37)}
    options = {"steal": "must", "tiles": tiles}
    turn = play("classic", reach(26), options=options, stacks=[[], [26]])
    assert "claim" not in turn.asked
    assert turn.outcome == [stop(26), steal(26, 1)]


def test_settled_must_steal_the_hen_too(play):
    turn = play("extrawurm", reach(26), stacks=[[], [26]], specialists={"sitting-hen": at(1)})
    assert "claim" not in turn.asked
    assert turn.outcome[1] == steal_hen(1)


def test_settled_may_leave_the_hen_alone(play):
    table = {"stacks": [[], [26]], "specialists": {"sitting-hen": at(1)}}
    check_claims(play, 26, [steal_hen(1), take(25)], **table, options={"steal": "may"})


def test_settled_must_with_any_lower_still_leaves_no_choice(play):
    turn = play("manual", reach(26), options={"steal": "must"}, stacks=[[], [26]])
    assert turn.outcome == [stop(26), steal(26, 1)]


def test_settled_the_thief_of_a_hen_may_keep_its_own_specialist(play):
    situation = {"stacks": [[], [26]], "specialists": {"sitting-hen": at(1), "apple": at(0)}}
    old = play("extrawurm", reach(26), **situation, keep_new_specialist=[False])
    assert old.outcome[1:] == [steal_hen(1), moves("sitting-hen", at(1), 11)]
    assert old.specialists == {"sitting-hen": 11, "apple": at(0)}
    new = play("extrawurm", reach(26), **situation, keep_new_specialist=[True])
    swap = [moves("sitting-hen", at(1), at(0)), moves("apple", at(0), 11)]
    assert new.outcome[1:] == [steal_hen(1), *swap]


@pytest.mark.parametrize(("grill", "back"), [([13, 25], 13), ([25], "out")])
@pytest.mark.parametrize(
    ("second_specialist", "decision"),
    [("choose", [True]), ("choose", [False]), ("keep-new", []), ("keep-old", [])],
)
def test_settled_a_second_specialist(play, grill, back, second_specialist, decision):
    turn = play(
        "extrawurm",
        reach(25),
        options={"second_specialist": second_specialist},
        grill=grill,
        holds="apple",
        specialists={"weasel": 25},
        keep_new_specialist=decision,
    )
    kept = [moves("weasel", 25, at(0)), moves("apple", at(0), back)]
    declined = [moves("weasel", 25, back)]
    keeps_old = decision == [False] or second_specialist == "keep-old"
    assert turn.outcome[2:] == (declined if keeps_old else kept)


def test_settled_a_flipped_tile_is_in_neither_place(play):
    turn = play("classic", reach(29), grill=[21, 30])
    assert turn.flipped[:3] == [22, 23, 24]
    assert turn.outcome == [stop(29), take(21)]


def test_settled_the_tile_just_taken_receives_nobody(play):
    turn = play(
        "extrawurm",
        reach(21),
        grill=[21, 22],
        holds="weasel",
        specialists={"sitting-hen": 21},
        keep_new_specialist=[False],
    )
    assert turn.outcome[1:] == [take(21), moves("sitting-hen", 21, 22)]


def test_settled_nobody_is_robbed_but_a_rival_without_the_hen(play):
    situation = {
        "options": {"bratworms": 11},
        "stacks": [[], [], [], []],
        "specialists": {"sitting-hen": at(3)},
        "bratworms": [4, 2, 2, 3],
    }
    for rival in (1, 2):
        turn = play("extrawurm", "11555www:1", **situation, rob=[rival])
        assert turn.offers["rob"] == [[1, 2]]
        assert turn.told[2] == bratworm(rival)
    for wrong in (0, 3):
        with pytest.raises(Illegal, match=r"returned \d; legal: 1, 2 |one of \[1, 2\]"):
            play("extrawurm", "11555www:1", **situation, rob=[wrong])


# ======================================================= what the rules page settles: the fail


def test_settled_a_hen_over_11_stands_in_for_the_tile_and_nothing_flips(play):
    options = {"exact_only_returns": False, "flip_without_return": True}
    turn = play("extrawurm", BUST, options=options, stacks=[[11], []], holds="sitting-hen")
    assert turn.outcome == [fail(), moves("sitting-hen", at(0), 13)]


def test_settled_in_the_manual_a_lost_hen_does_not_save_the_flip(play):
    specialists = {"sitting-hen": at(0), "weasel": 36}
    turn = play("manual-extrawurm", BUST, stacks=[[30], []], specialists=specialists)
    relocated = [moves("sitting-hen", at(0), 11), moves("weasel", 36, 13)]
    assert turn.outcome == [fail(), flip(36), *relocated]
    assert turn.stacks == [[30], []]


def test_settled_a_fail_that_costs_nothing_flips_the_highest_tile(play):
    turn = play("manual-extrawurm", BUST, holds="sitting-hen", specialists={"weasel": 36})
    assert turn.outcome == [fail(), flip(36), moves("weasel", 36, 11)]
    assert turn.specialists == {"sitting-hen": at(0), "weasel": 11}


@pytest.mark.parametrize("flip_without_return", [False, True])
@pytest.mark.parametrize("flip_returned", [False, True])
def test_settled_what_a_fail_flips(play, flip_without_return, flip_returned):
    options = {"flip_without_return": flip_without_return, "flip_returned": flip_returned}
    fails = partial(play, "classic", BUST, options=options, grill=[21, 30])
    assert fails(stacks=[[22], []]).outcome == [fail(), give_back(22), flip(30)]
    highest = [give_back(36), flip(36)] if flip_returned else [give_back(36)]
    assert fails(stacks=[[36], []]).outcome == [fail(), *highest]
    nothing = [flip(30)] if flip_without_return else []
    assert fails(stacks=[[], []]).outcome == [fail(), *nothing]


def test_settled_11_and_13_are_flipped_like_any_tile(play):
    returned = play("extrawurm", BUST, stacks=[[11], []], grill=[13])
    assert returned.outcome == [fail(), give_back(11), flip(13)]
    nothing = play("manual-extrawurm", BUST, grill=[11, 13])
    assert nothing.outcome == [fail(), flip(13)]


@pytest.mark.parametrize("tile", [11, 13])
def test_settled_11_and_13_go_back_in_the_2018_rules(play, tile):
    turn = play("extrawurm", BUST, stacks=[[30, tile], []])
    assert turn.outcome == [fail(), give_back(tile), flip(36)]


@pytest.mark.parametrize(
    ("preset", "returned", "left"),
    [("extrawurm", [give_back(13)], [22]), ("manual-extrawurm", [], [22, 13])],
)
def test_settled_the_specialist_over_13_is_lost_though_the_tile_may_stay(
    play, preset, returned, left
):
    turn = play(preset, BUST, stacks=[[22, 13], []], holds="weasel")
    assert turn.outcome == [fail(), *returned, flip(36), moves("weasel", at(0), 11)]
    assert turn.stacks[0] == left


def test_settled_a_specialist_of_the_flipped_tile_without_a_place_is_out(play):
    specialists = {"weasel": at(0), "apple": 29}
    turn = play("extrawurm", BUST, stacks=[[22], []], grill=[29], specialists=specialists)
    relocated = [moves("weasel", at(0), 22), moves("apple", 29, "out")]
    assert turn.outcome[1:] == [give_back(22), flip(29), *relocated]


def test_settled_the_french_rules_remove_the_lost_tile_and_flip_the_highest(play):
    assert play("french", BUST).outcome == [fail(), flip(36)]
    lost = play("french", BUST, stacks=[[21, 36], []])
    assert lost.outcome == [fail(), flip(36), flip(35)]
    assert lost.stacks == [[21], []]


# ======================================================== what the rules page settles: the end


def test_settled_the_game_ends_in_the_middle_of_a_round(play):
    turn = play("classic", reach(21), stacks=[[], [36], []], grill=[21])
    assert turn.end["turns"] == 4  # the first of the second round
    assert turn.end["finished"] is True


def test_settled_a_fail_that_empties_the_grill_is_settled_completely(play):
    specialists = {"weasel": at(0), "raven": 21}
    turn = play("manual-extrawurm", BUST, stacks=[[], [36]], grill=[21], specialists=specialists)
    out = [moves("weasel", at(0), "out"), moves("raven", 21, "out")]
    assert turn.outcome == [fail(), flip(21), *out]
    assert turn.grill == []
    assert turn.end["finished"] is True


def test_settled_the_specialist_on_the_last_tile_is_gained(play):
    turn = play("extrawurm", reach(29), stacks=[[], [25]], grill=[29], specialists={"apple": 29})
    assert turn.outcome[1:] == [take(29), moves("apple", 29, at(0))]
    assert turn.end["scores"] == [3 + 3, 2]


def test_settled_the_choice_of_two_is_made_on_the_last_tile(play):
    situation = {"stacks": [[], [25]], "grill": [29], "specialists": {"apple": 29, "weasel": at(0)}}
    new = play("extrawurm", reach(29), **situation, keep_new_specialist=[True])
    assert new.outcome[2:] == [moves("apple", 29, at(0)), moves("weasel", at(0), "out")]
    assert new.end["scores"] == [6, 2]
    old = play("extrawurm", reach(29), **situation, keep_new_specialist=[False])
    assert old.outcome[2:] == [moves("apple", 29, "out")]
    assert old.end["scores"] == [3, 2]
    assert old.end["apple"] is None


@pytest.mark.parametrize(("supply", "bratworms", "payer"), [(7, [0, 0], "supply"), (1, [0, 1], 1)])
def test_settled_the_raven_on_the_last_tile_pays(play, supply, bratworms, payer):
    turn = play(
        "extrawurm",
        reach(23),
        options={"bratworms": supply},
        stacks=[[], [25]],
        grill=[23],
        specialists={"raven": 23},
        bratworms=bratworms,
    )
    assert turn.outcome[1:] == [take(23), bratworm(payer, "raven"), moves("raven", 23, "out")]
    assert turn.ended("scores", "winners") == ([2, 2], [1])


def test_settled_players_still_tied_share_the_rank(play):
    turn = play(
        "extrawurm", reach(21), seat=2, stacks=[[], [], []], grill=[21], bratworms=[3, 3, 0]
    )
    assert turn.ended("scores", "ranks", "winners") == ([3, 3, 1], [1, 1, 3], [0, 1])


def test_settled_ties_are_shared_where_the_rules_say_so(play):
    turn = play("french", reach(21), stacks=[[22, 23, 24], [36], [25]], grill=[21])
    assert turn.ended("scores", "ranks", "winners") == ([4, 4, 2], [1, 1, 3], [0, 1])


def test_settled_a_turn_limit_ends_the_game_as_it_stands(play):
    turn = play(
        "french",
        reach(21),
        options={"turn_limit": 5},
        stacks=[[25], [30], [22, 23, 24], []],
        grill=[21, 36],
    )
    assert turn.end["finished"] is False
    assert turn.ended("turns", "ranks", "winners") == (5, [1, 1, 1, 4], [0, 1, 2])


def test_settled_no_tile_comes_after_any_tile(play):
    turn = play("extrawurm", reach(21), seat=1, grill=[21], bratworms=[1, 0])
    assert turn.ended("scores", "ranks") == ([1, 1], [2, 1])


def test_settled_players_without_tiles_share_a_rank(play):
    stacks = [[], [], []]
    turn = play("extrawurm", reach(11), seat=1, stacks=stacks, grill=[11], bratworms=[1, 0, 1])
    assert turn.ended("scores", "ranks", "winners") == ([1, 1, 1], [2, 1, 2], [1])


def test_settled_11_and_13_break_ties_by_their_value(play):
    turn = play("extrawurm", reach(11), stacks=[[], [13]], grill=[11])
    assert turn.ended("scores", "ranks") == ([1, 1], [2, 1])


def test_settled_the_tiebreak_orders_every_place(play):
    turn = play("classic", reach(21), stacks=[[], [36, 35], [33], [34]], grill=[21])
    assert turn.ended("scores", "ranks") == ([1, 8, 4, 4], [4, 1, 3, 2])


def test_settled_the_end_event_is_complete(play):
    turn = play("classic", reach(21), stacks=[[25], [30], [22, 23, 24], []], grill=[21])
    assert turn.end == {
        "event": "end",
        "turns": 5,
        "finished": True,
        "tiles": [[25, 21], [30], [22, 23, 24], []],
        "bratworms": [0, 0, 0, 0],
        "scores": [3, 3, 3, 0],
        "apple": None,
        "ranks": [2, 1, 3, 4],
        "winners": [1],
    }


@pytest.mark.parametrize(
    ("place", "holder", "scores", "winners"), [(at(0), 0, [6, 4], [0]), (29, None, [1, 4], [1])]
)
def test_settled_the_apple_counts_only_when_it_is_held(play, place, holder, scores, winners):
    turn = play(
        "extrawurm",
        reach(21),
        options={"apple_worms": 5, "turn_limit": 3},
        stacks=[[], [36]],
        grill=[21, 29],
        specialists={"apple": place},
    )
    assert turn.ended("apple", "scores", "winners") == (holder, scores, winners)


# ============================================================== options that no preset needs


def test_lost_tile_removed_flips_it_and_the_highest_as_well(play):
    options = {"lost_tile": "removed"}
    turn = play("classic", BUST, options=options, stacks=[[30, 22], [24]], grill=[21, 33, 34])
    assert turn.outcome == [fail(), flip(22), flip(34)]
    assert turn.grill == [21, 33]
    assert turn.stacks == [[30], [24]]
    assert {22, 34} <= set(turn.flipped)


@pytest.mark.parametrize("flip_returned", [False, True])
def test_lost_tile_removed_flips_a_lower_tile_of_the_grill_too(play, flip_returned):
    options = {"lost_tile": "removed", "flip_returned": flip_returned}
    turn = play("classic", BUST, options=options, stacks=[[36], []], grill=[21, 30])
    assert turn.outcome == [fail(), flip(36), flip(30)]
    assert turn.grill == [21]


@pytest.mark.parametrize(("flip_without_return", "flipped"), [(False, []), (True, [flip(36)])])
def test_lost_tile_removed_without_a_tile_to_lose(play, flip_without_return, flipped):
    options = {"lost_tile": "removed", "flip_without_return": flip_without_return}
    assert play("classic", BUST, options=options).outcome == [fail(), *flipped]


def test_lost_tile_removed_can_end_the_game(play):
    options = {"lost_tile": "removed"}
    turn = play("classic", BUST, options=options, stacks=[[25, 22], [24]], grill=[21])
    assert turn.outcome == [fail(), flip(22), flip(21)]
    assert turn.ended("finished", "tiles", "winners") == (True, [[25], [24]], [0])


def test_lost_tile_removed_specialists_go_back_to_what_is_left(play):
    turn = play(
        "extrawurm",
        BUST,
        options={"lost_tile": "removed"},
        stacks=[[11], []],
        grill=[21, 22, 36],
        specialists={"weasel": at(0), "apple": 36, "raven": 21},
    )
    relocated = [moves("weasel", at(0), 22), moves("apple", 36, "out")]
    assert turn.outcome == [fail(), flip(11), flip(36), *relocated]


@pytest.mark.parametrize("tile", [11, 13])
def test_lost_tile_removed_leaves_11_and_13_where_they_stay(play, tile):
    options = {"lost_tile": "removed"}
    turn = play("manual-extrawurm", BUST, options=options, stacks=[[22, tile], []])
    assert turn.outcome == [fail(), flip(36)]
    assert turn.stacks[0] == [22, tile]
    lost = play("extrawurm", BUST, options=options, stacks=[[22, tile], []])
    assert lost.outcome == [fail(), flip(tile), flip(36)]


def test_lost_tile_removed_the_hen_stands_in_for_the_tile(play):
    options = {"lost_tile": "removed"}
    turn = play("extrawurm", BUST, options=options, stacks=[[22], []], holds="sitting-hen")
    assert turn.outcome == [fail(), moves("sitting-hen", at(0), 11)]
    assert turn.stacks[0] == [22]


@pytest.mark.parametrize(("flip_without_return", "flipped"), [(False, []), (True, [flip(36)])])
@pytest.mark.parametrize("flip_returned", [False, True])
def test_lost_tile_kept_costs_no_tile(play, flip_without_return, flipped, flip_returned):
    options = {
        "lost_tile": "kept",
        "flip_without_return": flip_without_return,
        "flip_returned": flip_returned,
    }
    turn = play("classic", BUST, options=options, stacks=[[30, 22], []])
    assert turn.outcome == [fail(), *flipped]
    assert turn.stacks[0] == [30, 22]


def test_lost_tile_kept_the_specialist_is_lost_all_the_same(play):
    table = {"options": {"lost_tile": "kept"}, "stacks": [[30, 22], []]}
    for name in ("weasel", "sitting-hen"):
        turn = play("extrawurm", BUST, **table, holds=name)
        assert turn.outcome == [fail(), moves(name, at(0), 11)]


def test_steal_never_a_rivals_tile_is_in_neither_place(play):
    options = {"steal": "never"}
    lower = play("classic", reach(26), options=options, stacks=[[], [26]])
    assert lower.outcome == [stop(26), take(25)]
    assert "claim" not in lower.asked
    nothing = play("classic", reach(26), options=options, stacks=[[], [26]], grill=[27, 30])
    assert nothing.outcome == [stop(26), fail("nothing-to-claim")]


def test_steal_never_the_hen_neither(play):
    turn = play(
        "extrawurm",
        reach(26),
        options={"steal": "never"},
        stacks=[[], [26]],
        specialists={"sitting-hen": at(1)},
    )
    assert turn.outcome == [stop(26), take(25)]
    assert turn.specialists == {"sitting-hen": at(1)}


def test_claim_exact_takes_no_lower_tile(play):
    options = {"claim": "exact"}
    assert play("classic", reach(26), options=options).outcome == [stop(26), take(26)]
    turn = play("classic", reach(26), options=options, stacks=[[22], []], grill=[21, 25, 36])
    failed = [fail("nothing-to-claim"), give_back(22), flip(36)]
    assert turn.outcome == [stop(26), *failed]


@pytest.mark.parametrize("rule", ["may", "must"])
def test_claim_exact_steals(play, rule):
    options = {"claim": "exact", "steal": rule}
    turn = play("classic", reach(26), options=options, stacks=[[], [26]])
    assert turn.outcome == [stop(26), steal(26, 1)]
    assert "claim" not in turn.asked


@pytest.mark.parametrize(("flip_without_return", "flipped"), [(False, []), (True, [flip(36)])])
@pytest.mark.parametrize("stack", [[30, 24], [30, 11]])
@pytest.mark.parametrize("lost_tile", ["returned", "removed", "kept"])
def test_hen_saves_flip_false_leaves_it_to_flip_without_return(
    play, flip_without_return, flipped, stack, lost_tile
):
    options = {
        "hen_saves_flip": False,
        "flip_without_return": flip_without_return,
        "lost_tile": lost_tile,
    }
    turn = play("extrawurm", BUST, options=options, stacks=[stack, []], holds="sitting-hen")
    lowest = 13 if 11 in stack else 11
    assert turn.outcome == [fail(), *flipped, moves("sitting-hen", at(0), lowest)]
    assert turn.stacks[0] == stack


def test_hen_saves_flip_false_the_hen_goes_back_before_the_flipped_tiles_specialist(play):
    turn = play(
        "extrawurm",
        BUST,
        options={"hen_saves_flip": False, "flip_without_return": True},
        stacks=[[24], []],
        grill=[21, 22, 36],
        specialists={"sitting-hen": at(0), "apple": 36},
    )
    relocated = [moves("sitting-hen", at(0), 21), moves("apple", 36, 22)]
    assert turn.outcome == [fail(), flip(36), *relocated]


@pytest.mark.parametrize("hen_saves_flip", [False, True])
def test_hen_saves_flip_has_no_say_without_tiles(play, hen_saves_flip):
    options = {"hen_saves_flip": hen_saves_flip, "flip_without_return": True}
    turn = play("extrawurm", BUST, options=options, stacks=[[], [24]], holds="sitting-hen")
    assert turn.outcome == [fail(), flip(36)]
    assert turn.specialists == {"sitting-hen": at(0)}


def test_second_specialist_keep_old_by_stealing_too(play):
    table = {"options": {"second_specialist": "keep-old"}, "stacks": [[], [26]]}
    stolen = play("extrawurm", reach(26), **table, specialists={"weasel": at(1), "apple": at(0)})
    assert stolen.outcome[1:] == [steal(26, 1), moves("weasel", at(1), 11)]
    assert "keep_new_specialist" not in stolen.asked
    first = play("extrawurm", reach(26), **table, specialists={"weasel": at(1)})
    assert first.outcome[1:] == [steal(26, 1), moves("weasel", at(1), at(0))]


@pytest.mark.parametrize(
    ("ones", "dice", "earns"),
    [
        (1, "12345www:1", True),
        (2, "12345www:1", False),
        (3, "11345www:1", False),
        (3, "11145www:1", True),
        (3, "11115www:1", True),
    ],
)
def test_bratworm_ones_to_set_aside(play, ones, dice, earns):
    count = dice.partition(":")[0].count("1")
    turn = play("extrawurm", f"{dice} {'w' * (8 - count)}:w", options={"bratworm_ones": ones})
    earned = [bratworm()] if earns else []
    assert turn.told[1 : 2 + len(earned)] == [set_aside("1", count, count), *earned]
    assert turn.bratworms == [int(earns), 0]


def test_bratworm_ones_count_the_golden_die(play):
    options = {"bratworm_ones": 3}
    turn = play("extrawurm", "11555www+1:1", options=options, holds="golden-die")
    assert turn.bratworms == [1, 0]


def test_tiles_of_100_worms_are_counted_in_full(play):
    tiles = {str(tile): 100 for tile in range(5, 37)}
    stacks = [list(range(36, 6, -1)), [6]]
    options = {"tiles": tiles, "exact_only": []}
    turn = play("classic", reach(21), options=options, stacks=stacks, grill=[5])
    assert turn.ended("scores", "ranks") == ([3100, 100], [1, 2])
