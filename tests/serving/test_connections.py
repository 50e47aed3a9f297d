"""Connections of the service: `Upgrade`, time limits, sizes of heads, and the order of answers."""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sockets import ACT, KEY, Served, answer, request
from starlette.applications import Starlette
from starlette.routing import Mount

import hannan as hn
from hannan.serving.access import Access
from hannan.serving.service import Limits
from hannan.serving.store import Store

UPGRADE = ("connection: Upgrade, HTTP2-Settings", "upgrade: h2c", "http2-settings: AAMAAABkAAQCAAAAAAIAAAAA")
#: Seconds of the time limits in these tests.
HEAD, BODY = 0.6, 0.8


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "decisions.db") as store:
        store.add("banner", hn.Bandit(["red", "blue"], gains=True))
        yield store


@pytest.fixture
def served(store: Store) -> Iterator[Served]:
    with Served(store, "fast", Limits(head_timeout=HEAD, body_timeout=BODY)) as found:
        yield found


# Upgrade


def test_upgrade_is_ignored_and_the_body_is_read(served: Served, store: Store) -> None:
    body = b'{"id": "one", "key": "anna"}'
    with served.connected() as line:
        line.sendall(request(ACT, body, *UPGRADE))
        status, headers, first, left = answer(line)
        assert (status, left, "upgrade" in headers) == (200, b"", False)
        for pieces in (1, 7, 1000):  # the body in separate segments, and on the same connection
            whole = request(ACT, body, *UPGRADE)
            for at in range(0, len(whole), pieces):
                line.sendall(whole[at : at + pieces])
                time.sleep(0.0005)
            assert answer(line)[2] == first
        chunks = b"1c\r\n" + body + b"\r\n0\r\n\r\n"
        line.sendall(request(ACT, chunks, *UPGRADE, "transfer-encoding: chunked"))
        assert answer(line)[2] == first
        line.sendall(request(ACT, body, *UPGRADE) * 2 + request("/v1/learners", b"", *UPGRADE, method="GET"))
        left = b""
        for expected in (first, first, {"learners": ["banner"]}):
            _, _, told, left = answer(line, left)
            assert told == expected
        line.sendall(request(ACT, body, "connection: keep-alive, upgrade", "upgrade: websocket"))
        assert answer(line)[2] == first
        line.sendall(request(ACT, body, "connection: close, upgrade", "upgrade: h2c"))
        _, headers, told, _ = answer(line)
        assert (told, headers["connection"], line.recv(1)) == (first, "close", b"")
    stored = store.queue.contents.find("banner")
    assert (stored.drawn, stored.keys, stored.open) == (0, 1, 1)
    assert served.ways


def test_an_upgrade_cannot_smuggle_a_request(served: Served, store: Store) -> None:
    """Bytes of the body stay a body, whatever their content."""
    inside = request(ACT, b"")
    with served.connected() as line:
        line.sendall(request(ACT, inside, *UPGRADE))
        assert answer(line)[0] == 400
        line.sendall(request("/healthz", b"", method="GET"))
        assert answer(line)[2] == {"ok": True}
    assert store.queue.contents.find("banner").drawn == 0


def test_connect_is_rejected(served: Served) -> None:
    for target in ("/v1/observe", "example.org:80"):
        with served.connected() as line:
            line.sendall(request(target, b"", *UPGRADE, method="CONNECT"))
            assert answer(line)[0] in (400, 405)


