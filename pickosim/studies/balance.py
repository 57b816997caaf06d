"""The balance: what a pick-up of each specialist is worth to whoever gains it.

Ordinary games are branched whenever a specialist is gained, and played on with and without it. Whatever is compared has
the same dice. A level is a bot that plays all seats, with a number of players.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, replace
from functools import cached_property
from itertools import combinations, product
from math import ceil, hypot
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import polars as pl
from pydantic.dataclasses import dataclass

from pickosim.amounts import (
    amount_text,
    listed,
    parse_count,
    parse_share,
    quoted,
    sentence,
    split_list,
)
from pickosim.bots.loading import Entrant, make_entrants
from pickosim.columns import Frame, Row
from pickosim.errors import PickosimError, suggest
from pickosim.games.match import make_match
from pickosim.rule_files import rules_text
from pickosim.rules import SPECIALISTS, RuleSet
from pickosim.runs.run import Results
from pickosim.runs.tasks import Sums
from pickosim.stats.intervals import CONFIDENCE, NORMAL, Estimate, mean_rate, simultaneous
from pickosim.studies.arms import (
    LARGEST_CHUNK,
    NO_PILOT,
    SMALLEST_CHUNK,
    Chunk,
    chunks_of,
    is_judged,
    seconds_per_game,
    the_judge,
)
from pickosim.studies.ladder import strength, strongest
from pickosim.studies.measures import (
    SIGNIFICANCE,
    about_luck,
    half_width,
    is_significant,
    value_text,
    with_adjusted,
)
from pickosim.studies.options import (
    CHECKED,
    Luck,
    OneRuleSet,
    Option,
    OptionalBots,
    OptionalCount,
    Parsed,
    PlayerCounts,
    Precision,
    Seed,
    parsed_by,
    written,
)
from pickosim.studies.pickup_worths import (
    BALANCED,
    FRAMES,
    GROUPS,
    LEVEL,
    POWER,
    TOO_STRONG,
    TOO_WEAK,
    UNDECIDED,
    Case,
    Level,
    PickupJob,
    pickup_group_rows,
    pickup_rows,
    rounded_up,
    sensitivity_rows,
    worth,
)
from pickosim.studies.schedule import blocks_for, looks
from pickosim.studies.study import (
    Frames,
    OneRuleSetStudy,
    about_few_blocks,
    about_precision,
    stored,
    study_function,
)
from pickosim.studies.views import Crossed, Dots, Drawn, Lines, View, distinct

DEFAULT_GAMES, DEFAULT_CAP = "10k", "1M"

LONG_CHUNK = 20.0
"""Seconds that a worker needs for a chunk: longer than a tournament's, for the larger batch."""

BRANCHES = 16
"""A game with all its branches takes about as long as this many games."""

FIRST_LOOK = 4000
"""Blocks before the first check whether to stop; a further one is worth taking half as many blocks later."""

SIDE_SHARE = 4
"""One game in this many is played again for each starting tile and number."""

NUMBER_OPTIONS: dict[str, tuple[str, tuple[object, ...]]] = {
    "raven": ("bratworms", (0, 3, 5, 7, 9, 12)),
    "golden-die": (
        "golden_die_faces",
        (
            [1, 2, 3, 4, 5, "worm"],
            [1, 1, 1, "worm", "worm", "worm"],
            [3, 3, 4, 4, 5, "worm"],
            [5, 5, 5, "worm", "worm", "worm"],
        ),
    ),
    "apple": ("apple_worms", (0, 1, 2, 3, 4, 5, 6)),
}
"""Numbers of the rules that are about one specialist, and the values that they are tried at."""

HEURISTICS = ("eager", "cautious")
"""Bots that play by default, besides the strongest."""

STRONGEST = "champion"
"""The strongest bot: the verdict on the specialists is its own."""


def specialist_names(specialists: str | Sequence[str]) -> tuple[str, ...]:
    """Specialists, if all exist; a text separates them by commas."""
    names = tuple(split_list(specialists))
    if not names:
        raise PickosimError("Name one specialist at least.")
    for name in names:
        if name not in SPECIALISTS:
            raise PickosimError(
                f'No specialist is named "{name}"'
                + (suggest(name, SPECIALISTS) or f"; there are {', '.join(SPECIALISTS)}.")
            )
    return names


class Part(NamedTuple):
    """A part of the run: a bot that plays all seats (by number), a number of players, and the specialist whose settings vary.

    Without a specialist, it is the ordinary games, branched at all pick-ups.
    """

    level: int
    players: int
    specialist: str = ""


