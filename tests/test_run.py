"""Tournaments: the schedule, the sums of its workers, and the intervals over blocks."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import partial
from itertools import permutations
from math import sqrt
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from blocks import first_game, play_blocks, seatings
from interval_reference import count_interval, scaled, share_interval
from numpy.testing import assert_allclose
from polars.testing import assert_frame_equal

import pickosim
from pickosim import PickosimError, Results, cli
from pickosim.amounts import LANE
from pickosim.engine.tally import PARTS
from pickosim.runs import run as run_module
from pickosim.runs.progress import Estimate
from pickosim.runs.workers import Workers
from pickosim.studies.arms import Chunk
from pickosim.studies.kinds import study_kind
from pickosim.studies.matchup_sums import GROUPS, count_choices
from pickosim.studies.options import PYTHON_ONLY, declared
from pickosim.studies.schedule import FIRST_LOOK, LOOK_GROWTH, Matchup, round_robin
from pickosim.studies.standings import ALL_BOTS, FRAMES
from pickosim.studies.tournament import game_of_run

tournament = partial(pickosim.tournament, workers=1)
"""In this process, unless a test says otherwise."""

TWINS = ["threshold:target=21", "threshold:target=21,last_dice=2"]
"""Two names of the same bot: `last_dice` is 2 by default."""


# ---------------------------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("bots", "players", "games", "message"),
    [
        (["eager"], 2, 10, "needs 2 bots, and only 1 is entered; a bot may be entered several"),
        (["eager"], 3, 10, "needs 3 bots, and only 1 is entered"),
        (["eager", "random"], 2, 0, 'e.g. 20000, 250k or 1M, not "0"'),
        (["eager", "threshold:targt=21..23"], 2, 10, 'no parameter "targt"; did you mean "target"'),
        (["eager", "radnom"], 2, 10, 'did you mean "random"'),
        (["eager", "random"], 1, 10, "2 to 7 players can play, not 1"),
    ],
)
def test_what_cannot_be_played_is_refused(bots, players, games, message):
    with pytest.raises(PickosimError, match=message):
        tournament(bots, "classic", players, games, seed=0)


def test_a_misspelt_option_is_refused_alike_from_python_and_the_command_line(capsys):
    with pytest.raises(PickosimError) as refused:
        pickosim.tournament(["eager", "random"], games=10, precison="1%")
    message, _, known = str(refused.value).partition("? ")
    assert f"{message}?" == 'There is no option "precison"; did you mean "precision"?'
    assert known.startswith("The options are bots, rules, players, games, seed, ")
    assert cli.run(["tournament", "eager", "random", "--games", "10", "--precison", "1%"]) == 2
    assert capsys.readouterr().err.startswith(
        'pickosim: There is no option "--precison"; did you mean "--precision"?'
    )


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("workers", "Workers are a whole number from 1 on, not 0."),
        ("players", "2 to 7 players can play, not 0"),
        ("games", 'Write games as a whole number above 0, e.g. 20000, 250k or 1M, not "0".'),
        ("max_matchups", "0 matchups cannot be played."),
    ],
)
def test_a_zero_is_refused_and_not_taken_for_the_default(option, message, tmp_path, capsys):
    with pytest.raises(PickosimError, match=re.escape(message)):
        pickosim.tournament(["eager", "random"], **{"games": 10, option: 0})
    flags = {"games": "10", "out": str(tmp_path / "run"), option: "0"}
    words = [word for name, value in flags.items() for word in (_flag(name), value)]
    assert cli.run(["tournament", "eager", "random", *words]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def _flag(option: str) -> str:
    return f"--{option.replace('_', '-')}"


@pytest.mark.parametrize(
    ("kind", "positional"), [("tournament", "bots"), ("compare", "rules"), ("balance", None)]
)
def test_python_and_the_command_line_have_the_same_options(kind, positional, capsys):
    signature = inspect.signature(getattr(pickosim, kind))
    assert cli.run([kind, "--help"]) == 0
    flags = set(re.findall(r"--[a-z][a-z-]*", capsys.readouterr().out))
    printing = {"--help", "--json", "--csv", "--full"}
    assert printing < flags
    named = {_flag(name) for name in signature.parameters if name not in PYTHON_ONLY}
    assert named - {_flag(positional or "")} == flags - printing
    assert set(PYTHON_ONLY) == {"progress", "chunk"} <= set(signature.parameters)
    by_name = {option.name: option.default for option in declared(study_kind(kind))}
    defaults = {name: parameter.default for name, parameter in signature.parameters.items()}
    assert defaults == by_name


def test_the_first_options_of_a_tournament_need_no_names():
    parameters = inspect.signature(pickosim.tournament).parameters
    assert list(parameters)[:5] == ["bots", "rules", "players", "games", "seed"]
    by_name = tournament(bots=["eager", "thief"], rules="french", players=2, games=40, seed=3)
    assert_same(tournament(["eager", "thief"], "french", 2, 40, 3), by_name)


# ------------------------------------------------------------------------------ against single runs


def block_means(matchup: Matchup, rules: str, first: int, blocks: int) -> dict[str, np.ndarray]:
    """(blocks,) win share of each bot, averaged over the seatings of a block, by way of `play`."""
    shares = {bot: np.zeros(blocks) for bot in matchup}
    for played in play_blocks(matchup, rules, blocks, 5, first):
        for bot, rows in played.seats.group_by("bot"):
            shares[bot[0]] += rows.sort("game")["win_share"].to_numpy() / len(matchup)
    return shares


def ends(row: dict, name: str) -> list[float]:
    """A rate and its interval."""
    return [row[f"{name}{end}"] for end in ("", "_low", "_high")]


def test_shares_and_intervals_are_those_of_the_blocks():
    bots = ("cautious", "eager", "random")
    result = tournament(bots, "extrawurm", 3, 600, seed=5)
    shares = block_means(bots, "extrawurm", first_game(bots), 200)
    assert result.games_played == 600
    assert sorted(result.standings["bot"]) == sorted(bots)
    for row in result.standings.iter_rows(named=True):
        values = shares[row["bot"]]
        assert row["games"] == 600
        assert ends(row, "win_share") == pytest.approx(share_interval(values, step=1 / 3))


def test_over_several_matchups_only_the_chance_within_each_counts():
    bots = ["cautious", "eager", "random"]
    result = tournament(bots, "classic", 2, 400, seed=5)
    values: dict[str, list[np.ndarray]] = {bot: [] for bot in bots}
    for matchup in round_robin(bots, 2)[0]:
        first = first_game(matchup)
        for bot, shares in block_means(matchup, "classic", first, 200).items():
            values[bot].append(shares)
            row = result.matchups.row(
                by_predicate=(pl.col("matchup") * LANE == first) & (pl.col("bot") == bot),
                named=True,
            )
            assert ends(row, "win_share") == pytest.approx(share_interval(shares, step=1 / 2))
    for row in result.standings.iter_rows(named=True):
        expected = share_interval(*values[row["bot"]], step=1 / 2)
        assert ends(row, "win_share") == pytest.approx(expected)


def test_scores_and_ranks_are_those_of_the_games():
    bots = ("eager", "random")
    row = tournament(bots, "classic", 2, 200, seed=3).standings.row(0, named=True)
    seats = pl.concat(
        [played.seats for played in play_blocks(bots, "classic", 100, 3, first_game(bots))]
    ).filter(pl.col("bot") == row["bot"])
    blocks = seats.group_by("game").agg(pl.col("score", "rank").mean())
    score, rank = (blocks[name].to_numpy() for name in ("score", "rank"))
    assert ends(row, "mean_score") == pytest.approx(count_interval(score, step=1 / 2))
    rank_interval = scaled(share_interval(rank - 1, step=1 / 2), 1, 2)
    assert ends(row, "mean_rank") == pytest.approx(rank_interval)


def test_the_difference_of_ratings_comes_with_its_error():
    result = tournament(["eager", "random", "cautious"], games=600, seed=1)
    best, second = result.standings.sort("rating", descending=True).head(2).iter_rows(named=True)
    pair = result.pairs.row(
        by_predicate=(pl.col("bot") == best["bot"]) & (pl.col("rival") == second["bot"]), named=True
    )
    apart, low, high = ends(pair, "rating_difference")
    assert apart == pytest.approx(best["rating"] - second["rating"])
    assert low < apart < high
    assert result.remarks == [
        "Ratings are relative to `eager`, which is 1500, among this field of 3 bots."
    ]


@pytest.mark.parametrize(
    ("bots", "options", "pattern"),
    [
        (["eager", "random"], {}, r"`eager` is first: it wins 9\d\.\d % of its games, 9\d\.?\d* ± \S+ points more "
         r"than `random`\."),
        (["eager", "threshold:target=24"], {"games": 20}, r"`\S+` is first: it wins \d\d\.\d % of its games, \S+ ± \S+ "
         r"points more than `\S+`, which could be chance\."),
        (["eager", "random"], {"points": "5,2"}, r"`eager` is first: it averages 4\.\d+ points per game, \S+ ± \S+ more "
         r"than `random`\."),
        (["eager", "eager"], {}, r"`eager` and `eager#2` are level: each wins 50\.?\d* ± \S+ % of its games\."),
        (["eager", "random", "thief"], {"focus": "eager"}, r"Against 2 bots, `eager` wins \d\d\.\d % of its games, "
         r"\S+ ± \S+ points more than an even share\."),
        (["champion", "expected"], {"focus": "eager"}, r"Against 2 bots, `eager` wins \d\d\.\d % of its games\. "
         r"Without luck it wins \S+ ± \S+ points less than an even share \(as certain as \d+ times as many games\)\."),
    ],
)  # fmt: skip
def test_the_headline_is_one_clause_with_one_verdict(bots, options, pattern):
    assert re.fullmatch(pattern, tournament(bots, **{"games": 300} | options).headline)


def test_win_shares_of_a_matchup_sum_to_one():
    result = tournament(["eager", "random", "cautious", "thief"], "french", 3, 300, seed=1)
    matchups = result.matchups.group_by("matchup").agg(pl.col("win_share").sum())
    assert matchups["win_share"].to_list() == pytest.approx([1.0] * 4)
    assert result.standings["win_share"].is_sorted(descending=True)


def test_of_two_bots_one_finishes_ahead():
    result = tournament(["eager", "random", "cautious"], "classic", 3, 300, seed=1)
    ahead = {(row["bot"], row["rival"]): row for row in result.pairs.iter_rows(named=True)}
    assert len(ahead) == 6
    for (bot, rival), row in ahead.items():
        assert row["ahead"] + ahead[rival, bot]["ahead"] == pytest.approx(1.0)
        assert row["ahead_low"] <= row["ahead"] <= row["ahead_high"]
        assert row["games"] == 300


def test_twins_share_the_wins():
    """With the same dice in both seatings, one twin's luck is the other's."""
    result = tournament(TWINS, "classic", 2, 20_000, seed=2)
    for row in result.standings.iter_rows(named=True):
        assert row["win_share"] == 0.5
        # No block of 10,000 proves that none would ever differ.
        assert 0.4999 < row["win_share_low"] < 0.5 < row["win_share_high"] < 0.5001
        assert 0 < row["rating_error"] < 0.1


def test_of_three_twins_the_interval_holds_one_half():
    """Who finishes ahead of one neighbour is up to chance: turning the seats does not cancel that out."""
    result = tournament([*TWINS, "threshold:last_dice=2,target=21"], "extrawurm", 3, 6_000, 4)
    for row in result.standings.iter_rows(named=True):
        assert row["win_share"] == pytest.approx(1 / 3)
    for row in result.pairs.iter_rows(named=True):
        assert row["ahead_low"] < 0.5 < row["ahead_high"]


# ------------------------------------------------------------------------------- workers and chunks


def assert_same(a: Results, b: Results) -> None:
    """Equal to the last bit."""
    assert a.manifest["result"] == b.manifest["result"]
    assert list(a.frames) == list(b.frames) == [name for name in FRAMES if name != "luck"]
    for name in a.frames:
        assert_frame_equal(a.frames[name], b.frames[name], check_exact=True)


@pytest.fixture(scope="module")
def whole() -> Results:
    return tournament(["eager", "random", "cautious"], "french", 3, 999, seed=8)


@pytest.mark.parametrize("workers", [2, 3])
def test_the_number_of_workers_changes_nothing(whole, workers, only_workers):
    bots = ["eager", "random", "cautious"]
    assert_same(tournament(bots, "french", 3, 999, 8, workers=workers, chunk=50), whole)


@pytest.fixture
def pools(monkeypatch) -> list[int]:
    """The number of workers of every pool that is started."""
    started: list[int] = []
    pool = Workers.pool

    def counted(self: Workers, *say: Callable[[str], object]):
        started.append(self.number)
        return pool(self, *say)

    monkeypatch.setattr(Workers, "pool", counted)
    return started


@pytest.fixture
def played_here(monkeypatch) -> list[str]:
    """The names of the chunks that are played in this process; workers have the class as it was."""
    names: list[str] = []
    play = Chunk.play

    def noted(self: Chunk, *entries, **options):
        names.append(self.name)
        return play(self, *entries, **options)

    monkeypatch.setattr(Chunk, "play", noted)
    return names


@pytest.mark.parametrize(
    ("limits", "here", "pools_started"),
    [
        ({}, 7, []),
        ({"WORKER_START": 0}, 1, [2]),
        ({"SMALL_CHUNK": 140}, 0, [2]),
        ({"SMALL_CHUNK": 141}, 7, []),
    ],
    ids=["all here", "one chunk here", "all by workers", "just small enough"],
)
def test_where_a_small_run_is_played_changes_nothing(
    whole, monkeypatch, pools, played_here, limits, here, pools_started
):
    for name, value in limits.items():
        monkeypatch.setattr(run_module, name, value)
    bots = ["eager", "random", "cautious"]
    assert_same(tournament(bots, "french", 3, 999, 8, workers=2, chunk=50), whole)
    assert (len(played_here), pools) == (here, pools_started)


@pytest.mark.parametrize("limit", ["SMALL_CHUNK", "WORKER_START"])
def test_where_a_run_of_one_chunk_is_played_changes_nothing(monkeypatch, pools, played_here, limit):
    """A chunk that was begun in this process ends there: without any left, workers are not started."""
    play = partial(tournament, ["eager", "random"], "extrawurm", 2, 60, seed=4)
    alone = play()
    assert (len(played_here), pools) == (1, [])
    monkeypatch.setattr(run_module, limit, 0)
    assert_same(play(workers=2), alone)
    by_workers = limit == "SMALL_CHUNK"
    assert (len(played_here), pools) == ((1, [2]) if by_workers else (2, []))


def test_one_worker_is_this_process(monkeypatch, pools):
    monkeypatch.setattr(run_module, "SMALL_CHUNK", 0)
    monkeypatch.setattr(run_module, "WORKER_START", 0)
    assert tournament(["eager", "random"], games=60, chunk=5).games_played == 60
    assert pools == []


@pytest.mark.parametrize("chunk", [7, 50, 332])
def test_the_size_of_chunks_changes_nothing(whole, chunk):
    bots = ["eager", "random", "cautious"]
    assert_same(tournament(bots, "french", 3, 999, seed=8, chunk=chunk), whole)


def test_another_seed_gives_other_games(whole):
    other = tournament(["eager", "random", "cautious"], "french", 3, 999, seed=9)
    assert not other.standings.equals(whole.standings)


def test_matchups_do_not_share_dice():
    """The twins' matchups against the same third bot would be equal if they did."""
    result = tournament([*TWINS, "random"], "classic", 2, 200, seed=0)
    scores = result.matchups.filter(pl.col("bot") == "random")["mean_score"]
    assert scores[0] != scores[1]


