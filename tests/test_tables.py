"""Results as frames: their columns, and what their numbers say about each other."""

from __future__ import annotations

from decimal import Decimal
from importlib.util import find_spec

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from traces import trace_games

import pickosim
from pickosim.bots.strategy import Strategy
from pickosim.columns import COLUMNS, by_name, percentage
from pickosim.errors import PickosimError
from pickosim.games.played import Played
from pickosim.rule_files import PRESETS
from pickosim.rules import SPECIALISTS

GAMES = {
    "game": pl.Int64,
    "turns": pl.Int32,
    "rolls": pl.Int32,
    "fails_no_new_face": pl.Int32,
    "fails_no_worm": pl.Int32,
    "fails_nothing_to_claim": pl.Int32,
    "steals": pl.Int32,
    "hen_steals": pl.Int32,
    "flips": pl.Int32,
    "finished": pl.Boolean,
}
SEATS = {
    "game": pl.Int64,
    "seat": pl.Int32,
    "bot": pl.String,
    "score": pl.Int32,
    "worms": pl.Int32,
    "tiles": pl.Int32,
    "bratworms": pl.Int32,
    "rank": pl.Int32,
    "win_share": pl.Float64,
}
SPECIALIST = {
    "game": pl.Int64,
    "specialist": pl.String,
    "seat": pl.Int32,
    "gained": pl.Int32,
    "turns_held": pl.Int32,
    "used": pl.Int32,
    "held_at_end": pl.Boolean,
}
FRAMES = {"games": GAMES, "seats": SEATS, "specialists": SPECIALIST}
BOTS = ["eager", "random", "eager", "random", "eager", "random", "eager"]


@pytest.fixture(scope="module", params=zip(PRESETS, (2, 4, 7, 2, 4, 7, 3), strict=True), ids=str)
def played(request) -> Played:
    preset, players = request.param
    return pickosim.play(BOTS[:players], preset, games=120, seed=11)


# ----------------------------------------------------------------------------------- their columns


@pytest.mark.parametrize("frame", FRAMES)
def test_columns_and_their_types(played, frame):
    assert list(getattr(played, frame).schema.items()) == list(FRAMES[frame].items())


def test_one_row_for_each(played):
    players, present = len(played.match.specs), list(played.match.rules.specialists)
    assert played.games["game"].to_list() == list(range(120))
    rows = [(game, seat) for game in range(120) for seat in range(players)]
    assert played.seats.select("game", "seat").rows() == rows
    kinds = [name for name in SPECIALISTS if name in present]
    rows3 = [(g, k, s) for g in range(120) for k in kinds for s in range(players)]
    assert played.specialists.select("game", "specialist", "seat").rows() == rows3


def test_without_specialists_the_frame_is_empty():
    frame = pickosim.play(["eager", "random"], "classic", games=10).specialists
    assert frame.is_empty()
    assert list(frame.schema.items()) == list(SPECIALIST.items())


def test_a_single_specialist_has_its_own_rows():
    rules = pickosim.load_rules("classic", ["specialists.weasel=30"])
    frame = pickosim.play(["eager", "random"], rules, games=10).specialists
    assert frame["specialist"].unique().to_list() == ["weasel"]
    assert len(frame) == 20


def test_frames_are_made_once(played):
    assert played.games is played.games
    assert played.seats is played.seats


# -------------------------------------------------------------------------------- wins, ranks, ties


def test_win_shares_sum_to_one_and_split_ties(played):
    first = pl.col("rank") == 1
    games = played.seats.group_by("game").agg(
        total=pl.col("win_share").sum(),
        winners=first.sum(),
        of_winner=pl.col("win_share").filter(first).max(),
        least_of_winner=pl.col("win_share").filter(first).min(),
        of_others=pl.col("win_share").filter(~first).sum(),
    )
    assert games["total"].to_list() == pytest.approx([1.0] * 120)
    assert games["of_others"].sum() == 0
    share = [1 / winners for winners in games["winners"]]
    assert games["of_winner"].to_list() == games["least_of_winner"].to_list() == share