# --------------------------------------------------------------------------------------------------- views

LEVEL_WORDS = "({bot}, {players} players)"
"""A level of play in a title."""


def _ordered(results: Results, rows: pl.DataFrame) -> pl.DataFrame:
    """Rows about specialists in the order of what a pick-up of them is worth over all levels, the greatest first."""
    order = (
        results.pickups.group_by("specialist", maintain_order=True)
        .agg(pl.col("gain").mean())
        .sort("gain", descending=True, nulls_last=True, maintain_order=True)["specialist"]
    )
    place = pl.col("specialist").replace_strict(order, pl.int_range(len(order), eager=True))
    return rows.sort(place, maintain_order=True)


def _by_worth(results: Results) -> pl.DataFrame:
    """Pick-ups in that order, with what their verdicts are about: the worth that each is compared with, and the band around it."""
    return _ordered(results, results.pickups).with_columns(
        centre=pl.col("gain") - pl.col("from_others"),
        nothing=pl.col("from_others") - pl.col("gain"),
        band=pl.lit(results.manifest["plan"]["band"]),
        words=pl.format(
            "{}: a pick-up is worth {} points",
            "verdict",
            pl.col("gain").map_elements(lambda gain: f"{100 * gain:+.2f}", pl.String),
        ),
    )


def _worth_chart(results: Results) -> Dots:
    """What pick-ups are worth, with the intervals that were judged; without verdicts, with their own."""
    worth = Dots("gain", "specialist", "points of win share", panel=LEVEL, at=0, rows=_by_worth)
    if results.pickups["verdict"].is_null().all():
        return replace(worth, tested=True)
    return replace(
        worth, value="from_others", above="nothing", at="centre", band="band", remark="words"
    )


def _of_groups(by: str, title: str, words: str, *text: Crossed) -> View:
    """Pick-ups told apart by phase, standing or former specialist."""
    return View(
        FRAMES["pickups_by"],
        title,
        f"What a pick-up is worth in points of win share, {words}; bars are 95 % intervals.",
        name=f"pickups-by-{by}",
        rows=lambda results: results.pickups_by.filter(by=by),
        chart=Dots(
            "gain",
            "group",
            "points of win share",
            panel="specialist",
            group=LEVEL,
            at=0,
            rows=lambda results: _ordered(results, results.pickups_by.filter(by=by)),
        ),
        text=text,
    )


def _groups_in_order(results: Results, rows: Sequence[Row]) -> tuple[list[str], list[str]]:
    present = distinct(rows, "group")
    return [group for _, group in GROUPS if group in present], distinct(rows, "specialist")


def _number_title(results: Results, rows: Sequence[Row]) -> str:
    name = rows[0]["specialist"].replace("-", " ").capitalize()
    return f"{name} by {{option}}: worth of a pick-up {LEVEL_WORDS}".format(**rows[0])


def _of_settings(what: str, *text: Crossed | Drawn) -> View:
    """The worth of pick-ups by starting tile or number, as lines."""
    name = what.split()[-1]

    def rows(results: Results) -> pl.DataFrame:
        is_tile = pl.col("option").str.starts_with("specialists.")
        return results.sensitivity.filter(is_tile == (name == "tile"))

    return View(
        FRAMES["sensitivity"],
        f"Worth by {what}",
        "What a pick-up is worth, in win share. All else is as in the rules, whose own setting has a ring; bars are 95 % "
        "intervals.",
        name=f"worth-by-{name}",
        rows=rows,
        chart=Lines(
            "gain",
            "setting",
            "points of win share",
            panel="specialist option",
            group=LEVEL,
            at=0,
            ringed="as_given",
            called="option setting",
            rows=lambda results: _ordered(results, rows(results)),
        ),
        text=text,
    )


def _asked(results: Results) -> pl.DataFrame:
    """The rows that the headline is about."""
    pickups = results.pickups
    (first, *_) = asked_level(pickups.to_dicts(), strongest(distinct(pickups.to_dicts(), "bot")))
    return pickups.filter(bot=first["bot"], players=first["players"])


_WORTHS = Drawn(
    f"What a pick-up is worth {LEVEL_WORDS}: points of win share, {{games}} games",
    "specialist gain verdict from_others score_gain pick_ups",
    "gain",
    {
        "gain": "points ",
        "from_others": "vs others",
        "score_gain": "worms",
        "pick_ups": "per game",
    },
    each=LEVEL,
)

