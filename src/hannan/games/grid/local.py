"""Cells computed here: in this process, or in processes of loky that may die and are replaced."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from typing import Any

from hannan import extras
from hannan.games.cells import Cell
from hannan.games.deaf import deaf
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
        raise ModuleNotFoundError(f"a sweep needs loky: {extras.command('sweep')}") from None
    with _starting:
        _quiet_tracker()
        pool = ProcessPoolExecutor(max_workers=workers, initializer=_begin, initargs=(packed,))
        _pools.append(pool)
    waiting = iter(list(places.items()))
    at_work: dict[Future[Any], str] = {}
    try:
        while True:
            while len(at_work) < 3 * workers:
                key, place = next(waiting, (None, None))
                if key is None:
                    break
                with _starting, deaf():
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
        _pools.remove(pool)


#: The pools at work.
_pools: list[Any] = []
#: Held while processes are started, and for good once all are ended: nobody starts another then.
_starting = threading.Lock()


def kill_all() -> None:
    """End every process that was started here, from whatever thread, for a program that leaves: none is left behind."""
    _starting.acquire(timeout=0.5)
    ended = [pid for pool in list(_pools) for pid in list(getattr(pool, "_processes", None) or ())]
    for pid in ended:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for name in ("loky.backend.resource_tracker", "multiprocessing.resource_tracker"):
        tracker: Any = getattr(sys.modules.get(name), "_resource_tracker", None)
        if tracker is not None and tracker._pid:
            # It takes away what is left and ends when nobody can write to it any more.
            with suppress(OSError, TypeError):
                os.close(tracker._fd)
            ended.append(tracker._pid)
    deadline = time.monotonic() + 0.7
    while ended and time.monotonic() < deadline:
        ended = [pid for pid in ended if not _over(pid)]
        time.sleep(0.005)


def _over(pid: int) -> bool:
    """Whether a child has ended; then it is taken off the list of processes."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


def _quiet_tracker() -> None:
    """Start loky's tracker, which takes away what a killed program leaves behind, so that it says nothing about it."""
    from loky.backend import resource_tracker

    before = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = "ignore:resource_tracker"
    try:
        resource_tracker.ensure_running()
    finally:
        if before is None:
            del os.environ["PYTHONWARNINGS"]
        else:
            os.environ["PYTHONWARNINGS"] = before


_worker: Worker | Failed = Failed("no orders came")


def _begin(packed: bytes) -> None:
    global _worker
    follow_the_parent()
    _worker = begun(packed)


def _work(place: Place) -> bytes:
    return done(_worker, place)
