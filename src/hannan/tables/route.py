"""`hn.route`: comparison of bandit and expert learners on a table of losses."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hannan import validation
from hannan.games.play import play
from hannan.games.record import Record
from hannan.learners import names
from hannan.learners.learner import Learner
from hannan.mathematics.bounds import ADVERSARIES
from hannan.mathematics.intervals import T_INTERVAL
from hannan.report import Figure, Fold, Page, Picture, Section, Table, Tile, Tiles
from hannan.report.pictures import ends, how
from hannan.saving.formatting import AtMost, ceiling, counted, figure, number
from hannan.saving.result import Result, Shown, frame_of, plain
from hannan.tables.read.table import BadTable
from hannan.tables.write import ROWS, Name, curve, kept, lines, made_by, release
from hannan.validation import Array


@dataclass(frozen=True)
class Route:
    """One learner on the table: the losses that it observes, its name, and its record."""

    name: str
    sees: str
    learner: Learner
    record: Record = field(hash=False, repr=False)

    @property
    def regret(self) -> float:
        """Mean regret over the runs; for experts the regret of the mean play <p, l>."""
        expected = self.record.expected_regret
        return float(self.record.mean_regret[-1] if expected is None else np.mean(np.asarray(expected)[..., -1]))

    @property
    def interval(self) -> tuple[float, float] | None:
        """95% t interval over the runs, approximate; None if the number is exact or there is one run."""
        if self.record.expected_regret is not None or self.record.runs < 2:
            return None
        low, high = self.record.interval()
        return float(low[-1]), float(high[-1])


@dataclass(frozen=True)
class Routed:
    """Learners on one table, sorted by regret within each kind."""

    arms: tuple[str, ...]
    rounds: int
    losses: Array = field(hash=False, repr=False)
    routes: tuple[Route, ...]
    runs: int
    seed: int
    gains: bool

    @property
    def best(self) -> int:
        """Number of the best arm in hindsight."""
        return int(np.argmax(self.losses) if self.gains else np.argmin(self.losses))

    @property
    def size(self) -> str:
        """Size of the table, and number of runs."""
        return f"{counted(self.rounds, 'round')}, {counted(len(self.arms), 'arm')}, {counted(self.runs, 'run')}"

    def advice(self) -> str:
        """Return the learner with the smallest regret of each kind as a sentence."""
        parts = []
        for sees, text in (("one loss", "bandit learner"), ("every loss", "expert learner")):
            found = [route for route in self.routes if route.sees == sees]
            if found:
                among = f"best of {len(found)} {text}s" if len(found) > 1 else f"the only {text}"
                parts.append(f"{found[0].name} {figure(found[0].regret)} ({among})")
        return f"Smallest regret: {'; '.join(parts)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the results as a dict for JSON."""
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


def route_page(told: Routed) -> Page:
    """Return the page that compares the learners."""
    word = "gain" if told.gains else "loss"
    tiles = [
        Tile(
            number(float(told.losses[told.best]) / told.rounds), f"mean {word} of {told.arms[told.best]}, the best arm"
        )
    ]
    for sees in ("one loss", "every loss"):
        found = [one for one in told.routes if one.sees == sees]
        if found:
            tiles.append(Tile(number(found[0].regret), f"smallest regret, {found[0].name}, sees {sees}", "good"))
    rows = []
    for one in told.routes:
        interval = one.interval or (None, None)
        bound = one.record.bound
        rows.append((
            one.name, one.sees, one.regret, *interval, None if bound is None else AtMost(bound.value),
            "" if bound is None else bound.against, one.record.bound_withheld if bound is None else bound.source,
        ))  # fmt: skip
    heads = ("learner", "sees", "regret", "95% t from", "to (approx.)", "bound", "against", "source")
    played = tuple((one.name, Name(one.record.learner)) for one in told.routes)
    who = Fold("Descriptions of the learners", (Table(("name", "description"), played, sortable=False),))
    table = Table(heads, tuple(rows), "Regret against the best arm in hindsight.")
    sections = [Section("Comparison", (Figure(spans(told)), table, who))]
    for sees in ("one loss", "every loss"):
        drawn: list[dict[str, Any]] = []
        for one in told.routes:
            if one.sees == sees:
                record = one.record
                regret = record.mean_regret if record.expected_regret is None else np.asarray(record.expected_regret)
                regret = regret if regret.ndim == 1 else regret.mean(axis=0)
                drawn += curve(record.checkpoints, regret, one.name)
        if drawn:
            alt = f"Mean regret of each learner that sees {sees}, over the rounds."
            title = (
                "Bandit learners (one loss observed)" if sees == "one loss" else "Expert learners (all losses observed)"
            )
            sections.append(Section(title, (lines("Regret", "regret", drawn, alt, x_title="round"),)))
    arms = tuple(
        (Name(name), total, total / told.rounds) for name, total in zip(told.arms, told.losses.tolist(), strict=True)
    )
    sections.append(Section("Arms", (Table(("arm", word, f"mean {word}"), arms[:ROWS]),)))
    lead = f"{told.size}. {told.advice().capitalize()}."
    return Page("Which learner", lead, (Tiles(tuple(tiles)),), tuple(sections), made_by(seed=str(told.seed)))


def spans(told: Routed) -> Picture:
    """Return a chart of the regret of each learner, the smallest first, with its interval over the runs."""
    order = sorted(told.routes, key=lambda one: one.regret)
    rows = []
    for one in order:
        low, high = one.interval or (one.regret, one.regret)
        rows.append({"learner": one.name, "regret": one.regret, "low": low, "high": high, "sees": one.sees})
    alt = "Regret, smaller is better: " + ", ".join(f"{one.name} {number(one.regret)}" for one in order) + "."
    names = tuple(one.name for one in order)
    return Picture(
        f"Regret{how(rows)}", "regret", "", ends(rows, "learner", "sees"), alt, order=names, height=30 * len(rows)
    )


