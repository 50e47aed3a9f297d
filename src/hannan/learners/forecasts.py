"""Rules that only forecasts have: their weights learn from slopes of the loss at the combined forecast."""

from __future__ import annotations

from dataclasses import dataclass

from hannan import refusals
from hannan.learners.adahedge import ANY
from hannan.learners.names import FORECASTS


@dataclass(frozen=True)
class Rule:
    """A rule of `hannan.learners.names.FORECASTS` by its name; losses outside `loss_range` are refused.

    >>> Rule(), Rule("boa").name
    (two-layers, 'boa')
    """

    name: str = "two-layers"
    loss_range: tuple[float, float] = ANY

    def __post_init__(self) -> None:
        if self.name not in FORECASTS:
            raise ValueError(f"a rule must be one of {', '.join(FORECASTS)}; got {self.name!r}")
        object.__setattr__(self, "loss_range", refusals.loss_range(self.loss_range, ANY[1]))

    def __repr__(self) -> str:
        low, high = self.loss_range
        return self.name if self.loss_range == ANY else f"{self.name}, losses in {low:g}:{high:g}"
