"""Evidence about the arms of a bandit, valid at every moment, however often one looks."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from hannan import validation
from hannan.mathematics.bounds import Units
from hannan.mathematics.mechanisms import RandomizedResponse
from hannan.saving.formatting import ceiling, chance
from hannan.saving.result import Result, Rows, Shown, as_page, plain

if TYPE_CHECKING:
    from pathlib import Path

#: Assumptions about the mean losses: none, or that they do not change.
Means = Literal["any", "fixed"]
#: Shares of alpha that the intervals, the differences and the regret take, so that one sentence covers all of them.
SHARES = {"arms": 0.4, "pairs": 0.4, "regret": 0.2}
#: Up to this number of arms every pair is compared; otherwise, the arms with the best estimates are compared with all
#: others.
ALL_PAIRS, CANDIDATES = 24, 3
#: Error probability with which the engine tracks since when an arm has been the best.
SURE_ALPHA = 0.05
#: Assumptions about an adversary that can predict the moves.
SEEDED = ("seed", "a seed was given: no statement holds against an adversary that knows it")
RESUMED = (
    "copy",
    'the random state is in a file, from which a copy can continue with the same moves (resume="exact"): no statement '
    "holds against an adversary that runs such a copy",
)
#: Decisions per draw of an arm from which on the arm is shown too rarely to compare.
RARE = 500


#: Scope of intervals and differences, and validity of the bound on the regret.
TARGET = "averages over the decisions so far; nothing is claimed about the future"
REGRET_HOLDS = "uniformly over time, even against an adaptive adversary"


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
    least_probability : float
        Smallest probability with which the arm could be chosen in any decision so far.
    """

    mean: float
    interval: tuple[float, float]
    shown: int
    probability: float | None = None
    least_probability: float = 0.0


class Lead(NamedTuple):
    """Difference between one arm and another one, on average over all decisions so far."""

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
    differences, the best arm and the bound on the regret. They hold with late feedback, and if the experiment is
    stopped because of what they say. With means="any" they hold even against an adaptive adversary. They concern the
    decisions so far, not the future.

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
        The arm that has been the best so far, if this is certain.
    within : Within
        An arm and the most by which any other arm is better.
    regret : float or None
        Upper bound on the realized regret of this run. None if only randomized reports of the losses are known.
    more : int or None
        Rough number of further decisions after which the best arm is sure, if rates and shares stay as they are.
        None if it is sure, or if nothing can be said.
    since, sure_since : str or None
        Time of the first decision, and time from which on the best arm has been sure.
    warnings : tuple of str
        Arms that are shown too rarely, and similar.
    assumed : tuple of (str, str)
        Further assumptions about this run, as (label, text).

    Examples
    --------
    >>> import hannan as hn
    >>> player = hn.EpsilonGreedy(["red", "blue"], 0.2).start(seed=0, evidence=True)
    >>> for _ in range(1000):
    ...     move = player.act()
    ...     player.observe(move, 0.1 if move.arm == "red" else 0.9)
    >>> found = player.evidence()
    >>> found.best, found.decisions, found.arms["red"].interval[1] < found.arms["blue"].interval[0]
    ('red', 1000, True)
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
    regret: float | None
    since: str | None = None
    sure_since: str | None = None
    more: int | None = None
    warnings: tuple[str, ...] = ()
    assumed: tuple[tuple[str, str], ...] = ()
    _table: Any = field(default=None, repr=False, compare=False)
    _width: float = field(default=1.0, repr=False, compare=False)

    def lead(self, arm: str, over: str) -> tuple[float, float]:
        """Return an interval for the difference between two arms, on average over all decisions so far.

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

    def to_dict(self) -> dict[str, Any]:
        """Return the statements as plain numbers, strings and lists that JSON can hold.

        Returns
        -------
        dict
            The fields of the panel; one entry per arm in `arms`, and one per pair of arms in `leads`.
        """
        within = None if self.within is None else self.within._asdict()
        fields = {
            "alpha": self.alpha, "means": self.means, "decisions": self.decisions, "pending": self.pending,
            "since": self.since,
            "arms": [
                {
                    "arm": name, "mean": arm.mean, "low": arm.interval[0], "high": arm.interval[1],
                    "shown": arm.shown, "probability": arm.probability, "least_probability": arm.least_probability,
                }
                for name, arm in self.arms.items()
            ],
            "best": self.best, "sure_since": self.sure_since, "within": within, "more": self.more,
            "leads": [lead._asdict() for lead in self.leads],
            "regret": None if self.regret is None else
            {"at_most": self.regret, "kind": "realized", "holds": REGRET_HOLDS},
            "target": TARGET, "warnings": self.warnings, "assumed": dict(self.assumed),
        }  # fmt: skip
        return dict(plain(fields))

    def _repr_html_(self) -> str:
        return picture(self) + super()._repr_html_()

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the statements to a file, atomically.

        Parameters
        ----------
        path : str or os.PathLike
            A name that ends in .json for the fields of `to_dict()`, or in .html for a page with the intervals.

        Returns
        -------
        Path
            The file.
        """
        if not os.fspath(path).endswith(".html"):
            return super().save(path)
        from hannan.saving.files import write

        return write(path, as_page(self.shown(), picture(self)))

    def shown(self) -> Shown:
        """Return the panel: intervals per arm, the best arm, and the regret of this run.

        Returns
        -------
        Shown
            Lines that `print` writes.
        """
        word = "reward" if self.gains else "loss"
        table = [
            (name, arm.mean, f"{_floor(arm.interval[0])} to {ceiling(arm.interval[1])}", arm.shown)
            for name, arm in self.arms.items()
        ]
        rows = [("best", self._verdict())]
        if self.decisions and self.regret is not None:
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
                ("target", TARGET),
                ("means", "may change in any way" if self.means == "any" else
                 "assumed constant over time; not verified"),
                ("draws", "each move is drawn with the recorded probabilities; losses of a round may depend on past "
                 "moves but not on the draw of the round"),
                *self.assumed,
            ],
        )  # fmt: skip

    def _verdict(self) -> str:
        if self.best is not None:
            since = f" (sure since {self.sure_since})" if self.sure_since else ""
            return f"{self.best} has been the best so far{since}"
        if self.within is None:
            return "not sure yet: no decisions"
        name, by = self.within
        more = "" if self.more is None else f"; about {self.more:,} more decisions at this pace"
        return f"not sure yet: no arm is better than {name} by more than {ceiling(by)} on average so far{more}"


