"""Games branched at pick-ups: what is found, what is changed, and that the difference is the worth."""

from __future__ import annotations

import numpy as np
import pytest

import pickosim
from pickosim.engine.table import first_fault
from pickosim.engine.tally import PARTS, win_parts
from pickosim.games.batch import play_on
from pickosim.games.match import make_match
from pickosim.games.pickups import BETWEEN, LEADING, TRAILING, _Branching, branch_pickups
from pickosim.games.positions import read_positions
from pickosim.rule_files import load_rules
from pickosim.rules import SPECIALISTS

ALL = np.ones(len(SPECIALISTS), bool)
TILES = "tiles={21=1,22=1,23=1,24=1,25=2,26=2,27=2,28=2}"
SHORT = ["exact_only=[]", TILES, "bratworms=3", "turn_limit=150"]
SPOTS = "specialists={canned-worm=21,sitting-hen=23,raven=24,weasel=25,golden-die=26,apple=27}"
SEED = 5


def short(*sets: str):
    return load_rules("extrawurm", [*SHORT, SPOTS, *sets])


@pytest.mark.parametrize("bot", ["eager", "random", "expected"])
def test_a_branch_with_nothing_changed_ends_like_its_game(bot):
    games = 8 if bot == "expected" else 60
    played = branch_pickups(make_match([bot] * 3, "extrawurm", SEED), 0, games, ALL, "same")
    assert len(played.pickups) > games
    for name, column in played.tally._asdict().items():
        again = getattr(played.branches, name)
        np.testing.assert_array_equal(column[played.pickups["entry"]], again, name)


@pytest.mark.parametrize("control", ["gone", "grill"])
@pytest.mark.parametrize("rules", ["extrawurm", "manual-extrawurm"])
def test_every_branch_is_a_table_that_can_be(rules, control):
    match = make_match(["eager", "random", "cautious"], rules, SEED)
    batch = _Branching(match, 0, 80, ALL, control)
    batch.play()
    tables = np.concatenate(batch.tables)
    assert first_fault(match.books, tables, np.arange(len(tables), dtype=np.int32)) == -1


def pickups_of(trace) -> list[tuple[int, str, int]]:
    """Turn, specialist and seat of every pick-up, read from the events of a game."""
    found = []
    for event in trace:
        if (
            event["event"] == "specialist"
            and isinstance(event["to"], dict)
            and "seat" in event["to"]
        ):
            found.append((event["turn"], event["name"], event["to"]["seat"]))
        if event["event"] == "bratworm" and event["why"] == "raven":
            found.append((event["turn"], "raven", event["seat"]))
    return found


def test_pick_ups_are_those_of_the_traces():
    bots, games = ["eager", "random", "cautious"], 15
    played = branch_pickups(make_match(bots, "extrawurm", SEED), 3, games, ALL, "gone")
    for game in range(games):
        own = played.pickups[played.pickups["entry"] == game]
        found = [(int(p["turn"]), SPECIALISTS[p["specialist"]], int(p["seat"])) for p in own]
        assert found == pickups_of(pickosim.watch(bots, "extrawurm", SEED, 3 + game))


@pytest.mark.parametrize("control", ["gone", "grill"])
def test_a_branch_is_the_position_changed_by_hand(control):
    """The next position of the game, without the pick-up, played on: the same end as the branch."""
    rules, bots, checked = short(), ["cautious", "eager"], 0
    played = branch_pickups(make_match(bots, rules, SEED), 0, 12, ALL, control)
    for place, pickup in enumerate(played.pickups):
        game, turn, seat = (int(pickup[name]) for name in ("entry", "turn", "seat"))
        if turn >= played.tally.turns[game]:
            continue
        before, after = (
            pickosim.position(bots, rules, SEED, game, turn=number) for number in (turn, turn + 1)
        )
        assert pickup["tiles_left"] == len(after["grill"])
        name = SPECIALISTS[pickup["specialist"]]
        if name == "raven":
            trace = pickosim.watch(bots, rules, SEED, game)
            (event,) = [
                event
                for event in trace
                if event.get("turn") == turn and event.get("why") == "raven"
            ]
            after["bratworms"][seat] -= 1
            if event["from"] == "supply":
                after["supply"] += 1
            else:
                after["bratworms"][event["from"]] += 1
        else:
            places = after["specialists"]
            del places[name]
            for former, where in before["specialists"].items():
                if where == {"seat": seat} and former != name:
                    places[former] = where
            free = [tile for tile in after["grill"] if tile not in places.values()]
            if control == "grill" and free:
                places[name] = min(free)
        end = pickosim.play(bots, start=after).seats
        assert end["score"].to_list() == played.branches.score[place].tolist()
        assert end["rank"].to_list() == played.branches.rank[place].tolist()
        checked += 1
    assert checked > 50


