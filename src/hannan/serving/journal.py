"""Journal of events, with one writer thread that writes all waiting events as one group.

`append` adds events to the next group and returns a sequence; `wait` returns when the events before it are on the disk.
An error of the disk ends the journal. A failed sync is never repeated: the operating system may have dropped the data,
and a second sync would then report success.
"""

from __future__ import annotations

import json
import math
import struct
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from hannan._engine import EventKind
from hannan.serving import Ended
from hannan.serving.backend import Backend, Group, IdRecord, Part
from hannan.serving.tickets import Slate

#: Name of the thread that encodes a snapshot, in parts that are written between groups of events: a decision waits for
#: at most one part.
SNAPSHOT = "hannan-snapshot"
#: Size of a part of a snapshot in bytes.
PART_SIZE = 1 << 18
#: Function that copies the current state and returns a function that encodes the copy.
TakeSnapshot = Callable[[], Callable[[], list[bytes]]]


def parts(sequence: int, pieces: list[bytes]) -> Iterator[Part]:
    """Divide pieces into parts of PART_SIZE bytes.

    >>> [(p.number, p.of, len(p.blob), p.last) for p in parts(7, [b"x" * PART_SIZE, b"yz"])]
    [(0, 2, 262144, False), (1, 2, 2, True)]
    """
    of = max(1, -(-sum(map(len, pieces)) // PART_SIZE))
    views, number = deque(memoryview(piece) for piece in pieces if piece), 0
    while number < of:
        taken, left = list[memoryview](), PART_SIZE
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
        self._thread = threading.Thread(target=self._run, name=SNAPSHOT, daemon=True)
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


SLOT = 24
ACT, OBSERVE, EXPIRE, NOTE, BORN, SLATE, SLATE_OBSERVE, SLATE_EXPIRE = (
    getattr(EventKind, kind).value
    for kind in ("act", "observe", "expire", "note", "born", "slate", "slate_observe", "slate_expire")
)
RECORD = np.dtype(
    [("kind", "u1"), ("keyed", "u1"), ("arm", "<u2"), ("learner", "<u4"), ("round", "<u8"), ("value", "<f8")]
)
#: Item of a slate.
ITEM = np.dtype([("arm", "<u4"), ("inclusion", "<f8")])
#: Largest number of items of a slate.
MAX_ITEMS = 256
#: Tolerance for rounding errors: no slate is more probable than that it contains one of its items.
ROUNDING = 1e-9
_PACK = struct.Struct("<BBHIQd").pack
_MAGIC = b"HNJ1"
_HEADER = struct.Struct("<4sIIId")
_TIME = struct.Struct("<d")


class Damaged(ValueError):
    """Stored bytes that differ from what was written, with the HTTP status and error code of a service."""

    status, code = 500, "store_damaged"


def record(kind: int, arm: int, learner: int, number: int, value: float, keyed: int = 0) -> bytes:
    """Return the record of one event.

    >>> len(record(ACT, 3, 0, 17, 0.25)), one(record(ACT, 3, 0, 17, 0.25))["arm"].item()
    (24, 3)
    """
    return _PACK(kind, keyed, arm, learner, number, value)


def many(kind: int, keyed: int, learner: int, arms: Any, rounds: Any, values: Any) -> bytes:
    """Return the records of events of one kind and learner."""
    if len(rounds) == 1:
        return _PACK(kind, keyed, int(arms[0]), learner, int(rounds[0]), float(values[0]))
    out = np.empty(len(rounds), RECORD)
    out["kind"], out["keyed"], out["learner"] = kind, keyed, learner
    out["arm"], out["round"], out["value"] = arms, rounds, values
    return out.tobytes()


def one(data: bytes) -> Any:
    """Return a record with named fields."""
    return np.frombuffer(data, RECORD)[0]


def note(content: dict[str, Any]) -> bytes:
    """Return the record of a note: an epoch, learner, stage, key or arm, as JSON.

    >>> len(note({"open": 1})) % SLOT
    0
    """
    text = json.dumps(content, separators=(",", ":")).encode()
    return _PACK(NOTE, 0, 0, 0, len(text), 0.0) + _filled(text)


class SlateAct(NamedTuple):
    """Slate that a learner has shown."""

    learner: int
    keyed: int
    round: int
    slate: Slate


class SlateFeedback(NamedTuple):
    """Feedback for each item of a slate, in the order of its items; `kind` is SLATE_OBSERVE or SLATE_EXPIRE."""

    kind: int
    learner: int
    keyed: int
    round: int
    values: tuple[float, ...]


def slate(shown: SlateAct) -> bytes:
    """Return the record of a slate.

    >>> len(slate(SlateAct(0, 0, 1, Slate((3, 1, 2), (0.5, 0.25, 0.5), 0.1)))) // SLOT
    3
    """
    learner, keyed, number, (arms, inclusion, p) = shown
    if fault := _slate_fault(shown):
        raise ValueError(fault)
    items = np.empty(len(arms), ITEM)
    items["arm"], items["inclusion"] = arms, inclusion
    return _PACK(SLATE, keyed, len(arms), learner, number, p) + _filled(items.tobytes())


def slate_feedback(feedback: SlateFeedback) -> bytes:
    """Return the record of feedback for a slate."""
    if fault := _feedback_fault(feedback):
        raise ValueError(fault)
    values = np.array(feedback.values, dtype="<f8").tobytes()
    return _PACK(feedback.kind, feedback.keyed, len(feedback.values), feedback.learner, feedback.round, 0.0) + _filled(
        values
    )


def _filled(tail: bytes) -> bytes:
    return tail + b"\0" * (-len(tail) % SLOT)


def _slate_fault(shown: SlateAct) -> str:
    """Return the first rule that a slate breaks, or an empty string."""
    arms, inclusion, p = shown.slate
    if not 1 <= len(arms) <= MAX_ITEMS or len(inclusion) != len(arms):
        return (
            f"a slate must have 1 to {MAX_ITEMS} items and one probability per item; got {len(arms)}, {len(inclusion)}"
        )
    if len(set(arms)) != len(arms) or min(arms) < 0 or max(arms) >= 1 << 32:
        return f"the arms of a slate must be different integers of 32 bits; got {arms}"
    if not all(0.0 < x <= 1.0 for x in inclusion):
        return f"the inclusion probabilities of a slate must be in (0, 1]; got {inclusion}"
    if not (math.isnan(p) or 0.0 < p <= min(inclusion) * (1.0 + ROUNDING)):
        return f"the probability of a slate must be NaN, or in (0, {min(inclusion)}], its smallest item's; got {p}"
    return _flag_fault(shown.keyed)


def _feedback_fault(feedback: SlateFeedback) -> str:
    if feedback.kind not in (SLATE_OBSERVE, SLATE_EXPIRE):
        return f"feedback for a slate must be of kind {SLATE_OBSERVE} or {SLATE_EXPIRE}; got {feedback.kind}"
    if not 1 <= len(feedback.values) <= MAX_ITEMS or not all(map(math.isfinite, feedback.values)):
        return f"feedback for a slate must be 1 to {MAX_ITEMS} finite numbers; got {feedback.values}"
    return _flag_fault(feedback.keyed)


def _flag_fault(keyed: int) -> str:
    return "" if keyed in (0, 1) else f"keyed must be 0 or 1; got {keyed}"


def group(body: bytes, time: float) -> bytes:
    """Return the bytes of a group, with header and checksum."""
    check = zlib.crc32(body, zlib.crc32(_TIME.pack(time)))
    return _HEADER.pack(_MAGIC, len(body), check, len(body) // SLOT, time) + body


def opened(blob: bytes, first: int) -> tuple[bytes, float]:
    """Return (records, time) of a group that begins at sequence `first`; raise Damaged if its bytes changed."""
    if len(blob) < SLOT:
        raise Damaged(
            f"corrupt journal at sequence {first}: expected a header of {SLOT} bytes; found {len(blob)} bytes"
        )
    magic, length, check, slots, time = _HEADER.unpack_from(blob)
    body = blob[SLOT:]
    if magic != _MAGIC or length != len(body) or slots * SLOT != length:
        raise Damaged(f"corrupt journal at sequence {first}: the header does not match a group of {len(body)} bytes")
    if zlib.crc32(body, zlib.crc32(_TIME.pack(time))) != check:
        raise Damaged(f"corrupt journal at sequence {first}: the checksum does not match")
    return body, time


def has_tails(body: bytes) -> bool:
    """Return whether a group may contain notes or slates, which have bytes after their record."""
    return bool(_tails(np.frombuffer(body, RECORD)["kind"]).any())


def _tails(kinds: NDArray[Any]) -> Any:
    return (kinds == NOTE) | (kinds >= SLATE)


#: Consecutive records of one slot, a note, or a slate.
Content = NDArray[Any] | dict[str, Any] | SlateAct | SlateFeedback


def decode_group(body: bytes) -> Iterator[tuple[int, Content]]:
    """Yield (slot, content) of a group: records of one slot between two others come as one array."""
    slots = np.frombuffer(body, RECORD)
    # Bytes after a record may look like a record: those before `here` are skipped.
    here = 0
    for at in np.flatnonzero(_tails(slots["kind"])).tolist():
        if at < here:
            continue
        if at > here:
            yield here, slots[here:at]
        kind, keyed, count, learner, number, value = slots[at].tolist()
        if kind > SLATE_EXPIRE:
            raise Damaged(f"corrupt journal, or written by a newer version: unknown kind of record {kind}")
        size = number if kind == NOTE else count * (ITEM.itemsize if kind == SLATE else 8)
        begin, here = (at + 1) * SLOT, at + 1 + -(-size // SLOT)
        if here > len(slots):
            raise Damaged("corrupt journal: a note or slate extends beyond its group")
        if any(body[begin + size : here * SLOT]):
            raise Damaged("corrupt journal: expected zeros after a note or slate")
        tail = body[begin : begin + size]
        yield at, _note(tail) if kind == NOTE else _slate(kind, keyed, learner, number, value, tail)
    if here < len(slots):
        yield here, slots[here:]


def _note(text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise Damaged(f"corrupt journal: a note must be JSON: {error}") from None
    if not isinstance(found, dict):
        raise Damaged(f"corrupt journal: a note must be a JSON object; found {type(found).__name__}")
    return found


def _slate(kind: int, keyed: int, learner: int, number: int, value: float, tail: bytes) -> SlateAct | SlateFeedback:
    found: SlateAct | SlateFeedback
    if kind == SLATE:
        items = np.frombuffer(tail, ITEM)
        shown = Slate(tuple(items["arm"].tolist()), tuple(items["inclusion"].tolist()), value)
        found = SlateAct(learner, keyed, number, shown)
        fault = _slate_fault(found)
    else:
        found = SlateFeedback(kind, learner, keyed, number, tuple(np.frombuffer(tail, "<f8").tolist()))
        fault = _feedback_fault(found)
    if fault:
        raise Damaged(f"corrupt journal: {fault}")
    return found


T = TypeVar("T")
#: Number of slots of a large snapshot, 4 MiB.
LARGE = (1 << 22) // SLOT
#: Name of the writer thread.
WRITER = "hannan-journal"


class Clock:
    """Non-decreasing time in seconds since 1970.

    It starts at the later of the system clock and the last time in the journal, and follows the monotonic clock.
    """

    def __init__(self, last: float) -> None:
        self._zero = max(time.time(), last) - time.monotonic()

    def now(self) -> float:
        """Return the time of the journal."""
        return self._zero + time.monotonic()


class Journal:
    """Writer of a backend. Callers of `append` hold `lock`, so that events are in the order of the draws."""

    def __init__(
        self, backend: Backend, sequence: int, last: float, lock: threading.RLock, take_snapshot: TakeSnapshot,
        snapshot_every: tuple[int, float], tick: Callable[[float], float], remember: float,
    ) -> None:  # fmt: skip
        self._backend, self._take_snapshot, self._tick, self._remember = backend, take_snapshot, tick, remember
        self.clock = Clock(last)
        self.appended = self.committed = self._snapshot_sequence = sequence
        self._events, self._seconds = snapshot_every
        self._body, self._asked = bytearray(), list[IdRecord]()
        self._ready, self._done, self._writing = threading.Condition(lock), threading.Condition(), threading.Lock()
        self._idle = self.closing = self.closed = False
        self._snapshot_time = time.monotonic()
        self._snapshot: SnapshotParts | None = None
        #: Size of the last complete snapshot, in slots.
        self.snapshot_slots = 0
        self.failure: BaseException | None = None
        #: Called with the time of a group, under the lock, before the group is written.
        self.completed: Callable[[float], None] = lambda time: None
        #: Called in the writer thread when a group is on the disk, or when the journal has ended.
        self.listeners: list[Callable[[], None]] = []
        #: For metrics: number of groups, seconds of all, the last and the slowest write, and of recovery.
        self.groups, self.busy, self.last, self.most, self.replayed = 0, 0.0, 0.0, 0.0, 0.0
        self.opened_at = sequence
        self._thread = threading.Thread(target=self._write, name=WRITER, daemon=True)

    def start(self) -> None:
        """Start the writer thread."""
        self._thread.start()

    def append(self, body: bytes, asked: IdRecord | None = None) -> int:
        """Add events to the next group; return the sequence to wait for. The caller holds the lock."""
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
        """Number of events that are not on the disk yet."""
        return self.appended - self.committed

    @property
    def age(self) -> float:
        """Time since the last snapshot, in seconds."""
        return time.monotonic() - self._snapshot_time

    def alive(self) -> None:
        """Raise Ended if no more events can be written."""
        if self.failure is not None or self.closing:
            raise self._ended()

    def _ended(self) -> Ended:
        if self.failure is None:
            return Ended(f"{self._backend.name} is closed")
        if isinstance(self.failure, Ended):
            return Ended(f"{self._backend.name} has ended: {self.failure}")
        return Ended(
            f"{self._backend.name} has ended: {self.failure}. "
            "Acknowledged events are on the disk; remove the cause and open the store again"
        )

    def wait(self, sequence: int) -> None:
        """Wait until all events before a sequence are on the disk; raise Ended if the journal ends before."""
        if self.committed >= sequence:
            return
        with self._done:
            self._done.wait_for(lambda: self.committed >= sequence or self.failure is not None)
        if self.committed < sequence:
            raise self._ended()

    def is_own_thread(self) -> bool:
        """Return whether the current thread is one of the journal, which cannot wait for its own end."""
        return threading.current_thread().name in (WRITER, SNAPSHOT)

    def close(self) -> None:
        """Write all pending events and a snapshot, and end the thread."""
        with self._ready:
            self.closing = True
            self._ready.notify()
        self._thread.join()
        self.closed = True

    def fail(self, error: BaseException) -> None:
        """End the journal, because memory and disk differ or the disk has failed."""
        with self._done:
            self.failure = self.failure or error
            self._done.notify_all()
        with self._ready:
            self._ready.notify()
        self._notify_listeners()

    def between(self, task: Callable[[], T]) -> T:
        """Write to the backend between two groups. A failure ends the journal, but a ValueError does not."""
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
        """Read from the backend. A failure ends the journal, but damaged data (ValueError) does not."""
        self.alive()
        try:
            return task()
        except ValueError:
            raise
        except Exception as error:
            raise self._failed(error) from error

    def check(self) -> None:
        """Raise Ended if no more events can be written, even if no write has failed yet."""
        self.alive()
        if not self._writing.acquire(blocking=False):
            return  # a commit in progress detects the failure itself
        try:
            try:
                self._backend.check()
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

    # The writer thread

    def _write(self) -> None:
        try:
            while self._one_group():
                pass
        except BaseException as error:
            self.fail(error)
        if self.failure is not None:
            with self._writing:
                self._backend.release()

    def _notify_listeners(self) -> None:
        for listener in self.listeners:
            listener()

    def _one_group(self) -> bool:
        """Write a group; return False after the last one."""
        with self._ready:
            pause = self._tick(self.clock.now())
            ready = self._body or self.closing or self.failure is not None  # each may be set before this lock is taken
            if not (ready or (self._snapshot is not None and self._snapshot.is_ready)):
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
            self.completed(now)
            new = sequence - self._snapshot_sequence
            if new > 0 and not last and self._snapshot is None and self._due(new):
                self._snapshot = SnapshotParts(sequence, self._take_snapshot(), self._wake)
            final = self._take_snapshot() if last and new > 0 else None
        part = self._snapshot.next() if self._snapshot is not None and self._snapshot.is_ready and not last else None
        if body or part is not None:
            began = time.monotonic()
            self._commit(Group(first, group(body, now) if body else b"", asked, part, now - self._remember))
            self._took(time.monotonic() - began)
        with self._done:
            self.committed = sequence
            self._done.notify_all()
        self._notify_listeners()
        if last and self._snapshot is not None:
            self._snapshot.join()  # its parts are no longer written
        if final is not None:
            for part in parts(sequence, final()):
                self._commit(Group(sequence, b"", [], part, now - self._remember))
        return not last

    def _due(self, new: int) -> bool:
        """Return whether a snapshot is due: a large one only after the journal has grown by its size."""
        large = self.snapshot_slots if self.snapshot_slots >= LARGE else 0
        return new >= max(self._events, large) or self.age >= self._seconds

    def _commit(self, group: Group) -> None:
        with self._writing:
            self._backend.commit(group)
        if group.part is not None and group.part.last:
            self._kept(group.part)

    def _kept(self, part: Part) -> None:
        """Record that a snapshot is complete."""
        self.snapshot_slots = part.of * PART_SIZE // SLOT
        self._snapshot_sequence, self._snapshot_time, self._snapshot = part.sequence, time.monotonic(), None

    def _wake(self) -> None:
        with self._ready:
            self._ready.notify()
