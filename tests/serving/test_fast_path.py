"""The fast path of a decision through uvicorn: the same answers as the slow path, whatever the request bytes."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sockets import ACT, KEY, Served, answer, request

import hannan as hn
from hannan.serving.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "decisions.db") as store:
        store.add("banner", hn.Bandit(["red", "blue"], gains=True))
        yield store


@pytest.fixture(params=[True, False], ids=["short", "long"])
def served(store: Store, request: Any) -> Iterator[Served]:
    found = Served(store, "fast" if request.param else "httptools")
    found.short = request.param  # type: ignore[attr-defined]
    yield found
    found.stop()


def test_decisions_and_feedback(served: Any) -> None:
    with served.connected() as line:
        tickets = []
        for _ in range(5):
            line.sendall(request(ACT))
            status, headers, told, left = answer(line)
            assert (status, left) == (200, b"")
            assert headers["content-type"] == "application/json"
            assert headers["cache-control"] == "no-store"
            assert told.keys() == {"ticket", "arm", "action", "probability"}
            tickets.append(told["ticket"])
        for k, ticket in enumerate([*tickets, tickets[0]]):
            line.sendall(request("/v1/observe", json.dumps({"ticket": ticket, "reward": 1}).encode()))
            assert answer(line)[:3:2] == (200, {"counted": k < 5})
        line.sendall(request("/v1/learners", method="GET"))  # the slow path, on the same line
        assert answer(line)[2] == {"learners": ["banner"]}
        line.sendall(request(ACT, b'{"count": 50}'))
        assert len(answer(line)[2]["ticket"]) == 50
    assert (served.ways.count("banner"), served.ways.count("observe")) == ((6, 6) if served.short else (0, 0))


def test_rejections_are_the_same_on_both_paths(served: Any) -> None:
    cases = [
        (request(ACT, b"{"), 400),
        (request(ACT, b'{"count": 5000}'), 400),
        (request("/v1/learners/nobody/act"), 404),
        (request(ACT, method="GET"), 405),
        (request("/v1/observe", b'{"ticket": "x", "reward": 1}'), 403),
        (request(ACT, b" " * 5001), 413),
        (request(ACT).replace(KEY.encode(), b"w" * 16), 401),
        (request("/v1/observe", b"[]").replace(KEY.encode(), b"a" * 16), 403),
    ]
    with served.connected() as line:
        for raw, status in cases:
            line.sendall(raw)
            found, headers, told, _ = answer(line)
            assert (found, told.keys()) == (status, {"error", "code"}), raw
            assert headers["x-content-type-options"] == "nosniff"
            assert ("www-authenticate" in headers) is (status == 401)
        line.sendall(request(ACT))
        assert answer(line)[0] == 200


def test_unusual_requests_are_the_same_on_both_paths(served: Any) -> None:
    with served.connected() as line:  # in pieces, one byte at a time
        for byte in request(ACT, b'{"count": 2}'):
            line.sendall(bytes([byte]))
        assert len(answer(line)[2]["ticket"]) == 2
        line.sendall(request(ACT, b'd\r\n{"count": 3 }\r\n0\r\n\r\n', "transfer-encoding: chunked"))
        assert len(answer(line)[2]["ticket"]) == 3
        line.sendall(request(ACT + "?x=1") + request(ACT) * 20 + request("/v1/learners", method="GET"))  # pipelined
        left = b""
        for _ in range(21):
            status, _, told, left = answer(line, left)
            assert (status, "ticket" in told) == (200, True)
        assert answer(line, left)[2] == {"learners": ["banner"]}
        line.sendall(request(ACT, b"{}", "expect: 100-continue"))
        assert line.recv(25).startswith(b"HTTP/1.1 100")
        assert answer(line)[0] == 200
        line.sendall(request(ACT, b"", "connection: close"))
        assert answer(line)[1]["connection"] == "close"
        assert line.recv(10) == b""
    with served.connected() as line:
        line.sendall(request(ACT, version="1.0"))
        assert answer(line)[0] == 200
        assert line.recv(10) == b""
    with served.connected() as line:
        line.sendall(b"nonsense\r\n\r\n")
        assert line.recv(100).startswith(b"HTTP/1.1 400")


def test_head_without_an_end_is_rejected(served: Any) -> None:
    with served.connected() as line:
        line.sendall(request(ACT, b"", "x: " + "y" * 50_000))
        assert answer(line)[0] == 200
        for _ in range(3):  # heads are counted one by one
            line.sendall(request(ACT, b"", "x: " + "y" * 30_000))
            assert answer(line)[0] == 200
        if not served.short:
            return  # uvicorn's own protocol has no such limit
        line.sendall(b"POST " + ACT.encode() + b" HTTP/1.1\r\nx: ")
        with contextlib.suppress(OSError):
            for _ in range(100):
                line.sendall(b"y" * 10_000)
                time.sleep(0.001)
        with contextlib.suppress(ConnectionResetError):  # bytes that were not read before closing
            assert line.recv(100).startswith(b"HTTP/1.1 431")
            while line.recv(10_000):
                pass


def test_answer_waits_for_the_disk_and_a_lost_client_is_harmless(served: Any, store: Store) -> None:
    with served.connected() as line, served.connected() as gone:
        line.sendall(request(ACT))
        answer(line)
        with store.queue.journal._writing:
            line.sendall(request(ACT) * 3)
            gone.sendall(request(ACT))
            line.settimeout(0.2)
            with pytest.raises(TimeoutError):
                line.recv(1)
            gone.close()
            time.sleep(0.1)
        line.settimeout(10)
        left = b""
        for _ in range(3):
            status, _, _, left = answer(line, left)
            assert status == 200


def test_an_ended_store_answers_503(served: Any, store: Store) -> None:
    with served.connected() as line:
        line.sendall(request(ACT))
        answer(line)
        with store.queue.journal._writing:  # a group that waits, and is never written
            line.sendall(request(ACT))
            time.sleep(0.1)
            store.queue.journal.fail(OSError("disk on fire"))
        # A group that the writer was writing when it ended may have been written after all.
        assert answer(line)[0] in (200, 503)
        line.sendall(request(ACT))
        status, headers, told, _ = answer(line)
        assert (status, headers["retry-after"], "disk on fire" in told["error"]) == (503, "1", True)


def test_id_that_was_not_written_is_answered_after_the_end(served: Any, store: Store) -> None:
    """Requested again when the journal has ended already: no answer will come, so nobody may wait for it."""
    with served.connected() as line, served.connected() as again:
        line.sendall(request(ACT))
        answer(line)
        with store.queue.journal._writing:
            line.sendall(request(ACT) + request(ACT, b'{"id": "mine"}'))
            time.sleep(0.1)
            again.sendall(request(ACT, b'{"id": "mine"}'))
            time.sleep(0.1)
            store.queue.journal.appended += 1  # later groups are written, this one is not
            store.queue.contents.sequence += 1
            store.queue.journal.fail(OSError("disk on fire"))
            time.sleep(0.1)
            again.sendall(request(ACT, b'{"id": "mine"}'))
            left, told = b"", list[int]()
            for _ in range(2):
                status, _, _, left = answer(again, left)
                told.append(status)
        assert told[-1] == 503


def test_pending_requests_are_answered_before_a_stop(served: Any, store: Store) -> None:
    with served.connected() as line, served.connected() as idle:
        for one in (line, idle):
            one.sendall(request(ACT))
            answer(one)
        with store.queue.journal._writing:
            line.sendall(request(ACT))
            time.sleep(0.1)
            served.server.should_exit = True
            time.sleep(0.3)
            assert idle.recv(10) == b""
        status, headers, _, _ = answer(line)
        assert (status, headers["connection"]) == (200, "close")
        assert line.recv(10) == b""


def test_internal_error_is_500(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*_: Any) -> Any:
        raise ZeroDivisionError

    with served.connected() as line:
        monkeypatch.setattr(served.app.service, "handle", wrong)
        line.sendall(request(ACT))
        data = line.recv(1000)
        assert data.startswith(b"HTTP/1.1 500")
