"""Claims of the paper: numbered statements, and the conditions, check and verdict of a claim.

`tests/paper/test_statements.py` derives the numbers from `tests/oracles/paper_outline.tex`, an outline of the source.
"""

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
from typing import Any, Literal, NamedTuple

import numpy as np

from hannan.games.record import Record
from hannan.mathematics.laws.heavy import Frechet, Pareto
from hannan.mathematics.laws.light import Gamma, Gumbel, Weibull
from hannan.report import Layer, Picture


class Statement(NamedTuple):
    """Number of a statement in the paper, such as "Lemma 3.1", and a short form of its text."""

    number: str
    text: str


#: In the order of the paper.
STATEMENTS: dict[str, Statement] = {
    "eq:max_divergence": Statement(
        "Equation (1)",
        "D_{∞}^{δ}(P, Q) = sup over sets with P(B) > δ of log((P(B) − δ)/Q(B)); it is “not a metric, because it is "
        "asymmetric and does not satisfy the triangle inequality”.",
    ),
    "def:OSDS": Statement(
        "Definition 2.1",
        "A learner is one-step differentially stable w.r.t. D at level ε iff D(A(ℓ_{1:t−1}), A(ℓ_{1:t})) ≤ ε for any "
        "losses.",
    ),
    "def:OSDSnorm": Statement(
        "Definition 2.2", "… w.r.t. a norm and D at level ε iff D(A(ℓ_{1:t−1}), A(ℓ_{1:t})) ≤ ε‖ℓ_{t}‖."
    ),
    "eq:tsallismaxdiv": Statement("Equation (2)", "D_{∞,γ}(P, Q) = sup_{B} log_{γ} P(B) − log_{γ} Q(B)."),
    "lemma:regret_lstar": Statement(
        "Lemma 3.1",
        "Loss-only, losses bounded by B, A DiffStable(D_{∞}^{δ}) at level ε ≤ 1: "
        "E Regret(A) ≤ 2ε L* + 3 E Regret(A⁺) + δBT.",
    ),
    "thm:oco": Statement(
        "Theorem 3.2",
        "Loss-only convex losses in [0, B], ‖X‖ ≤ D, ‖∇ℓ‖ ≤ β, Hessian of rank one and at most γ: the expected regret "
        "of Algorithm 1 is O(√(L*(γD² + βdD))) with Gamma and O(√(L*(γD² + D√(dβ² log BT)))) with Gaussian noise.",
    ),
    "eq:oco1": Statement(
        "Equation (3)",
        "The expected regret of Algorithm 1 is at most 2εL* + (3γ/ε)D² + 6D E‖b‖ + δBT, as that of A⁺ is at most "
        "(γ/ε)D² + 2D E‖b‖.",
    ),
    "alg:oco": Statement(
        "Algorithm 1",
        "Draw b from the density ∝ exp(−ε‖b‖/(2β)), or from N(0, (β² log(2/δ) + 4ε)/ε² I); play the argmin over X of "
        "Σℓ_{s}(x) + (γ/ε)‖x‖² + ⟨b, x⟩.",
    ),
    "cor:olo": Statement(
        "Corollary 3.3",
        "Loss-only linear losses, ‖X‖ ≤ D, ‖ℓ‖ ≤ β: expected regret O(√(L* dβD)) with Gamma noise and "
        "O(√(L* βD √(d log βDT))) with Gaussian noise.",
    ),
    "sec:experts": Statement(
        "Section 3.3",
        "Using the baseline potential min_{i} L_{i} in GBPA would result in follow-the-leader, “which is known to be "
        "unstable”.",
    ),
    "alg:gbpa": Statement("Algorithm 2", "GBPA for experts: draw i_{t} from p_{t} = ∇Φ(L_{t−1}), add the losses seen."),
    "prop:dc_to_dp": Statement(
        "Proposition 3.5",
        "If Φ is (γ, ε)-differentially consistent, −∇²_{ii}Φ ≤ ε(∇_{i}Φ)^{γ}, γ ≥ 1, and −∇²Φ is positive "
        "off-diagonal, GBPA is DiffStable(D_{∞,γ}, ‖·‖_{∞}) at level 2ε.",
    ),
    "thm:analysis_experts": Statement(
        "Theorem 3.6",
        "FTPL with Gamma, Gumbel, Fréchet, Weibull and Pareto perturbations, with a proper choice of parameters, all "
        "achieve the optimal O(√(L* log N) + log N) expected regret.",
    ),
    "lem:regret_bandit": Statement(
        "Lemma 4.1",
        "GBPA DiffStable(D_{∞,γ}, ‖·‖_{∞}) at level ε, 1 ≤ γ ≤ 2: the expected regret of Algorithm 4 is at most "
        "ε E Σ ℓ̂² p^{γ} + E[max F − min F].",
    ),
    "thm:gbpa_bandits": Statement(
        "Theorem 4.2",
        "Bandits: (1) FTPL with five laws O(√(NT log N)); (2) FTRL with Tsallis entropy O(√(NT)); (3) FTRL with the "
        "log-barrier O(√(N L* log(NT)) + N log(NT)).",
    ),
    "alg:gbpa_bwe": Statement(
        "Algorithm 3",
        "GBPA for bandits with experts: q = ψ(p), clipped or not; ℓ̂ = ℓ_{j}/q_{j} e_{j}; the experts who advised j "
        "are "
        "charged φ(ℓ̂). ⟨ψ(p), ℓ̂⟩ = ⟨p, φ(ℓ̂)⟩.",
    ),
    "eq:clipping": Statement(
        "Equation (4)", "C_{ρ}(q)_{j} = q_{j}/(1 − Σ_{q_j' < ρ} q_{j'}) if q_{j} ≥ ρ, else 0; 0 ≤ ρ < 1/K."
    ),
    "thm:gbpa_bwe": Statement(
        "Theorem 4.3",
        "Bandits with experts, five laws: (1) without clipping O(√(KT log N)); (2) with clipping "
        "O((K log N)^{1/3} L*^{2/3}).",
    ),
    "lem:increasing": Statement("Proposition A.1", "D_{∞,γ}(P, Q) is non-decreasing in γ for γ > 0."),
    "lem:deterministic": Statement(
        "Proposition A.2", "D_{∞,γ}(f(X), f(Y)) ≤ D_{∞,γ}(X, Y) for every measurable function f."
    ),
    "lem:delta_pl": Statement(
        "Lemma B.1",
        "D_{∞}^{δ}(Y, Z) ≤ ε if and only if some Y' has |P(Y ∈ B) − P(Y' ∈ B)| ≤ δ for all B, and D_{∞}(Y', Z) ≤ ε.",
    ),
    "lem:dp_func": Statement(
        "Lemma B.2", "D_{∞}^{δ}(Y, Z) ≤ ε and f with values in [0, F]: E f(Y) ≤ e^{ε} E f(Z) + δF."
    ),
    "prop:POD": Statement(
        "Proposition B.3",
        "Φ(L) = min_{p} ⟨L, p⟩ + Σf(p_{i}), f differentiable and strictly convex: −∇²Φ(L) is positive off-diagonal.",
    ),
    "tab:dist": Statement(
        "Table 1",
        "(1, ε)-consistent with E max Z = O(log N/ε): Gamma(1, 1), Gumbel(0, 1), Fréchet(log N), Weibull*(1, 1), "
        "Pareto*(1, log N); those with * “have to be modified slightly”.",
    ),
    "alg:gbpa_bandits": Statement(
        "Algorithm 4", "GBPA for bandits: draw i_{t} from ∇Φ(L̂_{t−1}); ℓ̂_{t} = ℓ_{t,i_t}/p_{t,i_t} e_{i_t}; L̂ += ℓ̂."
    ),
    "lem:regret_bandit_full": Statement(
        "Lemma C.1",
        "As Lemma 4.1, with E[max over p_{i} ≥ τ of F − F(p_{0})] + τNT for the range: “there is a p in Δ_{τ} such "
        "that ‖p' − p‖_{1} ≤ τN”.",
    ),
    "lem:mabregret": Statement(
        "Lemma C.2",
        "E Σℓ_{t,i_t} − L* ≤ E Σ⟨p_{t} − p_{t+1}, ℓ̂_{t}⟩ + E[max over p_{i} ≥ τ of F − F(p_{0})] + τNT.",
    ),
    "lem:gammastability": Statement("Lemma C.3", "⟨p_{t} − p_{t+1}, ℓ̂_{t}⟩ ≤ ε ℓ̂² p^{γ}."),
    "lem:logdc": Statement("Lemma C.4", "F = −ηΣ log p_{i}: Φ is (2, 1/η)-differentially consistent."),
    "lem:regret_bwe": Statement(
        "Lemma C.5", "Without clipping: E Σℓ_{t,j_t} − L* ≤ ε E Σ ℓ̂_{t,i_t}² q_{t,j_t} + E[max F − min F]."
    ),
    "lem:bweregret": Statement(
        "Lemma C.6",
        "E Σℓ_{t,i_t} − L* ≤ E Σ⟨p_{t} − p_{t+1}, φ̄_{t}⟩ + E[max F − min F], φ̄_{t} the running sum of φ_{s}(ℓ̂_{s}).",
    ),
    "lem:gammastability_bwe": Statement("Lemma C.7", "⟨p_{t} − p_{t+1}, φ̄_{t}⟩ ≤ ε ℓ̂_{t,j_t}² q_{t,j_t}."),
    "eq:bwe_rhs1": Statement("Equation (17)", "E[2ε ℓ̂² Σ_{i: E_i = j} p_{i}] = E[2ε (ℓ²/q̃²) q̃] ≤ (2ε/ρ) E ℓ_{t,j_t}."),
}


