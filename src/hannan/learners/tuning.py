"""Tunings: rules that set the scale. Each learner accepts the tunings for which its bounds are proved.

The engine plays every rule as a `Schedule`,

    scale_t = c sqrt(a + b t + d own_t),

where t is the round to be played (the first is 1) and own_t is the learner's own loss before it, for losses in [0, 1].
"""

from __future__ import annotations

import math
from typing import ClassVar, Literal, NamedTuple

from hannan import validation
from hannan.mathematics import bounds
from hannan.saving import frozen
from hannan.saving.formatting import figure

Order = Literal["given", "zero", "first"]


class Schedule(NamedTuple):
    """Schedule scale_t = c sqrt(a + b t + d own_t).

    >>> Schedule.constant(2.0).scale(round=9, own=4.0), Schedule(2.0, b=1.0).scale(round=9, own=4.0)
    (2.0, 6.0)
    """

    c: float
    a: float = 0.0
    b: float = 0.0
    d: float = 0.0

    @classmethod
    def constant(cls, scale: float) -> Schedule:
        """Return a schedule with the same scale in every round."""
        return cls(scale, 1.0)

    @property
    def is_constant(self) -> bool:
        """True if the scale is the same in every round."""
        return self.b == 0.0 and self.d == 0.0

    def scale(self, round: int, own: float) -> float:
        """Return the scale of a round, given the loss of the learner before the round."""
        return self.c * math.sqrt(self.a + self.b * round + self.d * own)

    def __str__(self) -> str:
        if self.is_constant:
            return f"scale = {figure(self.c * math.sqrt(self.a))}"
        if self.d == 0.0:
            inside = "t" if (self.a, self.b) == (0.0, 1.0) else f"{self.a:g} + {self.b:g} t"
            return f"scale_t = {figure(self.c)} sqrt({inside})"
        return f"scale_t = {figure(self.c)} sqrt(1 + own loss)"


@frozen
class Tuning:
    """Rule that sets the scale. A user-defined tuning of zero order defines its fields and `schedule`."""

    #: Quantities that determine the scale. "given": none, the scale is a number. "zero": range and variance of the
    #: smoothing, by `schedule`; every bound in the number of rounds then holds. "first": rate and best, or own, loss.
    order: ClassVar[Order] = "zero"
    #: True for one scale that is tuned for a best loss: `told_best` or, if only the rounds are given, their number.
    by_best_loss: ClassVar[bool] = False

    @property
    def told_rounds(self) -> int | None:
        """Number of rounds that the tuning states, or None."""
        return getattr(self, "rounds", None)

    @property
    def told_best(self) -> float | None:
        """Best loss that the tuning assumes, in the units of the losses, or None."""
        return None

    @property
    def told_factor(self) -> float | None:
        """Factor c of scale_t = c sqrt(t), if the tuning has this form and states c; otherwise None."""
        return None

    @property
    def last_round(self) -> int | None:
        """Last round that the scale is tuned for; None if there is none."""
        return None

    def schedule(self, spread: float, variance: float) -> Schedule:
        """Return scale_t = c sqrt(a + b t), which must not decrease.

        The range of the smoothing is scale * `spread`, and the drift of a round is at most variance/(2 scale).
        """
        raise NotImplementedError(f"{type(self).__name__} must define schedule(spread, variance)")


def check_tuning(tuning: object) -> None:
    """Raise ValueError if an object is not a tuning."""
    if not isinstance(tuning, Tuning):
        raise ValueError(f"tuning must be Fixed, Horizon, BestLoss, Anytime or SelfConfident; got {tuning!r}")


@frozen
class Fixed(Tuning):
    """Scale chosen by the user, the same in every round.

    Parameters
    ----------
    scale : float
        Number > 0. A larger scale changes the play more slowly.

    Examples
    --------
    >>> Fixed(2)
    Fixed(scale=2.0)
    """

    scale: float

    order: ClassVar[Order] = "given"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", validation.positive(self.scale, "scale"))

    def schedule(self, spread: float = 0.0, variance: float = 0.0) -> Schedule:
        return Schedule.constant(self.scale)


@frozen
class Horizon(Tuning):
    """Scale with the smallest bound for a number of rounds known in advance. After these rounds the bound is withheld.

    Parameters
    ----------
    rounds : int
        Number of rounds. The same bound holds for fewer rounds.

    Notes
    -----
    scale_t = sqrt(v T/(2 G)), for a smoothing with range G at scale 1 and a drift of at most v/(2 scale) per round.

    Examples
    --------
    >>> import hannan as hn
    >>> round(hn.Experts(10, hn.Entropy(), hn.Horizon(1000)).bound().value, 2)  # sqrt(T ln n/2)
    33.93
    """

    rounds: int

    by_best_loss: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "rounds", validation.count(self.rounds, "rounds"))

    @property
    def last_round(self) -> int | None:
        return self.rounds

    def schedule(self, spread: float, variance: float) -> Schedule:
        return Schedule.constant(bounds.horizon_scale(spread, variance, self.rounds))


