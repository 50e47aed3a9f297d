"""Hybrid regularizer of Tsallis and Shannon (Zimmert and Seldin 2020): a bandit for delayed feedback."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, ClassVar

from hannan import validation
from hannan.learners.learner import Weigher
from hannan.learners.memory import NamedArms, RememberedBanditPlayer
from hannan.learners.tuning import Schedule
from hannan.mathematics.bounds import Bound, Sense, Terms
from hannan.saving import frozen

if TYPE_CHECKING:
    from hannan.learners.learner import Arms


#: With late losses nothing is proved for losses that depend on moves: the learner then observes the draw of a missing
#: loss through other losses, before it observes the loss.
LATE_SENSE: Sense = "kept"
LATE = (
    "Tsallis and Shannon regularizers with a limit on the delay, after Zimmert and Seldin 2020, proved in "
    "docs/proofs/others.md"
)


def counted_missing(rounds: int, delay: int) -> int:
    """Return the sum over the moves t of min(t - 1, delay).

    >>> counted_missing(4, 2), sum(min(t - 1, 2) for t in range(1, 5))
    (5, 5)
    """
    first = min(max(rounds - 1, 0), delay)
    return first * (first + 1) // 2 + (max(rounds - 1, 0) - first) * delay


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
    delay : int, optional
        Largest number of moves that are drawn between a move and its loss. With it the bound holds even if delays
        depend on the drawn arms and on their losses, as those of clicks do. Default: the missing losses are counted,
        and delays must not depend on the moves.
    arms : tuple of str, optional
        Names of the arms.

    Notes
    -----
    p = argmin <L, x> - 2 sqrt(t) sum sqrt(x_i) + sqrt(2 D_t/ln n) sum x_i ln x_i, where L sums l_i/p_i and D_t is the
    number of missing losses at each move up to t, summed over the moves. Without delay it is Tsallis-INF. With D = D_T,

        R <= 4 sqrt(n T) + sqrt(8 D ln n), and R <= 4 sqrt(n T) - 2 sqrt(T) if no loss is late (D = 0).

    The bound covers all moves, pending ones included. With `delay` move t counts min(t - 1, delay) missing losses, and
    R <= 4 sqrt(n T) - 2 sqrt(T) + sqrt(8 D ln n); see docs/proofs/others.md.

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
    >>> round(TsallisShannon(2, delay=4).bound(rounds=10_000).value, 1)  # if a loss is at most 4 moves late
    836.6
    """

    n: Arms
    loss_range: tuple[float, float] = (0.0, 1.0)
    gains: bool = False
    #: Largest number of moves between a move and its loss.
    delay: int | None = None

    _later_fields: ClassVar[tuple[str, ...]] = ("delay",)
    _sense: ClassVar[Sense | None] = "arm"
    source: ClassVar[str] = "Zimmert, Seldin 2020"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.delay is not None:
            object.__setattr__(self, "delay", validation.count(self.delay, "delay"))

    def schedule(self) -> Schedule:
        return Schedule(1.0, b=1.0)

    def _weigher(self) -> Weigher:
        return Weigher("tsallis_shannon", () if self.delay is None else (float(self.delay),))

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
        """Return the bound on the expected regret of all moves.

        Parameters
        ----------
        rounds : int, optional
            Number of rounds.
        best_loss : float, optional
            Cumulative loss of the best choice in hindsight, or an upper bound on it.
        missing : int, default 0
            Sum over the moves of the number of missing losses. It must be omitted if the learner has a `delay`.
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
        if self.delay is not None and missing:
            raise ValueError(f"missing must be omitted for a learner with delay={self.delay}; got {missing}")
        prompt = super().bound(rounds, best_loss, printed=printed, against=against)
        if rounds is None or self._trivial or rounds == 0:
            return prompt
        if self.delay is not None:
            return self._covering(rounds, self.delay).asked(against)
        if missing == 0:
            if prompt.sense == "run":
                return prompt
            return dataclasses.replace(prompt, proof="whole", condition="if no loss is late", covers=("pending",))
        late = math.sqrt(8.0 * missing * math.log(self.n))
        terms = {"4 sqrt(n T)": 4.0 * math.sqrt(self.n * rounds), "sqrt(8 D ln n)": late}
        bound = self._settled(terms, f"{self.source}, D = {missing}", rounds)
        if bound.sense != "run":
            condition = "if delays depend neither on your moves nor on their losses"
            bound = dataclasses.replace(bound, condition=condition, sense=LATE_SENSE, covers=("pending",))
        return bound.asked(against)

    def _covering(self, rounds: int, delay: int) -> Bound:
        """Return the bound for all delays of at most `delay` moves."""
        late = math.sqrt(8.0 * counted_missing(rounds, delay) * math.log(self.n))
        terms = {**self._published(rounds, float(rounds))[0], "sqrt(8 D ln n)": late}
        bound = self._settled(terms, f"{LATE}, D = {counted_missing(rounds, delay)}", rounds)
        if bound.sense == "run":
            return bound
        condition = f"if at most {delay} moves are drawn between a move and its loss, whatever the moves are"
        return dataclasses.replace(bound, proof="whole", condition=condition, sense=LATE_SENSE, covers=("pending",))

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
        if self.learner.delay is not None:
            return counted_missing(self.round, self.learner.delay)
        moves, before, foreseen = self._memory
        # The memory lags one call behind if moves were drawn since then.
        return int(foreseen if self.round != moves else before)

    def _bound(self, best: float | None) -> tuple[Bound | None, str]:
        """Return the bound for all moves drawn so far: a pending loss is one that is still missing."""
        if withheld := self._lost():
            return None, withheld
        delay = self.learner.delay
        if delay is not None:
            oldest = self.round - min((move.round for move in self.open_moves), default=self.round)
            if max(self._largest_delay, oldest) > delay:
                return None, f"a loss was more than delay={delay} moves late, which the bound excludes"
            return self.learner.bound(self.round), ""
        bound = self.learner.bound(self.round, missing=self.missing)
        return (bound if self.missing else dataclasses.replace(bound, condition="")), ""
