"""Positions: the table between two turns, with the address of the dice to come, as data that can be played on.

A position is a row of a frame, or a JSON object with the words of a trace: `grill`, `tiles` of each seat (bottom
first), `specialists` (a tile, or `{"seat": 0}`), `bratworms` of each seat and the `supply`; `turn` and `seat` on turn;
`seed` and `game`, the address of the dice; `rules` and `players`. To branch a game: copy its position, change one
thing, and play both on with the same dice.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pickosim.amounts import LAST_GAME
from pickosim.bots.loading import BotLike
from pickosim.columns import Frame
from pickosim.engine.dice import DICE_STREAM, derive, stream_key
from pickosim.engine.rulebook import NOTHING, SEATS, rulebook
from pickosim.engine.table import COUNTERS, TABLE, Table, is_seat
from pickosim.errors import PickosimError, RulesError, suggest
from pickosim.files import MOST_TEXT, read_regular
from pickosim.games.batch import Batch
from pickosim.games.match import Match, make_match
from pickosim.rule_files import complete_rules, load_rules, presets
from pickosim.rules import SPECIALISTS, RuleSet, check_players

Object = Mapping[str, Any]
"""A position as JSON has it."""

Given = pl.DataFrame | Object | Sequence[Object]
"""Positions as users pass them."""

PLACE = pl.Struct({"specialist": pl.String, "tile": pl.Int32, "seat": pl.Int32})

POSITIONS = Frame(
    "positions",
    "One row per position: the table at the beginning of a turn. Games that were over before have none.",
    "seed game turn seat players grill tiles flipped specialists supply bratworms rules so_far",
    {
        "turn": "Number of the turn that comes next.",
        "seat": "The seat on turn.",
        "players": "The bots by seat; null where nobody is named.",
        "tiles": "Tiles of each seat, bottom first.",
        "specialists": "Where each specialist is: on a tile or with a seat; those that are out of the game are left out.",
        "bratworms": "Bratworms of each seat.",
        "seed": "Seed of the dice to come.",
        "rules": "The name of a preset, or all options as JSON.",
    },
    types={
        "players": pl.List(pl.String),
        "tiles": pl.List(pl.List(pl.Int32)),
        "specialists": pl.List(PLACE),
        "bratworms": pl.List(pl.Int32),
    },
)

_BY_SEAT = ("gained", "turns_held", "used")
"""What is counted for each specialist and seat."""


@dataclass(frozen=True)
class Positions:
    """Some positions by the same rules for the same number of players, as the engine has them."""

    rules: RuleSet
    players: tuple[tuple[str | None, ...], ...]
    """(N, P): the bots by seat."""
    seeds: tuple[int, ...]
    """(N,)"""
    table: Table
    """(N,) at the beginning of a turn."""

    def __len__(self) -> int:
        return len(self.table)

    @property
    def named_bots(self) -> list[str]:
        """The bots that the first position names."""
        named = [bot for bot in self.players[0] if bot is not None]
        if len(named) < len(self.players[0]):
            raise PickosimError("The position does not say who plays; name the bots by seat.")
        return named

    def match(self, bots: Sequence[BotLike]) -> Match:
        """The match in which bots play them on."""
        seats = len(self.players[0])
        if len(bots) != seats:
            raise PickosimError(
                f"The positions have {seats} seats, so they need {seats} bots, not {len(bots)}."
            )
        return make_match(bots, self.rules, self.seeds[0], is_dealt=False)

    @property
    def frame(self) -> pl.DataFrame:
        """One row per position."""
        return POSITIONS.build(map(_as_row, self.objects))

    @property
    def objects(self) -> Iterator[dict[str, Any]]:
        """Each as JSON has it; the rules by name if they are a preset, otherwise in full."""
        is_preset = self.rules in presets()
        rules = self.rules.name if is_preset else self.rules.as_dict()
        tiles = np.array(sorted(self.rules.tiles))
        for game, players, seed in zip(self.table, self.players, self.seeds, strict=True):
            yield _as_object(game, rules, tiles, players, seed)


def take_positions(match: Match, first: int, games: int, turn: int | None) -> Positions:
    """The positions of games `first` to `first + games - 1` before a turn, or before every turn (None)."""
    batch = _Taking(match, first, games, turn)
    batch.play()
    taken = np.concatenate(batch.taken) if batch.taken else np.zeros(0, TABLE)
    taken = taken[np.lexsort((taken["turn"], taken["game"]))]
    return Positions(match.rules, (match.specs,) * len(taken), (match.seed,) * len(taken), taken)


class _Taking(Batch):
    """Copies games before a turn."""

    def __init__(self, match: Match, first: int, games: int, turn: int | None) -> None:
        super().__init__(match, first, games)
        self.turn = turn
        self.taken: list[Table] = []

    def play_turn(self, seat: int, rows: NDArray[np.int32]) -> None:
        wanted = rows if self.turn is None else rows[self.table["turn"][rows] == self.turn]
        if len(wanted):
            self.taken.append(self.table[wanted])
        super().play_turn(seat, rows)


def check_turn(turn: int | None) -> None:
    """Refuse a number that no turn has."""
    if turn is not None and turn < 1:
        raise PickosimError(f"Turns are numbered from 1, so there is no turn {turn}.")


def position_at(match: Match, game: int, turn: int) -> Positions:
    """The position of one game before a turn, which must be played in it."""
    check_turn(turn)
    found = take_positions(match, game, 1, turn)
    if not len(found):
        turns = int(Batch(match, game, 1).play().turns[0])
        raise PickosimError(f"The game is over after turn {turns}; there is no turn {turn}.")
    return found


# ---------------------------------------------------------------------------------------- as data


def _as_object(
    game: np.void, rules: object, tiles: NDArray[Any], players: Sequence[str | None], seed: int
) -> dict[str, Any]:
    seats, turn = range(len(players)), int(game["turn"])
    places = {
        name: {"seat": int(place) - SEATS} if is_seat(int(place)) else int(tiles[place])
        for name, place in zip(SPECIALISTS, game["place"].tolist(), strict=True)
        if place != NOTHING
    }
    return {
        "rules": rules,
        "players": list(players),
        "seed": seed,
        "game": int(game["game"]),
        "turn": turn,
        "seat": (turn - 1) % len(players),
        "grill": _members(int(game["grill"]), tiles),
        "tiles": [_stack(game, seat, tiles) for seat in seats],
        "flipped": _members(int(game["flipped"]), tiles),
        "specialists": places,
        "supply": int(game["supply"]),
        "bratworms": game["bratworms"][: len(players)].tolist(),
        "so_far": _so_far(game, len(players)),
    }


def _members(tiles: int, values: NDArray[Any]) -> list[int]:
    """The values of a set of tiles, ascending."""
    return [int(value) for tile, value in enumerate(values) if tiles >> tile & 1]


def _stack(game: np.void, seat: int, values: NDArray[Any]) -> list[int]:
    """The tiles of a seat, bottom first."""
    found: list[int] = []
    tile = int(game["top"][seat])
    while tile != NOTHING:
        found.insert(0, int(values[tile]))
        tile = int(game["under"][tile])
    return found


def _so_far(game: np.void, players: int) -> dict[str, Any]:
    """What was counted up to here, without what is 0: only for the results of the game."""
    found: dict[str, Any] = {
        name: count
        for name, count in zip(COUNTERS._fields, game["counts"].tolist(), strict=True)
        if count
    }
    if game["leader"] != NOTHING:
        found["leader"] = int(game["leader"])
    since = {
        name: turn
        for name, turn, place in zip(
            SPECIALISTS, game["since"].tolist(), game["place"].tolist(), strict=True
        )
        if is_seat(place)
    }
    if since:
        found["since"] = since
    for field in _BY_SEAT:
        counts = dict(zip(SPECIALISTS, game[field][:, :players].tolist(), strict=True))
        if shown := {name: count for name, count in counts.items() if any(count)}:
            found[field] = shown
    return found


def _as_row(position: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the frame."""
    places = [
        {"specialist": name, "tile": None, "seat": place["seat"]}
        if isinstance(place, Mapping)
        else {"specialist": name, "tile": place, "seat": None}
        for name, place in position["specialists"].items()
    ]
    rules = position["rules"]
    return {
        **position,
        "specialists": places,
        "rules": rules if isinstance(rules, str) else json.dumps(rules),
        "so_far": json.dumps(position["so_far"]),
    }


