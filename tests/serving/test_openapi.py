"""/openapi.json is held to the code: whatever it allows is answered as it says, and never with a 500."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from asking import ask
from hypothesis import HealthCheck, Phase, settings

import hannan as hn
from hannan.serving.app import App
from hannan.serving.openapi import description
from hannan.serving.routes import ROUTES
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
