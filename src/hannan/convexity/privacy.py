"""A privacy statement, and its composition over rounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hannan import refusals
from hannan.bounds import Withheld


@dataclass(frozen=True)
class Privacy:
    """D_inf^delta <= epsilon both ways, between the moves with and without one observation (def:OSDS, two-sided).

    `rounds` is how many moves in a row the statement is about.
    """

    epsilon: float
    delta: float
    rounds: int
    source: str

    @classmethod
    def of_rounds(cls, epsilon: float, delta: float, sigma: float | None, rounds: int, target: float | None) -> Privacy:
        """One move is (epsilon, delta), or Gaussian with noise multiplier sigma: the statement over `rounds` moves.

        >>> Privacy.of_rounds(0.5, 0.0, None, 3, None).epsilon
        1.5
        """
        if rounds == 1:
            return cls(epsilon, delta, 1, "cor:olo: the law of the perturbed sum of linear losses")
        if sigma is None and target is None:
            return cls(rounds * epsilon, rounds * delta, rounds, "basic composition of pure levels")
        target = refusals.between(delta if target is None else target, 0.0, 1.0, "delta", "()")
        accounting = _accounting()
        loss = accounting.privacy_loss_distribution
        if sigma is not None:
            one = loss.from_gaussian_mechanism(sigma)
        else:
            one = loss.from_privacy_parameters(accounting.common.DifferentialPrivacyParameters(epsilon, 0.0))
        composed = float(one.self_compose(rounds).get_epsilon_for_delta(target))
        return cls(composed, target, rounds, "privacy loss distribution, composed by dp-accounting")


def _accounting() -> Any:
    try:
        from dp_accounting import pld
    except ImportError:
        raise Withheld("composition over rounds needs dp-accounting: pip install 'hannan[privacy]'") from None
    return pld
