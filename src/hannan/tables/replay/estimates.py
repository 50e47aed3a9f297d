"""What a learner would have cost, from a log of another's decisions, with intervals; and when a log cannot say.

Row t: the learner's distribution q_t over actions (a function of rows before), the logged action a with its
propensity p, the loss l; w = q_t(a)/p.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hannan.refusals import Array

#: A test that would refuse a sound log has this chance: 6 standard errors, two-sided 2e-9.
ERRORS = 6.0
#: Fewer rows than this carry no interval.
LEAST = 30.0
UNIFORM_AT = 1e-6


class NoSupport(ValueError):
    """A log that cannot support the estimate, with the reason."""


@dataclass(frozen=True)
class Estimate:
    """A mean loss a round, with the half-width of its interval (normal, martingale) and what it rests on."""

    name: str
    value: float
    error: float
    level: float = 0.95

    @property
    def interval(self) -> tuple[float, float]:
        """(low, high)."""
        half = quantile(self.level) * self.error
        return self.value - half, self.value + half

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.value:.6g}  ({100 * self.level:g}%: {low:.6g} .. {high:.6g})"


def quantile(level: float) -> float:
    """z with P(|N(0, 1)| <= z) = level.

    >>> round(quantile(0.95), 4)
    1.96
    """
    from scipy.special import ndtri

    return float(ndtri(0.5 + level / 2.0))


def estimates(sums: Array, level: float) -> dict[str, Estimate]:
    """The four estimates from the sums of the engine's replay.

    replay: the mean loss of the accepted rows, a game of the learner's own. ips: mean of w l. snips:
    sum w l / sum w. dr: mean of sum_a q(a) r(a) + w (l - r(a)), r the mean losses of the rows before.
    Each row's term has, given the rows before, the learner's expected loss as its mean (snips: nearly).
    """
    n, w, w2, wl, wl2, w2l, w2l2, robust, robust2, m, own, own2 = (float(x) for x in sums)
    found = {}
    if m >= LEAST:
        found["replay"] = Estimate("replay", own / m, _error(own, own2, m), level)
    found["ips"] = Estimate("ips", wl / n, _error(wl, wl2, n), level)
    theta = wl / w
    spread = max(w2l2 - 2.0 * theta * w2l + theta * theta * w2, 0.0)
    found["snips"] = Estimate("snips", theta, math.sqrt(spread) / w, level)
    found["dr"] = Estimate("dr", robust / n, _error(robust, robust2, n), level)
    return found


def averaged(runs: list[dict[str, Estimate]]) -> dict[str, Estimate]:
    """Over runs on the same log: the mean, with the root mean square of the errors (runs share the log's noise)."""
    names = [name for name in runs[0] if all(name in run for run in runs)]
    out = {}
    for name in names:
        values = [run[name].value for run in runs]
        errors = [run[name].error for run in runs]
        error = math.sqrt(float(np.mean(np.square(errors))))
        out[name] = Estimate(name, float(np.mean(values)), error, runs[0][name].level)
    return out


def _error(total: float, squares: float, n: float) -> float:
    """Standard error of a mean."""
    return math.sqrt(max(squares - total * total / n, 0.0) / max(n - 1.0, 1.0) / n)


def refuse_uniform(counts: Array, labels: list[str]) -> None:
    """A log without propensities must be uniform: chi-square, refused below one in a million."""
    from scipy.special import gammaincc

    n, k = float(counts.sum()), len(counts)
    if k < 2:
        return
    expected = n / k
    if expected < 5.0:
        raise NoSupport(
            f"a log must have some 5 rows for each action to be seen to be uniform; got {n:g} rows for {k} actions"
        )
    statistic = float(((counts - expected) ** 2).sum() / expected)
    if gammaincc((k - 1) / 2.0, statistic / 2.0) < UNIFORM_AT:
        least, most = int(np.argmin(counts)), int(np.argmax(counts))
        raise NoSupport(
            f"a log without propensities must have drawn its actions uniformly; got {counts[most]:g} times "
            f"{labels[most]!r} and {counts[least]:g} times {labels[least]!r} in {n:g} rows. Give --propensity"
        )


def refuse_overlap(counts: Array, inverse: Array, inverse2: Array, labels: list[str]) -> None:
    """Propensities must fit the log: for each action, the mean of 1{a_t = a}/p_t is 1 where it always had a chance.

    An action without a chance in part of the log, or propensities that are not those of the log, show here.
    """
    n = float(counts.sum())
    for a, label in enumerate(labels):
        if counts[a] == 0:
            raise NoSupport(f"every action must be in the log; {label!r} never is: nothing is known of its loss")
    for a, label in enumerate(labels):
        mean = float(inverse[a]) / n
        error = math.sqrt(max(float(inverse2[a]) / n - mean * mean, 0.0) / n)
        if counts[a] >= 20 and abs(mean - 1.0) > ERRORS * error + 1e-9:
            reason = "it had no chance in part of the log" if mean < 1.0 else "its propensities are too small"
            raise NoSupport(
                f"propensities must fit the log: 1/propensity, summed over the rows with action {label!r}, should be "
                f"the {n:g} rows; got {mean * n:.6g}: {reason}, or they are not those of this log"
            )
    mean = float(inverse.sum()) / n
    error = math.sqrt(max(float(inverse2.sum()) / n - mean * mean, 0.0) / n)
    if abs(mean - len(labels)) > ERRORS * error + 1e-9:
        raise NoSupport(
            f"propensities must fit the log: the mean of 1/propensity should be the {len(labels)} actions; got "
            f"{mean:.6g}: some actions had no chance in part of the log, or the propensities are not those of this log"
        )


def refuse_weights(sums: Array, learner: Any) -> float:
    """The effective number of rows, (sum w)^2 / sum w^2; refused where the estimate would rest on a few."""
    n, w, w2 = float(sums[0]), float(sums[1]), float(sums[2])
    effective = w * w / w2 if w2 > 0.0 else 0.0
    if effective < LEAST:
        if n < LEAST:
            raise NoSupport(f"a log must have at least {LEAST:g} rows for an estimate to rest on; got {n:g}")
        raise NoSupport(
            f"the log must overlap with what {learner} plays, in at least {LEAST:g} rows; its estimate would rest on "
            f"{effective:.3g} of {n:g}"
        )
    error = math.sqrt(max(w2 / n - (w / n) ** 2, 0.0) / n)
    if abs(w / n - 1.0) > ERRORS * error + 1e-9:
        raise NoSupport(
            f"the log must overlap with what {learner} plays: its weights should average 1; got {w / n:.4g}"
        )
    return effective
