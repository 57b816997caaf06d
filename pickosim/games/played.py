"""Games that were played: their results as polars frames, and every position in them, to learn from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from pickosim.bots.strategy import Strategy
from pickosim.bots.view import TableView, Turn
from pickosim.columns import COLUMNS, Frame, frames_by_name
from pickosim.engine import log
from pickosim.engine.results import POSITION, Positions, positions_of
from pickosim.engine.rulebook import Books
from pickosim.engine.table import COUNTERS
from pickosim.engine.tally import PARTS, Tally, win_parts
from pickosim.games.batch import Batch
from pickosim.games.match import Match, check_numbers, make_match
from pickosim.rules import SPECIALISTS, USES, RuleSet
from pickosim.solver.valuation import Carry, TurnPlan, Valuation, complete, worths_of

_COUNTERS = [name for name in COUNTERS._fields if name in COLUMNS]
"""Counters that are shown: those with a column. Lead changes have none, as `play` does not follow the lead."""

_SEAT_COLUMNS = "score worms tiles bratworms rank win_share"

PLAY_FRAMES = frames_by_name(
    Frame("standings", "One row per seat.", "seat bot win_share mean_score mean_rank games"),
    Frame("games", "One row per game.", f"game turns {' '.join(_COUNTERS)} flips finished"),
    Frame("seats", "One row per game and seat.", f"game seat bot {_SEAT_COLUMNS}"),
    Frame(
        "specialists",
        "One row per game, specialist in the rules, and seat.",
        "game specialist seat gained turns_held used held_at_end",
        {
            "gained": "How often the seat got the specialist.",
            "turns_held": "Turns of the game (of all players) that began with it at the seat.",
            "used": f"Uses; {USES}.",
            "held_at_end": "Whether the seat held it at the end.",
        },
    ),
    Frame(
        "turns",
        "With `turns=True`: one row per turn.",
        "game turn seat bot rolls total result reason tile tile_lost",
        {
            "rolls": "Rolls of the turn, those by the weasel included.",
            "total": "Points set aside when the player stopped; null if a roll showed no new face.",
            "tile": "The tile taken or stolen; null for a hen and a fail.",
        },
    ),
)
"""What `play` returns."""

LOGGED = 4096
"""Games that are played in parallel while every turn is kept."""

_RESULTS = {log.TAKE: "take", log.STEAL: "steal", log.STEAL_HEN: "steal-hen", log.FAIL: "fail"}

SAVED_GAMES = Frame(
    "games/",
    "With --save-games: one Parquet file per chunk, one row per game and seat. All rotations of a block share a "
    "game number, as they share the dice: `pickosim watch --from RUN --game N --rotation R` shows one of them.",
    f"matchup game seed rotation seat bot {_SEAT_COLUMNS} turns rolls finished",
    {"win_share": "1 for the winner, or 1/k for each of k players who share first place."},
)


@dataclass(frozen=True)
class Played:
    """Games of a match as frames, each built when first used."""

    match: Match
    numbers: NDArray[np.int64]
    """(G,): of the games, in the order of the rows."""
    tally: Tally
    turns: pl.DataFrame | None = None
    """One row per turn, if they were asked for."""

    def __repr__(self) -> str:
        games = f"{self.games_played:,} games of {', '.join(self.match.specs)}"
        return f"<play: {games}; tables {', '.join(PLAY_FRAMES)}>"

    def _repr_html_(self) -> str:
        """What notebooks show; reports know of games, so they are imported when they are asked for."""
        html: str = import_module("pickosim.reports.page").played_html(self)
        return html

    @cached_property
    def standings(self) -> pl.DataFrame:
        """One row per seat: what it won, over all games. `pickosim.tournament` rotates the seats as well."""
        tally = self.tally
        columns = {
            "seat": range(len(self.match.specs)),
            "bot": self.match.specs,
            "win_share": win_shares(tally).mean(axis=0),
            "mean_score": tally.score.mean(axis=0),
            "mean_rank": tally.rank.mean(axis=0),
            "games": [len(tally.turns)] * len(self.match.specs),
        }
        return pl.DataFrame(columns, PLAY_FRAMES["standings"].schema)

    @cached_property
    def games(self) -> pl.DataFrame:
        """One row per game."""
        tally = self.tally
        return _frame(
            {
                "game": self.numbers,
                "turns": tally.turns,
                **{name: tally.counter(name) for name in _COUNTERS},
                "flips": tally.flips,
                "finished": tally.finished,
            }
        )

    @cached_property
    def seats(self) -> pl.DataFrame:
        """One row per game and seat; players who share first place split the win."""
        seats = np.arange(len(self.match.specs))
        bots = np.broadcast_to(seats, (len(self.numbers), len(seats)))
        return _by_seat(self.numbers, self.match.specs, bots, self.tally)

    @cached_property
    def specialists(self) -> pl.DataFrame:
        """One row per game, specialist in the rules, and seat.

        `gained`: how often the seat got it. `turns_held`: turns of the game (any player's) that began
        with it at the seat. `used`: uses; `pickosim.rules.USES` says what counts as one.
        """
        tally, seats = self.tally, len(self.match.specs)
        playing = [k for k, name in enumerate(SPECIALISTS) if name in self.match.rules.specialists]
        names = pl.Series([SPECIALISTS[k] for k in playing], dtype=pl.String)
        games, each = len(self.numbers), len(playing) * seats
        return _frame(
            {
                "game": np.repeat(self.numbers, each),
                "specialist": names[np.tile(np.repeat(np.arange(len(playing)), seats), games)],
                "seat": np.tile(np.arange(seats, dtype=np.uint8), games * len(playing)),
                "gained": tally.gained[:, playing].ravel(),
                "turns_held": tally.turns_held[:, playing].ravel(),
                "used": tally.used[:, playing].ravel(),
                "held_at_end": tally.held_at_end[:, playing].ravel(),
            }
        )

    @property
    def games_played(self) -> int:
        """How many games there are."""
        return len(self.numbers)

    @cached_property
    def unfinished(self) -> int:
        """Games that the turn limit ended."""
        return int((~self.tally.finished).sum())


def _frame(columns: dict[str, Any]) -> pl.DataFrame:
    """A frame with signed integers, so that differences of columns do not wrap around."""
    narrow = cs.unsigned_integer()
    return pl.DataFrame(columns).with_columns(narrow.cast(pl.Int32))


def play_with_turns(
    match: Match, first: int, games: int, on_over: Callable[[int], object]
) -> Played:
    """Play games `first` to `first + games - 1` of a match, and keep every turn."""
    tallies, turns = [], []
    for begin in range(first, first + games, LOGGED):
        number = min(LOGGED, first + games - begin)
        batch = Batch(match, begin, number, log=log.new_log(room=True))
        batch.on_over = on_over
        tallies.append(batch.play())
        turns.append(_turns_of(match, begin, log.events(batch.log)))
    tally = Tally._make(map(np.concatenate, zip(*tallies, strict=True)))
    return Played(match, np.arange(first, first + games), tally, pl.concat(turns))


def _turns_of(match: Match, begin: int, events: NDArray[np.void]) -> pl.DataFrame:
    """One row per turn, from the events (n,) of games in their order, the first of which is number `begin`."""
    kind = pl.col("kind")

    def detail(*kinds: int) -> pl.Expr:
        return pl.col("a").filter(kind.is_in(kinds)).first()

    # A tile that a fail removes from the game is flipped before that of the grill.
    lost = detail(log.FLIP if match.rules.lost_tile == "removed" else log.RETURN)
    had_tile = (kind == log.FLIP).sum() == 2 if match.rules.lost_tile == "removed" else True
    values = dict(enumerate(sorted(match.rules.tiles)))
    reason = dict(enumerate(log.FAIL_REASONS))
    seat = (pl.col("turn") - 1) % len(match.specs)
    return (
        pl.DataFrame({name: events[name] for name in ("entry", "turn", "kind", "a")})
        .select((begin + pl.col("entry").cast(pl.Int64)).alias("game"), "turn", "kind", "a")
        .group_by("game", "turn", maintain_order=True)
        .agg(
            rolls=(kind == log.ROLL).sum(),
            total=detail(log.STOP),
            result=kind.filter(kind.is_in(list(_RESULTS))).first(),
            reason=detail(log.FAIL),
            tile=detail(log.TAKE, log.STEAL),
            tile_lost=pl.when(had_tile).then(lost),
        )
        .with_columns(
            pl.col("result").replace_strict(_RESULTS, return_dtype=pl.String),
            pl.col("reason").replace_strict(reason, return_dtype=pl.String),
            pl.col("tile", "tile_lost").replace_strict(values, return_dtype=pl.Int32),
            seat=seat,
            bot=seat.replace_strict(dict(enumerate(match.specs)), return_dtype=pl.String),
        )
        .select(pl.col(name).cast(type) for name, type in PLAY_FRAMES["turns"].schema.items())
    )


def win_shares(tally: Tally) -> NDArray[np.float64]:
    """(G, P): 1 for the winner, 1/k for each of k who share the first place."""
    return win_parts(tally.rank) / PARTS


def saved_games(
    names: Sequence[str],
    bots: NDArray[np.uint8],
    tallies: Sequence[Tally],
    matchup: int,
    seed: int,
    first: int,
) -> pl.DataFrame:
    """Games of one matchup of a tournament as rows to save, one per game and seat; one tally per rotation.

    All rotations share the dice of a game number: `game` and `rotation` together identify a game. `bots`
    (R, G, P) are the numbers of the bots by rotation, game and seat.
    """
    frames = []
    for rotation, (seated, tally) in enumerate(zip(bots, tallies, strict=True)):
        games, seats = tally.score.shape
        numbers = np.arange(first, first + games, dtype=np.int64)
        of_game: dict[str, NDArray[Any]] = {
            "turns": tally.turns,
            "rolls": tally.counter("rolls"),
            "finished": tally.finished,
        }
        rows = _by_seat(numbers, names, seated, tally).with_columns(
            pl.lit(matchup, pl.Int32).alias("matchup"),
            pl.lit(seed, pl.UInt64).alias("seed"),
            pl.lit(rotation, pl.Int32).alias("rotation"),
        )
        repeated = _frame({name: np.repeat(column, seats) for name, column in of_game.items()})
        frames.append(rows.hstack(repeated).select(*SAVED_GAMES.schema))
    return pl.concat(frames)


def _by_seat(
    numbers: NDArray[np.int64], names: Sequence[str], bots: NDArray[Any], tally: Tally
) -> pl.DataFrame:
    """The result of each seat, game by game; `bots` (G, P) are numbers of names."""
    seats = bots.shape[1]
    return _frame(
        {
            "game": np.repeat(numbers, seats),
            "seat": np.tile(np.arange(seats, dtype=np.uint8), len(numbers)),
            "bot": pl.Series(names)[bots.ravel()],
            "score": tally.score.ravel(),
            "worms": tally.worms.ravel(),
            "tiles": tally.tiles.ravel(),
            "bratworms": tally.bratworms.ravel(),
            "rank": tally.rank.ravel(),
            "win_share": win_shares(tally).ravel(),
        }
    )


# ------------------------------------------------------------------- every position of games, to learn from

SHOWN = "grill tops stack_sizes worms bratworms scores holds specialist_on supply"
"""What the frame of a recording shows of a position."""


class Recording(NamedTuple):
    """All turns of G games at P seats, N in all; the turns of a game are adjacent and in their order."""

    first: NDArray[np.int64]
    """(G + 1,): where the turns of each game begin, and the end of the last."""
    positions: Positions
    """(N,): the table after each turn, as the engine has it."""
    expected: NDArray[np.float64]
    """(N,): what the player expected of the turn before the first roll, on its own scale; NaN if it cannot say."""
    chances: NDArray[np.float64]
    """(N, P): every player's chance to win before the first roll, from the one on turn on, by the bot that had the turn;
    NaN if it cannot say."""
    wins: NDArray[np.float64]
    """(G, P): win shares by seat."""
    tally: Tally
    rules: RuleSet
    books: Books

    @property
    def game(self) -> NDArray[np.int64]:
        """(N,): the game of each turn, from 0."""
        return np.repeat(np.arange(len(self.wins)), np.diff(self.first))

    @property
    def seat(self) -> NDArray[np.int64]:
        """(N,): who had the turn; seat 0 begins."""
        turn = np.arange(self.first[-1]) - self.first[self.game]
        seats: NDArray[np.int64] = turn % self.wins.shape[1]
        return seats

    @property
    def outcome(self) -> NDArray[np.float64]:
        """(N,): what the player who had the turn won in the end, as a win share."""
        won: NDArray[np.float64] = self.wins[self.game, self.seat]
        return won

    def view(self, seat: int) -> tuple[NDArray[np.int64], TableView]:
        """The turns of one seat, and the tables after them as that player sees them (`grill`, `tops`, `scores`, …)."""
        rows = np.flatnonzero(self.seat == seat)
        return rows, TableView(self.rules, self.books, self.positions, seat, rows.astype(np.int32))

    def frame(self) -> pl.DataFrame:
        """One row per turn: the position after it, what the player had expected of it, and who won.

        Columns by player are lists that begin with the player who had the turn.
        """
        columns: dict[str, NDArray[Any]] = {}
        for seat in range(self.wins.shape[1]):
            rows, view = self.view(seat)
            for name in SHOWN.split():
                shown = getattr(view, name)
                columns.setdefault(
                    name, np.empty((len(self.positions), *shown.shape[1:]), shown.dtype)
                )
                columns[name][rows] = shown
        number = np.arange(len(self.positions)) - self.first[self.game] + 1
        about = {"game": self.game, "turn": number, "seat": self.seat}
        ends = {"expected": self.expected, "outcome": self.outcome}
        return pl.DataFrame({**about, **columns, **ends}).with_columns(
            pl.col("expected").fill_nan(None)
        )


def record(
    bots: Sequence[str | Strategy],
    rules: str | RuleSet = "classic",
    games: int = 1_000,
    seed: int = 0,
    first: int = 0,
) -> Recording:
    """Play games between bots, seated in this order, and record every turn: the data to learn from.

    A turn is recorded as the position after it, what a valuation expected of it (by the solver, exactly), and the outcome
    of the game. `frame()` has them as a polars frame.
    """
    check_numbers(first, games)
    return record_games(make_match(bots, rules, seed), first, games)


def record_games(match: Match, first: int, games: int) -> Recording:
    """Play games `first` to `first + games - 1` of a match and record every turn."""
    recorder = _Recorder(match, first, games)
    tally = recorder.play()
    begin = np.concatenate([[0], np.cumsum(tally.turns, dtype=np.int64)])
    positions, expected = np.empty(begin[-1], POSITION), np.empty(begin[-1])
    chances = np.empty((begin[-1], len(match.specs)))
    for game, turn, after, values, shares in recorder.turns:
        at = begin[game] + turn - 1
        positions[at], expected[at], chances[at] = after, values, shares
    wins = win_parts(tally.rank) / PARTS
    return Recording(begin, positions, expected, chances, wins, tally, match.rules, match.books)


class _Recorder(Batch):
    """Games whose turns are kept."""

    def __init__(self, match: Match, first: int, games: int) -> None:
        super().__init__(match, first, games, batch=LOGGED, on_plan=self._keep)
        self.turns: list[tuple[NDArray[Any], ...]] = []
        """For each turn: game, number of the turn, position after it, what was expected of it, every player's chances."""
        self.worth = np.empty(len(self.table))
        """By row of the table: what the player expects of the turn."""
        self.chances = np.empty((len(self.table), self.players))

    def _carry(self, turn: Turn) -> Carry | None:
        bot = self.match.strategies[self.bot]
        assert isinstance(bot, Valuation)
        results, worths = worths_of(bot, turn)
        return Carry(results, worths[:, 1:], worths[:, 0])

    def _keep(self, turn: Turn, plan: TurnPlan) -> None:
        bot, worth = self.match.strategies[self.bot], plan.worth()
        assert isinstance(bot, Valuation)
        self.worth[turn._rows] = worth
        for part in plan.plans:
            carried = part.solutions.every_at(part.graph.start)[:, 1:]
            if bot.values_are_win_chances and carried.shape[1] == self.players - 2:
                known = np.column_stack([worth[part.games], carried])
                self.chances[turn._rows[part.games]] = complete(known, 1.0, self.players)

    def play_turn(self, seat: int, rows: NDArray[np.int32]) -> None:
        self.worth[rows] = np.nan
        self.chances[rows] = np.nan
        super().play_turn(seat, rows)
        rotation = self.table["rotation"][rows].astype(np.int64)
        game = self.table["game"][rows] - self.first + self.games * rotation
        turn = self.table["turn"][rows].astype(np.int64)
        after = positions_of(self.books, self.table, rows)
        self.turns.append((game, turn, after, self.worth[rows], self.chances[rows]))
