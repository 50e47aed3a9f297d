"""Thompson sampling: an arm is played as often as it is believed to be the best."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

from hannan import validation
from hannan.learners.learner import Weigher
from hannan.learners.stochastic import Stochastic, StochasticPlayer
from hannan.mathematics import bounds
from hannan.mathematics.bounds import Bound, Terms, Withheld
from hannan.saving import frozen

if TYPE_CHECKING:
    from hannan.learners.learner import Arms

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
