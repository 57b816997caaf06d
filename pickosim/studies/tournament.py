"""The tournament: bots in matchups, played in blocks until enough is known, and any game played again."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, asdict, replace
from functools import cached_property
from itertools import cycle, islice
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
import polars as pl
from pydantic.dataclasses import dataclass

from pickosim.amounts import (
    LANE,
    listed,
    parse_count,
    parse_points,
    points_by_place,
    quoted,
    split_list,
)
from pickosim.bots.loading import ALL, Entrant, check_bot_sources, expand, make_entrants, numbered
from pickosim.columns import Frame, Row
from pickosim.errors import PickosimError, StrategyError, suggest
from pickosim.games.batch import play_games
from pickosim.games.match import Match, make_match
from pickosim.rule_files import rules_text
from pickosim.rules import check_players
from pickosim.runs.folder import RunFolder
from pickosim.runs.tasks import Sums
from pickosim.stats.intervals import Moments, stratified_mean
from pickosim.stats.ratings import Ratings
from pickosim.stats.sequential import Sprt
from pickosim.stats.sequential import parse as parse_sprt
from pickosim.studies.arms import Chunk, blocks_per_chunk
from pickosim.studies.matchup_sums import chunks_of_matchups, forfeits_in, judged_matchups
from pickosim.studies.options import (
    CHECKED,
    Bots,
    Luck,
    OneRuleSet,
    Option,
    OptionalCount,
    Parsed,
    Precision,
    Seed,
    parsed_by,
    player_count,
    written,
)
from pickosim.studies.schedule import (
    FIRST_TEST,
    MAX_MATCHUPS,
    TEST_GROWTH,
    Earlier,
    Matchup,
    blocks_for,
    bots_by_seat,
    by_bot,
    looks,
    matchup_lanes,
    rotations,
    round_robin,
)
from pickosim.studies.shares import (
    Points,
    Shares,
    about_first,
    about_focus,
    about_test,
    points_text,
)
from pickosim.studies.standings import (
    FRAMES,
    VIEWS,
    ratings_of,
    scale_of,
    tables_with,
    tournament_rows,
)
from pickosim.studies.study import (
    Frames,
    OneRuleSetStudy,
    about_few_blocks,
    about_optional_stopping,
    about_precision,
    planned_study,
    stored,
    study_function,
)

DEFAULT_GAMES, DEFAULT_CAP = "20k", "10M"

MOST_FORFEITS = 0.1
"""Share of a matchup's games that a bot may forfeit at most."""


