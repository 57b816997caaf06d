"""The tournament: bots in matchups, played in blocks until enough is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property, partial
from itertools import cycle, islice
from typing import Any, ClassVar, NamedTuple

from pydantic.dataclasses import dataclass

from pickosim.amounts import parse_count, parse_share, points_by_place
from pickosim.bots.entrants import ALL, Entrant, make_entrants
from pickosim.bots.loading import built_in_players
from pickosim.columns import Frame
from pickosim.errors import PickosimError
from pickosim.games.match import make_match
from pickosim.runs.sums import Sums
from pickosim.stats.moments import Moments, share_interval, stratified_mean
from pickosim.stats.sprt import Sprt
from pickosim.stats.sprt import parse as parse_sprt
from pickosim.studies.arms import Chunk, chunk_size
from pickosim.studies.schedule import (
    FIRST_TEST,
    TEST_GROWTH,
    Earlier,
    Matchup,
    blocks_for,
    looks,
    player_counts,
    round_robin,
)
from pickosim.studies.sentences import about_few_blocks, listed, quoted
from pickosim.studies.study import (
    Frames,
    StudyBase,
    about_unfinished,
    bot_list,
    study_function,
)
from pickosim.studies.tournament_options import DEFAULT_CAP, DEFAULT_GAMES, TournamentOptions
from pickosim.studies.tournament_results import (
    FRAMES,
    MAIN_FRAME,
    Points,
    about_ratings,
    headline,
    in_points,
    point_moments,
    points_text,
    ratings_of,
    tables_with,
    tournament_frames,
    win_moments,
)
from pickosim.studies.tournament_sums import chunks_of_matchups
from pickosim.studies.variants import GivenRules, StoredRules, read_rules


def plan(options: TournamentOptions) -> Tournament:
    """The tournament that these options ask for; whatever cannot be played is refused."""
    given, rules = read_rules(options.rules, options.set)
    everybody = partial(built_in_players, rules, options.players or 2)
    bots = _with_focus(bot_list(options.bots or ALL, everybody), options.focus)
    if options.together:
        if options.players is not None or options.focus is not None:
            raise PickosimError(
                "One matchup of all bots has no focus and no other number of players."
            )
        players = len(bots)
    else:
        players = options.players or 2
    player_counts(players)
    field = _field_of(bots, players)
    for entrant in field.entrants:
        make_match([entrant.spec] * players, rules, options.seed)
    matchups, possible = round_robin(
        field.names, players, focus=options.focus, most=options.max_matchups, seed=options.seed
    )
    _check_stopping(options, len(field.names), players, len(matchups))
    capped = options.precision is not None or options.sprt is not None
    games = parse_count(options.games or (DEFAULT_CAP if capped else DEFAULT_GAMES))
    blocks = blocks_for(games, players) * len(matchups)
    return Tournament(
        rules=rules,
        given_rules=given,
        entrants=field.entrants,
        matchups=tuple(matchups),
        possible_matchups=possible,
        max_matchups=options.max_matchups,
        copies=field.copies,
        games=games,
        seed=options.seed,
        focus=options.focus,
        points=None if options.points is None else points_by_place(options.points, players),
        precision=None
        if options.precision is None
        else parse_share(options.precision, "A precision"),
        sprt=None if options.sprt is None else parse_sprt(options.sprt),
        tested=options.focus or field.first,
        save_games=options.save_games,
        chunk=options.chunk
        or chunk_size(field.entrants, rules, players, blocks, options.workers, options.seed),
    )


def extended(
    study: Tournament,
    bots: Sequence[str] = (),
    games: int | None = None,
    *,
    workers: int = 1,
    chunk: int | None = None,
) -> Tournament:
    """A tournament with more bots, or with more games per matchup: the one that had them from the beginning."""
    if study.precision is not None or study.sprt is not None:
        raise PickosimError(
            "A run that stops by --precision or --sprt cannot be extended: how long it plays depends on its "
            "results. Play a new one."
        )
    if not bots and games is None:
        raise PickosimError("Name bots to add, or a larger number of games per matchup.")
    if games is not None and (games < study.games or (games == study.games and not bots)):
        raise PickosimError(
            f"The run has {study.games:,} games per matchup already; ask for more, not for {games:,}."
        )
    entered = [entrant.spec for entrant in study.entrants if entrant.name not in study.copies]
    for number, bot in enumerate(bots):
        if bot in entered or bot in bots[:number]:
            where = "in the run already" if bot in entered else "named twice"
            raise PickosimError(f"{quoted(bot)} is {where}.")
    field = _field_of([*entered, *bots], study.players)
    matchups, possible = round_robin(
        field.names, study.players, focus=study.focus, most=study.max_matchups, seed=study.seed
    )
    games = games or study.games
    blocks, had = blocks_for(games, study.players), study.looks[-1]
    missing = blocks * len(matchups) - had * len(set(matchups) & set(study.matchups))
    return replace(
        study,
        entrants=field.entrants,
        matchups=tuple(matchups),
        possible_matchups=possible,
        copies=field.copies,
        games=games,
        chunk=chunk
        or chunk_size(field.entrants, study.rules, study.players, missing, workers, study.seed),
        earlier=(*study.earlier, Earlier(tuple(study.bots), had, study.chunk)),
    )


class _Field(NamedTuple):
    """Who plays."""

    entrants: tuple[Entrant, ...]
    """By name, so that the order in which bots are named does not matter."""
    copies: tuple[str, ...]
    first: str
    """The bot that was named first."""

    @property
    def names(self) -> list[str]:
        return [entrant.name for entrant in self.entrants]


def _field_of(bots: Sequence[str], players: int) -> _Field:
    """Bots as entrants; if they are fewer than the players of a game, with copies of them."""
    field = [entrant.spec for entrant in make_entrants(bots)]
    missing = max(0, players - len(field)) if len(field) > 1 else 0
    named = make_entrants([*field, *islice(cycle(sorted(field)), missing)])
    return _Field(
        tuple(sorted(named, key=lambda entrant: entrant.name)),
        tuple(entrant.name for entrant in named[len(field) :]),
        named[0].name,
    )


def _with_focus(bots: list[str], focus: str | None) -> list[str]:
    """The bots of a tournament: its focus enters, even if it is not listed."""
    if focus is None or focus in [entrant.name for entrant in make_entrants(bots)]:
        return bots
    if len(make_entrants([focus])) > 1:
        raise PickosimError(f"The focus is one bot, and {focus} stands for several.")
    return [focus, *bots]


def _check_stopping(options: TournamentOptions, bots: int, players: int, matchups: int) -> None:
    """Refuse stopping rules that do not fit the field, or each other."""
    if options.sprt is None:
        return
    if matchups > 1:
        raise PickosimError(
            f"A sequential test asks what the first bot wins in one matchup, and {bots} bots in games of "
            f"{players} make {matchups}: name {players} bots, or play --together."
        )
    if options.precision is not None:
        raise PickosimError("A run stops by --sprt or by --precision, not by both.")
    parse_sprt(options.sprt).shares(players)  # refuses what no bot can win


tournament = study_function(TournamentOptions, plan)


@dataclass(frozen=True)
class Tournament(StudyBase):
    """Who plays whom, how long, with which dice. A matchup is a part of the run."""

    kind: ClassVar[str] = "tournament"
    sources: ClassVar[tuple[str, ...]] = ("studies.tournament_sums", "stats.sprt")
    frame_types: ClassVar = FRAMES
    main_frame: ClassVar[str] = MAIN_FRAME

    rules: StoredRules
    given_rules: GivenRules
    entrants: tuple[Entrant, ...]
    matchups: tuple[Matchup, ...]
    possible_matchups: int
    max_matchups: int
    copies: tuple[str, ...]
    """Bots entered a second time, to fill games of more players than there are bots."""
    games: int
    seed: int
    focus: str | None
    points: Points | None
    """By place, if they order the standings; otherwise win shares do."""
    precision: float | None
    sprt: Sprt | None
    tested: str
    """The bot that a sequential test is about: the focus, or the bot named first."""
    save_games: bool
    chunk: int
    earlier: tuple[Earlier, ...] = ()
    """The runs that this one extends, the first of them first."""

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
        """All; without points they have no column for them."""
        return tables_with(self.points)

    @property
    def players(self) -> int:
        """Players per game."""
        return len(self.matchups[0])

    @property
    def title(self) -> str:
        """What is played, in a line."""
        form = (
            "Gauntlet"
            if self.focus
            else "One matchup"
            if len(self.matchups) == 1
            else "Round robin"
        )
        said = f"{form}, {self.players} players, rules {self.rules.name}, seed {self.seed}"
        return said if self.points is None else f"{said}, points {points_text(self.points)}"

    @cached_property
    def looks(self) -> list[int]:
        """Blocks per matchup after which to check whether to stop; the last is the end anyway."""
        blocks = blocks_for(self.games, self.players)
        if self.sprt is not None:
            return list(looks(blocks, FIRST_TEST, TEST_GROWTH))
        return [blocks] if self.precision is None else list(looks(blocks))

    @property
    def bots(self) -> list[str]:
        """The names of all entrants."""
        return [entrant.name for entrant in self.entrants]

    def stage(self, number: int, sums: Sequence[Sums]) -> list[Chunk]:
        """All matchups, up to the next look."""
        if number >= len(self.looks) or (number and self._is_decided(sums)):
            return []
        blocks = range(self.looks[number - 1] if number else 0, self.looks[number])
        return chunks_of_matchups(
            self.matchups,
            self.entrants,
            self.rules,
            self.seed,
            blocks,
            self.chunk,
            self.earlier,
        )

    def _is_decided(self, sums: Sequence[Sums]) -> bool:
        if self.sprt is not None:
            return self._verdict(sums) is not None
        return self.precision is not None and self._widest(sums) <= self.precision

    def _widest(self, sums: Sequence[Sums]) -> float:
        """Half the width of the widest interval of a win share in the standings.

        With points, that of a mean of points, as a share of those between the first place and the last.
        """
        moments = self._moments(self.matchups, sums)
        intervals = [share_interval(groups) for groups in moments.values()]
        return max(high - low for low, high in intervals) / 2

    def _moments(
        self, matchups: Sequence[Matchup], sums: Sequence[Sums]
    ) -> dict[str, list[Moments]]:
        """Of every bot, the moments of what orders the standings, as a share."""
        if self.points is None:
            return win_moments(self.bots, matchups, sums)
        return point_moments(self.bots, matchups, sums, self.points)

    def _verdict(self, sums: Sequence[Sums]) -> str | None:
        assert self.sprt is not None
        return self.sprt.verdict(*self._tested(sums)[:3], self.players)

    def _tested(self, sums: Sequence[Sums]) -> Moments:
        """The moments of the win share that a sequential test is about."""
        (moments,) = win_moments(self.bots, self.matchups, sums)[self.tested]
        return moments

    # ------------------------------------------------------------------------------------------ results

    def frames(self, sums: Sequence[Sums]) -> Frames:
        """All result tables."""
        return tournament_frames(
            self.bots, self.matchups, sums, self.rules.specialists, self.points
        )

    def status(self, sums: Sequence[Sums]) -> str:
        """Who leads, among those who have played."""
        played = [k for k, part in enumerate(sums) if part]
        moments = self._moments([self.matchups[k] for k in played], [sums[k] for k in played])
        shares = {bot: stratified_mean(groups).mean for bot, groups in moments.items()}
        leader = max(shares, key=shares.__getitem__)
        if self.points is None:
            return f"leader {leader} {100 * shares[leader]:.1f} %"
        return f"leader {leader} {in_points(shares[leader], self.points):.2f} points"

    def summary(self, sums: Sequence[Sums], frames: Frames) -> dict[str, Any]:
        """What the tables do not say: how many games, why it stopped, what to keep in mind."""
        games = sum(int(part["blocks"]) for part in sums) * self.players
        found: dict[str, Any] = {
            "games": games,
            "unfinished": sum(int(part["unfinished"]) for part in sums),
            "headline": headline(frames, self._is_fair),
        }
        remarks = list(self._about_schedule())
        if self.precision is not None:
            found["widest_half"] = widest = self._widest(sums)
            remarks.append(self._about_precision(widest, self.precision))
        if self.sprt is not None:
            found["sprt"] = {
                **asdict(self.sprt),
                "llr": self.sprt.llr(*self._tested(sums)[:3], self.players),
                "bounds": list(self.sprt.bounds),
                "verdict": self._verdict(sums),
            }
            remarks.append(self._about_test(found["sprt"], games))
        rated = ratings_of(self.bots, self.matchups, sums)
        remarks += [*about_ratings(rated), *rated.remarks]
        remarks += about_few_blocks(min(frames["standings"]["games"].to_list()) // self.players)
        remarks += about_unfinished(found["unfinished"])
        return found | {"sentences": [], "remarks": remarks}

    @property
    def _is_fair(self) -> bool:
        """Whether all bots have the same opponents."""
        is_round_robin = self.focus is None and self.possible_matchups == len(self.matchups)
        return is_round_robin or len(self.matchups) == 1

    def _about_schedule(self) -> Iterator[str]:
        if self.copies:
            yield (
                f"{len(self.entrants) - len(self.copies)} bots in games of {self.players}: copies take the "
                f"remaining seats ({', '.join(map(quoted, self.copies))})."
            )
        if self.possible_matchups > len(self.matchups):
            yield (
                f"A sample of {len(self.matchups):,} of {self.possible_matchups:,} possible matchups, "
                f"drawn with seed {self.seed}."
            )
        played = blocks_for(self.games, self.players) * self.players
        if played > self.games and self.precision is None and self.sprt is None:
            yield (
                f"{self.games:,} games per matchup are not a whole number of blocks of {self.players}: "
                f"rounded up to {played:,}."
            )

    def _about_precision(self, widest: float, wanted: float) -> str:
        end = (
            "."
            if widest <= wanted
            else f", and not reached within {self.games:,} games per matchup."
        )
        if self.points is not None:
            span = self.points[0] - self.points[-1]
            return (
                f"The widest 95 % interval of mean points is ± {span * widest:.4f}; ± {span * wanted:g} were "
                f"asked for ({100 * wanted:g} % of the {span:g} points between first and last place){end}"
            )
        return (
            f"The widest 95 % interval of a win share is ± {100 * widest:.3f} points; ± {100 * wanted:g} "
            f"were asked for{end}"
        )

    def _about_test(self, test: Mapping[str, Any], games: int) -> str:
        assert self.sprt is not None
        even = 1 / self.players
        first = quoted(self.tested)
        others = [quoted(bot) for bot in self.matchups[0] if bot != self.tested]
        low, high = (f"{100 * (even + off):.4g} %" for off in (self.sprt.low, self.sprt.high))
        said = {
            "H0": f"{first} wins {low} against {listed(others)} rather than {high}",
            "H1": f"{first} wins {high} against {listed(others)} rather than {low}",
            None: f"no decision between {low} and {high} within the cap",
        }[test["verdict"]]
        bounds = " to ".join(f"{bound:.2f}" for bound in self.sprt.bounds)
        return (
            f"Sequential test: {said} (log-likelihood ratio {test['llr']:.2f}, bounds {bounds}, "
            f"{games:,} games)."
        )


STUDY = Tournament
