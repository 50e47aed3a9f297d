"""The service answers every request that /openapi.json allows as documented there, and never with status 500."""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from asking import ask
from hypothesis import HealthCheck, Phase, settings

import hannan as hn
from hannan.serving import CODES
from hannan.serving.app import App
from hannan.serving.routes import ROUTES, description
from hannan.serving.store import Store

SCHEMA = schemathesis.openapi.from_dict(json.loads(json.dumps(description(ROUTES))))
#: Number of requests per route; set HANNAN_EXAMPLES for more.
EXAMPLES = int(os.environ.get("HANNAN_EXAMPLES", "15"))


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    with Store(tmp_path_factory.mktemp("openapi") / "decisions.db") as store:
        store.add("banner", hn.Bandit(4, hn.Tsallis(0.5), gains=True), arms=["red", "blue"])
        yield App(store)


@SCHEMA.parametrize()
@settings(
    max_examples=EXAMPLES, deadline=None, derandomize=True, phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
def test_every_request_is_answered_as_documented(app: App, case: Any) -> None:
    response = case.call(app=app)
    case.validate_response(
        response,
        checks=[
            schemathesis.checks.not_a_server_error,
            schemathesis.specs.openapi.checks.status_code_conformance,
            schemathesis.specs.openapi.checks.content_type_conformance,
            schemathesis.specs.openapi.checks.response_schema_conformance,
        ],
    )


def test_every_route_is_documented(app: App) -> None:
    document = ask(app, "GET", "/openapi.json")[1]
    assert {(method.upper(), path) for path, methods in document["paths"].items() for method in methods} == {
        (route.method, route.path) for route in ROUTES
    }


def test_statuses_are_documented(app: App) -> None:
    document = ask(app, "GET", "/openapi.json")[1]
    act, health = document["paths"]["/v1/learners/{name}/act"]["post"], document["paths"]["/healthz"]["get"]
    assert {"400", "403", "408", "409", "413", "415", "431"} <= act["responses"].keys()
    assert "403" not in health["responses"]
    assert "422" not in act["responses"]
    assert document["components"]["schemas"]["Wrong"]["required"] == ["error", "code"]


def test_the_guide_lists_every_error_code() -> None:
    root = Path(__file__).resolve().parents[2]
    guide = (root / "docs" / "serving.md").read_text(encoding="utf-8")
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in (root / "src/hannan/serving").glob("*.py")]
    calls = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call) and len(node.args) == 3]
    named = {ast.literal_eval(call.args[2]) for call in calls if getattr(call.func, "id", "") == "Refused"}
    codes = {*CODES.values(), *named}
    assert {"too_many_keys", "host_not_allowed", "incomplete_body", "wrong_role", "unknown_path"} <= codes
    assert {code for code in codes if f"`{code}`" not in guide} == set()


def test_gains_default_to_true_in_the_schema_and_in_the_service(app: App) -> None:
    schema = ask(app, "GET", "/openapi.json")[1]["components"]["schemas"]["LearnerBody"]
    assert schema["properties"]["gains"]["default"] is True
    assert "`gains`" in schema["description"]
    for name, more, gains in (("left-out", {}, True), ("losses", {"gains": False}, False)):
        assert ask(app, "POST", "/v1/learners", {"name": name, "arms": ["a", "b"], **more})[0] == 201
        assert app.service.queue.contents.find(name).learner.gains is gains
