"""Handlers of requests. An answer names the sequence that must be on the disk before the answer is sent.

Handlers neither wait nor use sockets, so that an application can call them directly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, cast
from urllib.parse import parse_qs

import msgspec
from msgspec import UNSET

from hannan import saving, validation
from hannan.client import SlateDecision
from hannan.learners import names
from hannan.players.evidence import Means
from hannan.serving import BODY, BUSY, CODES, UNKNOWN, Ended, Refused, schemas
from hannan.serving.arms import of_key, of_learner
from hannan.serving.decisions import as_json
from hannan.serving.metrics import Histories, Metrics, Shares
from hannan.serving.page import PAGE
from hannan.serving.store import Store
from hannan.serving.tickets import checked_key

JSON, TEXT, CSV, PARQUET, HTML = (
    b"application/json",
    b"text/plain; version=0.0.4",
    b"text/csv; charset=utf-8",
    b"application/vnd.apache.parquet",
    b"text/html; charset=utf-8",
)


class Answer(NamedTuple):
    """Answer to send when all events before `sequence` are on the disk.

    `later` computes the answer in another thread, if it is slow.
    """

    status: int
    body: bytes
    kind: bytes = JSON
    sequence: int = 0
    later: Callable[[], Answer] | None = None
    #: Additional headers.
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Request(NamedTuple):
    """Request; `name` and `arm` are the learner and the arm of its path, and `match` is its If-None-Match header."""

    body: bytes
    name: str = ""
    arm: str = ""
    query: bytes = b""
    match: bytes = b""


@dataclass(frozen=True)
class Limits:
    """Limits of a service.

    Parameters
    ----------
    body : int
        Size of a body in bytes.
    batch : int
        Number of decisions or feedbacks per request.
    queue : int
        Number of events waiting for the disk.
    head_timeout : float
        Time limit for the head of a request, in seconds. `hannan serve` enforces it; a mounted application depends
        on its server.
    body_timeout : float
        Time limit for the body of a request, in seconds.
    """

    body: int = 1 << 20
    batch: int = 1000
    queue: int = 10_000
    head_timeout: float = 10.0
    body_timeout: float = 30.0

    def __post_init__(self) -> None:
        for name in ("head_timeout", "body_timeout"):
            validation.between(getattr(self, name), 0.0, 1e9, name, "(]")


def wrong(error: Exception, name: str = "") -> Answer:
    """Return the answer to a rejected request for the learner `name`, whose state is unchanged."""
    status, code = getattr(error, "status", BODY), getattr(error, "code", CODES[BODY])
    return Answer(status, schemas.encode(schemas.Wrong(str(error), code)))


#: Handler of a route, and function that answers its errors.
Action = Callable[["Service", Request], Answer]
Rejection = Callable[[Exception, str], Answer]


class Service:
    """The handlers of a store. `bulk` names the learners that bulk evaluations of flags include."""

    def __init__(self, store: Store, limits: Limits | None = None, bulk: Iterable[str] = ()) -> None:
        self.store, self.queue, self.limits, self.metrics = store, store.queue, limits or Limits(), Metrics()
        self.shares = Shares(store.queue)
        self.histories, self.bulk = Histories(store.queue), tuple(dict.fromkeys(bulk))

    def handle(self, action: Action, request: Request, rejection: Rejection = wrong) -> Answer:
        """Run a handler; convert its error to an answer."""
        try:
            answer = action(self, request)
        except (ValueError, Ended, msgspec.MsgspecError, RecursionError) as error:
            answer = rejection(error, request.name)
        self.metrics.answers[answer.status] += 1
        return answer

    def check_queue(self) -> None:
        """Raise Refused if too many events wait for the disk."""
        waiting = self.queue.journal.waiting
        if waiting > self.limits.queue:
            raise Refused(BUSY, f"at most {self.limits.queue} events may wait for the disk; got {waiting}. Retry later")

    def check_batch(self, count: int) -> int:
        """Return the size of a batch; raise Refused if it is too large."""
        if count > self.limits.batch:
            raise Refused(BODY, f"a request can have at most {self.limits.batch} decisions or feedbacks; got {count}")
        return count


def act(service: Service, request: Request) -> Answer:
    """Draw a decision, or `count` of them."""
    asked = schemas.decode_act(request.body or b"{}")
    service.check_queue()
    if asked.keys is not None:
        if asked.id is not None or asked.count is not None or asked.key is not None:
            raise Refused(BODY, "keys cannot be combined with key, id or count")
        service.check_batch(len(asked.keys))
        return _many(service, *service.queue.draws_for(request.name, list(asked.keys), as_json))
    if asked.count is None:
        decision, sequence = service.queue.draw(request.name, asked.key, asked.id)
        one = schemas.DecidedSlate if isinstance(decision, SlateDecision) else schemas.Decided
        return Answer(200, schemas.encode(one(*decision)), JSON, sequence)
    if asked.id is not None or asked.key is not None:
        raise Refused(BODY, "count cannot be combined with key or id")
    return _many(service, *service.queue.draws(request.name, service.check_batch(asked.count), as_json))


def _many(service: Service, told: tuple[bytes, list[float]], sequence: int) -> Answer:
    """As `schemas.DecidedMany`, of which all but the probabilities is JSON already."""
    head, probabilities = told
    return Answer(200, head + schemas.encode(probabilities) + b"}", JSON, sequence)


def observe(service: Service, request: Request) -> Answer:
    """Settle a decision, or a list of decisions atomically."""
    asked = schemas.decode_feedback(request.body)
    service.check_queue()
    many = isinstance(asked, list)
    items: list[schemas.Feedback] = asked if isinstance(asked, list) else [asked]
    service.check_batch(len(items))
    feedback = [
        (one.ticket, None if one.reward is UNSET else one.reward, None if one.loss is UNSET else one.loss)
        for one in items
    ]
    counted, sequence = service.queue.settle(feedback)
    return Answer(200, schemas.encode({"counted": counted if many else counted[0]}), JSON, sequence)


def learners(service: Service, request: Request) -> Answer:
    """Return the names of the learners."""
    return Answer(200, schemas.encode(schemas.Learners(list(service.store.learners))))


def add(service: Service, request: Request) -> Answer:
    """Add a learner, or a stage with other arms; repeating the request has no effect."""
    asked = schemas.decode_learner(request.body)
    service.check_queue()
    learner, arms = _built(asked)
    fresh, sequence = service.queue.add(asked.name, learner, arms, asked.wait, asked.default)
    return Answer(201 if fresh else 200, schemas.encode(schemas.Added(fresh)), JSON, sequence)


def _built(asked: schemas.LearnerBody) -> tuple[Any, list[str] | None]:
    """Return (learner, names of its first arms) of a body with a name or a description of the learner."""
    if isinstance(asked.learner, dict):
        if asked.n is not None:
            raise Refused(BODY, "n is part of the description; omit the field n")
        return saving.build(asked.learner), asked.arms
    if asked.n is None and not asked.arms:
        raise Refused(BODY, "arms or n is required: the names or the number of the arms")
    given: Any = list(asked.arms or ()) if asked.n is None else asked.n
    units: dict[str, Any] = {"gains": asked.gains, "loss_range": asked.loss_range}
    kind = names.parse(asked.learner, names.offered("bandit")).kind
    if kind != "bandit":
        raise Refused(BODY, f"a store supports bandit learners only (one observed loss per decision); got {kind}")
    return names.learner(asked.learner, given, **units), None if asked.n is None else asked.arms


def about(service: Service, request: Request) -> Answer:
    """Return a learner and its certificate, of one key with ?key=, with high-probability bounds with ?delta=."""
    query = parse_qs(request.query.decode("latin-1"), keep_blank_values=True)
    delta = float(query["delta"][-1]) if "delta" in query else None
    key = checked_key(_key(query))
    with service.queue.lock:
        stored, sequence = service.queue.look(request.name)
        certificate = stored.certificate(key, delta)
        only_keys = key is None and stored.keys > 0 and not stored.drawn
        weights = [] if only_keys else stored.weights(key)
    bound = None if certificate.bound is None else certificate.bound.value
    about = schemas.About(
        name=stored.name,
        learner=certificate.learner,
        arms=stored.arms.labels,
        keys=stored.keys,
        rounds=certificate.rounds,
        open=certificate.open_moves,
        bound=bound,
        withheld=str(certificate.withheld or ""),
        weights=weights,
        certificate=[(name, str(value)) for name, value in certificate.rows()],
    )
    return Answer(200, schemas.encode(about), JSON, sequence)


def _key(query: dict[str, list[str]]) -> int | str | None:
    """Return the key of a query, such as ?key=anna or ?key=17&kind=number."""
    if "key" not in query:
        return None
    text = query["key"][-1]
    return int(text) if query.get("kind", ["text"])[-1] == "number" else text


def history(service: Service, request: Request) -> Answer:
    """Return the weights of a learner over time, since the start of the service."""
    return Answer(200, schemas.encode(service.histories.of(request.name)))


def arms(service: Service, request: Request) -> Answer:
    """Return the arms of a learner with their decisions, or those of one key with ?key=."""
    key = checked_key(_key(parse_qs(request.query.decode("latin-1"), keep_blank_values=True)))
    with service.queue.lock:
        stored, sequence = service.queue.look(request.name)
        if key is None:
            return Answer(200, schemas.encode(of_learner(stored)), JSON, sequence)
        number = stored.number_of(key)
    if number < 0:
        raise Refused(UNKNOWN, f"{request.name!r} has no key {key!r}", "unknown_key")

    def told() -> Answer:
        return Answer(200, schemas.encode(of_key(service.queue, stored, key, number, sequence)))

    return Answer(200, b"", JSON, later=told)


def keys(service: Service, request: Request) -> Answer:
    """Return keys of a learner, those with the most decisions first, with ?search=, ?start= and ?limit=."""
    query = parse_qs(request.query.decode("latin-1"), keep_blank_values=True)
    start, limit = _number(query, "start", int), _number(query, "limit", int)
    search = query.get("search", [""])[-1]
    found = service.store._listing(request.name, search, 0 if start is None else start, 50 if limit is None else limit)

    def told() -> Answer:
        page = found()
        body = schemas.Keys(request.name, page.total, page.found, [schemas.KeyAbout(*key) for key in page.keys])
        return Answer(200, schemas.encode(body))

    return Answer(200, b"", JSON, later=told)


def shares(service: Service, request: Request) -> Answer:
    """Return the decisions of every arm over time, from the journal."""
    with service.queue.lock:
        _, sequence = service.queue.look(request.name)

    def told() -> Answer:
        service.queue.journal.wait(sequence)
        return Answer(200, schemas.encode(service.shares.of(request.name)))

    return Answer(200, b"", JSON, later=told)


def add_arm(service: Service, request: Request) -> Answer:
    """Add an arm, in a free place or in a new stage of the learner."""
    sequence = service.queue.add_arm(request.name, schemas.decode_arm(request.body).arm)
    return Answer(201, schemas.encode(schemas.Added(True)), JSON, sequence)


def retire_arm(service: Service, request: Request) -> Answer:
    """Retire an arm, which is then never drawn again."""
    sequence = service.queue.retire_arm(request.name, request.arm)
    return Answer(200, schemas.encode(schemas.Added(False)), JSON, sequence)


def rename_arm(service: Service, request: Request) -> Answer:
    """Give an arm another name; its statistics are kept."""
    sequence = service.queue.rename_arm(request.name, request.arm, schemas.decode_name(request.body).name)
    return Answer(200, schemas.encode(schemas.Added(False)), JSON, sequence)


def log(service: Service, request: Request) -> Answer:
    """Return all decisions as CSV, or Parquet with ?format=parquet; ?stage= and ?since= select some of them.

    ?weights=true adds the probabilities of all arms.
    """
    query = parse_qs(request.query.decode("latin-1"))
    form = query.get("format", ["csv"])[-1]
    if form not in ("csv", "parquet"):
        raise Refused(BODY, f"format must be csv or parquet; got {form[:20]!r}")
    weights = query.get("weights", ["false"])[-1]
    if weights not in ("true", "false"):
        raise Refused(BODY, f"weights must be true or false; got {weights[:20]!r}")
    columns = service.store._exporting(
        request.name, _number(query, "stage", int), _number(query, "since", float), weights == "true"
    )
    from hannan.serving.log import exported

    kind = CSV if form == "csv" else PARQUET
    return Answer(200, b"", kind, later=lambda: Answer(200, exported(columns(), form), kind))


def evidence(service: Service, request: Request) -> Answer:
    """Return anytime-valid statements about the arms of a learner, with ?alpha= and ?means=."""
    query = parse_qs(request.query.decode("latin-1"))
    alpha, means = _number(query, "alpha", float), query.get("means", ["any"])[-1]
    try:
        found = service.store._stating(request.name, 0.05 if alpha is None else alpha, cast(Means, means))
    except Refused:
        raise
    except ValueError as error:
        raise Refused(BODY, str(error)) from None

    def told() -> Answer:
        return Answer(200, schemas.encode({"name": request.name, **found().to_dict()}))

    return Answer(200, b"", JSON, later=told)


def _number(query: dict[str, list[str]], name: str, kind: Callable[[str], Any]) -> Any:
    """Return a number of a query, None if it is omitted."""
    if name not in query:
        return None
    try:
        return kind(query[name][-1])
    except ValueError:
        raise Refused(BODY, f"{name} must be a number; got {query[name][-1][:20]!r}") from None


def health(service: Service, request: Request) -> Answer:
    """Report that the process is running."""
    return Answer(200, b'{"ok":true}')


def ready(service: Service, request: Request) -> Answer:
    """Report whether the store can write."""
    service.queue.journal.check()
    service.check_queue()
    return Answer(200, b'{"ready":true}')


def metrics(service: Service, request: Request) -> Answer:
    """Return the metrics in the format of Prometheus."""
    return Answer(200, service.metrics.text(service.queue), TEXT)


def page(service: Service, request: Request) -> Answer:
    """Return a page that compares the arms of the learners, with their weights over time and certificates."""
    return Answer(200, PAGE, HTML)
