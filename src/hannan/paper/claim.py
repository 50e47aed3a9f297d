"""A claim of the paper as data: what it says, under which conditions, how it is checked, and what came out."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from hannan.report import Picture

Outcome = Literal["holds", "holds as corrected", "fails as printed", "fails"]
OUTCOMES: tuple[Outcome, ...] = ("holds", "holds as corrected", "fails as printed", "fails")
Check = Callable[["Effort"], "Verdict"]
Method = Literal["exact", "quadrature", "simulation", "search"]


@dataclass(frozen=True)
class Verdict:
    """What a check found: `value` (`what` says of what) against `bound`, and the number of `runs` behind it.

    `holds` and `holds as corrected`: value <= bound, as the claim says it. `fails as printed`: a known error of
    the text, shown. `fails`: not expected.
    """

    outcome: Outcome
    value: float
    bound: float
    runs: int = 0
    numbers: Mapping[str, Any] = field(default_factory=dict, hash=False)
    pictures: tuple[Picture, ...] = ()
    note: str = ""
    what: str = ""


@dataclass(frozen=True)
class Effort:
    """How hard to try. `quick` takes the small grids; `seed` starts every random stream."""

    quick: bool = True
    seed: int = 0

    def pick(self, quick: Any, full: Any) -> Any:
        """The one or the other."""
        return quick if self.quick else full

    def rng(self, name: str) -> np.random.Generator:
        """A stream of its own for each name."""
        return np.random.default_rng([self.seed, zlib.crc32(name.encode())])


@dataclass(frozen=True)
class Claim:
    """One line of the paper, or of its correction.

    `name` is ours and unique, `label` the paper's own. `corrects` names the correction that the claim relies on
    (`hannan.paper.corrections`): with that one turned back into the printed form the claim fails.
    """

    name: str
    label: str
    statement: str
    conditions: str
    method: Method
    check: Check = field(repr=False, hash=False)
    section: str = ""
    corrects: str = ""

    def run(self, quick: bool = True, seed: int = 0) -> Verdict:
        """Check it; the same seed gives the same verdict."""
        return self.check(Effort(quick, seed))


@dataclass(frozen=True)
class Chapter:
    """The claims of one section of the paper, in order; each check enters itself with `@CHAPTER.claim(...)`."""

    title: str
    intro: str
    claims: list[Claim] = field(default_factory=list, hash=False)

    def claim(
        self, name: str, label: str, method: Method, *, when: str, corrects: str = ""
    ) -> Callable[[Check], Check]:
        """Enter a check as a claim; its docstring is the statement."""

        def enter(check: Check) -> Check:
            statement = " ".join((check.__doc__ or "").split())
            self.claims.append(Claim(name, label, statement, when, method, check, self.title, corrects))
            return check

        return enter


def at_most(value: float, bound: float, *, slack: float = 1e-9) -> bool:
    """value <= bound, up to rounding."""
    return bool(value <= bound + slack * max(1.0, abs(bound))) and not math.isnan(value)


def holds(condition: bool, value: float, bound: float, *, corrected: bool = False, **more: Any) -> Verdict:
    """`holds` (or `holds as corrected`) if the condition is met, else `fails`."""
    good: Outcome = "holds as corrected" if corrected else "holds"
    return Verdict(good if condition else "fails", float(value), float(bound), **more)


def broken(witness: bool, value: float, bound: float, **more: Any) -> Verdict:
    """`fails as printed` if the witness breaks it; that it does not would be unexpected: `fails`."""
    return Verdict("fails as printed" if witness else "fails", float(value), float(bound), **more)
