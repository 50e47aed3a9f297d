"""Moves of players, and the record of pending moves.

The engine's `Book` stores pending moves. This module has its error messages and its part of saved files.
"""

from __future__ import annotations

import functools
import json
import os
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np

from hannan import _engine, saving, validation
from hannan._engine import PointRules
from hannan.mathematics.bounds import Bound
from hannan.mathematics.convex.domains import Domain
from hannan.mathematics.convex.losses import Loss, RankOne
from hannan.mathematics.convex.noise import Noise, Shape
from hannan.players.identity import Incarnate
from hannan.players.load import packed, unpacked
from hannan.saving import fields
from hannan.saving.result import as_html
from hannan.validation import Array

#: Why there is no bound after a move was dropped.
LOST = "the loss is unknown, and a bound must cover the losses of all moves"
#: Why there is no bound after delayed feedback.
DELAYED = "feedback was delayed (a move was drawn while another was pending)"


class Written:
    """Conversion of a move to JSON and back; a mixin for named tuples."""

    __slots__ = ()

    if TYPE_CHECKING:
        _fields: ClassVar[Any]

        def _asdict(self) -> dict[str, Any]: ...

    def to_json(self) -> str:
        """Return the move as JSON text, to be logged and settled later, also after a restart.

        Returns
        -------
        str
            JSON text for `from_json`.
        """
        return json.dumps(self._asdict())

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the move of a JSON text.

        Parameters
        ----------
        text : str
            JSON text that `to_json` returned.

        Returns
        -------
        Move
            The move.

        Raises
        ------
        ValueError
            If the text is not a move.
        """
        try:
            fields = json.loads(text)
            fields.pop("arm", None)  # the name of the action
            action = fields.get("action")
            return cls(**fields | {"action": tuple(action) if isinstance(action, list) else action})
        except (AttributeError, TypeError, ValueError) as error:
            raise ValueError(
                f"text must be JSON with {', '.join(cls._fields)}, as to_json() returns it: {error}"
            ) from None


class Ticket(NamedTuple):
    """Fields of a move."""

    player: str
    round: int
    action: int
    probability: float


class Move(Written, Ticket):
    """One decision, to be passed back to `observe` with its loss.

    Parameters
    ----------
    player : str
        Id of the player that drew it.
    round : int
        Round of the player, from 1.
    action : int
        Action drawn.
    probability : float
        Exact probability with which the action was drawn.

    Examples
    --------
    >>> move = Move("p1", 3, 0, 0.25)
    >>> Move.from_json(move.to_json()) == move, move.arm
    (True, 0)
    """

    __slots__ = ()

    arms: ClassVar[tuple[str, ...]] = ()

    @property
    def arm(self) -> Any:
        """Name of the action; the action itself if it has no name."""
        return self.arms[self.action] if self.arms else self.action

    def __repr__(self) -> str:
        # An invented move has any action, and errors print it.
        arm = f"arm={self.arm!r}, " if self.action in range(len(self.arms)) else ""
        return f"Move(player={self[0]!r}, round={self[1]!r}, action={self[2]!r}, {arm}probability={self[3]!r})"

    def to_json(self) -> str:
        """Return the move as JSON text, to be logged and settled later, also after a restart.

        Returns
        -------
        str
            JSON text for `from_json`.
        """
        return json.dumps(self._asdict() | ({"arm": self.arm} if self.arms else {}))


@functools.lru_cache(maxsize=256)
def move_of(arms: tuple[str, ...]) -> type[Move]:
    """Return the class of moves for actions with these names; `Move`-like without names if there are none.

    >>> move_of(("red", "blue"))("p1", 3, 1, 0.25).arm
    'blue'
    """
    return type("Move", (Move,), {"__slots__": (), "arms": arms}) if arms else Move


class Book(Incarnate):
    """Pending moves of a player; a mixin that must be listed after the engine's `Book`.

    A move is settled once, in any order, or dropped. A move that is not pending raises ValueError, and the player is
    unchanged: a move of another player, an altered one, and one that was settled or dropped before, also before the
    player was saved and loaded.
    """

    learner: Any
    #: Class of the moves.
    _move: type[Any]

    def _repr_html_(self) -> str:
        """Return the certificate for a notebook, without assumptions and details."""
        certificate = self.certificate()  # type: ignore[attr-defined]
        return as_html(certificate.shown()._replace(assumptions=(), details=()))

    if TYPE_CHECKING:  # the engine's `Book` has these

        @property
        def round(self) -> int: ...
        @property
        def open_moves(self) -> tuple[Any, ...]: ...
        @property
        def _settled(self) -> int: ...
        @property
        def _open_count(self) -> int: ...
        @property
        def _forgotten(self) -> int: ...
        @property
        def _largest_delay(self) -> int: ...
        def _open_move(self, round: int) -> Any: ...
        def _kept(self, round: int) -> Any: ...
        def _forget(self, round: int) -> None: ...
        def _resume_book(self, drawn: int, forgotten: int, largest_delay: int, open: list[Any]) -> None: ...

    def __repr__(self) -> str:
        return f"<player {self.id} of {self.learner!r}, {self._settled} rounds settled, {self._open_count} open>"

    def forget(self, move: Any) -> None:
        """Drop a pending move whose loss will never be known; the bound is withheld afterwards.

        Parameters
        ----------
        move : Move
            A pending move.
        """
        self._forget(self._ticket(move))

    def _ticket(self, move: Any) -> int:
        """Return the round of a pending move; raise if it is anything else."""
        if not (isinstance(move, tuple) and len(move) == len(self._move._fields)):
            raise ValueError(f"move must be the {self._move.__name__} returned by act(); got {move!r}")
        player, number = move[0], move[1]
        found = self._open_move(number) if type(number) is int and abs(number) < 1 << 62 else None
        if found is not None and found == move:
            return int(found[1])
        drawn = self._rounds_of(player)
        if found is not None and found[0] == player:
            raise ValueError(f"move was altered: act() returned {found}; got {move}")
        if type(number) is int and number in drawn:
            raise ValueError(f"the move of round {number} has already been settled or dropped")
        if player != self.id:
            raise ValueError(f"this move belongs to another player ({player!r}; this is {self.id!r})")
        raise ValueError(f"this player has not drawn a move in round {number!r}")

    def _rounds_of(self, player: Any) -> range:
        """Return the rounds that this player drew under an id: its current one, or one from before it was loaded."""
        first = 1
        for name, last in self.earlier:
            if name == player:
                return range(first, last + 1)
            first = last + 1
        return range(first, self.round + 1) if player == self.id else range(0)

    # Fields of certificates

    def _standing(self) -> dict[str, Any]:
        """Return the fields of a certificate that are the same for every player."""
        return {
            "learner": repr(self.learner),
            "rounds": self._settled,
            "open_moves": self._open_count,
            "forgotten": self._forgotten,
            "largest_delay": self._largest_delay,
            "seeded": self.seed is not None,
            "resumed": self.resumed,
        }

    def _lost(self) -> str:
        """Return why there is no bound after a move was dropped; an empty string if none was."""
        if not (count := self._forgotten):
            return ""
        moves = "1 move was" if count == 1 else f"{count} moves were"
        return f"{moves} dropped: {LOST}"

    def _late(self) -> str:
        """Return why there is no bound after delayed feedback; an empty string if no feedback was delayed."""
        return f"{DELAYED}, and {self._no_delays()}" if self._largest_delay else ""

    def _no_delays(self) -> str:
        """Return the statements proved for delayed feedback."""
        return f"no bound for delayed feedback is proved for {type(self.learner).__name__}"

    # Saving

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the player to one file, atomically; `hannan.load(path)` resumes it.

        The file contains the random state, from which the moves to come can be computed; certificates state this
        afterwards.

        Parameters
        ----------
        path : str or os.PathLike
            The file.
        """
        saving.write(path, self.content())
        self.resumed = True

    def state(self) -> dict[str, Any]:
        """Return a copy of the state, with the pending moves, for inspection.

        Returns
        -------
        dict
            Fields by name.
        """
        return self._saved()

    def content(self) -> dict[str, Any]:
        """Return the content of a saved file: learner, identity and state of the player.

        Returns
        -------
        dict
            Fields that JSON can hold.
        """
        return {
            "kind": "player",
            "learner": saving.describe(self.learner),
            **self._who(),
            "state": packed(self._saved()),
        }

    def _resume(self, content: dict[str, Any]) -> None:
        """Restore the content of a file after checking every field."""
        state = unpacked(content["state"])
        if not isinstance(state, dict):
            raise ValueError(f"corrupt file: expected a state with named fields; found {validation.brief(state)}")
        for ticket in fields.items(state["open"], "open moves"):
            player, number, *rest = fields.items(ticket["move"], "open move", len(self._move._fields))
            fields.text(player, "player")
            fields.whole(number, "round of an open move", 1)
            ticket["move"] = move = self._move(player, number, *self._chosen(*rest))
            ticket["kept"] = self._told(move, ticket["plain"], ticket["kept"])
            fields.number(ticket.get("weight", 0.0), "weight", 0.0, 1e30)
        self._restore(state)

    def _chosen(self, *rest: Any) -> tuple[Any, ...]:
        """Return the checked fields of a pending move other than player and round."""
        raise NotImplementedError

    def _told(self, move: Any, plain: Any, kept: Any) -> Any:
        """Return the checked data that settling a pending move needs."""
        if plain is not True or kept is not None:
            raise ValueError(
                f"corrupt file: expected a pending move without further data; found {validation.brief(kept)}"
            )
        return None

    def _saved(self) -> dict[str, Any]:
        """Return the state: here the pending moves."""
        open_ = [{"move": move, "plain": True, "kept": self._kept(move[1])} for move in self.open_moves]
        return {
            "drawn": self.round, "forgotten": self._forgotten, "largest_delay": self._largest_delay, "open": open_,
        }  # fmt: skip

    def _restore(self, state: dict[str, Any]) -> None:
        """Restore a state whose moves were checked: here the pending moves."""
        drawn = fields.whole(state["drawn"], "rounds")
        forgotten = fields.whole(state["forgotten"], "forgotten moves", 0, drawn)
        delay = fields.whole(state["largest_delay"], "largest delay", 0, drawn)
        self._resume_book(drawn, forgotten, delay, [(one["move"], one["kept"]) for one in state["open"]])


