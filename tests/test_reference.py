"""The reference game on its own: its rules, its reading of traces, its calibration bots."""

from __future__ import annotations

import copy
import dataclasses
import json
import random
from typing import Any

import pytest
from reference import (
    PRESETS,
    SPECIALISTS,
    Claim,
    Eager,
    Event,
    Game,
    RuleBroken,
    Script,
    Source,
    TraceReader,
    Turn,
    check,
    claims_of_total,
    play,
    play_eager,
    play_random,
    play_turn,
    read_rules,
    replay,
    set_up,
    tell_end,
    throw,
)

EXTRAWURM = PRESETS["extrawurm"]
MANUAL_EXTRAWURM = PRESETS["manual-extrawurm"]


# ---------------------------------------------------------------------------------- whole games


@pytest.mark.parametrize("players", range(2, 8))
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("play_bots", [play_eager, play_random])
def test_replays_its_own_games(preset, players, play_bots):
    for number in range(2):
        trace = play_bots(PRESETS[preset], players, random.Random(f"{preset} {number}"))
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
        "claim": rng.choice(["next-lower", "any-lower"]),
        "steal": rng.choice(["must", "may"]),
        "flip_without_return": rng.random() < 0.8,
        "flip_returned": rng.random() < 0.5,
        "exact_only_returns": rng.random() < 0.5,
        "tiebreak": rng.choice(["highest-tile", "shared"]),
        "bratworms": rng.randint(0, 4),
        "specialists": specialists,
        "second_specialist": rng.choice(["choose", "keep-new"]),
        "weasel_rescues_bust": rng.random() < 0.5,
        "golden_die_faces": rng.choices([1, 2, 3, 4, 5, "worm"], k=6),
        "turn_limit": 80,
    }


@pytest.mark.parametrize("number", range(150))
def test_replays_games_of_any_rules_and_any_decisions(number):
    rng = random.Random(number)
    players = rng.randint(2, 7)
    trace = json.loads(json.dumps(play(any_rules(rng), ["wild"] * players, Wild(rng))))
    check(trace)
    ended = trace[-1]
    assert ended["finished"] or ended["turns"] == 80


def test_bots_can_be_named_beside_the_trace():
    trace = play_random(EXTRAWURM, 3, random.Random(1))
    replay(trace, bots=["random"] * 3)
    replay(trace, bots=["threshold:target=25"] * 3)
    with pytest.raises(RuleBroken, match="Eager"):
        replay(trace, bots=["eager"] * 3)


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


@pytest.mark.parametrize("kind, name", [(kind, name) for kind in TAMPER for name in TAMPER[kind]])
def test_a_changed_field_is_rejected(kind, name):
    for trace, index in some_events(kind):
        tampered = copy.deepcopy(trace)
        tampered[index][name] = changed(tampered[index][name])
        with pytest.raises(RuleBroken):
            check(tampered)
        dropped = copy.deepcopy(trace)
        del dropped[index][name]
        with pytest.raises(RuleBroken):
            check(dropped)


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


# ------------------------------------------------------------------------- single turns by hand


def midgame(
    rules: dict[str, Any],
    stacks: list[list[int]],
    *,
    grill: list[int] | None = None,
    held: dict[int, str] | None = None,
    on_tile: dict[int, str] | None = None,
    bratworms: list[int] | None = None,
    supply: int = 7,
    **options: Any,
) -> Game:
    """A game under way with seat 0 to play; what is placed nowhere is flipped or out."""
    game = set_up(read_rules(rules | options), len(stacks), Source())
    taken = [tile for stack in stacks for tile in stack]
    game.grill = [t for t in game.grill if t not in taken] if grill is None else sorted(grill)
    game.flipped = [t for t in game.rules.tiles if t not in [*game.grill, *taken]]
    game.stacks = copy.deepcopy(stacks)
    game.held = [[held[seat]] if held and seat in held else [] for seat in range(len(stacks))]
    game.on_tile = dict(on_tile or {})
    placed = [*game.on_tile.values(), *(held or {}).values()]
    game.out = [name for name in game.rules.specialists if name not in placed]
    game.bratworms = list(bratworms or [0] * len(stacks))
    game.supply = supply
    total = supply + sum(game.bratworms)
    game.rules = dataclasses.replace(game.rules, bratworms=total)
    return game


