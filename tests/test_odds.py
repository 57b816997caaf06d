"""Odds: published figures, the solver, the engine's own frequencies, and what a person reads."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from io import BytesIO, TextIOWrapper
from itertools import combinations_with_replacement, product
from math import factorial, prod, sqrt
from typing import Any

import numpy as np
import polars as pl
import pytest
from policies import LookupPolicy, chances, law
from reference import Eager, Game, has_worm, play_turn, read_rules, set_up, total_on_stop
from reference import Turn as ReferenceTurn
from scipy.stats import chisquare

from pickosim.cli import run
from pickosim.engine.dice import POINTS, rolls
from pickosim.engine.log import FAIL_REASONS
from pickosim.engine.rulebook import NOTHING
from pickosim.errors import PickosimError
from pickosim.games.batch import Batch
from pickosim.games.match import make_match
from pickosim.games.positions import position_object
from pickosim.reports.odds_text import answer_lines, bar
from pickosim.rule_files import PRESETS, load_rules
from pickosim.rules import RuleSet, Seat, face_name
from pickosim.solver.graph import Problem
from pickosim.turn_odds import answer, odds

WORM = 6
AT_LEAST = {21: 0.893026737151, 24: 0.748373333870, 30: 0.263789519465, 36: 0.015678145194}
EXACTLY = {21: 0.439596789623, 24: 0.375060188352, 33: 0.050814146831}

SMALL = load_rules("extrawurm-box").with_options(
    {
        "name": "small",
        "dice": 3,
        "tiles": {"6": 1, "9": 1, "10": 2, "11": 2, "12": 3, "13": 4},
        "exact_only": [6],
        "specialists": {"weasel": 9, "golden-die": 10, "canned-worm": 11, "raven": 12},
    }
)
"""Rules with so few dice that every roll can be asked about."""


def results(frame: pl.DataFrame) -> pl.DataFrame:
    """Without the bratworm, which comes on top."""
    return frame.filter(pl.col("result") != "bratworm")


def value(frame: pl.DataFrame) -> float:
    return float((frame["chance"] * frame["worth"]).sum())


# ------------------------------------------------------------------------------- the dice alone


@pytest.mark.parametrize(
    ("column", "figures"),
    [("at_least", AT_LEAST), ("exactly", EXACTLY)],
    ids=["at least", "exactly"],
)
def test_published_chances(column: str, figures: dict[int, float]) -> None:
    found = dict(odds().select("total", column).iter_rows())
    assert list(found) == list(range(15, 41))
    for total, chance in figures.items():
        assert found[total] == pytest.approx(chance, abs=1e-11)


def test_chances_are_the_solver_s() -> None:
    for dice in (4, 8):
        known, found = (
            chances(Problem(dice)),
            odds(load_rules("classic", [f"dice={dice}", "tiles.9=1"])),
        )
        totals = found["total"].to_numpy()
        np.testing.assert_array_equal(found["at_least"], known.at_least[totals])
        np.testing.assert_array_equal(found["exactly"], known.exactly[totals])


@pytest.mark.parametrize("holds", ["golden-die", "weasel", "canned-worm"])
def test_a_specialist_only_helps(holds: str) -> None:
    plain, helped = odds(), odds(holds=holds)
    both = plain.join(helped, on="total", suffix="_helped")
    assert len(both) == len(plain)
    assert (both["at_least_helped"] > both["at_least"]).all()
    assert (both["exactly_helped"] >= both["exactly"]).all()
    assert helped["total"].max() == (40 if holds == "weasel" else 45)


def test_the_golden_die_is_left_out_where_that_is_better() -> None:
    known = [chances(Problem(8)).exactly, chances(Problem(9)).exactly]
    for total, exactly in odds(holds="golden-die").select("total", "exactly").iter_rows():
        without, with_it = (float(k[total]) if total < len(k) else 0.0 for k in known)
        assert exactly == max(without, with_it)


def test_a_canned_worm_on_one_die() -> None:
    """A worm is a 5 without the can, a 5 is a 10 with it, a 1 is a 6."""
    rules = load_rules("classic").with_options({"dice": 1, "tiles": {"5": 1}})
    found = {total: exactly for total, _, exactly in odds(rules, holds="canned-worm").iter_rows()}
    assert found == pytest.approx(dict.fromkeys(range(5, 11), 1 / 6))


# -------------------------------------------------------------------------- totals in mid-turn


@dataclass(frozen=True)
class Dicing:
    """A turn of few dice, played best for one total by trying everything: no table, no graph, no engine."""

    golden_faces: tuple[int, ...]
    can: bool
    rescue: bool
    wanted: int
    exact: bool

    def stop(self, aside: tuple[int, ...]) -> float:
        """Whether stopping with these dice reaches the total."""
        total, worm = sum(min(face, 5) for face in aside), WORM in aside
        if self.can and not worm:
            total, worm = total + 5, True
        return float(worm and (total == self.wanted if self.exact else total >= self.wanted))

    def rolls(self, white: int, golden: bool) -> Iterator[tuple[tuple[int, ...], int]]:
        """All rolls, die by die, each equally likely; the golden die's face apart, 0 if it is not rolled."""
        for shown in product(range(1, 7), repeat=white):
            for face in self.golden_faces if golden else (0,):
                yield shown, face

    @cache  # noqa: B019 (a few objects, for one test)
    def stand(self, aside: tuple[int, ...], white: int, golden: bool, weasel: bool) -> float:
        """The chance with these dice set aside: stop or roll on."""
        over = not (white or golden) or len(set(aside)) == 6
        rolls = [] if over else [self.rolled(aside, *r, weasel) for r in self.rolls(white, golden)]
        return max(self.stop(aside), sum(rolls) / len(rolls) if rolls else 0.0)

    def pick(
        self, aside: tuple[int, ...], shown: tuple[int, ...], gold: int, face: int, weasel: bool
    ) -> float:
        """The chance after setting aside a face."""
        taken = [face] * (shown.count(face) + (gold == face))
        left = len(shown) - shown.count(face)
        return self.stand(tuple(sorted([*aside, *taken])), left, gold not in (0, face), weasel)

    def again(self, aside: tuple[int, ...], shown: tuple[int, ...], gold: int) -> float:
        """The chance after rolling these dice again."""
        rolls = [self.rolled(aside, *r, False) for r in self.rolls(len(shown), gold > 0)]
        return sum(rolls) / len(rolls)

    def rolled(
        self, aside: tuple[int, ...], shown: tuple[int, ...], gold: int, weasel: bool
    ) -> float:
        """The best chance after a roll."""
        new = ({*shown, gold} - {0}) - set(aside)
        ways = [self.pick(aside, shown, gold, face, weasel) for face in new]
        if weasel and (new or self.rescue):
            ways.append(self.again(aside, shown, gold))
        return max(ways, default=0.0)


