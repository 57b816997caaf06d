"""A Dask cluster plays what processes play: real schedulers and worker processes, killed, late, or with another engine."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from polars.testing import assert_frame_equal

import pickosim
from pickosim import PickosimError, cli
from pickosim.bots.loading import bot_parcels, make_entrants
from pickosim.files import make_parcel, unpacked_at
from pickosim.runs.progress import Progress
from pickosim.studies.kinds import KINDS, study_kind

dask = pytest.importorskip("dask", reason="the extra pickosim[dask] is not installed")
distributed = pytest.importorskip("distributed", reason="the extra pickosim[dask] is not installed")

ROOT = Path(__file__).parents[1]
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


def test_a_cluster_without_workers_is_waited_for_and_one_that_joins_late_is_used(whole):
    said = []
    with (
        distributed.LocalCluster(
            n_workers=0, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):

        def say(sentence: str) -> None:
            said.append(sentence)
            cluster.scale(1)

        def join(games: int, status: Callable[[], str]) -> None:
            if len(cluster.workers) == 1:
                cluster.scale(2)
                client.wait_for_workers(2)

        address = cluster.scheduler_address
        assert_same(played(scheduler=address, progress=Progress(say=say, played=join)), whole)
        played_by = client.run(lambda dask_worker: dask_worker.state.executed_count)
    assert said == [f"Waiting for workers: the Dask scheduler at {address} has none yet."]
    assert len(played_by) == 2
    assert min(played_by.values()) > 0


# ------------------------------------------------------------------------------- workers with another pickosim


@contextmanager
def worker_process(address: str, package: Path, cwd: Path) -> Iterator[None]:
    """A Dask worker in a process of its own that imports pickosim from a folder."""
    command = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--name", "changed"]
    options = ["--nthreads", "1", "--no-nanny", "--no-dashboard"]
    with subprocess.Popen(
        [*command, *options], env=os.environ | {"PYTHONPATH": str(package)}, cwd=cwd, stderr=-3
    ) as worker:
        try:
            yield
        finally:
            worker.kill()


@pytest.fixture(scope="module")
def patched(tmp_path_factory) -> Path:
    """A copy of pickosim whose dice fall otherwise."""
    folder = tmp_path_factory.mktemp("patched")
    for name in ("pickosim", "strategies"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    dice = folder / "pickosim" / "engine" / "dice.py"
    source = dice.read_text(encoding="utf-8")
    assert source.count("0x9E3779B97F4A7C15") == 1
    dice.write_text(source.replace("0x9E3779B97F4A7C15", "0x9E3779B97F4A7C17"), encoding="utf-8")
    return folder


def test_a_worker_with_another_engine_is_refused_by_name(whole, patched, tmp_path):
    """First it is the only worker, and the run ends; then there is another one, which plays alone."""
    with distributed.LocalCluster(
        n_workers=0, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        address, said = cluster.scheduler_address, []
        with worker_process(address, patched, tmp_path):
            with pytest.raises(PickosimError) as refused:
                played(scheduler=address)
            cluster.scale(1)
            with distributed.Client(address) as client:
                client.wait_for_workers(2)
            results = played(scheduler=address, progress=Progress(say=said.append))
    name = rf"The worker changed \({address.rpartition(':')[0]}:\d+ on {socket.gethostname()}\) is refused: "
    why = (
        rf"its pickosim {pickosim.__version__} in {patched}/pickosim would play other games "
        r"\(engine/dice\.py of it differs from the one here\)\."
    )
    assert re.fullmatch(
        f"No worker of the cluster at {address} may play. {name}{why}", str(refused.value)
    )
    assert [bool(re.fullmatch(name + why, sentence)) for sentence in said] == [True]
    assert_same(results, whole)


@pytest.mark.parametrize("kind", KINDS)
def test_the_digest_covers_all_that_plays(kind):
    """Every module of the folders in which games are decided."""
    digests = study_kind(kind).all_sources().digests
    folders = ("engine", "bots", "solver", "learning", "games")
    modules = {
        f"{folder}.{path.stem}"
        for folder in folders
        for path in (ROOT / "pickosim" / folder).glob("*.py")
    }
    not_played = {"bots.catalogue", "games.check", "games.trace"}
    if kind != "balance":
        not_played.add("games.pickups")
    if kind != "train":
        not_played.add("learning.fit")
    if kind not in ("tournament", "rank", "train"):
        not_played.add("games.played")  # in which games are saved, and recorded to learn from
    assert {name for name in modules - not_played if not name.endswith("__init__")} <= set(digests)


# ----------------------------------------------------------------------------------------- bots that travel

BOT = """
from pathlib import Path

