"""Hybrid regularizer of Tsallis and Shannon (Zimmert and Seldin 2020): a bandit for delayed feedback."""

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
    """Bandit for delayed feedback: its bound grows with the number of missing losses, and needs no delay in advance.

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
    p = argmin <L, x> - 2 sqrt(t) sum sqrt(x_i) + sqrt(2 D_t/ln n) sum x_i ln x_i, where L sums l_i/p_i and D_t is the
    number of missing losses at each move up to t, summed over the moves. Without delay it is Tsallis-INF. With D = D_T,

        R <= 4 sqrt(n T) + sqrt(8 D ln n), and R <= 4 sqrt(n T) - 2 sqrt(T) if no loss is late (D = 0).

    References
    ----------
    Zimmert and Seldin, An optimal algorithm for adversarial bandits with arbitrary delays, AISTATS 2020.

    Examples
    --------
    >>> player = TsallisShannon(2).start(seed=0)
    >>> moves = [player.act() for _ in range(5)]
    >>> for move in moves:
    ...     player.observe(move, 1.0 if move.action == 0 else 0.0)
    >>> print(player.certificate().bound)
    expected regret <= 5 (trivial: rounds x range), even against an adaptive adversary
      valid    on every run
      theorem  no regret exceeds rounds x loss range
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
        """Return the bound on the expected regret; `missing` is D, the sum over moves of the missing losses.

        Parameters
        ----------
        rounds : int, optional
            Number of rounds.
        best_loss : float, optional
            Cumulative loss of the best choice in hindsight, or an upper bound on it.
        missing : int, default 0
            Sum over the moves of the number of missing losses.
        printed : bool, default False
            If True, return the bound as the paper prints it.
        against : {"adaptive", "oblivious", "iid"}, optional
            Adversary the bound must hold against.

        Returns
        -------
        Bound
            Value, terms, theorem and adversary.
        """
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
    """Player of `TsallisShannon`, whose certificate uses the number of missing losses."""

    learner: TsallisShannon

    @property
    def missing(self) -> int:
        """D so far: number of missing losses at each move, summed over the moves."""
        moves, before, foreseen = self._memory
        # The memory lags one call behind if moves were drawn since then.
        return int(foreseen if self.round != moves else before)

    def _bound(self, best: float | None) -> tuple[Bound | None, str]:
        if withheld := self._lost():
            return None, withheld
        if self._open_count:
            return None, f"{self._open_count} moves are open: the bound is for rounds whose losses have all come"
        bound = self.learner.bound(self._settled, missing=self.missing)
        return (bound if self.missing else dataclasses.replace(bound, condition="")), ""
