"""Say by which rules a game is played: every option and its limits, the presets, files, `--set`.

Options have two forms. *Written* is how files, `--set` and JSON spell them: plain values, tables
with text for keys, `"worm"` for a worm. *Stored* is how a `RuleSet` holds them: hashable, tile
values as numbers, `WORM` for a worm. Validation turns written into stored, `as_dict` turns it back.
"""

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from pydantic.dataclasses import dataclass
from pydantic_core import ErrorDetails

from pickosim.errors import RulesError, suggest

RULES_VERSION = 1
"""Stored in every result; changes only when the same rules and seed would give another game."""

WORM = 6
"""The face of a die that shows a worm."""

WORM_POINTS = 5

PRESETS = (
    "classic",
    "short",
    "extrawurm",
    "extrawurm-box",
    "manual",
    "manual-extrawurm",
    "french",
)

Specialist = Literal["canned-worm", "sitting-hen", "raven", "weasel", "golden-die", "apple"]
SPECIALISTS: tuple[Specialist, ...] = get_args(Specialist)

MOST_DICE = 12
MOST_TILES = 32
HIGHEST_TILE = 99
MOST_WORMS = 20
HIGHEST_SEAT = 6

K = TypeVar("K")
V = TypeVar("V")


# --------------------------------------------------------------------------------- types of options


class FrozenMap(Mapping[K, V]):
    """A mapping that keeps its order, never changes, and can therefore be hashed."""

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
    """Limits of a whole number, with the words for them."""
    return Field(strict=True, ge=low, le=high, description=f"a whole number from {low} to {high}")


def _text(longest: int) -> Any:
    """Limits of a text, with the words for them."""
    words = f"one line of 1 to {longest} printable characters"
    return Field(min_length=1, max_length=longest, description=words)


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Seat:
    """A place at the table; seat 0 begins."""

    seat: Annotated[int, _whole(0, HIGHEST_SEAT)]


def _line(text: str) -> str:
    """Refuse what would not stand on one line of a table."""
    if not text.isprintable() or text != text.strip():
        raise ValueError
    return text


def _numbered(tiles: object) -> object:
    """Turn the keys of a written table of tiles into numbers."""
    if not isinstance(tiles, Mapping):
        return tiles
    return {
        int(key) if isinstance(key, str) and key in _TILE_KEYS else key: worms
        for key, worms in tiles.items()
    }


def _ascending(tiles: Mapping[int, int]) -> FrozenMap[int, int]:
    """Tiles as they lie on the grill."""
    return FrozenMap(dict(sorted(tiles.items())))


def _in_order(places: Mapping[Specialist, int | Seat]) -> FrozenMap[Specialist, int | Seat]:
    """Specialists as the rules page lists them."""
    return FrozenMap({name: places[name] for name in SPECIALISTS if name in places})


def _ascending_once(values: tuple[int, ...]) -> tuple[int, ...]:
    """Tile values in order; one that is named twice is likely a typo of another."""
    if len(set(values)) < len(values):
        raise ValueError
    return tuple(sorted(values))


def _face(written: object) -> object:
    """Turn "worm" into its number, which nobody is to write: a 6 is on no die of this game."""
    if written == WORM:
        raise ValueError
    return WORM if written == "worm" else written


_TILE_KEYS = tuple(str(value) for value in range(1, HIGHEST_TILE + 1))

Tile = Annotated[int, _whole(1, HIGHEST_TILE)]
Worms = Annotated[int, _whole(0, MOST_WORMS)]
Face = Annotated[int, _whole(1, WORM), BeforeValidator(_face)]


# --------------------------------------------------------------------------------- the rules proper