@pytest.mark.parametrize("http", ["httptools", "h11"])
@pytest.mark.parametrize("mounted", [True, False])
def test_upgrade_under_another_server(store: Store, http: str, mounted: bool) -> None:
    """uvicorn drops the body with httptools: then no decision is drawn. With h11 the body arrives."""

    def mount(app: Any) -> Any:
        return Starlette(routes=[Mount("/decisions", app)])

    path = "/decisions" + ACT if mounted else ACT
    with Served(store, http, asgi=mount if mounted else None) as found, found.connected() as line:
        line.sendall(request(path, b'{"id": "one", "key": "anna"}', *UPGRADE))
        status, _, told, _ = answer(line)
    stored = store.queue.contents.find("banner")
    if http == "h11":
        assert (status, stored.keys, stored.drawn) == (200, 1, 0)
    else:
        assert (status, told["code"], stored.open) == (400, "incomplete_body", 0)
        assert "--http h11" in told["error"]
    with Served(store, http, asgi=mount if mounted else None) as found, found.connected() as line:
        line.sendall(request(path, b"5\r\n{    \r\n0\r\n\r\n", *UPGRADE, "transfer-encoding: chunked"))
        assert answer(line)[0] == 400
        if http == "h11":
            line.sendall(request(path, b"", *UPGRADE))  # the control: a body that is empty
            assert answer(line)[0] == 200


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_curl_http2(served: Served, store: Store) -> None:
    command = [
        "curl", "-sS", "--http2", "-H", f"authorization: Bearer {KEY}", "-d", '{"id": "one", "key": "anna"}',
        f"http://127.0.0.1:{served.port}{ACT}",
    ]  # fmt: skip
    told = [json.loads(subprocess.run(command, capture_output=True, check=True, timeout=30).stdout) for _ in range(2)]
    assert told[0] == told[1]
    assert "upgrade: h2c" in subprocess.run([*command, "-v"], capture_output=True, text=True, check=True).stderr.lower()
    stored = store.queue.contents.find("banner")
    assert (stored.keys, stored.open, stored.drawn) == (1, 1, 0)


JAVA = """
import java.net.URI;
import java.net.http.*;

public class Post {
    public static void main(String[] words) throws Exception {
        for (String body : new String[] {words[2], words[2]}) {
            HttpRequest request = HttpRequest.newBuilder(URI.create(words[0]))
                .header("authorization", "Bearer " + words[1]).POST(HttpRequest.BodyPublishers.ofString(body)).build();
            HttpResponse<String> answer =
                HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
            System.out.println(answer.statusCode() + " " + answer.version() + " " + answer.body());
        }
    }
}
"""


