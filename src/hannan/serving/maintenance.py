"""Maintenance of a store: verification, backup, upgrade, and erasure of one person.

`check` and `backup` read a file that a service may have open. `upgrade` and `forget_person` need the lock of the store.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sqlite3
import string
from collections.abc import Iterator
from pathlib import Path
from time import time as now
from typing import Any, NamedTuple, cast

import numpy as np

from hannan.players import fleet_file
from hannan.serving import journal
from hannan.serving.backend import Backend, Erasure, complete_snapshots, damaged
from hannan.serving.contents import Contents, read, written
from hannan.serving.decisions import recovered
from hannan.serving.journal import BORN, SLOT, Damaged
from hannan.serving.ofrep import person_prefix
from hannan.serving.sqlite import SQLiteReader
from hannan.serving.store import Store, opened_backend
from hannan.serving.stored_learner import StoredLearner
from hannan.serving.tickets import Key, checked_key, key_bytes


class Checked(NamedTuple):
    """Result of `check`: what a store contains, and from how many places it was replayed with the same result."""

    learners: int
    decisions: int
    pending: int
    keys: int
    first: int
    sequence: int
    snapshots: int
    replays: int


def check(path: str, shard: int = 0, shards: int = 1) -> Checked:
    """Verify a store: every checksum, every snapshot, and that the journal is reproduced bit for bit.

    Parameters
    ----------
    path : str
        SQLite file, which a service may have open, or a URL of PostgreSQL, whose shard must have no owner.
    shard, shards : int
        Number of the shard, and number of shards, of a store in PostgreSQL.

    Returns
    -------
    Checked
        Contents of the store.

    Raises
    ------
    Damaged
        If any part is damaged.
    """
    backend: Any = opened_backend(path, shard, shards, 0.0) if _in_postgres(path) else SQLiteReader(path)
    try:
        if isinstance(backend, SQLiteReader):
            backend.check_pages()
        return _checked(backend)
    finally:
        backend.close()


def _checked(backend: Backend) -> Checked:
    backend.secrets()
    first, start = _readable(backend)
    snapshots = complete_snapshots(backend)
    # A journal that was pruned, or from which a person was erased, is replayed from snapshots only.
    starts = [*([0] if start == 0 else []), *(place for place in reversed(snapshots) if place >= max(start, 1))]
    found: Contents | None = None
    for start in starts:
        try:
            contents = Contents.restored(backend.snapshot(start)) if start else Contents()
            if contents.sequence != start:
                raise Damaged(f"corrupt snapshot: expected sequence {start}; found {contents.sequence}")
            contents.replay(backend.groups(start))
        except Damaged as error:
            where = f"the snapshot at sequence {start}, or the journal after it" if start else "the journal"
            raise Damaged(damaged(backend.name, f"{where}: {error}")) from error
        if found is not None and _state(found) != _state(contents):
            raise Damaged(damaged(backend.name, f"the snapshot at sequence {start} differs from the journal"))
        found = contents
    if found is None:
        raise Damaged(damaged(backend.name, "its first events were deleted, and no complete snapshot is left"))
    stored = list(found.by_name.values())
    return Checked(
        learners=len(stored),
        decisions=sum(one.decisions for one in found.learners),
        pending=sum(one.open for one in found.learners),
        keys=sum(one.keys for one in stored),
        first=first,
        sequence=found.sequence,
        snapshots=len(snapshots),
        replays=len(starts),
    )


def _readable(backend: Backend) -> tuple[int, int]:
    """Verify every group; return (sequence of the first group, sequence from which on the journal can be replayed)."""
    begin, end, start = -1, 0, 0
    for first, blob in backend.groups(0):
        try:
            body, _ = journal.opened(blob, first)
            if begin < 0:
                begin = end = start = first
            if first != end:
                raise Damaged(f"corrupt journal: expected sequence {end}; found {first}")
            for _, part in journal.decode_group(body) if journal.has_tails(body) else ():
                if isinstance(part, dict) and "erased" in part:
                    start = first + len(body) // SLOT
        except Damaged as error:
            raise Damaged(damaged(backend.name, str(error))) from None
        end = first + len(body) // SLOT
    return max(begin, 0), start


def _state(contents: Contents) -> bytes:
    """Return a digest of all learners; bundles of expiring decisions depend on the times of snapshots."""
    digest = hashlib.blake2b(str(contents.sequence).encode())
    for stored in contents.learners:
        digest.update(stored.digest())
    return digest.digest()


def backup(path: str, copy: Path) -> Checked:
    """Copy a store that a service may have open, and verify the copy before it gets its name.

    Parameters
    ----------
    path : str
        SQLite file.
    copy : Path
        File to create; it must not exist.

    Returns
    -------
    Checked
        Contents of the copy.
    """
    if _in_postgres(path):
        raise ValueError(f"path must be an SQLite file; got {path!r}. Back up PostgreSQL with pg_dump")
    if copy.exists():
        raise ValueError(f"{copy} exists; choose another name for the copy")
    if not copy.absolute().parent.is_dir():
        raise ValueError(f"folder {copy.absolute().parent} does not exist")
    SQLiteReader(path).close()  # raises if it is no store
    part = copy.with_name(f".{copy.name}.{secrets.token_hex(4)}")
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        source = sqlite3.connect(f"{Path(path).resolve().as_uri()}?mode=ro", uri=True, timeout=10.0)
        target = sqlite3.connect(part)
        try:
            source.backup(target)
            target.execute("PRAGMA journal_mode=DELETE")  # the copy is one file
        finally:
            target.close()
            source.close()
        found = check(str(part))
        with open(part, "rb") as file:
            os.fsync(file.fileno())
        os.link(part, copy)  # fails if another process has created the copy meanwhile
        return found
    finally:
        for name in (part, *(part.with_name(part.name + end) for end in ("-wal", "-shm", "-journal"))):
            name.unlink(missing_ok=True)


def upgrade(path: str, shard: int = 0, shards: int = 1) -> Checked:
    """Open a store with this version, which converts its format, and close it, which writes a snapshot.

    Parameters
    ----------
    path : str
        SQLite file or URL of PostgreSQL.
    shard, shards : int
        Number of the shard, and number of shards, of a store in PostgreSQL.

    Returns
    -------
    Checked
        Contents of the store after the upgrade.
    """
    _require(path)
    Store(path, shard=shard, shards=shards).close()
    return check(path, shard, shards)


class Forgotten(NamedTuple):
    """Result of `forget_person`: learners in which the person was a key, and number of deleted ids."""

    learners: list[str]
    ids: int


def forget_person(path: str, person: str, shard: int = 0, shards: int = 1) -> Forgotten:
    """Erase the name of a person from a store: as a key, as a targeting key of flags, and as the id of decisions.

    The decisions stay, without a name: a key is replaced by a random one, and the ids are deleted, in one transaction.
    Earlier draws cannot be replayed afterwards, because the random stream of a key depends on its name; the store
    resumes from a new snapshot. Backups, exported logs and tickets outside of the store are not changed.

    Parameters
    ----------
    path : str
        SQLite file or URL of PostgreSQL, which no process has open.
    person : str
        Name of the person. A decimal number is also erased as an integer key.
    shard, shards : int
        Number of the shard, and number of shards, of a store in PostgreSQL.

    Returns
    -------
    Forgotten
        Learners and ids that were changed.
    """
    _require(path)
    keys: list[Key] = [checked_key(person)]
    if person.lstrip("-").isdecimal() and str(int(person)) == person and -(1 << 63) <= int(person) < 1 << 63:
        keys.append(int(person))
    backend = opened_backend(path, shard, shards, 0.0)
    try:
        contents = recovered(backend)
        new = _replacements(contents, keys)
        groups, parts = [], []
        if new:
            groups = list(_rewritten(backend, new))
            body, time = journal.note({"erased": contents.sequence}), max(contents.time, now())
            groups.append((contents.sequence, journal.group(body, time)))
            sequence = contents.sequence + len(body) // SLOT
            parts = list(journal.parts(sequence, [_renamed(contents.snapshot(sequence, time)(), new)]))
        ids = backend.erase(Erasure(groups, parts, [key_bytes(key) for key in keys], person, person_prefix(person)))
        return Forgotten(sorted({contents.learners[number].name for number, _ in new}), ids)
    finally:
        backend.close()


#: New key by (number of the stage, key).
Replacements = dict[tuple[int, Key], Key]
_LETTERS = string.ascii_letters + string.digits


def _replacements(contents: Contents, keys: list[Key]) -> Replacements:
    """Return a random key for each stage in which one of the keys is in use."""
    return {
        (stored.number, key): _unused(stored, key)
        for stored in contents.learners
        for key in keys
        if _number(stored, key) >= 0
    }


def _number(stored: StoredLearner, key: Key) -> int:
    """Return the number of a key, or -1 if it is new or of another kind than the keys of the learner."""
    fleet = stored.fleets[1]
    if fleet is None or not len(fleet) or bool(fleet._text) != isinstance(key, str):
        return -1
    return stored.number_of(key)


def _unused(stored: StoredLearner, key: Key) -> Key:
    for _ in range(1000):
        length = _room(stored.number, key) if isinstance(key, str) else 0
        found: Key = (
            "".join(secrets.choice(_LETTERS) for _ in range(length)) if length else secrets.randbits(64) - (1 << 63)
        )
        if _number(stored, found) < 0:
            return found
    raise ValueError(f"the key is too short to be replaced by a random one of its length; got {len(str(key))} letters")


def _text(learner: int, key: Key) -> bytes:
    return json.dumps({"key": key, "learner": learner}, separators=(",", ":")).encode()


def _room(learner: int, key: str) -> int:
    """Return the number of letters of a new key, whose note takes as many slots as the old one."""
    slots = -(-len(_text(learner, key)) // SLOT)
    return min(22, slots * SLOT - len(_text(learner, "")))


def _rewritten(backend: Backend, new: Replacements) -> Iterator[tuple[int, bytes]]:
    """Yield the groups of the journal that have an old key, with the new ones."""
    for first, blob in backend.groups(0):
        body, time = journal.opened(blob, first)
        changed = _with_new_keys(body, new)
        if changed != body:
            yield first, journal.group(changed, time)


def _with_new_keys(body: bytes, new: Replacements) -> bytes:
    out = bytearray(body)
    for at, part in journal.decode_group(body):
        if isinstance(part, dict) and "key" in part and (part["learner"], part["key"]) in new:
            old = _text(part["learner"], part["key"])
            size = -(-len(old) // SLOT) * SLOT
            text = _text(part["learner"], new[part["learner"], part["key"]]).ljust(size)  # spaces end a JSON text
            out[at * SLOT : (at + 1) * SLOT + size] = journal.record(journal.NOTE, 0, 0, size, 0.0) + text
        elif isinstance(part, np.ndarray):
            for place in np.flatnonzero(part["kind"] == BORN).tolist():
                number, key = int(part["learner"][place]), int(part["round"][place].astype(np.int64))
                if (number, key) in new:
                    born = journal.record(BORN, 0, number, cast(int, new[number, key]) & (1 << 64) - 1, 0.0, 1)
                    out[(at + place) * SLOT : (at + place + 1) * SLOT] = born
    return bytes(out)


def _renamed(pieces: list[bytes], new: Replacements) -> bytes:
    """Return a snapshot with the new keys."""
    sections = read(b"".join(pieces))
    for number in {number for number, _ in new}:
        keys = {old: other for (place, old), other in new.items() if place == number}
        sections[f"learner {number} keyed"] = fleet_file.with_keys(sections[f"learner {number} keyed"], keys)
    blob = b"".join(written((name, [content]) for name, content in sections.items()))
    Contents.restored(blob)  # raises Damaged if it cannot be read
    return blob


def _in_postgres(path: str) -> bool:
    return path.startswith(("postgresql://", "postgres://"))


def _require(path: str) -> None:
    if not _in_postgres(path) and not Path(path).exists():
        raise ValueError(f"no such file: {path!r}")
