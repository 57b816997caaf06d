"""The tournament: bots at tables, in blocks, until enough is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from io import BytesIO
from itertools import cycle, islice
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from pickosim.bots.digest import engine_digest
from pickosim.bots.entrants import Entrant, check_sources, enter
from pickosim.errors import PickosimError
from pickosim.games.frames import saved_games
from pickosim.games.match import seat
from pickosim.rules import RuleSet
from pickosim.runs.folder import file_digest, write_whole
from pickosim.runs.run import Tables
from pickosim.runs.sums import Sums, add
from pickosim.stats.moments import share_interval, stratified_mean
from pickosim.stats.sprt import Sprt
from pickosim.studies.chunk_size import SMALLEST_CHUNK, chunk_size, pieces
from pickosim.studies.schedule import (
    MOST_TABLES,
    Matchup,
    blocks_for,
    chunks,
    lane,
    looks,
    rotations,
    round_robin,
)
from pickosim.studies.tournament_sums import play_block_sums
from pickosim.studies.tournament_tables import ratings_of, tournament_tables, win_moments


@dataclass(frozen=True)
class TournamentChunk:
    """Some blocks of one matchup."""

    part: int
    table: Matchup
    entrants: tuple[Entrant, ...]
    rules: RuleSet
    seed: int
    blocks: range

    @property
    def name(self) -> str:
        """Its matchup and blocks."""
        return f"{self.part:06d}-{self.blocks.start:012d}-{self.blocks.stop:012d}"

    @property
    def games(self) -> int:
        """One a block and rotation."""
        return len(self.blocks) * len(self.table)

    def play(self, games: Path | None) -> tuple[Sums, str]:
        """The sums of its blocks; with a folder, the games are written there too."""
        # A worker may be on another machine, or have started before an edit.
        check_sources(self.entrants)
        specs = tuple(entrant.spec for entrant in self.entrants)
        seatings = [seat(turned, self.rules, self.seed) for turned in rotations(specs)]
        sums: Sums = {}
        frames: list[pl.DataFrame] = []
        for piece in pieces(self.blocks, [self.rules], len(self.table), len(self.table)):
            first = lane(self.part) + piece.start
            found, tallies = play_block_sums(seatings, first, len(piece))
            sums = add(sums, found)
            if games is not None:
                frames.append(
                    saved_games(rotations(self.table), tallies, self.part, self.seed, first)
                )
        if games is None:
            return sums, ""
        return sums, _write_games(pl.concat(frames), games / f"{self.name}.parquet")


def _write_games(frame: pl.DataFrame, path: Path) -> str:
    """Write a shard of games whole or not at all; its digest."""
    buffer = BytesIO()
    frame.write_parquet(buffer)
    write_whole(path, buffer.getvalue())
    return file_digest(path)


@dataclass(frozen=True)
class Tournament:
    """Who plays whom, how long, with which dice. A matchup is a part of the run."""

    kind: ClassVar[str] = "tournament"

    rules: RuleSet
    entrants: tuple[Entrant, ...]
    matchups: tuple[Matchup, ...]
    games: int
    seed: int = 0
    focus: str | None = None
    possible: int = 0
    precision: float | None = None
    sprt: Sprt | None = None
    save_games: bool = False
    chunk: int = SMALLEST_CHUNK
    copies: tuple[str, ...] = ()
    """Bots entered a second time, to fill a table that is larger than the field."""
    given_rules: Mapping[str, Any] | None = None
    """How the rules were asked for, where that can be read again to see whether they have changed."""

    @classmethod
    def planned(
        cls,
        bots: Sequence[str],
        rules: RuleSet,
        players: int,
        games: int,
        seed: int,
        *,
        focus: str | None = None,
        most_tables: int = MOST_TABLES,
        precision: float | None = None,
        sprt: Sprt | None = None,
        save_games: bool = False,
        workers: int = 1,
        chunk: int | None = None,
        given_rules: Mapping[str, Any] | None = None,
    ) -> Tournament:
        """A tournament that can be played; whatever cannot is refused before the first game."""
        field = [entrant.spec for entrant in enter(bots)]
        missing = max(0, players - len(field)) if len(field) > 1 else 0
        entrants = tuple(enter([*field, *islice(cycle(field), missing)]))
        names = [entrant.name for entrant in entrants]
        seat([entrant.spec for entrant in entrants[:1]] * players, rules, seed)
        matchups, possible = round_robin(names, players, focus=focus, most=most_tables, seed=seed)
        if sprt is not None and (len(names), players) != (2, 2):
            raise PickosimError(
                f"A sequential test is between two bots at a table of two, not between {len(names)} "
                f"bots at {'a table' if len(matchups) == 1 else 'tables'} of {players}."
            )
        if sprt is not None and precision is not None:
            raise PickosimError("A run stops by --sprt or by --precision, not by both.")
        if sprt is not None:
            sprt.shares(players)  # refuses what no bot can win
        blocks = blocks_for(games, players) * len(matchups)
        size = chunk or chunk_size(entrants, rules, players, blocks, workers, seed)
        return cls(
            rules=rules,
            entrants=entrants,
            matchups=tuple(matchups),
            games=games,
            seed=seed,
            focus=focus,
            possible=possible,
            precision=precision,
            sprt=sprt,
            save_games=save_games,
            chunk=size,
            given_rules=given_rules,
            copies=tuple(names[len(field) :]),
        )

    # -------------------------------------------------------------------------- as a file, and back

    @property
    def plan(self) -> dict[str, Any]:
        """All that the result depends on, as JSON."""
        number = {entrant.name: k for k, entrant in enumerate(self.entrants)}
        return {
            "rules": self.rules.as_dict(),
            "given_rules": self.given_rules,
            "seed": self.seed,
            "games": self.games,
            "precision": self.precision,
            "sprt": None if self.sprt is None else asdict(self.sprt),
            "focus": self.focus,
            "strategies": [asdict(entrant) for entrant in self.entrants],
            "matchups": [[number[bot] for bot in matchup] for matchup in self.matchups],
            "possible_matchups": self.possible,
            "save_games": self.save_games,
            "copies": list(self.copies),
            "chunk": self.chunk,
            "engine": engine_digest("studies.tournament"),
        }

    @classmethod
    def from_plan(cls, plan: Mapping[str, Any]) -> Tournament:
        """The tournament of a plan."""
        entrants = tuple(Entrant(**entrant) for entrant in plan["strategies"])
        return cls(
            rules=RuleSet.from_dict(plan["rules"]),
            entrants=entrants,
            matchups=tuple(
                tuple(entrants[k].name for k in matchup) for matchup in plan["matchups"]
            ),
            games=plan["games"],
            seed=plan["seed"],
            focus=plan["focus"],
            possible=plan["possible_matchups"],
            precision=plan["precision"],
            sprt=None if plan["sprt"] is None else Sprt(**plan["sprt"]),
            save_games=plan["save_games"],
            copies=tuple(plan["copies"]),
            chunk=plan["chunk"],
            given_rules=plan["given_rules"],
        )

    # ------------------------------------------------------------------------------------- a run

    @property
    def parts(self) -> int:
        """One a matchup."""
        return len(self.matchups)

    @property
    def players(self) -> int:
        """At every table."""
        return len(self.matchups[0])

    @cached_property
    def looks(self) -> list[int]:
        """Blocks a matchup after which it is asked whether to stop; the last is the end anyway."""
        blocks = blocks_for(self.games, self.players)
        return [blocks] if self.precision is None and self.sprt is None else list(looks(blocks))

    @property
    def bots(self) -> list[str]:
        """The names of all entrants."""
        return [entrant.name for entrant in self.entrants]

    def stage(self, number: int, sums: Sequence[Sums]) -> list[TournamentChunk]:
        """All matchups, up to the next look."""
        if number >= len(self.looks) or (number and self._is_decided(sums)):
            return []
        first = self.looks[number - 1] if number else 0
        by_name = {entrant.name: entrant for entrant in self.entrants}
        return [
            TournamentChunk(
                part=part,
                table=matchup,
                entrants=tuple(by_name[bot] for bot in matchup),
                rules=self.rules,
                seed=self.seed,
                blocks=blocks,
            )
            for part, matchup in enumerate(self.matchups)
            for blocks in chunks(first, self.looks[number], self.chunk)
        ]

    def _is_decided(self, sums: Sequence[Sums]) -> bool:
        if self.sprt is not None:
            return self._verdict(sums) is not None
        return self.precision is not None and self._widest(sums) <= self.precision

    def _widest(self, sums: Sequence[Sums]) -> float:
        """The width of the widest interval of a win share in the standings."""
        moments = win_moments(self.bots, self.matchups, sums)
        intervals = [share_interval(groups) for groups in moments.values()]
        return max(high - low for low, high in intervals)

    def _verdict(self, sums: Sequence[Sums]) -> str | None:
        assert self.sprt is not None
        (moments,) = win_moments(self.bots, self.matchups, sums)[self.bots[0]]
        return self.sprt.verdict(*moments, self.players)

    def tables(self, sums: Sequence[Sums]) -> Tables:
        """All results; see `tournament_tables`."""
        return tournament_tables(self.bots, self.matchups, sums, self.rules.specialists)

    def news(self, sums: Sequence[Sums]) -> str:
        """Who leads, among those who have played."""
        played = [k for k, part in enumerate(sums) if part]
        moments = win_moments(
            self.bots, [self.matchups[k] for k in played], [sums[k] for k in played]
        )
        shares = {bot: stratified_mean(groups).mean for bot, groups in moments.items()}
        leader = max(shares, key=shares.__getitem__)
        return f"leader {leader} {100 * shares[leader]:.1f} %"

    def summary(self, sums: Sequence[Sums], tables: Tables) -> dict[str, Any]:
        """What the tables do not say: how many games, why it stopped, what to keep in mind."""
        blocks = sum(int(part["blocks"]) for part in sums)
        unfinished = sum(int(part["unfinished"]) for part in sums)
        found: dict[str, Any] = {"games": blocks * self.players, "unfinished": unfinished}
        remarks = [*self._about_schedule()]
        if self.precision is not None:
            found["widest_interval"] = width = self._widest(sums)
            reached = width <= self.precision
            remarks.append(
                f"The widest 95 % interval of a win share is {100 * width:.3f} points wide; "
                f"{100 * self.precision:g} were asked for"
                f"{'.' if reached else f', and not reached within {self.games:,} games a matchup.'}"
            )
        if self.sprt is not None:
            (moments,) = win_moments(self.bots, self.matchups, sums)[self.bots[0]]
            verdict = self._verdict(sums)
            found["sprt"] = {
                **asdict(self.sprt),
                "llr": self.sprt.llr(*moments, self.players),
                "bounds": list(self.sprt.bounds),
                "verdict": verdict,
            }
            remarks.append(self._about_test(verdict, found["sprt"], found["games"]))
        remarks += ratings_of(self.bots, self.matchups, sums).remarks
        if unfinished:
            remarks.append(f"{unfinished:,} games were ended by the turn limit.")
        return found | {"remarks": remarks}

    def _about_schedule(self) -> list[str]:
        said = []
        if self.copies:
            said.append(
                f"{len(self.entrants) - len(self.copies)} bots at a table of {self.players}: the seats "
                f"left are taken by copies ({', '.join(self.copies)})."
            )
        if self.possible > len(self.matchups):
            said.append(
                f"A sample of {len(self.matchups):,} of {self.possible:,} possible tables, "
                f"drawn with seed {self.seed}."
            )
        played = blocks_for(self.games, self.players) * self.players
        if played > self.games and self.precision is None and self.sprt is None:
            said.append(
                f"{self.games:,} games a matchup are no whole number of blocks of {self.players}: "
                f"rounded up to {played:,}."
            )
        return said

    def _about_test(self, verdict: str | None, test: Mapping[str, Any], games: int) -> str:
        assert self.sprt is not None
        even = 1 / self.players
        first, second = self.bots
        low, high = (f"{100 * (even + off):g} %" for off in (self.sprt.low, self.sprt.high))
        said = {
            "H0": f"{first} wins {low} against {second} rather than {high}",
            "H1": f"{first} wins {high} against {second} rather than {low}",
            None: f"no decision between {low} and {high} within the cap",
        }[verdict]
        bounds = " to ".join(f"{bound:.2f}" for bound in self.sprt.bounds)
        return (
            f"Sequential test: {said} (log-likelihood ratio {test['llr']:.2f}, bounds {bounds}, "
            f"{games:,} games)."
        )
