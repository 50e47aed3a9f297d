"""Live players of slates: moves with inclusion probabilities, and losses of the shown items."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any, NamedTuple, Self

import numpy as np

from hannan import _engine, validation
from hannan.mathematics.bounds import Bound, rounded_up
from hannan.mathematics.streams import words
from hannan.players import identity
from hannan.players.certificate import EVERY_TIME, Certificate
from hannan.players.decisions import DecisionsPlayer
from hannan.players.tickets import Book, Written
from hannan.saving import fields
from hannan.saving.formatting import sure
from hannan.validation import Array


class SlateTicket(NamedTuple):
    """Fields of a slate's ticket."""

    player: str
    round: int
    action: tuple[int, ...]
    probabilities: tuple[float, ...]


class SlateMove(Written, SlateTicket):
    """Ticket of one slate: items in random order, each with its inclusion probability.

    Attributes
    ----------
    player : str
        Player that drew the slate.
    round : int
        Round of the player.
    action : tuple of int
        Items in the order in which they are shown.
    probabilities : tuple of float
        Inclusion probability of each shown item: the propensity that off-policy evaluation needs.
    """

    __slots__ = ()

    @property
    def actions(self) -> tuple[int, ...]:
        """Items in the order in which they are shown."""
        return self.action

    @property
    def probability(self) -> None:
        """Probability of the whole slate: unknown for systematic sampling.

        For items in random order it is a mean over all orders, without a known closed form.
        """
        return None

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the ticket of a JSON text.

        Parameters
        ----------
        text : str
            Text that `to_json` returned.

        Returns
        -------
        SlateMove
            The ticket.
        """
        try:
            told = json.loads(text)
            items, shares = tuple(told.pop("action")), tuple(told.pop("probabilities"))
            return cls(**told, action=items, probabilities=shares)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"a slate's ticket must be JSON with {', '.join(cls._fields)}: {error}") from None


class SlatePlayer(DecisionsPlayer):
    """A running `SlateBandit`. It is not thread-safe.

    `act()` returns a slate; `observe(move, losses)` takes one loss per shown item, in the order of `move.action`,
    late and in any order.
    """

    learner: Any
    _move = SlateMove  # type: ignore[assignment]

    def __init__(self, learner: Any, seed: int | None, name: str | None = None) -> None:
        _engine.Book.__init__(self, "", SlateMove)
        self.learner, self.sees_all = learner, False
        self._run = learner.run(words(self._take_name(seed, name), 0))
        self.own = 0.0

    @property
    def losses(self) -> Array:  # type: ignore[override]
        """Estimated cumulative losses of the items, for losses in [0, 1]."""
        found: Array = self._run.losses
        return found

    def distribution(self) -> Array:
        """Return the inclusion probabilities of the next slate; they sum to the size.

        Returns
        -------
        ndarray
            One probability per item, each a multiple of 2^-52.
        """
        found: Array = self._run.probabilities()
        return found

    def act(self) -> SlateMove:  # type: ignore[override]
        """Draw a slate.

        Returns
        -------
        SlateMove
            Items and their inclusion probabilities.
        """
        items, probabilities, kept = self._run.act()
        move: SlateMove = self._issue(items, probabilities, kept)
        return move

    def observe(self, move: Any, loss: Any = None, *, reward: Any = None) -> None:
        """Settle a slate with the losses of its items.

        Parameters
        ----------
        move : SlateMove
            Slate that `act` returned.
        loss : array_like
            One loss per shown item, in the order of `move.action`.
        reward : array_like, optional
            The same for a learner of rewards (`gains=True`).
        """
        if reward is not None:
            if loss is not None or not self.learner.gains:
                raise ValueError("reward= is for learners with gains=True, instead of loss")
            loss = reward
        number = self._ticket(move)
        row = validation.losses(loss)
        size, (low, high) = self.learner.size, self.learner.loss_range
        if row.shape != (size,):
            raise ValueError(f"loss must have {size} numbers, one per shown item; got shape {row.shape}")
        validation.row(row, size, low, high)
        normal = np.ascontiguousarray(self.learner.units.zero - row if self.learner.gains else row - low)
        normal = np.ascontiguousarray(np.clip(normal / self.learner.width, 0.0, 1.0))
        self._run.settle(
            np.array(move.action, dtype=np.int64), np.array(move.probabilities), normal, self._kept(number)
        )
        self.own += float(normal.sum())
        self._close(number)

    def least_estimate(self) -> float:
        """Return the smallest estimated loss of a slate, for losses in [0, 1]."""
        return float(np.sort(self.losses)[: self.learner.size].sum())

    def _bound(self, best: float | None) -> tuple[Bound | None, str]:
        if withheld := self._lost() or self._late():
            return None, withheld
        for against in ("any", None):
            try:
                return self.learner.bound(self._settled, against=against), ""
            except ValueError as reason:
                why = str(reason)
        return None, why

    def _this_run(self, delta: float, regret: float) -> float:
        """Return the bound of Theorem 3 on the realized regret, for losses in [0, 1]."""
        n, m, gamma = self.learner.n, self.learner.size, self.learner.estimator.exploration
        return rounded_up(regret + m / (2.0 * gamma) * math.log(n / (m * delta)))

    def certificate(self, delta: float | None = None) -> Certificate:
        """Return what is proved now, and the estimated regret.

        Parameters
        ----------
        delta : float, optional
            Probability with which the bound on the regret of this run may fail; proved for implicit exploration only.

        Returns
        -------
        Certificate
            The certificate, in the units of the losses.
        """
        plain = super().certificate(delta)
        learner, regret, gamma = self.learner, self.own - self.least_estimate(), self.learner.estimator.exploration
        line, says = plain.on_this_run, plain.on_this_run_says
        if delta is not None and gamma > 0.0 and learner.size < learner.n:
            why = self._lost() or ("moves are pending" if self._open_count else "")
            line = None if why else learner.width * self._this_run(plain.delta or delta, regret)
            says = f"no high-probability bound: {why}" if why else f"with probability {sure(delta)}, {EVERY_TIME}"
        return dataclasses.replace(
            plain,
            own_loss=float(learner.units.total(self.own, learner.size * self._settled)),
            estimated_regret=learner.width * regret,
            comparator="slate",
            on_this_run=line,
            on_this_run_says=says,
        )

    # Saving

    def _saved(self) -> dict[str, Any]:
        return {
            **Book._saved(self),
            "stream": [str(int(word)) for word in self._run.words], "own": self.own, "losses": self.losses,
        }  # fmt: skip

    def _renew(self) -> None:
        self._run.words = identity.renewed(self._run.words)

    def _restore(self, state: dict[str, Any]) -> None:
        rounds = fields.whole(state["drawn"], "rounds")
        losses = np.asarray(state["losses"])
        if losses.dtype != np.float64 or losses.shape != (self.learner.n,) or not np.isfinite(losses).all():
            raise ValueError(f"its losses must be {self.learner.n} finite numbers; got {validation.brief(losses)}")
        own = fields.number(state["own"], "own loss", 0.0, float(rounds * self.learner.size))
        stream = [fields.text(word, "stream") for word in fields.items(state["stream"], "stream", 4)]
        if not all(word.isascii() and word.isdigit() and len(word) <= 20 and int(word) < 1 << 64 for word in stream):
            raise ValueError(f"its stream must be four integers below 2^64; got {validation.brief(stream)}")
        Book._restore(self, state)
        self.own = own
        self._run.restore(np.ascontiguousarray(losses), rounds)
        self._run.words = np.array([int(word) for word in stream], dtype=np.uint64)

    def _chosen(self, *rest: Any) -> tuple[Any, ...]:
        action, shares = rest
        size = self.learner.size
        items = tuple(fields.whole(i, "item", 0, self.learner.n - 1) for i in fields.items(action, "slate", size))
        found = tuple(
            fields.number(share, "probability", 2.0**-52, 1.0) for share in fields.items(shares, "probabilities", size)
        )
        if len(set(items)) != size:
            raise ValueError(f"its pending slates must have different items; got {validation.brief(items)}")
        return items, found

    def _told(self, move: Any, plain: Any, kept: Any) -> Any:
        if kept is None or (isinstance(kept, np.ndarray) and kept.dtype == bool and kept.shape == (self.learner.n,)):
            return kept
        raise ValueError(f"its pending slates must have one baseline per item; got {validation.brief(kept)}")
