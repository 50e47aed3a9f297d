"""Expiry: decisions without feedback are settled with a default after a wait.

A decision is due when the wait has passed since its draw. Tickets are stored in bundles, each of which spans a
hundredth of the wait and has the time of its last draw. A decision is therefore settled at most a hundredth of the wait
late, and never early. A ticket takes eight bytes until it is due.
"""

from __future__ import annotations

import math
from array import array
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan import validation
from hannan.saving.formatting import counted

#: Highest bit of a ticket, set if its learner has a key.
KEYED = np.uint64(1 << 63)
Tickets = NDArray[np.uint64]


class _Bundle:
    """Tickets drawn within a short time; the first `taken` of them have become due."""

    def __init__(self, first: float, last: float = 0.0) -> None:
        self.first, self.last, self.taken = first, last, 0
        self.tickets = array("Q")


class Expiry:
    """Pending decisions of a learner, which count as `default` after `wait` seconds.

    >>> e = Expiry(10.0, 0.0)
    >>> for ticket, now in ((1, 100.0), (2, 100.05), (3, 105.0)):
    ...     e.drawn(0, np.array([ticket], dtype=np.uint64), now)
    >>> [x.tolist() for x in e.due(109.0, 9)], [x.tolist() for x in e.due(110.05, 9)], round(e.pause(110.05), 6)
    ([[], []], [[1, 2], []], 4.95)
    """

    def __init__(self, wait: float, default: float) -> None:
        self.wait, self.default = wait, default
        #: Number of decisions settled by default.
        self.count = 0
        self._bundles: deque[_Bundle] = deque()

    def _bundle(self, now: float) -> array[int]:
        """Return the tickets of the bundle of the current time."""
        if not (self._bundles and now - self._bundles[-1].first < self.wait / 100.0):
            self._bundles.append(_Bundle(now))
        self._bundles[-1].last = now
        return self._bundles[-1].tickets

    def drawn(self, keyed: int, tickets: Tickets, now: float) -> None:
        """Record draws."""
        self._bundle(now).frombytes((tickets | KEYED if keyed else tickets).tobytes())

    def drawn_one(self, keyed: int, ticket: int, now: float) -> None:
        """Record one draw."""
        self._bundle(now).append(ticket | keyed << 63)

    def due(self, now: float, most: int) -> tuple[Tickets, Tickets]:
        """Return (tickets without a key, with a key) that are due, at most `most`; some may have been settled."""
        found = array("Q")
        while self._bundles and self._bundles[0].last + self.wait <= now and len(found) < most:
            bundle = self._bundles[0]
            end = bundle.taken + most - len(found)
            found += bundle.tickets[bundle.taken : end]
            bundle.taken = end
            if end >= len(bundle.tickets):
                self._bundles.popleft()
        coded = np.frombuffer(found, dtype=np.uint64)
        keyed = coded >= KEYED
        return coded[~keyed], coded[keyed] ^ KEYED

    def pause(self, now: float) -> float:
        """Return the seconds until the next decision is due."""
        return max(self._bundles[0].last + self.wait - now, 0.0) if self._bundles else math.inf

    def state(self) -> tuple[dict[str, Any], bytes]:
        """Return the state for a snapshot: (times and counts as JSON, bytes of the tickets)."""
        times, parts = [], []
        for bundle in self._bundles:
            parts.append(bundle.tickets[bundle.taken :].tobytes())
            times.append([bundle.first, bundle.last])
        return {"count": self.count, "times": times, "sizes": [len(part) // 8 for part in parts]}, b"".join(parts)

    def restore(self, state: dict[str, Any], blob: bytes) -> None:
        """Restore the state of a snapshot."""
        self.count, at = state["count"], 0
        for (first, last), size in zip(state["times"], state["sizes"], strict=True):
            if size:
                bundle = _Bundle(first, last)
                bundle.tickets.frombytes(blob[at : at + 8 * size])
                self._bundles.append(bundle)
            at += 8 * size

    def says(self, gains: bool, whose: str = "") -> str:
        """Return the meaning of expired decisions for a bound; `whose` names the keys that they belong to."""
        word = "reward" if gains else "loss"
        return (
            f"{counted(self.count, 'decision')}{whose} without feedback after {self.wait:g} s counted with {word} "
            f"{self.default:g}; bound and regret refer to these recorded {word}{'s' if gains else 'es'}, for every "
            "arm, and say nothing about feedback that arrived later"
        )


def checked(wait: Any, default: Any, low: float, high: float) -> Expiry | None:
    """Return the expiry of a learner, or None if neither argument is given."""
    if wait is None and default is None:
        return None
    if wait is None or default is None:
        raise ValueError(f"wait and default must be given together; got wait={wait!r}, default={default!r}")
    if isinstance(default, bool):
        default = float(default)
    return Expiry(validation.between(wait, 0.0, 1e10, "wait", "(]"), validation.between(default, low, high, "default"))
