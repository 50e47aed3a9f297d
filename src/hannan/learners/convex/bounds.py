"""The bounds of online convex and linear optimisation (thm:oco, cor:olo), in corrected form.

Losses convex, beta-Lipschitz and in [0, B] on a set X; the range of the noise is C = scale * G, with
G = E||standard draw|| * (mean width of X)/2 <= E||standard draw|| * radius. If the level of adding s times a
loss is epsilon s, then E l(x_{t+1}) over the step keeps (1 - e^-epsilon)/epsilon of E l(x_t), so that

    R <= (epsilon/(1 - e^-epsilon)) (L* + C) - L*                       (lemma:regret_lstar, corrected form)

plus delta B T for Gaussian noise. The printed theorem lacks the additive terms: L* = 0 has regret. Zero order, with
D_t <= v/(2 scale): R <= scale G + v T/(2 scale), and with scale_t = f sqrt(t), R <= (f G + v/f) sqrt(T) for every T.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hannan.mathematics.bounds import Terms, Withheld, first_order, kept_experts
from hannan.mathematics.convex.noise import GammaNoise, GaussianNoise, Noise, Shape
from hannan.mathematics.golden import least_between


def self_confident(c: float, loss_bound: float, best_loss: float) -> Terms:
    """epsilon_t = sqrt(c'/(B + own loss)): R <= 2c' + 2 sqrt(c'^2 + c'(L* + B)), c' = d beta r for Gamma noise."""
    return {"2 c'": 2.0 * c, "2 sqrt(c'^2 + c'(L*+B))": 2.0 * math.sqrt(c * (c + best_loss + loss_bound))}


def gaussian(
    noise: GaussianNoise,
    shape: Shape,
    d: int,
    lipschitz: float,
    sigma: float,
    range_cost: float,
    best_loss: float,
    stake: float,
) -> tuple[Terms, float]:
    """R <= (epsilon/(1 - e^-epsilon))(L* + C) - L* + delta(epsilon) B T, at the best epsilon; stake = B T.

    delta(epsilon) is that of sigma, whatever calibration sigma came from, so any epsilon will do: the terms
    at the least found, and that epsilon.
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
    lipschitz: float,
    range_constant: float,
    best_loss: float,
    stake: float,
) -> tuple[float, float]:
    """(sigma, epsilon) of the least bound for a best loss, delta the noise's own or 1/(B T)."""
    if noise.delta is None:
        if stake <= 1.0:
            raise ValueError(f"delta = 1/(B T) must be below 1: loss_bound * rounds > 1; got {stake!r}")
        noise = GaussianNoise(1.0 / stake, noise.calibration)

    def bound(epsilon: float) -> float:
        cost = range_constant * noise.sigma(epsilon, lipschitz, shape, d)
        return sum(first_order(cost, kept_experts(epsilon), best_loss).values())

    epsilon = least(bound, 1e-5, 50.0)
    return noise.sigma(epsilon, lipschitz, shape, d), epsilon


def variances(
    noise: Noise, shape: Shape, d: int, radius: float, ball: bool, lipschitz: float, loss_bound: float | None
) -> dict[str, float]:
    """The variance constants v that are proved: D_t <= v/(2 scale) at every scale, by name.

        losses in [0, B]            Gamma noise, beta B: the level is epsilon = beta/scale, and D_t <= epsilon B/2
        linear, in [0, B]           Gamma noise, beta B/2: the level is two-sided, and D_t <= epsilon B/4
        linear, any sign            2 r beta^2 m/sqrt(2 pi): curvature r sqrt(2/pi)/sigma of the potential
        linear, any sign, a ball    r beta^2 m E chi_d/d: curvature r E chi_d/(d sigma), without the dimension

    m = 1 for Gaussian noise; Gamma noise is Gaussian of a random sigma, scale/sigma of mean m = 1/E chi_d.
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
    """2 epsilon L* + 3 gamma D^2/epsilon + 6 D E||b|| + delta B T (eq:oco1), valid for epsilon <= 1.

    `norm` is E||b||, `failure` delta B T; to be read beside the corrected form, not relied on.
    """
    if epsilon > 1.0:
        raise Withheld(f"the printed bound needs epsilon <= 1; got {epsilon!r}")
    terms = {"2 eps L*": 2.0 * epsilon * best_loss, "6 D E||b||": 6.0 * diameter * norm}
    if smooth > 0.0:
        terms["3 gamma D^2/eps"] = 3.0 * smooth * diameter**2 / epsilon
    if failure > 0.0:
        terms["delta B T"] = failure
    return terms


def least(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function of one positive number is least, by a grid in log scale and golden sections."""
    grid = np.geomspace(low, high, 60)
    best = int(np.argmin([function(float(x)) for x in grid]))
    left, right = (math.log(grid[max(best - 1, 0)]), math.log(grid[min(best + 1, len(grid) - 1)]))
    return math.exp(least_between(lambda x: function(math.exp(x)), left, right, 40))
