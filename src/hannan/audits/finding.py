"""What an audit of a claim found."""

from __future__ import annotations

from dataclasses import dataclass

from hannan.mathematics.stability import Stability
from hannan.refusals import Array

#: Rounding of the claim itself.
TOLERANCE = 1e-12


@dataclass(frozen=True)
class Finding:
    """`measured` against `claim`: the largest one-step divergence found, at witness = (L, loss).

    The measure errs on the low side: the accuracy of the play is taken off, so rounding disproves no claim.
    verdict: "holds" (nothing above the claim was found), or "exceeded" (the witness disproves the claim).
    """

    claim: Stability
    measured: float
    witness: tuple[Array, Array]
    verdict: str