from pickosim import POINTS, Strategy
from patience import patient

TARGET = int((Path(__file__).parent / "../data/target.txt").read_text())


class Mine(Strategy):
    data_files = ("../data/target.txt",)
    games: int = 0

    def pick(self, turn):
        return turn.best(turn.counts * POINTS)

    def stop(self, turn):
        if self.games:
            raise RuntimeError(f"I am in {Path(__file__).name}")
        return patient(turn) & (turn.total >= TARGET)
"""

LATE = """
from pickosim.strategies.eager import Eager


class Late(Eager):
    def pick(self, turn):
        if (turn.number >= {limit}).any():
            raise RuntimeError("too late")
        return super().pick(turn)
"""


@pytest.fixture
def mine(tmp_path, monkeypatch) -> Path:
    """A bot that is named by a path from here, where workers are not; with a module and a data file."""
    (tmp_path / "bots").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "bots" / "mine.py").write_text(BOT, encoding="utf-8")
    helper = "def patient(turn):\n    return turn.can_claim\n"
    (tmp_path / "bots" / "patience.py").write_text(helper, encoding="utf-8")
    (tmp_path / "data" / "target.txt").write_text("27", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_bots_travel_with_what_they_import_and_read_and_games_come_back(cluster, mine):
    """The run folder is named by a path from here, too."""
    bots = ["bots/mine.py", "threshold:target=27"]
    options = {"games": 400, "seed": 3, "chunk": 50, "save_games": True}
    alone = pickosim.tournament(bots, workers=1, out="alone", **options)
    results = pickosim.tournament(
        bots, scheduler=cluster.scheduler_address, out="together", **options
    )
    assert_same(results, alone)
    games = sorted((mine / "alone" / "games").iterdir())
    assert len(games) == 4
    for file in games:
        assert (mine / "together" / "games" / file.name).read_bytes() == file.read_bytes()


def test_files_that_parameters_name_travel_too(cluster, mine):
    shutil.copy(ROOT / "strategies" / "weights" / "classic-2.npz", mine / "data" / "mine.npz")
    bots = ["champion:weights=data/mine.npz", "eager"]
    alone = pickosim.tournament(bots, games=100, workers=1)
    assert_same(pickosim.tournament(bots, games=100, scheduler=cluster.scheduler_address), alone)
    parcels = bot_parcels(tuple(make_entrants([*bots, "bots/mine.py"])))
    assert parcels["data/mine.npz"].names == ("mine.npz",)
    assert list(parcels) == ["data/mine.npz", "bots/mine.py"]


def test_a_mistake_of_a_bot_is_reported_with_its_own_path(cluster, mine):
    bots = ["bots/mine.py:Mine:games=1", "eager"]
    with pytest.raises(PickosimError, match=r"RuntimeError: I am in mine\.py") as failed:
        pickosim.tournament(bots, games=100, scheduler=cluster.scheduler_address)
    assert "bots/mine.py, line 19: raise RuntimeError(" in str(failed.value)
    assert "dask" not in str(failed.value)


def test_a_mistake_in_single_games_loses_those_on_a_cluster_too(cluster, mine):
    """A bot that fails in a few games of many, and one that fails in too many."""
    bots = ["bots/late.py", "eager", "random"]
    options = {"games": 400, "seed": 3, "chunk": 50, "save_games": True}
    ended = {}
    for limit in (60, 30):
        (mine / "bots" / "late.py").write_text(LATE.format(limit=limit), encoding="utf-8")
        for how in ({"workers": 1}, {"scheduler": cluster.scheduler_address}):
            folder = f"{next(iter(how))}-{limit}"
            try:
                ended[folder] = pickosim.tournament(bots, out=folder, **how, **options)
            except PickosimError as error:
                ended[folder] = str(error)
    alone, together = ended["workers-60"], ended["scheduler-60"]
    assert_same(together, alone)
    assert 1 <= alone.standings["forfeits"].sum() <= 40
    assert together.manifest["result"] == alone.manifest["result"]
    for file in (mine / "workers-60" / "games").iterdir():
        assert (mine / "scheduler-60" / "games" / file.name).read_bytes() == file.read_bytes()
    assert "`bots/late.py` failed in" in ended["workers-30"]
    there = ended["scheduler-30"].replace("scheduler-30", "workers-30")
    assert there == ended["workers-30"]


def test_a_bot_that_is_edited_during_the_run_is_not_sent(cluster, mine):
    parcel = bot_parcels(tuple(make_entrants(["bots/mine.py"])))["bots/mine.py"]
    assert parcel.names == ("bots/mine.py", "bots/patience.py", "data/target.txt")
    assert [len(content) for content in parcel.contents()][2] == 2
    (mine / "data" / "target.txt").write_text("26", encoding="utf-8")
    with pytest.raises(PickosimError, match=r"target\.txt has changed since the run began"):
        parcel.contents()


def test_a_parcel_stays_in_its_folder_and_damage_is_noticed(tmp_path):
    (tmp_path / "a.txt").write_text("a", encoding="utf-8")
    parcel = make_parcel({"x/a.txt": tmp_path / "a.txt"})
    cache = tmp_path / "cache"
    assert unpacked_at(cache, parcel, None) is None
    place = unpacked_at(cache, parcel, parcel.contents())
    assert place is not None and place.read_text(encoding="utf-8") == "a"
    assert unpacked_at(cache, parcel, None) == place
    place.write_text("b", encoding="utf-8")
    assert unpacked_at(cache, parcel, None) is None
    with pytest.raises(PickosimError, match="not a path within a parcel"):
        unpacked_at(cache, replace(parcel, names=("../../a.txt",)), parcel.contents())


# ------------------------------------------------------------------------------------- TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory) -> dict[str, str]:
    """A certificate, signed by itself, as Dask's configuration names it."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl, which makes certificates, is not installed")
    folder = tmp_path_factory.mktemp("tls")
    key, signed = folder / "key.pem", folder / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    files = ["-subj", "/CN=localhost", "-keyout", str(key), "-out", str(signed)]
    subprocess.run([*command, *files], check=True, capture_output=True)
    names = {"tls_ca_file": signed}
    for role in ("client", "scheduler", "worker"):
        names |= {f"tls_{role}_cert": signed, f"tls_{role}_key": key}
    return {name: str(path) for name, path in names.items()}