MID_TURNS: list[dict[str, Any]] = [
    {"aside": "w"},
    {"aside": "55"},
    {"roll": "25w"},
    {"aside": "5", "roll": "ww"},
    {"aside": "5", "roll": "55"},
    {"aside": "5", "holds": "canned-worm"},
    {"roll": "155", "holds": "canned-worm"},
    {"aside": "4", "holds": "weasel"},
    {"aside": "4", "roll": "44", "holds": "weasel"},
    {"aside": "4", "roll": "w4", "holds": "weasel"},
    {"aside": "4", "roll": "w4", "holds": "weasel", "weasel_used": True},
    {"aside": "4", "holds": "golden-die"},
    {"aside": "4+1", "holds": "golden-die"},
    {"aside": "4", "roll": "15", "golden": "1", "holds": "golden-die"},
    {"aside": "4", "holds": "golden-die", "golden": "unused"},
]


@pytest.mark.parametrize("rescues", [True, False])
@pytest.mark.parametrize("dice", MID_TURNS, ids=str)
def test_totals_in_mid_turn_by_trying_everything(dice: dict[str, Any], rescues: bool) -> None:
    rules = SMALL.with_options({"weasel_rescues_bust": rescues})
    faces = {
        name: ["12345w".index(face) + 1 for face in dice.get(name, "").replace("+1", "")]
        for name in ("aside", "roll")
    }
    holds, golden_aside = dice.get("holds"), "+1" in dice.get("aside", "")
    aside = tuple(sorted([*faces["aside"], *([1] if golden_aside else [])]))
    golden = holds == "golden-die" and dice.get("golden") != "unused" and not golden_aside
    weasel = holds == "weasel" and not dice.get("weasel_used")
    frame = odds(rules, **dice, totals=True)
    assert set(frame["total"]) == set(
        range(6, 15 + 1 + 5 * (holds in ("golden-die", "canned-worm")))
    )
    for row in frame.iter_rows(named=True):
        for exact, name in ((False, "at_least"), (True, "exactly")):
            tried = Dicing(
                rules.golden_die_faces, holds == "canned-worm", rescues, row["total"], exact
            )
            shown, gold = (
                tuple(faces["roll"]),
                int(dice["golden"]) if "roll" in dice and golden else 0,
            )
            if "roll" not in dice:
                best = tried.stand(aside, 3 - len(faces["aside"]), golden, weasel)
            elif row["option"] == "set-aside":
                face = WORM if row["face"] == "worm" else int(row["face"])
                best = tried.pick(aside, shown, gold, face, weasel)
            elif row["option"] == "roll-again":
                best = tried.again(aside, shown, gold)
            else:
                best = 0.0
            assert row[name] == pytest.approx(best, abs=1e-12), (row, name)


class Aiming(Eager):
    """A player of the reference game who wants one total, and asks for the odds of it after every roll."""

    def __init__(
        self,
        rules: RuleSet,
        holds: str | None,
        first: tuple[str, str | None],
        wanted: int,
        exact: bool,
    ) -> None:
        super().__init__(random.Random(5))
        self.rules, self.holds, self.wanted, self.exact = rules, holds, wanted, exact
        self.first = ["worm" if face == "w" else face for face in first[0]], first[1]
        self.best = cache(self._best)

    def _best(
        self, aside: tuple[str, ...], roll: tuple[str, ...], golden: str | None, used: bool
    ) -> dict[str, Any]:
        frame = odds(self.rules, holds=self.holds, aside=aside or None, roll=roll or None, golden=golden,
                     weasel_used=used, totals=True)  # fmt: skip
        column = "exactly" if self.exact else "at_least"
        of_total = frame.filter(pl.col("total") == self.wanted).rename({column: "chance"})
        return max(of_total.to_dicts(), key=lambda row: row["chance"])

    def choice(self, game: Game, turn: ReferenceTurn) -> dict[str, Any]:
        if game.rules.dice == turn.white and (turn.golden or self.holds != "golden-die"):
            self.golden = None
        white = [face for face, count in turn.aside.items() for _ in range(count)]
        if self.golden:
            white[white.index(self.golden)] = f"+{self.golden}"
        return self.best(tuple(white), tuple(turn.rolled), turn.rolled_golden, turn.weasel_used)

    def roll(self, game: Game, turn: ReferenceTurn) -> tuple[list[str], str | None]:
        is_first = not turn.aside and not turn.weasel_used
        return self.first if is_first else super().roll(game, turn)

    def reroll(self, game: Game, turn: ReferenceTurn) -> bool:
        return self.choice(game, turn)["option"] == "roll-again"

    def pick(self, game: Game, turn: ReferenceTurn) -> str:
        face = self.choice(game, turn)["face"]
        self.golden = face if turn.rolled_golden == face else self.golden
        return face

    def stop(self, game: Game, turn: ReferenceTurn) -> bool:
        total = total_on_stop(game, turn)
        return has_worm(game, turn) and (
            total == self.wanted if self.exact else total >= self.wanted
        )


