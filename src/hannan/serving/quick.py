"""The short way of a decision through uvicorn: from its parser to the desk, and out again when the disk has it.

For every request uvicorn makes a task, a scope and two writes. A decision or a feedback needs none of them: its body is
read, its answer is made at once, and is written, in one piece, by whoever is told that the group is on the disk.
Everything unusual goes the long way, through ASGI, and is answered alike: other paths and methods, HTTP/1.0, bodies in
chunks or long ones, `Expect`, requests before the last one is answered, readers that do not read.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, ClassVar, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from hannan.serving.app import App
from hannan.serving.errors import Refused
from hannan.serving.route import Route
from hannan.serving.routes import routed
from hannan.serving.service import JSON, Answer

#: Bytes of a body; addresses that are kept.
LONGEST, MOST_ROADS = 1 << 16, 10_000
#: Bytes of a request before its body.
LONGEST_HEAD = 1 << 16
_STATUS = {s.value: f"HTTP/1.1 {s.value} {s.phrase}\r\n".encode() for s in HTTPStatus}
_GOOD = _STATUS[200] + b"content-type: application/json\r\ncache-control: no-store\r\ncontent-length: %d\r\n\r\n%b"

Road = tuple[Route, str]


class Trip:
    """A request on the short way, as far as uvicorn asks for one."""

    __slots__ = ("answer", "authorization", "body", "disconnected", "keep_alive", "response_complete", "road")

    def __init__(self) -> None:
        self.response_complete, self.disconnected, self.keep_alive = True, False, True
        self.body, self.authorization = b"", cast(bytes | None, None)
        self.road: Road
        self.answer: Answer

    @property
    def message_event(self) -> Trip:
        """Whom uvicorn tells that the connection is gone."""
        return self

    def set(self) -> None:
        """Nobody waits for that here."""


class Quick(HttpToolsProtocol):
    """uvicorn's own protocol, with a short way for POST .../act and /v1/observe."""

    app_: ClassVar[App]
    roads: ClassVar[dict[bytes, Road]]
    #: Of the request that came last; None before the first.
    cycle: Any

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._trip = Trip()
        #: Bytes of a head that is not whole yet; None in a body, and between two requests.
        self._head: int | None = None

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._head is not None:
            self._head += len(data)
            if self._head > LONGEST_HEAD and not self.transport.is_closing():
                said = b'{"error":"a request must have at most %d bytes before its body"}' % LONGEST_HEAD
                self._write(Answer(431, said), keep_alive=False)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head = 0

    def on_headers_complete(self) -> None:
        self._head = None
        road = self.roads.get(self.url) or self._road()
        before = self.cycle
        free = (before is None or before.response_complete) and not self.pipeline
        if road is None or not free or not self._short():
            super().on_headers_complete()
            return
        trip = self._trip
        trip.response_complete, trip.body, trip.road = False, b"", road
        self.cycle = trip

    def _road(self) -> Road | None:
        """The route of an address that is not known yet."""
        url = self.url
        if b"?" in url or b"%" in url or not url.isascii() or len(self.roads) >= MOST_ROADS:
            return None
        try:
            route, name, _ = routed("POST", url.decode())
        except Refused:
            return None
        if route.role not in ("act", "observe") or (name and name not in self.app_.service.desk.contents.by_name):
            return None
        self.roads[url] = route, name
        return route, name

    def _short(self) -> bool:
        """Whether nothing about the request is unusual."""
        parser, length, self._trip.authorization = self.parser, 0, None
        for name, value in self.headers:
            if name == b"authorization":
                self._trip.authorization = value
            elif name == b"content-length":
                length = int(value) if len(value) < 8 and value.isdigit() else LONGEST + 1
            elif name == b"transfer-encoding" or name == b"expect":
                return False
        return (
            length <= LONGEST
            and length <= self.app_.service.limits.body
            and parser.get_method() == b"POST"
            and parser.get_http_version() == "1.1"
            and parser.should_keep_alive()
            and not parser.should_upgrade()
            and not self.flow.write_paused
        )

    def on_body(self, body: bytes) -> None:
        if self.cycle is self._trip:
            self._trip.body += body
        else:
            super().on_body(body)

    def on_message_complete(self) -> None:
        trip = self._trip
        if self.cycle is not trip:
            super().on_message_complete()
            return
        app, (route, name) = self.app_, trip.road
        try:
            trip.answer = answer = app.asked(route, name, trip.authorization, trip.body)
        except Exception as error:
            self.logger.error("Exception in ASGI application\n", exc_info=error)
            trip.answer = answer = Answer(500, b'{"error":"an error in the service; its log says more"}')
        if app.on_disk(answer):
            self._told()
        else:
            app.waiting.add(answer.sequence, self._told)

    def _told(self) -> None:
        """Write the answer."""
        trip = self._trip
        answer = self.app_.settled(trip.answer)
        trip.response_complete = True
        if trip.disconnected or self.transport.is_closing():
            return
        if answer.status == 200 and answer.kind is JSON and trip.keep_alive:
            self.transport.write(_GOOD % (len(answer.body), answer.body))
        else:
            self._write(answer, trip.keep_alive)
        self.on_response_complete()

    def _write(self, answer: Answer, keep_alive: bool) -> None:
        lines = [(b"content-type", answer.kind), (b"content-length", b"%d" % len(answer.body)), *self.app_.more(answer)]
        if not keep_alive:
            lines.append((b"connection", b"close"))
        head = b"".join(b"%b: %b\r\n" % line for line in lines)
        self.transport.write(_STATUS[answer.status] + head + b"\r\n" + answer.body)
        if not keep_alive:
            self.transport.close()


def quick(app: App) -> type[Quick]:
    """The protocol of an application."""
    return type("Quick", (Quick,), {"app_": app, "roads": {}})
