"""A Dask cluster: orders are sent to its workers, and workers that would play other games are refused by name.

A worker needs pickosim and nothing else, a scheduler only Dask. Files of bots are sent to workers that lack them. If a
worker is lost, Dask has others play its orders; a worker that joins gets orders from then on.
"""

from __future__ import annotations

import pickle
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from pickosim.errors import PickosimError, lacking
from pickosim.runs import at_worker
from pickosim.runs.tasks import Answer, Order

PER_THREAD = 2
"""Orders under way for each thread of the cluster: one is played, the next is there when it ends."""

LOOK = 1.0
"""Seconds between two looks at which workers the cluster has."""

RUN_TEXT = "(exec(text, scope), scope['play'](*order, __import__('distributed').get_worker()))[1]"
"""Python that runs the text of `at_worker`. The scheduler reads it, too, and may have no pickosim."""

Say = Callable[[str], object]


class Cluster:
    """The workers of a Dask scheduler."""

    def __init__(self, client: Any, address: str, say: Say) -> None:
        self.client = client
        self.address = address
        self.say = say
        self.text = Path(at_worker.__file__).read_text(encoding="utf-8")
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
            for future in [one for one, sent in under_way.items() if self._is_stuck(sent)]:
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
        found = self.client.nthreads()
        self.threads = {one: number for one, number in found.items() if one not in self.refused}
        if found and not self.threads:
            why = " ".join(self.refused[one] for one in found)
            raise PickosimError(f"No worker of the cluster at {self.address} may play. {why}")
        if not found and not self.waits:
            self.say(f"Waiting for workers: the Dask scheduler at {self.address} has none yet.")
        self.waits = not found

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

    def _taken(self, sent: _Sent, found: Mapping[str, Any]) -> Answer | None:
        """The answer to an order; None if it has to be sent again."""
        match found["kind"]:
            case at_worker.PLAYED:
                answer: Answer = found["answer"]
                return answer
            case at_worker.LACKING:
                sent.with_contents = True
            case at_worker.REFUSED:
                self._refuse(found, sent.order)
            case _:
                error = PickosimError(found["why"])
                error.advice = found["advice"]
                raise error
        return None

    def _refuse(self, found: Mapping[str, Any], order: Order) -> None:
        """Send nothing more to a worker."""
        if found["worker"] in self.refused:
            return
        name = "" if found["name"] == found["worker"] else f" {found['name']}"
        where = f"{found['worker']} on {found['host']}"
        why = found.get("why") or _difference(order, found)
        sentence = f"The worker{name} ({where}) is refused: {why}."
        self.refused[found["worker"]] = sentence
        self.threads.pop(found["worker"], None)
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


def _difference(order: Order, found: Mapping[str, Any]) -> str:
    """What is different about a worker's pickosim, in words."""
    here, there = order.sources.digests, found["digests"]
    names = sorted(name for name in {*here, *there} if here.get(name) != there.get(name))
    files = [f"{name.replace('.', '/')}.py" for name in names]
    more = f" and {len(files) - 3} more files" if len(files) > 3 else ""
    differing = f"{', '.join(files[:3])}{more}" if files else "the measures"
    return (
        f"its pickosim {found['version']} in {found['package']} would play other games "
        f"({differing} of it differs from the one here)"
    )


@contextmanager
def connected(address: str, say: Say) -> Iterator[Cluster]:
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
