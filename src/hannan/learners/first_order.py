"""Green and Exp3Light: exponential weights for bandits, with a bound in the loss of the best arm."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from hannan import validation
from hannan.learners.learner import Weigher
from hannan.learners.memory import NamedArms
from hannan.learners.tuning import Schedule
from hannan.mathematics import bounds
from hannan.mathematics.bounds import Proved, Sense, Terms
from hannan.saving import frozen

if TYPE_CHECKING:
    from hannan.learners.learner import Arms

_PROOF = "proved in docs/proofs/bandits.md, section 8"


@frozen(repr=False)
class Green(NamedArms):
    """Bandit that does not play arms of small probability, so that no estimated loss exceeds 1/threshold.

    Without a threshold this is Exp3, which has a bound of the same size (`Bandit` with `Entropy` and `BestLoss`).

    Parameters
    ----------
    n : int or sequence of str
        Number of arms, or their names, which `arms` then contains.
    scale : float, optional
        Number > 0. A larger scale changes the play more slowly. Default: the one with the smallest bound for `rounds`
        and `best_loss`.
    threshold : float, optional
        Arms whose probability is smaller are not played in the round. A number < 1/n. Default: 1/(2 `rounds`), or
        1/(2 n) if there are fewer than n rounds.
    rounds : int, optional
        Number of rounds for which omitted parameters are tuned.
    best_loss : float, optional
        Cumulative loss of the best arm for which an omitted scale is tuned; for gains, its gain. Default: `rounds`.
    loss_range : tuple of float, default (0.0, 1.0)
        Range of the losses, or of the gains. A loss outside of the range raises ValueError.
    gains : bool, default False
        If True, larger values are better.
    arms : tuple of str, optional
        Names of the arms.

    Notes
    -----
    p_i ~ e^(-Lhat_i/scale). Arms with p_i < threshold are dropped from the draw, and the others are renormalized to q;
    lhat_i = l_i/q_i of the drawn arm. With k = 1 - (n-1) threshold,

        R <= (L* + scale ln n + n L*/(2 scale) + (n-1) (ln(1/threshold)/2 + 1))/k - L*.

    The reference leaves the parameters to the user, as sequences; here both are constant, and the defaults are chosen
    for the smallest bound. It also observes losses only in some rounds, and bounds losses of unknown range; neither is
    implemented.

    References
    ----------
    Allenberg, Auer, Gyorfi and Ottucsak, Hannan consistency in on-line learning in case of unbounded losses under
    partial monitoring, ALT 2006.

    Examples
    --------
    >>> learner = Green(8, rounds=10_000, best_loss=100)
    >>> print(learner)
    Green(8, rounds=10000, best_loss=100.0)
    >>> round(learner.bound(10_000, best_loss=100).value, 1)
    99.4
    >>> Green(4, scale=3.0, threshold=0.1).start(seed=0).distribution().tolist()
    [0.25, 0.25, 0.25, 0.25]
    """

    n: Arms
    scale: float | None = None
    threshold: float | None = None
    rounds: int | None = None
    best_loss: float | None = None
    loss_range: tuple[float, float] = (0.0, 1.0)
    gains: bool = False

    _sense: ClassVar[Sense | None] = "arm"
    _proved: ClassVar[Proved] = "whole"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rounds is not None:
            object.__setattr__(self, "rounds", validation.count(self.rounds, "rounds"))
        for name in ("scale", "threshold"):
            given = getattr(self, name)
            if given is not None:
                object.__setattr__(self, name, validation.positive(given, name))
            elif self.rounds is None:
                raise ValueError(f"{name} or rounds is required: pass {name}=, or rounds= to tune it; got neither")
        if self.threshold is not None and not self.threshold < 1.0 / self.n:
            raise ValueError(
                f"threshold must be < 1/n = {1.0 / self.n:g}, so that an arm remains; got {self.threshold}"
            )
        if self.best_loss is not None:
            object.__setattr__(self, "best_loss", validation.real(self.best_loss, "best_loss"))
            if self._tuned_best <= 0.0:
                most = self.in_units(0.0, self.rounds or 0)
                raise ValueError(
                    f"best_loss must be worse than {most:g}, the best possible total; got {self.best_loss!r}"
                )

    @property
    def _tuned_best(self) -> float:
        """L* of the tuning, for losses in [0, 1]."""
        if self.best_loss is None:
            return float(self.rounds or 1)
        return self._normalised(self.best_loss, self.rounds, "best_loss")

    @property
    def cutoff(self) -> float:
        """Probability below which an arm is not played."""
        if self.threshold is not None:
            return self.threshold
        return 0.5 / max(self.rounds or 1, self.n)

    def schedule(self) -> Schedule:
        if self.scale is not None or self._trivial:
            return Schedule.constant(self.scale or 1.0)
        return Schedule.constant(bounds.exp3_first_order_scale(self.n, self._tuned_best))

    def _weigher(self) -> Weigher:
        return Weigher("green", (self.cutoff,))

    def _published(self, rounds: int, best: float) -> tuple[Terms, str]:
        n, scale = self.n, self.schedule().scale(1, 0.0)
        dropped = (n - 1) * self.cutoff
        terms = {
            "range": scale * math.log(n),
            "n L*/(2 scale)": 0.5 * n * best / scale,
            "(n-1) (ln(1/threshold)/2 + 1)": (n - 1) * (0.5 * math.log(1.0 / self.cutoff) + 1.0),
        }
        own = (best + math.fsum(terms.values())) / (1.0 - dropped)
        return {
            **terms,
            "dropped arms": dropped * min(own, float(rounds)),
        }, f"Green, after Allenberg et al. 2006, {_PROOF}"


@frozen(repr=False)
class Exp3Light(NamedArms):
    """Bandit without any number known in advance, whose regret follows the loss of the best arm.

    Parameters
    ----------
    n : int or sequence of str
        Number of arms, or their names, which `arms` then contains.
    loss_range : tuple of float, default (0.0, 1.0)
        Range of the losses, or of the gains. A loss outside of the range raises ValueError.
    gains : bool, default False
        If True, larger values are better.
    arms : tuple of str, optional
        Names of the arms.

    Notes
    -----
    Exp3 in epochs: p_i ~ e^(-Lhat_i/(c 2^r)), epoch r is the first with min Lhat <= 4^r, and c = sqrt(3n/(8 ln n)).
    The published algorithm forgets its estimates when an epoch starts, and its c depends on the number of rounds; here
    the estimates are kept, and c minimizes the bound. With a = ln(1 + 4 L*)/ln 4, b = a/4 + 1/2 and T rounds,

        R <= sqrt(6 n L* ln n) + c ln n + n/(2c) + n (b ln(T/b) + b + a + 1).

    References
    ----------
    Stoltz, Incomplete information and internal regret in prediction of individual sequences, thesis, Universite
    Paris-Sud, 2005.

    Examples
    --------
    >>> Exp3Light(["red", "blue"]).start(seed=1).act().arm
    'blue'
    >>> round(Exp3Light(8).bound(10_000).value, 1), round(Exp3Light(8).bound(10_000, best_loss=100).value, 1)
    (1254.0, 271.7)
    """

    n: Arms
    loss_range: tuple[float, float] = (0.0, 1.0)
    gains: bool = False

    _sense: ClassVar[Sense | None] = "arm"
    _proved: ClassVar[Proved] = "whole"

    @property
    def _first(self) -> float:
        """Scale of the first epoch."""
        return math.sqrt(3.0 * self.n / (8.0 * math.log(self.n))) if self.n > 1 else 1.0

    def _weigher(self) -> Weigher:
        return Weigher("exp3_light", (self._first,))

    def _published(self, rounds: int, best: float) -> tuple[Terms, str]:
        n, c = self.n, self._first
        epochs = math.log(1.0 + 4.0 * best, 4.0)
        half = min(0.25 * epochs + 0.5, float(rounds))
        terms = {
            "sqrt(6 n L* ln n)": math.sqrt(6.0 * n * best * math.log(n)),
            "first epoch": c * math.log(n) + 0.5 * n / c,
            "epochs": n * (half * math.log(rounds / half) + half + epochs + 1.0),
        }
        return terms, f"Exp3Light, after Stoltz 2005, {_PROOF}"