@frozen
class BestLoss(Tuning):
    """Scale for a best cumulative loss that stays below a bound known in advance.

    The bound on the regret states the condition on the best loss. If the play refutes the condition, the certificate
    withholds the bound.

    Parameters
    ----------
    bound : float
        Upper bound on the best cumulative loss, in the units of the losses; for gains, a lower bound on the best gain.
    rounds : int, optional
        Number of rounds, required by the log-barrier and by losses whose range does not start at 0.

    Notes
    -----
    scale_t is constant and proportional to sqrt(bound).

    Examples
    --------
    >>> import hannan as hn
    >>> round(hn.Experts(10, tuning=hn.BestLoss(100)).bound().value, 2)
    21.57
    """

    bound: float
    rounds: int | None = None

    order: ClassVar[Order] = "first"
    by_best_loss: ClassVar[bool] = True

    @property
    def told_best(self) -> float | None:
        return self.bound

    def __post_init__(self) -> None:
        bound = validation.real(self.bound, "bound")
        if bound <= 0.0 and self.rounds is None:
            raise ValueError(f"BestLoss needs a bound > 0 (0 would tune to an infinite rate); got {self.bound!r}")
        object.__setattr__(self, "bound", bound)
        if self.rounds is not None:
            object.__setattr__(self, "rounds", validation.count(self.rounds, "rounds"))


@frozen
class Anytime(Tuning):
    """Scale that grows with the rounds, whose number need not be known in advance.

    Parameters
    ----------
    factor : float, optional
        Factor c. Default: the one with the smallest proved bound.

    Notes
    -----
    scale_t = c sqrt(t).

    Examples
    --------
    >>> import hannan as hn
    >>> str(hn.Bandit(10, hn.Tsallis(0.5), hn.Anytime()).schedule())
    'scale_t = 1.209 sqrt(t)'
    """

    factor: float | None = None

    def __post_init__(self) -> None:
        if self.factor is not None:
            object.__setattr__(self, "factor", validation.positive(self.factor, "factor"))

    @property
    def told_factor(self) -> float | None:
        return self.factor

    def schedule(self, spread: float, variance: float) -> Schedule:
        return Schedule(self.factor or bounds.anytime_factor(spread, variance), b=1.0)


@frozen
class SelfConfident(Tuning):
    """Scale that grows with the learner's own loss: a small-loss bound without any number known in advance.

    Parameters
    ----------
    rounds : int, optional
        Number of rounds, required by the log-barrier only, whose range depends on it.

    Notes
    -----
    scale_t = c sqrt(1 + own loss before round t), with c from the rate and the range of the smoothing.

    Examples
    --------
    >>> import hannan as hn
    >>> str(hn.Experts(10, hn.Entropy(), hn.SelfConfident()).schedule())
    'scale_t = 0.659 sqrt(1 + own loss)'
    """

    rounds: int | None = None

    order: ClassVar[Order] = "first"

    def __post_init__(self) -> None:
        if self.rounds is not None:
            object.__setattr__(self, "rounds", validation.count(self.rounds, "rounds"))


class ClippedSchedule(NamedTuple):
    """Clipped schedule a_t = min(1/2, kappa (1 + own_t)^(-1/3)), rho_t = a_t/(K-1), scale_t = h (K-1)/(2 a_t^2)."""

    kappa: float
    rate: float
    others: int

    @property
    def is_constant(self) -> bool:
        """False, because the scale depends on the loss of the learner."""
        return False

    def _a(self, own: float) -> float:
        return min(0.5, self.kappa * math.pow(1.0 + own, -1.0 / 3.0))

    def rho(self, own: float) -> float:
        """Return the clipping threshold, given the loss of the learner before the round."""
        return self._a(own) / self.others

    def scale(self, round: int, own: float) -> float:
        """Return the scale of a round, given the loss of the learner before the round."""
        return self.rate * self.others / (2.0 * self._a(own) ** 2)

    def __str__(self) -> str:
        scale = self.rate * self.others / 2.0
        return f"a_t = min(1/2, {figure(self.kappa)} (1 + own loss)^(-1/3)), scale_t = {figure(scale)}/a_t^2"