@pytest.mark.parametrize(
    ("holds", "first", "wanted", "exact"),
    [
        (None, ("1355w", None), 18, False),
        (None, ("1355w", None), 18, True),
        ("canned-worm", ("12334", None), 17, False),
        ("weasel", ("1123w", None), 17, False),
        ("golden-die", ("1234w", "1"), 20, True),
    ],
)
def test_totals_in_mid_turn_in_the_reference_game(
    holds: str | None, first: tuple[str, str | None], wanted: int, exact: bool
) -> None:
    """About as many of 250 turns that begin with that roll and aim at the total get there; 4 standard errors."""
    places = f"specialists={{{holds}={{seat=0}}}}" if holds else "specialists={}"
    rules = load_rules(
        "extrawurm-box", ["dice=5", "tiles={9=1,15=2,20=3,24=4}", "exact_only=[]", places]
    )
    player, hits, turns = Aiming(rules, holds, first, wanted, exact), 0, 250
    for _ in range(turns):
        game = set_up(read_rules(rules.as_dict()), 2, player)
        play_turn(game)
        told = {event["event"]: event for event in game.events}
        reached = "stop" in told and told.get("fail", {}).get("reason") != "no-worm"
        total = told["stop"]["total"] if reached else 0
        hits += total == wanted if exact else total >= wanted
    white = tuple(sorted("worm" if face == "w" else face for face in first[0]))
    chance = player.best((), white, first[1], False)["chance"]
    assert 0.1 < chance < 0.9
    assert abs(hits / turns - chance) < 4 * sqrt(chance * (1 - chance) / turns)


def test_options_of_totals_are_those_of_the_roll() -> None:
    def options(**dice: Any) -> list[tuple[str, str | None]]:
        frame = odds(SMALL, **dice, totals=True).unique(["option", "face"], maintain_order=True)
        return list(frame.select("option", "face").iter_rows())

    assert options(aside="4", roll="w4") == [("set-aside", "worm")]
    assert options(aside="4", roll="44") == [("fail", None)]
    weasel = options(aside="4", roll="44", holds="weasel")
    assert weasel == [("roll-again", None)]


# ------------------------------------------------------------------------- a turn in a situation


def test_worms_of_the_first_turn() -> None:
    frame = odds(bot="expected")
    assert value(frame) == pytest.approx(1.64472967404, abs=1e-10)
    assert frame.filter(pl.col("result") == "take")["tile"].to_list() == list(range(21, 37))
    assert frame.filter(pl.col("result") == "fail")["reason"].to_list() == list(FAIL_REASONS)
    assert frame.filter(pl.col("result") == "fail")["worth"].to_list() == [0, 0, 0]


def test_worms_of_a_turn_with_two_at_risk() -> None:
    """On the full grill, so the tile at risk is one more: 37, which claims like 36 from anywhere."""
    rules = load_rules("classic", ["tiles.37=2"])
    frame = odds(rules, own=37, grill="21-36")
    assert value(frame) == pytest.approx(1.263222198, abs=1e-9)
    assert set(frame.filter(pl.col("result") == "fail")["worth"]) == {-2}


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("bot", ["expected", "winner", "expected:rival=0.2,cover=0.5"])
def test_chances_add_up_and_so_does_the_value(preset: str, bot: str) -> None:
    rules = load_rules(preset)
    given: list[dict[str, Any]] = [{}, {"own": 24, "rivals": "27,-,30"}, {"grill": "21-24,33"}]
    if rules.specialists:
        given += [{"holds": holds, "own": 25} for holds in ("weasel", "golden-die", "canned-worm")]
        given += [{"holds": "sitting-hen", "own": 11, "on": "raven=23,weasel=25", "rivals": [36]}]
    for situation in given:
        found = answer(rules, bot=bot, **situation)
        frame = odds(rules, bot=bot, **situation)
        assert results(frame)["chance"].sum() == pytest.approx(1, abs=1e-12)
        assert value(frame) == pytest.approx(found.value, abs=1e-12)
        assert (frame["result"] == "bratworm").any() == (rules.bratworms > 0)


def test_steals() -> None:
    frame = odds(rivals=[27, None, 33], own=24)
    steals = frame.filter(pl.col("result") == "steal")
    assert steals.select("tile", "rival", "worth").rows() == [(27, 1, 4.0), (33, 3, 8.0)]
    assert steals["chance"].min() > 0
    assert 24 not in frame["tile"]


def test_nothing_is_stolen_where_nobody_steals() -> None:
    usual, never = (
        odds(load_rules("classic", [f"steal={steal}"]), rivals=[27, 33])
        for steal in ("may", "never")
    )
    assert "steal" in usual["result"] and "steal" not in never["result"]
    assert 27 not in never["tile"]
    assert value(never) < value(usual)


def test_only_exact_totals_claim_where_the_rules_say_so() -> None:
    """With a single tile on the grill, the chance to claim it is that of its total."""
    rules = load_rules("classic", ["claim=exact"])
    for tile in (21, 30, 36):
        found = odds(rules, grill=[tile])
        taken = found.filter(pl.col("result") == "take")
        assert taken["tile"].to_list() == [tile]
        assert taken["chance"].item() == pytest.approx(chances(Problem()).exactly[tile])


@pytest.mark.parametrize(("lost_tile", "worth"), [("returned", -2), ("removed", -2), ("kept", 0)])
def test_what_a_fail_costs(lost_tile: str, worth: float) -> None:
    found = odds(load_rules("classic", [f"lost_tile={lost_tile}"]), own=28)
    assert found.filter(pl.col("result") == "fail")["worth"].to_list() == [worth] * 3


STATED = "expected:canned_worm=1,sitting_hen=1.5,weasel=0.5,golden_die=0.5,apple=1"
"""A bot whose worths of specialists are easy to add up."""


