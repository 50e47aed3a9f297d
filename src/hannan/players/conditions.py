"""Conditions that play itself can refute: a bound is withheld where what was seen contradicts what it supposes."""

from __future__ import annotations

from typing import Any

from hannan.mathematics.bounds import Bound
from hannan.saving.words import ceiling

#: How often a test of `BestLoss` may withhold a bound whose hypothesis is true.
ERROR_RATE = 0.05
#: Levels and regrets are sums of floats; beyond so much, relative and absolute, it is no rounding.
ROUNDING = 1e-6


def at_observed(learner: Any, bound: Bound, best: float | None) -> Bound:
    """Return a bound at an observed best loss: the condition remains only if the tuning supposes a best loss."""
    described = getattr(learner, "learner", learner)  # a game's bound may be asked of a learner and what was observed
    told = getattr(getattr(described, "tuning", None), "told_best", None)
    return bound if best is None or told is not None else bound.observed()


def contradicted(
    bound: Bound, regret: float | None, level: float, claimed: float | None, rounds: int, width: float
) -> str:
    """What the play shows to be false: a level above its claim, or a regret above a bound of every sequence."""
    if bound.sense == "run":
        return ""
    if claimed is not None and level > claimed * (1.0 + ROUNDING) + ROUNDING:
        return (
            f"the play contradicts the claim: a step had a level of {level:.6g}, and at most {claimed:.6g} is claimed, "
            "so what the smoothing states of itself (its hazard) is false"
        )
    pathwise = bound.against == "any" and bound.sense == "mean"
    if regret is not None and pathwise and regret > bound.value * (1.0 + ROUNDING) + 1e-15 * rounds * width:
        return (
            f"the play contradicts the bound: the regret is {regret:.6g}, above {ceiling(bound.value, 6)}, which holds "
            "on every sequence of losses if the smoothing is what it states of itself"
        )
    return ""


def untenable(bound: Bound, own: float, supposed: float, width: float) -> str:
    """Whether a bandit's own loss refutes L* <= Lt: E own <= Lt + bound, so P(own > (Lt + bound)/e) <= e (Markov).

    Own loss, in losses of [0, 1], never falls: the test errs with probability at most e at all times together.
    """
    most = (supposed + bound.value / width) / ERROR_RATE
    if bound.at_most is None or own <= most:
        return ""
    return (
        f"the own loss, {own:.6g} in losses of [0, 1], is above {most:.6g}, which has probability at most {ERROR_RATE} "
        f"under the condition of the bound: {bound.condition}"
    )
