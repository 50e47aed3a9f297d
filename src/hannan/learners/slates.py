"""Slates: choose m of n items per round, and observe the losses of the chosen items, or of all items."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from hannan import saving, validation
from hannan.learners.bandits import Bandit
from hannan.learners.estimators import Estimator, ImplicitExploration, ImportanceWeighted, ReducedVariance
from hannan.learners.fpl import MSets, RankedSets
from hannan.learners.learner import asked_rounds, name_arms
from hannan.learners.tuning import Anytime, BestLoss, Fixed, Horizon, Schedule, SelfConfident, Tuning
from hannan.mathematics import bounds, slates
from hannan.mathematics.bounds import Bound, Terms, Units, Whom, Withheld
from hannan.mathematics.laws.light import Exponential
from hannan.mathematics.regularizers import Entropy, Tsallis
from hannan.mathematics.slates import Constants
from hannan.mathematics.smoothing import Smoothing
from hannan.validation import Array

if TYPE_CHECKING:
    from hannan.players.slates import SlateExpertsPlayer, SlatePlayer

Draw = Literal["systematic", "conditional", "leaders"]

_PROOFS = "docs/proofs/slates.md"
_TSALLIS_THEOREM = f"slates with the Tsallis regularizer, {_PROOFS}"
_LEADERS_THEOREM = f"slates of leaders under exponential noise, {_PROOFS}, Theorem 5"
_RANKED_THEOREM = f"slates of leaders under exponential noise with position weights, {_PROOFS}, Theorem 10"
#: Theorems of `SlateExperts`, by play.
_ALL_OBSERVED = {
    "entropy": f"capped entropy, {_PROOFS}, Theorem 6",
    "left_out": f"capped entropy of the omitted items, {_PROOFS}, Theorem 6",
    "hedge": f"Hedge over all slates, {_PROOFS}, Theorem 7",
    "leaders": f"leaders under exponential noise, {_PROOFS}, Theorem 8",
}
_FIRST_ORDER = f"first-order bound of slates, {_PROOFS}, Theorem 9"
#: Defaults: all are immutable.
_ANYTIME, _TSALLIS, _ENTROPY = Anytime(), Tsallis(0.5), Entropy()
#: Numbers of the estimators, the draws and the plays in the engine.
ESTIMATORS = {ImportanceWeighted: 0, ReducedVariance: 1, ImplicitExploration: 2}
DRAWS = {"systematic": 0, "conditional": 1, "leaders": 2}
PLAYS = {"tsallis": 0, "entropy": 1, "left_out": 2, "hedge": 3, "leaders": 4}


class SlateLearner(saving.Described):
    """Base class of learners of slates: validation, units, and the arguments of `bound`."""

    n: Any
    size: int
    smoothing: Smoothing
    tuning: Tuning
    loss_range: tuple[float, float]
    gains: bool
    draw: Any
    arms: tuple[str, ...] | None

    setting: ClassVar[str] = "decisions"
    #: True if the losses of all items are observed.
    sees_all: ClassVar[bool] = False

    def _check(self, draws: tuple[Draw, ...]) -> None:
        """Validate the common fields; the first of the possible draws is the default."""
        name_arms(self)
        put = object.__setattr__
        put(self, "n", validation.count(self.n, "n"))
        put(self, "size", validation.count(self.size, "size"))
        if self.size > self.n:
            raise ValueError(f"size must be at most n = {self.n}; got {self.size}")
        put(self, "loss_range", validation.loss_range(self.loss_range, validation.LARGEST_LOSS))
        if not isinstance(self.gains, bool):
            raise ValueError(f"gains must be True or False; got {self.gains!r}")
        if self.draw is None:
            put(self, "draw", draws[0])
        elif self.draw not in draws:
            raise ValueError(f"draw must be {' or '.join(map(repr, draws))} for {self.smoothing!r}; got {self.draw!r}")

    def _defaults(self) -> dict[str, Any]:
        """Return the values that `repr` omits."""
        return {"tuning": Anytime(), "loss_range": (0.0, 1.0), "gains": False}

    def __repr__(self) -> str:
        parts = [repr(list(self.arms) if self.arms else self.n), repr(self.size)]
        parts += [f"{name}={value!r}" for name, usual in self._defaults().items()
                  if (value := getattr(self, name)) != usual]  # fmt: skip
        return f"{type(self).__name__}({', '.join(parts)})"

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

    @property
    def _has_one_slate(self) -> bool:
        return bool(self.size == self.n)

    def schedule(self) -> Schedule:
        """Return the scale of each round.

        Returns
        -------
        Schedule
            The scale as a function of the round.
        """
        return Schedule.constant(1.0) if self._has_one_slate else self._schedule()

    def _schedule(self) -> Schedule:
        raise NotImplementedError

    def _asked(self, rounds: int | None, printed: bool, against: Whom) -> tuple[int, Whom]:
        """Return the checked number of rounds and adversary of a bound."""
        if printed:
            raise Withheld(f"the paper has no bound for {type(self).__name__}; got printed=True")
        checked = None if against is None else bounds.checked(against)
        return asked_rounds(rounds, self.tuning.last_round, self.tuning), checked

    def _most(self, rounds: int) -> float:
        """Return the largest regret of any game."""
        return rounds * self.width * self.decisions.total_weight

    def _stated(
        self, terms: Terms, theorem: str, rounds: int, sense: bounds.Sense, against: bounds.Against
    ) -> Bound:  # fmt: skip
        """Return the bound in the user's units, rounded up, and at most the largest regret of any game."""
        if self._is_fitted:
            terms = slates.fitted(terms, self.size, rounds)
        value = bounds.rounded_up(math.fsum(terms.values())) * self.width
        if value >= self._most(rounds):
            of = "size" if type(self.decisions) is MSets else "weights"
            return bounds.trivial(self._most(rounds), f"rounds x range x {of}", "largest loss of a slate")
        schedule = self.schedule()
        scale = schedule.scale(1, 0.0) if schedule.is_constant else None
        terms = {name: term * self.width for name, term in terms.items()}
        return Bound(value, terms, theorem, scale, str(schedule), sense=sense, against=against)

    @property
    def rule(self) -> str:
        """Name of the rule in the engine."""
        raise NotImplementedError

    @property
    def _is_fitted(self) -> bool:
        """True if the inclusion probabilities are those of the play up to the tolerance of a fit."""
        return bool(self.draw == "conditional" and self.rule != "hedge")

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
            n=self.n, m=self.size, c=schedule.c, a=schedule.a, b=schedule.b, d=schedule.d, words=words,
            play=PLAYS[self.rule], draw=DRAWS[self.draw], all=self.sees_all, **self._estimates(),
        )  # fmt: skip

    def _estimates(self) -> dict[str, Any]:
        """Return the arguments of the engine that concern loss estimates."""
        return {"estimator": 0, "gamma": 0.0}


