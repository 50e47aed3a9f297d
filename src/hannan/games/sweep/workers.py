"""Workers of a sweep: processes of this machine, or a Dask cluster, with the same results bit for bit."""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import os
import pickle
import queue
import signal
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hannan import __version__, extras
from hannan.games.compare.environments import environment
from hannan.games.compare.numbers import Cell, entrant, play_cell
from hannan.games.sweep.plan import Place, Plan, engine_digest


@contextmanager
def deaf() -> Iterator[None]:
    """Block Ctrl-C in this thread: a process that is started meanwhile inherits the mask."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@dataclass(frozen=True)
class Orders:
    """Learners, environments and options of a plan; sent to every worker once."""

    learners: dict[str, Any]
    environments: dict[str, Any]
    runs: int
    seed: int
    share_streams: bool
    version: str
    engine: str


def orders_of(plan: Plan) -> Orders:
    """Return the orders of a plan, with files by their content."""
    return Orders(
        learners={name: who.given for name, who in plan.learners.items()},
        environments={name: where.made_of for name, where in plan.environments.items()},
        runs=plan.runs, seed=plan.seed, share_streams=plan.share_streams, version=__version__, engine=engine_digest(),
    )  # fmt: skip


class Worker:
    """Computes cells of one plan; environments keep the losses that they generated last."""

    def __init__(self, orders: Orders) -> None:
        here = (__version__, engine_digest())
        if here != (orders.version, orders.engine):
            raise ValueError(
                f"workers must have hannan {orders.version} with the engine {orders.engine[:12]}, so that results are "
                f"the same bit for bit; got {here[0]} with {here[1][:12]}"
            )
        self._orders = orders
        self._learners = {name: entrant(name, given) for name, given in orders.learners.items()}
        self._environments = {name: environment(name, given) for name, given in orders.environments.items()}

    def cell(self, place: Place) -> Cell:
        """Play a cell on one thread."""
        o = self._orders
        return play_cell(
            self._learners[place.learner], self._environments[place.environment], place.n, place.rounds, o.runs, o.seed,
            shared=o.share_streams, threads=1,
        )  # fmt: skip


@dataclass(frozen=True)
class Failed:
    """Reason why a cell could not be computed."""

    reason: str


def tried(compute: Callable[[Place], Cell], place: Place) -> Cell | Failed:
    """Return a cell, or the reason why it failed: one failed cell does not stop the others."""
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
    """Return the worker of packed orders, or the reason why it cannot start."""
    try:
        return Worker(pickle.loads(packed))
    except Exception as error:
        return Failed(f"{type(error).__name__}: {error}")


def done(worker: Worker | Failed, place: Place) -> bytes:
    """Return a cell, or the reason why it failed, as bytes."""
    return pickle.dumps(worker if isinstance(worker, Failed) else tried(worker.cell, place), protocol=5)


def follow_the_parent(every: float = 0.25) -> None:
    """End this process soon after the process that started it has ended, for whatever reason."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(every)
        os._exit(1)

    threading.Thread(target=watch, name="hannan-follow", daemon=True).start()


Results = dict[str, Cell | Failed]

#: Cells of one process that take less than this many seconds together are written together.
TOGETHER = 0.05

#: Number of times that a process may die while a cell is computed alone, before the cell counts as failed.
DEATHS = 2


def here(orders: Orders, places: Mapping[str, Place]) -> Iterator[Results]:
    """Compute cells one after the other in this process; yield short ones together."""
    worker, ready, began = Worker(orders), Results(), time.monotonic()
    for key, place in places.items():
        ready[key] = tried(worker.cell, place)
        if time.monotonic() - began > TOGETHER:
            yield ready
            ready, began = Results(), time.monotonic()
    if ready:
        yield ready


class Cells:
    """Function of a worker process that computes cells; it reads the orders at the first cell."""

    def __init__(self, packed: bytes) -> None:
        self.packed = packed
        self.worker: Worker | Failed | None = None

    def __call__(self, place: Place) -> Cell | Failed:
        """Return a cell, or the reason why it failed."""
        if self.worker is None:
            self.worker = begun(self.packed)
        return self.worker if isinstance(self.worker, Failed) else tried(self.worker.cell, place)


def on_processes(orders: Orders, places: Mapping[str, Place], workers: int) -> Iterator[Results]:
    """Compute cells in `workers` processes of this machine; yield those that are ready together.

    A cell whose process died is computed again after all others, alone, because another cell may have used up the
    memory of the machine. It fails if its process dies then, too.
    """
    cells, keys, suspects = Cells(pack(orders)), list(places), []
    for ready in answers(cells, [(places[key],) for key in keys], workers):
        found = {keys[i]: answer for i, answer in ready}
        suspects += [key for key, answer in found.items() if isinstance(answer, Died)]
        results = {key: answer for key, answer in found.items() if not isinstance(answer, Died)}
        if results:
            yield results
    for key in suspects:
        yield {key: _alone(cells, places[key])}


