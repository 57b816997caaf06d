"""Conformance: what every bot must keep to, tried out in play.

The tests of this package run it over every built-in bot, `pickosim check` over anybody's. Whatever is
compared is whole results of games, column by column, so that a single die set aside otherwise shows.
"""

from __future__ import annotations

import pickle
import signal
from collections.abc import Callable, Iterator, Sequence, Set
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from multiprocessing import get_context
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pickosim.bots.loading import load_bot, spec_of
from pickosim.bots.strategy import Strategy
from pickosim.bots.view import BoolArray, Turn
from pickosim.engine.tally import Tally
from pickosim.errors import StrategyError
from pickosim.games.batch import play_games
from pickosim.games.match import Match, seat
from pickosim.rules import PRESETS, RuleSet, load_rules

LEGAL = "legal moves"
REPEATABLE = "same seed, same games"
BATCH_SIZE = "any batch size"
MEMORY = "no memory"
INPUTS = "inputs unchanged"
PROCESS = "another process"
SPEED = "speed"
COMPARISONS = {BATCH_SIZE, MEMORY, PROCESS}
"""Points that mean nothing for a bot whose games differ from run to run."""

FEW_SLOTS, MANY_SLOTS = 7, 4096
RIVAL, YARDSTICK = "random", "eager"


@dataclass(frozen=True)
class Finding:
    """How a bot did on one point; the message says what was played, or what is wrong."""

    point: str
    ok: bool
    message: str


@dataclass(frozen=True)
class Effort:
    """How much is played; the least that finds common mistakes, within seconds for a simple bot."""

    players: tuple[int, ...] = (2, 3, 4, 5, 6, 7)
    """Sizes of table at which moves must be legal."""
    table_games: int = 8
    """Games at each of those tables."""
    games: int = 100
    """Games of each match whose results are compared."""
    alone: int = 4
    """Games of each of those matches that are also played alone."""
    turn_limit: int = 150
    """Turns a game: a bot that leaves the last tiles lying would play on for thousands."""
    seconds: float = 0.3
    """Time for a measurement of speed, at the least."""


class Seating(NamedTuple):
    """A table: its rules, and the seats of the bot; `random` has the others."""

    rules: RuleSet
    own: tuple[bool, ...]


@dataclass(frozen=True)
class Trial:
    """A bot as it was given (by name or path, or made in Python), and how much it has to play."""

    bot: str | Strategy
    effort: Effort

    @property
    def spec(self) -> str:
        """Its name on a command line."""
        return self.bot if isinstance(self.bot, str) else spec_of(self.bot)

    @property
    def seatings(self) -> list[Seating]:
        """The matches whose results are compared; together they ask every question there is."""
        return [
            Seating(_rules("classic", self.effort), (True, True)),
            Seating(_rules("manual", self.effort), (True, False, True)),
            Seating(_rules("extrawurm", self.effort), (True, False, True, True)),
        ]

    @cached_property
    def reference(self) -> list[Tally]:
        """Their results, which all others are compared with."""
        return results(self)

    def made(self) -> Strategy:
        """The bot, as it is before it has played."""
        return load_bot(self.bot) if isinstance(self.bot, str) else replace(self.bot)  # type: ignore[type-var]

    def match(self, seating: Seating, strategy: Strategy) -> Match:
        """The match of a strategy, the same one in all seats of the bot, under the bot's name."""
        match = seat([strategy if own else RIVAL for own in seating.own], seating.rules)
        return replace(match, specs=tuple(self.spec if own else RIVAL for own in seating.own))

    def for_worker(self) -> Trial:
        """The trial as another process gets it: with a path to load the bot anew, or with the bot."""
        by_path = isinstance(self.bot, str) and self.bot.split(":")[0].endswith(".py")
        return Trial(self.bot if by_path else self.made(), self.effort)


