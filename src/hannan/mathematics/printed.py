"""Regret bounds with the constants that the paper prints, for comparison with `hannan.mathematics.bounds`.

They are for comparison only and are not used as guarantees: some are false as printed, and all are larger. The paper
uses level 2 eps for a potential of consistency eps, bounds the regret of the fictitious learner A+ by 2E||Z||_inf, and
gives the choice of eps up to constants only: here, eps minimizes the bound with the printed constants.
"""

from __future__ import annotations

import math

import numpy as np

from hannan.mathematics.bounds import Bound
from hannan.mathematics.laws.law import Law
from hannan.mathematics.smoothing import Smoothing


def expected_norm(law: Law, n: int) -> float:
    """Return E max_i |Z_i| of n draws: E max Z_i if Z >= 0, otherwise int_0^inf 1 - (F(z)-F(-z))^n dz.

    >>> from hannan.mathematics.laws.light import Exponential, Laplace
    >>> round(expected_norm(Exponential(), 10), 6), round(expected_norm(Laplace(), 10), 6)
    (2.928968, 2.928968)
    """
    if law.support[0] >= 0.0:
        return law.expected_max(n)
    top = float(law.survival_quantile(np.array(1e-18 / n)))
    z = np.linspace(0.0, top, 200_001)
    inside = np.asarray(law.cdf(z)) - np.asarray(law.cdf(-z))
    return float(np.trapezoid(1.0 - inside**n, z))


def experts(smoothing: Smoothing, n: int, best_loss: float | None) -> Bound:
    """Return 2 (2 eps) L* + 3 * 2E||Z||_inf of thm:analysis_experts by lemma:regret_lstar, Z = h Z_0/eps, eps <= 1/2.

    >>> from hannan.mathematics.laws.light import Exponential
    >>> round(experts(Exponential(), 10, 100.0).value, 1)
    167.7
    """
    law = _law(smoothing)
    if best_loss is None:
        raise ValueError("best_loss or rounds is required: the printed bound of experts is first-order")
    norm = law.hazard * expected_norm(law, n)
    epsilon = 0.5 if best_loss == 0.0 else min(0.5, math.sqrt(1.5 * norm / best_loss))
    terms = {"2 (2 eps) L*": 4.0 * epsilon * best_loss, "3 (2 E||Z||)": 6.0 * norm / epsilon}
    return _bound(terms, "thm:analysis_experts as printed", law.hazard / epsilon)


def bandit(smoothing: Smoothing, n: int, rounds: int | None, best_loss: float | None) -> Bound:
    """Return the bound of parts 1 to 3 of thm:gbpa_bandits (eq:ftplnearfinal1, eq:tsallisnearfinal, eq:lognearfinal).

    >>> from hannan.mathematics.regularizers import LogBarrier
    >>> round(bandit(LogBarrier(), 10, 1000, 100.0).value)
    929
    """
    if rounds is None:
        raise ValueError("rounds is required: the printed bounds of bandits depend on the number of rounds")
    a = smoothing.tsallis_alpha
    if a == 0.0:
        return log_barrier(n, rounds, float(rounds) if best_loss is None else best_loss)
    if a is not None and a < 1.0:
        scale = math.sqrt(2.0 * n**a * rounds * (1.0 - a) / (a * n ** (1.0 - a)))
        terms = {"drift": 2.0 / (scale * a) * n**a * rounds, "range": scale * n ** (1.0 - a) / (1.0 - a)}
        return _bound(terms, "thm:gbpa_bandits part 2 as printed", scale)
    return _zero_order(_law(smoothing), n, n, rounds, "thm:gbpa_bandits part 1 as printed")


def log_barrier(n: int, rounds: int, best_loss: float) -> Bound:
    """Return 8N log(NT) + 4 if L* < 2, otherwise (4 sqrt(L* N log(NT)) + 1)/(sqrt 2 - 1), which the paper claims for
    the scale sqrt(2 L* N log(NT)). This scale is wrong, see `log_barrier_recursion`.
    """
    log = math.log(n * rounds)
    if best_loss < 2.0:
        terms, scale = {"8 N log(NT)": 8.0 * n * log, "4": 4.0}, 4.0
    else:
        shrink = math.sqrt(2.0) - 1.0
        terms = {"4 sqrt(L* N log(NT))": 4.0 * math.sqrt(best_loss * n * log) / shrink, "1": 1.0 / shrink}
        scale = math.sqrt(2.0 * best_loss * n * log)
    return _bound(terms, "thm:gbpa_bandits part 3 as printed", scale)


def log_barrier_recursion(n: int, rounds: int, best_loss: float, scale: float) -> float:
    """Return the solution R of R <= (2/eta)(R + L*) + eta N log(NT) + 1, which the proof gives at a scale.

    >>> printed = log_barrier(10, 1000, 100.0)
    >>> round(printed.value), round(log_barrier_recursion(10, 1000, 100.0, printed.scale), -1)
    (929, 12690.0)
    """
    share = 2.0 / scale
    if share >= 1.0:
        return math.inf
    return (share * best_loss + scale * n * math.log(n * rounds) + 1.0) / (1.0 - share)


def expert_bandit(
    smoothing: Smoothing,
    actions: int,
    n: int,
    clipped: bool,
    rounds: int | None,
    best_loss: float | None,
) -> Bound:
    """Return the bound of thm:gbpa_bwe. Part 1: eq:ftplnearfinal. Part 2: R <= 2 sqrt(2 eps K)(R + L*) + 2 log N/eps,
    eps = (log N)^(2/3)/(K^(1/3) L*^(2/3)), or 256 K log N if L* <= 128 K log N."""
    law = _law(smoothing)
    if not clipped:
        if rounds is None:
            raise ValueError("rounds is required: the printed bound depends on the number of rounds")
        return _zero_order(law, actions, n, rounds, "thm:gbpa_bwe part 1 as printed")
    if best_loss is None:
        raise ValueError("best_loss or rounds is required: the printed bound of clipping is first-order")
    log = math.log(n)
    source = "thm:gbpa_bwe part 2 as printed"
    if best_loss <= 128.0 * actions * log:
        return _bound({"256 K log N": 256.0 * actions * log}, source, law.hazard * 32.0 * actions)
    epsilon = log ** (2.0 / 3.0) / (actions ** (1.0 / 3.0) * best_loss ** (2.0 / 3.0))
    share = 2.0 * math.sqrt(2.0 * epsilon * actions)
    terms = {"drift": share * best_loss / (1.0 - share), "range": 2.0 * log / epsilon / (1.0 - share)}
    return _bound(terms, source, law.hazard / epsilon)


def _zero_order(law: Law, actions: int, n: int, rounds: int, source: str) -> Bound:
    """Return the terms of 2 eps K T + 2E||Z||_inf at the best eps."""
    norm = law.hazard * expected_norm(law, n)
    epsilon = math.sqrt(norm / (actions * rounds))
    terms = {"2 eps K T": 2.0 * epsilon * actions * rounds, "2 E||Z||": 2.0 * norm / epsilon}
    return _bound(terms, source, law.hazard / epsilon)


def _law(smoothing: Smoothing) -> Law:
    law = smoothing.perturbation
    if law is not None and math.isfinite(law.hazard):
        return law
    raise ValueError(f"the paper prints no bound for {smoothing!r} in this setting")


def _bound(terms: dict[str, float], source: str, scale: float) -> Bound:
    return Bound(math.fsum(terms.values()), terms, source, scale, proof="published")
