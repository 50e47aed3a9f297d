"""Algorithms by their usual names, as compositions of a smoothing, a tuning and an estimator.

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
    """Return Hedge, exponential weights over experts.

    Parameters
    ----------
    n : int
        Number of experts.
    rounds : int, optional
        Number of rounds, if it is known.
    **units : Any
        Other parameters of `Experts`.

    Returns
    -------
    Experts
        Learner.

    Notes
    -----
    p_i ~ e^(-L_i/scale), tuned for `rounds` or by its own loss. With `rounds`, R <= sqrt(T ln n/2).

    References
    ----------
    Freund and Schapire, A decision-theoretic generalization of on-line learning, JCSS 1997.

    Examples
    --------
    >>> hedge(10, rounds=1000)
    Experts(10, smoothing=Entropy(), tuning=Horizon(rounds=1000))
    """
    return Experts(n, Entropy(), _horizon(rounds, SelfConfident()), **units)


def exp3(n: Count, rounds: int | None = None, **units: Any) -> Bandit:
    """Return Exp3, Hedge for a bandit.

    Parameters
    ----------
    n : int or sequence of str
        Number of arms, or their names, which `arms` then contains.
    rounds : int, optional
        Number of rounds, if it is known.
    **units : Any
        Other parameters of `Bandit`.

    Returns
    -------
    Bandit
        Learner.

    Notes
    -----
    p_i ~ e^(-Lhat_i/scale), Lhat of l_i/p_i; for losses no exploration is needed. With `rounds`, R <= sqrt(2 n T ln n).

    References
    ----------
    Auer, Cesa-Bianchi, Freund and Schapire, The nonstochastic multiarmed bandit problem, SIAM J. Computing 2002.

    Examples
    --------
    >>> exp3(10, rounds=1000)
    Bandit(10, smoothing=Entropy(), tuning=Horizon(rounds=1000))
    """
    return Bandit(n, Entropy(), _horizon(rounds, Anytime()), **units)


def exp4(actions: int, experts: int, rounds: int | None = None, **units: Any) -> ExpertBandit:
    """Return Exp4, Exp3 over experts that advise actions.

    Parameters
    ----------
    actions : int
        Number of actions, K.
    experts : int
        Number of experts, N.
    rounds : int, optional
        Number of rounds, if it is known.
    **units : Any
        Other parameters of `ExpertBandit`.

    Returns
    -------
    ExpertBandit
        Learner.

    Notes
    -----
    With `rounds`, R <= sqrt(2 min(K, N) T ln N).

    References
    ----------
    Auer, Cesa-Bianchi, Freund and Schapire, The nonstochastic multiarmed bandit problem, SIAM J. Computing 2002.

    Examples
    --------
    >>> round(exp4(4, 30, rounds=1000).bound().value, 1)  # sqrt(2 K T ln N)
    165.0
    """
    return ExpertBandit(actions, experts, Entropy(), _horizon(rounds, Anytime()), **units)


def exp4_clipped(actions: int, experts: int, **units: Any) -> ExpertBandit:
    """Return Exp4 without actions of small probability, whose regret follows the loss of the best expert.

    Parameters
    ----------
    actions : int
        Number of actions, K.
    experts : int
        Number of experts, N.
    **units : Any
        Other parameters of `ExpertBandit`.

    Returns
    -------
    ExpertBandit
        Learner.

    Notes
    -----
    The regret is of order L*^(2/3) (thm:gbpa_bwe of the paper), without any number known in advance.

    Examples
    --------
    >>> exp4_clipped(4, 30).clip
    'tuned'
    """
    return ExpertBandit(actions, experts, Entropy(), SelfConfident(), clip="tuned", **units)


def tsallis_inf(n: Count, variance_reduced: bool = True, **units: Any) -> Bandit:
    """Return Tsallis-INF, a bandit that is best of both worlds.

    Parameters
    ----------
    n : int or sequence of str
        Number of arms, or their names, which `arms` then contains.
    variance_reduced : bool, default True
        If True, the estimates have a baseline of 1/2.
    **units : Any
        Other parameters of `Bandit`.

    Returns
    -------
    Bandit
        Learner.

    Notes
    -----
    The regret is of order sqrt(n T) for all oblivious losses and of order log T for i.i.d. losses. In the terms of the
    reference, eta_t = 2/scale_t. With scale_t = sqrt(t), R <= 4 sqrt(n T) + 1. With reduced variance, scale_t =
    sqrt(t)/2 and R <= 2 sqrt(n T) - sqrt(T) - 4 sqrt(n) + 10/3 n ln(T/16) + 2.12 n + 16, for T > 16.

    References
    ----------
    Zimmert and Seldin, Tsallis-INF: an optimal algorithm for stochastic and adversarial bandits, JMLR 2021.

    Examples
    --------
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
    """Return the perturbed leader with Frechet noise, a bandit that is best of both worlds.

    Parameters
    ----------
    n : int or sequence of str
        Number of arms, or their names, which `arms` then contains.
    c : float, default 2.0
        Inverse of the growth of the scale, scale_t = sqrt(t)/c.
    estimator : Estimator, default ImportanceWeighted()
        Rule that turns one observed loss into estimated losses. `GeometricResampling(cap)` and
        `ConditionalResampling(cap)` need no probabilities. With `ReducedVariance()` the bound is withheld.
    **units : Any
        Other parameters of `Bandit`.

    Returns
    -------
    Bandit
        Learner.

    Notes
    -----
    argmin_i Lhat_i - Z_i sqrt(t)/c, Z_i ~ Frechet(2).

    References
    ----------
    Honda, Ito and Tsuchiya, Follow-the-perturbed-leader achieves best-of-both-worlds for bandit problems, ALT 2023.

    Examples
    --------
    >>> frechet_ftpl(8)
    Bandit(8, smoothing=Frechet(alpha=2.0), tuning=Anytime(factor=0.5))
    """
    return Bandit(n, Frechet(2.0), Anytime(1.0 / validation.positive(c, "c")), estimator, **units)


