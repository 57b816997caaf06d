"""The analysis: what a bot's decisions give away, by the champion's judgement of games against it.

Every decision of the bot is compared with the best one (see `pickosim.games.judge`). What it gives away in a game is added
up by kind of mistake, and once more by the situation it was in; each adds up to all that is given away. Errors are
computed over blocks: games with the same dice, in which the bot begins once and the rival once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass as plain_dataclass
from shlex import quote
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic.dataclasses import dataclass

from pickosim.amounts import LANE, listed, plus_minus, quoted
from pickosim.bots.loading import Entrant, make_entrants
from pickosim.bots.view import Turn
from pickosim.columns import Frame, Row, frames_by_name
from pickosim.engine.dice import FACES, rolls
from pickosim.engine.tally import LUCK_ONE, PARTS, Tally, win_parts
from pickosim.games.batch import Batch
from pickosim.games.judge import (
    MISTAKE,
    MISTAKES,
    ROLLS_ON,
    WRONG_NUMBER,
    Verdict,
    judge_of,
    option_words,
)
from pickosim.rules import MOST_TILES, face_name
from pickosim.runs.tasks import Sums
from pickosim.stats.intervals import Moments, Rate, mean_rate, share_rate
from pickosim.studies.arms import Arm, Chunk, Job, chunks_of
from pickosim.studies.measures import rate_columns
from pickosim.studies.options import (
    CHECKED,
    Count,
    OneBot,
    OneRuleSet,
    Option,
    Players,
    Seed,
    written,
)
from pickosim.studies.schedule import rotations
from pickosim.studies.study import Frames, OneRuleSetStudy, stored, study_function
from pickosim.studies.views import Dots, Listed, View

SMALL = len(MISTAKES)
"""The group of decisions that give away too little to be called mistakes."""

MOST_DICE = 16
"""Dice of a roll; no rules have more."""

CHUNK = 500
"""Blocks at a time."""

SHOWN = 20
"""Rows of the table of costly decisions."""

NAMED = 3
"""Costly decisions that are named with their command."""

FRAMES = frames_by_name(
    Frame(
        "mistakes",
        "One row per kind of mistake, in all of the bot's decisions; the last row is their sum.",
        "mistake per_game points_each points±",
    ),
    Frame(
        "situations",
        "One row per number of tiles on the grill before the turn, and per number of dice that are left: where the points "
        "go. With three and more players also one per rival: who gains them, if the judge knows every player's chance. The "
        "rows of each group add up to all.",
        "by group per_game points_each points±",
        {
            "by": "What decisions are told apart by, or `who gains`.",
            "per_game": "Decisions per game between several options; null for who gains.",
            "points_each": "What a decision gives away on average, in points of win chance; null for who gains.",
        },
    ),
    Frame(
        "decisions",
        "One row per costly decision: the costliest of all games, one at most of those with the same dice.",
        "cost mistake chosen better position turn game rotation command",
    ),
)

VIEWS = (
    View(
        FRAMES["mistakes"],
        "What mistakes cost",
        chart=Dots("points", "mistake", "win chance given away per game, in points", at=0),
        is_open=True,
        leads=True,
        text=(Listed(),),
    ),
    View(
        FRAMES["situations"],
        "Where the points go",
        chart=Dots(
            "points", "group", "win chance given away per game, in points", panel="by", at=0
        ),
        text=(Listed("Where the points go"),),
    ),
    View(
        FRAMES["decisions"],
        "The costliest decisions",
        text=(
            Listed(
                "The costliest decisions",
                lambda results: results.decisions.select("cost", "chosen", "better", "position"),
            ),
        ),
    ),
)


@plain_dataclass(frozen=True)
class DecisionsJob(Job):
    """Games of a bot, all of whose decisions are judged."""

    arm: Arm
    judge: str

    @property
    def games(self) -> int:
        """One per seat of the bot."""
        return self.arm.games

    def play(self, seed: int, first: int, blocks: int) -> tuple[Sums, list[Tally]]:
        """See `_Reader`."""
        match = self.arm.match(seed)
        reader = _Reader(blocks)
        judge = judge_of(self.judge, self.arm.rules, len(self.arm.bots))
        batch = Batch(match, first, blocks, judge=judge, on_verdict=reader.read)
        return reader.sums(batch, batch.play(), first % LANE), []


class _Reader:
    """Adds up what the decisions of a match's first bot give away, block by block."""

    def __init__(self, blocks: int) -> None:
        self.blocks = blocks
        self.lost = {
            "kinds": np.zeros((blocks, SMALL + 1)),
            "tiles": np.zeros((blocks, MOST_TILES + 1)),
            "dice": np.zeros((blocks, MOST_DICE + 1)),
        }
        self.number = {name: np.zeros(lost.shape[1], np.int64) for name, lost in self.lost.items()}
        self.costliest = np.zeros((blocks, 12), np.int64)
        """What each block gave away, and what it was about."""

    def read(self, turn: Turn, verdict: Verdict) -> None:
        """Add up a turn."""
        if turn._bot:
            return
        found, before = verdict.decisions, verdict.table[verdict.decisions["game"]]
        error, block = found["error"], before["entry"] % self.blocks
        groups = {
            "kinds": np.where(error >= MISTAKE, found["kind"], SMALL),
            "tiles": np.bitwise_count(before["grill"]),
            "dice": found["dice"],
        }
        for name, group in groups.items():
            np.add.at(self.lost[name], (block, group), error)
            self.number[name] += np.bincount(group, minlength=len(self.number[name]))
        costly = np.flatnonzero(error * LUCK_ONE >= 1 + self.costliest[block, 0])
        costly = costly[np.argsort(error[costly], kind="stable")]
        some, then = found[costly], before[costly]
        self.costliest[block[costly]] = np.column_stack(
            [
                (error[costly] * LUCK_ONE).astype(np.int64),
                then["entry"] // self.blocks,
                then["turn"],
                *(some[name] for name in ("kind", "chosen", "best", "roll", "aside", "points")),
                then["grill"],
                then["top"][:, turn.seat],
                then["top"][:, (turn.seat + 1) % turn.players],
            ]
        )

    def sums(self, batch: Batch, tally: Tally, first: int) -> Sums:
        """The sums over blocks: of values, of their squares."""
        orders, judge = batch.orders, batch.judge
        assert judge is not None
        rotation = np.arange(batch.total) // self.blocks
        game = batch.first + np.arange(batch.total) % self.blocks
        seats = np.argmin(orders[rotation, game % LANE % orders.shape[1]], axis=1)
        every = np.arange(batch.total)
        won = win_parts(tally.rank)[every, seats] / PARTS
        own, lost = judge.error[every, seats], judge.error[every, :, seats].sum(axis=1)
        rivals = (seats[:, None] + np.arange(1, batch.players)) % batch.players
        known = batch.players > 2 and judge.knows_rivals
        values = {
            "won": won[:, None],
            "luck": judge.luck[every, seats, None],
            "drift": judge.drift[every, seats, None],
            "rivals": (own[every, seats] - lost)[:, None],
            "gains": -np.take_along_axis(own, rivals if known else rivals[:, :0], axis=1),
        }
        by_block = {
            name: value.reshape(len(orders), self.blocks, value.shape[1]).mean(axis=0)
            for name, value in values.items()
        }
        games = len(orders)
        by_block |= {name: lost / games for name, lost in self.lost.items()}
        by_block["error"] = by_block["kinds"].sum(axis=1, keepdims=True)
        costliest = np.zeros((first + self.blocks, self.costliest.shape[1]), np.int64)
        costliest[first:] = self.costliest
        return {
            **{name: _squared(value) for name, value in by_block.items()},
            **{f"number_{name}": number for name, number in self.number.items()},
            "blocks": np.array(self.blocks, np.int64),
            "games": np.array(batch.total, np.int64),
            "unfinished": np.array((~tally.finished).sum(), np.int64),
            "costliest": costliest,
        }


