"""The rules of a game: every option with its limits, and which options can be played together.

Options have two forms. *Written* is how files, `--set` and JSON spell them: plain values, mappings
with text keys, `"worm"` for a worm. *Stored* is how a `RuleSet` holds them: hashable, tile values as
numbers, `WORM` for a worm. Validation turns written into stored, `as_dict` turns it back.

`pickosim.rule_files` reads and writes rules as text: presets, TOML files, `--set`.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, Self, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic.dataclasses import dataclass
from pydantic_core import ErrorDetails

from pickosim.errors import RulesError, suggest

RULES_VERSION = 2
"""Stored in every result; changes only when the same preset and seed would give another game."""

WORM = 6
"""The face of a die that shows a worm."""

WORM_POINTS = 5

Specialist = Literal["canned-worm", "sitting-hen", "raven", "weasel", "golden-die", "apple"]
SPECIALISTS: tuple[Specialist, ...] = get_args(Specialist)

MOST_DICE = 12
MOST_TILES = 32
HIGHEST_TILE = 99
MOST_WORMS = 100
MOST_PLAYERS = 7
HIGHEST_SEAT = MOST_PLAYERS - 1

K = TypeVar("K")
V = TypeVar("V")


# --------------------------------------------------------------------------------- types of options


class FrozenMap(Mapping[K, V]):
    """An immutable, hashable mapping that keeps its order."""

    __slots__ = ("_entries",)

    def __init__(self, entries: Mapping[K, V]) -> None:
        self._entries = dict(entries)

    def __getitem__(self, key: K) -> V:
        return self._entries[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __hash__(self) -> int:
        return hash(frozenset(self._entries.items()))

    def __repr__(self) -> str:
        return f"FrozenMap({self._entries!r})"


def _whole(low: int, high: int) -> Any:
    """Limits of a whole number, and how error messages describe them."""
    return Field(strict=True, ge=low, le=high, title=f"a whole number from {low} to {high}")


def _text(longest: int) -> Any:
    """Limits of a text, and how error messages describe them."""
    words = f"one line of 1 to {longest} printable characters"
    return Field(min_length=1, max_length=longest, title=words)


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Seat:
    """A place at the table; seat 0 begins."""

    seat: Annotated[int, _whole(0, HIGHEST_SEAT)]


def _line(text: str) -> str:
    """Refuse text that would not fit on one line of a report."""
    if not text.isprintable() or text != text.strip():
        raise ValueError
    return text


def _numbered(tiles: object) -> object:
    """Turn the keys of written tiles into numbers."""
    if not isinstance(tiles, Mapping):
        return tiles
    return {
        int(key) if isinstance(key, str) and key in _TILE_KEYS else key: worms
        for key, worms in tiles.items()
    }


def _ascending(tiles: Mapping[int, int]) -> FrozenMap[int, int]:
    """Tiles in the order of the grill."""
    return FrozenMap(dict(sorted(tiles.items())))


def _in_order(places: Mapping[Specialist, int | Seat]) -> FrozenMap[Specialist, int | Seat]:
    """Specialists in the order of the rules page."""
    return FrozenMap({name: places[name] for name in SPECIALISTS if name in places})


def _ascending_once(values: tuple[int, ...]) -> tuple[int, ...]:
    """Tile values in ascending order; a repeated value is refused, as it is probably a typo."""
    if len(set(values)) < len(values):
        raise ValueError
    return tuple(sorted(values))


def _face(written: object) -> object:
    """Turn "worm" into its number. A written 6 is refused: the dice of this game have no 6."""
    if written == WORM:
        raise ValueError
    return WORM if written == "worm" else written


_TILE_KEYS = tuple(str(value) for value in range(1, HIGHEST_TILE + 1))

Tile = Annotated[int, _whole(1, HIGHEST_TILE)]
Worms = Annotated[int, _whole(0, MOST_WORMS)]
Face = Annotated[
    int,
    _whole(1, WORM),
    BeforeValidator(_face),
    WithJsonSchema({"enum": [1, 2, 3, 4, 5, "worm"]}),
]


# -------------------------------------------------------------------------------------- the options


class Options(BaseModel):
    """Every option of the rules, each checked on its own.

    The `title` of a field is what error messages say is allowed; the `description` is its meaning.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: Annotated[str, _text(60), AfterValidator(_line)] = Field(
        description="What results call these rules; by default the name of the file."
    )
    title: Annotated[str, _text(200), AfterValidator(_line)] = Field(
        description="One line that says what these rules are and where they come from."
    )
    dice: Annotated[int, _whole(1, MOST_DICE)] = Field(
        description="White dice rolled at the start of a turn."
    )
    tiles: Annotated[
        Mapping[Tile, Worms], BeforeValidator(_numbered), AfterValidator(_ascending)
    ] = Field(description="The tiles in play: the value of each tile and the worms on it.")
    exact_only: Annotated[
        tuple[Tile, ...],
        Field(
            strict=False,
            title="a list of tile values, each once, such as [11, 13]",
            json_schema_extra={"uniqueItems": True},
        ),
        AfterValidator(_ascending_once),
    ] = Field(
        description="Tiles that only a total of exactly their value can claim, from the grill only."
    )
    claim: Literal["next-lower", "any-lower", "exact"] = Field(
        description="What a total claims from the grill when the exact tile is neither there nor on "
        'top of a rival\'s stack: the highest tile below the total ("next-lower"); or, at any time, '
        'a tile of the player\'s choice that is not above the total ("any-lower"); or nothing, since '
        'only the tile of exactly the total can be claimed ("exact").'
    )
    steal: Literal["may", "must", "never"] = Field(
        description="Whether a player whose total is exactly a rival's top tile may, must or can never "
        "steal it."
    )
    lost_tile: Literal["returned", "removed", "kept"] = Field(
        description="What becomes of the top tile of a player whose turn fails: it goes back to the "
        'grill ("returned"); it is flipped at once, and then the highest grill tile as well '
        '("removed"); or the player does not lose it ("kept").'
    )
    flip_without_return: bool = Field(
        description="Whether a failed turn that costs no tile flips the highest grill tile anyway."
    )
    flip_returned: bool = Field(
        description="Whether the tile just returned is flipped when it is the highest on the grill."
    )
    exact_only_returns: bool = Field(
        description="Whether an exact-only tile on top of a stack is lost on a failed turn."
    )
    hen_saves_flip: bool = Field(
        description="Whether a failed turn that costs only the sitting hen flips nothing; if not, it "
        "counts as one that costs no tile."
    )
    tiebreak: Literal["highest-tile", "shared"] = Field(
        description="Whether the highest tile decides between players with equally many worms, or "
        "they share the place."
    )
    bratworms: Annotated[int, _whole(0, 99)] = Field(
        description="Bratworms in the supply; setting aside enough 1s earns one."
    )
    bratworm_ones: Annotated[int, _whole(1, MOST_DICE + 1)] = Field(
        description="How many 1s must be set aside to earn a bratworm."
    )
    specialists: Annotated[Mapping[Specialist, Tile | Seat], AfterValidator(_in_order)] = Field(
        description="The specialists in the game: the tile or the seat at which each one starts."
    )
    second_specialist: Literal["choose", "keep-new", "keep-old"] = Field(
        description="Whether a player who gets a second specialist chooses which one to keep, or "
        "always keeps the new one, or always the old one."
    )
    weasel_rescues_bust: bool = Field(
        description="Whether the weasel may also reroll a roll that shows no new face."
    )
    golden_die_faces: Annotated[
        tuple[Face, ...],
        Field(
            strict=False,
            min_length=6,
            max_length=6,
            title='a list of six faces, each 1 to 5 or "worm"',
        ),
    ] = Field(description="The six faces of the golden die.")
    apple_worms: Annotated[int, _whole(0, 99)] = Field(
        description="Worms that the apple is worth to its holder at the end of the game."
    )
    turn_limit: Annotated[int, _whole(1, 60_000)] = Field(
        description="Turns after which a game ends as it stands."
    )


