"""Tickets, and the one book of them: what every player does with its moves until their losses come.

The engine's `Book` keeps the moves that are open; here are the words, and what of it goes to a file.
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
from hannan.validation import Array

#: Why there is no bound after a move was dropped.
LOST = "the loss is unknown, and a bound must cover the losses of all moves"
#: Why there is no bound after delayed feedback.
DELAYED = "feedback was delayed (a move was drawn while another was pending)"


class Written:
    """A ticket that goes to JSON and back: beside a tuple's own class among the bases."""

    __slots__ = ()

    if TYPE_CHECKING:
        _fields: ClassVar[Any]

        def _asdict(self) -> dict[str, Any]: ...

    def to_json(self) -> str:
        """The ticket as JSON text: log it, and hand it back after a restart."""
        return json.dumps(self._asdict())

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The ticket of a JSON text."""
        try:
            told = json.loads(text)
            told.pop("arm", None)  # said by the action
            action = told.get("action")
            return cls(**told | {"action": tuple(action) if isinstance(action, list) else action})
        except (AttributeError, TypeError, ValueError) as error:
            raise ValueError(f"a {cls.__name__.lower()} must be JSON with {', '.join(cls._fields)}: {error}") from None


class Ticket(NamedTuple):
    """What a move says."""

    player: str
    round: int
    action: int
    probability: float


class Move(Written, Ticket):
    """The ticket of one decision: hand it back with its loss, at once or much later.

    `arm` is the name of the action where the learner has names for them, else the action itself.

    `player`: whose it is. `round`: which. `action`: what was drawn. `probability`: with which it was drawn, exactly.

    >>> move = Move("p1", 3, 0, 0.25)
    >>> Move.from_json(move.to_json()) == move, move.arm
    (True, 0)
    """

    __slots__ = ()

    arms: ClassVar[tuple[str, ...]] = ()

    @property
    def arm(self) -> Any:
        """The action by its name."""
        return self.arms[self.action] if self.arms else self.action

    def __repr__(self) -> str:
        told = f"arm={self.arm!r}, " if self.arms else ""
        return f"Move(player={self[0]!r}, round={self[1]!r}, action={self[2]!r}, {told}probability={self[3]!r})"

    def to_json(self) -> str:
        """The ticket as JSON text: log it, and hand it back after a restart."""
        return json.dumps(self._asdict() | ({"arm": self.arm} if self.arms else {}))


@functools.lru_cache(maxsize=256)
def move_of(arms: tuple[str, ...]) -> type[Move]:
    """The moves of a learner whose actions have these names; plain ones where they have none.

    >>> move_of(("red", "blue"))("p1", 3, 1, 0.25).arm
    'blue'
    """
    return type("Move", (Move,), {"__slots__": (), "arms": arms}) if arms else Move


class Book(Incarnate):
    """The tickets of a player, with the engine's book before it among the bases.

    `act()` hands out a move; it is settled with its loss, whenever that comes and in whatever order, or forgotten. A
    ticket that is not open here is refused, and nothing changes: one of another player, an altered one, one that was
    settled or forgotten before, also before the player was saved and loaded.
    """

    learner: Any
    #: The class of its moves.
    _move: type[Any]

    if TYPE_CHECKING:  # the engine's book has these

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
        """Close a move whose loss will never come. The bound is withheld from then on."""
        self._forget(self._ticket(move))

    def _ticket(self, move: Any) -> int:
        """The round of an open move; anything else is refused."""
        if not (isinstance(move, tuple) and len(move) == len(self._move._fields)):
            raise ValueError(f"a move must be a {self._move.__name__} that act() returned; got {move!r}")
        player, number = move[0], move[1]
        found = self._open_move(number) if type(number) is int and abs(number) < 1 << 62 else None
        if found is not None and found == move:
            return int(found[1])
        drawn = self._rounds_of(player)
        if found is not None and found[0] == player:
            raise ValueError(f"a move must be as act() returned it, {found}; got {move}")
        if type(number) is int and number in drawn:
            raise ValueError(f"a move must be open; that of round {number} is settled or forgotten already")
        if player != self.id:
            raise ValueError(f"a move must be of this player, {self.id!r}; got one of {player!r}")
        raise ValueError(f"a move must be of a round that was played; got round {number!r}")

    def _rounds_of(self, player: Any) -> range:
        """The rounds that this player drew under an id: its own, or one that it had before it was loaded."""
        first = 1
        for name, last in self.earlier:
            if name == player:
                return range(first, last + 1)
            first = last + 1
        return range(first, self.round + 1) if player == self.id else range(0)

    # What a certificate says of it

    def _standing(self) -> dict[str, Any]:
        """The fields of a certificate that are the same for every player."""
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
        """Return what is proved for delayed feedback."""
        return f"no bound for delayed feedback is proved for {type(self.learner).__name__}"

    # Saving

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the player to one file, whole or not at all; `hannan.load(path)` goes on from it.

        Whoever reads the file knows the stream, and with it the moves that this player will draw: its certificate says
        so from then on.
        """
        saving.write(path, self.content())
        self.resumed = True

    def state(self) -> dict[str, Any]:
        """The state, field by field, open moves too: a copy to look at."""
        return self._saved()

    def content(self) -> dict[str, Any]:
        """What `save` writes, as fields that JSON can hold: the learner, who the player is, and its state."""
        return {
            "kind": "player",
            "learner": saving.describe(self.learner),
            **self._who(),
            "state": packed(self._saved()),
        }

    def _resume(self, content: dict[str, Any]) -> None:
        """Take in a file, every field of it checked."""
        state = unpacked(content["state"])
        if not isinstance(state, dict):
            raise ValueError(f"its state must be fields by name; got {validation.brief(state)}")
        for ticket in fields.items(state["open"], "open moves"):
            player, number, *rest = fields.items(ticket["move"], "open move", len(self._move._fields))
            fields.text(player, "player")
            fields.whole(number, "round of an open move", 1)
            ticket["move"] = move = self._move(player, number, *self._chosen(*rest))
            ticket["kept"] = self._told(move, ticket["plain"], ticket["kept"])
            fields.number(ticket.get("weight", 0.0), "weight", 0.0, 1e30)
        self._restore(state)

    def _chosen(self, *rest: Any) -> tuple[Any, ...]:
        """What a file tells of an open move beside whose and when, checked."""
        raise NotImplementedError

    def _told(self, move: Any, plain: Any, kept: Any) -> Any:
        """What else a file tells of an open move, checked."""
        if plain is not True or kept is not None:
            raise ValueError(f"its open moves must be plain ones; got {validation.brief(kept)}")
        return None

    def _saved(self) -> dict[str, Any]:
        """The state, field by field: here the book."""
        open_ = [{"move": move, "plain": True, "kept": self._kept(move[1])} for move in self.open_moves]
        return {
            "drawn": self.round, "forgotten": self._forgotten, "largest_delay": self._largest_delay, "open": open_,
        }  # fmt: skip

    def _restore(self, state: dict[str, Any]) -> None:
        """Take in a state whose tickets were checked: here the book."""
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
    """Of experts or arms: the engine plays its program."""

    @property
    def smoothing(self) -> Any: ...
    @property
    def loss_range(self) -> tuple[float, float]: ...
    @property
    def gains(self) -> bool: ...
    @property
    def width(self) -> float: ...
    def program(self) -> Any: ...
    def schedule(self) -> Any: ...
    def in_units(self, total: float, rounds: int) -> float: ...
    def tuned_best(self) -> float: ...
    def start(self, seed: int | None = None, name: str | None = None) -> Any: ...


