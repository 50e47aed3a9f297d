"""Who waits for the disk, and is told when it has what they wait for: all that a group settles at once, in order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from hannan.serving.journal import Journal

#: Called in the loop, once what was waited for is on the disk, or (the journal has ended) never will be.
Told = Callable[[], None]


class Waiting:
    """The queue of a loop. The journal's thread wakes the loop once a group, not once a request.

    Sequences only grow, so those that are on the disk stand in front.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._queue: deque[tuple[int, Told]] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None

    def attach(self) -> None:
        """Tell whoever waits in the loop that runs now."""
        self._loop = asyncio.get_running_loop()
        if self._written not in self._journal.listeners:
            self._journal.listeners.append(self._written)

    def detach(self) -> None:
        """Let go of the loop."""
        if self._written in self._journal.listeners:
            self._journal.listeners.remove(self._written)

    def _written(self) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._release)

    def _release(self) -> None:
        queue, committed = self._queue, self._journal.committed
        while queue and queue[0][0] <= committed:
            queue.popleft()[1]()
        if self._journal.failure is not None:
            while queue:
                queue.popleft()[1]()

    def add(self, sequence: int, told: Told) -> None:
        """Call this when all before `sequence` is on the disk, or the journal has ended."""
        self._queue.append((sequence, told))

    async def on_disk(self, sequence: int) -> None:
        """Return when it is; raise when it never will be."""
        if self._journal.committed < sequence and self._journal.failure is None:
            turn = asyncio.get_running_loop().create_future()
            self.add(sequence, lambda: None if turn.done() else turn.set_result(None))
            await turn
        self._journal.wait(sequence)  # raises where it has ended