@pytest.mark.parametrize(
    ("rule", "apple", "golden_die"), [("choose", 0.5, 0), ("keep-new", 0.5, 0), ("keep-old", 0, 0)]
)
def test_what_a_second_specialist_is_worth(rule: str, apple: float, golden_die: float) -> None:
    rules = load_rules("extrawurm", [f"second_specialist={rule}"])
    on = {"apple": 29, "golden-die": 27}
    held = dict(odds(rules, holds="weasel", on=on, bot=STATED).select("tile", "worth").iter_rows())
    assert (held[29], held[27]) == (3 + apple, 2 + golden_die)
    none = dict(odds(rules, on=on, bot=STATED).select("tile", "worth").iter_rows())
    assert (none[29], none[27]) == (3 + 1, 2 + 0.5)


def test_a_second_specialist_that_is_worse() -> None:
    worth = {}
    for rule in ("choose", "keep-new", "keep-old"):
        rules = load_rules("extrawurm", [f"second_specialist={rule}"])
        found = odds(rules, holds="sitting-hen", on={"weasel": 25}, bot=STATED)
        worth[rule] = dict(found.select("tile", "worth").iter_rows())[25]
    assert worth == {"choose": 2, "keep-new": 2 + 0.5 - 1.5, "keep-old": 2}


def test_fewer_1s_earn_more_bratworms() -> None:
    """Bratworms are worth so much that the turn is all about them."""
    chance = []
    for ones in (1, 2, 3, 8, 9):
        rules = load_rules("extrawurm", [f"bratworm_ones={ones}"])
        found = odds(rules, grill="21-36", bot="expected:bratworm=1000")
        chance.append(found.filter(pl.col("result") == "bratworm")["chance"].item())
    assert chance[0] > chance[1] > chance[2] > chance[3] > chance[4] == 0
    assert chance[3] == pytest.approx(1 / 6**8)


def test_exact_only_tiles_are_taken_but_not_stolen() -> None:
    on_grill = odds("extrawurm", grill="11,13,21-36")
    assert on_grill["tile"].drop_nulls().to_list() == [11, 13, *range(21, 37)]
    stacked = odds("extrawurm", own=13, rivals="11")
    assert stacked["tile"].drop_nulls().to_list() == list(range(21, 37))


def test_what_specialists_are_worth() -> None:
    """By the stated worths: 1 for a bratworm and the apple, 0.5 for each other."""
    frame = odds(
        "extrawurm",
        holds="weasel",
        own=28,
        on={"raven": 23, "apple": 29, "golden-die": 27},
        bot=STATED,
    )
    worth = {tile or result: worth for result, tile, _, _, _, worth in frame.iter_rows()}
    assert worth[22] == 1
    assert worth[23] == 1 + 1
    assert worth[27] == 2
    assert worth[29] == 3 + 1 - 0.5
    assert worth["fail"] == -2 - 0.5
    assert worth["bratworm"] == 1


def test_the_bot_decides_about_the_golden_die() -> None:
    """Left with a 21 that needs exactly 21, nine dice are worse than eight."""
    rules = load_rules("extrawurm", ["exact_only=[11,13,21]"])
    assert answer(rules, holds="golden-die", own=25).golden_die is True
    nine, eight = (chances(Problem(dice)).exactly[21] for dice in (9, 8))
    found = answer(rules, holds="golden-die", grill="21", bot=f"{STATED},bratworm=0")
    assert found.golden_die == (nine >= eight)
    assert found.value == pytest.approx(1.5 * max(nine, eight) - 0.5)


# ---------------------------------------------------------------------- the engine's frequencies


def first_turns(bot: str, rules: RuleSet, games: int) -> dict[int | str, int]:
    """What the first turn of each game came to: a tile's value, or the reason of the fail."""
    match = make_match([bot, "eager"], rules.with_options({"turn_limit": 1}), seed=9)
    batch = Batch(match, 0, games, batch=games)
    tally = batch.play()
    top = batch.table["top"][:, 0]
    taken = np.bincount(top[top != NOTHING], minlength=len(batch.values))
    found: dict[int | str, int] = dict(zip(batch.values.tolist(), taken.tolist(), strict=True))
    return found | {
        reason: int(tally.counter(f"fails_{reason.replace('-', '_')}").sum())
        for reason in FAIL_REASONS
    }


def agree(found: dict[int | str, int], expected: dict[int | str, float]) -> None:
    """Chi-square of 1 in 10,000; results too rare for it are pooled."""
    games = sum(found.values())
    assert sum(expected.values()) == pytest.approx(1, abs=1e-12)
    assert all(count == 0 for key, count in found.items() if not expected.get(key))
    common = [key for key, chance in expected.items() if chance * games >= 10]
    observed = [found[key] for key in common]
    wanted = [expected[key] * games for key in common]
    observed, wanted = [*observed, games - sum(observed)], [*wanted, games - sum(wanted)]
    if wanted[-1] < 1:
        observed, wanted = observed[:-1], wanted[:-1]
    scale = sum(observed) / sum(wanted)
    assert chisquare(observed, [count * scale for count in wanted]).pvalue > 1e-4


@pytest.mark.parametrize(
    ("preset", "sets", "games"),
    [
        ("classic", [], 50_000),
        ("manual", [], 50_000),
        ("extrawurm", [], 50_000),
        ("extrawurm", ["claim=exact", "bratworm_ones=1"], 50_000),
    ],
)
def test_first_turns_of_expected_in_the_engine(preset: str, sets: list[str], games: int) -> None:
    rules = load_rules(preset, sets)
    on = {name: tile for name, tile in rules.specialists.items() if not isinstance(tile, Seat)}
    law_of_turn = results(odds(rules, bot="expected", on=on))
    keys = [tile or reason for tile, reason in law_of_turn.select("tile", "reason").iter_rows()]
    agree(
        first_turns("expected", rules, games),
        dict(zip(keys, law_of_turn["chance"].to_list(), strict=True)),
    )


