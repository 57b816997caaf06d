"""Positions: tables as plain data, to and from the engine's arrays; and in one line.

A description is a row of a frame, or an object of JSON or Python with the words of a trace: `grill`, `tiles` of each
seat (bottom first), `specialists` (a tile, or `{"seat": 0}`), `bratworms` of each seat and the `supply`; `turn` and
`seat` on turn; `seed` and `game`, the address of the dice to come; `rules` and `players`. To branch a game: copy its
position, change one thing, and play both on with the same dice.

In mid-turn it also has the dice of that turn: `aside` and `roll` (faces of white dice, `"+4"` for the golden die set
aside), `golden` (its face in the roll, or `"unused"`) and `weasel_used`; the table is that before the turn. Odds
(`read_tables`) take these; games are played on (`read_positions`) from the beginning of a turn.

In one line: the grill, the stacks by seat and the seat on turn, then clauses, of which all but the rules are left out
where that says the same. Who plays and what was counted before are not in it.

    22-23,25-28,31 24.30/33 1 rules extrawurm; on raven=23; holds weasel/-; bratworms 2/1 supply 4; aside ww44; roll 1355
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pickosim.amounts import LAST_GAME, parse_ranges, ranges_text, split_list
from pickosim.bots.loading import BotLike, names_built_in
from pickosim.columns import Frame
from pickosim.engine.dice import DICE_STREAM, FACES, derive, stream_key
from pickosim.engine.rulebook import NOTHING, SEATS, rulebook
from pickosim.engine.table import COUNTERS, TABLE, Table, is_seat
from pickosim.errors import PickosimError, RulesError, suggest
from pickosim.files import MOST_TEXT, read_regular
from pickosim.games.batch import Batch
from pickosim.games.match import Match, make_match
from pickosim.rule_files import complete_rules, load_rules_line, presets, rules_line
from pickosim.rules import SPECIALISTS, WORM, RuleSet, check_players, face_name

Object = Mapping[str, Any]
"""A position as JSON has it."""

Source = pl.DataFrame | Object | str | Sequence[Object | str]
"""Positions as users pass them; a text is a position in one line."""

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

UNUSED = "unused"
"""Written instead of a face if the golden die is not used in this turn."""

_BY_SEAT = ("gained", "turns_held", "used")
"""What is counted for each specialist and seat."""

_DICE_FIELDS = ("aside", "roll", "golden", "weasel_used")

_FIELDS = (*POSITIONS.schema, *_DICE_FIELDS)

_WORDS = 3
"""Words with which a line begins: the grill, the stacks, the seat on turn."""

_NUMBERS = ("turn", "seed", "game")

_CLAUSES = ("rules", "on", "holds", "bratworms", "aside", "roll", "golden", "weasel", *_NUMBERS)
"""What may follow, each with a value."""

_EXAMPLE = "22-28,31 24.30/- 0 rules classic; aside ww4"

_FACE = re.compile(r"\+?(?:worm|w|[1-5])")
_ONE_BY_ONE = re.compile(rf"(?:{_FACE.pattern})+")
_COUNTED = re.compile(r"(?P<x>[1-9])[x×](?P<face>worm|w|[1-5])s?|(?P<w>[1-9])w(?:orms?)?")

_ROWS = {"grill": "on the grill", "flipped": "flipped"}
"""Where tiles lie that nobody has, by field."""

_MOST_COUNTED = 1_000_000
"""More than a game of 60,000 turns counts of anything: no turn has more than 14 rolls."""

USUAL_TURNS, TURNS_PER_TILE = 8, 8
"""A position that does not say its turn may be after 8 turns, and 8 more for each tile on a stack: games of `expected`
have 99.9 % of their positions within that.
"""

_OWN_NAMES: Mapping[str, str] = MappingProxyType({})
"""Messages call fields by their own names."""


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
    has_turn: bool = True
    """Whether they say how many turns were played."""
    dice: tuple[Dice | None, ...] = ()
    """(N,): the dice of turns under way; () if there are none."""

    def __len__(self) -> int:
        return len(self.table)

    def bots_named_in(self, source: str) -> list[str]:
        """The bots that the first position names, which was read from a file or `-`.

        Anybody may have written that, and any other bot than a built-in one is code or a command.
        """
        named = [bot for bot in self.players[0] if bot is not None]
        if len(named) < len(self.players[0]):
            raise PickosimError("The position does not say who plays; name the bots by seat.")
        if foreign := [bot for bot in named if not names_built_in(bot)]:
            command = shlex.join(["pickosim", "watch", *named, "--from-position", source])
            raise PickosimError(
                f"{source} names {foreign[0]}, which is not a built-in bot. A position plays only built-in bots by "
                f"itself. If you trust this one, name the bots on the command line: {command}"
            )
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
    def notes(self) -> list[str]:
        """A remark if more tiles of a single position are face down than its turns allow."""
        (game,), rules = self.table, self.rules
        flipped, grill = (int(game[name]).bit_count() for name in ("flipped", "grill"))
        held = len(rules.tiles) - flipped - grill
        turns = int(game["turn"]) - 1 if self.has_turn else USUAL_TURNS + TURNS_PER_TILE * held
        # Every tile of a stack took a turn, and so did every fail, mostly with a tile to lose that took another.
        fails = (turns - held) // (1 if rules.flip_without_return else 2)
        if flipped <= max(0, fails) * (2 if rules.lost_tile == "removed" else 1):
            return []
        after = f"after {turns} turns" if self.has_turn else f"with {held} on stacks"
        return [
            f"{flipped} tiles are face down {after}, which does not come up in games: win chances may be far off here."
        ]

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
        dice = self.dice or (None,) * len(self)
        for game, players, seed, at in zip(self.table, self.players, self.seeds, dice, strict=True):
            yield _as_object(game, rules, tiles, players, seed) | (at.fields if at else {})

    @property
    def lines(self) -> Iterator[str]:
        """Each in one line."""
        rules = rules_line(self.rules)
        for place in self.objects:
            yield _line(place, rules)


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
    taken = take_positions(match, game, 1, turn)
    if not len(taken):
        turns = int(Batch(match, game, 1).play().turns[0])
        raise PickosimError(f"The game is over after turn {turns}; there is no turn {turn}.")
    return taken


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
    stack: list[int] = []
    tile = int(game["top"][seat])
    while tile != NOTHING:
        stack.insert(0, int(values[tile]))
        tile = int(game["under"][tile])
    return stack


def _so_far(game: np.void, players: int) -> dict[str, Any]:
    """What was counted up to here, without what is 0: only for the results of the game."""
    counts = zip(COUNTERS._fields, game["counts"].tolist(), strict=True)
    counted: dict[str, Any] = {name: count for name, count in counts if count}
    if game["leader"] != NOTHING:
        counted["leader"] = int(game["leader"])
    held = zip(SPECIALISTS, game["since"].tolist(), game["place"].tolist(), strict=True)
    by_specialist = {"since": {name: turn for name, turn, place in held if is_seat(place)}}
    for field in _BY_SEAT:
        rows = zip(SPECIALISTS, game[field][:, :players].tolist(), strict=True)
        by_specialist[field] = {name: row for name, row in rows if any(row)}
    return counted | {name: entries for name, entries in by_specialist.items() if entries}


def _as_row(position: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the frame."""
    places = [
        {"specialist": name, **(place if isinstance(place, Mapping) else {"tile": place})}
        for name, place in position["specialists"].items()
    ]
    rules = position["rules"]
    return {
        **position,
        "specialists": places,
        "rules": rules if isinstance(rules, str) else json.dumps(rules),
        "so_far": json.dumps(position["so_far"]),
    }


