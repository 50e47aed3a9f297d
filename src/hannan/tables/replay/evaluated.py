"""Results of a replay, and their page: learners, the logged policy, and single actions on one log."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from hannan.mathematics.intervals import of_mean
from hannan.report import Figure, Fold, Layer, Page, Picture, Section, Table, Text, Tile, Tiles
from hannan.saving.formatting import clipped, counted, number
from hannan.saving.result import plain
from hannan.tables.read.table import BadTable
from hannan.tables.replay.anytime import Lead
from hannan.tables.replay.log import LOGGED, Estimate, Log, Scope, normalised, rate, standard_error
from hannan.tables.write import ROWS, Name, curve, lines, made_by
from hannan.validation import Array


@dataclass(frozen=True)
class Replayed:
    """Estimates of one learner on a log, with its accepted rows and the effective number of rows.

    A `fixed` policy is user-defined and does not learn, so it has no accepted rows.
    """

    name: str
    learner: str
    estimates: dict[str, Estimate] = field(hash=False)
    accepted: float
    effective: float
    rows: Array = field(hash=False, repr=False)
    curve: Array = field(hash=False, repr=False)
    fixed: bool = False


@dataclass(frozen=True)
class Evaluated:
    """Estimates of learners on one log, of the policy that created it, and of each single action, as means per row."""

    rows: int
    actions: tuple[str, ...]
    propensities: bool
    gains: bool
    logged: Estimate
    single: tuple[Estimate, ...]
    learners: tuple[Replayed, ...]
    runs: int
    seed: int
    #: Conditions on columns of advice and of probabilities, or of contexts; "" if there are none.
    condition: str = ""
    #: Meaning of rows without a loss, for JSON; None if none was stated.
    missing: dict[str, Any] | None = field(default=None, hash=False)
    #: Column of the smallest probabilities, and its minimum; None if no column was named.
    smallest: dict[str, Any] | None = field(default=None, hash=False)
    #: Differences of all actions, and what is known about probabilities, if intervals hold at all times.
    leads: tuple[Lead, ...] = ()
    known: Literal["", "all", "smallest", "drawn"] = ""

    @property
    def best_action(self) -> Estimate:
        """Best single action in hindsight, whose estimate is therefore too optimistic."""
        pick = max if self.gains else min
        return pick(self.single, key=lambda estimate: estimate.value)

    def to_dict(self) -> dict[str, Any]:
        """Return the results as a dict for JSON."""
        return dict(plain({
            "rows": self.rows, "actions": list(self.actions), "propensities": self.propensities,
            "runs": self.runs, "seed": self.seed, "condition": self.condition or None,
            "missing": self.missing, "smallest": self.smallest,
            "logged": self.logged.to_dict(),
            "best_action": {"action": self.best_action.name, **self.best_action.to_dict()},
            **self._anytime(),
            "learners": [
                {"name": one.name, "learner": one.learner, "accepted": None if one.fixed else one.accepted,
                 "effective_rows": one.effective,
                 **{name: estimate.to_dict() for name, estimate in one.estimates.items()}}
                for one in self.learners
            ],
        }))  # fmt: skip

    def _anytime(self) -> dict[str, Any]:
        """Return all actions and their differences, if intervals hold at all times."""
        if not self.known:
            return {}
        single = [{"action": one.name, **one.to_dict()} for one in self.single]
        return {"known": self.known, "single": single, "leads": [lead._asdict() for lead in self.leads]}


#: Relative tolerance for the sum of propensities that are rounded to three or four digits.
ROUNDING = 5e-3


def check_range(log: Log, losses: Array, span: tuple[float, float], first: int) -> None:
    """Raise BadTable with the row of a loss outside its range; the first loss is that of row `first` of those kept."""
    outside = ~((losses >= span[0]) & (losses <= span[1]))
    if outside.any():
        t = int(np.argmax(outside))
        raise BadTable(
            f"{log.source}, row {log.missing.row(first + t - 1)}: loss must be in the stated range "
            f"{span[0]:g}:{span[1]:g}; got {losses[t]:g}"
        )


def comparators(log: Log, scope: Scope) -> tuple[Estimate, tuple[Estimate, ...]]:
    """Return the means of the logged policy and of each action; intervals of actions hold simultaneously (Bonferroni).

    If all losses equal one end of their range and no propensity changes, the rows are a sample of one distribution, and
    the intervals are exact. Otherwise the log may be adaptive: the logged policy gets a martingale interval, and the
    mean of an action is self-normalized.
    """
    k = len(log.labels)
    low, high = scope.span
    w, w2, wl, w2l, w2l2, hits = (np.zeros(k) for _ in range(6))
    least, most = np.ones(k), np.zeros(k)
    two_valued, first, total, raw, squares, n = True, 1, 0.0, 0.0, 0.0, 0.0
    for actions, losses, odds, _ in log.blocks():
        check_range(log, losses, scope.span, first)
        first += len(actions)
        for sums, term in ((w, 1 / odds), (w2, odds**-2), (wl, losses / odds), (w2l, losses / odds**2),
                           (w2l2, (losses / odds) ** 2), (hits, losses == high)):  # fmt: skip
            np.add.at(sums, actions, term)
        np.minimum.at(least, actions, odds)
        np.maximum.at(most, actions, odds)
        two_valued = two_valued and bool(((losses == low) | (losses == high)).all())
        before = n + np.arange(len(losses))
        mean = np.divide(total + np.cumsum(losses) - losses, before, out=np.full(len(losses), low), where=before > 0)
        squares += float(np.square(losses - mean).sum())
        total, raw, n = total + float(losses.sum()), raw + float(np.square(losses).sum()), n + len(losses)
    together = replace(scope, level=1.0 - (1.0 - scope.level) / k)
    exact = two_valued and steady(least, most)
    single = tuple(
        rate(log.labels[i], hits[i], log.counts[i], together)
        if exact
        else normalised(log.labels[i], (w[i], w2[i], wl[i], w2l[i], w2l2[i]), together)
        for i in range(k)
    )
    if exact:
        logged = rate("logged", float(hits.sum()), n, scope)
    else:
        interval = of_mean(total, squares, n, high - low, scope.level)
        logged = scope.estimate("logged", total / n, standard_error(total, raw, n), interval)
    return logged, tuple(replace(one, level=scope.level) for one in single)


def steady(least: Array, most: Array) -> bool:
    """Return True if the smallest and largest propensities of each action show that propensities never change.

    The rows of one action are not enough, because they rarely contain rows in which its propensity was small. In such
    rows another action has a larger propensity. So all actions must have constant propensities that sum to 1, up to a
    rounding error that is small compared with the smallest propensity.
    >>> steady(np.array([0.2, 0.8]), np.array([0.2, 0.8])), steady(np.array([0.2, 0.7]), np.array([0.2, 0.8]))
    (True, False)
    """
    return bool((most <= least * (1.0 + 1e-9)).all()) and abs(float(most.sum()) - 1.0) <= ROUNDING * float(most.min())


def replay_page(told: Evaluated) -> Page:
    """Return the page of a replay: the best first, then all estimates, and their convergence."""
    word, level = "gain" if told.gains else "loss", f"{told.logged.level:.0%}"
    best = told.best_action
    tiles = [Tile(number(told.logged.value), f"mean {word} of the logged policy")]
    for one in told.learners[:2]:
        kind, text = ("anytime", "at all times") if told.known else ("dr", "doubly robust")
        tiles.append(Tile(number(one.estimates[kind].value), f"{clipped(one.name, 40)}, {text}", "good"))
    name = clipped(best.name, 40)
    tiles.append(Tile(number(best.value), f"always {name}, the best of {len(told.single)} in hindsight"))
    rows, lines_ = [], []
    for one in told.learners:
        for estimate in one.estimates.values():
            low, high = estimate.interval
            accepted = None if one.fixed else one.accepted
            rows.append((Name(one.name), estimate.name, estimate.value, low, high, accepted, one.effective))
        if one.curve.size:
            lines_ += curve(one.rows, one.curve[:, 0], one.name)
    heads = ("learner", "estimate", f"mean {word}", f"{level} from", "to", "rows accepted", "effective rows")
    caption = "Each estimate is a mean per row. The intervals are valid for rare events too."
    fixed = any(one.fixed for one in told.learners)
    caption += " A user-defined policy does not learn, so it has no accepted rows." if fixed else ""
    blocks: tuple[Any, ...] = (Table(heads, tuple(rows), caption),)
    if lines_:
        alt = f"Doubly robust estimate of the mean {word}, by the number of rows read (first run)."
        alt += " User-defined policies are not drawn, because they do not learn." if fixed else ""
        blocks += (lines("Convergence of the estimates", f"mean {word}", lines_, alt),)
    played = Table(
        ("name", "description"), tuple((Name(o.name), Name(o.learner)) for o in told.learners), sortable=False
    )
    ranked = sorted(told.single, key=lambda e: -e.value if told.gains else e.value)
    single = tuple((Name(e.name), e.value, *e.interval) for e in ranked[:ROWS])
    many = f" The first {ROWS} of {len(ranked)}." if len(ranked) > ROWS else ""
    sections = (
        Section("Ranking", (Figure(spans(told)), Text(f"{_together(told)}{many}"))),
        Section("Estimates", (*blocks, Fold("Descriptions of the learners", (played,)))),
        Section("Single actions", (Table(("action", f"mean {word}", f"{level} from", "to"), single),)),
        Section(
            "Explanation of the terms",
            (Fold("The four estimates, and the methods of their intervals", _meanings(told)),),
        ),
    )
    held = f" Condition: {told.condition}." if told.condition else ""
    kind = "logged propensities" if told.propensities else "a uniform log"
    size = f"{counted(told.rows, 'row')}, {counted(len(told.actions), 'action')}, {kind}"
    lead = f"{size}, {counted(told.runs, 'run')} of each learner.{held}"
    return Page("Replay of a log", lead, (Tiles(tuple(tiles)),), sections, made_by(seed=str(told.seed)))


def _together(told: Evaluated) -> str:
    """Return a sentence about which actions may be the best."""
    ranked = sorted(told.single, key=lambda e: -e.value if told.gains else e.value)
    best = ranked[0]
    # All intervals hold simultaneously, so an action is worse if its interval is disjoint from the one of the best.
    as_good = [
        e for e in ranked if (e.interval[1] >= best.interval[0] if told.gains else e.interval[0] <= best.interval[1])
    ]
    holds = f"The {told.logged.level:.0%} intervals of the single actions hold simultaneously"
    if len(as_good) == 1:
        return f"{holds}, so the first of the {len(ranked)} actions is better than all others at this confidence."
    return f"{holds}: according to this log, {len(as_good)} of {len(ranked)} actions may be the best."


def _meanings(told: Evaluated) -> tuple[Text, ...]:
    """Return the explanations, in the units of the log."""
    word = "gain" if told.gains else "loss"
    return tuple(Text(text.replace("{word}", word)) for text in _MEANINGS)


_MEANINGS = (
    "*replay*: mean over accepted rows. Rows are accepted so that their actions follow the learner's distribution.",
    "*ips*: mean over all rows, weighted by q/p: the learner's probability of the logged action over the logged one.",
    "*snips*: the same, divided by the sum of the weights. It has less variance, and a small bias in short logs.",
    "*dr*: doubly robust: mean losses of the rows before, corrected by the weighted error. Recommended.",
    f"*The logged policy*: {LOGGED}.",
    "If propensities never change and losses are 0 or 1, the intervals of the logged policy and of single actions are "
    "Clopper-Pearson intervals, exact for independent rows of one distribution. All others are empirical Bernstein "
    "intervals, which hold for any losses in their range, if no action ever had a smaller probability than the "
    "smallest propensity in the log. A column with the smallest probability of any action in each row verifies this "
    "condition. All intervals need a number of rows that was fixed in advance.",
)


def spans(told: Evaluated, most: int = 30) -> Picture:
    """Return a chart with one dot and interval per learner and action, the best first.

    Of many actions only the best are drawn; learners, policies and the logged policy are always drawn.
    """
    word = "gain" if told.gains else "loss"
    found = [("the logged policy", told.logged, "logged")]
    for one in told.learners:
        kept = one.estimates.get("dr") or next(iter(one.estimates.values()))
        found.append((one.name, kept, "learner"))
    found += [(f"always {e.name}", e, "one action") for e in told.single]
    found.sort(key=lambda row: -row[1].value if told.gains else row[1].value)
    room = most - sum(kind != "one action" for _, _, kind in found)
    kept_actions = {id(row) for row in [row for row in found if row[2] == "one action"][: max(room, 1)]}
    drawn = [row for row in found if row[2] != "one action" or id(row) in kept_actions]
    rows = [
        {"who": name, "mean": e.value, "low": e.interval[0], "high": e.interval[1], "kind": kind}
        for name, e, kind in drawn
    ]
    more = f"; the best {len(kept_actions)} of {len(told.single)} actions" if len(drawn) < len(found) else ""
    alt = f"Mean {word} per row with its interval, the best first{more}."
    layer = Layer("spans", tuple(rows), x="mean", y="who", series="kind")
    order = tuple(name for name, _, _ in drawn)
    return Picture(f"Mean {word} per row", f"mean {word}", "", (layer,), alt, order=order, height=22 * len(rows) + 20)