@dataclass(frozen=True, config=CHECKED)
class Tournament(OneRuleSetStudy):
    """Run a tournament between bots.

    Every choice of bots meets in a matchup, and every bot sits in every seat equally often, with the same dice.
    Tables: standings, matchups, places, pairs, luck, seats, specialists, lengths, scores.
    """

    kind: ClassVar[str] = "tournament"
    sources: ClassVar[tuple[str, ...]] = ("studies.matchup_sums", "stats.sequential")
    frame_types: ClassVar = FRAMES
    views: ClassVar = VIEWS
    examples: ClassVar[tuple[str, ...]] = (
        "pickosim tournament eager expected my_bot.py --games 50k",
        "pickosim tournament all --rules extrawurm --players 4 --games 9600",
        "pickosim tournament all --focus my_bot.py --precision 0.5%",
    )

    bots: Annotated[
        Bots,
        Option(
            "Bots, e.g. eager, threshold:target=21..30 (ten of them) or my_bot.py:MyBot; a bot may be entered "
            "twice. `all`, or none, stands for the built-in ones.",
            ["eager", "random"],
            metavar="BOT",
            positional=True,
        ),
    ] = written(())
    rules: OneRuleSet = written("classic")
    players: Annotated[
        int | None,
        parsed_by(player_count),
        Option("Players per game.", 4, metavar="NUMBER", default_text="2"),
    ] = None
    games: Annotated[
        OptionalCount,
        Option(
            "Games per matchup, e.g. 250k or 1M, rounded up to whole blocks; with --precision or --sprt, the "
            "cap.",
            "250k",
            metavar="NUMBER",
            default_text=f"{DEFAULT_GAMES}; as a cap {DEFAULT_CAP}",
        ),
    ] = written(None)
    seed: Seed = 0
    _: KW_ONLY
    focus: Annotated[
        str | None,
        Option(
            "Only matchups with this bot, which enters if it is not listed: a gauntlet.",
            "eager",
            metavar="BOT",
        ),
    ] = None
    together: Annotated[bool, Option("One matchup of all bots.", True)] = False
    max_matchups: Annotated[
        int, Option("Maximum number of matchups; above it, a random sample.", 100, metavar="NUMBER")
    ] = MAX_MATCHUPS
    points: Annotated[
        Parsed[str | Sequence[float] | None, Points | None],
        parsed_by(parse_points),
        Option(
            "Points for the first place, the second and so on; places left out get 0. The standings are then "
            "ordered by mean points instead of win shares; players who tie share the points of their places. "
            "Ratings, pairs and --sprt do not depend on it.",
            "7,5,3,1",
            metavar="NUMBERS",
        ),
    ] = written(None)
    precision: Annotated[
        Precision,
        Option(
            "Play until every win share in the standings is known to within ± this: half the width of its "
            "95 % interval. With --points, it is every mean of points, to within ± this share of the points "
            "between first and last place.",
            "0.2%",
            metavar="HALF",
        ),
    ] = written(None)
    sprt: Annotated[
        Parsed[str | Sprt | None, Sprt | None],
        parsed_by(lambda test: parse_sprt(test) if isinstance(test, str) else test),
        Option(
            "Play one matchup until a sequential test decides whether the first bot wins LOW or HIGH points "
            "more than its even share (of two bots 50 %).",
            "0,1%",
            metavar="LOW,HIGH",
        ),
    ] = written(None)
    on_error: Annotated[
        Literal["forfeit", "stop"] | None,
        Option(
            "What becomes of a bot that fails in a game: it loses that game, which eager plays on for it, or the run "
            "stops.",
            "stop",
            metavar="forfeit|stop",
            default_text="forfeit with three or more bots",
        ),
    ] = None
    luck: Luck = "auto"
    save_games: Annotated[bool, Option("Save every game to Parquet.", True)] = False
    earlier: tuple[Earlier, ...] = ()
    """The runs that this one extends, the first of them first; not an option."""

    # ------------------------------------------------------------------------------------ what is played

    @stored
    def entered(self) -> tuple[str, ...]:
        """The bots by spec, as they were named; the focus enters even if it is not."""
        bots = [spec for bot in self.bots or (ALL,) for spec in expand(bot)]
        if self.focus is None or self.focus in numbered(bots):
            return tuple(bots)
        if len(make_entrants([self.focus])) > 1:
            raise PickosimError(f"The focus is one bot, and {self.focus} stands for several.")
        return (self.focus, *bots)

    @property
    def seats(self) -> int:
        """Players per game."""
        return len(self.entered) if self.together else self.players or 2

    @property
    def _filled(self) -> list[str]:
        """The bots that were entered, and copies of them for games of more players than there are bots."""
        missing = max(0, self.seats - len(self.entered)) if len(self.entered) > 1 else 0
        return [*self.entered, *islice(cycle(sorted(self.entered)), missing)]

    @property
    def forfeits(self) -> bool:
        """Whether a bot that fails in a game loses it."""
        return self.on_error == "forfeit" or (self.on_error is None and len(self.entered) > 2)

    @property
    def copies(self) -> list[str]:
        """The names of bots entered a second time, to fill games of more players than there are bots."""
        return numbered(self._filled)[len(self.entered) :]

    @stored
    def entrants(self) -> tuple[Entrant, ...]:
        """By name, so that the order in which bots are named does not matter."""
        return tuple(sorted(make_entrants(self._filled), key=lambda entrant: entrant.name))

    @property
    def names(self) -> list[str]:
        """The names of all entrants."""
        return [entrant.name for entrant in self.entrants]

    @stored
    def matchups(self) -> tuple[Matchup, ...]:
        """Each is a part of the run."""
        return tuple(self._round_robin[0])

    @cached_property
    def _round_robin(self) -> tuple[list[Matchup], int]:
        """The matchups, and how many would be possible."""
        return round_robin(
            self.names, self.seats, focus=self.focus, most=self.max_matchups, seed=self.seed
        )

    @stored
    def judged(self) -> tuple[Matchup, ...]:
        """The matchups whose luck is taken out."""
        return judged_matchups(self.luck, self.matchups, self.entrants, self.focus)

    @property
    def cap(self) -> int:
        """Games per matchup at most."""
        stops = self.precision is not None or self.sprt is not None
        return self.games or parse_count(DEFAULT_CAP if stops else DEFAULT_GAMES)

    @property
    def tested(self) -> str:
        """The bot that a sequential test is about: the focus, or the bot named first."""
        return self.focus or self.entered[0]

    @stored
    def place_points(self) -> Points | None:
        """Points by place, if they order the standings; otherwise win shares do."""
        return None if self.points is None else points_by_place(self.points, self.seats)

    @stored
    def chunk_size(self) -> int:
        """Blocks per chunk."""
        blocks = blocks_for(self.cap, self.seats)
        new = sum(blocks - self._played_before(matchup) for matchup in self.matchups)
        return self.chunk or blocks_per_chunk(
            self.entrants,
            self.rule_set,
            self.seats,
            new,
            self.workers,
            self.seed,
            forfeits=self.forfeits,
        )

    def _played_before(self, matchup: Matchup) -> int:
        """Blocks of a matchup in earlier runs."""
        runs = (run.blocks for run in self.earlier if set(matchup) <= set(run.bots))
        return max(runs, default=0)

    def check(self) -> None:
        """Refuse what cannot be played, and stopping rules that do not fit the field, or each other."""
        if self.together and (self.players is not None or self.focus is not None):
            raise PickosimError(
                "One matchup of all bots has no focus and no other number of players."
            )
        check_players(self.seats)
        for entrant in self.entrants:
            make_match([entrant.spec] * self.seats, self.rule_set, self.seed)
        matchups = len(self.matchups)
        if self.sprt is not None and matchups > 1:
            raise PickosimError(
                f"A sequential test asks what the first bot wins in one matchup, and {len(self.names)} bots in games "
                f"of {self.seats} make {matchups}: name {self.seats} bots, or play --together."
            )
        if self.sprt is not None and self.precision is not None:
            raise PickosimError("A run stops by --sprt or by --precision, not by both.")
        if self.sprt is not None:
            self.sprt.shares(self.seats)  # refuses what no bot can win

    def extended(
        self, bots: Sequence[str], games: int | None, without: Sequence[str] = (), **how: Any
    ) -> Tournament:
        """The tournament that had other bots, or more games per matchup, from the beginning."""
        for bot in without:
            if bot not in self.entered:
                raise PickosimError(
                    f"{quoted(bot)} is not in the run{suggest(bot, self.entered) or '.'}"
                )
            if bot == self.focus:
                raise PickosimError(f"{quoted(bot)} is the focus; nothing is left without it.")
        kept = tuple(bot for bot in self.entered if bot not in without)
        # What was forfeited stays so.
        how |= {"bots": (*kept, *bots), "on_error": "forfeit" if self.forfeits else self.on_error}
        if not bots and games is None:
            if not without:
                raise PickosimError("Name bots to add, or a larger number of games per matchup.")
            if not kept:
                raise PickosimError("No bot is left to play.")
            return replace(self, **how | {"chunk": self.chunk_size})
        if self.precision is not None or self.sprt is not None:
            raise PickosimError(
                "A run that stops by --precision or --sprt cannot be extended: how long it plays depends on its "
                "results. Play a new one."
            )
        if games is not None and (games < self.cap or (games == self.cap and not bots)):
            raise PickosimError(
                f"The run has {self.cap:,} games per matchup already; ask for more, not for {games:,}."
            )
        for number, bot in enumerate(bots):
            if bot in kept or bot in bots[:number]:
                where = "in the run already" if bot in kept else "named twice"
                raise PickosimError(f"{quoted(bot)} is {where}.")
        run = Earlier(tuple(self.names), self.looks[-1], self.chunk_size)
        return replace(self, games=games or self.cap, earlier=(*self.earlier, run), **how)

    @property
    def parts(self) -> int:
        """One per matchup."""
        return len(self.matchups)

    @property
    def saves_games(self) -> bool:
        """Whether every game is kept as a row."""
        return self.save_games

    @property
    def tables(self) -> dict[str, Frame]:
        """All; they have no columns for points or luck that there are not."""
        return tables_with(self.place_points, self.judged)

    @property
    def title(self) -> str:
        """What is played, in a line."""
        form = "One matchup" if len(self.matchups) == 1 else "Round robin"
        title = f"{self.seats} players, rules {rules_text(self.rule_set)}, seed {self.seed}"
        if self.place_points is not None:
            title += f", points {points_text(self.place_points)}"
        return f"{'Gauntlet' if self.focus else form}, {title}"

    @cached_property
    def looks(self) -> list[int]:
        """Blocks per matchup after which to check whether to stop; the last is the end anyway."""
        blocks = blocks_for(self.cap, self.seats)
        if self.sprt is not None:
            return list(looks(blocks, FIRST_TEST, TEST_GROWTH))
        return [blocks] if self.precision is None else list(looks(blocks))

    def stage(self, number: int, sums: Sequence[Sums]) -> list[Chunk]:
        """All matchups, up to the next look."""
        if number >= len(self.looks) or (number and self._is_decided(sums)):
            self._check_forfeits(sums)
            return []
        blocks = range(self.looks[number - 1] if number else 0, self.looks[number])
        return chunks_of_matchups(
            self.matchups,
            self.entrants,
            self.rule_set,
            self.seed,
            blocks,
            self.chunk_size,
            self.earlier,
            forfeits=self.forfeits,
            judged=self.judged,
        )

    def _check_forfeits(self, sums: Sequence[Sums]) -> None:
        """Refuse results of which too many are those of a bot that has only lost by failing."""
        for matchup, part in zip(self.matchups, sums, strict=True):
            games, forfeits = int(part["blocks"]) * self.seats, forfeits_in(part)
            for number, bot in enumerate(matchup):
                failed = int((forfeits[:, 2] == number).sum())
                if failed > MOST_FORFEITS * games:
                    against = listed([quoted(rival) for rival in matchup if rival != bot])
                    error = StrategyError(
                        f"{quoted(bot)} failed in {failed:,} of {games:,} games against {against}; more than "
                        f"{MOST_FORFEITS:.0%} tell nothing about it. The first: {self._first_failure(sums, bot)}"
                    )
                    error.bot = self._spec(bot)
                    raise error

    def _first_failure(self, sums: Sequence[Sums], bot: str) -> str:
        """What happened in the first game that a bot forfeited: it is played again up to there."""
        for matchup, part in zip(self.matchups, sums, strict=True):
            if bot in matchup:
                forfeits = forfeits_in(part)
                own = forfeits[forfeits[:, 2] == matchup.index(bot)]
                for game, rotation, _ in own.tolist()[:1]:
                    match = self.match_of(matchup)
                    try:
                        play_games(match.seated_for(game, rotation), game, 1)
                    except StrategyError as error:
                        return str(error).removeprefix(f"{error.bot}: ")
                    return match.replay_command(game, rotation)
        return ""

    def match_of(self, matchup: Matchup) -> Match:
        """The match of a matchup in all its seatings."""
        specs = [self._spec(bot) for bot in matchup]
        return make_match(specs, self.rule_set, self.seed, rotations(matchup))

    def _spec(self, bot: str) -> str:
        """The spec of a bot by its name."""
        return next(entrant.spec for entrant in self.entrants if entrant.name == bot)

    def way_on(self, bot: str, folder: Path) -> str:
        """How to go on without a bot that failed, if enough others are left to play."""
        if len(self.names) <= self.seats or bot not in self.entered or bot == self.focus:
            return ""
        command = ["pickosim", "extend", str(folder), "--without", bot]
        return f"To play on without it: {shlex.join(command)}"

    def _is_decided(self, sums: Sequence[Sums]) -> bool:
        if self.sprt is not None:
            return self._verdict(sums) is not None
        return self.precision is not None and self._widest(sums) <= self.precision

    def _widest(self, sums: Sequence[Sums]) -> float:
        """Half the width of the widest interval of a win share in the standings.

        With points, that of a mean of points, as a share of those between the first place and the last.
        """
        shares = self._shares(sums)
        return max(shares.measured(bot).half for bot in shares.bots())

    def _shares(self, sums: Sequence[Sums]) -> Shares:
        """What orders the standings, in the matchups that have been played."""
        played = [
            (matchup, part) for matchup, part in zip(self.matchups, sums, strict=True) if part
        ]
        matchups, parts = zip(*played, strict=True)
        return Shares(matchups, parts, self.place_points)

    def _verdict(self, sums: Sequence[Sums]) -> str | None:
        assert self.sprt is not None
        return self.sprt.verdict(*self._tested(sums)[:3], self.seats)

    def _tested(self, sums: Sequence[Sums]) -> Moments:
        """The moments of the win share that a sequential test is about, whatever the points."""
        (moments,) = Shares(self.matchups, sums).moments(self.tested)
        return moments

    # ------------------------------------------------------------------------------------------ results

    def rows(self, sums: Sequence[Sums]) -> dict[str, Iterable[Row]]:
        """The rows of all tables."""
        specialists, points = self.rule_set.specialists, self.place_points
        rows = tournament_rows(self.names, self.matchups, sums, specialists, points)
        return rows | {"standings": self.noted(rows["standings"], self.seats)}

    def so_far(self, sums: Sequence[Sums]) -> tuple[Tournament, Sequence[Sums]] | None:
        """The tournament of the matchups that have begun, and of their bots."""
        begun = [matchup for matchup, part in zip(self.matchups, sums, strict=True) if part]
        names = {bot for matchup in begun for bot in matchup}
        only = replace(self)
        only.__dict__.update(vars(self))
        only.__dict__["matchups"] = tuple(begun)
        only.__dict__["_round_robin"] = self._round_robin
        only.__dict__["entrants"] = tuple(bot for bot in self.entrants if bot.name in names)
        return (only, [part for part in sums if part]) if begun else None

    def status(self, sums: Sequence[Sums]) -> str:
        """Who leads, among those who have played."""
        shares = self._shares(sums)
        by_bot = {bot: stratified_mean(shares.moments(bot)).mean for bot in shares.bots()}
        leader = max(by_bot, key=by_bot.__getitem__)
        value = shares.shown(by_bot[leader])
        return f"leader {leader} {f'{value:.1f} %' if shares.points is None else f'{value:.2f} points'}"

    def findings(self, sums: Sequence[Sums], frames: Frames) -> dict[str, Any]:
        """The headline, why it stopped, ratings by wins alone, and bots that failed."""
        findings: dict[str, Any] = {"headline": self._headline(sums, frames)}
        if self.precision is not None:
            findings["widest_half"] = self._widest(sums)
        if self.sprt is not None:
            findings["sprt"] = {
                **asdict(self.sprt),
                "llr": self.sprt.llr(*self._tested(sums)[:3], self.seats),
                "bounds": list(self.sprt.bounds),
                "verdict": self._verdict(sums),
            }
        by_wins = ratings_of(self.names, self.matchups, sums, wins=True).ratings
        win_ratings = {bot: [rating, error] for bot, rating, error, _ in by_wins.iter_rows()}
        warnings = list(self._about_forfeits(sums, frames))
        return findings | {"win_ratings": win_ratings, "warnings": warnings}

    def remarks(self, sums: Sequence[Sums], frames: Frames) -> Iterator[str]:
        """What was played, how certain it is, and what the ratings are."""
        yield from self._about_schedule()
        yield from self.about_bots([(self.rule_set, self.seats)])
        if self.precision is not None:
            yield self._about_precision(self._widest(sums), self.precision)
        rated = ratings_of(self.names, self.matchups, sums)
        yield from about_ratings(rated, frames["standings"])
        yield from rated.remarks
        yield from about_few_blocks(min(frames["standings"]["games"].to_list()) // self.seats)
        yield from about_optional_stopping(self.earlier, self.looks[-1])

    def _about_forfeits(self, sums: Sequence[Sums], frames: Frames) -> Iterator[str]:
        """Which bots failed, in how many games, and what happened in the first."""
        for row in frames["standings"].filter(pl.col("forfeits") > 0).iter_rows(named=True):
            games = f"{row['forfeits']:,} of {row['games']:,} games"
            first = self._first_failure(sums, row["bot"])
            yield f"{quoted(row['bot'])} failed in {games}, which it loses. The first: {first}"

    def _headline(self, sums: Sequence[Sums], frames: Frames) -> str:
        """The verdict of the test, how the focus does, or who is first."""
        shares, bots = self._shares(sums), frames["standings"]["bot"].to_list()
        if self.sprt is not None:
            rivals = [bot for bot in self.matchups[0] if bot != self.tested]
            tested, games = Shares(self.matchups, sums), sum(int(part["games"]) for part in sums)
            return about_test(self.sprt, self._verdict(sums), self.tested, rivals, games, tested)
        if self.focus is not None:
            return about_focus(shares, self.focus, len(bots) - 1)
        return about_first(shares, bots, self._is_fair)

    @property
    def _is_fair(self) -> bool:
        """Whether all bots have the same opponents."""
        is_round_robin = self.focus is None and self._round_robin[1] == len(self.matchups)
        return is_round_robin or len(self.matchups) == 1

    def _about_schedule(self) -> Iterator[str]:
        if self.copies:
            yield (
                f"{len(self.entrants) - len(self.copies)} bots in games of {self.seats}: copies take the "
                f"remaining seats ({', '.join(map(quoted, self.copies))})."
            )
        drawn, possible = self._round_robin
        if possible > len(drawn):
            yield (
                f"A sample of {len(drawn):,} of {possible:,} possible matchups, drawn with seed {self.seed}."
            )
        played = blocks_for(self.cap, self.seats) * self.seats
        if played > self.cap and self.precision is None and self.sprt is None:
            yield (
                f"{self.cap:,} games per matchup are not a whole number of blocks of {self.seats}: "
                f"rounded up to {played:,}."
            )

    def _about_precision(self, widest: float, wanted: float) -> str:
        cap = "" if widest <= wanted else f"{self.cap:,} games per matchup"
        if self.place_points is None:
            half = f"± {100 * widest:.3f} points"
            return about_precision("a win share", half, f"± {100 * wanted:g}", cap)
        span = self.place_points[0] - self.place_points[-1]
        half, goal = f"± {span * widest:.4f}", f"± {span * wanted:g}"
        of = f" ({100 * wanted:g} % of the {span:g} points between first and last place)"
        return about_precision("mean points", half, goal, cap, of)


def about_ratings(rated: Ratings, standings: pl.DataFrame) -> Iterator[str]:
    """What the ratings of several bots are relative to, and which bots have none, and why."""
    if len(rated.ratings) > 2:
        yield scale_of(rated.ratings)
    for row in standings.iter_rows(named=True):
        if reason := rated.unrated.get(row["bot"]):
            games = f"of its {row['games']:,} games"
            known = {0.0: f"won none {games}", 1.0: f"won all {games}"}
            yield f"{quoted(row['bot'])} {known.get(row['win_share'], reason)}, so it has no rating."


# ------------------------------------------------------------------------------------ games found again

SEARCHED = 1_000
"""Blocks that are played again at once to find a game."""


class GameOfRun(NamedTuple):
    """A game of a run: its match, seated as it was, its number and its rotation."""

    match: Match
    game: int
    rotation: int


def game_of_run(
    folder: str | Path,
    game: int = 0,
    rotation: int = 0,
    *,
    matchup: str | None = None,
    lost_by: str | None = None,
    to: str | None = None,
    nth: int = 1,
) -> GameOfRun:
    """A game of a tournament's folder.

    By its number and the rotation of the seats; with `matchup`, e.g. "eager,thief", numbers count from 0. Or the nth
    game that the bot `lost_by` lost (with `to`: while that bot was first), in the order of matchups, games and rotations.
    """
    manifest = RunFolder(Path(folder)).manifest()
    if manifest["kind"] != Tournament.kind:
        raise PickosimError(f"{folder} is not a tournament; its games cannot be watched.")
    study: Tournament = planned_study(manifest)
    named = split_list(matchup) if matchup is not None else []
    for name in filter(None, (*named, lost_by, to)):
        if name not in study.names:
            raise PickosimError(f'The run has no bot "{name}"{suggest(name, study.names) or "."}')
    lanes = dict(zip(matchup_lanes(study.matchups), study.matchups, strict=True))
    if matchup is not None:
        lanes = {lane: bots for lane, bots in lanes.items() if sorted(bots) == sorted(named)}
        if not lanes:
            raise PickosimError(f"{folder} has no matchup of {', '.join(sorted(named))}.")
    blocks = study.looks[-1]
    if lost_by is not None:
        lost = _lost(study, lanes, blocks, lost_by, to)
        wanted = next(islice(lost, nth - 1, None), None) if nth > 0 else None
        if wanted is None:
            rival = f" to {to}" if to else ""
            raise PickosimError(f"{folder} has no game number {nth} that {lost_by} lost{rival}.")
        return wanted
    if matchup is not None:
        (number,) = lanes
        if not 0 <= game < blocks:
            raise PickosimError(f"The games of a matchup go from 0 to {blocks - 1:,}, not {game}.")
        game += number * LANE
    number, block = divmod(game, LANE)
    if not (number in lanes and block < blocks):
        first = next(iter(lanes))
        raise PickosimError(
            f"The run {folder} has no game {game}. Name a matchup, e.g. --matchup {','.join(lanes[first])}, and a "
            f"game from 0 to {blocks - 1:,}; or the full number: matchup m (e.g. {first}) has the games m × {LANE:,} "
            f"to m × {LANE:,} + {blocks - 1:,}, see matchups.parquet."
        )
    if not 0 <= rotation < study.seats:
        raise PickosimError(
            f"Rotations go from 0 to {study.seats - 1} with {study.seats} players, not {rotation}."
        )
    match = _unchanged_match(study, lanes[number])
    return GameOfRun(match.seated_for(game, rotation), game, rotation)


def _unchanged_match(study: Tournament, matchup: Matchup) -> Match:
    """The match of a matchup, if its bots are as they were."""
    check_bot_sources(entrant for entrant in study.entrants if entrant.name in matchup)
    return study.match_of(matchup)


def _lost(
    study: Tournament, lanes: dict[int, Matchup], blocks: int, bot: str, rival: str | None
) -> Iterator[GameOfRun]:
    """The games that a bot lost, played again to find them."""
    for lane, matchup in lanes.items():
        if bot not in matchup or (rival or bot) not in matchup:
            continue
        match = _unchanged_match(study, matchup)
        for begin in range(0, blocks, SEARCHED):
            first, number = lane * LANE + begin, min(SEARCHED, blocks - begin)
            seated = bots_by_seat(matchup, first, number)
            tallies = play_games(match, first, number).by_rotation(len(seated))
            by_rotation = zip(tallies, seated, strict=True)
            ranks = np.stack([by_bot(tally.rank, bots) for tally, bots in by_rotation], 1)
            lost = ranks[..., matchup.index(bot)] > 1
            if rival is not None:
                lost &= ranks[..., matchup.index(rival)] == 1
            for block, rotation in np.argwhere(lost).tolist():
                game = first + block
                yield GameOfRun(match.seated_for(game, rotation), game, rotation)


tournament = study_function(Tournament)
