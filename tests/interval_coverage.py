"""How often 95 % intervals cover the truth, measured over pools of games: the table of docs/statistics.md.

Run it as `make coverage`. A pool is many blocks of a matchup, played once. Runs of some blocks are
drawn from it, each gets its intervals by the functions that make those of result tables, and the truth is the mean of
the pool.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pickosim import load_rules
from pickosim.engine.tally import LUCK_ONE, PARTS, win_parts
from pickosim.games.pickups import branch_pickups
from pickosim.rules import SPECIALISTS
from pickosim.stats.intervals import (
    FITTED_FROM,
    Control,
    Moments,
    Rate,
    RatioMoments,
    count_rate,
    less_control,
    mean_rate,
    ratio_control,
    ratio_moments,
    share_rate,
)
from pickosim.stats.ratings import rate
from pickosim.studies.arms import JUDGE, Arm, play_arm, the_judge, valuation_of
from pickosim.studies.matchup_sums import GROUPS, count_choices
from pickosim.studies.schedule import bots_by_seat, by_bot, looks, rotations

BLOCKS = (10, 20, 50, 100, 400)
RUNS = 4_000
RATED_RUNS = 2_000
"""Ratings take longer."""
PRECISIONS = (0.1, 0.05, 0.02)

TWO, FOUR = 20_000, 12_000
"""Blocks of a pool, by players."""

MATCHUPS = {
    "two, close": (("eager", "threshold:target=23"), "classic"),
    "two, uneven": (("expected", "eager"), "classic"),
    "two, lopsided": (("eager", "random"), "classic"),
    "four, close": (("eager", "threshold:target=23", "cautious", "thief"), "classic"),
    "four, uneven": (("expected", "eager", "threshold", "random"), "extrawurm"),
    "four, lopsided": (("eager", "random", "random", "random"), "classic"),
}

JUDGED = {
    "two, champions": (("champion", "expected"), "classic"),
    "two, half judged well": (("champion", "eager"), "extrawurm"),
    "two, nearly all won": (("champion", "random"), "classic"),
    "three, good": (("champion", "expected", "winner"), "classic"),
}
"""Matchups whose luck is taken out."""
JUDGED_BLOCKS = 8_000

PICK_UPS = (("eager", 2, 12_000), ("champion", 4, 3_000))
"""Levels of a balance: the bot, players, and games; those of champion are judged."""


class Pool(NamedTuple):
    """A matchup of P bots, block by block."""

    bots: np.ndarray
    """(R, B, P): the number of the bot in each seat."""
    wins: np.ndarray
    """(R, B, P): by seat, like ranks and scores."""
    ranks: np.ndarray
    scores: np.ndarray

    @property
    def players(self) -> int:
        return len(self.wins)

    def of_bot(self, values: np.ndarray, bot: int) -> np.ndarray:
        """(B,): the mean of a bot over the games of each block."""
        return np.where(self.bots == bot, values, 0).sum(axis=(0, 2)) / self.players

    def ahead(self, bot: int, rival: int) -> np.ndarray:
        """(B,): the share of a block's games in which a bot finishes ahead of another, ties counted half."""
        own, other = (
            np.where(self.bots == one, self.ranks, 0).sum(axis=2).astype(int)
            for one in (bot, rival)
        )
        return ((np.sign(other - own) + 1) / 2).mean(axis=0)

    def in_first_seat(self, bot: int) -> np.ndarray:
        """(B,): what a bot wins in the one game of a block that it begins."""
        return np.where(self.bots[:, :, 0] == bot, self.wins[:, :, 0], 0).sum(axis=0)


@cache
def pool(name: str) -> Pool:
    """A pool by its name."""
    bots, rules = MATCHUPS[name]
    blocks = TWO if len(bots) == 2 else FOUR
    names = tuple(f"{number} {bot}" for number, bot in enumerate(bots))
    arm = Arm(bots, load_rules(rules), rotations=rotations(names))
    tallies = play_arm(arm, 11, 0, blocks).by_rotation(len(bots))
    return Pool(
        bots_by_seat(names, 0, blocks),
        np.stack([win_parts(tally.rank) for tally in tallies]) / PARTS,
        np.stack([tally.rank for tally in tallies]),
        np.stack([tally.score for tally in tallies]).astype(np.float64),
    )


class Figure(NamedTuple):
    """A figure of result tables: its values by block, what a game counts in them, and its interval."""

    what: str
    values: np.ndarray
    step: float
    interval: Callable[[list[Moments]], Rate]