@dataclass(frozen=True, repr=False)
class SlateBandit(SlateLearner):
    """Choose m of n items per round, and observe the losses of these items only.

    All m items of a slate are different, and each is shown with a known inclusion probability; for the default draw it
    is an exact multiple of 2^-52. With size 1 the learner is `Bandit(n)`.

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
        against an adaptive adversary. With `Horizon` its gamma may be omitted. `ImportanceWeighted()` for leaders.
    loss_range : tuple of float
        Smallest and largest loss of an item.
    gains : bool
        Whether values are rewards (larger is better).
    draw : {"systematic", "conditional", "leaders"}, optional
        Draw of the slate with the same inclusion probabilities. "systematic" (default) is exact and the fastest;
        "conditional" is the draw of maximum entropy, and reports the probability of the slate (`move.probability`).
        "leaders", for `smoothing=Exponential()` only, shows the items with the smallest perturbed losses.
    arms : tuple of str, optional
        Names of the items, set if `n` is a list of names.
    smoothing : Smoothing, optional
        `Tsallis(0.5)` (default), or `Exponential()`: follow the perturbed leader, with exact inclusion probabilities.
    positions : sequence of float, optional
        Known weight of each position, nonincreasing and above 0, for `smoothing=Exponential()`. The loss of an item
        then counts with the weight of its position, and items are shown in the order of their perturbed losses.
        Default: positions do not matter, and the order is uniformly random.

    Notes
    -----
    x_t = argmin <Lhat_{t-1}, x> - 2 s_t sum sqrt(x_i) over 0 <= x <= 1 with sum x_i = m, and lhat_i = b_i + 1{i shown}
    (l_i - b_i)/x_i. With r = sqrt(m n) the regret is at most about 2 sqrt(T r (r - m)) (docs/proofs/slates.md). For
    the systematic draw, the probability of a slate is not reported: for items in random order it has no known closed
    form. The conditional draw is P(slate) = product of w_i over its items/e_m(w), with weights w that are fitted to x
    up to a relative difference of about 1e-12; the probabilities that are reported and used are those of the fitted
    draw. For leaders, the probabilities are integrals with a relative error of about 1e-13.

    Examples
    --------
    >>> SlateBandit(8, 2).bound(10_000).value < 673
    True
    >>> move = SlateBandit(["a", "b", "c", "d"], 2).start(seed=0).act()
    >>> len(set(move.actions)), round(sum(move.probabilities), 12)
    (2, 1.0)
    >>> round(SlateBandit(4, 2, draw="conditional").start(seed=0).act().probability, 12)  # 1/6: six slates
    0.166666666667
    >>> ranked = SlateBandit(8, 2, Horizon(10_000), smoothing=Exponential(), positions=[1.0, 0.5])
    >>> round(ranked.bound().value, 1)  # regret in losses of the first position
    576.4
    """

    n: Any
    size: int
    tuning: Tuning = _ANYTIME
    #: Replaced in __post_init__ if it is None, like `draw`.
    estimator: Any = None
    loss_range: tuple[float, float] = (0.0, 1.0)
    gains: bool = False
    draw: Any = None
    #: Names of the items, if they have any.
    arms: tuple[str, ...] | None = field(default=None, repr=False)
    smoothing: Smoothing = field(default=_TSALLIS, kw_only=True)
    positions: tuple[float, ...] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.smoothing not in (Tsallis(0.5), Exponential()):
            raise ValueError(f"smoothing must be Tsallis(0.5) or Exponential() for slates; got {self.smoothing!r}")
        self._check(("leaders",) if self._leads else ("systematic", "conditional"))
        if not isinstance(self.tuning, (Anytime, Horizon, Fixed)):
            raise ValueError(f"tuning must be Anytime, Horizon or Fixed for slates; got {self.tuning!r}")
        if self.estimator is None:
            object.__setattr__(self, "estimator", self._usual_estimator)
        if self._leads and type(self.estimator) is not ImportanceWeighted:
            raise ValueError(f"estimator must be ImportanceWeighted for Exponential(); got {self.estimator!r}")
        if type(self.estimator) not in ESTIMATORS:
            raise ValueError(
                "estimator must be ReducedVariance, ImportanceWeighted or ImplicitExploration for slates; "
                f"got {self.estimator!r}"
            )
        if self._has_no_gamma and not isinstance(self.tuning, Horizon):
            raise ValueError(
                f"gamma is required unless tuning is Horizon; pass hn.ImplicitExploration(gamma); got {self.tuning!r}"
            )
        if self.positions is not None:
            object.__setattr__(self, "positions", self._checked_positions(self.positions))

    def _checked_positions(self, given: Any) -> tuple[float, ...]:
        if not self._leads:
            raise ValueError(f"positions needs smoothing=hn.Exponential(); got {self.smoothing!r}")
        if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != self.size:
            raise ValueError(
                f"positions must have {self.size} weights, one per position; got {validation.brief(given)}"
            )
        weights = tuple(validation.positive(weight, "positions") for weight in given)
        if any(a < b for a, b in itertools.pairwise(weights)):
            raise ValueError(f"positions must not increase; got {validation.brief(list(weights))}")
        if self.size > MAX_POSITIONS:
            raise ValueError(f"positions supports a size of at most {MAX_POSITIONS}; got {self.size}")
        return weights

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
    def _leads(self) -> bool:
        return isinstance(self.smoothing, Exponential)

    @property
    def rule(self) -> str:
        return "leaders" if self._leads else "tsallis"

    @property
    def _usual_estimator(self) -> Estimator:
        return ImportanceWeighted() if self._leads else ReducedVariance()

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
        return float(self.estimator.exploration)

    def _defaults(self) -> dict[str, Any]:
        usual = super()._defaults()
        return {
            "tuning": usual.pop("tuning"), "estimator": self._usual_estimator, **usual,
            "draw": "leaders" if self._leads else "systematic", "smoothing": _TSALLIS, "positions": None,
        }  # fmt: skip

    @property
    def decisions(self) -> MSets:
        """The set of all slates, with the weights of the positions if there are any."""
        return RankedSets(self.n, self.size, self.positions) if self.positions else MSets(self.n, self.size)

    @property
    def _has_one_slate(self) -> bool:
        return self.size == self.n and (self.positions is None or len(set(self.positions)) == 1)

    @property
    def _leaders(self) -> Constants:
        """Constants of leaders with importance weighting: E D_t <= v/(2 s) with v = a_1 n (Theorems 5 and 10)."""
        weights = self.positions or (1.0,) * self.size
        return Constants(slates.ranked_leaders(self.n, weights), weights[0] * self.n)

    def _schedule(self) -> Schedule:
        n, m, tuning = self.n, self.size, self.tuning
        if isinstance(tuning, Fixed):
            return Schedule.constant(tuning.scale)
        if self._leads:
            return tuning.schedule(*self._leaders)
        reduced = self.has_baselines
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
        rounds, against = self._asked(rounds, printed, against)
        restricted = validation.count(restricted, "restricted", least=0)
        if restricted > rounds:
            raise ValueError(f"restricted must be at most rounds = {rounds}; got {restricted}")
        if restricted and self._leads:
            raise Withheld(f"no bound is proved for leaders if items are unavailable; got restricted={restricted}")
        if self._has_one_slate or rounds == 0:
            return bounds.nothing()
        return self._proved(rounds, against, restricted).asked(against)

    def _proved(self, rounds: int, against: Whom, restricted: int) -> Bound:
        n, m, schedule = self.n, self.size, self.schedule()
        if self._leads:
            terms = bounds.root(*self._leaders, schedule, rounds)
            theorem = _RANKED_THEOREM if self.positions else _LEADERS_THEOREM
            return self._stated(terms, theorem, rounds, "slate", "oblivious")
        plain = restricted == 0 and m == 1 and self.has_baselines
        if plain and (isinstance(self.tuning, Horizon) or self.tuning == Anytime()):
            single = Bandit(n) if self.tuning == Anytime() else Bandit(n, tuning=self.tuning)
            return single.bound(rounds).times(self.width)

        def scale(t: Array) -> Array:
            return np.asarray(schedule.c * np.sqrt(schedule.a + schedule.b * t))

        sense: bounds.Sense = "available_slate" if restricted else "slate"
        reduced = self.has_baselines
        more = slates.unavailable(n, m, scale, restricted, reduced) if restricted else {}
        if reduced and schedule.is_constant:
            terms = slates.reduced_variance_constant(n, m, schedule.scale(1, 0.0), rounds)
        elif reduced:
            terms = slates.reduced_variance(n, m, scale, rounds)
        elif type(self.estimator) is ImportanceWeighted:
            terms = slates.importance_weighted(n, m, scale, rounds)
        elif not schedule.is_constant:
            raise Withheld(f"implicit exploration has a bound for Horizon and Fixed; got {self.tuning!r}")
        else:
            terms = slates.implicit(n, m, schedule.scale(1, 0.0), self.exploration, rounds)
            if against == "any":
                return self._stated(terms | more, _TSALLIS_THEOREM, rounds, "draws", "any")
            # Against a slate that is fixed in advance the last term is not needed.
            terms = dict(list(terms.items())[:-1])
        return self._stated(terms | more, _TSALLIS_THEOREM, rounds, sense, "oblivious")

    # Play

    def _estimates(self) -> dict[str, Any]:
        return {
            "estimator": ESTIMATORS[type(self.estimator)], "gamma": self.exploration,
            "ordered": self.positions is not None,
        }  # fmt: skip

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