class RuleSet(Options):
    """Options that make a playable game together: frozen, hashable, equal if all options are equal.

    `load_rules` and `with_options` make rule sets; both take written options.
    """

    @model_validator(mode="after")
    def _check_playable(self) -> Self:
        """Refuse combinations of options that cannot be played."""
        if objection := next(_objections(self), None):
            raise ValueError(objection)
        return self

    def as_dict(self) -> dict[str, Any]:
        """All options in written form, ready for JSON."""
        written = {option: _written(value) for option, value in self}
        faces = ["worm" if face == WORM else face for face in self.golden_die_faces]
        return written | {"golden_die_faces": faces}

    @classmethod
    def from_dict(cls, written: Mapping[str, Any]) -> "RuleSet":
        """The inverse of `as_dict`."""
        return validated(cls, written)

    def with_options(self, changes: Mapping[str, object]) -> "RuleSet":
        """A copy of these rules with some options changed.

        A key is an option (e.g. `tiles`) or one entry of an option that is a mapping (`tiles.36`).
        Whole options are changed before entries, whatever their order.
        """
        options = self.as_dict()
        for path, value in sorted(changes.items(), key=lambda change: "." in change[0]):
            options = changed_options(options, path, value)
        return validated(RuleSet, options)


# ---------------------------------------------------------------------------- what cannot be played