class Judged(NamedTuple):
    """A share of blocks, and the luck in it."""

    what: str
    values: np.ndarray
    luck: np.ndarray
    step: float

    @property
    def truth(self) -> float:
        """Of the pool: less its luck, whose mean is 0 in the pool as well then."""
        return float(self.values.mean())

    def covered(self, blocks: int, rng: np.random.Generator) -> float:
        """The share of runs of so many blocks whose interval has the truth in it."""
        chosen = rng.integers(0, len(self.values), (RUNS, blocks))
        values, luck = self.values[chosen], self.luck[chosen]
        sums = (values, values**2, luck, luck**2, luck * values)
        count = 0
        for total, squares, *of_luck in zip(*(of.sum(axis=1) for of in sums), strict=True):
            own = Moments(blocks, float(total), float(squares), self.step)
            _, low, high = share_rate([less_control(own, Control(*map(float, of_luck)))])
            count += low <= self.truth <= high
        return count / RUNS


def judged(name: str) -> Judged:
    """The win share of the first bot of a matchup."""
    bots, rules = JUDGED[name]
    arm = Arm(bots, load_rules(rules), rotations(bots), luck_by=the_judge())
    tallies = play_arm(arm, 12, 0, JUDGED_BLOCKS).by_rotation(len(bots))
    who = bots_by_seat(bots, 0, JUDGED_BLOCKS)
    won = np.stack([win_parts(tally.rank) for tally in tallies]) / PARTS
    luck = np.stack([tally.luck for tally in tallies]) / LUCK_ONE
    of_bot = [np.where(who == 0, of, 0).sum(axis=(0, 2)) / len(bots) for of in (won, luck)]
    return Judged("win share without luck", of_bot[0], of_bot[1] - of_bot[1].mean(), 1 / len(bots))


def figures(name: str) -> Iterator[Figure]:
    """Those of a matchup, of its first bot and of its last, and of its seats."""
    of = pool(name)
    last, step = of.players - 1, 1 / of.players
    for bot in (0, last):
        yield Figure(f"win share, bot {bot + 1}", of.of_bot(of.wins, bot), step, share_rate)
        rank = (of.of_bot(of.ranks.astype(float), bot) - 1) / last
        yield Figure(f"rank, bot {bot + 1}", rank, step, share_rate)
        yield Figure(f"score, bot {bot + 1}", of.of_bot(of.scores, bot), step, count_rate)
        apart = of.of_bot(of.scores, bot) - of.of_bot(of.scores, last - bot)
        yield Figure(f"score difference, bot {bot + 1}", apart, step, mean_rate)
    yield Figure("pair: ahead", of.ahead(0, last), step, share_rate)
    yield Figure("first seat, all bots", of.wins[:, :, 0].mean(axis=0), step, share_rate)
    yield Figure("last seat, all bots", of.wins[:, :, last].mean(axis=0), step, share_rate)
    yield Figure("bot 1 in the first seat", of.in_first_seat(0), 1.0, share_rate)


def covered(figure: Figure, blocks: int, rng: np.random.Generator) -> float:
    """The share of runs of so many blocks whose interval has the truth in it."""
    values, truth, count = figure.values, figure.values.mean(), 0
    drawn = values[rng.integers(0, len(values), (RUNS, blocks))]
    for total, squares in zip(drawn.sum(axis=1), (drawn**2).sum(axis=1), strict=True):
        _, low, high = figure.interval([Moments(blocks, float(total), float(squares), figure.step)])
        count += low - 1e-12 <= truth <= high + 1e-12
    return count / RUNS