# ----------------------------------------------------------------------------------------- the rest


def test_unfinished_games_are_counted():
    rules = pickosim.load_rules("classic", ["turn_limit=20"])
    result = tournament(["eager", "random", "cautious"], rules, 2, 100, seed=0)
    expected = sum(
        int((~played.games["finished"]).sum())
        for matchup in round_robin(["cautious", "eager", "random"], 2)[0]
        for played in play_blocks(matchup, rules, 50, 0, first_game(matchup))
    )
    assert 0 < result.unfinished == expected <= result.games_played == 300


def test_a_single_block_tells_nothing():
    result = tournament(["eager", "random"], "classic", 2, 1, seed=0)
    assert result.games_played == 2
    assert result.standings["win_share_low"].to_list() == [0.0, 0.0]
    assert result.standings["win_share_high"].to_list() == [1.0, 1.0]


def test_a_mistake_in_a_worker_reaches_its_reader(tmp_path, only_workers):
    source = tmp_path / "wrong.py"
    source.write_text(
        "from pickosim import Strategy\n"
        "class Wrong(Strategy):\n"
        "    def pick(self, turn): return turn.best(turn.counts) * 0 + 7\n"
        "    def stop(self, turn): return turn.can_claim\n",
        encoding="utf-8",
    )
    with pytest.raises(
        PickosimError, match=r"returned 7; legal: .* To see that game: pickosim watch"
    ):
        tournament(["eager", str(source)], "classic", 2, 10, seed=0, workers=2)


