"""Regret bounds: each theorem is a function of the rate and the range of a smoothing.

A smoothing at a scale has a rate, h/scale, and a range, G * scale (`mathematics.smoothing`); c' = h G. The bounds are
on the expected regret for losses in [0, 1], in the corrected form; `mathematics.printed` has the forms that the paper
prints. Each function returns the named terms of a sum; the learner states the adversary.

    sum_t <p_t, l_t> = Phi(L_T) - Phi(0) + sum_t D_t, D_t = int_0^1 <p(L_{t-1}) - p(L_{t-1} + s l_t), l_t> ds

is exact. Zero-order (worst-case) bounds use E D_t <= v/(2 scale), where v is the *variance constant*. First-order
bounds use that <p_t, l_t> - D_t is at least the share k of <p_t, l_t>, so that the learner's loss is at most (L* +
range)/k.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, field, replace
from typing import Any, Literal, NamedTuple, get_args

from hannan.saving import frozen
from hannan.saving.formatting import ceiling, figure
from hannan.saving.result import Result, Shown

#: Adversaries of a bound. "any" is the adaptive one; "adaptive" is accepted as its name in arguments.
Against = Literal["any", "oblivious", "iid"]
#: Adversary as given by the caller, not yet validated; None for any adversary.
Whom = str | None

#: Extent of a proof: "whole" if docs/mathematics.md or docs/proofs contains it, "published" if a theorem is cited
#: without its proof, "numerical" if one step was only checked numerically.
Proved = Literal["whole", "published", "numerical"]

#: Kind of regret that a bound covers, and in which sense:
#:   run      regret on every run
#:   moves    regret of moves that are not random, on every sequence
#:   mean     regret of the mean play <p, l> on every sequence; of sampled moves in expectation
#:   draws    regret of sampled moves, in expectation over fresh noise
#:   arm      regret of sampled moves, in expectation; against adaptive losses only for one arm named in advance
#:   expert   the same for one expert; path: for one path of arms; map: for one map from keys to arms
#:   available, available_map  like arm and map, with each arm over the rounds in which it was available
#:   likely   regret of this run, with the probability that the condition states
#:   kept     noise is kept, so moves reveal it: no bound against an adaptive adversary
Sense = Literal[
    "run",
    "moves",
    "mean",
    "draws",
    "arm",
    "expert",
    "path",
    "slate",
    "point",
    "map",
    "available",
    "available_slate",
    "available_map",
    "likely",
    "kept",
]

#: Property that a bound also covers: initial losses of a learner, at the cost of their spread.
Cover = Literal["prior", "pending"]

#: The three phrases about the adversary in printed results.
ADVERSARIES: dict[str, str] = {
    "any": "even against an adaptive adversary",
    "oblivious": "against an oblivious adversary",
    "iid": "for i.i.d. losses only",
}
#: Assumption of a bound against an oblivious adversary.
FIXED_LOSSES = "if losses do not depend on your moves"
#: The same assumption if some arms were unavailable in some rounds.
FIXED_SETS = "if neither losses nor the set of available arms depends on your moves"
#: The same assumption with expert advice: advice that depends on the moves could choose the best expert by the draws.
FIXED_ADVICE = "if neither losses nor advice depends on your moves"
#: Assumption of a bound for i.i.d. losses.
ONE_LAW = "if losses are drawn independently from one distribution"
#: Restriction of bounds on an expectation whose proofs do not cover stopping times.
_HORIZON = ", for a horizon fixed in advance"

#: Validity of bounds against an adaptive adversary, by sense.
_VALID: dict[str, str] = {
    "run": "on every run",
    "moves": "on every loss sequence, even if a loss depends on the move of its round",
    "mean": "for the mean play on every loss sequence; for sampled moves in expectation, even if losses depend on past "
    "moves",
    "draws": "in expectation, even if losses depend on past moves",
    "likely": "on one run with the stated probability, even if losses depend on past moves",
}
#: Meaning of a bound against an oblivious adversary if the adversary is adaptive, by sense.
_OTHERWISE: dict[str, str] = {
    "kept": "nothing is proved",
    "arm": "bounds the pseudo-regret only: max_i E[learner's loss - loss of arm i]",
    "expert": "bounds the pseudo-regret only: max_i E[learner's loss - loss of expert i]",
    "path": "bounds the pseudo-regret only: the maximum of E[learner's loss - loss of the path] over paths of arms "
    "fixed in advance",
    "slate": "bounds the pseudo-regret only: the maximum of E[learner's loss - loss of the slate] over slates fixed in "
    "advance",
    "point": "bounds the pseudo-regret only: the maximum of E[learner's loss - loss of the point] over points fixed in "
    "advance",
    "map": "bounds the pseudo-regret only: the maximum of E[learner's loss - loss of the map] over maps from keys to "
    "arms fixed in advance",
    "available": "bounds the pseudo-regret only: max_i E[learner's loss - loss of arm i], both over the rounds in "
    "which arm i was available",
    "available_slate": "bounds the pseudo-regret only: the maximum of E[learner's loss - loss of the slate] over "
    "slates fixed in advance, whose unavailable items are replaced as stated",
    "available_map": "bounds the pseudo-regret only: the maximum of E[learner's loss - loss of the map] over maps from "
    "keys to arms fixed in advance, both over the rounds in which the arm of the key was available",
}
#: Sense of a bound if some arms were unavailable in some rounds.
_RESTRICTED: dict[str, Sense] = {"arm": "available", "slate": "available_slate", "map": "available_map"}
#: Comparator of a bound that holds for one comparator named in advance.
_NAMED: dict[str, str] = {
    "arm": "arm",
    "available": "arm",
    "expert": "expert",
    "path": "path",
    "map": "map key -> arm",
    "point": "point",
}
_HOLDS_FOR: dict[str, tuple[str, ...]] = {
    "any": ("any", "oblivious", "iid"),
    "oblivious": ("oblivious", "iid"),
    "iid": ("iid",),
}


def covers(against: str, asked: str) -> bool:
    """Return whether a bound against one adversary also holds against the adversary `asked`.

    >>> covers("any", "oblivious"), covers("oblivious", "adaptive")
    (True, False)
    """
    return checked(asked) in _HOLDS_FOR[against]


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


def checked(against: object) -> Against:
    """Return the adversary as results store it, or raise; "adaptive" is another name of "any".

    >>> checked("adaptive")
    'any'
    """
    stored: Any = "any" if against == "adaptive" else against
    if stored not in get_args(Against):
        raise ValueError(f'against must be "adaptive" (or "any"), "oblivious" or "iid"; got {against!r}')
    return stored  # type: ignore[no-any-return]


def validity(against: str, sense: str) -> tuple[str, str]:
    """Return (when and in which sense a bound holds, what holds otherwise); the second is empty if nothing is omitted.

    >>> validity("any", "draws")
    ('in expectation, even if losses depend on past moves', '')
    >>> validity("oblivious", "kept")
    ('if losses do not depend on your moves, for a horizon fixed in advance', 'nothing is proved')
    """
    if against == "any":
        return _VALID.get(sense, _VALID["draws"]), ""
    if against == "iid":
        return f"{ONE_LAW}{_HORIZON}", "nothing is proved"
    if sense not in _OTHERWISE:
        return FIXED_LOSSES, ""
    fixed = FIXED_ADVICE if sense == "expert" else FIXED_SETS if sense in _RESTRICTED.values() else FIXED_LOSSES
    if sense == "kept":
        return f"{fixed}{_HORIZON}", _OTHERWISE[sense]
    return f"{fixed}{_HORIZON}", f"(adaptive adversary, same horizon) {_OTHERWISE[sense]}"


def sentence(against: str, sense: str) -> str:
    """Return the adversary, the validity and the remaining guarantee of a bound in one sentence.

    >>> print(sentence("any", "draws"))
    even against an adaptive adversary: in expectation, even if losses depend on past moves
    """
    valid, otherwise = validity(against, sense)
    return f"{ADVERSARIES[against]}: {valid}" + (f"; otherwise {otherwise}" if otherwise else "")


Terms = dict[str, float]

ULPS = 16 * 2.0**-52
_EULER = 0.57721566490153286061


class Withheld(ValueError):
    """Raised if no bound is given because a condition of its proof fails, or is not known to hold.

    The message is the reason.

    Examples
    --------
    >>> import hannan as hn
    >>> try:
    ...     hn.Experts(3, tuning=hn.Horizon(100)).bound(rounds=200)
    ... except hn.Withheld as reason:
    ...     print("no bound:", reason)
    no bound: ...100...200...
    """

    __module__ = "hannan"  # Name under which users import the class.


@frozen
class Bound(Result):
    """A proved bound on the expected regret: value, terms, theorem, and the adversary against whom it holds.

    Parameters
    ----------
    value : float
        The bound: the sum of the terms, rounded up.
    terms : dict
        Named terms of the sum.
    source : str
        Theorem and where it is proved.
    scale : float, optional
        Tuned scale (1/learning rate), if it is constant.
    schedule : str, optional
        Formula of the scale.
    printed : Bound, optional
        The paper's own form of the bound, if it was asked for.
    proof : {"whole", "published", "numerical"}, optional
        Whether the whole proof is in the documentation, a published theorem is cited, or one step was checked
        numerically only.
    sense : str, optional
        Which regret is bounded, and how: on every run, for the mean play, for one arm fixed in advance, ...
        (`hannan.mathematics.bounds.Sense`).
    condition : str, optional
        Assumption in addition to the adversary, such as a bound on the best loss.
    at_most : float, optional
        Best loss that the condition supposes.
    against : {"any", "oblivious", "iid"}, optional
        Adversary against whom the bound holds: adaptive, oblivious, or i.i.d. losses only. "adaptive" is accepted for
        "any".
    covers : tuple of str, optional
        Extensions that the proof covers: "prior", or "pending" for moves whose losses are pending.

    Notes
    -----
    docs/certificate.md explains every printed line under a heading of its name.

    Examples
    --------
    >>> print(Bound(21.5, {"range": 20.0, "bias": 1.5}, "thm:analysis_experts", 3.0, sense="mean", against="adaptive"))
    expected regret <= 21.5, even against an adaptive adversary
      valid    for the mean play on every loss sequence; for sampled moves in expectation, even if losses
               depend on past moves
      theorem  thm:analysis_experts
      terms    range    20
               bias    1.5
      scale    3
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
        object.__setattr__(self, "against", checked(self.against))
        object.__setattr__(self, "covers", tuple(self.covers))
        if self.proof not in get_args(Proved):
            raise ValueError(f'proof must be "whole", "published" or "numerical"; got {self.proof!r}')
        if self.sense is not None and self.sense not in get_args(Sense):
            raise ValueError(f"sense must be one of {get_args(Sense)}; got {self.sense!r}")

    @property
    def holds(self) -> str:
        """Adversary, validity and remaining guarantee, as one sentence."""
        return sentence(self.against, self.sense or "")

    @property
    def adversary(self) -> str:
        """One of the three fixed phrases about the adversary."""
        return ADVERSARIES[self.against]

    @property
    def is_trivial(self) -> bool:
        """True if the bound is rounds x loss range, which no regret can exceed."""
        return self.value > 0.0 and (self.sense == "run" or next(iter(self.terms), "").startswith("rounds x "))

    def asked(self, against: str | None) -> Bound:
        """Return this bound if it holds against the given adversary; otherwise raise.

        Parameters
        ----------
        against : {"adaptive", "any", "oblivious", "iid"} or None
            Adversary; None accepts every bound.

        Returns
        -------
        Bound
            This bound.

        Raises
        ------
        Withheld
            If the bound holds against a weaker adversary only.
        """
        if against is None or covers(self.against, against):
            return self
        wanted = ADVERSARIES[checked(against)].removeprefix("even ")
        terms = f", {self.condition}" if self.condition else ""
        raise Withheld(
            f"no non-trivial bound is proved {wanted}; {ceiling(self.value)} is proved {self.adversary}{terms}"
        )

    def __float__(self) -> float:
        return self.value

    def supposing(self, at_most: float, gains: bool = False) -> Bound:
        """Return a bound with the same value and a condition on the best loss.

        Parameters
        ----------
        at_most : float
            Largest best loss (or smallest best gain) for which the number is a bound.
        gains : bool, optional
            Whether the learner plays gains.

        Returns
        -------
        Bound
            The bound with the condition.
        """
        said = best_loss_condition(at_most, gains, self.against, self.sense or "")
        return replace(self, condition="; ".join(filter(None, (said, self.condition))), at_most=at_most)

    def observed(self) -> Bound:
        """Return the bound for a best loss that was observed instead of supposed.

        Returns
        -------
        Bound
            The bound without the condition on the best loss.
        """
        if self.at_most is None:
            return self
        rest = self.condition
        for gains in (False, True):
            rest = rest.removeprefix(best_loss_condition(self.at_most, gains, self.against, self.sense or ""))
        return replace(self, condition=rest.removeprefix("; "), at_most=None)

    def times(self, width: float) -> Bound:
        """Return the same bound for losses in other units.

        Parameters
        ----------
        width : float
            Width of the range of the losses.

        Returns
        -------
        Bound
            The bound with value and terms multiplied by `width`.
        """
        return replace(self, value=self.value * width, terms={name: term * width for name, term in self.terms.items()})

    @property
    def says(self) -> str:
        """The kind of regret, and the value rounded up to four digits."""
        return f"{'regret' if self.sense == 'likely' else 'expected regret'} <= {ceiling(self.value)}"

    @property
    def headline(self) -> str:
        """Value, condition and adversary, as one line."""
        trivial = f" (trivial: {next(iter(self.terms))})" if self.is_trivial else ""
        return adversary_after(f"{self.says}{trivial}{self._briefly}", self)

    @property
    def _briefly(self) -> str:
        """Condition for the first line of a result; a long condition is printed separately."""
        if not self.condition:
            return ""
        first, *more = self.condition.split("; ")
        short = first.partition(" (")[0]
        return f" {short}" if not more and len(short) <= 50 else " under the condition below"

    @property
    def theorem(self) -> str:
        """Theorem, and the step of its proof that was only checked numerically, if any."""
        return self.source + (
            "; one step of the proof is checked numerically only" if self.proof == "numerical" else ""
        )

    def validity(self) -> list[tuple[str, str]]:
        """Return the rows that state when the bound holds.

        Returns
        -------
        list of (str, str)
            Rows labeled valid, otherwise and condition, if they apply.
        """
        valid, otherwise = validity(self.against, self.sense or "")
        rows = (("valid", valid), ("otherwise", otherwise), ("condition", self.condition))
        return [row for row in rows if row[1]]

    def shown(self) -> Shown:
        rows = [*self.validity(), ("theorem", self.theorem), ("terms", columns(self.terms))]
        if self.schedule or self.scale is not None:
            formula = self.schedule.removeprefix("scale = ").removeprefix("scale_t = ")
            rows.append(("scale", formula or figure(self.scale or 0.0)))
        if self.printed is not None:
            rows += [("in the paper", self.printed.says), ("its theorem", self.printed.theorem)]
            rows.append(("its terms", columns(self.printed.terms)))
        return Shown(self.headline, rows)