def _as_given(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the frame as an object."""
    found = {name: value for name, value in row.items() if value is not None}
    if "specialists" in found:
        found["specialists"] = {
            place["specialist"]: place["tile"] if place["seat"] is None else {"seat": place["seat"]}
            for place in found["specialists"]
        }
    if "so_far" in found:
        found["so_far"] = json.loads(found["so_far"])
    return found


# -------------------------------------------------------------------------------- read and checked


def position_text(position: Object) -> str:
    """A position as JSON, one field per line."""
    fields = [f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in position.items()]
    return "{\n" + ",\n".join(fields) + "\n}"


def load_position(path: Path) -> Positions:
    """The position of a JSON file."""
    try:
        content = json.loads(read_regular(path, MOST_TEXT).decode("utf-8-sig"))
    except OSError as error:
        raise PickosimError(f"{path} cannot be read ({error.strerror}).") from None
    except ValueError as error:
        raise PickosimError(f"{path} is not a position in JSON ({error}).") from None
    if not isinstance(content, dict):
        raise PickosimError(f"{path} is not a position: it must have one JSON object.")
    try:
        return read_positions(content)
    except PickosimError as error:
        raise PickosimError(f"{path}: {error}") from None


def read_positions(given: Given | Positions) -> Positions:
    """Positions of a frame, an object or several; what cannot be on a table is refused."""
    if isinstance(given, Positions):
        return given
    if isinstance(given, pl.DataFrame):
        unknown = [name for name in given.columns if name not in POSITIONS.schema]
        if unknown:
            raise PickosimError(_no_field(unknown[0]))
        objects: Sequence[Object] = [_as_given(row) for row in given.iter_rows(named=True)]
    else:
        objects = [given] if isinstance(given, Mapping) else list(given)
    if not objects:
        raise PickosimError("There are no positions to play on.")
    table, rules = np.zeros(len(objects), TABLE), {}
    bots, seeds = [], []
    for number, one in enumerate(objects):
        try:
            key = json.dumps(one.get("rules", "classic"), sort_keys=True, default=str)
            if key not in rules:
                rules[key] = _rules_of(one.get("rules", "classic"))
            reader = _Reader(one, rules[key], table[number])
            seeds.append(reader.read())
            bots.append(reader.bots)
        except PickosimError as error:
            where = f"Position {number}: " if len(objects) > 1 else ""
            raise PickosimError(f"{where}{error}") from None
    if len(set(rules.values())) > 1 or len(set(map(len, bots))) > 1:
        raise PickosimError(
            "Positions that are played together must have the same rules and as many players."
        )
    return Positions(next(iter(rules.values())), tuple(bots), tuple(seeds), table)


def _rules_of(given: object) -> RuleSet:
    """Rules by name, as options, or as the JSON of a frame."""
    if isinstance(given, RuleSet):
        return given
    if isinstance(given, str) and given.startswith("{"):
        given = json.loads(given)
    if isinstance(given, Mapping):
        return complete_rules(given)
    if not isinstance(given, str):
        raise RulesError("rules must be a preset, a rule file or options, as a trace has them.")
    return load_rules(given)


def _no_field(name: str) -> str:
    known = list(POSITIONS.schema)
    return f'a position has no field "{name}"' + (
        suggest(name, known) or f"; it has {', '.join(known)}."
    )


class _Reader:
    """Reads one position into a record of TABLE; every tile, specialist and bratworm must be in exactly one place."""

    def __init__(self, given: Object, rules: RuleSet, game: np.void) -> None:
        for name in given:
            if name not in POSITIONS.schema:
                raise PickosimError(_no_field(name))
        self.given = given
        self.rules = rules
        self.values = sorted(rules.tiles)
        self.bots = self._players()
        self.seats = len(self.bots)
        self.books = rulebook(rules, self.seats)
        self.game = game

    def read(self) -> int:
        """Write the record of the table, and return the seed."""
        game = self.game
        seed = self._number("seed", 0, 0, (1 << 64) - 1)
        game["game"] = number = self._number("game", 0, 0, LAST_GAME)
        key = stream_key(np.uint64(seed), DICE_STREAM)
        game["dice_key"] = derive(np.uint64(key), np.uint64(number))
        game["turn"] = self._turn()
        self._put_tiles()
        self._put_bratworms()
        self._put_specialists()
        self._put_counts()
        return seed

    def _players(self) -> tuple[str | None, ...]:
        given = self.given.get("players", self.given.get("tiles"))
        if isinstance(given, int) and not isinstance(given, bool):
            check_players(given)
            return (None,) * given
        if not isinstance(given, Sequence) or isinstance(given, str):
            raise PickosimError("players must be the bots by seat, or how many there are, e.g. 4.")
        check_players(len(given))
        named = tuple(bot if isinstance(bot, str) else None for bot in given)
        return named if "players" in self.given else (None,) * len(given)

    def _number(self, name: str, default: int, low: int, high: int) -> int:
        return _whole(name, self.given.get(name, default), low, high)

    def _turn(self) -> int:
        """The turn that comes next; of a position written by hand, the seat may say it."""
        limit = self.rules.turn_limit
        seat = self._number("seat", 0, 0, self.seats - 1)
        turn = self._number("turn", seat + 1, 1, limit)
        if "seat" in self.given and (turn - 1) % self.seats != seat:
            raise PickosimError(
                f"turn {turn} of {self.seats} players is that of seat {(turn - 1) % self.seats}, not of "
                f"seat {seat}."
            )
        return turn

    def _tile(self, name: str, value: object) -> int:
        """The number of a tile."""
        if value not in self.values or isinstance(value, bool):
            known = f"{self.values[0]} to {self.values[-1]}"
            raise PickosimError(
                f"{name}: the rules {self.rules.name} have no tile {value}, only {known}."
            )
        return self.values.index(value)

    def _list(self, name: str, given: object, length: int | None = None) -> Sequence[Any]:
        if not isinstance(given, Sequence) or isinstance(given, str):
            raise PickosimError(f"{name} must be a list, not {given!r}.")
        if length is not None and len(given) != length:
            raise PickosimError(
                f"{name} must have one entry per seat, {length} and not {len(given)}."
            )
        return given

    def _put_tiles(self) -> None:
        """Tiles that are not named are on the grill if that is left out, and flipped otherwise."""
        game, given = self.game, self.given
        places: dict[int, str] = {}
        game["top"] = game["under"] = NOTHING
        stacks = self._list("tiles", given.get("tiles", [[]] * self.seats), self.seats)
        named = [
            ("tiles", f"on the stack of seat {seat}", stack) for seat, stack in enumerate(stacks)
        ]
        named += [(name, where, given[name]) for name, where in _ROWS.items() if name in given]
        for name, where, tiles in named:
            for value in self._list(name, tiles):
                tile = self._tile(name, value)
                if tile in places:
                    raise PickosimError(f"tile {value} cannot be both {places[tile]} and {where}.")
                places[tile] = where
        rest = [tile for tile in range(len(self.values)) if tile not in places]
        if rest and _ROWS.keys() <= given.keys():
            raise PickosimError(
                f"tile {self.values[rest[0]]} is nowhere: neither on the grill nor on a stack nor flipped."
            )
        places |= dict.fromkeys(rest, _ROWS["flipped" if "grill" in given else "grill"])
        for name, where in _ROWS.items():
            game[name] = sum(1 << tile for tile, place in places.items() if place == where)
        if not game["grill"]:
            raise PickosimError("the grill is empty, so the game is over and cannot be played on.")
        for seat, stack in enumerate(stacks):
            for value in stack:
                tile = self.values.index(value)
                game["under"][tile] = game["top"][seat]
                game["top"][seat] = tile
                game["tiles"][seat] += 1
                game["worms"][seat] += self.rules.tiles[value]

    def _put_bratworms(self) -> None:
        game, total = self.game, self.rules.bratworms
        given = self._list("bratworms", self.given.get("bratworms", [0] * self.seats), self.seats)
        owned = [_whole("bratworms", count, 0, 255) for count in given]
        supply = self._number("supply", max(0, total - sum(owned)), 0, 255)
        if sum(owned) + supply != total:
            raise PickosimError(
                f"bratworms: {sum(owned)} of the players and {supply} of the supply are {sum(owned) + supply}, "
                f"but the rules {self.rules.name} have {total}."
            )
        game["bratworms"][: self.seats] = owned
        game["supply"] = supply

    def _put_specialists(self) -> None:
        game = self.game
        game["place"] = game["holds"] = NOTHING
        given = self.given.get("specialists", {})
        if not isinstance(given, Mapping):
            raise PickosimError(
                'specialists must be an object, e.g. {"apple": 30, "weasel": {"seat": 0}}.'
            )
        taken: dict[int, str] = {}
        for name, where in given.items():
            if name not in SPECIALISTS:
                hint = suggest(name, SPECIALISTS) or f"; there are {', '.join(SPECIALISTS)}."
                raise PickosimError(f'no specialist is named "{name}"{hint}')
            if name not in self.rules.specialists:
                raise PickosimError(f"the rules {self.rules.name} have no {name}.")
            place = self._place(name, where)
            if place in taken:
                raise PickosimError(f"{taken[place]} and {name} cannot be in the same place.")
            taken[place] = name
            number = SPECIALISTS.index(name)
            game["place"][number] = place
            if is_seat(place):
                game["holds"][place - SEATS] = number
                game["since"][number] = game["turn"]

    def _place(self, name: str, where: object) -> int:
        if isinstance(where, Mapping) and set(where) == {"seat"}:
            if name == "raven":
                raise PickosimError("no player can hold the raven.")
            return SEATS + _whole(f"specialists.{name}", where["seat"], 0, self.seats - 1)
        if isinstance(where, bool) or not isinstance(where, int):
            raise PickosimError(
                f'specialists.{name} must be a tile or a seat, e.g. 30 or {{"seat": 0}}, not {where!r}.'
            )
        tile = self._tile(f"specialists.{name}", where)
        if not int(self.game["grill"]) >> tile & 1:
            raise PickosimError(f"the {name} stands on tile {where}, which is not on the grill.")
        return tile

    def _put_counts(self) -> None:
        """What was counted before; nothing if a position is written by hand."""
        game = self.game
        game["leader"] = NOTHING
        given = self.given.get("so_far", {})
        if not isinstance(given, Mapping):
            raise PickosimError("so_far must be an object, as positions that were taken have it.")
        for name, value in given.items():
            if name in COUNTERS._fields:
                game["counts"][COUNTERS._fields.index(name)] = _whole(name, value, 0, _MOST_COUNTED)
            elif name == "leader":
                game["leader"] = _whole(name, value, 0, self.seats - 1)
            elif name in ("since", *_BY_SEAT) and isinstance(value, Mapping):
                for specialist, counted in value.items():
                    if specialist not in SPECIALISTS:
                        raise PickosimError(
                            f'so_far.{name}: no specialist is named "{specialist}".'
                        )
                    number, most = SPECIALISTS.index(specialist), self.rules.turn_limit
                    if name == "since":
                        game["since"][number] = _whole("since", counted, 0, int(game["turn"]))
                        continue
                    counts = self._list(f"so_far.{name}", counted, self.seats)
                    game[name][number, : self.seats] = [
                        _whole(f"so_far.{name}", count, 0, most) for count in counts
                    ]
            else:
                raise PickosimError(f'so_far has no "{name}".')


_ROWS = {"grill": "on the grill", "flipped": "flipped"}
"""Where tiles lie that nobody has, by field."""

_MOST_COUNTED = (1 << 32) - 1


def _whole(name: str, value: object, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise PickosimError(f"{name} must be a whole number from {low} to {high}, not {value!r}.")
    return value
