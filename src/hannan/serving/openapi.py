"""/openapi.json, made from the routes and the types of their bodies: it cannot say otherwise than the code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from hannan import __version__
from hannan.serving import bodies
from hannan.serving.route import Route

#: Errors of every path, and of those with access tokens, feedback, a learner.
_ALWAYS = {
    "400": "the request is malformed",
    "408": "the head or body of the request did not arrive in time",
    "413": "the body is too large",
    "431": "the head of the request is too large",
    "503": "too much waits for the disk, or the store has ended; try again after Retry-After",
}
_KEYED = {
    "401": "no access token, or an unknown one",
    "403": "the token has another role; the ticket is not this store's; or, without tokens, the request names another "
    "host or comes from another site",
    "415": "without access tokens, the body is not application/json",
}
#: As docs/serving.md has it.
REWARD = "the reward is missing, out of range or a loss (or the reverse), and the decision still open"
_FEEDBACK = {"422": REWARD}
_NAMED = {
    "404": "no such learner",
    "421": "the learner or key is in another shard",
    "409": "a conflict with the present state: a learner of this name with another description, a ticket that another "
    "copy of the store drew, or the limit of keys per learner",
}
_PLAIN = {"/metrics": "text/plain", "/": "text/html", "/v1/learners/{name}/log": "text/csv"}


def description(routes: Sequence[Route]) -> dict[str, Any]:
    """The document."""
    types = [kind for route in routes for kind in (route.body, *route.answers) if kind is not None]
    schemas, parts = msgspec.json.schema_components([*types, bodies.Wrong], ref_template="#/components/schemas/{name}")
    of = dict(zip(map(id, [*types, bodies.Wrong]), schemas, strict=True))
    paths: dict[str, Any] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, of)
    return {
        "openapi": "3.1.0",
        "info": {"title": "hannan", "version": __version__, "description": "Decisions that survive."},
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
    if route.path == "/v1/learners/{name}":
        inside = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
        kind = {"enum": ["text", "number"], "default": "text"}
        return [
            {"name": "delta", "in": "query", "schema": inside},
            {"name": "key", "in": "query", "schema": {"type": "string"}},
            {"name": "kind", "in": "query", "schema": kind, "description": "whether the key is a text or a number"},
        ]
    return []
