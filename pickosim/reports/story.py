"""One game as text, turn by turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from rich.text import Text

from pickosim.amounts import listed
from pickosim.reports.layout import BAD, DICE, GOLD, GOOD, QUIET, WORM
from pickosim.rule_files import complete_rules, rules_text

if TYPE_CHECKING:
    from pickosim.games.trace import Event


def story(trace: Iterable[Event]) -> Iterator[Text]:
    """The lines of one game: the dice and the result of each turn, and the table before it."""
    opening, *events = trace
    state = TableState(opening)
    yield Text(_title(opening), style="bold")
    if events and events[0]["event"] == "position":
        state.put(events[0])
        yield Text(f"Played on from turn {events.pop(0)['turn']}")
    if not events:
        yield from state.lines()
    for turn, of_turn in groupby(events, _turn):
        yield from state.lines()
        for number, event in enumerate(of_turn):
            if turn and not number:
                seat = event["seat"]
                yield Text()
                yield Text(f"Turn {turn}: {state.players[seat]} (seat {seat})", style="bold")
            state.follow(event)
            yield from _lines(event, state)


def summary(trace: Iterable[Event]) -> Iterator[Text]:
    """One game in one line per turn."""
    opening, *events = trace
    state = TableState(opening)
    yield Text(_title(opening), style="bold")
    width = max(map(len, state.players))
    for turn, (first, *others) in groupby(events, _turn):
        if not turn:  # the end
            yield from _lines(first, state)
            continue
        of_turn = [first, *others]
        if first["event"] == "position":
            state.put(of_turn.pop(0))
        rolls = sum(event["event"] == "roll" for event in of_turn)
        if not rolls:
            continue
        seat = of_turn[0]["seat"]
        line = Text(f"{turn:>4}  {seat} {state.players[seat]:<{width}}  {_count(rolls, 'roll')}")
        for event in of_turn:
            state.follow(event)
            for part in _lines(event, state) if event["event"] in IN_SUMMARY.split() else ():
                part.plain = part.plain.strip()
                line.append(", ").append_text(part)
        yield line


IN_SUMMARY = "bratworm stop take steal steal-hen fail return flip specialist verdict"
"""Events that a line of the summary tells."""


def _turn(event: Event) -> int:
    """The number of the turn; 0 for the end of the game."""
    turn: int = event.get("turn", 0)
    return turn


def _title(event: Event) -> str:
    return f"Game {event['game']} of seed {event['seed']}, rules {rules_text(complete_rules(event['rules']))}"


class TableState:
    """Where all tiles, specialists and bratworms are, updated event by event."""

    def __init__(self, game: Event) -> None:
        self.players: list[str] = game["players"]
        self.has_tiebreak = game["rules"]["tiebreak"] == "highest-tile"
        ones: int = game["rules"]["bratworm_ones"]
        self.enough_ones = f"{'two' if ones == 2 else ones} or more 1s"
        self.worms = {int(tile): worms for tile, worms in game["rules"]["tiles"].items()}
        self.grill = set(game["grill"])
        self.stacks: list[list[int]] = [[] for _ in self.players]
        self.places = {name: _place(place) for name, place in game["specialists"].items()}
        self.supply: int = game["bratworms"]
        self.bratworms = [0] * len(self.players)
        self.verdicts: dict[int, list[float]] = {}
        """By seat: luck, error, decisions and mistakes."""

    def put(self, position: Event) -> None:
        """Change the table to that of a position."""
        self.grill = set(position["grill"])
        self.stacks = [list(stack) for stack in position["tiles"]]
        self.places = dict.fromkeys(self.places, "out")
        self.places |= {name: _place(place) for name, place in position["specialists"].items()}
        self.supply = position["supply"]
        self.bratworms = list(position["bratworms"])

    def follow(self, event: Event) -> None:
        """Apply an event."""
        match event["event"]:
            case "take":
                self.grill.remove(event["tile"])
                self.stacks[event["seat"]].append(event["tile"])
            case "steal":
                self.stacks[event["seat"]].append(self.stacks[event["from"]].pop())
            case "return":
                self.grill.add(self.stacks[event["seat"]].pop())
            case "flip":
                # A tile that a fail removes from the game is not on the grill but on a stack.
                self.grill.discard(event["tile"])
                for stack in self.stacks:
                    if event["tile"] in stack:
                        stack.remove(event["tile"])
            case "specialist":
                self.places[event["name"]] = event["to"]
            case "bratworm":
                if event["from"] == "supply":
                    self.supply -= 1
                else:
                    self.bratworms[event["from"]] -= 1
                self.bratworms[event["seat"]] += 1

    def hear(self, verdict: Event) -> None:
        """Add up what a judge says of a player's turns."""
        more = verdict["luck"], verdict["error"], verdict["decisions"], len(verdict["mistakes"])
        so_far = self.verdicts.get(verdict["seat"], [0.0, 0.0, 0, 0])
        self.verdicts[verdict["seat"]] = [a + b for a, b in zip(so_far, more, strict=True)]

    def lines(self) -> Iterator[Text]:
        """The grill and the stacks."""
        standing = {
            place["tile"]: name
            for name, place in self.places.items()
            if isinstance(place, dict) and "tile" in place
        }
        grill = Text("    grill:", style=QUIET)
        for tile in sorted(self.grill):
            grill.append(f" {tile}", style="not dim")
            if tile in standing:
                grill.append(f"({standing[tile]})", style=GOLD)
        if not self.grill:
            grill.append(" empty")
        yield grill
        for seat, player in enumerate(self.players):
            yield self._stack(seat, player)

    def _stack(self, seat: int, player: str) -> Text:
        stack = self.stacks[seat]
        line = Text(f"    {seat} {player}: ", style=QUIET)
        if stack:
            worms = sum(self.worms[tile] for tile in stack)
            line.append(f"[{stack[-1]}]", style="not dim bold")
            line.append(f" top of {_count(len(stack), 'tile')}, {_count(worms, 'worm')}")
        else:
            line.append("no tiles")
        if self.bratworms[seat]:
            line.append(f", {_count(self.bratworms[seat], 'bratworm')}")
        for name, place in self.places.items():
            if place == {"seat": seat}:
                line.append(f", {name}", style=GOLD)
        return line


