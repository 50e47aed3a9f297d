"""Encoding of snapshots in a separate thread, in parts that are written between groups of events.

A decision therefore waits for at most one part of a snapshot.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator

from hannan.serving.backend import Part

#: Name of the thread that encodes a snapshot.
NAME = "hannan-snapshot"
#: Size of a part in bytes.
SIZE = 1 << 18
#: Function that copies the current state and returns a function that encodes the copy.
TakeSnapshot = Callable[[], Callable[[], list[bytes]]]


def parts(sequence: int, pieces: list[bytes]) -> Iterator[Part]:
    """Divide pieces into parts of SIZE bytes.

    >>> [(p.number, p.of, len(p.blob), p.last) for p in parts(7, [b"x" * SIZE, b"yz"])]
    [(0, 2, 262144, False), (1, 2, 2, True)]
    """
    of = max(1, -(-sum(map(len, pieces)) // SIZE))
    views, number = deque(memoryview(piece) for piece in pieces if piece), 0
    while number < of:
        taken, left = list[memoryview](), SIZE
        while views and left:
            head = views.popleft()
            taken.append(head[:left])
            if len(head) > left:
                views.appendleft(head[left:])
            left -= len(taken[-1])
        yield Part(sequence, number, of, b"".join(taken))
        number += 1


class SnapshotParts:
    """Parts of a snapshot at `sequence`; `ready` is called when they are available."""

    def __init__(self, sequence: int, encode: Callable[[], list[bytes]], ready: Callable[[], None]) -> None:
        self.sequence, self._encode, self._ready = sequence, encode, ready
        self._parts: Iterator[Part] | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=NAME, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._parts = parts(self.sequence, self._encode())
        except BaseException as error:
            self._error = error
        self._ready()

    def join(self) -> None:
        """Wait for the end of the thread."""
        self._thread.join()

    @property
    def is_ready(self) -> bool:
        """True if `next` returns a part or raises an error without waiting."""
        return self._parts is not None or self._error is not None

    def next(self) -> Part:
        """Return the next part; the caller stops after the last one."""
        if self._error is not None:
            raise self._error
        assert self._parts is not None
        return next(self._parts)
