"""Adversarial bandits with experts: Algorithm 3 of the paper (alg:gbpa_bwe)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from hannan import validation
from hannan.learners.learner import Learner, Proof, needed
from hannan.learners.tuning import Anytime, ClippedSchedule, Schedule, SelfConfident, Tuning
from hannan.mathematics import bounds
from hannan.mathematics import printed as paper
from hannan.mathematics.bounds import Bound, Sense, Withheld
from hannan.mathematics.divergences import threshold
from hannan.mathematics.laws.light import Exponential
from hannan.mathematics.smoothing import Smoothing
from hannan.players.player import ExpertBanditPlayer

_THEOREM = "thm:gbpa_bwe, corrected form"
_EXPONENTIAL = Exponential()


@dataclass(frozen=True, repr=False)
class ExpertBandit(Learner):
    """Bandit with expert advice: choose an action on the advice of experts, and observe the loss of that action only.

    Parameters
    ----------
    actions : int
        Number of actions, K.
    experts : int
        Number of experts. The regret is against the best expert.
    smoothing : Law or Regularizer, default Exponential()
        Smoothing over the experts.
    tuning : Tuning, optional
        Rule that sets the scale. Default: `Anytime()`, or `SelfConfident()` with clip="tuned".
    clip : float or "tuned", default 0.0
        Threshold of the clipping. With 0 the bound is worst-case, of order sqrt(K t). With "tuned" and `BestLoss` or
        `SelfConfident` it is first-order, of order L*^(2/3). Other numbers are fixed thresholds.
    loss_range : tuple of float, default (0.0, 1.0)
        Range of the losses, or of the gains. A loss outside of the range raises ValueError.
    gains : bool, default False
        If True, larger values are better.

    Notes
    -----
    q_t = psi_t(grad Phi(Lhat_{t-1})), clipped or not: Algorithm 3 of the paper. Expert i advises an action, or a
    distribution E_i over actions; q = sum_i p_i E_i, an action j is drawn from C_rho(q), and expert i is charged E_ij
    l_j/q_j.

    Examples
    --------
    >>> ExpertBandit(4, 30).tuning, ExpertBandit(4, 30, clip="tuned").tuning
    (Anytime(factor=None), SelfConfident(rounds=None))
    """

    actions: int
    experts: int
    smoothing: Smoothing = _EXPONENTIAL
    tuning: Tuning = None  # type: ignore[assignment]  # the anytime one that fits the clip
    clip: float | str = 0.0
    loss_range: tuple[float, float] = (0.0, 1.0)
    gains: bool = False

    # As for `Bandit`: E Lhat_i <= L_i for an expert that is fixed.
    _sense: ClassVar[Sense | None] = "expert"

    def __post_init__(self) -> None:
        object.__setattr__(self, "actions", validation.count(self.actions, "actions"))
        object.__setattr__(self, "experts", validation.count(self.experts, "experts"))
        if not isinstance(self.clip, str):
            object.__setattr__(self, "clip", threshold(self.clip, self.actions))
        elif self.clip != "tuned":
            raise ValueError(f'clip must be a number in [0, 1/K] or "tuned"; got {self.clip!r}')
        if self.tuning is None:
            object.__setattr__(self, "tuning", SelfConfident() if self.clip == "tuned" else Anytime())
        self._check()
        self.schedule()

    @property
    def _trivial(self) -> bool:
        return self.experts == 1 or self.actions == 1

    def _tuned_clip(self) -> tuple[float, float]:
        """Return (scale, rho) of clip="tuned" with BestLoss."""
        k = self._tuned_constants(self.experts, self.tuning.told_rounds)
        epsilon, rho = bounds.clipped_tuning(k.c, self.actions, self.tuned_best() + k.bias)
        return k.rate / epsilon, rho

    @property
    def rho(self) -> float:
        """Threshold of the first round; with `SelfConfident` it changes later."""
        if self.clip != "tuned":
            return float(self.clip)
        if self._trivial:
            return 0.0
        schedule = self.schedule()
        return schedule.rho(0.0) if isinstance(schedule, ClippedSchedule) else self._tuned_clip()[1]

    def schedule(self) -> Schedule | ClippedSchedule:
        tuning, n = self.tuning, self.experts
        if self.clip == "tuned" and tuning.order != "first":
            raise self._refuse_tuning('BestLoss or SelfConfident with clip="tuned"')
        if tuning.order == "given":
            return tuning.schedule(0.0, 0.0)
        ranged = tuning.told_rounds is not None or not self.smoothing.needs_rounds
        if self.clip != "tuned" and (tuning.order == "first" or not ranged):
            raise self._refuse_tuning('Fixed, Horizon or Anytime, or with clip="tuned" BestLoss or SelfConfident')
        if self._trivial:
            return Schedule.constant(1.0)
        first = tuning.order == "first"
        if first and tuning.by_best_loss:
            return Schedule.constant(self._tuned_clip()[0])
        k = self._tuned_constants(n, tuning.told_rounds)
        if first:
            return ClippedSchedule(bounds.clipped_kappa(k.c, self.actions), k.rate, self.actions - 1)
        return tuning.schedule(k.range, k.rate * min(self.actions, n))

    def _proof(self, rounds: int | None, best: float | None, known: bool, delay: int) -> Proof:
        tuning, schedule = self.tuning, self.schedule()
        clipped = self.clip != 0.0
        if clipped and tuning.order == "zero":
            raise Withheld(f"clip={self.clip!r} has a proved bound with a Fixed scale only; got {tuning!r}")
        k = self._constants(self.experts, self._horizon or rounds)
        source = f"{_THEOREM}: {'clipped' if clipped else 'unclipped'}, {type(tuning).__name__}"
        if k.range <= 0.0:
            return Proof(
                {"one round": needed(rounds, "the range of the log-barrier depends on the number of rounds")}, source
            )
        if clipped:
            if best is None:
                raise ValueError("best_loss or rounds is required: the bound depends on the best loss")
            if not schedule.is_constant:
                terms = bounds.clipped_self_confident(k.c, self.actions, best, k.bias)
                return Proof(terms, source, supposes=best)
            scale = schedule.scale(1, 0.0)
            kept = bounds.kept_clipped(k.rate / scale, self.rho, self.actions)
            return Proof(bounds.first_order(scale * k.range, kept, best, k.bias), source, supposes=best)
        played, variance = (
            needed(rounds, "the bound depends on the number of rounds"),
            k.rate * min(self.actions, self.experts),
        )
        assert isinstance(schedule, Schedule)
        return Proof(bounds.root(k.range, variance, schedule, played, k.bias), source)

    def _as_printed(self, rounds: int | None, best: float | None) -> Bound:
        clipped = self.clip != 0.0
        return paper.expert_bandit(self.smoothing, self.actions, self.experts, clipped, rounds, best)

    def setup(self) -> Any:
        from hannan import _engine

        schedule, clip = self.schedule(), _engine.Clip(self.rho)
        if isinstance(schedule, ClippedSchedule):
            clip = _engine.Clip(0.0, schedule.kappa, schedule.rate)
            schedule = Schedule.constant(schedule.scale(1, 0.0))
        return self._setup("expert_bandit", self.experts, schedule, actions=self.actions, clip=clip)

    def start(self, seed: int | None = None, name: str | None = None) -> ExpertBanditPlayer:
        return ExpertBanditPlayer(self, seed, name)
