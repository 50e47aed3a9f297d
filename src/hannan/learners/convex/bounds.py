"""Bounds of online convex and linear optimization (thm:oco, cor:olo), in corrected form.

The losses are convex, beta-Lipschitz and in [0, B] on a set X. The range of the noise is C = scale * G, with
G = E||standard draw|| * (mean width of X)/2 <= E||standard draw|| * radius. If the level of adding s times a loss is
epsilon s, then E l(x_{t+1}) is on average over the step at least (1 - e^-epsilon)/epsilon times E l(x_t), so that

    R <= (epsilon/(1 - e^-epsilon)) (L* + C) - L*                       (lemma:regret_lstar, corrected form)

plus delta B T for Gaussian noise. The printed theorem lacks the additive terms: for L* = 0 they are needed.
Worst-case bounds use D_t <= v/(2 scale): R <= scale G + v T/(2 scale), and R <= (f G + v/f) sqrt(T) for every T if
scale_t = f sqrt(t).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from hannan import validation
from hannan.learners.tuning import Schedule
from hannan.mathematics import bounds
from hannan.mathematics.bounds import Bound, Terms, Withheld, first_order, kept_experts
from hannan.mathematics.convex.noise import GammaNoise, GaussianNoise, Noise, Shape
from hannan.mathematics.regularizers import least_between
from hannan.saving.formatting import figure


def self_confident(c: float, loss_bound: float, best_loss: float) -> Terms:
    """Return the terms of R <= 2c' + 2 sqrt(c'^2 + c'(L* + B)), for epsilon_t = sqrt(c'/(B + learner's loss))."""
    return {"2 c'": 2.0 * c, "2 sqrt(c'^2 + c'(L*+B))": 2.0 * math.sqrt(c * (c + best_loss + loss_bound))}


def gaussian(
    noise: GaussianNoise,
    shape: Shape,
    d: int,
    *,
    lipschitz: float,
    sigma: float,
    range_cost: float,
    best_loss: float,
    stake: float,
) -> tuple[Terms, float]:
    """Return terms and epsilon of R <= (epsilon/(1 - e^-epsilon))(L* + C) - L* + delta(epsilon) B T; stake = B T.

    delta(epsilon) follows from sigma, for every calibration, so the bound holds for every epsilon; the terms are those
    of the epsilon with the smallest bound.
    """

    def terms(epsilon: float) -> Terms:
        found = first_order(range_cost, kept_experts(epsilon), best_loss)
        return {**found, "delta B T": noise.delta_of(epsilon, lipschitz, sigma, shape, d) * stake}

    epsilon = least(lambda epsilon: sum(terms(epsilon).values()), 1e-6, 50.0)
    return terms(epsilon), epsilon


def gaussian_tuning(
    noise: GaussianNoise,
    shape: Shape,
    d: int,
    *,
    lipschitz: float,
    range_constant: float,
    best_loss: float,
    stake: float,
) -> tuple[float, float]:
    """Return (sigma, epsilon) with the smallest bound for a best loss; delta is the noise's, or 1/(B T)."""
    if noise.delta is None:
        if stake <= 1.0:
            raise ValueError(f"loss_bound * rounds must be > 1, because delta = 1/(loss_bound * rounds); got {stake!r}")
        noise = GaussianNoise(1.0 / stake, noise.calibration)

    def bound(epsilon: float) -> float:
        cost = range_constant * noise.sigma(epsilon, lipschitz, shape, d)
        return sum(first_order(cost, kept_experts(epsilon), best_loss).values())

    epsilon = least(bound, 1e-5, 50.0)
    return noise.sigma(epsilon, lipschitz, shape, d), epsilon


def variances(
    noise: Noise, shape: Shape, d: int, *, radius: float, ball: bool, lipschitz: float, loss_bound: float | None
) -> dict[str, float]:
    """Return the proved variance constants v by name: D_t <= v/(2 scale) at every scale.

        losses in [0, B]            Gamma noise, beta B: the level is epsilon = beta/scale, and D_t <= epsilon B/2
        linear, in [0, B]           Gamma noise, beta B/2: the level is two-sided, and D_t <= epsilon B/4
        linear, any sign            2 r beta^2 m/sqrt(2 pi): curvature r sqrt(2/pi)/sigma of the potential
        linear, any sign, a ball    r beta^2 m E chi_d/d: curvature r E chi_d/(d sigma), without the dimension

    m = 1 for Gaussian noise. Gamma noise is Gaussian noise with a random sigma, and the mean of scale/sigma is
    m = 1/E chi_d.
    """
    gamma, chi = isinstance(noise, GammaNoise), GaussianNoise().mean_norm(d)
    m = 1.0 / chi if gamma else 1.0
    found = {}
    if shape == "linear":
        found["linear losses"] = 2.0 * radius * lipschitz**2 * m / math.sqrt(2.0 * math.pi)
        if ball:
            found["linear losses on a ball"] = radius * lipschitz**2 * m * chi / d
    if gamma and loss_bound is not None:
        found["losses in [0, B]"] = lipschitz * loss_bound * (0.5 if shape == "linear" else 1.0)
    return found


def printed(norm: float, diameter: float, smooth: float, best_loss: float, failure: float, epsilon: float) -> Terms:
    """Return 2 epsilon L* + 3 gamma D^2/epsilon + 6 D E||b|| + delta B T (eq:oco1), for epsilon <= 1.

    `norm` is E||b||, and `failure` is delta B T. This printed form is shown for comparison; no guarantee relies on it.
    """
    if epsilon > 1.0:
        raise Withheld(f"the printed bound requires epsilon <= 1; got {epsilon!r}")
    terms = {"2 eps L*": 2.0 * epsilon * best_loss, "6 D E||b||": 6.0 * diameter * norm}
    if smooth > 0.0:
        terms["3 gamma D^2/eps"] = 3.0 * smooth * diameter**2 / epsilon
    if failure > 0.0:
        terms["delta B T"] = failure
    return terms


def least(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the minimizer of a function of one positive number, by a logarithmic grid and golden sections."""
    grid = np.geomspace(low, high, 60)
    best = int(np.argmin([function(float(x)) for x in grid]))
    left, right = (math.log(grid[max(best - 1, 0)]), math.log(grid[min(best + 1, len(grid) - 1)]))
    return math.exp(least_between(lambda x: function(math.exp(x)), left, right, 40))


#: Terms, theorem, and the best loss that the terms assume; None if they hold for every best loss.
Proof = tuple[Terms, str, float | None]

_THEOREM, _COROLLARY = "thm:oco, corrected form", "cor:olo, corrected form"


def bounded(
    learner: Any, rounds: int | None, best_loss: float | None, bias: float, shape: Shape, printed: bool
) -> Bound:
    """Return the bound for a class of losses, including the cost `bias` of ridge and solver; raise Withheld if none."""
    rounds = None if rounds is None else validation.count(rounds, "rounds", least=0)
    best = None if best_loss is None else validation.between(best_loss, 0.0, math.inf, "best_loss", "[)")
    last = learner.tuning.last_round
    if last is not None:
        if rounds is not None and rounds > last:
            raise Withheld(f"{learner.tuning!r} is tuned for {last} rounds; no bound is proved for {rounds}")
        rounds = last if rounds is None else rounds
    if learner.domain.radius == 0.0 or rounds == 0:
        return bounds.nothing("no regret is possible with one point or no round")
    if isinstance(learner.noise, GaussianNoise):
        terms, source, supposed = _gaussian_terms(learner, learner.noise, rounds, best, shape, bias)
    else:
        terms, source, supposed = _gamma_terms(learner, rounds, best, shape, bias)
    value = bounds.rounded_up(math.fsum(terms.values()))
    most, name = _most(learner)
    if rounds is not None and value >= rounds * most:
        value, source = rounds * most, f"no regret exceeds rounds x {name}"
        terms, supposed = {f"rounds x {name}": value}, None
    schedule = learner.schedule()
    text = str(schedule)
    if schedule.d != 0.0:
        text = f"scale_t = {figure(schedule.c)} sqrt({schedule.a:g} + learner's loss)"
    as_printed = _as_printed(learner, rounds, best) if printed else None
    scale = schedule.scale(1, 0.0) if schedule.is_constant else None
    bound = Bound(
        value, terms, source, scale, text, as_printed, sense="draws" if learner.fresh else "kept",
        against="any" if learner.fresh else "oblivious",
    )  # fmt: skip
    return bound if supposed is None or _trivially(learner, rounds, supposed) else bound.supposing(supposed)


def _trivially(learner: Any, rounds: int | None, best: float) -> bool:
    """Return True if no best loss of these rounds can be larger."""
    return rounds is not None and learner.loss_bound is not None and best >= rounds * learner.loss_bound


def _most(learner: Any) -> tuple[float, str]:
    """Return the largest regret of one round, with its name; the set lies in a ball."""
    across = 2.0 * learner.lipschitz * learner.domain.radius, "lipschitz x diameter"
    return across if learner.loss_bound is None else min(across, (learner.loss_bound, "loss bound"))


def _best(learner: Any, rounds: int | None, best: float | None) -> float:
    """Return L*, or its default; raise Withheld above the best loss that the tuning assumes."""
    assumed = learner.tuning.told_best
    if assumed is not None:
        if best is not None and best > assumed * (1.0 + 1e-12):
            raise Withheld(f"{learner.tuning!r} has no bound for a larger best loss; got best_loss={best!r}")
        best = assumed if best is None else best
    if best is None and rounds is not None:
        best = _need(learner) * rounds
    if best is None:
        raise ValueError("best_loss or rounds is required: the bound depends on the best loss")
    return best


def _need(learner: Any) -> float:
    if learner.loss_bound is None:
        raise Withheld("no bound is proved without loss_bound, for losses in [0, loss_bound]")
    return float(learner.loss_bound)


def _gamma_terms(learner: Any, rounds: int | None, best: float | None, shape: Shape, bias: float) -> Proof:
    tuning, schedule = learner.tuning, learner.schedule()
    assert isinstance(learner.noise, GammaNoise)
    source = f"{_THEOREM}: {type(tuning).__name__}, Gamma noise"
    if tuning.order == "first" and not schedule.is_constant:
        B, best = _need(learner), _best(learner, rounds, best)
        return _plus(self_confident(learner.c, B, best + bias), bias), source, best
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
        raise Withheld("no bound is proved for calibration='paper': the printed covariance is too small")
    if rounds is None:
        raise ValueError("rounds is required: Gaussian noise costs delta per round")
    schedule, d = learner.schedule(), learner.domain.d
    proofs = _zero_order(learner, rounds, shape, bias, "Gaussian")
    if not proofs and not schedule.is_constant:
        raise Withheld("Gaussian noise with a changing scale has a bound for linear losses only (smooth=0)")
    if schedule.is_constant and (learner.loss_bound is not None or not proofs):
        scale, stake = schedule.scale(1, 0.0), _need(learner) * rounds
        supposed = _best(learner, rounds, best)
        terms, epsilon = gaussian(
            noise,
            shape,
            d,
            lipschitz=learner.lipschitz,
            sigma=scale,
            range_cost=scale * learner.range_constant + bias,
            best_loss=supposed,
            stake=stake,
        )
        source = f"{_THEOREM}: Gaussian noise, {shape} losses, epsilon = {figure(epsilon)}"
        proofs.append((terms, source, supposed))
    return _least(learner, proofs)


def _zero_order(learner: Any, rounds: int | None, shape: Shape, bias: float, noise: str) -> list[Proof]:
    """Return scale G + v T/(2 scale), or its form for a growing scale, for each v that is proved."""
    schedule: Schedule = learner.schedule()
    if rounds is None:
        if not schedule.is_constant:
            raise ValueError("rounds is required: the bound depends on the number of rounds")
        return []
    proofs: list[Proof] = []
    for name, variance in learner.variances(shape).items():
        terms = bounds.root(learner.range_constant, variance, schedule, rounds)
        label = _COROLLARY if shape == "linear" else _THEOREM
        proofs.append((_plus(terms, bias), f"{label}: worst case, {name}, {noise} noise", None))
    return proofs


def _least(learner: Any, proofs: list[Proof]) -> Proof:
    if not proofs:
        _need(learner)
    return min(proofs, key=lambda proof: sum(proof[0].values()))


def _as_printed(learner: Any, rounds: int | None, best: float | None) -> Bound:
    """Return eq:oco1 at the epsilon in (0, 1] that minimizes it."""
    best, d, beta = _best(learner, rounds, best), learner.domain.d, learner.lipschitz
    reach = learner.domain.radius + float(np.linalg.norm(learner.domain.center))
    gaussian = isinstance(learner.noise, GaussianNoise)
    stake = _need(learner) * (rounds or 0) if gaussian else 0.0

    def terms(epsilon: float) -> Terms:
        norm = 2.0 * d * beta / epsilon
        if gaussian:
            norm = math.sqrt(d * (beta**2 * math.log(2.0 * stake) + 4.0 * epsilon)) / epsilon
        return printed(norm, reach, learner.smooth or 0.0, best, 1.0 if gaussian else 0.0, epsilon)

    if gaussian and stake <= 1.0:
        raise Withheld(f"the printed bound requires loss_bound * rounds > 1, so that delta < 1; got {stake!r}")
    chosen = terms(least(lambda epsilon: sum(terms(epsilon).values()), 1e-9, 1.0))
    return Bound(sum(chosen.values()), chosen, "thm:oco as printed (eq:oco1)", proof="published")


def _plus(terms: Terms, bias: float) -> Terms:
    return {**terms, "ridge and solver": bias} if bias > 0.0 else terms
