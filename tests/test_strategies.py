"""Strategies: answers are checked, views are as documented, calibration bots play as specified."""

from __future__ import annotations

import copy
import pickle
import re
import shlex
import sys
from collections import Counter
from functools import cache, cached_property
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
import reference
from pickosim.strategies.random import Random
from scipy.stats import chisquare
from situations import every_question, house_rules
from traces import trace_games

from pickosim.bench import PlainEager
from pickosim.bots.loading import built_in_bots, load_bot
from pickosim.bots.strategy import Strategy
from pickosim.bots.view import METHODS, Turn
from pickosim.engine.rulebook import NOTHING, SEATS
from pickosim.errors import StrategyError
from pickosim.games.batch import Batch, play_games
from pickosim.games.match import make_match
from pickosim.rule_files import PRESETS, load_rules
from pickosim.rules import SPECIALISTS, RuleSet

NUMBERS = ["pick", "claim", "rob"]
TRUTHS = ["use_golden_die", "reroll", "stop", "keep_new_specialist"]
SEED = 2024


def test_every_method_is_tested():
    assert sorted(NUMBERS + TRUTHS) == sorted(METHODS)


def games_of(turn: Turn) -> list[int]:
    return turn._table["game"][turn._rows].tolist()


class Wrapped(Random):
    """Plays like random; every answer passes through `answer`."""

    def answer(self, method: str, turn: Turn) -> Any:
        return getattr(super(), method)(turn)


def _wrapped(method: str) -> Any:
    return lambda self, turn: self.answer(method, turn)


for _method in METHODS:
    setattr(Wrapped, _method, _wrapped(_method))


# ------------------------------------------------------------------------------------- bad answers


def an_unoffered(method: str, turn: Turn) -> tuple[int, int]:
    """The last game in which some answer is illegal, and that answer."""
    if method == "pick":
        options, values = turn.legal[:, 1:], np.arange(1, 7)
    elif method == "claim":
        options, values = turn.claims, turn.tiles
    else:
        options, values = turn.robbable, np.arange(turn.players)
    place = int(np.flatnonzero(~options.all(axis=1))[-1])
    return place, int(values[~options[place]][0])


def what_is_legal(method: str, turn: Turn, place: int) -> str:
    if method == "pick":
        faces = np.flatnonzero(turn.legal[place]).tolist()
        return ", ".join("6 (worm)" if face == 6 else str(face) for face in faces)
    if method == "claim":
        return ", ".join(map(str, turn.tiles[turn.claims[place]].tolist()))
    if method == "rob":
        return ", ".join(map(str, np.flatnonzero(turn.robbable[place]).tolist()))
    return "True, False"


class Spoiler(Wrapped):
    """Gives a wrong answer to one method, the first time that it is called for several games."""

    method: str = "pick"
    wrong: str = "none"

    spoiled: ClassVar[dict[str, Any]] = {}
    """The game and turn that the error should name, and what was legal there."""

    def answer(self, method: str, turn: Turn) -> Any:
        good = super().answer(method, turn)
        if method != self.method:
            return good
        if self.wrong == "raises" and self.spoiled:
            return self.raise_for(self.spoiled["game"], turn, good)
        if self.spoiled or len(turn) < 3:
            return good
        place, bad = self.spoil(turn, np.asarray(good))
        Spoiler.spoiled = {
            "game": games_of(turn)[place],
            "turn": int(turn.number[place]),
            "legal": what_is_legal(method, turn, place),
        }
        return self.raise_for(games_of(turn)[place], turn, good) if self.wrong == "raises" else bad

    def raise_for(self, game: int, turn: Turn, good: Any) -> Any:
        if game in games_of(turn):
            raise ZeroDivisionError("one game is too much for me")
        return good

    def spoil(self, turn: Turn, good: Any) -> tuple[int, Any]:
        """The game that the error should name (by place), and the answer."""
        n, last = len(turn), len(turn) - 1
        match self.wrong:
            case "unoffered":
                place, value = an_unoffered(self.method, turn)
                return place, np.where(np.arange(n) == place, value, good)
            case "negative" | "huge" | "beyond":
                value = {"negative": -1, "huge": 2**62, "beyond": 100}[self.wrong]
                return last, np.where(np.arange(n) == last, value, good.astype(np.int64))
            case "wrapping":  # 2^64 - 250 is 6 as a byte and -250 as a signed number
                return last, np.where(np.arange(n) == last, 2**64 - 250, good.astype(np.uint64))
            case "nan":
                return last, np.where(np.arange(n) == last, np.nan, good.astype(float))
            case "raises":
                return last, None
            case "too long":
                return 0, np.append(good, good[:1])
            case "too short":
                return 0, good[1:]
            case "matrix":
                return 0, good[:, None]
            case "scalar":
                return 0, good[0]
            case "none":
                return 0, None
            case "ragged":
                return 0, [[1], [1, 2]] * n
            case "generator":
                return 0, (value for value in good)
            case "float":
                return 0, good.astype(float)
            case "text":
                return 0, good.astype(str)
            case "object":
                return 0, good.astype(object)
            case "other":  # booleans instead of integers and the reverse
                return 0, good.astype(int) if good.dtype == bool else good > 0
        raise AssertionError(self.wrong)


