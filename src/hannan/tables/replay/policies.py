"""User-defined policies on a log, given by columns with the probabilities of the actions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hannan.tables.read.table import BadTable
from hannan.validation import Array, once

#: Tolerance for the sum of probabilities that were written with a few digits.
ROUNDING = 1e-6


class Policy(NamedTuple):
    """Policy by name: its actions, and the column with the probability of each action."""

    name: str
    actions: tuple[str, ...]
    columns: tuple[str, ...]


def policies(given: Mapping[str, Any] | None, actions: Sequence[str] = ()) -> tuple[Policy, ...]:
    """Return policies from {name: {action: column}}, or from {name: [columns]} in the order of the stated actions.

    >>> policies({"mine": {"red": "p_red", "blue": "p_blue"}})
    (Policy(name='mine', actions=('red', 'blue'), columns=('p_red', 'p_blue')),)
    """
    found = []
    for name, columns in (given or {}).items():
        if isinstance(columns, Mapping):
            pairs = [(str(action), str(column)) for action, column in columns.items()]
        elif isinstance(columns, (list, tuple)) and len(columns) == len(actions) > 0:
            pairs = [(str(action), str(column)) for action, column in zip(actions, columns, strict=True)]
        else:
            raise ValueError(
                f"policy {name!r} must be {{action: column of its probability}}, or a list with one column per stated "
                f"action; got {columns!r}"
            )
        if not pairs or len({column for _, column in pairs}) < len(pairs):
            raise ValueError(f"policy {name!r} must have a different column for each action; got {columns!r}")
        found.append(Policy(str(name), tuple(a for a, _ in pairs), tuple(c for _, c in pairs)))
    return tuple(found)


def parse(text: str) -> tuple[str, dict[str, str]]:
    """Return a policy from its text in a command.

    >>> parse("mine=red:p_red,blue:p_blue")
    ('mine', {'red': 'p_red', 'blue': 'p_blue'})
    """
    name, equals, columns = text.partition("=")
    pairs = [part.rpartition(":") for part in columns.split(",")]
    if not (name and equals and all(action and column for action, _, column in pairs)):
        raise ValueError(f"a policy must be NAME=ACTION:COLUMN,ACTION:COLUMN,...; got {text!r}")
    once((action.strip() for action, _, _ in pairs), f"the actions of policy {name!r}")
    return name, {action.strip(): column.strip() for action, _, column in pairs}


def check_probabilities(policy: Policy, q: Array, source: str, first: int) -> None:
    """Raise BadTable unless the probabilities of each row are in [0, 1] and sum to 1."""
    bad = ~((q >= 0.0) & (q <= 1.0)).all(axis=1) | ~(np.abs(q.sum(axis=1) - 1.0) <= ROUNDING)
    if bad.any():
        t = int(np.argmax(bad))
        raise BadTable(
            f"{source}, row {first + t}: probabilities of policy {policy.name!r} must be in [0, 1] and sum to 1; "
            f"got {', '.join(f'{x:g}' for x in q[t][:8])}"
        )


def sums(blocks: Iterator[tuple[Any, Array, Array, Array]], count: int, span: tuple[float, float]) -> Array:
    """Return the sums that the engine keeps (`ReplaySums`) for a policy; a block is (actions, losses, odds, q).

    A policy accepts no rows, because it does not learn; its "replay" sums are 0.
    """
    total = np.zeros(15)
    seen, spent = np.zeros(count), np.zeros(count)
    for actions, losses, odds, q in blocks:
        rows = np.arange(len(actions))
        hit = np.zeros((len(actions), count))
        hit[rows, actions] = 1.0
        before = np.vstack([np.zeros(count), np.cumsum(hit, axis=0)[:-1]]) + seen
        paid = np.vstack([np.zeros(count), np.cumsum(hit * losses[:, None], axis=0)[:-1]]) + spent
        every = before.sum(axis=1, keepdims=True)
        mean = np.divide(paid.sum(axis=1, keepdims=True), every, out=np.zeros_like(every), where=every > 0)
        model = np.where(before > 0, np.divide(paid, before, out=np.zeros_like(paid), where=before > 0), mean)
        w = q[rows, actions] / odds
        wl, robust = w * losses, (q * model).sum(axis=1) + w * (losses - model[rows, actions])
        total[12] += _squared_distances(wl, total[3], total[0])
        total[13] += _squared_distances(robust, total[7], total[0], span)
        terms = (np.ones(len(w)), w, w * w, wl, wl * wl, w * wl, wl * wl, robust, robust * robust)
        total[:9] += [float(term.sum()) for term in terms]
        seen += hit.sum(axis=0)
        spent += hit.T @ losses
    return total


def _squared_distances(x: Array, total: float, count: float, span: tuple[float, float] = (-np.inf, np.inf)) -> float:
    """Return the sum of squared distances of terms from the mean of the terms before, clamped to `span`."""
    before = count + np.arange(len(x))
    mean = np.divide(total + np.cumsum(x) - x, before, out=np.zeros(len(x)), where=before > 0)
    return float(np.square(x - np.clip(mean, *span)).sum())


class ContextExpert:
    """Expert that recommends, for each row, the action with the best mean in earlier rows with the same context.

    Means are weighted by 1/propensity, so that they do not depend on the logged policy. For a new context, the best
    action of all earlier rows is recommended; for the first row, the first action.

    >>> expert = ContextExpert(gains=False)
    >>> actions, losses = np.array([0, 1, 1, 0, 0]), np.array([1.0, 0.0, 0.0, 0.0, 1.0])
    >>> expert.advise(["tv", "pc", "tv", "pc", "tv"], actions, losses, None).tolist()
    [0, 0, 0, 1, 1]
    """

    def __init__(self, gains: bool) -> None:
        self._sign = -1.0 if gains else 1.0
        #: For each context, and for all rows under None: the sums of w and of w l, by action.
        self._seen: dict[str | None, dict[int, tuple[float, float]]] = {None: {}}

    def advise(
        self, contexts: Sequence[str], actions: NDArray[np.int64], losses: Array, odds: Array | None
    ) -> NDArray[np.int64]:
        """Return the advice for some rows, and then learn from them."""
        advice = np.empty(len(actions), dtype=np.int64)
        weights = np.ones(len(actions)) if odds is None else 1.0 / odds
        rows = zip(contexts, actions.tolist(), losses.tolist(), weights.tolist(), strict=True)
        for t, (context, action, loss, weight) in enumerate(rows):
            here = self._seen.setdefault(context, {})
            advice[t] = self._best(here or self._seen[None])
            for sums in (here, self._seen[None]):
                w, wl = sums.get(action, (0.0, 0.0))
                sums[action] = w + weight, wl + weight * loss
        return advice

    def _best(self, sums: dict[int, tuple[float, float]]) -> int:
        """Return the action with the best mean; 0 if no action is known."""
        return min(sums, key=lambda action: (self._sign * sums[action][1] / sums[action][0], action), default=0)
