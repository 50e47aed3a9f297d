"""A snapshot on its way to the disk: developed in a thread of its own, then written a part at a time, between groups.

So a decision waits for a part of it at most, however large it is.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator

from hannan.serving.backend import Part

#: Name of the thread that makes the bytes of a snapshot.
NAME = "hannan-snapshot"
#: Bytes of a part.
SIZE = 1 << 18
#: What is there now, copied at once; its bytes, in pieces, are made when they are asked for.
TakeSnapshot = Callable[[], Callable[[], list[bytes]]]


def parts(sequence: int, pieces: list[bytes]) -> Iterator[Part]:
    """Pieces, cut anew.

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
    """The parts of a snapshot after `sequence`; `ready` is called when they can be had."""

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
        """Wait until nothing of it runs."""
        self._thread.join()

    @property
    def is_ready(self) -> bool:
        """Whether `next` has something to give, or to raise."""
        return self._parts is not None or self._error is not None

    def next(self) -> Part:
        """The next part; there is one until the last was given."""
        if self._error is not None:
            raise self._error
        assert self._parts is not None
        return next(self._parts)