def error_of(method: str, wrong: str) -> str:
    """The error message; checks everything in it except the legal answers, which are not always known."""
    Spoiler.spoiled = {}
    match = make_match([Spoiler(method=method, wrong=wrong)] * 4, every_question(), SEED)
    with pytest.raises(StrategyError) as caught:
        play_games(match, 300, 150)
    text = str(caught.value)
    game, turn = Spoiler.spoiled["game"], Spoiler.spoiled["turn"]
    assert "Spoiler" in match.specs[0]
    assert text.startswith(f"{match.specs[0]}: {method}() ")
    assert f"(game {game}, turn {turn}, seat {(turn - 1) % 4})" in text
    words = shlex.split(text.partition("To see that game: ")[2])
    assert words[:6] == ["pickosim", "watch", *match.specs]
    assert words[words.index("--game") + 1] == str(game)
    assert words[words.index("--seed") + 1] == str(SEED)
    sets = [words[place + 1] for place, word in enumerate(words) if word == "--set"]
    assert load_rules(words[words.index("--rules") + 1], sets) == match.rules
    return text


WRONG_VALUES = ["unoffered", "negative", "huge", "beyond", "wrapping"]
WRONG_KINDS = ["nan", "float", "text", "object", "other"]
WRONG_SHAPES = ["too long", "too short", "matrix", "scalar", "none", "ragged", "generator"]


@pytest.mark.parametrize("wrong", [*WRONG_VALUES, *WRONG_KINDS, "raises"])
@pytest.mark.parametrize("method", NUMBERS)
def test_a_wrong_number_is_named_with_its_game_and_what_was_legal(method, wrong):
    text = error_of(method, wrong)
    assert f"; legal: {Spoiler.spoiled['legal']} (game" in text


@pytest.mark.parametrize("wrong", [*WRONG_KINDS, "raises"])
@pytest.mark.parametrize("method", TRUTHS)
def test_a_wrong_boolean_is_named_with_its_game_and_what_was_legal(method, wrong):
    text = error_of(method, wrong)
    assert "; legal: True, False (game" in text


@pytest.mark.parametrize("wrong", WRONG_SHAPES)
@pytest.mark.parametrize("method", METHODS)
def test_an_answer_of_the_wrong_shape_is_named_with_its_game(method, wrong):
    text = error_of(method, wrong)
    assert "return an array of shape" in text or "not an array" in text


@pytest.mark.parametrize("method", METHODS)
def test_an_exception_is_reported_and_chained(method):
    Spoiler.spoiled = {}
    match = make_match([Spoiler(method=method, wrong="raises")] * 4, every_question(), SEED)
    said = "raised ZeroDivisionError: one game is too much for me"
    with pytest.raises(StrategyError, match=said) as caught:
        play_games(match, 300, 150)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_sys_exit_in_a_bot_is_reported_like_an_exception():
    class Leaves(Spoiler):
        def stop(self, turn):
            sys.exit(3)

    with pytest.raises(StrategyError, match=r"stop\(\) raised SystemExit: 3.*To see that game"):
        play_games(make_match([Leaves()] * 4, every_question(), SEED), 0, 10)


