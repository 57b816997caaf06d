"""Scenarios played by the reference game."""

from __future__ import annotations

import json
from typing import Any

from reference import (
    PRESETS,
    Claim,
    Eager,
    Event,
    Game,
    RuleBroken,
    Source,
    TraceReader,
    Turn,
    check_conservation,
    play_turn,
    read_rules,
    set_up,
    tell_end,
)
from scenarios import Happened, Illegal, Place, Script, Situation


class Scripted(Source):
    """Dice and decisions of a script. Where there is one claim or rival only, it is not asked."""

    def __init__(self, script: Script) -> None:
        self.script = script

    def roll(self, game: Game, turn: Turn) -> Any:
        throw = self.script.next_throw()
        return list(throw.white), throw.golden

    def use_golden_die(self, game: Game, turn: Turn) -> Any:
        return self.script.ask("use_golden_die")

    def reroll(self, game: Game, turn: Turn) -> Any:
        return self.script.ask("reroll")

    def pick(self, game: Game, turn: Turn) -> Any:
        return self.script.ask("pick", turn.new_faces)

    def stop(self, game: Game, turn: Turn) -> Any:
        return self.script.ask("stop")

    def claim(self, game: Game, turn: Turn, claims: list[Claim]) -> Any:
        if len(claims) == 1:
            return claims[0]
        # A hen stands for the tile that it guards.
        by_tile = {claim.tile or game.stacks[claim.victim][-1]: claim for claim in claims}
        tile = self.script.ask("claim", sorted(by_tile))
        return by_tile.get(tile, tile)

    def keep_new_specialist(self, game: Game, turn: Turn, new: str, old: str) -> Any:
        return self.script.ask("keep_new_specialist", {"old": old, "new": new})

    def rob(self, game: Game, turn: Turn, rivals: list[int]) -> Any:
        return rivals[0] if len(rivals) == 1 else self.script.ask("rob", sorted(rivals))


class RobsByDefault(Scripted):
    """Leaves open whom to rob."""

    rob = Eager.rob


def options_of(situation: Situation) -> dict[str, Any]:
    return PRESETS[situation.rules] | dict(situation.options)


def game_in(situation: Situation, source: Source) -> Game:
    """A game in this situation."""
    game = set_up(read_rules(options_of(situation)), len(situation.stacks), source)
    game.stacks = [list(stack) for stack in situation.stacks]
    game.grill = situation.grill_of(game.rules.tiles)
    game.flipped = sorted(set(game.rules.tiles).difference(game.grill, *game.stacks))
    places = situation.places()
    game.held = [[n for n in places if places[n] == {"seat": s}] for s in range(game.seats)]
    game.on_tile = {place: name for name, place in places.items() if isinstance(place, int)}
    game.out = [name for name in game.rules.specialists if name not in places]
    game.bratworms = situation.bratworms_of_seats()
    game.supply -= sum(game.bratworms)
    game.turn = situation.turn - 1
    check_conservation(game)
    return game


def read_turn(situation: Situation, trace: list[Event], bot: str = "any") -> list[Event]:
    """The turn out of a trace, as the reference plays it; every seat is played by `bot`."""
    game = game_in(situation, TraceReader(trace, [bot] * len(situation.stacks)))
    play_turn(game)
    return game.events


def play_on_reference(situation: Situation, script: Script) -> Happened:
    """Play the turn, and read it again out of its own trace."""
    source = RobsByDefault if situation.robs_by_default else Scripted
    game = game_in(situation, source(script))
    try:
        play_turn(game)
    except RuleBroken as error:
        raise Illegal(str(error)) from error
    trace = json.loads(json.dumps(game.events))
    assert read_turn(situation, trace) == trace
    if not game.grill or game.turn >= game.rules.turn_limit:
        tell_end(game)
    held: dict[str, Place] = {n: {"seat": s} for s, names in enumerate(game.held) for n in names}
    return Happened(
        rules=options_of(situation),
        events=game.events,
        grill=game.grill,
        flipped=sorted(game.flipped),
        stacks=game.stacks,
        specialists=held | {name: tile for tile, name in game.on_tile.items()},
        bratworms=game.bratworms,
        supply=game.supply,
    )
