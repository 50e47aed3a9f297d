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
    """Thompson sampling: play each arm as often as it is believed to be the best; for losses drawn from one law.

    Draw a mean for every arm from what is believed of it, and play the best draw (Thompson 1933).

        "beta"      1 - mu_i ~ Beta(1 + wins, 1 + losses), a loss between 0 and 1 made 0 or 1 by a coin of its own
        "gaussian"  1 - mu_i ~ N(sum of gains/(N_i + 1), 1/(N_i + 1))

    The probability of a move, p_i = int f_i prod_(j != i) F_j, is exact to 1e-12 (in a live player, by quadrature, some
    0.1 ms of ten arms; whole games draw and need none). If losses are i.i.d. the regret is of order sqrt(n T ln T), or
    sqrt(n T ln n) for "gaussian" (Agrawal, Goyal 2013): orders without constants, so no number is printed of one law.
    In the mean over laws there is one, `over_the_prior`. Against losses that are not i.i.d. nothing is promised: there
    are sequences on which it loses a share of all rounds.

    `n`: how many arms there are, or their names, which `arms` then has. `belief`: "beta" or "gaussian". `loss_range`
    and `gains` say the units: losses (or gains) outside the range are refused.

    >>> player = Thompson(["red", "blue"], gains=True).start(seed=0)
    >>> for arm in "red", "blue", "red":
    ...     move = player.act()
    ...     player.observe(move, reward=move.arm == "red")
    >>> player.distribution().round(3)
    array([0.9, 0.1])
    >>> Thompson(8).bound(rounds=100_000)
    Traceback (most recent call last):
    ...
    hannan.Withheld: Thompson sampling has a bound of an order only, sqrt(n T ln T) (Agrawal, ...
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
        """Whether coins are tossed for losses between 0 and 1; their stream is not that of the draws."""
        return self.belief == "beta"

    def start(self, seed: int | None = None, name: str | None = None, evidence: bool = False) -> ThompsonPlayer:
        return ThompsonPlayer(self, seed, name, evidence)

    def _published(self, rounds: int, best: float) -> tuple[Terms, str]:
        order = "sqrt(n T ln T)" if self.belief == "beta" else "sqrt(n T ln n)"
        raise Withheld(
            f"Thompson sampling has a bound of an order only, {order} (Agrawal, Goyal 2013); over_the_prior has a "
            "number in the mean over laws"
        )

    def over_the_prior(self, rounds: int) -> Bound:
        """A bound on the mean of the expected regret over laws: losses of 0 and 1, i.i.d., rates drawn from the prior.

        sqrt(n T ln n/2) + sqrt(T ln n/2): the rates independent and uniform on [0, 1], the prior of "beta". Of any one
        law it says nothing.

        >>> round(Thompson(8).over_the_prior(100_000).value, 1)
        1234.5
        """
        rounds = validation.count(rounds, "rounds", least=0)
        if self.belief != "beta":
            raise Withheld('the belief of "gaussian" is of losses that are normal, and losses here have a range')
        if self._trivial or rounds == 0:
            return bounds.nothing()
        terms = {"information": math.sqrt(0.5 * self.n * rounds * math.log(self.n))} | self._in_hindsight(rounds)
        bound = self._settled(terms, "Russo and Van Roy 2016, Propositions 1 and 3", rounds)
        if bound.sense == "run":
            return bound
        return dataclasses.replace(bound, condition="in the mean over rates drawn uniformly from [0, 1], losses 0 or 1")


class ThompsonPlayer(StochasticPlayer):
    """Plays `Thompson`; its moves carry the probability that their arm had the best draw."""

    learner: Thompson

    @property
    def coins(self) -> int:
        """How many losses between 0 and 1 were made 0 or 1 by a coin."""
        return int(self._memory[-1])