def read_turn(game: Game, trace: list[Event], bot: str = "any") -> list[Event]:
    """One turn of seat 0 out of a trace."""
    game.source = TraceReader(trace, [bot] * game.seats)
    play_turn(game)
    return game.events


def run(game: Game, *rolls: str, **decisions: list[Any]) -> list[Event]:
    """One turn of seat 0 with these rolls and decisions, eager's where none are given."""
    before = copy.deepcopy(game)
    game.source = script = Script(rolls, **decisions)
    play_turn(game)
    assert script.is_used_up()
    trace = json.loads(json.dumps(game.events))
    assert read_turn(before, trace) == trace
    return game.events


def after(events: list[Event], kind: str) -> list[Event]:
    """The events from the first of this kind on."""
    return events[[event["event"] for event in events].index(kind) :]


def bust(game: Game) -> list[Event]:
    """Seat 0 sets seven worms aside and rolls an eighth."""
    return after(run(game, "wwwwwww5", "w", pick=["worm"], stop=[False]), "fail")


def ev(event: str, **fields: Any) -> Event:
    if "from_" in fields:
        fields["from"] = fields.pop("from_")
    return {"event": event, "turn": 1, "seat": 0, **fields}


def flip(tile: int) -> Event:
    return {"event": "flip", "turn": 1, "tile": tile}


def moved(name: str, origin: Any, target: Any) -> Event:
    return {"event": "specialist", "turn": 1, "name": name, "from": origin, "to": target}


def seat(number: int) -> dict[str, int]:
    return {"seat": number}


def tile(value: int) -> dict[str, int]:
    return {"tile": value}


def test_a_plain_turn():
    game = midgame(PRESETS["classic"], [[], []])
    assert run(game, "w4321www", "4w55", stop=[False, True]) == [
        ev("roll", dice=["1", "2", "3", "4", "worm", "worm", "worm", "worm"], golden=None),
        ev("set-aside", face="worm", count=4, total=20),
        ev("roll", dice=["4", "5", "5", "worm"], golden=None),
        ev("set-aside", face="5", count=2, total=30),
        ev("stop", total=30, canned=False, forced=False),
        ev("take", tile=30),
    ]


def test_no_dice_left_forces_a_stop():
    game = midgame(PRESETS["classic"], [[], []])
    assert run(game, "wwwwwwww")[2:] == [
        ev("stop", total=40, canned=False, forced=True),
        ev("take", tile=36),
    ]


def test_all_six_faces_force_a_stop_with_dice_left():
    game = midgame(EXTRAWURM, [[], []])
    rolls = ["12345www", "2345www", "345www", "45www", "5www", "w55"]
    events = run(game, *rolls, pick=["1", "2", "3", "4", "5", "worm"], stop=[False] * 5)
    assert after(events, "stop") == [
        ev("stop", total=20, canned=False, forced=True),
        ev("fail", reason="nothing-to-claim"),
    ]


def test_a_high_total_without_a_worm_fails_for_the_worm():
    game = midgame(EXTRAWURM, [[], []])
    assert run(game, "55555551", stop=[True])[2:] == [
        ev("stop", total=35, canned=False, forced=False),
        ev("fail", reason="no-worm"),
    ]


# ----------------------------------------------------------------------------- the canned worm


