"""Questions about odds: what a person tells, read and checked, and the shapes of the answers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pickosim.engine.dice import FACES
from pickosim.engine.rulebook import MOST_PLAYERS
from pickosim.errors import PickosimError, suggest
from pickosim.games.trace import face_name
from pickosim.rules import SPECIALISTS, WORM, RuleSet, Specialist

if TYPE_CHECKING:
    from pickosim.solver.valuation import Valuation

DICE_CHANGERS: tuple[Specialist, ...] = ("golden-die", "weasel", "canned-worm")
"""Specialists that change what dice can reach."""

UNUSED = "unused"
"""Written for the face of a golden die that is left out of the turn."""


# ------------------------------------------------------------------------------------ questions


@dataclass(frozen=True)
class Question:
    """What a person tells, as written on a command line or in plain values; see `pickosim.odds`."""

    rules: RuleSet
    holds: str | None = None
    grill: str | Iterable[int] | None = None
    own: int | None = None
    rivals: str | Iterable[int | None] | None = None
    on: str | Mapping[str, int] | None = None
    bot: str | Valuation | None = None
    aside: str | Iterable[int | str] | None = None
    roll: str | Iterable[int | str] | None = None
    golden: int | str | None = None
    weasel_used: bool = False

    @property
    def has_dice(self) -> bool:
        """Whether anything is told of the dice of a turn under way."""
        told = (self.aside, self.roll, self.golden)
        return self.weasel_used or any(value is not None for value in told)

    @property
    def has_situation(self) -> bool:
        """Whether anything is told of the table, or who is to value it."""
        told = (self.grill, self.own, self.rivals, self.on, self.bot)
        return any(value is not None for value in told)


@dataclass(frozen=True)
class Situation:
    """A table as the player on turn sees it; tiles and specialists that are nowhere are out."""

    rules: RuleSet
    grill: tuple[int, ...]
    own: int | None
    """The own top tile."""
    rivals: tuple[int | None, ...]
    """Their top tiles, in order of play."""
    holds: Specialist | None
    on: Mapping[Specialist, int]
    """Tiles of the grill on which specialists stand."""

    def as_json(self) -> dict[str, Any]:
        """The situation in plain values."""
        return {
            "rules": self.rules.name,
            "grill": list(self.grill),
            "own": self.own,
            "rivals": list(self.rivals),
            "holds": self.holds,
            "on": dict(self.on),
        }


@dataclass(frozen=True)
class Dice:
    """Dice of a turn under way, by their faces; 0 where the golden die is not."""

    aside: tuple[int, ...]
    """White dice set aside."""
    roll: tuple[int, ...]
    """White dice of the roll to choose from."""
    golden: bool
    """Whether the golden die takes part in this turn."""
    golden_aside: int
    golden_roll: int
    weasel_used: bool

    @property
    def all_aside(self) -> tuple[int, ...]:
        """All dice set aside."""
        return (*self.aside, self.golden_aside) if self.golden_aside else self.aside

    @property
    def all_rolled(self) -> tuple[int, ...]:
        """All dice of the roll; none if the choice is to stop or to roll on."""
        return (*self.roll, self.golden_roll) if self.golden_roll else self.roll


def read_dice_changer(written: str | None) -> Specialist | None:
    """A specialist that matters to the dice alone, in whatever game."""
    if written is None:
        return None
    specialist = _read_name("holds", written)
    if specialist not in DICE_CHANGERS:
        raise PickosimError(
            f"holds: {written} changes no chance of a total; {', '.join(DICE_CHANGERS)} do. "
            "For its part in a turn, tell of the table too: grill, own, rivals."
        )
    return specialist


def read_situation(question: Question) -> Situation:
    """The situation that a question tells of, if the rules allow it."""
    rules = question.rules
    rivals = _read_rivals(question.rivals, rules)
    places: dict[int, str] = {}
    if question.own is not None:
        places[_in_play("own", question.own, rules)] = "your own top tile"
    for number, tile in enumerate(rivals, 1):
        if tile is not None:
            _put_down(places, tile, f"the top tile of rival {number}")
    named = rules.tiles if question.grill is None else _read_tiles("grill", question.grill, rules)
    # A tile on a stack is off the grill: `21-36` is a handy way to say "all others".
    grill = tuple(tile for tile in named if tile not in places)
    if not grill:
        raise PickosimError("grill: no tile lies there, so the game is over.")
    holds = _read_held(question.holds, rules)
    on = _read_standing(question.on, grill, holds, rules)
    return Situation(rules, grill, question.own, rivals, holds, on)


def _put_down(places: dict[int, str], tile: int, place: str) -> None:
    """Note where a tile is, which can be nowhere else."""
    if tile in places:
        raise PickosimError(f"tile {tile} cannot be {places[tile]} and {place} at once.")
    places[tile] = place


def _read_tiles(name: str, written: str | Iterable[int], rules: RuleSet) -> tuple[int, ...]:
    """Tiles in ascending order; a range stands for the tiles in play from one to another."""
    found: list[int] = []
    for part in _parts(written):
        ends = re.fullmatch(r"(\d+)(?:-(\d+))?", part)
        if not ends:
            raise PickosimError(
                f'{name}: "{part}" is no tile and no range; tiles are written as in 21-24,30.'
            )
        low, high = (_in_play(name, int(end), rules) for end in (ends[1], ends[2] or ends[1]))
        if low > high:
            raise PickosimError(f"{name}: {part} is an empty range; {high}-{low} is not.")
        found += [tile for tile in rules.tiles if low <= tile <= high]
    if twice := [tile for tile, times in Counter(found).items() if times > 1]:
        raise PickosimError(f"{name}: tile {twice[0]} is named twice.")
    return tuple(sorted(found))


def _read_rivals(
    written: str | Iterable[int | None] | None, rules: RuleSet
) -> tuple[int | None, ...]:
    """Top tiles, None for a rival without; one such rival if nothing is said."""
    rivals: list[int | None] = []
    for part in _parts("-" if written is None else written):
        if part in ("-", "None"):
            rivals.append(None)
        elif part.isdecimal():
            rivals.append(_in_play("rivals", int(part), rules))
        else:
            raise PickosimError(f'rivals: "{part}" is no tile; "-" is a rival without tiles.')
    if not 1 <= len(rivals) < MOST_PLAYERS:
        raise PickosimError(f"rivals: there are 1 to {MOST_PLAYERS - 1}, not {len(rivals)}.")
    return tuple(rivals)


def _read_standing(
    written: str | Mapping[str, int] | None,
    grill: tuple[int, ...],
    holds: Specialist | None,
    rules: RuleSet,
) -> dict[Specialist, int]:
    """Tiles of the grill on which specialists stand."""
    if isinstance(written, Mapping):
        written = ",".join(f"{name}={tile}" for name, tile in written.items())
    places: dict[Specialist, int] = {}
    for part in _parts(written) if written else []:
        name, _, tile = part.partition("=")
        specialist = _read_specialist("on", name.strip(), rules)
        if not tile.strip().isdecimal():
            raise PickosimError(f"on: {name} stands on a tile, as in {specialist}={grill[0]}.")
        place = _in_play("on", int(tile), rules)
        if place not in grill:
            raise PickosimError(f"on: {name} stands on {place}, which is not on the grill.")
        if specialist == holds or specialist in places:
            raise PickosimError(f"on: {name} cannot be in two places at once.")
        if place in places.values():
            raise PickosimError(f"on: tile {place} has room for one specialist.")
        places[specialist] = place
    return places


def _read_held(written: str | None, rules: RuleSet) -> Specialist | None:
    """The specialist that the player holds."""
    if written == "raven":
        raise PickosimError("holds: nobody ever owns the raven.")
    return None if written is None else _read_specialist("holds", written, rules)


def _read_specialist(name: str, written: str, rules: RuleSet) -> Specialist:
    """A specialist that is in the game."""
    specialist = _read_name(name, written)
    if specialist not in rules.specialists:
        playing = ", ".join(rules.specialists) or "none; those of extrawurm have six"
        raise PickosimError(
            f'{name}: the rules "{rules.name}" have no {written} (specialists: {playing}).'
        )
    return specialist


def _read_name(name: str, written: str) -> Specialist:
    for specialist in SPECIALISTS:
        if specialist == written:
            return specialist
    hint = suggest(written, SPECIALISTS) or f"; there are {', '.join(SPECIALISTS)}."
    raise PickosimError(f'{name}: no specialist is named "{written}"{hint}')


def ranges(tiles: Iterable[int]) -> str:
    """Ascending tiles as 21-24, 30."""
    runs: list[list[int]] = []
    for tile in tiles:
        if runs and tile == runs[-1][-1] + 1:
            runs[-1].append(tile)
        else:
            runs.append([tile])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _in_play(name: str, tile: int, rules: RuleSet) -> int:
    """A tile's value, if it is in play."""
    if tile not in rules.tiles:
        known = ranges(rules.tiles)
        raise PickosimError(f'{name}: the rules "{rules.name}" have no tile {tile}, only {known}.')
    return tile


