"""The engine against the reference, event by event, and against itself, game by game."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import groupby, pairwise, product
from typing import Annotated, Any, Protocol

import numpy as np
import pytest
import reference
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from situations import house_rules
from traces import trace_game, trace_games

from pickosim.bots.strategy import Strategy
from pickosim.bots.view import Turn
from pickosim.engine.dice import POINTS, rolls
from pickosim.engine.kernels import U8, Key, dtype_of
from pickosim.engine.log import ROLL, events, new_log
from pickosim.engine.table import Counters, deal
from pickosim.engine.tally import PARTS, Tally, win_parts
from pickosim.errors import PickosimError, RulesError
from pickosim.games.batch import Batch, play_games
from pickosim.games.match import Match, make_match
from pickosim.rule_files import PRESETS, load_rules
from pickosim.rules import SPECIALISTS, RuleSet


class Wild(Strategy):
    """Any legal decision, however silly: gives claims away, and leaves the golden die lying."""

    def pick(self, turn: Turn) -> Any:
        return turn.choose(turn.legal)

    def stop(self, turn: Turn) -> Any:
        return turn.random() < 0.3

    def claim(self, turn: Turn) -> Any:
        return turn.tiles[turn.choose(turn.claims)]

    def yes_or_no(self, turn: Turn) -> Any:
        return turn.random() < 0.5

    reroll = use_golden_die = keep_new_specialist = yes_or_no

    def rob(self, turn: Turn) -> Any:
        return turn.choose(turn.robbable)


def bots(names: list[str]) -> list[str | Strategy]:
    return [Wild() if name == "wild" else name for name in names]


SEATINGS = {
    "eager": ["eager"] * 7,
    "random": ["random"] * 7,
    "mixed": ["eager", "random", "random", "wild", "eager", "random", "wild"],
    "wild": ["wild"] * 7,
}
GAMES = {"eager": 6, "random": 4, "mixed": 5, "wild": 1}
"""Games of every match; the reference takes some 10 to 100 ms for each."""


@dataclass
class Played:
    match: Match
    traces: list[list[dict[str, Any]]]


@cache
def played(preset: str, players: int, seating: str) -> Played:
    """Some games of a match with their traces, conservation checked after every turn."""
    match = make_match(bots(SEATINGS[seating][:players]), preset, seed=players)
    return Played(match, trace_games(match, 1000, GAMES[seating], check=True))


# ----------------------------------------------------------------------------- the same as the rules


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("seating", SEATINGS)
def test_plays_by_the_rules(preset, seating):
    for players in range(2, 8):
        games = played(preset, players, seating)
        numbers = [trace[0]["game"] for trace in games.traces]
        assert numbers == list(range(1000, 1000 + GAMES[seating]))
        for trace in games.traces:
            reference.check(trace)


def test_traces_are_plain_json():
    for trace in played("extrawurm", 3, "mixed").traces:
        assert json.loads(json.dumps(trace)) == trace


@st.composite
def odd_rules(draw: st.DrawFn, players: int) -> RuleSet:
    """Any rules that make a game; most of them nobody would play."""
    tiles = draw(st.dictionaries(st.integers(1, 60), st.integers(0, 100), min_size=1, max_size=32))
    values = sorted(tiles)
    places: list[Any] = [*values, *({"seat": s} for s in range(players))]
    names = draw(st.lists(st.sampled_from(SPECIALISTS), unique=True))
    starts = draw(st.permutations(places))
    options = {
        "dice": draw(st.integers(1, 10)),
        "tiles": tiles,
        "exact_only": draw(st.lists(st.sampled_from(values), unique=True, max_size=4)),
        "claim": draw(st.sampled_from(["next-lower", "any-lower", "exact"])),
        "steal": draw(st.sampled_from(["may", "must", "never"])),
        "lost_tile": draw(st.sampled_from(["returned", "removed", "kept"])),
        "flip_without_return": draw(st.booleans()),
        "flip_returned": draw(st.booleans()),
        "exact_only_returns": draw(st.booleans()),
        "hen_saves_flip": draw(st.booleans()),
        "tiebreak": draw(st.sampled_from(["highest-tile", "shared"])),
        "bratworms": draw(st.integers(0, 3)),
        "bratworm_ones": draw(st.integers(1, 4)),
        "specialists": dict(zip(names, starts, strict=False)),
        "second_specialist": draw(st.sampled_from(["choose", "keep-new", "keep-old"])),
        "weasel_rescues_bust": draw(st.booleans()),
        "golden_die_faces": draw(
            st.lists(st.sampled_from([1, 2, 3, 4, 5, "worm"]), min_size=6, max_size=6)
        ),
        "apple_worms": draw(st.integers(0, 9)),
        "turn_limit": draw(st.integers(1, 60)),
    }
    try:
        return load_rules("classic").with_options(options)
    except RulesError:
        assume(False)
        raise


@st.composite
def odd_matches(draw: st.DrawFn) -> Match:
    names = draw(st.lists(st.sampled_from(["eager", "random", "wild"]), min_size=2, max_size=7))
    rules = draw(odd_rules(len(names)))
    return make_match(bots(names), rules, draw(st.integers(0, 2**64 - 1)))


@settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(match=odd_matches(), first=st.integers(0, 10**12))
def test_plays_by_odd_rules(match, first):
    for trace in trace_games(match, first, 3, check=True):
        reference.check(trace)


def test_an_attribute_of_another_question_is_refused_by_name():
    class Curious(Wild):
        def stop(self, turn: Turn) -> Any:
            return turn.golden_face > 0

    sentence = r"turn\.golden_face exists only in pick\(\) and reroll\(\), not in stop\(\)"
    with pytest.raises(PickosimError, match=sentence):
        play_games(make_match([Curious(), "eager"], "classic", 1), 0, 1)


# --------------------------------------------------------------------------- the types of records


class Pair(Protocol):
    """A record of a number and a matrix."""

    small: U8
    matrix: Annotated[NDArray[np.uint16], 2, 3]
    key: Key


def test_a_record_is_stored_as_it_is_declared():
    fields = [("small", np.uint8), ("matrix", np.uint16, (2, 3)), ("key", np.uint64)]
    assert dtype_of(Pair) == np.dtype(fields, align=True)
    assert dtype_of(Pair, align=False) == np.dtype(fields)


# ------------------------------------------------------------------------- statistics of the games


@dataclass
class Counted:
    """What a trace says of a game, counted by hand; the fields are those of `Tally`."""

    turns: int
    counts: dict[str, int]
    flips: int
    finished: bool
    score: list[int]
    worms: list[int]
    tiles: list[int]
    bratworms: list[int]
    rank: list[int]
    gained: list[list[int]]
    turns_held: list[list[int]]
    used: list[list[int]]
    held_at_end: list[list[bool]]
    luck: list[int]
    forfeits: list[bool]


def count(trace: list[dict[str, Any]]) -> Counted:
    opening, *happened, _ = trace
    rules, players = opening["rules"], len(opening["players"])
    kinds = Counter(event["event"] for event in happened)
    reasons = Counter(event["reason"] for event in happened if event["event"] == "fail")
    turns = max(event["turn"] for event in happened)

    gained, turns_held, used = ([[0] * players for _ in SPECIALISTS] for _ in range(3))
    stacks: list[list[int]] = [[] for _ in range(players)]
    bratworms = [0] * players
    place = dict(opening["specialists"])
    history = []
    for _, group in groupby(happened, key=lambda event: event["turn"]):
        for name, where in place.items():
            if isinstance(where, dict) and "seat" in where:
                turns_held[SPECIALISTS.index(name)][where["seat"]] += 1
        of_turn = list(group)
        follow(of_turn, stacks, bratworms, place)
        for event in of_turn:
            if event["event"] == "specialist" and "seat" in event["to"]:
                gained[SPECIALISTS.index(event["name"])][event["to"]["seat"]] += 1
        for name, player in uses(of_turn):
            used[SPECIALISTS.index(name)][player] += 1
        history.append(scores(rules, stacks, bratworms, place))
    score = history[-1]
    held = [[place.get(name) == {"seat": s} for s in range(players)] for name in SPECIALISTS]
    best = [max(stack, default=0) * (rules["tiebreak"] == "highest-tile") for stack in stacks]
    standing = list(zip(score, best, strict=True))
    gone = sum(map(len, stacks)) + kinds["flip"]
    expansion = bool(opening["specialists"])
    return Counted(
        turns=turns,
        counts={
            "rolls": kinds["roll"],
            "fails_no_new_face": reasons["no-new-face"],
            "fails_no_worm": reasons["no-worm"],
            "fails_nothing_to_claim": reasons["nothing-to-claim"],
            "steals": kinds["steal"],
            "hen_steals": kinds["steal-hen"],
            "lead_changes": lead_changes(history),
        },
        flips=kinds["flip"],
        finished=gone == len(rules["tiles"]),
        score=score,
        worms=[worms_on(rules, stack) for stack in stacks],
        tiles=[len(stack) for stack in stacks],
        bratworms=bratworms,
        rank=[1 + sum(other > own for other in standing) for own in standing],
        gained=gained if expansion else [],
        turns_held=turns_held if expansion else [],
        used=used if expansion else [],
        held_at_end=held if expansion else [],
        luck=[0] * players,
        forfeits=[False] * players,
    )


def worms_on(rules: dict[str, Any], stack: list[int]) -> int:
    return sum(rules["tiles"][str(tile)] for tile in stack)


def scores(
    rules: dict[str, Any], stacks: list[list[int]], bratworms: list[int], place: dict[str, Any]
) -> list[int]:
    """Each player's score as things lie."""
    return [
        worms_on(rules, stack)
        + bratworms[player]
        + rules["apple_worms"] * (place.get("apple") == {"seat": player})
        for player, stack in enumerate(stacks)
    ]


