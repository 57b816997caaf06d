"""Games played to weigh specialists, with one of them here, there or nowhere, and what they add up to.

Whatever is compared has the same dice: a block is one game number, played under several rules. All seats
are taken by the same bot. Wins are counted in PARTS, so that every sum is of whole numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pickosim.engine.rulebook import RAVEN
from pickosim.engine.tally import Tally
from pickosim.games.batch import Batch
from pickosim.games.frames import win_shares
from pickosim.games.match import Match, seat
from pickosim.rules import SPECIALISTS, RuleSet
from pickosim.runs.sums import Sums
from pickosim.studies.measures import block_values, products
from pickosim.studies.tournament_sums import PARTS

Ints = NDArray[np.int64]

NOBODY = -1
"""Stands for the seat of whoever first took a specialist, if nobody did."""


@dataclass(frozen=True)
class Start:
    """How games begin: by which rules, and which seat, if any, has a bratworm already."""

    rules: RuleSet
    bratworm_to: int | None = None


@dataclass(frozen=True)
class Case:
    """A specialist weighed by whoever takes it first: the rules it is in, and the same without it."""

    specialist: str
    rules: RuleSet

    @property
    def without(self) -> RuleSet:
        """The same rules without it."""
        return nowhere(self.rules, self.specialist)


def nowhere(rules: RuleSet, specialist: str) -> RuleSet:
    """The same rules without a specialist."""
    return rules.with_options({f"specialists.{specialist}": "nowhere"})


def on_tile(rules: RuleSet, specialist: str, tile: int) -> RuleSet:
    """The same rules with a specialist on that tile; one that stood there takes its place."""
    places: dict[str, object] = {str(name): place for name, place in rules.specialists.items()}
    changes: dict[str, object] = {f"specialists.{specialist}": tile}
    for other, place in places.items():
        if other != specialist and place == tile:
            changes[f"specialists.{other}"] = places.get(specialist, "nowhere")
    return rules.with_options(changes)


def starting_with(rules: RuleSet, specialist: str, seat: int) -> Start:
    """The same rules, with a specialist that starts with a seat.

    Nobody ever owns the raven. To start with it is to have had its visit: the seat has the bratworm
    that it brings, if the supply has any, and the raven stands where it goes after that, on the lowest
    tile without a specialist.
    """
    if specialist != SPECIALISTS[RAVEN]:
        return Start(rules.with_options({f"specialists.{specialist}": {"seat": seat}}))
    taken = {place for name, place in rules.specialists.items() if name != specialist}
    free = [tile for tile in rules.tiles if tile not in taken]
    changed = rules.with_options({f"specialists.{specialist}": min(free, default="nowhere")})
    return Start(changed, seat if rules.bratworms else None)


class _Watched(Batch):
    """Games in which somebody may start with a bratworm, and the first takers of specialists are noted."""

    def __init__(
        self,
        match: Match,
        first: int,
        games: int,
        bratworm_to: int | None = None,
        watched: Sequence[int] = (),
    ) -> None:
        super().__init__(match, first, games)
        self.bratworm_to = bratworm_to
        self.watched = watched
        self.takers = np.full((len(watched), games), NOBODY, np.int8)

    def play_turn(self, seat: int, rows: NDArray[np.int32]) -> None:
        if seat == 0 and self.bratworm_to is not None:
            dealt = rows[self.table["turn"][rows] == 1]
            self.table["bratworms"][dealt, self.bratworm_to] += 1
            self.table["supply"][dealt] -= 1
        super().play_turn(seat, rows)
        for specialist, takers in zip(self.watched, self.takers, strict=True):
            # The raven is never gained: whom it pays has used it.
            count = self.table["used" if specialist == RAVEN else "gained"]
            took = rows[count[rows, specialist, seat] > 0]
            games = self.table["game"][took] - self.first
            takers[games[takers[games] == NOBODY]] = seat


def play_start(start: Start, bot: str, players: int, seed: int, first: int, games: int) -> Tally:
    """Play games that begin so, all seats taken by the same bot."""
    match = seat([bot] * players, start.rules, seed)
    return _Watched(match, first, games, start.bratworm_to).play()


def wins_of(tally: Tally) -> Ints:
    """(G, P): wins in PARTS."""
    return np.rint(PARTS * win_shares(tally)).astype(np.int64)


# ------------------------------------------------------------------------------- seen, worth, absence


def worth_values(
    rules: RuleSet, specialist: str, bot: str, players: int, seed: int, first: int, games: int
) -> tuple[Ints, Ints, list[Tally]]:
    """What starting with a specialist brings, block by block: two (B, P) by seat, of wins and worms.

    The seat's wins (in PARTS) and score in the game it starts with it, minus its own in the game with
    the same dice in which nobody has it. With the games: of nobody first, then of each seat.
    """
    starts = [
        Start(nowhere(rules, specialist)),
        *(starting_with(rules, specialist, seat) for seat in range(players)),
    ]
    tallies = [play_start(start, bot, players, seed, first, games) for start in starts]
    wins = [wins_of(tally) for tally in tallies]
    scores = [tally.score.astype(np.int64) for tally in tallies]
    return _own_gain(wins), _own_gain(scores), tallies


def _own_gain(values: Sequence[Ints]) -> Ints:
    """(B, P): each seat's value in its own arm minus that in the first."""
    base, *arms = values
    return np.stack([arm[:, s] - base[:, s] for s, arm in enumerate(arms)], axis=1)


