"""Columns of result tables, each declared once: type, label, format and description.

Frames, terminal, page, charts and `docs/tables.md` all read this registry. A result table is a `Frame`: its name, what
a row is, and the names of its columns. A column that is written with ± comes with its 95 % interval, as two more
columns `_low` and `_high`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isnan
from typing import Any

import polars as pl

from pickosim.rules import USES

Row = dict[str, Any]

NO_VALUE = "–"


def percentage(share: float, places: int) -> str:
    """A share in per cent, rounded so that two shares that make a whole still add up to 100."""
    return f"{50 + round(round(100 * share - 50, 9), places):.{places}f}"


@dataclass(frozen=True)
class Format:
    """How the numbers of a column are written."""

    spec: str
    """Python's format specification."""
    scale: float = 1.0
    unit: str = ""
    """Written after a number that stands alone, e.g. %; headings name it otherwise."""
    heading: str = ""
    """Added to the label of a column, e.g. points."""

    @property
    def is_signed(self) -> bool:
        """Whether numbers above 0 have a sign."""
        return self.spec.startswith("+")

    def bare(self, value: float) -> str:
        """A number without its unit."""
        if self.unit == "%":
            return percentage(value, 2)
        return f"{value if self.scale == 1 else self.scale * value:{self.spec}}"

    def text(self, value: float) -> str:
        """A number with its unit."""
        return f"{self.bare(value)} {self.unit}" if self.unit else self.bare(value)


COUNT = Format(",")
NUMBER = Format(",.2f")
SIGNED_COUNT = Format("+,d")
SIGNED = Format("+z,.2f")
LARGE = Format(",.0f")
RANK = Format(".3f")
PLACE_POINTS = Format(",.3f")
"""Points that places are given in a tournament."""
RATING = Format(".0f")
SIGNED_RATING = Format("+z.0f")
PERCENT = Format(".2f", 100, "%")
POINTS = Format("+z.2f", 100, "points", "points")
WIDTH = Format("z.2f", 100, "points", "points")
"""Points that are never below 0."""
P_VALUE = Format(".4f")
LEAST_P = 0.0001
"""Smaller p values are only said to be below it."""
BY_MEASURE = Format(",.4g")
"""As the row's measure is written; see `studies.measures`."""


def percent(share: float) -> str:
    """A share, e.g. 12.34 %."""
    return PERCENT.text(share)


def rating_text(rating: float | None, error: float | None) -> str:
    """A rating with half its 95 % interval; a dash for a bot without one."""
    if rating is None:
        return NO_VALUE
    return f"{rating:.0f}" if error is None else f"{rating:.0f} ± {error:.0f}"


@dataclass(frozen=True)
class Column:
    """A column of result tables; of a text or a flag the format is None."""

    name: str
    dtype: pl.DataType | type[pl.DataType]
    format: Format | None
    label: str
    description: str

    @property
    def heading(self) -> str:
        """The label with its unit."""
        suffix = self.format.heading if self.format else ""
        return f"{self.label}, {suffix}" if suffix else self.label

    def text(self, value: Any, bare: bool = False) -> str:
        """A value as people read it; `bare`: without its unit."""
        if isinstance(value, bool):
            return "yes" if value else "no"
        if value is None or (isinstance(value, float) and isnan(value)):
            return NO_VALUE
        if self.format is None:
            return str(value)
        if self.format is P_VALUE and value < LEAST_P:
            return f"< {P_VALUE.bare(LEAST_P)}"
        return self.format.bare(value) if bare else self.format.text(value)


def _text(name: str, label: str, description: str) -> Column:
    return Column(name, pl.String, None, label, description)


def _count(name: str, label: str, description: str, dtype: type[pl.DataType] = pl.Int32) -> Column:
    return Column(name, dtype, COUNT, label, description)


def _number(name: str, format: Format, label: str, description: str) -> Column:
    return Column(name, pl.Float64, format, label, description)


