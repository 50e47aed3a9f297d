"""Durable decisions: a journal, a store and an HTTP service. This module defines statuses, codes and errors."""

from __future__ import annotations

#: The learner or key belongs to another shard.
ELSEWHERE = 421
#: HTTP statuses: malformed input; a ticket that this store did not sign; an unknown learner; a conflict with the
#: current state; a reward out of range, after which the decision is still pending; too many events in the queue.
BODY, TICKET, UNKNOWN, CONFLICT, REWARD, BUSY = 400, 403, 404, 409, 422, 503
#: Error code per status, for errors that name no other.
CODES = {
    BODY: "bad_request", 401: "unauthorized", TICKET: "invalid_ticket", UNKNOWN: "unknown_learner",
    405: "method_not_allowed", 408: "request_timeout", CONFLICT: "conflict", 413: "body_too_large",
    415: "unsupported_media_type", ELSEWHERE: "wrong_shard", REWARD: "invalid_reward", 431: "head_too_large",
    500: "internal_error", BUSY: "unavailable",
}  # fmt: skip


class Refused(ValueError):
    """A request that was rejected before any state changed.

    Parameters
    ----------
    status : int
        HTTP status.
    message : str
        Reason, as a sentence.
    code : str, optional
        Machine-readable error code. Default: the code of the status in `CODES`.

    Examples
    --------
    >>> error = Refused(UNKNOWN, "no such learner")
    >>> error.status, error.code
    (404, 'unknown_learner')
    """

    def __init__(self, status: int, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.status, self.code = status, code or CODES[status]


class Ended(RuntimeError):
    """The store accepts no more events: it was closed, or its disk failed. Acknowledged events are on the disk."""

    status, code = BUSY, CODES[BUSY]