def tls_of(files: dict[str, str]) -> dask.config.set:
    """Dask's configuration of TLS."""
    return dask.config.set({f"distributed.comm.tls.{name}": path for name, path in files.items()})


def io_loops() -> set[threading.Thread]:
    """The threads of Dask's clients and clusters that are open in this process."""
    return {thread for thread in threading.enumerate() if thread.name == "IO loop"}


def test_tls_is_up_to_the_configuration_of_dask(certificate, whole):
    security = distributed.Security(**certificate, require_encryption=True)
    with distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=True,
        protocol="tls://",
        security=security,
        dashboard_address=None,
    ) as cluster:
        address = cluster.scheduler_address
        assert address.startswith("tls://")
        loops = io_loops()
        with pytest.raises(PickosimError, match=rf"No Dask scheduler answers at {address}: TLS"):
            played(scheduler=address)
        assert io_loops() == loops, "the client that failed was not closed"
        tls = {
            "ca-file": certificate["tls_ca_file"],
            "client.cert": certificate["tls_client_cert"],
            "client.key": certificate["tls_client_key"],
        }
        refused = pytest.raises(PickosimError, match=r"No Dask scheduler answers .* No such file")
        with tls_of(tls | {"ca-file": "no/such.pem"}), refused:
            played(scheduler=address)
        with tls_of(tls):
            assert_same(played(scheduler=address), whole)
