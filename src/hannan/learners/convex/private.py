"""What a convex learner may be asked of its privacy: the statement, the scale for a budget, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence

from hannan.learners.convex.budget import PrivacyCurve, curve, scale_for
from hannan.learners.convex.privacy import Privacy, statement
from hannan.mathematics.convex.noise import Shape


class Private:
    """`privacy`, `scale_for` and `privacy_curve`."""

    def privacy(self, rounds: int = 1, delta: float | None = None, shape: Shape | None = None) -> Privacy:
        """(epsilon, delta) for adding or removing one observation, of one move or of `rounds` moves in a row.

        Over more rounds than one it is composed, at `delta` (for Gaussian noise by default that of the noise).
        "one-signed" says, on your word, that phi' of every loss has one sign. Refused where a condition fails.
        It is a statement about real-valued noise that nobody can compute; `condition` says so.

        >>> from hannan import Ball, Convex, Fixed
        >>> Convex(Ball(3), 1.0, tuning=Fixed(2.0), smooth=0, guarantee="privacy").privacy().epsilon
        0.5
        >>> curved = Convex(Ball(3), 1.0, tuning=Fixed(2.0), smooth=0.25, guarantee="privacy", accuracy=1e-6, ridge=2.0)
        >>> round(curved.privacy().epsilon, 4)  # (1/2 + log(1 + 1/8))/(1 - 0.1)
        0.6864
        """
        return statement(self, rounds, delta, shape)

    def scale_for(
        self, epsilon: float, delta: float | None = None, rounds: int = 1, shape: Shape | None = None
    ) -> float:
        """The least scale at which `privacy(rounds, delta, shape)` is at most `epsilon`: `tuning=hn.Fixed(it)`.

        >>> from hannan import Ball, Convex, GaussianNoise, Horizon
        >>> learner = Convex(Ball(3), 1.0, GaussianNoise(1e-6), Horizon(100), smooth=0)
        >>> round(learner.scale_for(epsilon=1.0, rounds=100), 2)
        42.25
        """
        return scale_for(self, epsilon, delta, rounds, shape)

    def privacy_curve(
        self, rounds: int, delta: float | None = None, epsilons: Sequence[float] | None = None
    ) -> PrivacyCurve:
        """What privacy costs: for each epsilon over all rounds the least scale, and the bound on the regret at it."""
        return curve(self, rounds, delta, epsilons)