def view_sums(
    rules: RuleSet, specialist: str, bot: str, players: int, seed: int, first: int, games: int
) -> Sums:
    """The sums of some blocks for all three views of a specialist.

    Worth: `gain`, `worms` and their squares (P,), by seat; `gain_total_squared`, `worms_total_squared`
    of a block's totals. Seen: `gained`, `turns_held`, `used`, `held`, `held_wins`, `held_wins_squared`
    (S,), of the game by the rules as they are (`seen` games). Absence: values of games with
    it and without it, their products (V, V), and `crossed`: those of one without with one with it; see
    `game_measures`.
    """
    gain, worms, tallies = worth_values(rules, specialist, bot, players, seed, first, games)
    sums = {
        "blocks": np.array(games, np.int64),
        **seat_sums("gain", gain),
        **seat_sums("worms", worms),
    }
    if specialist in rules.specialists:
        given = play_start(Start(rules), bot, players, seed, first, games)
        table, tiles = [bot] * players, len(rules.tiles)
        present = block_values([given], table, tiles)
        absent = block_values([tallies[0]], table, tiles)
        sums |= {
            "with": present.sum(axis=1),
            "with_products": products(present, present),
            "without": absent.sum(axis=1),
            "without_products": products(absent, absent),
            "crossed": products(absent, present),
            **seen_sums(given),
        }
        tallies = [*tallies, given]
    sums["games"] = np.array(games * len(tallies), np.int64)
    sums["unfinished"] = np.array(sum(int((~t.finished).sum()) for t in tallies), np.int64)
    return sums


def seat_sums(name: str, values: Ints) -> Sums:
    """The sums of values (B, P) by seat, of their squares, and of the squares of a block's totals."""
    return {
        name: values.sum(axis=0),
        f"{name}_squared": (values**2).sum(axis=0),
        f"{name}_total_squared": np.asarray((values.sum(axis=1) ** 2).sum()),
    }


def seen_sums(tally: Tally) -> Sums:
    """By specialist (S,), over all seats: what happened with it, and what a holder at the end won."""
    wins = wins_of(tally)
    held = tally.held_at_end.astype(np.int64)
    held_wins = (held * wins[:, None, :]).sum(axis=2)
    return {
        "seen": np.array(len(wins), np.int64),
        **{
            name: getattr(tally, name).sum(axis=(0, 2), dtype=np.int64)
            for name in ("gained", "turns_held", "used")
        },
        "held": held.sum(axis=(0, 2)),
        "held_wins": held_wins.sum(axis=0),
        "held_wins_squared": (held_wins**2).sum(axis=0),
    }


