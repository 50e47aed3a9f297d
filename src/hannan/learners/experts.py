"""Prediction with expert advice: Algorithm 2 of the paper (alg:gbpa)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hannan import validation
from hannan.learners.learner import Constants, Learner, Proof, needed
from hannan.learners.tuning import Schedule, SelfConfident, Tuning
from hannan.mathematics import bounds
from hannan.mathematics import printed as paper
from hannan.mathematics.bounds import Against, Bound, Sense, Withheld
from hannan.mathematics.laws.light import Exponential
from hannan.mathematics.smoothing import Smoothing

if TYPE_CHECKING:
    from hannan.players.sleeping import SleepingPlayer

_THEOREM = "thm:analysis_experts, corrected form"
_LOG_CONCAVE = "not in the paper, docs/proofs/experts.md: log-concave law without a rate"
_EXPONENTIAL, _SELF_CONFIDENT = Exponential(), SelfConfident()


@dataclass(frozen=True, repr=False)
class Experts(Learner):
    """Prediction with expert advice: choose one of n experts, or mix them, and observe the losses of all.

    The default needs no tuning: `SelfConfident` adapts to the best loss, and the exponential distribution has the
    smallest c' = H_n - 1 of the smoothings here (below ln n of Hedge), hence the smallest bound. `Entropy` needs less
    time per round.

    Parameters
    ----------
    n : int
        Number of experts.
    smoothing : Law or Regularizer, default Exponential()
        Smoothing.
    tuning : Tuning, default SelfConfident()
        Rule that sets the scale of the smoothing.
    loss_range : tuple of float, default (0.0, 1.0)
        Range of the losses, or of the gains. A loss outside of the range raises ValueError.
    gains : bool, default False
        If True, larger values are better.
    prior : tuple of float, optional
        Weights of the experts, for `Entropy` or `Gumbel` only. Default: uniform.

    Notes
    -----
    p_t = grad Phi(L_{t-1}), L_t = L_{t-1} + l_t: Algorithm 2 of the paper. The bound of the default is
    2c' + 2 sqrt(c'^2 + c'(L* + 1)).

    Examples
    --------
    >>> from hannan.learners.tuning import BestLoss
    >>> print(Experts(10, tuning=BestLoss(100)).bound())
    expected regret <= 21.58 if the best loss L* <= 100 on every run, even against an adaptive adversary
      valid      for the mean play on every loss sequence; for sampled moves in expectation, even if losses depend
                 on past moves
      condition  if the best loss L* <= 100 on every run
      theorem    thm:analysis_experts, corrected form: BestLoss
      terms      sqrt(2 c' L*)  19.65
                 c'             1.929
      scale      5.576
    """

    n: int
    smoothing: Smoothing = _EXPONENTIAL
    tuning: Tuning = _SELF_CONFIDENT
    loss_range: tuple[float, float] = (0.0, 1.0)
    gains: bool = False
    prior: tuple[float, ...] | None = None

    # p_t is a function of the losses alone, and the master identity holds on every sequence.
    _against: ClassVar[Against] = "any"
    _sense: ClassVar[Sense | None] = "mean"

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", validation.count(self.n, "n"))
        self._check()
        if self.prior is not None:
            object.__setattr__(self, "prior", self._clean_prior())
        self.schedule()

    def _clean_prior(self) -> tuple[float, ...]:
        if not self.smoothing.hedge:
            raise ValueError(
                "prior weights need Entropy or Gumbel: for those the proof carries over, max log 1/prior in "
                f"place of log n; got {self.smoothing!r}"
            )
        prior = validation.distribution(self.prior, "prior")
        if prior.shape != (self.n,) or not (prior > 0.0).all():
            raise ValueError(f"prior must be {self.n} weights > 0; got {self.prior!r}")
        return tuple(float(x) for x in prior)

    @property
    def _trivial(self) -> bool:
        return self.n == 1

    def _constants(self, n: int, rounds: int | None) -> Constants:
        if self.prior is not None:
            return Constants(1.0, math.log(1.0 / min(self.prior)), 0.0)
        return super()._constants(n, rounds)

    @property
    def _variance(self) -> float:
        """v with D_t <= v/(2 scale)."""
        return self.smoothing.variance_constant(self.n)

    @property
    def _needs_rate(self) -> bool:
        return not (self.tuning.order != "first" and math.isfinite(self._variance))

    @property
    def _unrated(self) -> str:  # type: ignore[override]
        if math.isfinite(self._variance):
            return "its bounds are those of Fixed, Horizon and Anytime, in the rounds and without delay"
        return "only a Fixed scale, and no regret bound"

    def schedule(self) -> Schedule:
        tuning = self.tuning
        if tuning.order == "given":
            return tuning.schedule(0.0, 0.0)
        if self._trivial:
            return Schedule.constant(1.0)
        if tuning.order == "zero" and self.smoothing.needs_rounds and tuning.told_rounds is None:
            raise self._refuse_tuning("Fixed, Horizon, BestLoss or SelfConfident")
        k = self._tuned_constants(self.n, tuning.told_rounds)
        if tuning.order == "zero":
            return tuning.schedule(k.range, self._variance)
        if tuning.by_best_loss:
            rate = bounds.best_loss_rate(k.c, self.tuned_best() + k.bias)
            return Schedule.constant(k.rate / rate if rate > 0.0 else 1.0)
        return Schedule(math.sqrt(k.rate / k.range) if k.range > 0.0 else 1.0, a=1.0, d=1.0)

    def bound(
        self,
        rounds: int | None = None,
        best_loss: float | None = None,
        *,
        delay: int = 0,
        printed: bool = False,
        against: str | None = None,
    ) -> Bound:
        """Return the smallest proved bound on the expected regret.

        Parameters
        ----------
        rounds : int, optional
            Number of rounds. Required unless the tuning states it, or the bound does not depend on it.
        best_loss : float, optional
            Best cumulative loss in hindsight, or an upper bound on it; for gains, a lower bound. Default: `rounds`.
        delay : int, default 0
            Largest number of losses that were missing when a move was drawn.
        printed : bool, default False
            If True, the result also has the bound with the constants of the paper.
        against : {"adaptive", "oblivious", "iid"}, optional
            Adversary that the bound must hold against. Default: the smallest bound that is proved.

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
        >>> from hannan.learners.tuning import Fixed
        >>> Experts(2, tuning=Fixed(10.0)).bound(100, best_loss=20, delay=1).source
        'thm:analysis_experts, corrected form: Fixed, 1 late'
        """
        return self._bounded(rounds, best_loss, printed, validation.count(delay, "delay", least=0), against)

    def _proof(self, rounds: int | None, best: float | None, known: bool, delay: int) -> Proof:
        tuning, schedule = self.tuning, self.schedule()
        k = self._constants(self.n, self._horizon or rounds)
        source = f"{_THEOREM if math.isfinite(k.rate) else _LOG_CONCAVE}: {type(tuning).__name__}"
        scale = schedule.scale(1, 0.0)
        if k.range <= 0.0:
            return Proof({"one round": needed(rounds, "the log-barrier has no range in one round")}, source)
        if delay:
            if not schedule.is_constant:
                raise Withheld(f"{tuning!r} changes its scale, and no delay bound covers that: no bound")
            if not math.isfinite(k.rate):
                raise Withheld(f"{self.smoothing!r} has no rate, without which no delay bound is proved")
            late = math.exp(min(k.rate / scale * delay, 700.0))
            kept = bounds.kept_experts(k.rate / scale)
            terms = bounds.first_order(scale * k.range, kept, _known(best), k.bias, late)
            return Proof(terms, f"{source}, {delay} late", supposes=best)
        if tuning.order == "first" and schedule.is_constant:
            tuned = self.tuned_best()
            return Proof(bounds.experts_best_loss(k.c, tuned, k.bias), source, supposes=tuned)
        if tuning.order == "first":
            return Proof(bounds.experts_self_confident(k.c, _known(best), k.bias), source, supposes=best)
        proofs = []
        if not schedule.is_constant:
            needed(rounds, "the bound grows with them")
        if rounds is not None:
            variance = self.smoothing.proved_variance_constant(self.n)
            proofs.append(Proof(bounds.root(k.range, variance, *schedule[:3], rounds, k.bias), source))
        if tuning.order == "given" and math.isfinite(k.rate):
            kept = bounds.kept_experts(k.rate / scale)
            terms = bounds.first_order(scale * k.range, kept, _known(best), k.bias)
            proofs.append(Proof(terms, source, supposes=best))
        if not proofs:
            needed(rounds, f"{self.smoothing!r} has a bound that grows with them alone")
        return min(proofs, key=lambda proof: proof.value)

    def _as_printed(self, rounds: int | None, best: float | None) -> Bound:
        return paper.experts(self.smoothing, self.n, best)

    def setup(self) -> Any:
        prior = [] if self.prior is None else np.log(np.array(self.prior)).tolist()
        return self._setup("experts", self.n, self.schedule(), log_prior=prior)

    def start(self, seed: int | None = None, name: str | None = None) -> SleepingPlayer:
        from hannan.players.sleeping import SleepingPlayer

        return SleepingPlayer(self, seed, name)


def _known(best: float | None) -> float:
    if best is None:
        raise ValueError("best_loss or rounds must be given: the bound grows with the best loss")
    return best