_PRINTED: ContextVar[frozenset[str]] = ContextVar("printed", default=frozenset())


@dataclass(frozen=True)
class Correction:
    """Correction of the statement `label`: `corrected` replaces the form `printed` in the paper."""

    name: str
    label: str
    says: str
    corrected: Callable[..., Any] = field(hash=False, repr=False)
    printed: Callable[..., Any] = field(hash=False, repr=False)


CORRECTIONS: dict[str, Correction] = {}


def correct(name: str, label: str, says: str, *, corrected: Callable[..., Any], printed: Callable[..., Any]) -> None:
    """Register a correction under a unique name."""
    if name in CORRECTIONS:
        raise ValueError(f"names of corrections must be unique; got {name!r} twice")
    CORRECTIONS[name] = Correction(name, label, says, corrected, printed)


def form(name: str) -> Callable[..., Any]:
    """Return the corrected form, or the printed form inside `as_printed(name)`."""
    correction = CORRECTIONS[name]
    return correction.printed if name in _PRINTED.get() else correction.corrected


@contextmanager
def as_printed(*names: str) -> Iterator[None]:
    """Use the printed form instead of the named corrections inside a with block."""
    unknown = [name for name in names if name not in CORRECTIONS]
    if unknown:
        raise ValueError(f"no correction {unknown[0]!r}; known corrections: {', '.join(sorted(CORRECTIONS))}")
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
    """Result of a check: a measured `value`, described by `what`, compared with `bound` over `runs` cases.

    The outcome is one of

    - `holds`: the statement is true as printed;
    - `improved`: it is true as printed, and so is a version with a better constant or fewer conditions;
    - `holds as corrected`: it is true once a missing condition is added or a constant is corrected;
    - `fails as printed`: it is false as printed, and the check shows it;
    - `fails`: the check did not confirm what was expected.

    `raised` is true if the check stopped with an error.
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
    """Size of a check: small grids if `quick`, and the seed of its random streams.

    With `broken` the check runs on its negative control, a deliberately broken variant, and must fail.
    """

    quick: bool = True
    seed: int = 0
    broken: bool = False

    def turn(self, sound: Any, broken: Any) -> Any:
        """Return `sound`, or `broken` if this is the negative control."""
        return broken if self.broken else sound

    def pick(self, quick: Any, full: Any) -> Any:
        """Return `quick` or `full`, depending on the size of the check."""
        return quick if self.quick else full

    def rng(self, name: str) -> np.random.Generator:
        """Return a random generator that depends on the seed and the name."""
        return np.random.default_rng([self.seed, zlib.crc32(name.encode())])


@dataclass(frozen=True)
class Claim:
    """One checkable statement of the paper, or a correction of it or an addition to it.

    `name` is unique; `label` is the label in the paper. `expected` is the expected outcome. `control` describes the
    broken variant of the negative control. `corrects` names the correction that the claim depends on; its negative
    control is the printed form. `ours` marks additions, which the paper does not state. `says` quotes the paper if the
    statement of the label is not the sentence in question.
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
        """Number of the statement in the paper, such as "Theorem 3.6"."""
        return STATEMENTS[self.label].number

    @property
    def printed(self) -> str:
        """Short form of the printed statement."""
        return self.says or STATEMENTS[self.label].text

    @property
    def turned(self) -> str:
        """Description of the broken variant of the negative control; empty if there is no control."""
        return self.control or ("the printed form" if self.corrects else "")

    def run(self, quick: bool = True, seed: int = 0) -> Verdict:
        """Run the check; the same seed gives the same verdict."""
        return self.judged(Effort(quick, seed))

    def judged(self, effort: Effort) -> Verdict:
        """Run the check; a claim that holds gets its expected outcome, such as `improved`."""
        verdict = self.check(effort)
        filed = self.expected in ("improved", "holds as corrected")
        return replace(verdict, outcome=self.expected) if filed and verdict.outcome == "holds" else verdict

    def run_control(self, quick: bool = True, seed: int = 0) -> Verdict:
        """Run the check on the negative control described by `turned`; the outcome must be `fails`."""
        if not self.turned:
            raise ValueError(f"claim {self.name!r} has no negative control; set control= or corrects=")
        if self.control:
            return self.judged(Effort(quick, seed, broken=True))
        with as_printed(self.corrects):
            return self.judged(Effort(quick, seed))


