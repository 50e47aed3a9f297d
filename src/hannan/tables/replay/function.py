"""`replay`: what a learner would have cost, from a log of decisions that another policy made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hannan import refusals
from hannan.learners.bandits import Bandit
from hannan.learners.expert_bandits import ExpertBandit
from hannan.refusals import Array
from hannan.tables.curves import Trace
from hannan.tables.learner import called, for_decisions
from hannan.tables.read.roles import log_roles
from hannan.tables.read.table import BadTable, clipped
from hannan.tables.replay.estimates import (
    Estimate,
    averaged,
    estimates,
    refuse_weights,
)
from hannan.tables.replay.log import Log
from hannan.tables.write import plain


@dataclass(frozen=True)
class Replayed:
    """One learner on the log: its estimates, the rows accepted, and the effective number of rows behind them."""

    name: str
    learner: str
    estimates: dict[str, Estimate] = field(hash=False)
    accepted: float
    effective: float
    rows: Array = field(hash=False, repr=False)
    curve: Array = field(hash=False, repr=False)


@dataclass(frozen=True)
class Replay:
    """Learners on one log, beside the policy that made it and each single action. Losses are means a row."""

    rows: int
    actions: tuple[str, ...]
    propensities: bool
    gains: bool
    logged: Estimate
    single: tuple[Estimate, ...]
    learners: tuple[Replayed, ...]
    runs: int
    seed: int

    @property
    def best_action(self) -> Estimate:
        """The best single action, as the log has it (in hindsight, so it flatters)."""
        pick = max if self.gains else min
        return pick(self.single, key=lambda estimate: estimate.value)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return dict(plain({
            "rows": self.rows, "actions": list(self.actions), "propensities": self.propensities,
            "runs": self.runs, "seed": self.seed,
            "logged": _told(self.logged), "best_action": {"action": self.best_action.name, **_told(self.best_action)},
            "learners": [
                {"name": one.name, "learner": one.learner, "accepted": one.accepted, "effective_rows": one.effective,
                 **{name: _told(estimate) for name, estimate in one.estimates.items()}}
                for one in self.learners
            ],
        }))  # fmt: skip

    def table(self) -> list[tuple[str, str]]:
        """(name, value) for a terminal."""
        kind = "propensities" if self.propensities else "uniform"
        word = "gain" if self.gains else "loss"
        rows = [
            ("log", f"{self.rows} rows, {len(self.actions)} actions, {kind}; mean {word} a row"),
            ("logged policy", str(self.logged)),
            (f"always {clipped(self.best_action.name)}", f"{self.best_action}, the best in hindsight"),
        ]
        for one in self.learners:
            rows.append((one.name, f"{one.accepted:.6g} rows accepted, {one.effective:.6g} effective"))
            rows += [(f"  {name}", str(estimate)) for name, estimate in one.estimates.items()]
            if "replay" not in one.estimates:
                rows.append(("  replay", "withheld: fewer than 30 rows were accepted, so it learnt from fewer than 30"))
        return rows

    def __str__(self) -> str:
        rows = self.table()
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {text}" for name, text in rows)


def _told(estimate: Estimate) -> dict[str, Any]:
    return {"value": estimate.value, "interval": list(estimate.interval), "level": estimate.level}


def evaluate(
    log: Log, learners: Sequence[Any], runs: int = 5, seed: int = 0, level: float = 0.95, names: Sequence[str] = ()
) -> Replay:
    """Replay learners (of `for_decisions`) on a log that has been read; `names` are what to call them."""
    runs = refusals.count(runs, "runs")
    level = refusals.between(level, 0.0, 1.0, "level", "()")
    log.check()
    with np.errstate(over="ignore", invalid="ignore"):
        return _evaluated(log, learners, runs, seed, level, names)


def _evaluated(log: Log, learners: Sequence[Any], runs: int, seed: int, level: float, names: Sequence[str]) -> Replay:
    known = list(names) if len(names) == len(learners) else [repr(learner) for learner in learners]
    played = tuple(_replayed(log, name, one, runs, seed, level) for name, one in zip(known, learners, strict=True))
    gains = any(learner.gains for learner in learners)
    logged, single = _logged(log, level), _single(log, level)
    told = [logged, *single, *(estimate for one in played for estimate in one.estimates.values())]
    if not all(np.isfinite((estimate.value, estimate.error)).all() for estimate in told):
        raise BadTable(f"{log.source}: losses over propensities must have finite squares; theirs overflow")
    return Replay(len(log), tuple(log.labels), log.has_propensities, gains, logged, single, played, runs, seed)


def _replayed(log: Log, name: str, learner: Bandit | ExpertBandit, runs: int, seed: int, level: float) -> Replayed:
    found, accepted, effective = [], [], []
    trace = Trace(256)
    for run in range(runs):
        sums = _walk(log, learner, seed, run, trace if run == 0 else None)
        effective.append(refuse_weights(sums, repr(learner)))
        accepted.append(float(sums[9]))
        found.append(estimates(sums, level))
    return Replayed(
        name, repr(learner), averaged(found), float(np.mean(accepted)), float(np.mean(effective)), trace.rows(),
        trace.points(),
    )  # fmt: skip


def _walk(log: Log, learner: Bandit | ExpertBandit, seed: int, run: int, trace: Trace | None) -> Array:
    """The sums of one run over the whole log."""
    from hannan._engine import replay_rows
    from hannan.mathematics import streams

    player = learner.start(0)
    player._set_words(streams.words(seed, run), player._words[1])
    coins = streams.words(seed, run, 2)
    model, sums = np.zeros((3, len(log.labels))), np.zeros(12)
    advised = isinstance(learner, ExpertBandit)
    first = 0
    if trace is not None:
        trace.expect(0, len(log))
    for actions, losses, odds, advice in log.blocks():
        begun = 0
        while begun < len(actions):
            end = len(actions)
            due = [] if trace is None else trace.due(first + begun, end - begun).tolist()
            if due:
                end = due[0] - first
            part = slice(begun, end)
            bad, failed = replay_rows(
                player, actions[part], losses[part], odds[part], advice[part] if advised else None, log.floor, coins,
                model, sums,
            )  # fmt: skip
            if failed:
                raise player._failed()
            if bad >= 0:
                raise _bad(log, learner, int(bad), first + begun, losses[part])
            begun = end
            if trace is not None and due:
                trace.add(first + begun, np.array([sums[7] / sums[0], sums[10] / max(sums[9], 1.0)]))
        first += len(actions)
    return sums


def _bad(log: Log, learner: Any, bad: int, first: int, losses: Array) -> Exception:
    low, high = learner.loss_range
    return BadTable(
        f"{log.source}, row {first + bad + 1}: a loss must be in the stated range {low:g}:{high:g}; got {losses[bad]:g}"
    )


def _logged(log: Log, level: float) -> Estimate:
    total = squares = n = 0.0
    for _, losses, _, _ in log.blocks():
        total, squares, n = total + float(losses.sum()), squares + float((losses**2).sum()), n + len(losses)
    error = np.sqrt(max(squares - total * total / n, 0.0) / max(n - 1.0, 1.0) / n)
    return Estimate("logged", total / n, float(error), level)


def _single(log: Log, level: float) -> tuple[Estimate, ...]:
    """Self-normalised estimates of playing one action throughout."""
    k = len(log.labels)
    w, w2, wl, w2l, w2l2 = (np.zeros(k) for _ in range(5))
    for actions, losses, odds, _ in log.blocks():
        for total, term in ((w, 1 / odds), (w2, odds**-2), (wl, losses / odds), (w2l, losses / odds**2),
                            (w2l2, (losses / odds) ** 2)):  # fmt: skip
            np.add.at(total, actions, term)
    theta = wl / w
    errors = np.sqrt(np.maximum(w2l2 - 2 * theta * w2l + theta**2 * w2, 0.0)) / w
    return tuple(Estimate(log.labels[i], float(theta[i]), float(errors[i]), level) for i in range(k))


def replay(
    log: Any,
    action: str,
    loss: str,
    propensity: str | None = None,
    advice: Sequence[str] = (),
    learner: Any = None,
    *,
    actions: Sequence[Any] = (),
    loss_range: tuple[float, float] = (0.0, 1.0),
    gains: bool = False,
    runs: int = 5,
    seed: int = 0,
    level: float = 0.95,
) -> Replay:
    """What a learner would have cost, from a log of decisions: pandas, polars, or a mapping of columns.

    Without `propensity` the log must have drawn its actions uniformly, which is tested. `advice` names columns
    with the action that each expert advised; then an `ExpertBandit` is replayed, else a `Bandit`. `learner` is a
    learner, a name, or a list of them.

    >>> rng = np.random.default_rng(0)
    >>> a = rng.integers(3, size=3000)
    >>> log = {"a": a, "l": (rng.random(3000) < np.array([0.2, 0.5, 0.8])[a]).astype(float)}
    >>> told = replay(log, "a", "l", runs=2)
    >>> told.best_action.name, told.learners[0].estimates["dr"].value < told.logged.value
    ('0', True)
    """
    from hannan.tables.read.frames import columns_of, numbers_of, text_of

    log_roles(action, loss, propensity, advice)
    columns = columns_of(log, (action, loss, *(() if propensity is None else (propensity,)), *advice))
    read = Log(list(advice), [str(label) for label in actions])
    try:
        losses = numbers_of(columns[loss], loss, complete=True)
        odds = None if propensity is None else numbers_of(columns[propensity], propensity, complete=True)
        read.add(text_of(columns[action]), losses, odds, [text_of(columns[name]) for name in advice], 1)
        chosen = for_decisions(learner, len(read.labels), len(advice), loss_range, gains, len(read))
        return evaluate(read, chosen, runs, seed, level, called(learner))
    finally:
        read.close()