def _objections(rules: Options) -> Iterator[str]:
    """Reasons why these options, each valid on its own, cannot be played together."""
    if not rules.tiles:
        yield "there are no tiles; at least one is needed."
    if len(rules.tiles) > MOST_TILES:
        yield f"{len(rules.tiles)} tiles are too many; at most {MOST_TILES} can be in play."
    for tile in rules.exact_only:
        if tile not in rules.tiles:
            yield f"exact_only names tile {tile}, which is not in play."
    yield from _misplaced_specialists(rules)
    yield from _out_of_reach(rules)


def _misplaced_specialists(rules: Options) -> Iterator[str]:
    """Specialists whose starting place is not allowed."""
    occupants: dict[int | Seat, str] = {}
    for name, place in rules.specialists.items():
        words = f"with seat {place.seat}" if isinstance(place, Seat) else f"on tile {place}"
        if name == "raven" and isinstance(place, Seat):
            yield f"specialists.raven starts {words}, but no player can hold the raven; start it on a tile."
        if not isinstance(place, Seat) and place not in rules.tiles:
            yield f"specialists.{name} starts {words}, which is not in play."
        if place in occupants:
            yield (
                f"specialists.{occupants[place]} and specialists.{name} both start {words}, "
                "where there is room for one."
            )
        occupants[place] = name


def _out_of_reach(rules: Options) -> Iterator[str]:
    """Tiles that no total claims: nothing to play for, or a grill that can never be empty."""
    held = [name for name, place in rules.specialists.items() if isinstance(place, Seat)]
    totals = _totals(rules, held)
    if not any(_can_be_claimed(rules, tile, totals) for tile in rules.tiles):
        yield (
            f"no tile can ever be claimed: with a worm among them, {rules.dice} dice make totals "
            f"from {min(totals)} to {max(totals)}."
        )
    # With flip_without_return, fails alone can empty the grill.
    if not rules.flip_without_return:
        yield from _stuck_on_the_grill(rules)


def _totals(rules: Options, held: Collection[Specialist]) -> set[int]:
    """All totals that claim something, by a player with one of these specialists or none.

    White dice beside the worm add any number of points up to five each.
    """
    most = WORM_POINTS * rules.dice
    totals = set(range(WORM_POINTS, most + 1))
    if "canned-worm" in held:
        totals |= set(range(1 + WORM_POINTS, most + WORM_POINTS + 1))
    for face in rules.golden_die_faces if "golden-die" in held else ():
        points = min(face, WORM_POINTS)
        fewest = points if face == WORM else points + WORM_POINTS
        totals |= set(range(fewest, most + points + 1))
    return totals


def _can_be_claimed(rules: Options, tile: int, totals: Collection[int]) -> bool:
    """Whether one of these totals can claim a tile, once nothing else is in its way."""
    if rules.claim == "exact" or tile in rules.exact_only:
        return tile in totals
    return tile <= max(totals)


def _stuck_on_the_grill(rules: Options) -> Iterator[str]:
    """Tiles that no claim and no fail takes off the grill, if a fail flips only when it costs a tile.

    Any specialist in the game may come into play, so that only games without any end are refused.
    """
    totals = _totals(rules, rules.specialists)
    claimed = [tile for tile in rules.tiles if _can_be_claimed(rules, tile, totals)]
    stuck = [tile for tile in rules.tiles if tile not in claimed]
    lost = [tile for tile in claimed if rules.exact_only_returns or tile not in rules.exact_only]
    if rules.lost_tile == "removed":
        # Each fail that flips a tile of the grill costs a tile for good.
        if len(stuck) > len(lost):
            yield (
                f"no game would end: no total claims {_listed(stuck)}, a fail flips one of them only "
                f"if it costs a tile, and only {len(lost)} can be lost."
            )
        return
    for tile in stuck:
        # The highest tile is flipped, so the one just returned must be lower.
        if rules.lost_tile == "kept" or not any(other < tile for other in lost):
            yield (
                f"tile {tile} can never leave the grill, so no game would end: no total claims it, "
                "no fail flips it, and flip_without_return is false."
            )


def _listed(tiles: Sequence[int]) -> str:
    """Tiles in a sentence."""
    return f"tile{'s' * (len(tiles) > 1)} {', '.join(map(str, tiles))}"


# ------------------------------------------------------------------------- changing written options


