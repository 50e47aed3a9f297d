"""Tsallis and Shannon together (Zimmert, Seldin 2020): a bandit for late feedback that is told no delay."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any, ClassVar

from hannan import validation
from hannan.learners.learner import Weigher
from hannan.learners.memory import NamedArms, RememberedBanditPlayer
from hannan.learners.tuning import Schedule
from hannan.mathematics.bounds import Bound, Sense, Terms
from hannan.saving import frozen

if TYPE_CHECKING:
    from hannan.learners.learner import Arms


@frozen(repr=False)
class TsallisShannon(NamedArms):
    """A bandit for late feedback: its bound grows with the losses that were missing, and needs to be told nothing.

    p = argmin <L, x> - 2 sqrt(t) sum sqrt(x_i) + sqrt(2 D_t/ln n) sum x_i ln x_i, L of l_i/p_i.

    D_t counts the losses missing at each move up to t, summed; with prompt losses it is Tsallis-INF. With D = D_T,

        R <= 4 sqrt(n T) + sqrt(8 D ln n), and R <= 4 sqrt(n T) - 2 sqrt T if no loss is late (D = 0).

    `n`: how many arms there are, or their names, which `arms` then has. `loss_range` and `gains` say the units: losses
    (or gains) outside the range are refused.

    >>> player = TsallisShannon(2).start(seed=0)
    >>> moves = [player.act() for _ in range(5)]
    >>> for move in moves:
    ...     player.observe(move, 1.0 if move.action == 0 else 0.0)
    >>> print(player.certificate().bound)
    expected regret <= 5 (trivial: rounds x range), even against an adaptive adversary
      valid    on every run
      theorem  no regret exceeds the rounds times the loss range
      terms    rounds x range  5
    >>> [round(TsallisShannon(2).bound(rounds=10_000, missing=late).value, 2) for late in (0, 40_000)]
    [365.69, 1036.65]
    """

    n: Arms
    loss_range: tuple[float, float] = (0.0, 1.0)
    gains: bool = False

    _sense: ClassVar[Sense | None] = "arm"
    source: ClassVar[str] = "Zimmert, Seldin 2020"

    def schedule(self) -> Schedule:
        return Schedule(1.0, b=1.0)

    def _weigher(self) -> Weigher:
        return Weigher("tsallis_shannon")

    def start(self, seed: int | None = None, name: str | None = None, evidence: bool = False) -> DelayedPlayer:
        return DelayedPlayer(self, seed, name, evidence)

    def bound(
        self,
        rounds: int | None = None,
        best_loss: float | None = None,
        *,
        missing: int = 0,
        printed: bool = False,
        against: str | None = None,
    ) -> Bound:
        """As `Remembered.bound`; `missing` is D, the losses missing at each move, summed over the moves."""
        missing = validation.count(missing, "missing", least=0)
        prompt = super().bound(rounds, best_loss, printed=printed, against=against)
        if rounds is None or self._trivial or rounds == 0:
            return prompt
        if missing == 0:
            said: dict[str, Any] = (
                {} if prompt.sense == "run" else {"proof": "whole", "condition": "if no loss is late"}
            )
            return dataclasses.replace(prompt, **said)
        late = math.sqrt(8.0 * missing * math.log(self.n))
        terms = {"4 sqrt(n T)": 4.0 * math.sqrt(self.n * rounds), "sqrt(8 D ln n)": late}
        bound = self._settled(terms, f"{self.source}, D = {missing}", rounds)
        if bound.sense != "run":
            bound = dataclasses.replace(bound, condition="if delays do not depend on your moves")
        return bound.asked(against)

    def _published(self, rounds: int, best: float) -> tuple[Terms, str]:
        # Without late losses the play is that of Tsallis(1/2) at scale sqrt(t), with importance weighting.
        terms = {"4 sqrt(n T)": 4.0 * math.sqrt(self.n * rounds), "-2 sqrt T": -2.0 * math.sqrt(rounds)}
        return terms, "thm:gbpa_bandits, corrected form: Tsallis at scale sqrt(t), which this is without late losses"


class DelayedPlayer(RememberedBanditPlayer):
    """Plays `TsallisShannon`; its certificate counts what was late."""

    learner: TsallisShannon

    @property
    def missing(self) -> int:
        """D so far: the losses missing at each move, summed over the moves drawn."""
        moves, before, foreseen = self._memory
        # The memory is a call behind where moves were drawn since.
        return int(foreseen if self.round != moves else before)

    def _bound(self, best: float | None) -> tuple[Bound | None, str]:
        if withheld := self._lost():
            return None, withheld
        if self._open_count:
            return None, f"{self._open_count} moves are open: the bound is for rounds whose losses have all come"
        bound = self.learner.bound(self._settled, missing=self.missing)
        return (bound if self.missing else dataclasses.replace(bound, condition="")), ""