def at_observed(learner: Any, bound: Bound, best: float | None) -> Bound:
    """Return a bound at an observed best loss: the condition remains only if the tuning supposes a best loss."""
    described = getattr(learner, "learner", learner)  # the bound of a game may be asked of a learner with what it saw
    supposed = getattr(getattr(described, "tuning", None), "told_best", None)
    return bound if best is None or supposed is not None else bound.observed()


def adversary_after(text: str, bound: Bound) -> str:
    """Return a statement with the phrase about the adversary of a bound behind it.

    >>> adversary_after("expected regret <= 3", Bound(3.0, {"x": 3.0}, "", against="oblivious"))
    'expected regret <= 3 against an oblivious adversary'
    """
    comma = "," if bound.against == "any" or bound.condition else ""
    return f"{text}{comma} {bound.adversary}"


def columns(terms: Terms) -> str:
    """Return named terms as lines of two columns, the numbers aligned and rounded up.

    >>> print(columns({"range": 20.0, "bias": 1.5}))
    range    20
    bias    1.5
    """
    numbers = [ceiling(term) for term in terms.values()]
    wide, right = max(map(len, terms), default=0), max(map(len, numbers), default=0)
    return "\n".join(f"{name:<{wide}}  {text:>{right}}" for name, text in zip(terms, numbers, strict=True))


