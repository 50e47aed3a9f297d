"""Claims beyond the paper: intervals and regret of one run of a bandit that are valid at all times."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from hannan.mathematics.bounds import Units
from hannan.paper.claim import Chapter, Effort, Verdict, at_most, holds
from hannan.players.evidence import SHARES, read

CHAPTER = Chapter(
    "Evidence at all times",
    "The paper bounds the expected regret of a bandit. Intervals for the mean losses of the arms, and a bound on the "
    "realized regret of one run, hold at all times simultaneously and with late losses (docs/proofs/evidence.md).",
)
NAMES, UNITS = ("a", "b"), Units.of((0.0, 1.0), False)


def _table() -> Any:
    from hannan._engine import Evidence

    return Evidence(len(NAMES))


def _misses(table: Any, sums: tuple[float, float], alpha: float) -> bool:
    """Return whether the interval of an arm excludes its mean loss so far."""
    arms = read(table, NAMES, UNITS, alpha=alpha).arms.values()
    means = [total / table.draws for total in sums]
    return any(
        not arm.interval[0] - 1e-9 <= mean <= arm.interval[1] + 1e-9 for arm, mean in zip(arms, means, strict=True)
    )


@CHAPTER.claim("evidence-worst-case")
def _worst_case(effort: Effort) -> Verdict:
    """Against the best of all adversaries that choose losses 0 or 1 after each draw, the intervals of all arms miss a
    mean loss at some time with at most the stated probability."""
    from hannan._engine import Evidence

    rounds, alpha = effort.pick(3, 4), 0.9

    def worst(saved: bytes, sums: tuple[float, float], t: int, last: int) -> float:
        if t == rounds:
            return 0.0
        p, largest = np.array([(0.3, 0.7), (0.8, 0.2)][last]), 0.0
        for x in itertools.product((0.0, 1.0), repeat=2):
            value, after = 0.0, (sums[0] + x[0], sums[1] + x[1])
            for arm in range(2):
                table = Evidence.from_bytes(saved)
                told = effort.turn(p, np.array([0.97, 0.03]))
                table.act(told, arm)
                table.settle(t + 1, arm, told[arm], x[arm])
                missed = _misses(table, after, alpha)
                value += p[arm] * (1.0 if missed else worst(table.to_bytes(), after, t + 1, arm))
            largest = max(largest, value)
        return largest

    found = worst(_table().to_bytes(), (0.0, 0.0), 0, 0)
    limit = SHARES["arms"] * alpha
    return holds(at_most(found, limit), found, limit, runs=8**rounds, what="largest probability of a miss")


@CHAPTER.claim("evidence-late")
def _late(effort: Effort) -> Verdict:
    """If losses of 1 are reported 200 rounds late and losses of 0 immediately, the intervals of all arms miss a mean
    loss at some time in at most the stated share of the games."""
    games, missed, p, alpha = effort.pick(30, 200), 0, np.array([0.5, 0.5]), 0.05
    rng = effort.rng("evidence-late")
    for _ in range(games):
        table, waiting, wrong, drawn = _table(), [], False, 0
        for t in range(1, 501):
            arm, loss = int(rng.integers(2)), float(rng.random() < 0.7)
            waiting.append((t + 200 * int(loss), t, arm, loss))
            if not effort.broken:
                table.act(p, arm)
            for one in [one for one in waiting if one[0] <= t]:
                waiting.remove(one)
                _, row, arm, loss = one
                if effort.broken:  # settled rows only, in the order of their settlement
                    table.act(p, arm)
                    row = drawn = drawn + 1
                table.settle(row, arm, 0.5, loss)
            if t % 50 == 0:
                wrong |= _misses(table, (0.7 * table.draws,) * 2, alpha)
        missed += wrong
    rate, limit = missed / games, SHARES["arms"] * alpha
    slack = limit + 4.0 * math.sqrt(limit / games)
    return holds(rate <= slack, rate, slack, runs=games, what="share of games with a miss")


@CHAPTER.claim("evidence-regret")
def _realized_regret(effort: Effort) -> Verdict:
    """Against an adversary that makes the most shown arm bad, with losses of 1 that are 100 rounds late, the realized
    regret exceeds its bound at some time in at most the stated share of the games."""
    games, missed, alpha = effort.pick(30, 200), 0, 0.05
    rng = effort.rng("evidence-regret")
    for _ in range(games):
        table, waiting, wrong = _table(), [], False
        losses, own, shown, p = np.zeros(2), 0.0, np.zeros(2), np.array([0.5, 0.5])
        for t in range(1, 401):
            p = np.array([0.9, 0.1]) if table.sum(0) <= table.sum(1) else np.array([0.1, 0.9])
            x = (rng.random(2) < np.where(shown == shown.max(), 0.8, 0.3)).astype(float)
            arm = int(rng.random() < p[1])
            table.act(p, arm)
            shown[arm] += 1.0
            losses, own = losses + x, own + x[arm]
            waiting.append((t + 100 * int(x[arm]), t, arm, p[arm], x[arm]))
            for one in [one for one in waiting if one[0] <= t]:
                waiting.remove(one)
                table.settle(*one[1:])
            if t % 20 == 0:
                bound = read(table, NAMES, UNITS, alpha=alpha).regret
                assert bound is not None
                wrong |= own - losses.min() > bound - effort.turn(0.0, float(table.pending)) + 1e-9
        missed += wrong
    rate, limit = missed / games, SHARES["regret"] * alpha
    slack = limit + 4.0 * math.sqrt(limit / games)
    return holds(rate <= slack, rate, slack, runs=games, what="share of games in which the bound is exceeded")
