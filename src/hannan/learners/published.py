"""Bounds of the algorithms that are compositions: who proved what, for losses in [0, 1].

All but that of reduced variance are as published. Each function gives the terms of a sum; `bandit` says which of
them a learner may claim. The learner prints the smallest bound that is proved for it, these or its own.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from hannan.learners.estimators import (
    ConditionalResampling,
    GeometricResampling,
    ImplicitExploration,
    ImportanceWeighted,
    ReducedVariance,
)
from hannan.learners.learner import Proof
from hannan.mathematics.bounds import Terms, Withheld, resampling_bias
from hannan.mathematics.laws.table import Frechet
from hannan.mathematics.regularizers import LogBarrier, Tsallis

REDUCED = "Tsallis-INF with reduced variance, after Zimmert and Seldin 2021, constants proved in docs/mathematics.md"


def tsallis_inf(n: int, rounds: int) -> Terms:
    """R <= 4 sqrt(K T) + 1 at scale_t = sqrt t (Zimmert, Seldin 2021).

    >>> sum(tsallis_inf(4, 10_000).values())
    801.0
    """
    return {"4 sqrt(n T)": 4.0 * math.sqrt(n * rounds), "1": 1.0}


def tsallis_inf_reduced(n: int, rounds: int) -> Terms:
    """R <= 2 sqrt(n T) - sqrt T - 4 sqrt n + 10/3 n ln(T/16) + 2.12 n + sum_{t<=16} 1/(1 + sqrt(t/n)/2), T > 16.

    At scale_t = sqrt(t)/2, variance reduced; up to 16 rounds there is no more than R <= T. The algorithm and the
    order are Zimmert's and Seldin's (2021), who have 2 sqrt(n T) + 10 n ln T + 16; the proof of these constants is
    in docs/mathematics.md.

    >>> round(sum(tsallis_inf_reduced(8, 10_000).values()), 1)
    653.9
    """
    if rounds <= 16:
        return {"rounds": float(rounds)}
    return {
        "2 sqrt(n T)": 2.0 * math.sqrt(n * rounds),
        "-sqrt T - 4 sqrt n": -math.sqrt(rounds) - 4.0 * math.sqrt(n),
        "10/3 n ln(T/16) + 2.12 n": n * (10.0 / 3.0 * math.log(rounds / 16.0) + 2.12),
        "first 16 rounds": math.fsum(1.0 / (1.0 + 0.5 * math.sqrt(t / n)) for t in range(1, 17)),
    }


def frechet(n: int, rounds: int, c: float) -> Terms:
    """R <= (12 c sqrt(pi) + 3.7/c) sqrt(K T) + 10 c + sqrt(pi K)/c at scale_t = sqrt(t)/c (Honda et al. 2023)."""
    return {
        "(12 c sqrt(pi) + 3.7/c) sqrt(n T)": (12.0 * c * math.sqrt(math.pi) + 3.7 / c) * math.sqrt(n * rounds),
        "10 c": 10.0 * c,
        "sqrt(pi n)/c": math.sqrt(math.pi * n) / c,
    }


def exp3_ix(n: int, rounds: int, delta: float, scale: float) -> Terms:
    """R <= scale (ln n + ln(2n/delta)) + n T/scale + ln(2/delta), with probability 1 - delta, gamma = 1/(2 scale).

    At the scale of Horizon(T), 2 sqrt(2 n T ln n) + (sqrt(n T/(2 ln n)) + 1) ln(2/delta): the second term is half of
    the one in Neu 2015 (docs/mathematics.md, section 9). It is on the regret of a run, against any losses.

    >>> round(sum(exp3_ix(8, 4000, 0.05, math.sqrt(8 * 4000 / (2 * math.log(8)))).values()), 1)
    1056.9
    """
    doubt = math.log(2.0 / delta)
    return {
        "2 scale ln n": 2.0 * scale * math.log(n),
        "n T/scale": n * rounds / scale,
        "(scale + 1) ln(2/delta)": (scale + 1.0) * doubt,
    }


def likely(learner: Any, rounds: int, delta: float) -> Terms:
    """The terms of a bound with probability 1 - delta, or the reason why there is none."""
    schedule, estimator = learner.schedule(), learner.estimator
    scale = schedule.scale(1, 0.0)
    fits = isinstance(estimator, ImplicitExploration) and math.isclose(2.0 * scale * estimator.gamma, 1.0, rel_tol=1e-9)
    if not (fits and learner._is_hedge and schedule.is_constant):
        raise Withheld(f"a bound on one run is proved for exp3_ix({learner.n}, rounds); got {learner!r}")
    return exp3_ix(learner.n, rounds, delta, scale)


def bandit(learner: Any, rounds: int) -> list[Proof]:
    """What is published for exactly this smoothing, tuning and estimator."""
    n, estimator, smoothing, tuning = learner.n, learner.estimator, learner.smoothing, learner.tuning
    if isinstance(estimator, ImplicitExploration) and not isinstance(smoothing, LogBarrier):
        # Estimates are at most the exact ones, so the terms of range and drift stay; the rest is gamma sum lhat,
        # and, where the best arm may depend on the moves, E max_i (Lhat_i - L_i) <= ln n/(2 gamma).
        exact = dataclasses.replace(learner, estimator=ImportanceWeighted())._derived(rounds, None)
        terms = {**exact.terms, "gamma n T": estimator.gamma * n * rounds}
        source = f"{exact.source}; implicit exploration, after Neu 2015"
        anybody = {**terms, "ln n/(2 gamma)": math.log(n) / (2.0 * estimator.gamma)}
        return [Proof(terms, source), Proof(anybody, source, against="any", sense="draws")]
    factor = tuning.told_factor
    if factor is None:
        return []
    if smoothing == Tsallis(0.5):
        if isinstance(estimator, ReducedVariance) and factor == 0.5:
            return [Proof(tsallis_inf_reduced(n, rounds), REDUCED)]
        if isinstance(estimator, ImportanceWeighted) and factor == 1.0:
            return [Proof(tsallis_inf(n, rounds), "Zimmert, Seldin 2021", "published")]
    if smoothing == Frechet(2.0):
        terms, source = frechet(n, rounds, 1.0 / factor), "Honda, Ito, Tsuchiya 2023"
        if isinstance(estimator, ImportanceWeighted):
            return [Proof(terms, source, "published")]
        # Their weights are geometric and uncapped: a cap only lowers estimates, and costs its bias.
        if isinstance(estimator, GeometricResampling):
            return [Proof(terms | resampling_bias(n, estimator.cap, rounds), f"{source}; capped", "published")]
        if isinstance(estimator, ConditionalResampling):
            harmonic = math.fsum(1.0 / i for i in range(1, n + 1))
            return [Proof(terms | resampling_bias(harmonic, estimator.cap, rounds), f"{source}; capped", "published")]
    return []
