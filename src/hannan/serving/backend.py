"""Interface of the storage backends, and the lock of a file.

The lock is `flock`, or `msvcrt.locking` on Windows, on a separate file, because SQLite locks the file of the store. The
operating system releases it when the process ends.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, NamedTuple, Protocol

from hannan.serving import CONFLICT, Refused


class Lock:
    """Lock that is held from its construction to `release`. A second lock of the same file raises Refused."""

    def __init__(self, path: Path) -> None:
        self.path = path.with_name(path.name + ".lock")
        self._file: IO[str] = open(self.path, "a+")  # noqa: SIM115, open while the lock is held
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
        """Release the lock. The file stays: otherwise two processes could lock two files of one name."""
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
    os.lseek(handle, 1 << 20, os.SEEK_SET)  # after the text that names the holder
    msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]


#: Number of the format of a store; docs/versions.md states which version opens which format.
FORMAT = 3
#: Groups per query.
GROUPS_PER_READ = 1000
#: Number of snapshots kept: if the newest one is damaged, the one before it is used.
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
    """Return the sequences of the complete snapshots, newest first."""
    return [sequence for sequence, complete in backend.snapshots() if complete]


def paged(start: int, fetch: Callable[[int], list[tuple[int, bytes]]]) -> Iterator[tuple[int, bytes]]:
    """Yield (first, blob) of the groups from `start` on; `fetch(start)` returns up to GROUPS_PER_READ of them."""
    while True:
        found = fetch(start)
        yield from found
        if len(found) < GROUPS_PER_READ:
            return
        start = found[-1][0] + 1


class IdRecord(NamedTuple):
    """Decision with an id: number of the learner, bytes of the key, id, ticket and time."""

    learner: int
    key: bytes
    id: str
    ticket: str
    time: float


class Part(NamedTuple):
    """Part `number` of the `of` parts of a snapshot at `sequence`, which is complete when all parts are stored."""

    sequence: int
    number: int
    of: int
    blob: bytes

    @property
    def last(self) -> bool:
        """True for the last part of a snapshot."""
        return self.number + 1 == self.of


class Group(NamedTuple):
    """Data written in one transaction: events from sequence `first` on, ids, and a part of a snapshot."""

    first: int
    blob: bytes
    asked: list[IdRecord]
    part: Part | None
    #: Time before which ids are deleted.
    forget: float


class Erasure(NamedTuple):
    """Changes that erase a person: groups to write, the only snapshot that is kept, and ids to delete.

    Ids are deleted if they belong to one of `keys` (as bytes), are equal to `id`, or begin with `prefix`.
    """

    groups: list[tuple[int, bytes]]
    parts: list[Part]
    keys: list[bytes]
    id: str
    prefix: str


class Backend(Protocol):
    """Storage of one journal, with one writer."""

    #: Name for messages.
    name: str
    journal: bytes
    shard: int

    def secrets(self) -> dict[int, bytes]:
        """Return the secrets by number; there is at least one."""

    def add_secret(self) -> tuple[int, bytes]:
        """Store a fresh secret and return (number, secret)."""

    def drop_secret(self, number: int) -> None:
        """Delete a secret."""

    def snapshots(self) -> list[tuple[int, bool]]:
        """Return (sequence, whether all of its parts are stored) of each snapshot, the newest first."""

    def snapshot(self, sequence: int) -> bytes:
        """Return the bytes of a snapshot."""

    def drop_snapshot(self, sequence: int) -> None:
        """Delete a snapshot."""

    def drop(self, end: int, most: int) -> int:
        """Delete the oldest groups that begin before sequence `end`, at most `most` of them; return their number."""

    def groups(self, start: int) -> Iterator[tuple[int, bytes]]:
        """Yield (first, blob) of the groups from sequence `start` on, in order."""

    def asked(self, learner: int, key: bytes, id: str) -> str | None:
        """Return the ticket of the decision with this id, or None."""

    def commit(self, group: Group) -> None:
        """Write a group; return when it is on the disk."""

    def erase(self, erasure: Erasure) -> int:
        """Make these changes in one transaction, free the old bytes, and return the number of deleted ids."""

    def check(self) -> None:
        """Raise Ended if the next owner would not find the data that is committed here."""

    def release(self) -> None:
        """Let another owner take over after a failure. Committed events can still be read."""

    def close(self) -> None:
        """Close the backend and release its lock."""

    def abandon(self) -> None:
        """Drop the connections in a forked child without closing those of the parent."""
