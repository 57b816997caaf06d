"""Experiments: a question, and the study that answers it, as a TOML file that anybody can run again."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from pickosim.amounts import count, share
from pickosim.bots.entrants import enter
from pickosim.errors import PickosimError, suggest
from pickosim.rules import load_rules
from pickosim.stats.sprt import parse as parse_sprt
from pickosim.studies.balance import chosen
from pickosim.studies.balance_tables import SCHEMAS as BALANCE_TABLES
from pickosim.studies.compare_findings import check_about
from pickosim.studies.compare_tables import SCHEMAS as COMPARE_TABLES
from pickosim.studies.schedule import table_sizes
from pickosim.studies.tournament_tables import SCHEMAS as TOURNAMENT_TABLES
from pickosim.studies.variants import make_variants


class _Keys(BaseModel):
    """What every experiment may say."""

    model_config = ConfigDict(extra="forbid", strict=True)

    question: str
    study: Literal["tournament", "compare", "balance"]
    bots: list[str]
    games: int | str
    seed: int = 0
    sets: list[str] = []
    report: list[str] = []


class _Tournament(_Keys):
    rules: str = "classic"
    players: int | None = None
    focus: str | None = None
    table: bool = False
    tables: int = 500
    precision: str | float | None = None
    sprt: str | None = None


class _Compare(_Keys):
    rules: list[str]
    players: int | str | list[int] = 2
    sweeps: list[str] = []
    reference: str | None = None
    about: str | None = None


class _Balance(_Keys):
    rules: str = "extrawurm"
    players: int | str | list[int] = 4
    specialists: list[str] | None = None
    precision: str | float | None = None
    sensitivity: bool = False
    suggest: bool = False


_KINDS: dict[str, tuple[type[_Keys], Mapping[str, object]]] = {
    "tournament": (_Tournament, TOURNAMENT_TABLES),
    "compare": (_Compare, COMPARE_TABLES),
    "balance": (_Balance, BALANCE_TABLES),
}

_REMEDIES = {
    "question": 'write it as a sentence, as question = "Which bot is best?"',
    "study": 'write study = "tournament", "compare" or "balance"',
    "rules": 'write rules = "classic"; for a comparison a list, as rules = ["classic", "short"]',
    "bots": 'write a list, as bots = ["eager", "expected"]',
    "games": 'write a number, as games = 20000 or games = "1M"',
    "seed": "write a whole number, as seed = 1",
    "sets": 'write a list of changes, as sets = ["dice=7"]',
    "sweeps": 'write a list of sweeps, as sweeps = ["dice=7,8,9"]',
    "report": 'write a list of tables, as report = ["standings"]',
    "players": 'write a number, as players = 4, or for several table sizes players = "2-5"',
    "precision": 'write a share, as precision = "0.2%"',
    "sprt": 'write two shares, as sprt = "0,1%"',
    "specialists": 'write a list, as specialists = ["apple"]',
    "about": 'write a measure, as about = "first_seat"',
}


@dataclass(frozen=True)
class Experiment:
    """A file's question, the kind of study that answers it, its arguments, and the tables to report."""

    path: Path
    question: str
    kind: str
    arguments: Mapping[str, Any]
    report: tuple[str, ...]

    @property
    def notes(self) -> dict[str, Any]:
        """What a run's manifest says of it."""
        return {
            "experiment": self.path.name,
            "question": self.question,
            "report": list(self.report),
        }


def load_experiment(path: Path, games: str | int | None = None) -> Experiment:
    """Read an experiment; with `games`, played at another size. Mistakes are told by line and key."""
    text = _text_of(path)
    try:
        keys = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        said = re.sub(r" \(at line (\d+), column \d+\)$", "", str(error))
        line = re.search(r"at line (\d+)", str(error))
        number = line[1] if line else str(text.count("\n") + 1)
        raise PickosimError(f"{path}, line {number}: this is no TOML: {said}.") from error
    kind = keys.get("study")
    model, tables = _KINDS.get(kind if isinstance(kind, str) else "", (_Keys, {}))
    try:
        read = model(**keys)
    except ValidationError as error:
        raise PickosimError(f"{path}, {_explained(error, text, model)}") from error
    for key, check in _checks(read).items():
        if key in keys:
            try:
                check()
            except PickosimError as error:
                raise PickosimError(f"{path}, {_line(text, key)}{key}: {error}") from error
    for name in read.report:
        if name not in tables:
            known = ", ".join(tables)
            raise PickosimError(
                f'{path}, {_line(text, "report")}a {read.study} has no table "{name}"'
                f"{suggest(name, tables)} (it has {known})."
            )
    arguments = read.model_dump(exclude={"question", "study", "report"})
    if games is not None:
        arguments["games"] = games
    return Experiment(path, read.question, read.study, arguments, tuple(read.report))


def _checks(read: _Keys) -> dict[str, Callable[[], object]]:
    """Of keys that can be wrong by themselves: what refuses them, before anything is played."""
    checks: dict[str, Callable[[], object]] = {
        "games": lambda: count(read.games),
        "bots": lambda: enter(read.bots),
    }
    match read:
        case _Tournament():
            rules, one = [read.rules], read
            checks["sprt"] = lambda: parse_sprt(one.sprt or "")
        case _Compare():
            rules, compared = read.rules, read
            checks["players"] = lambda: table_sizes(compared.players)
            checks["sweeps"] = lambda: make_variants(rules, read.sets, compared.sweeps)
            checks["about"] = lambda: check_about(compared.about)
        case _Balance():
            rules, weighed = [read.rules], read
            checks["players"] = lambda: table_sizes(weighed.players)
            checks["specialists"] = lambda: chosen(load_rules(rules[0]), weighed.specialists)
        case _:
            return checks
    checks["rules"] = lambda: [load_rules(one) for one in rules]
    checks["sets"] = lambda: [load_rules(one, read.sets) for one in rules]
    precision = getattr(read, "precision", None)
    checks["precision"] = lambda: share(precision, "A precision") if precision else None
    # Rules first: what else is wrong may be so because of them.
    return dict(sorted(checks.items(), key=lambda check: check[0] not in ("rules", "sets")))


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        beside = sorted(file.name for file in path.parent.glob("*.toml"))
        why = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise PickosimError(
            f"{path} cannot be read: {why}{suggest(path.name, beside) or '.'}"
        ) from error


def _explained(error: ValidationError, text: str, model: type[_Keys]) -> str:
    """One mistake of a file: where it is, and what to write instead."""
    # A key that does not exist comes first: misspelt, it is why another one seems to be missing.
    first = min(error.errors(), key=lambda mistake: mistake["type"] != "extra_forbidden")
    key = str(first["loc"][0])
    known = list(model.model_fields)
    if first["type"] == "extra_forbidden":
        near = suggest(key, known) or "."
        return f'{_line(text, key)}there is no key "{key}"{near} The keys are {", ".join(known)}.'
    remedy = _REMEDIES.get(key, first["msg"].lower())
    if first["type"] == "missing":
        return f'line 1: the key "{key}" is missing; {remedy}.'
    return f"{_line(text, key)}{key} cannot be {first['input']!r}; {remedy}."


def _line(text: str, key: str) -> str:
    """Where a key stands, as `line 7: `."""
    for number, line in enumerate(text.splitlines(), start=1):
        if re.match(rf'\s*\[*"?{re.escape(key)}"?\s*[=\].]', line):
            return f"line {number}: "
    return ""
