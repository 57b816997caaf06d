"""Places of a tournament and points for them: ties, intervals over blocks, and what the points decide."""

from __future__ import annotations

import re
from functools import partial
from math import inf, sqrt
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from interval_reference import scaled, share_interval
from polars.testing import assert_frame_equal

import pickosim
from pickosim import Results
from pickosim.amounts import parse_points, points_by_place
from pickosim.engine.tally import PARTS
from pickosim.errors import PickosimError
from pickosim.reports.layout import Grid
from pickosim.reports.views import as_text, shown_views
from pickosim.runs.folder import RunFolder
from pickosim.stats.distributions import student_quantile
from pickosim.studies.matchup_sums import GROUPS, _empty_game_sums, add_games
from pickosim.studies.shares import Shares
from pickosim.studies.standings import tables_with, tournament_rows

tournament = partial(pickosim.tournament, workers=1)
"""In this process, unless a test says otherwise."""

POINTS = (7.0, 5.0, 3.0, 1.0)
BOTS = ["eager", "cautious", "random", "gambler", "late-worms"]
ENDS = ("", "_low", "_high")


def by_bot(frame: pl.DataFrame, column: str) -> dict[str, float]:
    return dict(zip(frame["bot"], frame[column], strict=True))


# ------------------------------------------------------------------------------------------ by hand

RANKS = np.array(
    [
        # Bots a, b, c in seats 0, 1, 2: a and b share first place; then nobody ties.
        [[1, 1, 3], [1, 2, 3]],
        # b, c, a: b wins, c and a share the second and third place; then all three tie.
        [[1, 2, 2], [1, 1, 1]],
        # c, a, b: all three tie; then c wins before b and a.
        [[1, 1, 1], [1, 3, 2]],
    ],
    np.uint8,
)
"""(R, B, P): by rotation, block and seat."""

SEATED = np.array([[[0, 1, 2]] * 2, [[1, 2, 0]] * 2, [[2, 0, 1]] * 2], np.uint8)

THIRD = 1 / 3
BLOCKS = {
    "a": [
        [0.5 + 0 + THIRD, 0.5 + 0.5 + THIRD, 0 + 0.5 + THIRD],
        [1 + THIRD + 0, 0 + THIRD + 0, 0 + THIRD + 1],
    ],
    "b": [
        [0.5 + 1 + THIRD, 0.5 + 0 + THIRD, 0 + 0 + THIRD],
        [0 + THIRD + 0, 1 + THIRD + 1, 0 + THIRD + 0],
    ],
    "c": [
        [0 + 0 + THIRD, 0 + 0.5 + THIRD, 1 + 0.5 + THIRD],
        [0 + THIRD + 1, 0 + THIRD + 0, 1 + THIRD + 0],
    ],
}
"""By bot, block and place: how often it took it in the three games of the block."""


def frames_by_hand(points: tuple[float, ...] | None = None) -> dict[str, pl.DataFrame]:
    sums = _empty_game_sums(3, 1)
    add_games(RANKS, np.zeros(RANKS.shape, np.uint16), SEATED, sums)
    part = {
        "blocks": np.array(2),
        **sums._asdict(),
        "choices": np.zeros((GROUPS, 8, 3), np.int64),
        "turns": np.array([0, 6]),
    }
    rows = tournament_rows("abc", [("a", "b", "c")], [part], (), points)
    return {name: frame.build(rows[name]) for name, frame in tables_with(points, ()).items()}


def test_the_sums_are_those_of_a_count_by_hand():
    sums = _empty_game_sums(3, 1)
    add_games(RANKS, np.zeros(RANKS.shape, np.uint16), SEATED, sums)
    by_bot = [np.rint(PARTS * np.array(blocks)).astype(np.int64) for blocks in BLOCKS.values()]
    for number, totals in enumerate(by_bot):
        assert sums.places[number].tolist() == totals.sum(axis=0).tolist()
        for other, others in enumerate(by_bot):
            products = sums.place_products[number, :, other]
            assert products.tolist() == (totals.T @ others).tolist()
    assert sums.places[:, 0].tolist() == sums.wins.sum(axis=1).tolist()


