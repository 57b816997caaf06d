"""What a Dask worker does with a chunk.

This file is sent as text with every chunk, so that it runs whatever pickosim the worker has, or none; the scheduler
needs none. Only when the worker's pickosim has been compared is the order read, and played.
"""

from __future__ import annotations

import pickle
import socket
from pathlib import Path
from typing import Any

REFUSED, LACKING, FAILED, PLAYED = "refused", "lacking", "failed", "played"
"""Answers: this worker must not play; it lacks files; it cannot play; what it played."""


def play(
    sources: tuple[Any, ...], source: str, order: bytes, parcels: Any, worker: Any
) -> dict[str, Any]:
    """Compare this worker's pickosim with the one that gave the order, and play it.

    sources: the modules that matter, and `source` their digest; order: see `pickosim.runs.tasks`, pickled;
    parcels: see `pickosim.files`, with their contents if this worker may lack them, pickled.
    """
    answer = {"worker": worker.address, "name": str(worker.name), "host": socket.gethostname()}
    try:
        import pickosim
        from pickosim.runs.provenance import Sources

        here = Sources(*sources)
        if here.digest != source:
            digests = here.digests
            return answer | {
                "kind": REFUSED,
                "version": pickosim.__version__,
                "digests": digests,
                "package": str(Path(pickosim.__file__).parent),
            }
        from pickosim.errors import PickosimError
        from pickosim.files import unpacked_at
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        return answer | {"kind": REFUSED, "why": f"its pickosim cannot be used ({reason})"}
    places = {}
    for path, (parcel, contents) in pickle.loads(parcels).items():
        place = unpacked_at(Path(worker.local_directory) / "pickosim", parcel, contents)
        if place is None:
            return answer | {"kind": LACKING}
        places[path] = place
    todo = pickle.loads(order)

    def in_words_of_sender(error: PickosimError) -> str:
        said = str(error)
        for path, place in places.items():
            there = str(Path(path).parent / "x")[:-1]
            said = said.replace(str(place), path).replace(f"{place.parent}/", there)
        return said

    try:
        todo.prepare_worker(places)
    except PickosimError as error:
        return answer | {"kind": REFUSED, "why": in_words_of_sender(error).rstrip(".")}
    try:
        return answer | {"kind": PLAYED, "answer": todo.play(places)}
    except PickosimError as error:
        return answer | {"kind": FAILED, "why": in_words_of_sender(error), "advice": error.advice}