def _from_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the frame as an object."""
    fields = {name: value for name, value in row.items() if value is not None}
    if "specialists" in fields:
        fields["specialists"] = {
            place["specialist"]: place["tile"] if place["seat"] is None else {"seat": place["seat"]}
            for place in fields["specialists"]
        }
    if "so_far" in fields:
        fields["so_far"] = _parsed("so_far", fields["so_far"])
    return fields


# ------------------------------------------------------------------------------------- in one line


def position_line(position: Object | str) -> str:
    """A position in one line, as `start` of `play` and `watch` and `position` of `odds` take it."""
    return next(read_tables(position).lines)


def _line(position: Object, rules: str) -> str:
    """An object with all its fields in one line."""
    by_seat = "/".join
    stacks = by_seat(".".join(map(str, stack)) or "-" for stack in position["tiles"])
    places = {json.dumps(place): name for name, place in position["specialists"].items()}
    held = [places.get(json.dumps({"seat": s}), "-") for s in range(len(position["tiles"]))]
    on = [f"{name}={place}" for place, name in places.items() if place.isdecimal()]
    owned, turn, seat = position["bratworms"], position["turn"], position["seat"]
    grill = ranges_text(position["grill"]).replace(" ", "")
    clauses = {
        "rules": rules,
        "on": ",".join(on),
        "holds": by_seat(held) if {*held} != {"-"} else "",
        "bratworms": f"{by_seat(map(str, owned))} supply {position['supply']}"
        if any(owned)
        else "",
        **{name: _faces_text(position.get(name, ())) for name in ("aside", "roll")},
        "golden": position.get("golden"),
        "weasel": "used" if position.get("weasel_used") else "",
        "turn": turn if turn > len(owned) else "",
        "seed": position["seed"],
        "game": position["game"],
    }
    written = "; ".join(f"{name} {value}" for name, value in clauses.items() if value)
    return f"{grill} {stacks} {seat} {written}"


def position_object(line: str) -> dict[str, Any]:
    """The fields of a position in one line, which a terminal may have broken."""
    line, clauses = " ".join(line.split()), dict[str, str]()
    head = line.split(maxsplit=_WORDS)
    if len(head) < _WORDS:
        raise PickosimError(f'"{line}" is not a position; write e.g. {_EXAMPLE}.')
    grill, stacks, seat, *rest = head
    for clause in filter(str.strip, "".join(rest).split(";")):
        name, _, value = clause.strip().partition(" ")
        if name not in _CLAUSES:
            hint = suggest(name, _CLAUSES) or f"; it has {', '.join(_CLAUSES)}."
            raise PickosimError(f'a position in one line has no "{name}"{hint}')
        if not value or name in clauses:
            raise PickosimError(f"{name}: write it once and with a value, e.g. {_EXAMPLE}.")
        clauses[name] = value.strip()
    on, held = clauses.pop("on", ""), clauses.pop("holds", "")
    owned, _, supply = clauses.pop("bratworms", "").partition("supply")
    names = [None if name.strip() == "-" else name.strip() for name in held.split("/")]
    fields = {
        "grill": grill,
        "tiles": [_numbers(stack, ".") if stack != "-" else [] for stack in stacks.split("/")],
        "seat": read_number(seat.rstrip(";")),
        "specialists": places_of(on, names if held else ()),
        "bratworms": _numbers(owned, "/") if owned else None,
        "supply": read_number(supply) if supply else None,
        "weasel_used": {"used": True}.get(clauses.get("weasel", ""), clauses.pop("weasel", None)),
        **{name: read_number(clauses.pop(name)) for name in _NUMBERS if name in clauses},
        **clauses,
    }
    return {name: value for name, value in fields.items() if value is not None}


def places_of(on: str | Mapping[str, Any], holders: Sequence[str | None]) -> dict[str, Any]:
    """The places of specialists on tiles, e.g. raven=23,apple=29, and of those held by seat."""
    if isinstance(on, str):
        parts = [part.partition("=") for part in split_list(on) if part]
        on_tiles = [(name.strip(), read_number(tile)) for name, _, tile in parts]
    else:
        on_tiles = list(on.items())
    if wrong := [name for name, tile in on_tiles if isinstance(tile, str)]:
        raise PickosimError(f"on: {wrong[0]} needs a tile to stand on, e.g. {wrong[0]}=25.")
    held = [(name, {"seat": seat}) for seat, name in enumerate(holders) if name is not None]
    names = [name for name, _ in (*on_tiles, *held)]
    if twice := [name for name in names if names.count(name) > 1]:
        raise PickosimError(f"on: {twice[0]} cannot be in two places at once.")
    return dict((*on_tiles, *held))


def read_number(text: str) -> int | str:
    """A number as such, and any other text as it is: the reader refuses it."""
    text = text.strip()
    return int(text) if text.isdecimal() and len(text) <= len(str(1 << 64)) else text


def _numbers(text: str, between: str) -> list[int | str]:
    return [read_number(part) for part in text.split(between)]


def _faces_text(faces: Sequence[str]) -> str:
    """The faces of dice, worms first: `2w` would be two of them."""
    return "".join(sorted(faces, key="worm".__ne__)).replace("worm", "w")


# -------------------------------------------------------------------------------- read and checked


def position_text(position: Object) -> str:
    """A position as JSON, one field per line."""
    fields = [f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in position.items()]
    return "{\n" + ",\n".join(fields) + "\n}"


def load_position(source: str) -> Object:
    """The position that a command line names: a line, a file with a line or JSON, or `-` for standard input."""
    # Path.exists raises an error for names that are too long for a file.
    if len(source.split()) >= _WORDS and not os.path.exists(source):  # noqa: PTH110
        return position_object(source)
    try:
        content = (
            sys.stdin.buffer.read(MOST_TEXT)
            if source == "-"
            else read_regular(Path(source), MOST_TEXT)
        )
        text = content.decode("utf-8-sig")
        found = json.loads(text) if text.lstrip()[:1] in ("{", "[") else position_object(text)
    except OSError as error:
        raise PickosimError(
            f"{source} cannot be read ({error.strerror}); a position is written e.g. {_EXAMPLE}."
        ) from None
    except (ValueError, RecursionError) as error:
        raise PickosimError(f"{source} is not a position in JSON ({error}).") from None
    _check_fields(found)
    fields: Object = found
    return fields


def read_positions(source: Source | Positions) -> Positions:
    """Positions to play on; those in mid-turn are refused."""
    positions = source if isinstance(source, Positions) else read_tables(source)
    if any(positions.dice):
        raise PickosimError(
            "This position is in mid-turn, and games are played on from the beginning of a turn: leave out aside, "
            "roll, golden and weasel used, or ask for its odds: pickosim odds --position."
        )
    return positions


def read_tables(source: Source, names: Mapping[str, str] = _OWN_NAMES) -> Positions:
    """Positions, also in mid-turn, of a frame, an object, a line or several; what cannot be on a table is refused.

    `names` has what messages call a field or a place instead: `{"tiles.0": "own", "on tiles.0": "your own top tile"}`.
    """
    if isinstance(source, pl.DataFrame):
        source = [_from_row(row) for row in source.iter_rows(named=True)]
    objects = [source] if isinstance(source, Mapping | str) else source
    if not len(objects):
        raise PickosimError("There are no positions to play on.")
    table, rules = np.zeros(len(objects), TABLE), {}
    bots, seeds, dice = [], [], []
    for number, each in enumerate(objects):
        try:
            fields = position_object(each) if isinstance(each, str) else each
            _check_fields(fields)
            key = json.dumps(fields.get("rules", "classic"), sort_keys=True, default=str)
            if key not in rules:
                rules[key] = _rules_of(fields.get("rules", "classic"))
            reader = _Reader(fields, rules[key], table[number], names)
            seeds.append(reader.read())
            bots.append(reader.bots)
            dice.append(reader.dice())
        except PickosimError as error:
            where = f"Position {number}: " if len(objects) > 1 else ""
            raise PickosimError(f"{where}{error}") from None
        except RecursionError:
            raise PickosimError("A position is not nested that deeply.") from None
    if len(set(rules.values())) > 1 or len(set(map(len, bots))) > 1:
        raise PickosimError(
            "Positions that are played together must have the same rules and as many players."
        )
    has_turn = all("turn" in fields for fields in objects)
    played = next(iter(rules.values()))
    return Positions(played, tuple(bots), tuple(seeds), table, has_turn, tuple(dice))


def _parsed(name: str, text: str) -> Any:
    """A field of a frame that is JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise PickosimError(f"{name} is not JSON ({error}).") from None