class MappingOption(NamedTuple):
    """How an option that is a mapping is written."""

    noun: str
    """What a key names."""
    keys: tuple[str, ...]
    key_pattern: str
    """A regular expression that matches exactly the keys."""
    allowed_keys: str
    allowed_entry: str
    absent: str
    """Written instead of an entry to remove it."""
    shape: str
    """What the whole option maps, with an example."""


MAPPINGS = {
    "tiles": MappingOption(
        noun="tile",
        keys=_TILE_KEYS,
        key_pattern="[1-9][0-9]?",
        allowed_keys=f"tiles have values from 1 to {HIGHEST_TILE}",
        allowed_entry=f'a whole number of worms from 0 to {MOST_WORMS}, or "none"',
        absent="none",
        shape="tile values to worms, such as {21 = 1, 22 = 1}",
    ),
    "specialists": MappingOption(
        noun="specialist",
        keys=SPECIALISTS,
        key_pattern="|".join(SPECIALISTS),
        allowed_keys=f"the specialists are {', '.join(SPECIALISTS)}",
        allowed_entry=f'a tile value, {{seat = 0}} to {{seat = {HIGHEST_SEAT}}}, or "nowhere"',
        absent="nowhere",
        shape="specialists to their places, such as {weasel = 25, apple = {seat = 0}}",
    ),
}

M = TypeVar("M", bound=Options)


def changed_options(options: Mapping[str, Any], path: str, value: object) -> dict[str, Any]:
    """Written options with one option, or one entry of a mapping, changed."""
    option, dot, key = path.partition(".")
    mapping = MAPPINGS.get(option)
    if option not in Options.model_fields or (dot and mapping is None):
        hint = suggest(path, Options.model_fields)
        raise RulesError(
            f'unknown option "{path}"'
            + (hint or f"; the options are {', '.join(Options.model_fields)}.")
        )
    if mapping is None:
        return {**options, option: value}
    entries = {**options[option], key: value} if dot else value
    return {**options, option: _present_entries(option, mapping, entries)}


def _present_entries(option: str, mapping: MappingOption, value: object) -> dict[str, object]:
    """A written mapping without the entries that are marked as absent."""
    if not isinstance(value, Mapping):
        raise RulesError(f"{option} must map {mapping.shape}, not {quoted(value)}.")
    entries = {str(key): entry for key, entry in value.items()}
    for key in entries:
        if key not in mapping.keys:
            # Suggest names only: a number is rarely a typo of another number.
            hint = suggest(key, [name for name in mapping.keys if not name.isdecimal()])
            raise RulesError(
                f'unknown {mapping.noun} "{key}"' + (hint or f"; {mapping.allowed_keys}.")
            )
    return {key: entry for key, entry in entries.items() if entry != mapping.absent}


def validated(model: type[M], options: Mapping[str, Any]) -> M:
    """Turn written options into stored ones, or explain which one is wrong and why."""
    try:
        return model.model_validate(options)
    except ValidationError as error:
        raise RulesError(_explanation(error.errors()[0], options)) from None


def _explanation(error: ErrorDetails, options: Mapping[str, Any]) -> str:
    """One sentence on what pydantic found wrong with written options."""
    if not error["loc"]:
        return str(error["ctx"]["error"])
    option = str(error["loc"][0])
    given = options[option]
    if mapping := MAPPINGS.get(option):
        key = str(error["loc"][1])
        return f"{option}.{key} must be {mapping.allowed_entry}, not {quoted(given[key])}."
    field = Options.model_fields[option]
    choices = ("true", "false") if field.annotation is bool else get_args(field.annotation)
    quote = "" if field.annotation is bool else '"'
    words = [f"{quote}{choice}{quote}" for choice in choices]
    allowed = field.title or f"{', '.join(words[:-1])} or {words[-1]}"
    hint = suggest(given, choices) if isinstance(given, str) and not field.title else ""
    return f"{option} must be {allowed}, not {quoted(given)}" + (hint or ".")


def _written(value: object) -> object:
    """The plain form of a stored value."""
    match value:
        case Mapping():
            return {str(key): _written(entry) for key, entry in value.items()}
        case tuple():
            return list(value)
        case Seat(seat=seat):
            return {"seat": seat}
        case _:
            return value


def quoted(value: object) -> str:
    """A value for an error message, with quotes around text."""
    return json.dumps(value, ensure_ascii=False, default=str)


def check_players(players: int) -> None:
    """Refuse a number of players that no rules allow."""
    if not isinstance(players, int) or not 2 <= players <= MOST_PLAYERS:
        raise RulesError(f"2 to {MOST_PLAYERS} players can play, not {players!r}.")
