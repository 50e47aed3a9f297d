"""Handlers of requests. An answer names the sequence that must be on the disk before the answer is sent.

Handlers neither wait nor use sockets, so that an application can call them directly.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast
from urllib.parse import parse_qs

import msgspec
from msgspec import UNSET

from hannan import __version__, saving, validation
from hannan.learners import names
from hannan.players.evidence import Means
from hannan.serving import BODY, BUSY, CODES, Ended, Refused, schemas
from hannan.serving import schemas as bodies
from hannan.serving.decisions import DecisionQueue, as_json
from hannan.serving.schemas import PAGE, History
from hannan.serving.store import Store
from hannan.serving.tickets import checked_key

#: Number of samples kept per learner; when there are twice as many, every second one is deleted.
KEPT = 256


class Histories:
    """Samples of the weights of every learner since the start of this process."""

    def __init__(self, queue: DecisionQueue) -> None:
        self._queue = queue
        #: Samples by number of the stage, because stages have different arms.
        self._kept: dict[int, list[tuple[float, int, list[float]]]] = {}

    def sample(self) -> None:
        """Sample the weights of every learner that was played since its last sample."""
        for name in list(self._queue.contents.by_name):
            seen = self._kept.setdefault(self._queue.contents.by_name[name].number, [])
            now, rounds, weights = self._now(name)
            if not seen or seen[-1][1] != rounds:
                seen.append((now, rounds, weights))
            if len(seen) >= 2 * KEPT:
                del seen[1:-1:2]

    def _now(self, name: str) -> tuple[float, int, list[float]]:
        with self._queue.lock:
            stored = self._queue.contents.find(name)
            return self._queue.journal.clock.now(), stored.drawn, stored.weights()

    def of(self, name: str) -> History:
        """Return the samples of a learner, the last one taken now."""
        with self._queue.lock:
            stored = self._queue.contents.find(name)
            seen = [*self._kept.get(stored.number, []), self._now(name)]
        arms: list[Any] = stored.arms.labels
        times, rounds, weights = (list(column) for column in zip(*seen, strict=True))
        return History(arms, times, rounds, weights)


#: Name, type, help text, and samples (suffix with labels, value) of a family of metrics.
Family = tuple[str, str, str, list[tuple[str, Any]]]


class Metrics:
    """Answers of a service by status; all other numbers are read from the store."""

    def __init__(self) -> None:
        self.answers: Counter[int] = Counter()

    def text(self, queue: DecisionQueue) -> bytes:
        """Return all metrics as text."""
        with queue.lock:
            families = [*self._families(queue), *_per_arm(queue)]
        lines = []
        for name, kind, says, samples in families:
            lines += [f"# HELP hannan_{name} {says}", f"# TYPE hannan_{name} {kind}"]
            lines += [f"hannan_{name}{labels} {value}" for labels, value in samples]
        return ("\n".join(lines) + "\n").encode("utf-8", "replace")

    def _families(self, queue: DecisionQueue) -> list[Family]:
        journal, learners, counts = queue.journal, list(queue.contents.by_name.values()), queue.counts
        return [
            ("decisions_total", "counter", "Decisions drawn since the store was opened.", [("", counts.decisions)]),
            ("feedback_total", "counter", "Feedback that counted.", [("", counts.counted)]),
            ("repeats_total", "counter", "Feedback that was counted before.", [("", counts.repeats)]),
            ("answers_total", "counter", "Answers by status.", [
                (_labels(status=status), count) for status, count in sorted(self.answers.items())]),
            ("events_total", "counter", "Events of the journal in this process.", [
                ("", journal.committed - journal.opened_at)]),
            ("groups_total", "counter", "Groups written to the disk.", [("", journal.groups)]),
            ("commit_seconds_total", "counter", "Seconds spent writing them.", [("", journal.busy)]),
            ("commit_seconds_last", "gauge", "Seconds that the last group took.", [("", journal.last)]),
            ("commit_seconds_most", "gauge", "Seconds that the slowest group took.", [("", journal.most)]),
            ("queue", "gauge", "Events that wait for the disk.", [("", journal.waiting)]),
            ("replay_seconds", "gauge", "Seconds that recovery took at the opening.", [("", journal.replayed)]),
            ("snapshot_age_seconds", "gauge", "Seconds since the last snapshot.", [("", journal.age)]),
            ("open_decisions", "gauge", "Decisions without feedback.", [
                (_labels(learner=one.name), sum(stage.open for stage in one.stages)) for one in learners]),
            ("keys", "gauge", "Keys of learners.", [
                (_labels(learner=one.name), one.keys) for one in learners]),
            ("by_default_total", "counter", "Decisions settled by default.", [
                (_labels(learner=one.name), sum(stage.expiry.count for stage in one.stages if stage.expiry))
                for one in learners if one.expiry is not None]),
        ]  # fmt: skip


def _per_arm(queue: DecisionQueue) -> list[Family]:
    """Return the metrics of every arm; the number of samples grows with learners and arms, and not with keys."""
    learners = queue.contents.by_name
    for stored in learners.values():
        for action in stored.arms.available:  # The counts of an arm that was never drawn are 0.
            queue.counts.tally(stored.name, stored.arms.label(action))
    draws: list[tuple[str, Any]] = []
    settled: dict[bool, list[tuple[str, Any]]] = {True: [], False: []}
    for (name, label), tally in queue.counts.arms.items():
        labels = _labels(learner=name, arm=label)
        draws.append((labels, tally.draws))
        settled[learners[name].learner.gains] += [(f"_sum{labels}", tally.sum), (f"_count{labels}", tally.settled)]
    kinds = [(name, settled[gains]) for name, gains in (("reward", True), ("loss", False)) if settled[gains]]
    return [
        ("draws_total", "counter", "Decisions drawn, by arm.", draws),
        *((name, "summary", f"Settled decisions and the sum of their {name}, defaults included, by arm.", samples)
          for name, samples in kinds),
    ]  # fmt: skip


def _labels(**values: Any) -> str:
    r"""Return labels, with backslash, quote and newline escaped.

    >>> print(_labels(learner="banner", arm='say "hi"'))
    {learner="banner",arm="say \"hi\""}
    """
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in values.items()) + "}"


def _escaped(value: Any) -> str:
    return str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


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


class Request(NamedTuple):
    """Request; `name` and `arm` are the learner and the arm of its path."""

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


class Service:
    """The handlers of a store."""

    def __init__(self, store: Store, limits: Limits | None = None) -> None:
        self.store, self.queue, self.limits, self.metrics = store, store.queue, limits or Limits(), Metrics()
        self.histories = Histories(store.queue)

    def refused(self, error: Exception) -> Answer:
        """Return the answer to a rejected request, whose state is unchanged."""
        status, code = getattr(error, "status", BODY), getattr(error, "code", CODES[BODY])
        return Answer(status, schemas.encode(schemas.Wrong(str(error), code)))

    def handle(self, action: Callable[[Service, Request], Answer], request: Request) -> Answer:
        """Run a handler; convert its error to an answer."""
        try:
            answer = action(self, request)
        except (ValueError, Ended, msgspec.MsgspecError, RecursionError) as error:
            answer = self.refused(error)
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
        return Answer(200, schemas.encode(schemas.Decided(*decision)), JSON, sequence)
    if asked.id is not None or asked.key is not None:
        raise Refused(BODY, "count cannot be combined with key or id")
    return _many(service, *service.queue.draws(request.name, service.check_batch(asked.count), as_json))


def _many(service: Service, told: tuple[bytes, list[float]], sequence: int) -> Answer:
    """As `bodies.DecidedMany`, of which all but the probabilities is JSON already."""
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
        certificate, weights = stored.certificate(key, delta), stored.weights(key)
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


def add_arm(service: Service, request: Request) -> Answer:
    """Add an arm, in a free place or in a new stage of the learner."""
    sequence = service.queue.add_arm(request.name, schemas.decode_arm(request.body).arm)
    return Answer(201, schemas.encode(schemas.Added(True)), JSON, sequence)


def retire_arm(service: Service, request: Request) -> Answer:
    """Retire an arm, which is then never drawn again."""
    sequence = service.queue.retire_arm(request.name, request.arm)
    return Answer(200, schemas.encode(schemas.Added(False)), JSON, sequence)


def log(service: Service, request: Request) -> Answer:
    """Return all decisions as CSV, or Parquet with ?format=parquet; ?stage= and ?since= select some of them."""
    query = parse_qs(request.query.decode("latin-1"))
    form = query.get("format", ["csv"])[-1]
    if form not in ("csv", "parquet"):
        raise Refused(BODY, f"format must be csv or parquet; got {form[:20]!r}")
    columns = service.store._exporting(request.name, _number(query, "stage", int), _number(query, "since", float))
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


class Route(NamedTuple):
    """Method, path, required role (None: no token, "": any token), handler, and types of body and answers."""

    method: str
    path: str
    role: str | None
    action: Callable[[Service, Request], Answer]
    body: Any = None
    answers: tuple[Any, ...] = ()


#: Errors of every path, and of those with access tokens, feedback, a learner.
_ALWAYS = {
    "400": "the request is malformed",
    "408": "the head or body of the request did not arrive in time",
    "413": "the body is too large",
    "431": "the head of the request is too large",
    "503": "too many events wait for the disk, or the store has ended; retry after Retry-After",
}
_KEYED = {
    "401": "no access token, or an unknown one",
    "403": "the token has another role; the ticket is invalid; or, without tokens, the request names another "
    "host or comes from another site",
    "415": "without access tokens, the body is not application/json",
}
REWARD = "the reward or loss is missing, out of range, or of the wrong kind; the decision remains pending"
_FEEDBACK = {"422": REWARD}
_NAMED = {
    "404": "no such learner",
    "421": "the learner or key is in another shard",
    "409": "a conflict with the current state: a learner of this name with another description, a ticket that another "
    "copy of the store drew, or the limit of keys per learner",
}
_PLAIN = {"/metrics": "text/plain", "/": "text/html", "/v1/learners/{name}/log": "text/csv"}


def description(routes: Sequence[Route]) -> dict[str, Any]:
    """Return the OpenAPI document."""
    types = [kind for route in routes for kind in (route.body, *route.answers) if kind is not None]
    schemas, parts = msgspec.json.schema_components([*types, bodies.Wrong], ref_template="#/components/schemas/{name}")
    of = dict(zip(map(id, [*types, bodies.Wrong]), schemas, strict=True))
    paths: dict[str, Any] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, of)
    return {
        "openapi": "3.1.0",
        "info": {"title": "hannan", "version": __version__, "description": "Durable bandit decisions."},
        "paths": paths,
        "components": {"schemas": parts, "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}}},
    }


def _operation(route: Route, of: dict[int, Any]) -> dict[str, Any]:
    says = {
        **_ALWAYS,
        **(_KEYED if route.role is not None else {}),
        **(_FEEDBACK if route.path == "/v1/observe" else {}),
        **(_NAMED if "/v1/" in route.path else {}),
    }
    wrong = {"application/json": {"schema": of[id(bodies.Wrong)]}}
    answers: dict[str, Any] = {status: {"description": text, "content": wrong} for status, text in says.items()}
    kind = _PLAIN.get(route.path, "application/json")
    given = [of[id(answer)] for answer in route.answers]
    content: dict[str, Any] = {kind: {"schema": given[0] if len(given) == 1 else {"anyOf": given}} if given else {}}
    if route.path.endswith("/log"):
        content["application/vnd.apache.parquet"] = {}
    for status in ("200", "201") if route.method == "POST" and route.role == "admin" else ("200",):
        answers[status] = {"description": route.action.__doc__, "content": content}
    told: dict[str, Any] = {
        "operationId": route.action.__name__, "summary": route.action.__doc__, "responses": answers,
        "parameters": [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
            for name in ("name", "arm") if f"{{{name}}}" in route.path
        ] + _queries(route),
    }  # fmt: skip
    if route.body is not None:
        needed = route.path != "/v1/learners/{name}/act"
        told["requestBody"] = {"required": needed, "content": {"application/json": {"schema": of[id(route.body)]}}}
    if route.role is not None:
        told["security"] = [{"bearer": []}]
    return told


def _queries(route: Route) -> list[dict[str, Any]]:
    if route.path.endswith("/log"):
        return [
            {"name": "format", "in": "query", "schema": {"enum": ["csv", "parquet"]}},
            {"name": "stage", "in": "query", "schema": {"type": "integer", "minimum": 1}},
            {"name": "since", "in": "query", "schema": {"type": "number", "minimum": 0}},
        ]
    inside = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
    if route.path.endswith("/evidence"):
        return [
            {"name": "alpha", "in": "query", "schema": inside},
            {"name": "means", "in": "query", "schema": {"enum": ["any", "fixed"]}},
        ]
    if route.path == "/v1/learners/{name}":
        kind = {"enum": ["text", "number"], "default": "text"}
        return [
            {"name": "delta", "in": "query", "schema": inside},
            {"name": "key", "in": "query", "schema": {"type": "string"}},
            {"name": "kind", "in": "query", "schema": kind, "description": "whether the key is a string or an integer"},
        ]
    return []


def openapi(service: Service, request: Request) -> Answer:
    """Return this description of the service."""
    return Answer(200, msgspec.json.encode(description(ROUTES)))


def page(service: Service, request: Request) -> Answer:
    """Return a page with the learners, their weights and certificates."""
    return Answer(200, PAGE, HTML)


ROUTES = (
    Route("POST", "/v1/learners/{name}/act", "act", act, schemas.ActBody, (schemas.Decided, schemas.DecidedMany)),
    Route("POST", "/v1/observe", "observe", observe, schemas.Feedback | list[schemas.Feedback],
          (schemas.Counted, schemas.CountedMany)),
    Route("GET", "/v1/learners", "", learners, None, (schemas.Learners,)),
    Route("POST", "/v1/learners", "admin", add, schemas.LearnerBody, (schemas.Added,)),
    Route("GET", "/v1/learners/{name}", "", about, None, (schemas.About,)),
    Route("GET", "/v1/learners/{name}/weights", "", history, None, (schemas.History,)),
    Route("GET", "/v1/learners/{name}/evidence", "", evidence, None, (schemas.Evidence,)),
    Route("GET", "/v1/learners/{name}/log", "admin", log),
    Route("POST", "/v1/learners/{name}/arms", "admin", add_arm, schemas.ArmBody, (schemas.Added,)),
    Route("DELETE", "/v1/learners/{name}/arms/{arm}", "admin", retire_arm, None, (schemas.Added,)),
    Route("GET", "/healthz", None, health),
    Route("GET", "/readyz", None, ready),
    Route("GET", "/metrics", "", metrics),
    Route("GET", "/openapi.json", None, openapi),
    Route("GET", "/", None, page),
)  # fmt: skip
_PATTERNS = [(route, re.compile("^" + re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", route.path) + "$")) for route in ROUTES]
_EXACT = {(route.method, route.path): route for route in ROUTES if "{" not in route.path}
_ACT = ROUTES[0]


def routed(method: str, path: str) -> tuple[Route, str, str]:
    """Return (route, learner, arm) of a path whose percent-encoding is decoded; raise Refused if there is none."""
    if method == "POST" and path.endswith("/act") and path.startswith("/v1/learners/") and path.count("/") == 4:
        return _ACT, path[13:-4], ""
    found = _EXACT.get((method, path))
    if found is not None:
        return found, "", ""
    methods = []
    for route, pattern in _PATTERNS:
        match = pattern.match(path)
        if match is None:
            continue
        if route.method == method:
            parts = match.groupdict()
            return route, parts.get("name", ""), parts.get("arm", "")
        methods.append(route.method)
    if methods:
        raise Refused(405, f"{path[:100]} accepts {', '.join(methods)}; got {method[:20]}")
    raise Refused(404, f"no such path: {path[:100]}", "unknown_path")
