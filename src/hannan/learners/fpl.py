"""Follow the perturbed leader over decisions (Kalai, Vempala 2005): any set with an argmin oracle."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hannan import bounds, refusals
from hannan.bounds import Bound, Terms
from hannan.decisions import Decisions
from hannan.learners.combinatorial import Combinatorial, CombinatorialPlayer, Plan, harmonic_like
from hannan.refusals import Array


@dataclass(frozen=True)
class FPL(Combinatorial):
    """v = argmin_v <L + z, v>, z fresh: uniform on [0, scale]^d, or -z exponential of mean scale.

    Losses of the components in [0, 1], so that |l|_1 <= d =: A and <v, l> <= m =: R; D the L1 diameter.

        uniform      E own <= L* + R A T/scale + D scale
        exponential  E own <= e^(A/scale) (L* + D scale (1 + ln d)), from p(L + l) >= e^(-|l|_1/scale) p(L)

    `FPL.tuned(decisions, rounds)` has the scale sqrt(R A T/D) of the uniform bound, 2 sqrt(D R A T).

    >>> from hannan.decisions import MSets
    >>> FPL.tuned(MSets(10, 2), rounds=1000).bound(1000).value < 600
    True
    """

    scale: float
    noise: Literal["uniform", "exponential"] = "uniform"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "scale", refusals.positive(self.scale, "scale"))
        if self.noise not in ("uniform", "exponential"):
            raise ValueError(f"noise must be 'uniform' or 'exponential'; got {self.noise!r}")

    @classmethod
    def tuned(cls, decisions: Decisions, rounds: int) -> FPL:
        """The uniform noise with the best bound for `rounds` rounds."""
        rounds = refusals.count(rounds, "rounds")
        spread = max(decisions.diameter, 1)
        return cls(decisions, math.sqrt(decisions.most * decisions.d * rounds / spread))

    def bound(self, rounds: int | None = None, best_loss: float | None = None) -> Bound:
        """A bound on the expected regret against the best decision."""
        if rounds is None:
            raise ValueError("rounds must be given: the bound grows with them")
        rounds = refusals.count(rounds, "rounds", least=0)
        v = self.decisions
        most = float(v.most * rounds)
        best = most if best_loss is None else refusals.between(best_loss, 0.0, most, "best_loss")
        terms: Terms
        if self.noise == "uniform":
            terms = {"R A T/scale": v.most * v.d * rounds / self.scale, "D scale": v.diameter * self.scale}
            source = "Kalai and Vempala 2005, uniform noise"
        else:
            grown = math.exp(min(v.d / self.scale, 700.0))
            terms = {
                "drift": (grown - 1.0) * best,
                "range": grown * v.diameter * self.scale * harmonic_like(v.d),
            }
            source = "after Kalai and Vempala 2005, one-sided exponential noise"
        value = bounds.rounded_up(math.fsum(terms.values()))
        if value >= most:
            return Bound(most, {"rounds x m": most}, "no regret exceeds the rounds times the largest loss")
        return Bound(value, terms, source, self.scale)

    def start(self, seed: int = 0, name: str | None = None) -> FPLPlayer:
        return FPLPlayer(self, seed, name)


class FPLPlayer(CombinatorialPlayer):
    """Plays `FPL`: every loss is seen."""

    learner: FPL

    def _draw(self) -> tuple[Array, tuple[float, ...]]:
        learner = self.learner
        if learner.noise == "uniform":
            z = self._rng.random(learner.n) * learner.scale
        else:
            z = -self._rng.standard_exponential(learner.n) * learner.scale
        return learner.decisions.best(self.losses + z), ()

    def _settle(self, plan: Plan, row: Array, kept: tuple[float, ...]) -> None:
        self.losses = np.asarray(self.losses + row)
