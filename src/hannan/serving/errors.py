"""What a store says no to, each time in a sentence of its own, and the status that a service answers with."""

from __future__ import annotations

#: For another shard: send it there.
ELSEWHERE = 421
#: Statuses of HTTP, by what was wrong: the ticket is not this store's, or was edited; no such learner; something is
#: there already, or another copy drew the ticket; the reward is out of its range, and the decision stays open.
BODY, TICKET, UNKNOWN, CONFLICT, REWARD, BUSY = 400, 403, 404, 409, 422, 503


class Refused(ValueError):
    """Not done, and nothing changed; `status` says what was wrong.

    >>> Refused(UNKNOWN, "no such learner").status
    404
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Ended(RuntimeError):
    """The store writes no more: it was closed, or its disk failed. What was acknowledged is on the disk."""

    status = BUSY
