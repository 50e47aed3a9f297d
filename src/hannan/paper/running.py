"""Runs of claims and their controls, on one core or several, with the time of each."""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from hannan import __version__
from hannan.games.driver import no_progress
from hannan.games.sweep.workers import Died, answers
from hannan.paper.claim import Claim, Effort, Verdict, as_printed
from hannan.saving.result import plain


@dataclass(frozen=True)
class Result:
    """A claim with its verdict, the verdict of its control if it has one, and the seconds of both."""

    claim: Claim
    verdict: Verdict
    seconds: float
    control: Verdict | None = None

    @property
    def as_expected(self) -> bool:
        """True if the verdict is the expected one and the control failed, by its numbers rather than by an error."""
        return self.verdict.outcome == self.claim.expected and self.control_failed is not False

    @property
    def control_failed(self) -> bool | None:
        """True if the control failed as expected, None without a control."""
        if self.control is None:
            return None
        return self.control.outcome == "fails" and not self.control.raised

    def as_json(self) -> dict[str, Any]:
        """Return the result as plain data; numbers that are not finite become null."""
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
    """Check every claim; yield results as they are ready. `printed` names the corrections to undo."""
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
    with no_progress():
        verdict = _judged(lambda: claim.judged(effort))
        control = _judged(lambda: claim.run_control(effort.quick, effort.seed)) if claim.turned else None
    return Result(claim, verdict, time.perf_counter() - start, control)


def _judged(run: Callable[[], Verdict]) -> Verdict:
    try:
        return run()
    except Exception as error:  # A check that raises is a failure; the other claims are still checked.
        return Verdict("fails", math.nan, math.nan, note=f"{type(error).__name__}: {error}", raised=True)


def _in_processes(claims: tuple[Claim, ...], effort: Effort, jobs: int, printed: tuple[str, ...]) -> Iterator[Result]:
    # Slow claims first, so that all cores are busy until the end.
    order = sorted(claims, key=lambda claim: claim.method != "simulation")
    for ready in answers(_remote, [(claim.name, effort, printed) for claim in order], min(jobs, len(order))):
        for i, answer in ready:
            if isinstance(answer, Died):
                answer = Verdict("fails", math.nan, math.nan, note=str(answer), raised=True), math.nan, None
            verdict, seconds, control = answer
            yield Result(order[i], verdict, seconds, control)


def _remote(name: str, effort: Effort, printed: tuple[str, ...]) -> tuple[Verdict, float, Verdict | None]:
    from hannan.paper import claims

    claim = claims(name)[0]  # In a fresh process this also registers the corrections.
    with as_printed(*printed):
        result = _check(claim, effort)
    return result.verdict, result.seconds, result.control


def versions() -> dict[str, str]:
    """Return the versions of Python, hannan, NumPy and SciPy."""
    found = {"python": platform.python_version(), "hannan": __version__}
    for name in ("numpy", "scipy"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
