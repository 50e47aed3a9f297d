"""FPL-TRIX (Neu 2015): first-order combinatorial semi-bandits by truncated perturbations and implicit exploration."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hannan.bounds import Bound, Withheld
from hannan.learners.combinatorial import Combinatorial, CombinatorialPlayer, Plan
from hannan.refusals import Array


@dataclass(frozen=True)
class FPLTrix(Combinatorial):
    """v = argmin_v <eta_t Lhat - z, v>, z_i exponential given that z_i <= B_t; only l_i of the chosen is seen.

    lhat_i = l_i K_i, K_i a resampled 1/(q_i + gamma_t (1 - q_i)) of q_i = P(i chosen): redraw until i comes up, or
    until a coin of probability gamma_t says so. eta_t = min(1, sqrt(D/S)), D = log(d/m) + 1, S = 1/D + the
    estimates so far, gamma_t = min(1, m eta_t), e^(-B_t) = min(1/2, m eta_t/d). The regret is
    13 m sqrt(d L* D) + O(m^2 d log(dT)): the last term has no published constant, so no number is printed.

    >>> from hannan.decisions import MSets
    >>> player = FPLTrix(MSets(5, 2)).start(seed=1)
    >>> plan = player.act()
    >>> player.observe(plan, [0.5, 1.0])
    >>> int((player.losses > 0).sum())
    2
    """

    @property
    def spread(self) -> float:
        """D = log(d/m) + 1."""
        return math.log(self.decisions.d / self.decisions.most) + 1.0

    def bound(self, rounds: int | None = None, best_loss: float | None = None) -> Bound:
        """Withheld: the published bound has a term of an order only."""
        raise Withheld("FPL-TRIX has a term of an order only in its bound, O(m^2 d log dT) (Neu 2015)")

    def start(self, seed: int = 0, name: str | None = None) -> FPLTrixPlayer:
        return FPLTrixPlayer(self, seed, name)


class FPLTrixPlayer(CombinatorialPlayer):
    """Plays `FPLTrix`: the losses of the components chosen are seen."""

    learner: FPLTrix
    sees_all = False

    @property
    def eta(self) -> float:
        """The learning rate of the next round."""
        spread = self.learner.spread
        return min(1.0, math.sqrt(spread / (1.0 / spread + float(self.losses.sum()))))

    def _choose(self, eta: float) -> Array:
        v = self.learner.decisions
        # An exponential given that it is below B: by inversion.
        beyond = min(0.5, v.most * eta / v.d)
        z = -np.log1p(-self._rng.random(v.d) * (1.0 - beyond))
        return v.best(eta * self.losses - z)

    def _draw(self) -> tuple[Array, tuple[float, ...]]:
        eta = self.eta
        chosen = self._choose(eta)
        gamma = min(1.0, self.learner.decisions.most * eta)
        waiting = np.flatnonzero(chosen)
        trials = np.zeros(self.learner.n)
        # Each component has a coin of its own: K is geometric with success q + gamma (1 - q).
        stop = self._rng.geometric(gamma, waiting.size) if gamma < 1.0 else np.ones(waiting.size, dtype=np.int64)
        limit = dict(zip(waiting.tolist(), stop.tolist(), strict=True))
        left, k = set(limit), 0
        while left:
            k += 1
            again = self._choose(eta)
            for i in list(left):
                if again[i] == 1.0 or k >= limit[i]:
                    trials[i] = k
                    left.discard(i)
        return chosen, tuple(float(x) for x in trials[waiting])

    def _settle(self, plan: Plan, row: Array, kept: tuple[float, ...]) -> None:
        losses = self.losses.copy()
        losses[list(plan.action)] += row * np.array(kept)
        self.losses = losses
