"""Exact audit of the one-step stability of Algorithm 1 (def:OSDS for thm:oco and cor:olo).

x_t minimizes G + <b, x> and x_{t+1} minimizes G + l + <b, x> with the same ridge. In the interior of the domain the
move has the density f(-grad G(x)) det Hess G(x), where f is the density of b (change of variables b = -grad G(x)); at
the ends of an interval it has atoms. Forward is D(x_t, x_{t+1}), the direction that a regret bound uses; backward is
D(x_{t+1}, x_t).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hannan.audits.finding import TOLERANCE, Finding
from hannan.mathematics.convex.losses import Loss
from hannan.mathematics.convex.noise import GammaNoise, GaussianNoise, Noise
from hannan.mathematics.divergences import max_divergence
from hannan.mathematics.stability import Stability
from hannan.validation import Array

if TYPE_CHECKING:
    from hannan.learners.convex.learner import Convex


def claim_of(learner: Convex) -> Stability:
    """Return the level that the learner claims: epsilon in D_inf, or in D_inf^delta for Gaussian noise."""
    scale, beta, noise = learner.schedule().scale(1, 0.0), learner.lipschitz, learner.noise
    if isinstance(noise, GaussianNoise):
        if noise.delta is None:
            raise ValueError("delta is required to audit Gaussian noise; pass GaussianNoise(delta)")
        level = noise.claimed_epsilon(beta, scale)
        if noise.calibration == "analytic":
            level = noise.epsilon_of(beta, scale, learner.shape, learner.domain.d)
        return Stability(level, math.inf, 1.0, noise.delta, f"thm:oco, {noise.calibration} covariance", False)
    return Stability(beta / scale, beta / scale, 1.0, 0.0, "thm:oco, corrected form: forward", True)


def audit_convex(
    learner: Convex, history: Loss, loss: Loss, *, backward: bool = False, points: int = 2000, seed: int = 0
) -> Finding:
    """Measure the one-step stability of a convex learner.

    Parameters
    ----------
    learner : Convex
        Learner to audit, at the scale of its first round.
    history : Loss
        Losses of the rounds before.
    loss : Loss
        Loss that is added.
    backward : bool, default False
        Measure D(x_{t+1}, x_t) instead of D(x_t, x_{t+1}).
    points : int, default 2000
        Number of points of the search, if a search is needed.
    seed : int, default 0
        Seed of the search.

    Returns
    -------
    Finding
        The measured level and the claim. The witness is the move at which the divergence was found.

    Raises
    ------
    ValueError
        If the learner does not admit the loss, if Gaussian noise has no `delta`, or if the noise is Gaussian, the
        losses are curved and the dimension is above 1.

    Notes
    -----
    The measurement is exact for linear losses and in one dimension. For Gamma noise and curved losses in higher
    dimensions it is the largest log density ratio found by a search of the interior.

    Examples
    --------
    >>> from hannan.mathematics.convex.domains import Box
    >>> from hannan.learners.convex.learner import Convex
    >>> from hannan.mathematics.convex.losses import Linear
    >>> from hannan.learners.tuning import Fixed
    >>> noise = GaussianNoise(1e-6, "paper")
    >>> learner = Convex(Box([0.0], [1.0]), 10.0, noise, Fixed(noise.sigma(1.0, lipschitz=10.0)), smooth=0)
    >>> finding = audit_convex(learner, Linear([140.49]), Linear([10.0]))
    >>> finding.verdict, round(finding.claim.level, 4), round(finding.measured, 4)
    ('exceeded', 1.0, 1.0528)
    """
    learner.admit(loss)
    step = Step.of(learner, history, loss)
    first, second = (step.after, step.before) if backward else (step.before, step.after)
    claim, witness = claim_of(learner), np.array(learner.domain.center)
    if learner.domain.d == 1:
        measured, witness = _on_interval(learner, first, second, claim.delta)
    elif history.shape == "linear" and loss.shape == "linear":
        size = float(np.linalg.norm(loss.z))
        noise = learner.noise
        measured = size / step.before.scale
        if isinstance(noise, GaussianNoise):
            measured = noise.epsilon_of(size, step.before.scale)
    elif claim.delta == 0.0:
        measured, witness = _in_the_interior(learner, first, second, points, seed)
    else:
        d = learner.domain.d
        raise ValueError(f"audit of Gaussian noise with curved losses works in one dimension only; got d = {d}")
    exceeded = measured > claim.level * (1.0 + TOLERANCE) + 1e-12
    return Finding(claim, measured, (witness, np.asarray(loss.z)), "exceeded" if exceeded else "holds")


@dataclass(frozen=True)
class Law:
    """Distribution of argmin_X G + <b, x>, from the gradient and Hessian of G and the density of b."""

    losses: tuple[Loss, ...]
    noise: Noise
    scale: float
    ridge: float
    center: Array

    def gradient(self, x: Array) -> Array:
        """Return grad G(x)."""
        g = self.ridge * (x - self.center)
        for loss in self.losses:
            g = g + np.atleast_2d(loss.gradient(x)).sum(axis=0)
        return np.asarray(g)

    def hessian(self, x: Array) -> Array:
        """Return Hess G(x)."""
        H = self.ridge * np.eye(len(x))
        for loss in self.losses:
            z = np.atleast_2d(loss.z)
            bent = np.atleast_1d(loss.bend(np.asarray(loss.z @ x)))
            H = H + (z * bent[:, None]).T @ z
        return np.asarray(H)

    def log_density(self, x: Array) -> float:
        """Return log f(-grad G(x)) + log det Hess G(x), up to a constant that both distributions share."""
        size = float(np.linalg.norm(self.gradient(x))) / self.scale
        tail = size if isinstance(self.noise, GammaNoise) else 0.5 * size * size
        return float(np.linalg.slogdet(self.hessian(x))[1]) - tail

    def below(self, x: float) -> float:
        """Return P(move <= x) in one dimension, which is P(b >= -G'(x))."""
        from scipy.special import ndtr

        y = float(self.gradient(np.array([x]))[0]) / self.scale
        if isinstance(self.noise, GammaNoise):
            return 1.0 - 0.5 * math.exp(-y) if y > 0.0 else 0.5 * math.exp(y)
        return float(ndtr(y))

    def above(self, x: float) -> float:
        """Return P(move >= x) in one dimension."""
        from scipy.special import ndtr

        y = float(self.gradient(np.array([x]))[0]) / self.scale
        if isinstance(self.noise, GammaNoise):
            return 0.5 * math.exp(-y) if y > 0.0 else 1.0 - 0.5 * math.exp(y)
        return float(ndtr(-y))


@dataclass(frozen=True)
class Step:
    """Distributions of two successive moves."""

    before: Law
    after: Law

    @classmethod
    def of(cls, learner: Convex, history: Loss, loss: Loss) -> Step:
        """Return the distributions after `history`, without and with `loss`, for the same noise, scale and ridge."""
        scale = learner.schedule().scale(1, 0.0)
        curved = sum(0 if part.shape == "linear" else np.atleast_2d(part.z).shape[0] for part in (history, loss))
        given: tuple[Any, ...] = (learner.noise, scale, learner.ridge_after(curved, scale), learner.domain.center)
        return cls(Law((history,), *given), Law((history, loss), *given))


def _on_interval(learner: Convex, first: Law, second: Law, delta: float) -> tuple[float, Array]:
    """Return (D_inf^delta, witness) of two distributions on an interval, by an atom at each end and a grid of cells.

    Merging outcomes into cells can only reduce the divergence.
    """
    (low,), (high,) = learner.domain.box
    flat = first.ridge == 0.0 and all(loss.shape == "linear" for loss in second.losses)
    grid = np.array([low, high]) if flat else np.linspace(low, high, 4001)
    p, q = _cells(first, grid), _cells(second, grid)
    value = float(max_divergence(p / p.sum(), q / q.sum(), delta))
    with np.errstate(divide="ignore", invalid="ignore"):
        worst = int(np.nanargmax(np.where(p > delta, np.log(p) - np.log(q), -np.inf)))
    return value, np.array([grid[min(worst, len(grid) - 1)]])


def _cells(law: Law, grid: Array) -> Array:
    """Return the probabilities of {low}, of the open cells, and of {high}, computed from the more accurate tail."""
    below, above = np.array([law.below(x) for x in grid]), np.array([law.above(x) for x in grid])
    inner = np.where(below[1:] < 0.5, below[1:] - below[:-1], above[:-1] - above[1:])
    cells = np.concatenate([[below[0]], np.maximum(inner, 0.0), [above[-1]]])
    return cells if len(grid) > 2 else cells[[0, 2]]


def _in_the_interior(learner: Convex, first: Law, second: Law, points: int, seed: int) -> tuple[float, Array]:
    """Return (sup_x log p(x)/q(x), witness), by random points of the interior and local steps from the best."""
    rng, domain = np.random.default_rng(seed), learner.domain
    low, high = domain.box

    def ratio(x: Array) -> float:
        return first.log_density(x) - second.log_density(x)

    best, witness = -math.inf, domain.center
    for _ in range(points):
        x = domain.project(domain.center + 0.999 * (rng.uniform(low, high) - domain.center))
        found = ratio(x)
        if found > best:
            best, witness = found, x
    size = 0.3
    for _ in range(points):
        x = domain.project(witness + size * (high - low) * rng.standard_normal(domain.d))
        found = ratio(x)
        if found > best:
            best, witness = found, x
        else:
            size = max(0.99 * size, 1e-4)
    return best, np.asarray(witness)
