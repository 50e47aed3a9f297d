"""What a learner would have cost, from a log of another's decisions, with intervals; and when a log cannot say.

Row t: the learner's distribution q_t over actions (a function of rows before), the logged action a with its
propensity p, the loss l; w = q_t(a)/p.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hannan.mathematics.intervals import clopper_pearson, of_mean, of_ratio
from hannan.refusals import Array
from hannan.saving.words import figure

#: A test that would refuse a sound log has this chance: 6 standard errors, two-sided 2e-9.
ERRORS = 6.0
#: Fewer rows than this carry no interval.
LEAST = 30.0
UNIFORM_AT = 1e-6
#: Method of an interval.
BERNSTEIN = (
    "empirical Bernstein: holds for any losses in their range, if no action ever had a smaller probability than the "
    "smallest propensity in the log (assumed, not verified), and the number of rows was fixed in advance"
)
#: The same, if a column of the log has the smallest probability of any action in each row.
VERIFIED = (
    "empirical Bernstein: holds for any losses in their range, if the number of rows was fixed in advance; no action "
    "had a probability below {floor} in any row (verified by column {column})"
)
#: The rows of a log are identically distributed only if the propensities never change; its learner never meets that.
EXACT = (
    "Clopper and Pearson: exact for independent rows of one distribution, if propensities never change, and the number "
    "of rows was fixed in advance"
)
#: Estimand of the logged policy's mean: its next game may cost something else. Format with "loss" or "gain".
LOGGED = "mean over the rows of this log of the expected {word} given the rows before; not its mean over other logs"


class NoSupport(ValueError):
    """A log that cannot support the estimate, with the reason."""


@dataclass(frozen=True)
class Estimate:
    """A mean loss a row, its interval at `level`, and its standard error; `method` says where the interval is from."""

    name: str
    value: float
    error: float
    interval: tuple[float, float]
    level: float = 0.95
    method: str = BERNSTEIN

    def __str__(self) -> str:
        low, high = self.interval
        return f"{figure(self.value)}  ({100 * self.level:g}%: {figure(low)} .. {figure(high)})"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"value": self.value, "interval": list(self.interval), "level": self.level, "method": self.method}


@dataclass(frozen=True)
class Scope:
    """What is known of a log before it is read: rows, the range of its losses, and the largest weight 1/propensity."""

    rows: float
    span: tuple[float, float]
    most: float
    level: float
    #: Method of the intervals that depend on `most`.
    method: str = BERNSTEIN
    #: Share of the probability of a miss that intervals depending on `most` may use.
    share: float = 1.0

    @property
    def strict(self) -> float:
        """Level at which intervals that depend on `most` are computed."""
        return 1.0 - (1.0 - self.level) * self.share

    def estimate(
        self, name: str, value: float, error: float, interval: tuple[float, float], method: str = ""
    ) -> Estimate:
        """An estimate whose interval is cut to the range of the losses, where every mean is."""
        low, high = self.span
        cut = min(max(interval[0], low), high), max(min(interval[1], high), low)
        return Estimate(name, value, error, cut, self.level, method or self.method)


def estimates(sums: Array, scope: Scope) -> dict[str, Estimate]:
    """The four estimates from the sums of the engine's replay, or their means over runs on the same log.

    replay: the mean loss of the accepted rows, a game of the learner's own. ips: mean of w l. snips:
    sum w l / sum w. dr: mean of sum_a q(a) r(a) + w (l - r(a)), r the mean losses of the rows before.
    Each row's term has, given the rows before, the learner's expected loss as its mean (of w (l - v) that is 0).
    """
    n, w, w2, wl, wl2, w2l, w2l2, robust, robust2, m, own, own2, *beside = (float(x) for x in sums)
    low, high = scope.span
    width, reach = high - low, scope.most * max(high - low, abs(low), abs(high))
    found = {}
    if m >= LEAST:
        interval = of_mean(own, beside[2], n, max(width, abs(low), abs(high)), scope.strict, m)
        found["replay"] = scope.estimate("replay", own / m, standard_error(own, own2, m), interval)
    interval = of_mean(wl, beside[0], n, reach, scope.strict)
    found["ips"] = scope.estimate("ips", wl / n, standard_error(wl, wl2, n), interval)
    found["snips"] = normalised("snips", (w, w2, wl, w2l, w2l2), scope)
    interval = of_mean(robust, beside[1], n, reach + max(width, abs(low), abs(high)), scope.strict)
    found["dr"] = scope.estimate("dr", robust / n, standard_error(robust, robust2, n), interval)
    return found


def normalised(name: str, sums: tuple[float, float, float, float, float], scope: Scope) -> Estimate:
    """sum w l / sum w, from the sums of w, w^2, w l, w^2 l and w^2 l^2."""
    w, w2, wl, w2l, w2l2 = sums
    theta = wl / w

    def surplus(value: float) -> tuple[float, float]:
        return wl - value * w, max(w2l2 - 2.0 * value * w2l + value * value * w2, 0.0)

    interval = of_ratio(surplus, scope.most, scope.rows, scope.span, theta, scope.strict)
    return scope.estimate(name, theta, math.sqrt(surplus(theta)[1]) / w, interval)


def rate(name: str, hits: float, trials: float, scope: Scope) -> Estimate:
    """Return the mean of losses that all equal one end of their range; its interval is exact for rows of one law."""
    low, high = scope.span
    share = hits / trials
    limits = clopper_pearson(round(hits), round(trials), 0.5 + scope.level / 2.0)
    error = (high - low) * math.sqrt(share * (1.0 - share) / trials)
    interval = low + (high - low) * limits[0], low + (high - low) * limits[1]
    return scope.estimate(name, low + (high - low) * share, error, interval, EXACT)


def standard_error(total: float, squares: float, n: float) -> float:
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
