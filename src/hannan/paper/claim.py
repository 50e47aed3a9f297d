"""A claim of the paper as data: what it says, under which conditions, how it is checked, and what came out."""

from __future__ import annotations

import math
import tomllib
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import numpy as np

from hannan.games.record import Record
from hannan.mathematics.laws.heavy import Frechet, Pareto
from hannan.mathematics.laws.light import Gamma, Gumbel, Weibull
from hannan.paper.statements import STATEMENTS
from hannan.report import Layer, Picture

_PRINTED: ContextVar[frozenset[str]] = ContextVar("printed", default=frozenset())


@dataclass(frozen=True)
class Correction:
    """`corrected` stands where `printed` stood in the paper, at `label`."""

    name: str
    label: str
    says: str
    corrected: Callable[..., Any] = field(hash=False, repr=False)
    printed: Callable[..., Any] = field(hash=False, repr=False)


CORRECTIONS: dict[str, Correction] = {}


def correct(name: str, label: str, says: str, *, corrected: Callable[..., Any], printed: Callable[..., Any]) -> None:
    """Enter a correction."""
    if name in CORRECTIONS:
        raise ValueError(f"a correction must have a name of its own; got {name!r} twice")
    CORRECTIONS[name] = Correction(name, label, says, corrected, printed)


def form(name: str) -> Callable[..., Any]:
    """The corrected form, unless it is turned back."""
    correction = CORRECTIONS[name]
    return correction.printed if name in _PRINTED.get() else correction.corrected


@contextmanager
def as_printed(*names: str) -> Iterator[None]:
    """Turn corrections back into the printed form, here only."""
    unknown = [name for name in names if name not in CORRECTIONS]
    if unknown:
        raise ValueError(f"a correction must be one of {', '.join(sorted(CORRECTIONS))}; got {unknown[0]!r}")
    token = _PRINTED.set(_PRINTED.get() | frozenset(names))
    try:
        yield
    finally:
        _PRINTED.reset(token)


Outcome = Literal["holds", "improved", "holds as corrected", "fails as printed", "fails"]
OUTCOMES: tuple[Outcome, ...] = ("holds", "improved", "holds as corrected", "fails as printed", "fails")
Check = Callable[["Effort"], "Verdict"]
Method = Literal["exact", "quadrature", "simulation", "search"]


@dataclass(frozen=True)
class Verdict:
    """What a check found: `value` (`what` says of what) against `bound`, and the number of `runs` behind it.

    `holds`: as printed. `improved`: true as printed, and shown in a tighter form. `holds as corrected`: with the
    condition or the constant that the text lacks. `fails as printed`: a known error of the text, shown. `fails`: not
    expected. `raised`: the check broke off with an error.
    """

    outcome: Outcome
    value: float
    bound: float
    runs: int = 0
    numbers: Mapping[str, Any] = field(default_factory=dict, hash=False)
    pictures: tuple[Picture, ...] = ()
    note: str = ""
    what: str = ""
    raised: bool = False


@dataclass(frozen=True)
class Effort:
    """How hard to try. `quick` takes the small grids; `seed` starts every random stream.

    `broken` makes of the check its *control*: the one thing that the claim names is turned, and the check must fail.
    """

    quick: bool = True
    seed: int = 0
    broken: bool = False

    def turn(self, sound: Any, broken: Any) -> Any:
        """What the check is about, or what the control puts in its place."""
        return broken if self.broken else sound

    def pick(self, quick: Any, full: Any) -> Any:
        """The one or the other."""
        return quick if self.quick else full

    def rng(self, name: str) -> np.random.Generator:
        """A stream of its own for each name."""
        return np.random.default_rng([self.seed, zlib.crc32(name.encode())])


