"""The journal's bytes: records of 24, gathered in groups that are written at once.

    record   u8 kind, u8 keyed, u16 arm, u32 learner, u64 round, f64 value       value: probability | reward or loss
    note     a record of kind NOTE whose round is the length of a JSON text, which follows, filled up with zeros to 24s
    group    4s magic, u32 length, u32 crc32, u32 slots, f64 time, then its records

The round is counted in the lower 32 bits; above them is the number of the key, counted as keys come, and 0 without one.
A record of kind BORN is a new key that is a number, in the place of the round; a key that is a text is a note.
A *slot* is 24 bytes; an event's *sequence* is the number of slots before it in the whole journal. Little-endian. The
checksum is of the time and the records.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan._engine import EventKind

SLOT = 24
ACT, OBSERVE, EXPIRE, NOTE, BORN = (
    getattr(EventKind, kind).value for kind in ("act", "observe", "expire", "note", "born")
)
RECORD = np.dtype(
    [("kind", "u1"), ("keyed", "u1"), ("arm", "<u2"), ("learner", "<u4"), ("round", "<u8"), ("value", "<f8")]
)
_PACK = struct.Struct("<BBHIQd").pack
_MAGIC = b"HNJ1"
_HEADER = struct.Struct("<4sIIId")
_TIME = struct.Struct("<d")


class Damaged(ValueError):
    """Bytes that no journal wrote."""


def record(kind: int, arm: int, learner: int, number: int, value: float, keyed: int = 0) -> bytes:
    """One event.

    >>> len(record(ACT, 3, 0, 17, 0.25)), one(record(ACT, 3, 0, 17, 0.25))["arm"].item()
    (24, 3)
    """
    return _PACK(kind, keyed, arm, learner, number, value)


def many(kind: int, keyed: int, learner: int, arms: Any, rounds: Any, values: Any) -> bytes:
    """Many events of one kind and learner."""
    if len(rounds) == 1:
        return _PACK(kind, keyed, int(arms[0]), learner, int(rounds[0]), float(values[0]))
    out = np.empty(len(rounds), RECORD)
    out["kind"], out["keyed"], out["learner"] = kind, keyed, learner
    out["arm"], out["round"], out["value"] = arms, rounds, values
    return out.tobytes()


def one(data: bytes) -> Any:
    """A record as named fields."""
    return np.frombuffer(data, RECORD)[0]


def note(content: dict[str, Any]) -> bytes:
    """Whatever is no act and no feedback: an epoch, a learner, an arm.

    >>> len(note({"open": 1})) % SLOT
    0
    """
    text = json.dumps(content, separators=(",", ":")).encode()
    return _PACK(NOTE, 0, 0, 0, len(text), 0.0) + text + b"\0" * (-len(text) % SLOT)


def group(body: bytes, time: float) -> bytes:
    """What is written at once."""
    check = zlib.crc32(body, zlib.crc32(_TIME.pack(time)))
    return _HEADER.pack(_MAGIC, len(body), check, len(body) // SLOT, time) + body


def opened(blob: bytes, first: int) -> tuple[bytes, float]:
    """(records, time) of a group that begins at sequence `first`; a damaged one is refused."""
    if len(blob) < SLOT:
        raise Damaged(f"the journal is damaged at sequence {first}: a group must have a header; got {len(blob)} bytes")
    magic, length, check, slots, time = _HEADER.unpack_from(blob)
    body = blob[SLOT:]
    if magic != _MAGIC or length != len(body) or slots * SLOT != length:
        raise Damaged(f"the journal is damaged at sequence {first}: a group must be as long as it says")
    if zlib.crc32(body, zlib.crc32(_TIME.pack(time))) != check:
        raise Damaged(f"the journal is damaged at sequence {first}: its checksum does not match")
    return body, time


def noted(body: bytes) -> bool:
    """Whether there may be a note in it."""
    return bool((np.frombuffer(body, RECORD)["kind"] == NOTE).any())


def parts(body: bytes) -> Iterator[tuple[int, NDArray[Any] | dict[str, Any]]]:
    """(slot, events or a note) of a group: events between notes come as one array."""
    slots = np.frombuffer(body, RECORD)
    # What is inside a note may look like a record: only the first of those found here is one for certain.
    here, notes = 0, np.flatnonzero(slots["kind"] == NOTE)
    for at in notes.tolist():
        if at < here:
            continue
        if at > here:
            yield here, slots[here:at]
        size = int(slots["round"][at])
        end = at + 1 + -(-size // SLOT)
        if end > len(slots):
            raise Damaged("the journal is damaged: a note must end in its group")
        begin = (at + 1) * SLOT
        yield at, json.loads(body[begin : begin + size])
        here = end
    if here < len(slots):
        yield here, slots[here:]