_ALL = (
    _text("bot", "bot", "The bot, as it was entered; in a balance, the bot that takes all seats."),
    _text("rival", "rival", "Another bot."),
    _text("bots", "bots", "The bots of the matchup."),
    _text("variant", "variant", "A variant of the rules."),
    _text("measure", "measure", "What was measured; see the list of measures."),
    _text("specialist", "specialist", "The specialist."),
    _text("option", "option", "The option of the rules that was changed."),
    _text("setting", "setting", "The changed options and their values, as `--set` takes them."),
    _text("differs", "differs in", "What differs from the reference."),
    _text("rules", "rules", "All options of the rules, as JSON."),
    _text("by", "by", "What pick-ups are told apart by: the `phase` of the game, the `standing` of the player, or the `former` specialist."),
    _text("group", "group", "Which of them."),
    _text("verdict", "verdict", "`too strong` or `too weak` if the corrected interval of `from_others` lies outside the band, `balanced` if it lies inside, otherwise `undecided`."),
    _count("more_games", "more games", "If undecided: the number of further ordinary games that gives a verdict with a chance of about 80 %, if the difference is as measured; null if that is beyond reach.", pl.Int64),
    _text("note", "note", "What to keep in mind of how a bot plays by these rules, e.g. by which net; null if nothing."),
    _count("players", "players", "Players per game."),
    _count("seat", "seat", "The seat; 0 begins."),
    _count("turn", "turn", "Number of a turn, counted from 1 over the whole game."),
    Column("grill", pl.List(pl.Int32), None, "grill", "Tiles on the grill, ascending."),
    Column("flipped", pl.List(pl.Int32), None, "flipped", "Tiles that are out of the game, ascending."),
    Column("specialists", pl.List(pl.String), None, "specialists", "Specialists."),
    _count("supply", "supply", "Bratworms of the supply."),
    _text("so_far", "so far", "What was counted in the game before, for its results, as JSON; null for nothing."),
    _count("matchup", "matchup", "Number of the matchup, from the names of its bots; its games are numbered from matchup × 10^12."),
    _count("game", "game", "Number of the game, which is the address of its dice.", pl.Int64),
    _count("seed", "seed", "Seed of the run.", pl.UInt64),
    _count("rotation", "rotation", "How far the seats are rotated; all rotations share their dice."),
    _count("games", "games", "Games that the figures of the row rest on.", pl.Int64),
    _text("round", "round", "Number of the round, or `as it is`: the net that the training starts from; without one, round 0 is of games of other bots."),
    Column("best", pl.Boolean, None, "best", "Whether that net is delivered."),
    _count("positions", "positions", "Positions that the round added to learn from.", pl.Int64),
    _number("fit_error", RANK, "error of the fit", "Root of the mean squared difference between target and net."),
    _count("test_games", "test games", "Games that test the net, against `expected` or the bot of `against`.", pl.Int64),
    _text("whose", "whose", "Whose win chances: of the player who has just moved, or of one of the next."),
    _text("chances", "chances", "Which win chances, as they were predicted."),
    _number("predicted", PERCENT, "predicted", "The mean win chance that was predicted."),
    _number("actual", PERCENT, "actual", "The share of wins that came of it."),
    _count("tiles_left", "tiles left", "Tiles on the grill."),
    _number("bias", POINTS, "mean error", "The mean Bellman error: positive if the next turn is expected to bring more."),
    _number("error_size", WIDTH, "mean size of the error", "The mean of the Bellman error without its sign."),
    _text("worms_left", "worms left", "Worms on the grill."),
    Column("lead", pl.Int32, SIGNED_COUNT, "lead", "Lead in worms over the best rival; larger ones count as 10."),
    _count("turns", "turns", "Turns of a game."),
    _count("rolls", "rolls", "Rolls of a game."),
    _count("total", "total", "Points set aside."),
    _text("result", "result", "How a turn ended: `take`, `steal`, `steal-hen` or `fail`."),
    _text("reason", "reason", "Why it failed: `no-new-face`, `no-worm` or `nothing-to-claim`; null if it did not."),
    _count("tile", "tile", "The tile."),
    _count("tile_lost", "tile lost", "The tile that a fail cost the player; null if it cost none."),
    _count("fails_no_new_face", "fails: no new face", "Turns that failed because a roll showed no new face."),
    _count("fails_no_worm", "fails: no worm", "Turns that failed without a worm set aside."),
    _count("fails_nothing_to_claim", "fails: nothing to claim", "Turns that failed because nothing could be claimed."),
    _count("steals", "steals", "Tiles stolen in a game."),
    _count("hen_steals", "hens stolen", "Sitting hens stolen in a game."),
    _count("flips", "flips", "Tiles flipped in a game."),
    Column("finished", pl.Boolean, None, "finished", "Whether the grill was emptied; otherwise the turn limit ended the game."),
    _count("score", "score", "Worms on tiles, bratworms and the apple."),
    _count("worms", "worms", "Worms on tiles."),
    _count("tiles", "tiles", "Tiles at the end."),
    _count("bratworms", "bratworms", "Bratworms at the end."),
    _count("rank", "rank", "1 is the best; players who tie share a rank."),
    _number("win_share", PERCENT, "win share", "Share of games won; a shared first place is split."),
    _number("win_share_adjusted", PERCENT, "without luck", "Win share less what the luck of the dice explains of it; of matchups that were not judged, or of fewer than 50 blocks, as it is. Only where a matchup is judged."),
    _number("luck", POINTS, "luck", "Win share that the luck of the dice brought, by the champion's judgement of every roll; null where no matchup was judged. Its mean over endless games is 0."),
    _number("dice_share", PERCENT, "dice", "Share of the variance of one game's result that the luck of the dice explains, by the champion's judgement of every roll."),
    _number("games_to_lead", LARGE, "games to lead", "Games after which the bot has won more than its rival, with 95 %; no upper end if it may be no better."),
    _count("ladder_place", "place", "Place among the built-in bots and the ranked one, by rating."),
    _count("place", "place", "Place at the end of a game; 1 is the best."),
    _number("place_share", PERCENT, "share", "Share of games in which the bot took that place; k players who tie share the k places that they take up, 1/k of each."),
    _number("mean_points", PLACE_POINTS, "points", "Mean points per game; players who tie share the points of the places that they take up. Only with `points`."),
    _number("mean_score", NUMBER, "score", "Mean score per game: worms on tiles, bratworms, apple."),
    _number("mean_rank", RANK, "rank", "Mean rank per game."),
    _number("rating", RATING, "rating", "Plackett–Luce rating from all finishing orders on an Elo scale, of two players without luck where that is judged; `eager` is 1500, or without it the mean of the field; null for a bot that won or lost everything."),
    _number("rating_error", RATING, "± rating", "Half the 95 % interval of the rating; null for `eager` where it is 1500, and if it is unknown."),
    _count("forfeits", "forfeits", "Games in which the bot failed: it has the last place, and `eager` played on for it."),
    _count("rating_field", "field", "Ratings of different fields cannot be compared: no bot of one has met a bot of the other."),
    _number("ahead", PERCENT, "finishes ahead", "Share of their games in which the bot finished ahead of the rival, ties counted half."),
    _number("superiority", PERCENT, "likelihood of being better", "Likelihood that it finishes ahead in more than half of their games."),
    _number("score_difference", SIGNED, "score difference", "Mean difference of scores per game, paired by dice."),
    _number("rating_difference", SIGNED_RATING, "rating difference", "How far the rating is above that of the rival; null if a rating or its error is unknown."),
    _number("gained", NUMBER, "gained", "How often the specialist was gained per game."),
    _number("turns_held", NUMBER, "turns held", "Turns per game (of all players) that began with the specialist held."),
    _number("used", NUMBER, "used", f"Uses per game; {USES}."),
    _number("held_at_end", PERCENT, "held at the end", "Share of games that ended with the specialist held."),
    _count("games_held", "games held", "Games that ended with the specialist held.", pl.Int64),
    _number("win_share_held", PERCENT, "win share when held", "Win share of the holder in games that ended with the specialist held: an association, not an effect."),
    _number("value", BY_MEASURE, "value", "The measure."),
    _number("as_won", BY_MEASURE, "as won", "The same with the luck of the dice; null where none was taken out. Only where games are judged."),
    _number("difference", BY_MEASURE, "difference", "Difference from the reference, paired by dice; null for the reference itself."),
    _number("p_value", P_VALUE, "p", "Chance of a difference at least as large if there is none."),
    _number("p_adjusted", P_VALUE, "p, corrected", "The p value, corrected for all comparisons of the table (Holm)."),
    _number("gain", POINTS, "gain", "What the specialist adds to the win share."),
    _number("score_gain", SIGNED, "score gain", "What the specialist adds to the score."),
    _number("pick_ups", NUMBER, "pick-ups", "How often per game a player gains the specialist (raven: is paid by it)."),
    _number("held_above_even", POINTS, "holders win, above even (association)", "By how much players who hold the specialist at the end win more than an even share: an association, not an effect, as players who do well also get more specialists. Null if nobody held it; nobody ever holds the raven."),
    _number("from_others", POINTS, "vs the others", "How far the gain is from the mean of all specialists without the highest and the lowest (with fewer than four: from the mean of the others); the interval is corrected for their number (Bonferroni)."),
    _text("mistake", "mistake", "The kind of mistake; a decision that gives away less than 0.25 points counts as small."),
    _number("per_game", NUMBER, "per game", "How often per game."),
    _number("points_each", WIDTH, "each", "What one of them gives away on average, in points of win chance."),
    _number("points", WIDTH, "lost per game", "Win chance that is given away per game."),
    _number("cost", WIDTH, "lost", "Win chance that the decision gave away."),
    _text("chosen", "chosen", "What the bot chose."),
    _text("better", "best", "What would have been best."),
    _text("position", "position", "Dice set aside and rolled, the tiles on the grill, and the top tiles of the bot and of the player who comes next."),
    _text("command", "command", "The command that shows the game."),
    Column("as_given", pl.Boolean, None, "as given", "Whether this is the setting of the rules as given."),
)  # fmt: skip


