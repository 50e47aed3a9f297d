"""Flags over the OpenFeature Remote Evaluation Protocol: the protocol itself, the official provider, and feedback."""

from __future__ import annotations

import collections
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from asking import ask
from openfeature import api
from openfeature.contrib.provider.ofrep import OFREPProvider
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode
from openfeature.track import TrackingEventDetails
from sockets import Served

import hannan as hn
from hannan.client import Client
from hannan.interop.openfeature import TrackingProvider
from hannan.serving.access import Access
from hannan.serving.app import App
from hannan.serving.service import Limits
from hannan.serving.store import Store

FLAGS = "/ofrep/v1/evaluate/flags"
TOKEN = "o" * 16


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store(path) as store:
        store.add("banner", hn.Bandit(["red", "blue"], gains=True))
        store.add("checkout", hn.Bandit(["true", "false"], gains=True))
        yield store


@pytest.fixture
def app(store: Store) -> App:
    return App(store, ofrep_bulk=["banner", "checkout", "unknown"])


def evaluated(app: App, flag: str = "banner", person: Any = "anna", **context: Any) -> tuple[int, Any]:
    return ask(app, "POST", f"{FLAGS}/{flag}", {"context": {"targetingKey": person, **context}})


def test_evaluation_is_a_decision_with_a_ticket(app: App) -> None:
    status, flag = evaluated(app)
    assert status == 200
    assert flag.keys() == {"key", "value", "reason", "variant", "metadata"}
    assert (flag["key"], flag["reason"], flag["metadata"]["probability"]) == ("banner", "SPLIT", 0.5)
    assert flag["value"] == flag["variant"]
    assert flag["value"] in ("red", "blue")
    feedback = {"ticket": flag["metadata"]["ticket"], "reward": 1}
    assert ask(app, "POST", "/v1/observe", feedback) == (200, {"counted": True})


def test_repeated_evaluation_draws_nothing(app: App, store: Store) -> None:
    first = evaluated(app)
    assert all(evaluated(app) == first for _ in range(9))
    assert store.queue.counts.decisions == 1
    assert evaluated(app, person="ben")[1]["metadata"]["ticket"] != first[1]["metadata"]["ticket"]
    assert evaluated(app, decision="page 2")[1]["metadata"]["ticket"] != first[1]["metadata"]["ticket"]
    assert store.queue.counts.decisions == 3


def test_parts_of_an_id_are_not_confused(app: App, store: Store) -> None:
    for person, decision in (("a", "b"), ("a:b", ""), ("ab", ""), ("a", ""), ("b", "a")):
        evaluated(app, person=person, decision=decision)
    evaluated(app, "checkout", person="a")
    assert store.queue.counts.decisions == 6


def test_key_has_a_learner(app: App, store: Store) -> None:
    evaluated(app, key="shop-1")
    evaluated(app, key="shop-2")
    assert store.queue.contents.find("banner").keys == 2
    assert evaluated(app, key=True)[0] == 400


def test_stored_id_does_not_contain_the_targeting_key(app: App, path: Path) -> None:
    evaluated(app, person="anna@shop.example")
    app.service.store.close()
    assert b"anna@shop.example" not in path.read_bytes()


def test_boolean_flag(app: App) -> None:
    values = {evaluated(app, "checkout", f"user {i}")[1]["value"] for i in range(40)}
    assert values == {True, False}
    flag = evaluated(app, "checkout", "anna")[1]
    assert flag["variant"] == str(flag["value"]).lower()


@pytest.mark.parametrize(
    ("flag", "body", "status", "code"),
    [
        ("banner", {}, 400, "TARGETING_KEY_MISSING"),
        ("banner", None, 400, "TARGETING_KEY_MISSING"),
        ("banner", {"context": {}}, 400, "TARGETING_KEY_MISSING"),
        ("banner", {"context": {"targetingKey": ""}}, 400, "TARGETING_KEY_MISSING"),
        ("banner", {"context": {"targetingKey": 7}}, 400, "INVALID_CONTEXT"),
        ("banner", {"context": {"targetingKey": "a\0b"}}, 400, "INVALID_CONTEXT"),
        ("banner", {"context": {"targetingKey": "a", "decision": "\0"}}, 400, "INVALID_CONTEXT"),
        ("banner", {"context": {"targetingKey": "a", "decision": 3}}, 400, "INVALID_CONTEXT"),
        ("banner", {"context": {"targetingKey": "a", "key": "\n"}}, 400, "INVALID_CONTEXT"),
        ("banner", {"context": 3}, 400, "INVALID_CONTEXT"),
        ("banner", b"{", 400, "PARSE_ERROR"),
        ("banner", b"\xff", 400, "PARSE_ERROR"),
        ("other", {"context": {"targetingKey": "a"}}, 404, "FLAG_NOT_FOUND"),
    ],
)
def test_errors_have_the_form_of_the_protocol(app: App, flag: str, body: Any, status: int, code: str) -> None:
    found, answer = ask(app, "POST", f"{FLAGS}/{flag}", body)
    assert (found, answer["errorCode"], answer["key"]) == (status, code, flag)
    assert answer["errorDetails"]
    assert app.service.queue.counts.decisions == 0


