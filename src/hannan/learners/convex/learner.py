"""Online convex and linear optimization by objective perturbation: Algorithm 1 of the paper (alg:oco)."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from hannan import saving, validation
from hannan.learners.convex import bounds as proofs
from hannan.learners.convex import bounds as tuned
from hannan.learners.convex import privacy
from hannan.learners.convex.privacy import Privacy, PrivacyCurve, curve, scale_for, statement
from hannan.learners.learner import needed
from hannan.learners.tuning import Schedule, SelfConfident, Tuning, check_tuning
from hannan.mathematics import bounds
from hannan.mathematics.bounds import Bound, Whom
from hannan.mathematics.convex.domains import Ball, Domain
from hannan.mathematics.convex.losses import Loss, check_user_defined
from hannan.mathematics.convex.noise import GammaNoise, GaussianNoise, Noise, Shape

#: Relative tolerance for rounding errors when a loss is compared with its stated limits.
SLACK = 1e-9


def check_lipschitz(losses: Loss, domain: Domain, lipschitz: float) -> None:
    """Raise ValueError if a gradient exceeds `lipschitz` on the domain."""
    _at_most("gradients of the losses", losses.lipschitz(domain), lipschitz, "lipschitz")


def check_smooth(losses: Loss, smooth: float) -> None:
    """Raise ValueError if the curvature of a loss exceeds `smooth`."""
    _at_most("curvatures of the losses", losses.smooth, smooth, "smooth")


def check_range(losses: Loss, domain: Domain, loss_bound: float) -> None:
    """Raise ValueError if a loss leaves [0, loss_bound] on the domain."""
    low, high = losses.interval(domain)
    if (low < -SLACK * loss_bound).any():
        worst = int(np.argmin(low))
        raise ValueError(
            "losses must be non-negative on the domain if loss_bound is given (shift the domain or the losses, or omit "
            f"loss_bound); got {float(np.min(low)):g} at index {worst}"
        )
    _at_most("losses", high, loss_bound, "loss_bound")


def _at_most(what: str, values: Any, most: float, name: str) -> None:
    values = np.asarray(values)
    if (values > most * (1.0 + SLACK)).any() or np.isnan(values).any():
        worst = int(np.argmax(values))
        found = float(values.max())
        raise ValueError(f"{what} must be at most {name} = {most:g} on the domain; got {found:g} at index {worst}")


class Private:
    """Mixin with `privacy`, `scale_for` and `privacy_curve`."""

    def privacy(self, rounds: int = 1, delta: float | None = None, shape: Shape | None = None) -> Privacy:
        """Return (epsilon, delta) for adding or removing one observation, for the last move or several moves together.

        The statement assumes real-valued noise that cannot be reproduced, as its `condition` says.

        Parameters
        ----------
        rounds : int, default 1
            Number of consecutive moves; for more than one, epsilon is composed at `delta`.
        delta : float, optional
            delta of the statement. Default: for Gaussian noise the delta of the noise.
        shape : {"one-signed"}, optional
            Assume that phi' of every loss has one sign. This is not verified.

        Returns
        -------
        Privacy
            epsilon, delta and their assumptions.

        Raises
        ------
        ValueError
            If a condition of the proof does not hold.

        Examples
        --------
        >>> from hannan import Ball, Convex, Fixed
        >>> Convex(Ball(3), 1.0, tuning=Fixed(2.0), smooth=0, guarantee="privacy").privacy().epsilon
        0.5
        >>> curved = Convex(Ball(3), 1.0, tuning=Fixed(2.0), smooth=0.25, guarantee="privacy", accuracy=1e-6, ridge=2.0)
        >>> round(curved.privacy().epsilon, 4)  # (1/2 + log(1 + 1/8))/(1 - 0.1)
        0.6864
        """
        return statement(self, rounds, delta, shape)

    def scale_for(
        self, epsilon: float, delta: float | None = None, rounds: int = 1, shape: Shape | None = None
    ) -> float:
        """Return the smallest scale for which `privacy(rounds, delta, shape)` is at most `epsilon`.

        Parameters
        ----------
        epsilon : float
            Privacy budget over `rounds` moves.
        delta, rounds, shape : optional
            As in `privacy`.

        Returns
        -------
        float
            Scale, for `tuning=hn.Fixed(scale)`.

        Examples
        --------
        >>> from hannan import Ball, Convex, GaussianNoise, Horizon
        >>> learner = Convex(Ball(3), 1.0, GaussianNoise(1e-6), Horizon(100), smooth=0)
        >>> round(learner.scale_for(epsilon=1.0, rounds=100), 2)
        42.25
        """
        return scale_for(self, epsilon, delta, rounds, shape)

    def privacy_curve(
        self, rounds: int, delta: float | None = None, epsilons: Sequence[float] | None = None
    ) -> PrivacyCurve:
        """Return the smallest scale and the regret bound at this scale, for each epsilon over all rounds."""
        return curve(self, rounds, delta, epsilons)


if TYPE_CHECKING:
    from hannan._engine import PointRules
    from hannan.players.convex import ConvexPlayer

#: Ridge that each curved loss adds, relative to lipschitz/radius. Its cost is included in the bound.
RIDGE = 1e-6
#: Largest distance of a move from the exact argmin, relative to the radius; the solver raises an error above.
ACCURACY = 1e-7
#: Smallest accuracy of a private move, relative to the radius, so that it covers rounding errors.
LEAST_ACCURACY = 1e-9


@dataclass(frozen=True, repr=False)
class Convex(Private, saving.Described):
    """Learner that chooses points of a convex set by objective perturbation; its noise can make the moves private.

    In each round the learner chooses a point and then observes a convex loss.

    Parameters
    ----------
    domain : Domain
        Convex set: `Ball`, `Box`, `Simplex` or `Polytope`.
    lipschitz : float
        Lipschitz constant of the losses on the domain, in the Euclidean norm.
    noise : Noise, default GammaNoise()
        Distribution of the noise b.
    tuning : Tuning, default SelfConfident()
        Scale of the noise.
    loss_bound : float, optional
        Largest loss on the domain, for losses that are at least 0. Default: losses of any sign, for which only linear
        losses have a bound.
    smooth : float, optional
        Largest curvature of the losses; 0 if all losses are linear. Default: not stated.
    guarantee : {"regret", "privacy"}, default "regret"
        "privacy" makes `privacy()` available. With curved losses it requires a `ridge` and an `accuracy`.
    fresh : bool, default True
        If False, b is drawn once and kept; the bound then holds against an oblivious adversary.
    accuracy : float, optional
        For the privacy of curved losses: largest distance of the solver from the argmin. Noise that hides this
        distance is added to the move.
    output_share : float, default 0.1
        Share of epsilon that the noise added to the move uses.
    ridge : float, optional
        For the privacy of curved losses: ridge, fixed in advance. Default: smooth/level.

    Notes
    -----
    x_t = argmin_{x in X} sum_{s<t} l_s(x) + <b, x>: Algorithm 1 of the paper (alg:oco) without its ridge. Regret bounds
    use the forward stability, which needs no ridge, no smoothness, no rank condition, and half the noise of the paper
    (thm:oco, corrected form). The argmin of linear losses is exact. Other losses need a solver; each of them adds a
    ridge of 1e-6 lipschitz/radius, so that the accuracy of the solution is certain, and its cost is included in the
    bound. For linear losses on a ball, Gaussian noise with `Horizon(T)` has a bound without the dimension:
    r beta sqrt(2T) E chi_d/sqrt(d).

    Examples
    --------
    >>> from hannan.learners.tuning import Fixed
    >>> from hannan.mathematics.convex.domains import Box
    >>> learner = Convex(Box([0.0], [1.0]), lipschitz=1.0, tuning=Fixed(1.0), loss_bound=1.0)
    >>> round(learner.bound(best_loss=0.0).value, 5)
    0.79099
    """

    domain: Domain
    lipschitz: float
    noise: Noise = GammaNoise()  # noqa: RUF009
    tuning: Tuning = SelfConfident()  # noqa: RUF009
    loss_bound: float | None = None
    smooth: float | None = None
    guarantee: Literal["regret", "privacy"] = "regret"
    fresh: bool = True
    accuracy: float | None = None
    output_share: float = 0.1
    ridge: float | None = None

    setting: ClassVar[str] = "convex"

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain):
            raise ValueError(f"domain must be a Ball, Box, Simplex or Polytope; got {self.domain!r}")
        if not isinstance(self.noise, Noise):
            raise ValueError(f"noise must be GammaNoise or GaussianNoise; got {self.noise!r}")
        check_tuning(self.tuning)
        if self.guarantee not in ("regret", "privacy"):
            raise ValueError(f"guarantee must be 'regret' or 'privacy'; got {self.guarantee!r}")
        if not isinstance(self.fresh, bool):
            raise ValueError(f"fresh must be True or False; got {self.fresh!r}")
        object.__setattr__(self, "lipschitz", validation.positive(self.lipschitz, "lipschitz"))
        if self.loss_bound is not None:
            object.__setattr__(self, "loss_bound", validation.positive(self.loss_bound, "loss_bound"))
        if self.smooth is not None:
            object.__setattr__(self, "smooth", validation.between(self.smooth, 0.0, math.inf, "smooth", "[)"))
        schedule = self.schedule()
        first = schedule.scale(1, 0.0)
        if not (first > 0.0 and math.isfinite(first)):
            raise ValueError(f"the scale of round 1 must be finite and > 0; got {first!r}")
        if self.guarantee == "privacy":
            if self.smooth is None:
                raise ValueError("smooth is required with guarantee='privacy' (0 for linear losses); got smooth=None")
            if not schedule.is_constant:
                raise ValueError(f"tuning must have a constant scale with guarantee='privacy'; got {self.tuning!r}")
            if isinstance(self.noise, GaussianNoise) and self.noise.delta is None:
                raise ValueError("delta is required for Gaussian noise with guarantee='privacy'; got delta=None")
        for name in ("accuracy", "ridge"):
            value = getattr(self, name)
            if value is not None:
                if self.guarantee != "privacy" or not self.smooth:
                    raise ValueError(
                        f"{name} applies only to the privacy of curved losses, guarantee='privacy' and smooth > 0; "
                        f"got {name}={value!r}"
                    )
                object.__setattr__(self, name, validation.positive(value, name))
        if self.accuracy is not None and self.accuracy < LEAST_ACCURACY * self.domain.radius:
            raise ValueError(
                f"accuracy must be at least {LEAST_ACCURACY:g} x radius of the domain, to cover rounding errors; "
                f"got {self.accuracy!r}"
            )
        object.__setattr__(self, "output_share", validation.between(self.output_share, 0.0, 1.0, "output_share", "()"))

    def __repr__(self) -> str:
        shown = []
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.default is dataclasses.MISSING:
                shown.append(repr(value))
            elif field.name in ("noise", "tuning") or value != field.default:
                shown.append(f"{field.name}={value!r}")
        return f"Convex({', '.join(shown)})"

    # Constants

    @property
    def shape(self) -> Shape:
        """Class of the losses that is known in advance."""
        return "linear" if self.smooth == 0.0 else "rank-one"

    @property
    def range_constant(self) -> float:
        """Range of the noise at scale 1: G = E||standard draw|| * (mean width)/2."""
        return self.noise.mean_norm(self.domain.d) * self.domain.mean_width / 2.0

    @property
    def c(self) -> float:
        """Constant c' = lipschitz * G of the bounds; d * lipschitz * radius for Gamma noise on a ball."""
        return self.lipschitz * self.range_constant

    # Tuning

    def schedule(self) -> Schedule:
        """Return the schedule of the scale: b is the scale times a standard draw of the noise.

        Returns
        -------
        Schedule
            The scale as a function of the round and the losses.
        """
        return self._schedule

    @functools.cached_property
    def _schedule(self) -> Schedule:
        tuning = self.tuning
        if tuning.order == "given":
            return tuning.schedule(0.0, 0.0)
        if self.domain.radius == 0.0:
            return Schedule.constant(1.0)
        if isinstance(self.noise, GaussianNoise):
            return self._gaussian_schedule(self.noise)
        assert isinstance(self.noise, GammaNoise)
        paper = self.noise.calibration == "paper"
        if tuning.order == "zero" and not paper:
            return tuning.schedule(self.range_constant, self._variance())
        if tuning.by_best_loss:
            rate = bounds.best_loss_rate(self.c, self.tuned_best())
            return Schedule.constant(self.noise.scale(rate, self.lipschitz))
        if paper:
            raise ValueError(f"calibration='paper' requires a tuning with a constant scale; got {tuning!r}")
        if not self.fresh:
            raise ValueError("SelfConfident requires fresh=True: its scale would depend on the draw; got fresh=False")
        return Schedule(self.lipschitz / math.sqrt(self.c), a=self._stated(), d=1.0)

    def _gaussian_schedule(self, noise: GaussianNoise) -> Schedule:
        tuning, d = self.tuning, self.domain.d
        stakes = tuning.by_best_loss and self.shape != "linear" and self.loss_bound is not None
        if tuning.order == "zero" and not stakes:
            return tuning.schedule(self.range_constant, self._variance("linear"))
        if tuning.by_best_loss:
            if self.horizon is None:
                raise ValueError(f"rounds is required for Gaussian noise, which costs delta per round; got {tuning!r}")
            best, stake = self.tuned_best(), self._stated() * self.horizon
            sigma, _ = tuned.gaussian_tuning(
                noise,
                self.shape,
                d,
                lipschitz=self.lipschitz,
                range_constant=self.range_constant,
                best_loss=best,
                stake=stake,
            )
            return Schedule.constant(sigma)
        raise ValueError(f"tuning must be Fixed, Horizon, BestLoss or Anytime for Gaussian noise; got {tuning!r}")

    def variances(self, shape: Shape) -> dict[str, float]:
        """Return the variance constants that are proved for a class of losses, by name (see `bounds.variances`).

        Parameters
        ----------
        shape : {"linear", "one-signed", "rank-one", "convex"}
            Class of the losses.

        Returns
        -------
        dict of str to float
            Variance constants by name.
        """
        domain = self.domain
        ball = isinstance(domain, Ball)
        return tuned.variances(
            self.noise,
            shape,
            domain.d,
            radius=domain.radius,
            ball=ball,
            lipschitz=self.lipschitz,
            loss_bound=self.loss_bound,
        )

    def _variance(self, shape: Shape | None = None) -> float:
        """Return the smallest variance constant, for the tuning."""
        known = self.variances(shape or self.shape).values()
        return min(known) if known else self.lipschitz * self._stated()

    def tuned_best(self) -> float:
        """Return the best loss of the tuning; if it is not stated, the largest possible loss of its rounds.

        Returns
        -------
        float
            Best loss that the tuning assumes.
        """
        stated = self.tuning.told_best
        return (
            self._stated() * needed(self.horizon, "rounds x loss_bound is the default of the best loss")
            if stated is None
            else stated
        )

    def _stated(self) -> float:
        """Return the loss bound; raise ValueError if it is not stated."""
        if self.loss_bound is None:
            raise ValueError(
                f"loss_bound (largest loss on the domain) is required with {self.tuning!r}, which depends on the "
                "learner's loss; got None"
            )
        return self.loss_bound

    def privacy_ridge(self) -> float:
        """Return the ridge of a privacy statement for curved losses, fixed in advance: as given, or smooth/level.

        Returns
        -------
        float
            Ridge.
        """
        return privacy.ridge_of(self)

    @property
    def reach(self) -> float:
        """Largest mean distance of a move from the exact argmin: accuracy + E||w||, where w is the output noise."""
        if self.accuracy is None:
            return ACCURACY * self.domain.radius
        return self.accuracy + self.domain.d * self.output_scale()

    def output_scale(self) -> float:
        """Return the scale of the noise that is added to a move; 0 if the argmin is exact or privacy is not asked.

        Returns
        -------
        float
            Scale of the noise.
        """
        return privacy.output_scale(self)

    def rules(self) -> PointRules:
        """Return the rules of the learner for the engine.

        Returns
        -------
        PointRules
            Rules for the engine.
        """
        from hannan._engine import NoiseKind, PointRules

        radius, fixed = self.domain.radius, self.privacy_ridge()
        # A private ridge must not depend on the number of losses, because one more loss would change it.
        share = 0.0 if fixed > 0.0 else RIDGE / radius if radius > 0.0 else 1.0
        c, a, b, d = self.schedule()
        return PointRules(
            noise=getattr(NoiseKind, self.noise.kernel), fresh=self.fresh, c=c, a=a, b=b, d=d,
            ridge=fixed,
            loss_ridge=share * self.lipschitz,
            scale_ridge=share * self.noise.mean_norm(self.domain.d),
            accuracy=self.accuracy or ACCURACY * radius,
        )  # fmt: skip

    # Losses

    def admit(self, loss: Any) -> Loss:
        """Return a loss or a sequence of losses after validation against the stated limits.

        Parameters
        ----------
        loss : Loss
            A loss, or a sequence of losses.

        Returns
        -------
        Loss
            The validated loss.
        """
        if not isinstance(loss, Loss):
            raise ValueError(f"loss must be Linear, Squared, Logistic, Huber, SmoothedHinge or RankOne; got {loss!r}")
        check_user_defined(loss, self.domain)
        check_lipschitz(loss, self.domain, self.lipschitz)
        if self.smooth is not None:
            check_smooth(loss, self.smooth)
        if self.loss_bound is not None:
            check_range(loss, self.domain, self.loss_bound)
        return loss

    # Bounds

    def bound(
        self, rounds: int | None = None, best_loss: float | None = None, *, printed: bool = False, against: Whom = None
    ) -> Bound:
        """Return the smallest proved bound on the expected regret.

        Parameters
        ----------
        rounds : int, optional
            Number of rounds. Required unless the tuning fixes it.
        best_loss : float, optional
            Cumulative loss of the best point in hindsight, or an upper bound on it. Default: rounds x `loss_bound`.
        printed : bool, optional
            Add the bound as printed in the paper.
        against : {"adaptive", "oblivious", "iid"}, optional
            Adversary the bound must hold against. Default: the adversary of the smallest bound.

        Returns
        -------
        Bound
            Value, terms, theorem and adversary.

        Raises
        ------
        Withheld
            If no such bound is proved.

        Notes
        -----
        The bound assumes exact argmins. If `smooth` > 0, the costs of the ridge and of the solver are included; the
        record of a game and the certificate of a player include the actual costs.
        """
        bias = 0.0
        if self.smooth:
            horizon = rounds if rounds is not None else self.horizon
            if horizon is None:
                raise ValueError("rounds is required: each curved loss adds to the ridge")
            scale = self.schedule().scale(horizon, (self.loss_bound or 0.0) * horizon)
            bias = self.solver_cost(self.ridge_after(horizon, scale), horizon * self.reach)
        return self.bounded(rounds, best_loss, bias=bias, printed=printed).asked(against)

    def solver_cost(self, ridge: float, distance: float) -> float:
        """Return (ridge/2) r^2 + lipschitz * (sum of the distances from the exact argmins).

        Parameters
        ----------
        ridge : float
            Ridge.
        distance : float
            Sum of the distances of the moves from the exact minimizers.

        Returns
        -------
        float
            Increase of the regret bound.
        """
        return 0.5 * ridge * self.domain.radius**2 + self.lipschitz * distance

    def ridge_after(self, curved: int, scale: float) -> float:
        """Return the ridge after a number of curved losses, at a scale.

        Parameters
        ----------
        curved : int
            Number of losses that are not linear.
        scale : float
            Scale, the inverse learning rate.

        Returns
        -------
        float
            Ridge.
        """
        return float(self.rules().ridge_of(curved, scale))

    @property
    def horizon(self) -> int | None:
        """Number of rounds of the tuning; None if the tuning has no number of rounds."""
        return self.tuning.told_rounds

    def bounded(
        self, rounds: int | None, best_loss: float | None, *, bias: float = 0.0, shape: Shape | None = None,
        printed: bool = False,
    ) -> Bound:  # fmt: skip
        """Return `bound` for losses of a known class, including the cost `bias` of ridge and solver.

        Parameters
        ----------
        rounds : int
            Number of rounds.
        best_loss : float
            Cumulative loss of the best choice in hindsight, or an upper bound on it.
        bias : float, default 0.0
            Cost of the ridge and the solver.
        shape : {"linear", "one-signed", "rank-one", "convex"}, optional
            Class of the losses.
        printed : bool, default False
            If True, return the bound as the paper prints it.

        Returns
        -------
        Bound
            Value, terms, theorem and adversary.
        """
        return proofs.bounded(self, rounds, best_loss, bias, shape or self.shape, printed)

    # Play

    def leader(self, losses: Loss, noise: Any = None) -> tuple[np.ndarray[Any, np.dtype[np.float64]], float]:
        """Return (x, distance): the argmin over the domain of the losses plus <noise, x>, and its largest error.

        The objective includes the ridge of curved losses, at the scale of the first round.

        Parameters
        ----------
        losses : Loss
            A loss, or a sequence of losses.
        noise : array_like of shape (d,), optional
            Noise vector. Default: zero.

        Returns
        -------
        tuple of (numpy.ndarray, float)
            The point, and the largest possible distance from the exact minimizer.
        """
        from hannan.mathematics.convex.leader import Leader

        losses = self.admit(losses)
        leader = Leader(self.domain)
        for loss in losses if losses.is_sequence else [losses]:
            leader.observe(self.domain.center, loss)
        b = np.zeros(self.domain.d) if noise is None else self.domain.point(noise, "noise")
        ridge = self.ridge_after(leader.curved, self.schedule().scale(1, 0.0))
        x, left = leader.minimise(b, ridge, max(ACCURACY * self.domain.radius * ridge, 1e-300))
        return x, left / ridge if ridge > 0.0 else 0.0

    def start(self, seed: int | None = None, name: str | None = None) -> ConvexPlayer:
        """Return a live player. A seed repeats the moves of run 0 of `play(seed=seed)`; default: no seed.

        Parameters
        ----------
        seed : int, optional
            Random seed. Default: random numbers that cannot be reproduced.
        name : str, optional
            Name of the player.

        Returns
        -------
        ConvexPlayer
            Player before its first round.
        """
        from hannan.players.convex import ConvexPlayer

        return ConvexPlayer(self, seed, name)