def nothing(why: str = "no regret is possible with one choice or no round") -> Bound:
    """Return the bound for learners without a choice: 0, on every run."""
    return Bound(0.0, {"nothing to choose": 0.0}, why, sense="run", against="any")


def trivial(value: float, name: str = "rounds x range", most: str = "loss range") -> Bound:
    """Return the bound that no regret can exceed, on every run: rounds times the largest regret of a round."""
    source = f"no regret exceeds rounds x {most}"
    return Bound(value, {name: value}, source, sense="run", against="any")


def rounded_up(value: float) -> float:
    """Return a value larger by a few units in the last place, so that it is at least the exact result.

    >>> rounded_up(1.0) > 1.0
    True
    """
    return value + abs(value) * ULPS


# Worst-case bounds: scale * G + v T/(2 scale). The variance constants v are `stability.variance_constant` for experts
# (h/2 from a two-sided rate, 1/4 for Hedge), N h for bandits with a law (E p lhat^2 <= N), N^a/a for Tsallis(a), and
# min(K, N) h with advice of experts.


def zero_order(range_constant: float, variance: float, scale: float, rounds: float, bias: float = 0.0) -> Terms:
    """Return the terms of R <= scale G + v T/(2 scale) + c, for any constant scale."""
    return _named(bias, {"range": scale * range_constant, "drift": variance * rounds / (2.0 * scale)})


