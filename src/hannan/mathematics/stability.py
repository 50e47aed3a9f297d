"""One-step differential stability: claims of potentials (def:OSDS, def:OSDSnorm).

Two numbers, never to be mixed. The *rate* is sup of -d log p_i along a loss in [0,1]^n; every regret bound
uses it. The *level* is the largest divergence between the plays before and after one whole loss; an audit
measures it. A level can be smaller than the rate.

For a law, one coordinate moving by c moves p_i by at most sup_y S(y)/S(y + c/scale), and e_i is the worst
loss of [0,1]^n, because the play ignores constants and other arms' losses help arm i. So the rate is
hazard/scale, and the level is read off the survival function.
"""

from __future__ import annotations

import math

from hannan.mathematics.smoothing import Smoothing
from hannan.saving import frozen
from hannan.saving.formatting import figure
from hannan.saving.result import Result, Shown


@frozen
class Stability(Result):
    """Claim on how much one loss can change a play, which `hannan.audit` measures.

    Attributes
    ----------
    level : float
        Largest divergence between the plays before and after one loss.
    rate : float
        Largest change of the same divergence per unit of loss, which bounds use; inf if there is none.
    gamma, delta : float
        Divergence D: D_inf,gamma or, if delta > 0, D_inf^delta.
    source : str
        Proof of the claim.
    exact : bool
        True if the level is the supremum itself; otherwise it is a proved upper bound.

    Notes
    -----
    D(p(L), p(L + l)) <= level for every L and every l in [0,1]^n: DiffStable of the paper.

    Examples
    --------
    >>> import hannan as hn
    >>> claim = hn.FTPL(hn.Exponential(), scale=2.0).stability(n=3)
    >>> claim.level, claim.rate, claim.exact
    (0.5, 0.5, True)
    """

    level: float
    rate: float
    gamma: float
    delta: float
    source: str
    exact: bool

    @property
    def divergence(self) -> str:
        """Name of the divergence."""
        return divergence_name(self.gamma, self.delta)

    def shown(self) -> Shown:
        """Level, rate, and their proof.

        Returns
        -------
        Shown
            Lines that `print` writes.
        """
        sense = "the supremum itself" if self.exact else "a proved upper bound"
        rows = [
            ("level", f"{figure(self.level)}, {sense}"),
            ("rate", figure(self.rate) if math.isfinite(self.rate) else "none exists"),
            ("divergence", self.divergence),
            ("source", self.source),
        ]
        return Shown(f"one-step stability: level {figure(self.level)}", rows)


def divergence_name(gamma: float, delta: float = 0.0) -> str:
    """Return the name of a divergence.

    >>> divergence_name(1.0), divergence_name(0.5), divergence_name(1.0, 1e-6)
    ('D_inf', 'D_inf,0.5', 'D_inf^1e-06')
    """
    return ("D_inf" if gamma == 1.0 else f"D_inf,{gamma:g}") + (f"^{delta:g}" if delta > 0.0 else "")


def stability(smoothing: Smoothing, scale: float, n: int, gamma: float, delta: float) -> Stability:
    """Return the stability of a smoothing at a scale; `Potential.stability` checks the arguments."""
    if n == 1:
        return Stability(0.0, 0.0, gamma, delta, "one arm: the play never moves", True)
    approximate = smoothing.approximate_level(n, scale, delta) if delta > 0.0 else None
    if approximate is not None:
        return Stability(approximate.value, math.inf, 1.0, delta, approximate.source, approximate.exact)
    own = smoothing.gamma
    if gamma > own:
        # A tail like z^-a gives p_i ~ d^-a, whose divergence stays bounded up to gamma = 1 + 1/a: not proved here.
        unbounded = smoothing.largest_gamma
        source = f"p_i -> 0 makes D_inf,gamma unbounded for gamma > {own:g}"
        source = source if unbounded else f"no level is proved in D_inf,gamma for gamma > {own:g}"
        return Stability(math.inf, math.inf, gamma, delta, source, unbounded)
    if gamma < own and gamma <= 1.0 and smoothing.rate_source:
        rate = smoothing.rate / scale
        return Stability(rate, rate, gamma, delta, smoothing.rate_source, False)
    level = smoothing.step_level(1.0 / scale)
    source = level.source if gamma == own else f"{level.source}; D_inf,gamma grows with gamma (lem:increasing)"
    exact = level.exact and gamma == own and delta == 0.0
    return Stability(level.value, smoothing.own_rate / scale, gamma, delta, source, exact)
