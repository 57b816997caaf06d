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


class Power(NamedTuple):
    """What a specialist does."""

    summary: str
    """One sentence."""
    details: str
    use: str
    """What statistics count as one use of it."""
    options: tuple[str, ...]
    """The options that concern it, apart from the place where it starts."""


POWERS: dict[str, Power] = {
    "canned-worm": Power(
        "Counts as a worm as long as no worm is set aside: 5 points, and the worm that a claim needs.",
        "It is not a face that is set aside. Worms may still be set aside later, and then its 5 points "
        "are gone; and it does not count towards all six faces, which end a turn.",
        use="claims made with it",
        options=("second_specialist",),
    ),
    "sitting-hen": Power(
        "Guards its holder's tiles: a failed turn or a thief costs the hen, not the top tile.",
        "On a fail the hen goes back to the grill and no tile is returned; whether one is flipped is up to "
        "hen_saves_flip. A rival who would steal the top tile takes the hen instead, and the "
        "tile stays; with an exact-only tile on top, nobody can steal the hen. A holder without tiles "
        "keeps the hen on a fail. Nobody can take the holder's bratworms.",
        use="fails and steals absorbed",
        options=("hen_saves_flip", "flip_without_return", "steal", "second_specialist"),
    ),
    "raven": Power(
        "Is never held: whoever takes the tile on which it stands earns a bratworm.",
        "The bratworm comes from the supply; when that is empty, from a rival of the player's choice "
        "who has one and does not hold the sitting hen. Then the raven goes back to the grill.",
        use="bratworms given",
        options=("bratworms",),
    ),
    "weasel": Power(
        "Once a turn, right after a roll, its holder may roll the same dice again.",
        "This comes before anything is set aside. The new roll counts, even if it shows no new face.",
        use="rerolls",
        options=("weasel_rescues_bust", "second_specialist"),
    ),
    "golden-die": Power(
        "One more die, for any turn in which its holder wants it.",
        "The holder decides before the first roll. The die keeps its own faces until it is set aside.",
        use="turns with it",
        options=("golden_die_faces", "second_specialist"),
    ),
    "apple": Power(
        "Worth extra worms to whoever holds it at the end of the game.",
        "It does nothing before that.",
        use="0",
        options=("apple_worms", "second_specialist"),
    ),
}

USES = "; ".join(f"{name}: {power.use}" for name, power in POWERS.items()).replace("-", " ")
"""What statistics count as a use, of all specialists."""

MOST_DICE = 12
MOST_TILES = 32
HIGHEST_TILE = 99
MOST_WORMS = 100
MOST_PLAYERS = 7
HIGHEST_SEAT = MOST_PLAYERS - 1

K = TypeVar("K")
V = TypeVar("V")


# --------------------------------------------------------------------------------- types of options


class Means(NamedTuple):
    """One of the few values of an option, in written form, and what it means in a sentence."""

    value: str | bool
    meaning: str


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
    int, _whole(1, WORM), BeforeValidator(_face), WithJsonSchema({"enum": [1, 2, 3, 4, 5, "worm"]})
]


# -------------------------------------------------------------------------------------- the options