def test_first_turns_of_eager_in_the_engine() -> None:
    """Most points, of equals the higher face; stops with a worm from 21 on."""
    points = np.arange(Problem().points)
    stop_at = np.stack([np.zeros(len(points), np.bool_), points >= 21])
    played = law(Problem(), LookupPolicy(most_points(8), stop_at))
    stopped = played.stopped.sum(axis=0)
    expected: dict[int | str, float] = {
        tile: float(stopped[1, tile:].sum() if tile == 36 else stopped[1, tile])
        for tile in range(21, 37)
    }
    reasons = (played.bust.sum(), stopped[0].sum(), stopped[1, :21].sum())
    expected |= {
        reason: float(chance) for reason, chance in zip(FAIL_REASONS, reasons, strict=True)
    }
    agree(first_turns("eager", load_rules("classic"), 200_000), expected)


def most_points(dice: int) -> np.ndarray:
    """(R, 64): face by roll and faces aside, 0 where none is new."""
    counts = rolls(dice)["counts"][:, None, 1:].astype(np.int64)
    new = (counts > 0) & (np.arange(64)[:, None] >> np.arange(6) & 1 == 0)
    score = np.where(new, counts * POINTS[1:] * 10 + np.arange(1, 7), 0)
    return np.where(new.any(axis=-1), score.argmax(axis=-1) + 1, 0).astype(np.uint8)


# ----------------------------------------------------------------------------- options with dice


def throws(dice: int) -> Iterator[tuple[tuple[int, ...], float]]:
    """Every roll of so many dice, with its chance."""
    for faces in combinations_with_replacement(range(1, 7), dice):
        orders = factorial(dice) / prod(factorial(faces.count(face)) for face in range(1, 7))
        yield faces, orders / 6**dice


def best(frame: pl.DataFrame) -> dict[str, Any]:
    """The option that is marked; no other has a higher value."""
    marked = frame.filter("best")
    assert len(marked) == 1
    assert marked["value"][0] == pytest.approx(frame["value"].max(), abs=1e-12)
    return marked.row(0, named=True)


@cache
def after_rolling(
    aside: tuple[str, ...], golden: str | None, **situation: Any
) -> tuple[float, float]:
    """Value and chance of a claim before a roll, from the best options after it."""
    value = claim = 0.0
    golden_faces = SMALL.golden_die_faces if golden == "rolled" else (0,)
    white = SMALL.dice - sum(not face.startswith("+") for face in aside)
    for roll, chance in throws(white):
        for face in golden_faces:
            dice: dict[str, Any] = {"aside": aside or None, "roll": roll_text(roll) or None}
            dice["golden"] = face_name(face) if face else golden
            option = best(odds(SMALL, **dice, **situation))
            value += chance / len(golden_faces) * option["value"]
            claim += chance / len(golden_faces) * option["claim"]
    return value, claim


def roll_text(faces: tuple[int, ...]) -> str:
    return ",".join(map(face_name, faces))


@pytest.mark.parametrize(
    ("situation", "golden", "aside"),
    [
        *(({}, None, aside) for aside in [("worm",), ("2",), ("1", "1")]),
        ({"own": 12}, None, ("2",)),
        ({"own": 10, "holds": "weasel"}, None, ("worm",)),
        ({"own": 10, "holds": "weasel", "weasel_used": True}, None, ("2",)),
        *(({"own": 13, "holds": "canned-worm"}, None, aside) for aside in [("worm",), ("2",)]),
        ({"own": 13, "holds": "golden-die"}, "rolled", ("1", "1")),
        ({"holds": "golden-die"}, "unused", ("worm",)),
    ],
    ids=str,
)
def test_rolling_on_is_worth_what_comes_of_it(
    situation: dict[str, Any], golden: str | None, aside: tuple[str, ...]
) -> None:
    now = odds(SMALL, aside=aside, golden="unused" if golden == "unused" else None, **situation)
    value, claim = after_rolling(aside, golden, **situation)
    roll_on = now.filter(pl.col("option") == "roll-on").row(0, named=True)
    assert roll_on["value"] == pytest.approx(value, abs=1e-12)
    assert roll_on["claim"] == pytest.approx(claim, abs=1e-12)


def test_a_golden_die_set_aside_is_gone() -> None:
    situation = {"holds": "golden-die", "own": 13}
    now = odds(SMALL, aside="+worm,worm", **situation)
    assert now["dice_left"].to_list() == [2, 2]
    value, claim = after_rolling(("+worm", "worm"), None, **situation)
    assert now.filter(pl.col("option") == "roll-on")["value"][0] == pytest.approx(value, abs=1e-12)
    assert now.filter(pl.col("option") == "roll-on")["claim"][0] == pytest.approx(claim, abs=1e-12)


@pytest.mark.parametrize("situation", [{}, {"own": 12}, {"own": 9, "holds": "weasel"}], ids=str)
def test_the_first_rolls_are_worth_what_the_turn_is(situation: dict[str, Any]) -> None:
    turn = odds(SMALL, bot="expected", **situation)
    claims = turn.filter(pl.col("result").is_in(["take", "steal"]))["chance"].sum()
    assert after_rolling((), None, **situation) == pytest.approx((value(turn), claims), abs=1e-12)


def test_options_of_a_roll() -> None:
    frame = odds(aside="worm,worm,4,4", roll=[1, 3, 5, 5])
    assert frame["face"].to_list() == ["1", "3", "5"]
    assert frame["dice"].to_list() == [1, 1, 2]
    assert frame["total"].to_list() == [19, 21, 28]
    assert frame["dice_left"].to_list() == [3, 3, 2]
    assert best(frame)["face"] == "5"
    at_risk = best(odds(aside="worm,worm,4,4", roll=[1, 3, 5, 5], own=36))
    assert (at_risk["then"], at_risk["tile"], at_risk["value"], at_risk["claim"]) == (
        "stop",
        28,
        2,
        1,
    )