def _check_fields(names: object) -> None:
    if not isinstance(names, Mapping):
        raise PickosimError(f"a position is an object or a line such as {_EXAMPLE}.")
    for name in names:
        if name not in _FIELDS:
            hint = suggest(name, _FIELDS) or f"; it has {', '.join(_FIELDS)}."
            raise PickosimError(f'a position has no field "{name}"{hint}')


def _rules_of(rules: object) -> RuleSet:
    """Rules by name, as options, or as the JSON of a frame."""
    if isinstance(rules, RuleSet):
        return rules
    if isinstance(rules, str) and rules.startswith("{"):
        rules = _parsed("rules", rules)
    if isinstance(rules, Mapping):
        return complete_rules(rules)
    if not isinstance(rules, str):
        raise RulesError("rules must be a preset, a rule file or options, as a trace has them.")
    return load_rules_line(rules)


def parse_tiles(field: str, text: str, rules: RuleSet) -> list[int]:
    """Tiles as written, e.g. 21-24,30; a range means all tiles in play between its ends."""
    tiles: list[int] = []
    for numbers in parse_ranges(text, field, "21-24,30"):
        check_tile(field, numbers[0], rules)
        check_tile(field, numbers[-1], rules)
        tiles += [tile for tile in numbers if tile in rules.tiles]
    return tiles


