"""Cells computed here: in this process, or in processes of loky that may die and are replaced."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any

from hannan.games.cells import Cell
from hannan.games.grid.plan import Place
from hannan.games.grid.worker import Failed, Orders, Worker, begun, done, follow_the_parent, pack, tried

Results = dict[str, Cell | Failed]

#: Cells of one process that take less than this many seconds together are written together.
TOGETHER = 0.05

#: A cell whose process died so often, though nothing else was at work in it, is given up.
DEATHS = 2


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
    """By `workers` processes of this machine; what is ready comes together, so that many small cells cost one write.

    When a process dies, every cell at work is suspect: each is tried alone, and given up when its process dies again.
    """
    left, packed = dict(places), pack(orders)
    while left:
        suspects = yield from _round(packed, left, workers)
        for key in suspects:
            for _ in range(DEATHS):
                if key in left:
                    yield from _round(packed, {key: left[key]}, 1, left)
            if left.pop(key, None) is not None:
                yield {key: Failed(f"its process died {DEATHS} times, at work on nothing else")}


def _round(packed: bytes, places: dict[str, Place], workers: int, left: dict[str, Place] | None = None) -> Any:
    """Until all is done or a process dies; takes what is done from `left`, gives the keys at work at a death."""
    left = places if left is None else left
    try:
        from loky import ProcessPoolExecutor
        from loky.process_executor import BrokenProcessPool
    except ImportError:
        raise ModuleNotFoundError("a sweep needs loky: pip install 'hannan[sweep]'") from None
    pool = ProcessPoolExecutor(max_workers=workers, initializer=_begin, initargs=(packed,))
    waiting = iter(list(places.items()))
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


_worker: Worker | Failed = Failed("no orders came")


def _begin(packed: bytes) -> None:
    global _worker
    follow_the_parent()
    _worker = begun(packed)


def _work(place: Place) -> bytes:
    return done(_worker, place)