def by_name(columns: Sequence[Column]) -> dict[str, Column]:
    """Columns by name; one that is declared twice is refused, as one description would be lost."""
    times = Counter(column.name for column in columns)
    if twice := [name for name in times if times[name] > 1]:
        raise ValueError(f"Columns are declared twice: {', '.join(twice)}.")
    return {column.name: column for column in columns}


COLUMNS = by_name(_ALL)


@dataclass(frozen=True)
class Frame:
    """A result table: its name, what a row is, and its columns."""

    name: str
    rows: str
    """What a row is, e.g. One row per bot."""
    names: str
    """Names of the columns, separated by spaces; ± marks those with an interval."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """What a column means in this table, where the registry does not say it all."""
    formats: Mapping[str, Format] = field(default_factory=dict)
    """How numbers are written in this table, where that differs from the registry."""
    types: Mapping[str, pl.DataType | type[pl.DataType]] = field(default_factory=dict)
    """The types of columns in this table, where they differ from the registry."""

    def columns(self) -> Iterator[tuple[Column, bool]]:
        """The columns, and whether each has an interval."""
        for name in self.names.split():
            yield self.column(name.removesuffix("±")), name.endswith("±")

    def column(self, name: str) -> Column:
        """A column as this table has it."""
        known = COLUMNS[name]
        return replace(
            known,
            dtype=self.types.get(name, known.dtype),
            format=self.formats.get(name, known.format),
            description=self.notes.get(name, known.description),
        )

    def without(self, *left_out: str) -> Frame:
        """The table without some of its columns."""
        kept = (name for name in self.names.split() if name.removesuffix("±") not in left_out)
        return replace(self, names=" ".join(kept))

    @property
    def schema(self) -> dict[str, pl.DataType | type[pl.DataType]]:
        """Names and types, those of intervals included."""
        types = {}
        for column, has_interval in self.columns():
            types[column.name] = column.dtype
            if has_interval:
                types |= {f"{column.name}_low": column.dtype, f"{column.name}_high": column.dtype}
        return types

    def build(self, rows: Iterable[Row]) -> pl.DataFrame:
        """The table of these rows, which may have more columns than it shows, and have nothing in some."""
        names = list(self.schema)
        return pl.DataFrame(
            [[row.get(name) for name in names] for row in rows], self.schema, orient="row"
        )


def frames_by_name(*frames: Frame) -> dict[str, Frame]:
    """The tables of a study."""
    return {frame.name: frame for frame in frames}
