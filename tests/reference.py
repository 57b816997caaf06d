"""A plain reference game of Pickomino and Extrawurm, to compare the engine with.

Written from the rules page and the trace page alone. It shares no code with the engine, plays one
game at a time, and is meant to be read beside the rules.

`replay` follows an engine's trace: it takes the dice and the players' decisions from it, works out
everything else by itself and returns its own events.
"""

from __future__ import annotations

import json
import random
from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Event = dict[str, Any]
Place = Any  # {"tile": v}, {"seat": s} or "out", as in the trace

FACES = ["1", "2", "3", "4", "5", "worm"]
POINTS = {"1": 1, "2": 2, "3": 3, "4": 4, "5": 5, "worm": 5}
SPECIALISTS = ["canned-worm", "sitting-hen", "raven", "weasel", "golden-die", "apple"]
CANNED_POINTS = 5


class RuleBroken(Exception):
    """The trace does something that the rules do not allow, or leaves something out."""


# --------------------------------------------------------------------------------------- rules


@dataclass(frozen=True)
class Rules:
    dice: int
    tiles: dict[int, int]
    exact_only: frozenset[int]
    claim: str
    steal: str
    lost_tile: str
    flip_without_return: bool
    flip_returned: bool
    exact_only_returns: bool
    hen_saves_flip: bool
    tiebreak: str
    bratworms: int
    bratworm_ones: int
    specialists: dict[str, Any]
    second_specialist: str
    weasel_rescues_bust: bool
    golden_die_faces: list[str]
    apple_worms: int
    turn_limit: int


CHOICES = {
    "claim": ("next-lower", "any-lower", "exact"),
    "steal": ("must", "may", "never"),
    "lost_tile": ("returned", "removed", "kept"),
    "tiebreak": ("highest-tile", "shared"),
    "second_specialist": ("choose", "keep-new", "keep-old"),
    "flip_without_return": (True, False),
    "flip_returned": (True, False),
    "exact_only_returns": (True, False),
    "hen_saves_flip": (True, False),
    "weasel_rescues_bust": (True, False),
}


def read_rules(options: dict[str, Any]) -> Rules:
    """The rules object of a `game` event; options this page does not know are ignored."""
    missing = [name for name in Rules.__dataclass_fields__ if name not in options]
    if missing:
        raise RuleBroken(f"rules: expected the options {missing}, came none of them")
    for name, allowed in CHOICES.items():
        if options[name] not in allowed:
            raise RuleBroken(f"rules: expected {name} in {allowed}, came {options[name]!r}")
    known = {name: options[name] for name in Rules.__dataclass_fields__}
    known["tiles"] = {int(value): worms for value, worms in options["tiles"].items()}
    known["exact_only"] = frozenset(options["exact_only"])
    known["golden_die_faces"] = [str(face) for face in options["golden_die_faces"]]
    rules = Rules(**known)
    if not set(rules.golden_die_faces) <= set(FACES):
        raise RuleBroken(f"rules: expected faces {FACES}, came {rules.golden_die_faces}")
    return rules


# --------------------------------------------------------------------------------------- state


class Claim(NamedTuple):
    kind: str  # "take", "steal" or "steal-hen", as in the trace
    tile: int | None
    victim: int | None


@dataclass
class Turn:
    """The dice of one turn."""

    seat: int
    white: int  # white dice not yet set aside
    golden: bool = False  # the golden die is in play and not yet set aside
    rolled: list[str] = field(default_factory=list)
    rolled_golden: str | None = None
    new_faces: list[str] = field(default_factory=list)  # of this roll, ascending
    aside: dict[str, int] = field(default_factory=dict)  # face -> number of dice
    total: int = 0  # points of the dice set aside
    weasel_used: bool = False

    def show(self, dice: list[str], golden: str | None) -> None:
        self.rolled = sorted(dice)
        self.rolled_golden = golden
        shown = {*dice, golden}
        self.new_faces = [face for face in FACES if face in shown and face not in self.aside]

    def count(self, face: str) -> int:
        return self.rolled.count(face) + (self.rolled_golden == face)

    def ends_by_itself(self) -> bool:
        return not (self.white or self.golden) or len(self.aside) == len(FACES)