def test_the_command_in_an_error_reproduces_it():
    """Played alone, that game of that match stops with the same kind of error."""
    text = error_of("pick", "raises")
    words = shlex.split(text.partition("To see that game: ")[2])
    Spoiler.spoiled = {"game": int(words[words.index("--game") + 1])}
    alone = make_match([Spoiler(method="pick", wrong="raises")] * 4, every_question(), SEED)
    with pytest.raises(StrategyError, match="ZeroDivisionError"):
        play_games(alone, Spoiler.spoiled["game"], 1)
    play_games(alone, Spoiler.spoiled["game"] + 1, 1)


class Unusual:
    """Raises an error when converted to an array."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("no array today")


class Converter(Wrapped):
    def answer(self, method: str, turn: Turn) -> Any:
        return Unusual() if method == "stop" else super().answer(method, turn)


def test_an_answer_that_cannot_be_converted_is_an_error_of_the_strategy():
    with pytest.raises(StrategyError, match="no array today"):
        play_games(make_match([Converter()] * 2, "classic", SEED), 0, 5)


def test_good_answers_may_be_lists_and_any_kind_of_arrays():
    """Anything that NumPy reads as integers or booleans is accepted."""

    class Lists(Wrapped):
        def answer(self, method: str, turn: Turn) -> Any:
            return super().answer(method, turn).tolist()

    class Bytes(Wrapped):
        def answer(self, method: str, turn: Turn) -> Any:
            good = super().answer(method, turn)
            return good if good.dtype == bool else good.astype(np.uint8)

    class Strided(Wrapped):
        def answer(self, method: str, turn: Turn) -> Any:
            return np.repeat(super().answer(method, turn), 2)[::2]

    class StridedBytes(Bytes):
        def answer(self, method: str, turn: Turn) -> Any:
            return np.repeat(super().answer(method, turn), 2)[::2]

    class BytesSwapped(Wrapped):
        def answer(self, method: str, turn: Turn) -> Any:
            good = super().answer(method, turn)
            return good if good.dtype == bool else good.astype(">u4")

    class ReadOnly(Bytes):
        def answer(self, method: str, turn: Turn) -> Any:
            good = super().answer(method, turn).copy()
            good.flags.writeable = False
            return good

    usual = play_games(make_match([Wrapped()] * 4, every_question(), SEED), 0, 20)
    for kind in (Lists, Bytes, Strided, StridedBytes, BytesSwapped, ReadOnly):
        other = play_games(make_match([kind()] * 4, every_question(), SEED), 0, 20)
        assert all((a == b).all() for a, b in zip(usual, other, strict=True))


# --------------------------------------------------------------------------- what a strategy sees

ARRAYS = [name for name, value in vars(Turn).items() if isinstance(value, cached_property)]
ONLY_IN = {
    "counts": {"pick", "reroll"},
    "legal": {"pick", "reroll"},
    "golden_face": {"pick", "reroll"},
    "no_new_face": {"pick", "reroll"},
    "new_specialist": {"keep_new_specialist"},
}


def can_be_seen(name: str, method: str) -> bool:
    return method in ONLY_IN.get(name, METHODS)


def documented(name: str, turn: Turn) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type, as the first words of the docstring say."""
    text = vars(Turn)[name].__doc__
    found = re.match(r"\((\w+),? ?(\w*)\) (int16|int32|bool)\b", text)
    assert found, f"{name} has no shape and type: {text}"
    sizes = {"n": len(turn), "P": turn.players, "T": len(turn.rules.tiles), "7": 7}
    shape = tuple(sizes[letter] for letter in found.groups()[:2] if letter)
    return shape, np.dtype(found[3])


class Inspector(Wrapped):
    """Looks at everything, in every method."""

    seen: ClassVar[set[tuple[str, str]]] = set()

    def answer(self, method: str, turn: Turn) -> Any:
        for name in ARRAYS:
            if not can_be_seen(name, method):
                assert not hasattr(turn, name), f"{name} in {method}"
                continue
            array = getattr(turn, name)
            shape, dtype = documented(name, turn)
            assert isinstance(array, np.ndarray), name
            assert (array.shape, array.dtype) == (shape, dtype), name
            assert not array.flags.writeable, name
            assert getattr(turn, name) is array, name
            self.seen.add((method, name))
        assert turn.random().shape == (len(turn),)
        assert turn.random().dtype == np.float64
        assert turn.players == 4
        assert turn.rules == every_question()
        return super().answer(method, turn)


