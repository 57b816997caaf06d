"""Arms and chunks: every block is played once per arm, all arms of a block with the same dice.

An *arm* says who sits where and by which rules. A *job* has some arms, and turns the games of some blocks into sums of
whole numbers; a *chunk* is a job for a range of blocks, the one kind of task that workers play.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from math import ceil
from pathlib import Path
from time import process_time

import numpy as np
import polars as pl

from pickosim.amounts import LANE
from pickosim.bots.command import Command
from pickosim.bots.loading import (
    Entrant,
    bot_parcels,
    check_bot_sources,
    files_at,
    load_bot,
    make_entrants,
    parts_of,
)
from pickosim.bots.simple import SimpleStrategy
from pickosim.engine.rulebook import rulebook
from pickosim.engine.tally import Tally, new_tally
from pickosim.files import Parcel
from pickosim.games.batch import BATCH, play_games
from pickosim.games.judge import judge_of
from pickosim.games.match import Match, Orders, make_match
from pickosim.rules import RuleSet
from pickosim.runs.folder import parquet
from pickosim.runs.tasks import Sums, add
from pickosim.solver.valuation import Valuation
from pickosim.studies.schedule import chunks, lane


@dataclass(frozen=True)
class Arm:
    """One way to play a block: bots, rules, and who sits where.

    Without `rotations` the bots are seated as they are listed; see `pickosim.games.match.Match`.
    """

    bots: tuple[str, ...]
    rules: RuleSet
    rotations: tuple[Orders, ...] = ()
    forfeits: bool = False
    """Whether a bot that fails in a game loses it."""
    luck_by: Entrant | None = None
    """Who judges how lucky every roll is, if anybody does."""

    @property
    def games(self) -> int:
        """Games per block."""
        return max(1, len(self.rotations))

    def match(self, seed: int) -> Match:
        """The match that its games belong to."""
        match = make_match(self.bots, self.rules, seed, self.rotations)
        return replace(match, audited=True, forfeits=self.forfeits)


def play_arm(arm: Arm, seed: int, first: int, blocks: int, *, follow_lead: bool = False) -> Tally:
    """Play blocks `first` to `first + blocks - 1` of an arm, one game per rotation each."""
    return play_games(
        arm.match(seed), first, blocks, follow_lead=follow_lead, judge=valuation_of(arm)
    )


# ------------------------------------------------------------------------------------------------ the judge

JUDGE = "champion"


@cache
def the_judge() -> Entrant:
    """The bot that says how lucky rolls were, wherever luck is taken out of results."""
    return make_entrants([JUDGE])[0]


def valuation_of(arm: Arm) -> Valuation | None:
    """The judge of the games of an arm, if they are judged."""
    return judge_of(arm.luck_by.spec, arm.rules, len(arm.bots)) if arm.luck_by else None


def is_judged(luck: str, bots: Sequence[str], rivals: Sequence[str] | None = None) -> bool:
    """Whether the games of these bots at a table, by their specs, are judged: with `auto`, where that pays.

    It does not depend on results. `rivals` are all other bots, if a single one is of interest.
    """
    if luck != "auto":
        return luck == "on"

    def are(kinds: type | tuple[type, ...], specs: Sequence[str]) -> list[bool]:
        return [isinstance(load_bot(spec), kinds) for spec in specs]

    champions = [parts_of(spec)[0] == JUDGE for spec in bots]
    slow = [*champions, *are((SimpleStrategy, Command), bots)]
    return (
        all(champions)
        or (len(bots) <= 3 and all(are(Valuation, bots)))
        or (len(bots) == 2 and any(slow))
        or (rivals is not None and all(are(Valuation, rivals)))
    )


# --------------------------------------------------------------------------------------------- jobs and chunks


@dataclass(frozen=True)
class Job:
    """What is played per block, and what it adds up to; a block is one game, unless a job says otherwise."""

    entrants: tuple[Entrant, ...]
    """The bots that play, with the digests of their sources."""
    luck_by: Entrant | None = field(default=None, kw_only=True)
    """Who judges how lucky every roll is, if anybody does."""

    @property
    def games(self) -> int:
        """Games per block."""
        return 1

    @property
    def most_blocks(self) -> int:
        """Blocks to play at once at most, so that their results fit into memory; by default all of a chunk."""
        return LANE

    def play(self, seed: int, first: int, blocks: int) -> tuple[Sums, Sequence[Tally]]:
        """Play some blocks: their sums, and the results of the games for jobs whose games can be saved."""
        raise NotImplementedError

    def saved(self, tallies: Sequence[Tally], lane: int, seed: int, first: int) -> pl.DataFrame:
        """The games as rows to keep."""
        raise NotImplementedError


@dataclass(frozen=True)
class ArmsJob(Job):
    """A job whose blocks are played once per arm."""

    @property
    def arms(self) -> Sequence[Arm]:
        """All arms of a block."""
        raise NotImplementedError

    @property
    def in_hand(self) -> int:
        """Games per block whose results are in memory at the same time."""
        raise NotImplementedError

    @property
    def games(self) -> int:
        """One per arm and rotation."""
        return sum(arm.games for arm in self.arms)

    @property
    def most_blocks(self) -> int:
        """As many as have results that fit into PIECE_BYTES."""
        result = max(
            sum(column.nbytes for column in new_tally(rulebook(arm.rules, len(arm.bots)), 1))
            for arm in self.arms
        )
        return max(BATCH, PIECE_BYTES // (result * self.in_hand))


@dataclass(frozen=True)
class Chunk:
    """Some blocks of one part of a study: the one kind of task that workers play."""

    lane: int
    """The lane of its game numbers."""
    job: Job
    seed: int
    blocks: range
    part: int = field(repr=False)  # not what it plays, only what its sums are added to

    @property
    def name(self) -> str:
        """Its lane and blocks."""
        return f"{self.lane:07d}-{self.blocks.start:012d}-{self.blocks.stop:012d}"

    @property
    def games(self) -> int:
        """All games of its blocks."""
        return len(self.blocks) * self.job.games

    def warm_up(self) -> None:
        """Play two blocks, for the kernels that they need."""
        self.job.play(self.seed, lane(self.lane) + self.blocks.start, 2)

    @property
    def parcels(self) -> dict[str, Parcel]:
        """The files of its bots, for workers on other machines."""
        return bot_parcels(self.job.entrants)

    def check(self, places: Mapping[str, Path]) -> None:
        """Compare its bots: a worker may be on another machine, or have started before an edit."""
        with files_at(places):
            check_bot_sources([*self.job.entrants, *filter(None, [self.job.luck_by])])

    def play(self, places: Mapping[str, Path], *, save_games: bool) -> tuple[Sums, bytes]:
        """The sums of its blocks and, if asked for, its games as a Parquet file."""
        sums: Sums = {}
        frames: list[pl.DataFrame] = []
        with files_at(places):
            for piece in chunks(self.blocks.start, self.blocks.stop, self.job.most_blocks):
                first = lane(self.lane) + piece.start
                played, tallies = self.job.play(self.seed, first, len(piece))
                sums = add(sums, {"games": np.array(len(piece) * self.job.games)} | played)
                if save_games:
                    frames.append(self.job.saved(tallies, self.lane, self.seed, first))
        return sums, parquet(pl.concat(frames)) if save_games else b""


def chunks_of(
    part: int, job: Job, seed: int, blocks: range, size: int, lane: int | None = None
) -> Iterator[Chunk]:
    """The chunks of some blocks of a part, of at most that size; by default its lane has the same number."""
    for piece in chunks(blocks.start, blocks.stop, size):
        yield Chunk(part if lane is None else lane, job, seed, piece, part)


# ---------------------------------------------------------------------------------------------- size of chunks

CHUNK_SECONDS = 5.0
"""Aim for the time that a worker needs for a chunk: what a crash costs."""

MOST_CHUNKS = 20_000
"""Chunks per run at most, so that a folder of shards stays manageable."""

SMALLEST_CHUNK, LARGEST_CHUNK = 1 << 9, 1 << 20
"""Blocks per chunk."""

PIECE_BYTES = 1 << 26
"""Memory for the results of games before they are added up. Every piece ends with a few long games."""

NO_PILOT = 50_000
"""Runs of up to this many games are cut without timing their bots first."""

PILOT = (64, 512, 4096)
"""Games of the trials of a bot; a slow one is known after the first."""

PILOT_SECONDS = 0.3


def blocks_per_chunk(
    entrants: Sequence[Entrant],
    rules: RuleSet,
    players: int,
    blocks: int,
    workers: int,
    seed: int,
    *,
    forfeits: bool = False,
) -> int:
    """Blocks per chunk: several for every worker, some seconds each, and not too many files.

    Results do not depend on it, so it may be found with a stopwatch.
    """
    shared = ceil(blocks / (8 * workers))
    if blocks * players <= NO_PILOT:
        return max(SMALLEST_CHUNK, min(shared, 8 * SMALLEST_CHUNK))
    matches = [
        replace(make_match([spec] * players, rules, seed), forfeits=forfeits)
        for spec in one_of_each_kind(entrants)
    ]
    enough = CHUNK_SECONDS / (min(shared, LARGEST_CHUNK) * players)
    slowest = max(seconds_per_game(match, enough) for match in matches)
    in_time = CHUNK_SECONDS / (max(slowest, 1e-9) * players)
    size = max(SMALLEST_CHUNK, min(shared, int(in_time), LARGEST_CHUNK))
    return max(size, ceil(blocks / MOST_CHUNKS))


def seconds_per_game(match: Match, enough: float = 0.0) -> float:
    """How long one more game takes this processor, in a large batch.

    A batch costs something however few its games are. So what counts is how much longer the larger
    trial takes than the one before. Games that take no longer than `enough` in a small trial are not timed further.
    """
    play_games(match, 0, 2)  # compiling and loading do not count
    few, short = 0, 0.0
    for games in PILOT:
        began = process_time()
        play_games(match, 0, games)
        seconds = process_time() - began
        if seconds <= enough * games:
            return seconds / games
        if seconds > PILOT_SECONDS or games == PILOT[-1]:
            break
        few, short = games, seconds
    return max(seconds - short, seconds / 10) / (games - few)


def one_of_each_kind(entrants: Sequence[Entrant]) -> list[str]:
    """One bot of each kind: parameters seldom make one slow."""
    return list({entrant.spec.partition("=")[0]: entrant.spec for entrant in entrants}.values())