def check_tile(field: str, value: object, rules: RuleSet) -> None:
    """Refuse a tile that is not in play."""
    if isinstance(value, bool) or value not in list(rules.tiles):
        known = ranges_text(rules.tiles)
        raise PickosimError(
            f'{field}: the rules "{rules.name}" have no tile {value!r}, only {known}.'
        )


def check_specialist(field: str, name: str) -> None:
    """Refuse a name that no specialist has."""
    if name not in SPECIALISTS:
        hint = suggest(name, SPECIALISTS) or f"; the specialists are {', '.join(SPECIALISTS)}."
        raise PickosimError(f'{field}: there is no specialist named "{name}"{hint}')


class _Reader:
    """Reads one table into a record of TABLE; every tile, specialist and bratworm must be in exactly one place."""

    def __init__(
        self, fields: Object, rules: RuleSet, game: np.void, names: Mapping[str, str]
    ) -> None:
        self.fields = fields
        self.rules = rules
        self.game = game
        self.names = names
        self.values = sorted(rules.tiles)
        self.bots = self._players()
        self.seats = len(self.bots)
        rulebook(rules, self.seats)  # refuses rules that this number of players cannot use

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

    def dice(self) -> Dice | None:
        """The dice of a turn under way, if any are described."""
        if not self.fields.keys() & set(_DICE_FIELDS):
            return None
        held = int(self.game["holds"][(int(self.game["turn"]) - 1) % self.seats])
        return read_dice(self.fields, self.rules, None if held == NOTHING else SPECIALISTS[held])

    def _players(self) -> tuple[str | None, ...]:
        players = self.fields.get("players", self.fields.get("tiles"))
        if isinstance(players, int) and not isinstance(players, bool):
            check_players(players)
            return (None,) * players
        if not isinstance(players, Sequence) or isinstance(players, str):
            raise PickosimError("players must be the bots by seat, or how many there are, e.g. 4.")
        check_players(len(players))
        return tuple(bot if isinstance(bot, str) else None for bot in players)

    def _number(self, name: str, default: int, low: int, high: int) -> int:
        return _whole(name, self.fields.get(name, default), low, high)

    def _turn(self) -> int:
        """The turn that comes next; the seat says it if a position written by hand does not."""
        seat = self._number("seat", 0, 0, self.seats - 1)
        turn = self._number("turn", seat + 1, 1, self.rules.turn_limit)
        if "seat" in self.fields and (turn - 1) % self.seats != seat:
            raise PickosimError(
                f"turn {turn} of {self.seats} players is that of seat {(turn - 1) % self.seats}, not of "
                f"seat {seat}."
            )
        return turn

    def _put_tiles(self) -> None:
        """Tiles that are not named are on the grill if that is left out, and flipped otherwise."""
        game, fields, places = self.game, self.fields, dict[int, str]()
        stacks = _list("tiles", fields.get("tiles", [[]] * self.seats), self.seats)
        rows = [
            (f"tiles.{seat}", self._called(f"on tiles.{seat}", f"on the stack of seat {seat}"), row)
            for seat, row in enumerate(stacks)
        ]
        rows += [(name, where, fields[name]) for name, where in _ROWS.items() if name in fields]
        for path, where, row in rows:
            if path == "grill" and isinstance(row, str):
                # A tile on a stack is not on the grill, so that `21-36` can stand for all others.
                tiles = parse_tiles(path, row, self.rules)
                row = [tile for tile in tiles if tile not in places]
            for tile in _list(path, row):
                check_tile(self._called(path), tile, self.rules)
                if places.setdefault(tile, where) != where:
                    raise PickosimError(f"tile {tile} cannot be both {places[tile]} and {where}.")
            if len(set(row)) < len(row):
                twice = next(tile for tile in row if row.count(tile) > 1)
                raise PickosimError(f"{self._called(path)}: tile {twice} is named twice.")
        rest = [tile for tile in self.values if tile not in places]
        if rest and _ROWS.keys() <= fields.keys():
            raise PickosimError(
                f"tile {rest[0]} is nowhere: neither on the grill nor on a stack nor flipped."
            )
        places |= dict.fromkeys(rest, _ROWS["flipped" if "grill" in fields else "grill"])
        for name, where in _ROWS.items():
            game[name] = sum(
                1 << number for number, tile in enumerate(self.values) if places[tile] == where
            )
        if not game["grill"]:
            raise PickosimError("the grill is empty, so the game is over; name at least one tile.")
        game["top"] = game["under"] = NOTHING
        for seat, stack in enumerate(stacks):
            for tile in map(self.values.index, stack):
                game["under"][tile], game["top"][seat] = game["top"][seat], tile
            game["tiles"][seat] = len(stack)
            game["worms"][seat] = sum(self.rules.tiles[tile] for tile in stack)

    def _put_bratworms(self) -> None:
        total = self.rules.bratworms
        listed = _list("bratworms", self.fields.get("bratworms", [0] * self.seats), self.seats)
        owned = [_whole("bratworms", count, 0, 255) for count in listed]
        supply = self._number("supply", max(0, total - sum(owned)), 0, 255)
        if sum(owned) + supply != total:
            raise PickosimError(
                f"bratworms: {sum(owned)} of the players and {supply} of the supply are {sum(owned) + supply}, "
                f'but the rules "{self.rules.name}" have {total}.'
            )
        self.game["bratworms"][: self.seats] = owned
        self.game["supply"] = supply

    def _put_specialists(self) -> None:
        game, taken = self.game, dict[int, str]()
        game["place"] = game["holds"] = NOTHING
        example = '{"apple": 30, "weasel": {"seat": 0}}'
        places = _object("specialists", self.fields.get("specialists", {}), example)
        for name, where in places.items():
            path = self._called(f"specialists.{name}")
            place = self._place(path, name, where)
            if place in taken:
                raise PickosimError(
                    f"{path}: {taken[place]} and {name} cannot be in the same place."
                )
            taken[place] = name
            number = SPECIALISTS.index(name)
            game["place"][number] = place
            if is_seat(place):
                game["holds"][place - SEATS] = number
                game["since"][number] = game["turn"]

    def _place(self, path: str, name: str, where: object) -> int:
        """The number of a specialist's place."""
        check_specialist(path, name)
        if name not in self.rules.specialists:
            playing = ", ".join(self.rules.specialists) or "none; extrawurm has six"
            raise PickosimError(
                f'{path}: the rules "{self.rules.name}" have no {name} (specialists: {playing}).'
            )
        if isinstance(where, Mapping) and set(where) == {"seat"}:
            if name == "raven":
                raise PickosimError(f"{path}: no player can hold the raven.")
            return SEATS + _whole(path, where["seat"], 0, self.seats - 1)
        if isinstance(where, bool) or not isinstance(where, int | np.integer):
            raise PickosimError(
                f'{path} must be a tile or a seat, e.g. 30 or {{"seat": 0}}, not {where!r}.'
            )
        check_tile(path, where, self.rules)
        tile = self.values.index(int(where))
        if not int(self.game["grill"]) >> tile & 1:
            raise PickosimError(
                f"{path}: {name} stands on tile {where}, which is not on the grill."
            )
        return tile

    def _put_counts(self) -> None:
        """What was counted before; nothing if a position is written by hand."""
        game, turn = self.game, int(self.game["turn"])
        game["leader"] = NOTHING
        for name, value in _object("so_far", self.fields.get("so_far", {}), "{}").items():
            path = f"so_far.{name}"
            if name in COUNTERS._fields:
                game["counts"][COUNTERS._fields.index(name)] = _whole(path, value, 0, _MOST_COUNTED)
            elif name == "leader":
                game["leader"] = _whole(path, value, 0, self.seats - 1)
            elif name in ("since", *_BY_SEAT):
                for specialist, counted in _object(path, value, '{"apple": …}').items():
                    check_specialist(path, specialist)
                    number = SPECIALISTS.index(specialist)
                    if name == "since":
                        game["since"][number] = _whole(path, counted, 0, turn)
                    else:
                        game[name][number, : self.seats] = [
                            _whole(path, count, 0, turn)
                            for count in _list(path, counted, self.seats)
                        ]
            else:
                raise PickosimError(f'so_far has no "{name}".')

    def _called(self, path: str, default: str | None = None) -> str:
        return self.names.get(path, default or path)