def test_stop_or_roll_on() -> None:
    frame = odds(aside="worm,worm,5,5,4,4,3")
    assert frame["option"].to_list() == ["stop", "roll-on"]
    assert frame["tile"].to_list() == [31, None]
    assert frame["claim"].to_list() == [1, pytest.approx(1 / 3)]
    assert best(frame)["option"] == "stop"


def test_where_the_turn_is_over_there_is_only_the_stop() -> None:
    frame = odds(aside="worm,worm,5,5,4,4,4,4")
    assert frame.select("option", "total", "dice_left", "tile").rows() == [("stop", 36, 0, 36)]
    six_faces = odds(aside="worm,5,4,3,2,1")
    assert six_faces.select("option", "total", "dice_left", "value").rows() == [("stop", 20, 2, 0)]


def test_a_roll_without_a_new_face() -> None:
    bust = {"aside": "worm,worm,4,4", "roll": "4,4,worm,worm", "own": 25}
    assert odds(**bust).select("option", "value", "best").rows() == [("fail", -2, True)]
    saved = odds("extrawurm", holds="weasel", **bust)
    assert saved.select("option", "best").rows() == [("fail", False), ("roll-again", True)]
    lost = odds("manual-extrawurm", holds="weasel", **bust)
    assert lost["option"].to_list() == ["fail"]
    used = odds("extrawurm", holds="weasel", weasel_used=True, **bust)
    assert used["option"].to_list() == ["fail"]


def test_two_ones_bring_a_bratworm() -> None:
    roll = {"aside": "worm,worm,5,5,4", "roll": "1,1,3"}
    classic, extra = (
        dict(odds(rules, **roll).select("face", "value").iter_rows())
        for rules in ("classic", "extrawurm")
    )
    assert extra["1"] == pytest.approx(classic["1"] + 1)


def test_the_can_counts_until_a_worm_is_set_aside() -> None:
    frame = odds("extrawurm", holds="canned-worm", aside="5,5", roll="worm,4,4,4,1,2")
    totals = dict(frame.select("face", "total").iter_rows())
    assert totals == {"1": 16, "2": 17, "4": 27, "worm": 15}


# ------------------------------------------------------------------------------ the command line


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(["odds", *arguments]) == 0
    return capsys.readouterr().out


