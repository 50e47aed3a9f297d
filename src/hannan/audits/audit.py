"""Audit: try to exceed a claim of stability, and report the largest level found with its witness.

For a potential the play is exact, so each trial is exact: D(p(L), p(L + l)) for chosen L and l in [0,1]^n. The
search is structured (one arm moves against one or many rivals, near and far) and then local; it can show that
a claim is wrong, and how nearly a right one is attained.
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

#: The least probability that carries digits.
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
    """Measure how stable a play is, and hold it against the claim: exact for ours, by sampling for anybody else's.

    sup over L and l in [0,1]^n of D(p(L), p(L + l)), searched; against subject.stability(n, gamma, delta).

    `subject` may be a potential; a learner with a smoothing, audited at the scale of its first round, its least; a
    `Convex` learner (options `history` and `loss`, see `hannan.audits.convex`); or a stranger's learner or function,
    measured by sampling (options `level`, `samples`, ...: see `hannan.audits.sampling`).

    `n`: how many arms. `gamma` and `delta`: which divergence; left out, the smoothing's own. `seed`: of the search.
    Further `options` are for a `Convex` learner or a stranger's.

    >>> from hannan.mathematics.laws.light import Exponential
    >>> from hannan.mathematics.potentials import FTPL
    >>> finding = audit(FTPL(Exponential(), 2.0), 3)
    >>> finding.verdict, round(finding.measured, 9), finding.claim.level
    ('holds', 0.5, 0.5)
    """
    if isinstance(subject, Potential):
        if options:
            raise ValueError(f"audit of a potential takes n, gamma, delta and seed; got {', '.join(sorted(options))}")
        return _search(subject, n, gamma, delta, seed)
    if isinstance(subject, Convex):
        return audit_convex(subject, seed=seed, **options)
    if hasattr(subject, "smoothing") and hasattr(subject, "schedule"):
        phi = potential(subject.smoothing, subject.schedule().scale(1, 0.0))
        arms = getattr(subject, "experts", None) or subject.n
        return _search(phi, arms if n is None else n, gamma, delta, seed)
    if n is None:
        raise ValueError("audit of a learner by sampling needs the number of arms; got n=None")
    if gamma not in (None, 1.0):
        raise ValueError(f"audit by sampling measures D_inf^delta; got gamma={gamma!r}")
    return audit_by_sampling(subject, n, delta=0.0 if delta is None else delta, seed=seed, **options)


def _search(phi: Potential, n: int | None, gamma: float | None, delta: float | None, seed: int) -> Finding:
    """The exact audit of a potential."""
    if n is None:
        raise ValueError("audit of a potential needs the number of arms; got n=None")
    n = validation.count(n, "n")
    claim = phi.stability(n, gamma, delta)
    relative, absolute = phi.accuracy
    play = phi.many_gradients()

    def divergence(L: Array, loss: Array) -> float:
        # A lower bound: what is computed as 0 is only known to be below LEAST.
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
    """Structured losses: arm 0 moves by one, behind or ahead of its rivals by gaps of every size."""
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
    """Random local steps in L and in the loss, shrinking when they fail."""
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