# ------------------------------------------------------------------------------- are intervals true


@pytest.mark.long
def test_intervals_cover_the_truth_as_often_as_they_say():
    """Over 200 seeded tournaments; the truth is what one of 20 times their length finds."""
    bots = ["eager", "cautious"]
    long = tournament(bots, games=1_000_000, seed=10**6)
    truth = long.standings.sort("bot")
    score = long.pairs.row(0, named=True)["score_difference"]
    covered = dict.fromkeys(["win_share", "mean_score", "rating", "score_difference"], 0)
    for seed in range(200):
        result = tournament(bots, games=250, seed=seed)
        rows = result.standings.sort("bot")
        for name in ("win_share", "mean_score"):
            low, high = rows[f"{name}_low"][1], rows[f"{name}_high"][1]
            covered[name] += low <= truth[name][1] <= high
        error = rows["rating_error"][0]  # of `cautious`; that of `eager` is fixed
        covered["rating"] += abs(rows["rating"][0] - truth["rating"][0]) <= error
        pair = result.pairs.row(0, named=True)
        covered["score_difference"] += (
            pair["score_difference_low"] <= score <= pair["score_difference_high"]
        )
    assert all(180 <= number <= 198 for number in covered.values()), covered


# --------------------------------------------------------------------------------- when to stop