#: Largest number of positions with weights.
MAX_POSITIONS = 100


@dataclass(frozen=True, repr=False)
class SlateExperts(SlateLearner):
    """Choose m of n items per round, and observe the losses of all items.

    The bounds hold even against an adaptive adversary. With size 1 the learner is `Experts(n)` with the same
    smoothing.

    Parameters
    ----------
    n : int or list of str
        Number of items, or their names.
    size : int
        Number of items per slate.
    smoothing : Smoothing, optional
        `Entropy()` (default), or `Exponential()`: follow the perturbed leader, with exact inclusion probabilities.
    tuning : Tuning, optional
        `Anytime()` (default), `Horizon`, `Fixed`, or for a first-order bound `SelfConfident()` or `BestLoss`.
    loss_range : tuple of float
        Smallest and largest loss of an item.
    gains : bool
        Whether values are rewards (larger is better).
    over : {"items", "slates"}, optional
        "items" (default): entropy of the inclusion probabilities, which has the smallest bound. "slates": entropy of
        the distribution over slates, which is Hedge over all slates.
    draw : {"systematic", "conditional", "leaders"}, optional
        Draw of the slate, as for `SlateBandit`. Default: "systematic"; "conditional" for Hedge over all slates, and
        "leaders" for `Exponential()`, which have no other draw.
    arms : tuple of str, optional
        Names of the items, set if `n` is a list of names.

    Notes
    -----
    Capped entropy plays the inclusion probabilities x_i = min(1, e^((lam - L_i)/s)), with lam such that they sum to m.
    At a known horizon its regret is at most m sqrt(T ln(n/m)/2). If m > n/2, the entropy is that of the k = n - m
    omitted items, with the bound k sqrt(T ln(n/k)/2); first-order tunings keep the entropy of the shown items.

    References
    ----------
    Koolen, Warmuth and Kivinen, Hedging structured concepts, COLT 2010.

    Examples
    --------
    >>> from hannan.learners.tuning import Horizon
    >>> round(SlateExperts(8, 2, tuning=Horizon(10_000)).bound(against="adaptive").value, 1)
    166.5
    >>> round(SlateExperts(8, 2, tuning=Horizon(10_000), over="slates").bound().value, 1)
    223.6
    >>> player = SlateExperts(4, 2).start(seed=0)
    >>> player.observe(player.act(), [0.0, 0.5, 1.0, 1.0])
    >>> player.distribution().round(3).tolist()
    [0.921, 0.511, 0.284, 0.284]
    """

    n: Any
    size: int
    smoothing: Smoothing = _ENTROPY
    tuning: Tuning = _ANYTIME
    loss_range: tuple[float, float] = (0.0, 1.0)
    gains: bool = False
    over: Literal["items", "slates"] = field(default="items", kw_only=True)
    #: Replaced in __post_init__ if it is None.
    draw: Any = field(default=None, kw_only=True)
    arms: tuple[str, ...] | None = field(default=None, repr=False, kw_only=True)

    sees_all: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.smoothing not in (Entropy(), Exponential()):
            raise ValueError(f"smoothing must be Entropy() or Exponential() for slates; got {self.smoothing!r}")
        if self.over not in ("items", "slates"):
            raise ValueError(f'over must be "items" or "slates"; got {self.over!r}')
        if self.over == "slates" and not isinstance(self.smoothing, Entropy):
            raise ValueError(f'over="slates" needs smoothing=hn.Entropy(); got {self.smoothing!r}')
        if not isinstance(self.tuning, (Anytime, Horizon, Fixed, SelfConfident, BestLoss)):
            raise ValueError(
                f"tuning must be Anytime, Horizon, Fixed, SelfConfident or BestLoss for slates; got {self.tuning!r}"
            )
        self._check(self._draws)
        self.schedule()

    @property
    def _draws(self) -> tuple[Draw, ...]:
        if isinstance(self.smoothing, Exponential):
            return ("leaders",)
        return ("conditional",) if self.over == "slates" else ("systematic", "conditional")

    def _defaults(self) -> dict[str, Any]:
        return {"smoothing": _ENTROPY, **super()._defaults(), "over": "items", "draw": self._draws[0]}

    @property
    def rule(self) -> str:
        if isinstance(self.smoothing, Exponential):
            return "leaders"
        if self.over == "slates":
            return "hedge"
        return "left_out" if 2 * self.size > self.n and self.tuning.order != "first" else "entropy"

    @property
    def constants(self) -> Constants:
        """Range and variance constants of the play at scale 1; its rate is 1."""
        kinds = {
            "entropy": slates.capped_entropy, "left_out": slates.left_out, "hedge": slates.hedge,
            "leaders": slates.leaders,
        }  # fmt: skip
        return kinds[self.rule](self.n, self.size)

    @property
    def _tuned_best(self) -> float:
        """Best loss that `BestLoss` supposes, for losses in [0, 1]."""
        told, rounds = float(self.tuning.told_best or 0.0), self.tuning.told_rounds
        best = self._normalized(told, rounds, "the bound of BestLoss")
        if best <= 0.0:
            raise ValueError(f"the bound of BestLoss must be worse than the best possible total; got {self.tuning!r}")
        return best

    def _normalized(self, total: float, rounds: int | None, name: str) -> float:
        """Return the loss of a slate in the user's units as one of losses in [0, 1]."""
        if self.units.zero != 0.0 and rounds is None:
            raise ValueError(f"rounds is required with {name} for loss_range {self.loss_range}; got {total!r}")
        items = self.size * (rounds or 0)
        best, most = float(self.units.normal(total, items)), math.inf if rounds is None else float(items)
        if not -1e-9 * (1.0 + abs(total) / self.width) <= best <= most * (1.0 + 1e-9):
            raise ValueError(f"{name} must be a possible total of {rounds} slates in {self.loss_range}; got {total!r}")
        return min(max(best, 0.0), most)

    def _schedule(self) -> Schedule:
        spread, variance = self.constants
        if isinstance(self.tuning, SelfConfident):
            return Schedule(1.0 / math.sqrt(spread), a=float(self.size), d=1.0)
        if isinstance(self.tuning, BestLoss):
            return Schedule.constant(1.0 / bounds.best_loss_rate(spread, self._tuned_best))
        return self.tuning.schedule(spread, variance)

    def bound(
        self, rounds: int | None = None, best_loss: float | None = None, *, printed: bool = False, against: Whom = None
    ) -> Bound:
        """Return the smallest proved bound on the expected regret, which holds even against an adaptive adversary.

        Parameters
        ----------
        rounds : int, optional
            Number of rounds. Default: that of the tuning.
        best_loss : float, optional
            Cumulative loss of the best slate in hindsight, or an upper bound on it; for gains, a lower bound. Only
            `SelfConfident` uses it.
        printed : bool
            Not available: the paper has no slates.
        against : {"adaptive", "oblivious", "iid"}, optional
            Adversary the bound must hold against.

        Returns
        -------
        Bound
            Value, terms, theorem and adversary.

        Raises
        ------
        Withheld
            If no such bound is proved.

        Examples
        --------
        >>> from hannan.learners.tuning import SelfConfident
        >>> learner = SlateExperts(8, 2, tuning=SelfConfident())
        >>> [round(learner.bound(10_000, best_loss=best).value, 1) for best in (20_000, 200)]
        [476.6, 53.2]
        """
        tuned = self.tuning.told_rounds
        rounds, against = self._asked(tuned if rounds is None else rounds, printed, against)
        if self._has_one_slate or rounds == 0:
            return bounds.nothing()
        spread, variance = self.constants
        schedule, supposed = self.schedule(), None
        best = float(rounds * self.size)
        if best_loss is not None:
            best = self._normalized(validation.real(best_loss, "best_loss"), rounds, "best_loss")
        if self.tuning.order != "first":
            terms, theorem = bounds.root(spread, variance, schedule, rounds), _ALL_OBSERVED[self.rule]
        elif isinstance(self.tuning, BestLoss):
            if best_loss is not None and best > self._tuned_best * (1.0 + 1e-12):
                raise Withheld(f"{self.tuning!r} has no bound for a worse best loss; got best_loss={best_loss!r}")
            terms, theorem = bounds.experts_best_loss(spread, self._tuned_best), _FIRST_ORDER
            supposed = self.tuning.told_best
        else:
            terms, theorem = slates.self_confident(spread, self.size, best), _FIRST_ORDER
            supposed = best_loss
        bound = self._stated(terms, theorem, rounds, "mean", "any")
        if supposed is not None and not bound.is_trivial:
            bound = bound.supposing(float(supposed), self.gains)
        return bound.asked(against)

    def start(self, seed: int | None = None, name: str | None = None) -> SlateExpertsPlayer:
        """Start a live player.

        Parameters
        ----------
        seed : int, optional
            Seed of the moves, for experiments. Default: randomness of the operating system.
        name : str, optional
            Name of the player in its tickets.

        Returns
        -------
        SlateExpertsPlayer
            The player.
        """
        from hannan.players.slates import SlateExpertsPlayer

        return SlateExpertsPlayer(self, seed, name)
