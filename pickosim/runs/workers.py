"""Workers: processes of this machine, or of a Dask cluster, that play orders and send back answers."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from pickosim.errors import PickosimError
from pickosim.runs.cluster import connected
from pickosim.runs.tasks import Answer, Order, play_here

MOST_GROWTH = 4 * 10**9
"""Bytes that a worker may grow by between two tasks."""

PARENT_CHECK = 1.0
"""Seconds between two looks of a worker whether its parent is alive."""


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
    def pool(self, say: Callable[[str], object] = lambda sentence: None) -> Iterator[Pool]:
        """Workers that are ready to play; `say` gets what a person who waits may want to know."""
        if self.scheduler is not None:
            with connected(self.scheduler, say) as cluster:
                yield cluster
            return
        # Imported where workers are started: small runs are played without.
        from joblib import Parallel, delayed

        options: dict[str, Any] = {"n_jobs": self.number, "batch_size": 1}
        if self.number > 1:
            options |= {"initializer": obey_parent, "initargs": (os.getpid(),)}
        with Parallel(return_as="generator_unordered", **options) as parallel:
            if self.number > 1:
                with _ignoring_sigint():
                    list(parallel([delayed(int)()]))  # this starts the processes
            yield _Processes(parallel)


class Pool(Protocol):
    """Workers that are ready."""

    def play(self, orders: Iterable[Order]) -> Iterator[Answer]:
        """Have orders played; answers come as they are finished."""


class _Processes:
    """Processes of this machine."""

    def __init__(self, parallel: Any) -> None:
        self.parallel = parallel

    def play(self, orders: Iterable[Order]) -> Iterator[Answer]:
        from joblib import delayed

        answers: Iterator[Answer] = self.parallel(delayed(_play)(order) for order in orders)
        return answers


def _play(order: Order) -> Answer:
    """Play an order in a process of this machine."""
    allow_growth()
    return play_here(order)


class Terminated(KeyboardInterrupt):
    """SIGTERM, by which systemd, Slurm and containers stop a process."""


@contextmanager
def sigterm_interrupts() -> Iterator[None]:
    """Let SIGTERM interrupt like Ctrl-C; not where the program has its own way to take it."""
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    ):
        yield
        return

    def interrupt(number: int, frame: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second one must not stop the tidying up
        raise Terminated

    signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


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


def obey_parent(parent: int) -> None:
    """Leave it to the parent to end this process, and end soon after a parent that was killed."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # systemd and Slurm send it to all processes

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_CHECK)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def allow_growth() -> None:
    """Let this worker's memory grow: the solver's caches are bounded, but loky takes them for a leak.

    It would end the worker with a warning, and start another one with empty caches.
    """
    from joblib.externals.loky import process_executor

    process_executor._MAX_MEMORY_LEAK_SIZE = MOST_GROWTH
