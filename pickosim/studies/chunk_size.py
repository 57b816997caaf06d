"""The size of chunks: large enough for the engine, small enough that little is lost in a crash.

Results do not depend on it, and it stands in a run's plan; so it may be found with a stopwatch. A worker plays
a chunk in pieces, as large as its memory should be: every piece ends with a few long games.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil
from time import process_time

from pickosim.bots.entrants import Entrant
from pickosim.engine.rulebook import rulebook
from pickosim.engine.tally import new_tally
from pickosim.games.batch import BATCH, play_games
from pickosim.games.match import Match, seat
from pickosim.rules import RuleSet
from pickosim.studies.schedule import chunks

CHUNK_SECONDS = 5.0
"""Aim for the time that a worker needs for a chunk: what a crash costs, and what a file is worth."""

MOST_CHUNKS = 20_000
"""Chunks of a run at most, so that a folder of shards stays handy."""

SMALLEST_CHUNK, LARGEST_CHUNK = 1 << 9, 1 << 20
"""Blocks of a chunk."""

PIECE_BYTES = 1 << 26
"""Memory for the results of games in hand, before they are added up."""

NO_PILOT = 50_000
"""Up to so many games nobody minds how a run is cut, and its bots are not timed before."""

PILOT = (64, 512, 4096)
"""Games of the trials of a bot; a slow one is known after the first."""

PILOT_SECONDS = 0.3


def chunk_size(
    entrants: Sequence[Entrant], rules: RuleSet, players: int, blocks: int, workers: int, seed: int
) -> int:
    """Blocks of a chunk: some for every worker, some seconds each, and not too many files."""
    shared = ceil(blocks / (8 * workers))
    if blocks * players <= NO_PILOT:
        return max(SMALLEST_CHUNK, min(shared, 8 * SMALLEST_CHUNK))
    matches = [seat([spec] * players, rules, seed) for spec in _kinds(entrants)]
    in_time = CHUNK_SECONDS / (max(map(seconds_a_game, matches)) * players)
    size = max(SMALLEST_CHUNK, min(shared, int(in_time), LARGEST_CHUNK))
    return max(size, ceil(blocks / MOST_CHUNKS))


def pieces(
    blocks: range, all_rules: Sequence[RuleSet], players: int, games: int
) -> Iterator[range]:
    """Blocks in pieces whose results fit into PIECE_BYTES; so many games a block are in hand at once."""
    result = max(
        sum(column.nbytes for column in new_tally(rulebook(rules, players), 1))
        for rules in all_rules
    )
    size = max(BATCH, PIECE_BYTES // (result * games))
    return chunks(blocks.start, blocks.stop, size)


def seconds_a_game(match: Match) -> float:
    """How long a game more takes this processor, in a large batch.

    A batch costs something however few its games are. So what counts is how much longer the larger
    trial takes than the one before.
    """
    play_games(match, 0, 2)  # whatever is compiled, loaded or made up at first does not count
    few, short = 0, 0.0
    for games in PILOT:
        began = process_time()
        play_games(match, 0, games)
        seconds = process_time() - began
        if seconds > PILOT_SECONDS or games == PILOT[-1]:
            break
        few, short = games, seconds
    return max(seconds - short, seconds / 10) / (games - few)


def _kinds(entrants: Sequence[Entrant]) -> list[str]:
    """One bot of each kind: parameters seldom make one slow."""
    return list({entrant.spec.partition("=")[0]: entrant.spec for entrant in entrants}.values())
