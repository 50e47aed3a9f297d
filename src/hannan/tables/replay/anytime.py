"""Intervals of a replay that hold at all times: capitals of actions and policies, docs/proofs/evidence.md."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hannan.validation import Array

#: Bets, and the share of a factor that a center may use up, as in the engine.
BETS = 2.0 ** -np.arange(16)
CENTER_SHARE = 0.5
#: Rows that are added to the capitals simultaneously.
BLOCK = 1 << 12
#: Relative tolerance for probabilities that were written with a few digits.
ROUNDING = 1e-6
# Fixed sentences of results; each is covered by tests/tables/test_replay_anytime.py.
#: Method of an interval.
ANYTIME = (
    "anytime: holds for all numbers of rows simultaneously, for any losses in their range and any drift, if rows are "
    "in the order of the draws and each propensity is the probability of the draw given the rows before"
)
#: What is known about the probabilities of the actions that were not drawn, for the title of a result.
KNOWN = {
    "all": "the probabilities of all actions are used",
    "smallest": "a lower bound on the probabilities of all actions is used",
    "drawn": "only the probability of the drawn action is known, so intervals are wider than with all probabilities",
}
#: Scope of the differences of actions.
DIFFERENCES = "all differences of two actions hold simultaneously, at the level of the intervals"


class Rows(NamedTuple):
    """Rows of a log: actions, losses in [0, 1], propensities, and lower bounds on the probabilities of all actions."""

    actions: NDArray[np.int64]
    losses: Array
    propensities: Array
    known: Array


class Lead(NamedTuple):
    """By how much the mean of one action exceeds that of another one: an interval that holds at all times."""

    action: str
    over: str
    low: float
    high: float


class Capital:
    """Capitals of one policy, for its mean loss (side 0) and for one minus its mean loss (side 1)."""

    def __init__(self) -> None:
        self.W, self.C, self.rows = np.zeros((2, len(BETS))), np.zeros((2, len(BETS))), 0

    def estimate(self) -> float:
        """Return the estimate of the mean loss from the smallest bet of both sides."""
        first, second = (self.W[:, -1] / BETS[-1] + self.C[:, -1]) / self.rows
        return float(0.5 * (first + 1.0 - second))

    def interval(self, miss: float) -> tuple[float, float]:
        """Return the interval that misses the mean loss at some time with probability at most `miss`."""
        threshold, top = math.log(2.0 / miss), float(self.rows)
        low, high = (_low(self.W[side], self.C[side], top, threshold) / top for side in (0, 1))
        return low, 1.0 - high


def _low(W: Array, C: Array, top: float, threshold: float) -> float:
    from hannan import _engine

    return float(_engine.capital_low(np.ascontiguousarray(W), np.ascontiguousarray(C), top, threshold))


def difference(larger: Capital, smaller: Capital, miss: float) -> float:
    """Return a lower bound on the mean loss of one action minus that of another one: their capitals multiply."""
    rows = float(larger.rows)
    return _low(larger.W[0] + smaller.W[1], larger.C[0] + smaller.C[1], 2.0 * rows, math.log(1.0 / miss)) / rows - 1.0


class Capitals:
    """Capitals of the logged policy, of each action, and of policies, over the rows of one log in their order.

    Parameters
    ----------
    actions : int
        Number of actions.
    policies : int
        Number of policies.
    """

    def __init__(self, actions: int, policies: int = 0) -> None:
        self.logged = Capital()
        self.actions = [Capital() for _ in range(actions)]
        self.policies = [Capital() for _ in range(policies)]
        self.rows = 0
        self._sums, self._counts = np.zeros(actions), np.zeros(actions)
        #: Estimates of the mean losses that are paid in advance, from earlier rows.
        self.centers = np.full(actions, 0.5)

    def add(self, rows: Rows, plays: Sequence[Array]) -> None:
        """Add rows, with the probabilities of the actions under each policy (rows, actions)."""
        at = 0
        while at < len(rows.actions):
            # Centers are renewed after row number 2^k, from all rows before that row.
            end = min(len(rows.actions), at + BLOCK, at + (1 << (self.rows).bit_length()) - self.rows)
            part = slice(at, end)
            piece = Rows(rows.actions[part], rows.losses[part], rows.propensities[part], rows.known[part])
            for side in (0, 1):
                self._side(side, piece, [play[part] for play in plays])
            self.rows += end - at
            self._count(piece, slice(0, -1))
            if self.rows & (self.rows - 1) == 0:
                self.centers = (0.5 + self._sums) / (1.0 + self._counts)
            self._count(piece, slice(-1, None))
            at = end
        for one in (self.logged, *self.actions, *self.policies):
            one.rows = self.rows

    def _count(self, rows: Rows, part: slice) -> None:
        np.add.at(self._sums, rows.actions[part], rows.losses[part])
        np.add.at(self._counts, rows.actions[part], 1.0)

    def _side(self, side: int, rows: Rows, plays: Sequence[Array]) -> None:
        x = 1.0 - rows.losses if side else rows.losses
        centers = 1.0 - self.centers if side else self.centers
        p, index = rows.propensities[:, None], np.arange(len(x))
        # The logged policy draws with its own probabilities: its weight is 1.
        mean = (0.5 + self._sums.sum()) / (1.0 + self._counts.sum())
        center = np.minimum(1.0 - mean if side else mean, CENTER_SHARE / BETS)
        self.logged.C[side] += len(x) * center
        self.logged.W[side] += np.log1p(BETS * (x[:, None] - center)).sum(axis=0)
        for arm, capital in enumerate(self.actions):
            # Part of a mean loss that is paid in advance.
            paid = np.minimum(centers[arm], CENTER_SHARE * rows.known[:, arm, None] / BETS)
            capital.C[side] += paid.sum(axis=0)
            here = rows.actions == arm
            capital.W[side] += np.log1p(BETS * (x[here, None] - paid[here]) / p[here]).sum(axis=0)
        for play, capital in zip(plays, self.policies, strict=True):
            own = play[index, rows.actions]
            for arm in range(play.shape[1]):
                paid = np.minimum(play[:, arm, None] * centers[arm], CENTER_SHARE * rows.known[:, arm, None] / BETS)
                capital.C[side] += paid.sum(axis=0)
                here = rows.actions == arm
                gained = (own[here] * x[here])[:, None] - paid[here]
                capital.W[side] += np.log1p(BETS * gained / p[here]).sum(axis=0)


def leads(capitals: Capitals, labels: Sequence[str], miss: float, width: float, gains: bool) -> tuple[Lead, ...]:
    """Return by how much the mean of each action exceeds that of each other one; all hold simultaneously."""
    k = len(labels)
    pairs = [(a, b) for a in range(k) for b in range(k) if a != b]
    each = miss / max(len(pairs), 1)
    low = {(a, b): width * difference(capitals.actions[a], capitals.actions[b], each) for a, b in pairs}
    order = sorted(range(k), key=lambda a: capitals.actions[a].estimate(), reverse=gains)
    return tuple(Lead(labels[a], labels[b], low[a, b], -low[b, a]) for a in order for b in order if a != b)
