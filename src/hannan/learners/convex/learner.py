"""Online convex and linear optimisation by objective perturbation: Algorithm 1 of the paper (alg:oco)."""

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
from hannan.mathematics.convex.losses import Loss, refuse_unlike
from hannan.mathematics.convex.noise import GammaNoise, GaussianNoise, Noise, Shape

#: By how much a loss may exceed what was stated of it: rounding, not licence.
SLACK = 1e-9


def refuse_steeper(losses: Loss, domain: Domain, lipschitz: float) -> None:
    """Refuse losses whose gradients are beyond `lipschitz` on the domain."""
    _at_most("gradients of the losses", losses.lipschitz(domain), lipschitz, "lipschitz")


def refuse_more_curved(losses: Loss, smooth: float) -> None:
    """Refuse losses whose curvature is beyond `smooth`."""
    _at_most("curvatures of the losses", losses.smooth, smooth, "smooth")


def refuse_outside(losses: Loss, domain: Domain, loss_bound: float) -> None:
    """Refuse losses that leave [0, loss_bound] on the domain."""
    low, high = losses.interval(domain)
    if (low < -SLACK * loss_bound).any():
        worst = int(np.argmin(low))
        raise ValueError(
            "losses must be non-negative on the domain, since a loss-only bound is claimed (shift the domain or the "
            f"losses); got {float(np.min(low)):g} at index {worst}"
        )
    _at_most("losses", high, loss_bound, "loss_bound")


def _at_most(what: str, values: Any, most: float, name: str) -> None:
    values = np.asarray(values)
    if (values > most * (1.0 + SLACK)).any() or np.isnan(values).any():
        worst = int(np.argmax(values))
        found = float(values.max())
        raise ValueError(f"{what} must be at most {name} = {most:g} on the domain; got {found:g} at index {worst}")


