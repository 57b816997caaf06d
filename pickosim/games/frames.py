"""The results of games as polars frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from pickosim.columns import COLUMNS, Frame, frames_by_name
from pickosim.engine import log
from pickosim.engine.table import COUNTERS
from pickosim.engine.tally import PARTS, Tally, win_parts
from pickosim.games.batch import Batch
from pickosim.games.match import Match
from pickosim.rules import SPECIALISTS, USES

_COUNTERS = [name for name in COUNTERS._fields if name in COLUMNS]
"""Counters that are shown: those with a column. Lead changes have none, as `play` does not follow the lead."""

_SEAT_COLUMNS = "score worms tiles bratworms rank win_share"

PLAY_FRAMES = frames_by_name(
    Frame("standings", "One row per seat.", "seat bot win_share mean_score mean_rank games"),
    Frame(
        "games",
        "One row per game.",
        f"game turns {' '.join(_COUNTERS)} flips finished",
    ),
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
"""Games of which all events are in memory at once."""

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
        tally, seats = self.tally, len(self.match.specs)
        bots = pl.Series(self.match.specs)
        return _frame(
            {
                "game": np.repeat(self.numbers, seats),
                "seat": np.tile(np.arange(seats, dtype=np.uint8), len(self.numbers)),
                "bot": bots[np.tile(np.arange(seats), len(self.numbers))],
                **_of_seats(tally),
            }
        )

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
        frames.append(
            _frame(
                {
                    "matchup": np.full(games * seats, matchup, np.int32),
                    "game": np.repeat(np.arange(first, first + games, dtype=np.int64), seats),
                    "rotation": np.full(games * seats, rotation, np.int32),
                    "seat": np.tile(np.arange(seats, dtype=np.int32), games),
                    "bot": pl.Series(names)[seated.ravel()],
                    **_of_seats(tally),
                    "turns": np.repeat(tally.turns, seats),
                    "rolls": np.repeat(tally.counter("rolls"), seats),
                    "finished": np.repeat(tally.finished, seats),
                }
            ).insert_column(
                2, pl.Series("seed", [seed], pl.UInt64).new_from_index(0, games * seats)
            )
        )
    return pl.concat(frames)


def _of_seats(tally: Tally) -> dict[str, NDArray[Any]]:
    """The result of each seat, game by game."""
    return {
        "score": tally.score.ravel(),
        "worms": tally.worms.ravel(),
        "tiles": tally.tiles.ravel(),
        "bratworms": tally.bratworms.ravel(),
        "rank": tally.rank.ravel(),
        "win_share": win_shares(tally).ravel(),
    }
