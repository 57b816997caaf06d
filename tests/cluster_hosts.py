"""A cluster of hosts with nothing in common: a scheduler, two workers, and the one that runs `pickosim`.

Run by `make test-cluster`, as root, with iproute2. A host is a network namespace, with an address of its own, in which
the files of the other hosts and the checkout are hidden. Each has an environment of its own: the wheel is installed in
those that play, and Dask alone in the scheduler's. Bots and the run folder are on the host that runs `pickosim`.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from wheel_smoke import ROOT, build, environment, run

HOSTS = {"desk": 1, "scheduler": 2, "alpha": 3, "beta": 4}
"""The hosts, and the last number of their addresses."""

SCHEDULER = f"tcp://10.77.0.{HOSTS['scheduler']}:8786"
SWITCH = "pickosim-switch"
LONGEST = 900
"""Seconds to wait for anything."""

BOT = """
from pathlib import Path

from pickosim import POINTS, Strategy
from patience import patient


class Mine(Strategy):
    data_files = ("target.txt",)

    def __post_init__(self):
        self.target = int(Path(__file__).with_name("target.txt").read_text())

    def pick(self, turn):
        return turn.best(turn.counts * POINTS)

    def stop(self, turn):
        return patient(turn) & (turn.total >= self.target)
"""

PLAY = """
import sys
import pickosim

scheduler = sys.argv[2] if len(sys.argv) > 2 else None
progress = pickosim.Progress(say=lambda sentence: print(sentence, file=sys.stderr))
try:
    results = pickosim.tournament(
        ["bots/mine.py", "threshold", "eager"], games=10_000, chunk=100, seed=5, save_games=True,
        workers=1, out=sys.argv[1], scheduler=scheduler, progress=progress,
    )
except pickosim.PickosimError as error:
    sys.exit(str(error))
print(results.standings.write_csv())
"""
"""A tournament in a folder, in many chunks; alone, or on the cluster of a scheduler."""


# --------------------------------------------------------------------------------------------------- hosts


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


@contextmanager
def network() -> Iterator[None]:
    """Namespaces of all hosts, connected by a bridge in one of its own."""
    spaces = [SWITCH, *map(space, HOSTS)]
    try:
        for name in spaces:
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        ip("-n", SWITCH, "link", "add", "bridge", "type", "bridge")
        ip("-n", SWITCH, "link", "set", "bridge", "up")
        for host, number in HOSTS.items():
            there = ["type", "veth", "peer", "name", host, "netns", SWITCH]
            ip("-n", space(host), "link", "add", "eth0", *there)
            ip("-n", SWITCH, "link", "set", host, "master", "bridge", "up")
            ip("-n", space(host), "address", "add", f"10.77.0.{number}/24", "dev", "eth0")
            ip("-n", space(host), "link", "set", "eth0", "up")
        yield
    finally:
        for name in spaces:
            subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)


def space(host: str) -> str:
    return f"pickosim-{host}"


def on(host: str, folder: Path, program: str, *command: str) -> subprocess.Popen[str]:
    """Start a program of a host's environment, in its own folder; what others have is hidden from it."""
    hidden = [ROOT, *(folder / other for other in HOSTS if other != host)]
    hide = "".join(f"mount -t tmpfs none '{path}' && " for path in hidden)
    path = folder / host / "venv" / "bin" / program
    log = (folder / f"{host}.log").open("a", encoding="utf-8")
    return subprocess.Popen(
        ["ip", "netns", "exec", space(host), "sh", "-c", f'{hide} exec "$@"', "sh", path, *command],
        cwd=folder / host / "home",
        env=environment() | {"HOME": str(folder / host / "home")},
        stdout=subprocess.PIPE if host == "desk" else log,
        stderr=subprocess.PIPE if host == "desk" else log,
        text=True,
    )