def test_ranks_count_those_who_are_better(played):
    """1, 1, 3: among equal scores the highest tile decides, unless the rules share the rank."""
    shared = played.match.rules.tiebreak == "shared"
    for game, trace in enumerate(trace_games(played.match, 0, 40)):
        seats = played.seats.filter(pl.col("game") == game)
        standing = [
            (score, 0 if shared else max(stack, default=0))
            for score, stack in zip(seats["score"], trace[-1]["tiles"], strict=True)
        ]
        ranks = [1 + sum(other > own for other in standing) for own in standing]
        assert seats["rank"].to_list() == ranks


def test_shared_first_places_occur():
    seats = pickosim.play(["random"] * 7, "french", games=2000, seed=1).seats
    assert set(seats["win_share"].unique()) > {0.0, 1.0, 0.5, 1 / 3}


def test_nobody_shares_a_tile_so_only_the_poor_share_a_rank():
    seats = pickosim.play(["random"] * 7, "classic", games=2000, seed=1).seats
    tied = seats.filter(pl.len().over("game", "rank") > 1)
    assert len(tied) > 0
    assert tied["tiles"].max() == 0


# --------------------------------------------------------------------------- sums within the frames


def test_scores_are_worms_bratworms_and_apple(played):
    rules = played.match.rules
    apple = (
        played.specialists.filter(pl.col("specialist") == "apple", pl.col("held_at_end"))
        .select("game", "seat")
        .with_columns(apple=pl.lit(rules.apple_worms, pl.Int32))
    )
    seats = played.seats.join(apple, on=["game", "seat"], how="left").fill_null(0)
    assert (seats["score"] == seats["worms"] + seats["bratworms"] + seats["apple"]).all()


def test_every_tile_is_taken_or_flipped_in_a_finished_game(played):
    taken = played.seats.group_by("game", maintain_order=True).agg(pl.col("tiles").sum())["tiles"]
    games = played.games.with_columns(taken=taken).filter("finished")
    assert (games["taken"] + games["flips"] == len(played.match.rules.tiles)).all()


def test_turns_are_claims_or_fails(played):
    fails = pl.sum_horizontal("^fails_.*$")
    claims = played.games.select(pl.col("turns") - fails).to_series()
    steals = played.games.select(pl.col("steals") + pl.col("hen_steals")).to_series()
    assert (claims >= steals).all()
    assert (played.games["rolls"] >= played.games["turns"]).all()


def test_nobody_holds_two_and_a_specialist_has_one_holder(played):
    held = played.specialists.filter("held_at_end")
    assert held.select("game", "seat").is_duplicated().sum() == 0
    assert held.select("game", "specialist").is_duplicated().sum() == 0
    assert "raven" not in held["specialist"]
    assert (held["gained"] > 0).all()


def test_nobody_holds_a_specialist_longer_than_the_game(played):
    held = played.specialists.group_by("game", "specialist").agg(pl.col("turns_held").sum())
    longest = held.join(played.games.select("game", "turns"), on="game")
    assert (longest["turns_held"] <= longest["turns"]).all()


# ------------------------------------------------------------------------------- numbers and limits


@pytest.mark.parametrize("rules", ["classic", "extrawurm"])
def test_a_run_is_the_sum_of_its_parts(rules):
    bots = ["eager", "random", "eager"]
    whole = pickosim.play(bots, rules, games=300, seed=4)
    parts = [
        pickosim.play(bots, rules, games=130, seed=4),
        pickosim.play(bots, rules, games=170, seed=4, first=130),
    ]
    for name in FRAMES:
        joined = pl.concat([getattr(part, name) for part in parts])
        assert_frame_equal(joined, getattr(whole, name), check_exact=True)