def lead_changes(history: list[list[int]]) -> int:
    """How often the sole leader changes, given the scores after each turn."""
    leaders = [score.index(max(score)) for score in history if score.count(max(score)) == 1]
    return sum(before != after for before, after in pairwise(leaders))


def follow(
    happened: list[dict[str, Any]],
    stacks: list[list[int]],
    bratworms: list[int],
    place: dict[str, Any],
) -> None:
    """Move things as the events of a turn say."""
    for event in happened:
        match event["event"]:
            case "take":
                stacks[event["seat"]].append(event["tile"])
            case "steal":
                stacks[event["from"]].remove(event["tile"])
                stacks[event["seat"]].append(event["tile"])
            case "return":
                stacks[event["seat"]].remove(event["tile"])
            case "flip":
                for stack in stacks:
                    if event["tile"] in stack:
                        stack.remove(event["tile"])
            case "bratworm":
                bratworms[event["seat"]] += 1
                if event["from"] != "supply":
                    bratworms[event["from"]] -= 1
            case "specialist":
                place[event["name"]] = event["to"]


def uses(happened: list[dict[str, Any]]) -> list[tuple[str, int]]:
    """Each use of a specialist in the events of a turn: which, and for whom it counts."""
    found = []
    kinds = {event["event"] for event in happened}
    if happened[0]["golden"] is not None:
        found.append(("golden-die", happened[0]["seat"]))
    for event in happened:
        match event:
            case {"event": "reroll", "seat": player}:
                found.append(("weasel", player))
            case {"event": "stop", "canned": True, "seat": player} if "fail" not in kinds:
                found.append(("canned-worm", player))
            case {"event": "bratworm", "why": "raven", "seat": player}:
                found.append(("raven", player))
            case {"event": "steal-hen", "from": victim}:
                found.append(("sitting-hen", victim))
            case {"event": "specialist", "name": "sitting-hen", "from": {"seat": player}} if (
                "fail" in kinds
            ):
                found.append(("sitting-hen", player))
    return found