def _parts(written: str | Iterable[object]) -> list[str]:
    """The entries of a list, whether written with commas or not."""
    entries = written.split(",") if isinstance(written, str) else written
    return [str(entry).strip() for entry in entries]


def read_dice(question: Question, situation: Situation) -> Dice:
    """The dice that a question tells of, if they fit together and into the turn."""
    aside = _parts(question.aside) if question.aside is not None else []
    golden_aside = [face[1:] for face in aside if face.startswith("+")]
    roll = _parts(question.roll) if question.roll is not None else []
    golden = str(question.golden) if question.golden is not None else UNUSED
    if len(golden_aside) > 1:
        raise PickosimError(f"aside: {len(golden_aside)} golden dice are named; there is one.")
    dice = Dice(
        tuple(_read_face("aside", face) for face in aside if not face.startswith("+")),
        tuple(_read_face("roll", face) for face in roll),
        golden=situation.holds == "golden-die" and question.golden != UNUSED,
        golden_aside=_read_face("aside", golden_aside[0]) if golden_aside else 0,
        golden_roll=_read_face("golden", golden) if golden != UNUSED else 0,
        weasel_used=question.weasel_used,
    )
    if dice.weasel_used and situation.holds != "weasel":
        raise PickosimError("weasel-used: only a player who holds the weasel can have used it.")
    if question.golden is not None and situation.holds != "golden-die":
        raise PickosimError("golden: only a player who holds the golden-die has one to roll.")
    _check_golden_die(dice, situation.rules)
    _check_white_dice(dice, situation.rules)
    return dice