def exp3_ix(n: Count, rounds: int, **units: Any) -> Bandit:
    """Return Exp3 with implicit exploration, whose regret is small with high probability.

    Parameters
    ----------
    n : int or sequence of str
        Number of arms, or their names, which `arms` then contains.
    rounds : int
        Number of rounds.
    **units : Any
        Other parameters of `Bandit`.

    Returns
    -------
    Bandit
        Learner.

    Notes
    -----
    Exp3 on l_i/(p_i + gamma), gamma = 1/(2 scale). `bound(delta=0.05)`: with probability 1 - delta, even against an
    adaptive adversary, the regret of a run is at most 2 sqrt(2 n T ln n) + (sqrt(n T/(2 ln n)) + 1) ln(2/delta).
    `player.certificate(delta=0.05)` has a bound on the run so far, uniformly over time. `bound()` is on the expected
    regret against an oblivious adversary, `bound(against="adaptive")` against an adaptive one.

    References
    ----------
    Neu, Explore no more: improved high-probability regret bounds for non-stochastic bandits, NeurIPS 2015.

    Examples
    --------
    >>> exp3_ix(10, 1000).estimator
    ImplicitExploration(gamma=0.0107...)
    """
    plain = exp3(n, rounds, **units)
    if plain.n == 1:
        return plain
    scale = exp3(plain.n, rounds).schedule().scale(1, 0.0)
    return Bandit(n, Entropy(), Horizon(rounds), ImplicitExploration(0.5 / scale), **units)


def fixed_share(n: int, rounds: int, switches: int = 1, **units: Any) -> FixedShare:
    """Return `FixedShare` tuned for a number of rounds and of changes of the best expert.

    Parameters
    ----------
    n : int
        Number of experts.
    rounds : int
        Number of rounds, T.
    switches : int
        Number of changes of the best choice, S.
    **units : Any
        Other parameters of `FixedShare`.

    Returns
    -------
    FixedShare
        Learner.

    Notes
    -----
    a = S/(T-1), scale = sqrt(T/(8 path)), where path is the cost of a path with S switches.

    Examples
    --------
    >>> fixed_share(10, 1000, switches=9).bound(1000, switches=9).value < 200
    True
    """
    share, cost = _shared(n, rounds, switches)
    return FixedShare(n, math.sqrt(rounds / (8.0 * cost)) if cost > 0.0 else 1.0, share, **units)


def exp3_s(n: Count, rounds: int, switches: int = 1, **units: Any) -> Exp3S:
    """Return `Exp3S` tuned for a number of rounds and of changes of the best arm.

    Parameters
    ----------
    n : int or sequence of str
        Number of arms, or their names, which `arms` then contains.
    rounds : int
        Number of rounds, T.
    switches : int
        Number of changes of the best choice, S.
    **units : Any
        Other parameters of `Exp3S`.

    Returns
    -------
    Exp3S
        Learner.

    Notes
    -----
    a = S/(T-1), scale = sqrt(n T/(2 path)), where path is the cost of a path with S switches.

    Examples
    --------
    >>> exp3_s(4, 10_000, switches=3).bound(10_000, switches=3).value < 2000
    True
    """
    arms = how_many(n)
    share, cost = _shared(arms, rounds, switches)
    return Exp3S(n, math.sqrt(arms * rounds / (2.0 * cost)) if cost > 0.0 else 1.0, share, **units)


def gaussian_ftpl(domain: Domain, rounds: int, lipschitz: float = 1.0) -> Convex:
    """Return the Gaussian perturbed leader on a convex set, for linear losses of any sign.

    Parameters
    ----------
    domain : Domain
        Convex set of the moves.
    rounds : int
        Number of rounds, T.
    lipschitz : float, default 1.0
        Largest length of a loss vector.

    Returns
    -------
    Convex
        Learner.

    Notes
    -----
    argmin over the set of <L + b, x>, b Gaussian with standard deviation lipschitz sqrt(T) (2 pi d)^(-1/4). In a ball
    of radius r, R <= 1.264 d^(1/4) r lipschitz sqrt(T) (corrected form).

    References
    ----------
    Abernethy, Lee, Sinha and Tewari, Online linear optimization via smoothing, COLT 2014.

    Examples
    --------
    >>> from hannan.mathematics.convex.domains import Ball
    >>> gaussian_ftpl(Ball(3), 1000).bound(1000).value <= 1.264 * 3**0.25 * 1000**0.5
    True
    """
    return Convex(domain, lipschitz, GaussianNoise(), Horizon(rounds), smooth=0.0)


def _horizon(rounds: int | None, otherwise: Tuning) -> Tuning:
    return otherwise if rounds is None else Horizon(rounds)


def _shared(n: int, rounds: int, switches: int) -> tuple[float, float]:
    """Return (a, cost of a path)."""
    rounds, switches = validation.count(rounds, "rounds", least=2), validation.count(switches, "switches")
    if switches >= rounds - 1:
        raise ValueError(f"switches must be fewer than rounds - 1 = {rounds - 1}; got {switches}")
    share = switches / (rounds - 1)
    return share, path_cost(validation.count(n, "n"), rounds, switches, share)