def _place(place: object) -> object:
    """A starting place in the form that `specialist` events use."""
    return place if isinstance(place, dict) else {"tile": place}


def _lines(event: Event, state: TableState) -> Iterator[Text]:
    """The lines for an event."""
    match event["event"]:
        case "roll":
            yield _dice(event)
        case "line":
            yield Text(f"    {event['line']}", style=QUIET)
        case "why":
            yield from _reasons(event)
        case "verdict":
            state.hear(event)
            yield _verdict(event)
        case "reroll":
            yield Text("      the weasel: rolls these dice again", style=GOLD)
        case "set-aside":
            dice = f"{event['count']} × {event['face']}"
            yield Text(f"      sets aside {dice}, total {event['total']}")
        case "bratworm":
            source = "the supply" if event["from"] == "supply" else state.players[event["from"]]
            why = "the raven" if event["why"] == "raven" else state.enough_ones
            yield Text(f"      a bratworm from {source} for {why}", style=GOOD)
        case "stop":
            canned = ", the canned worm included" if event["canned"] else ""
            how = "the turn ends" if event["forced"] else "stops"
            yield Text(f"    {how} at {event['total']}{canned}")
        case "take":
            worms = _count(state.worms[event["tile"]], "worm")
            yield Text(f"    takes {event['tile']} ({worms})", style=GOOD)
        case "steal" | "steal-hen" as kind:
            what = event["tile"] if kind == "steal" else "the hen"
            victim = f"{state.players[event['from']]} (seat {event['from']})"
            yield Text(f"    steals {what} from {victim}", style=GOOD)
        case "fail":
            yield Text(f"    fails: {event['reason'].replace('-', ' ')}", style=BAD)
        case "return":
            yield Text(f"    {event['tile']} goes back to the grill", style=BAD)
        case "flip":
            yield Text(f"    {event['tile']} is flipped", style=BAD)
        case "specialist":
            yield Text(f"    {event['name']}: {_way(event)}", style=GOLD)
        case "end":
            yield Text()
            yield from _ending(event, state)