def _alone(cells: Cells, place: Place) -> Cell | Failed:
    """Compute a cell while no other cell is computed."""
    for _ in range(DEATHS):
        for [(_, answer)] in answers(cells, [(place,)], 1):
            if not isinstance(answer, Died):
                return answer  # type: ignore[no-any-return]
    return Failed(f"its process died {DEATHS} times while no other cell was computed")


class Died(Exception):
    """A worker process that ended without an answer."""


def answers(
    ask: Callable[..., Any], questions: Sequence[tuple[Any, ...]], workers: int
) -> Iterator[list[tuple[int, Any]]]:
    """Yield lists of (i, ask(*questions[i])) as the answers come from worker processes.

    An answer is `Died` if its process ended instead. Questions are asked in order. Workers are fresh interpreters: a
    fork would copy the threads of compiled code in an arbitrary state. They do not run the main module again, so a
    script needs no `if __name__ == "__main__"`.
    """
    packed = pickle.dumps(ask, protocol=5)
    left, taking = iter(enumerate(questions)), threading.Lock()
    ready: queue.Queue[tuple[int, Any]] = queue.Queue(3 * workers)
    started: list[Process] = []
    closed = threading.Event()

    def put(i: int, answer: Any) -> None:
        while not closed.is_set():
            with suppress(queue.Full):
                return ready.put((i, answer), timeout=0.1)

    def hand_out() -> None:
        process = None
        try:
            while not closed.is_set():
                with taking:
                    i, question = next(left, (-1, ()))
                if i < 0:
                    break
                if process is None:
                    process = Process(packed)
                    started.append(process)
                    if closed.is_set():
                        break
                answer = process.answer(question)
                put(i, answer)
                if isinstance(answer, Died):
                    process = None
        except BaseException as error:
            put(-1, error)
        finally:
            if process is not None:
                process.kill()

    threads = [threading.Thread(target=hand_out, name="hannan-worker", daemon=True) for _ in range(workers)]
    try:
        for thread in threads:
            thread.start()
        missing = len(questions)
        while missing:
            found = [ready.get()]
            with suppress(queue.Empty):
                while True:
                    found.append(ready.get_nowait())
            for i, answer in found:
                if i < 0:
                    raise answer
            missing -= len(found)
            yield found
    finally:
        closed.set()
        while any(thread.is_alive() for thread in threads):
            for process in list(started):
                process.kill()  # its thread waits for an answer
            threads[0].join(0.01)


#: Processes at work.
running: set[subprocess.Popen[bytes]] = set()
#: Held while a process is started. `kill_all` keeps it, so that no process starts afterwards.
_starting = threading.Lock()
#: Program of a worker process; -P keeps the working directory from shadowing modules until the path is set.
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from hannan.games.sweep.workers import serve; serve()"
)
#: Number of attempts to start a worker process.
STARTS = 3


class Process:
    """A fresh interpreter that answers questions."""

    def __init__(self, packed: bytes) -> None:
        for _ in range(STARTS):
            with _starting, deaf():
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-c", _PROGRAM, json.dumps(sys.path)],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                )  # fmt: skip
                running.add(self._process)
            if self._ask(packed) is True:
                return
            code = self.kill()
        raise RuntimeError(
            f"worker processes must start; {STARTS} of them ended with exit code {code} before the first cell"
        )

    def answer(self, question: tuple[Any, ...]) -> Any:
        """Return the answer to a question, or `Died`; then the process has ended."""
        found = self._ask(pickle.dumps(question, protocol=5))
        return Died(f"its process ended with exit code {self.kill()}") if found is None else found[0]

    def _ask(self, packed: bytes) -> Any:
        """Return what the process sends back; None if it ended."""
        asked, told = self._process.stdin, self._process.stdout
        assert asked is not None
        assert told is not None
        try:
            asked.write(packed)
            asked.flush()
            return pickle.load(told)
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):
            return None

    def kill(self) -> int:
        """End the process, and return its exit code."""
        self._process.kill()
        code = self._process.wait()
        running.discard(self._process)
        return code


def serve() -> None:
    """Answer the questions on standard input until it ends: the main function of a worker process.

    Standard output becomes standard error, and standard input becomes empty, so that user-defined code cannot disturb
    questions and answers.
    """
    follow_the_parent()
    questions, answered = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    with suppress(OSError):
        os.dup2(2, 1)
    ask: Callable[..., Any] = pickle.load(questions)
    answer: Any = True  # the process has started
    while True:
        pickle.dump(answer, answered, protocol=5)
        answered.flush()
        try:
            question = pickle.load(questions)
        except EOFError:
            return
        answer = (ask(*question),)


def kill_all() -> None:
    """Kill every worker process, from any thread, for a program that ends; no process can be started afterwards."""
    _starting.acquire(timeout=0.5)
    killed = list(running)
    for process in killed:
        process.kill()
    deadline = time.monotonic() + 0.7
    for process in killed:
        with suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, deadline - time.monotonic()))


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
