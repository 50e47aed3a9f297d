"""Every regret bound of the package: each theorem a few lines on (rate, range).

A smoothing at a scale has a rate, h/scale, and a range, G * scale (`mathematics.stability`); c' = h G. The
bounds are on the expected regret, losses in [0, 1], in the corrected form; as printed in the paper they are
in `mathematics.printed`. Each function gives the named terms of a sum; against whom it holds is the learner's to say.

    sum_t <p_t, l_t> = Phi(L_T) - Phi(0) + sum_t D_t, D_t = int_0^1 <p(L_{t-1}) - p(L_{t-1} + s l_t), l_t> ds

is exact. Zero order: E D_t <= v/(2 scale), v the *variance constant*. First order: the losses that the
learner keeps are at least a share k of its own, so that own <= (L* + range)/k.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, field, replace
from typing import Any, Literal, NamedTuple, get_args

from hannan.saving import frozen
from hannan.saving.formatting import ceiling, figure
from hannan.saving.result import Result, Shown

Against = Literal["any", "oblivious", "iid"]
#: Of whom a bound is asked: a word as above, to be checked, or nothing.
Whom = str | None

#: What is proved: the whole proof is in docs/mathematics.md or docs/proofs; a published theorem is cited and its
#: proof not repeated; or one step of a proof was only checked numerically.
Proved = Literal["whole", "published", "numerical"]

#: Whose regret the number bounds, and in which sense.
#:   run      every run: no regret is larger
#:   moves    the moves themselves, which are not random: every sequence
#:   mean     the mean play <p, l>, every sequence; the moves drawn, in expectation
#:   draws    the moves drawn, in expectation over fresh noise
#:   arm      the moves drawn, in expectation; against losses that depend on moves only one arm named in advance
#:   expert   the same for one expert; path, for one path of arms; map, for one map from keys to arms
#:   available, available_map  as arm and map, each arm over the rounds in which it was available
#:   likely   this run, with the probability that the condition says
#:   kept     noise is kept and shows in moves: against losses that depend on them nothing is left
Sense = Literal[
    "run", "moves", "mean", "draws", "arm", "expert", "path", "map", "available", "available_map", "likely", "kept"
]

#: What a bound covers besides: losses that a learner begins with, at the cost of their spread.
Cover = Literal["prior"]

#: Assumption of a bound against an oblivious adversary.
FIXED_LOSSES = "if losses do not depend on your moves"
#: The same assumption if some arms were unavailable in some rounds.
FIXED_SETS = "if neither losses nor the set of available arms depends on your moves"
#: The same assumption if experts give advice: advice that follows the moves chooses the best expert by the draws.
FIXED_ADVICE = "if neither losses nor advice depends on your moves"
#: Restriction of bounds on an expectation whose proofs do not cover stopping times.
_WHEN = ", at a time fixed in advance"

_ANY: dict[str, str] = {
    "run": "on every run",
    "moves": "on every sequence, also if a loss is set in sight of the move",
    "mean": "of the mean play on every sequence; of moves drawn in expectation, also if losses depend on past moves",
    "draws": "in expectation, also if losses depend on past moves",
    "likely": "on a run, with the probability said, also if losses depend on past moves",
}
_LEFT: dict[str, str] = {
    "kept": "nothing is promised",
    "arm": "it bounds E[own loss - loss of any one arm named in advance]",
    "expert": "it bounds E[own loss - loss of any one expert named in advance]",
    "path": "it bounds E[own loss - loss of any one path named in advance]",
    "map": "it bounds E[own loss - loss of any one map key -> arm named in advance]",
    "available": "it bounds the pseudo-regret E[own loss - loss of any one arm named in advance], both over the rounds "
    "in which that arm was available",
    "available_map": "it bounds the pseudo-regret E[own loss - loss of any one map key -> arm named in advance], both "
    "over the rounds in which the arm of the key was available",
}
#: The sense of a bound if some arms were unavailable in some rounds.
_RESTRICTED: dict[str, Sense] = {"arm": "available", "map": "available_map"}
#: The comparator of a bound that holds for one comparator named in advance.
_NAMED: dict[str, str] = {"arm": "arm", "available": "arm", "expert": "expert", "path": "path", "map": "map key -> arm"}
_HOLDS_FOR: dict[str, tuple[str, ...]] = {
    "any": ("any", "oblivious", "iid"),
    "oblivious": ("oblivious", "iid"),
    "iid": ("iid",),
}


def covers(against: str, asked: str) -> bool:
    """Whether a bound against the one is a bound against the other.

    >>> covers("any", "oblivious"), covers("oblivious", "any")
    (True, False)
    """
    return asked in _HOLDS_FOR[against]


def restricted(sense: Sense | None) -> Sense | None:
    """Return the sense of a bound whose arms were not available in all rounds.

    >>> restricted("arm"), restricted("mean")
    ('available', 'mean')
    """
    return sense if sense is None else _RESTRICTED.get(sense, sense)


def best_loss_condition(at_most: float, gains: bool, against: str, sense: str) -> str:
    """Return the condition of a bound that supposes a best loss (or gain).

    The bound is on an expectation, so the condition must hold on every run. If losses depend on the moves, a bandit's
    proof uses the expected loss of the comparator instead.

    >>> best_loss_condition(100.0, False, "any", "mean")
    'if the best loss L* <= 100 on every run'
    """
    best, sign = ("the best gain G*", ">=") if gains else ("the best loss L*", "<=")
    said = f"if {best} {sign} {at_most:.15g} on every run"
    if against == "any" or sense not in _NAMED:
        return said
    expected = f"the expected {'gain' if gains else 'loss'} of one {_NAMED[sense]} named in advance"
    what = "losses or advice depend" if sense == "expert" else "losses depend"
    return f"{said} (if {what} on your moves: if {expected} is {sign} {at_most:.15g})"


def checked(against: object) -> str:
    """One of the three words, or a refusal."""
    if against not in get_args(Against):
        raise ValueError(f'against must be "any", "oblivious" or "iid"; got {against!r}')
    return str(against)


def sentence(against: str, sense: str) -> str:
    """Of whom a bound holds, in words.

    >>> print(sentence("any", "draws"))
    any losses: in expectation, also if losses depend on past moves
    >>> print(sentence("oblivious", "kept"))
    oblivious losses: if losses do not depend on your moves, at a time fixed in advance; if they do, nothing is promised
    """
    if against == "any":
        return f"any losses: {_ANY.get(sense, _ANY['draws'])}"
    if against == "iid":
        return f"i.i.d. losses: if they are drawn independently from one law{_WHEN}; if not, nothing is promised"
    if sense not in _LEFT:
        return f"oblivious losses: {FIXED_LOSSES}"
    if sense == "expert" or sense in _RESTRICTED.values():
        fixed = FIXED_ADVICE if sense == "expert" else FIXED_SETS
        return f"oblivious losses: {fixed}{_WHEN}; otherwise {_LEFT[sense]}"
    return f"oblivious losses: {FIXED_LOSSES}{_WHEN}; if they do, {_LEFT[sense]}"


Terms = dict[str, float]

ULPS = 16 * 2.0**-52
_EULER = 0.57721566490153286061


class Withheld(ValueError):
    """Raised where a bound is not given, because a condition of its proof fails or is not known to hold.

    It is a ValueError, and its text is the reason.

    >>> import hannan as hn
    >>> try:
    ...     hn.Experts(3, tuning=hn.Horizon(100)).bound(rounds=200)
    ... except hn.Withheld as reason:
    ...     print(reason)
    Horizon(rounds=100) was tuned for 100 rounds and 200 are played: no bound past them
    """

    __module__ = "hannan"  # the name that users catch it by


@frozen
class Bound(Result):
    """A proved bound on the regret, with the terms it is made of, where it is proved and against whom it holds.

    expected regret <= value = the sum of the terms, each named; `source` says which theorem. The value is rounded up.

    `scale` is the tuned scale where it is constant, and `schedule` says how it grows where it does. `printed` is the
    paper's own form, when it was asked for.

    `against` says of whom it holds and `sense` of whose regret (`hannan.mathematics.bounds`; `holds` is the sentence);
    `condition` states what else must hold, and `at_most` is the best loss that the condition supposes; `covers` what it
    allows beyond; `proof` whether the whole proof is in docs/mathematics.md, or a published theorem is cited, or a step
    was checked numerically only.

    >>> print(Bound(21.5, {"range": 20.0, "bias": 1.5}, "thm:analysis_experts", 3.0, sense="mean", against="any"))
    expected regret <= 21.5
      range    20
      bias     1.5
      source   thm:analysis_experts
      scale    3
      against  any losses: of the mean play on every sequence; of moves drawn in expectation, also if losses
               depend on past moves
    """

    value: float
    terms: Terms = field(hash=False)
    source: str
    scale: float | None = None
    schedule: str = ""
    printed: Bound | None = None
    _: KW_ONLY
    proof: Proved = "whole"
    sense: Sense | None = None
    condition: str = ""
    at_most: float | None = None
    against: Against = "oblivious"
    covers: tuple[Cover, ...] = ()

    def __post_init__(self) -> None:
        checked(self.against)
        object.__setattr__(self, "covers", tuple(self.covers))
        if self.proof not in get_args(Proved):
            raise ValueError(f'proof must be "whole", "published" or "numerical"; got {self.proof!r}')
        if self.sense is not None and self.sense not in get_args(Sense):
            raise ValueError(f"sense must be one of {get_args(Sense)}; got {self.sense!r}")

    @property
    def holds(self) -> str:
        """Of whom it holds, in words."""
        return sentence(self.against, self.sense or "")

    def asked(self, against: str | None) -> Bound:
        """This bound, if it holds against those asked for; else `Withheld`."""
        if against is None or covers(self.against, checked(against)):
            return self
        nothing = f"against {against} losses no bound is proved below what the rounds can cost at most"
        raise Withheld(f"{nothing}; {ceiling(self.value)} is, against {self.holds}")

    def __float__(self) -> float:
        return self.value

    def supposing(self, at_most: float, gains: bool = False) -> Bound:
        """Return the same number under the condition that the best loss is at most `at_most` (gains: at least)."""
        said = best_loss_condition(at_most, gains, self.against, self.sense or "")
        return replace(self, condition="; ".join(filter(None, (said, self.condition))), at_most=at_most)

    def observed(self) -> Bound:
        """Return the bound for a best loss that was observed, not supposed: without the condition on the best loss."""
        if self.at_most is None:
            return self
        rest = self.condition
        for gains in (False, True):
            rest = rest.removeprefix(best_loss_condition(self.at_most, gains, self.against, self.sense or ""))
        return replace(self, condition=rest.removeprefix("; "), at_most=None)

    def times(self, width: float) -> Bound:
        """The same bound for losses whose range has this width."""
        return replace(self, value=self.value * width, terms={name: term * width for name, term in self.terms.items()})

    @property
    def says(self) -> str:
        """The bound as a line; four digits, rounded up."""
        return f"{'regret' if self.sense == 'likely' else 'expected regret'} <= {ceiling(self.value)}"

    def shown(self) -> Shown:
        """The bound, its terms, its source and its conditions."""
        rows = [(name, ceiling(term)) for name, term in self.terms.items()]
        checked_so_far = "; a step of its proof is checked numerically only" if self.proof == "numerical" else ""
        rows.append(("source", f"{self.source}{checked_so_far}"))
        if self.schedule or self.scale is not None:
            rows.append(("scale", self.schedule.removeprefix("scale = ") or figure(self.scale or 0.0)))
        if self.condition:
            rows.append(("condition", self.condition))
        rows.append(("against", self.holds))
        if self.printed is not None:
            rows.append(("in the paper", self.printed.says))
            rows += [(f"  {name}", text) for name, text in self.printed.shown().rows]
        return Shown(self.says, rows)


def nothing(why: str = "one choice, or no round, has no regret") -> Bound:
    """The bound where there is nothing to choose: 0, on every run."""
    return Bound(0.0, {"nothing to choose": 0.0}, why, sense="run", against="any")


def trivial(value: float, name: str = "rounds x range", most: str = "loss range") -> Bound:
    """What no regret can exceed, on every run: the rounds times the most that one of them costs."""
    source = f"no regret exceeds the rounds times the {most}"
    return Bound(value, {name: value}, source, sense="run", against="any")


def rounded_up(value: float) -> float:
    """A few units in the last place above: what was computed in floats stays above the true value.

    >>> rounded_up(1.0) > 1.0
    True
    """
    return value + abs(value) * ULPS


# Zero order: scale * G + v T/(2 scale). The variance constants v are
#   experts `stability.variance_constant` (h/2 from a two-sided rate, 1/4 for Hedge, less where more is known);
#   bandits N h for a law (E p lhat^2 <= N), N^a/a for Tsallis(a); min(K, N) h with experts.


def zero_order(range_constant: float, variance: float, scale: float, rounds: float, bias: float = 0.0) -> Terms:
    """R <= scale G + v T/(2 scale) + c, any scale."""
    return _named(bias, {"range": scale * range_constant, "drift": variance * rounds / (2.0 * scale)})


def horizon_scale(range_constant: float, variance: float, rounds: float) -> float:
    """sqrt(v T/(2G)), where `zero_order` is least: R <= sqrt(2 G v T).

    >>> terms = zero_order(2.0, 1.0, horizon_scale(2.0, 1.0, 100), 100)
    >>> sum(terms.values()) == math.sqrt(2 * 2.0 * 1.0 * 100)
    True
    """
    return math.sqrt(variance * rounds / (2.0 * range_constant)) if range_constant > 0.0 else 1.0


def root(
    range_constant: float, variance: float, c: float, a: float, b: float, rounds: float, bias: float = 0.0
) -> Terms:
    """scale_t = c sqrt(a + b t): R <= G scale_T + v/2 sum_t 1/scale_t + bias; the sum is at most an integral.

    >>> root(2.0, 1.0, 3.0, 1.0, 0.0, 100) == zero_order(2.0, 1.0, 3.0, 100)
    True
    >>> root(2.0, 1.0, 3.0, 0.0, 1.0, 100) == {"range": 3.0 * 2.0 * 10.0, "drift": 1.0 * 10.0 / 3.0}
    True
    """
    if b == 0.0:
        return zero_order(range_constant, variance, c * math.sqrt(a), rounds, bias)
    last = math.sqrt(a + b * rounds)
    return _named(bias, {"range": c * range_constant * last, "drift": variance * (last - math.sqrt(a)) / (b * c)})


def anytime_factor(range_constant: float, variance: float) -> float:
    """sqrt(v/G), where `root` of scale_t = c sqrt(t) is least: R <= 2 sqrt(G v T)."""
    return math.sqrt(variance / range_constant) if range_constant > 0.0 else 1.0


# Tsallis(1/2) with reduced variance, constant scale s: E D_t <= sqrt(n)/(4 s) + n (5/6 + 2/(s^2 - 1))/s^2.


def reduced_variance(n: int, scale: float, rounds: float) -> Terms:
    """R <= 2 s (sqrt n - 1) + T sqrt n/(4 s) + n T (5/6 + 2/(s^2 - 1))/s^2, every constant scale s > 1.

    >>> round(sum(reduced_variance(8, 51.42, 10_000).values()), 1)
    350.8
    """
    square, root = scale * scale, math.sqrt(n)
    return {
        "range": 2.0 * scale * (root - 1.0),
        "drift": rounds * root / (4.0 * scale),
        "unlikely arms": n * rounds * (5.0 / 6.0 + 2.0 / (square - 1.0)) / square,
    }


def reduced_variance_scale(n: int, rounds: float) -> float:
    """Return the scale s >= 2 at which `reduced_variance` is smallest.

    Each term is convex in s, so the derivative is bisected. Only operations that IEEE 754 rounds correctly are used:
    the scale is the same float on every machine.

    >>> round(reduced_variance_scale(8, 10_000), 2)
    51.42
    """
    root = math.sqrt(n)

    def slope(s: float) -> float:
        square = s * s
        less = square - 1.0
        cube = square * s
        rare = 5.0 / 6.0 + (2.0 * square - 1.0) * 2.0 / (less * less)
        return 2.0 * (root - 1.0) - rounds * root / (4.0 * square) - 2.0 * n * rounds * rare / cube

    low = high = 2.0
    while slope(high) < 0.0:
        low, high = high, 2.0 * high
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (middle, high) if slope(middle) < 0.0 else (low, middle)
    return high


def resampling_bias(harmonic_or_arms: float, cap: int, rounds: float) -> Terms:
    """N T/(e M): max_p p e^-pM = 1/(e M) an arm; conditional resampling has sum_i 1/sigma_i <= H_N for N."""
    return {"resampling bias": harmonic_or_arms * rounds / (math.e * cap)}


# First order: own <= (L* + range + bias)/k, R = own - L*.


def kept_experts(epsilon: float) -> float:
    """k = (1 - e^-eps)/eps: int_0^1 e^(-eps s) ds, from p(L + s l) >= e^(-eps s) p(L)."""
    return -math.expm1(-epsilon) / epsilon if epsilon > 0.0 else 1.0


def kept_barrier(scale: float) -> float:
    """k = scale log(1 + 1/scale): the log-barrier in D_inf,2, one arm observed."""
    return scale * math.log1p(1.0 / scale)


def kept_resampled(scale: float) -> float:
    """k = E[scale log(1 + X/scale)] = scale e^scale E_1(scale), X ~ Exp(1): log-barrier, 1/p resampled; rounded down.

    >>> round(kept_resampled(1.0), 10)
    0.5963473623
    >>> 10 / 11 < kept_resampled(10.0) < kept_barrier(10.0)
    True
    """
    if scale < 1.0:
        # E_1(x) = -gamma - log x + x - x^2/(2 2!) + ..., alternating and falling.
        series, term = -_EULER - math.log(scale), 1.0
        for k in range(1, 25):
            term *= -scale / k
            series -= term / k
        return scale * math.exp(scale) * series * (1.0 - 1e-14)
    # e^x E_1(x) = 1/(x+1 - 1/(x+3 - 4/(x+5 - ...))), whose convergents rise.
    tail = 0.0
    for k in range(200, 0, -1):
        tail = k * k / (scale + 2.0 * k + 1.0 - tail)
    return scale / (scale + 1.0 - tail) * (1.0 - 1e-14)


def kept_clipped(epsilon: float, rho: float, actions: int) -> float:
    """k = (1 - (K-1) rho)(1 - e^-x)/x, x = eps/rho: estimates are at most 1/rho."""
    return (1.0 - (actions - 1) * rho) * kept_experts(epsilon / rho)


def first_order(range_cost: float, kept: float, best_loss: float, bias: float = 0.0, delay: float = 1.0) -> Terms:
    """R <= (L* + C + c)/k - L*; a delay of d observations at rate eps multiplies by e^(eps d)."""
    if kept == 0.0:  # of a scale of nearly nothing: nothing is left
        return {"drift": math.inf}
    terms = {"drift": best_loss * (delay / kept - 1.0), "range": delay * range_cost / kept}
    if bias > 0.0:
        terms["bias"] = delay * bias / kept
    return terms


def best_loss_rate(c: float, best_loss: float) -> float:
    """eps = log(1 + sqrt(2 c'/Lt)) for experts."""
    return math.log1p(math.sqrt(2.0 * c / best_loss))


def experts_best_loss(c: float, best_loss: float, bias: float = 0.0) -> Terms:
    """R <= sqrt(2 c' (Lt + c)) + c' + c at `best_loss_rate`, for every L* <= Lt.

    >>> round(sum(experts_best_loss(1.9289682539682538, 100.0).values()), 1)
    21.6
    """
    return _named(bias, {"sqrt(2 c' L*)": math.sqrt(2.0 * c * (best_loss + bias)), "c'": c})


def experts_self_confident(c: float, best_loss: float, bias: float = 0.0) -> Terms:
    """eps_t = sqrt(c'/(1 + own)): R <= 2c' + 2 sqrt(c'^2 + c'(L* + 1))."""
    return _named(bias, {"2 c'": 2.0 * c, "2 sqrt(c'^2 + c'(L*+1))": 2.0 * math.sqrt(c * (c + best_loss + bias + 1.0))})


def barrier_scale(range_constant: float, best_loss: float, bias: float) -> float:
    """scale = sqrt((Lt + c)/(2A)) for the log-barrier bandit (the paper's own scale is wrong by a factor)."""
    return math.sqrt((best_loss + bias) / (2.0 * range_constant)) if range_constant > 0.0 else 1.0


def barrier_best_loss(range_constant: float, best_loss: float, bias: float) -> Terms:
    """R <= sqrt(2A(Lt + c)) + A/2 + c at `barrier_scale`, from log(1+x) >= 2x/(2+x)."""
    root = math.sqrt(2.0 * range_constant * (best_loss + bias))
    return _named(bias, {"sqrt(2 A L*)": root, "A/2": range_constant / 2.0})


def resampled_barrier_scale(range_constant: float, best_loss: float, bias: float) -> float:
    """scale = sqrt((Lt + b)/A) for the log-barrier bandit with 1/p resampled; b has the bias of the cap."""
    return math.sqrt((best_loss + bias) / range_constant) if range_constant > 0.0 else 1.0


def resampled_barrier_best_loss(range_constant: float, best_loss: float, bias: float) -> Terms:
    """R <= 2 sqrt(A(Lt + b)) + A + b at `resampled_barrier_scale`, from `kept_resampled` >= scale/(1 + scale)."""
    root = 2.0 * math.sqrt(range_constant * (best_loss + bias))
    return _named(bias, {"2 sqrt(A L*)": root, "A": range_constant})


def barrier_self_confident(range_constant: float, best_loss: float, bias: float) -> Terms:
    """scale_t = sqrt((1 + own)/A): R <= 2A + 2 sqrt(A^2 + A(L* + 1 + c)) + c."""
    root = 2.0 * math.sqrt(range_constant * (range_constant + best_loss + 1.0 + bias))
    return _named(bias, {"2 A": 2.0 * range_constant, "2 sqrt(A^2 + A(L*+1))": root})


def clipped_tuning(c: float, actions: int, best_loss: float) -> tuple[float, float]:
    """(eps, rho) = (2a^2/(K-1), a/(K-1)), a = min(1/2, (c'(K-1)/(2 Lt))^(1/3))."""
    others = actions - 1
    a = min(0.5, (c * others / (2.0 * best_loss)) ** (1.0 / 3.0))
    return 2.0 * a * a / others, a / others


def clipped_self_confident(c: float, actions: int, best_loss: float, bias: float = 0.0) -> Terms:
    """R = 4.5 kap (1 + L* + R)^(2/3) + 2c'(K-1), kap = (c'(K-1)/3)^(1/3), its largest solution.

    a_t = min(1/2, kap (1 + own)^(-1/3)), eps_t = 2 a_t^2/(K-1), rho_t = a_t/(K-1).
    """
    kap, constant = clipped_kappa(c, actions), 2.0 * c * (actions - 1)
    fixed = 1.0 + best_loss + bias
    # Beyond y = max(729 kap^3, 2(fixed + constant)) the right side is below y = fixed + R; from there the
    # iteration falls to the largest root, and never below it.
    regret = fixed + 2.0 * constant + 1000.0 * kap**3
    for _ in range(500):
        smaller = 4.5 * kap * math.pow(fixed + regret, 2.0 / 3.0) + constant
        if not smaller < regret:
            break
        regret = smaller
    return _named(bias, {"clipping and drift": regret - constant, "2 c'(K-1)": constant})


def clipped_kappa(c: float, actions: int) -> float:
    """kap = (c'(K-1)/3)^(1/3)."""
    return math.pow(c * (actions - 1) / 3.0, 1.0 / 3.0)


def _named(bias: float, terms: Terms) -> Terms:
    return {**terms, "bias": bias} if bias > 0.0 else terms


class Units(NamedTuple):
    """loss in [0, 1] = (value - zero)/width, of gains (zero - value)/width: `zero` is the best value there is.

    >>> rewards = Units.of((0.0, 5.0), gains=True)
    >>> rewards.normal(12.0, rounds=4), rewards.total(1.6, rounds=4)
    (1.6, 12.0)
    """

    zero: float
    width: float
    gains: bool

    @property
    def plain(self) -> bool:
        """Whether these are losses in [0, 1] themselves: they are handed on, not copied."""
        return self == (0.0, 1.0, False)

    @classmethod
    def of(cls, loss_range: tuple[float, float], gains: bool) -> Units:
        """Those of a range; gains are best at its upper end."""
        low, high = loss_range
        return cls(high if gains else low, high - low, gains)

    def lost(self, total: Any, rounds: Any) -> Any:
        """How much a cumulative loss (or gain) is worse than the best possible, in the user's units."""
        return self.zero * rounds - total if self.gains else total - self.zero * rounds

    def normal(self, total: Any, rounds: Any) -> Any:
        """A cumulative loss (or gain) of the user's, as one of losses in [0, 1]."""
        return total if self.plain else self.lost(total, rounds) / self.width

    def total(self, normal: Any, rounds: Any) -> Any:
        """A cumulative loss of losses in [0, 1], as a loss (or gain) in the user's units."""
        if self.plain:
            return normal
        more = normal * self.width
        return self.zero * rounds - more if self.gains else self.zero * rounds + more
