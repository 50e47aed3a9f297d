"""Decisions whose feedback never comes: after a wait they are settled with a default.

A decision is *due* when the time of its draw plus the wait has passed. Times are kept for bundles of tickets, each a
hundredth of the wait long, under the time of its last draw: so a decision is settled at most that much late, and never
early. A ticket takes eight bytes until it is due.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan import refusals

#: The highest bit of a ticket here says that its learner has a key.
KEYED = np.uint64(1 << 63)
Tickets = NDArray[np.uint64]


class Expiry:
    """After `wait` seconds without feedback a decision counts as `default`.

    >>> e = Expiry(10.0, 0.0)
    >>> for ticket, now in ((1, 100.0), (2, 100.05), (3, 105.0)):
    ...     e.drawn(0, np.array([ticket], dtype=np.uint64), now)
    >>> [x.tolist() for x in e.due(109.0, 9)], [x.tolist() for x in e.due(110.05, 9)], round(e.pause(110.05), 6)
    ([[], []], [[1, 2], []], 4.95)
    """

    def __init__(self, wait: float, default: float) -> None:
        self.wait, self.default = wait, default
        #: How many were settled so.
        self.count = 0
        #: [time of the first draw, of the last, the tickets]
        self._bundles: deque[tuple[float, list[float], list[Tickets]]] = deque()

    def drawn(self, keyed: int, tickets: Tickets, now: float) -> None:
        """Decisions were drawn."""
        coded = tickets | KEYED if keyed else tickets.copy()
        if self._bundles and now - self._bundles[-1][0] < self.wait / 100.0:
            self._bundles[-1][1][0] = now
            self._bundles[-1][2].append(coded)
        else:
            self._bundles.append((now, [now], [coded]))

    def due(self, now: float, most: int) -> tuple[Tickets, Tickets]:
        """Some that are due, without and with a key; those that have their feedback are among them."""
        found: list[Tickets] = []
        while self._bundles and self._bundles[0][1][0] + self.wait <= now and sum(map(len, found)) < most:
            parts = self._bundles[0][2]
            found.append(parts.pop(0))
            if not parts:
                self._bundles.popleft()
        coded = np.concatenate(found) if found else np.empty(0, dtype=np.uint64)
        keyed = coded >= KEYED
        return coded[~keyed], coded[keyed] ^ KEYED

    def pause(self, now: float) -> float:
        """Seconds until the next is due."""
        return max(self._bundles[0][1][0] + self.wait - now, 0.0) if self._bundles else math.inf

    def state(self, still: list[Callable[[Tickets], Tickets]]) -> tuple[dict[str, Any], bytes]:
        """For a snapshot: those that are `still` open, without and with a key, and their times."""
        times, sizes, parts = [], [], []
        for first, (last,), bundle in self._bundles:
            coded = np.concatenate(bundle)
            alone, keyed = still[0](coded[coded < KEYED]), still[1](coded[coded >= KEYED] ^ KEYED)
            parts += [alone, keyed | KEYED]
            times.append([first, last])
            sizes.append(len(alone) + len(keyed))
        blob = np.concatenate([*parts, np.empty(0, dtype=np.uint64)]).astype("<u8").tobytes()
        return {"count": self.count, "times": times, "sizes": sizes}, blob

    def restore(self, state: dict[str, Any], blob: bytes) -> None:
        """From a snapshot."""
        self.count = state["count"]
        coded, at = np.frombuffer(blob, dtype="<u8").astype(np.uint64), 0
        for (first, last), size in zip(state["times"], state["sizes"], strict=True):
            if size:
                self._bundles.append((first, [last], [coded[at : at + size]]))
            at += size

    def says(self, gains: bool) -> str:
        """What it means for a bound."""
        word = "rewards" if gains else "losses"
        return (
            f"{self.count} decisions had no feedback within {self.wait:g} s and count as {self.default:g}: bound and "
            f"regret are of {word} counted so, for every arm; of feedback that comes later they say nothing"
        )


def checked(wait: Any, default: Any, low: float, high: float) -> Expiry | None:
    """Both or neither."""
    if wait is None and default is None:
        return None
    if wait is None or default is None:
        raise ValueError(f"expiry needs a wait and a default; got {wait!r} and {default!r}")
    if isinstance(default, bool):
        default = float(default)
    return Expiry(
        refusals.between(wait, 0.0, 1e10, "the wait", "(]"), refusals.between(default, low, high, "the default")
    )