def test_canned_worm_is_in_the_total_of_the_stop_only():
    game = midgame(EXTRAWURM, [[], []], held={0: "canned-worm"})
    assert run(game, "55551234")[1:] == [
        ev("set-aside", face="5", count=4, total=20),
        ev("stop", total=25, canned=True, forced=False),
        ev("take", tile=25),
    ]


def test_canned_worm_does_nothing_once_worms_are_set_aside():
    game = midgame(EXTRAWURM, [[], []], held={0: "canned-worm"})
    assert run(game, "55551234", "www1", stop=[False, True])[2:] == [
        ev("roll", dice=["1", "worm", "worm", "worm"], golden=None),
        ev("set-aside", face="worm", count=3, total=35),
        ev("stop", total=35, canned=False, forced=False),
        ev("take", tile=35),
    ]


def test_canned_worm_is_no_sixth_face_and_counts_on_a_stop_that_fails():
    game = midgame(EXTRAWURM, [[], []], held={0: "canned-worm"})
    rolls = ["12345www", "2345www", "345www", "45www", "5www"]
    stops = [False] * 4 + [True]
    events = run(game, *rolls, pick=["1", "2", "3", "4", "5"], stop=stops)
    assert after(events, "stop") == [
        ev("stop", total=20, canned=True, forced=False),
        ev("fail", reason="nothing-to-claim"),
        moved("canned-worm", seat(0), tile(11)),
    ]


# ----------------------------------------------------------------------------------- claims


def take(value: int) -> Claim:
    return Claim("take", value, None)


STEAL_25 = Claim("steal", 25, 1)


@pytest.mark.parametrize(
    "claim, steal, total, expected",
    [
        ("next-lower", "must", 25, [STEAL_25]),
        ("next-lower", "may", 25, [STEAL_25, take(23)]),
        ("any-lower", "must", 25, [STEAL_25]),
        ("any-lower", "may", 25, [STEAL_25, take(22), take(23)]),
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
    ],
)
def test_claims(claim, steal, total, expected):
    stacks = [[30], [24, 25], [13]]
    game = midgame(EXTRAWURM, stacks, grill=[11, 22, 23, 26], claim=claim, steal=steal)
    assert claims_of_total(game, 0, total) == expected


def test_exact_only_can_be_any_tile():
    game = midgame(EXTRAWURM, [[], [25]], grill=[22, 23, 24], exact_only=[23, 25])
    assert claims_of_total(game, 0, 23) == [take(23)]
    assert claims_of_total(game, 0, 25) == [take(24)]
    game.grill.remove(24)
    assert claims_of_total(game, 0, 25) == [take(22)]


def test_stealing_brings_the_specialist_of_the_victim():
    game = midgame(EXTRAWURM, [[], [22, 25]], held={1: "apple"})
    assert run(game, "wwwww123")[2:] == [
        ev("stop", total=25, canned=False, forced=False),
        ev("steal", tile=25, from_=1),
        moved("apple", seat(1), seat(0)),
    ]
    assert game.stacks == [[25], [22]]


# ------------------------------------------------------------------------------ the sitting hen


def test_the_hen_is_stolen_in_place_of_the_tile():
    game = midgame(EXTRAWURM, [[], [25]], held={1: "sitting-hen"})
    assert run(game, "wwwww123")[3:] == [
        ev("steal-hen", from_=1),
        moved("sitting-hen", seat(1), seat(0)),
    ]
    assert game.stacks == [[], [25]]


def test_a_stolen_hen_is_a_second_specialist():
    kept = midgame(EXTRAWURM, [[], [25]], held={0: "apple", 1: "sitting-hen"})
    assert run(kept, "wwwww123")[3:] == [
        ev("steal-hen", from_=1),
        moved("sitting-hen", seat(1), seat(0)),
        moved("apple", seat(0), tile(11)),
    ]
    declined = midgame(EXTRAWURM, [[], [25]], held={0: "apple", 1: "sitting-hen"})
    assert run(declined, "wwwww123", keep_new_specialist=[False])[3:] == [
        ev("steal-hen", from_=1),
        moved("sitting-hen", seat(1), tile(11)),
    ]
    assert declined.held == [["apple"], []]