def horizon_scale(range_constant: float, variance: float, rounds: float) -> float:
    """Return the scale sqrt(v T/(2G)) with the smallest `zero_order` bound, R <= sqrt(2 G v T).

    >>> terms = zero_order(2.0, 1.0, horizon_scale(2.0, 1.0, 100), 100)
    >>> sum(terms.values()) == math.sqrt(2 * 2.0 * 1.0 * 100)
    True
    """
    return math.sqrt(variance * rounds / (2.0 * range_constant)) if range_constant > 0.0 else 1.0


#: Numbers c, a, b and d of a scale c sqrt(a + b t + d own loss); `hannan.learners.tuning.Schedule` names them.
Numbers = tuple[float, float, float, float]


def root(range_constant: float, variance: float, schedule: Numbers, rounds: float, bias: float = 0.0) -> Terms:
    """Return the terms of R <= G scale_T + v/2 sum_t 1/scale_t + bias for scale_t = c sqrt(a + b t), with an integral.

    >>> root(2.0, 1.0, (3.0, 1.0, 0.0, 0.0), 100) == zero_order(2.0, 1.0, 3.0, 100)
    True
    >>> root(2.0, 1.0, (3.0, 0.0, 1.0, 0.0), 100) == {"range": 3.0 * 2.0 * 10.0, "drift": 1.0 * 10.0 / 3.0}
    True
    """
    c, a, b, _ = schedule
    if b == 0.0:
        return zero_order(range_constant, variance, c * math.sqrt(a), rounds, bias)
    last = math.sqrt(a + b * rounds)
    return _named(bias, {"range": c * range_constant * last, "drift": variance * (last - math.sqrt(a)) / (b * c)})


