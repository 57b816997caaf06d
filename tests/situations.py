"""Scenarios played by the engine: a game put into a situation, whose dice fall as scripted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scenarios import Event, Happened, Illegal, Place, Script, Situation, Throw

from pickosim.bots.strategy import Strategy
from pickosim.bots.view import Turn
from pickosim.engine.dice import (
    _GOLDEN_RATIO,
    _MIX_1,
    _MIX_2,
    FACES,
    draw_golden_face,
    first_roll,
)
from pickosim.engine.log import events, new_log, with_room
from pickosim.engine.rulebook import NOTHING, SEATS
from pickosim.engine.table import deal, first_fault
from pickosim.engine.tally import end_turns, record
from pickosim.errors import StrategyError
from pickosim.games.batch import Batch
from pickosim.games.match import Match, make_match
from pickosim.games.trace import events_of
from pickosim.rule_files import load_rules
from pickosim.rules import SPECIALISTS, RuleSet

NAMES = {1: "1", 2: "2", 3: "3", 4: "4", 5: "5", 6: "worm"}
NUMBERS = {name: number for number, name in NAMES.items()}


def play_on_engine(situation: Situation, script: Script) -> Happened:
    """Play the turn."""
    rules = load_rules(situation.rules).with_options(situation.options)
    bot = RobsByDefault if situation.robs_by_default else Scripted
    match = make_match([bot(script=script) for _ in situation.stacks], rules)
    try:
        return ScriptedBatch(match, situation, script).turn_of(situation)
    except StrategyError as error:
        raise Illegal(str(error)) from error


class Scripted(Strategy):
    """Decides what its script says of the one game, which it may be asked about twice over."""

    script: Any = None

    def pick(self, turn: Turn) -> Any:
        legal = [NAMES[face] for face in np.flatnonzero(turn.legal[0]).tolist()]
        face = self.script.ask("pick", legal)
        return [NUMBERS.get(face, face)] * len(turn)

    def stop(self, turn: Turn) -> Any:
        return [self.script.ask("stop")] * len(turn)

    def claim(self, turn: Turn) -> Any:
        return [self.script.ask("claim", turn.tiles[turn.claims[0]].tolist())] * len(turn)

    def reroll(self, turn: Turn) -> Any:
        return [self.script.ask("reroll")] * len(turn)

    def use_golden_die(self, turn: Turn) -> Any:
        return [self.script.ask("use_golden_die")] * len(turn)

    def keep_new_specialist(self, turn: Turn) -> Any:
        pair = {"old": SPECIALISTS[turn.holds[0, 0]], "new": SPECIALISTS[turn.new_specialist[0]]}
        return [self.script.ask("keep_new_specialist", pair)] * len(turn)

    def rob(self, turn: Turn) -> Any:
        rivals = np.flatnonzero(turn.robbable[0])
        offer = sorted(((rivals + turn.seat) % turn.players).tolist())
        return [(self.script.ask("rob", offer) - turn.seat) % turn.players] * len(turn)


class RobsByDefault(Scripted):
    """Leaves to the engine whom to rob."""

    rob = Strategy.rob


class ScriptedBatch(Batch):
    """One game of the engine in a situation."""

    def __init__(self, match: Match, situation: Situation, script: Script) -> None:
        super().__init__(match, 0, 1, log=new_log(room=True), check=True)
        self.script = script
        self.rows = np.zeros(1, np.int32)
        deal(self.books, self.table, self.rows, 0, 0, 1, np.uint64(match.seed))
        self._put(situation)
        assert first_fault(self.books, self.table, self.rows) < 0, f"impossible: {situation}"

    def _put(self, situation: Situation) -> None:
        game, values = self.table[0], self.values.tolist()
        worms = self.books["worms"][0]
        grill = [values.index(tile) for tile in situation.grill_of(values)]
        stacks = [[values.index(tile) for tile in stack] for stack in situation.stacks]
        gone = set(range(len(values))).difference(grill, *stacks)
        game["grill"] = sum(1 << tile for tile in grill)
        game["flipped"] = sum(1 << tile for tile in gone)
        for player, stack in enumerate(stacks):
            game["tiles"][player] = len(stack)
            game["worms"][player] = sum(int(worms[tile]) for tile in stack)
            for below, tile in zip([NOTHING, *stack], stack, strict=False):
                game["under"][tile] = below
                game["top"][player] = tile
        game["place"] = NOTHING
        game["holds"] = NOTHING
        for name, place in situation.places().items():
            kind = SPECIALISTS.index(name)
            if isinstance(place, dict):
                game["holds"][place["seat"]] = kind
                game["place"][kind] = SEATS + place["seat"]
            else:
                game["place"][kind] = values.index(place)
        bratworms = situation.bratworms_of_seats()
        game["bratworms"][: self.players] = bratworms
        game["supply"] = self.match.rules.bratworms - sum(bratworms)

    def turn_of(self, situation: Situation) -> Happened:
        self.table["turn"][0] = situation.turn
        self.log = with_room(self.log, 1)
        self.play_turn(situation.seat, self.rows)
        over = np.zeros(1, np.int32)
        ended = end_turns(self.books, self.table, self.rows, over) == 0
        if ended:
            record(self.books, self.table, over, self.tally, self.log)
        trace = events_of(self.match, 0, events(self.log).tolist(), self.tally, 0)[1:]
        return self._happened(trace if ended else trace[:-1])

    def _roll(self, seat: int, rolling: Any) -> None:
        self.load_dice(self.script.next_throw())
        super()._roll(seat, rolling)

    def _answers(self, turn: Turn) -> Any:
        answers = super()._answers(turn)
        rolls_again = {"stop": False, "reroll": True}
        if rolls_again.get(turn.question) == answers[0]:
            self.load_dice(self.script.next_throw())
        return answers

    def load_dice(self, throw: Throw) -> None:
        """Choose the address of the turn's dice so that the next roll falls as scripted."""
        hand = self.hands[0]
        assert len(throw.white) == hand["white"], f"{hand['white']} white dice, not {throw}"
        assert (throw.golden is not None) == hand["golden"], f"golden: {hand['golden']}, {throw}"
        index = int(hand["rolls"])
        for number in numbers_that_draw(self.rolls, throw.white):
            key = key_above(number, index)
            golden = draw_golden_face(self.books["golden_die_faces"][0], key, index)
            if throw.golden is None or golden == NUMBERS[throw.golden]:
                hand["key"] = key
                return
        raise AssertionError(f"the golden die never shows {throw.golden}")

    def _happened(self, told: list[Event]) -> Happened:
        game, values = self.table[0], self.values.tolist()
        stacks = []
        for player in range(self.players):
            stack, tile = [], int(game["top"][player])
            while tile != NOTHING:
                stack.insert(0, values[tile])
                tile = int(game["under"][tile])
            stacks.append(stack)
        specialists: dict[str, Place] = {}
        for name, place in zip(SPECIALISTS, game["place"].tolist(), strict=True):
            if place != NOTHING:
                specialists[name] = {"seat": place - SEATS} if place >= SEATS else values[place]
        return Happened(
            rules=self.match.rules.as_dict(),
            events=told,
            grill=[value for bit, value in enumerate(values) if game["grill"] >> bit & 1],
            flipped=[value for bit, value in enumerate(values) if game["flipped"] >> bit & 1],
            stacks=stacks,
            specialists=specialists,
            bratworms=game["bratworms"][: self.players].tolist(),
            supply=int(game["supply"]),
        )