def _whole(name: str, value: object, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise PickosimError(f"{name} must be a whole number from {low} to {high}, not {value!r}.")
    return value


def _list(name: str, value: object, length: int | None = None) -> Sequence[Any]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise PickosimError(f"{name} must be a list, not {value!r}.")
    if length is not None and len(value) != length:
        raise PickosimError(f"{name} must have one entry per seat, {length} and not {len(value)}.")
    return value


def _object(name: str, value: object, example: str) -> Object:
    if not isinstance(value, Mapping):
        raise PickosimError(f"{name} must be an object, e.g. {example}, not {value!r}.")
    return value


# ------------------------------------------------------------------------------ the dice of a turn


@dataclass(frozen=True)
class Dice:
    """The dice of a turn under way, by their faces; 0 if the golden die is not there."""

    aside: tuple[int, ...]
    """White dice set aside."""
    roll: tuple[int, ...]
    """White dice of the current roll."""
    golden: bool | None
    """Whether the golden die takes part in this turn; None for a player who does not hold it."""
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

    @property
    def fields(self) -> dict[str, Any]:
        """As a position has them."""
        golden = [f"+{face_name(self.golden_aside)}"] if self.golden_aside else []
        rolled = face_name(self.golden_roll) if self.golden_roll else None
        fields = {
            "aside": [*map(face_name, sorted(self.aside)), *golden],
            "roll": [*map(face_name, sorted(self.roll))],
            "golden": UNUSED if self.golden is False else rolled,
            "weasel_used": self.weasel_used,
        }
        return {name: value for name, value in fields.items() if value}


def read_dice(fields: Object, rules: RuleSet, holds: str | None) -> Dice:
    """The dice that a description has for the player on turn, who holds that specialist."""
    (aside, golden_aside), (roll, golden_roll) = (
        _faces(name, fields.get(name, ())) for name in ("aside", "roll")
    )
    golden, used = fields.get("golden"), fields.get("weasel_used", False)
    if golden not in (None, UNUSED):
        golden_roll += _faces("golden", [golden])[0]
    for name, faces in (("aside", golden_aside), ("golden", golden_roll)):
        if len(faces) > 1:
            raise PickosimError(
                f"{name}: {len(faces)} golden dice are given, but there is only one."
            )
    if not isinstance(used, bool):
        raise PickosimError(f"weasel_used must be true or false, not {used!r}.")
    if used and holds != "weasel":
        raise PickosimError(
            "weasel-used: only a player who holds the weasel can have used it; add holds weasel."
        )
    if (golden is not None or golden_roll) and holds != "golden-die":
        raise PickosimError(
            "golden: only a player who holds the golden die can roll it; add holds golden-die."
        )
    in_turn = golden != UNUSED if holds == "golden-die" else None
    dice = Dice(tuple(aside), tuple(roll), in_turn, sum(golden_aside), sum(golden_roll), used)
    for mistake in _mistakes(dice, rules):
        raise PickosimError(mistake)
    return dice


def _faces(field: str, written: object) -> tuple[list[int], list[int]]:
    """The faces of white dice and of golden ones (`+4`) as people write them, e.g. `ww444`, `2w,3x4`, `worm 4 4`.

    A single number before `w` counts worms: `2w` is two of them, and a 2 with a worm is `w2`.
    """
    parts = written.replace(",", " ").split() if isinstance(written, str) else _list(field, written)
    words: list[str] = []
    for part in map(str, parts):
        counted = _COUNTED.fullmatch(part.lower())
        if counted:
            words += int(counted["x"] or counted["w"]) * [counted["face"] or "w"]
        elif _ONE_BY_ONE.fullmatch(part.lower()):
            words += _FACE.findall(part.lower())
        else:
            raise PickosimError(
                f'{field}: "{part}" is not a face; the faces are 1 to 5 and worm (w), e.g. ww444.'
            )
    faces = [(word[0] == "+", WORM if "w" in word else int(word[-1])) for word in words]
    return [face for gold, face in faces if not gold], [face for gold, face in faces if gold]


def _mistakes(dice: Dice, rules: RuleSet) -> Iterator[str]:
    """Why the dice cannot be so."""
    golden = (("aside", dice.golden_aside), ("golden", dice.golden_roll))
    if dice.golden_aside and not dice.golden:
        yield f"aside: +{face_name(dice.golden_aside)} is the golden die, which is not used in this turn."
    for field, face in golden:
        if face and face not in rules.golden_die_faces:
            known = ", ".join(map(face_name, sorted(set(rules.golden_die_faces))))
            yield f"{field}: the golden die has no {face_name(face)}, only {known}."
    if all(face for _, face in golden):
        yield "golden: the golden die is already set aside, so it is not in the roll."
    if dice.golden and dice.roll and not any(face for _, face in golden):
        yield (
            "roll: the golden die is missing. If it is in this roll, add golden FACE; if it is set aside, "
            f"add +FACE to aside; if it is not used in this turn, add golden {UNUSED}."
        )
    aside, left = len(dice.aside), rules.dice - len(dice.aside)
    if left < 0:
        yield f"aside: {aside} white dice are given, but there are only {rules.dice}."
    if not dice.all_aside and not dice.all_rolled:
        yield "aside: no dice are given; add the dice set aside, or the dice rolled."
    if dice.all_rolled and len(set(dice.all_aside)) == FACES:
        yield "roll: all six faces are set aside, so the turn is over."
    if dice.all_rolled and len(dice.roll) != left:
        yield (
            f"roll: {len(dice.roll)} white dice are given, but {left} are left to roll ({rules.dice} minus {aside} "
            "set aside)."
        )