def test_limit_of_keys_is_a_general_error(path: Path) -> None:
    with Store(path, max_keys=1) as store:
        store.add("banner", hn.Bandit(["red", "blue"]))
        app = App(store)
        assert evaluated(app, key="a")[0] == 200
        status, answer = evaluated(app, key="b")
        assert (status, answer["errorCode"]) == (400, "GENERAL")
        assert "max_keys=1" in answer["errorDetails"]


def test_full_queue_is_answered_with_429(store: Store) -> None:
    full = App(store, limits=Limits(queue=-1))
    status, answer = evaluated(full)
    assert (status, answer["errorCode"]) == (429, "GENERAL")
    assert ask(full, "POST", "/v1/learners/banner/act")[0] == 503  # the control: clients of other paths wait after 503
    with Served(store, "fast", Limits(queue=-1), Access()) as running:
        provider = OFREPProvider(f"http://127.0.0.1:{running.port}")
        api.set_provider(provider)
        assert api.get_client().get_string_value("banner", "default", EvaluationContext("anna")) == "default"
        assert provider.retry_after is not None


def test_access(store: Store) -> None:
    app = App(store, Access([f"act:{TOKEN}", "observe:" + "x" * 16]))
    body = {"context": {"targetingKey": "anna"}}
    assert ask(app, "POST", f"{FLAGS}/banner", body) == (401, b"")
    assert ask(app, "POST", f"{FLAGS}/banner", body, "x" * 16) == (403, b"")
    assert ask(app, "POST", f"{FLAGS}/banner", body, TOKEN)[0] == 200
    assert ask(app, "POST", f"{FLAGS}/banner", body, headers={"x-api-key": TOKEN})[0] == 200
    assert ask(app, "POST", "/v1/learners/banner/act", headers={"x-api-key": TOKEN})[0] == 401  # this protocol only


def test_person_with_a_retired_arm_gets_another_one(app: App, store: Store) -> None:
    store.add_arm("banner", "green")
    red = next(f"user {i}" for i in range(100) if evaluated(app, person=f"user {i}")[1]["value"] == "red")
    blue = next(f"user {i}" for i in range(100) if evaluated(app, person=f"user {i}")[1]["value"] == "blue")
    before = evaluated(app, person=blue)
    store.retire_arm("banner", "red")
    again = evaluated(app, person=red)[1]
    assert again["value"] in ("blue", "green")
    assert evaluated(app, person=red)[1] == again
    assert evaluated(app, person=blue) == before  # arms that remain are kept, in their stage
    store.retire_arm("banner", again["value"])
    assert evaluated(app, person=red)[1]["value"] not in ("red", again["value"])


def test_bulk_evaluation(app: App, store: Store) -> None:
    body = {"context": {"targetingKey": "anna"}}
    status, answer = ask(app, "POST", FLAGS, body)
    assert (status, [flag["key"] for flag in answer["flags"]]) == (200, ["banner", "checkout"])
    assert store.queue.counts.decisions == 2
    assert answer["flags"][0] == evaluated(app)[1]
    assert ask(App(store), "POST", FLAGS, body) == (200, {"flags": []})  # opt-in
    assert ask(app, "POST", FLAGS, {})[1]["errorCode"] == "TARGETING_KEY_MISSING"


def served(store: Store, http: str = "fast") -> Served:
    return Served(store, http, access=Access())


def test_bulk_evaluation_has_a_tag(app: App, store: Store) -> None:
    import requests

    with Served(store, "httptools", asgi=lambda _: app) as running:
        url = f"http://127.0.0.1:{running.port}{FLAGS}"
        first = requests.post(url, json={"context": {"targetingKey": "anna"}}, timeout=10)
        tag = first.headers["etag"]
        same = {"If-None-Match": tag}
        found = [requests.post(url, json={"context": {"targetingKey": "anna"}}, headers=same, timeout=10)
                 for _ in range(3)]  # fmt: skip
        other = requests.post(url, json={"context": {"targetingKey": "ben"}}, headers=same, timeout=10)
    assert [(one.status_code, one.content, one.headers["etag"]) for one in found] == [(304, b"", tag)] * 3
    assert (first.status_code, other.status_code, first.headers["cache-control"]) == (200, 200, "no-store")