@pytest.mark.skipif(shutil.which("java") is None, reason="no JDK is installed")
def test_java_http_client(served: Served, store: Store, tmp_path: Path) -> None:
    (tmp_path / "Post.java").write_text(JAVA)
    address = f"http://127.0.0.1:{served.port}{ACT}"
    done = subprocess.run(
        ["java", str(tmp_path / "Post.java"), address, KEY, '{"id": "one", "key": "anna"}'],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    first, second = done.stdout.splitlines()
    assert (first, first.startswith("200 HTTP_1_1 {")) == (second, True)
    stored = store.queue.contents.find("banner")
    assert (stored.keys, stored.open, stored.drawn) == (1, 1, 0)


# Time limits


def closed_after(line: socket.socket) -> tuple[bytes, float]:
    """Return the bytes until the service closes the connection, and the seconds that took."""
    began, found = time.monotonic(), b""
    with contextlib.suppress(ConnectionResetError):
        while got := line.recv(65536):
            found += got
    return found, time.monotonic() - began


def test_a_head_that_does_not_end_is_answered_with_408(served: Served) -> None:
    with served.connected() as line:
        line.sendall(b"POST /v1/observe HTTP/1.1\r\nhost: x\r\n")
        found, took = closed_after(line)
    assert found.startswith(b"HTTP/1.1 408")
    assert b"connection: close" in found
    assert b'"code":"request_timeout"' in found
    assert b"head_timeout=0.6 seconds" in found
    assert HEAD * 0.9 < took < HEAD + 5


@pytest.mark.parametrize("drip", [b"x: y\r\n", b"\r\n"], ids=["headers", "blank lines"])
def test_a_slow_sender_does_not_extend_the_limit(served: Served, drip: bytes) -> None:
    """One line every 50 ms: each is progress, and the limit is one of the whole head."""
    with served.connected() as line:
        line.sendall(request(ACT))  # the limit holds for every request of a connection
        assert answer(line)[0] == 200
        began = time.monotonic()
        if drip != b"\r\n":
            line.sendall(b"POST /v1/observe HTTP/1.1\r\n")
        with contextlib.suppress(OSError):
            while time.monotonic() - began < 8:
                line.sendall(drip)
                time.sleep(0.05)
        assert HEAD * 0.9 < time.monotonic() - began < 6


@pytest.mark.parametrize("sent", [b"", b"\r\n"])
def test_a_connection_without_a_request_is_closed(served: Served, sent: bytes) -> None:
    with served.connected() as line:
        line.sendall(sent)
        found, took = closed_after(line)
    assert (found, HEAD * 0.9 < took < HEAD + 5) == (b"", True)


@pytest.mark.parametrize("way", ["short", "long"])
def test_a_body_that_does_not_end_is_answered_with_408(served: Served, store: Store, way: str) -> None:
    head = request(ACT if way == "short" else ACT + "?x=1", b" " * 100)[:-90]
    with served.connected() as line:
        line.sendall(head)
        began, found = time.monotonic(), b""
        while b"\r\n\r\n" not in found and time.monotonic() - began < 8:  # single bytes from time to time do not help
            line.sendall(b" ")
            line.settimeout(0.05)
            with contextlib.suppress(TimeoutError):
                found += line.recv(65536)
        took = time.monotonic() - began
        line.settimeout(5)
        found += closed_after(line)[0]
    assert found.startswith(b"HTTP/1.1 408")
    assert found.count(b"connection: close") == 1
    assert b"body_timeout=0.8 seconds" in found
    assert BODY * 0.9 < took < BODY + 5
    assert store.queue.contents.find("banner").drawn == 0
    assert served.app.service.metrics.answers[408] == 1


def test_the_rest_of_a_rejected_body_has_a_limit(served: Served) -> None:
    """A request that was answered before its body arrived must not hold the connection."""
    with served.connected() as line:
        line.sendall(request("/v1/learners", b" " * 3000).replace(KEY.encode(), b"w" * 16)[:-2900])
        assert answer(line)[0] == 401
        began = time.monotonic()
        with contextlib.suppress(OSError):
            while time.monotonic() - began < 8:
                line.sendall(b" ")
                time.sleep(0.05)
        assert time.monotonic() - began < 6


def test_a_slow_client_below_the_limits_is_served(served: Served) -> None:
    """The control: the same pieces, faster; and several requests whose times add up to more than the limit."""
    with served.connected() as line:
        for path in (ACT, ACT + "?x=1", "/v1/learners"):
            for _ in range(3):
                body = b'{"count": 1}' if "act" in path else b""
                whole = request(path, body, method="POST" if "act" in path else "GET")
                cut = whole.index(b"\r\n\r\n") + 4
                for part, seconds in ((whole[:cut], HEAD), (whole[cut:], BODY)):
                    size = max(1, -(-len(part) // 4))
                    for at in range(0, len(part), size):
                        line.sendall(part[at : at + size])
                        time.sleep(seconds * 0.5 / 4)
                assert answer(line)[0] == 200


def test_a_request_keeps_its_answer_if_the_next_head_is_late(served: Served, store: Store) -> None:
    """The disk is slower than the limit: the decision is answered first, then the head that never ended."""
    with served.connected() as line:
        with store.queue.journal._writing:
            line.sendall(request(ACT) + b"POST /v1/observe HTTP/1.1\r\n")
            time.sleep(HEAD * 2)
        status, _, told, left = answer(line)
        assert (status, "ticket" in told) == (200, True)
        status, headers, told, left = answer(line, left)
        assert (status, headers["connection"], left) == (408, "close", b"")
        assert line.recv(10) == b""


@pytest.mark.parametrize("cut", [30, -5], ids=["head", "body"])
def test_a_slow_disk_does_not_shorten_the_limit_of_a_queued_request(served: Served, store: Store, cut: int) -> None:
    """Three requests, the last one in two segments; the service stops reading between them, so none is late."""
    with served.connected() as line:
        last = request(ACT, b'{"count": 3}')
        with store.queue.journal._writing:
            line.sendall(request(ACT) * 2 + last[:cut])
            time.sleep(0.1)
            line.sendall(last[cut:])
            time.sleep(BODY * 1.5)
        left = b""
        for _ in range(2):
            status, _, _, left = answer(line, left)
            assert status == 200
        assert len(answer(line, left)[2]["ticket"]) == 3


# Heads


def test_a_large_body_before_a_head_is_not_counted_as_head(store: Store) -> None:
    """The end of a body of 300 kB and the first bytes of the next head arrive in one segment."""
    body = b'{"count": 1' + b" " * 300_000 + b"}"
    whole, cut = request(ACT, body) + request(ACT), len(request(ACT)) - 20
    with Served(store, "fast", Limits()) as served, served.connected() as line:
        for _ in range(3):
            line.sendall(whole[:-cut])
            time.sleep(0.3)
            line.sendall(whole[-cut:])
            left = b""
            for _ in range(2):
                status, _, told, left = answer(line, left)
                assert (status, "ticket" in told) == (200, True)


@pytest.mark.parametrize(("size", "status"), [(65_000, 200), (200_000, 431)])
@pytest.mark.parametrize("before", [0, 1, 300_000])
def test_a_head_is_counted_from_its_own_beginning(store: Store, size: int, status: int, before: int) -> None:
    """The executed request keeps its answer; the next head is judged by its own length."""
    first = request(ACT, b'{"count": 1' + b" " * before + b"}") if before else b""
    second = request(ACT, b"", "x: " + "y" * size)
    with Served(store, "fast", Limits()) as served, served.connected() as line:
        with contextlib.suppress(OSError):  # the head begins in the segment of the body, and ends in one of its own
            for piece in (first + second[:300], second[300:-1], second[-1:]):
                line.sendall(piece)
                time.sleep(0.1)
        left = b""
        if before:
            found, _, told, left = answer(line, left)
            assert (found, "ticket" in told) == (200, True)
        found, headers, told, _ = answer(line, left)
        assert found == status
        if status == 431:
            assert (told["code"], headers["connection"]) == ("head_too_large", "close")
    assert store.queue.contents.find("banner").drawn == bool(before) + (status == 200)


@pytest.mark.parametrize("way", ["", "?x=1"], ids=["short", "long"])
@pytest.mark.parametrize("nonsense", [b"nonsense\r\n\r\n", b"POST / HTTP/1.1\r\nx: " + b"y" * 200_000])
def test_requests_keep_their_answers_before_an_error(store: Store, way: str, nonsense: bytes) -> None:
    with Served(store, "fast", Limits()) as served, served.connected() as line:
        with store.queue.journal._writing:
            line.sendall(request(ACT + way) * 3)
            time.sleep(0.1)
            with contextlib.suppress(OSError):
                line.sendall(nonsense)
            time.sleep(0.1)
        left = b""
        for _ in range(3):
            status, _, told, left = answer(line, left)
            assert (status, "ticket" in told) == (200, True)
        status, headers, told, _ = answer(line, left)
        assert (status, headers["connection"]) == ((400 if nonsense[:1] == b"n" else 431), "close")
        assert told["code"] in ("bad_request", "head_too_large")


def test_a_malformed_body_is_answered_once(served: Served, store: Store) -> None:
    with served.connected() as line:
        line.sendall(request(ACT, b"zz\r\n", "transfer-encoding: chunked"))
        found, _ = closed_after(line)
        assert (found.startswith(b"HTTP/1.1 400"), found.count(b"HTTP/1.1 4")) == (True, 1)
    with served.connected() as line:
        with store.queue.journal._writing:
            line.sendall(request(ACT) * 2 + request(ACT, b"zz\r\n", "transfer-encoding: chunked"))
            time.sleep(0.1)
        left = b""
        for expected in (200, 200, 400):
            status, _, _, left = answer(line, left)
            assert status == expected
    assert store.queue.contents.find("banner").drawn == 2


def test_limits_are_checked() -> None:
    for name in ("head_timeout", "body_timeout"):
        with pytest.raises(ValueError, match=f"{name}.*0"):
            Limits(**{name: 0})  # type: ignore[arg-type]


def test_fast_path_is_used_without_tokens(store: Store) -> None:
    """Loopback hosts and JSON are common; all other requests take the slow path, where they are checked."""
    with Served(store, "fast", access=Access()) as served, served.connected() as line:
        good = request(ACT, b"{}", "content-type: application/json").replace(b"host: x", b"host: localhost:8414")
        line.sendall(good)
        assert answer(line)[0] == 200
        assert served.ways == ["banner"]
        for change, status in (
            ((b"localhost:8414", b"rebound.example"), 403),
            ((b"host: localhost:8414\r\n", b""), 403),
            ((b"host: ", b"host: rebound.example\r\nhost: "), 403),
            ((b"application/json", b"text/plain"), 415),
            ((b"content-type", b"x-type"), 415),
            ((b"content-type", b"origin: http://evil.example\r\ncontent-type"), 403),
            ((b"content-type", b"sec-fetch-site: cross-site\r\ncontent-type"), 403),
            ((b"localhost:8414", b"[::1]"), 200),
            ((b"application/json", b"Application/JSON; charset=utf-8"), 200),
        ):
            line.sendall(good.replace(*change))
            assert answer(line)[0] == status, change
    assert len(served.ways) == 2
    assert store.queue.contents.find("banner").drawn == 3
