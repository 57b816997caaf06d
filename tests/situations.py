"""One turn in the middle of a game, played by the engine with given dice and given decisions.

A situation is written in plain values: tiles by their value, specialists by their name, dice as
`"1134ww55"`, with a golden die `"1134ww55+1"`, and a roll made with the weasel `"weasel 1134ww55"`.
The player sets aside the faces of `aside`, one a roll, rolls on as long as there are rolls, and
then stops. A question that the script does not answer is an error, and so is an answer that nobody
asks for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

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
from pickosim.games.batch import Batch
from pickosim.games.match import Match, seat
from pickosim.games.trace import _trace
from pickosim.rules import SPECIALISTS, RuleSet, load_rules

Event = dict[str, Any]
Place = int | dict[str, int]  # a tile's value, or {"seat": s}

NAMES = {1: "1", 2: "2", 3: "3", 4: "4", 5: "5", 6: "worm"}
NUMBERS = {name: number for number, name in NAMES.items()}
LETTERS = {name[0]: number for number, name in NAMES.items()}

QUESTIONS = ("use_golden_die", "reroll", "pick", "rob", "stop", "claim", "keep_new_specialist")


@dataclass(frozen=True)
class Roll:
    """A scripted roll: white faces, the golden die's face or 0, made with the weasel or not."""

    white: tuple[int, ...]
    golden: int
    weasel: bool

    @classmethod
    def read(cls, text: str) -> Roll:
        white, _, golden = text.removeprefix("weasel ").partition("+")
        faces = tuple(LETTERS[letter] for letter in white)
        return cls(faces, LETTERS.get(golden, 0), text.startswith("weasel "))

    @property
    def shown(self) -> tuple[list[str], str | None]:
        """As a trace shows it."""
        return [NAMES[face] for face in sorted(self.white)], NAMES.get(self.golden)


class Script:
    """What is still to be rolled and decided, and what has been asked."""

    def __init__(self, rolls: Sequence[str], decisions: Mapping[str, Sequence[Any]]) -> None:
        self.rolls = [Roll.read(text) for text in rolls]
        self.decisions = {question: list(answers) for question, answers in decisions.items()}
        self.load_dice: Callable[[Roll], None]
        self.asked: list[str] = []
        self.offers: dict[str, list[Any]] = {question: [] for question in QUESTIONS}

    def ask(self, question: str, offer: Any = None) -> Any:
        self.asked.append(question)
        self.offers[question].append(offer)
        match question:
            case "stop":
                if self.rolls:
                    self.load_dice(self.next_roll(weasel=False))
                    return False
                return True
            case "reroll":
                if self.rolls and self.rolls[0].weasel:
                    self.load_dice(self.next_roll(weasel=True))
                    return True
                return False
            case "use_golden_die":
                return self.rolls[0].golden > 0
        assert self.decisions.get(question), f"nothing is said about {question}, offered: {offer}"
        return self.decisions[question].pop(0)

    def next_roll(self, *, weasel: bool) -> Roll:
        assert self.rolls, "the script has no more rolls"
        roll = self.rolls.pop(0)
        assert roll.weasel == weasel, f"with the weasel: {weasel}, but {roll}"
        return roll

    def left_over(self) -> list[Any]:
        return self.rolls + [answer for answers in self.decisions.values() for answer in answers]


class Scripted(Strategy):
    """Decides what its script says, for one game at a time."""

    script: Any = None

    def pick(self, turn: Turn) -> Any:
        legal = [NAMES[face] for face in np.flatnonzero(turn.legal[0]).tolist()]
        return [NUMBERS[self.script.ask("pick", legal)]]

    def stop(self, turn: Turn) -> Any:
        return [self.script.ask("stop")]

    def claim(self, turn: Turn) -> Any:
        return [self.script.ask("claim", turn.tiles[turn.claims[0]].tolist())]

    def reroll(self, turn: Turn) -> Any:
        return [self.script.ask("reroll")]

    def use_golden_die(self, turn: Turn) -> Any:
        return [self.script.ask("use_golden_die")]

    def keep_new_specialist(self, turn: Turn) -> Any:
        pair = {"old": SPECIALISTS[turn.holds[0, 0]], "new": SPECIALISTS[turn.new_specialist[0]]}
        return [self.script.ask("keep_new_specialist", pair)]

    def rob(self, turn: Turn) -> Any:
        rivals = np.flatnonzero(turn.robbable[0])
        offer = sorted(((rivals + turn.seat) % turn.players).tolist())
        return [(self.script.ask("rob", offer) - turn.seat) % turn.players]