@pytest.mark.parametrize("points", [None, (5.0, 2.0, 1.0)])
def test_a_lead_is_the_mean_difference_of_blocks(points):
    """In games with both, block by block; a bot's other games count as well."""
    sums = _empty_game_sums(3, 1)
    add_games(RANKS, np.zeros(RANKS.shape, np.uint16), SEATED, sums)
    part = {"blocks": np.array(2), **sums._asdict()}
    shares = Shares([("a", "b", "c"), ("a", "d", "c")], [part, part], points)
    worth = np.array((1.0, 0.0, 0.0) if points is None else (1.0, 0.25, 0.0))
    a, b = (np.array(BLOCKS[bot]) @ worth / 3 for bot in "ab")
    # a has four blocks, and b two of them: the mean of four values is the difference of the two means.
    values = [a - 2 * b, a]
    mean = sum(map(sum, values)) / 4
    assert mean == pytest.approx(a.mean() - b.mean())
    step = [2 / 3, 1 / 3]
    variances = [2 * v.var(ddof=1) + 2 * s**2 / 2 for v, s in zip(values, step, strict=True)]
    df = sum(variances) ** 2 / sum(variance**2 for variance in variances)
    half = student_quantile(0.975, df) * sqrt(sum(variances)) / 4
    lead = shares.difference("a", "b")
    assert lead == pytest.approx((mean, mean - half, mean + half))
    assert shares.difference("b", "a") == pytest.approx((-mean, -mean - half, half - mean))


def test_who_ties_shares_the_places_that_the_tied_take_up():
    rows = frames_by_hand()["places"].to_dicts()
    assert [(row["bot"], row["place"]) for row in rows] == [
        (b, p) for b in "abc" for p in (1, 2, 3)
    ]
    for row in rows:
        first, second = (block[row["place"] - 1] / 3 for block in BLOCKS[row["bot"]])
        assert row["games"] == 6
        assert row["place_share"] == pytest.approx((first + second) / 2)
        expected = share_interval(np.array([first, second]), step=1 / 3)
        assert [row[f"place_share{end}"] for end in ENDS] == pytest.approx(expected)


def test_who_ties_shares_the_points_of_these_places():
    standings = frames_by_hand((7, 5, 0))["standings"]
    # In the order of RANKS: a shared first place is 6 points each, a shared second 2.5, a tie of all 4.
    assert by_bot(standings, "mean_points") == pytest.approx(
        {
            "a": (6 + 7 + 2.5 + 4 + 4 + 0) / 6,
            "b": (6 + 5 + 7 + 4 + 4 + 5) / 6,
            "c": (0 + 0 + 2.5 + 4 + 4 + 7) / 6,
        }
    )
    assert standings["bot"].to_list() == ["b", "a", "c"]
    b = standings.row(0, named=True)
    blocks = np.array([(6 + 7 + 4) / 3, (5 + 4 + 5) / 3])
    expected = scaled(share_interval(blocks / 7, step=1 / 3), 0, 7)
    assert [b[f"mean_points{end}"] for end in ENDS] == pytest.approx(expected)


# --------------------------------------------------------------------------- against the saved games


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Results:
    """Games of four in which ties are frequent, with all of them saved."""
    folder = tmp_path_factory.mktemp("places") / "run"
    options = {"seed": 4, "save_games": True, "out": folder, "points": "7,5,3,1"}
    return tournament(BOTS, "french", 4, 400, **options)


def places_of_games(run: Results) -> pl.DataFrame:
    """One row per game, seat and place: what the player has of that place. Counted from ranks alone."""
    assert run.folder is not None
    games = pl.concat([pl.read_parquet(path) for path in sorted((run.folder / "games").iterdir())])
    tied = pl.len().over("matchup", "game", "rotation", "rank")
    return (
        games.with_columns(tied=tied)
        .join(pl.DataFrame({"place": [1, 2, 3, 4]}), how="cross")
        .with_columns(
            has=pl.when(pl.col("place").is_between("rank", pl.col("rank") + pl.col("tied") - 1))
            .then(1 / pl.col("tied"))
            .otherwise(0.0)
        )
    )


def by_matchup(blocks: pl.DataFrame, value: str, *by: str) -> dict[tuple, list[np.ndarray]]:
    """The values of the blocks of every matchup."""
    actual: dict[tuple, list[np.ndarray]] = {}
    for (_, *key), rows in blocks.group_by("matchup", *by):
        actual.setdefault(tuple(key), []).append(rows[value].to_numpy())
    return actual


