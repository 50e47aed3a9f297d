"""Plain words for the results of `hannan reproduce`, shared by the terminal, the report and the documentation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hannan.paper.claim import Claim, Outcome
from hannan.paper.running import Result
from hannan.report.blocks import Badge, Tone


class Kind(NamedTuple):
    """One group of results: how one result is labeled, and what is printed after the number of results."""

    label: str
    counted: str
    tone: Tone
    mark: str
    explanation: str

    @property
    def badge(self) -> Badge:
        """Label of one result on the page."""
        return Badge(self.label, self.tone, self.mark)


#: Groups in the order in which they are printed.
KINDS: dict[str, Kind] = {
    "holds": Kind(
        "holds",
        "hold as printed",
        "good",
        "✓",
        "the statement is true as the paper prints it",
    ),
    "addition": Kind(
        "holds, addition",
        "hold and are additions to the paper",
        "good",
        "+",
        "a true statement that the paper does not make; this library relies on it",
    ),
    "improved": Kind(
        "holds, improved",
        "hold with a better constant",
        "good",
        "↑",
        "the printed statement is true, and so is a version with a better constant or fewer conditions",
    ),
    "holds as corrected": Kind(
        "holds, corrected",
        "hold after a correction",
        "note",
        "✎",
        "the statement is true once a missing condition is added or a constant is corrected",
    ),
    "fails as printed": Kind(
        "fails as printed",
        "fail as printed",
        "warn",
        "✗",
        "the printed statement is false; the card shows the evidence and a note explains what is needed instead",
    ),
    "fails": Kind(
        "unexpected",
        "unexpected results",
        "bad",
        "!",
        "the verdict differs from the one recorded for this claim; this indicates an error in the library",
    ),
}


def kind(claim: Claim, outcome: Outcome) -> str:
    """Return the key in `KINDS` of a claim with this outcome.

    An outcome other than the expected one counts as unexpected, whichever it is.
    """
    if outcome != claim.expected:
        return "fails"
    return "addition" if claim.ours else outcome


def counts(results: Sequence[Result]) -> dict[str, int]:
    """Return the number of results of each kind."""
    found = [kind(result.claim, result.verdict.outcome) for result in results]
    return {name: found.count(name) for name in KINDS}


def summary(results: Sequence[Result], seconds: float) -> str:
    """Return the lines that `hannan reproduce` prints at the end.

    >>> print(summary([], 1.2).splitlines()[0])
    Checked 0 claims of the paper in 1 s
    """
    where = {"holds as corrected": " (the report lists the corrections)", "fails as printed": " (see the report)"}
    noun = "claim" if len(results) == 1 else "claims"
    lines = [f"Checked {len(results)} {noun} of the paper in {seconds:.0f} s"]
    for name, count in counts(results).items():
        lines.append(f"{count:>5}  {KINDS[name].counted}{where.get(name, '') if count else ''}")
    return "\n".join([*lines, f"Negative controls: {controls(results)}"])


def controls(results: Sequence[Result]) -> str:
    """Return a clause on the negative controls: how many of the broken variants were rejected."""
    failed = [result.control_failed for result in results if result.control_failed is not None]
    if all(failed):
        return f"all {len(failed)} deliberately broken variants were rejected"
    return f"{sum(failed)} of {len(failed)} deliberately broken variants were rejected"
