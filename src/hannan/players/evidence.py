"""Evidence about the arms of a bandit, valid at every moment, however often one looks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from hannan import validation
from hannan.saving.formatting import ceiling, chance, figure
from hannan.saving.result import Result, Shown

if TYPE_CHECKING:
    from hannan.mathematics.bounds import Units

#: What is assumed about the mean losses: nothing, or that they do not change.
Means = Literal["any", "fixed"]
#: Shares of alpha that the intervals, the differences and the regret take, so that one sentence covers all of them.
SHARES = {"arms": 0.4, "pairs": 0.4, "regret": 0.2}
#: Up to so many arms every pair is compared; beyond, the arms with the best estimates are compared with all others.
ALL_PAIRS, CANDIDATES = 24, 3
#: Decisions per draw of an arm from which on the arm is shown too rarely to compare.
RARE = 500


class ArmEvidence(NamedTuple):
    """Evidence about one arm.

    Parameters
    ----------
    mean : float
        Average reward (or loss) per decision so far; an estimate.
    interval : tuple of float
        Interval that covers the average at all times.
    shown : int
        Number of decisions in which the arm was chosen.
    probability : float or None
        Probability with which the arm is chosen now.
    """

    mean: float
    interval: tuple[float, float]
    shown: int
    probability: float | None = None


class Lead(NamedTuple):
    """By how much one arm is better than another one, on average over all decisions so far."""

    arm: str
    over: str
    low: float
    high: float


class Within(NamedTuple):
    """An arm and the most by which any other arm is better on average."""

    arm: str
    by: float


@dataclass(frozen=True)
class Evidence(Result):
    """Anytime-valid statements about the arms of a bandit.

    With probability at least 1 - alpha, all statements are true at all times simultaneously: the intervals, the
    differences, the best arm and the bound on the regret. They hold even against an adaptive adversary, with late feedback,
    and if the experiment is stopped because of what they say. They concern the decisions so far, not the future.

    Parameters
    ----------
    alpha : float
        Probability that any statement is ever wrong.
    means : {"any", "fixed"}
        Whether mean losses may change.
    decisions, pending : int
        Number of decisions, and of those without feedback. Pending feedback counts as the best and as the worst case.
    arms : dict
        Evidence per arm.
    best : str or None
        The arm that has been the best so far, if that is sure.
    within : Within
        An arm and the most by which any other arm is better.
    regret : float
        Upper bound on the realized regret of this run.
    since, sure_since : str or None
        Time of the first decision, and time from which on the best arm has been sure.
    warnings : tuple of str
        Arms that are shown too rarely, and similar.
    """

    alpha: float
    means: Means
    gains: bool
    decisions: int
    pending: int
    arms: Mapping[str, ArmEvidence]
    best: str | None
    within: Within | None
    leads: tuple[Lead, ...]
    regret: float
    since: str | None = None
    sure_since: str | None = None
    warnings: tuple[str, ...] = ()
    _table: Any = field(default=None, repr=False, compare=False)
    _width: float = field(default=1.0, repr=False, compare=False)

    def lead(self, arm: str, over: str) -> tuple[float, float]:
        """Return an interval for how much better one arm is than another, on average over all decisions so far.

        Parameters
        ----------
        arm, over : str
            Names of two different arms.

        Returns
        -------
        tuple of float
            Lower and upper end, in units of the rewards (or losses).
        """
        names = list(self.arms)
        for name in (arm, over):
            if name not in self.arms:
                raise ValueError(f"no arm {name!r}; arms are {', '.join(map(repr, names))}")
        if arm == over:
            raise ValueError(f"arm and over must be different arms; got {arm!r} twice")
        found = _Capitals(self._table, self.alpha, self.means)
        a, b = names.index(arm), names.index(over)
        return self._width * found.difference(b, a), -self._width * found.difference(a, b)

    def shown(self) -> Shown:
        """Return the panel: intervals per arm, the best arm, and the regret of this run."""
        word = "reward" if self.gains else "loss"
        table = [
            (name, arm.mean, f"{figure(arm.interval[0])} to {figure(arm.interval[1])}", arm.shown)
            for name, arm in self.arms.items()
        ]
        rows = [("best", self._verdict())]
        if self.decisions:
            lost = ceiling(self.regret)
            rows.append(("regret", f"at most {lost} (realized, of this run, compared with the best arm in hindsight)"))
        rows += [("warning", text) for text in self.warnings]
        waiting = f" ({self.pending:,} pending, counted as best case and as worst case)" if self.pending else ""
        start = f" since {self.since}" if self.since else ""
        return Shown(
            f"{self.decisions:,} decisions{start}{waiting}",
            rows,
            ("arm", f"mean {word}", "interval", "shown"),
            table,
            [
                ("error", f"the probability that any statement here is ever wrong is at most {chance(self.alpha)}, "
                 "however often you look"),
                ("target", "averages over the decisions so far; nothing is claimed about the future"),
                ("means", "may change in any way" if self.means == "any" else
                 "assumed constant over time; not verified"),
                ("draws", "each move is drawn with the recorded probabilities; losses of a round may depend on past "
                 "moves but not on the draw of the round"),
            ],
        )  # fmt: skip

    def _verdict(self) -> str:
        if self.best is not None:
            since = f" (sure since {self.sure_since})" if self.sure_since else ""
            return f"{self.best} has been the best so far{since}"
        if self.within is None:
            return "not sure yet: no decisions"
        name, by = self.within
        return f"not sure yet: no arm is better than {name} by more than {ceiling(by)} on average so far"


class _Capitals:
    """Lower bounds read from a table of the engine, for losses in [0, 1]."""

    def __init__(self, table: Any, alpha: float, means: Means) -> None:
        self.table, self.alpha, self.fixed, self.n = table, alpha, means == "fixed", table.arms

    def interval(self, arm: int) -> tuple[float, float]:
        """Return the interval for the mean loss of an arm."""
        threshold = math.log(2.0 * self.n / (SHARES["arms"] * self.alpha))
        rounds = self.table.drawn(arm) if self.fixed else float(self.table.draws)
        if rounds == 0.0:
            return 0.0, 1.0
        low = self.table.fixed_low if self.fixed else self.table.arm_low
        return low(arm, 0, threshold) / rounds, 1.0 - low(arm, 1, threshold) / rounds

    def mean(self, arm: int) -> float:
        """Return an estimate of the mean loss, within its interval."""
        low, high = self.interval(arm)
        if self.fixed:
            settled = self.table.settled(arm)
            estimate = self.table.sum(arm) / settled if settled else 0.5
        else:
            estimate = self.table.estimate(arm) if self.table.draws else 0.5
        return min(max(estimate, low), high)

    def difference(self, larger: int, smaller: int) -> float:
        """Return a lower bound on the mean loss of one arm minus that of another."""
        if not self.table.draws:
            return -1.0
        threshold = math.log(self.n * (self.n - 1) / (SHARES["pairs"] * self.alpha))
        if not self.fixed:
            return float(self.table.pair_low(larger, smaller, threshold)) / self.table.draws - 1.0
        low, high = -1.0, 1.0
        if not self.table.fixed_product(larger, smaller, low) > threshold:
            return low
        for _ in range(40):
            middle = 0.5 * (low + high)
            if self.table.fixed_product(larger, smaller, middle) > threshold:
                low = middle
            else:
                high = middle
        return low

    def regret(self) -> float:
        """Return an upper bound on the realized regret."""
        threshold = math.log(self.n / (SHARES["regret"] * self.alpha))
        best = min(self.table.regret_low(arm, threshold) for arm in range(self.n))
        return max(0.0, float(self.table.own + self.table.pending - best))


def read(
    table: Any,
    names: Sequence[str],
    units: Units,
    *,
    alpha: float = 0.05,
    means: Means = "any",
    probabilities: Sequence[float] | None = None,
    since: str | None = None,
    sure_since: str | None = None,
) -> Evidence:
    """Return the evidence in a table of the engine.

    Parameters
    ----------
    table : _engine.Evidence
        Capitals of the arms.
    names : sequence of str
        Names of the arms.
    units : Units
        Units of the losses or rewards.
    alpha : float
        Probability that any statement is ever wrong.
    means : {"any", "fixed"}
        Whether mean losses may change.
    probabilities : sequence of float, optional
        Probabilities with which the arms are chosen now.
    since, sure_since : str, optional
        Times that the panel prints.
    """
    alpha = validation.between(alpha, 0.0, 1.0, "alpha", "()")
    if means not in get_args(Means):
        raise ValueError(f'means must be "any" or "fixed"; got {means!r}')
    if len(names) < 2:
        raise ValueError(f"evidence compares arms and needs at least 2; got {len(names)}")
    found = _Capitals(table, alpha, means)
    estimates = [found.mean(arm) for arm in range(len(names))]
    arms = {}
    for arm, name in enumerate(names):
        low, high = sorted(float(units.total(end, 1)) for end in found.interval(arm))
        now = None if probabilities is None else float(probabilities[arm])
        arms[name] = ArmEvidence(float(units.total(estimates[arm], 1)), (low, high), int(table.drawn(arm)), now)
    ranked = sorted(range(len(names)), key=estimates.__getitem__)
    leaders = ranked if len(names) <= ALL_PAIRS else ranked[:CANDIDATES]
    # Lower bounds on m(b) - m(a), for each leader a.
    behind = {a: {b: found.difference(b, a) for b in ranked if b != a} for a in leaders}
    best = next((a for a in leaders if min(behind[a].values()) > 0.0), None)
    worse = {a: max(0.0, -min(differences.values())) for a, differences in behind.items()}
    closest = best if best is not None else min(leaders, key=worse.__getitem__)
    leads = tuple(
        Lead(names[a], names[b], units.width * behind[a][b], -units.width * found.difference(a, b))
        for place, a in enumerate(leaders)
        for b in ranked[place + 1 :]
    )
    decisions = int(table.draws)
    warnings = tuple(
        f"{name} was shown {arm.shown:,} times in {decisions:,} decisions, too rarely to compare over all of them; set a "
        'floor, or use means="fixed"'
        for name, arm in arms.items()
        if means == "any" and decisions >= RARE and arm.shown * RARE < decisions
    )
    return Evidence(
        alpha=alpha,
        means=means,
        gains=units.gains,
        decisions=decisions,
        pending=int(table.pending),
        arms=arms,
        best=None if best is None else names[best],
        within=Within(names[closest], units.width * worse[closest]) if decisions else None,
        leads=leads,
        regret=units.width * found.regret(),
        since=since,
        sure_since=None if best is None else sure_since,
        warnings=warnings,
        _table=type(table).from_bytes(table.to_bytes()),
        _width=units.width,
    )