@contextmanager
def worker(host: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A Dask worker on a host, named after it, once the scheduler knows it."""
    log = folder / f"{host}.log"
    before = log.read_text(encoding="utf-8").count("Registered to") if log.exists() else 0
    options = ["--name", host, "--nthreads", "1", "--no-dashboard", "--no-nanny"]
    process = on(host, folder, "python", "-m", "distributed.cli.dask_worker", SCHEDULER, *options)
    try:
        for _ in range(LONGEST * 10):
            if log.read_text(encoding="utf-8").count("Registered to") > before:
                break
            time.sleep(0.1)
        yield process
    finally:
        process.kill()
        process.wait()


def install(folder: Path, wheel: Path) -> None:
    """An environment and an empty home for each host.

    What pickosim requires is downloaded and unpacked once, and copied. The wheel is installed on each host.
    """
    for host in HOSTS:
        (folder / host / "home").mkdir(parents=True)
        venv.create(folder / host / "venv", symlinks=True)
    install_on(folder, "scheduler", "distributed")
    install_on(folder, "desk", f"pickosim[dask] @ file://{wheel}")
    for host in ("alpha", "beta"):
        shutil.copytree(packages(folder, "desk"), packages(folder, host), dirs_exist_ok=True)
        install_on(folder, host, "--force-reinstall", "--no-deps", str(wheel))
    bots = folder / "desk" / "home" / "bots"
    bots.mkdir()
    (bots / "mine.py").write_text(BOT, encoding="utf-8")
    helper = "def patient(turn):\n    return turn.can_claim\n"
    (bots / "patience.py").write_text(helper, encoding="utf-8")
    (bots / "target.txt").write_text("26", encoding="utf-8")


def install_on(folder: Path, host: str, *what: str) -> None:
    pip = [sys.executable, "-m", "pip", "--python", folder / host / "venv" / "bin" / "python"]
    run(*pip, "install", "--quiet", "--no-compile", *what, cwd=folder)


def packages(folder: Path, host: str) -> Path:
    """Where the packages of a host are installed."""
    (found,) = (folder / host / "venv").glob("lib/*/site-packages")
    return found


# ---------------------------------------------------------------------------------------------------- runs


def start(folder: Path, out: str, *scheduler: str) -> subprocess.Popen[str]:
    """Start the tournament."""
    return on("desk", folder, "python", "-c", PLAY, out, *scheduler)


def finish(process: subprocess.Popen[str], code: int = 0) -> tuple[str, str]:
    """What a process that ends with this code has printed."""
    out, err = process.communicate(timeout=LONGEST)
    assert process.returncode == code, f"ended with {process.returncode}:\n{err}"
    return out, err


def chunks(folder: Path, out: str) -> int:
    """How many chunks of a run are finished."""
    return len(list((folder / "desk" / "home" / out / "sums").glob("*-*")))


def wait_for(what: str, folder: Path, out: str, number: int) -> None:
    for _ in range(LONGEST * 10):
        if chunks(folder, out) >= number:
            return
        time.sleep(0.1)
    raise AssertionError(f"{what}: {chunks(folder, out)} chunks after {LONGEST} seconds")


def files(folder: Path, out: str) -> dict[str, str]:
    """The checksums of all files of a run."""
    text = (folder / "desk" / "home" / out / "manifest.json").read_text(encoding="utf-8")
    manifest = json.loads(text)
    assert manifest["status"] == "finished"
    checksums: dict[str, str] = manifest["files"]
    return checksums


def say(sentence: str) -> None:
    print(sentence, flush=True)


def main() -> None:
    """All of it, in a temporary folder."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        sys.exit("Network namespaces need root, and the program ip (Debian: iproute2).")
    with TemporaryDirectory(prefix="pickosim-hosts-") as temporary, ExitStack() as stack:
        folder = Path(temporary).resolve()
        install(folder, build(folder))
        stack.enter_context(network())
        say(f"Hosts: {', '.join(HOSTS)}, each with an environment of its own.")
        table, _ = finish(start(folder, "alone"))
        alone = files(folder, "alone")
        games = sum(name.startswith("games/") for name in alone)
        say(f"Alone: {len(alone)} files, {games} of them with games.")

        options = ["--host", f"10.77.0.{HOSTS['scheduler']}", "--no-dashboard"]
        scheduler = on(
            "scheduler", folder, "python", "-m", "distributed.cli.dask_scheduler", *options
        )
        stack.callback(lambda: (scheduler.kill(), scheduler.wait()))

        process = start(folder, "killed", SCHEDULER)
        with worker("alpha", folder) as alpha:
            wait_for("alpha", folder, "killed", 5)
            with worker("beta", folder):
                wait_for("alpha and beta", folder, "killed", chunks(folder, "killed") + 10)
                alpha.send_signal(signal.SIGKILL)
                alpha.wait()
                assert chunks(folder, "killed") < games, "the run was over before alpha was killed"
                out, _ = finish(process)
        assert out == table and files(folder, "killed") == alone
        say(
            "alpha began, beta joined late, alpha was killed, beta finished: all files are the same."
        )

        dice = packages(folder, "beta") / "pickosim" / "engine" / "dice.py"
        dice.write_text(f"{dice.read_text(encoding='utf-8')}\nOTHER = 1\n", encoding="utf-8")
        with worker("beta", folder):
            _, err = finish(start(folder, "refused", SCHEDULER), code=1)
            assert f"No worker of the cluster at {SCHEDULER} may play. The worker beta (" in err, (
                err
            )
            assert "engine/dice.py of it differs" in err, err
            say(err.strip())
            with worker("alpha", folder):
                resume = on(
                    "desk", folder, "pickosim", "resume", "refused", "--scheduler", SCHEDULER
                )
                _, err = finish(resume)
        assert "The worker beta (tcp://10.77.0.4:" in err, err
        assert files(folder, "refused") == alone
        say("beta was refused, alpha played: all files are the same.")


if __name__ == "__main__":
    main()
