"""The Gumbel law: its play is Hedge's."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from hannan import refusals
from hannan.frozen import frozen
from hannan.mathematics.laws.harmonic import EULER
from hannan.mathematics.laws.law import ExtremeLaw
from hannan.refusals import Array


@frozen
class Gumbel(ExtremeLaw):
    """Gumbel perturbations: the perturbed leader that plays exactly as Hedge does.

    F(z) = exp(-e^-z): the play is Hedge's, p_i proportional to exp(-L_i/scale), exactly.

    >>> round(Gumbel().expected_max(10) - Gumbel().mean, 12) == round(math.log(10), 12)
    True
    """

    kernel: ClassVar[str] = "entropy"
    hazard: ClassVar[float] = 1.0
    mean: ClassVar[float] = EULER
    log_concave: ClassVar[bool] = True

    def log_exponent(self, z: Array) -> Array:
        return -z

    def log_slope(self, z: Array) -> Array:
        return -z

    def survival_quantile(self, s: Any) -> Array:
        return np.asarray(-np.log(-np.log1p(-np.asarray(s))))

    def expected_max(self, n: int) -> float:
        return math.log(refusals.count(n, "n")) + EULER

    def sample(self, rng: np.random.Generator, size: Any = None) -> Any:
        return rng.gumbel(size=size)
