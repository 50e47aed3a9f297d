"""Tunings: the rules that set the scale. Which learner takes which is the learner's to say.

Whatever the rule, what the compiled loop plays with is a `Schedule`,

    scale_t = c sqrt(a + b t + d own_t),

t the round about to be played (the first is 1), own_t the learner's own loss before it, losses in [0, 1].
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
    """scale_t = c sqrt(a + b t + d own_t).

    >>> Schedule.constant(2.0).scale(round=9, own=4.0), Schedule(2.0, b=1.0).scale(round=9, own=4.0)
    (2.0, 6.0)
    """

    c: float
    a: float = 0.0
    b: float = 0.0
    d: float = 0.0

    @classmethod
    def constant(cls, scale: float) -> Schedule:
        """The same scale in every round."""
        return cls(scale, 1.0)

    @property
    def is_constant(self) -> bool:
        """Whether the scale never changes."""
        return self.b == 0.0 and self.d == 0.0

    def scale(self, round: int, own: float) -> float:
        """The scale of a round, given the learner's own loss before it."""
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
    """A rule that sets the scale. One of your own that is zero order is a file: its fields and its `schedule`."""

    #: What the scale is made of. "given": nothing, it is a number. "zero": the range and the variance of the smoothing,
    #: by `schedule`, and then every bound in the rounds holds for it. "first": its rate and the best loss, or the own.
    order: ClassVar[Order] = "zero"
    #: Whether it is one scale, the best for a best loss: `told_best`, or where it was told rounds alone, as if all of
    #: them were lost. A learner whose bound follows the best loss then tunes by that.
    by_best_loss: ClassVar[bool] = False

    @property
    def told_rounds(self) -> int | None:
        """The number of rounds that it was told, where it was."""
        return getattr(self, "rounds", None)

    @property
    def told_best(self) -> float | None:
        """The best loss that it counts on, in the units of the losses, where it was told one."""
        return None

    @property
    def told_factor(self) -> float | None:
        """c of scale_t = c sqrt(t), where it is of that form and was told c."""
        return None

    @property
    def last_round(self) -> int | None:
        """The round past which the scale is none that was tuned for; None where there is no such round."""
        return None

    def schedule(self, spread: float, variance: float) -> Schedule:
        """c, a and b of scale_t = c sqrt(a + b t), for a smoothing whose range is scale x `spread` and whose rounds
        cost at most variance/(2 scale) each. It must not fall."""
        raise NotImplementedError(f"{type(self).__name__} must define schedule(spread, variance)")


def check_tuning(tuning: object) -> None:
    """Refuse what is given for a tuning and is none."""
    if not isinstance(tuning, Tuning):
        raise ValueError(f"tuning must be Fixed, Horizon, BestLoss, Anytime or SelfConfident; got {tuning!r}")


@frozen
class Fixed(Tuning):
    """A scale chosen by hand, the same in every round.

    scale_t = scale.

    `scale`: above 0; larger is steadier.

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
    """The scale that is best for a number of rounds told beforehand. Past them the bound is withheld.

    scale_t = sqrt(v T/(2 G)), for a smoothing whose range is G at scale 1 and whose rounds cost at most v/(2 scale)
    each.

    `rounds`: how many will be played; fewer may be, under the same bound.

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
    """The scale that is best while the best cumulative loss stays below a bound told beforehand.

    scale_t is one number, proportional to sqrt(bound). The bound on the regret holds if the best loss is as told, and
    says so; where play refutes it, a certificate withholds it.

    `bound`: on the best cumulative loss, in the units of the losses (for gains: the best cumulative gain is at least
    `bound`). `rounds`: needed by the log-barrier, and by losses whose range does not start at 0.

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
    """A scale that grows with the rounds, so that their number need not be known beforehand.

    scale_t = c sqrt(t).

    `factor`: c; left out, the one with the least proved bound.

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
    """A scale that grows with the learner's own loss: the regret follows the best loss, and nothing is told beforehand.

    scale_t = c sqrt(1 + own loss before round t), c from the rate and the range of the smoothing.

    `rounds`: needed by the log-barrier only, whose range depends on it.

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
    """a_t = min(1/2, kappa (1 + own_t)^(-1/3)), rho_t = a_t/(K-1), scale_t = h (K-1)/(2 a_t^2)."""

    kappa: float
    rate: float
    others: int

    @property
    def is_constant(self) -> bool:
        """Never: the scale follows the learner's own loss."""
        return False

    def _a(self, own: float) -> float:
        return min(0.5, self.kappa * math.pow(1.0 + own, -1.0 / 3.0))

    def rho(self, own: float) -> float:
        """The clipping threshold, given the learner's own loss before the round."""
        return self._a(own) / self.others

    def scale(self, round: int, own: float) -> float:
        """The scale of a round, given the learner's own loss before it."""
        return self.rate * self.others / (2.0 * self._a(own) ** 2)

    def __str__(self) -> str:
        scale = self.rate * self.others / 2.0
        return f"a_t = min(1/2, {figure(self.kappa)} (1 + own loss)^(-1/3)), scale_t = {figure(scale)}/a_t^2"
