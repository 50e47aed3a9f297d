"""Audit of a stability claim: search for a one-step divergence above the claimed level.

The distribution of a potential is known, so that each trial is exact: D(p(L), p(L + l)) for chosen L and l in [0, 1]^n.
The search first tries structured losses (one arm changes relative to one or many others, near and far), and then takes
random local steps. It can disprove a claim, and it shows how closely a correct claim is attained.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, overload

import numpy as np

from hannan import validation
from hannan.audits.convex import audit_convex
from hannan.audits.finding import TOLERANCE, Finding
from hannan.audits.sampling import SampledFinding, audit_by_sampling
from hannan.learners.convex.learner import Convex
from hannan.learners.learner import Learner
from hannan.mathematics.divergences import max_supremum, tsallis_supremum
from hannan.mathematics.potentials import Potential, potential
from hannan.validation import Array

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
