"""A client of `hannan serve`, of the standard library alone.

Whatever is lost on the way is asked again, which is safe: feedback counts once a ticket, and every decision is asked
for with an id, so that asking again gives the same one.
"""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
import uuid
from collections.abc import Iterable
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

#: Answers after which the same may be asked again.
_AGAIN = (502, 503, 504)


class Decision(NamedTuple):
    """What `act` answers: hand the ticket back with the feedback."""

    ticket: str
    arm: Any
    action: int
    probability: float


class Refused(ValueError):
    """The service said no; `status` is that of HTTP."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Client:
    """Decisions of a service: `Client("http://localhost:8414", key="...")`. Threads may share it.

    A request that gets no answer within `timeout` seconds, or is told to come later, is sent again, `tries` times in
    all, after pauses that double. What is not known to be refused raises `ConnectionError` in the end: then ask again
    later, feedback with the same ticket, a decision with the same `id`.

        client = Client("http://localhost:8414")
        move = client.act("banner")
        client.observe(move.ticket, reward=1)
    """

    def __init__(self, url: str, key: str | None = None, *, timeout: float = 10.0, tries: int = 6) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"url must be http://HOST or https://HOST; got {url!r}")
        if tries < 1:
            raise ValueError(f"tries must be at least 1; got {tries!r}")
        self._host, self._port, self._secure = parts.hostname, parts.port, parts.scheme == "https"
        self._root, self._timeout, self._tries = parts.path.rstrip("/"), timeout, tries
        self._headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {key}"} if key else {})
        self._local = threading.local()

    def act(self, name: str, key: int | str | None = None, id: str | None = None) -> Decision:
        """A decision of a learner (of one of its keys). Without an `id` it is asked for with a fresh one."""
        body: dict[str, Any] = {"id": uuid.uuid4().hex if id is None else id}
        if key is not None:
            body["key"] = key
        return Decision(**self._ask("POST", f"/v1/learners/{quote(name, safe='')}/act", body))

    def observe(self, ticket: str, reward: float | None = None, *, loss: float | None = None) -> bool:
        """Settle a decision: True if it counts now, False if it was counted before, perhaps by a request of ours that
        got no answer."""
        return bool(self._ask("POST", "/v1/observe", _feedback(ticket, reward, loss))["counted"])

    def observe_many(self, feedback: Iterable[tuple[str, float]], *, losses: bool = False) -> list[bool]:
        """Settle (ticket, reward) pairs, or (ticket, loss) ones: all of them, or none."""
        body = [_feedback(ticket, None if losses else x, x if losses else None) for ticket, x in feedback]
        return list(self._ask("POST", "/v1/observe", body)["counted"])

    def add(self, name: str, arms: list[str] | None = None, learner: Any = "bandit", **more: Any) -> bool:
        """Add a learner: True if it is new. `learner` is a name such as "bandit:tsallis", or a description."""
        body = {"name": name, "learner": learner, **more} | ({} if arms is None else {"arms": arms})
        return bool(self._ask("POST", "/v1/learners", body)["added"])

    def learners(self) -> list[str]:
        """The names of the learners."""
        return list(self._ask("GET", "/v1/learners")["learners"])

    def about(self, name: str) -> dict[str, Any]:
        """A learner, its weights and its certificate."""
        return dict(self._ask("GET", f"/v1/learners/{quote(name, safe='')}"))

    def close(self) -> None:
        """Close this thread's connection."""
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            self._local.connection = None

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        data, trouble = None if body is None else json.dumps(body).encode(), ""
        for attempt in range(self._tries):
            try:
                status, told, pause = self._once(method, path, data)
            except (OSError, http.client.HTTPException) as error:
                self.close()
                trouble, pause = f"{type(error).__name__}: {error}", 0.0
            else:
                if status < 400:
                    return told
                trouble = told.get("error", "") if isinstance(told, dict) else ""
                if status not in _AGAIN:
                    raise Refused(status, trouble or f"the service answered {status}")
            if attempt + 1 < self._tries:
                # Doubling, and spread, so that many clients do not come back at once.
                time.sleep(max(pause, min(0.05 * 2**attempt, 5.0)) * random.uniform(0.5, 1.0))
        raise ConnectionError(f"{self._host} gave no answer in {self._tries} tries; the last said: {trouble}")

    def _once(self, method: str, path: str, data: bytes | None) -> tuple[int, Any, float]:
        """(status, what was told, seconds to wait before it may be asked again)"""
        connection = getattr(self._local, "connection", None)
        if connection is None:
            kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
            connection = self._local.connection = kind(self._host, self._port, timeout=self._timeout)
        connection.request(method, self._root + path, data, self._headers)
        answer = connection.getresponse()
        raw = answer.read()
        try:
            told = json.loads(raw) if raw else None
        except ValueError:
            told = None
        pause = answer.headers.get("retry-after", "0")
        return answer.status, told, float(pause) if pause.isdigit() else 0.0


def _feedback(ticket: str, reward: float | None, loss: float | None) -> dict[str, Any]:
    if (reward is None) == (loss is None):
        raise ValueError(f"feedback must be a reward or a loss; got reward={reward!r}, loss={loss!r}")
    return {"ticket": ticket} | ({"reward": reward} if loss is None else {"loss": loss})