# ------------------------------------------------------------------------------------ loaded dice

MASK = (1 << 64) - 1


def numbers_that_draw(table: Any, faces: Sequence[str]) -> Iterator[int]:
    """Some random numbers with which the alias table draws this roll."""
    shown = Counter(NUMBERS[face] for face in faces)
    wanted = [shown[face] for face in range(FACES + 1)]
    roll = int(np.flatnonzero((table["counts"] == wanted).all(axis=1))[0])
    first, size = first_roll(len(faces)), first_roll(len(faces) + 1) - first_roll(len(faces))
    bin_start = -(-(roll - first << 32) // size)
    for low in range(1000):
        yield bin_start << 32 | low


def key_above(number: int, index: int) -> np.uint64:
    """The key whose `derive(key, index)` is the number: SplitMix64's steps, backwards."""
    number = unshifted(number, 31) * pow(int(_MIX_2), -1, 1 << 64) & MASK
    number = unshifted(number, 27) * pow(int(_MIX_1), -1, 1 << 64) & MASK
    return np.uint64(unshifted(number, 30) - (index + 1) * int(_GOLDEN_RATIO) & MASK)


def unshifted(number: int, bits: int) -> int:
    """The x for which `x ^ x >> bits` is the number."""
    shifted = number
    while shifted := shifted >> bits:
        number ^= shifted
    return number


# ------------------------------------------------------------------------- rules to ask everything


def every_question() -> RuleSet:
    """Rules by which a table of four is soon asked every question that there is."""
    return load_rules("extrawurm").with_options(
        {
            "name": "every-question",
            "claim": "any-lower",
            "steal": "may",
            "bratworms": 3,
            "specialists": {
                "canned-worm": {"seat": 0},
                "sitting-hen": 21,
                "raven": 23,
                "weasel": {"seat": 1},
                "golden-die": {"seat": 2},
                "apple": 29,
            },
        }
    )


def house_rules() -> list[RuleSet]:
    """Rules with the options that no preset uses, between them every value of each."""
    lost = {"lost_tile": "removed", "steal": "never", "second_specialist": "keep-old"}
    kept = {"lost_tile": "kept", "claim": "exact", "hen_saves_flip": False}
    ones = {"bratworm_ones": 1, "hen_saves_flip": False, "lost_tile": "removed"}
    changes: dict[str, dict[str, Any]] = {
        "lost": lost | {"bratworm_ones": 3},
        "lost-any": lost | {"claim": "any-lower", "flip_without_return": True},
        "kept": kept | {"flip_without_return": True, "steal": "may"},
        "kept-never": kept | {"flip_without_return": True, "steal": "never", "exact_only": []},
        "ones": ones | {"flip_without_return": True, "tiles.36": 100},
    }
    return [
        load_rules("extrawurm").with_options(options | {"name": name, "turn_limit": 200})
        for name, options in changes.items()
    ]
