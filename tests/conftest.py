"""What holds for all tests: none of them is judged by a clock, and none of the page is skipped in silence."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from browser import MISSING
from hypothesis import HealthCheck, settings

settings.register_profile("no clock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("no clock")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts its background jobs with SIGINT ignored; tests are about processes that are not.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Iterator[None]:
    """Say at the very end what was not tested for want of a browser."""
    yield
    skipped = terminalreporter.stats.get("skipped", [])
    if without := [report for report in skipped if MISSING in str(report.longrepr)]:
        terminalreporter.write_line(f"{len(without)} tests were skipped. {MISSING}")