ROLL = ("--aside", "worm,worm,4,4", "--roll", "1,3,5,5")


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--holds", "canned-worm"),
        ("--own", "24", "--rivals", "27,-,30,31,32,33", "--grill", "21-23,25,28,34-36"),
        ("--rules", "extrawurm", "--holds", "golden-die", "--on", "weasel=25,raven=23,apple=29"),
        ROLL,
        ("--rules", "extrawurm", "--holds", "weasel", *ROLL),
        ("--aside", "worm,worm,5,5,4,4,3"),
    ],
    ids=str,
)
def test_tables_fit_into_80_columns(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    lines = printed(capsys, *arguments).splitlines()
    assert 3 <= len(lines) <= 40
    # A position stays in one line, to be copied.
    assert max(len(line) for line in lines if not line.startswith("position: ")) <= 80


def test_the_table_of_totals(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys).splitlines()
    assert lines[0].startswith("21 or more, the lowest tile, in 89 of 100 cases")
    assert lines[1] == "Best chance to stop with a worm at each total: 8 dice"
    assert lines[2].split() == ["total", "at", "least", "exactly"]
    assert lines[12] == "   24   74.84 %  ██████████████████        37.51 %  █████████"


def test_the_table_of_results(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "--own", "24", "--rivals", "27,-").splitlines()
    assert lines[:3] == [
        "rules classic; grill 21-23, 25-26, 28-36",
        "your top tile: 24; your rivals': 27, none",
        "assumed: all other tiles on the grill (--grill)",
    ]
    assert any(line.startswith("steal 27 from rival 1 ") for line in lines)
    assert any(line.startswith("fail: no worm ") and line.endswith(" -1.000") for line in lines)
    assert lines[3].startswith("This turn brings a tile in ")
    assert lines[4].endswith("you gain it, the rival loses it).")


def test_the_table_of_options(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, *ROLL).splitlines()
    assert " ".join(lines[2:4]) == (
        "assumed: all tiles on the grill (--grill), no tile of yours at risk (--own), one "
        "rival without tiles (--rivals)"
    )
    assert lines[4] == "set aside: 4 4 worm worm; rolled: 1 3 5 5"
    assert lines[5:7] == [
        "Keep the 5s and roll on: worth 2.28 worms on average, a tile in 75 of 100 cases.",
        "Keeping the 3 and rolling on is worth 1.44.",
    ]
    assert [line[:1] for line in lines[9:12]] == ["→", " ", " "]
    assert lines[12] == "position: 21-36 -/- 0 rules classic; aside ww44; roll 1355"
    assert lines[9].split()[:5] == ["→", "set", "aside", "2", "×"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            "--rules extrawurm --holds weasel --aside worm --roll 1,1,1,1,1,2,2",
            "roll these dice again",
        ),
        ("--aside worm,worm,worm --roll worm,worm,worm,worm,worm", "No new face: the turn fails."),
        (
            "--aside worm,worm,5,5 --roll 4,4,4,4 --rivals 36",
            "and steal tile 36: worth 8.00 worms on average, a tile in 100 of 100 cases. A stolen tile counts twice",
        ),
        ("--aside worm,5 --roll 1,2,3,4,4,4 --bot winner", " to `winner`, a tile in "),
        ("--roll worm,worm,5,5,4,4,4,3 --bot champion", " % to win, a tile in "),
    ],
)
def test_advice_in_a_sentence(
    arguments: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert words.lower() in " ".join(printed(capsys, *arguments.split()).lower().split())


def test_json_of_totals(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(printed(capsys, "--json"))
    assert found == odds().to_dicts()
    assert list(found[0]) == ["total", "at_least", "exactly"]
    found = json.loads(printed(capsys, "--aside", "ww", "--totals", "--json"))
    assert found == odds(aside=["worm", "worm"], totals=True).to_dicts()
    assert [row["total"] for row in found] == list(range(15, 41))


def test_the_tables_of_totals_after_a_roll(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "--aside", "2w,1x4", "--roll", "1 1 3 55", "--totals").splitlines()
    assert lines[0] == "set aside: 4 worm worm; rolled: 1 1 3 5 5"
    assert lines[1].startswith("Keep the 5s: 21 or more, the lowest tile, in 100 of 100 cases")
    assert lines[4].split() == [
        "total",
        "keep",
        "the",
        "1s",
        "keep",
        "the",
        "3",
        "keep",
        "the",
        "5s",
    ]
    assert ["25", "18.33", "%", "34.29", "%", "87.50", "%"] in [line.split() for line in lines]


@pytest.mark.parametrize("aside", ["ww444", "W w 4,4,4", "2w,3x4", "worm,w,4 44", "2xW 3×4"])
def test_dice_as_people_write_them(aside: str) -> None:
    assert odds(aside=aside, roll="135").equals(
        odds(aside=["worm", "worm", 4, 4, 4], roll=[1, 3, 5])
    )


def test_a_2_and_a_worm_are_not_two_worms() -> None:
    assert odds(aside="w2").equals(odds(aside=["worm", 2]))
    assert odds(aside="2w").equals(odds(aside=["worm", "worm"]))


def test_json_of_results(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--rules", "extrawurm", "--own", "24", "--rivals", "-,27", "--on", "raven=23")
    found = json.loads(printed(capsys, *arguments, "--json"))
    frame = odds("extrawurm", own=24, rivals=[None, 27], on={"raven": 23})
    assert found.pop("results") == frame.to_dicts()
    assert found.pop("value") == pytest.approx(value(frame))
    line = found.pop("position")
    assert line == "11,13,21-23,25-26,28-36 24/-/27 0 rules extrawurm; on raven=23"
    assert odds(position=line).equals(frame)
    assert found == {
        "rules": "extrawurm",
        "grill": [11, 13, 21, 22, 23, 25, 26, *range(28, 37)],
        "own": 24,
        "rivals": [None, 27],
        "holds": None,
        "on": {"raven": 23},
        "bot": "expected",
        "golden_die": None,
    }


def test_json_of_options(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(printed(capsys, *ROLL, "--bot", "expected:rival=0.5", "--json"))
    frame = odds(aside="worm,worm,4,4", roll="1,3,5,5", bot="expected:rival=0.5")
    assert found["options"] == frame.to_dicts()
    assert found["value"] == best(frame)["value"]
    assert found["bot"] == "expected:rival=0.5"


def test_every_answer_can_be_printed() -> None:
    for situation in (
        {},
        {"holds": "sitting-hen", "own": 11},
        {"holds": "golden-die", "aside": "worm,+4", "roll": "1,1,2,2,3,3,4"},
        {"holds": "weasel", "roll": "1,1,2,2,3,3,4,4"},
    ):
        assert list(answer_lines(answer("extrawurm", **situation)))


def test_bars() -> None:
    assert [bar(share, 2) for share in (0, 1e-9, 0.25, 0.3, 1)] == ["", "▏", "▌", "▋", "██"]


LINE = "21-23,25-28 30/24 1 rules extrawurm; on raven=23; holds -/weasel; bratworms 1/0 supply 6; aside w4; roll 112235"


def test_a_position_is_the_same_table_as_its_options(tmp_path, capsys, monkeypatch) -> None:
    """In a line, a file or standard input; seen from the seat on turn."""
    frame = odds("extrawurm", grill="21-28", own=24, rivals=[30], on="raven=23", holds="weasel",
                 aside="w4", roll="112235")  # fmt: skip
    assert odds(position=LINE).equals(frame)
    for name, text in (("line.txt", f"{LINE};\n"), ("p.json", json.dumps(position_object(LINE)))):
        (tmp_path / name).write_text(text)
        found = json.loads(printed(capsys, "--position", str(tmp_path / name), "--json"))
        assert found["options"] == frame.to_dicts()
        assert found["position"] == LINE and found["scores"] == [1, 3]
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(LINE.encode())))
    assert printed(capsys, "--position", "-") == printed(capsys, "--position", LINE)
    assert f"position: {LINE}\n" in printed(capsys, "--position", LINE)


def test_dice_and_totals_of_a_position() -> None:
    table, _, _ = LINE.partition("; aside")
    assert odds(position=table, aside="w4", roll="112235").equals(odds(position=LINE))
    same = {"rules": "extrawurm", "holds": "weasel", "totals": True}
    assert odds(position=LINE, totals=True).equals(odds(**same, aside="w4", roll="112235"))
    assert odds(position=table, totals=True).equals(odds(**same))


MISTAKES = [
    (
        ["--position", LINE, "--own", "24", "--rules", "classic", "--set", "dice=7"],
        "position: it has its own set, own; leave these out.",
    ),
    (["--position", "none.json"], "none.json cannot be read (No such file or directory);"),
    (["--position", "21-28 30/24"], "21-28 30/24 cannot be read"),
    (["--position", "21-28 30/24 2"], "seat must be a whole number from 0 to 1, not 2."),
    (["--position", "21-28 30/x 1"], "tiles.1: the rules \"classic\" have no tile 'x'"),
    (["--position", "21-28 30/24 1 asid ww"], 'no "asid"; did you mean "aside"?'),
    (["--position", "21-28 30/24 1 aside"], "aside: write it once and with a value, e.g. "),
    (["--position", "21-28 30/24 1 turn 2; turn 4"], "turn: write it once and with a value"),
    (["--position", "21-28 30/24 1 turn 3"], "turn 3 of 2 players is that of seat 0, not of"),
    (["--position", "21-28 30/24 1 roll 12"], "roll: 2 white dice are given, but 8 are left"),
    (["--position", "21-28 30/24 1 rules extrawurm; weasel gone"], "weasel_used must be true or"),
    (
        ["--position", "21-28 30/24 1 rules extrawurm; on apple=22; holds apple/-"],
        "on: apple cannot be in two places at once.",
    ),
    ("--grill 21-37", 'grill: the rules "classic" have no tile 37, only 21-36.'),
    ("--grill 20-36", 'grill: the rules "classic" have no tile 20, only 21-36.'),
    ("--grill 24-21", "grill: the range 24-21 is empty; write 21-24."),
    ("--grill 21-24,23", "grill: tile 23 is named twice."),
    ("--grill 21,,22", 'grill: write e.g. 21-24,30, not "21,,22".'),
    ("--own 37", 'own: the rules "classic" have no tile 37, only 21-36.'),
    (
        "--rules extrawurm --own 12",
        'own: the rules "extrawurm" have no tile 12, only 11, 13, 21-36.',
    ),
    ("--rivals 30 --grill 30", "the grill is empty, so the game is over; name at least one tile."),
    (
        "--rivals 30,30",
        "tile 30 cannot be both the top tile of rival 1 and the top tile of rival 2.",
    ),
    (
        "--rivals 30 --own 30",
        "tile 30 cannot be both your own top tile and the top tile of rival 1.",
    ),
    ("--rivals x", "rivals: the rules \"classic\" have no tile 'x', only 21-36."),
    ("--rivals -,-,-,-,-,-,-", "rivals: 7 are given; there can be 1 to 6."),
    (
        "--set tiles={21=1,22=1} --own 21 --rivals 22",
        "the grill is empty, so the game is over; name at least one tile.",
    ),
    (
        "--holds apple",
        "holds: apple does not change the odds of a total; only golden-die, weasel, canned-worm do.",
    ),
    ("--holds wesel", 'holds: there is no specialist named "wesel"; did you mean "weasel"?'),
    ("--own 24 --holds weasel", 'holds: the rules "classic" have no weasel (specialists: none;'),
    ("--rules extrawurm --own 24 --holds raven", "holds: no player can hold the raven."),
    ("--on weasel=25", 'on: the rules "classic" have no weasel'),
    ("--rules extrawurm --on weasel", "on: weasel needs a tile to stand on, e.g. weasel=25."),
    ("--rules extrawurm --on weasel=37", 'on: the rules "extrawurm" have no tile 37'),
    (
        "--rules extrawurm --own 25 --on weasel=25",
        "on: weasel stands on tile 25, which is not on the grill.",
    ),
    (
        "--rules extrawurm --on weasel=25,raven=25",
        "on: weasel and raven cannot be in the same place.",
    ),
    ("--rules extrawurm --on weasel=25,weasel=26", "on: weasel cannot be in two places at once."),
    (
        "--rules extrawurm --holds weasel --on weasel=25",
        "on: weasel cannot be in two places at once.",
    ),
    ("--bot eager", "bot: eager does not say what results are worth to it; valuations do, such as"),
    ("--bot expekted", 'named "expekted"'),
    ("--aside worm,7", 'aside: "7" is not a face; the faces are 1 to 5 and worm (w), e.g. ww444.'),
    ("--aside 1,1,1,1,2,2,2,2,3", "aside: 9 white dice are given, but there are only 8."),
    (
        "--aside worm,4 --roll 1,2,3",
        "roll: 3 white dice are given, but 6 are left to roll (8 minus 2 set aside).",
    ),
    (
        "--aside worm,1,2,3,4,5 --roll 1,2",
        "roll: all six faces are set aside, so the turn is over.",
    ),
    ("--weasel-used", "weasel-used: only a player who holds the weasel can have used it;"),
    (
        "--roll 1,1,1,1,1,1,1,1 --golden 2",
        "golden: only a player who holds the golden die can roll it",
    ),
    ("--aside +4", "aside: +4 is the golden die, which is not used in this turn."),
    ("--rules extrawurm --holds golden-die --golden unused", "aside: no dice are given;"),
    (
        "--rules extrawurm --holds golden-die --aside +4,+4",
        "aside: 2 golden dice are given, but there is only one.",
    ),
    (
        "--rules extrawurm --holds golden-die --aside worm --roll 1,2,3,4,5,1,2",
        "roll: the golden die is missing.",
    ),
    (
        "--rules extrawurm --holds golden-die --aside +4 --golden 1",
        "golden: the golden die is already set aside, so it is not in the roll.",
    ),
    (
        "--rules extrawurm-box --holds golden-die --aside +4",
        "aside: the golden die has no 4, only 1, worm.",
    ),
]


@pytest.mark.parametrize(
    ("arguments", "sentence"), MISTAKES, ids=[f"{line}" for line, _ in MISTAKES]
)
def test_mistakes(
    arguments: str | list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["odds", *(arguments.split() if isinstance(arguments, str) else arguments)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert sentence in said.err
    assert said.err.startswith("pickosim: ")
    assert said.err.count("\n") == 1


def test_mistakes_in_a_notebook() -> None:
    with pytest.raises(PickosimError, match="no tile 40"):
        odds(grill=[21, 40])


def test_plain_values_are_read_like_their_text():
    written = odds("extrawurm", grill="21-30", rivals="31,-", on="weasel=25", scores="0,3,0")
    tiles = (tile for tile in np.arange(21, 31))
    values = {"rivals": iter([31, None]), "on": {"weasel": np.int64(25)}, "scores": [0, 3, 0]}
    assert written.equals(odds("extrawurm", grill=tiles, **values))
    assert odds(aside="worm,5").equals(odds(aside=iter(["worm", 5])))


def test_tiles_on_stacks_are_off_the_grill_that_a_range_names():
    frame = odds(grill="21-36", own=24, rivals=[27, 30])
    assert frame.equals(odds(grill="21-23,25,26,28,29,31-36", own=24, rivals=[27, 30]))
    assert 24 not in frame["tile"]