def test_a_precision_is_reached_and_hardly_more():
    result = tournament(["eager", "cautious", "random"], games="1M", precision="1%", seed=1)
    half = (result.standings["win_share_high"] - result.standings["win_share_low"]).max() / 2
    assert half <= 0.01
    assert half > 0.01 / sqrt(LOOK_GROWTH) * 0.95
    assert result.games_played > 2 * FIRST_LOOK * 3
    assert result.manifest["result"]["widest_half"] == pytest.approx(half)


def test_a_precision_out_of_reach_is_said():
    result = tournament(["eager", "cautious"], games=5_000, precision="0.005%", seed=1)
    assert result.games_played == 5_000
    assert "and not reached within 5,000 games per matchup" in result.remarks[0]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_sequential_test_decides_the_same_with_any_workers(workers, only_workers):
    result = tournament(["eager", "cautious"], games="1M", sprt="0,1%", seed=2, workers=workers)
    test = result.manifest["result"]["sprt"]
    assert (test["verdict"], result.games_played) == ("H1", 1_120)
    (row,) = result.standings.filter(bot="eager").iter_rows(named=True)
    share, low, high = (100 * end for end in ends(row, "win_share"))
    measured = (
        f"Measured: {share:.1f} % ± {(high - low) / 2:.1f}; stopping early overstates differences."
    )
    assert result.headline == (
        f"Stopped after 1,120 games: `eager` is better than even against `cautious` (test at 5 %). {measured}"
    )
    other = tournament(["cautious", "eager"], games="1M", sprt="0,1%", seed=2, workers=workers)
    assert other.manifest["result"]["sprt"]["verdict"] == "H0"
    assert "`cautious` is not 1 point better than even against `eager`" in other.headline


