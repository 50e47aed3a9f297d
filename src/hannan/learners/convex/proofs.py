"""The bounds of a convex learner: which theorem covers its noise and tuning, and the conditions of each."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hannan import refusals
from hannan.learners.convex import bounds as forms
from hannan.learners.tuning import Schedule
from hannan.mathematics import bounds
from hannan.mathematics.bounds import Bound, Terms, Withheld
from hannan.mathematics.convex.noise import GammaNoise, GaussianNoise, Shape
from hannan.saving.words import figure

#: The terms, the theorem, and the best loss that the terms suppose; None if they hold for every best loss.
Proof = tuple[Terms, str, float | None]

_THEOREM, _COROLLARY = "thm:oco, corrected form", "cor:olo, corrected form"


def bounded(
    learner: Any, rounds: int | None, best_loss: float | None, bias: float, shape: Shape, printed: bool
) -> Bound:
    """The bound for losses of a shape, with the cost `bias` of ridge and solver in it; or `Withheld`."""
    rounds = None if rounds is None else refusals.count(rounds, "rounds", least=0)
    best = None if best_loss is None else refusals.between(best_loss, 0.0, math.inf, "best_loss", "[)")
    last = learner.tuning.last_round
    if last is not None:
        if rounds is not None and rounds > last:
            raise Withheld(f"{learner.tuning!r} was tuned for its rounds and {rounds} are played: no bound past them")
        rounds = last if rounds is None else rounds
    if learner.domain.radius == 0.0 or rounds == 0:
        return bounds.nothing("one point, or no round, has no regret")
    if isinstance(learner.noise, GaussianNoise):
        terms, source, told = _gaussian_terms(learner, learner.noise, rounds, best, shape, bias)
    else:
        terms, source, told = _gamma_terms(learner, rounds, best, shape, bias)
    value = bounds.rounded_up(math.fsum(terms.values()))
    most, name = _most(learner)
    if rounds is not None and value >= rounds * most:
        value, source = rounds * most, f"no regret exceeds the rounds times the {name}"
        terms, told = {f"rounds x {name}": value}, None
    schedule = learner.schedule()
    text = str(schedule) if schedule.d == 0.0 else f"scale_t = {figure(schedule.c)} sqrt({schedule.a:g} + own loss)"
    beside = _as_printed(learner, rounds, best) if printed else None
    scale = schedule.scale(1, 0.0) if schedule.is_constant else None
    bound = Bound(
        value, terms, source, scale, text, beside, sense="draws" if learner.fresh else "kept",
        against="any" if learner.fresh else "oblivious",
    )  # fmt: skip
    return bound if told is None or _trivially(learner, rounds, told) else bound.supposing(told)


def _trivially(learner: Any, rounds: int | None, best: float) -> bool:
    """Return whether no best loss of these rounds can be larger."""
    return rounds is not None and learner.loss_bound is not None and best >= rounds * learner.loss_bound


def _most(learner: Any) -> tuple[float, str]:
    """The most that a round can cost beside another point of the set, which lies in a ball."""
    across = 2.0 * learner.lipschitz * learner.domain.radius, "lipschitz x diameter"
    return across if learner.loss_bound is None else min(across, (learner.loss_bound, "loss bound"))


def _best(learner: Any, rounds: int | None, best: float | None) -> float:
    """L*, or what stands for it; past the best loss that a tuning counts on there is no bound."""
    told = learner.tuning.told_best
    if told is not None:
        if best is not None and best > told * (1.0 + 1e-12):
            raise Withheld(f"{learner.tuning!r} holds up to its best loss; got {best!r}, above it: no bound")
        best = told if best is None else best
    if best is None and rounds is not None:
        best = _need(learner) * rounds
    if best is None:
        raise ValueError("best_loss or rounds must be given: the bound grows with the best loss")
    return best


def _need(learner: Any) -> float:
    if learner.loss_bound is None:
        raise Withheld("loss_bound is not stated, so no losses in [0, loss_bound] are promised: no such bound")
    return float(learner.loss_bound)


def _gamma_terms(learner: Any, rounds: int | None, best: float | None, shape: Shape, bias: float) -> Proof:
    tuning, schedule = learner.tuning, learner.schedule()
    assert isinstance(learner.noise, GammaNoise)
    source = f"{_THEOREM}: {type(tuning).__name__}, Gamma noise"
    if tuning.order == "first" and not schedule.is_constant:
        B, best = _need(learner), _best(learner, rounds, best)
        return _plus(forms.self_confident(learner.c, B, best + bias), bias), source, best
    proofs = _zero_order(learner, rounds, shape, bias, "Gamma")
    if schedule.is_constant and (learner.loss_bound is not None or not proofs):
        B, scale = _need(learner), schedule.scale(1, 0.0)
        kept = bounds.kept_experts(learner.lipschitz / scale)
        if tuning.told_best is not None and learner.noise.calibration != "paper":
            _ = _best(learner, rounds, best)
            supposed = tuning.told_best
            first = _plus(bounds.experts_best_loss(learner.c, supposed), bias / kept)
        else:
            supposed = _best(learner, rounds, best)
            first = bounds.first_order(scale * learner.range_constant, kept, supposed, bias)
        proofs.append((first, source, supposed))
    return _least(learner, proofs)


def _gaussian_terms(
    learner: Any, noise: GaussianNoise, rounds: int | None, best: float | None, shape: Shape, bias: float
) -> Proof:
    if noise.calibration == "paper":
        raise Withheld("the printed covariance carries no claim: its level is above the one printed")
    if rounds is None:
        raise ValueError("rounds must be given: Gaussian noise costs delta each")
    schedule, d = learner.schedule(), learner.domain.d
    proofs = _zero_order(learner, rounds, shape, bias, "Gaussian")
    if not proofs and not schedule.is_constant:
        raise Withheld("Gaussian noise with a changing scale has a bound for linear losses only: say smooth=0")
    if schedule.is_constant and (learner.loss_bound is not None or not proofs):
        scale, stake = schedule.scale(1, 0.0), _need(learner) * rounds
        supposed = _best(learner, rounds, best)
        terms, epsilon = forms.gaussian(
            noise, shape, d, learner.lipschitz, scale, scale * learner.range_constant + bias, supposed, stake,
        )  # fmt: skip
        source = f"{_THEOREM}: Gaussian noise, {shape} losses, epsilon = {figure(epsilon)}"
        proofs.append((terms, source, supposed))
    return _least(learner, proofs)


def _zero_order(learner: Any, rounds: int | None, shape: Shape, bias: float, noise: str) -> list[Proof]:
    """scale G + v T/(2 scale), or its form for a growing scale, for each v that is proved."""
    schedule: Schedule = learner.schedule()
    if rounds is None:
        if not schedule.is_constant:
            raise ValueError("rounds must be given: the bound grows with them")
        return []
    proofs: list[Proof] = []
    for name, variance in learner.variances(shape).items():
        terms = bounds.root(learner.range_constant, variance, *schedule[:3], rounds)
        label = _COROLLARY if shape == "linear" else _THEOREM
        proofs.append((_plus(terms, bias), f"{label}: zero order, {name}, {noise} noise", None))
    return proofs


def _least(learner: Any, proofs: list[Proof]) -> Proof:
    if not proofs:
        _need(learner)
    return min(proofs, key=lambda proof: sum(proof[0].values()))


def _as_printed(learner: Any, rounds: int | None, best: float | None) -> Bound:
    """eq:oco1 at the epsilon in (0, 1] that is best for it."""
    best, d, beta = _best(learner, rounds, best), learner.domain.d, learner.lipschitz
    reach = learner.domain.radius + float(np.linalg.norm(learner.domain.center))
    gaussian = isinstance(learner.noise, GaussianNoise)
    stake = _need(learner) * (rounds or 0) if gaussian else 0.0

    def terms(epsilon: float) -> Terms:
        norm = 2.0 * d * beta / epsilon
        if gaussian:
            norm = math.sqrt(d * (beta**2 * math.log(2.0 * stake) + 4.0 * epsilon)) / epsilon
        return forms.printed(norm, reach, learner.smooth or 0.0, best, 1.0 if gaussian else 0.0, epsilon)

    if gaussian and stake <= 1.0:
        raise Withheld(f"delta = 1/(B T) must be below 1; got B T = {stake!r}")
    chosen = terms(forms.least(lambda epsilon: sum(terms(epsilon).values()), 1e-9, 1.0))
    return Bound(sum(chosen.values()), chosen, "thm:oco as printed (eq:oco1)", proof="published")


def _plus(terms: Terms, bias: float) -> Terms:
    return {**terms, "ridge and solver": bias} if bias > 0.0 else terms
