"""Prediction with expert advice: Algorithm 2 of the paper (alg:gbpa)."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hannan import validation
from hannan.learners.convex.privacy import PrivacyCurve
from hannan.learners.game_privacy import GamePrivacy, Neighbors, checked_neighbors, curve, zcdp_epsilon, zcdp_rho
from hannan.learners.learner import Constants, Learner, Proof, needed
from hannan.learners.tuning import Fixed, Horizon, Schedule, SelfConfident, Tuning
from hannan.mathematics import bounds
from hannan.mathematics import printed as paper
from hannan.mathematics.bounds import Against, Bound, Sense, Withheld
from hannan.mathematics.laws.light import Exponential
from hannan.mathematics.smoothing import Smoothing

if TYPE_CHECKING:
    from hannan.players.sleeping import SleepingPlayer

_THEOREM = "thm:analysis_experts, corrected form"
_LOG_CONCAVE = "not in the paper, docs/proofs/experts.md: log-concave law without a rate"
#: Theorem and assumptions of the privacy of sampled moves.
_FRESH = "Theorem Z of docs/proofs/private.md: fresh draws of Hedge are zero-concentrated"
_SAMPLED = (
    "covers one draw per round of one player with all experts available: not the probabilities, its losses, its "
    "regret, its errors, its certificate or its files; assumes draws that no one can predict (no seed; the generator "
    "of the draws, xoshiro256++, is not a cryptographic one)"
)
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
                "prior requires smoothing=Entropy() or Gumbel(), for which a bound with prior weights is proved; "
                f"got {self.smoothing!r}"
            )
        prior = validation.distribution(self.prior, "prior")
        if prior.shape != (self.n,) or not (prior > 0.0).all():
            raise ValueError(f"prior must have {self.n} weights > 0; got {self.prior!r}")
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
        """Variance constant v with D_t <= v/(2 scale)."""
        return self.smoothing.variance_constant(self.n)

    @property
    def _needs_rate(self) -> bool:
        return not (self.tuning.order != "first" and math.isfinite(self._variance))

    @property
    def _unrated(self) -> str:  # type: ignore[override]
        if math.isfinite(self._variance):
            return (
                "bounds are proved for Fixed, Horizon and Anytime only, in the number of rounds and without delayed "
                "feedback"
            )
        return "only a Fixed scale is possible, without a regret bound"

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

    # Privacy

    def privacy(  # type: ignore[override]
        self, rounds: int | None = None, delta: float = 1e-6, *, neighbors: Neighbors = "add-remove",
        per_person: int = 1,
    ) -> GamePrivacy:  # fmt: skip
        """Return the privacy of all sampled moves of Hedge together; other smoothings raise.

        Parameters
        ----------
        rounds : int, optional
            Number of rounds. Required unless the tuning states it.
        delta : float
            Delta of the statement.
        neighbors : {"add-remove", "replace"}
            Whether one loss vector is added or removed, or replaced by another one.
        per_person : int
            Number of rounds to which one person contributes at most.

        Returns
        -------
        GamePrivacy
            Epsilon, delta, and the assumptions. The statement never covers `distribution()`, which is a fixed function
            of the losses.

        Raises
        ------
        Withheld
            If the smoothing is not that of Hedge, or its scale depends on the losses.

        Notes
        -----
        Sampled moves of Hedge with public scales s_t are rho-zCDP, rho = sum_{t=2}^T 1/(8 s_t^2), four times that for
        replace, and k^2 times that for a person in k rounds (docs/proofs/private.md, Theorem Z).

        Examples
        --------
        >>> from hannan.learners.tuning import Fixed
        >>> from hannan.mathematics.regularizers import Entropy
        >>> hedge = Experts(10, Entropy(), Fixed(226.54))
        >>> print(hedge.privacy(10_000).says, round(hedge.bound(10_000, against="adaptive").value, 1))
        (epsilon, delta) = (1, 1e-06) for 10000 rounds together 527.1
        """
        asked = self._private_rounds(rounds)
        delta = validation.between(delta, 0.0, 1.0, "delta", "()")
        per_person = validation.count(per_person, "per_person")
        factor = per_person**2 * (4.0 if checked_neighbors(neighbors) == "replace" else 1.0)
        rho = 0.0 if self.n == 1 else bounds.rounded_up(factor * _inverse_squares(self.schedule(), asked) / 8.0)
        return GamePrivacy(
            zcdp_epsilon(rho, delta), delta, asked, _FRESH, _SAMPLED, rho=rho, neighbors=neighbors,
            per_person=per_person,
        )  # fmt: skip

    def scale_for(  # type: ignore[override]
        self, epsilon: float, delta: float = 1e-6, rounds: int | None = None, *, neighbors: Neighbors = "add-remove",
        per_person: int = 1,
    ) -> float:  # fmt: skip
        """Return the smallest scale of Hedge, for `Fixed`, whose sampled moves are private.

        Parameters
        ----------
        epsilon, delta : float
            Privacy of all moves together.
        rounds : int, optional
            Number of rounds. Required unless the tuning states it.
        neighbors : {"add-remove", "replace"}
            Whether one loss vector is added or removed, or replaced by another one.
        per_person : int
            Number of rounds to which one person contributes at most.

        Returns
        -------
        float
            The scale.

        Examples
        --------
        >>> from hannan.mathematics.regularizers import Entropy
        >>> round(Experts(10, Entropy()).scale_for(epsilon=1.0, rounds=10_000), 1)
        226.5
        """
        asked = self._private_rounds(rounds, any_tuning=True)
        epsilon, delta = validation.positive(epsilon, "epsilon"), validation.between(delta, 0.0, 1.0, "delta", "()")
        per_person = validation.count(per_person, "per_person")
        factor = per_person**2 * (4.0 if checked_neighbors(neighbors) == "replace" else 1.0)
        return max(math.sqrt(factor * (asked - 1) / (8.0 * zcdp_rho(epsilon, delta))) * (1.0 + 1e-12), 1e-3)

    def privacy_curve(
        self, rounds: int | None = None, delta: float = 1e-6, epsilons: Sequence[float] | None = None, *,
        neighbors: Neighbors = "add-remove", per_person: int = 1,
    ) -> PrivacyCurve:  # fmt: skip
        """Return the bound on the expected regret of Hedge by epsilon; it holds against adaptive adversaries as well.

        Parameters
        ----------
        rounds : int, optional
            Number of rounds. Required unless the tuning states it.
        delta : float
            Delta of the statement.
        epsilons : sequence of float, optional
            Values of epsilon.
        neighbors : {"add-remove", "replace"}
            Whether one loss vector is added or removed, or replaced by another one.
        per_person : int
            Number of rounds to which one person contributes at most.

        Returns
        -------
        PrivacyCurve
            The curve; `scales` are those of Hedge. They are never below the scale with the smallest bound.

        Examples
        --------
        >>> from hannan.mathematics.regularizers import Entropy
        >>> curve = Experts(10, Entropy()).privacy_curve(10_000, epsilons=[1.0])
        >>> round(curve.bounds[0], 1), round(curve.free, 1), round(curve.epsilon_at_ten_percent, 1)
        (527.1, 107.3, 7.5)
        """
        asked = self._private_rounds(rounds, any_tuning=True)
        free = dataclasses.replace(self, tuning=Horizon(asked))
        least = free.schedule().scale(1, 0.0)

        def at(epsilon: float) -> Experts:
            scale = max(self.scale_for(epsilon, delta, asked, neighbors=neighbors, per_person=per_person), least)
            return dataclasses.replace(self, tuning=Fixed(scale))

        return curve(
            repr(self), asked, delta, epsilons, at, lambda: free, quantity="scale",
            noise=lambda learner: float(learner.schedule().scale(1, 0.0)),
        )  # fmt: skip

    def _private_rounds(self, rounds: int | None, any_tuning: bool = False) -> int:
        """Return the number of rounds of a privacy statement; raise if no statement is proved for the learner."""
        if not self.smoothing.hedge:
            super().privacy()
        if not any_tuning and self.schedule().d != 0.0:
            raise Withheld(
                f"{self.tuning!r} sets the scale from the losses, so one loss may affect the scale of every later "
                f"move, and no privacy is proved. Use Fixed, Horizon or Anytime"
            )
        asked = self.tuning.last_round if rounds is None else rounds
        return validation.count(needed(asked, "epsilon grows with the number of rounds"), "rounds")

    def _proof(self, rounds: int | None, best: float | None, known: bool, delay: int) -> Proof:
        tuning, schedule = self.tuning, self.schedule()
        k = self._constants(self.n, self._horizon or rounds)
        source = f"{_THEOREM if math.isfinite(k.rate) else _LOG_CONCAVE}: {type(tuning).__name__}"
        scale = schedule.scale(1, 0.0)
        if k.range <= 0.0:
            return Proof(
                {"one round": needed(rounds, "the range of the log-barrier depends on the number of rounds")}, source
            )
        if delay:
            if not schedule.is_constant:
                raise Withheld(f"no bound for delayed feedback is proved for {tuning!r}, because its scale changes")
            if not math.isfinite(k.rate):
                raise Withheld(
                    f"no bound for delayed feedback is proved for {self.smoothing!r}, because it has no rate"
                )
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
            needed(rounds, "the bound depends on the number of rounds")
        if rounds is not None:
            variance = self.smoothing.proved_variance_constant(self.n)
            proofs.append(Proof(bounds.root(k.range, variance, schedule, rounds, k.bias), source))
        if tuning.order == "given" and math.isfinite(k.rate):
            kept = bounds.kept_experts(k.rate / scale)
            terms = bounds.first_order(scale * k.range, kept, _known(best), k.bias)
            proofs.append(Proof(terms, source, supposes=best))
        if not proofs:
            needed(rounds, f"the bound of {self.smoothing!r} depends on the number of rounds only")
        return min(proofs, key=lambda proof: proof.value)

    def _as_printed(self, rounds: int | None, best: float | None) -> Bound:
        return paper.experts(self.smoothing, self.n, best)

    def setup(self) -> Any:
        prior = [] if self.prior is None else np.log(np.array(self.prior)).tolist()
        return self._setup("experts", self.n, self.schedule(), log_prior=prior)

    def start(self, seed: int | None = None, name: str | None = None) -> SleepingPlayer:
        from hannan.players.sleeping import SleepingPlayer

        return SleepingPlayer(self, seed, name)


def _inverse_squares(schedule: Schedule, rounds: int) -> float:
    """Return the sum of 1/s_t^2 over t = 2, ..., rounds.

    >>> round(_inverse_squares(Schedule(2.0, 3.0, 0.5), 4) - sum(0.25 / (3.0 + 0.5 * t) for t in (2, 3, 4)), 12)
    0.0
    """
    if schedule.is_constant:
        return (rounds - 1) / schedule.scale(1, 0.0) ** 2
    from scipy.special import digamma

    start = schedule.a / schedule.b
    # The difference of two digammas loses at most 1e-14 of their size.
    total = digamma(rounds + 1.0 + start) - digamma(2.0 + start)
    return float(total / (schedule.b * schedule.c**2)) * (1.0 + 1e-12)


def _known(best: float | None) -> float:
    if best is None:
        raise ValueError("best_loss or rounds is required: the bound depends on the best loss")
    return best
