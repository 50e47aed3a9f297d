"""The handler: a request in, an answer out, and the sequence that must be on the disk before it is given.

Nothing here waits and nothing here knows of sockets, so an application of your own can call it too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import parse_qs

import msgspec
from msgspec import UNSET

from hannan import refusals, saving
from hannan.learners import names
from hannan.serving import bodies
from hannan.serving.errors import BODY, BUSY, CODES, Ended, Refused
from hannan.serving.history import Histories
from hannan.serving.metrics import Metrics
from hannan.serving.store import Store
from hannan.serving.telling import as_json
from hannan.serving.tickets import checked_key

JSON, TEXT, CSV, PARQUET, HTML = (
    b"application/json",
    b"text/plain; version=0.0.4",
    b"text/csv; charset=utf-8",
    b"application/vnd.apache.parquet",
    b"text/html; charset=utf-8",
)


class Answer(NamedTuple):
    """What is sent once all before `sequence` is on the disk. `later`: what has to be asked outside the loop."""

    status: int
    body: bytes
    kind: bytes = JSON
    sequence: int = 0
    later: Callable[[], Answer] | None = None


class Request(NamedTuple):
    """What was asked: `name` is the learner of the path, `arm` the arm of it."""

    body: bytes
    name: str = ""
    arm: str = ""
    query: bytes = b""


@dataclass(frozen=True)
class Limits:
    """Limits of a service.

    Parameters
    ----------
    body : int
        Bytes of a body.
    batch : int
        Decisions or feedbacks of one request.
    queue : int
        Events in the queue to the disk.
    head_timeout : float
        Seconds in which the head of a request must arrive. `hannan serve` enforces it; a mounted application depends
        on its server.
    body_timeout : float
        Seconds in which the body of a request must arrive.
    """

    body: int = 1 << 20
    batch: int = 1000
    queue: int = 10_000
    head_timeout: float = 10.0
    body_timeout: float = 30.0

    def __post_init__(self) -> None:
        for name in ("head_timeout", "body_timeout"):
            refusals.between(getattr(self, name), 0.0, 1e9, name, "(]")


class Service:
    """The handlers of a store."""

    def __init__(self, store: Store, limits: Limits | None = None) -> None:
        self.store, self.desk, self.limits, self.metrics = store, store.desk, limits or Limits(), Metrics()
        self.histories = Histories(store.desk)

    def refused(self, error: Exception) -> Answer:
        """Return the answer to a rejected request, whose state is unchanged."""
        status, code = getattr(error, "status", BODY), getattr(error, "code", CODES[BODY])
        return Answer(status, bodies.encode(bodies.Wrong(str(error), code)))

    def handle(self, action: Callable[[Service, Request], Answer], request: Request) -> Answer:
        """Do it; what cannot be done is answered with the reason."""
        try:
            answer = action(self, request)
        except (ValueError, Ended, msgspec.MsgspecError, RecursionError) as error:
            answer = self.refused(error)
        self.metrics.answers[answer.status] += 1
        return answer

    def room(self) -> None:
        """Refuse what would have to wait behind too much."""
        waiting = self.desk.journal.waiting
        if waiting > self.limits.queue:
            raise Refused(BUSY, f"at most {self.limits.queue} events may wait for the disk; {waiting} do")

    def within(self, count: int) -> int:
        """The size of a batch."""
        if count > self.limits.batch:
            raise Refused(BODY, f"a batch must be at most {self.limits.batch}; got {count}")
        return count


def act(service: Service, request: Request) -> Answer:
    """Draw a decision, or `count` of them."""
    asked = bodies.decode_act(request.body or b"{}")
    service.room()
    if asked.keys is not None:
        if asked.id is not None or asked.count is not None or asked.key is not None:
            raise Refused(BODY, "keys asks for a decision each; got key, id or count too")
        service.within(len(asked.keys))
        return _many(service, *service.desk.draws_for(request.name, list(asked.keys), as_json))
    if asked.count is None:
        decision, sequence = service.desk.draw(request.name, asked.key, asked.id)
        return Answer(200, bodies.encode(bodies.Decided(*decision)), JSON, sequence)
    if asked.id is not None or asked.key is not None:
        raise Refused(BODY, "id and key ask for one decision; got count too")
    return _many(service, *service.desk.draws(request.name, service.within(asked.count), as_json))


def _many(service: Service, told: tuple[bytes, list[float]], sequence: int) -> Answer:
    """As `bodies.DecidedMany`, of which all but the probabilities is JSON already."""
    head, probabilities = told
    return Answer(200, head + bodies.encode(probabilities) + b"}", JSON, sequence)


def observe(service: Service, request: Request) -> Answer:
    """Settle a decision, or a list of them: all or none."""
    asked = bodies.decode_feedback(request.body)
    service.room()
    many = isinstance(asked, list)
    items: list[bodies.Feedback] = asked if isinstance(asked, list) else [asked]
    service.within(len(items))
    feedback = [
        (one.ticket, None if one.reward is UNSET else one.reward, None if one.loss is UNSET else one.loss)
        for one in items
    ]
    counted, sequence = service.desk.settle(feedback)
    return Answer(200, bodies.encode({"counted": counted if many else counted[0]}), JSON, sequence)


def learners(service: Service, request: Request) -> Answer:
    """The names of the learners."""
    return Answer(200, bodies.encode(bodies.Learners(list(service.store.learners))))


def add(service: Service, request: Request) -> Answer:
    """Add a learner; the same again is no mistake."""
    asked = bodies.decode_learner(request.body)
    service.room()
    learner, arms = _built(asked)
    fresh, sequence = service.desk.add(asked.name, learner, arms, asked.wait, asked.default)
    return Answer(201 if fresh else 200, bodies.encode(bodies.Added(fresh)), JSON, sequence)


def _built(asked: bodies.LearnerBody) -> tuple[Any, list[str] | None]:
    """(a learner, the names of its first arms) of a body: by the grammar of names, or by its description."""
    if isinstance(asked.learner, dict):
        if asked.n is not None:
            raise Refused(BODY, "n is in the description; got it twice")
        return saving.build(asked.learner), asked.arms
    if asked.n is None and not asked.arms:
        raise Refused(BODY, "a learner must have arms, by their names or by their number n; got neither")
    given: Any = list(asked.arms or ()) if asked.n is None else asked.n
    units: dict[str, Any] = {"gains": asked.gains, "loss_range": asked.loss_range}
    kind = names.parse(asked.learner, names.offered("bandit")).kind
    if kind != "bandit":
        raise Refused(BODY, f"a store takes learners that see one number: bandit; got {kind}")
    return names.learner(asked.learner, given, **units), None if asked.n is None else asked.arms


def about(service: Service, request: Request) -> Answer:
    """A learner and its certificate; ?key= of a keyed one, ?delta= for what holds of this very run."""
    query = parse_qs(request.query.decode("latin-1"), keep_blank_values=True)
    delta = float(query["delta"][-1]) if "delta" in query else None
    key = checked_key(_key(query))
    with service.desk.lock:
        resident, sequence = service.desk.look(request.name)
        told, weights = resident.certificate(key, delta), resident.weights(key)
    bound = None if told.bound is None else told.bound.value
    about = bodies.About(
        resident.name, told.learner, resident.arms.labels, resident.keys, told.rounds, told.open_moves, bound,
        str(told.withheld or ""), weights, [(name, str(value)) for name, value in told.rows()],
    )  # fmt: skip
    return Answer(200, bodies.encode(about), JSON, sequence)


def _key(query: dict[str, list[str]]) -> int | str | None:
    """The key of a query: ?key=anna, or ?key=17&kind=number."""
    if "key" not in query:
        return None
    text = query["key"][-1]
    return int(text) if query.get("kind", ["text"])[-1] == "number" else text


def history(service: Service, request: Request) -> Answer:
    """The weights of a learner over time, since this process began."""
    return Answer(200, bodies.encode(service.histories.of(request.name)))


def add_arm(service: Service, request: Request) -> Answer:
    """Let a new arm take a free place."""
    sequence = service.desk.add_arm(request.name, bodies.decode_arm(request.body).arm)
    return Answer(201, bodies.encode(bodies.Added(True)), JSON, sequence)


def retire_arm(service: Service, request: Request) -> Answer:
    """Never draw an arm again."""
    sequence = service.desk.retire_arm(request.name, request.arm)
    return Answer(200, bodies.encode(bodies.Added(False)), JSON, sequence)


def log(service: Service, request: Request) -> Answer:
    """Return all decisions as CSV, or Parquet with ?format=parquet; ?stage= and ?since= select some of them."""
    query = parse_qs(request.query.decode("latin-1"))
    form = query.get("format", ["csv"])[-1]
    if form not in ("csv", "parquet"):
        raise Refused(BODY, f"format must be csv or parquet; got {form[:20]!r}")
    columns = service.store._exporting(request.name, _number(query, "stage", int), _number(query, "since", float))
    from hannan.serving.export import exported

    kind = CSV if form == "csv" else PARQUET
    return Answer(200, b"", kind, later=lambda: Answer(200, exported(columns(), form), kind))


def _number(query: dict[str, list[str]], name: str, kind: Callable[[str], Any]) -> Any:
    """Return a number of a query, None if it is omitted."""
    if name not in query:
        return None
    try:
        return kind(query[name][-1])
    except ValueError:
        raise Refused(BODY, f"{name} must be a number; got {query[name][-1][:20]!r}") from None


def health(service: Service, request: Request) -> Answer:
    """The process answers."""
    return Answer(200, b'{"ok":true}')


def ready(service: Service, request: Request) -> Answer:
    """The store can write."""
    service.desk.journal.check()
    service.room()
    return Answer(200, b'{"ready":true}')


def metrics(service: Service, request: Request) -> Answer:
    """For Prometheus."""
    return Answer(200, service.metrics.text(service.desk), TEXT)