VIEWS = (
    View(
        FRAMES["pickups"],
        "What a pick-up is worth",
        "Ordinary games, branched whenever a player gains the specialist: played on as they are, and without it, with "
        "the same dice. The difference in that player's win share is what the pick-up causes. The upright line is what it "
        "is compared with: the mean of all specialists without the highest and the lowest (with fewer than four: the "
        "mean of the others); the shaded band around it is what counts as balanced. Bars are the intervals of that "
        "difference, corrected for the number of specialists: the verdict is too strong or too weak where a bar lies "
        "outside the band, and balanced where it lies inside. The table also says what players who hold the specialist "
        "at the end win above an even share. This is an association, not what the specialist is worth: players who are "
        "winning anyway get more of them.",
        key="Dots: what a pick-up adds to the win share of the player. Upright line: the mean of the other specialists that "
        "it is compared with; shaded: what counts as balanced. Bars: 95 % intervals of that difference, corrected for the "
        "number of specialists.",
        columns=f"specialist gain± as_won± verdict from_others± {LEVEL} pick_ups± score_gain± held_above_even± more_games "
        "p_value p_adjusted games",
        chart=_worth_chart,
        text=(_WORTHS,),
        brief=(replace(_WORTHS, rows=_asked),),
        is_open=True,
        leads=True,
    ),
    View(
        FRAMES["pickups"],
        "A pick-up in worms",
        "The same games: what a pick-up adds to the score of the player. A specialist can bring rivals as much once it is "
        "theirs, and then it does not change who wins.",
        name="pickups-score",
        columns=f"{LEVEL} specialist games score_gain±",
        chart=Dots(
            "score_gain", "specialist", "worms at the end", panel=LEVEL, at=0, rows=_by_worth
        ),
    ),
    _of_groups(
        "phase",
        "A pick-up by phase",
        "by the tiles left on the grill after the pick-up",
        Crossed(
            "group",
            "specialist",
            "gain",
            _groups_in_order,
            f"Pick-ups by phase, standing and former specialist, points of win share {LEVEL_WORDS}\n"
            "95 %: ± {error:.2g} at most",
            "gained",
            each=LEVEL,
            rows=lambda results: results.pickups_by,
        ),
    ),
    _of_groups("standing", "A pick-up by standing", "by how the player stood before, by score"),
    _of_groups(
        "former",
        "A pick-up by what was held",
        "by whether the player held another specialist before",
    ),
    _of_settings(
        "starting tile",
        Crossed(
            "setting",
            "specialist",
            "gain",
            lambda results, rows: (
                sorted(distinct(rows, "setting"), key=int),
                distinct(rows, "specialist"),
            ),
            f"Worth of a pick-up by starting tile, points of win share {LEVEL_WORDS}\n"
            "95 %: ± {error:.2g} at most; {games} games each; ° as given",
            "tile",
            is_number=True,
            each=LEVEL,
            marked="as_given",
        ),
    ),
    _of_settings(
        "number",
        Drawn(
            _number_title,
            "setting gain pick_ups games",
            "gain",
            {"setting": "° as given", "gain": "points", "pick_ups": "per game"},
            each=f"{LEVEL} specialist option",
            marked="as_given",
        ),
    ),
)