def test_nobody_steals_a_hen_from_an_exact_only_tile():
    game = midgame(EXTRAWURM, [[], [25, 13]], held={1: "sitting-hen"}, steal="may")
    assert claims_of_total(game, 0, 13) == []


def test_a_hen_may_be_left_alone_where_stealing_is_no_must():
    game = midgame(EXTRAWURM, [[], [25]], held={1: "sitting-hen"}, steal="may")
    assert claims_of_total(game, 0, 25) == [Claim("steal-hen", None, 1), take(24)]


@pytest.mark.parametrize("rules", [EXTRAWURM, MANUAL_EXTRAWURM])
def test_a_fail_costs_only_the_hen(rules):
    game = midgame(rules, [[11, 30], []], held={0: "sitting-hen"})
    assert bust(game) == [
        ev("fail", reason="no-new-face"),
        moved("sitting-hen", seat(0), tile(13)),
    ]
    over_exact_only = midgame(rules, [[30, 11], []], held={0: "sitting-hen"})
    assert bust(over_exact_only) == [
        ev("fail", reason="no-new-face"),
        moved("sitting-hen", seat(0), tile(13)),
    ]


def test_a_fail_without_tiles_leaves_the_hen():
    game = midgame(EXTRAWURM, [[], []], held={0: "sitting-hen"})
    assert bust(game) == [ev("fail", reason="no-new-face")]
    flips = midgame(MANUAL_EXTRAWURM, [[], []], held={0: "sitting-hen"}, on_tile={36: "weasel"})
    assert bust(flips) == [
        ev("fail", reason="no-new-face"),
        flip(36),
        moved("weasel", tile(36), tile(11)),
    ]
    assert flips.held[0] == ["sitting-hen"]


# -------------------------------------------------------------------------------------- fails


def test_exact_only_tiles_stay_or_return():
    stays = midgame(MANUAL_EXTRAWURM, [[22, 13], []], held={0: "weasel"})
    assert bust(stays) == [
        ev("fail", reason="no-new-face"),
        flip(36),
        moved("weasel", seat(0), tile(11)),
    ]
    assert stays.stacks[0] == [22, 13]
    returns = midgame(EXTRAWURM, [[22, 13], []], held={0: "apple"})
    assert bust(returns) == [
        ev("fail", reason="no-new-face"),
        ev("return", tile=13),
        flip(36),
        moved("apple", seat(0), tile(11)),
    ]


@pytest.mark.parametrize("flip_without_return", [False, True])
@pytest.mark.parametrize("flip_returned", [False, True])
def test_what_a_fail_flips(flip_without_return, flip_returned):
    options = {"flip_without_return": flip_without_return, "flip_returned": flip_returned}
    classic = PRESETS["classic"]
    failed = ev("fail", reason="no-new-face")
    lower = midgame(classic, [[22], []], **options)
    assert bust(lower) == [failed, ev("return", tile=22), flip(36)]
    highest = midgame(classic, [[36], []], **options)
    assert bust(highest) == [failed, ev("return", tile=36), *([flip(36)] if flip_returned else [])]
    nothing = midgame(classic, [[], []], **options)
    assert bust(nothing) == [failed, *([flip(36)] if flip_without_return else [])]


def test_exact_only_tiles_are_flipped_like_any():
    game = midgame(MANUAL_EXTRAWURM, [[], []], grill=[11, 13])
    assert bust(game) == [ev("fail", reason="no-new-face"), flip(13)]


def test_the_specialist_of_the_flipped_tile_goes_back_last():
    game = midgame(
        EXTRAWURM, [[21], []], held={0: "apple"}, on_tile={11: "canned-worm", 36: "raven"}
    )
    assert bust(game) == [
        ev("fail", reason="no-new-face"),
        ev("return", tile=21),
        flip(36),
        moved("apple", seat(0), tile(13)),
        moved("raven", tile(36), tile(21)),
    ]