# ---------------------------------------------------------------------------------------- first takers


def distinct_rules(cases: Sequence[Case]) -> list[RuleSet]:
    """All rules that some cases are played by, each once."""
    return list(dict.fromkeys(rules for case in cases for rules in (case.rules, case.without)))


def taker_values(
    cases: Sequence[Case], bot: str, players: int, seed: int, first: int, games: int
) -> tuple[Ints, NDArray[np.bool_], int]:
    """What specialists bring to whoever takes them first, block by block: two (C, B), and unfinished games.

    The wins (in PARTS) of that seat, minus its own with the same dice in the game without the
    specialist, 0 where nobody takes it; and whether anybody does.
    """
    watched: dict[RuleSet, list[int]] = {rules: [] for rules in distinct_rules(cases)}
    for case in cases:
        watched[case.rules].append(SPECIALISTS.index(case.specialist))
    wins: dict[RuleSet, NDArray[np.int16]] = {}
    takers: dict[tuple[RuleSet, int], NDArray[np.int8]] = {}
    unfinished = 0
    for rules, kinds in watched.items():
        batch = _Watched(seat([bot] * players, rules, seed), first, games, watched=kinds)
        tally = batch.play()
        wins[rules] = wins_of(tally).astype(np.int16)
        takers |= {(rules, k): of for k, of in zip(kinds, batch.takers, strict=True)}
        unfinished += int((~tally.finished).sum())
    gain = np.zeros((len(cases), games), np.int64)
    taken = np.zeros((len(cases), games), np.bool_)
    every = np.arange(games)
    for k, case in enumerate(cases):
        taker = takers[case.rules, SPECIALISTS.index(case.specialist)]
        taken[k] = taker != NOBODY
        seat_of = np.maximum(taker, 0)
        difference = wins[case.rules][every, seat_of] - wins[case.without][every, seat_of]
        gain[k] = np.where(taken[k], difference, 0)
    return gain, taken, unfinished


def taker_sums(
    cases: Sequence[Case], bot: str, players: int, seed: int, first: int, games: int
) -> Sums:
    """By case (C,): the sums of `gain` and `taken`; `gain_products` (C, C): one with another, by block."""
    gain, taken, unfinished = taker_values(cases, bot, players, seed, first, games)
    return {
        "blocks": np.array(games, np.int64),
        "games": np.array(games * len(distinct_rules(cases)), np.int64),
        "unfinished": np.array(unfinished, np.int64),
        "gain": gain.sum(axis=1),
        "gain_products": gain @ gain.T,
        "taken": taken.sum(axis=1),
    }


def number_sums(
    variants: Sequence[RuleSet],
    specialist: str,
    bot: str,
    players: int,
    seed: int,
    first: int,
    games: int,
) -> Sums:
    """By variant of a number (N,): what starting with a specialist brings, and whether anybody takes it.

    `gain` is of a block's total over seats (in PARTS), `gain_products` (N, N) are of one variant's with
    another's, `taken` counts games by the variant in which somebody takes it.
    """
    gains, taken = [], []
    unfinished = 0
    for rules in variants:
        gain, _, tallies = worth_values(rules, specialist, bot, players, seed, first, games)
        watched = [SPECIALISTS.index(specialist)] if specialist in rules.specialists else []
        batch = _Watched(seat([bot] * players, rules, seed), first, games, watched=watched)
        tallies = [*tallies, batch.play()]
        gains.append(gain.sum(axis=1))
        taken.append((batch.takers != NOBODY).sum())
        unfinished += sum(int((~tally.finished).sum()) for tally in tallies)
    by_block = np.stack(gains)
    return {
        "blocks": np.array(games, np.int64),
        "games": np.array(games * len(variants) * (players + 2), np.int64),
        "unfinished": np.array(unfinished, np.int64),
        "gain": by_block.sum(axis=1),
        "gain_products": by_block @ by_block.T,
        "taken": np.array(taken, np.int64),
    }
