"""One turn in the middle of a game, in plain values, for any implementation of the rules.

Tiles are their values, specialists their names, places `at(seat)` or a tile. Dice are words such as
`"ww112345:w 44www1:4 45w"`: each is a roll and, after the colon, the face that is set aside. A
golden die stands after a plus, `"1134ww55+1:1"`, and `"wwww:weasel"` is rolled again with the
weasel. The player rolls as long as there are rolls, and then stops. A question that the script does
not answer is an error, and so is an answer that nobody asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Event = dict[str, Any]
Place = int | dict[str, int]  # a tile's value, or {"seat": s}

SPELLED = {letter: letter for letter in "12345"} | {"w": "worm"}
QUESTIONS = ("use_golden_die", "reroll", "pick", "rob", "stop", "claim", "keep_new_specialist")


# ------------------------------------------------------------------------------- what is given


@dataclass(frozen=True)
class Situation:
    """The second round of a game; tiles that lie nowhere are flipped, specialists nowhere are out."""

    rules: str
    """A preset."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Rule options that differ from it."""
    seat: int = 0
    """Who is to play."""
    stacks: Sequence[Sequence[int]] = ((), ())
    """By seat, bottom first."""
    grill: Iterable[int] | None = None
    """Every tile that is on no stack, unless it says otherwise."""
    holds: str | None = None
    """The specialist of the player."""
    specialists: Mapping[str, Place] = field(default_factory=dict)
    """Where the others are."""
    bratworms: Sequence[int] | None = None
    """By seat, zero by default; the others are in the supply."""
    robs_by_default: bool = False
    """Whether the player leaves open whom to rob, as bots do that have no say in it."""

    @property
    def turn(self) -> int:
        return len(self.stacks) + self.seat + 1

    def grill_of(self, tiles: Iterable[int]) -> list[int]:
        taken = {tile for stack in self.stacks for tile in stack}
        return sorted(set(tiles) - taken if self.grill is None else self.grill)

    def places(self) -> dict[str, Place]:
        """Where each specialist is."""
        return dict(self.specialists) | ({self.holds: at(self.seat)} if self.holds else {})

    def bratworms_of_seats(self) -> list[int]:
        return [0] * len(self.stacks) if self.bratworms is None else list(self.bratworms)


@dataclass(frozen=True)
class Throw:
    """A scripted roll, and what the player does with it."""

    white: list[str]
    golden: str | None
    choice: str | None
    """The face to set aside, or "weasel"."""

    @classmethod
    def read(cls, word: str) -> Throw:
        dice, _, choice = word.partition(":")
        white, _, golden = dice.partition("+")
        faces = sorted(SPELLED[letter] for letter in white)
        return cls(faces, SPELLED.get(golden), SPELLED.get(choice, choice) or None)


class Script:
    """What is still to be rolled and decided, and what has been asked."""

    def __init__(self, dice: str, decisions: Mapping[str, Sequence[Any]]) -> None:
        self.throws = [Throw.read(word) for word in dice.split()]
        self.choices: list[str] = []
        self.decisions = {question: list(answers) for question, answers in decisions.items()}
        self.asked: list[str] = []
        self.offers: dict[str, list[Any]] = {question: [] for question in QUESTIONS}

    def next_throw(self) -> Throw:
        assert not self.choices, f"never came to {self.choices}, asked: {self.asked}"
        assert self.throws, "the script has no more rolls"
        throw = self.throws.pop(0)
        self.choices = [throw.choice] if throw.choice else []
        return throw

    def ask(self, question: str, offer: Any = None) -> Any:
        self.asked.append(question)
        self.offers[question].append(offer)
        if self.decisions.get(question):
            return self.decisions[question].pop(0)
        match question:
            case "use_golden_die":
                return self.throws[0].golden is not None
            case "reroll":
                return self.choices == ["weasel"] and bool(self.choices.pop())
            case "pick" if self.choices:
                return self.choices.pop()
            case "stop":
                return not self.throws
        raise AssertionError(f"nothing is said about {question}, offered: {offer}")

    def left_over(self) -> list[Any]:
        answers = [answer for answers in self.decisions.values() for answer in answers]
        return self.throws + self.choices + answers


# ------------------------------------------------------------------------------ what comes of it


