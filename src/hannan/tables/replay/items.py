"""Replay by items: the mean loss of items and of fixed slates, from a log with one row per shown item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan import validation
from hannan.mathematics.intervals import of_mean
from hannan.saving.formatting import counted, figure
from hannan.saving.result import Result, Shown, frame_of
from hannan.tables.read.table import BadTable
from hannan.tables.replay.log import ERRORS, LOGGED, Estimate, NoSupport, standard_error
from hannan.validation import Array

#: Method of the intervals, and the assumptions that a log cannot verify.
METHOD = (
    "doubly robust, empirical Bernstein: holds for any losses in their range, if the number of slates was fixed in "
    "advance, every item of the estimate could be shown in every round, and no such item ever had a smaller "
    "probability than its smallest propensity in the log (assumed, not verified)"
)
#: Meaning of the estimate of a slate.
ADDITIVE = "the loss of a slate is the sum of the losses of its items, which do not depend on the other shown items"


@dataclass(frozen=True)
class ItemReplay(Result):
    """Result of `hn.replay(by="items")`: mean loss per round of each item and of fixed slates.

    Attributes
    ----------
    rounds : int
        Number of slates in the log.
    rows : int
        Number of shown items.
    items : tuple of str
        Labels of the items.
    gains : bool
        Whether values are rewards.
    logged : Estimate
        Mean loss of the logged slates.
    single : tuple of Estimate
        Mean loss of each item; the intervals hold simultaneously.
    slates : tuple of Estimate
        Mean loss of each slate that was asked for; each interval holds alone.
    missing : float or None
        Number that missing losses count as.

    Examples
    --------
    >>> import hannan as hn
    >>> rng, rows = np.random.default_rng(0), []
    >>> for t in range(2000):
    ...     for item in rng.permutation(4)[:2]:
    ...         rows.append((t, item, float(rng.random() < [0.1, 0.2, 0.6, 0.7][item]), 0.5))
    >>> log = dict(zip(("page", "item", "loss", "p"), zip(*rows)))
    >>> told = hn.replay(log, "item", "loss", "p", by="items", slate="page", slates={"ours": [0, 1]})
    >>> told.best_item.name, abs(told.slates[0].value - 0.3) < 0.05
    ('0', True)
    """

    rounds: int
    rows: int
    items: tuple[str, ...]
    gains: bool
    logged: Estimate
    single: tuple[Estimate, ...]
    slates: tuple[Estimate, ...]
    missing: float | None = None

    @property
    def best_item(self) -> Estimate:
        """Best item in hindsight, whose estimate is therefore too optimistic."""
        return self.ranked[0]

    @property
    def ranked(self) -> tuple[Estimate, ...]:
        """Estimates of the items, the best first."""
        return tuple(sorted(self.single, key=lambda one: -one.value if self.gains else one.value))

    def shown(self) -> Shown:
        """Return the estimates with their intervals, and the assumptions behind them.

        Returns
        -------
        Shown
            Lines that `print` writes.
        """
        word, level = "gain" if self.gains else "loss", f"{self.logged.level:.0%}"
        said = [("the logged slates", self.logged), *((one.name, one) for one in self.slates)]
        table = [(name, "slate", one.value, *one.interval) for name, one in said]
        table += [(one.name, "item", one.value, *one.interval) for one in self.ranked]
        best = self.best_item
        title = (
            f"Mean {word} per round: {figure(self.logged.value)} for the logged slates, {figure(best.value)} for item"
        )
        rows = [("log", f"{counted(self.rounds, 'slate')}, {counted(self.rows, 'row')}, {len(self.items)} items")]
        notes = [("logged slates", LOGGED.format(word=word)), ("estimates", METHOD), ("slates", ADDITIVE)]
        if self.missing is not None:
            notes.append(("log", f"rows without {word} count as {self.missing:g}"))
        heads = ("name", "kind", f"mean {word}", f"{level} from", "to")
        return Shown(f"{title} {best.name}", rows, heads, table, notes)

    def to_frame(self) -> Any:
        """Return a pandas (else polars) frame: who, kind, value, low, high.

        Returns
        -------
        DataFrame
            One row per estimate.
        """
        table = self.shown().table
        return frame_of(
            {name: [row[k] for row in table] for k, name in enumerate(("who", "kind", "value", "low", "high"))}
        )


@dataclass(frozen=True)
class _Rows:
    """Checked rows of a log: round, item, loss and propensity of each shown item."""

    rounds: NDArray[np.int64]
    items: NDArray[np.int64]
    losses: Array
    odds: Array
    labels: list[str]
    count: int


def by_items(
    log: Any, item: str, loss: str, propensity: str | None, slate: str | None, *,
    slates: Mapping[str, Sequence[Any]] | None, loss_range: tuple[float, float], gains: bool, level: float,
    missing: float | str | None,
) -> ItemReplay:  # fmt: skip
    """Return the estimates; the arguments are those of `hn.replay`."""
    if propensity is None or slate is None:
        name = "propensity" if propensity is None else "slate"
        what = "the inclusion probability of the item" if propensity is None else "the number of the slate"
        raise ValueError(f'{name} is required with by="items": pass the column with {what}')
    low, high = validation.loss_range(loss_range, validation.LARGEST_LOSS)
    level = validation.between(level, 0.0, 1.0, "level", "()")
    if isinstance(missing, str):
        raise ValueError(
            f'missing must be a number with by="items", where a slate is one row of several; got {missing!r}'
        )
    filled = None if missing is None else validation.between(missing, low, high, "missing")
    rows = _read(log, item, loss, propensity, slate, span=(low, high), missing=filled)
    wanted = _slates(slates, rows.labels)
    estimator = _Estimator(rows, (low, high), level)
    k = len(rows.labels)
    return ItemReplay(
        rounds=rows.count, rows=len(rows.items), items=tuple(rows.labels), gains=bool(gains), logged=estimator.logged(),
        single=tuple(estimator.of(label, [i], 1.0 - (1.0 - level) / k) for i, label in enumerate(rows.labels)),
        slates=tuple(estimator.of(name, members, level) for name, members in wanted.items()), missing=filled,
    )  # fmt: skip


def _read(
    log: Any, item: str, loss: str, propensity: str, slate: str, *, span: tuple[float, float], missing: float | None
) -> _Rows:
    from hannan.tables.read.frames import columns_of, numbers_of, text_of

    names = (item, loss, propensity, slate)
    if len(set(names)) < len(names):
        raise ValueError(f"item, loss, propensity and slate must be different columns; got {names}")
    columns = columns_of(log, names)
    losses, odds = numbers_of(columns[loss], loss), numbers_of(columns[propensity], propensity, complete=True)
    empty = np.isnan(losses)
    if empty.any():
        if missing is None:
            raise BadTable(
                f"row {int(np.argmax(empty))} of column {loss!r} is empty; pass missing=, the number that an item "
                "without feedback counts as, such as 0 for no click"
            )
        losses = np.where(empty, missing, losses)
    for bad, name, values, rule in (
        (~((losses >= span[0]) & (losses <= span[1])), loss, losses, f"be in [{span[0]:g}, {span[1]:g}]"),
        (~((odds > 0.0) & (odds <= 1.0)), propensity, odds, "be in (0, 1]"),
    ):
        if bad.any():
            t = int(np.argmax(bad))
            raise BadTable(f"column {name!r} must {rule}; got {values[t]:g} in row {t}")
    shown, pages = text_of(columns[item]), text_of(columns[slate])
    for name, texts in ((item, shown), (slate, pages)):
        if "" in texts:
            raise BadTable(f"column {name!r} must not be empty; got an empty cell in row {texts.index('')}")
    places: dict[str, int] = {}
    rounds = np.array([places.setdefault(page, len(places)) for page in pages], dtype=np.int64)
    labels: dict[str, int] = {}
    items = np.array([labels.setdefault(label, len(labels)) for label in shown], dtype=np.int64)
    if not len(items):
        raise BadTable("the log must have at least one row; got 0 rows")
    _, first, count = np.unique(rounds * len(labels) + items, return_index=True, return_counts=True)
    if (count > 1).any():
        t = int(first[np.argmax(count > 1)])
        raise BadTable(f"an item must occur once per slate; got {shown[t]!r} twice in slate {pages[t]!r} (row {t})")
    rows = _Rows(rounds, items, losses, odds, list(labels), len(places))
    _check_overlap(rows)
    return rows


def _check_overlap(rows: _Rows) -> None:
    """Raise NoSupport unless the mean of 1{shown}/p is 1 for each item, within chance."""
    n, k = rows.count, len(rows.labels)
    shown = np.bincount(rows.items, minlength=k)
    inverse = np.bincount(rows.items, 1.0 / rows.odds, minlength=k) / n
    squares = np.bincount(rows.items, rows.odds**-2.0, minlength=k) / n
    errors = np.sqrt(np.maximum(squares - inverse**2, 0.0) / n)
    bad = (shown >= 20) & (np.abs(inverse - 1.0) > ERRORS * errors + 1e-9)
    if bad.any():
        i = int(np.argmax(bad))
        raise NoSupport(
            f"propensities do not fit the log: 1/propensity, summed over the rows with item {rows.labels[i]!r}, should "
            f"be about {n}, the number of slates; got {inverse[i] * n:.6g}. Either the item could not be shown in part "
            "of the log, or the propensities are not the inclusion probabilities of the items"
        )


def _slates(given: Mapping[str, Sequence[Any]] | None, labels: list[str]) -> dict[str, list[int]]:
    """Return the items of each slate by number."""
    found: dict[str, list[int]] = {}
    for name, members in (given or {}).items():
        texts = [] if isinstance(members, str) else [str(one) for one in members]
        unknown = [one for one in texts if one not in labels]
        if not texts or len(set(texts)) < len(texts) or unknown:
            raise ValueError(
                f"slate {name!r} must be a list of different items of the log; got {validation.brief(members)}"
                + (f" with the unknown item {unknown[0]!r}" if unknown else "")
            )
        found[str(name)] = [labels.index(one) for one in texts]
    return found


class _Estimator:
    """Doubly robust estimates: r + 1{shown} (l - r)/p per round and item, r the mean loss of the item so far."""

    def __init__(self, rows: _Rows, span: tuple[float, float], level: float) -> None:
        self.rows, self.span, self.level = rows, span, level
        k, n = len(rows.labels), rows.count
        #: Per item: sum of r over the rounds, and largest weight.
        self.centers, self.most = np.zeros(k), np.zeros(k)
        #: (l - r)/p of each row.
        self.terms = np.zeros(len(rows.items))
        for i in range(k):
            own = np.flatnonzero(rows.items == i)
            own = own[np.argsort(rows.rounds[own], kind="stable")]
            losses = rows.losses[own]
            before = np.concatenate([[0.5 * (span[0] + span[1])], np.cumsum(losses) / np.arange(1, len(own) + 1)])
            before = np.clip(before, *span)
            lasting = np.diff(np.concatenate([[-1], rows.rounds[own], [n - 1]]))
            self.centers[i] = before @ lasting
            self.terms[own] = (losses - before[:-1]) / rows.odds[own]
            self.most[i] = (1.0 / rows.odds[own]).max()

    def of(self, name: str, members: list[int], level: float) -> Estimate:
        """Return the estimate of the sum of the mean losses of items."""
        rows, n = self.rows, float(self.rows.count)
        mine = np.isin(rows.items, members)
        per_round = np.bincount(rows.rounds[mine], self.terms[mine], minlength=rows.count)
        total, squares = float(self.centers[members].sum() + per_round.sum()), float(np.square(per_round).sum())
        largest = int(np.bincount(rows.rounds).max())
        reach = (self.span[1] - self.span[0]) * float(np.sort(self.most[members])[::-1][:largest].sum())
        interval = of_mean(total, squares, n, reach, level)
        low, high = (len(members) * end for end in self.span)
        cut = min(max(interval[0], low), high), max(min(interval[1], high), low)
        error = standard_error(float(per_round.sum()), squares, n)
        return Estimate(name, total / n, error, cut, self.level, METHOD)

    def logged(self) -> Estimate:
        """Return the mean loss of the logged slates."""
        rows, n = self.rows, float(self.rows.count)
        paid = np.bincount(rows.rounds, rows.losses, minlength=rows.count)
        size = int(np.bincount(rows.rounds).max())
        before = np.concatenate([[0.0], np.cumsum(paid)[:-1] / np.arange(1, rows.count)])
        low, high = min(size * self.span[0], self.span[0]), max(size * self.span[1], self.span[1])
        squares = float(np.square(paid - before).sum())
        interval = of_mean(float(paid.sum()), squares, n, max(high - low, abs(low), abs(high)), self.level)
        cut = max(interval[0], low), min(interval[1], high)
        error = standard_error(float(paid.sum()), float(np.square(paid).sum()), n)
        return Estimate("logged", float(paid.mean()), error, cut, self.level, METHOD)
