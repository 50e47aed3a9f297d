"""A service in a thread, and requests to it over raw sockets."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from typing import Any

import uvicorn

from hannan.serving.access import Access
from hannan.serving.app import App
from hannan.serving.fast_path import FastProtocol, fast_protocol
from hannan.serving.service import Limits
from hannan.serving.store import Store

KEY = "k" * 16
ACT = "/v1/learners/banner/act"


class Served:
    """A service in a thread. `ways` lists the requests that took the fast path of `hannan.serving.fast_path`.

    `http` is the HTTP implementation: "fast", or one of uvicorn's own. `asgi` wraps the application, if given.
    """

    def __init__(
        self, store: Store, http: str, limits: Limits | None = None, access: Access | None = None, asgi: Any = None
    ) -> None:
        access = Access([f"admin:{KEY}", "act:" + "a" * 16]) if access is None else access
        self.app, self.http = App(store, access, limits or Limits(body=5000)), http
        self.ways: list[str] = []
        kind: type[FastProtocol] = fast_protocol(self.app)
        told, ways = kind._told, self.ways

        def seen(self: FastProtocol) -> None:
            ways.append(self._fast_cycle.fast_route[1] or "observe")
            told(self)

        kind._told = seen  # type: ignore[method-assign]
        self.bound = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.bound.getsockname()[1]
        config = uvicorn.Config(
            self.app if asgi is None else asgi(self.app), http=kind if http == "fast" else http, ws="none",
            log_config=None, lifespan="on" if asgi is None else "off", server_header=False, date_header=False,
        )  # fmt: skip
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, args=([self.bound],))
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *reason: object) -> None:
        self.stop()

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join()

    def connected(self) -> socket.socket:
        return socket.create_connection(self.bound.getsockname(), timeout=10)


def request(path: str, body: bytes = b"", *lines: str, method: str = "POST", version: str = "1.1") -> bytes:
    """Return the bytes of a request."""
    head = [f"{method} {path} HTTP/{version}", "host: x", f"authorization: Bearer {KEY}", *lines]
    if not any(line.startswith("transfer-encoding") for line in lines):
        head.append(f"content-length: {len(body)}")
    return "\r\n".join([*head, "", ""]).encode() + body


def answer(line: socket.socket, left: bytes = b"") -> tuple[int, dict[str, str], Any, bytes]:
    """Return (status, headers, JSON, bytes after the answer)."""
    while b"\r\n\r\n" not in left:
        got = line.recv(65536)
        assert got, left
        left += got
    head, _, left = left.partition(b"\r\n\r\n")
    first, *rest = head.decode().split("\r\n")
    headers = dict(re.split(r": ", one, maxsplit=1) for one in rest)
    size = int(headers.get("content-length", 0))
    while len(left) < size:
        got = line.recv(65536)
        assert got
        left += got
    return int(first.split()[1]), headers, json.loads(left[:size] or b"null"), left[size:]