def test_unfinished_games_are_reported():
    rules = pickosim.load_rules("classic", ["turn_limit=30"])
    played = pickosim.play(["eager", "random"], rules, games=400)
    assert 0 < played.unfinished < 400
    assert played.unfinished == played.games["finished"].not_().sum()
    ended = played.games.filter(~pl.col("finished"))
    assert (ended["turns"] == 30).all()


def test_finished_games_are_all_but_certain_in_every_preset(played):
    assert played.unfinished == 0
    assert played.games["finished"].all()


def test_numbers_far_out_are_games_too():
    last = (1 << 62) - 1
    played = pickosim.play(["eager", "random"], games=2, first=last - 1, seed=(1 << 64) - 1)
    assert played.games["game"].to_list() == [last - 1, last]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"games": 0}, "0 games cannot be played"),
        ({"games": -3}, "-3 games cannot be played"),
        ({"first": -1}, "there is no game -1"),
        ({"first": 1 << 62}, "Games are numbered from 0"),
        ({"seed": -1}, "The seed must be a whole number"),
        ({"seed": 1 << 64}, "The seed must be a whole number"),
        ({"rules": "clasic"}, 'did you mean "classic"'),
    ],
)
def test_what_cannot_be_played_is_refused(options, message):
    with pytest.raises(PickosimError, match=message):
        pickosim.play(["eager", "random"], **{"games": 10, **options})


def test_one_name_is_no_list_of_bots():
    with pytest.raises(PickosimError, match="Pass the bots as a list"):
        pickosim.play("eager")


def test_bots_made_in_python_are_named_like_on_the_command_line():
    from pickosim.strategies.threshold import Threshold

    played = pickosim.play(["eager", Threshold(target=23)], games=5)
    assert played.seats["bot"].unique(maintain_order=True).to_list() == [
        "eager",
        "threshold:target=23",
    ]
    by_name = pickosim.play(["eager", "threshold:target=23"], games=5)
    assert_frame_equal(played.seats, by_name.seats)


def test_the_public_names_are_there():
    for name in pickosim.__all__:
        assert getattr(pickosim, name) is not None
    assert set(pickosim.__all__) <= set(dir(pickosim))
    assert issubclass(pickosim.Strategy, Strategy)
    with pytest.raises(AttributeError, match="nonsense"):
        _ = pickosim.nonsense


def test_no_public_name_is_that_of_a_module():
    """An import would bind the module to it in the package, in place of what it names."""
    for name in pickosim.__all__:
        result = find_spec(f"pickosim.{name}")
        assert result is None or result.origin is None, f"{name}: a folder of data is no module"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pickosim.tournament(["eager", "random"], workers=0), "Workers are a whole number"),
        (
            lambda: pickosim.tournament(["eager", "random"], workers="2"),
            r"^workers cannot be '2'; e\.g\. workers = 2\.$",
        ),
        (lambda: pickosim.tournament(["eager", "random"], players=8), "2 to 7 players can play"),
        (
            lambda: pickosim.tournament(["eager", "random"], players="2"),
            r"^players cannot be '2'; e\.g\. players = 4\.$",
        ),
        (
            lambda: pickosim.tournament(["eager", "random"], seed=1.5),
            r"^seed cannot be 1\.5; e\.g\. seed = 1\.$",
        ),
        (
            lambda: pickosim.tournament(["eager", "random"], seed=-1),
            "The seed must be a whole number",
        ),
        (
            lambda: pickosim.tournament([None, "eager"]),
            r"^bots cannot be \[None, 'eager'\]; e\.g\. bots = \['eager', 'random'\]\. A bot is a name or path, or a class",
        ),
        (
            lambda: pickosim.tournament(["eager", "random"], max_matchups=0),
            "0 matchups cannot be played",
        ),
        (
            lambda: pickosim.tournament(["eager", "random"], save_games=True),
            "saved in a run folder",
        ),
        (
            lambda: pickosim.tournament(["eager", "random"], chunk=0),
            "Blocks per chunk are a whole number from 1 on, not 0",
        ),
        (
            lambda: pickosim.tournament(["eager", "random"], chunk=-1),
            "Blocks per chunk are a whole number from 1 on, not -1",
        ),
        (lambda: pickosim.balance(players=[]), "Name one number of players at least"),
        (lambda: pickosim.balance(players=[2, 9]), "2 to 7 players can play, not 9"),
        (lambda: pickosim.balance(specialists="aple"), 'did you mean "apple"'),
        (lambda: pickosim.balance(specialists=3), "^specialists cannot be 3; e"),
    ],
)
def test_a_mistake_in_python_is_answered_like_one_on_the_command_line(call, message):
    with pytest.raises(PickosimError, match=message):
        call()


