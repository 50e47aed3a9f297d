"""ASGI application of the service, run by uvicorn or mounted in another ASGI application."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any

from hannan.serving import Ended, Refused
from hannan.serving.access import Access, check_json
from hannan.serving.journal import Damaged, Journal
from hannan.serving.routes import Route, routed
from hannan.serving.service import Answer, Limits, Request, Service, wrong
from hannan.serving.store import Store

#: Called in the event loop when a sequence is on the disk, or when the journal has ended.
Callback = Callable[[], None]


class CommitWaiters:
    """Queue of callbacks that wait for the disk. The thread of the journal wakes the event loop once per group.

    Sequences increase, so that callbacks whose events are on the disk are at the front.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._queue: deque[tuple[int, Callback]] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None

    def attach(self) -> None:
        """Run callbacks in the current event loop from now on."""
        self._loop = asyncio.get_running_loop()
        if self._written not in self._journal.listeners:
            self._journal.listeners.append(self._written)

    def detach(self) -> None:
        """Release the event loop."""
        if self._written in self._journal.listeners:
            self._journal.listeners.remove(self._written)

    def _written(self) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._release)

    def _release(self) -> None:
        queue, committed = self._queue, self._journal.committed
        while queue and queue[0][0] <= committed:
            queue.popleft()[1]()
        if self._journal.failure is not None:
            while queue:
                queue.popleft()[1]()

    def add(self, sequence: int, callback: Callback) -> None:
        """Register a callback for when all events before `sequence` are on the disk, or the journal has ended."""
        self._queue.append((sequence, callback))

    async def on_disk(self, sequence: int) -> None:
        """Wait until all events before `sequence` are on the disk; raise Ended if the journal has ended."""
        if self._journal.committed < sequence and self._journal.failure is None:
            turn = asyncio.get_running_loop().create_future()
            self.add(sequence, lambda: None if turn.done() else turn.set_result(None))
            await turn
        self._journal.wait(sequence)  # raises Ended if the journal has ended


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
    """ASGI application of a store: `uvicorn.run(App(store))`, or mounted in another application.

    Parameters
    ----------
    store : Store
        Store to serve.
    access : Access, optional
        Access tokens. Default: no tokens, so that only requests to this machine are answered, see `Access`.
    limits : Limits, optional
        Sizes and times of requests.
    closes : bool
        Whether the application closes the store at its shutdown. Default: the caller closes it.
    ofrep_bulk : iterable of str, optional
        Learners whose flags a bulk evaluation of OpenFeature clients draws. Default: none.
    """

    def __init__(
        self, store: Store, access: Access | None = None, limits: Limits | None = None, closes: bool = False,
        *, ofrep_bulk: Iterable[str] = (),
    ) -> None:  # fmt: skip
        self.service, self.access, self._closes = Service(store, limits, ofrep_bulk), access or Access(), closes
        self._journal, self._most = store.queue.journal, self.service.limits.body
        self.waiting = CommitWaiters(self._journal)
        self._sampler: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        if scope["type"] != "http":
            raise ValueError(f"the service supports HTTP only; got {scope['type']}")
        if self._sampler is None:
            self._attach()
        answer, extra = await self._answered(scope, receive)
        headers = [(b"content-type", answer.kind), (b"content-length", b"%d" % len(answer.body)), *extra]
        if answer.status == 408 and scope.get("http_version", "1.1")[:2] == "1.":
            headers.append((b"connection", b"close"))
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else answer.body})

    async def _answered(self, scope: Scope, receive: Receive) -> tuple[Answer, list[tuple[bytes, bytes]]]:
        route, name = None, ""
        try:
            path = scope["path"]
            root = scope.get("root_path", "")
            if root and path.startswith(root):
                path = path[len(root) :] or "/"
            method = scope["method"]
            route, name, arm = routed("GET" if method == "HEAD" else method, path)
            authorization, match = None, b""
            for header, value in scope["headers"]:
                if header == b"authorization":
                    authorization = value
                elif header == b"x-api-key" and route.api_key and authorization is None:
                    authorization = b"Bearer " + value
                elif header == b"if-none-match":
                    match = value
            self.may(authorization, route.role)
            unguarded = route.role is not None and not self.access.guarded
            if unguarded:
                self.access.hosts.check(scope["headers"])
            body = await self._body(scope, receive)
            if unguarded and body:
                check_json(scope["headers"])
            request = Request(body, name, arm, scope.get("query_string", b""), match)
            answer = self.service.handle(route.action, request, route.rejection)
            if answer.later is not None:
                answer = await asyncio.to_thread(answer.later)
            await self.waiting.on_disk(answer.sequence)
        except (Refused, Ended, Damaged) as error:
            answer = self.refused(error, route, name)
        return answer, self.more(answer)

    def refused(self, error: Exception, route: Route | None = None, name: str = "") -> Answer:
        """Return the answer to a rejected request, and count it."""
        answer = (wrong if route is None else route.rejection)(error, name)
        self.service.metrics.answers[answer.status] += 1
        return answer

    # Used by the fast path

    def asked(self, route: Route, name: str, authorization: bytes | None, body: bytes) -> Answer:
        """Return the answer to a request with a complete body, to be sent when its sequence is on the disk."""
        try:
            self.may(authorization, route.role)
        except Refused as error:
            return self.refused(error, route, name)
        return self.service.handle(route.action, Request(body, name), route.rejection)

    def settled(self, answer: Answer) -> Answer:
        """Return the answer after its wait: the answer itself, or an error if its events are not on the disk."""
        if self._journal.committed >= answer.sequence:
            return answer
        try:
            self._journal.wait(answer.sequence)
        except Ended as error:
            return self.refused(error)
        return answer

    def on_disk(self, answer: Answer) -> bool:
        """Return whether an answer can be sent now: its events are on the disk, or the journal has ended."""
        return self._journal.committed >= answer.sequence or self._journal.failure is not None

    def more(self, answer: Answer) -> list[tuple[bytes, bytes]]:
        """Return the additional headers of an answer."""
        if answer.status == 200 and answer.kind[:9] != b"text/html":
            return [_NO_STORE, *answer.headers]
        extra = {401: (b"www-authenticate", b"Bearer"), 503: (b"retry-after", b"1")}.get(answer.status)
        return [_NO_STORE, *_GUARDS, *answer.headers, *([] if extra is None else [extra])]

    def may(self, authorization: bytes | None, role: str | None) -> None:
        """Raise Refused if the token of a request does not have the role."""
        if role is None:
            return
        roles = self.access.roles(authorization)
        if roles is None:
            raise Refused(401, "a valid access token is required in the header: Authorization: Bearer SECRET")
        if role and role not in roles:
            raise Refused(
                403, f"this path requires a token with role {role}; got role {', '.join(sorted(roles))}", "wrong_role"
            )

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        seconds, body = self.service.limits.body_timeout, b""
        try:
            async with asyncio.timeout(seconds):
                more = True
                while more and len(body) <= self._most:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Refused(400, "incomplete body: the client disconnected", "incomplete_body")
                    body += message.get("body", b"")
                    more = message.get("more_body", False)
        except TimeoutError:
            raise Refused(408, f"the body must arrive within body_timeout={seconds:g} seconds") from None
        if len(body) > self._most:
            raise Refused(413, f"the body must have at most {self._most} bytes")
        if not body:
            _check_empty(dict(scope["headers"]))
        return body

    def _attach(self) -> None:
        self.waiting.attach()
        self._sampler = asyncio.get_running_loop().create_task(self._sample())

    async def _sample(self) -> None:
        while True:
            self.service.histories.sample()
            self.service.shares.sample()
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
        """Release the event loop, and close the store if the application owns it."""
        if self._sampler is not None:
            self._sampler.cancel()
        self.waiting.detach()
        if self._closes:
            await asyncio.to_thread(self.service.store.close)


def _check_empty(headers: dict[bytes, bytes]) -> None:
    """Raise Refused if the headers announce a body: uvicorn with httptools drops that of a request with `Upgrade`."""
    length = headers.get(b"content-length", b"").lstrip(b"0")
    if length or (b"transfer-encoding" in headers and b"upgrade" in headers):
        raise Refused(
            400,
            f"a body must be as long as its headers say; got 0 of {length.decode('latin-1') or 'several'} bytes. "
            "The server in front dropped the body, perhaps because of an Upgrade header: run uvicorn with --http h11",
            "incomplete_body",
        )
