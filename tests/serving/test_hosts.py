"""Without access tokens: requests of this machine are answered, those of web pages of other sites are not."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from asking import ask
from browser import chromium
from sockets import Served

import hannan as hn
from hannan.client import Client
from hannan.serving.access import Access, Hosts
from hannan.serving.app import App
from hannan.serving.store import Store

ACT = "/v1/learners/banner/act"
KEY = "z" * 16


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "decisions.db") as store:
        store.add("banner", hn.Bandit(["red", "blue"], gains=True))
        yield store


@pytest.mark.parametrize(
    ("host", "good"),
    [
        *((host, True) for host in ("localhost", "LocalHost:1", "127.0.0.1:8414", "127.255.3.4", "[::1]", "[::1]:80")),
        *((host, False) for host in (
            "", "rebound.example", "rebound.example:8414", "localhost.rebound.example", "127.0.0.1.rebound.example",
            "localhost@rebound.example", "rebound.example#localhost", "localhost:x", "localhost, rebound.example",
            "128.0.0.1", "0.0.0.0", "[::]", "[::1", "::1", "127.0.0.1/8", "[127.0.0.1]", "127.1", "2130706433", "*",
            "localhost ", "localhost\xe9", "xn--localhost", "localhost_", ".localhost",
        )),
    ],
)  # fmt: skip
def test_hosts(store: Store, host: str, good: bool) -> None:
    assert Hosts().known(host.encode("latin-1")) is good
    for method, path, body in (("POST", ACT, {}), ("GET", "/v1/learners", None), ("GET", "/metrics", None)):
        if host.isascii():
            status, told = ask(App(store), method, path, body, headers={"host": host})
            assert (status == 200) is good
            assert good or (status, told["code"]) == (403, "host_not_allowed")
    assert store.queue.counts.decisions == good


def test_host_names_of_the_operator(store: Store) -> None:
    app = App(store, Access(host_names=["Decisions.example", "10.0.0.7", "[fd00::7]"]))
    for host in ("decisions.example", "DECISIONS.example:443", "10.0.0.7:80", "[fd00::7]:80", "localhost"):
        assert ask(app, "POST", ACT, headers={"host": host})[0] == 200
    for host in ("decisions.example.org", "a.decisions.example", "10.0.0.8", "*"):
        assert ask(app, "POST", ACT, headers={"host": host})[0] == 403
    anything = App(store, Access(host_names=["*"]))
    assert ask(anything, "POST", ACT, headers={"host": "rebound.example"})[0] == 200
    assert ask(anything, "POST", ACT, headers={"host": "a b"})[0] == 403
    for bad in ("decisions.example:80", "http://decisions.example", "", "a b", 7):
        with pytest.raises(ValueError, match="host name must be"):
            Access(host_names=[bad])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({}, 200, None),
        ({"origin": "http://localhost:8414"}, 200, None),
        ({"origin": "https://LOCALHOST:8414"}, 200, None),  # a proxy that speaks TLS
        ({"origin": "https://decisions.example", "sec-fetch-site": "same-origin"}, 200, None),
        ({"sec-fetch-site": "same-origin"}, 200, None),
        ({"sec-fetch-site": "none"}, 200, None),
        ({"origin": "http://evil.example"}, 403, "cross_site_request"),
        ({"origin": "http://localhost:3000"}, 403, "cross_site_request"),  # another service of this machine
        ({"origin": "http://localhost"}, 403, "cross_site_request"),
        ({"origin": "null"}, 403, "cross_site_request"),
        ({"origin": "file://localhost:8414"}, 403, "cross_site_request"),
        ({"origin": ""}, 403, "cross_site_request"),
        ({"origin": "https://decisions.example.evil.example"}, 403, "cross_site_request"),
        ({"sec-fetch-site": "cross-site"}, 403, "cross_site_request"),
        ({"sec-fetch-site": "same-site"}, 403, "cross_site_request"),
        ({"content-type": "application/json; charset=utf-8"}, 200, None),
        ({"content-type": "text/plain"}, 415, "unsupported_media_type"),
        ({"content-type": "application/x-www-form-urlencoded"}, 415, "unsupported_media_type"),
        ({"content-type": "multipart/form-data; boundary=application/json"}, 415, "unsupported_media_type"),
        ({"content-type": "text/plain; application/json"}, 415, "unsupported_media_type"),
        ({"content-type": ""}, 415, "unsupported_media_type"),
    ],
)
def test_requests_of_other_sites(store: Store, headers: dict[str, str], status: int, code: str | None) -> None:
    app = App(store, Access(host_names=["decisions.example"]))
    found, told = ask(app, "POST", ACT, {"id": "one"}, headers=headers)
    assert (found, told.get("code")) == (status, code)
    assert store.queue.counts.decisions == (status == 200)
    # The control: with access tokens, which no page of another site knows, all of them are served.
    guarded = App(store, Access([f"admin:{KEY}"]))
    assert ask(guarded, "POST", ACT, {"id": "two"}, KEY, headers={"host": "rebound.example", **headers})[0] == 200
    assert ask(guarded, "POST", ACT, {"id": "two"}, headers=headers)[0] == 401


def test_paths_without_tokens_are_open(store: Store) -> None:
    """Probes name the address of a container, and the page itself shows nothing."""
    for path in ("/healthz", "/readyz", "/openapi.json", "/"):
        assert ask(App(store), "GET", path, headers={"host": "10.1.2.3", "sec-fetch-site": "cross-site"})[0] == 200


def test_two_host_headers_are_rejected(store: Store) -> None:
    hosts = Hosts()
    with pytest.raises(ValueError, match="got 'localhost', 'evil'"):
        hosts.check([(b"host", b"localhost"), (b"host", b"evil")])
    with pytest.raises(ValueError, match="got none"):
        hosts.check([])
    hosts.check([(b"host", b"localhost")])


def test_the_client_is_served(store: Store) -> None:
    with Served(store, "fast", access=Access()) as served:
        move = Client(f"http://127.0.0.1:{served.port}").act("banner")
        assert Client(f"http://localhost:{served.port}").observe(move.ticket, reward=1)
    assert len(served.ways) == 2


# A browser


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<title>another site</title>")

    def log_message(self, *words: Any) -> None:
        pass


@contextmanager
def another_site() -> Iterator[int]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


#: Requests that a page may send to another site unasked: without a body, with text, without a type, as a form.
SENT = """async ([address]) => {
  const send = (more) => fetch(address, {method: "POST", mode: "no-cors", ...more}).catch(() => null);
  await send({});
  await send({body: '{"id": "text"}'});
  await send({body: new Blob(['{"id": "blob"}'])});
  await send({body: '{"id": "json"}', mode: "cors", headers: {"content-type": "application/json"}});
  const frame = document.createElement("iframe");
  frame.name = "target";
  const form = document.createElement("form");
  Object.assign(form, {method: "POST", action: address, target: "target", enctype: "text/plain"});
  const load = () => new Promise((loaded) => frame.addEventListener("load", loaded, {once: true}));
  const empty = load();
  document.body.append(frame, form);
  await empty;
  const answered = load();
  form.submit();
  await answered;
}"""
READ = "async ([path, more]) => (await fetch(path, more)).status"


@pytest.mark.parametrize("allowed", [[], ["rebound.example"]], ids=["default", "control"])
def test_dns_rebinding_and_cross_site_requests_in_a_browser(store: Store, allowed: list[str]) -> None:
    """A page of another site, and a page whose host name was bound to this machine after it was loaded.

    The control allows that host name, and shows that the browser does send the requests.
    """
    flags = "--host-resolver-rules=MAP *.example 127.0.0.1"
    with (
        Served(store, "fast", access=Access(host_names=allowed)) as served,
        another_site() as site,
        chromium(flags) as browser,
    ):
        page = browser.new_page()
        page.goto(f"http://evil.example:{site}/")
        page.evaluate(SENT, [f"http://127.0.0.1:{served.port}{ACT}"])
        assert store.queue.counts.decisions == 0
        assert served.app.service.metrics.answers == {403: 4, 405: 1}  # all were sent; 405 answers a preflight
        page.goto(f"http://rebound.example:{served.port}/")
        typed = {"method": "POST", "body": "{}", "headers": {"content-type": "application/json"}}
        tried = [("/v1/learners/banner", {}), (ACT, {"method": "POST"}), (ACT, typed)]
        assert [page.evaluate(READ, list(one)) for one in tried] == [200 if allowed else 403] * 3
        assert store.queue.counts.decisions == (2 if allowed else 0)
        page.goto(f"http://127.0.0.1:{served.port}/")  # the page of the service itself
        page.wait_for_selector("section table")
        assert page.inner_text("#message") == ""