@dataclass(frozen=True, config=CHECKED)
class Balance(OneRuleSetStudy):
    """Measure what each specialist is worth.

    Ordinary games are branched whenever a specialist is gained, and played on with it and without it, with the same dice.
    Tables: pickups, pickups_by; if asked for sensitivity.
    """

    kind: ClassVar[str] = "balance"
    sources: ClassVar[tuple[str, ...]] = ("studies.pickup_worths",)
    frame_types: ClassVar = FRAMES
    views: ClassVar = VIEWS
    examples: ClassVar[tuple[str, ...]] = (
        "pickosim balance --players 4 --bots eager",
        "pickosim balance --specialists weasel,raven --precision 0.3%",
    )

    rules: OneRuleSet = written("extrawurm")
    bots: Annotated[
        OptionalBots,
        Option(
            "Bots (each plays all seats); `all` are the built-in ones.",
            ["eager", "cautious"],
            metavar="BOT,…",
            default_text=f"{','.join(HEURISTICS)},{STRONGEST}",
        ),
    ] = written(None)
    players: PlayerCounts = written(4)
    games: Annotated[
        OptionalCount,
        Option(
            "Ordinary games per bot and number of players, e.g. 50k; every pick-up in them is measured. With "
            "--precision, the cap.",
            "50k",
            metavar="NUMBER",
            default_text=f"{DEFAULT_GAMES}; as a cap {DEFAULT_CAP}",
        ),
    ] = written(None)
    seed: Seed = 0
    _: KW_ONLY
    specialists: Annotated[
        Parsed[str | Sequence[str] | None, tuple[str, ...] | None],
        parsed_by(specialist_names),
        Option(
            "Specialists to show, e.g. raven,apple; all are measured, as verdicts compare them.",
            ["raven", "apple"],
            metavar="NAME,…",
            default_text="all of the rules",
        ),
    ] = written(None)
    precision: Annotated[
        Precision,
        Option(
            "Play until what a pick-up is worth is known to within ± this share of wins for every specialist: half "
            "the width of its 95 % interval.",
            "0.3%",
            metavar="HALF",
        ),
    ] = written(None)
    band: Annotated[
        Parsed[str | float, float],
        parsed_by(lambda share: parse_share(share, "A band")),
        Option(
            "A specialist is balanced if a pick-up is worth as much as one of the others, ± this share of wins.",
            "1%",
            metavar="HALF",
        ),
    ] = written("1%")
    control: Annotated[
        Literal["gone", "grill"],
        Option(
            "What a pick-up is measured against: the specialist is gone, or goes back to the grill; the player keeps "
            "the former one.",
            "grill",
            metavar="gone|grill",
        ),
    ] = "gone"
    sensitivity: Annotated[
        bool,
        Option(
            "Also vary starting tiles and rule numbers, with a quarter of the games each.", True
        ),
    ] = False

    luck: Luck = "auto"

    # ------------------------------------------------------------------------------------ what is played

    @stored
    def entrants(self) -> tuple[Entrant, ...]:
        """The bots; each plays all seats."""
        bots = (*HEURISTICS, STRONGEST) if self.bots is None else self.bots
        return tuple(make_entrants(bots))

    @stored
    def judged(self) -> tuple[tuple[int, int], ...]:
        """The bots, by number, and numbers of players whose games are judged."""
        tables = product(range(len(self.entrants)), self.players)
        return tuple(
            (k, size) for k, size in tables if is_judged(self.luck, [self.entrants[k].spec] * size)
        )

    @property
    def measured(self) -> tuple[str, ...]:
        """All specialists of the rules, as a verdict compares one with the others; only those asked for are shown."""
        return tuple(self.rule_set.specialists)

    @property
    def asked(self) -> tuple[str, ...]:
        """The specialists asked for, or all of the rules; in the order of the rules page."""
        wanted = SPECIALISTS if self.specialists is None else self.specialists
        return tuple(name for name in self.measured if name in wanted)

    @property
    def cap(self) -> int:
        """Ordinary games per bot and number of players at most."""
        return self.games or parse_count(DEFAULT_GAMES if self.precision is None else DEFAULT_CAP)

    @stored
    def chunk_sizes(self) -> tuple[int, ...]:
        """Blocks per chunk, bot by bot: they differ in speed."""
        return tuple(self.chunk or self._chunk_size(entrant) for entrant in self.entrants)

    def _chunk_size(self, entrant: Entrant) -> int:
        """Blocks per chunk of a bot: many, as the engine is fast in batches of thousands.

        Results do not depend on it, so it may be measured with a stopwatch.
        """
        most = max(self.players)
        shared = self.cap * len(self.players) // (2 * self.workers)
        if self.cap * most <= NO_PILOT:
            return max(SMALLEST_CHUNK, min(shared, self.cap))
        seconds = seconds_per_game(make_match([entrant.spec] * most, self.rule_set, self.seed))
        in_time = int(LONG_CHUNK / (seconds * BRANCHES))
        return max(SMALLEST_CHUNK, min(shared, in_time, LARGEST_CHUNK))

    def check(self) -> None:
        """Refuse what cannot be played."""
        rules = self.rule_set
        if not rules.specialists:
            raise PickosimError(
                f"The rules {rules.name} have no specialists; take --rules extrawurm."
            )
        missing = [name for name in self.specialists or () if name not in rules.specialists]
        if missing:
            raise PickosimError(
                f"Nobody can gain {listed([the(name) for name in missing])} with the rules {rules.name}; put a specialist "
                f"on a tile first, e.g. --set specialists.{missing[0]}={max(rules.tiles)}."
            )
        if not self.entrants:
            raise PickosimError("Name at least one bot to play; each plays all seats.")
        if len({entrant.spec for entrant in self.entrants}) < len(self.entrants):
            raise PickosimError("A bot is named twice; each plays all seats anyway.")
        blocks_for(self.cap, 1)
        for players in self.players:
            make_match([self.entrants[0].spec] * players, rules, self.seed)

    @property
    def title(self) -> str:
        """What is played, in a line."""
        return f"Rules {rules_text(self.rule_set)}, seed {self.seed}"

    # ------------------------------------------------------------------------------------- a run

    @cached_property
    def layout(self) -> list[Part]:
        """The parts of the run, each with dice of its own; those of ordinary games come first."""
        tables = [(k, players) for k in range(len(self.entrants)) for players in self.players]
        ordinary = [Part(*table) for table in tables]
        if not self.sensitivity:
            return ordinary
        return [*ordinary, *(Part(*table, name) for table in tables for name in self.asked)]

    @property
    def parts(self) -> int:
        """One per bot and number of players, and one more per specialist if settings vary."""
        return len(self.layout)

    def lane(self, part: int) -> int:
        """The lane of a part's game numbers.

        Settings do not follow right after the ordinary games: published figures were played in these lanes.
        """
        tables = len(self.entrants) * len(self.players)
        return part if part < tables else part + tables * len(self.asked)

    def stage(self, number: int, sums: Sequence[Sums]) -> list[Chunk]:
        """Ordinary games up to the next look; when all worths are certain enough, the settings."""
        measured = [Case(name, self.rule_set) for name in self.measured]
        ordinary = [
            (k, measured, range(played, next(look for look in self.looks if look > played)))
            for k, part in enumerate(self.layout)
            if not part.specialist and not self._is_certain(sums[k])
            for played in [_blocks(sums[k])]
        ]
        settings = [
            (k, self._cases(part.specialist), range(ceil(played / SIDE_SHARE)))
            for k, part in enumerate(self.layout)
            if part.specialist and not sums[k]
            for played in [_blocks(sums[self.layout.index(Part(part.level, part.players))])]
        ]
        return [chunk for chunks in ordinary or settings for chunk in self._chunks(*chunks)]

    def _chunks(self, number: int, cases: Sequence[Case], blocks: range) -> Iterator[Chunk]:
        level, players, specialist = self.layout[number]
        judge = the_judge() if (level, players) in self.judged else None
        bots, grouped = (self.entrants[level],), not specialist
        job = PickupJob(bots, players, tuple(cases), self.control, grouped, luck_by=judge)
        return chunks_of(number, job, self.seed, blocks, self.chunk_sizes[level], self.lane(number))

    @cached_property
    def looks(self) -> list[int]:
        """Games after which to check whether to stop; the last is the end anyway."""
        if self.precision is None:
            return [self.cap]
        taken = [0]
        for look in looks(self.cap):
            if look == self.cap or look >= max(FIRST_LOOK, 1.5 * taken[-1]):
                taken.append(look)
        return taken[1:]

    def _is_certain(self, sums: Sums) -> bool:
        """Whether all worths are known as well as was asked for, or the games are used up."""
        if not sums or _blocks(sums) >= self.looks[-1]:
            return bool(sums)
        return self.precision is not None and self._half_width(sums) <= self.precision

    def _half_width(self, sums: Sums) -> float:
        """Half the widest interval of a worth."""
        moments = [worth(sums, self.measured.index(name)) for name in self.asked]
        return max((mean_rate([own]).half for own in moments if own is not None), default=0.0)

    def _played(self, sums: Sequence[Sums], settings: bool) -> list[tuple[Part, Level]]:
        """The parts that have been played: those of ordinary games, or those of settings."""
        return [
            (part, Level(self.entrants[part.level].name, part.players, own))
            for part, own in zip(self.layout, sums, strict=True)
            if bool(part.specialist) is settings and own
        ]

    def _widest(self, sums: Sequence[Sums]) -> float:
        return max(self._half_width(level.sums) for _, level in self._played(sums, False))

    def _cases(self, specialist: str) -> tuple[Case, ...]:
        """The specialist on every tile, then with every value of the number of the rules that is about it.

        Who stands on the tile changes places with it, if it has one; otherwise such tiles are left out.
        """
        rules, places = self.rule_set, _places(self.rule_set)
        swaps = isinstance(places.get(specialist), int)
        taken = {place for name, place in places.items() if name != specialist}
        cases = [
            Case(specialist, on_tile(rules, specialist, tile), f"specialists.{specialist}")
            for tile in rules.tiles
            if swaps or tile not in taken
        ]
        option, values = NUMBER_OPTIONS.get(specialist, ("", ()))
        current = rules.as_dict().get(option)
        if values and current not in values:
            values = (current, *values)
            if isinstance(current, int):
                values = tuple(sorted(values))  # type: ignore[type-var]
        cases += [Case(specialist, rules.with_options({option: value}), option) for value in values]
        return tuple(cases)

    # ------------------------------------------------------------------------------------- results

    @property
    def tables(self) -> dict[str, Frame]:
        """All but those of questions that were not asked."""
        return {name: FRAMES[name] for name in FRAMES if name != "sensitivity" or self.sensitivity}

    def rows(self, sums: Sequence[Sums]) -> dict[str, Iterable[Row]]:
        """The rows of all tables."""
        levels = [level for _, level in self._played(sums, False)]
        settings = [
            (level, self._cases(part.specialist)) for part, level in self._played(sums, True)
        ]
        return {
            "pickups": self.noted(pickup_rows(levels, self.measured, self.asked, self.band)),
            "pickups_by": pickup_group_rows(levels, self.measured, self.asked),
            "sensitivity": sensitivity_rows(settings, self.rule_set),
        }

    def status(self, sums: Sequence[Sums]) -> str:
        """How certain the least certain worth is."""
        return f"worth within ± {100 * self._widest(sums):.2f} points"

    def findings(self, sums: Sequence[Sums], frames: Frames) -> dict[str, Any]:
        """The verdict of the strongest bot, and what else stands out."""
        names = [entrant.name for entrant in self.entrants]
        headline, sentences = findings(frames, strongest(names), self.band)
        widest = self._widest(sums)
        return {"widest_half": widest, "headline": headline, "sentences": sentences}

    def remarks(self, sums: Sequence[Sums], frames: Frames) -> Iterator[str]:
        """How certain the figures are, and how they are meant."""
        if self.precision is not None:
            yield about_precision(
                "a pick-up's worth",
                f"± {100 * self._widest(sums):.3f} points of win share",
                f"± {100 * self.precision:g}",
                "" if self._widest(sums) <= self.precision else f"{self.cap:,} games",
            )
        settings = self.asked if self.sensitivity else ()
        changed = [case.rules for name in settings for case in self._cases(name)]
        rules = dict.fromkeys([self.rule_set, *changed])
        yield from self.about_bots([(each, players) for each in rules for players in self.players])
        yield from about_few_blocks(min(map(_blocks, sums)))
        instead = "gone" if self.control == "gone" else "back on the grill"
        raven = " The raven is never held; a pick-up is the bratworm it pays."
        yield (
            "A pick-up is measured by playing the game on twice from that moment with the same dice: as it is, and "
            f"with the specialist {instead}, the former one kept.{raven if 'raven' in self.asked else ''}"
        )
        yield from about_luck(frames["pickups"], "gain", " after a pick-up", "its worth")
        if self.sensitivity:
            yield (
                "By starting tile and number, other games are played by the changed rules and branched at every pick-up; a "
                "specialist that stood on that tile changes places with it."
            )
        yield (
            "The verdicts with a bot hold together with 95 %: their intervals are corrected for the number of specialists. "
            f"* significant: p below {SIGNIFICANCE:g}, corrected for all comparisons of its table (Holm). Other "
            "intervals are 95 % each."
        )