class Options(BaseModel):
    """Every option of the rules, each checked on its own.

    The `title` of a field is what error messages say is allowed, the `description` what it is about.
    If an option has few values, `Means` says what each of them means.
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
    claim: Annotated[
        Literal["next-lower", "any-lower", "exact"],
        Means(
            "next-lower",
            "If the exact tile is neither on the grill nor on top of a rival's stack, a total claims the "
            "highest grill tile below it.",
        ),
        Means(
            "any-lower",
            "A total claims any grill tile that is not above it, also when the exact tile is there; "
            "the player chooses.",
        ),
        Means("exact", "A total claims only the tile of exactly its value."),
    ] = Field(
        description="Which grill tiles a total can claim besides the one of exactly its value."
    )
    steal: Annotated[
        Literal["may", "must", "never"],
        Means(
            "may",
            "A player whose total is exactly a rival's top tile may steal it, or take what the grill "
            "offers instead.",
        ),
        Means(
            "must",
            "A player whose total is exactly a rival's top tile can claim nothing else, even if the "
            "grill offers more.",
        ),
        Means(
            "never", "Nothing is stolen, hens neither; a total claims only what the grill offers."
        ),
    ] = Field(
        description="Whether a player whose total is exactly a rival's top tile may, must or can never "
        "steal it."
    )
    lost_tile: Annotated[
        Literal["returned", "removed", "kept"],
        Means(
            "returned",
            "The top tile goes back to the grill, and then the highest grill tile is flipped (see "
            "flip_returned).",
        ),
        Means(
            "removed",
            "The top tile is flipped at once, out of the game, and then the highest grill tile as well.",
        ),
        Means("kept", "The player keeps the top tile: a failed turn costs no tile."),
    ] = Field(description="What becomes of the top tile of a player whose turn fails.")
    flip_without_return: Annotated[
        bool,
        Means(True, "A failed turn that costs no tile flips the highest grill tile all the same."),
        Means(False, "A failed turn that costs no tile flips nothing."),
    ] = Field(
        description="Whether a failed turn that costs no tile flips the highest grill tile anyway."
    )
    flip_returned: Annotated[
        bool,
        Means(True, "The highest grill tile is flipped, even if it is the tile just returned."),
        Means(
            False,
            "If the tile just returned is the highest on the grill, it stays, and nothing is flipped.",
        ),
    ] = Field(
        description="Whether the tile just returned is flipped when it is the highest on the grill."
    )
    exact_only_returns: Annotated[
        bool,
        Means(True, "An exact-only tile on top of a stack is lost like any other."),
        Means(
            False,
            "An exact-only tile on top of a stack stays, as do those below it: the turn costs no tile.",
        ),
    ] = Field(description="Whether an exact-only tile on top of a stack is lost on a failed turn.")
    hen_saves_flip: Annotated[
        bool,
        Means(True, "A failed turn that costs only the sitting hen flips nothing."),
        Means(
            False,
            "A failed turn that costs only the sitting hen is one that costs no tile: "
            "flip_without_return decides.",
        ),
    ] = Field(description="Whether a failed turn that costs only the sitting hen flips nothing.")
    tiebreak: Annotated[
        Literal["highest-tile", "shared"],
        Means(
            "highest-tile",
            "Of players with equally many worms, the one with the highest single tile is ahead.",
        ),
        Means("shared", "Players with equally many worms share the place."),
    ] = Field(description="How places are decided between players with equally many worms.")
    bratworms: Annotated[int, _whole(0, 99)] = Field(
        description="Bratworms in the supply; setting aside enough 1s earns one."
    )
    bratworm_ones: Annotated[int, _whole(1, MOST_DICE + 1)] = Field(
        description="How many 1s must be set aside to earn a bratworm."
    )
    specialists: Annotated[Mapping[Specialist, Tile | Seat], AfterValidator(_in_order)] = Field(
        description="The specialists in the game: the tile or the seat at which each one starts."
    )
    second_specialist: Annotated[
        Literal["choose", "keep-new", "keep-old"],
        Means("choose", "A player who gets a second specialist chooses which one to keep."),
        Means("keep-new", "A player who gets a second specialist keeps the new one."),
        Means("keep-old", "A player who gets a second specialist keeps the old one."),
    ] = Field(
        description="Which of two specialists a player keeps; the other goes back to the grill."
    )
    weasel_rescues_bust: Annotated[
        bool,
        Means(True, "The weasel may also reroll a roll that shows no new face."),
        Means(False, "A roll that shows no new face ends the turn, weasel or not."),
    ] = Field(description="Whether the weasel may also reroll a roll that shows no new face.")
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


def values_of(option: str) -> dict[str, str]:
    """Every value of an option that has few, as written for `--set`, and what it means."""
    metadata = Options.model_fields[option].metadata
    return {str(each.value).lower(): each.meaning for each in metadata if isinstance(each, Means)}


def allowed(option: str) -> str:
    """What an option can be, as error messages put it."""
    if mapping := MAPPINGS.get(option):
        return f"a mapping of {mapping.shape}"
    words = [in_a_file(value) for value in values_of(option)]
    return Options.model_fields[option].title or f"{', '.join(words[:-1])} or {words[-1]}"


def in_a_file(value: str) -> str:
    """One of the few values of an option as TOML and JSON write it."""
    return value if value in ("true", "false") else quoted(value)


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
        allowed_keys=f"tiles have values from 1 to {HIGHEST_TILE}",
        allowed_entry=f'a whole number of worms from 0 to {MOST_WORMS}, or "none"',
        absent="none",
        shape="tile values to worms, such as {21 = 1, 22 = 1}",
    ),
    "specialists": MappingOption(
        noun="specialist",
        keys=SPECIALISTS,
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
    written = {**options[option], key: value} if dot else value
    if not isinstance(written, Mapping):
        raise RulesError(f"{option} must map {mapping.shape}, not {quoted(written)}.")
    entries = {str(key): entry for key, entry in written.items()}
    for key in entries:
        check_key(mapping, key)
    return {**options, option: {k: v for k, v in entries.items() if v != mapping.absent}}


def check_key(mapping: MappingOption, key: str) -> None:
    """Refuse a key that a mapping does not have."""
    if key not in mapping.keys:
        # Suggest names only: a number is rarely a typo of another number.
        hint = suggest(key, [name for name in mapping.keys if not name.isdecimal()])
        raise RulesError(f'unknown {mapping.noun} "{key}"' + (hint or f"; {mapping.allowed_keys}."))


def validated(model: type[M], options: Mapping[str, Any]) -> M:
    """Turn written options into stored ones, or explain which one is wrong and why."""
    try:
        return model.model_validate(options)
    except ValidationError as error:
        raise RulesError(_explanation(error.errors()[0], options)) from None


def _explanation(error: ErrorDetails, options: Mapping[str, Any]) -> str:
    """One sentence on what pydantic found wrong with written options."""
    if not error["loc"]:
        return str(error["ctx"]["error"]) if "ctx" in error else "these are not options of rules."
    option = str(error["loc"][0])
    if option not in Options.model_fields or option not in options:
        known = option in Options.model_fields
        return f'the option "{option}" is {"missing" if known else "unknown"}.'
    value = options[option]
    if mapping := MAPPINGS.get(option):
        if len(error["loc"]) == 1:
            return f"{option} must map {mapping.shape}, not {quoted(value)}."
        key = str(error["loc"][1])
        return f"{option}.{key} must be {mapping.allowed_entry}, not {quoted(value[key])}."
    hint = suggest(value, values_of(option)) if isinstance(value, str) else ""
    return f"{option} must be {allowed(option)}, not {quoted(value)}" + (hint or ".")


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


def face_name(face: int) -> str:
    """`"1"` to `"5"`, `"worm"`."""
    return "worm" if face == WORM else str(face)


def quoted(value: object) -> str:
    """A value for an error message, with quotes around text."""
    return json.dumps(value, ensure_ascii=False, default=str)


def check_players(players: int) -> None:
    """Refuse a number of players that no rules allow."""
    if not isinstance(players, int) or not 2 <= players <= MOST_PLAYERS:
        raise RulesError(f"2 to {MOST_PLAYERS} players can play, not {players!r}.")
