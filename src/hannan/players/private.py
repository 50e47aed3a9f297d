"""Live players whose complete sequence of moves is private."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hannan import validation
from hannan.learners.memory import NoisyPlayer
from hannan.mathematics.bounds import Bound
from hannan.players.certificate import Certificate
from hannan.players.convex import NOT_PRIVATE, OF_THIS_COPY

if TYPE_CHECKING:
    from hannan.learners.private_experts import PrivateExperts
    from hannan.players.tickets import Move


@dataclass(frozen=True)
class PrivateCertificate(Certificate):
    """Certificate of a private learner: as `Certificate`, with the privacy of all moves together.

    Parameters
    ----------
    privacy : str, optional
        Privacy of all moves together, or the reason why none is stated.
    private_if : str, optional
        Assumptions of the privacy statement.
    private_by : str, optional
        Theorem of the privacy statement.
    """

    privacy: str = ""
    private_if: str = ""
    private_by: str = ""

    def _rows(self) -> list[tuple[str, str]]:
        return [("privacy", self.privacy), *super()._rows()]

    def _assumptions(self) -> list[tuple[str, str]]:
        return [*super()._assumptions(), *([("private if", self.private_if)] if self.private_if else [])]

    def _details(self) -> list[tuple[str, str]]:
        rows = super()._details()
        if self.private_by:
            rows.insert(-2, ("private by", self.private_by))
        return rows


class PrivatePlayer(NoisyPlayer):
    """A running `PrivateExperts`. It is not thread-safe.

    Without a seed its noise comes from a cryptographic generator with a key of the operating system. The key is not in
    files: a loaded player draws a new one.
    """

    learner: PrivateExperts
    #: Whether another copy may continue from this player.
    _copied = False

    def __init__(self, learner: PrivateExperts, seed: int | None, name: str | None = None) -> None:
        super().__init__(learner, seed, name)
        if seed is None:
            self._new_key()

    def _new_key(self) -> None:
        self._set_words(self._words[0], np.frombuffer(os.urandom(32), dtype="<u8").astype(np.uint64))

    def act(self, awake: Any = None) -> Move:
        """Draw a move.

        Returns
        -------
        Move
            The expert and the probability with which it was drawn, given the noise.

        Raises
        ------
        ValueError
            If the number of rounds that epsilon covers has been played.
        """
        rounds = self.learner.rounds
        if rounds is not None and self._settled >= rounds:
            raise ValueError(
                f"epsilon covers {rounds} rounds, and {self._settled} have been settled; start PrivateExperts with "
                "rounds=None for a game without end"
            )
        return super().act(awake)

    def observe(self, move: Move, loss: Any = None, *, reward: Any = None) -> None:
        """Settle a move with the losses of all experts.

        Parameters
        ----------
        move : Move
            Move that `act` returned.
        loss : array_like
            One loss per expert.
        reward : array_like, optional
            The same for a learner of rewards (`gains=True`).
        """
        sparsity = self.learner.sparsity
        if sparsity is not None:
            row = np.asarray(validation.losses(loss if reward is None else reward))
            low = self.learner.loss_range[0]
            found = int((row != low).sum())
            if found > sparsity:
                raise ValueError(f"at most sparsity = {sparsity} losses may differ from {low:g}; got {found}")
        super().observe(move, loss, reward=reward)

    # Certificates

    def certificate(self, delta: float | None = None) -> PrivateCertificate:
        """Return what is proved now: privacy of all moves, and the bound on the regret.

        Parameters
        ----------
        delta : float, optional
            Not supported: no high-probability bound is proved, because the noise is kept.

        Returns
        -------
        PrivateCertificate
            The certificate.
        """
        plain = super().certificate(delta)
        values = {field.name: getattr(plain, field.name) for field in dataclasses.fields(plain)}
        # The stability of one move given the noise is not what its privacy rests on.
        values["realised_level"] = None
        if self.seed is not None:
            return PrivateCertificate(**values, privacy=NOT_PRIVATE["seed"])
        stated = self.learner.privacy()
        condition = f"{stated.between}; {stated.condition}" + (f"; {OF_THIS_COPY}" if self._copied else "")
        return PrivateCertificate(**values, privacy=stated.says, private_if=condition, private_by=stated.source)

    def _bound(self, best: float | None) -> tuple[Bound | None, str]:
        if withheld := self._lost() or self._late():
            return None, withheld
        try:
            return self.learner.bound(self._settled), ""
        except ValueError as reason:
            return None, str(reason)

    # Saving

    def _saved(self) -> dict[str, Any]:
        self._copied = True
        state = super()._saved()
        return state if self.seed is not None else {**state, "noise": [0] * len(state["noise"])}

    def _resume(self, content: dict[str, Any]) -> None:
        super()._resume(content)
        if self.seed is None:
            self._new_key()
        self._copied = True
