"""Places of a tournament: ties, sums, and intervals over blocks."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import pickosim
from pickosim import Results
from pickosim.engine.tally import PARTS
from pickosim.reports.figures import figures_of
from pickosim.reports.tournament_text import tournament_text
from pickosim.studies.tournament_results import tournament_frames
from pickosim.studies.tournament_sums import GROUPS, _empty_game_sums, add_games

tournament = partial(pickosim.tournament, workers=1)
"""In this process, unless a test says otherwise."""

BOTS = ["eager", "cautious", "random", "gambler", "late-worms"]


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


def frames_by_hand() -> dict[str, pl.DataFrame]:
    sums = _empty_game_sums(3, 1)
    add_games(RANKS, np.zeros(RANKS.shape, np.uint16), sums)
    part = {
        "blocks": np.array(2),
        **sums._asdict(),
        "choices": np.zeros((GROUPS, 8, 3), np.int64),
        "turns": np.array([0, 6]),
    }
    return tournament_frames("abc", [("a", "b", "c")], [part], ())


def test_the_sums_are_those_of_a_count_by_hand():
    sums = _empty_game_sums(3, 1)
    add_games(RANKS, np.zeros(RANKS.shape, np.uint16), sums)
    for number, blocks in enumerate(BLOCKS.values()):
        totals = np.rint(PARTS * np.array(blocks)).astype(np.int64)
        assert sums.places[number].tolist() == totals.sum(axis=0).tolist()
        assert sums.place_products[number].tolist() == (totals.T @ totals).tolist()
    assert sums.places[:, 0].tolist() == sums.wins.sum(axis=1).tolist()
    assert np.diagonal(sums.win_products).tolist() == sums.place_products[:, 0, 0].tolist()


def test_who_ties_shares_the_places_that_the_tied_take_up():
    rows = frames_by_hand()["places"].to_dicts()
    assert [(row["bot"], row["place"]) for row in rows] == [
        (b, p) for b in "abc" for p in (1, 2, 3)
    ]
    for row in rows:
        first, second = (block[row["place"] - 1] / 3 for block in BLOCKS[row["bot"]])
        assert row["games"] == 6
        assert row["place_share"] == pytest.approx((first + second) / 2)
        # Of two blocks, the standard error of the mean is half their difference.
        half = 1.959964 * abs(first - second) / 2
        assert row["place_share_low"] == pytest.approx(max(0, row["place_share"] - half), abs=1e-6)
        assert row["place_share_high"] == pytest.approx(min(1, row["place_share"] + half), abs=1e-6)


# --------------------------------------------------------------------------- against the saved games


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Results:
    """Games of four in which ties are frequent, with all of them saved."""
    folder = tmp_path_factory.mktemp("places") / "run"
    options = {"seed": 4, "save_games": True, "out": folder}
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


def stratified(blocks: pl.DataFrame, value: str, *by: str) -> dict[tuple, tuple[float, float]]:
    """Mean over blocks, and half its interval: only the variances within matchups count."""
    parts = blocks.group_by("matchup", *by).agg(
        mean=pl.col(value).mean(), error2=pl.col(value).var() / pl.len()
    )
    found = parts.group_by(*by).agg(
        pl.col("mean").mean(), half=1.959964 * pl.col("error2").sum().sqrt() / pl.len()
    )
    return {row[:-2]: row[-2:] for row in found.iter_rows()}


def test_places_and_their_intervals_are_those_of_the_saved_games(saved):
    has = places_of_games(saved)
    assert has["tied"].n_unique() > 2
    blocks = has.group_by("matchup", "game", "bot", "place").agg(pl.col("has").mean())
    expected = stratified(blocks, "has", "bot", "place")
    assert len(saved.places) == len(expected) == 20
    for row in saved.places.iter_rows(named=True):
        mean, half = expected[row["bot"], row["place"]]
        assert row["games"] == 1600
        assert row["place_share"] == pytest.approx(mean)
        assert row["place_share_low"] == pytest.approx(max(0, mean - half), rel=1e-6)
        assert row["place_share_high"] == pytest.approx(min(1, mean + half), rel=1e-6)


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


# ------------------------------------------------------------------------------------- as they are shown


def shown_titles(results: Results) -> list[str]:
    return [
        part.renderables[0].plain
        for part in tournament_text(results)
        if hasattr(part, "renderables")
    ]


def test_places_are_shown_where_more_than_two_play(saved):
    pair = tournament(["eager", "random"], games=40)
    assert not any(title.startswith("Places") for title in shown_titles(pair))
    assert "places" not in [figure.name for figure in figures_of(pair)]
    assert len(pair.places) == 4
    width = (saved.places["place_share_high"] - saved.places["place_share_low"]).max()
    assert shown_titles(saved)[1] == (
        f"Places, in % of a bot's games, ties shared (95 %: ± {50 * width:.2f} at most; 1,600 games per bot)"
    )
    assert [figure.name for figure in figures_of(saved)][:2] == ["standings", "places"]


def test_a_run_without_places_is_shown_without_them(saved):
    """As an earlier pickosim left it."""
    frames = {name: frame for name, frame in saved.frames.items() if name != "places"}
    results = Results(frames, saved.manifest, Path())
    assert not any(title.startswith("Places") for title in shown_titles(results))
    assert [figure.name for figure in figures_of(results)][:2] == ["standings", "cross-table"]