@dataclass(frozen=True)
class Chapter:
    """Claims of one section of the paper, in order. The decorator `@CHAPTER.claim(name)` registers a check."""

    title: str
    intro: str
    claims: list[Claim] = field(default_factory=list, hash=False)

    def claim(self, name: str) -> Callable[[Check], Check]:
        """Return a decorator that registers a check as the claim `name` of the TOML file of its module.

        The docstring of the check is the statement of the claim.
        """

        def enter(check: Check) -> Check:
            facts = dict(_described(check.__module__.rpartition(".")[2])[name])
            facts.setdefault("expected", "holds as corrected" if "corrects" in facts else "holds")
            statement = " ".join((check.__doc__ or "").split())
            when = facts.pop("when")
            self.claims.append(
                Claim(name, statement=statement, conditions=when, check=check, section=self.title, **facts)
            )
            return check

        return enter


@cache
def _described(module: str) -> dict[str, Any]:
    """Return the claims described in the TOML file of a module, by name."""
    return tomllib.loads(files("hannan.paper").joinpath(f"{module}.toml").read_text(encoding="utf-8"))


def at_most(value: float, bound: float, *, slack: float = 1e-9) -> bool:
    """Return whether value <= bound, up to rounding errors."""
    return bool(value <= bound + slack * max(1.0, abs(bound))) and not math.isnan(value)


