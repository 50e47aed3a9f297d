"""What a service is asked and answers, as JSON: the types are the schema, and what does not fit them is refused."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.json import Decoder, Encoder

#: A decision's id, a key of a learner: short, so that a journal cannot be filled by one request.
Text = Annotated[str, Meta(min_length=1, max_length=200)]
Whole = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Key = Text | Whole


class ActBody(Struct, forbid_unknown_fields=True):
    """One decision; with `count`, so many; with `keys`, one for each. `id`: asked again, the same decision is given."""

    key: Key | None = None
    keys: Annotated[list[Key], Meta(min_length=1, max_length=10_000)] | None = None
    id: Text | None = None
    count: Annotated[int, Meta(ge=1, le=10_000)] | None = None


class Feedback(Struct, forbid_unknown_fields=True):
    """The reward of a decision, or its loss."""

    ticket: Annotated[str, Meta(max_length=4096)]
    reward: float | bool | UnsetType = UNSET
    loss: float | bool | UnsetType = UNSET


class LearnerBody(Struct, forbid_unknown_fields=True):
    """A learner: a name of the grammar with `arms` or `n`, such as "bandit:tsallis", or a whole description.

    `gains`: a learner by name is told rewards, unless this is false; then losses. A description says for itself.
    """

    name: str
    learner: str | dict[str, Any] = "bandit"
    arms: list[str] | None = None
    n: Annotated[int, Meta(ge=1, le=65_536)] | None = None
    gains: bool = True
    loss_range: tuple[float, float] = (0.0, 1.0)
    wait: float | None = None
    default: float | None = None


class ArmBody(Struct, forbid_unknown_fields=True):
    """An arm, by its name."""

    arm: Text


class Decided(Struct):
    """A decision."""

    ticket: str
    arm: str | int
    action: int
    probability: float


class DecidedMany(Struct):
    """Decisions, place by place."""

    ticket: list[str]
    arm: list[str | int]
    action: list[int]
    probability: list[float]


class Counted(Struct):
    """Whether feedback counts now; false where it was counted before."""

    counted: bool


class CountedMany(Struct):
    """The same, place by place."""

    counted: list[bool]


class About(Struct):
    """A learner and its certificate."""

    name: str
    learner: str
    arms: list[str | int]
    keys: int
    rounds: int
    open: int
    bound: float | None
    withheld: str
    weights: list[float]
    certificate: list[tuple[str, str]]


class Learners(Struct):
    """All of them."""

    learners: list[str]


class Added(Struct):
    """Whether something is there now that was not."""

    added: bool


class Wrong(Struct):
    """Reason for an error: a sentence, and a machine-readable code."""

    error: str
    code: str


class History(Struct):
    """Weights over time, oldest first: seconds since 1970, the round, a weight for each arm."""

    arms: list[str | int]
    time: list[float]
    round: list[int]
    weights: list[list[float]]


encode = Encoder().encode
decode_act = Decoder(ActBody).decode
decode_feedback = Decoder(Feedback | list[Feedback]).decode
decode_learner = Decoder(LearnerBody).decode
decode_arm = Decoder(ArmBody).decode