@dataclass
class Game:
    rules: Rules
    source: Source
    grill: list[int]  # ascending
    stacks: list[list[int]]  # a seat's tiles, bottom first
    bratworms: list[int]  # of each seat
    supply: int
    held: list[list[str]]  # a seat's specialists; never two for long
    on_tile: dict[int, str] = field(default_factory=dict)  # tile -> the specialist on it
    out: list[str] = field(default_factory=list)  # specialists out of the game
    flipped: list[int] = field(default_factory=list)
    turn: int = 0
    events: list[Event] = field(default_factory=list)

    @property
    def seats(self) -> int:
        return len(self.stacks)

    def rivals(self, seat: int) -> list[int]:
        """The other seats, in the order in which they play after `seat`."""
        return [(seat + step) % self.seats for step in range(1, self.seats)]

    def holds(self, seat: int, specialist: str) -> bool:
        return specialist in self.held[seat]

    def tell(self, event: str, **fields: Any) -> None:
        """Record an event; `from_` stands for the field `from`."""
        if "from_" in fields:
            fields["from"] = fields.pop("from_")
        fields["event"] = event
        self.events.append(fields)
        self.source.told(self)

    def broken(self, expected: object, came: object) -> RuleBroken:
        return RuleBroken(f"turn {self.turn}: expected {expected}, came {came}")


def set_up(rules: Rules, seats: int, source: Source) -> Game:
    if not 2 <= seats <= 7:
        raise RuleBroken(f"turn 0: expected 2 to 7 players, came {seats}")
    game = Game(
        rules=rules,
        source=source,
        grill=sorted(rules.tiles),
        stacks=[[] for _ in range(seats)],
        bratworms=[0] * seats,
        supply=rules.bratworms,
        held=[[] for _ in range(seats)],
    )
    for name, start in rules.specialists.items():
        if name not in SPECIALISTS:
            raise game.broken(f"one of {SPECIALISTS}", name)
        if isinstance(start, dict):
            seat: Any = start.get("seat")
            if name == "raven" or seat not in range(seats) or game.held[seat]:
                raise game.broken("a tile in play or a free seat", f"{name} on {start}")
            game.held[seat].append(name)
        else:
            if start not in rules.tiles or start in game.on_tile:
                raise game.broken("a free tile in play", f"{name} on {start}")
            game.on_tile[start] = name
    return game


def check_conservation(game: Game) -> None:
    """Nothing appears, vanishes or lies in two places."""
    taken = [tile for stack in game.stacks for tile in stack]
    assert sorted(game.grill + game.flipped + taken) == sorted(game.rules.tiles)
    assert game.grill == sorted(game.grill)
    assert game.supply + sum(game.bratworms) == game.rules.bratworms
    assert min(game.supply, *game.bratworms) >= 0
    held = [name for names in game.held for name in names]
    assert sorted([*game.on_tile.values(), *held, *game.out]) == sorted(game.rules.specialists)
    assert all(len(names) <= 1 for names in game.held)
    assert "raven" not in held
    assert all(tile in game.grill for tile in game.on_tile)


# ---------------------------------------------------------------------------- what can be claimed


def grill_offers(game: Game, total: int) -> list[int]:
    """The grill tiles that a total may take, ascending."""
    if game.rules.claim == "exact":
        return [total] if total in game.grill else []
    exact_only = game.rules.exact_only
    offers = [
        tile for tile in game.grill if tile == total or (tile < total and tile not in exact_only)
    ]
    if game.rules.claim == "any-lower":
        return offers
    return offers[-1:]  # the exact tile, or else the next lower one


def owner_of_visible(game: Game, seat: int, total: int) -> int | None:
    """The rival whose top tile has exactly this value and can be stolen."""
    if total in game.rules.exact_only or game.rules.steal == "never":
        return None
    for rival in game.rivals(seat):
        if game.stacks[rival] and game.stacks[rival][-1] == total:
            return rival
    return None


def claims_of_total(game: Game, seat: int, total: int) -> list[Claim]:
    takes = [Claim("take", tile, None) for tile in grill_offers(game, total)]
    victim = owner_of_visible(game, seat, total)
    if victim is None:
        return takes
    if game.holds(victim, "sitting-hen"):
        steal = Claim("steal-hen", None, victim)
    else:
        steal = Claim("steal", total, victim)
    return [steal] if game.rules.steal == "must" else [steal, *takes]


