"""`route`: a full table of losses, played as a bandit and as experts, learners side by side."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hannan import refusals
from hannan.games.play import play
from hannan.learners import names
from hannan.learners.learner import Learner
from hannan.mathematics.student import T_INTERVAL
from hannan.refusals import Array
from hannan.report.frames import frame_of
from hannan.saving.result import Result, Shown
from hannan.saving.words import ceiling, figure
from hannan.tables.figures import kept
from hannan.tables.read.table import BadTable
from hannan.tables.route.page import route_page, spans
from hannan.tables.route.routed import Route, Routed
from hannan.tables.write import release

#: Who plays unless others are asked for.
LEARNERS = ("experts", "hedge", "adahedge", "bandit", "exp3", "bandit:exponential", "bandit:log-barrier")


@dataclass(frozen=True)
class Routes(Routed, Result):
    """What `hannan.route` gives back: learners on one table, the least regret of each kind first.

    >>> import hannan as hn
    >>> table = (np.random.default_rng(0).random((500, 2)) < [0.2, 0.6]).astype(float)
    >>> told = hn.route(table, ["bandit", "hedge"], runs=2)
    >>> told.rounds, told.arms[told.best]
    (500, '0')
    """

    def shown(self) -> Shown:
        """The advice, then every learner."""
        word, best = "gain" if self.gains else "loss", float(self.losses[self.best])
        rows = [
            ("advice", self.advice()),
            ("best arm", f"{self.arms[self.best]}, {word} {figure(best)} in all, {figure(best / self.rounds)} a round"),
        ]
        heads = ("learner", "sees", "regret", T_INTERVAL, "bound", "against")
        return Shown(self.size, rows, heads, [_told(route) for route in self.routes])

    def plot(self) -> Any:
        """An Altair chart: the regret of each learner, the least first, with its interval over the runs."""
        return spans(self).chart(460)

    def to_frame(self) -> Any:
        """A pandas (else polars) frame, one row per learner."""
        rows = self.to_dict()["learners"]
        return frame_of({name: [row[name] for row in rows] for name in rows[0] if name != "interval"})

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write summary.json and (with the extra [report]) index.html into a folder, all or nothing."""
        return kept(folder, self.to_dict(), lambda: route_page(self))


def _told(route: Route) -> tuple[Any, ...]:
    bound, interval = route.record.bound, route.interval
    between = "exact" if route.record.expected_regret is not None else "one run"
    if interval is not None:
        between = f"{figure(interval[0])} .. {figure(interval[1])}"
    proved = "withheld" if bound is None else ceiling(bound.value)
    return route.name, route.sees, route.regret, between, proved, "" if bound is None else f"{bound.against} losses"


def compare(
    losses: Any,
    arms: Sequence[str],
    learners: Sequence[str] = LEARNERS,
    *,
    loss_range: tuple[float, float] = (0.0, 1.0),
    gains: bool = False,
    runs: int = 20,
    seed: int = 0,
    threads: int | None = None,
    told: Callable[[str], None] = lambda name: None,
    source: str = "the table",
) -> Routes:
    """Play learners, by name, on a table of losses (rounds, arms); `told` hears who plays next."""
    runs = refusals.count(runs, "runs")
    rounds, n = losses.shape
    if rounds == 0:
        raise BadTable(f"{source} must have rows; it has none")
    sums = _checked(losses, arms, loss_range, source)
    refusals.once(learners, "learners")
    routes = []
    for name in learners:
        learner = _learner(name, n, loss_range, gains, rounds)
        told(name)
        record = play(learner, losses, runs=runs, seed=seed, threads=threads)
        sees = "one loss" if learner.program().setting == "bandit" else "every loss"
        routes.append(Route(name, sees, learner, record))
    order = sorted(routes, key=lambda route: (route.sees, route.regret))
    return Routes(tuple(arms), rounds, sums, tuple(order), runs, seed, gains)


def _learner(name: str, n: int, loss_range: tuple[float, float], gains: bool, rounds: int) -> Learner:
    kind = names.parse(name, names.offered(*(kind for kind in names.KINDS if kind != "expert-bandit"))).kind
    if kind == "expert-bandit":
        raise ValueError(f"a table of losses has no advice: the learner must be experts or a bandit; got {name!r}")
    units: dict[str, Any] = {} if kind == "adahedge" else {"loss_range": loss_range}
    learner: Learner = names.learner(name, n, numbers=names.Numbers(rounds), gains=gains, **units)
    return learner


def _checked(losses: Any, arms: Sequence[str], loss_range: tuple[float, float], source: str) -> Array:
    """The cumulative loss of each arm; a hole or a loss outside the range is refused by row and column."""
    low, high = loss_range
    sums = np.zeros(losses.shape[1])
    for first in range(0, len(losses), 1 << 16):
        part = np.asarray(losses[first : first + (1 << 16)])
        bad = ~((part >= low) & (part <= high))
        if bad.any():
            row, column = (int(i) for i in np.argwhere(bad)[0])
            value = part[row, column]
            where = f"{source}, row {first + row + 1}, column {arms[column]!r}"
            if np.isnan(value):
                raise BadTable(f"{where}: every arm must have a loss in every row; it is empty")
            raise BadTable(
                f"{where}: a loss must be in {low:g}:{high:g}; got {value:g}. State the range: --range LOW:HIGH"
            )
        sums += part.sum(axis=0)
        release(losses)
    return sums


def route(
    table: Any,
    learners: Sequence[str] = LEARNERS,
    *,
    loss_range: tuple[float, float] = (0.0, 1.0),
    gains: bool = False,
    runs: int = 20,
    seed: int = 0,
) -> Routes:
    """Which learner for my problem: several of them on a table of your losses, beside their bounds.

    Each learner plays the whole table; those that see every loss are marked so.

    `table`: pandas, polars, a mapping or NumPy, one column per arm. `learners`: their names. `loss_range` and `gains`:
    the units. `runs` and `seed`: of learners that draw.

    >>> rng = np.random.default_rng(0)
    >>> table = (rng.random((2000, 3)) < [0.3, 0.5, 0.7]).astype(float)
    >>> told = route(table, ["bandit", "exp3", "hedge"], runs=4)
    >>> told.arms[told.best], [one.name for one in told.routes if one.sees == "every loss"]
    ('0', ['hedge'])
    """
    from hannan.tables.read.frames import columns_of, numbers_of

    columns = columns_of(table, ())
    losses = np.column_stack([numbers_of(column, name) for name, column in columns.items()])
    return compare(losses, list(columns), learners, loss_range=loss_range, gains=gains, runs=runs, seed=seed)
