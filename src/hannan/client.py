"""HTTP client of `hannan serve`, which requires only the standard library.

Requests without an answer are repeated. Repetition is safe because feedback counts once per ticket and every decision
is requested with an id, so that a repeated request returns the same decision.
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
from urllib.parse import quote, urlencode, urlsplit

#: HTTP statuses after which a request is repeated.
_RETRY = (502, 503, 504)


class Decision(NamedTuple):
    """Decision of a service.

    Attributes
    ----------
    ticket : str
        Ticket to pass to `Client.observe` with the feedback.
    arm : str or int
        Name of the arm, or its number if the arms have no names.
    action : int
        Number of the arm, from 0.
    probability : float
        Probability with which the arm was drawn.
    """

    ticket: str
    arm: Any
    action: int
    probability: float


class SlateDecision(NamedTuple):
    """Slate of a service or a store.

    Attributes
    ----------
    ticket : str
        Ticket to pass to `observe` with the feedback, one number per shown item.
    arms : list
        Names of the shown items in the order in which they are shown, or their numbers if they have no names.
    actions : list of int
        Numbers of the items, from 0.
    probabilities : list of float
        Probability that the slate contains the item, one per shown item.
    probability : float or None
        Probability of the whole slate, if the draw of the learner has it.
    """

    ticket: str
    arms: list[Any]
    actions: list[int]
    probabilities: list[float]
    probability: float | None


class Refused(ValueError):
    """Request that the service rejected.

    Attributes
    ----------
    status : int
        HTTP status.
    code : str
        Machine-readable error code, such as "unknown_learner".
    """

    def __init__(self, status: int, message: str, code: str = "") -> None:
        super().__init__(message)
        self.status, self.code = status, code


def shard_of(name: str, key: int | str | None, shards: int) -> int:
    """Return the shard of a learner or key: BLAKE2b-64 of NAME or NAME/KEY, modulo the number of shards.

    Examples
    --------
    >>> [shard_of("banner", key, 4) for key in (None, 1, 2, "1", "anna")]
    [0, 2, 1, 2, 1]
    """
    text = name if key is None else f"{name}/{key}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") % shards


def shard_of_ticket(ticket: str) -> int:
    """Return the shard in a ticket. The ticket is not verified: only the owner of the shard can do that."""
    try:
        return int.from_bytes(base64.urlsafe_b64decode(ticket[:32])[22:24], "little")
    except ValueError:
        return 0


class Client:
    """Client of a service. Threads may share it.

    Parameters
    ----------
    url : str or sequence of str
        Address of the service, or the addresses of all shards in order.
    key : str, optional
        Access token.
    timeout : float
        Time limit of one attempt, in seconds.
    tries : int
        Largest number of attempts per request. The pauses between attempts double.

    Raises
    ------
    Refused
        If the service rejects a request.
    ConnectionError
        If no attempt gets an answer. The request may have had its effect: repeat it with the same ticket or id.

    Examples
    --------
    ::

        client = Client("http://localhost:8414")
        move = client.act("banner")
        client.observe(move.ticket, reward=1)
    """

    def __init__(
        self, url: str | Sequence[str], key: str | None = None, *, timeout: float = 10.0, tries: int = 6
    ) -> None:
        self._places = [_place(one) for one in ([url] if isinstance(url, str) else url)]
        if tries < 1 or not self._places:
            raise ValueError(f"tries must be >= 1 and url at least one address; got tries={tries!r}, url={url!r}")
        self._timeout, self._tries = timeout, tries
        self._headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {key}"} if key else {})
        self._local = threading.local()

    def act(self, name: str, key: int | str | None = None, id: str | None = None) -> Any:
        """Draw an arm, or a slate.

        Parameters
        ----------
        name : str
            Name of the learner.
        key : int or str, optional
            Key of the learner. Default: the learner without a key.
        id : str, optional
            Id of the decision. A repeated call with the same id returns the same decision. Default: a fresh id.

        Returns
        -------
        Decision or SlateDecision
            Ticket, arm, action and probability; a `SlateDecision` for a learner of slates.
        """
        body: dict[str, Any] = {"id": uuid.uuid4().hex if id is None else id}
        if key is not None:
            body["key"] = key
        shard = shard_of(name, key, len(self._places))
        told = self._ask("POST", f"/v1/learners/{quote(name, safe='')}/act", body, shard)
        return SlateDecision(**told) if "arms" in told else Decision(**told)

    def observe(self, ticket: str, reward: Any = None, *, loss: Any = None) -> bool:
        """Settle a decision with its reward or loss.

        Parameters
        ----------
        ticket : str
            Ticket of the decision.
        reward, loss : float or list of float, optional
            Exactly one of them: the reward of a learner of rewards, or the loss of a learner of losses. For a slate,
            one number per shown item.

        Returns
        -------
        bool
            True if the feedback counts now, False if the decision was settled before, possibly by an earlier attempt
            of this call whose answer was lost.
        """
        body = _feedback(ticket, reward, loss)
        return bool(self._ask("POST", "/v1/observe", body, shard_of_ticket(ticket))["counted"])

    def observe_many(self, feedback: Iterable[tuple[str, float]], *, losses: bool = False) -> list[bool]:
        """Settle several decisions, atomically per shard.

        Parameters
        ----------
        feedback : iterable of (str, float)
            Pairs of a ticket and its reward.
        losses : bool
            Whether the numbers are losses. Default: rewards.

        Returns
        -------
        list of bool
            Per pair, whether its feedback counts now.
        """
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
        """Add a learner to every shard.

        Parameters
        ----------
        name : str
            Name of the learner.
        arms : list of str, optional
            Names of the arms.
        learner : str or dict
            Name such as "bandit:tsallis", or a description.
        **more
            Further fields of the request: n, gains, loss_range, wait, default.

        Returns
        -------
        bool
            True if the learner, or a stage of it, is new on any shard.
        """
        body = {"name": name, "learner": learner, **more} | ({} if arms is None else {"arms": arms})
        added = [self._ask("POST", "/v1/learners", body, shard)["added"] for shard in range(len(self._places))]
        return any(added)

    def learners(self) -> list[str]:
        """Return the names of the learners."""
        return list(self._ask("GET", "/v1/learners")["learners"])

    def about(self, name: str) -> dict[str, Any]:
        """Return the arms, the weights and the certificate of a learner as a dict."""
        return dict(
            self._ask("GET", f"/v1/learners/{quote(name, safe='')}", None, shard_of(name, None, len(self._places)))
        )

    def keys(self, name: str, search: str = "", start: int = 0, limit: int = 50) -> dict[str, Any]:
        """Return keys of a learner, those with the most decisions first.

        Parameters
        ----------
        name : str
            Name of the learner.
        search : str
            Part of the key. Default: all keys.
        start : int
            Number of keys to skip. With several shards, start + limit must be at most 200.
        limit : int
            Largest number of keys to return, at most 200.

        Returns
        -------
        dict
            Number of keys (total), number of keys found, and per key: decisions, pending, mean, arm and probability.
        """
        shards = len(self._places)
        first, many = (start, limit) if shards == 1 else (0, start + limit)
        query = urlencode({"search": search, "start": first, "limit": many})
        path = f"/v1/learners/{quote(name, safe='')}/keys?{query}"
        found = [self._ask("GET", path, None, shard) for shard in range(shards)]
        keys = [key for one in found for key in one["keys"]]
        if shards > 1:
            keys = sorted(keys, key=lambda key: -key["decisions"])[start : start + limit]
        return {"total": sum(one["total"] for one in found), "found": sum(one["found"] for one in found), "keys": keys}

    def arms(self, name: str, key: int | str | None = None) -> dict[str, Any]:
        """Return the arms of a learner, or of one key, with their decisions, rewards and probabilities.

        Parameters
        ----------
        name : str
            Name of the learner.
        key : int or str, optional
            Key. Default: all keys together.

        Returns
        -------
        dict
            Arms of the current stage, and facts about the learner.
        """
        query = (
            "" if key is None else "?" + urlencode({"key": key, "kind": "text" if isinstance(key, str) else "number"})
        )
        shard = shard_of(name, key, len(self._places))
        return dict(self._ask("GET", f"/v1/learners/{quote(name, safe='')}/arms{query}", None, shard))

    def evidence(self, name: str, alpha: float = 0.05) -> dict[str, Any]:
        """Return anytime-valid statements about the arms of a learner.

        Parameters
        ----------
        name : str
            Name of the learner. With several shards, the panel covers the shard of the learner without a key.
        alpha : float
            Probability that any statement is ever wrong.

        Returns
        -------
        dict
            Arms with intervals, differences (leads), the best arm, and a bound on the realized regret.
        """
        shard = shard_of(name, None, len(self._places))
        return dict(self._ask("GET", f"/v1/learners/{quote(name, safe='')}/evidence?alpha={alpha!r}", None, shard))

    def close(self) -> None:
        """Close the connections of the calling thread."""
        for connection in self._connections().values():
            connection.close()
        self._connections().clear()

    def _connections(self) -> dict[int, http.client.HTTPConnection]:
        found: dict[int, http.client.HTTPConnection] = self._local.__dict__.setdefault("connections", {})
        return found

    def _ask(self, method: str, path: str, body: Any = None, shard: int = 0) -> Any:
        if shard >= len(self._places):
            raise Refused(
                403,
                f"this client has {len(self._places)} shards; got a ticket of shard {shard}. Pass all addresses",
            )
        data, reason = None if body is None else json.dumps(body).encode(), ""
        for attempt in range(self._tries):
            try:
                status, content, pause = self._once(shard, method, path, data)
            except (OSError, http.client.HTTPException) as error:
                self._connections().pop(shard).close()
                reason, pause = f"{type(error).__name__}: {error}", 0.0
            else:
                if status < 400:
                    return content
                answer = content if isinstance(content, dict) else {}
                reason = answer.get("error", "")
                if status not in _RETRY:
                    raise Refused(status, reason or f"the service answered {status}", answer.get("code", ""))
            if attempt + 1 < self._tries:
                # Random exponential backoff, so that many clients do not retry simultaneously.
                time.sleep(max(pause, min(0.05 * 2**attempt, 5.0)) * random.uniform(0.5, 1.0))
        raise ConnectionError(
            f"no answer from {self._places[shard].host} after {self._tries} attempts; the last error is: {reason}"
        )

    def _once(self, shard: int, method: str, path: str, data: bytes | None) -> tuple[int, Any, float]:
        """Return (HTTP status, decoded answer, seconds to wait before the next attempt)."""
        place, connection = self._places[shard], self._connections().get(shard)
        if connection is None:
            kind = http.client.HTTPSConnection if place.secure else http.client.HTTPConnection
            connection = self._connections()[shard] = kind(place.host, place.port, timeout=self._timeout)
        connection.request(method, place.root + path, data, self._headers)
        answer = connection.getresponse()
        raw = answer.read()
        try:
            content = json.loads(raw) if raw else None
        except ValueError:
            content = None
        pause = answer.headers.get("retry-after", "0")
        return answer.status, content, float(pause) if pause.isdigit() else 0.0


class _Place(NamedTuple):
    host: str
    port: int | None
    secure: bool
    root: str


def _place(url: str) -> _Place:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"url must start with http://HOST or https://HOST; got {url!r}")
    return _Place(parts.hostname, parts.port, parts.scheme == "https", parts.path.rstrip("/"))


def _feedback(ticket: str, reward: Any, loss: Any) -> dict[str, Any]:
    if (reward is None) == (loss is None):
        raise ValueError(f"exactly one of reward and loss is required; got reward={reward!r}, loss={loss!r}")
    return {"ticket": ticket} | ({"reward": reward} if loss is None else {"loss": loss})