def can_counts(game: Game, turn: Turn) -> bool:
    return game.holds(turn.seat, "canned-worm") and "worm" not in turn.aside


def total_on_stop(game: Game, turn: Turn) -> int:
    return turn.total + (CANNED_POINTS if can_counts(game, turn) else 0)


def has_worm(game: Game, turn: Turn) -> bool:
    return "worm" in turn.aside or can_counts(game, turn)


def claims_on_stop(game: Game, turn: Turn) -> list[Claim]:
    """What the player could claim by stopping now."""
    if not has_worm(game, turn):
        return []
    return claims_of_total(game, turn.seat, total_on_stop(game, turn))


# ------------------------------------------------------------------------ bratworms, specialists


def rivals_to_rob(game: Game, seat: int) -> list[int]:
    return [
        rival
        for rival in game.rivals(seat)
        if game.bratworms[rival] and not game.holds(rival, "sitting-hen")
    ]


def earn_bratworm(game: Game, turn: Turn, why: str) -> None:
    origin: Any = "supply"
    if game.supply:
        game.supply -= 1
    else:
        rivals = rivals_to_rob(game, turn.seat)
        if not rivals:
            return
        origin = legal(game, game.source.rob(game, turn, rivals), rivals)
        game.bratworms[origin] -= 1
    game.bratworms[turn.seat] += 1
    game.tell("bratworm", turn=game.turn, seat=turn.seat, from_=origin, why=why)


def back_to_the_grill(game: Game) -> Place:
    """The lowest face-up tile without a specialist."""
    for tile in game.grill:
        if tile not in game.on_tile:
            return {"tile": tile}
    return "out"


def move_specialist(game: Game, name: str, origin: Place, target: Place) -> None:
    match origin:
        case {"tile": tile}:
            del game.on_tile[tile]
        case {"seat": seat}:
            game.held[seat].remove(name)
    match target:
        case {"tile": tile}:
            game.on_tile[tile] = name
        case {"seat": seat}:
            game.held[seat].append(name)
        case "out":
            game.out.append(name)
    game.tell("specialist", turn=game.turn, name=name, from_=origin, to=target)


def gain_specialist(game: Game, turn: Turn, new: str, origin: Place) -> None:
    me: Place = {"seat": turn.seat}
    if not game.held[turn.seat]:
        move_specialist(game, new, origin, me)
        return
    (old,) = game.held[turn.seat]
    if keeps_new_specialist(game, turn, new, old):
        move_specialist(game, new, origin, me)
        move_specialist(game, old, me, back_to_the_grill(game))
    else:
        move_specialist(game, new, origin, back_to_the_grill(game))


def keeps_new_specialist(game: Game, turn: Turn, new: str, old: str) -> Any:
    if game.rules.second_specialist == "keep-new":
        return True
    if game.rules.second_specialist == "keep-old":
        return False
    return game.source.keep_new_specialist(game, turn, new, old)


# ---------------------------------------------------------------------------------------- a turn


def play_turn(game: Game) -> None:
    game.turn += 1
    turn = Turn(seat=(game.turn - 1) % game.seats, white=game.rules.dice)
    if game.holds(turn.seat, "golden-die"):
        turn.golden = game.source.use_golden_die(game, turn)
    while True:
        roll_dice(game, turn)
        if weasel_may_reroll(game, turn) and game.source.reroll(game, turn):
            turn.weasel_used = True
            game.tell("reroll", turn=game.turn, seat=turn.seat)
            roll_dice(game, turn)
        if not turn.new_faces:
            fail(game, turn, "no-new-face")
            break
        set_aside(game, turn)
        if turn.ends_by_itself() or game.source.stop(game, turn):
            stop(game, turn)
            break
    check_conservation(game)


def roll_dice(game: Game, turn: Turn) -> None:
    dice, golden = game.source.roll(game, turn)
    if len(dice) != turn.white or not all(face in FACES for face in dice):
        raise game.broken(f"a roll of {turn.white} white dice", dice)
    if turn.golden and golden not in game.rules.golden_die_faces:
        raise game.broken(f"a golden die of {game.rules.golden_die_faces}", golden)
    if not turn.golden and golden is not None:
        raise game.broken("no golden die", golden)
    turn.show(dice, golden)
    game.tell("roll", turn=game.turn, seat=turn.seat, dice=turn.rolled, golden=golden)


