"""Follow the perturbed leader over decisions (Kalai, Vempala 2005): any set with an argmin oracle."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hannan import refusals
from hannan.learners.decisions.learner import Combinatorial, harmonic_like
from hannan.learners.decisions.sets import Decisions
from hannan.mathematics import bounds
from hannan.mathematics.bounds import Bound, Terms
from hannan.refusals import Array


@dataclass(frozen=True)
class FPL(Combinatorial):
    """Choose a path, a set or an assignment each round by solving one perturbed problem of least cost.

    v = argmin_v <L + z, v>, z fresh: uniform on [0, scale]^d, or -z exponential of mean scale.

    Losses of the components in [0, 1], so that |l|_1 <= d =: A and <v, l> <= m =: R; D the L1 diameter.

        uniform      E own <= L* + R A T/scale + D scale
        exponential  E own <= e^(A/scale) (L* + D scale (1 + ln d)), from p(L + l) >= e^(-|l|_1/scale) p(L)

    `FPL.tuned(decisions, rounds)` has the scale of the least uniform bound, 2 sqrt(D R A T).

    `decisions`: the set, such as `ShortestPaths`. `scale`: of the perturbations, above 0. `noise`: "uniform" or
    "exponential".

    >>> from hannan.learners.decisions.sets import MSets
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
    def tuned(cls, decisions: Decisions, rounds: int, noise: Literal["uniform", "exponential"] = "uniform") -> FPL:
        """The scale with the least bound for `rounds` rounds: sqrt(R A T/D), or A (1 + sqrt(1 + 4 R T/c))/2,
        c = A D (1 + ln d)."""
        rounds = refusals.count(rounds, "rounds")
        spread, most = max(decisions.diameter, 1), decisions.most * rounds
        if noise == "uniform":
            return cls(decisions, math.sqrt(most * decisions.d / spread))
        c = decisions.d * spread * harmonic_like(decisions.d)
        return cls(decisions, decisions.d * (1.0 + math.sqrt(1.0 + 4.0 * most / c)) / 2.0, noise)

    def bound(self, rounds: int | None = None, best_loss: float | None = None, *, against: str | None = None) -> Bound:
        """A bound on the expected regret against the best decision; the noise is fresh, so against any losses."""
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
            return bounds.trivial(most, "rounds x m", "largest loss")
        bound = Bound(value, terms, source, self.scale, sense="draws", against="any")
        if self.noise != "uniform" and best < most:
            bound = bound.supposing(best)
        return bound.asked(against)

    def noise_of(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """z, drawn afresh."""
        if self.noise == "uniform":
            return np.asarray(rng.random(shape) * self.scale)
        return np.asarray(-rng.standard_exponential(shape) * self.scale)

    def drawn(self, losses: Array, rng: np.random.Generator) -> tuple[Array, tuple[float, ...]]:
        return self.decisions.best(losses + self.noise_of(rng, (self.n,))), ()
