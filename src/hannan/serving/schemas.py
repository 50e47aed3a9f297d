"""JSON types of requests and answers. They are the schema of the service, and requests are validated by them."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.json import Decoder, Encoder

#: Id of a decision, or key of a learner, limited so that one request cannot fill the journal.
Text = Annotated[str, Meta(min_length=1, max_length=200)]
Whole = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Key = Text | Whole


#: One number per item of a slate.
Values = Annotated[list[float], Meta(min_length=1, max_length=256)]


class ActBody(Struct, forbid_unknown_fields=True):
    """One decision, `count` decisions, or one decision per key of `keys`. A repeated `id` returns the same decision."""

    key: Key | None = None
    keys: Annotated[list[Key], Meta(min_length=1, max_length=10_000)] | None = None
    id: Text | None = None
    count: Annotated[int, Meta(ge=1, le=10_000)] | None = None


class Feedback(Struct, forbid_unknown_fields=True):
    """Feedback: the reward or the loss of a decision; for a slate, one number per shown item."""

    ticket: Annotated[str, Meta(max_length=4096)]
    reward: float | bool | Values | UnsetType = UNSET
    loss: float | bool | Values | UnsetType = UNSET


class LearnerBody(Struct, forbid_unknown_fields=True):
    """Learner, given by a name such as "bandit:tsallis" with `arms` or `n`, or by a description.

    `gains` states whether a learner that is given by name receives rewards (the default) or losses. A description
    contains this information.
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
    """Name of an arm."""

    arm: Text


class NameBody(Struct, forbid_unknown_fields=True):
    """New name of an arm."""

    name: Text


class Decided(Struct):
    """Decision."""

    ticket: str
    arm: str | int
    action: int
    probability: float


class DecidedSlate(Struct):
    """Slate: items in the order in which they are shown, and the probability that the slate contains each of them.

    `probability` is that of the whole slate, or null if the draw of the learner does not have it.
    """

    ticket: str
    arms: list[str | int]
    actions: list[int]
    probabilities: list[float]
    probability: float | None


class DecidedMany(Struct):
    """Decisions as columns."""

    ticket: list[str]
    arm: list[str | int]
    action: list[int]
    probability: list[float]


class Counted(Struct):
    """Result of feedback: true if it counts now, false if the decision was settled before."""

    counted: bool


class CountedMany(Struct):
    """Results of a list of feedback, in its order."""

    counted: list[bool]


class About(Struct):
    """Learner with its weights and certificate; `weights` is empty if only keys were played."""

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


class KeyAbout(Struct):
    """Key with its numbers of decisions, their average reward or loss, and the most likely arm of its next decision."""

    key: str | int
    decisions: int
    pending: int
    mean: float | None
    arm: str | int
    probability: float


class Keys(Struct):
    """Page of the keys of a learner, those with the most decisions first: number of all keys, and of those found."""

    name: str
    total: int
    found: int
    keys: list[KeyAbout]


class ArmAbout(Struct):
    """Arm: its place among all arms that the learner has had, its color on the page, and its decisions.

    `shown`, `settled` and `total` are the number of decisions, of those with feedback, and the sum of their rewards or
    losses; null if they are not counted. `probability` is that of the next decision; null for all keys together.
    """

    arm: str | int
    index: int
    color: str
    available: bool
    shown: int | None
    settled: int | None
    total: float | None
    probability: float | None


class ArmList(Struct):
    """Arms of the current stage of a learner, or of one key.

    Decisions are counted since `since`, in seconds since 1970; null: since the first one. `on_add` and `on_retire` are
    the effects of adding and of retiring an arm, in words; null if that is not possible. If `privacy` is not empty,
    feedback is randomized before it is stored, and the sums of rewards or losses are estimates.
    """

    name: str
    key: str | int | None
    learner: str
    gains: bool
    loss_range: tuple[float, float]
    wait: float | None
    default: float | None
    keys: int
    unkeyed: int
    pending: int
    stage: int
    since: float | None
    arms: list[ArmAbout]
    privacy: str
    on_add: str | None
    on_retire: str | None
    warnings: list[str]


class ArmEvidence(Struct):
    """Evidence about one arm: estimate, interval, number of decisions, and probability of the next draw."""

    arm: str
    mean: float
    low: float
    high: float
    shown: int
    probability: float | None
    least_probability: float


class Within(Struct):
    """Arm, and the most by which any other arm is better."""

    arm: str
    by: float


class Lead(Struct):
    """Interval for how much one arm is better than another."""

    arm: str
    over: str
    low: float
    high: float


class RealizedRegret(Struct):
    """Upper bound on the realized regret."""

    at_most: float
    kind: str
    holds: str


class Evidence(Struct):
    """Statements about the arms of a learner that are valid at all times."""

    name: str
    alpha: float
    means: str
    decisions: int
    pending: int
    since: str | None
    arms: list[ArmEvidence]
    best: str | None
    sure_since: str | None
    within: Within | None
    more: int | None
    leads: list[Lead]
    regret: RealizedRegret | None
    target: str
    warnings: list[str]
    assumed: dict[str, str]


class Learners(Struct):
    """Names of all learners."""

    learners: list[str]


class Added(Struct):
    """Result of an addition: true if a learner, a stage or an arm is new."""

    added: bool


class Wrong(Struct):
    """Error: a sentence and a machine-readable code."""

    error: str
    code: str


class History(Struct):
    """Weights over time, oldest first: time in seconds since 1970, round, and one weight per arm."""

    arms: list[str | int]
    time: list[float]
    round: list[int]
    weights: list[list[float]]


class Change(Struct):
    """Time at which arms were added or retired, in seconds since 1970, and the change in words."""

    time: float
    text: str


class Shares(Struct):
    """Decisions of every arm over time, oldest first, in bins that are `width` seconds long.

    The arms are all that the learner has had. `time` has the beginning of each bin in seconds since 1970, and
    `decisions` has one number per arm for each bin. Bins without decisions are omitted.
    """

    name: str
    arms: list[str]
    colors: list[str]
    available: list[bool]
    width: float
    time: list[float]
    decisions: list[list[int]]
    changes: list[Change]


class FlagBody(Struct):
    """Evaluation of flags: the context has a `targetingKey`, and optionally a `key` and a `decision`."""

    context: dict[str, Any] | UnsetType = UNSET


class FlagMetadata(Struct):
    """Ticket for feedback, and probability of the value."""

    ticket: str
    probability: float


class Flag(Struct):
    """Evaluated flag, or the error of a flag that was not evaluated."""

    key: str | UnsetType = UNSET
    value: str | bool | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    variant: str | UnsetType = UNSET
    metadata: FlagMetadata | UnsetType = UNSET
    errorCode: str | UnsetType = UNSET  # noqa: N815  # A name of the protocol.
    errorDetails: str | UnsetType = UNSET  # noqa: N815


class Flags(Struct):
    """Evaluated flags of a bulk evaluation."""

    flags: list[Flag]


encode = Encoder().encode
decode_flag = Decoder(FlagBody).decode
decode_act = Decoder(ActBody).decode
decode_feedback = Decoder(Feedback | list[Feedback]).decode
decode_learner = Decoder(LearnerBody).decode
decode_arm = Decoder(ArmBody).decode
decode_name = Decoder(NameBody).decode