class Bounded(Protocol):
    """A learner with a bound on its regret."""

    def bound(
        self, rounds: int | None = None, best_loss: float | None = None, *, against: str | None = None
    ) -> Bound: ...


class Chooser(Bounded, Protocol):
    """A learner over experts or arms, played by the engine."""

    @property
    def smoothing(self) -> Any: ...
    @property
    def loss_range(self) -> tuple[float, float]: ...
    @property
    def gains(self) -> bool: ...
    @property
    def width(self) -> float: ...
    def setup(self) -> Any: ...
    def schedule(self) -> Any: ...
    def in_units(self, total: float, rounds: int) -> float: ...
    def tuned_best(self) -> float: ...
    def start(self, seed: int | None = None, name: str | None = None) -> Any: ...


class OfPoints(Protocol):
    """A learner over points of a convex set, with functions as losses."""

    @property
    def domain(self) -> Domain: ...
    @property
    def lipschitz(self) -> float: ...
    def admit(self, loss: Any, /) -> Loss: ...


class Perturbed(OfPoints, Protocol):
    """A perturbed leader over a convex set."""

    @property
    def noise(self) -> Noise: ...
    @property
    def loss_bound(self) -> float | None: ...
    @property
    def guarantee(self) -> str: ...
    @property
    def fresh(self) -> bool: ...
    def rules(self) -> PointRules: ...
    def schedule(self) -> Any: ...
    def output_scale(self) -> float: ...
    def solver_cost(self, ridge: float, distance: float) -> float: ...
    def privacy(self, rounds: int = 1) -> Any: ...
    def bounded(
        self, rounds: int | None, best_loss: float | None, *, bias: float = 0.0, shape: Shape | None = None
    ) -> Bound: ...