def weasel_may_reroll(game: Game, turn: Turn) -> bool:
    if turn.weasel_used or not game.holds(turn.seat, "weasel"):
        return False
    return game.rules.weasel_rescues_bust or bool(turn.new_faces)


def set_aside(game: Game, turn: Turn) -> None:
    face = legal(game, game.source.pick(game, turn), turn.new_faces)
    count = turn.count(face)
    turn.aside[face] = count
    turn.total += count * POINTS[face]
    turn.white -= turn.rolled.count(face)
    if turn.rolled_golden == face:
        turn.golden = False
    game.tell("set-aside", turn=game.turn, seat=turn.seat, face=face, count=count, total=turn.total)
    if face == "1" and count >= game.rules.bratworm_ones:
        earn_bratworm(game, turn, "double-one")


def stop(game: Game, turn: Turn) -> None:
    game.tell(
        "stop",
        turn=game.turn,
        seat=turn.seat,
        total=total_on_stop(game, turn),
        canned=can_counts(game, turn),
        forced=turn.ends_by_itself(),
    )
    claims = claims_on_stop(game, turn)
    if claims:
        settle_claim(game, turn, legal(game, game.source.claim(game, turn, claims), claims))
    elif has_worm(game, turn):
        fail(game, turn, "nothing-to-claim")
    else:
        fail(game, turn, "no-worm")


def legal(game: Game, chosen: Any, allowed: Sequence[Any]) -> Any:
    if chosen not in allowed:
        raise game.broken(f"one of {list(allowed)}", chosen)
    return allowed[allowed.index(chosen)]


# ----------------------------------------------------------------------------- the end of a turn


def settle_claim(game: Game, turn: Turn, claim: Claim) -> None:
    kind, tile, victim = claim
    if kind == "take":
        assert tile is not None
        take(game, turn, tile)
    elif kind == "steal":
        assert tile is not None and victim is not None
        steal(game, turn, tile, victim)
    else:
        assert victim is not None
        steal_hen(game, turn, victim)


def take(game: Game, turn: Turn, tile: int) -> None:
    game.grill.remove(tile)
    game.stacks[turn.seat].append(tile)
    game.tell("take", turn=game.turn, seat=turn.seat, tile=tile)
    specialist = game.on_tile.get(tile)
    if specialist == "raven":
        earn_bratworm(game, turn, "raven")
        move_specialist(game, "raven", {"tile": tile}, back_to_the_grill(game))
    elif specialist is not None:
        gain_specialist(game, turn, specialist, {"tile": tile})


def steal(game: Game, turn: Turn, tile: int, victim: int) -> None:
    game.stacks[victim].remove(tile)
    game.stacks[turn.seat].append(tile)
    game.tell("steal", turn=game.turn, seat=turn.seat, tile=tile, from_=victim)
    for specialist in list(game.held[victim]):
        gain_specialist(game, turn, specialist, {"seat": victim})


def steal_hen(game: Game, turn: Turn, victim: int) -> None:
    game.tell("steal-hen", turn=game.turn, seat=turn.seat, from_=victim)
    gain_specialist(game, turn, "sitting-hen", {"seat": victim})


def fail(game: Game, turn: Turn, reason: str) -> None:
    seat = turn.seat
    game.tell("fail", turn=game.turn, seat=seat, reason=reason)
    # The hen stands in for the tile, even one that would have stayed anyway.
    hen_pays = game.holds(seat, "sitting-hen") and bool(game.stacks[seat])
    if hen_pays and game.rules.hen_saves_flip:
        flipped = None
    elif hen_pays or not loses_top_tile(game, seat):
        flipped = flip_highest_tile(game) if game.rules.flip_without_return else None
    elif game.rules.lost_tile == "removed":
        remove_top_tile(game, seat)
        flipped = flip_highest_tile(game)
    else:
        returned = return_top_tile(game, seat)
        spared = returned == game.grill[-1] and not game.rules.flip_returned
        flipped = None if spared else flip_highest_tile(game)
    for specialist in list(game.held[seat]):
        if specialist != "sitting-hen" or hen_pays:
            move_specialist(game, specialist, {"seat": seat}, back_to_the_grill(game))
    if flipped in game.on_tile:
        homeless = game.on_tile[flipped]
        move_specialist(game, homeless, {"tile": flipped}, back_to_the_grill(game))