def test_places_and_their_intervals_are_those_of_the_saved_games(saved):
    has = places_of_games(saved)
    assert has["tied"].n_unique() > 2
    blocks = has.group_by("matchup", "game", "bot", "place").agg(pl.col("has").mean())
    expected = by_matchup(blocks, "has", "bot", "place")
    assert len(saved.places) == len(expected) == 20
    for row in saved.places.iter_rows(named=True):
        groups = expected[row["bot"], row["place"]]
        assert row["games"] == 1600
        actual = [row[f"place_share{end}"] for end in ENDS]
        assert actual == pytest.approx(share_interval(*groups, step=1 / 4))


def test_points_and_their_intervals_are_those_of_the_saved_games(saved):
    worth = pl.DataFrame({"place": [1, 2, 3, 4], "worth": POINTS})
    has = places_of_games(saved).join(worth, on="place")
    games = has.group_by("matchup", "game", "rotation", "bot").agg(
        points=(pl.col("has") * pl.col("worth")).sum()
    )
    assert games["points"].n_unique() > 4, "ties are frequent"
    blocks = games.group_by("matchup", "game", "bot").agg(pl.col("points").mean())
    expected = by_matchup(blocks.with_columns((pl.col("points") - 1) / 6), "points", "bot")
    for row in saved.standings.iter_rows(named=True):
        interval = scaled(share_interval(*expected[(row["bot"],)], step=1 / 4), 1, 7)
        assert [row[f"mean_points{end}"] for end in ENDS] == pytest.approx(interval)
    means = blocks.group_by("matchup", "bot").agg(pl.col("points").mean())
    for matchup, bot, points in means.iter_rows():
        rows = saved.matchups.filter((pl.col("matchup") == matchup) & (pl.col("bot") == bot))
        assert rows["mean_points"].to_list() == pytest.approx([points])


# ---------------------------------------------------------------------------- what must hold of them


@pytest.mark.parametrize("players", [2, 3, 7])
def test_shares_of_places_add_up_and_the_first_is_the_win_share(players):
    bots = ["random", *BOTS, "thief", "threshold"][:players]
    result = tournament(bots, "french", together=True, games=140, seed=2)
    for group in ("bot", "place"):
        sums = result.places.group_by(group).agg(pl.col("place_share").sum())["place_share"]
        assert sums.to_list() == pytest.approx([1.0] * players, abs=1e-12)
    first = result.places.filter(pl.col("place") == 1)
    for end in ("", "_low", "_high"):
        assert by_bot(first, f"place_share{end}") == by_bot(result.standings, f"win_share{end}")
    mean_rank = result.places.group_by("bot").agg(
        place=(pl.col("place") * pl.col("place_share")).sum()
    )
    ranks = by_bot(result.standings, "mean_rank")
    assert all(place >= ranks[bot] - 1e-12 for bot, place in mean_rank.iter_rows())


def test_mean_points_are_the_points_of_the_places_by_their_shares(saved):
    expected = saved.places.group_by("bot").agg(
        points=(pl.col("place_share") * pl.col("place").replace_strict([1, 2, 3, 4], POINTS)).sum()
    )
    assert by_bot(saved.standings, "mean_points") == pytest.approx(by_bot(expected, "points"))
    assert saved.standings["mean_points"].is_sorted(descending=True)
    assert saved.standings["mean_points"].sum() == pytest.approx(5 * 4), "16 points in every game"


POINT_COLUMNS = [f"mean_points{end}" for end in ("", "_low", "_high")]


@pytest.mark.parametrize("precision", [None, "1.5%"])
def test_a_point_for_the_first_place_alone_is_the_win_share(precision):
    play = partial(tournament, BOTS[:4], "french", 4, 10_000, seed=3, precision=precision)
    wins, points = play(), play(points="1,0,0,0")
    assert wins.games_played == points.games_played
    for end in ("", "_low", "_high"):
        entries = points.standings[f"mean_points{end}"]
        assert entries.to_list() == points.standings[f"win_share{end}"].to_list()
    for name, frame in wins.frames.items():
        of_points = points.frames[name].drop(POINT_COLUMNS, strict=False)
        assert_frame_equal(of_points, frame, check_exact=True)
    assert_frame_equal(play(points="1").standings, points.standings, check_exact=True)


