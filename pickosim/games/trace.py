"""The trace of a game: every event as an object, made from the engine's log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pickosim.bots.loading import BotLike
from pickosim.bots.view import Turn
from pickosim.engine import log
from pickosim.engine.dice import FACES, rolls
from pickosim.engine.rulebook import APPLE, NOTHING, SEATS
from pickosim.engine.table import Table, is_seat
from pickosim.engine.tally import Tally
from pickosim.errors import PickosimError, StrategyError
from pickosim.games.ask import bot_of, explanation
from pickosim.games.batch import Batch
from pickosim.games.judge import MISTAKE, MISTAKES, Verdict, option_words
from pickosim.games.match import Match, check_numbers
from pickosim.rules import SPECIALISTS, face_name
from pickosim.solver.valuation import Valuation

if TYPE_CHECKING:
    from pickosim.games.positions import Positions

Event = dict[str, Any]


def traced_game(
    match: Match, game: int, *, why: bool = False, judge: Valuation | None = None
) -> tuple[list[Event], StrategyError | None]:
    """The trace of one game; if a strategy makes an error, the events before it, and the error.

    With `why`, each turn begins with an event `line`, its position in one line, and the explanation that a strategy
    gives for an answer precedes the result, as an event `why` with the `question` and its `options`: pairs of words
    and values, the best first; `win_chances` says whether values are chances to win. With a `judge`, each turn ends
    with an event `verdict`: the chance to win `before` it, `luck` and `error` of the player, how many `decisions` it
    made, and its `mistakes`.
    """
    check_numbers(game)
    return _traced(match, game, None, why=why, judge=judge)


def _traced(
    match: Match, game: int, start: Table | None, *, why: bool, judge: Valuation | None
) -> tuple[list[Event], StrategyError | None]:
    """The trace of one game, dealt or played on from a position; see `traced_game`."""
    if why:
        # Imported here because most games are watched without.
        from pickosim.games.positions import Positions

    reasons: dict[int, Event] = {}
    lines: dict[int, Event] = {}
    verdicts: dict[int, Event] = {}

    def on_answer(turn: Turn) -> None:
        about: Event = {"event": "why", "turn": int(turn.number[0]), "seat": turn.seat}
        if about["turn"] not in lines:
            place = Positions(match.rules, (match.specs,), (match.seed,), batch.table)
            lines[about["turn"]] = about | {"event": "line", "line": next(place.lines)}
        options = explanation(match, turn)
        if options:
            bot = bot_of(match, turn)
            about["win_chances"] = isinstance(bot, Valuation) and bot.values_are_win_chances
            at = log.length(batch.log)
            # Whether to roll again comes with the faces to pick from, the only options of the question after it.
            if reasons.get(at, {}).get("question") != "reroll":
                reasons[at] = about | {"question": turn.question, "options": options}

    def on_verdict(turn: Turn, verdict: Verdict) -> None:
        verdicts[log.length(batch.log)] = _verdict(match, turn, verdict)

    batch = Batch(
        match,
        game,
        1,
        start=start,
        log=log.new_log(room=True),
        on_answer=on_answer if why else None,
        judge=judge,
        on_verdict=on_verdict,
    )
    try:
        tally, error = batch.play(), None
    except StrategyError as mistake:
        tally, error = None, mistake
    rows, events = log.events(batch.log).tolist(), list[Event]()
    for event in events_of(match, game, rows, tally, 0, reasons, verdicts):
        if line := lines.pop(event.get("turn", 0), None):
            events.append(line)
        events.append(event)
    return events, error


def traced_position(
    positions: Positions,
    bots: Sequence[BotLike],
    *,
    why: bool = False,
    judge: Valuation | None = None,
) -> tuple[list[Event], StrategyError | None]:
    """The trace of a game that is played on; its second event, `position`, says from where."""
    if len(positions) != 1:
        raise PickosimError(f"One position can be watched at a time, not {len(positions)}.")
    match, (place,) = positions.match(bots), positions.objects
    shown = {name: value for name, value in place.items() if name not in ("rules", "players")}
    events, mistake = _traced(match, place["game"], positions.table, why=why, judge=judge)
    return [events[0], {"event": "position", **shown}, *events[1:]], mistake


def _verdict(match: Match, turn: Turn, verdict: Verdict) -> Event:
    """What a judge says of a turn of a single game; a mistake is what it cost, what was chosen, and what was best."""
    tiles = sorted(match.rules.tiles)
    mistakes = []
    for decision in verdict.decisions[verdict.decisions["error"] >= MISTAKE]:
        kind = int(decision["kind"])
        words = [option_words(kind, int(decision[option]), tiles) for option in ("chosen", "best")]
        mistakes.append((float(decision["error"]), MISTAKES[kind], *words))
    return {
        "event": "verdict",
        "turn": int(turn.number[0]),
        "seat": turn.seat,
        "before": float(verdict.before[0, 0]),
        "luck": float(verdict.luck[0, 0]),
        "error": float(verdict.error[0, 0]),
        "decisions": len(verdict.decisions),
        "mistakes": mistakes,
    }


def events_of(
    match: Match,
    game: int,
    rows: list[Any],
    tally: Tally | None,
    entry: int,
    reasons: Mapping[int, Event] = MappingProxyType({}),
    verdicts: Mapping[int, Event] = MappingProxyType({}),
) -> list[Event]:
    """All events: the opening, the rows of the log (each of `reasons` and `verdicts` before its row), the end."""
    writer = _EventWriter(match)
    events = [_opening(match, game)]
    stacks: list[list[int]] = [[] for _ in match.specs]
    for number, (_, turn, kind, a, b, c) in enumerate(rows):
        events += [events_at[number] for events_at in (verdicts, reasons) if number in events_at]
        if kind == log.STACKED:
            stacks[a].insert(0, writer.tiles[b])
        else:
            events.append(writer.event(turn, kind, a, b, c))
    if len(rows) in verdicts:  # nobody has a tile at the end
        events.append(verdicts[len(rows)])
    return events if tally is None else [*events, _end(stacks, tally, entry)]


def _opening(match: Match, game: int) -> Event:
    rules = match.rules.as_dict()
    return {
        "event": "game",
        "rules": rules,
        "players": list(match.specs),
        "seed": match.seed,
        "game": game,
        "grill": sorted(match.rules.tiles),
        "specialists": rules["specialists"],
        "bratworms": match.rules.bratworms,
    }


def _end(stacks: list[list[int]], tally: Tally, entry: int) -> Event:
    ranks = tally.rank[entry].tolist()
    with_apple = tally.held_at_end[entry, APPLE].tolist() if tally.held_at_end.size else []
    return {
        "event": "end",
        "turns": int(tally.turns[entry]),
        "finished": bool(tally.finished[entry]),
        "tiles": stacks,
        "bratworms": tally.bratworms[entry].tolist(),
        "scores": tally.score[entry].tolist(),
        "apple": with_apple.index(True) if True in with_apple else None,
        "ranks": ranks,
        "winners": [seat for seat, rank in enumerate(ranks) if rank == 1],
    }


class _EventWriter:
    """Turns rows of the log into events."""

    def __init__(self, match: Match) -> None:
        self.players = len(match.specs)
        self.tiles = sorted(match.rules.tiles)
        self.rolls = rolls(match.rules.dice + 1)

    def event(self, turn: int, kind: int, a: int, b: int, c: int) -> Event:
        """One event; `pickosim.engine.log` lists the three details of each kind."""
        who = {"turn": turn, "seat": (turn - 1) % self.players}
        match kind:
            case log.ROLL:
                golden = face_name(b) if b else None
                return {"event": "roll", **who, "dice": list(self._white(a, b)), "golden": golden}
            case log.REROLL:
                return {"event": "reroll", **who}
            case log.SET_ASIDE:
                return {"event": "set-aside", **who, "face": face_name(a), "count": b, "total": c}
            case log.BRATWORM:
                source = "supply" if a == NOTHING else a
                why = "raven" if b == log.RAVEN_PAYS else "double-one"
                return {"event": "bratworm", **who, "from": source, "why": why}
            case log.STOP:
                return {"event": "stop", **who, "total": a, "canned": b == 1, "forced": c == 1}
            case log.TAKE:
                return {"event": "take", **who, "tile": self.tiles[a]}
            case log.STEAL:
                return {"event": "steal", **who, "tile": self.tiles[a], "from": b}
            case log.STEAL_HEN:
                return {"event": "steal-hen", **who, "from": a}
            case log.FAIL:
                return {"event": "fail", **who, "reason": log.FAIL_REASONS[a]}
            case log.RETURN:
                return {"event": "return", **who, "tile": self.tiles[a]}
            case log.FLIP:
                return {"event": "flip", "turn": turn, "tile": self.tiles[a]}
            case log.SPECIALIST:
                places = {"from": self._place(b), "to": self._place(c)}
                return {"event": "specialist", "turn": turn, "name": SPECIALISTS[a], **places}
        raise AssertionError(f"unknown kind of event: {kind}")

    def _white(self, roll: int, golden_face: int) -> Iterator[str]:
        """The faces of the white dice in a roll, sorted."""
        counts = self.rolls[roll]["counts"]
        for face in range(1, FACES + 1):
            yield from [face_name(face)] * (int(counts[face]) - (face == golden_face))

    def _place(self, place: int) -> dict[str, int] | str:
        if is_seat(place):
            return {"seat": place - SEATS}
        return "out" if place == NOTHING else {"tile": self.tiles[place]}
