"""Workers: processes of this machine, or of a Dask cluster, that play orders and send back answers.

A worker of a cluster needs pickosim and nothing else, its scheduler only Dask. Workers that would play other games are
refused by name. Files of bots are sent to workers that lack them. If a worker is lost, Dask has others play its orders;
a worker that joins gets orders from then on.
"""

from __future__ import annotations

import gc
import inspect
import os
import pickle
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

from pickosim.amounts import first_few
from pickosim.errors import PickosimError, lacking
from pickosim.runs.tasks import Answer, Order, play_here

MOST_WORKERS = 1000
"""Processes of one machine; more are a typo."""

MOST_GROWTH = 4 * 10**9
"""Bytes that a worker may grow by between two tasks."""

PARENT_CHECK = 1.0
"""Seconds between two looks of a worker whether its parent is alive."""


Play = Callable[[Iterable[Order]], Iterator[Answer]]
"""Has orders played; answers come as they are finished."""


@dataclass(frozen=True)
class Workers:
    """How many processes of this machine, or the address of a Dask scheduler whose workers play."""

    number: int = 1
    scheduler: str | None = None
    prepare: Callable[[], None] | None = None
    """Called before a task is played, in the process that plays it."""

    def __post_init__(self) -> None:
        if not isinstance(self.number, int) or not 1 <= self.number <= MOST_WORKERS:
            raise PickosimError(
                f"Workers are a whole number from 1 to {MOST_WORKERS:,}, not {self.number!r}."
            )

    @property
    def are_local(self) -> bool:
        """Whether they are processes of this machine."""
        return self.scheduler is None

    @contextmanager
    def pool(self, say: Callable[[str], object] = lambda sentence: None) -> Iterator[Play]:
        """Workers that are ready to play; `say` gets what a person who waits may want to know."""
        if self.scheduler is not None:
            with connected(self.scheduler, say) as cluster:
                yield cluster.play
            return
        # Imported where workers are started: small runs are played without.
        from joblib import Parallel, delayed

        options: dict[str, Any] = {"n_jobs": self.number, "batch_size": 1}
        if self.number > 1:
            options |= {"initializer": join_parent, "initargs": (os.getpid(), gc.get_threshold())}
        with Parallel(return_as="generator_unordered", **options) as parallel:
            if self.number > 1:
                with _ignoring_sigint():
                    list(parallel([delayed(int)()]))  # this starts the processes
            yield lambda orders: parallel(delayed(_play)(order) for order in orders)


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


def join_parent(parent: int, garbage: tuple[int, int, int]) -> None:
    """Leave it to the parent to end this process, end soon after one that was killed, and collect garbage as it does."""
    gc.set_threshold(*garbage)
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


# ------------------------------------------------------------------------------------- a Dask cluster

PER_THREAD = 2
"""Orders under way for each thread of the cluster: one is played, the next is there when it ends."""

LOOK = 1.0
"""Seconds between two looks at which workers the cluster has."""

RUN_TEXT = "(exec(text, scope), scope['play_at_worker'](*order, __import__('distributed').get_worker()))[1]"
"""Python that runs the text of `play_at_worker`. The scheduler reads it, too, and may have no pickosim."""


class Cluster:
    """The workers of a Dask scheduler."""

    def __init__(self, client: Any, address: str, say: Callable[[str], object]) -> None:
        self.client = client
        self.address = address
        self.say = say
        self.text = f"from __future__ import annotations\n{inspect.getsource(play_at_worker)}"
        self.threads: dict[str, int] = {}
        """Threads of each worker that may play, by its address."""
        self.refused: dict[str, str] = {}
        """Why workers must not play, by their addresses."""
        self.looked = -LOOK
        self.waits = False

    def play(self, orders: Iterable[Order]) -> Iterator[Answer]:
        """Have the cluster play orders; answers come as they are finished."""
        waiting = deque(map(_Sent, orders))
        under_way: dict[Any, _Sent] = {}
        done: SimpleQueue[Any] = SimpleQueue()
        while waiting or under_way:
            self._look()
            for future in [future for future, sent in under_way.items() if self._is_stuck(sent)]:
                future.cancel()
                waiting.appendleft(under_way.pop(future))
            while waiting and len(under_way) < PER_THREAD * sum(self.threads.values()):
                sent = waiting.popleft()
                future = self._submit(sent)
                under_way[future] = sent
                future.add_done_callback(done.put)
            try:
                future = done.get(timeout=LOOK)
            except Empty:
                continue
            if future not in under_way:  # it was stuck, and has been sent again
                continue
            sent = under_way.pop(future)
            answer = self._taken(sent, future.result())
            if answer is None:
                waiting.appendleft(sent)
            else:
                yield answer

    def _look(self) -> None:
        """See which workers there are; if none may play, say so, or end."""
        if time.monotonic() < self.looked + LOOK:
            return
        self.looked = time.monotonic()
        seen = self.client.nthreads()
        self.threads = {
            address: number for address, number in seen.items() if address not in self.refused
        }
        if seen and not self.threads:
            why = " ".join(self.refused[address] for address in seen)
            raise PickosimError(f"No worker of the cluster at {self.address} may play. {why}")
        if not seen and not self.waits:
            self.say(f"Waiting for workers: the Dask scheduler at {self.address} has none yet.")
        self.waits = not seen

    def _submit(self, sent: _Sent) -> Any:
        """Send an order; while some workers are refused, only to the others."""
        sent.allowed = frozenset(self.threads) if self.refused else frozenset()
        order = sent.order
        sources = (order.sources.modules, order.sources.names)
        todo = (sources, order.source, pickle.dumps(order), sent.parcels())
        return self.client.submit(
            eval,
            RUN_TEXT,
            {"text": self.text, "scope": {}, "order": todo},
            workers=sorted(sent.allowed) or None,
            pure=False,
        )

    def _is_stuck(self, sent: _Sent) -> bool:
        """Whether an order waits for workers that are gone, or refused."""
        return bool(sent.allowed) and sent.allowed.isdisjoint(self.threads)

    def _taken(self, sent: _Sent, reply: Mapping[str, Any]) -> Answer | None:
        """The answer to an order; None if it has to be sent again."""
        match reply["kind"]:
            case "played":
                answer: Answer = reply["answer"]
                return answer
            case "lacking":
                sent.with_contents = True
            case "refused":
                self._refuse(reply, sent.order)
            case _:
                error = PickosimError(reply["why"])
                error.advice, error.bot = reply["advice"], reply["bot"]
                raise error
        return None

    def _refuse(self, reply: Mapping[str, Any], order: Order) -> None:
        """Send nothing more to a worker."""
        if reply["worker"] in self.refused:
            return
        name = "" if reply["name"] == reply["worker"] else f" {reply['name']}"
        where = f"{reply['worker']} on {reply['host']}"
        why = reply.get("why") or _difference(order, reply)
        sentence = f"The worker{name} ({where}) is refused: {why}."
        self.refused[reply["worker"]] = sentence
        self.threads.pop(reply["worker"], None)
        self.looked = -LOOK
        self.say(sentence)