def _places(rules: RuleSet) -> dict[str, object]:
    """Where the specialists start: a tile, or a seat."""
    return {str(name): place for name, place in rules.specialists.items()}


def on_tile(rules: RuleSet, specialist: str, tile: int) -> RuleSet:
    """The same rules with a specialist on that tile; one that stood there takes its place."""
    places = _places(rules)
    changes: dict[str, object] = {f"specialists.{specialist}": tile}
    for other, place in places.items():
        if other != specialist and place == tile:
            changes[f"specialists.{other}"] = places.get(specialist, "nowhere")
    return rules.with_options(changes)


def _blocks(sums: Sums) -> int:
    return int(sums["blocks"]) if sums else 0


# -------------------------------------------------------------------------------------- in sentences

EVERYBODY = {2: "both", 3: "all three", 4: "all four", 5: "all five", 6: "all six", 7: "all seven"}
"""All players of a game."""


def findings(
    tables: Mapping[str, pl.DataFrame], strongest: str, band: float
) -> tuple[str, list[str]]:
    """The answer in a sentence, and more sentences; the verdict is that of the strongest level of play."""
    pickups = tables["pickups"].to_dicts()
    gained = [row for row in pickups if row["gain"] is not None]
    if not gained:
        return "Nobody gained any of these specialists in these games.", []
    phases = tables["pickups_by"].filter(bot=strongest, by="phase").to_dicts()
    sentences = [
        *_verdicts([row for row in pickups if row["verdict"] is not None], strongest),
        *_by_level(gained),
        *_phases(phases, strongest),
        *(_sensitivity(tables["sensitivity"]) if "sensitivity" in tables else []),
    ]
    return _headline(asked_level(gained, strongest), band), sentences


