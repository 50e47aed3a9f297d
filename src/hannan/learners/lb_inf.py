"""LB-INF (Ito 2021): the log-barrier bandit that fits its scale to each arm and needs no bound on the best loss."""

from __future__ import annotations

from math import e, log, sqrt
from typing import TYPE_CHECKING, ClassVar

from hannan import validation
from hannan.learners.learner import Weigher
from hannan.learners.memory import NamedArms
from hannan.mathematics.bounds import Proved, Sense, Terms
from hannan.saving import frozen

if TYPE_CHECKING:
    from hannan.learners.learner import Arms

#: (x - log(1 + x))/x^2 at x = -1/2, its maximum over x >= -1/2.
_CURVE = 4.0 * (log(2.0) - 0.5)


@frozen(repr=False)
class LBInf(NamedArms):
    """Bandit for rare clicks: close to Thompson sampling on i.i.d. clicks, with a bound for all oblivious losses.

    Parameters
    ----------
    n : int or sequence of str
        Number of arms, or their names, which `arms` then contains.
    rounds : int, optional
        Number of rounds. Default: the scale grows with the rounds.
    loss_range : tuple of float, default (0.0, 1.0)
        Range of the losses, or of the gains. A loss outside of the range raises ValueError.
    gains : bool, default False
        If True, larger values are better.
    arms : tuple of str, optional
        Names of the arms.

    Notes
    -----
    p = argmin <S + m, p> - sum_i g_i log p_i: an optimistic log-barrier with one scale g_i per arm, which grows with
    the errors of the predictions m. S sums m + (l - m_I)/p_I e_I, and g_i starts at 2 and grows by (l - m_I)^2
    ((1-p_i)^2 if i = I else p_i^2)/(2 g_i s) per round.

    Without `rounds`, s = ln(t + e - 1) and m_i is the mean of the losses of arm i and of one loss 1/2. For i.i.d.
    losses the regret is of order n (ln T)^2/gap. For all oblivious losses,

        R <= G (ln(T/b) + 1.55 ln(T+e-1)) + (n-1) b - 2n (1.55 ln(T+e-1) + ln n),
        G^2 = n (4n + 17/16 (1 - 1/n) sum_t 1/ln(t+e-1)), b = G/(n-1),

    of order sqrt(n T ln T), proved in docs/mathematics.md. With `rounds` the learner is the published one: s =
    ln(rounds), and m_I moves a quarter of the way to the last loss. The same proof then gives, for every T,

        R <= G (ln(T/b) + 1.55 s) + (n-1) b - 2n (1.55 s + ln n), G^2 = n (4n + (1 + 1/(16 s)) (1 - 1/n) T/s).

    The published order O(sqrt(n log T min(L*, Q, V)) + n log T) is smaller on easy losses, where Q is the sum of
    squared deviations and V the path length of the losses. It has no explicit constants, so no number is printed for
    it.

    References
    ----------
    Ito, Parameter-free multi-armed bandit algorithms with hybrid data-dependent regret bounds, COLT 2021.

    Examples
    --------
    >>> round(LBInf(8).bound(10_000).value, 1), round(LBInf(8, rounds=10_000).bound().value, 1)
    (1866.5, 1686.5)
    """

    n: Arms
    rounds: int | None = None
    loss_range: tuple[float, float] = (0.0, 1.0)
    gains: bool = False

    _sense: ClassVar[Sense | None] = "arm"
    _proved: ClassVar[Proved] = "whole"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rounds is not None:
            object.__setattr__(self, "rounds", validation.count(self.rounds, "rounds", least=2))

    def _weigher(self) -> Weigher:
        return Weigher("lb_inf", (0.0 if self.rounds is None else log(self.rounds),))

    def _asked(self, rounds: int | None, best_loss: float | None) -> tuple[int, float]:
        return super()._asked(self.rounds if rounds is None else rounds, best_loss)

    def _published(self, rounds: int, best: float) -> tuple[Terms, str]:
        n, s = self.n, log(rounds + e - 1.0 if self.rounds is None else self.rounds)
        # g^2 grows by v/s + v^2/(4 g^2 s^2) <= v/s (1 + 1/(16 s)) in a round, where s >= 1 without rounds.
        spent = 17.0 / 16.0 * self.inverse_logs(rounds) if self.rounds is None else (1.0 + 0.0625 / s) * rounds / s
        grown = sqrt(n * (4.0 * n + (1.0 - 1.0 / n) * spent))
        # The bound holds for every b that leaves a positive probability for every arm.
        b = min(grown / (n - 1), 0.5 * rounds / n)
        terms = {
            "range": grown * log(rounds / b) - 2.0 * n * log(n),
            "drift": 2.0 * _CURVE * s * (grown - 2.0 * n),
            "bias": (n - 1) * b,
        }
        kind = "without rounds" if self.rounds is None else "with rounds"
        return terms, f"LB-INF {kind}, after Ito 2021, proved in docs/mathematics.md"

    @staticmethod
    def inverse_logs(rounds: int) -> float:
        """Return an upper bound on sum_(t <= T) 1/ln(t + e - 1): blocks are bounded by their first term.

        Parameters
        ----------
        rounds : int
            Number of rounds.

        Returns
        -------
        float
            Upper bound on the sum.

        Examples
        --------
        >>> LBInf.inverse_logs(1), round(LBInf.inverse_logs(10_000), 1)
        (1.0, 1245.2)
        """
        total, t = 0.0, 1
        while t <= rounds:
            many = min(max(1, t // 256), rounds + 1 - t)
            total += many / log(t + e - 1.0)
            t += many
        return total
