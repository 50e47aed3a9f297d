"""Paths of the service and their description as an OpenAPI document."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from hannan import __version__
from hannan.serving import Refused, ofrep, schemas, service
from hannan.serving.keys import MAX_PAGE
from hannan.serving.service import Action, Answer, Rejection, Request, Service, wrong


class Route(NamedTuple):
    """Method, path, required role (None: no token, "": any token), handler, and types of body and answers.

    `rejection` answers errors, whose JSON type is `wrong`. With `api_key` the token may be in the header X-API-Key.
    """

    method: str
    path: str
    role: str | None
    action: Action
    body: Any = None
    answers: tuple[Any, ...] = ()
    rejection: Rejection = wrong
    wrong: Any = schemas.Wrong
    api_key: bool = False


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
    "404": "no such learner, or no such key",
    "421": "the learner or key is in another shard",
    "409": "a conflict with the current state: a learner of this name with another description, a ticket that another "
    "copy of the store drew, or the limit of keys per learner",
}
_FLAG = {
    "304": "the flags are those of the tag in If-None-Match",
    "404": "no such flag",
    "429": "too many events wait for the disk; retry after Retry-After",
}
_PLAIN = {"/metrics": "text/plain", "/": "text/html", "/v1/learners/{name}/log": "text/csv"}


def description(routes: Sequence[Route]) -> dict[str, Any]:
    """Return the OpenAPI document."""
    types = [kind for route in routes for kind in (route.body, *route.answers, route.wrong) if kind is not None]
    found, parts = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    of = dict(zip(map(id, types), found, strict=True))
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
        **(_FLAG if route.wrong is schemas.Flag else {}),
    }
    content = {"application/json": {"schema": of[id(route.wrong)]}}
    answers: dict[str, Any] = {status: {"description": text, "content": content} for status, text in says.items()}
    if route.wrong is schemas.Flag:  # Errors of access, and unchanged flags, have no body.
        for status in ("304", "401", "403"):
            del answers[status]["content"]
    kind = _PLAIN.get(route.path, "application/json")
    given = [of[id(answer)] for answer in route.answers]
    content = {kind: {"schema": given[0] if len(given) == 1 else {"anyOf": given}} if given else {}}
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
            {"name": "weights", "in": "query", "schema": {"type": "boolean", "default": False}},
            {"name": "since", "in": "query", "schema": {"type": "number", "minimum": 0}},
        ]
    inside = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
    if route.path.endswith("/evidence"):
        return [
            {"name": "alpha", "in": "query", "schema": inside},
            {"name": "means", "in": "query", "schema": {"enum": ["any", "fixed"]}},
        ]
    if route.path.endswith("/keys"):
        page = {"type": "integer", "minimum": 1, "maximum": MAX_PAGE, "default": 50}
        return [
            {"name": "search", "in": "query", "schema": {"type": "string"}, "description": "part of the key"},
            {"name": "start", "in": "query", "schema": {"type": "integer", "minimum": 0, "default": 0}},
            {"name": "limit", "in": "query", "schema": page},
        ]
    if route.method == "GET" and route.path in ("/v1/learners/{name}", "/v1/learners/{name}/arms"):
        kind = {"enum": ["text", "number"], "default": "text"}
        one = [
            {"name": "key", "in": "query", "schema": {"type": "string"}},
            {"name": "kind", "in": "query", "schema": kind, "description": "whether the key is a string or an integer"},
        ]
        return one if route.path.endswith("/arms") else [{"name": "delta", "in": "query", "schema": inside}, *one]
    return []


def openapi(_: Service, request: Request) -> Answer:
    """Return this description of the service."""
    return Answer(200, msgspec.json.encode(description(ROUTES)))


ROUTES = (
    Route("POST", "/v1/learners/{name}/act", "act", service.act, schemas.ActBody,
          (schemas.Decided, schemas.DecidedMany, schemas.DecidedSlate)),
    Route("POST", "/v1/observe", "observe", service.observe, schemas.Feedback | list[schemas.Feedback],
          (schemas.Counted, schemas.CountedMany)),
    Route("GET", "/v1/learners", "", service.learners, None, (schemas.Learners,)),
    Route("POST", "/v1/learners", "admin", service.add, schemas.LearnerBody, (schemas.Added,)),
    Route("GET", "/v1/learners/{name}", "", service.about, None, (schemas.About,)),
    Route("GET", "/v1/learners/{name}/weights", "", service.history, None, (schemas.History,)),
    Route("GET", "/v1/learners/{name}/shares", "", service.shares, None, (schemas.Shares,)),
    Route("GET", "/v1/learners/{name}/evidence", "", service.evidence, None, (schemas.Evidence,)),
    Route("GET", "/v1/learners/{name}/keys", "", service.keys, None, (schemas.Keys,)),
    Route("GET", "/v1/learners/{name}/log", "admin", service.log),
    Route("GET", "/v1/learners/{name}/arms", "", service.arms, None, (schemas.ArmList,)),
    Route("POST", "/v1/learners/{name}/arms", "admin", service.add_arm, schemas.ArmBody, (schemas.Added,)),
    Route("DELETE", "/v1/learners/{name}/arms/{arm}", "admin", service.retire_arm, None, (schemas.Added,)),
    Route("PATCH", "/v1/learners/{name}/arms/{arm}", "admin", service.rename_arm, schemas.NameBody, (schemas.Added,)),
    Route("POST", "/ofrep/v1/evaluate/flags/{name}", "act", ofrep.evaluate, schemas.FlagBody, (schemas.Flag,),
          rejection=ofrep.rejection, wrong=schemas.Flag, api_key=True),
    Route("POST", "/ofrep/v1/evaluate/flags", "act", ofrep.evaluate_all, schemas.FlagBody, (schemas.Flags,),
          rejection=ofrep.rejection, wrong=schemas.Flag, api_key=True),
    Route("GET", "/healthz", None, service.health),
    Route("GET", "/readyz", None, service.ready),
    Route("GET", "/metrics", "", service.metrics),
    Route("GET", "/openapi.json", None, openapi),
    Route("GET", "/", None, service.page),
)  # fmt: skip
#: The name of an arm may contain slashes: an encoded slash of a path is decoded before the path is matched.
_PARTS = {"name": r"(?P<name>[^/]+)", "arm": r"(?P<arm>.+)"}
_PATTERNS = [
    (route, re.compile(re.sub(r"\{(\w+)\}", lambda part: _PARTS[part[1]], route.path), re.DOTALL)) for route in ROUTES
]
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
        match = pattern.fullmatch(path)
        if match is None:
            continue
        if route.method == method:
            parts = match.groupdict()
            return route, parts.get("name", ""), parts.get("arm", "")
        methods.append(route.method)
    if methods:
        raise Refused(405, f"{path[:100]} accepts {', '.join(methods)}; got {method[:20]}")
    raise Refused(404, f"no such path: {path[:100]}", "unknown_path")