def the(specialist: str) -> str:
    """A specialist in a sentence."""
    return f"the {specialist.replace('-', ' ')}"


def level_words(row: Row) -> str:
    """A level of play and a number of players."""
    return f"{quoted(row['bot'])}, {row['players']} players"


def asked_level(rows: Sequence[Row], strongest: str) -> list[Row]:
    """The rows of the strongest level of play, with four players or else the first number of them."""
    own = [row for row in rows if row["bot"] == strongest]
    sizes = [row["players"] for row in own]
    return [row for row in own if row["players"] == (4 if 4 in sizes else sizes[0])]


def _grouped(rows: Iterable[Row], key: Callable[[Row], Any]) -> dict[Any, list[Row]]:
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def _headline(rows: Sequence[Row], band: float) -> str:
    """Who plays, which specialists are too strong, too weak or balanced then, and what was judged."""
    first, words = rows[0], strength(rows[0]["bot"])
    who = f"{EVERYBODY[first['players']]} play like {quoted(first['bot'])}{f', {words}' if words else ''}"
    judged = [row for row in rows if row["verdict"] is not None]
    if not judged:
        return f"A pick-up of {the(first['specialist'])} is worth {value_text(first, 'gain')} points of win share when {who}."
    by_verdict = _grouped(judged, lambda row: row["verdict"])
    verdicts = []
    for verdict in (TOO_STRONG, TOO_WEAK, BALANCED, UNDECIDED):
        if own := by_verdict.get(verdict):
            judged_by = "" if verdict == UNDECIDED else " ({})"
            named = [
                the(row["specialist"]) + judged_by.format(value_text(row, "from_others"))
                for row in own
            ]
            verdicts.append(f"{listed(named)} {'is' if len(own) == 1 else 'are'} {verdict}")
    centres = {round(row["gain"] - row["from_others"], 9) for row in judged}
    against = "the mean without the highest and the lowest" if len(judged) > 3 else "the others"
    mean = f" ({100 * centres.pop():+.2f})" if len(centres) == 1 else ""
    return (
        f"When {who}: {'; '.join(verdicts)}. Points of win share per pick-up, compared with {against}{mean}; within "
        f"± {100 * band:g} is balanced."
    )


