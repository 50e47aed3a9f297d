"""`route`: a full table of losses, played as a bandit and as experts, learners side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hannan import refusals
from hannan.games.play import play
from hannan.games.record import Record
from hannan.learners import names
from hannan.learners.learner import Learner
from hannan.refusals import Array
from hannan.tables.read.table import BadTable
from hannan.tables.write import plain, release

#: Who plays unless others are asked for.
LEARNERS = ("experts", "hedge", "adahedge", "bandit", "exp3", "bandit:exponential", "bandit:log-barrier")


@dataclass(frozen=True)
class Route:
    """One learner on the table: what it sees, its name, its record."""

    name: str
    sees: str
    learner: Learner
    record: Record = field(hash=False, repr=False)

    @property
    def regret(self) -> float:
        """Mean regret over the runs; for experts that of <p, l>."""
        expected = self.record.expected_regret
        return float(self.record.mean_regret[-1] if expected is None else np.mean(np.asarray(expected)[..., -1]))

    @property
    def interval(self) -> tuple[float, float] | None:
        """95%, over the runs; none where the number is exact or there is one run."""
        if self.record.expected_regret is not None or self.record.runs < 2:
            return None
        low, high = self.record.interval()
        return float(low[-1]), float(high[-1])


@dataclass(frozen=True)
class Routes:
    """Learners on one table, the least regret of each kind first."""

    arms: tuple[str, ...]
    rounds: int
    losses: Array = field(hash=False, repr=False)
    routes: tuple[Route, ...]
    runs: int
    seed: int
    gains: bool

    @property
    def best(self) -> int:
        """The best arm in hindsight."""
        return int(np.argmax(self.losses) if self.gains else np.argmin(self.losses))

    def advice(self) -> str:
        """Which learner, in a sentence."""
        parts = []
        for sees, text in (("one loss", "that see only what they played"), ("every loss", "that see every loss")):
            found = [route for route in self.routes if route.sees == sees]
            if found:
                one = found[0]
                parts.append(f"of the learners {text}, {one.name} has the least regret, {one.regret:.4g}")
        return "; ".join(parts)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return dict(plain({
            "arms": list(self.arms), "rounds": self.rounds, "runs": self.runs, "seed": self.seed,
            "best_arm": self.arms[self.best], "best_loss": float(self.losses[self.best]),
            "learners": [
                {"name": r.name, "learner": r.record.learner, "sees": r.sees, "regret": r.regret,
                 "interval": r.interval, "mean_regret_of_the_runs": float(r.record.mean_regret[-1]),
                 "bound": None if r.record.bound is None else r.record.bound.value,
                 "source": None if r.record.bound is None else r.record.bound.source,
                 "against": None if r.record.bound is None else r.record.bound.against,
                 "bound_withheld": r.record.bound_withheld, "seconds": r.record.seconds}
                for r in self.routes
            ],
            "advice": self.advice(),
        }))  # fmt: skip

    def __str__(self) -> str:
        word = "gain" if self.gains else "loss"
        lines = [
            f"{self.rounds} rounds, {len(self.arms)} arms, {self.runs} runs",
            f"best arm in hindsight: {self.arms[self.best]}, {word} {self.losses[self.best]:.6g} in all, "
            f"{self.losses[self.best] / self.rounds:.6g} a round",
            "",
            f"{'learner':<22} {'sees':<10} {'regret':>10} {'95% of the mean':>23} {'bound':>10}  against",
        ]
        for route in self.routes:
            bound = route.record.bound
            interval = route.interval
            span = "exact" if route.record.expected_regret is not None else "-"
            if interval is not None:
                span = f"{interval[0]:.5g} .. {interval[1]:.5g}"
            shown = "withheld" if bound is None else f"{bound.value:.5g}"
            whom = "" if bound is None else f"  {bound.against} losses"
            lines.append(f"{route.name:<22} {route.sees:<10} {route.regret:>10.5g} {span:>23} {shown:>10}{whom}")
        return "\n".join([*lines, "", self.advice()])


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
    routes = []
    for name in dict.fromkeys(learners):
        learner = _learner(name, n, loss_range, gains, rounds)
        told(name)
        record = play(learner, losses, runs=runs, seed=seed, threads=threads)
        sees = "one loss" if learner.program().setting == "bandit" else "every loss"
        routes.append(Route(name, sees, learner, record))
    order = sorted(routes, key=lambda route: (route.sees, route.regret))
    return Routes(tuple(arms), rounds, sums, tuple(order), runs, seed, gains)


def _learner(name: str, n: int, loss_range: tuple[float, float], gains: bool, rounds: int) -> Learner:
    kind = names.parse(name).kind
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
    """Which learner for my problem: a table of losses (pandas, polars, a mapping, NumPy), one column an arm.

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
