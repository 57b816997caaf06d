"""What bots do in the same positions: one turn each, with the same dice. See experiments/winner_or_collector.md.

    python tools/winner_or_collector.py RULES GAMES SEED

Positions are those before all turns of games of two champions. Each bot plays that one turn; then the champion's net says the
chance to win. Intervals are 95 %, over games.
"""

import sys
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pickosim.bots.loading import load_bot
from pickosim.engine.results import positions_of
from pickosim.engine.rulebook import APPLE, CANNED_WORM, SEATS
from pickosim.engine.table import Table
from pickosim.games.batch import Batch
from pickosim.games.match import Match, make_match
from pickosim.games.positions import take_positions
from pickosim.learning.weights import Adapted, adapted

BOTS = ("champion", "winner", "expected")
AT_ONCE = 10_000
Numbers = NDArray[np.float64]


def one_turn(match: Match, net: Adapted, before: Table) -> tuple[Table, Numbers]:
    """The tables (n,) after the turn, and the chance to win of the player whose turn it was."""
    after, chance = before.copy(), np.empty(len(before))
    for seat in (0, 1):
        own = np.flatnonzero((before["turn"] - 1) % 2 == seat)
        for rows in np.split(own, range(AT_ONCE, len(own), AT_ONCE)):
            every = np.arange(len(rows), dtype=np.int32)
            batch = Batch(match, 0, len(rows), batch=len(rows))
            batch.table[:] = before[rows]
            batch.play_turn(seat, every)
            after[rows] = batch.table
            chance[rows] = net.win_chances(positions_of(match.books, batch.table, every), seat)
    return after, chance


def mean(values: Numbers, games: NDArray[np.int64]) -> str:
    """The mean over some turns, of which the games are given, with its interval."""
    off = np.bincount(games, values - values.mean())
    return f"{values.mean():7.2f} ± {1.96 * np.sqrt(off @ off) / len(values):.2f}"


def per_game(values: Numbers, games: NDArray[np.int64], number: int) -> str:
    """The mean sum of a game, with its interval."""
    sums = np.bincount(games, values, number)
    return f"{sums.mean():7.2f} ± {1.96 * sums.std() / np.sqrt(number):.2f}"


def report(rules: str, number: int, seed: int) -> Iterator[str]:
    """The findings, line by line."""
    matches = {bot: make_match([bot] * 2, rules, seed) for bot in BOTS}
    match = matches["champion"]
    net = adapted(load_bot("champion").weights_for(match.rules, 2), match.rules, 2)  # type: ignore[attr-defined]
    before, book = take_positions(match, 0, number, None).table, match.books[0]
    every, me = np.arange(len(before)), (before["turn"].astype(np.int64) - 1) % 2
    score = before["worms"].astype(np.int64) + before["bratworms"]
    score += int(book["apple_worms"]) * (before["holds"] == APPLE)
    lead, left = score[every, me] - score[every, 1 - me], np.bitwise_count(before["grill"])
    none = before["tiles"][every, me] == 0
    played = {bot: one_turn(match, net, before) for bot, match in matches.items()}
    kinds = {
        "all": every >= 0,
        "one tile left, behind": (left == 1) & (lead < 0),
        "one tile left, ahead": (left == 1) & (lead > 0),
        "two tiles left, 1 to 3 worms behind": (left == 2) & (lead >= -3) & (lead < 0),
        "no tile of its own, 4 or more left": none & (left >= 4),
    }
    if book["specialists"]:
        on_grill = before["place"][:, CANNED_WORM] < SEATS
        kinds["first turn of each, canned worm on the grill"] = on_grill & (before["turn"] <= 2)
    small = sum(1 << tile for tile, worms in enumerate(book["worms"]) if worms == 1)
    for kind, turns in kinds.items():
        yield f"{kind}: {turns.sum():,} turns"
        games = before["game"][turns]
        for bot, (after, chance) in played.items():
            taken = before["grill"] & ~after["grill"] & ~after["flipped"]
            gained = after["worms"][every, me].astype(np.float64) - before["worms"][every, me]
            can = after["holds"][every, me] == CANNED_WORM
            shown = {
                "takes from the grill, %": 100.0 * (taken > 0),
                "a tile of one worm, %": 100.0 * ((taken & small) > 0),
                "the canned worm, %": 100.0 * can,
                "worms": gained,
            }
            if "canned" not in kind:
                del shown["the canned worm, %"]
            words = [f"{label} {mean(value[turns], games)}" for label, value in shown.items()]
            loss = 100 * (played["champion"][1] - chance)[turns]
            words.append(f"loses points per game {per_game(loss, games, number)}")
            yield f"  {bot:8}  {'; '.join(words)}"


if __name__ == "__main__":
    rules, games, seed = sys.argv[1], *map(int, sys.argv[2:])
    sys.stdout.writelines(f"{line}\n" for line in report(rules, games, seed))