class Options(BaseModel):
    """Every option of the rules, checked one by one; the rules page says what each means."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: Annotated[str, _text(60), AfterValidator(_line)]
    title: Annotated[str, _text(200), AfterValidator(_line)]
    dice: Annotated[int, _whole(1, MOST_DICE)]
    tiles: Annotated[Mapping[Tile, Worms], BeforeValidator(_numbered), AfterValidator(_ascending)]
    exact_only: Annotated[
        tuple[Tile, ...],
        Field(strict=False, description="a list of tile values, each once, such as [11, 13]"),
        AfterValidator(_ascending_once),
    ]
    claim: Literal["next-lower", "any-lower"]
    steal: Literal["may", "must"]
    flip_without_return: bool
    flip_returned: bool
    exact_only_returns: bool
    tiebreak: Literal["highest-tile", "shared"]
    bratworms: Annotated[int, _whole(0, 99)]
    specialists: Annotated[Mapping[Specialist, Tile | Seat], AfterValidator(_in_order)]
    second_specialist: Literal["choose", "keep-new"]
    weasel_rescues_bust: bool
    golden_die_faces: Annotated[
        tuple[Face, ...],
        Field(
            strict=False,
            min_length=6,
            max_length=6,
            description='a list of six faces, each 1 to 5 or "worm"',
        ),
    ]
    apple_worms: Annotated[int, _whole(0, 99)]
    turn_limit: Annotated[int, _whole(1, 60_000)]


class RuleSet(Options):
    """Options that together make a game: frozen, hashable, and the same wherever they came from.

    `load_rules` and `with_options` make rule sets; both take options as they are written.
    """

    @model_validator(mode="after")
    def _makes_a_game(self) -> Self:
        """Refuse options that contradict each other."""
        if objection := next(_objections(self), None):
            raise ValueError(objection)
        return self

    def as_dict(self) -> dict[str, Any]:
        """All options as they are written, ready for JSON."""
        written = {option: _written(value) for option, value in self}
        faces = ["worm" if face == WORM else face for face in self.golden_die_faces]
        return written | {"golden_die_faces": faces}

    @classmethod
    def from_dict(cls, written: Mapping[str, Any]) -> "RuleSet":
        """The rules that `as_dict` wrote."""
        return _validated(cls, written)

    def with_options(self, changes: Mapping[str, object]) -> "RuleSet":
        """These rules with some options changed.

        A key is an option (`tiles`: the whole table) or one entry of a table (`tiles.36`). Whole
        options are changed before entries, whatever their order.
        """
        options = self.as_dict()
        for path, value in sorted(changes.items(), key=lambda change: "." in change[0]):
            options = _changed(options, path, value)
        return _validated(RuleSet, options)

    def as_arguments(self) -> list[str]:
        """The shortest command line arguments that give these very rules."""
        base = _nearest_preset(self)
        sets = _sets(base, self)
        return ["--rules", base.name, *(word for text in sets for word in ("--set", text))]


def presets() -> list[RuleSet]:
    """The rule sets that come with the package, in the order of the rules page."""
    return [_preset(name) for name in PRESETS]


def load_rules(spec: str | Path | RuleSet, sets: Sequence[str] = ()) -> RuleSet:
    """The rules of a preset or a TOML file, changed by `--set` texts such as `claim=any-lower`.

    Each text is checked by itself; whether they make a game is asked after the last.
    """
    rules = spec if isinstance(spec, RuleSet) else _find(spec)
    options = rules.as_dict()
    for text in sets:
        with _blame(f"--set {text}"):
            options = _changed(options, *_parsed_set(text))
            _validated(Options, options)
    with _blame(" ".join(f"--set {text}" for text in sets)):
        return _validated(RuleSet, options)


def differences(a: RuleSet, b: RuleSet) -> list[tuple[str, str, str]]:
    """What differs: (option or entry of a table, its value in `a`, its value in `b`).

    Values are shown as `--set` takes them, an absent entry as `none` or `nowhere`.
    """
    entries = zip(_entries(a), _entries(b), strict=True)
    return [(path, _shown(old), _shown(new)) for (path, old), (_, new) in entries if old != new]


def option_texts(rules: RuleSet) -> list[tuple[str, str]]:
    """Every option with its value, as `--set` takes it."""
    return [(option, _shown(value)) for option, value in rules.as_dict().items()]


# ------------------------------------------------------------------------------- what makes no game


def _objections(rules: Options) -> Iterator[str]:
    """Reasons why these options, each fine by itself, make no game together."""
    if not rules.tiles:
        yield "there are no tiles, so there is nothing to play for."
    if len(rules.tiles) > MOST_TILES:
        yield f"{len(rules.tiles)} tiles are too many; {MOST_TILES} can be in play at most."
    for tile in rules.exact_only:
        if tile not in rules.tiles:
            yield f"exact_only names tile {tile}, which is not in play."
    yield from _misplaced_specialists(rules)
    yield from _out_of_reach(rules)


def _misplaced_specialists(rules: Options) -> Iterator[str]:
    """Specialists who start where they cannot stand."""
    occupants: dict[int | Seat, str] = {}
    for name, place in rules.specialists.items():
        words = f"with seat {place.seat}" if isinstance(place, Seat) else f"on tile {place}"
        if name == "raven" and isinstance(place, Seat):
            yield f"specialists.raven starts {words}, but nobody ever owns the raven."
        if not isinstance(place, Seat) and place not in rules.tiles:
            yield f"specialists.{name} starts {words}, which is not in play."
        if place in occupants:
            yield (
                f"specialists.{occupants[place]} and specialists.{name} both start {words}, "
                "where there is room for one."
            )
        occupants[place] = name


def _out_of_reach(rules: Options) -> Iterator[str]:
    """Tiles that no total reaches; a specialist who starts with a player may raise the totals."""
    help_from = {
        "canned-worm": WORM_POINTS,
        "golden-die": max(min(face, WORM_POINTS) for face in rules.golden_die_faces),
    }
    held = [name for name, place in rules.specialists.items() if isinstance(place, Seat)]
    lowest = WORM_POINTS
    highest = WORM_POINTS * rules.dice + max((help_from.get(name, 0) for name in held), default=0)

    def within_reach(tile: int) -> bool:
        return tile <= highest and (tile >= lowest or tile not in rules.exact_only)

    if not any(within_reach(tile) for tile in rules.tiles):
        yield (
            f"no tile can ever be claimed: with a worm among them, {rules.dice} dice make totals "
            f"from {lowest} to {highest}."
        )
    # A fail flips the highest tile, and what is returned is higher than the lowest: that one would
    # lie on the grill for ever.
    bottom = min(rules.tiles, default=lowest)
    if not within_reach(bottom) and not rules.flip_without_return:
        yield (
            f"tile {bottom} can never leave the grill, so no game would end: it is exact-only, "
            f"the lowest total with a worm is {lowest}, and flip_without_return is false."
        )


# ------------------------------------------------------------------------- changing written options


class _Table(NamedTuple):
    """How an option that is a table of entries is written."""

    noun: str
    keys: tuple[str, ...]
    keys_are: str
    entry_is: str
    absent: str
    example: str


_TABLES = {
    "tiles": _Table(
        noun="tile",
        keys=_TILE_KEYS,
        keys_are=f"tiles have values from 1 to {HIGHEST_TILE}",
        entry_is=f'a whole number of worms from 0 to {MOST_WORMS}, or "none"',
        absent="none",
        example="tile values and their worms, such as {21 = 1, 22 = 1}",
    ),
    "specialists": _Table(
        noun="specialist",
        keys=SPECIALISTS,
        keys_are=f"the specialists are {', '.join(SPECIALISTS)}",
        entry_is=f'a tile value, {{seat = 0}} to {{seat = {HIGHEST_SEAT}}}, or "nowhere"',
        absent="nowhere",
        example="specialists and their places, such as {weasel = 25, apple = {seat = 0}}",
    ),
}

M = TypeVar("M", bound=Options)


def _changed(options: Mapping[str, Any], path: str, value: object) -> dict[str, Any]:
    """Written options with one option or one entry of a table changed."""
    option, dot, key = path.partition(".")
    table = _TABLES.get(option)
    if option not in Options.model_fields or (dot and table is None):
        hint = suggest(path, Options.model_fields)
        raise RulesError(
            f'unknown option "{path}"'
            + (hint or f"; the options are {', '.join(Options.model_fields)}.")
        )
    if table is None:
        return {**options, option: value}
    entries = {**options[option], key: value} if dot else value
    return {**options, option: _table_of(option, table, entries)}


def _table_of(option: str, table: _Table, value: object) -> dict[str, object]:
    """A written table without the entries that are marked as absent."""
    if not isinstance(value, Mapping):
        raise RulesError(f"{option} must be a table of {table.example}, not {_quoted(value)}.")
    entries = {str(key): entry for key, entry in value.items()}
    for key in entries:
        if key not in table.keys:
            # A number is hardly a typo of another number.
            hint = suggest(key, [name for name in table.keys if not name.isdecimal()])
            raise RulesError(f'unknown {table.noun} "{key}"' + (hint or f"; {table.keys_are}."))
    return {key: entry for key, entry in entries.items() if entry != table.absent}


def _validated(model: type[M], options: Mapping[str, Any]) -> M:
    """Turn written options into stored ones, or say which is wrong and why."""
    try:
        return model.model_validate(options)
    except ValidationError as error:
        raise RulesError(_explanation(error.errors()[0], options)) from None


def _explanation(error: ErrorDetails, options: Mapping[str, Any]) -> str:
    """Say in a sentence what pydantic found wrong with written options."""
    if not error["loc"]:
        return str(error["ctx"]["error"])
    option = str(error["loc"][0])
    given = options[option]
    if table := _TABLES.get(option):
        key = str(error["loc"][1])
        return f"{option}.{key} must be {table.entry_is}, not {_quoted(given[key])}."
    field = Options.model_fields[option]
    choices = ("true", "false") if field.annotation is bool else get_args(field.annotation)
    quote = "" if field.annotation is bool else '"'
    allowed = field.description or " or ".join(f"{quote}{choice}{quote}" for choice in choices)
    hint = suggest(given, choices) if isinstance(given, str) and not field.description else ""
    return f"{option} must be {allowed}, not {_quoted(given)}" + (hint or ".")


@contextmanager
def _blame(where: str) -> Iterator[None]:
    """Begin the message of a mistake with the place where it was made."""
    try:
        yield
    except RulesError as error:
        raise RulesError(f"{where}: {error}") from None


# ------------------------------------------------------------------------------ reading and writing


_WORD = re.compile(r""""(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z_][\w-]*""")
_UNQUOTED_ENTRY = re.compile(
    rf"""^[ \t]*(["']?)({"|".join(_TABLES)})\1[ \t]*\.[ \t]*["']?([\w-]+)""", re.MULTILINE
)


