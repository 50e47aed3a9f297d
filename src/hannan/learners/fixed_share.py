"""Fixed share (Herbster, Warmuth 1998) and its bandit, Exp3.S: for a best choice that changes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from hannan import validation
from hannan.learners.learner import Weigher
from hannan.learners.memory import NamedArms, Remembered
from hannan.learners.tuning import Schedule
from hannan.mathematics.bounds import Against, Bound, Proved, Sense, Terms, Withheld
from hannan.saving import frozen

if TYPE_CHECKING:
    from hannan.learners.learner import Arms


def path_cost(n: int, rounds: int, switches: int, share: float) -> float:
    """-log of the prior weight of a path with so many switches: (S+1) ln n + S ln(1/a) + (T-1-S) ln(1/(1-a)).

    >>> round(path_cost(2, 1, 0, 0.5), 6)
    0.693147
    """
    stay = -math.log1p(-share) * max(rounds - 1 - switches, 0)
    return (switches + 1) * math.log(n) - switches * math.log(share) + stay


@dataclass(frozen=True, repr=False)
class FixedShare(Remembered):
    """Experts for a best one that changes: Hedge that keeps a little weight on everybody.

    p <- (1 - a) p_i e^(-l_i/scale)/sum + a/n: Hedge over all paths that change expert with probability a a round.

    Against the best path of S switches, of which S = 0 is the best expert,

        R <= scale ((S+1) ln n + S ln(1/a) + (T-1-S) ln(1/(1-a))) + T/(8 scale).

    `hannan.fixed_share(n, rounds, switches)` tunes scale and a.

    `n`: how many experts. `scale`: above 0; larger is steadier. `share`: a, the probability of a change a round.
    `loss_range` and `gains` say the units: losses (or gains) outside the range are refused.

    >>> print(FixedShare(10, scale=9.0, share=0.001).bound(rounds=1000, switches=1))
    expected regret <= 126.5, even against an adaptive adversary
      valid    for the mean play on every loss sequence; for sampled moves in expectation, even if losses depend
               on past moves
      theorem  fixed share, Herbster and Warmuth 1998, 1 switches
      terms    scale x path  112.7
               drift         13.89
    """

    scale: float
    share: float
    loss_range: tuple[float, float] = (0.0, 1.0)
    gains: bool = False

    # Hedge over paths: on every sequence.
    _against: ClassVar[Against] = "any"
    _sense: ClassVar[Sense | None] = "mean"
    source: ClassVar[str] = "fixed share, Herbster and Warmuth 1998"
    _proved: ClassVar[Proved] = "whole"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "scale", validation.positive(self.scale, "scale"))
        object.__setattr__(self, "share", validation.between(self.share, 0.0, 1.0, "share", "()"))

    def schedule(self) -> Schedule:
        return Schedule.constant(self.scale)

    def _weigher(self) -> Weigher:
        return Weigher("fixed_share", (self.share,))

    def _v(self) -> float:
        """E D_t <= v/(2 scale): Hoeffding."""
        return 0.25

    def bound(
        self,
        rounds: int | None = None,
        best_loss: float | None = None,
        *,
        switches: int = 0,
        printed: bool = False,
        against: str | None = None,
    ) -> Bound:
        """As `Remembered.bound`; with `switches`, against the best path of so many switches."""
        switches = validation.count(switches, "switches", least=0)
        if switches == 0 or rounds is None or self._trivial:
            return super().bound(rounds, best_loss, printed=printed, against=against)
        rounds, _ = self._asked(rounds, best_loss)
        if switches > rounds - 1:
            raise Withheld(f"a path of {rounds} rounds has at most {rounds - 1} switches; got {switches}")
        source = f"{self.source}, {switches} switches"
        return self._settled(self._terms(rounds, switches), source, rounds).asked(against)

    def _terms(self, rounds: int, switches: int) -> Terms:
        return {
            "scale x path": self.scale * path_cost(self.n, rounds, switches, self.share),
            "drift": self._v() * rounds / (2.0 * self.scale),
        }

    def _published(self, rounds: int, best: float) -> tuple[Terms, str]:
        return self._terms(rounds, 0), self.source


@frozen(repr=False)
class Exp3S(NamedArms, FixedShare):
    """A bandit for a best arm that changes: fixed share on estimated losses.

    Fixed share on l_i/p_i of the arm drawn: Exp3.S (Auer, Cesa-Bianchi, Freund, Schapire 2002) in losses.

    In losses the expected regret needs no exploration of its own: E sum_i p_i lhat_i^2 <= n gives, against the
    best path of S switches, scale path + n T/(2 scale). `hannan.exp3_s(n, rounds, switches)` tunes it.

    `n`: how many arms there are, or their names, which `arms` then has. `scale`: above 0; larger is steadier. `share`:
    a, the probability of a change a round. `loss_range` and `gains` say the units: losses (or gains) outside the range
    are refused.

    >>> Exp3S(4, scale=50.0, share=0.01).bound(rounds=10_000).source
    'Exp3.S in losses, after Auer et al. 2002'
    """

    n: Arms
    _against: ClassVar[Against] = "oblivious"
    _sense: ClassVar[Sense | None] = "path"
    source: ClassVar[str] = "Exp3.S in losses, after Auer et al. 2002"

    def _v(self) -> float:
        return float(self.n)