def test_views_have_the_documented_shapes_and_types_and_are_read_only():
    Inspector.seen.clear()
    play_games(make_match([Inspector()] * 4, every_question(), SEED), 0, 60)
    assert Inspector.seen == {
        (method, name) for method in METHODS for name in ARRAYS if can_be_seen(name, method)
    }


class Writer(Wrapped):
    """Tries to write into what it is shown."""

    method: str = "pick"

    def answer(self, method: str, turn: Turn) -> Any:
        if method == self.method:
            turn.grill[...] = 0
        return super().answer(method, turn)


@pytest.mark.parametrize("method", METHODS)
def test_writing_into_a_view_is_an_error(method):
    bots = [Writer(method=method) for _ in range(4)]
    with pytest.raises(StrategyError, match=rf"{method}\(\) raised ValueError: .*read-only"):
        play_games(make_match(bots, every_question(), SEED), 0, 60)


class Cheat(Wrapped):
    """Changes its own view so that everything looks legal, then claims the highest tile or robs itself."""

    how: str = "flags"

    def answer(self, method: str, turn: Turn) -> Any:
        if method not in ("claim", "rob"):
            return super().answer(method, turn)
        name = {"claim": "claims", "rob": "robbable"}[method]
        if self.how == "flags":
            getattr(turn, name).flags.writeable = True
            getattr(turn, name)[...] = True
        else:
            setattr(turn, name, np.ones_like(getattr(turn, name)))
        if method == "rob":
            return np.zeros(len(turn), int)
        return turn.tiles[::-1][turn.grill[:, ::-1].argmax(axis=1)]


@pytest.mark.parametrize("how", ["flags", "attribute"])
def test_a_forged_view_makes_nothing_legal(how):
    with pytest.raises(StrategyError):
        play_games(make_match([Cheat(how=how)] * 4, every_question(), SEED), 0, 60)


def looked_at_anew(turn: Turn) -> Turn:
    fresh = copy.copy(turn)
    for name in ARRAYS:
        fresh.__dict__.pop(name, None)
    return fresh


def test_a_forced_write_does_not_change_the_game():
    class Forcer(Wrapped):
        def answer(self, method: str, turn: Turn) -> Any:
            good = super().answer(method, turn)
            for name in ARRAYS:
                if can_be_seen(name, method):
                    array = getattr(turn, name)
                    array.flags.writeable = True
                    keep = array.copy()
                    array[...] = 1
                    assert (getattr(looked_at_anew(turn), name) == keep).all(), name
                    array[...] = keep
            return good

    usual = play_games(make_match([Wrapped()] * 4, every_question(), SEED), 0, 10)
    forced = play_games(make_match([Forcer()] * 4, every_question(), SEED), 0, 10)
    assert all((a == b).all() for a, b in zip(usual, forced, strict=True))


class Comparer(Wrapped):
    """Compares what it sees with the table, game by game, in plain Python."""

    def answer(self, method: str, turn: Turn) -> Any:
        for place, row in enumerate(turn._rows):
            for name, expected in plainly(turn, turn._table[row], turn._hands[row]).items():
                assert getattr(turn, name)[place].tolist() == expected, name
        return super().answer(method, turn)