def test_no_free_tile_means_out():
    game = midgame(
        EXTRAWURM, [[21], []], grill=[36], held={0: "apple"}, on_tile={36: "canned-worm"}
    )
    assert bust(game)[1:] == [
        ev("return", tile=21),
        flip(36),
        moved("apple", seat(0), tile(21)),
        moved("canned-worm", tile(36), "out"),
    ]


def test_a_fail_that_empties_the_grill_is_settled_completely():
    game = midgame(
        MANUAL_EXTRAWURM, [[], [22]], grill=[36], held={0: "weasel"}, on_tile={36: "raven"}
    )
    assert bust(game)[1:] == [
        flip(36),
        moved("weasel", seat(0), "out"),
        moved("raven", tile(36), "out"),
    ]
    assert not game.grill


# ------------------------------------------------------------------------ bratworms and the raven

DOUBLE_ONE = {"pick": ["1"], "stop": [True]}


def test_double_one_earns_a_bratworm_however_the_turn_ends():
    game = midgame(EXTRAWURM, [[], []])
    assert run(game, "11555www", **DOUBLE_ONE)[1:] == [
        ev("set-aside", face="1", count=2, total=2),
        ev("bratworm", from_="supply", why="double-one"),
        ev("stop", total=2, canned=False, forced=False),
        ev("fail", reason="no-worm"),
    ]
    single = midgame(EXTRAWURM, [[], []])
    assert run(single, "15555www", **DOUBLE_ONE)[2]["event"] == "stop"


def test_an_empty_supply_means_a_rival_without_the_hen():
    def table() -> Game:
        return midgame(
            EXTRAWURM, [[], [], [], []], held={3: "sitting-hen"}, bratworms=[4, 2, 2, 3], supply=0
        )

    robbed = ev("bratworm", from_=1, why="double-one")
    assert run(table(), "11555www", **DOUBLE_ONE)[2] == robbed  # eager: the first after it
    assert run(table(), "11555www", rob=[2], **DOUBLE_ONE)[2] == robbed | {"from": 2}
    for wrong in (0, 3, "supply"):
        with pytest.raises(RuleBroken, match=r"one of \[1, 2\]"):
            run(table(), "11555www", rob=[wrong], **DOUBLE_ONE)


def test_no_bratworm_to_be_had_is_no_event():
    game = midgame(EXTRAWURM, [[], [], []], held={2: "sitting-hen"}, bratworms=[1, 0, 3], supply=0)
    assert run(game, "11555www", **DOUBLE_ONE)[2]["event"] == "stop"


def test_the_raven_pays_and_goes_back():
    game = midgame(EXTRAWURM, [[], []], held={0: "apple"}, on_tile={11: "weasel", 25: "raven"})
    assert run(game, "wwwww123")[3:] == [
        ev("take", tile=25),
        ev("bratworm", from_="supply", why="raven"),
        moved("raven", tile(25), tile(13)),
    ]
    assert game.held[0] == ["apple"]


def test_the_raven_on_the_last_tile_pays_too():
    game = midgame(
        EXTRAWURM, [[], [36]], grill=[23], on_tile={23: "raven"}, bratworms=[0, 1], supply=0
    )
    assert run(game, "wwwww123")[3:] == [
        ev("take", tile=23),
        ev("bratworm", from_=1, why="raven"),
        moved("raven", tile(23), "out"),
    ]


def test_a_raven_with_nothing_to_pay_still_moves():
    game = midgame(EXTRAWURM, [[], []], on_tile={25: "raven"}, supply=0)
    assert run(game, "wwwww123")[4:] == [moved("raven", tile(25), tile(11))]


# ----------------------------------------------------------------------------- two specialists