# Fixed sentences of results; each is covered by tests/tables/test_replay_results.py.
#: Kind of regret.
REGRET = "on this table: mean over the runs for bandit learners; of the mean play, exact, for expert learners"
#: Scope of the bounds.
BOUND = "on the expected regret, against the adversary in its row"
#: Learners that are compared by default.
LEARNERS = ("experts", "hedge", "adahedge", "bandit", "exp3", "bandit:exponential", "bandit:log-barrier")


@dataclass(frozen=True)
class Routes(Routed, Result):
    """Result of `hn.route`: learners on one table, sorted by regret within each kind.

    Examples
    --------
    >>> import hannan as hn
    >>> table = (np.random.default_rng(0).random((500, 2)) < [0.2, 0.6]).astype(float)
    >>> told = hn.route(table, ["bandit", "hedge"], runs=2)
    >>> told.rounds, told.arms[told.best]
    (500, '0')
    """

    def shown(self) -> Shown:
        """Return the learner with the smallest regret of each kind, and a table of all learners.

        Returns
        -------
        Shown
            Lines that `print` writes.
        """
        word, best = "reward" if self.gains else "loss", float(self.losses[self.best])
        rows = [
            ("table", self.size),
            (
                "best arm",
                f"{self.arms[self.best]}: total {word} {figure(best)}, {figure(best / self.rounds)} per round",
            ),
        ]
        heads = ("learner", "sees", "regret", T_INTERVAL, "bound", "adversary")
        table = [_told(route) for route in self.routes]
        return Shown(self.advice(), rows, heads, table, [("regret", REGRET), ("bound", BOUND)])

    def plot(self) -> Any:
        """Return an Altair chart: the regret of each learner, the smallest first, with its interval over the runs.

        Returns
        -------
        altair.Chart
            The chart.
        """
        return spans(self).chart(460)

    def to_frame(self) -> Any:
        """Return a pandas (else polars) frame, one row per learner.

        Returns
        -------
        DataFrame
            One row per learner.
        """
        rows = self.to_dict()["learners"]
        return frame_of({name: [row[name] for row in rows] for name in rows[0] if name != "interval"})

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write summary.json and (with the extra [report]) index.html into a folder, atomically.

        Parameters
        ----------
        folder : str or path
            Folder to write, which is created if it does not exist.

        Returns
        -------
        pathlib.Path
            The folder.
        """
        return kept(folder, self.to_dict(), lambda: route_page(self))


def _told(route: Route) -> tuple[Any, ...]:
    bound, interval = route.record.bound, route.interval
    between = "exact" if route.record.expected_regret is not None else "one run"
    if interval is not None:
        between = f"[{figure(interval[0])}, {figure(interval[1])}]"
    proved = "none" if bound is None else ceiling(bound.value)
    return route.name, route.sees, route.regret, between, proved, "" if bound is None else ADVERSARIES[bound.against]


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
    """Play learners by name on a table of losses (rounds, arms); `told` is called with each name before its game."""
    runs = validation.count(runs, "runs")
    rounds, n = losses.shape
    if rounds == 0:
        raise BadTable(f"{source} has no rows")
    sums = _checked(losses, arms, loss_range, source)
    validation.once(learners, "learners")
    routes = []
    for name in learners:
        learner = _learner(name, n, loss_range, gains, rounds)
        told(name)
        record = play(learner, losses, runs=runs, seed=seed, threads=threads)
        sees = "one loss" if learner.setup().setting == "bandit" else "every loss"
        routes.append(Route(name, sees, learner, record))
    order = sorted(routes, key=lambda route: (route.sees, route.regret))
    return Routes(arms=tuple(arms), rounds=rounds, losses=sums, routes=tuple(order), runs=runs, seed=seed, gains=gains)


def _learner(name: str, n: int, loss_range: tuple[float, float], gains: bool, rounds: int) -> Learner:
    kind = names.parse(name, names.offered(*(kind for kind in names.KINDS if kind != "expert-bandit"))).kind
    if kind == "expert-bandit":
        raise ValueError(f"learner must be experts or a bandit, because a table of losses has no advice; got {name!r}")
    units: dict[str, Any] = {} if kind == "adahedge" else {"loss_range": loss_range}
    learner: Learner = names.learner(name, n, numbers=names.Numbers(rounds), gains=gains, **units)
    return learner


def _checked(losses: Any, arms: Sequence[str], loss_range: tuple[float, float], source: str) -> Array:
    """Return the cumulative loss of each arm; raise BadTable for a missing loss or one outside of the range."""
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
                raise BadTable(f"{where}: a loss is required; got an empty cell")
            raise BadTable(
                f"{where}: loss must be in {low:g}:{high:g}; got {value:g}. Set loss_range= (--range LOW:HIGH)"
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
    """Compare learners on a table of losses.

    Each learner plays the whole table. Bandit learners see only the loss of the chosen arm; expert learners see the
    whole row.

    Parameters
    ----------
    table : DataFrame, mapping or array
        Losses, one column per arm and one row per round.
    learners : sequence of str
        Names of learners (default: seven bandit and expert learners).
    loss_range : tuple of float, default (0, 1)
        Smallest and largest loss.
    gains : bool, default False
        Values are rewards (larger is better).
    runs : int, default 20
        Number of runs per learner.
    seed : int, default 0
        Random seed.

    Returns
    -------
    Routes
        Regret and bound of each learner.

    Raises
    ------
    BadTable
        If a loss is missing or outside the range; the message names row and column.
    ValueError
        If a learner or parameter is invalid.

    Examples
    --------
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