class OfPoints(Protocol):
    """Of points of a convex set, whose losses are functions."""

    @property
    def domain(self) -> Domain: ...
    @property
    def lipschitz(self) -> float: ...
    def admit(self, loss: Any, /) -> Loss: ...


class Perturbed(OfPoints, Protocol):
    """The perturbed leader."""

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
    """A step along the gradient."""

    def next(self, x: Array, total: Array, gradient: Array, t: int) -> Array: ...


class Deciding(Bounded, Protocol):
    """Of decisions that are made of components."""

    @property
    def n(self) -> int: ...
    @property
    def decisions(self) -> Any: ...
    @property
    def sees_all(self) -> bool: ...
    def drawn(self, losses: Array, rng: np.random.Generator) -> tuple[Array, tuple[float, ...]]: ...
    def met(self, losses: Array, picked: list[int], row: Array, kept: tuple[float, ...]) -> Array: ...


class PointTicket(NamedTuple):
    """What a point says."""

    player: str
    round: int
    action: tuple[float, ...]
    distance: float


class Point(Written, PointTicket):
    """The ticket of one move in a convex set, and `distance`: how far at most it is from the exact argmin."""

    __slots__ = ()


class PointPlayer(_engine.Book, Book):
    """Points out, loss functions in."""

    learner: OfPoints
    _move = Point

    def __init__(self) -> None:
        super().__init__("", Point)
        #: Losses of the user's own, whose functions no file holds.
        self._seen: list[Loss] = []

    def _admitted(self, move: Point, loss: Any) -> tuple[int, Loss, Array]:
        """(the round of an open move, its loss, the point played); anything else is refused."""
        number, loss = self._ticket(move), self.learner.admit(loss)
        if loss.is_sequence:
            raise ValueError(f"the loss of a move must be one loss; got a sequence of {len(loss)}")
        return number, loss, np.array(move.action)

    def _remember(self, loss: Loss) -> None:
        """Keep a loss of the user's own."""
        if isinstance(loss, RankOne):
            self._seen.append(loss)

    def _refuse_own_losses(self) -> None:
        """No file can hold a player that met them."""
        if self._seen:
            raise ValueError("a saved player must have losses of the package; a file cannot hold functions of your own")

    def _chosen(self, *rest: Any) -> tuple[Any, ...]:
        action, distance = rest
        numbers = fields.items(action, "move", self.learner.domain.d)
        place = tuple(fields.number(x, "open move", -fields.LARGE, fields.LARGE) for x in numbers)
        return place, fields.number(distance, "distance", 0.0, fields.LARGE)
