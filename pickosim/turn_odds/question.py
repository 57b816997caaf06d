"""Questions about odds: the input, parsed and checked, and the types of the answers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pickosim.engine.dice import FACES
from pickosim.errors import PickosimError, suggest
from pickosim.games.trace import face_name
from pickosim.rules import MOST_PLAYERS, SPECIALISTS, WORM, RuleSet, Specialist

if TYPE_CHECKING:
    from pickosim.solver.valuation import Valuation

DICE_CHANGERS: tuple[Specialist, ...] = ("golden-die", "weasel", "canned-worm")
"""Specialists that change which totals the dice can reach."""

UNUSED = "unused"
"""Written instead of a face if the golden die is not used in this turn."""


# ------------------------------------------------------------------------------------ questions


@dataclass(frozen=True)
class Question:
    """The input, as written on a command line or as plain values; see `pickosim.odds`."""

    rules: RuleSet
    holds: str | None = None
    grill: str | Iterable[int] | None = None
    own: int | None = None
    rivals: str | Iterable[int | None] | None = None
    scores: str | Iterable[int] | None = None
    on: str | Mapping[str, int] | None = None
    bot: str | Valuation | None = None
    aside: str | Iterable[int | str] | None = None
    roll: str | Iterable[int | str] | None = None
    golden: int | str | None = None
    weasel_used: bool = False

    @property
    def has_dice(self) -> bool:
        """Whether the dice of the current turn are given."""
        given = (self.aside, self.roll, self.golden)
        return self.weasel_used or any(value is not None for value in given)

    @property
    def has_situation(self) -> bool:
        """Whether anything about the table, or the bot that values it, is given."""
        given = (self.grill, self.own, self.rivals, self.scores, self.on, self.bot)
        return any(value is not None for value in given)


@dataclass(frozen=True)
class Situation:
    """A table as the current player sees it; tiles and specialists not listed are out of the game."""

    rules: RuleSet
    grill: tuple[int, ...]
    own: int | None
    """The player's own top tile."""
    rivals: tuple[int | None, ...]
    """The rivals' top tiles, in order of play."""
    holds: Specialist | None
    on: Mapping[Specialist, int]
    """The grill tiles on which specialists stand."""
    below: tuple[tuple[int, ...], ...] = ()
    """Tiles below the top tiles, by player, if scores are given: some that make up the scores."""

    @property
    def scores(self) -> tuple[int, ...]:
        """Worms on each player's tiles; empty if they are not given."""
        tops = (self.own, *self.rivals)
        return tuple(
            sum(self.rules.tiles[tile] for tile in (*tiles, top) if tile is not None)
            for tiles, top in zip(self.below, tops, strict=False)
        )

    def as_json(self) -> dict[str, Any]:
        """The situation as plain values."""
        return {
            "rules": self.rules.name,
            "grill": list(self.grill),
            "own": self.own,
            "rivals": list(self.rivals),
            "holds": self.holds,
            "on": dict(self.on),
            **({"scores": list(self.scores)} if self.below else {}),
        }


@dataclass(frozen=True)
class Dice:
    """The dice of the current turn, by their faces; 0 if the golden die is not there."""

    aside: tuple[int, ...]
    """White dice set aside."""
    roll: tuple[int, ...]
    """White dice of the current roll."""
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
        """All dice of the current roll; empty if the choice is to stop or to roll on."""
        return (*self.roll, self.golden_roll) if self.golden_roll else self.roll


def read_dice_changer(written: str | None) -> Specialist | None:
    """A specialist that changes the odds of the dice alone, whatever the rules."""
    if written is None:
        return None
    specialist = _read_name("holds", written)
    if specialist not in DICE_CHANGERS:
        raise PickosimError(
            f"holds: {written} does not change the odds of a total; only {', '.join(DICE_CHANGERS)} do. "
            "To see its effect on a turn, describe the table too: grill, own, rivals."
        )
    return specialist


def read_situation(question: Question) -> Situation:
    """The situation that a question describes, if the rules allow it."""
    rules = question.rules
    rivals = _read_rivals(question.rivals, rules)
    places: dict[int, str] = {}
    if question.own is not None:
        places[_in_play("own", question.own, rules)] = "your own top tile"
    for number, tile in enumerate(rivals, 1):
        if tile is not None:
            _put_down(places, tile, f"the top tile of rival {number}")
    named = rules.tiles if question.grill is None else _read_tiles("grill", question.grill, rules)
    # A tile on a stack is not on the grill, so that `21-36` can stand for "all others".
    grill = tuple(tile for tile in named if tile not in places)
    if not grill:
        raise PickosimError(
            "grill: there are no tiles on it, so the game is over; name at least one tile."
        )
    holds = _read_held(question.holds, rules)
    on = _read_standing(question.on, grill, holds, rules)
    situation = Situation(rules, grill, question.own, rivals, holds, on)
    if question.scores is None:
        return situation
    scores = [_read_score(part) for part in _parts(question.scores)]
    return replace(situation, below=_below(situation, scores))