def assert_counted(traces: list[list[dict[str, Any]]], tally: Tally) -> None:
    by_hand = [count(trace) for trace in traces]
    for counter in Counters._fields:
        expected = [game.counts[counter] for game in by_hand]
        assert tally.counter(counter).tolist() == expected, counter
    for name in set(Tally._fields) - {"counts"}:
        assert getattr(tally, name).tolist() == [getattr(game, name) for game in by_hand], name


@pytest.mark.parametrize("preset", PRESETS)
def test_statistics_are_those_of_the_traces(preset):
    for players, seating in product([2, 4, 7], ["mixed", "random"]):
        games = played(preset, players, seating)
        tally = play_games(games.match, 1000, GAMES[seating], follow_lead=True)
        assert_counted(games.traces, tally)


def test_statistics_of_rules_in_which_everything_happens():
    rules = load_rules("extrawurm").with_options(
        {
            "steal": "may",
            "claim": "any-lower",
            "bratworms": 3,
            "turn_limit": 90,
            "specialists": {
                "canned-worm": {"seat": 0},
                "sitting-hen": {"seat": 1},
                "raven": 23,
                "weasel": {"seat": 2},
                "golden-die": {"seat": 3},
                "apple": 36,
            },
        }
    )
    match = make_match(["random"] * 4, rules, 5)
    tally = play_games(match, 0, 40, follow_lead=True)
    assert_counted(trace_games(match, 0, 40), tally)
    assert tally.counts.any(axis=0).all()
    never = {
        "gained": {"raven"},
        "turns_held": {"raven"},
        "used": {"apple"},
        "held_at_end": {"raven"},
    }
    for name, exceptions in never.items():
        happened = getattr(tally, name).sum(axis=(0, 2))
        assert {s for s, n in zip(SPECIALISTS, happened, strict=True) if not n} == exceptions
    assert tally.finished.any()
    assert not tally.finished.all()


