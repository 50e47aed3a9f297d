"""Result of an exact audit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hannan.mathematics.stability import Stability
from hannan.saving.formatting import clipped, figure
from hannan.saving.result import Result, Shown
from hannan.validation import Array

#: Relative tolerance for rounding errors of the claim.
TOLERANCE = 1e-12


@dataclass(frozen=True)
class Finding(Result):
    """Result of an exact audit: the measured stability level compared with the claimed one.

    Attributes
    ----------
    claim : Stability
        The claim that was audited.
    measured : float
        Largest one-step divergence found. Rounding errors are subtracted, so that they cannot disprove a claim.
    witness : tuple of (numpy.ndarray, numpy.ndarray)
        Cumulative losses L and next loss at which the divergence was found. For a convex learner, the move and the
        parameters of the loss.
    verdict : {"holds", "exceeded"}
        "holds" if no larger divergence than claimed was found, "exceeded" if the witness disproves the claim.

    Examples
    --------
    >>> import hannan as hn
    >>> finding = hn.audit(hn.FTPL(hn.Exponential(), 2.0), n=3)
    >>> finding.verdict, finding.broken, finding.claim.level
    ('holds', False, 0.5)
    """

    claim: Stability
    measured: float
    witness: tuple[Array, Array]
    verdict: Literal["holds", "exceeded"]

    @property
    def broken(self) -> bool:
        """True if the claim is disproved."""
        return self.verdict == "exceeded"

    def shown(self) -> Shown:
        """Return the verdict, the measured and the claimed level, and the witness."""
        before, loss = self.witness
        rows = [
            ("measured", f"{figure(self.measured)} in {self.claim.divergence}"),
            ("claimed", f"at most {figure(self.claim.level)}  ({self.claim.source})"),
            ("witness", f"L = {listed(before)}, loss {listed(loss)}"),
        ]
        return Shown(self.headline, rows)

    @property
    def headline(self) -> str:
        """Verdict as one sentence, which also reports an infinite claim."""
        if self.broken:
            return "exceeded: the witness disproves the claim"
        if self.claim.level == float("inf"):
            return "holds: the claim is inf, so whatever is measured is within it"
        return "holds: nothing above the claim was found"


def listed(numbers: Array) -> str:
    """Return the first numbers of an array as text that fits on a line."""
    return clipped(f"[{', '.join(figure(float(x)) for x in numbers[:40].reshape(-1))}]", 100)