def check_bot(
    bot: str | Strategy, effort: Effort | None = None, elsewhere: Executor | None = None
) -> Iterator[Finding]:
    """Try a bot on every point; each finding is there as soon as it is known.

    `elsewhere` plays what another process has to play; without it one is started for that.
    """
    trial = Trial(bot, effort or Effort())
    trial.made()  # a bot that cannot be loaded is refused before anything is played
    with nullcontext(elsewhere) if elsewhere else another_process() as process:
        # Under way while this process plays: it takes a second or two to start.
        sent = _sent(process, trial)
        checks: dict[str, Callable[[Trial], Finding]] = {
            LEGAL: check_legal,
            REPEATABLE: check_repeatable,
            BATCH_SIZE: check_batch_size,
            MEMORY: check_memory,
            INPUTS: check_inputs,
            PROCESS: lambda trial: check_process(trial, sent),
            SPEED: check_speed,
        }
        wrong: set[str] = set()
        for point, check in checks.items():
            finding = _tried(point, check, trial, wrong)
            if not finding.ok:
                wrong.add(point)
            yield finding


def _tried(point: str, check: Callable[[Trial], Finding], trial: Trial, wrong: Set[str]) -> Finding:
    """A finding; of what an earlier one makes pointless or impossible, only that."""
    if point in COMPARISONS and REPEATABLE in wrong:
        return Finding(point, False, f'not tested, see "{REPEATABLE}"')
    try:
        return check(trial)
    except StrategyError as error:
        told = f'not tested, see "{LEGAL}"' if LEGAL in wrong else f"a game breaks off: {error}"
        return Finding(point, False, told)


# --------------------------------------------------------------------------------------- the points


def check_legal(trial: Trial) -> Finding:
    """Every preset, every size of table, against itself and against `random`."""
    seatings = legal_seatings(trial.effort)
    mistakes: list[tuple[Seating, StrategyError]] = []
    for seating in seatings:
        try:
            play_games(trial.match(seating, trial.made()), 0, trial.effort.table_games)
        except StrategyError as error:
            mistakes.append((seating, error))
    if mistakes:
        where = _where([seating for seating, _ in mistakes], seatings)
        broken = f"games break off at {len(mistakes)} of {len(seatings)} tables{where}"
        return Finding(LEGAL, False, f"{broken}. The first: {mistakes[0][1]}")
    sizes = f"{min(trial.effort.players)} to {max(trial.effort.players)} players"
    played = f"{len(seatings)} tables: {len(PRESETS)} presets, {sizes}, with itself and {RIVAL}"
    return Finding(LEGAL, True, played)


def check_repeatable(trial: Trial) -> Finding:
    """Two runs with the same seed are equal."""
    right = f"two runs of {len(trial.seatings)} times {trial.effort.games} games are equal"
    wrong = (
        "two runs with the same seed differ; chance may come from turn.random() only, "
        "and nothing may be kept from one call to the next"
    )
    return _compared(REPEATABLE, trial, results(trial), right, wrong)