def loses_top_tile(game: Game, seat: int) -> bool:
    stack = game.stacks[seat]
    if not stack or game.rules.lost_tile == "kept":
        return False
    return game.rules.exact_only_returns or stack[-1] not in game.rules.exact_only


def return_top_tile(game: Game, seat: int) -> int:
    tile = game.stacks[seat].pop()
    insort(game.grill, tile)
    game.tell("return", turn=game.turn, seat=seat, tile=tile)
    return tile


def remove_top_tile(game: Game, seat: int) -> None:
    tile = game.stacks[seat].pop()
    game.flipped.append(tile)
    game.tell("flip", turn=game.turn, tile=tile)


def flip_highest_tile(game: Game) -> int:
    highest = game.grill[-1]
    game.grill.remove(highest)
    game.flipped.append(highest)
    game.tell("flip", turn=game.turn, tile=highest)
    return highest


# ---------------------------------------------------------------------------------- a whole game


def play_game(game: Game, opening: dict[str, Any]) -> list[Event]:
    """Play to the end; `opening` has the fields of the `game` event that are no state."""
    places: dict[str, Any] = {name: tile for tile, name in game.on_tile.items()}
    places |= {name: {"seat": s} for s, names in enumerate(game.held) for name in names}
    game.tell("game", **opening, grill=list(game.grill), specialists=places, bratworms=game.supply)
    check_conservation(game)
    while game.grill and game.turn < game.rules.turn_limit:
        play_turn(game)
    tell_end(game)
    return game.events


def holder_of_apple(game: Game) -> int | None:
    for seat in range(game.seats):
        if game.holds(seat, "apple"):
            return seat
    return None


def score(game: Game, seat: int) -> int:
    worms = sum(game.rules.tiles[tile] for tile in game.stacks[seat])
    apple = game.rules.apple_worms if game.holds(seat, "apple") else 0
    return worms + game.bratworms[seat] + apple


def standing(game: Game, seat: int) -> tuple[int, int]:
    """Compares players: the greater, the better."""
    highest = max(game.stacks[seat], default=0)
    return score(game, seat), highest if game.rules.tiebreak == "highest-tile" else 0


def tell_end(game: Game) -> None:
    standings = [standing(game, seat) for seat in range(game.seats)]
    ranks = [1 + sum(other > mine for other in standings) for mine in standings]
    game.tell(
        "end",
        turns=game.turn,
        finished=not game.grill,
        tiles=[list(stack) for stack in game.stacks],
        bratworms=list(game.bratworms),
        scores=[score(game, seat) for seat in range(game.seats)],
        apple=holder_of_apple(game),
        ranks=ranks,
        winners=[seat for seat, rank in enumerate(ranks) if rank == 1],
    )


# ------------------------------------------------------------- where dice and decisions come from


class Source:
    """Dice and decisions of all seats. The game asks, checks the answer, and tells each event."""

    def roll(self, game: Game, turn: Turn) -> tuple[list[str], str | None]:
        raise NotImplementedError

    def use_golden_die(self, game: Game, turn: Turn) -> Any:
        raise NotImplementedError

    def reroll(self, game: Game, turn: Turn) -> Any:
        raise NotImplementedError

    def pick(self, game: Game, turn: Turn) -> Any:
        raise NotImplementedError

    def stop(self, game: Game, turn: Turn) -> Any:
        raise NotImplementedError

    def claim(self, game: Game, turn: Turn, claims: list[Claim]) -> Any:
        raise NotImplementedError

    def keep_new_specialist(self, game: Game, turn: Turn, new: str, old: str) -> Any:
        raise NotImplementedError

    def rob(self, game: Game, turn: Turn, rivals: list[int]) -> Any:
        raise NotImplementedError

    def told(self, game: Game) -> None:
        """The last of `game.events` has just happened."""