@pytest.mark.parametrize("rules", house_rules(), ids=lambda rules: rules.name)
def test_statistics_of_house_rules(rules):
    match = make_match(["random", "eager", "random", "eager"], rules, 5)
    traces = trace_games(match, 0, 40, check=True)
    assert_counted(traces, play_games(match, 0, 40, follow_lead=True))
    for trace in traces:
        reference.check(trace)


@pytest.mark.parametrize("players", range(2, 8))
def test_a_win_is_split_exactly(players):
    """Every set of winners: whole parts that add up to a win, and shares like those of a division."""
    winners = np.array(list(product([False, True], repeat=players))[1:])
    parts = win_parts(np.where(winners, 1, 2).astype(np.uint8))
    assert (parts.sum(axis=1) == PARTS).all()
    assert (parts / PARTS == winners / winners.sum(axis=1, keepdims=True)).all()


def test_the_lead_is_followed_only_on_request():
    match = make_match(["random"] * 3, "extrawurm", 5)
    followed, usual = (play_games(match, 0, 200, follow_lead=follow) for follow in (True, False))
    leads = followed.counter("lead_changes")
    assert leads.sum() > 0
    assert not usual.counter("lead_changes").any()
    leads[:] = 0
    for name in Tally._fields:
        assert (getattr(followed, name) == getattr(usual, name)).all(), name


def test_a_tie_at_the_top_is_no_change_of_the_lead():
    assert lead_changes([[0, 0], [2, 0], [2, 2], [3, 2]]) == 0
    assert lead_changes([[0, 0], [2, 0], [2, 2], [2, 3], [3, 3], [3, 3], [4, 3]]) == 2
    # Tiles of equal worth make ties everywhere, and a game of two seldom has a change without one.
    rules = load_rules("classic").with_options({"tiles": {str(tile): 1 for tile in range(21, 29)}})
    match = make_match(["eager", "eager"], rules, 3)
    tally = play_games(match, 0, 100, follow_lead=True)
    by_hand = [count(trace).counts["lead_changes"] for trace in trace_games(match, 0, 100)]
    assert tally.counter("lead_changes").tolist() == by_hand
    assert {0, 1, 2} <= set(by_hand)


# --------------------------------------------------------------------------------- the turn limit


def test_the_turn_limit_ends_a_game_unfinished():
    rules = load_rules("classic").with_options({"turn_limit": 5})
    match = make_match(["eager"] * 3, rules, 1)
    tally = play_games(match, 0, 50)
    assert (tally.turns == 5).all()
    assert not tally.finished.any()
    for trace in trace_games(match, 0, 20):
        reference.check(trace)
        assert trace[-1]["finished"] is False


def test_a_grill_emptied_in_the_last_turn_is_finished():
    rules = load_rules("classic").with_options({"tiles": {"21": 1}, "turn_limit": 1})
    tally = play_games(make_match(["eager"] * 2, rules, 1), 0, 200)
    assert (tally.turns == 1).all()
    assert (tally.finished == (tally.tiles[:, 0] == 1)).all()
    assert 0 < tally.finished.sum() < 200


# --------------------------------------------------------- the same game wherever it is played


def run(match: Match, first: int, games: int, batch: int) -> tuple[Tally, dict[int, list[Any]]]:
    """Results, and every row of the log by game."""
    played = Batch(match, first, games, batch=batch, log=new_log(room=True))
    tally = played.play()
    rows: dict[int, list[Any]] = {}
    for entry, *event in events(played.log).tolist():
        rows.setdefault(first + entry, []).append(event)
    return tally, rows


def part(tally: Tally, start: int, games: int) -> dict[str, Any]:
    return {
        name: column[start : start + games].tolist() for name, column in tally._asdict().items()
    }


MATCHES = {
    "classic": (["random", "eager"], "classic"),
    "extrawurm": (["random", "eager", "random"], "extrawurm"),
    "manual": (["random"] * 5, "manual-extrawurm"),
}


def match_of(name: str, seed: int = 77) -> Match:
    return make_match(*MATCHES[name], seed)


@pytest.mark.parametrize("name", MATCHES)
@pytest.mark.parametrize("batch", [1, 7, 4096])
def test_the_batch_size_changes_nothing(name, batch):
    match = match_of(name)
    all_games, all_logs = run(match, 500, 300, 300)
    some, some_log = run(match, 600, 20, batch)
    assert part(some, 0, 20) == part(all_games, 100, 20)
    assert some_log == {game: all_logs[game] for game in range(600, 620)}