def check_batch_size(trial: Trial) -> Finding:
    """The same with few slots as with many, and a game alone the same as among others."""
    right = f"the same with {FEW_SLOTS} and {MANY_SLOTS:,} games at a time, and alone"
    wrong = (
        "a game depends on the games beside it; "
        "an answer may depend on nothing but its own game's row of the turn"
    )
    finding = _compared(BATCH_SIZE, trial, results(trial, batch=FEW_SLOTS), right, wrong)
    if not finding.ok:
        return finding
    games, alone = trial.effort.games, trial.effort.alone
    for seating, together in zip(trial.seatings, trial.reference, strict=True):
        match = trial.match(seating, trial.made())
        for game in range(0, games, max(1, games // alone)):
            if first_difference(_only(together, game), play_games(match, game, 1)) is not None:
                return Finding(BATCH_SIZE, False, _told(wrong, match, game))
    return finding


def check_memory(trial: Trial) -> Finding:
    """The same after other games, by other rules and with other players, as before them."""
    right = "the same games after others, by other rules, as before them"
    wrong = (
        "a game depends on the games before it; "
        "a bot may keep nothing from one call to the next that changes an answer"
    )
    return _compared(MEMORY, trial, results(trial, backwards=True), right, wrong)


def check_inputs(trial: Trial) -> Finding:
    """Nothing that a bot is shown is changed by it."""
    for seating in trial.seatings:
        witness = Witness(trial.made())
        match = trial.match(seating, witness)
        try:
            play_games(match, 0, trial.effort.games)
        except StrategyError as error:
            if "read-only" not in str(error.__cause__):
                raise
            advice = "the arrays of a turn are read-only: compute a new one, or take a copy()"
            return Finding(INPUTS, False, f"{advice}. {error}")
        if witness.changes:
            what, game = witness.changes[0]
            return Finding(INPUTS, False, _told(f"{what}, which is only to be read", match, game))
    return Finding(INPUTS, True, "nothing that it is shown was changed")


def check_process(trial: Trial, sent: Future[list[Tally]] | Exception) -> Finding:
    """The same in another process, as tournaments are played by workers."""
    if isinstance(sent, Exception):
        said = f"{type(sent).__name__}: {sent}"
        return Finding(PROCESS, False, f"the bot cannot be pickled for a worker: {said}")
    try:
        there = sent.result()
    except BrokenProcessPool:
        said = "a worker process could not load the bot; is its class in a module to be imported?"
        return Finding(PROCESS, False, said)
    right = "sent to another process, it plays the same games"
    wrong = (
        "another process plays other games; an answer may not depend on the process, "
        "as on the order of a set or on what was computed for other rules"
    )
    return _compared(PROCESS, trial, there, right, wrong)


def check_speed(trial: Trial) -> Finding:
    """Games a second on one core, for information, beside those of a known bot."""
    seating = Seating(load_rules("classic"), (True, True))
    own = games_per_second(trial.match(seating, trial.made()), trial.effort.seconds)
    known = games_per_second(seat([YARDSTICK] * 2, seating.rules), trial.effort.seconds)
    said = f"{_rounded(own)} games/s with itself, classic, 2 players, one core"
    return Finding(SPEED, True, f"{said} ({YARDSTICK}: {_rounded(known)})")


# ----------------------------------------------------------------------------------- what is played


def legal_seatings(effort: Effort) -> list[Seating]:
    """The tables at which every move must be legal."""
    return [
        Seating(_rules(preset, effort), own)
        for preset in PRESETS
        for players in effort.players
        for own in (
            (True,) * players,
            tuple(place % 2 == players % 2 for place in range(players)),
        )
    ]


def results(trial: Trial, *, batch: int = MANY_SLOTS, backwards: bool = False) -> list[Tally]:
    """Results of the matches, played by one strategy from the first to the last or backwards."""
    strategy, step = trial.made(), -1 if backwards else 1
    played = [
        play_games(trial.match(seating, strategy), 0, trial.effort.games, batch=batch)
        for seating in trial.seatings[::step]
    ]
    return played[::step]


def games_per_second(match: Match, seconds: float) -> float:
    """Speed of a match on one core, measured over at least that time."""
    games, took = 16, 0.0
    while took < seconds:
        games *= 4
        began = perf_counter()
        play_games(match, 0, games)
        took = perf_counter() - began
    return games / took


def _rules(preset: str, effort: Effort) -> RuleSet:
    return load_rules(preset, [f"turn_limit={effort.turn_limit}"])


def another_process() -> ProcessPoolExecutor:
    """A process that knows nothing of this one's modules; Ctrl-C ends it without a word."""
    quiet = (signal.SIGINT, signal.SIG_DFL)
    return ProcessPoolExecutor(1, get_context("spawn"), initializer=signal.signal, initargs=quiet)


def _sent(process: Executor, trial: Trial) -> Future[list[Tally]] | Exception:
    """The results from another process to come, or why the bot cannot get there.

    Played backwards: what a bot's module keeps of the first rules it meets then shows.
    """
    parcel = trial.for_worker()
    try:
        pickle.dumps(parcel)
    except Exception as error:  # pickling runs the bot's own code, which may raise anything
        return error
    return process.submit(results, parcel, backwards=True)


class Witness(Strategy):
    """Answers as another bot does, and notes what that bot changes; then puts it right again."""

    bot: Strategy
    changes: list[tuple[str, int]] = field(default_factory=list)
    """What was changed, and the number of a game in which it was."""

    def pick(self, turn: Turn) -> NDArray[Any]:
        return self._answer("pick", turn)

    def stop(self, turn: Turn) -> BoolArray:
        return self._answer("stop", turn)

    def claim(self, turn: Turn) -> NDArray[Any]:
        return self._answer("claim", turn)

    def reroll(self, turn: Turn) -> BoolArray:
        return self._answer("reroll", turn)

    def use_golden_die(self, turn: Turn) -> BoolArray:
        return self._answer("use_golden_die", turn)

    def keep_new_specialist(self, turn: Turn) -> BoolArray:
        return self._answer("keep_new_specialist", turn)

    def rob(self, turn: Turn) -> NDArray[Any]:
        return self._answer("rob", turn)

    def _answer(self, method: str, turn: Turn) -> NDArray[Any]:
        # As bytes: records have padding between their fields, which a copy of the records leaves out.
        engine = {
            "books": turn._books.view(np.uint8),
            "table": turn._table.view(np.uint8),
            "hands": turn._hands.view(np.uint8),
        }
        before = {name: content.copy() for name, content in engine.items()}
        answers: NDArray[Any] = getattr(self.bot, method)(turn)
        changed = [f"turn.{name}" for name in _altered_views(turn)]
        for name, content in engine.items():
            if not np.array_equal(content, before[name]):
                content[:] = before[name]
                changed.append(f"the engine's {name}")
        game = int(turn._table["game"][turn._rows[0]])
        self.changes += [(f"{method}() changes {name}", game) for name in changed]
        return answers


def _altered_views(turn: Turn) -> list[str]:
    """The attributes of a turn that are no longer what the table shows."""
    shown = [name for name in vars(turn) if isinstance(vars(Turn).get(name), cached_property)]
    fresh = copy(turn)
    for name in shown:
        del vars(fresh)[name]
    return [name for name in shown if not np.array_equal(getattr(turn, name), getattr(fresh, name))]


# --------------------------------------------------------------------------------------- comparison


def first_difference(a: Tally, b: Tally) -> int | None:
    """The first game of which two tallies differ in any column."""
    differs = np.zeros(len(a.turns), np.bool_)
    for one, other in zip(a, b, strict=True):
        differs |= np.asarray(one != other).reshape(len(differs), -1).any(axis=1)
    return int(differs.argmax()) if differs.any() else None


def _compared(point: str, trial: Trial, others: Sequence[Tally], right: str, wrong: str) -> Finding:
    """Whether the results of all matches are those of the reference; if not, where first."""
    for seating, expected, got in zip(trial.seatings, trial.reference, others, strict=True):
        game = first_difference(expected, got)
        if game is not None:
            match = trial.match(seating, trial.made())
            return Finding(point, False, _told(wrong, match, game))
    return Finding(point, True, right)


def _only(tally: Tally, game: int) -> Tally:
    return Tally._make(column[game : game + 1] for column in tally)


def _told(what: str, match: Match, game: int) -> str:
    return f"{what} (first in game {game}: {match.replay_command(game)})"


def _where(some: Sequence[Seating], every: Sequence[Seating]) -> str:
    """Which rules and sizes of table those are, as far as they are not all."""

    def names(seatings: Sequence[Seating]) -> tuple[list[str], list[int]]:
        presets = dict.fromkeys(seating.rules.name for seating in seatings)
        return list(presets), sorted({len(seating.own) for seating in seatings})

    (presets, sizes), (all_presets, all_sizes) = names(some), names(every)
    told = [f"rules {', '.join(presets)}"] if presets != all_presets else []
    if sizes != all_sizes:
        told.append(f"{', '.join(map(str, sizes))} players")
    return f" ({'; '.join(told)})" if told else ""


def _rounded(speed: float) -> str:
    """A speed with the three digits that mean something."""
    return f"{float(f'{speed:.3g}'):,.0f}"
