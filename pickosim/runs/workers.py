"""Workers: processes of this machine, or of a Dask cluster, that play tasks and send back sums."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky import process_executor
from joblib.externals.loky.process_executor import BrokenProcessPool

from pickosim.errors import PickosimError

__all__ = ["BrokenProcessPool", "Pool", "Workers", "allow_growth", "delayed"]

Pool: TypeAlias = Parallel

MOST_GROWTH = 4 * 10**9
"""Bytes that a worker may grow by between two tasks."""


@dataclass(frozen=True)
class Workers:
    """How many processes of this machine, or the address of a Dask scheduler whose workers play."""

    number: int = 1
    scheduler: str | None = None
    prepare: Callable[[], None] | None = None
    """Called before a task is played, in the process that plays it."""

    def __post_init__(self) -> None:
        if not isinstance(self.number, int) or self.number < 1:
            raise PickosimError(f"Workers are a whole number from 1 on, not {self.number!r}.")

    @property
    def are_local(self) -> bool:
        """Whether they are processes of this machine."""
        return self.scheduler is None

    @contextmanager
    def pool(self) -> Iterator[Pool]:
        """A pool that returns results in the order in which they finish."""
        with (
            self._backend(),
            Parallel(n_jobs=self.number, return_as="generator_unordered", batch_size=1) as pool,
        ):
            if self.are_local and self.number > 1:
                with _ignoring_sigint():
                    list(pool([delayed(int)()]))  # this starts the processes
            yield pool

    @contextmanager
    def _backend(self) -> Iterator[None]:
        if self.scheduler is None:
            yield
            return
        try:
            from distributed import Client
        except ImportError as error:
            raise PickosimError(
                "The Dask backend needs more packages: pip install 'pickosim[dask]'."
            ) from error
        try:
            client: Any = Client(self.scheduler, timeout="10s")  # type: ignore[no-untyped-call]
        except (OSError, ValueError) as error:
            raise PickosimError(
                f"No Dask scheduler answers at {self.scheduler}: {error}".rstrip(".") + "."
            ) from error
        with client, parallel_config(backend="dask", client=client):
            yield


@contextmanager
def _ignoring_sigint() -> Iterator[None]:
    """Start workers with SIGINT ignored: on Ctrl-C the parent alone is interrupted and ends them in order."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ours = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, ours)


def allow_growth() -> None:
    """Let this worker's memory grow: the solver's caches are bounded, but loky takes them for a leak.

    It would end the worker with a warning, and start another one with empty caches.
    """
    process_executor._MAX_MEMORY_LEAK_SIZE = MOST_GROWTH