def _more(arms: list[ArmEvidence], gaps: list[float], lows: list[float], decisions: int) -> int | None:
    """Return a rough number of further decisions after which the arm with the best estimate is sure.

    A lower end is an estimate minus a width, and widths shrink with the square root of the number of decisions as long
    as the arms keep their shares. None if an arm is shown less and less, or if estimates are equal.
    """
    shrinking = any(
        arm.shown * RARE < decisions or (arm.probability is not None and 2 * arm.probability * decisions < arm.shown)
        for arm in arms
    )
    if decisions < RARE or shrinking or min(gaps[1:], default=0.0) <= 0.0:
        return None
    growth = max(((gap - low) / gap) ** 2 for gap, low in zip(gaps[1:], lows, strict=True))
    more = decisions * (growth - 1.0)
    if not 0.0 < more < 1e12:
        return None
    return int(float(f"{more:.1g}"))


def _floor(value: float) -> str:
    """Return a number rounded down, so that a printed lower end remains a lower bound."""
    text = ceiling(-value)
    return text[1:] if text.startswith("-") else text if text == "0" else f"-{text}"


def picture(found: Evidence) -> str:
    """Return the intervals of the arms as a picture (SVG): a bar per interval, and a dot at the estimate."""
    from html import escape

    ends = [end for arm in found.arms.values() for end in arm.interval]
    first, last = min(ends), max(ends)
    scale = 360.0 / ((last - first) or 1.0)
    rows = []
    for place, (name, arm) in enumerate(found.arms.items()):
        y = 16 + 22 * place
        left, right, middle = (150.0 + scale * (value - first) for value in (*arm.interval, arm.mean))
        label = escape(name if len(name) <= 20 else f"{name[:19]}…")
        rows.append(
            f'<text x="140" y="{y + 4}" text-anchor="end">{label}</text>'
            f'<line x1="{left:.1f}" y1="{y}" x2="{right:.1f}" y2="{y}" stroke="currentColor" stroke-width="3"'
            f' stroke-opacity="0.45"/><circle cx="{middle:.1f}" cy="{y}" r="4" fill="currentColor"/>'
        )
    height = 22 * len(found.arms) + 34
    word = "reward" if found.gains else "loss"
    axis = (
        f'<text x="150" y="{height - 6}">{escape(_floor(first))}</text><text x="330" y="{height - 6}"'
        f' text-anchor="middle">mean {word} so far</text><text x="510" y="{height - 6}" text-anchor="end">'
        f"{escape(ceiling(last))}</text>"
    )
    return (
        f'<svg viewBox="0 0 540 {height}" width="540" height="{height}" role="img" font-size="12" fill="currentColor"'
        f' aria-label="intervals of the arms">{"".join(rows)}{axis}</svg>'
    )


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
        low: Callable[[int, int, float], float] = self.table.fixed_low if self.fixed else self.table.arm_low
        return low(arm, 0, threshold) / rounds, 1.0 - low(arm, 1, threshold) / rounds

    def mean(self, arm: int) -> float:
        """Return an estimate of the mean loss, within its interval."""
        low, high = self.interval(arm)
        if self.fixed:
            settled = self.table.settled(arm)
            estimate = self.table.sum(arm) / settled if settled else 0.5
        else:
            estimate = self.table.estimate(arm) if self.table.draws else 0.5
        return float(min(max(estimate, low), high))

    def difference(self, larger: int, smaller: int) -> float:
        """Return a lower bound on the mean loss of one arm minus that of another."""
        if not self.table.draws:
            return -1.0
        threshold = math.log(self.n * (self.n - 1) / (SHARES["pairs"] * self.alpha))
        if not self.fixed:
            return float(self.table.pair_low(larger, smaller, threshold) / self.table.draws) - 1.0
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

    def regret(self, against: Sequence[int]) -> float:
        """Return an upper bound on the realized regret against these arms."""
        threshold = math.log(self.n / (SHARES["regret"] * self.alpha))
        best = min(self.table.regret_low(arm, threshold) for arm in against)
        return max(0.0, float(self.table.own + self.table.pending - best))