def test_other_units_change_neither_order_nor_interval(saved):
    other = tournament(BOTS, "french", 4, 400, seed=4, points=[0, -1, -2, -3])
    assert other.standings["bot"].to_list() == saved.standings["bot"].to_list()
    for column in POINT_COLUMNS:
        doubled = (2 * other.standings[column] + 7).to_list()
        assert doubled == pytest.approx(saved.standings[column].to_list())


def test_points_order_the_standings_where_wins_do_not():
    """`gambler` wins more games, `cautious` comes last less often."""
    bots = ["cautious", "gambler", "late-worms", "late-worms"]
    play = partial(tournament, bots, together=True, games=4_000, seed=1)
    wins, points = play(), play(points="1,1,1,0")
    assert wins.standings["bot"].head(2).to_list() == ["gambler", "cautious"]
    assert wins.headline.startswith("`gambler` is first: it wins 32.1")
    assert points.standings["bot"].head(2).to_list() == ["cautious", "gambler"]
    assert points.headline.startswith("`cautious` is first: it averages 0.83")
    assert re.search(r" points per game, 0\.03\d* ± 0\.\d+ more than `gambler`", points.headline)
    assert (
        points.manifest["title"] == "One matchup, 4 players, rules classic, seed 1, points 1,1,1,0"
    )


def test_a_bot_that_always_wins_has_the_bound_of_a_share(tmp_path):
    """All blocks equal show no variance, which does not prove that there is none."""
    result = tournament(["expected", "random"], games=8, seed=0, points="3,1")
    row = result.standings.row(0, named=True)
    assert (row["win_share"], row["mean_points"], row["mean_points_high"]) == (1.0, 3.0, 3.0)
    assert row["mean_points_low"] == pytest.approx(1 + 2 * row["win_share_low"]) != 3.0


# ---------------------------------------------------------------------------- played in other ways


def assert_same(a: Results, b: Results) -> None:
    """Equal to the last bit."""
    assert a.manifest["result"] == b.manifest["result"]
    for name in a.frames:
        assert_frame_equal(a.frames[name], b.frames[name], check_exact=True)


@pytest.mark.parametrize("ways", [{"chunk": 7}, {"workers": 2, "chunk": 30}])
def test_chunks_and_workers_change_nothing(saved, ways, only_workers):
    assert_same(tournament(BOTS, "french", 4, 400, seed=4, points="7,5,3,1", **ways), saved)


def test_an_interrupted_run_resumes_with_its_points(saved, tmp_path):
    chunks = []

    def interrupt(games, status):
        chunks.append(status())
        if len(chunks) == 3:
            raise KeyboardInterrupt

    options = {"seed": 4, "points": "7,5,3,1", "chunk": 30, "out": tmp_path / "run"}
    with pytest.raises(PickosimError, match="Interrupted"):
        tournament(BOTS, "french", 4, 400, progress=pickosim.Progress(played=interrupt), **options)
    assert chunks[-1].startswith("leader ") and chunks[-1].endswith(" points")
    assert RunFolder(tmp_path / "run").manifest()["status"] != "finished"
    assert_same(pickosim.resume(tmp_path / "run", workers=1), saved)


def test_other_points_are_another_run(saved):
    other = tournament(BOTS, "french", 4, 400, seed=4, points="7,5,3")
    assert other.manifest["plan"]["place_points"] == [7, 5, 3, 0]
    assert other.manifest["run"] != saved.manifest["run"]


def test_who_is_entered_first_changes_nothing():
    bots = ["eager", "random", "cautious"]
    play = partial(tournament, rules="french", together=True, games=300, seed=1, points="3,1")
    one, other = play(bots), play([*bots[1:], bots[0]])
    for name in ("places", "standings"):
        assert_frame_equal(one.frames[name], other.frames[name], check_exact=True)


def test_a_file_says_points_as_a_list_or_as_text(tmp_path):
    play = 'study = "tournament"\nbots = ["eager", "random", "thief"]\nplayers = 3\ngames = 60\n'
    actual = []
    for number, points in enumerate(('"3,1"', "[3, 1, 0]", "[3.0, 1]")):
        path = tmp_path / f"{number}.toml"
        path.write_text(f'question = "Who?"\n{play}points = {points}\n', encoding="utf-8")
        actual.append(pickosim.experiment(path, workers=1).standings)
    for standings in actual[1:]:
        assert_frame_equal(standings, actual[0], check_exact=True)


