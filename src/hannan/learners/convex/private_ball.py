"""Linear losses on a ball with one (epsilon, delta) of differential privacy for all moves together."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

from hannan import saving, validation
from hannan.learners import game_privacy
from hannan.learners.convex.learner import check_lipschitz
from hannan.learners.convex.privacy import PrivacyCurve
from hannan.learners.game_privacy import (
    ROUNDING,
    GamePrivacy,
    Neighbors,
    check_compiled,
    checked_epsilon,
    checked_neighbors,
    gaussian_epsilon,
    gaussian_mu,
)
from hannan.learners.learner import asked_rounds
from hannan.mathematics import bounds
from hannan.mathematics.bounds import Bound, Terms, Whom, Withheld
from hannan.mathematics.convex.domains import Ball
from hannan.mathematics.convex.losses import Linear, Loss, check_user_defined
from hannan.mathematics.convex.noise import GaussianNoise
from hannan.mathematics.mechanisms import CorrelatedNoise
from hannan.players.private_ball import PrivateBallPlayer

NOISE = CorrelatedNoise()
SOURCE = "Theorem B of docs/proofs/private.md: linear losses on a ball"
#: Members from which the noise, the moves and the statement are computed.
STATED = ("mu", "sigma", "sensitivity", "noise_level", "ridge", "admit", "privacy", "start")
#: An epsilon at which the noise changes no printed digit of a bound.
NO_PRIVACY = 1e6


@dataclass(frozen=True, repr=False)
class PrivateBall(saving.Described):
    """Linear losses on a ball with one (epsilon, delta) of differential privacy for all moves together.

    The leader of the noisy sums with a fixed ridge. The Gaussian noise is kept and correlated over rounds, so that its
    price grows like the logarithm of the number of rounds, and not like the square root as that of fresh noise
    (`Convex`). Losses must be linear: correlated noise hides a shift that is the same in every later move, and the
    gradient of a curved loss is another one at every move.

    Parameters
    ----------
    domain : Ball
        Set of the moves.
    lipschitz : float
        Largest Euclidean norm of a loss vector.
    epsilon, delta : float
        Privacy of all moves together. Delta must be well below 1/rounds. Default of `delta`: 1e-6.
    rounds : int
        Number of rounds.
    per_person : int
        Number of rounds to which one person contributes at most.
    neighbors : {"add-remove", "replace"}
        Whether one loss vector is added or removed, or replaced by another one.

    Notes
    -----
    x_t = argmin <L_{t-1} + G_t, x> + (ridge/2) ||x - center||^2. For losses that are fixed in advance,
    E[regret] <= radius lipschitz sqrt(T + d gamma^2/mu^2), where gamma grows like the logarithm of T
    (docs/proofs/private.md). Privacy holds even against an adaptive adversary; this regret bound does not.

    Examples
    --------
    >>> learner = PrivateBall(Ball(10), lipschitz=1.0, epsilon=1.0, rounds=10_000)
    >>> round(learner.bound().value, 1)  # 100 without privacy
    113.4
    >>> print(learner.privacy().says)
    (epsilon, delta) = (1, 1e-06) for 10000 rounds together
    """

    domain: Ball
    lipschitz: float
    epsilon: float
    delta: float = 1e-6
    rounds: int = 1000
    per_person: int = 1
    neighbors: Neighbors = "add-remove"

    setting: ClassVar[str] = "private_ball"
    own_noise: ClassVar[bool] = True
    live_only: ClassVar[str] = f"PrivateBall {game_privacy.LIVE_ONLY}"

    def __post_init__(self) -> None:
        put = functools.partial(object.__setattr__, self)
        if not isinstance(self.domain, Ball):
            raise ValueError(f"domain must be a Ball; got {self.domain!r}")
        put("lipschitz", validation.positive(self.lipschitz, "lipschitz"))
        check_compiled(self, STATED)
        put("epsilon", checked_epsilon(self.epsilon))
        put("delta", validation.between(self.delta, 0.0, 1.0, "delta", "()"))
        put("rounds", validation.count(self.rounds, "rounds"))
        put("per_person", validation.count(self.per_person, "per_person"))
        checked_neighbors(self.neighbors)

    def __repr__(self) -> str:
        parts = [repr(getattr(self, name)) for name in ("domain", "lipschitz", "epsilon")]
        for field in dataclasses.fields(self)[3:]:
            value = getattr(self, field.name)
            if value != field.default or field.name == "rounds":
                parts.append(f"{field.name}={value!r}")
        return f"PrivateBall({', '.join(parts)})"

    @property
    def sensitivity(self) -> float:
        """Largest distance of two neighboring loss vectors."""
        return self.lipschitz * (2.0 if self.neighbors == "replace" else 1.0)

    @property
    def sensitivity_of(self) -> str:
        """Description of the pairs of loss sequences whose sums differ by at most the sensitivity."""
        return f"one vector {'added or removed' if self.neighbors == 'add-remove' else 'replaced'}"

    @functools.cached_property
    def mu(self) -> float:
        """Parameter of Gaussian differential privacy of all moves together, for one round of a person."""
        return gaussian_mu(self.epsilon, self.delta) / self.per_person

    @functools.cached_property
    def sigma(self) -> float:
        """Standard deviation of the white noise that drives the stream, per coordinate."""
        # Norms of losses are compared with a relative tolerance of 1e-9.
        return self.sensitivity * NOISE.column_norm(self.rounds - 1) / self.mu * (1.0 + 4.0 * ROUNDING)

    def noise_level(self, rounds: int) -> float:
        """Return the standard deviation of each coordinate of the noise in the last of `rounds` moves.

        Parameters
        ----------
        rounds : int
            Number of rounds.

        Returns
        -------
        float
            Standard deviation.
        """
        return self.sigma * NOISE.row_norm(max(rounds - 1, 0))

    @functools.cached_property
    def ridge(self) -> float:
        """Ridge with the smallest bound after all rounds."""
        spread = self.lipschitz**2 * self.rounds + self.domain.d * self.noise_level(self.rounds) ** 2
        return math.sqrt(spread) / self.domain.radius

    # Privacy

    def privacy(self, rounds: int | None = None, delta: float | None = None) -> GamePrivacy:
        """Return the privacy of all moves together.

        Parameters
        ----------
        rounds : int, optional
            Number of rounds. Default: those of the learner.
        delta : float, optional
            Delta of the statement. Default: that of the learner.

        Returns
        -------
        GamePrivacy
            Epsilon, delta, and the assumptions.
        """
        asked = self.rounds if rounds is None else validation.count(rounds, "rounds")
        target = self.delta if delta is None else validation.between(delta, 0.0, 1.0, "delta", "()")
        mu, epsilon = self.mu * self.per_person, self.epsilon
        if (asked, target) != (self.rounds, self.delta):
            white = NOISE.column_norm(self.rounds - 1)
            mu *= NOISE.column_norm(asked - 1) / white if white else 0.0
            epsilon = gaussian_epsilon(mu, target)
        return GamePrivacy(
            epsilon, target, asked, "Theorem P of docs/proofs/private.md: one Gaussian mechanism", mu=mu,
            neighbors=self.neighbors, per_person=self.per_person,
        )  # fmt: skip

    def scale_for(self, *_: Any, **__: Any) -> NoReturn:
        """Not available: epsilon is given at construction and determines the noise."""
        raise Withheld(
            "PrivateBall has no scale_for: epsilon is given at construction, and sigma is the noise computed from it"
        )

    def privacy_curve(self, rounds: int | None = None, epsilons: Sequence[float] | None = None) -> PrivacyCurve:
        """Return the bound on the expected regret by epsilon, and the epsilon that costs at most 10% more regret.

        Parameters
        ----------
        rounds : int, optional
            Number of rounds. Default: those of the learner.
        epsilons : sequence of float, optional
            Values of epsilon.

        Returns
        -------
        PrivacyCurve
            The curve; `scales` are the standard deviations of the noise in the last round.
        """
        tuned = self.rounds if rounds is None else validation.count(rounds, "rounds")

        def at(epsilon: float) -> PrivateBall:
            return dataclasses.replace(self, epsilon=epsilon, rounds=tuned)

        return game_privacy.curve(
            repr(self), tuned, self.delta, epsilons, at, lambda: at(NO_PRIVACY),
            quantity="noise", noise=lambda learner: learner.noise_level(tuned),
        )  # fmt: skip

    # Play

    def admit(self, losses: Any) -> Loss:
        """Return a linear loss, or a sequence of them, that is not steeper than `lipschitz`; raise for any other.

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
            raise ValueError(
                "losses must be Linear: correlated noise hides a loss only if the loss shifts all later moves "
                f"equally, and a curved loss does not; got {validation.brief(losses)}"
            )
        check_user_defined(losses, self.domain)
        check_lipschitz(losses, self.domain, self.lipschitz)
        return losses

    def start(self, seed: int | None = None, name: str | None = None) -> PrivateBallPlayer:
        """Start a live player.

        Parameters
        ----------
        seed : int, optional
            Seed for experiments; the player then states no privacy. Default: randomness of the operating system.
        name : str, optional
            Name of the player in its tickets.

        Returns
        -------
        PrivateBallPlayer
            The player.
        """
        return PrivateBallPlayer(self, seed, name)

    # Bounds

    def bound(
        self, rounds: int | None = None, best_loss: float | None = None, *, printed: bool = False, against: Whom = None
    ) -> Bound:
        """Return the smallest proved bound on the expected regret.

        Parameters
        ----------
        rounds : int, optional
            Number of rounds. Default: those of the learner.
        best_loss : float, optional
            Not used.
        printed : bool
            Not available: the paper has no such learner.
        against : {"adaptive", "oblivious", "iid"}, optional
            Adversary the bound must hold against. Default: whichever gives the smallest bound.

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
            raise Withheld("the paper has no bound for PrivateBall; got printed=True")
        against = None if against is None else bounds.checked(against)
        rounds = asked_rounds(rounds, self.rounds, self)
        if rounds == 0:
            return bounds.nothing()
        most = 2.0 * self.domain.radius * self.lipschitz * rounds
        level, ridge = self.noise_level(rounds), self.ridge
        terms: Terms = {
            "ridge r^2/2": 0.5 * ridge * self.domain.radius**2,
            "T lipschitz^2/(2 ridge)": rounds * self.lipschitz**2 / (2.0 * ridge),
        }
        if against == "any":
            # ||x(L + G) - x(L)|| <= ||G||/ridge, also if the losses depend on G; the noise grows.
            far = rounds * level * GaussianNoise().mean_norm(self.domain.d)
            adaptive = self._stated({**terms, "privacy": self.lipschitz * far / ridge}, "any")
            if adaptive.value < most:
                return adaptive
        bound = self._stated({**terms, "privacy": self.domain.d * level**2 / (2.0 * ridge)}, "oblivious")
        return (bound if bound.value < most else bounds.trivial(most)).asked(against)

    @staticmethod
    def _stated(terms: Terms, against: bounds.Against) -> Bound:
        value = bounds.rounded_up(math.fsum(terms.values()))
        return Bound(value, terms, SOURCE, sense="kept" if against == "oblivious" else "draws", against=against)