@pytest.mark.parametrize("name", MATCHES)
def test_a_game_alone_is_the_game_of_a_large_run(name):
    match = match_of(name)
    large = play_games(match, 0, 6000, batch=4096)
    for game in (0, 1, 4095, 4096, 5999):
        alone, _ = run(match, game, 1, 1)
        assert part(alone, 0, 1) == part(large, game, 1)
        trace = trace_game(match, game)
        assert trace[0]["game"] == game
        assert trace[-1]["turns"] == large.turns[game]
        assert trace[-1]["scores"] == large.score[game].tolist()


def test_a_game_far_out_can_be_played():
    match = match_of("extrawurm")
    far = 2**62 - 3  # the last three
    assert trace_games(match, far, 3)[2] == trace_game(match, far + 2)


OTHER_PROCESS = """
import json, sys
from pickosim.games.batch import play_games
from pickosim.games.match import make_match
from pickosim.games.trace import traced_game
found = []
for bots, rules, seed in json.load(sys.stdin):
    match = make_match(bots, rules, seed)
    tally = play_games(match, 0, 400, batch=64)
    found.append([traced_game(match, 37)[0], {k: v.tolist() for k, v in tally._asdict().items()}])
print(json.dumps(found))
"""


def test_another_process_plays_the_same_games():
    asked = [(*MATCHES[name], 77) for name in MATCHES]
    answer = subprocess.run(
        [sys.executable, "-c", OTHER_PROCESS],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    for name, (trace, tally) in zip(MATCHES, json.loads(answer.stdout), strict=True):
        match = match_of(name)
        assert trace == trace_game(match, 37)
        assert tally == part(play_games(match, 0, 400), 0, 400)


# ------------------------------------------------------------------ different games are different


def test_different_seeds_are_different_games():
    same = trace_game(match_of("extrawurm", 77), 0)
    assert trace_game(match_of("extrawurm", 77), 0) == same
    assert trace_game(match_of("extrawurm", 78), 0)[1:] != same[1:]
    assert trace_game(match_of("extrawurm", 77), 1)[1:] != same[1:]


MANY = 20_000
EDGE_SEEDS = [0, 1, 2, 41, 42, 2**32 - 1, 2**32, 2**63, 2**64 - 2, 2**64 - 1]


@cache
def results(seed: int) -> dict[str, Any]:
    """Statistics of many games, each of which should be independent of its neighbours."""
    tally = play_games(make_match(["eager", "eager"], "classic", seed), 0, MANY)
    first_turn = load_rules("classic").with_options({"turn_limit": 1})
    batch = Batch(make_match(["eager", "eager"], first_turn, seed), 0, MANY, log=new_log(room=True))
    batch.play()
    logged = events(batch.log)
    dice = logged[logged["kind"] == ROLL]
    _, first = np.unique(dice["entry"], return_index=True)
    counts = rolls(9)["counts"][dice["a"][first]]
    return {
        "turns": tally.turns.astype(float),
        "score": tally.score[:, 0].astype(float),
        "first roll": (counts * POINTS).sum(axis=1).astype(float),
        "first worms": counts[:, 6].astype(float),
    }


def assert_uncorrelated(one: Any, other: Any) -> None:
    correlation = np.corrcoef(one, other)[0, 1]
    assert abs(correlation) < 4 / np.sqrt(len(one)), correlation


@pytest.mark.parametrize("seed", [0, 41, 2**63 - 1])
def test_adjacent_seeds_share_nothing(seed):
    """A shift of 1: not even one game further on."""
    for name, column in results(seed).items():
        for shift in (0, 1, -1):
            assert_uncorrelated(column, np.roll(results(seed + 1)[name], shift))


def test_adjacent_games_share_nothing():
    for column in results(41).values():
        for lag in (1, 2, 3, 64):
            assert_uncorrelated(column[:-lag], column[lag:])


def test_no_two_games_have_the_same_dice():
    """Nor are the games of one seed those of another in a different order."""
    keys = []
    for seed in EDGE_SEEDS:
        batch = Batch(match_of("classic", seed), 0, MANY, batch=MANY)
        every_row = np.arange(MANY, dtype=np.int32)
        deal(batch.books, batch.table, every_row, 0, 0, len(every_row), np.uint64(seed))
        keys.append(batch.table["dice_key"])
    assert len(np.unique(np.concatenate(keys))) == MANY * len(EDGE_SEEDS)