# ------------------------------------------------------------------------------------ when to stop


def test_a_precision_is_one_of_points():
    result = tournament(
        ["eager", "random", "thief"], "french", 3, "1M", precision="1%", points="7,3"
    )
    half = (result.standings["mean_points_high"] - result.standings["mean_points_low"]).max() / 2
    assert 0.01 * 7 / 2 < half <= 0.01 * 7
    assert result.manifest["result"]["widest_half"] == pytest.approx(half / 7)
    assert result.remarks[0] == (
        f"The widest 95 % interval of mean points is ± {half:.4f}; ± 0.07 were asked for (1 % of the 7 points "
        "between first and last place)."
    )


def test_the_sequential_test_stays_with_wins():
    play = partial(tournament, ["eager", "random"], sprt="0,10%", seed=1)
    wins, points = play(), play(points="3,1")
    assert points.manifest["result"]["sprt"] == wins.manifest["result"]["sprt"]


# ---------------------------------------------------------------------------------- how they are given


def test_points_are_numbers_that_do_not_rise():
    assert parse_points("7,5,3,1") == parse_points([7, 5, 3, 1]) == POINTS
    assert parse_points(" 1.5, 0 ,-2") == (1.5, 0.0, -2.0)
    assert points_by_place("7,5", 4) == (7.0, 5.0, 0.0, 0.0)
    for wrong in ("", "7;5", "7,,5", "first", "nan,0", "inf,0", [inf, 1.0], [1.0, -inf], "1e10,0"):
        with pytest.raises(
            PickosimError, match=r"^Write points as numbers, .* e\.g\. 7,5,3,1, not"
        ):
            parse_points(wrong)
    with pytest.raises(PickosimError, match="place 3 would get 4 and place 2 3"):
        parse_points("5,3,4")


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ("7,5,3,1", "4 numbers of points are too many for games of 3: one per place at most."),
        (
            "5,-1",
            "No place gets more points than a better one, but place 3 would get 0 and place 2 -1.",
        ),
        ("2,2,2", "The first place must get more points than the last, not 2 and 2."),
        ("0", "The first place must get more points than the last, not 0 and 0."),
        ((), "The first place must get more points than the last, not 0 and 0."),
        (7, r"points cannot be 7; e\.g\. points = '7,5,3,1'"),
        (["7", "5"], r"points cannot be \['7', '5'\]; e\.g\. points = '7,5,3,1'"),
    ],
)
def test_points_that_do_not_fit_are_refused(points, message):
    with pytest.raises(PickosimError, match=message):
        tournament(["eager", "random", "thief"], players=3, games=30, points=points)


# ------------------------------------------------------------------------------------- as they are shown


def shown_titles(results: Results) -> list[str]:
    return [part.title for part in as_text(results) if isinstance(part, Grid)]


def addresses(results: Results) -> list[str]:
    return [view.address for view, _ in shown_views(results)]


def test_places_are_shown_where_more_than_two_play(saved):
    pair = tournament(["eager", "random"], games=40)
    assert not any(title.startswith("Places") for title in shown_titles(pair))
    assert "places" not in addresses(pair)
    assert len(pair.places) == 4
    width = (saved.places["place_share_high"] - saved.places["place_share_low"]).max()
    assert shown_titles(saved)[1] == (
        f"Places, in % of a bot's games, ties shared (95 %: ± {50 * width:.2f} at most; 1,600 games per bot)"
    )
    assert addresses(saved)[:2] == ["standings", "places"]


def test_a_run_without_places_is_shown_without_them(saved):
    """As an earlier pickosim left it."""
    frames = {name: frame for name, frame in saved.frames.items() if name != "places"}
    plan = {name: value for name, value in saved.manifest["plan"].items() if name != "place_points"}
    results = Results(frames, {**saved.manifest, "plan": plan}, Path())
    assert not any(title.startswith("Places") for title in shown_titles(results))
    assert addresses(results)[:2] == ["standings", "cross-table"]