class _Sent:
    """An order and how it is sent."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.with_contents = False
        """Whether files go with it, because a worker lacked them."""
        self.allowed: frozenset[str] = frozenset()
        """The workers that may play it, if not all."""

    def parcels(self) -> bytes:
        return pickle.dumps(
            {
                path: (parcel, parcel.contents() if self.with_contents else None)
                for path, parcel in self.order.task.parcels.items()
            }
        )


def _difference(order: Order, reply: Mapping[str, Any]) -> str:
    """What is different about a worker's pickosim, in words."""
    here, there = order.sources.digests, reply["digests"]
    names = sorted(name for name in {*here, *there} if here.get(name) != there.get(name))
    files = [f"{name.replace('.', '/')}.py" for name in names]
    return (
        f"its pickosim {reply['version']} in {reply['package']} would play other games "
        f"({first_few(files) or 'the measures'} of it differs from the one here)"
    )


@contextmanager
def connected(address: str, say: Callable[[str], object]) -> Iterator[Cluster]:
    """The cluster of a scheduler. How to reach a tls:// address is up to Dask's own configuration."""
    try:
        from distributed import Client
    except ImportError as error:
        raise lacking("The Dask backend needs", "dask") from error
    # Made and connected in two steps, as a client that could not connect has to be closed. Dask leaves that to the
    # garbage collector. If that runs in the thread of the next client, it waits for a lock that the next client holds.
    client: Any = Client.__new__(Client)
    try:
        client.__init__(address, timeout="10s")
    except (OSError, ValueError, TypeError) as error:
        with suppress(AttributeError):  # it failed before there was anything to close
            client.close()
        raise PickosimError(
            f"No Dask scheduler answers at {address}: {error}".rstrip(".") + "."
        ) from error
    with client:
        yield Cluster(client, address, say)


def play_at_worker(
    sources: tuple[Any, ...], source: str, order: bytes, parcels: Any, worker: Any
) -> dict[str, Any]:
    """What a Dask worker does: compare its pickosim with the one that gave the order, and play it.

    The text of this function is sent with every order, so that it runs whatever pickosim the worker has, or none. Only
    when the worker's pickosim has been compared is the order read.

    sources: the modules that matter, and `source` their digest; order: see `pickosim.runs.tasks`, pickled;
    parcels: see `pickosim.files`, with their contents if this worker may lack them, pickled.
    """
    import pickle
    import socket
    from pathlib import Path

    answer = {"worker": worker.address, "name": str(worker.name), "host": socket.gethostname()}
    try:
        import pickosim
        from pickosim.runs.tasks import Sources

        here = Sources(*sources)
        if here.digest != source:
            digests = here.digests
            return answer | {
                "kind": "refused",
                "version": pickosim.__version__,
                "digests": digests,
                "package": str(Path(pickosim.__file__).parent),
            }
        from pickosim.errors import PickosimError
        from pickosim.files import unpacked_at
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        return answer | {"kind": "refused", "why": f"its pickosim cannot be used ({reason})"}
    places = {}
    for path, (parcel, contents) in pickle.loads(parcels).items():
        place = unpacked_at(Path(worker.local_directory) / "pickosim", parcel, contents)
        if place is None:
            return answer | {"kind": "lacking"}
        places[path] = place
    todo = pickle.loads(order)

    def localised(error: PickosimError) -> str:
        message = str(error)
        for path, place in places.items():
            there = str(Path(path).parent / "x")[:-1]
            message = message.replace(str(place), path).replace(f"{place.parent}/", there)
        return message

    try:
        todo.prepare_worker(places)
    except PickosimError as error:
        return answer | {"kind": "refused", "why": localised(error).rstrip(".")}
    try:
        return answer | {"kind": "played", "answer": todo.play(places)}
    except PickosimError as error:
        more = {"advice": error.advice, "bot": error.bot}
        return answer | {"kind": "failed", "why": localised(error), **more}