def plainly(turn: Turn, game: Any, hand: Any) -> dict[str, Any]:
    values = sorted(turn.rules.tiles)
    order = [(turn.seat + step) % turn.players for step in range(turn.players)]
    tops = [int(game["top"][player]) for player in order]
    holds = [int(game["holds"][player]) for player in order]
    worms = [int(game["worms"][player]) for player in order]
    bratworms = [int(game["bratworms"][player]) for player in order]
    apple, hen = SPECIALISTS.index("apple"), SPECIALISTS.index("sitting-hen")
    can = int(hand["can"]) if not hand["aside"] >> 5 & 1 else 0
    standing = {
        int(place): kind
        for kind, place in enumerate(game["place"])
        if turn.rules.specialists and place < SEATS
    }
    return {
        "number": int(game["turn"]),
        "grill": [bool(int(game["grill"]) >> tile & 1) for tile in range(len(values))],
        "tops": [0 if tile == NOTHING else values[tile] for tile in tops],
        "stack_sizes": [int(game["tiles"][player]) for player in order],
        "worms": worms,
        "bratworms": bratworms,
        "supply": int(game["supply"]),
        "holds": [-1 if kind == NOTHING else kind for kind in holds],
        "specialist_on": [standing.get(tile, -1) for tile in range(len(values))],
        "scores": [
            w + b + (turn.rules.apple_worms if kind == apple else 0)
            for w, b, kind in zip(worms, bratworms, holds, strict=True)
        ],
        "exposed": [
            tile != NOTHING
            and values[tile] not in turn.rules.exact_only
            and turn.rules.steal != "never"
            and kind != hen
            for tile, kind in zip(tops, holds, strict=True)
        ],
        "at_risk": at_risk(turn.rules, 0 if tops[0] == NOTHING else values[tops[0]], holds[0]),
        "robbable": [
            step > 0 and bratworms[step] > 0 and holds[step] != hen for step in range(turn.players)
        ],
        "aside": [False, *(bool(hand["aside"] >> bit & 1) for bit in range(6))],
        "total": int(hand["points"]) + can,
        "has_worm": bool(hand["can"] or hand["aside"] >> 5 & 1),
        "dice_left": int(hand["white"]) + int(hand["golden"]),
        "golden_left": bool(hand["golden"]),
        "weasel_left": bool(hand["weasel"]),
        "rolls": int(hand["rolls"]),
    }


def at_risk(rules: RuleSet, top: int, holds: int) -> int:
    """The tile that a fail costs, by the rules page."""
    stays = top in rules.exact_only and not rules.exact_only_returns
    hen = holds == SPECIALISTS.index("sitting-hen")
    return 0 if rules.lost_tile == "kept" or stays or hen else top


ODD_RULES = [pytest.param(rules, id=rules.name) for rules in (every_question(), *house_rules())]


@pytest.mark.parametrize("rules", [*ODD_RULES, *PRESETS])
def test_views_show_the_table(rules):
    play_games(make_match([Comparer()] * 4, rules, SEED), 0, 4)


class BestByHand(Wrapped):
    """Compares `best` with plain Python, for scores with ties and of all sizes."""

    def answer(self, method: str, turn: Turn) -> Any:
        if method in ("pick", "reroll"):
            limits = np.iinfo(np.int16)
            few = [limits.min, limits.min + 1, -1, 0, 1, limits.max - 1, limits.max]
            scores = np.random.default_rng(len(turn)).choice(few, (len(turn), 7)).astype(np.int16)
            for kind in (np.int16, np.float64):
                for face, legal, row in zip(
                    turn.best(scores.astype(kind)), turn.legal, scores.tolist(), strict=True
                ):
                    options = [(row[face], face) for face in range(1, 7) if legal[face]]
                    assert face == max(options, default=(0, 0))[1]
        return super().answer(method, turn)


def test_best_is_the_highest_of_the_best_legal_faces():
    play_games(make_match([BestByHand()] * 4, every_question(), SEED), 0, 60)


@pytest.mark.parametrize("rules", house_rules(), ids=lambda rules: rules.name)
def test_every_bot_plays_by_house_rules(rules):
    names = built_in_bots()
    seatings = [names[:4], names[4:], [names[-1], names[0]]]
    for seating in seatings:
        for trace in trace_games(make_match(seating, rules, SEED), 0, 8, check=True):
            reference.check(trace)


# --------------------------------------------------------------------------- the calibration bots


def test_eager_decides_as_specified():
    """The reference checks every decision of eager."""
    for trace in trace_games(make_match(["eager"] * 4, every_question(), SEED), 0, 40):
        assert reference.JUDGES["eager"]
        reference.check(trace)


def test_by_default_the_richest_is_robbed_and_of_equals_who_plays_soonest():
    """As the engine does it for bots that have no say in it: see the scenarios of the raven."""
    turn = SimpleNamespace(
        robbable=np.array([[0, 1, 1, 1], [0, 0, 1, 1], [0, 1, 1, 0]], bool),
        bratworms=np.array([[9, 2, 2, 2], [0, 5, 1, 3], [0, 1, 1, 5]]),
    )
    assert Strategy.rob(load_bot("eager"), turn).tolist() == [1, 3, 1]


