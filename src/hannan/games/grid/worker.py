"""Where a cell is computed: in a process of this machine or of another, from the plan and the cell's place."""

from __future__ import annotations

import functools
import inspect
import os
import pickle
import sys
import sysconfig
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hannan import __version__, extras
from hannan.games.cells import Cell, play_cell
from hannan.games.entrants import entrant
from hannan.games.environments import environment
from hannan.games.grid.keys import engine_digest
from hannan.games.grid.plan import Place, Plan


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
