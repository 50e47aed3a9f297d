"""FPL-TRIX (Neu 2015): first-order combinatorial semi-bandits by truncated perturbations and implicit exploration."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hannan.learners.decisions.learner import Combinatorial
from hannan.mathematics.bounds import Bound, Withheld
from hannan.refusals import Array

#: Perturbations are redrawn so many times at first, then twice as many.
TIMES = 16


@dataclass(frozen=True)
class FPLTrix(Combinatorial):
    """As `FPL`, but only the losses of the components chosen are seen.

    v = argmin_v <eta_t Lhat - z, v>, z_i exponential given that z_i <= B_t; only l_i of the chosen is seen.

    lhat_i = l_i K_i, K_i a resampled 1/(q_i + gamma_t (1 - q_i)) of q_i = P(i chosen): redraw until i comes up, or
    until a coin of probability gamma_t says so. eta_t = min(1, sqrt(D/S)), D = log(d/m) + 1, S = 1/D + the
    estimates so far, gamma_t = min(1, m eta_t), e^(-B_t) = min(1/2, m eta_t/d). The regret is
    13 m sqrt(d L* D) + O(m^2 d log(dT)): the last term has no published constant, so no number is printed.

    `decisions`: the set, such as `MSets`.

    >>> from hannan.learners.decisions.sets import MSets
    >>> player = FPLTrix(MSets(5, 2)).start(seed=1)
    >>> plan = player.act()
    >>> player.observe(plan, [0.5, 1.0])
    >>> int((player.losses > 0).sum())
    2
    """

    sees_all: ClassVar[bool] = False

    @property
    def spread(self) -> float:
        """D = log(d/m) + 1."""
        return math.log(self.decisions.d / self.decisions.most) + 1.0

    def bound(self, rounds: int | None = None, best_loss: float | None = None, *, against: str | None = None) -> Bound:
        """Withheld: the published bound has a term of an order only."""
        raise Withheld("FPL-TRIX has a term of an order only in its bound, O(m^2 d log dT) (Neu 2015)")

    def eta(self, losses: Array) -> Array:
        """eta_t given the estimates so far, one row per run."""
        return np.asarray(np.minimum(1.0, np.sqrt(self.spread / (1.0 / self.spread + losses.sum(axis=1)))))

    def leaders(self, losses: Array, eta: Array, u: Array) -> Array:
        """argmin_v <eta Lhat - z, v> for uniforms u (runs, times, d): z by inversion, given that it is below B."""
        v = self.decisions
        below = 1.0 - np.minimum(0.5, v.most * eta / v.d)
        costs = (eta[:, None] * losses)[:, None] + np.log1p(-u * below[:, None, None])
        return v.best_each(costs.reshape(-1, v.d)).reshape(costs.shape)

    def draw(self, losses: Array, streams: list[np.random.Generator]) -> tuple[Array, Array]:
        """(v, K), one row per run: the decisions, and for their components what stands for 1/(q + gamma (1 - q)).

        Each component has a coin of its own, so K_i is the round of resampling in which i comes up or its coin does.
        """
        eta, d = self.eta(losses), self.n
        u = np.stack([rng.random((2 + TIMES, d)) for rng in streams])
        tried = self.leaders(losses, eta, u[:, 1:])
        chosen, tried = tried[:, 0], tried[:, 1:]
        trials = np.where(chosen > 0.0, _geometric(u[:, 0], np.minimum(1.0, self.decisions.most * eta)), 0.0)
        trials = np.minimum(trials, _first(tried))
        done, times = TIMES, 2 * TIMES
        while (who := np.flatnonzero((trials > done).any(axis=1))).size:
            u = np.stack([streams[run].random((times, d)) for run in who])
            tried = self.leaders(losses[who], eta[who], u)
            trials[who] = np.minimum(trials[who], done + _first(tried))
            done, times = done + times, 2 * times
        return chosen, trials

    def drawn(self, losses: Array, rng: np.random.Generator) -> tuple[Array, tuple[float, ...]]:
        chosen, trials = self.draw(losses[None], [rng])
        return chosen[0], tuple(trials[0][chosen[0] > 0.0].tolist())

    def met(self, losses: Array, picked: list[int], row: Array, kept: tuple[float, ...]) -> Array:
        grown = losses.copy()
        grown[picked] += row * np.array(kept)
        return grown


def _first(tried: Array) -> Array:
    """The time in which each component came up first, counted from 1; inf if it did not."""
    came = tried > 0.0
    return np.where(came.any(axis=1), 1.0 + came.argmax(axis=1), np.inf)


def _geometric(u: Array, gamma: Array) -> Array:
    """P(K > k) = (1 - gamma)^k, by inversion, one row per run; 1 where gamma is 1."""
    sure = gamma[:, None] >= 1.0
    falls = np.log1p(-np.where(sure, 0.5, gamma[:, None]))
    return np.where(sure, 1.0, 1.0 + np.floor(np.log1p(-u) / falls))
