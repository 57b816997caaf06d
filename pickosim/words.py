"""Words: a game told for a person, a table of results laid out; as rich text, nothing is printed here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from pickosim.trace import Event

DICE, WORM, GOLD, GOOD, BAD, QUIET = (
    "bold",
    "bold magenta",
    "not dim bold yellow",
    "green",
    "red",
    "dim",
)


def story(trace: Iterable[Event]) -> Iterator[Text]:
    """One game, line by line: each turn's dice, what became of it, and the table after it."""
    scene: Scene | None = None
    told_turn = 0
    for event in trace:
        if event["event"] == "game":
            scene = Scene(event)
            yield from _opening(event, scene)
            continue
        assert scene is not None, "a trace begins with its game"
        turn = event.get("turn", 0)
        if turn != told_turn:
            if told_turn:
                yield from scene.lines()
            if turn:
                seat = event["seat"]
                yield Text()
                yield Text(f"Turn {turn}: {scene.players[seat]} (seat {seat})", style="bold")
            told_turn = turn
        scene.follow(event)
        yield from _lines(event, scene)


def _opening(event: Event, scene: Scene) -> Iterator[Text]:
    rules = event["rules"]
    yield Text(f"Game {event['game']} of seed {event['seed']}, rules {rules['name']}", style="bold")
    yield from scene.lines()


class Scene:
    """Where everything lies, followed from event to event."""

    def __init__(self, game: Event) -> None:
        self.players: list[str] = game["players"]
        self.worms = {int(tile): worms for tile, worms in game["rules"]["tiles"].items()}
        self.grill = set(game["grill"])
        self.stacks: list[list[int]] = [[] for _ in self.players]
        self.places = {name: _place(place) for name, place in game["specialists"].items()}
        self.supply: int = game["bratworms"]
        self.bratworms = [0] * len(self.players)

    def follow(self, event: Event) -> None:
        """Move what an event moves."""
        match event["event"]:
            case "take":
                self.grill.remove(event["tile"])
                self.stacks[event["seat"]].append(event["tile"])
            case "steal":
                self.stacks[event["seat"]].append(self.stacks[event["from"]].pop())
            case "return":
                self.grill.add(self.stacks[event["seat"]].pop())
            case "flip":
                self.grill.remove(event["tile"])
            case "specialist":
                self.places[event["name"]] = event["to"]
            case "bratworm":
                if event["from"] == "supply":
                    self.supply -= 1
                else:
                    self.bratworms[event["from"]] -= 1
                self.bratworms[event["seat"]] += 1

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
    """A starting place as `specialist` events write places."""
    return place if isinstance(place, dict) else {"tile": place}


def _lines(event: Event, scene: Scene) -> Iterator[Text]:
    """What an event adds to the story."""
    match event["event"]:
        case "roll":
            yield _dice(event)
        case "why":
            yield from _reasons(event)
        case "reroll":
            yield Text("      the weasel: rolls these dice again", style=GOLD)
        case "set-aside":
            dice = f"{event['count']} × {event['face']}"
            yield Text(f"      sets aside {dice}, total {event['total']}")
        case "bratworm":
            source = "the supply" if event["from"] == "supply" else scene.players[event["from"]]
            why = "the raven" if event["why"] == "raven" else "two or more 1s"
            yield Text(f"      a bratworm from {source} for {why}", style=GOOD)
        case "stop":
            canned = ", the canned worm included" if event["canned"] else ""
            how = "the turn ends" if event["forced"] else "stops"
            yield Text(f"    {how} at {event['total']}{canned}")
        case "take":
            worms = _count(scene.worms[event["tile"]], "worm")
            yield Text(f"    takes {event['tile']} ({worms})", style=GOOD)
        case "steal":
            victim = scene.players[event["from"]]
            yield Text(
                f"    steals {event['tile']} from {victim} (seat {event['from']})", style=GOOD
            )
        case "steal-hen":
            victim = scene.players[event["from"]]
            yield Text(f"    steals the hen from {victim} (seat {event['from']})", style=GOOD)
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
            yield from _ending(event, scene)


def _reasons(event: Event) -> Iterator[Text]:
    """The options of a question with their values, the best first."""
    line = Text("      why: ", style=QUIET)
    options = [f"{words} {value + 0.0:.3f}" for words, value in event["options"]]
    line.append(options[0], style="not dim")
    line.append("".join(f", {option}" for option in options[1:]))
    yield line


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