#: Rounds that `floor_cost` adds one by one, and growth of the blocks of later rounds.
FLOOR_EXACT, FLOOR_GROWTH = 4096, 1.05


def floor_share(floor: float | str, rounds: int) -> float:
    """Return the share of uniform play in a round: a constant, or min(1/2, t^(-1/4)) for "fourth-root".

    >>> floor_share(0.05, 3), floor_share("fourth-root", 3), floor_share("fourth-root", 10_000)
    (0.05, 0.5, 0.1)
    """
    return floor if isinstance(floor, float) else min(0.5, rounds**-0.25)


def floor_cost(floor: float | str, n: int, variance: float, schedule: Numbers, rounds: int) -> float:
    """Return the cost of an exploration floor: v/2 sum_t e_t/((1 - e_t) scale_t) + (1 - 1/n) sum_t e_t.

    e_t is the share of uniform play in round t, and scale_t = c sqrt(a + b t). Rounds after `FLOOR_EXACT` are bounded
    in blocks, by the share before a block and by integrals.

    >>> round(floor_cost(0.05, 4, 4.0, (1.0, 0.0, 1.0, 0.0), 10_000), 1)  # 400 * 0.05/0.95 + 0.75 * 0.05 * 10_000
    396.1
    >>> round(floor_cost("fourth-root", 4, 4.0, (1.0, 0.0, 1.0, 0.0), 10_000), 1)
    1092.6
    """
    others = 1.0 - 1.0 / n
    if isinstance(floor, float):
        drift = root(0.0, variance, schedule, rounds)["drift"]
        return floor / (1.0 - floor) * drift + others * floor * rounds

    def more(t: int) -> float:
        share = floor_share(floor, t)
        return share / (1.0 - share)

    c, a, b, _ = schedule
    last = min(rounds, FLOOR_EXACT)
    shares = math.fsum(floor_share(floor, t) for t in range(1, last + 1))
    steps = [more(t) / (c * math.sqrt(a + b * t)) for t in range(1, last + 1)]
    while last < rounds:
        end = min(rounds, math.ceil(FLOOR_GROWTH * last))
        shares += (end**0.75 - last**0.75) / 0.75
        inverse = (
            (end - last) / math.sqrt(a) if b == 0.0 else 2.0 / b * (math.sqrt(a + b * end) - math.sqrt(a + b * last))
        )
        steps.append(more(last) * inverse / c)
        last = end
    return 0.5 * variance * math.fsum(steps) + others * shares


