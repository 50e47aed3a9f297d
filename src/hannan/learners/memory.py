"""Learners with a memory, whose weights are not a function of L alone: base classes of learners and players."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from hannan import validation
from hannan.learners.learner import Learner, Weigher, name_arms
from hannan.learners.tuning import Schedule
from hannan.mathematics import bounds
from hannan.mathematics.bounds import Bound, Proved, Terms, Whom, Withheld, at_observed
from hannan.players.player import BanditPlayer, Player
from hannan.players.sleeping import SleepingPlayer
from hannan.saving import frozen


@dataclass(frozen=True, repr=False)
class Remembered(Learner):
    """Learner without a smoothing and a tuning: validation, units and bound."""

    n: int

    setting: ClassVar[str] = "experts"
    #: True if a run uses a second stream of random numbers.
    own_noise: ClassVar[bool] = False
    #: Extent of the proof in docs/mathematics.md.
    _proved: ClassVar[Proved] = "published"

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", validation.count(self.n, "n"))
        self._check_units()

    def _weigher(self) -> Weigher:
        raise NotImplementedError

    def schedule(self) -> Schedule:
        return Schedule.constant(1.0)

    def setup(self) -> Any:
        return self._setup(self.setting, self.n, self.schedule())

    def start(self, seed: int | None = None, name: str | None = None) -> Player:
        return (NoisyPlayer if self.own_noise else RememberedPlayer)(self, seed, name)

    @property
    def _trivial(self) -> bool:
        return self.n == 1

    def bound(
        self, rounds: int | None = None, best_loss: float | None = None, *, printed: bool = False, against: Whom = None
    ) -> Bound:
        """Return the published bound on the expected regret, in the units of the losses.

        `best_loss` is an upper bound on the best loss in hindsight. A published bound that uses it is smaller and
        states the condition; without it the number of rounds is used. If the bound does not hold against the adversary
        `against` ("any", "oblivious" or "iid"), `Withheld` is raised.
        """
        if printed:
            raise Withheld(f"the paper has no bound for {type(self).__name__}; got printed=True")
        rounds, best = self._asked(rounds, best_loss)
        if self._trivial or rounds == 0:
            return bounds.nothing()
        terms, source = self._published(rounds, best)
        bound = self._settled(terms, source, rounds)
        if best_loss is not None and bound.sense != "run" and terms != self._published(rounds, float(rounds))[0]:
            bound = bound.supposing(float(best_loss), self.gains)
        return bound.asked(against)

    def _asked(self, rounds: int | None, best_loss: float | None) -> tuple[int, float]:
        """Return (rounds, L*) for losses in [0, 1]."""
        if rounds is None:
            raise ValueError("rounds is required: the bound depends on the number of rounds")
        rounds = validation.count(rounds, "rounds", least=0)
        best = float(rounds)
        if best_loss is not None:
            best = self._normalised(validation.real(best_loss, "best_loss"), rounds, "best_loss")
        return rounds, best

    def _published(self, rounds: int, best: float) -> tuple[Terms, str]:
        """Return (terms for losses in [0, 1], reference)."""
        raise NotImplementedError

    def _settled(self, terms: Terms, source: str, rounds: int) -> Bound:
        """Return the bound in the user's units, rounded up, at most rounds * range."""
        value = bounds.rounded_up(math.fsum(terms.values()))
        if value >= rounds:
            return bounds.trivial(rounds * self.width)
        bound = Bound(value, terms, source, proof=self._proved, sense=self._sense, against=self._against)
        return bound.times(self.width)


class RememberedPlayer(SleepingPlayer):
    """Player of experts with a memory, without a claim on stability."""

    learner: Remembered

    def _claim(self, gamma: float) -> float | None:
        return None

    def _bound(self, best: float | None) -> tuple[Bound | None, str]:
        if withheld := self._lost() or self._late():
            return None, withheld
        try:
            return self._observed(best), ""
        except ValueError as reason:
            return None, str(reason)

    def _observed(self, best: float | None) -> Bound:
        """Return the bound for the losses that were observed."""
        return at_observed(self.learner, self.learner.bound(self._settled, best), best)


class NoisyPlayer(RememberedPlayer):
    """Player of a leader of noisy sums, which does not support unavailable experts."""

    def _bound(self, best: float | None) -> tuple[Bound | None, str]:
        """Withhold a bound against oblivious losses, because the moves of a live player reveal the noise it keeps."""
        bound, withheld = super()._bound(best)
        if bound is None or bound.against == "any":
            return bound, withheld
        name = type(self.learner).__name__
        return None, f"the bound of {name} is for losses fixed in advance: it keeps its noise, and past moves reveal it"

    def _mask(self, awake: Any) -> Any:
        raise ValueError(
            f"awake= is not supported by {self.learner!r}, because its proof needs all experts; got awake={awake!r}"
        )


class RememberedBanditPlayer(BanditPlayer):
    """Player of a bandit with a memory, without a claim on stability."""

    learner: Remembered

    def _claim(self, gamma: float) -> float | None:
        return None


if TYPE_CHECKING:
    from hannan.learners.learner import Arms


@frozen(repr=False)
class NamedArms(Remembered):
    """Bandit with a memory: `n` is the number of arms or their names, which `arms` then contains.

    A subclass repeats the annotation `n: Arms`, because mypy loses the converted type of an inherited frozen field.
    """

    n: Arms
    arms: tuple[str, ...] | None = field(default=None, repr=False, kw_only=True)

    setting: ClassVar[str] = "bandit"

    def __post_init__(self) -> None:
        name_arms(self)
        super().__post_init__()

    def start(self, seed: int | None = None, name: str | None = None, evidence: bool = False) -> RememberedBanditPlayer:
        return RememberedBanditPlayer(self, seed, name, evidence)

    def _said(self, name: str) -> Any:
        return list(self.arms) if name == "n" and self.arms else super()._said(name)
