"""Fast path for decisions and feedback through uvicorn, without ASGI.

uvicorn creates a task and a scope per request and writes an answer in two pieces. The fast path computes the answer
immediately and writes it in one piece when its group is on the disk. All other requests go through ASGI, with the same
answers: other paths and methods, HTTP/1.0, chunked or long bodies, `Expect`, pipelined requests, clients that do not
read, and, without access tokens, requests that a browser may have sent.

The protocol also limits the size of a head and the time in which heads and bodies must arrive, and ignores `Upgrade`,
so that a client that offers HTTP/2 is answered in HTTP/1.1 (RFC 9110, section 7.8).

The protocol extends an internal class of uvicorn, which a later version of uvicorn may change. `check` plays requests
through the protocol in memory; if an internal attribute, method or signature has changed, it raises an exception, and
the service uses uvicorn's own protocol instead.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import httptools
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from hannan.serving import Refused
from hannan.serving.app import App
from hannan.serving.routes import Route, routed
from hannan.serving.service import JSON, Answer, Limits

#: Largest body in bytes, and largest number of cached routes.
MAX_BODY, MAX_ROUTES = 1 << 16, 10_000
#: Largest head of a request in bytes.
MAX_HEAD = 1 << 16
#: Bytes that the parser receives at a time. The slice in which a head begins is not counted, because it may contain the
#: end of the previous request. Heads of MAX_HEAD bytes pass, and heads of MAX_HEAD + SLICE bytes do not.
SLICE = 1 << 14
#: Part of a request that is being received.
IDLE, HEAD, BODY = range(3)
_STATUS = {s.value: f"HTTP/1.1 {s.value} {s.phrase}\r\n".encode() for s in HTTPStatus}
_GOOD = _STATUS[200] + b"content-type: application/json\r\ncache-control: no-store\r\ncontent-length: %d\r\n\r\n%b"
_INTERNAL = b'{"error":"internal error of the service, described in its log","code":"internal_error"}'
#: Headers of requests that go through ASGI.
_SLOW_HEADERS = frozenset((b"transfer-encoding", b"expect", b"origin", b"sec-fetch-site", b"x-api-key"))

FastRoute = tuple[Route, str]


class FastCycle:
    """Request on the fast path, with the attributes that uvicorn reads."""

    __slots__ = ("answer", "authorization", "body", "disconnected", "fast_route", "keep_alive", "response_complete")

    def __init__(self) -> None:
        self.response_complete, self.disconnected, self.keep_alive = True, False, True
        self.body, self.authorization = b"", cast(bytes | None, None)
        self.fast_route: FastRoute
        self.answer: Answer

    @property
    def message_event(self) -> FastCycle:
        """Object whose `set` uvicorn calls when the connection is closed."""
        return self

    def set(self) -> None:
        """Do nothing: no task waits for this event."""


class FastProtocol(HttpToolsProtocol):
    """Protocol of uvicorn with a fast path for POST .../act, /v1/observe and evaluations of one flag."""

    app_: ClassVar[App]
    fast_routes: ClassVar[dict[bytes, FastRoute]]
    #: State of the last request; None before the first.
    cycle: Any

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._fast_cycle = FastCycle()
        #: Part of a request that is being received, number of parts begun, and bytes of the head.
        self._part, self._parts, self._head = IDLE, 0, 0
        #: Head of a request with `Upgrade`, without that header.
        self._plain_head: bytes | None = None
        #: Last answer of the connection, sent after those to the requests before it.
        self._last: Answer | None = None
        #: Time limit of a part, and the number of that part.
        self._timer: asyncio.TimerHandle | None = None
        self._timed = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._limit_time()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        if len(data) <= SLICE:
            self._feed(data)
        else:
            for at in range(0, len(data), SLICE):
                self._feed(data[at : at + SLICE])
        self._limit_time()

    def _feed(self, data: bytes) -> None:
        """Parse a slice, unless the connection is about to close."""
        if self._last is not None or self.transport.is_closing():
            return
        parts = self._parts
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            head, self._plain_head = self._plain_head, None
            if head is not None:
                self.parser = httptools.HttpRequestParser(self)
                self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
                self._feed(head + data[upgrade.args[0] :])
                return
        except httptools.HttpParserError:
            self._reject(Refused(400, "malformed request: HTTP/1.1 is required"))
            return
        if self._part == HEAD and self._parts == parts:
            self._head += len(data)
            if self._head > MAX_HEAD:
                self._reject(Refused(431, f"the head of a request must have at most {MAX_HEAD} bytes"))

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._part, self._parts, self._head = HEAD, self._parts + 1, 0

    def on_headers_complete(self) -> None:
        parser = self.parser
        if parser.should_upgrade() and parser.get_method() != b"CONNECT":
            # The parser would skip the body: parse the request again without `Upgrade`.
            self._plain_head = self._without_upgrade()
            return
        self._part, self._parts = BODY, self._parts + 1
        fast_route = self.fast_routes.get(self.url) or self._find_route()
        before = self.cycle
        free = (before is None or before.response_complete) and not self.pipeline
        if fast_route is None or not free or not self._is_eligible():
            super().on_headers_complete()
            return
        fast = self._fast_cycle
        fast.response_complete, fast.body, fast.fast_route = False, b"", fast_route
        self.cycle = fast

    def _without_upgrade(self) -> bytes:
        """Return the head of the request without `Upgrade`, and without what goes with it."""
        lines = [b"%b %b HTTP/%b" % (self.parser.get_method(), self.url, self.parser.get_http_version().encode())]
        for name, value in self.headers:
            if name == b"connection":
                words = (word.strip() for word in value.split(b","))
                value = b", ".join(word for word in words if word.lower() not in (b"upgrade", b"http2-settings"))
            if name not in (b"upgrade", b"http2-settings"):
                lines.append(name + b": " + value)
        return b"\r\n".join([*lines, b"", b""])

    # Limits

    def _limit_time(self) -> None:
        """Start the time limit of the part that is being received, unless it runs already."""
        if self._timer is not None:
            if self._timed == self._parts:
                return
            self._timer.cancel()
            self._timer = None
        if self._part == IDLE and (self.timeout_keep_alive_task is not None or self._busy):
            return
        limits, self._timed = self.app_.service.limits, self._parts
        seconds = limits.body_timeout if self._part == BODY else limits.head_timeout
        self._timer = self.loop.call_later(seconds, self._late)

    @property
    def _busy(self) -> bool:
        """True if an answer has not been written yet."""
        return self.cycle is not None and not self.cycle.response_complete

    def _late(self) -> None:
        """Close the connection: the part of a request did not arrive in time."""
        self._timer = None
        if self.transport.is_closing() or self._last is not None:
            return
        limits, asgi = self.app_.service.limits, self._part == BODY and self.cycle is not self._fast_cycle
        if self.flow.read_paused or (asgi and self._busy):
            self._limit_time()  # The service itself does not read, or `App` limits the time.
        elif self._part == HEAD:
            self._reject(Refused(408, f"the head must arrive within head_timeout={limits.head_timeout:g} seconds"))
        elif self._part == BODY and not asgi:
            self._reject(Refused(408, f"the body must arrive within body_timeout={limits.body_timeout:g} seconds"))
        elif not self._busy:
            self.transport.close()

    def _reject(self, error: Refused) -> None:
        """Answer the request that is being received with an error, after the answers before it, and close."""
        answer, waits = self.app_.refused(error), self._part != BODY and self._busy
        if self._part == BODY and self.pipeline and self.pipeline[0][0] is self.cycle:
            self.pipeline.popleft()
            waits = True
        if waits:
            self._last = answer
            self.flow.pause_reading()
        else:
            self._fast_cycle.response_complete = True
            self._write(answer, keep_alive=False)

    def on_response_complete(self) -> None:
        waiting = bool(self.pipeline)
        super().on_response_complete()
        if self._part != IDLE:  # The next request has its own time limit.
            self._unset_keepalive_if_required()
        if self._last is not None and not waiting and not self.transport.is_closing():
            self._write(self._last, keep_alive=False)

    # Fast path

    def _find_route(self) -> FastRoute | None:
        """Return the route of a URL that is not cached, or None if it goes through ASGI."""
        url = self.url
        if b"?" in url or b"%" in url or not url.isascii() or len(self.fast_routes) >= MAX_ROUTES:
            return None
        try:
            route, name, _ = routed("POST", url.decode())
        except Refused:
            return None
        known = name in self.app_.service.queue.contents.by_name
        if not (route.role == "observe" or (route.role == "act" and known)):
            return None
        self.fast_routes[url] = route, name
        return route, name

    def _is_eligible(self) -> bool:
        """Return whether the fast path can answer the request."""
        parser, length, self._fast_cycle.authorization = self.parser, 0, None
        access, hosts, json = self.app_.access, 0, False
        guarded = access.guarded
        for name, value in self.headers:
            if name == b"authorization":
                self._fast_cycle.authorization = value
            elif name == b"content-length":
                length = int(value) if len(value) < 8 and value.isdigit() else MAX_BODY + 1
            elif name == b"content-type":
                json = value == b"application/json"
            elif name == b"host" and not guarded:
                hosts += 1 if access.hosts.known(value) else 2
            elif name in _SLOW_HEADERS:
                return False
        return (
            (guarded or (hosts == 1 and (json or not length)))
            and length <= MAX_BODY
            and length <= self.app_.service.limits.body
            and parser.get_method() == b"POST"
            and parser.get_http_version() == "1.1"
            and parser.should_keep_alive()
            and not self.flow.write_paused
        )

    def on_body(self, body: bytes) -> None:
        if self.cycle is self._fast_cycle:
            self._fast_cycle.body += body
        else:
            super().on_body(body)

    def on_message_complete(self) -> None:
        if self._plain_head is not None:
            return
        self._part, self._parts = IDLE, self._parts + 1
        fast = self._fast_cycle
        if self.cycle is not fast:
            super().on_message_complete()
            return
        app, (route, name) = self.app_, fast.fast_route
        try:
            fast.answer = answer = app.asked(route, name, fast.authorization, fast.body)
        except Exception as error:
            self.logger.error("Exception in ASGI application\n", exc_info=error)
            fast.answer = answer = Answer(500, _INTERNAL)
        if app.on_disk(answer):
            self._told()
        else:
            app.waiting.add(answer.sequence, self._told)

    def _told(self) -> None:
        """Write the answer."""
        fast = self._fast_cycle
        answer = self.app_.settled(fast.answer)
        fast.response_complete = True
        if fast.disconnected or self.transport.is_closing():
            return
        if answer.status == 200 and answer.kind is JSON and fast.keep_alive:
            self.transport.write(_GOOD % (len(answer.body), answer.body))
        else:
            self._write(answer, fast.keep_alive)
        self.on_response_complete()

    def _write(self, answer: Answer, keep_alive: bool) -> None:
        lines = [(b"content-type", answer.kind), (b"content-length", b"%d" % len(answer.body)), *self.app_.more(answer)]
        if not keep_alive:
            lines.append((b"connection", b"close"))
        head = b"".join(b"%b: %b\r\n" % line for line in lines)
        self.transport.write(_STATUS[answer.status] + head + b"\r\n" + answer.body)
        if not keep_alive:
            self.transport.close()


def fast_protocol(app: App) -> type[FastProtocol]:
    """Return the protocol of an application."""
    return type("FastProtocol", (FastProtocol,), {"app_": app, "fast_routes": {}})


# Compatibility with uvicorn

#: Turns of the event loop within which requests of `check` must be answered; they need fewer than ten.
CHECK_TURNS = 1000
_ASKED, _PLAIN = b"/v1/learners/checked/act", b"/checked"


class _Memory(asyncio.Transport):
    """Transport that keeps the bytes written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.written, self.closing = b"", False

    def write(self, data: Any) -> None:
        self.written += data

    def close(self) -> None:
        self.closing = True

    def is_closing(self) -> bool:
        return self.closing

    def pause_reading(self) -> None:
        """Do nothing: all requests have been delivered."""

    def resume_reading(self) -> None:
        """Do nothing: all requests have been delivered."""


