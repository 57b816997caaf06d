"""The reference game on its own: its rules, its reading of traces, its calibration bots."""

from __future__ import annotations

import copy
import json
import random
from functools import partial
from typing import Any

import pytest
import scenarios
from reference import (
    PRESETS,
    SPECIALISTS,
    Claim,
    Eager,
    Event,
    RuleBroken,
    Source,
    Turn,
    check,
    claims_of_total,
    play,
    play_eager,
    play_random,
    play_turn,
    replay,
    throw,
)
from reference_situations import Scripted, game_in, play_on_reference, read_turn
from scenarios import Illegal, Script, Situation, Throw

EXTRAWURM = PRESETS["extrawurm"]


# ---------------------------------------------------------------------------------- whole games


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("play_bots", [play_eager, play_random])
def test_replays_its_own_games(preset, play_bots):
    for players in range(2, 8):
        trace = play_bots(PRESETS[preset], players, random.Random(f"{preset} {players}"))
        trace = json.loads(json.dumps(trace))
        assert replay(trace) == trace
        assert trace[-1]["finished"]


class Wild(Source):
    """Any legal decision, however silly."""

    def __init__(self, rng: random.Random):
        self.rng = rng

    def roll(self, game, turn):
        return throw(self.rng, game, turn)

    def yes_or_no(self, *_):
        return self.rng.random() < 0.5

    use_golden_die = reroll = keep_new_specialist = yes_or_no

    def stop(self, game, turn):
        return self.rng.random() < 0.3

    def pick(self, game, turn):
        return self.rng.choice(turn.new_faces)

    def claim(self, game, turn, claims):
        return self.rng.choice(claims)

    def rob(self, game, turn, rivals):
        return self.rng.choice(rivals)


def any_rules(rng: random.Random) -> dict[str, Any]:
    values = sorted(rng.sample(range(8, 40), rng.randint(4, 20)))
    tiles = {str(value): rng.randint(1, 4) for value in values}
    places: list[Any] = [*values, {"seat": 0}, {"seat": 1}]
    names = rng.sample(SPECIALISTS, rng.randint(0, 6))
    specialists = dict(zip(names, rng.sample(places, min(len(names), len(places))), strict=False))
    if isinstance(specialists.get("raven"), dict):
        del specialists["raven"]
    return EXTRAWURM | {
        "dice": rng.randint(1, 9),
        "tiles": tiles,
        "exact_only": rng.sample(values, 2),
        "claim": rng.choice(["next-lower", "any-lower", "exact"]),
        "steal": rng.choice(["must", "may", "never"]),
        "lost_tile": rng.choice(["returned", "removed", "kept"]),
        "flip_without_return": rng.random() < 0.8,
        "flip_returned": rng.random() < 0.5,
        "exact_only_returns": rng.random() < 0.5,
        "hen_saves_flip": rng.random() < 0.5,
        "tiebreak": rng.choice(["highest-tile", "shared"]),
        "bratworms": rng.randint(0, 4),
        "bratworm_ones": rng.randint(1, 4),
        "specialists": specialists,
        "second_specialist": rng.choice(["choose", "keep-new", "keep-old"]),
        "weasel_rescues_bust": rng.random() < 0.5,
        "golden_die_faces": rng.choices([1, 2, 3, 4, 5, "worm"], k=6),
        "turn_limit": 80,
    }


def test_replays_games_of_any_rules_and_any_decisions():
    for number in range(100):
        rng = random.Random(number)
        players = rng.randint(2, 7)
        trace = json.loads(json.dumps(play(any_rules(rng), ["wild"] * players, Wild(rng))))
        check(trace)
        ended = trace[-1]
        assert ended["finished"] or ended["turns"] == 80, number


def test_bots_can_be_named_beside_the_trace():
    trace = play_random(EXTRAWURM, 3, random.Random(1))
    replay(trace, bots=["random"] * 3)
    replay(trace, bots=["threshold:target=25"] * 3)
    with pytest.raises(RuleBroken, match="Eager"):
        replay(trace, bots=["eager"] * 3)


def test_the_turn_limit_ends_a_game_as_it_stands():
    whole = play_eager(EXTRAWURM, 3, random.Random(5))
    turns = whole[-1]["turns"]
    assert turns > 4
    for limit, finished in [(4, False), (turns - 1, False), (turns, True)]:
        end = play_eager(EXTRAWURM | {"turn_limit": limit}, 3, random.Random(5))[-1]
        assert (end["turns"], end["finished"]) == (limit, finished)


def test_a_game_can_end_in_mid_round():
    trace = play_eager(EXTRAWURM, 4, random.Random(2))
    assert trace[-1]["finished"] and trace[-1]["turns"] % 4 != 0


def test_specialists_can_start_with_players():
    rules = EXTRAWURM | {"specialists": {"weasel": {"seat": 1}, "raven": 23}}
    trace = play_eager(rules, 2, random.Random(1))
    assert trace[0]["specialists"] == {"weasel": {"seat": 1}, "raven": 23}
    assert replay(trace) == trace


