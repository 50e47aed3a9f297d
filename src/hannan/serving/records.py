"""The journal's bytes: records in slots of 24 bytes, in groups that are written atomically.

    record     u8 kind, u8 keyed, u16 arm, u32 learner, u64 round, f64 value       value: probability | reward or loss
    note       a record of kind NOTE whose round is the length of a JSON text, which follows
    slate      a record of kind SLATE whose arm is the number of items and whose value is the probability of the slate
               (NaN: not known), then per item: u32 arm, f64 inclusion probability
    feedback   a record of kind SLATE_OBSERVE or SLATE_EXPIRE whose arm is the number of items, then one f64 per item
    group      4s magic, u32 length, u32 crc32, u32 slots, f64 time, then its records

The bytes after a record are filled up with zeros to a multiple of 24. The lower 32 bits of the round count the rounds
of a learner; above them is the number of the key, counted as keys come, and 0 without one. A record of kind BORN is a
new key that is an integer, stored instead of the round; a key that is a string is a note. A *slot* is 24 bytes; the
*sequence* of an event is the number of slots before it in the whole journal. Little-endian. The checksum covers the
time and the records.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hannan._engine import EventKind
from hannan.serving.tickets import Slate

SLOT = 24
ACT, OBSERVE, EXPIRE, NOTE, BORN, SLATE, SLATE_OBSERVE, SLATE_EXPIRE = (
    getattr(EventKind, kind).value
    for kind in ("act", "observe", "expire", "note", "born", "slate", "slate_observe", "slate_expire")
)
RECORD = np.dtype(
    [("kind", "u1"), ("keyed", "u1"), ("arm", "<u2"), ("learner", "<u4"), ("round", "<u8"), ("value", "<f8")]
)
#: An item of a slate.
ITEM = np.dtype([("arm", "<u4"), ("inclusion", "<f8")])
#: Most items of a slate.
MOST_ITEMS = 256
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
    return _PACK(NOTE, 0, 0, 0, len(text), 0.0) + _filled(text)


class SlateAct(NamedTuple):
    """A slate that a learner has shown."""

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


def slate_feedback(told: SlateFeedback) -> bytes:
    """Return the record of feedback for a slate."""
    if fault := _feedback_fault(told):
        raise ValueError(fault)
    values = np.array(told.values, dtype="<f8").tobytes()
    return _PACK(told.kind, told.keyed, len(told.values), told.learner, told.round, 0.0) + _filled(values)


def _filled(tail: bytes) -> bytes:
    return tail + b"\0" * (-len(tail) % SLOT)


def _slate_fault(shown: SlateAct) -> str:
    """Return the first rule that a slate breaks, or an empty string."""
    arms, inclusion, p = shown.slate
    if not 1 <= len(arms) <= MOST_ITEMS or len(inclusion) != len(arms):
        return f"a slate must have 1 to {MOST_ITEMS} items, each with a probability; got {len(arms)}, {len(inclusion)}"
    if len(set(arms)) != len(arms) or min(arms) < 0 or max(arms) >= 1 << 32:
        return f"the arms of a slate must be different numbers of 32 bits; got {arms}"
    if not all(0.0 < x <= 1.0 for x in inclusion):
        return f"the inclusion probabilities of a slate must be in (0, 1]; got {inclusion}"
    if not (math.isnan(p) or 0.0 < p <= min(inclusion) * (1.0 + ROUNDING)):
        return f"the probability of a slate must be NaN, or in (0, {min(inclusion)}], its smallest item's; got {p}"
    return _flag_fault(shown.keyed)


def _feedback_fault(told: SlateFeedback) -> str:
    if told.kind not in (SLATE_OBSERVE, SLATE_EXPIRE):
        return f"feedback for a slate must be of kind {SLATE_OBSERVE} or {SLATE_EXPIRE}; got {told.kind}"
    if not 1 <= len(told.values) <= MOST_ITEMS or not all(map(math.isfinite, told.values)):
        return f"feedback for a slate must be 1 to {MOST_ITEMS} finite numbers; got {told.values}"
    return _flag_fault(told.keyed)


def _flag_fault(keyed: int) -> str:
    return "" if keyed in (0, 1) else f"keyed must be 0 or 1; got {keyed}"


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


def has_tails(body: bytes) -> bool:
    """Return whether a group may contain notes or slates, which have bytes after their record."""
    return bool(_tails(np.frombuffer(body, RECORD)["kind"]).any())


def _tails(kinds: NDArray[Any]) -> Any:
    return (kinds == NOTE) | (kinds >= SLATE)


#: Consecutive records of one slot, a note, or a slate.
Content = NDArray[Any] | dict[str, Any] | SlateAct | SlateFeedback


def parts(body: bytes) -> Iterator[tuple[int, Content]]:
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
            raise Damaged(f"the journal is damaged, or written by a newer version: unknown kind of record {kind}")
        size = number if kind == NOTE else count * (ITEM.itemsize if kind == SLATE else 8)
        begin, here = (at + 1) * SLOT, at + 1 + -(-size // SLOT)
        if here > len(slots):
            raise Damaged("the journal is damaged: a note or slate must end in its group")
        if any(body[begin + size : here * SLOT]):
            raise Damaged("the journal is damaged: the bytes after a note or slate must be zeros")
        tail = body[begin : begin + size]
        yield at, _note(tail) if kind == NOTE else _slate(kind, keyed, learner, number, value, tail)
    if here < len(slots):
        yield here, slots[here:]


def _note(text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise Damaged(f"the journal is damaged: a note must be JSON; {error}") from None
    if not isinstance(found, dict):
        raise Damaged(f"the journal is damaged: a note must be a JSON object; got {type(found).__name__}")
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
        raise Damaged(f"the journal is damaged: {fault}")
    return found
