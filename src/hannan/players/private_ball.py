"""Player of linear losses on a ball whose complete sequence of moves is private."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from hannan import validation
from hannan.mathematics.bounds import Bound
from hannan.mathematics.convex.domains import Ball
from hannan.mathematics.convex.losses import Loss
from hannan.mathematics.convex.noise import normals
from hannan.mathematics.mechanisms import CorrelatedNoise
from hannan.players.certificate import KEPT_NOISE, PrivateCertificate
from hannan.players.convex import NOT_PRIVATE, OF_THIS_COPY
from hannan.players.tickets import Point, PointPlayer
from hannan.saving import fields
from hannan.saving.formatting import ceiling, figure
from hannan.validation import Array

NOISE = CorrelatedNoise()
DECAY, WEIGHTS = NOISE.decay[:, None], NOISE.weights


class Described(Protocol):
    """The parts of a learner that its player uses."""

    @property
    def domain(self) -> Ball: ...
    @property
    def lipschitz(self) -> float: ...
    @property
    def rounds(self) -> int: ...
    @property
    def ridge(self) -> float: ...
    @property
    def sigma(self) -> float: ...
    @property
    def sensitivity(self) -> float: ...
    @property
    def sensitivity_of(self) -> str: ...
    def noise_level(self, rounds: int) -> float: ...
    def bound(self, rounds: int | None = None) -> Bound: ...
    def privacy(self) -> Any: ...
    def admit(self, loss: Any, /) -> Loss: ...


class NoisySums:
    """Sum of linear losses and states of the correlated noise, which without a seed comes from the operating system."""

    def __init__(self, learner: Described, seed: int | None) -> None:
        d = learner.domain.d
        self.learner, self.seed, self.rounds = learner, seed, 0
        self.total, self.states = np.zeros(d), np.zeros((len(WEIGHTS), d))

    def move(self) -> Array:
        """Return argmin <L + G, x> + (ridge/2) ||x - center||^2 over the ball."""
        learner = self.learner
        step = -(self.total + learner.sigma * (WEIGHTS @ self.states)) / learner.ridge
        return learner.domain.center + step * min(1.0, learner.domain.radius / max(float(np.linalg.norm(step)), 1e-300))

    def add(self, loss: Array) -> None:
        """Add a loss, and advance the noise by one step."""
        if self.seed is None:
            fresh = normals(len(loss))
        else:
            sequence = np.random.SeedSequence(self.seed, spawn_key=(self.rounds, 2))
            fresh = np.random.default_rng(sequence).standard_normal(len(loss))
        self.total = self.total + loss
        self.states = DECAY * self.states + fresh
        self.rounds += 1


class PrivateBallPlayer(PointPlayer):
    """A running `PrivateBall`. It is not thread-safe.

    Without a seed its noise comes from the operating system, and no state of a generator is stored.
    """

    learner: Described
    #: Whether another copy may continue from this player.
    _copied = False

    def __init__(self, learner: Described, seed: int | None, name: str | None = None) -> None:
        super().__init__()
        self.learner = learner
        self._take_name(seed, name)
        self._sums = NoisySums(learner, self.seed)
        self._own = 0.0

    def act(self) -> Point:
        """Return the current point.

        Returns
        -------
        Point
            The move.

        Raises
        ------
        ValueError
            If the number of rounds that epsilon covers has been played.
        """
        if self._settled >= self.learner.rounds:
            raise ValueError(
                f"epsilon covers {self.learner.rounds} rounds, and {self._settled} have been settled; start "
                "PrivateBall with more rounds"
            )
        move: Point = self._issue(tuple(self._sums.move().tolist()), 0.0, None)
        return move

    def observe(self, move: Point, loss: Loss) -> None:
        """Settle a pending move with its linear loss.

        Parameters
        ----------
        move : Point
            The object returned by `act`.
        loss : Linear
            The loss of the round.
        """
        number, loss, x = self._admitted(move, loss)
        z = np.asarray(loss.z, dtype=np.float64)
        self._own += float(z @ x)
        self._sums.add(z)
        self._close(number)

    def distribution(self) -> Array:
        """Raise: a move is a point of a continuous set, so there is no list of probabilities."""
        raise ValueError("a player on a ball has no distribution over finitely many actions")

    # Certificates

    def certificate(self, delta: float | None = None) -> PrivateCertificate:
        """Return the certificate so far: privacy of all moves, and the bound on the regret.

        Parameters
        ----------
        delta : float, optional
            Not supported: no high-probability bound is proved, because the noise is kept.

        Returns
        -------
        PrivateCertificate
            The certificate.
        """
        delta = None if delta is None else validation.between(delta, 0.0, 1.0, "delta", "()")
        learner, stated = self.learner, self.learner.privacy()
        best = -float(learner.domain.support(-self._sums.total))
        bound, withheld = self._bound()
        noise = figure(learner.noise_level(self._settled + 1))
        seeded = self.seed is not None
        said: dict[str, Any] = {
            "privacy": stated.says,
            "private_if": f"{stated.between}; {stated.condition}" + (f"; {OF_THIS_COPY}" if self._copied else ""),
            "private_by": stated.source,
            "parameters": (
                *stated.parameters(),
                ("sensitivity", f"{ceiling(learner.sensitivity)} of linear losses, {learner.sensitivity_of}"),
                (
                    "noise",
                    f"standard deviation {noise} per coordinate in the next move, kept and correlated over rounds",
                ),
                ("released", "the moves, if they are rounded: their low-order bits show those of the noise"),
            ),
        }
        return PrivateCertificate(
            # Noise of the operating system is not saved, so that copies draw different moves.
            **self._standing() | {"resumed": self.resumed and seeded},
            bound=bound,
            withheld=withheld,
            own_loss=self._own,
            best_loss=best,
            regret=self._own - best,
            identity={},
            estimated_regret=None,
            gamma=1.0,
            realised_level=None,
            claimed_rate=None,
            kind="realized",
            delta=delta,
            on_this_run_says="" if delta is None else KEPT_NOISE,
            **({"privacy": NOT_PRIVATE["seed"]} if seeded else said),
        )

    def _bound(self) -> tuple[Bound | None, str]:
        if withheld := self._lost() or self._late():
            return None, withheld
        try:
            return self.learner.bound(self._settled), ""
        except ValueError as reason:
            return None, str(reason)

    # Saving

    def _saved(self) -> dict[str, Any]:
        self._copied = True
        sums = self._sums
        return {**super()._saved(), "own": self._own, "losses": sums.total, "states": sums.states.ravel()}

    def _renew(self) -> None:
        self._copied = True  # in a file, or in a forked process; its noise is fresh in every round

    def _restore(self, state: dict[str, Any]) -> None:
        d, count = self.learner.domain.d, len(WEIGHTS)
        own = fields.number(state["own"], "own loss", -fields.LARGE, fields.LARGE)
        for name, size in (("losses", d), ("states", count * d)):
            if np.shape(state[name]) != (size,):
                found = validation.brief(state[name])
                raise ValueError(f"corrupt file: expected {size} numbers for {name}; found {found}")
            fields.within(state[name], name)
        super()._restore(state)
        sums = self._sums
        sums.total, sums.states = state["losses"].copy(), state["states"].reshape(count, d).copy()
        sums.rounds, self._own, self._copied = self._settled, own, True
