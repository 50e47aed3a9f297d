"""Learners for losses drawn independently from one law: what they share, and what none of them promises.

They know of an arm how often it was played and what that cost. Where losses are i.i.d. their regret is small; where
they are not, nothing is proved, and sequences are known on which each of them loses a share of all rounds.
"""

from __future__ import annotations

import math
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar

from hannan.frozen import frozen
from hannan.learners.memory import RememberedBanditPlayer
from hannan.learners.named_arms import NamedArms
from hannan.mathematics.against import Against
from hannan.mathematics.bounds import Bound, Terms, Withheld
from hannan.players.tickets import Move

if TYPE_CHECKING:
    from hannan.learners.arms import Arms
    from hannan.learners.program import Program


@frozen(repr=False)
class Stochastic(NamedArms):
    """A bandit for i.i.d. losses: units, names of arms, and bounds against i.i.d. losses alone.

    Published bounds are on E[own loss] - T min_i mu_i. Regret here is against the arm that is best in hindsight, which
    has lost less than T min_i mu_i: E[T min_i mu_i - min_i L_i] <= sqrt(T ln n/2), since each T mu_i - L_i is
    sub-Gaussian of variance T/4. That is a term of every bound.
    """

    n: Arms
    loss_range: tuple[float, float] = field(default=(0.0, 1.0), kw_only=True)
    gains: bool = field(default=False, kw_only=True)

    _against: ClassVar[Against] = "iid"

    def program(self) -> Program:
        return super().program()._replace(estimates=False)

    def start(self, seed: int | None = None, name: str | None = None) -> StochasticPlayer:
        return StochasticPlayer(self, seed, name)

    def _past(self, horizon: int, rounds: int) -> None:
        """Refuse what is past the rounds that it was made for."""
        if rounds > horizon:
            raise Withheld(f"{self!r} was made for {horizon} rounds and {rounds} are played: no bound past them")

    def _in_hindsight(self, rounds: int) -> Terms:
        """What the best arm in hindsight gains over the arm of least mean."""
        return {"best in hindsight": math.sqrt(0.5 * rounds * math.log(self.n))}

    def _by_gaps(self, rounds: int, log_term: float, constant: float) -> Terms:
        """Of plays E N_i <= log_term/D_i^2 + constant, D_i the gaps, whatever they are.

        Arms of gaps below d cost T d at most, the n - 1 others log_term/d + constant each; d = sqrt((n-1) log_term/T).
        """
        others = self.n - 1
        return {"gaps": 2.0 * math.sqrt(others * log_term * rounds), "first plays": others * constant}


class StochasticPlayer(RememberedBanditPlayer):
    """Plays a learner for i.i.d. losses. Its moves carry the probability they had: 1 where the rule leaves one arm.

    It estimates no regret: of an arm that the rule does not play nothing is known.
    """

    learner: Stochastic

    def _on_this_run(self, delta: float, regret: float) -> tuple[float | None, str]:
        return None, f"nothing is proved of one run of {type(self.learner).__name__}"

    def _act_awake(self, awake: Any) -> Move:
        raise ValueError(
            f"{type(self.learner).__name__} has no arms that sleep: no proof covers it; "
            f"Bandit({self._n}, Tsallis(0.5)) has; got awake={awake!r}"
        )

    def _bound(self, best: float | None) -> tuple[Bound | None, str]:
        return super()._bound(None)
