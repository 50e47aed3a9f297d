"""Slates: choose m of n items per round and observe the losses of the chosen items."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from hannan import saving, validation
from hannan.learners.bandits import Bandit
from hannan.learners.estimators import Estimator, ImplicitExploration, ImportanceWeighted, ReducedVariance
from hannan.learners.fpl import MSets
from hannan.learners.learner import name_arms
from hannan.learners.tuning import Anytime, Fixed, Horizon, Schedule, Tuning
from hannan.mathematics import bounds, slates
from hannan.mathematics.bounds import Bound, Terms, Units, Whom, Withheld
from hannan.validation import Array

if TYPE_CHECKING:
    from hannan.players.slates import SlatePlayer

_THEOREM = "slates with the Tsallis regularizer, docs/proofs/slates.md"
#: Defaults: both are immutable.
_ANYTIME, _REDUCED = Anytime(), ReducedVariance()
#: Numbers of the estimators in the engine.
ESTIMATORS = {ImportanceWeighted: 0, ReducedVariance: 1, ImplicitExploration: 2}
#: Numbers of the draws in the engine.
DRAWS = {"systematic": 0, "conditional": 1}


def check_draw(draw: object) -> None:
    """Raise ValueError if `draw` is not the name of a draw."""
    if draw not in DRAWS:
        raise ValueError(f'draw must be "systematic" or "conditional"; got {draw!r}')


@dataclass(frozen=True, repr=False)
class SlateBandit(saving.Described):
    """Choose m of n items per round, and observe the losses of these items only.

    Each item is shown with an inclusion probability that is an exact multiple of 2^-52; all m items of a slate are
    different. With size 1 the learner is `Bandit(n)`.

    Parameters
    ----------
    n : int or list of str
        Number of items, or their names.
    size : int
        Number of items per slate.
    tuning : Anytime, Horizon or Fixed, optional
        Rule that sets the scale. Default: `Anytime()`, for which the number of rounds need not be known.
    estimator : Estimator, optional
        `ReducedVariance()` (default), `ImportanceWeighted()`, or `ImplicitExploration()`, whose bound holds even
        against an adaptive adversary. With `Horizon` its gamma may be omitted.
    loss_range : tuple of float
        Smallest and largest loss of an item.
    gains : bool
        Whether values are rewards (larger is better).
    draw : {"systematic", "conditional"}, optional
        Draw of the slate with the same inclusion probabilities. "systematic" (default) is exact and the fastest;
        "conditional" is the draw of maximum entropy, and reports the probability of the slate (`move.probability`).
    arms : tuple of str, optional
        Names of the items, set if `n` is a list of names.

    Notes
    -----
    x_t = argmin <Lhat_{t-1}, x> - 2 s_t sum sqrt(x_i) over 0 <= x <= 1 with sum x_i = m, and lhat_i = b_i + 1{i shown}
    (l_i - b_i)/x_i. With r = sqrt(m n) the regret is at most about 2 sqrt(T r (r - m)) (docs/proofs/slates.md). For
    the systematic draw, the probability of a slate is not reported: for items in random order it has no known closed
    form. The conditional draw is P(slate) = product of w_i over its items/e_m(w), with weights w that are fitted to x
    up to a relative difference of about 1e-12; the probabilities that are reported and used are those of the fitted
    draw.

    Examples
    --------
    >>> SlateBandit(8, 2).bound(10_000).value < 673
    True
    >>> move = SlateBandit(["a", "b", "c", "d"], 2).start(seed=0).act()
    >>> len(set(move.actions)), round(sum(move.probabilities), 12)
    (2, 1.0)
    >>> round(SlateBandit(4, 2, draw="conditional").start(seed=0).act().probability, 12)  # 1/6: six slates
    0.166666666667
    """

    n: Any
    size: int
    tuning: Tuning = _ANYTIME
    estimator: Estimator = _REDUCED
    loss_range: tuple[float, float] = (0.0, 1.0)
    gains: bool = False
    draw: Literal["systematic", "conditional"] = "systematic"
    #: Names of the items, if they have any.
    arms: tuple[str, ...] | None = field(default=None, repr=False)

    setting: ClassVar[str] = "decisions"
    #: Only the losses of the chosen items are observed.
    sees_all: ClassVar[bool] = False

    def __post_init__(self) -> None:
        name_arms(self)
        put = object.__setattr__
        put(self, "n", validation.count(self.n, "n"))
        put(self, "size", validation.count(self.size, "size"))
        if self.size > self.n:
            raise ValueError(f"size must be at most n = {self.n}; got {self.size}")
        if not isinstance(self.tuning, (Anytime, Horizon, Fixed)):
            raise ValueError(f"tuning must be Anytime, Horizon or Fixed for slates; got {self.tuning!r}")
        if type(self.estimator) not in ESTIMATORS:
            raise ValueError(
                "estimator must be ReducedVariance, ImportanceWeighted or ImplicitExploration for slates; "
                f"got {self.estimator!r}"
            )
        if self._has_no_gamma and not isinstance(self.tuning, Horizon):
            raise ValueError(
                f"gamma is required unless tuning is Horizon; pass hn.ImplicitExploration(gamma); got {self.tuning!r}"
            )
        put(self, "loss_range", validation.loss_range(self.loss_range, validation.LARGEST_LOSS))
        if not isinstance(self.gains, bool):
            raise ValueError(f"gains must be True or False; got {self.gains!r}")
        check_draw(self.draw)

    @classmethod
    def robust(cls, n: Any, size: int, rounds: int, **options: Any) -> SlateBandit:
        """Return the learner whose bound holds even against an adaptive adversary.

        Parameters
        ----------
        n : int or list of str
            Number of items, or their names.
        size : int
            Number of items per slate.
        rounds : int
            Number of rounds.
        **options
            `loss_range`, `gains` and `draw`.

        Returns
        -------
        SlateBandit
            With `Horizon(rounds)` and implicit exploration.

        Examples
        --------
        >>> round(SlateBandit.robust(8, 2, 10_000).bound(against="any").value)
        1466
        """
        return cls(n, size, Horizon(rounds), ImplicitExploration(), **options)

    @property
    def _has_no_gamma(self) -> bool:
        return isinstance(self.estimator, ImplicitExploration) and self.estimator.gamma is None

    @property
    def has_baselines(self) -> bool:
        """True if estimates have a baseline per item."""
        return type(self.estimator) is ReducedVariance

    @property
    def exploration(self) -> float:
        """Parameter gamma of implicit exploration; 0 for other estimators."""
        if isinstance(self.tuning, Horizon) and self._has_no_gamma:
            return slates.implicit_gamma(self.n, self.size, self.tuning.rounds)
        return self.estimator.exploration

    def __repr__(self) -> str:
        parts = [repr(list(self.arms) if self.arms else self.n), repr(self.size)]
        defaults = {
            "tuning": Anytime(), "estimator": ReducedVariance(), "loss_range": (0.0, 1.0), "gains": False,
            "draw": "systematic",
        }  # fmt: skip
        parts += [f"{name}={value!r}" for name in defaults if (value := getattr(self, name)) != defaults[name]]
        return f"SlateBandit({', '.join(parts)})"

    @property
    def decisions(self) -> MSets:
        """The set of all slates."""
        return MSets(self.n, self.size)

    @property
    def units(self) -> Units:
        """Units of the losses or rewards."""
        return Units.of(self.loss_range, self.gains)

    @property
    def width(self) -> float:
        """Width of the range of losses."""
        return self.loss_range[1] - self.loss_range[0]

    def schedule(self) -> Schedule:
        """Return the scale of each round.

        Returns
        -------
        Schedule
            The scale as a function of the round.
        """
        n, m, tuning = self.n, self.size, self.tuning
        if m == n:
            return Schedule.constant(1.0)
        reduced = self.has_baselines
        if isinstance(tuning, Fixed):
            return Schedule.constant(tuning.scale)
        if isinstance(tuning, Horizon):
            if reduced:
                return Schedule.constant(slates.reduced_variance_scale(n, m, tuning.rounds))
            return Schedule.constant(slates.importance_weighted_scale(n, m, tuning.rounds))
        factor = slates.reduced_variance_factor(n, m)
        if not reduced:
            r = slates.root(n, m)
            factor = math.sqrt(r / (r - m))
        return Schedule(tuning.told_factor or factor, b=1.0)

    # Bounds

    def bound(
        self, rounds: int | None = None, best_loss: float | None = None, *, printed: bool = False,
        against: Whom = None, restricted: int = 0,
    ) -> Bound:  # fmt: skip
        """Return the smallest proved bound on the expected regret.

        Parameters
        ----------
        rounds : int, optional
            Number of rounds. Default: that of `Horizon`.
        best_loss : float, optional
            Not used: no bound here depends on the loss of the best slate.
        printed : bool
            Not available: the paper has no slates.
        against : {"adaptive", "oblivious", "iid"}, optional
            Adversary the bound must hold against. Default: whichever gives the smallest bound.
        restricted : int, optional
            Number of rounds in which some items were unavailable. In these rounds, the regret compares with a slate
            whose unavailable items are replaced (docs/proofs/slates.md, section 6).

        Returns
        -------
        Bound
            Value, terms, theorem and adversary.

        Raises
        ------
        Withheld
            If no such bound is proved.
        """
        if printed:
            raise Withheld("the paper has no bound for SlateBandit; got printed=True")
        against = None if against is None else bounds.checked(against)
        horizon = self.tuning.last_round
        if rounds is None:
            if horizon is None:
                raise ValueError("rounds is required: the bound depends on the number of rounds")
            rounds = horizon
        rounds = validation.count(rounds, "rounds", least=0)
        if horizon is not None and rounds > horizon:
            raise Withheld(f"{self.tuning!r} is tuned for {horizon} rounds; no bound is proved for {rounds}")
        restricted = validation.count(restricted, "restricted", least=0)
        if restricted > rounds:
            raise ValueError(f"restricted must be at most rounds = {rounds}; got {restricted}")
        if self.size == self.n or rounds == 0:
            return bounds.nothing()
        return self._proved(rounds, against, restricted).asked(against)

    def _proved(self, rounds: int, against: Whom, restricted: int) -> Bound:
        n, m, schedule = self.n, self.size, self.schedule()
        most = rounds * self.width * m
        if (
            restricted == 0
            and m == 1
            and type(self.estimator) is ReducedVariance
            and not isinstance(self.tuning, Fixed)
        ):
            tuning = self.tuning if isinstance(self.tuning, Horizon) else None
            if tuning is not None or self.tuning == Anytime():
                single = Bandit(n, tuning=tuning) if tuning is not None else Bandit(n)
                return single.bound(rounds).times(self.width)

        def scale(t: Array) -> Array:
            return np.asarray(schedule.c * np.sqrt(schedule.a + schedule.b * t))

        terms: Terms
        reduced = self.has_baselines
        more = slates.unavailable(n, m, scale, restricted, reduced) if restricted else {}
        if reduced:
            constant = schedule.scale(1, 0.0)
            if schedule.is_constant:
                terms = slates.reduced_variance_constant(n, m, constant, rounds)
            else:
                terms = slates.reduced_variance(n, m, scale, rounds)
            return self._stated(terms | more, "oblivious", most)
        if type(self.estimator) is ImportanceWeighted:
            return self._stated(slates.importance_weighted(n, m, scale, rounds) | more, "oblivious", most)
        if not schedule.is_constant:
            raise Withheld(f"implicit exploration has a bound for Horizon and Fixed; got {self.tuning!r}")
        terms = slates.implicit(n, m, schedule.scale(1, 0.0), self.exploration, rounds)
        if against != "any":
            # Against a slate that is fixed in advance the last term is not needed.
            return self._stated(dict(list(terms.items())[:-1]) | more, "oblivious", most)
        return self._stated(terms | more, "any", most)

    def _stated(self, terms: Terms, against: bounds.Against, most: float) -> Bound:
        if self.draw == "conditional":
            terms = slates.fitted(terms, self.size, round(most / (self.width * self.size)))
        value = bounds.rounded_up(math.fsum(terms.values())) * self.width
        if value >= most:
            return bounds.trivial(most, "rounds x range x size")
        schedule = self.schedule()
        scale = schedule.scale(1, 0.0) if schedule.is_constant else None
        terms = {name: term * self.width for name, term in terms.items()}
        sense: bounds.Sense = "draws" if against == "any" else "slate"
        if against != "any" and "unavailable items" in terms:
            sense = "available_slate"
        return Bound(value, terms, _THEOREM, scale, str(schedule), sense=sense, against=against)

    # Play

    def run(self, words: Any) -> Any:
        """Return a run of the engine that draws from this stream.

        Parameters
        ----------
        words : array_like of int
            Four words of the random stream.

        Returns
        -------
        object
            Run of the engine.
        """
        from hannan import _engine

        schedule = self.schedule()
        return _engine.Slates(
            n=self.n, m=self.size, c=schedule.c, a=schedule.a, b=schedule.b,
            estimator=ESTIMATORS[type(self.estimator)], gamma=self.exploration, words=words, draw=DRAWS[self.draw],
        )  # fmt: skip

    def start(self, seed: int | None = None, name: str | None = None) -> SlatePlayer:
        """Start a live player.

        Parameters
        ----------
        seed : int, optional
            Seed of the moves, for experiments. Default: randomness of the operating system.
        name : str, optional
            Name of the player in its tickets.

        Returns
        -------
        SlatePlayer
            The player.
        """
        from hannan.players.slates import SlatePlayer

        return SlatePlayer(self, seed, name)