def test_the_last_turn_counts_too():
    """Who takes the last tile with the apple on it has three worms more than without."""
    played = branch_pickups(make_match(["cautious"] * 2, short(), SEED), 0, 300, ALL, "gone")
    last = played.pickups["turn"] == played.tally.turns[played.pickups["entry"]]
    apples = np.flatnonzero(last & (played.pickups["specialist"] == SPECIALISTS.index("apple")))
    assert len(apples) > 5
    for place in apples:
        game, seat = played.pickups["entry"][place], played.pickups["seat"][place]
        assert played.tally.score[game, seat] - played.branches.score[place, seat] == 3


def test_standing_is_by_score_before_the_turn():
    rules, bots = short(), ["eager", "random", "eager"]
    played = branch_pickups(make_match(bots, rules, SEED), 0, 4, ALL, "gone")
    for pickup in played.pickups:
        place = pickosim.position(bots, rules, SEED, int(pickup["entry"]), turn=int(pickup["turn"]))
        scores = [
            sum(rules.tiles[tile] for tile in stack)
            + place["bratworms"][seat]
            + 3 * (place["specialists"].get("apple") == {"seat": seat})
            for seat, stack in enumerate(place["tiles"])
        ]
        own = scores[pickup["seat"]]
        more, less = max(scores) > own, min(scores) < own
        known = {(False, True): LEADING, (True, False): TRAILING}
        assert pickup["standing"] == known.get((more, less), BETWEEN)


def branch_mean(rules, bot: str, games: int, name: str):
    """The mean worth of a pick-up by branching, its error, and the pick-ups themselves."""
    match = make_match([bot] * 2, rules, SEED)
    wanted = np.array([one == name for one in SPECIALISTS])
    played = branch_pickups(match, 0, games, wanted, "gone")
    game, seat = played.pickups["entry"], played.pickups["seat"]
    with_it = win_parts(played.tally.rank)[game, seat]
    without = win_parts(played.branches.rank)[np.arange(len(game)), seat]
    return (with_it - without) / PARTS, played.pickups


def replayed_mean(rules, bot: str, pickups, name: str, replays: int):
    """For each pick-up that the game outlives, the mean over fresh dice from both positions."""
    bots, means, kept = [bot] * 2, [], []
    start = []
    for place, pickup in enumerate(pickups):
        game, turn, seat = (int(pickup[field]) for field in ("entry", "turn", "seat"))
        try:
            before, after = (
                pickosim.position(bots, rules, SEED, game, turn=number)
                for number in (turn, turn + 1)
            )
        except pickosim.PickosimError:
            continue
        branch = {**after, "specialists": dict(after["specialists"])}
        del branch["specialists"][name]
        for former, where in before["specialists"].items():
            if where == {"seat": seat} and former != name:
                branch["specialists"][former] = where
        start += [after, branch]
        kept.append((place, seat))
    both = read_positions(start)
    table = np.repeat(both.table, replays)
    rng = np.random.default_rng(9)
    table["dice_key"] = rng.integers(0, 1 << 63, len(table), dtype=np.uint64)
    ranks = play_on(both.match(bots), table).rank.reshape(len(kept), 2, replays, 2)
    for number, (_, seat) in enumerate(kept):
        wins = [win_parts(ranks[number, arm])[:, seat].mean() / PARTS for arm in range(2)]
        means.append(wins[0] - wins[1])
    return np.array(means), np.array([place for place, _ in kept])


def check_against_replays(games: int, most: int, replays: int) -> None:
    rules, name = short(), "apple"
    gains, pickups = branch_mean(rules, "cautious", games, name)
    replayed, kept = replayed_mean(rules, "cautious", pickups[:most], name, replays)
    own = gains[kept]
    apart = own - replayed
    error = apart.std(ddof=1) / np.sqrt(len(apart))
    assert abs(apart.mean()) < 3.5 * error + 1e-9
    assert replayed.mean() > 0


def test_the_branched_mean_is_the_mean_over_fresh_dice():
    check_against_replays(games=120, most=80, replays=200)


@pytest.mark.long
def test_the_branched_mean_is_the_mean_over_many_fresh_dice():
    check_against_replays(games=500, most=300, replays=2000)