@dataclass
class Happened:
    """What a turn did, and how the table is left."""

    rules: Mapping[str, Any]
    """All options, as they are written in a trace."""
    events: list[Event]
    """As on the trace page; the last is `end` if the game is over."""
    grill: list[int]
    flipped: list[int]
    stacks: list[list[int]]
    specialists: dict[str, Place]
    """Those in the game."""
    bratworms: list[int]
    supply: int
    told: list[Event] = field(default_factory=list)
    """The events without turn and seat, which are the same in all of them."""
    asked: list[str] = field(default_factory=list)
    """Every question, in order: `claim` and `rob` only where there is a choice."""
    offers: dict[str, list[Any]] = field(default_factory=dict)
    """What could be answered each time: faces, tiles, both specialists, seats."""

    @property
    def kinds(self) -> list[str]:
        return [event["event"] for event in self.told]

    @property
    def totals(self) -> list[int]:
        """The total after each set-aside."""
        return [event["total"] for event in self.told if event["event"] == "set-aside"]

    @property
    def outcome(self) -> list[Event]:
        """What came after the dice: `told` from the stop or fail on, up to the end of the game."""
        start = self.kinds.index("stop" if "stop" in self.kinds else "fail")
        return [event for event in self.told[start:] if event["event"] != "end"]

    @property
    def end(self) -> Event:
        """The end of the game, which this turn must have been."""
        assert self.kinds[-1] == "end", self.kinds
        return self.told[-1]

    def ended(self, *names: str) -> tuple[Any, ...]:
        """Some fields of the end."""
        return tuple(self.end[name] for name in names)


class Illegal(Exception):
    """A decision that the implementation refuses."""


Implementation = Callable[[Situation, Script], Happened]


def play_turn(implementation: Implementation, rules: str, dice: str, **given: Any) -> Happened:
    """Play one turn. What else is given are fields of `Situation`, and lists of decisions:

    `claim` (tiles), `keep_new_specialist` (truths), `rob` (seats), or any other question.
    """
    decisions = {question: given.pop(question) for question in QUESTIONS if question in given}
    situation, script = Situation(rules, **given), Script(dice, decisions)
    happened = implementation(situation, script)
    happened.told = [bare(event, situation) for event in happened.events]
    happened.asked, happened.offers = script.asked, script.offers
    assert not script.left_over(), f"never came to it: {script.left_over()}, {script.asked}"
    shown = [event for event in happened.told if event["event"] == "roll"]
    assert shown == [roll(word.partition(":")[0]) for word in dice.split()]
    return happened


def bare(event: Event, situation: Situation) -> Event:
    """An event without turn and seat, which must be the right ones."""
    event = dict(event)
    if event["event"] != "end":
        assert event.pop("turn") == situation.turn, event
    if event["event"] not in ("end", "flip", "specialist"):
        assert event.pop("seat") == situation.seat, event
    return event


# --------------------------------------------------------------- turns whose dice do not matter

BUST = "wwwwwww5:w w"
"""Dice of a turn that fails for want of a new face."""


def reach(total: int) -> str:
    """Dice of a turn that stops by choice with this total, at least one worm in it."""
    for worms in range(1, 8):
        for face in range(1, 6):
            others, remainder = divmod(total - 5 * worms, face)
            if remainder == 0 and 0 < others < 8 - worms and (face > 1 or others == 1):
                first = "w" * worms + str(face) * (8 - worms)
                second = str(face) * others + "w" * (8 - worms - others)
                return f"{first}:w {second}:{face}"
    raise AssertionError(f"no plain turn reaches {total}")


# ------------------------------------------------------------------- events, without turn and seat


def roll(dice: str) -> Event:
    throw = Throw.read(dice)
    return {"event": "roll", "dice": throw.white, "golden": throw.golden}


def reroll() -> Event:
    return {"event": "reroll"}


def set_aside(face: str, count: int, total: int) -> Event:
    return {"event": "set-aside", "face": face, "count": count, "total": total}


def stop(total: int, *, canned: bool = False, forced: bool = False) -> Event:
    return {"event": "stop", "total": total, "canned": canned, "forced": forced}


def take(tile: int) -> Event:
    return {"event": "take", "tile": tile}


def steal(tile: int, victim: int) -> Event:
    return {"event": "steal", "tile": tile, "from": victim}


def steal_hen(victim: int) -> Event:
    return {"event": "steal-hen", "from": victim}


def fail(reason: str = "no-new-face") -> Event:
    """For want of a new face, unless it says otherwise."""
    return {"event": "fail", "reason": reason}


def give_back(tile: int) -> Event:
    return {"event": "return", "tile": tile}


def flip(tile: int) -> Event:
    return {"event": "flip", "tile": tile}


def bratworm(source: str | int = "supply", why: str = "double-one") -> Event:
    return {"event": "bratworm", "from": source, "why": why}


def moves(name: str, origin: Place, target: Place | str) -> Event:
    """A specialist's change of place; a number is a tile."""
    ends = [{"tile": place} if isinstance(place, int) else place for place in (origin, target)]
    return {"event": "specialist", "name": name, "from": ends[0], "to": ends[1]}


def at(seat: int) -> dict[str, int]:
    """The place of a specialist with a player."""
    return {"seat": seat}
