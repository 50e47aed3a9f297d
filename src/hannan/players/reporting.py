"""Players that receive randomized reports of their losses in place of the losses."""

from __future__ import annotations

import functools
import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hannan import validation
from hannan.mathematics.bounds import Bound
from hannan.mathematics.streams import words
from hannan.players.certificate import PrivateCertificate
from hannan.players.convex import NOT_PRIVATE
from hannan.players.player import Player
from hannan.players.tickets import Move
from hannan.validation import Array

#: Meaning of the losses and regrets of a certificate.
ESTIMATED_LOSS = (
    "only randomized reports of 0 or 1 are stored; own loss and regret are unbiased estimates from them, "
    "1/2 + (mean report - 1/2)/tanh(epsilon/2) per round"
)

if TYPE_CHECKING:
    _Player = Player
else:
    _Player = object  # a class can have only one base class of the engine


def coin_of(stream: bytes, number: int) -> bytes:
    """Return eight pseudorandom bytes for the report of a round of a seeded player; they protect nothing."""
    return hashlib.blake2b(number.to_bytes(8, "little"), digest_size=8, key=stream).digest()


@functools.lru_cache(maxsize=4096)
def stream_of(seed: int, key: int = 0) -> bytes:
    """Return the key of the reports of a player with a seed, or of one key of a fleet with a seed."""
    return bytes(words(seed, key, 2).astype("<u8").tobytes())


def coins_of(seed: int, keys: list[int], numbers: list[int]) -> NDArray[np.uint64]:
    """Return 64 pseudorandom bits for each (key, round) of a fleet with a seed."""
    coins = (coin_of(stream_of(seed, key), number) for key, number in zip(keys, numbers, strict=True))
    return np.frombuffer(b"".join(coins), dtype="<u8")


def reports_of(learner: Any, values: Array, coins: NDArray[np.uint64] | None) -> Array:
    """Return randomized reports of a batch, in the user's units; an error does not repeat a value."""
    low, high = map(float, learner.loss_range)
    bad = ~((values >= low) & (values <= high))
    if bad.any():
        raise ValueError(
            f"losses must be finite and in [{low:g}, {high:g}]; got another value, which is private and not repeated, "
            f"at index {int(np.argmax(bad))}"
        )
    reports: Array = learner.response.reports((values - low) / (high - low), coins)
    return np.asarray(np.where(reports > 0.0, high, low))


def fraction(learner: Any, value: Any, name: str = "loss") -> float:
    """Return a loss (or reward) as a fraction of the loss range; the error does not repeat the value."""
    low, high = map(float, learner.loss_range)
    try:
        found = validation.between(float(value) if isinstance(value, bool) else value, low, high, name)
    except ValueError:
        raise ValueError(
            f"{name} must be a number in [{low:g}, {high:g}]; got another value, which is private and not repeated"
        ) from None
    return (found - low) / (high - low)


def report_of(learner: Any, value: Any, name: str = "loss") -> float:
    """Return the randomized report of a loss (or reward), in the user's units; an error does not repeat the value."""
    low, high = map(float, learner.loss_range)
    return high if learner.response.report(fraction(learner, value, name)) else low


class Reporting(_Player):
    """Mixin for players of `LocallyPrivate`: a loss is randomized before anything else sees it, and not stored."""

    learner: Any

    def observe(  # type: ignore[override]
        self, move: Move, value: Any = None, *, loss: Any = None, reward: Any = None
    ) -> None:
        """Settle a move with a randomized report of its loss.

        Parameters
        ----------
        move : Move
            Move that `act` returned.
        value : float
            Loss of the move, or its reward for a learner of rewards (`gains=True`).
        loss : float, optional
            The same by name, for a learner of losses.
        reward : float, optional
            The same by name, for a learner of rewards.
        """
        learner = self.learner
        if loss is not None and learner.gains:
            raise ValueError("this learner takes rewards (gains=True); pass reward=; got loss=")
        loss = value if loss is None else loss
        if loss is not None and reward is not None:
            raise ValueError("pass loss= or reward=, not both")
        if reward is not None and not learner.gains:
            raise ValueError("this learner takes losses; pass loss=, or create it with gains=True; got reward=")
        name = "reward" if learner.gains else "loss"
        share = fraction(learner, loss if reward is None else reward, name)
        number = self._ticket(move)
        low, high = learner.loss_range
        # Coins of the operating system are never stored, in memory or in a file: a later attacker learns nothing about
        # the losses.
        coin = None if self.seed is None else coin_of(stream_of(self.seed), number)
        report = learner.response.report(share, coin)
        super().observe(move, high if report else low)

    # Certificates

    def certificate(self, delta: float | None = None) -> PrivateCertificate:
        """Return the certificate so far: privacy of all reports, and the bound on the regret.

        Parameters
        ----------
        delta : float, optional
            Not supported: no high-probability bound is proved for randomized reports.

        Returns
        -------
        PrivateCertificate
            The certificate; own loss and regret are estimates.
        """
        plain = super().certificate(delta)
        regret = plain.estimated_regret
        more: dict[str, Any] = {
            "privacy": NOT_PRIVATE["seed"],
            "estimated_regret": None if regret is None else regret * self.learner.response.factor,
            # Privacy does not follow from the stability of a move as a function of its reports.
            "realised_level": None,
        }
        if self.seed is None:
            stated = self.learner.privacy()
            more |= {"privacy": stated.says, "private_if": self._private_if(), "private_by": stated.source}
        return PrivateCertificate.of(plain, **more)

    def _private_if(self) -> str:
        stated = self.learner.privacy()
        return f"{stated.between}; {stated.condition}"

    def _of_learner(self) -> tuple[tuple[str, str], ...]:
        rows = (*super()._of_learner(), ("reports", ESTIMATED_LOSS))
        if self.seed is not None:
            return (*rows, ("privacy", NOT_PRIVATE["seed"]))
        return (*rows, ("privacy", self.learner.privacy().says), ("private if", self._private_if()))

    def _notes(self) -> tuple[tuple[str, str], ...]:
        return (*super()._notes(), ("reports", ESTIMATED_LOSS))

    def _claim(self, gamma: float) -> float | None:
        return None

    def _refuted(self, bound: Bound, own: float, regret: float | None, claim: float | None) -> str:
        return ""  # no assumption concerns the reports of this run

    def _on_this_run(self, delta: float, regret: float) -> tuple[float | None, str]:
        return None, "no high-probability bound is proved for randomized reports"


@functools.cache
def reporting(kind: type[Player]) -> type[Player]:
    """Return the class of players that play as `kind` on randomized reports."""
    return type(kind.__name__, (Reporting, kind), {"__doc__": kind.__doc__, "__module__": kind.__module__})