def test_one_game_event_by_event():
    trace = pickosim.watch(["eager", "random"], game=1)
    assert (trace[0]["event"], trace[0]["game"]) == ("game", 1)
    played = pickosim.play(["eager", "random"], games=1, first=1)
    assert trace[-1]["scores"] == played.seats["score"].to_list()


def test_a_column_that_is_declared_twice_is_refused():
    bot, rival = COLUMNS["bot"], COLUMNS["rival"]
    assert by_name([bot, rival]) == {"bot": bot, "rival": rival}
    with pytest.raises(ValueError, match=r"declared twice: bot\.$"):
        by_name([bot, rival, bot])


def test_percentages_of_a_pair_add_up():
    for games in (7, 80, 400, 2_000):
        for wins in range(games + 1):
            share = wins / games
            for places in (1, 2):
                shown = [Decimal(percentage(one, places)) for one in (share, 1 - share)]
                assert sum(shown) == 100
                assert abs(float(shown[0]) - 100 * share) < 0.501 * 10**-places


@pytest.mark.parametrize("rules", [*PRESETS, "removed"])
def test_turns_are_what_the_traces_tell(rules):
    named = ("classic", ["lost_tile=removed"]) if rules == "removed" else (rules, [])
    bots = ["random", "eager", "thief"]
    played = pickosim.play(bots, named[0], games=30, seed=4, set=named[1], turns=True)
    match = played.match
    reported = []
    for trace in trace_games(match, 0, 30):
        stacks = [[] for _ in bots]
        for event in trace:
            seat, kind = event.get("seat"), event["event"]
            if kind == "roll" and (
                not reported or reported[-1][:2] != [trace[0]["game"], event["turn"]]
            ):
                reported.append([trace[0]["game"], event["turn"], seat, bots[seat], 0, *[None] * 5])
            row = reported[-1] if reported else []
            match kind:
                case "roll":
                    row[4] += 1
                case "stop":
                    row[5] = event["total"]
                case "take" | "steal":
                    row[6], row[8] = kind, event["tile"]
                    for stack in stacks:
                        stack[:] = [tile for tile in stack if tile != event["tile"]]
                    stacks[seat].append(event["tile"])
                case "steal-hen":
                    row[6] = kind
                case "fail":
                    row[6], row[7] = kind, event["reason"]
                case "return":
                    row[9] = event["tile"]
                    stacks[seat].remove(event["tile"])
                case "flip":
                    for stack in stacks:
                        if event["tile"] in stack:
                            stack.remove(event["tile"])
                            row[9] = event["tile"]
    assert [list(row) for row in played.turns.iter_rows()] == reported
    assert played.games_played == len(played.games) == 30
    assert pickosim.play(bots, games=2).turns is None


def test_turns_do_not_depend_on_how_many_games_are_logged_at_once(monkeypatch):
    whole = pickosim.play(["eager", "random"], games=50, turns=True)
    monkeypatch.setattr("pickosim.games.played.LOGGED", 7)
    parts = pickosim.play(["eager", "random"], games=50, turns=True)
    assert_frame_equal(parts.turns, whole.turns)
    assert_frame_equal(parts.seats, whole.seats)