def test_a_sequential_test_ends_at_its_cap():
    bots = ["eager", "threshold:target=24"]
    result = tournament(bots, games=6_000, sprt="-0.05%,0.05%", seed=2)
    assert result.games_played == 6_000
    assert result.manifest["result"]["sprt"]["verdict"] is None
    assert result.headline.startswith(
        "Not decided within 6,000 games: `eager` may be -0.05 or +0.05 points off even against "
        "`threshold:target=24` (test at 5 %). Measured: "
    )


def test_a_sequential_test_of_more_than_two_bots_is_about_the_first():
    """Against its even share: 1/3 with three bots."""
    bots = ["eager", "random", "cautious"]
    result = tournament(bots, games="100k", sprt="0,5%", together=True, seed=1)
    test = result.manifest["result"]["sprt"]
    share = result.standings.row(by_predicate=pl.col("bot") == "eager", named=True)["win_share"]
    assert (test["verdict"], share > 0.4) == ("H1", True)
    assert "`eager` is better than even against `cautious` and `random`" in result.headline
    worst = tournament(bots[::-1], games="100k", sprt="0,5%", players=3, focus="random", seed=1)
    assert worst.manifest["result"]["sprt"]["verdict"] == "H0"


# ------------------------------------------------------------------------------------ the schedule


