"""The service: paths, errors, roles, limits, idempotency, self-description, and shutdown."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from asking import ask, asked

import hannan as hn
from hannan.client import Client
from hannan.client import Refused as ClientRefused
from hannan.serving.access import Access
from hannan.serving.app import App
from hannan.serving.schemas import DecidedMany, Evidence
from hannan.serving.service import Limits
from hannan.serving.store import Store

KEYS = {"act": "a" * 16, "observe": "o" * 16, "admin": "z" * 16}
ACT = "/v1/learners/banner/act"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "decisions.db") as store:
        store.add("banner", hn.Bandit(["red", "blue"], gains=True))
        yield store


@pytest.fixture
def app(store: Store) -> App:
    return App(store)


def test_a_decision_and_its_feedback(app: App) -> None:
    status, move = ask(app, "POST", ACT)
    assert status == 200
    assert move.keys() == {"ticket", "arm", "action", "probability"}
    assert (move["arm"], move["probability"]) == (("red", "blue")[move["action"]], 0.5)
    assert ask(app, "POST", "/v1/observe", {"ticket": move["ticket"], "reward": 1}) == (200, {"counted": True})
    assert ask(app, "POST", "/v1/observe", {"ticket": move["ticket"], "reward": 0}) == (200, {"counted": False})
    again = [{"ticket": move["ticket"], "reward": True}]
    assert ask(app, "POST", "/v1/observe", again) == (200, {"counted": [False]})


def test_answers_of_batches_match_their_schema(app: App, store: Store) -> None:
    names = ['"quoted"', "back\\slash", "münchen \u2028 ☂", "a,b]"]
    store.add("odd", hn.Bandit(4, hn.Tsallis(0.5), gains=True), arms=names[:3])
    store.add("plain", hn.Bandit(3))
    for name, labels in (("odd", names), ("plain", [0, 1, 2])):
        for body in ({"count": 1}, {"count": 40}, {"keys": ["x", "y", "x"]}):
            status, told = ask(app, "POST", f"/v1/learners/{name}/act", body)
            assert status == 200
            columns = msgspec.convert(told, DecidedMany)
            assert columns.arm == [labels[a] for a in columns.action]
            signed = [store.queue.signer.parse(ticket) for ticket in columns.ticket]
            assert [(one.arm, one.probability) for one in signed] == [
                *zip(told["action"], told["probability"], strict=True)
            ]
            assert [one.sequence for one in signed] == list(range(signed[0].sequence, signed[0].sequence + len(signed)))
        if name == "odd":
            store.add_arm("odd", names[3])  # labels are written again
            assert "a,b]" in ask(app, "POST", "/v1/learners/odd/act", {"count": 200})[1]["arm"]


def test_simultaneous_requests(app: App) -> None:
    status, told = ask(app, "POST", ACT, {"count": 50})
    assert (status, {len(column) for column in told.values()}) == (200, {50})
    feedback = [{"ticket": ticket, "reward": 0.5} for ticket in told["ticket"]]
    assert ask(app, "POST", "/v1/observe", feedback) == (200, {"counted": [True] * 50})
    bad = [{"ticket": ticket, "reward": 0.5} for ticket in ask(app, "POST", ACT, {"count": 2})[1]["ticket"]]
    bad[1]["reward"] = 7
    assert ask(app, "POST", "/v1/observe", bad)[0] == 422
    assert ask(app, "GET", "/v1/learners/banner")[1]["open"] == 2


def test_keys(app: App) -> None:
    one = ask(app, "POST", ACT, {"key": "anna"})
    assert one[0] == 200
    status, told = ask(app, "POST", ACT, {"keys": ["anna", "ben", "carl"]})
    assert (status, len(told["ticket"])) == (200, 3)
    feedback = [{"ticket": ticket, "reward": 1} for ticket in [one[1]["ticket"], *told["ticket"]]]
    assert ask(app, "POST", "/v1/observe", feedback) == (200, {"counted": [True] * 4})
    assert ask(app, "GET", "/v1/learners/banner", query="key=anna")[1]["rounds"] == 2
    about = ask(app, "GET", "/v1/learners/banner")[1]
    assert (about["keys"], about["rounds"]) == (3, 4)
    for bad in ({"key": 7}, {"keys": ["x", 7]}, {"keys": []}, {"keys": ["x"], "count": 2}, {"key": "x", "count": 2}):
        assert ask(app, "POST", ACT, bad)[0] == 400
    assert ask(app, "POST", ACT, {"keys": ["x"] * 1001})[0] == 400


def test_repeated_id_gives_the_same_decision(app: App) -> None:
    first = ask(app, "POST", ACT, {"id": "mine"})
    assert ask(app, "POST", ACT, {"id": "mine"}) == first
    assert ask(app, "POST", ACT, {"id": "other"}) != first
    assert ask(app, "POST", ACT, {"id": "mine", "count": 2})[0] == 400


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "says"),
    [
        ("POST", ACT, b"{", 400, "truncated"),
        ("POST", ACT, b"[]", 400, "object"),
        ("POST", ACT, {"no": 1}, 400, "no"),
        ("POST", ACT, {"count": 0}, 400, "count"),
        ("POST", ACT, {"count": 5000}, 400, "at most 1000"),
        ("POST", ACT, b"[" * 100_000, 400, ""),
        ("POST", ACT, b"\xff", 400, ""),
        ("POST", "/v1/learners/nobody/act", {}, 404, "banner"),
        ("POST", "/v1/learners//act", {}, 404, "learner"),
        ("POST", "/v1/learners/a/b/act", {}, 404, "no such path"),
        ("GET", ACT, None, 405, "POST"),
        ("DELETE", "/v1/observe", None, 405, "POST"),
        ("GET", "/nothing", None, 404, "no such path"),
        ("POST", "/v1/observe", {"ticket": "x", "reward": 1}, 403, "ticket"),
        ("POST", "/v1/observe", {"reward": 1}, 400, "ticket"),
        ("POST", "/v1/observe", {"ticket": "TICKET", "reward": 2}, 422, r"\[0, 1\]"),
        ("POST", "/v1/observe", {"ticket": "TICKET", "loss": 0}, 422, "learner of rewards; pass reward="),
        ("POST", "/v1/observe", {"ticket": "TICKET"}, 422, "reward and loss is required"),
        ("POST", "/v1/observe", {"ticket": "TICKET", "reward": "1"}, 400, "reward"),
        ("POST", "/v1/observe", [], 200, None),
        ("POST", "/v1/learners", {"name": "a b", "arms": ["x"]}, 400, "name of a learner"),
        (
            "POST",
            "/v1/learners",
            {"name": "banner", "arms": ["x"], "gains": False},
            409,
            "exists with another description",
        ),
        ("POST", "/v1/learners", {"name": "c"}, 400, "arms"),
        ("POST", "/v1/learners", {"name": "c", "learner": "experts", "n": 3}, 400, "bandit learners only"),
        (
            "POST",
            "/v1/learners",
            {"name": "c", "learner": "nonsense", "n": 3},
            400,
            "learner must be one of bandit, exp3, or",
        ),
        ("POST", "/v1/learners", {"name": "c", "learner": {"class": "os.system"}}, 400, ""),
        ("POST", "/v1/learners", {"name": "c", "learner": {"class": "Experts", "n": 3}}, 400, "bandit learners only"),
        ("POST", "/v1/learners", {"name": "c", "learner": {"class": "Bandit", "n": 10**9}}, 400, "at most"),
        ("POST", "/v1/learners", {"name": "c", "learner": {"class": "Bandit", "n": 3}}, 201, None),
        ("POST", "/v1/learners", {"name": "c", "learner": "bandit:tsallis:0.5@anytime", "n": 3}, 201, None),
        ("POST", "/v1/learners/banner/arms", {"arm": "red"}, 409, "an arm 'red'"),
        ("DELETE", "/v1/learners/banner/arms/green", None, 400, "no available arm"),
        ("GET", "/v1/learners/nobody", None, 404, "no learner 'nobody'"),
        ("GET", "/v1/learners/nobody/weights", None, 404, "no learner 'nobody'"),
        ("GET", "/v1/learners/nobody/log", None, 404, "no learner 'nobody'"),
    ],
)
def test_statuses_of_answers(app: App, method: str, path: str, body: Any, status: int, says: str | None) -> None:
    ticket = ask(app, "POST", ACT)[1]["ticket"]
    if isinstance(body, dict) and body.get("ticket") == "TICKET":
        body = {**body, "ticket": ticket}
    found, told = ask(app, method, path, body)
    assert found == status, told
    if says is not None:
        assert told.keys() == {"error", "code"}
        assert re.search(says, told["error"]), told
    assert ask(app, "POST", "/v1/observe", {"ticket": ticket, "reward": 1}) == (200, {"counted": True})  # still open


def test_foreign_tickets_are_rejected(app: App, tmp_path: Path) -> None:
    with Store(tmp_path / "other.db") as other:
        other.add("banner", hn.Bandit(2, gains=True))
        foreign = other.act("banner").ticket
    status, told = ask(app, "POST", "/v1/observe", {"ticket": foreign, "reward": 1})
    assert (status, "another store" in told["error"]) == (403, True)


def test_roles(store: Store) -> None:
    app = App(store, Access([f"{role}:{key}" for role, key in KEYS.items()]))
    needed = {
        ("POST", ACT): "act",
        ("POST", "/v1/observe"): "observe",
        ("POST", "/v1/learners"): "admin",
        ("GET", "/v1/learners/banner/log"): "admin",
        ("GET", "/v1/learners"): "",
        ("GET", "/v1/learners/banner/evidence"): "",
        ("GET", "/metrics"): "",
    }
    for (method, path), role in needed.items():
        assert ask(app, method, path)[0] == 401
        assert ask(app, method, path, key="wrong" * 4)[0] == 401
        assert ask(app, method, path, headers={"authorization": "Basic eA=="})[0] == 401
        for mine, key in KEYS.items():
            may = mine in (role, "admin") or not role
            assert (ask(app, method, path, key=key)[0] in (401, 403)) is not may
    for path in ("/healthz", "/readyz", "/openapi.json", "/"):
        assert ask(app, "GET", path)[0] == 200


@pytest.mark.parametrize("line", ["act", "king:" + "x" * 20, "act:short", "act:has a space in it ok"])
def test_invalid_keys_are_rejected(line: str) -> None:
    with pytest.raises(ValueError, match=r"ROLE:SECRET|16 ASCII characters") as caught:
        Access([line])
    assert "short" not in str(caught.value).replace("shorter", "")


def test_limits(store: Store) -> None:
    app = App(store, limits=Limits(body=1000, batch=10, queue=5))
    assert ask(app, "POST", ACT, b" " * 1001)[0] == 413
    assert ask(app, "POST", ACT, {"count": 11})[0] == 400

    async def crowd() -> list[tuple[int, Any]]:
        with store.queue.journal._writing:  # the disk needs some time
            tasks = []
            for _ in range(9):
                tasks.append(asyncio.ensure_future(asked(app, "POST", ACT)))
                await asyncio.sleep(0.01)
            refused = [task.result() for task in tasks if task.done()]
            assert (await asked(app, "GET", "/readyz"))[0] == 503
            assert (await asked(app, "GET", "/healthz"))[0] == 200
        return refused

    refused = asyncio.run(crowd())
    assert [status for status, _ in refused] == [503] * 3
    assert "at most 5 events may wait" in refused[0][1]["error"]


def test_an_ended_store_is_not_ready(app: App, store: Store) -> None:
    ticket = ask(app, "POST", ACT)[1]["ticket"]
    store.queue.journal.fail(OSError("disk on fire"))
    for method, path, body in (
        ("POST", ACT, None), ("POST", "/v1/observe", {"ticket": ticket, "reward": 1}), ("GET", "/readyz", None),
    ):  # fmt: skip
        status, told = ask(app, method, path, body)
        assert (status, "disk on fire" in told["error"]) == (503, True)
    assert ask(app, "GET", "/healthz")[0] == 200


def test_an_answer_waits_for_the_disk(app: App, store: Store) -> None:
    async def slow() -> None:
        with store.queue.journal._writing:
            task = asyncio.ensure_future(asked(app, "POST", ACT))
            await asyncio.sleep(0.1)
            assert not task.done()
        assert (await task)[0] == 200

    asyncio.run(slow())


def test_arms_and_learners(app: App) -> None:
    body = {"name": "price", "learner": "bandit:tsallis", "n": 3, "arms": ["9", "10"]}
    assert ask(app, "POST", "/v1/learners", body) == (201, {"added": True})
    assert ask(app, "POST", "/v1/learners", body) == (200, {"added": False})
    assert ask(app, "GET", "/v1/learners") == (200, {"learners": ["banner", "price"]})
    assert ask(app, "POST", "/v1/learners/price/arms", {"arm": "11"})[0] == 201
    assert ask(app, "DELETE", "/v1/learners/price/arms/9")[0] == 200
    assert set(ask(app, "POST", "/v1/learners/price/act", {"count": 30})[1]["arm"]) == {"10", "11"}
    told = ask(app, "GET", "/v1/learners/price")[1]
    assert told["arms"] == ["9", "10", "11"]
    assert told["weights"][0] == 0
    assert "9 left" in dict(told["certificate"])["arms"]


def test_evidence_is_that_of_the_store(app: App, store: Store) -> None:
    ask(app, "POST", "/v1/learners", {"name": "u", "learner": "bandit", "arms": ["red", "blue"]})
    told = ask(app, "POST", "/v1/learners/u/act", {"count": 100})[1]
    ask(app, "POST", "/v1/observe", [{"ticket": t, "reward": 0.5} for t in told["ticket"][:90]])
    status, found = ask(app, "GET", "/v1/learners/u/evidence", query="alpha=0.1&means=fixed")
    assert status == 200
    assert found == {"name": "u", **store.evidence("u", alpha=0.1, means="fixed").to_dict()}
    assert (found["decisions"], found["pending"], found["alpha"]) == (100, 10, 0.1)
    msgspec.convert(found, Evidence)
    for query in ("alpha=2", "alpha=x", "means=some"):
        assert ask(app, "GET", "/v1/learners/u/evidence", query=query)[0] == 400
    assert ask(app, "GET", "/v1/learners/nobody/evidence")[0] == 404


def test_log_can_be_replayed(app: App, tmp_path: Path) -> None:
    body = {"name": "u", "learner": "bandit:tsallis@fixed:100", "arms": ["=red", "blue"]}
    ask(app, "POST", "/v1/learners", body)
    told = ask(app, "POST", "/v1/learners/u/act", {"count": 300})[1]
    feedback = [
        {"ticket": t, "reward": float(arm == "blue")} for t, arm in zip(told["ticket"], told["arm"], strict=True)
    ]
    ask(app, "POST", "/v1/observe", feedback)
    for form in ("csv", "parquet"):
        status, raw = ask(app, "GET", "/v1/learners/u/log", query=f"format={form}")
        assert status == 200
        path = tmp_path / f"log.{form}"
        path.write_bytes(raw)
        words = [
            "--action",
            "arm",
            "--loss",
            "reward",
            "--gains",
            "--propensity",
            "probability",
            "--runs",
            "1",
            "--json",
        ]
        done = subprocess.run(
            [sys.executable, "-c", "from hannan.cli import main; main()", "replay", str(path), *words],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert json.loads(done.stdout)["actions"] in (["=red", "blue"], ["blue", "=red"])
    rows = list(csv.reader(io.StringIO((tmp_path / "log.csv").read_text())))
    assert {row[2] for row in rows[1:]} == {"'=red", "blue"}
    assert ask(app, "GET", "/v1/learners/u/log", query="format=xml")[0] == 400
    assert ask(app, "GET", "/v1/learners/u/log", query="weights=yes")[0] == 400
    first = ask(app, "GET", "/v1/learners/u/log", query="weights=true")[1].splitlines()[0].decode()
    assert first.count(",probability_") == 2
    # Pending decisions have empty cells; a stage and a time select rows.
    ask(app, "POST", "/v1/learners/u/act")
    raw = ask(app, "GET", "/v1/learners/u/log", query="stage=1")[1]
    told = list(csv.DictReader(io.StringIO(raw.decode())))
    assert len(told) == 301
    assert (told[-1]["reward"], told[-1]["settled"], told[-1]["expired"]) == ("", "", "False")
    assert len(ask(app, "GET", "/v1/learners/u/log", query="since=4000000000")[1].splitlines()) == 1
    for query in ("stage=2", "stage=0", "stage=x", "since=x", "since=-1", "since=nan"):
        assert ask(app, "GET", "/v1/learners/u/log", query=query)[0] == 400


def test_metrics(app: App) -> None:
    ticket = ask(app, "POST", ACT)[1]["ticket"]
    for _ in range(3):
        ask(app, "POST", "/v1/observe", {"ticket": ticket, "reward": 1})
    ask(app, "GET", "/nothing")
    lines = ask(app, "GET", "/metrics")[1].decode().splitlines()
    told = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    assert told["hannan_decisions_total"] == "1"
    assert (told["hannan_feedback_total"], told["hannan_repeats_total"]) == ("1", "2")
    assert told['hannan_answers_total{status="404"}'] == "1"
    assert told['hannan_open_decisions{learner="banner"}'] == "0"
    assert float(told["hannan_commit_seconds_most"]) > 0


def metrics_of(app: App) -> dict[str, str]:
    """Samples of /metrics by name and labels, as the reference parser of Prometheus would split them."""
    lines = ask(app, "GET", "/metrics")[1].decode().split("\n")
    return dict(line.rsplit(" ", 1) for line in lines if line and not line.startswith("#"))


def test_metrics_count_decisions_not_requests(app: App, store: Store) -> None:
    """Decisions of `Store.act` are counted, batches by their size, and repeated requests of an id once."""
    moves = [store.act("banner") for _ in range(60)]
    assert store.act("banner", id="x") == store.act("banner", id="x")
    assert metrics_of(app)["hannan_decisions_total"] == "61"
    told = ask(app, "POST", ACT, {"count": 7})[1]
    ask(app, "POST", ACT, {"keys": ["anna", "ben"]})
    found = metrics_of(app)
    assert found["hannan_decisions_total"] == "70"
    assert sum(int(found[f'hannan_draws_total{{learner="banner",arm="{arm}"}}']) for arm in ("red", "blue")) == 70
    store.observe(moves[0].ticket, reward=0.25)
    feedback = [{"ticket": ticket, "reward": 0.5} for ticket in [*told["ticket"], moves[0].ticket]]
    ask(app, "POST", "/v1/observe", feedback)
    found = metrics_of(app)
    assert (found["hannan_feedback_total"], found["hannan_repeats_total"]) == ("8", "1")
    for arm in ("red", "blue"):
        own = [0.25] * (moves[0].arm == arm) + [0.5] * told["arm"].count(arm)
        assert float(found[f'hannan_reward_sum{{learner="banner",arm="{arm}"}}']) == sum(own)
        assert int(found[f'hannan_reward_count{{learner="banner",arm="{arm}"}}']) == len(own)


def test_metrics_per_arm_are_escaped_and_bounded(app: App, store: Store) -> None:
    odd = ['a"b', "back\\slash", "two\nlines", "x} 1"]
    store.add("odd", hn.Bandit(odd, gains=False))
    for key in range(50):
        store.observe(store.act("odd", key=key).ticket, loss=1)
    found = metrics_of(app)
    labels = ['a\\"b', "back\\\\slash", "two\\nlines", "x} 1"]
    draws = [int(found[f'hannan_draws_total{{learner="odd",arm="{label}"}}']) for label in labels]
    assert sum(draws) == 50
    assert [float(found[f'hannan_loss_sum{{learner="odd",arm="{label}"}}']) for label in labels] == draws
    assert len([name for name in found if "draws" in name]) == 6  # four and two arms, and no keys
    assert found['hannan_draws_total{learner="banner",arm="red"}'] == "0"  # not drawn yet


def test_metrics_include_decisions_settled_by_default(tmp_path: Path) -> None:
    with Store(tmp_path / "expiry.db") as store:
        store.add("a", hn.Bandit(["x"], gains=True), wait=0.05, default=0.5)
        store.act("a")
        deadline = time.monotonic() + 10
        while metrics_of(App(store))['hannan_reward_count{learner="a",arm="x"}'] == "0":
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert metrics_of(App(store))['hannan_reward_sum{learner="a",arm="x"}'] == "0.5"


def test_max_keys(tmp_path: Path) -> None:
    with Store(tmp_path / "keys.db", max_keys=3) as store:
        store.add("banner", hn.Bandit(["red", "blue"], gains=True))
        app = App(store)
        assert ask(app, "POST", ACT, {"keys": ["a", "b", "a"]})[0] == 200
        before = store.queue.contents.sequence
        for body in ({"keys": ["c", "d", "c"]}, {"keys": ["d", "a", "e"]}):
            status, told = ask(app, "POST", ACT, body)
            assert (status, told["code"]) == (409, "too_many_keys")
            assert re.search(r"max_keys=3 .* 2 new and 2 existing", told["error"])
        assert (store.queue.contents.sequence, store.queue.contents.find("banner").keys) == (before, 2)
        assert store.act("banner", key="c")
        with pytest.raises(ValueError, match=r"max_keys=3 .* 1 new and 3 existing"):
            store.act("banner", key="d")
        assert ask(app, "POST", ACT, {"key": "d"})[1]["code"] == "too_many_keys"
        for good in ({"key": "a"}, {"keys": ["a", "b", "c"]}, {}):  # known keys, and no key
            assert ask(app, "POST", ACT, good)[0] == 200
        store.add("other", hn.Bandit(["red", "blue"], gains=True))
        assert store.act("other", key="d")  # the limit is one of each learner
    with Store(tmp_path / "keys.db", max_keys=1) as store:  # a lower limit keeps the keys that exist
        assert store.act("banner", key="c")
        with pytest.raises(ValueError, match="max_keys=1"):
            store.act("banner", key="e")
    with Store(tmp_path / "keys.db") as store:  # the control: no limit
        assert store.act("banner", key="e")
    with pytest.raises(ValueError, match=r"max_keys.*-1"):
        Store(tmp_path / "keys.db", max_keys=-1)


def test_a_path_is_decoded_once(app: App) -> None:
    """A server hands over the decoded path: `%2562anner` names the learner `%62anner`, which does not exist."""
    assert ask(app, "POST", "/v1/learners/%62anner/act")[0] == 404
    assert ask(app, "GET", "/v1/learners/%62anner")[0] == 404
    assert ask(app, "POST", ACT)[0] == 200


@pytest.mark.parametrize("bad", ["a\0b", "\0", "", "x" * 201])
def test_invalid_ids_are_rejected_before_anything_changes(app: App, store: Store, bad: str) -> None:
    before = store.queue.contents.sequence
    status, told = ask(app, "POST", ACT, {"id": bad})
    assert (status, told["code"]) == (400, "bad_request")
    with pytest.raises(ValueError, match="id must be a string of 1 to 200"):
        store.act("banner", id=bad)
    assert store.queue.contents.sequence == before


def test_ids_and_keys_without_utf_8_are_rejected(app: App, store: Store) -> None:
    with pytest.raises(ValueError, match=r"id must be a string .*got '\\ud800'"):
        store.act("banner", id="\ud800")
    for bad in ("a\0", "\ud800"):
        with pytest.raises(ValueError, match="key must be"):
            store.act("banner", key=bad)
    assert ask(app, "POST", ACT, {"key": "a\0"})[0] == 400
    assert ask(app, "GET", "/v1/learners/banner", query="key=a%00")[0] == 400
    assert ask(app, "GET", "/v1/learners/banner", query="key=99999999999999999999&kind=number")[0] == 400
    assert store.act("banner", id="line\nbreak é")


def test_every_error_has_a_code(app: App) -> None:
    cases = {
        ("POST", ACT, b"{"): "bad_request",
        ("GET", "/nothing", None): "unknown_path",
        ("GET", "/v1/learners/nobody", None): "unknown_learner",
        ("GET", ACT, None): "method_not_allowed",
        ("POST", "/v1/observe", b'{"ticket": "x", "reward": 1}'): "invalid_ticket",
    }
    for (method, path, body), code in cases.items():
        assert ask(app, method, path, body)[1]["code"] == code


def test_weights_over_time(app: App) -> None:
    app.service.histories.sample()
    for _ in range(20):
        move = ask(app, "POST", ACT)[1]
        ask(app, "POST", "/v1/observe", {"ticket": move["ticket"], "reward": float(move["arm"] == "blue")})
        app.service.histories.sample()
    told = ask(app, "GET", "/v1/learners/banner/weights")[1]
    assert (told["arms"], told["round"][0], told["round"][-1]) == (["red", "blue"], 0, 20)
    assert told["weights"][0] == [0.5, 0.5]
    assert told["weights"][-1][1] > 0.5


# The command


def started(
    folder: Path, *words: str, env: dict[str, str] | None = None, sigint: str = "default_int_handler"
) -> tuple[subprocess.Popen[str], str]:
    """Start `hannan serve` on any free port, and return the process and its address."""
    program = f"import signal; signal.signal(signal.SIGINT, signal.{sigint}); from hannan.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", program, "serve", "decisions.db", "--port", "0", *words],
        cwd=folder, stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})},
    )  # fmt: skip
    assert process.stderr is not None
    for line in process.stderr:
        told = json.loads(line)
        if told["event"] == "listening":
            return process, told["address"]
    raise AssertionError("it does not listen")


def stopped(process: subprocess.Popen[str], how: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
    process.send_signal(how)
    _, said = process.communicate(timeout=30)
    return process.returncode, said


def test_command_serves_and_stops_cleanly(tmp_path: Path) -> None:
    process, address = started(tmp_path, "--add", "banner=red,blue", env={"HANNAN_KEYS": f"admin:{KEYS['admin']}"})
    client = Client(address, KEYS["admin"])
    moves: list[Any] = []

    def load() -> None:
        mine = Client(address, KEYS["admin"], tries=1)
        try:
            while True:
                moves.append(mine.act("banner"))
        except (ConnectionError, ClientRefused):
            return

    threads = [threading.Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    with pytest.raises(ClientRefused, match="access token"):
        Client(address).act("banner")
    assert client.learners() == ["banner"]
    code, said = stopped(process)
    for thread in threads:
        thread.join()
    assert code == 0
    assert [json.loads(line)["event"] for line in said.splitlines()][-1] == "closed"  # and nothing else is printed
    assert KEYS["admin"] not in said
    with Store(tmp_path / "decisions.db") as store:
        assert store.queue.journal.replayed < 1.0
        assert all(store.observe(move.ticket, reward=1) for move in moves)  # acknowledged decisions are in the store
        assert store.queue.backend.snapshots()[0][1]


def test_options_of_the_command_reach_the_service(tmp_path: Path) -> None:
    words = ("--max-keys", "1", "--head-timeout", "0.4", "--body-timeout", "0.5", "--host-name", "decisions.example")
    process, address = started(tmp_path, "--add", "banner=red,blue", *words)
    client, port = Client(address), int(address.rpartition(":")[2])
    client.act("banner", key="anna")
    with pytest.raises(ClientRefused, match="max_keys=1") as caught:
        client.act("banner", key="ben")
    assert (caught.value.status, caught.value.code) == (409, "too_many_keys")
    post = f"POST {ACT} HTTP/1.1\r\nhost: %s\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n"
    for raw, status in (
        (post % "decisions.example" + "{}", b"200"),
        (post % "rebound.example" + "{}", b"403"),
        (post % "localhost" + "{", b"408"),
        ((post % "localhost")[:30], b"408"),
    ):
        with socket.create_connection(("127.0.0.1", port), timeout=8) as line:
            line.sendall(raw.encode())
            assert line.recv(1000).split()[1] == status
    assert stopped(process)[0] == 0


def test_wait_and_default_of_added_learners(tmp_path: Path) -> None:
    process, address = started(tmp_path, "--add", "banner=red,blue", "--wait", "0.2s", "--default", "0")
    client = Client(address)
    client.act("banner")
    until = time.monotonic() + 10
    while client.about("banner")["rounds"] == 0 and time.monotonic() < until:
        time.sleep(0.05)
    assert client.about("banner")["rounds"] == 1
    assert stopped(process)[0] == 0
    program = [sys.executable, "-c", "from hannan.cli import main; main()", "serve"]
    for words in (("--wait", "1h"), ("--default", "0"), ("--wait", "soon", "--default", "0"),
                  ("--ofrep-bulk", "unknown")):  # fmt: skip
        done = subprocess.run(
            [*program, "other.db", "--add", "a=b,c", *words],
            cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert (done.returncode, words[0] in done.stderr) == (2, True)


def test_decisions_that_stay_pending_cause_a_warning(tmp_path: Path) -> None:
    with Store(tmp_path / "decisions.db") as store:
        for name, more in (("forever", {}), ("expires", {"wait": 3600, "default": 0})):
            store.add(name, hn.Bandit(["red", "blue"], gains=True), **more)
        assert store.queue.contents.find("forever").pending_warning() == ""
        tickets = store.queue.draws("forever", 100)[0].ticket
        store.queue.draws("expires", 100)
        assert "100 of 100 decisions have no feedback" in store.queue.contents.find("forever").pending_warning()
        assert store.queue.contents.find("expires").pending_warning() == ""
        store.queue.settle([(ticket, 1, None) for ticket in tickets[:90]])
        assert store.queue.contents.find("forever").pending_warning() == ""
        store.queue.draws("forever", 100)
    process, _ = started(tmp_path)
    assert process.stderr is not None
    warning = json.loads(process.stderr.readline())
    assert (warning["event"], warning["learner"]) == ("warning", "forever")
    assert stopped(process)[0] == 0


def test_arm_with_a_slash_is_retired(app: App, store: Store) -> None:
    store.add("price", hn.Bandit(["1/2", "a/b/c", "x"], gains=True))
    assert ask(app, "DELETE", "/v1/learners/price/arms/1/2") == (200, {"added": False})
    assert ask(app, "DELETE", "/v1/learners/price/arms/a/b/c") == (200, {"added": False})
    assert {move["arm"] for move in [ask(app, "POST", "/v1/learners/price/act")[1] for _ in range(20)]} == {"x"}


def test_ctrl_c_stops_the_service(tmp_path: Path) -> None:
    process, address = started(tmp_path)
    assert Client(address).learners() == []  # its signal handlers are installed when it answers
    code, said = stopped(process, signal.SIGINT)
    assert (code, json.loads(said.splitlines()[-1])["event"]) == (0, "closed")


def test_service_in_the_background_ignores_sigint(tmp_path: Path) -> None:
    """Started as `nohup hannan serve &` in a script: a Ctrl-C for another program does not stop it."""
    process, address = started(tmp_path, "--add", "banner=red,blue", sigint="SIG_IGN")
    client = Client(address)
    assert client.learners() == ["banner"]
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert client.observe(client.act("banner").ticket, reward=1)
    code, said = stopped(process)
    assert (code, [json.loads(line)["event"] for line in said.splitlines()]) == (0, ["closed"])


def test_existing_learner_is_not_changed_by_add(tmp_path: Path) -> None:
    with Store(tmp_path / "decisions.db") as store:
        store.add("banner", hn.Bandit(["red", "blue"], gains=True), wait=0.25, default=0)
        store.act("banner")
    process, address = started(tmp_path, "--add", "banner=red,blue")
    until, told = time.monotonic() + 10, ""
    while not told and time.monotonic() < until:  # the row is printed once a decision has expired
        told = dict(Client(address).about("banner")["certificate"]).get("expiry", "")
    assert "0.25 s" in told
    assert stopped(process)[0] == 0
    process, address = started(tmp_path, "--add", "banner=red,blue,green")  # a new stage, with the same wait
    told = Client(address).about("banner")
    assert told["arms"] == ["red", "blue", "green"]
    assert dict(told["certificate"])["stage"].startswith("2 of 2, with 3 arms")
    assert stopped(process)[0] == 0
    with Store(tmp_path / "decisions.db") as store:
        assert [one.expiry.wait for one in store.queue.contents.find("banner").stages] == [0.25, 0.25]


def test_command_rejects_invalid_options(tmp_path: Path) -> None:
    def run(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", "from hannan.cli import main; main()", "serve", *words],
            cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert done.returncode == 2, done.stderr
        [said] = done.stderr.splitlines()  # no event of a store that was never open
        return said

    assert "--keys is required" in run("x.db", "--host", "0.0.0.0")
    assert "host name must be" in run("x.db", "--host-name", "decisions.example:80")
    assert "--add must be" in run("x.db", "--add", "banner")
    assert "got" in run("x.db", "--port", "0", "--add", "foo=a,a")
    assert "the name of a learner" in run("x.db", "--port", "0", "--add", "f o=a,b")
    assert "two different lists of arms" in run("x.db", "--port", "0", "--add", "foo=a,b", "--add", "foo=a,c")
    (tmp_path / "one.csv").write_text("a,b\n1,2\n")
    assert "is not a store" in run("one.csv", "--port", "0")
    assert [one.name for one in tmp_path.iterdir()] == ["one.csv"]  # nothing was created for rejected requests
    with Store(tmp_path / "there.db") as store:
        store.add("banner", hn.Bandit(["red", "blue"]), wait=60, default=0)
    assert "wait=60, default=0; got" in run("there.db", "--port", "0", "--add", "banner=red,green")
    (tmp_path / "text.db").write_text("hello" * 999)
    assert "is not a store" in run("text.db", "--port", "0")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert "cannot listen on" in run("x.db", "--port", str(taken.getsockname()[1]))
    with Store(tmp_path / "held.db"):
        assert "is locked by process" in run("held.db", "--port", "0")


def test_client_repeats_requests_without_an_answer(tmp_path: Path) -> None:
    """A service is killed and restarted: the client's calls return, each counted once."""
    process, address = started(tmp_path, "--add", "banner=red,blue")
    port = address.rpartition(":")[2]
    client = Client(address, tries=60, timeout=5.0)
    counted = []

    def load() -> None:
        for _ in range(40):
            move = client.act("banner")
            counted.append(client.observe(move.ticket, reward=1))

    thread = threading.Thread(target=load)
    thread.start()
    time.sleep(0.15)
    process.kill()
    process.wait()
    again = subprocess.Popen(
        [sys.executable, "-c", "from hannan.cli import main; main()", "serve", "decisions.db", "--port", port],
        cwd=tmp_path, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    thread.join(60)
    assert len(counted) == 40
    told = client.about("banner")
    assert told["rounds"] == 40
    again.terminate()
    assert again.wait(30) == 0
    with pytest.raises(ConnectionError, match="after 2 attempts"):
        Client(address, tries=2).learners()
    for bad in ("ftp://x", "nowhere"):
        with pytest.raises(ValueError, match="url must start with"):
            Client(bad)
