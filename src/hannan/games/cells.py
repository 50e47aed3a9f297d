"""A cell: one learner in one environment, all its runs, as the few numbers that tables and pictures are made of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan.games.asked import asked as asked_of_a_game
from hannan.games.entrants import Entrant
from hannan.games.environments import Asked, Environment
from hannan.games.play import driven
from hannan.games.record import Record
from hannan.games.seeds import derived
from hannan.games.tosses import best_means
from hannan.mathematics.student import t_interval
from hannan.refusals import Array

#: Rounds at which a cell keeps its curves: so many evenly, so many evenly on a log axis.
EVEN, EARLY = 24, 12


@dataclass(frozen=True, eq=False)
class Cell:
    """`regret` and `loss` (cumulative) have shape (runs, len(at)); `bound` (len(at),) is NaN where it is withheld.

    `exact` is the expected regret at the end where it is known exactly, one number or one per run. `seed` is that of
    the learner's streams: `hn.play(learner, losses, runs, seed=seed)` makes the same moves on the same losses.
    """

    learner: str
    environment: str
    n: int
    rounds: int
    runs: int
    seed: int
    at: NDArray[np.int64]
    regret: Array
    loss: Array
    bound: Array
    against: str
    source: str
    withheld: str
    seconds: float
    exact: Array | None = None
    note: str = ""
    #: Whether others meet the same losses in the same run.
    paired: bool = True

    @property
    def final(self) -> Array:
        """The regret of every run at the end."""
        return np.asarray(self.regret[:, -1])

    @property
    def last_bound(self) -> float | None:
        """The bound at the end; None where it is withheld."""
        value = float(self.bound[-1])
        return None if np.isnan(value) else value


def interval(values: Array, level: float = 0.95) -> tuple[float, float]:
    """mean -+ t sd/sqrt(runs), the runs being independent; a point for one run.

    >>> [round(x, 3) for x in interval(np.array([1.0, 2.0, 3.0]))]
    [-0.484, 4.484]
    """
    low, high = bands(np.asarray(values)[:, None], level)
    return float(low[0]), float(high[0])


def bands(values: Array, level: float = 0.95) -> tuple[Array, Array]:
    """`interval` of every column."""
    if len(values) < 2:
        return values.mean(axis=0), values.mean(axis=0)
    return t_interval(values, level)


def play_cell(
    who: Entrant, where: Environment, n: int, rounds: int, runs: int, seed: int, *, shared: bool = False,
    threads: int | None = None,
) -> Cell:  # fmt: skip
    """Play it. The losses come from (seed, environment, n, rounds), the learner's streams from these and its name."""
    learner = who.built(where, n, rounds)
    runs = min(runs, who.most_runs or runs)
    place = (where.name, n, rounds)
    asked = Asked(n, rounds, runs, derived(seed, "losses", *place))
    own = derived(seed, "moves", *place) if shared else derived(seed, "moves", *place, who.name)
    losses = where.losses(asked) if where.answers is None else where.answers(learner)
    if isinstance(losses, np.ndarray) and losses.ndim == 3:
        losses = losses[:runs]
    length = rounds if where.kind == "adaptive" else None
    game = asked_of_a_game(runs, own, where.advice, threads, "checkpoints", length, False)._replace(at_most=True)
    record = driven(learner, losses, game)
    # Losses that were drawn beforehand, so that everyone meets the same, are still those of one law.
    record = replace(record, iid=where.kind == "iid")
    return _cell(who, where, record, asked, bool(getattr(learner, "gains", False)))


def _cell(who: Entrant, where: Environment, record: Record, asked: Asked, gains: bool) -> Cell:
    kept = _chosen(record.checkpoints)
    at, regret = record.checkpoints[kept], record.regret[:, kept]
    sign = -1.0 if gains else 1.0
    loss = np.full_like(regret, np.nan) if record.loss is None else record.loss[:, kept]
    best = loss - sign * regret
    exact = None if record.expected_regret is None else np.atleast_1d(record.expected_regret[..., -1])
    if where.bernoulli is not None:
        best = np.broadcast_to(best_means(where.bernoulli(asked), at, gains), regret.shape)
        pseudo = sign * (loss - best)
        exact = None if exact is None else exact + (pseudo - regret)[:, -1]
        regret = pseudo
    bound, against, source, withheld = _bounds(record, at, best, gains)
    return Cell(
        who.name, where.name, asked.n, record.rounds, record.runs, record.seed, at, regret, loss, bound, against,
        source, withheld, record.seconds, exact, record.note,
        where.kind != "adaptive" and where.answers is None,
    )  # fmt: skip


def _bounds(record: Record, at: Any, best: Array, gains: bool) -> tuple[Array, str, str, str]:
    """The bound of a game of t rounds for each t of `at`, its `against` and source; or why there is none."""
    values = np.full(len(at), np.nan)
    worst = best.min(axis=0) if gains else best.max(axis=0)
    against, source, withheld = "", "", record.bound_withheld
    for k, t in enumerate(at):
        bound, reason = record.bound_at(int(t), float(worst[k]))
        if k + 1 == len(at):
            withheld = reason
        if bound is None:
            continue
        values[k], against, source = bound.value, bound.against, bound.source
    if np.isnan(values[-1]):
        against, source = "", ""
        values[:] = np.nan
    return values, against, source, withheld


def _chosen(checkpoints: NDArray[np.int64]) -> NDArray[np.intp]:
    """Which of a game's checkpoints are kept, the last among them."""
    rounds = int(checkpoints[-1])
    wanted = np.concatenate([np.linspace(rounds / EVEN, rounds, EVEN), np.geomspace(1, rounds, EARLY)])
    return np.unique(np.searchsorted(checkpoints, np.rint(wanted).astype(np.int64)).clip(0, len(checkpoints) - 1))
