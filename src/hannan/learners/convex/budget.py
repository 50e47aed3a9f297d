"""From a budget to a scale, and what it costs: the least scale whose epsilon over the rounds is within the budget.

epsilon(scale) falls in the scale, so the least scale is a root; it is looked for where log epsilon is nearly a line in
log scale, and checked: what is given back is never above the budget.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hannan import refusals
from hannan.learners.convex.privacy import statement
from hannan.learners.tuning import Fixed, Horizon
from hannan.mathematics.bounds import Withheld
from hannan.mathematics.convex.noise import GammaNoise, Shape
from hannan.saving.result import Result, Shown
from hannan.saving.words import AtMost, ceiling, chance, figure, short

#: The first step above the root, relative.
NEAR = 1e-12
#: The epsilons of a curve where none are given.
USUAL = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


def scale_for(learner: Any, epsilon: float, delta: float | None, rounds: int, shape: Shape | None) -> float:
    """`Convex.scale_for`."""
    epsilon, rounds = refusals.positive(epsilon, "epsilon"), refusals.count(rounds, "rounds")
    if delta == 0.0 and isinstance(learner.noise, GammaNoise):
        delta = None

    def spent(scale: float) -> float:
        return statement(private(learner, scale), rounds, delta, shape).epsilon

    # Basic composition is enough for Gamma noise, and a little more than Gaussian noise needs.
    scale = learner.lipschitz * rounds / epsilon
    if not isinstance(learner.noise, GammaNoise) or delta is not None:
        told = delta or getattr(learner.noise, "delta", None) or 1e-6
        scale = 2.0 * learner.lipschitz * math.sqrt(2.0 * rounds * (math.log(2.0 / told) + epsilon)) / epsilon
    return _least(spent, scale, epsilon)


def private(learner: Any, scale: float) -> Any:
    """The learner at a fixed scale, with its privacy asked for."""
    return replace(learner, tuning=Fixed(scale), guarantee="privacy")


def _least(spent: Callable[[float], float], scale: float, epsilon: float) -> float:
    """The least scale, nearly, with spent(scale) <= epsilon."""
    low, high = scale, scale
    at_low = at_high = spent(scale)
    while at_high > epsilon:
        low, at_low = high, at_high
        high *= 2.0
        at_high = spent(high)
        if at_high > epsilon and at_high > 0.999 * at_low:
            raise Withheld(
                f"epsilon must be above what the ridge alone spends, whatever the scale, {at_high:.6g}: give a larger "
                f"ridge, or leave it out; got {epsilon!r}"
            )
    while at_low <= epsilon:
        high, at_high = low, at_low
        low /= 1.5
        at_low = spent(low)
    if at_high == epsilon:
        return high
    from scipy.optimize import brentq

    def off(x: float) -> float:
        return math.log(max(spent(math.exp(x)), 1e-300) / epsilon)

    # A little wider: the ends go through a logarithm and back.
    root = brentq(off, math.log(low) - 1e-9, math.log(high) + 1e-9, rtol=1e-14)
    more = NEAR
    while spent(math.exp(root) * (1.0 + more)) > epsilon:
        more *= 4.0
    return float(math.exp(root) * (1.0 + more))


@dataclass(frozen=True)
class PrivacyCurve(Result):
    """What privacy costs: for each epsilon over all rounds the least scale, and the bound on the regret at it.

    `free` is the bound of the same noise tuned for the rounds with no privacy asked of it; None where none is proved.

    >>> import hannan as hn
    >>> learner = hn.Convex(hn.Ball(2), 1.0, tuning=hn.Fixed(2.0), smooth=0, guarantee="privacy")
    >>> curve = learner.privacy_curve(rounds=100)
    >>> len(curve.epsilons) == len(curve.bounds)
    True
    """

    learner: str
    rounds: int
    delta: float
    epsilons: tuple[float, ...]
    scales: tuple[float, ...]
    bounds: tuple[float | None, ...]
    free: float | None
    withheld: str = ""

    def shown(self) -> Shown:
        """A row an epsilon."""
        name = short(self.learner)
        rows = [] if name == self.learner else [("learner", self.learner)]
        rows.append(
            ("without privacy", "no bound" if self.free is None else f"expected regret <= {ceiling(self.free)}")
        )
        if self.withheld:
            rows.append(("bounds", f"withheld: {self.withheld}"))
        heads = ("epsilon", "scale", "bound on the regret", "bound a round")
        # A larger scale is within the budget too, so that it is rounded up as bounds are.
        scales, bounds = map(AtMost, self.scales), [None if bound is None else AtMost(bound) for bound in self.bounds]
        each = [None if bound is None else AtMost(bound / self.rounds) for bound in bounds]
        title = f"{name}: regret by epsilon, {self.rounds} moves in a row, delta = {chance(self.delta)}"
        return Shown(title, rows, heads, list(zip(self.epsilons, scales, bounds, each, strict=True)))

    def to_frame(self) -> Any:
        """A pandas (else polars) frame with columns epsilon, scale, bound."""
        from hannan.report.frames import frame_of

        return frame_of({"epsilon": self.epsilons, "scale": self.scales, "bound": self.bounds})

    def picture(self) -> Any:
        """The bound over epsilon, on logarithmic axes, with the bound without privacy dashed."""
        from hannan.report.pictures import Layer, Picture

        pairs = [(e, b) for e, b in zip(self.epsilons, self.bounds, strict=True) if b is not None]
        if not pairs:
            raise ValueError(f"a picture needs a bound, and there is none: {self.withheld}")
        layers = [Layer("line", tuple({"epsilon": e, "bound": b} for e, b in pairs), x="epsilon", y="bound")]
        if self.free is not None:
            free = tuple({"epsilon": e, "bound": self.free} for e in (pairs[0][0], pairs[-1][0]))
            layers.append(Layer("bound", free, x="epsilon", y="bound"))
        first, last = pairs[0], pairs[-1]
        alt = (
            f"The bound on the regret of {self.rounds} rounds falls from {ceiling(first[1])} at epsilon "
            f"{figure(first[0])} to {ceiling(last[1])} at {figure(last[0])}; dashed: without privacy."
        )
        title = "What privacy costs: the bound on the regret by epsilon"
        return Picture(title, "epsilon over all rounds", "bound on the regret", tuple(layers), alt, True, True)

    def plot(self) -> Any:
        """An Altair chart: the bound over epsilon, on logarithmic axes."""
        return self.picture().chart(460)


def curve(learner: Any, rounds: int, delta: float | None, epsilons: Sequence[float] | None) -> PrivacyCurve:
    """`Convex.privacy_curve`."""
    rounds = refusals.count(rounds, "rounds")
    asked = sorted(refusals.positive(x, "epsilon") for x in (USUAL if epsilons is None else epsilons))
    if not asked:
        raise ValueError("epsilons must have at least one number; got none")
    scales = [scale_for(learner, epsilon, delta, rounds, None) for epsilon in asked]
    withheld, bounds = "", []
    for scale in scales:
        bound, why = _bound(private(learner, scale), rounds)
        bounds.append(bound)
        withheld = withheld or why
    free = replace(learner, tuning=Horizon(rounds), guarantee="regret", accuracy=None, ridge=None)
    said = statement(private(learner, scales[0]), rounds, delta or None, None)
    return PrivacyCurve(
        repr(learner), rounds, said.delta, tuple(asked), tuple(scales), tuple(bounds), _bound(free, rounds)[0], withheld
    )


def _bound(learner: Any, rounds: int) -> tuple[float | None, str]:
    try:
        return learner.bound(rounds).value, ""
    except ValueError as reason:
        return None, str(reason)
