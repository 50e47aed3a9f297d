"""Requests to the service, without a socket."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from hannan.serving.app import App


def ask(app: App, method: str, path: str, body: Any = None, key: str | None = None, **more: Any) -> tuple[int, Any]:
    """(status, JSON or bytes) of one request."""
    return asyncio.run(asked(app, method, path, body, key, **more))


async def asked(
    app: App, method: str, path: str, body: Any = None, key: str | None = None, query: str = "",
    headers: dict[str, str] | None = None,
) -> tuple[int, Any]:  # fmt: skip
    data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    given = {"host": "localhost:8414", **({"content-type": "application/json"} if data else {}), **(headers or {})}
    found = [(name.encode(), value.encode()) for name, value in given.items()]
    if key is not None:
        found.append((b"authorization", f"Bearer {key}".encode()))
    scope = {"type": "http", "method": method, "path": path, "headers": found, "query_string": query.encode()}
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": data, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    # Every request may have its own event loop.
    if app._sampler is not None:
        app._sampler.cancel()
        app._sampler = None
    status, raw = sent[0]["status"], sent[1]["body"]
    kind = dict(sent[0]["headers"])[b"content-type"]
    return status, json.loads(raw) if kind == b"application/json" else raw