@pytest.mark.parametrize("grill, back", [([13, 25], tile(13)), ([25], "out")])
def test_a_second_specialist(grill, back):
    def table(**options: Any) -> Game:
        return midgame(
            EXTRAWURM, [[], []], grill=grill, held={0: "apple"}, on_tile={25: "weasel"}, **options
        )

    both_moves = [moved("weasel", tile(25), seat(0)), moved("apple", seat(0), back)]
    assert run(table(), "wwwww123", keep_new_specialist=[True])[4:] == both_moves
    declined = run(table(), "wwwww123", keep_new_specialist=[False])
    assert declined[4:] == [moved("weasel", tile(25), back)]
    unasked = run(table(second_specialist="keep-new"), "wwwww123", keep_new_specialist=[])
    assert unasked[4:] == both_moves


# ----------------------------------------------------------------------------------- the weasel


def test_the_weasel_rescues_a_bust_once():
    game = midgame(EXTRAWURM, [[], []], held={0: "weasel"})
    opening = {"pick": ["worm", "5"], "stop": [False, False]}
    events = run(game, "wwwwww11", "ww", "w5", "5", **opening)
    assert events[2:] == [
        ev("roll", dice=["worm", "worm"], golden=None),
        ev("reroll"),
        ev("roll", dice=["5", "worm"], golden=None),
        ev("set-aside", face="5", count=1, total=35),
        ev("roll", dice=["5"], golden=None),
        ev("fail", reason="no-new-face"),
        moved("weasel", seat(0), tile(11)),
    ]


def test_the_new_roll_counts_even_if_it_shows_nothing_new():
    game = midgame(EXTRAWURM, [[], []], held={0: "weasel"})
    events = run(game, "wwwwwww1", "2", "w", pick=["worm"], stop=[False], reroll=[False, True])
    assert events[3:] == [
        ev("reroll"),
        ev("roll", dice=["worm"], golden=None),
        ev("fail", reason="no-new-face"),
        moved("weasel", seat(0), tile(11)),
    ]


def test_a_weasel_that_rescues_no_bust_still_rerolls_others():
    game = midgame(MANUAL_EXTRAWURM, [[], []], held={0: "weasel"})
    assert bust(game)[0] == ev("fail", reason="no-new-face")
    game = midgame(MANUAL_EXTRAWURM, [[], []], held={0: "weasel"})
    events = run(game, "12345www", "wwwww111", reroll=[True])
    assert [event["event"] for event in events] == [
        "roll",
        "reroll",
        "roll",
        "set-aside",
        "stop",
        "take",
    ]


def test_a_forbidden_reroll_is_rejected():
    trace = run(
        midgame(EXTRAWURM, [[], []], held={0: "weasel"}),
        "wwwwwww1",
        "w",
        "2",
        pick=["worm", "2"],
        stop=[False],
    )
    with pytest.raises(RuleBroken, match=r"expected fail, came .*reroll"):
        read_turn(midgame(MANUAL_EXTRAWURM, [[], []], held={0: "weasel"}), trace)
    with pytest.raises(RuleBroken, match=r"expected fail, came .*reroll"):
        read_turn(midgame(EXTRAWURM, [[], []], held={0: "apple"}), trace)


# -------------------------------------------------------------------------------- the golden die


def test_the_golden_die_keeps_its_identity_until_set_aside():
    game = midgame(EXTRAWURM, [[], []], held={0: "golden-die"})
    events = run(
        game, "5551www2+1", "1ww34+1", "234w", pick=["5", "1", "worm"], stop=[False, False, True]
    )
    assert events == [
        ev("roll", dice=["1", "2", "5", "5", "5", "worm", "worm", "worm"], golden="1"),
        ev("set-aside", face="5", count=3, total=15),
        ev("roll", dice=["1", "3", "4", "worm", "worm"], golden="1"),
        ev("set-aside", face="1", count=2, total=17),
        ev("bratworm", from_="supply", why="double-one"),
        ev("roll", dice=["2", "3", "4", "worm"], golden=None),
        ev("set-aside", face="worm", count=1, total=22),
        ev("stop", total=22, canned=False, forced=False),
        ev("take", tile=22),
    ]