def _read_score(written: str) -> int:
    if not written.isdecimal():
        raise PickosimError(f'scores: "{written}" is not a number of worms; write e.g. 7,4.')
    return int(written)


def _below(situation: Situation, scores: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Tiles below the tops that make up the players' scores, of those that are neither on the grill nor a top."""
    tops = (situation.own, *situation.rivals)
    if len(scores) != len(tops):
        raise PickosimError(
            f"scores: {len(scores)} are given for {len(tops)} players; write yours first, then the rivals'."
        )
    worms = situation.rules.tiles
    lacking = []
    for number, (score, top) in enumerate(zip(scores, tops, strict=True)):
        whose = f"rival {number}" if number else "you"
        if top is None and score:
            raise PickosimError(f"scores: {whose} cannot have {score} worms without a top tile.")
        if top is not None and score < worms[top]:
            raise PickosimError(
                f"scores: the top tile {top} alone has {worms[top]} worms, more than {score}."
            )
        lacking.append(score - (worms[top] if top is not None else 0))
    free = [tile for tile in sorted(worms) if tile not in situation.grill and tile not in tops]
    # The tiles with most worms first: what is left is then easier to make up.
    by_worms = tuple(sorted(free, key=lambda tile: (-worms[tile], -tile)))
    owners = _made_up([worms[tile] for tile in by_worms], tuple(lacking), set())
    if owners is None:
        raise PickosimError(
            "scores: no tiles make them up; those neither on the grill nor on top of a stack are "
            f"{ranges(free) or 'none'}. Name the grill if not all others are on it."
        )
    pairs = list(zip(by_worms, owners, strict=True))
    return tuple(
        tuple(sorted(tile for tile, owner in pairs if owner == player))
        for player in range(len(tops))
    )


def _made_up(
    worms: Sequence[int], lacking: tuple[int, ...], hopeless: set[tuple[int, tuple[int, ...]]]
) -> list[int] | None:
    """Owners of tiles with so many worms, so that each player gets the worms it lacks; -1 for nobody; None if impossible."""
    if not any(lacking):
        return [-1] * len(worms)
    if not worms or (len(worms), lacking) in hopeless:
        return None
    for player in (*range(len(lacking)), -1):
        if player < 0 or lacking[player] >= worms[0]:
            left = list(lacking)
            if player >= 0:
                left[player] -= worms[0]
            others = _made_up(worms[1:], tuple(left), hopeless)
            if others is not None:
                return [player, *others]
    hopeless.add((len(worms), lacking))
    return None


def _put_down(places: dict[int, str], tile: int, place: str) -> None:
    """Record the place of a tile, which can be in one place only."""
    if tile in places:
        raise PickosimError(f"tile {tile} cannot be both {places[tile]} and {place}.")
    places[tile] = place


def _read_tiles(name: str, written: str | Iterable[int], rules: RuleSet) -> tuple[int, ...]:
    """Tiles in ascending order; a range means all tiles in play between its ends."""
    found: list[int] = []
    for part in _parts(written):
        ends = re.fullmatch(r"(\d+)(?:-(\d+))?", part)
        if not ends:
            raise PickosimError(
                f'{name}: "{part}" is not a tile or a range of tiles; write e.g. 21-24,30.'
            )
        low, high = (_in_play(name, int(end), rules) for end in (ends[1], ends[2] or ends[1]))
        if low > high:
            raise PickosimError(f"{name}: the range {part} is empty; write {high}-{low}.")
        found += [tile for tile in rules.tiles if low <= tile <= high]
    if twice := [tile for tile, times in Counter(found).items() if times > 1]:
        raise PickosimError(f"{name}: tile {twice[0]} is named twice.")
    return tuple(sorted(found))


def _read_rivals(
    written: str | Iterable[int | None] | None, rules: RuleSet
) -> tuple[int | None, ...]:
    """Top tiles, None for a rival without tiles; by default one such rival."""
    rivals: list[int | None] = []
    for part in _parts("-" if written is None else written):
        if part in ("-", "None"):
            rivals.append(None)
        elif part.isdecimal():
            rivals.append(_in_play("rivals", int(part), rules))
        else:
            raise PickosimError(
                f'rivals: "{part}" is not a tile; write "-" for a rival without tiles.'
            )
    if not 1 <= len(rivals) < MOST_PLAYERS:
        raise PickosimError(
            f"rivals: {len(rivals)} are given; there can be 1 to {MOST_PLAYERS - 1}."
        )
    return tuple(rivals)


def _read_standing(
    written: str | Mapping[str, int] | None,
    grill: tuple[int, ...],
    holds: Specialist | None,
    rules: RuleSet,
) -> dict[Specialist, int]:
    """The grill tiles on which specialists stand."""
    if isinstance(written, Mapping):
        written = ",".join(f"{name}={tile}" for name, tile in written.items())
    places: dict[Specialist, int] = {}
    for part in _parts(written) if written else []:
        name, _, tile = part.partition("=")
        specialist = _read_specialist("on", name.strip(), rules)
        if not tile.strip().isdecimal():
            raise PickosimError(
                f"on: {name} needs a tile to stand on, e.g. {specialist}={grill[0]}."
            )
        place = _in_play("on", int(tile), rules)
        if place not in grill:
            raise PickosimError(f"on: {name} stands on tile {place}, which is not on the grill.")
        if specialist == holds or specialist in places:
            raise PickosimError(f"on: {name} cannot be in two places at once.")
        if place in places.values():
            raise PickosimError(f"on: tile {place} has room for only one specialist.")
        places[specialist] = place
    return places


def _read_held(written: str | None, rules: RuleSet) -> Specialist | None:
    """The specialist that the player holds."""
    if written == "raven":
        raise PickosimError("holds: no player can hold the raven.")
    return None if written is None else _read_specialist("holds", written, rules)


def _read_specialist(name: str, written: str, rules: RuleSet) -> Specialist:
    """A specialist that is in the game."""
    specialist = _read_name(name, written)
    if specialist not in rules.specialists:
        playing = ", ".join(rules.specialists) or "none; extrawurm has six"
        raise PickosimError(
            f'{name}: the rules "{rules.name}" have no {written} (specialists: {playing}).'
        )
    return specialist


def _read_name(name: str, written: str) -> Specialist:
    for specialist in SPECIALISTS:
        if specialist == written:
            return specialist
    hint = suggest(written, SPECIALISTS) or f"; the specialists are {', '.join(SPECIALISTS)}."
    raise PickosimError(f'{name}: there is no specialist named "{written}"{hint}')


def ranges(tiles: Iterable[int]) -> str:
    """Ascending tiles as text, e.g. 21-24, 30."""
    runs: list[list[int]] = []
    for tile in tiles:
        if runs and tile == runs[-1][-1] + 1:
            runs[-1].append(tile)
        else:
            runs.append([tile])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _in_play(name: str, tile: int, rules: RuleSet) -> int:
    """The value of a tile, if it is in play."""
    if tile not in rules.tiles:
        known = ranges(rules.tiles)
        raise PickosimError(f'{name}: the rules "{rules.name}" have no tile {tile}, only {known}.')
    return tile


def _parts(written: str | Iterable[object]) -> list[str]:
    """The entries of a list, or of a text with commas."""
    entries = written.split(",") if isinstance(written, str) else written
    return [str(entry).strip() for entry in entries]


def read_dice(question: Question, situation: Situation) -> Dice:
    """The dice that a question describes, if they are possible in a turn."""
    aside = _parts(question.aside) if question.aside is not None else []
    golden_aside = [face[1:] for face in aside if face.startswith("+")]
    roll = _parts(question.roll) if question.roll is not None else []
    golden = str(question.golden) if question.golden is not None else UNUSED
    if len(golden_aside) > 1:
        raise PickosimError(
            f"aside: {len(golden_aside)} golden dice are given, but there is only one."
        )
    dice = Dice(
        tuple(_read_face("aside", face) for face in aside if not face.startswith("+")),
        tuple(_read_face("roll", face) for face in roll),
        golden=situation.holds == "golden-die" and question.golden != UNUSED,
        golden_aside=_read_face("aside", golden_aside[0]) if golden_aside else 0,
        golden_roll=_read_face("golden", golden) if golden != UNUSED else 0,
        weasel_used=question.weasel_used,
    )
    if dice.weasel_used and situation.holds != "weasel":
        raise PickosimError(
            "weasel-used: only a player who holds the weasel can have used it; add holds weasel."
        )
    if question.golden is not None and situation.holds != "golden-die":
        raise PickosimError(
            "golden: only a player who holds the golden die can roll it; add holds golden-die."
        )
    _check_golden_die(dice, situation.rules)
    _check_white_dice(dice, situation.rules)
    return dice


def _read_face(name: str, written: str) -> int:
    if written in ("worm", "w"):
        return WORM
    if written not in ("1", "2", "3", "4", "5"):
        raise PickosimError(f'{name}: "{written}" is not a face; the faces are 1 to 5 and worm.')
    return int(written)


def _check_golden_die(dice: Dice, rules: RuleSet) -> None:
    """Refuse a golden die that is not used in the turn, in two places, or nowhere."""
    if dice.golden_aside and not dice.golden:
        raise PickosimError(
            f"aside: +{face_name(dice.golden_aside)} is the golden die, which is not used in this turn."
        )
    for name, face in (("aside", dice.golden_aside), ("golden", dice.golden_roll)):
        if face and face not in rules.golden_die_faces:
            known = ", ".join(map(face_name, sorted(set(rules.golden_die_faces))))
            raise PickosimError(f"{name}: the golden die has no {face_name(face)}, only {known}.")
    if dice.golden_aside and dice.golden_roll:
        raise PickosimError(
            "golden: the golden die is already set aside, so it is not in the roll."
        )
    if dice.golden and dice.roll and not (dice.golden_aside or dice.golden_roll):
        raise PickosimError(
            "roll: the golden die is missing. If it is in this roll, add golden FACE; if it is set aside, "
            f"add +FACE to aside; if it is not used in this turn, add golden {UNUSED}."
        )


def _check_white_dice(dice: Dice, rules: RuleSet) -> None:
    """Refuse more dice than there are, and a roll with the wrong number of dice."""
    left = rules.dice - len(dice.aside)
    if left < 0:
        raise PickosimError(
            f"aside: {len(dice.aside)} white dice are given, but there are only {rules.dice}."
        )
    if not dice.all_aside and not dice.all_rolled:
        raise PickosimError("aside: no dice are given; add the dice set aside, or the dice rolled.")
    if dice.all_rolled and len(set(dice.all_aside)) == FACES:
        raise PickosimError("roll: all six faces are set aside, so the turn is over.")
    if dice.all_rolled and len(dice.roll) != left:
        raise PickosimError(
            f"roll: {len(dice.roll)} white dice are given, but {left} are left to roll "
            f"({rules.dice} minus {len(dice.aside)} set aside)."
        )


# -------------------------------------------------------------------------------------- answers


class Chance(NamedTuple):
    """The best chances to stop at a total with a worm, if only that total counts."""

    total: int
    at_least: float
    exactly: float


class Result(NamedTuple):
    """A possible result of a turn."""

    result: Literal["take", "steal", "fail", "bratworm"]
    tile: int | None
    rival: int | None
    reason: str | None
    chance: float
    worth: float


class Option(NamedTuple):
    """Something the player can do now, and what it leads to."""

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
    """The totals that the dice can reach."""

    rules: RuleSet
    holds: Specialist | None
    rows: list[Chance]

    def as_json(self) -> list[dict[str, Any]]:
        """One object per total."""
        return [row._asdict() for row in self.rows]


@dataclass(frozen=True)
class Outlook:
    """The possible results of a turn with the best play."""

    situation: Situation
    bot: str
    golden_die: bool | None
    """Whether the golden die is used; None without one."""
    value: float
    rows: list[Result]
    win_chances: bool = False
    """Whether values are chances to win."""

    def as_json(self) -> dict[str, Any]:
        """The situation, the value of the turn, and one object per result."""
        return {
            **self.situation.as_json(),
            "bot": self.bot,
            "golden_die": self.golden_die,
            "value": self.value,
            "results": [row._asdict() for row in self.rows],
        }


@dataclass(frozen=True)
class Advice:
    """The options that the dice leave."""

    situation: Situation
    bot: str
    dice: Dice
    value: float
    rows: list[Option]
    win_chances: bool = False
    """Whether values are chances to win."""

    def as_json(self) -> dict[str, Any]:
        """The situation, the value of the best option, and one object per option."""
        return {
            **self.situation.as_json(),
            "bot": self.bot,
            "value": self.value,
            "options": [row._asdict() for row in self.rows],
        }


Answer = Totals | Outlook | Advice