# ------------------------------------------------------------------------------ tampered traces


def trace_with_everything() -> list[list[Event]]:
    """Traces that have every kind of event between them."""
    small = EXTRAWURM | {"bratworms": 1, "turn_limit": 40}
    return [json.loads(json.dumps(play_random(small, 4, random.Random(seed)))) for seed in range(8)]


TRACES = trace_with_everything()
TAMPER = {
    "game": ["grill", "specialists", "bratworms"],
    "roll": ["turn", "seat", "dice"],
    "reroll": ["turn", "seat"],
    "set-aside": ["turn", "seat", "face", "count", "total"],
    "bratworm": ["turn", "seat", "from", "why"],
    "stop": ["turn", "seat", "total", "canned", "forced"],
    "take": ["turn", "seat", "tile"],
    "steal": ["turn", "seat", "tile", "from"],
    "steal-hen": ["turn", "seat", "from"],
    "fail": ["turn", "seat", "reason"],
    "return": ["turn", "seat", "tile"],
    "flip": ["turn", "tile"],
    "specialist": ["turn", "name", "from", "to"],
    "end": [
        "turns",
        "finished",
        "tiles",
        "bratworms",
        "scores",
        "apple",
        "ranks",
        "winners",
    ],
}


def some_events(kind: str) -> list[tuple[list[Event], int]]:
    found = [
        (trace, index)
        for trace in TRACES
        for index, event in enumerate(trace)
        if event["event"] == kind
    ]
    assert found, kind
    return random.Random(kind).sample(found, min(3, len(found)))


def changed(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, list):
        return value[1:]
    if isinstance(value, dict):
        return {name: changed(inner) for name, inner in value.items()}
    return 0 if value is None else "worm" if value != "worm" else "5"


@pytest.mark.parametrize("kind", TAMPER)
def test_a_changed_field_is_rejected(kind):
    for trace, index in some_events(kind):
        for name in TAMPER[kind]:
            other, without = dict(trace[index]), dict(trace[index])
            other[name] = changed(other[name])
            del without[name]
            for event in (other, without):
                with pytest.raises(RuleBroken):
                    check([*trace[:index], event, *trace[index + 1 :]])


@pytest.mark.parametrize("kind", TAMPER)
def test_a_dropped_doubled_or_swapped_event_is_rejected(kind):
    for trace, index in some_events(kind):
        without = trace[:index] + trace[index + 1 :]
        with pytest.raises(RuleBroken, match=r"expected .* came"):
            replay(without)
        doubled = trace[: index + 1] + trace[index:]
        with pytest.raises(RuleBroken, match=r"expected .* came"):
            replay(doubled)
        other = index - 1 if index else 1
        swapped = list(trace)
        swapped[index], swapped[other] = swapped[other], swapped[index]
        with pytest.raises(RuleBroken, match=r"expected .* came"):
            replay(swapped)


def test_json_types_are_strict():
    trace = copy.deepcopy(TRACES[0])
    trace[-1]["finished"] = 0  # equal to False in Python
    assert replay(trace) == trace
    with pytest.raises(RuleBroken, match="finished"):
        check(trace)


@pytest.mark.parametrize(
    "tamper",
    [
        lambda roll: roll.update(dice=["7", *roll["dice"][1:]]),
        lambda roll: roll.update(dice=[*roll["dice"], "worm"]),
        lambda roll: roll.update(dice="11111111"),
        lambda roll: roll.update(golden="1"),
        lambda roll: roll.pop("golden"),
    ],
)
def test_impossible_dice_are_rejected(tamper):
    trace = copy.deepcopy(TRACES[0])
    assert trace[1]["event"] == "roll"
    tamper(trace[1])
    with pytest.raises(RuleBroken, match="turn 1"):
        replay(trace)


@pytest.mark.parametrize(
    "option, value",
    [
        ("claim", "lower"),
        ("steal", "always"),
        ("lost_tile", "lost"),
        ("hen_saves_flip", "yes"),
        ("second_specialist", "both"),
        ("golden_die_faces", [6] * 6),
        ("specialists", {"weasel": 99}),
        ("specialists", {"weasel": 25, "apple": 25}),
        ("specialists", {"raven": {"seat": 0}}),
        ("specialists", {"badger": 25}),
        ("specialists", {"weasel": {"seat": 4}}),
    ],
)
def test_rules_that_make_no_game_are_rejected(option, value):
    trace = copy.deepcopy(TRACES[0])
    trace[0]["rules"][option] = value
    with pytest.raises(RuleBroken):
        replay(trace)


# ------------------------------------------------------------------------------ single turns


scripted_turn = partial(scenarios.play_turn, play_on_reference)

TABLE = Situation("extrawurm")


def take(tile: int) -> Claim:
    return Claim("take", tile, None)


def test_a_forbidden_reroll_is_rejected():
    trace = scripted_turn("extrawurm", "wwwwwww1:w w:weasel 2:2", holds="weasel").events
    for forbidding in (
        Situation("manual-extrawurm", holds="weasel"),
        Situation("extrawurm", holds="apple"),
    ):
        with pytest.raises(RuleBroken, match=r"expected fail, came .*reroll"):
            read_turn(forbidding, trace)