def test_the_golden_die_may_stay_out_of_a_turn():
    game = midgame(EXTRAWURM, [[], []], held={0: "golden-die"})
    assert run(game, "wwwww123", use_golden_die=[False])[0]["golden"] is None


def test_a_special_golden_die_left_alone_is_still_a_die():
    def table() -> Game:
        return midgame(PRESETS["extrawurm-box"], [[], []], held={0: "golden-die"})

    picks = ["worm", "1"]
    stopped = run(table(), "wwww5555+1", "1111+w", pick=picks, stop=[False, True])
    assert after(stopped, "stop") == [
        ev("stop", total=24, canned=False, forced=False),
        ev("take", tile=24),
    ]
    rolled = run(table(), "wwww5555+1", "1111+w", "+1", pick=picks, stop=[False, False])
    assert rolled[-3:] == [
        ev("roll", dice=[], golden="1"),
        ev("fail", reason="no-new-face"),
        moved("golden-die", seat(0), tile(11)),
    ]


def test_a_face_the_golden_die_does_not_have_is_rejected():
    game = midgame(PRESETS["extrawurm-box"], [[], []], held={0: "golden-die"})
    with pytest.raises(RuleBroken, match="golden die"):
        run(game, "wwwww123+2")


# ------------------------------------------------------------------------------------- the end


def ended(game: Game) -> Event:
    tell_end(game)
    return game.events[-1]


def test_ties_are_broken_by_the_highest_tile():
    stacks = [[25, 21], [30], [22, 23, 24], []]
    end = ended(midgame(PRESETS["classic"], stacks, grill=[], supply=0))
    assert end == {
        "event": "end",
        "turns": 0,
        "finished": True,
        "tiles": stacks,
        "bratworms": [0, 0, 0, 0],
        "scores": [3, 3, 3, 0],
        "apple": None,
        "ranks": [2, 1, 3, 4],
        "winners": [1],
    }


def test_ties_are_shared_where_the_rules_say_so():
    stacks = [[21, 25], [30], [22, 23, 24], []]
    end = ended(midgame(PRESETS["french"], stacks, grill=[36], supply=0))
    assert (end["ranks"], end["winners"], end["finished"]) == ([1, 1, 1, 4], [0, 1, 2], False)


def test_no_tile_comes_after_any_tile_and_equals_share_a_rank():
    end = ended(midgame(EXTRAWURM, [[], [11], []], grill=[], bratworms=[1, 0, 1], supply=0))
    assert (end["scores"], end["ranks"], end["winners"]) == ([1, 1, 1], [2, 1, 2], [1])
    end = ended(midgame(EXTRAWURM, [[], [], [11]], grill=[], bratworms=[2, 2, 0], supply=0))
    assert (end["ranks"], end["winners"]) == ([1, 1, 3], [0, 1])


def test_the_apple_counts_only_when_it_is_held():
    held = midgame(EXTRAWURM, [[21], [36]], grill=[], held={0: "apple"}, supply=0, apple_worms=5)
    end = ended(held)
    assert (end["scores"], end["apple"], end["winners"]) == ([6, 4], 0, [0])
    assert ended(midgame(EXTRAWURM, [[21], [36]], on_tile={29: "apple"}))["apple"] is None


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
    ],
)
def test_eager_picks_most_points(roll, aside, face):
    turn = Turn(seat=0, white=len(roll), aside=aside)
    turn.show([{"w": "worm"}.get(letter, letter) for letter in roll], None)
    game = midgame(EXTRAWURM, [[], []])
    assert Eager().pick(game, turn) == face


