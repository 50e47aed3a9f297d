"""Cells computed by a Dask cluster, bit for bit as on one machine; cells of lost workers are computed again."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterator, Mapping
from typing import Any

from hannan import extras
from hannan.games.sweep.local import Failed, Orders, Results, Worker, begun, done, pack
from hannan.games.sweep.plan import Place

#: Number of cells that are submitted in advance per thread of a worker.
AHEAD = 4


def on_cluster(orders: Orders, places: Mapping[str, Place], on: Any) -> Iterator[Results]:
    """Compute cells by the workers of a Dask scheduler; `on` is its address or a `distributed.Client`."""
    try:
        import distributed
    except ImportError:
        raise ModuleNotFoundError(f"a sweep on a cluster needs dask: {extras.command('sweep')}") from None
    ours = isinstance(on, str)
    dask: Any = distributed  # its functions have no types
    client = dask.Client(on) if ours else on
    if not isinstance(client, dask.Client):
        raise ValueError(f"on must be the address of a Dask scheduler, or a distributed.Client; got {on!r}")
    try:
        # The orders are the result of a task, so they are computed again if the worker that holds them is lost.
        packed = client.submit(_orders, pack(orders), pure=True)
        waiting = iter(places.items())
        at_work: dict[str, str] = {}
        stream = dask.as_completed([])

        def hand() -> None:
            wanted = AHEAD * max(1, sum(client.nthreads().values()))
            while len(at_work) < wanted:
                key, place = next(waiting, (None, None))
                if key is None:
                    return
                future = client.submit(_work, packed, place, key=f"hannan-{key}", retries=3, pure=True)
                at_work[future.key] = key
                stream.add(future)

        hand()
        while at_work:
            ready: Results = {}
            for future in stream.next_batch(block=True):
                key = at_work.pop(future.key)
                try:
                    ready[key] = pickle.loads(future.result())
                except Exception as error:
                    ready[key] = Failed(f"{type(error).__name__}: {error}")
                future.release()
            yield ready
            hand()
    finally:
        if ours:
            client.close()


def _orders(packed: bytes) -> bytes:
    return packed


_workers: dict[bytes, Worker | Failed] = {}


def _work(packed: bytes, place: Place) -> bytes:
    """Compute a cell on a worker; the orders are read once per process."""
    digest = hashlib.sha256(packed).digest()
    if digest not in _workers:
        _workers.clear()
        _workers[digest] = begun(packed)
    return done(_workers[digest], place)
