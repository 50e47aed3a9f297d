"""Squint, AdaNormalHedge and ML-Poly: experts without tuning, whose weights are functions of the regrets.

Their bounds are R_i <= f(V_i), where V_i is the sum of the squares (or absolute values) of the regrets of the rounds,
r_{t,i} = <p_t, l_t> - l_{t,i}. Since |r_{t,i}| <= max(<p_t, l_t>, l_{t,i}) <= 1, V_i <= T and V_i <= own + L_i = R_i +
2 L_i. Before play, f is evaluated at the largest V with this property, which gives a first-order bound; a certificate
evaluates f at the observed V. The proofs are in docs/mathematics.md, section 8.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hannan.learners.learner import Weigher
from hannan.learners.memory import Remembered, RememberedPlayer
from hannan.mathematics import bounds
from hannan.mathematics.bounds import Against, Bound, Proved, Sense, Terms
from hannan.saving.formatting import figure

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


@dataclass(frozen=True, repr=False)
class SecondOrder(Remembered):
    """Base class of experts with bounds R_i <= f(V_i), evaluated before and after play."""

    loss_range: tuple[float, float] = (0.0, 1.0)
    gains: bool = False

    # The weights are functions of the losses, and the potentials decrease on every sequence.
    _against: ClassVar[Against] = "any"
    _sense: ClassVar[Sense | None] = "mean"

    kernel: ClassVar[str]
    source: ClassVar[str]

    def _weigher(self) -> Weigher:
        return Weigher(self.kernel)

    def start(self, seed: int | None = None, name: str | None = None) -> SecondOrderPlayer:
        return SecondOrderPlayer(self, seed, name)

    def terms(self, rounds: int, seen: float) -> Terms:
        """Return f(V), a bound on the regret after `rounds` rounds against an expert with V = `seen`."""
        raise NotImplementedError

    def _published(self, rounds: int, best: float) -> tuple[Terms, str]:
        # f is increasing: every iterate is a bound, and the iterates do not increase.
        most, terms = float(rounds), self.terms(rounds, rounds)
        for _ in range(100):
            regret = math.fsum(terms.values())
            smaller = min(most, regret + 2.0 * best)
            if not smaller < most:
                break
            most = smaller
            terms = self.terms(rounds, most)
        return terms, self.source

    def observed(self, rounds: int, seen: float) -> Bound:
        """Return the bound of a game with V = `seen` against the best expert."""
        if self._trivial or rounds == 0:
            return bounds.nothing()
        return self._settled(self.terms(rounds, seen), f"{self.source}, observed V = {figure(seen)}", rounds)


class SecondOrderPlayer(RememberedPlayer):
    """Player of `SecondOrder`, whose certificate has the bound for the observed V."""

    learner: SecondOrder
    _made_of_losses = True

    def _observed(self, best: float | None) -> Bound:
        leader = int(np.argmin(self._losses))
        return self.learner.observed(self._settled, float(self._memory[self._n + leader]))


@dataclass(frozen=True, repr=False)
class Squint(SecondOrder):
    """Experts without a tuning whose regret is small on easy losses: a mixture over all learning rates.

    Parameters
    ----------
    n : int
        Number of experts.
    loss_range : tuple of float, default (0.0, 1.0)
        Range of the losses, or of the gains. A loss outside of the range raises ValueError.
    gains : bool, default False
        If True, larger values are better.

    Notes
    -----
    p_i ~ int_0^(1/2) e^(eta R_i - eta^2 V_i) d eta, with the improper prior 1/eta and V_i = sum_t r_(t,i)^2. R_i is at
    most the root R of

        Phi(R, V_i) = n (1/2 + ln(T+1)), Phi(R, V) = int_0^(1/2) (e^(eta R - eta^2 V) - 1)/eta d eta,

    which is below the published form, sqrt(2 V_i) (1 + sqrt(2 ln(n (1/2 + ln(T+1))))) + 5 ln(1 + n (1 + 2 ln(T+1))).

    References
    ----------
    Koolen and van Erven, Second-order quantile methods for experts and combinatorial games, COLT 2015.

    Examples
    --------
    >>> player = Squint(3).start(seed=0)
    >>> for _ in range(20):
    ...     player.observe(player.act(), [0.0, 0.5, 1.0])
    >>> player.distribution().round(4).tolist()
    [0.8811, 0.087, 0.0319]
    >>> round(Squint(8).bound(rounds=10_000).value, 1)
    421.0
    """

    _proved: ClassVar[Proved] = "whole"
    kernel: ClassVar[str] = "squint"
    source: ClassVar[str] = "Squint, after Koolen and van Erven 2015, Theorem 4"

    def terms(self, rounds: int, seen: float) -> Terms:
        return {"R: Phi(R, V) = n (1/2 + ln(T+1))": squint_root(self.n * (0.5 + math.log(rounds + 1.0)), seen)}


def squint_potential(regret: float, seen: float) -> float:
    """Return Phi(R, V) = int_0^(1/2) (e^(eta R - eta^2 V) - 1)/eta d eta, for R >= 0, or a slightly smaller number. If
    the exponent is below -40, the exponential is omitted, which only decreases the integral. The panels before are so
    short that the exponent changes by at most 4 on each of them, so that sixteen Gauss-Legendre nodes are accurate to
    1e-10.

    >>> round(squint_potential(0.0, 4.0), 6)  # -Ein(1)/2
    -0.3983
    """
    end = 0.5
    if seen > 0.0:
        end = min(end, (regret + math.sqrt(regret * regret + 160.0 * seen)) / (2.0 * seen))
    panels = max(1, math.ceil(0.25 * end * max(regret, abs(regret - 2.0 * end * seen))))
    half = 0.5 * end / panels
    eta = half * (np.arange(1, 2 * panels, 2)[:, None] + _NODES)
    return half * float((np.expm1(eta * (regret - eta * seen)) / eta @ _WEIGHTS).sum()) + math.log(2.0 * end)


def squint_root(level: float, seen: float) -> float:
    """Return an upper bound on the R with Phi(R, V) = level. Phi increases with R. The potential is computed to a
    relative accuracy of 1e-10, and at the returned R it exceeds the level by a relative 1e-9.

    >>> 2.38 < squint_potential(squint_root(2.38, 1.0), 1.0) < 2.3801
    True
    """
    level *= 1.0 + 1e-9
    low, high = 0.0, 1.0
    while squint_potential(high, seen) < level:
        low, high = high, 2.0 * high
    while high - low > 1e-10 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if squint_potential(middle, seen) >= level else (middle, high)
    return high


@dataclass(frozen=True, repr=False)
class AdaNormalHedge(SecondOrder):
    """Experts without a tuning whose regret follows the loss of the best expert.

    Parameters
    ----------
    n : int
        Number of experts.
    loss_range : tuple of float, default (0.0, 1.0)
        Range of the losses, or of the gains. A loss outside of the range raises ValueError.
    gains : bool, default False
        If True, larger values are better.

    Notes
    -----
    p_i ~ Phi(R_i+1, C_i+1) - Phi(R_i-1, C_i+1), Phi(R, C) = e^([R]_+^2/(3C)). With ``C_i = sum_t |r_(t,i)|``:
    R_i <= sqrt(3 C_i ln(n B)), B = 5/2 + 3/2 ln(1+T).

    References
    ----------
    Luo and Schapire, Achieving all with no parameters: AdaNormalHedge, COLT 2015.

    Examples
    --------
    >>> print(AdaNormalHedge(10).bound(rounds=10_000, best_loss=100))
    expected regret <= 63.46 if the best loss L* <= 100 on every run, even against an adaptive adversary
      valid      for the mean play on every loss sequence; for sampled moves in expectation, even if losses depend
                 on past moves
      condition  if the best loss L* <= 100 on every run
      theorem    AdaNormalHedge, Luo and Schapire 2015, Theorem 1
      terms      sqrt(3 C ln(n B))  63.46
    """

    _proved: ClassVar[Proved] = "published"  # Lemma 2 of the paper, about one step, is part of the proof
    kernel: ClassVar[str] = "ada_normal_hedge"
    source: ClassVar[str] = "AdaNormalHedge, Luo and Schapire 2015, Theorem 1"

    def terms(self, rounds: int, seen: float) -> Terms:
        level = 2.5 + 1.5 * math.log1p(rounds)
        return {"sqrt(3 C ln(n B))": math.sqrt(3.0 * seen * math.log(self.n * level))}


@dataclass(frozen=True, repr=False)
class MLPoly(SecondOrder):
    """Experts without a tuning by a polynomial potential: fast, and good on easy losses.

    Parameters
    ----------
    n : int
        Number of experts.
    loss_range : tuple of float, default (0.0, 1.0)
        Range of the losses, or of the gains. A loss outside of the range raises ValueError.
    gains : bool, default False
        If True, larger values are better.

    Notes
    -----
    p_i ~ [R_i]_+/(1 + V_i), with one learning rate per expert and V_i = sum_t r_(t,i)^2: R_i <= sqrt(n (1 + ln(1+T))
    (1 + V_i)), which is of order sqrt(n) instead of sqrt(log n) in the worst case.

    References
    ----------
    Gaillard, Stoltz and van Erven, A second-order bound with excess losses, COLT 2014.

    Examples
    --------
    >>> MLPoly(2).bound(rounds=10_000).source
    'ML-Poly, Gaillard, Stoltz and van Erven 2014'
    """

    _proved: ClassVar[Proved] = "whole"
    kernel: ClassVar[str] = "ml_poly"
    source: ClassVar[str] = "ML-Poly, Gaillard, Stoltz and van Erven 2014"

    def terms(self, rounds: int, seen: float) -> Terms:
        return {"sqrt(n (1 + ln(1+T)) (1 + V))": math.sqrt(self.n * (1.0 + math.log1p(rounds)) * (1.0 + seen))}
