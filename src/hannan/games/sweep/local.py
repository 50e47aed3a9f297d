"""Worker processes of a sweep on this machine."""

from __future__ import annotations

import functools
import inspect
import os
import pickle
import signal
import sys
import sysconfig
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

from hannan import __version__, extras
from hannan.games.compare.environments import environment
from hannan.games.compare.numbers import Cell, entrant, play_cell
from hannan.games.sweep.plan import Place, Plan, engine_digest


@contextmanager
def deaf() -> Iterator[None]:
    """Ctrl-C is blocked in this thread: a process started now inherits that, from its first moment on."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # which would unblock Ctrl-C, were it started on the way
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@dataclass(frozen=True)
class Orders:
    """What a worker must know of a plan; sent once."""

    learners: dict[str, Any]
    environments: dict[str, Any]
    runs: int
    seed: int
    share_streams: bool
    version: str
    engine: str


def orders_of(plan: Plan) -> Orders:
    """The plan as workers need it: what was given, and files by their content."""
    return Orders(
        {name: who.given for name, who in plan.learners.items()},
        {name: where.made_of for name, where in plan.environments.items()},
        plan.runs, plan.seed, plan.share_streams, __version__, engine_digest(),
    )  # fmt: skip


class Worker:
    """Computes cells of one plan; environments stay from cell to cell, with the losses that they made last."""

    def __init__(self, orders: Orders) -> None:
        here = (__version__, engine_digest())
        if here != (orders.version, orders.engine):
            raise ValueError(
                f"a worker must have hannan {orders.version} with the engine {orders.engine[:12]}, so that results are "
                f"the same bit for bit; this one has {here[0]} with {here[1][:12]}"
            )
        self._orders = orders
        self._learners = {name: entrant(name, given) for name, given in orders.learners.items()}
        self._environments = {name: environment(name, given) for name, given in orders.environments.items()}

    def cell(self, place: Place) -> Cell:
        """Play it, on one thread."""
        o = self._orders
        return play_cell(
            self._learners[place.learner], self._environments[place.environment], place.n, place.rounds, o.runs, o.seed,
            shared=o.share_streams, threads=1,
        )  # fmt: skip


@dataclass(frozen=True)
class Failed:
    """A cell that could not be computed, and why."""

    reason: str


def tried(compute: Callable[[Place], Cell], place: Place) -> Cell | Failed:
    """The cell, or what went wrong in it: one bad cell must not stop the others."""
    try:
        return compute(place)
    except Exception as error:
        return Failed(f"{type(error).__name__}: {error}")


def pack(orders: Orders) -> bytes:
    """Return the orders as bytes for another process, with user-defined code, which need not be installed there."""
    return _packed(orders, [*orders.learners.values(), *orders.environments.values()])


def check_portable(plan: Plan) -> None:
    """Raise ValueError if user-defined code of a plan cannot be sent to worker processes."""
    given = {f"learner {name!r}": who.given for name, who in plan.learners.items() if not isinstance(who.given, str)}
    made = {f"environment {name!r}": where.made_of for name, where in plan.environments.items()}
    for what, thing in {**given, **{what: thing for what, thing in made.items() if callable(thing)}}.items():
        try:
            _packed(thing, [thing])
        except ModuleNotFoundError:
            raise
        except Exception as error:
            raise ValueError(
                f"{what} must be something that can be sent to worker processes; got {type(error).__name__}: {error}. "
                "Open files, locks and connections inside the function, or run with workers=1"
            ) from None


def _packed(what: Any, things: list[Any]) -> bytes:
    """Return the pickle of an object; modules that define user-defined things go along by value."""
    try:
        import cloudpickle
    except ImportError:
        raise ModuleNotFoundError(f"a sweep needs cloudpickle: {extras.command('sweep')}") from None
    own = dict.fromkeys(module for thing in things for part in _parts(thing) if (module := _own(part)))
    for module in own:
        cloudpickle.register_pickle_by_value(module)
    try:
        packed: bytes = cloudpickle.dumps(what)
        return packed
    finally:
        for module in own:
            cloudpickle.unregister_pickle_by_value(module)


def _parts(thing: Any, seen: frozenset[int] = frozenset()) -> Iterator[Any]:
    """Yield an object, and the functions and arguments of partials and closures in it."""
    if id(thing) in seen:
        return
    yield thing
    inner: list[Any] = []
    if isinstance(thing, functools.partial):
        inner = [thing.func, *thing.args, *thing.keywords.values()]
    for cell in getattr(thing, "__closure__", None) or ():
        with suppress(ValueError):  # a variable that has no value yet
            inner.append(cell.cell_contents)
    for part in inner:
        yield from _parts(part, seen | {id(thing)})


def _own(thing: Any) -> Any:
    """Return the module of user-defined code; None for an installed package or the standard library."""
    module = inspect.getmodule(thing if inspect.isroutine(thing) or isinstance(thing, type) else type(thing))
    if module is None or module.__name__ == "__main__" or module.__name__ not in sys.modules:
        return None
    file = getattr(module, "__file__", None)
    installed = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    if file is None or module.__name__.split(".")[0] == "hannan" or any(file.startswith(place) for place in installed):
        return None
    # Packages of the user, of the system or of another environment on sys.path.
    if {"site-packages", "dist-packages"} & set(Path(file).parts):
        return None
    return module


def begun(packed: bytes) -> Worker | Failed:
    """The worker of packed orders, or why there is none."""
    try:
        return Worker(pickle.loads(packed))
    except Exception as error:
        return Failed(f"{type(error).__name__}: {error}")


def done(worker: Worker | Failed, place: Place) -> bytes:
    """A cell, or why it is not there, for the way back."""
    return pickle.dumps(worker if isinstance(worker, Failed) else tried(worker.cell, place), protocol=5)


def follow_the_parent(every: float = 0.25) -> None:
    """End this process soon after the one that started it has ended, however that ended."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(every)
        os._exit(1)

    threading.Thread(target=watch, name="hannan-follow", daemon=True).start()


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
