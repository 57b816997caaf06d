"""What holds for all tests: none of them is judged by a clock."""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

settings.register_profile("no clock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("no clock")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts its background jobs with SIGINT ignored; tests are about processes that are not.
    signal.signal(signal.SIGINT, signal.default_int_handler)
