"""Play whole batches of games, from the first turn to the last.

All games of a batch are at the same seat's turn. A game that ends frees its row of the table, and new
games start in the free rows as soon as it is their first player's turn, so that a batch stays full
although games differ in length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pickosim.bots.loading import load_bot
from pickosim.bots.strategy import own_methods
from pickosim.bots.view import METHODS, Turn
from pickosim.engine.claim import (
    choices_after,
    claims_now,
    highest_of,
    settle_chosen,
    settle_without_choice,
)
from pickosim.engine.dice import rolls
from pickosim.engine.log import Log, emptied, new_log, with_room
from pickosim.engine.rulebook import NOTHING
from pickosim.engine.table import TABLE, Table, deal, first_fault
from pickosim.engine.tally import Tally, end_turns, follow_leads, new_tally, place_last, record
from pickosim.engine.turn import (
    HAND,
    Hands,
    begin,
    drop_busts,
    drop_stopped,
    reroll,
    rob,
    roll_all,
    set_aside,
    take_golden_die,
)
from pickosim.errors import StrategyError, TimeLimitError
from pickosim.games.ask import ask, ask_for_plan, faces_of, failing, illegal_answer, is_stepwise
from pickosim.games.judge import Judge, Verdict
from pickosim.games.match import Match, make_match, order_of
from pickosim.rules import RuleSet
from pickosim.solver.rolling import play_out
from pickosim.solver.solve import AT_ONCE
from pickosim.solver.valuation import Carry, TurnPlan, Valuation, plans_whole_turns

BATCH = 16384
"""Games played in parallel, per rotation: enough to make the fixed cost of a step small, few enough for the cache."""


STAND_IN = "eager"
"""The bot that plays on in the seat of one that forfeits, from the decision on in which it failed."""

TRIAL = 10
"""Games with itself that a bot plays when it first fails; one that fails in most of them ends the run at once."""


def play_games(
    match: Match,
    first: int,
    games: int,
    *,
    batch: int = BATCH,
    follow_lead: bool = False,
    judge: Valuation | None = None,
    on_over: Callable[[int], object] | None = None,
) -> Tally:
    """Play games `first` to `first + games - 1` of a match, in all its rotations.

    `follow_lead` counts lead changes, a `judge` luck; `on_over` is called with the number of games that have just ended.
    """
    playing = Batch(match, first, games, batch=batch, follow_lead=follow_lead, judge=judge)
    playing.on_over = on_over
    return playing.play()


def warm_up() -> None:
    """Play a few games for every kernel of the engine, which is compiled then, or loaded from the disk cache."""
    for rules in ("manual", "extrawurm"):
        match = make_match(["eager", "thief", "random", "gambler"], rules)
        play_games(match, 0, 32, follow_lead=True)


def play_on(
    match: Match, start: Table, *, after_turn: bool = False, judge: Valuation | None = None
) -> Tally:
    """Play games on from tables (N,) at the beginning of a turn, or just `after_turn`; results in their order."""
    return Batch(match, 0, len(start), start=start, after_turn=after_turn, judge=judge).play()


class Batch:
    """Games played in parallel, and their buffers.

    Games are dealt, or with `start` (N,) played on from there: each from the beginning of its turn, or with
    `after_turn` from its end on, which may be the end of the game. Their results are in that order.

    With a log that has room, every event is recorded. With `check`, a test after every turn makes sure
    that everything is in exactly one place; with `follow_lead`, lead changes are counted. `on_answer`
    is called with the turn after every answer. `on_plan` is called with the turn before its dice are
    rolled and with the plan of a valuation, which says what the turn is worth to it: `plan.worth()`.

    A `judge` says how lucky every turn was, and with `on_verdict` what its decisions gave away: that is called with the
    turn that was played and what the judge says of it.
    """

    def __init__(
        self,
        match: Match,
        first: int,
        games: int,
        *,
        batch: int = BATCH,
        start: Table | None = None,
        after_turn: bool = False,
        log: Log | None = None,
        check: bool = False,
        follow_lead: bool = False,
        on_answer: Callable[[Turn], None] | None = None,
        on_plan: Callable[[Turn, TurnPlan], None] | None = None,
        judge: Valuation | None = None,
        on_verdict: Callable[[Turn, Verdict], None] | None = None,
    ) -> None:
        self.orders = np.array(match.rotations, np.int64)
        """(R, F, P): the number of the bot in each seat, by rotation and order; empty without any."""
        rotations = max(1, len(self.orders))
        self.total = games * rotations
        size = max(1, min(batch, games)) * rotations
        self.match = match
        self.books = match.books
        self.players = len(match.strategies)
        self.values = self.books["values"][0, : self.books["tiles"][0]]
        self.first = first
        self.games = games
        self.judge: Judge | None = None
        if judge is not None:
            self.judge = Judge(judge, match, self.total, errors=on_verdict is not None)
        self.on_verdict = on_verdict
        self.keeps_log = log is not None
        self.log = new_log(room=judge is not None) if log is None else log
        self.check = check
        self.follow_lead = follow_lead
        self.on_answer = on_answer
        self.on_over: Callable[[int], object] | None = None
        self.on_plan = on_plan
        self.whole_turns = [plans_whole_turns(bot) for bot in match.strategies]
        self.rolls = rolls(match.rules.dice + 1)
        self.table: Table = np.zeros(size, TABLE)
        self.hands: Hands = np.zeros(size, HAND)
        self.tally = new_tally(self.books, self.total)
        self.keep_old = bool(self.books["keep_old"][0])
        self.keep_chosen = not (self.keep_old or self.books["keep_new"][0])
        self.asked = np.zeros(size, np.int32)
        self.claimable = np.zeros(size, np.bool_)
        self.bot = 0
        """Number in the match of the bot on turn."""
        self.notes: dict[str, Any] = {}
        # Skip questions left to the defaults unless a listener is set.
        self.asks = [own_methods(bot) if on_answer is None else METHODS for bot in match.strategies]
        self.dealt = 0
        """Games that have begun, if they are dealt."""
        self.start = None if start is None else start.copy()
        self.waiting = [] if self.start is None else self._sorted(self.start, after_turn)
        """Games to play on that have not begun, by the seat on turn."""
        self.has_forfeits = False

    @property
    def bytes_per_game(self) -> float:
        """Memory per running game: its rows of the table, the hands and the buffers."""
        index = 4 * self.asked.itemsize  # asked, rows, rolling, free
        buffers = index + self.claimable.itemsize
        return float(self.table.itemsize + self.hands.itemsize + buffers)

    def _sorted(self, start: Table, after_turn: bool) -> list[NDArray[np.int32]]:
        """The games to be played on, by the seat on turn; those that are over are recorded."""
        start["entry"] = np.arange(len(start))
        start["rotation"] = 0
        going = np.arange(len(start), dtype=np.int32)
        if after_turn:
            over = np.zeros_like(going)
            self.log = with_room(self.log, len(start))
            left = end_turns(self.books, start, going, over)
            self._record(start, over[: len(going) - left])
            going = going[:left]
        seats = (start["turn"][going].astype(np.int64) - 1) % self.players
        return [going[seats == seat] for seat in range(self.players)]

    def _enter(self, seat: int, free: NDArray[np.int32]) -> int:
        """Put games whose first player is `seat` into the last of the free rows; returns how many."""
        if self.start is not None:
            waiting = self.waiting[seat]
            new = min(len(free), len(waiting))
            self.table[free[len(free) - new :]] = self.start[waiting[:new]]
            self.waiting[seat] = waiting[new:]
            return new
        new = 0 if seat else min(len(free), self.total - self.dealt)
        if new:
            taken, seed = free[len(free) - new :], np.uint64(self.match.seed)
            deal(self.books, self.table, taken, self.dealt, self.first, self.games, seed)
            self.dealt += new
        return new

    @property
    def _is_waiting(self) -> bool:
        """Whether any game has not begun."""
        if self.start is None:
            return self.dealt < self.total
        return any(len(waiting) for waiting in self.waiting)

    def play(self) -> Tally:
        """Play all games to the end."""
        size = len(self.asked)
        rows, free = np.zeros(size, np.int32), np.arange(size, dtype=np.int32)
        running, freed = 0, size
        while running or self._is_waiting:
            for seat in range(self.players):
                new = self._enter(seat, free[:freed])
                if new:
                    rows[running : running + new] = free[freed - new : freed]
                    running, freed = running + new, freed - new
                    rows[:running].sort()
                if running == 0:
                    continue
                if self.keeps_log:
                    self.log = with_room(self.log, running)
                self.play_turn(seat, rows[:running])
                if self.follow_lead:
                    follow_leads(self.books, self.table, rows[:running])
                left = end_turns(self.books, self.table, rows[:running], free[freed:])
                over = free[freed : freed + running - left]
                if len(over):
                    self._record(self.table, over)
                    if self.on_over is not None:
                        self.on_over(len(over))
                running, freed = left, freed + len(over)
        if self.has_forfeits:
            place_last(self.tally)
        return self.tally

    def _record(self, table: Table, over: NDArray[np.int32]) -> None:
        """Write the results of games that are over to the tally."""
        record(self.books, table, over, self.tally, self.log if self.keeps_log else new_log())
        if self.judge is not None:
            self.judge.end(self.tally, table["entry"][over])

    def play_turn(self, seat: int, rows: NDArray[np.int32]) -> None:
        """Play one turn of the player at `seat`, in all games of `rows`, bot by bot."""
        for bot, some in self._by_bot(seat, rows):
            self.bot = bot
            in_parts = self.judge is not None or isinstance(self.match.strategies[bot], Valuation)
            most = AT_ONCE if in_parts else len(some)
            whole = self.whole_turns[bot] and self.on_answer is None
            for first in range(0, len(some), most):
                self._play_bots_turn(seat, some[first : first + most], whole)
        if self.check:
            fault = first_fault(self.books, self.table, rows)
            assert fault < 0, self.match.replay_command(
                int(self.table["game"][fault]), int(self.table["rotation"][fault])
            )

    def _by_bot(
        self, seat: int, rows: NDArray[np.int32]
    ) -> Iterator[tuple[int, NDArray[np.int32]]]:
        """The rows in which a seat belongs to each bot."""
        if not len(self.orders):
            yield seat, rows
            return
        order = order_of(self.table["game"][rows], self.orders.shape[1])
        bots = self.orders[self.table["rotation"][rows], order, seat]
        for bot in range(self.players):
            some = rows[bots == bot]
            if len(some):
                yield bot, some

    def _play_bots_turn(self, seat: int, rows: NDArray[np.int32], whole: bool) -> None:
        """Play one turn of the bot on turn, as a `whole` if it has a plan, and have it judged."""
        if whole and self.has_forfeits and (out := self._out(seat, rows)).any():
            self._play_bots_turn(seat, rows[out], False)
            rows = rows[~out]
            if len(rows) == 0:
                return
        self.notes = {}
        golden = begin(self.books, self.table, self.hands, seat, rows, self.asked)
        turn, plan = self._turn("pick", seat, rows), None
        stepwise = whole and is_stepwise(self.match, turn)
        # Whether a bot fails, and how lucky it is, must not depend on which turns are audited.
        if whole and not (stepwise and self.judge is None and not self.match.forfeits):
            try:
                plan = ask_for_plan(self.match, turn, self._carry(turn))
            except StrategyError as error:
                self._check_forfeit(turn, error)
                self._forfeit(turn, error, failing(turn, partial(ask_for_plan, self.match)))
                self._play_bots_turn(seat, rows, whole)
                return
        followed = None if stepwise else plan
        if self.judge is None:
            self._play_on(turn, followed, golden)
            return
        if not self.keeps_log:
            self.log = emptied(with_room(self.log, AT_ONCE))
        outlook = self.judge.expect(turn, self.log, plan)
        self._play_on(turn, followed, golden)
        if self.on_verdict is None:
            self.judge.add_luck(outlook, self.log)
        else:
            self.on_verdict(turn, self.judge.judge(outlook, self.log))

    def _carry(self, turn: Turn) -> Carry | None:
        """What is carried along the plan of the bot on turn."""
        return None if self.judge is None else self.judge.carry(turn)

    def _play_on(self, turn: Turn, plan: TurnPlan | None, golden: int) -> None:
        """Play a turn that has begun by its plan, or else question by question."""
        if plan is None:
            self._play_by_questions(turn.seat, turn._rows, golden)
        else:
            self._play_out(turn, plan, golden)

    def _play_by_questions(self, seat: int, rows: NDArray[np.int32], golden: int) -> None:
        """Play a turn question by question; `golden` is the number of games with the golden die."""
        if golden:
            asked = self.asked[:golden]
            use = np.ones(golden, np.bool_)
            if "use_golden_die" in self.asks[self.bot]:
                use = self._ask("use_golden_die", seat, asked)
            take_golden_die(self.table, self.hands, seat, asked, use)
        self._roll(seat, rows.copy())
        self._settle(seat, rows)

    def _play_out(self, turn: Turn, plan: TurnPlan, golden: int) -> None:
        """Play a turn as a whole."""
        seat, rows = turn.seat, turn._rows
        if golden:
            take_golden_die(self.table, self.hands, seat, rows, plan.golden)
        if self.on_plan is not None:
            self.on_plan(turn, plan)
        for part in plan.plans:
            all_games = len(part.games) == len(rows)
            values = plan.values if all_games else plan.values.only(part.games)
            play_out(
                self.books,
                self.rolls,
                self.table,
                self.hands,
                seat,
                rows[part.games],
                part.graph,
                part.solutions,
                values.claim,
                values.keeps_new,
                self.log,
            )

    def _roll(self, seat: int, rolling: NDArray[np.int32]) -> None:
        """Roll and set aside until the turn has ended in every game."""
        books, rolls, table, hands, log = self.books, self.rolls, self.table, self.hands, self.log
        rerolls = "reroll" in self.asks[self.bot]
        while True:
            left, weasels = roll_all(
                books, rolls, table, hands, seat, rolling, rerolls, self.asked, log
            )
            rolling = rolling[:left]
            if weasels:
                asked = self.asked[:weasels]
                reroll(
                    books, rolls, table, hands, seat, asked, self._ask("reroll", seat, asked), log
                )
                rolling = rolling[: drop_busts(hands, rolling)]
            if len(rolling) == 0:
                return
            left, robbers = self._pick(seat, rolling)
            if robbers:
                asked = self.asked[:robbers]
                rob(books, table, seat, asked, self._ask_whom_to_rob(seat, asked), log)
            rolling = rolling[:left]
            if len(rolling) == 0:
                return
            stops = self._answers(
                self._turn("stop", seat, rolling)._with_can_claim(self.claimable[: len(rolling)])
            )
            rolling = rolling[: drop_stopped(rolling, stops)]
            if len(rolling) == 0:
                return

    def _pick(self, seat: int, rolling: NDArray[np.int32]) -> tuple[int, int]:
        """Set a face aside; returns how many games roll on, and in how many the player robs a rival."""
        turn = self._turn("pick", seat, rolling)
        answers = self._answers(turn)
        faces, asking = faces_of(answers), "rob" in self.asks[self.bot]
        done = left = robbers = 0
        while True:
            more, asked, illegal_place = set_aside(
                self.books,
                self.rolls,
                self.table,
                self.hands,
                seat,
                rolling[done:],
                faces[done:],
                self.claimable[left:],
                asking,
                self.asked[robbers:],
                self.log,
            )
            if done:
                rolling[left : left + more] = rolling[done : done + more]
            left, robbers = left + more, robbers + asked
            if illegal_place < 0:
                return left, robbers
            done += illegal_place
            error = illegal_answer(self.match, turn, "pick", answers, done)
            self._check_forfeit(turn, error)
            self._forfeit(turn, error, np.array([done]))
            faces = faces.copy()
            faces[done] = self._stand_in(turn, np.array([done]))[0]

    def _settle(self, seat: int, rows: NDArray[np.int32]) -> None:
        """Claim or fail, after asking for all choices that the player has."""
        books, table, hands = self.books, self.table, self.hands
        chooses_tile, chooses_specialist, chooses_victim = (
            method in self.asks[self.bot] for method in ("claim", "keep_new_specialist", "rob")
        )
        unsettled = settle_without_choice(
            books,
            table,
            hands,
            seat,
            rows,
            chooses_tile,
            chooses_specialist,
            chooses_victim,
            self.asked,
            self.log,
        )
        if not unsettled:
            return
        rows = self.asked[:unsettled]
        options = claims_now(books, hands, rows)
        tiles = highest_of(options)
        asked = options & (options - 1) != 0
        if chooses_tile and asked.any():
            chosen = self._ask("claim", seat, rows[asked])
            tiles[asked] = np.searchsorted(self.values, chosen)
        keep_new = np.full(len(rows), not self.keep_old)
        robbed = np.full(len(rows), NOTHING)
        second, robs = choices_after(books, table, seat, rows, tiles)
        if chooses_specialist and self.keep_chosen and second.any():
            keep_new[second] = self._ask("keep_new_specialist", seat, rows[second], tiles[second])
        if chooses_victim and robs.any():
            robbed[robs] = self._ask_whom_to_rob(seat, rows[robs], tiles[robs])
        settle_chosen(books, table, hands, seat, rows, tiles, keep_new, robbed, self.log)

    def _ask(
        self,
        method: str,
        seat: int,
        rows: NDArray[np.int32],
        claimed: NDArray[np.int64] | None = None,
    ) -> NDArray[Any]:
        return self._answers(self._turn(method, seat, rows, claimed))

    def _turn(
        self,
        method: str,
        seat: int,
        rows: NDArray[np.int32],
        claimed: NDArray[np.int64] | None = None,
    ) -> Turn:
        """What the player sees when asked."""
        return Turn(
            self.match.rules,
            self.books,
            self.table,
            self.hands,
            seat,
            rows,
            method,
            self.notes,
            claimed,
            self.bot,
        )

    def _answers(self, turn: Turn) -> NDArray[Any]:
        answers = self._legal_answers(turn)
        if self.on_answer is not None:
            self.on_answer(turn)
        return answers

    def _legal_answers(self, turn: Turn) -> NDArray[Any]:
        """The answers of the bot on turn; where it has forfeited, those of the one that plays on."""
        if self.has_forfeits and (out := self._out(turn.seat, turn._rows)).any():
            instead = self._stand_in(turn, np.flatnonzero(out))
            answers: NDArray[Any] = np.empty(
                len(turn), np.bool_ if instead.dtype == np.bool_ else np.int64
            )
            answers[out] = instead
            if not out.all():
                answers[~out] = self._legal_answers(turn._only(np.flatnonzero(~out)))
            return answers
        try:
            return ask(self.match, turn, turn.question)
        except StrategyError as error:
            self._check_forfeit(turn, error)
            places = failing(turn, partial(ask, self.match, method=turn.question))
            self._forfeit(turn, error, places)
        return self._legal_answers(turn)

    def _out(self, seat: int, rows: NDArray[np.int32]) -> NDArray[np.bool_]:
        """(n,): whether the bot in a seat has forfeited the game."""
        out: NDArray[np.bool_] = self.tally.forfeits[self.table["entry"][rows], seat]
        return out

    def _stand_in(self, turn: Turn, places: NDArray[np.int64]) -> NDArray[Any]:
        """What the bot that plays on for others answers in some games of a turn."""
        answers: NDArray[Any] = getattr(load_bot(STAND_IN), turn.question)(turn._only(places))
        return answers

    def _check_forfeit(self, turn: Turn, error: StrategyError) -> None:
        """Raise the error of a bot, unless it only loses the games in which it fails."""
        is_late = isinstance(error, TimeLimitError)
        if not self.match.forfeits or is_late or _mostly_fails(self.match, turn._bot):
            raise error

    def _forfeit(self, turn: Turn, error: StrategyError, places: NDArray[np.int64]) -> None:
        """Let the bot on turn lose some games; without any, there is nothing but to raise the error."""
        if not len(places):
            raise error
        self.tally.forfeits[self.table["entry"][turn._rows[places]], turn.seat] = True
        self.has_forfeits = True

    def _ask_whom_to_rob(
        self, seat: int, rows: NDArray[np.int32], claimed: NDArray[np.int64] | None = None
    ) -> NDArray[np.int64]:
        """Seats of the rivals to rob; strategies count players from their own seat."""
        chosen = self._ask("rob", seat, rows, claimed)
        return (chosen + seat) % self.players


_tried: dict[tuple[RuleSet, str, int], bool] = {}
"""Whether bots fail in most games of their trial, by rules, spec and players."""


def _mostly_fails(match: Match, bot: int) -> bool:
    """Whether a bot that has failed does so in most games: then there is no need to find that out game by game.

    It is tried in the same games wherever it fails, so that a run ends, or not, with any workers.
    """
    spec, players = match.specs[bot], len(match.specs)
    tried = (match.rules, spec, players)
    if tried not in _tried:
        alone = replace(
            match,
            specs=(spec,) * players,
            strategies=(match.strategies[bot],) * players,
            seed=0,
            rotations=(),
            audited=False,
            forfeits=False,
        )
        _tried[tried] = 2 * sum(_fails(alone, game) for game in range(TRIAL)) > TRIAL
    return _tried[tried]


def _fails(match: Match, game: int) -> bool:
    """Whether a bot fails in a game."""
    try:
        play_games(match, game, 1)
    except TimeLimitError:
        raise
    except StrategyError:
        return True
    return False
