"""Learners for i.i.d. losses: UCB1, MOSS, KL-UCB, epsilon-greedy, explore-then-commit and Thompson sampling."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar

from hannan import validation
from hannan.learners.learner import Weigher
from hannan.learners.memory import NamedArms, RememberedBanditPlayer
from hannan.mathematics import bounds
from hannan.mathematics.bounds import Against, Bound, Proved, Terms, Withheld
from hannan.players.certificate import no_run_bound
from hannan.players.tickets import Move
from hannan.saving import frozen

if TYPE_CHECKING:
    from hannan.learners.learner import Arms


@frozen(repr=False)
class Stochastic(NamedArms):
    """Base class of bandits for i.i.d. losses: units, names of arms, and bounds for i.i.d. losses only.

    Published bounds are on E[own loss] - T min_i mu_i. The regret here is against the best arm in hindsight, whose loss
    is smaller: E[T min_i mu_i - min_i L_i] <= sqrt(T ln n/2), because each T mu_i - L_i is sub-Gaussian with variance
    T/4. This is a term of every bound.
    """

    n: Arms
    loss_range: tuple[float, float] = field(default=(0.0, 1.0), kw_only=True)
    gains: bool = field(default=False, kw_only=True)

    _against: ClassVar[Against] = "iid"

    def start(self, seed: int | None = None, name: str | None = None, evidence: bool = False) -> StochasticPlayer:
        return StochasticPlayer(self, seed, name, evidence)

    def _past(self, horizon: int, rounds: int) -> None:
        """Raise Withheld if there are more rounds than the learner is tuned for."""
        if rounds > horizon:
            raise Withheld(f"{self!r} is tuned for {horizon} rounds; no bound is proved for {rounds}")

    def _in_hindsight(self, rounds: int) -> Terms:
        """Return the term for the best arm in hindsight instead of the arm with the smallest mean."""
        return {"best in hindsight": math.sqrt(0.5 * rounds * math.log(self.n))}

    def _by_gaps(self, rounds: int, log_term: float, constant: float) -> Terms:
        """Return a bound for all gaps D_i, if E N_i <= log_term/D_i^2 + constant.

        Arms with gaps below d cost at most T d, the other n - 1 at most log_term/d + constant each; d = sqrt((n-1)
        log_term/T).
        """
        others = self.n - 1
        return {"gaps": 2.0 * math.sqrt(others * log_term * rounds), "first plays": others * constant}


class StochasticPlayer(RememberedBanditPlayer):
    """Player of a learner for i.i.d. losses, whose moves have their probability: 1 if the rule selects one arm.

    It does not estimate the regret, because the losses of arms that the rule does not play are unknown.
    """

    learner: Stochastic

    def _on_this_run(self, delta: float, regret: float) -> tuple[float | None, str]:
        return None, no_run_bound(type(self.learner).__name__)

    def _act_awake(self, awake: Any) -> Move:
        raise ValueError(
            f"awake= is not supported by {type(self.learner).__name__}: no proof covers it; use "
            f"hn.Bandit({self._n}, hn.Tsallis(0.5)); got awake={awake!r}"
        )

    def _bound(self, best: float | None) -> tuple[Bound | None, str]:
        return super()._bound(None)


@frozen(repr=False)
class EpsilonGreedy(Stochastic):
    """Bandit for i.i.d. losses that plays the arm with the smallest mean and, with probability epsilon, any arm.

    No bound is proved for losses that are not i.i.d.

    Parameters
    ----------
    n : int or sequence of str
        Number of arms, or their names, which `arms` then contains.
    epsilon : float, optional
        Probability of exploration. Default: it decreases with the rounds. No bound is proved for a constant.
    arms : tuple of str, optional
        Names of the arms.
    loss_range : tuple of float, default (0.0, 1.0)
        Range of the losses, or of the gains. A loss outside of the range raises ValueError.
    gains : bool, default False
        If True, larger values are better.

    Notes
    -----
    p_i = e_t/n, plus 1 - e_t divided among the arms with the smallest mean so far; an arm that was never played counts
    as one of them. By default e_t = min(1, (n ln t/t)^(1/3)). Then, for i.i.d. losses, with x_t = (e_1 + ... +
    e_(t-1))/n,

        R <= sum_t min(1, e_t + 2 sqrt(3 ln t/x_t) + n e^(-x_t/8) + 2 n/t^2) + sqrt(T ln n/2),

    of order T^(2/3) (n ln T)^(1/3). With a constant epsilon the regret grows linearly in T.

    Examples
    --------
    >>> EpsilonGreedy(4, 0.1).start(seed=0).distribution()
    array([0.25, 0.25, 0.25, 0.25])
    >>> round(EpsilonGreedy(2).bound(rounds=10**6).value)
    170092
    >>> EpsilonGreedy(2, 0.1).bound(rounds=10**6)
    Traceback (most recent call last):
    ...
    hannan.Withheld: no sublinear bound is proved for a constant epsilon; got epsilon=0.1
    """

    n: Arms
    epsilon: float | None = None

    _proved: ClassVar[Proved] = "whole"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon is not None:
            object.__setattr__(self, "epsilon", validation.between(self.epsilon, 0.0, 1.0, "epsilon"))

    def _weigher(self) -> Weigher:
        return Weigher("epsilon_greedy", (-1.0 if self.epsilon is None else self.epsilon,))

    def explored(self, t: float) -> float:
        """Return e_t.

        Parameters
        ----------
        t : float
            Round, starting at 1.

        Returns
        -------
        float
            Probability of exploration in round t.
        """
        if self.epsilon is not None:
            return self.epsilon
        return min(1.0, (self.n * math.log(t) / t) ** (1.0 / 3.0)) if t > 1.0 else 0.0

    def _published(self, rounds: int, best: float) -> tuple[Terms, str]:
        if self.epsilon is not None:
            raise Withheld(f"no sublinear bound is proved for a constant epsilon; got epsilon={self.epsilon:g}")
        terms = {"exploring and misled": self.misled(rounds)}
        return terms | self._in_hindsight(rounds), "epsilon-greedy, proved in docs/mathematics.md"

    def misled(self, rounds: int) -> float:
        """Return an upper bound on the sum of the terms: the rounds of a stretch count like its first, the largest.

        Parameters
        ----------
        rounds : int
            Number of rounds.

        Returns
        -------
        float
            Upper bound on the sum.
        """
        paid, x, t = 0.0, 0.0, 1
        while t <= rounds:
            many = min(max(1, t // 256), rounds + 1 - t)
            share = self.explored(t)
            if x > 0.0:
                misled = 2.0 * math.sqrt(3.0 * math.log(t) / x)
                mean = share + misled + self.n * math.exp(-x / 8.0) + 2.0 * self.n / t**2
            else:
                mean = 1.0
            # e_t decreases from round 3 on, so the last value of a block is the smallest; short blocks are one round.
            paid += many * min(1.0, mean)
            x += many * min(share, self.explored(t + many - 1)) / self.n
            t += many
        return paid


@frozen(repr=False)
class ExploreThenCommit(Stochastic):
    """Bandit for i.i.d. losses that plays every arm equally often, and then only the arm with the smallest mean.

    No bound is proved for losses that are not i.i.d.

    Parameters
    ----------
    n : int or sequence of str
        Number of arms, or their names, which `arms` then contains.
    rounds : int
        Number of rounds.
    explore : int, optional
        Number of plays of each arm. Default: the number with the smallest bound.
    arms : tuple of str, optional
        Names of the arms.
    loss_range : tuple of float, default (0.0, 1.0)
        Range of the losses, or of the gains. A loss outside of the range raises ValueError.
    gains : bool, default False
        If True, larger values are better.

    Notes
    -----
    Every arm is played m = `explore` times; afterwards the arm with the smallest mean of these losses is played. For
    i.i.d. losses, R <= m (n-1) + (T - n m) sqrt(ln n/m) + sqrt(T ln n/2): the gap of the selected arm is at most the
    largest of n differences of two means, which are sub-Gaussian with variance 1/(2m).

    Examples
    --------
    >>> learner = ExploreThenCommit(4, rounds=10_000)
    >>> learner.explore, round(learner.bound(10_000).value, 1)
    (164, 1434.3)
    """

    n: Arms
    rounds: int
    explore: int | None = None

    _proved: ClassVar[Proved] = "whole"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "rounds", validation.count(self.rounds, "rounds"))
        most = max(1, self.rounds // self.n)
        explore = self._least_cost(most) if self.explore is None else validation.count(self.explore, "explore")
        if explore > most:
            raise ValueError(f"explore must be at most rounds/n = {most}; got {explore}")
        object.__setattr__(self, "explore", explore)

    def cost(self, m: int) -> float:
        """Return m (n-1) + (T - n m) sqrt(ln n/m), the cost of m plays of each arm.

        Parameters
        ----------
        m : int
            Number of plays per arm.

        Returns
        -------
        float
            Cost.
        """
        return m * (self.n - 1.0) + (self.rounds - self.n * m) * math.sqrt(math.log(self.n) / m)

    def _least_cost(self, most: int) -> int:
        """Return the m in 1..most with the smallest cost, which is convex in m."""
        low, high = 1, most
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self.cost(middle) <= self.cost(middle + 1) else (middle + 1, high)
        return low

    def _weigher(self) -> Weigher:
        assert self.explore is not None
        return Weigher("explore_then_commit", (float(self.explore),))

    def _published(self, rounds: int, best: float) -> tuple[Terms, str]:
        self._past(self.rounds, rounds)
        assert self.explore is not None
        terms = {
            "exploring": float(min(rounds, self.explore * (self.n - 1))),
            "misled": max(0, rounds - self.n * self.explore) * math.sqrt(math.log(self.n) / self.explore),
        }
        return terms | self._in_hindsight(rounds), "explore then commit, proved in docs/mathematics.md"


@frozen(repr=False)
class UCB1(Stochastic):
    """Bandit for i.i.d. losses that plays the arm with the smallest lower confidence bound of its mean loss.

    No bound is proved for losses that are not i.i.d.: an adversary that knows the rule can predict the moves.

    Parameters
    ----------
    n : int or sequence of str
        Number of arms, or their names, which `arms` then contains.
    arms : tuple of str, optional
        Names of the arms.
    loss_range : tuple of float, default (0.0, 1.0)
        Range of the losses, or of the gains. A loss outside of the range raises ValueError.
    gains : bool, default False
        If True, larger values are better.

    Notes
    -----
    argmin_i m_i - sqrt(2 ln t/N_i), where m_i is the mean of the N_i losses of arm i. For i.i.d. losses,
    E N_i <= 8 ln T/D_i^2 + 1 + pi^2/3 if the mean of arm i is D_i above the smallest, so that

        R <= 2 sqrt(8 (n-1) T ln T) + (n-1)(1 + pi^2/3) + sqrt(T ln n/2).

    The last term is for the best arm in hindsight.

    References
    ----------
    Auer, Cesa-Bianchi and Fischer, Finite-time analysis of the multiarmed bandit problem, Machine Learning 2002.

    Examples
    --------
    >>> print(UCB1(8).bound(rounds=100_000))
    expected regret <= 16420 for i.i.d. losses only
      valid      if losses are drawn independently from one distribution, for a horizon fixed in advance
      otherwise  nothing is proved
      theorem    UCB1, Auer, Cesa-Bianchi and Fischer 2002, Theorem 1, over all gaps
      terms      gaps               16060
                 first plays        30.03
                 best in hindsight  322.5
    >>> player = UCB1(["red", "blue"]).start(seed=1)
    >>> for _ in range(2):
    ...     player.observe(player.act(), 0.5)
    >>> player.distribution()
    array([0.5, 0.5])
    """

    n: Arms

    def _weigher(self) -> Weigher:
        return Weigher("ucb1")

    def _published(self, rounds: int, best: float) -> tuple[Terms, str]:
        terms = self._by_gaps(rounds, 8.0 * math.log(rounds), 1.0 + math.pi**2 / 3.0)
        source = "UCB1, Auer, Cesa-Bianchi and Fischer 2002, Theorem 1, over all gaps"
        return terms | self._in_hindsight(rounds), source


@frozen(repr=False)
class MOSS(Stochastic):
    """UCB1 for a known number of rounds, whose regret has no logarithmic factor; for i.i.d. losses.

    No bound is proved for losses that are not i.i.d.

    Parameters
    ----------
    n : int or sequence of str
        Number of arms, or their names, which `arms` then contains.
    rounds : int
        Number of rounds, T.
    arms : tuple of str, optional
        Names of the arms.
    loss_range : tuple of float, default (0.0, 1.0)
        Range of the losses, or of the gains. A loss outside of the range raises ValueError.
    gains : bool, default False
        If True, larger values are better.

    Notes
    -----
    argmin_i m_i - sqrt(max(0, ln(T/(n N_i)))/N_i). For i.i.d. losses, R <= 19.5 sqrt(n T) + n - 1 + sqrt(T ln n/2): the
    bound is 39 sqrt(n T) + sum_i D_i for 1-sub-Gaussian losses (Lattimore and Szepesvari 2020, Theorem 9.1), and losses
    in [0, 1] are 1/2-sub-Gaussian. The constant of Audibert and Bubeck is 49.

    References
    ----------
    Audibert and Bubeck, Minimax policies for adversarial and stochastic bandits, COLT 2009.

    Lattimore and Szepesvari, Bandit Algorithms, Cambridge University Press 2020.

    Examples
    --------
    >>> round(MOSS(8, rounds=100_000).bound(100_000).value, 1)
    17770.8
    """

    n: Arms
    rounds: int

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "rounds", validation.count(self.rounds, "rounds"))

    def _weigher(self) -> Weigher:
        return Weigher("moss", (float(self.rounds),))

    def _published(self, rounds: int, best: float) -> tuple[Terms, str]:
        self._past(self.rounds, rounds)
        # Expected regret never decreases, so the regret of fewer rounds is at most that of all rounds.
        terms = {"19.5 sqrt(n T)": 19.5 * math.sqrt(self.n * self.rounds), "first plays": self.n - 1.0}
        return terms | self._in_hindsight(rounds), "MOSS, Lattimore and Szepesvari 2020, Theorem 9.1, at half the range"


@frozen(repr=False)
class KLUCB(Stochastic):
    """UCB1 with confidence bounds for Bernoulli losses, which explores less on rare clicks; for i.i.d. losses.

    No bound is proved for losses that are not i.i.d.

    Parameters
    ----------
    n : int or sequence of str
        Number of arms, or their names, which `arms` then contains.
    c : float, default 3.0
        Factor of the term ln ln t. No bound is proved for c < 3; c = 0 performs best in experiments.
    arms : tuple of str, optional
        Names of the arms.
    loss_range : tuple of float, default (0.0, 1.0)
        Range of the losses, or of the gains. A loss outside of the range raises ValueError.
    gains : bool, default False
        If True, larger values are better.

    Notes
    -----
    argmin_i min{q : N_i kl(m_i, q) <= ln t + c ln ln t}, where kl is the divergence of Bernoulli distributions. For
    i.i.d. losses and c >= 3, with f = ln T + c ln ln T,

        R <= 2 sqrt(2 (n-1) (f + 1) T) + (n-1)(2 + 7 ln ln T) + sqrt(T ln n/2).

    References
    ----------
    Garivier and Cappe, The KL-UCB algorithm for bounded stochastic bandits and beyond, COLT 2011.

    Examples
    --------
    >>> round(KLUCB(8).bound(rounds=100_000).value, 1)
    10997.7
    >>> KLUCB(8, c=0.0).bound(rounds=100_000)
    Traceback (most recent call last):
    ...
    hannan.Withheld: a bound of KL-UCB is proved for c >= 3 only (Garivier and Cappe 2011); got c = 0
    """

    n: Arms
    c: float = 3.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "c", validation.between(self.c, 0.0, 1e6, "c"))

    def _weigher(self) -> Weigher:
        return Weigher("kl_ucb", (self.c,))

    def _published(self, rounds: int, best: float) -> tuple[Terms, str]:
        if self.c < 3.0:
            raise Withheld(f"a bound of KL-UCB is proved for c >= 3 only (Garivier and Cappe 2011); got c = {self.c:g}")
        # For fewer than 16 rounds ln ln T is below 1.02, and the trivial bound is smaller.
        twice = math.log(math.log(max(rounds, 16)))
        explored = math.log(rounds) + self.c * twice
        terms = self._by_gaps(rounds, 2.0 * (explored + 1.0), 2.0 + 7.0 * twice)
        return terms | self._in_hindsight(rounds), "KL-UCB, after Garivier and Cappe 2011, over all gaps"


BELIEFS = ("beta", "gaussian")


@frozen(repr=False)
class Thompson(Stochastic):
    """Thompson sampling: play each arm with the probability that it is the best; for i.i.d. losses.

    No bound is proved for losses that are not i.i.d.; on some sequences the regret grows linearly.

    Parameters
    ----------
    n : int or sequence of str
        Number of arms, or their names, which `arms` then contains.
    belief : {"beta", "gaussian"}, default "beta"
        Posterior of the mean of an arm.
    arms : tuple of str, optional
        Names of the arms.
    loss_range : tuple of float, default (0.0, 1.0)
        Range of the losses, or of the gains. A loss outside of the range raises ValueError.
    gains : bool, default False
        If True, larger values are better.

    Notes
    -----
    In each round a mean is drawn for every arm from its posterior, and the arm with the best draw is played::

        "beta"      1 - mu_i ~ Beta(1 + wins, 1 + losses); a loss between 0 and 1 is first rounded to 0 or 1 at random
        "gaussian"  1 - mu_i ~ N(sum of gains/(N_i + 1), 1/(N_i + 1))

    A live player computes the probability of a move, p_i = int f_i prod_(j != i) F_j, by quadrature to 1e-12. For
    i.i.d. losses the regret is O(sqrt(n T ln T)), and O(sqrt(n T ln n)) for "gaussian". These bounds have no explicit
    constants, so `bound` raises Withheld. `over_the_prior` is a bound on the mean over the prior.

    References
    ----------
    Thompson, On the likelihood that one unknown probability exceeds another, Biometrika 1933.

    Agrawal and Goyal, Further optimal regret bounds for Thompson sampling, AISTATS 2013.

    Examples
    --------
    >>> player = Thompson(["red", "blue"], gains=True).start(seed=0)
    >>> for arm in "red", "blue", "red":
    ...     move = player.act()
    ...     player.observe(move, reward=move.arm == "red")
    >>> player.distribution().round(3)
    array([0.9, 0.1])
    >>> Thompson(8).bound(rounds=100_000)
    Traceback (most recent call last):
    ...
    hannan.Withheld: only an asymptotic bound, O(sqrt(n T ln T)), is known for Thompson sampling...
    """

    n: Arms
    belief: str = "beta"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.belief not in BELIEFS:
            raise ValueError(f'belief must be "beta" or "gaussian"; got {self.belief!r}')

    def _weigher(self) -> Weigher:
        return Weigher(f"thompson_{self.belief}")

    @property
    def own_noise(self) -> bool:  # type: ignore[override]
        """True if losses between 0 and 1 are rounded at random, with a stream that is not the stream of the draws."""
        return self.belief == "beta"

    def start(self, seed: int | None = None, name: str | None = None, evidence: bool = False) -> ThompsonPlayer:
        return ThompsonPlayer(self, seed, name, evidence)

    def _published(self, rounds: int, best: float) -> tuple[Terms, str]:
        order = "sqrt(n T ln T)" if self.belief == "beta" else "sqrt(n T ln n)"
        raise Withheld(
            f"only an asymptotic bound, O({order}), is known for Thompson sampling (Agrawal and Goyal 2013), "
            "without explicit constants; see over_the_prior for a bound on the mean over the prior"
        )

    def over_the_prior(self, rounds: int) -> Bound:
        """Return a bound on the expected regret, averaged over the uniform prior of "beta".

        It holds on average over means drawn independently and uniformly from [0, 1], for i.i.d. losses of 0 or 1. It
        is no bound for any fixed means.

        Parameters
        ----------
        rounds : int
            Number of rounds, T.

        Returns
        -------
        Bound
            Bound with the condition on the means.

        Raises
        ------
        Withheld
            If `belief` is "gaussian".

        Notes
        -----
        sqrt(n T ln n/2) + sqrt(T ln n/2).

        References
        ----------
        Russo and Van Roy, An information-theoretic analysis of Thompson sampling, JMLR 2016.

        Examples
        --------
        >>> round(Thompson(8).over_the_prior(100_000).value, 1)
        1234.5
        """
        rounds = validation.count(rounds, "rounds", least=0)
        if self.belief != "beta":
            raise Withheld('belief "gaussian" assumes normal losses; losses here have a bounded range')
        if self._trivial or rounds == 0:
            return bounds.nothing()
        terms = {"information": math.sqrt(0.5 * self.n * rounds * math.log(self.n))} | self._in_hindsight(rounds)
        bound = self._settled(terms, "Russo and Van Roy 2016, Propositions 1 and 3", rounds)
        if bound.sense == "run":
            return bound
        return dataclasses.replace(bound, condition="on average over means drawn uniformly from [0, 1], losses 0 or 1")


class ThompsonPlayer(StochasticPlayer):
    """Player of `Thompson`; its moves carry the probability that their arm had the best draw."""

    learner: Thompson

    @property
    def coins(self) -> int:
        """Number of losses between 0 and 1 that were rounded at random."""
        return int(self._memory[-1])