async def _plain(scope: Any, receive: Any, send: Any) -> None:
    """Answer a request through ASGI with the body that it has."""
    body = (await receive())["body"]
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


def check() -> None:
    """Raise an exception if the installed version of uvicorn has other internals than `Quick` needs.

    Five requests are played in memory, without a store: alone and pipelined, with and without ASGI, and a malformed
    one.
    """
    asyncio.run(_checked())


async def _checked() -> None:
    service = SimpleNamespace(
        limits=Limits(), queue=SimpleNamespace(contents=SimpleNamespace(by_name={"checked": None}))
    )
    app = SimpleNamespace(
        service=service, access=SimpleNamespace(guarded=True), asked=lambda *request: Answer(200, request[-1]),
        on_disk=lambda answer: True, settled=lambda answer: answer, more=lambda answer: [],
        refused=lambda error: Answer(400, b"refused"),
    )  # fmt: skip
    kind = fast_protocol(cast(App, app))
    config = uvicorn.Config(_plain, http=kind, ws="none", log_config=None, lifespan="off", server_header=False)
    protocol = kind(config=config, server_state=ServerState(), app_state={}, _loop=asyncio.get_running_loop())
    transport = _Memory()
    protocol.connection_made(transport)
    await _exchanged(protocol, transport, [(_ASKED, b"first")])
    await _exchanged(protocol, transport, [(_PLAIN, b"second"), (_ASKED, b"third")])
    await _exchanged(protocol, transport, [(_ASKED, b"fourth")])
    _same(protocol.flow.read_paused, False)
    protocol.shutdown()
    _same(transport.closing, True)
    protocol.connection_lost(None)
    malformed, refused = kind(config=config, server_state=ServerState(), app_state={}), _Memory()
    malformed.connection_made(refused)
    malformed.data_received(b"malformed\r\n\r\n")
    _same(refused.written.endswith(b"\r\n\r\nrefused"), True)
    malformed.connection_lost(None)


async def _exchanged(protocol: FastProtocol, transport: _Memory, requests: list[tuple[bytes, bytes]]) -> None:
    """Deliver requests together and await their answers, whose bodies are those of the requests."""
    transport.written = b""
    head = b"POST %b HTTP/1.1\r\nhost: checked\r\ncontent-length: %d\r\n\r\n%b"
    protocol.data_received(b"".join(head % (url, len(body), body) for url, body in requests))
    last = b"\r\n\r\n" + requests[-1][1]
    for _ in range(CHECK_TURNS):
        if transport.written.endswith(last) and not protocol._busy:
            break
        await asyncio.sleep(0)
    answers = [part.partition(b"\r\n\r\n") for part in transport.written.split(b"HTTP/1.1 ")[1:]]
    _same([(status[:3], body) for status, _, body in answers], [(b"200", body) for _, body in requests])
    _same(protocol.timeout_keep_alive_task is not None, True)


def _same(found: Any, expected: Any) -> None:
    if found != expected:
        raise ValueError(f"expected {expected}; got {found}")
