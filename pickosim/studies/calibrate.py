"""The calibration: the champion's win chances, compared with games and with its own next turns.

The champion takes all seats. Every position after a turn is counted with the chances to win that the net gives the player
who has just moved and the others, with who won in the end, and with what the solver expected of the next turn. Positions
of a game are not independent, so errors are computed over games.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass as plain_dataclass
from dataclasses import replace
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic.dataclasses import dataclass

from pickosim.amounts import quoted
from pickosim.bots.loading import Entrant, load_bot, make_entrants
from pickosim.columns import POINTS, Frame, Row, frames_by_name, percent
from pickosim.engine.tally import PARTS, Tally
from pickosim.errors import PickosimError
from pickosim.games.match import make_match
from pickosim.games.played import Recording, record_games
from pickosim.learning.fit import errors_of, in_turn
from pickosim.learning.net import knows_all
from pickosim.learning.weights import Learned, Weights, adapted
from pickosim.rules import MOST_PLAYERS, MOST_TILES, RuleSet
from pickosim.runs.run import Results
from pickosim.runs.tasks import Sums
from pickosim.stats.intervals import (
    CONFIDENCE,
    RatioMoments,
    mean_rate,
    ratio_moments,
    ratio_rate,
    simultaneous,
    stratified_mean,
)
from pickosim.studies.arms import Chunk, Job, chunks_of
from pickosim.studies.measures import rate_columns, value_text
from pickosim.studies.options import (
    CHECKED,
    Count,
    OneBot,
    OneRuleSet,
    Option,
    Players,
    Seed,
    written,
)
from pickosim.studies.study import Frames, OneRuleSetStudy, stored, study_function
from pickosim.studies.views import Crossed, Dots, Listed, View, distinct

DECILES = 10

SHOWN_LEAD = 10
"""Larger leads count as this."""

BAND, BANDS = 5, 9
"""Width and number of the bands of worms left on the grill; the last is open."""

UNIT = 24 * PARTS
"""Chances and wins are counted in such parts, so that sums are whole numbers."""

FEW_GAMES = 30
"""Games that the figures of a tenth need to count in the headline."""

FEW_POSITIONS = 50
"""Positions that a lead needs to be shown in a picture or a cross table."""

CHUNK = 10_000
"""Games at a time: all their positions are in memory."""

COUNTED = {
    "games": "Games that were played; their positions are in all rows.",
    "positions": "Positions after turns, of games that go on.",
}

FRAMES = frames_by_name(
    Frame(
        "deciles",
        "One row per player, counted from the one who had just moved, and tenth of the win chances: the mean chance that "
        "was predicted after a turn, and how often that player won. With two players, the rival's chance is the rest.",
        "whose chances games positions predicted actual± difference±",
        {**COUNTED, "difference": "Actual minus predicted."},
        {"difference": POINTS},
    ),
    Frame(
        "errors",
        "One row per number of tiles on the grill: the Bellman error, i.e. how far the chance of a position is from "
        "what the player's next turn is expected to bring (with two players: from one minus what the rival's is).",
        "tiles_left games positions bias± error_size±",
        COUNTED,
    ),
    Frame(
        "by_lead",
        "One row per lead over the best rival and worms left on the grill: the value of a position to the player who "
        "has just moved.",
        "worms_left lead games positions predicted actual±",
        COUNTED,
    ),
)


def _leads(results: Results) -> pl.DataFrame:
    """Leads with enough positions, in words; the largest stands for all that are larger."""

    def words(lead: int) -> str:
        sign = "≥ " if lead == SHOWN_LEAD else "≤ " if lead == -SHOWN_LEAD else ""
        return f"{sign}{lead:+d}"

    shown = results.by_lead.filter(pl.col("positions") >= FEW_POSITIONS)
    return shown.with_columns(ahead=pl.col("lead").map_elements(words, pl.String))


def _leads_in_order(results: Results, rows: Sequence[Row]) -> tuple[list[str], list[str]]:
    """The largest lead first, and the fewest worms left."""
    descending = sorted(rows, key=lambda row: -row["lead"])
    return distinct(descending, "ahead"), distinct(rows, "worms_left")


def _by_lead(results: Results) -> Crossed:
    return replace(BY_LEAD, middle=100 / results.manifest["plan"]["players"])


BY_LEAD = Crossed(
    "ahead",
    "worms_left",
    "predicted",
    _leads_in_order,
    "Predicted win chance in %, by lead over the best rival and worms left on the grill "
    f"({FEW_POSITIONS} positions or more)",
    "lead",
    is_number=True,
    missing="",
    legend="chance to win, %",
    axis="worms left on the grill",
    down="lead in worms",
    words="lead {ahead}, {worms_left} worms left: predicted {predicted}, actual {actual}",
    rows=_leads,
)

VIEWS = (
    View(
        FRAMES["deciles"],
        "Predicted and actual win shares",
        chart=Dots(
            "difference",
            "chances",
            "actual minus predicted win share, in points",
            down="predicted chance to win",
            panel="whose",
            at=0,
        ),
        text=(Listed(rows=lambda results: results.deciles.drop("games")),),
        is_open=True,
        leads=True,
    ),
    View(
        FRAMES["errors"],
        "Consistency from turn to turn",
        text=(
            Listed(
                "How consistent the chances are from one turn to the next, by tiles left",
                lambda results: results.errors.drop("games"),
            ),
        ),
    ),
    View(
        FRAMES["by_lead"],
        "What a position is worth",
        "The chance to win of the player who has just moved, by its lead in worms over the best rival and by the worms "
        f"left on the grill. Cells with fewer than {FEW_POSITIONS} positions are empty.",
        chart=_by_lead,
        text=(BY_LEAD,),
    ),
)


def weights_of(entrant: Entrant, rules: RuleSet, players: int) -> Weights:
    """The weights that a champion plays with."""
    ask = getattr(load_bot(entrant.spec), "weights_for", None)
    weights = ask(rules, players) if ask is not None else None
    if not isinstance(weights, Weights):
        raise PickosimError(
            f"{entrant.spec} does not say its chance to win by a net; calibrate champion, or a champion with weights of "
            "your own: champion:weights=FILE."
        )
    return weights


@plain_dataclass(frozen=True)
class PositionsJob(Job):
    """Games of the champion against itself, and the sums over their positions."""

    rules: RuleSet
    players: int

    def play(self, seed: int, first: int, blocks: int) -> tuple[Sums, list[Tally]]:
        """See `position_sums`."""
        weights = weights_of(self.entrants[0], self.rules, self.players)
        match = make_match([Learned(weights)] * self.players, self.rules, seed)
        return position_sums(record_games(match, first, blocks), self.rules, weights), []


def position_sums(played: Recording, rules: RuleSet, weights: Weights) -> Sums:
    """The sums over the positions of recorded games, by chance, by tiles left, and by lead and worms left."""
    positions, players = played.positions, played.wins.shape[1]
    net = adapted(weights, rules, players)
    chances = np.full((len(positions), players), np.nan)
    lead, worms_left = np.empty((2, len(positions)), np.int64)
    for seat in range(players):
        rows, view = played.view(seat)
        chances[rows, 0] = net.win_chances(positions[rows], seat)
        if (all_chances := net.all_chances(positions[rows], seat)) is not None:
            chances[rows] = all_chances
        lead[rows] = view.scores[:, 0].astype(np.int64) - view.scores[:, 1:].max(axis=1)
        worms_left[rows] = (view.grill * view.tile_worms).sum(axis=1)
    going = ~positions["over"]
    game = played.game[going]
    seats = played.seat
    # With two players, one chance says both.
    places = players if players > 2 and not np.isnan(chances).any() else 1
    predicted = np.rint(chances[going, :places] * UNIT).astype(np.int64)
    won = np.rint(in_turn(played.wins[played.game], seats)[going, :places] * UNIT).astype(np.int64)
    decile = np.minimum((chances[going, :places] * DECILES).astype(np.int64), DECILES - 1)
    decile += np.arange(places) * DECILES
    by_decile = np.repeat(game, places), decile.reshape(-1), MOST_PLAYERS * DECILES
    standing = np.clip(lead[going], -SHOWN_LEAD, SHOWN_LEAD) + SHOWN_LEAD
    band = np.minimum(worms_left[going] // BAND, BANDS - 1)
    by_seat, expected = in_turn(chances, -seats), in_turn(played.chances, -seats)
    error = errors_of(by_seat, expected, played.first)[going]
    known = ~np.isnan(error)
    tiles = np.bitwise_count(positions["grill"][going]).astype(np.int64)[known]
    errors = np.rint(error[known] * UNIT).astype(np.int64)
    leads = 2 * SHOWN_LEAD + 1
    of_tiles = game[known], tiles, MOST_TILES + 1
    return {
        "games": np.array(len(played.wins), np.int64),
        "unfinished": np.array((~played.tally.finished).sum(), np.int64),
        "decile_predicted": clustered(*by_decile, predicted.reshape(-1)),
        "decile_won": clustered(*by_decile, won.reshape(-1)),
        "decile_off": clustered(*by_decile, (won - predicted).reshape(-1)),
        "lead_predicted": clustered(game, band * leads + standing, BANDS * leads, predicted[:, 0]),
        "lead_won": clustered(game, band * leads + standing, BANDS * leads, won[:, 0]),
        "error": clustered(*of_tiles, errors),
        "error_size": clustered(*of_tiles, np.abs(errors)),
    }


def clustered(
    game: NDArray[np.int64], group: NDArray[np.int64], groups: int, values: NDArray[np.int64]
) -> NDArray[np.int64]:
    """(groups, 5): by group the number and sum of values, and over games the sums of their squares and products."""
    keys, which = np.unique(game * groups + group, return_inverse=True)
    number = np.bincount(which, minlength=len(keys)).astype(np.int64)
    total = np.zeros(len(keys), np.int64)
    np.add.at(total, which, values)
    sums = np.zeros((groups, 5), np.int64)
    columns = (number, total, number * number, total * total, number * total)
    np.add.at(sums, keys % groups, np.column_stack(columns))
    return sums


def _ratio(sums: Sums, name: str, group: int) -> RatioMoments:
    number, total, number2, total2, product = map(float, sums[name][group])
    games = float(sums["games"])
    return RatioMoments(games, total / UNIT, number, total2 / UNIT**2, number2, product / UNIT)


@dataclass(frozen=True, config=CHECKED)
class Calibrate(OneRuleSetStudy):
    """Compare the champion's win chances with its games.

    It takes all seats. After every turn, the chance that it gives each player is compared with how often that player
    wins, and with what the solver expects of the next turn.
    Tables: deciles, errors, by_lead.
    """

    kind: ClassVar[str] = "calibrate"
    sources: ClassVar[tuple[str, ...]] = ("studies.calibrate",)
    frame_types: ClassVar = FRAMES
    views: ClassVar = VIEWS
    examples: ClassVar[tuple[str, ...]] = (
        "pickosim calibrate --players 2 --games 100k",
        "pickosim calibrate champion:weights=my_champion.npz --rules my_rules.toml --players 3",
    )

    bot: Annotated[
        OneBot,
        Option(
            "The champion, with its weights if they are your own.",
            "champion:weights=my_champion.npz",
            metavar="BOT",
            positional=True,
        ),
    ] = written("champion")
    rules: OneRuleSet = written("classic")
    players: Players = 2
    games: Annotated[Count, Option("Games, e.g. 100k.", "100k", metavar="NUMBER")] = written("20k")
    seed: Seed = 0

    @stored
    def entrants(self) -> tuple[Entrant, ...]:
        """The champion alone."""
        return tuple(make_entrants([self.bot]))

    def check(self) -> None:
        """Refuse what cannot be played."""
        make_match([self.entrants[0].spec] * self.players, self.rule_set, self.seed)
        weights_of(self.entrants[0], self.rule_set, self.players)

    @property
    def title(self) -> str:
        """What is played, in a line."""
        return self.titled(f"Calibration of {self.entrants[0].name}")

    def stage(self, number: int, sums: Sequence[Sums]) -> list[Chunk]:
        """All games at once."""
        job = PositionsJob(self.entrants, self.rule_set, self.players)
        return list(chunks_of(0, job, self.seed, range(0 if number else self.games), CHUNK))

    def rows(self, sums: Sequence[Sums]) -> dict[str, Iterable[Row]]:
        """The rows of all tables."""
        (of_all,) = sums
        return {
            "deciles": _decile_rows(of_all),
            "errors": _error_rows(of_all),
            "by_lead": _lead_rows(of_all),
        }

    def status(self, sums: Sequence[Sums]) -> str:
        """How far the chances are off, so far."""
        worst = max(_decile_rows(sums[0]), key=_off)
        return f"off by {100 * _off(worst):.2f} points at most"

    def findings(self, sums: Sequence[Sums], frames: Frames) -> dict[str, Any]:
        """In which tenth the chances are furthest off."""
        name = self.entrants[0].name
        return {"headline": _headline(name, sums[0], frames["deciles"].to_dicts())}

    def remarks(self, sums: Sequence[Sums], frames: Frames) -> Iterator[str]:
        """What was measured, and which chances are not known."""
        yield (
            "Chances are those after every turn of games in which all seats play the same. The error of a position is how "
            "far its chance is from what the solver expects of the next turn, by the chances of the positions after that."
        )
        yield from self.about_bots([(self.rule_set, self.players)])
        weights = weights_of(self.entrants[0], self.rule_set, self.players)
        if weights.players != self.players or not knows_all(weights.net, self.players):
            yield (
                "The weights do not say the chances of rivals: they were trained by an earlier version or for fewer players."
            )


def _off(row: Row) -> float:
    return abs(float(row["difference"]))


def _headline(bot: str, sums: Sums, rows: Sequence[Row]) -> str:
    """How far the chances may be off, by intervals that hold together; tenths with few games do not count."""
    moments = {
        k: ratio_moments([_ratio(sums, "decile_off", k)])
        for k in np.flatnonzero(sums["decile_off"][:, 0]).tolist()
    }
    known = [k for k, moment in moments.items() if moment.n >= FEW_GAMES]
    if not known:
        return f"There are too few games to tell how accurate the win chances of {quoted(bot)} are."
    level = simultaneous(CONFIDENCE, len(known))
    ends = [end for k in known for end in stratified_mean([moments[k]]).interval(level)]
    by_tenth = dict(zip(moments, rows, strict=True))
    worst = max((by_tenth[k] for k in known), key=_off)
    apart = value_text(worst, "difference")
    whose = "" if len({row["whose"] for row in rows}) == 1 else f" for who {worst['whose']}"
    return (
        f"When {quoted(bot)} says {percent(worst['predicted'])}{whose}, it wins {percent(worst['actual'])} ({apart} points), the "
        f"largest difference: no group of chances is more than {100 * max(map(abs, ends)):.1f} points off (95 % for all "
        "groups together)."
    )


def _whose(place: int) -> str:
    """Who a player is, by the number of turns since the one who has just moved."""
    return ("has just moved", "moves next")[place] if place < 2 else f"moves in {place} turns"


def _counted(sums: Sums, won: str, predicted: str) -> Iterator[tuple[int, Row]]:
    """The groups that have positions, with what was counted there, predicted and won."""
    for group in np.flatnonzero(sums[won][:, 0]).tolist():
        number, total = sums[predicted][group, :2]
        yield (
            group,
            {
                "games": int(sums["games"]),
                "positions": int(number),
                "predicted": float(total / number / UNIT),
                **rate_columns("actual", ratio_rate([_ratio(sums, won, group)])),
            },
        )


def _mean_columns(name: str, sums: Sums, counted: str, group: int) -> Row:
    return rate_columns(name, mean_rate([ratio_moments([_ratio(sums, counted, group)])]))


def _decile_rows(sums: Sums) -> list[Row]:
    return [
        {
            "whose": _whose(k // DECILES),
            "chances": f"{100 * (k % DECILES) // DECILES} to {100 * (k % DECILES + 1) // DECILES} %",
            **row,
            **_mean_columns("difference", sums, "decile_off", k),
        }
        for k, row in _counted(sums, "decile_won", "decile_predicted")
    ]


def _error_rows(sums: Sums) -> Iterator[Row]:
    for tiles in np.flatnonzero(sums["error"][:, 0]).tolist():
        yield {
            "tiles_left": tiles,
            "games": int(sums["games"]),
            "positions": int(sums["error"][tiles, 0]),
            **_mean_columns("bias", sums, "error", tiles),
            **_mean_columns("error_size", sums, "error_size", tiles),
        }


def _lead_rows(sums: Sums) -> Iterator[Row]:
    for group, row in _counted(sums, "lead_won", "lead_predicted"):
        band, standing = divmod(group, 2 * SHOWN_LEAD + 1)
        least, most = BAND * band, BAND * band + BAND - 1
        worms = f"{least} or more" if band == BANDS - 1 else f"{least} to {most}"
        yield {"worms_left": worms, "lead": standing - SHOWN_LEAD, **row}


calibrate = study_function(Calibrate)
