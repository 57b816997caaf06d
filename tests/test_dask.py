"""A Dask cluster plays what processes play: a real scheduler, two worker processes, one of them killed."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator

import pytest
from polars.testing import assert_frame_equal

import pickosim
from pickosim import cli

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
    return played()


def assert_same(a: pickosim.Results, b: pickosim.Results) -> None:
    for name in b.tables:
        assert_frame_equal(a.tables[name], b.tables[name], check_exact=True)


def test_a_cluster_finds_the_same_to_the_last_bit(cluster, whole):
    assert_same(played(scheduler=cluster.scheduler_address), whole)


def test_a_killed_worker_costs_nothing_but_time(cluster, whole, tmp_path):
    """Killed while chunks are under way: some are finished, and some are not."""
    folder = tmp_path / "run"
    victim = next(iter(cluster.workers.values())).pid
    killed = []

    def kill() -> None:
        while len(list((folder / "sums").glob("[0-9]*"))) < 3:
            time.sleep(0.005)
        os.kill(victim, signal.SIGKILL)
        killed.append(len(list((folder / "sums").glob("[0-9]*"))))

    thread = threading.Thread(target=kill)
    thread.start()
    results = played(scheduler=cluster.scheduler_address, folder=folder, save_games=True)
    thread.join()
    assert killed and killed[0] < 20, "the run was over before the worker died"
    assert_same(results, whole)


def test_the_command_line_takes_the_cluster_s_address(cluster, whole, tmp_path, capsys):
    address = ["--backend", "dask", "--scheduler", cluster.scheduler_address]
    command = ["tournament", *BOTS, "--rules", "french", "--players", "3", "--games", "3k"]
    out = ["--seed", "8", "--out", str(tmp_path / "run"), "--format", "csv"]
    assert cli.run([*command, *address, *out]) == 0
    assert capsys.readouterr().out == whole.standings.write_csv()


def test_nobody_at_the_address(capsys, tmp_path):
    command = ["tournament", *BOTS, "--games", "100", "--out", str(tmp_path / "run")]
    assert cli.run([*command, "--scheduler", "tcp://127.0.0.1:9"]) == 2
    assert "No Dask scheduler answers at tcp://127.0.0.1:9" in capsys.readouterr().err