class Watcher(reference.TraceReader):
    """Reads a trace and records each decision: its options, and the one chosen."""

    def __init__(self, trace: list[dict[str, Any]]) -> None:
        super().__init__(trace)
        self.seen: list[tuple[str, int, int]] = []

    def judged(self, decision: str, answer: Any, game: Any, turn: Any, *offer: Any) -> Any:
        options: list[Any]
        match decision:
            case "pick":
                options = turn.new_faces
            case "claim" | "rob":
                options = offer[0]
            case "stop":
                options = [False, True] if reference.claims_on_stop(game, turn) else [False]
            case "reroll":
                options = [False, True] if turn.new_faces else [True]
            case "use_golden_die":
                options = [True]
            case _:
                options = [False, True]
        self.seen.append((decision, len(options), options.index(answer)))
        return answer


@cache
def decisions_of_random() -> Counter[tuple[str, int, int]]:
    """How often each option was taken, of every decision of many games."""
    seen: Counter[tuple[str, int, int]] = Counter()
    match = make_match(["random"] * 4, every_question(), SEED)
    for trace in trace_games(match, 0, 150):
        opening = {name: trace[0][name] for name in ("rules", "players", "seed", "game")}
        watcher = Watcher(trace)
        game = reference.set_up(reference.read_rules(opening["rules"]), 4, watcher)
        reference.play_game(game, opening)
        seen.update(watcher.seen)
    return seen


@pytest.mark.parametrize("decision", [m for m in METHODS if m != "use_golden_die"])
def test_random_takes_every_option_equally_often(decision):
    seen = decisions_of_random()
    tested = 0
    for size in range(2, 20):
        counts = [seen[decision, size, option] for option in range(size)]
        if sum(counts) >= 5 * size:
            assert chisquare(counts).pvalue > 1e-4, (size, counts)
            tested += sum(counts)
    assert tested > 100, f"{decision} was asked {tested} times"


def test_random_always_uses_the_golden_die_and_always_rerolls_a_lost_roll():
    """The trace reader allows only that option and refuses any other answer."""
    seen = decisions_of_random()
    assert seen["use_golden_die", 1, 0] > 100
    assert seen["reroll", 1, 0] > 20


def test_random_never_stops_without_a_claim():
    assert decisions_of_random()["stop", 1, 0] > 1000


# ------------------------------------------------------------------------------- the bot of the benchmark


@pytest.mark.parametrize("players", [2, 5])
@pytest.mark.parametrize("preset", PRESETS)
def test_the_numpy_bot_plays_the_games_of_eager(preset, players):
    table, numpy = (
        make_match(["eager"] * players, preset, 3),
        make_match([PlainEager()] * players, preset, 3),
    )
    for ours, theirs in zip(play_games(table, 0, 500), play_games(numpy, 0, 500), strict=True):
        assert np.array_equal(ours, theirs)
    for ours, theirs in zip(trace_games(table, 0, 10), trace_games(numpy, 0, 10), strict=True):
        assert ours[1:] == theirs[1:], "event by event"


# ------------------------------------------------------------------------------- every built-in bot


@pytest.mark.parametrize("name", built_in_bots())
def test_built_in_bots_play_by_the_rules(name):
    for rules, players in (("classic", 2), (every_question(), 4), ("manual-extrawurm", 3)):
        for trace in trace_games(make_match([name] * players, rules, SEED), 0, 3, check=True):
            reference.check(trace)


@pytest.mark.parametrize("name", built_in_bots())
def test_built_in_bots_can_be_sent_to_workers(name):
    bot = load_bot(name)
    assert pickle.loads(pickle.dumps(bot)) == bot


@pytest.mark.parametrize("name", built_in_bots())
def test_built_in_bots_play_the_same_game_alone(name):
    bots = [name, "random", name, "random"]  # a table for which every bot has what it needs
    match = make_match(bots, "extrawurm", SEED)
    together = play_games(match, 0, 12)
    alone = Batch(match, 7, 1).play()
    for one, other in zip(together, alone, strict=True):
        assert one[7].tolist() == other[0].tolist()