def _parsed_set(text: str) -> tuple[str, object]:
    """Split `option=value`."""
    path, equals, value = text.partition("=")
    if not equals:
        raise RulesError("an option is set with option=value, such as claim=any-lower.")
    return path.strip(), _parsed_value(value.strip())


def _parsed_value(text: str) -> object:
    """Read a TOML value in which bare words need no quotes; what is no such value is text."""

    def quoted(word: re.Match[str]) -> str:
        bare = word[0][0] not in "\"'" and word[0] not in ("true", "false")
        return f'"{word[0]}"' if bare else word[0]

    try:
        # The 0 makes an error of a comment or a comma at the end, which would be lost otherwise.
        document = tomllib.loads(f"values = [{_WORD.sub(quoted, text)}, 0]")
    except ValueError:
        return text
    match document:
        case {"values": [value, 0]} if len(document) == 1:
            return value
        case _:
            return text


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


def _shown(value: object) -> str:
    """A written value as `--set` takes it."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            return value if _parsed_value(value) == value else _quoted(value)
        case list():
            return f"[{','.join(_shown(item) for item in value)}]"
        case dict():
            return f"{{{','.join(f'{key}={_shown(entry)}' for key, entry in value.items())}}}"
        case _:
            return str(value)


def _quoted(value: object) -> str:
    """A value as it stands in a message, with quotes around text."""
    return json.dumps(value, ensure_ascii=False, default=str)


def _entries(rules: RuleSet) -> Iterator[tuple[str, object]]:
    """Every option, and every entry that a table could have, as it is written."""
    for option, value in rules.as_dict().items():
        if table := _TABLES.get(option):
            yield from ((f"{option}.{key}", value.get(key, table.absent)) for key in table.keys)
        else:
            yield option, value


def _nearest_preset(rules: RuleSet) -> RuleSet:
    """The preset of that name, otherwise the one with the fewest differences."""
    if rules.name in PRESETS:
        return _preset(rules.name)
    return min(presets(), key=lambda preset: len(differences(preset, rules)))


def _sets(base: RuleSet, rules: RuleSet) -> list[str]:
    """The `--set` texts that lead from `base` to `rules`, entry by entry where that is shorter."""
    changes = [(path, value) for path, _, value in differences(base, rules)]
    sets: list[str] = []
    for option, value in rules.as_dict().items():
        entries = [f"{path}={new}" for path, new in changes if path.partition(".")[0] == option]
        whole = [f"{option}={_shown(value)}"]
        sets += min(entries, whole, key=lambda texts: sum(len(f"--set {text}") for text in texts))
    return sets


# -------------------------------------------------------------------------------- presets and files


@cache
def _preset(name: str) -> RuleSet:
    """One of the presets; the first, which extends nothing, sets every option."""
    text = files("pickosim").joinpath("presets", f"{name}.toml").read_text(encoding="utf-8")
    document = tomllib.loads(text)
    base = document.pop("extends", None)
    return _preset(base).with_options(document) if base else _validated(RuleSet, document)


def _find(spec: str | Path, chain: tuple[Path, ...] = ()) -> RuleSet:
    """A preset, or the file of that path, as seen from the last file of the `extends` chain."""
    if spec in PRESETS:
        return _preset(str(spec))
    path = chain[-1].parent / spec if chain else Path(spec)
    # Path.exists fails on a name too long for any file.
    if isinstance(spec, Path) or path.suffix == ".toml" or os.path.exists(path):  # noqa: PTH110
        return _from_file(path, chain)
    where = f"{chain[-1]}: extends: " if chain else ""
    hint = suggest(spec, PRESETS)
    raise RulesError(
        f'{where}no preset is named "{spec}"'
        + (hint or f"; the presets are {', '.join(PRESETS)}, and a file of rules ends in .toml.")
    )


def _from_file(path: Path, chain: tuple[Path, ...]) -> RuleSet:
    """The rules of a file that the files of `chain` extend, from the outermost to the last."""
    where = f"{path} (extended by {chain[-1]})" if chain else str(path)
    with _blame(where):
        if path.resolve() in [file.resolve() for file in chain]:
            circle = " -> ".join(str(file) for file in (*chain, path))
            raise RulesError(f"files cannot extend each other in a circle: {circle}.")
        document = _parsed_file(_text_of(path))
        extends = document.pop("extends", "classic")
        if not isinstance(extends, str):
            given = _quoted(extends)
            raise RulesError(f"extends must be the name of a preset or a path, not {given}.")
    base = _find(extends, (*chain, path))
    names = {"name": path.stem, "title": f"{base.name}, as changed in {path.name}"}
    with _blame(where):
        return base.with_options(names | document)


def _text_of(path: Path) -> str:
    """Read a file of rules, which some editors begin with a byte order mark."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise RulesError("there is no such file.") from None
    except IsADirectoryError:
        raise RulesError("this is a directory, not a file of rules.") from None
    except UnicodeDecodeError as error:
        raise RulesError(f"the file is not UTF-8 text (at byte {error.start}).") from None
    except OSError as error:
        raise RulesError(f"the file cannot be read ({error.strerror}).") from None


def _parsed_file(text: str) -> dict[str, Any]:
    """The options in a file of rules as they are written."""
    try:
        document = tomllib.loads(text)
    except ValueError as error:
        lines = text.split("\n")
        end = f"at the end, line {len(lines)}, column {len(lines[-1]) + 1}"
        message = str(error).replace("at end of document", end)
        raise RulesError(f"the file is not valid TOML: {message}.") from None
    # TOML reads tiles.36 = 5 as a table with one entry, which would replace all the others.
    if entry := _UNQUOTED_ENTRY.search(text):
        raise RulesError(
            f'to change one entry of a table, write "{entry[2]}.{entry[3]}" with the quotes.'
        )
    return document