def _verdicts(rows: Sequence[Row], strongest: str) -> Iterator[str]:
    """How many more games would decide; where bots and numbers of players disagree."""
    if not rows:
        return
    first = asked_level(rows, strongest)
    yield from _undecided([row for row in first if row["verdict"] == UNDECIDED])
    against = []
    for row in first:
        others = [
            f"{other['verdict']} with {level_words(other)}"
            for other in rows
            if other["specialist"] == row["specialist"]
            and len({UNDECIDED, row["verdict"], other["verdict"]}) == 3  # both decided
        ]
        if others:
            against.append(f"{the(row['specialist'])} is {row['verdict']}, but {listed(others)}")
    if against:
        yield f"With {level_words(first[0])}, {'; '.join(against)}."


def _undecided(rows: Sequence[Row]) -> Iterator[str]:
    """What to play for a verdict on specialists that have none yet."""
    within_reach = [row for row in rows if row["more_games"] is not None]
    totals = _grouped(within_reach, lambda row: rounded_up(row["games"] + row["more_games"]))
    if totals:
        wanted = [
            f"`--games {amount_text(total)}` for {listed([the(row['specialist']) for row in of])}"
            for total, of in sorted(totals.items())
        ]
        chance = f"a verdict in about {100 * POWER:.0f} % of such runs"
        yield f"To decide, play again with {'; '.join(wanted)} ({chance})."
    if edge := [the(row["specialist"]) for row in rows if row["more_games"] is None]:
        verb = "is" if len(edge) == 1 else "are"
        yield sentence(
            f"{listed(edge)} {verb} at the edge of the band, where no number of games decides"
        )