def _ending(event: Event, scene: Scene) -> Iterator[Text]:
    how = "The grill is empty" if event["finished"] else "Unfinished: ended by the turn limit"
    yield Text(f"{how} after {_count(event['turns'], 'turn')}.", style="bold")
    for seat, player in enumerate(scene.players):
        tiles = " ".join(map(str, event["tiles"][seat])) or "no tiles"
        apple = ", with the apple" if event["apple"] == seat else ""
        line = f"  {event['ranks'][seat]}. {player} (seat {seat}): {_count(event['scores'][seat], 'worm')}"
        bratworms = (
            f", {_count(event['bratworms'][seat], 'bratworm')}" if event["bratworms"][seat] else ""
        )
        won = seat in event["winners"]
        yield Text(f"{line} ({tiles}{bratworms}{apple})", style=GOOD if won else "")


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def percent(share: float) -> str:
    """A share as `12.34 %`."""
    return f"{100 * share:.2f} %"


def airy(value: str) -> str:
    """An option's value with a space after each comma, so that lines break there."""
    return re.sub(r",(?=\S)", ", ", value)


def hanging(line: Text) -> Text | Padding:
    """A line that goes on under its own beginning where it has to be broken."""
    indent = len(line.plain) - len(line.plain.lstrip())
    if indent == 0:
        return line
    return Padding(line[indent:], (0, 0, 0, indent), expand=False)


def grid(title: str, columns: list[tuple[str, str]], rows: Iterable[Iterable[object]]) -> Group:
    """A table under its title; each column has a heading and is justified left or right."""
    table = Table(box=None, pad_edge=False)
    for heading, side in columns:
        table.add_column(
            Text(heading), justify="right" if side == "right" else "left", overflow="fold"
        )
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    return Group(Text(title, style="bold"), table)


def bench_tables(rows: list[dict[str, Any]]) -> Iterator[Group | Text]:
    """A benchmark: the speeds, what the solver's cache did, and under which conditions."""
    baseline = rows[-1]["games_per_second"]
    speeds = [
        (
            row["name"],
            row["workers"],
            f"{row['games_per_second']:,}",
            f"{row['games_per_second'] / baseline:,.0f}",
            f"{row['games']:,}",
        )
        for row in rows
    ]
    headings = ["workers", "games/s", "× plain Python", "games"]
    columns = [("case", "left"), *((heading, "right") for heading in headings)]
    yield grid(f"Best of {rows[0]['repeats']} runs", columns, speeds)
    caches = [
        (
            row["name"],
            f"{row['payoffs_solved']:,}",
            percent(row["cache_hit_rate"]),
            f"{row['cache_megabytes']:.0f} MB",
            f"{row['games']:,}",
        )
        for row in rows
        if "payoffs_solved" in row
    ]
    headings = ["pay-offs solved", "cache hits", "cache size", "games"]
    columns = [("case", "left"), *((heading, "right") for heading in headings)]
    yield Text()
    yield grid("The turn solver's cache, from empty", columns, caches)
    yield Text()
    yield Text(_around(rows))
    yield Text(_conditions(rows[0]))


def _around(rows: list[dict[str, Any]]) -> str:
    """What a tournament adds to its games, and what more workers bring."""
    one, *more = (row for row in rows if row["name"].startswith("tournament"))
    said = (
        f"Schedule, statistics and checkpoints add {percent(one['overhead'])} to the games' time."
    )
    for row in more:
        ratio = row["games_per_second"] / one["games_per_second"]
        said += f" {row['workers']} workers play a tournament {ratio:.2f} times as fast as one."
    return said


def _conditions(row: dict[str, Any]) -> str:
    return (
        f"Solver: {row['solver_payoffs_per_second']:,} pay-offs/s on one core. "
        f"{row['bytes_per_running_game']:.0f} bytes a running game. Kernels warmed up before "
        f"({row['warm_up_seconds']} s). {row['machine']}, {row['cores']} cores, {row['system']}; "
        f"pickosim {row['pickosim']}, Python {row['python']}, NumPy {row['numpy']}, "
        f"Numba {row['numba']}."
    )