@pytest.mark.parametrize("http", ["fast", "h11"])
def test_official_provider(store: Store, http: str) -> None:
    with served(store, http) as running:
        url = f"http://127.0.0.1:{running.port}"
        api.set_provider(OFREPProvider(url))
        client, seen = api.get_client(), collections.Counter[Any]()
        for user in range(20):
            context = EvaluationContext(targeting_key=f"user-{user}")
            first, again = (client.get_string_details("banner", "default", context) for _ in range(2))
            assert first.flag_metadata["ticket"] == again.flag_metadata["ticket"]
            assert (first.reason, first.variant, first.error_code) == ("SPLIT", first.value, None)
            seen[first.value] += 1
            assert Client(url).observe(str(first.flag_metadata["ticket"]), reward=1)
        assert store.queue.counts.decisions == 20
        assert seen.keys() == {"red", "blue"}
        assert isinstance(client.get_boolean_value("checkout", None, EvaluationContext("u")), bool)  # type: ignore[arg-type]
        for flag, context, code in (
            ("nothing", EvaluationContext("u"), ErrorCode.FLAG_NOT_FOUND),
            ("banner", None, ErrorCode.TARGETING_KEY_MISSING),
            ("banner", EvaluationContext("u", {"decision": 1}), ErrorCode.INVALID_CONTEXT),
        ):
            found = client.get_string_details(flag, "default", context)
            assert (found.value, found.error_code) == ("default", code)
        wrong = client.get_boolean_details("banner", True, EvaluationContext("u"))
        assert (wrong.value, wrong.error_code) == (True, ErrorCode.TYPE_MISMATCH)
        assert ("banner" in running.ways) == (http == "fast")


def test_fast_path_and_asgi_answer_alike(store: Store) -> None:
    import requests

    found = []
    for http in ("fast", "httptools"):
        with Served(store, http, access=Access([f"act:{TOKEN}"])) as running:
            url, good = f"http://127.0.0.1:{running.port}{FLAGS}/banner", {"authorization": f"Bearer {TOKEN}"}
            for headers, body in (
                (good, '{"context": {"targetingKey": "anna"}}'), (good, "{"), (good, "{}"), ({}, "{}"),
                ({"x-api-key": TOKEN}, '{"context": {"targetingKey": "anna"}}'),
            ):  # fmt: skip
                answer = requests.post(url, data=body, headers=headers, timeout=10)
                found.append((http, answer.status_code, answer.content, answer.headers.get("content-type")))
    half = len(found) // 2
    assert [one[1:] for one in found[:half]] == [one[1:] for one in found[half:]]
    assert [one[1] for one in found[:half]] == [200, 400, 400, 401, 200]


def test_tracked_events_are_rewards(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    with served(store) as running:
        url = f"http://127.0.0.1:{running.port}"
        api.set_provider(
            TrackingProvider(url, events={"clicked": "banner", "paid": ["banner", "checkout"]}, remember=2)
        )
        client = api.get_client()
        anna, ben = EvaluationContext("anna"), EvaluationContext("ben")
        client.track("clicked", anna)  # nothing was shown
        client.get_string_value("banner", "red", anna)
        client.get_string_value("banner", "red", ben)
        client.track("other", anna)
        assert store.queue.counts.counted == 0
        client.track("clicked", anna, TrackingEventDetails(value=0.25))
        client.track("clicked", anna, TrackingEventDetails(value=1.0))  # settled before
        client.track("paid", ben, TrackingEventDetails(value=7.0))
        assert "reward must be" in caplog.text
        client.track("paid", ben)
        arms = store.queue.counts.arms.values()
        assert (store.queue.counts.counted, sum(arm.sum for arm in arms)) == (2, 1.25)
        for person in "abc":  # the ticket of the first is dropped
            client.get_string_value("banner", "red", EvaluationContext(person))
        client.track("clicked", EvaluationContext("a"))
        client.track("clicked", EvaluationContext("b"))
        assert store.queue.counts.counted == 3
    client.track("clicked", EvaluationContext("c"))  # the service is away
    assert "was not counted" in caplog.text
