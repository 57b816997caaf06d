"""Games of a tournament's run folder, found by their number or by who won them, to be played again."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pickosim.amounts import LANE, split_list
from pickosim.bots.entrants import check_bot_sources
from pickosim.errors import PickosimError, suggest
from pickosim.games.batch import play_games
from pickosim.games.match import Match, make_match
from pickosim.runs.folder import RunFolder
from pickosim.studies.schedule import Matchup, bots_by_seat, by_bot, matchup_lanes, rotations
from pickosim.studies.study import planned_study
from pickosim.studies.tournament import Tournament

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
    lanes = dict(zip(matchup_lanes(study.matchups), study.matchups, strict=True))
    if matchup is not None:
        wanted = sorted(_known(name, study) for name in split_list(matchup))
        lanes = {lane: bots for lane, bots in lanes.items() if sorted(bots) == wanted}
        if not lanes:
            raise PickosimError(f"{folder} has no matchup of {', '.join(wanted)}.")
    blocks = study.looks[-1]
    if lost_by is not None:
        lost = _lost(study, lanes, blocks, _known(lost_by, study), to and _known(to, study))
        found = next(islice(lost, nth - 1, None), None) if nth > 0 else None
        if found is None:
            rival = f" to {to}" if to else ""
            raise PickosimError(f"{folder} has no game number {nth} that {lost_by} lost{rival}.")
        return found
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
    return _seated(_match(study, lanes[number]), game, rotation)


def _known(name: str, study: Tournament) -> str:
    if name not in study.names:
        raise PickosimError(f'The run has no bot "{name}"{suggest(name, study.names) or "."}')
    return name


def _match(study: Tournament, matchup: Matchup) -> Match:
    """The match of a matchup in all its seatings."""
    by_name = {entrant.name: entrant for entrant in study.entrants}
    entrants = [by_name[bot] for bot in matchup]
    check_bot_sources(entrants)
    specs = [entrant.spec for entrant in entrants]
    return make_match(specs, study.rule_set, study.seed, rotations(matchup))


def _seated(match: Match, game: int, rotation: int) -> GameOfRun:
    return GameOfRun(match.seated_for(game, rotation), game, rotation)


def _lost(
    study: Tournament, lanes: dict[int, Matchup], blocks: int, bot: str, rival: Any
) -> Iterator[GameOfRun]:
    """The games that a bot lost, played again to find them."""
    for lane, matchup in lanes.items():
        if bot not in matchup or (rival or bot) not in matchup:
            continue
        match = _match(study, matchup)
        for begin in range(0, blocks, SEARCHED):
            first, number = lane * LANE + begin, min(SEARCHED, blocks - begin)
            seated = bots_by_seat(matchup, first, number)
            tallies = play_games(match, first, number).by_rotation(len(seated))
            ranks = np.stack(
                [by_bot(one.rank, bots) for one, bots in zip(tallies, seated, strict=True)], 1
            )
            lost = ranks[..., matchup.index(bot)] > 1
            if rival is not None:
                lost &= ranks[..., matchup.index(rival)] == 1
            for block, rotation in np.argwhere(lost).tolist():
                yield _seated(match, first + block, rotation)