def test_what_was_rounded_up_or_sampled_is_said():
    rounded = tournament(["eager", "random", "cautious"], players=3, games=100)
    assert rounded.games_played == 102
    assert rounded.remarks[0] == (
        "100 games per matchup are not a whole number of blocks of 3: rounded up to 102."
    )
    assert rounded.remarks[-1] == (
        "With only 34 blocks (games with the same dice), intervals are wide, and small differences do not show."
    )
    enough = tournament(["eager", "random"], games=200)
    assert enough.remarks == []
    sample = tournament(["threshold:target=21..26"], players=3, games=30, max_matchups=5, seed=7)
    assert sample.remarks[0] == "A sample of 5 of 20 possible matchups, drawn with seed 7."
    assert len(sample.matchups) == 15


def test_a_gauntlet_and_one_matchup_of_all():
    gauntlet = tournament(["eager", "random", "thief"], games=20, focus="thief")
    assert gauntlet.matchups["bots"].unique(maintain_order=True).to_list() == [
        "thief - eager",
        "thief - random",
    ]
    one = tournament(["eager", "eager", "random"], together=True, games=20)
    assert one.matchups["bot"].to_list() == ["eager", "eager#2", "random"]


def test_tables_are_as_documented():
    result = tournament(["eager", "random"], "extrawurm", games=40)
    with_points = tournament(["eager", "random"], "extrawurm", games=40, points="3,1")
    names = [name for name in FRAMES if name != "luck"]
    assert list(result.frames) == list(with_points.frames) == names
    for name in names:
        unjudged = FRAMES[name].without("win_share_adjusted", "luck")
        assert result.frames[name].schema == pl.Schema(unjudged.without("mean_points").schema)
        assert with_points.frames[name].schema == pl.Schema(unjudged.schema)
    assert result.specialists["specialist"].n_unique() == len(
        pickosim.load_rules("extrawurm").specialists
    )