def covered_when_precise(figure: Figure, half: float, rng: np.random.Generator) -> float:
    """The same for runs that stop at a precision, at the looks of a tournament."""
    values, truth, count = figure.values, figure.values.mean(), 0
    points = list(looks(20_000))
    for _ in range(RUNS // 2):
        done, total, squares = 0, 0.0, 0.0
        for look in points:
            more = values[rng.integers(0, len(values), look - done)]
            done, total, squares = look, total + more.sum(), squares + (more**2).sum()
            _, low, high = figure.interval([Moments(done, total, squares, figure.step)])
            if high - low <= 2 * half:
                break
        count += low <= truth <= high
    return count / (RUNS // 2)


def ratings_covered(name: str, blocks: int, rng: np.random.Generator) -> tuple[float, float]:
    """Coverage of the rating of the first bot and of its difference from that of the last.

    A rating without an error, of a bot that never won or never lost, bounds nothing: it counts as covered.
    """
    ranks, who = pool(name).ranks, pool(name).bots
    players, size = len(ranks), ranks.shape[1]
    choices = np.zeros((size, 1 << players, players), np.int64)
    for rank, seated in zip(ranks, who, strict=True):
        count_choices(by_bot(rank, seated), 0, choices)
    bots, seats, last = "abcd"[:players], tuple(range(players)), players - 1
    truth = rate(bots, [(seats, choices.sum(axis=0, keepdims=True))]).ratings["rating"].to_list()
    own = apart = 0
    for _ in range(RATED_RUNS):
        drawn = choices[rng.integers(0, size, blocks)]
        groups = np.zeros((min(blocks, GROUPS), *drawn.shape[1:]), np.int64)
        np.add.at(groups, np.arange(blocks) % GROUPS, drawn)
        found = rate(bots, [(seats, groups)], game=PARTS)
        rating, error = found.ratings.select("rating", "rating_error").row(0)
        own += error is None or abs(rating - truth[0]) <= error
        _, low, high = found.difference(0, last)
        apart += low is None or low <= truth[0] - truth[last] <= high
    return own / RATED_RUNS, apart / RATED_RUNS


def pick_ups_covered(bot: str, players: int, games: int, rng: np.random.Generator) -> Iterator[Row]:
    """What a pick-up of each specialist is worth, and without luck."""
    rules = load_rules("extrawurm")
    arm = Arm((bot,) * players, rules, luck_by=the_judge() if bot == JUDGE else None)
    everything = np.ones(len(SPECIALISTS), np.bool_)
    played = branch_pickups(arm.match(13), 0, games, everything, "gone", valuation_of(arm))
    game, seat = played.pickups["entry"], played.pickups["seat"]
    brought = win_parts(played.tally.rank)[game, seat].astype(float)
    brought -= win_parts(played.branches.rank)[np.arange(len(game)), seat]
    for specialist in rules.specialists:
        chosen = played.pickups["specialist"] == SPECIALISTS.index(specialist)
        of_games = (
            np.bincount(game[chosen], of, games)
            for of in (None, brought[chosen] / PARTS, played.luck[chosen] / LUCK_ONE)
        )
        values = np.stack(list(of_games))
        values[2] -= values[2].mean()
        truth = values[1].sum() / values[0].sum()
        for less_luck in (False, True) if arm.luck_by else (False,):
            found = {}
            for blocks in BLOCKS[2 * less_luck :]:
                count = 0
                for _ in range(RUNS // 2):
                    drawn = values[:, rng.integers(0, games, blocks)]
                    _, low, high = _worth(drawn.sum(axis=1), drawn @ drawn.T, blocks, less_luck)
                    count += low <= truth <= high
                found[str(blocks)] = 2 * count / RUNS
            luck = " without luck" if less_luck else ""
            yield Row(f"{players} × {bot}, extrawurm", f"pick-up{luck}: {specialist}", truth, found)


def _worth(
    totals: np.ndarray, products: np.ndarray, blocks: int, less_luck: bool
) -> tuple[float, float, float]:
    """What a pick-up is worth, and its interval, from number, wins and luck; anything if there is none."""
    if not totals[0]:
        return 0.0, -1.0, 1.0
    of = RatioMoments.of(blocks, totals[:2], products[:2, :2], 1)
    moments = ratio_moments([of])
    if less_luck:
        by_number, by_wins, squares = products[2]
        luck = ratio_control(of, Control(totals[2], squares, by_wins), by_number)
        moments = less_control(moments, luck)
    return mean_rate([moments])


class Row(NamedTuple):
    """A line of the table: coverage by number of blocks, or by precision."""

    pool: str
    what: str
    truth: float
    shares: dict[str, float]


def measured() -> Iterator[Row]:
    """All lines of the table."""
    rng = np.random.default_rng(5)
    named = [(name, figure) for name in MATCHUPS for figure in figures(name)]
    for name, figure in named:
        found = {str(blocks): covered(figure, blocks, rng) for blocks in BLOCKS}
        if figure.what.startswith("win share"):
            for half in PRECISIONS:
                found[f"± {half:.0%}"] = covered_when_precise(figure, half, rng)
        yield Row(name, figure.what, float(figure.values.mean()), found)
    for name in JUDGED:
        of = judged(name)
        found = {str(blocks): of.covered(blocks, rng) for blocks in BLOCKS if blocks >= FITTED_FROM}
        yield Row(name, of.what, of.truth, found)
    for level in PICK_UPS:
        yield from pick_ups_covered(*level, rng)
    for name in MATCHUPS:
        pairs = {str(blocks): ratings_covered(name, blocks, rng) for blocks in BLOCKS}
        for number, what in enumerate(("rating, bot 1", "rating difference")):
            yield Row(name, what, np.nan, {key: pair[number] for key, pair in pairs.items()})


def table(rows: list[Row]) -> str:
    """The rows as Markdown, in per cent."""
    columns = [*map(str, BLOCKS), *(f"± {half:.0%}" for half in PRECISIONS)]
    lines = [
        f"| pool | figure | truth | {' | '.join(columns)} |",
        f"|---|---|---:|{'---:|' * len(columns)}",
    ]
    for row in rows:
        cells = [f"{100 * row.shares[key]:.1f}" if key in row.shares else "" for key in columns]
        truth = "" if np.isnan(row.truth) else f"{row.truth:.4g}"
        lines.append(f"| {row.pool} | {row.what} | {truth} | {' | '.join(cells)} |")
    return "\n".join(lines)


BEGIN, END = "<!-- coverage -->\n", "\n<!-- end of coverage -->"


def write(page: Path) -> None:
    """Measure, and put the table into the page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(before + BEGIN + table(list(measured())) + END + after, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