def throw(rng: random.Random, game: Game, turn: Turn) -> tuple[list[str], str | None]:
    golden = rng.choice(game.rules.golden_die_faces) if turn.golden else None
    return rng.choices(FACES, k=turn.white), golden


class Eager(Source):
    """The calibration bot `eager` in each seat; throws its own dice if it is given any."""

    def __init__(self, rng: random.Random | None = None):
        self.rng = rng

    def roll(self, game: Game, turn: Turn) -> tuple[list[str], str | None]:
        assert self.rng is not None
        return throw(self.rng, game, turn)

    def use_golden_die(self, game: Game, turn: Turn) -> bool:
        return True

    def reroll(self, game: Game, turn: Turn) -> bool:
        return not turn.new_faces

    def pick(self, game: Game, turn: Turn) -> str:
        # FACES ascend to the worm, so the greater index wins a tie.
        return max(
            turn.new_faces, key=lambda face: (turn.count(face) * POINTS[face], FACES.index(face))
        )

    def stop(self, game: Game, turn: Turn) -> bool:
        return bool(claims_on_stop(game, turn))

    def claim(self, game: Game, turn: Turn, claims: list[Claim]) -> Claim:
        for claim in claims:
            if claim.kind != "take":
                return claim
        return max(claims, key=lambda claim: claim.tile or 0)

    def keep_new_specialist(self, game: Game, turn: Turn, new: str, old: str) -> bool:
        return True

    def rob(self, game: Game, turn: Turn, rivals: list[int]) -> int:
        # `rivals` are in playing order, and max keeps the first of equals.
        return max(rivals, key=lambda rival: game.bratworms[rival])


class RandomCertainties(Source):
    """What is certain about the calibration bot `random`; None where it draws."""

    def use_golden_die(self, game: Game, turn: Turn) -> bool:
        return True

    def reroll(self, game: Game, turn: Turn) -> bool | None:
        return None if turn.new_faces else True

    def pick(self, game: Game, turn: Turn) -> str | None:
        return None

    def stop(self, game: Game, turn: Turn) -> bool | None:
        return None if claims_on_stop(game, turn) else False

    def claim(self, game: Game, turn: Turn, claims: list[Claim]) -> Claim | None:
        return None

    def keep_new_specialist(self, game: Game, turn: Turn, new: str, old: str) -> bool | None:
        return None

    def rob(self, game: Game, turn: Turn, rivals: list[int]) -> int | None:
        return None


class Random(RandomCertainties):
    """The calibration bot `random` in each seat, with its own dice."""

    def __init__(self, rng: random.Random):
        self.rng = rng

    def roll(self, game: Game, turn: Turn) -> tuple[list[str], str | None]:
        return throw(self.rng, game, turn)

    def coin(self) -> bool:
        return self.rng.random() < 0.5

    def reroll(self, game: Game, turn: Turn) -> bool:
        return super().reroll(game, turn) or self.coin()

    def pick(self, game: Game, turn: Turn) -> str:
        return self.rng.choice(turn.new_faces)

    def stop(self, game: Game, turn: Turn) -> bool:
        return super().stop(game, turn) is None and self.coin()

    def claim(self, game: Game, turn: Turn, claims: list[Claim]) -> Claim:
        return self.rng.choice(claims)

    def keep_new_specialist(self, game: Game, turn: Turn, new: str, old: str) -> bool:
        return self.coin()

    def rob(self, game: Game, turn: Turn, rivals: list[int]) -> int:
        return self.rng.choice(rivals)


# ------------------------------------------------------------------------------ reading a trace


JUDGES: dict[str, Source] = {"eager": Eager(), "random": RandomCertainties()}