def test_seats_specialists_and_histograms_are_those_of_the_games():
    bots = ("cautious", "eager", "random")
    result = tournament(bots, "extrawurm", 3, 300, seed=3)
    played = play_blocks(bots, "extrawurm", 100, 3, first_game(bots))
    seats = pl.concat([one.seats for one in played])
    for row in result.seats.iter_rows(named=True):
        rows = seats.filter(pl.col("seat") == row["seat"])
        if row["bot"] != ALL_BOTS:
            rows = rows.filter(pl.col("bot") == row["bot"])
        assert row["games"] == len(rows)
        assert row["win_share"] == pytest.approx(rows["win_share"].mean())
        assert row["mean_score"] == pytest.approx(rows["score"].mean())
        assert row["win_share_low"] < row["win_share"] < row["win_share_high"]
    specialists = pl.concat(
        [
            one.specialists.join(one.seats, on=["game", "seat"]).with_columns(rotation=pl.lit(k))
            for k, one in enumerate(played)
        ]
    )
    for row in result.specialists.iter_rows(named=True):
        rows = specialists.filter(
            (pl.col("bot") == row["bot"]) & (pl.col("specialist") == row["specialist"])
        )
        held = rows.filter("held_at_end")
        assert (row["games"], row["games_held"]) == (len(rows), len(held))
        blocks = rows.group_by("game").agg(
            pl.col("gained", "turns_held", "used", "held_at_end").mean()
        )
        for name in ("gained", "turns_held", "used"):
            expected = count_interval(blocks[name].to_numpy(), step=1 / 3)
            assert ends(row, name) == pytest.approx(expected)
        held_at_end = share_interval(blocks["held_at_end"].to_numpy(), step=1 / 3)
        assert ends(row, "held_at_end") == pytest.approx(held_at_end)
        if len(held):
            assert row["win_share_held"] == pytest.approx(held["win_share"].mean())
            assert row["win_share_held_low"] <= row["win_share_held"] <= row["win_share_held_high"]
    games = pl.concat([one.games for one in played])
    assert dict(result.lengths.iter_rows()) == dict(games["turns"].value_counts().iter_rows())
    for bot in bots:
        counted = seats.filter(pl.col("bot") == bot)["score"].value_counts()
        rows = result.scores.filter(pl.col("bot") == bot).select("score", "games")
        assert dict(rows.iter_rows()) == dict(counted.iter_rows())


@pytest.mark.parametrize("players", [2, 3, 5])
def test_choices_are_those_of_all_orders_of_the_tied(players):
    """Against a count that writes out every order."""
    rng = np.random.default_rng(players)
    ranks = rng.integers(1, 4, (40, players))
    ranks = (1 + (ranks[:, None, :] < ranks[:, :, None]).sum(axis=2)).astype(np.uint8)
    counted = np.zeros((GROUPS, 1 << players, players), np.int64)
    count_choices(ranks, 100, counted)
    expected = np.zeros(counted.shape)
    for block, rank in enumerate(ranks):
        orders = [o for o in permutations(range(players)) if list(rank[list(o)]) == sorted(rank)]
        for order in orders:
            for place in range(players - 1):
                left = sum(1 << bot for bot in order[place:])
                expected[(100 + block) % GROUPS, left, order[place]] += PARTS / len(orders)
    assert_allclose(counted, expected)


def test_workers_play_in_the_directory_of_their_run(tmp_path, monkeypatch, only_workers):
    """Workers are kept for the next run: they must find its bots, and not those where they were started."""
    actual = []
    for target in (21, 28):
        place = tmp_path / str(target)
        place.mkdir()
        monkeypatch.chdir(place)
        Path("mine.py").write_text(
            "from pickosim.strategies.threshold import Threshold\n"
            f"class Mine(Threshold):\n    target: int = {target}\n",
            encoding="utf-8",
        )
        results = tournament(
            ["mine.py", "eager"], games=400, workers=2, chunk=50, out="run", save_games=True
        )
        assert len(list(Path("run/games").iterdir())) == 4
        actual.append(results.standings["mean_score"].to_list())
        same = [f"threshold:target={target}", "eager"]
        blocks = play_blocks(same, "classic", 200, 0, first_game(["mine.py", "eager"]))
        scores = pl.concat(block.seats for block in blocks).group_by("bot").agg(pl.mean("score"))
        assert sorted(scores["score"]) == pytest.approx(sorted(actual[-1]))
    assert actual[0] != actual[1]


