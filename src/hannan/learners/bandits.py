"""Adversarial multi-armed bandits: Algorithm 4 of the paper (alg:gbpa_bandits)."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from hannan import validation
from hannan.learners.estimators import (
    Estimator,
    ImportanceWeighted,
    ReducedVariance,
    check_playable,
)
from hannan.learners.learner import Constants, Learner, Proof, Weigher, name_arms, needed
from hannan.learners.tuning import Anytime, Fixed, Horizon, Schedule, Tuning
from hannan.mathematics import bounds
from hannan.mathematics import printed as paper
from hannan.mathematics.bounds import Bound, Sense, Terms, Whom, Withheld
from hannan.mathematics.laws.heavy import Frechet
from hannan.mathematics.regularizers import Tsallis
from hannan.mathematics.smoothing import Smoothing
from hannan.saving import frozen
from hannan.saving.formatting import sure

REDUCED = "Tsallis-INF with reduced variance, after Zimmert and Seldin 2021, constants proved in docs/mathematics.md"


def tsallis_inf(n: int, rounds: int) -> Terms:
    """R <= 4 sqrt(K T) + 1 at scale_t = sqrt t (Zimmert, Seldin 2021).

    >>> sum(tsallis_inf(4, 10_000).values())
    801.0
    """
    return {"4 sqrt(n T)": 4.0 * math.sqrt(n * rounds), "1": 1.0}


def tsallis_inf_reduced(n: int, rounds: int) -> Terms:
    """R <= 2 sqrt(n T) - sqrt T - 4 sqrt n + 10/3 n ln(T/16) + 2.12 n + sum_{t<=16} 1/(1 + sqrt(t/n)/2), T > 16.

    At scale_t = sqrt(t)/2, variance reduced; up to 16 rounds there is no more than R <= T. The algorithm and the
    order are Zimmert's and Seldin's (2021), who have 2 sqrt(n T) + 10 n ln T + 16; the proof of these constants is
    in docs/mathematics.md.

    >>> round(sum(tsallis_inf_reduced(8, 10_000).values()), 1)
    653.9
    """
    if rounds <= 16:
        return {"rounds": float(rounds)}
    return {
        "2 sqrt(n T)": 2.0 * math.sqrt(n * rounds),
        "-sqrt T - 4 sqrt n": -math.sqrt(rounds) - 4.0 * math.sqrt(n),
        "10/3 n ln(T/16) + 2.12 n": n * (10.0 / 3.0 * math.log(rounds / 16.0) + 2.12),
        "first 16 rounds": math.fsum(1.0 / (1.0 + 0.5 * math.sqrt(t / n)) for t in range(1, 17)),
    }


def frechet(n: int, rounds: int, c: float) -> Terms:
    """R <= (12 c sqrt(pi) + 3.7/c) sqrt(K T) + 10 c + sqrt(pi K)/c at scale_t = sqrt(t)/c (Honda et al. 2023)."""
    return {
        "(12 c sqrt(pi) + 3.7/c) sqrt(n T)": (12.0 * c * math.sqrt(math.pi) + 3.7 / c) * math.sqrt(n * rounds),
        "10 c": 10.0 * c,
        "sqrt(pi n)/c": math.sqrt(math.pi * n) / c,
    }


def exp3_ix(n: int, rounds: int, delta: float, scale: float) -> Terms:
    """R <= scale (ln n + ln(2n/delta)) + n T/scale + ln(2/delta), with probability 1 - delta, gamma = 1/(2 scale).

    At the scale of Horizon(T), 2 sqrt(2 n T ln n) + (sqrt(n T/(2 ln n)) + 1) ln(2/delta): the second term is half of
    the one in Neu 2015 (docs/mathematics.md, section 9). It is on the regret of a run, against any losses.

    >>> round(sum(exp3_ix(8, 4000, 0.05, math.sqrt(8 * 4000 / (2 * math.log(8)))).values()), 1)
    1056.9
    """
    doubt = math.log(2.0 / delta)
    return {
        "2 scale ln n": 2.0 * scale * math.log(n),
        "n T/scale": n * rounds / scale,
        "(scale + 1) ln(2/delta)": (scale + 1.0) * doubt,
    }


def likely(learner: Any, rounds: int, delta: float) -> Terms:
    """Return the terms of a bound with probability 1 - delta; raise Withheld if none is proved."""
    schedule, estimator = learner.schedule(), learner.estimator
    scale = schedule.scale(1, 0.0)
    fits = estimator.exploration > 0.0 and math.isclose(2.0 * scale * estimator.exploration, 1.0, rel_tol=1e-9)
    if not (fits and learner.smoothing.hedge and schedule.is_constant):
        raise Withheld(f"a bound on one run is proved for exp3_ix({learner.n}, rounds); got {learner!r}")
    return exp3_ix(learner.n, rounds, delta, scale)


def bandit(learner: Any, rounds: int) -> list[Proof]:
    """Return the published bounds for exactly this smoothing, tuning and estimator."""
    n, estimator, smoothing, tuning = learner.n, learner.estimator, learner.smoothing, learner.tuning
    if estimator.exploration > 0.0 and not smoothing.first_order:
        # The estimates are at most the exact ones, so the terms of range and drift do not change. The additional terms
        # are gamma sum lhat and, if the best arm may depend on the moves, E max_i (Lhat_i - L_i) <= ln n/(2 gamma).
        exact = dataclasses.replace(learner, estimator=ImportanceWeighted())._derived(rounds, None)
        terms = {**exact.terms, "gamma n T": estimator.exploration * n * rounds}
        source = f"{exact.source}; implicit exploration, after Neu 2015"
        anybody = {**terms, "ln n/(2 gamma)": math.log(n) / (2.0 * estimator.exploration)}
        return [Proof(terms, source), Proof(anybody, source, against="any", sense="draws")]
    factor = tuning.told_factor
    if factor is None:
        return []
    if smoothing == _BEST_KNOWN[0]:
        if estimator == _BEST_KNOWN[2] and factor == 0.5:
            return [Proof(tsallis_inf_reduced(n, rounds), REDUCED)]
        if estimator.weights == "exact" and factor == 1.0:
            return [Proof(tsallis_inf(n, rounds), "Zimmert, Seldin 2021", "published")]
    if smoothing == Frechet(2.0):
        terms, source = frechet(n, rounds, 1.0 / factor), "Honda, Ito, Tsuchiya 2023"
        if estimator.weights == "exact":
            return [Proof(terms, source, "published")]
        # The weights are geometric. A cap decreases estimates and adds its bias.
        if estimator.weights == "resampled":
            return [Proof(terms | estimator.bias(n, rounds), f"{source}; capped", "published")]
    return []


if TYPE_CHECKING:
    from hannan.learners.learner import Arms
    from hannan.players.player import BanditPlayer

_THEOREM = "thm:gbpa_bandits, corrected form"
#: Sentinel: replaced in __post_init__.
_LEFT_OUT: Any = None
#: Defaults if smoothing and estimator are both omitted and the tuning is omitted or `Horizon`; defaults otherwise.
_BEST_KNOWN = (Tsallis(0.5), Anytime(0.5), ReducedVariance())
_LEAST_BOUND = (Tsallis(0.5), Anytime(), ImportanceWeighted())
#: Exploration floor that decreases with the rounds, and its value in the engine.
FOURTH_ROOT: Literal["fourth-root"] = "fourth-root"
_FOURTH_ROOT = -1.0
_FIRST_ORDER = "Exp3 in the loss of the best arm, proved in docs/proofs/bandits.md, section 8"
_CONSTANT = "Tsallis(1/2) with reduced variance at a constant scale, proved in docs/proofs/bandits.md, section 5"


@frozen(repr=False)
class Bandit(Learner):
    """Multi-armed bandit: choose one of n arms, and observe the loss of that arm only.

    Defaults: with smoothing, tuning and estimator omitted, the learner is Tsallis-INF with reduced variance, whose
    regret is of order sqrt(n t) for all oblivious losses and of order log t for i.i.d. losses. If only the number of
    rounds is given, `Bandit(n, tuning=Horizon(rounds))` has the constant scale with the smallest proved bound, of order
    sqrt(2 n T). In all other cases an omitted part is `Tsallis(0.5)`, `Anytime()` or `ImportanceWeighted()`, which
    allow unavailable arms. docs/defaults.md compares the anytime bounds; for rare clicks see `LBInf`.

    Parameters
    ----------
    n : int or sequence of str
        Number of arms, or their names, which `arms` then contains.
    smoothing : Law or Regularizer, optional
        Smoothing.
    tuning : Tuning, optional
        Rule that sets the scale of the smoothing.
    estimator : Estimator, optional
        Rule that turns one observed loss into estimated losses of all arms.
    loss_range : tuple of float, default (0.0, 1.0)
        Range of the losses, or of the gains. A loss outside of the range raises ValueError.
    gains : bool, default False
        If True, larger values are better.
    arms : tuple of str, optional
        Names of the arms.
    floor : float or "fourth-root", default 0.0
        Exploration floor e_t: every arm is played with probability at least e_t/n, so that evidence can compare
        arms that lose. A number is the same in all rounds; "fourth-root" is min(1/2, t^(-1/4)) in round t. With a floor
        an omitted estimator is `ImportanceWeighted()`, and the bound has a term for the cost.

    Notes
    -----
    p_t = grad Phi(Lhat_{t-1}), lhat_t = l_{t,i}/p_{t,i} e_i: Algorithm 4 of the paper.

    References
    ----------
    Zimmert and Seldin, Tsallis-INF: an optimal algorithm for stochastic and adversarial bandits, JMLR 2021.

    Examples
    --------
    >>> Bandit(10)
    Bandit(10, smoothing=Tsallis(alpha=0.5), tuning=Anytime(factor=0.5), estimator=ReducedVariance())
    >>> move = Bandit(["red", "blue"], gains=True).start(seed=1).act()
    >>> move.action, move.arm
    (1, 'blue')
    >>> Bandit(8, tuning=Horizon(10_000))
    Bandit(8, smoothing=Tsallis(alpha=0.5), tuning=Horizon(rounds=10000), estimator=ReducedVariance())
    >>> round(Bandit(8, tuning=Horizon(10_000)).bound().value, 1)
    350.8
    >>> Bandit(10, Tsallis(0.5))
    Bandit(10, smoothing=Tsallis(alpha=0.5), tuning=Anytime(factor=None))
    >>> print(Bandit(10, Tsallis(0.5)).bound(rounds=10_000))
    expected regret <= 1046 against an oblivious adversary
      valid      if losses do not depend on your moves, for a horizon fixed in advance
      otherwise  (adaptive adversary, same horizon) bounds the pseudo-regret only: max_i E[learner's loss - loss
                 of arm i]
      theorem    thm:gbpa_bandits, corrected form: Tsallis, Anytime
      terms      range  523
                 drift  523
      scale      1.209 sqrt(t)
    >>> Bandit(3, floor=0.05)
    Bandit(3, smoothing=Tsallis(alpha=0.5), tuning=Anytime(factor=None), floor=0.05)
    >>> {name: round(term) for name, term in Bandit(3, floor=0.05).bound(rounds=10_000).terms.items()}
    {'range': 225, 'drift': 225, 'floor': 345}
    """

    if TYPE_CHECKING:
        n: Arms
    else:
        n: int
    smoothing: Smoothing = _LEFT_OUT
    tuning: Tuning = _LEFT_OUT
    estimator: Estimator = _LEFT_OUT
    loss_range: tuple[float, float] = (0.0, 1.0)
    gains: bool = False
    #: Names of the arms, if there are any: `Bandit(["red", "blue"])`.
    arms: tuple[str, ...] | None = field(default=None, repr=False)
    #: Share of uniform play.
    floor: float | Literal["fourth-root"] = 0.0

    _later_fields: ClassVar[tuple[str, ...]] = ("floor",)
    _unsaid: ClassVar[dict[str, Any]] = {"estimator": ImportanceWeighted()}
    #: True if smoothing and estimator were omitted with a `Horizon`. Not part of the description.
    _horizon_alone: ClassVar[bool] = False
    #: Keys of a stored description in addition to the fields.
    _stored_keys: ClassVar[tuple[str, ...]] = ("tuned_scale",)
    # E Lhat_i <= L_i holds for a fixed arm, but not for the best arm if the losses depend on the moves.
    _sense: ClassVar[Sense | None] = "arm"

    def __post_init__(self) -> None:
        self._check_floor()
        self._resolve()
        name_arms(self)
        object.__setattr__(self, "n", validation.count(self.n, "n"))
        self._check()
        check_playable(self.estimator, self.n)
        if self.floor and not isinstance(self.estimator, (ImportanceWeighted, ReducedVariance)):
            raise ValueError(f"floor requires the estimator hn.ImportanceWeighted(); got {self.estimator!r}")
        self.schedule()

    def _check_floor(self) -> None:
        """Validate the exploration floor."""
        if self.floor == FOURTH_ROOT:
            return
        if isinstance(self.floor, str):
            raise ValueError(
                f'floor must be a number >= 0 and < 1, or "fourth-root"; got {validation.brief(self.floor)}'
            )
        object.__setattr__(self, "floor", validation.between(self.floor, 0.0, 1.0, "floor", "[)"))

    def _said(self, name: str) -> Any:
        return list(self.arms) if name == "n" and self.arms else super()._said(name)

    def _resolve(self) -> None:
        """Replace omitted parts by their defaults."""
        given = (self.smoothing, self.tuning, self.estimator)
        omitted = self.smoothing is _LEFT_OUT and self.estimator is _LEFT_OUT and not self.floor
        known = isinstance(self.tuning, Horizon)
        object.__setattr__(self, "_horizon_alone", omitted and known)
        parts = _BEST_KNOWN if omitted and (known or self.tuning is _LEFT_OUT) else _LEAST_BOUND
        for name, said, otherwise in zip(("smoothing", "tuning", "estimator"), given, parts, strict=True):
            object.__setattr__(self, name, otherwise if said is _LEFT_OUT else said)

    @property
    def _reduced(self) -> bool:
        """True if the play is Tsallis(1/2) with reduced variance."""
        return (self.smoothing, self.estimator) == _BEST_KNOWN[::2]

    @property
    def _tuned_reduced(self) -> bool:
        """True if the scale minimizes the bound of reduced variance for a known number of rounds."""
        return self._reduced and isinstance(self.tuning, Horizon) and not self._trivial

    @property
    def _formerly(self) -> Bandit | None:
        """Return the learner that version 0.2 built from the same arguments; None if it is the same."""
        if self._horizon_alone:
            return dataclasses.replace(self, estimator=ImportanceWeighted())
        return dataclasses.replace(self, tuning=Fixed(self._common_scale())) if self._tuned_reduced else None

    def _common_scale(self) -> float:
        """Return the first scale of a zero-order tuning, by range and variance of the smoothing."""
        k = self._tuned_constants(self.n, self.tuning.told_rounds)
        return self.tuning.schedule(k.range, self._variance(k)).scale(1, 0.0)

    def _pinned(self) -> dict[str, Any]:
        """Tuned scale in the stored description. Version 0.2 stored none, and played another scale."""
        return {"tuned_scale": self.schedule().scale(1, 0.0)} if self._tuned_reduced else {}

    @classmethod
    def _from_stored(cls, fields: dict[str, Any]) -> Bandit:
        """Return a learner from its stored description, with the scale of the version that stored it."""
        scale = fields.pop("tuned_scale", None)
        learner = cls(**fields)
        if learner._horizon_alone or not learner._tuned_reduced:
            if scale is None:
                return learner
            raise ValueError(f"tuned_scale is for Tsallis(0.5), Horizon and ReducedVariance() only; got {scale!r}")
        if scale == learner.schedule().scale(1, 0.0):
            return learner
        return dataclasses.replace(learner, tuning=Fixed(learner._common_scale() if scale is None else scale))

    @property
    def _trivial(self) -> bool:
        return self.n == 1

    @property
    def _first_order_exp3(self) -> bool:
        """True for exponential weights of exact estimates, whose bound follows the loss of the best arm."""
        return self.smoothing.hedge and self.estimator == ImportanceWeighted()

    @property
    def _resamples(self) -> bool:
        return self.estimator.weights == "resampled"

    @property
    def _grows(self) -> bool:
        """True if the scale grows with the rounds."""
        return self.tuning.order == "zero" and self.tuning.last_round is None

    def _variance(self, k: Constants) -> float:
        """Return v with E D_t <= v/(2 scale)."""
        return self.smoothing.bandit_variance_constant(self.n, self._resamples and not self._grows)

    def _barrier_bias(self, k: Constants, rounds: int) -> float:
        """Return the bias of the log-barrier's comparator and of the estimator."""
        return k.bias + sum(self.estimator.bias(self.n, rounds).values())

    def schedule(self) -> Schedule:
        tuning, barrier = self.tuning, self.smoothing.first_order
        if tuning.order == "given":
            return tuning.schedule(0.0, 0.0)
        if self._trivial:
            return Schedule.constant(1.0)
        if self._tuned_reduced:
            rounds = needed(tuning.told_rounds, "the scale depends on the number of rounds")
            return Schedule.constant(bounds.reduced_variance_scale(self.n, rounds))
        if tuning.order == "zero" and not barrier:
            k = self._tuned_constants(self.n, tuning.told_rounds)
            return tuning.schedule(k.range, self._variance(k))
        if barrier and tuning.by_best_loss:
            k = self._tuned_constants(self.n, tuning.told_rounds)
            scale = bounds.resampled_barrier_scale if self._resamples else bounds.barrier_scale
            horizon = needed(tuning.told_rounds, "the range of the log-barrier depends on the number of rounds")
            return Schedule.constant(scale(k.range, self.tuned_best(), self._barrier_bias(k, horizon)))
        if self._first_order_exp3 and tuning.by_best_loss:
            return Schedule.constant(bounds.exp3_first_order_scale(self.n, self.tuned_best()))
        if barrier and tuning.order == "first":
            k = self._tuned_constants(self.n, tuning.told_rounds)
            return Schedule(1.0 / math.sqrt(k.range) if k.range > 0.0 else 1.0, a=1.0, d=1.0)
        first_order = "Fixed, Horizon(rounds), BestLoss(bound, rounds) or SelfConfident(rounds)"
        hedge = "Fixed, Horizon, Anytime or BestLoss(bound, rounds)" if self._first_order_exp3 else ""
        raise self._refuse_tuning(first_order if barrier else hedge or "Fixed, Horizon or Anytime")

    def bound(
        self, rounds: int | None = None, best_loss: float | None = None, *,
        printed: bool = False, against: Whom = None, delta: float | None = None,
    ) -> Bound:  # fmt: skip
        """Return the smallest proved bound on the expected regret, or with `delta` on the regret of one run.

        Parameters
        ----------
        rounds : int, optional
            Number of rounds. Required unless the tuning states it.
        best_loss : float, optional
            Best cumulative loss in hindsight, or an upper bound on it; for gains, a lower bound. Default: `rounds`.
        printed : bool, default False
            If True, the result also has the bound with the constants of the paper.
        against : {"adaptive", "oblivious", "iid"}, optional
            Adversary that the bound must hold against. Default: the smallest bound that is proved.
        delta : float, optional
            If given, the bound holds for the regret of one run with probability 1 - delta. It is proved for `exp3_ix`.

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
        >>> from hannan.learners.algorithms import exp3_ix
        >>> round(exp3_ix(8, 4000).bound(delta=0.05).value, 1)
        1056.9
        """
        if delta is None:
            return super().bound(rounds, best_loss, printed=printed, against=against)
        delta = validation.between(delta, 0.0, 1.0, "delta", "()")
        mean = super().bound(rounds, best_loss, printed=printed)  # Raises Withheld beyond the horizon.
        if self._trivial or rounds == 0:
            return mean.asked(against)
        played = needed(self._horizon if rounds is None else rounds, "the bound depends on the number of rounds")
        terms = likely(self, played, delta)
        proof = Proof(terms, "implicit exploration, after Neu 2015", against="any", sense="likely")
        bound = self._in_units(proof, played).asked(against)
        said = f"with probability {sure(delta)}" if bound.sense == "likely" else ""
        return dataclasses.replace(bound, condition=said, printed=mean.printed)

    def _proofs(self, rounds: int | None, best: float | None, known: bool, delay: int) -> list[Proof]:
        played = needed(rounds, "the bound depends on the number of rounds")
        if self.floor:
            return [self._floored(played)]
        proofs = bandit(self, played)
        if self._first_order_exp3 and self.schedule().is_constant:
            least = float(played) if best is None else best
            terms = bounds.exp3_first_order(self.n, self.schedule().scale(1, 0.0), played, least)
            proofs.append(Proof(terms, _FIRST_ORDER, covers=(), supposes=least))
        try:
            proofs.append(self._derived(rounds, best))
        except Withheld:
            if not proofs:
                raise
        return proofs

    def _derived(self, rounds: int | None, best: float | None) -> Proof:
        played = needed(rounds, "the bound depends on the number of rounds")
        if self.smoothing.first_order:
            return self._barrier(played, best)
        perturbed = self.smoothing.perturbation is not None
        kind = "FTPL" if perturbed else type(self.smoothing).__name__
        schedule = self.schedule()
        if self._reduced and schedule.is_constant and schedule.scale(1, 0.0) > 1.0:
            return Proof(bounds.reduced_variance(self.n, schedule.scale(1, 0.0), played), _CONSTANT, covers=("prior",))
        k = self._constants(self.n, None)
        proved = not self._resamples or (perturbed and not self._grows)
        if not proved or self.estimator.weights == "other":
            raise Withheld(f"{self.estimator!r} has no proved bound with {self.smoothing!r} and {self.tuning!r}")
        source = f"{_THEOREM}: {kind}, {type(self.tuning).__name__}"
        terms = bounds.root(k.range, self._variance(k), self.schedule(), played)
        return Proof(terms | self.estimator.bias(self.n, played), source, covers=("prior",))

    def _floored(self, rounds: int) -> Proof:
        """Return the bound with an exploration floor: docs/proofs/evidence.md, section 5."""
        if self.estimator.weights != "exact" or self.smoothing.first_order:
            raise Withheld(
                f"with an exploration floor a bound is proved for hn.ImportanceWeighted() and smoothings other than "
                f"hn.LogBarrier; got {self.smoothing!r} with {self.estimator!r}"
            )
        plain = dataclasses.replace(self, floor=0.0)._derived(rounds, None)
        variance = self._variance(self._constants(self.n, None))
        cost = bounds.floor_cost(self.floor, self.n, variance, self.schedule(), rounds)
        return plain._replace(terms={**plain.terms, "floor": cost}, source=f"{plain.source}; exploration floor")

    def _barrier(self, rounds: int, best: float | None) -> Proof:
        tuning, horizon = self.tuning, self._horizon or rounds
        if self.estimator.weights == "other" or (self._resamples and not self.schedule().is_constant):
            raise Withheld(f"{self.estimator!r} has no proved bound with {self.smoothing!r} and {tuning!r}")
        source = f"{_THEOREM}: log-barrier, {type(tuning).__name__}"
        k = self._constants(self.n, horizon)
        if k.range <= 0.0:
            return Proof({"one round": rounds}, source)
        bias = self._barrier_bias(k, horizon)
        if tuning.order != "given" and self.schedule().is_constant:
            tuned = bounds.resampled_barrier_best_loss if self._resamples else bounds.barrier_best_loss
            return Proof(tuned(k.range, self.tuned_best(), bias), source, supposes=self.tuned_best())
        best = float(rounds) if best is None else best
        if not self.schedule().is_constant:
            return Proof(bounds.barrier_self_confident(k.range, best, bias), source, supposes=best)
        scale = self.schedule().scale(1, 0.0)
        kept = bounds.kept_resampled(scale) if self._resamples else bounds.kept_barrier(scale)
        return Proof(bounds.first_order(scale * k.range, kept, best, bias), source, supposes=best)

    def _as_printed(self, rounds: int | None, best: float | None) -> Bound:
        if self.floor:
            raise ValueError(f"the paper prints no bound with an exploration floor; got floor={self.floor!r}")
        if self.estimator.weights == "other":
            raise ValueError(f"the paper prints no bound for {self.estimator!r}")
        return paper.bandit(self.smoothing, self.n, rounds, best)

    def _weigher(self) -> Weigher:
        return Weigher(self.smoothing, gamma=self.smoothing.gamma)

    def setup(self) -> Any:
        floor = 0.0 if self._trivial else _FOURTH_ROOT if self.floor == FOURTH_ROOT else self.floor
        return self._setup("bandit", self.n, self.schedule(), estimate=self.estimator.estimate(), floor=floor)

    def start(self, seed: int | None = None, name: str | None = None, evidence: bool = False) -> BanditPlayer:
        """Start a player of this learner.

        Parameters
        ----------
        seed : int, optional
            Seed of the moves, for experiments. Default: randomness of the operating system.
        name : str, optional
            Name of the player in its moves. Default: a fresh name.
        evidence : bool
            Keep evidence about the arms, for `player.evidence()`.

        Returns
        -------
        BanditPlayer
            The player.
        """
        from hannan.players.player import BanditPlayer
        from hannan.players.sleeping import SleepingArmsPlayer

        smoothing = self.smoothing
        proved = not smoothing.first_order and (smoothing.kernel or smoothing.perturbation is not None)
        if self.estimator.weights == "exact" and proved:
            return SleepingArmsPlayer(self, seed, name, evidence)
        return BanditPlayer(self, seed, name, evidence)