class TraceReader(Source):
    """Dice and decisions out of a trace, whose events are matched with the game's own.

    The two lists run side by side: the event to come is the one at the length of `game.events`.
    """

    def __init__(self, trace: list[Event], bots: Sequence[str] = ()):
        self.trace = trace
        self.judges = [JUDGES.get(name.partition(":")[0]) for name in bots]

    def to_come(self, game: Game, *kinds: str) -> Event:
        """The next event of the trace, which must be one of these kinds."""
        return self.event_at(len(game.events), game, *kinds)

    def event_at(self, index: int, game: Game, *kinds: str) -> Event:
        if index >= len(self.trace):
            raise game.broken(" or ".join(kinds), "the end of the trace")
        event = self.trace[index]
        if not isinstance(event, dict) or event.get("event") not in kinds:
            raise game.broken(" or ".join(kinds), event)
        return event

    def look(self, game: Game, event: Event, name: str) -> Any:
        if name not in event:
            raise game.broken(f"a field {name!r}", event)
        return event[name]

    def told(self, game: Game) -> None:
        mine = game.events[-1]
        theirs = self.event_at(len(game.events) - 1, game, mine["event"])
        for name in ("turn", "seat"):
            if mine.get(name) != theirs.get(name):
                raise game.broken(mine, theirs)

    def judged(self, decision: str, answer: Any, game: Game, turn: Turn, *offer: Any) -> Any:
        """Check a decision against what the seat's bot is known to decide."""
        judge = self.judges[turn.seat] if turn.seat < len(self.judges) else None
        if judge is not None:
            expected = getattr(judge, decision)(game, turn, *offer)
            if expected is not None and expected != answer:
                name = type(judge).__name__
                raise game.broken(f"{decision} {expected} of seat {turn.seat} ({name})", answer)
        return answer

    def roll(self, game: Game, turn: Turn) -> tuple[list[str], str | None]:
        event = self.to_come(game, "roll")
        dice = self.look(game, event, "dice")
        if not isinstance(dice, list):
            raise game.broken("a list of dice", dice)
        return dice, self.look(game, event, "golden")

    def use_golden_die(self, game: Game, turn: Turn) -> Any:
        used = self.look(game, self.to_come(game, "roll"), "golden") is not None
        return self.judged("use_golden_die", used, game, turn)

    def reroll(self, game: Game, turn: Turn) -> Any:
        event = self.to_come(game, "reroll", "set-aside", "fail")
        return self.judged("reroll", event["event"] == "reroll", game, turn)

    def pick(self, game: Game, turn: Turn) -> Any:
        face = self.look(game, self.to_come(game, "set-aside"), "face")
        return self.judged("pick", face, game, turn)

    def stop(self, game: Game, turn: Turn) -> Any:
        event = self.to_come(game, "stop", "roll")
        return self.judged("stop", event["event"] == "stop", game, turn)

    def claim(self, game: Game, turn: Turn, claims: list[Claim]) -> Any:
        event = self.to_come(game, "take", "steal", "steal-hen")
        kind = event["event"]
        tile = None if kind == "steal-hen" else self.look(game, event, "tile")
        victim = None if kind == "take" else self.look(game, event, "from")
        return self.judged("claim", Claim(kind, tile, victim), game, turn, claims)

    def keep_new_specialist(self, game: Game, turn: Turn, new: str, old: str) -> Any:
        event = self.to_come(game, "specialist")
        if self.look(game, event, "name") != new:
            raise game.broken(f"a first move of {new}", event)
        kept = self.look(game, event, "to") == {"seat": turn.seat}
        return self.judged("keep_new_specialist", kept, game, turn, new, old)

    def rob(self, game: Game, turn: Turn, rivals: list[int]) -> Any:
        victim = self.look(game, self.to_come(game, "bratworm"), "from")
        return self.judged("rob", victim, game, turn, rivals)


def replay(trace: list[Event], bots: Sequence[str] | None = None) -> list[Event]:
    """Play the game of a trace again and return the reference's own events.

    A seat played by `eager` or `random` must decide as these do. Who plays is read from the trace,
    unless `bots` names a strategy per seat.
    """
    opening = trace[0] if trace else {}
    if not isinstance(opening, dict) or opening.get("event") != "game":
        raise RuleBroken(f"turn 0: expected the game event, came {opening}")
    missing = [name for name in ("rules", "players", "seed", "game") if name not in opening]
    if missing:
        raise RuleBroken(f"turn 0: expected {missing} in the game event, came {opening}")
    players = opening["players"]
    if not isinstance(players, list) or not all(isinstance(name, str) for name in players):
        raise RuleBroken(f"turn 0: expected a list of strategies, came {players}")
    if bots is not None and len(bots) != len(players):
        raise ValueError(f"{len(bots)} bots for {len(players)} players")
    reader = TraceReader(trace, players if bots is None else bots)
    game = set_up(read_rules(opening["rules"]), len(players), reader)
    events = play_game(game, {name: opening[name] for name in ("rules", "players", "seed", "game")})
    if len(trace) > len(events):
        raise game.broken("the end of the trace", trace[len(events)])
    return events


