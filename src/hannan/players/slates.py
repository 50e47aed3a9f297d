"""Live players of slates: moves with inclusion probabilities, and losses of the shown items."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from hannan import _engine, validation
from hannan.mathematics.bounds import Bound, at_observed, rounded_up
from hannan.mathematics.slates import FITTED
from hannan.mathematics.streams import words
from hannan.players import identity
from hannan.players.certificate import EVERY_TIME, Certificate, in_rounds
from hannan.players.decisions import DecisionsPlayer
from hannan.players.sleeping import mask_of
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
    probability: float | None = None


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
    probability : float or None
        Probability of the whole slate, as a set. None for the systematic draw: for items in random order it is a mean
        over all orders, without a known closed form. 0.0 if it is below 1e-308.

    Examples
    --------
    >>> import hannan as hn
    >>> move = hn.SlateBandit(["a", "b", "c"], 2).start(seed=0).act()
    >>> move.arms == tuple("abc"[i] for i in move.actions), move.probabilities == (2 / 3, 2 / 3)
    (True, False)
    >>> type(move).from_json(move.to_json()) == move
    True
    """

    __slots__ = ()

    names: ClassVar[tuple[str, ...]] = ()

    @property
    def arms(self) -> tuple[Any, ...]:
        """Names of the items in the order in which they are shown; their numbers if items have no names."""
        return tuple(self.names[i] for i in self.action) if self.names else self.action

    @property
    def actions(self) -> tuple[int, ...]:
        """Items in the order in which they are shown."""
        return self.action

    def to_json(self) -> str:
        """Return the ticket as JSON text, to be logged and settled later, also after a restart.

        Returns
        -------
        str
            JSON text for `from_json`.
        """
        return json.dumps(self._asdict() | ({"arms": self.arms} if self.names else {}))

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
            told.pop("arms", None)  # the names of the items
            items, shares = tuple(told.pop("action")), tuple(told.pop("probabilities"))
            return cls(**told, action=items, probabilities=shares)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"a slate's ticket must be JSON with {', '.join(cls._fields)}: {error}") from None


@functools.lru_cache(maxsize=256)
def slate_move_of(names: tuple[str, ...]) -> type[SlateMove]:
    """Return the class of slates of items with these names; `SlateMove` if there are none.

    >>> slate_move_of(("a", "b"))("p1", 3, (1,), (0.25,)).arms
    ('b',)
    """
    return type("SlateMove", (SlateMove,), {"__slots__": (), "names": names}) if names else SlateMove


#: Smallest inclusion probability that the engine reports; 2^-52 for the systematic draw.
LEAST_PROBABILITY = 2.0**-1000
#: Why there is no bound after a larger difference.
NOT_FITTED = "the weights of the conditional draw were not found: an inclusion probability differs by a share of {:.1e}"
#: Meaning of the regret if items were unavailable.
REPLACED = (
    "items were unavailable {where}: there, the regret compares with a slate whose unavailable items are replaced by "
    "the items that fill their places, with the mean loss of these; empty places count as loss 0"
)
#: Meaning of the regret if shown items had no feedback.
FILLED = (
    "{count} shown items had no feedback and count with the loss or reward that you stated: bound and regret are about "
    "these numbers, and need that missing feedback does not depend on your moves"
)


