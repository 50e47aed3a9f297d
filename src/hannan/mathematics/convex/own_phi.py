"""What is checked of a phi of your own before it is played, and what rests on your word.

phi is convex with derivative phi' exactly where

    phi'(u) <= (phi(v) - phi(u))/(v - u) <= phi'(v)    for all u < v,

so this is tried between neighbours of a grid over the margins that the domain allows. It needs no
smoothness. A phi that bends back between two points of the grid is not seen: that it does not is on your word.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hannan.mathematics.bounds import Bound
from hannan.mathematics.convex.domain import Domain
from hannan.mathematics.convex.loss import Loss, RankOne
from hannan.refusals import Array

POINTS = 513
ON_YOUR_WORD = f"phi is convex and phi' its derivative between the {POINTS} margins that were tried: on your word"


def on_your_word(bound: Bound, own: bool) -> Bound:
    """A bound with the condition that losses of the user's `own` bring."""
    return replace(bound, condition=ON_YOUR_WORD) if own else bound


#: What the slopes may be out of order, as a share of the largest: rounding, not licence.
SLACK = 1e-9


def refuse_unlike(loss: Loss, domain: Domain) -> None:
    """Refuse a phi that is not convex on the domain's margins, or a derivative that is not its own.

    >>> from hannan.mathematics.convex.domains import Ball
    >>> refuse_unlike(RankOne([1.0], lambda u: -(u**2), lambda u: -2.0 * u), Ball(1))
    Traceback (most recent call last):
    ValueError: phi must be convex: phi' must not fall; got phi'(-1) = 2 and phi'(-0.996094) = 1.99219
    """
    if not isinstance(loss, RankOne):
        return
    low, high = loss.margins(domain)
    first, last = float(np.min(low)), float(np.max(high))
    if not first < last:
        return
    u = np.linspace(first, last, POINTS)
    phi, slope = _values(loss.phi(u), "phi", u), _values(loss.slope(u), "phi'", u)
    gap = np.diff(u)
    rounding = 64 * np.finfo(float).eps * (np.abs(phi).max() / gap.min() + np.abs(slope).max())
    slack = SLACK * np.abs(slope).max() + rounding
    falls = slope[:-1] - slope[1:]
    if (falls > slack).any():
        before, after = _slopes(u, slope, int(np.argmax(falls > slack)))
        raise ValueError(f"phi must be convex: phi' must not fall; got {before} and {after}")
    chord = np.diff(phi) / gap
    off = np.maximum(slope[:-1] - chord, chord - slope[1:])
    if (off > slack).any():
        k = int(np.argmax(off > slack))
        before, after = _slopes(u, slope, k)
        raise ValueError(
            "derivative must be phi': the slope of phi's chord between two margins must lie between the derivatives "
            f"at its ends; got {chord[k]:g}, {before} and {after}"
        )
    if loss.curvature is not None and (-falls > loss.curvature * gap * (1.0 + SLACK) + rounding).any():
        found = float(np.max(-falls / gap))
        raise ValueError(f"phi'' must be at most curvature = {loss.curvature:g}; got {found:g} by differences of phi'")


def _values(values: Array, name: str, u: Array) -> Array:
    if values.shape != u.shape:
        raise ValueError(f"{name} must take an array of margins to one of its shape, {u.shape}; got {values.shape}")
    if not np.isfinite(values).all():
        k = int(np.argmin(np.isfinite(values)))
        raise ValueError(f"{name} must be finite on the domain; got {values[k]} at margin {u[k]:g}")
    return values


def _slopes(u: Array, slope: Array, k: int) -> tuple[str, str]:
    """phi' at two neighbours, in words."""
    before, after = (f"phi'({u[i]:g}) = {slope[i]:g}" for i in (k, k + 1))
    return before, after


def steepest_at(loss: Loss, x: Array) -> float:
    """||grad l(x)|| of a phi of your own; 0 for a loss of the package, whose slope is known everywhere."""
    return float(np.linalg.norm(loss.gradient(x))) if isinstance(loss, RankOne) else 0.0


def refuse_at(loss: Loss, x: Array, lipschitz: float | None, loss_bound: float | None) -> None:
    """Refuse a phi of your own that is too steep or out of range where it is played: the door tries a grid only."""
    if not isinstance(loss, RankOne):
        return
    steepest, value = steepest_at(loss, x), float(loss.value(x))
    if lipschitz is not None and steepest > lipschitz * (1.0 + SLACK):
        raise ValueError(
            f"gradients of the losses must be at most lipschitz = {lipschitz:g}; got {steepest:g} at a move"
        )
    if loss_bound is not None and not -SLACK * loss_bound <= value <= loss_bound * (1.0 + SLACK):
        raise ValueError(f"the loss of a move must be in [0, loss_bound = {loss_bound:g}]; got {value:g} at a move")