def _by_level(gained: Sequence[Row]) -> Iterator[str]:
    """The specialist whose worth depends most on who plays, with the same number of players, if any does."""
    pairs = []
    for rows in _grouped(gained, lambda row: (row["specialist"], row["players"])).values():
        for low, high in map(_ends, combinations(rows, 2)):
            error = hypot(half_width(low, "gain"), half_width(high, "gain")) / NORMAL.quantile()
            apart = Estimate(high["gain"] - low["gain"], error)
            pairs.append({"apart": apart.mean, "p_value": apart.p_value, "low": low, "high": high})
    clear = [pair for pair in with_adjusted(pairs) if is_significant(pair)]
    if clear:
        most = max(clear, key=lambda pair: pair["apart"])
        low, high = most["low"], most["high"]
        yield (
            f"The worth depends on who plays, significantly in {len(clear)} of {len(pairs)} comparisons: a "
            f"pick-up of {the(high['specialist'])} is worth {value_text(high, 'gain')} points with {level_words(high)}, and "
            f"{value_text(low, 'gain')} with {quoted(low['bot'])}."
        )


def _ends(rows: Sequence[Row]) -> tuple[Row, Row]:
    """The rows where a pick-up is worth least and most."""
    return min(rows, key=lambda row: row["gain"]), max(rows, key=lambda row: row["gain"])


def _phases(rows: Sequence[Row], strongest: str) -> Iterator[str]:
    """The phase in which a pick-up is worth most, if that is significantly more than in another.

    Intervals are widened so that those of all phases hold together, however they depend on each other (Bonferroni);
    so phases whose intervals do not overlap differ.
    """
    own = asked_level(rows, strongest) if rows else []
    wider = NORMAL.quantile(simultaneous(CONFIDENCE, len(own))) / NORMAL.quantile()
    for name in ("gain_low", "gain_high"):
        own = [row | {name: row["gain"] + wider * (row[name] - row["gain"])} for row in own]
    ends = [_ends(phases) for phases in _grouped(own, lambda row: row["specialist"]).values()]
    apart = [(high["gain_low"] - low["gain_high"], low, high) for low, high in ends]
    gap, low, high = max(apart, key=lambda each: each[0], default=(0, {}, {}))
    if gap > 0:
        yield (
            f"By phase, {the(high['specialist'])} differs most ({level_words(high)}): {value_text(high, 'gain')} points per "
            f"pick-up with {high['group']}, and {value_text(low, 'gain')} with {low['group']}."
        )


def _sensitivity(sensitivity: pl.DataFrame) -> Iterator[str]:
    """What a pick-up is worth at both ends of each number; of all tiles, where it is worth most and least."""
    rows = [row for row in sensitivity.to_dicts() if row["gain"] is not None]
    tiles, numbers = (
        [row for row in rows if ("." in row["option"]) is dot] for dot in (True, False)
    )
    for settings in _grouped(
        numbers, lambda row: (row["specialist"], row["option"], level_words(row))
    ).values():
        low, high = _ends(settings)
        option, level = low["option"], f"{the(low['specialist'])} ({level_words(low)})"
        if any(map(is_significant, settings)):
            least, most = (
                f"{value_text(row, 'gain')} {unit}({option}={row['setting']})"
                for row, unit in ((low, ""), (high, "points "))
            )
            yield f"By {option}, a pick-up of {level} is worth from {least} to {most}."
    for level, settings in _grouped(tiles, level_words).items():
        row = min(settings, key=lambda row: row["pick_ups"])
        clear = [row for row in settings if is_significant(row)]
        others = sum(not row["as_given"] for row in settings)
        differs = f"differs significantly from that as given in {len(clear)} of {others} cases"
        if clear:
            top = max(clear, key=lambda row: abs(row["difference"]))
            differs += f", most for {the(top['specialist'])} on {top['setting']} ({value_text(top, 'gain')} points)"
        yield (
            f"By starting tile, what a pick-up is worth ({level}) {differs}; pick-ups are fewest for "
            f"{the(row['specialist'])} on {row['setting']}: {row['pick_ups']:.2f} per game."
        )


balance = study_function(Balance)
