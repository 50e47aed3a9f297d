"""Log of decisions, stored on disk: action, loss, propensity and advice of each row."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan import validation
from hannan.mathematics.intervals import clopper_pearson, of_mean, of_ratio
from hannan.saving.formatting import counted, figure
from hannan.tables.read.table import BadTable, Chunk, clipped
from hannan.tables.replay.policies import ContextExpert, Policy, check_probabilities
from hannan.tables.write import Spool, release
from hannan.validation import Array

#: Tests of a log allow this number of standard errors; a valid log fails with probability 2e-9 (two-sided).
ERRORS = 6.0
#: Smallest number of rows for an interval.
MIN_ROWS = 30.0
UNIFORM_AT = 1e-6
# Fixed sentences of results; each is covered by tests/tables/test_replay_results.py.
#: Method of an interval.
BERNSTEIN = (
    "empirical Bernstein: holds for any losses in their range, if the number of rows was fixed in advance and no "
    "action ever had a smaller probability than the smallest propensity in the log (assumed, not verified)"
)
#: The same, if a column of the log has the smallest probability of any action in each row.
VERIFIED = (
    "empirical Bernstein: holds for any losses in their range, if the number of rows was fixed in advance; no action "
    "had a probability below {floor} in any row (verified by column {column})"
)
#: Rows of a log are identically distributed only if propensities never change.
EXACT = (
    "Clopper-Pearson: holds for independent rows of one distribution, if propensities never change and the number of "
    "rows was fixed in advance"
)
#: Estimand of the mean of the logged policy. Format with "loss" or "gain".
LOGGED = "mean over the rows of this log of the expected {word} given earlier rows; not the mean over other logs"
#: Condition of experts that learn from contexts.
LEARNED = "a context expert recommends actions from earlier rows only, never from the loss of the same row"


class NoSupport(ValueError):
    """A log that cannot support the estimate, with the reason."""


@dataclass(frozen=True)
class Estimate:
    """Mean loss per row with its interval at `level`, its standard error, and the `method` of the interval."""

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
        """Return the estimate as a dict for JSON."""
        return {"value": self.value, "interval": list(self.interval), "level": self.level, "method": self.method}


@dataclass(frozen=True)
class Scope:
    """Facts that are known before a log is read: rows, range of the losses, and the largest weight 1/propensity."""

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
        """Return an estimate whose interval is clipped to the range of the losses, which contains every mean."""
        low, high = self.span
        cut = min(max(interval[0], low), high), max(min(interval[1], high), low)
        return Estimate(name, value, error, cut, self.level, method or self.method)


def estimates(sums: Array, scope: Scope) -> dict[str, Estimate]:
    """Return the four estimates from the sums of the engine's replay, or from their means over runs on the same log.

    - replay: mean loss of the accepted rows, which form a game of the learner itself
    - ips: mean of w l
    - snips: sum w l / sum w
    - dr: mean of sum_a q(a) r(a) + w (l - r(a)), where r are the mean losses of the rows before

    Given the rows before, the mean of the term of each row is the expected loss of the learner (for w (l - v) it is 0).
    """
    n, w, w2, wl, wl2, w2l, w2l2, robust, robust2, m, own, own2, *squares = (float(x) for x in sums)
    low, high = scope.span
    width, reach = high - low, scope.most * max(high - low, abs(low), abs(high))
    found = {}
    if m >= MIN_ROWS:
        interval = of_mean(own, squares[2], n, max(width, abs(low), abs(high)), scope.strict, m)
        found["replay"] = scope.estimate("replay", own / m, standard_error(own, own2, m), interval)
    interval = of_mean(wl, squares[0], n, reach, scope.strict)
    found["ips"] = scope.estimate("ips", wl / n, standard_error(wl, wl2, n), interval)
    found["snips"] = normalised("snips", (w, w2, wl, w2l, w2l2), scope)
    interval = of_mean(robust, squares[1], n, reach + max(width, abs(low), abs(high)), scope.strict)
    found["dr"] = scope.estimate("dr", robust / n, standard_error(robust, robust2, n), interval)
    return found


def normalised(name: str, sums: tuple[float, float, float, float, float], scope: Scope) -> Estimate:
    """Return sum w l / sum w, from the sums of w, w^2, w l, w^2 l and w^2 l^2."""
    w, w2, wl, w2l, w2l2 = sums
    theta = wl / w

    def surplus(value: float) -> tuple[float, float]:
        return wl - value * w, max(w2l2 - 2.0 * value * w2l + value * value * w2, 0.0)

    interval = of_ratio(surplus, scope.most, scope.rows, scope.span, theta, scope.strict)
    return scope.estimate(name, theta, math.sqrt(surplus(theta)[1]) / w, interval)


def rate(name: str, hits: float, trials: float, scope: Scope) -> Estimate:
    """Return the mean of losses that are all at an end of their range; the interval is exact for i.i.d. rows."""
    low, high = scope.span
    share = hits / trials
    limits = clopper_pearson(round(hits), round(trials), 0.5 + scope.level / 2.0)
    error = (high - low) * math.sqrt(share * (1.0 - share) / trials)
    interval = low + (high - low) * limits[0], low + (high - low) * limits[1]
    return scope.estimate(name, low + (high - low) * share, error, interval, EXACT)


def standard_error(total: float, squares: float, n: float) -> float:
    """Return the standard error of a mean."""
    return math.sqrt(max(squares - total * total / n, 0.0) / max(n - 1.0, 1.0) / n)


def check_uniform(counts: Array, labels: list[str]) -> None:
    """Raise NoSupport unless a log without propensities passes a chi-square test of uniformity (p >= 1e-6)."""
    from scipy.special import gammaincc

    n, k = float(counts.sum()), len(counts)
    if k < 2:
        return
    expected = n / k
    if expected < 5.0:
        raise NoSupport(
            f"too few rows to test that the log is uniform: need about 5 per action; got {n:g} rows for {k} actions. "
            "Pass propensity= (--propensity) if the probabilities are known"
        )
    statistic = float(((counts - expected) ** 2).sum() / expected)
    if gammaincc((k - 1) / 2.0, statistic / 2.0) < UNIFORM_AT:
        least, most = int(np.argmin(counts)), int(np.argmax(counts))
        raise NoSupport(
            f"propensity= (--propensity) is required unless the actions were drawn uniformly; got {counts[most]:g} x "
            f"{labels[most]!r} and {counts[least]:g} x {labels[least]!r} in {n:g} rows"
        )


def check_overlap(
    counts: Array, inverse: Array, inverse2: Array, labels: list[str], drawable: Array | None = None
) -> None:
    """Raise NoSupport unless the mean of 1{a_t = a}/p_t is 1 for each action, within rounding and chance.

    The mean differs from 1 if an action could not be drawn in part of the log, or if propensities are wrong. With
    `drawable`, the numbers of rows in which each action could be drawn, the mean is expected to be their share.
    """
    n = float(counts.sum())
    shares = np.ones(len(labels)) if drawable is None else drawable / n
    for a, label in enumerate(labels):
        if counts[a] == 0:
            raise NoSupport(f"every action must occur in the log; got no row with action {label!r}")
    for a, label in enumerate(labels):
        mean = float(inverse[a]) / n
        error = math.sqrt(max(float(inverse2[a]) / n - mean * mean, 0.0) / n)
        if counts[a] >= 20 and abs(mean - shares[a]) > ERRORS * error + 1e-9:
            short = mean < shares[a]
            reason = "it could not be drawn in part of the log" if short else "its propensities are too small"
            raise NoSupport(
                f"propensities do not fit the log: 1/propensity, summed over the rows with action {label!r}, should be "
                f"about {shares[a] * n:g}; got {mean * n:.6g}. "
                f"Either {reason}, or the propensities are those of another log"
            )
    mean = float(inverse.sum()) / n
    error = math.sqrt(max(float(inverse2.sum()) / n - mean * mean, 0.0) / n)
    if abs(mean - shares.sum()) > ERRORS * error + 1e-9:
        raise NoSupport(
            f"propensities do not fit the log: the mean of 1/propensity should be about {shares.sum():g}, the number "
            f"of actions that can be drawn; got {mean:.6g}. Either some actions could not be drawn in part of the log, "
            "or the propensities are those of another log"
        )


def check_weights(sums: Array, learner: Any) -> float:
    """Return the effective number of rows, (sum w)^2 / sum w^2; raise NoSupport if it is too small."""
    n, w, w2 = float(sums[0]), float(sums[1]), float(sums[2])
    effective = w * w / w2 if w2 > 0.0 else 0.0
    if effective < MIN_ROWS:
        if n < MIN_ROWS:
            raise NoSupport(f"an estimate needs a log of at least {MIN_ROWS:g} rows; got {n:g}")
        raise NoSupport(
            f"the log has too few rows with actions of {learner}: an estimate needs at least {MIN_ROWS:g} effective "
            f"rows; got {effective:.3g} of {n:g}"
        )
    error = math.sqrt(max(w2 / n - (w / n) ** 2, 0.0) / n)
    if abs(w / n - 1.0) > ERRORS * error + 1e-9:
        raise NoSupport(
            f"the weights of {learner} on the log should average 1; got {w / n:.4g}. The log does not contain enough "
            "of its actions"
        )
    return effective


def checked_chances(
    stated: Policy, chances: Array, actions: Sequence[str], propensities: Array | None, *, source: str, first: int
) -> Array:
    """Return the propensities of some rows; raise BadTable unless the probabilities of all actions agree with them.

    A row without probabilities, NaN in all columns, needs its propensity.
    """
    place = {label: i for i, label in enumerate(stated.actions)}
    for t, label in enumerate(actions):
        if label not in place and label != "":
            raise BadTable(
                f"{source}, row {first + t}: probabilities must name a column for every action; no column for "
                f"{clipped(label)}"
            )
    empty = np.isnan(chances).all(axis=1)
    bad = ~empty & (~((chances >= 0.0) & (chances <= 1.0)).all(axis=1) | ~(np.abs(chances.sum(axis=1) - 1.0) <= 1e-6))
    drawn = chances[np.arange(len(actions)), [place.get(label, 0) for label in actions]]
    given = drawn if propensities is None else propensities
    for wrong, must in (
        (bad, "probabilities must be in [0, 1] and sum to 1"),
        (~empty & ~bad & ~(np.abs(drawn - given) <= 1e-6 * given), "probabilities must agree with the propensity"),
        (empty & np.isnan(given), "probabilities are required in a row without a propensity"),
    ):
        if wrong.any():
            t = int(np.argmax(wrong))
            raise BadTable(
                f"{source}, row {first + t}: {must}; got {', '.join(f'{x:g}' for x in chances[t][:8])} and propensity "
                f"{given[t]:g}"
            )
    return given


#: Value of `missing` that excludes the rows.
DROP = "drop"


class Missing:
    """Meaning of empty losses: None (not stated), a number that replaces them, or "drop" to exclude their rows.

    >>> losses, kept = Missing(0.0).filled(np.array([1.0, np.nan]), 1)
    >>> losses.tolist(), kept.tolist()
    ([1.0, 0.0], [True, True])
    """

    def __init__(self, meaning: Any = None, word: str = "loss") -> None:
        self.meaning: float | str | None = meaning_of(meaning)
        #: "loss" or "reward".
        self.word = word
        #: Number of rows that were read.
        self.of = 0
        self._empty: list[NDArray[np.int64]] = []

    @property
    def rows(self) -> NDArray[np.int64]:
        """Numbers of the rows without a loss, counted from 1."""
        return np.concatenate([*self._empty, np.empty(0, dtype=np.int64)])

    def filled(self, losses: Array, first: int) -> tuple[Array, NDArray[np.bool_]]:
        """Return (losses, rows to keep) for rows from number `first` on."""
        empty = np.isnan(losses)
        self.of += len(losses)
        self._empty.append(first + np.flatnonzero(empty))
        if isinstance(self.meaning, float):
            return np.where(empty, self.meaning, losses), np.ones(len(losses), dtype=bool)
        return losses, ~empty

    def check(self, source: str, span: tuple[float, float]) -> None:
        """Raise BadTable for empty losses without a stated meaning, ValueError for a meaning outside their range."""
        if isinstance(self.meaning, float):
            validation.between(self.meaning, *span, "missing")
        empty = self.rows
        if self.meaning is None and len(empty):
            raise BadTable(
                f"{source} must have a {self.word} in every row; got {counted(len(empty), 'empty row')} of {self.of}, "
                f"the first at row {empty[0]}. State the meaning of an empty {self.word}: missing=0 (--missing 0) "
                f"counts it as 0, as for 'no click'; missing='drop' (--missing drop) excludes these rows"
            )

    def row(self, kept: int) -> int:
        """Return the number of a row of the table, from 1, given its index among the rows that are kept."""
        if self.meaning != DROP:
            return kept + 1
        empty = self.rows
        return kept + 1 + int(np.searchsorted(empty - 1 - np.arange(len(empty)), kept, side="right"))

    @property
    def condition(self) -> str:
        """Stated meaning as text; empty if no loss is missing."""
        count = len(self.rows)
        if not count or self.meaning is None:
            return ""
        some = f"{count} of {counted(self.of, 'row')} without a {self.word}"
        if self.meaning == DROP:
            return (
                f"{some} are excluded; the estimates hold for the other rows, if whether a row has its {self.word} "
                f"depends neither on that {self.word} nor on the action of the row (assumed, not verified)"
            )
        return f"{some} count as {self.word} {figure(float(self.meaning))} (assumed, not verified)"

    def to_dict(self) -> dict[str, Any] | None:
        """Return the meaning, the rows without a loss and all rows for JSON; None if no meaning was stated."""
        if self.meaning is None:
            return None
        return {"meaning": self.meaning, "rows": len(self.rows), "of": self.of, "condition": self.condition or None}


def meaning_of(given: Any) -> float | str | None:
    """Return a valid meaning of empty losses; text may hold a number.

    >>> meaning_of("0"), meaning_of("drop"), meaning_of(None)
    (0.0, 'drop', None)
    """
    if given is None or (isinstance(given, str) and given == DROP):
        return given
    try:
        if isinstance(given, bool):
            raise TypeError
        number = float(given)
    except (TypeError, ValueError):
        number = float("nan")
    if not np.isfinite(number):
        raise ValueError(f"missing must be a number or {DROP!r}; got {given!r}")
    return number


#: Tolerance for rounding errors of probabilities.
ROUNDING = 1e-9


class Smallest:
    """Column of the smallest probabilities: its minimum, and the rows in which an action could not be drawn."""

    def __init__(self, column: str) -> None:
        #: The smallest and the largest number of the column.
        self.column, self.minimum, self.maximum = column, 1.0, 0.0
        self._rows = self._empty = self._zeros = 0
        #: The first and the last row with a zero.
        self._first = self._last = 0
        #: Actions that were drawn in a row with a zero.
        self._drawn: set[int] = set()

    def add(self, smallest: Array, propensities: Array, actions: NDArray[np.int64], rows: NDArray[np.int64],
            source: str) -> None:  # fmt: skip
        """Read some rows, whose numbers are `rows`; raise BadTable with the row of an invalid value."""
        known = ~np.isnan(smallest)
        bad = known & ~((smallest >= 0.0) & (smallest <= propensities * (1.0 + ROUNDING)))
        if bad.any():
            t = int(np.argmax(bad))
            raise BadTable(
                f"{source}, row {rows[t]}, column {self.column!r}: expected a probability of at most the propensity of "
                f"the row, {propensities[t]:g}; got {smallest[t]:g}"
            )
        self._rows, self._empty = self._rows + len(rows), self._empty + int((~known).sum())
        zeros = np.flatnonzero(smallest == 0.0)
        if len(zeros):
            self._first, self._last = self._first or int(rows[zeros[0]]), int(rows[zeros[-1]])
            self._zeros += len(zeros)
            self._drawn |= set(actions[zeros].tolist())
        self.minimum = min(self.minimum, float(smallest[known].min(initial=1.0)))
        self.maximum = max(self.maximum, float(smallest[known].max(initial=0.0)))

    def check(self, labels: list[str], least: float) -> None:
        """Raise NoSupport if the column does not show that every action could be drawn in every row."""
        name = repr(self.column)
        if self._empty:
            raise NoSupport(
                f"column {name} must have a number in every row; got {counted(self._empty, 'empty row')} of "
                f"{self._rows}: events of these decisions were deleted. Exclude these rows, or omit smallest="
            )
        if self._zeros:
            never = [clipped(label) for i, label in enumerate(labels) if i not in self._drawn]
            which = f", never drawn there: {', '.join(never[:8])}" if never else ""
            raise NoSupport(
                f"every action must have a positive probability in every row; column {name} is 0 in {self._zeros} of "
                f"{counted(self._rows, 'row')}, between row {self._first} and row {self._last}{which}. "
                f"Evaluate the rows in which {name} is above 0, or the decisions since the last change of the arms "
                "(stage= or since= of store.log)"
            )
        if self.maximum > (1.0 + ROUNDING) / len(labels):
            raise NoSupport(
                f"column {name} must be at most 1/{len(labels)}, because the log has {len(labels)} actions; got "
                f"{self.maximum:g}. The column belongs to a log with fewer actions"
            )
        if self.minimum < least:
            raise NoSupport(f"column {name} must be at least {least:g}, or weights overflow; got {self.minimum:g}")

    @property
    def _exponent(self) -> int:
        """The smallest j >= 1 with 2^-j <= minimum."""
        return max(1, 1 - math.frexp(self.minimum)[1])

    @property
    def floor(self) -> float:
        """Power of two below the minimum, which bounds the weights."""
        return 0.5**self._exponent

    @property
    def share(self) -> float:
        """Share of the probability of a miss for this power of two; the shares of all powers sum to 1."""
        return 1.0 / (self._exponent * (self._exponent + 1))

    @property
    def method(self) -> str:
        """Method of the intervals, with the verified condition."""
        return VERIFIED.format(floor=f"2^-{self._exponent}", column=repr(self.column))


BLOCK = 1 << 15
#: Smallest propensity for which the sums of (loss/propensity)^2 cannot overflow.
MIN_PROPENSITY = 1e-100


class Log:
    """Log on disk: number of the action, loss, propensity and advised actions of each row."""

    def __init__(self, experts: Sequence[str] = (), actions: Sequence[str] = (), source: str = "the log", *,
                 contexts: Sequence[str] = (), policies: Sequence[Policy] = (), gains: bool = False,
                 missing: float | str | None = None, smallest: str | None = None,
                 chances: Policy | None = None) -> None:  # fmt: skip
        #: Experts: the columns of advice, then one expert per column of contexts.
        self.experts, self.source = [*experts, *(f"best so far by {name}" for name in contexts)], source
        self.policies = tuple(policies)
        #: Columns of advice and of probabilities of policies.
        self.told = (*experts, *dict.fromkeys(column for policy in policies for column in policy.columns))
        self.learns = bool(contexts)
        self._advisers = [ContextExpert(gains) for _ in contexts]
        self._fixed = bool(actions)
        self._number: dict[str, int] = {}
        validation.once(map(str, actions), "actions")
        for label in actions:
            self._number[str(label)] = len(self._number)
        #: Columns of the probabilities of all actions, of the policy that made the log.
        self.chances = chances
        self._own = 3 + len(self.experts) + sum(len(policy.actions) for policy in self.policies)
        extra = len(chances.actions) if chances is not None else smallest is not None
        self._rows = Spool(self._own + extra)
        self.counts: Array = np.zeros(len(self._number))
        self.inverse: Array = np.zeros(len(self._number))
        self.inverse2: Array = np.zeros(len(self._number))
        self.losses: Array = np.zeros(len(self._number))
        self.floor = 1.0
        self.has_propensities = True
        self.missing = Missing(missing, "reward" if gains else "loss")
        self.smallest = None if smallest is None else Smallest(smallest)

    @property
    def labels(self) -> list[str]:
        """Names of the actions, in the order of their numbers."""
        return list(self._number)

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, actions: Sequence[str], losses: Array, propensities: Array | None, advice: Sequence[Sequence[str]],
            first: int, *, contexts: Sequence[Sequence[str]] = (), probabilities: Sequence[Array] = (),
            smallest: Array | None = None, chances: Array | None = None) -> None:  # fmt: skip
        """Add rows to the log; raise BadTable with the row of an invalid one.

        `probabilities` has one array (rows, actions) per policy, `smallest` the smallest probability of any action, and
        `chances` the probabilities of all actions under the policy that made the log, NaN if they are unknown.
        """
        T = len(actions)
        if self.chances is not None and chances is not None:
            propensities = checked_chances(
                self.chances, chances, actions, propensities, source=self.source, first=first
            )
        rows = np.empty((T, self._rows.width))
        rows[:, 0] = [self._code(label, first + t, "the action") for t, label in enumerate(actions)]
        losses, kept = self.missing.filled(losses, first)
        rows[:, 1] = losses
        self.has_propensities = propensities is not None
        rows[:, 2] = np.nan if propensities is None else propensities
        for i, column in enumerate(advice):
            rows[:, 3 + i] = [self._code(label, first + t, self.experts[i]) for t, label in enumerate(column)]
        self._grow()
        if propensities is not None:
            bad = ~((propensities >= MIN_PROPENSITY) & (propensities <= 1.0))
            if bad.any():
                t = int(np.argmax(bad))
                raise BadTable(
                    f"{self.source}, row {first + t}: propensity must be in [{MIN_PROPENSITY:g}, 1]; "
                    f"got {propensities[t]:g}"
                )
        at = 3 + len(self.experts)
        for policy, q in zip(self.policies, probabilities, strict=True):
            check_probabilities(policy, q, self.source, first)
            rows[:, at : at + q.shape[1]] = q
            at += q.shape[1]
        for extra in (chances, smallest) if self._rows.width > self._own else ():
            if extra is not None:
                rows[:, self._own :] = extra.reshape(T, -1)
                break
        # All rows have been validated; from here on, excluded rows are not counted.
        here = np.flatnonzero(kept)
        rows, losses = rows[here], losses[here]
        codes = rows[:, 0].astype(np.int64)
        if propensities is not None:
            propensities = propensities[here]
            self.floor = min(self.floor, float(propensities.min(initial=1.0)))
            np.add.at(self.inverse, codes, 1.0 / propensities)
            np.add.at(self.inverse2, codes, 1.0 / propensities**2)
            if self.smallest is not None and smallest is not None:
                self.smallest.add(smallest[here], propensities, codes, first + here, self.source)
        at = 3 + len(advice)
        for adviser, values in zip(self._advisers, contexts, strict=True):
            rows[:, at] = adviser.advise([values[t] for t in here.tolist()], codes, losses, propensities)
            at += 1
        np.add.at(self.counts, codes, 1.0)
        np.add.at(self.losses, codes, losses)
        self._rows.add(rows)

    def _code(self, label: str, row: int, column: str) -> int:
        if label == "":
            raise BadTable(f"{self.source}, row {row}: {column} is required; got an empty cell")
        found = self._number.get(label)
        if found is None:
            if self._fixed:
                raise BadTable(
                    f"{self.source}, row {row}: {column} must be one of the stated actions; got {clipped(label)}"
                )
            found = self._number[label] = len(self._number)
        return found

    def _grow(self) -> None:
        more = len(self._number) - len(self.counts)
        for name in ("counts", "inverse", "inverse2", "losses"):
            setattr(self, name, np.concatenate([getattr(self, name), np.zeros(more)]))

    def check(self, span: tuple[float, float] = (-np.inf, np.inf), anytime: bool = False) -> None:
        """Raise an error if the log cannot support an estimate of losses in the range `span`.

        Intervals that hold at all times allow rows in which some actions could not be drawn, if the log states them.
        """
        self.missing.check(self.source, span)
        if len(self) == 0:
            raise BadTable(f"{self.source} has no rows")
        if self.smallest is not None and not anytime:
            self.smallest.check(self.labels, MIN_PROPENSITY)
            self.floor = self.smallest.floor
        if self.has_propensities:
            known = self.known() if anytime and self.chances is not None else None
            drawable = None if known is None else np.where(np.isnan(known), 1.0, known > 0.0).sum(axis=0)
            check_overlap(self.counts, self.inverse, self.inverse2, self.labels, drawable)
        else:
            check_uniform(self.counts, self.labels)
            self.floor = 1.0 / len(self.labels)

    def blocks(self) -> Iterable[tuple[Any, Array, Array, Any]]:
        """Yield (actions, losses, propensities, advice) of blocks of rows."""
        rows = self._rows.array()
        for first in range(0, len(rows), BLOCK):
            part = np.array(rows[first : first + BLOCK])
            release(rows)
            odds = part[:, 2].copy() if self.has_propensities else np.full(len(part), self.floor)
            columns = part[:, 3 : 3 + len(self.experts)]
            advice = columns.astype(np.int64) if self.experts else np.zeros((1, 1), dtype=np.int64)
            yield part[:, 0].astype(np.int64), part[:, 1].copy(), odds, np.ascontiguousarray(advice)

    def known(self) -> Array | None:
        """Return lower bounds on the probabilities of all actions in each row (rows, actions), NaN for unknown ones.

        None if the log states neither the probabilities nor the smallest of them.
        """
        if not self.has_propensities:
            return np.full((len(self), len(self.labels)), 1.0 / len(self.labels))
        if self._rows.width == self._own:
            return None
        stated = np.array(self._rows.array()[:, self._own :])
        if self.chances is None:
            return np.repeat(stated, len(self.labels), axis=1)
        place = {label: i for i, label in enumerate(self.chances.actions)}
        return stated[:, [place[label] for label in self.labels]]

    def played_by(self, policy: Policy) -> Iterator[tuple[Any, Array, Array, Array]]:
        """Yield (actions, losses, propensities, q) of blocks of rows, with q over the actions of the log."""
        rows, labels = self._rows.array(), self.labels
        before = self.policies[: self.policies.index(policy)]
        at = 3 + len(self.experts) + sum(len(one.actions) for one in before)
        for first, (actions, losses, odds, _) in zip(range(0, len(rows), BLOCK), self.blocks(), strict=True):
            columns = np.array(rows[first : first + BLOCK, at : at + len(policy.actions)])
            q = np.zeros((len(columns), len(labels)))
            for i, label in enumerate(policy.actions):
                if label in self._number:
                    q[:, self._number[label]] = columns[:, i]
                elif columns[:, i].any():
                    raise NoSupport(
                        f"policy {policy.name!r} plays an action that is not in the log; got {clipped(label)}"
                    )
            yield actions, losses, odds, q

    def close(self) -> None:
        """Delete the file."""
        self._rows.close()


def read_log(chunks: Iterable[Chunk], names: Sequence[str], action: str, *, loss: str, propensity: str | None,
             advice: Sequence[str], log: Log, contexts: Sequence[str] = ()) -> Log:  # fmt: skip
    """Read the chunks of a file into a log."""
    at = {name: i for i, name in enumerate(names)}
    for chunk in chunks:
        odds = None if propensity is None else chunk.numbers[:, at[propensity]]
        log.add(
            chunk.texts[action], chunk.numbers[:, at[loss]], odds, [chunk.texts[name] for name in advice], chunk.first,
            contexts=[chunk.texts[name] for name in contexts],
            probabilities=[chunk.numbers[:, [at[column] for column in policy.columns]] for policy in log.policies],
            smallest=None if log.smallest is None else chunk.numbers[:, at[log.smallest.column]],
            chances=None
            if log.chances is None
            else chunk.numbers[:, [at[column] for column in log.chances.columns]],
        )  # fmt: skip
    return log