def _read_face(name: str, written: str) -> int:
    if written in ("worm", "w"):
        return WORM
    if written not in ("1", "2", "3", "4", "5"):
        raise PickosimError(f'{name}: "{written}" is no face; the faces are 1 to 5 and worm.')
    return int(written)


def _check_golden_die(dice: Dice, rules: RuleSet) -> None:
    """Refuse a golden die that is not in the turn, in two places, or in none."""
    if dice.golden_aside and not dice.golden:
        raise PickosimError(
            f"aside: +{face_name(dice.golden_aside)} is a golden die, but none is in this turn."
        )
    for name, face in (("aside", dice.golden_aside), ("golden", dice.golden_roll)):
        if face and face not in rules.golden_die_faces:
            known = ", ".join(map(face_name, sorted(set(rules.golden_die_faces))))
            raise PickosimError(f"{name}: the golden die has no {face_name(face)}, only {known}.")
    if dice.golden_aside and dice.golden_roll:
        raise PickosimError("golden: the golden die is set aside already.")
    if dice.golden and dice.roll and not (dice.golden_aside or dice.golden_roll):
        raise PickosimError(
            "roll: where is the golden die? In this roll: golden FACE; set aside: +FACE in aside; "
            f"left out of this turn: golden {UNUSED}."
        )


def _check_white_dice(dice: Dice, rules: RuleSet) -> None:
    """Refuse more dice than there are, and a roll of a wrong number of them."""
    left = rules.dice - len(dice.aside)
    if left < 0:
        raise PickosimError(
            f"aside: {len(dice.aside)} white dice are named, but there are {rules.dice}."
        )
    if not dice.all_aside and not dice.all_rolled:
        raise PickosimError("aside: no die is named; tell what is set aside, or what is rolled.")
    if dice.all_rolled and len(set(dice.all_aside)) == FACES:
        raise PickosimError("roll: all six faces are set aside, so the turn is over.")
    if dice.all_rolled and len(dice.roll) != left:
        raise PickosimError(
            f"roll: {len(dice.roll)} white dice are named, but {left} are left to roll: "
            f"{rules.dice} less {len(dice.aside)} set aside."
        )


# -------------------------------------------------------------------------------------- answers


class Chance(NamedTuple):
    """The best chances to stop with a total and a worm, if nothing else counts."""

    total: int
    at_least: float
    exactly: float


class Result(NamedTuple):
    """A result of a turn."""

    result: Literal["take", "steal", "fail", "bratworm"]
    tile: int | None
    rival: int | None
    reason: str | None
    chance: float
    worth: float


class Option(NamedTuple):
    """Something that can be done now, and what it leads to."""

    option: Literal["set-aside", "stop", "roll-on", "roll-again", "fail"]
    face: str | None
    dice: int | None
    total: int
    dice_left: int
    then: Literal["stop", "roll-on"] | None
    tile: int | None
    value: float
    claim: float
    best: bool


@dataclass(frozen=True)
class Totals:
    """What the dice can reach."""

    rules: RuleSet
    holds: Specialist | None
    rows: list[Chance]

    def as_json(self) -> list[dict[str, Any]]:
        """One object a total."""
        return [row._asdict() for row in self.rows]


@dataclass(frozen=True)
class Outlook:
    """What a turn can come to, if it is played best."""

    situation: Situation
    bot: str
    golden_die: bool | None
    """Whether the golden die is used; None without one."""
    value: float
    rows: list[Result]

    def as_json(self) -> dict[str, Any]:
        """The situation, the value of the turn, and one object a result."""
        return {
            **self.situation.as_json(),
            "bot": self.bot,
            "golden_die": self.golden_die,
            "value": self.value,
            "results": [row._asdict() for row in self.rows],
        }


@dataclass(frozen=True)
class Advice:
    """What can be done with the dice."""

    situation: Situation
    bot: str
    dice: Dice
    value: float
    rows: list[Option]

    def as_json(self) -> dict[str, Any]:
        """The situation, the value of the best option, and one object an option."""
        return {
            **self.situation.as_json(),
            "bot": self.bot,
            "value": self.value,
            "options": [row._asdict() for row in self.rows],
        }


Answer = Totals | Outlook | Advice
