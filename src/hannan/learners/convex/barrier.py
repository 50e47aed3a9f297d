"""Linear losses on a ball or a box, of which only the loss of the move is observed: a self-concordant barrier."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hannan import saving, validation
from hannan.learners.convex.learner import check_lipschitz
from hannan.learners.learner import asked_rounds
from hannan.mathematics import bounds
from hannan.mathematics.bounds import Bound, Terms, Whom, Withheld
from hannan.mathematics.convex.domains import Ball, Box
from hannan.mathematics.convex.losses import Linear, Loss
from hannan.players.barrier import BarrierPlayer
from hannan.validation import Array

_SOURCE = "self-concordant barrier, after Rakhlin and Sridharan 2013, proved in docs/proofs/convex.md"
#: Largest local norm of a step; the drift of a step of local norm s is -ln(1 - s) - s.
_STEP = 0.5
#: Smallest distance from the boundary, as a share of the size of the domain: the leader is inside, up to rounding.
_LEAST = 1e-15


@dataclass(frozen=True)
class BarrierBandit(saving.Described):
    """Linear losses on a ball or a box, of which only the loss of the move is observed.

    Parameters
    ----------
    domain : Ball or Box
        Set of the moves. For the arms of a simplex use `Bandit` with `LogBarrier`.
    lipschitz : float
        Largest Euclidean norm of a loss vector, beta.
    rounds : int
        Number of rounds, T. After these rounds the bound is withheld.
    loss_bound : float, optional
        Number B, if all losses are in [0, B] on the domain. The regret then follows the loss of the best point.
    best_loss : float, optional
        Cumulative loss of the best point, or an upper bound on it, for which the step is tuned. Default: B T.

    Notes
    -----
    h_t = argmin eta <Lhat_{t-1}, h> + R(h), where R is -ln(r^2 - ||x - center||^2) on a ball, with parameter v = 1,
    and -sum ln(x - low) - sum ln(high - x) on a box, v = 2d. The move is h_t + e w, where w is an eigenvector of the
    Hessian of R at h_t, drawn at random, of local length 1, and e = +1 or -1 at random. The estimate is lhat = d l(x_t)
    e times the Hessian times w. With k = (ln(1/(1-s)) - s)/s^2, s = eta d B,

        R <= (L* + B + v ln(T)/eta)/(1 - k eta d^2 B) - L*,

    of order d sqrt(2 B L* v ln T). Without `loss_bound`, R <= v ln(T)/eta + k eta d^2 B^2 T + 2 beta r, where B is the
    largest loss. The reference adds predictions of the losses and allows every self-concordant barrier; here the
    prediction is 0.

    References
    ----------
    Rakhlin and Sridharan, Online learning with predictable sequences, COLT 2013. Abernethy, Hazan and Rakhlin,
    Competing in the dark, COLT 2008.

    Examples
    --------
    >>> learner = BarrierBandit(Ball(2), lipschitz=1.0, rounds=10_000)
    >>> round(learner.bound().value, 1)
    873.1
    >>> player = learner.start(seed=0)
    >>> move = player.act()
    >>> player.observe(move, 0.25)  # the loss of the move, a number
    """

    domain: Ball | Box
    lipschitz: float
    rounds: int
    loss_bound: float | None = None
    best_loss: float | None = None

    setting: ClassVar[str] = "barrier"

    def __post_init__(self) -> None:
        if not isinstance(self.domain, (Ball, Box)):
            raise ValueError(f"domain must be a Ball or a Box; got {self.domain!r}")
        low, high = self.domain.box
        if not (low < high).all():
            raise ValueError(f"domain must have an interior; got {self.domain!r}")
        object.__setattr__(self, "lipschitz", validation.positive(self.lipschitz, "lipschitz"))
        object.__setattr__(self, "rounds", validation.count(self.rounds, "rounds"))
        for name in ("loss_bound", "best_loss"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, validation.positive(getattr(self, name), name))
        if self.best_loss is not None and self.loss_bound is None:
            raise ValueError(f"best_loss requires loss_bound=, because losses must be >= 0; got {self.best_loss!r}")

    # Barrier

    @property
    def parameter(self) -> float:
        """Parameter v of the barrier."""
        return 1.0 if isinstance(self.domain, Ball) else 2.0 * self.domain.d

    @property
    def largest(self) -> float:
        """Largest absolute loss of a point."""
        if self.loss_bound is not None:
            return self.loss_bound
        low, high = self.domain.box
        far = np.maximum(np.abs(low), np.abs(high)) if isinstance(self.domain, Box) else np.abs(self.domain.center)
        return self.lipschitz * (
            float(np.linalg.norm(far)) + (self.domain.radius if isinstance(self.domain, Ball) else 0.0)
        )

    @property
    def eta(self) -> float:
        """Learning rate."""
        d, most, spread = self.domain.d, self.largest, self.parameter * math.log(max(self.rounds, 2))
        if self.loss_bound is None:
            return min(math.sqrt(2.0 * spread / self.rounds), _STEP) / (d * most)
        best = self.loss_bound * self.rounds if self.best_loss is None else self.best_loss
        c = 0.5 * spread * d * d * most
        return min(2.0 / d * c / (c + math.sqrt(c * c + c * (best + most))), _STEP) / (d * most)

    def leader(self, estimates: Array) -> Array:
        """Return argmin eta <estimates, h> + R(h).

        Parameters
        ----------
        estimates : numpy.ndarray of shape (d,)
            Sum of the estimated loss vectors.

        Returns
        -------
        numpy.ndarray
            Point in the interior of the domain.
        """
        pull = self.eta * estimates
        if isinstance(self.domain, Ball):
            r = self.domain.radius
            # Radius q of the leader: q + q/sqrt(...) without cancellation, from 2q/(r^2 - q^2) = ||pull||.
            size = float(np.linalg.norm(pull))
            return np.asarray(self.domain.center - pull * (r * r / (1.0 + math.sqrt(1.0 + (size * r) ** 2))))
        low, high = self.domain.box
        half = 0.5 * (high - low)
        return np.asarray(self.domain.center - pull * half * half / (1.0 + np.sqrt(1.0 + (pull * half) ** 2)))

    def axis(self, h: Array, k: int) -> tuple[Array, Array]:
        """Return (w, Hessian times w) for eigenvector k of the Hessian of the barrier at h, with local length 1.

        Parameters
        ----------
        h : numpy.ndarray of shape (d,)
            Point in the interior of the domain.
        k : int
            Number of the eigenvector; on a ball eigenvector 0 is radial.

        Returns
        -------
        tuple of numpy.ndarray
            The eigenvector, and its product with the Hessian.
        """
        d = self.domain.d
        unit = np.zeros(d)
        unit[k] = 1.0
        if isinstance(self.domain, Box):
            low, high = self.domain.box
            least = _LEAST * (high[k] - low[k])
            bend = 1.0 / max(h[k] - low[k], least) ** 2 + 1.0 / max(high[k] - h[k], least) ** 2
            return unit / math.sqrt(bend), unit * math.sqrt(bend)
        off = h - self.domain.center
        size = float(np.linalg.norm(off))
        room = max(self.domain.radius - size, _LEAST * self.domain.radius) * (self.domain.radius + size)
        bend = 2.0 / room + (4.0 * (size / room) ** 2 if k == 0 else 0.0)
        if size > 0.0:
            # Reflection that maps the first unit vector to the radial direction, up to its sign.
            radial = off / size
            mirror = radial.copy()
            mirror[0] += math.copysign(1.0, radial[0])
            unit = unit - mirror * (2.0 * mirror[k] / float(mirror @ mirror))
        return unit / math.sqrt(bend), unit * math.sqrt(bend)

    # Play

    def admit(self, losses: Any) -> Loss:
        """Return a linear loss, or a sequence of them, after validation of its size.

        Parameters
        ----------
        losses : Loss
            A loss, or a sequence of losses.

        Returns
        -------
        Loss
            The validated loss.
        """
        if not isinstance(losses, Linear):
            raise ValueError(f"losses must be hn.Linear for BarrierBandit; got {validation.brief(losses)}")
        check_lipschitz(losses, self.domain, self.lipschitz)
        if self.loss_bound is not None:
            low, high = losses.interval(self.domain)
            slack = 1e-9 * self.loss_bound
            if np.min(low) < -slack or np.max(high) > self.loss_bound + slack:
                raise ValueError(
                    f"losses must be in [0, loss_bound = {self.loss_bound:g}] on the domain; "
                    f"got {float(np.min(low)):g} to {float(np.max(high)):g}"
                )
        return losses

    def start(self, seed: int | None = None, name: str | None = None) -> BarrierPlayer:
        """Start a live player.

        Parameters
        ----------
        seed : int, optional
            Seed for experiments. Default: randomness of the operating system.
        name : str, optional
            Name of the player in its tickets.

        Returns
        -------
        BarrierPlayer
            The player.
        """
        return BarrierPlayer(self, seed, name)

    def bound(
        self, rounds: int | None = None, best_loss: float | None = None, *, printed: bool = False, against: Whom = None
    ) -> Bound:
        """Return the smallest proved bound on the expected regret.

        Parameters
        ----------
        rounds : int, optional
            Number of rounds. Default: those of the learner.
        best_loss : float, optional
            Cumulative loss of the best point in hindsight, or an upper bound on it; used with `loss_bound`.
        printed : bool
            Not available: the paper has no such learner.
        against : {"adaptive", "oblivious", "iid"}, optional
            Adversary that the bound must hold against.

        Returns
        -------
        Bound
            Value, terms, theorem and adversary.

        Raises
        ------
        Withheld
            If no such bound is proved.
        """
        if printed:
            raise Withheld("the paper has no bound for BarrierBandit; got printed=True")
        rounds = asked_rounds(rounds, self.rounds, self)
        if rounds == 0:
            return bounds.nothing()
        top = self.loss_bound or 2.0 * self.domain.radius * self.lipschitz
        best, supposed = top * rounds, False
        if self.loss_bound is not None and (best_loss is not None or self.best_loss is not None):
            given = validation.real(best_loss if best_loss is not None else self.best_loss, "best_loss")
            if given < -1e-6 * (1.0 + rounds):
                raise ValueError(f"best_loss must be >= 0, because losses are; got {best_loss!r}")
            best, supposed = min(max(given, 0.0), best), given < best
        terms = self._terms(rounds, best, top)
        value = bounds.rounded_up(math.fsum(terms.values()))
        if value >= top * rounds:
            return bounds.trivial(top * rounds).asked(against)
        bound = Bound(value, terms, _SOURCE, 1.0 / self.eta, sense="point", against="oblivious")
        return (bound.supposing(best) if supposed else bound).asked(against)

    def _terms(self, rounds: int, best: float, top: float) -> Terms:
        d, eta, spread = self.domain.d, self.eta, self.parameter * math.log(max(rounds, 2)) / self.eta
        s = eta * d * self.largest
        drift = (-math.log1p(-s) - s) / (s * s) * eta * d * d
        if self.loss_bound is None:
            return {"range": spread, "drift": drift * self.largest**2 * rounds, "boundary": top}
        kept = 1.0 - drift * top
        if kept <= 0.0:
            return {"rounds x B": top * rounds}
        return {"range": spread, "boundary": top, "drift": (best + top + spread) / kept - best - top - spread}