class Private:
    """`privacy`, `scale_for` and `privacy_curve`."""

    def privacy(self, rounds: int = 1, delta: float | None = None, shape: Shape | None = None) -> Privacy:
        """(epsilon, delta) for adding or removing one observation, of one move or of `rounds` moves in a row.

        Over more rounds than one it is composed, at `delta` (for Gaussian noise by default that of the noise).
        "one-signed" says, on your word, that phi' of every loss has one sign. Refused where a condition fails.
        It is a statement about real-valued noise that nobody can compute; `condition` says so.

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
        """The least scale at which `privacy(rounds, delta, shape)` is at most `epsilon`: `tuning=hn.Fixed(it)`.

        >>> from hannan import Ball, Convex, GaussianNoise, Horizon
        >>> learner = Convex(Ball(3), 1.0, GaussianNoise(1e-6), Horizon(100), smooth=0)
        >>> round(learner.scale_for(epsilon=1.0, rounds=100), 2)
        42.25
        """
        return scale_for(self, epsilon, delta, rounds, shape)

    def privacy_curve(
        self, rounds: int, delta: float | None = None, epsilons: Sequence[float] | None = None
    ) -> PrivacyCurve:
        """What privacy costs: for each epsilon over all rounds the least scale, and the bound on the regret at it."""
        return curve(self, rounds, delta, epsilons)


if TYPE_CHECKING:
    from hannan._engine import PointRules
    from hannan.players.convex import ConvexPlayer

#: What a curved loss adds to the ridge, as a share of lipschitz/radius; its cost is in the bound.
RIDGE = 1e-6
#: How far a move may be from the exact argmin, as a share of the radius; the solver raises beyond.
ACCURACY = 1e-7
#: The least accuracy that may be asked of a private move, as a share of the radius: rounding is within it.
LEAST_ACCURACY = 1e-9


@dataclass(frozen=True, repr=False)
class Convex(Private, saving.Described):
    """Choose a point of a convex set each round, then be told a convex loss; its noise can make the moves private.

    x_t = argmin_{x in X} sum_{s<t} l_s(x) + <b, x>, b fresh noise: Algorithm 1 of the paper (alg:oco) without its
    ridge.

    The losses are convex, `lipschitz` on the domain (in the Euclidean norm) and in [0, loss_bound] there. The forward
    stability that a regret bound uses needs no ridge, no smoothness and no rank condition, and half the paper's noise
    (thm:oco, corrected form). Linear losses have an exact argmin. The others are solved for; to vouch for the solution
    each adds a ridge of 1e-6 lipschitz/radius, whose cost is in their bound.

    `smooth` is the largest curvature of the losses, 0 if all are linear, None if it is not stated. `fresh=False` draws
    b once and keeps it, as the proof for oblivious adversaries allows. `guarantee="privacy"` asks for a two-sided
    statement, `privacy()`. Linear losses need nothing more. Curved ones need a fixed `ridge` (by default smooth/level)
    and `accuracy`, how far from the argmin the solver may stay: noise that hides as much is added to the move and
    spends `output_share` of epsilon. All are public. Without a `loss_bound` losses may have any sign, and only linear
    losses have a bound; on a ball it is free of the dimension, r beta sqrt(2T) E chi_d/sqrt(d) with Gaussian noise and
    `Horizon(T)`.

    `domain`: the set. `lipschitz`: the steepest that a loss may be. `noise` and `tuning`: what is added to the sum of
    the losses, and how much of it.

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
                raise ValueError("guarantee='privacy' needs smooth: 0 for linear losses; got smooth=None")
            if not schedule.is_constant:
                raise ValueError(f"guarantee='privacy' needs a constant scale; got {self.tuning!r}")
            if isinstance(self.noise, GaussianNoise) and self.noise.delta is None:
                raise ValueError("guarantee='privacy' needs a delta for Gaussian noise; got delta=None")
        for name in ("accuracy", "ridge"):
            value = getattr(self, name)
            if value is not None:
                if self.guarantee != "privacy" or not self.smooth:
                    raise ValueError(
                        f"{name} must go with the privacy of curved losses, guarantee='privacy' and smooth > 0; "
                        f"got {name}={value!r}"
                    )
                object.__setattr__(self, name, validation.positive(value, name))
        if self.accuracy is not None and self.accuracy < LEAST_ACCURACY * self.domain.radius:
            raise ValueError(
                f"accuracy must be at least {LEAST_ACCURACY:g} of the domain's radius, so that it covers rounding; "
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
        """What is known of the losses beforehand."""
        return "linear" if self.smooth == 0.0 else "rank-one"

    @property
    def range_constant(self) -> float:
        """G = E||standard draw|| * (mean width)/2: the range of the noise at scale 1."""
        return self.noise.mean_norm(self.domain.d) * self.domain.mean_width / 2.0

    @property
    def c(self) -> float:
        """c' = lipschitz * G; d * lipschitz * radius for Gamma noise on a ball."""
        return self.lipschitz * self.range_constant

    # Tuning

    def schedule(self) -> Schedule:
        """The rule of its scale: b is the scale times a standard draw of the noise."""
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
            raise ValueError(f"the paper's density must have a constant scale; got {tuning!r}")
        if not self.fresh:
            raise ValueError("SelfConfident must have fresh noise: its scale would depend on the draw it scales")
        return Schedule(self.lipschitz / math.sqrt(self.c), a=self._stated(), d=1.0)

    def _gaussian_schedule(self, noise: GaussianNoise) -> Schedule:
        tuning, d = self.tuning, self.domain.d
        stakes = tuning.by_best_loss and self.shape != "linear" and self.loss_bound is not None
        if tuning.order == "zero" and not stakes:
            return tuning.schedule(self.range_constant, self._variance("linear"))
        if tuning.by_best_loss:
            if self.horizon is None:
                raise ValueError(f"Gaussian noise needs rounds, since it costs delta each; got {tuning!r}")
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
        raise ValueError(f"Gaussian noise must be tuned by Fixed, Horizon, BestLoss or Anytime; got {tuning!r}")

    def variances(self, shape: Shape) -> dict[str, float]:
        """The variance constants that are proved for losses of a shape (`hannan.learners.convex.bounds.variances`)."""
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
        """The least of them, for the tuning."""
        known = self.variances(shape or self.shape).values()
        return min(known) if known else self.lipschitz * self._stated()

    def tuned_best(self) -> float:
        """The best loss that the tuning counts on: as told, or the largest loss in each of its rounds."""
        told = self.tuning.told_best
        return self._stated() * needed(self.horizon, "they stand for the best loss") if told is None else told

    def _stated(self) -> float:
        """The loss bound, where a tuning cannot do without."""
        if self.loss_bound is None:
            raise ValueError(
                f"loss_bound, the largest loss on the domain, must be given for {self.tuning!r}, which follows the own "
                "loss; got None"
            )
        return self.loss_bound

    def privacy_ridge(self) -> float:
        """The ridge of a two-sided statement of curved losses, fixed in advance: as given, or smooth/level."""
        return privacy.ridge_of(self)

    @property
    def reach(self) -> float:
        """How far a move is on average from the exact argmin, at most: r + E||w||, w the output noise."""
        if self.accuracy is None:
            return ACCURACY * self.domain.radius
        return self.accuracy + self.domain.d * self.output_scale()

    def output_scale(self) -> float:
        """The scale of the noise that is added to a move itself; 0 where the argmin is exact or nothing is promised."""
        return privacy.output_scale(self)

    def rules(self) -> PointRules:
        """The learner as the compiled game takes it."""
        from hannan._engine import NoiseKind, PointRules

        radius, fixed = self.domain.radius, self.privacy_ridge()
        # A private ridge must not count losses: one loss more would change it.
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
        """A loss, or a sequence of them, that is what was stated; anything else is refused by name."""
        if not isinstance(loss, Loss):
            raise ValueError(f"a loss must be Linear, Squared, Logistic, Huber, SmoothedHinge or RankOne; got {loss!r}")
        refuse_unlike(loss, self.domain)
        refuse_steeper(loss, self.domain, self.lipschitz)
        if self.smooth is not None:
            refuse_more_curved(loss, self.smooth)
        if self.loss_bound is not None:
            refuse_outside(loss, self.domain, self.loss_bound)
        return loss

    # Bounds

    def bound(
        self, rounds: int | None = None, best_loss: float | None = None, *, printed: bool = False, against: Whom = None
    ) -> Bound:
        """A bound on the expected regret, which says of whom it holds; `Withheld` with the reason if there is none.

        Without `best_loss` the rounds times the loss bound stand for it. The bound is that of exact argmins;
        if `smooth` > 0 says that losses are curved, the ridge and the solver's accuracy are in it, and
        a game's record and a player's certificate carry what they cost there.
        """
        bias = 0.0
        if self.smooth:
            horizon = rounds if rounds is not None else self.horizon
            if horizon is None:
                raise ValueError("rounds must be given: each curved loss adds to the ridge")
            scale = self.schedule().scale(horizon, (self.loss_bound or 0.0) * horizon)
            bias = self.solver_cost(self.ridge_after(horizon, scale), horizon * self.reach)
        return self.bounded(rounds, best_loss, bias=bias, printed=printed).asked(against)

    def solver_cost(self, ridge: float, distance: float) -> float:
        """(ridge/2) r^2 + lipschitz * (sum of the distances from the exact argmins)."""
        return 0.5 * ridge * self.domain.radius**2 + self.lipschitz * distance

    def ridge_after(self, curved: int, scale: float) -> float:
        """The ridge after so many curved losses, at a scale."""
        return float(self.rules().ridge_of(curved, scale))

    @property
    def horizon(self) -> int | None:
        """The rounds that its tuning names, if it does."""
        return self.tuning.told_rounds

    def bounded(
        self, rounds: int | None, best_loss: float | None, *, bias: float = 0.0, shape: Shape | None = None,
        printed: bool = False,
    ) -> Bound:  # fmt: skip
        """`bound` for losses of a known shape, with the cost `bias` of ridge and solver in it."""
        return proofs.bounded(self, rounds, best_loss, bias, shape or self.shape, printed)

    # Play

    def leader(self, losses: Loss, noise: Any = None) -> tuple[np.ndarray[Any, np.dtype[np.float64]], float]:
        """(x, distance): argmin_X sum of the losses + <noise, x>, and how far at most x is from it.

        The ridge that curved losses bring is in the objective, at the scale of the first round.
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
        """A live player; the same seed makes the moves of run 0 of `play(seed=seed)`; without one, nobody's."""
        from hannan.players.convex import ConvexPlayer

        return ConvexPlayer(self, seed, name)