def _reasons(event: Event) -> Iterator[Text]:
    """The best option of a question and the others, each with its value."""
    (best, value), *others = event["options"]
    line = Text("      ", style=QUIET)
    line.append(f"{best} ({_value(value, event, first=True)})", style="not dim")
    verb, _, _ = best.partition(" ")
    rest = [f"{words.removeprefix(f'{verb} ')} ({_value(value, event)})" for words, value in others]
    if rest:
        line.append(f" rather than {' or '.join(filter(None, [', '.join(rest[:-1]), rest[-1]]))}")
    yield line


def _verdict(event: Event) -> Text:
    """What a judge says of a turn, in points of win chance."""
    line = Text(f"    luck {100 * event['luck']:+z.1f}", style=QUIET)
    if event["error"] >= 0.0005:
        line.append(f", error {-100 * event['error']:z.1f}", style="not dim")
    mistakes = [
        f"{chosen} rather than {best} {-100 * error:.1f}"
        for error, _, chosen, best in event["mistakes"]
    ]
    if mistakes:
        line.append(f" ({', '.join(mistakes)})", style="not dim")
    return line


def _value(value: float, event: Event, first: bool = False) -> str:
    """What an option is worth; only the first says of what the number is."""
    if event["win_chances"]:
        return f"{100 * value:.1f} %{' to win' if first else ''}"
    return f"{'worth ' if first else ''}{value + 0.0:.2f}"


def _dice(event: Event) -> Text:
    line = Text("    rolls")
    for face in event["dice"]:
        line.append(" W" if face == "worm" else f" {face}", style=WORM if face == "worm" else DICE)
    if event["golden"] is not None:
        line.append(" golden ", style=GOLD)
        line.append("W" if event["golden"] == "worm" else event["golden"], style=GOLD)
    return line


def _way(event: Event) -> str:
    def place(of: object) -> str:
        if isinstance(of, dict):
            return f"seat {of['seat']}" if "seat" in of else f"tile {of['tile']}"
        return "out of the game"

    return f"from {place(event['from'])} to {place(event['to'])}".replace("to out", "out")


def _ending(event: Event, state: TableState) -> Iterator[Text]:
    how = "The grill is empty" if event["finished"] else "Unfinished: ended by the turn limit"
    yield Text(f"{how} after {_count(event['turns'], 'turn')}.", style="bold")
    for rank, seat in sorted((rank, seat) for seat, rank in enumerate(event["ranks"])):
        tiles = " ".join(map(str, event["tiles"][seat])) or "no tiles"
        apple = ", with the apple" if event["apple"] == seat else ""
        worms = _count(event["scores"][seat], "worm")
        line = f"  {rank}. {state.players[seat]} (seat {seat}): {worms}"
        bratworms = (
            f", {_count(event['bratworms'][seat], 'bratworm')}" if event["bratworms"][seat] else ""
        )
        won = seat in event["winners"]
        yield Text(f"{line} ({tiles}{bratworms}{apple})", style=GOOD if won else "")
    best = max(event["scores"])
    tied = [
        f"{player} (seat {seat})"
        for seat, player in enumerate(state.players)
        if event["scores"][seat] == best
    ]
    if len(tied) > 1:
        yield Text(f"{listed(tied)} have {_count(best, 'worm')} each{_decided(event, state)}.")
    if state.verdicts:
        yield Text("In points of win chance:", style="bold")
    for seat, (luck, error, decisions, mistakes) in sorted(state.verdicts.items()):
        yield Text(
            f"  {state.players[seat]} (seat {seat}): luck {100 * luck:+z.1f}, errors {-100 * error:z.1f} in "
            f"{_count(int(decisions), 'decision')}, {int(mistakes)} wrong"
        )


def _decided(event: Event, state: TableState) -> str:
    """How a tie for the first place was decided."""
    first, *others = event["winners"]
    if not state.has_tiebreak:
        return " and share the win: these rules have no tiebreak"
    if others:
        return " and share the win: none of them has a tile"
    return f"; {state.players[first]} (seat {first}) has the highest tile, {max(event['tiles'][first])}, and wins"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