def checked(alpha: float, means: str) -> float:
    """Return alpha; raise ValueError if it or `means` is invalid."""
    if means not in get_args(Means):
        raise ValueError(f'means must be "any" or "fixed"; got {validation.brief(means)}')
    return validation.between(alpha, 0.0, 1.0, "alpha", "()")


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
    assumed: Rows = (),
    response: RandomizedResponse | None = None,
    retired: Collection[int] = (),
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
    since : str, optional
        Time of the first decision.
    sure_since : str, optional
        Time from which on the table has found the same arm the best, at `SURE_ALPHA`.
    assumed : sequence of (str, str)
        Further assumptions, as (label, text).
    response : RandomizedResponse, optional
        Mechanism of the reports that the table counts instead of losses. A mean report is 1/2 + tanh(epsilon/2) (mean
        loss - 1/2) in every round, so that means and intervals are mapped by the inverse. The realized regret is about
        realized losses, which are unknown, and is withheld.
    retired : collection of int, optional
        Arms that are omitted from comparisons and regret, because their losses since their retirement are unknown. With
        means="fixed" they are compared too.
    """
    alpha = checked(alpha, means)
    if len(names) < 2:
        raise ValueError(f"evidence compares arms and needs at least 2; got {len(names)}")
    found, factor = _Capitals(table, alpha, means), 1.0 if response is None else response.factor

    def loss(mean: float) -> float:
        """Return a mean loss in the user's units, from the mean of its reports."""
        return (
            float(units.total(min(max(0.5 + (mean - 0.5) * factor, 0.0), 1.0), 1))
            if response
            else float(units.total(mean, 1))
        )

    estimates = [found.mean(arm) for arm in range(len(names))]
    arms = {}
    for arm, name in enumerate(names):
        low, high = sorted(loss(end) for end in found.interval(arm))
        now = None if probabilities is None else float(probabilities[arm])
        mean, least = loss(estimates[arm]), float(table.least(arm)) if table.draws else 0.0
        arms[name] = ArmEvidence(mean, (low, high), int(table.drawn(arm)), now, least)
    ranked = sorted(range(len(names)), key=estimates.__getitem__)
    # All comparisons hold simultaneously, so that any of them may be left out.
    absent = {arm for arm in retired if means == "any"}
    ranked = [arm for arm in ranked if arm not in absent]
    leaders = ranked if len(names) <= ALL_PAIRS else ranked[:CANDIDATES]
    # Lower bounds on m(b) - m(a), for each leader a.
    behind = {a: {b: found.difference(b, a) for b in ranked if b != a} for a in leaders}
    best = next((a for a in leaders if min(behind[a].values(), default=0.0) > 0.0), None)
    worse = {a: max(0.0, -min(differences.values(), default=0.0)) for a, differences in behind.items()}
    closest = best if best is not None else min(leaders, key=worse.__getitem__)
    width = units.width * factor
    leads = tuple(
        Lead(names[a], names[b], width * behind[a][b], -width * found.difference(a, b))
        for place, a in enumerate(leaders)
        for b in ranked[place + 1 :]
    )
    decisions = int(table.draws)
    watched = alpha == SURE_ALPHA and means == "any"
    warnings = tuple(
        f"{name} was shown {arm.shown:,} times in {decisions:,} decisions, too rarely to compare over all of them; "
        'set a floor, as in hn.Bandit(n, floor=0.05), or use means="fixed" if means do not change'
        for place, (name, arm) in enumerate(arms.items())
        if means == "any" and decisions >= RARE and arm.shown * RARE < decisions and place not in absent
    )
    warnings += tuple(
        f"{names[arm]} was retired: its {'rewards' if units.gains else 'losses'} since then are unknown, so it is "
        "omitted from comparisons and regret"
        for arm in sorted(absent)
    )
    return Evidence(
        alpha=alpha,
        means=means,
        gains=units.gains,
        decisions=decisions,
        pending=int(table.pending),
        arms=arms,
        best=None if best is None else names[best],
        within=Within(names[closest], min(width * worse[closest], units.width)) if decisions else None,
        leads=leads,
        regret=None if response is not None else units.width * found.regret(ranked),
        since=since,
        sure_since=sure_since if watched and best is not None and best == table.sure else None,
        more=None
        if best is not None
        else _more(
            [arm for place, arm in enumerate(arms.values()) if place not in absent],
            [estimates[b] - estimates[ranked[0]] for b in ranked],
            [behind[ranked[0]][b] for b in ranked[1:]],
            decisions,
        ),
        assumed=tuple((label, text) for label, text in assumed),
        warnings=warnings,
        _table=type(table).from_bytes(table.to_bytes()),
        _width=width,
    )