def test_a_face_the_golden_die_does_not_have_is_rejected():
    with pytest.raises(Illegal, match="golden die"):
        scripted_turn("extrawurm-box", "wwwww123+2:w", holds="golden-die")


def test_a_claim_cannot_be_declined():
    trace = scripted_turn("extrawurm", "wwwww123:w").events
    trace[-1] = {"event": "fail", "turn": 3, "seat": 0, "reason": "nothing-to-claim"}
    with pytest.raises(RuleBroken, match="expected take or steal or steal-hen"):
        read_turn(TABLE, trace)


@pytest.mark.parametrize("wrong", [take(24), take(26), Claim("steal", 25, 1), None])
def test_a_claim_that_nothing_allows_is_rejected(wrong):
    source = Scripted(Script("wwwww123:w", {}))
    source.claim = lambda *_: wrong
    with pytest.raises(RuleBroken, match=r"turn 3: expected one of .* came"):
        play_turn(game_in(TABLE, source))


def test_the_supply_is_nobody_to_rob():
    table = {"options": {"bratworms": 4}, "stacks": [[], [], []], "bratworms": [0, 2, 2]}
    with pytest.raises(Illegal, match=r"one of \[1, 2\], came supply"):
        scripted_turn("extrawurm", "11555www:1", **table, rob=["supply"])


# ------------------------------------------------------------------------------ the bots' decisions


@pytest.mark.parametrize(
    "roll, aside, face",
    [
        ("55ww", {}, "worm"),
        ("224", {}, "4"),
        ("11112233", {}, "3"),
        ("111122", {}, "2"),
        ("555w", {}, "5"),
        ("5ww", {"worm": 1}, "5"),
        ("555554", {"5": 1}, "4"),
        ("44455522+4", {}, "4"),
    ],
)
def test_eager_picks_most_points(roll, aside, face):
    throw = Throw.read(roll)
    turn = Turn(seat=0, white=len(throw.white), aside=aside)
    turn.show(throw.white, throw.golden)
    assert Eager().pick(game_in(TABLE, Source()), turn) == face


def test_eager_steals_before_it_takes():
    def claim(**situation: Any) -> Claim:
        game, turn = game_in(Situation("extrawurm", **situation), Source()), Turn(seat=0, white=3)
        return Eager().claim(game, turn, claims_of_total(game, 0, 25))

    assert claim(stacks=[[], [25]], options={"steal": "may"}) == Claim("steal", 25, 1)
    assert claim(options={"claim": "any-lower"}) == take(25)


def test_eager_robs_the_first_of_the_richest():
    stacks, bratworms = [[], [], [], []], [4, 2, 2, 0]
    table = Situation("extrawurm", {"bratworms": 8}, stacks=stacks, bratworms=bratworms)
    game = game_in(table, Source())
    assert Eager().rob(game, Turn(seat=0, white=8), [1, 2]) == 1


WRONG_FOR_EAGER: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "pick": ("5555wwww:5", {}, {"holds": "canned-worm"}),
    "stops early": ("ww111555:w", {}, {}),
    "rolls on": ("wwwww123:w www", {}, {}),
    "takes low": ("wwwww123:w", {"claim": [22]}, {"options": {"claim": "any-lower"}}),
    "no steal": (
        "wwwww123:w",
        {"claim": [24]},
        {"stacks": [[], [25], []], "options": {"steal": "may"}},
    ),
    "reroll": ("wwwww123:weasel wwwww123:w", {}, {"holds": "weasel"}),
    "no reroll": ("wwwwwww1:w w", {}, {"holds": "weasel"}),
    "no golden die": ("wwwww123:w", {}, {"holds": "golden-die"}),
    "old specialist": (
        "wwwww111:w",
        {"keep_new_specialist": [False]},
        {"holds": "apple", "specialists": {"weasel": 24}, "grill": [24]},
    ),
    "robs the wrong one": (
        "11111111:1",
        {"rob": [2]},
        {"bratworms": [0, 1, 1], "options": {"bratworms": 2}},
    ),
}
ALSO_WRONG_FOR_RANDOM = {"stops early", "no reroll", "no golden die"}


@pytest.mark.parametrize("bot", ["eager", "random"])
@pytest.mark.parametrize("case", WRONG_FOR_EAGER)
def test_a_bot_that_decides_otherwise_is_rejected(case, bot):
    dice, decisions, table = WRONG_FOR_EAGER[case]
    table = {"stacks": [[], [], []]} | table
    trace = scripted_turn("extrawurm", dice, **table, **decisions).events
    trace = [event for event in trace if event["event"] != "end"]
    situation = Situation("extrawurm", **table)
    if bot == "eager" or case in ALSO_WRONG_FOR_RANDOM:
        with pytest.raises(RuleBroken, match=r"turn 4: expected .* came"):
            read_turn(situation, trace, bot)
    else:
        assert read_turn(situation, trace, bot) == trace
