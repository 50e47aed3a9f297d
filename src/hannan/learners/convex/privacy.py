"""Privacy statements of a convex learner: one move, and its composition over rounds.

Adding or removing one loss changes the distribution of the exact argmin by epsilon_1, forward and backward:

    Gamma noise     beta/scale + J, delta = 0              J = log(1 + smooth/ridge), 0 for linear losses
    Gaussian        e + J at delta(e), the exact linear formula delta_0 for linear losses and for phi' of one sign,
                    2 delta_0 for phi(<z, x>)

The argmin of linear losses is exact. For curved losses the solver always returns a point within `accuracy` r of the
argmin, and the move is the projection of this point plus noise of density exp(-epsilon_2 ||w||/(2r)): epsilon =
epsilon_1 + epsilon_2, epsilon_2 = output_share * epsilon, and delta does not change. Ridge, r and both scales are
public constants. Proofs: docs/proofs/convex.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from hannan import extras, validation
from hannan.learners.tuning import Fixed, Horizon
from hannan.mathematics.bounds import Withheld
from hannan.mathematics.convex.noise import GammaNoise, GaussianNoise, Shape
from hannan.saving.formatting import AtMost, ceiling, chance, figure, short
from hannan.saving.result import Result, Shown
from hannan.validation import Array

#: Number of points of the grid, and number of standard deviations that it covers in one round: the mass beyond is
#: 1e-23.
POINTS, REACH = 6000, 10.0
#: Larger than the relative rounding error of all sums.
ROUNDING = 1e-9


def composed_epsilon(mu: float, shape: Shape, rounds: int, delta: float) -> float:
    """Return the smallest epsilon, rounded up, with E(1 - e^(epsilon - sum V))_+ <= delta.

    >>> from hannan.mathematics.convex.noise import GaussianNoise
    >>> one = composed_epsilon(0.5, "one-signed", 1, 1e-6)
    >>> exact = GaussianNoise(1e-6).epsilon_of(0.5, 1.0)
    >>> bool(exact <= one <= 1.001 * exact)
    True
    """
    grid, masses, beyond = _composed(mu, shape, rounds)

    def enough(epsilon: float) -> bool:
        lost = -np.expm1(np.minimum(epsilon - grid, 0.0))
        return (float(masses @ lost) + beyond) * (1.0 + ROUNDING) <= delta

    if not enough(float(grid[-1])):
        raise Withheld(
            f"delta must be above {beyond:.3g}, the truncation error of the numerical composition over "
            f"{rounds} rounds; got {delta!r}"
        )
    low, high = 0.0, float(grid[-1])
    if enough(low):
        return low
    while high - low > 1e-12 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _composed(mu: float, shape: Shape, rounds: int) -> tuple[Array, Array, float]:
    """Return (grid, masses of V_1 + ... + V_T on it, mass beyond the grid)."""
    once = 0.5 * mu * mu + REACH * mu
    step = mu / 50.0
    for _ in range(3):
        # Repeat with the moments of the discretized V, which has a larger spread than V if the grid is coarse.
        grid = _grid(step, math.ceil(once / step) + 2)
        power, lost = _one(mu, shape, grid)
        mean = float(power @ grid)
        spread = math.sqrt(float(power @ (grid - mean) ** 2))
        end = rounds * mean + 14.0 * spread * math.sqrt(rounds) + once + step
        step = max(step, end / POINTS)
    size = math.ceil(end / step) + 1
    grid = _grid(step, max(size, len(grid)))
    power, lost = _one(mu, shape, grid)
    total, beyond = np.ones(1), 0.0
    left = rounds
    while left:
        if left & 1:
            total, beyond = _sum(total, beyond, power, lost, len(grid))
        left >>= 1
        if left:
            power, lost = _sum(power, lost, power, lost, len(grid))
    masses = np.zeros(len(grid))
    masses[: len(total)] = total
    return grid, masses, beyond


def _grid(step: float, size: int) -> Array:
    return np.arange(size, dtype=np.float64) * step


def _sum(p: Array, p_lost: float, q: Array, q_lost: float, size: int) -> tuple[Array, float]:
    """Return the distribution of a sum, truncated at the end of the grid, and the mass beyond."""
    both = np.convolve(p, q)
    return both[:size], p_lost + q_lost + float(both[size:].sum())


def _one(mu: float, shape: Shape, grid: Array) -> tuple[Array, float]:
    """Return V of one round on the grid: the mass of a cell is moved to its ends such that the mean of e^-V is kept."""
    from scipy.special import ndtr

    # V = mu^2/2 + mu y at y; e^-V phi(y) = phi(y + mu).
    y = (grid - 0.5 * mu * mu) / mu
    sides = 1.0
    if shape == "rank-one":
        y, sides = np.maximum(y, 0.0), 2.0
    cell = sides * (ndtr(-y[:-1]) - ndtr(-y[1:]))
    kept = sides * (ndtr(-y[:-1] - mu) - ndtr(-y[1:] - mu))
    left, right = np.exp(-grid[:-1]), np.exp(-grid[1:])
    # Share of the mass at the left end; rounding errors may put it outside of [0, 1] if a cell is empty.
    share = np.clip((kept - cell * right) / np.maximum(cell * (left - right), 1e-300), 0.0, 1.0)
    masses = np.zeros(len(grid))
    masses[:-1] += cell * share
    masses[1:] += cell * (1.0 - share)
    if shape != "rank-one":
        masses[0] += float(ndtr(y[0]))
    return masses, sides * float(ndtr(-y[-1]))


#: Assumptions of a privacy statement.
CONDITION = (
    "covers the moves only: not the learner's loss, the regret or the certificate; assumes real-valued noise that no "
    "one can reproduce (a player started without a seed)"
)
#: Shapes of losses for which a smaller epsilon holds; losses are not checked for them.
WORDS = {"linear": "every loss is linear", "one-signed": "phi' of every loss is of one sign"}


#: Neighboring relation of a privacy statement.
BETWEEN = "neighboring sequences: one loss added or removed, in both directions"


@dataclass(frozen=True)
class Privacy(Result):
    """A statement of (epsilon, delta)-differential privacy of a convex learner's moves.

    Parameters
    ----------
    epsilon, delta : float
        The parameters: D_inf^delta <= epsilon in both directions, between the moves with and without one loss.
    rounds : int
        Number of moves that the statement covers together.
    source : str
        Theorem.
    condition : str, optional
        Assumptions.

    Examples
    --------
    >>> import hannan as hn
    >>> learner = hn.Convex(hn.Ball(3), 1.0, tuning=hn.Fixed(2.0), smooth=0, guarantee="privacy")
    >>> said = learner.privacy()
    >>> said.epsilon, said.delta, said.rounds
    (0.5, 0.0, 1)
    >>> print(said)
    (epsilon, delta) = (0.5, 0) per move
    <BLANKLINE>
    Assumptions
      neighbors   neighboring sequences: one loss added or removed, in both directions
      private if  covers the moves only: not the learner's loss, the regret or the certificate; assumes
                  real-valued noise that no one can reproduce (a player started without a seed)
    <BLANKLINE>
    Details
      theorem     cor:olo: the distribution of the perturbed sum of linear losses
    """

    epsilon: float
    delta: float
    rounds: int
    source: str
    condition: str = CONDITION
    between: ClassVar[str] = BETWEEN

    @property
    def says(self) -> str:
        """The statement as a line, both parameters rounded up."""
        moves = "per move" if self.rounds == 1 else f"for {self.rounds} moves together"
        return f"(epsilon, delta) = ({ceiling(self.epsilon)}, {chance(self.delta)}) {moves}"

    def shown(self) -> Shown:
        assumptions = [("neighbors", self.between), ("private if", self.condition)]
        return Shown(self.says, assumptions=assumptions, details=[("theorem", self.source)])


class Levels(NamedTuple):
    """Parts of epsilon: the level of the density, J of the Jacobian, and epsilon_2 of the output noise."""

    density: float
    jacobian: float
    output: float

    @property
    def epsilon(self) -> float:
        return self.density + self.jacobian + self.output


def ridge_of(learner: Any) -> float:
    """Return the fixed ridge of curved losses: as given, or smooth/level, for which J is at most the level of the
    noise.
    """
    if learner.guarantee == "regret" or not learner.smooth:
        return 0.0
    return float(learner.ridge or learner.smooth / _density(learner, "rank-one"))


def levels(learner: Any, shape: Shape) -> Levels:
    """Return the parts of epsilon for losses of a shape."""
    density = _density(learner, shape)
    if not learner.smooth:
        return Levels(density, 0.0, 0.0)
    jacobian = math.log1p(learner.smooth / ridge_of(learner))
    # The share of the widest shape: the output noise is drawn before the losses are known.
    widest = _density(learner, "rank-one") + jacobian
    return Levels(density, jacobian, widest * learner.output_share / (1.0 - learner.output_share))


def output_scale(learner: Any) -> float:
    """Return 2r/epsilon_2, the scale of the output noise; 0 if the argmin is exact or no privacy is requested."""
    if learner.accuracy is None:
        return 0.0
    return float(2.0 * learner.accuracy / levels(learner, "rank-one").output)


def _density(learner: Any, shape: Shape) -> float:
    scale, beta = learner.schedule().scale(1, 0.0), learner.lipschitz
    if isinstance(learner.noise, GaussianNoise):
        return learner.noise.epsilon_of(beta, scale, shape, learner.domain.d)
    return float(beta / scale)


def statement(learner: Any, rounds: int, delta: float | None, shape: Shape | None) -> Privacy:
    """Return the statement of `Convex.privacy`."""
    said = _said(learner, rounds, delta, shape)
    # For Gamma noise epsilon is the same for every shape, and the shape of a learner of linear losses is known.
    if shape in WORDS and learner.smooth and isinstance(learner.noise, GaussianNoise):
        return replace(said, condition=f"{said.condition}; assumes, without checking, that {WORDS[shape]}")
    return said


def _said(learner: Any, rounds: int, delta: float | None, shape: Shape | None) -> Privacy:
    rounds = validation.count(rounds, "rounds")
    if learner.guarantee != "privacy":
        raise Withheld(
            "a privacy statement requires a learner with guarantee='privacy'; with guarantee='regret', "
            "stability holds in one direction only"
        )
    gaussian = learner.noise if isinstance(learner.noise, GaussianNoise) else None
    if gaussian is not None and gaussian.calibration == "paper":
        raise Withheld(
            "no privacy is proved for calibration='paper': the printed covariance is too small for the printed epsilon"
        )
    if learner.smooth and learner.accuracy is None:
        raise Withheld(
            "the argmin of curved losses is computed numerically, so a privacy statement requires noise that is "
            "added to the move: pass accuracy=, the largest distance of a move from the exact argmin"
        )
    if rounds > 1 and not learner.fresh:
        raise Withheld(
            "no privacy of several rounds is proved for fresh=False: one draw of noise in all rounds "
            "does not hide single losses"
        )
    parts = levels(learner, _stated(learner, shape))
    what = (
        "the perturbed argmin" if learner.smooth else "cor:olo: the distribution of the perturbed sum of linear losses"
    )
    own = 0.0 if gaussian is None else gaussian.delta or 0.0
    if rounds == 1 and (delta is None or delta == own):
        source = what if not learner.smooth else f"{what}, J = {figure(parts.jacobian)}, output {figure(parts.output)}"
        return Privacy(parts.epsilon, own, 1, source)
    if gaussian is None and delta is None:
        return Privacy(rounds * parts.epsilon, 0.0, rounds, "basic composition of pure levels")
    target = validation.between(own if delta is None else delta, 0.0, 1.0, "delta", "()")
    if gaussian is None:
        accounting = _accounting()
        pure = accounting.common.DifferentialPrivacyParameters(parts.epsilon, 0.0)
        one = accounting.privacy_loss_distribution.from_privacy_parameters(pure)
    elif learner.smooth:
        mu = learner.lipschitz / learner.schedule().scale(1, 0.0)
        spent = rounds * (parts.jacobian + parts.output)
        total = spent + composed_epsilon(mu, _stated(learner, shape), rounds, target)
        return Privacy(total, target, rounds, "majorized privacy loss of curved losses, composed by convolution")
    else:
        # For linear losses, T moves with fresh noise are exactly one mechanism with sqrt(T) times the sensitivity; for
        # curved losses they are not.
        size = learner.lipschitz * math.sqrt(rounds)
        total = GaussianNoise(target).epsilon_of(size, learner.schedule().scale(1, 0.0))
        return Privacy(
            total,
            target,
            rounds,
            "exact composition of Gaussian mechanisms: T moves are one mechanism of sqrt(T) times the sensitivity",
        )
    composed = float(one.self_compose(rounds).get_epsilon_for_delta(target))
    return Privacy(composed, target, rounds, "privacy loss distribution, composed by dp-accounting")


def _stated(learner: Any, shape: Shape | None) -> Shape:
    """Return the shape that a statement covers; if it is narrower than that of the learner, it is assumed, not
    verified.
    """
    if shape not in (None, "linear", "one-signed", "rank-one"):
        raise ValueError(f"shape must be 'linear', 'one-signed' or 'rank-one'; got {shape!r}")
    if not learner.smooth:
        return "linear"
    return "rank-one" if shape is None else shape


def _accounting() -> Any:
    try:
        from dp_accounting import pld
    except ImportError:
        raise Withheld(f"composition over rounds needs dp-accounting: {extras.command('privacy')}") from None
    return pld


#: Relative size of the first step above the root.
NEAR = 1e-12
#: Values of epsilon of a curve if none are given.
USUAL = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
#: Regret that `epsilon_at_ten_percent` allows, as a multiple of the bound without privacy.
MORE_REGRET = 1.1


def scale_for(learner: Any, epsilon: float, delta: float | None, rounds: int, shape: Shape | None) -> float:
    """Return the result of `Convex.scale_for`."""
    epsilon, rounds = validation.positive(epsilon, "epsilon"), validation.count(rounds, "rounds")
    if delta == 0.0 and isinstance(learner.noise, GammaNoise):
        delta = None

    def spent(scale: float) -> float:
        return statement(private(learner, scale), rounds, delta, shape).epsilon

    # Basic composition determines the upper end: it is enough for Gamma noise, and exceeds the need of Gaussian noise.
    scale = learner.lipschitz * rounds / epsilon
    if not isinstance(learner.noise, GammaNoise) or delta is not None:
        told = delta or getattr(learner.noise, "delta", None) or 1e-6
        scale = 2.0 * learner.lipschitz * math.sqrt(2.0 * rounds * (math.log(2.0 / told) + epsilon)) / epsilon
    return _least(spent, scale, epsilon)


def private(learner: Any, scale: float) -> Any:
    """Return the learner at a fixed scale, with guarantee="privacy"."""
    return replace(learner, tuning=Fixed(scale), guarantee="privacy")


def _least(spent: Callable[[float], float], scale: float, epsilon: float) -> float:
    """Return nearly the smallest scale with spent(scale) <= epsilon."""
    low, high = scale, scale
    at_low = at_high = spent(scale)
    while at_high > epsilon:
        low, at_low = high, at_high
        high *= 2.0
        at_high = spent(high)
        if at_high > epsilon and at_high > 0.999 * at_low:
            raise Withheld(
                f"epsilon must be above {at_high:.6g}, which the ridge spends at every scale; got {epsilon!r}. Pass "
                f"a larger ridge=, or omit it"
            )
    while at_low <= epsilon:
        high, at_high = low, at_low
        low /= 1.5
        at_low = spent(low)
    if at_high == epsilon:
        return high
    from scipy.optimize import brentq

    def off(x: float) -> float:
        return math.log(max(spent(math.exp(x)), 1e-300) / epsilon)

    # Slightly wider, because the ends are rounded by a logarithm and its inverse.
    root = brentq(off, math.log(low) - 1e-9, math.log(high) + 1e-9, rtol=1e-14)
    more = NEAR
    while spent(math.exp(root) * (1.0 + more)) > epsilon:
        more *= 4.0
    return float(math.exp(root) * (1.0 + more))


@dataclass(frozen=True)
class PrivacyCurve(Result):
    """Cost of privacy: for each epsilon, the smallest scale of the noise, and the bound on the regret at that scale.

    Parameters
    ----------
    learner : str
        Description of the learner.
    rounds : int
        Number of moves that epsilon covers together.
    delta : float
        The parameter delta.
    epsilons, scales : tuple of float
        Privacy budgets and smallest scales.
    bounds : tuple of float or None
        Bounds on the expected regret; None if none is proved.
    free : float or None
        Bound of the same noise, tuned for the rounds, without a privacy requirement.
    withheld : str, optional
        Reason why a bound is missing.
    quantity : str, optional
        Name of the numbers in `scales`.
    epsilon_at_ten_percent : float or None, optional
        Smallest epsilon whose bound is at most 1.1 times `free`; None if there is none, or if it was not computed.

    Examples
    --------
    >>> import hannan as hn
    >>> learner = hn.Convex(hn.Ball(2), 1.0, tuning=hn.Fixed(2.0), smooth=0, guarantee="privacy")
    >>> curve = learner.privacy_curve(rounds=100)
    >>> len(curve.epsilons) == len(curve.bounds)
    True
    """

    learner: str
    rounds: int
    delta: float
    epsilons: tuple[float, ...]
    scales: tuple[float, ...]
    bounds: tuple[float | None, ...]
    free: float | None
    withheld: str = ""
    quantity: str = "scale"
    epsilon_at_ten_percent: float | None = None

    def shown(self) -> Shown:
        rows = [("without privacy", "no bound" if self.free is None else f"expected regret <= {ceiling(self.free)}")]
        if self.epsilon_at_ten_percent is not None:
            rows.append(("at most 10% more regret", f"for epsilon >= {ceiling(self.epsilon_at_ten_percent)}"))
        if self.withheld:
            rows.append(("why", f"no bound: {self.withheld}"))
        heads = ("epsilon", self.quantity, "bound on the regret", "bound per round")
        # Rounded up like a bound: a larger scale is within the budget too.
        scales, bounds = map(AtMost, self.scales), [None if bound is None else AtMost(bound) for bound in self.bounds]
        each = [None if bound is None else AtMost(bound / self.rounds) for bound in bounds]
        title = f"{short(self.learner)}: regret bound by epsilon, {self.rounds} moves, delta = {chance(self.delta)}"
        table = list(zip(self.epsilons, scales, bounds, each, strict=True))
        return Shown(title, rows, heads, table, details=[("learner", self.learner)])

    def to_frame(self) -> Any:
        """Return the curve as a frame.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            Columns epsilon, scale and bound; pandas if it is installed.
        """
        from hannan.saving.result import frame_of

        return frame_of({"epsilon": self.epsilons, "scale": self.scales, "bound": self.bounds})

    def picture(self) -> Any:
        """Return the picture of the bound by epsilon, on logarithmic axes.

        Returns
        -------
        Picture
            The bound, and the bound without privacy as a dashed line.

        Raises
        ------
        ValueError
            If no bound is proved.
        """
        from hannan.report.pictures import Layer, Picture

        pairs = [(e, b) for e, b in zip(self.epsilons, self.bounds, strict=True) if b is not None]
        if not pairs:
            raise ValueError(f"cannot draw the curve, because no bound is proved: {self.withheld}")
        layers = [Layer("line", tuple({"epsilon": e, "bound": b} for e, b in pairs), x="epsilon", y="bound")]
        if self.free is not None:
            free = tuple({"epsilon": e, "bound": self.free} for e in (pairs[0][0], pairs[-1][0]))
            layers.append(Layer("bound", free, x="epsilon", y="bound"))
        first, last = pairs[0], pairs[-1]
        alt = (
            f"The bound on the regret of {self.rounds} rounds falls from {ceiling(first[1])} at epsilon "
            f"{figure(first[0])} to {ceiling(last[1])} at {figure(last[0])}; dashed: without privacy."
        )
        title = "What privacy costs: the bound on the regret by epsilon"
        return Picture(
            title,
            "epsilon over all rounds",
            "bound on the regret",
            layers=tuple(layers),
            alt=alt,
            x_log=True,
            y_log=True,
        )

    def plot(self) -> Any:
        """Return an Altair chart of the bound by epsilon, on logarithmic axes.

        Returns
        -------
        altair.LayerChart
            The chart.
        """
        return self.picture().chart(460)


def curve(learner: Any, rounds: int, delta: float | None, epsilons: Sequence[float] | None) -> PrivacyCurve:
    """Return the result of `Convex.privacy_curve`."""
    rounds = validation.count(rounds, "rounds")
    asked = sorted(validation.positive(x, "epsilon") for x in (USUAL if epsilons is None else epsilons))
    if not asked:
        raise ValueError("epsilons must have at least one number; got an empty sequence")
    scales = [scale_for(learner, epsilon, delta, rounds, None) for epsilon in asked]
    withheld, bounds = "", []
    for scale in scales:
        bound, why = _bound(private(learner, scale), rounds)
        bounds.append(bound)
        withheld = withheld or why
    free = replace(learner, tuning=Horizon(rounds), guarantee="regret", accuracy=None, ridge=None)
    said = statement(private(learner, scales[0]), rounds, delta or None, None)
    least = _bound(free, rounds)[0]
    return PrivacyCurve(
        learner=repr(learner),
        rounds=rounds,
        delta=said.delta,
        epsilons=tuple(asked),
        scales=tuple(scales),
        bounds=tuple(bounds),
        free=least,
        withheld=withheld,
        epsilon_at_ten_percent=None if least is None else epsilon_at(learner, MORE_REGRET * least, rounds, said.delta),
    )


def epsilon_at(learner: Any, most: float, rounds: int, delta: float) -> float | None:
    """Return the smallest epsilon whose noise has a bound of at most `most`; None if no noise has one."""

    def enough(scale: float) -> bool:
        found = _bound(private(learner, scale), rounds)[0]
        return found is not None and found <= most

    # The bound falls with the scale, and then rises: the largest scale within `most` has the smallest epsilon.
    tuned = replace(learner, tuning=Horizon(rounds)).schedule().scale(1, 0.0)
    grid = [float(scale) for scale in tuned * np.geomspace(1e-2, 1e2, 81)]
    fits = [i for i, scale in enumerate(grid) if enough(scale)]
    if not fits:
        return None
    low, high = grid[fits[-1]], grid[min(fits[-1] + 1, len(grid) - 1)]
    while high > low * (1.0 + 1e-7):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if enough(middle) else (low, middle)
    return statement(private(learner, low), rounds, delta or None, None).epsilon


def _bound(learner: Any, rounds: int) -> tuple[float | None, str]:
    try:
        return learner.bound(rounds).value, ""
    except ValueError as reason:
        return None, str(reason)
