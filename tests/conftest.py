"""What holds for all tests: none is judged by a clock, the longest come first, and none is skipped in silence."""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator
from math import inf

import pytest
from browser import MISSING
from hypothesis import HealthCheck, settings

from pickosim.runs import run

settings.register_profile("no clock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("no clock")

gc.set_threshold(100_000)  # by default a tenth of the time goes into looking for garbage

# On a slow machine small runs would start worker processes, which take longer than the games.
run.WORKER_START = inf

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts its background jobs with SIGINT ignored; tests are about processes that are not.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def only_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Worker processes play even a small run, and this process none of it."""
    monkeypatch.setattr(run, "SMALL_CHUNK", 0)


LONGEST = ["pages", "experiments", "learning", "judge", "conformance", "solver", "cli", "resume"]
"""Files that begin, so that the workers of xdist end at the same time."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    order = {f"test_{name}.py": place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.name, len(order)))


def pytest_collection_finish() -> None:
    gc.freeze()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Iterator[None]:
    """Say at the very end what was not tested for want of a browser."""
    yield
    skipped = terminalreporter.stats.get("skipped", [])
    if without := [report for report in skipped if MISSING in str(report.longrepr)]:
        terminalreporter.write_line(f"{len(without)} tests were skipped. {MISSING}")
