"""/openapi.json is held to the code: whatever it allows is answered as it says, and never with a 500."""

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
from hannan.serving.service import REWARD, ROUTES, description
from hannan.serving.store import Store

SCHEMA = schemathesis.openapi.from_dict(json.loads(json.dumps(description(ROUTES))))
#: More with HANNAN_EXAMPLES in the environment.
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
def test_whatever_is_asked_is_answered_as_the_document_says(app: App, case: Any) -> None:
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


def test_every_route_is_in_it(app: App) -> None:
    told = ask(app, "GET", "/openapi.json")[1]
    assert {(method.upper(), path) for path, methods in told["paths"].items() for method in methods} == {
        (route.method, route.path) for route in ROUTES
    }


def test_statuses_of_every_request_are_in_it(app: App) -> None:
    told = ask(app, "GET", "/openapi.json")[1]
    act, health = told["paths"]["/v1/learners/{name}/act"]["post"], told["paths"]["/healthz"]["get"]
    assert {"400", "403", "408", "409", "413", "415", "431"} <= act["responses"].keys()
    assert "403" not in health["responses"]
    assert "422" not in act["responses"]
    assert told["components"]["schemas"]["Wrong"]["required"] == ["error", "code"]


def test_the_guide_has_every_error_code() -> None:
    root = Path(__file__).resolve().parents[2]
    guide = (root / "docs" / "serving.md").read_text(encoding="utf-8")
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in (root / "src/hannan/serving").glob("*.py")]
    calls = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call) and len(node.args) == 3]
    named = {ast.literal_eval(call.args[2]) for call in calls if getattr(call.func, "id", "") == "Refused"}
    codes = {*CODES.values(), *named}
    assert {"too_many_keys", "host_not_allowed", "incomplete_body", "wrong_role", "unknown_path"} <= codes
    assert {code for code in codes if f"`{code}`" not in guide} == set()


def test_the_guide_says_what_the_document_and_the_service_do(app: App) -> None:
    guide = " ".join((Path(__file__).resolve().parents[2] / "docs" / "serving.md").read_text(encoding="utf-8").split())
    assert f"| 422 | `invalid_reward` | {REWARD} |" in guide
    assert "`gains` is true where it is left out, unlike in Python" in guide
    told = ask(app, "GET", "/openapi.json")[1]["components"]["schemas"]["LearnerBody"]
    assert told["properties"]["gains"]["default"] is True
    assert "is told rewards, unless this is false" in " ".join(told["description"].split())
    for name, more, gains in (("left-out", {}, True), ("losses", {"gains": False}, False)):
        assert ask(app, "POST", "/v1/learners", {"name": name, "arms": ["a", "b"], **more})[0] == 201
        assert app.service.desk.contents.find(name).learner.gains is gains
