"""A client of `hannan serve`, of the standard library alone.

Whatever is lost on the way is asked again, which is safe: feedback counts once a ticket, and every decision is asked
for with an id, so that asking again gives the same one.
"""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import random
import threading
import time
import uuid
from collections.abc import Iterable, Sequence
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
    """The service rejected the request: `status` is the HTTP status, `code` the error code of the answer."""

    def __init__(self, status: int, message: str, code: str = "") -> None:
        super().__init__(message)
        self.status, self.code = status, code


def shard_of(name: str, key: int | str | None, shards: int) -> int:
    """Which shard a learner, or a key of one, lives in: BLAKE2b-64 of NAME, or NAME/KEY, modulo the number of shards.

    >>> [shard_of("banner", key, 4) for key in (None, 1, 2, "1", "anna")]
    [0, 2, 1, 2, 1]
    """
    text = name if key is None else f"{name}/{key}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") % shards


def shard_of_ticket(ticket: str) -> int:
    """The shard that a ticket is of; whether it is good only its owner can tell."""
    try:
        return int.from_bytes(base64.urlsafe_b64decode(ticket[:32])[22:24], "little")
    except ValueError:
        return 0


class Client:
    """Decisions of a service: `Client("http://localhost:8414", key="...")`. Threads may share it.

    `url` may be a list, of which address i is that of the owner of shard i: every request goes to where it belongs.

    A request that gets no answer within `timeout` seconds, or is told to come later, is sent again, `tries` times in
    all, after pauses that double. What is not known to be refused raises `ConnectionError` in the end: then ask again
    later, feedback with the same ticket, a decision with the same `id`.

        client = Client("http://localhost:8414")
        move = client.act("banner")
        client.observe(move.ticket, reward=1)
    """

    def __init__(
        self, url: str | Sequence[str], key: str | None = None, *, timeout: float = 10.0, tries: int = 6
    ) -> None:
        self._places = [_place(one) for one in ([url] if isinstance(url, str) else url)]
        if tries < 1 or not self._places:
            raise ValueError(f"tries must be at least 1, and so must addresses be; got {tries!r} and {url!r}")
        self._timeout, self._tries = timeout, tries
        self._headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {key}"} if key else {})
        self._local = threading.local()

    def act(self, name: str, key: int | str | None = None, id: str | None = None) -> Decision:
        """A decision of a learner (of one of its keys). Without an `id` it is asked for with a fresh one."""
        body: dict[str, Any] = {"id": uuid.uuid4().hex if id is None else id}
        if key is not None:
            body["key"] = key
        shard = shard_of(name, key, len(self._places))
        return Decision(**self._ask("POST", f"/v1/learners/{quote(name, safe='')}/act", body, shard))

    def observe(self, ticket: str, reward: float | None = None, *, loss: float | None = None) -> bool:
        """Settle a decision: True if it counts now, False if it was counted before, perhaps by a request of ours that
        got no answer."""
        body = _feedback(ticket, reward, loss)
        return bool(self._ask("POST", "/v1/observe", body, shard_of_ticket(ticket))["counted"])

    def observe_many(self, feedback: Iterable[tuple[str, float]], *, losses: bool = False) -> list[bool]:
        """Settle (ticket, reward) pairs, or (ticket, loss) ones: all those of a shard, or none."""
        pairs = list(feedback)
        counted = [False] * len(pairs)
        by_shard: dict[int, list[int]] = {}
        for k, (ticket, _) in enumerate(pairs):
            by_shard.setdefault(shard_of_ticket(ticket), []).append(k)
        for shard, places in by_shard.items():
            body = [_feedback(pairs[k][0], *((None, pairs[k][1]) if losses else (pairs[k][1], None))) for k in places]
            for k, one in zip(places, self._ask("POST", "/v1/observe", body, shard)["counted"], strict=True):
                counted[k] = bool(one)
        return counted

    def add(self, name: str, arms: list[str] | None = None, learner: Any = "bandit", **more: Any) -> bool:
        """Add a learner, to every shard: True if it is new. `learner` is a name such as "bandit:tsallis", or a
        description."""
        body = {"name": name, "learner": learner, **more} | ({} if arms is None else {"arms": arms})
        added = [self._ask("POST", "/v1/learners", body, shard)["added"] for shard in range(len(self._places))]
        return any(added)

    def learners(self) -> list[str]:
        """The names of the learners."""
        return list(self._ask("GET", "/v1/learners")["learners"])

    def about(self, name: str) -> dict[str, Any]:
        """A learner, its weights and its certificate."""
        return dict(
            self._ask("GET", f"/v1/learners/{quote(name, safe='')}", None, shard_of(name, None, len(self._places)))
        )

    def close(self) -> None:
        """Close this thread's connections."""
        for connection in self._connections().values():
            connection.close()
        self._connections().clear()

    def _connections(self) -> dict[int, http.client.HTTPConnection]:
        found: dict[int, http.client.HTTPConnection] = self._local.__dict__.setdefault("connections", {})
        return found

    def _ask(self, method: str, path: str, body: Any = None, shard: int = 0) -> Any:
        if shard >= len(self._places):
            raise Refused(403, f"a ticket must be of one of {len(self._places)} shards; got one of shard {shard}")
        data, trouble = None if body is None else json.dumps(body).encode(), ""
        for attempt in range(self._tries):
            try:
                status, told, pause = self._once(shard, method, path, data)
            except (OSError, http.client.HTTPException) as error:
                self._connections().pop(shard).close()
                trouble, pause = f"{type(error).__name__}: {error}", 0.0
            else:
                if status < 400:
                    return told
                answer = told if isinstance(told, dict) else {}
                trouble = answer.get("error", "")
                if status not in _AGAIN:
                    raise Refused(status, trouble or f"the service answered {status}", answer.get("code", ""))
            if attempt + 1 < self._tries:
                # Doubling, and spread, so that many clients do not come back at once.
                time.sleep(max(pause, min(0.05 * 2**attempt, 5.0)) * random.uniform(0.5, 1.0))
        raise ConnectionError(
            f"{self._places[shard].host} gave no answer in {self._tries} tries; the last said: {trouble}"
        )

    def _once(self, shard: int, method: str, path: str, data: bytes | None) -> tuple[int, Any, float]:
        """(status, what was told, seconds to wait before it may be asked again)"""
        place, connection = self._places[shard], self._connections().get(shard)
        if connection is None:
            kind = http.client.HTTPSConnection if place.secure else http.client.HTTPConnection
            connection = self._connections()[shard] = kind(place.host, place.port, timeout=self._timeout)
        connection.request(method, place.root + path, data, self._headers)
        answer = connection.getresponse()
        raw = answer.read()
        try:
            told = json.loads(raw) if raw else None
        except ValueError:
            told = None
        pause = answer.headers.get("retry-after", "0")
        return answer.status, told, float(pause) if pause.isdigit() else 0.0


class _Place(NamedTuple):
    host: str
    port: int | None
    secure: bool
    root: str


def _place(url: str) -> _Place:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"url must be http://HOST or https://HOST; got {url!r}")
    return _Place(parts.hostname, parts.port, parts.scheme == "https", parts.path.rstrip("/"))


def _feedback(ticket: str, reward: float | None, loss: float | None) -> dict[str, Any]:
    if (reward is None) == (loss is None):
        raise ValueError(f"feedback must be a reward or a loss; got reward={reward!r}, loss={loss!r}")
    return {"ticket": ticket} | ({"reward": reward} if loss is None else {"loss": loss})