@dataclass(frozen=True)
class Claim:
    """One line of the paper, or of its correction.

    `name` is ours and unique, `label` the paper's own. `expected` is the outcome it must have. `control` says what is
    turned in the second run, which must fail. `corrects` names the correction that the claim relies on
    (`hannan.paper.claim`): its control is the printed form. `ours`: the paper does not say this. `says` is what
    the paper prints, where the statement of the label is not the sentence at issue.
    """

    name: str
    label: str
    statement: str
    conditions: str
    method: Method
    check: Check = field(repr=False, hash=False)
    section: str = ""
    corrects: str = ""
    expected: Outcome = "holds"
    control: str = ""
    ours: bool = False
    says: str = ""

    @property
    def number(self) -> str:
        """Where the paper says it: "Theorem 3.6"."""
        return STATEMENTS[self.label].number

    @property
    def printed(self) -> str:
        """What stands there, in short."""
        return self.says or STATEMENTS[self.label].text

    @property
    def turned(self) -> str:
        """What the control turns; empty if the claim has none."""
        return self.control or ("the form as printed" if self.corrects else "")

    def run(self, quick: bool = True, seed: int = 0) -> Verdict:
        """Check it; the same seed gives the same verdict."""
        return self.judged(Effort(quick, seed))

    def judged(self, effort: Effort) -> Verdict:
        """The verdict of the check; one that is kept has the outcome that its claim is filed under."""
        verdict = self.check(effort)
        filed = self.expected in ("improved", "holds as corrected")
        return replace(verdict, outcome=self.expected) if filed and verdict.outcome == "holds" else verdict

    def run_control(self, quick: bool = True, seed: int = 0) -> Verdict:
        """The same check with the one thing turned that `turned` names: its outcome must be `fails`."""
        if not self.turned:
            raise ValueError(f"a claim must name its control; got {self.name!r}")
        if self.control:
            return self.judged(Effort(quick, seed, broken=True))
        with as_printed(self.corrects):
            return self.judged(Effort(quick, seed))


@dataclass(frozen=True)
class Chapter:
    """The claims of one section of the paper, in order; each check enters itself with `@CHAPTER.claim(...)`."""

    title: str
    intro: str
    claims: list[Claim] = field(default_factory=list, hash=False)

    def claim(self, name: str) -> Callable[[Check], Check]:
        """Enter a check as the claim of this name, which the TOML file beside its module describes.

        The docstring of the check is the statement.
        """

        def enter(check: Check) -> Check:
            told = dict(_described(check.__module__.rpartition(".")[2])[name])
            told.setdefault("expected", "holds as corrected" if "corrects" in told else "holds")
            statement = " ".join((check.__doc__ or "").split())
            when = told.pop("when")
            self.claims.append(
                Claim(name, statement=statement, conditions=when, check=check, section=self.title, **told)
            )
            return check

        return enter


@cache
def _described(module: str) -> dict[str, Any]:
    """The claims of a module's TOML file, by name."""
    return tomllib.loads(files("hannan.paper").joinpath(f"{module}.toml").read_text(encoding="utf-8"))


def at_most(value: float, bound: float, *, slack: float = 1e-9) -> bool:
    """value <= bound, up to rounding."""
    return bool(value <= bound + slack * max(1.0, abs(bound))) and not math.isnan(value)


def holds(condition: bool, value: float, bound: float, **more: Any) -> Verdict:
    """`holds` if the condition is met, else `fails`; the claim says whether it is filed as improved or corrected."""
    return Verdict("holds" if condition else "fails", float(value), float(bound), **more)


def broken(witness: bool, value: float, bound: float, **more: Any) -> Verdict:
    """`fails as printed` if the witness breaks it; that it does not would be unexpected: `fails`."""
    return Verdict("fails as printed" if witness else "fails", float(value), float(bound), **more)


#: With parameters that have a finite mean for every N.
LAWS: tuple[tuple[str, Any], ...] = (
    ("Gamma(2)", Gamma(2.0)),
    ("Gumbel", Gumbel()),
    ("Fréchet(7)", Frechet(7.0)),
    ("Weibull(1)", Weibull(1.0)),
    ("Pareto(7)", Pareto(7.0)),
)


def exponent(x: Any, y: Any) -> float:
    """The slope b of the least-squares line log y = a + b log x.

    >>> round(exponent([1, 10, 100], [2, 20, 200]), 9)
    1.0
    """
    slope, _ = np.polyfit(np.log(np.asarray(x, dtype=float)), np.log(np.asarray(y, dtype=float)), 1)
    return float(slope)


def upper(record: Record) -> float:
    """The upper end of the 99.9 % t interval of the mean regret at the end: what a bound must be above of."""
    return float(record.interval(0.999)[1][-1])


def bars(
    title: str, rows: list[dict[str, Any]], alt: str, *, x: str = "", y: str = "regret", series: str = "what",
    rules: dict[str, float] | None = None, order: tuple[str, ...] = (),
) -> Picture:  # fmt: skip
    """Bars `y` beside each other for each name `x`, coloured by the column `series`; `rules` are lines across."""
    lines = tuple({"y": height, "label": label} for label, height in (rules or {}).items())
    layers = (Layer("bars", tuple(rows), series=series), *((Layer("rule", lines),) if lines else ()))
    return Picture(title, x, y, layers, alt=alt, x_kind="nominal", order=order)