def test_eager_counts_the_golden_die():
    game = midgame(EXTRAWURM, [[], []], held={0: "golden-die"})
    assert run(game, "44455522+4", stop=[True])[1]["face"] == "4"


def test_eager_steals_before_it_takes():
    game = midgame(EXTRAWURM, [[], [25]], steal="may")
    assert run(game, "wwwww123")[3]["event"] == "steal"
    game = midgame(EXTRAWURM, [[], []], claim="any-lower")
    assert run(game, "wwwww123")[3] == ev("take", tile=25)


WRONG_FOR_EAGER = {
    "pick": (["5555wwww"], {"pick": ["5"]}, {"held": {0: "canned-worm"}}),
    "stops early": (["ww111555"], {"stop": [True]}, {}),
    "rolls on": (["wwwww123", "www"], {"pick": ["worm"], "stop": [False]}, {}),
    "takes low": (["wwwww123"], {"claim": [take(22)]}, {"claim": "any-lower"}),
    "no steal": (["wwwww123"], {"claim": [take(24)]}, {"steal": "may"}),
    "reroll": (["wwwww123", "wwwww123"], {"reroll": [True]}, {"held": {0: "weasel"}}),
    "no reroll": (
        ["wwwwwww1", "w"],
        {"stop": [False], "reroll": [False, False]},
        {"held": {0: "weasel"}},
    ),
    "no golden die": (
        ["wwwww123"],
        {"use_golden_die": [False]},
        {"held": {0: "golden-die"}},
    ),
    "old specialist": (
        ["wwwww111"],
        {"keep_new_specialist": [False]},
        {"held": {0: "apple"}, "on_tile": {24: "weasel"}, "grill": [24]},
    ),
    "robs the wrong one": (
        ["11111111"],
        {"rob": [2]},
        {"bratworms": [0, 1, 1], "supply": 0},
    ),
}
ALSO_WRONG_FOR_RANDOM = {"stops early", "no reroll", "no golden die"}


@pytest.mark.parametrize("bot", ["eager", "random"])
@pytest.mark.parametrize("case", WRONG_FOR_EAGER)
def test_a_bot_that_decides_otherwise_is_rejected(case, bot):
    rolls, decisions, table = WRONG_FOR_EAGER[case]
    stacks: list[list[int]] = [[], [25] if case == "no steal" else [], []]
    game = midgame(EXTRAWURM, stacks, **table)
    before = copy.deepcopy(game)
    trace = run(game, *rolls, **decisions)
    if bot == "eager" or case in ALSO_WRONG_FOR_RANDOM:
        with pytest.raises(RuleBroken, match=r"turn 1: expected .* came"):
            read_turn(before, trace, bot)
    else:
        assert read_turn(before, trace, bot) == trace


@pytest.mark.parametrize(
    "decisions",
    [
        {"pick": ["5"]},
        {"pick": ["6"]},
        {"pick": [None]},
        {"claim": [take(24)]},
        {"claim": [take(26)]},
        {"claim": [Claim("steal", 25, 1)]},
        {"claim": [None]},
    ],
)
def test_illegal_decisions_are_rejected(decisions):
    with pytest.raises(RuleBroken, match=r"turn 1: expected one of .* came"):
        run(midgame(EXTRAWURM, [[], []]), "wwwww123", **decisions)


def test_a_face_cannot_be_set_aside_twice():
    with pytest.raises(RuleBroken, match="one of"):
        run(midgame(EXTRAWURM, [[], []]), "ww123455", "ww1234", pick=["worm"] * 2, stop=[False])


def test_a_claim_cannot_be_declined():
    trace = run(midgame(EXTRAWURM, [[], []]), "wwwww123")
    trace[-1] = ev("fail", reason="nothing-to-claim")
    with pytest.raises(RuleBroken, match="expected take or steal or steal-hen"):
        read_turn(midgame(EXTRAWURM, [[], []]), trace)
