"""A combination as it was at a point of the curves: its sums, and its promises, which are worked out when asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from hannan.learners.adahedge import Seen
from hannan.refusals import Array
from hannan.tables.combine.promises import Promises

#: Numbers of a rule before those of the columns, and where the bounds of the layer above begin among them.
HEAD, ABOVE = 8, 4


class RuleSums:
    """What the promises of a rule are made of, read from the one array that the engine gives."""

    def __init__(self, numbers: Array) -> None:
        self.mixture, self.mean_loss, self.settled, self.gap = numbers[:ABOVE].tolist()
        self.above = numbers[ABOVE:HEAD]
        columns = numbers[HEAD:].reshape(6, -1)
        self.losses, self.beside, self.awake, self.slept_b, self.slept_adahedge, self.bounds = columns


class PlayerSums:
    """The same of a learner at play: losses of the mixture, of the columns and of their mean; read when asked for."""

    def __init__(self, numbers: Array, n: int) -> None:
        self._numbers, self._n = numbers, n

    mixture = property(lambda self: float(self._numbers[0]))
    settled = property(lambda self: float(self._numbers[1]))
    losses = property(lambda self: self._column(0))
    beside = property(lambda self: self._column(1))
    awake = property(lambda self: self._column(2))
    mean_loss = property(lambda self: self._after(0))

    def _column(self, k: int) -> Array:
        return self._numbers[2 + k * self._n : 2 + (k + 1) * self._n]

    def _after(self, k: int) -> float:
        return float(self._numbers[2 + 3 * self._n + k])


class AdaHedgeSums(PlayerSums):
    """The same of AdaHedge, as the engine notes them: its own loss, and what its bound is made of, too."""

    own = property(lambda self: self._after(1))
    #: The largest delay so far.
    late = property(lambda self: int(self._after(2)))
    #: L: a sleeper was charged the learner's own loss.
    charged = property(lambda self: self._numbers[-self._n :])

    def seen(self) -> Seen:
        """As the player had it then."""
        gap, variance, span, least, most = map(self._after, range(3, 8))
        return Seen(int(self.settled), float(self.charged.min()), least, most, span, variance, gap)


class Moment(NamedTuple):
    """`sums` then; `promises()` of then; `regret` of <p, l>, where that is what the bound is about."""

    sums: Any
    promises: Callable[[], Promises]
    regret: float | None
    weights: Array

    def marks(self) -> list[float]:
        """A point of the curves: settled rows, loss of the combination, regret to the column most ahead, what is
        promised about and its bound, loss of the mean, and the bound to it."""
        sums, told = self.sums, self.promises()
        awake = sums.awake > 0
        ahead = np.where(awake, sums.beside - sums.losses, -np.inf)
        best = int(np.argmax(ahead)) if awake.any() else 0
        bound, to_mean = told.column(best), told.mean
        return [
            sums.settled, sums.mixture, float(ahead[best]) if awake.any() else 0.0,
            float(told.realised[best]) if self.regret is None else self.regret,
            np.nan if bound is None else bound, sums.mean_loss, np.nan if to_mean is None else to_mean,
        ]  # fmt: skip


class AdaHedgeMoment(NamedTuple):
    """A moment of AdaHedge, of which nothing is worked out before it is asked for: row `k` of notes of the engine, and
    of the weights then."""

    k: int
    notes: Array
    shares: Array
    mixer: Any

    @property
    def sums(self) -> AdaHedgeSums:
        return AdaHedgeSums(self.notes[self.k], self.mixer.n)

    @property
    def weights(self) -> Array:
        told: Array = self.shares[self.k]
        return told

    def made(self) -> Moment:
        """As any other."""
        sums = self.sums
        regret = sums.own - float(sums.charged.min())
        return Moment(sums, lambda: self.mixer.promised(sums), regret, self.weights)

    def marks(self) -> list[float]:
        """As `Moment.marks`."""
        return self.made().marks()