class Descending(OfPoints, Bounded, Protocol):
    """A gradient method over a convex set."""

    @property
    def kept(self) -> int: ...
    def next(self, x: Array, total: Array, gradient: Array, t: int, kept: Array) -> Array: ...
    def observed(self, rounds: int, best_loss: float, kept: Array) -> Bound: ...


class Deciding(Bounded, Protocol):
    """A learner over decisions that consist of components."""

    @property
    def n(self) -> int: ...
    @property
    def decisions(self) -> Any: ...
    @property
    def sees_all(self) -> bool: ...
    def drawn(self, losses: Array, rng: np.random.Generator) -> tuple[Array, tuple[float, ...]]: ...
    def met(self, losses: Array, picked: list[int], row: Array, kept: tuple[float, ...]) -> Array: ...


class PointTicket(NamedTuple):
    """Fields of a point."""

    player: str
    round: int
    action: tuple[float, ...]
    distance: float


class Point(Written, PointTicket):
    """One move in a convex set; `distance` bounds its distance from the exact minimizer."""

    __slots__ = ()


class PointPlayer(_engine.Book, Book):
    """Player of a convex set: its moves are points, and its losses are functions."""

    learner: OfPoints
    _move = Point

    def __init__(self) -> None:
        super().__init__("", Point)
        #: User-defined losses, whose functions cannot be saved.
        self._seen: list[Loss] = []

    def _admitted(self, move: Point, loss: Any) -> tuple[int, Loss, Array]:
        """Return (round of a pending move, its loss, its point); raise if the move or the loss is invalid."""
        number, loss = self._ticket(move), self.learner.admit(loss)
        if loss.is_sequence:
            raise ValueError(f"loss must be one loss function; got a sequence of {len(loss)}")
        return number, loss, np.array(move.action)

    def _remember(self, loss: Loss) -> None:
        """Store a user-defined loss."""
        if isinstance(loss, RankOne):
            self._seen.append(loss)

    def _refuse_own_losses(self) -> None:
        """Raise if the player has observed user-defined losses, which cannot be saved."""
        if self._seen:
            raise ValueError(
                "a player that observed user-defined losses cannot be saved: a file cannot contain functions"
            )

    def _chosen(self, *rest: Any) -> tuple[Any, ...]:
        action, distance = rest
        numbers = fields.items(action, "move", self.learner.domain.d)
        place = tuple(fields.number(x, "open move", -fields.LARGE, fields.LARGE) for x in numbers)
        return place, fields.number(distance, "distance", 0.0, fields.LARGE)
