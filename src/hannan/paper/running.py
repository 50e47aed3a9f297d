"""Run claims and their controls, on one core or several, and say how long each took."""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from hannan import __version__
from hannan.paper.claim import Claim, Effort, Verdict
from hannan.paper.corrections import as_printed
from hannan.saving.result import plain


@dataclass(frozen=True)
class Result:
    """A claim, its verdict, that of its control if it has one, and the seconds that both took."""

    claim: Claim
    verdict: Verdict
    seconds: float
    control: Verdict | None = None

    @property
    def as_expected(self) -> bool:
        """The verdict is the one expected, and the control failed: by its numbers, not by an error."""
        return self.verdict.outcome == self.claim.expected and self.control_failed is not False

    @property
    def control_failed(self) -> bool | None:
        """Whether the control came out as it must; None without a control."""
        if self.control is None:
            return None
        return self.control.outcome == "fails" and not self.control.raised

    def as_json(self) -> dict[str, Any]:
        """The result as plain data; numbers that are not finite are null."""
        claim, verdict = self.claim, self.verdict
        return {
            "name": claim.name,
            "label": claim.label,
            "number": claim.number,
            "section": claim.section,
            "statement": claim.statement,
            "printed": None if claim.ours else claim.printed,
            "ours": claim.ours,
            "conditions": claim.conditions,
            "method": claim.method,
            "corrects": claim.corrects or None,
            "verdict": verdict.outcome,
            "expected": claim.expected,
            "as_expected": self.as_expected,
            "control": self._control(),
            "what": verdict.what,
            "value": plain(float(verdict.value)),
            "bound": plain(float(verdict.bound)),
            "runs": verdict.runs,
            "seconds": round(self.seconds, 3),
            "numbers": plain(dict(verdict.numbers)),
            "note": verdict.note,
        }

    def _control(self) -> dict[str, Any] | None:
        if self.control is None:
            return None
        return {
            "turned": self.claim.turned,
            "failed": self.control_failed,
            "value": plain(float(self.control.value)),
            "bound": plain(float(self.control.bound)),
            "note": self.control.note if self.control.raised else "",
        }


def run(
    claims: Iterable[Claim], effort: Effort | None = None, jobs: int = 1, printed: tuple[str, ...] = ()
) -> Iterator[Result]:
    """Check every claim; results come as they are ready. `printed` names corrections to turn back."""
    effort = effort or Effort()
    claims = tuple(claims)
    with as_printed(*printed):
        if jobs <= 1 or len(claims) == 1:
            for claim in claims:
                yield _check(claim, effort)
            return
    yield from _in_processes(claims, effort, jobs, printed)


def _check(claim: Claim, effort: Effort) -> Result:
    start = time.perf_counter()
    verdict = _judged(lambda: claim.judged(effort))
    control = _judged(lambda: claim.run_control(effort.quick, effort.seed)) if claim.turned else None
    return Result(claim, verdict, time.perf_counter() - start, control)


def _judged(run: Callable[[], Verdict]) -> Verdict:
    try:
        return run()
    except Exception as error:  # a claim that cannot be checked has failed, and the others still count
        return Verdict("fails", math.nan, math.nan, note=f"{type(error).__name__}: {error}", raised=True)


def _in_processes(claims: tuple[Claim, ...], effort: Effort, jobs: int, printed: tuple[str, ...]) -> Iterator[Result]:
    from hannan.paper.workers import Died, answers

    # The slow ones before the quick, so that no core is left waiting for the last.
    order = sorted(claims, key=lambda claim: claim.method != "simulation")
    for i, answer in answers(_remote, [(claim.name, effort, printed) for claim in order], jobs):
        if isinstance(answer, Died):
            answer = Verdict("fails", math.nan, math.nan, note=str(answer), raised=True), math.nan, None
        verdict, seconds, control = answer
        yield Result(order[i], verdict, seconds, control)


def _remote(name: str, effort: Effort, printed: tuple[str, ...]) -> tuple[Verdict, float, Verdict | None]:
    from hannan.paper import claims

    claim = claims(name)[0]  # this also enters the corrections, in a fresh process
    with as_printed(*printed):
        result = _check(claim, effort)
    return result.verdict, result.seconds, result.control


def versions() -> dict[str, str]:
    """What the numbers were made with."""
    found = {"python": platform.python_version(), "hannan": __version__}
    for name in ("numpy", "scipy"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