def anytime_factor(range_constant: float, variance: float) -> float:
    """Return the factor sqrt(v/G) of scale_t = c sqrt(t) with the smallest `root` bound, R <= 2 sqrt(G v T)."""
    return math.sqrt(variance / range_constant) if range_constant > 0.0 else 1.0


# Tsallis(1/2) with reduced variance, constant scale s: E D_t <= sqrt(n)/(4 s) + n (5/6 + 2/(s^2 - 1))/s^2.


def reduced_variance(n: int, scale: float, rounds: float) -> Terms:
    """Return R <= 2 s (sqrt n - 1) + T sqrt n/(4 s) + n T (5/6 + 2/(s^2 - 1))/s^2, for a constant scale s > 1.

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


def exp3_first_order_scale(n: int, best: float) -> float:
    """Return the scale at which `exp3_first_order` is smallest, sqrt(n L*/(2 ln n)).

    >>> round(exp3_first_order_scale(8, 100.0), 2)
    13.87
    """
    return math.sqrt(n * best / (2.0 * math.log(n)))


def exp3_first_order(n: int, scale: float, rounds: float, best: float) -> Terms:
    """Return the bound of Exp3 in the loss of the best arm: docs/proofs/bandits.md, section 8.

    >>> round(sum(exp3_first_order(8, exp3_first_order_scale(8, 100.0), 10_000, 100.0).values()), 1)
    102.8
    """
    return {
        "range": scale * math.log(n),
        "n L*/(2 scale)": 0.5 * n * best / scale,
        "(n-1) (ln(2T) + 3)/2": 0.5 * (n - 1) * (math.log(2.0 * rounds) + 3.0),
    }


def resampling_bias(harmonic_or_arms: float, cap: int, rounds: float) -> Terms:
    """Return the bias N T/(e M) of a cap M; for conditional resampling H_N replaces N (sum_i 1/sigma_i <= H_N)."""
    return {"resampling bias": harmonic_or_arms * rounds / (math.e * cap)}


# First-order bounds: learner's loss <= (L* + range + bias)/k, R = learner's loss - L*.


def kept_experts(epsilon: float) -> float:
    """Return k = (1 - e^-eps)/eps for experts: int_0^1 e^(-eps s) ds, from p(L + s l) >= e^(-eps s) p(L)."""
    return -math.expm1(-epsilon) / epsilon if epsilon > 0.0 else 1.0


def kept_barrier(scale: float) -> float:
    """Return k = scale log(1 + 1/scale) for the log-barrier in D_inf,2, if one arm is observed."""
    return scale * math.log1p(1.0 / scale)


def kept_resampled(scale: float) -> float:
    """Return k = E[scale log(1 + X/scale)], X ~ Exp(1), for the log-barrier with resampling, rounded down.

    >>> round(kept_resampled(1.0), 10)
    0.5963473623
    >>> 10 / 11 < kept_resampled(10.0) < kept_barrier(10.0)
    True
    """
    if scale < 1.0:
        # E_1(x) = -gamma - log x + x - x^2/(2 2!) + ..., an alternating series with decreasing terms.
        series, term = -_EULER - math.log(scale), 1.0
        for k in range(1, 25):
            term *= -scale / k
            series -= term / k
        return scale * math.exp(scale) * series * (1.0 - 1e-14)
    # e^x E_1(x) = 1/(x+1 - 1/(x+3 - 4/(x+5 - ...))), whose convergents increase.
    tail = 0.0
    for k in range(200, 0, -1):
        tail = k * k / (scale + 2.0 * k + 1.0 - tail)
    return scale / (scale + 1.0 - tail) * (1.0 - 1e-14)


def kept_clipped(epsilon: float, rho: float, actions: int) -> float:
    """Return k = (1 - (K-1) rho)(1 - e^-x)/x, x = eps/rho, for clipped advice, whose estimates are at most 1/rho."""
    return (1.0 - (actions - 1) * rho) * kept_experts(epsilon / rho)


def first_order(range_cost: float, kept: float, best_loss: float, bias: float = 0.0, delay: float = 1.0) -> Terms:
    """Return the terms of R <= (L* + C + c)/k - L*; a delay of d observations multiplies by e^(eps d)."""
    if kept == 0.0:  # The scale is almost 0, and the bound infinite.
        return {"drift": math.inf}
    terms = {"drift": best_loss * (delay / kept - 1.0), "range": delay * range_cost / kept}
    if bias > 0.0:
        terms["bias"] = delay * bias / kept
    return terms


def best_loss_rate(c: float, best_loss: float) -> float:
    """Return the rate eps = log(1 + sqrt(2 c'/Lt)) of experts for a best loss Lt."""
    return math.log1p(math.sqrt(2.0 * c / best_loss))


def experts_best_loss(c: float, best_loss: float, bias: float = 0.0) -> Terms:
    """Return R <= sqrt(2 c' (Lt + c)) + c' + c at `best_loss_rate`, for every L* <= Lt.

    >>> round(sum(experts_best_loss(1.9289682539682538, 100.0).values()), 1)
    21.6
    """
    return _named(bias, {"sqrt(2 c' L*)": math.sqrt(2.0 * c * (best_loss + bias)), "c'": c})


def experts_self_confident(c: float, best_loss: float, bias: float = 0.0) -> Terms:
    """Return the terms of R <= 2c' + 2 sqrt(c'^2 + c'(L* + 1)), for eps_t = sqrt(c'/(1 + learner's loss))."""
    return _named(bias, {"2 c'": 2.0 * c, "2 sqrt(c'^2 + c'(L*+1))": 2.0 * math.sqrt(c * (c + best_loss + bias + 1.0))})


def barrier_scale(range_constant: float, best_loss: float, bias: float) -> float:
    """Return the scale sqrt((Lt + c)/(2A)) of the log-barrier bandit; the paper's scale is wrong by a factor."""
    return math.sqrt((best_loss + bias) / (2.0 * range_constant)) if range_constant > 0.0 else 1.0


def barrier_best_loss(range_constant: float, best_loss: float, bias: float) -> Terms:
    """Return R <= sqrt(2A(Lt + c)) + A/2 + c at `barrier_scale`, from log(1+x) >= 2x/(2+x)."""
    root = math.sqrt(2.0 * range_constant * (best_loss + bias))
    return _named(bias, {"sqrt(2 A L*)": root, "A/2": range_constant / 2.0})


def resampled_barrier_scale(range_constant: float, best_loss: float, bias: float) -> float:
    """Return the scale sqrt((Lt + b)/A) of the log-barrier bandit with resampling; b includes the bias of the cap."""
    return math.sqrt((best_loss + bias) / range_constant) if range_constant > 0.0 else 1.0


def resampled_barrier_best_loss(range_constant: float, best_loss: float, bias: float) -> Terms:
    """Return R <= 2 sqrt(A(Lt + b)) + A + b at `resampled_barrier_scale` (`kept_resampled` >= scale/(1 + scale))."""
    root = 2.0 * math.sqrt(range_constant * (best_loss + bias))
    return _named(bias, {"2 sqrt(A L*)": root, "A": range_constant})


def barrier_self_confident(range_constant: float, best_loss: float, bias: float) -> Terms:
    """Return R <= 2A + 2 sqrt(A^2 + A(L* + 1 + c)) + c, for scale_t = sqrt((1 + learner's loss)/A)."""
    root = 2.0 * math.sqrt(range_constant * (range_constant + best_loss + 1.0 + bias))
    return _named(bias, {"2 A": 2.0 * range_constant, "2 sqrt(A^2 + A(L*+1))": root})


def clipped_tuning(c: float, actions: int, best_loss: float) -> tuple[float, float]:
    """Return (eps, rho) = (2a^2/(K-1), a/(K-1)) with a = min(1/2, (c'(K-1)/(2 Lt))^(1/3))."""
    others = actions - 1
    a = min(0.5, (c * others / (2.0 * best_loss)) ** (1.0 / 3.0))
    return 2.0 * a * a / others, a / others


def clipped_self_confident(c: float, actions: int, best_loss: float, bias: float = 0.0) -> Terms:
    """Return the largest solution of R = 4.5 kap (1 + L* + R)^(2/3) + 2c'(K-1), kap = (c'(K-1)/3)^(1/3).

    a_t = min(1/2, kap (1 + own)^(-1/3)), eps_t = 2 a_t^2/(K-1), rho_t = a_t/(K-1).
    """
    kap, constant = clipped_kappa(c, actions), 2.0 * c * (actions - 1)
    fixed = 1.0 + best_loss + bias
    # Above y = max(729 kap^3, 2(fixed + constant)) the right side is below y = fixed + R. The iteration starts there,
    # and decreases to the largest root.
    regret = fixed + 2.0 * constant + 1000.0 * kap**3
    for _ in range(500):
        smaller = 4.5 * kap * math.pow(fixed + regret, 2.0 / 3.0) + constant
        if not smaller < regret:
            break
        regret = smaller
    return _named(bias, {"clipping and drift": regret - constant, "2 c'(K-1)": constant})


def clipped_kappa(c: float, actions: int) -> float:
    """Return kap = (c'(K-1)/3)^(1/3), the constant of the clipping threshold."""
    return math.pow(c * (actions - 1) / 3.0, 1.0 / 3.0)


def _named(bias: float, terms: Terms) -> Terms:
    return {**terms, "bias": bias} if bias > 0.0 else terms


class Units(NamedTuple):
    """Conversion to losses in [0, 1]: (value - zero)/width, for gains (zero - value)/width; `zero` is the best value.

    >>> rewards = Units.of((0.0, 5.0), gains=True)
    >>> rewards.normal(12.0, rounds=4), rewards.total(1.6, rounds=4)
    (1.6, 12.0)
    """

    zero: float
    width: float
    gains: bool

    @property
    def plain(self) -> bool:
        """True if losses are in [0, 1] already: they are passed without a copy."""
        return self == (0.0, 1.0, False)

    @classmethod
    def of(cls, loss_range: tuple[float, float], gains: bool) -> Units:
        """Return the conversion for a range; gains are best at its upper end."""
        low, high = loss_range
        return cls(high if gains else low, high - low, gains)

    def lost(self, total: Any, rounds: Any) -> Any:
        """Return the difference between a cumulative loss (or gain) and the best possible one, in the user's units."""
        return self.zero * rounds - total if self.gains else total - self.zero * rounds

    def normal(self, total: Any, rounds: Any) -> Any:
        """Return a cumulative loss (or gain) in the user's units as a loss of losses in [0, 1]."""
        return total if self.plain else self.lost(total, rounds) / self.width

    def total(self, normal: Any, rounds: Any) -> Any:
        """Return a cumulative loss of losses in [0, 1] as a loss (or gain) in the user's units."""
        if self.plain:
            return normal
        more = normal * self.width
        return self.zero * rounds - more if self.gains else self.zero * rounds + more
