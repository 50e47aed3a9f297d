"""Every path of the service, once: requests find their handler here, and /openapi.json is made from it."""

from __future__ import annotations

import re

import msgspec

from hannan.serving import bodies, service
from hannan.serving.errors import Refused
from hannan.serving.openapi import description
from hannan.serving.page import PAGE
from hannan.serving.route import Route
from hannan.serving.service import HTML, Answer, Request, Service


def openapi(service: Service, request: Request) -> Answer:
    """What is here, for machines."""
    return Answer(200, msgspec.json.encode(description(ROUTES)))


def page(service: Service, request: Request) -> Answer:
    """What is here, for people."""
    return Answer(200, PAGE, HTML)


ROUTES = (
    Route("POST", "/v1/learners/{name}/act", "act", service.act, bodies.ActBody, (bodies.Decided, bodies.DecidedMany)),
    Route("POST", "/v1/observe", "observe", service.observe, bodies.Feedback | list[bodies.Feedback],
          (bodies.Counted, bodies.CountedMany)),
    Route("GET", "/v1/learners", "", service.learners, None, (bodies.Learners,)),
    Route("POST", "/v1/learners", "admin", service.add, bodies.LearnerBody, (bodies.Added,)),
    Route("GET", "/v1/learners/{name}", "", service.about, None, (bodies.About,)),
    Route("GET", "/v1/learners/{name}/weights", "", service.history, None, (bodies.History,)),
    Route("GET", "/v1/learners/{name}/log", "admin", service.log),
    Route("POST", "/v1/learners/{name}/arms", "admin", service.add_arm, bodies.ArmBody, (bodies.Added,)),
    Route("DELETE", "/v1/learners/{name}/arms/{arm}", "admin", service.retire_arm, None, (bodies.Added,)),
    Route("GET", "/healthz", None, service.health),
    Route("GET", "/readyz", None, service.ready),
    Route("GET", "/metrics", "", service.metrics),
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
        raise Refused(405, f"{path[:100]} takes {', '.join(methods)}; got {method[:20]}")
    raise Refused(404, f"no such path; got {path[:100]}", "unknown_path")
