"""The service as ASGI: uvicorn runs it, and any ASGI application can mount it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from hannan.serving.access import Access
from hannan.serving.errors import Ended, Refused
from hannan.serving.routes import routed
from hannan.serving.service import Answer, Limits, Request, Service
from hannan.serving.store import Store

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
#: Seconds between two samples of the weights.
SAMPLE = 2.0
_NO_STORE = (b"cache-control", b"no-store")
_GUARDS = [
    (b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
     b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
]  # fmt: skip


class App:
    """An ASGI application over a store: `uvicorn.run(App(store))`, or mounted in one of yours.

    `access` has the keys, `limits` how much may be asked at once. Whoever made the store closes it, unless `closes`.
    """

    def __init__(
        self, store: Store, access: Access | None = None, limits: Limits | None = None, closes: bool = False
    ) -> None:
        self.service, self._access, self._closes = Service(store, limits), access or Access(), closes
        self._journal, self._most = store.desk.journal, self.service.limits.body
        self._loop: asyncio.AbstractEventLoop | None = None
        self._turn: asyncio.Future[None] | None = None
        self._sampler: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        if scope["type"] != "http":
            raise ValueError(f"the service speaks HTTP; got {scope['type']}")
        if self._loop is None:
            self._attach()
        answer, extra = await self._answered(scope, receive)
        headers = [(b"content-type", answer.kind), (b"content-length", b"%d" % len(answer.body)), *extra]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else answer.body})

    async def _answered(self, scope: Scope, receive: Receive) -> tuple[Answer, list[tuple[bytes, bytes]]]:
        try:
            path = scope["path"]
            root = scope.get("root_path", "")
            if root and path.startswith(root):
                path = path[len(root) :] or "/"
            method = scope["method"]
            route, name, arm = routed("GET" if method == "HEAD" else method, path)
            if route.role is not None:
                self._may(scope["headers"], route.role)
            body = await self._body(scope, receive)
            answer = self.service.handle(route.action, Request(body, name, arm, scope.get("query_string", b"")))
            if answer.later is not None:
                answer = await asyncio.to_thread(answer.later)
            if self._journal.committed < answer.sequence:
                await self._on_disk(answer.sequence)
        except (Refused, Ended) as error:
            answer = self.service.refused(error)
            self.service.metrics.answers[answer.status] += 1
        return answer, self._more(answer)

    def _more(self, answer: Answer) -> list[tuple[bytes, bytes]]:
        """Headers that some answers have."""
        if answer.status == 200 and answer.kind[:9] != b"text/html":
            return [_NO_STORE]
        extra = {401: (b"www-authenticate", b"Bearer"), 503: (b"retry-after", b"1")}.get(answer.status)
        return [_NO_STORE, *_GUARDS, *([] if extra is None else [extra])]

    def _may(self, headers: list[tuple[bytes, bytes]], role: str) -> None:
        found = None
        for name, value in headers:
            if name == b"authorization":
                found = value
        roles = self._access.roles(found)
        if roles is None:
            raise Refused(401, "a key must be given, as Authorization: Bearer KEY, and be one of this service")
        if role and role not in roles:
            raise Refused(403, f"the key must have the role {role}; it has {', '.join(sorted(roles))}")

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        message = await receive()
        body: bytes = message.get("body", b"")
        while message.get("more_body"):
            if len(body) > self._most:
                break
            message = await receive()
            body += message.get("body", b"")
        if len(body) > self._most:
            raise Refused(413, f"a body must be at most {self._most} bytes")
        return body

    # The journal's thread tells the loop when a group is on the disk

    def _attach(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._turn = self._loop.create_future()
        self._journal.listeners.append(self._written)
        self._sampler = self._loop.create_task(self._sample())

    def _written(self) -> None:
        loop = self._loop
        if loop is not None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(self._release)

    def _release(self) -> None:
        turn, self._turn = self._turn, asyncio.get_running_loop().create_future()
        if turn is not None and not turn.done():
            turn.set_result(None)

    async def _on_disk(self, sequence: int) -> None:
        while self._journal.committed < sequence:
            if self._journal.failure is not None:
                self._journal.wait(sequence)  # raises
            assert self._turn is not None
            await asyncio.shield(self._turn)

    async def _sample(self) -> None:
        while True:
            self.service.histories.sample()
            await asyncio.sleep(SAMPLE)

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                self._attach()
                await send({"type": "lifespan.startup.complete"})
            else:
                await self.stop()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def stop(self) -> None:
        """Let go of the loop; where the store is this application's, write all and close it."""
        if self._sampler is not None:
            self._sampler.cancel()
        if self._written in self._journal.listeners:
            self._journal.listeners.remove(self._written)
        if self._closes:
            await asyncio.to_thread(self.service.store.close)
