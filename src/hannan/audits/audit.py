"""Exact audits: search for a one-step divergence above the claimed level.

The distribution of a potential is known, so that each trial is exact: D(p(L), p(L + l)) for chosen L and l in [0, 1]^n.
The search first tries structured losses (one arm changes relative to one or many others, near and far), and then takes
random local steps. It can disprove a claim, and it shows how closely a correct claim is attained.

For Algorithm 1 (def:OSDS for thm:oco and cor:olo), x_t minimizes G + <b, x> and x_{t+1} minimizes G + l + <b, x> with
the same ridge. In the interior of the domain the move has the density f(-grad G(x)) det Hess G(x), where f is the
density of b (change of variables b = -grad G(x)); at the ends of an interval it has atoms. Forward is D(x_t, x_{t+1}),
the direction that a regret bound uses; backward is D(x_{t+1}, x_t).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from hannan import validation
from hannan.audits.sampling import SampledFinding, audit_by_sampling, listed
from hannan.learners.convex.learner import Convex
from hannan.learners.learner import Learner
from hannan.mathematics.convex.losses import Loss
from hannan.mathematics.convex.noise import GammaNoise, GaussianNoise, Noise
from hannan.mathematics.divergences import max_divergence, max_supremum, tsallis_supremum
from hannan.mathematics.potentials import Potential, potential
from hannan.mathematics.smoothing import Stability
from hannan.saving.formatting import figure
from hannan.saving.result import Result, Shown
from hannan.validation import Array

if TYPE_CHECKING:
    from hannan.learners.convex.learner import Convex


#: Relative tolerance for rounding errors of the claim.
TOLERANCE = 1e-12


@dataclass(frozen=True)
class Finding(Result):
    """Result of an exact audit: the measured stability level compared with the claimed one.

    Attributes
    ----------
    claim : Stability
        The claim that was audited.
    measured : float
        Largest one-step divergence found. Rounding errors are subtracted, so that they cannot disprove a claim.
    witness : tuple of (numpy.ndarray, numpy.ndarray)
        Cumulative losses L and next loss at which the divergence was found. For a convex learner, the move and the
        parameters of the loss.
    verdict : {"holds", "exceeded"}
        "holds" if no larger divergence than claimed was found, "exceeded" if the witness disproves the claim.

    Examples
    --------
    >>> import hannan as hn
    >>> finding = hn.audit(hn.FTPL(hn.Exponential(), 2.0), n=3)
    >>> finding.verdict, finding.broken, finding.claim.level
    ('holds', False, 0.5)
    """

    claim: Stability
    measured: float
    witness: tuple[Array, Array]
    verdict: Literal["holds", "exceeded"]

    @property
    def broken(self) -> bool:
        """True if the claim is disproved."""
        return self.verdict == "exceeded"

    def shown(self) -> Shown:
        """Return the verdict, the measured and the claimed level, and the witness.

        Returns
        -------
        Shown
            Lines that `print` writes.
        """
        before, loss = self.witness
        rows = [
            ("measured", f"{figure(self.measured)} in {self.claim.divergence}"),
            ("claimed", f"at most {figure(self.claim.level)}  ({self.claim.source})"),
            ("witness", f"L = {listed(before)}, loss {listed(loss)}"),
        ]
        return Shown(self.headline, rows)

    @property
    def headline(self) -> str:
        """Verdict as one sentence, which also reports an infinite claim."""
        if self.broken:
            return "exceeded: the witness disproves the claim"
        if self.claim.level == float("inf"):
            return "holds: the claim is inf, so whatever is measured is within it"
        return "holds: nothing above the claim was found"


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


#: Smallest probability that is represented accurately.
LEAST = 1e-300


@overload
def audit(
    subject: Potential | Learner | Convex,
    n: int | None = None,
    *,
    gamma: float | None = None,
    delta: float | None = None,
    seed: int = 0,
    **options: Any,
) -> Finding: ...
@overload
def audit(
    subject: Any, n: int, *, delta: float | None = None, seed: int = 0, **options: Any
) -> Finding | SampledFinding: ...
def audit(
    subject: Any,
    n: int | None = None,
    *,
    gamma: float | None = None,
    delta: float | None = None,
    seed: int = 0,
    **options: Any,
) -> Any:
    """Measure the one-step stability of a learner, and compare it with the claimed level.

    Parameters
    ----------
    subject : Potential, learner or callable
        A potential; a learner with a smoothing, which is audited at the scale of its first round (the smallest); a
        `Convex` learner; or any other learner or function, which is audited by sampling.
    n : int, optional
        Number of arms. Required for potentials and for sampling.
    gamma : float, optional
        Order of the divergence D_inf,gamma. Default: the order of the smoothing.
    delta : float, optional
        Slack of the divergence D_inf^delta. Default: that of the smoothing, or 0 for sampling.
    seed : int, default 0
        Seed of the search.
    **options
        For a `Convex` learner: `history` (losses before), `loss` (the loss that is added), `backward` and `points`. For
        sampling: `level` (claimed level), `samples`, `confidence` and `rounds`.

    Returns
    -------
    Finding or SampledFinding
        The measured level, the witness and the verdict. A `SampledFinding` if the audit is by sampling.

    Raises
    ------
    ValueError
        If `n` is missing, or an option does not apply to the subject.

    Notes
    -----
    The exact audit searches for the supremum of D(p(L), p(L + l)) over cumulative losses L and losses l in [0, 1]^n,
    and compares it with `subject.stability(n, gamma, delta)`. The sampling audit proves a lower bound on the level at a
    stated confidence, and cannot confirm a claim.

    Examples
    --------
    >>> from hannan.mathematics.laws.light import Exponential
    >>> from hannan.mathematics.potentials import FTPL
    >>> finding = audit(FTPL(Exponential(), 2.0), 3)
    >>> finding.verdict, round(finding.measured, 9), finding.claim.level
    ('holds', 0.5, 0.5)
    """
    if isinstance(subject, Potential):
        if options:
            raise ValueError(
                f"audit of a potential takes only n, gamma, delta and seed; got {', '.join(sorted(options))}"
            )
        return _search(subject, n, gamma, delta, seed)
    if isinstance(subject, Convex):
        return audit_convex(subject, seed=seed, **options)
    if hasattr(subject, "smoothing") and hasattr(subject, "schedule"):
        phi = potential(subject.smoothing, subject.schedule().scale(1, 0.0))
        arms = getattr(subject, "experts", None) or subject.n
        return _search(phi, arms if n is None else n, gamma, delta, seed)
    if n is None:
        raise ValueError("n, the number of arms, is required to audit a learner by sampling; got None")
    if gamma not in (None, 1.0):
        raise ValueError(f"gamma must be 1 for an audit by sampling, which measures D_inf^delta; got {gamma!r}")
    return audit_by_sampling(subject, n, delta=0.0 if delta is None else delta, seed=seed, **options)


def _search(phi: Potential, n: int | None, gamma: float | None, delta: float | None, seed: int) -> Finding:
    """Return the finding of the exact audit of a potential."""
    if n is None:
        raise ValueError("n, the number of arms, is required to audit a potential; got None")
    n = validation.count(n, "n")
    claim = phi.stability(n, gamma, delta)
    relative, absolute = phi.accuracy
    play = phi.many_gradients()

    def divergence(L: Array, loss: Array) -> float:
        # Lower bound on the divergence: a computed 0 is only known to be below LEAST.
        before = np.maximum(play(L) * (1.0 - relative) - absolute, 0.0)
        after = np.maximum(play(L + loss), LEAST) * (1.0 + relative) + absolute
        if claim.delta > 0.0:
            return float(max_supremum(before, after, claim.delta))
        return float(tsallis_supremum(before, after, claim.gamma))

    best, witness = 0.0, (np.zeros(n), np.zeros(n))
    for L, loss in _trials(n, phi.scale, np.random.default_rng(seed)):
        found = divergence(L, loss)
        if found > best:
            best, witness = found, (L, loss)
    best, witness = _climb(divergence, best, witness, phi.scale, np.random.default_rng([seed, 1]))
    exceeded = best > claim.level * (1.0 + TOLERANCE)
    return Finding(claim, best, witness, "exceeded" if exceeded else "holds")


def _trials(n: int, scale: float, rng: np.random.Generator) -> Iterator[tuple[Array, Array]]:
    """Yield pairs (L, loss): arm 0 loses 1, behind or ahead of the other arms by gaps of many sizes."""
    unit = np.zeros(n)
    unit[0] = 1.0
    far = 1e3 * scale
    for gap in scale * np.concatenate([[0.0], np.geomspace(1e-3, 300.0, 40)]):
        for sign in (1.0, -1.0):
            together = np.zeros(n)
            together[0] = sign * gap
            yield together, unit
            if n > 2:
                rival = np.full(n, far)
                rival[:2] = (sign * gap, 0.0) if sign > 0 else (0.0, gap)
                yield rival, unit
    for _ in range(40):
        L = scale * rng.exponential(size=n) * 10.0 ** rng.uniform(-2.0, 2.0)
        yield L, unit
        yield L, rng.integers(0, 2, n).astype(np.float64)
        yield L, rng.random(n)


def _climb(
    divergence: Any, best: float, witness: tuple[Array, Array], scale: float, rng: np.random.Generator
) -> tuple[float, tuple[Array, Array]]:
    """Return the best value and witness after random local steps in L and the loss, which shrink on failure."""
    size = 1.0
    for _ in range(150):
        L = witness[0] + scale * size * rng.standard_normal(witness[0].size) * (rng.random(witness[0].size) < 0.5)
        loss = np.clip(witness[1] + size * rng.standard_normal(witness[1].size), 0.0, 1.0)
        for trial in ((L, witness[1]), (L, loss)):
            found = divergence(*trial)
            if math.isfinite(found) and found > best:
                best, witness = found, (L - L.min(), trial[1])
                break
        else:
            size = max(0.97 * size, 1e-3)
    return best, witness
