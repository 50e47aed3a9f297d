"""One writer thread: whatever has gathered while the disk was busy is written as one group.

`append` puts bytes into the next group and says up to which sequence; `wait` returns when that is on the disk. An error
of the disk ends the journal: a failed sync is never tried again, because the system may have dropped what it could not
write, and a second try would report a success that is none.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from hannan.serving import records
from hannan.serving.errors import Ended
from hannan.serving.records import SLOT
from hannan.serving.shelf import Asked, Group, Part, Shelf
from hannan.serving.snapshots import NAME as SNAPSHOT
from hannan.serving.snapshots import SIZE, Development, Photograph, parts

T = TypeVar("T")
#: Slots, 4 MiB: a snapshot that costs something.
LARGE = (1 << 22) // SLOT
#: Name of the thread that writes.
WRITER = "hannan-journal"


class Clock:
    """Seconds since 1970 that never go back: the later of the wall clock at the opening and the journal's last time,
    and from there by the monotonic clock."""

    def __init__(self, last: float) -> None:
        self._zero = max(time.time(), last) - time.monotonic()

    def now(self) -> float:
        """The time of the journal."""
        return self._zero + time.monotonic()


class Journal:
    """The writer of a shelf. Whoever appends holds `lock`, so that the order of events is the order of the draws."""

    def __init__(
        self, shelf: Shelf, sequence: int, last: float, lock: threading.RLock, photograph: Photograph,
        often: tuple[int, float], tick: Callable[[float], float], remember: float,
    ) -> None:  # fmt: skip
        self._shelf, self._photograph, self._tick, self._remember = shelf, photograph, tick, remember
        self.clock = Clock(last)
        self.appended = self.committed = self._photographed = sequence
        self._events, self._seconds = often
        self._body, self._asked = bytearray(), list[Asked]()
        self._ready, self._done, self._writing = threading.Condition(lock), threading.Condition(), threading.Lock()
        self._idle = self.closing = self.closed = False
        self._photographed_at = time.monotonic()
        self._snapshot: Development | None = None
        #: Slots that the last whole snapshot would fill.
        self.photographed_slots = 0
        self.failure: BaseException | None = None
        #: Called in the writer's thread when a group is on the disk, or the journal has ended.
        self.listeners: list[Callable[[], None]] = []
        #: For metrics: groups, the seconds that they took (all, the last, the slowest), those of recovery.
        self.groups, self.busy, self.last, self.most, self.replayed = 0, 0.0, 0.0, 0.0, 0.0
        self.opened_at = sequence
        self._thread = threading.Thread(target=self._write, name=WRITER, daemon=True)

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def append(self, body: bytes, asked: Asked | None = None) -> int:
        """Into the next group; gives the sequence that is then to be waited for. The caller holds the lock."""
        self.alive()
        self._body += body
        if asked is not None:
            self._asked.append(asked)
        self.appended += len(body) // SLOT
        if self._idle:
            self._ready.notify()
        return self.appended

    @property
    def waiting(self) -> int:
        """Events that are not on the disk yet."""
        return self.appended - self.committed

    @property
    def age(self) -> float:
        """Seconds since the last snapshot."""
        return time.monotonic() - self._photographed_at

    def alive(self) -> None:
        """Refuse where nothing can be written any more."""
        if self.failure is not None or self.closing:
            raise self._ended()

    def _ended(self) -> Ended:
        if self.failure is None:
            return Ended(f"{self._shelf.name} is closed")
        if isinstance(self.failure, Ended):
            return Ended(f"{self._shelf.name} has ended: {self.failure}")
        return Ended(
            f"{self._shelf.name} has ended: {self.failure}. "
            "What was acknowledged is on the disk; mend that and open it again"
        )

    def wait(self, sequence: int) -> None:
        """Return when all before this sequence is on the disk."""
        if self.committed >= sequence:
            return
        with self._done:
            self._done.wait_for(lambda: self.committed >= sequence or self.failure is not None)
        if self.committed < sequence:
            raise self._ended()

    def is_own_thread(self) -> bool:
        """Return whether the caller is in a thread of the journal, which cannot wait for the journal's end."""
        return threading.current_thread().name in (WRITER, SNAPSHOT)

    def close(self) -> None:
        """Write what waits and a snapshot, and end the thread."""
        with self._ready:
            self.closing = True
            self._ready.notify()
        self._thread.join()
        self.closed = True

    def fail(self, error: BaseException) -> None:
        """End it: what is in memory is no longer what will be on the disk."""
        with self._done:
            self.failure = self.failure or error
            self._done.notify_all()
        with self._ready:
            self._ready.notify()
        self._told()

    def between(self, task: Callable[[], T]) -> T:
        """Write to the shelf between two groups. A failure ends the journal; a rejected value (ValueError) does not."""
        self.alive()
        try:
            with self._writing:
                return task()
        except ValueError:
            raise
        except Exception as error:
            raise self._failed(error) from error
        except BaseException as error:
            self.fail(error)
            raise

    def read(self, task: Callable[[], T]) -> T:
        """Read from the shelf. A failure ends the journal; a damaged record (ValueError) does not."""
        self.alive()
        try:
            return task()
        except ValueError:
            raise
        except Exception as error:
            raise self._failed(error) from error

    def check(self) -> None:
        """Raise Ended if nothing can be written any more, also if no write has failed yet."""
        self.alive()
        if not self._writing.acquire(blocking=False):
            return  # a commit is in progress, which finds the failure itself
        try:
            try:
                self._shelf.check()
            finally:
                self._writing.release()
        except Ended as error:
            raise self._failed(error) from None

    def _failed(self, error: Exception) -> Ended:
        self.fail(error)
        return self._ended()

    def _took(self, seconds: float) -> None:
        self.groups, self.busy = self.groups + 1, self.busy + seconds
        self.last, self.most = seconds, max(self.most, seconds)

    # The writer's thread

    def _write(self) -> None:
        try:
            while self._one_group():
                pass
        except BaseException as error:
            self.fail(error)
        if self.failure is not None:
            with self._writing:
                self._shelf.release()

    def _told(self) -> None:
        for listener in self.listeners:
            listener()

    def _one_group(self) -> bool:
        """Write a group; False when the last one is written."""
        with self._ready:
            pause = self._tick(self.clock.now())
            told = self._body or self.closing or self.failure is not None  # each may have come before this lock
            if not (told or (self._snapshot is not None and self._snapshot.is_ready)):
                self._idle = True
                self._ready.wait(min(pause, self._seconds))
                self._idle = False
                self._tick(self.clock.now())
            if self.failure is not None:
                return False
            last = self.closing
            first, sequence = self.appended - len(self._body) // SLOT, self.appended
            body, asked, now = bytes(self._body), self._asked, self.clock.now()
            self._body, self._asked = bytearray(), []
            new = sequence - self._photographed
            if new > 0 and not last and self._snapshot is None and self._due(new):
                self._snapshot = Development(sequence, self._photograph(), self._wake)
            final = self._photograph() if last and new > 0 else None
        part = self._snapshot.next() if self._snapshot is not None and self._snapshot.is_ready and not last else None
        if body or part is not None:
            began = time.monotonic()
            self._commit(Group(first, records.group(body, now) if body else b"", asked, part, now - self._remember))
            self._took(time.monotonic() - began)
        with self._done:
            self.committed = sequence
            self._done.notify_all()
        self._told()
        if last and self._snapshot is not None:
            self._snapshot.join()  # too late for it
        if final is not None:
            for part in parts(sequence, final()):
                self._commit(Group(sequence, b"", [], part, now - self._remember))
        return not last

    def _due(self, new: int) -> bool:
        """Whether a snapshot is: a large one is not written again before the journal has grown by as much."""
        large = self.photographed_slots if self.photographed_slots >= LARGE else 0
        return new >= max(self._events, large) or self.age >= self._seconds

    def _commit(self, group: Group) -> None:
        with self._writing:
            self._shelf.commit(group)
        if group.part is not None and group.part.last:
            self._kept(group.part)

    def _kept(self, part: Part) -> None:
        """A snapshot is whole."""
        self.photographed_slots = part.of * SIZE // SLOT
        self._photographed, self._photographed_at, self._snapshot = part.sequence, time.monotonic(), None

    def _wake(self) -> None:
        with self._ready:
            self._ready.notify()
