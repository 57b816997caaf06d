"""Measures of games, each declared once: how it is counted, what it is called, and how a change of it is worded.

A measure is a mean per game, a share of turns or of games, or a percentile. Those with a `count` are whole numbers of
each game, added up over the games of a block, and so are those named like a counter of the engine (`Counters` in
`pickosim.engine.table`); the others are derived from these and from wins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pickosim.amounts import listed, plus_minus, quoted
from pickosim.columns import NUMBER, PERCENT, POINTS, SIGNED, Format, Row
from pickosim.engine.table import COUNTERS
from pickosim.engine.tally import PARTS, Tally
from pickosim.errors import PickosimError, suggest
from pickosim.stats.intervals import BlockSums, Rate, Reading, adjusted, mean, ratio, without

Ints = NDArray[np.int64]

WINS, LUCK = "wins of ", "luck of "
"""Begin the names of values of a block; the name of a bot, or a seat, follows."""

Kind = Literal["per game", "share of games", "share of turns", "percentile"]


@dataclass(frozen=True)
class ArmSums(BlockSums):
    """What some blocks of one arm came to: the counted measures, and the wins (in PARTS) of seats and bots."""

    matchup: tuple[str, ...]
    """The bots by seat, in the first rotation."""
    stronger: str | None = None
    """The bot that `skill` is about."""
    less_luck: bool = False
    """Whether luck is taken out of win shares; then that of seats and bots is among the values."""

    @property
    def players(self) -> int:
        """Players per game."""
        return len(self.matchup)

    @property
    def as_won(self) -> ArmSums:
        """The same with the luck of the dice."""
        return replace(self, less_luck=False)

    def win_share_of_seat(self, seat: int) -> Reading:
        """The win share of a seat, whoever sits there."""
        return self._won(f"seat {seat}", 1)

    def wins_by_fair_share(self, bot: str) -> Reading:
        """The wins of a bot divided by its fair share: 1 if its seats win as often as any other seats do."""
        return self._won(bot, self.matchup.count(bot) / self.players)

    def _won(self, who: str, fair: float) -> Reading:
        """What a seat or a bot has won by its fair share."""
        won = mean(self, WINS + who, PARTS * fair, PARTS, most=1 / fair)
        return without(self, won, LUCK + who) if self.less_luck else won


@dataclass(frozen=True)
class Wording:
    """How sentences speak of a measure; {n} is a number with its error, {bot} the stronger bot."""

    noun: str
    """E.g. no difference in …"""
    more: str
    less: str
    level: str
    """What it comes to, e.g. games take {n} turns."""

    def about(self, bot: str) -> Wording:
        """The wording with the name of the stronger bot."""
        return Wording(*(text.replace("{bot}", bot) for text in vars(self).values()))

    def changed(self, difference: float, amount: str) -> str:
        """That there is more, or less, by an amount."""
        return (self.more if difference > 0 else self.less).format(n=amount)


@dataclass(frozen=True)
class Measure:
    """A measure of games."""

    name: str
    label: str
    description: str
    kind: Kind = "per game"
    count: Callable[[Tally], NDArray[np.generic]] | None = None
    """(G,): the whole number of each game, from its results; not needed for
    a counter of the engine, which is counts by its name."""
    derived: Callable[[ArmSums], Reading] | None = None
    """How it is read from the values of blocks, if it is not counted itself."""
    wording: Wording = Wording("", "", "", "")
    unit: str = ""
    """Unit of a difference in sentences, e.g. turns; for shares it is points."""
    signed: bool = False
    """Whether it is itself a difference, so that its sign is always shown."""
    percentile: tuple[str, int] | None = None
    """The measure, and the percentage of games that do not exceed it."""

    @property
    def is_share(self) -> bool:
        """Whether it is a share, shown in % and its differences in points."""
        return self.kind in ("share of games", "share of turns")

    @property
    def is_counted(self) -> bool:
        """Whether each game has a whole number of it."""
        return self.count is not None or self.name in COUNTERS._fields

    def counted(self, tally: Tally) -> Ints:
        """(G,): the whole number of each game, of a measure that is counted."""
        counts = tally.counter(self.name) if self.count is None else self.count(tally)
        return counts.astype(np.int64)

    def read(self, of: ArmSums) -> Reading:
        """The measure in some blocks of an arm."""
        if self.derived is not None:
            return self.derived(of)
        return (
            ratio(of, self.name, "turns")
            if self.kind == "share of turns"
            else mean(of, self.name, most=1.0 if self.is_share else inf)
        )

    @property
    def scale(self) -> float:
        """What its numbers are multiplied by to be shown."""
        return 100.0 if self.is_share else 1.0

    @property
    def format(self) -> Format:
        """How a value is written."""
        return PERCENT if self.is_share else NUMBER

    @property
    def difference_format(self) -> Format:
        """How a difference is written."""
        return POINTS if self.is_share else SIGNED


def _margin(tally: Tally) -> Ints:
    best_two = np.sort(tally.score.astype(np.int64), axis=1)[:, -2:]
    return best_two[:, 1] - best_two[:, 0]


def _percentiles(name: str) -> list[Measure]:
    return [
        Measure(
            f"{name}_p{percent}",
            f"{name}, {percent} % of games",
            f"The smallest number of {name} that {percent} % of games do not exceed; without a p value, as it "
            "is a whole number. Intervals of its differences are bootstrapped over groups of blocks.",
            "percentile",
            percentile=(name, percent),
        )
        for percent in (5, 50, 95)
    ]


def _fails(reason: str, words: str) -> Measure:
    return Measure(
        f"fails_{reason}",
        f"fails: {words}, % of turns",
        f"Share of turns that fail: {words}.",
        "share of turns",
    )


_ALL = (
    Measure(
        "turns",
        "turns per game",
        "Turns per game, of all players.",
        count=lambda tally: tally.turns,
        unit="turns",
        wording=Wording(
            "turns per game",
            "games are {n} turns longer",
            "games are {n} turns shorter",
            "games take {n} turns",
        ),
    ),
    Measure("rolls", "rolls per game", "Rolls per game."),
    *_percentiles("turns"),
    *_percentiles("rolls"),
    _fails("no_new_face", "no new face"),
    _fails("no_worm", "no worm"),
    _fails("nothing_to_claim", "nothing to claim"),
    Measure("steals", "steals per game", "Tiles stolen."),
    Measure("hen_steals", "hens stolen per game", "Sitting hens stolen."),
    Measure(
        "flips",
        "flips per game",
        "Tiles flipped or removed: nobody ends with them.",
        count=lambda tally: tally.flips,
    ),
    Measure(
        "margin",
        "winner's margin, worms",
        "The best score minus the second best.",
        count=_margin,
        unit="worms",
        wording=Wording(
            "the winner's margin",
            "the winner's margin is {n} worms larger",
            "the winner's margin is {n} worms smaller",
            "the winner leads by {n} worms",
        ),
    ),
    Measure(
        "ties",
        "ties, % of games",
        "Share of games with a shared first place.",
        "share of games",
        lambda tally: (tally.rank == 1).sum(axis=1) > 1,
        wording=Wording(
            "ties",
            "ties are {n} points more frequent",
            "ties are {n} points less frequent",
            "games with a shared first place are {n} % of all",
        ),
        unit="points",
    ),
    Measure(
        "lead_changes",
        "lead changes per game",
        "How often another player than before leads alone after a turn.",
        unit="times",
        wording=Wording(
            "lead changes",
            "the lead changes {n} more times per game",
            "the lead changes {n} fewer times per game",
            "the lead changes {n} times per game",
        ),
    ),
    Measure(
        "first_seat",
        "first seat, points above even",
        "Win share of the seat that begins, minus the even share.",
        "share of games",
        derived=lambda of: of.win_share_of_seat(0).above(1 / of.players),
        unit="points",
        signed=True,
        wording=Wording(
            "the first seat's win share",
            "the first seat wins {n} points more",
            "the first seat wins {n} points less",
            "compared with an even share, the first seat wins {n} points",
        ),
    ),
    Measure(
        "skill",
        "win share of {bot}, fair = 1",
        "Win share of the stronger bot divided by its fair share: 1 means that its seats win as often as "
        "others. The stronger bot is the one with more wins per seat under the reference rules. There is "
        "none where all bots are the same.",
        derived=lambda of: of.wins_by_fair_share(of.stronger or of.matchup[0]),
        wording=Wording(
            "{bot}'s win share relative to fair",
            "{bot}'s win share relative to fair is {n} higher",
            "{bot}'s win share relative to fair is {n} lower",
            "{bot} wins {n} times its fair share",
        ),
    ),
    Measure(
        "unfinished",
        "unfinished, % of games",
        "Share of games that the turn limit ended.",
        "share of games",
        lambda tally: ~tally.finished,
    ),
)

MEASURES = {measure.name: measure for measure in _ALL}

COUNTED = tuple(measure for measure in _ALL if measure.is_counted)

WORDED = [
    MEASURES[name] for name in ("turns", "first_seat", "skill", "margin", "lead_changes", "ties")
]
"""Measures that sentences are about, the most important first; the others stand in the tables."""

# -------------------------------------------------------------------------------------------- parts of rows

SIGNIFICANCE = 0.05
"""A difference is called significant if its corrected p value is below."""


def rate_columns(name: str, rate: Rate | Sequence[float | None]) -> Row:
    """A rate and the ends of its interval as columns."""
    return dict(zip((name, f"{name}_low", f"{name}_high"), rate, strict=True))


def with_adjusted(rows: Sequence[Row]) -> list[Row]:
    """The rows with `p_adjusted`: their p values, corrected for all of them; None where there is none."""
    values = iter(adjusted([row["p_value"] for row in rows if row["p_value"] is not None]))
    return [row | {"p_adjusted": None if row["p_value"] is None else next(values)} for row in rows]


def is_significant(row: Row) -> bool:
    """Whether a difference is, after correction for all of its table."""
    return row["p_adjusted"] is not None and bool(row["p_adjusted"] < SIGNIFICANCE)


def half_width(row: Row, name: str) -> float:
    """Half the interval of a rate."""
    return float(row[f"{name}_high"] - row[f"{name}_low"]) / 2


def value_text(row: Row, name: str, scale: float = 100.0, sign: str = "+") -> str:
    """A rate with half its interval, e.g. +3.63 ± 0.15; by default in points."""
    return plus_minus(scale * row[name], abs(scale) * half_width(row, name), sign)


# --------------------------------------------------------------------------------------------- without luck

LUCK_COLUMNS = ("as_won", "win_share_adjusted", "luck")
"""Columns that tables have only if games are judged."""


def has_luck(row: Row) -> bool:
    """Whether luck was taken out of a value."""
    return row.get("as_won") is not None


def times_as_certain(won: float, without: float) -> float:
    """How many times as many games would be as certain, from half the interval with luck and without."""
    return (won / without) ** 2 if without else 1.0


def about_luck(table: pl.DataFrame, name: str, luck: str, out_of: str) -> Iterator[str]:
    """That luck was taken out of a rate, and how many times as many games would be as certain."""
    rows = list(filter(has_luck, table.to_dicts()))
    times = sorted(
        times_as_certain(half_width(row, "as_won"), half_width(row, name)) for row in rows
    )
    if times:
        ends = dict.fromkeys(f"{times[end]:.2g}" for end in (0, -1))
        yield (
            f"The luck of the dice{luck} is taken out of {out_of}: as certain as {' to '.join(ends)} times as many games; "
            "`as_won` has it with luck."
        )


def about_judged(matchups: Iterable[Sequence[str]]) -> Iterator[str]:
    """Against which rivals luck is taken out of the results of one bot, if there are any."""
    if rivals := sorted({bot for matchup in matchups for bot in matchup}):
        yield f"Without the luck of the dice: the games against {listed(list(map(quoted, rivals)))}."


# --------------------------------------------------------------------------------------------------- by name


def check_worded(about: str) -> str:
    """The name of a measure, if headlines can be about it."""
    known = [measure.name for measure in WORDED]
    if about not in known:
        raise PickosimError(
            f'A headline is about {listed(known, "or")}, not about "{about}"'
            f"{suggest(about, known) or '.'}"
        )
    return about


def measure_format(name: str, column: str) -> Format:
    """How a number of a measure is written: a `difference`, or a value."""
    measure = MEASURES[name]
    return measure.difference_format if column == "difference" else measure.format


def measure_label(name: str, bot: str = "the stronger bot") -> str:
    """The label of a measure; `bot` is the one that skill is about."""
    return MEASURES[name].label.format(bot=bot)
