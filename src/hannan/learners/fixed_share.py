"""Fixed share (Herbster, Warmuth 1998) and its bandit, Exp3.S: for a best choice that changes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from hannan import validation
from hannan.learners.learner import Weigher
from hannan.learners.memory import NamedArms, Remembered
from hannan.learners.tuning import Schedule
from hannan.mathematics.bounds import Against, Bound, Proved, Sense, Terms, Withheld
from hannan.saving import frozen

if TYPE_CHECKING:
    from hannan.learners.learner import Arms


def path_cost(n: int, rounds: int, switches: int, share: float) -> float:
    """Return -log of the prior weight of a path with S switches: (S+1) ln n + S ln(1/a) + (T-1-S) ln(1/(1-a)).

    >>> round(path_cost(2, 1, 0, 0.5), 6)
    0.693147
    """
    stay = -math.log1p(-share) * max(rounds - 1 - switches, 0)
    return (switches + 1) * math.log(n) - switches * math.log(share) + stay


@dataclass(frozen=True, repr=False)
class FixedShare(Remembered):
    """Experts whose best one changes: Hedge that keeps a small weight on every expert.

    `hn.fixed_share(n, rounds, switches)` chooses scale and share.

    Parameters
    ----------
    n : int
        Number of experts.
    scale : float
        Number > 0. A larger scale changes the play more slowly.
    share : float
        Probability a of a change per round.
    loss_range : tuple of float, default (0.0, 1.0)
        Range of the losses, or of the gains. A loss outside of the range raises ValueError.
    gains : bool, default False
        If True, larger values are better.

    Notes
    -----
    p <- (1 - a) p_i e^(-l_i/scale)/sum + a/n: Hedge over all paths that change the expert with probability a per round.
    Against the best path with S switches (S = 0 is the best expert),

        R <= scale ((S+1) ln n + S ln(1/a) + (T-1-S) ln(1/(1-a))) + T/(8 scale).

    References
    ----------
    Herbster and Warmuth, Tracking the best expert, Machine Learning 1998.

    Examples
    --------
    >>> print(FixedShare(10, scale=9.0, share=0.001).bound(rounds=1000, switches=1))
    expected regret <= 126.5, even against an adaptive adversary
      valid    for the mean play on every loss sequence; for sampled moves in expectation, even if losses depend
               on past moves
      theorem  fixed share, Herbster and Warmuth 1998, 1 switches
      terms    scale x path  112.7
               drift         13.89
    """

    scale: float
    share: float
    loss_range: tuple[float, float] = (0.0, 1.0)
    gains: bool = False

    # Hedge over paths: the bound holds on every sequence.
    _against: ClassVar[Against] = "any"
    _sense: ClassVar[Sense | None] = "mean"
    source: ClassVar[str] = "fixed share, Herbster and Warmuth 1998"
    _proved: ClassVar[Proved] = "whole"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "scale", validation.positive(self.scale, "scale"))
        object.__setattr__(self, "share", validation.between(self.share, 0.0, 1.0, "share", "()"))

    def schedule(self) -> Schedule:
        return Schedule.constant(self.scale)

    def _weigher(self) -> Weigher:
        return Weigher("fixed_share", (self.share,))

    def _v(self) -> float:
        """Return v with E D_t <= v/(2 scale), by Hoeffding's lemma."""
        return 0.25

    def bound(
        self,
        rounds: int | None = None,
        best_loss: float | None = None,
        *,
        switches: int = 0,
        printed: bool = False,
        against: str | None = None,
    ) -> Bound:
        """Return the bound on the expected regret; with `switches`, against the best path with that many switches.

        Parameters
        ----------
        rounds : int, optional
            Number of rounds.
        best_loss : float, optional
            Cumulative loss of the best choice in hindsight, or an upper bound on it.
        switches : int, default 0
            Number of switches of the comparator.
        printed : bool, default False
            If True, return the bound as the paper prints it.
        against : {"adaptive", "oblivious", "iid"}, optional
            Adversary the bound must hold against.

        Returns
        -------
        Bound
            Value, terms, theorem and adversary.
        """
        switches = validation.count(switches, "switches", least=0)
        if switches == 0 or rounds is None or self._trivial:
            return super().bound(rounds, best_loss, printed=printed, against=against)
        rounds, _ = self._asked(rounds, best_loss)
        if switches > rounds - 1:
            raise Withheld(f"a path of {rounds} rounds has at most {rounds - 1} switches; got {switches}")
        source = f"{self.source}, {switches} switches"
        return self._settled(self._terms(rounds, switches), source, rounds).asked(against)

    def _terms(self, rounds: int, switches: int) -> Terms:
        return {
            "scale x path": self.scale * path_cost(self.n, rounds, switches, self.share),
            "drift": self._v() * rounds / (2.0 * self.scale),
        }

    def _published(self, rounds: int, best: float) -> tuple[Terms, str]:
        return self._terms(rounds, 0), self.source


@frozen(repr=False)
class Exp3S(NamedArms, FixedShare):
    """Bandit whose best arm changes: fixed share on estimated losses.

    `hn.exp3_s(n, rounds, switches)` chooses scale and share.

    Parameters
    ----------
    n : int or sequence of str
        Number of arms, or their names, which `arms` then contains.
    scale : float
        Number > 0. A larger scale changes the play more slowly.
    share : float
        Probability a of a change per round.
    loss_range : tuple of float, default (0.0, 1.0)
        Range of the losses, or of the gains. A loss outside of the range raises ValueError.
    gains : bool, default False
        If True, larger values are better.
    arms : tuple of str, optional
        Names of the arms.

    Notes
    -----
    Fixed share on l_i/p_i of the drawn arm. For losses the expected regret needs no additional exploration, because
    E sum_i p_i lhat_i^2 <= n: against the best path with S switches it is at most scale * path + n T/(2 scale).

    References
    ----------
    Auer, Cesa-Bianchi, Freund and Schapire, The nonstochastic multiarmed bandit problem, SIAM J. Computing 2002.

    Examples
    --------
    >>> Exp3S(4, scale=50.0, share=0.01).bound(rounds=10_000).source
    'Exp3.S in losses, after Auer et al. 2002'
    """

    n: Arms
    _against: ClassVar[Against] = "oblivious"
    _sense: ClassVar[Sense | None] = "path"
    source: ClassVar[str] = "Exp3.S in losses, after Auer et al. 2002"

    def _v(self) -> float:
        return float(self.n)
