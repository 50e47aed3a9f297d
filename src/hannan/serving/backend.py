"""One writer: a lock that the system takes back when its process ends, however it ends.

`flock` on a file beside the store (on the store itself it would meet SQLite's own locks). Where there is no `flock`
(Windows), `msvcrt.locking`; where there is neither, no store is opened.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, NamedTuple, Protocol

from hannan.serving import CONFLICT, Refused


class Lock:
    """Held from its making to `release()`; a second one is refused by name."""

    def __init__(self, path: Path) -> None:
        self.path = path.with_name(path.name + ".lock")
        self._file: IO[str] = open(self.path, "a+")  # noqa: SIM115, held
        try:
            _lock(self._file.fileno())
        except OSError:
            self._file.seek(0)
            holder = self._file.read(200).strip() or "another process"
            self._file.close()
            raise Refused(CONFLICT, f"{path} is locked by {holder}; a store allows one writer") from None
        except ValueError:
            self._file.close()
            raise
        self._file.truncate(0)
        self._file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
        self._file.flush()

    def release(self) -> None:
        """Let another one write. The file stays: to remove it would let two hold two locks of one name."""
        self._file.close()


def _lock(handle: int) -> None:
    try:
        import fcntl
    except ImportError:
        pass
    else:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    try:
        import msvcrt
    except ImportError:
        raise ValueError("this platform has neither flock nor msvcrt, which a store needs to lock its file") from None
    os.lseek(handle, 1 << 20, os.SEEK_SET)  # past the text that says who holds it
    msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]


#: Number of the format of a store; docs/versions.md states which version opens which format.
FORMAT = 3
#: Groups that are read at once.
GROUPS_PER_READ = 1000
#: Snapshots that are kept: if the newest is damaged, the one before it is used.
KEPT_SNAPSHOTS = 2


def damaged(name: str, fault: str) -> str:
    """Return the message for damaged data of a store.

    >>> damaged("decisions.db", "a checksum does not match")
    'decisions.db is damaged: a checksum does not match. Restore a backup: see docs/serving.md'
    """
    return f"{name} is damaged: {fault}. Restore a backup: see docs/serving.md"


def checked_format(name: str, found: int) -> int:
    """Return the format of a store that this version opens; raise ValueError for a newer one.

    >>> checked_format("decisions.db", 2)
    2
    """
    if not 1 <= found <= FORMAT:
        raise ValueError(
            f"{name} has format {found}; this version opens formats 1 to {FORMAT}. "
            "Use the version of hannan that wrote it (see docs/versions.md)"
        )
    return found


def complete_snapshots(backend: Backend) -> list[int]:
    """Return the sequences of the snapshots of which all parts are stored, the newest first."""
    return [sequence for sequence, complete in backend.snapshots() if complete]


def paged(start: int, fetch: Callable[[int], list[tuple[int, bytes]]]) -> Iterator[tuple[int, bytes]]:
    """(first, blob) of the groups from `start` on, as `fetch(start)` gives PAGE of them at a time."""
    while True:
        found = fetch(start)
        yield from found
        if len(found) < GROUPS_PER_READ:
            return
        start = found[-1][0] + 1


class IdRecord(NamedTuple):
    """A decision that was asked for with an id: whose, the key's bytes, the id, and what was answered."""

    learner: int
    key: bytes
    id: str
    ticket: str
    time: float


class Part(NamedTuple):
    """Part `number` of the `of` parts of a snapshot after `sequence`; it is good once all of them are there."""

    sequence: int
    number: int
    of: int
    blob: bytes

    @property
    def last(self) -> bool:
        """Whether the snapshot is whole with it."""
        return self.number + 1 == self.of


class Group(NamedTuple):
    """What is written at once: a group of events from sequence `first` on, and a part of a snapshot, if one is due."""

    first: int
    blob: bytes
    asked: list[IdRecord]
    part: Part | None
    #: Before when ids are forgotten.
    forget: float


class Backend(Protocol):
    """A place for one journal, held by one writer."""

    #: What messages call it.
    name: str
    journal: bytes
    shard: int

    def secrets(self) -> dict[int, bytes]:
        """The secrets that open tickets, by number; there is at least one."""

    def add_secret(self) -> tuple[int, bytes]:
        """A fresh secret, on the disk."""

    def drop_secret(self, number: int) -> None:
        """Forget a secret."""

    def snapshots(self) -> list[tuple[int, bool]]:
        """Return (sequence, whether all of its parts are stored) of each snapshot, the newest first."""

    def snapshot(self, sequence: int) -> bytes:
        """Return the bytes of a snapshot."""

    def drop_snapshot(self, sequence: int) -> None:
        """Delete a snapshot."""

    def drop(self, end: int, most: int) -> int:
        """Let go of the oldest groups that begin before sequence `end`, at most so many; how many those were."""

    def groups(self, start: int) -> Iterator[tuple[int, bytes]]:
        """(first, blob) of the groups from sequence `start` on, in order."""

    def asked(self, learner: int, key: bytes, id: str) -> str | None:
        """The ticket of the decision that was asked for with this id."""

    def commit(self, group: Group) -> None:
        """Put it on the disk."""

    def check(self) -> None:
        """Raise Ended if what is committed here would not be found by the next owner."""

    def release(self) -> None:
        """Let another owner take over, after a failure; what was committed can still be read."""

    def close(self) -> None:
        """Let go of it."""

    def abandon(self) -> None:
        """In a child that was forked: never touch what is the parent's."""