@dataclass
class Position:
    """A table in plain values. Tiles that lie nowhere are flipped, specialists nowhere are out."""

    stacks: list[list[int]]
    """Of each seat, bottom first."""
    grill: list[int]
    specialists: dict[str, Place] = field(default_factory=dict)
    bratworms: list[int] = field(default_factory=list)
    """Of each seat; the others are in the supply."""


@dataclass
class Happened:
    """What a turn did."""

    events: list[Event]
    """As on the trace page; the last is `end` if the game is over."""
    asked: list[str]
    """Every question that the player was asked, in order."""
    offers: dict[str, list[Any]]
    """What could be answered each time: faces, tiles, both specialists, seats."""
    grill: list[int]
    flipped: list[int]
    stacks: list[list[int]]
    specialists: dict[str, Place]
    """Those in the game."""
    bratworms: list[int]
    supply: int

    @property
    def told(self) -> list[Event]:
        """The events without turn and seat, which are the same in all of them."""
        return [{k: v for k, v in e.items() if k not in ("turn", "seat")} for e in self.events]

    @property
    def outcome(self) -> list[Event]:
        """What came after the dice: `told` from the stop or fail on, up to the end of the game."""
        kinds = [event["event"] for event in self.told]
        start = kinds.index("stop") if "stop" in kinds else kinds.index("fail")
        return [event for event in self.told[start:] if event["event"] != "end"]

    @property
    def end(self) -> Event | None:
        """The end of the game, if this turn was the last."""
        return self.told[-1] if self.told[-1]["event"] == "end" else None


def play_turn(
    rules: str | RuleSet,
    player: int,
    *,
    stacks: Sequence[Sequence[int]],
    rolls: Sequence[str],
    aside: Sequence[str],
    grill: Sequence[int] | None = None,
    specialists: Mapping[str, Place] | None = None,
    bratworms: Sequence[int] = (),
    **decisions: Sequence[Any],
) -> Happened:
    """Play one turn of `player` from a situation; see the module for how dice are written.

    `grill` is every tile that is on no stack, unless it says otherwise; `specialists` are none.
    `decisions`: `claim` (tiles), `keep_new_specialist` (truths), `rob` (seats).
    """
    rules = load_rules(rules)
    taken = {tile for stack in stacks for tile in stack}
    position = Position(
        [list(stack) for stack in stacks],
        [tile for tile in rules.tiles if tile not in taken] if grill is None else list(grill),
        dict(specialists or {}),
        list(bratworms) or [0] * len(stacks),
    )
    script = Script(rolls, {"pick": aside, **decisions})
    match = seat([Scripted(script=script) for _ in stacks], rules)
    happened = Situation(match, position, script).turn_of(player)
    shown = [(e["dice"], e["golden"]) for e in happened.events if e["event"] == "roll"]
    assert shown == [Roll.read(text).shown for text in rolls]
    assert not script.left_over(), f"never came to it: {script.left_over()}, {happened.asked}"
    return happened


class Situation(Batch):
    """One game of the engine, put into a position; its dice fall as scripted."""

    def __init__(self, match: Match, position: Position, script: Script) -> None:
        super().__init__(match, 0, 1, log=new_log(room=True), check=True)
        self.script = script
        script.load_dice = self.load_dice
        self.rows = np.zeros(1, np.int32)
        deal(self.books, self.table, self.rows, 0, np.uint64(match.seed))
        self._put(position)
        assert first_fault(self.books, self.table, self.rows) < 0, f"impossible: {position}"

    def _put(self, position: Position) -> None:
        game, values = self.table[0], self.values.tolist()
        worms = self.books["worms"][0]
        grill = [values.index(tile) for tile in position.grill]
        stacks = [[values.index(tile) for tile in stack] for stack in position.stacks]
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
        for name, place in position.specialists.items():
            kind = SPECIALISTS.index(name)
            if isinstance(place, dict):
                game["holds"][place["seat"]] = kind
                game["place"][kind] = SEATS + place["seat"]
            else:
                game["place"][kind] = values.index(place)
        game["bratworms"][: self.players] = position.bratworms
        game["supply"] = self.match.rules.bratworms - sum(position.bratworms)

    def turn_of(self, player: int) -> Happened:
        """Play the player's turn, in the second round of the game."""
        turn = self.players + player + 1
        self.table["turn"][0] = turn
        self.log = with_room(self.log, 1)
        self.play_turn(player, self.rows)
        over = np.zeros(1, np.int32)
        ended = end_turns(self.books, self.table, self.rows, over) == 0
        if ended:
            record(self.books, self.table, over, 0, self.tally, self.log)
        trace = _trace(self.match, 0, events(self.log).tolist(), self.tally, 0)[1:]
        told = trace if ended else trace[:-1]
        for event in trace[:-1]:
            assert event["turn"] == turn
            assert event.get("seat", player) == player
        return self._happened(told)

    def _roll(self, seat: int, rolling: Any) -> None:
        self.load_dice(self.script.next_roll(weasel=False))
        super()._roll(seat, rolling)

    def load_dice(self, roll: Roll) -> None:
        """Choose the address of the turn's dice so that the next roll falls as scripted."""
        hand = self.hands[0]
        assert len(roll.white) == hand["white"], f"{hand['white']} white dice are left, not {roll}"
        assert (roll.golden > 0) == hand["golden"], f"{hand['golden']} golden dice, not {roll}"
        index = int(hand["rolls"])
        for number in numbers_that_draw(self.rolls, roll.white):
            key = key_above(number, index)
            golden = draw_golden_face(self.books["golden_die_faces"][0], key, index)
            if golden == roll.golden or not roll.golden:
                hand["key"] = key
                return
        raise AssertionError(f"the golden die never shows {roll.golden}")

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
            events=told,
            asked=self.script.asked,
            offers=self.script.offers,
            grill=[value for bit, value in enumerate(values) if game["grill"] >> bit & 1],
            flipped=[value for bit, value in enumerate(values) if game["flipped"] >> bit & 1],
            stacks=stacks,
            specialists=specialists,
            bratworms=game["bratworms"][: self.players].tolist(),
            supply=int(game["supply"]),
        )