def check(trace: list[Event], bots: Sequence[str] | None = None) -> None:
    """Raise `RuleBroken` at the first event that is not exactly, JSON type by JSON type, right."""
    for mine, theirs in zip(replay(trace, bots), trace, strict=True):
        if json.dumps(mine, sort_keys=True) != json.dumps(theirs, sort_keys=True):
            raise RuleBroken(f"turn {mine.get('turn')}: expected {mine}, came {theirs}")


def play(rules: dict[str, Any], names: list[str], source: Source) -> list[Event]:
    """Play a whole game with dice and decisions of `source`."""
    game = set_up(read_rules(rules), len(names), source)
    return play_game(game, {"rules": rules, "players": names, "seed": 0, "game": 0})


def play_eager(rules: dict[str, Any], players: int, rng: random.Random) -> list[Event]:
    return play(rules, ["eager"] * players, Eager(rng))


def play_random(rules: dict[str, Any], players: int, rng: random.Random) -> list[Event]:
    return play(rules, ["random"] * players, Random(rng))


# --------------------------------------------------------------------------------------- presets

CLASSIC: dict[str, Any] = {
    "name": "classic",
    "title": "The 2005 rules",
    "dice": 8,
    "tiles": {str(value): 1 + (value - 21) // 4 for value in range(21, 37)},
    "exact_only": [11, 13],
    "claim": "next-lower",
    "steal": "may",
    "lost_tile": "returned",
    "flip_without_return": False,
    "flip_returned": False,
    "exact_only_returns": True,
    "hen_saves_flip": True,
    "tiebreak": "highest-tile",
    "bratworms": 0,
    "bratworm_ones": 2,
    "specialists": {},
    "second_specialist": "choose",
    "weasel_rescues_bust": True,
    "golden_die_faces": [1, 2, 3, 4, 5, "worm"],
    "apple_worms": 3,
    "turn_limit": 2000,
}
EXPANSION: dict[str, Any] = {
    "tiles": {"11": 1, "13": 1, **CLASSIC["tiles"]},
    "bratworms": 7,
    "specialists": {
        "canned-worm": 11,
        "sitting-hen": 21,
        "raven": 23,
        "weasel": 25,
        "golden-die": 27,
        "apple": 29,
    },
}
SHORT = CLASSIC | {"name": "short", "title": "The 2005 alternative", "flip_returned": True}
EXTRAWURM = CLASSIC | EXPANSION | {"name": "extrawurm", "title": "2018", "steal": "must"}
EXTRAWURM_BOX = EXTRAWURM | {
    "name": "extrawurm-box",
    "title": "The boxed game of 2015",
    "specialists": {k: v for k, v in EXPANSION["specialists"].items() if k != "apple"},
    "golden_die_faces": [1, 1, 1, "worm", "worm", "worm"],
}
MANUAL = CLASSIC | {
    "name": "manual",
    "title": "The reference manual",
    "claim": "any-lower",
    "flip_without_return": True,
}
MANUAL_EXTRAWURM = (
    MANUAL
    | EXPANSION
    | {
        "name": "manual-extrawurm",
        "title": "The reference manual with expansion",
        "specialists": {k: v for k, v in EXPANSION["specialists"].items() if k != "apple"},
        "second_specialist": "keep-new",
        "weasel_rescues_bust": False,
        "exact_only_returns": False,
        "hen_saves_flip": False,
    }
)
FRENCH = CLASSIC | {
    "name": "french",
    "title": "French house rules",
    "lost_tile": "removed",
    "flip_without_return": True,
    "tiebreak": "shared",
}
PRESETS: dict[str, dict[str, Any]] = {
    rules["name"]: rules
    for rules in (CLASSIC, SHORT, EXTRAWURM, EXTRAWURM_BOX, MANUAL, MANUAL_EXTRAWURM, FRENCH)
}