# ------------------------------------------------------------------------------ the order of naming

FOUR = ["thief", "eager", "random", "gambler"]


@pytest.mark.parametrize("order", [[3, 2, 1, 0], [1, 3, 0, 2]])
def test_the_order_in_which_bots_are_named_does_not_matter(order):
    named = tournament(FOUR, "extrawurm", together=True, games=480, seed=8)
    others = tournament([FOUR[k] for k in order], "extrawurm", together=True, games=480, seed=8)
    assert_same(others, named)
    pairs = tournament(FOUR, "classic", 3, 90, seed=8, max_matchups=3)
    assert_same(tournament([FOUR[k] for k in order], "classic", 3, 90, 8, max_matchups=3), pairs)


def test_copies_of_a_bot_do_equally_well():
    """With one cyclic order alone, the copy behind `random` won several points more."""
    bots = ["thief", "random", "thief", "gambler"]
    standings = tournament(bots, "extrawurm", together=True, games=48_000, seed=8).standings
    first, second = (
        standings.filter(pl.col("bot") == name).row(0, named=True) for name in ("thief", "thief#2")
    )
    half = (first["win_share_high"] - first["win_share_low"]) / 2
    assert abs(first["win_share"] - second["win_share"]) < 2.5 * half


def test_saved_games_say_who_sat_where(tmp_path):
    result = tournament(
        FOUR, "classic", together=True, games=40, seed=4, save_games=True, out=tmp_path / "run"
    )
    saved = pl.read_parquet(tmp_path / "run" / "games" / "*.parquet")
    for block in range(10):
        for rotation, bots in enumerate(seatings(sorted(FOUR), block)):
            game = first_game(FOUR) + block
            rows = saved.filter((pl.col("game") == game) & (pl.col("rotation") == rotation))
            assert rows.sort("seat")["bot"].to_list() == list(bots)
            played = pickosim.play(bots, "classic", games=1, seed=4, first=game).seats
            assert rows.sort("seat")["score"].to_list() == played["score"].to_list()
            match = game_of_run(tmp_path / "run", game, rotation).match
            assert match.specs == bots
    assert result.games_played == 40


def test_the_estimate_counts_from_the_first_answer_on():
    estimate = Estimate()
    estimate.begin(1000, 0)
    assert estimate.after(100, 500.0) == ""  # 500 seconds of compiling do not count
    assert estimate.after(50, 501.0) == ""  # too soon
    assert estimate.after(50, 510.0) == "The next 800 games take about 80 seconds."
    assert estimate.after(50, 520.0) == ""  # said once


def test_the_estimate_starts_again_after_a_kernel_was_compiled():
    estimate = Estimate()
    estimate.begin(1000, 0)
    assert estimate.after(50, 500.0) == estimate.after(50, 501.0) == ""
    estimate.restart()
    assert estimate.after(50, 900.0) == ""
    assert estimate.after(50, 910.0) == "The next 800 games take about 3 minutes."


def test_the_estimate_of_a_short_rest_is_not_said():
    estimate = Estimate()
    estimate.begin(300, 0)
    assert [estimate.after(100, now) for now in (0.0, 10.0, 20.0)] == ["", "", ""]


def test_the_estimate_of_stages_includes_what_is_done_between_them():
    estimate = Estimate()
    estimate.begin(100, 900)
    assert estimate.after(50, 0.0) == estimate.after(50, 50.0) == ""
    estimate.begin(100, 800)
    assert estimate.after(50, 60.0) == estimate.after(50, 65.0) == ""
    estimate.begin(100, 700)  # after 45 seconds of something else
    assert estimate.after(50, 110.0) == "The next 750 games take about 6 minutes."
