"""Cells computed here: in this process, or in processes of loky that may die and are replaced."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any

from hannan.games.cells import Cell
from hannan.games.grid.plan import Place
from hannan.games.grid.worker import Failed, Orders, Worker, follow_the_parent, tried

Results = dict[str, Cell | Failed]

#: Cells of one process that take less than this many seconds together are written together.
TOGETHER = 0.05

#: A cell whose process died so often is given up.
DEATHS = 3


def here(orders: Orders, places: Mapping[str, Place]) -> Iterator[Results]:
    """One after the other, in this process; small ones come together."""
    worker, ready, began = Worker(orders), Results(), time.monotonic()
    for key, place in places.items():
        ready[key] = tried(worker.cell, place)
        if time.monotonic() - began > TOGETHER:
            yield ready
            ready, began = Results(), time.monotonic()
    if ready:
        yield ready


def on_processes(orders: Orders, places: Mapping[str, Place], workers: int) -> Iterator[Results]:
    """By `workers` processes of this machine; what is ready comes together, so that many small cells cost one write."""
    left, deaths = dict(places), dict.fromkeys(places, 0)
    while left:
        died = yield from _round(orders, left, workers)
        # Everyone in the pool is suspect when one process dies: only who was there too often is given up.
        lost: Results = {}
        for key in died:
            deaths[key] += 1
            if deaths[key] >= DEATHS:
                lost[key] = Failed(f"its process died {DEATHS} times")
                left.pop(key)
        if lost:
            yield lost


def _round(orders: Orders, left: dict[str, Place], workers: int) -> Any:
    """Until all is done or a process dies; takes what is done from `left`, gives the keys at work at a death."""
    try:
        import cloudpickle
        from loky import ProcessPoolExecutor
        from loky.process_executor import BrokenProcessPool
    except ImportError:
        raise ModuleNotFoundError("a sweep needs loky: pip install 'hannan[sweep]'") from None
    packed = cloudpickle.dumps(orders)
    pool = ProcessPoolExecutor(max_workers=workers, initializer=_begin, initargs=(packed,))
    waiting = iter(list(left.items()))
    at_work: dict[Future[Any], str] = {}
    try:
        while True:
            while len(at_work) < 3 * workers:
                key, place = next(waiting, (None, None))
                if key is None:
                    break
                at_work[pool.submit(_work, place)] = key
            if not at_work:
                return []
            done, _ = wait(at_work, return_when=FIRST_COMPLETED)
            ready: Results = {}
            for future in done:
                key = at_work[future]
                ready[key] = pickle.loads(future.result())
                del at_work[future]
            for key in ready:
                left.pop(key)
            yield ready
    except BrokenProcessPool:
        return list(at_work.values())
    finally:
        pool.shutdown(wait=True, kill_workers=True)


_worker: Worker | None = None


def _begin(packed: bytes) -> None:
    global _worker
    follow_the_parent()
    _worker = Worker(pickle.loads(packed))


def _work(place: Place) -> bytes:
    assert _worker is not None
    return pickle.dumps(tried(_worker.cell, place), protocol=5)