def _squared(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """(2, V): the sums over blocks of values (B, V), each rounded, and of their squares."""
    both = np.stack([values, values**2]) * LUCK_ONE
    sums: NDArray[np.int64] = np.rint(both).astype(np.int64).sum(axis=1)
    return sums


def _moments(sums: Sums, name: str, group: int = 0) -> Moments:
    total, squares = (sums[name][:, group] / LUCK_ONE).tolist()
    return Moments(float(sums["blocks"]), total, squares, 1 / LUCK_ONE)


def _rate(sums: Sums, name: str, group: int = 0) -> Rate:
    return mean_rate([_moments(sums, name, group)])


@dataclass(frozen=True, config=CHECKED)
class Analyse(OneRuleSetStudy):
    """Find out what a bot's mistakes cost.

    It plays against the champion, which judges every decision: what the best option is worth less the chosen one, in
    points of win chance. All decisions are of one kind each, so the kinds add up.
    Tables: mistakes, situations, decisions.
    """

    kind: ClassVar[str] = "analyse"
    sources: ClassVar[tuple[str, ...]] = ("studies.analyse",)
    frame_types: ClassVar = FRAMES
    views: ClassVar = VIEWS
    examples: ClassVar[tuple[str, ...]] = (
        "pickosim analyse my_bot.py",
        "pickosim analyse thief --against winner --rules extrawurm --games 10k",
    )

    bot: Annotated[
        OneBot,
        Option("The bot whose mistakes are counted.", "my_bot.py", metavar="BOT", positional=True),
    ]
    against: Annotated[OneBot, Option("The bot at the other seats.", "winner", metavar="BOT")] = (
        written("champion")
    )
    judge: Annotated[
        OneBot,
        Option("The bot that judges; it says what positions are worth.", "winner", metavar="BOT"),
    ] = written("champion")
    rules: OneRuleSet = written("classic")
    players: Players = 2
    games: Annotated[Count, Option("Games, e.g. 10k.", "10k", metavar="NUMBER")] = written("4k")
    seed: Seed = 0

    @stored
    def entrants(self) -> tuple[Entrant, ...]:
        """The bot, the others, the judge."""
        return tuple(make_entrants([*dict.fromkeys([self.bot, self.against, self.judge])]))

    @property
    def arm(self) -> Arm:
        """Who sits where."""
        bots = (self.bot, *[self.against] * (self.players - 1))
        seats = rotations(("bot", *["rival"] * (self.players - 1)))
        return Arm(bots, self.rule_set, seats)

    def check(self) -> None:
        """Refuse what cannot be played."""
        self.arm.match(self.seed)
        judge_of(self.judge, self.rule_set, self.players)

    @property
    def title(self) -> str:
        """What is played, in a line."""
        return self.titled(f"Analysis of {self.bot} against {self.against}, judged by {self.judge}")

    def stage(self, number: int, sums: Sequence[Sums]) -> list[Chunk]:
        """All games at once."""
        job = DecisionsJob(self.entrants, self.arm, self.judge)
        blocks = max(1, self.games // job.games)
        size = self.chunk or CHUNK
        return list(chunks_of(0, job, self.seed, range(0 if number else blocks), size))

    def rows(self, sums: Sequence[Sums]) -> dict[str, Iterable[Row]]:
        """The rows of all tables."""
        (of_all,) = sums
        return {
            "mistakes": _mistake_rows(of_all),
            "situations": _situation_rows(of_all),
            "decisions": self._decision_rows(of_all),
        }

    def _decision_rows(self, sums: Sums) -> Iterator[Row]:
        costliest, match = sums["costliest"], self.arm.match(self.seed)
        tiles = sorted(self.rule_set.tiles)
        order = np.argsort(-costliest[:, 0], kind="stable")[:SHOWN]
        for game in order[costliest[order, 0] >= MISTAKE * LUCK_ONE].tolist():
            error, rotation, turn, kind, chosen, best, *about = costliest[game].tolist()
            command = match.replay_command(game, rotation)
            yield {
                "cost": error / LUCK_ONE,
                "mistake": MISTAKES[kind],
                "chosen": option_words(kind, chosen, tiles),
                "better": option_words(kind, best, tiles),
                "position": self._position_words(tiles, kind, *about),
                "turn": turn,
                "game": game,
                "rotation": rotation,
                "command": f"{command} --judge {quote(self.judge)}",
            }

    def _position_words(
        self,
        tiles: list[int],
        kind: int,
        roll: int,
        aside: int,
        points: int,
        grill: int,
        own: int,
        rival: int,
    ) -> str:
        """A position in a line."""
        parts = []
        if aside:
            kept = [face_name(face) for face in range(1, FACES + 1) if aside >> (face - 1) & 1]
            parts.append(f"aside {' '.join(kept)} = {points}")
        if kind <= WRONG_NUMBER:
            counts = rolls(self.rule_set.dice + 1)[roll]["counts"].tolist()
            dice = [face_name(face) for face in range(1, FACES + 1) for _ in range(counts[face])]
            parts.append(f"rolled {' '.join(dice)}")
        left = [tile for k, tile in enumerate(tiles) if grill >> k & 1]
        parts.append(f"grill {' '.join(map(str, left))}")
        for who, top in (("own", own), ("rival", rival)):
            if top < len(tiles):
                parts.append(f"{who} {tiles[top]}")
        return ", ".join(parts)

    def status(self, sums: Sequence[Sums]) -> str:
        """What is given away, so far."""
        return f"{_with_error(_rate(sums[0], 'error'))} points per game"

    def findings(self, sums: Sequence[Sums], frames: Frames) -> dict[str, Any]:
        """What is given away in all, and most of it where."""
        sentences = list(_costly_sentences(frames["decisions"].to_dicts()))
        return {"headline": self._headline(sums[0]), "sentences": sentences}

    def _headline(self, sums: Sums) -> str:
        game = float(sums["blocks"] / sums["games"])
        wins = _with_error(share_rate([_moments(sums, "won")._replace(step=game)]))
        lost = _with_error(_rate(sums, "error"))
        by_kind = sums["kinds"][0].tolist()
        picks = sum(by_kind[: WRONG_NUMBER + 1])
        stops = sum(by_kind[WRONG_NUMBER + 1 : ROLLS_ON + 1])
        where = ""
        if max(picks, stops) > 0:
            words = ("picks a face", "stops") if picks > stops else ("stops or rolls on", "picks")
            where = f" Most is lost when it {words[0]}, not when it {words[1]}."
        return (
            f"{quoted(self.bot)} gives away {lost} points of win chance per game against {quoted(self.against)}, and wins "
            f"{wins} % there.{where}"
        )

    def remarks(self, sums: Sequence[Sums], frames: Frames) -> Iterator[str]:
        """What a mistake is, and what wins are made of."""
        (of_all,) = sums
        yield (
            f"A decision counts as a mistake from {100 * MISTAKE:g} points on. Points are of win chance: 1 point more per "
            "game is 1 % more of the games won."
        )
        gains = [
            f"the rival who {_place(k)} ({_with_error(_rate(of_all, 'gains', k))})"
            for k in range(of_all["gains"].shape[1])
        ]
        if gains:
            yield f"What it gives away goes to {listed(gains)}."
        of_rivals = of_all["rivals"][0, 0] / LUCK_ONE / int(of_all["blocks"])
        rivals = "the rival" if self.players == 2 else "rivals"
        gained = f" + errors of {rivals} ({100 * of_rivals:.1f})" if of_rivals > MISTAKE else ""
        yield (
            f"How wins add up, in %: {100 / self.players:.3g} + luck of the dice ({_with_error(_rate(of_all, 'luck'), '+')}) - errors{gained} + "
            f"inconsistency ({_with_error(_rate(of_all, 'drift'), '+')}), by which the judge's chances change between turns."
        )


def _with_error(rate: Rate, sign: str = "") -> str:
    """A share in points with half its interval."""
    assert rate.value is not None
    return plus_minus(100 * rate.value, 100 * rate.half, sign)


def _mistake_rows(sums: Sums) -> Iterator[Row]:
    games = int(sums["games"])
    names = [*MISTAKES, "smaller mistakes"]
    for kind, name in enumerate(names):
        number = int(sums["number_kinds"][kind])
        if number:
            yield _row(sums, "kinds", kind, number, games) | {"mistake": name}
    number = int(sums["number_kinds"].sum())
    yield _row(sums, "error", 0, number, games) | {"mistake": "in all"}


def _situation_rows(sums: Sums) -> Iterator[Row]:
    games = int(sums["games"])
    for by, name, word in (("tiles left", "tiles", "tile"), ("dice left", "dice", "die")):
        for group in np.flatnonzero(sums[f"number_{name}"])[::-1].tolist():
            number = int(sums[f"number_{name}"][group])
            row = _row(sums, name, group, number, games)
            plural = word if group == 1 else {"die": "dice"}.get(word, f"{word}s")
            yield row | {"by": by, "group": f"{group} {plural}"}
    for rival in range(sums["gains"].shape[1]):
        gain = rate_columns("points", _rate(sums, "gains", rival))
        empty = {"per_game": None, "points_each": None}
        yield {"by": "who gains", "group": _place(rival), **empty, **gain}


def _place(rival: int) -> str:
    """When a rival moves, by its number from the bot on."""
    return f"moves in {rival + 1} turns" if rival else "moves next"


def _row(sums: Sums, name: str, group: int, number: int, games: int) -> Row:
    rate = _rate(sums, name, group)
    assert rate.value is not None
    return {
        "per_game": number / games,
        "points_each": rate.value * games / number,
        **rate_columns("points", rate),
    }


def _costly_sentences(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows[:NAMED]:
        yield (
            f"{100 * row['cost']:.1f} points lost in turn {row['turn']}: {row['chosen']} rather than {row['better']} "
            f"({row['position']}): `{row['command']}`"
        )


analyse = study_function(Analyse)