# ------------------------------------------------------------------------------------ loaded dice

MASK = (1 << 64) - 1


def numbers_that_draw(table: Any, faces: Sequence[int]) -> Iterator[int]:
    """Some random numbers with which the alias table draws this roll."""
    shown = Counter(faces)
    wanted = [shown[face] for face in range(FACES + 1)]
    roll = int(np.flatnonzero((table["counts"] == wanted).all(axis=1))[0])
    first, size = first_roll(len(faces)), first_roll(len(faces) + 1) - first_roll(len(faces))
    bin_start = -(-(roll - first << 32) // size)
    for low in range(1000):
        yield bin_start << 32 | low


def key_above(number: int, index: int) -> np.uint64:
    """The key whose `below(key, index)` is the number: SplitMix64's steps, backwards."""
    number = unshifted(number, 31) * pow(int(_MIX_2), -1, 1 << 64) & MASK
    number = unshifted(number, 27) * pow(int(_MIX_1), -1, 1 << 64) & MASK
    return np.uint64(unshifted(number, 30) - (index + 1) * int(_GOLDEN_RATIO) & MASK)


def unshifted(number: int, bits: int) -> int:
    """The x for which `x ^ x >> bits` is the number."""
    shifted = number
    while shifted := shifted >> bits:
        number ^= shifted
    return number


# --------------------------------------------------------------- turns whose dice do not matter


def reach(total: int) -> dict[str, list[str]]:
    """Dice of a turn that stops by choice with this total, at least one worm in it."""
    for worms in range(1, 8):
        for face in range(1, 6):
            others, remainder = divmod(total - 5 * worms, face)
            if remainder == 0 and 0 < others < 8 - worms and (face > 1 or others == 1):
                first = "w" * worms + str(face) * (8 - worms)
                second = str(face) * others + "w" * (8 - worms - others)
                return {"rolls": [first, second], "aside": ["worm", str(face)]}
    raise AssertionError(f"no plain turn reaches {total}")


def bust() -> dict[str, list[str]]:
    """Dice of a turn that fails for want of a new face."""
    return {"rolls": ["wwwwwww5", "w"], "aside": ["worm"]}


# ------------------------------------------------------------------- events, without turn and seat


def stop(total: int, *, canned: bool = False, forced: bool = False) -> Event:
    return {"event": "stop", "total": total, "canned": canned, "forced": forced}


def take(tile: int) -> Event:
    return {"event": "take", "tile": tile}


def steal(tile: int, victim: int) -> Event:
    return {"event": "steal", "tile": tile, "from": victim}


def steal_hen(victim: int) -> Event:
    return {"event": "steal-hen", "from": victim}


def fail(reason: str) -> Event:
    return {"event": "fail", "reason": reason}


def give_back(tile: int) -> Event:
    return {"event": "return", "tile": tile}


def flip(tile: int) -> Event:
    return {"event": "flip", "tile": tile}


def bratworm(source: str | int, why: str = "double-one") -> Event:
    return {"event": "bratworm", "from": source, "why": why}


def moves(name: str, origin: Place, target: Place | str) -> Event:
    """A specialist's change of place; a number is a tile."""
    ends = [{"tile": place} if isinstance(place, int) else place for place in (origin, target)]
    return {"event": "specialist", "name": name, "from": ends[0], "to": ends[1]}


def at(player: int) -> dict[str, int]:
    """The place of a specialist with a player."""
    return {"seat": player}


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
