"""Algorithms by their names: what is a smoothing, a tuning and an estimator is a composition of them, and no more.

>>> exp3(10, rounds=1000) == Bandit(10, Entropy(), Horizon(1000))
True
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from hannan import validation
from hannan.learners.bandits import Bandit
from hannan.learners.convex.learner import Convex
from hannan.learners.estimators import Estimator, ImplicitExploration, ImportanceWeighted, ReducedVariance
from hannan.learners.expert_bandits import ExpertBandit
from hannan.learners.experts import Experts
from hannan.learners.fixed_share import Exp3S, FixedShare, path_cost
from hannan.learners.learner import how_many
from hannan.learners.tuning import Anytime, Horizon, SelfConfident, Tuning
from hannan.mathematics.convex.domains import Domain
from hannan.mathematics.convex.noise import GaussianNoise
from hannan.mathematics.laws.heavy import Frechet
from hannan.mathematics.regularizers import Entropy, Tsallis

if TYPE_CHECKING:
    from hannan.learners.learner import Count

_EXACT = ImportanceWeighted()


def hedge(n: int, rounds: int | None = None, **units: Any) -> Experts:
    """Hedge, exponential weights over experts, tuned for a number of rounds or by its own loss.

    p_i ~ e^(-L_i/scale): Entropy, which plays as Gumbel does, tuned for `rounds` or by its own loss.

    Freund, Schapire 1997; with rounds R <= sqrt(T ln n/2).

    `n`: how many experts. `rounds`: how many will be played, if it is known. Other keywords go to `Experts`.

    >>> hedge(10, rounds=1000)
    Experts(10, smoothing=Entropy(), tuning=Horizon(rounds=1000))
    """
    return Experts(n, Entropy(), _horizon(rounds, SelfConfident()), **units)


def exp3(n: Count, rounds: int | None = None, **units: Any) -> Bandit:
    """Exp3: Hedge for a bandit, the plainest of them.

    p_i ~ e^(-Lhat_i/scale), Lhat of l_i/p_i (Auer et al. 2002; in losses no exploration is needed): R <= sqrt(2 n T ln
    n).

    `n`: how many arms there are, or their names, which `arms` then has. `rounds`: how many will be played, if it is
    known. Other keywords go to `Bandit`.

    >>> exp3(10, rounds=1000)
    Bandit(10, smoothing=Entropy(), tuning=Horizon(rounds=1000))
    """
    return Bandit(n, Entropy(), _horizon(rounds, Anytime()), **units)


def exp4(actions: int, experts: int, rounds: int | None = None, **units: Any) -> ExpertBandit:
    """Exp4: Exp3 over experts who advise actions.

    Auer et al. 2002: R <= sqrt(2 min(K, N) T ln N).

    `actions`: K. `experts`: N. `rounds`: how many will be played, if it is known. Other keywords go to `ExpertBandit`.

    >>> round(exp4(4, 30, rounds=1000).bound().value, 1)  # sqrt(2 K T ln N)
    165.0
    """
    return ExpertBandit(actions, experts, Entropy(), _horizon(rounds, Anytime()), **units)


def exp4_clipped(actions: int, experts: int, **units: Any) -> ExpertBandit:
    """Exp4 that never plays an action of small probability, so that its regret follows the best expert's loss.

    Of order L*^(2/3) (the paper's thm:gbpa_bwe), knowing nothing beforehand.

    `actions`: K. `experts`: N. Other keywords go to `ExpertBandit`.

    >>> exp4_clipped(4, 30).clip
    'tuned'
    """
    return ExpertBandit(actions, experts, Entropy(), SelfConfident(), clip="tuned", **units)


def tsallis_inf(n: Count, variance_reduced: bool = True, **units: Any) -> Bandit:
    """Tsallis-INF, the bandit that is good in both worlds: whatever the losses do, and where they are stochastic.

    Zimmert, Seldin 2021: of order sqrt(n T) whatever the losses do, log T where they are stochastic. In its terms eta_t
    = 2/scale_t: scale_t = sqrt t, R <= 4 sqrt(n T) + 1; or variance_reduced, scale_t = sqrt(t)/2, R <= 2 sqrt(n T) -
    sqrt T - 4 sqrt n + 10/3 n ln(T/16) + 2.12 n + 16, for T > 16.

    `n`: how many arms there are, or their names, which `arms` then has. `variance_reduced`: with a baseline of 1/2 in
    the estimates. Other keywords go to `Bandit`.

    >>> tsallis_inf(8)
    Bandit(8, smoothing=Tsallis(alpha=0.5), tuning=Anytime(factor=0.5), estimator=ReducedVariance())
    >>> print(tsallis_inf(8).bound(rounds=10**6))
    expected regret <= 4968 against an oblivious adversary
      valid      if losses do not depend on your moves, for a horizon fixed in advance
      otherwise  (adaptive adversary, same horizon) bounds the pseudo-regret only: max_i E[learner's loss - loss
                 of arm i]
      theorem    Tsallis-INF with reduced variance, after Zimmert and Seldin 2021, constants proved in
                 docs/mathematics.md
      terms      2 sqrt(n T)                5657
                 -sqrt T - 4 sqrt n        -1011
                 10/3 n ln(T/16) + 2.12 n  311.5
                 first 16 rounds           10.86
      scale      0.5 sqrt(t)
    """
    if variance_reduced:
        return Bandit(n, Tsallis(0.5), Anytime(0.5), ReducedVariance(), **units)
    return Bandit(n, Tsallis(0.5), Anytime(1.0), **units)


def frechet_ftpl(n: Count, c: float = 2.0, estimator: Estimator = _EXACT, **units: Any) -> Bandit:
    """The perturbed leader that is good in both worlds, a bandit with Frechet noise.

    argmin_i Lhat_i - Z_i sqrt(t)/c, Z_i ~ Frechet(2) (Honda, Ito, Tsuchiya 2023): the FTPL of both worlds.

    Weights are exact by default; GeometricResampling(cap) and ConditionalResampling(cap) need no probabilities.
    ReducedVariance() is possible because ours are exact; no theorem covers it, and its bound is withheld.

    `n`: how many arms there are, or their names, which `arms` then has. `c`: one over the growth of the scale.
    `estimator`: how one loss becomes a vector. Other keywords go to `Bandit`.

    >>> frechet_ftpl(8)
    Bandit(8, smoothing=Frechet(alpha=2.0), tuning=Anytime(factor=0.5))
    """
    return Bandit(n, Frechet(2.0), Anytime(1.0 / validation.positive(c, "c")), estimator, **units)


def exp3_ix(n: Count, rounds: int, **units: Any) -> Bandit:
    """Exp3 with implicit exploration: its regret is small with high probability, not only on average.

    Exp3 on l_i/(p_i + gamma), gamma = 1/(2 scale) (Neu 2015): a regret that is small with high probability.

    With probability 1 - delta it is at most 2 sqrt(2 n T ln n) + (sqrt(n T/(2 ln n)) + 1) ln(2/delta), whoever sets
    the losses: `bound(delta=0.05)`; `player.certificate(delta=0.05)` has one of the run so far, at every time.
    `bound()` is on the mean against oblivious losses, `bound(against="any")`, 2 sqrt(2 n T ln n), against anybody.

    `n`: how many arms there are, or their names, which `arms` then has. `rounds`: how many will be played. Other
    keywords go to `Bandit`.

    >>> exp3_ix(10, 1000).estimator
    ImplicitExploration(gamma=0.0107...)
    """
    plain = exp3(n, rounds, **units)
    if plain.n == 1:
        return plain
    scale = exp3(plain.n, rounds).schedule().scale(1, 0.0)
    return Bandit(n, Entropy(), Horizon(rounds), ImplicitExploration(0.5 / scale), **units)


def fixed_share(n: int, rounds: int, switches: int = 1, **units: Any) -> FixedShare:
    """`FixedShare` tuned for a number of rounds and of changes of the best expert.

    a = S/(T-1), scale = sqrt(T/(8 path)), path the cost of a path of S switches.

    `n`: how many experts. `rounds`: T. `switches`: S. Other keywords go to `FixedShare`.

    >>> fixed_share(10, 1000, switches=9).bound(1000, switches=9).value < 200
    True
    """
    share, cost = _shared(n, rounds, switches)
    return FixedShare(n, math.sqrt(rounds / (8.0 * cost)) if cost > 0.0 else 1.0, share, **units)


def exp3_s(n: Count, rounds: int, switches: int = 1, **units: Any) -> Exp3S:
    """`Exp3S` tuned for a number of rounds and of changes of the best arm.

    a = S/(T-1), scale = sqrt(n T/(2 path)), path the cost of a path of S switches.

    `n`: how many arms there are, or their names, which `arms` then has. `rounds`: T. `switches`: S. Other keywords go
    to `Exp3S`.

    >>> exp3_s(4, 10_000, switches=3).bound(10_000, switches=3).value < 2000
    True
    """
    arms = how_many(n)
    share, cost = _shared(arms, rounds, switches)
    return Exp3S(n, math.sqrt(arms * rounds / (2.0 * cost)) if cost > 0.0 else 1.0, share, **units)


def gaussian_ftpl(domain: Domain, rounds: int, lipschitz: float = 1.0) -> Convex:
    """The Gaussian perturbed leader on a convex set, for linear losses of any sign.

    argmin over X of <L + b, x>, b Gaussian of sd lipschitz sqrt(T) (2 pi d)^(-1/4), linear losses of any sign.

    Abernethy, Lee, Sinha, Tewari 2014, corrected form: R <= 1.264 d^(1/4) r lipschitz sqrt(T) in a ball of radius r.

    `domain`: the set. `rounds`: T. `lipschitz`: the longest that a loss vector may be.

    >>> from hannan.mathematics.convex.domains import Ball
    >>> gaussian_ftpl(Ball(3), 1000).bound(1000).value <= 1.264 * 3**0.25 * 1000**0.5
    True
    """
    return Convex(domain, lipschitz, GaussianNoise(), Horizon(rounds), smooth=0.0)


def _horizon(rounds: int | None, otherwise: Tuning) -> Tuning:
    return otherwise if rounds is None else Horizon(rounds)


def _shared(n: int, rounds: int, switches: int) -> tuple[float, float]:
    """(a, the cost of a path)."""
    rounds, switches = validation.count(rounds, "rounds", least=2), validation.count(switches, "switches")
    if switches >= rounds - 1:
        raise ValueError(f"switches must be fewer than rounds - 1 = {rounds - 1}; got {switches}")
    share = switches / (rounds - 1)
    return share, path_cost(validation.count(n, "n"), rounds, switches, share)
