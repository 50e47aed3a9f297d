"""Regularizers of FTRL: convex F on the simplex, separable, F(p) = scale * sum_i f(p_i).

The distribution played is p(L) = argmin <L, p> + F(p). The regularizers of the package have compiled solvers; a
user-defined regularizer is one class with `value`, `slope` and `curvature`, and is solved by Newton's method in log p.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np

from hannan import validation
from hannan.mathematics.laws.law import Law
from hannan.mathematics.smoothing import Level, Smoothing
from hannan.saving import frozen
from hannan.validation import Array

#: Members that every regularizer defines.
NEEDED = ("gamma", "value", "slope", "curvature")
#: Facts that only a proof in this package may state.
PROVED = (
    *("hedge", "needs_rounds", "first_order", "largest_gamma", "tsallis_alpha", "perturbation", "comparator_cost"),
    *("range_constant", "variance_constant", "proved_variance_constant", "bandit_variance_constant", "step_level"),
    *("approximate_level", "rate_source", "assumptions", "rate_assumption", "tabulated", "leader", "check_compiled"),
)
POSSIBLE = (
    "A user-defined regularizer derives from hn.Regularizer and defines these members; with a proved `rate` and "
    "`own_rate` it has bounds."
)


@frozen
class Regularizer(Smoothing):
    """Convex function on the simplex that is added to the losses, so that the play changes continuously.

    A subclass defines `gamma`, `value`, `slope` and `curvature`; without one of them its construction raises
    TypeError. With a proved `rate` (in D_inf) and `own_rate` (in D_inf,gamma) it has bounds, which state that these
    numbers are assumed, not verified. Learners play it in `hn.play` and live; fleets and stores reject it.

    Raises
    ------
    TypeError
        If a member is missing.
    ValueError
        If `value`, `slope` and `curvature` contradict each other, or if a stated rate contradicts the curvature. This
        is checked when a learner or `hn.FTRL` is built.

    Notes
    -----
    F(p) = sum_i f(p_i) at scale 1, f strictly convex with f'(0+) = -inf. `slope` is f' and `curvature` is 1/f'',
    elementwise.

    Examples
    --------
    >>> import hannan as hn
    >>> hn.FTRL(hn.Tsallis(0.5), scale=1.0).gradient([0.0, 1.0]).round(3).tolist()
    [0.78, 0.22]
    """

    def __new__(cls, *args: Any, **fields: Any) -> Self:
        """Reject an incomplete subclass."""
        validation.complete(cls, Regularizer, NEEDED, POSSIBLE)
        return super().__new__(cls)

    compiled_members: ClassVar[tuple[str, ...]] = (
        *("compiled_members", "kernel", "kernel_parameters", "hedge", "tsallis_alpha", "rate", "own_rate"),
        *NEEDED,
    )

    @property
    def gamma(self) -> float:
        """Exponent gamma of the differential consistency: -Hess_ii <= own_rate/scale * p_i^gamma."""
        raise NotImplementedError

    @property
    def rate_source(self) -> str:
        return f"the rate that {type(self).__name__} states"

    def value(self, p: Any) -> Any:
        """Return F(p) at scale 1, along the last axis.

        Parameters
        ----------
        p : array_like
            Probabilities, along the last axis.
        """
        raise NotImplementedError

    def slope(self, p: Array) -> Array:
        """Return f'(p_i) at scale 1, elementwise.

        Parameters
        ----------
        p : array_like
            Probabilities, along the last axis.
        """
        raise NotImplementedError

    def curvature(self, p: Array) -> Array:
        """Return w_i = 1/f''(p_i) at scale 1, elementwise.

        -Hess Phi = (diag(w) - w w'/sum w)/scale.

        Parameters
        ----------
        p : array_like
            Probabilities, along the last axis.
        """
        raise NotImplementedError

    def assumptions(self) -> str:
        """Return the assumptions about a user-defined regularizer, after checking that its members agree.

        Returns
        -------
        str
            The assumptions as a phrase.
        """
        return "" if self.kernel else _agreement(self)

    def rate_assumption(self) -> str:
        return self.assumptions()

    def leader(self, L: Array, scale: float) -> Array:
        """Return the distribution argmin <L, p> + scale F(p), by Newton's method in log p.

        Parameters
        ----------
        L : array_like of shape (..., n)
            Cumulative losses.
        scale : float
            Scale, the inverse learning rate.

        Returns
        -------
        numpy.ndarray of shape (..., n)
            Distribution over the arms.

        Notes
        -----
        At the minimum f'(p_i) + L_i/scale is the same number for all i. Each step linearizes these equations in log p
        and eliminates that number, the multiplier, by sum_i p_i = 1.
        """
        gaps = (L - L.min()) / scale
        with np.errstate(all="ignore"):
            logs, done = _newton(self, gaps, np.full(L.size, -math.log(L.size)))
            if not done:
                logs, done = _newton(self, gaps, _bisection(self, gaps))
        if not done:
            raise ArithmeticError(f"the leader of {self!r} did not converge at scale {scale!r}; check its slope")
        p = np.exp(logs)
        return np.asarray(p / p.sum())

    def range_constant(self, n: int, rounds: int | None = None) -> float:
        """Return F at a vertex minus F at the uniform distribution, its largest difference on the simplex.

        Parameters
        ----------
        n : int
            Number of arms.
        rounds : int, optional
            Number of rounds.

        Returns
        -------
        float
            Cost per unit of scale of a comparator fixed in advance.
        """
        if n == 1:
            return 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = float(self.value(np.eye(n)[0])) - float(self.value(np.full(n, 1.0 / n)))
        return math.inf if math.isnan(spread) else spread

    def bandit_variance_constant(self, n: int, resampled: bool = False) -> float:
        """Return the smaller of n * rate and own_rate * n^(2 - gamma), which holds for 1 <= gamma <= 2.

        E D_t <= own_rate/(2 scale) sum_i p_i^(gamma - 1), because p_i only falls along a loss of arm i.

        Parameters
        ----------
        n : int
            Number of arms.
        resampled : bool, default False
            True if the estimator replaces 1/p by a number of trials, whose second moment is larger.

        Returns
        -------
        float
            The constant v.
        """
        common = super().bandit_variance_constant(n, resampled)
        if resampled or not 1.0 <= self.gamma <= 2.0:
            return common
        return float(min(common, self.own_rate * n ** (2.0 - self.gamma)))

    def step_level(self, step: float) -> Level:
        h = self.own_rate
        if math.isinf(h):
            return Level(math.inf, False, f"no rate in D_inf,{self.gamma:g} is stated")
        return Level(h * step, False, f"level <= rate, which {type(self).__name__} states")


@frozen
class Entropy(Regularizer):
    """Negative entropy: the regularizer with which the leader is Hedge, exponential weights.

    Notes
    -----
    F(p) = sum_i p_i log p_i, so p_i is proportional to exp(-L_i/scale).

    Examples
    --------
    >>> round(float(Entropy().value([0.5, 0.5])), 12)
    -0.69314718056
    """

    kernel: ClassVar[str] = "entropy"
    hedge: ClassVar[bool] = True
    largest_gamma: ClassVar[bool] = True
    tsallis_alpha: ClassVar[float | None] = 1.0
    gamma: ClassVar[float] = 1.0
    rate: ClassVar[float] = 1.0
    own_rate: ClassVar[float] = 1.0
    rate_source: ClassVar[str] = "prop:dc_to_dp in D_inf, corrected: kappa_a/(a scale)"

    @property
    def perturbation(self) -> Law:
        from hannan.mathematics.laws.light import Gumbel

        return Gumbel()

    def range_constant(self, n: int, rounds: int | None = None) -> float:
        """Return log n.

        Parameters
        ----------
        n : int
            Number of arms.
        rounds : int, optional
            Number of rounds.

        Returns
        -------
        float
            Cost per unit of scale of a comparator fixed in advance.
        """
        return math.log(n)

    def variance_constant(self, n: int) -> float:
        """Return 1/4 (Hoeffding).

        Parameters
        ----------
        n : int
            Number of arms.

        Returns
        -------
        float
            The constant v.
        """
        return 0.25

    def step_level(self, step: float) -> Level:
        return Level(step, True, "Hedge: p_i(L)/p_i(L + l) < e^(1/scale), a supremum")

    def value(self, p: Any) -> Any:
        p = np.asarray(p, dtype=np.float64)
        return (p * np.log(np.where(p > 0.0, p, 1.0))).sum(axis=-1)

    def slope(self, p: Array) -> Array:
        return np.asarray(np.log(p) + 1.0)

    def curvature(self, p: Array) -> Array:
        return p


@frozen
class Tsallis(Regularizer):
    """Negative Tsallis entropy: the regularizer of bandits whose regret has no logarithmic factor.

    Parameters
    ----------
    alpha : float, default 0.5
        Power, strictly between 0 and 1. Near 1 it is the entropy; near 0, at scale 1/alpha, the log-barrier.

    Notes
    -----
    F(p) = (1 - sum_i p_i^alpha)/(1 - alpha).

    Examples
    --------
    >>> float(Tsallis(0.5).value([0.25] * 4))
    -2.0
    """

    alpha: float = 0.5
    kernel: ClassVar[str] = "tsallis"
    largest_gamma: ClassVar[bool] = True
    rate_source: ClassVar[str] = "prop:dc_to_dp in D_inf, corrected: kappa_a/(a scale)"

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", validation.between(self.alpha, 0.0, 1.0, "Tsallis alpha", "()"))

    @property
    def kernel_parameters(self) -> tuple[float, ...]:
        return (self.alpha,)

    @property
    def tsallis_alpha(self) -> float:  # type: ignore[override]
        return self.alpha

    @property
    def gamma(self) -> float:
        return 2.0 - self.alpha

    @property
    def rate(self) -> float:
        """Rate kappa_a/a."""
        return kappa(self.alpha) / self.alpha

    @property
    def own_rate(self) -> float:
        """Rate 1/a in D_inf,gamma."""
        return 1.0 / self.alpha

    def range_constant(self, n: int, rounds: int | None = None) -> float:
        """Return (n^(1-a) - 1)/(1 - a).

        Parameters
        ----------
        n : int
            Number of arms.
        rounds : int, optional
            Number of rounds.

        Returns
        -------
        float
            Cost per unit of scale of a comparator fixed in advance.
        """
        return math.expm1((1.0 - self.alpha) * math.log(n)) / (1.0 - self.alpha)

    def variance_constant(self, n: int) -> float:
        """Return 2^(a-3)/a, the variance of a loss under the curvatures, rounded up.

        Parameters
        ----------
        n : int
            Number of arms.

        Returns
        -------
        float
            The constant v.
        """
        return float(2.0 ** (self.alpha - 3.0) / self.alpha * (1.0 + 4e-16))

    def bandit_variance_constant(self, n: int, resampled: bool = False) -> float:
        """Return n^a/a.

        Parameters
        ----------
        n : int
            Number of arms.
        resampled : bool, default False
            True if the estimator replaces 1/p by a number of trials, whose second moment is larger.

        Returns
        -------
        float
            The constant v.
        """
        return float(n**self.alpha / self.alpha)

    def step_level(self, step: float) -> Level:
        return Level(step / self.alpha, True, "prop:dc_to_dp corrected: (2-alpha, 1/(alpha scale)) consistency")

    def value(self, p: Any) -> Any:
        p = np.asarray(p, dtype=np.float64)
        # (1 - sum p^a)/(1-a) = -sum p expm1((a-1) log p)/(1-a): no cancellation near alpha = 1.
        logs = np.log(np.where(p > 0.0, p, 1.0))
        return -(p * np.expm1((self.alpha - 1.0) * logs)).sum(axis=-1) / (1.0 - self.alpha)

    def slope(self, p: Array) -> Array:
        # The derivative of this form of F is (1 - alpha p^(alpha-1))/(1 - alpha), up to a constant on the simplex.
        return np.asarray((1.0 - self.alpha * p ** (self.alpha - 1.0)) / (1.0 - self.alpha))

    def curvature(self, p: Array) -> Array:
        return p ** (2.0 - self.alpha) / self.alpha


@frozen
class LogBarrier(Regularizer):
    """Logarithmic barrier: the regularizer of bandits whose regret follows the loss of the best arm.

    Notes
    -----
    F(p) = -sum_i log p_i. Its range is unbounded: a bound compares with a distribution that keeps tau = 1/(n rounds) on
    every arm, so it needs the number of rounds.

    Examples
    --------
    >>> round(float(LogBarrier().value([0.5, 0.5])), 12)
    1.38629436112
    """

    kernel: ClassVar[str] = "log_barrier"
    needs_rounds: ClassVar[bool] = True
    first_order: ClassVar[bool] = True
    largest_gamma: ClassVar[bool] = True
    tsallis_alpha: ClassVar[float | None] = 0.0
    gamma: ClassVar[float] = 2.0
    own_rate: ClassVar[float] = 1.0
    rate_source: ClassVar[str] = "prop:dc_to_dp in D_inf, corrected: kappa_a/(a scale)"

    @property
    def rate(self) -> float:
        """Rate kappa_0."""
        return kappa(0.0)

    def range_constant(self, n: int, rounds: int | None = None) -> float:
        """Return A = (n-1) log(1/tau) - log(1 - (n-1) tau) - n log n at tau = 1/(n rounds).

        Parameters
        ----------
        n : int
            Number of arms.
        rounds : int, optional
            Number of rounds.

        Returns
        -------
        float
            Cost per unit of scale of a comparator fixed in advance.
        """
        if rounds is None:
            raise ValueError("the range of the log-barrier depends on the number of rounds; got rounds=None")
        if n == 1:
            return 0.0
        tau = 1.0 / (n * rounds)
        return (n - 1) * math.log(1.0 / tau) - math.log1p(-(n - 1) * tau) - n * math.log(n)

    def variance_constant(self, n: int) -> float:
        """Return 1/8, the variance of a loss under the curvatures.

        Parameters
        ----------
        n : int
            Number of arms.

        Returns
        -------
        float
            The constant v.
        """
        return 0.125

    def comparator_cost(self, n: int) -> float:
        """Return (n - 1) tau rounds = (n - 1)/n.

        Parameters
        ----------
        n : int
            Number of arms.

        Returns
        -------
        float
            Cost in units of the loss.
        """
        return (n - 1) / n

    def step_level(self, step: float) -> Level:
        return Level(step, True, "lem:logdc and prop:dc_to_dp corrected: (2, 1/scale) consistency")

    def value(self, p: Any) -> Any:
        with np.errstate(divide="ignore"):
            return -np.log(np.asarray(p, dtype=np.float64)).sum(axis=-1)

    def slope(self, p: Array) -> Array:
        return np.asarray(-1.0 / p)

    def curvature(self, p: Array) -> Array:
        return p**2


@lru_cache(maxsize=256)
def kappa(alpha: float) -> float:
    """Return kappa_a = max_p p^(1-a) (1-p)^(2-a) / (p^(2-a) + (1-p)^(2-a)), for 0 <= a < 1.

    The D_inf rate of Tsallis(a) is kappa_a/(a scale), of the log-barrier kappa_0/scale.

    >>> [round(kappa(a), 6) for a in (0.0, 0.25, 0.5, 0.75)]
    [0.276953, 0.340424, 0.427916, 0.568456]
    """

    def objective(p: float) -> float:
        a, b = p ** (2.0 - alpha), (1.0 - p) ** (2.0 - alpha)
        return float(p ** (1.0 - alpha) * b / (a + b))

    # The maximum is flat: its value is accurate to rounding, although p is accurate to 1e-8 only. The value is rounded
    # up.
    return objective(least_between(lambda p: -objective(p), 0.0, 1.0, 120)) * (1.0 + 4e-16)


_RATIO = (math.sqrt(5.0) - 1.0) / 2.0


def least_between(function: Callable[[float], float], low: float, high: float, steps: int) -> float:
    """Return the location of the minimum of a unimodal function between `low` and `high`, by golden section.

    Each step keeps 0.618 of the interval. Because a function is flat near its minimum, 40 steps find its value to
    rounding, but the location only to about 1e-8 of the interval.

    >>> round(least_between(lambda x: (x - 2.0) ** 2, 0.0, 5.0, 40), 6)
    2.0
    """
    for _ in range(steps):
        left, right = high - _RATIO * (high - low), low + _RATIO * (high - low)
        if function(left) <= function(right):
            high = right
        else:
            low = left
    return 0.5 * (low + high)


#: Probabilities below e^-700 are treated as 0.
_LOWEST = -700.0


def _newton(regularizer: Regularizer, gaps: Array, logs: Array) -> tuple[Array, bool]:
    """Return (log p, converged) by Newton's method in log p; `gaps` are (L - min L)/scale."""
    for _ in range(120):
        p = np.exp(logs)
        w, slack = regularizer.curvature(p), regularizer.slope(p) + gaps
        multiplier = (1.0 - p.sum() + (w * slack).sum()) / w.sum()
        step = np.clip((multiplier - slack) * w / p, -20.0, 20.0)
        moved = np.maximum(logs + step, _LOWEST)
        largest = float(np.abs(moved - logs).max())
        if math.isnan(largest):
            return logs, False
        logs = moved
        if largest < 1e-8:  # Convergence is quadratic, so the next step would be below rounding.
            return logs, abs(float(np.exp(logs).sum()) - 1.0) < 1e-6
    return logs, False


def _bisection(regularizer: Regularizer, gaps: Array) -> Array:
    """Return log p by bisection of the multiplier and, for each multiplier, of every log p_i."""
    n = gaps.size
    low, high = (float(regularizer.slope(np.array([p]))[0]) for p in (1.0 / n, 1.0))
    logs = np.full(n, -math.log(n))
    for _ in range(60):
        multiplier = 0.5 * (low + high)
        left, right = np.full(n, _LOWEST), np.zeros(n)
        for _ in range(60):
            logs = 0.5 * (left + right)
            above = regularizer.slope(np.exp(logs)) > multiplier - gaps
            left, right = np.where(above, left, logs), np.where(above, logs, right)
        low, high = (low, multiplier) if np.exp(logs).sum() > 1.0 else (multiplier, high)
    return logs


#: Probabilities at which the members of a user-defined regularizer are compared.
_GRID = np.concatenate([np.logspace(-12.0, -1.0, 80), np.linspace(0.11, 0.9, 80), 1.0 - np.logspace(-1.01, -6.0, 40)])
#: Relative tolerances: of differences of `value` and `slope`, and of a stated rate.
_DIFFERENCE, _RATE = 1e-4, 1e-9


def _agreement(regularizer: Regularizer) -> str:
    """Return the assumptions about a regularizer; raise ValueError if its members contradict each other."""
    try:
        return _agreement_of(regularizer)
    except TypeError:  # not hashable
        return _compared(regularizer)


@lru_cache(maxsize=64)
def _agreement_of(regularizer: Regularizer) -> str:
    return _compared(regularizer)


def _compared(regularizer: Regularizer) -> str:
    """Compare the members of a regularizer with each other at the points of the grid."""
    name = type(regularizer).__name__
    own = validation.user_defined(regularizer, PROVED)
    if own:
        raise ValueError(
            f"{name} must not define {', '.join(own)}; hn.Regularizer derives these from gamma, rate, own_rate, value, "
            "slope and curvature. Rename them"
        )
    gamma = validation.positive(regularizer.gamma, f"gamma of {name}")
    p = _GRID
    with np.errstate(all="ignore"):
        slope, w = _evaluated(regularizer, "slope", p), _evaluated(regularizer, "curvature", p)
        _check_slopes(regularizer, p, slope, w)
        _check_values(regularizer)
        rates = [("rate", 1.0, _stated(regularizer, "rate")), ("own_rate", gamma, _stated(regularizer, "own_rate"))]
        for member, power, stated in rates:
            if stated is None:
                continue
            found, at = _steepest(regularizer, p, w, power)
            if stated < found * (1.0 - _RATE):
                raise ValueError(
                    f"{member} of {name} must be at least w_i (1 - w_i/sum w)/p_i^{power:g}, which is {found:.6g} at "
                    f"p_i = {at:.6g}; got {stated!r}. Correct {member} or curvature"
                )
    said = f"assumed, not verified: {name} is convex and separable with these members"
    known = [f"{member} <= {stated:.15g}" for member, _, stated in rates if stated is not None]
    return f"{', '.join([said, *known])} (they agree at {p.size} points)"


def _evaluated(regularizer: Regularizer, member: str, p: Array) -> Array:
    """Return a member at an array of probabilities; it must be elementwise and finite."""
    found = np.asarray(getattr(regularizer, member)(p), dtype=np.float64)
    if found.shape != p.shape or not np.isfinite(found).all():
        shown = f"shape {found.shape}" if found.shape != p.shape else f"{found[~np.isfinite(found)][0]!r}"
        raise ValueError(
            f"{member}(p) of {type(regularizer).__name__} must be finite, one number per entry of p; got {shown} for "
            f"{p.size} entries in (0, 1)"
        )
    return found


def _stated(regularizer: Regularizer, member: str) -> float | None:
    """Return a stated rate; None if it is not stated or infinite."""
    try:
        stated = getattr(regularizer, member)
    except ValueError:
        return None
    if stated == math.inf:
        return None
    return validation.positive(stated, f"{member} of {type(regularizer).__name__}")


def _check_slopes(regularizer: Regularizer, p: Array, slope: Array, w: Array) -> None:
    """Check that the slope increases, tends to -inf at 0, and has the derivative 1/curvature."""
    name, h = type(regularizer).__name__, 1e-4
    if not (w > 0.0).all():
        raise ValueError(
            f"curvature(p) of {name} must be > 0; got {float(w.min())!r} at p = {p[int(np.argmin(w))]:.6g}"
        )
    if not (np.diff(slope) > 0.0).all():
        at = int(np.argmin(np.diff(slope)))
        raise ValueError(f"slope(p) of {name} must increase with p; got a decrease at p = {p[at]:.6g}")
    ends = _evaluated(regularizer, "slope", np.array([1e-300, 1e-12, 0.5]))
    if ends[1] - ends[0] < 0.5 * (ends[2] - ends[1]):
        raise ValueError(
            f"slope(p) of {name} must tend to -inf as p tends to 0, so that every arm keeps a probability; got "
            f"{ends[0]:.6g} at p = 1e-300"
        )
    up, down = (_evaluated(regularizer, "slope", p * math.exp(step)) for step in (h, -h))
    derivative, wanted = (up - down) / (2.0 * h), p / w
    allowed = _DIFFERENCE * wanted + 1e-14 * np.abs(slope) / h
    worst = int(np.argmax(np.abs(derivative - wanted) - allowed))
    if abs(derivative[worst] - wanted[worst]) > allowed[worst]:
        raise ValueError(
            f"curvature(p) of {name} must be 1/f'', the inverse derivative of slope; got {w[worst]:.6g} at p = "
            f"{p[worst]:.6g}, where the derivative of slope gives {p[worst] / derivative[worst]:.6g}"
        )


def _check_values(regularizer: Regularizer) -> None:
    """Check that `value` reduces the last axis and has the slope as its derivative."""
    name, h = type(regularizer).__name__, 1e-6
    plays = np.random.default_rng(0).dirichlet(np.full(4, 3.0), 8)
    shape = np.shape(regularizer.value(plays))
    if shape != (8,):
        raise ValueError(f"value(p) of {name} must sum over the last axis; got shape {shape} for p of shape (8, 4)")
    way = np.array([1.0, -1.0, 0.0, 0.0]) * h
    found = (np.asarray(regularizer.value(plays + way)) - np.asarray(regularizer.value(plays - way))) / (2.0 * h)
    slope = regularizer.slope(plays)
    wanted = slope[:, 0] - slope[:, 1]
    allowed = _DIFFERENCE * (1.0 + np.abs(slope).sum(axis=1)) + 1e-9 * np.abs(np.asarray(regularizer.value(plays)))
    worst = int(np.argmax(np.abs(found - wanted) - allowed))
    if not abs(found[worst] - wanted[worst]) <= allowed[worst]:
        raise ValueError(
            f"slope(p) of {name} must be the derivative of value; got slope(p_0) - slope(p_1) = {wanted[worst]:.6g}, "
            f"where value changes by {found[worst]:.6g}"
        )


def _steepest(regularizer: Regularizer, p: Array, w: Array, power: float) -> tuple[float, float]:
    """Return the largest w_i (1 - w_i/sum w)/p_i^power on the grid, with the remaining mass spread evenly, and its
    p_i.
    """
    best, at = 0.0, 0.0
    for others in (1, 2, 4, 9, 99):
        rest = others * _evaluated(regularizer, "curvature", (1.0 - p) / others)
        steep = w * rest / (w + rest) / p**power
        k = int(np.argmax(steep))
        if steep[k] > best:
            best, at = float(steep[k]), float(p[k])
    return best, at