class SlatePlayer(DecisionsPlayer):
    """A running `SlateBandit`. It is not thread-safe.

    `act()` returns a slate; `observe(move, losses)` takes one loss per shown item, in the order of `move.actions`,
    late and in any order.
    """

    learner: Any
    _move = SlateMove  # type: ignore[assignment]

    def __init__(self, learner: Any, seed: int | None, name: str | None = None) -> None:
        self._move = slate_move_of(learner.arms or ())
        _engine.Book.__init__(self, "", self._move)
        self.learner, self.sees_all = learner, False
        self._run = learner.run(words(self._take_name(seed, name), 0))
        self.own = 0.0
        #: Rounds with unavailable items; items shown in settled rounds, and those without feedback.
        self._restricted = self._shown = self._filled = 0

    @property
    def losses(self) -> Array:  # type: ignore[override]
        """Estimated cumulative losses of the items, for losses in [0, 1]."""
        found: Array = self._run.losses
        return found

    def distribution(self, awake: Any = None) -> Array:
        """Return the inclusion probabilities of the next slate; they sum to its number of items.

        Parameters
        ----------
        awake : array-like of bool, optional
            True for each available item. Default: all items are available.

        Returns
        -------
        ndarray
            One probability per item, each a multiple of 2^-52.
        """
        found: Array = self._run.probabilities(self._mask(awake))
        return found

    def _mask(self, awake: Any) -> Any:
        if awake is not None and self.learner.rule != "tsallis":
            raise ValueError(
                f"awake= is not supported by {self.learner!r}, because no bound is proved if items are unavailable; "
                f"got awake={validation.brief(awake)}"
            )
        return None if awake is None else mask_of(awake, self.learner.n, "item")

    def act(self, awake: Any = None) -> SlateMove:  # type: ignore[override]
        """Draw a slate.

        Parameters
        ----------
        awake : array-like of bool, optional
            True for each available item. If fewer than `size` items are available, all of them are shown. Default: all
            items are available.

        Returns
        -------
        SlateMove
            Items and their inclusion probabilities.
        """
        mask = self._mask(awake)
        items, probabilities, kept, whole = self._run.act(mask)
        self._restricted += mask is not None
        move: SlateMove = self._issue(items, probabilities, kept, whole)
        return move

    def observe(self, move: Any, loss: Any = None, *, reward: Any = None, missing: float | None = None) -> None:
        """Settle a slate with the losses of its items.

        Parameters
        ----------
        move : SlateMove
            Slate that `act` returned.
        loss : array_like
            One loss per shown item, in the order of `move.actions`; None or NaN for an item without feedback.
        reward : array_like, optional
            The same for a learner of rewards (`gains=True`).
        missing : float, optional
            Loss or reward of items without feedback, such as 0 for "no click". Required if there are such items.

        Raises
        ------
        ValueError
            If a loss is invalid, or the slate is not pending. The player is then unchanged.

        Examples
        --------
        >>> import hannan as hn
        >>> player = hn.SlateBandit(4, 2, gains=True).start(seed=0)
        >>> player.observe(player.act(), reward=[1.0, None], missing=0.0)
        """
        loss = self._given(loss, reward)
        number = self._ticket(move)
        row, filled = self.filled(loss, len(move.action), missing)
        normal = self._normal(row)
        items, shares = np.array(move.action, dtype=np.int64), np.array(move.probabilities)
        self._run.settle(items, shares, normal, self._kept(number))
        self.own += self.learner.decisions.paid(normal)
        self._shown += len(row)
        self._filled += filled
        self._close(number)

    def _given(self, loss: Any, reward: Any) -> Any:
        """Return the losses, or the rewards if these were given."""
        if reward is None:
            return loss
        if loss is not None or not self.learner.gains:
            raise ValueError("reward= is for learners with gains=True, instead of loss")
        return reward

    def _normal(self, row: Array) -> Array:
        """Return losses or rewards in the user's units as losses in [0, 1]."""
        low = self.learner.loss_range[0]
        normal = np.asarray(self.learner.units.zero - row if self.learner.gains else row - low)
        return np.ascontiguousarray(np.clip(normal / self.learner.width, 0.0, 1.0))

    def filled(self, loss: Any, size: int, missing: float | None) -> tuple[Array, int]:
        """Return (losses of the shown items, number of items without feedback), or raise ValueError.

        Parameters
        ----------
        loss : array_like
            Losses or rewards of the shown items, None or NaN for an item without feedback.
        size : int
            Number of shown items.
        missing : float or None
            Loss or reward of items without feedback.

        Returns
        -------
        tuple
            The array and the number.
        """
        low, high = self.learner.loss_range
        if isinstance(loss, (list, tuple)):
            loss = [math.nan if one is None else one for one in loss]
        absent = np.isnan(loss) if _is_numeric(loss) else np.zeros(0, dtype=bool)
        if absent.any():
            if missing is None:
                raise ValueError(
                    f"loss has no number for item {int(np.argmax(absent))} of the slate; pass missing=, the loss or "
                    f"reward of items without feedback; got {validation.brief(loss)}"
                )
            loss = np.where(absent, validation.between(missing, low, high, "missing"), loss)
        row = validation.losses(loss, "loss")
        if row.shape != (size,):
            raise ValueError(f"loss must have {size} numbers, one per shown item; got shape {row.shape}")
        return validation.row(row, size, low, high), int(absent.sum())

    def least_estimate(self) -> float:
        """Return the smallest estimated loss of a slate, for losses in [0, 1]."""
        return float(self.learner.decisions.best(self.losses) @ self.losses)

    def _bound(self, best: float | None) -> tuple[Bound | None, str]:
        if withheld := self._lost() or self._late() or self._misfit():
            return None, withheld
        for against in ("any", None):
            try:
                restricted = min(self._restricted, self._settled)
                return self.learner.bound(self._settled, against=against, restricted=restricted), ""
            except ValueError as reason:
                why = str(reason)
        return None, why

    def _misfit(self) -> str:
        """Return why there is no bound if the conditional draw had other inclusion probabilities; usually empty."""
        return NOT_FITTED.format(self._run.deviation) if self._run.deviation > FITTED else ""

    def _this_run(self, delta: float, regret: float) -> float:
        """Return the bound of Theorem 3 on the realized regret, for losses in [0, 1]."""
        n, m, gamma = self.learner.n, self.learner.size, self.learner.exploration
        return rounded_up(regret + m / (2.0 * gamma) * math.log(n / (m * delta)))

    def certificate(self, delta: float | None = None) -> Certificate:
        """Return the certificate so far, with the estimated regret.

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
        learner, regret, gamma = self.learner, self.own - self.least_estimate(), self.learner.exploration
        line, says = plain.on_this_run, plain.on_this_run_says
        if delta is not None and gamma > 0.0 and learner.size < learner.n:
            why = self._lost() or self._misfit() or ("moves are pending" if self._open_count else "")
            line = None if why else learner.width * self._this_run(plain.delta or delta, regret)
            says = f"no high-probability bound: {why}" if why else f"with probability {sure(delta)}, {EVERY_TIME}"
        return dataclasses.replace(
            plain,
            own_loss=float(learner.units.total(self.own, self._weight_shown())),
            estimated_regret=learner.width * regret,
            comparator="slate",
            on_this_run=line,
            on_this_run_says=says,
            notes=(*plain.notes, *self._notes()),
        )

    def _weight_shown(self) -> float:
        """Return the number of shown items of settled rounds, or their total weight if positions matter."""
        decisions = self.learner.decisions
        ranked = decisions.total_weight != decisions.most
        return float(decisions.total_weight * self._settled if ranked else self._shown)

    def _notes(self) -> tuple[tuple[str, str], ...]:
        """Return the assumptions about unavailable items and missing feedback, as (label, text)."""
        rows = []
        if self._restricted:
            rows.append(("available", REPLACED.format(where=in_rounds(self._restricted))))
        if self._filled:
            rows.append(("feedback", FILLED.format(count=self._filled)))
        return tuple(rows)

    # Saving

    def _saved(self) -> dict[str, Any]:
        return {
            **Book._saved(self),
            "stream": [str(int(word)) for word in self._run.words], "own": self.own, "losses": self.losses,
            "restricted": self._restricted, "shown": self._shown, "filled": self._filled, **self._fit(),
        }  # fmt: skip

    def _fit(self) -> dict[str, Any]:
        """Return the state of the conditional draw; empty for other draws."""
        if not len(self._run.ratios):
            return {}
        return {"ratios": self._run.ratios, "deviation": self._run.deviation}

    def _restore_fit(self, state: dict[str, Any]) -> None:
        if not len(self._run.ratios):
            return
        ratios = np.asarray(state["ratios"])
        if ratios.dtype != np.float64 or ratios.shape != (self.learner.n,):
            raise ValueError(f"weights of the draw must be {self.learner.n} numbers; got {validation.brief(ratios)}")
        fields.within(ratios, "weights of the draw", 1e-100, 1e100)
        deviation = fields.number(state["deviation"], "deviation of the draw", 0.0, 1.0)
        self._run.ratios, self._run.deviation = np.ascontiguousarray(ratios), deviation

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
        restricted = fields.whole(state["restricted"], "rounds with unavailable items", 0, rounds)
        shown = fields.whole(state["shown"], "shown items", 0, rounds * self.learner.size)
        filled = fields.whole(state["filled"], "items without feedback", 0, shown)
        self._restore_fit(state)
        Book._restore(self, state)
        self.own, self._restricted, self._shown, self._filled = own, restricted, shown, filled
        self._run.restore(np.ascontiguousarray(losses), rounds)
        self._run.words = np.array([int(word) for word in stream], dtype=np.uint64)

    def _chosen(self, *rest: Any) -> tuple[Any, ...]:
        action, shares, whole = rest
        most = self.learner.size
        items = tuple(fields.whole(i, "item", 0, self.learner.n - 1) for i in fields.items(action, "slate"))
        chances = fields.items(shares, "probabilities", len(items))
        found = tuple(fields.number(share, "probability", LEAST_PROBABILITY, 1.0) for share in chances)
        if len(set(items)) != len(items) or not 1 <= len(items) <= most:
            raise ValueError(f"corrupt file: expected 1 to {most} different items; found {validation.brief(items)}")
        known = len(self._run.ratios) > 0
        if known is (whole is None):
            wanted = "a" if known else "no"
            raise ValueError(f"corrupt file: expected {wanted} probability of the slate; found {whole!r}")
        return items, found, fields.number(whole, "probability of the slate", 0.0, 1.0) if known else None

    def _told(self, move: Any, plain: Any, kept: Any) -> Any:
        n, few = self.learner.n, len(move.action)
        if isinstance(kept, (list, tuple)):
            gone, weights = fields.items(kept, "restricted slate", 2)
            good = _is_mask(gone, n) and not gone[list(move.action)].any() and gone.any()
            good = good and isinstance(weights, np.ndarray) and weights.shape == (few,) and weights.dtype == np.float64
            if good and np.isfinite(weights).all() and (weights >= 0.0).all():
                return gone, weights
        elif few == self.learner.size and (_is_mask(kept, n) if self.learner.has_baselines else kept is None):
            return kept
        raise ValueError(f"corrupt file: expected the data of a pending slate; found {validation.brief(kept)}")


class SlateExpertsPlayer(SlatePlayer):
    """A running `SlateExperts`. It is not thread-safe.

    `act()` returns a slate; `observe(move, losses)` takes the losses of all items, in the order of the items.
    """

    def __init__(self, learner: Any, seed: int | None, name: str | None = None) -> None:
        super().__init__(learner, seed, name)
        self.sees_all = True

    def observe(self, move: Any, loss: Any = None, *, reward: Any = None) -> None:  # type: ignore[override]
        """Settle a slate with the losses of all items.

        Parameters
        ----------
        move : SlateMove
            Slate that `act` returned.
        loss : array_like
            One loss per item, in the order of the items.
        reward : array_like, optional
            The same for a learner of rewards (`gains=True`).

        Raises
        ------
        ValueError
            If a loss is invalid, or the slate is not pending. The player is then unchanged.

        Examples
        --------
        >>> import hannan as hn
        >>> player = hn.SlateExperts(4, 2).start(seed=0)
        >>> player.observe(player.act(), [0.0, 0.0, 1.0, 1.0])
        >>> player.certificate().best_loss
        0.0
        """
        loss, n = self._given(loss, reward), self.learner.n
        number = self._ticket(move)
        row = validation.losses(loss, "loss")
        if row.shape != (n,):
            raise ValueError(f"loss must have {n} numbers, one per item; got shape {row.shape}")
        normal = self._normal(validation.row(row, n, *self.learner.loss_range))
        self._run.settle_all(normal, self._kept(number))
        self.own += float(normal[list(move.action)].sum())
        self._shown += len(move.action)
        self._close(number)

    def _bound(self, best: float | None) -> tuple[Bound | None, str]:
        if withheld := self._lost() or self._late() or self._misfit():
            return None, withheld
        known = None if best is None else float(self.learner.units.total(best, self._weight_shown()))
        try:
            return at_observed(self.learner, self.learner.bound(self._settled, known, against="any"), known), ""
        except ValueError as reason:
            return None, str(reason)

    def certificate(self, delta: float | None = None) -> Certificate:
        """Return the certificate so far, with loss and regret of the mean play.

        Parameters
        ----------
        delta : float, optional
            Also state that no high-probability bound is proved.

        Returns
        -------
        Certificate
            The certificate, in the units of the losses.
        """
        units, least = self.learner.units, self.least_estimate()
        return dataclasses.replace(
            DecisionsPlayer.certificate(self, delta),
            own_loss=float(units.total(self._run.mean, self._weight_shown())),
            best_loss=float(units.total(least, self._weight_shown())),
            regret=self.learner.width * (self._run.mean - least),
            kind="mean",
            comparator="slate",
        )

    # Saving

    def _saved(self) -> dict[str, Any]:
        return {**super()._saved(), "mean": self._run.mean}

    def _restore(self, state: dict[str, Any]) -> None:
        mean = fields.number(
            state["mean"], "loss of the mean play", 0.0, (1.0 + 1e-9) * state["drawn"] * self.learner.size
        )
        super()._restore(state)
        self._run.mean = mean

    def _told(self, move: Any, plain: Any, kept: Any) -> Any:
        good = isinstance(kept, np.ndarray) and kept.shape == (self.learner.n,) and kept.dtype == np.float64
        if good and ((kept >= 0.0) & (kept <= 1.0)).all() and len(move.action) == self.learner.size:
            return kept
        raise ValueError(f"corrupt file: expected the inclusion probabilities; found {validation.brief(kept)}")


def _is_mask(given: Any, n: int) -> bool:
    return isinstance(given, np.ndarray) and given.dtype == bool and given.shape == (n,)


def _is_numeric(given: Any) -> bool:
    """Return whether values are a plain array or a list of numbers, which may contain NaN."""
    if isinstance(given, np.ma.MaskedArray):
        return False
    try:
        return np.asarray(given).dtype.kind == "f"
    except (TypeError, ValueError):
        return False