def holds(condition: bool, value: float, bound: float, **more: Any) -> Verdict:
    """Return the verdict `holds` if the condition is true, else `fails`."""
    return Verdict("holds" if condition else "fails", float(value), float(bound), **more)


def broken(witness: bool, value: float, bound: float, **more: Any) -> Verdict:
    """Return the verdict `fails as printed` if the statement was shown to be false, else `fails` (unexpected)."""
    return Verdict("fails as printed" if witness else "fails", float(value), float(bound), **more)


#: The five perturbation distributions of the paper, with parameters for which the mean is finite for every N.
LAWS: tuple[tuple[str, Any], ...] = (
    ("Gamma(2)", Gamma(2.0)),
    ("Gumbel", Gumbel()),
    ("Fréchet(7)", Frechet(7.0)),
    ("Weibull(1)", Weibull(1.0)),
    ("Pareto(7)", Pareto(7.0)),
)


def exponent(x: Any, y: Any) -> float:
    """Return the slope b of the least-squares line log y = a + b log x.

    >>> round(exponent([1, 10, 100], [2, 20, 200]), 9)
    1.0
    """
    slope, _ = np.polyfit(np.log(np.asarray(x, dtype=float)), np.log(np.asarray(y, dtype=float)), 1)
    return float(slope)


def upper(record: Record) -> float:
    """Return the upper limit of the 99.9 % t-interval of the mean final regret."""
    return float(record.interval(0.999)[1][-1])


def bars(
    title: str,
    rows: list[dict[str, Any]],
    alt: str,
    *,
    x: str = "",
    y: str = "regret",
    series: str = "what",
    rules: dict[str, float] | None = None,
    order: tuple[str, ...] = (),
) -> Picture:
    """Return a bar chart of `y`, grouped by `x` and colored by the column `series`, with horizontal `rules`."""
    lines = tuple({"y": height, "label": label} for label, height in (rules or {}).items())
    layers = (Layer("bars", tuple(rows), series=series), *((Layer("rule", lines),) if lines else ()))
    return Picture(title, x, y, layers, alt=alt, x_kind="nominal", order=order)


def growth(
    title: str, x: str, rows: list[dict[str, Any]], bound: tuple[dict[str, Any], ...], slopes: Mapping[str, float]
) -> Picture:
    """Return a picture of regret and bound on logarithmic axes, with one line per learner if there are several."""
    series = "learner" if "learner" in rows[0] else None
    fitted = ", ".join(f"{slope:.2f}" for slope in slopes.values())
    return Picture(
        title,
        x,
        "regret",
        (Layer("line", tuple(rows), series=series), Layer("bound", bound)),
        alt=f"On logarithmic axes the regret grows with slope {fitted}. The dashed line is the bound.",
        x_log=True,
        y_log=True,
    )
