"""Player of a self-concordant barrier: it draws a point, and observes the loss of this point only."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from hannan import validation
from hannan.mathematics.bounds import Bound
from hannan.mathematics.convex.domains import Domain
from hannan.mathematics.convex.losses import Loss
from hannan.players.certificate import Certificate, no_run_bound
from hannan.players.tickets import Point, PointPlayer
from hannan.saving import fields
from hannan.validation import Array


class Described(Protocol):
    """The parts of a learner that its player uses."""

    @property
    def domain(self) -> Domain: ...
    @property
    def lipschitz(self) -> float: ...
    @property
    def largest(self) -> float: ...
    @property
    def loss_bound(self) -> float | None: ...
    def leader(self, estimates: Array) -> Array: ...
    def axis(self, h: Array, k: int) -> tuple[Array, Array]: ...
    def bound(self, rounds: int | None = None) -> Bound: ...
    def admit(self, loss: Any, /) -> Loss: ...


class BarrierPlayer(PointPlayer):
    """A running `BarrierBandit`: `observe` takes the loss of the move, as a number. It is not thread-safe.

    Examples
    --------
    >>> import hannan as hn
    >>> player = hn.BarrierBandit(hn.Ball(2), lipschitz=1.0, rounds=100).start(seed=0)
    >>> move = player.act()
    >>> player.observe(move, 0.5)
    >>> player.certificate().rounds
    1
    """

    learner: Described
    sees_all = False

    def __init__(self, learner: Described, seed: int | None, name: str | None = None) -> None:
        super().__init__()
        self.learner = learner
        self._take_name(seed, name)
        self._estimates, self._own = np.zeros(learner.domain.d), 0.0

    def act(self) -> Point:
        """Draw a point around the leader.

        Returns
        -------
        Point
            The move.
        """
        d = self.learner.domain.d
        seeded = None if self.seed is None else np.random.SeedSequence(self.seed, spawn_key=(self.round, 3))
        k = int(np.random.default_rng(seeded).integers(2 * d))
        h = self.learner.leader(self._estimates)
        w, product = self.learner.axis(h, k % d)
        sign = 1.0 if k < d else -1.0
        move: Point = self._issue(tuple((h + sign * w).tolist()), 0.0, tuple((sign * d * product).tolist()))
        return move

    def distribution(self) -> Array:
        """Raise: a move is a point of a continuous set, so there is no list of probabilities."""
        raise ValueError("a player on a convex set has no distribution over finitely many actions")

    def observe(self, move: Point, loss: float | Loss) -> None:
        """Settle a pending move with its loss.

        Parameters
        ----------
        move : Point
            The object returned by `act`.
        loss : float or Linear
            Loss of the move; of a linear loss only its value at the move is used.
        """
        if isinstance(loss, Loss):
            number, function, x = self._admitted(move, loss)
            paid = float(function.value(x))
        else:
            number, paid = self._ticket(move), validation.real(loss, "loss")
            most, least = self.learner.largest, 0.0 if self.learner.loss_bound is not None else -self.learner.largest
            slack = 1e-9 * most
            if not least - slack <= paid <= most + slack:
                raise ValueError(f"loss must be in [{least:g}, {most:g}]; got {loss!r}")
        self._estimates = self._estimates + paid * np.array(self._kept(number))
        self._own += paid
        self._close(number)

    # Certificates

    def certificate(self, delta: float | None = None) -> Certificate:
        """Return the certificate so far; the regret is estimated, because other points were not observed.

        Parameters
        ----------
        delta : float, optional
            Not supported: no high-probability bound is proved.

        Returns
        -------
        Certificate
            The certificate.
        """
        delta = None if delta is None else validation.between(delta, 0.0, 1.0, "delta", "()")
        least = -float(self.learner.domain.support(-self._estimates))
        bound, withheld = self._bound()
        return Certificate(
            **self._standing(),
            bound=bound,
            withheld=withheld,
            own_loss=self._own,
            best_loss=None,
            regret=None,
            identity={},
            estimated_regret=self._own - least,
            gamma=1.0,
            realised_level=None,
            claimed_rate=None,
            delta=delta,
            on_this_run_says="" if delta is None else no_run_bound(type(self.learner).__name__),
            comparator="point",
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
        return {**super()._saved(), "own": self._own, "losses": self._estimates}

    def _renew(self) -> None:
        """Do nothing: without a seed every round draws from the operating system."""

    def _told(self, move: Any, plain: Any, kept: Any) -> Any:
        numbers = fields.items(kept, "open move", self.learner.domain.d)
        return tuple(fields.number(x, "open move", -fields.LARGE, fields.LARGE) for x in numbers)

    def _restore(self, state: dict[str, Any]) -> None:
        d = self.learner.domain.d
        own = fields.number(state["own"], "own loss", -fields.LARGE, fields.LARGE)
        if np.shape(state["losses"]) != (d,):
            found = validation.brief(state["losses"])
            raise ValueError(f"corrupt file: expected {d} numbers for losses; found {found}")
        fields.within(state["losses"], "losses")
        super()._restore(state)
        self._estimates, self._own = state["losses"].copy(), own
