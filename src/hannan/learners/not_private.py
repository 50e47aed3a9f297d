"""Learners that state no privacy, and say why not and what there is."""

from __future__ import annotations

import math
from typing import Any, NoReturn

from hannan.mathematics.bounds import Withheld

#: What stands in the way of one that sees every loss, and of one that sees its own.
EVERY = (
    "its stability is of one step and one side, and its tuning may follow what it saw, so that one loss may show in "
    "every later move"
)
OWN = (
    "it divides a loss by the probability of its move, so that one loss can change the play by more than any level "
    "fixed in advance"
)


class NotPrivate:
    """`privacy` and `scale_for` of learners for which nothing is proved: a sentence."""

    def privacy(self, *_: Any, **__: Any) -> NoReturn:
        """Withheld: no two-sided statement over rounds is proved; the sentence says what there is."""
        program: Any = getattr(self, "program")()  # noqa: B009, of the learner that this is part of
        exposed = EVERY if program.setting == "experts" else OWN
        n: int = getattr(self, "n", 0) or getattr(self, "experts", 2)
        steepest = math.ceil(1000.0 * math.sqrt(n)) / 1000.0
        raise Withheld(
            f"{type(self).__name__} states no privacy: {exposed}. What there is: hn.Convex(hn.Simplex({n}), "
            f"lipschitz={steepest:g}, smooth=0, guarantee='privacy', ...) moves in the mixtures of {n} and sees all "
            "losses; it has privacy(rounds, delta), scale_for(epsilon, delta, rounds) and privacy_curve(rounds). "
            "hn.audit measures the stability of one step"
        )

    def scale_for(self, *_: Any, **__: Any) -> NoReturn:
        """Withheld, as `privacy` is."""
        self.privacy()
