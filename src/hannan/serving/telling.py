"""What is said of decisions that were drawn: to a caller as Python's objects, over HTTP as JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from numpy.typing import NDArray

from hannan.serving.resident import Resident
from hannan.serving.tickets import Seal, key_bytes

_NO_KEY = key_bytes(None)


class Decision(NamedTuple):
    """What `act` answers: the ticket to hand back with the feedback, the arm, its number, and its probability."""

    ticket: str
    arm: Any
    action: int
    probability: float


class Decisions(NamedTuple):
    """Many of them, by columns."""

    ticket: list[str]
    arm: list[Any]
    action: list[int]
    probability: list[float]


class Drawn(NamedTuple):
    """Decisions from sequence `first` on: arms, a fleet's tickets, probabilities, and the bytes of keys, if any."""

    first: int
    arms: NDArray[Any]
    tickets: NDArray[Any]
    probabilities: NDArray[Any]
    keys: list[bytes] | None


Told = TypeVar("Told")
Telling = Callable[[Seal, Resident, Drawn], Told]


def listed(seal: Seal, resident: Resident, drawn: Drawn) -> Decisions:
    """Columns of objects."""
    first, arms, tickets, p, keys = drawn
    texts = seal.tickets(resident.stage, arms, first, tickets, p, keys or _NO_KEY)
    actions, names = arms.tolist(), resident.arms.names
    labels = actions if names is None else [names[a] for a in actions]
    return Decisions(texts, labels, actions, p.tolist())


def as_json(seal: Seal, resident: Resident, drawn: Drawn) -> tuple[bytes, list[float]]:
    """The same columns as JSON, up to the probabilities, and those: no ticket becomes an object."""
    first, arms, tickets, p, keys = drawn
    head = seal.answer(resident.stage, resident.arms.json, arms, first, tickets, p, keys or _NO_KEY)
    return head, p.tolist()
