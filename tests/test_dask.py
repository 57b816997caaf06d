"""A Dask cluster plays what processes play: a real scheduler, two worker processes, one of them killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator

import pytest
from polars.testing import assert_frame_equal

import pickosim
from pickosim import cli
from pickosim.runs.progress import Progress

distributed = pytest.importorskip("distributed", reason="the extra pickosim[dask] is not installed")

BOTS = ["eager", "random", "cautious"]


@pytest.fixture(scope="module")
def cluster() -> Iterator[distributed.LocalCluster]:
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        yield cluster


def played(**options: object) -> pickosim.Results:
    return pickosim.tournament(BOTS, "french", 3, 3_000, seed=8, chunk=50, **options)


@pytest.fixture(scope="module")
def whole() -> pickosim.Results:
    return played(workers=1)


def assert_same(a: pickosim.Results, b: pickosim.Results) -> None:
    for name in b.frames:
        assert_frame_equal(a.frames[name], b.frames[name], check_exact=True)


def test_a_cluster_finds_the_same_to_the_last_bit(cluster, whole):
    assert_same(played(scheduler=cluster.scheduler_address), whole)


def test_a_killed_worker_costs_nothing_but_time(cluster, whole, tmp_path):
    """Killed while chunks are under way: some are finished, and some are not."""
    folder = tmp_path / "run"
    victim = next(iter(cluster.workers.values())).pid
    finished, unplayed = [], []

    def played_chunk(games: int, status: Callable[[], str]) -> None:
        finished.append(games)
        if len(finished) == 3:
            os.kill(victim, signal.SIGKILL)
            unplayed.append(20 - len(list((folder / "games").glob("*.parquet"))))

    progress = Progress(played=played_chunk)
    results = played(
        scheduler=cluster.scheduler_address, out=folder, save_games=True, progress=progress
    )
    assert unplayed[0] > 0, "the run was over before the worker died"
    assert len(finished) == 20
    assert_same(results, whole)
    assert len(list((folder / "games").glob("*.parquet"))) == 20


def test_the_command_line_takes_the_cluster_s_address(cluster, whole, tmp_path, capsys):
    address = ["--backend", "dask", "--scheduler", cluster.scheduler_address]
    command = ["tournament", *BOTS, "--rules", "french", "--players", "3", "--games", "3k"]
    out = ["--seed", "8", "--out", str(tmp_path / "run"), "--csv"]
    assert cli.run([*command, *address, *out]) == 0
    assert capsys.readouterr().out == whole.standings.write_csv()


def test_nobody_at_the_address(capsys, tmp_path):
    command = ["tournament", *BOTS, "--games", "100", "--out", str(tmp_path / "run")]
    assert cli.run([*command, "--scheduler", "tcp://127.0.0.1:9"]) == 2
    assert "No Dask scheduler answers at tcp://127.0.0.1:9" in capsys.readouterr().err


def test_a_cluster_without_workers_is_waited_for(whole):
    said = []
    with distributed.LocalCluster(
        n_workers=0, threads_per_worker=1, processes=True, dashboard_address=None
    ) as empty:

        def say(sentence: str) -> None:
            said.append(sentence)
            empty.scale(1)

        address = empty.scheduler_address
        assert_same(played(scheduler=address, progress=Progress(say=say)), whole)
    assert said == [f"Waiting for workers: the Dask scheduler at {address} has none yet."]
