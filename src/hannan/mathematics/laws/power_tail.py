"""What the laws with tails z^-alpha have in common."""

from __future__ import annotations

import math

from hannan import refusals
from hannan.frozen import frozen
from hannan.mathematics.laws.law import Law


@frozen
class PowerTail(Law):
    """S(z) ~ z^-alpha: no mean for alpha <= 1."""

    alpha: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", refusals.positive(self.alpha, f"{type(self).__name__} alpha"))

    @property
    def kernel_parameters(self) -> tuple[float, ...]:
        return (self.alpha, 0.0, math.gamma(1.0 - 1.0 / self.alpha) if self.alpha > 1.0 else math.inf)
