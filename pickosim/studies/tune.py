"""Tuning: settings of a bot, or many bots, against the same field with the same dice, until the best is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from functools import cached_property
from itertools import cycle, islice
from math import ceil, prod
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic.dataclasses import dataclass as checked_dataclass

from pickosim.amounts import expand_range, listed, quoted, split_list
from pickosim.bots.loading import (
    Entrant,
    built_in_bots,
    expanded,
    load_bot,
    make_entrants,
    parts_of,
)
from pickosim.columns import PERCENT, Frame, Row, frames_by_name
from pickosim.engine.tally import LUCK_ONE, PARTS, Tally, win_parts
from pickosim.errors import PickosimError
from pickosim.rules import RuleSet
from pickosim.runs.run import Results
from pickosim.runs.tasks import Sums
from pickosim.stats.intervals import Rate, mean_rate, share_rate
from pickosim.stats.ratings import rating_among
from pickosim.stats.sequential import Stratum, bounds, shortfall, survivors
from pickosim.studies.arms import (
    Arm,
    ArmsJob,
    Chunk,
    blocks_per_chunk,
    chunks_of,
    is_judged,
    one_of_each_kind,
    play_arm,
    the_judge,
)
from pickosim.studies.ladder import ladder
from pickosim.studies.matchup_sums import GROUPS
from pickosim.studies.measures import about_judged, rate_columns, value_text
from pickosim.studies.options import (
    BOT_HINT,
    CHECKED,
    BotList,
    Count,
    Loads,
    Luck,
    OneRuleSet,
    Option,
    OptionalBots,
    Parsed,
    Players,
    Precision,
    Seed,
    bot_specs,
    parsed_by,
    written,
)
from pickosim.studies.schedule import (
    Matchup,
    blocks_for,
    bots_by_seat,
    looks,
    rotations,
    round_robin,
)
from pickosim.studies.study import Frames, OneRuleSetStudy, stored, study_function
from pickosim.studies.views import Dots, Lines, Listed, View

MOST_SETTINGS = 500

MOST_TABLES = 24
"""Choices of rivals that are played at most; of more, a sample."""

FIRST_LOOK, LOOK_GROWTH = 64, 1.5
"""Blocks per choice of rivals before the first look."""

SMALLEST_CHUNK = 64
"""Blocks, each of which all settings play."""

LUCK_STEP = LUCK_ONE >> 12
"""To this the luck of a block is rounded, so that sums of its squares are exact."""

IN_FIELD = {
    "win_share": "Win share against the field; without luck in games that are judged.",
    "gain": "How far the win share is above that of the best, paired by dice, in the games that both played.",
}

FRAMES = frames_by_name(
    Frame(
        "settings",
        "One row per setting, the best first; then those that played longest.",
        "setting games win_share± gain± verdict rating rating_error",
        {
            **IN_FIELD,
            "setting": "The parameters that were varied, or the bot.",
            "verdict": "`best`; `as good` if it did not drop out and the interval of `gain` reaches 0; otherwise `worse`.",
            "rating": "Rating on the scale of the built-in bots' ladder; null without one, or with more than 2 players.",
        },
    ),
    Frame(
        "response",
        "One row per value of a parameter: the setting that differs from the best in this value alone.",
        "option setting as_given games win_share± gain±",
        {
            **IN_FIELD,
            "option": "The parameter.",
            "setting": "Its value.",
            "as_given": "Whether the best setting has this value.",
        },
    ),
    Frame(
        "confirmation",
        "One row: the best against the present setting on new dice.",
        "setting games win_share± gain±",
        {
            **IN_FIELD,
            "setting": "The best setting.",
            "gain": "How far its win share is above the present setting's, paired by dice.",
        },
    ),
)


def _with_ratings(results: Results) -> pl.DataFrame:
    """The settings; without ratings if there are none."""
    rows: pl.DataFrame = results.settings
    return rows if rows["rating"].is_not_null().any() else rows.drop("rating", "rating_error")


VIEWS = (
    View(
        FRAMES["settings"],
        "Settings",
        "Win shares against the same field with the same dice; bars are 95 % intervals.",
        chart=Dots("win_share", "setting", "win share, %"),
        text=(Listed(rows=_with_ratings),),
        brief=(Listed(rows=lambda results: _with_ratings(results).head(10)),),
        is_open=True,
        leads=True,
    ),
    View(
        FRAMES["response"],
        "What each parameter does",
        "The other parameters are those of the best setting, which has a ring; bars are 95 % intervals.",
        chart=Lines(
            "win_share",
            "setting",
            "win share, %",
            panel="option",
            group="option",
            ringed="as_given",
            called="option setting",
        ),
        text=(Listed("What each parameter does"),),
    ),
    View(
        FRAMES["confirmation"],
        "On new dice",
        "The best setting against the present one, in games that had no part in the choice.",
        text=(Listed("On new dice, against the present setting"),),
    ),
)


def _swept(spec: str) -> dict[str, list[str]]:
    """The parameters of a spec with several values."""
    *front, last = parts_of(spec)
    if not front or "=" not in last:
        return {}
    pairs = [part.partition("=") for part in split_list(last)]
    values = {name.strip(): expand_range(value.strip()) for name, _, value in pairs}
    return {name: found for name, found in values.items() if len(found) > 1}


def check_settings(bots: Sequence[str]) -> None:
    """Refuse too many settings, with the arithmetic, and bots that cannot be made."""
    sizes = {bot: {name: len(found) for name, found in _swept(bot).items()} for bot in bots}
    count = sum(prod(of.values()) for of in sizes.values())
    if count > MOST_SETTINGS:
        named = [
            " × ".join(f"{size} of {name}" for name, size in of.items()) or bot
            for bot, of in sizes.items()
        ]
        raise PickosimError(
            f"{' + '.join(named)} make {count:,} settings; {MOST_SETTINGS} are the most. Use larger steps, "
            "e.g. target=20..36..2, or vary one parameter after the other."
        )
    make_entrants(bots)


@dataclass(frozen=True)
class TuneJob(ArmsJob):
    """Blocks that all settings play against the same rivals: the settings come first among its bots."""

    rivals: int
    """The last so many bots."""
    rules: RuleSet

    @property
    def matchups(self) -> list[Matchup]:
        """The bots of the games of each setting, by name."""
        names = [entrant.name for entrant in self.entrants]
        return [(name, *names[-self.rivals :]) for name in names[: -self.rivals]]

    @property
    def arms(self) -> list[Arm]:
        """One per setting, with all rotations."""
        specs = {entrant.name: entrant.spec for entrant in self.entrants}
        of_arms = [(tuple(map(specs.__getitem__, names)), names) for names in self.matchups]
        return [
            Arm(bots, self.rules, rotations(names), luck_by=self.luck_by) for bots, names in of_arms
        ]

    @property
    def in_hand(self) -> int:
        """All rotations of one setting."""
        return self.rivals + 1

    def play(self, seed: int, first: int, blocks: int) -> tuple[Sums, list[Tally]]:
        """`blocks`; `unfinished` games; `grouped` and `products` of what settings won and of their luck: see `Stratum`."""
        found, unfinished = [], 0
        for arm, names in zip(self.arms, self.matchups, strict=True):
            tally = play_arm(arm, seed, first, blocks)
            # By rotation, block and seat: what the first bot of the matchup comes to in each block.
            own = bots_by_seat(names, first, blocks) == 0
            of_seats = [win_parts(tally.rank), *([tally.luck] if self.luck_by else [])]
            found.append(
                [(of.reshape(own.shape) * own).sum((0, 2), dtype=np.int64) for of in of_seats]
            )
            unfinished += int((~tally.finished).sum())
        of = np.array(found).swapaxes(0, 1)
        of[1:] = (of[1:] + LUCK_STEP // 2) // LUCK_STEP
        grouped = np.zeros((*of.shape[:2], GROUPS), np.int64)
        np.add.at(grouped.T, (first + np.arange(blocks)) % GROUPS, of.T)
        # Exact: whole numbers below 2^53.
        flat = of.reshape(-1, blocks).astype(np.float64)
        return {
            "blocks": np.array(blocks, np.int64),
            "unfinished": np.array(unfinished, np.int64),
            "grouped": grouped,
            "products": (flat @ flat.T).astype(np.int64).reshape(2 * of.shape[:2]),
        }, []


class Look(NamedTuple):
    """What was known at a look: of the settings that had played up to there, by number."""

    alive: NDArray[np.int64]
    strata: list[Stratum]

    def place(self, setting: int) -> int:
        """Where a setting is among them."""
        return int(np.searchsorted(self.alive, setting))

    def is_equal(self, settings: Sequence[int]) -> bool:
        """Whether all of these have won the same in every block."""
        first, *others = map(self.place, settings)
        return not any(each.difference(first, k).squares for each in self.strata for k in others)


class Race(NamedTuple):
    """How far the elimination has come."""

    looks: list[Look]
    alive: NDArray[np.int64]
    """Settings that are left."""
    leader: int
    within: float
    """How far the best may be ahead of the leader."""

    def last(self, *settings: int) -> Look:
        """The last look that had all of these."""
        return next(look for look in reversed(self.looks) if np.isin(settings, look.alive).all())


@checked_dataclass(frozen=True, config=CHECKED)
class Tune(OneRuleSetStudy):
    """Find the best setting of a bot, or the best of many bots.

    Each setting plays against the same field with the same dice. Settings that are certainly worse drop out, and the best
    is tried against the present setting on new dice.
    Tables: settings, response, confirmation.
    """

    kind: ClassVar[str] = "tune"
    sources: ClassVar[tuple[str, ...]] = ("studies.matchup_sums", "stats.sequential")
    frame_types: ClassVar = FRAMES
    views: ClassVar = VIEWS
    examples: ClassVar[tuple[str, ...]] = (
        "pickosim tune my_bot.py:dice=2..5,worm_bonus=0..8..2",
        "pickosim tune my_bot.py:dice=2..5 --against eager,thief --within 1%",
        "pickosim tune eager thief threshold:target=21..34",
    )

    bots: Annotated[
        Parsed[BotList, tuple[str, ...]],
        parsed_by(bot_specs),
        Loads(check_settings, BOT_HINT),
        Option(
            "A bot with ranges of its parameters (from..to or from..to..step), or several bots; at most "
            f"{MOST_SETTINGS} settings.",
            ["my_bot.py:dice=2..5"],
            metavar="BOT",
            positional=True,
        ),
    ]
    rules: OneRuleSet = written("classic")
    players: Players = 2
    games: Annotated[
        Count,
        Option("Games per setting at most.", "100k", metavar="NUMBER"),
    ] = written("200k")
    seed: Seed = 0
    _: KW_ONLY
    against: Annotated[
        OptionalBots,
        Option(
            "The field that all settings play against.",
            ["eager", "thief"],
            metavar="BOT,…",
            default_text="the built-in bots",
        ),
    ] = written(None)
    within: Annotated[
        Precision,
        Option(
            "Stop when, with 95 %, the one named best is this close to the best, in win share.",
            "1%",
            metavar="SHARE",
            default_text="0.5%",
        ),
    ] = written("0.5%")

    luck: Luck = "auto"

    # ------------------------------------------------------------------------------------- settings and field

    @stored
    def present(self) -> int:
        """The number of the setting that the bot has now; of several bots, the first."""
        return self._settings[1]

    @cached_property
    def _settings(self) -> tuple[list[str], int]:
        """Specs of all settings, each once, and the number of the present one, which is added if it is not among them."""
        first = self.bots[0]
        found: dict[tuple[object, ...], str] = {}
        *front, last = parts_of(first)
        if swept := _swept(first):
            kept = [of for of in split_list(last) if of.partition("=")[0].strip() not in swept]
            first = ":".join([*front, *filter(None, [",".join(kept)])])
        present = expanded([first])[0]
        for spec in [*expanded(self.bots), present]:
            found.setdefault(_made(spec), spec)
        return list(found.values()), list(found).index(_made(present))

    @stored
    def labels(self) -> tuple[str, ...]:
        """What each setting is called: the values that are varied, of a single bot; otherwise the bot."""
        specs, _ = self._settings
        if len(self.bots) == 1 and self.swept:
            made = map(load_bot, specs)
            return tuple(
                ",".join(f"{name}={getattr(bot, name)}" for name in self.swept) for bot in made
            )
        return tuple(entrant.name for entrant in make_entrants(specs))

    @cached_property
    def swept(self) -> dict[str, list[str]]:
        """The parameters that are varied, of a single bot."""
        return _swept(self.bots[0]) if len(self.bots) == 1 else {}

    @stored
    def entrants(self) -> tuple[Entrant, ...]:
        """All settings, then the field."""
        known = ladder(self.rule_set, self.players)
        field = known.ratings if known else built_in_bots()
        against = expanded(self.against or ()) or sorted(field)
        return tuple(make_entrants([*self._settings[0], *against]))

    @property
    def count(self) -> int:
        """The number of settings."""
        return len(self.labels)

    @cached_property
    def choices(self) -> list[tuple[Entrant, ...]]:
        """The choices of rivals, each of which every setting plays against."""
        rivals = {entrant.name: entrant for entrant in self.entrants[self.count :]}
        size, names = self.players - 1, list(rivals)
        chosen = (
            round_robin(names, size, most=MOST_TABLES, seed=self.seed)[0]
            if len(names) >= size
            else [tuple(islice(cycle(names), size))]
        )
        return [tuple(rivals[name] for name in each) for each in chosen]

    @stored
    def judged(self) -> tuple[Matchup, ...]:
        """The choices of rivals against whom luck is taken out: where that pays for all settings."""
        kinds = one_of_each_kind(self.entrants[: self.count])
        specs = [[rival.spec for rival in rivals] for rivals in self.choices]
        return tuple(
            tuple(rival.name for rival in rivals)
            for rivals, others in zip(self.choices, specs, strict=True)
            if all(is_judged(self.luck, [spec, *others], others) for spec in kinds)
        )

    def check(self) -> None:
        """Refuse a single setting, and bots that do not play by these rules."""
        if self.count < 2:
            raise PickosimError(
                "There is nothing to choose from: give a range of a parameter, e.g. my_bot.py:dice=2..5, or several bots."
            )
        for rivals in self.choices[:1]:
            for arm in self._job(np.arange(self.count), rivals).arms:
                arm.match(self.seed)

    # ---------------------------------------------------------------------------------------- what is played

    @cached_property
    def looks(self) -> list[int]:
        """Blocks per choice of rivals after which settings drop out."""
        most = max(2, ceil(blocks_for(self.games, self.players) / len(self.choices)))
        return list(looks(most, min(FIRST_LOOK, most), LOOK_GROWTH))

    @property
    def parts(self) -> int:
        """One per look and choice of rivals; those of the confirmation are the last."""
        return (len(self.looks) + 1) * len(self.choices)

    @stored
    def chunk_size(self) -> int:
        """Blocks per chunk of a single setting."""
        blocks = self.looks[-1] * len(self.choices)
        return self.chunk or blocks_per_chunk(
            self.entrants, self.rule_set, self.players, blocks, self.workers, self.seed
        )

    @property
    def title(self) -> str:
        """What is played, in a line."""
        field = {entrant.name for rivals in self.choices for entrant in rivals}
        return self.titled(f"{self.count} settings against {len(field)} bots")

    def stage(self, number: int, sums: Sequence[Sums]) -> list[Chunk]:
        """The settings that are left, up to the next look; at last the best and the present one, on new dice."""
        race = self.race(sums)
        if len(race.looks) == number and not self._is_over(race):
            begin = self.looks[number - 1] if number else 0
            return self._chunks(number, race.alive, range(begin, self.looks[number]))
        if len(race.looks) < number or race.leader == self.present:
            return []
        pair = np.array([race.leader, self.present])
        blocks = self.looks[len(race.looks) - 1]
        return self._chunks(len(self.looks), pair, range(blocks))

    def _chunks(self, look: int, settings: NDArray[np.int64], blocks: range) -> list[Chunk]:
        is_new = look == len(self.looks)
        size = max(SMALLEST_CHUNK, self.chunk_size // len(settings))
        return [
            chunk
            for k, rivals in enumerate(self.choices)
            for chunk in chunks_of(
                look * len(self.choices) + k,
                self._job(settings, rivals),
                self.seed,
                blocks,
                size,
                lane=k + is_new * len(self.choices),
            )
        ]

    def _job(self, settings: NDArray[np.int64], rivals: tuple[Entrant, ...]) -> TuneJob:
        chosen = tuple(self.entrants[number] for number in settings)
        judge = the_judge() if tuple(rival.name for rival in rivals) in self.judged else None
        return TuneJob((*chosen, *rivals), len(rivals), self.rule_set, luck_by=judge)

    # --------------------------------------------------------------------------------------- what is known

    def race(self, sums: Sequence[Sums]) -> Race:
        """The looks that have been played, and who is left."""
        alive, found = np.arange(self.count), list[Look]()
        leader, within = self.present, 1.0
        strata: list[Stratum] = []
        for look in range(len(self.looks)):
            parts = self._strata(sums, look)
            if not parts:
                break
            both = zip(strata or parts, parts, strict=True)
            strata = [a.with_more(b) if strata else b for a, b in both]
            found.append(Look(alive, strata))
            ahead, off = bounds(strata, self.count, len(self.looks))
            # Of settings that did equally well, the present one, then the first.
            mean = np.round(ahead.mean(axis=1), 12) + 1e-13 * (alive == self.present)
            first, kept = int(mean.argmax()), survivors(ahead, off)
            leader, within = int(alive[first]), min(1.0, shortfall(first, ahead, off))
            alive, strata = alive[kept], [each.of(kept) for each in strata]
        return Race(found, alive, leader, within)

    def _strata(self, sums: Sequence[Sums], look: int) -> list[Stratum]:
        """The sums of a look by choice of rivals; none if it has not been played."""
        begin, unit = look * len(self.choices), PARTS * self.players
        return [
            Stratum(int(part["blocks"]), part["grouped"], part["products"], unit, PARTS)
            for part in sums[begin : begin + len(self.choices)]
            if part
        ]

    def _is_over(self, race: Race) -> bool:
        is_known = len(race.alive) == 1 or self._is_decided(race)
        return len(race.looks) == len(self.looks) or bool(race.looks and is_known)

    # ------------------------------------------------------------------------------------------- results

    def rows(self, sums: Sequence[Sums]) -> dict[str, list[Row]]:
        """The rows of all tables."""
        race, new = self.race(sums), self._strata(sums, len(self.looks))
        rows = [
            self._row(race, setting) | self._rated(race, setting) for setting in range(self.count)
        ]
        is_new = {"setting": self.labels[race.leader]}
        return {
            "settings": sorted(
                rows, key=lambda row: (row["verdict"] != "best", -row["games"], -row["win_share"])
            ),
            "response": [
                rows[setting]
                | {"option": name, "setting": value, "as_given": setting == race.leader}
                for name, of in self._along(race.leader).items()
                for value, setting in of.items()
            ],
            "confirmation": [is_new | self._measured(new, 0, 1)] if new else [],
        }

    def _row(self, race: Race, setting: int) -> Row:
        look = race.last(setting, race.leader)
        own, best = look.place(setting), look.place(race.leader)
        measured = self._measured(look.strata, own, best)
        is_as_good = setting in race.alive and measured["gain_high"] >= 0
        verdict = "as good" if is_as_good else "worse"
        return {
            "setting": self.labels[setting],
            "verdict": "best" if setting == race.leader else verdict,
            **measured,
        }

    def _rated(self, race: Race, setting: int) -> Row:
        """The rating of a setting among the bots of the ladder, whose ratings are fixed."""
        known = ladder(self.rule_set, self.players)
        names = [rivals[0].name for rivals in self.choices]
        if known is None or self.players > 2 or not set(names) <= set(known.ratings):
            return {"rating": None, "rating_error": None}
        counted, look = [], race.last(setting)
        for k, stratum in enumerate(look.strata, start=1):
            won = stratum.values[look.place(setting)]
            groups = np.arange(stratum.blocks) % GROUPS
            games = 2 * PARTS * np.bincount(groups, minlength=GROUPS)
            if not 0 < won.sum() < games.sum():
                won = stratum.grouped[0, look.place(setting)]
            choices = np.zeros((GROUPS, 4, 2))
            choices[:, 3] = np.stack([won, games - won], axis=1)
            counted.append(((0, k), choices))
        ratings = [0.0, *(known.ratings[name] for name in names)]
        errors = [0.0, *(known.errors[name] for name in names)]
        rating, error = rating_among(ratings, counted, PARTS, errors)
        return {"rating": rating if np.isfinite(rating) else None, "rating_error": error}

    @cached_property
    def _values(self) -> list[dict[str, str]]:
        """The values of the swept parameters of each setting."""
        parts = [label.split(",") for label in self.labels if self.swept]
        return [dict(part.partition("=")[::2] for part in of) for of in parts]

    def _along(self, best: int) -> dict[str, dict[str, int]]:
        """By parameter and value, the setting that differs from the best in this alone."""
        along: dict[str, dict[str, int]] = {name: {} for name in self.swept}
        for setting, values in enumerate(self._values):
            differs = [name for name in self.swept if values[name] != self._values[best][name]]
            for name in differs if differs else self.swept:
                if len(differs) < 2:
                    along[name][values[name]] = setting
        return along

    def _measured(self, strata: Sequence[Stratum], own: int, other: int) -> Row:
        """The win share of a setting and how far it is above another's: the one place where shares and errors are taken."""
        gain = mean_rate([each.difference(own, other) for each in strata])
        return {
            "games": sum(each.blocks for each in strata) * self.players,
            **rate_columns("win_share", share_rate([each.share(own) for each in strata])),
            **rate_columns("gain", Rate(0.0, 0.0, 0.0) if own == other else gain),
        }

    def status(self, sums: Sequence[Sums]) -> str:
        """How many settings are left, and which leads."""
        race = self.race(sums)
        return f"{len(race.alive)} of {self.count} settings left; best so far {self.labels[race.leader]}"

    def findings(self, sums: Sequence[Sums], frames: Frames) -> dict[str, Any]:
        """What is best, how sure that is, what matters, and whether new dice confirm it."""
        race = self.race(sums)
        return {
            "headline": self._headline(frames, is_present=race.leader == self.present),
            "sentences": [
                *self._about_parameters(race, frames),
                self._about_present(race, frames),
                self._about_promise(race),
            ],
        }

    def remarks(self, sums: Sequence[Sums], frames: Frames) -> Iterator[str]:
        """Where luck is taken out."""
        yield from about_judged(self.judged)

    def _headline(self, frames: Frames, *, is_present: bool) -> str:
        best = frames["settings"].row(0, named=True)
        error = "" if best["rating_error"] is None else f" ± {best['rating_error']:.0f}"
        rated = "" if best["rating"] is None else f", rated {best['rating']:.0f}{error}"
        called = "your present setting" if self.swept else "the first of the list"
        now = f" ({called})" if is_present else ""
        share = "" if rated else f", win share {PERCENT.text(best['win_share'])}"
        others = frames["settings"].filter(verdict="as good")["setting"].to_list()
        few = others if len(others) <= 3 else [*others[:2], f"{len(others) - 2} more"]
        as_good = f" As good within the error: {listed(few)}." if others else ""
        present, new = (
            self.labels[self.present],
            frames["confirmation"].filter(pl.col("gain_low") <= 0),
        )
        what = f"your present setting, {present}" if self.swept else quoted(present)
        no_better = f" On new dice it is not better than {what}." if len(new) else ""
        return f"Best: {best['setting']}{now}{rated}{share}.{as_good}{no_better}"

    def _about_parameters(self, race: Race, frames: Frames) -> Iterator[str]:
        """What each parameter costs where it is worst, or that it has no effect."""
        without = self._without_effect(race)
        for name, games in without.items():
            yield f"{quoted(name)} has no effect: no result changed in {games:,} games."
        for name in self.swept:
            rows = [row for row in frames["response"].to_dicts() if row["option"] == name]
            worst = min(rows, key=lambda row: row["gain"])
            if name not in without and worst["gain_high"] < 0:
                cost = value_text(worst, "gain", -100, sign="")
                yield f"{name}={worst['setting']} costs {cost} points of win share."

    def _without_effect(self, race: Race) -> dict[str, int]:
        """Parameters that changed no result, with the number of games that were compared at least."""
        games = {}
        for name in self.swept:
            alike: dict[tuple[str, ...], list[int]] = {}
            for setting, values in enumerate(self._values):
                others = tuple(value for other, value in values.items() if other != name)
                alike.setdefault(others, []).append(setting)
            looks = [(of, race.last(*of)) for of in alike.values() if len(of) > 1]
            if looks and all(look.is_equal(settings) for settings, look in looks):
                blocks = [sum(each.blocks for each in look.strata) for _, look in looks]
                games[name] = min(blocks) * self.players
        return games

    def _about_present(self, race: Race, frames: Frames) -> str:
        what = "the present setting" if self.swept else quoted(self.labels[self.present])
        if not len(frames["confirmation"]):
            return f"No better setting than {what} was found."
        row = frames["confirmation"].row(0, named=True)
        verdict = "it is better" if row["gain_low"] > 0 else "no better setting was found"
        now = f" ({self.labels[self.present]})" if self.swept else ""
        gain = value_text(row, "gain")
        return f"On new dice: {gain} points of win share against {what}{now}: {verdict}."

    def _about_promise(self, race: Race) -> str:
        if len(race.alive) == 1:
            return f"With 95 % certainty, it is the best of the {self.count} settings."
        end = "" if self._is_decided(race) else "; with more `--games`, that would be less"
        return (
            f"With 95 % certainty, none of the {self.count} settings is more than {100 * race.within:.2f} points of win "
            f"share better{end}."
        )

    def _is_decided(self, race: Race) -> bool:
        return race.within <= (self.within or 0.0)


def _made(spec: str) -> tuple[object, ...]:
    """What a spec stands for: the class of the bot, and its parameters."""
    bot = load_bot(spec)
    return type(bot), *(repr(getattr(bot, field.name)) for field in fields(bot))  # type: ignore[arg-type]


tune = study_function(Tune)
