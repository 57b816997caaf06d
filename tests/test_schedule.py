"""The schedule: who meets whom, in which pieces, and how amounts and entrants are written."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, pairwise
from math import factorial

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pickosim
from pickosim.amounts import (
    expand_range,
    parse_count,
    parse_numbers,
    parse_ranges,
    parse_share,
    split_list,
)
from pickosim.bots.loading import check_bot_sources, make_entrants
from pickosim.errors import PickosimError
from pickosim.studies.options import make_options
from pickosim.studies.schedule import (
    FIRST_LOOK,
    FIRST_TEST,
    LOOK_GROWTH,
    TEST_GROWTH,
    blocks_for,
    chunks,
    lane,
    looks,
    rotations,
    round_robin,
)
from pickosim.studies.tournament import Tournament


def planned(*args, **options) -> Tournament:
    """A tournament as it would be played."""
    study: Tournament = make_options(Tournament, *args, **options)
    return study.checked()


def test_every_choice_of_bots_meets_once():
    assert round_robin(["a", "b", "c"], 2) == ([("a", "b"), ("a", "c"), ("b", "c")], 3)
    assert round_robin(["a", "b", "c"], 3) == ([("a", "b", "c")], 1)
    assert len(round_robin("abcdefg", 4)[0]) == 35


def test_a_gauntlet_has_its_focus_in_every_matchup():
    matchups, possible = round_robin("abcd", 3, focus="c")
    assert matchups == [("c", "a", "b"), ("c", "a", "d"), ("c", "b", "d")]
    assert possible == 3


def test_of_too_many_matchups_a_seeded_sample_is_played():
    bots = [f"bot{k}" for k in range(100)]
    matchups, possible = round_robin(bots, 4, most=200, seed=1)
    assert possible == 3_921_225
    assert len(set(matchups)) == 200
    assert all(sorted(m, key=bots.index) == list(m) and len(set(m)) == 4 for m in matchups)
    # 800 places for 100 bots: dealt from shuffled decks, each gets about 8.
    places = Counter(bot for matchup in matchups for bot in matchup)
    assert set(places) == set(bots)
    assert 7 <= min(places.values()) <= max(places.values()) <= 9
    assert round_robin(bots, 4, most=200, seed=1)[0] == matchups
    assert round_robin(bots, 4, most=200, seed=2)[0] != matchups


def test_a_sample_may_be_nearly_all_there_is():
    matchups, possible = round_robin("abcdef", 3, most=19, seed=0)
    assert possible == 20
    assert len(set(matchups) & set(combinations("abcdef", 3))) == 19


@pytest.mark.parametrize("players", range(2, 8))
def test_a_block_has_every_bot_in_every_seat_once(players):
    matchup = tuple("abcdefg"[:players])
    turned = rotations(matchup)
    assert len(turned) == players
    for block in zip(*turned, strict=True):
        assert all(sorted(bots) == list(range(players)) for bots in zip(*block, strict=True))
        # Within a block, who sits behind whom stays the same.
        behind = {(order[k - 1], order[k]) for order in block for k in range(players)}
        assert len(behind) == players


@pytest.mark.parametrize("players", range(2, 8))
def test_the_blocks_go_through_all_cyclic_orders(players):
    first = rotations(tuple("abcdefg"[:players]))[0]
    assert len(set(first)) == len(first) == factorial(players - 1)
    assert {order[0] for order in first} == {0}
    behind = Counter((order[k - 1], order[k]) for order in first for k in range(players))
    assert len(behind) == players * (players - 1)
    assert len(set(behind.values())) == 1


def test_copies_of_a_bot_are_seated_in_all_ways_that_differ():
    assert rotations(("a", "a", "a")) == (((0, 1, 2),),)
    names = [tuple("abab"[k] for k in order) for order in rotations(tuple("abab"))[0]]
    assert names == [tuple("abab"), tuple("abba"), tuple("aabb")]


@pytest.mark.parametrize(
    ("games", "players", "blocks"), [(1, 2, 1), (2, 2, 1), (3, 2, 2), (100, 3, 34), (700, 7, 100)]
)
def test_blocks_make_at_least_the_games_asked_for(games, players, blocks):
    assert blocks_for(games, players) == blocks


def test_lanes_do_not_overlap():
    assert lane(0) == 0
    assert lane(3) - lane(2) >= blocks_for(10**12, 2)
    with pytest.raises(PickosimError, match="too many"):
        blocks_for(10**13, 2)
    with pytest.raises(PickosimError, match="more matchups than game numbers"):
        lane(10**7)


@given(
    st.integers(1, 10**9),
    st.sampled_from([(FIRST_LOOK, LOOK_GROWTH), (FIRST_TEST, TEST_GROWTH)]),
)
def test_looks_ascend_to_the_end_and_never_far(blocks, spacing):
    first, growth = spacing
    points = list(looks(blocks, first, growth))
    assert points[0] == min(first, blocks)
    assert points[-1] == blocks
    assert all(a < b <= max(a + first, growth * a + 1) for a, b in pairwise(points))
    assert all(b - a >= first for a, b in pairwise(points[:-1]))


def test_a_sequential_test_looks_earlier_and_more_often_than_a_precision():
    test = planned(["eager", "random"], sprt="0,5%").looks
    assert test[:4] == [8, 16, 24, 32]
    assert max(b / a for a, b in pairwise(test[20:-1])) < 1.06
    precise = planned(["eager", "random"], precision="1%").looks
    assert precise[:4] == [64, 128, 192, 256]
    assert planned(["eager", "random"], games=100).looks == [50]


@given(st.integers(0, 5000), st.integers(0, 5000), st.integers(1, 700))
def test_chunks_cover_everything_once_in_equal_pieces(first, more, size):
    pieces = list(chunks(first, first + more, size))
    assert [block for piece in pieces for block in piece] == list(range(first, first + more))
    sizes = {len(piece) for piece in pieces}
    assert max(sizes, default=0) <= size
    assert max(sizes, default=0) - min(sizes, default=0) <= 1


# ----------------------------------------------------------------------------------------- amounts


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("250k", 250_000),
        ("1M", 10**6),
        ("1.5m", 1_500_000),
        ("20_000", 20_000),
        ("1,500", 1_500),
        ("1,234.5k", 1_234_500),
        (7, 7),
        ("2G", 2 * 10**9),
    ],
)
def test_numbers_of_games(text, number):
    assert parse_count(text) == number


@pytest.mark.parametrize(
    "text", ["0", "-3", "1.5", "many", "", "1e6", "k", "0.0001k", "1..2", "1,5k", "12,34"]
)
def test_no_numbers_of_games(text):
    with pytest.raises(PickosimError, match="250k or 1M"):
        parse_count(text)


def test_shares_and_lists():
    assert parse_share("0.2%", "A precision") == pytest.approx(0.002)
    assert parse_share("0.002", "A precision") == parse_share(0.002, "A precision") == 0.002
    for wrong in ("0", "5", "-1%", "nan", "100%", "wide"):
        with pytest.raises(
            PickosimError, match=r"A precision must be above 0 and below 1, e\.g\. 0\.2%"
        ):
            parse_share(wrong, "A precision")
    assert parse_numbers("2-5", "Players") == [2, 3, 4, 5]
    assert parse_numbers("7, 2,4-5,4", "Players") == [2, 4, 5, 7]
    for wrong in ("", "2-", "5-2", "a", "1-99999"):
        with pytest.raises(PickosimError, match="Players"):
            parse_numbers(wrong, "Players")


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("csv, json ,md", ["csv", "json", "md"]),
        ("", [""]),
        ("21,,22", ["21", "", "22"]),
        ("[1,2],{a = {b = 3, c = 4}},d", ["[1,2]", "{a = {b = 3, c = 4}}", "d"]),
        ("'a, b',\"c]\",[d", ["'a, b'", '"c]"', "[d"]),
        ("o'hara.py,eager", ["o'hara.py", "eager"]),
        ([21, None, " worm"], ["21", "None", "worm"]),
    ],
)
def test_lists(text, entries):
    assert split_list(text) == entries


def test_ranges_of_numbers():
    assert [list(numbers) for numbers in parse_ranges("7, 2 - 4,3", "Tiles")] == [
        [7],
        [2, 3, 4],
        [3],
    ]
    with pytest.raises(PickosimError, match="Tiles: the range 5-2 is empty; write 2-5"):
        parse_ranges("5-2", "Tiles")
    with pytest.raises(PickosimError, match="more than 1,000 numbers"):
        parse_ranges("1-1001", "Tiles")


def test_ranges():
    assert expand_range("21..24") == ["21", "22", "23", "24"]
    assert expand_range("0..1..0.25") == ["0", "0.25", "0.5", "0.75", "1"]
    assert expand_range("-1..1") == ["-1", "0", "1"]
    assert expand_range("0..0.3..0.1")[-1] == "0.3", "decimal steps end where they should"
    assert expand_range("any") == ["any"]
    for wrong in ("5..4", "1..2..0", "1..2..-1"):
        with pytest.raises(PickosimError, match="must go from a smaller to a larger"):
            expand_range(wrong)
    with pytest.raises(PickosimError, match="has 100,001 values"):
        expand_range("0..1..0.00001")


# ---------------------------------------------------------------------------------------- entrants


def test_ranges_enter_bots_and_copies_are_numbered():
    names = [
        entrant.name for entrant in make_entrants(["eager", "threshold:target=21..23", "eager"])
    ]
    assert names == [
        *["eager", "threshold:target=21", "threshold:target=22", "threshold:target=23"],
        "eager#2",
    ]
    two = [e.spec for e in make_entrants(["threshold:target=21..22,last_dice=1..2"])]
    assert two == [f"threshold:target={t},last_dice={d}" for t in (21, 22) for d in (1, 2)]


def test_a_game_larger_than_the_field_is_filled_with_copies():
    study = planned(["eager", "random", "thief"], "extrawurm", 4, 8)
    assert study.names == ["eager", "eager#2", "random", "thief"]
    assert study.matchups == (("eager", "eager#2", "random", "thief"),)
    played = pickosim.tournament(["eager", "random"], players=5, games=10, workers=1)
    assert played.remarks[0] == (
        "2 bots in games of 5: copies take the remaining seats (`eager#2`, `random#2`, `eager#3`)."
    )
    with pytest.raises(PickosimError, match="A game of 2 needs 2 bots, and only 1 is entered"):
        planned(["eager"])


def test_an_edit_of_a_bot_is_seen(tmp_path):
    source = tmp_path / "bot.py"
    code = (
        "from pickosim import Strategy\n"
        "class Bot(Strategy):\n"
        "    def pick(self, turn): return turn.best(turn.counts)\n"
        "    def stop(self, turn): return turn.can_claim\n"
    )
    source.write_text(code, encoding="utf-8")
    entrants = make_entrants([str(source), "eager", "threshold"])
    check_bot_sources(entrants)
    assert len({entrant.source for entrant in entrants}) == 3
    source.write_text(code + "# another word\n", encoding="utf-8")
    with pytest.raises(PickosimError, match=r"The source of .*bot\.py has changed since the run"):
        check_bot_sources(entrants)
